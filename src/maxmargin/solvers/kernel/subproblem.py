"""Exact ascent of the dual over a few rows whose kernel values are at hand: two variables a step, or one.

Variable ``v`` of row ``i`` is optimal for one threshold ``h_v = sign_v (slope of the dual along a_v)``: that at which
it wants neither up nor down. Raising ``beta_i`` gains where ``h_v`` is above the threshold of its group, lowering it
where it is below; so a dual point whose sums are right is optimal if and only if in no group a variable that can raise
its row has a threshold above that of one that can lower its own. A step moves the variable with the highest threshold
and the partner of its group that promises most with it (second-order choice: Fan, Chen, Lin, JMLR 2005).

Where no sum is fixed the threshold should be 0. That is a group with one more point, at the origin, whose kernel values
are 0 and which moves as it likes at no cost: a pair with it is one variable alone. Where rows have much in common,
pairs that keep their sum are far ahead of single variables (measured, of texts with a large ``C``: hundreds of steps to
a hundred thousand). Where rows are multiples of one another they are far behind: so if they take long, the variable
that gains most alone is moved by turns, with the partner that makes the gain largest, if one does (Steinwart, Hush,
Scovel, JMLR 2011).

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
_TURN = 20  # steps for each variable


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
    K : float32 or float64 array of shape (q, q), or (q + 1, q + 1) with zeros last for the point at the origin
    sign, upper, ridge, a : float64 arrays of shape (m q,)
        Terms, dual variables: the first terms of all rows, then the second ones.
    h : float32 or float64 array of shape (m q,)
        Thresholds.
    group : int64 array of shape (m q,)
    n_groups : int
        0: no sum is fixed, and there is a point at the origin.
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
    q = len(K) - 1
    m = len(h) // q

    def with_origin(values: Array, last: float) -> Array:
        return np.append(values.reshape(m, q), np.full((m, 1), last, values.dtype), axis=1).ravel()

    sign, upper, ridge = with_origin(sign, 1.0), with_origin(upper, np.inf), with_origin(ridge, 0.0)
    moving, thresholds = with_origin(a, _ENDLESS), with_origin(h, 0.0)
    low, high = np.where(moving > 0.0, thresholds, 0.0), np.where(moving < upper, thresholds, 0.0)
    low, high = np.where(sign > 0.0, low, high), np.where(sign > 0.0, high, low)
    goal = max(fraction * float(max(high.max(), -low.min())), least)
    one = np.zeros(len(moving), np.int64)
    done, most, turn = 0, _TURN * len(moving), 0
    while done < limit:
        most = min(most, limit - done)
        if turn % 2 == 0:
            steps = int(_by_pairs(K, sign, upper, ridge, moving, thresholds, one, 1, 0.0, goal, most))
        else:
            steps = int(_by_singles(K, sign, upper, ridge, moving, thresholds, 0.0, goal, most))
        done, turn = done + steps, turn + 1
        if steps < most:
            break
        most *= 2
    a[:], h[:] = (values.reshape(m, q + 1)[:, :q].ravel() for values in (moving, thresholds))
    return done


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
def _by_singles(K, sign, upper, ridge, a, h, fraction, least, limit):
    """Steps of the variable that gains most alone, with a partner where that gains more."""
    q = np.int64(len(K))
    diagonal, bend, gain = np.empty(len(h)), np.empty(len(h)), np.empty(len(h))
    _bends(K, ridge, diagonal, bend)
    rise, fall = np.empty(len(h)), np.empty(len(h))  # how far the row of each can be raised, and lowered
    for v in range(len(h)):
        rise[v], fall[v] = _room(sign[v], a[v], upper[v]), _room(-sign[v], a[v], upper[v])
    goal = -1.0
    for step in range(limit):
        best, violation = _alone(h, rise, fall, diagonal, bend, gain)
        if goal < 0.0:
            goal = max(fraction * violation, least)
        i = _place(gain, best) if best > 0.0 else -1
        if violation <= goal or i < 0:
            return step
        r = i % q
        move, other, j = min(max(h[i] / max(bend[i], _FLAT * diagonal[i] + 1e-300), -fall[i]), rise[i]), 0.0, i
        together = _together(h, rise, fall, bend, i, K[r], gain)
        if together > best:
            j = _place(gain, together)
            x, z, part = _steps(h[i], h[j], bend[i], bend[j], K[r, j % q], rise[i], fall[i], rise[j], fall[j])
            move, other = part * x, part * z
        _apply(K, sign, upper, ridge, a, h, i, move, j, other)
        rise[i], fall[i] = _room(sign[i], a[i], upper[i]), _room(-sign[i], a[i], upper[i])
        rise[j], fall[j] = _room(sign[j], a[j], upper[j]), _room(-sign[j], a[j], upper[j])
    return limit


@compiled
def _apply(K, sign, upper, ridge, a, h, i, move, j, other):
    """Move ``beta`` of the row of variable ``i`` by ``move`` and of that of ``j`` by ``other``."""
    q = np.int64(len(K))
    a[i] = _moved(a[i], sign[i] * move, upper[i])
    if other != 0.0:
        a[j] = _moved(a[j], sign[j] * other, upper[j])
    one, two = K[i % q], K[j % q]
    for first in range(0, len(h), q):
        part = h[first : first + q]
        for t in range(q):
            part[t] -= move * one[t] + other * two[t]
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
def _place(values, value):
    """Where the first of these is, or -1 where there is none; looked for in pieces that are compared at once."""
    for begin in range(0, len(values), _PIECE):
        part = values[begin : begin + _PIECE]
        found = 0
        for t in range(len(part)):
            found += part[t] == value
        if found:
            for t in range(len(part)):
                if part[t] == value:
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


@compiled
def _alone(h, rise, fall, diagonal, bend, gain):
    """The gain of every variable alone; the largest, and the largest slope of one that can still move."""
    best, violation = 0.0, 0.0
    for v in range(len(h)):
        move = smaller(larger(h[v] / larger(bend[v], _FLAT * diagonal[v] + 1e-300), -fall[v]), rise[v])
        gain[v] = move * (h[v] - 0.5 * bend[v] * move)
        violation = larger(violation, abs(h[v]) if move != 0.0 else 0.0)
        best = larger(best, gain[v])
    return best, violation


@compiled
def _together(h, rise, fall, bend, i, row, gain):
    """The gain of variable ``i`` with every partner, 0 for such as add nothing; the largest."""
    best = 0.0
    for begin in range(0, len(h), len(row)):
        end = begin + len(row)
        h_, bend_, gain_ = h[begin:end], bend[begin:end], gain[begin:end]
        rise_, fall_ = rise[begin:end], fall[begin:end]
        for t in range(len(row)):
            x, z, part = _steps(h[i], h_[t], bend[i], bend_[t], row[t], rise[i], fall[i], rise_[t], fall_[t])
            gain_[t] = (h[i] * x + h_[t] * z) * part * (1.0 - 0.5 * part)
    gain[i] = 0.0
    for v in range(len(h)):
        best = larger(best, gain[v])
    return best


@compiled
def _steps(h, k, bend, curve, value, rise, fall, up, down):
    """The best moves of two variables together, and the part of the way that the box allows, at most 1.

    0 where the kernel is flat along some direction of the two.
    """
    determinant = bend * curve - value * value
    share = 1.0 / max(determinant, 1e-300) if determinant > 1e-12 * bend * curve else 0.0
    x, z = (curve * h - value * k) * share, (bend * k - value * h) * share
    part = min(
        1.0,
        (rise if x > 0.0 else fall) / max(abs(x), 1e-300) if x != 0.0 else 1.0,
        (up if z > 0.0 else down) / max(abs(z), 1e-300) if z != 0.0 else 1.0,
    )
    return x, z, part
