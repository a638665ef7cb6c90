"""Kernels that look at many examples under fixed weights: evaluation, planes, sums of planes, prediction."""

from __future__ import annotations

import numpy as np
from numba import types

from .._compiled import array, kernel
from ..structures.base import signatures
from .buffers import Astray, features_astray, has_nan, parts_astray
from .planes import PLANES, cached_scores, insert, write_difference

__all__ = ["accumulate", "best_cached", "decode_batch", "evaluate_batch", "insert_batch"]

_F8, _I8, _I4 = array(types.float64), array(types.int64), array(types.int32)
_W = array(types.float64, readonly=True)


@kernel(
    lambda: types.int64(
        signatures().potentials, signatures().augment, signatures().decode, signatures().parts, signatures().loss,
        signatures().pack, _W, _I8, types.boolean, types.boolean, _I8, _F8, _I4, _I4, _I4, _F8, _F8, _F8, _I8, _I4, _F8,
    )
)  # fmt: skip
def evaluate_batch(
    potentials, augment, decode, parts, loss, pack, w, examples, with_risk, with_planes, sizes, theta, out,
    out_parts, true_parts, slack, risk, plane_loss, start, part, coef,
):  # fmt: skip
    """Slack, risk and most violated plane of every example.

    ``slack[k]`` is ``max_y Delta + <w, psi>`` and ``risk[k]`` the loss of the prediction for ``examples[k]``; its plane
    goes to ``part[start[k]:start[k + 1]]``. Returns the number of examples done (fewer when the pool is full).
    """
    scratch = np.zeros(sizes[0])
    target, target_start = pack.target, pack.target_start
    at = np.int64(0)
    start[0] = 0
    for k in range(len(examples)):
        if with_planes and at + 2 * sizes[2] > len(part):
            return k
        i = examples[k]
        potentials(pack, w, i, theta)
        if with_risk:
            if np.isnan(decode(pack, i, theta, out)):
                raise Astray
            risk[k] = loss(pack, i, out)
        # written out here, in passes and in structured steps: a function for it takes the pack by value, and passes
        # over classes took a tenth longer
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
        slack[k] = score
        plane_loss[k] = loss(pack, i, out)
        if with_planes:
            at += write_difference(out_parts, n_out, true_parts, n_true, scratch, part[at:], coef[at:])
        start[k + 1] = at
    return len(examples)


@kernel(lambda: types.int64(PLANES, _I8, array(types.boolean), _I8, _I4, _F8, _F8, types.int64, _I8))
def insert_batch(planes, examples, wanted, start, part, coef, loss, stamp, ids):
    """Add the planes wanted, one for an example; returns the number done (fewer when the working set is full)."""
    counts, max_planes, max_entries = planes.counts, len(planes.next), len(planes.part)
    for k in range(len(examples)):
        if not wanted[k]:
            continue
        n = start[k + 1] - start[k]
        if counts[0] >= max_planes or counts[1] + n > max_entries:
            return k
        lo, hi = start[k], start[k + 1]
        ids[k] = insert(planes, examples[k], part[lo:hi], coef[lo:hi], n, loss[k], stamp)
    return len(examples)


@kernel(lambda: types.void(signatures().features, signatures().pack, PLANES, _I8, _I8, _F8, _F8))
def accumulate(features, pack, planes, examples, ids, scale, out):
    """``out += sum_k scale[k] psi(ids[k])`` with ``ids[k]`` a plane of ``examples[k]``; ``ids[k] < 0`` is skipped."""
    start, length, pool_part, pool_coef = planes.start, planes.length, planes.part, planes.coef
    keys = np.empty(1024, np.int64)
    values = np.empty(1024)
    for k in range(len(examples)):
        p = ids[k]
        if p < 0 or scale[k] == 0.0:
            continue
        m = length[p]
        part, coef = pool_part[start[p] : start[p] + m], pool_coef[start[p] : start[p] + m]
        n = features(pack, examples[k], part, coef, m, keys, values)
        if n < 0:
            keys = np.empty(-n, np.int64)
            values = np.empty(-n)
            n = features(pack, examples[k], part, coef, m, keys, values)
        if features_astray(n, keys, values, len(out)):
            raise Astray
        for q in range(n):
            out[keys[q]] += scale[k] * values[q]


@kernel(lambda: types.void(signatures().potentials_at, signatures().pack, _F8, PLANES, _I8, _F8, _I8, _I8, _F8))
def best_cached(potentials_at, pack, w, planes, sizes, theta, examples, ids, scores):
    """The best cached plane of each example under ``w`` and its score.

    ``w`` is a writable array, as in the passes: for read-only ones the functions below would be compiled once more.
    """
    scratch = np.zeros(sizes[0])
    head, following = planes.head, planes.next
    for k in range(len(examples)):
        i = examples[k]
        found = cached_scores(potentials_at, pack, w, planes, i, theta, scratch)
        p = head[i]
        ids[k] = p
        scores[k] = 0.0
        for q in range(len(found)):
            if found[q] > scores[k]:
                scores[k] = found[q]
                ids[k] = p
            p = following[p]


@kernel(
    lambda: types.void(
        signatures().potentials, signatures().decode, signatures().pack, _W, _I8, _F8, _I4, _I8, _I4, _F8
    )
)
def decode_batch(potentials, decode, pack, w, examples, theta, out, start, outs, scores):
    """Best outputs of the examples into ``outs[start[k]:start[k + 1]]``, and their scores."""
    for k in range(len(examples)):
        potentials(pack, w, examples[k], theta)
        scores[k] = decode(pack, examples[k], theta, out)
        if np.isnan(scores[k]) or has_nan(theta):
            raise Astray
        for q in range(start[k + 1] - start[k]):
            outs[start[k] + q] = out[q]
