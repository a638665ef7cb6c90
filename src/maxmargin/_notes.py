"""What a fit tells about its data beside the certificate: ``notes_``, one line each.

A note is no warning: the model is right, and the note says what would make another one, or why a parameter has no
effect. Notes are made after the fit, from its figures and from a part of large data.

======================  ============================================================================================
note                    when
======================  ============================================================================================
unlike scales           the largest scale of a feature is at least 1,000 times the smallest. The scale of a feature is
                        the largest of its values less the smallest one where adding a constant to the feature changes
                        nothing, else the largest absolute value, also of sparse rows; of constant ones there is none
size                    linear machines: the largest scale is above 10,000 or below 1/10,000
constant features       dense data of at most a million values, where adding a constant changes nothing
contradictions          classes, up to 100,000 values: equal rows have different classes
hard margin             plain hinge: see :func:`hard_margin`
all inside the tube     regression: the best weights are 0
======================  ============================================================================================

For the scales at most about a million values are looked at, of sparse rows 130,000 stored ones, in blocks of rows at
equal distances; the note says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .problem import Certificate
from .structures.rows import FEW_ENTRIES, equal_pairs

__all__ = ["about_contradictions", "about_scales", "below", "hard_margin", "tell_hard_margin"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]

_UNLIKE = 1e3
_SIZE = 1e4
_LOOKED_AT, _LOOKED_AT_SPARSE = 1 << 20, 1 << 17
_BLOCK = 1 << 14
_SHOWN = 3
_SLIGHT = 3.0
_BELOW = 1.0 - 1e-3
_ROUNDING = 1e-12


def about_scales(X: Any, names: Any, *, shifts: bool, C: float | None = None, kernel: str = "linear") -> list[str]:
    """Notes on the scales of the features.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    names : sequence of str of length d, or None
    shifts : bool
        Whether adding a constant to a feature changes nothing, as with a free intercept.
    C : float, optional
        Of a linear machine, to say what the size of the features does to it.
    kernel : str
        Its name.
    """
    low, high, step = _extremes(X)
    if sp.issparse(X) or not shifts:
        scale = np.maximum(-low, high)
    else:
        scale = high - low
    if not (scale > 0.0).any():
        return []
    top, bottom = int(scale.argmax()), int(np.where(scale > 0.0, scale, np.inf).argmin())
    largest, smallest = float(scale[top]), float(scale[bottom])
    notes = []
    if largest / _UNLIKE >= smallest:
        effect = (
            "the penalty acts almost only on the weights of the small ones"
            if kernel == "linear"
            else "the kernel sees almost only the large ones"
        )
        scaler = "MaxAbsScaler" if sp.issparse(X) else "StandardScaler"
        seen = f" (seen in one row of {step})" if step > 1 else ""
        notes.append(
            f"the scales of the features differ by a factor of {largest / smallest:.2g}, from {smallest:.2g} "
            f"({_feature(bottom, names)}) to {largest:.2g} ({_feature(top, names)}){seen}: {effect}; scaling them "
            f"({scaler}) would change the model and speed up the fit"
        )
    elif C is not None and not 1.0 / _SIZE <= largest <= _SIZE:
        notes.append(
            f"the features are of size {largest:.2g}: C={C:g} acts on them as C={C * largest * largest:.2g} would on "
            "features of size 1"
        )
    flat = np.flatnonzero(low == high)
    if shifts and len(flat) and step == 1 and not sp.issparse(X):
        shown = ", ".join(_feature(int(j), names) for j in flat[:_SHOWN]) + (", ..." if len(flat) > _SHOWN else "")
        notes.append(f"{len(flat)} of {len(low)} features have the same value in all rows ({shown}): no effect")
    return notes


def about_contradictions(X: Any, number: Ints, rows: Ints) -> list[str]:
    """A note on equal rows of different classes.

    Parameters
    ----------
    X : float64 array of shape (n, d) or canonical CSR matrix
        Of rows with equal features and class only one.
    number : int64 array of shape (n,)
        Their classes.
    rows : int64 array of shape (n,)
        Their numbers in the data.
    """
    if X.size > FEW_ENTRIES:
        return []
    pairs = equal_pairs(X)
    pairs = pairs[number[pairs[:, 0]] != number[pairs[:, 1]]]
    if not len(pairs):
        return []
    points = int((~np.isin(pairs[:, 0], pairs[:, 1])).sum())
    at = np.sort(rows[pairs], axis=1)
    at = at[np.lexsort(at.T[::-1])]
    shown = ", ".join(f"row {i} and row {j}" for i, j in at[:_SHOWN].tolist()) + (", ..." if len(at) > _SHOWN else "")
    what = "1 point is" if points == 1 else f"{points} points are"
    return [f"{what} in the data under more than one class ({shown}): no model can get all of these right"]


def hard_margin(certificate: Certificate, total: float, least: float, tol: float) -> float | None:
    """How much a larger ``C`` can change at most: a proof that a machine with hinges has the hard margin, or None.

    Let ``xi`` be the largest share of a wanted margin that is missing. Then ``w / (1 - xi)`` has all margins: its
    penalty bounds the optimum for every ``C`` from above, and the lower bound at hand holds for all larger ones.
    The relative difference is returned where it is at most three times the tolerance.

    Parameters
    ----------
    certificate : Certificate
        Of one problem.
    total, least : float
        Sum of the weights, and the smallest one (times its wanted margin).
    tol : float
    """
    slack = certificate.risk_bound * total
    missing = slack / least  # at least the largest of all
    if not missing < 1.0 or certificate.dual <= 0.0:
        return None
    penalty = (certificate.primal - certificate.C * slack) / (1.0 - missing) ** 2
    change = 1.0 - certificate.dual / penalty
    return max(change, 0.0) if change <= _SLIGHT * tol else None


def below(beta: Reals, upper: Reals) -> bool:
    """Whether all multipliers are clearly below their bounds."""
    return bool((np.abs(beta) < _BELOW * upper).all())


def tell_hard_margin(changes: Sequence[float | None], separable: str = "the data are separable") -> list[str]:
    """A note on problems of which :func:`hard_margin` says so."""
    hard = [change for change in changes if change is not None]
    if not hard:
        return []
    most = max(hard)
    bound = f" (the objective by {_percent(most)} at most)" if most > _ROUNDING else ""
    effect = f"a larger C changes nothing{bound}: this is the hard margin"
    if len(changes) == 1:
        return [f"{separable} and no slack is left: {effect}"]
    return [f"{len(hard)} of {len(changes)} two-class problems are separable and without slack: for these {effect}"]


def _percent(share: float) -> str:
    """Rounded up to two digits."""
    digit = 10.0 ** (math.floor(math.log10(100.0 * share)) - 1)
    return f"{math.ceil(100.0 * share / digit) * digit:.2g} %"


def _extremes(X: Any) -> tuple[Reals, Reals, int]:
    """Smallest and largest value of every column in one of so many rows; of sparse rows minus and plus the largest."""
    n, d = X.shape
    sparse = sp.issparse(X)
    size = max(1, _BLOCK * n // max(X.size, 1))  # rows that fit a cache
    step = -(-X.size // (_LOOKED_AT_SPARSE if sparse else _LOOKED_AT)) or 1
    low, high = np.full(d, np.inf), np.full(d, -np.inf)
    if sparse:
        high[:] = 0.0
    for at in range(0, n, step * size):
        if sparse:
            part = slice(X.indptr[at], X.indptr[min(at + size, n)])
            np.maximum.at(high, X.indices[part], np.abs(X.data[part]))
        else:
            block = X[at : at + size]
            np.minimum(low, block.min(0), out=low)
            np.maximum(high, block.max(0), out=high)
    return (-high if sparse else low), high, step


def _feature(j: int, names: Any) -> str:
    return f"feature {j}" if names is None else f"feature {names[j]!r}"
