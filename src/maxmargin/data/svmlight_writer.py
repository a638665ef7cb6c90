"""Writing svmlight text, exact to the last bit."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DataError
from .svmlight import FEATURE
from .text import Target, format_number, writing

__all__ = ["write_svmlight"]

_BLOCK_VALUES = 1 << 18  # formatted and written at a time
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
        Finite numbers. Zeros that a sparse matrix stores are written, repeated entries added up; X is not changed.
    y : array-like of shape (n_rows,)
        Numbers, or text without white space.
    qid : integers of shape (n_rows,), optional
    sample_weight : array-like of shape (n_rows,), optional
        Written as ``cost``.
    zero_based : bool
        Count indices from zero.

    Raises
    ------
    DataError
        If lengths differ, a number is not finite or a label cannot be told from the rest of its line.
    """
    from scipy.sparse import csr_array, issparse

    if issparse(X):
        X = csr_array(X)
        X = csr_array((X.data, X.indices, X.indptr), shape=X.shape)  # without flags that may be out of date
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
            block = csr_array(X[start : start + step])
            values = block.data.astype(np.float64)
            if not np.isfinite(values).all():
                place = int(np.argmax(~np.isfinite(values)))
                row = start + int(np.searchsorted(block.indptr, place, side="right")) - 1
                raise DataError(
                    f"X[{row}, {block.indices[place]}] is {values[place]}; svmlight text is of finite numbers"
                )
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


def _numbers(name: str, column: ArrayLike, n_rows: int) -> NDArray[np.float64]:
    """A column as finite float64."""
    try:
        numbers = _column(name, column, n_rows).astype(np.float64)
    except (TypeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{name} must be numbers, got {np.asarray(column).dtype}") from None
    if not np.isfinite(numbers).all():
        raise DataError(f"{name} of row {np.argmax(~np.isfinite(numbers))} is not finite")
    return numbers


def _labels(y: ArrayLike, n_rows: int) -> list[str]:
    """Labels as they are written."""
    array = _column("y", y, n_rows)
    if array.dtype.kind not in "UO" or not all(isinstance(label, str) for label in array.tolist()):
        return [format_number(number) for number in _numbers("y", array, n_rows).tolist()]
    labels: list[str] = array.tolist()
    for row, label in enumerate(labels):
        if not _LABEL.fullmatch(label) or FEATURE.fullmatch(label):
            raise DataError(
                f"the label of row {row} cannot be written: {label!r} is empty, has a space, or looks like "
                "a comment or a feature"
            )
    return labels
