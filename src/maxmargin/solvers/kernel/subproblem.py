"""Exact ascent of the dual over a few rows whose kernel values are at hand, two variables a step.

Variable ``v`` of row ``i`` is optimal for one threshold ``h_v = sign_v (slope of the dual along a_v)``: that at which
it wants neither up nor down. Raising ``beta_i`` gains where ``h_v`` is above the threshold of its group, lowering it
where it is below; so a dual point whose sums are right is optimal if and only if in no group a variable that can raise
its row has a threshold above that of one that can lower its own. A step moves the variable with the highest threshold
and the partner of its group that promises most with it (second-order choice: Fan, Chen, Lin, JMLR 2005).

Where no sum is fixed the threshold should be 0. That is a group with one more point, at the origin, whose kernel values
are 0 and which moves as it likes at no cost: a pair with it is one variable alone. Where rows have much in common,
pairs that keep their sum are far ahead of single variables, also of those with the best partner (measured, of texts
with a large ``C``: hundreds of steps to a hundred thousand).

Terms are kept one kind after another, all rows of each, and what a variable can do as numbers beside it, not as
conditions: loops without branches over numbers that follow one another take half the time (measured). A step with many
rows takes as long as its numbers take to come from memory: pieces of variables keep the best of them as they are
computed, so that they need not be looked for among all, and numbers that only choose are float32. Thresholds and kernel
values can be float32, too, while the violation is large beside their rounding: a quarter less time (measured).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._compiled import compiled, larger, smaller

__all__ = ["ascend", "extremes"]

Array = NDArray[Any]
# curvature of a direction along which the kernel is flat, relative to its diagonal
_FLAT = 1e-13
_PIECE = 128
_ENDLESS = 1e300  # steps leave it as it is


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


def ascend(
    K: Array, sign: Array, upper: Array, ridge: Array, a: Array, h: Array, group: Array, n_groups: int,
    fraction: float, least: float, limit: int,
) -> int:  # fmt: skip
    """Steps until the violation is ``fraction`` of what it was; ``a`` and ``h`` change in place.

    Parameters
    ----------
    K : float32 or float64 array of shape (q, q)
    sign, upper, ridge, a : float64 arrays of shape (m q,)
        Terms, dual variables: the first terms of all rows, then the second ones.
    h : float32 or float64 array of shape (m q,)
        Thresholds.
    group : int64 array of shape (m q,)
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
    if n_groups > 0:
        return int(_by_pairs(K, sign, upper, ridge, a, h, group, n_groups, fraction, least, limit))
    q, m = len(K), len(h) // len(K)

    def with_nothing(values: Array, last: float) -> Array:
        return np.append(values.reshape(m, q), np.full((m, 1), last, values.dtype), axis=1).ravel()

    wider = np.zeros((q + 1, q + 1), K.dtype)
    wider[:q, :q] = K
    moving, thresholds = with_nothing(a, _ENDLESS), with_nothing(h, 0.0)
    steps = _by_pairs(
        wider, with_nothing(sign, 1.0), with_nothing(upper, np.inf), with_nothing(ridge, 0.0), moving, thresholds,
        np.zeros(len(moving), np.int64), 1, fraction, least, limit,
    )  # fmt: skip
    a[:], h[:] = (values.reshape(m, q + 1)[:, :q].ravel() for values in (moving, thresholds))
    return int(steps)


@compiled
def _bends(K, ridge, diagonal, bend):
    """The curvature along every variable alone, without its ridge and with it."""
    q = np.int64(len(K))
    for v in range(len(ridge)):
        diagonal[v] = K[v % q, v % q]
        bend[v] = diagonal[v] + ridge[v]


