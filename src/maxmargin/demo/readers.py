"""Three ways to read handwritten dates, each with the settings to choose from."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..hmm import GenerativeHMM
from ..metrics import sequence_error, token_error
from ..multiclass import MulticlassSVM
from ..sequence import SequenceSVM
from .console import Console
from .dates import DatePart

__all__ = ["Reader", "Reading", "make_readers", "read_dates"]

Readings = list[list[int]]

_C_VALUES = ({"C": 0.03}, {"C": 0.1}, {"C": 0.3})
_ROUGH, _FINE = 1e-2, 1e-3  # relative gaps: to choose settings, and of the model that is tested


@dataclass(frozen=True)
class Reader:
    """A kind of model and the settings that the held-out part chooses from.

    Attributes
    ----------
    name : str
    make : callable
        Gives an unfitted estimator for ``tol`` and the entries of a setting.
    settings : tuple of dict
    single : bool
        The model sees single characters instead of dates.
    constant : bool
        The vectors get a constant entry, for models without a bias of their own.
    """

    name: str
    make: Callable[..., Any]
    settings: tuple[dict[str, Any], ...]
    single: bool = False
    constant: bool = False

    def fit(self, part: DatePart, setting: dict[str, Any], tol: float) -> Any:
        """A model fitted to a part."""
        model = self.make(tol=tol, **setting)
        if self.single:
            return model.fit(np.concatenate(part.vectors), np.concatenate(part.digits))
        return model.fit(self._vectors(part), part.digits)

    def read(self, model: Any, part: DatePart) -> Readings:
        """What a model reads on the pictures of a part."""
        if self.single:
            found = model.predict(np.concatenate(part.vectors)).tolist()
            ends = np.cumsum([len(digits) for digits in part.digits]).tolist()
            return [found[lo:hi] for lo, hi in zip([0, *ends], ends)]
        readings: Readings = model.predict(self._vectors(part))
        return readings

    def _vectors(self, part: DatePart) -> list[Any]:
        if not self.constant:
            return list(part.vectors)
        return [np.column_stack([vectors, np.ones(len(vectors))]) for vectors in part.vectors]


@dataclass(frozen=True)
class Reading:
    """A reader's model for the test and what it read.

    Attributes
    ----------
    reader : Reader
    setting : dict
        The one that erred least on the held-out part.
    model : estimator
        Fitted to the training part, held-out part included.
    seconds : float
        Training time of this model, compilation and choice of the setting not included.
    readings : list of lists of int
        Of the test part.
    character_error, date_error : float
        Shares of wrong characters, and of dates with a wrong character, in the test part.
    margins : tuple of two float
        Their standard errors over the dates of the test part.
    """

    reader: Reader
    setting: dict[str, Any]
    model: Any
    seconds: float
    readings: Readings
    character_error: float
    date_error: float
    margins: tuple[float, float]

    def as_dict(self) -> dict[str, Any]:
        """The figures, as plain numbers and strings."""
        return {
            "setting": self.setting,
            "character_error": self.character_error,
            "character_error_standard_error": self.margins[0],
            "date_error": self.date_error,
            "date_error_standard_error": self.margins[1],
            "training_seconds": self.seconds,
        }


def make_readers(seed: int) -> list[Reader]:
    """The sequence SVM, the SVM of single characters, and the generative HMM."""

    def sequence(tol: float, C: float) -> SequenceSVM:
        return SequenceSVM(C, tol=tol, max_passes=1000, random_state=seed)

    def single(tol: float, C: float) -> MulticlassSVM:
        return MulticlassSVM(C, tol=tol, random_state=seed)

    def hmm(tol: float, **setting: Any) -> GenerativeHMM:
        del tol  # counting is exact
        return GenerativeHMM(**setting)

    emissions = ({"threshold": 0.2}, {"threshold": 0.35}, {"threshold": 0.5}, {"emission": "gaussian"})
    return [
        Reader("sequence SVM", sequence, _C_VALUES, constant=True),
        Reader("single-character SVM", single, _C_VALUES, single=True),
        Reader("generative HMM", hmm, emissions),
    ]


def read_dates(reader: Reader, parts: dict[str, DatePart], console: Console) -> Reading:
    """Choose a setting on the held-out part, fit to all of the training part, read the test part."""
    errors = []
    for setting in reader.settings:
        with console.step(f"{reader.name}, {describe(setting)}:") as results:
            model = reader.fit(parts["fit"], setting, _ROUGH)
            errors.append(token_error(parts["held out"].digits, reader.read(model, parts["held out"])))
            results.append(f"held-out error {100 * errors[-1]:.1f} %")
    setting = reader.settings[int(np.argmin(errors))]
    training, test = parts["fit"] + parts["held out"], parts["test"]
    with console.step(f"{reader.name}, {describe(setting)}, whole training part:") as results:
        start = time.perf_counter()
        model = reader.fit(training, setting, _FINE)
        seconds = time.perf_counter() - start
        readings = reader.read(model, test)
        character_error = token_error(test.digits, readings)
        results.append(f"test error {100 * character_error:.1f} %")
    wrong = np.array(readings) != np.array(test.digits)
    spread = np.stack([wrong.mean(1), wrong.any(1)]).std(1, ddof=1) / np.sqrt(len(wrong))
    return Reading(
        reader,
        setting,
        model,
        seconds,
        readings,
        character_error,
        sequence_error(test.digits, readings),
        (float(spread[0]), float(spread[1])),
    )


def describe(setting: dict[str, Any]) -> str:
    """A setting in words."""
    return ", ".join(f"{name} {value}" for name, value in setting.items())
