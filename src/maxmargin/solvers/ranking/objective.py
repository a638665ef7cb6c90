"""Rankings as first-order methods see them, see :mod:`maxmargin.solvers.objective`.

The loss of all pairs of a query is a convex function of the scores of its documents, with a subgradient that counts for
each document the pairs which are short, in ``O(m log m)``. Stochastic methods take one query for one example.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..objective import Place, Plane, Point, ScoredObjective
from .steps import RankingSteps
from .stream import sizes_of
from .task import PairLoss, RankingTask

__all__ = ["RankingObjective"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
_SAFE = 2.0  # the largest eigenvalue is right within that


class RankingObjective(ScoredObjective):
    """A pair at the kink of its hinge has the subgradient 0."""

    kind = RankingTask
    task: RankingTask

    def __init__(self, task: RankingTask) -> None:
        super().__init__(task)
        self.ridge = np.ones(task.rows.shape[1])
        self.smooth = task.squared

    def at(self, w: Reals) -> Point:
        task = self.task
        loss = PairLoss(task, task.scores(w))
        plane = _plane_of(loss)
        return Point(w, task.penalty(w) + float(loss.cost.sum()), plane[:-1], plane, loss.scores)

    def along(self, point: Point, direction: Reals) -> Callable[[float], float]:
        task = self.task
        move = task.scores(direction)

        def value(r: float) -> float:
            cost = PairLoss(task, point.state + r * move).cost
            return task.penalty(point.w + r * direction) + float(cost.sum())

        return value

    def slope_of(self, w: Reals, examples: Ints, dual: Reals | None = None) -> Reals:
        few = self.task.of_queries(examples)
        plane = _plane_of(PairLoss(few, few.scores(w)))
        if dual is not None:
            dual += plane
        return plane[:-1]

    def change(self) -> float:
        task, most = self.task, 0.0
        for q in range(len(task.factor)):
            alone = task.of_queries(np.array([q]))
            largest = _SAFE * sizes_of(alone.rows, alone.queries)[1]
            most = max(most, 2.0 * task.C * float(task.factor[q]) * largest)
        return len(task.factor) * most

    def steps(self, w: Reals, *, averaged: bool, momentum: float, radius: float, anchored: bool) -> RankingSteps | None:
        return None if momentum > 0.0 or anchored else RankingSteps(self, w, averaged=averaged, radius=radius)

    def place(self, w: Reals) -> Place:
        return self.placed(w, self.task.scores(w))

    def placed(self, w: Reals, scores: Reals) -> Place:
        loss = PairLoss(self.task, scores)
        return Place(w, scores, float(loss.cost.sum()), loss)

    def descent(self, scores: Reals) -> Reals:
        return PairLoss(self.task, scores).descent

    def plane(self, place: Place) -> Plane:
        plane = _plane_of(place.state)
        return Plane(place, plane[:-1], float(plane[-1]))


def _plane_of(loss: PairLoss) -> Reals:
    """``[slope, offset]`` of the plane that touches the loss of all pairs."""
    return np.append(-loss.task.combined(loss.descent), loss.level)
