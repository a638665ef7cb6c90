"""The solver of kernel machines that suits the problem: block SMO, and interior point where that is slow.

Block SMO comes first: it looks at few kernel values and gives models with few support vectors. From its progress it is
seen how much more the tolerance would take; where an interior point method costs less, as with a large ``C`` or a
kernel of low rank on up to a few thousand points, that one takes over. Progress is that of the gap beside the dual
value: with a large ``C`` the objective is nearly all gap for most of the way, and the share of the gap in it stands
still. It tells little at first, so nothing is decided before block SMO has had a part of what the other way costs. The
decision counts operations and never looks at a clock, so the same data always give the same model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...terms import Terms
from ..base import Run, Step, WarmStart
from ..options import check_option
from ..progress import passes_to_go
from .block_smo import BlockSMO
from .factor import likely_rank, shared_factor, suits
from .interior_point import KernelInteriorPoint
from .newton import KernelNewton
from .task import KernelTask

__all__ = ["KernelAutomatic"]

_FIRST_LOOK = 4  # passes; earlier where they have cost as much as the other way would
_TRIED = 0.2  # of what the other way costs, before block SMO is left
_BLOCK = 1.0 / 16.0  # and at most in one block, which is no more than four times the figure that it is given
_ITERATIONS = 15
# operations of products of matrices that take the time of one in a step of block SMO (measured, one core)
_FASTER = 16.0
_CONSTANT = 5e6
# and of the products of a factor with few columns, with the operations that its matrix takes for each of its numbers
_FASTER_NARROW, _VALUE = 2.5, 200.0
_IN_VAIN, _ROUNDING = 5, 1e-8  # looks at points that block SMO had taken for good enough, beyond a relative gap
# passes after an interior point method in which the gap is to fall by so much, or else all that is left is rounding
_LATELY, _SLOW = 100, 0.5
_PATIENCE = 8  # looks: where C is huge the last few iterations bring all (measured: after four in vain)


@dataclass(frozen=True)
class KernelAutomatic:
    """Block SMO, then an interior point method where that is the shorter way.

    Parameters
    ----------
    cache_mb : float
        See :class:`~maxmargin.solvers.kernel.block_smo.BlockSMO`.
    """

    cache_mb: float = 500.0

    def __post_init__(self) -> None:
        check_option(self, "cache_mb", "a number > 0", lambda value: value > 0.0)

    @property
    def name(self) -> str:
        """Short name, as accepted by the estimators."""
        return "auto"

    def start(self, task: KernelTask) -> Run:
        """Begin a run."""
        if isinstance(task.terms, Terms):
            return _AutomaticRun(self, task)
        run = KernelNewton().start(task)
        run.reason = "the loss is smooth and no sum of hinges"
        return run


class _AutomaticRun(Run):
    task: KernelTask
    exact_gap = True
    cheap_passes = True

    def __init__(self, options: KernelAutomatic, task: KernelTask) -> None:
        self.task = task
        self.first = BlockSMO(cache_mb=options.cache_mb)
        self.smo = self.first.start(task)
        self.run: Run = self.smo
        self.label = self.first.name
        self.reason = "it needs few kernel values and converges fast here"
        self.gaps: list[float] = []  # after every pass of block SMO, beside the dual value
        self.done: list[float] = []  # operations until then
        self.failures = self.in_vain = 0
        self.least = math.inf  # gap of the interior point method
        self.last: list[float] | None = None  # gaps since that one came to the limits of rounding
        self.budget = _CONSTANT + _ITERATIONS * 4.0 / 3.0 * task.n**3 / _FASTER if suits(task) else math.inf
        if 8.0 * task.n**2 > 1e6 * options.cache_mb:
            self.budget = math.inf
        self.smo.most = min(self.smo.most, _BLOCK * self.budget)  # of few points one block can cost as much as that

    def advance(self) -> Step:
        step = self.run.advance()
        gap = step.gap / max(abs(step.dual + step.gap), abs(step.dual), 1e-300)
        if self.run is not self.smo:
            # it gets no better than now; after a look block SMO goes on
            step.ready |= step.settled or (gap >= self.least and self.least <= _ROUNDING)
            step.settled = False
            self.least = min(self.least, gap)
        if self.last is not None:
            self.last.append(gap)
            before, lately = self.last[-2 * _LATELY : -_LATELY], self.last[-_LATELY:]
            self.at_rounding = len(before) == _LATELY and min(lately) > _SLOW * min(before)
            step.settled |= self.at_rounding
        if self.run is not self.smo or self.budget == math.inf:
            return step
        self.gaps.append(step.gap / max(abs(step.dual), 1e-300))
        self.done.append(self.smo.operations)
        remaining = passes_to_go(self.gaps, self.task.tol) if math.isfinite(self.gaps[-1]) else math.inf
        at_end = step.ready
        if self.in_vain > _IN_VAIN:
            remaining, at_end = math.inf, True
        if (at_end and len(self.gaps) >= _FIRST_LOOK) or self._is_longer(remaining):
            self._change(remaining)
        return step

    def _is_longer(self, remaining: float) -> bool:
        """Whether so many passes, like those of the last half, cost more than the other way, and enough was tried."""
        passes, done = len(self.gaps), self.done[-1]
        early = passes < _FIRST_LOOK
        if remaining == 0.0 or (early and remaining == math.inf):  # so soon a gap that rose is no standstill
            return False
        half = passes // 2
        work = remaining * (done - self.done[half]) / (passes - 1 - half)
        budget = self._budget(work)
        return work > budget and done > (1.0 if early else _TRIED) * budget

    def _budget(self, work: float) -> float:
        """What the other way costs: less with a kernel of low rank, which is looked for where much work is left."""
        n = self.task.n
        if work > _VALUE * n**2 and (rank := likely_rank(self.task)) < n:
            iteration = n * rank**2 + rank**3 / 3.0
            return min(self.budget, _VALUE * n**2 + _ITERATIONS * iteration / _FASTER_NARROW)
        return self.budget

    def _change(self, remaining: float) -> None:
        if shared_factor(self.task) is None:  # not positive semi-definite
            self.budget = math.inf
            return
        self.smo.dual()
        self.task.warm = WarmStart(self.smo.weights().copy())
        self.run = KernelInteriorPoint().start(self.task)
        self.label = KernelInteriorPoint().name
        slow = "a large C or a kernel of low rank"
        self.reason = (
            f"block SMO would take about {remaining:.0f} more passes ({slow}), which costs more"
            if math.isfinite(remaining)
            else f"block SMO stands still ({slow})"
        )

    def weights(self) -> NDArray[np.float64]:
        return self.run.weights()

    def dual(self) -> float:
        """Where rounding keeps the interior point method from the tolerance, block SMO goes on from its last point."""
        value, task = self.run.dual(), self.task
        w = self.run.weights()
        primal = task.objective(w)
        small = task.small(primal - value, primal, value)
        if self.run is self.smo:
            self.in_vain += not small and primal - value > _ROUNDING * abs(primal)
        else:
            self.failures += not small
            if self.failures > _PATIENCE:
                task.warm = WarmStart(w.copy())
                self.run = self.smo = self.first.start(task)
                self.label, self.budget, self.last = self.first.name, math.inf, []
                self.reason = "it goes on where rounding stops the interior point method"
                value = self.run.dual()
        return value
