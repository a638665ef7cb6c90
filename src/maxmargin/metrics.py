"""How good predictions are: labels, spans in labelled sequences, brackets of trees, rankings.

Precision, recall and F1 are 0 where they would divide by 0. No data at all is an error.

A ranking is given by scores, of documents that belong to queries. Documents of equal scores have no order: they count
with the mean over all their orders, so the order of the rows never matters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .data.brackets import Tree
from .data.spans import Span, label_spans
from .errors import DataError
from .losses import is_finite_number
from .structures.values import as_reals, is_frame

__all__ = [
    "BracketScores",
    "LabelReport",
    "Score",
    "SpanScores",
    "bracket_scores",
    "classification_report",
    "ndcg",
    "precision_at",
    "query_numbers",
    "sequence_error",
    "span_scores",
    "swapped_pairs",
    "token_error",
]

_Reals = NDArray[np.float64]
_Ints = NDArray[np.int64]

ROOT_LABELS = ("", "ROOT", "TOP", "S1")
"""Labels that treebanks put above the sentence, which say nothing about it."""


@dataclass(frozen=True)
class Score:
    """How many things there are in truth (``support``), were predicted, and were predicted correctly."""

    support: int
    predicted: int
    correct: int

    @property
    def precision(self) -> float:
        """Share of the predicted ones that are correct."""
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Share of the true ones that were predicted."""
        return self.correct / self.support if self.support else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        total = self.support + self.predicted
        return 2 * self.correct / total if total else 0.0


@dataclass(frozen=True)
class LabelReport:
    """What :func:`classification_report` finds.

    Attributes
    ----------
    labels : dict of Score by label
        Every label that is true or predicted somewhere.
    accuracy : float
        Share of correct labels.
    total : int
        Number of labels.
    """

    labels: dict[Any, Score]
    accuracy: float
    total: int

    @property
    def macro_f1(self) -> float:
        """Mean F1 of the labels."""
        return sum(score.f1 for score in self.labels.values()) / len(self.labels)

    def table(self, width: int = 79) -> str:
        """The report as text, not wider than ``width`` (at least 60)."""
        end = f"accuracy {self.accuracy:.4f} of {self.total}, mean F1 {self.macro_f1:.4f}"
        return _table("label", self.labels.items(), width) + "\n\n" + end


@dataclass(frozen=True)
class SpanScores:
    """What :func:`span_scores` finds.

    Attributes
    ----------
    overall : Score
        Of all spans; a span is correct if its type and both ends are.
    types : dict of Score by type
    accuracy : float
        Share of correct token labels.
    total : int
        Number of tokens.
    """

    overall: Score
    types: dict[str, Score]
    accuracy: float
    total: int

    def table(self, width: int = 79) -> str:
        """The scores as text, not wider than ``width`` (at least 60)."""
        end = f"token accuracy {self.accuracy:.4f} of {self.total}"
        return _table("type", [*self.types.items(), ("all", self.overall)], width) + "\n\n" + end


@dataclass(frozen=True)
class BracketScores:
    """What :func:`bracket_scores` finds.

    Attributes
    ----------
    overall : Score
        Of all brackets; a bracket is correct if its label and both ends are.
    labels : dict of Score by label
    exact : float
        Share of trees with all brackets correct and none missing.
    total : int
        Number of trees.
    """

    overall: Score
    labels: dict[str, Score]
    exact: float
    total: int

    def table(self, width: int = 79) -> str:
        """The scores as text, not wider than ``width`` (at least 60)."""
        end = f"exactly right {self.exact:.4f} of {self.total} trees"
        return _table("bracket", [*self.labels.items(), ("all", self.overall)], width) + "\n\n" + end


