"""Cholesky factor in tiles that no library of linear algebra divides among threads, and solutions by it.

Second-order methods factor matrices of a few hundred rows some dozen times. Threads of a library gain little by that, a
hundred times as long is spent where other programs need the cores (measured), and the last bits depend on their number.
One thread takes as long as LAPACK's own factor.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..._compiled import compiled

__all__ = ["TILE", "factor", "solve"]

Reals = NDArray[np.float64]
TILE = 64  # rows and columns: the product of two is the largest that no library divides


def factor(matrix: Reals, shift: float = 0.0) -> Reals | None:
    """The lower tiles of ``L`` with ``L L^T = matrix + shift I``, row by row; None where that is not definite.

    Parameters
    ----------
    matrix : float64 array of shape (d, d)
        Symmetric; the lower triangle is read.
    """
    count = -(-len(matrix) // TILE)
    tiles = np.empty((count * (count + 1) // 2, TILE, TILE))
    return tiles if _factor(matrix, shift, tiles) else None


def solve(tiles: Reals, b: Reals) -> Reals:
    """``x`` with ``L L^T x = b``, float64 of shape ``(d,)``."""
    x = np.zeros(-(-len(b) // TILE) * TILE)
    x[: len(b)] = b
    _solve(tiles, x)
    return x[: len(b)]


@compiled
def _factor(matrix, shift, tiles):
    """Column of tiles by column; False where a pivot is not positive."""
    d = len(matrix)
    count = -(-d // TILE)
    product, turned = np.empty((TILE, TILE)), np.empty((TILE, TILE))
    for i in range(count):
        for j in range(i + 1):
            tile = tiles[i * (i + 1) // 2 + j]
            for r in range(TILE):
                for c in range(TILE):
                    row, column = i * TILE + r, j * TILE + c
                    if row < d and column < d:
                        tile[r, c] = matrix[max(row, column), min(row, column)] + (shift if row == column else 0.0)
                    else:
                        tile[r, c] = 1.0 if row == column else 0.0
    for k in range(count):
        pivot = tiles[k * (k + 1) // 2 + k]
        if not _factor_tile(pivot):
            return False
        for i in range(k + 1, count):
            _divide(tiles[i * (i + 1) // 2 + k], pivot, turned)
        for j in range(k + 1, count):
            right = tiles[j * (j + 1) // 2 + k].T
            for i in range(j, count):
                np.dot(tiles[i * (i + 1) // 2 + k], right, product)
                tile = tiles[i * (i + 1) // 2 + j]
                for r in range(TILE):
                    for c in range(TILE):
                        tile[r, c] -= product[r, c]
    return True


@compiled
def _factor_tile(tile):
    """The factor of one tile in its place, column by column."""
    for k in range(TILE):
        if not tile[k, k] > 0.0:
            return False
        root = np.sqrt(tile[k, k])
        tile[k, k] = root
        for r in range(k + 1, TILE):
            tile[r, k] /= root
        for r in range(k + 1, TILE):
            scale = tile[r, k]
            for c in range(k + 1, r + 1):
                tile[r, c] -= scale * tile[c, k]
        for c in range(k + 1, TILE):
            tile[k, c] = 0.0
    return True


@compiled
def _divide(tile, pivot, turned):
    """``tile := tile L^-T`` by the factor of a tile; ``turned`` is room for its transpose, whose rows are long."""
    for r in range(TILE):
        for c in range(TILE):
            turned[c, r] = tile[r, c]
    for c in range(TILE):
        to = turned[c]
        for m in range(c):
            scale, row = pivot[c, m], turned[m]
            for r in range(TILE):
                to[r] -= scale * row[r]
        for r in range(TILE):
            to[r] /= pivot[c, c]
    for r in range(TILE):
        for c in range(TILE):
            tile[r, c] = turned[c, r]


@compiled(dot=True)
def _solve(tiles, x):
    """Forward, then backward, in place."""
    count = len(x) // TILE
    for i in range(count):
        here = x[i * TILE : (i + 1) * TILE]
        for j in range(i):
            tile, there = tiles[i * (i + 1) // 2 + j], x[j * TILE : (j + 1) * TILE]
            for r in range(TILE):
                total = 0.0
                for c in range(TILE):
                    total += tile[r, c] * there[c]
                here[r] -= total
        pivot = tiles[i * (i + 1) // 2 + i]
        for r in range(TILE):
            total = 0.0
            for c in range(r):
                total += pivot[r, c] * here[c]
            here[r] = (here[r] - total) / pivot[r, r]
    for i in range(count - 1, -1, -1):
        here = x[i * TILE : (i + 1) * TILE]
        pivot = tiles[i * (i + 1) // 2 + i]
        for r in range(TILE - 1, -1, -1):
            here[r] /= pivot[r, r]
            for c in range(r):
                here[c] -= pivot[r, c] * here[r]
        for j in range(i):
            tile, there = tiles[i * (i + 1) // 2 + j], x[j * TILE : (j + 1) * TILE]
            for r in range(TILE):
                for c in range(TILE):
                    there[c] -= tile[r, c] * here[r]
