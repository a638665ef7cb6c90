"""n-slack cutting plane: the classical algorithm, one working set and one slack for each example.

Problem: ``1/2 |w|^2 + C sum_i s_i xi_i``, see :mod:`maxmargin.problem`. Source: Tsochantaridis, Joachims, Hofmann,
Altun (2005), algorithm 1: go through the examples; where the most violated output exceeds the slack of the working set
by more than ``epsilon``, add its plane and solve the quadratic program again; stop when a whole pass adds nothing.
The program is solved again after every ``batch`` examples, not after every one, by pairwise steps over the planes of
the examples (its dual is a product of simplices), as far as the planes just found are worth; ``epsilon`` follows from
the tolerance on the relative gap.
Cost of a pass: one call of the loss-augmented decoder for each example, and the sweeps that the program takes.
Memory: the weights and the parts of the planes; never a feature vector for a plane.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._products import inner
from . import passes
from .base import Run, Step, StructuredRun, Task, sweep_until, to_dual_point
from .block import PAIRWISE
from .options import check_option
from .oracle import Evaluation, Work
from .planes import Planes

__all__ = ["NSlack"]

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
# The program is solved to this part of the gap that the decoder found, as in block-coordinate Frank-Wolfe: by then new
# planes promise more than old ones. On 50 trees of up to 25 words a gap of 1e-4 takes a quarter of the time so.
_ENOUGH = 0.4
_NOTHING = 1e-12  # of what is violated: where the dual is still 0 that is the only measure


@dataclass(frozen=True)
class NSlack:
    """n-slack cutting plane.

    Parameters
    ----------
    batch : int
        Examples between two solutions of the quadratic program.
    max_sweeps : int
        Limit of the sweeps of one solution (the next one goes on from there).
    """

    batch: int = 100
    max_sweeps: int = 200

    def __post_init__(self) -> None:
        for name in ("batch", "max_sweeps"):
            check_option(self, name, "at least 1", lambda each: each >= 1.0, integral=True)

    @property
    def name(self) -> str:
        """Short name, as accepted by the estimators."""
        return "n_slack"

    def start(self, task: Task) -> Run:
        """Begin a run."""
        return _NSlackRun(self, task)


class _NSlackRun(StructuredRun):
    def __init__(self, options: NSlack, task: Task) -> None:
        self.options, self.task = options, task
        self.work = Work.start(task.oracle.n_weights, task.c, rule=PAIRWISE)
        self.added = 0
        if task.warm is not None and task.warm.planes is not None:
            self.work.planes = task.warm.planes
            self.dual()
        self.solved = task.warm is None  # the program over the planes of a warm start
        self.looks_at_start = task.warm is not None and task.warm.planes is None

    def advance(self) -> Step:
        task, work = self.task, self.work
        if not self.solved:
            self._solve(task.examples, 0.0)
            self.solved = True
        work.stamp += 1
        order = task.rng.permutation(task.examples)
        self.added = 0
        gap = 0.0
        for at in range(0, len(order), self.options.batch):
            batch = order[at : at + self.options.batch]
            _, cached = task.oracle.best_cached(work.w, work.planes, batch)
            dual = max(float(work.state[passes.DUAL]), 0.0)
            epsilon = 0.5 * task.tol * dual / float(task.c[task.examples].sum())
            found = task.oracle.evaluate(work.w, batch, work=work, n_jobs=task.n_jobs, above=cached + epsilon)
            task.oracle.check_maximum(batch, found.slack, cached)
            violated = found.slack > cached + epsilon
            found_gap = inner(task.c[batch], np.maximum(found.slack - cached, 0.0))
            gap += found_gap
            self.added += int(violated.sum())
            if violated.any() and at + len(batch) < len(order):  # after the last ones all examples follow
                gap += self._solve(task.examples[np.isin(task.examples, batch)], 0.5 * self._wanted(gap), found_gap)
        left = self._solve(task.examples, self._wanted(gap), gap)
        return Step(1, gap + left, float(work.state[passes.DUAL]), ready=self.added == 0)

    def _wanted(self, gap: float) -> float:
        """The gap of the program that the tolerance asks for, where ``gap`` was found so far."""
        return 0.1 * self.task.tol * max(float(self.work.state[passes.DUAL]), _NOTHING * gap)

    def _solve(self, first: Ints, tol: float, found: float = 0.0) -> float:
        """Pairwise sweeps over the working set; returns what is left of its gap.

        They end when it is at most ``tol``, or so small a part of the gap ``found`` by the decoder that this matters
        more.
        """
        return sweep_until(self.task, self.work, first, most=self.options.max_sweeps, gap=max(tol, _ENOUGH * found))

    def weights(self) -> Reals:
        return self.work.w

    def dual(self) -> float:
        return to_dual_point(self.task.oracle, self.work, self.task.examples)

    def evaluate(self, w: Reals) -> Evaluation:
        return self.most_violated(w, self.work, risk=True)

    def at_least(self, w: Reals) -> float:
        return self.cached_objective(w, self.work)

    def planes(self) -> Planes:
        return self.work.planes
