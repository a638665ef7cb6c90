"""``X' D X`` of dense rows in tiles, which threads of Python share.

A library of linear algebra gains little by its threads here (measured: two of OpenBLAS take three quarters of the time
of one), and where rows come in blocks its products have to be added up. Pieces that it computes in the thread of the
caller (see :mod:`maxmargin._products`) are added to tiles of the sum instead: with one thread at least as fast up to
some thousand columns, and with two in half the time. Only lower tiles are computed.

In which order a tile is added up depends on the shape of the rows alone and never on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._compiled import compiled
from ..._threads import as_many_as_blas, in_order

__all__ = ["PIECE_ROWS", "gram"]

Reals = NDArray[np.float64]
_TILE = 24  # columns
PIECE_ROWS = 352  # of a piece; with two tiles no library divides their product
_NEAR = 4  # rows of tiles for which the other factor is read once
_PARTS = 8  # of the rows, where they are many; each has sums of its own
_MANY = 128  # times as many as columns: all sums together are a 32nd of the rows
_ALONE = 1e8  # multiplications that take no longer than to wake threads
_CALL = 4e9  # multiplications of a compiled call, during which Ctrl-C waits


def gram(
    blocks: Callable[[int, int, int], Iterator[tuple[int, NDArray[Any]]]],
    root: Reals,
    d: int,
    check: Callable[[], None] | None = None,
) -> Reals:
    """``sum_i root_i^2 x_i x_i^T`` in float64, shape ``(d, d)``.

    Parameters
    ----------
    blocks : callable
        ``blocks(first, end, most)`` gives the rows from ``first`` to ``end``, at most so many at a time, as read-only
        C-contiguous float32 or float64 arrays, each with the number of its first row; several threads call it.
    root : float64 array of shape (n,)
    check : callable, optional
        Is called between compiled calls, about every second, and may raise.
    """
    n = len(root)
    out = np.zeros((d, d))
    if not n or not d:
        return out
    count = -(-d // _TILE)
    width = -(-d // count)
    parts = _PARTS if n >= _MANY * d else 1
    threads = 1 if float(n) * d * d < _ALONE else as_many_as_blas()
    groups = _groups(count, -(-threads // parts))
    most = PIECE_ROWS * max(
        1, int(_CALL * len(groups) / d**2) // PIECE_ROWS
    )  # where pieces end depends on the rows alone

    def add_up(item: tuple[int, int, int, int]) -> Reals:
        first, end, low, high = item
        sums = np.zeros((_number(high) - _number(low), width, width))
        for start, rows in blocks(first, end, most):
            if check is not None:
                check()
            _add_tiles(rows, root[start : start + len(rows)], low, high, sums)
        return sums

    ends = [n * k // parts for k in range(parts + 1)]
    items = [(ends[k], ends[k + 1], *group) for k in range(parts) for group in groups]
    for (*_, low, high), sums in zip(items, in_order(add_up, items, min(threads, len(items))), strict=True):
        _put_together(sums, low, high, out)
    return out


def _number(i: int) -> int:
    """Lower tiles before the row of tiles ``i``."""
    return i * (i + 1) // 2


def _groups(count: int, most: int) -> list[tuple[int, int]]:
    """Rows of tiles in consecutive groups of about as many tiles each: the first, and behind the last."""
    if most == 1:
        return [(0, count)]
    tiles = np.cumsum(np.arange(1, count + 1))
    ends = np.unique([0, *np.searchsorted(tiles, tiles[-1] * np.arange(1, most) / most).tolist(), count]).tolist()
    return list(pairwise(ends))


@compiled
def _add_tiles(rows, root, low, high, sums):
    """Add the scaled ``rows`` to the tiles of the rows of tiles from ``low`` to ``high``."""
    n, d = rows.shape
    width = sums.shape[1]
    room, product = np.empty(high * min(n, PIECE_ROWS) * width), np.empty((width, width))
    for first in range(0, n, PIECE_ROWS):
        count = min(PIECE_ROWS, n - first)
        scaled = room[: high * count * width].reshape((high, count, width))
        for i in range(count):
            factor = root[first + i]
            for j in range(high):
                part, to = rows[first + i, j * width : min((j + 1) * width, d)], scaled[j, i]
                for t in range(len(part)):
                    to[t] = factor * part[t]
                for t in range(len(part), width):  # beyond the last column
                    to[t] = 0.0
        for near in range(low, high, _NEAR):
            for j in range(min(near + _NEAR, high)):
                for i in range(max(near, j), min(near + _NEAR, high)):
                    np.dot(scaled[i].T, scaled[j], product)
                    tile = sums[(i * (i + 1) - low * (low + 1)) // 2 + j]
                    for row in range(width):
                        for column in range(width):
                            tile[row, column] += product[row, column]


@compiled
def _put_together(sums, low, high, out):
    """Add tiles to the lower triangle of a matrix, and copy it to the other one."""
    width, at = sums.shape[1], 0
    for i in range(low, high):
        for j in range(i + 1):
            tile = sums[at]
            at += 1
            for row in range(i * width, min((i + 1) * width, len(out))):
                for column in range(j * width, min((j + 1) * width, row + 1)):
                    out[row, column] += tile[row - i * width, column - j * width]
                    out[column, row] = out[row, column]
