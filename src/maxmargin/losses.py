"""Losses of one score: of a margin ``t = y f`` (classification) or of a residual ``r = y - f`` (regression).

Every loss has its value, a subgradient, its conjugate ``sup_t (u t - loss(t))``, and its smoothness; a margin loss also
says whether it bounds the zero-one loss and whether it is classification-calibrated, both decided by a theorem from its
behaviour at 0. Users' own convex losses are :class:`CustomLoss`, or classes derived from :class:`MarginLoss`: both are
checked on a grid.

Source of the calibration theorem: Bartlett, Jordan and McAuliffe, "Convexity, classification, and risk bounds" (Journal
of the American Statistical Association, 2006), Theorem 2.
"""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import DataError

__all__ = [
    "MARGIN_LOSSES",
    "CustomLoss",
    "EpsilonInsensitive",
    "Exponential",
    "Hinge",
    "Logistic",
    "Loss",
    "MarginLoss",
    "Perceptron",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "ZeroOne",
    "margin_loss",
]

Reals = NDArray[np.float64]
_POINTS = 2001
_FAR = 1e8
_BESIDE = 1e-9
_AFAR = np.array([1e3, 1e6])
_GRID = (-30.0, 30.0)
_PART = 0.125  # of a step of the grid, for differences of slopes
_FUNCTIONS = (
    "functions get an array and return one of the same shape: np.maximum instead of max, np.where(t < 1, -1.0, 0.0) "
    "instead of if or -(t < 1)"
)
_WRONG, _STRETCH = 0.1, 5  # a bend that is off by a fifth, at so many points in a row


