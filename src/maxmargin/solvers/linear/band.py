"""Interior point on few of many rows: of a sample first, then of those near the margin, the others as constants.

Where rows are many and features few, most rows end far from their margin: the cost of such a row is 0, or linear in the
score, whatever the weights near the optimum. The weights of a sample tell which. Rows of a cost of 0 are left out; of
the linear ones those of one sign become their weighted mean, one row: as long as all of them keep a slack its cost is
the sum of theirs, and its dual variable is theirs, each in proportion to its bound. So a solution of the small problem
is a dual point of the large one, with the same weights and the same value, and the lower bound is one whatever the
guess was. Where the objective over all rows is above that bound by more than the tolerance, rows have come to the other
side of their margin: they join the band, and so do all that are nearer to it than scores still move.

Source: the reduced problem is that of chunking (Vapnik 1982; Osuna, Freund, Girosi 1997) with the bounded rows merged;
the interior point method is that of :mod:`~maxmargin.solvers.linear.interior_point`. Memory beyond the data: a copy of
the rows in the band (a fifth, most often), and a few numbers for each term.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...data._mapped_rows import rows_of
from ...terms import Terms
from ..base import Run, Step
from .intercept import best_intercept
from .interior_point import InteriorRun
from .rows import Rows
from .task import LinearTask

__all__ = ["COST", "BandRun", "suits"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
COST = 0.4  # of the work of an interior point method on all rows (measured: 0.2 to 0.8, 1 for the fewest rows)
# rows for each weight, and twice as many for two terms a row: with fewer, the weights of a sample say too little of
# those of all rows (measured)
_ROWS_FOR_WEIGHT, _SAMPLED_FOR_WEIGHT, _FEWEST_WEIGHTS = 900, 150, 20
_SAMPLE, _BAND, _WIDEST = 0.1, 0.2, 0.6
_OF_SAMPLE, _OF_FIRST_BAND = 1e-2, 3e-4
_FEWEST_OF_SIGN = 1000
# of what scores moved by in one round they move a tenth or a fifth in the next (measured)
_STILL, _MOST = 0.33, 0.9999
_PATIENCE = 100  # iterations on one band


def suits(task: LinearTask) -> bool:
    """Whether there are so many rows that a few of them tell where the others are."""
    terms = task.terms
    if not isinstance(terms, Terms) or terms.squared or len(task.thresholds):
        return False
    needed = _ROWS_FOR_WEIGHT * terms.sign.shape[1] * max(task.n_weights, _FEWEST_WEIGHTS)
    return bool(terms.n_rows >= needed)


class Band(NamedTuple):
    """A reduced problem, and what its dual variables are in the whole one.

    Attributes
    ----------
    task : LinearTask
    rows : int64 array
        Those in the band, the first of the reduced problem; after them come the merged ones.
    merged : list of (bool array of shape (n,), int)
        Of every merged row, which rows and which of their terms are in it.
    bounded : bool array of shape (n, m)
        Terms outside the band taken for ones with a slack.
    """

    task: LinearTask
    rows: Ints
    merged: list[tuple[NDArray[np.bool_], int]]
    bounded: NDArray[np.bool_]

    def spread(self, a: Reals, terms: Terms) -> Reals:
        """The dual point of the whole problem, shape ``(n, m)``."""
        out = np.zeros_like(terms.upper)
        k = len(self.rows)
        out[self.rows] = a[:k]
        for at, (which, v) in enumerate(self.merged, start=k):
            share = float(a[at].sum() / self.task.terms.upper[at].sum())
            out[which, v] = min(share, 1.0) * terms.upper[which, v]
        return out


class BandRun(Run):
    """One run; a pass is as much work as one iteration over all rows."""

    task: LinearTask
    exact_gap = True

    def __init__(self, task: LinearTask) -> None:
        assert isinstance(task.terms, Terms)
        self.task, self.terms = task, task.terms
        self.steps = 0
        self.whole: InteriorRun | None = None
        self.point = np.zeros(task.n_weights)
        self.a: Reals | None = None
        self.slack: Reals | None = None  # of the last weights known to be good
        self.primal, self.lower = float(self.terms.cost(np.zeros(task.rows.shape[0])).sum()), 0.0
        self.crossed = np.zeros(task.rows.shape[0], np.bool_)
        self.width, self.bands = 0.0, 0
        self.band: Band | None = None
        self.inner = InteriorRun(self._sample())
        self.target = _OF_SAMPLE

    def advance(self) -> Step:
        if self.whole is not None:
            return self.whole.advance()
        work = 0
        n, few = self.task.rows.shape[0], self.inner.task.rows.shape[0]
        while work + few <= n:
            work += few
            self.inner.advance()
            self.steps += 1
            # of an iteration whose equations do not hold yet the gap may be of either sign
            if abs(self.inner.gap) <= self.target:
                return self._look()
        if self.inner.steps > _PATIENCE:
            self._go_whole()
        return Step(1, self.primal - self.lower, self.lower)

    def _go_whole(self) -> None:
        """The rest on all rows."""
        del self.inner, self.band
        if self.a is not None:
            self.task.from_dual(self.a)  # the task remembers its best dual point
        self.whole = InteriorRun(self.task)

    def _look(self) -> Step:
        """All rows under the weights of the small problem, and the next one if these are not good enough."""
        task, terms, band = self.task, self.terms, self.band
        self.inner.dual()
        w = self.inner.point
        scores = task.scores(w)
        primal = task.penalty(w) + float(terms.cost(scores).sum())
        slack = terms.sign * scores[:, None]
        np.subtract(terms.margin, slack, out=slack)
        if primal < self.primal:
            self.primal, self.point = primal, w.copy()
        if band is not None and self.inner.found is not None:
            value = self.inner.task.dual_point.value
            if value > self.lower or self.a is None:
                self.lower, self.a = value, band.spread(self.inner.found, terms)
            outside = np.ones(len(slack), np.bool_)
            outside[band.rows] = False
            self.crossed |= outside & ((slack > 0.0) != band.bounded).any(1)
        gap = max(self.primal - self.lower, 0.0)
        enough = gap <= task.tol * abs(self.primal)
        if band is None or not enough:
            del band, scores  # before the next one is made
            self._narrow(slack)
        return Step(1, gap, self.lower, ready=enough)

    def _narrow(self, slack: Reals) -> None:
        """The next band, from slacks of better weights than those before."""
        near = np.abs(slack).min(1)
        self.target = 0.3 * self.task.tol
        if self.slack is None:
            self.width = float(np.quantile(near, _BAND))
            self.target = max(self.target, _OF_FIRST_BAND)
        elif self.bands == 1:
            moved = np.abs(slack - self.slack).max(1)
            self.width = _STILL * float(np.quantile(moved, _MOST))
        else:
            self.width *= 2.0
        self.bands += 1
        self.slack = slack
        inside = (near <= self.width) | self.crossed
        if inside.mean() > _WIDEST:
            self._go_whole()
            return
        del self.inner, self.band  # their rows are the largest arrays of all
        self.band = self._banded(inside, slack)
        self.inner = InteriorRun(self.band.task)

    def _banded(self, inside: NDArray[np.bool_], slack: Reals) -> Band:
        terms, matrix = self.terms, self.task.rows.matrix
        bounded = (slack > 0.0) & ~inside[:, None]
        rows = np.flatnonzero(inside)
        merged = [
            (which, v)
            for v in range(slack.shape[1])
            for sign in (1.0, -1.0)
            if (which := bounded[:, v] & (terms.sign[:, v] == sign)).any()
        ]
        if not merged:
            return Band(self._reduced(_taken(matrix, rows), terms.of_rows(rows)), rows, merged, bounded)
        weight = np.column_stack([np.where(which, terms.upper[:, v], 0.0) for which, v in merged])
        total = weight.sum(0)
        margins = [float(weight[:, k] @ terms.margin[:, v] / total[k]) for k, (_, v) in enumerate(merged)]
        weight /= total
        means = self.task.rows.combined(weight).T
        del weight
        m = slack.shape[1]

        def extended(values: Reals, more: list[float]) -> Reals:
            return np.vstack([values[rows], np.repeat(np.array(more)[:, None], m, axis=1)])

        signs = [float(terms.sign[np.argmax(which), v]) for which, v in merged]
        upper = extended(terms.upper, (total / m).tolist())
        part = Terms(extended(terms.sign, signs), extended(terms.margin, margins), upper, np.zeros_like(upper))
        return Band(self._reduced(_taken(matrix, rows, means), part), rows, merged, bounded)

    def _sample(self) -> LinearTask:
        """Some rows of either sign, with bounds that stand for all."""
        terms, rng = self.terms, self.task.rng
        share = max(_SAMPLE, _SAMPLED_FOR_WEIGHT * self.task.n_weights / terms.n_rows)
        chosen, factor = [], []
        for sign in (1.0, -1.0):
            those = np.flatnonzero(terms.sign[:, 0] == sign)
            k = min(len(those), max(int(share * len(those)), _FEWEST_OF_SIGN))
            if k:
                chosen.append(np.sort(rng.choice(those, k, replace=False)))
                factor.append(np.full(k, len(those) / k))
        rows = np.concatenate(chosen)
        part = terms.of_rows(rows)
        return self._reduced(
            _taken(self.task.rows.matrix, rows), part._replace(upper=part.upper * np.concatenate(factor)[:, None])
        )

    def _reduced(self, matrix: Any, terms: Terms) -> LinearTask:
        task = self.task
        return LinearTask(
            Rows(matrix), terms, task.C, np.ones(terms.n_rows), task.intercept, task.tol, task.rng, name=task.name,
            signs=task.signs, scale=task.scale, deadline=task.deadline,
        )  # fmt: skip

    def dual(self) -> float:
        task = self.task
        if self.whole is not None and self.whole.steps:
            value = self.whole.dual()
            self.point = min(self.whole.weights(), self.point, key=task.objective)
            return value
        if self.a is None:
            start = task.start()
            w, value = task.from_dual(start)
            if task.warm is not None and not self.steps:
                self.point = w
            return value
        first, value = task.from_dual(self.a)
        if task.intercept == "free":
            self.point[-1] = 0.0
            self.point[-1] = best_intercept(self.terms, task.scores(self.point))
        self.point = min(first, self.point, key=task.objective)
        return value

    def weights(self) -> Reals:
        return self.point


def _taken(matrix: Any, rows: Ints, more: Reals | None = None) -> Any:
    """These rows, and more below them; no more memory than they need."""
    if sp.issparse(matrix):
        return rows_of(matrix, rows, below=None if more is None else sp.csr_matrix(more))
    count = len(rows)
    out = np.empty((count + (0 if more is None else len(more)), matrix.shape[1]), matrix.dtype)
    np.take(matrix, rows, axis=0, out=out[:count], mode="clip")  # other modes make a copy first
    if more is not None:
        out[count:] = more
    return out
