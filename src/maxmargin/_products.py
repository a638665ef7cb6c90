"""Products of matrices in pieces that no library of linear algebra divides among threads.

Such a library gives large products several threads. Narrow ones gain little by it, the exponentials after them nothing,
and its threads wait for work at the cost of those of Python, or these for one another (measured: two threads of Python
took 1.4 times as long as one). Pieces that it computes in the thread of the caller run side by side instead, and their
results do not depend on the number of threads. One call of ``matmul`` goes through all pieces, without the
interpreter's lock. One thread gains as well: rows of up to 100 numbers are multiplied faster by a few than by
thousands, and longer ones as fast (OpenBLAS 0.3.31 with AVX-512).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Panels", "weighted_sums"]

# OpenBLAS uses one thread up to 65,536 times GEMM_MULTITHREAD_THRESHOLD = 4 multiplications (its interface/gemm.c)
_PIECE = 1 << 18
_HIGH = {4: 32, 8: 64}  # rows, by the size of a number (measured, as is the width: a power of two)
_AREA = 2048  # rows times columns; half of it for long rows, and still longer ones are multiplied as a whole
_WIDEST = 2 * _PIECE // _AREA

Reals = NDArray[np.float64]


class Panels:
    """Points as the right factor of many products.

    Parameters
    ----------
    points : float32 or float64 array of shape (n, d)
        Not kept where they are copied in another order, which they are for ``d`` of at most 256.

    Attributes
    ----------
    divided : bool
        Whether the products come in pieces.
    """

    def __init__(self, points: NDArray[Any]) -> None:
        n, d = points.shape
        self.divided = d <= _WIDEST
        self.high = _HIGH[points.itemsize]
        area = _AREA if d * _AREA <= _PIECE else _AREA // 2
        width = area // self.high if self.divided else n + 1
        whole = n - n % width
        self.panels = [points[whole:].T[None]]
        if self.divided:
            self.panels = [
                np.ascontiguousarray(panels)
                for panels in (points[:whole].reshape(-1, width, d).transpose(0, 2, 1), *self.panels)
            ]

    def product(self, left: NDArray[Any], out: NDArray[Any]) -> None:
        """``left @ points.T`` of shape ``(len(left), n)`` into ``out``, whose columns are next to one another."""
        high = self.high if self.divided else max(len(left), 1)
        first = 0
        for panels in self.panels:
            end = first + panels.shape[0] * panels.shape[2]
            whole = len(left) - len(left) % high
            _grid(left[:whole], high, panels, out[:whole, first:end])
            _grid(left[whole:], len(left) - whole, panels, out[whole:, first:end])
            first = end


def _grid(left: NDArray[Any], high: int, panels: NDArray[Any], out: NDArray[Any]) -> None:
    """So many rows at a time by each panel."""
    if out.size:
        count, _, width = panels.shape
        pieces = out.reshape(-1, high, count, width).transpose(0, 2, 1, 3)
        np.matmul(left.reshape(-1, 1, high, left.shape[1]), panels, out=pieces)


def weighted_sums(values: NDArray[Any], weights: Reals) -> Reals:
    """``values @ weights`` of shape ``(m,)`` or ``(m, k)``, for ``m`` of a few hundred."""
    if weights.ndim == 1:
        return np.asarray(np.einsum("ij,j->i", values, weights))
    out = np.zeros((len(values), weights.shape[1]))
    step = max(1, _PIECE // max(out.size, 1))
    for at in range(0, len(weights), step):
        out += values[:, at : at + step] @ weights[at : at + step]
    return out
