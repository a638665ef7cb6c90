"""What all estimators share: common parameters, the call of the solver, warm starts, progress, honest endings."""

from __future__ import annotations

import hashlib
import math
import numbers
import os
import sys
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from functools import wraps
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ._notes import without_idle_advice
from ._progress import Progress
from .errors import DataError
from .problem import Certificate, Scaling
from .solvers import BY_NAME, by_name, is_solver
from .solvers.base import WarmStart
from .solvers.loop import Record, Result, minimize
from .solvers.options import check_bool, check_option, shown
from .solvers.oracle import Oracle
from .status import Status
from .structures.values import as_reals, by_position, check_unmasked, is_no_list, is_real, loss_fault

__all__ = [
    "LabelIndex", "MarginEstimator", "check_bool", "check_fitted", "check_label", "check_lengths", "check_number",
    "check_one_kind", "check_sample_weight", "check_targets", "choose_solver", "costs_of_labels", "count_of",
    "labels_as_given", "resolve_n_jobs", "shares", "undone_if_failed", "warn_caller",
]  # fmt: skip

Reals = NDArray[np.float64]
_INEXACT = 2**53  # from here on floats leave integers out
P = ParamSpec("P")
T = TypeVar("T")


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn of what happens in the first line of the stack that is not of this package: most often the call of ``fit``.

    A level that is counted by hand is right for one way from there to here, and estimators have several.
    """
    package = f"{__package__}."
    frame: Any = sys._getframe(1)
    level = 3
    while frame.f_back is not None and f"{frame.f_back.f_globals.get('__name__', '')}.".startswith(package):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


def undone_if_failed(method: Callable[P, T]) -> Callable[P, T]:
    """Decorator of ``fit`` and ``partial_fit``: what fails leaves the fitted attributes as they were.

    Else classes, names of features and the like of data that were refused would stand beside older weights. A fit is
    done when it has stored its certificate, a piece of a stream when its rows have been counted: what is raised after
    that, such as the KeyboardInterrupt that was held back, undoes nothing.
    """

    @wraps(method)
    def whole(*args: P.args, **options: P.kwargs) -> T:
        with _undone_if_failed(args[0]):
            return method(*args, **options)

    return whole


@contextmanager
def _undone_if_failed(estimator: Any) -> Iterator[None]:
    state = vars(estimator)
    before = {name: value for name, value in state.items() if _is_fitted(name)}
    try:
        yield
    except BaseException:
        same = all(state.get(name) is before.get(name) for name in ("certificate_", "_streams"))
        if same and state.get("n_samples_seen_") == before.get("n_samples_seen_"):
            for name in [name for name in state if _is_fitted(name)]:
                del state[name]
            state.update(before)
        raise


def _is_fitted(name: str) -> bool:
    """Whether a fit leaves an attribute that is worth keeping: what a warm start needs is as large as the data."""
    return (name.endswith("_") or name.startswith("_")) and name != "_warm"


class LabelIndex:
    """Labels of any hashable type and their numbers: sorted where they can be sorted, else by first occurrence."""

    def __init__(self, labels: Iterable[Hashable]) -> None:
        self.labels: list[Any] = list(dict.fromkeys(labels))
        try:
            ordered: list[Any] = sorted(self.labels)
            if all(a < b for a, b in pairwise(ordered)):  # sets have no such order: ``<`` is "is part of" there
                self.labels = ordered
        except TypeError:
            pass
        self.number = {label: k for k, label in enumerate(self.labels)}

    def __len__(self) -> int:
        return len(self.labels)

    def numbers(self, labels: Iterable[Hashable]) -> NDArray[np.int64]:
        """The number of each label, -1 for one that is not known."""
        return np.array([self.number.get(label, -1) for label in labels], np.int64)


class MarginEstimator(BaseEstimator):
    """Base of the estimators; subclasses list the parameters in their own ``__init__``."""

    C: float
    tol: float
    max_passes: int
    max_time: float | None
    solver: Any
    n_jobs: int | None
    random_state: Any
    verbose: int
    warm_start: bool
    callback: Callable[[Record, Reals], Any] | None
    _warm: tuple[Any, Any]

    certificate_: Certificate
    history_: list[Record]
    solver_: str
    n_mistakes_: NDArray[np.int64]
    _switches: tuple[str, ...] = ("fit_intercept", "penalize_intercept", "warm_start", "functions", "empty")
    _at_once = "it learns from all its data at once"  # where there is no partial_fit
    _quiet = False  # set where an early end is no surprise, such as in a comparison of solvers
    notes_: tuple[str, ...]

    def _check_parameters(self) -> None:
        self._check_C()
        check_number(self, "tol", low=0.0)
        check_number(self, "max_passes", low=1, integral=True)
        if self.max_time is not None:
            check_number(self, "max_time", low=0.0)
        check_bool(self, *(name for name in self._switches if hasattr(self, name)))
        if not isinstance(self.verbose, numbers.Integral | np.bool_):
            raise ValueError(f"{type(self).__name__}: verbose must be an integer, not {shown(self.verbose)}")
        if self.callback is not None and not callable(self.callback):
            raise ValueError(f"callback must be callable, not {shown(self.callback)}")
        if hasattr(self, "n_jobs"):
            resolve_n_jobs(self.n_jobs)
        seed = getattr(self, "random_state", None)
        if not (seed is None or (isinstance(seed, numbers.Integral) and 0 <= int(seed) < 2**32)):
            check_random_state(seed)  # making a generator for nothing takes as long as a pass over a small set

    def _check_C(self) -> None:
        check_number(self, "C", low=0.0, low_allowed=False)
        Scaling.C(self.C)

    def _optimize(
        self,
        oracle: Oracle,
        sample_weight: Reals | None,
        initial: Reals | None = None,
        *,
        order: NDArray[np.int64] | None = None,
    ) -> Result:
        """Run the solver; warns when it stopped short, remembers what a warm start needs.

        The caller stores the weights, then calls :meth:`_finish`, which raises the KeyboardInterrupt that was held
        back.
        """
        solver = self._structured_solver()
        warm = None
        fingerprint: Any = _fingerprint(oracle) if self.warm_start else ()
        if initial is not None and len(initial) == oracle.n_weights:
            planes = None
            if fingerprint and getattr(self, "_warm", ("", None))[0] == fingerprint:
                planes = self._warm[1]
            warm = WarmStart(np.asarray(initial, np.float64), planes)

        def run(**limits: Any) -> Result:
            return minimize(
                oracle,
                solver,
                C=self.C,
                sample_weight=sample_weight,
                order=order,
                tol=self.tol,
                random_state=self._seed(),
                n_jobs=resolve_n_jobs(self.n_jobs),
                warm_start=warm,
                **limits,
            )

        result = self._watched(run)
        if self.warm_start:
            self._warm = (fingerprint, result.planes)
        return result

    def _structured_solver(self) -> Any:
        return choose_solver(self, by_name, "structured machines", own=True)

    def _solver_names(self) -> list[str]:
        """What ``solver`` may be, for the problem as the parameters state it."""
        return ["auto", *BY_NAME]

    def _seed(self) -> int | None:
        """``random_state`` as the seed of a generator."""
        seed = self.random_state
        if seed is None or isinstance(seed, numbers.Integral):
            return None if seed is None else int(seed)
        return int(check_random_state(seed).randint(2**31 - 1))

    def _watched(self, run: Callable[..., Result]) -> Result:
        """Call ``run`` with the limits, and with the callback that shows progress and asks the user's own."""
        progress = Progress(self.verbose, self.callback, type(self).__name__)
        with progress:
            result = run(max_passes=self.max_passes, max_time=self.max_time, callback=progress.callback)
        progress.close(result.certificate)
        return result

    def _keep_notes(self, notes: Iterable[str], told: set[str] | None = None) -> None:
        """Take over what there is to say about the data, see :mod:`maxmargin._notes`, and show it after the figures.

        What an earlier one of several fits has ``told`` is not shown again.
        """
        self.notes_ = without_idle_advice(notes)
        if self.verbose:
            for note in self.notes_:
                if told is None or note not in told:
                    self._tell(note)
        if told is not None:
            told.update(self.notes_)

    def _tell(self, note: str) -> None:
        print(f"note: {note}", file=sys.stderr, flush=True)

    def _finish(self, result: Result, problems: Sequence[Result] | None = None) -> None:
        """Store the figures, those of a perceptron for each of several problems; then speak of an early end."""
        mistakes = [each.n_mistakes for each in problems or [result]]
        self._forget("n_mistakes_", "_streams", "n_samples_seen_")  # of a perceptron, or a stream, before
        if None not in mistakes:
            self.n_mistakes_ = np.array(mistakes, np.int64)
        self.certificate_ = certificate = result.certificate
        self.history_ = result.history
        self.solver_ = certificate.solver
        self.n_iter_ = certificate.passes
        status = certificate.status
        if status is Status.INTERRUPTED:
            raise KeyboardInterrupt(f"{type(self).__name__}.fit was interrupted; it keeps the best model so far")
        if not (status.ok or status is Status.STOPPED or self._quiet):
            gap = (
                ""
                if "perceptron" in certificate.solver or not certificate.bounded
                else f" at a relative gap of {certificate.relative_gap:.2g} (tol {self.tol:g})"
            )
            warn_caller(
                f"{type(self).__name__} {status.ending}{gap} after {certificate.passes} passes. "
                f"{self._advice(certificate)}",
                ConvergenceWarning,
            )

    def _advice(self, certificate: Certificate) -> str:
        """What to do about an early end."""
        if "perceptron" in certificate.solver and certificate.status is Status.PASS_LIMIT:
            return "Every pass made mistakes: raise max_passes, or take another solver if the data are not separable."
        ended = certificate.status in (Status.PASS_LIMIT, Status.STANDSTILL)
        if certificate.solver == "gradient_descent" and ended and self._has_kinks:
            return f"{certificate.advice} Steps are short beside kinks of a loss: solver='bundle' is for those."
        return certificate.advice

    @property
    def _has_kinks(self) -> bool:
        from .losses import MARGIN_LOSSES, SquaredEpsilonInsensitive

        loss, named = getattr(self, "loss", None), {SquaredEpsilonInsensitive.name: SquaredEpsilonInsensitive()}
        if isinstance(loss, str):
            loss = {**MARGIN_LOSSES, **named}.get(loss)
        return not getattr(loss, "smooth", False)

    def _forget(self, *names: str) -> None:
        """Drop attributes of an earlier fit with other parameters."""
        for name in names:
            self.__dict__.pop(name, None)

    def _feature_names(self) -> list[Any] | None:
        """``feature_names_in_`` as a model file keeps them."""
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else list(names.tolist())

    def _take_feature_names(self, names: Any, n_features: int) -> None:
        """Take over what :meth:`_feature_names` gave; a ValueError says what does not fit."""
        if names is None:
            return
        if len(names) != n_features:
            raise ValueError(f"{len(names)} names for {n_features} features")
        if not all(isinstance(name, str) for name in names):
            raise ValueError("the names of the features must be text")
        self.feature_names_in_ = np.array(names, dtype=object)

    if not TYPE_CHECKING:  # else every name would be an attribute

        def __getattr__(self, name: str) -> Any:
            """Who asks for a ``partial_fit`` where there is none hears who has one; asked for what is missing only."""
            if name != "partial_fit" or hasattr(type(self), name):
                return object.__getattribute__(self, name)  # raises, with its own reason
            raise AttributeError(
                f"{type(self).__name__} has no partial_fit: {self._at_once}; SVMClassifier, MulticlassSVM, "
                "SVMRegressor, SVMRanker, SequenceSVM and StructuredSVM learn from a stream"
            )

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        state.pop("_warm", None)  # planes are as large as the data; a pickle is for prediction
        return state