def is_finite_number(value: object) -> bool:
    """Whether a parameter is a real number that float64 has, and no truth value."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:  # integers of hundreds of digits
        return False


class Loss(ABC):
    """A loss of one number; arrays of any shape are taken element by element, in float64.

    Attributes
    ----------
    name : str
    convex : bool
    smoothness : float
        Lipschitz constant of the derivative; infinite where there is none.
    slopes : tuple of (lowest, highest)
        Bounds of the subgradients; the conjugate is finite between them.
    """

    name: str
    convex: bool = True
    smoothness: float = math.inf
    slopes: tuple[float, float] = (-math.inf, math.inf)

    @abstractmethod
    def value(self, t: ArrayLike) -> Reals:
        """The loss."""

    @abstractmethod
    def derivative(self, t: ArrayLike) -> Reals:
        """The derivative; at a kink the subgradient of the smallest size."""

    @abstractmethod
    def conjugate(self, u: ArrayLike) -> Reals:
        """``sup_t (u t - loss(t))``; infinite where the supremum is."""

    def curvature(self, t: ArrayLike) -> Reals:
        """The second derivative (one of them at a kink of the derivative).

        Raises
        ------
        DataError
            When the loss is not smooth.
        """
        raise DataError(f"the {self.name} loss has no second derivative")

    @property
    def smooth(self) -> bool:
        """Whether it has a derivative everywhere."""
        return self.smoothness < math.inf

    def _finite(self, u: ArrayLike, value: Reals) -> Reals:
        """The values of the conjugate, infinite beyond the slopes."""
        low, high = self.slopes
        u = _reals(u)
        return np.where((u >= low) & (u <= high), value, np.inf)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *sorted(vars(self).items())))


class MarginLoss(Loss):
    """A loss of the margin ``t = y f``, with ``y`` plus or minus 1.

    A class of one's own that is derived from this one is checked as a :class:`CustomLoss` is, its conjugate and its
    ``slopes`` too, when an estimator takes it (:func:`margin_loss`) and before a theorem is applied to it.
    """

    def slopes_at_zero(self) -> tuple[float, float]:
        """Derivatives at 0 from the left and from the right.

        Of a loss with kinks those at margins of minus and plus 1e-9: the same if they differ by less than a millionth.
        """
        left, right = (float(each) for each in self.derivative(np.array([-_BESIDE, _BESIDE])))
        if self.smooth or right - left <= 1e-6 * max(abs(left), abs(right)):
            slope = float(self.derivative(0.0))
            return slope, slope
        return left, right

    @property
    def calibrated(self) -> bool:
        """Whether minimising its risk over all functions gives the best classifier.

        A convex loss is iff it has a derivative at 0 and that is negative (Bartlett, Jordan, McAuliffe 2006, Theorem
        2).

        Raises
        ------
        DataError
            For a loss of one's own that is not convex.
        """
        _check_convex(self)
        left, right = self.slopes_at_zero()
        return left == right and left < 0.0

    @property
    def bounds_zero_one(self) -> bool:
        """Whether it is nowhere below the zero-one loss, which is 1 for ``t <= 0``.

        A convex loss that is nowhere negative is iff its least value to the left of 0 is at least 1: that at 0, or, of
        a loss that rises there from the left, its minimum.

        Raises
        ------
        DataError
            For a loss of one's own that is not convex.
        """
        _check_convex(self)
        rises = self.slopes_at_zero()[0] > 0.0
        return float(-self.conjugate(0.0) if rises else self.value(0.0)) >= 1.0


class Hinge(MarginLoss):
    """``(1 - t)_+``."""

    name = "hinge"
    slopes = (-1.0, 0.0)

    def value(self, t: ArrayLike) -> Reals:
        return np.maximum(1.0 - _reals(t), 0.0)

    def derivative(self, t: ArrayLike) -> Reals:
        return np.where(_reals(t) < 1.0, -1.0, 0.0)

    def conjugate(self, u: ArrayLike) -> Reals:
        return self._finite(u, _reals(u))


class SquaredHinge(MarginLoss):
    """``(1 - t)_+^2``."""

    name = "squared_hinge"
    smoothness = 2.0
    slopes = (-math.inf, 0.0)

    def value(self, t: ArrayLike) -> Reals:
        return np.maximum(1.0 - _reals(t), 0.0) ** 2

    def derivative(self, t: ArrayLike) -> Reals:
        return -2.0 * np.maximum(1.0 - _reals(t), 0.0)

    def curvature(self, t: ArrayLike) -> Reals:
        return np.where(_reals(t) < 1.0, 2.0, 0.0)

    def conjugate(self, u: ArrayLike) -> Reals:
        u = _reals(u)
        return self._finite(u, u + 0.25 * u * u)


class Logistic(MarginLoss):
    """``log(1 + exp(-t))``, to the base e as in logistic regression.

    Parameters
    ----------
    base : float, default=e
        Of the logarithm; with 2 the loss is 1 at 0, and so a bound of the zero-one loss.
    """

    name = "logistic"

    def __init__(self, base: float = math.e) -> None:
        if not (is_finite_number(base) and base > 1.0):
            raise ValueError(f"base must be a number above 1, not {base!r:.80}")
        self.base = base
        self._unit = 1.0 / math.log(base)
        self.smoothness = 0.25 * self._unit
        self.slopes = (-self._unit, 0.0)

    def value(self, t: ArrayLike) -> Reals:
        t = _reals(t)
        # a fifth of the time of np.logaddexp
        return self._unit * (np.log1p(np.exp(-np.abs(t))) + np.maximum(-t, 0.0))

    def derivative(self, t: ArrayLike) -> Reals:
        t = _reals(t)
        small = np.exp(-np.abs(t))
        return -self._unit * np.where(t > 0.0, small, 1.0) / (1.0 + small)

    def curvature(self, t: ArrayLike) -> Reals:
        small = np.exp(-np.abs(_reals(t)))
        return self._unit * small / (1.0 + small) ** 2

    def conjugate(self, u: ArrayLike) -> Reals:
        u = _reals(u)
        share = np.clip(-u / self._unit, 0.0, 1.0)
        rest = 1.0 - share
        # not the logarithm of a rest that is rounded already: beside small shares that is all there is
        other = np.where(rest > 0.0, rest * np.log1p(-np.where(rest > 0.0, share, 0.0)), 0.0)
        return self._finite(u, self._unit * (_entropy(share) + other))

    def __repr__(self) -> str:
        return f"Logistic(base={self.base:g})" if self.base != math.e else "Logistic()"


class Exponential(MarginLoss):
    """``exp(-t)``."""

    name = "exponential"
    slopes = (-math.inf, 0.0)

    def value(self, t: ArrayLike) -> Reals:
        with np.errstate(over="ignore"):
            return np.exp(-_reals(t))

    def derivative(self, t: ArrayLike) -> Reals:
        return -self.value(t)

    def curvature(self, t: ArrayLike) -> Reals:
        return self.value(t)

    def conjugate(self, u: ArrayLike) -> Reals:
        u = _reals(u)
        size = np.maximum(-u, 0.0)
        return self._finite(u, _entropy(size) - size)

    @property
    def smooth(self) -> bool:
        """It has a derivative everywhere, though no constant bounds how fast that changes."""
        return True


class Perceptron(MarginLoss):
    """``(-t)_+``."""

    name = "perceptron"
    slopes = (-1.0, 0.0)

    def value(self, t: ArrayLike) -> Reals:
        return np.maximum(-_reals(t), 0.0)

    def derivative(self, t: ArrayLike) -> Reals:
        return np.where(_reals(t) < 0.0, -1.0, 0.0)

    def conjugate(self, u: ArrayLike) -> Reals:
        return self._finite(u, np.zeros_like(_reals(u)))


class ZeroOne(MarginLoss):
    """1 for ``t <= 0``, else 0: what is to be small, and no solver can minimise."""

    name = "zero_one"
    convex = False

    def value(self, t: ArrayLike) -> Reals:
        return np.where(_reals(t) <= 0.0, 1.0, 0.0)

    def derivative(self, t: ArrayLike) -> Reals:
        """Refused: it has no subgradient."""
        raise DataError("the zero_one loss is not convex: it has no subgradient")

    def conjugate(self, u: ArrayLike) -> Reals:
        return np.where(_reals(u) == 0.0, 0.0, np.inf)

    @property
    def calibrated(self) -> bool:
        """It is the measure itself."""
        return True

    @property
    def bounds_zero_one(self) -> bool:
        return True


class EpsilonInsensitive(Loss):
    """``(|r| - epsilon)_+`` of the residual.

    Parameters
    ----------
    epsilon : float, default=0.1
    """

    name = "epsilon_insensitive"
    slopes = (-1.0, 1.0)

    def __init__(self, epsilon: float = 0.1) -> None:
        self.epsilon = _width(epsilon)

    def value(self, t: ArrayLike) -> Reals:
        return np.maximum(np.abs(_reals(t)) - self.epsilon, 0.0)

    def derivative(self, t: ArrayLike) -> Reals:
        t = _reals(t)
        return np.where(np.abs(t) > self.epsilon, np.sign(t), 0.0)

    def conjugate(self, u: ArrayLike) -> Reals:
        return self._finite(u, self.epsilon * np.abs(_reals(u)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(epsilon={self.epsilon:g})"


class SquaredEpsilonInsensitive(EpsilonInsensitive):
    """``(|r| - epsilon)_+^2`` of the residual.

    Parameters
    ----------
    epsilon : float, default=0.1
    """

    name = "squared_epsilon_insensitive"
    smoothness = 2.0
    slopes = (-math.inf, math.inf)

    def value(self, t: ArrayLike) -> Reals:
        return super().value(t) ** 2

    def derivative(self, t: ArrayLike) -> Reals:
        return 2.0 * np.sign(_reals(t)) * super().value(t)

    def curvature(self, t: ArrayLike) -> Reals:
        return np.where(np.abs(_reals(t)) > self.epsilon, 2.0, 0.0)

    def conjugate(self, u: ArrayLike) -> Reals:
        u = _reals(u)
        return self.epsilon * np.abs(u) + 0.25 * u * u


@dataclass(frozen=True, eq=False, repr=False)
class CustomLoss(MarginLoss):
    """A user's own convex loss of the margin, checked on a grid.

    Its ``smoothness`` is not known and counts as infinite.

    Parameters
    ----------
    function : callable
        Values for a float64 array of margins of shape ``(n,)``, element by element; convex, nowhere negative. It is
        also asked at margins of plus and minus 1e8, where the answer may be infinite.
    slope : callable
        Its derivative, or a subgradient.
    bend : callable, optional
        Its second derivative (one of them at a kink of the derivative); with it the loss counts as smooth, and Newton's
        method can be used.
    name : str, default="custom"
    grid : tuple of (low, high), default=(-30, 30)
        Margins between which the loss is checked, at 2,001 points.

    Raises
    ------
    DataError
        When on the grid the loss is not convex, not finite or negative, when the slope is no subgradient, when it
        jumps although there is a bend, or when the bend is not its derivative: names the point and the numbers.
    ValueError
        When a parameter is no function, or the grid is none.
    """

    function: Callable[[Reals], Any]
    slope: Callable[[Reals], Any]
    bend: Callable[[Reals], Any] | None = None
    name: str = "custom"
    grid: tuple[float, float] = _GRID

    def __post_init__(self) -> None:
        for what in ("function", "slope", "bend"):
            given = getattr(self, what)
            if not callable(given) and (what, given) != ("bend", None):
                raise ValueError(f"{what} must be a function of an array of margins, not {given!r}")
        try:
            low, high = self.grid
        except (TypeError, ValueError):
            low = high = math.nan
        if not (is_finite_number(low) and is_finite_number(high) and low < 0.0 < high):
            raise ValueError(f"grid must be two numbers around 0, not {self.grid!r}")
        _check_on_grid(self)
        ends = self.derivative(np.array([-_FAR, _FAR]))
        object.__setattr__(self, "slopes", (float(ends[0]), float(ends[1])))

    @property
    def smooth(self) -> bool:
        """Whether a second derivative was given."""
        return self.bend is not None

    def value(self, t: ArrayLike) -> Reals:
        return _answers(self.function, t, self.name, "value")

    def derivative(self, t: ArrayLike) -> Reals:
        return _answers(self.slope, t, self.name, "slope")

    def curvature(self, t: ArrayLike) -> Reals:
        if self.bend is None:
            return super().curvature(t)
        return _answers(self.bend, t, self.name, "bend")

    def conjugate(self, u: ArrayLike) -> Reals:
        """By bisection on the slope, between margins of plus and minus 1e8: the one nearest to 0 of that slope."""
        u = _reals(u)
        right = self.derivative(np.zeros_like(u)) < u
        low, high = np.where(right, 0.0, -_FAR), np.where(right, _FAR, 0.0)
        for _ in range(90):
            middle = 0.5 * (low + high)
            slope = self.derivative(middle)
            rise = np.where(right, slope < u, slope <= u)
            low, high = np.where(rise, middle, low), np.where(rise, high, middle)
        t = np.where(right, high, low)
        with np.errstate(invalid="ignore"):
            # no rounding takes it below what 0 gives: the bound of an optimum of 0 must not be above it
            return self._finite(u, np.maximum(u * t - self.value(t), -self.value(0.0)))

    def __repr__(self) -> str:
        return f"CustomLoss(name={self.name!r})"


MARGIN_LOSSES: dict[str, MarginLoss] = {
    loss.name: loss for loss in (Hinge(), SquaredHinge(), Logistic(), Exponential(), Perceptron(), ZeroOne())
}
"""By name."""

# proved once, or checked when they were made
_SURE = (*(type(loss) for loss in MARGIN_LOSSES.values()), CustomLoss)


def margin_loss(loss: str | MarginLoss) -> MarginLoss:
    """The convex margin loss of that name, or the one given.

    Raises
    ------
    ValueError
        For an unknown name, or a loss that is not convex.
    DataError
        For a loss of one's own that contradicts itself on a grid, see :class:`CustomLoss`.
    """
    found = MARGIN_LOSSES.get(loss) if isinstance(loss, str) else loss
    if not isinstance(found, MarginLoss):
        names = sorted(name for name, each in MARGIN_LOSSES.items() if each.convex)
        raise ValueError(f"loss must be one of {names} or a MarginLoss, not {loss!r}")
    if not found.convex:
        raise ValueError(f"the {_name_of(found)} loss is not convex: no solver finds its minimum")
    _check_convex(found)
    return found


def conjugate_fault(loss: Loss, slopes: Reals, margins: Reals) -> str:
    """What is wrong with a loss whose lower bound is above its objective: where its conjugate is too small.

    A conjugate is nowhere below ``u t - loss(t)``; of the pairs of a slope ``u`` and a margin ``t`` given, the one that
    violates this most is told.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        right = slopes * margins - _reals(loss.value(margins))
        found = _reals(loss.conjugate(slopes))
        short = np.where(np.isfinite(right), right - found, -np.inf)
    k = int(short.argmax())
    if not short[k] > 0.0:
        return f"value and conjugate of loss {_name_of(loss)!r} contradict each other"
    return (
        f"the conjugate of loss {_name_of(loss)!r} is too small at the slope {slopes[k]:.6g}: it is {found[k]:.6g}, "
        f"and the loss at {margins[k]:.6g} makes it at least {right[k]:.6g}"
    )


