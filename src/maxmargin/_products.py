"""Products of matrices in pieces that no library of linear algebra divides among threads.

Such a library gives large products several threads. Narrow ones gain little by it, the exponentials after them nothing,
and its threads wait for work at the cost of those of Python, or these for one another (measured: two threads of Python
took 1.4 times as long as one). Pieces that it computes in the thread of the caller run side by side instead, and their
results do not depend on the number of threads. One call of ``matmul`` goes through all pieces, without the
interpreter's lock. One thread gains as well: rows of up to 100 numbers are multiplied faster by a few than by
thousands, and longer ones as fast (OpenBLAS 0.3.31 with AVX-512). Still longer ones are cut into parts of which the
products add up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = ["Panels", "inner", "weighted_sums"]

# OpenBLAS uses one thread up to 65,536 times GEMM_MULTITHREAD_THRESHOLD = 4 multiplications (its interface/gemm.c)
_PIECE = 1 << 18
_HIGH = 32  # rows; twice as many where the numbers have 8 bytes and are few (measured, as is the width: a power of two)
_AREA = 2048  # rows times columns; half of it for long rows
_WIDEST = 2 * _PIECE // _AREA
_ONE_THREAD = 5000  # entries of vectors whose product it computes in one thread

Reals = NDArray[np.float64]


def inner(x: Reals, y: Reals) -> float:
    """``<x, y>`` of two vectors, never by threads.

    They wait for one another longer than the product takes, see :func:`~maxmargin.solvers.linear.rows.square`.
    """
    return float(x @ y if len(x) < _ONE_THREAD else np.einsum("i,i->", x, y))


class Panels:
    """Points as the right factor of many products; a copy in another order.

    Parameters
    ----------
    points : float32 or float64 array of shape (n, d)
    """

    def __init__(self, points: NDArray[Any]) -> None:
        d = points.shape[1]
        longest = -(-d // max(-(-d // _WIDEST), 1))  # parts of about the same length
        self.high = _HIGH if points.itemsize == 4 or longest * _AREA > _PIECE else 2 * _HIGH
        self.parts = [
            (slice(at, at + longest), _panels(points[:, at : at + longest], self.high)) for at in range(0, d, longest)
        ]

    def product(self, left: NDArray[Any], out: NDArray[Any]) -> None:
        """``left @ points.T`` of shape ``(len(left), n)`` into ``out``, whose columns are next to one another."""
        more = np.empty(out.shape, out.dtype) if len(self.parts) > 1 else out
        for k, (columns, panels) in enumerate(self.parts):
            target = more if k else out
            _multiply(np.ascontiguousarray(left[:, columns]), panels, self.high, target)
            if k:
                out += more


def _panels(points: NDArray[Any], high: int) -> list[NDArray[Any]]:
    """Those of one width side by side, and one of what is left; each of shape ``(count, d, width)``."""
    n, d = points.shape
    width = (_AREA if d * _AREA <= _PIECE else _AREA // 2) // high
    whole = n - n % width
    first = points[:whole].reshape(-1, width, d).transpose(0, 2, 1)
    return [np.ascontiguousarray(panels) for panels in (first, points[whole:].T[None])]


def _multiply(left: NDArray[Any], panels: list[NDArray[Any]], high: int, out: NDArray[Any]) -> None:
    whole, first = len(left) - len(left) % high, 0
    for some in panels:
        end = first + some.shape[0] * some.shape[2]
        _grid(left[:whole], high, some, out[:whole, first:end])
        _grid(left[whole:], len(left) - whole, some, out[whole:, first:end])
        first = end


def _grid(left: NDArray[Any], high: int, panels: NDArray[Any], out: NDArray[Any]) -> None:
    """So many rows at a time by each panel."""
    if out.size:
        count, _, width = panels.shape
        pieces = out.reshape(-1, high, count, width).transpose(0, 2, 1, 3)
        np.matmul(left.reshape(-1, 1, high, left.shape[1]), panels, out=pieces)


def weighted_sums(values: NDArray[Any], weights: Any) -> Reals:
    """``values @ weights`` of shape ``(m,)`` or ``(m, k)``, for ``m`` of a few hundred; sparse weights are CSR."""
    if sp.issparse(weights):
        return np.asarray((weights.T @ values.T).T)
    if weights.ndim == 1:
        return np.asarray(np.einsum("ij,j->i", values, weights))
    out = np.zeros((len(values), weights.shape[1]))
    step = max(1, _PIECE // max(out.size, 1))
    for at in range(0, len(weights), step):
        out += values[:, at : at + step] @ weights[at : at + step]
    return out
