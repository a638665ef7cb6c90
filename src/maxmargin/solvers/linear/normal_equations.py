"""The system ``(diag(ridge) + X^T D X) x = b`` of second-order steps on the weights, solved by a Cholesky factor."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs

from ..._compiled import compiled
from .cholesky import TILE, factor, solve
from .rows import Rows

__all__ = ["normal_equations", "passes_for_matrix", "solver_of", "to_zero"]

Reals = NDArray[np.float64]
_NEGLIGIBLE = 1e-20
_WIDEST = 4000
_AT_ONCE = 1 << 13  # rows: where they are not contiguous a copy of so many stays in a cache


def normal_equations(
    rows: Rows, weights: Reals, ridge: Reals, check: Callable[[], None] | None = None
) -> Callable[[Reals], Reals]:
    """A function that solves for ``x`` from ``b``, with one step of refinement.

    Parameters
    ----------
    rows : Rows
        ``X``, with a column of ones after the last where ``ridge`` has one number more than there are features.
    weights : float64 array of shape (n,)
        Diagonal of ``D``, at least 0; rows that add nothing to it in float64 are left out.
    ridge : float64 array of shape (d,) or (d + 1,)
        At least 0.
    check : callable, optional
        Is called on the way, and may raise.

    Notes
    -----
    ``n d^2`` operations for the matrix and ``d^3 / 3`` for its factor.
    """
    d, size = rows.shape[1], len(ridge)
    matrix = np.zeros((size, size))
    used = weights * rows.squared_norms
    # those left out would be slow: numbers near the smallest there are
    matrix[:d, :d] = rows.gram(np.where(used > _NEGLIGIBLE * min(1.0, float(used.max())), weights, 0.0), check)
    if size > d:
        matrix[d, :d] = matrix[:d, d] = rows.combined(weights)
        matrix[d, d] = weights.sum()
    return solver_of(matrix, ridge)


def solver_of(matrix: Reals, ridge: Reals) -> Callable[[Reals], Reals]:
    """A function that solves ``(diag(ridge) + matrix) x = b``, with one step of refinement; changes the matrix.

    It is scaled to a unit diagonal first: then features of very different scales cost no accuracy.
    """
    diagonal = matrix.diagonal() + ridge
    diagonal[diagonal == 0.0] = 1.0  # no row speaks of the intercept
    np.fill_diagonal(matrix, diagonal)
    scale = 1.0 / np.sqrt(diagonal)
    scaled = matrix * scale * scale[:, None]
    solution = _factored(scaled)

    def solve(b: Reals) -> Reals:
        b = b * scale
        x = solution(b)
        # not by a library, whose threads would wait for one another
        x += solution(b - np.einsum("ij,j->i", scaled, x))
        return np.asarray(x * scale)

    return solve


def passes_for_matrix(rows: Rows) -> float:
    """What the matrix and its factor cost, in passes over the rows; infinite where there are too many features.

    A matrix of Gram products takes ``width / 16`` passes over dense rows, ``width / 4`` over sparse ones (measured, one
    core).
    """
    n, d = rows.shape
    if d > _WIDEST:
        return math.inf
    width = rows.entries / max(n, 1)
    return width / (4.0 if rows.sparse else 16.0) + d**3 / 3.0 / max(16.0 * rows.entries, 1.0)


def _factored(matrix: Reals) -> Callable[[Reals], Reals]:
    """Solves by a Cholesky factor of a matrix with unit diagonal, made definite where rounding spoilt it."""
    shift = 0.0
    while (solution := _solution(matrix, shift)) is None:
        shift = max(10.0 * shift, 1e-14)
        if shift > 10.0 * len(matrix):  # enough for any numbers: some are none, which is for the outer loop to see
            return lambda b: np.full(len(b), np.nan)
    return solution


def _solution(matrix: Reals, shift: float) -> Callable[[Reals], Reals] | None:
    if len(matrix) > TILE:
        tiles = factor(matrix, shift)
        return None if tiles is None else lambda b: solve(tiles, b)
    # a library does not divide so little; scipy.linalg takes longer to check so little than to solve it (measured)
    small, info = dpotrf(matrix + shift * np.eye(len(matrix)) if shift else matrix, clean=0)
    return None if info else lambda b: np.asarray(dpotrs(small, b)[0])


def to_zero(x: Reals, dx: Reals) -> float:
    """The largest step of at most 1 that keeps ``x + step dx`` from falling below 0; 1 where numbers are lost."""
    parts = [slice(at, at + _AT_ONCE) for at in range(0, len(x), _AT_ONCE)]
    return min(1.0, float(np.min([_to_zero(x[part].ravel(), dx[part].ravel()) for part in parts], initial=1.0)))


@compiled
def _to_zero(x: Reals, dx: Reals) -> float:
    least, lost = 1.0, False
    for k in range(len(x)):
        if dx[k] < 0.0:
            step = -x[k] / dx[k]
            lost |= step != step
            least = min(least, step)
    return np.nan if lost else least
