"""Steps of stochastic subgradient methods on rows: each costs what the rows of its batch have of non-zeros.

The weights are those of :mod:`~maxmargin.solvers.scaled_weights`, here with a pull towards a fixed vector ``h`` beside:
``w = scale u + pull h``. Steps with momentum are the exception: they move all weights.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..._compiled import compiled
from ...losses import Exponential, Logistic, MarginLoss, Perceptron
from ...terms import LossTerms, Terms
from ..objective import Point
from ..scaled_weights import (
    INTERCEPT,
    MEAN_INTERCEPT,
    MEAN_U,
    MEAN_Z,
    NORM2,
    PULL,
    REST,
    SCALE,
    VELOCITY,
    ScaledWeights,
    into_ball,
    into_mean,
    shrink,
)
from .rows import Rows, add_row, dot_row

__all__ = ["COLUMNS", "CompiledSteps", "curvatures", "has_compiled_steps"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]

COLUMNS = 5
"""Columns of a plan, which has a row for each step: factor, stride, bias factor, bias stride, share. With ``beta_i`` of
the rows of its batch ``w <- factor w + stride sum_i beta_i x_i``, the same for ``b``, and then
``mean <- mean + share (w - mean)``."""

_HINGES, _LOGISTIC, _EXPONENTIAL = range(3)
_STEEP = 1e3  # of the slopes at margins of 1e8 over those at 1: of a square 1e8


@compiled
def _multiplier(kind, unit, sign, margin, upper, ridge, score):
    """Minus the derivative of the cost of one term by ``sign score``."""
    if kind == _HINGES:
        slack = margin - sign * score
        if slack <= 0.0:
            return 0.0
        return slack / ridge if ridge > 0.0 else upper
    t = sign * score
    if kind == _LOGISTIC:
        small = np.exp(-abs(t))
        return upper * unit * (small if t > 0.0 else 1.0) / (1.0 + small)
    return min(upper * np.exp(-t), unit)


@compiled
def _steps(
    data, indices, indptr, width, kind, unit, sign, margin, upper, ridge, norm2, order, size, plan, anchor, pull,
    momentum, radius, bias_ridge, u, z, velocity, a, moves, state,
):  # fmt: skip
    """One step for every ``size`` rows of ``order``; ``a`` takes the multipliers that the visits meet."""
    averaged = len(z) > 0
    for step in range(len(plan)):
        factor, stride, bias_factor, bias_stride, share = plan[step]
        first, last = step * size, min((step + 1) * size, len(order))
        total = state[REST]
        for k in range(first, last):
            i = order[k]
            score = state[SCALE] * dot_row(data, indices, indptr, width, i, u) + state[INTERCEPT]
            move = 0.0
            if len(anchor):
                score += state[PULL] * pull[i]
                move = -anchor[i]
            for j in range(sign.shape[1]):
                a[i, j] = _multiplier(kind, unit, sign[i, j], margin[i, j], upper[i, j], ridge[i, j], score)
                move += sign[i, j] * a[i, j]
            moves[k - first] = move
            total += move
        if momentum > 0.0:
            for j in range(len(u)):
                velocity[j] = momentum * velocity[j] + (factor - 1.0) * u[j]
            for k in range(first, last):
                if moves[k - first] != 0.0:
                    add_row(data, indices, indptr, width, order[k], stride * moves[k - first], velocity)
            for j in range(len(u)):
                u[j] += velocity[j]
            for j in range(len(z)):
                z[j] += share * (u[j] - z[j])
            push = momentum * state[VELOCITY] + (bias_factor - 1.0) * state[INTERCEPT] + bias_stride * total
            state[VELOCITY] = push
            state[INTERCEPT] += push
            state[MEAN_INTERCEPT] += share * (state[INTERCEPT] - state[MEAN_INTERCEPT])
            continue
        shrink(u, z, state, factor)
        state[PULL] = factor * state[PULL] + (1.0 - factor)
        state[INTERCEPT] = bias_factor * state[INTERCEPT] + bias_stride * total
        for k in range(first, last):
            if moves[k - first] == 0.0:
                continue
            i, push = order[k], stride * moves[k - first]
            if radius < np.inf:
                inner = state[SCALE] * dot_row(data, indices, indptr, width, i, u)
                state[NORM2] += push * (2.0 * inner + push * norm2[i])
            add_row(data, indices, indptr, width, i, push / state[SCALE], u)
            if averaged:
                add_row(data, indices, indptr, width, i, -push / state[SCALE] * state[MEAN_U] / state[MEAN_Z], z)
        into_ball(state, radius, bias_ridge)
        if averaged:
            into_mean(u, z, state, share)
            state[MEAN_INTERCEPT] += share * (state[INTERCEPT] - state[MEAN_INTERCEPT])


def has_compiled_steps(terms: Terms | LossTerms) -> bool:
    """Whether the loss is compiled; a user's own is not."""
    return isinstance(terms, Terms) or type(terms.loss) in (Logistic, Exponential, Perceptron)


