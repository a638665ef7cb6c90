"""Ranking as a problem for solvers: rows of features, queries, and the losses of all ordered pairs.

Problem: ``min 1/2 |w|^2 + C sum_q s_q sum_(a, b) v_a v_b h(<w, x_a - x_b>)`` over the pairs of documents of query ``q``
with ``y_a > y_b``, where ``h(z)`` is ``(1 - z)_+`` or its square, and ``v`` are weights of documents: one of weight 2
is two equal ones. Its dual has a multiplier ``a_p`` for each pair::

    max  sum_p gain(a_p) - 1/2 |sum_p a_p (x_a - x_b)|^2,

with ``gain(a) = a`` on ``0 <= a <= c_p`` for the hinge and ``gain(a) = a - a^2 / (4 c_p)`` on ``a >= 0`` for its
square, ``c_p = C s_q v_a v_b``. Multipliers that are ``c_p`` times a function of the slack need no list of pairs. For
the square it is the derivative ``2 c_p slack``; for the hinge that of a smoothed one, ``c_p min(slack / width, 1)``,
which is the difference of the slacks below 1 and below ``1 - width``. Any ``w`` so gives a feasible dual point, and its
value in ``O(m log m)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._products import inner
from ...data._mapped_rows import rows_of
from ...errors import DataError
from ..base import WarmStart
from ..deadline import Deadline
from ..linear.rows import Rows
from ..oracle import Evaluation
from .pairs import list_short, list_window, short_pairs, short_slacks, sort_queries, window_size
from .queries import Queries

__all__ = ["PairLoss", "RankingTask", "check_pairs"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
_LISTED = 8  # pairs for each document that may be listed
_DIGITS = 1e-6  # of sums of slacks, over those that they are differences of
_SORTED = 64  # grades of a document's query, on average, up to which each is looked through for them
_PAIRS = (1e-100, 1e100)
_ROUNDING = float(np.finfo(np.float64).eps)
_MOST_NOISE = 1e4  # of the rounding of a margin times the objective of weights of 0; by far


@dataclass
class RankingTask:
    """``min 1/2 |w|^2 + C sum_q s_q sum_pairs v_a v_b h``.

    For the certificate an example is a query; its slack is the mean over its pairs, its task loss the share of its
    pairs in wrong order (equal scores are wrong), and its weight ``s_q`` times the number of its pairs. Means, shares
    and numbers count a pair with its weight.

    Attributes
    ----------
    rows : Rows
    queries : Queries
    factor : float64 array of shape (n_queries,)
        ``s_q``, all positive.
    loss : {"hinge", "squared_hinge"}
    rng : numpy.random.Generator
        Order of the queries in stochastic methods.
    deadline : Deadline
        Looked at within passes too; the outer loop sets it.
    """

    rows: Rows
    queries: Queries
    factor: Reals
    loss: Literal["hinge", "squared_hinge"]
    C: float
    tol: float
    name: str = "ranking"
    warm: WarmStart | None = None
    exact: bool = True
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0), repr=False)
    deadline: Deadline = field(default_factory=Deadline, repr=False)
    weight: Reals = field(init=False)
    examples: Ints = field(init=False)
    c: Reals = field(init=False)
    each: Reals = field(init=False)
    factors: ClassVar[tuple[str, str]] = 2 * ("the number of pairs to be ordered, each by its weight,",)

    def __post_init__(self) -> None:
        self.weight = self.factor * self.queries.pairs
        self.examples = np.arange(len(self.factor))
        with np.errstate(over="ignore"):
            self.c = self.C * self.weight
            self.each = np.repeat(self.C * self.factor, self.queries.sizes)  # C s_q at every document

    @property
    def squared(self) -> bool:
        """Whether slacks are squared."""
        return self.loss == "squared_hinge"

    @property
    def least_of_pairs(self) -> float:
        """The smallest ``c_p`` of a pair, or what is less."""
        return float((self.each * self.queries.weight**2).min())

    @cached_property
    def at_zero(self) -> float:
        """The objective of weights of 0."""
        return self.C * inner(self.factor, self.queries.pairs)

    def penalty(self, w: Reals) -> float:
        """``1/2 |w|^2``."""
        return 0.5 * inner(w, w)

    def objective(self, w: Reals) -> float:
        """``P(w)``."""
        return self.penalty(w) + float(PairLoss(self, self.scores(w)).cost.sum())

    def scores(self, w: Reals) -> Reals:
        """Scores of the documents in the order of the queries, with mean 0 in every query.

        Raises
        ------
        DataError
            If they overflow.
        """
        queries = self.queries
        scores = self.rows.scores(w)[queries.documents]
        scores -= np.repeat(queries.sums(scores) / queries.sizes, queries.sizes)
        if not np.isfinite(scores).all():
            raise DataError("the scores of the documents overflow; scale the features down or lower C")
        return scores

    def combined(self, beta: Reals) -> Reals:
        """``sum_i beta_i x_i`` over the documents in the order of the queries."""
        out = np.zeros(self.rows.shape[0])
        out[self.queries.documents] = beta
        return self.rows.combined(out)

    def slip(self, w: Reals) -> float:
        """How wrong the margins can be in float64: by large constants in the features, which the scores have too."""
        return _ROUNDING * float(np.abs(self.rows.scores(w)).max())

    def rounding(self, w: Reals) -> float:
        """How far beyond ``P(w)`` a lower bound can be in float64.

        With wrong scores ``P(w)`` is nearly that of margins which are less than 1 by as much, so hardly below the
        optimum. Multipliers that are not listed are known by their sums alone, which are those of slightly others.
        """
        at = PairLoss(self, self.scores(w))
        wrong = 8.0 * self.slip(w) * (self.penalty(w) + float(at.cost.sum()))
        return wrong if at.listed else wrong + 8.0 * self.slip(w) * float(at.degree.sum())

    def reach(self, w: Reals) -> float:
        """Pairs whose margins are so little above 1 may be short: scores are products that can cancel."""
        longest = float(np.sqrt(self.penalty(w)) * np.sqrt(2.0 * self.rows.squared_norms.max(initial=0.0)))
        return 4.0 * _ROUNDING * (1.0 + longest)

    def noise(self, w: Reals, small: float) -> float:
        """How wrong ``P(w)`` is likely to be for its scores, whose errors are taken for independent.

        Where a bound that costs little is no more than what is ``small`` it is that one.
        """
        bound = _MOST_NOISE * self.reach(w) * self.at_zero
        if bound <= small:
            return bound
        _, degree, pull, slack, _ = PairLoss(self, self.scores(w)).slacks(1.0 + self.reach(w))
        each = 2.0 * (2.0 * slack - pull) if self.squared else degree
        sizes = np.sqrt(2.0 * self.penalty(w)) * np.sqrt(self.rows.squared_norms[self.queries.documents])
        return float(np.linalg.norm(self.each * each * _ROUNDING * (1.0 + sizes)))

    def of_queries(self, which: Ints) -> RankingTask:
        """The problem of these queries alone; one that stands there twice counts twice."""
        queries = self.queries
        sizes = queries.sizes[which]
        start = np.concatenate([[0], np.cumsum(sizes)])
        places = np.arange(start[-1]) + np.repeat(queries.start[which] - start[:-1], sizes)
        few = Queries(
            np.arange(len(places)), start, queries.grade[places], queries.n_grades[which], queries.weight[places],
            queries.pairs[which], queries.number[which],
        )  # fmt: skip
        rows = Rows(rows_of(self.rows.matrix, queries.documents[places]))
        return RankingTask(rows, few, self.factor[which], self.loss, self.C, self.tol, self.name)

    def evaluate(self, w: Reals) -> Evaluation:
        """Mean slack, and share of the pairs in wrong order, of every query."""
        pairs = self.queries.pairs
        at = PairLoss(self, self.scores(w))
        slack = np.maximum(at.cost, 0.0) / (self.C * self.weight)
        wrong = 0.5 * self.queries.sums(at.sums(at.scores, np.nextafter(0.0, 1.0))[1]) / pairs
        return Evaluation(slack, wrong, np.empty(0, np.int64))


@dataclass
class _Window:
    """Pairs with ``low <= f_a - f_b < 1``: their slacks ``1 - (f_a - f_b)``, summed up with their weights.

    Attributes
    ----------
    degree : float64 array of shape (m,)
        Pairs of every document.
    pull : float64 array of shape (m,)
        Slacks of the pairs where the document is the better one, less those where it is the worse one.
    slack : float64 array of shape (n_queries,)
    around : callable or None
        Gives the sum over the partners of every document of any value, where pairs are listed.
    """

    degree: Reals
    pull: Reals
    slack: Reals
    around: Callable[[Reals], Reals] | None


class _Short(NamedTuple):
    """Sums over pairs that are short of a limit: of documents as in :func:`short_slacks`, of queries the last two.

    The squares are there where slacks are squared.
    """

    excess: Reals
    degree: Reals
    pull: Reals
    slack: Reals
    square: Reals


class PairLoss:
    """The loss of all pairs at given scores.

    Parameters
    ----------
    task : RankingTask
    scores : float64 array of shape (m,)
        See :meth:`RankingTask.scores`.
    width : float
        Where the smoothed hinge bends; of no effect on the square, which needs no smoothing.
    """

    def __init__(self, task: RankingTask, scores: Reals, width: float = 1.0) -> None:
        self.task, self.scores, self.width = task, scores, width
        self.low = -np.inf if task.squared else 1.0 - width
        self.factor = 2.0 if task.squared else 1.0 / width
        self.order = np.empty(len(scores), np.int64)
        sort_queries(scores, task.queries.start, self.order)

    @cached_property
    def _below_one(self) -> _Short:
        return self._exactly(1.0) if self._cancels else self._quick_one

    @cached_property
    def _below_low(self) -> _Short:
        return self._exactly(self.low) if self._cancels else self._quickly(self.low)

    @cached_property
    def _quick_one(self) -> _Short:
        return self._quickly(1.0)

    @cached_property
    def _cancels(self) -> bool:
        """Whether sums over all short pairs, which are several times as fast, leave too few digits of their slacks."""
        task, f, one = self.task, self.scores, self._quick_one
        sizes = 0.5 * task.queries.sums(one.degree) + task.queries.sums(np.abs(f * one.excess))
        if inner(task.factor, one.slack) < _DIGITS * inner(task.factor, sizes):
            return True
        if not task.squared:
            return False
        sizes = one.slack + task.queries.sums(np.abs(f * one.pull))
        return inner(task.factor, one.square) < _DIGITS * inner(task.factor, sizes)

    @cached_property
    def _window(self) -> _Window:
        """The pairs within the width: few of them are listed, which also spares a difference of large sums."""
        queries, f = self.task.queries, self.scores
        if self._listed is not None:
            return self._window_of(*self._listed)
        most = np.inf if self.task.squared else window_size(f, queries.start, self.order, self.low, 1.0)
        if most <= _LISTED * len(f):
            return self._listed_window(int(most))
        one = self._below_one
        if self.task.squared:
            return _Window(one.degree, one.pull, one.slack, None)
        low = self._below_low  # the slacks of these pairs are larger by the width below 1
        return _Window(
            one.degree - low.degree,
            one.pull - low.pull - self.width * low.excess,
            one.slack - low.slack - 0.5 * self.width * queries.sums(low.degree),
            None,
        )

    def _listed_window(self, most: int) -> _Window:
        queries, f = self.task.queries, self.scores
        a, b = np.empty((2, most), np.int64)
        n = list_window(f, queries.grade, queries.start, self.order, self.low, 1.0, a, b)
        return self._window_of(a[:n], b[:n])

    @cached_property
    def _listed(self) -> tuple[Ints, Ints] | None:
        """All short pairs, better and worse ones, where slacks are squared and they are few.

        Then multipliers are at hand one by one, and what is said of their sums is said of the same ones: with a large
        ``C`` rounding would make others of them.
        """
        queries, m = self.task.queries, len(self.scores)
        if not self.task.squared or not self._cancels:
            return None
        if int((queries.sizes * queries.n_grades).sum()) > _SORTED * m:
            return None
        a, b = np.empty((2, _LISTED * m), np.int64)
        n = list_short(self.scores, queries.grade, queries.n_grades, queries.start, self.order, 1.0, a, b)
        return None if n < 0 else (a[:n], b[:n])

    @property
    def listed(self) -> bool:
        """Whether the sums are those of multipliers that are listed; of hinges those at their bound need no list."""
        return not self.task.squared or self._listed is not None

    def _window_of(self, a: Ints, b: Ints) -> _Window:
        queries, f = self.task.queries, self.scores
        v, m = queries.weight[a] * queries.weight[b], len(f)
        each = v * (1.0 - (f[a] - f[b]))
        above = _counted(a, m, each)
        return _Window(
            _counted(a, m, v) + _counted(b, m, v),
            above - _counted(b, m, each),
            queries.sums(above),
            lambda value: _counted(a, m, v * value[b]) + _counted(b, m, v * value[a]),
        )

    def _quickly(self, limit: float) -> _Short:
        """Sums over the pairs that are short of a limit; slacks are differences of those of all scores."""
        queries, f = self.task.queries, self.scores
        excess, degree, around = self.sums(f, limit)
        pull = limit * excess - f * degree + around
        slack = np.asarray(0.5 * limit * queries.sums(degree) - queries.sums(f * excess))
        square = np.asarray(limit * slack - queries.sums(f * pull)) if self.task.squared else np.empty(0)
        return _Short(excess, degree, pull, slack, square)

    def _exactly(self, limit: float) -> _Short:
        """The same; nothing is subtracted but scores."""
        excess, degree, pull, slack, square = self.slacks(limit)
        return _Short(excess, degree, pull, self.task.queries.sums(slack), self.task.queries.sums(square))

    def slacks(self, limit: float) -> Reals:
        """What :func:`short_slacks` says of every document, shape ``(5, m)``."""
        queries = self.task.queries
        out = np.empty((5, len(self.scores)))
        short_slacks(
            self.scores, queries.weight, queries.grade, queries.n_grades, queries.start, self.order, limit, *out
        )
        return out

    def sums(self, value: Reals, limit: float) -> Reals:
        """``excess``, ``degree`` and ``around`` of :func:`short_pairs`, shape ``(3, m)``."""
        queries = self.task.queries
        out = np.empty((3, len(value)))
        short_pairs(
            self.scores, value, queries.weight, queries.grade, queries.n_grades, queries.start, self.order, limit,
            out[0], out[1], out[2],
        )  # fmt: skip
        return out

    @cached_property
    def _square(self) -> Reals:
        """Sum of the squares of the slacks within the window of every query."""
        sums, window = self.task.queries.sums, self._window
        if self._listed is not None:
            a, b = self._listed
            v = self.task.queries.weight
            return sums(_counted(a, len(v), v[a] * v[b] * (1.0 - (self.scores[a] - self.scores[b])) ** 2))
        if self.task.squared:
            return self._below_one.square
        return np.asarray(window.slack - sums(self.scores * window.pull))

    @property
    def cost(self) -> Reals:
        """``C s_q sum_pairs v_a v_b h`` of every query."""
        total = self._square if self.task.squared else self._below_one.slack
        return np.asarray(self.task.C * self.task.factor * total)

    @property
    def gain(self) -> float:
        """``sum_p gain(a_p)`` of the multipliers implied."""
        total = self.factor * self._window.slack
        total += -self._square if self.task.squared else 0.5 * self.task.queries.sums(self._below_low.degree)
        return self.task.C * inner(self.task.factor, total)

    @property
    def beta(self) -> Reals:
        """``sum_p a_p`` of every document, with the sign of its place in the pair: minus the gradient of the loss."""
        total = self.factor * self._window.pull
        if not self.task.squared:
            total += self._below_low.excess
        return np.asarray(self.task.each * total)

    @property
    def descent(self) -> Reals:
        """The same for the loss itself: minus a subgradient where the hinge is not smoothed."""
        return self.beta if self.task.squared else np.asarray(self.task.each * self._below_one.excess)

    @property
    def level(self) -> float:
        """``sum_p gain(a_p)`` of the multipliers of :attr:`descent`.

        The plane that touches the loss at these scores is that less their products with :attr:`descent`. It is one
        below the loss whatever the scores are: errors of these move it, but never above.
        """
        if self.task.squared:
            return self.gain
        degree = self.task.queries.sums(self._below_one.degree)
        return 0.5 * self.task.C * inner(self.task.factor, degree)

    @property
    def degree(self) -> Reals:
        """Diagonal of the Hessian of the loss in the scores."""
        return np.asarray(self.task.each * self.factor * self._window.degree)

    def curved(self, value: Reals) -> Reals:
        """Product of that Hessian with a vector, in ``O(m log m)``."""
        window = self._window
        if window.around is not None:
            around = window.around(value)
        else:
            around = self.sums(value, 1.0)[2]
            if not self.task.squared:
                around -= self.sums(value, self.low)[2]
        return np.asarray(self.task.each * self.factor * (window.degree * value - around))


def check_pairs(queries: Queries, what: str) -> None:
    """Refuse weights of documents (``what`` names them) whose products are too small or too large to compute with."""
    bad = np.flatnonzero(~((queries.pairs >= _PAIRS[0]) & (queries.pairs <= _PAIRS[1])))
    if len(bad):
        raise DataError(
            f"{what}: a pair weighs the product of two weights, and those of all pairs add up to "
            f"{queries.pairs[bad[0]]:.3g}, which is no size to compute with; divide the weights by their mean"
        )


def _counted(places: Ints, m: int, weights: Reals) -> Reals:
    return np.asarray(np.bincount(places, weights, m), np.float64)
