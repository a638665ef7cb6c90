"""Losses of one score: of a margin ``t = y f`` (classification) or of a residual ``r = y - f`` (regression).

Every loss has its value, a subgradient, its conjugate ``sup_t (u t - loss(t))``, and its smoothness; a margin loss also
says whether it bounds the zero-one loss and whether it is classification-calibrated, both decided by a theorem from its
behaviour at 0. Users' own convex losses are :class:`CustomLoss`.

Source of the calibration theorem: Bartlett, Jordan and McAuliffe, "Convexity, classification, and risk bounds" (Journal
of the American Statistical Association, 2006), Theorem 2.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
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


class Loss(ABC):
    """A loss of one number; arrays of any shape are taken element by element, in float64.

    Attributes
    ----------
    name : str
    convex : bool
    smoothness : float
        Lipschitz constant of the derivative; infinite where there is none.
    steepest : float
        Largest absolute value of a subgradient; infinite where there is none.
    """

    name: str
    convex: bool = True
    smoothness: float = math.inf
    steepest: float = math.inf

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

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), *sorted(vars(self).items())))


class MarginLoss(Loss):
    """A loss of the margin ``t = y f``, with ``y`` plus or minus 1."""

    def slopes_at_zero(self) -> tuple[float, float]:
        """Derivatives at 0 from the left and from the right."""
        slope = float(self.derivative(0.0))
        return slope, slope

    @property
    def calibrated(self) -> bool:
        """Whether minimising its risk over all functions gives the best classifier.

        A convex loss is iff it has a derivative at 0 and that is negative (Bartlett, Jordan, McAuliffe 2006, Theorem
        2).
        """
        left, right = self.slopes_at_zero()
        return left == right and left < 0.0

    @property
    def bounds_zero_one(self) -> bool:
        """Whether it is nowhere below the zero-one loss, which is 1 for ``t <= 0``.

        A convex loss that is nowhere negative is iff it is at least 1 at 0 and does not fall to the left of it.
        """
        return float(self.value(0.0)) >= 1.0 and self.slopes_at_zero()[0] <= 0.0


class Hinge(MarginLoss):
    """``(1 - t)_+``."""

    name = "hinge"
    steepest = 1.0

    def value(self, t: ArrayLike) -> Reals:
        return np.maximum(1.0 - _reals(t), 0.0)

    def derivative(self, t: ArrayLike) -> Reals:
        return np.where(_reals(t) < 1.0, -1.0, 0.0)

    def conjugate(self, u: ArrayLike) -> Reals:
        return _inside(u, -1.0, 0.0, _reals(u))


class SquaredHinge(MarginLoss):
    """``(1 - t)_+^2``."""

    name = "squared_hinge"
    smoothness = 2.0

    def value(self, t: ArrayLike) -> Reals:
        return np.maximum(1.0 - _reals(t), 0.0) ** 2

    def derivative(self, t: ArrayLike) -> Reals:
        return -2.0 * np.maximum(1.0 - _reals(t), 0.0)

    def curvature(self, t: ArrayLike) -> Reals:
        return np.where(_reals(t) < 1.0, 2.0, 0.0)

    def conjugate(self, u: ArrayLike) -> Reals:
        u = _reals(u)
        return _inside(u, -math.inf, 0.0, u + 0.25 * u * u)


class Logistic(MarginLoss):
    """``log(1 + exp(-t))``, to the base e as in logistic regression.

    Parameters
    ----------
    base : float, default=e
        Of the logarithm; with 2 the loss is 1 at 0, and so a bound of the zero-one loss.
    """

    name = "logistic"

    def __init__(self, base: float = math.e) -> None:
        if not (math.isfinite(base) and base > 1.0):
            raise ValueError(f"base must be a number above 1, not {base!r}")
        self.base = base
        self._unit = 1.0 / math.log(base)
        self.smoothness = 0.25 * self._unit
        self.steepest = self._unit

    def value(self, t: ArrayLike) -> Reals:
        return self._unit * np.logaddexp(0.0, -_reals(t))

    def derivative(self, t: ArrayLike) -> Reals:
        return -self._unit * _sigmoid(-_reals(t))

    def curvature(self, t: ArrayLike) -> Reals:
        t = _reals(t)
        return self._unit * _sigmoid(t) * _sigmoid(-t)

    def conjugate(self, u: ArrayLike) -> Reals:
        u = _reals(u)
        share = np.clip(-u / self._unit, 0.0, 1.0)
        return _inside(u, -self._unit, 0.0, self._unit * (_entropy(share) + _entropy(1.0 - share)))

    def __repr__(self) -> str:
        return f"Logistic(base={self.base:g})" if self.base != math.e else "Logistic()"


class Exponential(MarginLoss):
    """``exp(-t)``."""

    name = "exponential"

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
        return _inside(u, -math.inf, 0.0, _entropy(size) - size)

    @property
    def smooth(self) -> bool:
        """It has a derivative everywhere, though no constant bounds how fast that changes."""
        return True


class Perceptron(MarginLoss):
    """``(-t)_+``."""

    name = "perceptron"
    steepest = 1.0

    def value(self, t: ArrayLike) -> Reals:
        return np.maximum(-_reals(t), 0.0)

    def derivative(self, t: ArrayLike) -> Reals:
        return np.where(_reals(t) < 0.0, -1.0, 0.0)

    def slopes_at_zero(self) -> tuple[float, float]:
        return -1.0, 0.0

    def conjugate(self, u: ArrayLike) -> Reals:
        return _inside(u, -1.0, 0.0, np.zeros_like(_reals(u)))


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
    steepest = 1.0

    def __init__(self, epsilon: float = 0.1) -> None:
        self.epsilon = _width(epsilon)

    def value(self, t: ArrayLike) -> Reals:
        return np.maximum(np.abs(_reals(t)) - self.epsilon, 0.0)

    def derivative(self, t: ArrayLike) -> Reals:
        t = _reals(t)
        return np.where(np.abs(t) > self.epsilon, np.sign(t), 0.0)

    def conjugate(self, u: ArrayLike) -> Reals:
        return _inside(u, -1.0, 1.0, self.epsilon * np.abs(_reals(u)))

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
    steepest = math.inf

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

    Parameters
    ----------
    function : callable
        Value for an array of margins, element by element; convex, nowhere negative.
    slope : callable
        Its derivative, or a subgradient.
    bend : callable, optional
        Its second derivative; with it the loss counts as smooth, and Newton's method can be used.
    name : str, default="custom"
    grid : tuple of (low, high), default=(-30, 30)
        Margins between which the loss is checked, at 2,001 points.

    Raises
    ------
    DataError
        When it is not convex, not finite or negative on the grid, or when the slope is no subgradient there: names the
        point and the numbers.
    """

    function: Callable[[Reals], Any]
    slope: Callable[[Reals], Any]
    bend: Callable[[Reals], Any] | None = None
    name: str = "custom"
    grid: tuple[float, float] = (-30.0, 30.0)

    def __post_init__(self) -> None:
        low, high = self.grid
        if not (math.isfinite(low) and math.isfinite(high) and low < 0.0 < high):
            raise ValueError(f"grid must be two numbers around 0, not {self.grid!r}")
        t = np.linspace(low, high, 2001)
        t[np.argmin(np.abs(t))] = 0.0
        values, slopes = self.value(t), self.derivative(t)
        for what, numbers in (("value", values), ("slope", slopes)):
            bad = np.flatnonzero(~np.isfinite(numbers))
            if len(bad):
                raise DataError(f"loss {self.name!r}: the {what} at {t[bad[0]]:g} is {numbers[bad[0]]}")
        bad = np.flatnonzero(values < 0.0)
        if len(bad):
            raise DataError(f"loss {self.name!r} is {values[bad[0]]:g} at {t[bad[0]]:g}; it must not be negative")
        rounding = 1e-9 * (1.0 + np.abs(values))
        chord = np.diff(values) / np.diff(t)
        bad = np.flatnonzero(np.diff(chord) * np.diff(t)[:-1] < -(rounding[:-2] + rounding[1:-1] + rounding[2:]))
        if len(bad):
            k = int(bad[0]) + 1
            raise DataError(
                f"loss {self.name!r} is not convex near {t[k]:g}: its slope falls from {chord[k - 1]:g} to {chord[k]:g}"
            )
        step = np.diff(t)
        ahead = values[1:] - values[:-1] - slopes[:-1] * step
        back = values[:-1] - values[1:] + slopes[1:] * step
        bad = np.flatnonzero((ahead < -(rounding[1:] + rounding[:-1])) | (back < -(rounding[1:] + rounding[:-1])))
        if len(bad):
            k = int(bad[0]) + int(ahead[bad[0]] >= -(rounding[1:] + rounding[:-1])[bad[0]])
            raise DataError(
                f"loss {self.name!r}: the slope {slopes[k]:g} at {t[k]:g} is no subgradient; the values around it have "
                f"slopes from {chord[max(k - 1, 0)]:g} to {chord[min(k, len(chord) - 1)]:g}"
            )

    @property
    def smooth(self) -> bool:
        """Whether a second derivative was given."""
        return self.bend is not None

    def value(self, t: ArrayLike) -> Reals:
        return self._applied(self.function, t, "value")

    def derivative(self, t: ArrayLike) -> Reals:
        return self._applied(self.slope, t, "slope")

    def curvature(self, t: ArrayLike) -> Reals:
        if self.bend is None:
            return super().curvature(t)
        return self._applied(self.bend, t, "bend")

    def slopes_at_zero(self) -> tuple[float, float]:
        """From differences, at the precision that they allow."""
        step = 1e-6
        left, middle, right = (float(self.value(x)) for x in (-step, 0.0, step))
        below, above = (middle - left) / step, (right - middle) / step
        if abs(above - below) <= 1e-4 * (1.0 + abs(above) + abs(below)):
            below = above = 0.5 * (below + above)
            if abs(below) <= 1e-4:
                below = above = 0.0
        return below, above

    def conjugate(self, u: ArrayLike) -> Reals:
        """By bisection on the slope, between margins of plus and minus 1e8: the one nearest to 0 of that slope."""
        u = _reals(u)
        right = self.derivative(np.zeros_like(u)) < u
        low, high = np.where(right, 0.0, -1e8), np.where(right, 1e8, 0.0)
        finite = np.where(right, self.derivative(high) >= u, self.derivative(low) <= u)
        for _ in range(90):
            middle = 0.5 * (low + high)
            slope = self.derivative(middle)
            rise = np.where(right, slope < u, slope <= u)
            low, high = np.where(rise, middle, low), np.where(rise, high, middle)
        t = np.where(right, high, low)
        with np.errstate(invalid="ignore"):
            return np.where(finite, u * t - self.value(t), np.inf)

    def _applied(self, function: Callable[[Reals], Any], t: ArrayLike, what: str) -> Reals:
        t = _reals(t)
        with np.errstate(over="ignore"):
            out = np.asarray(function(t), np.float64)
        if out.shape != t.shape:
            raise DataError(f"loss {self.name!r}: the {what} of {t.shape} margins has shape {out.shape}")
        return out

    def __repr__(self) -> str:
        return f"CustomLoss(name={self.name!r})"


