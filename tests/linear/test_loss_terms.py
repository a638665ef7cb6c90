"""Terms of any margin loss: costs, duals, feasible points and intercepts, by definition and by search."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from maxmargin.errors import DataError
from maxmargin.losses import CustomLoss, Exponential, Hinge, Logistic, MarginLoss, SquaredHinge, margin_loss
from maxmargin.solvers.linear.intercept import best_intercept
from maxmargin.terms import LossTerms, Terms, hinge, hinges_only, insensitive, margin_terms, squared_hinge

RNG = np.random.default_rng(4)
N = 14
SIGN = np.where(RNG.random(N) < 0.4, 1.0, -1.0)
C = RNG.uniform(0.2, 3.0, N)
F = 2.0 * RNG.normal(size=N)

SQUARE = CustomLoss(lambda t: (1.0 - t) ** 2, lambda t: 2.0 * (t - 1.0), lambda t: np.full_like(t, 2.0), "square")
HUBER = CustomLoss(
    lambda t: np.where(t < 0.0, 0.5 - t, 0.5 * np.maximum(1.0 - t, 0.0) ** 2),
    lambda t: np.clip(t - 1.0, -1.0, 0.0),
    lambda t: np.where((t > 0.0) & (t < 1.0), 1.0, 0.0),
    name="huber",
)
LOSSES = pytest.mark.parametrize("loss", [Logistic(), Logistic(2.0), Exponential(), SQUARE, HUBER], ids=repr)


def terms_of(loss: MarginLoss, sign: np.ndarray = SIGN, c: np.ndarray = C) -> LossTerms:
    terms = margin_terms(loss, sign, c)
    assert isinstance(terms, LossTerms)
    return terms


@LOSSES
def test_costs_and_slopes_are_those_of_the_loss(loss: MarginLoss) -> None:
    terms = terms_of(loss)
    np.testing.assert_allclose(terms.cost(F), C * loss.value(SIGN * F), rtol=1e-14)
    h = 1e-6
    slope = (terms.cost(F + h) - terms.cost(F - h)) / (2 * h)
    np.testing.assert_allclose(-terms.beta(terms.multipliers(F)), slope, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(terms.curvature(F), C * loss.curvature(SIGN * F), rtol=1e-14)


@LOSSES
def test_fenchel_and_young(loss: MarginLoss) -> None:
    """``cost(f) + sum_i beta_i f_i >= gain(a)`` for all points of the box, with equality at the multipliers."""
    terms = terms_of(loss)
    low, high = np.maximum(terms.lower, -5.0), np.minimum(terms.upper, 5.0)
    for _ in range(50):
        a = low + (high - low) * RNG.random(low.shape)
        assert terms.cost(F).sum() + terms.beta(a) @ F >= terms.gain(a) - 1e-12
    best = terms.multipliers(F)
    assert terms.cost(F).sum() + terms.beta(best) @ F == pytest.approx(terms.gain(best), rel=1e-12)


@LOSSES
@pytest.mark.parametrize("share", [1e-3, 0.3, 1.0])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_balanced_point_is_feasible_and_near(loss: MarginLoss, share: float, sign: float) -> None:
    terms = terms_of(loss)
    low, high = np.maximum(terms.lower, -5.0), np.minimum(terms.upper, 5.0)
    a = np.where(sign * terms.sign > 0, share, 0.3) * (low + (high - low) * RNG.random(low.shape))
    found = terms.balanced(a)
    assert abs(terms.beta(found).sum()) <= 1e-12 * np.abs(found).sum()
    assert ((found >= terms.lower - 1e-15) & (found <= terms.upper + 1e-15)).all()
    assert np.abs(found - a).sum() <= 2 * abs(terms.beta(a).sum()) + 1e-12
    assert np.isfinite(terms.gain(found))


def test_balancing_keeps_saturated_variables_in_place() -> None:
    """The others share in proportion to their room."""
    terms = terms_of(HUBER, np.array([1.0, 1.0, -1.0, -1.0]), np.ones(4))
    found = terms.balanced(np.array([[1.0], [0.9], [0.9], [0.8]]))
    assert found.ravel() == pytest.approx([1.0, 0.85, 0.95, 0.9])
    # where there is no room at all the heavier class is scaled down
    found = terms.balanced(np.array([[1.0], [1.0], [0.0], [1.0]]))
    assert found.ravel() == pytest.approx([0.5, 0.5, 0.0, 1.0])


@pytest.mark.parametrize("base", [2.0, 10.0])
def test_points_on_the_bound_have_a_finite_gain(base: float) -> None:
    """``(c / log base) / c`` may be above ``1 / log base`` by rounding, where the conjugate is infinite."""
    c = np.random.default_rng(0).uniform(1e-3, 1e3, 5000)
    terms = terms_of(Logistic(base), np.ones(5000), c)
    a = terms.multipliers(np.full(5000, -1e4))
    assert (-a[:, 0] / c < Logistic(base).slopes[0]).any()  # so it is
    assert terms.gain(a) == pytest.approx(0.0, abs=1e-9)
    assert terms.gain(terms.upper) == pytest.approx(0.0, abs=1e-9)


def test_errors_cost_what_a_score_of_zero_costs_and_never_more_than_the_loss() -> None:
    scores = np.array([-2.0, -0.5, 0.0, 0.5, 2.0])
    for loss in (Logistic(), Logistic(2.0), Exponential()):
        terms = terms_of(loss, np.ones(5), np.full(5, 3.0))
        at_zero = 3.0 * float(loss.value(0.0))
        assert terms.wrong(scores).tolist() == pytest.approx([at_zero, at_zero, at_zero, 0.0, 0.0])
        assert (terms.wrong(scores) <= terms.cost(scores) + 1e-15).all()
    rising = CustomLoss(lambda t: (t + 1.0) ** 2, lambda t: 2.0 * (t + 1.0))
    assert terms_of(rising, np.ones(5), np.ones(5)).wrong(scores).tolist() == pytest.approx([1.0, 0.25, 1.0, 0.0, 0.0])


@LOSSES
def test_the_best_intercept_is_that_of_a_search(loss: MarginLoss) -> None:
    terms = terms_of(loss)
    for k in range(20):
        rng = np.random.default_rng(k)
        f = rng.normal(size=N) * 10.0 ** rng.integers(-3, 2) + 3.0 * rng.normal()
        b = best_intercept(terms, f)

        def value(b: float, f: np.ndarray = f) -> float:
            return float(terms.cost(f + b).sum())

        found = minimize_scalar(value, bracket=(b - 1.0, b + 1.0), method="brent", tol=1e-12)
        assert b == pytest.approx(found.x, rel=1e-6, abs=1e-6)
        assert value(b) <= found.fun * (1 + 1e-14)
        slope = terms.beta(terms.multipliers(f + b))
        assert abs(slope.sum()) <= 1e-12 * np.abs(slope).sum()


@LOSSES
@pytest.mark.parametrize("total", [-0.7, 0.4])
def test_the_best_intercept_with_a_total(loss: MarginLoss, total: float) -> None:
    terms = terms_of(loss)
    b = best_intercept(terms, F, total)
    found = minimize_scalar(lambda b: terms.cost(F + b).sum() + total * b, bracket=(b - 1.0, b + 1.0), tol=1e-12)
    assert b == pytest.approx(found.x, abs=1e-6)


@pytest.mark.parametrize("loss", [Logistic(), Exponential()], ids=repr)
@pytest.mark.parametrize("size", [1e3, 1e6, 1e9])
def test_scores_of_any_size_have_a_best_intercept(loss: MarginLoss, size: float) -> None:
    """Of one row of each sign minus the mean of the scores is one; also where all losses are too large for floats."""
    terms = terms_of(loss, np.array([1.0, -1.0]), np.ones(2))
    for f in ([size, 3 * size], [-size, size], [3 * size, -size], [size, -3 * size], [-3 * size, -size]):
        scores = np.array(f)
        b = best_intercept(terms, scores)
        best = terms.cost(scores - scores.mean()).sum()
        assert terms.cost(scores + b).sum() <= best * (1.0 + 1e-9) + 1e-12
        if best == np.inf:
            assert b == pytest.approx(-scores.mean(), abs=1e-6 * size)


@LOSSES
def test_one_sign_alone_still_gives_a_number(loss: MarginLoss) -> None:
    for sign in (1.0, -1.0):
        terms = terms_of(loss, np.full(3, sign), np.ones(3))
        b = best_intercept(terms, np.zeros(3))
        assert np.isfinite(b)
        assert terms.cost(np.full(3, b)).sum() == pytest.approx(0.0, abs=1e-9)


def test_the_best_intercept_of_a_loss_with_a_kink() -> None:
    own = CustomLoss(lambda t: np.maximum(0.0, 1.0 - t), lambda t: np.where(t < 1.0, -1.0, 0.0))
    for k in range(10):
        f = np.random.default_rng(k).normal(size=N)
        b = best_intercept(terms_of(own), f)
        exact = hinge(SIGN, C)
        assert exact.cost(f + b).sum() == pytest.approx(exact.cost(f + best_intercept(exact, f)).sum(), rel=1e-9)


def test_hinges_stay_hinges() -> None:
    margin = RNG.uniform(0.5, 2.0, N)
    for loss, make in ((Hinge(), hinge), (SquaredHinge(), squared_hinge)):
        for given in (None, margin):
            terms, expected = margin_terms(loss, SIGN, C, given), make(SIGN, C, 1.0 if given is None else given)
            assert isinstance(terms, Terms)
            assert all(np.array_equal(one, other) for one, other in zip(terms, expected))
            assert hinges_only(terms, "x", "y") is terms
    with pytest.raises(DataError, match=r"wanted margins are for the hinge and its square, not for Logistic\(\)"):
        margin_terms(margin_loss("logistic"), SIGN, C, margin)
    with pytest.raises(DataError, match=r"^SVM: newt is for the hinge loss, its kin and their squares, not for Expon"):
        hinges_only(terms_of(Exponential()), "SVM", "newt")


def by_sorting(terms: Terms, scores: np.ndarray, total: float) -> float:
    """The best intercept by all knots in their order."""
    knots = (terms.sign * terms.margin - scores[:, None]).ravel()
    order = np.argsort(knots)
    knots = knots[order]
    start = total - terms.upper[terms.sign > 0.0].sum()
    rising = start + np.cumsum(terms.upper.ravel()[order])
    tiny = 1e-12 * terms.upper.sum()
    ends = [0 if start >= -tiny else 1 + np.searchsorted(rising, -tiny)]
    ends.append(0 if start > tiny else 1 + np.searchsorted(rising, tiny, side="right"))
    low, high = (knots[min(max(k - 1, 0), len(knots) - 1)] for k in ends)
    return float(0.5 * (low + high))


@pytest.mark.parametrize("n", [1, 2, 31, 33, 300, 3000])
@pytest.mark.parametrize("kind", ["spread", "tied", "equal", "of all sizes", "close"])
def test_the_best_intercept_of_hinges_is_found_without_sorting(n: int, kind: str) -> None:
    for k in range(12):
        rng = np.random.default_rng(k)
        scores = {
            "spread": lambda n, rng=rng: rng.normal(size=n) * 10.0 ** rng.integers(-8, 8),
            "tied": lambda n, rng=rng: rng.integers(-3, 4, n) / 2.0,
            "equal": np.zeros,
            "of all sizes": lambda n, rng=rng: rng.choice([-1.0, 1.0], n) * np.exp(60.0 * rng.normal(size=n)),
            "close": lambda n, rng=rng: 1e-13 * rng.normal(size=n),
        }[kind](n)
        c = np.ones(n) if k % 2 else rng.random(n) + 0.1
        total = 0.0 if k % 3 else 0.3 * c.sum() * rng.normal()
        signs = np.where(rng.random(n) < [0.5, 0.1, 1.0, 0.0][k % 4], 1.0, -1.0)
        for terms in (hinge(signs, c), insensitive(rng.normal(size=n), c, 0.1)):
            assert best_intercept(terms, scores, total) == by_sorting(terms, scores, total)


@pytest.mark.parametrize("seed", range(20))
def test_light_rows_count_beside_heavy_ones(seed: int) -> None:
    """Heavy rows balance one another over an interval of intercepts, within which the light ones say which is best."""
    rng = np.random.default_rng(seed)
    n = 200
    heavy = np.where(np.arange(n) % 2, 1.0, -1.0)
    light = np.where(rng.random(31) < 0.6, 1.0, -1.0)
    terms = hinge(np.r_[heavy, light], np.r_[np.full(n, 1e8), np.full(31, 10.0 ** rng.integers(-4, 2))])
    scores = np.r_[3.0 * heavy, rng.normal(size=31)]
    order = rng.permutation(n + 31)
    b = best_intercept(terms.of_rows(order), scores[order])
    assert -2.0 <= b <= 2.0
    candidates = np.r_[-2.0, 2.0, np.clip(light - scores[n:], -2.0, 2.0)]
    best = min(terms.of_rows(np.arange(n, n + 31)).cost(scores[n:] + z).sum() for z in candidates)
    assert terms.of_rows(np.arange(n, n + 31)).cost(scores[n:] + b).sum() == pytest.approx(best, rel=1e-9)
