"""Equal rows of a training set: one example of their joint weight, whatever their order in the data.

A row of weight ``k`` and ``k`` copies of it are the same term of the objective. Merging copies saves their visits, and
visiting the distinct rows in an order that follows from their content alone makes the model independent of the order
of the data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from .._compiled import array, compiled, kernel

__all__ = ["FEW_ENTRIES", "equal_pairs", "merge_equal_rows"]

FEW_ENTRIES = 100_000
"""Sets of up to so many values are small: in them equal rows are looked for whatever the estimator."""
_COMPARED = 1 << 18  # values at once


@compiled
def _mix(h):
    """Finaliser of splitmix64, in 64-bit wrap-around arithmetic."""
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


@kernel(
    lambda: types.void(
        array(types.int64, readonly=True), array(types.int32, readonly=True), array(types.uint64, readonly=True),
        array(types.uint64),
    )
)  # fmt: skip
def _hash_sparse(indptr, indices, bits, out):
    """Add to ``out`` a hash of every row; the order of its entries does not matter."""
    for i in range(len(out)):
        total = np.uint64(0)
        for k in range(indptr[i], indptr[i + 1]):
            if bits[k] << np.uint64(1) != np.uint64(0):  # zeros of either sign do not count
                total += _mix(bits[k] + _mix(np.uint64(indices[k]) + np.uint64(1)))
        out[i] += total


@kernel(lambda: types.void(array(types.uint64, 2, readonly=True), array(types.uint64)))
def _hash_dense(bits, out):
    for i in range(bits.shape[0]):
        total = np.uint64(0)
        for k in range(bits.shape[1]):
            if bits[i, k] << np.uint64(1) != np.uint64(0):
                total += _mix(bits[i, k] + _mix(np.uint64(k) + np.uint64(1)))
        out[i] += total


def merge_equal_rows(
    X: Any, number: NDArray[np.int64], weight: NDArray[np.float64] | None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Distinct pairs of row and class.

    Parameters
    ----------
    X : float64 array of shape (n, d) or canonical CSR matrix
    number : int array of shape (n,)
        Class numbers.
    weight : float64 array of shape (n,), optional

    Returns
    -------
    order : int64 array
        One row of each distinct pair with positive weight, in an order that depends on the content alone.
    weight : float64 array of shape (n,)
        Joint weights at these rows, 0 elsewhere.
    """
    n = X.shape[0]
    weight = np.ones(n) if weight is None else weight
    key = _hashes(X, number)
    used = np.flatnonzero(weight > 0)
    order = used[np.argsort(key[used], kind="stable")]
    first = np.ones(len(order), bool)
    same_key = np.flatnonzero(key[order[1:]] == key[order[:-1]]) + 1
    # equal hashes are nearly always equal rows; make sure of it
    first[same_key] = ~_equal(X, number, order[same_key], order[same_key - 1])
    group = np.cumsum(first) - 1
    joint = np.zeros(n)
    joint[order[first]] = np.bincount(group, weights=weight[order])
    return order[first], joint


def equal_pairs(X: Any) -> NDArray[np.int64]:
    """Numbers of rows that are equal, each with the next one that equals it; shape ``(n_pairs, 2)``.

    Parameters
    ----------
    X : float64 array of shape (n, d) or canonical CSR matrix
    """
    same = np.zeros(X.shape[0], np.int64)
    key = _hashes(X, same)
    ordered = np.sort(key)
    if not (ordered[1:] == ordered[:-1]).any():  # which sorts much faster than their places
        return np.empty((0, 2), np.int64)
    order = np.argsort(key, kind="stable")
    first, second = order[:-1], order[1:]
    candidates = key[first] == key[second]
    first, second = first[candidates], second[candidates]
    return np.column_stack([first, second])[_equal(X, same, first, second)]


def _hashes(X: Any, number: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A hash of every row and its class."""
    with np.errstate(over="ignore"):
        key = _mix_array(number.astype(np.uint64) + np.uint64(7))
        if hasattr(X, "indptr"):
            _hash_sparse(
                _read_only(X.indptr, np.int64),
                _read_only(X.indices, np.int32),
                _read_only(X.data, np.float64).view(np.uint64),
                key,
            )
        else:
            _hash_dense(_read_only(X, np.float64).view(np.uint64), key)
    return key


def _equal(X: Any, number: NDArray[np.int64], i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether rows ``i[k]`` and ``j[k]`` and their classes are equal, for every ``k``."""
    equal = number[i] == number[j]
    step = max(1, _COMPARED * X.shape[0] // max(X.nnz if hasattr(X, "indptr") else X.size, 1))
    for at in range(0, len(i), step):
        part = slice(at, at + step)
        if hasattr(X, "indptr"):
            difference = abs(X[i[part]] - X[j[part]])
            equal[part] &= np.asarray(difference.sum(1)).ravel() == 0.0
        else:
            equal[part] &= (X[i[part]] == X[j[part]]).all(1)
    return np.asarray(equal)


def _mix_array(h: NDArray[np.uint64]) -> NDArray[np.uint64]:
    mixed: NDArray[np.uint64] = _mix.py_func(h) if hasattr(_mix, "py_func") else _mix(h)
    return mixed


def _read_only(values: Any, dtype: Any) -> NDArray[Any]:
    out = np.ascontiguousarray(values, dtype=dtype).view()
    out.flags.writeable = False
    return out
