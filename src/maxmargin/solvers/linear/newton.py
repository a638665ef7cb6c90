"""Newton's method on the weights, for losses with a derivative: logistic, exponential, squared hinge, a user's own.

Problem: see :class:`~maxmargin.solvers.linear.task.LinearTask`. With ``D`` the second derivatives of the costs, a step
solves ``(I + X^T D X) p = -gradient``: by conjugate gradients, each product of which takes two products with ``X``, as
long as these come to less than the matrix itself (Lin, Weng and Keerthi, JMLR 2008), and else by its Cholesky factor.
The former leave out the intercept, which follows from the other weights.
The lower bound is that of the dual point ``a_i = -c_i loss'(sign_i f_i)``: by Fenchel and Young the gap to it is
``1/2 |w - X^T beta(a)|^2`` at the best intercept, half the square of the gradient.
Memory beyond the data: a few numbers for each row and feature, and ``d^2`` where the matrix is used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..._products import inner
from ...errors import DataError
from ..base import Run, Step
from ..truncated import conjugate_gradients, line_minimum
from .intercept import best_intercept
from .normal_equations import normal_equations, passes_for_matrix
from .rows import Rows
from .task import LinearTask

if TYPE_CHECKING:
    from ..kernel.task import KernelTask

__all__ = ["Newton", "NewtonRun", "has_cheap_matrix"]

Reals = NDArray[np.float64]
_ONE_LOSS = ("HardMarginSVM", "OneClassSVM")  # without a parameter for it
_FORCING = 0.2
_MOST_PRODUCTS = 200
_LEAST_PRODUCTS = 15
_CHEAP_MATRIX = 1.5  # products


@dataclass(frozen=True)
class Newton:
    """Newton's method with conjugate gradients or a Cholesky factor."""

    @property
    def name(self) -> str:
        """Short name, as accepted by the estimators."""
        return "newton"

    def start(self, task: LinearTask) -> NewtonRun:
        """Begin a run.

        Raises
        ------
        DataError
            When the loss has no second derivative.
        """
        self.check(task)
        return NewtonRun(task)

    def check(self, task: LinearTask | KernelTask) -> None:
        """Refuse a loss without a second derivative, see :meth:`start`."""
        if not task.terms.smooth:
            needs = f"{task.name}: Newton's method needs a loss with a second derivative"
            if task.name in _ONE_LOSS or np.any(getattr(task, "totals", 0.0)):  # thresholds of a nu form
                where = "this machine" if task.name in _ONE_LOSS else "a machine with nu"
                raise DataError(f"{needs}, which {where} has not: use another solver, such as 'auto'")
            such = "'squared_hinge' or 'logistic' (of a CustomLoss its bend)"
            sides = getattr(task.terms, "upper", None)
            if sides is not None and sides.ndim == 2 and sides.shape[1] == 2 and (sides > 0.0).all():  # a tube
                such = "'squared_epsilon_insensitive'"
            raise DataError(f"{needs}, such as {such}")


class _Point:
    """Weights with scores, gradient, the dual point, and the values of both problems there."""

    def __init__(self, task: LinearTask, w: Reals, scores: Reals, *, settled: bool = True) -> None:
        """The free intercept is made the best one first, or else the dual value is too high where it is not."""
        terms, d = task.terms, task.rows.shape[1]
        if task.intercept == "free" and settled:
            shift = best_intercept(terms, scores)
            w, scores = w.copy(), scores + shift
            w[d] += shift
        self.w, self.scores = w, scores
        self.a = terms.multipliers(scores)
        beta = terms.beta(self.a)
        ridge = task.ridge
        self.gradient = ridge * w - task.combined(beta)
        self.primal = task.penalty(w) + float(terms.cost(scores).sum())
        penalized = ridge > 0.0
        self.dual = self.primal - 0.5 * inner(self.gradient[penalized] ** 2, 1.0 / ridge[penalized])


class _System:
    """The system of a step for conjugate gradients: its intercept is the best one for the other weights.

    Among the unknowns a free intercept undoes what they gain. Far from the origin the longest direction by far shifts
    all scores alike, conjugate gradients that stop early take little else, and the best intercept shifts the scores
    back. Without it the system is that of rows around their mean, weighted by the curvature.
    """

    def __init__(self, task: LinearTask, curvature: Reals) -> None:
        d = task.rows.shape[1]
        self.task, self.curvature, self.ridge = task, curvature, task.ridge[:d]
        self.bend, self.pull = 0.0, np.zeros(d)  # of the intercept alone, and its answer to the other weights
        squares = task.rows.column_squares(curvature)
        if task.intercept != "none":
            self.bend = float(curvature.sum() + task.ridge[d])
            self.pull = task.rows.combined(curvature) / max(self.bend, 1e-300)
            squares = np.maximum(squares - self.bend * self.pull**2, 0.0)
        self.scale = 1.0 / np.maximum(self.ridge + squares, 1e-300)

    def product(self, p: Reals) -> Reals:
        """With the matrix that is left."""
        scores = self.task.rows.scores(p)
        if self.bend > 0.0:
            scores -= inner(self.curvature, scores) / self.bend
        return np.asarray(self.ridge * p + self.task.rows.combined(self.curvature * scores))

    def solution(self, b: Reals, most: int) -> tuple[Reals, int, bool]:
        """As of :func:`conjugate_gradients`; where there are to be no products, the steepest way down."""
        d = len(self.ridge)
        last = b[d:] / self.bend if self.bend > 0.0 else np.zeros_like(b[d:])
        rest = b[:d] - self.bend * last.sum() * self.pull
        p, done, reached = self.scale * rest, 0, False
        if most:
            p, done, reached = conjugate_gradients(self.product, rest, self.scale, forcing=_FORCING, most=most)
        return np.append(p, last - inner(self.pull, p)), done, reached


