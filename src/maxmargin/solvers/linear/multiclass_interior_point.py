"""Primal-dual interior point for the multiclass machine of Crammer and Singer: few iterations whatever C and scales.

Problem and dual: see :mod:`~maxmargin.solvers.linear.crammer_singer`. Source: Mehrotra (SIAM J. Optim. 1992), predictor
and corrector, on the dual. With the scores ``f_ik = <w_k, x_i>``, the multiplier ``t_i`` of ``sum_k a_ik = c_i`` (the
largest of ``cost_ik + f_ik`` at the optimum) and ``l_ik`` of ``a_ik >= 0``, an optimum has

    cost_ik + f_ik + l_ik = t_i,   a_ik l_ik = 0,   w_k = sum_i (c_i [k = y_i] - a_ik) x_i.

Free intercepts are weights whose sum on the right has to be 0 instead.

A step eliminates all but the weights: with ``r_ik = a_ik / l_ik`` and ``D_i = diag(r_i) - r_i r_i^T / sum_k r_ik`` it
solves ``dW + X^T [D_i (x_i dW)]_i = rhs``. What all classes have in common is 0 in weights and right-hand side, but the
sums see nothing of it, and in float64 their rounding would drown what the penalty says; so the system is one of the
differences ``u_k = dw_k - dw_K`` from the last class: of ``D_i`` without that class, and ``|dW|^2 = sum_k |u_k|^2 -
|sum_k u_k|^2 / K``. The run begins on the central path of weights of 0, or of others that are known: scores, products
and the sums of ``a_i`` are right there, only the weights are not those of ``a`` yet, of which every step mends its
share. (Measured on real data: about a quarter fewer iterations than from weights that are, whose products differ by
orders of magnitude; as many where rows are of very different length. From weights of coordinate ascent: half as many
to as many.)
Where features outnumber rows it solves in a basis of the rows (:mod:`.row_basis`): ``d`` is at most ``n`` then.
Cost of an iteration: ``n d^2 K (K - 1) / 2`` for the matrix, ``(d (K - 1))^3 / 3`` for its factor. Memory beyond the
data: ``(d (K - 1))^2``, and twelve numbers for each row and class.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._compiled import compiled
from ..._products import inner
from ...errors import DataError
from ..base import FINEST, Run, Step
from .biases import response
from .crammer_singer import MulticlassTask
from .normal_equations import solver_of, to_zero
from .row_basis import basis_of, shortest

__all__ = ["MOST_WEIGHTS", "MulticlassInteriorPoint"]

Reals = NDArray[np.float64]
MOST_WEIGHTS = 10_000  # matrices of 0.8 GB
_TO_BOUNDARY = 0.995
_FAR = 0.1
# of the start: sum of the products over the losses there (measured); steps of a root, and how near it is to be
_LEVEL, _ROOT, _CLOSE = 3.0, 100, 1e-12
# the best multiple of a simple dual point up to which the run begins near it, and how far inside: from a hundredth no
# step reaches the smallest ones, which begin at the root
_REMOTE, _INSIDE, _TINY = 1e-30, 0.01, 1e-50
# steps without a gap that is a tenth smaller: a few, unless rounding is all there is; fewer where the gap is that asked
# for, but not that of the dual point made feasible
_PATIENCE, _AT_THE_END, _WORTH = 400, 100, 0.9


@dataclass(frozen=True)
class MulticlassInteriorPoint:
    """Primal-dual interior point for several classes at once."""

    @property
    def name(self) -> str:
        """Short name, as accepted by the estimators."""
        return "interior_point"

    def start(self, task: MulticlassTask) -> Run:
        """Begin a run.

        Raises
        ------
        DataError
            For so many weights that a matrix of them would not fit in memory.
        """
        K = len(task.costs)
        if (n_weights := shortest(task.rows, task.free) * K) > MOST_WEIGHTS:
            raise DataError(
                f"{task.name}: {self.name} is for up to {MOST_WEIGHTS} weights; those of {K} classes are {n_weights}: "
                "use solver='coordinate_ascent'"
            )
        return MulticlassInteriorRun(task)


class _Best(NamedTuple):
    """The point of the smallest gap, and at which step it was met."""

    gap: float
    dual: float
    at: int
    a: Reals
    W: Reals


class MulticlassInteriorRun(Run):
    """``cost`` are those of every row and class, where they are other than the task says.

    ``inner`` is the task in a basis of the rows, and ``W`` its weights; the certificate is that of the task itself.
    """

    task: MulticlassTask

    def __init__(self, task: MulticlassTask, cost: Reals | None = None) -> None:
        self.task = task
        self.basis = basis_of(task.rows, task.free)
        self.inner = task = replace(task, rows=self.basis.rows)
        self.cost = task.costs[task.target] if cost is None else cost
        self.ridge = np.ones((task.rows.shape[1], 1))
        if task.free:
            self.ridge[-1] = 0.0
        self.W, self.off = self._known(), 0.0
        self.a = task.c[:, None] * self._shares()
        square = 2.0 * task.penalty(task.weights_of(self.a).reshape(-1))
        share = self._gain() / square if square > 0.0 else 1.0
        if share > _REMOTE:
            self.f = task.rows.scores(self.W)
            self.t, self.low, self.a = self._central()
            self.off = 1.0  # the share of what the weights of ``a`` were away from ``W`` at the start that is left
        else:
            self._start_near_truth(share)
        self.point = self.basis.original(self.W).reshape(-1)
        self.gap, self.primal, self.steps = np.inf, 0.0, 0
        self.best, self.lost = _Best(np.inf, 0.0, 0, self.a, self.W), False

    def _known(self) -> Reals:
        """Weights to begin with: those of a start, or 0 where these are better."""
        task, warm = self.inner, self.task.warm
        nothing = np.zeros((task.rows.shape[1], len(task.costs)))
        if warm is None:
            return nothing
        W = self.basis.coordinates(warm.w.reshape(-1, len(task.costs)))
        W = W - W.mean(1)[:, None]
        return min(W, nothing, key=lambda each: task.objective(each.reshape(-1)))

    def _central(self) -> tuple[Reals, Reals, Reals]:
        """Multipliers ``t`` and ``l``, and ``a`` of the right sums, with one product for all."""
        c, wanted, K = self.task.c, self.cost + self.f, self.cost.shape[1]
        low = wanted[self.task.examples, self.task.target] if self.W.any() else wanted.min(1)
        size = self.inner.penalty(self.W.reshape(-1)) + inner(c, wanted.max(1) - low)
        mu = _LEVEL * (size if size > 0.0 else float(c.sum())) / wanted.size
        top = wanted.max(1)
        behind, unit = top[:, None] - wanted, mu / c
        ahead = unit.copy()  # of t beyond the top; sum_k unit / (ahead + behind_k) = 1 lies between 1 and K units
        for _ in range(_ROOT):  # Newton's method from below, where the sum is convex and falls: it never overshoots
            inverse = unit[:, None] / (ahead[:, None] + behind)
            step = (_sums(inverse) - 1.0) * unit / np.einsum("ik,ik->i", inverse, inverse)
            ahead = np.clip(ahead + step, unit, K * unit)
            if (step <= _CLOSE * ahead).all():
                break
        low = ahead[:, None] + behind
        return top + ahead, low, mu / low

    def _start_near_truth(self, share: float) -> None:
        """At weights of the best multiple of a simple point, nearly: of its size, and inside.

        From the central path of weights of 0 steps would not reach numbers as small as theirs (rows 1e100 apart).
        """
        task = self.inner
        share += (1.0 - share) * (_INSIDE if share > _TINY else math.sqrt(share))
        self.a *= share
        self.a[task.examples, task.target] += (1.0 - share) * task.c
        self.W = self.ridge * task.weights_of(self.a)
        self.f = task.rows.scores(self.W)
        wanted = self.cost + self.f
        top = wanted.max(1)
        self.t = top + max(1.0, float((top[:, None] - wanted).mean()))
        self.low = self.t[:, None] - wanted

    def _shares(self) -> Reals:
        """Of the classes in a row's dual weight at the start: those that satisfy the equations of free intercepts."""
        K = len(self.task.costs)
        if not self.task.free:
            return np.full(K, 1.0 / K)
        total = np.bincount(self.task.target, self.task.c * self.inner.constant, K)
        return np.asarray(total / total.sum())

    def _gain(self) -> float:
        return inner(self.cost.ravel(), self.a.ravel())

    def advance(self) -> Step:
        patience = _PATIENCE if self.gap > self.task.tol else _AT_THE_END
        if self.steps > self.best.at + patience:  # lost in rounding: the best point stays, and the outer loop sees it
            self.a, self.W, self.lost = self.best.a, self.best.W, True
        if self.lost:
            return Step(1, 0.0, self.best.dual)
        task, a, low = self.inner, self.a, self.low
        ratio = a / low
        solve = self._system(ratio)
        total = _sums(ratio)
        lacking = task.c - _sums(a)
        off = self.t[:, None] - self.cost - self.f - low

        def direction(products: Reals) -> tuple[Reals, Reals, Reals, Reals, Reals]:
            """Step towards ``a * low`` changed by ``products``."""
            wanted = off - products / a
            pull = _apart(ratio, total, wanted)
            extra = ratio * (lacking / total)[:, None]
            dW = solve(pull - extra)
            df = task.rows.scores(dW)
            da = _apart(ratio, total, df) - pull + extra
            dt = (np.einsum("ik,ik->i", ratio, df - wanted) - lacking) / total
            dlow = (products - low * da) / a
            return dW, df, da, dt, dlow

        mu = inner(a.ravel(), low.ravel()) / a.size
        _, _, da, _, dlow = direction(-a * low)
        step = min(to_zero(a, da), to_zero(low, dlow))
        ahead = inner((a + step * da).ravel(), (low + step * dlow).ravel()) / a.size
        target = max(mu * max(ahead / mu, 0.0) ** 3, 0.01 * max(task.tol, FINEST) * self.primal / a.size)
        dW, df, da, dt, dlow = direction(target - a * low - da * dlow)
        step = min(1.0, _TO_BOUNDARY * min(to_zero(a, da), to_zero(low, dlow)))
        self.a += step * da
        self.low += step * dlow
        self.t += step * dt
        self.W += step * dW
        self.off *= 1.0 - step
        self.W -= self.W.mean(1)[:, None]  # of early steps, with large weights, rounding would stay
        if self.gap > _FAR and self.steps % 5:
            self.f += step * df
        else:  # at a large C rounding is seen
            self.f = task.rows.scores(self.W)
        self.steps += 1
        return self._figures()

    def _figures(self) -> Step:
        task = self.inner
        w = self.W.reshape(-1)
        wanted = self.cost + self.f
        slack = wanted.max(1) - wanted[task.examples, task.target]
        self.primal = task.penalty(w) + inner(task.c, slack)
        of_dual = self.W if self.off <= _CLOSE else task.weights_of(self.a)
        dual = self._gain() - task.penalty(of_dual.reshape(-1))
        self.gap = (self.primal - dual) / max(abs(self.primal), 1e-300)
        gap = max(self.primal - dual, 0.0)
        if gap < _WORTH * self.best.gap:
            self.best = _Best(gap, dual, self.steps, self.a.copy(), self.W.copy())
        return Step(1, gap, dual)

    def _system(self, ratio: Reals) -> Callable[[Reals], Reals]:
        """Solves for ``dW`` from the rows' part of the right-hand side, ``(n, K)``."""
        task, K, d = self.inner, ratio.shape[1], self.inner.rows.shape[1]
        total, check = _sums(ratio), self.task.deadline.check
        matrix = np.empty((K - 1, d, K - 1, d))
        if d == 1:  # at once, for any number of classes
            matrix[:, 0, :, 0] = response(ratio, task.rows.scores(np.ones(1)))[:-1, :-1]
        for k in range(K - 1 if d > 1 else 0):
            check()
            others = _sums(ratio[:, :k]) + _sums(ratio[:, k + 1 :])  # not total - ratio_k, which would be rounding
            matrix[k, :, k] = task.rows.gram(ratio[:, k] * others / total, check)
            for j in range(k):
                matrix[k, :, j] = -task.rows.gram(ratio[:, k] * ratio[:, j] / total, check)
                matrix[j, :, k] = matrix[k, :, j]
        penalised = np.flatnonzero(self.ridge)
        matrix[:, penalised, :, penalised] -= 1.0 / K
        system = solver_of(matrix.reshape((K - 1) * d, -1), np.tile(self.ridge[:, 0], K - 1))

        def solve(rho: Reals) -> Reals:
            dW = np.zeros((d, K))
            for again in (False, True):  # beside ratios of all sizes the matrix is rounded: a second look at the rows
                a = self.a - rho
                if again:
                    a += _apart(ratio, total, task.rows.scores(dW))
                # not from rho alone: what rounding took from the weights in earlier steps is given back; and by what
                # all classes but the truth have, as the weights are, or what sums lack at a large C would be seen here
                b = task.weights_of(a) - self.ridge * (self.W + dW)
                dW[:, :-1] += system(b[:, :-1].T.reshape(-1)).reshape(K - 1, d).T
                dW -= dW.mean(1)[:, None]
            return dW

        return solve

    def dual(self) -> float:
        """Of the weights of the dual point, those of the iteration and 0 the best ones are returned.

        0 is better where numbers are so large that sums which should cancel leave more than the optimum is.
        """
        if not self.steps and (begun := self.task.begin()) is not None:  # may be good enough as it is
            _, self.point, value = self.task.from_dual(begun[0], begun[2])
            self.task.last = begun[0], begun[2]
            return value
        W = self.basis.original(self.W)
        _, first, value = self.task.from_dual(self.a, W[-1])
        self.task.last = self.a, W[-1] if self.task.free else np.zeros_like(W[-1])
        self.point = min(first, W.reshape(-1), np.zeros_like(first), key=self.task.objective)
        return value

    def weights(self) -> Reals:
        return self.point


def _sums(values: Reals) -> Reals:
    """Of every row of a few numbers; a sum along an axis of a dozen takes several times as long."""
    return np.asarray(np.einsum("ik->i", values))


def _apart(ratio: Reals, total: Reals, values: Reals) -> Reals:
    """``D_i values_i`` of every row; the same for values that differ by a constant.

    Beside the class of the largest ratio the others are small: values count from its own, and its product is minus the
    sum of the others, or at a large ``C`` they would be lost in rounding.
    """
    product = np.empty_like(ratio)
    _set_apart(ratio, total, values, product)
    return product


@compiled
def _set_apart(ratio, total, values, product):
    for i in range(len(ratio)):
        top = 0
        for k in range(1, ratio.shape[1]):
            if ratio[i, k] > ratio[i, top]:
                top = k
        mean = 0.0
        for k in range(ratio.shape[1]):
            mean += ratio[i, k] * (values[i, k] - values[i, top])
        mean /= total[i]
        rest = 0.0
        for k in range(ratio.shape[1]):
            if k != top:
                product[i, k] = ratio[i, k] * (values[i, k] - values[i, top] - mean)
                rest += product[i, k]
        product[i, top] = -rest
