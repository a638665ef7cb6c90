"""``dual_coef_`` and ``support_`` of linear machines: the dual point whose value is the certificate's."""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from linear.problems import random_problem
from maxmargin import SVMClassifier, SVMRegressor
from maxmargin.solvers.linear.interior_point import InteriorPoint
from maxmargin.solvers.loop import run_to_tolerance

RNG = np.random.default_rng(21)
X = RNG.normal(size=(80, 4)) + 0.4
SIGN = np.where(X @ [1.0, -1.0, 0.5, 0.0] + RNG.normal(size=80) > 0.3, 1.0, -1.0)
VALUES = X @ [1.0, 2.0, -1.0, 0.0] + RNG.normal(size=80)
WEIGHT = RNG.integers(0, 4, 80).astype(float)
C, EPSILON = 0.7, 0.2


def multipliers(model: Any, n: int = 80, problem: int = 0) -> Any:
    """Signed coefficients of all rows."""
    beta = np.zeros(n)
    beta[model.support_] = model.dual_coef_[problem]
    return beta


def value(beta: Any, loss: str, target: Any, c: Any, rows: Any = X) -> float:
    """Of the dual, by its definition; at an optimum only one of the two multipliers of a value is positive."""
    gain = beta @ target - (EPSILON * np.abs(beta).sum() if "insensitive" in loss else 0.0)
    if "squared" in loss:
        gain -= ((beta**2)[c > 0] / (4.0 * c[c > 0])).sum()
    w = beta @ rows
    return float(gain - 0.5 * w @ w)


@pytest.mark.parametrize("solver", ["coordinate_ascent", "interior_point", "auto"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "epsilon_insensitive", "squared_epsilon_insensitive"])
def test_it_is_feasible_and_has_the_value_of_the_certificate(loss: Any, solver: str) -> None:
    for tol in (1e-2, 1e-8):
        limits: dict[str, Any] = dict(solver=solver, tol=tol, max_passes=20_000, random_state=0)
        if "hinge" in loss:
            model: Any = SVMClassifier(C, loss=loss, **limits).fit(X, SIGN, WEIGHT)
        else:
            model = SVMRegressor(C, epsilon=EPSILON, loss=loss, **limits).fit(X, VALUES, WEIGHT)
        target, c = (SIGN if "hinge" in loss else VALUES), C * WEIGHT
        beta = multipliers(model)
        assert abs(beta.sum()) <= 1e-9 * np.abs(beta).sum()
        if "hinge" in loss:
            assert (beta * SIGN >= 0.0).all()
        if "squared" not in loss:
            assert (np.abs(beta) <= c * (1.0 + 1e-12)).all()
        # of a regression a point on the way may have both multipliers of a row, which costs some epsilon
        rel = 1e-9 if "hinge" in loss or tol < 1e-6 else tol
        assert value(beta, loss, target, c) == pytest.approx(model.certificate_.dual, rel=rel)
        # what is left between the weights, measured and bounded
        w = np.ravel(model.coef_)
        left = float(np.linalg.norm(w - beta @ X))
        assert left == pytest.approx(model.dual_residual_[0], abs=1e-9)
        assert left <= np.sqrt(2.0 * (model.certificate_.gap + 1e-13 * model.certificate_.primal))


@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}, {"penalize_intercept": True}], ids=str)
def test_weights_and_penalised_intercepts_follow_from_it(options: Any) -> None:
    rows, sign = X[:15], SIGN[:15]  # so few that there is no average of the weights
    model = SVMClassifier(C, solver="coordinate_ascent", max_passes=3, tol=0.95, random_state=0, **options).fit(
        rows, sign
    )
    assert model.dual_residual_.tolist() == [0.0]  # there was one evaluation, of one point
    np.testing.assert_allclose(model.dual_coef_ @ rows[model.support_], model.coef_, rtol=1e-12, atol=1e-13)
    if options.get("penalize_intercept"):
        assert model.dual_coef_.sum() == pytest.approx(model.intercept_[0], rel=1e-12)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, lambda rows: rows.astype(np.float32)])
