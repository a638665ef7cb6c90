"""Primal-dual interior point for linear machines: a few dozen iterations whatever C and the scaling of the features.

Problem: see :mod:`maxmargin.terms`. Source: Mehrotra (SIAM J. Optim. 1992), predictor and corrector, on the dual, whose
Hessian ``X X^T`` has low rank: every step solves one system of the size of the weights (Fine and Scheinberg, JMLR 2001;
Ferris and Munson, SIAM J. Optim. 2002). With multipliers ``l`` of ``a >= 0`` and ``u`` of ``a <= upper``, and
``theta_v = ridge_v + l_v / a_v + u_v / (upper_v - a_v)``, the system is
``(I + X^T D X) dw = rhs`` with ``D_i = sum_v 1 / theta_v``; a free intercept adds a row and a column without the
identity.
Cost of an iteration: ``n d^2`` for the matrix, ``d^3 / 3`` to factor it, six products with ``X`` in five passes. Memory
beyond the data: ``d^2``, and a dozen numbers for each term.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._products import inner
from ...errors import DataError
from ...terms import hinges_only
from ..base import FINEST, Run, Step, WarmStart
from .intercept import best_intercept
from .normal_equations import normal_equations, to_zero
from .selected_rows import some_rows
from .task import LinearTask

__all__ = ["InteriorPoint", "InteriorRun"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
MOST_WEIGHTS = 10_000  # matrices of 0.8 GB; with 18,806 the factorisation of OpenBLAS crashes in two threads
# how far to the bounds a step goes, and as long as products have been large: variables at their bounds make the next
# steps short (measured, where one class is rare: a tenth fewer iterations, and up to a third)
_TO_BOUNDARY, _CAREFULLY, _LARGE = 0.995, 0.9, 0.1
_FAR = 0.1
# of a warm start: sum of the products of variables and multipliers over the objective (measured)
_LEVEL = 3.0
# Iterations after which a start near good weights has to be worth it: mostly one or two halve the products, but where
# rows of great weight are told apart too late, steps from there can be short for ever (measured).
_TRIED = 8
# Iterations without a smaller gap, once it has been so small: what rounding has taken hardly any further one brings
# back; ten times as many where the tolerance is not that many times smaller.
_IN_VAIN, _NEAR_THE_END, _HOPELESS = 40, 1e-4, 100.0
# of a crossover: shares to be tried, and which part of the tolerance it may cost; rows whose bound is so small beside
# the largest variable are light
_SHARES, _SHARE, _LIGHT = (1.0, 1e-2, 1e-4), 0.8, 1e-2
_MAYBE_BEST = 1e-7  # a gap from which on each smaller one is looked at: it may be the last


@dataclass(frozen=True)
class InteriorPoint:
    """Primal-dual interior point."""

    @property
    def name(self) -> str:
        """Short name, as accepted by the estimators."""
        return "interior_point"

    def start(self, task: LinearTask) -> Run:
        """Begin a run.

        Raises
        ------
        DataError
            For a loss that is no sum of hinges or of their squares, and for so many features that a matrix of them
            would not fit in memory.
        """
        if task.n_weights > MOST_WEIGHTS:
            raise DataError(
                f"{task.name}: {self.name} is for up to {MOST_WEIGHTS} features; there are {task.rows.shape[1]}: use "
                "solver='coordinate_ascent'"
            )
        from .band import BandRun, suits

        return BandRun(task) if suits(task) else InteriorRun(task)


class InteriorRun(Run):
    """Its ``a`` are the dual variables, ``room`` what is left to their bound, ``low`` and ``high`` the multipliers."""

    task: LinearTask

    def __init__(self, task: LinearTask, level: float = _LEVEL) -> None:
        self.task = task
        self.terms = terms = hinges_only(task.terms, task.name, InteriorPoint().name)
        self.bounded = not terms.squared
        self.linear = np.zeros(task.n_weights)
        if len(task.thresholds):
            self.linear[-len(task.thresholds) :] = task.thresholds
        # warm weights of objective 0 are on no central path
        cold = task.warm is None or len(task.thresholds) > 0 or task.objective(task.warm.w) <= 0.0
        self.level = 0.0 if cold else level  # of a start at given weights
        if cold:
            self._start_cold()
        else:
            assert task.warm is not None
            self._start_at(task.warm.w.copy(), level)
        self.consistent = cold  # whether the weights are those of the dual point, up to rounding
        self.point, self.primal, self.gap, self.steps = self.w, 0.0, np.inf, 0
        self.lower = np.inf  # the dual value of the iteration, where it is known without another look
        # of variables and multipliers, their sum over the objective: how good the weights are, long before the gap,
        # which waits for a dual point of the same weights
        self.products = np.inf
        self.near = len(self.task.thresholds) > 0  # whether steps go all but to the bounds
        self.found: Reals | None = None  # the dual variables of the best bound at the last look
        self.least, self.since = np.inf, 0  # the smallest gap of an iteration, and how many there were since

    def _start_cold(self) -> None:
        self.a, self.w = self._start()
        self.f = self.task.scores(self.w)
        slope = self._slope()
        level = max(3.0, float(np.abs(slope).mean()))  # measured: fewer iterations than with less or more
        self.low = np.maximum(slope, 0.0) + level
        self.high = np.maximum(-slope, 0.0) + level if self.bounded else np.zeros_like(self.a)
        self.room = self.terms.upper - self.a  # kept apart: near the bound the difference would be rounding

    def _start(self) -> tuple[Reals, Reals]:
        """The best multiple of one simple point: scores of a sensible size whatever the features are."""
        terms, rows = self.terms, self.task.rows
        a = 0.5 * terms.upper if self.bounded else 0.5 / terms.ridge
        if self.task.intercept == "free":
            a = terms.balanced(a)
        if len(self.task.thresholds):
            return self._start_with_totals(a)
        w = rows.combined(terms.beta(a))
        square = inner(w, w) + inner((terms.ridge * a).ravel(), a.ravel())
        linear = inner(terms.margin.ravel(), a.ravel())
        factor = min(max(linear / max(square, 1e-300), 1e-6), 1.0)
        out = np.zeros(self.task.n_weights)
        out[: len(w)] = factor * w
        return factor * a, out

    def _start_at(self, w: Reals, level: float) -> None:
        """The point of the central path that the scores imply: optimal but for ``w``, which is not that of ``a`` yet.

        ``level`` is the sum of the products of variables and multipliers over the objective.

        Source: Yildirim and Wright (SIAM J. Optim. 2002): a warm start has to be far enough from the bounds.
        """
        terms = self.terms
        self.w, self.f = w, self.task.scores(w)
        slack = terms.margin - terms.sign * self.f[:, None]
        mu = level * self.task.objective(w) / (slack.size * (2 if self.bounded else 1))
        # solutions of quadratic equations, the larger first: the other as a difference would be rounding
        if self.bounded:
            unit = terms.upper / mu
            larger = (2.0 + unit * np.abs(slack) + np.hypot(unit * slack, 2.0)) / (2.0 * unit)
            smaller = larger / (unit * larger - 1.0)
            self.low, self.high = np.where(slack > 0.0, [smaller, larger], [larger, smaller])
            self.a, self.room = mu / self.low, mu / self.high
        else:
            larger = 0.5 * (np.abs(slack) + np.hypot(slack, 2.0 * np.sqrt(terms.ridge * mu)))
            smaller = terms.ridge * mu / larger
            self.low, scaled = np.where(slack > 0.0, [smaller, larger], [larger, smaller])
            self.a, self.high, self.room = scaled / terms.ridge, np.zeros_like(slack), terms.upper

    def _start_with_totals(self, a: Reals) -> tuple[Reals, Reals]:
        """Sums are right from the beginning, as far as the box allows."""
        terms, rows, totals = self.terms, self.task.rows, self.task.thresholds
        sums = rows.combined(terms.beta(a))[-len(totals) :]
        shares = np.ones(rows.shape[1])
        shares[-len(totals) :] = totals / sums
        shares[: -len(totals)] = 0.0
        a = np.minimum(
            a * rows.scores(shares)[:, None], 0.99 * terms.upper
        )  # inside the box, if need be with other sums
        w = rows.combined(terms.beta(a))
        w[-len(totals) :] = 0.0
        return a, w

    def _slope(self) -> Reals:
        """Derivative of the negative dual, ``(n, m)``."""
        terms = self.terms
        out = terms.sign * self.f[:, None]
        out -= terms.margin
        if not self.bounded:
            out += terms.ridge * self.a
        return out

    def advance(self) -> Step:
        terms = self.terms
        room = self.room
        with np.errstate(over="ignore"):  # of a weight next to nothing: its row moves by 1 / inf
            theta = terms.ridge + self.low / self.a
            if self.bounded:
                theta += self.high / room
        inverse = 1.0 / theta
        del theta
        solve = self._system(inverse.sum(1))
        residual = self._slope() - self.low + self.high

        def direction(low: Reals, high: Reals, *, fresh: bool = False) -> tuple[Reals, Reals, Reals, Reals, Reals]:
            """Step towards ``a * l = low`` and ``room * u = high`` (both given as what they lack).

            ``fresh`` computes the scores of the weights too, while the rows are at hand.
            """
            wanted = residual - low / self.a
            if self.bounded:
                wanted += high / room
            wanted *= inverse
            dw = solve((terms.sign * wanted).sum(1))
            if fresh:
                df, self.f = self._both_scores(dw)
            else:
                df = self.task.scores(dw)
            da = -(wanted + terms.sign * df[:, None] * inverse)
            dlow = (low - self.low * da) / self.a
            dhigh = (high + self.high * da) / room if self.bounded else self.high
            return dw, df, da, dlow, dhigh

        count = self.a.size * (2 if self.bounded else 1)
        mu = self._products(self.a, self.low, room, self.high) / count
        at_low, at_high = -self.a * self.low, -room * self.high if self.bounded else self.high
        _, _, da, dlow, dhigh = direction(at_low, at_high)
        primal, dual = self._lengths(da, dlow, dhigh, room)
        ahead = inner((self.a + primal * da).ravel(), (self.low + dual * dlow).ravel())
        if self.bounded:
            ahead += inner((room - primal * da).ravel(), (self.high + dual * dhigh).ravel())
        ahead /= count
        # far below the tolerance the systems only lose accuracy
        target = max(mu * (ahead / mu) ** 3, 0.01 * max(self.task.tol, FINEST) * abs(self.primal) / count)
        at_low += target
        at_low -= da * dlow
        if self.bounded:
            at_high += target
            at_high += da * dhigh
        del da, dlow, dhigh  # before the next ones are made
        # at a large C an error of 1e-12 in the scores is seen
        dw, df, da, dlow, dhigh = direction(at_low, at_high, fresh=self.gap <= _FAR or self.steps % 5 == 0)
        del at_low, at_high
        self.near |= self.products <= _LARGE
        share = _TO_BOUNDARY if self.near else _CAREFULLY
        primal, dual = (min(1.0, share * step) for step in self._lengths(da, dlow, dhigh, room))
        self.a += primal * da
        if self.bounded:
            self.room -= primal * da
        self.low += dual * dlow
        if self.bounded:
            self.high += dual * dhigh
        self.w += dual * dw
        self.f = self.f + dual * df
        self.steps += 1
        step = self._figures()
        self.products = self._products(self.a, self.low, self.room, self.high) / max(abs(self.primal), 1e-300)
        if self.steps == _TRIED and 0.0 < self.level < _LEVEL and self.products > 0.5 * self.level:
            self._start_cold()
            self.consistent, self.level = True, 0.0
        better = abs(self.gap) < self.least
        self.since = 0 if better else self.since + 1
        self.least = min(self.least, abs(self.gap))
        step.ready = better and self.least <= _MAYBE_BEST
        in_vain = _IN_VAIN * (1 if self.least > _HOPELESS * self.task.tol else 10)
        step.settled = self.since >= in_vain and self.least <= _NEAR_THE_END
        return step

    def _products(self, a: Reals, low: Reals, room: Reals, high: Reals) -> float:
        value = inner(a.ravel(), low.ravel())
        return value + (inner(room.ravel(), high.ravel()) if self.bounded else 0.0)

    def on_fewer_rows(self, task: LinearTask, kept: Ints) -> InteriorRun:
        """The same iteration on a smaller problem: first some of the rows, then others, as their scores imply."""
        task.warm = WarmStart(self.w)
        out = InteriorRun(task, self.products * task.rows.shape[0] / self.task.rows.shape[0])
        for mine, its in ((self.a, out.a), (self.room, out.room), (self.low, out.low), (self.high, out.high)):
            its[: len(kept)] = mine[kept]
        return out

    def _both_scores(self, dw: Reals) -> tuple[Reals, Reals]:
        """Scores of a step and of the weights, in one pass over the rows."""
        task, d = self.task, self.task.rows.shape[1]
        both = task.rows.scores(np.column_stack([dw[:d], self.w[:d]]))
        step, scores = both[:, 0].copy(), both[:, 1].copy()
        if task.intercept != "none":
            step += dw[d]
            scores += self.w[d]
        return step, scores

    def _figures(self) -> Step:
        task = self.task
        self.primal = primal = task.penalty(self.w) + float(self.terms.cost(self.f).sum())
        a = self.terms.balanced(self.a) if task.intercept == "free" else self.a
        w = self.w if self.consistent else task.weights_of(self.terms.beta(a))
        dual = self.terms.gain(a) - task.penalty(w) + inner(self.linear, self.w)
        self.gap = (primal - dual) / max(abs(primal), 1e-300)
        self.lower = dual if self.consistent else np.inf
        return Step(1, max(primal - dual, 0.0), dual)

    def _system(self, weights: Reals) -> Callable[[Reals], Reals]:
        """A function that solves for ``dw`` from ``rho``, the rows' part of the right-hand side."""
        task = self.task
        system = normal_equations(task.rows, weights, task.ridge, task.deadline.check)
        beta = self.terms.beta(self.a)

        def solve(rho: Reals) -> Reals:
            # not -X^T rho alone: what rounding took from w = X^T beta in earlier steps is given back
            return system(task.combined(beta - rho) - task.ridge * self.w - self.linear)

        return solve

    def _lengths(self, da: Reals, dlow: Reals, dhigh: Reals, room: Reals) -> tuple[float, float]:
        primal = min(to_zero(self.a, da), to_zero(room, -da))
        dual = min(to_zero(self.low, dlow), to_zero(self.high, dhigh) if self.bounded else 1.0)
        return primal, dual

    def dual(self) -> float:
        """Of the weights of the dual points and those of the iteration, the best ones are returned.

        The dual point is one of few rows, where that is as good.
        """
        task = self.task
        if not self.steps and task.warm is not None and task.warm.beta is not None:  # maybe good enough as it is
            self.point, value = task.from_dual(task.start())
            return value
        enough = min(self.lower, self.primal - _SHARE * task.tol * abs(self.primal))
        first, value = self.w, -np.inf
        for a in self.crossings():
            self.found = a
            first, value = task.from_dual(a)
            if value >= enough:
                break
        else:
            inside = _one_sided(self.a, self.terms.sign)
            other, better = task.from_dual(inside)
            if better > value:
                first, value, self.found = min(first, other, key=task.objective), better, inside
        second = self.w.copy()
        if task.intercept == "free":
            second[-1] = 0.0
            second[-1] = best_intercept(self.terms, task.scores(second))
        self.point = min(first, second, key=task.objective)
        return value

    def crossings(self) -> Iterator[Reals]:
        """Dual points of few rows, those of the fewest first; none where nearly all variables are inside still."""
        if self.gap <= _FAR:
            yield from map(self._crossed_over, _SHARES)

    def _crossed_over(self, share: float) -> Reals:
        """The dual variables, those on a bound that are nearer to it than ``share`` of what their multipliers are to 0.

        Of rows of little weight multipliers say nothing yet; the sign of the slope does. The others, few as a rule,
        make up for what that does to the weights and to the sum of beta: they move as in a step of the iteration. Most
        often the gap falls to a tenth of what it was (measured).

        Source: what Megiddo (ORSA J. Comput. 1991) calls a crossover, in one step and without a basis.
        """
        task, terms = self.task, self.terms
        a = self.a.copy()
        light = terms.upper < _LIGHT * a.max()
        scale = max(float(self.low.max(where=~light, initial=0.0)), float(self.high.max(where=~light, initial=0.0)))
        share /= max(scale, 1e-300)
        rising = self.low > self.high
        a[np.where(light, rising, a / np.minimum(terms.upper, a.max()) < share * self.low)] = 0.0
        if self.bounded:
            full = np.where(light, ~rising, self.room / terms.upper < share * self.high)
            a[full] = terms.upper[full]
        inside = (a > 0.0) & (a < terms.upper)
        places = np.flatnonzero(inside.any(1))
        if not len(places):
            return a
        theta = terms.ridge[places] + self.low[places] / self.a[places]
        if self.bounded:
            theta += self.high[places] / self.room[places]
        free = np.where(inside[places], 1.0 / theta, 0.0)
        rows = some_rows(task.rows, places)
        dw = normal_equations(rows, free.sum(1), task.ridge)(task.combined(terms.beta(a - self.a)))
        d = rows.shape[1]
        scores = rows.scores(dw[:d]) + (dw[d] if task.intercept != "none" else 0.0)
        moved = a[places] - terms.sign[places] * free * scores[:, None]
        a[places] = np.clip(moved, 0.0, terms.upper[places], out=moved)
        return _one_sided(a, terms.sign)

    def weights(self) -> Reals:
        return self.point


def _one_sided(a: Reals, sign: Reals) -> Reals:
    """Dual variables without what the two sides of a tube have in common, which only costs."""
    if a.shape[1] == 1:
        return a
    return np.asarray(a - np.where(sign[:, 0] == sign[:, 1], 0.0, a.min(1))[:, None])
