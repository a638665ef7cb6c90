"""The nearest point of a box in which a signed sum is fixed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["project"]

Reals = NDArray[np.float64]


def project(z: Reals, sign: Reals, upper: Reals, total: float) -> Reals:
    """The ``a`` nearest to ``z`` with ``0 <= a <= upper`` and ``sum_v sign_v a_v = total``.

    Parameters
    ----------
    z, sign, upper : float64 arrays of one shape
        Signs are plus or minus 1; bounds are positive and may be infinite.
    total : float
        Between minus the bounds of negative sign and the bounds of positive sign, added up; beyond them the nearest
        end of the box is given.

    Notes
    -----
    ``a = clip(z - t sign, 0, upper)`` with the multiplier ``t`` of the sum, which falls in pieces that are straight
    between the knots ``sign z`` and ``sign (z - upper)``. The piece is found by bisection among the sorted knots, and
    ``t`` on it is exact: ``O(n log n)``.
    """

    def at(t: float) -> Reals:
        return np.clip(z - t * sign, 0.0, upper)

    knots = np.concatenate([(sign * z).ravel(), (sign * (z - upper)).ravel()])
    knots = np.sort(knots[np.isfinite(knots)])
    low, high = 0, len(knots)  # knots before low have a sum of more than the total, those from high on have not
    while low < high:
        middle = (low + high) // 2
        if float((sign * at(float(knots[middle]))).sum()) > total:
            low = middle + 1
        else:
            high = middle
    if low == 0:
        inside = float(knots[0]) - max(1.0, abs(float(knots[0])))
    elif low == len(knots):
        inside = float(knots[-1]) + max(1.0, abs(float(knots[-1])))
    else:
        inside = 0.5 * float(knots[low - 1] + knots[low])
    moved = z - inside * sign
    free, full = (moved > 0.0) & (moved < upper), moved >= upper
    count = int(free.sum())
    if not count:  # a level piece: every multiplier on it gives this point
        return at(inside)
    return at((float((sign * z)[free].sum()) + float((sign * upper)[full].sum()) - total) / count)
