"""Losses of one score: formulas, slopes, conjugates, and what theorems say of them, each by search on grids."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from maxmargin import SVMClassifier
from maxmargin.errors import DataError
from maxmargin.losses import (
    MARGIN_LOSSES,
    CustomLoss,
    EpsilonInsensitive,
    Exponential,
    Hinge,
    Logistic,
    Loss,
    MarginLoss,
    Perceptron,
    SquaredEpsilonInsensitive,
    SquaredHinge,
    ZeroOne,
    margin_loss,
)

T = np.linspace(-6.0, 6.0, 2401)  # has 0, 1 and all other kinks
LOG2 = math.log(2.0)


def softplus(t: Any) -> Any:
    return np.logaddexp(0.0, -t)


def custom_hinge() -> CustomLoss:
    return CustomLoss(lambda t: np.maximum(0.0, 1.0 - t), lambda t: np.where(t < 1.0, -1.0, 0.0))


def huber_hinge() -> CustomLoss:
    """Linear for ``t < 0``, a parabola up to 1."""
    return CustomLoss(
        lambda t: np.where(t < 0.0, 0.5 - t, 0.5 * np.maximum(1.0 - t, 0.0) ** 2),
        lambda t: np.clip(t - 1.0, -1.0, 0.0),
        lambda t: np.where((t > 0.0) & (t < 1.0), 1.0, 0.0),
        name="huber_hinge",
    )


def square() -> CustomLoss:
    return CustomLoss(lambda t: (1.0 - t) ** 2, lambda t: -2.0 * (1.0 - t), lambda t: np.full_like(t, 2.0), "square")


def pinball() -> CustomLoss:
    """A quantile loss of ``1 - t`` with both kinks smoothed: slopes from -0.9 to 0.1."""
    return CustomLoss(
        lambda t: 0.9 * softplus(t - 1.0) + 0.1 * softplus(1.0 - t),
        lambda t: -0.9 * expit(1.0 - t) + 0.1 * expit(t - 1.0),
        lambda t: expit(t - 1.0) * expit(1.0 - t),
        name="pinball",
    )


CUSTOM = (custom_hinge(), huber_hinge(), square(), pinball())
CASES: list[tuple[Loss, Callable[[Any], Any]]] = [
    (Hinge(), lambda t: np.maximum(0.0, 1.0 - t)),
    (SquaredHinge(), lambda t: np.maximum(0.0, 1.0 - t) ** 2),
    (Logistic(), lambda t: np.log(1.0 + np.exp(-t))),
    (Logistic(2.0), lambda t: np.log2(1.0 + np.exp(-t))),
    (Exponential(), lambda t: np.exp(-t)),
    (Perceptron(), lambda t: np.maximum(0.0, -t)),
    (EpsilonInsensitive(0.25), lambda r: np.maximum(0.0, np.abs(r) - 0.25)),
    (EpsilonInsensitive(0.0), np.abs),
    (SquaredEpsilonInsensitive(0.25), lambda r: np.maximum(0.0, np.abs(r) - 0.25) ** 2),
    *((loss, loss.function) for loss in CUSTOM),
]
ALL = pytest.mark.parametrize(("loss", "formula"), CASES, ids=[repr(loss) for loss, _ in CASES])
SMOOTH = pytest.mark.parametrize("loss", [loss for loss, _ in CASES if loss.smooth], ids=repr)


@ALL
def test_values_are_those_of_the_formula(loss: Loss, formula: Callable[[Any], Any]) -> None:
    np.testing.assert_allclose(loss.value(T), formula(T), rtol=1e-12, atol=1e-14)
    assert loss.value(0.5).shape == ()
    assert loss.derivative(T.reshape(7, -1)).shape == loss.value(T.reshape(7, -1)).shape == (7, 343)


@ALL
def test_slopes_are_subgradients(loss: Loss, formula: Callable[[Any], Any]) -> None:
    """``loss(s) >= loss(t) + slope(t) (s - t)`` for all pairs: that is also convexity."""
    t = T[::10]
    tangent = loss.value(t)[:, None] + loss.derivative(t)[:, None] * (t - t[:, None])
    assert (loss.value(t) >= tangent - 1e-9 * (1.0 + np.abs(tangent))).all()
    low, high = loss.slopes
    assert ((loss.derivative(T) >= low) & (loss.derivative(T) <= high)).all()


@ALL
def test_slopes_are_finite_differences(loss: Loss, formula: Callable[[Any], Any]) -> None:
    """Between points of the grid, where no kink is."""
    t, h = 0.5 * (T[1:] + T[:-1]), 1e-5
    numeric = (loss.value(t + h) - loss.value(t - h)) / (2.0 * h)
    np.testing.assert_allclose(loss.derivative(t), numeric, rtol=1e-6, atol=1e-8)


def test_at_a_kink_the_smallest_subgradient_is_taken() -> None:
    assert Hinge().derivative(1.0) == Perceptron().derivative(0.0) == 0.0
    assert EpsilonInsensitive(0.25).derivative(-0.25) == EpsilonInsensitive(0.0).derivative(0.0) == 0.0


@SMOOTH
def test_curvature_is_the_slope_of_the_slope(loss: Loss) -> None:
    t, h = 0.5 * (T[1:] + T[:-1]), 1e-5
    numeric = (loss.derivative(t + h) - loss.derivative(t - h)) / (2.0 * h)
    np.testing.assert_allclose(loss.curvature(t), numeric, rtol=1e-6, atol=1e-8)


@ALL
def test_smoothness_bounds_how_fast_slopes_change(loss: Loss, formula: Callable[[Any], Any]) -> None:
    rates = np.diff(loss.derivative(T)) / np.diff(T)
    assert rates.max() <= loss.smoothness * (1.0 + 1e-9)
    if loss.smoothness < math.inf:
        assert rates.max() >= loss.smoothness * (1.0 - 1e-3), "a smaller constant would do"
    if not loss.smooth:
        assert rates.max() > 100.0
        with pytest.raises(DataError, match="has no second derivative"):
            loss.curvature(0.0)


@ALL
def test_conjugates_are_suprema(loss: Loss, formula: Callable[[Any], Any]) -> None:
    """By search over margins up to 40, enough for slopes that are taken between -6 and 6; never below any tangent."""
    t = np.linspace(-40.0, 40.0, 16_001)
    u = loss.derivative(T[::40])
    low, high = loss.slopes
    u = np.concatenate([u, np.linspace(max(low, -3.0), min(high, 3.0), 23), [0.0]])
    found = loss.conjugate(u)
    tried = np.array([(each * t - formula(t)).max() for each in u])
    finite = np.isfinite(found)
    assert (found[finite] >= tried[finite] - 1e-9 * (1.0 + np.abs(tried[finite]))).all()
    inside = finite & (u > low) & (u < high)
    np.testing.assert_allclose(found[inside], tried[inside], rtol=1e-5, atol=1e-5)


@ALL
def test_conjugates_are_infinite_beyond_the_slopes(loss: Loss, formula: Callable[[Any], Any]) -> None:
    low, high = loss.slopes
    far = np.array([-1e6, 1e6])
    for bound, beyond, t in ((low, low - 1e-3, far[0]), (high, high + 1e-3, far[1])):
        if math.isfinite(bound) and abs(bound) < 1e6:
            assert loss.conjugate(beyond) == math.inf
            assert beyond * t - loss.value(t) > 100.0  # and so on for ever
            assert math.isfinite(loss.conjugate(bound))
        else:
            assert math.isfinite(loss.conjugate(math.copysign(1e3, bound)))


@ALL
def test_fenchel_and_young(loss: Loss, formula: Callable[[Any], Any]) -> None:
    """``loss(t) + conjugate(u) >= u t``, and equal where ``u`` is the slope at ``t``."""
    u = loss.derivative(T)
    np.testing.assert_allclose(loss.value(T) + loss.conjugate(u), u * T, rtol=1e-9, atol=1e-9)
    assert (loss.value(T) + loss.conjugate(u[::-1]) >= u[::-1] * T - 1e-8 * (1.0 + np.abs(u[::-1] * T))).all()


@pytest.mark.parametrize("loss", [Logistic(), Logistic(2.0), Exponential(), SquaredHinge(), huber_hinge()], ids=repr)
def test_margins_of_any_size(loss: Loss) -> None:
    t = np.array([-1e300, -1e5, -745.0, 745.0, 1e5, 1e300])
    with np.errstate(over="ignore"):
        value, slope, bend = loss.value(t), loss.derivative(t), loss.curvature(t)
    assert not np.isnan([value, slope, bend]).any()
    assert (value[3:] <= 1e-300).all()
    assert (np.abs(slope[3:]) <= 1e-300).all()
    if isinstance(loss, Logistic):
        np.testing.assert_allclose(value[:3], -t[:3] / math.log(loss.base), rtol=1e-14)


# what theorems say


@pytest.mark.parametrize(
    ("loss", "verdict"),
    [
        (Hinge(), True),
        (SquaredHinge(), True),
        (Logistic(), False),
        (Logistic(2.0), True),
        (Logistic(1.5), True),
        (Exponential(), True),
        (Perceptron(), False),
        (ZeroOne(), True),
        (custom_hinge(), True),
        (huber_hinge(), False),
        (square(), True),
        (pinball(), True),
        # rises at 0 from the left, with a minimum at -1 that decides
        (CustomLoss(lambda t: (t + 1.0) ** 2 + 1.0, lambda t: 2.0 * (t + 1.0)), True),
        (CustomLoss(lambda t: (t + 1.0) ** 2 + 0.9, lambda t: 2.0 * (t + 1.0)), False),
    ],
    ids=lambda value: repr(value),
)
def test_bounds_of_zero_one(loss: MarginLoss, verdict: bool) -> None:
    t = np.linspace(-30.0, 30.0, 6001)
    assert bool((loss.value(t) >= (t <= 0.0) - 1e-12).all()) is verdict
    assert loss.bounds_zero_one is verdict


def risk_decides(loss: MarginLoss) -> bool:
    """By the definition, on grids: for every ``eta`` but 1/2 wrong signs cost strictly more than the best margin."""
    t = np.concatenate([-np.logspace(-7, 2, 3000)[::-1], [0.0], np.logspace(-7, 2, 3000)])
    with np.errstate(over="ignore"):
        ahead, behind = loss.value(t), loss.value(-t)
    for eta in (0.001, 0.05, 0.25, 0.4, 0.49, 0.51, 0.6, 0.75, 0.95, 0.999):
        risk = eta * ahead + (1.0 - eta) * behind
        wrong = t * (2.0 * eta - 1.0) <= 0.0
        if risk[wrong].min() <= risk.min() + 1e-9:
            return False
    return True


@pytest.mark.parametrize(
    ("loss", "verdict"),
    [
        (Hinge(), True),
        (SquaredHinge(), True),
        (Logistic(), True),
        (Logistic(2.0), True),
        (Exponential(), True),
        (Perceptron(), False),
        (custom_hinge(), True),
        (huber_hinge(), True),
        (square(), True),
        (pinball(), True),
        (CustomLoss(lambda t: np.maximum(0.0, -t), lambda t: np.where(t < 0.0, -1.0, 0.0)), False),
        (CustomLoss(lambda t: np.maximum(0.0, -1.0 - t), lambda t: np.where(t < -1.0, -1.0, 0.0)), False),
        (CustomLoss(lambda t: 2.0 + np.maximum(-4.0 * t, -1e-3 * np.minimum(t, 5.0)), lambda t: np.where(t < 0.0, -4.0, -1e-3 * (t < 5.0))), False),
        (CustomLoss(np.square, lambda t: 2.0 * t, lambda t: np.full_like(t, 2.0)), False),
        (CustomLoss(lambda t: (1.0 + t) ** 2, lambda t: 2.0 * (1.0 + t)), False),
    ],
    ids=lambda value: repr(value),
)  # fmt: skip
def test_calibration_is_what_the_conditional_risk_says(loss: MarginLoss, verdict: bool) -> None:
    assert risk_decides(loss) is verdict
    assert loss.calibrated is verdict


def test_slopes_at_zero() -> None:
    assert Perceptron().slopes_at_zero() == (-1.0, 0.0)
    kink = CustomLoss(lambda t: np.maximum(-t, 0.5 * t), lambda t: np.where(t < 0.0, -1.0, 0.5))
    assert kink.slopes_at_zero() == (-1.0, 0.5)
    assert not kink.calibrated
    small = CustomLoss(lambda t: 1e-5 * np.maximum(1.0 - t, 0.0), lambda t: np.where(t < 1.0, -1e-5, 0.0))
    assert small.slopes_at_zero() == (-1e-5, -1e-5)
    assert small.calibrated
    assert ZeroOne().calibrated


def test_the_table_of_the_page() -> None:
    page = (Path(__file__).resolve().parents[1] / "docs" / "losses.md").read_text("utf-8")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("| `")
    ]
    assert [name.strip("`") for name, *_ in rows] == list(MARGIN_LOSSES)
    for name, formula, smooth, bounds, calibrated in rows:
        loss = MARGIN_LOSSES[name.strip("`")]
        names = {"max": np.maximum, "exp": np.exp, "log": np.log, "t": T}
        np.testing.assert_allclose(loss.value(T), eval(formula.strip("`").replace("^", "**"), names), atol=1e-14)
        assert (smooth, calibrated) == tuple("yes" if verdict else "no" for verdict in (loss.smooth, loss.calibrated))
        assert bounds.startswith("yes") == loss.bounds_zero_one


# one's own loss


def test_a_loss_of_ones_own_is_the_same_as_the_librarys() -> None:
    own = CustomLoss(softplus, lambda t: -expit(-t), lambda t: expit(t) * expit(-t))
    assert own.slopes == pytest.approx(Logistic().slopes)
    assert own.smooth
    assert own.smoothness == math.inf
    u = -np.array([1.0, 1.0 - 1e-12, 0.9, 0.3, 1e-3, 1e-12, 0.0])
    np.testing.assert_allclose(own.conjugate(u), Logistic().conjugate(u), rtol=1e-9, atol=1e-12)
    hinge = custom_hinge()
    np.testing.assert_allclose(hinge.conjugate(u), Hinge().conjugate(u), atol=1e-12)
    assert not hinge.smooth
    assert (hinge.slopes, Hinge().slopes) == ((-1.0, 0.0),) * 2
    assert (hinge.conjugate([-1.1, 0.1]) == math.inf).all()


def test_a_conjugate_at_no_slope_is_minus_the_minimum() -> None:
    """Not a rounding error less: the bound of an objective whose optimum is 0 must not be above it."""
    for own in (CustomLoss(np.square, lambda t: 2.0 * t), custom_hinge(), huber_hinge()):
        assert own.conjugate(0.0) == 0.0
    assert CustomLoss(lambda t: t * t + 3.0, lambda t: 2.0 * t).conjugate(0.0) == -3.0


def test_it_is_asked_with_flat_arrays() -> None:
    def sure(t: Any) -> Any:
        assert t.ndim == 1
        assert t.dtype == np.float64
        return np.exp(-t)

    loss = CustomLoss(sure, lambda t: -sure(t), sure)
    assert loss.value(0).shape == ()
    assert loss.curvature([[1, 2], [3, 4]]).shape == (2, 2)


def tent(t: Any) -> Any:
    return np.maximum(0.0, 1.0 - np.abs(t - 5.0)) + 1.0


HINGE = (lambda t: np.maximum(0.0, 1.0 - t), lambda t: np.where(t < 1.0, -1.0, 0.0))


@pytest.mark.parametrize(
    ("function", "slope", "bend", "message"),
    [
        (tent, np.zeros_like, None, r"'odd' is not convex near 4.98: its slope falls from 1 to 0.33"),
        (lambda t: np.log1p(t * t), lambda t: 2.0 * t / (1.0 + t * t), None, "is not convex near -?1.0[0-9]*: its slope f"),
        (lambda t: 1.0 - t, lambda t: -np.ones_like(t), None, "the value at 1.02 is -0.02; it must be at least 0"),
        (lambda t: np.maximum(50.0 - t, -1.0), lambda t: np.where(t < 51.0, -1.0, 0.0), None, r"value at 1e\+08 is -1; it"),
        (lambda t: np.where(t == 3.0, np.nan, 1.0), np.zeros_like, None, "the value at 3 is nan"),
        (lambda t: np.where(t > 3.01, np.inf, 1.0), np.zeros_like, None, "the value at 3.03 is inf"),
        (HINGE[0], lambda t: np.where(t < 0.0, np.nan, -1.0), None, "the slope at -0.03 is nan"),
        (softplus, lambda t: np.exp(-t) / (-1.0 - np.exp(-t)), None, r"the slope at -1e\+08 is nan"),
        (HINGE[0], lambda t: np.where(t < 1.0, 1.0, 0.0), None, r"the slope 1 at 0 is no subgradient; the values around it have slopes from -1 to -1"),
        (HINGE[0], lambda t: np.where(t < 1.5, -1.0, 0.0), None, r"the slope -1 at 1.02 is no subgradient; .* from -0.333333 to 0"),
        (np.square, lambda t: 2.0 * t + 0.1, None, "no subgradient"),
        (HINGE[0], lambda t: -1.0, None, r"the slope of 2003 margins has shape \(\)"),
        (lambda t: t[:-1], HINGE[1], None, r"the value of 2003 margins has shape \(2002,\)"),
        (*HINGE, lambda t: np.zeros_like(t), "its slope jumps from -1 to 0 at 1; leave out bend, or smooth the kink"),
        (np.square, lambda t: 2.0 * t, lambda t: np.full_like(t, -2.0), "the bend at 0 is -2; it must be at least 0"),
        (np.square, lambda t: 2.0 * t, lambda t: np.full_like(t, np.inf), "the bend at 0 is inf"),
    ],
)  # fmt: skip
def test_what_is_no_convex_loss_is_refused(function: Any, slope: Any, bend: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        CustomLoss(function, slope, bend, name="odd")


def test_parameters_that_make_no_loss_are_refused() -> None:
    with pytest.raises(ValueError, match="slope must be a function of an array of margins, not -1"):
        CustomLoss(HINGE[0], -1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="bend must be a function"):
        CustomLoss(*HINGE, 0)  # type: ignore[arg-type]
    for grid in ((0.0, 1.0), (-1.0, 0.0), (-np.inf, 1.0), (1.0, -1.0)):
        with pytest.raises(ValueError, match="grid must be two numbers around 0"):
            CustomLoss(*HINGE, grid=grid)
    for base in (1.0, 0.5, np.nan, np.inf, 10**400, True):
        with pytest.raises(ValueError, match="base must be a number above 1"):
            Logistic(base)
    for epsilon in (-0.1, np.nan, 10**400, True):
        with pytest.raises(ValueError, match="epsilon must be a number of at least 0"):
            EpsilonInsensitive(epsilon)


@pytest.mark.parametrize("width", [1e-6, 1e-3, 1.0])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_steep_and_small_losses_are_taken(width: float, scale: float) -> None:
    """A hinge with its kink smoothed within any width is no kink."""
    loss = CustomLoss(
        lambda t: scale * width * softplus((t - 1.0) / width),
        lambda t: -scale * expit((1.0 - t) / width),
        lambda t: scale / width * expit((t - 1.0) / width) * expit((1.0 - t) / width),
    )
    assert loss.calibrated
    assert loss.slopes == (-scale, 0.0)
    CustomLoss(lambda t: np.exp(-t), lambda t: -np.exp(-t), lambda t: np.exp(-t))


# classes of one's own


class Own(MarginLoss):
    """The losses below are made of two or three functions by a class derived from the library's."""

    name = "own"
    function: Any
    slope: Any
    dual: Any

    def value(self, t: Any) -> Any:
        return type(self).function(np.asarray(t, float))

    def derivative(self, t: Any) -> Any:
        return type(self).slope(np.asarray(t, float))

    def conjugate(self, u: Any) -> Any:
        return type(self).dual(np.asarray(u, float))