def choose_solver(estimator: MarginEstimator, make: Callable[[str], Any], here: str, *, own: bool = False) -> Any:
    """The solver that the parameter ``solver`` names, or is.

    Parameters
    ----------
    make : callable
        The solver of each of the names that the estimator knows.
    here : str
        What the estimator has to solve, as it stands in messages.
    own : bool
        Whether to take an object that is none of this library's, if it has a ``name`` and can ``start``, at its word.

    Raises
    ------
    ValueError
        For a solver of this library that is for other problems (says which), and for what is none; lists the names.
    """
    solver, names = estimator.solver, estimator._solver_names()
    if isinstance(solver, str):
        if solver in names:
            return make(solver)
    elif isinstance(solver, tuple({type(make(name)) for name in names})):
        return solver
    choice = f"solver must be one of {sorted(names)} or an object of theirs"
    who, others = type(estimator).__name__, purposes(solver)
    if others:
        raise ValueError(f"{who}: solver {solver!r:.100} is not for {here}: it is for {_listed(others)}; {choice}")
    if isinstance(solver, str):
        raise ValueError(f"{who}: unknown solver {solver!r:.80}; {choice}")
    if own and is_solver(solver):
        return solver
    raise ValueError(f"{who}: {choice}, not {solver!r:.80}")