def _name_of(loss: Loss) -> str:
    """A class of a user's may have none."""
    return str(getattr(loss, "name", type(loss).__name__))


def _check_convex(loss: MarginLoss) -> None:
    """Refuse a loss of a user's own class that is not what the theorems and the solvers take it for."""
    if type(loss) in _SURE:
        return
    if not loss.convex:
        raise DataError(f"the {_name_of(loss)} loss is not convex: the theorem says nothing of it")
    try:
        hash(loss)
    except TypeError:  # parameters such as arrays
        _check_own(loss)
    else:
        _check_once(loss)


def _check_own(loss: MarginLoss) -> None:
    """What is asked of a :class:`CustomLoss`, and that the class does not contradict itself beyond that."""
    name, t = _name_of(loss), _check_on_grid(loss)
    if loss.smooth and type(loss).curvature is Loss.curvature:
        raise DataError(f"loss {name!r} is smooth, but has no curvature: give it one, or an infinite smoothness")
    slope = _answers(loss.derivative, t, name, "slope")
    low, high = loss.slopes
    k = _nearest(t, (slope < low) | (slope > high))
    if k is not None:
        raise DataError(f"loss {name!r}: the slope {slope[k]:g} at {t[k]:g} is outside slopes, {low:g} to {high:g}")
    value = _answers(loss.value, t, name, "value")
    # solvers and estimators know these by their class, whatever a class derived from them makes of the value
    for plain in (Hinge(), SquaredHinge(), Logistic(getattr(loss, "base", math.e))):
        if isinstance(loss, type(plain)) and not np.allclose(value, plain.value(t), rtol=1e-9, atol=1e-9):
            raise DataError(f"loss {name!r} is not the {plain.name} loss, as its class says: derive it from MarginLoss")
    # a lower bound stands on conjugates of whatever slope a fit meets: far from the grid too, where there are numbers
    far = np.concatenate([-_AFAR, _AFAR])
    value_there, slope_there = _answers(loss.value, far, name, "value"), _answers(loss.derivative, far, name, "slope")
    there = np.isfinite(value_there) & np.isfinite(slope_there)
    t, value, slope = (
        np.append(t, far[there]), np.append(value, value_there[there]), np.append(slope, slope_there[there])
    )  # fmt: skip
    found, right = _answers(loss.conjugate, slope, name, "conjugate"), slope * t - value
    close = np.abs(found - right) <= 1e-7 * (np.median(value) + value + np.abs(slope * t))
    k = _nearest(t, ~close)
    if k is not None:
        raise DataError(
            f"loss {name!r}: the conjugate of the slope {slope[k]:g} is {found[k]:g}, but value and slope at {t[k]:g} "
            f"make it {right[k]:g}"
        )
    _check_writes(loss, t, slope)


