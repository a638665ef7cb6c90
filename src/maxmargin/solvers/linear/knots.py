"""Where the derivative of a sum of hinges of one number passes a level: found among its knots without sorting them."""

from __future__ import annotations

import numpy as np

from ..._compiled import compiled, larger, smaller

__all__ = ["first_knot", "left_of_all"]

_FEW, _BUCKETS = 32, 256


@compiled
def _added(total, lost, value):
    """``total + value``, and with ``lost`` what rounding has cut off so far (Neumaier 1974)."""
    new = total + value
    if abs(total) >= abs(value):
        return new, lost + ((total - new) + value)
    return new, lost + ((value - new) + total)


@compiled
def left_of_all(sign, upper, total):
    """The derivative of the costs left of all knots: ``total`` minus the weights of all positive terms; all weights.

    In two numbers whose sum it is, and the sum of the weights. Beside heavy rows light ones count, too: where their
    weights are ten orders apart, plain sums had lost them.
    """
    derivative, lost, both = total, 0.0, 0.0
    for v in range(len(sign)):
        both += upper[v]
        if sign[v] > 0.0:
            derivative, lost = _added(derivative, lost, -upper[v])
    return derivative, lost, both


@compiled
def first_knot(knots, upper, derivative, lost, level, above):
    """The lowest knot right of which the derivative is at least ``level``, or ``above`` it; the last if it never is.

    And the derivative there. Left of all knots it is ``derivative + lost``, at each it rises by ``upper``: positive
    terms have been passed, or negative ones have come. Buckets of equal width say near which knots that is; few are
    sorted.
    """
    knots, rises, n = knots.copy(), upper.copy(), len(knots)
    bucket, rise, rise_lost = np.empty(n, np.int64), np.empty(_BUCKETS), np.empty(_BUCKETS)
    while n > _FEW:
        low, high = np.inf, -np.inf
        for v in range(n):
            low, high = smaller(low, knots[v]), larger(high, knots[v])
        factor = _BUCKETS / (0.5 * high - 0.5 * low)
        if not 0.0 < factor < np.inf:  # all are equal
            for v in range(n):
                derivative, lost = _added(derivative, lost, rises[v])
            return knots[0], derivative + lost
        rise[:], rise_lost[:] = 0.0, 0.0
        for v in range(n):
            bucket[v] = min(max(np.int64((0.5 * knots[v] - 0.5 * low) * factor), 0), _BUCKETS - 1)
        for v in range(n):
            k = bucket[v]
            rise[k], rise_lost[k] = _added(rise[k], rise_lost[k], rises[v])
        chosen = 0
        while chosen < _BUCKETS - 1:
            beyond, beyond_lost = _added(derivative, lost + rise_lost[chosen], rise[chosen])
            if _reached(beyond + beyond_lost, level, above):
                break
            derivative, lost = beyond, beyond_lost
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
        derivative, lost = _added(derivative, lost, rises[v])
        if _reached(derivative + lost, level, above):
            return knots[v], derivative + lost
    return knots[n - 1], derivative + lost


@compiled
def _reached(derivative, level, above):
    return derivative > level if above else derivative >= level
