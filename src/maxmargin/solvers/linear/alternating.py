"""Two methods of which nobody can say beforehand which one is the shorter way: each has its turns.

One begins. Once its progress says that it would take long the other has a turn of several times the work done so far,
then the first goes on where it was, and so forth with ever longer turns: so neither choice costs more than a few times
the better one. What either of them has found stays: the outer loop keeps the best weights and the best bound.
"""

from __future__ import annotations

import math
from typing import Any

from ..base import Run, Solver, Step, WarmStart
from ..oracle import Evaluation
from ..progress import Progress

__all__ = ["Alternating"]

_IN_A_ROW = 3  # looks: when shrunk rows are taken back the gap jumps for a pass or two
_FIRST, _NEXT = 4.0, 2.0  # work of a turn over all before it: of the other method's first one, and of later ones


class Alternating(Run):
    """Coordinate ascent, or another method with cheap passes, and one whose steps take whole passes, by turns."""

    task: Any

    def __init__(self, task: Any, first: Solver, second: Solver, reason: str) -> None:
        if task.warm is not None and task.warm.solver == second.name:  # the fit to begin with ended with that one
            first, second = second, first
        self.task, self.solvers, self.reason = task, (first, second), reason
        self.runs: list[Run] = [first.start(task)]
        self.at = 0  # whose turn it is
        self.label = first.name
        self.optimism, self.cheap_passes = self.run.optimism, self.run.cheap_passes
        self.progress = Progress()  # of the one that begins, until the other's first turn
        self.slow, self.work, self.until, self.stuck = 0, 0.0, math.inf, False

    @property
    def run(self) -> Run:
        """The one at work."""
        return self.runs[self.at]

    def advance(self) -> Step:
        if self.work >= self.until:
            self._turn()
        self.run.passes_left = self.passes_left
        step = self.run.advance()
        self.work += step.work if self.run.cheap_passes else float(step.passes)
        if len(self.runs) == 1:
            self.progress.add(step)
            late = self.progress.is_late(self.progress.remaining(self.task.tol))
            self.slow = self.slow + 1 if late else 0
            if self.slow >= _IN_A_ROW:
                self.until = self.work  # after this step, which may be the last
        return step

    def _turn(self) -> None:
        begins = len(self.runs) == 1
        if begins:
            self.run.dual()
            self.task.warm = WarmStart(self.run.weights().copy())
            self.runs.append(self.solvers[1].start(self.task))
            first, second = (solver.name.replace("_", " ") for solver in self.solvers)
            self.reason = f"{first} would take long (unscaled features or a large C): it and {second} have turns"
        self.at = 1 - self.at
        self.until = (1.0 + (_FIRST if begins else _NEXT)) * self.work
        self.label = self.solvers[self.at].name

    def change_way(self) -> bool:
        """The other one goes on alone, where it does not stand still, too."""
        if self.stuck:
            return False
        self._turn()
        self.stuck, self.until = True, math.inf
        return True

    def weights(self) -> Any:
        return self.run.weights()

    def evaluate(self, w: Any) -> Evaluation:
        return self.run.evaluate(w)

    def dual(self) -> float:
        return self.run.dual()
