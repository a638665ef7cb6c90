"""Where a plain machine begins when an earlier fit is at hand: a feasible dual point near its coefficients."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..terms import LossTerms, Terms

__all__ = ["clipped_dual", "factor_between", "warm_dual"]

Reals = NDArray[np.float64]
_SAME = 1e-15
_AT_ONCE = 1 << 13  # coefficients


def warm_dual(terms: Terms, beta: Reals, square: Callable[[Reals], float], *, balanced: bool) -> Reals:
    """The best multiple of coefficients of a fit with another ``C`` or other weights, as far as the box allows.

    Where ``C`` has grown, the multiple takes variables at their old bound to the new one. Where the coefficients leave
    the box, they are scaled down as a whole or cut off at its bounds, whichever makes the better point.

    Parameters
    ----------
    terms : Terms
    beta : float64 array of shape (n,)
        Coefficients of the rows.
    square : callable
        ``|sum_i beta_i x_i|^2`` for given coefficients.
    balanced : bool
        Whether ``sum_i beta_i`` must be 0.

    Returns
    -------
    float64 array of shape (n, m)
        Variables ``a``; 0 where no multiple is better.
    """
    wanted = np.maximum(terms.sign * beta[:, None], 0.0)
    used = wanted > 0.0
    share = min(1.0, float((terms.upper[used] / wanted[used]).min(initial=1.0)))
    best, highest = np.zeros_like(wanted), 0.0
    for a in [wanted] if share == 1.0 else [share * wanted, np.minimum(wanted, terms.upper)]:
        if balanced:
            a = terms.balanced(a)
        length = square(terms.beta(a))
        factor = terms.best_multiple(a, length)
        with np.errstate(over="ignore", invalid="ignore"):  # of lengths that are rounding it is anything
            value = terms.gain(factor * a) - 0.5 * factor * factor * length
        if highest < value < math.inf:
            best, highest = np.minimum(factor * a, terms.upper), value
    return best


def clipped_dual(terms: LossTerms, beta: Reals) -> Reals:
    """Coefficients of a fit of any loss, cut off at the bounds: variables of shape ``(n, 1)``.

    There is no best multiple to be had in one step, as the dual of such a loss is no quadratic.
    """
    return np.clip(terms.sign * beta[:, None], terms.lower, terms.upper)


def factor_between(known: Reals, beta: Reals) -> float | None:
    """The factor that turns known coefficients into others, up to rounding; None where there is none.

    A warm start is often a multiple of where the fit before ended: then sums over the rows need not be made again.
    """
    if np.array_equal(known, beta):
        return 1.0
    largest = max(sorted((int(known.argmax()), int(known.argmin()))), key=lambda k: abs(known[k]))
    if known[largest] == 0.0:
        return None
    factor = float(beta[largest] / known[largest])  # one quotient is exact to the last bit; one of sums is not
    # each of them: where features are of very different sizes, sums depend on the smallest ones
    for at in range(0, len(beta), _AT_ONCE):  # most often the first ones differ
        some = beta[at : at + _AT_ONCE]
        if not (np.abs(some - factor * known[at : at + _AT_ONCE]) <= _SAME * np.abs(some)).all():
            return None
    return factor
