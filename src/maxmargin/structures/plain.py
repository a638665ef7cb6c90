"""Structures written in plain Python: whole feature vectors instead of potentials.

A user's class needs three methods (duck-typed; :class:`PlainStructure` may serve as a base)::

    joint_features(x, y) -> vector            dense 1-D array, or {index: value}; always the same length
    loss(y_true, y) -> float                  0 for y == y_true
    argmax(x, w, y_true=None) -> y            best output; with y_true the best of loss(y_true, y) + <w, joint_features>

To the solvers such a structure is one whose parts are the weights themselves: a plane is the sparse difference of two
feature vectors, and the feature map is the identity.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._compiled import compiled
from ..errors import DataError, StructureError
from .base import Pack, Structure, freeze
from .values import LARGEST, as_reals, check_rows, is_real, loss_fault

__all__ = [
    "PlainData",
    "PlainStructure",
    "check_is_structure",
    "check_losses",
    "checked_loss",
    "checked_output",
    "identity_features",
    "identity_potentials_at",
    "plain_pack",
    "dense_vector",
    "sparse_vector",
    "tell_example",
]

METHODS = ("joint_features", "loss", "argmax")
_FLOATS = (float, np.float64)


class PlainStructure:
    """Optional base class that says what a plain structure must define."""

    n_features: int | None = None
    """Length of the joint feature vector; needed only when ``joint_features`` returns mappings."""

    def joint_features(self, x: Any, y: Any) -> Any:
        """Joint feature vector of an input and an output."""
        raise StructureError(f"{type(self).__name__} must define joint_features(x, y)")

    def loss(self, y_true: Any, y: Any) -> float:
        """Task loss, 0 when ``y`` equals ``y_true``."""
        raise StructureError(f"{type(self).__name__} must define loss(y_true, y)")

    def argmax(self, x: Any, w: NDArray[np.float64], y_true: Any = None) -> Any:
        """Best output; with ``y_true`` the best for the loss plus the score."""
        raise StructureError(f"{type(self).__name__} must define argmax(x, w, y_true=None)")


def check_is_structure(structure: Any) -> None:
    """Refuse what cannot be a structure of either kind.

    Raises
    ------
    StructureError
        For a class instead of an instance, and for an object that lacks methods: names them.
    """
    if isinstance(structure, type):
        raise StructureError(f"{structure.__name__} is a class; give an instance of it, such as {structure.__name__}()")
    if isinstance(structure, Structure):
        return
    missing = [name for name in METHODS if not callable(getattr(structure, name, None))]
    if missing:
        raise StructureError(
            f"{type(structure).__name__} is no structure: it lacks {', '.join(missing)} (a plain structure defines "
            f"{', '.join(METHODS)}; a compiled one derives from maxmargin.structures.Structure)"
        )


def checked_loss(value: Any, name: str, i: int, *, of_truth: bool = False) -> float:
    """What ``loss`` of the structure ``name`` returned for example ``i``, as a float.

    Raises
    ------
    StructureError
        When it is no number, negative, not finite or too large; that of the true output when it is not 0.
    """
    if type(value) in _FLOATS:  # the short way, for NumPy's numbers 0.3 microseconds instead of 1.6
        number = float(value)
        if 0.0 <= number <= LARGEST and not (of_truth and number):
            return number
    fault = loss_fault(value, of_truth=of_truth)
    if fault:
        what = f"example {i}: the loss of the true output" if of_truth else f"loss of example {i}"
        shown = " ".join(repr(float(value) if is_real(value) else value).split())
        raise StructureError(f"{name}: {what} is {shown:.40}; {fault} (run check_structure)")
    return float(value)


def check_losses(
    losses: NDArray[np.float64], name: str, examples: NDArray[np.int64], *, of_truth: bool = False
) -> None:
    """The same of many losses at once, ``losses[k]`` that of ``examples[k]``."""
    wrong = ~((losses >= 0.0) & (losses <= (0.0 if of_truth else LARGEST)))
    for k in np.flatnonzero(wrong)[:1]:
        checked_loss(float(losses[k]), name, int(examples[k]), of_truth=of_truth)


def checked_output(y: Any, name: str, i: int) -> Any:
    """What ``argmax`` of the structure ``name`` returned for example ``i``.

    Raises
    ------
    StructureError
        When it is None, as of a method that ends without an answer.
    """
    if y is None:
        raise StructureError(
            f"{name}: argmax returned None for example {i}; it must return an output (run check_structure)"
        )
    return y


def tell_example(error: Exception, name: str, i: int, y: Any = None) -> None:
    """Say in a note on an error from the user's code where it happened; its type and its traceback stay.

    Parameters
    ----------
    y : object, optional
        The output that ``argmax`` had returned, when a later method failed on it.
    """
    if f"example {i}" in str(error):
        return
    output = "" if y is None else f", on the output {' '.join(repr(y).split()):.60} that argmax returned"
    note = f"{name}: this happened at example {i} (the first is 0){output}; run check_structure to find out why"
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)


class PlainData(NamedTuple):
    """Feature vectors of the true outputs, and the buffers of a visit."""

    truth_start: NDArray[np.int64]
    truth_index: NDArray[np.int32]
    truth_value: NDArray[np.float64]
    scratch: NDArray[np.float64]
    part: NDArray[np.int32]
    coef: NDArray[np.float64]


@compiled
def identity_potentials_at(pack, w, i, parts, m, theta):
    """Potentials are the weights."""
    for q in range(m):
        theta[parts[q]] = w[parts[q]]


@compiled
def identity_features(pack, i, parts, coef, m, keys, values):
    """Parts are features."""
    if m > len(keys):
        return -m
    for q in range(m):
        keys[q] = parts[q]
        values[q] = coef[q]
    return m


def plain_pack() -> Pack:
    """The empty pack that the identity feature map takes."""
    none = freeze((), np.float64)
    return Pack(
        row_start=freeze((), np.int64, 2),
        indptr=freeze((), np.int64),
        indices=freeze((), np.int32),
        values=none,
        dense=none,
        groups=freeze((), np.int64, 2),
        shared=freeze((0, 0), np.int64),
        target=freeze((), np.int32),
        target_start=freeze((), np.int64),
        ints=freeze((), np.int64),
        reals=none,
        table=freeze((), np.int32),
    )


def dense_vector(
    vector: Any, n_features: int | None, what: str, buffer: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """A joint feature vector (array, mapping or SciPy sparse row) as a dense one.

    Mappings and sparse rows are written into ``buffer``, if given, which is emptied first.
    """
    if type(vector) is np.ndarray and vector.dtype == np.float64 and vector.ndim == 1 and vector.flags.c_contiguous:
        return vector
    if hasattr(vector, "tocsr"):  # before mappings: SciPy's dictionaries of keys are both
        check_rows(vector, f"{what}: joint_features")
        row = vector.tocsr(copy=True)
        if len(row.shape) == 1:
            row = row.reshape((1, -1)).tocsr()
        if row.shape[0] != 1:
            raise DataError(f"{what}: joint_features returned a matrix of shape {row.shape}; it must be one row")
        row.sum_duplicates()
        index, value, length = row.indices, as_reals(row.data, f"{what}: joint_features"), row.shape[1]
    elif isinstance(vector, Mapping):
        if n_features is None:
            raise StructureError(f"{what}: joint_features returns mappings: the structure must set n_features")
        try:
            index = np.fromiter(map(_as_index, vector), np.int64, len(vector))
        except (TypeError, OverflowError):
            raise DataError(f"{what}: feature index that is no integer in {list(vector)!r:.60}") from None
        if len(index) and (index.min() < 0 or index.max() >= n_features):
            raise DataError(f"{what}: feature index outside 0..{n_features - 1}")
        value, length = as_reals(list(vector.values()), f"{what}: values of joint_features"), n_features
        if value.ndim != 1:
            raise DataError(f"{what}: joint_features returned a mapping whose values are no numbers")
    else:
        dense = as_reals(vector, f"{what}: joint_features")
        if dense.ndim != 1:
            raise DataError(f"{what}: joint_features returned shape {dense.shape}; it must be one vector")
        return np.ascontiguousarray(dense)
    out = np.zeros(length) if buffer is None or len(buffer) != length else buffer
    out[:] = 0.0
    out[index] = value
    return out


def _as_index(key: Any) -> int:
    """A key as an index. Truth values are refused: two features at most could be told apart by them."""
    if isinstance(key, bool | np.bool_):
        raise TypeError
    return operator.index(key)


def sparse_vector(vector: Any, n_features: int | None, what: str) -> tuple[NDArray[np.int32], NDArray[np.float64], int]:
    """Non-zero entries of a joint feature vector, which must be finite, and its length."""
    dense = dense_vector(vector, n_features, what, None)
    if not np.isfinite(dense).all():
        raise DataError(f"{what}: joint_features returned NaN or infinity")
    index = np.flatnonzero(dense).astype(np.int32)
    return index, dense[index], len(dense)
