"""One step of block-coordinate Frank-Wolfe on the planes of one example.

Problem: see :mod:`maxmargin.problem`. For one example with ``c = C s_i`` and planes ``p`` of scores
``g_p = Delta_p + <w, psi_p>`` the dual changes along a direction ``d`` (entries sum to 0) by
``c t <g, d> - 1/2 c^2 t^2 |sum_p d_p psi_p|^2``, so the exact line search takes
``t = <g, d> / (c |sum_p d_p psi_p|^2)``, clipped to the simplex. Directions:

* ``PLAIN``: from the mean towards the best plane (Lacoste-Julien et al. 2013, algorithm 4);
* ``PAIRWISE``: from the worst plane with weight to the best one (Osokin et al. 2016, algorithm 4 of the supplement);
* ``AWAY``: the steeper one of PLAIN and of the step away from the worst plane, whose weight goes to the others in
  proportion to theirs (so that the step stays well scaled when the worst plane has nearly all the weight).

Cost of a step: the entries of the planes involved times the features of a row.
"""

from __future__ import annotations

import numpy as np

from .._compiled import compiled
from .buffers import Astray, features_astray

__all__ = ["AWAY", "PAIRWISE", "PLAIN", "block_step"]

PLAIN, PAIRWISE, AWAY = 0, 1, 2


@compiled(inner=True)
def _add_plane(planes, p, coef, scratch, parts, m):
    """Add ``coef`` times a plane to the combination held in ``scratch`` over ``parts[:m]``.

    A part whose sum cancelled may be listed twice; the reader empties ``scratch``, so it counts once.
    """
    pool_part, pool_coef, at = planes.part, planes.coef, planes.start[p]
    for q in range(at, at + planes.length[p]):
        part = np.uint32(pool_part[q])
        parts[m] = part  # without a branch: what two planes share cannot be predicted
        m += scratch[part] == 0.0
        scratch[part] += coef * pool_coef[q]
    return m


@compiled(inner=True)
def _step_along(keys, values, n, c, slope, limit, w, average, weight_before):
    """Move ``w`` by the exact step along the first ``n`` entries; returns it and the growth of the dual."""
    norm = 0.0
    for k in range(n):
        norm += values[k] * values[k]
    step = limit
    if norm > 0.0:
        exact = slope / (c * norm)
        if exact < limit:
            step = exact
    if step <= 0.0:
        return 0.0, 0.0
    change = -c * step
    if len(average) > 0:
        for k in range(n):
            w[keys[k]] += change * values[k]
            average[keys[k]] += weight_before * change * values[k]
    else:
        for k in range(n):
            w[np.uint64(keys[k])] += change * values[k]
    return step, c * step * slope - 0.5 * change * change * norm


@compiled(inner=True)
def block_step(features, pack, w, average, weight_before, planes, i, c, scores, best, worst, mean, rule, scratch, work):
    """Take one exact step; returns the growth of the dual (0.0 when there is none).

    Parameters
    ----------
    features : compiled function or None
        None means that the parts are features themselves (plain structures); the branch is resolved when compiling.
    scores : float64 array
        Scores of the planes in list order; ``best`` and ``worst`` are positions in it, ``mean`` is ``<alpha, scores>``.
    average : float64 array
        Empty, or the correction vector of the averaged iterate, to which the change of ``w`` times ``weight_before``
        is added.
    scratch : float64 array
        Zeros, one for each potential; left as zeros.
    work : tuple of arrays
        Buffers ``keys, values`` (longer ones are made here when they are too short); None with ``features`` None.
    """
    alpha, length, following, head = planes.alpha, planes.length, planes.next, planes.head[i]
    direction = rule
    rest = rest_score = 0.0  # weight and score of all planes but the worst
    if rule == AWAY:
        p = head
        for k in range(len(scores)):
            if k != worst:
                rest += alpha[p]
                rest_score += alpha[p] * scores[k]
            p = following[p]
        if rest < 1e-12 or scores[best] - mean >= mean - scores[worst]:
            direction = PLAIN
    if direction == PAIRWISE:
        slope = scores[best] - scores[worst]
    elif direction == PLAIN:
        slope = scores[best] - mean
    else:
        slope = rest_score / rest - scores[worst]
    if slope <= 0.0:
        return 0.0

    # the combination sum_p d_p psi_p, merged over parts
    n_planes = len(scores)
    n_entries = np.int64(0)
    p = head
    best_plane = worst_plane = p
    for k in range(n_planes):
        if k == best:
            best_plane = p
        if k == worst:
            worst_plane = p
        if direction != PAIRWISE or k == best or k == worst:
            n_entries += length[p]
        p = following[p]
    parts = np.empty(n_entries, np.int32)
    m = np.int64(0)
    if direction == PAIRWISE:
        limit = alpha[worst_plane]
        m = _add_plane(planes, best_plane, 1.0, scratch, parts, m)
        m = _add_plane(planes, worst_plane, -1.0, scratch, parts, m)
    else:
        limit = 1.0
        p = head
        for k in range(n_planes):
            if direction == PLAIN:
                d = (1.0 if k == best else 0.0) - alpha[p]
            elif k == worst:
                d = -1.0
                limit = alpha[p]
            else:
                d = alpha[p] / rest
            if d != 0.0:
                m = _add_plane(planes, p, d, scratch, parts, m)
            p = following[p]
    coef = np.empty(m)
    kept = np.int64(0)
    for q in range(m):
        part = np.uint32(parts[q])
        value = scratch[part]
        scratch[part] = 0.0
        parts[kept] = part
        coef[kept] = value
        kept += value != 0.0

    if features is None:
        step, growth = _step_along(parts, coef, kept, c, slope, limit, w, average, weight_before)
    else:
        keys, values = work
        n = features(pack, i, parts, coef, kept, keys, values)
        if n < 0:
            keys = np.empty(-n, np.int64)
            values = np.empty(-n)
            n = features(pack, i, parts, coef, kept, keys, values)
        if features_astray(n, keys, values, len(w)):
            raise Astray
        step, growth = _step_along(keys, values, n, c, slope, limit, w, average, weight_before)
    if step <= 0.0:
        return 0.0

    if direction == PAIRWISE:
        alpha[best_plane] += step
        if step >= limit:
            alpha[worst_plane] = 0.0
        else:
            alpha[worst_plane] -= step
    else:
        p = head
        for k in range(n_planes):
            if direction == PLAIN:
                alpha[p] *= 1.0 - step
                if k == best:
                    alpha[p] += step
            elif k == worst:
                alpha[p] = 0.0 if step >= limit else alpha[p] - step
            else:
                alpha[p] += step * alpha[p] / rest
            p = following[p]
    return growth
