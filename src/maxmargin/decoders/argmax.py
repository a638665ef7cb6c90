"""The best of a row of scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .._compiled import compiled
from ..errors import DataError
from .checks import Floats, check_scores

__all__ = ["argmax", "argmax_core"]


@compiled
def argmax_core(scores: Floats, n: int) -> int:
    """Index of the largest of ``scores[:n]``, ``n >= 1``; the lowest one on ties. Scores are not NaN."""
    best = 0
    for k in range(1, n):
        if scores[k] > scores[best]:
            best = k
    return best


def argmax(scores: ArrayLike) -> tuple[int, float]:
    """Best of some alternatives.

    Parameters
    ----------
    scores : array_like of shape (n_alternatives,)
        Finite, or ``-inf`` for a forbidden alternative.

    Returns
    -------
    index : int
        The lowest one on ties.
    score : float

    Raises
    ------
    DataError
        No alternative, none allowed, NaN, ``+inf``, or another shape.
    """
    values = check_scores(scores, "scores", (None,))
    best = int(argmax_core(values, values.size)) if values.size else 0
    if values.size == 0 or values[best] == -np.inf:
        raise DataError("scores allow no alternative: at least one must be finite")
    return best, float(values[best])
