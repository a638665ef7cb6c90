"""Structures written in plain Python: whole feature vectors instead of potentials.

A user's class needs three methods (duck-typed; :class:`PlainStructure` may serve as a base)::

    joint_features(x, y) -> vector            dense 1-D array, or {index: value}; always the same length
    loss(y_true, y) -> float                  0 for y == y_true
    argmax(x, w, y_true=None) -> y            best output; with y_true the best of loss(y_true, y) + <w, joint_features>

To the solvers such a structure is one whose parts are the weights themselves: a plane is the sparse difference of two
feature vectors, and the feature map is the identity.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._compiled import compiled
from ..errors import DataError, StructureError
from .base import Pack, freeze

__all__ = ["PlainStructure", "identity_features", "identity_potentials_at", "plain_pack", "sparse_vector"]

METHODS = ("joint_features", "loss", "argmax")


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


def sparse_vector(vector: Any, n_features: int | None, what: str) -> tuple[NDArray[np.int32], NDArray[np.float64], int]:
    """Non-zero entries of a joint feature vector (array, SciPy sparse row or mapping) and its length."""
    if isinstance(vector, Mapping):
        if n_features is None:
            raise StructureError("joint_features returns mappings: the structure must set n_features")
        index = np.fromiter(vector.keys(), np.int64, len(vector))
        value = np.fromiter(vector.values(), np.float64, len(vector))
        if len(index) and (index.min() < 0 or index.max() >= n_features):
            raise DataError(f"{what}: feature index outside 0..{n_features - 1}")
        keep = value != 0
        length, index, value = n_features, index[keep].astype(np.int32), value[keep]
    elif hasattr(vector, "tocsr"):
        row = vector.tocsr()
        row.sum_duplicates()
        length, index, value = int(np.prod(row.shape)), row.indices.astype(np.int32), row.data.astype(np.float64)
    else:
        dense = np.asarray(vector, np.float64)
        if dense.ndim != 1:
            raise DataError(f"{what}: joint_features returned an array of shape {dense.shape}; it must be one vector")
        index = np.flatnonzero(dense).astype(np.int32)
        length, value = len(dense), dense[index]
    if not np.isfinite(value).all():
        raise DataError(f"{what}: joint_features returned NaN or infinity")
    return index, value, length
