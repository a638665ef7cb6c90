"""Selections of sparse rows that lie in memory maps: they go to memory maps too, for they may be larger than memory."""

from __future__ import annotations

import itertools
import mmap
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse, vstack

from ._mapped_columns import Columns

__all__ = ["in_pieces", "rows_of"]

_PIECE = 1 << 18  # entries


def rows_of(
    X: Any,
    rows: NDArray[np.int64] | None = None,
    change: Callable[[Any], Any] = lambda rows: rows,
    below: csr_matrix | None = None,
) -> Any:
    """``change(X[rows])``, and more rows below these of a sparse matrix.

    Of a CSR matrix over memory maps it is a read-only one over memory maps of temporary files.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    rows : int64 array, optional
        All of them in their order by default.
    change : callable
        Treats each row for itself.
    below : csr_matrix, optional
        Becomes of the type of ``X``.

    Raises
    ------
    OSError
        If a temporary file cannot be written.
    """
    if not _is_mapped(X):
        chosen = change(X if rows is None else X[rows])
        return chosen if below is None else vstack([chosen, below.astype(X.dtype)], format="csr")
    parts = in_pieces(X, X.shape[0] if rows is None else len(rows))
    pieces: Iterator[Any] = (change(X[part if rows is None else rows[part]]) for part in parts)
    if below is not None:
        last = below.astype(X.dtype)
        last.indices = last.indices.astype(X.indices.dtype)
        pieces = itertools.chain(pieces, [last])
    return _collected(pieces)


def in_pieces(X: csr_matrix, n: int) -> Iterator[slice]:
    """Slices that divide ``n`` rows like those of ``X`` into pieces of some megabytes."""
    step = max(1, _PIECE * X.shape[0] // max(X.nnz, 1))
    for at in range(0, n, step):
        yield slice(at, min(at + step, n))


def _is_mapped(X: Any) -> bool:
    return issparse(X) and X.format == "csr" and is_map(X.data)


def is_map(base: Any) -> bool:
    """Whether the numbers of an array lie in a memory map."""
    while isinstance(base, np.ndarray | memoryview):
        base = base.base if isinstance(base, np.ndarray) else base.obj
    return isinstance(base, mmap.mmap)


def _collected(pieces: Iterator[csr_matrix]) -> csr_matrix:
    """All rows of the pieces, of which there is one at least."""
    columns, n_rows, n_entries, width = Columns(0), 0, 0, 0
    try:
        columns.append("indptr", np.zeros(1, np.int64))
        for piece in pieces:
            columns.append("values", piece.data)
            columns.append("indices", piece.indices)
            columns.append("indptr", piece.indptr[1:].astype(np.int64) + n_entries)
            n_rows, n_entries, width = n_rows + piece.shape[0], n_entries + piece.nnz, piece.shape[1]
        values, indices, indptr = (columns.take(name) for name in ("values", "indices", "indptr"))
    finally:
        columns.close()
    if n_entries <= np.iinfo(np.int32).max:  # one type for both
        indptr = indptr.astype(indices.dtype)
    return csr_matrix((values, indices, indptr), shape=(n_rows, width), copy=False)
