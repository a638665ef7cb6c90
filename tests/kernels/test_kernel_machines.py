"""Kernel machines as estimators: optima of the nu forms, identities, scikit-learn beside them, wrong inputs."""

from __future__ import annotations

import pickle
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import datasets
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, SkipTestWarning
from sklearn.metrics import pairwise
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC, SVR, NuSVC, NuSVR
from sklearn.svm import OneClassSVM as OtherOneClass
from sklearn.utils.estimator_checks import check_estimator

from maxmargin import OneClassSVM, SVMClassifier, SVMRegressor, load_model, save_model
from maxmargin._kernel_machine import canonical
from maxmargin._notes import tell_apart_by_nu
from maxmargin.errors import DataError
from maxmargin.solvers.kernel import automatic
from maxmargin.status import Status

RNG = np.random.default_rng(5)
X = RNG.normal(size=(50, 3)) * [1.0, 3.0, 0.3] + 0.5
SIGN = np.where(X[:, 0] - 0.2 * X[:, 1] ** 2 + 0.7 * RNG.normal(size=50) > -1.0, 1.0, -1.0)
VALUES = np.sin(X[:, 0]) + X[:, 2] + 0.3 * RNG.normal(size=50)
WEIGHT = RNG.uniform(0.5, 2.0, 50)
TIGHT: dict[str, Any] = dict(tol=1e-12, max_passes=5000)


def minimum(Q: Any, linear: Any, A: Any, b: Any, upper: Any, eps: float = 1e-11) -> float:
    """``min 1/2 a'Qa + linear'a`` with ``A a = b`` and ``0 <= a <= upper``, by an interior point method."""
    import piqp

    solver = piqp.DenseSolver()
    for name in ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"):
        setattr(solver.settings, name, eps)
    solver.setup(Q, linear, A=np.atleast_2d(A), b=np.atleast_1d(b), x_l=np.zeros(len(Q)), x_u=upper)
    assert solver.solve() == piqp.PIQP_SOLVED
    a = np.asarray(solver.result.x)
    return float(0.5 * a @ Q @ a + linear @ a)


def rbf(gamma: float = 0.3) -> Any:
    return pairwise.rbf_kernel(X, gamma=gamma)


SOLVERS = pytest.mark.parametrize("solver", ["block_smo", "interior_point"])


@SOLVERS
@pytest.mark.parametrize("nu", [0.15, 0.5, 0.8])
def test_the_optimum_of_nu_for_two_classes(nu: float, solver: str) -> None:
    K = rbf()
    model = SVMClassifier(nu=nu, kernel="rbf", gamma=0.3, solver=solver, **TIGHT).fit(X, SIGN, WEIGHT)
    half = 0.5 * nu * WEIGHT.sum()
    sides = np.array([SIGN > 0, SIGN < 0], float)
    best = -minimum(K * np.outer(SIGN, SIGN), np.zeros(50), sides, [half, half], WEIGHT)
    found = model.certificate_
    assert found.status.ok
    assert found.primal == pytest.approx(best, rel=1e-7)
    assert found.dual <= best + 1e-9 * abs(best)
    # the margin is 1 after scaling, and the objective written out gives the primal value
    beta = np.zeros(50)
    beta[model.support_] = model.dual_coef_[0]
    f = model.decision_function(X)
    rho = half / np.abs(beta).sum() * 2.0  # sum_i a_i = nu sum_i s_i before scaling by 1/rho
    primal = 0.5 * rho**2 * beta @ K @ beta + rho * WEIGHT @ np.maximum(1.0 - SIGN * f, 0.0) - rho * 2.0 * half
    assert primal == pytest.approx(best, rel=1e-6)
    # what nu bounds
    share = WEIGHT / WEIGHT.sum()
    assert share @ (SIGN * f < 1.0 - 1e-6) <= nu + 1e-9
    assert share[model.support_].sum() >= nu - 1e-9


