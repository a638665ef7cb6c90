"""The order in which coordinate ascent visits the rows: at random, in pieces that memory reads well.

Rows one by one at random need the fewest passes and the most time a pass, for each waits for memory. Neighbours in one
fixed order are read fast, and need up to three times the passes (measured on a9a). So blocks of neighbours, cut at
another place each time, follow each other at random, and then the rows of some blocks that a cache holds together are
mixed: as few passes as at random, at nearly the speed of neighbours.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..._compiled import compiled

__all__ = ["in_blocks"]

Ints = NDArray[np.int64]
_BLOCK = 16  # rows read together
_WINDOW = 256  # rows mixed


@compiled
def _below(seed, count, bound):
    """The ``count``-th random number of a seed, from 0 to less than ``bound``, which is at most 2 ** 32.

    Splitmix64 (Steele, Lea, Flood, OOPSLA 2014) gives 64 bits, the upper 32 of them times the bound the number.
    """
    z = np.uint64(seed) + np.uint64(count) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return np.int64(((z >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@compiled
def _mixed(some, seed, blocks, out):
    """Blocks of ``some`` in random order, and each window of the result shuffled; anew in each row of ``out``.

    The first block is shorter, by another length each time; ``blocks`` is room for their numbers.
    """
    count = 0
    for t in range(len(out)):
        count = _mix(some, seed, count + 1, blocks, out[t])


@compiled
def _mix(some, seed, count, blocks, out):
    n, at = len(some), 0
    first = _below(seed, count, _BLOCK)
    for b in range(len(blocks)):  # the shuffle of Fisher and Yates, from inside out
        count += 1
        other = _below(seed, count, b + 1)
        blocks[b] = blocks[other]
        blocks[other] = b
    for q in range(len(blocks)):
        start = first + (blocks[q] - 1) * _BLOCK
        for k in range(max(start, 0), min(start + _BLOCK, n)):
            out[at] = some[k]
            at += 1
    for start in range(0, n, _WINDOW):
        for k in range(min(_WINDOW, n - start) - 1, 0, -1):
            count += 1
            other = start + _below(seed, count, k + 1)
            out[start + k], out[other] = out[other], out[start + k]
    return count


def in_blocks(some: Ints, rng: np.random.Generator, times: int = 1) -> Ints:
    """Some of the rows in new orders, one after another: each row once in every one."""
    out = np.empty((times, len(some)), np.int64)
    _mixed(some, int(rng.integers(1 << 62)), np.empty(2 + len(some) // _BLOCK, np.int64), out)
    return out.reshape(-1)
