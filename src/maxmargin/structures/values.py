"""Numbers, sparse matrices and what pandas has, as users give them: refused in their terms before anything computes."""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Mapping, Set
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError

__all__ = [
    "LARGEST",
    "LOSS_RANGE",
    "as_reals",
    "by_position",
    "check_largest",
    "check_smallest",
    "check_rows",
    "check_unmasked",
    "examples_of",
    "is_frame",
    "is_no_list",
    "is_real",
    "is_time",
    "loss_fault",
    "not_a_number",
]

LARGEST = 1e100
"""Losses beyond it, and features, have squares and sums of squares that could overflow."""

_TIMES = frozenset((np.datetime64, np.timedelta64))

SMALLEST_LOSS = 1e-50
"""Losses of which none is larger are to ``C`` what losses of 1 are to the largest ``C`` that can be computed with."""

LOSS_RANGE = f"it must be 0 for the truth, and finite, at least 0 and at most {LARGEST:g} for every output"


_ROWS = {
    "sequences": "[{}.to_dict('records')] is one sequence, each of its rows a token",
    "sentences": "[list({}.itertuples(index=False, name=None))] is one sentence, each of its rows a word with its tags",
    "examples": "{0}.to_dict('records') and list({0}.to_numpy()) have an example for each row",
}
"""What to give instead of a DataFrame."""


def is_frame(values: Any) -> bool:
    """Whether it is a pandas DataFrame, whose entries, to Python, are the names of its columns."""
    return hasattr(values, "iloc") and getattr(values, "ndim", 0) == 2


def by_position(values: Any) -> Any:
    """A list of the entries of a pandas Series, which is indexed by its labels; all else as it is."""
    return list(values) if hasattr(values, "iloc") and getattr(values, "ndim", 0) == 1 else values


def is_no_list(values: Any) -> bool:
    """Whether it is text, or a collection without an order of its own: its entries belong to nothing in their order."""
    return isinstance(values, str | bytes | Mapping | Set)


def examples_of(values: Any, name: str, what: str) -> Any:
    """The same of a collection of examples or of their outputs, which are called ``what``.

    Raises
    ------
    DataError
        For a DataFrame: says what to give instead. For a masked entry: names the example and the place in it.
    """
    if is_frame(values):
        instead = f": {_ROWS[what].format(name)}" if what in _ROWS else ""
        raise DataError(f"{name} must be a list of {what}, not a DataFrame{instead}")
    values = by_position(values)
    if what != "label sequences":  # there a masked label is an unknown one
        _check_each_unmasked(values, what.removesuffix("s"))
    return values


def _check_each_unmasked(examples: Any, what: str) -> None:
    if isinstance(examples, list | tuple) or (isinstance(examples, np.ndarray) and examples.ndim and _hides(examples)):
        for i, example in enumerate(examples):
            check_unmasked(example, f"{what} {i}")


def _hides(values: NDArray[Any]) -> bool:
    """Whether there can be masked entries in it."""
    return values.dtype == object or isinstance(values, np.ma.MaskedArray)


def check_unmasked(values: Any, what: str = "X") -> None:
    """Refuse masked entries: NumPy would drop the mask and compute with what is behind it.

    Parameters
    ----------
    values : anything
        An array, or a list of arrays; a mask without a masked entry is none.
    what : str
        Its name in messages.

    Raises
    ------
    DataError
        Names the row and the column of the first one, or its place among numbers.
    """
    place = _first_masked(values)
    if place is None:
        return
    where = f"row {place[-2]}, column {place[-1]}" if len(place) > 1 else f"entry {place[0]}" if place else "it"
    raise DataError(
        f"{what} must be an array without a mask: {where} is masked; fill in what is missing, or leave it out"
    )


