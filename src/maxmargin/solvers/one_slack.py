"""One-slack cutting plane: one aggregated plane a round, with cuts from cached planes in between.

Problem: ``1/2 |w|^2 + xi`` with ``xi >= sum_i c_i (Delta_i(y_i) + <w, psi_i(y_i)>)`` for every joint choice of outputs,
``c_i = C s_i``; see :mod:`maxmargin.problem`. Source: Joachims, Finley, Yu (2009), algorithm 4, and its section 5.3 for
the cache. The number of rounds is ``O(C R^2 / epsilon)`` whatever the number of examples.
Cost of a round: one call of the loss-augmented decoder for each example, one quadratic program in the number of cuts.
Memory: the non-zero entries of the cuts kept, and the parts of the cached planes.

On linear machines and rankings ``xi`` is at least the sum of all losses, and a round costs a product with the data each
way and no search (Joachims, KDD 2006): it is the bundle method (:mod:`~maxmargin.solvers.bundle`) with its planes at
the minimisers of the model, ``Bundle(share=1)``. ``Bundle()`` needs fewer of them there: it looks for better places.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._products import inner
from .base import Run, Step, StructuredRun, Task
from .bundle import Bundle, begin
from .cutting_planes import CuttingPlanes
from .options import check_option
from .oracle import Evaluation, Work

__all__ = ["OneSlack"]

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class OneSlack:
    """One-slack cutting plane.

    Parameters
    ----------
    cached_rounds : int
        At most so many cuts are built from cached planes between two passes of the decoder (0: none); on structures.
    keep_rounds : int
        Cuts without weight for so many rounds are dropped.
    """

    cached_rounds: int = 10
    keep_rounds: int = 50

    def __post_init__(self) -> None:
        self._check("cached_rounds", 0)
        self._check("keep_rounds", 1)

    def _check(self, name: str, low: int) -> None:
        check_option(self, name, f"an integer ({name} at least {low})", lambda each: each >= low, integral=True)

    @property
    def name(self) -> str:
        """Short name, as accepted by the estimators."""
        return "one_slack"

    def start(self, task: Any) -> Run:
        """Begin a run on a structured or linear task or a ranking.

        Raises
        ------
        DataError
            For other tasks.
        """
        if isinstance(task, Task):
            return _OneSlackRun(self, task)
        return begin(Bundle(share=1.0, keep_rounds=self.keep_rounds), task, self.name)


class _OneSlackRun(StructuredRun):
    exact_gap = True

    def __init__(self, options: OneSlack, task: Task) -> None:
        self.options, self.task = options, task
        n = task.oracle.n_weights
        self.work = Work.start(0, task.c)
        self.cuts = CuttingPlanes(n, options.keep_rounds)
        self.w = self.cuts.v  # the minimiser of the cuts, but for the first round
        if task.warm is not None:
            self.w[:] = task.warm.w
        self.best = self.w.copy()
        self.best_primal = np.inf
        self.lower = 0.0
        self.buffer = np.zeros(n)

    def advance(self) -> Step:
        task = self.task
        self.work.stamp += 1
        found = self.most_violated(self.w, self.work)
        primal = 0.5 * inner(self.w, self.w) + inner(task.c[task.examples], found.slack)
        if primal < self.best_primal:
            self.best_primal, self.best = primal, self.w.copy()
        self._add(found.planes)
        self._solve()
        for _ in range(self.options.cached_rounds):
            if not self._cached_cut():
                break
        self.work.end_pass()
        gap = self.best_primal - self.lower
        return Step(1, gap, self.lower, ready=gap <= task.tol * self.best_primal)

    def _cached_cut(self) -> bool:
        """A cut from cached planes, if it is violated by a good part of the gap."""
        task = self.task
        ids, scores = task.oracle.best_cached(self.w, self.work.planes, task.examples)
        bound = inner(task.c[task.examples], scores)
        model = self.lower - 0.5 * inner(self.w, self.w)  # sum over cuts of a_t value_t: the slack of the model
        violation = bound - max(model, 0.0)
        if violation <= max(0.1 * (self.best_primal - self.lower), 0.5 * task.tol * self.best_primal):
            return False
        self._add(ids)
        self._solve()
        return True

    def _add(self, ids: NDArray[np.int64]) -> None:
        task, planes = self.task, self.work.planes
        c = task.c[task.examples]
        self.buffer[:] = 0.0
        task.oracle.add_planes(planes, task.examples, ids, c, self.buffer)
        self.cuts.add(self.buffer, inner(c, planes.loss[ids]))

    def _solve(self) -> None:
        scale = max(self.lower, 0.0 if np.isinf(self.best_primal) else self.best_primal - self.lower, 1e-300)
        self.lower = max(self.lower, self.cuts.minimise(1e-3 * min(self.task.tol, 1e-2) * scale))

    def weights(self) -> Reals:
        return self.best

    def dual(self) -> float:
        return max(self.cuts.value(), 0.0)

    def evaluate(self, w: Reals) -> Evaluation:
        self.work.stamp += 1
        return self.most_violated(w, self.work, risk=True)
