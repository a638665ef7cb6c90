"""The working set of cached planes: which outputs an example has met, and their weights in the dual.

A plane is one output of one example, kept as the difference of its parts from the truth's (indices into the example's
potentials with their multiplicities) and its loss; never as a feature vector. The planes of an example form a linked
list; the first one is the truth itself (no parts, loss 0), and the dual weights ``alpha`` of a list sum to 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from .._compiled import array, compiled, kernel
from .buffers import Astray

__all__ = [
    "GROWING",
    "PLANES",
    "Planes",
    "cached_scores",
    "compacted",
    "copied",
    "extended",
    "insert",
    "new_planes",
    "score_of",
    "scores_of",
    "write_difference",
]


class Planes(NamedTuple):
    """Arrays of a working set; ``counts`` holds the number of planes and of pool entries in use."""

    head: NDArray[np.int64]  # per example: its first plane (the truth)
    next: NDArray[np.int64]  # per plane: the next one of the same example, or -1
    start: NDArray[np.int64]  # per plane: where its entries start in the pool
    length: NDArray[np.int64]  # per plane: number of entries
    loss: NDArray[np.float64]
    alpha: NDArray[np.float64]
    used: NDArray[np.int64]  # per plane: last pass in which it was the best or had weight
    part: NDArray[np.int32]  # pool: index of a potential
    coef: NDArray[np.float64]  # pool: its multiplicity minus the truth's
    counts: NDArray[np.int64]


GROWING = ("coef", "part", "start", "length", "loss", "alpha", "used", "next")
"""The arrays that need more room when there are more planes.

