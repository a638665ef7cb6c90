"""Rows of features, dense or sparse, as the solvers of linear machines see them: products, norms, and their kernels.

A matrix is used as it is where it can be: dense rows in C order, or CSR with 32- or 64-bit indices, float32 or float64.
Only then a copy is made when it is neither (Fortran order, integers). Unsorted and repeated sparse entries are fine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._compiled import compiled, prefetch
from . import dense_products
from .gram import PIECE_ROWS, gram

__all__ = ["AHEAD", "Rows", "add_row", "add_two", "dot_row", "dot_two", "load_row", "read_only", "square"]

Reals = NDArray[np.float64]
_BLOCK_ENTRIES = 1 << 18
AHEAD = 4  # rows from the one at work to the one that is loaded
_FETCHED = 128  # entries; after some lines of a row the processor sees by itself where it goes


# Indices are made unsigned before use: for signed ones Numba compiles Python's negative indexing, which keeps the loops
# from being vectorised (measured: three times as slow).


@compiled(dot=True)
def dot_row(data, indices, indptr, width, i, w):
    """``<x_i, w>``; ``indices`` None means dense rows, and the branch is resolved when compiling."""
    total = 0.0
    if indices is None:
        first = np.uint64(i) * np.uint64(width)
        for k in range(np.uint64(width)):
            total += data[first + k] * w[k]
    else:
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            total += data[k] * w[np.uint64(indices[k])]
    return total


@compiled
def add_row(data, indices, indptr, width, i, scale, w):
    """``w += scale x_i``."""
    if indices is None:
        first = np.uint64(i) * np.uint64(width)
        for k in range(np.uint64(width)):
            w[k] += scale * data[first + k]
    else:
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            w[np.uint64(indices[k])] += scale * data[k]


@compiled(dot=True)
def dot_two(data, width, i, j, w):
    """``<x_i, w>``, ``<x_j, w>`` and ``<x_i, x_j>`` of dense rows."""
    one, two = data[i * width : (i + 1) * width], data[j * width : (j + 1) * width]
    first, second, both = 0.0, 0.0, 0.0
    for k in range(width):
        x, z, u = one[k], two[k], w[k]
        first += x * u
        second += z * u
        both += np.float64(x) * z
    return first, second, both


@compiled
def add_two(data, width, i, scale, j, other, w):
    """``w += scale x_i + other x_j`` of dense rows."""
    one, two = data[i * width : (i + 1) * width], data[j * width : (j + 1) * width]
    for k in range(width):
        w[k] += scale * one[k] + other * two[k]


@compiled(dot=True)
def square(w):
    """``<w, w>``, without the threads of a library of linear algebra.

    They wait for one another longer than the product takes: where another program had the other core, passes over text
    took six times as long with them (measured).
    """
    total = 0.0
    for k in range(len(w)):
        total += w[k] * w[k]
    return total


@compiled
def load_row(data, indices, indptr, width, i):
    """Begin to load a row that is wanted soon, see :func:`prefetch`.

    Rows in random order wait for memory most of their time; loaded ahead they take a fifth to a third less (measured
    on text, on a9a and on dense rows).
    """
    if indices is None:
        lo = i * width
        hi = lo + min(width, _FETCHED)
    else:
        lo = np.int64(indptr[i])
        hi = min(np.int64(indptr[i + 1]), lo + _FETCHED)
        for q in range(lo, hi, 16):  # 64 bytes of int32: a line of memory
            prefetch(indices, q)
    for q in range(lo, hi, 8):
        prefetch(data, q)


@compiled(dot=True)
def _squared_norms(data, indices, indptr, width, buffer, out):
    """Squared norms; ``buffer`` has a zero for each feature, and is left so. Repeated entries add up first."""
    for i in range(len(out)):
        total = 0.0
        if indices is None:
            first = np.uint64(i) * np.uint64(width)
            for k in range(np.uint64(width)):
                total += np.float64(data[first + k]) ** 2
        else:
            lo, hi = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
            before, unsorted = np.int64(-1), False
            for k in range(lo, hi):  # without a branch: a third of the time (measured on text)
                total += np.float64(data[k]) ** 2
                j = np.int64(indices[k])
                unsorted |= j <= before
                before = j
            if unsorted:  # so some may be repeated
                total = 0.0
                for k in range(lo, hi):
                    buffer[np.uint64(indices[k])] += data[k]
                for k in range(lo, hi):
                    total += data[k] * buffer[np.uint64(indices[k])]
                for k in range(lo, hi):
                    buffer[np.uint64(indices[k])] = 0.0
        out[i] = total


@compiled
def _combine(data, indices, indptr, width, beta, out):
    """``out += X^T beta`` of sparse rows; most of the coefficients may be 0."""
    for i in range(len(beta)):
        if beta[i] != 0.0:
            add_row(data, indices, indptr, width, i, beta[i], out)


@compiled
def _raise(data, indices, indptr, first, end, high):
    for k in range(np.uint64(indptr[first]), np.uint64(indptr[end])):
        j = np.uint64(indices[k])
        high[j] = max(high[j], np.float64(abs(data[k])))


class Rows:
    """A feature matrix of shape ``(n, d)``.

    Attributes
    ----------
    data, indices, indptr : arrays, or None
        What the kernels take, flat and read-only; ``indices`` and ``indptr`` are None for dense rows.
    """

    def __init__(self, X: Any) -> None:
        if sp.issparse(X):
            X = X.tocsr()
            self.matrix: Any = X if X.data.dtype in (np.float32, np.float64) else X.astype(np.float64)
            self.data = read_only(self.matrix.data)
            self.indices: Any = read_only(self.matrix.indices)
            self.indptr: Any = read_only(self.matrix.indptr)
        else:
            X = np.asarray(X)
            self.matrix = np.ascontiguousarray(X, X.dtype if X.dtype in (np.float32, np.float64) else np.float64)
            self.data, self.indices, self.indptr = read_only(self.matrix.reshape(-1)), None, None
        self.shape: tuple[int, int] = self.matrix.shape

    @property
    def sparse(self) -> bool:
        """Whether the rows are sparse."""
        return self.indices is not None

    @property
    def entries(self) -> int:
        """Stored values."""
        return int(self.data.size)

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Consecutive blocks of rows, in float64 while in use: small enough for a cache."""
        n = self.shape[0]
        size = max(1, _BLOCK_ENTRIES * n // max(self.entries, 1))
        for at in range(0, n, size):
            part = slice(at, min(at + size, n))
            block = self.matrix[part]
            yield part, block if block.dtype == np.float64 else block.astype(np.float64)

    def scores(self, w: Reals) -> Reals:
        """``X @ w`` in float64; ``w`` is a vector, or a matrix of several."""
        if not self.sparse:
            return dense_products.scores(self.data, self.shape[1], self.shape[0], w)
        if self.data.dtype == np.float64:
            return np.asarray(self.matrix @ w)
        out = np.empty((self.shape[0], *w.shape[1:]))
        for part, block in self.blocks():
            out[part] = block @ w
        return out

    def combined(self, beta: Reals) -> Reals:
        """``X.T @ beta`` in float64; ``beta`` is a vector, or a matrix of several."""
        if not self.sparse:
            return dense_products.combined(self.data, self.shape[1], self.shape[0], beta)
        if beta.ndim == 1:
            out = np.zeros(self.shape[1])
            _combine(self.data, self.indices, self.indptr, self.shape[1], beta, out)
            return out
        if self.data.dtype == np.float64:
            return np.asarray(self.matrix.T @ beta)
        out = np.zeros((self.shape[1], *beta.shape[1:]))
        for part, block in self.blocks():
            out += block.T @ beta[part]
        return out

    @cached_property
    def squared_norms(self) -> Reals:
        """``|x_i|^2`` of every row; read-only."""
        out = np.empty(self.shape[0])
        _squared_norms(self.data, self.indices, self.indptr, self.shape[1], np.zeros(self.shape[1]), out)
        return read_only(out)

    def raise_to_largest(self, high: Reals, first: int, end: int) -> None:
        """Raise ``high`` of every feature to its largest absolute value in sparse rows from ``first`` to ``end``."""
        _raise(self.data, self.indices, self.indptr, first, end, high)

    def column_squares(self, weights: Reals) -> Reals:
        """``sum_i weights_i x_ij^2`` of every feature, shape ``(d,)``."""
        out = np.zeros(self.shape[1])
        for part, block in self.blocks():
            if self.sparse:
                out += block.multiply(block).T @ weights[part]
            else:  # by no library that divides sums among threads
                out += np.einsum("ij,ij,i->j", block, block, weights[part])
        return out

    def gram(self, weights: Reals, check: Callable[[], None] | None = None) -> Reals:
        """``X.T @ diag(weights) @ X`` for weights of at least 0, shape ``(d, d)``; ``check`` may raise on the way."""
        (n, d), root = self.shape, np.sqrt(weights)
        # a product of dense blocks wins from a tenth of the entries on (measured)
        if not self.sparse or self.entries > 0.09 * n * d:
            return gram(self._dense_blocks, root, d, check)
        out = np.zeros((d, d))
        for part, block in self.blocks():
            if check is not None:
                check()
            scaled = block.multiply(root[part, None]).tocsr()
            out += (scaled.T @ scaled).toarray()
        return out

    def _dense_blocks(self, first: int, end: int, most: int) -> Iterator[tuple[int, NDArray[Any]]]:
        """The rows from ``first`` to ``end``, at most so many at a time, each block with where it begins."""
        if self.sparse:
            few = _BLOCK_ENTRIES // max(self.shape[1], 1) // PIECE_ROWS * PIECE_ROWS
            most = min(most, max(few, PIECE_ROWS))
        for at in range(first, end, most):
            block = self.matrix[at : min(at + most, end)]
            yield at, read_only(block.toarray() if self.sparse else block)


def read_only(values: NDArray[Any]) -> NDArray[Any]:
    """One machine type for all: what comes from a memory map is read-only anyway."""
    view = np.ascontiguousarray(values).view()
    view.flags.writeable = False
    return view
