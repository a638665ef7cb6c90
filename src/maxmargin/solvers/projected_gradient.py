"""Projected gradient on the dual, plain or accelerated, of linear machines and of machines with kernels.

Problem: see :mod:`maxmargin.terms`; with ``F`` the negative dual, a step is ``a = project(y - grad F(y) / L)`` onto the
box, and onto the hyperplane of every sum that is fixed (:mod:`~maxmargin.solvers.projection`): one for a free
intercept, one for each threshold of the nu forms. Plain steps start at ``y = a``. Accelerated ones (Beck and Teboulle,
SIAM J. Imaging Sciences 2009) start beyond it on the line through the last two points, and from ``a`` again after a
step against the momentum (restart: O'Donoghue and Candes, Foundations of Computational Mathematics 2015).

``1 / L`` is constant: ``L`` is the largest eigenvalue of the Hessian along the hyperplanes, by power iteration from
below and two hundredths more. Every step is tried against the ``L`` it needs, and in the rare case that the iteration
ended too low, ``L`` rises.
Cost of a pass: two products with the rows, or one with the kernel matrix, and ``n log n`` to project and for the
figures. Memory: a dozen numbers for each term; the kernel matrix where it fits, else its values are computed each time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._products import inner
from ..errors import DataError
from ..terms import hinges_only
from .base import Run, Step
from .kernel.task import KernelTask
from .linear.intercept import best_intercept
from .linear.task import LinearTask
from .options import check_bool, check_option
from .projection import project

__all__ = ["ProjectedGradient"]

Reals = NDArray[np.float64]
_ABOVE = 1.02
_SETTLED = 1e-3
_MOST_PRODUCTS = 50
_ROUNDING = 1e-13


@dataclass(frozen=True)
class ProjectedGradient:
    """Projected gradient on the dual.

    Parameters
    ----------
    accelerated : bool
        Steps with momentum and restarts, or plain ones.
    cache_mb : float
        The kernel matrix is kept if it has at most so many millions of bytes.
    """

    accelerated: bool = True
    cache_mb: float = 500.0

    def __post_init__(self) -> None:
        check_bool(self, "accelerated")
        check_option(self, "cache_mb", "a number > 0", lambda value: value > 0.0)

    @property
    def name(self) -> str:
        """Short name, as accepted by the estimators."""
        return "projected_gradient"

    def start(self, task: Any) -> Run:
        """Begin a run on a linear task or one with a kernel.

        Raises
        ------
        DataError
            For other tasks, and for losses that are no sums of hinges or of their squares.
        """
        if not isinstance(task, LinearTask | KernelTask):
            raise DataError(f"{task.name}: {self.name} is for machines with one score a row, linear or with a kernel")
        return _ProjectedRun(self, task)


class _ProjectedRun(Run):
    """``a`` is the dual point, ``products`` the scores that it gives without thresholds."""

    task: LinearTask | KernelTask
    exact_gap = True

    def __init__(self, options: ProjectedGradient, task: LinearTask | KernelTask) -> None:
        self.options, self.task = options, task
        self.terms = hinges_only(task.terms, task.name, options.name)
        self.totals, self.groups = _sums(task)
        self.apply = _products_of(task, options.cache_mb)
        self.a = task.start()
        self.products = self.apply(self.terms.beta(self.a))
        self.before = self.a, self.products
        self.momentum, self.L = 1.0, 0.0
        self.point = np.zeros(task.n_weights)

    def advance(self) -> Step:
        passes = 1
        if not self.L:
            if self.passes_left < 2:  # how long a step may be is not known, and to find out takes one
                dual, gap = self._figures()
                return Step(0, gap, dual, ready=True)
            passes += self._find_largest_eigenvalue()
        terms = self.terms
        ahead = (self.momentum - 1.0) / self._next_momentum()
        y = self.a + ahead * (self.a - self.before[0])
        products = self.products + ahead * (self.products - self.before[1])
        gradient = terms.sign * products[:, None] - terms.margin + terms.ridge * y
        while True:
            a = self._projected(y - gradient / self.L)
            after = self.apply(terms.beta(a))
            needed = self._needed(a - y, after - products, np.abs(after) + np.abs(products))
            if needed <= self.L:
                break
            self.L = _ABOVE * needed
            if passes + 1 > self.passes_left:  # no step, but what the next ones need
                a, after = self.a, self.products
                break
            passes += 1
        self._set_momentum(y, a)
        self.before, self.a, self.products = (self.a, self.products), a, after
        dual, gap = self._figures()
        return Step(passes, gap, dual)

    def _next_momentum(self) -> float:
        return 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * self.momentum**2))

    def _set_momentum(self, y: Reals, a: Reals) -> None:
        if self.options.accelerated:
            against = float(((y - a) * (a - self.a)).sum()) > 0.0
            self.momentum = 1.0 if against else self._next_momentum()

    def _needed(self, step: Reals, response: Reals, size: Reals) -> float:
        """The ``L`` for which this step is no longer than it should be; 0 where rounding hides it."""
        beta = self.terms.beta(step)
        bend = inner(beta, response) + inner((self.terms.ridge * step).ravel(), step.ravel())
        bend -= _ROUNDING * inner(np.abs(beta), size)
        return bend / inner(step.ravel(), step.ravel()) if bend > 0.0 else 0.0

    def _find_largest_eigenvalue(self) -> int:
        """Sets ``L``; returns the number of products that it took."""
        terms, last, count = self.terms, 0.0, 0
        direction = self._along(np.random.default_rng(0).normal(size=self.a.shape))
        while count < min(_MOST_PRODUCTS, self.passes_left - 1):
            direction /= max(math.sqrt(inner(direction.ravel(), direction.ravel())), 1e-300)
            self.task.deadline.check()
            bent = terms.sign * self.apply(terms.beta(direction))[:, None] + terms.ridge * direction
            direction = self._along(bent)
            size, count = math.sqrt(inner(direction.ravel(), direction.ravel())), count + 1
            if abs(size - last) <= _SETTLED * size:
                break
            last = size
        # so small that one step crosses the whole box: without a bound where the features are all 0
        least = float(np.abs(terms.margin).max()) / float(terms.upper.sum())
        self.L = max(_ABOVE * size, least, 1e-300)
        return count

    def _along(self, direction: Reals) -> Reals:
        """Its part along the hyperplanes."""
        for mine in self.groups:
            sign = self.terms.sign[mine]
            direction[mine] -= sign * float((sign * direction[mine]).mean())
        return direction

    def _projected(self, z: Reals) -> Reals:
        sign, upper = self.terms.sign, self.terms.upper
        if not self.groups:
            return np.clip(z, 0.0, upper)
        a = np.empty_like(z)
        for mine, total in zip(self.groups, self.totals.tolist(), strict=True):
            a[mine] = project(z[mine], sign[mine], upper[mine], total)
        return a

    def _figures(self) -> tuple[float, float]:
        """Dual value and gap by the running products."""
        task, terms, products = self.task, self.terms, self.products
        half = 0.5 * inner(terms.beta(self.a), products)
        if isinstance(task, KernelTask):
            thresholds = task.thresholds(products)
            cost = inner(self.totals, thresholds) + float(task.cost_at(products, thresholds).sum())
        else:
            shift = best_intercept(terms, products) if len(self.totals) else 0.0
            cost = float(terms.cost(products + shift).sum())
        dual = terms.gain(self.a) - half
        return dual, half + cost - dual

    def dual(self) -> float:
        self.point, value = self.task.from_dual(self.a)
        return value

    def weights(self) -> Reals:
        return self.point


def _sums(task: LinearTask | KernelTask) -> tuple[Reals, list[Any]]:
    """The sums that are fixed, and which terms are in each."""
    if isinstance(task, LinearTask):
        return (np.zeros(1), [...]) if task.intercept == "free" else (np.zeros(0), [])
    if len(task.totals) == 1:
        return task.totals, [...]
    return task.totals, [task.group == g for g in range(len(task.totals))]


def _products_of(task: LinearTask | KernelTask, cache_mb: float) -> Callable[[Reals], Reals]:
    """A function from ``beta`` to the scores of all rows without thresholds."""
    if isinstance(task, LinearTask):
        rows, constant = task.rows, task.scale**2 if task.intercept == "penalized" else 0.0
        return lambda beta: rows.scores(rows.combined(beta)) + constant * float(beta.sum())
    kernel, X = task.kernel, task.X
    if 8.0 * task.n**2 > 1e6 * cache_mb:
        return lambda beta: kernel.combined(X, X, beta)
    K = kernel.block(X, X)
    return lambda beta: np.asarray(K @ beta)