def test_several_problems_share_the_support(multi_class: Any, kind: Any) -> None:
    y = np.digitize(VALUES, [-0.5, 1.0])
    model = SVMClassifier(C, multi_class=multi_class, tol=1e-6).fit(kind(X), y)
    assert model.dual_coef_.shape == (3, len(model.support_))
    assert model.dual_coef_.any(0).all()
    rows = X.astype(np.float32) if kind(X).dtype == np.float32 else X
    left = np.linalg.norm(model.dual_coef_ @ rows[model.support_].astype(float) - model.coef_, axis=1)
    np.testing.assert_allclose(left, model.dual_residual_, rtol=1e-6, atol=1e-9)
    assert (left**2).sum() <= 2.0 * model.certificate_.gap + 1e-12
    np.testing.assert_array_equal(model.n_support_, np.bincount(y[model.support_], minlength=3))
    for problem, (first, second) in enumerate(combinations(range(3), 2)):
        beta, ours = multipliers(model, problem=problem), first if multi_class == "ovo" else problem
        assert (beta[y == ours] >= 0.0).all()
        assert (beta[y != ours] <= 0.0).all()
        if multi_class == "ovo":
            assert not beta[(y != first) & (y != second)].any()


def test_rows_are_those_of_the_data() -> None:
    """Rows of weight 0 are none; of equal ones in a small set there is one, with the multipliers of all."""
    model = SVMClassifier(C, tol=1e-8).fit(X, SIGN, WEIGHT)
    assert (WEIGHT[model.support_] > 0.0).all()
    repeated = clone(model).fit(np.repeat(X, WEIGHT.astype(int), 0), np.repeat(SIGN, WEIGHT.astype(int)))
    first = np.cumsum(WEIGHT.astype(int)) - WEIGHT.astype(int)
    np.testing.assert_array_equal(np.sort(first[model.support_]), np.sort(repeated.support_))
    rows = np.tile(X, (330, 1))  # too many to look for equal ones
    many = SVMClassifier(C / 330, tol=1e-4).fit(rows, np.tile(SIGN, 330))
    assert len(many.support_) > 330
    left = np.linalg.norm(many.dual_coef_ @ rows[many.support_] - many.coef_)
    assert left == pytest.approx(many.dual_residual_[0], abs=1e-9)


def test_no_weights_have_no_support() -> None:
    model = SVMRegressor(epsilon=10.0).fit(X, VALUES)
    assert (model.support_.shape, model.dual_coef_.shape) == ((0,), (1, 0))
    assert model.dual_residual_.tolist() == [0.0]


def test_losses_with_a_derivative_have_one_too() -> None:
    model = SVMClassifier(C, loss="logistic", tol=1e-10).fit(X, SIGN)
    a = multipliers(model) * SIGN / C
    np.testing.assert_allclose(a, 1.0 / (1.0 + np.exp(SIGN * model.decision_function(X))), atol=1e-4)
    np.testing.assert_allclose(model.dual_coef_ @ X[model.support_], model.coef_, atol=1e-4)


def test_a_fit_with_another_kernel_leaves_nothing_behind() -> None:
    model = SVMClassifier(C).fit(X, SIGN)
    assert not {"kernel_", "support_vectors_"} & set(vars(model))
    assert not {"coef_", "dual_residual_"} & set(vars(model.set_params(kernel="rbf").fit(X, SIGN)))
    assert not {"kernel_", "support_vectors_"} & set(vars(model.set_params(kernel="linear").fit(X, SIGN)))


