"""Active-set method for linear machines of few rows: from a point near the optimum to the optimum itself.

Problem: see :mod:`maxmargin.terms`. A dual point is the optimum of another problem, whose margins are wrong by just so
much that the point suits them; while these errors shrink to 0, all at one rate, the optimum moves along a line from one
place to the next where a variable comes to a bound or leaves one. So it is followed to the problem that was posed, as
Hastie, Rosset, Tibshirani and Zhu (JMLR 2004) follow it over ``C``. Source: Best (1996); Ferreau, Bock and Diehl (Int.
J. Robust Nonlinear Control 2008), the online active set strategy.

From a fit with another ``C`` a dozen places or two are met on small sets; from nothing some tenths of the number of
rows up to a few times as many, and more where labels are noise (measured). They count as passes. Each costs a product
with all rows and ``k^2`` operations, where ``k`` variables are free: no more than there are features, as a rule. What
rounding and a small ridge on the free variables have left is taken away by another round, from the point that was
found; where features are of very unlike scales that may end in a standstill. Memory beyond the data: ``k^2``, and a
dozen numbers for each term.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._compiled import compiled
from ...terms import hinges_only
from ..base import Run, Step
from .growing_factor import append, remove, solve
from .intercept import best_intercept
from .rows import add_row, dot_row, square
from .task import LinearTask

__all__ = ["ActiveSet"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
# Added to the diagonal of free variables, over the largest squared norm of a row: one that serves, others for rounds
# after one in vain.
_RIDGES = 1e-10, 1e-12, 1e-8, 1e-14
_AT_BOUND, _ROUNDING = 1e-9, 1e-14  # variables that are so near to the upper bound, or to 0, are there
_NOTHING = 1e-12  # a slope that is so small beside what it is made of is rounding
_APART = 1e-2  # of the mean margin: errors that nothing else tells apart
_OPERATIONS = 1e7  # between two looks at the clock
_STEPS, _LEAST, _MOST = 20, 4, 100  # steps for as many places as there are rows, and bounds of the places in one
_LONGEST = 20  # places in a round, over the number of variables
# places at one point of the way, and as many times more as variables were free, of which too many leave one by one,
# others coming and going: beyond that it goes round in circles
_STILL, _EACH_FREE = 50, 10
_SLIGHT = 1e-4  # of the mean margin: what that ridge may take from it at the largest bound
_MOST_FREE = 4000  # free variables: a factor of 0.13 GB, and half as much again while it grows
_TOGETHER = 64  # of them become free between two looks at the clock

_LOW, _FREE, _HIGH = 0, 1, 2
# entries of the state of a run: share of the way that is done, number of free variables, intercept, value of the
# constant feature, what is added to the diagonal, sum of beta at the beginning of the way
_DONE, _COUNT, _SHIFT, _CONSTANT, _DAMPING, _EXCESS = range(6)


@compiled
def _enter(data, indices, indptr, width, sign, norm2, ridge, v, free, factor, room, state):
    """Variable ``v`` becomes free."""
    m, k, constant = sign.shape[1], int(state[_COUNT]), state[_CONSTANT]
    sign, ridge = sign.reshape(-1), ridge.reshape(-1)
    row, column = room[0], room[1]
    row[:width] = 0.0
    add_row(data, indices, indptr, width, v // m, sign[v], row)
    for j in range(k):
        u = free[j]
        column[j] = sign[u] * (dot_row(data, indices, indptr, width, u // m, row) + constant * constant * sign[v])
    diagonal = norm2[v // m] + constant * constant + ridge[v] + state[_DAMPING]
    append(factor, k, column, diagonal, state[_DAMPING])
    free[k] = v
    state[_COUNT] = k + 1


@compiled
def _enter_all(data, indices, indptr, width, sign, norm2, ridge, chosen, free, factor, room, state):
    """Variables become free, one after another."""
    for v in chosen:
        _enter(data, indices, indptr, width, sign, norm2, ridge, v, free, factor, room, state)


@compiled
def _follow(
    data, indices, indptr, width, sign, upper, ridge, norm2, equal, a, w, slope, error, change, where, free, factor,
    room, state, most,
):  # fmt: skip
    """Go from place to place, ``most`` of them or until there is no room for another free variable; returns how many.

    ``slope`` is that of the negative dual of the problem whose margins are wrong, 0 for free variables; ``error`` is
    what it has too much at the beginning of the way. ``w`` has the weight of the constant feature last; ``equal`` says
    whether ``sum_i beta_i`` is to be 0 at its end.
    """
    n, m = sign.shape
    flat, top = sign.reshape(-1), upper.reshape(-1)
    constant = state[_CONSTANT]
    turn, move, step = room[1], room[2], room[3]
    for done in range(most):
        k = int(state[_COUNT])
        if k == len(free):
            return done
        for j in range(k):
            turn[j], move[j] = flat[free[j]], error[free[j]]
        shift = 0.0
        if k > 0:
            solve(factor, k, move)
            if equal:
                solve(factor, k, turn)
                over, under = state[_EXCESS], 0.0
                for j in range(k):
                    over += flat[free[j]] * move[j]
                    under += flat[free[j]] * turn[j]
                shift = over / under
                for j in range(k):
                    turned = shift * turn[j]
                    rounding = _NOTHING * (abs(move[j]) + abs(turned))
                    move[j] -= turned
                    if abs(move[j]) <= rounding:  # one variable alone stays where it is
                        move[j] = 0.0
        step[:] = 0.0
        for j in range(k):
            beta = flat[free[j]] * move[j]
            add_row(data, indices, indptr, width, free[j] // m, beta, step)
            step[width] += constant * beta
        rest = 1.0 - state[_DONE]
        far, who = rest, -1
        for j in range(k):
            v = free[j]
            if move[j] < 0.0:
                length = a[v] / -move[j]
            elif move[j] > 0.0:
                length = (top[v] - a[v]) / move[j]
            else:
                continue
            if length < far:
                far, who = length, j
        entering = -1
        offset = constant * step[width] + shift
        for i in range(n):
            score = dot_row(data, indices, indptr, width, i, step) + offset
            for v in range(i * m, i * m + m):
                if where[v] == _FREE:
                    change[v] = 0.0
                    continue
                steep = flat[v] * score - error[v]
                change[v] = steep
                if abs(steep) <= _NOTHING * (abs(score) + abs(error[v])):
                    continue
                if (steep < 0.0) == (where[v] == _LOW):
                    length = max(-slope[v] / steep, 0.0)
                    if length < far:
                        far, entering = length, v
        for j in range(k):
            a[free[j]] += far * move[j]
        for j in range(width + 1):
            w[j] += far * step[j]
        for v in range(len(slope)):
            slope[v] += far * change[v]
        state[_SHIFT] += far * shift
        state[_DONE] = min(state[_DONE] + far, 1.0)
        if entering >= 0:
            slope[entering] = 0.0
            where[entering] = _FREE
            _enter(data, indices, indptr, width, sign, norm2, ridge, entering, free, factor, room, state)
        elif who >= 0:
            v = free[who]
            if move[who] < 0.0:
                a[v], where[v] = 0.0, _LOW
            else:
                a[v], where[v] = top[v], _HIGH
            remove(factor, k, who)
            for j in range(who, k - 1):
                free[j] = free[j + 1]
            state[_COUNT] = k - 1
        else:
            state[_DONE] = 1.0
            return done
    return most


@dataclass(frozen=True)
class ActiveSet:
    """Active-set method, for the hinge, its kin and their squares."""

    @property
    def name(self) -> str:
        """Short name, as accepted by the estimators."""
        return "active_set"

    def start(self, task: LinearTask) -> Run:
        """Begin a run.

        Raises
        ------
        DataError
            For a loss that is no sum of hinges or of their squares.
        """
        return ActiveSetRun(task, starting_point(task))


def starting_point(task: LinearTask) -> Reals:
    """The dual variables to begin with, ``(n, m)``: those at their bound in a fit with another ``C`` stay there."""
    terms = hinges_only(task.terms, task.name, ActiveSet().name)
    if task.moved and not terms.squared and task.warm is not None and task.warm.beta is not None:
        a = np.minimum(np.maximum(terms.sign * (task.growth * task.warm.beta)[:, None], 0.0), terms.upper)
    else:
        a = task.start().copy()
    return terms.balanced(a) if task.intercept == "free" else a


class ActiveSetRun(Run):
    """``a`` are the dual variables, of a problem whose margins are wrong until the end of a round."""

    task: LinearTask
    optimism = 1.0

    def __init__(self, task: LinearTask, start: Reals) -> None:
        self.task = task
        terms = hinges_only(task.terms, task.name, ActiveSet().name)
        self.terms = terms.written_out()
        self.bounded = not terms.squared
        self.state = np.zeros(6)
        if task.intercept == "penalized":
            self.state[_CONSTANT] = task.scale
        self.norm2 = task.rows.squared_norms
        self.size = (float(self.norm2.max()) + self.state[_CONSTANT] ** 2) or 1.0
        if self.bounded:
            slight = _SLIGHT * float(np.abs(self.terms.margin).mean()) / float(self.terms.upper.max())
            self.size = min(self.size, slight / _RIDGES[0]) or self.size
        self.a = np.ascontiguousarray(start)
        self.best = self.a.copy()
        self.point = np.zeros(task.n_weights) if task.warm is None else task.warm.w
        self.rounds, self.places, self.total, self.still, self.free_at_first = 0, 0, 0, 0, 0
        self.base = (0, 0.0)  # places, and the share of the way done, where there were no extra variables any more
        self.lowest, self.in_vain, self.afresh = math.inf, 0, False
        self.w = np.zeros(task.rows.shape[1] + 1)
        self.factor, self.free, self.room = np.zeros((0, 0)), np.zeros(0, np.int64), np.zeros((4, 0))
        self.scores: Reals | None = self._look()  # where the next round is to begin, as long as it has not
        if np.count_nonzero((self.a > 0.0) & (self.a < self.terms.upper)) >= _MOST_FREE:
            self.a[:] = 0.0
            self.scores = self._look()

    def _grow(self, count: int) -> None:
        """Room for more than ``count`` free variables; those that there are stay."""
        size = min(max(2 * count, 64), max(count, _MOST_FREE) + 1, self.a.size + 1)
        factor, free = np.zeros((size, size)), np.zeros(size, np.int64)
        room = np.zeros((4, max(size, self.task.rows.shape[1] + 1)))
        known = int(self.state[_COUNT])
        factor[:known, :known], free[:known] = self.factor[:known, :known], self.free[:known]
        self.factor, self.free, self.room = factor, free, room

    def _look(self) -> Reals:
        """Scores as the point makes them, free of what rounding has added on the way."""
        task, terms, state, a = self.task, self.terms, self.state, self.a
        top, d = terms.upper, task.rows.shape[1]
        a[a <= _ROUNDING * np.minimum(top, a.max())] = 0.0
        full = a >= (1.0 - _AT_BOUND) * top
        a[full] = top[full]
        if task.intercept == "free":
            a[:] = terms.balanced(a)
        beta = terms.beta(a)
        self.w[:d] = task.sums_of(beta)
        state[_EXCESS] = float(beta.sum())
        self.w[d] = state[_CONSTANT] * state[_EXCESS]
        scores = task.products(self.w[:d]) + state[_CONSTANT] * self.w[d]
        state[_SHIFT] = best_intercept(terms, scores) if task.intercept == "free" else 0.0
        return np.asarray(scores + state[_SHIFT])

    def _begin(self, scores: Reals) -> None:
        """A round begins: what is wrong with the margins so that the point suits them."""
        task, terms, state, a = self.task, self.terms, self.state, self.a
        self.where = np.where(a <= 0.0, _LOW, np.where(a >= terms.upper, _HIGH, _FREE)).astype(np.int8).ravel()
        slope = (terms.sign * scores[:, None] - terms.margin + terms.ridge * a).ravel()
        # a little more than that, each another share: no two of the others are to come to their place at once
        spread = task.rng.random(len(slope))
        little = _APART * float(np.abs(terms.margin).mean())
        low = (1.0 + spread) * np.maximum(-slope, 0.0) + little * spread
        high = (1.0 + spread) * np.minimum(-slope, 0.0) - little * spread
        self.error = np.where(self.where == _FREE, -slope, np.where(self.where == _LOW, low, high))
        self.slope = np.where(self.where == _FREE, 0.0, slope + self.error)
        self.change = np.zeros_like(self.slope)
        state[_DONE], state[_DAMPING] = 0.0, _RIDGES[self.in_vain] * self.size
        inside = np.flatnonzero(self.where == _FREE)
        state[_COUNT] = 0.0
        if len(inside) >= len(self.free):
            self._grow(len(inside))
        rows = task.rows
        for first in range(0, len(inside), _TOGETHER):
            task.deadline.check()
            _enter_all(
                rows.data, rows.indices, rows.indptr, rows.shape[1], terms.sign, self.norm2, terms.ridge,
                inside[first : first + _TOGETHER], self.free, self.factor, self.room, state,
            )  # fmt: skip
        self.places, self.still, self.base = 0, 0, (0, 0.0)
        self.free_at_first = len(inside)
        self.rounds += 1

    @property
    def ahead(self) -> float:
        """How many places are still to come in this round, as those behind let expect."""
        (places, done), now = self.base, float(self.state[_DONE])
        extra = self._extra
        if extra > 0.0:
            return extra
        return (self.places - places) * (1.0 - now) / (now - done) if now > done else math.inf

    @property
    def _extra(self) -> float:
        """Free variables beyond as many as there are weights: of hinges they find a bound before anything else."""
        return self.state[_COUNT] - self.task.n_weights if self.bounded else 0.0

    def advance(self, places: int = 0) -> Step:
        task, terms, state, rows = self.task, self.terms, self.state, self.task.rows
        if self.scores is not None:
            self._begin(self.scores)
            self.scores = None
        places = places or min(max(rows.shape[0] // _STEPS, _LEAST), _MOST)
        most, done, before = int(max(min(places, self.passes_left), 1)), 0, float(state[_DONE])
        while done < most and state[_DONE] < 1.0 and state[_COUNT] < _MOST_FREE:
            task.deadline.check()
            if state[_COUNT] == len(self.free):
                self._grow(int(state[_COUNT]))
            chunk = int(min(max(_OPERATIONS / (rows.entries + state[_COUNT] ** 2 + 1.0), 1.0), most - done))
            done += _follow(
                rows.data, rows.indices, rows.indptr, rows.shape[1], terms.sign, terms.upper, terms.ridge, self.norm2,
                task.intercept == "free", self.a.reshape(-1), self.w, self.slope, self.error, self.change, self.where,
                self.free, self.factor, self.room, state, chunk,
            )  # fmt: skip
        self.places, self.total = self.places + done, self.total + done
        self.still = self.still + done if state[_DONE] <= before + _NOTHING else 0
        if self._extra > 0.0:
            self.base = self.places, float(state[_DONE])
        # another round has other errors to begin with
        if self.still > _STILL + _EACH_FREE * self.free_at_first and done < self.passes_left:
            return self._end(done + 1)
        on_the_way, passes = state[_DONE] < 1.0, max(done, 1)
        if on_the_way or (done and done >= self.passes_left):
            left = 1.0 - float(state[_DONE])
            step = self._step(passes, self._scores_on_the_way(left), left)
            step.settled = on_the_way and (state[_COUNT] >= _MOST_FREE or self.places > _LONGEST * self.a.size)
            return step
        return self._end(done + 1)

    def _end(self, passes: int) -> Step:
        """A round is over."""
        self.scores = self._look()
        step = self._step(passes, self.scores, 1.0)
        step.ready = True
        if not step.gap < 0.5 * self.lowest:
            self.in_vain += 1
        if step.gap < self.lowest:
            self.lowest, self.best = step.gap, self.a.copy()
        else:
            self.a[:] = self.best
            self.scores = self._look()
            step.passes += 1
        if self.in_vain >= len(_RIDGES):
            if self.afresh or not self.a.any():
                step.settled = True
            else:  # the start was a bad one
                self.afresh, self.in_vain = True, 0
                self.a[:] = 0.0
                self.scores = self._look()
        return step

    def _scores_on_the_way(self, left: float) -> Reals:
        terms = self.terms
        slope = (self.slope - left * self.error).reshape(terms.sign.shape)[:, 0]
        return np.asarray(terms.sign[:, 0] * (slope + terms.margin[:, 0] - terms.ridge[:, 0] * self.a[:, 0]))

    def _step(self, passes: int, scores: Reals, left: float) -> Step:
        """``left`` of the sum of beta at the beginning of the round is still to go."""
        penalty = 0.5 * float(square(self.w))
        primal, dual = penalty + float(self.terms.cost(scores).sum()), self.terms.gain(self.a) - penalty
        if self.task.intercept == "free":
            dual -= abs(self.state[_SHIFT] * left * self.state[_EXCESS])
        if not math.isfinite(primal - dual):  # where rounding has taken over
            return Step(passes, math.inf, 0.0)
        return Step(passes, float(max(primal - dual, 0.0)), float(dual))

    def dual(self) -> float:
        self.point, value = self.task.from_dual(self.a)
        return value

    def weights(self) -> Reals:
        return self.point
