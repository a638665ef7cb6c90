"""The best of a row of scores."""

from __future__ import annotations

from .._compiled import compiled

__all__ = ["argmax_core"]


@compiled
def argmax_core(scores, n):
    """Index of the largest of ``scores[:n]``; the lowest one on ties."""
    best = 0
    for k in range(1, n):
        if scores[k] > scores[best]:
            best = k
    return best
