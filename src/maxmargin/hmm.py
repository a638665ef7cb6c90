"""The generative hidden Markov model: a baseline that counts where the structured SVM optimises."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ._estimator import LabelIndex, check_lengths, check_sample_weight, undone_if_failed
from ._given_labels import label_sequences, labels_of, weighted_share
from .decoders.viterbi import viterbi
from .errors import DataError
from .losses import is_finite_number
from .metrics import token_error
from .solvers.options import shown
from .structures.attributes import AttributeIndex, Tokens, encode_tokens
from .structures.base import check_magnitude
from .structures.values import examples_of

__all__ = ["GenerativeHMM"]

Reals = NDArray[np.float64]


class GenerativeHMM(BaseEstimator):
    """Hidden Markov model with known states, fitted by counting, decoded by Viterbi's algorithm.

    Models ``log p(x, y) = log p(y_1) + sum_t log p(y_t | y_(t-1)) + sum_t log p(x_t | y_t)``; the features of a token
    are independent of each other given its label. The most probable labels are those of a linear decoder,

    ``argmax_y  initial[y_1] + sum_t transition[y_(t-1), y_t] + sum_t (<f(x_t), emission[:, y_t]> + bias[y_t])``,

    whose weights are logarithms of probabilities; a structured SVM learns the weights of the same decoder so that it
    errs less.

    Parameters
    ----------
    emission : {"bernoulli", "multinomial", "gaussian"}, default="bernoulli"
        ``p(x_t | y_t)``. Bernoulli: every feature is either above ``threshold`` or not (pixels, presence of attributes;
        what is absent counts too). Multinomial: features are numbers of occurrences, at least 0. Gaussian: every
        feature has a mean for each label and one variance within labels, so that the decoder is linear (dense
        vectors only).
    smoothing : float, default=1.0
        Laplace's number, above 0, added to every count.
    threshold : float, default=0.5
        A feature counts as present for ``emission="bernoulli"`` if its value is larger; at least 0 for attributes.

    Attributes
    ----------
    classes_ : list
        Labels as given, sorted where possible.
    attributes_ : list
        Names of the sparse attributes.
    n_dense_ : int
        Length of the dense vectors.
    initial_ : array of shape (n_labels,)
        ``log p(y_1)``.
    transition_ : array of shape (n_labels, n_labels)
        ``log p(y_t | y_(t-1))`` at ``[from, to]``.
    emission_ : array of shape (n_attributes + n_dense, n_labels)
        Weights of the features, those of attributes first, as in ``SequenceSVM``.
    bias_ : array of shape (n_labels,)
        What ``log p(x_t | y_t)`` adds for the label alone.

    Notes
    -----
    Sequences and tokens are given as for ``SequenceSVM``. Labels must all be known.

    Examples
    --------
    >>> from maxmargin.hmm import GenerativeHMM
    >>> X = [[["w=the"], ["w=cat"]], [["w=a"], ["w=dog"], ["w=barks"]]]
    >>> y = [["DET", "NOUN"], ["DET", "NOUN", "VERB"]]
    >>> GenerativeHMM(smoothing=0.1).fit(X, y).predict([[["w=the"], ["w=dog"]]])
    [['DET', 'NOUN']]
    """

    def __init__(
        self,
        *,
        emission: Literal["bernoulli", "multinomial", "gaussian"] = "bernoulli",
        smoothing: float = 1.0,
        threshold: float = 0.5,
    ) -> None:
        self.emission = emission
        self.smoothing = smoothing
        self.threshold = threshold

    @undone_if_failed
    def fit(self, X: Sequence[Any], y: Sequence[Any], sample_weight: ArrayLike | None = None) -> GenerativeHMM:
        """Count.

        Parameters
        ----------
        X : list of sequences
        y : list of label sequences, as long as their inputs
        sample_weight : array of shape (n_sequences,), optional
            How often each sequence counts, at least 0; a sequence of weight 0 is left out with its labels.

        Raises
        ------
        ValueError
            For invalid parameters or data, also for values that are too large to compute with: says which sequence and
            what to do.
        """
        self._check_parameters()
        X, y = examples_of(X, "X", "sequences"), examples_of(y, "y", "label sequences")
        check_lengths(X, y)
        weight = check_sample_weight(sample_weight, len(X))
        if weight is not None and not weight.all():
            kept = np.flatnonzero(weight).tolist()
            X, y, weight = [X[i] for i in kept], [y[i] for i in kept], weight[kept]
        index = AttributeIndex()
        tokens = encode_tokens(X, index, grow=True)
        sequences = [labels_of(labels, i) for i, labels in enumerate(y)]
        lengths = np.diff(tokens.start)
        for i, labels in enumerate(sequences):
            if len(labels) != lengths[i]:
                raise DataError(f"sequence {i} has {lengths[i]} tokens but {len(labels)} labels")
            if None in labels:
                raise DataError(
                    f"sequence {i}, token {labels.index(None)}: the label is unknown; GenerativeHMM counts, so it "
                    "needs them all"
                )
        if not lengths.any():
            raise DataError("all sequences are empty: there is nothing to learn from")
        names = LabelIndex(label for labels in sequences for label in labels)
        numbers = np.array([names.number[label] for labels in sequences for label in labels], np.int64)
        each = np.ones(len(numbers)) if weight is None else np.repeat(weight, lengths)
        n = len(names)
        start = tokens.start[:-1][lengths > 0]
        inner = np.setdiff1d(np.arange(len(numbers)), start, assume_unique=True)
        self.initial_ = self._log_shares(_counts(numbers[start], each[start], n))
        pairs = _counts(numbers[inner - 1] * n + numbers[inner], each[inner], n * n)
        self.transition_ = self._log_shares(pairs.reshape(n, n))
        self.emission_, self.bias_ = self._emissions(self._features(tokens), numbers, each, n)
        self.classes_ = names.labels
        self._as_given = self._sees_values(tokens)
        self.attributes_ = index.names()
        self.n_dense_ = 0 if tokens.dense is None else tokens.dense.shape[1]
        return self

    def predict(self, X: Sequence[Any]) -> list[list[Any]]:
        """Most probable label sequences; attributes that training did not see are left out.

        Raises
        ------
        DataError
            For values that are too large to compute with: says which sequence and token.
        """
        return [
            [self.classes_[k] for k in viterbi(unary, self.transition_, self.initial_)[0]]
            for unary in self.potentials(X)
        ]

    def potentials(self, X: Sequence[Any]) -> list[Reals]:
        """``log p(x_t | y_t)``, up to what is the same for all labels: (length, n_labels) for every sequence."""
        check_is_fitted(self, "emission_")
        tokens = encode_tokens(X, AttributeIndex(self.attributes_), grow=False, n_dense=self.n_dense_)
        scores = np.asarray(self._features(tokens) @ self.emission_) + self.bias_
        ends = tokens.start.tolist()
        return [scores[lo:hi] for lo, hi in pairwise(ends)]

    def chain_weights(self) -> tuple[Reals, Reals, Reals, Reals]:
        """The weights of a ``SequenceSVM`` that decodes as this model does.

        A token is the first of its sequence or follows another: ``bias_`` is added to the weights of first labels and
        to those of transitions into a label. So ``SequenceSVM().fit(X, y, start=hmm)`` can begin where counting ends.

        Returns
        -------
        emission : float64 array of shape (n_attributes + n_dense, n_labels)
        initial, final : float64 arrays of shape (n_labels,)
        transition : float64 array of shape (n_labels, n_labels)
            ``[from, to]``.

        Raises
        ------
        DataError
            When ``emission="bernoulli"`` met other values than 0 and 1: a linear decoder sees the values themselves.
        """
        check_is_fitted(self, "emission_")
        if not self._as_given:
            raise DataError(
                f"the features were counted as above {self.threshold:g} or not, and a SequenceSVM sees their values: "
                "make features of 0 and 1 of them first"
            )
        transition = self.transition_ + self.bias_
        return self.emission_, self.initial_ + self.bias_, np.zeros(len(self.classes_)), transition

    def score(self, X: Sequence[Any], y: Sequence[Any], sample_weight: ArrayLike | None = None) -> float:
        """Share of tokens with the right label; each counts with the weight of its sequence, if there are weights."""
        y = label_sequences(y)
        predicted = self.predict(X)
        error = token_error(y, predicted)
        if (weight := check_sample_weight(sample_weight, len(y), "score")) is None:
            return 1.0 - error
        return weighted_share([[a == b for a, b in zip(*pair, strict=True)] for pair in zip(y, predicted)], weight)

    def _check_parameters(self) -> None:
        if not isinstance(self.emission, str) or self.emission not in ("bernoulli", "multinomial", "gaussian"):
            raise ValueError(f"emission must be 'bernoulli', 'multinomial' or 'gaussian', not {shown(self.emission)}")
        if not (is_finite_number(self.smoothing) and self.smoothing > 0):
            raise ValueError(
                f"smoothing must be a finite number above 0, not {shown(self.smoothing)}: without it one event that "
                "training did not see would forbid a whole sequence"
            )
        if not is_finite_number(self.threshold):
            raise ValueError(f"threshold must be a finite number, not {shown(self.threshold)}")

    def _log_shares(self, counts: Reals) -> Reals:
        """Logarithms of the smoothed shares in the last axis."""
        smooth = counts + self.smoothing
        shares: Reals = np.log(smooth / smooth.sum(-1, keepdims=True))
        return shares

    def _sees_values(self, tokens: Tokens) -> bool:
        """Whether what the emission model sees of every token are the values as given."""
        if self.emission != "bernoulli":
            return True
        sparse = tokens.values if tokens.values is not None else np.ones(int(tokens.indices is not None))
        parts = [sparse] if tokens.dense is None else [sparse, tokens.dense]
        return all(bool(np.array_equal(values > self.threshold, values)) for values in parts)

    def _features(self, tokens: Tokens) -> Any:
        """What the emission model sees of every token: an array or a CSR matrix."""
        dense, sparse = tokens.dense, tokens.matrix()
        if self.emission != "bernoulli":  # which sees values as 0 or 1
            _check_sizes(tokens)
        if self.emission == "bernoulli":
            if sparse is not None:
                if self.threshold < 0:
                    raise DataError("a threshold below 0 makes absent attributes present; give one of at least 0")
                sparse = (sparse > self.threshold).astype(np.float64)
            dense = None if dense is None else (dense > self.threshold).astype(np.float64)
        elif self.emission == "gaussian" and sparse is not None:
            raise DataError("emission='gaussian' needs dense vectors; use 'bernoulli' or 'multinomial' for attributes")
        elif self.emission == "multinomial":
            parts = [values for values in (dense, None if sparse is None else sparse.data) if values is not None]
            lowest = min((float(values.min(initial=0.0)) for values in parts), default=0.0)
            if lowest < 0:
                raise DataError(f"emission='multinomial' counts occurrences, but a feature has the value {lowest:g}")
        if sparse is None:
            return np.zeros((int(tokens.start[-1]), 0)) if dense is None else dense
        return sparse if dense is None else sp.hstack([sparse, sp.csr_matrix(dense)], format="csr")

    def _emissions(
        self, features: Any, numbers: NDArray[np.int64], weight: Reals, n_labels: int
    ) -> tuple[Reals, Reals]:
        """Weights and biases of ``log p(x_t | y_t)``."""
        if features.shape[1] == 0:
            raise DataError("no token has any feature: there is nothing to learn from")
        centre = np.zeros(features.shape[1])
        if self.emission == "gaussian":  # else means and biases of features far from 0 would cancel
            centre = weight @ features / weight.sum()
            features = features - centre
        member = sp.csr_matrix((weight, (numbers, np.arange(len(numbers)))), shape=(n_labels, len(numbers)))
        sums = member @ features
        sums = (sums.toarray() if sp.issparse(sums) else np.asarray(sums)).T
        total = _counts(numbers, weight, n_labels)
        if self.emission == "multinomial":
            return self._log_shares(sums.T).T.copy(), np.zeros(n_labels)
        if self.emission == "bernoulli":
            present, absent = sums + self.smoothing, total - sums + self.smoothing
            return np.log(present / absent), np.log(absent / (present + absent)).sum(0)
        # what is left of a feature that never varies is the rounding of its mean
        constant = np.ptp(features, axis=0) <= 4 * np.finfo(np.float64).eps * np.abs(centre)
        means = np.where(constant[:, None], 0.0, sums / total)
        variance = weight @ (features - means.T[numbers]) ** 2 / weight.sum()
        variance[constant] = 0.0
        # a feature that varies between labels alone would divide by 0
        total_variance = weight @ features**2 / weight.sum()
        variance = np.maximum(variance, 1e-9 * (float(variance.max()) or float(total_variance.max()) or 1.0))
        slopes = means / variance[:, None]
        return slopes, -0.5 * (means * slopes).sum(0) - centre @ slopes


def _check_sizes(tokens: Tokens) -> None:
    """Refuse values whose sums of squares would overflow; names the sequence and the token."""

    def where(token: int) -> str:
        i = int(np.searchsorted(tokens.start, token, side="right")) - 1
        return f"sequence {i}, token {token - int(tokens.start[i])}"

    if tokens.dense is not None and tokens.dense.size:
        width = tokens.dense.shape[1]
        check_magnitude(tokens.dense, lambda k: where(k // width))
    if tokens.values is not None and tokens.indptr is not None:
        indptr = tokens.indptr
        check_magnitude(tokens.values, lambda k: where(int(np.searchsorted(indptr, k, side="right")) - 1))


def _counts(numbers: NDArray[np.int64], weight: Reals, n: int) -> Reals:
    """How often each of ``n`` numbers occurs, with weights."""
    return np.bincount(numbers, weight, n).astype(np.float64)
