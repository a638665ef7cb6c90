"""Where the derivative of a sum of hinges of one number passes a level: found among its knots without sorting them."""

from __future__ import annotations

import numpy as np

from ..._compiled import compiled, larger, smaller

__all__ = ["first_knot", "left_of_all"]

_FEW, _BUCKETS = 32, 256


@compiled
def left_of_all(sign, upper):
    """The derivative of the costs left of all knots, minus the weights of all positive terms; all weights."""
    positive, both = 0.0, 0.0
    for begin in range(0, len(sign), _BUCKETS):  # sums of sums lose less to rounding
        here, all_here = 0.0, 0.0
        for v in range(begin, min(begin + _BUCKETS, len(sign))):
            all_here += upper[v]
            here += upper[v] if sign[v] > 0.0 else 0.0
        positive += here
        both += all_here
    return -positive, both


@compiled
def first_knot(knots, upper, derivative, level, above):
    """The lowest knot right of which the derivative is at least ``level``, or ``above`` it; the last if it never is.

    And the derivative there. Left of all knots it is ``derivative``, at each it rises by ``upper``: positive terms have
    been passed, or negative ones have come. Buckets of equal width say near which knots that is; few are sorted.
    """
    knots, rises, n = knots.copy(), upper.copy(), len(knots)
    bucket, rise = np.empty(n, np.int64), np.empty(_BUCKETS)
    while n > _FEW:
        low, high = np.inf, -np.inf
        for v in range(n):
            low, high = smaller(low, knots[v]), larger(high, knots[v])
        factor = _BUCKETS / (0.5 * high - 0.5 * low)
        if not 0.0 < factor < np.inf:  # all are equal
            return knots[0], derivative + rises[:n].sum()
        rise[:] = 0.0
        for v in range(n):
            bucket[v] = min(max(np.int64((0.5 * knots[v] - 0.5 * low) * factor), 0), _BUCKETS - 1)
        for v in range(n):
            rise[bucket[v]] += rises[v]
        chosen = 0
        while chosen < _BUCKETS - 1 and not _reached(derivative + rise[chosen], level, above):
            derivative += rise[chosen]
            chosen += 1
        count = 0
        for v in range(n):
            knots[count], rises[count] = knots[v], rises[v]
            count += bucket[v] == chosen
        n = count
    for v in range(1, n):
        knot, step, at = knots[v], rises[v], v
        while at > 0 and knots[at - 1] > knot:
            knots[at], rises[at] = knots[at - 1], rises[at - 1]
            at -= 1
        knots[at], rises[at] = knot, step
    for v in range(n):
        derivative += rises[v]
        if _reached(derivative, level, above):
            return knots[v], derivative
    return knots[n - 1], derivative


@compiled
def _reached(derivative, level, above):
    return derivative > level if above else derivative >= level
