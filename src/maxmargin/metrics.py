"""How good predictions are: labels, spans in labelled sequences, brackets of trees.

Precision, recall and F1 are 0 where they would divide by 0. No data at all is an error.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .data.brackets import Tree
from .data.spans import label_spans
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


@dataclass(frozen=True)
class Score:
    """How many things there were, how many were predicted, and how many of these were correct."""

    true: int
    predicted: int
    correct: int

    @property
    def precision(self) -> float:
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        return self.correct / self.true if self.true else 0.0

    @property
    def f1(self) -> float:
        return 2 * self.correct / (self.true + self.predicted) if self.true + self.predicted else 0.0


def _scores(true: Iterable[Hashable], predicted: Iterable[Hashable], correct: Iterable[Hashable]) -> dict[Any, Score]:
    """A score for each kind that occurs, in order."""
    counts = Counter(true), Counter(predicted), Counter(correct)
    return {kind: Score(*(count[kind] for count in counts)) for kind in _ordered({*counts[0], *counts[1]})}


def _total(scores: Collection[Score]) -> Score:
    return Score(
        sum(score.true for score in scores),
        sum(score.predicted for score in scores),
        sum(score.correct for score in scores),
    )


def _ordered(labels: Iterable[Any]) -> list[Any]:
    """Labels in their own order where they have one, else by type and text."""
    try:
        return sorted(labels)
    except TypeError:
        return sorted(labels, key=lambda label: (type(label).__name__, str(label)))
