"""The objective as first-order methods see it, whatever the problem.

``P(w) = penalty(w) + L(w)``, and at every point a plane that touches the convex loss ``L`` from below:
``L(v) >= <slope, v> + offset`` with equality at ``v = w``. A plane stands for a point of the dual, and so does every
average of planes: both give lower bounds of the optimum.

Linear, structured and ranking problems have such a face, each in a module of its own. A new kind of problem is a
subclass of :class:`Objective`, or of :class:`ScoredObjective`, and a name in :func:`objective_of`; no solver is
touched.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._products import inner
from ..errors import DataError
from .simplex_qp import solve_simplex_qp

__all__ = [
    "Bounds", "Objective", "Place", "Plane", "Point", "ScoredObjective", "objective_of", "starting_weights",
]  # fmt: skip

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]


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

    Dual points are planes ``[slope, offset]``, but for subclasses that say otherwise.

    Attributes
    ----------
    kind : type
        Class of the tasks whose face it is.
    ridge : float64 array of shape (n_weights,)
        ``penalty(w)`` is ``1/2 sum_j ridge_j w_j^2``: 1, but for the intercept.
    has_bias : bool
        Whether the last weight is an intercept.
    smooth : bool
        Whether the loss has a derivative everywhere.
    steep : bool
        Whether slopes of the loss grow without bound although it is not said to have a derivative.
    tied : bool
        Whether there may be points, such as 0, where a subgradient is one of very many and no way down.
    dear : bool
        Whether another value on a line costs a pass over the data.
    by_example : bool
        Whether what some of the examples say is a dual point too; of planes it takes each example once.
    """

    kind: ClassVar[type]
    ridge: Reals
    has_bias: bool = False
    smooth: bool = False
    steep: bool = False
    tied: bool = False
    dear: bool = False
    by_example: bool = False

    def __init__(self, task: Any) -> None:
        self.task = task

    @property
    def n_weights(self) -> int:
        """Length of the vector of weights."""
        return len(self.ridge)

    @property
    def bias_square(self) -> float:
        """Square of the constant feature as whose weight the intercept steps."""
        return 0.0

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

    def no_dual(self) -> Reals:
        """Zeros of the shape of a dual point."""
        return np.zeros(self.n_weights + 1)

    def bound(self, dual: Reals) -> tuple[Reals, float]:
        """Weights of a dual point and the lower bound that it gives."""
        w = -dual[:-1]
        return w, float(dual[-1]) - float(self.task.penalty(w))

    def gradient(self, point: Point) -> Reals:
        """Subgradient of the whole objective."""
        return np.asarray(self.ridge * point.w + point.slope)

    def change(self) -> float:
        """How fast the gradient of one example, times their number, changes at most; of smooth or steep losses."""
        raise NotImplementedError

    def settled(self, w: Reals) -> Reals:
        """The same weights with the best intercept, where that is free."""
        return w

    def steps(self, w: Reals, *, averaged: bool, momentum: float, radius: float, anchored: bool) -> Any:
        """Compiled steps of stochastic methods from ``w``, as :class:`~.linear.subgradient_steps.CompiledSteps`.

        ``anchored`` ones are to have ``set_anchor``. None where there are none: steps are taken along :meth:`slope_of`
        then.
        """
        return None


class Place(NamedTuple):
    """Weights, the scores there, and the loss; ``state`` is what the face keeps for :meth:`ScoredObjective.plane`."""

    w: Reals
    scores: Reals
    loss: float
    state: Any = None


class Plane(NamedTuple):
    """A plane below the loss, ``<slope, v> + offset``, the place where it touches, and its dual point, packed."""

    place: Place
    slope: Reals
    offset: float
    kept: Any = None


class ScoredObjective(Objective):
    """A loss that is known from scores: on a line between two places nothing costs a product with the data."""

    @abstractmethod
    def place(self, w: Reals) -> Place:
        """The place of these weights, with the best intercept where it is free."""

    @abstractmethod
    def placed(self, w: Reals, scores: Reals) -> Place:
        """The same, where the scores of the weights are known."""

    @abstractmethod
    def descent(self, scores: Reals) -> Reals:
        """Minus a subgradient of the loss in the scores."""

    @abstractmethod
    def plane(self, place: Place) -> Plane:
        """A plane that touches the loss there; with a free intercept it is level in that direction."""

    def mixed(self, planes: list[tuple[Any, float]], radius: float | None) -> float | None:
        """Lower bound from what was kept with planes, and their weights; None where the planes alone tell it.

        With a ``radius`` it is of the loss alone over the ball, see :class:`~.ball.Ball`.
        """
        return None


def objective_of(task: Any, solver: str) -> Objective:
    """The face of a task.

    Raises
    ------
    DataError
        For a task of another kind: ``solver`` is named.
    """
    # here, as these modules import this one
    from .linear.objective import LinearObjective
    from .ranking.objective import RankingObjective
    from .structured_objective import StructuredObjective

    faces: tuple[type[Objective], ...] = (LinearObjective, StructuredObjective, RankingObjective)
    for face in faces:
        if isinstance(task, face.kind):
            return face(task)
    raise DataError(
        f"{task.name}: {solver} is for linear and structured machines and for ranking, which have weights to move"
    )


class Bounds:
    """The best lower bound from the dual points of a sequence of points and from their mean, later ones weighing more.

    Of planes every point counts, and so does the best average of them and of the best one so far: no bound is below 0
    then, which is the plane below all losses. Bounds of other dual points cost products with the data, so that only
    some are tried: ever fewer, as the sequence grows.
    """

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.mean: Reals | None = None
        self.kept: Reals | None = None
        self.best, self.count, self.next = -np.inf, 0, 1

    def add(self, dual: Reals) -> None:
        """Take a dual point; the share of the ``t``-th in the mean is ``2 / (t + 1)`` when it comes."""
        self.count += 1
        share = 2.0 / (self.count + 1.0)
        if self.mean is None:
            self.mean = dual.copy()
        else:
            self.mean += share * (dual - self.mean)
        due = self.count >= self.next
        if due:
            self.next = int(1.2 * self.count) + 1
        if due or not self.objective.by_example:
            self.look(dual)
        if due and self.count > 1:
            self.look(self.mean)

    def look(self, dual: Reals) -> None:
        """Take the bound of a dual point, if it is the best so far."""
        if not self.objective.by_example:
            dual = _best_average([dual] if self.kept is None else [self.kept, dual])
        bound = self.objective.bound(dual)[1]
        if bound > self.best:
            self.best = bound
            self.kept = None if self.objective.by_example else dual

    def latest(self) -> float:
        """The best bound, that of the mean as it is now among them."""
        if self.mean is not None:
            self.look(self.mean)
        return self.best


def _best_average(planes: list[Reals]) -> Reals:
    """The average of planes ``[slope, offset]`` and of 0 with the highest bound ``offset - 1/2 |slope|^2``."""
    G = np.array([[inner(p[:-1], q[:-1]) for q in planes] for p in planes])
    if not np.isfinite(G).all():
        return planes[0]
    first = np.zeros(len(planes))
    first[0] = 1.0
    shares, _ = solve_simplex_qp(G, np.array([p[-1] for p in planes]), 1.0, first, tol=0.0)
    return np.asarray(sum(share * plane for share, plane in zip(shares, planes, strict=True)))


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
