"""A pass of the perceptron over rows of two classes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..._compiled import compiled
from ..chunks import chunks
from ..passes import STEPS
from .rows import add_row, dot_row
from .task import LinearTask

__all__ = ["perceptron_pass"]

Reals = NDArray[np.float64]


@compiled
def _visit(data, indices, indptr, width, sign, constant, w, average, order, s, state):
    """Visit ``order``; returns the mistakes made. ``constant`` is the square of the constant feature's value."""
    mistakes = 0
    for k in range(len(order)):
        i = order[k]
        score = dot_row(data, indices, indptr, width, i, w)
        if len(w) > width:
            score += w[width]
        if sign[i, 0] * score <= 0.0:
            mistakes += 1
            step = s[i] * sign[i, 0]
            add_row(data, indices, indptr, width, i, step, w)
            if len(w) > width:
                w[width] += constant * step
            if len(average) > 0:
                step *= state[STEPS]
                add_row(data, indices, indptr, width, i, step, average)
                if len(w) > width:
                    average[width] += constant * step
        state[STEPS] += 1.0
    return mistakes


def perceptron_pass(
    task: LinearTask, w: Reals, average: Reals, order: NDArray[np.int64], s: Reals, state: Reals
) -> int:
    """Visit ``order``: ``w += s_i y_i x_i`` at every mistake ``y_i <w, x_i> <= 0``; returns the mistakes made.

    Parameters
    ----------
    task : LinearTask
        Its intercept, free or penalised, is the weight of a constant feature of value ``scale``, times that value.
    w : float64 array of shape (n_weights,)
        Changed in place.
    average : float64 array of shape (n_weights,) or (0,)
        Gets every step times the number of visits before it, ``state[STEPS]``.
    order : int64 array
    s : float64 array of shape (n,)
    state : float64 array
        See :mod:`~maxmargin.solvers.passes`.
    """
    rows = task.rows
    return sum(
        int(
            _visit(
                rows.data, rows.indices, rows.indptr, rows.shape[1], task.terms.sign, task.scale**2, w, average, run, s,
                state,
            )
        )
        for run in chunks(order, task.deadline)
    )  # fmt: skip
