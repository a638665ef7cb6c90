"""What a task is: reading, learning, writing and judging for one kind of output."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any

from ..errors import DataError, FileFormatError
from .table import TASKS

if TYPE_CHECKING:
    from argparse import Namespace

    from .inputs import Input
    from .messages import Voice

__all__ = ["Examples", "Task", "check_labels", "joined", "load_task"]


def load_task(name: str) -> Task:
    """The task of a name, its module imported."""
    task: Task = import_module(f".{TASKS[name].module}", __package__).TASK
    return task


@dataclass
class Examples:
    """Data as read.

    Attributes
    ----------
    X : inputs for the estimator
    y : labels for the estimator, or None where the data have none
    weights : weights of the examples, or None
    rows : what the writer of predictions needs, or the lines of rows, or None
    """

    X: Any
    y: Any
    weights: Any = None
    rows: Any = None


def joined(parts: Sequence[Any]) -> Any:
    """The outputs of parts of the data, lists or arrays, one after the other; of one part at least."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], list):
        return [output for part in parts for output in part]
    import numpy as np

    return np.concatenate(parts)


def check_labels(labels: Iterable[str], apart: str = "") -> None:
    r"""Refuse to write labels that could not be read back.

    Parameters
    ----------
    labels : str
    apart : str
        Characters that part cells: a label is a cell of a line, else a line of its own.

    Raises
    ------
    DataError
    """
    for label in set(labels):
        if not label.strip(" \t\r") or not {*label}.isdisjoint({"\r", "\n", *apart}):
            raise DataError(f"the label {label!r} of the model cannot be written as a {'cell' if apart else 'line'}")


class Task(ABC):
    """Reading, learning, writing and judging for one kind of output.

    ``settings`` is a dict of plain values that says how the training data were read; it is kept in the model file.
    """

    @abstractmethod
    def training(self, source: Input, settings: dict[str, Any], args: Namespace, voice: Voice) -> Examples:
        """Read training data; adds to ``settings`` what later data need. Only labelled examples are accepted."""

    @abstractmethod
    def examples(
        self, source: Input, settings: Mapping[str, Any], voice: Voice, *, unlabelled: bool, compared: bool = False
    ) -> Examples:
        """Read data for a model of these settings; ``y`` is None where they have no labels.

        Only if they are to be ``compared`` with predictions, ``y`` has to be there and faults in labels are errors.
        """

    def parts(
        self, source: Input, settings: Mapping[str, Any], voice: Voice, *, unlabelled: bool, compared: bool = False
    ) -> Iterator[Examples]:
        """The same in parts, where they can be read one after the other."""
        yield self.examples(source, settings, voice, unlabelled=unlabelled, compared=compared)

    def fit(self, model: Any, examples: Examples) -> None:
        """Learn."""
        model.fit(examples.X, examples.y, sample_weight=examples.weights)

    def why_cold(self, model: Any, examples: Examples) -> str:
        """Why a fit to these examples cannot start from a model, or nothing."""
        return ""

    def why_strange(self, model: Any, examples: Examples) -> str:
        """Why a model can hardly be meant for these examples, or nothing."""
        return ""

    def explained(
        self, error: DataError, model: Any, examples: Examples, source: Input, settings: Mapping[str, Any]
    ) -> DataError:
        """What to say when an estimator has refused training data: where that is in the file."""
        return self.placed(error, model, examples, source, settings) or DataError(f"{source.name}: {error}")

    def placed(
        self, error: DataError, model: Any, examples: Examples, source: Input, settings: Mapping[str, Any]
    ) -> FileFormatError | None:
        """The same with the line of the file, where an estimator has refused values of some example for their size."""
        return None

    @contextmanager
    def placing(self, model: Any, examples: Examples, source: Input, settings: Mapping[str, Any]) -> Iterator[None]:
        """While a model predicts: errors that can be :meth:`placed` are."""
        try:
            yield
        except FileFormatError:
            raise
        except DataError as error:
            raise self.placed(error, model, examples, source, settings) or error from None

    def predict(self, model: Any, examples: Examples) -> Sequence[Any]:
        """Outputs of a model, comparable with what :meth:`truth` gives."""
        return list(model.predict(examples.X))

    def answer(
        self, stream: IO[str], model: Any, examples: Examples, settings: Mapping[str, Any], args: Namespace
    ) -> None:
        """Predict and write, as the options of ``predict`` say."""
        self.write(stream, examples, self.predict(model, examples), settings)

    def what_is_partial(self, model: Any) -> str:
        """What the model could not give in full in its last prediction, or nothing."""
        return ""

    @abstractmethod
    def write(
        self, stream: IO[str], examples: Examples, predictions: Sequence[Any], settings: Mapping[str, Any]
    ) -> None:
        """Write predictions."""

    @abstractmethod
    def truth(self, source: Input, settings: Mapping[str, Any]) -> Examples:
        """Labelled data as far as predictions are compared with them: ``X`` need not be there."""

    @abstractmethod
    def written(self, source: Input, settings: Mapping[str, Any]) -> Sequence[Any]:
        """Predictions that :meth:`write` has written."""

    def labels(self, outputs: Any) -> set[str]:
        """The labels in outputs, if these are such that two sets without a common one are strange."""
        return set()

    def learned(self, targets: Any) -> set[str]:
        """Those that a model of these training targets predicts."""
        return self.labels(targets)

    def fault(self, examples: Examples, classes: Any, source: Input) -> DataError | None:
        """Why labels are none that predictions can be compared with.

        ``classes`` are those learned, the targets that were, or the labels that were predicted.
        """
        return None

    @abstractmethod
    def report(self, true: Any, predicted: Sequence[Any], width: int, model: Any = None) -> str:
        """How good predictions are, as text; ``model`` is what made them, where that is known."""

    def details(self, model: Any, settings: Mapping[str, Any], top: int) -> dict[str, Any]:
        """What there is to see in a model, beyond parameters and certificate: names to plain values."""
        return {}
