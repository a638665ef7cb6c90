"""The hard margin, ``min 1/2 |w|^2  s.t.  y_i (<w, x_i> + b) >= 1``, by any solver of the soft one.

The dual has no upper bounds but is otherwise that of the hinge, and its optimum has ``sum_i a_i = |w|^2``: so with a
``C`` of more than ``|v|^2``, for any weights ``v`` with all margins at least 1, the soft margin is the hard one (exact
penalty). Every dual point of the one is one of the other. Weights near the optimum are divided by their smallest
margin, with the intercept in the middle where it is free; then they have all margins, and no slack is in the
certificate.

With a kernel the points are the rows of a factor ``L`` of its matrix, ``K = L L^T``. A dual point gives weights whose
error is the root of its gap, and where ``C`` is large that is too much; so the coefficients ``beta`` are those that
come nearest to the weights of the solver, ``L^T beta = w``, over the rows of the dual point (all, where it is 0).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq

from .base import Run, Step
from .kernel.factor import linear_task_of
from .kernel.task import KernelTask
from .linear.task import LinearTask
from .oracle import Evaluation

__all__ = ["HardMargin", "scaled_to_margins"]

Reals = NDArray[np.float64]
_INNER = 1e-10
_ROUNDS = 5


@dataclass(frozen=True)
class HardMargin:
    """The hard margin by a solver of the soft one.

    Parameters
    ----------
    soft : solver
        Of linear machines.
    factor : float64 array of shape (n, rank), optional
        Of the kernel matrix, for tasks with a kernel.
    """

    soft: Any
    factor: Reals | None = None

    @property
    def name(self) -> str:
        """That of the other solver."""
        return str(self.soft.name)

    def start(self, task: LinearTask | KernelTask) -> Run:
        """Begin a run on a task with hinges of margin 1 and a large enough ``C``, see above."""
        if isinstance(task, LinearTask):
            return _LinearRun(self.soft, task)
        assert self.factor is not None
        return _KernelRun(self.soft, task, self.factor)


class _HardRun(Run):
    """Passes are those of another run, ``inner``; ``point`` has all margins, once the weights found separate."""

    task: Any
    inner: Run

    def __init__(self, task: LinearTask | KernelTask) -> None:
        self.task = task
        self.point = np.zeros(task.n_weights)

    @property
    def label(self) -> str:  # type: ignore[override]
        """Of the other run."""
        return self.inner.label

    @property
    def reason(self) -> str:  # type: ignore[override]
        """Of the other run."""
        return self.inner.reason

    def advance(self) -> Step:
        self.inner.passes_left, self.inner.at_once = self.passes_left, self.at_once
        return self.inner.advance()

    def change_way(self) -> bool:
        return self.inner.change_way()

    def evaluate(self, w: Reals) -> Evaluation:
        """As posed; the other run looks at its own weights, which may need rows that it has left out."""
        if w is self.point:
            self.inner.evaluate(self.inner.weights())
            self.owed, self.inner.owed = self.inner.owed, 0
        found: Evaluation = self.task.evaluate(w)
        return found

    def weights(self) -> Reals:
        return self.point


class _LinearRun(_HardRun):
    def __init__(self, soft: Any, task: LinearTask) -> None:
        super().__init__(task)
        # dual points far better than the weights that are asked for: a large C needs them
        self.soft_task = replace(task, tol=min(task.tol, _INNER))
        self.inner = soft.start(self.soft_task)

    def dual(self) -> float:
        value = self.inner.dual()
        self.point = _with_margins(self.task, self.inner.weights(), self.task.intercept == "free")
        self.task.dual_point = self.soft_task.dual_point
        return value


class _KernelRun(_HardRun):
    def __init__(self, soft: Any, task: KernelTask, factor: Reals) -> None:
        super().__init__(task)
        self.factor, self.free = factor, len(task.totals) > 0
        self.linear = linear_task_of(task, factor)
        self.inner = _LinearRun(soft, self.linear)

    def dual(self) -> float:
        task = self.task
        self.inner.dual()
        beta = self.linear.dual_point.beta
        first, value = task.from_dual(np.maximum(task.terms.sign * beta[:, None], 0.0))
        self.point = _with_margins(task, first, self.free)
        lowest = task.objective(self.point)
        w = self.inner.weights()
        rows = np.flatnonzero(beta) if beta.any() else task.examples
        for _ in range(_ROUNDS):
            near = np.zeros(task.n_weights)
            near[rows] = lstsq(self.factor[rows].T, w[: self.factor.shape[1]], lapack_driver="gelsy")[0]
            near[task.n :] = w[self.factor.shape[1] :]
            right = near[rows] * task.terms.sign[rows, 0] > 0.0
            if right.all():
                candidate = _with_margins(task, near, self.free)
                if task.objective(candidate) < lowest:
                    self.point = candidate
                break
            if not right.any():
                break
            rows = rows[right]
        return float(value)


def scaled_to_margins(w: Reals, least: Callable[[Reals], float]) -> Reals:
    """The weights scaled so that the smallest margin ``least(w)`` is 1; as they are where it is not positive."""
    margin = least(w)
    if not margin > 0.0:
        return w
    out = w / margin
    growth = np.finfo(np.float64).eps
    while not least(out) >= 1.0 and growth < 1.0:  # rounding
        out *= 1.0 + growth
        growth *= 2.0
    return out


def _with_margins(task: LinearTask | KernelTask, w: Reals, free: bool) -> Reals:
    """The weights scaled so that the smallest margin is 1; as they are where they do not separate."""
    sign = task.terms.sign[:, 0]

    def least(v: Reals) -> float:
        return float((sign * task.scores(v)).min())

    out = w
    if free:
        scores = task.scores(w)
        out = w.copy()
        out[-1] -= 0.5 * float(scores[sign > 0.0].min() + scores[sign < 0.0].max())
    scaled = scaled_to_margins(out, least)
    return w if scaled is out else scaled
