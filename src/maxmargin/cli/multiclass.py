"""Classes of rows in svmlight files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix

from ..data.svmlight import FEATURE, SvmLightData, read_svmlight
from ..data.text import Lines, format_number, parse_number
from ..errors import FileFormatError
from ..metrics import classification_report
from ..multiclass import MulticlassSVM
from .tasks import Examples, Task, check_labels
from .weights import strongest

if TYPE_CHECKING:
    from argparse import Namespace

    from .inputs import Input
    from .messages import Voice

__all__ = ["TASK"]

_LARGEST = 2**53  # whole numbers below are exact as floats


class MulticlassTask(Task):
    """Labels that are whole numbers become numbers, whatever their spelling (``+1``); all others stay as they stand."""

    def training(self, source: Input, settings: dict[str, Any], args: Namespace, voice: Voice) -> Examples:
        zero_based = settings["zero_based"] = bool(args.zero_based or settings.get("zero_based"))
        data = read_svmlight(source.open(), zero_based=zero_based, labels="text")
        if not len(data.y):
            raise FileFormatError("no data in this file", path=source.name)
        if data.qid is not None:
            voice.note(f"{source.name}: the qid of its rows means nothing to this task and is left out")
        if not data.X.nnz:
            raise FileFormatError("no row has a feature", path=source.name)
        _check_size(data, source.name, first=0 if zero_based else 1)
        X = _as_wide(data.X, max(data.X.shape[1], settings.get("features", 0)))
        settings["features"] = X.shape[1]
        return Examples(X, _classes(data, source.name), data.sample_weight)

    def examples(self, source: Input, settings: Mapping[str, Any], voice: Voice, *, unlabelled: bool) -> Examples:
        unlabelled = unlabelled or _begins_with_a_feature(source)
        opened = source.relabelled(_with_label) if unlabelled else source.open()
        data = read_svmlight(opened, zero_based=bool(settings.get("zero_based", False)), labels="text")
        width = settings["features"]
        if data.X.shape[1] > width:
            beyond = int((data.X.indices >= width).sum())
            voice.note(f"{source.name}: {beyond} values of features beyond the {width} of the model are left out")
        y = None if unlabelled else [spelt(label) for label in data.y.tolist()]
        return Examples(_as_wide(data.X, width), y)

    def make(self, parameters: Mapping[str, Any]) -> Any:
        return MulticlassSVM(**parameters)

    def why_cold(self, model: Any, examples: Examples) -> str:
        if examples.X.shape[1] != model.n_features_in_:
            return f"the data have features beyond the {model.n_features_in_} of the model"
        same = np.array_equal(np.unique(examples.y), model.classes_)
        return "" if same else "the classes of the data are not those of the model"

    def predict(self, model: Any, examples: Examples) -> list[str]:
        if not examples.X.shape[0]:
            return []
        return [spelt(str(label)) for label in model.predict(examples.X).tolist()]

    def write(
        self, stream: IO[str], examples: Examples, predictions: Sequence[str], settings: Mapping[str, Any]
    ) -> None:
        check_labels(predictions)
        stream.writelines(f"{label}\n" for label in predictions)

    def truth(self, source: Input, settings: Mapping[str, Any]) -> list[str]:
        data = read_svmlight(source.open(), zero_based="auto", labels="text")  # the features do not matter here
        return [spelt(label) for label in data.y.tolist()]

    def written(self, source: Input, settings: Mapping[str, Any]) -> list[str]:
        lines, labels = Lines(source.open()), []
        for line in lines:
            if any(map(FEATURE.fullmatch, line.split())):
                raise lines.error("a row with features where a predicted label stands alone", line)
            if line.strip():
                labels.append(spelt(line.strip()))
        return labels

    def labels(self, outputs: Sequence[str]) -> set[str]:
        return set(outputs)

    def report(self, true: Sequence[str], predicted: Sequence[str], width: int) -> str:
        return classification_report(list(true), list(predicted)).table(width)

    def details(self, model: Any, settings: Mapping[str, Any], top: int) -> dict[str, Any]:
        labels = model.classes_.tolist()
        first = 0 if settings.get("zero_based") else 1
        names = getattr(model, "feature_names_in_", None)
        shown = range(first, first + model.n_features_in_) if names is None else names.tolist()
        return {
            "labels": labels,
            "features": model.n_features_in_,
            "nonzero_weights": int(np.count_nonzero(model.coef_)),
            "intercept": model.intercept_.tolist(),
            "strongest_features": strongest(model.coef_.T, shown, labels, top),
        }


def _check_size(data: SvmLightData, name: str, first: int) -> None:
    """Refuse a feature whose number is so large that the weights would not fit the memory: mostly a slip."""
    if not hasattr(os, "sysconf"):
        return
    classes = max(2, len(set(data.y.tolist())))
    needed, there = 3 * 8 * classes * data.X.shape[1], os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > there:
        row = int(np.searchsorted(data.X.indptr, int(data.X.indices.argmax()), side="right")) - 1
        problem = (
            f"a feature number so large that the weights of {classes} classes would take {needed / 2**30:.3g} GiB; "
            f"this machine has {there / 2**30:.3g}"
        )
        token = str(int(data.X.indices.max()) + first)
        raise FileFormatError(problem, path=name, line=int(data.line[row]), token=token)


def _with_label(line: str) -> str:
    return line if line.lstrip().startswith("#") else f"? {line}"


def _as_wide(X: csr_matrix, width: int) -> csr_matrix:
    """The first ``width`` columns, zeros where there are none."""
    if X.shape[1] > width:
        return X[:, :width]
    return csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], width))


def spelt(label: str) -> str:
    """One spelling for labels that are one number: ``+1``, ``1.0`` and ``1`` are ``1``."""
    try:
        return format_number(parse_number(label)) if abs(parse_number(label)) < _LARGEST else label
    except ValueError:
        return label


def _classes(data: SvmLightData, name: str) -> Any:
    """Labels as whole numbers if all are, else as text; fractions speak of a regression."""
    texts = data.y.tolist()
    try:
        numbers = [parse_number(text) for text in texts]
    except ValueError:
        return data.y
    for number, text, line in zip(numbers, texts, data.line.tolist()):
        if not number.is_integer():
            problem = "the label is a fraction, not a class (classes are whole numbers or names)"
            raise FileFormatError(problem, path=name, line=line, token=text)
    return np.array(numbers, np.int64) if max(map(abs, numbers)) < _LARGEST else data.y


def _begins_with_a_feature(source: Input) -> bool:
    rows = [line.split() for line in source.head() if not line.lstrip().startswith("#")]
    return bool(rows) and FEATURE.fullmatch(rows[0][0]) is not None


TASK = MulticlassTask()
