"""Block-coordinate Frank-Wolfe with exact line search, cached planes, pairwise and away steps, gap sampling.

Problem: ``1/2 |w|^2 + C sum_i s_i xi_i`` and its dual, see :mod:`maxmargin.problem`.
Sources: Lacoste-Julien, Jaggi, Schmidt, Pletscher (ICML 2013), algorithm 4 and its averaged iterate; Osokin, Alayrac,
Lukasewitz, Dokania, Lacoste-Julien (ICML 2016) for gap sampling, pairwise steps and caching.
Cost of a pass: one call of the loss-augmented decoder for each example, then ``sweeps`` passes over cached planes, each
the price of the few potentials that the planes of an example disagree about. Memory: the weights (twice when averaging)
and the parts of the cached planes; never a feature vector for a plane.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from . import passes
from .base import Run, Step, StructuredRun, Task, sweep_until, to_dual_point
from .block import AWAY, PAIRWISE, PLAIN
from .options import check_bool, check_choice, check_option
from .oracle import Evaluation, Work
from .planes import Planes

__all__ = ["FrankWolfe"]

# Sweeps stop when the gap over the cached planes is this part of the gap that the decoder found: by then new planes
# promise more than old ones (measured on chunking and on handwritten words).
_ENOUGH = 0.4
_RULES = {"plain": PLAIN, "pairwise": PAIRWISE, "away": AWAY}


@dataclass(frozen=True)
class FrankWolfe:
    """Block-coordinate Frank-Wolfe.

    Parameters
    ----------
    steps : {"pairwise", "away", "plain"}
        Direction of a step; see :mod:`maxmargin.solvers.block`.
    sampling : {"permutation", "uniform", "gap"}
        Order of the visits: every example once in random order; drawn with replacement; drawn in proportion to the gap
        found at the last visit (the first pass, and one after each evaluation, visits all in both).
    sweeps : int or "auto"
        At most so many passes over the cached planes after each pass with the decoder; they end early once their gap is
        two fifths of the decoder's. After the first few, those of many examples that hold much of the gap are visited
        more often. "auto" is 20, and 50 for structures in plain Python, whose methods take longer. 0 with
        ``steps="plain"`` is algorithm 4 of 2013.
    average : bool
        Return the average of the iterates, the k-th weighted by k.
    """

    steps: Literal["pairwise", "away", "plain"] = "pairwise"
    sampling: Literal["permutation", "uniform", "gap"] = "permutation"
    sweeps: int | Literal["auto"] = "auto"
    average: bool = False

    def __post_init__(self) -> None:
        check_choice(self, "steps", sorted(_RULES))
        check_choice(self, "sampling", ("permutation", "uniform", "gap"))
        if not isinstance(self.sweeps, str) or self.sweeps != "auto":
            allowed = "at least 0" if isinstance(self.sweeps, int) else "'auto' or at least 0"
            check_option(self, "sweeps", allowed, lambda each: each >= 0.0, integral=True)
        check_bool(self, "average")

    @property
    def name(self) -> str:
        """Short name, as accepted by the estimators."""
        return "frank_wolfe"

    def start(self, task: Task) -> Run:
        """Begin a run."""
        return _FrankWolfeRun(self, task)


class _FrankWolfeRun(StructuredRun):
    def __init__(self, options: FrankWolfe, task: Task) -> None:
        self.options, self.task = options, task
        self.sweeps = task.oracle.sweeps if options.sweeps == "auto" else options.sweeps
        self.work = Work.start(task.oracle.n_weights, task.c, rule=_RULES[options.steps], averaged=options.average)
        self._visited_all = False
        if task.warm is not None and task.warm.planes is not None:
            self.work.planes = task.warm.planes
            self.dual()
        self.looks_at_start = task.warm is not None and task.warm.planes is None
        self._begun = task.warm is None  # else the planes known come first: they may have waited for another ``C``

    def _permuted(self) -> NDArray[np.int64]:
        return self.task.rng.permutation(self.task.examples)

    def _order(self) -> NDArray[np.int64]:
        examples, rng = self.task.examples, self.task.rng
        if self.options.sampling == "uniform" and self._visited_all:
            return rng.choice(examples, len(examples))
        if self.options.sampling == "gap" and self._visited_all:
            gaps = self.work.gaps[examples]
            total = gaps.sum()
            if total > 0:
                # gaps go stale: a small share of the visits stays uniform
                return rng.choice(examples, len(examples), p=0.9 * gaps / total + 0.1 / len(examples))
        return self._permuted()

    def advance(self) -> Step:
        work, oracle = self.work, self.task.oracle
        if not self._begun:
            sweep_until(self.task, work, self.task.examples, most=max(self.sweeps, 1), gap=0.0)
            self._begun = True
        work.stamp += 1
        work.state[passes.GAP] = 0.0
        oracle.frank_wolfe(work, self._order())
        gap = float(work.state[passes.GAP])
        self._visited_all = True
        self._sweeps(gap)
        work.end_pass()
        return Step(1, gap, float(work.state[passes.DUAL]))

    def _sweeps(self, gap: float) -> None:
        """Sweeps over the cached planes until the decoder promises more than they do."""
        work, oracle_gaps = self.work, self.work.gaps.copy()
        sweep_until(self.task, work, self.task.examples, most=self.sweeps, gap=_ENOUGH * gap)
        work.gaps[:] = oracle_gaps

    def weights(self) -> NDArray[np.float64]:
        work = self.work
        if self.options.average and work.state[passes.WEIGHT] > 0:
            averaged: NDArray[np.float64] = work.average / work.state[passes.WEIGHT]
            return np.subtract(work.w, averaged, out=averaged)
        return work.w

    def dual(self) -> float:
        return to_dual_point(self.task.oracle, self.work, self.task.examples)

    def evaluate(self, w: NDArray[np.float64]) -> Evaluation:
        """Sampling visits all examples once after it: it was due because the known gaps promised more than is true."""
        self._visited_all = False
        return self.most_violated(w, self.work, risk=True)

    def at_least(self, w: NDArray[np.float64]) -> float:
        return self.cached_objective(w, self.work)

    def planes(self) -> Planes:
        return self.work.planes
