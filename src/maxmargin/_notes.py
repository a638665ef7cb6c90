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
constant features       dense data of at most a million values, where adding a constant changes nothing; sparse rows
                        only where all are 0; where all features are constant, with every kernel on features
contradictions          classes, up to 100,000 values: equal rows have different classes
weights of 0            the objective of weights of 0, with the best intercept, is within the tolerance of the lower
                        bound, and above 0; not of nu forms and of kernels that may be indefinite
hard margin             hinge and its square: see :func:`hard_margin`; logistic and exponential loss: see
                        :func:`without_minimum`
all inside the tube     regression: the best weights are 0
no others are better    regression with nu: all weights are 0
perceptron loss         all weights are 0
nu forms of classes     the best margin is 0, of one problem or of several
absent classes          ``class_weight`` names some that occur in no row
kernel of 0             kernels and nu forms: all values between the rows are 0
not definite            the kernel matrix, or a part of it, has an eigenvalue below 0
maybe not definite      more points than are looked at, with a kernel that is not known to be positive semi-definite
======================  ============================================================================================

For the scales at most about a million values are looked at, of sparse rows 130,000 stored ones, in blocks of rows at
equal distances; the note says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .problem import Certificate
from .solvers.linear.rows import Rows
from .structures.rows import FEW_ENTRIES, equal_pairs

__all__ = [
    "Extremes", "HardMargin", "about_contradictions", "about_equal_rows", "about_order", "about_scales", "below",
    "extremes", "hard_margin", "says_why_nothing", "tell_absent", "tell_apart_by_nu", "tell_hard_margin",
    "tell_indefinite", "tell_unproven", "tell_zero", "tell_zero_by_nu", "tell_zero_kernel", "tell_zero_of_perceptron",
    "without_idle_advice", "without_minimum", "zero_is_best",
]  # fmt: skip

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
_HARDLY = 1e-3
_ALL_CONSTANT = "the features have the same value in all rows"
_ZERO_KERNEL = "the kernel is 0 between all rows"
_AS_GOOD = "weights of 0 are as good as any"


class HardMargin(NamedTuple):
    """What is known of a problem that is as good as one with a hard margin.

    Attributes
    ----------
    change : float
        By how much of itself the objective can change at most as ``C`` grows; of ``"smooth"`` losses the mean loss.
    kind : {"hinge", "squared", "smooth"}
        The loss.
    """

    change: float
    kind: Literal["hinge", "squared", "smooth"] = "hinge"


class _Sizes(NamedTuple):
    """Scales of the features: the largest, the smallest above 0 (infinite where there is none), and whose they are."""

    largest: float
    smallest: float
    top: int
    bottom: int

    @classmethod
    def of(cls, scale: Reals) -> _Sizes:
        if not len(scale):
            return cls(0.0, math.inf, 0, 0)
        some = np.where(scale > 0.0, scale, np.inf)
        top, bottom = int(scale.argmax()), int(some.argmin())
        return cls(float(scale[top]), float(some[bottom]), top, bottom)


@dataclass(frozen=True)
class Extremes:
    """Smallest and largest value of every column in one of so many rows; of sparse rows twice the largest in size.

    What follows from them is found once, whatever the number of fits that ask for it.

    Attributes
    ----------
    low, high : float64 arrays of shape (d,)
    step : int
    sparse : bool
    """

    low: Reals
    high: Reals
    step: int
    sparse: bool

    @cached_property
    def differ(self) -> bool:
        """Whether a feature tells one row from another."""
        return bool(self.high.any() if self.sparse else (self.low != self.high).any())

    @cached_property
    def sizes(self) -> _Sizes:
        """By absolute values."""
        with np.errstate(over="ignore"):  # such features may still have to be refused
            return _Sizes.of(self.high if self.sparse else np.maximum(-self.low, self.high))

    @cached_property
    def ranges(self) -> _Sizes:
        """Where adding a constant to a feature changes nothing; also of sparse rows by absolute values."""
        with np.errstate(over="ignore"):
            return self.sizes if self.sparse else _Sizes.of(self.high - self.low)