class NewtonRun(Run):
    """``highest`` is the point of the best lower bound met, ``best`` that of the best objective."""

    task: LinearTask
    exact_gap = True
    label = "newton"

    def __init__(self, task: LinearTask) -> None:
        self.task = task
        w = np.zeros(task.n_weights)
        if task.warm is not None:
            nothing = float(task.terms.cost(np.zeros(task.rows.shape[0])).sum())
            with np.errstate(over="ignore"):
                helps = task.objective(task.warm.w) <= nothing
            if helps:
                w = np.array(task.warm.w if (ahead := task.look_ahead()) is None else ahead, np.float64)
            else:
                w = _best_multiple(task, task.warm.w)
        scores = task.scores(w)
        self.at = _Point(task, w, scores, settled=not task.moved)
        # after a fit with another C a look at where it begins is for one that may be good enough
        self.cheap_passes = self.at.primal - self.at.dual > task.tol * abs(self.at.primal)
        if task.moved:
            if self.cheap_passes:
                self.at.dual = -np.inf  # with another intercept that counts as none
            else:
                self.at = _Point(task, w, scores)
        self.best, self.highest = self.at, self.at
        self.most = _products_for_matrix(task)
        self.by_matrix = task.moved and has_cheap_matrix(task.rows)
        self.idle = 0

    def advance(self) -> Step:
        at = self.at
        direction, products = self._direction(at)
        move = self.task.scores(direction)
        t = _step(self.task, at.w, at.scores, direction, move, inner(at.gradient, direction))
        self.at = _Point(self.task, at.w + t * direction, at.scores + t * move)
        self.idle = 0 if self.at.primal < self.best.primal or self.at.dual > self.highest.dual else self.idle + 1
        self.best = min(self.best, self.at, key=lambda point: point.primal)
        self.highest = max(self.highest, self.at, key=lambda point: point.dual)
        gap = self.best.primal - self.highest.dual
        return Step(1 + products, gap, self.highest.dual, ready=self.idle >= 3)

    def _direction(self, at: _Point) -> tuple[Reals, int]:
        """A solution of the system, and the passes that it took."""
        task, ridge = self.task, self.task.ridge
        curvature = task.terms.curvature(at.scores)
        done, left = 0, self.passes_left - 1.0
        if not self.by_matrix or left < 1.0:
            system = _System(task, curvature)
            most = int(min(self.most, _MOST_PRODUCTS, left))
            p, done, reached = system.solution(-at.gradient, most)
            if reached or self.most == math.inf or done + 1.0 > left:
                return p, done
            self.by_matrix = True
        return normal_equations(task.rows, curvature, ridge, task.deadline.check)(-at.gradient), done + 1

    def weights(self) -> Reals:
        return self.best.w

    def dual(self) -> float:
        """Recomputed from the dual point; the weights stay the best ones met."""
        a = self.highest.a
        return self.task.from_dual(a, answer=False)[1]


def _best_multiple(task: LinearTask, w: Reals) -> Reals:
    """For weights that are too long, as of another method that was left early; their cost may be infinite."""
    nothing, scores = np.zeros_like(w), task.scores(w)
    longest = float(np.abs(scores).max(initial=0.0))
    if not 0.0 < longest < np.inf:
        return nothing
    w, scores = w / longest, scores / longest  # the search begins with scores of 1
    return _step(task, nothing, np.zeros_like(scores), w, scores) * w


def _step(
    task: LinearTask, w: Reals, scores: Reals, direction: Reals, move: Reals, at_zero: float | None = None
) -> float:
    """How far to go from ``w`` along a direction, which moves the scores by ``move``; see :func:`line_minimum`."""
    terms, ridge = task.terms, task.ridge
    linear, square = inner(ridge * w, direction), inner(ridge * direction, direction)

    def slope(t: float) -> float:
        return linear + t * square - inner(terms.beta(terms.multipliers(scores + t * move)), move)

    with np.errstate(over="ignore", invalid="ignore"):
        return line_minimum(slope, slope(0.0) if at_zero is None else at_zero)


def has_cheap_matrix(rows: Rows) -> bool:
    """Whether the matrix costs about as much as a product or two: near the optimum it takes few iterations by it."""
    return 0.5 * passes_for_matrix(rows) <= _CHEAP_MATRIX


def _products_for_matrix(task: LinearTask) -> float:
    """Products of conjugate gradients, of two passes each, that cost as much as the matrix; infinite if it is none."""
    return max(_LEAST_PRODUCTS, 0.5 * passes_for_matrix(task.rows))
