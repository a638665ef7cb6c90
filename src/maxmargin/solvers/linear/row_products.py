"""Products of rows with one another, a few hundred rows at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._compiled import compiled
from ...kernels import Kernel
from .rows import Rows

__all__ = ["RowProducts"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
_TILE = 8  # columns, as many as their lines have places in the first cache
_LINEAR = Kernel("linear")


@compiled
def _gram(data, indices, indptr, rows, first, room, where, values, out):
    """``out += <x_r, x_s>`` of sparse rows, symmetric; returns the number of products.

    Of each feature the entries of the rows so far are kept in a list, so that a row meets only entries that it shares
    a feature with, and writes to one row of ``out``, which stays in the first cache. ``first`` and ``room`` have a zero
    for each feature, and are left so; ``where`` and ``values`` have room for all entries.
    """
    for k in range(len(rows)):
        for e in range(np.uint64(indptr[rows[k]]), np.uint64(indptr[rows[k] + 1])):
            room[np.uint64(indices[e])] += 1
    total = 0
    for k in range(len(rows)):  # a list begins where the one of the feature before ends
        for e in range(np.uint64(indptr[rows[k]]), np.uint64(indptr[rows[k] + 1])):
            j = np.uint64(indices[e])
            if room[j] > 0:
                first[j] = total
                total += room[j]
                room[j] = 0
    products = 0
    for k in range(len(rows)):
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
    for k in range(len(rows)):
        for e in range(np.uint64(indptr[rows[k]]), np.uint64(indptr[rows[k] + 1])):
            room[np.uint64(indices[e])] = 0
    for begin in range(0, len(rows), _TILE):
        for k in range(begin + 1, len(rows)):
            for t in range(begin, min(begin + _TILE, k)):
                out[t, k] = out[k, t]
    return products


class RowProducts:
    """Has the methods of a cache of kernel rows, and computes what is asked for from the rows themselves.

    Parameters
    ----------
    rows : Rows
    plus : float
        Added to each product: the square of a constant feature.

    Attributes
    ----------
    capacity : int
        The number of rows: there is room for all.
    operations : float
        Products of numbers in all steps so far.
    """

    def __init__(self, rows: Rows, plus: float = 0.0) -> None:
        self.rows, self.plus = rows, plus
        self.capacity = rows.shape[0]
        self.operations, self._last = 0.0, 0.0  # of the last block
        self._lists = (np.zeros(rows.shape[1], np.int64), np.zeros(rows.shape[1], np.int64)) if rows.sparse else None

    def fetch(self, rows: Ints) -> Ints:
        """Nothing is to be done; returns the rows."""
        return rows

    def diagonal(self, rows: Ints, slots: Ints) -> Reals:
        """``|x_i|^2`` of some rows."""
        return np.asarray(self.rows.squared_norms[rows] + self.plus)

    def fill_block(self, rows: Ints, slots: Ints, out: NDArray[Any]) -> None:
        """``out = X[rows] X[rows]^T``."""
        whole = self.rows
        if self._lists is None:
            some = whole.matrix[rows]
            out[:] = _LINEAR.block(some, some)
            self._last = 0.5 * len(rows) * some.size
        else:
            entries = int((whole.indptr[rows + 1] - whole.indptr[rows]).sum())
            where, values = np.empty(entries, np.int32), np.empty(entries)
            out[:] = 0.0
            products = _gram(whole.data, whole.indices, whole.indptr, rows, *self._lists, where, values, out)
            np.fill_diagonal(out, whole.squared_norms[rows])
            self._last = float(products) + 0.5 * out.size
        if self.plus:
            out += self.plus

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
        done = self._last + 2.0 * self.rows.entries
        self.operations += done
        return done

    def combined(self, beta: Reals) -> Reals:
        """``X X^T beta``."""
        products = self.rows.scores(self.rows.combined(beta))
        return products + self.plus * float(beta.sum()) if self.plus else products
