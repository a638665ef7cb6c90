"""The best free intercept for given weights: an exact minimum of a convex function of one number."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...terms import LossTerms, Terms

__all__ = ["best_intercept"]

Reals = NDArray[np.float64]


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
    is piecewise linear and rises through the sorted knots: ``slope b + level`` between two of them. Cost
    ``O(n log n)``. Where the function falls (or rises) for ever, as with one sign only, the last knot is returned.
    Of other losses the derivative is brought to 0 by Newton steps within a bracket.
    """
    if isinstance(terms, LossTerms):
        return _by_bracket(terms, scores, total)
    sign = terms.sign.ravel()
    knots = sign * terms.margin.ravel() - np.repeat(scores, terms.sign.shape[1])
    order = np.argsort(knots, kind="stable")
    knots, sign = knots[order], sign[order]
    if terms.squared:
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
    weight = terms.upper.ravel()[order]
    # derivative left of knot k: minus the weights of positive terms not yet passed, plus those of negative ones passed
    derivative = np.concatenate([[0.0], np.cumsum(weight)]) - weight[sign > 0].sum() + total
    tiny = 1e-12 * weight.sum()
    first = int(np.searchsorted(derivative, -tiny))  # first interval whose slope is not negative
    last = int(np.searchsorted(derivative, tiny, side="right"))  # first interval whose slope is positive
    low = knots[max(first - 1, 0)]
    high = knots[min(max(last - 1, 0), len(knots) - 1)]
    return float(0.5 * (low + high))


def _by_bracket(terms: LossTerms, scores: Reals, total: float) -> float:
    """Where the derivative changes its sign; Newton steps, and halving where they leave the bracket."""

    def slope(b: float) -> float:
        value = total - float(terms.beta(terms.multipliers(scores + b)).sum())
        return value if math.isfinite(value) else math.copysign(math.inf, b)

    size = 1e-15 * float(terms.c.sum())
    b, found = 0.0, slope(0.0)
    reach = 1.0
    low, high = (-math.inf, 0.0) if found > 0.0 else (0.0, math.inf)
    for _ in range(200):
        if abs(found) <= size:
            return b
        low, high = (low, b) if found > 0.0 else (b, high)
        if math.isfinite(high - low) and high - low <= 1e-15 * max(abs(low), abs(high)):
            return b
        curve = float(terms.curvature(scores + b).sum()) if terms.smooth and math.isfinite(found) else 0.0
        step = -found / curve if curve > 0.0 else math.inf
        if not low < b + step < high or abs(step) > reach:
            if math.isinf(low) or math.isinf(high):
                reach *= 2.0
                if reach > 1e10:  # it falls for ever: one sign only
                    return b
                step = math.copysign(reach, -found)
            else:
                step = 0.5 * (low + high) - b
        b += step
        found = slope(b)
    return b
