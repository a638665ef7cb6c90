"""The answer to a problem that no solver has begun with: where one was to begin."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..terms import LossTerms
from .base import Run, Solver, Step
from .warm_dual import clipped_dual

__all__ = ["AtStart"]

Reals = NDArray[np.float64]


class AtStart(Run):
    """A run that stays where it begins.

    The weights are those of a warm start, else 0. Where totals are given, as by ``nu``, a machine of 0 says nothing of
    the data, and it is the weights of the dual point at which its solvers begin. The lower bound is that of this dual
    point or of the warm start's, where one is at hand, else the one that is known of any such problem.
    """

    def __init__(self, task: Any) -> None:
        self.task: Any = task
        n_weights = getattr(task, "n_weights", None)
        if n_weights is None:  # one weight for each feature
            n_weights = task.rows.shape[1]
        known = task.warm is not None and task.warm.w.shape == (n_weights,)
        self.point: Reals = task.warm.w.copy() if known else np.zeros(n_weights)
        self.totals = bool(getattr(task, "totals", np.empty(0)).any())
        self.kept = known or not self.totals  # else the weights are those of the dual point

    @staticmethod
    def fits(task: Any, solver: Solver) -> bool:
        """Whether there are weights to begin with that are an answer, and whose certificate takes no decoder.

        A hard margin (by a solver of the ``soft`` one) has none, and the task is not what is solved in a ball.
        """
        if hasattr(task, "oracle") or hasattr(solver, "soft") or getattr(solver, "radius", None) is not None:
            return False
        return hasattr(task, "n_weights") or hasattr(task, "rows")

    def advance(self) -> Step:
        return Step(0, math.inf, -math.inf, settled=True)

    def weights(self) -> Reals:
        return self.point

    def dual(self) -> float:
        task = self.task
        lowest = float(getattr(task, "floor", 0.0)) if task.exact else -math.inf
        beta = None if task.warm is None else task.warm.beta
        terms = getattr(task, "terms", None)
        bounded = task.exact and (self.totals or beta is not None)
        if terms is None or (self.kept and not bounded):
            return lowest
        start = clipped_dual(terms, beta) if isinstance(terms, LossTerms) and beta is not None else task.start()
        point, value = task.from_dual(start)
        if not self.kept:
            self.point = point
        return max(lowest, float(value)) if task.exact else lowest
