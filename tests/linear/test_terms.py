"""Hinge terms: costs from the definitions, duals from them, intercepts by search."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.solvers.linear.intercept import best_intercept
from maxmargin.solvers.linear.normal_equations import to_zero
from maxmargin.terms import Terms, hinge, insensitive, squared_hinge, squared_insensitive

RNG = np.random.default_rng(3)
N = 12
SIGN = np.where(RNG.random(N) < 0.4, 1.0, -1.0)
TARGET = RNG.normal(size=N)
WEIGHT = RNG.uniform(0.2, 3.0, N)
F = RNG.normal(size=N)
ALL = {
    "hinge": hinge(SIGN, WEIGHT),
    "margins": hinge(SIGN, WEIGHT, RNG.uniform(0.5, 2.0, N)),
    "squared_hinge": squared_hinge(SIGN, WEIGHT),
    "insensitive": insensitive(TARGET, WEIGHT, 0.2),
    "squared_insensitive": squared_insensitive(TARGET, WEIGHT, 0.2),
}


def test_costs_are_those_of_the_definitions() -> None:
    np.testing.assert_allclose(ALL["hinge"].cost(F), WEIGHT * np.maximum(0, 1 - SIGN * F), rtol=1e-14)
    np.testing.assert_allclose(ALL["squared_hinge"].cost(F), WEIGHT * np.maximum(0, 1 - SIGN * F) ** 2, rtol=1e-13)
    error = np.maximum(np.abs(TARGET - F) - 0.2, 0)
    np.testing.assert_allclose(ALL["insensitive"].cost(F), WEIGHT * error, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(ALL["squared_insensitive"].cost(F), WEIGHT * error**2, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", ALL)
def test_fenchel_and_young(name: str) -> None:
    """``cost(f) + sum_i beta_i f_i >= gain(a)`` for all points of the box, with equality at the maximiser."""
    terms = ALL[name]
    top = np.minimum(terms.upper, 5.0)
    for _ in range(50):
        a = top * RNG.random(top.shape)
        assert terms.cost(F).sum() + terms.beta(a) @ F >= terms.gain(a) - 1e-12
    slack = terms.margin - terms.sign * F[:, None]
    best = np.maximum(slack, 0) / terms.ridge if terms.squared else np.where(slack > 0, terms.upper, 0.0)
    assert terms.cost(F).sum() + terms.beta(best) @ F == pytest.approx(terms.gain(best), rel=1e-12)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("share", [0.1, 0.9, 1.0])
def test_a_balanced_point_is_feasible_and_near(name: str, share: float) -> None:
    terms = ALL[name]
    top = np.minimum(terms.upper, 5.0)
    a = np.where(terms.sign > 0, share, 0.3) * top * RNG.random(top.shape)
    found = terms.balanced(a)
    assert abs(terms.beta(found).sum()) <= 1e-12 * found.sum()
    assert (found >= 0).all()
    assert (found <= terms.upper).all()
    assert np.abs(found - a).sum() <= 2 * abs(terms.beta(a).sum()) + 1e-12


def test_a_point_of_one_sign_is_balanced_by_nothing() -> None:
    terms = hinge(np.ones(3), np.ones(3))
    np.testing.assert_array_equal(terms.balanced(np.ones((3, 1))), np.zeros((3, 1)))


@pytest.mark.parametrize("name", ALL)
def test_the_best_intercept_is_a_minimum(name: str) -> None:
    terms = ALL[name]
    for k in range(30):
        f = np.random.default_rng(k).normal(size=N)
        b = best_intercept(terms, f)
        value = terms.cost(f + b).sum()
        others = b + np.concatenate([np.linspace(-3, 3, 301), 1e-4 * np.linspace(-1, 1, 11)])
        assert value <= min(terms.cost(f + c).sum() for c in others) + 1e-12 * max(1.0, value)


@pytest.mark.parametrize("make", [hinge, squared_hinge])
def test_of_many_best_intercepts_the_middle_one_is_taken(make: object) -> None:
    terms: Terms = make(np.array([-1.0, 1.0]), np.ones(2))  # type: ignore[operator]
    # scores -2 and 3: no term is at work for b in [-2, 1]
    assert best_intercept(terms, np.array([-2.0, 3.0])) == pytest.approx(-0.5)


def test_one_sign_alone_still_gives_a_number() -> None:
    for sign in (1.0, -1.0):
        terms = hinge(np.full(3, sign), np.ones(3))
        b = best_intercept(terms, np.array([0.0, 1.0, 2.0]))
        assert np.isfinite(b)
        assert terms.cost(np.array([0.0, 1.0, 2.0]) + b).sum() == pytest.approx(0.0, abs=1e-12)


def test_arrays_are_copied_only_where_they_have_to_be() -> None:
    sign, c = np.array([1.0, -1.0, 1.0]), np.array([1.0, 2.0, 3.0])
    terms = hinge(sign, c)
    assert np.shares_memory(terms.sign, sign)
    assert np.shares_memory(terms.upper, c)
    c.flags.writeable = False
    terms = hinge(sign[::-1], c)
    assert all(values.flags.writeable and values.flags.c_contiguous for values in terms)
    assert terms.sign.ravel().tolist() == [1.0, -1.0, 1.0]
    assert terms.upper.ravel().tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("kind", ALL)
def test_costs_are_the_same_wherever_pieces_are_cut(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ALL[kind].cost(F)
    monkeypatch.setattr("maxmargin.terms._AT_ONCE", 5)
    np.testing.assert_array_equal(ALL[kind].cost(F), whole)


@pytest.mark.parametrize("rows_at_once", [1, 4, 1000])
def test_steps_end_where_the_first_variable_is_0(
    rows_at_once: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("maxmargin.solvers.linear.normal_equations._AT_ONCE", rows_at_once)
    for shape in ((9, 2), (9,), (0, 1)):
        x, dx = rng.random(shape), 3.0 * rng.normal(size=shape)
        ends = [1.0, *(-value / change for value, change in zip(x.flat, dx.flat, strict=True) if change < 0.0)]
        assert to_zero(x, dx) == min(ends)
