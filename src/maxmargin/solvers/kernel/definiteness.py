"""Whether a kernel is positive semi-definite on the points at hand, for kernels that are not known to be.

Where it is not, the objective has directions without end and its dual is not concave: a solver can find a stationary
point, at which the two are equal, but no bound. With the hinge loss the dual variables lie in a box, so there is always
one. With a squared loss they do not, and the dual has a maximum for sure only where ``K + diag(ridge)`` is positive
semi-definite.

A Cholesky factorisation proves definiteness; where it fails, a direction of negative curvature is found. Up to 2,000
points are looked at, which takes about a second at most: an eigenvalue below 0 of a part is one of the whole (Cauchy's
interlacing theorem), while nothing found in a part proves nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotrs

from ...errors import DataError
from ...terms import Terms

if TYPE_CHECKING:
    from .task import KernelTask

__all__ = ["Spectrum", "check_bounded", "is_definite", "smallest_eigenvalue", "spectrum_of"]

Reals = NDArray[np.float64]
_LOOKED_AT = 2000
_ROUNDING = 1e-15
_SLIGHT = 1e-6
_MORE, _NEARER = 1e3, 1.01
_ITERATIONS = 20


class Spectrum(NamedTuple):
    """What is known of the eigenvalues of a kernel matrix.

    Attributes
    ----------
    least : float
        The smallest one of the points looked at is at most this, see :func:`smallest_eigenvalue`; 0 where none is below
        0 by more than rounding.
    largest : float
        Largest absolute value of the matrix.
    n_seen : int
        Points looked at.
    """

    least: float
    largest: float
    n_seen: int

    def slight(self, tol: float, c: float) -> float:
        """How far below 0 an eigenvalue may be, as of matrices that are rounded to float32: at most a millionth.

        An eigenvalue ``-e`` changes the dual of hinges by at most ``e c`` of itself, as ``beta' K beta <= sum_v a_v``
        at its maximum, ``a_v <= c``, and half of the sum is its value there; that of their squares by twice as much.
        """
        return min(_SLIGHT * self.largest, tol / c)


def spectrum_of(task: KernelTask) -> Spectrum:
    """The eigenvalues of a task's kernel matrix, looked at once for all tasks that share their values.

    Raises
    ------
    DataError
        When no eigenvalue is above 0, and some are below.
    """
    values = task.values
    if values.spectrum is None:
        if task.exact or isinstance(values.factor, np.ndarray):
            values.spectrum = Spectrum(0.0, 0.0, task.n)
        else:
            K = _matrix(task)
            largest = float(np.abs(K).max())
            _refuse_negative(task, K)
            values.spectrum = Spectrum(smallest_eigenvalue(K), largest, len(K))
    return values.spectrum


def check_bounded(task: KernelTask) -> None:
    """Refuse a squared loss with a kernel for which its dual need not have a maximum.

    Raises
    ------
    DataError
        Says the smallest eigenvalue, and what else to do.
    """
    if task.exact or not isinstance(task.terms, Terms) or not task.terms.squared:
        return
    ridge = task.terms.ridge.min(1)
    least = spectrum_of(task).least
    if least == 0.0:
        return
    K = _matrix(task)
    K[np.diag_indices_from(K)] += ridge[_looked_at(task.n)]
    if not is_definite(K):
        refuse(task, f"smallest eigenvalue {least:.3g}", f", or a C of at most {0.5 / -least / task.weight.max():.2g}")


def refuse(task: KernelTask, witness: str, more: str = "") -> None:
    """Refuse a squared loss with a kernel that is not positive semi-definite."""
    raise DataError(
        f"{task.name}: the kernel is not positive semi-definite on these points ({witness}), so that with a squared "
        f"loss the problem has no optimum; use the loss without the square, another kernel{more}"
    )


def smallest_eigenvalue(K: Reals) -> float:
    """A value that the smallest eigenvalue of a symmetric matrix does not exceed, mostly near it.

    0 where no eigenvalue is below 0 by more than rounding. Else inverse iterations find a direction ``v`` of negative
    ``v' K v / v' v``, which is returned.
    """
    shift = _ROUNDING * len(K) * float(np.abs(K).max(initial=0.0))
    factor = _cholesky(K, shift)
    if factor is not None:
        return 0.0
    v = np.random.default_rng(0).normal(size=len(K))
    while factor is None:
        shift *= _MORE
        factor = _cholesky(K, shift)
    value, v = _by_inverse_iterations(K, factor, v)
    shift = -_NEARER * min(value, -shift / _MORE)
    while (factor := _cholesky(K, shift)) is None:
        shift *= 2.0
    return min(_by_inverse_iterations(K, factor, v)[0], value, -0.5 * shift / _NEARER)


def is_definite(K: Reals) -> bool:
    """Whether no eigenvalue of a symmetric matrix is below 0 by more than rounding."""
    return _cholesky(K, _ROUNDING * len(K) * float(np.abs(K).max(initial=0.0))) is not None


def _cholesky(K: Reals, shift: float) -> Reals | None:
    """A factor of ``K + shift I``; None where there is none. A shift of 0 is that of a matrix of zeros."""
    shifted = np.array(K, order="F")
    shifted[np.diag_indices_from(shifted)] += shift
    factor, info = dpotrf(shifted, lower=1, overwrite_a=1)
    return factor if info == 0 or shift == 0.0 else None


def _by_inverse_iterations(K: Reals, factor: Reals, v: Reals) -> tuple[float, Reals]:
    for _ in range(_ITERATIONS):
        v, _info = dpotrs(factor, v, lower=1)
        v /= np.linalg.norm(v)
    return float(v @ K @ v), v


def _refuse_negative(task: KernelTask, K: Reals) -> None:
    diagonal = K.diagonal()
    if (diagonal <= 0.0).all() and (diagonal < 0.0).any() and is_definite(-K):
        raise DataError(
            f"{task.name}: the kernel has no positive eigenvalue on these points (k(x, x) is down to "
            f"{diagonal.min():.3g}, and should be a squared length): is its sign wrong?"
        )


def _looked_at(n: int) -> NDArray[np.int64]:
    return np.unique(np.linspace(0, n - 1, min(n, _LOOKED_AT)).astype(np.int64))


def _matrix(task: KernelTask) -> Reals:
    """Kernel values between the points looked at, in an array of their own."""
    rows = _looked_at(task.n)
    points = task.X[rows]
    if task.kernel.name == "precomputed":
        points = points[:, rows]
    return task.kernel.block(points, points)
