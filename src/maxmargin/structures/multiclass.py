"""Multiclass outputs (Crammer-Singer): one row of features, one block of weights for each class.

``phi(x, y)`` is ``x`` in the block of class ``y``; the output is the class with the highest score; the task loss is any
cost matrix with zero diagonal. Source: Crammer and Singer (2001).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._compiled import compiled
from ..decoders.argmax import argmax_core
from ..errors import DataError
from .base import Encoded, RowGroup, Structure, make_pack

__all__ = ["Multiclass"]


@compiled
def _decode(pack, i, theta, out):
    out[0] = argmax_core(theta, pack.ints[0])
    return theta[out[0]]


@compiled
def _parts(pack, i, out, parts):
    parts[0] = out[0]
    return 1


@compiled
def _augment(pack, i, theta):
    n = pack.ints[0]
    truth = pack.target[i]
    for label in range(n):
        theta[label] += pack.reals[truth * n + label]
    return 0.0


@compiled
def _loss(pack, i, out):
    return pack.reals[pack.target[i] * pack.ints[0] + out[0]]


class Multiclass(Structure):
    """Classes ``0 .. n_classes - 1`` over rows of dense or CSR features.

    Parameters
    ----------
    n_classes : int
    costs : array of shape (n_classes, n_classes), optional
        ``costs[true, predicted] >= 0`` with zero diagonal; 0/1 by default.
    """

    decode = staticmethod(_decode)
    parts = staticmethod(_parts)
    augment = staticmethod(_augment)
    loss = staticmethod(_loss)

    def __init__(self, n_classes: int, costs: ArrayLike | None = None) -> None:
        self.n_classes = int(n_classes)
        self.costs = check_costs(costs, self.n_classes)

    def encode(self, X: Any, Y: Sequence[int] | NDArray[np.int64] | None = None) -> Encoded:
        """``X``: array or CSR matrix of shape (n, d); ``Y``: class numbers of shape (n,)."""
        n = X.shape[0]
        rows = np.arange(n + 1)
        if Y is not None:
            Y = np.asarray(Y, np.int64)
            if Y.shape != (n,):
                raise DataError(f"{n} rows but class numbers of shape {Y.shape}")
            bad = np.flatnonzero((Y < 0) | (Y >= self.n_classes))
            if len(bad):
                raise DataError(f"example {bad[0]}: class number {Y[bad[0]]} is outside 0..{self.n_classes - 1}")
        if hasattr(X, "indptr"):
            group = RowGroup(
                self.n_classes, rows, indptr=X.indptr, indices=X.indices, values=X.data, n_sparse=X.shape[1]
            )
        else:
            group = RowGroup(self.n_classes, rows, dense=X)
        pack = make_pack(
            [group],
            target=() if Y is None else Y,
            target_start=rows if Y is not None else (),
            ints=[self.n_classes],
            reals=self.costs.ravel(),
        )
        return Encoded.of(pack, n_output=1, n_parts=1)

    def output(self, encoded: Encoded, i: int, out: NDArray[np.int32]) -> int:
        """The class number."""
        return int(out[0])


def check_costs(costs: ArrayLike | None, n: int) -> NDArray[np.float64]:
    """A valid cost matrix (0/1 when none is given)."""
    if costs is None:
        return 1.0 - np.eye(n)
    out = np.array(costs, np.float64)
    if out.shape != (n, n):
        raise DataError(f"the cost matrix has shape {out.shape}; it needs {(n, n)} for {n} labels")
    wrong = ~np.isfinite(out) | (out < 0)
    if wrong.any():
        i, k = np.argwhere(wrong)[0].tolist()
        raise DataError(f"the cost matrix must be finite and at least 0 everywhere; entry ({i}, {k}) is {out[i, k]}")
    if np.diag(out).any():
        k = int(np.flatnonzero(np.diag(out))[0])
        raise DataError(f"the cost of predicting the true label must be 0; entry ({k}, {k}) is {out[k, k]}")
    return out
