"""The solver of linear machines that suits the problem: coordinate ascent, and interior point where that is slow.

Coordinate ascent comes first: its passes are cheap, and on most data a dozen suffice. From its progress it is seen how
many more the tolerance would take; where they would cost more than an interior point method, that one takes over. The
decision counts operations and never looks at a clock, so the same data always give the same model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...terms import Terms
from ..base import Run, Step, WarmStart
from ..bundle import Bundle
from .band import COST, suits
from .coordinate_ascent import CoordinateAscent
from .interior_point import InteriorPoint
from .newton import Newton
from .normal_equations import passes_for_matrix
from .task import LinearTask

__all__ = ["Automatic"]

Reals = NDArray[np.float64]
_FIRST_LOOK = 8
_ITERATIONS = 25
# when shrunk rows are taken back the gap jumps for a pass or two: later on, one slow look does not decide
_IN_A_ROW, _EARLY = 3, 32


@dataclass(frozen=True)
class Automatic:
    """Coordinate ascent, then an interior point method where that is the shorter way.

    Losses that are no sums of hinges are for Newton's method, or, where they have kinks, for the bundle method.
    """

    @property
    def name(self) -> str:
        """Short name, as accepted by the estimators."""
        return "auto"

    def start(self, task: LinearTask) -> Run:
        """Begin a run."""
        if isinstance(task.terms, Terms):
            return _AutomaticRun(task)
        run: Run = (Newton() if task.terms.smooth else Bundle()).start(task)
        run.reason = f"the loss {'is smooth' if task.terms.smooth else 'has kinks'} and no sum of hinges"
        return run


class _AutomaticRun(Run):
    task: LinearTask

    def __init__(self, task: LinearTask) -> None:
        self.task = task
        self.run: Run = CoordinateAscent().start(task)
        self.label = CoordinateAscent().name
        self.reason = "its passes are cheap and it converges fast here"
        self.gaps: list[float] = []
        self.slow = 0
        self.budget = interior_point_in_passes(task)

    def advance(self) -> Step:
        step = self.run.advance()
        if self.label == InteriorPoint().name:
            return step
        self.gaps.append(step.gap / max(step.dual + step.gap, 1e-300))
        if self.budget == math.inf or len(self.gaps) < _FIRST_LOOK:
            return step
        remaining = passes_to_go(self.gaps, self.task.tol)
        self.slow = self.slow + 1 if remaining > self.budget else 0
        if self.slow >= (1 if len(self.gaps) < _EARLY else _IN_A_ROW):
            self.task.warm = WarmStart(self._best_weights())
            self.run = InteriorPoint().start(self.task)
            self.label = InteriorPoint().name
            self.reason = (
                f"coordinate ascent would take about {remaining:.0f} more passes (unscaled features or a large C); "
                f"this costs as much as {self.budget:.0f}"
            )
        return step

    def _best_weights(self) -> Reals:
        """Those of the dual point, or of the warm start: better to begin with than any simple ones."""
        task = self.task
        self.run.dual()
        known = [self.run.weights().copy(), *([] if task.warm is None else [task.warm.w])]
        return min(known, key=task.objective)

    def weights(self) -> Reals:
        return self.run.weights()

    def dual(self) -> float:
        return self.run.dual()


def passes_to_go(gaps: list[float], tol: float) -> float:
    """Passes until the relative gap is ``tol`` if it goes on falling as over the last half of the passes."""
    now, before = gaps[-1], gaps[len(gaps) // 2]
    if now <= tol:
        return 0.0
    rate = (math.log(max(before, 1e-300)) - math.log(now)) / (len(gaps) - 1 - len(gaps) // 2)
    return math.log(now / max(tol, 1e-300)) / rate if rate > 1e-12 else math.inf


def interior_point_in_passes(task: LinearTask) -> float:
    """What an interior point method costs, counted in passes of coordinate ascent; infinite where it is no choice.

    Beside the matrix the products with the rows take five (measured, one core).
    """
    return _ITERATIONS * (passes_for_matrix(task.rows) + 5.0) * (COST if suits(task) else 1.0)