class Ramp(Own):
    """The hinge, but never more than 2."""

    function = staticmethod(lambda t: np.clip(1.0 - t, 0.0, 2.0))
    slope = staticmethod(lambda t: np.where(np.abs(t) < 1.0, -1.0, 0.0))
    dual = staticmethod(lambda u: u)


class OwnHinge(Own):
    slopes = (-1.0, 0.0)
    function = staticmethod(lambda t: np.maximum(1.0 - t, 0.0))
    slope = staticmethod(lambda t: np.where(t < 1.0, -1.0, 0.0))
    dual = staticmethod(lambda u: np.where((u >= -1.0) & (u <= 0.0), u, np.inf))


class OwnLogistic(Own):
    smoothness = 0.25
    slopes = (-1.0, 0.0)
    function = staticmethod(softplus)
    slope = staticmethod(lambda t: -expit(-t))
    dual = staticmethod(Logistic().conjugate)

    def curvature(self, t: Any) -> Any:
        return expit(np.asarray(t)) * expit(-np.asarray(t))


class OwnPerceptron(Own):
    """Its kink is at 0, and the slope that it says there is that of the left."""

    slopes = (-1.0, 0.0)
    function = staticmethod(lambda t: np.maximum(-t, 0.0))
    slope = staticmethod(lambda t: np.where(t <= 0.0, -1.0, 0.0))
    dual = staticmethod(lambda u: np.zeros_like(u))


