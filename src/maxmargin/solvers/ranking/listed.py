"""All pairs of a ranking as rows of a linear machine, for its interior point method.

Where features are of very different scales and ``C`` is large, other methods for rankings end in rounding: their
multipliers are sums over many pairs. An interior point method has one for each pair, and its iterations do not grow
with ``C`` or bad scaling (:mod:`maxmargin.solvers.linear.interior_point`); but it needs the pairs as rows of
differences ``x_a - x_b``, so it is for those that are few.
Cost of an iteration: that of as many rows as there are pairs. Memory: their differences, up to 0.1 GB and three times
that while they are made, and a dozen numbers for each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...terms import hinge, squared_hinge
from ..base import Run, Step
from ..linear.interior_point import InteriorPoint
from ..linear.normal_equations import passes_for_matrix
from ..linear.rows import Rows
from ..linear.task import LinearTask
from .pairs import list_short
from .queries import Queries, partners
from .task import RankingTask

__all__ = ["ListedPairs", "can_list"]

Reals = NDArray[np.float64]
# stored values of the differences, at most, and as how many a pair counts at least: the method has a dozen numbers each
_MOST, _NUMBERS = 1 << 23, 12.0


def can_list(task: RankingTask) -> bool:
    """Whether pairs and features are few enough."""
    rows, documents = task.rows, task.queries.documents
    each = count_partners(task.queries)
    pairs = 0.5 * float(each.sum())
    # a few long documents may be in most of the pairs: a mean over all documents would not tell
    entries = np.diff(rows.indptr)[documents] if rows.sparse else np.full(len(documents), rows.shape[1])
    stored = min(float(each @ entries), pairs * rows.shape[1])
    return passes_for_matrix(rows) < np.inf and max(stored, _NUMBERS * pairs) <= _MOST


def count_partners(queries: Queries) -> Reals:
    """In how many ordered pairs each document is, whatever their weights."""
    return partners(queries._replace(weight=np.ones(len(queries.documents))))


def count_pairs(queries: Queries) -> int:
    """How many ordered pairs there are, whatever their weights."""
    return int(0.5 * count_partners(queries).sum())


@dataclass(frozen=True)
class ListedPairs:
    """Interior point method on the differences of all pairs."""

    @property
    def name(self) -> str:
        """Short name."""
        return InteriorPoint().name

    def start(self, task: RankingTask) -> Run:
        """Begin a run."""
        return _ListedRun(task)


class _ListedRun(Run):
    """``run`` is that of the linear machine; weights and dual values are the same."""

    def __init__(self, task: RankingTask) -> None:
        self.task, queries = task, task.queries
        better, worse = np.empty((2, count_pairs(queries)), np.int64)
        equal = np.zeros(len(queries.documents))
        order = np.arange(len(equal))
        list_short(equal, queries.grade, queries.n_grades, queries.start, order, np.inf, better, worse)
        a, b = (task.rows.matrix[queries.documents[side]].astype(np.float64) for side in (better, worse))
        rows = Rows(a - b)
        weight = (task.each / task.C)[better] * queries.weight[better] * queries.weight[worse]
        terms = (hinge if task.loss == "hinge" else squared_hinge)(np.ones(len(better)), task.C * weight)
        machine = LinearTask(rows, terms, task.C, weight, "none", task.tol, task.rng, name=task.name)
        machine.deadline = task.deadline
        self.run = InteriorPoint().start(machine)
        self.exact_gap, self.optimism, self.cheap_passes = self.run.exact_gap, self.run.optimism, self.run.cheap_passes

    def advance(self) -> Step:
        self.run.passes_left = self.passes_left
        return self.run.advance()

    def weights(self) -> Reals:
        return self.run.weights()

    def dual(self) -> float:
        return self.run.dual()
