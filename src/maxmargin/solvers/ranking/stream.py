"""One pass over queries that come piece by piece, where nobody knows how many will come.

After ``n`` queries the objective is that of :mod:`maxmargin.solvers.ranking.task` for these. The steps are those of
:mod:`maxmargin.solvers.linear.stream` with a query in the place of a row: ``G_n`` is the sum of the subgradients of the
losses of all pairs of each query, found in ``O(m log m)`` for ``m`` documents without a list of pairs. With ``K`` for
``s_q sum_(a, b) v_a v_b (x_a - x_b) (x_a - x_b)^T`` the square of such a subgradient is at most ``lambda(K)``, the
largest eigenvalue, times the weight of the pairs, and squared hinges have a second derivative of at most
``2 lambda(K)``; so there stands ``sqrt(trace(K) lambda(K))`` for ``s_i |x_i|^2`` and ``2 lambda(K)`` for
``bend_i |x_i|^2``. (With the trace for both, which needs no products, the excess after 500 queries of 12 documents with
50 features was twice as large with the hinge and nine times as large with its square.) A stream of queries of two
documents takes the same steps as one of rows ``x_a - x_b``.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._products import inner
from ...terms import Terms
from ..linear.rows import Rows
from ..linear.stream import Stream
from .queries import Queries
from .task import PairLoss, RankingTask

__all__ = ["QueryStream", "sizes_of"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
_PRODUCTS = 4  # the largest eigenvalue is to be right within a factor of 2


class QueryStream(Stream):
    """Weights that learn an order from one query after another; the parameters are those of :class:`.Stream`."""

    def take_queries(
        self, matrix: Any, queries: Queries, factor: Reals, loss: Literal["hinge", "squared_hinge"]
    ) -> None:
        """One step for each query, in the order of their first documents.

        Parameters
        ----------
        matrix : array or CSR matrix of shape (n, d)
        queries : Queries
        factor : float64 array of shape (n_queries,)
            ``s_q > 0``.
        loss : {"hinge", "squared_hinge"}
        """
        task = RankingTask(Rows(matrix), queries, factor, loss, 1.0, 0.0)
        for q in self.order_of(queries).tolist():
            self._take(task.of_queries(np.array([q])))

    @staticmethod
    def order_of(queries: Queries) -> Ints:
        """The order in which queries are taken, that of their first documents."""
        return np.argsort(queries.documents[queries.start[:-1]])

    def _take(self, task: RankingTask) -> None:
        rows, m = task.rows, len(task.queries.documents)
        total, largest = (float(task.factor[0]) * size for size in sizes_of(rows, task.queries))
        bend = 2.0 * largest if task.squared else 0.0
        plan, keep = self._plan(np.array([[np.sqrt(total * largest)], [1.0], [1.0]]), np.array([[bend], [0.0]]))
        scores = self.steps.scores(rows)
        beta = PairLoss(task, scores - scores.mean()).descent[:, None]
        # hinges that are short whatever the score: the steps take them for what they say
        terms = Terms(np.where(beta < 0.0, -1.0, 1.0), np.full((m, 1), np.inf), np.abs(beta), np.zeros((m, 1)))
        self.steps.turn_to(rows, terms)
        done = 0
        try:
            self.steps.take(np.arange(m), m, plan)
            done = 1
        finally:  # also after Ctrl-C
            self.steps.release()
            keep(done)


def sizes_of(rows: Rows, queries: Queries) -> tuple[float, float]:
    """Trace, and largest eigenvalue, of ``sum_(a, b) v_a v_b (x_a - x_b) (x_a - x_b)^T`` of one query.

    The latter by a few products, so somewhat less than it is.
    """
    X, weight, n, m = rows.matrix, queries.weight, int(queries.n_grades[0]), len(queries.weight)
    if not rows.sparse:
        X = X - weight @ X / weight.sum()  # differences of large sums are not exact
    grades = sp.csr_array((weight, (queries.grade, np.arange(m))), shape=(n, m))
    sums, each = grades @ X, np.bincount(queries.grade, weight, n)
    others = weight.sum() - each[queries.grade]  # weight of the partners
    squares = np.asarray((X.multiply(X) if rows.sparse else X * X).sum(1)).ravel()
    within = float((sums.multiply(sums) if rows.sparse else sums * sums).sum())
    all_of = np.asarray(sums.sum(0)).ravel()
    trace = max(inner(weight * others, squares) - (inner(all_of, all_of) - within), 0.0)
    # the sum of all differences first
    rank = np.concatenate([[0.0], np.cumsum(each)])
    v = X.T @ (weight * (rank[queries.grade] - (weight.sum() - rank[queries.grade + 1])))
    largest = 0.0
    for _ in range(_PRODUCTS):
        length = float(np.sqrt(v @ v))
        if not length > 0.0:
            break
        f = X @ (v / length)
        of_grade = np.bincount(queries.grade, weight * f, n)
        v = X.T @ (weight * (others * f - (of_grade.sum() - of_grade[queries.grade])))
        largest = float(np.sqrt(v @ v))
    return trace, largest if largest > 0.0 else trace
