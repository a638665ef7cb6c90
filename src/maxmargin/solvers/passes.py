"""Sequential passes over the examples: kernels that move the weights example by example.

Every kernel takes a run of examples (``order``), so that Python regains control about once a second, and returns how
many it has done; it stops early when the working set is full. ``state`` collects running figures, see the constants.
"""

from __future__ import annotations

import numpy as np
from numba import types

from .._compiled import BITS, array, compiled, kernel, list_nonzero, prefetch
from ..structures.base import signatures
from ..structures.plain import PlainData
from .block import block_step
from .buffers import Astray, features_astray, has_nan, parts_astray
from .planes import PLANES, Planes, cached_scores, insert, score_of, scores_of, write_difference

__all__ = [
    "DUAL",
    "GAP",
    "STATE_SIZE",
    "STEPS",
    "TOGETHER",
    "VIOLATIONS",
    "WEIGHT",
    "frank_wolfe_pass",
    "perceptron_pass",
    "plain_difference",
    "plain_visits",
    "sweep",
]

# entries of ``state``
DUAL = 0  # growth of the dual objective
GAP = 1  # sum of the gaps of the examples at their visits
STEPS = 2  # visits so far, for the weights of the averaged iterate
WEIGHT = 3  # sum of those weights
VIOLATIONS = 4  # visits at which a cached plane beat the decoder, be it by rounding
EXAMPLE = 5  # that where it did so by most, with the decoder's score and the better one
ORACLE_SCORE = 6
CACHED_SCORE = 7
STATE_SIZE = 8

TOGETHER = 8
"""Visits of a plain structure that share a call, see :meth:`~.plain_oracle.PlainOracle.frank_wolfe`."""


@compiled(inner=True)
def _finish(features, pack, w, average, planes, i, c, scores, oracle, rule, stamp, state, gaps, scratch, work):
    """Choose the direction from the scores of all planes of ``i``, step, and book the figures."""
    alpha, used, following = planes.alpha, planes.used, planes.next
    best = worst = np.int64(0)
    mean = 0.0
    oracle_score = np.inf
    first = True
    p = planes.head[i]
    for k in range(len(scores)):
        a = alpha[p]
        if scores[k] > scores[best]:
            best = k
        if a > 0.0:
            mean += a * scores[k]
            used[p] = stamp
            if first or scores[k] < scores[worst]:
                worst = k
                first = False
        if p == oracle:
            oracle_score = scores[k]
        p = following[p]
    if scores[best] > oracle_score:
        if scores[best] - oracle_score > state[CACHED_SCORE] - state[ORACLE_SCORE]:
            state[EXAMPLE], state[ORACLE_SCORE], state[CACHED_SCORE] = i, oracle_score, scores[best]
        state[VIOLATIONS] += 1.0
    ahead = scores[best] - mean
    if ahead < 0.0:
        ahead = 0.0
    gap = c * ahead
    gaps[i] = gap
    state[GAP] += gap
    state[STEPS] += 1.0
    state[DUAL] += block_step(
        features, pack, w, average, state[WEIGHT], planes, i, c, scores, best, worst, mean, rule, scratch, work
    )
    state[WEIGHT] += state[STEPS]


