"""Classes of rows in svmlight files."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..data.svmlight import FEATURE, SvmLightData
from ..data.text import Lines, format_number, parse_number
from ..errors import FileFormatError
from ..metrics import classification_report
from .rows import RowTask
from .tasks import Examples, check_labels

if TYPE_CHECKING:
    from argparse import Namespace

    from .inputs import Input
    from .messages import Voice

__all__ = ["TASK", "MulticlassTask", "as_number", "spelt"]

_LARGEST = 2**53  # whole numbers below are exact as floats
_PIECE = 1 << 16  # rows


class MulticlassTask(RowTask):
    """Labels that are whole numbers become numbers, whatever their spelling (``+1``); all others stay as they stand."""

    def targets(self, data: SvmLightData, name: str, args: Namespace, voice: Voice) -> Any:
        """Whole numbers if all labels are, else text; fractions speak of a regression."""
        texts, rows = _numbered(data.y)
        try:
            numbers = [parse_number(text) for text in texts]
        except ValueError:
            if odd := _not_finite(texts):
                row = next(row for row, k in enumerate(rows.tolist()) if texts[k] in odd)
                raise _no_class(name, int(data.line[row]), texts[rows[row]]) from None
            return data.y
        fractions = [k for k, number in enumerate(numbers) if not number.is_integer()]
        if fractions:
            row = int(np.argmax(np.isin(rows, fractions)))
            raise _fraction(name, int(data.line[row]), texts[rows[row]])
        return np.array(numbers, np.int64)[rows] if max(map(abs, numbers)) < _LARGEST else data.y

    def outputs(self, data: SvmLightData) -> list[str]:
        texts, rows = _numbered(data.y)
        names = [spelt(text) for text in texts]
        return [names[number] for number in rows.tolist()]

    def fit(self, model: Any, examples: Examples) -> None:
        """Learn; labels that the command line gave as text are what they are in the data."""
        factors = getattr(model, "class_weight", None)
        if isinstance(factors, dict) and examples.y.dtype.kind == "i":
            model.set_params(class_weight={as_number(label): factor for label, factor in factors.items()})
        super().fit(model, examples)

    def n_scores(self, targets: Any, args: Namespace) -> int:
        classes = len(np.unique(targets))
        return max(classes, classes * (classes - 1) // 2) if args.multi_class == "ovo" else classes

    def why_cold(self, model: Any, examples: Examples) -> str:
        if reason := super().why_cold(model, examples):
            return reason
        same = np.array_equal(np.unique(examples.y), model.classes_)
        return "" if same else "the classes of the data are not those of the model"

    def predict(self, model: Any, examples: Examples) -> list[str]:
        found = super().predict(model, examples)
        names = {label: spelt(str(label)) for label in set(found)}
        return [names[label] for label in found]

    def answer(
        self, stream: IO[str], model: Any, examples: Examples, settings: Mapping[str, Any], args: Namespace
    ) -> None:
        if not args.scores or not examples.X.shape[0]:
            super().answer(stream, model, examples, settings, args)
            return
        labels, scores = self.predict(model, examples), model.decision_function(examples.X)
        check_labels(labels, "\t")
        for label, row in zip(labels, scores.reshape(len(labels), -1).tolist()):
            stream.write("\t".join([label, *map(format_number, row)]) + "\n")

    def write(
        self, stream: IO[str], examples: Examples, predictions: Sequence[str], settings: Mapping[str, Any]
    ) -> None:
        check_labels(predictions, "\t")
        stream.writelines(f"{label}\n" for label in predictions)

    def written(self, source: Input, settings: Mapping[str, Any]) -> list[str]:
        """Labels, without the scores behind them."""
        lines, labels, places = Lines(source.open()), [], []
        for line in lines:
            if any(map(FEATURE.fullmatch, line.split())):
                raise lines.error("a row with features where a predicted label stands alone", line)
            if line.strip():
                labels.append(spelt(line.partition("\t")[0].strip()))
                places.append(lines.number)
        odd = _not_finite(set(labels))
        if odd and not odd.issuperset(labels):  # alone they may be names
            row = next(row for row, label in enumerate(labels) if label in odd)
            raise _no_class(source.name, places[row], labels[row], "")
        return labels

    def labels(self, outputs: Sequence[str]) -> set[str]:
        return set(outputs)

    def learned(self, targets: Any) -> set[str]:
        return {spelt(str(label)) for label in np.unique(targets).tolist()}

    def fault(self, examples: Examples, classes: Any, source: Input) -> FileFormatError | None:
        """Values of a regression are no classes, unless a model has learned such names, or the data have names too."""
        labels = set(examples.y)
        if (odd := _not_finite(labels)) and all(_is_whole(label) for label in self.learned(classes)):
            row = next(row for row, label in enumerate(examples.y) if label in odd)
            return _no_class(source.name, int(examples.rows[row]), examples.y[row])
        fractions = {label for label in labels if _is_whole(label) is False}
        if not fractions or any(_is_whole(label) is None for label in labels):
            return None
        if not all(_is_whole(label) for label in self.learned(classes)):
            return None
        row = next(row for row, label in enumerate(examples.y) if label in fractions)
        return _fraction(source.name, int(examples.rows[row]), examples.y[row])

    def report(self, true: Sequence[str], predicted: Sequence[str], width: int, model: Any = None) -> str:
        return classification_report(list(true), list(predicted)).table(width)


def _numbered(labels: NDArray[np.str_]) -> tuple[list[str], NDArray[np.int64]]:
    """The distinct labels in the order of their first rows, and the number of each row's."""
    number: dict[str, int] = {}
    rows = np.empty(len(labels), np.int64)
    for at in range(0, len(labels), _PIECE):
        part = labels[at : at + _PIECE].tolist()
        rows[at : at + _PIECE] = [number.setdefault(label, len(number)) for label in part]
    return list(number), rows


def _is_whole(label: str) -> bool | None:
    """Whether a label is a whole number or a fraction; None for a name."""
    try:
        return float(parse_number(label)).is_integer()
    except ValueError:
        return None


def _not_finite(labels: Collection[str]) -> set[str]:
    """Those that are no finite number, where all others are one; among names they are names, as of a language."""
    found = {label for label in labels if not _is_finite(label)}
    return found if all(_is_whole(label) is not None for label in labels if label not in found) else set()


def _is_finite(label: str) -> bool:
    """Whether it is neither ``nan`` nor infinite, as ``inf`` and ``1e400`` are; a name is not either."""
    try:
        return math.isfinite(float(label))
    except ValueError:
        return True


def _no_class(name: str, line: int, label: str, remedy: str = "; leave the row out") -> FileFormatError:
    what = "missing" if math.isnan(float(label)) else "not a finite number"
    return FileFormatError(f"the label is {what}: it is no class{remedy}", path=name, line=line, token=label)


def _fraction(name: str, line: int, label: str) -> FileFormatError:
    problem = (
        "the label is a fraction, not a class (classes are whole numbers or names; --task regression learns values)"
    )
    return FileFormatError(problem, path=name, line=line, token=label)


def as_number(label: Any) -> Any:
    """A label as the whole number that it stands for, if it does."""
    try:
        number = parse_number(label) if isinstance(label, str) else label
    except ValueError:
        return label
    return int(number) if float(number).is_integer() else label


def spelt(label: str) -> str:
    """One spelling for labels that are one number: ``+1``, ``1.0`` and ``1`` are ``1``, ``-0`` is ``0``."""
    try:
        number = parse_number(label) + 0.0  # which takes the sign of -0
    except ValueError:
        return label
    return format_number(number) if abs(number) < _LARGEST else label


TASK = MulticlassTask()
