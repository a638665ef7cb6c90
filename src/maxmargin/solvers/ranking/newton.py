"""Truncated Newton steps on the loss of all pairs, with the hinge smoothed less and less.

Problem: see :mod:`maxmargin.solvers.ranking.task`. Source: Lee and Lin (Neural Computation 2014) for the squared hinge:
conjugate gradients on ``I + X^T H X``, whose products take two products with ``X`` and a sweep over sorted scores.
The hinge is smoothed within ``width`` of its kink. The gap between ``w`` and the multipliers that its slacks imply is
``1/2 |gradient|^2`` and what the smoothing takes away; once the first is the smaller one the width shrinks.
Cost of a pass: two products with ``X``, ``O(m log m)`` for the documents. Memory beyond the data: a few numbers for
each document.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._products import inner
from ..base import Run, Step
from ..options import check_option
from ..truncated import conjugate_gradients, line_minimum
from .task import PairLoss, RankingTask

__all__ = ["TruncatedNewton"]

Reals = NDArray[np.float64]
_FORCING = 0.2  # part of the gradient that a direction may leave: fewer products in all than 0.1 or 0.3 (measured)
_LEAST_SHRINKING, _MOST_SHRINKING = 0.5, 0.03
_NARROWEST = 1e-10
_IDLE = 3  # steps that bring nothing better, after which it is seen whether anything still moves
_BLOCK_ENTRIES = 1 << 18


@dataclass(frozen=True)
class TruncatedNewton:
    """Truncated Newton method.

    Parameters
    ----------
    most_products : int
        Limit on the products with the Hessian for one step.
    """

    most_products: int = 200

    def __post_init__(self) -> None:
        check_option(self, "most_products", "an integer of at least 1", lambda value: value >= 1.0, integral=True)

    @property
    def name(self) -> str:
        """Short name."""
        return "newton"

    def start(self, task: RankingTask) -> Run:
        """Begin a run."""
        return _NewtonRun(self, task)


class _Point:
    """Weights with the loss, the dual point and the gradient there; ``lost`` is what smoothing takes of the bound."""

    def __init__(self, task: RankingTask, w: Reals, loss: PairLoss) -> None:
        self.w, self.loss = w, loss
        self.dual_w = task.combined(self.loss.beta)
        self.gradient = w - self.dual_w
        self.primal = task.penalty(w) + float(self.loss.cost.sum())
        half = task.penalty(self.dual_w)
        self.residual = task.penalty(self.gradient)
        gain = self.loss.gain
        self.lost = max(self.primal - (gain - half) - self.residual, 0.0)
        # multiples of a dual point are others, and with a large C rounding makes multipliers far too large
        bend = float(self.loss.cost.sum()) if task.squared else 0.0
        self.dual = _best_multiple(gain + bend, bend + half)


class _Line:
    """The smoothed objective from a point along a direction; the loss looked at last is kept."""

    def __init__(self, task: RankingTask, at: _Point, direction: Reals, move: Reals) -> None:
        self.task, self.start, self.move = task, at.loss, move
        self.linear, self.square = inner(at.w, direction), inner(direction, direction)
        self.last = (0.0, at.loss)

    def loss(self, t: float) -> PairLoss:
        """The loss after a step ``t``."""
        if self.last[0] != t:
            self.last = (t, PairLoss(self.task, self.start.scores + t * self.move, self.start.width))
        return self.last[1]

    def slope(self, t: float) -> float:
        """Derivative after a step ``t``."""
        return self.linear + t * self.square - inner(self.loss(t).beta, self.move)


class _NewtonRun(Run):
    task: RankingTask
    exact_gap = True

    def __init__(self, options: TruncatedNewton, task: RankingTask) -> None:
        self.options, self.task = options, task
        d = task.rows.shape[1]
        w = np.zeros(d) if task.warm is None else np.array(task.warm.w, np.float64)
        self.spread = _spread(task)
        scores = task.scores(w)
        self.at = _Point(task, w, PairLoss(task, scores, 1.0))
        self.wide = task.warm is not None and not task.squared
        self.idle = 0
        self.best, self.best_primal = self.at.w, self.at.primal
        self.highest, self.best_dual = (self.at.w, self.at.loss.width), self.at.dual

    def _narrow(self, most: float) -> int:
        """Before the first step from good weights, from which an optimum of a wide hinge would lead away."""
        task, passes = self.task, 0
        while self.wide and passes < most:
            self.wide = self.at.loss.width > _NARROWEST
            if self.wide:
                narrower = _Point(task, self.at.w, PairLoss(task, self.at.loss.scores, 0.1 * self.at.loss.width))
                passes += 1
                self.wide = narrower.dual > self.at.dual
                if self.wide:
                    self.at = narrower
        self._note()
        return passes

    def advance(self) -> Step:
        task = self.task
        passes = 1 + self._narrow(self.passes_left - 1)
        at = self.at
        goal = task.tol * max(self.best_primal, 0.0)
        lost = at.lost
        if (
            passes < self.passes_left
            and not task.squared
            and at.residual <= lost
            and lost > 0.3 * goal
            and at.loss.width > _NARROWEST
        ):
            width = at.loss.width * min(max(0.3 * goal / lost, _MOST_SHRINKING), _LEAST_SHRINKING)
            at = _Point(task, at.w, PairLoss(task, at.loss.scores, width))
            passes += 1
        direction, products = self._direction(at, self.passes_left - passes)
        move = task.scores(direction)
        line = _Line(task, at, direction, move)
        t = line_minimum(line.slope, inner(at.gradient, direction))
        self.at = _Point(task, at.w + t * direction, line.loss(t))
        self.idle = 0 if self._note() else self.idle + 1
        gap = self.best_primal - self.best_dual
        ready = gap <= task.tol * self.best_primal or self.idle >= _IDLE
        return Step(passes + products, gap, self.best_dual, ready=ready)

    def _note(self) -> bool:
        """Keep what is better; whether there was something."""
        at, better = self.at, False
        if at.primal < self.best_primal:
            self.best, self.best_primal, better = at.w, at.primal, True
        if at.dual > self.best_dual:
            self.highest, self.best_dual, better = (at.w, at.loss.width), at.dual, True
        return better

    def _direction(self, at: _Point, left: float) -> tuple[Reals, int]:
        """Preconditioned conjugate gradients for ``(I + X^T H X) p = -gradient``; also the number of products."""
        task = self.task
        degree = at.loss.degree
        scale = 1.0 / (1.0 + self.spread * (float(degree.sum()) / float(task.queries.weight.sum())))

        if left < 1:
            return -scale * at.gradient, 0

        def product(p: Reals) -> Reals:
            return p + task.combined(at.loss.curved(task.scores(p)))

        most = int(min(self.options.most_products, left))
        p, products, _ = conjugate_gradients(product, -at.gradient, scale, forcing=_FORCING, most=most)
        return p, products

    def weights(self) -> Reals:
        return self.best

    def dual(self) -> float:
        w, width = self.highest
        return _Point(self.task, w, PairLoss(self.task, self.task.scores(w), width)).dual


def _best_multiple(total: float, half: float) -> float:
    """The largest of ``t total - t^2 half`` for shares ``t`` of at most 1."""
    share = min(0.5 * total / half, 1.0) if half > 0.0 else 1.0
    return share * (total - share * half)


def _spread(task: RankingTask) -> Reals:
    """Sum of squares of every feature around its mean in the query: shape of the Hessian where all pairs are short.

    Documents count with their weights.
    A query that lies in several blocks of documents counts as several.
    """
    queries, rows = task.queries, task.rows
    m = len(queries.documents)
    owner = np.repeat(np.arange(len(queries.sizes)), queries.sizes)
    size = max(1, _BLOCK_ENTRIES * rows.shape[0] // max(rows.entries, 1))
    total = np.zeros(rows.shape[1])
    for lo in range(0, m, size):
        block = rows.matrix[queries.documents[lo : lo + size]].astype(np.float64, copy=False)
        local, weight = owner[lo : lo + size] - owner[lo], queries.weight[lo : lo + size]
        members = sp.csr_matrix((weight, (local, np.arange(len(local)))))
        total += _column_squares(block, weight) - _column_squares(members @ block, 1.0 / np.bincount(local, weight))
    return np.maximum(total, 0.0)


def _column_squares(block: Any, weight: Reals) -> Reals:
    """Weighted sum of the squares of every column."""
    return np.asarray(weight @ (block.multiply(block) if sp.issparse(block) else block * block))