def about_scales(
    X: Any,
    names: Any,
    *,
    shifts: bool,
    C: float | None = None,
    kernel: str = "linear",
    seen: Extremes | None = None,
) -> list[str]:
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
    seen : Extremes, optional
        What :func:`extremes` has given for ``X``.
    """
    seen = extremes(X) if seen is None else seen
    if same := about_equal_rows(X, seen=seen, shifts=shifts):
        return same
    step = seen.step
    largest, smallest, top, bottom = seen.ranges if shifts else seen.sizes
    if not largest > 0.0:
        return _about_constants(seen, names) if shifts or seen.sparse else []
    notes = []
    if smallest <= largest / _UNLIKE:
        effect = (
            "the penalty acts almost only on the weights of the small ones"
            if kernel == "linear"
            else "the kernel sees almost only the large ones"
        )
        scaler = "MaxAbsScaler" if seen.sparse else "StandardScaler"
        where = f" (seen in one row of {step})" if step > 1 else ""
        notes.append(
            f"the scales of the features differ by a factor of {largest / smallest:.2g}, from {smallest:.2g} "
            f"({_feature(bottom, names)}) to {largest:.2g} ({_feature(top, names)}){where}: {effect}; scaling them "
            f"({scaler}) would change the model and speed up the fit"
        )
    elif C is not None and not 1.0 / _SIZE <= largest <= _SIZE:
        notes.append(
            f"the features are of size {largest:.2g}: C={C:g} acts on them as C={C * largest * largest:.2g} would on "
            "features of size 1"
        )
    if shifts and not seen.sparse:
        notes += _about_constants(seen, names)
    return notes


def about_equal_rows(X: Any, *, seen: Extremes | None = None, shifts: bool = False) -> list[str]:
    """A note on features none of which tells a row from another, whatever the kernel; see :func:`about_scales`."""
    seen = extremes(X) if seen is None else seen
    if seen.step > 1 or not len(seen.low) or seen.differ:
        return []
    effect = "they have no effect, and " if shifts or seen.sparse else ""
    return [f"all of {_ALL_CONSTANT}: {effect}every row has the same score"]


def _about_constants(seen: Extremes, names: Any) -> list[str]:
    """A note on features that are the same in all rows, if these were all looked at."""
    flat = np.flatnonzero(seen.low == seen.high)
    if not len(flat) or seen.step > 1:
        return []
    shown = ", ".join(_feature(int(j), names) for j in flat[:_SHOWN]) + (", ..." if len(flat) > _SHOWN else "")
    return [f"{len(flat)} of {len(seen.low)} features have the same value in all rows ({shown}): no effect"]


def zero_is_best(certificate: Certificate, at_zero: float, tol: float) -> bool:
    """Whether the objective ``at_zero`` of weights of 0 is positive, and within the tolerance of the lower bound."""
    return certificate.bounded and at_zero > 0.0 and at_zero - certificate.dual <= tol * at_zero


def says_why_nothing(notes: Sequence[str]) -> bool:
    """Whether one of the notes says that the features or the kernel tell no row from another."""
    return any(known in note for note in notes for known in (_ALL_CONSTANT, _ZERO_KERNEL))


def without_idle_advice(notes: Iterable[str]) -> tuple[str, ...]:
    """The notes, without what to try where weights of 0 are best if another one says that all rows are the same."""
    notes = tuple(notes)
    return tuple(note for note in notes if _AS_GOOD not in note) if says_why_nothing(notes) else notes


def tell_zero(zero: Sequence[bool], what: str, notes: Sequence[str], *, kernel: bool | None = False) -> list[str]:
    """A note on problems of which :func:`zero_is_best` says so.

    Parameters
    ----------
    zero : sequence of bool
        For each of the problems.
    what : str
        What the weights should do, after "do not": ``"tell the classes apart"``.
    notes : sequence of str
        Those there are: nothing is added where one says that all features are constant, or the kernel 0.
    kernel : bool or None
        Whether the scores are those of a kernel; None where there can be none.
    """
    if not any(zero) or says_why_nothing(notes):
        return []
    which = "" if all(zero) else f"in {sum(zero)} of {len(zero)} two-class problems "
    what_there_is = "values of the kernel" if kernel else "features"
    other = "other features or" if kernel is None else "other features, a kernel, or"
    if kernel:
        other = "other features, another kernel or gamma, or"
    return [
        f"{which}{_AS_GOOD}, within the tolerance: with this C the {what_there_is} do not {what}; "
        f"try {other} a larger C"
    ]


def tell_zero_kernel() -> str:
    """A note on a kernel whose values are all 0."""
    return f"{_ZERO_KERNEL}: every row has the same score; use other features or another kernel"


def tell_zero_by_nu(nu: float) -> str:
    """A note on weights of 0 that are the optimum of a regression with ``nu``."""
    return f"all weights are 0: with nu={nu:g} no others are better, as where all targets are the same"


def tell_apart_by_nu(nu: float, which: Sequence[str]) -> str:
    """A note, and a warning, on classes that a nu form cannot tell apart: ``which`` of several problems, as
    " for 0 against 1"; the one there is has no name.
    """
    named = [what for what in which if what]
    names = ",".join(named[:_SHOWN]) + (f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else "")
    there = " there" if named else ""
    return (
        f"with nu={nu:g} the classes cannot be told apart{names}: the best margin is 0{there} and all weights are "
        "about 0; raise nu or use another kernel"
    )


def tell_absent(names: Sequence[Any]) -> str:
    """A note on classes of ``class_weight`` that are in no row."""
    shown = ", ".join(map(repr, names[:_SHOWN])) + (", ..." if len(names) > _SHOWN else "")
    what, are = ("class", "is") if len(names) == 1 else ("classes", "are")
    return f"class_weight names the {what} {shown}, which {are} not in y: no effect"


def tell_zero_of_perceptron() -> str:
    """A note on weights of 0 that are the optimum of the perceptron loss."""
    return (
        "all weights are 0, which is always an optimum of the perceptron loss: it asks for no margin; use another "
        "loss, such as 'hinge' or 'logistic'"
    )


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


def hard_margin(
    certificate: Certificate, total: float, least: float, tol: float, *, squared: bool = False
) -> HardMargin | None:
    """How much a larger ``C`` can change at most: a proof that a machine with hinges has the hard margin, or None.

    Let ``xi`` be the largest share of a wanted margin that is missing. Then ``w / (1 - xi)`` has all margins: its
    penalty bounds the optimum for every ``C`` from above, and the lower bound at hand holds for all larger ones.
    The relative difference is returned where it is at most three times the tolerance.

    With squared hinges a slack is left for every ``C``, and the difference is what is still to come.

    Parameters
    ----------
    certificate : Certificate
        Of one problem.
    total, least : float
        Sum of the weights, and the smallest one (times its wanted margin; times its square for squared hinges).
    tol : float
    squared : bool
        Whether the hinges are squared.
    """
    if not least > 0.0:  # too small for a float as a product of weights
        return None
    slack = certificate.risk_bound * total
    missing = slack / least  # at least the largest of all
    if squared:
        missing = math.sqrt(missing)
    if not missing < 1.0 or certificate.dual <= 0.0:
        return None
    penalty = (certificate.primal - certificate.C * slack) / (1.0 - missing) ** 2
    if penalty <= 0.0:  # less than rounding
        return None
    change = 1.0 - certificate.dual / penalty
    return HardMargin(max(change, 0.0), "squared" if squared else "hinge") if change <= _SLIGHT * tol else None


def without_minimum(certificate: Certificate, total: float, least: float, at_zero: float) -> HardMargin | None:
    """Whether a machine whose loss falls for ever has separable data and next to no loss left, or None.

    No row can have a loss above ``total risk / least``; where that is below the loss of a score of 0, every row is on
    its right side. Along the path of a growing ``C`` the weights then grow for ever, and their direction comes to that
    of the hard margin (Rosset, Zhu, Hastie, NIPS 2003).

    Parameters
    ----------
    certificate : Certificate
        Of one problem.
    total, least : float
        Sum of the weights, and the smallest one.
    at_zero : float
        The loss of a score of 0.
    """
    mean = certificate.risk_bound
    return HardMargin(mean, "smooth") if mean <= _HARDLY and mean * total < least * at_zero else None


def about_order(
    certificate: Certificate, loss: str, C: float, total: float, least: float | None, tol: float, notes: Sequence[str]
) -> list[str]:
    """Notes on a machine that learns an order of pairs: weights of 0, and a hard margin.

    Parameters
    ----------
    certificate : Certificate
    loss : {"hinge", "squared_hinge"}
    C : float
    total : float
        Sum of the weights of the pairs; each costs 1 where all scores are the same.
    least : float or None
        The smallest of them; None where there are ties too, which leave no hard margin.
    tol : float
    notes : sequence of str
        Those there are.
    """
    out = tell_zero([zero_is_best(certificate, C * total, tol)], "put the pairs in order", notes, kernel=None)
    if least is not None:
        change = hard_margin(certificate, total, least, tol, squared=loss == "squared_hinge")
        out += tell_hard_margin([change], "all pairs are in order")
    return out


def below(beta: Reals, upper: Reals) -> bool:
    """Whether all multipliers are clearly below their bounds."""
    return bool((np.abs(beta) < _BELOW * upper).all())


def tell_hard_margin(changes: Sequence[HardMargin | None], separable: str = "the data are separable") -> list[str]:
    """A note on problems of one loss of which :func:`hard_margin` or :func:`without_minimum` says so."""
    hard = [change for change in changes if change is not None]
    if not hard:
        return []
    most = max(each.change for each in hard)
    bound = f" (the objective by {_percent(most)} at most)" if most > _ROUNDING else ""
    left, share, effect = {
        "hinge": ("no slack is left", "without slack", f"a larger C changes nothing{bound}: this is the hard margin"),
        "squared": (
            "hardly any slack is left",
            "nearly without slack",
            f"a larger C changes hardly anything{bound}: this is nearly the hard margin",
        ),
        "smooth": (
            f"the mean loss is {most:.1g}",
            f"have a mean loss of at most {most:.1g}",
            "as C grows the weights grow without end, and their direction comes to that of the hard margin",
        ),
    }[hard[0].kind]
    if len(changes) == 1:
        return [f"{separable} and {left}: {effect}"]
    return [f"{len(hard)} of {len(changes)} two-class problems are separable and {share}: for these {effect}"]


def tell_indefinite(least: float, largest: float, n_seen: int) -> str:
    """A note on a kernel matrix with an eigenvalue below 0, see :mod:`maxmargin.solvers.kernel.definiteness`."""
    return (
        f"the kernel is not positive semi-definite on these points (smallest eigenvalue {least:.3g} among {n_seen} of "
        f"them, values of up to {largest:.3g}): the problem is not convex, the answer is a stationary point of it, and "
        "there is no lower bound"
    )


def tell_unproven(n: int, n_seen: int) -> str:
    """A note on a kernel matrix of which only a part was looked at, without finding anything."""
    return (
        f"the lower bound holds if the kernel is positive semi-definite, which is true for the {n_seen} of {n} points "
        "that were looked at"
    )


def _percent(share: float) -> str:
    """Rounded up to two digits."""
    digit = 10.0 ** (math.floor(math.log10(100.0 * share)) - 1)
    return f"{math.ceil(100.0 * share / digit) * digit:.2g} %"


def extremes(X: Any) -> Extremes:
    """What notes on the scales look at."""
    n, d = X.shape
    sparse = sp.issparse(X)
    size = max(1, _BLOCK * n // max(X.size, 1))  # rows that fit a cache
    step = -(-X.size // (_LOOKED_AT_SPARSE if sparse else _LOOKED_AT)) or 1
    if sparse:
        high, rows = np.zeros(d), Rows(X)
        for at in range(0, n, step * size):
            rows.raise_to_largest(high, at, min(at + size, n))
        return Extremes(high, high, step, sparse=True)
    low, high = np.full(d, np.inf), np.full(d, -np.inf)
    for at in range(0, n, step * size):
        block = X[at : at + size]
        np.minimum(low, block.min(0), out=low)
        np.maximum(high, block.max(0), out=high)
    return Extremes(low, high, step, sparse=False)


def _feature(j: int, names: Any) -> str:
    return f"feature {j}" if names is None else f"feature {names[j]!r}"
