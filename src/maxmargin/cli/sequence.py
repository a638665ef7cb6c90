"""Labels of tokens in column files and in CRFsuite's attribute files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ..data.attributes import read_attributes, token_lines
from ..data.columns import read_columns, split_labels
from ..data.spans import label_spans
from ..data.templates import apply_template
from ..data.text import Lines, format_number
from ..errors import DataError, FileFormatError
from ..metrics import classification_report, span_scores
from ..structures.values import LARGEST
from .messages import TOO_LARGE, UsageError, counted, without_place
from .tasks import Examples, Task, check_labels
from .template_file import as_values, named_template, template_of
from .transitions import forbidden_in_data
from .weights import strongest, strongest_transitions

if TYPE_CHECKING:
    from argparse import Namespace

    from .inputs import Input
    from .messages import Voice

__all__ = ["TASK"]

Labels = list[str]
_TABS = "separator='\\t' lets cells hold spaces"


class SequenceTask(Task):
    """Columns get their attributes from a template, which stays with the model; CRFsuite's files bring them."""

    def training(self, source: Input, settings: dict[str, Any], args: Namespace, voice: Voice) -> Examples:
        if settings["format"] == "crfsuite":
            data = read_attributes(source.open())
            if not data.X:
                raise FileFormatError("no data in this file", path=source.name)
            return Examples(data.X, data.y, data.weights)
        if args.separator is not None or "separator" not in settings:
            settings["separator"] = "\t" if args.separator == "tab" else None
        if settings["separator"] is None and source.is_conllu():
            if args.separator == "blank":
                raise UsageError(
                    f"--separator blank cannot go with {source.name}, which is CoNLL-U: TABs part its cells, and cells "
                    "may hold spaces"
                )
            settings["separator"] = "\t"
            voice.say("CoNLL-U: words alone, without ranges and empty nodes; the last column, MISC, is the label")
        rows = _rows(source, settings, training=True)
        n_columns = len(rows[0][0]) - 1
        if n_columns < 1:
            raise _error_in_first_row("one column only: the labels are missing", source)
        if args.template is None and "template" in settings and n_columns != settings["columns"]:
            problem = f"{n_columns + 1} columns where the model has learned from {settings['columns']} and the label"
            raise _error_in_first_row(problem, source)
        if args.template is not None or "template" not in settings:
            name = args.template or "default"
            template = named_template(name, n_columns)
            if len(template.columns) > n_columns:
                expected = f"{len(template.columns)}: {', '.join(template.columns)}"
                problem = f"{counted(n_columns, 'column')} and the label where the template names {expected}"
                raise _error_in_first_row(problem, source)
            settings["template"] = as_values(template)
            settings["columns"] = n_columns
            voice.say(f"template {name} for {counted(n_columns, 'column')} and the label")
        X, y = split_labels(rows)
        with voice.phase("attributes"):
            return Examples(_attributes(X, settings, source), y)

    def examples(
        self, source: Input, settings: Mapping[str, Any], voice: Voice, *, unlabelled: bool, compared: bool = False
    ) -> Examples:
        if settings["format"] == "crfsuite":
            data = read_attributes(source.relabelled(_with_label) if unlabelled else source.open())
            return Examples(data.X, None if unlabelled else data.y, data.weights)
        if "template" not in settings:
            raise DataError(
                "this model was not trained by `maxmargin train` on columns and knows no template for them; give it "
                "--format crfsuite data"
            )
        rows = _rows(source, settings) if source.head() else []
        known, width = settings["columns"], len(rows[0][0]) if rows else 0
        if rows and not (width == known or (width == known + 1 and not unlabelled)):
            expected = f"{known}" if unlabelled else f"{known}, or {known + 1} with labels"
            problem = f"{counted(width, 'column')} where the model expects {expected}"
            raise _error_in_first_row(problem, source)
        X, y = (rows, None) if width == known else split_labels(rows)
        return Examples(_attributes(X, settings, source), y, rows=(rows, _joint(source, settings)))

    def why_strange(self, model: Any, examples: Examples) -> str:
        known = set(model.attributes_)
        tokens = [token for sequence in examples.X for token in sequence]
        if not tokens or any(name in known for token in tokens for name in token):
            return ""
        return "no token has an attribute that the model knows"

    def explained(
        self, error: DataError, model: Any, examples: Examples, source: Input, settings: Mapping[str, Any]
    ) -> DataError:
        found = forbidden_in_data(model.forbidden, examples, source, settings)
        if found is None and settings["format"] == "columns" and not any(map(any, examples.X)):
            return DataError(f"{source.name}: the template gives no token an attribute: there is nothing to learn from")
        return found or super().explained(error, model, examples, source, settings)

    def placed(
        self, error: DataError, model: Any, examples: Examples, source: Input, settings: Mapping[str, Any]
    ) -> FileFormatError | None:
        said = str(error)
        if settings["format"] != "crfsuite" or not (TOO_LARGE in said or "cannot be added up" in said):
            return None
        for i, sequence in enumerate(examples.X):
            for t, token in enumerate(sequence):
                for name, weight in token.items() if isinstance(token, dict) else ():
                    if abs(weight) > LARGEST:
                        what = (
                            without_place(said)
                            if TOO_LARGE in said
                            else f"a value {TOO_LARGE.removeprefix('in size are ')}"
                        )
                        line = token_lines(source.open())[i][t]
                        return FileFormatError(
                            what, path=source.name, line=line, token=f"{name}:{format_number(weight)}"
                        )
        return None

    def predict(self, model: Any, examples: Examples) -> list[Labels]:
        return [[str(label) for label in labels] for labels in model.predict(examples.X)]

    def labels(self, outputs: Sequence[Sequence[str]]) -> set[str]:
        return {label for labels in outputs for label in labels}

    def answer(
        self, stream: IO[str], model: Any, examples: Examples, settings: Mapping[str, Any], args: Namespace
    ) -> None:
        if args.k_best is not None:
            self.write_k_best(stream, examples, model, args.k_best)
        elif args.confidence:
            self.write_with_confidence(stream, examples, model)
        else:
            super().answer(stream, model, examples, settings, args)

    def write(
        self, stream: IO[str], examples: Examples, predictions: Sequence[Sequence[str]], settings: Mapping[str, Any]
    ) -> None:
        self._check(examples, predictions)
        for lines in self._lines(examples, predictions):
            stream.writelines(lines)
            stream.write("\n")

    def write_with_confidence(self, stream: IO[str], examples: Examples, model: Any) -> None:
        """Predictions, each followed by its margin in one more column."""
        margins, labels = model.predict_margins(examples.X), self.predict(model, examples)
        self._check(examples, labels)
        predictions = [
            [f"{label}\t{margin:.6g}" for label, margin in zip(sequence, row.tolist())]
            for sequence, row in zip(labels, margins)
        ]
        _, between = examples.rows or ((), "\t")
        for lines in self._lines(examples, predictions):
            stream.writelines(line.replace("\t", between) for line in lines)
            stream.write("\n")

    def write_k_best(self, stream: IO[str], examples: Examples, model: Any, k: int) -> None:
        """Of every sequence the k best answers, each after a line ``# <rank> <score>``."""
        found = model.predict_k_best(examples.X, k)
        for i, answers in enumerate(found):
            one = Examples(None, None, rows=examples.rows and ([examples.rows[0][i]], examples.rows[1]))
            for rank, (labels, score) in enumerate(answers, 1):
                stream.write(f"# {rank} {score:.6f}\n")
                self.write(stream, one, [[str(label) for label in labels]], {})

    def _check(self, examples: Examples, predictions: Sequence[Sequence[str]]) -> None:
        between = "" if examples.rows is None else examples.rows[1]
        check_labels(self.labels(predictions), " \t" if between == " " else between)

    @staticmethod
    def _lines(examples: Examples, predictions: Sequence[Sequence[str]]) -> list[list[str]]:
        """The lines of every sequence: the columns, where there are any, and the label."""
        if examples.rows is None:
            return [[f"{label}\n" for label in labels] for labels in predictions]
        rows, between = examples.rows
        return [
            [between.join((*row, label)) + "\n" for row, label in zip(sequence, labels)]
            for sequence, labels in zip(rows, predictions)
        ]

    def truth(self, source: Input, settings: Mapping[str, Any]) -> Examples:
        if settings["format"] == "crfsuite":
            return Examples(None, read_attributes(source.open()).y)
        return Examples(None, split_labels(_rows(source, settings))[1])

    def written(self, source: Input, settings: Mapping[str, Any]) -> list[Labels]:
        if settings["format"] == "columns":
            if all(row[:1].isdigit() and row.count("\t") == 10 for row in source.head()):  # CoNLL-U and the label
                settings = {**settings, "separator": "\t"}
            return split_labels(_rows(source, settings))[1]
        sequences: list[Labels] = [[]]
        lines = Lines(source.open())
        for line in lines:
            if "\t" in line:
                raise lines.error("a TAB where a predicted label stands alone", line)
            if line.strip():
                sequences[-1].append(line)
            elif sequences[-1]:
                sequences.append([])
        return [labels for labels in sequences if labels]

    def report(self, true: Sequence[Labels], predicted: Sequence[Labels], width: int, model: Any = None) -> str:
        text = classification_report(true, predicted).table(width)
        if _spans_are_meant(true) and _spans_are_meant(predicted):
            text += "\n\nspans\n\n" + span_scores(true, predicted).table(width)
        return text

    def details(self, model: Any, settings: Mapping[str, Any], top: int) -> dict[str, Any]:
        labels = list(model.classes_)
        names = [*model.attributes_, *(f"(dense {k})" for k in range(model.n_dense_))]
        return {
            "labels": labels,
            "features": len(names),
            "nonzero_weights": int(np.count_nonzero(model.coef_)),
            "strongest_features": strongest(model.emission_, names, labels, top),
            "strongest_transitions": strongest_transitions(model.transition_, labels, 2 * top),
            "initial": model.initial_.tolist(),
            "final": model.final_.tolist(),
            "transitions": model.transition_.tolist(),
        }


