"""Methods of which nobody can say beforehand which one is the shortest way: each has its turns.

One begins. Once its progress says that it would take long the next has a turn of several times the work done so far,
and so forth; after the last the first goes on where it was, with ever longer turns: so the wrong choice costs no more
than a few times the right one, as long as there are passes enough. What any of them has found stays: it is looked at
when a turn ends, and the outer loop keeps the best weights and the best bound.
"""

from __future__ import annotations

import math
from typing import Any

from ..base import Run, Solver, Step, WarmStart
from ..oracle import Evaluation
from ..progress import Progress

__all__ = ["Alternating"]

_IN_A_ROW = 3  # looks: when shrunk rows are taken back the gap jumps for a pass or two
_FIRST, _NEXT = 4.0, 2.0  # work of a turn over all before it: of another method's first one, and of later ones
_PART = 0.125  # of the passes that are left, which a turn takes at most
_AGAIN = 2  # turns in a row whose promise was not kept


class Alternating(Run):
    """Coordinate ascent, or another method with cheap passes, and others whose steps take whole passes, by turns.

    Parameters
    ----------
    task
    solvers : list of Solver
        In the order of their turns, the surest last; the one that the fit to begin with ended with goes first.
    reason : str
        Why the first one is taken.
    least : int
        Passes that the first one has whatever its progress.
    first : float
        Work of the first turn of another one, over all before it.
    """

    task: Any

    def __init__(self, task: Any, solvers: list[Solver], reason: str, least: int = 0, first: float = _FIRST) -> None:
        ended = [solver for solver in solvers if task.warm is not None and task.warm.solver == solver.name]
        self.solvers = ended + [solver for solver in solvers if solver not in ended]
        self.surest = solvers[-1]
        if ended:
            reason, least = "the fit that this one begins with ended with it", 0
        self.task, self.reason, self.least, self.first = task, reason, least, first
        self.runs: list[Run] = [self.solvers[0].start(task)]
        self.at = 0  # whose turn it is
        self.label = self.solvers[0].name
        self.optimism, self.cheap_passes = self.run.optimism, self.run.cheap_passes
        self.progress = [Progress()]  # of each
        self.slow, self.work, self.until, self.stuck, self.again = 0, 0.0, math.inf, 0, 0
        self.least_left = -math.inf  # passes that a turn leaves to others
        self.others = 0.0  # work of all but the surest method

    @property
    def run(self) -> Run:
        """The one at work."""
        return self.runs[self.at]

    def advance(self) -> Step:
        over = self.work >= self.until or self.passes_left <= self.least_left
        if over and not self._goes_on():
            self._turn()
        self.run.passes_left, self.run.at_once = self.passes_left, self.at_once
        step = self.run.advance()
        self.work += step.cost
        if self.solvers[self.at] is not self.surest:
            self.others += step.cost
        progress = self.progress[self.at]
        progress.add(step)
        if len(self.runs) == 1 and self.until == math.inf:
            enough = min(self.least, 0.5 * (progress.passes + self.passes_left - step.passes))
            late = progress.is_late(progress.remaining(self.task.tol)) and progress.passes >= enough
            self.slow = self.slow + 1 if late else 0
            if self.slow >= _IN_A_ROW:
                self.until = self.work  # after this step, which may be the last
        # what was found in a turn is looked at: it may be the best for long
        step.ready |= self.work >= self.until or self.passes_left - step.passes <= self.least_left
        return step

    def _goes_on(self) -> bool:
        """Whether the surest method has another turn at once, as it promises to be done in that."""
        progress, left = self.progress[self.at], _NEXT * self.others
        if self.solvers[self.at] is not self.surest or self.again >= _AGAIN or len(self.runs) == 1:
            return False
        if progress.remaining(self.task.tol) > left:
            return False
        self.again += 1
        self.until = self.work + left
        return True

    def _turn(self) -> None:
        before = self.run
        self.at, self.again = (self.at + 1) % len(self.solvers), 0
        begins = self.at == len(self.runs)
        if begins:
            before.dual()
            self.task.warm = WarmStart(before.weights().copy())
            self.runs.append(self.solvers[self.at].start(self.task))
            self.progress.append(Progress())
            first, *others = (solver.name.replace("_", " ") for solver in self.solvers[: len(self.runs)])
            self.reason = (
                f"{first} would take long (unscaled features or a large C): it and {' and '.join(others)} have turns"
            )
        # The passes of the surest method are few and dear: those of the others bound the work of all.
        surest = self.solvers[self.at] is self.surest
        self.until = self.work + (self.first if begins else _NEXT) * (self.others if surest else self.work)
        free = surest or self.passes_left == math.inf
        self.least_left = -math.inf if free else (1.0 - _PART) * self.passes_left
        self.label = self.solvers[self.at].name

    def change_way(self) -> bool:
        """Another one goes on alone, where it does not stand still, too."""
        if self.stuck + 1 >= len(self.solvers):
            return False
        self._turn()
        self.stuck, self.until, self.least_left = self.stuck + 1, math.inf, -math.inf
        return True

    def weights(self) -> Any:
        return self.run.weights()

    def evaluate(self, w: Any) -> Evaluation:
        return self.run.evaluate(w)

    def dual(self) -> float:
        return self.run.dual()
