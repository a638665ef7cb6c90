"""Results of comparisons (a win, a tie) as rows of differences of a linear machine.

A win is the hinge of ``<w, x_winner - x_loser>``. A tie is two hinges of ``<w, x_a - x_b>``, one for each sign:
together they are ``(|<w, x_a - x_b>| - margin)_+``.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...errors import DataError
from ...terms import hinge, squared_hinge
from ..linear.rows import Rows
from ..linear.task import LinearTask

__all__ = ["difference_task", "item_numbers"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]


def difference_task(
    X: Any,
    wins: Ints,
    ties: Ints,
    weight: Reals,
    tie_weight: Reals,
    tie_margin: float,
    loss: Literal["hinge", "squared_hinge"],
    C: float,
    tol: float,
    rng: np.random.Generator,
    name: str,
) -> LinearTask:
    """The problem of the comparisons of positive weight.

    Parameters
    ----------
    X : float64 array or CSR matrix of shape (n_items, d)
    wins, ties : int64 arrays of shape (n, 2) and (n_ties, 2)
        Rows of ``X``: winner and loser, and two of equal strength.
    weight, tie_weight : float64 arrays of shape (n,) and (n_ties,)
    tie_margin : float

    Raises
    ------
    DataError
        If none has positive weight.
    """
    wins, weight = wins[weight > 0.0], weight[weight > 0.0]
    ties, tie_weight = ties[tie_weight > 0.0], tie_weight[tie_weight > 0.0]
    pairs = np.concatenate([wins, ties, ties])
    if not len(pairs):
        raise DataError("no comparison of positive weight: there is nothing to learn from")
    s = np.concatenate([weight, tie_weight, tie_weight])
    margin = np.concatenate([np.ones(len(wins)), np.full(2 * len(ties), -tie_margin)])
    sign = np.concatenate([np.ones(len(wins) + len(ties)), -np.ones(len(ties))])
    rows = X[pairs[:, 0]] - X[pairs[:, 1]]
    terms = (hinge if loss == "hinge" else squared_hinge)(sign, C * s, margin)
    # where there are ties the task loss is the loss itself: a tie has no sign to get wrong
    return LinearTask(
        Rows(rows.tocsr() if sp.issparse(rows) else rows), terms, C, s, "none", tol, rng, name=name, signs=not len(ties)
    )


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
        names = list(dict.fromkeys([*sides[0], *sides[1], *(name for pair in equal for name in pair)]))
        try:
            names = sorted(names)
        except TypeError:  # names that have no common order
            pass
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
    return _array_of(names), wins, numbered([(pair[0], pair[1]) for pair in equal], "tie")


def _names(values: Any, what: str) -> list[Any]:
    """Plain Python objects that can be names."""
    if isinstance(values, str) or not hasattr(values, "__len__"):
        raise DataError(f"{what} must be a list of items, not {values!r}")
    out = values.tolist() if hasattr(values, "tolist") else list(values)
    for k, name in enumerate(out):
        if name is None or not isinstance(name, Hashable):
            raise DataError(f"{what}[{k}] is {name!r}, which names no item")
    return out


def _array_of(names: list[Any]) -> NDArray[Any]:
    """Names as an array of one dimension; of objects where they are of several kinds or tuples."""
    if len({type(name) for name in names}) == 1 and isinstance(names[0], str | int | float):
        return np.array(names)
    out = np.empty(len(names), object)
    out[:] = names
    return out