X, Y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2


def changed(base: type, **members: Any) -> Any:
    """A loss of that class with other members."""
    wrapped = {name: staticmethod(member) if callable(member) else member for name, member in members.items()}
    return type("Changed", (base,), wrapped)()


NOT_CONVEX = r"loss 'own' is not convex near -0.9[0-9]: its slope falls from -0.\d* to -1$"
WRONG: dict[str, tuple[Any, str]] = {
    "not convex": (Ramp(), NOT_CONVEX),
    "nor in truth": (changed(Ramp, smoothness=1.0, curvature=lambda t: np.zeros_like(t)), NOT_CONVEX),
    "derived from another": (changed(OwnHinge, function=Ramp.function), "loss 'own' is not convex near|no subgradient"),
    "negative": (changed(OwnHinge, function=lambda t: 1.0 - t, slope=lambda t: -np.ones_like(t)), "at 1.02 is -0.02; it"),
    "no numbers": (changed(OwnHinge, function=lambda t: t * np.nan), "the value at 0 is nan"),
    "no shape": (changed(OwnHinge, function=np.sum), r"loss 'own': the value of 2003 margins has shape \(\)"),
    "no subgradient": (changed(OwnHinge, slope=lambda t: np.where(t < 1.0, 1.0, 0.0)), "the slope 1 at 0 is no subgr"),
    "jumps": (changed(OwnHinge, smoothness=1.0, curvature=np.zeros_like), "jumps from -1 to 0 at 1; let its smoothness"),
    "bends down": (changed(OwnLogistic, curvature=lambda t: -np.ones_like(t)), "the bend at 0 is -1; it must be"),
    "no curvature": (changed(OwnHinge, function=softplus, slope=OwnLogistic.slope, dual=OwnLogistic.dual, smoothness=1.0), "loss 'own' is smooth, but has no curvature"),
    "slopes": (changed(OwnHinge, slopes=(-0.5, 0.0)), "the slope -1 at 0 is outside slopes, -0.5 to 0"),
    "conjugate": (changed(OwnLogistic, dual=np.zeros_like), r"conjugate of the slope -0.5 is 0, but value and slope at 0 make it -0.693147"),
    "conjugate too large": (changed(OwnHinge, dual=lambda u: u + 0.1), "conjugate of the slope -1 is -0.9, but .* make it -1"),
    "conjugate is none": (changed(OwnHinge, dual=lambda u: u * np.nan), "conjugate of the slope -1 is nan"),
    "no hinge": (changed(Hinge, value=lambda t: np.maximum(2.0 - t, 0.0)), "no subgradient|is not the hinge loss"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_class_of_ones_own_is_checked_when_it_is_taken(name: str) -> None:
    loss, message = WRONG[name]
    for take in (lambda: margin_loss(loss), lambda: SVMClassifier(loss=loss).fit(X, Y)):
        with pytest.raises(DataError, match=message) as caught:
            take()
        assert "\n" not in str(caught.value)
    for verdict in ("calibrated", "bounds_zero_one"):  # and before a theorem of convex losses is applied
        with pytest.raises(DataError, match=message):
            getattr(loss, verdict)


def test_a_class_that_says_that_it_is_not_convex() -> None:
    loss = changed(Ramp, convex=False)
    with pytest.raises(ValueError, match="the own loss is not convex: no solver finds its minimum"):
        margin_loss(loss)
    with pytest.raises(DataError, match="the own loss is not convex: the theorem says nothing of it"):
        loss.calibrated  # noqa: B018


def test_other_losses_in_the_clothes_of_the_librarys() -> None:
    """Solvers know the hinge by its class; what is the hinge, or has a class of its own, is fine."""

    class Wide(Hinge):
        def value(self, t: Any) -> Any:
            return np.maximum(2.0 - np.asarray(t), 0.0)

        def derivative(self, t: Any) -> Any:
            return np.where(np.asarray(t) < 2.0, -1.0, 0.0)

        def conjugate(self, u: Any) -> Any:
            return 2.0 * np.asarray(u)

    class Same(Hinge):
        pass

    with pytest.raises(DataError, match="is not the hinge loss, as its class says: derive it from MarginLoss"):
        margin_loss(Wide())
    assert margin_loss(Same()) == Same()
    for kind in (SquaredHinge, Logistic, Exponential, Perceptron):
        loss = type("Derived", (kind,), {})()
        assert margin_loss(loss) is loss


@pytest.mark.parametrize(
    ("loss", "same"), [(OwnHinge(), "hinge"), (OwnLogistic(), "logistic")], ids=["hinge", "logistic"]
)
def test_good_classes_are_taken_and_minimised(loss: Any, same: str) -> None:
    assert margin_loss(loss) is loss
    assert loss.calibrated == MARGIN_LOSSES[same].calibrated
    assert loss.bounds_zero_one == MARGIN_LOSSES[same].bounds_zero_one
    model = SVMClassifier(loss=loss, tol=1e-7, max_passes=500).fit(X, Y)
    other = SVMClassifier(loss=same, tol=1e-7, max_passes=500).fit(X, Y)
    assert model.certificate_.status.ok
    assert model.certificate_.primal == pytest.approx(other.certificate_.primal, rel=1e-6)


class Short(Own):
    """A squared hinge whose conjugate is wrong between two slopes; those of the grid go down to -31."""

    smoothness = 1.0
    slopes = (-math.inf, 0.0)
    between = (-200.0, -40.0)
    function = staticmethod(lambda t: 0.5 * np.maximum(1.0 - t, 0.0) ** 2)
    slope = staticmethod(lambda t: -np.maximum(1.0 - t, 0.0))

    def curvature(self, t: Any) -> Any:
        return 1.0 * (np.asarray(t, float) < 1.0)

    def conjugate(self, u: Any) -> Any:
        u = np.asarray(u, float)
        low, high = self.between
        right = np.where(u <= 0.0, u + 0.5 * u * u, np.inf)
        return np.where((u > low) & (u < high), -1.0, right)


@pytest.mark.parametrize(("low", "at"), [(-2000.0, "-1001"), (-1e7, "-1001"), (-1000.0, "")])
def test_conjugates_are_checked_far_from_the_grid(low: float, at: str) -> None:
    loss = type("Wrong", (Short,), {"between": (low, -40.0)})()
    if not at:
        assert margin_loss(loss) is loss
        return
    with pytest.raises(DataError, match=f"the conjugate of the slope {at} is -1, but value and slope at -1000 make it"):
        margin_loss(loss)


@pytest.mark.parametrize("options", [{}, {"kernel": "poly", "degree": 1, "gamma": 1.0}], ids=["linear", "kernel"])
def test_a_conjugate_that_is_too_small_is_blamed_for_a_bound_above_the_objective(options: Any) -> None:
    """And no structure, of which a plain machine has none. The last row ends at a margin of about -58."""
    X, y = np.repeat([[1.0], [-1.0], [60.0]], [50, 50, 1], axis=0), np.repeat([1, 0, 0], [50, 50, 1])
    model = SVMClassifier(loss=Short(), fit_intercept=False, **options)
    blame = (
        "is above the objective .*: the conjugate of loss 'own' is too small at the slope -5[0-9.]*: it is -1, and the"
    )
    with pytest.raises(DataError, match=blame) as error:
        model.fit(X, y, sample_weight=np.append(np.full(100, 1e3), 1.0))
    assert "check_structure" not in str(error.value)


def test_a_class_with_its_kink_at_zero_is_not_calibrated() -> None:
    assert OwnPerceptron().derivative(0.0) == -1.0
    assert OwnPerceptron().slopes_at_zero() == (-1.0, 0.0)
    assert not OwnPerceptron().calibrated
    assert margin_loss(OwnPerceptron())


def test_a_check_is_made_once_for_a_loss_that_stays_the_same() -> None:
    asked = []

    class Counted(OwnHinge):
        def __init__(self, width: float) -> None:
            self.width = width

        def value(self, t: Any) -> Any:
            asked.append(self.width)
            return np.maximum(self.width - np.asarray(t, float), 0.0)

        def derivative(self, t: Any) -> Any:
            return np.where(np.asarray(t) < self.width, -1.0, 0.0)

        def conjugate(self, u: Any) -> Any:
            return self.width * np.asarray(u, float)

    loss = Counted(1.0)
    margin_loss(loss)
    assert (first := len(asked)) > 0
    margin_loss(loss)
    assert len(asked) == first
    loss.width = 3.0  # another loss now
    margin_loss(loss)
    assert asked[first:] == [3.0] * first
    loss.width = -1.0
    loss.derivative = lambda t: np.zeros_like(t)  # type: ignore[method-assign]
    with pytest.raises(DataError, match="no subgradient"):
        margin_loss(loss)
    parameters = Counted(np.array(1.0))  # type: ignore[arg-type]
    assert margin_loss(parameters) is parameters


@pytest.mark.parametrize("loss", [custom_hinge(), OwnHinge(), "perceptron"], ids=["custom", "own", "perceptron"])
@pytest.mark.parametrize("solver", ["auto", "newton", "interior_point"])
def test_with_a_kernel_the_loss_has_to_be_smooth(loss: Any, solver: str) -> None:
    message = (
        r"^SVMClassifier: with a kernel the loss has to be smooth, or the hinge; .*\(.*\) has kinks: use kernel='lin"
    )
    with pytest.raises(DataError, match=message) as caught:
        SVMClassifier(kernel="rbf", loss=loss, solver=solver).fit(X, Y)
    assert "Newton" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert SVMClassifier(kernel="rbf", loss=OwnLogistic(), tol=1e-6).fit(X, Y).certificate_.status.ok


# names, equality, copies


def test_losses_by_name() -> None:
    assert {name: loss.name for name, loss in MARGIN_LOSSES.items()} == {name: name for name in MARGIN_LOSSES}
    assert isinstance(margin_loss("logistic"), Logistic)
    own = custom_hinge()
    assert margin_loss(own) is own
    for wrong in ("log", 3, Logistic, EpsilonInsensitive()):
        with pytest.raises(ValueError, match=r"loss must be one of \['exponential', 'hinge', .* or a MarginLoss, not"):
            margin_loss(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="zero_one loss is not convex"):
        margin_loss("zero_one")
    with pytest.raises(DataError, match="no subgradient"):
        ZeroOne().derivative(0.0)
    np.testing.assert_array_equal(ZeroOne().value([-1.0, 0.0, 1e-300]), [1.0, 1.0, 0.0])
    np.testing.assert_array_equal(ZeroOne().conjugate([-1.0, 0.0, 1.0]), [np.inf, 0.0, np.inf])


def test_equal_losses_are_equal() -> None:
    assert Logistic() == Logistic(math.e)
    assert Logistic() != Logistic(2.0)
    assert Hinge() != SquaredHinge()
    assert EpsilonInsensitive(0.2) == EpsilonInsensitive(0.2)
    assert EpsilonInsensitive(0.2) != SquaredEpsilonInsensitive(0.2)
    assert len({Logistic(), Logistic(), Logistic(2.0), Hinge(), Hinge()}) == 3
    own = huber_hinge()
    for loss in (Logistic(2.0), EpsilonInsensitive(0.3), own):
        assert copy.deepcopy(loss) == loss
        assert hash(copy.deepcopy(loss)) == hash(loss)
    assert pickle.loads(pickle.dumps(Logistic(2.0))) == Logistic(2.0)
    assert (repr(Logistic()), repr(Logistic(2.0)), repr(Hinge())) == ("Logistic()", "Logistic(base=2)", "Hinge()")
    assert repr(own) == "CustomLoss(name='huber_hinge')"
    assert repr(SquaredEpsilonInsensitive(0.5)) == "SquaredEpsilonInsensitive(epsilon=0.5)"


LOGISTIC = Logistic()
FLAT_AND_CURVED = CustomLoss(  # a bend with jumps at 0 and 1
    lambda t: np.where(t > 1.0, 0.0, np.where(t < 0.0, 0.5 - t, 0.5 * (1.0 - t) ** 2)),
    lambda t: np.clip(t - 1.0, -1.0, 0.0),
    lambda t: np.where((t >= 0.0) & (t <= 1.0), 1.0, 0.0),
)


@pytest.mark.parametrize(
    ("bend", "message"),
    [
        (np.zeros_like, "the bend at 0 is 0, but the slope changes there at a rate of 0.25"),
        (lambda t: np.full_like(t, 1e6), r"the bend at 0 is 1e\+06, but the slope changes there at a rate of 0.25"),
        (lambda t: np.where(t > 2.0, 0.0, LOGISTIC.curvature(t)), "the bend at 2.0[0-9]* is 0, but the slope changes"),
        (lambda t: 2.0 * LOGISTIC.curvature(t), "the bend at 0 is 0.5, but"),
    ],
)
def test_a_bend_that_is_not_that_of_the_slope_is_refused(bend: Any, message: str) -> None:
    with pytest.raises(DataError, match="^loss 'odd': " + message):
        CustomLoss(LOGISTIC.value, LOGISTIC.derivative, bend, name="odd")
    members = {"value": LOGISTIC.value, "derivative": LOGISTIC.derivative, "conjugate": LOGISTIC.conjugate}
    own = type("Odd", (MarginLoss,), {"name": "odd", "smoothness": 0.25, "slopes": (-1.0, 0.0)})
    for name, function in (members | {"curvature": bend}).items():
        setattr(own, name, staticmethod(function))
    own.__abstractmethods__ = frozenset()  # type: ignore[attr-defined]
    with pytest.raises(DataError, match="^loss 'odd': " + message):
        margin_loss(own())


@pytest.mark.parametrize("grid", [(-30.0, 30.0), (-1e-3, 1e-3), (-1e5, 3e4), (-0.7, 1.9)])
def test_bends_that_are_right_are_taken_on_any_grid(grid: tuple[float, float]) -> None:
    for loss in (LOGISTIC, SquaredHinge(), FLAT_AND_CURVED):
        for scale in (1e-20, 1.0, 1e20):
            functions = [
                lambda t, f=f, scale=scale: scale * f(t) for f in (loss.value, loss.derivative, loss.curvature)
            ]
            assert CustomLoss(*functions, grid=grid).smooth


@pytest.mark.parametrize(("place", "what"), [(0, "value"), (1, "slope"), (2, "bend")])
@pytest.mark.parametrize("answer", ["x", "3", ["a", "b"], None])
def test_text_from_a_function_is_refused_by_the_name_of_the_loss(place: int, what: str, answer: Any) -> None:
    functions: list[Any] = [LOGISTIC.value, LOGISTIC.derivative, LOGISTIC.curvature]
    functions[place] = lambda t: answer
    message = f"^loss 'odd': the {what} " + (
        "of 2003 margins" if answer is None else "must be an array of numbers, not"
    )
    with pytest.raises(DataError, match=message):
        CustomLoss(*functions, name="odd")


AMBIGUOUS: list[Any] = [
    lambda t: max(0.0, 1.0 - t),
    lambda t: 1.0 - t if t < 1.0 else 0.0,
    lambda t: -(t < 1.0),
    lambda t: math.exp(-t),
    lambda t: float(t),
]


@pytest.mark.parametrize(("place", "what"), [(0, "value"), (1, "slope"), (2, "bend")])
@pytest.mark.parametrize("function", AMBIGUOUS)
def test_functions_of_one_number_are_refused_by_the_name_of_the_loss(place: int, what: str, function: Any) -> None:
    functions: list[Any] = [LOGISTIC.value, LOGISTIC.derivative, LOGISTIC.curvature]
    functions[place] = function
    message = rf"^loss 'odd': the {what} cannot be computed for 2003 margins \(.*np.maximum instead of max, np.where"
    with pytest.raises(DataError, match=message) as caught:
        CustomLoss(*functions, name="odd")
    assert isinstance(caught.value.__cause__, TypeError | ValueError)  # where it is, in the user's own code
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("member", "what"), [("value", "value"), ("derivative", "slope"), ("curvature", "bend"), ("conjugate", "conjugate")]
)
@pytest.mark.parametrize("function", AMBIGUOUS)
def test_members_that_take_one_number_only_are_refused_too(member: str, what: str, function: Any) -> None:
    members = {name: getattr(LOGISTIC, name) for name in ("value", "derivative", "curvature", "conjugate")}
    members[member] = function
    own = changed(MarginLoss, smoothness=0.25, slopes=(-1.0, 0.0), **members)
    with pytest.raises(DataError, match=f"the {what} cannot be computed for .* np.maximum instead of max, np.where"):
        margin_loss(own)


def test_the_error_of_a_users_own_stays_what_it_is() -> None:
    def function(t: Any) -> Any:
        raise DataError("no margins today")

    with pytest.raises(DataError, match="^no margins today$"):
        CustomLoss(function, LOGISTIC.derivative)


def test_a_wrong_shape_comes_with_what_is_right() -> None:
    with pytest.raises(
        DataError, match=r"the slope of 2003 margins has shape \(\); functions get an array and return one"
    ):
        CustomLoss(HINGE[0], lambda t: -1.0)


def test_a_loss_too_steep_for_the_grid_is_told_of_it() -> None:
    steep: list[Any] = [lambda t: np.exp(-50.0 * t), lambda t: -50.0 * np.exp(-50.0 * t)]
    with pytest.raises(DataError, match=r"the value at -14.22 is inf; the parameter grid, now \(-30.0, 30.0\), says"):
        CustomLoss(*steep)
    assert CustomLoss(*steep, grid=(-10.0, 10.0)).value(0.0) == 1.0
    with pytest.raises(DataError, match=r"the value at -1e\+08 is nan$"):  # no grid would help there
        CustomLoss(lambda t: np.where(t < -1e7, np.nan, 1.0), np.zeros_like)


@pytest.mark.parametrize("grid", [7, None, (1.0,), (-1.0, 0.0, 1.0), "ab", [[-1.0], [1.0]]])
def test_a_grid_of_another_kind_is_refused(grid: Any) -> None:
    with pytest.raises(ValueError, match="grid must be two numbers around 0, not"):
        CustomLoss(*HINGE, grid=grid)


def test_functions_of_a_users_may_write_into_what_they_get() -> None:
    def value(t: Any) -> Any:
        t *= -1.0
        t += 1.0
        return np.maximum(t, 0.0, out=t)

    def slope(t: Any) -> Any:
        t[:] = np.where(t < 1.0, -1.0, 0.0)
        return t

    writing, plain, t = CustomLoss(value, slope), custom_hinge(), T.copy()
    np.testing.assert_array_equal(writing.value(t), plain.value(T))
    np.testing.assert_array_equal(writing.derivative(t), plain.derivative(T))
    np.testing.assert_array_equal(t, T)


@pytest.mark.parametrize("method", ["value", "derivative"])
def test_methods_of_a_class_may_not(method: str) -> None:
    class Writing(OwnHinge):
        pass

    def written(self: Any, t: Any) -> Any:
        answer = getattr(OwnHinge, method)(self, t)
        np.copyto(t, answer)
        return answer

    setattr(Writing, method, written)
    with pytest.raises(DataError, match="writes into the array that it gets; work on a copy of it"):
        margin_loss(Writing())