@SOLVERS
@pytest.mark.parametrize("nu", [0.2, 0.6, 1.0])
def test_the_optimum_of_nu_for_values(nu: float, solver: str) -> None:
    K, C = rbf(), 3.0
    model = SVMRegressor(C=C, nu=nu, kernel="rbf", gamma=0.3, solver=solver, **TIGHT).fit(X, VALUES, WEIGHT)
    Q = np.block([[K, -K], [-K, K]])
    half = 0.5 * C * nu * WEIGHT.sum()
    sides = np.kron(np.eye(2), np.ones(50))
    best = -minimum(Q, np.r_[-VALUES, VALUES], sides, [half, half], C * np.r_[WEIGHT, WEIGHT])
    assert model.certificate_.primal == pytest.approx(best, rel=1e-7)
    error = np.abs(VALUES - model.predict(X))
    beta = np.zeros(50)
    beta[model.support_] = model.dual_coef_[0]
    tube = C * WEIGHT @ (nu * model.epsilon_ + np.maximum(error - model.epsilon_, 0.0))
    assert 0.5 * beta @ K @ beta + tube == pytest.approx(best, rel=1e-6)
    if nu < 1.0:
        assert WEIGHT @ (error > model.epsilon_ + 1e-6) <= nu * WEIGHT.sum() + 1e-9


@SOLVERS
@pytest.mark.parametrize("nu", [0.05, 0.5, 1.0])
def test_the_optimum_of_one_class(nu: float, solver: str) -> None:
    K = rbf()
    model = OneClassSVM(nu, gamma=0.3, solver=solver, **TIGHT).fit(X, sample_weight=WEIGHT)
    total = nu * WEIGHT.sum()
    best = -minimum(K, np.zeros(50), np.ones(50), total, WEIGHT)
    assert model.certificate_.primal == pytest.approx(best, rel=1e-7)
    assert model.dual_coef_.sum() == pytest.approx(total)
    scores = model.score_samples(X)
    beta = model.dual_coef_[0]
    primal = 0.5 * beta @ K[np.ix_(model.support_, model.support_)] @ beta - model.offset_ * total
    assert primal + WEIGHT @ np.maximum(model.offset_ - scores, 0.0) == pytest.approx(best, rel=1e-6)
    assert WEIGHT @ (model.decision_function(X) < -1e-6) <= total + 1e-9
    np.testing.assert_array_equal(model.predict(X), np.where(model.decision_function(X) >= 0, 1, -1))


@pytest.mark.parametrize("name", ["linear", "rbf", "poly"])
def test_beside_scikit_learn(name: str) -> None:
    same: dict[str, Any] = dict(kernel=name, gamma=0.2, degree=2, coef0=1.0)
    close: dict[str, Any] = dict(rtol=0, atol=2e-3)
    for C in (0.1, 10.0):
        mine, other = SVMClassifier(C, **same, **TIGHT).fit(X, SIGN), SVC(C=C, **same, tol=1e-7).fit(X, SIGN)
        np.testing.assert_allclose(mine.decision_function(X), other.decision_function(X), **close)
        value, its = SVMRegressor(C, **same, **TIGHT).fit(X, VALUES), SVR(C=C, **same, tol=1e-7).fit(X, VALUES)
        np.testing.assert_allclose(value.predict(X), its.predict(X), **close)
        tube = SVMRegressor(C, nu=0.37, **same, **TIGHT).fit(X, VALUES)
        np.testing.assert_allclose(
            tube.predict(X), NuSVR(C=C, nu=0.37, **same, tol=1e-7).fit(X, VALUES).predict(X), **close
        )
    shares, theirs = SVMClassifier(nu=0.77, **same, **TIGHT).fit(X, SIGN), NuSVC(nu=0.77, **same, tol=1e-7).fit(X, SIGN)
    np.testing.assert_allclose(shares.decision_function(X), theirs.decision_function(X), **close)
    one, its = OneClassSVM(0.3, **same, **TIGHT).fit(X), OtherOneClass(nu=0.3, **same, tol=1e-7).fit(X)
    scale = float(np.abs(its.score_samples(X)).max())
    np.testing.assert_allclose(one.decision_function(X), its.decision_function(X), rtol=0, atol=1e-4 * scale)