def _rows(source: Input, settings: Mapping[str, Any], *, training: bool = False) -> list[list[tuple[str, ...]]]:
    try:
        rows = read_columns(source.open(), separator=settings.get("separator"))
    except FileFormatError as error:
        if training or _TABS not in error.problem:
            raise
        problem = error.problem.replace(_TABS, "train with --separator tab where cells hold spaces")
        raise FileFormatError(problem, path=error.path, line=error.line, token=error.token) from None
    if not rows:
        raise FileFormatError("no data in this file", path=source.name)
    return rows


def _with_label(line: str) -> str:
    """A line of CRFsuite's format with a label; a weight of the sequence stays in front."""
    weight, tab, rest = line.partition("\t") if line.startswith("@weight:") else ("", "", line)
    return f"{weight}{tab}?\t{rest}" if not weight or tab else line


def _error_in_first_row(problem: str, source: Input) -> FileFormatError:
    lines = Lines(source.open())
    row = source.rows()[0]
    number = next(lines.number for line in lines if line == row)
    return lines.error(problem, row, line=number)


def _attributes(rows: Any, settings: Mapping[str, Any], source: Input) -> Any:
    try:
        return apply_template(rows, template_of(settings["template"]))
    except DataError as error:
        raise DataError(f"{source.name}: {error}") from None


def _joint(source: Input, settings: Mapping[str, Any]) -> str:
    """What parts the columns that are written: what parts them in the data."""
    rows = source.rows()
    return settings.get("separator") or ("\t" if rows and "\t" in rows[0] else " ")


def _spans_are_meant(sequences: Sequence[Labels]) -> bool:
    """Whether labels look like ``B-NP``, ``I-NP``, ``O``: all can be read so, and one has a type."""
    distinct = {label for labels in sequences for label in labels}
    try:
        label_spans(sorted(distinct))
    except DataError:
        return False
    return any(label[1:2] == "-" for label in distinct)


TASK = SequenceTask()
