"""Two methods of which nobody can say beforehand which one is the shorter way: each has its turns.

The first begins. Once its progress says that it would take long the other has a turn of several times the work done so
far, then the first goes on where it was, and so forth with ever longer turns: so neither choice costs more than a few
times the better one. What either of them has found stays: the outer loop keeps the best weights and the best bound.
"""

from __future__ import annotations

import math
from typing import Any

from ..base import Run, Solver, Step, WarmStart
from ..oracle import Evaluation

__all__ = ["Alternating", "passes_to_go"]

_LATE, _MOST = 250, 1000  # passes: from when on slow progress is believed, and how many are not slow
_IN_A_ROW = 3  # looks: when shrunk rows are taken back the gap jumps for a pass or two
_TURN, _NEXT = 4.0, 2.0  # work of a turn over all before it: of the second method's first one, and of later ones


def passes_to_go(gaps: list[float], tol: float) -> float:
    """Passes until the relative gap is ``tol`` if it goes on falling as over the last half of the passes."""
    now, before = gaps[-1], gaps[len(gaps) // 2]
    if now <= tol:
        return 0.0
    if len(gaps) < 3:
        return math.inf
    rate = (math.log(max(before, 1e-300)) - math.log(now)) / (len(gaps) - 1 - len(gaps) // 2)
    return math.log(now / max(tol, 1e-300)) / rate if rate > 1e-12 else math.inf


class Alternating(Run):
    """A run of the first method, and of the second one from when on it is wanted."""

    task: Any

    def __init__(self, task: Any, first: Solver, second: Solver, reason: str) -> None:
        self.task, self.solvers, self.reason = task, (first, second), reason
        self.runs: list[Run] = [first.start(task)]
        self.at = 0  # whose turn it is
        self.label = first.name
        self.optimism, self.cheap_passes = self.run.optimism, self.run.cheap_passes
        self.gaps: list[float] = []
        self.slow, self.passes, self.work, self.until = 0, 0, 0.0, math.inf

    @property
    def run(self) -> Run:
        """The one at work."""
        return self.runs[self.at]

    def advance(self) -> Step:
        if self.work >= self.until:
            self._turn(_NEXT)
        self.run.passes_left = self.passes_left
        step = self.run.advance()
        self.work += float(step.passes) if self.at else step.work  # the first one leaves rows out
        self.passes += step.passes
        if len(self.runs) == 1:
            self.gaps.append(step.gap / max(step.dual + step.gap, 1e-300) if step.gap < math.inf else 1.0)
            remaining = passes_to_go(self.gaps, self.task.tol) * self.passes / len(self.gaps)
            late = self.passes >= _LATE and remaining > max(_MOST - self.passes, 0)
            self.slow = self.slow + 1 if late else 0
            if self.slow >= _IN_A_ROW:
                self.until = self.work  # after this step, which may be the last
        return step

    def _turn(self, share: float) -> None:
        if len(self.runs) == 1:
            share = _TURN
            self.run.dual()
            self.task.warm = WarmStart(self.run.weights().copy())
            self.runs.append(self.solvers[1].start(self.task))
        self.at = 1 - self.at
        self.until = (1.0 + share) * self.work
        self.label = self.solvers[self.at].name
        other = self.solvers[1 - self.at].name.replace("_", " ")
        self.reason = f"{other} was slow (unscaled features or a large C); each has its turns"

    def change_way(self) -> bool:
        """The other one's turn, where that has not had one yet."""
        if len(self.runs) == 2:
            return False
        self._turn(_TURN)
        return True

    def weights(self) -> Any:
        return self.run.weights()

    def evaluate(self, w: Any) -> Evaluation:
        return self.run.evaluate(w)

    def dual(self) -> float:
        return self.run.dual()
