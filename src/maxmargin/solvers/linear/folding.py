"""The same problem in other coordinates: features of one row folded into one a row, far rows moved to the origin.

Half the words of a text, and most of its pairs of words, occur once. The weights of the features that row ``i`` has for
itself point along its values ``u_i`` of them at the optimum, so a single feature of value ``|u_i|`` does the same:
scores and the norm of the weights, hence objective, dual and certificate, are those of the original problem (the change
is a rotation of the space of features, and the directions left out are 0 in all rows). Measured on sentences with pairs
of words: a quarter fewer entries, a third of the weights, two thirds of the time of a pass.

Dense features far from the origin beside their spread, as times and coordinates can be, make all rows nearly the same:
products lose the digits that tell them apart, and steps from row to row lead nowhere. Where the intercept is free all
rows less one and the same row are the same problem: the scores of weights ``w`` differ by a constant, which the
intercept takes, and the coefficients of the dual sum to 0. The differences are exact, for numbers that are within a
factor of two of each other have one in floating point (Sterbenz).

Where the intercept is penalised, or there is none, the distance of the rows counts, but need not be spread over many
features. A reflection (Householder 1958) brings it into one and leaves all products as they are. The matrices of second
order methods are then those of rows near the origin with one long feature, whose length no factorisation minds; where
the distance was in all features they had lost the digits of all others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..._compiled import compiled
from ..._products import inner
from ...data._mapped_rows import is_map
from .rows import Rows

__all__ = ["Folded", "fold", "in_mirror", "moved_by", "near_origin", "off_the_origin", "reflected"]

Reals = NDArray[np.float64]

# entries from which it pays, and to which another copy of the rows, 12 bytes an entry, is small
_FEWEST, _MOST = 50_000, 3_000_000
_SHARE = 0.1  # of the entries, at least

# in standard deviations; nearer rows are solved as they are, without a copy (measured: from a hundred times as far on
# fits with the hinge loss stall at tight tolerances)
_FAR = 1e4
# the same where the distance counts: a large C lets the interior point method stall from a thousand on
_FAR_AND_KEPT = 300.0
_SAMPLE = 100  # rows
_MOST_MAPPED = 1 << 30  # bytes of a memory map, which may be larger than memory


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


def moved_by(shift: Reals, w: Reals, intercept: float) -> float:
    """``intercept + <w, shift>``, rounded once."""
    return math.fsum([intercept, *(w * shift).tolist()])


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
    shift : float64 array of shape (d,), or None
        What was taken from every original row; None where nothing was. Then the weights are followed by an intercept.
    mirror : float64 array of shape (d,), or None
        The direction, of length 1, in which the rows and their weights are reflected.
    """

    rows: Rows
    d: int
    column: NDArray[Any] | None = None
    share: Reals = field(default_factory=lambda: np.empty(0))
    shift: Reals | None = None
    mirror: Reals | None = None

    def moved(self, w: Reals, intercept: float = 0.0) -> float:
        """``intercept + <w, shift>``, of the weights of either form: by so much original scores are larger."""
        return intercept if self.shift is None else moved_by(self.shift, w[: self.d], intercept)

    def intercept(self, w: Reals) -> Reals:
        """What follows the weights of the rows in ``w``, for original rows: an intercept, or nothing. A new array."""
        own = w[self.rows.shape[1] :].copy()
        if self.shift is not None:
            own[0] = 0.0 - self.moved(w, -float(own[0]))
        return own

    def original(self, w: Reals, out: Reals | None = None) -> Reals:
        """Weights of the original features; what follows the weights in ``w``, an intercept, follows if there is room.

        They are written to ``out`` if that is given.
        """
        mine = self.rows.shape[1]
        if self.column is None and self.shift is None and self.mirror is None and out is None:
            return w
        if out is None:
            out = np.empty(self.d + len(w) - mine)
        if self.column is None:
            out[:mine] = w[:mine] if self.mirror is None else in_mirror(self.mirror, w[:mine])
        else:
            _original(w, self.column, self.share, out)
        if len(out) > self.d:
            out[self.d :] = self.intercept(w)
        return out

    def folded(self, w: Reals) -> Reals:
        """The reverse: weights of the same scores, and of no larger norm."""
        if self.shift is not None:
            return np.append(w[: self.d], self.moved(w, float(w[self.d])))
        if self.mirror is not None:
            return np.concatenate([in_mirror(self.mirror, w[: self.d]), w[self.d :]])
        if self.column is None:
            return w
        mine = self.rows.shape[1]
        out = np.zeros(mine + len(w) - self.d)
        _folded(w, self.column, self.share, out)
        out[mine:] = w[self.d :]
        return out