def _first_masked(values: Any) -> tuple[int, ...] | None:
    """The indices of the first masked entry."""
    if isinstance(values, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(values)
        return tuple(map(int, np.unravel_index(mask.argmax(), mask.shape))) if mask.any() else None
    if isinstance(values, list | tuple) and any(issubclass(kind, np.ma.MaskedArray) for kind in set(map(type, values))):
        for k, part in enumerate(values):
            if isinstance(part, np.ma.MaskedArray) and (place := _first_masked(part)) is not None:
                return k, *place
    return None


def not_a_number(what: str, row: int, column: int, value: Any, X: Any) -> DataError:
    """What to say of an entry of rows ``X`` that is no real number: a date, a complex number, any other object."""
    names = getattr(X, "columns", None)
    name = "" if names is None else f" ({names[column]!r})"
    kind = type(value).__name__
    if isinstance(value, complex | np.complexfloating):  # in words that scikit-learn's checks look for
        return DataError(
            f"Complex data not supported: {what} contains {value:g}, first in row {row}, column {column}{name}: give "
            "real numbers, such as real and imaginary parts in columns of their own"
        )
    if is_time(value):
        then = "give numbers, such as the days since some date"
    else:
        then = "give numbers"
    shown = " ".join(str(value).split())
    return DataError(f"{what} contains {shown:.40} ({kind}), first in row {row}, column {column}{name}: {then}")


def is_time(value: Any) -> bool:
    """Whether it is a date, a time, a span or an interval of time, of Python, NumPy or pandas."""
    known = np.datetime64 | np.timedelta64 | datetime.date | datetime.time | datetime.timedelta
    return isinstance(value, known) or type(value).__name__ in ("Period", "Interval", "NaTType")


def _first_time(X: Any) -> tuple[int, int, Any] | None:
    """Row, column and value of the first entry that is a date or a span of time to NumPy."""
    if is_frame(X):
        for column, kind in enumerate(X.dtypes):
            if getattr(kind, "kind", "") in "mM" and len(X):
                return 0, column, X.iloc[0, column]
        return None
    if isinstance(X, np.ndarray):
        if X.ndim != 2 or not X.size or X.dtype.kind not in "mMO":
            return None
        if X.dtype.kind != "O":
            return 0, 0, X[0, 0]
        rows: Any = X.tolist()
    elif isinstance(X, list | tuple):
        rows = X
    else:
        return None
    for i, row in enumerate(rows):
        if isinstance(row, np.ndarray):
            if row.ndim == 1 and row.size and row.dtype.kind in "mM":
                return i, 0, row[0]
        elif isinstance(row, list | tuple) and not _TIMES.isdisjoint(map(type, row)):
            return next((i, j, value) for j, value in enumerate(row) if type(value) in _TIMES)
    return None


def is_real(value: Any) -> bool:
    """Whether a value is one real number: no text, no span of time, no array unless of no dimension."""
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and value.dtype.kind in "biuf"
    return isinstance(value, numbers.Real | Decimal | np.bool_) and not isinstance(value, np.timedelta64)


def loss_fault(value: Any, *, of_truth: bool = False) -> str:
    """What must be of a task loss and is not, as the end of a message; nothing for a loss as it should be."""
    if not is_real(value):
        return "it must be a number"
    if not 0.0 <= float(value) <= LARGEST:
        return LOSS_RANGE
    return "it must be 0 for y == y_true" if of_truth and float(value) != 0.0 else ""


def as_reals(values: Any, name: str) -> NDArray[np.float64]:
    """An array of real numbers as float64, of whatever shape; NaN and infinity pass.

    Raises
    ------
    DataError
        For text, complex numbers, masked entries, other objects, and rows of different lengths: begins with ``name``.
    """
    check_unmasked(values, name)
    try:
        out = np.asarray(values)
        if out.dtype.kind in "biuf":
            return np.asarray(out, np.float64)
        if out.dtype.kind == "O" and all(map(is_real, out.ravel().tolist())):
            return out.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        why = "its rows have different lengths" if "inhomogeneous" in str(error) else str(error)
        raise DataError(f"{name} must be an array of real numbers: {why}") from None
    shown = values.to_numpy() if is_frame(values) else by_position(values)
    raise DataError(f"{name} must hold real numbers, not {' '.join(repr(shown).split()):.60}")


def check_largest(values: NDArray[np.float64], name: str) -> None:
    """Refuse finite values above :data:`LARGEST` in size.

    Raises
    ------
    DataError
        Names the largest.
    """
    largest = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
    if largest > LARGEST:
        raise DataError(f"{name} has an entry of {largest:.3g}: too large to compute with (at most {LARGEST:g})")


def check_smallest(values: NDArray[np.float64], name: str) -> None:
    """Refuse losses none of which is above :data:`SMALLEST_LOSS`, unless all are 0.

    Raises
    ------
    DataError
        Names the largest.
    """
    largest = float(values.max(initial=0.0))
    if 0.0 < largest < SMALLEST_LOSS:
        raise DataError(
            f"{name} has no entry above {largest:.3g}: too small to compute with (at least {SMALLEST_LOSS:g}); scale "
            "it up"
        )


def check_rows(X: Any, what: str = "X") -> None:
    """Refuse rows of which NumPy or SciPy would make something else: look at them before these do.

    They are those with masked entries, those with dates or spans of time, of which NumPy would make numbers of some
    unit where there is nothing else, and a SciPy matrix whose stored indices point outside of it: SciPy and compiled
    code would follow them.

    Parameters
    ----------
    X : anything
        Of SciPy's matrices only those in CSR and CSC form are looked at; the others cannot be given such indices.
    what : str
        Its name in messages.

    Raises
    ------
    DataError
        Names the row and the column.
    """
    check_unmasked(X, what)
    if (place := _first_time(X)) is not None:
        raise not_a_number(what, *place, X)
    form = getattr(X, "format", None)
    if form not in ("csr", "csc") or not hasattr(X, "indptr"):
        return
    outer, inner = ("row", "column") if form == "csr" else ("column", "row")
    n, width = X.shape if form == "csr" else X.shape[::-1]
    indptr, indices = np.asarray(X.indptr), np.asarray(X.indices)
    if len(indptr) != n + 1 or indptr[0] != 0 or (np.diff(indptr) < 0).any() or indptr[-1] > len(indices):
        raise DataError(
            f"{what} is a damaged sparse matrix: its indptr must have {n + 1} entries that rise from 0 to at most "
            f"{len(indices)}, the number of stored indices"
        )
    if len(indices) != len(X.data):
        raise DataError(
            f"{what} is a damaged sparse matrix: {len(X.data)} values are stored for {len(indices)} indices"
        )
    if len(indices) and (indices.min() < 0 or indices.max() >= width):
        k = int(np.flatnonzero((indices < 0) | (indices >= width))[0])
        at = int(np.searchsorted(indptr, k, side="right")) - 1
        raise DataError(
            f"{what} is a damaged sparse matrix: {outer} {at} has an entry in {inner} {indices[k]}, but there are "
            f"{width} {inner}s only"
        )
