"""Writing svmlight text, exact to the last bit."""

from __future__ import annotations

import re
from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DataError
from ._svmlight_block import FEATURE, odd_label
from .text import Target, format_number, writing

__all__ = ["write_svmlight"]

_BLOCK_VALUES = 1 << 18  # formatted and written at a time
_INEXACT = 2**53  # from here on floats leave integers out
_LABEL = re.compile(r"[^\x00-\x20\x7f#\ufeff][^\x00-\x20\x7f]*")


def write_svmlight(
    target: Target,
    X: Any,
    y: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    zero_based: bool = False,
) -> None:
    """Write a file in svmlight's format; reading it gives the same numbers to the last bit.

    Columns of zeros at the right are not in the file: read it with ``n_features=X.shape[1]``.

    Parameters
    ----------
    target : path, "-" or open file
        A path is replaced in one step; ``.gz`` compresses.
    X : array-like or sparse matrix of shape (n_rows, n_features)
        Finite numbers, which are read back as float64: integers that float64 leaves out are refused, as they are in
        ``y`` and ``sample_weight``. Zeros that a sparse matrix stores are written, repeated entries added up; X is not
        changed.
    y : array-like of shape (n_rows,)
        Numbers, or text without white space. As text (``y.astype(str)``, read with ``labels="text"``) integers of any
        size are labels.
    qid : integers of shape (n_rows,), optional
    sample_weight : array-like of shape (n_rows,), optional
        Written as ``cost``.
    zero_based : bool
        Count indices from zero.

    Raises
    ------
    DataError
        If lengths differ, a number is not finite or would not be read back as it is, or a label cannot be told from the
        rest of its line.
    """
    from scipy.sparse import csr_array, issparse

    if issparse(X):
        X = csr_array(X)
        parts = tuple(map(_native, (X.data, X.indices, X.indptr)))
        X = csr_array(parts, shape=X.shape)  # without flags that may be out of date
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    else:
        X = np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise DataError(f"X must be a table of real numbers, got {X.ndim} dimensions of type {X.dtype}")
    n_rows = X.shape[0]
    heads = _labels(y, n_rows)
    if qid is not None:
        numbers = _column("qid", qid, n_rows)
        if numbers.dtype.kind not in "iu" or (len(numbers) and int(numbers.max()) >= 1 << 63):
            raise DataError(f"qid must be integers of 64 bits, got {numbers.dtype}")
        heads = [f"{head} qid:{number}" for head, number in zip(heads, numbers.tolist())]
    if sample_weight is not None:
        costs = _numbers("sample_weight", sample_weight, n_rows)
        if (costs < 0).any():
            raise DataError(f"sample_weight of row {np.argmax(costs < 0)} is negative")
        heads = [f"{head} cost:{format_number(cost)}" for head, cost in zip(heads, costs.tolist())]

    base = 0 if zero_based else 1
    step = max(1, _BLOCK_VALUES * n_rows // max(1, X.nnz if issparse(X) else X.size))
    with writing(target) as stream:
        for start in range(0, n_rows, step):
            part = X[start : start + step]
            block = part if issparse(part) else csr_array(_native(part))

            def where(place: int, block: Any = block, start: int = start) -> str:
                row = start + int(np.searchsorted(block.indptr, place, side="right")) - 1
                return f"X[{row}, {block.indices[place]}]"

            values = _floats(block.data, where)
            if not np.isfinite(values).all():
                place = int(np.argmax(~np.isfinite(values)))
                raise DataError(f"{where(place)} is {values[place]}; svmlight text is of finite numbers")
            entries = [
                f" {index}:{format_number(value)}"
                for index, value in zip((block.indices.astype(np.int64) + base).tolist(), values.tolist())
            ]
            bounds = block.indptr.tolist()
            stream.writelines(
                f"{head}{''.join(entries[bounds[row] : bounds[row + 1]])}\n"
                for row, head in enumerate(heads[start : start + step])
            )


def _column(name: str, column: ArrayLike, n_rows: int) -> NDArray[Any]:
    array = np.asarray(column)
    if array.shape != (n_rows,):
        raise DataError(f"X has {n_rows} rows, {name} has shape {array.shape}")
    return array


def _native(array: NDArray[Any]) -> NDArray[Any]:
    """Numbers of a type that scipy takes: in the order of bytes of this machine, and not of half precision."""
    if array.dtype.kind == "f" and array.dtype.itemsize == 2:
        return array.astype(np.float32)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _floats(numbers: NDArray[Any], where: Callable[[int], str], remedy: str = "") -> NDArray[np.float64]:
    """As float64; integers that it leaves out are refused, with their place in words.

    Raises
    ------
    TypeError, ValueError
        For what are no numbers.
    """
    if numbers.dtype.kind not in "biufO":  # of others, as dates, NumPy would make numbers too
        raise TypeError("no numbers")
    try:
        floats = numbers.astype(np.float64)
    except OverflowError:
        largest = float(np.finfo(np.float64).max)
        place = next(k for k, number in enumerate(numbers.tolist()) if abs(number) > largest)
        raise DataError(f"{where(place)} is {numbers[place]!s:.40}: too large for a float64{remedy}") from None
    if numbers.dtype.kind in "iuO":
        for place in np.flatnonzero(np.abs(floats) >= _INEXACT).tolist():
            number = numbers[place]
            if isinstance(number, Integral) and np.isfinite(floats[place]) and int(number) != int(floats[place]):
                raise DataError(
                    f"{where(place)} is {number}, which would be read back as the float64 {int(floats[place])}{remedy}"
                )
    return floats


def _numbers(name: str, column: ArrayLike, n_rows: int, remedy: str = "") -> NDArray[np.float64]:
    """A column as finite float64."""
    array = _column(name, column, n_rows)
    try:
        numbers = _floats(array, lambda row: f"{name}[{row}]", remedy)
    except (TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{name} must be numbers, got {array.dtype}") from None
    if not np.isfinite(numbers).all():
        raise DataError(f"{name} of row {np.argmax(~np.isfinite(numbers))} is not finite")
    return numbers


def _labels(y: ArrayLike, n_rows: int) -> list[str]:
    """Labels as they are written."""
    array = _column("y", y, n_rows)
    if array.dtype.kind not in "UO" or not all(isinstance(label, str) for label in array.tolist()):
        numbers = _numbers(
            "y", array, n_rows, "; give labels as text, as y.astype(str) (and read them with labels='text')"
        )
        if array.dtype.kind in "iu":
            return list(map(str, array.tolist()))
        return [format_number(number) for number in numbers.tolist()]
    labels: list[str] = array.tolist()
    for row, label in enumerate(labels):
        if _LABEL.fullmatch(label.removeprefix("\ufeff")) and (what := odd_label(label)):
            raise DataError(f"the label of row {row} cannot be written: {label!r} {what}")
        if not _LABEL.fullmatch(label) or FEATURE.fullmatch(label):
            raise DataError(
                f"the label of row {row} cannot be written: {label!r} is empty, has a space, or looks like "
                "a comment or a feature"
            )
    return labels
