"""Dual coordinate ascent for linear machines: one exact step a row, rows of no promise left out.

Problem: see :mod:`maxmargin.terms`. Source: Hsieh, Chang, Lin, Keerthi, Sundararajan (ICML 2008), algorithm 3 with its
shrinking; Ho and Lin (JMLR 2012) for regression. A step of row ``i`` moves each of its dual variables to the maximum
along it, with ``w`` kept up to date, so it costs two products with the row. Rows are visited in a new order each pass
(:mod:`.order`).

A free intercept is the multiplier of ``sum_i beta_i = 0`` in the dual (method of multipliers, Hestenes 1969): a
constant feature with a small weight holds the sum near 0, and after each pass the multiplier moves against what is left
of it, by what the visits say about its response (``sum 1 / |x_i|^2`` over the rows strictly inside their box, as if
rows did not share features), times a stride that grows while the sum does not fall and halves when it turns. The
certificate does not depend on how well that works: its dual point is made feasible, its intercept is the best one.
Where passes are many, leaps between them go along the variables at no bound (:mod:`.face`).
Of the last weights, an average of all (:mod:`.averaging`), those that the last leap was on its way to, and the middles
between them the best is the answer.
Memory beyond the data: ``w`` and a few numbers for each row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._compiled import compiled, prefetch
from ...terms import hinges_only
from ..base import Run, Step
from ..chunks import Pace, chunks
from ..options import check_bool
from ..oracle import Evaluation
from .averaging import average_for
from .face import Leaps, leap
from .face_of_terms import TermsFace
from .order import in_blocks
from .rows import AHEAD, add_row, add_two, dot_row, dot_two, load_row, read_only, square
from .task import LinearTask

__all__ = ["CoordinateAscent"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
# Square of the constant feature over the mean squared norm of the rows, where the intercept is free: more of it makes
# the rows slow, with none the sum of beta turns to and fro (measured on text and on dense rows).
_PENALTY = 0.03
_LEVEL = 1e-12
_WIDE = 256  # features

# entries of the state of a run: gap of the visits, growth of the gains, largest and smallest projected slope, value of
# the constant feature, shift of the scores, sum of beta, response of that sum to the shift
_GAP, _GAIN, _HIGH, _LOW, _CONSTANT, _SHIFT, _SUM, _RESPONSE = range(8)


@compiled
def _visit(data, indices, indptr, width, sign, margin, upper, ridge, norm2, a, w, order, promising, limits, state):
    """One exact step for every row of ``order``; marks in ``promising`` those worth another visit soon.

    Long dense rows are read two at a time, which memory does faster than one after another (measured: a seventh of the
    time less): the product of the two says what the step for the first does to the score of the second. ``w`` has the
    weight of the constant feature last; ``limits`` are the largest and the smallest projected
    slope of the pass before.
    """
    constant, shift = state[_CONSTANT], state[_SHIFT]
    # sums go on where the chunk before has ended: so they are the same wherever a pass is cut
    gap, gain, total, response = state[_GAP], state[_GAIN], state[_SUM], state[_RESPONSE]
    high, low = state[_HIGH], state[_LOW]
    highest, lowest = limits[0], limits[1]
    last, end = len(w) - 1, len(order) - 1
    m = sign.shape[1]
    # one long array each, and numbers that are kept out of memory
    sign, margin, upper = sign.reshape(-1), margin.reshape(-1), upper.reshape(-1)
    ridge, a = ridge.reshape(-1), a.reshape(-1)
    in_pairs = indices is None and width >= _WIDE
    moved, next_score, both = 0.0, 0.0, 0.0
    for k in range(len(order)):
        i = np.uint64(order[k])
        soon = order[min(k + AHEAD, end)]
        if indices is not None:
            prefetch(indptr, order[min(k + 2 * AHEAD, end)])
        load_row(data, indices, indptr, width, soon)
        prefetch(norm2, soon)
        prefetch(sign, soon * m)
        prefetch(margin, soon * m)
        prefetch(upper, soon * m)
        prefetch(ridge, soon * m)
        prefetch(a, soon * m)
        first, second = in_pairs and k % 2 == 0 and k < end, in_pairs and k % 2 == 1
        if first:
            score, next_score, both = dot_two(data, width, order[k], order[k + 1], w)
        elif second:
            score = next_score + moved * both
        else:
            score = dot_row(data, indices, indptr, width, i, w)
        score += shift
        if constant != 0.0:
            score += constant * w[last]
        before, moved = moved, 0.0
        worth = False
        for v in range(i * np.uint64(m), i * np.uint64(m) + np.uint64(m)):
            old = a[v]
            slope = margin[v] - sign[v] * score
            top, bend = upper[v], ridge[v]
            # what this term adds to the gap (Fenchel and Young): its cost, less what its dual variable says
            if bend > 0.0:
                cost = max(slope, 0.0)
                gap += 0.5 * cost * cost / bend - old * slope + 0.5 * bend * old * old
            else:
                gap += top * max(slope, 0.0) - old * slope
            slope -= bend * old
            if old <= 0.0 and slope < lowest:
                continue
            if bend == 0.0 and old >= top and slope > highest:
                continue
            worth = True
            projected = slope
            if old <= 0.0:
                projected = max(slope, 0.0)
            elif bend == 0.0 and old >= top:
                projected = min(slope, 0.0)
            high = max(high, projected)
            low = min(low, projected)
            if projected != 0.0:
                curvature = norm2[i] + bend
                if curvature > 0.0:
                    new = min(max(old + slope / curvature, 0.0), top)
                else:
                    new = top if slope > 0.0 else 0.0
                if 0.0 < new < top and curvature > 0.0:
                    response += 1.0 / curvature
                if new != old:
                    a[v] = new
                    gain += (new - old) * (margin[v] - 0.5 * bend * (new + old))
                    step = sign[v] * (new - old)
                    moved += step
                    score += step * norm2[i]
        if second and (before != 0.0 or moved != 0.0):
            add_two(data, width, order[k - 1], before, order[k], moved, w)
        if moved != 0.0:
            if not (first or second):
                add_row(data, indices, indptr, width, i, moved, w)
            if constant != 0.0:
                w[last] += constant * moved
            total += moved
        promising[k] = worth
    state[_GAP], state[_GAIN] = gap, gain
    state[_HIGH], state[_LOW] = high, low
    state[_SUM], state[_RESPONSE] = total, response


@compiled
def _list_active(order, promising, visited, active):
    """Visit no rows of ``order`` without promise; lists in ``active`` those that are visited, returns their number."""
    for k in range(len(order)):
        visited[order[k]] &= promising[k]
    n = 0
    for i in range(len(visited)):
        active[n] = i  # without a branch, which would be guessed wrong
        n += visited[i]
    return n


@dataclass(frozen=True)
class CoordinateAscent:
    """Dual coordinate ascent.

    Parameters
    ----------
    shrinking : bool
        Leave out rows whose dual variables are at a bound and promise to stay there; every evaluation looks at all and
        takes those back that deserve it.
    """

    shrinking: bool = True

    def __post_init__(self) -> None:
        check_bool(self, "shrinking")

    @property
    def name(self) -> str:
        """Short name, as accepted by the estimators."""
        return "coordinate_ascent"

    def start(self, task: LinearTask) -> Run:
        """Begin a run."""
        return CoordinateRun(self, task)


class CoordinateRun(Run):
    """``a`` are the dual variables; ``w`` has the weight of the constant feature last."""

    task: LinearTask
    cheap_passes = True
    optimism = 0.65  # it is .5 to .6 (measured on text, a9a and dense rows), and an evaluation in vain costs two passes

    def __init__(self, options: CoordinateAscent, task: LinearTask) -> None:
        self.options, self.task = options, task
        self.terms = hinges_only(task.terms, task.name, options.name).written_out()
        rows = task.rows
        n, d = rows.shape
        self.state = np.zeros(8)
        if task.intercept == "penalized":
            self.state[_CONSTANT] = task.scale
        elif task.intercept == "free":
            self.state[_CONSTANT] = float(np.sqrt(_PENALTY * max(rows.squared_norms.mean(), 1e-300)))
        plus = float(self.state[_CONSTANT]) ** 2
        self.norm2 = read_only(rows.squared_norms + plus if plus else rows.squared_norms)  # no copy without need
        self.a = task.start()
        self.w = np.zeros(d + 1)
        self.point = np.zeros(task.n_weights)
        self.average = average_for(self.w, n, d)
        self.stride, self.longest = 1.0, 5.0
        self.total, self.idle, self.between = 0.0, 0, (-np.inf, np.inf)
        if task.warm is not None and self.a.any():
            self._begin(task.warm.w)
        self.pace = Pace(multiple=2)
        self.visited = np.ones(n, bool)
        self.promising = np.empty(n, bool)
        self.numbers = np.arange(n)  # of the active rows, and room for more
        self.active: Ints = self.numbers
        self.limits = np.array([np.inf, -np.inf])
        self.leaps = Leaps()
        self.ahead: Reals | None = None  # where the last leap would have gone without bounds

    def _begin(self, w: Reals) -> None:
        """Sums of the first dual point, and the multiplier that weights of an earlier fit say."""
        state, beta = self.state, self.terms.beta(self.a)
        state[_GAIN], state[_SUM] = self.terms.gain(self.a), float(beta.sum())
        self.w[:-1] = self.task.sums_of(beta)
        self.w[-1] = state[_CONSTANT] * state[_SUM]
        if self.task.intercept == "free":
            state[_SHIFT] = w[-1]

    def advance(self) -> Step:
        task, rows, state = self.task, self.task.rows, self.state
        state[_GAP], state[_HIGH], state[_LOW] = 0.0, -np.inf, np.inf
        order = in_blocks(self.active, task.rng)
        promising, at = self.promising, 0
        for run in chunks(order, task.deadline, self.pace):
            _visit(
                rows.data, rows.indices, rows.indptr, rows.shape[1], *self.terms, self.norm2, self.a, self.w, run,
                promising[at:], self.limits, state,
            )  # fmt: skip
            at += len(run)
        gap = float(state[_GAP])
        dual = float(state[_GAIN]) - 0.5 * square(self.w)
        if task.intercept == "free":  # of the shifted problem
            dual -= state[_SHIFT] * state[_SUM]
            self._move_shift()
            if self.idle > 1 and abs(self.total) > _LEVEL * float(self.a.sum()):
                gap = np.inf  # the visits saw none, but the sum of beta is not 0
        if self.average is not None:
            self.average.add(self.w)
        if self.options.shrinking:
            self._leave_out(order)
            if self.idle:  # the shift makes long steps
                self._take_all_back()
        step = Step(1, gap, dual, work=len(order) / max(rows.shape[0], 1))
        if self.leaps.due(step.work):
            self._leap(step)
        return step

    def _leap(self, step: Step) -> None:
        """Conjugate gradients along the free dual variables, counted with the pass before."""
        task, state, terms, a = self.task, self.state, self.terms, self.a
        if a.shape[1] > 1:  # what both sides of a tube have in common costs, and along it the dual does not bend
            a -= a.min(1)[:, None]
            state[_GAIN] = terms.gain(a)
        free: NDArray[np.bool_] = (a > 0.0) & (a < terms.upper)
        chosen, variables = int(free.any(1).sum()), int(free.sum())
        most = self.leaps.products(chosen, variables, task.rows, len(self.w), self.passes_left)
        if not most:
            return
        constant = float(state[_CONSTANT])
        shift = float(state[_SHIFT]) + constant * self.w[-1]
        face = TermsFace(task.rows, terms, a, free, self.w[:-1], constant, shift, task.deadline.check)
        change, way, products = leap(face, most)
        self.leaps.count(step, products)
        if change is not None:
            beta, far = face.beta(change), face.beta(way)
            self.ahead = np.append(self.w[:-1] + face.rows.combined(far), self.w[-1] + constant * float(far.sum()))
            a[face.where] = face.values + change
            self.w[:-1] += face.rows.combined(beta)
            state[_SUM] += float(beta.sum())
            self.w[-1] = constant * state[_SUM]
            self.total = float(state[_SUM])
            state[_GAIN] = terms.gain(a)
            self._take_all_back()
            step.ready = True

    def _move_shift(self) -> None:
        """A step of the multiplier.

        No row responds where all are at a bound, as with a small ``C``. Then an evaluation moves it once, to the
        intercept that it finds the best; after that it grows in the direction of the sum, and is halved between two
        values that give sums of either sign, until rows respond.
        """
        state = self.state
        total, response, used = float(state[_SUM]), float(state[_RESPONSE]), float(state[_SHIFT])
        safe = float(state[_CONSTANT]) ** 2  # the step of the method of multipliers, which always converges
        if response > 0.0:
            self.idle, self.between = 0, (-np.inf, np.inf)
            if total * self.total < 0.0:
                self.stride, self.longest = 0.5 * self.stride, 0.7 * self.longest
            elif abs(total) > 0.8 * abs(self.total):
                self.stride = min(1.5 * self.stride, self.longest)
            state[_SHIFT] += max(self.stride / response, safe) * total
        else:
            if not self.idle and total * self.total < 0.0:  # the last step of rows that responded was too long
                self.stride, self.longest = 0.5 * self.stride, 0.7 * self.longest
            self.idle += 1
            if total != 0.0:
                low, high = (used, self.between[1]) if total > 0.0 else (self.between[0], used)
                # what was on the other side has moved
                if np.isfinite(high - low) and high - low <= _LEVEL * (abs(low) + abs(high)):
                    low, high = (used, np.inf) if total > 0.0 else (-np.inf, used)
                    self.idle = 2
                self.between = low, high
                if np.isfinite(high - low):
                    state[_SHIFT] = 0.5 * (low + high)
                elif self.idle > 1:
                    state[_SHIFT] += safe * 4.0 ** min(self.idle, 30) * total
        self.total, state[_RESPONSE] = total, 0.0

    def _leave_out(self, order: Ints) -> None:
        """The next passes go without rows that showed no promise; the estimate of the gap takes theirs for 0."""
        state = self.state
        self._list(order)
        self.limits[0] = state[_HIGH] if state[_HIGH] > 0.0 else np.inf
        self.limits[1] = state[_LOW] if state[_LOW] < 0.0 else -np.inf
        if not len(self.active):
            self._take_all_back()

    def _choose(self, scores: Reals) -> None:
        """The next passes go over the rows that a visit at these scores would not leave out."""
        slope = self.terms.margin - self.terms.sign * scores[:, None]
        if self.terms.squared:
            slope -= self.terms.ridge * self.a
        idle = (self.a <= 0.0) & (slope < self.limits[1])
        if not self.terms.squared:
            idle |= (self.a >= self.terms.upper) & (slope > self.limits[0])
        np.logical_not(idle.all(1), out=self.visited)
        self._list()
        if not len(self.active):
            self._take_all_back()

    def _take_all_back(self) -> None:
        self.visited[:] = True
        self._list()
        self.limits[:] = np.inf, -np.inf

    def _list(self, order: Ints | None = None) -> None:
        """The next passes go over the rows to be visited, without those of ``order`` that showed no promise."""
        order = self.numbers[:0] if order is None else order
        self.active = self.numbers[: _list_active(order, self.promising, self.visited, self.numbers)]

    def dual(self) -> float:
        self.point, value = self.task.from_dual(self.a)
        self.leaps.judge(value)
        if self.task.intercept == "free" and self.idle == 1:
            self.state[_SHIFT] = self.point[-1] - self.state[_CONSTANT] * self.w[-1]
        others = [self.ahead] if self.ahead is not None else []
        if self.average is not None and self.average.passes:
            others.append(self.average.mean)
        for w in others:
            other = w[: len(self.point)].copy()
            if self.task.intercept == "penalized":
                other[-1] *= self.task.scale
            self.point = self.task.best_between(self.point, other)
        self.ahead = None
        return value

    def weights(self) -> Reals:
        return self.point

    def evaluate(self, w: Reals) -> Evaluation:
        """Slacks and risks; the scores of all rows say which of those left out deserve visits again."""
        if w is self.point and self.options.shrinking:
            self._choose(self.task.scores(w))
        return self.task.evaluate(w)
