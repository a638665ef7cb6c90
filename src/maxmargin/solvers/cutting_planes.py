"""The working set of a cutting-plane method: the largest of some planes, as a lower bound of a loss, and its minimum.

Model: ``m(v) = max(0, max_t offset_t + <slope_t, v>)``, for a loss that is nowhere negative. With dual weights ``a`` on
the simplex (the plane 0 has what is left to 1) and ``A`` the slopes as rows, its minima are, by duality,

    min_v 1/2 |v|^2 + m(v)    =  max_a  <offset, a> - 1/2 |A^T a|^2,     v = -A^T a,
    min_(|v| <= r) m(v)       =  max_a  <offset, a> - r |A^T a|,

and every ``a`` gives a lower bound. Planes without weight for some rounds are dropped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._products import inner
from ..errors import DataError
from .ball_program import solve_ball_program
from .simplex_qp import solve_simplex_qp

__all__ = ["CuttingPlanes"]

Reals = NDArray[np.float64]


@dataclass
class _Plane:
    """``offset + <slope, v>`` with a sparse slope, the last round in which it had weight, and what belongs to it."""

    index: NDArray[np.int64]
    value: Reals
    offset: float
    used: int
    kept: Any


class CuttingPlanes:
    """Planes, their Gram matrix, their dual weights, and the minimiser ``v`` of their maximum.

    Parameters
    ----------
    n : int
        Length of the slopes.
    keep_rounds : int
        Planes without weight for so many rounds are dropped; each new plane begins a round.
    """

    def __init__(self, n: int, keep_rounds: int) -> None:
        self.keep_rounds = keep_rounds
        self.planes: list[_Plane] = []
        self.G = np.zeros((0, 0))
        self.a = np.zeros(0)
        self.v = np.zeros(n)
        self.round = 0

    def add(self, slope: Reals, offset: float, kept: Any = None) -> None:
        """Add a plane; ``kept`` stays with it.

        Raises
        ------
        DataError
            When the products of the slopes overflow.
        """
        self.round += 1
        index = np.flatnonzero(slope)
        plane = _Plane(index, slope[index], float(offset), self.round, kept)
        row = np.array([inner(slope[k.index], k.value) for k in self.planes] + [inner(plane.value, plane.value)])
        if not (np.isfinite(row).all() and np.isfinite(plane.offset)):
            raise DataError("the sums of the features overflow; scale the features down or lower C")
        self.planes.append(plane)
        G = np.empty((len(row), len(row)))
        G[:-1, :-1] = self.G
        G[-1, :], G[:, -1] = row, row
        self.G, self.a = G, np.append(self.a, 0.0)

    def minimise(self, tol: float) -> float:
        """Set ``v`` to the minimiser of ``1/2 |v|^2 + m(v)``; returns a lower bound, within ``tol`` of the minimum."""
        self.a, _ = solve_simplex_qp(self.G, self._offsets(), 1.0, self.a, tol=tol)
        self._drop()
        return self.value()

    def value(self) -> float:
        """Set ``v`` to ``-A^T a``, computed afresh; returns the lower bound of ``1/2 |v|^2 + m(v)``."""
        offset = self.combine(self.a, self.v)
        np.subtract(0.0, self.v, out=self.v)
        return offset - 0.5 * inner(self.v, self.v)

    def minimise_in_ball(self, radius: float, tol: float) -> float:
        """Set ``v`` to a minimiser of ``m`` over the ball; returns a lower bound, within ``tol`` of the minimum."""
        slope = np.zeros_like(self.v)

        def length(a: Reals) -> float:
            self.combine(a, slope)
            return math.sqrt(inner(slope, slope))

        self.a, step = solve_ball_program(self.G, self._offsets(), radius, self.a, length, tol=tol)
        self.combine(step, self.v)
        np.subtract(0.0, self.v, out=self.v)
        outside = math.sqrt(inner(self.v, self.v)) / radius
        if outside > 1.0:
            self.v /= outside
        self._drop()
        return self.value_in_ball(radius)

    def value_in_ball(self, radius: float) -> float:
        """The lower bound of ``m`` over the ball, computed afresh."""
        slope = np.zeros_like(self.v)
        return self.combine(self.a, slope) - radius * math.sqrt(inner(slope, slope))

    def combine(self, weights: Reals, out: Reals) -> float:
        """Fill ``out`` with the weighted sum of the slopes, computed afresh; returns that of the offsets."""
        out[:] = 0.0
        offset = 0.0
        for plane, weight in zip(self.planes, weights, strict=False):  # an interrupt may leave one without weight yet
            if weight > 0.0:
                out[plane.index] += weight * plane.value
                offset += weight * plane.offset
        return offset

    def _offsets(self) -> Reals:
        return np.array([plane.offset for plane in self.planes])

    def _drop(self) -> None:
        for plane, weight in zip(self.planes, self.a, strict=True):
            if weight > 0.0:
                plane.used = self.round
        keep = np.array([self.round - plane.used < self.keep_rounds for plane in self.planes])
        if not keep.all():
            self.planes = [plane for plane, kept in zip(self.planes, keep, strict=True) if kept]
            self.G, self.a = np.ascontiguousarray(self.G[np.ix_(keep, keep)]), self.a[keep]
