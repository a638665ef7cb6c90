"""Block SMO for kernel machines: a few hundred rows at a time, their kernel rows by products of matrices.

Problem: see :mod:`maxmargin.terms`, with ``<x_i, x_j>`` the kernel. Sources: Joachims (1999), decomposition; Fan, Chen,
Lin (JMLR 2005), choice of pairs; Wen, Shi, Li, He, Chen (JMLR 2018), many rows at once. A step takes the rows that
violate optimality most and half of those it took before, and improves the dual over them with pairs until their
violation is a tenth; then the products ``K beta`` of all rows follow. Where a few passes do not do, as at a large
``C``, steps take more rows: once they hold most variables that are at no bound, few steps are left (measured: half the
time to two thirds).

Kernel rows are float32 where a sample says that their rounding is too small to matter; sums over all rows are always
float64. Within a step, values between its rows and thresholds are float32 while the violation is large. Every
evaluation in float64 renews the products, and when it contradicts the running figures, rows are float64 from then on.
Cost of a step: ``q`` rows of the kernel, of which those in the cache are free, ``q n`` to update the products, and
``n`` for the figures (squared losses: ``n log n``). Memory: the cache, one copy of the points, and a dozen numbers for
each term.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..._products import inner
from ...kernels import Kernel
from ...terms import Terms, hinges_only
from ..base import Run, Step
from ..options import check_option
from .row_cache import KernelValues, RowCache
from .subproblem import ascend, extremes
from .task import KernelTask

__all__ = ["BlockSMO", "float32_rounding", "single_precision_suffices"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
_FRACTION = 0.1
_ROUNDING = 1e-15
# operations of one call of the compiled steps: a fraction of a second, so that Ctrl-C is served
_OPERATIONS, _OF_STEP = 60_000_000, 300  # the second of a pair at least
_SAMPLE = 64
_IDLE_STEPS = 10
_IN_VAIN = 20  # evaluations
# from then on twice as many rows in each pass; the second where a fit with another C is at hand: its first pass takes
# half as many rows as usual, since less is to do
_PASSES, _PASSES_MOVED = 4, 2
# violations worth so much of the thresholds, and of the largest steps, are brought down in float32, with twice as many
# numbers at a time: the products of all rows follow in float64
_SHORT, _SHORT_STEPS, _RANGE = 1e-3, 1e-6, 1e10
_SHARE = 0.125  # of the memory for kernel rows, to the kernel values of a step and numbers for pairs of its variables


@dataclass(frozen=True)
class BlockSMO:
    """Block SMO.

    Parameters
    ----------
    cache_mb : float
        Bound of the memory for kernel rows, in units of a million bytes.
    block : int
        Rows of a step at first; fewer where the cache has not the room.
    """

    cache_mb: float = 500.0
    block: int = 512

    def __post_init__(self) -> None:
        check_option(self, "cache_mb", "a number > 0 (cache_mb positive)", lambda value: value > 0.0)
        check_option(self, "block", "an integer of at least 2", lambda value: value >= 2.0, integral=True)

    @property
    def name(self) -> str:
        """Short name, as accepted by the estimators."""
        return "block_smo"

    def start(self, task: KernelTask) -> BlockRun:
        """Begin a run."""
        return BlockRun(self, task)


class BlockRun(Run):
    """Sums that are fixed are kept by moving pairs, up to rounding. ``operations`` counts products of numbers."""

    task: KernelTask
    exact_gap = True  # up to rounding of the kernel rows
    cheap_passes = True  # the first one looks at what it begins with

    def __init__(self, options: BlockSMO, task: KernelTask) -> None:
        self.options, self.task = options, task
        self.terms = hinges_only(task.terms, task.name, options.name).written_out()
        n = task.n
        self.a = task.start()
        self.products = task.products(task.terms.beta(self.a)).copy() if self.a.any() else np.zeros(n)
        self.point = np.zeros(task.n_weights)
        self.highest, self.lowest = np.empty_like(self.a), np.empty_like(self.a)
        self.worked: Ints = np.empty(0, np.int64)
        self.gap, self.best, self.idle = np.inf, -np.inf, 0
        self.operations, self.steps = 0.0, 0
        self.steps_left = math.inf  # of one advance
        self.violation = np.inf  # of the last step, before it
        self.largest = _largest(self.terms)
        self.lowest_primal, self.in_vain = np.inf, 0  # evaluations since it was met
        self.most: float = _OPERATIONS  # in one block
        self.may_grow = not task.exact and self.terms.squared  # until the task refuses it
        # of kernel rows, and of the values of a step where it has no choice; the cache may have better ones
        self.dtype: DTypeLike = np.float32 if single_precision_suffices(task, self.terms) else np.float64
        self.cache = self._rows_in(self.dtype)
        first = max(2, options.block // 2) if task.moved else options.block
        self.block, self.passes = max(first, task.values.block), 0
        self.patience = _PASSES_MOVED if task.moved else _PASSES

    def _rows_in(self, dtype: DTypeLike) -> RowCache:
        return self.task.values.cache(self.task.kernel, self.task.X, dtype, self.options.cache_mb)

    @property
    def double(self) -> bool:
        """Whether kernel values are float64."""
        return self.dtype == np.float64

    def advance(self) -> Step:
        """As many steps as it takes to work on as many rows as there are, or fewer when the gap is reached."""
        task = self.task
        self.passes += 1
        if self.passes == 1 and task.moved:
            dual, self.gap = self._figures()
            if task.small(self.gap, dual, dual + self.gap):
                return Step(1, self.gap, dual)
        if self.passes > 1:
            self.block = max(self.block, self.options.block)
        if self.passes > self.patience:
            numbers = 1 + self.a.shape[1] ** 2  # for two rows
            room = math.isqrt(int(_SHARE * 1e6 * self.options.cache_mb / (8 * numbers)))
            self.block = task.values.block = max(self.block, min(2 * self.block, room))
        for k in range(int(min(max(1, task.n // min(self.block, self.cache.capacity)), self.steps_left))):
            if k:
                task.deadline.check()
            with np.errstate(over="ignore", invalid="ignore") if self.may_grow else nullcontext():
                step = self._step()
            if step.ready or task.small(step.gap, step.dual, step.dual + step.gap):
                break
        # kernels that are not definite can lead from one stationary point to another for ever
        step.settled = not task.exact and self.in_vain >= _IN_VAIN
        return step

    def _step(self) -> Step:
        self._find_extremes()
        rows = self._choose()
        moved = self._improve(rows) if len(rows) else 0
        self.steps += 1
        dual, self.gap = self._figures()
        self.task.check_value(dual)
        self.idle = 0 if moved and dual > self.best + 1e-13 * abs(self.best) else self.idle + 1
        self.best = max(self.best, dual)
        ready = not moved or self.idle >= _IDLE_STEPS
        if ready and not self.double:
            self._go_double()
            ready = False
        return Step(1, self.gap, dual, ready)

    def _find_extremes(self) -> None:
        extremes(*self.terms, self.a, self.products, self.highest, self.lowest)

    def _choose(self) -> Ints:
        """Half of the last rows, then those that violate most, of both sides in equal parts."""
        size = min(self.block, self.cache.capacity)
        high, low = self._excess()
        self.violation = float(max(high.max(), low.max()))
        if self.violation <= 0.0:
            return np.empty(0, np.int64)
        # of two rows both are new, one from each side
        kept = self.worked[-(size // 2) :] if len(self.worked) > 1 and size > 2 else self.worked[:0]
        new: list[Ints] = []
        count = size - len(kept)
        taken = np.zeros(self.task.n, bool)
        taken[kept] = True
        for part, excess in ((count - count // 2, high), (count // 2, low)):
            found = np.flatnonzero((excess > 0.0) & ~taken)
            if len(found) > part:
                found = found[np.argpartition(excess[found], -part)[-part:]] if part else kept[:0]
            taken[found] = True
            new.append(found)
        return np.concatenate([kept, *new])

    def _excess(self) -> tuple[Reals, Reals]:
        """How far every row is, up and down, from what the others of its group allow; shape ``(n,)`` each."""
        task = self.task
        if not len(task.totals):
            return self.highest.max(1), -self.lowest.min(1)
        high, low = np.empty_like(self.highest), np.empty_like(self.lowest)
        for g in range(len(task.totals)):
            mine = slice(None) if len(task.totals) == 1 else task.group == g
            highest, lowest = self.highest[mine], self.lowest[mine]
            high[mine], low[mine] = highest - lowest.min(), highest.max() - lowest
        return high.max(1), low.max(1)

    def _improve(self, rows: Ints) -> int:
        """Steps over these rows; the number of them."""
        terms, cache = self.terms, self.cache
        self.worked = rows
        rows = np.sort(rows)
        slots = cache.fetch(rows)
        part = Terms(*(values[rows] for values in terms))
        a = self.a[rows]
        h = part.sign * (part.margin - part.ridge * a) - self.products[rows, None]
        before = part.beta(a)
        # the first terms of all rows, then the second ones
        sign, upper, ridge, moving, thresholds, group = (
            np.ascontiguousarray(x.T).ravel() for x in (part.sign, part.upper, part.ridge, a, h, self.task.group[rows])
        )
        least = _ROUNDING * float(np.abs(h).max())
        dtype = self.dtype
        if len(self.task.totals) == 1:  # their differences alone count
            thresholds -= thresholds.mean()
            dtype = self._short(thresholds, cache.diagonal(rows, slots))
            thresholds = thresholds.astype(dtype)
        size = len(rows) + (not len(self.task.totals))  # see ascend
        K = np.zeros((size, size), dtype)
        cache.fill_block(rows, slots, K)
        moved = ascend(
            K, sign, upper, ridge, moving, thresholds, group, len(self.task.totals), _FRACTION, least,
            max(100, int(self.most) // max(h.size, _OF_STEP)),
        )  # fmt: skip
        a = np.ascontiguousarray(moving.reshape(a.T.shape).T)
        change = part.beta(a) - before
        used = np.flatnonzero(change)
        self.operations += 4.0 * h.size * moved + self.cache.cost(rows)
        cache.add(rows[used], slots[used], change[used], self.products)
        self.a[rows] = a
        return int(moved)

    def _short(self, thresholds: NDArray[Any], diagonal: NDArray[Any]) -> DTypeLike:
        """float32 where its rounding is small beside the violation, on thresholds and on the steps that change them."""
        kernel = float(np.abs(diagonal).max())
        steps = self.largest * kernel * math.sqrt(len(thresholds))
        small = max(_SHORT * float(np.abs(thresholds).max()), _SHORT_STEPS * steps)
        in_range = max(self.violation, kernel) <= _RANGE and min(self.violation, kernel) >= 1.0 / _RANGE
        return np.float32 if in_range and not self.idle and small <= self.violation else np.float64

    def _figures(self) -> tuple[float, float]:
        """Dual value and gap by the running products."""
        terms = self.terms
        half = 0.5 * inner(terms.beta(self.a), self.products)
        dual = terms.gain(self.a) - half
        thresholds = self.task.thresholds(self.products)
        primal = half + inner(self.task.totals, thresholds) + float(self.task.cost_at(self.products, thresholds).sum())
        return dual, primal - dual

    def _go_double(self) -> None:
        """Kernel values in float64 from here on, and products that owe nothing to those before."""
        self.dtype = np.float64
        self.cache = self._rows_in(np.float64)
        self.products = self.task.products(self.terms.beta(self.a)).copy()
        self.idle, self.best = 0, -np.inf

    def dual(self) -> float:
        task = self.task
        self.point, value = task.from_dual(self.a)
        self.a = task.balanced(self.a)
        self.products = task.products(self.point[: task.n]).copy()
        primal = task.objective(self.point)
        self.in_vain = 0 if primal < self.lowest_primal else self.in_vain + 1
        self.lowest_primal = min(self.lowest_primal, primal)
        if not self.double and abs(primal - value - self.gap) > 0.5 * task.tol * abs(primal):
            self._go_double()
        self.idle, self.best = 0, -np.inf
        return value

    def weights(self) -> Reals:
        return self.point


def single_precision_suffices(task: KernelTask, terms: Terms) -> bool:
    """Whether float32 kernel rows are good enough to begin with.

    Their rounding, measured on a sample, must be small beside the squared distances of the points in the kernel's space
    and, summed over all rows with the largest dual variables there can be, beside the margins.
    """
    rounding = float32_rounding(task.kernel, task.X, task.values)
    return _largest(terms) * rounding * float(np.sqrt(task.n)) <= 1e-2 * float(np.abs(terms.margin).mean())


def _largest(terms: Terms) -> float:
    """The largest dual variable there can be, of squared losses about so."""
    return float((1.0 / terms.ridge if terms.squared else terms.upper).max())


def float32_rounding(kernel: Kernel, X: Any, values: KernelValues) -> float:
    """The largest error of float32 kernel values in a sample; infinite where it is not small beside distances.

    ``values`` are what is known of them: what is found is kept there.
    """
    if values.rounding is None:
        values.rounding = _rounding(kernel, X, values)
    return values.rounding


def _rounding(kernel: Kernel, X: Any, values: KernelValues) -> float:
    n = int(X.shape[0])
    rows = np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.int64)
    exact = values.between(kernel, X, rows)
    with np.errstate(over="ignore", invalid="ignore"):  # points beyond float32 have no number for an error
        error = float(np.abs(exact - values.between(kernel, X, rows, np.float32)).max())
    diagonal = exact.diagonal()
    distances = diagonal[:, None] + diagonal - 2.0 * exact
    distances = distances[distances > 0.0]
    return error if len(distances) and error <= 1e-5 * float(np.median(distances)) else np.inf