def purposes(solver: Any) -> list[str]:
    """What a solver of this library is for, given by name or as an object; nothing of any other."""
    from ._kernel_machine import kernel_solvers
    from ._machine import _SOLVERS
    from .multiclass import solvers_by_rows
    from .ranking import PAIR_SOLVERS
    from .solvers.perceptron import Perceptron

    kinds: dict[str, Mapping[str, Any]] = {
        "linear machines": _SOLVERS,
        "machines with a kernel or nu": kernel_solvers(1.0),
        "structured machines": {name: by_name(name) for name in ["auto", *BY_NAME]},
        "MulticlassSVM": solvers_by_rows(),
        "ranking": PAIR_SOLVERS,
    }

    def among(solvers: Mapping[str, Any]) -> bool:
        if isinstance(solver, str):
            return solver in solvers
        return isinstance(solver, tuple({type(each) for each in solvers.values()}))

    found = [kind for kind, solvers in kinds.items() if among(solvers)]
    perceptrons = {name: each for name, each in _SOLVERS.items() if isinstance(each, Perceptron)}
    return ["linear classification", *found[1:]] if among(perceptrons) else found


def _listed(names: list[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def check_fitted(estimator: Any, attribute: str) -> None:
    """scikit-learn's ``check_is_fitted``, which is asked where the attribute is missing: it looks at all tags first."""
    if attribute not in vars(estimator):
        check_is_fitted(estimator, attribute)


def check_number(estimator: Any, name: str, *, low: float, low_allowed: bool = True, integral: bool = False) -> None:
    """Refuse a parameter that is no finite number (or integer) of the range asked for."""
    allowed = f"{'an integer' if integral else 'a finite number'} {'>=' if low_allowed else '>'} {low:g}"

    def good(number: float) -> bool:
        return (number >= low if low_allowed else number > low) and (math.isfinite(number) or name == "max_time")

    check_option(estimator, name, allowed, good, integral=integral)


def resolve_n_jobs(n_jobs: int | None) -> int:
    """Number of threads: None is 1, negative numbers count from the number of cores as in joblib."""
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, numbers.Integral) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ValueError(f"n_jobs must be a non-zero integer or None, not {shown(n_jobs)}")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return int(n_jobs) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))


