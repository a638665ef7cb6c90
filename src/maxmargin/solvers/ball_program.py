"""The program of a cutting-plane working set over a ball: ``max_a b^T a - r |A^T a|`` on the simplex.

It is the dual of ``min_(|v| <= r) max(0, max_t b_t + <A_t, v>)``. As ``r |x|`` is the minimum of
``|x|^2 / (2 l) + l r^2 / 2`` over ``l > 0``, it is also

    max_l max_a  b^T a - a^T G a / (2 l) - l r^2 / 2,    G = A A^T.

The multiplier ``l`` of the ball is the root of a monotone function, the length of ``v(l) = -A^T a(l) / l`` less ``r``,
and each evaluation is the quadratic program of :mod:`.simplex_qp`. The path ``a(l)`` is piecewise linear, so that
between two values of ``l`` on one piece the root of a quadratic equation is exact. Weak duality certifies the answer,
whatever the search has done.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .._products import inner
from .simplex_qp import solve_simplex_qp

__all__ = ["solve_ball_program"]

Reals = NDArray[np.float64]
_MOST = 100
_FIRST = 1e-4
_SMALLEST = 1e-9
_ROUNDING = 1e-9


def solve_ball_program(
    G: Reals, b: Reals, radius: float, start: Reals, length: Callable[[Reals], float], *, tol: float
) -> tuple[Reals, Reals]:
    """Maximise ``b^T a - radius |A^T a|`` over ``a >= 0``, ``sum a <= 1``.

    Parameters
    ----------
    G : float64 array of shape (t, t)
        Gram matrix of the slopes.
    b : float64 array of shape (t,)
    radius : float
        Positive.
    start : float64 array of shape (t,)
        A feasible point to start from.
    length : callable
        ``|A^T a|`` of an ``a >= 0``: from ``G`` half of its digits would be lost where it is small.
    tol : float
        Absolute gap at which to stop.

    Returns
    -------
    a : float64 array of shape (t,)
        The best point met.
    step : float64 array of shape (t,)
        ``v = -A^T step`` is the best minimiser met of the largest plane over the ball.
    """
    best, value = np.zeros(len(b)), 0.0  # the plane 0 alone
    step, model = np.zeros(len(b)), max(0.0, float(b.max(initial=0.0)))
    largest = math.sqrt(float(G.diagonal().max(initial=0.0))) / radius
    if largest == 0.0:  # all planes are constant: the highest one
        best[np.argmax(b)] = float(b.max(initial=0.0) > 0.0)
        return best, step
    low, high = 0.0, math.inf  # multipliers for which v is too long, and short enough
    at_low = at_high = a = start
    multiplier = max(length(a) / radius, _FIRST * largest)
    width = math.inf
    for _ in range(_MOST):
        a, _ = solve_simplex_qp(G, multiplier * b, 1.0, a, tol=0.1 * multiplier * tol)
        image = G @ a
        size = length(a)
        inside = size <= multiplier * radius
        if inside:
            end = _end_of_path(at_high, a, high, multiplier)
            high, at_high = multiplier, a
        else:
            end = None
            low, at_low = multiplier, a
        for point in (a,) if end is None else (a, end):
            found = inner(b, point) - radius * length(point)
            if found > value:
                best, value = point, found
        scales = [1.0 / multiplier] if inside else []
        if size > 0.0:  # the farthest one in the same direction: often as good, and then no loss is near its kink
            scales.append(radius / size)
        for scale in scales:
            height = max(0.0, float((b - scale * image).max()))
            if height <= model:
                step, model = scale * a, height
        if model - value <= tol:
            break
        if low == 0.0:
            multiplier = 0.1 * high
            if multiplier < _SMALLEST * largest:
                break
        elif high == math.inf:
            multiplier = min(10.0 * low, 2.0 * largest)
        else:
            if high - low <= 1e-15 * high:
                break
            share = _root(G, at_low, at_high, low * radius, high * radius)
            # where interpolation has not halved the bracket, bisection does
            share = share if 0.0 < share < 1.0 and high - low <= 0.5 * width else math.nan
            width = high - low
            multiplier = math.sqrt(low * high) if math.isnan(share) else low + share * (high - low)
            a = at_low + (0.5 if math.isnan(share) else share) * (at_high - at_low)
    return best, step


def _end_of_path(first: Reals, last: Reals, high: float, low: float) -> Reals | None:
    """The point of the multiplier 0, if none of the two weights that vary on the way to it becomes negative.

    There the ball is no bound, and near it no quadratic program can be solved: rounding is larger than its linear term.
    """
    if high == math.inf:
        return None
    a = last + low / (high - low) * (last - first)
    if float(a.min()) < -_ROUNDING or float(a.sum()) > 1.0 + _ROUNDING:
        return None
    a = np.maximum(a, 0.0)
    return a / max(float(a.sum()), 1.0)


def _root(G: Reals, first: Reals, last: Reals, short: float, long: float) -> float:
    """The share ``s`` at which ``first + s (last - first)`` has the length ``short + s (long - short)``."""
    move, stretch = last - first, long - short
    image = G @ move
    square = inner(move, image) - stretch**2
    linear = inner(first, image) - short * stretch  # half of it
    constant = float(first @ G @ first) - short**2
    discriminant = linear * linear - square * constant
    if discriminant < 0.0:
        return math.nan
    # positive at 0 and not at 1: of the two roots the one that does not cancel
    root = -linear + math.sqrt(discriminant)
    return constant / root if root > 0.0 else math.nan
