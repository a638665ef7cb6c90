"""Two classes of rows in svmlight files, to be told apart by their scores: the area under the ROC curve counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..data.text import Lines, format_number, parse_number
from ..errors import DataError
from ..metrics import swapped_pairs
from .binary import BinaryTask
from .multiclass import spelt
from .tasks import Examples, check_labels

if TYPE_CHECKING:
    from argparse import Namespace

    from .inputs import Input

__all__ = ["TASK"]


class Scored(NamedTuple):
    """A predicted label, and the score behind it where it is known."""

    label: str
    score: float | None = None


class AUCTask(BinaryTask):
    """As of two classes; the scores of predictions are judged too."""

    name = "auc"

    def predict(self, model: Any, examples: Examples) -> list[Scored]:  # type: ignore[override]
        labels = super().predict(model, examples)
        scores = model.decision_function(examples.X).tolist() if labels else []
        return [Scored(label, score) for label, score in zip(labels, scores)]

    def answer(
        self, stream: IO[str], model: Any, examples: Examples, settings: Mapping[str, Any], args: Namespace
    ) -> None:
        found = self.predict(model, examples)
        self.write(stream, examples, found if args.scores else [Scored(one.label) for one in found], settings)

    def write(
        self, stream: IO[str], examples: Examples, predictions: Sequence[Any], settings: Mapping[str, Any]
    ) -> None:
        check_labels((one.label for one in predictions), "\t")
        stream.writelines(
            one.label + ("" if one.score is None else f"\t{format_number(one.score)}") + "\n" for one in predictions
        )

    def written(self, source: Input, settings: Mapping[str, Any]) -> list[Scored]:  # type: ignore[override]
        labels = super().written(source, settings)
        lines = Lines(source.open())
        return [Scored(label, _score(line, lines)) for label, line in zip(labels, filter(str.strip, lines))]

    def labels(self, outputs: Sequence[Any]) -> set[str]:
        return {one.label if isinstance(one, Scored) else one for one in outputs}

    def report(self, true: Sequence[str], predicted: Sequence[Any], width: int, model: Any = None) -> str:
        """That of classes, and the AUC; where it is not defined there is a dash, and why."""
        table = super().report(true, [one.label for one in predicted], width, model)
        pair = _in_order(set(true)) if model is None else [spelt(str(label)) for label in model.classes_.tolist()]
        return f"{table}\n{_area(true, predicted, pair)}"


def _area(true: Sequence[str], predicted: Sequence[Scored], pair: Sequence[str]) -> str:
    """The area under the ROC curve of the rows of two classes, as a line."""
    if len(pair) != 2:
        return f"AUC   -  (it is of two classes; there {'is' if len(pair) == 1 else 'are'} {len(pair)})"
    if any(one.score is None for one in predicted):
        return "AUC   -  (predictions have no scores: predict --scores writes them)"
    known = [k for k, label in enumerate(true) if label in pair]
    try:
        swapped = swapped_pairs(
            np.array([float(true[k] == pair[1]) for k in known]), np.array([predicted[k].score for k in known])
        )
    except DataError:
        return f"AUC   -  (no row of {pair[0]}, or none of {pair[1]})"
    return f"AUC   {1.0 - swapped:.4f}  ({pair[1]} above {pair[0]})"


def _in_order(labels: set[str]) -> list[str]:
    """Numbers by their size, others as text: as the classes of a model."""
    try:
        return sorted(labels, key=parse_number)
    except ValueError:
        return sorted(labels)


def _score(line: str, lines: Lines) -> float | None:
    cell = line.partition("\t")[2].strip()
    if not cell:
        return None
    try:
        return parse_number(cell)
    except ValueError as error:
        raise lines.error(f"a score that is {error}", line) from None


TASK = AUCTask()