def test_support_vectors_as_arrays() -> None:
    model = SVMClassifier(C=2.0, kernel="rbf", gamma=0.3, **TIGHT).fit(X, SIGN)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    assert model.dual_coef_.shape == (1, len(model.support_))
    assert model.n_support_.sum() == len(model.support_)
    np.testing.assert_array_equal(
        model.n_support_, [(SIGN[model.support_] == -1).sum(), (SIGN[model.support_] == 1).sum()]
    )
    by_hand = pairwise.rbf_kernel(X, model.support_vectors_, gamma=0.3) @ model.dual_coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), by_hand, atol=1e-12)
    assert not hasattr(model, "coef_")
    assert not hasattr(model.set_params(kernel="linear").fit(X, SIGN), "support_vectors_")


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_several_classes(multi_class: Any) -> None:
    rows, classes = datasets.load_iris(return_X_y=True)
    names = np.array(["LL", "HH", "MM"])[classes]
    model = SVMClassifier(5.0, kernel="rbf", multi_class=multi_class, tol=1e-8).fit(rows, names)
    assert model.score(rows, names) >= 0.97
    assert model.decision_function(rows).shape == (150, 3)
    by_number = clone(model).fit(rows, classes)
    np.testing.assert_array_equal(np.array(["LL", "HH", "MM"])[by_number.predict(rows)], model.predict(rows))
    if multi_class == "ovo":
        np.testing.assert_array_equal(SVC(C=5.0, tol=1e-8).fit(rows, names).predict(rows), model.predict(rows))
    with pytest.raises(DataError, match=r"nu=0\.7 is not feasible for 'HH' against the rest: at most 0\.6666"):
        SVMClassifier(nu=0.7).fit(rows, names)


MODELS = [
    SVMClassifier(3.0, kernel="rbf", gamma=0.3, **TIGHT),
    SVMClassifier(3.0, kernel="poly", degree=2, coef0=1.0, penalize_intercept=True, **TIGHT),
    SVMClassifier(3.0, kernel="rbf", fit_intercept=False, loss="squared_hinge", **TIGHT),
    SVMClassifier(nu=0.3, kernel="rbf", **TIGHT),
    SVMRegressor(3.0, kernel="rbf", gamma="auto", **TIGHT),
    SVMRegressor(3.0, kernel="cosine", loss="squared_epsilon_insensitive", **TIGHT),
    SVMRegressor(3.0, nu=0.3, kernel="rbf", **TIGHT),
    OneClassSVM(0.3, **TIGHT),
]


def scores(model: Any, rows: Any) -> Any:
    return model.predict(rows) if isinstance(model, SVMRegressor) else model.decision_function(rows)


