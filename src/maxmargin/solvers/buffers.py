"""Buffers that the functions of a structure write into, and the look at what they wrote; for kernels.

A function that writes beyond its arrays, or that gives a part or a feature which does not exist, would make the kernels
write into foreign memory. So the buffers stand between marks, and numbers are looked at before they are followed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._compiled import compiled

__all__ = ["Astray", "Buffers", "features_astray", "has_nan", "parts_astray"]

_GUARD = 512
_MARK = -87654321
_MARKS = {dtype: np.full(_GUARD, mark, dtype).tobytes() for dtype, mark in ((np.float64, np.nan), (np.int32, _MARK))}


class Astray(Exception):
    """Raised by kernels where a function left its arrays or gave what is none; who called the kernel finds which."""


class Buffers:
    """Buffers for one call of a kernel, made in Python: in the kernels the marks would take long to compile.

    Attributes
    ----------
    theta : float64 array
    out, out_parts, true_parts : int32 arrays
    """

    def __init__(self, sizes: NDArray[np.int64]) -> None:
        n_theta, n_out, n_parts = sizes.tolist()
        reals, self._reals = _between_marks([n_theta], np.nan, np.float64)  # NaN: what is read astray is seen too
        ints, self._ints = _between_marks([n_out, n_parts, n_parts], _MARK, np.int32)
        (self.theta,), (self.out, self.out_parts, self.true_parts) = reals, ints

    @property
    def all(self) -> tuple[NDArray[Any], ...]:
        """The arrays, as kernels take them."""
        return self.theta, self.out, self.out_parts, self.true_parts

    def check(self) -> None:
        """Raise :class:`Astray` when something was written beside them."""
        for guards, marks in ((self._ints, _MARKS[np.int32]), (self._reals, _MARKS[np.float64])):
            if any(guard.tobytes() != marks for guard in guards):
                raise Astray


def _between_marks(sizes: list[int], mark: float, dtype: Any) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
    """Arrays of zeros, one after another in memory, with marks before, between and behind; and the marks."""
    whole = np.empty(sum(sizes) + _GUARD * (len(sizes) + 1), dtype)
    whole.fill(mark)
    arrays, guards, at = [], [whole[:_GUARD]], _GUARD
    for size in sizes:
        arrays.append(whole[at : at + size])
        arrays[-1].fill(0)
        guards.append(whole[at + size : at + size + _GUARD])
        at += size + _GUARD
    return arrays, guards


@compiled(inner=True)
def parts_astray(n, parts, n_potentials):
    """Whether a number of parts has no room, or one of them is none."""
    if n < 0 or n > len(parts):
        return True
    odd = False
    for q in range(n):
        odd |= (parts[q] < 0) | (parts[q] >= n_potentials)
    return odd


@compiled(inner=True)
def features_astray(n, keys, values, n_weights):
    """Whether a number of features has no room, one of them is none, or its value is not finite."""
    if n < 0 or n > len(keys):
        return True
    odd = False
    for q in range(n):
        odd |= (keys[q] < 0) | (keys[q] >= n_weights) | (values[q] - values[q] != 0.0)
    return odd


@compiled(dot=True, inner=True)
def has_nan(theta):
    """Whether a potential is NaN: decoders pass it over."""
    total = 0.0
    for q in range(len(theta)):
        total += theta[q]
    return np.isnan(total)
