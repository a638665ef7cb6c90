"""What truncated Newton methods share: conjugate gradients that stop early, and a search along a line."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .._products import inner

__all__ = ["conjugate_gradients", "line_minimum"]

Reals = NDArray[np.float64]


def conjugate_gradients(
    product: Callable[[Reals], Reals],
    b: Reals,
    scale: Reals | Callable[[Reals], Reals],
    *,
    forcing: float,
    most: int,
) -> tuple[Reals, int, bool]:
    """Preconditioned conjugate gradients for ``A p = b``, begun at 0.

    Parameters
    ----------
    product : callable
        ``A @ p`` for a positive definite ``A``.
    b : float64 array of shape (d,)
    scale : float64 array of shape (d,), or callable
        Inverse diagonal of the preconditioner, or what it makes of a vector: where that is nearly ``A^-1`` a product or
        two are enough.
    forcing : float
        Part of ``b``, in the norm of the preconditioner, at which to stop.
    most : int
        Limit on the products.

    Returns
    -------
    tuple of (p, products, reached)
        ``reached`` says whether that part was reached. Where a product shows no curvature, the way ends before it.
    """
    p, r = np.zeros_like(b), b
    precondition = scale if callable(scale) else lambda r: scale * r
    z = precondition(r)
    rz = inner(r, z)
    direction = z
    enough = forcing**2 * rz
    for k in range(most):
        if rz <= enough:
            return p, k, True
        image = product(direction)
        bend = inner(direction, image)
        if not bend > 0.0:  # rounding, or numbers too small for their squares
            return p, k + 1, False
        alpha = rz / bend
        p += alpha * direction
        r = r - alpha * image
        z = precondition(r)
        rz, before = inner(r, z), rz
        direction = z + (rz / before) * direction
    return p, most, rz <= enough


def line_minimum(slope: Callable[[float], float], at_zero: float, *, precision: float = 0.2, most: int = 40) -> float:
    """A step near the minimum of a convex function along a line: where its derivative is small, or at most negative.

    The step 1 is tried first. Bracketed by the method of false position, and by halving where that gains too little, as
    with losses that grow exponentially.

    Parameters
    ----------
    slope : callable
        The derivative after a step; no number where it is too large for one.
    at_zero : float
        The derivative at the step 0.
    precision : float
        Part of ``at_zero`` that counts as small.
    most : int
        Limit on the calls.
    """
    lo, hi = 0.0, math.inf
    at_lo, at_hi = at_zero, math.inf
    t, width = 1.0, math.inf
    if at_zero >= 0.0:
        return 0.0
    for _ in range(most):
        found = slope(t)
        if abs(found) <= precision * -at_zero:
            return t
        if found < 0.0:
            lo, at_lo = t, found
        else:  # a slope that is no number too
            hi, at_hi = t, found
        if hi == math.inf:
            t *= 2.0
            continue
        slow, width = hi - lo > 0.5 * width, hi - lo
        share = 0.5 if slow or not math.isfinite(at_hi) else at_lo / (at_lo - at_hi)
        t = lo + min(max(share, 0.1), 0.9) * width
    # a step of 0 would be tried again and again
    return t if lo == 0.0 and math.isfinite(at_hi) else lo
