"""Dual coordinate ascent for the multiclass machine of Crammer and Singer: one exact step on all variables of a row.

Problem: ``1/2 |W|^2 + sum_i c_i max_k [cost(y_i, k) + <w_k - w_(y_i), x_i>]``. In the dual every row has a vector
``a_i >= 0`` with ``sum_k a_ik = c_i``, the weights are ``w_k = sum_i (c_i [k = y_i] - a_ik) x_i``, and the value is
``sum_ik a_ik cost(y_i, k) - 1/2 |W|^2``. Source: Crammer and Singer (JMLR 2001), section 6; Keerthi, Sundararajan,
Chang, Hsieh, Lin (KDD 2008), the sequential dual method. With the scores ``g_k = cost_k + <w_k, x_i>`` a step of row
``i`` takes ``a_i`` to the projection of ``a_i + g / |x_i|^2`` onto its simplex, the maximum over all its variables.
Cost of a step: two products of the row with the block of weights, ``W[feature, class]`` with the class running fastest.
Memory beyond the data: ``W``, and ``a``: a number for each row and class.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..._compiled import compiled
from ..base import Run, Step, WarmStart
from ..deadline import Deadline
from ..oracle import Evaluation, chunks
from .order import in_blocks
from .rows import Rows

__all__ = ["CrammerSinger", "MulticlassTask"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]

# entries of the state of a run: gap of the visits, largest violation met
_GAP, _VIOLATION = range(2)


@dataclass
class MulticlassTask:
    """The problem for solvers; weights are one vector, ``W[feature, class]`` row by row.

    Attributes
    ----------
    rows : Rows
        Rows with positive weight only.
    target : int64 array of shape (n,)
        Class numbers.
    costs : float64 array of shape (n_classes, n_classes)
        ``costs[true, predicted]``, 0 on the diagonal.
    weight : float64 array of shape (n,)
        ``s_i``.
    """

    rows: Rows
    target: Ints
    costs: Reals
    C: float
    weight: Reals
    tol: float
    rng: np.random.Generator
    name: str = "multiclass machine"
    warm: WarmStart | None = None
    exact: bool = True
    deadline: Deadline = field(default_factory=Deadline)
    examples: Ints = field(init=False)
    c: Reals = field(init=False)

    def __post_init__(self) -> None:
        self.examples = np.arange(len(self.weight))
        with np.errstate(over="ignore"):  # refused by the outer loop
            self.c = self.C * self.weight

    def penalty(self, w: Reals) -> float:
        """``1/2 |W|^2``."""
        return 0.5 * float(w @ w)

    def evaluate(self, w: Reals) -> Evaluation:
        """Slacks and costs of the predictions."""
        scores = self.rows.scores(w.reshape(-1, len(self.costs)))
        risk = self.costs[self.target, scores.argmax(1)]
        scores -= scores[self.examples, self.target][:, None]  # first: beside large scores a cost would be rounding
        scores += self.costs[self.target]
        slack = scores.max(1)
        return Evaluation(np.maximum(slack, 0.0), risk, np.empty(0, np.int64))

    @property
    def n_weights(self) -> int:
        """Number of features times number of classes."""
        return self.rows.shape[1] * len(self.costs)

    def objective(self, w: Reals) -> float:
        """``P(w)``."""
        return self.penalty(w) + float(self.c @ self.evaluate(w).slack)

    def weights_of(self, a: Reals) -> Reals:
        """``W`` of a dual point, ``(n_features, n_classes)``."""
        beta = -a
        beta[self.examples, self.target] = 0.0
        beta[self.examples, self.target] = -beta.sum(1)  # not c_i - a_iy, which at a large C would be rounding
        return np.ascontiguousarray(self.rows.combined(beta))

    def rounding(self, w: Reals) -> float:
        """How wrong ``P(w)``, and a dual value near it, can be in float64."""
        scores = self.rows.scores(w.reshape(-1, len(self.costs)))
        size = np.abs(self.costs).max(1)[self.target] + np.abs(scores).max(1)
        return 8.0 * float(np.finfo(np.float64).eps) * float(self.c @ size)

    def from_dual(self, a: Reals) -> tuple[Reals, float]:
        """Weights and value of a dual point, made feasible to the last bit."""
        a = a * (self.c / a.sum(1))[:, None]
        gain = float((self.costs[self.target] * a).sum())
        w = self.weights_of(a).reshape(-1)
        return w, gain - self.penalty(w)


@compiled
def _project(point, n, total):
    """Project ``point[:n]`` onto ``{a >= 0, sum a = total}`` in place (Michelot 1986)."""
    left = n
    level = -total
    for k in range(n):
        level += point[k]
    level /= n
    while True:
        count = 0
        sum_left = -total
        for k in range(n):
            if point[k] > level:
                count += 1
                sum_left += point[k]
        if count >= left or count == 0:  # rounding could make it grow again: then it is the one before
            break
        left = count
        level = sum_left / count
    for k in range(n):
        point[k] = max(point[k] - level, 0.0)


@compiled(dot=True)
def _scores(data, indices, indptr, width, i, W, n, out):
    """``<w_k, x_i>`` of all classes."""
    for k in range(n):
        out[k] = 0.0
    if indices is None:
        first = np.uint64(i) * np.uint64(width)
        for f in range(np.uint64(width)):
            value = data[first + f]
            if value != 0.0:
                for k in range(np.uint64(n)):
                    out[k] += value * W[f, k]
    else:
        for q in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            value, f = data[q], np.uint64(indices[q])
            for k in range(np.uint64(n)):
                out[k] += value * W[f, k]


@compiled
def _add(data, indices, indptr, width, i, change, n, changed, W):
    """``w_k += change_k x_i``; ``changed`` is room for the numbers of the classes that change, often two or three."""
    few = 0
    for k in range(n):
        if change[k] != 0.0:
            changed[few] = k
            few += 1
    if indices is None:
        first = np.uint64(i) * np.uint64(width)
        for f in range(np.uint64(width)):
            value = data[first + f]
            if value != 0.0:
                for j in range(few):
                    W[f, changed[j]] += value * change[changed[j]]
    elif 3 * few < n:  # a class at a time: less memory is written (measured: a third of the time)
        for j in range(few):
            k = changed[j]
            for q in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                W[np.uint64(indices[q]), k] += data[q] * change[k]
    else:
        for q in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            value, f = data[q], np.uint64(indices[q])
            for k in range(np.uint64(n)):
                W[f, k] += value * change[k]


@compiled
def _visit(data, indices, indptr, width, target, costs, c, norm2, a, W, order, promising, limit, state):
    """One exact step for every row of ``order``; marks in ``promising`` those worth another visit soon."""
    n = len(costs)
    g, change, changed = np.empty(n), np.empty(n), np.empty(n, np.int64)
    for q in range(len(order)):
        i = order[q]
        y = target[i]
        _scores(data, indices, indptr, width, i, W, n, g)
        highest, second, lowest, mean = -np.inf, -np.inf, np.inf, 0.0
        for k in range(n):
            g[k] += costs[y, k]
            if g[k] > highest:
                highest, second = g[k], highest
            elif g[k] > second:
                second = g[k]
            if a[i, k] > 0.0:
                lowest = min(lowest, g[k])
                mean += a[i, k] * g[k]
        state[0] += c[i] * highest - mean
        violation = highest - lowest
        # all weight on the best class, and the next one far behind: nothing will change soon
        promising[q] = violation > 0.0 or highest - second <= limit
        state[1] = max(state[1], violation)
        if violation <= 1e-12 * (1.0 + abs(highest)):
            continue
        if norm2[i] > 0.0:
            # less by the largest: the projection is the same; and what is far below gets nothing in any case
            for k in range(n):
                change[k] = a[i, k] + max((g[k] - highest) / norm2[i], -3.0 * c[i])
            _project(change, n, c[i])
        else:
            for k in range(n):
                change[k] = c[i] if g[k] == highest else 0.0
            _project(change, n, c[i])
        for k in range(n):
            new = change[k]
            change[k] = a[i, k] - new
            a[i, k] = new
        _add(data, indices, indptr, width, i, change, n, changed, W)


@dataclass(frozen=True)
class CrammerSinger:
    """Dual coordinate ascent for the multiclass machine.

    Parameters
    ----------
    shrinking : bool
        Leave out rows that keep all their dual weight on one class by a wide margin; all are visited again before the
        run ends.
    """

    shrinking: bool = True

    @property
    def name(self) -> str:
        """Short name, as accepted by the estimators."""
        return "coordinate_ascent"

    def start(self, task: MulticlassTask) -> Run:
        """Begin a run."""
        return _CrammerSingerRun(self, task)


class _CrammerSingerRun(Run):
    task: MulticlassTask

    def __init__(self, options: CrammerSinger, task: MulticlassTask) -> None:
        self.options, self.task = options, task
        n, k = task.rows.shape[0], len(task.costs)
        self.a = np.zeros((n, k))
        self.a[task.examples, task.target] = task.c
        self.W = np.zeros((task.rows.shape[1], k))
        self.point, self.lower = np.zeros(self.W.size), 0.0
        self.visited = np.ones(n, bool)
        self.limit = np.inf
        self.state = np.zeros(2)

    def advance(self) -> Step:
        task, rows, state = self.task, self.task.rows, self.state
        state[:] = 0.0
        order = in_blocks(np.flatnonzero(self.visited), task.rng)
        kept = np.ones(len(order), bool)
        at = 0
        for run in chunks(order, task.deadline):
            _visit(
                rows.data, rows.indices, rows.indptr, rows.shape[1], task.target, task.costs, task.c,
                rows.squared_norms, self.a, self.W, run, kept[at : at + len(run)], self.limit, state,
            )  # fmt: skip
            at += len(run)
        if self.options.shrinking:
            self.visited[order[~kept]] = False
            self.limit = float(state[_VIOLATION])
            if not self.visited.any():
                self._take_all_back()
        w = self.W.reshape(-1)
        self.lower = float((task.costs[task.target] * self.a).sum()) - task.penalty(w)
        return Step(1, float(state[_GAP]), self.lower, work=len(order) / max(rows.shape[0], 1))

    def _take_all_back(self) -> None:
        self.visited[:] = True
        self.limit = np.inf

    def dual(self) -> float:
        self._take_all_back()
        self.point, value = self.task.from_dual(self.a)
        return value

    def weights(self) -> Reals:
        return self.point
