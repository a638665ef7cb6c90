"""The best free intercept for given weights: an exact minimum of a convex function of one number."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._products import inner
from ...terms import LossTerms, Terms
from .knots import first_knot, left_of_all

__all__ = ["Balanced", "balanced", "best_intercept"]

Reals = NDArray[np.float64]
_ROUNDING = 1e-14
_LEVEL = 1e-12
_LAST_BITS = 1e-15  # of all weights: where those of the two signs are equal but for their own rounding
_DOUBLINGS = 60


def best_intercept(terms: Terms | LossTerms, scores: Reals, total: float = 0.0) -> float:
    """The minimiser of ``sum_v cost_v(scores + b) + total b`` over ``b``; the middle of the interval if there are many.

    Parameters
    ----------
    terms : Terms or LossTerms
    scores : float64 array of shape (n,)
        Scores without intercept.
    total : float
        Of the sums ``sum_i beta_i`` whose multiplier the intercept is.

    Notes
    -----
    Term ``v`` is at work where ``sign_v b < sign_v knot_v`` with ``knot_v = sign_v margin_v - score``. The derivative
    is piecewise linear and rises through the sorted knots: ``slope b + level`` between two of them. Of hinges that
    are not squared the knots around its zero are found without sorting the others. Where the function falls (or rises)
    for ever, as with one sign only, the last knot is returned. Of other losses the derivative is brought to 0 by Newton
    steps within a bracket.
    """
    if isinstance(terms, LossTerms):
        return _by_bracket(terms, scores, total)
    sign = terms.sign.ravel()
    knots = (terms.sign * terms.margin - scores[:, None]).ravel()
    if terms.squared:
        order = np.argsort(knots)  # in whatever order equal ones come
        knots, sign = knots[order], sign[order]
        stiffness = 1.0 / terms.ridge.ravel()[order]  # derivative of an active term: stiffness (b - knot)
        # left of all knots the terms of positive sign are active, right of all the others
        slope = np.concatenate([[0.0], np.cumsum(-sign * stiffness)]) + stiffness[sign > 0].sum()
        level = np.concatenate([[total], total + np.cumsum(sign * stiffness * knots)])
        level -= (stiffness * knots)[sign > 0].sum()
        at_knots = slope[:-1] * knots + level[:-1]  # the derivative there; it is continuous and never falls
        tiny = 1e-12 * float((stiffness * np.abs(knots - knots.mean())).sum())
        first = int(np.searchsorted(at_knots, -tiny))
        if first == len(knots) or at_knots[first] > tiny:  # it passes through 0 left of this knot
            return (
                float(-level[first] / slope[first]) if slope[first] > 0.0 else float(knots[min(first, len(knots) - 1)])
            )
        return float(0.5 * (knots[first] + knots[int(np.searchsorted(at_knots, tiny, side="right")) - 1]))
    upper = terms.upper.ravel()
    start, lost, weight = left_of_all(sign, upper, total)
    tiny = _LAST_BITS * weight
    # the ends of the first interval whose slope is not negative, and of the first one whose slope is positive
    low, derivative = first_knot(knots, upper, start, lost, -tiny, False)
    high = low if derivative > tiny else first_knot(knots, upper, start, lost, tiny, True)[0]
    return float(0.5 * (low + high))


class Balanced(NamedTuple):
    """The best intercept and multipliers there whose ``beta`` sum to 0.

    Attributes
    ----------
    b : float
    a : float64 array of shape (n, m)
        A subgradient at ``scores + b``: at a kink anything between those of its two sides.
    offset : float
        ``min_b sum_v cost_v(f + b) >= offset - <beta(a), f>`` for all scores ``f``, with equality at those given.
    """

    b: float
    a: Reals
    offset: float


def balanced(terms: Terms | LossTerms, scores: Reals) -> Balanced:
    """The best intercept for given scores, and a plane that is level in its direction.

    At the best intercept of a loss with kinks some row usually is at one, and its multiplier has to take a part of what
    it can, so that the sum vanishes. Planes from both sides of the kink, as near as scores can be told apart, are mixed
    in the proportion that does it: a mixture of planes is one, whatever the loss.

    Parameters
    ----------
    terms : Terms or LossTerms
    scores : float64 array of shape (n,)
        Scores without intercept.
    """
    b = best_intercept(terms, scores)
    near = _plane(terms, scores, b, 0.0)
    size = float(np.abs(terms.beta(near.a)).sum())
    if abs(near.excess) <= _LEVEL * size:
        return Balanced(b, near.a, near.offset)
    step = math.copysign(2.0 * np.finfo(np.float64).eps * (abs(b) + 1.0), near.excess)
    for _ in range(_DOUBLINGS):
        far = _plane(terms, scores, b, step)
        if far.excess * near.excess <= 0.0:
            share = near.excess / (near.excess - far.excess)
            mixed = near.a + share * (far.a - near.a)
            return Balanced(b, mixed, near.offset + share * (far.offset - near.offset))
        step *= 2.0
    a = terms.balanced(near.a)  # no intercept is the best one: rows of one sign only
    return Balanced(b, a, terms.gain(a))


class _Plane(NamedTuple):
    """``offset - <beta(a), f> - excess (b' - b)``, below the sum of the costs for all scores ``f`` and intercepts."""

    a: Reals
    offset: float
    excess: float


def _plane(terms: Terms | LossTerms, scores: Reals, b: float, shift: float) -> _Plane:
    """That which touches the costs at the intercept ``b + shift``."""
    moved = scores + (b + shift)
    a = terms.multipliers(moved)
    beta = terms.beta(a)
    excess = float(beta.sum())
    return _Plane(a, float(terms.cost(moved).sum()) + inner(beta, scores) + shift * excess, excess)


def _by_bracket(terms: LossTerms, scores: Reals, total: float) -> float:
    """Where the derivative changes its sign; Newton steps, and halving where they leave the bracket."""

    def slope(b: float) -> tuple[float, float]:
        """The derivative, and the size of what it is the sum of."""
        shifted = scores + b
        beta = terms.beta(terms.multipliers(shifted))
        value = total - float(beta.sum())
        if math.isnan(value):  # infinite on both sides: the row with the smallest margin outweighs all others
            value = -math.inf * float(terms.sign.ravel()[np.argmin(terms.sign.ravel() * shifted)])
        return value, float(np.abs(beta).sum())

    b, low, high, reach = 0.0, -math.inf, math.inf, 1.0
    farthest = 1e10 * max(1.0, float(np.abs(scores).max(initial=0.0)))
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(200):
            found, size = slope(b)
            if abs(found) <= _ROUNDING * size < math.inf:
                break
            low, high = (low, b) if found > 0.0 else (b, high)
            if math.isfinite(high - low) and high - low <= 0.1 * _ROUNDING * max(abs(low), abs(high)):
                break
            curve = float(terms.curvature(scores + b).sum()) if terms.smooth and math.isfinite(found) else 0.0
            step = -found / curve if curve > 0.0 else math.inf
            if not low < b + step < high or abs(step) > reach:
                if math.isinf(low) or math.isinf(high):
                    reach *= 2.0
                    if reach > farthest:  # it falls for ever: one sign only
                        break
                    step = math.copysign(reach, -found)
                else:
                    step = 0.5 * (low + high) - b
            b += step
    return b
