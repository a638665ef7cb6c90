"""``SVMClassifier`` with the logistic and other smooth losses: against scikit-learn, identities, and what is refused."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import clone
from sklearn.exceptions import SkipTestWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from maxmargin import SVMClassifier
from maxmargin.losses import CustomLoss, Exponential, Hinge, Logistic, SquaredHinge

RNG = np.random.default_rng(12)
X = RNG.normal(size=(70, 4)) + 0.3
F = X @ [1.0, -1.0, 0.5, 0.0] + 0.7 * RNG.normal(size=70)
Y = np.where(F > 0.2, "yes", "no")
THREE = np.digitize(F, [-0.4, 0.9])
WEIGHT = RNG.integers(0, 4, 70)
NEW = RNG.normal(size=(50, 4))
TIGHT: dict[str, Any] = dict(loss="logistic", tol=1e-12)
LBFGS: dict[str, Any] = dict(tol=1e-10, max_iter=10_000)


def same(ours: Any, theirs: Any) -> None:
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(NEW), theirs.predict_proba(NEW), rtol=1e-5, atol=1e-6)
    assert np.array_equal(ours.predict(NEW), theirs.predict(NEW))


@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
def test_it_is_logistic_regression(C: float) -> None:
    same(SVMClassifier(C=C, **TIGHT).fit(X, Y), LogisticRegression(C=C, **LBFGS).fit(X, Y))
    ours = SVMClassifier(C=C, fit_intercept=False, **TIGHT).fit(X, Y)
    same(ours, LogisticRegression(C=C, fit_intercept=False, **LBFGS).fit(X, Y))
    ours = SVMClassifier(C=C, penalize_intercept=True, **TIGHT).fit(X, Y)
    same(ours, LogisticRegression(C=C, solver="liblinear", tol=1e-10, max_iter=10_000).fit(X, Y))


@pytest.mark.parametrize(
    "form", [sp.csr_matrix, lambda X: X.astype(np.float32), lambda X: sp.csr_matrix(X, dtype=np.float32)]
)
def test_other_forms_of_the_rows(form: Any) -> None:
    rows = np.round(8 * X) / 8
    same(SVMClassifier(**TIGHT).fit(form(rows), Y), LogisticRegression(**LBFGS).fit(rows, Y))


def test_weights_of_rows_and_classes() -> None:
    ours = SVMClassifier(**TIGHT).fit(X, Y, WEIGHT)
    same(ours, LogisticRegression(**LBFGS).fit(X, Y, WEIGHT))
    copies = SVMClassifier(**TIGHT).fit(np.repeat(X, WEIGHT, 0), np.repeat(Y, WEIGHT))
    order = RNG.permutation(70)
    permuted = SVMClassifier(**TIGHT).fit(X[order], Y[order], WEIGHT[order])
    for other in (copies, permuted):
        np.testing.assert_array_equal(ours.coef_, other.coef_)
        np.testing.assert_array_equal(ours.intercept_, other.intercept_)
    factor = {"yes": 3.0, "no": 0.5}
    same(
        SVMClassifier(class_weight=factor, **TIGHT).fit(X, Y),
        LogisticRegression(class_weight=factor, **LBFGS).fit(X, Y),
    )
    balanced = LogisticRegression(class_weight="balanced", **LBFGS).fit(X, Y)
    same(SVMClassifier(class_weight="balanced", **TIGHT).fit(X, Y), balanced)


def test_a_base_is_a_factor_on_C() -> None:
    one = SVMClassifier(C=3.0 / np.log(2.0), **TIGHT).fit(X, Y)
    other = SVMClassifier(C=3.0, loss=Logistic(base=2.0), tol=1e-12).fit(X, Y)
    np.testing.assert_allclose(other.coef_, one.coef_, rtol=1e-6)
    np.testing.assert_allclose(other.predict_proba(NEW), one.predict_proba(NEW), rtol=1e-6)
    assert other.certificate_.primal == pytest.approx(one.certificate_.primal, rel=1e-10)


def test_losses_as_objects() -> None:
    for loss in (Hinge(), SquaredHinge(), Logistic(), Exponential()):
        one, other = (SVMClassifier(loss=given, tol=1e-6, random_state=0).fit(X, Y) for given in (loss.name, loss))
        np.testing.assert_array_equal(one.coef_, other.coef_)
    own = CustomLoss(lambda t: np.logaddexp(0, -t), lambda t: -expit(-t), lambda t: expit(t) * expit(-t))
    model = SVMClassifier(loss=own, tol=1e-12).fit(X, Y)
    np.testing.assert_allclose(model.coef_, SVMClassifier(**TIGHT).fit(X, Y).coef_, rtol=1e-5)
    assert not hasattr(model, "predict_proba")
    square = CustomLoss(lambda t: (1 - t) ** 2, lambda t: 2 * (t - 1), lambda t: np.full_like(t, 2.0))
    model = SVMClassifier(C=0.5, loss=square, tol=1e-12).fit(X, Y)  # least squares: w = (I + A'A)^-1 A'y with A centred
    A, y = X - X.mean(0), np.where(Y == "yes", 1.0, -1.0)
    w = np.linalg.solve(np.eye(4) + A.T @ A, A.T @ (y - y.mean()))
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-6)
    assert model.intercept_[0] == pytest.approx(y.mean() - X.mean(0) @ w, rel=1e-6)


def test_the_risk_is_bounded() -> None:
    """With the logarithm to base 2, and the exponential loss, by the bound itself the share of errors."""
    for loss in (Logistic(base=2.0), Exponential()):
        model = SVMClassifier(loss=loss).fit(X, Y)
        assert model.certificate_.training_risk == pytest.approx(1.0 - model.score(X, Y))
        assert model.certificate_.training_risk <= model.certificate_.risk_bound


# several classes


def test_one_class_against_the_rest() -> None:
    ours = SVMClassifier(**TIGHT).fit(X, THREE)
    theirs = OneVsRestClassifier(LogisticRegression(**LBFGS)).fit(X, THREE)
    np.testing.assert_allclose(ours.coef_, np.vstack([each.coef_ for each in theirs.estimators_]), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ours.predict_proba(NEW), theirs.predict_proba(NEW), rtol=1e-5, atol=1e-7)
    sums = sum(SVMClassifier(**TIGHT).fit(X, k == THREE).certificate_.primal for k in range(3))
    assert ours.certificate_.primal == pytest.approx(sums, rel=1e-10)


def test_probabilities_far_from_all_classes_still_add_up() -> None:
    model = SVMClassifier(**TIGHT).fit(X, THREE)
    for size in (1e2, 1e5, 1e9):
        p = model.predict_proba(size * NEW)
        np.testing.assert_allclose(p.sum(1), 1.0, rtol=1e-12)
        assert (p >= 0.0).all()
        sure = p.max(1) > 1.0 - 1e-9
        assert np.array_equal(model.classes_[p.argmax(1)][sure], model.predict(size * NEW)[sure])
    model.intercept_ = model.intercept_ - 2000.0  # each class alone has a probability of 0 in floats
    p = model.predict_proba(NEW)
    scores = model.decision_function(NEW)
    np.testing.assert_allclose(
        p,
        np.exp(scores - scores.max(1, keepdims=True))
        / np.exp(scores - scores.max(1, keepdims=True)).sum(1, keepdims=True),
        rtol=1e-9,
    )


def test_who_has_probabilities() -> None:
    for loss in ("hinge", "squared_hinge", "exponential", Hinge()):
        assert not hasattr(SVMClassifier(loss=loss).fit(X, Y), "predict_proba")
    pairs = SVMClassifier(loss="logistic", multi_class="ovo")
    assert not hasattr(clone(pairs).fit(X, THREE), "predict_proba")  # scores are votes
    two = clone(pairs).fit(X, Y)
    np.testing.assert_array_equal(two.predict_proba(NEW), SVMClassifier(loss="logistic").fit(X, Y).predict_proba(NEW))
    assert np.array_equal(two.predict_proba(NEW).argmax(1), (two.decision_function(NEW) > 0).astype(int))


# with kernels


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_kernel_logistic_regression(C: float) -> None:
    """Its dual by a general method: ``min 1/2 a'Qa + sum_i a_i log a_i + (C - a_i) log(C - a_i)``, ``y'a = 0``."""
    rows, y = X[:25], np.where(Y[:25] == "yes", 1.0, -1.0)
    K = rbf_kernel(rows, gamma=0.5)
    Q = K * y * y[:, None]
    start = np.where(y > 0, C * (y < 0).sum(), C * (y > 0).sum()) / 25.0
    found = minimize(
        lambda a: 0.5 * a @ Q @ a + (a * np.log(a) + (C - a) * np.log(C - a)).sum(), start,
        jac=lambda a: Q @ a + np.log(a) - np.log(C - a), method="SLSQP", bounds=[(1e-12 * C, C * (1 - 1e-12))] * 25,
        constraints={"type": "eq", "fun": lambda a: y @ a, "jac": lambda a: y}, options={"ftol": 1e-15, "maxiter": 1000},
    )  # fmt: skip
    model = SVMClassifier(C=C, kernel="rbf", gamma=0.5, loss="logistic", tol=1e-11).fit(rows, Y[:25])
    a = np.zeros(25)
    a[model.support_] = model.dual_coef_[0] * y[model.support_]
    np.testing.assert_allclose(a, found.x, rtol=1e-3, atol=1e-4 * C)
    assert model.certificate_.dual == pytest.approx(C * 25 * np.log(C) - found.fun, rel=1e-7)
    f = K @ (a * y) + model.intercept_[0]
    np.testing.assert_allclose(model.predict_proba(rows)[:, 1], expit(f), rtol=1e-9)


def test_the_linear_kernel_is_no_kernel() -> None:
    for more in ({}, {"penalize_intercept": True}, {"fit_intercept": False}):
        one = SVMClassifier(**TIGHT, **more).fit(X, Y)
        other = SVMClassifier(kernel="precomputed", **TIGHT, **more).fit(X @ X.T, Y)
        np.testing.assert_allclose(other.decision_function(NEW @ X.T), one.decision_function(NEW), rtol=1e-5, atol=1e-6)
        assert other.certificate_.primal == pytest.approx(one.certificate_.primal, rel=1e-10)


# scikit-learn


@pytest.mark.parametrize(
    "estimator", [SVMClassifier(loss="logistic"), SVMClassifier(loss="logistic", kernel="rbf")], ids=str
)
def test_the_checks_of_scikit_learn(estimator: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        check_estimator(estimator)


def test_searches_pipelines_and_pickles() -> None:
    grid = {
        "svmclassifier__loss": ["logistic", "hinge", Logistic(base=2.0), Exponential()],
        "svmclassifier__C": [0.1, 1.0],
    }
    search = GridSearchCV(make_pipeline(StandardScaler(), SVMClassifier()), grid, cv=3).fit(X, Y)
    assert search.best_score_ > 0.7
    p = cross_val_predict(SVMClassifier(loss=Logistic(base=2.0)), X, Y, method="predict_proba")
    assert p.shape == (70, 2)
    model = pickle.loads(pickle.dumps(SVMClassifier(loss=Logistic(base=3.0)).fit(X, Y)))
    assert model.loss == Logistic(base=3.0)
    assert clone(model).loss == Logistic(base=3.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "log_loss"}, r"loss must be one of \['exponential', 'hinge', 'logistic', .*not 'log_loss'"),
        ({"loss": "zero_one"}, "zero_one loss is not convex: no solver finds its minimum"),
        ({"loss": Logistic}, "loss must be one of .* or a MarginLoss"),
        ({"loss": "logistic", "solver": "coordinate_ascent"}, r"^SVMClassifier: coordinate_ascent is for the hinge loss, .* not for Logistic\(\)"),
        ({"loss": "logistic", "solver": "interior_point"}, r"^SVMClassifier: interior_point is for the hinge loss"),
        ({"loss": "exponential", "kernel": "rbf", "solver": "block_smo"}, r"^SVMClassifier: block_smo is for the hinge loss, .* not for Exponential\(\)"),
        ({"loss": "hinge", "solver": "newton"}, "^SVMClassifier: Newton's method needs a loss with a second derivative"),
        ({"loss": "hinge", "solver": "newton", "kernel": "rbf"}, "^SVMClassifier: Newton's method needs a loss with a sec"),
        ({"loss": "logistic", "nu": 0.5}, "nu is for the hinge loss"),
    ],
)  # fmt: skip
def test_contradictions_are_refused(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SVMClassifier(**options).fit(X, Y)


def test_wanted_margins_are_refused() -> None:
    with pytest.raises(ValueError, match=r"wanted margins are for the hinge and its square, not for Logistic\(\)"):
        SVMClassifier(loss="logistic").fit(X, Y, margin=np.ones(70))


def test_the_solver_is_told() -> None:
    for kernel in ("linear", "rbf"):
        model = SVMClassifier(loss="logistic", kernel=kernel).fit(X, Y)
        assert (model.solver_, model.solver_reason_) == ("newton", "the loss is smooth and no sum of hinges")
        model = SVMClassifier(loss="logistic", kernel=kernel, solver="newton").fit(X, Y)
        assert (model.solver_, model.solver_reason_) == ("newton", "asked for")