def off_the_origin(data: NDArray[Any], far_off: float = _FAR, most: int = _SAMPLE) -> Reals | None:
    """What to take from every dense row so that they are near the origin, shape ``(d,)``; None where they are.

    It is the mean of at most so many of them. Only features whose mean is ``far_off`` standard deviations away are
    moved; constant ones have no weight at the optimum, and are no reason to. Moved rows are float64 in memory, so large
    memory maps are left as they are.
    """
    n, d = data.shape
    if data.nbytes > _MOST_MAPPED and is_map(data):
        return None
    few = data[[0, n // 2, n - 1]].astype(np.float64)  # they rule out most features
    maybe = np.flatnonzero(np.abs(few - few[0]).max(0) < 100.0 / far_off * np.abs(few[0]))
    if not len(maybe):
        return None
    size = min(n, most)
    sample = data[np.ix_(np.arange(size) * n // size, maybe)].astype(np.float64)
    less = sample - sample[0]  # exact where it matters, and 0 where a feature is constant
    mean, spread = sample[0] + less.mean(0), less.std(0)
    far = np.abs(mean) > far_off * spread
    if not (far & (spread > 0.0)).any():
        return None
    shift = np.zeros(d)
    shift[maybe[far]] = mean[far]
    return shift


def near_origin(rows: Rows) -> Folded:
    """Dense rows near the origin, for problems with a free intercept, see :func:`off_the_origin`."""
    d = rows.shape[1]
    shift = None if rows.sparse else off_the_origin(rows.matrix)
    if shift is None:
        return Folded(rows, d)
    return Folded(Rows(np.subtract(rows.matrix, shift, dtype=np.float64)), d, shift=shift)


def in_mirror(direction: Reals, w: Reals) -> Reals:
    """The reflection of weights, or of rows of them: its own reverse."""
    if w.ndim > 1:
        return np.array([in_mirror(direction, each) for each in w]).reshape(w.shape)
    return np.asarray(w - 2.0 * inner(direction, w) * direction)


def _differ(few: NDArray[Any]) -> NDArray[np.bool_]:
    """Which features are not the same in all of a few rows."""
    return np.asarray((few != few[0]).any(0))


def reflected(rows: Rows) -> Folded:
    """Dense rows far from the origin in several features, so turned that they are far in one; see the module."""
    n, d = rows.shape
    shift = None if rows.sparse else off_the_origin(rows.matrix, _FAR_AND_KEPT)
    if shift is None or np.count_nonzero(shift[_differ(rows.matrix[[0, n // 2, n - 1]])]) < 2:
        return Folded(rows, d)
    j = int(np.abs(shift).argmax())
    direction = shift / np.abs(shift[j])
    length = math.copysign(math.sqrt(inner(direction, direction)), direction[j])
    direction[j] += length
    direction /= math.sqrt(inner(direction, direction))
    # what tells the rows apart is turned alone: of numbers as large as the distance it would lose digits
    near = Rows(np.subtract(rows.matrix, shift, dtype=np.float64))
    along, used = 2.0 * near.scores(direction), np.flatnonzero(direction)
    for part, _ in near.blocks():
        near.matrix[part, used] -= along[part, None] * direction[used]
    near.matrix[:, j] -= length * np.abs(shift[j])
    return Folded(Rows(near.matrix), d, mirror=direction)


def fold(rows: Rows, *, free: bool = False) -> Folded:
    """Fold the features of one row, where that saves a tenth of the entries or more; of float64 CSR rows only.

    Dense rows that are far from the origin are moved to it where the intercept is ``free``, and else reflected.
    """
    if not rows.sparse:
        return near_origin(rows) if free else reflected(rows)
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