def check_sample_weight(sample_weight: ArrayLike | None, n: int, use: str = "learn from") -> Reals | None:
    """Weights of examples as float64; ``use`` is what there is to do with them, for messages.

    Raises
    ------
    DataError
        When they are no numbers, their number is wrong, one is negative or not finite, or none is positive.
    """
    if sample_weight is None:
        return None
    out = as_reals(sample_weight, "sample_weight")
    if out.ndim == 0:
        out = np.full(n, float(out))
    if out.shape != (n,):
        raise DataError(f"sample_weight has shape {out.shape}; it needs one weight for each of the {n} examples")
    bad = np.flatnonzero(~(np.isfinite(out) & (out >= 0)))
    if len(bad):
        raise DataError(f"sample_weight[{bad[0]}] is {out[bad[0]]}; weights must be finite and at least 0")
    if not (out > 0).any():
        raise DataError(f"sample_weight is zero for every example: there is nothing to {use}")
    return out


def shares(sample_weight: ArrayLike, y: Any) -> Reals:
    """Weights of the examples of a score, checked as those of a fit, as shares of the largest: their sum is finite."""
    out = check_sample_weight(sample_weight, len(y), "score")
    assert out is not None
    return np.asarray(out / out.max())


def check_targets(y: Any) -> Any:
    """Targets or grades as float64; booleans count for 0 and 1. For None and complex ones scikit-learn has lines.

    Raises
    ------
    DataError
        When they are no numbers, or missing: text is none, also that of numbers. Names the first.
    """
    if y is None or getattr(getattr(y, "dtype", None), "kind", "") == "c":
        return y
    check_unmasked(y, "y")
    try:
        out = as_reals(y, "y")
    except DataError:
        given = by_position(y)
        if not isinstance(given, list | tuple):
            given = np.asarray(given)
            given = list(given) if given.ndim == 1 else []
        for i, value in enumerate(given):
            if np.ndim(value) == 0 and not is_real(value):
                shown = " ".join(repr(value.item() if isinstance(value, np.str_) else value).split())
                raise DataError(f"y must hold real numbers, not {shown:.40} (y[{i}])") from None
        raise
    missing = np.argwhere(np.isnan(out))
    if len(missing):
        raise DataError(f"y[{missing[0, 0]}] is NaN: the number is missing; leave such rows out")
    return out