def curvatures(terms: Terms | LossTerms) -> Reals:
    """Largest second derivative of the cost of every row, shape ``(n,)``; 0 for losses whose slopes are bounded.

    Of losses without a bound of it (the exponential one, and a user's own) that at a score of 0; of those for which
    none is known, the most that the slope changes by over a margin of 1 beside 0.
    """
    if isinstance(terms, Terms):
        return np.asarray(1.0 / terms.ridge.min(1)) if terms.smooth else np.zeros(terms.n_rows)
    if not terms.smooth:
        return terms.c * _change_of_slope(terms.loss)
    smoothness = terms.loss.smoothness
    return terms.c * smoothness if smoothness < math.inf else terms.curvature(np.zeros(terms.n_rows))


def _change_of_slope(loss: MarginLoss) -> float:
    """Over a margin of 1 beside 0; 0 where slopes are bounded, as then no step makes the next one longer."""
    near = loss.derivative(np.linspace(-1.0, 1.0, 9))
    if max(abs(slope) for slope in loss.slopes) <= _STEEP * float(np.abs(near).max()):
        return 0.0
    return float((near[4:] - near[:-4]).max())


class CompiledSteps(ScaledWeights):
    """Weights on their way, by compiled steps on the rows of one problem after another.

    Parameters
    ----------
    w : float64 array of shape (d,) or (d + 1,)
        Where to begin; the intercept last, if there is one.
    d : int
        Number of features.
    averaged : bool
        Keep a mean of the weights.
    momentum : float
    radius : float
        Largest norm of the weights.
    bias_ridge : float
        Of ``|w|^2 + bias_ridge b^2``, the square of that norm.
    mean : float64 array of the shape of w, optional
        The mean so far, if it is not ``w``.

    Attributes
    ----------
    a : float64 array of shape (n, m)
        The last multipliers that each row has met; of rows that were not visited 0.
    """

    a: Reals

    def __init__(
        self,
        w: Reals,
        d: int,
        *,
        averaged: bool,
        momentum: float = 0.0,
        radius: float = np.inf,
        bias_ridge: float = 0.0,
        mean: Reals | None = None,
    ) -> None:
        super().__init__(w[:d], averaged=averaged, radius=radius, mean=None if mean is None else mean[:d])
        self.d, self.has_bias = d, len(w) > d
        self.momentum, self.bias_ridge = momentum, bias_ridge
        self.velocity = np.zeros(d if momentum > 0.0 else 0)
        self.anchor = self.pull = self.h = np.empty(0)
        if self.has_bias:
            self.state[[INTERCEPT, MEAN_INTERCEPT]] = w[d], (w if mean is None else mean)[d]

    def turn_to(self, rows: Rows, terms: Terms | LossTerms) -> None:
        """The rows to be visited from now on."""
        self.rows, self.terms, self.losses = rows, terms, _losses(terms)
        self.a = np.zeros(terms.sign.shape)
        self.norm2 = rows.squared_norms.copy() if self.radius < np.inf else np.empty(0)

    def set_anchor(self, point: Point, times: float) -> None:
        """From here on, batches say by how much they differ from what they said at this point.

        ``times`` is the number of batches that stand for all rows.
        """
        self.anchor, self.h = self.terms.beta(point.dual), -point.slope[: self.d]
        self.pull = self.rows.scores(self.h)
        self.state[REST] = float(self.anchor.sum()) / times

    def take(self, order: Ints, size: int, plan: Reals) -> None:
        """Steps along a plan, each with ``size`` rows of ``order`` (the last one may have fewer)."""
        rows = self.rows
        _steps(
            rows.data, rows.indices, rows.indptr, rows.shape[1], *self.losses, self.norm2, order, size, plan,
            self.anchor, self.pull, self.momentum, self.radius, self.bias_ridge, self.u, self.z, self.velocity, self.a,
            np.empty(size), self.state,
        )  # fmt: skip

    def scores(self, rows: Rows) -> Reals:
        """Scores of rows by the weights as they are, where there is no anchor."""
        return np.asarray(self.state[SCALE] * rows.scores(self.u) + self.state[INTERCEPT])

    def release(self) -> None:
        """Let go of the rows."""
        del self.rows, self.terms, self.losses, self.a, self.norm2

    def settle(self) -> None:
        """Carry out what was put off."""
        super().settle()
        if len(self.h):
            self.u += self.state[PULL] * self.h
            self.measure()
        self.state[PULL] = 0.0

    def last(self) -> Reals:
        """The weights, as a copy."""
        w = super().last()
        return np.append(w, self.state[INTERCEPT]) if self.has_bias else w

    def mean(self) -> Reals:
        """Their mean, as a copy."""
        w = super().mean()
        return np.append(w, self.state[MEAN_INTERCEPT]) if self.has_bias else w


def _losses(terms: Terms | LossTerms) -> tuple[int, float, Reals, Reals, Reals, Reals]:
    """Kind and unit of the loss; sign, margin, upper bound (or cost) and ridge of every term."""
    if isinstance(terms, Terms):
        return _HINGES, 0.0, *terms.written_out()
    zero, c = np.zeros(terms.sign.shape), np.ascontiguousarray(terms.c[:, None])
    loss = terms.loss
    if isinstance(loss, Logistic):
        return _LOGISTIC, 1.0 / math.log(loss.base), terms.sign, zero, c, zero
    if isinstance(loss, Perceptron):
        return _HINGES, 0.0, terms.sign, zero, c, zero
    # a multiplier is the cost of its row, near the optimum at most that of all rows at scores of 0: beyond that the
    # loss may as well go on as a straight line
    return _EXPONENTIAL, float(c.sum()), terms.sign, zero, c, zero