@kernel(
    lambda: types.int64(
        signatures().potentials, signatures().augment, signatures().decode, signatures().parts, signatures().loss,
        signatures().features, signatures().pack, array(types.float64), array(types.float64), PLANES,
        array(types.int64), array(types.float64), types.int64, types.int64, array(types.int64),
        array(types.float64), array(types.int32), array(types.int32), array(types.int32), array(types.float64),
        array(types.float64), array(types.int64), array(types.float64),
    )
)  # fmt: skip
def frank_wolfe_pass(
    potentials, augment, decode, parts, loss, features, pack, w, average, planes, order, c, rule, stamp, sizes, theta,
    out, out_parts, true_parts, state, gaps, keys, values,
):  # fmt: skip
    """Visit ``order``: call the loss-augmented decoder, add its plane, take one exact step."""
    scratch = np.zeros(sizes[0])
    part = np.empty(2 * sizes[2], np.int32)
    coef = np.empty(2 * sizes[2])
    scores = np.empty(16)
    head, following, counts = planes.head, planes.next, planes.counts
    max_planes, max_entries = len(following), len(planes.part) - len(part)
    target, target_start = pack.target, pack.target_start
    for k in range(len(order)):
        if counts[0] >= max_planes or counts[1] > max_entries:
            return k
        i = order[k]
        potentials(pack, w, i, theta)
        n = np.int64(0)
        p = head[i]
        while p >= 0:
            if n + 1 >= len(scores):
                longer = np.empty(2 * len(scores))
                for q in range(n):  # slice assignment would compile string formatting for its error
                    longer[q] = scores[q]
                scores = longer
            scores[n] = score_of(planes, p, theta)
            n += 1
            p = following[p]
        first = target_start[i]
        for q in range(target_start[i + 1] - first):
            out[q] = target[first + q]
        n_true = parts(pack, i, out, true_parts)
        if parts_astray(n_true, true_parts, sizes[0]):
            raise Astray
        score = 0.0
        for q in range(n_true):
            score -= theta[true_parts[q]]
        score += augment(pack, i, theta)
        said = decode(pack, i, theta, out)
        n_out = parts(pack, i, out, out_parts)
        if np.isnan(said) or has_nan(theta) or parts_astray(n_out, out_parts, sizes[0]):
            raise Astray
        for q in range(n_out):
            score += theta[out_parts[q]]
        if not np.isfinite(score):
            raise Astray
        m = write_difference(out_parts, n_out, true_parts, n_true, scratch, part, coef)
        known = counts[0]
        oracle = insert(planes, i, part, coef, m, loss(pack, i, out), stamp)
        if counts[0] > known:
            scores[n] = score
            n += 1
        _finish(
            features, pack, w, average, planes, i, c[i], scores[:n], oracle, rule, stamp, state, gaps, scratch,
            (keys, values),
        )  # fmt: skip
    return len(order)


@kernel(
    lambda: types.void(
        signatures().potentials_at, signatures().features, signatures().pack, array(types.float64),
        array(types.float64), PLANES, array(types.int64), array(types.float64), types.int64, types.int64,
        array(types.int64), array(types.float64), array(types.float64), array(types.float64), array(types.int64),
        array(types.float64),
    )
)  # fmt: skip
def sweep(
    potentials_at, features, pack, w, average, planes, order, c, rule, stamp, sizes, theta, state, gaps, keys,
    values,
):  # fmt: skip
    """Visit ``order`` with the cached planes alone: no call of the decoder."""
    scratch = np.zeros(sizes[0])
    for k in range(len(order)):
        i = order[k]
        scores = cached_scores(potentials_at, pack, w, planes, i, theta, scratch)
        _finish(
            features, pack, w, average, planes, i, c[i], scores, np.int64(-1), rule, stamp, state, gaps, scratch,
            (keys, values),
        )  # fmt: skip


# Kernels of plain structures take the arrays of ``PlainData`` and ``Planes`` one by one, all of them writable: Numba
# knows such arguments at once and looks up tuples and read-only arrays the long way (8 us for ``plain_visits``).
_PLAIN = (
    array(types.int64), array(types.int32), array(types.float64), array(types.float64), array(types.int32),
    array(types.float64),
)  # fmt: skip


@compiled(inner=True)
def _plain_difference(data, i, vector):
    """Subtract the truth's feature vector from ``vector``, whose non-zero entries go into the buffers of ``data``.

    Returns their number; -1 when an entry is not finite.
    """
    for q in range(data.truth_start[i], data.truth_start[i + 1]):
        vector[data.truth_index[q]] -= data.truth_value[q]
    n = np.int64(0)
    whole = len(vector) // 8 * 8
    for a in range(0, whole, 8):  # n is never beyond a: there is room for eight
        n = list_nonzero(vector, a, BITS, data.part, n)
    for a in range(whole, len(vector)):
        data.part[n] = a
        n += vector[a] != 0.0
    odd = np.int64(0)
    for q in range(n):  # NaN and infinity are among them
        value = vector[np.uint32(data.part[q])]
        odd += not np.isfinite(value)
        data.coef[q] = value
    return n if odd == 0 else np.int64(-1)


@kernel(lambda: types.int64(*_PLAIN, types.int64, array(types.float64)))
def plain_difference(truth_start, truth_index, truth_value, scratch, part, coef, i, vector):
    """Difference of a feature vector from the truth's, into ``part`` and ``coef``; returns its length or -1.

    ``vector`` is overwritten.
    """
    return _plain_difference(PlainData(truth_start, truth_index, truth_value, scratch, part, coef), i, vector)


