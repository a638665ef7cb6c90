"""Losses that are sums of hinges of one score, and their duals: the plain machines in one form.

Row ``i`` has the score ``f_i = <w, x_i> + b`` and ``m`` terms. Term ``v`` has the slack
``s_v = (margin_v - sign_v f_i)_+`` and costs ``upper_v s_v``, or ``s_v^2 / (2 ridge_v)`` where ``ridge_v > 0``; the
objective is ``1/2 |w|^2 + sum_v cost_v``. Its dual, with ``beta_i = sum_v sign_v a_v`` over the terms of row ``i``,
is::

    max  sum_v (margin_v a_v - 1/2 ridge_v a_v^2) - 1/2 |sum_i beta_i x_i|^2,   0 <= a_v <= upper_v,

with ``sum_i beta_i = 0`` where the intercept ``b`` is free. Classification has one term a row, regression two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._products import inner
from .errors import DataError
from .losses import Hinge, MarginLoss, SquaredHinge

__all__ = [
    "LossTerms",
    "Terms",
    "hinge",
    "hinges_only",
    "insensitive",
    "margin_terms",
    "squared_hinge",
    "squared_insensitive",
]

Reals = NDArray[np.float64]
_ROUNDING = float(np.finfo(np.float64).eps)
_EPSILON = 8.0 * _ROUNDING
_AT_ONCE = 1 << 13  # rows: their numbers stay in a cache


class Terms(NamedTuple):
    """Terms of all rows; arrays of shape ``(n, m)``, float64, never written to: some may repeat what is there once."""

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

    def rounding(self, scores: Reals) -> float:
        """How wrong the sum of the costs, and the gain of a dual point near by, can be in float64."""
        slip = _EPSILON * (np.abs(self.margin) + np.abs(scores)[:, None])
        price = (self.slack(scores) + slip) / self.ridge if self.squared else self.upper
        return float((price * slip).sum())

    def most_noise(self, size: float) -> float:
        """What :meth:`noise` is at most where no score has a larger size; infinite where that is not seen at once."""
        return math.inf if self.squared else _EPSILON * size * math.sqrt(self.sign.size) * float(self.upper.max())

    def noise(self, scores: Reals, sizes: Reals) -> float:
        """How wrong the sum of the costs is likely to be where scores are sums whose terms cancel.

        Their errors, of either sign, are taken for independent, and as large as ``sizes``, what the terms of every
        score add up to where none cancels another, says. Beyond a margin no error counts.
        """
        slip = _EPSILON * np.broadcast_to(sizes[:, None], self.sign.shape)
        slack = self.margin - self.sign * scores[:, None] + slip
        price = slack / self.ridge if self.squared else self.upper
        return float(np.linalg.norm(np.where(slack > 0.0, price * slip, 0.0)))

    def cost(self, scores: Reals) -> Reals:
        """Cost of every row, shape ``(n,)``."""
        out = np.empty(self.n_rows)
        for at in range(0, self.n_rows, _AT_ONCE):  # slacks of all terms would be larger than what is asked for
            part = slice(at, at + _AT_ONCE)
            terms = self.of_rows(part)
            slack = terms.slack(scores[part])
            if terms.squared:
                slack *= slack
                slack /= 2.0 * terms.ridge
            else:
                slack *= terms.upper
            out[part] = slack[:, 0]
            for v in range(1, slack.shape[1]):
                out[part] += slack[:, v]
        return out

    def of_rows(self, rows: NDArray[np.int64] | slice) -> Terms:
        """Terms of some rows."""
        return Terms(*(values[rows] for values in self))

    def written_out(self) -> Terms:
        """The same, every number in its place in memory, as compiled code needs it."""
        ridge = np.ascontiguousarray(self.ridge) if self.squared else np.zeros(self.ridge.shape)
        sign, margin, upper = map(np.ascontiguousarray, (self.sign, self.margin, self.upper))
        return Terms(sign, margin, upper, ridge)

    def multipliers(self, scores: Reals) -> Reals:
        """Dual point that the scores imply, minus the derivatives of the costs by ``sign_v f``, shape ``(n, m)``."""
        slack = self.slack(scores)
        return slack / self.ridge if self.squared else np.where(slack > 0.0, self.upper, 0.0)

    def curvature(self, scores: Reals) -> Reals:
        """Second derivative of the cost of every row, shape ``(n,)``; 0 for plain hinges."""
        if not self.squared:
            return np.zeros(self.n_rows)
        return np.asarray(((self.slack(scores) > 0.0) / self.ridge).sum(1))

    @property
    def smooth(self) -> bool:
        """Whether costs have a derivative everywhere."""
        return self.squared

    def wrong(self, scores: Reals, cost: Reals | None = None) -> Reals:
        """Of every row whose score has not the sign of its first term the cost of a score of 0, else 0.

        A wanted margin of 1 makes it the weight of the row: then this counts wrong signs. Their ``cost`` is for
        losses that need it, where it is at hand.
        """
        rows = np.flatnonzero(self.sign[:, 0] * scores <= 0.0)
        out = np.zeros(self.n_rows)
        out[rows] = self.of_rows(rows).cost(np.zeros(len(rows)))  # most often few
        return out

    @property
    def squared(self) -> bool:
        """Whether slacks are squared (all are, or none)."""
        return bool(self.ridge.flat[0] > 0.0) if self.ridge.size else False

    @property
    def nothing(self) -> float:
        """Gain of the dual point 0."""
        return 0.0

    def gain(self, a: Reals) -> float:
        """``sum_v (margin_v a_v - 1/2 ridge_v a_v^2)``."""
        linear = inner(self.margin.ravel(), a.ravel())
        return linear - 0.5 * inner((self.ridge * a).ravel(), a.ravel()) if self.squared else linear

    def beta(self, a: Reals) -> Reals:
        """``beta_i`` of every row, shape ``(n,)``."""
        if a.shape[1] == 1:
            return np.asarray((self.sign * a)[:, 0])
        return np.asarray(np.einsum("ij,ij->i", self.sign, a))  # without an array of the products

    def best_multiple(self, a: Reals, square: float) -> float:
        """The factor of ``a`` of the largest dual value in the box; ``square`` is ``|sum_i beta_i x_i|^2``."""
        used = a > 0.0
        most = float((self.upper[used] / a[used]).min(initial=np.inf))
        square += inner((self.ridge * a).ravel(), a.ravel())
        return max(min(inner(self.margin.ravel(), a.ravel()) / max(square, 1e-300), most), 0.0)

    def balanced(self, a: Reals, total: float = 0.0) -> Reals:
        """A point of the same box with ``sum_i beta_i = total``, near ``a``.

        Variables strictly inside their box take the correction, in proportion to the room they have: near the optimum
        the dual is flat along them. Where they have not enough, the heavier sign is scaled down; where that is not
        enough either, all variables share in proportion to their room.
        """
        excess = float(np.einsum("ij,ij->", self.sign, a)) - total
        if abs(excess) <= _ROUNDING * float(a.sum()):
            return a
        heavy = self.sign * excess > 0.0
        room = np.where(heavy | np.isinf(self.upper), a, self.upper - a)
        room_inside = room * ((a > 0.0) & (a < self.upper))
        inside = float(room_inside.sum())
        if inside <= abs(excess):
            weight = float(a[heavy].sum())
            if weight >= abs(excess):
                return np.where(heavy, a * max(0.0, 1.0 - abs(excess) / weight), a)
            room_inside = np.where(np.isinf(self.upper) & ~heavy, 1.0, room)
            inside = float(room_inside.sum())
        share = abs(excess) / max(inside, 1e-300)
        moved = np.where(heavy, -share, share)
        moved *= room_inside
        moved += a
        np.maximum(moved, 0.0, out=moved)
        return np.minimum(moved, self.upper, out=moved)


@dataclass(frozen=True)
class LossTerms:
    """``cost_i = c_i loss(sign_i f_i)`` for any convex margin loss, with the methods of :class:`Terms`.

    The dual has ``-c_i conjugate(-a_i / c_i)`` for the gain of row ``i``.

    Attributes
    ----------
    sign : float64 array of shape (n, 1)
    loss : MarginLoss
    c : float64 array of shape (n,)
    """

    sign: Reals
    loss: MarginLoss
    c: Reals

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.sign)

    @property
    def lower(self) -> Reals:
        """Lower bounds of the dual variables, ``(n, 1)``; not positive, as losses are not negative."""
        return (-self.c * self.loss.slopes[1])[:, None]

    @property
    def upper(self) -> Reals:
        """Upper bounds of the dual variables, ``(n, 1)``; not negative."""
        return (-self.c * self.loss.slopes[0])[:, None]

    @property
    def smooth(self) -> bool:
        """Whether costs have a derivative everywhere."""
        return self.loss.smooth

    def most_noise(self, size: float) -> float:
        """As in :class:`Terms`."""
        steepest = max(map(abs, self.loss.slopes))
        return _EPSILON * size * steepest * float(np.linalg.norm(self.c)) if steepest < math.inf else math.inf

    def noise(self, scores: Reals, sizes: Reals) -> float:
        """As in :class:`Terms`."""
        return float(np.linalg.norm(_EPSILON * sizes * self.multipliers(scores)[:, 0]))

    def rounding(self, scores: Reals) -> float:
        """As in :class:`Terms`."""
        slip = _EPSILON * (1.0 + np.abs(scores))
        return inner(slip, np.abs(self.multipliers(scores)[:, 0])) + _EPSILON * float(self.cost(scores).sum())

    def cost(self, scores: Reals) -> Reals:
        """Cost of every row, shape ``(n,)``."""
        return self._times_c(self.loss.value(self._margins(scores)))

    def of_rows(self, rows: NDArray[np.int64]) -> LossTerms:
        """Terms of some rows."""
        return LossTerms(self.sign[rows], self.loss, self.c[rows])

    def multipliers(self, scores: Reals) -> Reals:
        """Dual point that the scores imply, ``(n, 1)``."""
        return -self._times_c(self.loss.derivative(self._margins(scores)))[:, None]

    def curvature(self, scores: Reals) -> Reals:
        """Second derivative of the cost of every row, shape ``(n,)``."""
        return self._times_c(self.loss.curvature(self._margins(scores)))

    def wrong(self, scores: Reals, cost: Reals | None = None) -> Reals:
        """As in :class:`Terms`; never more than the cost, whatever the loss."""
        at_zero = self.c * self.loss.value(np.zeros(1))
        return np.where(
            self._margins(scores) <= 0.0, np.minimum(at_zero, self.cost(scores) if cost is None else cost), 0.0
        )

    @property
    def nothing(self) -> float:
        """As in :class:`Terms`, or of the point nearest to it between the bounds."""
        return -float(self.c.sum()) * float(self.loss.conjugate(np.clip(np.zeros(1), *self.loss.slopes))[0])

    def gain(self, a: Reals) -> float:
        """``-sum_i c_i conjugate(-a_i / c_i)`` for a point between the bounds."""
        u = np.clip(-a[:, 0] / self.c, *self.loss.slopes)  # beyond them by rounding it would be infinite
        return -inner(self.c, self.loss.conjugate(u))

    def beta(self, a: Reals) -> Reals:
        """``beta_i`` of every row, shape ``(n,)``."""
        return np.asarray((self.sign * a)[:, 0])

    def balanced(self, a: Reals, total: float = 0.0) -> Reals:
        """A point between the same bounds with ``sum_i beta_i = total``, near ``a``; the total is 0 or near the sum.

        All variables share the correction in proportion to their distance from the nearer bound (a share of ``c_i``
        where both are infinite). Where that is not enough, those of the heavier sign are scaled down.
        """
        beta = self.beta(a)
        excess = float(beta.sum()) - total
        room = np.minimum(a - self.lower, self.upper - a)
        room = np.maximum(np.where(np.isinf(room), self.c[:, None], room), 0.0)
        most = float(room.sum())
        if most > abs(excess):
            return np.asarray(a - self.sign * room * (excess / most))
        heavy = (beta * excess > 0.0)[:, None]
        return np.where(heavy, a * (1.0 - abs(excess) / max(float(np.abs(a[heavy]).sum()), 1e-300)), a)

    def _times_c(self, values: Reals) -> Reals:
        """Losses that grow fast are infinite where they are too large for a float."""
        with np.errstate(over="ignore"):
            return np.asarray(self.c * values)

    def _margins(self, scores: Reals) -> Reals:
        return np.asarray(self.sign[:, 0] * scores)


def hinges_only(terms: Terms | LossTerms, name: str, solver: str) -> Terms:
    """The terms, for a solver of sums of hinges and of their squares.

    Raises
    ------
    DataError
        For any other loss.
    """
    if isinstance(terms, Terms):
        return terms
    raise DataError(f"{name}: {solver} is for the hinge loss, its kin and their squares, not for {terms.loss!r}")


def hinge(sign: Reals, c: Reals, margin: float | Reals = 1.0) -> Terms:
    """``c_i (margin_i - sign_i f_i)_+`` with ``sign_i`` plus or minus 1."""
    n = len(sign)
    return Terms(_column(sign, n), _column(margin, n), _column(c, n), np.zeros((n, 1)))


def squared_hinge(sign: Reals, c: Reals, margin: float | Reals = 1.0) -> Terms:
    """``c_i (margin_i - sign_i f_i)_+^2``."""
    n = len(sign)
    return Terms(_column(sign, n), _column(margin, n), _column(np.inf, n), _column(0.5 / c, n))


def insensitive(target: Reals, c: Reals, epsilon: float) -> Terms:
    """``c_i (|target_i - f_i| - epsilon)_+``."""
    sign, margin = _two_sides(target, epsilon)
    return Terms(sign, margin, _both(c), np.broadcast_to(0.0, sign.shape))


def squared_insensitive(target: Reals, c: Reals, epsilon: float) -> Terms:
    """``c_i (|target_i - f_i| - epsilon)_+^2``."""
    sign, margin = _two_sides(target, epsilon)
    return Terms(sign, margin, np.broadcast_to(np.inf, sign.shape), _both(0.5 / c))


def margin_terms(loss: MarginLoss, sign: Reals, c: Reals, margin: Reals | None = None) -> Terms | LossTerms:
    """``c_i loss(sign_i f_i)``; of the hinge and its square with ``margin_i`` in the place of 1, where it is given.

    Raises
    ------
    DataError
        For wanted margins of any other loss.
    """
    if isinstance(loss, Hinge | SquaredHinge):
        return (hinge if isinstance(loss, Hinge) else squared_hinge)(sign, c, 1.0 if margin is None else margin)
    if margin is not None:
        raise DataError(f"wanted margins are for the hinge and its square, not for {loss!r}")
    return LossTerms(_column(sign, len(sign)), loss, c)


def _two_sides(target: Reals, epsilon: float) -> tuple[Reals, Reals]:
    margin = np.empty((len(target), 2))
    margin[:, 0], margin[:, 1] = target, target
    margin[:, 1] *= -1.0
    margin -= epsilon
    return np.broadcast_to([1.0, -1.0], margin.shape), margin


def _both(values: Reals) -> Reals:
    values = np.asarray(values, np.float64)
    return np.broadcast_to(values[:, None], (len(values), 2))


def _column(values: float | Reals, n: int) -> Reals:
    """Not copied where it is an array as it should be, for terms are never written to."""
    values = np.asarray(values, np.float64)
    if values.shape == (n,) and values.flags.c_contiguous and values.flags.writeable:
        return values.reshape(n, 1)
    return np.array(np.broadcast_to(values, (n,))).reshape(n, 1)  # of one machine type for compiled code
