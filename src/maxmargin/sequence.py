"""Sequence labelling with a structured SVM."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._chain_start import ChainWeights, check_same_names, weights_of
from ._completion import Completion
from ._estimator import (
    LabelIndex,
    MarginEstimator,
    check_fitted,
    check_lengths,
    check_number,
    check_sample_weight,
    costs_of_labels,
    resolve_n_jobs,
    undone_if_failed,
)
from ._given_labels import (
    GivenLabels,
    allowed_labels,
    given_labels,
    known_numbers,
    label_sequences,
    labels_of,
    scored_labels,
    stream_labels,
    weighted_share,
)
from ._partial_fit import Streams, check_stream_costs, check_stream_solver, for_streams
from ._transitions import dead_end, joined_masks, masks_in, masks_of, transition_masks
from .errors import DataError
from .solvers.loop import Result
from .status import Status
from .structures.attributes import AttributeIndex, Tokens, encode_tokens, least_weight
from .structures.values import as_reals, check_largest, check_smallest, examples_of

__all__ = ["SequenceSVM"]

Reals = NDArray[np.float64]


def _can_stream(estimator: SequenceSVM) -> bool:
    """Whether there is a ``partial_fit``; an AttributeError says why not."""
    check_stream_solver(estimator)
    if estimator.min_count != 1:
        raise AttributeError(
            f"{type(estimator).__name__}: partial_fit cannot count the attributes of a whole stream: min_count must be "
            f"1, not {estimator.min_count!r:.40}"
        )
    return True


class SequenceSVM(MarginEstimator):
    """Linear-chain structured SVM: labels for every token of a sequence, with a certificate.

    Minimises ``1/2 |w|^2 + C sum_i s_i max_y [Delta(y_i, y) + <w, phi(x_i, y) - phi(x_i, y_i)>]`` with emission,
    initial, final and transition weights; predicts by Viterbi's algorithm.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the slacks; ``C = 1 / (lambda n)`` gives the lambda form. A slack grows with the length of its
        sequence, unless the loss is divided by it: long ones (proteins, documents) want a smaller ``C``, which is also
        the shorter fit, and 0.01 to 0.1 is worth a try.
    loss : {"hamming", "normalized_hamming"}, array of shape (n_labels, n_labels) or callable, default="hamming"
        Number of wrong labels; the same divided by the length of the sequence; the sum of ``loss[true, predicted]``,
        rows and columns in the order of ``classes_``; or the sum of ``loss(true, predicted)`` of two labels, a number
        of at least 0, and 0 for equal ones: the fit asks for it once for every pair. A callable stays the parameter
        that it is, which a model file refuses: predictions need no loss, so ``set_params(loss="hamming")`` before
        saving. (A stream goes on with the loss it has: to save one give a matrix.)
    label_weight : dict, optional
        Factors on the loss of the tokens whose true label is the key (1 for labels not named).
    forbidden : list of (label, label) or {"iob2", "bioes"}, optional
        Transitions that are never predicted; ``None`` stands for the start (first place) or the end (second place).
        ``"iob2"`` and ``"bioes"`` forbid what these schemes forbid. Predictions keep to what was forbidden in the fit:
        another value set afterwards waits for the next one. To forbid more in a prediction, tell :meth:`predict`.
    min_count : int, default=1
        Attributes that occur in fewer tokens of the training data are ignored. The tokens of a sequence count with its
        ``sample_weight``, as those of many copies would; fractions add up, and 1 ignores nothing.
    tol : float, default=1e-2
        Relative duality gap at which to stop.
    max_passes : int, default=200
        Passes over the data, that of the certificate included (1 is taken for 2: a pass and its certificate).
    max_time : float, optional
        Seconds of solving, looked at within passes too; the pass of the certificate comes on top. With partly known
        labels, of each round, as ``max_passes`` is.
    solver : str or solver object, default="auto"
        ``"frank_wolfe"``, ``"n_slack"``, ``"one_slack"``, ``"averaged_perceptron"``, ``"perceptron"``,
        ``"bundle"``, ``"gradient_descent"``, ``"subgradient"``, ``"pegasos"``.
    completion_rounds : int, default=10
        With partly known labels in training (None, or a set of candidates): at most so many rounds of completing them
        and fitting again.
    n_jobs : int, optional
        Threads for evaluations and predictions; the model does not depend on it.
    random_state : int or RandomState, optional
        Order of the visits.
    verbose : int, default=0
        1 shows progress, 2 every pass.
    warm_start : bool, default=False
        Start from the weights of the last fit (matched by names of attributes and labels).
    callback : callable, optional
        ``callback(record, w)`` after every pass, or step of several; a true answer stops the fit,
        with partly known labels all rounds.

    Attributes
    ----------
    classes_ : list
        Labels as given, sorted where possible.
    attributes_ : list
        Names of the sparse attributes.
    emission_ : array of shape (n_attributes + n_dense, n_labels)
    initial_, final_ : arrays of shape (n_labels,)
    transition_ : array of shape (n_labels, n_labels)
        ``[from, to]``.
    certificate_ : Certificate
    history_ : list of Record
    n_mistakes_ : int64 array of shape (1,)
        Steps of a perceptron; with no other solver.
    n_dense_ : int
        Length of the dense vectors.
    completion_rounds_ : int
        Rounds done (0 when all labels were known).
    notes_ : tuple of str
        What there is to say about the data, such as labels that stand in a single set and nowhere else.
    skipped_ : list of int
        Empty sequences, which teach nothing (of a stream those of the last piece).
    n_samples_seen_ : int
        Sequences of positive weight that are not empty, after :meth:`partial_fit`.

    Notes
    -----
    A sequence is a list of tokens, each a collection of attribute names (strings), or a mapping from names to numbers
    or strings (``{"word": "the"}`` is the attribute ``word=the``); or a 2-D array with one row a token; or a pair of
    both.

    In training a label may be ``None``, which is unknown, or a set of the labels that the token may have. Such labels
    are completed by the model itself (concave-convex procedure, Yu and Joachims 2009): the best sequence within what is
    given takes the place of the true one, and the model is fitted again, which reaches a local optimum; the certificate
    is that of the last round's problem. The loss of such a token is the least of those that its candidates would have
    as true labels, so that any of them costs nothing, and no label does where all are unknown. A frozenset is such a
    set where each of its members is named as a label elsewhere in ``y``, by itself or within a set; otherwise it is a
    label itself, like any other hashable value.

    Examples
    --------
    >>> from maxmargin import SequenceSVM
    >>> X = [[["w=the"], ["w=cat"]], [["w=a"], ["w=dog"], ["w=barks"]]]
    >>> y = [["DET", "NOUN"], ["DET", "NOUN", "VERB"]]
    >>> SequenceSVM(C=10.0, random_state=0).fit(X, y).predict([[["w=the"], ["w=dog"]]])
    [['DET', 'NOUN']]
    """

    _index: AttributeIndex

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: Literal["hamming", "normalized_hamming"] | ArrayLike | Callable[[Any, Any], float] = "hamming",
        label_weight: Mapping[Any, float] | None = None,
        forbidden: Iterable[tuple[Any, Any]] | Literal["iob2", "bioes"] | None = None,
        min_count: int = 1,
        tol: float = 1e-2,
        max_passes: int = 200,
        max_time: float | None = None,
        solver: Any = "auto",
        completion_rounds: int = 10,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.label_weight = label_weight
        self.forbidden = forbidden
        self.min_count = min_count
        self.tol = tol
        self.max_passes = max_passes
        self.max_time = max_time
        self.solver = solver
        self.completion_rounds = completion_rounds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.callback = callback

    @undone_if_failed
    def fit(
        self, X: Sequence[Any], y: Sequence[Any], sample_weight: ArrayLike | None = None, *, start: Any = None
    ) -> SequenceSVM:
        """Fit the model.

        Parameters
        ----------
        X : list of sequences
        y : list of label sequences, as long as their inputs
            Labels of any hashable type, those that compare equal are one; None is an unknown label, a set holds the
            labels that the token may have, see the notes.
        sample_weight : array of shape (n_sequences,), optional
            Factors on the slacks; 0 leaves a sequence out, negative ones are refused.
        start : GenerativeHMM, optional
            Begin at the weights of this fitted model, which is one of the same decoder, instead of at 0. Solvers that
            move weights begin with them; those of the dual begin with the most violated outputs under them. It must
            know the labels and features of the training data, and no others.

        Raises
        ------
        ValueError
            For invalid parameters or data: says which sequence and what to do; names the token where labels and sets
            contradict what is forbidden. For a loss that is NaN, negative, no
            number, or not 0 for the truth: names the two labels.
        DataError
            When ``start`` is not fitted, or knows other labels or features: names one.
        KeyboardInterrupt
            After Ctrl-C, with the best model so far already stored.
        """
        self._check_parameters()
        check_number(self, "min_count", low=1, integral=True)
        check_number(self, "completion_rounds", low=0, integral=True)
        tokens, index, y, weight, numbers = self._training_data(X, y, sample_weight)
        given = given_labels(y, int(tokens.start[-1]))
        del X, y  # lists of their own
        initial = self._initial(index, given.index, tokens.dense, start)
        index.rest()
        notes = given.notes(tokens.start, numbers)
        self._fit_numbers(tokens, index, given, weight, initial, notes)
        return self

    @for_streams(_can_stream)
    @undone_if_failed
    def partial_fit(
        self,
        X: Sequence[Any],
        y: Sequence[Any],
        labels: Sequence[Any] | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> SequenceSVM:
        """Learn from the next piece of a stream, visiting each sequence once, in the order given.

        After ``n`` sequences in all, of any number of calls, the objective is that of :meth:`fit` for these with the
        same ``C``; in random order the weights come near its minimum as fast as ``1 / sqrt(n)``, see
        :mod:`maxmargin.solvers.structured_stream`. They are the same to the last bit whatever the pieces are.
        Attributes that are new in a piece get weights that begin at 0, as they would have had from the beginning. A
        piece costs a few passes over all weights and names beside its sequences, so let it have some hundred of them.
        There is no ``certificate_``: it would need the sequences that are gone. A :meth:`fit` before is forgotten, and
        a later one forgets the stream. ``solver`` must be ``"auto"`` or ``"subgradient"``; ``tol``, the limits,
        ``completion_rounds``, ``random_state``, ``warm_start``, ``verbose`` and ``callback`` play no part. A model file
        keeps all that the next call needs.

        Parameters
        ----------
        X : list of sequences
            Dense vectors have the same length in all pieces.
        y : list of label sequences, as long as their inputs
            All labels must be known: neither None nor sets of labels.
        labels : list of labels, optional
            All labels that will ever come. Needed in the first call, unless there was a fit before.
        sample_weight : array of shape (n_sequences,), optional
            Factors on the slacks; 0 leaves a sequence out, negative ones are refused.

        Returns
        -------
        SequenceSVM
            This estimator, with its weights, ``classes_``, ``attributes_`` and ``n_samples_seen_``.

        Raises
        ------
        ValueError
            For invalid parameters or data, and for parameters changed between two calls.
        RuledOutError
            With another solver, or a ``min_count`` other than 1: there is no such method then.
        KeyboardInterrupt
            After Ctrl-C, when the piece has been used in part.
        """
        from .solvers.compiled_oracle import CompiledOracle

        self._check_parameters()
        streams: Streams | None = vars(self).get("_streams")
        if streams is not None:
            streams.check(self)
        names = stream_labels(labels, getattr(self, "classes_", None), begun=streams is not None)
        before = (None, None) if streams is None else (self._index, self.n_dense_)
        tokens, index, y, weight, numbers = self._training_data(X, y, sample_weight, *before)
        flat = known_numbers(y, numbers, names)
        structure = self._structure(names, unknown="which is not among labels")
        check_smallest(structure.costs, "loss" if self.label_weight is None else "loss times label_weight")
        check_stream_costs(self, weight[weight > 0.0])
        oracle = CompiledOracle(structure, structure.encode(tokens, _split(flat, tokens.start)))
        known = 0 if streams is None else len(self._index)
        if streams is None:
            streams = Streams.of_structure(self, oracle.n_weights)
        self._take_names(names, index, tokens)
        self.completion_rounds_ = 0
        self._structure_, self._index = structure, index
        streams.take_examples(self, oracle, weight, at=known * len(names))
        return self

    def _take_names(self, labels: LabelIndex, index: AttributeIndex, tokens: Tokens) -> None:
        self.classes_ = labels.labels
        self.attributes_ = index.names()
        self.n_dense_ = 0 if tokens.dense is None else tokens.dense.shape[1]

    @property
    def _n_weights(self) -> int:
        """Those of a stream."""
        return len(self.coef_)

    def _take_weights(self, streams: Streams) -> None:
        """Those of the stream."""
        self.coef_ = streams.each[0].weights()
        self._prepare(self._structure_, self._index)

    def _training_data(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        index: AttributeIndex | None = None,
        n_dense: int | None = None,
    ) -> tuple[Tokens, AttributeIndex, list[list[Any]], Reals, NDArray[np.int64]]:
        """The sequences of positive weight: tokens, attributes, labels, weights (0 of empty ones), and their numbers.

        ``index`` and ``n_dense`` are the attributes and the length of the dense vectors that are known already.
        """
        X, y = examples_of(X, "X", "sequences"), examples_of(y, "y", "label sequences")
        check_lengths(X, y)
        weight = check_sample_weight(sample_weight, len(X))
        known, (tokens, index) = index, self._training_tokens(X, weight, index, n_dense)
        lengths = np.diff(tokens.start)
        y = [labels_of(labels, i, sets=True) for i, labels in enumerate(y)]
        for i, labels in enumerate(y):
            if len(labels) != lengths[i]:
                raise DataError(f"sequence {i} has {lengths[i]} tokens but {len(labels)} labels")
        if not lengths.any():
            raise DataError("all sequences are empty: there is nothing to learn from")
        self.skipped_ = np.flatnonzero(lengths == 0).tolist()
        weight = np.ones(len(X)) if weight is None else weight
        kept = np.flatnonzero((weight > 0) & (lengths > 0))
        if not len(kept):
            raise DataError(
                "sample_weight is zero for every sequence that is not empty: there is nothing to learn from"
            )
        numbers = np.arange(len(X))  # of the sequences, as they were given
        if (weight == 0).any():  # as if they had not been given: labels and attributes of theirs are unknown
            X, y, weight = [X[i] for i in kept.tolist()], [y[i] for i in kept.tolist()], weight[kept]
            tokens, index = self._training_tokens(X, weight, known, n_dense)
            numbers = kept
        return tokens, index, y, weight * (np.diff(tokens.start) > 0), numbers

    def _training_tokens(
        self, X: Sequence[Any], weight: Reals | None, known: AttributeIndex | None, n_dense: int | None
    ) -> tuple[Tokens, AttributeIndex]:
        index = AttributeIndex(() if known is None else known.names())
        tokens = encode_tokens(X, index, grow=True, n_dense=n_dense)
        if self.min_count > 1 and tokens.indices is not None and len(tokens.indices):
            counts = tokens.counts(weight)
            index = index.restricted(counts >= least_weight(self.min_count))
            tokens = encode_tokens(X, index, grow=False)
            if not len(index) and tokens.dense is None:
                raise DataError(
                    f"no attribute occurs in min_count = {self.min_count} tokens or more (the most frequent one in "
                    f"{counts.max():.10g}): there is nothing to learn from; lower min_count"
                )
        if not len(index) and tokens.dense is None and tokens.start[-1]:
            raise DataError("no token has any attribute: there is nothing to learn from")
        return tokens, index

    def _fit_numbers(
        self,
        tokens: Tokens,
        index: AttributeIndex,
        given: GivenLabels,
        weight: Reals,
        initial: Reals | None,
        notes: list[str],
    ) -> None:
        labels = given.index
        structure = self._structure(labels)
        check_smallest(structure.costs, "loss" if self.label_weight is None else "loss times label_weight")
        result, rounds = self._rounds(structure, tokens, given, weight, initial)
        self._take_names(labels, index, tokens)
        self._forget("solver_reason_")  # of a stream
        self.coef_ = result.w
        self.completion_rounds_ = rounds
        self._prepare(structure, index)
        self._keep_notes(notes)
        self._finish(result)

    def _rounds(
        self, structure: Any, tokens: Tokens, given: GivenLabels, weight: Reals, initial: Reals | None
    ) -> tuple[Result, int]:
        """The last fit, and how many rounds of completing labels led to it; one that was ended ends them all."""
        from .solvers.compiled_oracle import CompiledOracle

        flat, completion, candidates, rounds = given.flat, None, None, 0
        result: Result | None = None
        try:
            if (flat < 0).any():
                completion = Completion(structure, tokens, given, self._decode)
                candidates = completion.candidates
                if initial is None:
                    initial, result = completion.first_weights(weight, self._optimize)
                    if result is not None and result.ended:
                        return result, 0
                flat = completion.complete(initial)
            while True:
                encoded = structure.encode(tokens, _split(flat, tokens.start), candidates=candidates)
                result = self._optimize(CompiledOracle(structure, encoded), weight, initial)
                if completion is None or rounds >= self.completion_rounds or result.ended:
                    return result, rounds
                completed = completion.complete(result.w)
                rounds += 1
                if np.array_equal(completed, flat):
                    return result, rounds
                flat, initial = completed, result.w
        except KeyboardInterrupt:  # between two fits, which themselves hold it back
            if result is None:
                raise
            return replace(result, certificate=replace(result.certificate, status=Status.INTERRUPTED)), rounds

    def _structure(
        self, labels: LabelIndex, masks: dict[str, Any] | None = None, unknown: str = "which is not in y"
    ) -> Any:
        """The structure that the parameters state; with ``masks`` that of a fitted model, which needs no loss."""
        from .structures.sequence import Sequence as Structure

        n = len(labels)
        if masks is not None:
            structure = Structure(n, **masks)
            structure.label_names = labels.labels
            return structure
        normalize = isinstance(self.loss, str) and self.loss == "normalized_hamming"
        if isinstance(self.loss, str):
            if self.loss not in ("hamming", "normalized_hamming"):
                raise ValueError(
                    "loss must be 'hamming', 'normalized_hamming', a callable of two labels or a cost matrix, not "
                    f"{self.loss!r}"
                )
            costs = 1.0 - np.eye(n)
        elif callable(self.loss):
            costs = costs_of_labels(self.loss, labels.labels)
        else:
            costs = as_reals(self.loss, "loss").copy()
        if self.label_weight is not None:
            self._check_label_weight()
            if costs.shape != (n, n):
                raise DataError(f"the cost matrix has shape {costs.shape}; it needs {(n, n)} for {n} labels")
            for label, factor in self.label_weight.items():
                if label not in labels.number:
                    raise DataError(f"label_weight names the label {label!r}, {unknown}")
                with np.errstate(over="ignore"):  # refused below, or by the structure
                    costs[labels.number[label]] *= factor
        check_largest(costs, "loss times label_weight")
        structure = Structure(n, normalize=normalize, costs=costs, **transition_masks(self.forbidden, labels, unknown))
        structure.label_names = labels.labels
        return structure

    def _check_label_weight(self) -> None:
        if not isinstance(self.label_weight, Mapping):
            raise DataError(
                "label_weight must be a dict of labels and the factors on their losses, such as {'O': 0.5}, not "
                f"{self.label_weight!r:.60}"
            )
        for label, factor in self.label_weight.items():
            if not (isinstance(factor, numbers.Real) and 0 <= float(factor) < np.inf):
                raise DataError(f"label_weight of {label!r} is {factor!r}; it must be finite and at least 0")

    def _initial(self, index: AttributeIndex, labels: LabelIndex, dense: Reals | None, start: Any) -> Reals | None:
        """Where to begin: at the weights of another model, or of the last fit where that is asked for."""
        n_dense = 0 if dense is None else dense.shape[1]
        if start is not None:
            self._warm = ("", None)  # planes of the last fit would speak for other weights
            weights = weights_of(start)
            check_same_names(weights, labels.labels, index.names(), n_dense)
            return weights.moved(labels, index, n_dense)
        if not (self.warm_start and hasattr(self, "coef_")):
            return None
        chain = self.emission_, self.initial_, self.final_, self.transition_
        return ChainWeights(self.classes_, self._index, self.n_dense_, *chain).moved(labels, index, n_dense)

    def _prepare(self, structure: Any, index: AttributeIndex) -> None:
        """What follows from the weights and the names."""
        self._structure_, self._index = structure, index
        self.emission_, self.initial_, self.final_, self.transition_ = structure.split(self.coef_)

    # prediction

    def _decode(self, structure: Any, encoded: Any, tokens: Tokens, w: Reals) -> tuple[NDArray[np.int32], Reals]:
        from .solvers.compiled_oracle import decode_all

        return decode_all(structure, encoded, w, tokens.start, n_jobs=resolve_n_jobs(self.n_jobs))

    def _tokens(self, X: Sequence[Any]) -> Tokens:
        check_fitted(self, "coef_")
        return encode_tokens(X, self._index, grow=False, n_dense=self.n_dense_)

    def _stricter(self, forbidden: Any) -> Any:
        """The structure with what is forbidden in one call besides what was in the fit."""
        if forbidden is None:
            return self._structure_
        labels = LabelIndex(self.classes_)
        more, fitted = transition_masks(forbidden, labels, "which the model does not know"), masks_of(self._structure_)
        return self._structure(labels, {name: mask & fitted[name] for name, mask in more.items()})

    def predict(self, X: Sequence[Any], known: Sequence[Any] | None = None, forbidden: Any = None) -> list[list[Any]]:
        """Best label sequences.

        Parameters
        ----------
        X : list of sequences
        known : list of sequences, optional
            For every token its label where it is known, a set or list of the labels that it may have, or None.
        forbidden : list of (label, label) or {"iob2", "bioes"}, optional
            Transitions forbidden in this call, as the parameter has them, besides those that were in the fit.

        Returns
        -------
        list of lists of labels, as given in training

        Raises
        ------
        ValueError
            When a known or forbidden label is unknown to the model, or no sequence agrees with what is known and
            forbidden.
        """
        tokens = self._tokens(X)
        structure = self._stricter(forbidden)
        allowed = None if known is None else allowed_labels(known, tokens.start, LabelIndex(self.classes_).number)
        encoded = structure.encode(tokens, allowed=allowed)
        flat, scores = self._decode(structure, encoded, tokens, self.coef_)
        for i in (scores == -np.inf).nonzero()[0][:1].tolist():
            lo, hi = tokens.start[i : i + 2]
            may = np.ones((hi - lo, len(self.classes_)), bool) if allowed is None else allowed[lo:hi]
            raise DataError(
                f"sequence {i}: no label sequence agrees with the known labels and the forbidden transitions as far as "
                f"token {dead_end(structure, may)}"
            )
        classes = self.classes_
        names = [classes[k] for k in flat.tolist()]
        start = tokens.start.tolist()
        return [names[lo:hi] for lo, hi in pairwise(start)]

    def potentials(self, X: Sequence[Any]) -> list[Reals]:
        """Emission scores of shape (length, n_labels) for every sequence, for use with ``maxmargin.decoders``."""
        tokens = self._tokens(X)
        return _split(self._emissions(tokens), tokens.start)

    def _emissions(self, tokens: Tokens) -> Reals:
        scores = np.zeros((int(tokens.start[-1]), len(self.classes_)))
        n_sparse = tokens.n_attributes
        sparse = tokens.matrix()
        if sparse is not None:
            scores += sparse @ self.emission_[:n_sparse]
        if tokens.dense is not None:
            scores += tokens.dense @ self.emission_[n_sparse:]
        return scores

    def _chain(self, structure: Any) -> tuple[Reals, Reals, Reals]:
        """Transition, initial and final scores, minus infinity where forbidden."""
        initial, final, transition = (
            np.where(mask, weights, -np.inf)
            for mask, weights in zip(structure._masks, (self.initial_, self.final_, self.transition_), strict=True)
        )
        return transition, initial, final

    def predict_k_best(
        self, X: Sequence[Any], k: int, known: Sequence[Any] | None = None, forbidden: Any = None
    ) -> list[list[tuple[list[Any], float]]]:
        """The ``k`` best label sequences with their scores, best first (fewer, or none, where fewer are allowed).

        ``known`` and ``forbidden`` are those of :meth:`predict`.
        """
        from .decoders import viterbi_k_best

        tokens = self._tokens(X)
        transition, initial, final = self._chain(self._stricter(forbidden))
        unaries = _split(self._emissions(tokens), tokens.start)
        allowed: list[Any] = [None] * len(unaries)
        if known is not None:
            allowed = _split(allowed_labels(known, tokens.start, LabelIndex(self.classes_).number), tokens.start)
        out: list[list[tuple[list[Any], float]]] = []
        for unary, may in zip(unaries, allowed, strict=True):
            if not len(unary):
                out.append([([], 0.0)])
                continue
            found = viterbi_k_best(unary, transition, k, initial, final, may)
            out.append([([self.classes_[label] for label in labels], float(score)) for labels, score in found])
        return out

    def predict_margins(self, X: Sequence[Any]) -> list[Reals]:
        """For every token how much worse the best sequence with another label there would be (a confidence)."""
        from .decoders import max_marginals

        transition, initial, final = self._chain(self._structure_)
        out = []
        for unary in self.potentials(X):
            if not len(unary) or len(self.classes_) == 1:
                out.append(np.full(len(unary), np.inf))
                continue
            best = np.sort(max_marginals(unary, transition, initial, final), axis=1)
            out.append(best[:, -1] - best[:, -2])
        return out

    def score(self, X: Sequence[Any], y: Sequence[Any], sample_weight: ArrayLike | None = None) -> float:
        """Share of tokens with the right label.

        Parameters
        ----------
        X : list of sequences
        y : list of label sequences, as long as their inputs
            As in training: tokens whose label is None are left out, and a set is right where it has the predicted
            label. A frozenset is such a set unless it is a label of the model.
        sample_weight : array of shape (n,), optional
            Weights of the sequences, with which each of their tokens counts; 0 leaves a sequence out.

        Raises
        ------
        DataError
            For lengths that do not fit, bad weights, and when no label is known: there is no share then.
        """
        from .metrics import token_error

        y = label_sequences(y, sets=True)
        weight = check_sample_weight(sample_weight, len(y), "score")
        predicted = self.predict(X)
        partial = any(label is None or isinstance(label, set | frozenset) for labels in y for label in labels)
        if partial or weight is not None:
            check_lengths(X, y)
            for i, (true, found) in enumerate(zip(y, predicted, strict=True)):
                if len(true) != len(found):
                    raise DataError(f"sequence {i} has {len(found)} tokens but {len(true)} labels")
            if weight is not None:
                right = [
                    scored_labels([true], [found], self.classes_) for true, found in zip(y, predicted, strict=True)
                ]
                return weighted_share(right, weight)
            known = scored_labels(y, predicted, self.classes_)
            if not known:
                raise DataError("no label in y is known (all are None): there is nothing to score")
            return sum(known) / len(known)
        return 1.0 - float(token_error(y, predicted))

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if "_structure_" in state:  # the parameters may have been set to others since the fit
            state["_fitted_masks"] = masks_of(self._structure_)
        for name in ("_structure_", "_index", "emission_", "initial_", "final_", "transition_"):
            state.pop(name, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        masks = state.pop("_fitted_masks", None)
        super().__setstate__(state)
        if "coef_" in state:
            self._prepare(self._structure(LabelIndex(self.classes_), masks), AttributeIndex(self.attributes_))

    def _to_parts(self) -> dict[str, Any]:
        """What a model file keeps, beyond the parameters and the figures.

        ``allowed`` is there where ``forbidden`` has been set to something else since the fit: initial, final labels and
        transitions (from, to), one after another.
        """
        allowed = joined_masks(masks_of(self._structure_))
        try:
            stated = joined_masks(masks_of(self._structure(LabelIndex(self.classes_))))
        except ValueError:  # it names labels that the model does not know, for example
            stated = ~allowed
        return {
            "classes": self.classes_,
            "attributes": self.attributes_,
            "n_dense": self.n_dense_,
            "coef": self.coef_,
            "completion_rounds": self.completion_rounds_,
            "skipped": getattr(self, "skipped_", []),  # an interrupted fit has not come to it
            **({} if np.array_equal(stated, allowed) else {"allowed": allowed}),
        }

    def _from_parts(self, parts: dict[str, Any]) -> None:
        """Take over what :meth:`_to_parts` gave; a ValueError says what does not fit."""
        labels, index = LabelIndex(parts["classes"]), AttributeIndex(parts["attributes"])
        n, n_dense = len(labels), int(parts["n_dense"])
        coef = np.ascontiguousarray(parts["coef"], np.float64)
        if labels.labels != parts["classes"] or not n:
            raise ValueError("the labels must be one or more, sorted, each once")
        if len(index) != len(parts["attributes"]):
            raise ValueError("an attribute is named twice")
        if n_dense < 0 or coef.shape != ((len(index) + n_dense + n + 2) * n,):
            raise ValueError(f"weights of shape {coef.shape} for {len(index)} + {n_dense} features and {n} labels")
        self.classes_, self.attributes_, self.n_dense_, self.coef_ = labels.labels, index.names(), n_dense, coef
        self.completion_rounds_, self.skipped_ = int(parts["completion_rounds"]), list(parts["skipped"])
        self._prepare(self._structure(labels, masks_in(parts.get("allowed"), n)), index)


def _split(flat: NDArray[Any], start: NDArray[np.int64]) -> list[NDArray[Any]]:
    """Consecutive pieces, none when there are no sequences (``np.split`` would give one)."""
    return np.split(flat, start[1:-1]) if len(start) > 1 else []