def classification_report(y_true: Any, y_pred: Any, *, nested: bool | None = None) -> LabelReport:
    """Precision, recall and F1 of every label, and the accuracy.

    Parameters
    ----------
    y_true, y_pred : array-likes of labels, or of sequences of labels
        A label may be anything hashable, also one that no model knows.
    nested : bool, optional
        Whether they hold sequences of labels. By default lists and arrays in them are sequences, and everything else is
        a label. A tuple may be either: tuples are sequences where one of the two also holds lists or arrays, or where
        their lengths are not all the same, and labels beside other labels. Where there is nothing but tuples of one
        length, and nobody says which they are, they are refused.

    Raises
    ------
    DataError
        If lengths differ (with the sequence's index and both lengths), there is no label, or tuples may be labels as
        well as sequences.
    """
    true, pred = (list(chain.from_iterable(sequences)) for sequences in _paired(y_true, y_pred, nested))
    correct = [a for a, b in zip(true, pred) if a == b]
    return LabelReport(_scores(true, pred, correct), len(correct) / len(true), len(true))


def token_error(y_true: Any, y_pred: Any, *, nested: bool | None = None) -> float:
    """Share of wrong labels; the parameters and errors are those of :func:`classification_report`."""
    true, pred = _paired(y_true, y_pred, nested)
    wrong: int = sum(a != b for left, right in zip(true, pred) for a, b in zip(left, right))
    return wrong / sum(map(len, true))


def sequence_error(y_true: Any, y_pred: Any, *, nested: bool | None = None) -> float:
    """Share of sequences with a wrong label; the parameters and errors are those of :func:`classification_report`.

    A flat list of labels is taken for one sequence.
    """
    true, pred = _paired(y_true, y_pred, nested)
    return sum(left != right for left, right in zip(true, pred)) / len(true)


def span_scores(y_true: Sequence[Sequence[str]], y_pred: Sequence[Sequence[str]]) -> SpanScores:
    """Precision, recall and F1 of typed spans, as the CoNLL shared tasks' scorer counts them.

    Parameters
    ----------
    y_true, y_pred : sequences of sequences of str
        Labels in any of the schemes of :mod:`maxmargin.data.spans`.

    Raises
    ------
    DataError
        If lengths differ, there is no label, or a label says nothing about spans.
    """
    pairs = _paired(y_true, y_pred, tuples=True)  # labels of spans are text
    true, pred = (_spans(name, sequences) for name, sequences in zip(("y_true", "y_pred"), pairs))
    types = _scores(
        (span.type for _, span in true),
        (span.type for _, span in pred),
        (span.type for _, span in {*true}.intersection(pred)),
    )
    error = token_error(*pairs, nested=True)
    return SpanScores(_total(types.values()), types, 1 - error, sum(map(len, pairs[0])))


def bracket_scores(
    trees_true: Sequence[Tree], trees_pred: Sequence[Tree], *, ignore: Collection[str] = ROOT_LABELS
) -> BracketScores:
    """Precision, recall and F1 of labelled brackets, as evalb counts them.

    A bracket is a label over a run of words; tags right above single words do not count, and a bracket that occurs
    several times (a unary chain of one label) counts as often.

    Parameters
    ----------
    trees_true, trees_pred : sequences of Tree
    ignore : collection of str
        Labels whose brackets do not count.

    Raises
    ------
    DataError
        If there are no trees or unequally many, or two trees that belong together differ in their number of words.
    """
    trees_true, trees_pred = list(trees_true), list(trees_pred)
    if len(trees_true) != len(trees_pred):
        raise DataError(f"there are {len(trees_true)} true trees and {len(trees_pred)} predicted ones")
    if not trees_true:
        raise DataError("there are no trees to score")
    counts: tuple[Counter[Any], Counter[Any], Counter[Any]] = Counter(), Counter(), Counter()
    exact = 0
    for number, (true, pred) in enumerate(zip(trees_true, trees_pred)):
        lengths = len(true.leaves()), len(pred.leaves())
        if lengths[0] != lengths[1]:
            raise DataError(f"tree {number}: the true tree has {lengths[0]} words, the predicted one {lengths[1]}")
        brackets = [Counter(span for span in tree.spans() if span[0] not in ignore) for tree in (true, pred)]
        exact += brackets[0] == brackets[1]
        for count, found in zip(counts, (*brackets, brackets[0] & brackets[1])):
            count.update(label for label, _, _ in found.elements())
    labels = _scores(*(count.elements() for count in counts))
    return BracketScores(_total(labels.values()), labels, exact / len(trees_true), len(trees_true))