def test_the_best_bound_of_all_passes_counts() -> None:
    """Whatever pass it came from, as after a run cut short."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for passes in (2, 3, 5, 9):
            model = SVMClassifier(50.0, solver="coordinate_ascent", max_passes=passes, tol=1e-12).fit(X, SIGN)
            found = value(multipliers(model), "hinge", SIGN, np.full(80, 50.0))
            assert max(found, 0.0) == pytest.approx(max(model.certificate_.dual, 0.0), rel=1e-9)


def test_few_rows_support_what_an_interior_point_finds() -> None:
    """Variables near a bound are put there: about as many are left as the optimum has."""
    for loss in ("hinge", "insensitive"):
        problem = random_problem(3, loss, "free", 0.1, n=300, d=4)
        task = problem.task(1e-8)
        result = run_to_tolerance(task, InteriorPoint(), max_passes=100)
        beta, scores = result.dual_point.beta, task.scores(result.w)
        error = 1.0 - problem.y * scores if loss == "hinge" else np.abs(problem.y - scores) - 0.3
        assert np.count_nonzero(beta) <= (error > -1e-2).sum()
        assert np.count_nonzero(np.abs(beta) == problem.c) >= (error > 1e-3).sum()


@pytest.mark.parametrize("kernel", ["linear", "poly"])
@pytest.mark.parametrize("loss", ["hinge", "epsilon_insensitive"])
@pytest.mark.parametrize("C", [1.0, 30.0, 1000.0])
def test_at_any_tolerance_about_as_many_rows_support_as_at_the_optimum(C: float, loss: Any, kernel: Any) -> None:
    """Interior points have no variable at a bound; what is left of 0 in them is not to count."""
    rows, noise = RNG.normal(size=(300, 5)), RNG.normal(size=300)
    how: dict[str, Any] = dict(loss=loss, kernel=kernel, solver="interior_point", random_state=0)
    if loss == "hinge":
        machine, target = SVMClassifier(C, **how), np.where(rows[:, 0] + noise > 0.3, 1, -1)
    else:
        machine, target = SVMRegressor(C, epsilon=0.5, **how), rows[:, 0] + noise
    exact = clone(machine).set_params(tol=1e-9).fit(rows, target).support_
    found = machine.fit(rows, target)
    assert found.certificate_.relative_gap <= 1e-3
    assert abs(len(found.support_) - len(exact)) <= 10
    assert len(np.setxor1d(found.support_, exact)) <= 20
    assert abs(found.dual_coef_.sum()) <= 1e-9 * np.abs(found.dual_coef_).sum()
    if kernel == "linear":
        w = (found.dual_coef_ @ rows[found.support_]).ravel()
        gain = found.dual_coef_[0] @ target[found.support_]
        gain -= 0.5 * np.abs(found.dual_coef_).sum() if loss != "hinge" else 0.0
        # of a regression a point may have both multipliers of a row, which costs some epsilon
        lost = gain - 0.5 * w @ w - found.certificate_.dual
        assert -1e-9 <= lost / found.certificate_.dual <= (1e-9 if loss == "hinge" else 1e-3)


@pytest.mark.parametrize("C", [1.0, 100.0])
def test_rows_of_very_unlike_weights_support_as_at_the_optimum(C: float) -> None:
    r = np.random.default_rng(0)
    rows = r.normal(size=(200, 20))
    target = np.where(rows.sum(1) + r.normal(size=200) > 0.0, 1, -1)
    for seed in range(4):
        weight = 10.0 ** np.random.default_rng(seed).uniform(-6.0, 6.0, 200)
        exact = SVMClassifier(C, random_state=0, tol=1e-8).fit(rows, target, weight).support_
        found = SVMClassifier(C, random_state=0, solver="interior_point").fit(rows, target, weight).support_
        assert abs(len(found) - len(exact)) <= 5


def test_no_seed_makes_all_rows_support() -> None:
    r = np.random.default_rng(14)
    rows = r.normal(size=(200, 20))
    target = rows.sum(1) + 0.1 * r.normal(size=200)
    exact = len(SVMRegressor(100.0, tol=1e-8, random_state=0).fit(rows, target).support_)
    for seed in range(12):
        found = SVMRegressor(100.0, random_state=seed).fit(rows, target)
        assert found.certificate_.relative_gap <= 1e-3
        assert len(found.support_) <= exact + 20


def test_few_points_support_a_kernel_machine_of_the_interior_point_method() -> None:
    rows = RNG.normal(size=(300, 5))
    target = np.where((rows**2).sum(1) + RNG.normal(size=300) > 5.0, 1, -1)
    for C in (10.0, 1000.0):
        how: dict[str, Any] = dict(kernel="rbf", gamma=0.05, random_state=0)
        exact = SVMClassifier(C, tol=1e-8, solver="block_smo", **how).fit(rows, target).support_
        found = SVMClassifier(C, solver="interior_point", **how).fit(rows, target).support_
        assert len(found) <= 1.15 * len(exact) + 5
