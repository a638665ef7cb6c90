"""Linear problems as first-order methods see them, see :mod:`maxmargin.solvers.objective`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._products import inner
from ..objective import Place, Plane, Point, ScoredObjective
from .intercept import balanced, best_intercept
from .subgradient_steps import CompiledSteps, curvatures, has_compiled_steps
from .task import LinearTask

__all__ = ["LinearObjective"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]


class LinearObjective(ScoredObjective):
    """Dual points are those of the terms, ``(n, m)``. The kink of a hinge has the subgradient 0."""

    kind = LinearTask
    by_example = True

    def __init__(self, task: LinearTask) -> None:
        super().__init__(task)
        self.ridge, self.has_bias = task.ridge, task.intercept != "none"
        self.free = task.intercept == "free"
        self.smooth = task.terms.smooth
        self.steep = not self.smooth and bool(curvatures(task.terms).any())

    @property
    def bias_square(self) -> float:
        if self.free:
            return float(self.task.rows.squared_norms.mean())
        return float(self.task.scale**2) if self.has_bias else 0.0

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
            return float(task.penalty(point.w + r * direction)) + cost

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
        return np.zeros(self.task.terms.sign.shape)

    def bound(self, dual: Reals) -> tuple[Reals, float]:
        found: tuple[Reals, float] = self.task.from_dual(dual)
        return found

    def change(self) -> float:
        rows = self.task.rows
        squares = rows.squared_norms + self.bias_square
        return float(rows.shape[0] * (curvatures(self.task.terms) * squares).max())

    def settled(self, w: Reals) -> Reals:
        if self.free:
            w = w.copy()
            w[-1] = 0.0
            w[-1] = best_intercept(self.task.terms, self.task.scores(w))
        return w

    def steps(
        self, w: Reals, *, averaged: bool, momentum: float, radius: float, anchored: bool
    ) -> CompiledSteps | None:
        rows, terms = self.task.rows, self.task.terms
        if not has_compiled_steps(terms):
            return None
        d = rows.shape[1]
        bias_ridge = float(self.ridge[d:].sum())
        steps = CompiledSteps(w, d, averaged=averaged, momentum=momentum, radius=radius, bias_ridge=bias_ridge)
        steps.turn_to(rows, terms)
        return steps

    def place(self, w: Reals) -> Place:
        scores = self.task.scores(w)
        if self.free:
            b = best_intercept(self.task.terms, scores)
            w, scores = w.copy(), scores + b
            w[-1] += b
        return self.placed(w, scores)

    def placed(self, w: Reals, scores: Reals) -> Place:
        return Place(w, scores, float(self.task.terms.cost(scores).sum()))

    def descent(self, scores: Reals) -> Reals:
        terms = self.task.terms
        return np.asarray(terms.beta(terms.multipliers(scores)))

    def plane(self, place: Place) -> Plane:
        terms, rows, d = self.task.terms, self.task.rows, self.task.rows.shape[1]
        if self.free:
            b, a, offset = balanced(terms, place.scores)
            beta = terms.beta(a)
            offset -= float(place.w[-1]) * float(beta.sum())
            w, scores = place.w.copy(), place.scores + b
            w[-1] += b
            place = self.placed(w, scores)
        else:
            a = terms.multipliers(place.scores)
            beta = terms.beta(a)
            offset = place.loss + inner(beta, place.scores)
        slope = np.zeros_like(place.w)
        slope[:d] = -rows.combined(beta)
        if self.has_bias and not self.free:
            slope[d] = -float(beta.sum())
        return Plane(place, slope, offset, _packed(a, terms.upper))

    def mixed(self, planes: list[tuple[Any, float]], radius: float | None) -> float:
        upper = self.task.terms.upper
        a = np.zeros(upper.size)
        for kept, weight in planes:
            _unpack(kept, upper, weight, a)
        return float(self.task.from_dual(a.reshape(upper.shape), radius)[1])


class _Packed(NamedTuple):
    """A dual point: a bit for each variable at its upper bound, and those that are neither there nor 0.

    ``index`` says which those are: places, or all.
    """

    full: NDArray[np.uint8]
    index: Any
    value: Reals


def _packed(a: Reals, upper: Reals) -> _Packed:
    full = (a == upper).ravel()
    others = np.where(full, 0.0, a.ravel())
    index: Any = np.flatnonzero(others)
    if 2 * len(index) > len(others):
        index = slice(None)
    return _Packed(np.packbits(full), index, others[index])


def _unpack(packed: _Packed, upper: Reals, weight: float, out: Reals) -> None:
    """Add ``weight`` times a dual point."""
    full = np.flatnonzero(np.unpackbits(packed.full, count=len(out)))
    out[full] += weight * upper.ravel()[full]
    out[packed.index] += weight * packed.value
