"""Whether a hyperplane separates two classes: one that does, or a few rows that allow none.

A few passes of the averaged perceptron often prove separability at once. Where they do not, a linear program looks for
the hyperplane whose smallest margin ``t`` is largest, ::

    max t   s.t.   y_i (<u, z_i> + b) >= t,   -1 <= u_j <= 1,

over rows ``z_i`` with features scaled to ``[-1, 1]``. It begins with the rows of the smallest margins so far, and takes
in the worst ones of the others until none is left much below ``t``. The classes count as inseparable if ``t`` is at
most ``TOLERANCE``: then the multipliers of the rows (Farkas) are the weights of two convex combinations, one of each
class, that coincide to within about that. They are those of a vertex, so any of their rows can be taken away and the
rest is separable (Gleeson and Ryan, ORSA J. Computing 1990), and there are at most ``d + 2`` (``d + 1`` without
intercept). Should rounding have left linearly dependent ones among them, they are reduced (Caratheodory) until the rows
allow only one combination.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._products import inner
from ...status import Status
from ...terms import hinge
from ..loop import run_to_tolerance
from ..perceptron import Perceptron
from .rows import Rows
from .task import LinearTask

__all__ = ["TOLERANCE", "TOLERANCE_OF_KERNELS", "Conflict", "separate"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
TOLERANCE = 1e-9
"""Margins up to this size, with features scaled to ``[-1, 1]`` and weights in ``[-1, 1]``, count as none."""
TOLERANCE_OF_KERNELS = 1e-6
"""The same in the space of a kernel, with the largest value of a factor of its matrix scaled to 1."""
_PASSES = 50
_CLEAR = 1e-4
_ROWS = 200
# with small tolerances the simplex method may go round in circles on near-dependent rows
_ATTEMPTS = (("highs-ds", 1e-10), ("highs-ds", 1e-9), ("highs-ds", 1e-7), ("highs-ipm", 1e-7))
_ITERATIONS = 20


class Conflict(NamedTuple):
    """Rows that no hyperplane separates, though it separates them without any one of them.

    Attributes
    ----------
    rows : int64 array of shape (m,)
    weights : float64 array of shape (m,)
        Positive; those of each class add up to 1, and the two combinations of rows coincide. Without an intercept all
        add up to 1, and the combination of the rows times their signs is 0.
    """

    rows: Ints
    weights: Reals


def separate(rows: Rows, sign: Reals, intercept: bool, *, factor: bool = False) -> float | Conflict:
    """The square of the length of some weights with margins of at least 1, or a conflict.

    Parameters
    ----------
    rows : Rows
        Of shape ``(n, d)``.
    sign : float64 array of shape (n,)
        Plus and minus 1, both of them.
    intercept : bool
        Whether hyperplanes need not go through 0; the square of the intercept is in the answer too.
    factor : bool
        Whether the rows are a factor of a kernel matrix, in which values of less than the root of its rounding mean
        nothing: all features are divided by the largest value of all then, and the tolerance is larger.
    """
    w, scores = _by_perceptron(rows, sign, intercept)
    margin = float((sign * scores).min())
    squares = inner(w, w)
    longest = float(np.sqrt(rows.squared_norms.max()) + intercept)
    if margin > _CLEAR * np.sqrt(squares) * longest:
        return squares / margin**2
    return _by_program(rows, sign, intercept, sign * scores, factor)


def _by_perceptron(rows: Rows, sign: Reals, intercept: bool) -> tuple[Reals, Reals]:
    """Weights and their scores."""
    ones = np.ones(len(sign))
    task = LinearTask(
        rows, hinge(sign, ones), 1.0, ones, "free" if intercept else "none", 0.0, np.random.default_rng(0)
    )
    result = run_to_tolerance(task, Perceptron(), max_passes=_PASSES)
    if result.certificate.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return result.w, task.scores(result.w)


def _by_program(rows: Rows, sign: Reals, intercept: bool, margins: Reals, factor: bool) -> float | Conflict:
    d, tolerance = rows.shape[1], TOLERANCE_OF_KERNELS if factor else TOLERANCE
    shift, scale = _ranges(rows, centered=intercept and not factor)
    if factor:
        scale[:] = scale.max()
    count = max(_ROWS, 2 * (d + 2))
    used = np.union1d(_smallest(margins, sign > 0.0, count), _smallest(margins, sign < 0.0, count))
    while True:
        Z = _scaled(rows.matrix[used], shift, scale)
        u, b, t, multipliers = _largest_margin(Z, sign[used], intercept)
        if t <= tolerance:
            left = np.flatnonzero(multipliers > TOLERANCE)
            A = Z[left].toarray() if sp.issparse(Z) else Z[left]
            if intercept:
                A = np.column_stack([A, np.ones(len(left))])
            kept, weights = _irreducible((sign[used[left]][:, None] * A).T, multipliers[left], tolerance)
            both = 2.0 if intercept else 1.0
            return Conflict(used[left[kept]], weights * (both / weights.sum()))
        w = u / scale
        b -= inner(w, shift)
        margins = sign * (rows.scores(w) + b)
        margins[used] = np.maximum(margins[used], t)  # they are, but for rounding
        worst = _smallest(margins, margins < 0.5 * t, count)
        if not len(worst):
            return (inner(w, w) + b * b) / float(margins.min()) ** 2
        used = np.union1d(used, worst)


def _smallest(margins: Reals, mask: NDArray[np.bool_], count: int) -> Ints:
    """The places of the smallest margins under a mask."""
    places = np.flatnonzero(mask)
    return places[np.argsort(margins[places], kind="stable")[:count]]


def _ranges(rows: Rows, *, centered: bool) -> tuple[Reals, Reals]:
    """What to take off the features and to divide them by. Sparse ones stay where they are, to stay sparse."""
    X = rows.matrix
    shift = np.zeros(rows.shape[1])
    if rows.sparse:
        scale = np.asarray(abs(X).max(axis=0).todense(), np.float64).ravel()
    else:
        low, high = X.min(0).astype(np.float64), X.max(0).astype(np.float64)
        if centered:
            shift = 0.5 * low + 0.5 * high
        scale = np.maximum(high - shift, shift - low)
    scale[scale == 0.0] = 1.0
    return shift, scale


def _scaled(X: Any, shift: Reals, scale: Reals) -> Any:
    if sp.issparse(X):
        return sp.csr_array(X.astype(np.float64) @ sp.diags_array(1.0 / scale))
    return (X - shift) / scale


def _largest_margin(Z: Any, sign: Reals, intercept: bool) -> tuple[Reals, float, float, Reals]:
    """Weights, intercept, the margin, and the multipliers of the rows, at a vertex."""
    from scipy.optimize import linprog

    m, d = Z.shape
    signs, ones = sp.diags_array(-sign), np.ones((m, 1))
    columns = [signs @ Z, *([-sign[:, None]] if intercept else []), ones]
    A = sp.hstack([sp.csr_array(column) for column in columns]).tocsr() if sp.issparse(Z) else np.hstack(columns)
    objective = np.zeros(A.shape[1])
    objective[-1] = -1.0
    for method, tolerance in _ATTEMPTS:
        found = linprog(
            objective, A_ub=A, b_ub=np.zeros(m), bounds=[(-1.0, 1.0)] * d + [(None, None)] * (A.shape[1] - d),
            method=method,
            options={
                "primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance,
                "maxiter": _ITERATIONS * sum(A.shape),
            },
        )  # fmt: skip
        if found.status == 0:
            break
    else:
        raise ArithmeticError(
            f"rounding keeps the linear program of the largest margin from its end ({found.message}); rescale the "
            "features, or use SVMClassifier"
        )
    b = float(found.x[d]) if intercept else 0.0
    return found.x[:d], b, float(found.x[-1]), np.maximum(-found.ineqlin.marginals, 0.0)


def _irreducible(A: Reals, weights: Reals, tolerance: float) -> tuple[Ints, Reals]:
    """Columns of ``A``, and the only weights with which they add up to 0, from weights of all columns that do."""
    left = np.arange(A.shape[1])
    while True:
        _, values, V = np.linalg.svd(A[:, left])
        free = len(left) - int((values > tolerance).sum())
        if free <= 1:
            last = V[-1] * np.sign(V[-1].sum())
            return left, last if (last > 0.0).all() else weights
        # along other solutions, each until a weight is 0; those left keep it there
        null = V[-free:] - np.outer(V[-free:] @ weights, weights) / inner(weights, weights)
        for _ in range(free - 1):
            step = null[int(np.argmax((null**2).sum(1)))]
            largest = float(step.max() if step.max() > -step.min() else step.min())
            if abs(largest) <= TOLERANCE:
                break
            step = step / largest
            with np.errstate(divide="ignore", invalid="ignore"):
                room = np.where(step > TOLERANCE, weights / step, np.inf)
            first = int(np.argmin(room))
            weights = weights - step * float(room[first])
            weights[first] = 0.0
            null = null - np.outer(null[:, first] / step[first], step)
        kept = weights > TOLERANCE * weights.max()
        left, weights = left[kept], weights[kept]
