"""Bundle method: planes below the loss, and the minimum of the largest of them.

Problem: ``1/2 |w|^2 + L(w)`` with the loss ``L(w) = sum_i c_i xi_i(w)`` of any task that :mod:`.objective` gives a face
(on rankings it is the method of SVM-rank: all pairs of a query in one plane, found by sorting), or, in the ball form,
``L(w)`` over ``|w| <= radius``. Every round adds a plane of a subgradient, ``L(v) >= <slope, v> + offset``, and
minimises the model: the largest plane, which is a lower bound, plus the penalty or over the ball. A run ends when the
best value met is near enough to that minimum. Sources: Joachims (KDD 2006) and Teo, Vishwanathan, Smola, Le (JMLR 2010)
for the method and its ``O(G^2 / epsilon)`` rounds, ``G`` the length of the longest slope, whatever the number of
examples; Franc and Sonnenburg (JMLR 2009) for what makes it fast where scores are known: a search along the line from
the best point to the minimiser of the model, and the plane a small share of the way beyond its minimum.

Where the intercept is free, planes are level in its direction: they are below the loss with the best intercept, see
:func:`~maxmargin.solvers.linear.intercept.balanced`.

Cost of a round: one product with the data each way, the line search on known scores, ``O(n)`` for each of at most a
dozen trials, the best intercept twice where it is free, ``O(n log n)``, and a quadratic program in the number of
planes. (Structured: no line search, one call of the loss-augmented decoder for each example. Rankings: ``O(n log n)``
for each trial.) Memory: the slopes of the planes, of linear tasks their dual points (a bit for each row, where
multipliers are at their bounds or 0), and a few numbers for each row.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._products import inner
from .ball import Ball
from .base import Run, Step
from .cutting_planes import CuttingPlanes
from .objective import Place, ScoredObjective, objective_of
from .options import check_option
from .truncated import line_minimum

__all__ = ["Bundle", "begin"]

Reals = NDArray[np.float64]
_PRECISION = 0.05
_TRIALS = 12
_FAR = 10.0
_NOTHING = 1e-12
_IDLE = 30  # rounds that bring nothing, after which it is seen whether anything still moves
_FAR_BELOW, _FALLEN = 0.1, 50  # part of the gap, and rounds


@dataclass(frozen=True)
class Bundle:
    """Bundle method.

    Parameters
    ----------
    radius : float, optional
        Minimise the loss alone over ``|w| <= radius``: a free intercept does not count, a penalised one as the penalty
        has it. By default the penalised problem. The certificate of the ball form is about the loss: ``tol`` is
        relative to it.
    share : float
        Of linear tasks and rankings: how far beyond the minimum of the line search, as a share of what is left of the
        line, the next plane touches the loss. (0.1 in Franc and Sonnenburg; measured, less is better.)
    keep_rounds : int
        Planes without weight for so many rounds are dropped.

    Raises
    ------
    ValueError
        For options out of their range.
    """

    radius: float | None = None
    share: float = 0.01
    keep_rounds: int = 50

    def __post_init__(self) -> None:
        if self.radius is not None:
            check_option(self, "radius", "a positive finite number or None", lambda each: 0.0 < each < math.inf)
        check_option(self, "share", "above 0 and at most 1", lambda each: 0.0 < each <= 1.0)
        check_option(self, "keep_rounds", "at least 1", lambda each: each >= 1.0, integral=True)

    @property
    def name(self) -> str:
        """Short name, as accepted by the estimators."""
        return "bundle"

    def start(self, task: Any) -> Run:
        """Begin a run on a linear, structured or ranking task.

        Raises
        ------
        DataError
            For other tasks.
        """
        return begin(self, task, self.name)


def begin(options: Bundle, task: Any, name: str) -> Run:
    """A run of the bundle method under any name, see :meth:`Bundle.start`."""
    objective = objective_of(task, name)
    run = (_ScoredRun if isinstance(objective, ScoredObjective) else _PlainRun)(options, task, objective)
    run.label = name
    return run


class _BundleRun(Run):
    """``best`` are the weights with the lowest ``value`` met, ``lower`` is the highest minimum of a model."""

    task: Any
    objective: Any
    exact_gap = True

    def __init__(self, options: Bundle, task: Any, objective: Any) -> None:
        self.options, self.inner, self.objective = options, task, objective
        self.radius = options.radius
        self.task = task if self.radius is None else Ball(task, self.radius)
        ridge = self.objective.ridge
        # the model is one of v = w / root, whose penalty is 1/2 |v|^2; slopes are 0 where nothing is penalised
        self.root = np.divide(1.0, np.sqrt(ridge), out=np.zeros_like(ridge), where=ridge > 0.0)
        self.cuts = CuttingPlanes(len(ridge), options.keep_rounds)
        self.best = self._first()
        self.value = math.inf
        self.lower = 0.0
        self.height = 0.0
        self.idle = self.fallen = 0

    def _first(self) -> Reals:
        if self.task.warm is None:
            return np.zeros_like(self.root)
        w = np.array(self.task.warm.w, np.float64)
        length = math.sqrt(2.0 * self.inner.penalty(w))
        if self.radius is not None and length > self.radius:
            w[self.root > 0.0] *= self.radius / length
        return w

    def advance(self) -> Step:
        before = self.value - self.lower
        if self.cuts.planes:
            self._look(self.root * self.cuts.v)
        else:
            self._begin()
            if self.radius is not None:
                self.task.enough = _NOTHING * self.value
        tol = 1e-3 * min(self.task.tol, 1e-2) * max(self.value, 1e-300)
        if self.radius is None:
            found = self.cuts.minimise(tol)
            self.height = found - 0.5 * inner(self.cuts.v, self.cuts.v)
        else:
            found = self.height = self.cuts.minimise_in_ball(self.radius, tol)
        # planes more do not lower the minimum of the model: where it is seen far below, rounding has taken over
        fallen = found < self.lower - _FAR_BELOW * (self.value - self.lower)
        self.fallen = self.fallen + 1 if fallen else 0 if found > self.lower else self.fallen
        self.lower = max(self.lower, found)
        gap = self.value - self.lower
        self.idle = 0 if gap < before or not math.isfinite(gap) else self.idle + 1
        ready = gap <= self.task.tol * self.value or self.idle >= _IDLE
        return Step(1, gap, self.lower, ready=ready, settled=self.fallen >= _FALLEN)

    @abstractmethod
    def _begin(self) -> None:
        """Keep the first weights and add the plane there."""

    @abstractmethod
    def _look(self, w: Reals) -> None:
        """Given the minimiser of the model, keep better weights than the best if they are met, and add a plane."""

    def _keep(self, w: Reals, loss: float) -> bool:
        value = self.task.penalty(w) + loss
        if not value < self.value:
            return False
        self.best, self.value = w, value
        return True

    def weights(self) -> Reals:
        return self.best

    def dual(self) -> float:
        """Recomputed from the planes."""
        found = self.cuts.value() if self.radius is None else self.cuts.value_in_ball(self.radius)
        return max(0.0, found)


class _PlainRun(_BundleRun):
    """Where nothing but planes is known of the loss."""

    def _begin(self) -> None:
        self._look(self.best)

    def _look(self, w: Reals) -> None:
        at = self.objective.at(w)
        offset = float(at.dual[-1])
        self._keep(w, offset + inner(at.slope, w))
        self.cuts.add(at.slope, offset)


class _ScoredRun(_BundleRun):
    """With a search along the line from the best point, where scores are known."""

    objective: ScoredObjective
    at: Place

    def _begin(self) -> None:
        self.at = self.objective.place(self.best)
        if not math.isfinite(self.at.loss):  # a warm start too far off for this loss
            self.at = self.objective.place(np.zeros_like(self.best))
        self._add(self.at)

    def _look(self, w: Reals) -> None:
        end = self.objective.place(w)
        begin, gap = self.at, self.value - self.lower
        direction, move = end.w - begin.w, end.scores - begin.scores

        def between(r: float) -> Place:
            return self.objective.placed(begin.w + r * direction, begin.scores + r * move)

        with np.errstate(over="ignore", invalid="ignore"):
            r, share = self._line_minimum(begin, direction, move), self.options.share
            far = _FAR * self.value  # planes that touch the loss where it is huge say nothing of its minimum

            def beyond(start: Place, r: float, step: float) -> tuple[Place, float]:
                """The place so far beyond that at ``r``, or nearer; that itself where only rounding would be left."""
                here = begin.scores + r * move
                while step > 0.0:
                    place = between(r + step)
                    if place.loss <= far:
                        return place, r + step
                    if np.array_equal(begin.scores + (r + step) * move, here):
                        break
                    step *= 0.1
                    self.task.deadline.check()
                return start, r

            place, r = beyond(begin, 0.0, r)
            cut, _ = beyond(place, r, share * max(1.0 - r, 0.0))
            self._remember(place)
            height = self._add(cut, w)
            if height < self.height + 0.5 * gap and end.loss <= far:
                self._add(end)  # the line search was not exact enough to cut the minimiser off

    def _line_minimum(self, begin: Place, direction: Reals, move: Reals) -> float:
        """Where the value is least on the line, nearly; in the ball."""
        ridge = self.objective.ridge
        linear, square = inner(ridge * begin.w, direction), inner(ridge * direction, direction)
        longest = math.inf
        if self.radius is not None:
            room = max(self.radius**2 - inner(ridge * begin.w, begin.w), 0.0)
            root = math.sqrt(linear * linear + square * room)
            longest = max(room / (linear + root) if linear > 0.0 else (root - linear) / max(square, 1e-300), 1.0)
            linear = square = 0.0

        def slope(r: float) -> float:
            if r > longest:
                return math.inf
            return linear + r * square - inner(self.objective.descent(begin.scores + r * move), move)

        return line_minimum(slope, slope(0.0), precision=_PRECISION, most=_TRIALS)

    def _remember(self, place: Place) -> None:
        if self._keep(place.w, place.loss):
            self.at = place

    def _add(self, place: Place, u: Reals | None = None) -> float:
        """Add the plane of a place, and keep that if it is the best; returns the height of the plane at ``u``."""
        place, slope, offset, kept = self.objective.plane(place)
        self._remember(place)
        self.cuts.add(self.root * slope, offset, kept)
        return offset + inner(slope, u) if u is not None else offset

    def dual(self) -> float:
        """Recomputed from the mixture of what was kept with the planes."""
        used = [(plane.kept, float(a)) for plane, a in zip(self.cuts.planes, self.cuts.a, strict=False) if a > 0.0]
        found = self.objective.mixed(used, self.radius)
        return super().dual() if found is None else max(0.0, found)
