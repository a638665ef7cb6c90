"""Newton's method for kernel machines of up to a few thousand points: the linear method on a factor of the matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError
from ..base import Run, Step
from ..linear.newton import Newton
from ..linear.rows import Rows
from ..linear.task import LinearTask
from ..oracle import Evaluation
from .interior_point import MOST_POINTS, factor_of, suits
from .task import KernelTask

__all__ = ["KernelNewton"]

Reals = NDArray[np.float64]


@dataclass(frozen=True)
class KernelNewton:
    """Newton's method on a factor of the kernel matrix, see :mod:`maxmargin.solvers.kernel.interior_point`."""

    @property
    def name(self) -> str:
        """Short name, as accepted by the estimators."""
        return "newton"

    def start(self, task: KernelTask) -> Run:
        """Begin a run.

        Raises
        ------
        DataError
            When there are too many points, the kernel matrix is not positive semi-definite, or the loss has no
            derivative.
        """
        if not suits(task):
            raise DataError(
                f"{task.name}: with a kernel this loss is for up to {MOST_POINTS} points; there are {task.n}: use "
                "scikit-learn's Nystroem before a linear machine"
            )
        factor = factor_of(task.kernel.block(task.X, task.X))
        if factor is None:
            raise DataError(
                f"{task.name}: the kernel matrix is not positive semi-definite, which Newton's method needs"
            )
        return _KernelNewtonRun(task, factor)


class _KernelNewtonRun(Run):
    task: KernelTask
    exact_gap = True
    label = "newton"
    reason = "the loss has a derivative"

    def __init__(self, task: KernelTask, factor: Reals) -> None:
        self.task = task
        linear = LinearTask(
            Rows(factor), task.terms, task.C, task.weight, "free" if len(task.totals) else "none", task.tol,
            np.random.default_rng(0), name=task.name,
        )  # fmt: skip
        self.inner = Newton().start(linear)
        self.point = np.zeros(task.n_weights)

    def advance(self) -> Step:
        return self.inner.advance()

    def dual(self) -> float:
        self.point, value = self.task.from_dual(self.inner.highest.a)
        return value

    def weights(self) -> Reals:
        return self.point

    def evaluate(self, w: Reals) -> Evaluation:
        return self.task.evaluate(w)
