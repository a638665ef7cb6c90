"""Gradient descent with a backtracking line search, on any task that :mod:`.objective` gives a face.

From ``w``, with a subgradient ``g`` of the objective ``P`` (0 at the kink of a hinge): the step ``r = 1/2`` is halved
while ``P(w - r g) > P(w)``, and where it changes ``P`` by at most ``epsilon``, too: such a step may have gone across
the valley to the same height. The run ends when no step lowers ``P`` by more than ``epsilon``; by convexity
``P(w - r g) >= P(w) - r |g|^2``, so that steps with ``r |g|^2 <= epsilon`` need no trial. On a loss with a derivative
it converges to the optimum. On one without, such as the hinge, it may end at a kink before that: then it says so, and
the certificate tells how far the optimum is at most.
On a structured problem the subgradient of an example is 0 where its truth has the largest loss and score. Where wrong
outputs tie, as those of the same loss all do at 0, it is that of the output which the decoder says, often the first:
then the way depends on the order of the labels. Where no step along it goes down from the start, short vectors between
subgradients close by are tried (Wolfe, Mathematical Programming Study 3, 1975), so that ties at 0 are no end; later
ones may be. (Measured: the same at later kinks lowers the objective by a millionth each time, for dozens of passes.)
Among kinks all steps are short: the bundle method is for such losses.
Lower bounds are those of the planes of subgradients that were met, of their weighted mean, and, on structured problems
and rankings, of the best average of the last one and the best so far.
Cost of a step: one subgradient over all examples; on linear problems and rankings a trial costs no product with the
data, on structured ones another decoding of all examples, which counts as a pass. A step whose trials come to the limit
of passes is given up: the weights are those before it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._products import inner
from .base import Run, Step
from .objective import Bounds, Point, objective_of, starting_weights
from .options import check_option, shown

__all__ = ["GradientDescent"]

Reals = NDArray[np.float64]
_FIRST_STEP = 0.5
_SMALLEST_STEP = 1e-300
_TURNS = 64  # classes of 400 digits need less than 16
_CLOSE = 1e-6
_UNSEEN = 0.25 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class GradientDescent:
    """Gradient descent.

    Parameters
    ----------
    epsilon : float
        Change of the objective, relative to its value, at which to stop; with 0 any change that rounding lets through
        is worth a step.
    start_at : {"zero", "random"} or array of shape (n_weights,)
        Where to begin, unless a warm start says so; random weights are normal, of length about 1.

    Raises
    ------
    ValueError
        For an ``epsilon`` below 0, and a ``start_at`` that is none of these or not finite.
    """

    epsilon: float = 1e-12
    start_at: Literal["zero", "random"] | Reals = "zero"

    def __post_init__(self) -> None:
        check_option(self, "epsilon", "a number of at least 0", lambda each: 0.0 <= each < math.inf)
        _check_start(self.start_at)

    @property
    def name(self) -> str:
        """Short name, as accepted by the estimators."""
        return "gradient_descent"

    def start(self, task: Any) -> Run:
        """Begin a run on a linear, structured or ranking task.

        Raises
        ------
        ValueError
            For a start of the wrong shape.
        DataError
            For other tasks.
        """
        return _DescentRun(self, task)


def _check_start(start: Any) -> None:
    """Refuse what is no start for any number of weights; their number is known when a run begins."""
    who = f"{GradientDescent.__name__}: start_at must"
    if isinstance(start, str):
        if start in ("zero", "random"):
            return
        raise ValueError(f"{who} be 'zero', 'random' or an array, not {shown(start)}")
    try:
        given = np.asarray(start)
        if given.ndim == 0 or given.dtype.kind not in "iufO":
            raise TypeError
        w = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{who} be 'zero', 'random' or an array of numbers, not {shown(start)}") from None
    if w.ndim == 1 and not np.isfinite(w).all():
        first = int(np.argmin(np.isfinite(w)))
        raise ValueError(f"{who} have {len(w)} finite numbers; entry {first} is {w[first]:g}")


class _DescentRun(Run):
    task: Any
    exact_gap = True

    def __init__(self, options: GradientDescent, task: Any) -> None:
        self.options, self.task = options, task
        self.objective = objective_of(task, options.name)
        self.at = self.objective.at(starting_weights(options.start_at, task, self.objective.n_weights))
        self.bounds = Bounds(self.objective)
        self.bounds.add(self.at.dual)
        self.decoded = 1  # evaluations since the last step
        self.began = self.given_up = False
        self.tried: Point | None = None  # the last trial, where it took a pass

    def advance(self) -> Step:
        at, settled = self.at, True
        gradient = self.objective.gradient(at)
        r = self._step(gradient)
        if r == 0.0 and not self.began and self.objective.tied and gradient.any():
            gradient = self._downwards(gradient)
            r = self._step(gradient)
        self.began = True
        if self.given_up:
            settled = False
        if r > 0.0:
            moved = self._at(at.w - r * gradient) if self.tried is None else self.tried
            settled = at.value - moved.value <= self.options.epsilon * abs(at.value)
            if moved.value <= at.value:
                self.at = moved
            self.bounds.add(moved.dual)
        passes, self.decoded = self.decoded if self.objective.dear else 1, 0
        return Step(passes, self.at.value - self.bounds.best, self.bounds.best, settled=settled)

    @property
    def _at_limit(self) -> bool:
        return self.objective.dear and self.decoded >= self.passes_left

    def _at(self, w: Reals) -> Point:
        self.decoded += 1
        return self.objective.at(w)

    def _downwards(self, gradient: Reals) -> Reals:
        """A vector that is likely to lead down from a tie where the gradient does not.

        It is between subgradients at points so near that the objective changes by about a millionth: each is that where
        the vector so far leads to, and the next vector is the shortest between the two.
        """
        at = self.at
        radius = _CLOSE * at.value
        for _ in range(_TURNS):
            length = math.sqrt(inner(gradient, gradient))
            if not radius * length**2 > _SMALLEST_STEP or self._at_limit:
                break
            near = self._at(at.w - radius / length**2 * gradient)
            self.bounds.add(near.dual)
            other = self.objective.gradient(near)
            if inner(other, gradient) >= 0.5 * length**2:
                break
            change = other - gradient
            share = -inner(gradient, change) / inner(change, change)  # above 0, as they are no more than half alike
            gradient = gradient + min(share, 1.0) * change
        return gradient

    def _step(self, gradient: Reals) -> float:
        """The longest of the steps 1/2, 1/4, ... that lowers the objective by more than ``epsilon``, or 0."""
        at = self.at
        value = self.objective.along(at, -gradient)
        wanted = at.value - self.options.epsilon * abs(at.value)
        least = max(self.options.epsilon, _UNSEEN) * abs(at.value)
        r = _FIRST_STEP
        with np.errstate(over="ignore", invalid="ignore"):
            square = inner(gradient, gradient)
            while r * square > least and r > _SMALLEST_STEP:
                if self._at_limit:
                    self.given_up = True
                    return 0.0
                if self.objective.dear:  # the point costs no more than its value
                    self.tried = self._at(at.w - r * gradient)
                if (value(r) if self.tried is None else self.tried.value) < wanted:
                    return r
                r *= 0.5
        return 0.0

    def weights(self) -> Reals:
        return self.at.w

    def dual(self) -> float:
        return self.bounds.latest()
