"""Gradient descent with a backtracking line search, on linear and structured problems.

From ``w``, with a subgradient ``g`` of the objective ``P`` (0 at the kink of a hinge): the step ``r = 1/2`` is halved
while ``P(w - r g) > P(w)``; it ends when ``P`` moves by at most ``epsilon``. On a loss with a derivative it converges
to the optimum. On one without, such as the hinge, it may end at a kink before that: then it says so, and the
certificate tells how far the optimum is at most. (A structured problem has such a kink at 0, where all wrong outputs
tie: begin elsewhere.)
Lower bounds are those of the plane of subgradients at the last points and of their weighted mean.
Cost of a pass: one subgradient over all examples; on linear problems a trial step costs no product with the data, on
structured ones another decoding of all examples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .base import Run, Step
from .objective import Bounds, objective_of, starting_weights

__all__ = ["GradientDescent"]

Reals = NDArray[np.float64]
_FIRST_STEP = 0.5
_SMALLEST_STEP = 1e-300


@dataclass(frozen=True)
class GradientDescent:
    """Gradient descent.

    Parameters
    ----------
    epsilon : float
        Change of the objective, relative to its value, at which to stop.
    start_at : {"zero", "random"} or array of shape (n_weights,)
        Where to begin, unless a warm start says so; random weights are normal, of length about 1.

    Raises
    ------
    ValueError
        For an ``epsilon`` below 0.
    """

    epsilon: float = 1e-12
    start_at: Literal["zero", "random"] | Reals = "zero"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.epsilon) and self.epsilon >= 0.0):
            raise ValueError(f"epsilon must be a number of at least 0, not {self.epsilon!r}")

    @property
    def name(self) -> str:
        """Short name, as accepted by the estimators."""
        return "gradient_descent"

    def start(self, task: Any) -> Run:
        """Begin a run on a linear or a structured task.

        Raises
        ------
        ValueError
            For a start of the wrong shape.
        DataError
            For other tasks.
        """
        return _DescentRun(self, task)


class _DescentRun(Run):
    task: Any
    exact_gap = True

    def __init__(self, options: GradientDescent, task: Any) -> None:
        self.options, self.task = options, task
        self.objective = objective_of(task, options.name)
        self.at = self.objective.at(starting_weights(options.start_at, task, self.objective.n_weights))
        self.bounds = Bounds(self.objective)
        self.bounds.add(self.at.dual)

    def advance(self) -> Step:
        at = self.at
        gradient = self.objective.gradient(at)
        value = self.objective.along(at, -gradient)
        r = _FIRST_STEP
        with np.errstate(over="ignore", invalid="ignore"):
            while not value(r) <= at.value and r > _SMALLEST_STEP:
                r *= 0.5
        moved = self.objective.at(at.w - r * gradient)
        settled = at.value - moved.value <= self.options.epsilon * abs(at.value)
        if moved.value <= at.value:
            self.at = moved
        self.bounds.add(moved.dual)
        return Step(1, self.at.value - self.bounds.best, self.bounds.best, settled=settled)

    def weights(self) -> Reals:
        return self.at.w

    def dual(self) -> float:
        return self.bounds.latest()
