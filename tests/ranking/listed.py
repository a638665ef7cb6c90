"""Small rankings with all their pairs written out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linear.problems import Small
from maxmargin.solvers.linear.rows import Rows
from maxmargin.solvers.ranking.queries import group
from maxmargin.solvers.ranking.task import RankingTask

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]


def pairs_of(y: Any, query: Any) -> Ints:
    """All ``(a, b)`` of one query with ``y[a] > y[b]``."""
    found = [(a, b) for a in range(len(y)) for b in range(len(y)) if query[a] == query[b] and y[a] > y[b]]
    return np.array(found, np.int64).reshape(-1, 2)


def explicit(X: Any, y: Any, query: Any, c: Any, loss: str) -> Small:
    """The same problem with one row for each pair; ``c`` is ``C s_q`` of every query."""
    pairs = pairs_of(y, query)
    rows = X[pairs[:, 0]] - X[pairs[:, 1]]
    return Small(rows, np.ones(len(rows)), np.asarray(c, float)[np.asarray(query)[pairs[:, 0]]], loss, "none")


def task_of(
    X: Any, y: Any, query: Any, factor: Any, loss: Any, C: float, tol: float, weight: Any = None
) -> RankingTask:
    """Factors of the queries, and weights of the documents."""
    queries = group(np.asarray(y, float), np.asarray(query), np.asarray(factor) > 0.0, weight)
    return RankingTask(Rows(X), queries, np.asarray(factor, float)[queries.number], loss, C, tol)


def random_ranking(seed: int, n: int = 24, d: int = 3, n_queries: int = 4) -> tuple[Reals, Ints, Ints]:
    """Unsorted queries of unequal sizes (one of a single document), an offset for each query, few grades."""
    rng = np.random.default_rng(seed)
    query = np.append(rng.integers(0, n_queries - 1, n - 1), n_queries - 1)
    rng.shuffle(query)
    X = rng.normal(size=(n, d)) + rng.normal(size=(n_queries, d))[query]
    y = np.digitize(X @ rng.normal(size=d) + 0.7 * rng.normal(size=n), [-0.5, 0.5, 1.5])
    return X, y, query
