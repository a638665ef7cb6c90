"""What the estimators share that learn from a stream, see :mod:`maxmargin.solvers.linear.stream`."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ._kernel_machine import KernelMachine
from .data._mapped_rows import rows_of
from .losses import MARGIN_LOSSES, Hinge, Logistic, MarginLoss, Perceptron, SquaredHinge, margin_loss
from .solvers.linear.stream import Stream
from .structures.base import check_magnitude

__all__ = ["Streams", "classes_of", "stream_loss", "used_rows"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
_OF_FIT = (
    "certificate_", "history_", "support_", "support_vectors_", "dual_coef_", "dual_residual_", "n_support_", "kernel_",
    "notes_", "n_mistakes_", "items_", "strengths_", "_warm",
)  # fmt: skip


class Streams:
    """The streams of one estimator, one for each of its problems.

    Parameters
    ----------
    estimator : KernelMachine or SVMRanker
    n_problems : int
    start : float
        Taken off the targets, and given back to the intercept.
    kind : type
        Of the streams.
    """

    def __init__(self, estimator: Any, n_problems: int, start: float = 0.0, kind: type[Stream] = Stream) -> None:
        self.parameters, self.start = _parameters(estimator), start
        d = estimator.n_features_in_
        self.each = [kind(d, float(estimator.C), estimator._intercept) for _ in range(n_problems)]

    def check(self, estimator: Any) -> None:
        """Refuse parameters that were changed while the stream went on."""
        for name, value in _parameters(estimator).items():
            if value != self.parameters[name]:
                raise ValueError(
                    f"{type(estimator).__name__}: {name} is {value!r} and was {self.parameters[name]!r} when this "
                    "stream began; set it back, or begin another stream with a clone"
                )

    def weights(self) -> tuple[Reals, Reals]:
        """Weights of shape ``(n_problems, d)`` and intercepts."""
        w = np.array([stream.weights() for stream in self.each])
        d = self.each[0].steps.d
        return w[:, :d].copy(), w[:, d] + self.start if w.shape[1] > d else np.zeros(len(w))

    def take_over(self, estimator: Any, n_rows: int) -> None:
        """What the estimator says of itself after a piece of so many rows that count; a fit before is forgotten."""
        estimator._forget(*_OF_FIT)
        estimator.solver_, estimator.solver_reason_ = "subgradient", "partial_fit sees each row once"
        estimator.n_iter_ = 1
        estimator.n_samples_seen_ = getattr(estimator, "n_samples_seen_", 0) + n_rows


def _parameters(estimator: Any) -> dict[str, Any]:
    names = ("C", "loss", "epsilon", "multi_class", "fit_intercept", "penalize_intercept")
    return {name: getattr(estimator, name) for name in names if hasattr(estimator, name)}


def can_stream(estimator: KernelMachine) -> bool:
    """Whether there is a ``partial_fit``: for ``available_if`` of scikit-learn.

    Raises
    ------
    AttributeError
        Names the parameter that leaves none.
    """
    name = type(estimator).__name__
    if estimator._by_kernel:
        what = f"kernel={estimator.kernel!r}" if estimator.nu is None else "nu"
        raise AttributeError(f"{name}: partial_fit is for kernel='linear', not for {what}")
    if not (isinstance(estimator.solver, str) and estimator.solver in ("auto", "subgradient")):
        raise AttributeError(
            f"{name}: partial_fit goes by stochastic subgradients: solver must be 'auto' or 'subgradient', not "
            f"{estimator.solver!r}"
        )
    if isinstance(getattr(estimator, "class_weight", None), str):
        raise AttributeError(
            f"{name}: partial_fit cannot count the classes of a whole stream: class_weight must be a dict"
        )
    loss: Any = getattr(estimator, "loss", None)
    if isinstance(loss, MarginLoss) or (isinstance(loss, str) and loss in MARGIN_LOSSES):
        with suppress(ValueError):  # what is no loss of the estimator is refused by the call
            stream_loss(loss)
    return True


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


def classes_of(classes: Any, known: NDArray[Any] | None, truth: NDArray[Any], *, begun: bool) -> NDArray[Any]:
    """All classes of a stream, sorted: as given at its beginning, or known from a fit before.

    Raises
    ------
    ValueError
        When they are not given at the beginning, are fewer than two or others than then, or lack one of a piece.
    """
    if classes is None and known is None:
        raise ValueError("classes must be passed on the first call to partial_fit: all that will ever come")
    found = known if classes is None else np.unique(np.asarray(classes))
    assert found is not None
    if begun and known is not None and not np.array_equal(found, known):
        raise ValueError(f"classes are {found.tolist()!r:.80}; they cannot change while a stream goes on")
    if len(found) < 2:
        raise ValueError(f"partial_fit needs at least two classes, not {found.tolist()!r:.80}")
    new = truth[~np.isin(truth, found)]
    if len(new):
        raise ValueError(f"y has the class {new[:1].tolist()[0]!r}, which is not among classes {found.tolist()!r:.80}")
    return found


def used_rows(X: Any, weight: Reals | None) -> tuple[Any, Ints, Reals]:
    """The rows of positive weight, their positions, and their weights."""
    check_magnitude(X.data if sp.issparse(X) else X)
    if weight is None:
        return X, np.arange(X.shape[0]), np.ones(X.shape[0])
    order = np.flatnonzero(weight > 0.0)
    return (X if len(order) == X.shape[0] else rows_of(X, order)), order, weight[order]
