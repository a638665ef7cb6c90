"""Losses that are sums of hinges of one score, and their duals: the plain machines in one form.

Row ``i`` has the score ``f_i = <w, x_i> + b`` and ``m`` terms. Term ``v`` has the slack
``s_v = (margin_v - sign_v f_i)_+`` and costs ``upper_v s_v``, or ``s_v^2 / (2 ridge_v)`` where ``ridge_v > 0``; the
objective is ``1/2 |w|^2 + sum_v cost_v``. Its dual, with ``beta_i = sum_v sign_v a_v`` over the terms of row ``i``, is

    max  sum_v (margin_v a_v - 1/2 ridge_v a_v^2) - 1/2 |sum_i beta_i x_i|^2,   0 <= a_v <= upper_v,

with ``sum_i beta_i = 0`` where the intercept ``b`` is free. Classification has one term a row, regression two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Terms", "hinge", "insensitive", "squared_hinge", "squared_insensitive"]

Reals = NDArray[np.float64]


class Terms(NamedTuple):
    """Terms of all rows; arrays of shape ``(n, m)``, float64."""

    sign: Reals
    margin: Reals
    upper: Reals
    ridge: Reals

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.sign)

    def slack(self, scores: Reals) -> Reals:
        """``s_v`` of every term, shape ``(n, m)``."""
        out = self.sign * scores[:, None]
        np.subtract(self.margin, out, out=out)
        return np.maximum(out, 0.0, out=out)

    def cost(self, scores: Reals) -> Reals:
        """Cost of every row, shape ``(n,)``."""
        slack = self.slack(scores)
        if self.squared:
            slack *= slack
            slack /= 2.0 * self.ridge
        else:
            slack *= self.upper
        return np.asarray(slack.sum(1))

    def wrong(self, scores: Reals) -> Reals:
        """Of every row whose score has not the sign of its first term the cost of a score of 0, else 0.

        A wanted margin of 1 makes it the weight of the row: then this counts wrong signs.
        """
        return np.where(self.sign[:, 0] * scores <= 0.0, self.cost(np.zeros(self.n_rows)), 0.0)

    @property
    def squared(self) -> bool:
        """Whether slacks are squared (all are, or none)."""
        return bool(self.ridge.flat[0] > 0.0) if self.ridge.size else False

    def gain(self, a: Reals) -> float:
        """``sum_v (margin_v a_v - 1/2 ridge_v a_v^2)``."""
        linear = float(self.margin.ravel() @ a.ravel())
        return linear - 0.5 * float((self.ridge * a).ravel() @ a.ravel()) if self.squared else linear

    def beta(self, a: Reals) -> Reals:
        """``beta_i`` of every row, shape ``(n,)``."""
        return np.asarray((self.sign * a).sum(1))

    def balanced(self, a: Reals, total: float = 0.0) -> Reals:
        """A point of the same box with ``sum_i beta_i = total``, near ``a``.

        Variables strictly inside their box take the correction, in proportion to the room they have: near the optimum
        the dual is flat along them. Where they have not enough, the heavier sign is scaled down; where that is not
        enough either, all variables share in proportion to their room.
        """
        excess = float((self.sign * a).sum()) - total
        if excess == 0.0:
            return a
        heavy = self.sign * excess > 0.0
        room = np.where(heavy | np.isinf(self.upper), a, self.upper - a)
        room_inside = room * ((a > 0.0) & (a < self.upper))
        weight = float(a[heavy].sum())
        if float(room_inside.sum()) <= abs(excess):
            if weight >= abs(excess):
                return np.where(heavy, a * max(0.0, 1.0 - abs(excess) / weight), a)
            room_inside = np.where(np.isinf(self.upper) & ~heavy, 1.0, room)
        share = abs(excess) / max(float(room_inside.sum()), 1e-300)
        moved = a + np.where(heavy, -1.0, 1.0) * room_inside * share
        return np.asarray(np.clip(moved, 0.0, self.upper))


def hinge(sign: Reals, c: Reals, margin: float | Reals = 1.0) -> Terms:
    """``c_i (margin_i - sign_i f_i)_+`` with ``sign_i`` plus or minus 1."""
    n = len(sign)
    return Terms(_column(sign, n), _column(margin, n), _column(c, n), _column(0.0, n))


def squared_hinge(sign: Reals, c: Reals, margin: float | Reals = 1.0) -> Terms:
    """``c_i (margin_i - sign_i f_i)_+^2``."""
    n = len(sign)
    return Terms(_column(sign, n), _column(margin, n), _column(np.inf, n), _column(0.5 / c, n))


def insensitive(target: Reals, c: Reals, epsilon: float) -> Terms:
    """``c_i (|target_i - f_i| - epsilon)_+``."""
    sign, margin = _two_sides(target, epsilon)
    return Terms(sign, margin, _both(c), np.zeros_like(sign))


def squared_insensitive(target: Reals, c: Reals, epsilon: float) -> Terms:
    """``c_i (|target_i - f_i| - epsilon)_+^2``."""
    sign, margin = _two_sides(target, epsilon)
    return Terms(sign, margin, np.full_like(sign, np.inf), _both(0.5 / c))


def _two_sides(target: Reals, epsilon: float) -> tuple[Reals, Reals]:
    sign = np.ones((len(target), 2))
    sign[:, 1] = -1.0
    return sign, sign * np.asarray(target, np.float64)[:, None] - epsilon


def _both(values: Reals) -> Reals:
    return np.repeat(np.asarray(values, np.float64), 2).reshape(-1, 2)


def _column(values: float | Reals, n: int) -> Reals:
    return np.array(np.broadcast_to(np.asarray(values, np.float64), (n,))).reshape(n, 1)
