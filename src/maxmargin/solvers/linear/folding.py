"""Features that occur in one row only, folded into one feature a row: the same problem with far fewer weights.

Half the words of a text, and most of its pairs of words, occur once. The weights of the features that row ``i`` has for
itself point along its values ``u_i`` of them at the optimum, so a single feature of value ``|u_i|`` does the same:
scores and the norm of the weights, hence objective, dual and certificate, are those of the original problem (the change
is a rotation of the space of features, and the directions left out are 0 in all rows). Measured on sentences with pairs
of words: a quarter fewer entries, a third of the weights, two thirds of the time of a pass.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._compiled import compiled
from .rows import Rows

__all__ = ["Folded", "fold"]

Reals = NDArray[np.float64]

# entries from which it pays, and to which another copy of the rows, 12 bytes an entry, is small
_FEWEST, _MOST = 50_000, 3_000_000
_SHARE = 0.1  # of the entries, at least


@compiled
def _occurrences(indices, seen):
    """For every feature 0, 1 or 2: in no entry, one, or more."""
    for k in range(len(indices)):
        j = np.uint64(indices[k])
        seen[j] = min(seen[j] + 1, 2)


@compiled
def _number(seen, column, share):
    """Columns of the features that are kept, ascending, and a share of 1; of others 0. How many are kept, and alone."""
    kept, alone = 0, 0
    for j in range(len(seen)):
        column[j] = kept
        share[j] = 1.0 if seen[j] > 1 else 0.0
        kept += seen[j] > 1
        alone += seen[j] == 1
    return kept, alone


@compiled
def _fold(data, indices, indptr, seen, last, values, columns, starts, column, share, own):
    """The new rows; columns and shares of the features of one row. Returns the columns there are.

    ``own`` is room for the entries of a row.
    """
    at, one = np.uint64(0), np.uint64(1)
    for i in range(len(indptr) - 1):
        used, largest = np.uint64(0), 0.0
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            j, value = np.uint64(indices[k]), data[k]
            if seen[j] > 1:
                values[at], columns[at] = value, column[j]
                at += one
            else:
                own[used] = k
                largest = max(largest, abs(value))
                used += one
        if used > 0:
            scale, square = 1.0 / max(largest, 1e-300), 0.0  # squares that neither vanish nor overflow
            for k in range(used):
                square += (scale * data[own[k]]) ** 2
            length = np.sqrt(square)
            scale /= max(length, 1.0)  # it is 0 where all values are
            for k in range(used):
                j = np.uint64(indices[own[k]])
                column[j], share[j] = last, scale * data[own[k]]
            values[at], columns[at] = largest * length, last
            at += one
            last += 1
        starts[i + 1] = at
    return last


@compiled
def _original(w, column, share, out):
    for j in range(len(column)):
        out[j] = w[np.uint64(column[j])] * share[j] + 0.0  # no zeros of negative sign


@compiled
def _folded(w, column, share, out):
    for j in range(len(column)):
        out[np.uint64(column[j])] += w[j] * share[j]


@dataclass(frozen=True, eq=False)
class Folded:
    """Rows, and the weights of the original features that belong to theirs.

    Attributes
    ----------
    rows : Rows
        What to solve.
    d : int
        Original features.
    column : int array of shape (d,), or None
        The column of ``rows`` that each of them is in; None where nothing is folded.
    share : float64 array of shape (d,)
        Their weights for a weight of 1 of that column: 1 for those that are kept as they are, 0 for those in no row.
    """

    rows: Rows
    d: int
    column: NDArray[Any] | None = None
    share: Reals = field(default_factory=lambda: np.empty(0))

    def original(self, w: Reals, out: Reals | None = None) -> Reals:
        """Weights of the original features; what follows the weights in ``w``, an intercept, follows if there is room.

        They are written to ``out`` if that is given.
        """
        mine = self.rows.shape[1]
        if self.column is None and out is None:
            return w
        if out is None:
            out = np.empty(self.d + len(w) - mine)
        if self.column is None:
            out[:mine] = w[:mine]
        else:
            _original(w, self.column, self.share, out)
        out[self.d :] = w[mine : mine + len(out) - self.d]
        return out

    def folded(self, w: Reals) -> Reals:
        """The reverse: weights of the same scores, and of no larger norm."""
        if self.column is None:
            return w
        mine = self.rows.shape[1]
        out = np.zeros(mine + len(w) - self.d)
        _folded(w, self.column, self.share, out)
        out[mine:] = w[self.d :]
        return out


def fold(rows: Rows) -> Folded:
    """Fold the features of one row, where that saves a tenth of the entries or more; of float64 CSR rows only."""
    n, d = rows.shape
    nothing = Folded(rows, d)
    if not (rows.sparse and rows.data.dtype == np.float64 and _FEWEST <= rows.entries <= _MOST):
        return nothing
    if d < _SHARE * rows.entries:
        return nothing
    kind = rows.indices.dtype
    seen, column, share = np.zeros(d, np.uint8), np.empty(d, kind), np.empty(d)
    _occurrences(rows.indices, seen)
    n_kept, n_alone = _number(seen, column, share)
    if n_alone < _SHARE * rows.entries:
        return nothing
    size = rows.entries - n_alone + min(n, n_alone)
    values, columns, starts = np.empty(size), np.empty(size, kind), np.zeros(n + 1, rows.indptr.dtype)
    own = np.empty(int(np.diff(rows.indptr).max()), np.uint64)
    width = _fold(
        rows.data, rows.indices, rows.indptr, seen, n_kept, values, columns, starts, column, share, own
    )  # fmt: skip
    size = int(starts[-1])
    return Folded(Rows(sp.csr_array((values[:size], columns[:size], starts), (n, int(width)))), d, column, share)
