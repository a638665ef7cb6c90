"""Interior point for kernel machines of up to a few thousand points: the linear method on a factor of the matrix.

Kernels of low rank (polynomials of few features), on which pairs of variables take millions of steps, are the cheapest
here. Cost: ``n r^2`` for a rank of ``r`` in every iteration, see :mod:`maxmargin.solvers.kernel.factor`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...terms import Terms, hinges_only
from ..base import Run, Step
from ..linear.interior_point import InteriorRun
from ..linear.rows import Rows
from ..linear.task import LinearTask
from .factor import factor_for, linear_task_of
from .task import KernelTask

__all__ = ["KernelInteriorPoint"]

Reals = NDArray[np.float64]


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
        hinges_only(task.terms, task.name, self.name)
        other = "use solver='block_smo'"
        return _FactorRun(task, factor_for(task, "the interior point method", many=other, indefinite=f"; {other}"))


class _FactorRun(Run):
    task: KernelTask
    exact_gap = True

    def __init__(self, task: KernelTask, factor: Reals) -> None:
        self.task = task
        self.shape = task.terms.sign.shape
        if task.totals.any():
            # every term is a row, with columns that say of which group it is
            m = self.shape[1]
            groups = (task.group.reshape(-1, 1) == np.arange(len(task.totals))).astype(np.float64)
            rows = np.hstack([np.repeat(factor, m, axis=0), groups])
            hinges = hinges_only(task.terms, task.name, KernelInteriorPoint().name)
            terms = Terms(*(values.reshape(-1, 1) for values in hinges))
            linear = LinearTask(
                Rows(rows), terms, task.C, np.repeat(task.weight, m), "none", task.tol, np.random.default_rng(0),
                name=task.name, deadline=task.deadline, thresholds=task.totals,
            )  # fmt: skip
        else:
            linear = linear_task_of(task, factor)
        self.inner = InteriorRun(linear)
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
        above = task.objective(self.point) - value  # now: products of the last point alone are remembered
        for a in self.inner.crossings():
            point, crossed = task.from_dual(a.reshape(self.shape))
            primal = task.objective(point)
            if task.small(primal - crossed, primal, crossed) or primal - crossed <= above:
                self.point, value = point, crossed
                break
        return value

    def weights(self) -> Reals:
        return self.point