def _fingerprint(oracle: Oracle) -> tuple[Any, ...]:
    """Hash of the encoded examples, and the functions of their structure; nothing where there is no way to know.

    Planes of an earlier fit, which hold losses and features, are reused for the very same ones only.
    """
    digest = hashlib.blake2b(digest_size=16)
    if not len(oracle.pack.target_start):  # plain Python structures
        return ()
    for array in oracle.pack:
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return digest.hexdigest(), *getattr(oracle, "functions", ())


def check_one_kind(y: Any) -> None:
    """Refuse classes of several kinds, such as text and numbers: NumPy would make text of all of them.

    Parameters
    ----------
    y : list, tuple or array-like
        As given, before NumPy has made an array of a list.

    Raises
    ------
    DataError
        Names two of the kinds, and one label of each.
    """
    if not isinstance(y, list | tuple):
        y = np.asarray(y)
        if y.dtype != object:
            return
        y = y.ravel().tolist()
    kinds = {kind: _kind_of(kind) for kind in set(map(type, y))}
    if len(set(kinds.values())) > 1:
        names = [kinds[type(label)] for label in y]
        name = "text" if "text" in names else names[0]
        one, other = y[names.index(name)], next(label for label, kind in zip(y, names, strict=True) if kind != name)
        raise DataError(
            f"y mixes {name} with other labels ({one!r:.40} and {other!r:.40}); give all of them as one kind"
        )


def _kind_of(label_type: type) -> str:
    if issubclass(label_type, str):
        return "text"
    return "numbers" if issubclass(label_type, numbers.Real | np.bool_) else label_type.__name__


def labels_as_given(y: Any) -> list[Any] | None:
    """Labels that are neither all text nor all numbers: tuples, sets, bytes, members of an Enum, None among others.

    Text that ends in a null character, which NumPy drops, and numbers that it cannot keep are among them.

    Parameters
    ----------
    y : list, tuple or array-like
        As given, before NumPy has made an array of a list.

    Returns
    -------
    list of n labels, or None
        None where ``y`` holds nothing but text, or nothing but numbers, has more than one dimension, or mixes text and
        numbers: all that is for :func:`check_one_kind` and for scikit-learn to judge.

    Raises
    ------
    DataError
        When one of the labels cannot be one: names the first.
    """
    if isinstance(y, list | tuple):
        labels = list(y)
        several = bool(labels) and not any(isinstance(label, Hashable) for label in labels)  # rows of a matrix
    else:
        array = np.asarray(y)
        if array.ndim != 1 or array.dtype.kind not in "OSc":
            return None
        labels, several = array.tolist(), False
    kinds = {_kind_of(kind) if not issubclass(kind, Enum) else "members" for kind in set(map(type, labels))}
    if several or kinds >= {"text", "numbers"}:
        return None
    if kinds == {"text"} and not any(label.endswith("\0") for label in labels):
        return None
    if kinds == {"numbers"} and _is_exact(np.asarray(labels), labels):
        return None
    for i, label in enumerate(labels):
        check_label(label, f"y[{i}]")
    return labels or None


