"""Exact ascent of the dual over a few rows whose kernel values are at hand: two variables a step, or one.

Variable ``v`` of row ``i`` is optimal for one threshold ``h_v = sign_v (slope of the dual along a_v)``: that at which
it wants neither up nor down. Raising ``beta_i`` gains where ``h_v`` is above the threshold of its group, lowering it
where it is below; so a dual point whose sums are right is optimal if and only if in no group a variable that can raise
its row has a threshold above that of one that can lower its own. A step moves the variable with the highest threshold
and the partner of its group that promises most with it (second-order choice: Fan, Chen, Lin, JMLR 2005). Without groups
the threshold should be 0: the variable that gains most alone is moved, together with the partner that makes the gain
largest, if one does (Steinwart, Hush, Scovel, JMLR 2011; measured: where ``C`` is large, ten to thirty times as fast as
single steps).
"""

from __future__ import annotations

import numpy as np

from ..._compiled import compiled

__all__ = ["ascend", "extremes"]

# curvature of a direction along which the kernel is flat, relative to its diagonal
_FLAT = 1e-13


@compiled
def extremes(sign, margin, upper, ridge, a, products, highest, lowest):
    """Thresholds of the variables that can raise their row, and of those that can lower it; infinite for the others."""
    n, m = sign.shape
    for i in range(n):
        for j in range(m):
            h = sign[i, j] * (margin[i, j] - ridge[i, j] * a[i, j]) - products[i]
            can_grow, can_shrink = a[i, j] < upper[i, j], a[i, j] > 0.0
            if sign[i, j] < 0.0:
                can_grow, can_shrink = can_shrink, can_grow
            highest[i, j] = h if can_grow else -np.inf
            lowest[i, j] = h if can_shrink else np.inf


@compiled
def ascend(K, sign, upper, ridge, a, h, group, n_groups, fraction, least, limit):
    """Steps until the violation is ``fraction`` of what it was; ``a`` and ``h`` change in place.

    Parameters
    ----------
    K : float64 array of shape (q, q)
    sign, upper, ridge, a, h : float64 arrays of shape (q m,)
        Terms of the rows in order, dual variables, thresholds.
    group : int64 array of shape (q m,)
    n_groups : int
        0: no sum is fixed.
    least : float
        Violations up to this size are rounding.
    limit : int
        Largest number of steps.

    Returns
    -------
    int
        Number of steps.
    """
    q = len(K)
    m = len(sign) // q
    goal = -1.0
    for step in range(limit):
        if n_groups > 0:
            i, j, violation = np.int64(-1), np.int64(-1), 0.0
            for g in range(n_groups):
                up, down, worst = _pair(K, sign, upper, ridge, a, h, q, m, group, g)
                if worst > violation:
                    i, j, violation = up, down, worst
        else:
            i, gain, violation = _single(K, sign, upper, ridge, a, h, m)
            j = i
        if goal < 0.0:
            goal = max(fraction * violation, least)
        if violation <= goal or i < 0 or j < 0:
            return step
        if n_groups > 0:
            r, s = i // m, j // m
            bend = K[r, r] + K[s, s] - 2.0 * K[r, s] + ridge[i] + ridge[j]
            move = (h[i] - h[j]) / max(bend, _FLAT * (K[r, r] + K[s, s]) + 1e-300)
            move = min(move, _room(sign[i], a[i], upper[i]), _room(-sign[j], a[j], upper[j]))
            other = -move
        else:
            j, move, other = _with_partner(K, sign, upper, ridge, a, h, m, i, gain)
        _apply(K, sign, upper, ridge, a, h, m, i, move, j, other)
    return limit


@compiled
def _apply(K, sign, upper, ridge, a, h, m, i, move, j, other):
    """Move ``beta`` of the row of variable ``i`` by ``move`` and of that of ``j`` by ``other``."""
    r, s = i // m, j // m
    a[i] = _moved(a[i], sign[i] * move, upper[i])
    if other != 0.0:
        a[j] = _moved(a[j], sign[j] * other, upper[j])
    for t in range(len(K)):
        change = move * K[r, t] + other * K[s, t]
        for v in range(t * m, t * m + m):
            h[v] -= change
    h[i] -= ridge[i] * move
    h[j] -= ridge[j] * other


