"""Newton's method for kernel machines of up to a few thousand points: the linear method on a factor of the matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base import Run, Step
from ..linear.newton import Newton
from .factor import factor_for, linear_task_of
from .task import KernelTask

__all__ = ["KernelNewton", "KernelNewtonRun"]

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class KernelNewton:
    """Newton's method on a factor of the kernel matrix, see :mod:`maxmargin.solvers.kernel.factor`."""

    @property
    def name(self) -> str:
        """Short name, as accepted by the estimators."""
        return "newton"

    def start(self, task: KernelTask) -> KernelNewtonRun:
        """Begin a run.

        Raises
        ------
        DataError
            When there are too many points, the kernel matrix is not positive semi-definite, or the loss has no
            derivative.
        """
        Newton().check(task)
        factor = factor_for(task, "Newton's method", many="use scikit-learn's Nystroem before a linear machine")
        return KernelNewtonRun(task, factor)


class KernelNewtonRun(Run):
    """Its weights are those of a dual point; ``a`` is the one whose weights are the nearest to the optimum."""

    task: KernelTask
    exact_gap = True
    label = "newton"

    def __init__(self, task: KernelTask, factor: Reals) -> None:
        self.task = task
        self.linear = linear_task_of(task, factor)
        self.inner = Newton().start(self.linear)
        self.a = np.zeros(task.terms.sign.shape)
        self.bound, self.gap = self._figures(self.a)
        self.idle = 0
        self.point = np.zeros(task.n_weights)

    def _figures(self, a: Reals) -> tuple[float, float]:
        """Value of a dual point, and how far its weights lie above it."""
        w, value = self.linear.from_dual(a)
        return value, self.linear.objective(w) - value

    def advance(self) -> Step:
        step = self.inner.advance()
        bound, gap = self._figures(self.inner.at.a)
        self.idle += 1
        if gap < self.gap:
            self.a, self.bound, self.gap, self.idle = self.inner.at.a, bound, gap, 0
        return Step(step.passes, self.gap, self.bound, ready=step.ready and self.idle >= 3)

    def dual(self) -> float:
        self.point, value = self.task.from_dual(self.a)
        return value

    def weights(self) -> Reals:
        return self.point
