"""The quadratic program of a cutting-plane working set, solved by an active-set method on the simplex.

Problem: ``max_a b^T a - 1/2 a^T G a`` subject to ``a >= 0``, ``sum a <= cap``, with ``G`` positive semidefinite and
often singular. The slack is one more vertex with a zero row, so that the weights sum to ``cap`` exactly; then ``G`` may
be shifted by ``s 1 1^T``, which changes nothing on the simplex and makes it definite on affinely independent vertices.
Method: Wolfe's corral (Wolfe 1976, "Finding the nearest point in a polytope") with a linear term: add the vertex with
the largest gradient, minimise over the affine hull of the corral, drop vertices whose weight would turn negative. The
factor of ``G_SS + s 1 1^T`` is updated row by row and repaired by Givens rotations. Pairwise steps finish what rounding
leaves.
Cost of a step: ``O(t |S| + |S|^2)``; memory ``O(|S|^2)`` besides ``G``.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numpy.typing import NDArray

from .._compiled import array, compiled, kernel

__all__ = ["solve_simplex_qp"]


@compiled
def _forward(L, n, x):
    for i in range(n):
        v = x[i]
        for k in range(i):
            v -= L[i, k] * x[k]
        x[i] = v / L[i, i]


@compiled
def _backward(L, n, x):
    for i in range(n - 1, -1, -1):
        v = x[i] / L[i, i]
        x[i] = v
        for k in range(i):
            x[k] -= L[i, k] * v


@compiled
def _remove_row(L, support, n, position):
    """Take one vertex out of the factor and the support; Givens rotations restore the triangle."""
    for i in range(position, n - 1):
        for k in range(i + 2):
            L[i, k] = L[i + 1, k]
        x, y = L[i, i], L[i, i + 1]
        r = np.sqrt(x * x + y * y)
        c, s = x / r, y / r
        L[i, i] = r
        for q in range(i + 1, n - 1):
            u, v = L[q + 1, i], L[q + 1, i + 1]
            L[q + 1, i] = c * u + s * v
            L[q + 1, i + 1] = c * v - s * u
    for q in range(position, n - 1):
        support[q] = support[q + 1]


@compiled
def _append(G, support, L, n, j, shift, x):
    """Extend the factor by vertex ``j`` (``x`` gets the new row); false when it depends on the others."""
    t = len(G)
    own = shift
    if j < t:
        own += G[j, j]
    for q in range(n):
        k = support[q]
        x[q] = shift
        if j < t and k < t:
            x[q] += G[j, k]
    _forward(L, n, x)
    pivot = own
    for q in range(n):
        pivot -= x[q] * x[q]
    if pivot <= 1e-11 * own:
        return False
    for q in range(n):
        L[n, q] = x[q]
    L[n, n] = np.sqrt(pivot)
    support[n] = j
    return True


@compiled
def _gradient(G, b, a, g):
    """Fill ``g = b - G a``; returns ``<a, g>`` and the objective."""
    t = len(b)
    for k in range(t):
        g[k] = b[k]
    for m in range(t):
        if a[m] != 0.0:
            for k in range(t):
                g[k] -= a[m] * G[m, k]
    inner = value = 0.0
    for k in range(t):
        inner += a[k] * g[k]
        value += 0.5 * a[k] * (b[k] + g[k])
    return inner, value


@kernel(
    lambda: types.float64(
        array(types.float64, 2), array(types.float64), types.float64, array(types.float64), types.float64, types.int64
    )
)
def _active_set(G, b, cap, a, tol, max_steps):
    """Improve ``a`` in place; returns the remaining gap. ``a[t]`` is the slack's weight."""
    t = len(b)
    shift = 0.0
    for k in range(t):
        shift += G[k, k] / t
    if shift <= 0.0:
        shift = 1.0
    L = np.zeros((t + 2, t + 2))
    support = np.empty(t + 2, np.int64)
    x, u, v, g = np.empty(t + 2), np.empty(t + 2), np.empty(t + 2), np.empty(t + 1)
    n = np.int64(0)
    # the corral starts from the weights given; a dependent vertex gives its weight to the slack
    if a[t] <= 0.0:
        a[t] = 0.0
    for k in range(t + 1):
        if a[k] > 0.0:
            if _append(G, support, L, n, k, shift, x):
                n += 1
            else:
                a[k] = 0.0
    total = 0.0
    for k in range(t):
        total += a[k]
    a[t] = max(cap - total, 0.0)
    listed = False
    for q in range(n):
        listed = listed or support[q] == t
    if not listed and a[t] > 0.0 and _append(G, support, L, n, t, shift, x):
        n += 1
    if n == 0:
        for k in range(t):
            a[k] = 0.0
        a[t] = cap
        _append(G, support, L, n, t, shift, x)
        n = np.int64(1)

    gap = np.inf
    best_value = -1e300  # an infinite one would make the next comparison one with NaN
    stalled = 0
    for _step in range(max_steps):
        inner, value = _gradient(G, b, a, g)
        g[t] = 0.0
        j = np.int64(t)
        for k in range(t):
            if g[k] > g[j]:
                j = np.int64(k)
        gap = cap * g[j] - inner
        if value > best_value + 1e-15 * abs(best_value):
            best_value = value
            stalled = 0
        else:
            stalled += 1
        if gap <= tol or stalled > 10:
            break
        inside = False
        for q in range(n):
            inside = inside or support[q] == j
        while not inside:
            if _append(G, support, L, n, j, shift, x):
                n += 1
                break
            # x holds L^-1 of the row: the flat direction along which the objective is linear
            _backward(L, n, x)
            limit = np.inf
            leaving = np.int64(-1)
            for q in range(n):
                if x[q] > 1e-12 and a[support[q]] / x[q] < limit:
                    limit = a[support[q]] / x[q]
                    leaving = q
            if leaving < 0:
                break
            for q in range(n):
                a[support[q]] = max(a[support[q]] - limit * x[q], 0.0)
            a[support[leaving]] = 0.0
            a[j] += limit
            _remove_row(L, support, n, leaving)
            n -= 1
        while n > 0:
            for q in range(n):
                u[q] = 0.0 if support[q] == t else b[support[q]]
                v[q] = 1.0
            _forward(L, n, u)
            _forward(L, n, v)
            su = sv = 0.0
            for q in range(n):
                su += v[q] * u[q]
                sv += v[q] * v[q]
            for q in range(n):
                u[q] += (cap - su) / sv * v[q]
            _backward(L, n, u)
            limit = 1.0
            leaving = np.int64(-1)
            for q in range(n):
                weight = a[support[q]]
                if u[q] <= 0.0:
                    ratio = weight / (weight - u[q]) if weight > u[q] else 0.0
                    if ratio < limit:
                        limit = ratio
                        leaving = q
            for q in range(n):
                k = support[q]
                a[k] = max(a[k] + limit * (u[q] - a[k]), 0.0)
            if leaving < 0:
                break
            a[support[leaving]] = 0.0
            _remove_row(L, support, n, leaving)
            n -= 1
    return gap


