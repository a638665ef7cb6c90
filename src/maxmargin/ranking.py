"""Ranking machine: learns scores from graded documents of queries, or from comparisons."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ._checked_rows import checked_rows, checked_scores
from ._estimator import MarginEstimator, check_sample_weight, check_targets, choose_solver, undone_if_failed
from ._items import array_of, item_numbers
from ._machine import _SOLVERS
from ._notes import about_order, about_scales
from ._partial_fit import Streams, check_stream_solver, for_streams
from ._products import inner
from .errors import DataError
from .losses import is_finite_number
from .metrics import ndcg, query_numbers
from .problem import Certificate
from .solvers.base import WarmStart
from .solvers.bundle import Bundle
from .solvers.gradient_descent import GradientDescent
from .solvers.hard_margin import HardMargin
from .solvers.linear.rows import Rows
from .solvers.linear.separation import Conflict
from .solvers.loop import Result, check_costs, run_to_tolerance
from .solvers.one_slack import OneSlack
from .solvers.ranking.automatic import FOR_PAIRS, Automatic
from .solvers.ranking.comparisons import difference_task
from .solvers.ranking.hard import enough_for, pose, refuse
from .solvers.ranking.newton import TruncatedNewton
from .solvers.ranking.queries import Queries, group
from .solvers.ranking.stream import QueryStream
from .solvers.ranking.task import RankingTask, check_pairs
from .solvers.subgradient import Pegasos, Subgradient
from .status import Status
from .structures.base import check_row_magnitude
from .structures.values import as_reals

__all__ = ["FOR_PAIRS", "PAIR_SOLVERS", "SVMRanker", "pair_solver"]

PAIR_SOLVERS: dict[str, Any] = {
    "auto": Automatic(),
    "newton": TruncatedNewton(),
    "one_slack": OneSlack(),
    "bundle": Bundle(),
    "gradient_descent": GradientDescent(),
    "subgradient": Subgradient(),
    "pegasos": Pegasos(),
}

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]


def _can_stream(estimator: SVMRanker) -> bool:
    """Whether there is a ``partial_fit``; an AttributeError says why not."""
    name = type(estimator).__name__
    if estimator._hard:
        raise AttributeError(f"{name}: partial_fit is for a finite C, not for {estimator.C!r}")
    check_stream_solver(estimator)
    return True


def pair_solver(estimator: MarginEstimator) -> Any:
    """The solver of losses over all pairs that an estimator asks for; a ValueError says what else there is."""
    return choose_solver(estimator, PAIR_SOLVERS.__getitem__, "ranking")


class SVMRanker(MarginEstimator):
    """Linear ranking SVM with a certificate.

    Minimises ``1/2 |w|^2 + C sum_q s_q sum_(a, b) v_a v_b (1 - <w, x_a - x_b>)_+`` (or the square of the bracket) over
    the pairs of documents of one query with ``y_a > y_b``; equal grades give no pair. Pairs need not be listed: a query
    of ``m`` documents costs ``O(m log m)``. The prediction is the score ``<w, x>``; there is no intercept, which would
    change no order.

    With ``C=inf`` no slack is bought: ``1/2 |w|^2`` is minimised subject to ``<w, x_a - x_b> >= 1`` for every such
    pair, still without a list of them (:mod:`maxmargin.solvers.ranking.hard`). The weights returned have all these
    margins, and the certificate's ``dual`` is the dual value of some pairs. Data that no weights put in order are
    refused with pairs that contradict each other, though without any one of them the others would not; what is too
    near to that counts as such, see :class:`~maxmargin.HardMarginSVM`.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the slack of each single pair: divide by the number of pairs for a mean over them. Infinite: no slack
        is allowed, and the loss and weights have no effect, but that what has the weight 0 is left out.
    loss : {"hinge", "squared_hinge"}, default="hinge"
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_passes : int, default=10000
        Passes over the data: each product with the Hessian, gradient or evaluation is one. With ``C=inf`` also each
        pass over the pairs at hand, but for those that look for first weights with all margins.
    max_time : float, optional
        Seconds of solving; with ``C=inf`` as ``max_passes``.
    solver : str or solver object, default="auto"
        ``"newton"`` is Newton's method on a smoothed hinge (:mod:`maxmargin.solvers.ranking.newton`), and ``"auto"``
        goes on with ``"bundle"`` where that is slow or stands still, and where that stands still, as of unscaled
        features with a large ``C``, with the interior point method on a list of the pairs if they are few
        (:mod:`maxmargin.solvers.ranking.listed`); ``solver_reason_`` says why;
        ``"one_slack"`` is the cutting planes of SVM-rank, and ``"bundle"`` looks for better places for them
        (:mod:`maxmargin.solvers.bundle`); ``"gradient_descent"``, ``"subgradient"`` and ``"pegasos"`` are first-order
        methods, of which the stochastic ones take one query for one example. Of :meth:`fit_comparisons`, and of the
        pairs at hand with ``C=inf``, they are the solvers of that name of a linear machine, see
        :class:`~maxmargin.SVMClassifier`. ``solver_`` and ``solver_reason_`` say what was chosen and why.
    random_state : int or RandomState, optional
        Order of the visits in :meth:`fit_comparisons`, with ``C=inf`` and of stochastic methods; :meth:`fit` else has
        no chance in it.
    verbose : int, default=0
        1 shows progress, 2 every pass.
    warm_start : bool, default=False
        Start from the weights of the last fit, where there are as many features (with ``C=inf``: look first at the
        pairs that they have in wrong order). For :meth:`fit` alone:
        :meth:`fit_comparisons` refuses it, as its solvers start from multipliers of comparisons, which weights do not
        tell.
    callback : callable, optional
        ``callback(record, w)`` after every step; a true answer stops the fit.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    certificate_ : Certificate
        Its risk is the share of training pairs in wrong order, equal scores included; its bound is their mean slack.
        With ``C=inf`` both are 0.
    notes_ : tuple of str
        See :class:`~maxmargin.SVMClassifier`.
    history_ : list of Record
    solver_, solver_reason_ : str
        The algorithm, and why it was taken.
    n_iter_ : int
        Passes over the data.
    items_ : array of shape (n_items,)
        After :meth:`fit_comparisons`: names of the items, or their numbers.
    strengths_ : array of shape (n_items,)
        After :meth:`fit_comparisons`: scores of the items, see :meth:`strength_table`.
    n_samples_seen_ : int
        Documents of positive weight, after :meth:`partial_fit`.

    Examples
    --------
    >>> from maxmargin import SVMRanker
    >>> model = SVMRanker(C=10.0).fit([[0.0], [1.0], [5.0], [7.0]], [1, 2, 1, 2], qid=["a", "a", "b", "b"])
    >>> float(model.certificate_.training_risk)
    0.0
    >>> teams = SVMRanker(C=10.0, tol=1e-6).fit_comparisons(None, ["Ajax", "Bonn"], ["Bonn", "Celta"])
    >>> [(name, round(strength, 2) + 0.0) for name, strength in teams.strength_table()]  # rounded: no -0.0
    [('Ajax', 1.0), ('Bonn', 0.0), ('Celta', -1.0)]
    >>> hard = SVMRanker(C=float("inf")).fit([[0.0], [1.0], [5.0], [7.0]], [1, 2, 1, 2], qid=["a", "a", "b", "b"])
    >>> round(float(hard.coef_[0]), 6), hard.certificate_.relative_gap <= 1e-3
    (1.0, True)
    """

    coef_: Reals
    solver_reason_: str
    items_: NDArray[Any]
    strengths_: Reals
    n_samples_seen_: int
    _intercept: Literal["none"] = "none"

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: Literal["hinge", "squared_hinge"] = "hinge",
        tol: float = 1e-3,
        max_passes: int = 10_000,
        max_time: float | None = None,
        solver: Any = "auto",
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.tol = tol
        self.max_passes = max_passes
        self.max_time = max_time
        self.solver = solver
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.callback = callback

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    @undone_if_failed
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        document_weight: ArrayLike | None = None,
    ) -> SVMRanker:
        """Fit to graded documents.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Used as it is, without a copy, when it is float64 or float32 in C order or CSR.
        y : array of shape (n,)
            Grades: numbers, the larger the better (booleans count for 0 and 1). Only their order within a query
            matters.
        qid : array of shape (n,), optional
            Query of each document, in any order of the documents: integers (exact to 64 bits) or text. All documents
            are of one query by default.
        sample_weight : array of shape (n,) or (n_queries,), optional
            Factors ``s_q``: for each document, the same ones within a query, or for each query in the order of the
            sorted names. 0 leaves a query out, negative ones are refused. The example that has a weight is the query:
            one of weight 2 is two equal queries, which have twice the pairs, while two copies of all of its documents
            have four times the pairs. So weights that differ within a query are refused, and the checks of
            scikit-learn that take a weight of a row for copies of it fail; copies are what ``document_weight`` is for.
        document_weight : array of shape (n,), optional
            Factors ``v`` of the documents: that of a pair is the product of two. A document of weight 2 is two equal
            ones, one of weight 0 is left out.

        Raises
        ------
        InseparableError
            With ``C=inf``, when no weights put all pairs in order: ``pairs`` has a few that show it, each as the rows
            of the better and the worse document, and ``rows`` the numbers of all these.
        ValueError
            For invalid parameters or other data (no pair at all, NaN, wrong shapes): says which and where.
        KeyboardInterrupt
            After Ctrl-C, with the best model so far already stored.
        """
        self._check()
        solver = self._linear_solver("ranking with C=inf") if self._hard else pair_solver(self)
        X, grades = self._graded(X, y, reset=True)
        queries, factor, _ = _grouped(grades, qid, sample_weight, document_weight, equal=self._hard)
        if not len(queries.pairs):
            where = "" if sample_weight is None and document_weight is None else " of positive weight"
            raise DataError(
                f"no comparable pairs among n_samples={len(grades)} documents: every query{where} has one document or "
                "one grade only; check y and qid"
            )
        first = None
        if self.warm_start and getattr(self, "coef_", np.empty(0)).shape == (X.shape[1],):
            first = self.coef_
        if self._hard:
            result = self._fit_hard(X, queries, first, qid, solver)
        else:
            task = RankingTask(
                Rows(X), queries, factor, self.loss, float(self.C), float(self.tol), name=type(self).__name__,
                warm=None if first is None else WarmStart(first), rng=np.random.default_rng(self._seed()),
            )  # fmt: skip
            result = self._watched(lambda **limits: run_to_tolerance(task, solver, **limits))
        self.coef_ = result.w
        self._forget("items_", "strengths_")
        least = float(factor.min()) * float(queries.weight.min()) ** 2  # of a pair
        self._keep_notes(self._notes(X, result, inner(factor, queries.pairs), least))
        self.solver_reason_ = result.reason
        self._finish(result)
        return self

    def _solver_names(self) -> list[str]:
        # rows of differences take Newton's method for smooth losses, and a hard margin has none, whatever the loss
        return [name for name in PAIR_SOLVERS if not (self._hard and name == "newton")]

    def _linear_solver(self, what: str) -> Any:
        """The solver of rows of differences; ``what`` they are for in messages."""
        if self._hard and isinstance(self.solver, str) and self.solver == "newton":
            raise DataError(
                f"{type(self).__name__}: Newton's method needs a loss with a second derivative, and with C=inf there "
                f"is none, whatever the loss: solver must be one of {sorted(self._solver_names())}"
            )
        return choose_solver(self, _SOLVERS.__getitem__, what)

    def _fit_hard(self, X: Any, queries: Queries, first: Reals | None, qid: Any, soft: Any) -> Result:
        """The hard margin of all pairs; refuses data that have none."""
        name, rng = type(self).__name__, np.random.default_rng(self._seed())
        posed = pose(Rows(X), queries, float(self.tol), name, rng, first, int(self.max_passes))
        if isinstance(posed, list):
            names = None if qid is None else np.asarray(qid)

            def what(a: int, b: int) -> str:
                return f"row {a} above row {b}" + (
                    "" if names is None else f" (query {names[a : a + 1].tolist()[0]!r:.40})"
                )

            refuse(name, posed, what, sorted({row for pair in posed for row in pair}))
        task, solver = posed[0], replace(posed[1], soft=soft)
        result = self._watched(lambda **limits: run_to_tolerance(task, solver, **limits))
        result.certificate = replace(result.certificate, C=math.inf)
        return result

    @for_streams(_can_stream)
    @undone_if_failed
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        document_weight: ArrayLike | None = None,
    ) -> SVMRanker:
        """Learn from the next queries of a stream, visiting each once, in the order of their first documents.

        Every call has one or more whole queries: what has the same name in another call is another query. After ``n``
        queries in all, of any number of calls, the objective is that of :meth:`fit` for these queries with the same
        ``C``, and each step is one along a subgradient of the loss of all pairs of a query, ``O(m log m)`` for ``m``
        documents; see :mod:`maxmargin.solvers.ranking.stream`. Queries without a pair add nothing; so does a call that
        has no pair at all, which may well happen in a stream (weights are 0 until there is one). There is no
        ``certificate_``: it would need the documents that are gone. A fit before is forgotten, and a later one forgets
        the stream. ``solver`` must be ``"auto"`` or ``"subgradient"``; ``tol``, the limits, ``warm_start``, ``verbose``
        and ``callback`` play no part. A model file keeps all that the next call needs.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
        qid : array of shape (n,), optional
        sample_weight : array of shape (n,) or (n_queries,), optional
        document_weight : array of shape (n,), optional
            All as in :meth:`fit`.

        Returns
        -------
        SVMRanker
            This estimator, with ``coef_`` and ``n_samples_seen_``.

        Raises
        ------
        ValueError
            For invalid parameters or data, and for parameters changed between two calls.
        RuledOutError
            With ``C=inf``, or another solver: there is no such method then.
        KeyboardInterrupt
            After Ctrl-C, when the piece has been used in part.
        """
        self._check()
        streams: Streams | None = vars(self).get("_streams")
        if streams is not None:
            streams.check(self)
        X, grades = self._graded(X, y, reset=streams is None)
        queries, factor, n_rows = _grouped(grades, qid, sample_weight, document_weight)
        check_costs(float(self.C) * factor[factor > 0.0], type(self).__name__)
        if streams is None:
            streams = Streams.of_rows(self, 1, kind=QueryStream)
        stream = streams.each[0]
        assert isinstance(stream, QueryStream)
        before, sizes = stream.seen, queries.sizes[stream.order_of(queries)]
        with streams.piece(self, n_rows, lambda: int(sizes[: stream.seen - before].sum())):
            stream.take_queries(X, queries, factor, self.loss)
        return self

    def _take_weights(self, streams: Streams) -> None:
        """Those of the stream."""
        self.coef_ = streams.weights()[0][0]

    @undone_if_failed
    def fit_comparisons(
        self,
        X: Any,
        winners: ArrayLike,
        losers: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        ties: ArrayLike | None = None,
        tie_weight: ArrayLike | None = None,
        tie_margin: float = 0.0,
        items: ArrayLike | None = None,
    ) -> SVMRanker:
        """Fit to results of comparisons, such as matches.

        A win costs ``C s (1 - <w, x_winner - x_loser>)_+``, a tie ``C s (|<w, x_a - x_b>| - tie_margin)_+``: the
        scores of the two should differ by no more than ``tie_margin``. With ``tie_margin=1`` a tie is the same as a
        win of its weight for each side, up to a constant. With ``loss="squared_hinge"`` the brackets are squared (and
        a tie is no longer the same as two wins).

        The differences of features are computed, of shape ``(n + 2 n_ties, d)``, and kept in memory. What belongs to
        a comparison and not to an item, such as playing at home or the size of a victory, has no place here: wins have
        the margin 1, and ``sample_weight`` is all that tells one from another.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_items, d), or None
            Features of the items. None gives every item a feature of its own, so that ``coef_`` are the strengths.
        winners, losers : arrays of shape (n,)
            Items by the numbers of their rows, or by name where ``items`` are given or ``X`` is None.
        sample_weight : array of shape (n,), optional
            Factors ``s`` of the wins; 0 leaves one out.
        ties : array of shape (n_ties, 2), optional
            Items that were equal.
        tie_weight : array of shape (n_ties,), optional
            Factors of the ties.
        tie_margin : float, default=0.0
            At least 0.
        items : array of shape (n_items,), optional
            Names of the rows of ``X``; with ``X=None``, all items, also those without a comparison.

        Raises
        ------
        InseparableError
            With ``C=inf``, when no weights put all wins in order: ``rows`` has the numbers of a few comparisons that
            show it, and ``pairs`` the numbers of their winners and losers.
        ValueError
            For invalid parameters or data (unknown items, an item against itself, wrong shapes, ``warm_start=True``,
            ties with ``C=inf``): says which and where.
        KeyboardInterrupt
            After Ctrl-C, with the best model so far already stored.
        """
        self._check()
        if self.warm_start:
            raise ValueError("SVMRanker: fit_comparisons has no warm start, which is for fit; set warm_start=False")
        solver = self._linear_solver("comparisons with C=inf" if self._hard else "comparisons")
        n_rows = None
        if X is not None:
            X = checked_rows(self, X, accept_sparse="csr", dtype=np.float64)
            check_row_magnitude(X)
            n_rows = X.shape[0]
        names, pairs, tied = item_numbers(n_rows, winners, losers, ties, items)
        if X is None:
            X = sp.eye_array(len(names), format="csr")
            self.n_features_in_ = len(names)
            self._forget("feature_names_in_")
        weight, weight_of_ties = (
            _weights(sample_weight, len(pairs), zero=True), _weights(tie_weight, len(tied), "tie_weight", zero=True)
        )  # fmt: skip
        if not (is_finite_number(tie_margin) and tie_margin >= 0.0):
            raise ValueError(f"tie_margin must be a finite number >= 0, not {tie_margin!r:.80}")
        with_ties = bool(weight_of_ties.any()) and len(tied) > 0
        if self._hard and with_ties:
            raise DataError(
                "SVMRanker: C=inf is for wins only, as weights that are scaled up to the margins of wins break ties; "
                "leave the ties out, or use a finite C"
            )
        loss, C = self.loss, float(self.C)
        if self._hard:
            loss, weight = "hinge", np.sign(weight)
            C = self._enough(X, pairs[weight > 0.0], np.flatnonzero(weight), names)
            solver = HardMargin(solver)
        task = difference_task(
            X, pairs, tied, weight, weight_of_ties, float(tie_margin), loss, C, float(self.tol),
            np.random.default_rng(self._seed()), type(self).__name__,
        )  # fmt: skip

        result = self._watched(lambda **limits: run_to_tolerance(task, solver, **limits))
        if self._hard:
            result.certificate = replace(result.certificate, C=math.inf)
        self.coef_ = result.w
        self.items_, self.strengths_ = names, np.asarray(X @ result.w)
        wins = task.weight[: int((weight > 0.0).sum())]
        self._keep_notes(self._notes(X, result, float(wins.sum()), None if with_ties else float(wins.min())))
        self.solver_reason_ = result.reason
        self._finish(result)
        return self

    def _enough(self, X: Any, wins: Ints, places: Ints, names: NDArray[Any]) -> float:
        """A ``C`` with which the soft margin of the wins is the hard one; refuses wins that have none."""
        if not len(wins):
            return 1.0  # there is another message
        name = type(self).__name__
        found = enough_for(Rows(X[wins[:, 0]] - X[wins[:, 1]]), name)
        if not isinstance(found, Conflict):
            return found
        rows = np.sort(found.rows)
        said = {(int(a), int(b)): k for (a, b), k in zip(wins[rows], places[rows], strict=True)}

        def what(a: int, b: int) -> str:
            return f"{names[[a]].tolist()[0]!r:.40} above {names[[b]].tolist()[0]!r:.40} (comparison {said[a, b]})"

        refuse(name, list(said), what, list(said.values()))

    def strength_table(self) -> list[tuple[Any, float]]:
        """Items and their scores after :meth:`fit_comparisons`, the strongest first."""
        check_is_fitted(self, "strengths_", msg="strength_table needs comparisons: call fit_comparisons first")
        order = np.argsort(-self.strengths_, kind="stable")
        return list(zip(self.items_[order].tolist(), self.strengths_[order].tolist(), strict=True))

    def predict(self, X: Any) -> Reals:
        """Scores of shape (n,): the higher, the earlier in the ranking."""
        check_is_fitted(self, "coef_")
        X = checked_rows(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return checked_scores(self, lambda: Rows(X).scores(self.coef_))

    def score(
        self, X: Any, y: ArrayLike, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Mean NDCG@10 over the queries, with the grades as gains; see :func:`maxmargin.metrics.ndcg`.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Grades of at least 0.
        qid : array of shape (n,), optional
            As in :meth:`fit`.
        sample_weight : array of shape (n,) or (n_queries,), optional
            Factors ``s_q`` of the queries, given as in :meth:`fit`: the score is the sum of ``s_q NDCG_q`` divided by
            that of ``s_q``, over the queries that have a grade above 0. One of weight 2 is two equal queries, and 0
            leaves one out. The documents of a query count alike, as they do for NDCG.

        Raises
        ------
        DataError
            For wrong shapes, negative grades or weights, weights that differ within a query, and when no query with a
            grade above 0 has weight.
        """
        scores = self.predict(X)
        factor = None if sample_weight is None else _factors(sample_weight, query_numbers(qid, len(scores)), "score")
        return ndcg(y, scores, qid, query_weight=factor)

    def _graded(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Reals]:
        """Rows and grades, checked."""
        X, grades = checked_rows(
            self, X, check_targets(y), accept_sparse="csr", dtype=[np.float64, np.float32], y_numeric=True,
            multi_output=False, reset=reset,
        )  # fmt: skip
        check_row_magnitude(X)
        return X, np.asarray(grades, np.float64)

    def _notes(self, X: Any, result: Result, total: float, least: float | None) -> list[str]:
        """Notes on the features and the weights; see :func:`~maxmargin._notes.about_order`."""
        names = getattr(self, "feature_names_in_", None)
        if self._hard:
            return about_scales(X, names, shifts=True)
        notes = about_scales(X, names, shifts=True, C=float(self.C))
        return notes + about_order(result.certificate, self.loss, float(self.C), total, least, float(self.tol), notes)

    @property
    def _hard(self) -> bool:
        """Whether no slack is allowed."""
        return isinstance(self.C, numbers.Real) and self.C == math.inf

    def _check_C(self) -> None:
        if not self._hard:
            super()._check_C()

    def _advice(self, certificate: Certificate) -> str:
        """There is no ``C`` to lower: a finite one is another problem."""
        if not self._hard:
            return super()._advice(certificate)
        if certificate.status is Status.STALLED:
            return "Rounding hides the rest of the gap: scale the features, raise tol, or use a finite C."
        limit = {Status.PASS_LIMIT: "max_passes", Status.TIME_LIMIT: "max_time"}.get(certificate.status)
        if limit is None:
            return certificate.advice
        return (
            f"Raise {limit}, scale the features, raise tol, or use a finite C; the certificate says how far the "
            "optimum can be."
        )

    def _check(self) -> None:
        self._check_parameters()
        if self.loss not in ("hinge", "squared_hinge"):
            raise ValueError(f"loss must be 'hinge' or 'squared_hinge', not {self.loss!r}")

    def _to_parts(self) -> dict[str, Any]:
        """What a model file keeps, beyond the parameters and the figures."""
        items = getattr(self, "items_", None)
        return {
            "coef": self.coef_,
            "feature_names": self._feature_names(),
            "solver_reason": self.solver_reason_,
            "items": None if items is None else items.tolist(),
            "strengths": getattr(self, "strengths_", None),
        }

    def _from_parts(self, parts: dict[str, Any]) -> None:
        """Take over what :meth:`_to_parts` gave; a ValueError says what does not fit."""
        coef, items = np.ascontiguousarray(parts["coef"], np.float64), parts["items"]
        if coef.ndim != 1:
            raise ValueError(f"weights of shape {coef.shape}; they must be one vector")
        self._take_feature_names(parts["feature_names"], len(coef))
        if items is not None:
            strengths = np.ascontiguousarray(parts["strengths"], np.float64)
            if strengths.shape != (len(items),):
                raise ValueError(f"strengths of shape {strengths.shape} for {len(items)} items")
            if not isinstance(items, list) or len(set(items)) < len(items):
                raise ValueError("the names of the items must be a list of them, each once")
            self.items_, self.strengths_ = array_of(items), strengths
        self.coef_, self.n_features_in_ = coef, len(coef)
        self.solver_reason_ = str(parts.get("solver_reason", FOR_PAIRS))


