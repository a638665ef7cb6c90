"""The solver of rankings that suits the problem: Newton's method, and another one where that is slow.

Newton's method on a smoothed hinge takes a few dozen passes on most data. On a few documents with features of very
different scales, or with a large ``C``, it may take thousands, or end in rounding; the bundle method needs dozens there
(measured on random problems of ten documents).

Where ``C`` is so large that slacks at the optimum are less than the rounding of scores, neither has digits for them. If
weights ``v`` put all pairs in order by then, and ``|v|^2`` is at most the smallest ``c_p`` of a pair, the answer is the
hard margin (exact penalty): multipliers at its optimum add up to no more than ``|v|^2``, so none is at its bound.

Where both stand still, as on unscaled features with a large ``C``, and pairs are few, they are listed (:mod:`.listed`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base import Run, Step
from ..bundle import Bundle
from ..hard_margin import scaled_to_margins
from ..linear.automatic import First, Switching
from .hard import HardRanking, WorkingSet
from .listed import ListedPairs, can_list
from .newton import TruncatedNewton
from .task import RankingTask

__all__ = ["FOR_PAIRS", "Automatic"]

Reals = NDArray[np.float64]
FOR_PAIRS = "losses over all pairs are smoothed for Newton's method"
_NEWTON = First("Newton's method", FOR_PAIRS, "unscaled features or a large C")
# passes: from when on it is believed that Newton's method is slow, and what the other is taken to cost
_LOOK, _BUNDLE = 150, 150.0
_LARGEST = 1e49  # the problems of pairs at hand have a C of a few times the squared length of weights
_PASSES = 10_000
_SLIP = 1e-6  # rounding of margins, beyond which none is known
_SHARE = 0.1  # of the tolerance, that squares may take from the lower bound


@dataclass(frozen=True)
class Automatic:
    """Newton's method, then the hard margin where that is the answer, or the bundle method if it is the shorter way."""

    @property
    def name(self) -> str:
        """Short name, as accepted by the estimators."""
        return "auto"

    def start(self, task: RankingTask) -> Run:
        """Begin a run."""
        return _AfterNewton(task, TruncatedNewton(), Bundle(), _BUNDLE, _NEWTON, first_look=_LOOK)


class _AfterNewton(Switching):
    def advance(self) -> Step:
        step = super().advance()
        step.settled = step.settled and not self._list_pairs()
        return step

    def change_way(self) -> bool:
        return super().change_way() or self._list_pairs()

    def _list_pairs(self) -> bool:
        """Go over to the interior point method on all pairs, if they are few enough."""
        last = ListedPairs()
        if self.label in (TruncatedNewton().name, last.name) or not can_list(self.task):
            return False
        self.second = last
        super()._switch(math.inf)
        self.reason = f"the methods without a list of pairs stand still ({_NEWTON.slow})"
        return True

    def _switch(self, remaining: float) -> None:
        most = int(min(self.passes_left, _PASSES))
        hard = _hard_margin(self.task, self.run.weights(), most)
        self.second = hard or self.second
        super()._switch(remaining)
        if hard is not None:
            self.reason += "; with this C the answer is the hard margin"

    def dual(self) -> float:
        value = super().dual()
        task, w = self.task, self.weights()
        small = _SHARE * task.tol * max(value, task.penalty(w))
        if task.noise(w, small) > small:  # margins of 1 or nearly: longer weights have them whatever rounding does
            objective = task.objective(w)
            small = _SHARE * task.tol * objective
            v = scaled_to_margins(w, lambda v: _least(task, v))
            v = v * (1.0 + 2.0 * task.reach(v))
            if task.objective(v) <= objective + small:
                self.point = v
        return value


def _least(task: RankingTask, w: Reals) -> float:
    """The smallest margin of all pairs."""
    return WorkingSet(task.rows, task.queries).least(task.scores(w))


def _hard_margin(task: RankingTask, w: Reals, max_passes: int) -> HardRanking | None:
    """The solver of the hard margin, where that is the answer, from weights ``w`` that put all pairs in order."""
    v = scaled_to_margins(w, lambda v: _least(task, v))
    square, c = 2.0 * task.penalty(v), task.least_of_pairs
    most = c * min(_SHARE * task.tol, 1.0) if task.squared else c
    if not (square <= min(most, _LARGEST) and _least(task, v) >= 1.0 and task.slip(v) <= _SLIP):
        return None
    pairs = WorkingSet(task.rows, task.queries)
    pairs.take(0.5 * task.scores(v))
    return HardRanking(pairs, v, task.rng, max_passes)