def _check_writes(loss: MarginLoss, t: Reals, slope: Reals) -> None:
    """Refuse methods that write into what they get: solvers give them their own arrays."""
    asked = {"value": (loss.value, t), "slope": (loss.derivative, t), "conjugate": (loss.conjugate, slope)}
    if loss.smooth:
        asked["bend"] = loss.curvature, t
    for what, (function, asked_at) in asked.items():
        given = asked_at.copy()
        with np.errstate(over="ignore", invalid="ignore"):
            function(given)
        if not np.array_equal(given, asked_at):
            raise DataError(
                f"loss {_name_of(loss)!r}: the {what} writes into the array that it gets; work on a copy of it"
            )


@lru_cache(maxsize=16)
def _check_once(loss: MarginLoss) -> None:
    """The problems of one fit, a pair of classes each, ask for the same loss."""
    _check_own(loss)


def _check_on_grid(loss: MarginLoss) -> Reals:
    """Values, slopes and bends are those of a convex loss that is nowhere negative; returns the points of the grid."""
    low, high = loss.grid if isinstance(loss, CustomLoss) else _GRID
    t = np.linspace(low, high, _POINTS)
    t[np.argmin(np.abs(t))] = 0.0
    _check_numbers(loss, np.concatenate([[-_FAR], t, [_FAR]]))
    _check_slopes(loss, t)
    if loss.smooth:
        _check_jumps(loss, t)
        if type(loss).curvature is not Loss.curvature:
            _check_bends(loss, t)
    return t


