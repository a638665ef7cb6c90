"""From a fit with another ``C``: the active-set method where that is the shorter way, else the usual one.

On small data, and where few variables change, that method is at the optimum after a dozen places or two; elsewhere it
would meet thousands. So it is begun where the usual way costs more than some places, and goes on as long as the share
of the way that the last places made promises an earlier end. All is counted in operations, never in seconds: the same
data always give the same model.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...terms import Terms
from ..base import Run, Step
from ..oracle import Evaluation
from .active_set import ActiveSet, ActiveSetRun, starting_point
from .coordinate_ascent import CoordinateAscent, CoordinateRun
from .task import LinearTask

__all__ = ["following"]

Reals = NDArray[np.float64]
_LOOK = 8  # places between two looks at what is promised
_ROUNDS = 2  # the second one is for what rounding has left
_LEFT = 0.5  # of the passes that are left, which the usual way may need
# Shares of what the usual way costs: for the factor of the first free variables, and for those of hinges that are more
# than the weights, each of which takes a place before anything else happens.
_SET_UP, _EXTRA = 0.2, 0.125
# Of interior point from a start with another C: iterations, and what one costs whatever the rows are, for each number
# of the rows and, beside that, for each number and weight. Of coordinate ascent: for each number of the rows and for
# each row. Of a place whatever the rows are. (Operations, measured on sets of some hundred to some thousand rows.)
_ITERATIONS, _ITERATION, _OF_NUMBER, _OF_PAIR = 9.0, 7e5, 12.0, 0.25
_VISIT, _VISIT_ROW = 6.0, 10.0
_PLACE = 1.2e4


def following(task: LinearTask, otherwise: Callable[[LinearTask], Run]) -> Run:
    """A run from a fit with another ``C``, most often to the same data; ``otherwise`` begins one in the usual way."""
    terms = task.terms
    if task.warm is None or task.warm.beta is None or not isinstance(terms, Terms):
        return otherwise(task)
    start = starting_point(task)
    free = int(((start > 0.0) & (start < terms.upper)).sum())
    reach = _within_reach(task, free)
    extra = 0 if terms.squared else free - task.n_weights
    if reach < max(2 * _LOOK, free) or extra > _EXTRA * reach:
        return otherwise(task)
    return _Following(task, start, reach, otherwise)


def _within_reach(task: LinearTask, free: int) -> float:
    """How many places cost as much as the usual way did last time; 0 where their set-up is too dear.

    Coordinate ascent takes about as many passes again, interior point half of its iterations.
    """
    warm, rows = task.warm, task.rows
    assert warm is not None
    n, entries = rows.shape[0], float(rows.entries)
    solver, passes = warm.usual
    if solver == CoordinateAscent().name:
        usual = passes * (_VISIT * entries + _VISIT_ROW * n)
    else:
        usual = _ITERATIONS * (_ITERATION + (_OF_NUMBER + _OF_PAIR * task.n_weights) * entries)
    set_up = free * free * (entries / n + free / 3.0)
    place = _PLACE + 2.0 * (entries + n) + free * (6.0 * free + 2.0 * entries / n)
    return (usual - set_up) / place if set_up <= _SET_UP * usual else 0.0


class _Following(Run):
    task: LinearTask
    optimism = CoordinateRun.optimism
    label = ActiveSet().name
    reason = "the fit before is near, and few rows change their part"

    def __init__(self, task: LinearTask, start: Reals, reach: float, otherwise: Callable[[LinearTask], Run]) -> None:
        self.task, self.reach, self.otherwise = task, reach, otherwise
        self.run: Run = ActiveSetRun(task, start)
        assert task.warm is not None
        # after an interior point method the start may be good enough as it is; of these it hardly ever is
        self.cheap_passes = task.warm.solver in (CoordinateAscent().name, ActiveSet().name)

    def advance(self) -> Step:
        run = self.run
        run.passes_left = self.passes_left
        if not isinstance(run, ActiveSetRun):
            step = run.advance()
            self.label, self.reason = run.label, run.reason
            return step
        step = run.advance(_LOOK)
        late = not step.ready and (run.total + run.ahead > self.reach or run.ahead > _LEFT * self.passes_left)
        late |= run.still > _LOOK + run.free_at_first
        if late or step.settled or run.rounds > _ROUNDS:
            self.change_way()
        if not step.ready:  # no look on the way: its end is near
            step.gap = math.inf
        step.settled = False
        return step

    def change_way(self) -> bool:
        if not isinstance(self.run, ActiveSetRun):
            return self.run.change_way()
        self.run = self.otherwise(self.task)
        self.label, self.reason = self.run.label, self.run.reason
        return True

    def evaluate(self, w: Reals) -> Evaluation:
        return self.run.evaluate(w)

    def weights(self) -> Reals:
        return self.run.weights()

    def dual(self) -> float:
        return self.run.dual()