def _is_exact(array: NDArray[Any], labels: list[Any]) -> bool:
    """Whether NumPy keeps numbers as they are: no fractions, no integers of any size, nor large ones as floats."""
    if array.dtype.kind != "f" or not (np.abs(array) >= _INEXACT).any():
        return array.dtype != object
    as_kept = zip(labels, array.tolist(), strict=True)  # Python compares integers and floats as they are
    return all(not isinstance(label, numbers.Integral) or int(label) == kept for label, kept in as_kept)


def check_label(label: Any, where: str) -> None:
    """Refuse what cannot be a label.

    Raises
    ------
    DataError
        When it is not hashable, or a sign of a missing value: begins with ``where``.
    """
    standing = _standing(label)
    if standing == "missing":
        raise missing_label(label, where)
    if standing == "none":
        raise DataError(f"{where}: {' '.join(repr(label).split()):.60} cannot be a label; labels are hashable values")


def is_missing(label: Any) -> bool:
    """Whether it is not equal to itself, or does not know, as NaN and other signs of a missing value."""
    return _standing(label) == "missing"


def _standing(label: Any) -> Literal["label", "missing", "none"]:
    """Whether it is a label, stands for a missing one, or cannot be one."""
    if type(label) in (str, int):  # the usual ones
        return "label"
    try:
        hash(label)
    except (TypeError, ValueError):
        return "none"
    try:
        return "label" if label == label else "missing"
    except TypeError:  # what does not know
        return "missing"
    except ValueError:  # what has no one answer, as an array
        return "none"


def missing_label(label: Any, where: str) -> DataError:
    """What to say of a label that is missing."""
    return DataError(f"{where}: {' '.join(repr(label).split()):.60} cannot be a label: it stands for a missing label")


def costs_of_labels(loss: Callable[[Any, Any], Any], labels: Sequence[Any]) -> Reals:
    """The matrix of ``loss(true, predicted)``, float64 of shape (n, n) for n labels.

    Raises
    ------
    DataError
        When a value is no number, not finite, negative, or not 0 for equal labels: names both labels.
    """
    costs = np.zeros((len(labels), len(labels)))
    for i, true in enumerate(labels):
        for j, predicted in enumerate(labels):
            value = loss(true, predicted)
            fault = loss_fault(value, of_truth=i == j)
            if fault:
                shown = [" ".join(repr(each).split()) for each in (true, predicted, value)]
                raise DataError(f"loss({shown[0]:.40}, {shown[1]:.40}) is {shown[2]:.40}: {fault}")
            costs[i, j] = float(value)
    return costs


def check_lengths(X: Any, y: Any, what: str = "sequences") -> None:
    """Equal numbers of inputs and outputs, at least one; ``what`` they are in messages.

    Raises
    ------
    DataError
        When the numbers differ or are 0, or when one of the two is no collection.
    """
    n, n_outputs = count_of(X, "X", what), count_of(y, "y", what)
    if n != n_outputs:
        raise DataError(f"X has {n} {what} and y has {n_outputs}; they must be equal")
    if n == 0:
        raise DataError("X is empty: there is nothing to learn from")


def count_of(values: Any, name: str, what: str) -> int:
    """How many entries a collection has, one for each of ``what``; a DataError where it is none, or has no order."""
    shape = getattr(values, "shape", None)
    if isinstance(shape, tuple) and len(shape):
        return int(shape[0])
    if shape is not None or is_no_list(values) or not hasattr(values, "__len__"):
        raise DataError(f"{name} must be a list with an entry for each of the {what}, not a {type(values).__name__}")
    return len(values)
