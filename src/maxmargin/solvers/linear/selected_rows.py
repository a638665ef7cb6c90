"""Some of many dense rows where they lie, and a few more below them: products without a copy.

A method that goes over a tenth or a fifth of the rows a few dozen times would most often copy them first; that copy is
then the largest array of a fit. Read where they lie, and loaded ahead, they take a fifth longer a pass (measured).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import dense_products
from .gram import PIECE_ROWS, gram
from .rows import Rows, read_only

__all__ = ["SelectedRows", "some_rows"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
_IN_A_CACHE = 1 << 16  # entries of a block of the Gram matrix (measured: from half to twice as many are as good)
_IN_A_COPY = 1 << 20  # entries that are copied rather than read where they lie


class SelectedRows(Rows):
    """Rows of a dense matrix by their numbers, then those of ``more``.

    Parameters
    ----------
    rows : Rows
        Dense ones.
    places : int64 array of shape (k,)
    more : float64 array of shape (l, d), optional
        Few: they are copied as they are needed.
    """

    def __init__(self, rows: Rows, places: Ints, more: Reals | None = None) -> None:
        self.whole, self.places = rows, places
        self.more = np.empty((0, rows.shape[1])) if more is None else more
        self.data, self.indices, self.indptr = rows.data, None, None
        self.shape = len(places) + len(self.more), rows.shape[1]

    @property
    def entries(self) -> int:
        """Values in these rows."""
        return self.shape[0] * self.shape[1]

    @cached_property
    def matrix(self) -> Any:
        """A copy, for those who need one."""
        return np.vstack([self.whole.matrix[self.places], self.more.astype(self.data.dtype)])

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """As of any rows; each block is good until the next one comes."""
        k, d = len(self.places), self.shape[1]
        size = max(1, _IN_A_CACHE // max(d, 1))
        buffer = np.empty((min(size, k), d))
        for at in range(0, k, size):
            part = slice(at, min(at + size, k))
            yield part, self._loaded(self.places[part], buffer)
        if len(self.more):
            yield slice(k, self.shape[0]), self.more

    def scores(self, w: Reals) -> Reals:
        """``X @ w`` in float64; ``w`` is a vector, or a matrix of several, which cost little more than one."""
        places, d = self.places, self.shape[1]
        found = dense_products.scores(self.data, d, len(places), w, places)
        return np.concatenate([found, Rows(self.more).scores(w)]) if len(self.more) else found

    def combined(self, beta: Reals) -> Reals:
        """``X.T @ beta`` in float64; ``beta`` is a vector, or a matrix of several."""
        places, d = self.places, self.shape[1]
        found = dense_products.combined(self.data, d, len(places), beta[: len(places)], places)
        return found + Rows(self.more).combined(beta[len(places) :]) if len(self.more) else found

    @cached_property
    def squared_norms(self) -> Reals:
        """``|x_i|^2`` of every row."""
        return np.append(self.whole.squared_norms[self.places], np.einsum("ij,ij->i", self.more, self.more))

    def gram(self, weights: Reals, check: Callable[[], None] | None = None) -> Reals:
        """``X.T @ diag(weights) @ X`` for weights of at least 0, shape ``(d, d)``; rows of weight 0 are not read."""
        k, d = len(self.places), self.shape[1]
        used = np.flatnonzero(weights[:k])
        places = self.places[used]

        def blocks(first: int, end: int, most: int) -> Iterator[tuple[int, Reals]]:
            size = min(most, max(_IN_A_CACHE // max(d, 1) // PIECE_ROWS * PIECE_ROWS, PIECE_ROWS))
            buffer = np.empty((min(size, end - first), d))
            for at in range(first, end, size):
                yield at, read_only(self._loaded(places[at : min(at + size, end)], buffer))

        last = self.more * np.sqrt(weights[k:])[:, None]
        return gram(blocks, np.sqrt(weights[used]), d, check) + last.T @ last

    def _loaded(self, places: Ints, buffer: Reals) -> Reals:
        out = buffer[: len(places)]
        if self.data.dtype == np.float64:
            np.take(self.whole.matrix, places, axis=0, out=out, mode="clip")  # other modes make a copy first
        else:
            out[:] = self.whole.matrix[places]
        return out


def some_rows(rows: Rows, places: Ints) -> Rows:
    """Some of many rows, ascending: a copy of sparse or few ones, else as they lie."""
    if isinstance(rows, SelectedRows):
        k = len(rows.places)
        return SelectedRows(rows.whole, rows.places[places[places < k]], rows.more[places[places >= k] - k])
    if rows.sparse or len(places) * rows.shape[1] <= _IN_A_COPY:
        return Rows(rows.matrix[places])
    return SelectedRows(rows, places)
