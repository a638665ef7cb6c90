"""Interior point on few of many rows: of a sample first, then of those near the margin, the others as constants.

Where rows are many and features few, most rows end far from their margin: the cost of such a row is 0, or linear in the
score, whatever the weights near the optimum. The weights of a sample tell which. Rows of a cost of 0 are left out; of
the linear ones those of one sign become their weighted mean, one row: as long as all of them keep a slack its cost is
the sum of theirs, and its dual variable is theirs, each in proportion to its bound. So a solution of the small problem
is a dual point of the large one, with the same weights and the same value, and the lower bound is one whatever the
guess was. Where the objective over all rows is above that bound by more than the tolerance, rows have come to the other
side of their margin: they join the band, and so do all that are nearer to it than scores still move.

What the sample and the first band are for are their weights, and those are good long before the lower bound is: either
is left as soon as they are. Of a later band most rows are soon far from their margin too, for what scores still move
by: the last iterations, half of them, go over those few that are not.

Source: the reduced problem is that of chunking (Vapnik 1982; Osuna, Freund, Girosi 1997) with the bounded rows merged;
the interior point method is that of :mod:`~maxmargin.solvers.linear.interior_point`. Memory beyond the data: a few
numbers for each term, and of sparse rows a copy of those in the band (a fifth, most often).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._products import inner
from ...data._mapped_rows import rows_of
from ...terms import Terms
from ..base import Run, Step, WarmStart
from .intercept import best_intercept
from .interior_point import InteriorRun
from .rows import Rows
from .selected_rows import SelectedRows
from .task import LinearTask

__all__ = ["COST", "BandRun", "suits"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
COST = 0.4  # of the work of an interior point method on all rows (measured: 0.2 to 0.8, 1 for the fewest rows)
# rows for each weight, and twice as many for two terms a row: with fewer, the weights of a sample say too little of
# those of all rows (measured)
_ROWS_FOR_WEIGHT, _SAMPLED_FOR_WEIGHT, _FEWEST_WEIGHTS = 900, 150, 20
_SAMPLE, _BAND, _WIDEST = 0.1, 0.2, 0.6
# Products of variables and multipliers, over the objective: with these the weights of a sample, and of the first band,
# are as good as there is use for. The last is the gap of that band where, by the tolerance, it may be the only one.
# (All measured.)
_OF_SAMPLE, _OF_WEIGHTS, _OF_FIRST_BAND = 0.12, 5e-3, 3e-4
# With these products scores have made most of their way; a band is narrowed if by then there is much more to do, and if
# fewer than this share of its rows remain.
_SURE, _MUCH, _FEW = 5e-4, 10.0, 0.5
# of a start at the weights before, see InteriorRun: of the first band, and of later ones (measured: a third and three
# times of it are nearly as good, where a start from nothing takes twice the iterations)
_LEVELS = (0.1, 0.03)
# Weights whose objective is this many times that of the small problem they are of make no start: rows beyond their
# margin have dual variables at the bound, which only a few will keep, and iterations stand still (measured where a few
# heavy rows can be told apart: 100 and more, where a start from nothing takes 15 to 90).
_ASTRAY = 1.25
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
        out = np.zeros(terms.upper.shape)
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
        self.ahead = 1.0  # their objective over that of the small problem they are of
        self.best: tuple[Band, Reals] | None = None  # the dual point of the best bound
        self.slack: Reals | None = None  # of the weights by which the band was chosen, while it may be narrowed
        self.narrowed = False  # whether a band has lost rows by its own scores; once for all, as it is but a guess
        self.primal, self.lower = float(self.terms.cost(np.zeros(task.rows.shape[0])).sum()), 0.0
        self.crossed = np.zeros(task.rows.shape[0], np.bool_)
        self.width, self.bands = 0.0, 0
        self.band: Band | None = None
        self.inner = InteriorRun(self._sample())
        self.target = 0.0

    def advance(self) -> Step:
        if self.whole is not None:
            return self.whole.advance()
        work = 0
        n, few = self.task.rows.shape[0], self.inner.task.rows.shape[0]
        while work + few <= n:
            work += few
            self.inner.advance()
            self.steps += 1
            if self._is_solved():
                return self._look()
            if self.bands > 1 and not self.narrowed and self._is_sure():
                self._narrow_within()
                few = self.inner.task.rows.shape[0]
        if self.inner.steps > _PATIENCE:
            self.ahead = np.inf  # a start at the weights has come to nothing on few rows, and would on all
            del self.inner
            self._go_whole()
        return Step(1, self.primal - self.lower, self.lower)

    def _is_solved(self) -> bool:
        """Whether the small problem is solved as well as there is use for."""
        inner = self.inner
        if self.band is None:
            return inner.products <= _OF_SAMPLE
        if self.bands == 1 and self.target < _OF_FIRST_BAND:
            return inner.products <= _OF_WEIGHTS
        # of an iteration whose equations do not hold yet the gap may be of either sign
        return abs(inner.gap) <= self.target

    def _is_sure(self) -> bool:
        """Whether scores say what rows of the band they leave alone, and there is still much to do."""
        return _MUCH * self.target < self.inner.products <= _SURE

    def _narrow_within(self) -> None:
        """Leave out rows of the band that are farther from their margin than scores have moved since it was chosen."""
        assert self.band is not None
        assert self.slack is not None
        inner, terms, rows = self.inner, self.terms, self.band.rows
        before, self.slack, self.narrowed = self.slack, None, True
        slack = terms.sign[rows] * inner.f[: len(rows), None]
        np.subtract(terms.margin[rows], slack, out=slack)
        width = float(np.quantile(np.abs(slack - before[rows]).max(1), _MOST))
        kept = np.flatnonzero(_nearest(slack) <= width)
        if len(kept) > _FEW * len(rows):
            return
        before[rows] = slack
        inside = np.zeros(len(before), np.bool_)
        inside[rows[kept]] = True
        self.band = self._banded(inside, before)
        self.inner = inner.on_fewer_rows(self.band.task, kept)

    def _go_whole(self) -> None:
        """The rest on all rows."""
        del self.band, self.slack
        if self.best is not None:
            self.task.from_dual(self._best_point())  # the task remembers it
            self.best = None
        if self.bands:  # the best weights so far, not those of the user's warm start
            self.task.warm = WarmStart(self.point) if self.ahead < _ASTRAY else None
        self.whole = InteriorRun(self.task, _LEVELS[0])

    def _look(self) -> Step:
        """All rows under the weights of the small problem, and the next one if these are not good enough."""
        task, terms, band = self.task, self.terms, self.band
        value = self.inner.dual()
        w = self.inner.point
        scores = task.scores(w)
        primal = task.penalty(w) + float(terms.cost(scores).sum())
        ahead = max(primal / max(self.inner.primal, 1e-300), 1.0)
        if primal < self.primal:
            self.primal, self.point, self.ahead = primal, w.copy(), ahead
        found = None if band is None else self.inner.found
        if band is not None and found is not None and (value > self.lower or self.best is None):
            self.lower, self.best = value, (band, found.copy())
        gap = max(self.primal - self.lower, 0.0)
        enough = gap <= task.tol * abs(self.primal)
        narrow = band is None or not enough
        if narrow:
            del self.inner  # before the next one's arrays are made
        slack = terms.sign * scores[:, None]
        np.subtract(terms.margin, slack, out=slack)
        del scores
        if band is not None and found is not None:
            outside = np.ones(len(slack), np.bool_)
            outside[band.rows] = False
            self.crossed |= outside & ((slack > 0.0) != band.bounded).any(1)
        if narrow:
            del band, found
            self._narrow(slack, w.copy(), ahead)
        return Step(1, gap, self.lower, ready=enough)

    def _narrow(self, slack: Reals, w: Reals | None = None, ahead: float = 1.0) -> None:
        """The next band, from slacks of better weights than those before."""
        near = _nearest(slack)
        self.target = 0.3 * self.task.tol
        if not self.bands:
            self.width = float(np.quantile(near, _BAND))
        elif self.bands == 1:
            assert self.slack is not None
            self.slack -= slack
            moved = np.abs(self.slack, out=self.slack).max(1)
            self.width = _STILL * float(np.quantile(moved, _MOST, overwrite_input=True))
            del moved
        elif not self.narrowed:
            self.width *= 2.0
        self.slack = None if self.narrowed else slack
        self.bands += 1
        inside = (near <= self.width) | self.crossed
        if inside.mean() > _WIDEST:
            self._go_whole()
            return
        del near, self.band  # before the next ones are made
        self.band = self._banded(inside, slack)
        if w is not None and ahead < _ASTRAY:
            self.band.task.warm = WarmStart(w)
        self.inner = InteriorRun(self.band.task, _LEVELS[min(self.bands, len(_LEVELS)) - 1])

    def _banded(self, inside: NDArray[np.bool_], slack: Reals) -> Band:
        terms = self.terms
        bounded = (slack > 0.0) & ~inside[:, None]
        rows = np.flatnonzero(inside)
        merged = [
            (which, v)
            for v in range(slack.shape[1])
            for sign in (1.0, -1.0)
            if (which := bounded[:, v] & (terms.sign[:, v] == sign)).any()
        ]
        if not merged:
            return Band(self._reduced(_taken(self.task.rows, rows), terms.of_rows(rows)), rows, merged, bounded)
        total, margins = [], []
        for which, v in merged:
            upper = terms.upper[which, v]
            total.append(float(upper.sum()))
            margins.append(inner(upper, terms.margin[which, v]) / total[-1])
        means = self._means(merged, total)
        m = slack.shape[1]

        def extended(values: Reals, more: list[float]) -> Reals:
            return np.vstack([values[rows], np.repeat(np.array(more)[:, None], m, axis=1)])

        signs = [float(terms.sign[np.argmax(which), v]) for which, v in merged]
        upper = extended(terms.upper, [each / m for each in total])
        part = Terms(extended(terms.sign, signs), extended(terms.margin, margins), upper, np.zeros_like(upper))
        return Band(self._reduced(_taken(self.task.rows, rows, means), part), rows, merged, bounded)

    def _means(self, merged: list[tuple[NDArray[np.bool_], int]], total: list[float]) -> Reals:
        """Weighted mean rows, ``(len(merged), d)``; those that are in none are not read."""
        rows, upper = self.task.rows, self.terms.upper
        out = np.empty((len(merged), rows.shape[1]))
        for k, (which, v) in enumerate(merged):
            if rows.sparse:
                sums = rows.combined(np.where(which, upper[:, v], 0.0))
            else:
                places = np.flatnonzero(which)
                sums = SelectedRows(rows, places).combined(upper[places, v])
            out[k] = sums / total[k]
        return out

    def _best_point(self) -> Reals:
        assert self.best is not None
        band, a = self.best
        return band.spread(a, self.terms)

    def _sample(self) -> LinearTask:
        """Some rows of either sign, with bounds that stand for all.

        Those with as much weight as all that a row of the sample stands for are taken, each for itself: left out or
        counted as many, they would make it one of another problem. They are no more than the sample would have anyway.
        """
        terms, rng = self.terms, self.task.rng
        share = max(_SAMPLE, _SAMPLED_FOR_WEIGHT * self.task.n_weights / terms.n_rows)
        weight = terms.upper.sum(1)
        chosen, factor = [], []
        for sign in (1.0, -1.0):
            those = np.flatnonzero(terms.sign[:, 0] == sign)
            if not len(those):
                continue
            heavy = share * weight[those] >= weight[those].mean()
            chosen.append(those[heavy])
            factor.append(np.ones(len(chosen[-1])))
            those = those[~heavy]
            k = min(len(those), max(int(share * len(those)), _FEWEST_OF_SIGN))
            if k:
                chosen.append(np.sort(rng.choice(those, k, replace=False)))
                factor.append(np.full(k, len(those) / k))
        rows = np.concatenate(chosen)
        part = terms.of_rows(rows)
        return self._reduced(
            _taken(self.task.rows, rows), part._replace(upper=part.upper * np.concatenate(factor)[:, None])
        )

    def _reduced(self, rows: Rows, terms: Terms, warm: WarmStart | None = None) -> LinearTask:
        task = self.task
        return LinearTask(
            rows, terms, task.C, np.ones(terms.n_rows), task.intercept, task.tol, task.rng, name=task.name,
            signs=task.signs, scale=task.scale, deadline=task.deadline, warm=warm,
        )  # fmt: skip

    def dual(self) -> float:
        task = self.task
        if self.whole is not None and self.whole.steps:
            value = self.whole.dual()
            self.point = min(self.whole.weights(), self.point, key=task.objective)
            return value
        if self.best is None:
            start = task.start()
            w, value = task.from_dual(start)
            if task.warm is not None and not self.steps:
                self.primal, self.point = task.objective(w), w
            return value
        first, value = task.from_dual(self._best_point())
        if task.intercept == "free":
            scores = task.scores(self.point) - self.point[-1]
            self.point[-1] = best_intercept(self.terms, scores)
            scores += self.point[-1]
            self.primal = task.penalty(self.point) + float(self.terms.cost(scores).sum())
            del scores
        if self.primal - value > task.tol * abs(self.primal):  # else the weights at hand are good enough
            primal = task.objective(first)
            if primal < self.primal:
                self.primal, self.point = primal, first
        return value

    def weights(self) -> Reals:
        return self.point


def _nearest(slack: Reals) -> Reals:
    """How near each row is to a margin, shape ``(n,)``."""
    out = np.abs(slack[:, 0])
    for v in range(1, slack.shape[1]):
        np.minimum(out, np.abs(slack[:, v]), out=out)
    return out


def _taken(rows: Rows, places: Ints, more: Reals | None = None) -> Rows:
    """These rows, and more below them; dense ones stay where they are."""
    if not rows.sparse:
        return SelectedRows(rows, places, more)
    return Rows(rows_of(rows.matrix, places, below=None if more is None else sp.csr_matrix(more)))
