"""Coordinate ascent for several classes with free intercepts, which are multipliers of the dual's equations.

Source: the method of multipliers (Hestenes 1969), as for two classes in
:mod:`~maxmargin.solvers.linear.coordinate_ascent`. The constant feature, with a small value ``u``, holds the excess of
every class near 0 (see :mod:`~maxmargin.solvers.linear.biases`), and after each pass, later on after several, the
multipliers move against what is left of it, by what the rows say about their response: the sum of
``u_i^2 / |x_i|^2 (1 - 1 / m_i)`` over the rows with dual weight on this class and on ``m_i - 1`` others, as if rows did
not share features. (The matrix of the responses of all classes to each other gained nothing, measured on text and on
dense rows.)

The multipliers are not the best intercepts for the weights at hand, and on text a few passes from the optimum that is
most of the gap: an evaluation takes each intercept in turn to its best value (measured: half the passes). For given
scores all of them together solve a linear program, which is the multiclass machine with the constant feature alone, so
its interior point method solves that too. It is called where an evaluation still finds a gap that the passes did not
see, as with a small ``C``: all rows sit in corners of their simplices then, and none responds. The dual point of that
program is where a step of Frank and Wolfe's method for the whole problem goes to; the best such step is taken where it
closes half of the gap.
Memory beyond that of coordinate ascent: a dozen numbers for each row and class while that program is solved.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..._products import inner
from ..base import Step
from .crammer_singer import GAIN, CrammerSinger, CrammerSingerRun, MulticlassTask, respond
from .multiclass_interior_point import MulticlassInteriorRun
from .rows import Rows

__all__ = ["FreeRun", "best_biases", "objective_at_zero"]

Reals = NDArray[np.float64]
_RESPONDS, _FASTEST = 1e-9, 1e15  # of the largest response
_UNSEEN, _CLOSED = 3.0, 0.5
_STEPS, _BETWEEN = 10, 8
_ITERATIONS = 50
_SWEEPS = 2
_SETTLED = 0.01  # of the gap


def best_biases(task: MulticlassTask, scores: Reals, enough: float) -> tuple[Reals, Reals]:
    """The best weights of the constant feature beside given scores, and the dual point that says so.

    Parameters
    ----------
    task : MulticlassTask
        With free intercepts.
    scores : float64 array of shape (n, K)
        Without them.
    enough : float
        By how much the sum of the losses may be above its minimum.

    Returns
    -------
    biases : float64 array of shape (K,)
        Of sum 0.
    a : float64 array of shape (n, K)
        All its entries are positive.
    """
    cost = scores - scores[task.examples, task.target][:, None]
    cost += task.costs[task.target]
    only = MulticlassTask(
        Rows(task.constant[:, None]), task.target, task.costs, task.C, task.weight, task.tol, task.rng, free=True
    )
    run = MulticlassInteriorRun(only, cost)
    for _ in range(_ITERATIONS):
        if run.advance().gap <= enough:
            break
    return run.W[0] - run.W[0].mean(), run.a


def better_biases(task: MulticlassTask, scores: Reals, biases: Reals) -> Reals:
    """Weights of the constant feature that are no worse beside given scores: each in turn the best one.

    The losses as a function of one of them are convex and piecewise linear, and a row bends them once, where its class
    becomes the highest: the minimum is a weighted quantile of these places.

    Parameters
    ----------
    task : MulticlassTask
        With free intercepts.
    scores : float64 array of shape (n, K)
        Without them.
    biases : float64 array of shape (K,)
        To begin with.
    """
    u, K, biases = task.constant, len(task.costs), biases.copy()
    weight = task.c * u
    given = np.bincount(task.target, weight, K)
    wanted = scores - scores[task.examples, task.target][:, None]
    wanted += task.costs[task.target]
    wanted += u[:, None] * biases
    for _ in range(_SWEEPS):
        following = np.maximum.accumulate(wanted[:, ::-1], axis=1)[:, ::-1]  # the highest from each class on
        others, moved = np.full(len(u), -np.inf), False
        for k in range(K):
            if k + 1 < K:
                place = (np.maximum(others, following[:, k + 1]) - wanted[:, k]) / u
            else:
                place = (others - wanted[:, k]) / u
            order = np.argsort(place)
            first = int(np.searchsorted(np.cumsum(weight[order]), given[k]))
            step = float(place[order[min(first, len(order) - 1)]])
            if step != 0.0:
                wanted[:, k] += step * u
                biases[k] += step
                moved = True
            np.maximum(others, wanted[:, k], out=others)
        if not moved:
            break
    return np.asarray(biases - biases.mean())


def objective_at_zero(task: MulticlassTask) -> float:
    """The objective of weights of 0 with the best intercepts, within a hundredth of the tolerance."""
    K, w = len(task.costs), np.zeros(task.n_weights)
    without = task.objective(w)
    # rows of one class and one constant are one row then: a program of a few
    same, at = np.unique(np.column_stack([task.target, task.constant]), axis=0, return_inverse=True)
    joint = MulticlassTask(
        Rows(np.ascontiguousarray(same[:, 1:])), same[:, 0].astype(np.int64), task.costs, task.C,
        np.asarray(np.bincount(at.reshape(-1), task.weight), np.float64), task.tol, task.rng, free=True,
    )  # fmt: skip
    w[-K:] = best_biases(joint, np.zeros((len(same), K)), 0.01 * task.tol * without)[0]
    return min(without, task.objective(w))


class FreeRun(CrammerSingerRun):
    """One run; the weights of the constant feature are ``shift``, and the excess that is left on top of it."""

    def __init__(self, options: CrammerSinger, task: MulticlassTask) -> None:
        super().__init__(options, task)
        self.shift, self.before = np.zeros(len(task.costs)), np.zeros(len(task.costs))
        self.stride, self.longest, self.idle = 1.0, 5.0, np.ones(len(task.costs))
        self.passes, self.next_look, self.seen = 0, 1, 0.0
        self.size = task.constant**2 / task.rows.squared_norms
        self.largest = float(np.sqrt(self.size.max()))  # share of the constant in the length of a row
        self.highest, self.borrowed = -np.inf, False
        self.settled = False  # whether the multipliers hardly matter to the gap any more

    @property
    def biases(self) -> Reals:
        """What the kernel takes for the weights of the constant feature; a view."""
        return self.W[-1] if self.task.rows.sparse else self.W[:, -1]

    def advance(self) -> Step:
        if self.borrowed:  # the dual point for a later start is the best one, which need not be the last
            assert self.task.last is not None
            self.task.last, self.borrowed = (self.task.last[0].copy(), self.task.last[1]), False
        step = super().advance()
        self.passes += 1
        excess = self.biases - self.shift
        # of the problem with a penalty on the excess, and the shift as its price
        square = inner(self.W.ravel(), self.W.ravel()) - inner(self.biases, self.biases) + inner(excess, excess)
        step.dual = float(self.state[GAIN]) - 0.5 * square - inner(self.shift, excess)
        price = abs(inner(self._move_shift(excess), excess))  # the visits did not see that the sums are not 0
        step.gap += price
        self.settled = price <= _SETTLED * step.gap
        self.seen = step.gap
        return step

    def _at_once(self, chosen: int) -> int:
        """One pass, as long as the multipliers have far to go: they move between two of them."""
        return super()._at_once(chosen) if self.settled else 1

    def _move_shift(self, excess: Reals) -> Reals:
        """A step of the multipliers; returns it.

        1 is the pace of the method of multipliers, which always converges. That of classes without response doubles
        until their excess turns.
        """
        response = np.zeros_like(excess)
        respond(self.a, self.visited, self.size, response)
        responds = response > _RESPONDS * response.max()
        if inner(excess, self.before) < 0.0:
            self.stride, self.longest = 0.5 * self.stride, 0.7 * self.longest
        elif responds.any() and inner(excess, excess) > 0.64 * inner(self.before, self.before):
            self.stride, self.longest = min(1.5 * self.stride, self.longest), 1.1 * self.longest
        self.idle = np.where(responds | (excess * self.before < 0.0), 1.0, np.minimum(2.0 * self.idle, _FASTEST))
        pace = np.where(responds, np.maximum(self.stride / np.where(responds, response, 1.0), 1.0), self.idle)
        change: Reals = pace * excess
        change -= change.sum() / len(change)
        self.shift = self.shift + change
        self.biases[:] += change
        self.before = excess
        if float(change.max() - change.min()) * self.largest > self.limit:  # further than what was left out was away
            self._take_all_back()
        return change

    def dual(self) -> float:
        task = self.task
        a, point, value = task.from_dual(self.a, self.shift)
        self.leaps.judge(value)
        self.point = point
        gap = task.objective(point) - value
        if gap > task.tol * (gap + value):
            # those of the passes, which balancing moves away from their optimum until the sums are 0
            near = self._with_biases(self.W if task.rows.sparse else self.W.T)
            for W in self._others():
                near = task.best_between(near, self._with_biases(W))
            better = task.objective(near) - value
            if better < gap:
                self.point, gap = near, better
        if gap > _UNSEEN * max(task.tol * (gap + value), self.seen) and self.passes >= self.next_look:
            value = self._look(a, point, value)
            self.next_look = self.passes + max(_BETWEEN, self.passes // 2)
        if value >= self.highest:
            task.last, self.highest, self.borrowed = (self.a, self.shift), value, True
        return value

    def _with_biases(self, W: Reals) -> Reals:
        """Weights, ``(d, K)``, as a vector, with better intercepts."""
        task, K = self.task, len(self.task.costs)
        w = np.array(W, order="C").reshape(-1)
        w[-K:] = 0.0
        w[-K:] = better_biases(task, task.rows.scores(w.reshape(-1, K)), self.shift)
        return w

    def _look(self, a: Reals, w: Reals, value: float) -> float:
        """The best intercepts for the weights ``w`` of a feasible point ``a``, and steps towards where they point to.

        Returns
        -------
        float
            The value of the point reached.
        """
        task, K = self.task, len(self.task.costs)
        for _ in range(_STEPS):
            primal = task.objective(self.point)
            w = w.copy()
            w[-K:] = 0.0
            scores = task.rows.scores(w.reshape(-1, K))
            biases, far = best_biases(task, scores, 0.02 * task.tol * primal)
            w[-K:] = biases
            gap = task.objective(w) - value
            self.point = min(self.point, w, key=task.objective)
            far, far_w, _ = task.from_dual(far, biases)
            square = 2.0 * task.penalty(far_w - w)
            step = min(1.0, gap / max(square, 1e-300))
            if not step * gap - 0.5 * step * step * square > _CLOSED * gap:
                break
            a, w, better = task.from_dual(a + step * (far - a), biases)
            if not better > value:
                break
            value = better
            self.begin_at(a, task.weights_of(a), biases)
            self.point = min(self.point, w, key=task.objective)
            gap = task.objective(self.point) - value
            if gap <= task.tol * (gap + value):
                break
        return value

    def begin_at(self, a: Reals, W: Reals, biases: Reals) -> None:
        super().begin_at(a, W, biases)
        self.shift = biases.copy()
        self.stride, self.idle, self.before = 1.0, np.ones_like(self.shift), np.zeros_like(self.shift)