def ndcg(
    y_true: ArrayLike,
    y_score: ArrayLike,
    qid: Any = None,
    *,
    k: int | None = 10,
    gain: Literal["linear", "exponential"] = "linear",
    empty: float | None = None,
    query_weight: ArrayLike | None = None,
) -> float:
    """Normalised discounted cumulative gain, the mean over the queries.

    ``DCG@k = sum_r gain_r / log2(r + 1)`` over the ``k`` documents of highest score, with ranks ``r`` from 1; it is
    divided by that of the best order of all documents of the query.

    Parameters
    ----------
    y_true : array of shape (n,)
        Grades of at least 0.
    y_score : array of shape (n,)
    qid : array of shape (n,), optional
        Query of each document, see :func:`query_numbers`; all are of one query by default.
    k : int or None
        None is no cut.
    gain : {"linear", "exponential"}
        The grade itself, or ``2**grade - 1``.
    empty : float, optional
        What a query counts in which no document has a grade above 0. By default it is left out of the mean.
    query_weight : array of shape (n_queries,), optional
        Weights of the mean, in the order of :func:`query_numbers`; 0 leaves a query out.

    Raises
    ------
    DataError
        If shapes differ, a grade or weight is negative, or every query is left out.
    """
    true, score, query = _ranking(y_true, y_score, qid)
    _check_cut(k)
    if not isinstance(gain, str) or gain not in ("linear", "exponential"):
        raise ValueError(f"gain must be 'linear' or 'exponential', not {gain!r:.80}")
    if empty is not None and not is_finite_number(empty):
        raise ValueError(f"empty must be a finite number or None, not {empty!r:.80}")
    if true.min() < 0.0:
        raise DataError(f"y_true[{int(true.argmin())}] is {true.min():g}; NDCG needs grades of at least 0")
    with np.errstate(over="ignore"):
        gains = true if gain == "linear" else np.exp2(true) - 1.0
    if not np.isfinite(gains.sum()):
        raise DataError(f"grades of up to {true.max():g} are too large for gain={gain!r}")
    best = _discounted(gains, true, query, k)
    found = _discounted(gains, score, query, k)
    some = best > 0.0
    if empty is None and not some.any():
        raise DataError("no query has a document of a grade above 0: NDCG is not defined; give empty= a value")
    values = np.full(len(best), 0.0 if empty is None else float(empty))
    values[some] = np.minimum(found[some] / best[some], 1.0)  # rounding may leave a little more
    counts = some if empty is None else np.ones(len(best), np.bool_)
    if query_weight is None:
        return float(values[counts].mean())
    weight = as_reals(query_weight, "query_weight")
    if weight.shape != best.shape or not (np.isfinite(weight) & (weight >= 0.0)).all():
        raise DataError(f"query_weight needs a finite number of at least 0 for each of the {len(best)} queries")
    if not weight[counts].any():
        raise DataError("no query of positive weight has a document of a grade above 0: NDCG is not defined")
    return float(np.average(values[counts], weights=weight[counts] / weight[counts].max()))


