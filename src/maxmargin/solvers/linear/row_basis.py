"""Rows in coordinates of an orthonormal basis of theirs: the same problem where features outnumber rows.

The best penalised weights lie in the span of the rows. With ``X = L Q^T``, the columns of ``Q`` orthonormal, they are
``Q v``, and ``L`` has as many columns as the rows have rank: scores and the norm of the weights, hence objective and
dual, are those of the original problem. A feature without a penalty, the last one, stays as it is.

``Q`` comes from a QR factorisation with column pivots of the features, the largest first: so small features keep their
digits beside large ones (Cox and Higham, BIT 1998), which a Gram matrix would square away. Cost: ``4 n^2 d``. Memory:
the features as dense numbers, three times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import qr

from .rows import Rows

__all__ = ["RowBasis", "basis_of", "shortest"]

Reals = NDArray[np.float64]
_MOST_ENTRIES = 30_000_000  # 0.24 GB
_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class RowBasis:
    """Rows to solve instead, and the weights of the original features that belong to theirs.

    Attributes
    ----------
    rows : Rows
    d : int
        Original features.
    used : int64 array
        Those that the basis has entries for; the weights of others are 0.
    Q : float64 array of shape (len(used), rank), or None
        None where the rows are the original ones.
    """

    rows: Rows
    d: int
    used: NDArray[np.int64]
    Q: Reals | None = None

    def original(self, W: Reals) -> Reals:
        """Weights of the original features, ``(d, K)``; a last one without penalty follows."""
        if self.Q is None:
            return W
        out = np.zeros((self.d, W.shape[1]))
        rank = self.Q.shape[1]
        out[self.used] = self.Q @ W[:rank]
        out[self.d - (len(W) - rank) :] = W[rank:]
        return out

    def coordinates(self, W: Reals) -> Reals:
        """The reverse: weights of the rows here with the scores of weights of the original features."""
        if self.Q is None:
            return W
        return np.vstack([self.Q.T @ W[self.used], W[len(W) - (self.rows.shape[1] - self.Q.shape[1]) :]])


def shortest(rows: Rows, free: bool) -> int:
    """How many columns the rows have at most in the form in which they are solved; ``free``: the last stays apart."""
    n, d = rows.shape
    apart = int(free)
    return n + apart if n < d - apart and n * d <= _MOST_ENTRIES else d


def basis_of(rows: Rows, free: bool) -> RowBasis:
    """A basis of the rows, where they are fewer than the features and few enough.

    Parameters
    ----------
    rows : Rows
    free : bool
        Whether the last feature is to stay as it is.
    """
    d = rows.shape[1]
    if shortest(rows, free) == d:
        return RowBasis(rows, d, np.arange(d))
    penalised = rows.matrix[:, : d - int(free)]
    largest = np.asarray(abs(penalised).max(0).todense() if rows.sparse else np.abs(penalised).max(0)).ravel()
    used = np.argsort(-largest, kind="stable")[: max(np.count_nonzero(largest), 1)]
    chosen = penalised[:, used]
    features = np.array((chosen.toarray() if sp.issparse(chosen) else chosen).T, np.float64, order="F")
    # rows of unit size, by powers of 2 that change no digit: what is rounding beside one is much beside another
    size = np.exp2(np.frexp(np.abs(features).max(0))[1])
    features /= size
    Q, R, order = qr(features, overwrite_a=True, mode="economic", pivoting=True, check_finite=False)
    steps = np.abs(R.diagonal())
    rank = max(int(np.count_nonzero(steps > _ROUNDING * len(R) * steps[0])), 1)
    L = np.zeros((rows.shape[0], rank + int(free)))
    L[order, :rank] = R[:rank].T
    L *= size[:, None]
    if free:
        last = rows.matrix[:, -1:]
        L[:, -1] = np.asarray(last.todense() if rows.sparse else last).ravel()
    return RowBasis(Rows(L), d, used, Q[:, :rank])
