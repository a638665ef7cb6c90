"""How good predictions are: labels, spans in labelled sequences, brackets of trees.

Precision, recall and F1 are 0 where they would divide by 0. No data at all is an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from .data.brackets import Tree
from .data.spans import Span, label_spans
from .errors import DataError

__all__ = [
    "BracketScores",
    "LabelReport",
    "Score",
    "SpanScores",
    "bracket_scores",
    "classification_report",
    "sequence_error",
    "span_scores",
    "token_error",
]

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


def classification_report(y_true: Any, y_pred: Any) -> LabelReport:
    """Precision, recall and F1 of every label, and the accuracy.

    Parameters
    ----------
    y_true, y_pred : array-likes of labels, or of sequences of labels
        A label may be anything hashable, also one that no model knows.

    Raises
    ------
    DataError
        If lengths differ (with the sequence's index and both lengths), or there is no label.
    """
    true, pred = (list(chain.from_iterable(sequences)) for sequences in _paired(y_true, y_pred))
    correct = [a for a, b in zip(true, pred) if a == b]
    return LabelReport(_scores(true, pred, correct), len(correct) / len(true), len(true))


def token_error(y_true: Any, y_pred: Any) -> float:
    """Share of wrong labels; the parameters and errors are those of :func:`classification_report`."""
    true, pred = _paired(y_true, y_pred)
    wrong: int = sum(a != b for left, right in zip(true, pred) for a, b in zip(left, right))
    return wrong / sum(map(len, true))


def sequence_error(y_true: Any, y_pred: Any) -> float:
    """Share of sequences with a wrong label; the parameters and errors are those of :func:`classification_report`.

    A flat list of labels is taken for one sequence.
    """
    true, pred = _paired(y_true, y_pred)
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
    pairs = _paired(y_true, y_pred)
    true, pred = (_spans(name, sequences) for name, sequences in zip(("y_true", "y_pred"), pairs))
    types = _scores(
        (span.type for _, span in true),
        (span.type for _, span in pred),
        (span.type for _, span in {*true}.intersection(pred)),
    )
    return SpanScores(_total(types.values()), types, 1 - token_error(y_true, y_pred), sum(map(len, pairs[0])))


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


def _paired(y_true: Any, y_pred: Any) -> tuple[list[list[Any]], list[list[Any]]]:
    """Sequences of labels that belong together; flat lists become one sequence."""
    true, pred = _as_list("y_true", y_true), _as_list("y_pred", y_pred)
    nested = {_is_sequence(item) for item in (*true, *pred)}
    if len(nested) == 2:
        raise DataError("labels and sequences of labels are mixed in y_true and y_pred; give one or the other")
    what = "sequences" if True in nested else "labels"
    if len(true) != len(pred):
        raise DataError(f"y_true has {len(true)} {what}, y_pred {len(pred)}")
    if True in nested:
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


def _is_sequence(item: Any) -> bool:
    return isinstance(item, list | tuple) or getattr(item, "ndim", 0) > 0


def _as_list(name: str, labels: Any) -> list[Any]:
    """A sequence as a list of plain Python objects."""
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