@kernel(
    lambda: types.int64(
        *_PLAIN, *PLANES.types, array(types.float64), array(types.float64), array(types.int64),
        types.UniTuple(array(types.float64), TOGETHER), types.int64, array(types.float64), array(types.float64),
        types.int64, types.int64, array(types.float64), array(types.float64),
    )
)  # fmt: skip
def plain_visits(
    truth_start, truth_index, truth_value, scratch, part, coef, head, following, start, length, plane_loss, alpha, used,
    pool_part, pool_coef, counts, w, average, examples, vectors, done, loss, c, rule, stamp, state, gaps,
):  # fmt: skip
    """Visits for a structure in plain Python, whose planes are feature vectors (parts are weights).

    ``vectors[k]``, which is overwritten, and ``loss[k]`` belong to the output that the structure found for
    ``examples[k]`` just before the first of the calls for these examples: only the first is checked against the cached
    planes, as every step moves the weights. The first ``done`` were visited by calls before.
    Returns the number of visits done when all are, or when the working set might be full; ``-1 - k`` when the vector of
    visit ``k`` is not finite. No first-class function is passed: that would cost more than the visit.
    """
    data = PlainData(truth_start, truth_index, truth_value, scratch, part, coef)
    planes = Planes(head, following, start, length, plane_loss, alpha, used, pool_part, pool_coef, counts)
    for k in range(done, len(examples)):
        i = examples[k]
        vector = vectors[k]
        if planes.counts[0] >= len(planes.next) or planes.counts[1] + len(vector) > len(planes.part):
            return k
        _prefetch_planes(planes, i)
        n = _plain_difference(data, i, vector)
        if n < 0:
            return -1 - k
        oracle = insert(planes, i, data.part, data.coef, n, loss[k], stamp)
        if k > 0:
            oracle = np.int64(-1)
        scores = scores_of(planes, i, w)
        _finish(None, None, w, average, planes, i, c[i], scores, oracle, rule, stamp, state, gaps, data.scratch, None)
    return len(examples)


@compiled(inner=True)
def _prefetch_planes(planes, i):
    """Begin to load the entries of the planes of an example: they come from memory while its difference is taken."""
    p = planes.head[i]
    while p >= 0:
        at = planes.start[p]
        for q in range(0, planes.length[p], 8):
            prefetch(planes.coef, at + q)
        for q in range(0, planes.length[p], 16):
            prefetch(planes.part, at + q)
        p = planes.next[p]


@kernel(
    lambda: types.int64(
        signatures().potentials, signatures().decode, signatures().parts, signatures().features, signatures().pack,
        array(types.float64), array(types.float64), array(types.int64), array(types.float64), array(types.int64),
        array(types.float64), array(types.int32), array(types.int32), array(types.int32), array(types.float64),
    )
)  # fmt: skip
def perceptron_pass(
    potentials, decode, parts, features, pack, w, average, order, s, sizes, theta, out, out_parts, true_parts, state
):  # fmt: skip
    """Visit ``order``: ``w += s_i (phi(x_i, y_i) - phi(x_i, yhat))`` at every mistake; returns the mistakes made."""
    scratch = np.zeros(sizes[0])
    part = np.empty(2 * sizes[2], np.int32)
    coef = np.empty(2 * sizes[2])
    keys = np.empty(1024, np.int64)
    values = np.empty(1024)
    mistakes = np.int64(0)
    for k in range(len(order)):
        i = order[k]
        potentials(pack, w, i, theta)
        said = decode(pack, i, theta, out)
        n_out = parts(pack, i, out, out_parts)
        if np.isnan(said) or has_nan(theta) or parts_astray(n_out, out_parts, sizes[0]):
            raise Astray
        size = pack.target_start[i + 1] - pack.target_start[i]
        for q in range(size):
            out[q] = pack.target[pack.target_start[i] + q]
        n_true = parts(pack, i, out, true_parts)
        if parts_astray(n_true, true_parts, sizes[0]):
            raise Astray
        m = write_difference(out_parts, n_out, true_parts, n_true, scratch, part, coef)
        if m > 0:
            mistakes += 1
            n = features(pack, i, part, coef, m, keys, values)
            if n < 0:
                keys = np.empty(-n, np.int64)
                values = np.empty(-n)
                n = features(pack, i, part, coef, m, keys, values)
            if features_astray(n, keys, values, len(w)):
                raise Astray
            for q in range(n):
                w[keys[q]] -= s[i] * values[q]
                if len(average) > 0:
                    average[keys[q]] -= state[STEPS] * s[i] * values[q]
        state[STEPS] += 1.0
    return mistakes
