"""Checks of the arrays given to the public decoders; the compiled cores trust what they get."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DataError

__all__ = ["Floats", "Ints", "check_scores", "check_mask", "check_indices"]

LARGEST = 1e300  # a sum of 10**8 such scores is finite; one below -LARGEST may become -inf, which is worse than any
Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]


def check_scores(values: ArrayLike, name: str, shape: Sequence[int | None]) -> Floats:
    """Give a fresh C-contiguous float64 array of ``shape`` (None: any length) of scores up to LARGEST, or ``-inf``.

    Always a copy: the compiled code then meets one type of array, whatever the strides, byte order and flags given.

    Raises
    ------
    DataError
        Not numbers, masked, another shape, NaN, ``+inf`` or above LARGEST.
    """
    array = _as_array(values, name, "buif", "real numbers")
    _check_shape(array, name, shape)
    scores = np.array(array, dtype=np.float64, order="C")
    wrong = ~(scores <= LARGEST)
    if wrong.any():
        place = np.unravel_index(int(np.argmax(wrong)), scores.shape)
        value = float(scores[place])
        if np.isfinite(value):
            raise DataError(f"{name}{_place(place)} is {value}: scores above {LARGEST:g} cannot be added up")
        raise DataError(f"{name}{_place(place)} is {value}: scores must be finite, or -inf for what is forbidden")
    return scores


def check_mask(values: ArrayLike, name: str, shape: Sequence[int | None]) -> NDArray[np.bool_]:
    """Give a boolean array of ``shape``; anything but booleans is refused, so that labels are not taken for a mask."""
    array = _as_array(values, name, "b", "booleans")
    _check_shape(array, name, shape)
    return array


def check_indices(values: ArrayLike, name: str, shape: Sequence[int | None], stop: int) -> NDArray[np.int64]:
    """Give a fresh int64 array of ``shape`` whose entries lie in ``range(stop)``."""
    given = values if np.size(values) else np.zeros(np.shape(values), np.int64)  # [] alone would be float
    array = _as_array(given, name, "ui", "integers")
    _check_shape(array, name, shape)
    wrong = (array < 0) | (array >= stop)
    if wrong.any():
        place = np.unravel_index(int(np.argmax(wrong)), array.shape)
        raise DataError(f"{name}{_place(place)} is {array[place]}: it must be at least 0 and below {stop}")
    return array.astype(np.int64)


def _as_array(values: ArrayLike, name: str, kinds: str, what: str) -> NDArray[Any]:
    try:
        if isinstance(values, list | tuple) and any(isinstance(part, np.ma.MaskedArray) for part in values):
            values = np.ma.array(values)  # of a list the next line would look behind the masks
        array = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} is not an array of {what}: {error}") from None
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        where = np.argwhere(np.ma.getmaskarray(values))[0].tolist()
        how = " (-inf forbids it)" if "f" in kinds else ""
        raise DataError(f"{name}{_place(tuple(where))} is masked: fill in what is missing{how}")
    if array.dtype.kind not in kinds:
        raise DataError(f"{name} must be an array of {what}, not of {array.dtype}")
    return array


def _check_shape(array: NDArray[Any], name: str, shape: Sequence[int | None]) -> None:
    if array.ndim != len(shape) or any(n is not None and n != m for n, m in zip(shape, array.shape)):
        wanted = ", ".join("any" if n is None else str(n) for n in shape) + ("," if len(shape) == 1 else "")
        raise DataError(f"{name} has shape {array.shape}; expected ({wanted})")


def _place(index: tuple[Any, ...]) -> str:
    return "[" + ", ".join(str(int(k)) for k in index) + "]"
