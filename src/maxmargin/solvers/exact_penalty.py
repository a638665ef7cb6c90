"""From which ``C`` on a soft margin is the hard one, if the data have a hard margin (exact penalty)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .linear.rows import Rows
from .linear.separation import Conflict, separate

__all__ = ["enough_of"]

_MORE = 2.0  # times the least one
_LARGEST = 1e49


def enough_of(
    rows: Rows, sign: NDArray[np.float64], intercept: bool, name: str, *, factor: bool = False
) -> float | Conflict:
    """A ``C`` from which on the soft margin of the rows is the hard one, or rows that no hyperplane separates.

    Parameters
    ----------
    rows : Rows
    sign : float64 array of shape (n,)
        Plus or minus 1.
    intercept : bool
        Whether the hyperplane may be away from the origin.
    name : str
        Who refuses.
    factor : bool
        Whether the rows are those of a factor of a kernel matrix, see :func:`~.linear.separation.separate`.

    Raises
    ------
    DataError
        When rounding hides whether they can be separated, or weights would leave the range of numbers.
    KeyboardInterrupt
    """
    try:
        with np.errstate(over="ignore"):  # infinite weights are refused below
            found = separate(rows, sign, intercept, factor=factor)
    except OverflowError:
        raise DataError(
            f"{name}: the margin leaves the range of numbers; scale the features (values of about 1 are best)"
        ) from None
    except ArithmeticError as error:
        raise DataError(f"{name}: {error}") from None
    if isinstance(found, Conflict):
        return found
    if not found <= _LARGEST:
        raise DataError(f"{name}: the weights would be of size {math.sqrt(found):.2g}; scale X up")
    return _MORE * found
