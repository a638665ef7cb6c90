"""Items that are compared: their names, and the comparisons as pairs of their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._estimator import LabelIndex, check_label
from .errors import DataError

__all__ = ["array_of", "item_numbers"]

Ints = NDArray[np.int64]

_PER_CHARACTER, _MOST_BYTES = 4, 1 << 28


def item_numbers(
    n_rows: int | None, winners: Any, losers: Any, ties: Any, items: Any
) -> tuple[NDArray[Any], Ints, Ints]:
    """Names of the items, and the comparisons as pairs of their numbers.

    Parameters
    ----------
    n_rows : int or None
        Rows of features; None when there are none, so that the comparisons say what items there are.
    winners, losers : arrays of shape (n,)
    ties : array of shape (n_ties, 2) or None
    items : array of shape (n_items,) or None
        Names; without them rows go by their numbers.

    Raises
    ------
    DataError
        For wrong shapes, unknown items, names that occur twice, and an item against itself.
    """
    sides = [_names(winners, "winners"), _names(losers, "losers")]
    if len(sides[0]) != len(sides[1]):
        raise DataError(f"winners has {len(sides[0])} items and losers {len(sides[1])}; they must be equal")
    equal = [] if ties is None else [_names(pair, "ties") for pair in ties]
    odd = next((k for k, pair in enumerate(equal) if len(pair) != 2), None)
    if odd is not None:
        raise DataError(f"ties[{odd}] has {len(equal[odd])} items; a tie is between two")
    if items is not None:
        names = _names(items, "items")
        if n_rows is not None and len(names) != n_rows:
            raise DataError(f"items has {len(names)} names for the {n_rows} rows of X")
    elif n_rows is not None:
        names = list(range(n_rows))
    else:
        names = LabelIndex([*sides[0], *sides[1], *(name for pair in equal for name in pair)]).labels
    number = {name: k for k, name in enumerate(names)}
    if len(number) < len(names):
        twice = next(name for k, name in enumerate(names) if number[name] != k)
        raise DataError(f"items names {twice!r} twice")

    def numbered(pairs: list[tuple[Any, Any]], what: str) -> Ints:
        out = np.empty((len(pairs), 2), np.int64)
        for k, pair in enumerate(pairs):
            for side, name in enumerate(pair):
                if name not in number:
                    known = f"rows of X are 0..{len(names) - 1}" if items is None else "it is not among the items"
                    raise DataError(f"{what} {k} has the unknown item {name!r}: {known}")
                out[k, side] = number[name]
            if out[k, 0] == out[k, 1]:
                raise DataError(f"{what} {k} is of {pair[0]!r} against itself")
        return out

    wins = numbered(list(zip(*sides, strict=True)), "comparison")
    return array_of(names), wins, numbered([(pair[0], pair[1]) for pair in equal], "tie")


def _names(values: Any, what: str) -> list[Any]:
    """Plain Python objects that can be names."""
    if isinstance(values, str) or not hasattr(values, "__len__"):
        raise DataError(f"{what} must be a list of items, not {values!r}")
    out = values.tolist() if hasattr(values, "tolist") else list(values)
    for k, name in enumerate(out):
        if name is None:
            raise DataError(f"{what}[{k}] is None, which names no item")
        check_label(name, f"{what}[{k}]")
    return out


def array_of(names: list[Any]) -> NDArray[Any]:
    """Names as an array of one dimension; of objects where NumPy would not keep them as they are.

    It makes text of numbers beside text, floats of large integers beside negative ones and a matrix of tuples, drops
    null characters at the end of text, and gives every text the room of the longest.
    """
    kinds = {type(name) for name in names}
    if len(kinds) == 1 and isinstance(names[0], str | int | float):
        text = isinstance(names[0], str)
        if not (text and _PER_CHARACTER * len(names) * max(map(len, names)) > _MOST_BYTES):
            array = np.array(names)
            kept = array.tolist() == names if text or isinstance(names[0], float) else array.dtype.kind in "biu"
            if kept:
                return array
    return np.fromiter(names, object, len(names))
