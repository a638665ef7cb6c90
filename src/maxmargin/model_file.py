"""Models in files, without pickle: a file from a stranger can at worst be refused.

``save_model`` and ``load_model`` serve every estimator of the library. An estimator takes part through two methods:
``_to_parts()`` gives the fitted state by name (arrays, lists, plain values), and ``_from_parts(parts)`` takes it over
after checking that the parts fit together. Parameters, certificate and history are kept for all alike. The format is
described in ``docs/model_file.md``.

What is made of a file is added up before it is made: no file takes more than some hundred times its size, and 256 MiB.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import asdict
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._estimator import MarginEstimator
from ._partial_fit import stream_parts, take_stream_parts
from .data.container import Contents, read_container, write_container
from .errors import ModelFileError
from .losses import MARGIN_LOSSES, EpsilonInsensitive, MarginLoss, SquaredEpsilonInsensitive
from .problem import Certificate
from .solvers.loop import Record
from .status import Status
from .structures.plain import check_is_structure
from .structures.values import is_time

__all__ = ["load_model", "load_with_metadata", "save_model"]

_Path = str | os.PathLike[str]

_CLASS_OF = {
    "multiclass": ("multiclass", "MulticlassSVM"),
    "sequence": ("sequence", "SequenceSVM"),
    "tree": ("tree", "TreeSVM"),
    "structured": ("structured", "StructuredSVM"),
    "ranking": ("ranking", "SVMRanker"),
    "classifier": ("classifier", "SVMClassifier"),
    "regressor": ("regressor", "SVMRegressor"),
    "one_class": ("one_class", "OneClassSVM"),
    "auc": ("auc", "AUCClassifier"),
    "hard_margin": ("hard_margin", "HardMarginSVM"),
    "search": ("search", "SVMClassifierCV"),
    "regressor_search": ("search", "SVMRegressorCV"),
}

# Parameters that prediction does not need: left out where they are code or the state of a generator.
_DISPENSABLE = ("callback", "random_state", "solver", "cv", "scoring")
_MANY_TEXTS = 50  # lists of more texts or integers are kept as arrays
_MOST_TEXT_BYTES = 1 << 28
# What an entry of a list of integers and a row of the history take as Python objects: 40 and up to 376 measured.
_PER_INTEGER, _PER_RECORD = 40, 400
_MOST_JOBS = 1024


def save_model(estimator: Any, path: _Path, *, metadata: Mapping[str, Any] | None = None) -> None:
    """Write a fitted estimator to a file; an existing file is replaced in one step when all is written.

    What can be kept: labels that are str, int, float, bool, NumPy scalars or tuples of these; all parameters except
    functions, solver objects and generators of random numbers, which come back as their defaults (a kernel that
    is a function, or a loss of one's own, is refused). The structure of a ``StructuredSVM`` is code and is not in the
    file: :func:`load_model` has to be given it. A ``partial_fit`` goes on after loading as if nothing had happened. Of
    a search the scores of all values of ``C`` and the best estimator are kept, but not ``path_``.

    Parameters
    ----------
    estimator : fitted estimator of this library
    path : path
    metadata : mapping of str to plain values, optional
        Anything to be kept with the model; :func:`~maxmargin.model_file.load_with_metadata` gives it back.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If it has not been fitted.
    TypeError
        If it is of another class.
    ModelFileError
        If a label, parameter or piece of metadata is of a type that the format does not know, or weights are not
        finite; names it. Nothing is written then. It is a ValueError.
    OSError
        If the file cannot be written.
    """
    kind = _kind_of(estimator)
    if metadata is not None and not isinstance(metadata, Mapping):
        raise ModelFileError(f"metadata must be a mapping of names to values, not a {type(metadata).__name__}")
    streaming = "n_samples_seen_" in vars(estimator)  # by partial_fit, which leaves no certificate
    if not streaming:
        check_is_fitted(estimator, "certificate_")
    encoder = _Encoder()
    parameters = estimator.get_params(deep=False)
    structure = parameters.pop("structure", None)
    values = {
        "parameters": {},
        "certificate": None if streaming else encoder.encode(_figures(estimator.certificate_)),
        "parts": {},
        "stream": {} if streaming else None,
        "metadata": encoder.encode(dict(metadata or {}), "metadata"),
        "structure": None if structure is None else f"{type(structure).__module__}.{type(structure).__qualname__}",
        "notes": list(estimator.notes_) if hasattr(estimator, "notes_") else None,
    }
    for name, value in parameters.items():
        if name in _DISPENSABLE and not isinstance(value, str | int | np.integer | None):
            continue
        if name == "n_jobs" and abs(value or 1) > _MOST_JOBS:  # which would be refused at loading
            continue
        values["parameters"][name] = encoder.encode(value, f"the parameter {name}", name)
    parts = {"coef": estimator.coef_} if kind == "structured" else estimator._to_parts()
    for name, value in parts.items():
        what = "the label" if name == "classes" else name
        values["parts"][name] = encoder.encode(value, what, name)
    if streaming:
        try:
            state = stream_parts(estimator)
        except ValueError as error:
            raise ModelFileError(str(error)) from None
        for name, value in state.items():
            values["stream"][name] = encoder.encode(value, name, f"stream_{name}")
    # what could not be loaded must not take the place of a file that can
    arrays = [(name, array) for name, array in encoder.arrays.items() if array is not None]
    values_alone = [(name, value) for name, value in parts.items() if isinstance(value, float) and math.isnan(value)]
    for name, array in [*arrays, *values_alone]:
        if (array := np.asarray(array)).dtype.kind == "f" and not np.isfinite(array).all():
            raise ModelFileError(
                f"{os.fsdecode(path)}: not written: {name} of this {type(estimator).__name__} holds numbers that are "
                "not finite"
            )
    history = [] if streaming else estimator.history_
    records = [(r.passes, r.seconds, r.primal, r.dual, r.exact) for r in history]
    encoder.arrays["history"] = np.array(records, np.float64).reshape(-1, 5)
    beside = encoder.beside + _PER_RECORD * len(records)
    write_container(path, Contents(kind, values, encoder.arrays, encoder.texts), beside=beside)


def load_model(path: _Path, *, structure: Any = None) -> Any:
    """Read an estimator from a file, whoever wrote it; it predicts as the one that was saved.

    Parameters
    ----------
    path : path
    structure : object, optional
        For a ``StructuredSVM``, and only for it: the structure that it was fitted with.

    Returns
    -------
    estimator

    Raises
    ------
    ModelFileError
        If the file is damaged, no model file, written by a newer version, or contradicts itself, or ``structure`` is
        missing or not wanted; one line that names the file.
    StructureError
        If ``structure`` is a class instead of an instance, or no structure at all.
    OSError
        If it cannot be opened.
    """
    return load_with_metadata(path, structure=structure)[0]


def load_with_metadata(path: _Path, *, structure: Any = None) -> tuple[Any, dict[str, Any]]:
    """As :func:`~maxmargin.load_model`, with the metadata that :func:`~maxmargin.save_model` was given."""
    shown = os.fsdecode(path)
    try:
        contents = read_container(path)
    except ModelFileError as error:
        raise ModelFileError(f"{shown}: {_bounded(str(error).removeprefix(f'{shown}: '))}") from None
    if contents.kind not in _CLASS_OF:
        raise ModelFileError(f"{shown}: holds a model of the kind {contents.kind!r:.40}, which is not known here")
    name = _CLASS_OF[contents.kind][1]
    if contents.kind == "structured" and structure is None:
        wanted = contents.values.get("structure")
        raise ModelFileError(
            f"{shown}: holds a {name}; its structure is code and not in the file: give load_model(path, structure=...) "
            f"the one it was fitted with ({wanted!s:.80})"
        )
    if contents.kind != "structured" and structure is not None:
        raise ModelFileError(f"{shown}: holds a {name}, which takes no structure= (that is for a StructuredSVM)")
    if structure is not None:
        check_is_structure(structure)
    try:
        return _restored(contents, structure)
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError) as error:
        why = _bounded(" ".join(f"{type(error).__name__} {error}".split()))
        raise ModelFileError(f"{shown}: the parts of this {name} do not fit together: {why}") from None


def _bounded(why: str) -> str:
    """What is wrong with a file, without the middle where it is long: names and values in files have any length."""
    return why if len(why) <= 300 else f"{why[:120]} ... {why[-80:]}"


def _kind_of(estimator: Any) -> str:
    cls = type(estimator)
    for kind, (module, name) in _CLASS_OF.items():
        if cls.__module__ == f"{__package__}.{module}" and cls.__name__ == name:
            return kind
    known = ", ".join(name for _, name in _CLASS_OF.values())
    raise TypeError(f"{cls.__name__} has no model files; those that have: {known}")


def _restored(contents: Contents, structure: Any) -> tuple[Any, dict[str, Any]]:
    """The estimator, everything about it checked."""
    decoder = _Decoder(contents)
    for name, array in contents.arrays.items():
        if name != "history" and array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"{name} holds numbers that are not finite")
    values = contents.values
    module, name = _CLASS_OF[contents.kind]
    parameters = {key: decoder.decode(value) for key, value in values["parameters"].items()}
    if structure is not None:
        parameters["structure"] = structure
    made_of = getattr(import_module(f".{module}", __package__), name)
    _take_as_meant(parameters, getattr(made_of, "_switches", MarginEstimator._switches))
    estimator = made_of(**parameters)
    estimator._check_parameters()
    n_jobs = getattr(estimator, "n_jobs", None) or 1  # not every estimator has it
    if abs(n_jobs) > _MOST_JOBS:
        raise ValueError(f"n_jobs is {n_jobs}")
    parts = {key: decoder.decode(value) for key, value in values["parts"].items()}
    if contents.kind == "structured":
        if parts["coef"].ndim != 1:
            raise ValueError(f"weights of shape {parts['coef'].shape}")
        estimator.coef_ = np.ascontiguousarray(parts["coef"], np.float64)
    else:
        estimator._from_parts(parts)
        _check_finite(vars(estimator).get("estimator_", estimator))
    stream = values.get("stream")
    if stream is None:
        _take_figures(vars(estimator).get("estimator_", estimator), contents, decoder)
    else:
        take_stream_parts(estimator, {key: decoder.decode(value) for key, value in stream.items()})
    metadata = decoder.decode(values["metadata"])
    if not isinstance(metadata, dict):
        raise TypeError("the metadata are no mapping")
    return estimator, metadata


def _check_finite(estimator: Any) -> None:
    """Refuse what the parts made of numbers that are not finite, also of those that stand in the header."""
    for name, value in vars(estimator).items():
        number = isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")
        if (
            number
            and (name.startswith("_") or name.endswith("_"))
            and name != "classes_"
            and not np.isfinite(value).all()
        ):
            raise ValueError(f"{name.removesuffix('_')} holds numbers that are not finite")


def _take_as_meant(parameters: dict[str, Any], switches: tuple[str, ...]) -> None:
    """Parameters of older files: anything true was taken for True, and True for a number."""
    for name in switches:
        if name in parameters:
            parameters[name] = bool(parameters[name])
    for name, kind_of_old in (("n_jobs", bool), ("verbose", float)):
        if isinstance(value := parameters.get(name), kind_of_old):
            parameters[name] = int(value)


def _figures(certificate: Certificate) -> dict[str, Any]:
    figures = {**asdict(certificate), "status": certificate.status.name}
    if not certificate.no_bound:  # earlier versions do not know it
        del figures["no_bound"]
    return figures


def _take_figures(estimator: Any, contents: Contents, decoder: _Decoder) -> None:
    """Certificate, history and notes of a fit; of a search they are those of its best estimator."""
    values, history = contents.values, contents.arrays["history"]
    estimator.certificate_ = certificate = _certificate(decoder.decode(values["certificate"]))
    estimator.solver_, estimator.n_iter_ = certificate.solver, certificate.passes
    notes = values.get("notes")
    if notes is not None:
        if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
            raise TypeError("the notes are no list of text")
        estimator.notes_ = tuple(notes)
    if history.shape[1:] != (5,):
        raise ValueError(f"a history of shape {history.shape}")
    decoder.take(_PER_RECORD * len(history))
    if not certificate.bounded:  # earlier versions kept values of the dual that bound nothing
        history = np.where(np.arange(5) == 3, -np.inf, history)
    estimator.history_ = [Record(int(n), t, p, d, bool(exact)) for n, t, p, d, exact in history.tolist()]


def _certificate(figures: dict[str, Any]) -> Certificate:
    certificate = Certificate(**{**figures, "status": Status[figures["status"]]})
    for name, value in asdict(certificate).items():
        kinds: dict[str, Any] = dict.fromkeys(("passes", "oracle_calls", "n_examples"), int)
        kinds |= {"status": Status, "solver": str, "no_bound": str}
        if not isinstance(value, kinds.get(name, int | float)) or isinstance(value, bool):
            raise TypeError(f"the certificate has {value!r:.40} for {name}")
    return certificate


class _Encoder:
    """Python values as JSON values; arrays and long lists are set aside under names of their own.

    None, bool, int, finite float, str and list stand for themselves; everything else is an object with one key.
    """

    def __init__(self) -> None:
        self.arrays: dict[str, Any] = {"history": None}  # a name taken
        self.texts: dict[str, list[str]] = {}
        self.beside = 0  # bytes that readers will make of arrays and texts beside themselves

    def encode(self, value: Any, what: str = "", name: str = "value") -> Any:
        """``what`` and ``name`` say in messages and in the file whose value it is."""
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": str(value)}
        if kind in (list, tuple):
            kinds = set(map(type, value)) if len(value) > _MANY_TEXTS else set()
            if kind is list and kinds == {str}:
                return {"texts": self._keep(self.texts, value, name)}
            if kind is list and kinds == {int} and max(map(abs, value)) < 2**63:
                self.beside += _PER_INTEGER * len(value)
                return {"integers": self._keep(self.arrays, np.array(value, np.int64), name)}
            items = [self.encode(item, what, name) for item in value]
            return items if kind is list else {"tuple": items}
        if kind in (set, frozenset):
            return {kind.__name__: [self.encode(item, what, name) for item in value]}
        if isinstance(value, Mapping):
            pairs = [[self.encode(key, what, name), self.encode(item, what, name)] for key, item in value.items()]
            return {"dict": pairs}
        if isinstance(value, np.generic):
            scalar = "str" if isinstance(value, np.str_) else value.dtype.name
            if scalar in _SCALARS:
                return {"numpy": [scalar, self.encode(value.item(), what, name)]}
        if isinstance(value, np.ndarray):
            return self._array(value, what, name)
        if kind in _LOSSES.values():
            return {
                "loss": [
                    value.name,
                    *(float(getattr(value, each)) for each in ("base", "epsilon") if hasattr(value, each)),
                ]
            }
        raise ModelFileError(
            f"{what} {value!r:.80} is of type {kind.__name__}; a model file keeps str, int, float, bool, NumPy "
            "scalars of these kinds and tuples, lists, sets and dicts of these"
            + ("; give dates and times as text or numbers" if is_time(value) else "")
            + (", and of losses those of this library alone: others are code" if isinstance(value, MarginLoss) else "")
        )

    def _array(self, array: Any, what: str, name: str) -> Any:
        if array.dtype.kind in "biuf" and array.dtype.itemsize <= 8:
            return {"array": self._keep(self.arrays, array, name)}
        if array.dtype.kind == "U" and array.ndim == 1 and array.nbytes <= _MOST_TEXT_BYTES:
            self.beside += array.nbytes
            return {"text_array": self.encode(array.tolist(), what, name)}
        if array.dtype.kind == "O" and array.ndim == 1:
            return {"object_array": [self.encode(item, what, name) for item in array.tolist()]}
        raise ModelFileError(
            f"{what}: a model file cannot keep an array of {array.dtype} of shape {array.shape}"
            + ("; give dates and times as text or numbers" if array.dtype.kind in "mM" else "")
        )

    def _keep(self, where: dict[str, Any], value: Any, name: str) -> str:
        free, n = name.lower(), 1
        while free in self.arrays or free in self.texts:
            n += 1
            free = f"{name.lower()}_{n}"
        where[free] = value
        return free


class _Decoder:
    """The way back; what makes no sense is a LookupError, TypeError or ValueError.

    A name may be mentioned once, for some mentions make new lists or arrays: a header of a kilobyte could ask for
    gigabytes of them. What they make is taken from the room that a file of its size may fill.
    """

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self._room = contents.room
        self._mentioned: set[str] = set()

    def take(self, needed: int) -> None:
        """Room for so many bytes; a ValueError where there is none."""
        self._room -= needed
        if self._room < 0:
            raise ValueError("what they hold would take more memory than a file of its size may fill")

    def _named(self, name: str, among: dict[str, Any]) -> Any:
        if name in self._mentioned:
            raise ValueError(f"{name!r:.40} is mentioned twice")
        self._mentioned.add(name)
        return among[name]

    def decode(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        ((kind, inner),) = value.items()
        if kind == "array":
            return self._named(inner, self._contents.arrays)
        if kind == "integers":
            array = self._named(inner, self._contents.arrays)
            if array.ndim != 1 or array.dtype.kind not in "iu":
                raise ValueError(f"{inner!r:.40} is no list of integers")
            self.take(_PER_INTEGER * len(array))
            return array.tolist()
        if kind == "texts":
            return self._named(inner, self._contents.texts)
        if kind == "float":
            return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[inner]
        if kind == "dict":
            return {self.decode(key): self.decode(item) for key, item in inner}
        if kind == "numpy":
            name, plain = inner
            return _SCALARS[name](self.decode(plain))
        if kind == "loss":
            name, *parameters = inner
            return _LOSSES[name](*parameters)
        items = self.decode(inner)
        if not isinstance(items, list):
            raise TypeError(f"a {kind!r:.40} must be a list")
        if kind == "text_array":
            needed = 4 * len(items) * max(map(len, items), default=0)
            if needed > _MOST_TEXT_BYTES:
                raise ValueError("an array of text is too large")
            self.take(needed)
            return np.array(items, np.str_)
        if kind == "object_array":
            out = np.empty(len(items), object)
            out[:] = items
            return out
        return _COLLECTIONS[kind](items)


_LOSSES: dict[str, Any] = {name: type(loss) for name, loss in MARGIN_LOSSES.items() if loss.convex} | {
    loss.name: loss for loss in (EpsilonInsensitive, SquaredEpsilonInsensitive)
}
_COLLECTIONS: dict[str, Any] = {"tuple": tuple, "set": set, "frozenset": frozenset}
_SCALARS: dict[str, Any] = {
    "bool": np.bool_,
    "str": np.str_,
    **{f"float{bits}": getattr(np, f"float{bits}") for bits in (16, 32, 64)},
    **{f"{kind}{bits}": getattr(np, f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
}
