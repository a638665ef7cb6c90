"""Features that occur in one row only, folded into one feature a row: the same problem with far fewer weights.

Half the words of a text, and most of its pairs of words, occur once. The weights of the features that row ``i`` has for
itself point along its values ``u_i`` of them at the optimum, so a single feature of value ``|u_i|`` does the same:
scores and the norm of the weights, hence objective, dual and certificate, are those of the original problem (the change
is a rotation of the space of features, and the directions left out are 0 in all rows). Measured on sentences with pairs
of words: a quarter fewer entries, a third of the weights, two thirds of the time of a pass.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._compiled import compiled
from .rows import Rows

__all__ = ["Folded", "fold"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]

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
def _fold(data, indices, indptr, seen, number, n_common, values, columns, starts, alone, column, share):
    """The new rows; the features of one row, their columns, and their parts of the weights of those."""
    at, used, last = 0, 0, n_common
    for i in range(len(indptr) - 1):
        first, largest = used, 0.0
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            j, value = np.uint64(indices[k]), data[k]
            if seen[j] > 1:
                values[at], columns[at] = value, number[j]
                at += 1
            else:
                alone[used], column[used], share[used] = j, last, value
                largest = max(largest, abs(value))
                used += 1
        if used > first:
            square = 0.0
            for k in range(first, used):
                share[k] /= max(largest, 1e-300)  # squares that neither vanish nor overflow
                square += share[k] * share[k]
            length = np.sqrt(square)
            for k in range(first, used):
                share[k] /= max(length, 1e-300)
            values[at], columns[at] = largest * length, last
            at += 1
            last += 1
        starts[i + 1] = at
    return last


@compiled
def _spread(w, common, alone, column, share, out):
    for k in range(len(common)):
        out[np.uint64(common[k])] = w[k]
    for k in range(len(alone)):
        out[np.uint64(alone[k])] = w[np.uint64(column[k])] * share[k]


@compiled
def _gather(w, common, alone, column, share, out):
    for k in range(len(common)):
        out[k] = w[np.uint64(common[k])]
    for k in range(len(alone)):
        out[np.uint64(column[k])] += w[np.uint64(alone[k])] * share[k]


@dataclass(frozen=True, eq=False)
class Folded:
    """Rows, and the weights of the original features that belong to theirs.

    Attributes
    ----------
    rows : Rows
        What to solve.
    d : int
        Original features.
    common : int64 array of shape (n_common,), or None
        The features that are kept as they are, ascending; None where nothing is folded.
    alone, column : int64 arrays of shape (n_alone,)
        Features of one row, and the column of ``rows`` into which they went.
    share : float64 array of shape (n_alone,)
        Their weights for a weight of 1 of that column.
    """

    rows: Rows
    d: int
    common: Ints | None = None
    alone: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    column: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    share: Reals = field(default_factory=lambda: np.empty(0))

    def original(self, w: Reals, out: Reals | None = None) -> Reals:
        """Weights of the original features; what follows the weights in ``w``, an intercept, follows if there is room.

        They are written to ``out``, of zeros, if that is given.
        """
        mine = self.rows.shape[1]
        if self.common is None and out is None:
            return w
        if out is None:
            out = np.zeros(self.d + len(w) - mine)
        if self.common is None:
            out[:mine] = w[:mine]
        else:
            _spread(w, self.common, self.alone, self.column, self.share, out)
        out[self.d :] = w[mine : mine + len(out) - self.d]
        return out

    def folded(self, w: Reals) -> Reals:
        """The reverse: weights of the same scores, and of no larger norm."""
        if self.common is None:
            return w
        mine = self.rows.shape[1]
        out = np.zeros(mine + len(w) - self.d)
        _gather(w, self.common, self.alone, self.column, self.share, out)
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
    seen = np.zeros(d, np.uint8)
    _occurrences(rows.indices, seen)
    n_alone = int(np.count_nonzero(seen == 1))
    if n_alone < _SHARE * rows.entries:
        return nothing
    common = np.flatnonzero(seen > 1)
    number = np.empty(d, rows.indices.dtype)
    number[common] = np.arange(len(common))
    kind, size = rows.indices.dtype, rows.entries - n_alone + min(n, n_alone)
    values, columns, starts = np.empty(size), np.empty(size, kind), np.zeros(n + 1, rows.indptr.dtype)
    alone, column, share = np.empty(n_alone, np.int64), np.empty(n_alone, np.int64), np.empty(n_alone)
    width = _fold(
        rows.data, rows.indices, rows.indptr, seen, number, len(common), values, columns, starts, alone, column, share
    )  # fmt: skip
    size = int(starts[-1])
    matrix = sp.csr_array((values[:size], columns[:size], starts), (n, int(width)))
    return Folded(Rows(matrix), d, common, alone, column, share)