def target(model: Any) -> Any:
    return VALUES if isinstance(model, SVMRegressor) else SIGN


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_identities(model: Any) -> None:
    """Copies are weights, order does not matter, sparse is dense, values of the kernel are the kernel."""
    y, close = target(model), dict(rtol=0, atol=1e-5)
    counts = np.arange(50) % 3
    weighted = scores(clone(model).fit(X, y, sample_weight=counts), X)
    repeated = clone(model).fit(np.repeat(X, counts, 0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted, scores(repeated, X), **close)
    plain = clone(model).fit(X, y)
    order = RNG.permutation(50)
    np.testing.assert_array_equal(scores(plain, X), scores(clone(model).fit(X[order], y[order]), X))
    for rows in (sp.csr_matrix(X), X.astype(np.float32).astype(np.float64), np.asfortranarray(X)):
        atol = 1e-4 if isinstance(rows, np.ndarray) and not np.array_equal(rows, X) else 1e-6
        np.testing.assert_allclose(scores(plain, X), scores(clone(model).fit(rows, y), rows), rtol=0, atol=atol)
    K = plain.kernel_.block(X, X)
    given = clone(model).set_params(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(scores(plain, X), scores(given, K), **close)
    assert given.support_vectors_.shape == (len(given.support_), 0)
    called = clone(model).set_params(kernel=plain.kernel_.block).fit(X, y)
    np.testing.assert_allclose(scores(plain, X), scores(called, X), **close)
    again = pickle.loads(pickle.dumps(plain))
    np.testing.assert_array_equal(scores(plain, X), scores(again, X))


def test_scaled_data_with_the_gamma_that_follows() -> None:
    for model in (SVMClassifier(kernel="rbf", **TIGHT), SVMRegressor(kernel="rbf", **TIGHT), OneClassSVM(**TIGHT)):
        small, large = clone(model).fit(X, target(model)), clone(model).fit(1e4 * X, target(model))
        np.testing.assert_allclose(scores(small, X), scores(large, 1e4 * X), atol=1e-6)


def test_margin_and_class_weights() -> None:
    """A wanted margin per row, and factors of classes, against a general solver."""
    K, margin = rbf(), RNG.uniform(0.5, 2.0, 50)
    model = SVMClassifier(2.0, kernel="rbf", gamma=0.3, class_weight={1.0: 3.0}, **TIGHT)
    model.fit(X, SIGN, WEIGHT, margin)
    upper = 2.0 * WEIGHT * np.where(SIGN > 0, 3.0, 1.0)
    best = -minimum(K * np.outer(SIGN, SIGN), -margin, SIGN, 0.0, upper)
    assert model.certificate_.primal == pytest.approx(best, rel=1e-7)


def test_a_large_C_and_noise() -> None:
    """At C = 1e5 the accuracy must not fall apart."""
    rng = np.random.default_rng(5)
    rows = np.vstack([rng.normal(size=(30, 4)), rng.normal(size=(30, 4)) + 0.7])
    y = np.repeat([0, 1], 30)
    K = pairwise.rbf_kernel(rows, gamma=0.01)
    sign = 2.0 * y - 1.0
    unit = 1e5
    best = -minimum(unit * K * np.outer(sign, sign), -np.ones(60), sign, 0.0, np.ones(60), 1e-8) * unit
    model = SVMClassifier(1e5, kernel="rbf", gamma=0.01, tol=1e-7).fit(rows, y)
    assert model.certificate_.primal == pytest.approx(best, rel=1e-5)
    assert model.score(rows, y) == pytest.approx(SVC(C=1e5, gamma=0.01, tol=1e-6).fit(rows, y).score(rows, y), abs=0.02)


def test_two_points_with_a_huge_common_coordinate() -> None:
    """The fit ends, with the closed form or a warning."""
    points = [(1, 90001), (2, 90001)]
    k = [[(Fraction(1, 2) * sum(a * b for a, b in zip(p, q, strict=True))) ** 2 for q in points] for p in points]
    alpha = float(Fraction(2) / (k[0][0] + k[1][1] - 2 * k[0][1]))
    rows = np.array(points, float)
    model = SVMClassifier(kernel="poly", degree=2, gamma=0.5)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ConvergenceWarning)
        model.fit(rows, [0, 1])
    if not said:
        np.testing.assert_allclose(model.decision_function(rows), [-1.0, 1.0], atol=1e-2)
        assert model.dual_coef_[0].max() == pytest.approx(alpha, rel=1e-2)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_close_points_far_from_the_origin(kind: Any) -> None:
    rows = np.array([[10000.0, 5.0], [10001.0, 5.0], [10000.5, 5.5], [10003.0, 4.0]], np.float32)
    shift = np.array([10000.0, 5.0], np.float32)
    far = SVMClassifier(kernel="rbf", gamma=1.0, tol=1e-9).fit(kind(rows), [0, 1, 0, 1])
    near = SVMClassifier(kernel="rbf", gamma=1.0, tol=1e-9).fit(rows - shift, [0, 1, 0, 1])
    np.testing.assert_allclose(far.decision_function(kind(rows)), near.decision_function(rows - shift), atol=1e-3)
    K = far.kernel_.block(kind(rows), kind(rows))
    exact = np.exp(-((rows[:, None].astype(float) - rows[None].astype(float)) ** 2).sum(-1))
    np.testing.assert_allclose(K, exact, atol=1e-4)
    assert K.max() <= 1.0


def test_values_of_a_kernel_at_prediction() -> None:
    rows = np.array([[0, 1], [1, 0], [1, 1], [4, 5], [5, 4], [5, 5]], float)
    test = np.array([[0, 0], [6, 6], [1, 2.0]])
    y = np.repeat([0, 1], 3)
    model = SVMClassifier(kernel="precomputed").fit(rows @ rows.T, y)
    assert model.predict(test @ rows.T).tolist() == [0, 1, 0]
    with pytest.raises(ValueError, match=r"expected shape \(3, 6\), seen \(3, 3\)"):
        model.predict(test @ test.T)
    with pytest.raises(ValueError, match=r"must be square.*expected shape \(6, 6\), seen \(6, 5\)"):
        SVMClassifier(kernel="precomputed").fit((rows @ rows.T)[:, :5], y)
    assert cross_val_score(SVMClassifier(kernel="precomputed"), rows @ rows.T, y, cv=3).mean() == 1.0


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_a_tube_with_all_targets_in_it(kind: Any, kernel: str) -> None:
    rows = kind(np.array([[0, 2, 0], [1, 0, 0], [0, 0, 3], [1, 0, 0]], float))
    y = np.array([0.02, 0.05, 0.11, 0.14])
    model = SVMRegressor(100.0, kernel=kernel, epsilon=0.1).fit(rows, y)
    assert np.ptp(model.predict(rows)) <= 1e-9
    assert y.max() - 0.1 - 1e-9 <= model.predict(rows)[0] <= y.min() + 0.1 + 1e-9
    assert model.certificate_.primal == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(kernel="rbg"), "kernel must be one of linear, poly, rbf"),
        (dict(kernel="rbf", gamma=0.0), 'gamma must be "scale", "auto" or a positive number, not 0.0'),
        (dict(kernel="rbf", gamma="big"), "gamma must be"),
        (dict(kernel="poly", degree=1.5), "degree must be an integer of at least 0, not 1.5"),
        (dict(kernel="poly", coef0=np.inf), "coef0 must be a finite number"),
        (dict(kernel="rbf", solver="coordinate_ascent"), "solver 'coordinate_ascent' is not for kernel='rbf'"),
        (dict(solver="block_smo"), "solver must be one of"),
        (dict(nu=0.5, solver="coordinate_ascent"), "solver 'coordinate_ascent' is not for nu"),
        (dict(nu=0.0), "nu must be a finite number > 0, not 0.0"),
        (dict(nu=1.5), "nu must be at most 1, not 1.5"),
        (dict(nu=0.5, fit_intercept=False), "nu needs an intercept that is free"),
        (dict(nu=0.5, penalize_intercept=True), "nu needs an intercept that is free"),
        (dict(kernel="rbf", cache_mb=0), "cache_mb must be a finite number > 0"),
        (dict(nu=0.5, loss="squared_hinge"), "nu is for the hinge loss"),
        (dict(kernel=lambda A, B: np.zeros(3)), "the kernel function must return an array of shape"),
        (dict(kernel=lambda A, B: np.full((len(A), len(B)), np.nan)), "not finite real numbers"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",  # functions have no name that stays
)
def test_wrong_options_are_refused_with_one_line(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(")) as error:
        SVMClassifier(**options).fit(X, SIGN)
    assert "\n" not in str(error.value)


def test_values_too_large_to_compute_with() -> None:
    with pytest.raises(DataError, match="the poly kernel has values of up to .*too large to compute with"):
        SVMClassifier(kernel="poly", gamma=1.0).fit(1e60 * X, SIGN)
    with pytest.raises(DataError, match=r"scale X down, or give a smaller gamma \(1e\+50\) or degree \(3\)"):
        SVMClassifier(kernel="poly", gamma=1e50).fit(X, SIGN)
    with pytest.raises(DataError, match=r"; coef0=1e\+300 and degree=3 alone make them so: give smaller ones"):
        SVMClassifier(kernel="poly", coef0=1e300).fit(X, SIGN)
    with pytest.raises(DataError, match="up to 1e\\+308"):
        SVMClassifier(kernel="rbf").fit(np.where(X > 0, 1e308, X), SIGN)


def test_classes_that_no_margin_tells_apart() -> None:
    rows = np.repeat([[0.0], [1.0]], 10, 0)
    with pytest.warns(UserWarning, match="the best margin is 0 and all weights are about 0"):
        model = SVMClassifier(nu=0.5).fit(rows, np.tile([0, 1], 10))
    np.testing.assert_allclose(model.decision_function(rows), 0.0, atol=1e-6)


def test_an_optimum_of_zero_has_a_status_of_its_own(tmp_path: Path) -> None:
    """No gap is a small share of it: "converged" would promise what the figures beside it deny."""
    rows = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.warns(UserWarning, match="the best margin is 0 and all weights are about 0"):
        model = SVMClassifier(kernel="linear", nu=0.9).fit(np.r_[rows, rows], np.repeat([0, 1], 30))
    outliers = OneClassSVM(kernel="linear").fit(np.r_[rows, -rows])
    assert any("goes through the origin" in note for note in outliers.notes_)
    for each in (model, outliers):
        found = each.certificate_
        assert found.status is Status.ZERO_OPTIMUM
        assert found.relative_gap > each.tol
        assert 0.0 <= found.gap < 1e-8
        assert abs(found.primal) < 1e-8
        save_model(each, tmp_path / "m")
        assert load_model(tmp_path / "m").certificate_ == found


@SOLVERS
@pytest.mark.parametrize("tol", [1e-12, 0.0])
def test_a_gap_of_rounding_beside_another_optimum_is_no_optimum_of_zero(tol: float, solver: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SVMClassifier(nu=0.2, kernel="rbf", solver=solver, tol=tol, max_passes=100_000).fit(X, SIGN)
    found = model.certificate_
    assert found.status is Status.CONVERGED  # no more than rounding is left
    assert found.relative_gap <= 1e-10
    assert found.passes < 100


def test_a_sum_of_problems_has_converged_if_those_with_an_optimum_have() -> None:
    rows = np.random.default_rng(0).normal(size=(30, 3))
    data, y = np.r_[rows, rows, rows + 2.0], np.repeat([0, 1, 2], 30)
    with pytest.warns(UserWarning, match="the best margin is 0"):
        model = SVMClassifier(kernel="linear", nu=0.9, multi_class="ovo").fit(data, y)
    assert model.certificate_.status is Status.CONVERGED
    assert model.certificate_.relative_gap <= model.tol


def test_a_margin_of_rounding_is_none() -> None:
    """Where the optimum is 0 a threshold is one of rounding, and nothing is to be divided by it."""
    beta, thresholds = np.array([1e-9, -1e-9]), np.array([-1e-9, 1e-9])
    same, _, apart = canonical(beta, thresholds, zero=True)
    assert same is beta
    assert not apart
    found, _, apart = canonical(beta, thresholds)
    np.testing.assert_allclose(found, [1.0, -1.0])
    assert apart


@pytest.mark.parametrize(
    ("multi_class", "which"),
    [("ovo", "for 'a' against 'b'"), ("ovr", "for 'a' against the rest, for 'b' against the rest")],
)
def test_classes_that_no_margin_tells_apart_are_named_once(multi_class: str, which: str) -> None:
    """Where the third class is far away; a fit of well-separated classes says nothing of the sort."""
    rows = np.random.default_rng(0).normal(size=(30, 3))
    data, y = np.r_[rows, rows, rows + 20.0], np.repeat(["a", "b", "c"], 30)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = SVMClassifier(kernel="linear", nu=0.5, multi_class=multi_class).fit(data, y)
    said = (
        f"with nu=0.5 the classes cannot be told apart {which}: the best margin is 0 there and all weights are about 0; "
        "raise nu or use another kernel"
    )
    assert [str(each.message) for each in caught] == [said]
    assert said in model.notes_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = model.fit(np.r_[rows, rows + 20.0 * np.eye(3)[0], rows + 20.0 * np.eye(3)[1]], y)
    assert not any("told apart" in note for note in again.notes_)


def test_few_of_many_such_problems_are_named() -> None:
    assert "apart for 0, for 1, for 2 and 2 more: the best margin is 0 there" in tell_apart_by_nu(
        0.1, [f" for {k}" for k in range(5)]
    )


@pytest.mark.parametrize("options", [{}, {"loss": "logistic"}, {"solver": "interior_point"}, {"nu": 0.3}])
def test_features_too_small_for_a_gamma(options: Any) -> None:
    for size in (1e-160, 1e-170):
        with pytest.raises(DataError, match="gamma=inf: .*; scale X up, or give a smaller gamma"):
            SVMClassifier(kernel="rbf", **options).fit(size * X, SIGN)
    with pytest.raises(DataError, match=r"gamma=1e\+308: .*smaller gamma"):
        SVMClassifier(kernel="rbf", gamma=1e308, **options).fit(X, SIGN)
    small = SVMClassifier(kernel="rbf", tol=1e-9, **options).fit(1e-140 * X, SIGN)
    plain = SVMClassifier(kernel="rbf", tol=1e-9, **options).fit(X, SIGN)
    np.testing.assert_allclose(small.decision_function(1e-140 * X), plain.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("kernel", ["poly", "rbf"])
def test_a_score_that_is_no_number_is_refused(kernel: str) -> None:
    model = SVMClassifier(kernel=kernel).fit(X, SIGN)
    far = np.array([X[0], np.where(np.arange(X.shape[1]) % 2, 1.7e308, -1.7e308)])
    with pytest.raises(DataError, match="SVMClassifier: the values of row 1 are too large to compute its score"):
        model.predict(far)


def test_a_finite_score_that_is_refused_is_said_to_be_large() -> None:
    model = SVMClassifier(fit_intercept=False).fit([[1.0], [-1.0]], [1, -1])
    with pytest.raises(
        DataError, match=r": row 1 has a score of 3e\+305 in size, and sums of scores above 1e\+300 overflow"
    ):
        model.decision_function([[1.0], [-3e305]])
    assert model.decision_function([[1e299]]) == pytest.approx(1e299)


@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("name", ["rbf", "poly", "cosine"])
def test_unscaled_data_at_any_C(name: str, C: float) -> None:
    """No warning, and the tolerance met, on data whose features differ by factors of thousands."""
    rows, y = datasets.load_wine(return_X_y=True)
    model = SVMClassifier(C, kernel=name, tol=1e-6).fit(rows, y == 1)
    assert model.certificate_.relative_gap <= 1e-6
    values = SVMRegressor(C, kernel=name, tol=1e-6).fit(rows, y + 0.1 * RNG.normal(size=len(y)))
    assert values.certificate_.relative_gap <= 1e-6


@pytest.mark.parametrize("nu", [0.1, 0.5])
@pytest.mark.parametrize("name", ["linear", "rbf", "poly"])
def test_unscaled_data_at_any_nu(name: str, nu: float) -> None:
    rows, y = datasets.load_wine(return_X_y=True)
    for model, target in (
        (SVMClassifier(nu=nu, kernel=name, tol=1e-6), y == 1),
        (SVMRegressor(nu=nu, kernel=name, tol=1e-6), y + 0.1 * RNG.normal(size=len(y))),
        (OneClassSVM(nu, kernel=name, tol=1e-6), None),
    ):
        assert model.fit(rows, target).certificate_.relative_gap <= 1e-6


def test_the_choice_of_solver_is_told() -> None:
    easy = SVMClassifier(kernel="rbf").fit(X, SIGN)
    assert (easy.solver_, easy.solver_reason_) == ("block_smo", "it needs few kernel values and converges fast here")
    asked = SVMClassifier(kernel="rbf", solver="interior_point").fit(X, SIGN)
    assert (asked.solver_, asked.solver_reason_) == ("interior_point", "asked for")
    np.testing.assert_allclose(easy.decision_function(X), asked.decision_function(X), atol=0.1)
    noise = np.random.default_rng(6).normal(size=400)
    hard = SVMRegressor(1e7, kernel="poly", degree=2, epsilon=0.01).fit(np.tile(X, (8, 1)) + 0.1, noise)
    assert hard.solver_ == "interior_point"
    assert "block SMO would take" in hard.solver_reason_


def test_grid_search_and_limits() -> None:
    found = GridSearchCV(SVMClassifier(kernel="rbf"), {"C": [0.1, 10.0], "gamma": [0.1, 1.0]}, cv=3).fit(X, SIGN)
    assert found.best_score_ > 0.6
    rows = RNG.normal(size=(1500, 2))
    with pytest.warns(ConvergenceWarning, match="stopped by time limit"):
        model = SVMRegressor(1e9, kernel="rbf", gamma=50.0, tol=1e-12, max_time=0.3).fit(rows, RNG.normal(size=1500))
    assert model.certificate_.seconds < 30.0
    with pytest.warns(ConvergenceWarning, match="stopped by pass limit"):
        SVMClassifier(1e3, kernel="rbf", max_passes=2, tol=1e-12).fit(X, SIGN)


@pytest.mark.parametrize(
    "estimator",
    [
        SVMClassifier(kernel="rbf"),
        SVMRegressor(kernel="rbf"),
        SVMRegressor(nu=0.5, kernel="poly"),
        OneClassSVM(),
        OneClassSVM(kernel="linear"),
        SVMClassifier(kernel="precomputed"),
    ],
    ids=str,
)
def test_the_checks_of_scikit_learn(estimator: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        check_estimator(estimator)


def test_a_seed_that_is_none_is_refused() -> None:
    """Kernel machines need no random numbers, but a parameter is never ignored."""
    for model in (SVMClassifier(kernel="rbf", random_state="odd"), SVMRegressor(kernel="rbf", random_state="odd")):
        with pytest.raises(ValueError, match="'odd' cannot be used to seed"):
            model.fit(X, SIGN)


@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-9])
def test_an_optimum_just_below_0_is_not_0(tol: float) -> None:
    """What the certificate proves to be below 0 is solved to the tolerance, or to rounding, and scaled to margins."""
    r = np.random.default_rng(2)
    points = r.standard_normal((500, 5))
    y = np.where(points[:, 0] + 0.7 * r.standard_normal(500) > 0, 1, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SVMClassifier(nu=0.15, kernel="rbf", gamma=0.02, tol=tol).fit(points, y)
    found = model.certificate_
    assert found.status is Status.CONVERGED
    assert found.primal < 0.0
    assert found.relative_gap <= max(tol, 1e-4)
    assert model.score(points, y) > 0.9
    # the margin is 1, and what nu bounds
    assert 0.0 < np.mean(y * model.decision_function(points) < 1.0 - 1e-3) <= 0.15
    assert len(model.support_) >= 0.15 * 500


@pytest.mark.parametrize("seed", range(3))
def test_interior_point_ends_where_rounding_takes_it_no_further(seed: int) -> None:
    r = np.random.default_rng(seed)
    points = r.standard_normal((300, 6))
    y = np.where(points[:, 0] + points[:, 1] ** 2 + 0.7 * r.standard_normal(300) > 1, 1, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = SVMClassifier(1e6, kernel="rbf", solver="interior_point", tol=0.0).fit(points, y).certificate_
    assert found.status in (Status.STANDSTILL, Status.STALLED)
    assert found.passes < 300
    assert found.relative_gap < 0.01


def test_where_nothing_gets_past_rounding_a_fit_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(automatic, "_LATELY", 10)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 1)), (rng.random(40) < 0.5).astype(float)
    with pytest.warns(ConvergenceWarning, match="stalled"):
        model = SVMRegressor(kernel="rbf", C=1e14).fit(x, y)
    found = model.certificate_
    assert found.status is Status.STALLED
    assert found.passes < 200
    assert model.solver_reason_ == "it goes on where rounding stops the interior point method"
    assert found.dual <= found.primal
