"""Block ascent for Crammer and Singer's machine: some hundred rows at a time, by their products with one another.

Problem and dual: see :mod:`.crammer_singer`. A step of the run takes the rows that violate optimality most and half of
those it took before, and improves the dual over them; then the scores of all rows follow by way of the weights, in one
pass. Within the block a row ``i`` whose scores say that weight should go from class ``k`` to ``l`` moves it alone, or
at the same time a row ``j`` moves as much from ``l`` to ``k``, whichever gains more: along such a pair the dual bends
by ``2 |x_i - x_j|^2``, which is next to nothing for rows that are nearly equal, where passes row by row undo each other
for ever. As for two classes (:mod:`.block_ascent`, :mod:`~maxmargin.solvers.kernel.subproblem`, with their sources) the
partner is the one that gains most, and steps grow where a few passes over all rows do not do.
Cost of a step of ``q`` rows: a pass over all, the products of the ``q`` rows, of sparse ones where they share a
feature, and ``q`` for each move. Memory beyond the data: that of coordinate ascent, and ``q^2`` numbers, at most
0.13 GB.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._compiled import compiled, larger, smaller
from ..base import Run
from ..options import check_option
from .crammer_singer import GAIN, GAP, CrammerSinger, CrammerSingerRun, MulticlassTask
from .face import Leaps
from .multiclass_free import FreeRun
from .row_products import RowProducts
from .selected_rows import some_rows

__all__ = ["MulticlassBlockAscent"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
# rows of a step at most: of more rows than such a step has, and of so many that it has most of them
_LARGEST, _LARGEST_OF_FEW, _FEW_ROWS = 2000, 4000, 5000
# the violation left of what a block began with, and what of the largest a row needs to be moved in a sweep
_FRACTION, _WORTH = 0.1, 0.5
_ROUNDING = 1e-15
_PASSES = 1.5  # over all rows at the first size; then one for each twice as large
_MOVES = 25  # of a block, for each row
# operations of a call at most, a fraction of a second; of a move for each row of the block; of a pass of coordinate
# ascent for each row, beside one for each entry and class (measured: about a nanosecond each)
_OPERATIONS, _OF_MOVE, _OF_ROW = 60_000_000, 6.0, 200.0
# curvature of a direction along which rows do not differ, relative to their squared norms
_FLAT, _TINY = 1e-13, 1e-300


@dataclass(frozen=True)
class MulticlassBlockAscent:
    """Block ascent for the multiclass machine.

    Parameters
    ----------
    block : int
        Rows of a step at first.
    """

    block: int = 512

    def __post_init__(self) -> None:
        check_option(self, "block", "an integer of at least 2", lambda value: value >= 2.0, integral=True)

    @property
    def name(self) -> str:
        """Short name, as accepted by the estimators."""
        return "block_ascent"

    def start(self, task: MulticlassTask) -> Run:
        """Begin a run: where another one on this task has been, or from a warm start."""
        run = FreeBlocksRun(self.block, task) if task.free else BlocksRun(self.block, task)
        if task.last is not None:
            a, multipliers = task.last
            run.begin_at(a.copy(), task.weights_of(a), multipliers)
        elif (begun := task.begin()) is not None:
            run.begin_at(*begun)
        return run


class BlocksRun(CrammerSingerRun):
    """One run, whose passes are steps on blocks of rows."""

    def __init__(self, block: int, task: MulticlassTask) -> None:
        super().__init__(CrammerSinger(shrinking=False), task)
        self.average, self.leaps = None, Leaps(math.inf)  # blocks do what leaps are for
        n = task.rows.shape[0]
        self.products = RowProducts(task.rows, 0.0, task.deadline.check)
        self.most = min(self.products.capacity, _LARGEST_OF_FEW if n <= _FEW_ROWS else _LARGEST)
        self.block, self.until, self.taken = min(block, self.most), _PASSES * n, 0
        self.worked: Ints = np.empty(0, np.int64)
        self.violation = np.empty(n)

    def _work(self) -> tuple[int, float]:
        task, rows = self.task, self.task.rows
        g = rows.scores(self.W if rows.sparse else self.W.T)
        g += task.costs[task.target]
        _measure(g, self.a, task.c, self.violation, self.state)
        block = self._rows_of_step()
        done = 0.0
        if len(block):
            done = self._improve(block, g)
        of_pass = float(rows.entries) * len(task.costs) + _OF_ROW * rows.shape[0]
        return 1, 1.0 + done / of_pass

    def _rows_of_step(self) -> Ints:
        """Half of the rows of the last step, and of the others those that violate most; in order."""
        size, violation = self.block, self.violation.copy()
        kept = self.worked[-(size // 2) :] if size > 2 else self.worked[:0]
        violation[kept] = 0.0
        new = np.flatnonzero(violation > 0.0)
        most = size - len(kept)
        if len(new) > most:
            new = new[np.argpartition(violation[new], -most)[-most:]]
        self.worked = np.concatenate([kept, new])
        self.taken += len(self.worked)
        if self.taken >= self.until:
            self.block, self.until = min(2 * self.block, self.most), self.taken + len(violation)
        return np.sort(self.worked)

    def _improve(self, block: Ints, g: Reals) -> float:
        """Moves within a block; returns the operations they took."""
        task, rows = self.task, self.task.rows
        before, q, classes = self.products.operations, len(block), len(task.costs)
        products = np.empty((q, q))
        self.products.fill_block(block, block, products)
        # class by class: rows follow one another then
        scores, old = np.ascontiguousarray(g[block].T), self.a[block]
        new = np.array(old.T, order="C")  # a copy of a single row too
        each = _OF_MOVE * q + 2.0 * classes
        goal = max(_FRACTION * float(self.violation[block].max()), _ROUNDING * float(np.abs(scores).max()))
        moves, looks, left = 0, 0, _MOVES * q
        try:
            while left > 0:
                limit = min(left, max(100, int(_OPERATIONS / each)))
                moved, looked = _ascend(products, scores, new, goal, limit)
                moves, looks, left = moves + moved, looks + looked, left - moved
                if moved < limit:
                    break
                task.deadline.check()
        finally:
            change, truth = old - new.T, (np.arange(q), task.target[block])
            self.a[block] = new.T
            self.state[GAIN] -= float((change * task.costs[task.target[block]]).sum())
            # not the difference for the truth, which at a large C would be rounding
            change[truth] = 0.0
            change[truth] = -change.sum(1)
            moved = some_rows(rows, block).combined(change)
            self.W += moved if rows.sparse else moved.T
        return self.products.operations - before + each * moves + 2.0 * classes * looks


class FreeBlocksRun(BlocksRun, FreeRun):
    """The same with free intercepts: multipliers, which move once as many rows had a turn as violate optimality.

    After each step they would move against what rows that have not been asked cannot answer, for ever faster.
    """

    def __init__(self, block: int, task: MulticlassTask) -> None:
        super().__init__(block, task)
        self.asked, self.moved = 0, np.zeros(len(task.costs))

    def _move_shift(self, excess: Reals) -> Reals:
        self.asked += len(self.worked)
        if self.asked >= np.count_nonzero(self.violation > 0.0):
            self.asked, self.moved = 0, super()._move_shift(excess)
        return self.moved


@compiled
def _measure(g, a, c, violation, state):
    """How far each row is from its optimum beside the others; what is missing of the dual is added to the state."""
    gap = 0.0
    for i in range(len(g)):
        highest, lowest, mean = -np.inf, np.inf, 0.0
        for k in range(g.shape[1]):
            highest = larger(highest, g[i, k])
            lowest = smaller(lowest, g[i, k] if a[i, k] > 0.0 else np.inf)
            mean += a[i, k] * g[i, k]
        gap += c[i] * highest - mean
        violation[i] = highest - lowest
    state[GAP] += gap


@compiled
def _ascend(G, S, a, goal, limit):
    """Moves until no row violates optimality by more than ``goal``.

    Parameters
    ----------
    G : float64 array of shape (q, q)
        Products of the rows.
    S, a : float64 arrays of shape (K, q)
        Scores and dual variables, which change in place.
    limit : int
        Largest number of moves.

    Returns
    -------
    moves, looks : int
        The second at one row each.
    """
    q = len(G)
    squares, gains = np.empty(q), np.empty(q)
    for i in range(q):
        squares[i] = G[i, i]
    moves, looks, level = 0, 0, np.inf
    while moves < limit:
        worst = 0.0
        for i in range(q):
            low, high = _extremes(S, a, i)
            looks += 1
            violation = S[high, i] - S[low, i]
            worst = max(worst, violation)
            if violation <= level:
                continue
            room = a[low, i]
            alone = min(0.5 * violation / (squares[i] + _TINY), room)
            best = alone * (violation - alone * squares[i])
            partner = _partner(squares, G[i], S[low], S[high], a[high], i, violation, room, best, gains)
            if partner < 0:
                _move(a, i, low, high, alone)
                for t in range(q):
                    change = alone * G[i, t]
                    S[low, t] += change
                    S[high, t] -= change
            else:
                j = np.uint64(partner)
                slope = violation + S[low, j] - S[high, j]
                move = min(0.5 * slope / _bend(squares[i] + squares[j], G[i, j]), room, a[high, j])
                _move(a, i, low, high, move)
                _move(a, j, high, low, move)
                for t in range(q):
                    change = move * (G[i, t] - G[j, t])
                    S[low, t] += change
                    S[high, t] -= change
            moves += 1
            if moves >= limit:
                break
        if worst <= goal:
            break
        level = max(_WORTH * worst, goal)
    return moves, looks


@compiled
def _extremes(S, a, i):
    """The class of the lowest score that has dual weight, and that of the highest score."""
    low, high = -1, 0
    for k in range(len(S)):
        if S[k, i] > S[high, i]:
            high = k
        if a[k, i] > 0.0 and (low < 0 or S[k, i] < S[low, i]):
            low = k
    return max(low, 0), high


@compiled
def _bend(squares, product):
    """The squared distance of two rows by the sum of their squared norms and their product; no less than rounding."""
    return larger(squares - 2.0 * product, _FLAT * squares) + _TINY


@compiled
def _partner(squares, products, up, down, available, i, violation, room, best, gains):
    """The row with which row ``i`` gains most, or -1 where none gains more than ``best``; ``gains`` is room."""
    zero, mine = best, squares[i]
    for j in range(len(gains)):
        slope = larger(violation + up[j] - down[j], 0.0)
        bend = _bend(mine + squares[j], products[j])
        move = smaller(0.5 * slope / bend, smaller(room, available[j]))
        gains[j] = move * (slope - move * bend)
    gains[i] = 0.0
    for j in range(len(gains)):
        best = larger(best, gains[j])
    if best > zero:
        for j in range(len(gains)):
            if gains[j] == best:
                return j
    return -1


@compiled
def _move(a, i, low, high, move):
    """Dual weight of row ``i`` from one class to another."""
    a[low, i] = larger(a[low, i] - move, 0.0)
    a[high, i] += move