MARGIN_LOSSES: dict[str, MarginLoss] = {
    loss.name: loss for loss in (Hinge(), SquaredHinge(), Logistic(), Exponential(), Perceptron(), ZeroOne())
}
"""By name."""


def margin_loss(loss: str | MarginLoss) -> MarginLoss:
    """The convex margin loss of that name, or the one given.

    Raises
    ------
    ValueError
        For an unknown name, or a loss that is not convex.
    """
    found = MARGIN_LOSSES.get(loss) if isinstance(loss, str) else loss
    if not isinstance(found, MarginLoss):
        names = sorted(name for name, each in MARGIN_LOSSES.items() if each.convex)
        raise ValueError(f"loss must be one of {names} or a MarginLoss, not {loss!r}")
    if not found.convex:
        raise ValueError(f"the {found.name} loss is not convex: no solver finds its minimum")
    return found


def _reals(values: ArrayLike) -> Reals:
    return np.asarray(values, np.float64)


def _inside(u: ArrayLike, low: float, high: float, value: Reals) -> Reals:
    u = _reals(u)
    return np.where((u >= low) & (u <= high), value, np.inf)


def _entropy(p: Reals) -> Reals:
    """``p log p``, 0 at 0."""
    return np.where(p > 0.0, p * np.log(np.where(p > 0.0, p, 1.0)), 0.0)


def _sigmoid(t: Reals) -> Reals:
    small = np.exp(-np.abs(t))
    return np.where(t >= 0.0, 1.0, small) / (1.0 + small)


def _width(epsilon: float) -> float:
    if not (math.isfinite(epsilon) and epsilon >= 0.0):
        raise ValueError(f"epsilon must be a number of at least 0, not {epsilon!r}")
    return float(epsilon)