def _check_numbers(loss: MarginLoss, t: Reals) -> None:
    """All are numbers, finite but at both ends, and what must not be negative is not."""
    name, inside = _name_of(loss), np.abs(t) < _FAR
    asked = {"value": loss.value, "slope": loss.derivative}
    if loss.smooth and type(loss).curvature is not Loss.curvature:
        asked["bend"] = loss.curvature
    for what, function in asked.items():
        numbers = _answers(function, t, name, what)
        k = _nearest(t, np.isnan(numbers) | (np.isinf(numbers) & inside))
        if k is not None:
            hint = ""
            if type(loss) is CustomLoss and inside[k]:
                hint = f"; the parameter grid, now {loss.grid!r}, says between which margins it is checked"
            raise DataError(f"loss {name!r}: the {what} at {t[k]:g} is {numbers[k]:g}{hint}")
        k = _nearest(t, numbers < 0.0)
        if k is not None and what != "slope":
            raise DataError(f"loss {name!r}: the {what} at {t[k]:g} is {numbers[k]:g}; it must be at least 0")


def _check_slopes(loss: MarginLoss, t: Reals) -> None:
    """Slopes of chords never fall, and those given lie between them."""
    name = _name_of(loss)
    values, slopes = _answers(loss.value, t, name, "value"), _answers(loss.derivative, t, name, "slope")
    step, rise = np.diff(t), np.diff(values)
    rounding = 1e-10 * (np.median(values) + values[1:] + values[:-1])
    chord = rise / step
    k = _nearest(t[1:-1], rise[1:] * step[:-1] - rise[:-1] * step[1:] < -step[1:] * (rounding[1:] + rounding[:-1]))
    if k is not None:
        raise DataError(
            f"loss {name!r} is not convex near {t[k + 1]:g}: its slope falls from {chord[k]:g} to {chord[k + 1]:g}"
        )
    wrong = np.zeros(len(t), np.bool_)
    wrong[:-1] |= slopes[:-1] * step - rise > rounding
    wrong[1:] |= rise - slopes[1:] * step > rounding
    k = _nearest(t, wrong)
    if k is not None:
        raise DataError(
            f"loss {name!r}: the slope {slopes[k]:g} at {t[k]:g} is no subgradient; the values around it have slopes "
            f"from {chord[max(k - 1, 0)]:g} to {chord[min(k, len(chord) - 1)]:g}"
        )


