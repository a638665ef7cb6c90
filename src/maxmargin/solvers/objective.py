"""The objective as first-order methods see it, of linear and of structured problems alike.

``P(w) = penalty(w) + L(w)``, and at every point a plane that touches the convex loss ``L`` from below:
``L(v) >= <slope, v> + offset`` with equality at ``v = w``. A plane stands for a point of the dual, and so does every
average of planes: both give lower bounds of the optimum.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .base import Task
from .linear.task import LinearTask
from .oracle import Work
from .planes import Planes

__all__ = ["Bounds", "Objective", "Point", "objective_of", "starting_weights"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
_FEW = 64
_NEAR = 1e-6
_EPSILON = float(np.finfo(np.float64).eps)


@dataclass
class Point:
    """Weights and what the objective is there.

    Attributes
    ----------
    w : float64 array of shape (n_weights,)
    value : float
        ``P(w)``.
    slope : float64 array of shape (n_weights,)
        Subgradient of the loss alone.
    dual : float64 array
        The dual point that the plane stands for; averages of such arrays are dual points too.
    state : object
        What :meth:`Objective.at` keeps for :meth:`Objective.along`, such as the scores of all rows.
    """

    w: Reals
    value: float
    slope: Reals
    dual: Reals
    state: Any = None


class Objective(ABC):
    """Face of a task for first-order methods.

    Attributes
    ----------
    ridge : float64 array of shape (n_weights,)
        ``penalty(w)`` is ``1/2 sum_j ridge_j w_j^2``: 1, but for the intercept.
    has_bias : bool
        Whether the last weight is an intercept.
    """

    ridge: Reals
    has_bias: bool = False

    @property
    def n_weights(self) -> int:
        """Length of the vector of weights."""
        return len(self.ridge)

    @abstractmethod
    def at(self, w: Reals) -> Point:
        """Value and subgradient: one pass over the data."""

    @abstractmethod
    def along(self, point: Point, direction: Reals) -> Callable[[float], float]:
        """``P(point.w + r direction)`` as a function of ``r``."""

    @abstractmethod
    def slope_of(self, w: Reals, examples: Ints, dual: Reals | None = None) -> Reals:
        """Subgradient of the loss of these examples alone; an example that stands there twice counts twice.

        ``dual`` takes up what they say: zeros of the shape of a dual point are one after each example once.
        """

    @abstractmethod
    def no_dual(self) -> Reals:
        """Zeros of the shape of a dual point."""

    @abstractmethod
    def bound(self, dual: Reals) -> tuple[Reals, float]:
        """Weights of a dual point and the lower bound that it gives."""

    def gradient(self, point: Point) -> Reals:
        """Subgradient of the whole objective."""
        return np.asarray(self.ridge * point.w + point.slope)


def objective_of(task: LinearTask | Task, solver: str) -> Objective:
    """The face of a task.

    Raises
    ------
    DataError
        For a task of another kind: ``solver`` is named.
    """
    if isinstance(task, LinearTask):
        return _LinearObjective(task)
    if isinstance(task, Task):
        return _StructuredObjective(task)
    raise DataError(f"{task.name}: {solver} is for linear and structured machines, which have weights to move")


class _LinearObjective(Objective):
    """Dual points are those of the terms, ``(n, m)``. The kink of a hinge has the subgradient 0."""

    def __init__(self, task: LinearTask) -> None:
        self.task = task
        self.ridge, self.has_bias = task.ridge, task.intercept != "none"

    def at(self, w: Reals) -> Point:
        task = self.task
        scores = task.scores(w)
        a = task.terms.multipliers(scores)
        value = task.penalty(w) + float(task.terms.cost(scores).sum())
        return Point(w, value, task.combined(-task.terms.beta(a)), a, scores)

    def along(self, point: Point, direction: Reals) -> Callable[[float], float]:
        task = self.task
        move = task.scores(direction)

        def value(r: float) -> float:
            cost = float(task.terms.cost(point.state + r * move).sum())
            return task.penalty(point.w + r * direction) + cost

        return value

    def slope_of(self, w: Reals, examples: Ints, dual: Reals | None = None) -> Reals:
        task, rows = self.task, self.task.rows
        d = rows.shape[1]
        X, terms = rows.matrix[examples], task.terms.of_rows(examples)
        scores = np.asarray(X @ w[:d]) + (w[d] if len(w) > d else 0.0)
        a = terms.multipliers(scores)
        if dual is not None:
            dual[examples] = a
        beta = -terms.beta(a)
        slope = np.asarray(X.T @ beta)
        return np.append(slope, beta.sum()) if len(w) > d else slope

    def no_dual(self) -> Reals:
        return np.zeros_like(self.task.terms.sign)

    def bound(self, dual: Reals) -> tuple[Reals, float]:
        return self.task.from_dual(dual)


class _StructuredObjective(Objective):
    """Dual points are planes ``[slope, offset]``.

    The kink where the truth itself has the largest loss and score, that is a slack of 0, has the subgradient 0. Where
    several other outputs tie, the subgradient is that of the one which the decoder says.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
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
            return task.penalty(w) + float(self.c[task.examples] @ found.slack)

        return value

    def slope_of(self, w: Reals, examples: Ints, dual: Reals | None = None) -> Reals:
        plane, _ = self._plane(w, examples, self._emptied(examples))
        if dual is not None:
            dual += plane
        return plane[:-1]

    def no_dual(self) -> Reals:
        return np.zeros(self.n_weights + 1)

    def bound(self, dual: Reals) -> tuple[Reals, float]:
        w = -dual[:-1]
        return w, float(dual[-1]) - self.task.penalty(w)

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
        near = found.slack <= _NEAR * (1.0 + loss + np.abs(w).max(initial=0.0))
        for k in np.flatnonzero(violated & near & (planes.length[found.planes] > 0)):
            violated[k] = self._is_above(w, planes, examples[k : k + 1], found.planes[k : k + 1])
        used = np.where(violated, c, 0.0)
        out = np.zeros(len(w) + 1)
        task.oracle.add_planes(planes, examples, found.planes, used, out[:-1])
        out[-1] = float(used @ loss)
        return out, float(c @ found.slack)

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


