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

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .base import Run, Step
from .objective import objective_of
from .oracle import Evaluation

__all__ = ["Bounds", "GradientDescent"]

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
    """

    epsilon: float = 1e-12
    start_at: Literal["zero", "random"] | Reals = "zero"

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


class Bounds:
    """The best lower bound from the dual points of a sequence of points and from their mean, later ones weighing more.

    A bound costs a product with the data, so that only some points are tried: ever fewer, as the sequence grows.
    """

    def __init__(self, objective: Any) -> None:
        self.objective = objective
        self.mean: Reals | None = None
        self.best, self.count, self.next = -np.inf, 0, 1
        self.kept: Reals | None = None

    def add(self, dual: Reals) -> None:
        """Take a dual point; the share of the ``t``-th in the mean is ``2 / (t + 1)`` when it comes."""
        self.count += 1
        share = 2.0 / (self.count + 1.0)
        if self.mean is None:
            self.mean = dual.copy()
        else:
            self.mean += share * (dual - self.mean)
        if self.count >= self.next:
            self.next = int(1.2 * self.count) + 1
            self.look(dual)
            self.look(self.mean)

    def look(self, dual: Reals) -> None:
        """Keep a dual point whose bound is the best so far."""
        value = self.objective.bound(dual)[1]
        if value > self.best:
            self.best, self.kept = value, dual.copy()

    def recomputed(self) -> float:
        """The best bound, computed afresh."""
        if self.mean is not None:
            self.look(self.mean)
        return -np.inf if self.kept is None else float(self.objective.bound(self.kept)[1])


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
        return self.bounds.recomputed()

    def evaluate(self, w: Reals) -> Evaluation:
        found: Evaluation = self.task.evaluate(w)
        return found


def starting_weights(start: str | Reals, task: Any, n_weights: int) -> Reals:
    """The weights to begin with: those of a warm start, given ones, zeros, or random ones."""
    if task.warm is not None:
        return np.array(task.warm.w, np.float64)
    if isinstance(start, str):
        if start not in ("zero", "random"):
            raise ValueError(f"start_at must be 'zero', 'random' or an array, not {start!r}")
        if start == "zero":
            return np.zeros(n_weights)
        return np.asarray(task.rng.normal(size=n_weights) / np.sqrt(max(n_weights, 1)))
    w = np.array(start, np.float64)
    if w.shape != (n_weights,) or not np.isfinite(w).all():
        raise ValueError(f"start_at must have {n_weights} finite numbers; its shape is {w.shape}")
    return w