def _check_jumps(loss: MarginLoss, t: Reals) -> None:
    """Between any two points the slope rises steadily: bisection for where it rises the most finds no jump."""
    name = _name_of(loss)

    def derivative(t: Reals) -> Reals:
        return _answers(loss.derivative, t, name, "slope")

    slopes = derivative(t)
    low, high = t[:-1], t[1:]
    for _ in range(40):
        middle = 0.5 * (low + high)
        first = 2.0 * derivative(middle) >= derivative(low) + derivative(high)
        low, high = np.where(first, low, middle), np.where(first, middle, high)
    below, above = derivative(low), derivative(high)
    rounding = 1e-9 * (np.median(np.abs(slopes)) + np.abs(slopes[:-1]) + np.abs(slopes[1:]))
    k = _nearest(low, above - below > 1e-3 * np.diff(slopes) + rounding)
    if k is not None:
        advice = "leave out bend" if type(loss) is CustomLoss else "let its smoothness be infinite"
        raise DataError(
            f"loss {name!r}: its slope jumps from {below[k]:g} to {above[k]:g} at {high[k]:g}; {advice}, or smooth the "
            "kink"
        )


def _check_bends(loss: MarginLoss, t: Reals) -> None:
    """Bends are differences of slopes wherever those to the left and to the right agree, as they do not at a kink.

    Refused are bends that are wrong at several points of the grid in a row: a single one may be that of a kink.
    """
    name, t, step = _name_of(loss), t[1:-1], _PART * float(t[-1] - t[0]) / len(t)
    bend = _answers(loss.curvature, t, name, "bend")
    before, slope, after = (_answers(loss.derivative, t + move, name, "slope") for move in (-step, 0.0, step))
    with np.errstate(over="ignore", invalid="ignore"):  # what is no number is not judged
        left, right = (slope - before) / step, (after - slope) / step
        rounding = 1e-10 * (np.median(np.abs(slope)) + np.abs(slope)) / step
        smooth = np.abs(right - left) <= 0.1 * _WRONG * (left + right) + rounding
        found = 0.5 * (left + right)
        wrong = smooth & (np.abs(bend - found) > _WRONG * (bend + found) + rounding)
    stretches = np.asarray(np.lib.stride_tricks.sliding_window_view(wrong, _STRETCH).all(1), np.bool_)
    middle = _STRETCH // 2
    k = _nearest(t[middle:-middle], stretches)
    if k is not None:
        k += middle
        raise DataError(
            f"loss {name!r}: the bend at {t[k]:g} is {bend[k]:g}, but the slope changes there at a rate of "
            f"{found[k]:g}; give the derivative of the slope"
        )