class Bounds:
    """The best lower bound from the dual points of a sequence of points and from their mean, later ones weighing more.

    A bound costs products with the data, so that only some points are tried: ever fewer, as the sequence grows.
    """

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.mean: Reals | None = None
        self.best, self.count, self.next = -np.inf, 0, 1

    def add(self, dual: Reals) -> None:
        """Take a dual point; the share of the ``t``-th in the mean is ``2 / (t + 1)`` when it comes."""
        self.count += 1
        share = 2.0 / (self.count + 1.0)
        if self.mean is None:
            self.mean = dual.copy()
        else:
            self.mean += share * (dual - self.mean)
        if self.count >= self.next:
            self.next = int(1.2 * self.count) + 1
            self.look(dual)
            if self.count > 1:
                self.look(self.mean)

    def look(self, dual: Reals) -> None:
        """Take the bound of a dual point, if it is the best so far."""
        self.best = max(self.best, self.objective.bound(dual)[1])

    def latest(self) -> float:
        """The best bound, that of the mean as it is now among them."""
        if self.mean is not None:
            self.look(self.mean)
        return self.best


def starting_weights(start: str | Reals, task: Any, n_weights: int) -> Reals:
    """The weights to begin with: those of a warm start, given ones, zeros, or random ones."""
    if task.warm is not None:
        return np.array(task.warm.w, np.float64)
    if isinstance(start, str):
        if start not in ("zero", "random"):
            raise ValueError(f"start_at must be 'zero', 'random' or an array, not {start!r}")
        if start == "zero":
            return np.zeros(n_weights)
        return np.asarray(task.rng.normal(size=n_weights) / np.sqrt(max(n_weights, 1)))
    w = np.array(start, np.float64)
    if w.shape != (n_weights,) or not np.isfinite(w).all():
        raise ValueError(f"start_at must have {n_weights} finite numbers; its shape is {w.shape}")
    return w
