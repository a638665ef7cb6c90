"""Structured problems as first-order methods see them, see :mod:`maxmargin.solvers.objective`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .._products import inner
from .base import Task
from .compiled_oracle import CompiledOracle
from .objective import Objective, Point
from .oracle import Work
from .planes import Planes
from .structured_steps import NEAR, StructuredSteps

__all__ = ["StructuredObjective"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
_FEW = 64
_EPSILON = float(np.finfo(np.float64).eps)


class StructuredObjective(Objective):
    """Planes of most violated outputs.

    The kink where the truth itself has the largest loss and score, that is a slack of 0, has the subgradient 0. Where
    several other outputs tie, the subgradient is that of the one which the decoder says.
    """

    kind = Task
    tied = dear = True

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.c = task.c
        self.ridge = np.ones(task.oracle.n_weights)
        self.few: Work | None = None
        self.used: Ints = np.empty(0, np.int64)

    def at(self, w: Reals) -> Point:
        plane, loss = self._plane(w, self.task.examples, Work.start(0, self.c))
        return Point(w, self.task.penalty(w) + loss, plane[:-1], plane)

    def along(self, point: Point, direction: Reals) -> Callable[[float], float]:
        task = self.task

        def value(r: float) -> float:
            w = point.w + r * direction
            found = task.oracle.evaluate(w, task.examples, n_jobs=task.n_jobs)
            return float(task.penalty(w)) + inner(self.c[task.examples], found.slack)

        return value

    def slope_of(self, w: Reals, examples: Ints, dual: Reals | None = None) -> Reals:
        plane, _ = self._plane(w, examples, self._emptied(examples))
        if dual is not None:
            dual += plane
        return plane[:-1]

    def steps(
        self, w: Reals, *, averaged: bool, momentum: float, radius: float, anchored: bool
    ) -> StructuredSteps | None:
        if momentum > 0.0 or not isinstance(self.task.oracle, CompiledOracle):
            return None
        steps = StructuredSteps(w, averaged=averaged, radius=radius)
        steps.turn_to(self)
        return steps

    def _emptied(self, examples: Ints) -> Work:
        """A working set of no planes, for these examples; to make a new one takes time for each example there is."""
        if self.few is None:
            self.few = Work.start(0, self.c)
        planes = self.few.planes
        planes.next[planes.head[self.used]] = -1
        planes.counts[:] = len(self.c), 0
        self.used = examples
        return self.few

    def _plane(self, w: Reals, examples: Ints, work: Work) -> tuple[Reals, float]:
        """``[slope, offset]`` of the most violated outputs, or of the truth where there is no slack; and the loss."""
        task = self.task
        found = task.oracle.evaluate(w, examples, work=work, n_jobs=task.n_jobs if len(examples) > _FEW else 1)
        planes = work.planes  # it may have grown
        loss, c = planes.loss[found.planes], self.c[examples]
        violated = found.slack > 0.0
        near = found.slack <= NEAR * (1.0 + loss + np.abs(w).max(initial=0.0))
        for k in np.flatnonzero(violated & near & (planes.length[found.planes] > 0)):
            violated[k] = self._is_above(w, planes, examples[k : k + 1], found.planes[k : k + 1])
        used = np.where(violated, c, 0.0)
        out = np.zeros(len(w) + 1)
        task.oracle.add_planes(planes, examples, found.planes, used, out[:-1])
        out[-1] = inner(used, loss)
        return out, inner(c, found.slack)

    def _is_above(self, w: Reals, planes: Planes, example: Ints, plane: Ints) -> bool:
        """Whether a plane is above that of the truth at ``w`` by more than rounding.

        A sum of ``m`` products has an error of at most ``m / 2`` times the machine's epsilon, relative to the sum of
        their sizes; what is not more says no more than that the truth ties, and its plane touches the loss as well.
        """
        psi = np.zeros(len(w))
        self.task.oracle.add_planes(planes, example, plane, np.ones(1), psi)
        used = np.flatnonzero(psi)
        products, loss = psi[used] * w[used], float(planes.loss[plane[0]])
        size = loss + float(np.abs(products).sum())
        return loss + float(products.sum()) > (len(used) + 2) * _EPSILON * size
