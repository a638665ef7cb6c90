"""Leaps of dual coordinate ascent: conjugate gradients along the dual variables that are strictly inside their bounds.

Where rows depend on one another, or contradict each other, and ``C`` is large, single steps undo each other, and passes
go on without end. By then most variables have found the bound that they stay at, and along the others, the face of the
box on which the point lies, the dual is a quadratic of which conjugate gradients find the maximum in a few dozen
products; where a factor of its matrix costs no more than these would, it leads them there at once. The way is projected
back onto the box; passes after it find the next face. Free variables must be no more than weights, or few. Source: Moré
and Toraldo (SIAM Journal on Optimization 1991), algorithm GPCG, with coordinate ascent in the place of gradient
projection.
Memory beyond that of coordinate ascent: a few numbers for each free variable and feature, a copy of the rows with free
variables where rows are sparse, and a matrix of the free variables where one is factored.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..._products import inner
from ..base import Step
from ..truncated import conjugate_gradients
from .rows import Rows

__all__ = ["Face", "Leaps", "leap"]

Reals = NDArray[np.float64]
_FORCING = 1e-8
# where the dual rises without bending, as along two rows that contradict each other, the way ends this many times
# further than the bounds are apart (measured on such rows: from 10 to 1000 times are as good, once takes twice the
# passes)
_BEYOND = 100.0
_TRIES, _SHORTER, _SUFFICIENT = 10, 0.25, 0.1
# cost of the passes before the first leap and between two; of all cost before, the share that one may have; the least
# number of products (measured on texts, digits, and rows that contradict each other: of 2 to 16 passes between them and
# shares up to a half none is better everywhere)
_FIRST, _BETWEEN, _SHARE, _LEAST = 32, 8, 0.125, 30
# free variables that are few however few the weights are (measured on 400 sets of up to 14 rows, scaled at random, with
# C from 1e-4 to 1e4: within 3,000 passes 57 did not come to a gap of 1e-6 without, 10 do not with it)
_FEW = 100


class Face(Protocol):
    """Free dual variables as one vector, and the dual along them: ``slope p - 1/2 p H p``.

    Attributes
    ----------
    values : float64 array of shape (m,)
    slope : float64 array of shape (m,)
        Gradient of the dual, along the directions that the face allows.
    diagonal : float64 array of shape (m,)
        Of ``H``.
    upper : float64 array of shape (m,)
        Largest values; may be infinite.
    """

    values: Reals
    slope: Reals
    diagonal: Reals
    upper: Reals

    def product(self, p: Reals) -> Reals:
        """``H p``."""

    def inverse(self, damping: Reals, most: int) -> tuple[Callable[[Reals], Reals], int] | None:
        """What makes ``p`` of ``(H + diag(damping)) p`` but for rounding, and how many products it took.

        None where it would take more than ``most``, and where rounding is all there is.
        """

    def projected(self, values: Reals) -> Reals:
        """The nearest values between the bounds."""


class Leaps:
    """When to leap, and how far: leaps are to cost a part of what the passes do.

    Costs are in passes over all rows: passes that leave rows out cost less, and so do products with some rows.

    Parameters
    ----------
    after : float
        How many times later than usual the first one comes.
    """

    def __init__(self, after: float = 1.0) -> None:
        self._cost, self._next, self._share = 0.0, after * _FIRST, 0.0
        self._wait, self._best, self._judged = float(_BETWEEN), -math.inf, True

    def due(self, cost: float) -> bool:
        """Whether a leap may pay, after one more pass of that cost."""
        self._cost += cost
        return self._cost >= self._next

    def products(self, chosen: int, free: int, rows: Rows, n_weights: int, passes_left: float) -> int:
        """How many products with the chosen rows a leap may take: 0 where there are none, or where it will not pay.

        A product reads the rows chosen as a pass does, and goes over the features besides. Where free variables are
        more than weights, most of them have not found their bounds yet, and passes do that sooner (measured on a9a and
        on digits). Of few that does not count: on small sets of unscaled rows passes alone may go on for ever.
        """
        self._next = self._cost + self._wait
        if not 0 < free <= max(n_weights, _FEW):
            return 0
        self._share = chosen / rows.shape[0] + rows.shape[1] / max(rows.entries, 1)
        left = (passes_left - 2.0) / self._share - _TRIES  # a look at where it ends, and some room
        return int(max(min(max(float(_LEAST), _SHARE * self._cost / self._share), left), 0.0))

    def count(self, step: Step, products: int) -> None:
        """Add the cost of a leap to the pass before; as much is to be done before the next."""
        cost = products * self._share
        step.passes += math.ceil(cost)
        step.work += cost
        self._cost += cost
        self._next = self._cost + max(self._wait, cost)
        self._judged = False

    def judge(self, bound: float) -> None:
        """What the lower bound is; where a leap has not raised it, twice as many passes are made before the next.

        So leaps that disturb the search for a free intercept, as on a few rows, become rare.
        """
        if not self._judged:
            self._wait = float(_BETWEEN) if bound > self._best else 2.0 * self._wait
            self._next = max(self._next, self._cost + self._wait)
            self._judged = True
        self._best = max(self._best, bound)


def leap(face: Face, most: int) -> tuple[Reals | None, Reals, int]:
    """A step from the point of a face towards the maximum of the dual on it.

    Parameters
    ----------
    face : Face
    most : int
        Products for the way; the search along it may take a few more.

    Returns
    -------
    change : float64 array of shape (m,), or None
        What to add to the values so that the dual rises; None where no step was found that makes it rise.
    way : float64 array of shape (m,)
        Where conjugate gradients went, whatever the bounds.
    products : int
    """
    damping = float(np.abs(face.slope).max()) / (_BEYOND * face.upper)
    scale = 1.0 / np.maximum(face.diagonal + damping, 1e-300)

    def damped(p: Reals) -> Reals:
        return face.product(p) + damping * p

    with np.errstate(over="ignore", invalid="ignore"):  # such a way is not taken
        inverse, before = face.inverse(damping, most) or (None, 0)
        way, done, _ = conjugate_gradients(
            damped, face.slope, inverse or scale, forcing=_FORCING, most=max(most - before, 1)
        )
        done += before
        step = 1.0
        for _ in range(_TRIES):
            change = face.projected(face.values + step * way) - face.values
            linear = inner(face.slope, change)
            rise = linear - 0.5 * inner(change, face.product(change))
            done += 1
            if rise > _SUFFICIENT * abs(linear):
                return change, way, done
            step *= _SHORTER
    return None, way, done
