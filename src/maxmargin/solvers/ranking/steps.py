"""Steps of stochastic subgradient methods on rankings, a query for each: many of them for each call.

A step sorts the documents of its queries, counts their short pairs (:mod:`~.pairs`), and moves the weights that these
documents have features for, see :mod:`~maxmargin.solvers.scaled_weights`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..._compiled import compiled
from ..linear.rows import add_row, dot_row
from ..objective import Objective
from ..scaled_weights import SCALE, ScaledWeights, move
from .pairs import short_pairs, sort_queries

__all__ = ["RankingSteps"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]


@compiled
def _steps(
    data, indices, indptr, width, documents, start, grade, n_grades, weight, cost, squared, order, size, plan, radius,
    u, z, a, state, most, slope, keys, values,
):  # fmt: skip
    """One step for every ``size`` queries of ``order``; ``slope`` has a zero for each weight, and is left so."""
    scores, excess, degree, around = np.empty(most), np.empty(most), np.empty(most), np.empty(most)
    places, ends = np.empty(most, np.int64), np.zeros(2, np.int64)
    for step in range(len(plan)):
        first, last = step * size, min((step + 1) * size, len(order))
        offset = 0.0
        for at in range(first, last):
            q = order[at]
            lo, m = start[q], start[q + 1] - start[q]
            f, ends[1], mean = scores[:m], m, 0.0
            for k in range(m):
                f[k] = state[SCALE] * dot_row(data, indices, indptr, width, documents[lo + k], u)
                mean += f[k] / m
            for k in range(m):
                f[k] -= mean
            sort_queries(f, ends, places)
            short_pairs(
                f, f, weight[lo : lo + m], grade[lo : lo + m], n_grades[q : q + 1], ends, places, 1.0, excess, degree,
                around,
            )  # fmt: skip
            level = 0.0
            for k in range(m):
                beta = excess[k]
                if squared:  # as of PairLoss: a multiplier is twice the slack, its gain less a quarter of its square
                    pull = excess[k] - f[k] * degree[k] + around[k]
                    level += 0.5 * degree[k] - f[k] * excess[k] + f[k] * pull
                    beta = 2.0 * pull
                else:
                    level += 0.5 * degree[k]
                if beta != 0.0:
                    add_row(data, indices, indptr, width, documents[lo + k], -cost[q] * beta, slope)
            offset += cost[q] * level
        n = 0
        if indices is None:
            for j in range(len(u)):
                keys[n], values[n], slope[j] = j, slope[j], 0.0
                n += 1
        else:
            for at in range(first, last):
                for k in range(start[order[at]], start[order[at] + 1]):
                    for p in range(indptr[documents[k]], indptr[documents[k] + 1]):
                        j = indices[p]
                        if slope[j] != 0.0:
                            keys[n], values[n], slope[j] = j, slope[j], 0.0
                            n += 1
        move(keys, values, n, plan[step, 0], plan[step, 1], plan[step, 4], radius, u, z, a, state)
        a[len(u)] += offset


class RankingSteps(ScaledWeights):
    """Weights on their way, by compiled steps on the queries of a ranking.

    Parameters
    ----------
    objective : Objective
    w : float64 array of shape (d,)
        Where to begin.
    averaged, radius
        As of :class:`~maxmargin.solvers.scaled_weights.ScaledWeights`.

    Attributes
    ----------
    a : float64 array of shape (d + 1,)
        Sum of the planes since it was set to 0.
    """

    def __init__(self, objective: Objective, w: Reals, *, averaged: bool, radius: float) -> None:
        super().__init__(w, averaged=averaged, radius=radius)
        self.task, self.a = objective.task, objective.no_dual()
        self.cost = self.task.C * self.task.factor

    def take(self, order: Ints, size: int, plan: Reals) -> None:
        """Steps along a plan, each with ``size`` queries of ``order`` (the last one may have fewer)."""
        rows, queries, d = self.task.rows, self.task.queries, len(self.u)
        _steps(
            rows.data, rows.indices, rows.indptr, d, queries.documents, queries.start, queries.grade, queries.n_grades,
            queries.weight, self.cost, self.task.squared, order, size, plan, self.radius, self.u, self.z, self.a,
            self.state, int(queries.sizes.max()), np.zeros(d), np.empty(d, np.int64), np.empty(d),
        )  # fmt: skip
