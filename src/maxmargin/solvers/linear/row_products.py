"""Products of rows with one another, a few hundred rows at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..._compiled import compiled
from ...kernels import Kernel
from .rows import Rows

__all__ = ["RowProducts"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
_TILE = 8  # columns, as many as their lines have places in the first cache
# of all entries: from about then on a library, at some ten products in the time of one here, is faster
_FULL = 0.2
_COPIED = 12_000_000  # entries of a block of such rows: 0.1 GB
_TOGETHER = 256  # rows
_LINEAR = Kernel("linear")


@compiled
def _open_lists(indices, indptr, rows, first, room):
    """Where the list of each feature begins: that of entries of these rows."""
    for k in range(len(rows)):
        for e in range(np.uint64(indptr[rows[k]]), np.uint64(indptr[rows[k] + 1])):
            room[np.uint64(indices[e])] += 1
    total = 0
    for k in range(len(rows)):
        for e in range(np.uint64(indptr[rows[k]]), np.uint64(indptr[rows[k] + 1])):
            j = np.uint64(indices[e])
            if room[j] > 0:
                first[j] = total
                total += room[j]
                room[j] = 0


@compiled
def _gram(data, indices, indptr, rows, begin, end, first, room, where, values, out):
    """Products of rows from ``begin`` to ``end`` with those before; returns the number of products of entries.

    Of each feature the entries of the rows so far are in a list, so that a row meets only entries that it shares a
    feature with, and writes to one row of ``out``, which stays in the first cache.
    """
    products = 0
    for k in range(begin, end):
        row = out[k]
        lo, hi = np.uint64(indptr[rows[k]]), np.uint64(indptr[rows[k] + 1])
        for e in range(lo, hi):
            j = np.uint64(indices[e])
            x = np.float64(data[e])
            start = first[j]
            for t in range(np.uint64(start), np.uint64(start + room[j])):
                row[np.uint64(where[t])] += x * values[t]
            products += room[j]
        for e in range(lo, hi):
            j = np.uint64(indices[e])
            t = np.uint64(first[j] + room[j])
            where[t], values[t] = k, data[e]
            room[j] += 1
    return products


@compiled
def _close_lists(indices, indptr, rows, room):
    """All lists are empty again."""
    for k in range(len(rows)):
        for e in range(np.uint64(indptr[rows[k]]), np.uint64(indptr[rows[k] + 1])):
            room[np.uint64(indices[e])] = 0


@compiled
def _mirror(size, diagonal, plus, out):
    """The other triangle, the diagonal, and what is added to each product."""
    for begin in range(0, size, _TILE):
        for k in range(begin, size):
            for t in range(begin, min(begin + _TILE, k)):
                out[k, t] += plus
                out[t, k] = out[k, t]
    for k in range(size):
        out[k, k] = diagonal[k] + plus


class RowProducts:
    """Has the methods of a cache of kernel rows, and computes what is asked for from the rows themselves.

    Parameters
    ----------
    rows : Rows
    plus : float
        Added to each product: the square of a constant feature.
    check : callable
        Is called on the way, between some hundred rows, and may raise.

    Attributes
    ----------
    capacity : int
        How many rows a block may have.
    operations : float
        Products of numbers in all steps so far.
    """

    def __init__(self, rows: Rows, plus: float, check: Callable[[], None]) -> None:
        self.rows, self.plus, self.check = rows, plus, check
        n, d = rows.shape
        # those that are full, or nearly so, are copied for a library
        full = not rows.sparse or rows.entries > _FULL * n * d
        self.capacity = min(n, max(2, _COPIED // max(d, 1))) if full else n
        self.operations, self._last = 0.0, 0.0  # of the last step
        self._lists = None if full else (np.zeros(d, np.int64), np.zeros(d, np.int64))

    def fetch(self, rows: Ints) -> Ints:
        """Nothing is to be done; returns the rows."""
        return rows

    def diagonal(self, rows: Ints, slots: Ints) -> Reals:
        """``|x_i|^2`` of some rows."""
        return np.asarray(self.rows.squared_norms[rows] + self.plus)

    def fill_block(self, rows: Ints, slots: Ints, out: Reals) -> None:
        """``out = X[rows] X[rows]^T``; what a larger ``out`` has beyond that stays."""
        whole, q = self.rows, len(rows)
        part = out[:q, :q]
        if self._lists is None:
            some = whole.matrix[rows]
            some = some.astype(np.float64).toarray() if whole.sparse else some  # repeated entries add up
            part[:] = _LINEAR.block(some, some)
            products = 0.5 * q * some.size
        else:
            entries = int((whole.indptr[rows + 1] - whole.indptr[rows]).sum())
            where, values = np.empty(entries, np.int32), np.empty(entries)
            part[:] = 0.0
            products, (first, room) = 0.5 * part.size, self._lists
            _open_lists(whole.indices, whole.indptr, rows, first, room)
            try:
                for begin in range(0, q, _TOGETHER):
                    self.check()
                    end = min(begin + _TOGETHER, q)
                    products += _gram(
                        whole.data, whole.indices, whole.indptr, rows, begin, end, first, room, where, values, out
                    )
            finally:
                _close_lists(whole.indices, whole.indptr, rows, room)
        self._last = products + 2.0 * whole.entries  # the second in add
        self.operations += self._last
        _mirror(q, whole.squared_norms[rows], self.plus, out)

    def add(self, rows: Ints, slots: Ints, steps: Reals, out: Reals) -> None:
        """``out += X X[rows]^T steps``, by way of the weights: a pass over all rows."""
        whole = self.rows
        spread = np.zeros(len(out))
        spread[rows] = steps
        out += whole.scores(whole.combined(spread))
        if self.plus:
            out += self.plus * float(steps.sum())

    def cost(self, rows: Ints) -> float:
        """Operations of the last step, which had these rows: their products, and the pass over all."""
        return self._last

    def combined(self, beta: Reals) -> Reals:
        """``X X^T beta``."""
        products = self.rows.scores(self.rows.combined(beta))
        return products + self.plus * float(beta.sum()) if self.plus else products
