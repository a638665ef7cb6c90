"""Results of comparisons (a win, a tie) as rows of differences of a linear machine.

A win is the hinge of ``<w, x_winner - x_loser>``. A tie is two hinges of ``<w, x_a - x_b>``, one for each sign:
together they are ``(|<w, x_a - x_b>| - margin)_+``.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...errors import DataError
from ...terms import hinge, squared_hinge
from ..linear.rows import Rows
from ..linear.task import LinearTask

__all__ = ["difference_task"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]


def difference_task(
    X: Any,
    wins: Ints,
    ties: Ints,
    weight: Reals,
    tie_weight: Reals,
    tie_margin: float,
    loss: Literal["hinge", "squared_hinge"],
    C: float,
    tol: float,
    rng: np.random.Generator,
    name: str,
) -> LinearTask:
    """The problem of the comparisons of positive weight.

    Parameters
    ----------
    X : float64 array or CSR matrix of shape (n_items, d)
    wins, ties : int64 arrays of shape (n, 2) and (n_ties, 2)
        Rows of ``X``: winner and loser, and two of equal strength.
    weight, tie_weight : float64 arrays of shape (n,) and (n_ties,)
    tie_margin : float

    Raises
    ------
    DataError
        If none has positive weight.
    """
    wins, weight = wins[weight > 0.0], weight[weight > 0.0]
    ties, tie_weight = ties[tie_weight > 0.0], tie_weight[tie_weight > 0.0]
    pairs = np.concatenate([wins, ties, ties])
    if not len(pairs):
        raise DataError("no comparison of positive weight: there is nothing to learn from")
    s = np.concatenate([weight, tie_weight, tie_weight])
    margin = np.concatenate([np.ones(len(wins)), np.full(2 * len(ties), -tie_margin)])
    sign = np.concatenate([np.ones(len(wins) + len(ties)), -np.ones(len(ties))])
    rows = X[pairs[:, 0]] - X[pairs[:, 1]]
    terms = (hinge if loss == "hinge" else squared_hinge)(sign, C * s, margin)
    # where there are ties the task loss is the loss itself: a tie has no sign to get wrong
    return LinearTask(
        Rows(rows.tocsr() if sp.issparse(rows) else rows), terms, C, s, "none", tol, rng, name=name, signs=not len(ties)
    )
