"""Rows of the kernel matrix, computed when asked for and kept while there is room."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..._compiled import compiled
from ..._products import weighted_sums
from ...kernels import Kernel
from .definiteness import Spectrum

__all__ = ["KernelValues", "RowCache", "add_rows", "block_of"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
_STRIP = 8192
_TILE = 8  # columns, as many as their lines have places in the first cache
_FEW_RUNS = 3
_FEW = 256  # points whose kernel values are one block


@compiled
def add_rows(store, slots, steps, out):
    """``out += sum_k steps[k] store[slots[k]]`` in float64.

    A strip of columns at a time so that sums stay in cache, and of eight rows at a time: one after another they take
    twice as long, as the sums are then read and written eight times as often (measured).
    """
    n, m = len(out), len(slots)
    for first in range(0, n, _STRIP):
        last = min(first + _STRIP, n)
        strip = out[first:last]
        for k in range(0, m - m % 8, 8):
            a, b, c, d = (store[slots[k], first:last], store[slots[k + 1], first:last],
                          store[slots[k + 2], first:last], store[slots[k + 3], first:last])  # fmt: skip
            e, f, g, h = (store[slots[k + 4], first:last], store[slots[k + 5], first:last],
                          store[slots[k + 6], first:last], store[slots[k + 7], first:last])  # fmt: skip
            s, t, u, v = steps[k], steps[k + 1], steps[k + 2], steps[k + 3]
            w, x, y, z = steps[k + 4], steps[k + 5], steps[k + 6], steps[k + 7]
            for j in range(len(strip)):
                strip[j] += (
                    s * a[j] + t * b[j] + u * c[j] + v * d[j] + w * e[j] + x * f[j] + y * g[j] + z * h[j]
                )  # fmt: skip
        for k in range(m - m % 8, m):
            row, step = store[slots[k], first:last], steps[k]
            for j in range(len(strip)):
                strip[j] += step * row[j]


@compiled
def block_of(store, slots, rows, out):
    """``out = K[rows][:, rows]``, symmetric; ascending ``rows`` are at ``slots`` of ``store``.

    One triangle is read, of every row only what comes before its own column, and written again as the other one.
    """
    for k in range(len(rows)):
        row = store[slots[k]]
        for t in range(k + 1):
            out[k, t] = row[np.uint64(rows[t])]
    for first in range(0, len(rows), _TILE):
        for k in range(first + 1, len(rows)):
            for t in range(first, min(first + _TILE, k)):
                out[t, k] = out[k, t]


class RowCache:
    """The rows used last.

    Parameters
    ----------
    kernel : Kernel
    X : array or CSR matrix of shape (n, d)
    dtype : float32 or float64
    megabytes : float
        Bound of the memory of the rows; at least two rows are kept.

    Attributes
    ----------
    store : array of shape (capacity, n)
    computed : int
        Rows computed so far.
    """

    def __init__(self, kernel: Kernel, X: Any, dtype: DTypeLike, megabytes: float) -> None:
        self.X, self.columns = X, kernel.columns(X, dtype)
        n = self.columns.n
        itemsize = np.dtype(dtype).itemsize
        self.capacity = int(min(n, max(2, megabytes * 1e6 // (max(n, 1) * itemsize))))
        self.store = np.empty((self.capacity, n), dtype)
        self.slot = np.full(n, -1, np.int64)
        self.owner = np.full(self.capacity, -1, np.int64)
        self.stamp = np.full(self.capacity, -1, np.int64)
        self.clock = 0
        self.computed = 0

    def fetch(self, rows: Ints) -> Ints:
        """Where in ``store`` these different rows are, at most ``capacity`` of them; computes those that are not."""
        self.clock += 1
        held = self.slot[rows]
        self.stamp[held[held >= 0]] = self.clock
        missing = rows[held < 0]
        if len(missing):
            self._compute(missing)
        return np.asarray(self.slot[rows])

    def diagonal(self, rows: Ints, slots: Ints) -> NDArray[Any]:
        """``k(x_i, x_i)`` of rows that are at these slots."""
        return np.asarray(self.store[slots, rows])

    def fill_block(self, rows: Ints, slots: Ints, out: NDArray[Any]) -> None:
        """``out = K[rows][:, rows]`` for ascending rows that are at these slots; a larger ``out`` keeps the rest."""
        block_of(self.store, slots, rows, out)

    def add(self, rows: Ints, slots: Ints, steps: Reals, out: Reals) -> None:
        """``out += K[:, rows] steps`` for rows that are at these slots."""
        add_rows(self.store, slots, steps, out)

    def cost(self, rows: Ints) -> float:
        """Operations of a step of these rows: to compute theirs, or to add them up."""
        return float(len(rows)) * self.store.shape[1]

    def combined(self, beta: Reals) -> Reals:
        """``K beta`` for one vector or several; for caches that have room for all rows, which are kept from then on."""
        if beta.ndim > 1:
            spread = np.empty((self.capacity, beta.shape[1]))
            spread[self.fetch(np.arange(len(beta)))] = beta
            return np.asarray(self.store.T @ spread)
        used = np.flatnonzero(beta)
        out = np.zeros(len(beta))
        add_rows(self.store, self.fetch(used), beta[used], out)
        return out

    def _compute(self, rows: Ints) -> None:
        taken = np.sort(np.argsort(self.stamp, kind="stable")[: len(rows)])  # used longest ago
        before = self.owner[taken]
        self.slot[before[before >= 0]] = -1
        self.owner[taken], self.stamp[taken] = -1, -1  # nobody's, should Ctrl-C come before they are filled
        ends = [0, *(np.flatnonzero(np.diff(taken) != 1) + 1).tolist(), len(taken)]
        if len(ends) <= _FEW_RUNS + 1:  # in place: a copy costs as much as the values themselves
            for first, last in pairwise(ends):
                self.columns.fill(self.X[rows[first:last]], self.store[taken[first] : taken[first] + last - first])
        else:
            for part, columns, values in self.columns.blocks(self.X[rows]):
                self.store[taken[part], columns] = values
        self.slot[rows], self.owner[taken], self.stamp[taken] = taken, rows, self.clock
        self.computed += len(rows)


@dataclass
class KernelValues:
    """What is known of a kernel matrix: problems on the same points, with another ``C`` or other signs, can share it.

    Attributes
    ----------
    keep : bool
        Whether several problems use it: then rows are float64 where there is room for all of them, so that they serve
        certificates too.
    rows : RowCache or None
        The last cache made.
    factor : array of shape (n, rank), False or None
        ``L`` with ``K = L L^T``; False where there is none, None where nobody has asked.
    rank : int or None
        How many columns the factor is likely to have; None where nobody has asked.
    spectrum : Spectrum or None
        What is known of the eigenvalues; None where nobody has asked.
    block : int
        How many rows at a time the last problem took in the end, where it was a hard one; else 0.
    products : tuple of two arrays of shape (n,), or None
        Coefficients ``beta`` and their ``K beta`` in float64.
    lengths : float64 array of shape (n,), or None
        ``sqrt |k(x_i, x_i)|`` of every point; None where nobody has asked.
    matrix : float64 array of shape (n, n), or None
        All values of few points, see :meth:`of_few`; None where nobody has asked.
    rounding : float or None
        Of values in float32, see :func:`~maxmargin.solvers.kernel.block_smo.float32_rounding`; None where nobody has
        asked. Problems on parts of the same points can share it.
    """

    keep: bool = False
    rows: RowCache | None = None
    factor: Reals | Literal[False] | None = None
    rank: int | None = None
    spectrum: Spectrum | None = None
    rounding: float | None = None
    block: int = 0
    products: tuple[Reals, Reals] | None = None
    lengths: Reals | None = None
    matrix: Reals | None = None

    def of_few(self, kernel: Kernel, X: Any) -> Reals | None:
        """The kernel matrix in float64, if it is so small that making ready to compute a part costs as much.

        Values that are given, by a matrix or a function, are asked for where they are needed.
        """
        if X.shape[0] > _FEW or kernel.name in ("precomputed", "callable"):
            return None
        if self.matrix is None:
            self.matrix = kernel.block(X, X)
        return self.matrix

    def between(self, kernel: Kernel, X: Any, rows: Ints, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """The kernel matrix of some of the points, by their rows."""
        matrix = self.of_few(kernel, X) if dtype == np.float64 else None
        if matrix is not None:
            return matrix[np.ix_(rows, rows)]
        points = X[rows]
        if kernel.name == "precomputed":
            points = points[:, rows]
        return kernel.block(points, points, dtype)

    def cache(self, kernel: Kernel, X: Any, dtype: DTypeLike, megabytes: float) -> RowCache:
        """The cache at hand if its values are as exact as these, else a new one."""
        if self.keep and 8.0 * X.shape[0] ** 2 <= 1e6 * megabytes:
            dtype = np.float64
        if self.rows is None or self.rows.store.itemsize < np.dtype(dtype).itemsize:
            self.rows = RowCache(kernel, X, dtype, megabytes)
        return self.rows

    def combined(self, kernel: Kernel, X: Any, beta: Reals) -> Reals:
        """``K beta`` in float64, from rows at hand where they may serve."""
        rows = self.rows
        if self.keep and rows is not None and rows.store.dtype == np.float64 and len(rows.store) == len(beta):
            return rows.combined(beta)
        matrix = self.of_few(kernel, X)
        if matrix is not None:
            return weighted_sums(matrix, beta)
        return kernel.combined(X, X, beta)