The kernels look at the lengths of ``part`` and ``next``, which come after the others of their kind: cut short anywhere,
by Ctrl-C or for want of memory, growing leaves a working set that is as good as the old one.
"""
_POOL = ("coef", "part")


def _planes_type() -> Any:
    i8, f8 = array(types.int64), array(types.float64)
    return types.NamedTuple([i8, i8, i8, i8, f8, f8, i8, array(types.int32), f8, i8], Planes)


PLANES = _planes_type()


def new_planes(n_examples: int, n_planes: int = 0, n_entries: int = 0) -> Planes:
    """A working set that holds the truth of every example with weight 1."""
    room = n_examples + max(n_planes, n_examples)
    out = _empty(n_examples, room, max(n_entries, 1024))
    index = np.arange(n_examples, dtype=np.int64)
    out.head[:] = index
    out.next[:n_examples] = -1
    out.start[:n_examples] = 0
    out.length[:n_examples] = 0
    out.loss[:n_examples] = 0.0
    out.alpha[:n_examples] = 1.0
    out.used[:n_examples] = 0
    out.counts[0] = n_examples
    return out


def _empty(n_examples: int, n_planes: int, n_entries: int) -> Planes:
    def ints(n: int) -> NDArray[np.int64]:
        return np.empty(n, np.int64)

    return Planes(
        head=ints(n_examples),
        next=ints(n_planes),
        start=ints(n_planes),
        length=ints(n_planes),
        loss=np.empty(n_planes),
        alpha=np.empty(n_planes),
        used=ints(n_planes),
        part=np.empty(n_entries, np.int32),
        coef=np.empty(n_entries),
        counts=np.zeros(2, np.int64),
    )


@kernel(lambda: types.void(PLANES, PLANES, types.int64))
def _copy(old, new, oldest):
    """Copy the truths, the planes with weight, and those used since ``oldest``; example by example."""
    n = np.int64(0)
    used = np.int64(0)
    for i in range(len(old.head)):
        p = old.head[i]
        last = np.int64(-1)
        while p >= 0:
            if last < 0 or old.alpha[p] > 0.0 or old.used[p] >= oldest:
                if last < 0:
                    new.head[i] = n
                else:
                    new.next[last] = n
                last = n
                new.next[n] = -1
                new.start[n] = used
                new.length[n] = old.length[p]
                new.loss[n] = old.loss[p]
                new.alpha[n] = old.alpha[p]
                new.used[n] = old.used[p]
                for q in range(old.length[p]):
                    new.part[used + q] = old.part[old.start[p] + q]
                    new.coef[used + q] = old.coef[old.start[p] + q]
                used += old.length[p]
                n += 1
            p = old.next[p]
    new.counts[0] = n
    new.counts[1] = used


def compacted(planes: Planes, more_planes: int, more_entries: int, oldest: int) -> Planes:
    """A copy with room for more, without the planes that have no weight and were not used since pass ``oldest``.

    Planes get new numbers.
    """
    out = _empty(len(planes.head), int(planes.counts[0]) + more_planes, int(planes.counts[1]) + more_entries)
    _copy(planes, out, oldest)
    return out


def extended(planes: Planes, name: str, more_planes: int, more_entries: int) -> Planes:
    """The working set with room for more in the array ``name`` of :data:`GROWING`; the others are the same arrays."""
    old, used = getattr(planes, name), _used(planes, name)
    new = np.empty(used + (more_entries if name in _POOL else more_planes), old.dtype)
    new[:used] = old[:used]
    return planes._replace(**{name: new})


def copied(planes: Planes) -> Planes:
    """A copy without room for more, to move apart from the original."""
    arrays = {name: getattr(planes, name)[: _used(planes, name)].copy() for name in GROWING}
    return planes._replace(head=planes.head.copy(), counts=planes.counts.copy(), **arrays)


def _used(planes: Planes, name: str) -> int:
    """How many entries of an array of :data:`GROWING` mean something."""
    return int(planes.counts[1 if name in _POOL else 0])


@compiled(inner=True)
def write_difference(out_parts, n_out, true_parts, n_true, scratch, part, coef):
    """Parts of an output minus the truth's, in the order of first occurrence; returns their number.

    ``scratch`` is zero before and after; ``part`` and ``coef`` need room for ``n_out + n_true`` entries.
    """
    n = np.int64(0)
    for q in range(n_out):
        if scratch[out_parts[q]] == 0.0:
            part[n] = out_parts[q]
            n += 1
        scratch[out_parts[q]] += 1.0
    for q in range(n_true):
        if scratch[true_parts[q]] == 0.0:
            part[n] = true_parts[q]
            n += 1
        scratch[true_parts[q]] -= 1.0
    kept = np.int64(0)
    for q in range(n):
        value = scratch[part[q]]
        scratch[part[q]] = 0.0
        if value != 0.0:
            part[kept] = part[q]
            coef[kept] = value
            kept += 1
    return kept


@compiled(inner=True)
def insert(planes, i, part, coef, n, loss, stamp):
    """The plane of example ``i`` with these entries and loss: an old one if known, else a new one without weight.

    The caller has made sure that there is room for one plane and ``n`` entries.
    """
    start, length, following, counts = planes.start, planes.length, planes.next, planes.counts
    pool_part, pool_coef = planes.part, planes.coef
    p = planes.head[i]
    last = p
    while p >= 0:
        # outputs with equal features may have different losses: the planes are others
        if length[p] == n and planes.loss[p] == loss:
            same = True
            at = start[p]
            for q in range(n):
                if pool_part[at + q] != part[q] or pool_coef[at + q] != coef[q]:
                    same = False
                    break
            if same:
                planes.used[p] = stamp
                return p
        last = p
        p = following[p]
    p = counts[0]
    at = counts[1]
    counts[0] = p + 1
    counts[1] = at + n
    following[last] = p
    following[p] = -1
    start[p] = at
    length[p] = n
    planes.loss[p] = loss
    planes.alpha[p] = 0.0
    planes.used[p] = stamp
    for q in range(n):
        pool_part[at + q] = part[q]
        pool_coef[at + q] = coef[q]
    return p


@compiled(inner=True)
def score_of(planes, p, theta):
    """``Delta + <w, psi>`` of a plane, from the potentials."""
    part, coef, at = planes.part, planes.coef, planes.start[p]
    total = planes.loss[p]
    for q in range(at, at + planes.length[p]):
        total += coef[q] * theta[np.uint32(part[q])]  # unsigned: no look whether it counts from the end
    return total


@compiled(inner=True)
def scores_of(planes, i, theta):
    """Scores of all planes of an example in list order, from the potentials."""
    following = planes.next
    n = np.int64(0)
    p = planes.head[i]
    while p >= 0:
        n += 1
        p = following[p]
    scores = np.empty(n)
    p = planes.head[i]
    for k in range(n):
        scores[k] = score_of(planes, p, theta)
        p = following[p]
    return scores


@compiled(inner=True)
def cached_scores(potentials_at, pack, w, planes, i, theta, scratch):
    """Scores of all planes of an example in list order; only the potentials that they touch are gathered."""
    start, length, following, pool_part = planes.start, planes.length, planes.next, planes.part
    n_entries = np.int64(0)
    p = planes.head[i]
    while p >= 0:
        n_entries += length[p]
        p = following[p]
    need = np.empty(n_entries, np.int32)
    m = np.int64(0)
    p = planes.head[i]
    while p >= 0:
        at = start[p]
        for q in range(at, at + length[p]):
            part = pool_part[q]
            if scratch[part] == 0.0:
                scratch[part] = 1.0
                need[m] = part
                m += 1
        p = following[p]
    for q in range(m):
        scratch[need[q]] = 0.0
    potentials_at(pack, w, i, need, m, theta)
    scores = scores_of(planes, i, theta)
    for k in range(len(scores)):
        if np.isnan(scores[k]):
            raise Astray
    return scores
