"""Projections onto the simplices of the dual of Crammer and Singer's machine."""

from __future__ import annotations

import numpy as np

from ..._compiled import compiled

__all__ = ["project", "project_rows"]


@compiled(dot=True)
def project(point, n, total, level):
    """Project ``point[:n]`` onto ``{a >= 0, sum a = total}`` in place.

    What is taken off every entry is the root of a convex decreasing function; Newton's steps from a ``level`` at most
    the root rise to it, in at most ``n`` of them (Michelot 1986 begins with all entries at work).
    """
    left = -1
    while True:
        count, sum_left = 0, 0.0
        for k in range(np.uint64(n)):  # without a branch, which would be guessed wrong
            above = point[k] > level
            count += above
            sum_left += point[k] if above else 0.0
        # the same entries: done; more of them, or none, are rounding
        if count == 0 or (left >= 0 and count >= left):
            break
        left = count
        level = (sum_left - total) / count
    for k in range(np.uint64(n)):
        point[k] = max(point[k] - level, 0.0)


@compiled
def project_rows(points, free, totals):
    """Project the free entries of each row onto the simplex of its total."""
    some = np.empty(points.shape[1])
    for i in range(len(points)):
        n = 0
        for k in range(points.shape[1]):
            if free[i, k]:
                some[n] = points[i, k]
                n += 1
        project(some, n, totals[i], -np.inf)
        n = 0
        for k in range(points.shape[1]):
            if free[i, k]:
                points[i, k] = some[n]
                n += 1
