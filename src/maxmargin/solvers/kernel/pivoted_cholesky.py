"""A Cholesky factor with pivots, of as many columns as the matrix has rank.

``K = L L^T`` up to rounding, row by row of ``L`` in the order of the matrix. LAPACK has one (``dpstrf``), in which
threads of BLAS divide the sums, so that the last bits of the factor, and of a model made from it, depend on how many
there are. Here columns come in panels: those with the largest diagonal are taken, what the columns before them explain
is taken off by products in pieces (:class:`~maxmargin._products.Panels`), and within the panel the largest pivot comes
first. A pivot much smaller than the largest of all is left for later. Cost: ``n r^2`` for a rank of ``r``. Memory: the
factor twice, and a panel.

Sources: Fine and Scheinberg (JMLR 2001) for the use; Higham (Accuracy and Stability of Numerical Algorithms, 2002,
chapter 10) for pivots and where to stop.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..._compiled import compiled
from ..._products import Panels
from ..._threads import as_many_as_blas, in_order

__all__ = ["pivoted_cholesky"]

Reals = NDArray[np.float64]
_BLOCK = 64  # columns of a panel
_WORTH = 0.25  # of the largest pivot
_ROWS = 512  # at a time
_MANY = 1 << 24  # multiplications; fewer are there before a second thread is


@compiled(dot=True)
def _panel(C, diagonal, least, order):
    """Factor the first columns of what is left of a matrix, ``C``, whose first rows are theirs; how many are used.

    ``C`` becomes their columns of the factor, ``diagonal`` what is left of that of the matrix; ``order`` are the
    numbers of the columns, in the order in which they come. A column whose pivot is below ``least`` is not used.
    """
    n, width = C.shape
    for t in range(width):
        best = t
        for p in range(t + 1, width):
            if diagonal[p] > diagonal[best]:
                best = p
        if diagonal[best] < least:
            return t
        if best != t:
            for q in range(width):
                C[t, q], C[best, q] = C[best, q], C[t, q]
            for i in range(n):
                C[i, t], C[i, best] = C[i, best], C[i, t]
            diagonal[t], diagonal[best] = diagonal[best], diagonal[t]
            order[t], order[best] = order[best], order[t]
        root = math.sqrt(diagonal[t])
        pivot = C[t]
        for i in range(t + 1, n):
            row, total = C[i], 0.0
            for s in range(t):
                total += row[s] * pivot[s]
            row[t] = (row[t] - total) / root
            diagonal[i] -= row[t] * row[t]
        pivot[t] = root
        for s in range(t + 1, width):
            pivot[s] = 0.0
    return width


def pivoted_cholesky(K: Reals) -> Reals:
    """``L`` of shape ``(n, rank)``; of a matrix that is not positive semi-definite ``L L^T`` is another one.

    Parameters
    ----------
    K : float64 array of shape (n, n)
        Symmetric.
    """
    n = len(K)
    place, left, L = np.arange(n), K.diagonal().copy(), np.zeros((n, n))
    least = n * float(np.finfo(np.float64).eps) * float(left.max(initial=0.0))
    j = 0
    while j < n and (most := float(left[j:].max())) > least:
        width = min(_BLOCK, n - j)
        _bring_forward(j, width, place, left, L)
        C = K[place[j:, None], place[j : j + width]]
        if j:
            C -= _explained(L[j:, :j], L[j : j + width, :j])
        order = np.arange(width)
        count = _panel(C, left[j:], max(_WORTH * most, least), order)
        place[j : j + width] = place[j + order]
        L[j : j + width, :j] = L[j + order, :j]
        L[j:, j : j + count] = C[:, :count]
        j += count
    out = np.empty((n, j))
    out[place] = L[:, :j]
    return out


def _bring_forward(j: int, width: int, place: NDArray[np.int64], left: Reals, L: Reals) -> None:
    """Exchange rows so that those with the largest diagonal come next, the first of equals first."""
    found = np.argsort(-left[j:], kind="stable")[:width] + j
    for q in range(width):
        p = int(found[q])
        if p != j + q:
            for values in (place, left):
                values[j + q], values[p] = values[p], values[j + q]
            row = L[j + q, :j].copy()
            L[j + q, :j], L[p, :j] = L[p, :j], row
            found[q + 1 :][found[q + 1 :] == j + q] = p


def _explained(rows: Reals, columns: Reals) -> Reals:
    """``rows @ columns.T``."""
    right, out = Panels(columns), np.empty((len(rows), len(columns)))

    def run(at: int) -> None:
        right.product(rows[at : at + _ROWS], out[at : at + _ROWS])

    threads = as_many_as_blas() if out.size * columns.shape[1] >= _MANY else 1
    for _ in in_order(run, range(0, len(rows), _ROWS), threads):
        pass
    return out
