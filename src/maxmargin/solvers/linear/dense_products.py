"""Products of dense rows with vectors, in pieces whose sums do not depend on the number of threads.

A library of linear algebra divides such a product among its threads, and each division rounds in its own way: so the
last bits of a model would depend on how many cores there are. These read every row once, at the speed of memory, and
where there is much to read threads of Python share the pieces. Some of the rows can be taken where they lie, loaded
ahead of their use.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._compiled import compiled, prefetch
from ..._threads import as_many_as_blas, in_order

__all__ = ["combined", "scores"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
_PIECE = 1 << 20  # entries: a piece takes about a millisecond
_WORTH_THREADS = 1 << 23  # entries: beginning threads takes a tenth of the time they save
_AHEAD = 8  # rows that are being loaded
_FETCHED = 128  # entries of a row; after some lines the processor sees by itself where it goes


@compiled
def _row(data, width, places, k):
    first = (k if places is None else places[k]) * width
    return data[first : first + width]


@compiled
def _load(data, width, places, k):
    first = (k if places is None else places[k]) * width
    for q in range(first, first + min(width, _FETCHED), 8):
        prefetch(data, q)


@compiled(dot=True)
def _scores(data, width, places, start, end, w, out):
    """``out[k - start, v] = <x_k, w_v>`` for each vector ``w_v``; four of them at a time."""
    n_vectors = len(w)
    fours = n_vectors - n_vectors % 4
    for k in range(start, end):
        if places is not None:  # others come by themselves
            _load(data, width, places, min(k + _AHEAD, end - 1))
        row = _row(data, width, places, k)
        for v in range(0, fours, 4):
            p, q, r, s = w[v], w[v + 1], w[v + 2], w[v + 3]
            a, b, c, e = 0.0, 0.0, 0.0, 0.0
            for j in range(width):
                x = row[j]
                a += x * p[j]
                b += x * q[j]
                c += x * r[j]
                e += x * s[j]
            out[k - start, v], out[k - start, v + 1], out[k - start, v + 2], out[k - start, v + 3] = a, b, c, e
        for v in range(fours, n_vectors):
            total, u = 0.0, w[v]
            for j in range(width):
                total += row[j] * u[j]
            out[k - start, v] = total


@compiled(dot=True)
def _combine(data, width, places, start, end, beta, out):
    """``out_v += sum_k beta_kv x_k``; eight rows at a time, so that sums are loaded and stored less often."""
    eights = end - (end - start) % 8
    for k in range(start, eights, 8):
        for q in range(8):
            _load(data, width, places, min(k + _AHEAD + q, end - 1))
        a, b, c, d = (_row(data, width, places, k), _row(data, width, places, k + 1),
                      _row(data, width, places, k + 2), _row(data, width, places, k + 3))  # fmt: skip
        e, f, g, h = (_row(data, width, places, k + 4), _row(data, width, places, k + 5),
                      _row(data, width, places, k + 6), _row(data, width, places, k + 7))  # fmt: skip
        for i in range(len(out)):
            sums = out[i]
            s, t, u, v = beta[k, i], beta[k + 1, i], beta[k + 2, i], beta[k + 3, i]
            w, x, y, z = beta[k + 4, i], beta[k + 5, i], beta[k + 6, i], beta[k + 7, i]
            for j in range(width):
                sums[j] += (
                    s * a[j] + t * b[j] + u * c[j] + v * d[j] + w * e[j] + x * f[j] + y * g[j] + z * h[j]
                )  # fmt: skip
    for k in range(eights, end):
        row = _row(data, width, places, k)
        for i in range(len(out)):
            sums, scale = out[i], beta[k, i]
            for j in range(width):
                sums[j] += scale * row[j]


def scores(data: NDArray[Any], width: int, n: int, w: Reals, places: Ints | None = None) -> Reals:
    """``X @ w`` in float64, shape ``(n,)`` or ``(n, m)``.

    Parameters
    ----------
    data : float32 or float64 array
        The rows, one after another, each of ``width`` numbers.
    n : int
        How many rows there are, or places.
    w : float64 array of shape (width,) or (width, m)
        A vector or several, which cost little more than one.
    places : int64 array of shape (n,), optional
        The rows taken; without them all, in their order.
    """
    vectors = np.ascontiguousarray(w.T if w.ndim > 1 else w[None])
    out = np.empty((n, len(vectors)))

    def run(part: slice) -> None:
        _scores(data, width, places, part.start, part.stop, vectors, out[part])

    for _ in in_order(run, _pieces(n, width), _threads(n * width)):
        pass
    return out if w.ndim > 1 else out[:, 0]


def combined(data: NDArray[Any], width: int, n: int, beta: Reals, places: Ints | None = None) -> Reals:
    """``X.T @ beta`` in float64, shape ``(width,)`` or ``(width, m)``; parameters are as of :func:`scores`."""
    columns = np.ascontiguousarray(beta if beta.ndim > 1 else beta[:, None])
    out = np.zeros((columns.shape[1], width))

    def run(part: slice) -> Reals:
        sums = np.zeros_like(out)
        _combine(data, width, places, part.start, part.stop, columns, sums)
        return sums

    for sums in in_order(run, _pieces(n, width), _threads(n * width)):
        out += sums
    return np.ascontiguousarray(out.T) if beta.ndim > 1 else out[0]


def _pieces(n: int, width: int) -> Iterator[slice]:
    """Consecutive rows; where they are cut does not depend on the number of threads."""
    size = max(8, _PIECE // max(width, 1))
    for at in range(0, n, size):
        yield slice(at, min(at + size, n))


def _threads(entries: int) -> int:
    return as_many_as_blas() if entries >= _WORTH_THREADS else 1