def _answers(function: Callable[[Reals], Any], t: ArrayLike, name: str, what: str) -> Reals:
    """What a user's function says of margins of any shape."""
    t = _reals(t)
    with np.errstate(over="ignore", invalid="ignore"):  # what is no number is refused
        try:
            answer = function(t.reshape(-1).copy())  # it may write into what it gets
        except DataError:
            raise
        except (TypeError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise DataError(
                f"loss {name!r}: the {what} cannot be computed for {t.size} margins ({reason:.120}); {_FUNCTIONS}"
            ) from error
        try:
            given = np.asarray(answer)
            if given.dtype.kind not in "biufO":
                raise TypeError
            out = given.astype(np.float64, copy=False)
        except (TypeError, ValueError):
            raise DataError(f"loss {name!r}: the {what} must be an array of numbers, not {answer!r:.60}") from None
    if out.shape != (t.size,):
        raise DataError(f"loss {name!r}: the {what} of {t.size} margins has shape {out.shape}; {_FUNCTIONS}")
    return out.reshape(t.shape)


def _reals(values: ArrayLike) -> Reals:
    return np.asarray(values, np.float64)


def _nearest(t: Reals, wrong: NDArray[np.bool_]) -> int | None:
    """The place of the margin nearest to 0 where something is wrong."""
    places = np.flatnonzero(wrong)
    return int(places[np.argmin(np.abs(t[places]))]) if len(places) else None


def _entropy(p: Reals) -> Reals:
    """``p log p``, 0 at 0."""
    return np.where(p > 0.0, p * np.log(np.where(p > 0.0, p, 1.0)), 0.0)


def _width(epsilon: float) -> float:
    if not (is_finite_number(epsilon) and epsilon >= 0.0):
        raise ValueError(f"epsilon must be a number of at least 0, not {epsilon!r:.80}")
    return float(epsilon)