def precision_at(
    y_true: ArrayLike, y_score: ArrayLike, qid: Any = None, *, k: int = 10, relevant: float = 1.0
) -> float:
    """Share of relevant documents among the ``k`` of highest score, the mean over the queries.

    It is divided by ``k`` in a query of fewer documents too, and is 0 in a query without relevant ones.

    Parameters
    ----------
    y_true, y_score, qid : arrays of shape (n,)
        As for :func:`ndcg`, with grades of any sign.
    k : int
    relevant : float
        The lowest grade of a relevant document.

    Raises
    ------
    DataError
        If shapes differ.
    """
    true, score, query = _ranking(y_true, y_score, qid)
    _check_cut(k, none_allowed=False)
    if not is_finite_number(relevant):
        raise ValueError(f"relevant must be a number, not {relevant!r:.80}")
    hits = _discounted((true >= relevant).astype(np.float64), score, query, k, flat=True)
    return float(hits.mean() / k)


def swapped_pairs(y_true: ArrayLike, y_score: ArrayLike, qid: Any = None) -> float:
    """Share of pairs in wrong order, of all pairs of documents of one query with different grades.

    A pair of equal scores counts one half. The cost is ``O(n log n)``.

    Parameters
    ----------
    y_true, y_score, qid : arrays of shape (n,)
        As for :func:`ndcg`, with grades of any sign.

    Raises
    ------
    DataError
        If shapes differ, or there is no pair.
    """
    true, score, query = _ranking(y_true, y_score, qid)
    pairs = _equal_pairs(query) - _equal_pairs(query, true)
    if not pairs:
        raise DataError("no comparable pairs: every query has one document or one grade only")
    tied = _equal_pairs(query, score) - _equal_pairs(query, true, score)
    # by rising grade, and equal grades in the order of their scores: only swapped pairs are left
    rank = _numbered(query, score)[np.lexsort((score, true, query))]
    return (_inversions(rank) + 0.5 * tied) / pairs


def query_numbers(qid: Any, n: int) -> _Ints:
    """Queries as numbers from 0, in the order of their sorted names (as they come, where names cannot be sorted).

    Parameters
    ----------
    qid : array of shape (n,) or None
        Integers, text, or other names, in any order. Integers stay exact; floats must be whole and below ``2**53``.
        None is one query.
    n : int
        Number of documents.

    Raises
    ------
    DataError
        If the length is wrong, or a name is missing or inexact.
    """
    if qid is None:
        return np.zeros(n, np.int64)
    names = np.asarray(qid)
    if names.shape != (n,):
        raise DataError(f"qid has shape {names.shape}; it needs one query for each of the {n} documents")
    if names.dtype.kind in "SU" and isinstance(qid, list | tuple) and names.tolist() != list(qid):
        # NumPy had made text of all, or cut off null characters: 1 and "1" are two queries, "a" and "a\0" too
        names = np.fromiter(qid, object, n)
    if names.dtype.kind == "f":
        bad = np.flatnonzero(~(np.abs(names) <= 2.0**53) | (names != np.floor(names)))
        if len(bad):
            raise DataError(f"qid[{bad[0]}] is {names[bad[0]]!r}, no exact whole number; give qid as int64 or text")
    if names.dtype.kind == "O":
        number: dict[Any, int] = {}
        for k, name in enumerate(names.tolist()):
            if name is None or not isinstance(name, Hashable) or not _is_itself(name):
                raise DataError(f"qid[{k}] is {name!r}, which names no query")
            number.setdefault(name, len(number))
        try:
            number = {name: k for k, name in enumerate(sorted(number))}
        except TypeError:  # names that have no common order
            pass
        return np.array([number[name] for name in names.tolist()], np.int64)
    return np.asarray(np.unique(names, return_inverse=True)[1], np.int64)


def _is_itself(name: Any) -> bool:
    """Whether a name equals itself; the marks of missing values do not."""
    try:
        return bool(name == name)
    except TypeError:
        return False


