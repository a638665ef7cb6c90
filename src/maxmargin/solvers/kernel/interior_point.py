"""Interior point for kernel machines of up to a few thousand points: the linear method on a factor of the matrix.

With ``K = L L^T`` the points are the rows of ``L``, and a kernel machine is a linear one. The factor is a Cholesky one
with pivots, so it has as many columns as the matrix has rank: kernels of low rank (polynomials of few features), on
which pairs of variables take millions of steps, are the cheapest here (Fine and Scheinberg, JMLR 2001).
Cost: ``n r^2`` for a rank of ``r``, once and in every iteration. Memory: the matrix and its factor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpstrf

from ...errors import DataError
from ...terms import Terms, hinges_only
from ..base import Run, Step, WarmStart
from ..linear.interior_point import InteriorPoint
from ..linear.rows import Rows
from ..linear.task import LinearTask
from ..oracle import Evaluation
from .task import KernelTask

__all__ = ["KernelInteriorPoint", "MOST_POINTS", "suits"]

Reals = NDArray[np.float64]
MOST_POINTS = 4000
_DEFINITE = 1e-10
_CLEARLY = 1e-3


@dataclass(frozen=True)
class KernelInteriorPoint:
    """Primal-dual interior point on a factor of the kernel matrix."""

    @property
    def name(self) -> str:
        """Short name, as accepted by the estimators."""
        return "interior_point"

    def start(self, task: KernelTask) -> Run:
        """Begin a run.

        Raises
        ------
        DataError
            When the problem is not for it: too many points, or a kernel matrix that is not positive semi-definite.
        """
        if not suits(task):
            raise DataError(
                f"{task.name}: the interior point method is for up to {MOST_POINTS} points; there are {task.n}: use "
                "solver='block_smo'"
            )
        factor = shared_factor(task)
        if factor is None:
            raise DataError(
                f"{task.name}: the kernel matrix is not positive semi-definite, which the interior point method needs; "
                "use solver='block_smo'"
            )
        return _FactorRun(task, factor)


def suits(task: KernelTask) -> bool:
    """Whether a task is for this method, as far as is known without its kernel matrix."""
    return task.n <= MOST_POINTS


def shared_factor(task: KernelTask) -> Reals | None:
    """``L`` of :func:`factor_of`, computed once for all tasks that share their values."""
    values = task.values
    if values.factor is None:
        factor = factor_of(task.kernel.block(task.X, task.X))
        values.factor = False if factor is None else factor
    return None if values.factor is False else values.factor


def factor_of(K: Reals) -> Reals | None:
    """``L`` of shape ``(n, rank)`` with ``K = L L^T`` up to rounding; None when there is none."""
    n = len(K)
    largest = float(np.abs(K).max(initial=0.0))
    if largest == 0.0:
        return np.zeros((n, 1))
    lower, pivots, rank, _ = dpstrf(K, lower=1)
    L = np.zeros((n, rank))
    L[pivots - 1] = np.tril(lower)[:, :rank]
    if float(np.abs(L @ L.T - K).max()) > _DEFINITE * largest:
        return None
    return L


class _FactorRun(Run):
    task: KernelTask
    exact_gap = True

    def __init__(self, task: KernelTask, factor: Reals) -> None:
        self.task = task
        self.shape = task.terms.sign.shape
        hinges = hinges_only(task.terms, task.name, KernelInteriorPoint().name)
        rng = np.random.default_rng(0)
        if task.totals.any():
            # every term is a row, with columns that say of which group it is
            m = self.shape[1]
            groups = (task.group.reshape(-1, 1) == np.arange(len(task.totals))).astype(np.float64)
            rows = np.hstack([np.repeat(factor, m, axis=0), groups])
            terms = Terms(*(values.reshape(-1, 1) for values in hinges))
            linear = LinearTask(
                Rows(rows), terms, task.C, np.repeat(task.weight, m), "none", task.tol, rng, name=task.name,
                thresholds=task.totals,
            )  # fmt: skip
        else:
            intercept: Literal["free", "none"] = "free" if len(task.totals) else "none"
            linear = LinearTask(Rows(factor), task.terms, task.C, task.weight, intercept, task.tol, rng, name=task.name)
            if task.warm is not None:
                linear.warm = WarmStart(np.concatenate([factor.T @ task.warm.w[: task.n], task.warm.w[task.n :]]))
        self.inner = InteriorPoint().start(linear)
        self.point = np.zeros(task.n_weights)

    def advance(self) -> Step:
        return self.inner.advance()

    def dual(self) -> float:
        """Variables that are clearly on a bound are put there, if that keeps the gap: few points support the model."""
        task = self.task
        if not self.inner.steps and task.warm is not None:  # maybe good enough as it is
            self.point, value = task.from_dual(task.start())
            return value
        self.point, value = task.from_dual(self.inner.a.reshape(self.shape))
        rounded, rounded_value = task.from_dual(self.inner.rounded(_CLEARLY).reshape(self.shape))
        primal = task.objective(rounded)
        gap = primal - rounded_value
        if task.small(gap, primal, rounded_value) or gap <= task.objective(self.point) - value:
            self.point, value = rounded, rounded_value
        return value

    def weights(self) -> Reals:
        return self.point

    def evaluate(self, w: Reals) -> Evaluation:
        return self.task.evaluate(w)