@compiled
def _room(direction, a, upper):
    """How far a variable can go up (positive direction) or down."""
    return upper - a if direction > 0.0 else a


@compiled
def _moved(a, step, upper):
    """``a + step`` in its box, on the bound itself where rounding would leave a crumb."""
    new = min(max(a + step, 0.0), upper)
    if new < 1e-15 * abs(step):
        return 0.0
    return upper if upper - new < 1e-15 * abs(step) else new


@compiled
def _pair(K, sign, upper, ridge, a, h, q, m, group, g):
    """In one group: the variable to raise its row, the one to lower its own, the violation of the worst pair."""
    i, high = -1, -np.inf
    for v in range(q * m):
        if h[v] > high and group[v] == g and (a[v] < upper[v] if sign[v] > 0.0 else a[v] > 0.0):
            i, high = v, h[v]
    if i < 0:
        return -1, -1, 0.0
    r = i // m
    row, base = K[r], K[r, r] + ridge[i]
    j, low, best = -1, np.inf, 0.0
    for s in range(q):
        for v in range(s * m, s * m + m):
            if h[v] < high and group[v] == g and (a[v] > 0.0 if sign[v] > 0.0 else a[v] < upper[v]):
                low = min(low, h[v])
                difference = high - h[v]
                bend = max(base + K[s, s] + ridge[v] - 2.0 * row[s], _FLAT * (K[r, r] + K[s, s]) + 1e-300)
                if difference * difference > best * bend:
                    j, best = v, difference * difference / bend
    return i, j, max(high - low, 0.0)


@compiled
def _alone(bend, least, sign, a, upper, h):
    """The best move of one variable, counted in ``beta`` of its row."""
    move = h / max(bend, least)
    if move > 0.0:
        return min(move, _room(sign, a, upper))
    return max(move, -_room(-sign, a, upper))


@compiled
def _single(K, sign, upper, ridge, a, h, m):
    """The variable that gains most alone, that gain, and the largest slope of one that can still move."""
    i, best, violation = -1, 0.0, 0.0
    for v in range(len(sign)):
        r = v // m
        bend = K[r, r] + ridge[v]
        move = _alone(bend, _FLAT * K[r, r] + 1e-300, sign[v], a[v], upper[v], h[v])
        if move != 0.0:
            violation = max(violation, abs(h[v]))
            gain = move * (h[v] - 0.5 * bend * move)
            if gain > best:
                i, best = v, gain
    return i, best, violation


@compiled
def _with_partner(K, sign, upper, ridge, a, h, m, i, best):
    """The partner with which variable ``i`` gains most, and the two moves; ``best`` is its gain alone."""
    r = i // m
    row, first = K[r], K[r, r] + ridge[i]
    j, other = i, 0.0
    move = _alone(first, _FLAT * K[r, r] + 1e-300, sign[i], a[i], upper[i], h[i])
    for v in range(len(sign)):
        s = v // m
        second = K[s, s] + ridge[v]
        determinant = first * second - row[s] * row[s]
        if v == i or determinant <= 1e-12 * first * second:
            continue
        x = (second * h[i] - row[s] * h[v]) / determinant
        z = (first * h[v] - row[s] * h[i]) / determinant
        gain = h[i] * x + h[v] * z  # twice that of the whole way
        if 0.5 * gain <= best:
            continue
        part = min(1.0, _share(x, sign[i], a[i], upper[i]), _share(z, sign[v], a[v], upper[v]))
        if gain * part * (1.0 - 0.5 * part) > best:
            best = gain * part * (1.0 - 0.5 * part)
            j, move, other = v, part * x, part * z
    return j, move, other


@compiled
def _share(move, sign, a, upper):
    """The part of a move that the box allows (it may be more than 1)."""
    if move == 0.0:
        return 1.0
    return _room(sign if move > 0.0 else -sign, a, upper) / abs(move)