def _ranking(y_true: ArrayLike, y_score: ArrayLike, qid: Any) -> tuple[_Reals, _Reals, _Ints]:
    true, score = as_reals(y_true, "y_true"), as_reals(y_score, "y_score")
    if true.ndim != 1 or true.shape != score.shape:
        raise DataError(f"y_true has shape {true.shape}, y_score {score.shape}; both need one number for each document")
    if not len(true):
        raise DataError("there are no documents to rank")
    for name, values in (("y_true", true), ("y_score", score)):
        bad = np.flatnonzero(np.isnan(values))
        if len(bad):
            raise DataError(f"{name}[{bad[0]}] is not a number")
    return true, score, query_numbers(qid, len(true))


def _check_cut(k: int | None, *, none_allowed: bool = True) -> None:
    if k is None and none_allowed:
        return
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
        raise ValueError(f"k must be an integer of at least 1{' or None' if none_allowed else ''}, not {k!r:.80}")


def _discounted(gains: _Reals, score: _Reals, query: _Ints, k: int | None, *, flat: bool = False) -> _Reals:
    """Sum of gains times discounts (1 if ``flat``) of the best ``k`` of every query, the mean over orders of ties."""
    order = np.lexsort((-score, query))
    first = np.flatnonzero(np.append(True, np.diff(query[order]) != 0))
    sizes = np.diff(np.append(first, len(order)))
    place = np.arange(len(order)) - np.repeat(first, sizes)
    discount = np.ones(len(order)) if flat else 1.0 / np.log2(place + 2.0)
    if k is not None:
        discount[place >= k] = 0.0
    tie = np.cumsum(np.append(False, (query[order][1:] != query[order][:-1]) | (score[order][1:] != score[order][:-1])))
    discount = (np.bincount(tie, weights=discount) / np.bincount(tie))[tie]
    return np.asarray(np.add.reduceat(gains[order] * discount, first))


def _numbered(*keys: NDArray[Any]) -> _Ints:
    """Numbers of the distinct combinations of keys, in their order."""
    order = np.lexsort(keys[::-1])
    new = np.zeros(len(order), np.bool_)
    for key in keys:
        new[1:] |= key[order][1:] != key[order][:-1]
    out = np.empty(len(order), np.int64)
    out[order] = np.cumsum(new)
    return out


