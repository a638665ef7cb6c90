"""Free intercepts of several classes: dual points that are feasible for them.

Without a penalty on the intercepts ``b_k`` the dual of :mod:`~maxmargin.solvers.linear.crammer_singer` has an equation
for each class: ``sum_i u_i beta_ik = 0`` with ``beta_ik = c_i [k = y_i] - a_ik``, where ``u_i`` is the value of the
constant feature. The intercepts are its multipliers, up to a number that all classes have in common. With the flows
``F_kl``, the sums of ``u_i a_il`` over the rows of class ``k``, the equations say that each class gives as much as it
takes.
Memory: some matrices of the size of the flows, and of the dual point.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._products import inner

__all__ = ["balanced", "response", "stationary"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
_ROUNDS, _WORTH = 8, 0.9
_TO_BOUNDARY = 0.9
_LEVEL = 1e-15
_DEPENDENT = 1e-10
_LINK = 1e-30
_MOST_CLASSES = 500  # the cube of it is the work of a round


def balanced(a: Reals, target: Ints, constant: Reals) -> Reals:
    """A point of the same simplices, near ``a``, that is feasible for free intercepts up to rounding.

    Rows between classes take the correction, in proportion to the room their variables have: near the optimum the dual
    is flat along them. Where they have not enough, all that a class gives to others is scaled down, by factors that
    make the flows balance whatever they are: the truth alone is always feasible.

    Parameters
    ----------
    a : float64 array of shape (n, K)
        At least 0.
    target : int64 array of shape (n,)
    constant : float64 array of shape (n,)
        ``u``, positive.
    """
    flow = _flows(a, target, constant)
    for _ in range(_ROUNDS):
        excess = flow.sum(1) - flow.sum(0)
        left = float(np.abs(excess).sum())
        if left <= _LEVEL * float(flow.sum()):
            return a
        if len(flow) > _MOST_CLASSES:
            break
        # change_ik = u_i a_ik (x_k - mean of x) with the x that brings the excess to 0
        x = _solved(response(a, constant), excess)
        share = constant[:, None] * (x - (a @ x / a.sum(1))[:, None])
        step = min(1.0, _TO_BOUNDARY / max(-float(share.min()), 1e-300))
        moved = _completed(a * (1.0 + step * share), a, target)
        after = _flows(moved, target, constant)
        if not float(np.abs(after.sum(1) - after.sum(0)).sum()) < _WORTH * left:
            break
        a, flow = moved, after
    return _completed(a * stationary(flow)[target][:, None], a, target)


def stationary(flow: Reals) -> Reals:
    """Factors ``v``, the largest of them 1, for which the flows ``v_k F_kl`` balance: a Markov chain at rest.

    Source: Grassmann, Taksar, Heyman (Operations Research 1985): elimination without a difference, so that each factor
    is exact.
    """
    F = flow + _LINK * float(flow.max(initial=1e-300))  # classes without flows among them are linked all the same
    np.fill_diagonal(F, 0.0)
    total = np.ones(len(F))
    for k in range(len(F) - 1, 0, -1):
        total[k] = F[k, :k].sum()
        F[:k, :k] += np.outer(F[:k, k], F[k, :k] / total[k])
    v = np.ones(len(F))
    for k in range(1, len(F)):
        v[k] = inner(v[:k], F[:k, k]) / total[k]
        v[: k + 1] /= v[: k + 1].max()
    return v


def _flows(a: Reals, target: Ints, constant: Reals) -> Reals:
    """``F``, with a diagonal of 0."""
    n, K = a.shape
    out = np.asarray(sp.csc_matrix((constant, target, np.arange(n + 1)), shape=(K, n)) @ a)
    np.fill_diagonal(out, 0.0)
    return out


def response(a: Reals, constant: Reals) -> Reals:
    """``sum_i u_i^2 (diag(a_i) - a_i a_i^T / sum_k a_ik)``, shape ``(K, K)``."""
    out = -np.asarray((a * (constant**2 / a.sum(1))[:, None]).T @ a)
    np.fill_diagonal(out, 0.0)
    np.fill_diagonal(out, -out.sum(0))  # not as a difference, which at a large C would be rounding
    return out


def _solved(matrix: Reals, b: Reals) -> Reals:
    """The shortest ``x`` that comes nearest to ``matrix x = b``, for a matrix scaled to a unit diagonal."""
    diagonal = matrix.diagonal()
    scale = np.where(diagonal > 0.0, 1.0 / np.sqrt(np.maximum(diagonal, 1e-300)), 0.0)
    values, vectors = np.linalg.eigh(matrix * scale * scale[:, None])
    used = values > _DEPENDENT
    part = vectors[:, used]
    return np.asarray(scale * (part @ ((part.T @ (scale * b)) / values[used])))


def _completed(moved: Reals, a: Reals, target: Ints) -> Reals:
    """``moved``, in place, with variables of the truth that give it the sums of ``a``."""
    rows = np.arange(len(a))
    moved[rows, target] = 0.0
    moved[rows, target] = np.maximum(a.sum(1) - moved.sum(1), 0.0)
    return moved