@kernel(
    lambda: types.float64(
        array(types.float64, 2), array(types.float64), types.float64, array(types.float64), types.float64, types.int64
    )
)
def _pairwise(G, b, cap, a, tol, max_steps):
    """Pairwise steps with the second-order choice of the vertex that gives weight; returns the remaining gap."""
    t = len(b)
    g = np.empty(t + 1)
    gap = np.inf
    for step in range(max_steps):
        if step % 1000 == 0:
            _gradient(G, b, a, g)
            g[t] = 0.0
        inner = 0.0
        j = np.int64(t)
        for k in range(t):
            inner += a[k] * g[k]
            if g[k] > g[j]:
                j = np.int64(k)
        gap = cap * g[j] - inner
        if gap <= tol:
            break
        best = size = 0.0
        giver = np.int64(-1)
        for k in range(t + 1):
            if a[k] > 0.0 and g[k] < g[j]:
                curve = 0.0
                if j < t:
                    curve += G[j, j]
                if k < t:
                    curve += G[k, k]
                    if j < t:
                        curve -= 2.0 * G[j, k]
                slope = g[j] - g[k]
                move = min(a[k], slope / curve) if curve > 0.0 else a[k]
                gain = move * (slope - 0.5 * max(curve, 0.0) * move)
                if gain > best:
                    best, size, giver = gain, move, np.int64(k)
        if giver < 0:
            break
        a[j] += size
        a[giver] = 0.0 if size >= a[giver] else a[giver] - size
        for k in range(t):
            if j < t:
                g[k] -= size * G[j, k]
            if giver < t:
                g[k] += size * G[giver, k]
    return gap


def solve_simplex_qp(
    G: NDArray[np.float64],
    b: NDArray[np.float64],
    cap: float,
    start: NDArray[np.float64] | None = None,
    *,
    tol: float = 1e-10,
) -> tuple[NDArray[np.float64], float]:
    """Maximise ``b^T a - 1/2 a^T G a`` over ``a >= 0``, ``sum a <= cap``.

    Parameters
    ----------
    G : float64 array of shape (t, t)
        Positive semidefinite, symmetric.
    b : float64 array of shape (t,)
    cap : float
    start : float64 array of shape (t,), optional
        A feasible point to start from.
    tol : float
        Absolute gap at which to stop.

    Returns
    -------
    a : float64 array of shape (t,)
    gap : float
        Bound on the distance of its value from the maximum.
    """
    t = len(b)
    a = np.zeros(t + 1)
    if start is not None:
        a[: len(start)] = start
    a[t] = max(cap - a[:t].sum(), 0.0)
    G, b = np.ascontiguousarray(G, np.float64), np.ascontiguousarray(b, np.float64)
    gap = _active_set(G, b, float(cap), a, float(tol), 50 + 10 * t)
    if gap > tol:
        np.maximum(a, 0.0, out=a)
        a[t] = max(cap - a[:t].sum(), 0.0)
        gap = _pairwise(G, b, float(cap), a, float(tol), 20_000)
    total = a[:t].sum()
    if total > cap:
        a[:t] *= cap / total
    return a[:t], float(gap)
