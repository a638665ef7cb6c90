"""What the estimators share that learn from a stream, see :mod:`maxmargin.solvers.linear.stream`.

For machines with structured outputs see :mod:`maxmargin.solvers.structured_stream`.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from functools import update_wrapper, wraps
from types import MethodType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from ._checked_rows import checked_rows
from ._class_labels import KnownLabels, all_classes
from ._estimator import check_sample_weight
from ._kernel_machine import KernelMachine
from .data._mapped_rows import rows_of
from .errors import RuledOutError
from .losses import MARGIN_LOSSES, Hinge, Logistic, MarginLoss, Perceptron, SquaredHinge, margin_loss
from .solvers.linear.stream import Stream
from .solvers.loop import check_costs
from .solvers.options import shown
from .solvers.ranking.stream import QueryStream
from .solvers.subgradient import Pegasos, Subgradient
from .structures.base import check_row_magnitude

__all__ = [
    "Streams", "can_stream", "check_stream_costs", "check_stream_solver", "check_stream_weight", "class_piece",
    "for_streams", "stream_loss", "used_rows",
]  # fmt: skip

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
_OF_FIT = (
    "certificate_", "history_", "support_", "support_vectors_", "dual_coef_", "_sparse_dual", "dual_residual_",
    "n_support_", "kernel_", "notes_", "n_mistakes_", "items_", "strengths_", "_warm",
)  # fmt: skip


class for_streams:  # a decorator
    """A ``partial_fit`` that is there only if ``check`` lets an estimator pass, as ``available_if`` of scikit-learn.

    That one says "has no attribute" and leaves the reason to the traceback's first half; here the reason is the error.

    Parameters
    ----------
    check : callable
        Takes the estimator, and raises an AttributeError that names the parameter which leaves none.
    """

    def __init__(self, check: Callable[[Any], Any]) -> None:
        self._check = check

    def __call__(self, method: Callable[..., Any]) -> Any:
        self._method = method
        return update_wrapper(self, method)

    def __get__(self, estimator: Any, owner: Any = None) -> Any:
        if estimator is not None:
            self._ask(estimator)
            return MethodType(self._method, estimator)

        @wraps(self._method)
        def method(estimator: Any, *args: Any, **options: Any) -> Any:
            self._ask(estimator)
            return self._method(estimator, *args, **options)

        return method

    def _ask(self, estimator: Any) -> None:
        try:
            self._check(estimator)
        except AttributeError as error:
            raise RuledOutError(str(error)) from None


class Streams:
    """The streams of one estimator, one for each of its problems.

    Parameters
    ----------
    estimator : estimator with a partial_fit
    each : list of Stream
    start : float
        Taken off the targets, and given back to the intercept.
    """

    def __init__(self, estimator: Any, each: Sequence[Stream], start: float = 0.0) -> None:
        self.parameters, self.each, self.start = _parameters(estimator), list(each), start

    @classmethod
    def of_rows(
        cls, estimator: Any, n_problems: int, start: float = 0.0, kind: Callable[[int, float, str], Stream] = Stream
    ) -> Streams:
        """Those of a machine with one score a row, of this ``kind``."""
        d, C = estimator.n_features_in_, float(estimator.C)
        return cls(estimator, [kind(d, C, estimator._intercept) for _ in range(n_problems)], start)

    @classmethod
    def of_structure(cls, estimator: Any, n_weights: int) -> Streams:
        """That of a machine with structured outputs."""
        from .solvers.structured_stream import StructuredStream

        intercepts = getattr(estimator, "_stream_intercepts", {})
        return cls(estimator, [StructuredStream(n_weights, float(estimator.C), **intercepts)])

    def take_examples(
        self, estimator: Any, oracle: Any, weight: Reals, at: int = 0, squares: Reals | None = None
    ) -> None:
        """The next piece of a machine with structured outputs, see :mod:`maxmargin.solvers.structured_stream`."""
        stream: Any = self.each[0]
        before = stream.seen
        with self.piece(estimator, int(np.count_nonzero(weight)), lambda: stream.seen - before):
            stream.take_examples(oracle, weight, at, squares)

    def check(self, estimator: Any) -> None:
        """Refuse parameters that were changed while the stream went on."""
        for name, value in _parameters(estimator).items():
            if not _same(value, before := self.parameters[name]):
                now, then = (" ".join(shown(each).split()) for each in (value, before))
                raise ValueError(
                    f"{type(estimator).__name__}: {name} is {now} and was {then} when this stream began; set it back, "
                    "or begin another stream with a clone"
                )

    def weights(self) -> tuple[Reals, Reals]:
        """Weights of shape ``(n_problems, d)`` and intercepts."""
        w = np.array([stream.weights() for stream in self.each])
        d = self.each[0].steps.d
        return w[:, :d].copy(), w[:, d] + self.start if w.shape[1] > d else np.zeros(len(w))

    @contextmanager
    def piece(self, estimator: Any, n_rows: int, taken: Callable[[], int]) -> Iterator[None]:
        """While a piece is taken: what was learned is the estimator's afterwards, also of a part of it after Ctrl-C.

        Parameters
        ----------
        estimator : estimator with a partial_fit
        n_rows : int
            Rows or examples of the piece that count.
        taken : callable
            How many of them were taken where not all were. An end before the first one leaves the estimator as it was.
        """
        whole = False
        try:
            yield
            whole = True
        finally:
            count = n_rows if whole else taken()
            if whole or count:
                with _uncut():
                    estimator._streams = self
                    estimator._take_weights(self)
                    self.take_over(estimator, count)

    def take_over(self, estimator: Any, n_rows: int) -> None:
        """What the estimator says of itself after a piece of so many rows that count; a fit before is forgotten."""
        estimator._forget(*_OF_FIT)
        estimator.solver_ = "subgradient"
        estimator.solver_reason_ = f"partial_fit sees each {self.each[0].unit} once"
        estimator.n_iter_ = 1
        estimator.n_samples_seen_ = getattr(estimator, "n_samples_seen_", 0) + n_rows


def stream_parts(estimator: Any) -> dict[str, Any]:
    """What a model file keeps of a stream, by name: another process goes on as if nothing had happened.

    Raises
    ------
    ValueError
        When parameters have been changed since the stream began: the file would have the new ones.
    """
    _ = estimator.partial_fit  # refuses what would rule it out after loading
    streams: Streams = estimator._streams
    streams.check(estimator)
    seen, last, mean, figures = zip(*(stream.state() for stream in streams.each), strict=True)
    return {
        "n_samples_seen": int(estimator.n_samples_seen_), "start": float(streams.start), "seen": list(seen),
        "last": np.array(last), "mean": np.array(mean), "figures": np.array(figures),
    }  # fmt: skip


def take_stream_parts(estimator: Any, parts: dict[str, Any]) -> None:
    """Take over what :func:`stream_parts` gave; a ValueError says what does not fit.

    The estimator has its parameters and weights already.
    """
    _ = estimator.partial_fit  # an AttributeError where there is none
    count, seen, arrays = parts["n_samples_seen"], parts["seen"], []
    streams = _new_streams(estimator, float(parts["start"]))
    each = streams.each
    if not all(type(n) is int and 0 <= n < 2**63 for n in (count, *seen)) or len(seen) != len(each):
        raise ValueError("numbers of rows that are none")
    shape = len(each), each[0].n_weights
    for name, wanted in (("last", shape), ("mean", shape), ("figures", (len(each), len(each[0].first_figures)))):
        arrays.append(np.ascontiguousarray(parts[name], np.float64))
        if arrays[-1].shape != wanted:
            raise ValueError(f"{name} of shape {arrays[-1].shape}; it must be {wanted}")
    for stream, n, *state in zip(each, seen, *arrays, strict=True):
        stream.go_on_from(n, *state)
    estimator._streams = streams
    streams.take_over(estimator, count)


def _new_streams(estimator: Any, start: float) -> Streams:
    """Streams before their first piece, for the weights that the estimator has."""
    if hasattr(estimator, "_n_weights"):
        return Streams.of_structure(estimator, estimator._n_weights)
    kind = Stream if isinstance(estimator, KernelMachine) else QueryStream
    return Streams.of_rows(estimator, len(np.atleast_2d(estimator.coef_)), start, kind)


def _parameters(estimator: Any) -> dict[str, Any]:
    names = (
        "structure", "C", "loss", "epsilon", "multi_class", "fit_intercept", "penalize_intercept", "intercept_scaling",
        "label_weight", "forbidden",
    )  # fmt: skip
    found = {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}
    # what can be changed in place is to be seen as changed
    changeable = (dict, list, set, np.ndarray)
    return {name: deepcopy(value) if isinstance(value, changeable) else value for name, value in found.items()}


@contextmanager
def _uncut() -> Iterator[None]:
    """What Ctrl-C must not cut in two: it is served afterwards."""
    known = signal.getsignal(signal.SIGINT) is not None  # None: a handler that Python cannot put back
    if threading.current_thread() is not threading.main_thread() or not known:
        yield
        return
    pressed: list[tuple[int, Any]] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if pressed and callable(before):
            before(*pressed[0])


def _same(value: Any, other: Any) -> bool:
    """Whether two values of a parameter are equal: numbers, names, arrays, or objects."""
    if value is other:
        return True
    try:
        return bool(value == other)
    except ValueError:  # of arrays
        return np.array_equal(np.asarray(value), np.asarray(other))


def can_stream(estimator: KernelMachine) -> bool:
    """Whether there is a ``partial_fit``: for :class:`for_streams`.

    Raises
    ------
    AttributeError
        Names the parameter that leaves none.
    """
    name = type(estimator).__name__
    if estimator._by_kernel:
        what = f"kernel={estimator.kernel!r}" if estimator.nu is None else "nu"
        raise AttributeError(f"{name}: partial_fit is for kernel='linear', not for {what}")
    check_stream_solver(estimator)
    check_stream_weight(estimator)
    loss: Any = getattr(estimator, "loss", None)
    if isinstance(loss, MarginLoss) or (isinstance(loss, str) and loss in MARGIN_LOSSES):
        with suppress(ValueError):  # what is no loss of the estimator is refused by the call
            stream_loss(loss)
    return True


def check_stream_solver(estimator: Any) -> None:
    """An AttributeError for a ``solver`` that is none for streams: says how a stream goes, and why others do not."""
    solver = estimator.solver
    if isinstance(solver, str) and solver in ("auto", "subgradient"):
        return
    why = ""
    if isinstance(solver, Pegasos | Subgradient) or (isinstance(solver, str) and solver == "pegasos"):
        why = ": a stream has steps by the rows seen so far and a polynomial mean of the weights, and no other options"
        if not isinstance(solver, Subgradient):
            why += " (a step of Pegasos needs the number of all rows)"
    raise AttributeError(
        f"{type(estimator).__name__}: partial_fit goes by stochastic subgradients: solver must be 'auto' or "
        f"'subgradient', not {solver!r:.80}{why}"
    )


def check_stream_costs(estimator: Any, weight: Reals) -> None:
    """Refuse weights, all positive, which ``C`` leaves no numbers to compute with."""
    with np.errstate(over="ignore"):
        check_costs(float(estimator.C) * weight, type(estimator).__name__)


def check_stream_weight(estimator: Any) -> None:
    """An AttributeError for a ``class_weight`` that is known only when all classes have been counted."""
    if isinstance(getattr(estimator, "class_weight", None), str):
        raise AttributeError(
            f"{type(estimator).__name__}: partial_fit cannot count the classes of a whole stream: class_weight must be "
            "a dict"
        )


def stream_loss(loss: str | MarginLoss) -> MarginLoss:
    """The margin loss, if it is one for streams.

    Raises
    ------
    AttributeError
        For one whose slope or curvature has no bound, and for a user's own.
    ValueError
        For what is none.
    """
    found = margin_loss(loss)
    kinds = (Hinge, SquaredHinge, Logistic, Perceptron)
    if type(found) not in kinds:
        names = ", ".join(kind.name for kind in kinds)
        raise AttributeError(f"partial_fit is for the losses {names}, not for {loss!r}")
    return found


def classes_of(classes: Any, known: NDArray[Any] | None, *, begun: bool) -> NDArray[Any]:
    """All classes of a stream, in the order of a fit: as given at its beginning, or known from a fit before.

    Raises
    ------
    ValueError
        When they are not given at the beginning, are fewer than two or others than then.
    """
    if classes is None and known is None:
        raise ValueError("classes must be passed on the first call to partial_fit: all that will ever come")
    found = known if classes is None else all_classes(classes)
    assert found is not None
    if begun and known is not None:
        if set(found.tolist()) != set(known.tolist()):
            raise ValueError(f"classes are {found.tolist()!r:.80}; they cannot change while a stream goes on")
        found = known  # what cannot be sorted may come in another order
    if len(found) < 2:
        raise ValueError(f"partial_fit needs at least two classes, not {found.tolist()!r:.80}")
    return found


def numbers_among(labels: KnownLabels, truth: NDArray[Any], classes: NDArray[Any]) -> Ints:
    """The number of each row's class.

    Raises
    ------
    ValueError
        When the piece has a class that is none of the stream's: names the first.
    """
    number = labels.numbers(truth)
    new = np.flatnonzero(number < 0)
    if len(new):
        raise ValueError(
            f"y has the class {labels.label(int(new[0]), truth)!r}, which is not among classes {classes.tolist()!r:.80}"
        )
    return number


def class_piece(
    estimator: Any, X: Any, y: Any, classes: Any, sample_weight: Any
) -> tuple[Streams | None, Any, Ints, Reals]:
    """The next piece of a stream of classes, checked; ``classes_`` are known from then on.

    Returns
    -------
    streams : Streams or None
        None before the first piece.
    X : array or CSR matrix of shape (m, d)
        Rows of positive weight.
    number : int64 array of shape (m,)
        Their classes.
    weight : float64 array of shape (m,)
    """
    streams: Streams | None = vars(estimator).get("_streams")
    if streams is not None:
        streams.check(estimator)
    known = classes_of(classes, getattr(estimator, "classes_", None), begun=streams is not None)
    labels = KnownLabels(y, known)
    X, truth = checked_rows(
        estimator, X, labels.y, accept_sparse="csr", dtype=[np.float64, np.float32], reset=streams is None
    )
    check_classification_targets(truth)
    number = numbers_among(labels, truth, known)
    weight = labels.weights(estimator.class_weight, number, check_sample_weight(sample_weight, len(truth)))
    X, order, weight = used_rows(estimator, X, weight)
    estimator.classes_ = known
    return streams, X, number[order], weight


def used_rows(estimator: Any, X: Any, weight: Reals | None) -> tuple[Any, Ints, Reals]:
    """The rows of positive weight, their positions, and their weights, which ``C`` leaves numbers to compute with."""
    check_row_magnitude(X)
    n = X.shape[0]
    order, used = (np.arange(n), np.ones(n)) if weight is None else (at := np.flatnonzero(weight > 0.0), weight[at])
    check_stream_costs(estimator, used)
    return (X if len(order) == n else rows_of(X, order)), order, used
