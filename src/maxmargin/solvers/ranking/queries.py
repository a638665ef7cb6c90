"""Documents grouped by query, their grades as ranks, and how many ordered pairs there are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .pairs import short_pairs

__all__ = ["Queries", "group", "partners"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]


class Queries(NamedTuple):
    """Queries that have an ordered pair; no other document takes part.

    Attributes
    ----------
    documents : int64 array of shape (m,)
        Rows of the documents, those of a query side by side.
    start : int64 array of shape (n_queries + 1,)
        Where each query begins among them.
    grade : int64 array of shape (m,)
        Rank of the grade of each document within its query, from 0.
    n_grades : int64 array of shape (n_queries,)
    weight : float64 array of shape (m,)
        Weight of each document; that of a pair is the product of two.
    pairs : float64 array of shape (n_queries,)
        Ordered pairs of each query, each with its weight.
    number : int64 array of shape (n_queries,)
        The query that each was in what was given.
    """

    documents: Ints
    start: Ints
    grade: Ints
    n_grades: Ints
    weight: Reals
    pairs: Reals
    number: Ints

    @property
    def sizes(self) -> Ints:
        """Documents of each query."""
        return np.diff(self.start)

    def sums(self, values: Reals) -> Reals:
        """Sum over the documents of each query."""
        return np.add.reduceat(values, self.start[:-1]) if len(values) else np.zeros(0)


def group(y: Reals, query: Ints, used: NDArray[np.bool_] | None = None, weight: Reals | None = None) -> Queries:
    """Group documents by query.

    Parameters
    ----------
    y : float64 array of shape (n,)
        Grades; the larger the better.
    query : int64 array of shape (n,)
        Query of each document, from 0, in any order of the documents.
    used : bool array of shape (n_queries,), optional
        Queries to take; the others are left out.
    weight : float64 array of shape (n,), optional
        Weights of the documents, at least 0; those of weight 0 are left out. 1 by default.
    """
    by_grade = np.lexsort((y, query))
    if weight is not None:
        by_grade = by_grade[weight[by_grade] > 0.0]
    q, grades = query[by_grade], y[by_grade]
    first = np.ones(len(q), np.bool_)  # of a query
    first[1:] = q[1:] != q[:-1]
    step = np.zeros(len(q), np.int64)
    step[1:] = (grades[1:] != grades[:-1]) & ~first[1:]
    start = np.append(np.flatnonzero(first), len(q))
    sizes = np.diff(start)
    rank = np.cumsum(step)
    rank -= np.repeat(rank[start[:-1]], sizes)
    n_grades = rank[start[1:] - 1] + 1
    kept = n_grades > 1
    if used is not None:
        kept &= used[q[start[:-1]]]
    part = np.repeat(kept, sizes)
    # the documents of a query in the order of the rows: then those of a sorted file are read one after the other
    rows, ranks, owner = by_grade[part], rank[part], q[part]
    back = np.lexsort((rows, owner))
    documents = rows[back]
    queries = Queries(
        documents=documents,
        start=np.concatenate([[0], np.cumsum(sizes[kept])]),
        grade=ranks[back],
        n_grades=n_grades[kept],
        weight=np.ones(len(documents)) if weight is None else weight[documents],
        pairs=np.zeros(0),
        number=q[start[:-1]][kept],
    )
    return queries._replace(pairs=_pairs(queries))


def _pairs(queries: Queries) -> Reals:
    """Pairs of each query, each with its weight."""
    return 0.5 * queries.sums(partners(queries)) if len(queries.number) else np.zeros(0)


def partners(queries: Queries) -> Reals:
    """The pairs that each document is in, each with its weight: at equal scores all are short of any limit."""
    equal = np.zeros(len(queries.documents))
    excess, degree, around = np.empty((3, len(equal)))
    short_pairs(
        equal, equal, queries.weight, queries.grade, queries.n_grades, queries.start, np.arange(len(equal)), np.inf,
        excess, degree, around,
    )  # fmt: skip
    return degree