def _equal_pairs(*keys: NDArray[Any]) -> int:
    """Number of pairs that agree in all keys."""
    counts = np.bincount(_numbered(*keys))
    return int((counts * (counts - 1) // 2).sum())


def _inversions(rank: _Ints) -> int:
    """Number of pairs of which the first is the larger one: bit by bit, among numbers that agree in the higher bits."""
    total = 0
    for bit in reversed(range(int(rank.max()).bit_length())):
        high, ones = rank >> (bit + 1), (rank >> bit) & 1
        first = np.flatnonzero(np.append(True, high[1:] != high[:-1]))
        before = np.cumsum(ones) - ones
        before -= np.repeat(before[first], np.diff(np.append(first, len(rank))))
        total += int(before[ones == 0].sum())
        rank = rank[np.argsort(rank >> bit, kind="stable")]
    return total


def _paired(
    y_true: Any, y_pred: Any, nested: bool | None = None, *, tuples: bool = False
) -> tuple[list[list[Any]], list[list[Any]]]:
    """Sequences of labels that belong together; flat lists become one sequence. ``tuples`` are always sequences."""
    true, pred = _as_list("y_true", y_true), _as_list("y_pred", y_pred)
    sequences = _are_sequences([*true, *pred], nested, tuples)
    what = "sequences" if sequences else "labels"
    if len(true) != len(pred):
        raise DataError(f"y_true has {len(true)} {what}, y_pred {len(pred)}")
    if sequences:
        true = [_as_list("y_true", labels) for labels in true]
        pred = [_as_list("y_pred", labels) for labels in pred]
    else:
        true, pred = [true], [pred]
    for number, (left, right) in enumerate(zip(true, pred)):
        if len(left) != len(right):
            raise DataError(f"sequence {number}: y_true has {len(left)} labels, y_pred {len(right)}")
    if not any(true):
        raise DataError("y_true and y_pred hold no labels: nothing to score")
    return true, pred


def _are_sequences(items: Sequence[Any], asked: bool | None, tuples: bool) -> bool:
    """Whether items are sequences of labels; ``tuples`` says that no label is a tuple."""
    lists = [isinstance(item, list) or getattr(item, "ndim", 0) > 0 for item in items]
    lengths = [len(item) for item in items if isinstance(item, tuple)]
    labels = len(items) > sum(lists) + len(lengths)
    if asked is None and not (any(lists) or labels or tuples) and len(set(lengths)) == 1:
        raise DataError(
            "y_true and y_pred hold nothing but tuples of one length, which may be labels or sequences of labels: give "
            "nested=False or nested=True"
        )
    nested = any(lists) or (bool(lengths) and (tuples or not labels)) if asked is None else asked
    if labels if nested else any(lists):
        raise DataError(
            "labels and sequences of labels are mixed in y_true and y_pred; give one or the other"
            if asked is None
            else f"nested={asked}, but y_true or y_pred holds {'labels' if labels else 'sequences of labels'}"
        )
    return nested


def _as_list(name: str, labels: Any) -> list[Any]:
    """A sequence as a list of plain Python objects."""
    if is_frame(labels):
        raise DataError(f"{name} must be a list of labels or of sequences of labels, not a DataFrame")
    if isinstance(labels, str) or not hasattr(labels, "__len__"):
        raise DataError(f"{name} must be a list of labels or of sequences of labels, not {labels!r}")
    return list(labels.tolist() if hasattr(labels, "tolist") else labels)


def _spans(name: str, sequences: list[list[Any]]) -> list[tuple[int, Span]]:
    """All spans, each with the index of its sequence."""
    spans = []
    for number, labels in enumerate(sequences):
        try:
            spans += [(number, span) for span in label_spans(labels)]
        except DataError as error:
            raise DataError(f"{name}, sequence {number}: {error}") from None
    return spans


def _scores(true: Iterable[Hashable], pred: Iterable[Hashable], correct: Iterable[Hashable]) -> dict[Any, Score]:
    """A score for each kind that occurs, in their order."""
    counts = Counter(true), Counter(pred), Counter(correct)
    kinds: Iterable[Any] = {*counts[0], *counts[1]}
    try:
        kinds = sorted(kinds)
    except TypeError:  # kinds that have no common order
        kinds = sorted(kinds, key=lambda kind: (type(kind).__name__, str(kind)))
    return {kind: Score(*(count[kind] for count in counts)) for kind in kinds}


def _total(scores: Collection[Score]) -> Score:
    return Score(
        sum(score.support for score in scores),
        sum(score.predicted for score in scores),
        sum(score.correct for score in scores),
    )


def _table(title: str, scores: Iterable[tuple[Any, Score]], width: int) -> str:
    """A line for each score; a name too long for the width is cut."""
    rows = [(title, ("precision", "recall", "F1", "support", "predicted"))]
    for name, s in scores:
        cells = (f"{s.precision:.4f}", f"{s.recall:.4f}", f"{s.f1:.4f}", str(s.support), str(s.predicted))
        rows.append((_shown(name), cells))
    widths = [max(map(len, column)) for column in zip(*(cells for _, cells in rows))]
    room = min(max(len(name) for name, _ in rows), width - sum(widths) - 2 * len(widths))
    lines = []
    for name, cells in rows:
        cut = name if len(name) <= room else name[: room - 3] + "..."
        lines.append("  ".join((cut.ljust(room), *(cell.rjust(size) for cell, size in zip(cells, widths)))))
    return "\n".join(lines)


def _shown(name: Any) -> str:
    """A label as it stands, or quoted where it would not be seen or would break the table."""
    text = str(name)
    return text if text and text.isprintable() and text == text.strip() else repr(name)
