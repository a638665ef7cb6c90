"""Cholesky factor of a matrix whose rows and columns come and go, one at a time: ``k^2`` operations each.

Source: Golub and Van Loan, Matrix Computations, section 6.5 (rotations after a column is deleted).
"""

from __future__ import annotations

import numpy as np

from ..._compiled import compiled

__all__ = ["append", "remove", "solve"]


@compiled(dot=True)
def append(factor, k, column, diagonal, least):
    """Row ``k``, whose products with those before are ``column``; its pivot is at least ``least``."""
    row = factor[k]
    for i in range(k):
        other, total = factor[i], 0.0
        for j in range(i):
            total += other[j] * row[j]
        row[i] = (column[i] - total) / other[i]
    left = diagonal
    for j in range(k):
        left -= row[j] * row[j]
    row[k] = np.sqrt(max(left, least))


@compiled
def remove(factor, k, place):
    """Row and column ``place`` of the ``k`` there are."""
    for i in range(place + 1, k):
        for j in range(i + 1):
            factor[i - 1, j] = factor[i, j]
    for i in range(place, k - 1):  # each row has one number too many: rotations of two columns take it away
        x, z = factor[i, i], factor[i, i + 1]
        length = np.hypot(x, z)
        cosine, sine = x / length, z / length
        for j in range(i, k - 1):
            x, z = factor[j, i], factor[j, i + 1]
            factor[j, i] = cosine * x + sine * z
            factor[j, i + 1] = cosine * z - sine * x


@compiled(dot=True)
def solve(factor, k, b):
    """``b := L^-T L^-1 b``."""
    for i in range(k):
        row, total = factor[i], 0.0
        for j in range(i):
            total += row[j] * b[j]
        b[i] = (b[i] - total) / row[i]
    for i in range(k - 1, -1, -1):
        row = factor[i]
        b[i] /= row[i]
        for j in range(i):
            b[j] -= row[j] * b[i]