@compiled
def _by_pairs(K, sign, upper, ridge, a, h, group, n_groups, fraction, least, limit):
    """Steps of two variables of a group."""
    q = np.int64(len(K))
    diagonal, bend = np.empty(len(h)), np.empty(len(h))
    _bends(K, ridge, diagonal, bend)
    largest = diagonal.max()
    # 0 where a variable can raise its row, and where it can lower it; else, and of other groups, infinite
    up, down = np.full((n_groups, len(h)), -np.inf, h.dtype), np.full((n_groups, len(h)), np.inf, h.dtype)
    for v in range(len(h)):
        _mark(up[group[v]], down[group[v]], sign, upper, a, v)
    # divisions take most of the time of a choice, and the same variables come first again and again
    share, known = np.empty((len(h), len(h)), np.float32), np.zeros(len(h), np.bool_)
    most = bend.max() + 1e-300
    n_pieces = (len(h) // q) * ((q + _PIECE - 1) // _PIECE)
    highest, gains = np.empty((n_groups, n_pieces), h.dtype), np.empty(n_pieces, h.dtype)
    gain = np.empty(_PIECE, h.dtype)
    _move_thresholds(K[0], K[0], 0.0, 0.0, h, up, highest)
    goal = -1.0
    for step in range(limit):
        i, j, violation = np.int64(-1), np.int64(-1), 0.0
        for g in range(n_groups):
            piece = _best_piece(highest[g])
            high = highest[g, piece]
            if high == -np.inf:
                continue
            first = _highest_of(h, up[g], high, q, piece)
            if not known[first]:
                flat = _FLAT * (K[first % q, first % q] + largest) + 1e-300
                _shares(bend, bend[first], most, flat, K[first % q], share[first])
                known[first] = True
            low = _partners(h, down[g], high, share[first], q, gains)
            piece = _best_piece(gains)
            if gains[piece] > 0.0 and high - low > violation:
                j = _partner_of(h, down[g], high, share[first], q, piece, gain)
                i, violation = first, high - low
        if goal < 0.0:
            goal = max(fraction * violation, least)
        if violation <= goal or i < 0 or j < 0:
            return step
        r, s = i % q, j % q
        curve = bend[i] + bend[j] - 2.0 * K[r, s]
        move = (h[i] - h[j]) / max(curve, _FLAT * (K[r, r] + K[s, s]) + 1e-300)
        move = min(move, _room(sign[i], a[i], upper[i]), _room(-sign[j], a[j], upper[j]))
        a[i], a[j] = _moved(a[i], sign[i] * move, upper[i]), _moved(a[j], -sign[j] * move, upper[j])
        _mark(up[group[i]], down[group[i]], sign, upper, a, i)
        _mark(up[group[j]], down[group[j]], sign, upper, a, j)
        h[i] -= ridge[i] * move
        h[j] += ridge[j] * move
        _move_thresholds(K[r], K[s], move, -move, h, up, highest)
    return limit


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
def _mark(up, down, sign, upper, a, v):
    """What variable ``v`` can do."""
    up[v] = 0.0 if (a[v] < upper[v] if sign[v] > 0.0 else a[v] > 0.0) else -np.inf
    down[v] = 0.0 if (a[v] > 0.0 if sign[v] > 0.0 else a[v] < upper[v]) else np.inf


@compiled
def _move_thresholds(one, two, move, other, h, up, highest):
    """``h -= move one + other two`` for the terms of all rows; for each group the highest ``h + up`` of every piece."""
    q, piece = len(one), 0
    move, other = h.dtype.type(move), h.dtype.type(other)
    for first in range(0, len(h), q):
        for begin in range(0, q, _PIECE):
            end = min(begin + _PIECE, q)
            one_, two_, h_ = one[begin:end], two[begin:end], h[first + begin : first + end]
            for t in range(len(h_)):
                h_[t] -= move * one_[t] + other * two_[t]
            for g in range(len(up)):
                up_ = up[g, first + begin : first + end]
                high = h.dtype.type(-np.inf)
                for t in range(len(h_)):
                    high = larger(high, h_[t] + up_[t])
                highest[g, piece] = high
            piece += 1


@compiled
def _partners(h, down, high, share, q, gains):
    """The largest share of the gain of a pair with the variable of threshold ``high`` of every piece; the lowest ``h``.

    Of those that can lower their row.
    """
    low, zero, piece = h.dtype.type(np.inf), h.dtype.type(0.0), 0
    for first in range(0, len(h), q):
        for begin in range(first, first + q, _PIECE):
            end = min(begin + _PIECE, first + q)
            h_, down_, share_ = h[begin:end], down[begin:end], share[begin:end]
            best = zero
            for t in range(len(h_)):
                threshold = h_[t] + down_[t]
                low = smaller(low, threshold)
                difference = larger(high - threshold, zero)
                best = larger(best, difference * difference * share_[t])
            gains[piece] = best
            piece += 1
    return low


@compiled
def _best_piece(values):
    best = 0
    for piece in range(1, len(values)):
        if values[piece] > values[best]:
            best = piece
    return best


@compiled
def _span(q, piece):
    """The variables of a piece, the first and the one after the last."""
    each = (q + _PIECE - 1) // _PIECE
    first, begin = piece // each * q, piece % each * _PIECE
    return first + begin, first + min(begin + _PIECE, q)


@compiled
def _highest_of(h, up, high, q, piece):
    """The variable of the piece that can raise its row and has the threshold ``high``, the highest."""
    begin, end = _span(q, piece)
    for v in range(begin, end):
        if h[v] + up[v] == high:
            return v
    return begin


@compiled
def _partner_of(h, down, high, share, q, piece, gain):
    """The variable of the piece that gains most with the one of threshold ``high``; ``gain`` has room for a piece."""
    begin, end = _span(q, piece)
    h_, down_, share_, gain_ = h[begin:end], down[begin:end], share[begin:end], gain[: end - begin]
    best = zero = h.dtype.type(0.0)
    for t in range(len(h_)):
        difference = larger(high - (h_[t] + down_[t]), zero)
        gain_[t] = difference * difference * share_[t]
        best = larger(best, gain_[t])
    for t in range(len(gain_)):
        if gain_[t] == best:
            return begin + t
    return -1


@compiled
def _shares(bend, first, most, flat, row, share):
    """The curvature of every pair with the variable of ``bend`` ``first``, inverted, times the largest there can be.

    Neither too large nor too small for float32, whatever the scale of the kernel.
    """
    for begin in range(0, len(bend), len(row)):
        end = begin + len(row)
        bend_, share_ = bend[begin:end], share[begin:end]
        for t in range(len(row)):
            share_[t] = (first + most) / max(first + bend_[t] - 2.0 * row[t], flat)
