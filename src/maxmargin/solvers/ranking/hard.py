"""The hard margin of a ranking, ``min 1/2 |w|^2  s.t.  <w, x_a - x_b> >= 1`` for every ordered pair, by working sets.

At scores ``f`` the pair of the smallest margin of every document is found in one sweep over the grades of its query
(:func:`~.pairs.worst_partners`), and with it the smallest margin of all pairs; no pairs are listed. A round solves the
problem of the pairs at hand by what solves that of two classes (:class:`~maxmargin.solvers.hard_margin.HardMargin`, on
rows ``x_a - x_b`` without an intercept), and takes in the pairs that its weights put below their margin, the worst ones
first. This is constraint generation: each round takes in only pairs that are not at hand, and ends the search when
there is none.

Upper bound: weights divided by the smallest margin of all pairs, computed afresh from scores in float64. Lower bound:
multipliers ``a_p >= 0`` of the pairs at hand are those of all pairs with 0 for the others, so that
``sum_p a_p - 1/2 |sum_p a_p (x_a - x_b)|^2`` of any of them is below the optimum; the best multiple of the last ones
is taken. Pairs at hand that no weights put in order
(:mod:`~maxmargin.solvers.linear.separation`) prove that none put all in order.

Once weights ``v`` with all margins are known the soft problem of any ``C > |v|^2`` is the same one (exact penalty), and
it is as such that it stands in the outer loop and in the certificate.

Cost of a round: two products with ``X`` and a sweep over the documents, beside the passes over the pairs at hand.
Memory: the differences of features of these pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...errors import DataError, InseparableError
from ...problem import relative_gap
from ...status import Status
from ...terms import hinge
from ..base import Run, Step, WarmStart
from ..deadline import Deadline
from ..exact_penalty import enough_of
from ..hard_margin import HardMargin, scaled_to_margins
from ..linear.automatic import Automatic
from ..linear.rows import Rows
from ..linear.separation import Conflict
from ..linear.task import LinearTask
from ..loop import Result, run_to_tolerance
from .pairs import worst_partners
from .queries import Queries
from .task import PairLoss, RankingTask

__all__ = ["HardRanking", "HardTask", "WorkingSet", "enough_for", "pose", "refuse"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
_MORE = 2.0
_EXACT = 2.0 * _MORE  # times the penalty
_FIRST, _FACTOR = 100.0, 100.0
_LARGEST = 1e49
_LOOSE = 0.1  # gap of a working set that is not the last one
_SHARE = 0.2  # of the gap that is left, for the next working set
_FINEST = 1e-10
_INNER = 1000  # passes of a round; interior points take some dozens
_MOVED, _IDLE = 0.99, 2  # rounds that end at this limit and leave so much of the gap, after which there is no other
_SLIP = 1e-6
_FEW, _MANY = 200, 1 << 23  # pairs, and their stored values, that a round may take in
_SHOWN = 10


@dataclass
class HardTask(RankingTask):
    """The hard margin as the soft one of a ``C`` that is large enough."""

    def rounding(self, w: Reals) -> float:
        """How wrong ``P(w)`` can be in float64."""
        return 8.0 * self.slip(w) * self.penalty(w)

    def noise(self, w: Reals, small: float) -> float:
        """None that matters: where rounding hides margins the data are refused, see :func:`pose`."""
        return 0.0


class WorkingSet:
    """Pairs of a ranking that are at hand, as rows of differences.

    Attributes
    ----------
    better, worse : int64 arrays of shape (n_pairs,)
        Places of the documents in the order of the queries.
    matrix : float64 array or CSR matrix of shape (n_pairs, d)
    """

    def __init__(self, rows: Rows, queries: Queries) -> None:
        self.rows, self.queries = rows, queries
        self.better = self.worse = np.empty(0, np.int64)
        self.keys = np.empty(0, np.int64)  # sorted
        self.matrix = self._differences(self.better, self.worse)
        n, d = rows.shape
        self.most = max(_FEW, min(2 * (d + 2), _MANY * n // max(2 * rows.entries, 1)))

    def least(self, scores: Reals) -> float:
        """The smallest margin of all pairs."""
        a, b = self._worst(scores)
        return float((scores[a] - scores[b]).min())

    def take(self, scores: Reals) -> int:
        """Take in the worst pairs below their margin that are not at hand yet; returns how many."""
        a, b = self._worst(scores)
        margin = scores[a] - scores[b]
        key = a * len(scores) + b
        short = np.flatnonzero((margin < 1.0) & ~np.isin(key, self.keys))
        short = short[np.unique(key[short], return_index=True)[1]]
        short = short[np.argsort(margin[short], kind="stable")[: self.most]]
        a, b = a[short], b[short]
        self.better, self.worse = np.append(self.better, a), np.append(self.worse, b)
        self.keys = np.union1d(self.keys, key[short])
        stack = sp.vstack if self.rows.sparse else np.concatenate
        self.matrix = stack([self.matrix, self._differences(a, b)])
        if self.rows.sparse:
            self.matrix = self.matrix.tocsr()
        return len(short)

    def _worst(self, scores: Reals) -> tuple[Ints, Ints]:
        """The pair of the smallest margin of every document, as the better one and as the worse one."""
        queries = self.queries
        below, above = np.empty((2, len(scores)), np.int64)
        worst_partners(scores, queries.grade, queries.n_grades, queries.start, below, above)
        upper, lower = np.flatnonzero(below >= 0), np.flatnonzero(above >= 0)
        return np.append(upper, above[lower]), np.append(below[upper], lower)

    def _differences(self, better: Ints, worse: Ints) -> Any:
        a, b = (self.rows.matrix[self.queries.documents[side]].astype(np.float64) for side in (better, worse))
        return a - b


def enough_for(rows: Rows, name: str) -> float | Conflict:
    """A ``C`` from which on the soft margin of the pairs whose differences are ``rows`` is the hard one, or a conflict.

    Raises
    ------
    DataError
        See :func:`~maxmargin.solvers.exact_penalty.enough_of`.
    """
    conflict = _without_difference(rows, name)
    if conflict is not None:  # no need of a linear program
        return conflict
    return enough_of(rows, np.ones(rows.shape[0]), False, name)


def _without_difference(rows: Rows, name: str) -> Conflict | None:
    """A pair whose features are the same.

    Raises
    ------
    DataError
        When the features of a pair differ, but by too little to compute with.
    """
    short = np.flatnonzero(rows.squared_norms == 0.0)
    if not len(short):
        return None
    largest = abs(rows.matrix[short]).max(1)
    sizes = np.asarray(largest.toarray() if rows.sparse else largest).ravel()
    if (sizes == 0.0).any():
        return Conflict(short[sizes == 0.0][:1], np.ones(1))
    raise DataError(
        f"{name}: the features of a pair differ by at most {sizes.min():.3g}: too small to compute with; scale X up"
    )


def pose(
    rows: Rows, queries: Queries, tol: float, name: str, rng: np.random.Generator, first: Reals | None, max_passes: int
) -> tuple[HardTask, HardRanking] | list[tuple[int, int]]:
    """The problem with a large enough ``C``, and the solver that begins with weights which have all margins.

    Parameters
    ----------
    rows : Rows
    queries : Queries
        All documents with the weight 1.
    first : float64 array of shape (d,), optional
        Weights that say which pairs to look at first; by default the sum of the differences of all pairs.

    Returns
    -------
    (HardTask, HardRanking)
        Or a list of the rows of pairs, better and worse, that no weights put in order.

    Raises
    ------
    DataError
        If rounding hides the order, or the weights leave the range of numbers.
    KeyboardInterrupt
    """
    one, pairs = np.ones(len(queries.pairs)), WorkingSet(rows, queries)
    task = HardTask(rows, queries, one, "hinge", 1.0, tol, name=name)
    if first is None:
        first = task.combined(PairLoss(task, np.zeros(len(queries.documents))).descent)
    scores = task.scores(first)
    found = _in_order(pairs, scores / max(8.0 * float(np.abs(scores).max()), 1e-300), task, rng)
    if isinstance(found, Conflict):
        documents = queries.documents
        return [(int(documents[pairs.better[k]]), int(documents[pairs.worse[k]])) for k in found.rows]
    C = _EXACT * task.penalty(found)
    if not C * float(queries.pairs.max()) <= _LARGEST:
        raise DataError(f"{name}: the weights would be of size {float(np.linalg.norm(found)):.2g}; scale X up")
    return HardTask(rows, queries, one, "hinge", C, tol, name=name), HardRanking(pairs, found, rng, max_passes)


def _in_order(pairs: WorkingSet, scores: Reals, task: HardTask, rng: np.random.Generator) -> Reals | Conflict:
    """Weights with all margins, or a conflict among the pairs at hand; the first ones are the worst at ``scores``."""
    name = task.name

    def least(w: Reals) -> float:
        return pairs.least(task.scores(w))

    def hidden() -> DataError:
        return DataError(
            f"{name}: rounding hides whether weights put all pairs in order; scale the features, take large constants "
            "off them, or use a finite C"
        )

    C = 0.0
    while True:
        if not pairs.take(scores):
            raise hidden()
        rows = Rows(pairs.matrix)
        conflict = _without_difference(rows, name)
        if conflict is not None:
            return conflict
        C = max(C, _FIRST * len(pairs.better) / max(float(rows.squared_norms.sum()), 1e-300))
        if not _FACTOR * C <= _LARGEST:
            raise DataError(f"{name}: the weights would be of size {math.sqrt(C):.2g}; scale X up")
        tries, asked = [C, _FACTOR * C], False
        while True:
            result = _solve(pairs, tries.pop(0), _LOOSE, name, rng)
            if result.certificate.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            if float(rows.scores(result.w).min()) > 0.0:
                break
            # any weights that put the pairs at hand in order will do: only where none are found the linear program is
            # asked, which takes minutes on thousands of sparse features
            if not tries:
                if asked:
                    raise hidden()
                found, asked = enough_for(rows, name), True
                if isinstance(found, Conflict):
                    return found
                tries = [found, _FACTOR * found]
        C = 2.0 * _EXACT * task.penalty(result.w)  # grows with the pairs
        w = scaled_to_margins(result.w, least)
        if least(w) >= 1.0:
            if task.slip(w) > _SLIP:
                raise hidden()
            return w
        scores = task.scores(w)


def _solve(
    pairs: WorkingSet,
    C: float,
    tol: float,
    name: str,
    rng: np.random.Generator,
    warm: WarmStart | None = None,
    deadline: Deadline | None = None,
    soft: Any = None,
    **limits: Any,
) -> Result:
    """The hard margin of the pairs at hand."""
    rows = Rows(pairs.matrix)
    one = np.ones(rows.shape[0])
    task = LinearTask(rows, hinge(one, C * one), C, one, "none", tol, rng, name=name, warm=warm)
    if deadline is not None:
        task.deadline = deadline
    return run_to_tolerance(task, HardMargin(Automatic() if soft is None else soft), **({"max_passes": 1000} | limits))


@dataclass(frozen=True)
class HardRanking:
    """The hard margin of all pairs, from weights that have it.

    Parameters
    ----------
    pairs : WorkingSet
    first : float64 array of shape (d,)
        Weights with all margins, see :func:`pose`.
    rng : numpy.random.Generator
    max_passes : int
        Passes over pairs at hand, and over the documents.
    soft : solver, optional
        Of linear machines: that of the pairs at hand.
    """

    pairs: WorkingSet
    first: Reals
    rng: np.random.Generator
    max_passes: int = 10_000
    soft: Any = None

    @property
    def name(self) -> str:
        """Short name."""
        return "working_set"

    def start(self, task: RankingTask) -> Run:
        """Begin a run on the problem with a large enough ``C``, see above."""
        return _HardRun(self, task)


class _HardRun(Run):
    task: RankingTask
    exact_gap = True
    reason = "C is infinite: the hard margin of the pairs at hand, until the others have theirs too"

    def __init__(self, options: HardRanking, task: RankingTask) -> None:
        self.options, self.task, self.pairs = options, task, options.pairs
        self.best, self.passes = options.first, 0
        self.highest = np.zeros(0)  # multipliers of the first pairs at hand; those of the others are 0
        self.tol, self.idle = _LOOSE, 0
        self.warm: WarmStart | None = None

    def advance(self) -> Step:
        task, pairs, deadline = self.task, self.pairs, self.task.deadline
        before = task.penalty(self.best) - self._bound()
        if self.idle >= _IDLE:  # figures that stand still are what the outer loop calls stalled
            return Step(1, before, self._bound(), ready=True)
        end = deadline.at
        result = _solve(
            pairs, _EXACT * task.penalty(self.best), self.tol, task.name, self.options.rng, self.warm, deadline,
            self.options.soft, max_time=deadline.left,
            max_passes=min(max(self.options.max_passes - self.passes - 2, 2), _INNER),
        )  # fmt: skip
        deadline.at = end  # the inner loop has the same clock
        if result.certificate.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        passes = result.certificate.passes + 1
        self.passes += passes
        beta = np.maximum(result.dual_point.beta, 0.0)
        self._note(beta, result.w)
        added = pairs.take(task.scores(result.w))
        self.warm = WarmStart(result.w, beta=np.append(beta, np.zeros(added)), solver=result.certificate.solver)
        primal, dual = task.penalty(self.best), self._bound()
        gap = primal - dual
        failed = not result.certificate.status.ok and gap > _MOVED * before
        self.idle = self.idle + 1 if failed else 0
        share = max(_SHARE * relative_gap(primal, dual), _SHARE * task.tol)
        self.tol = max(min(share, _LOOSE, self.tol if added else 0.1 * self.tol), _FINEST)
        return Step(passes, gap, dual, ready=gap <= task.tol * primal or not added)

    def _note(self, beta: Reals, w: Reals) -> None:
        """Keep what is better."""
        task, pairs = self.task, self.pairs
        w = scaled_to_margins(w, lambda v: pairs.least(task.scores(v)))
        if task.penalty(w) < task.penalty(self.best) and pairs.least(task.scores(w)) >= 1.0:
            self.best = w
        before = self.highest, self._bound()
        self.highest = beta
        if self._bound() < before[1]:
            self.highest = before[0]

    def _bound(self) -> float:
        """``t sum_p a_p - 1/2 |t sum_p a_p (x_a - x_b)|^2`` of the best ``t``.

        By the rows of the pairs: as coefficients of documents, sums of multipliers, they lose digits where the sizes of
        features differ by many orders (measured, at twenty: two thirds of the bound).
        """
        total = float(self.highest.sum())
        square = 2.0 * self.task.penalty(Rows(self.pairs.matrix[: len(self.highest)]).combined(self.highest))
        value = 0.5 * total * (total / square) if square > 0.0 else 0.0
        # multiplied by that t they add up to twice the value: no squares of theirs take more than this
        return value - value * (value / self.task.least_of_pairs) if self.task.squared else value

    def weights(self) -> Reals:
        return self.best

    def dual(self) -> float:
        return self._bound()


def refuse(name: str, pairs: list[tuple[int, int]], what: Callable[[int, int], str], numbers: list[int]) -> NoReturn:
    """Refuse pairs that contradict each other.

    Parameters
    ----------
    name : str
        Who refuses.
    pairs : list of pairs of int
        The better and the worse one of each.
    what : callable
        Says in words what a pair is.
    numbers : list of int
        Those of rows or comparisons that the error has, in rising order.
    """
    shown = [what(*pair) for pair in pairs[:_SHOWN]]
    if len(pairs) > _SHOWN:
        shown.append(f"{len(pairs) - _SHOWN} more")
    if len(shown) == 1:
        why = f"{shown[0]}, but they have the same features"
    else:
        why = (
            f"{', '.join(shown[:-1])} and {shown[-1]} contradict each other (without any one of them the others would "
            "not)"
        )
    raise InseparableError(
        f"{name}: no weights put all pairs in order: {why}; remove such pairs, or use a finite C, which allows errors",
        numbers, pairs,
    )  # fmt: skip