def _grouped(
    grades: Reals, qid: Any, sample_weight: Any, document_weight: Any, *, equal: bool = False
) -> tuple[Queries, Reals, int]:
    """Queries with pairs, their weights, all positive, and the number of documents of positive weight.

    With ``equal`` all positive weights are 1.
    """
    n = len(grades)
    number = query_numbers(qid, n)
    factor = _factors(sample_weight, number)
    each = None if document_weight is None else _weights(document_weight, n, "document_weight")
    if equal:
        factor, each = (None if weight is None else np.sign(weight) for weight in (factor, each))
    queries = group(grades, number, None if factor is None else factor > 0.0, each)
    check_pairs(queries, "document_weight")
    counts = np.ones(n, np.bool_) if each is None else each > 0.0
    if factor is not None:
        counts &= factor[number] > 0.0
    return queries, np.ones(len(queries.pairs)) if factor is None else factor[queries.number], int(counts.sum())


def _factors(sample_weight: Any, number: Ints, use: str = "learn from") -> Reals | None:
    """Weight of every query."""
    if sample_weight is None:
        return None
    n, n_queries = len(number), int(number.max()) + 1
    given = np.asanyarray(sample_weight)
    if given.shape == (n_queries,):
        return check_sample_weight(given, n_queries, use)
    weight = check_sample_weight(given, n, use)
    assert weight is not None
    out = np.empty(n_queries)
    out[number] = weight
    bad = np.flatnonzero(out[number] != weight)
    if len(bad):
        raise DataError(
            f"sample_weight[{bad[0]}] is {weight[bad[0]]:g}, but another document of the same query has "
            f"{out[number[bad[0]]]:g}; weights belong to queries and must be the same within one"
        )
    return out


def _weights(values: Any, n: int, name: str = "sample_weight", *, zero: bool = False) -> Reals:
    """Weights of ``n`` comparisons, of which there may be none; ``zero`` says that all may be 0."""
    if values is None or n == 0:
        if values is not None and np.size(values):
            raise DataError(f"{name} has {np.size(values)} values for 0 comparisons")
        return np.ones(n)
    try:
        given = as_reals(values, name)
        if zero and given.shape == (n,) and not given.any():
            return given
        out = check_sample_weight(given, n)
    except DataError as error:
        raise DataError(str(error).replace("sample_weight", name)) from None
    assert out is not None
    return out
