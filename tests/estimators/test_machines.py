"""The plain machines: scikit-learn's checks, identities of the problem, wrong inputs, and hard data."""

from __future__ import annotations

import pickle
import threading
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import datasets
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, SkipTestWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR
from sklearn.utils.estimator_checks import check_estimator

from maxmargin import MulticlassSVM, SVMClassifier, SVMRegressor
from maxmargin.errors import DataError
from maxmargin.solvers.frank_wolfe import FrankWolfe
from maxmargin.status import Status

RNG = np.random.default_rng(11)
X = RNG.normal(size=(60, 4)) + 0.3
Y = np.where(X @ [1.0, -1.0, 0.5, 0.0] + 0.5 * RNG.normal(size=60) > 0.2, "yes", "no")
VALUES = X @ [1.0, -2.0, 0.0, 0.5] + 3.0 + 0.2 * RNG.normal(size=60)
TIGHT: dict[str, Any] = dict(tol=1e-9, solver="interior_point")
LOSSES = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])


def damaged() -> Any:
    rows = sp.csr_matrix(X)
    rows.indices[0] = 9
    return rows


def objective(model: Any, rows: Any, sign: Any, c: Any, loss: str) -> float:
    """Of a two-class model with a free intercept, by the definition."""
    w, b = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
    slack = np.maximum(0.0, 1.0 - sign * (rows @ w + b))
    return 0.5 * float(w @ w) + float(np.sum(c * (slack if loss == "hinge" else slack**2)))


@pytest.mark.parametrize("estimator", [SVMClassifier(), SVMClassifier(multi_class="ovo"), SVMRegressor()], ids=str)
def test_the_checks_of_scikit_learn(estimator: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        check_estimator(estimator)


@LOSSES
def test_never_above_the_objective_of_others(loss: str) -> None:
    sign = np.where(Y == "yes", 1.0, -1.0)
    for C in (0.01, 1.0, 100.0):
        model = SVMClassifier(C=C, loss=loss, **TIGHT).fit(X, Y)  # type: ignore[arg-type]
        mine = objective(model, X, sign, C, loss)
        assert model.certificate_.primal == pytest.approx(mine, rel=1e-9)
        if loss == "hinge":
            theirs = objective(SVC(kernel="linear", C=C, tol=1e-8).fit(X, Y), X, sign, C, loss)
            assert theirs * (1 - 1e-4) <= mine <= theirs * (1 + 1e-9)
        other = LinearSVC(C=C, loss=loss, intercept_scaling=1e3, max_iter=100_000, tol=1e-8).fit(X, Y)
        assert mine <= objective(other, X, sign, C, loss) * (1 + 1e-9)


def test_regression_agrees_with_svr() -> None:
    for C in (0.01, 1.0, 100.0):
        model = SVMRegressor(C=C, epsilon=0.2, **TIGHT).fit(X, VALUES)
        other = SVR(kernel="linear", C=C, epsilon=0.2, tol=1e-8).fit(X, VALUES)
        np.testing.assert_allclose(model.coef_, other.coef_[0], atol=1e-3 * np.abs(model.coef_).max())
        assert model.predict(X) == pytest.approx(other.predict(X), abs=2e-3 * np.ptp(VALUES))
    squared = SVMRegressor(loss="squared_epsilon_insensitive", penalize_intercept=True, **TIGHT).fit(X, VALUES)
    liblinear = LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.1, tol=1e-10, max_iter=100_000).fit(X, VALUES)
    np.testing.assert_allclose(squared.coef_, liblinear.coef_, atol=1e-5)
    assert squared.intercept_ == pytest.approx(float(liblinear.intercept_[0]), abs=1e-4)


def test_a_penalised_intercept_is_liblinears() -> None:
    mine = SVMClassifier(penalize_intercept=True, loss="squared_hinge", **TIGHT).fit(X, Y)
    other = LinearSVC(loss="squared_hinge", tol=1e-10, max_iter=100_000).fit(X, Y)
    np.testing.assert_allclose(mine.coef_, other.coef_, atol=1e-5)
    np.testing.assert_allclose(mine.intercept_, other.intercept_, atol=1e-5)


@LOSSES
def test_scaling_the_rows_scales_C(loss: Any) -> None:
    """``X -> a X`` with ``C -> C / a^2`` is the same problem in ``w / a``, divided by ``a^2``."""
    one = SVMClassifier(C=2.0, loss=loss, **TIGHT).fit(X, Y)
    for a in (1e-3, 1e3):
        other = SVMClassifier(C=2.0 / a**2, loss=loss, **TIGHT).fit(a * X, Y)
        np.testing.assert_allclose(other.coef_ * a, one.coef_, rtol=1e-4, atol=1e-5)
        assert other.certificate_.primal * a**2 == pytest.approx(one.certificate_.primal, rel=1e-8)


def test_order_copies_and_zero_weights_change_nothing() -> None:
    weight = np.arange(60) % 4
    one = SVMClassifier(random_state=0).fit(X, Y, weight)
    order = RNG.permutation(60)
    permuted = SVMClassifier(random_state=0).fit(X[order], Y[order], weight[order])
    copies = SVMClassifier(random_state=0).fit(np.repeat(X, weight, 0), np.repeat(Y, weight))
    for other in (permuted, copies):
        np.testing.assert_array_equal(one.coef_, other.coef_)
        np.testing.assert_array_equal(one.intercept_, other.intercept_)


def test_swapped_labels_swap_the_sign() -> None:
    one = SVMClassifier(**TIGHT).fit(X, Y == "yes")
    other = SVMClassifier(**TIGHT).fit(X, Y == "no")
    np.testing.assert_allclose(one.coef_, -other.coef_, atol=1e-4)


def test_a_duplicated_feature_shares_its_weight() -> None:
    """Two copies of a feature act as one of ``sqrt(2)`` its size."""
    twice = SVMClassifier(**TIGHT).fit(np.column_stack([X, X[:, 0]]), Y)
    larger = SVMClassifier(**TIGHT).fit(X * [np.sqrt(2), 1, 1, 1], Y)
    assert twice.coef_[0, 0] == pytest.approx(twice.coef_[0, -1], abs=1e-5)
    assert twice.certificate_.primal == pytest.approx(larger.certificate_.primal, rel=1e-7)


def test_weights_are_copies_to_the_last_bit_with_margins() -> None:
    """Margins of rows without weight count for nothing, not even for the order of the others."""
    rng = np.random.default_rng(0)
    margin, times = rng.choice([0.5, 1.0, 2.0, 3.0], 60), np.arange(60) % 3
    margin[times == 0] = rng.random(int((times == 0).sum()))
    weighted = SVMClassifier(random_state=0).fit(X, Y, sample_weight=times, margin=margin)
    copied = SVMClassifier(random_state=0).fit(
        np.repeat(X, times, 0), np.repeat(Y, times), margin=np.repeat(margin, times)
    )
    np.testing.assert_array_equal(weighted.coef_, copied.coef_)
    np.testing.assert_array_equal(weighted.intercept_, copied.intercept_)


def test_margins_are_wanted_row_by_row() -> None:
    """A margin ``m`` for all rows: the same problem in ``w / m`` with ``C / m``, times ``m^2``."""
    double = SVMClassifier(C=1.0, **TIGHT).fit(X, Y, margin=np.full(60, 2.0))
    half = SVMClassifier(C=0.5, **TIGHT).fit(X, Y)
    assert double.certificate_.primal == pytest.approx(4.0 * half.certificate_.primal, rel=1e-8)
    one = SVMClassifier(C=1.0, **TIGHT).fit(X, Y, margin=np.where(np.arange(60) == 7, 50.0, 1.0))
    assert (X[7] @ one.coef_[0] + one.intercept_[0]) * (1 if Y[7] == "yes" else -1) > 1.0


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_several_classes(multi_class: Any) -> None:
    rows, number = datasets.load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[number]
    model = SVMClassifier(multi_class=multi_class, tol=1e-6).fit(rows, names)
    assert model.score(rows, names) > 0.94
    decision = model.decision_function(rows)
    assert decision.shape == (150, 3)
    np.testing.assert_array_equal(model.classes_[decision.argmax(1)], model.predict(rows))
    assert model.coef_.shape == (3, 4)
    if multi_class == "ovo":
        other = SVC(kernel="linear", tol=1e-8).fit(rows, names)
        np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-2)
    total = sum(
        SVMClassifier(tol=1e-8).fit(rows, names == name).certificate_.primal for name in model.classes_
    ) if multi_class == "ovr" else model.certificate_.primal  # fmt: skip
    assert model.certificate_.primal == pytest.approx(total, rel=1e-5)


@pytest.mark.parametrize("model", [SVMClassifier(), SVMRegressor()], ids=str)
def test_pickles_clones_pipelines_and_searches(model: Any) -> None:
    y = VALUES if isinstance(model, SVMRegressor) else Y
    fitted = clone(model).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))
    search = GridSearchCV(
        make_pipeline(StandardScaler(), model), {f"{type(model).__name__.lower()}__C": [0.1, 1.0]}, cv=3
    )
    assert search.fit(X, y).best_score_ > 0.7
    assert cross_val_score(model, sp.csr_matrix(X), y, cv=3).mean() > 0.7


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": -1}, "C must be a finite number > 0"),
        ({"C": np.nan}, "C must be"),
        ({"loss": "log"}, "loss must be one of .*not 'log'"),
        ({"multi_class": "all"}, "multi_class must be 'ovr' or 'ovo'"),
        ({"multi_class": "crammer_singer"}, "not 'crammer_singer'; the machine of Crammer and Singer is MulticlassSVM"),
        ({"solver": "frank_wolfe"}, "solver 'frank_wolfe' is not for linear machines: .*; solver must be one of"),
        ({"solver": None}, "solver must be one of .*, not None"),
        ({"solver": FrankWolfe()}, r"solver FrankWolfe\(.*\) is not for linear machines: .*; solver must be one of"),
        ({"fit_intercept": False, "penalize_intercept": True}, "penalize_intercept=True needs fit_intercept=True"),
        ({"class_weight": {"maybe": 2}}, "names the class 'maybe', which is not in y"),
        ({"class_weight": "even"}, "class_weight must be"),
    ],
)
def test_wrong_options_are_refused(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SVMClassifier(**options).fit(X, Y)


@pytest.mark.parametrize(
    ("rows", "y", "more", "message"),
    [
        (X, np.repeat("spam", 60), {}, "one class only: 'spam'"),
        (X, Y, {"sample_weight": np.zeros(60)}, "sample_weight is zero for every example"),
        (X, Y, {"sample_weight": np.r_[-1.0, np.ones(59)]}, r"sample_weight\[0\] is -1"),
        (X, Y, {"margin": np.zeros(60)}, r"margin\[0\] is 0"),
        (X, Y, {"margin": np.ones(3)}, "margin has shape"),
        (X, Y, {"margin": ["wide"] * 60}, "margin must hold real numbers"),
        (damaged(), Y, {}, "X is a damaged sparse matrix: row 0 has an entry in column 9"),
        (np.where(X > 1.5, np.nan, X), Y, {}, "NaN"),
        (X * 1e200, Y, {}, "too large to compute with"),
        (X, Y[:5], {}, "inconsistent numbers"),
        (X, ["a", 1] * 30, {}, r"y mixes text with other labels \('a' and 1\)"),
        (X, np.array(["a", 1] * 30, object), {}, "y mixes text with other labels"),
        (X, Y, {"sample_weight": np.full(60, 1e200)}, "C times the largest sample weight is 1e\\+200"),
    ],
)
def test_wrong_data_are_refused(rows: Any, y: Any, more: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SVMClassifier().fit(rows, y, **more)


def test_wrong_targets_are_refused() -> None:
    with pytest.raises(DataError, match="too large"):
        SVMRegressor().fit(X, VALUES * 1e200)
    with pytest.raises(ValueError, match="epsilon must be"):
        SVMRegressor(epsilon=-0.1).fit(X, VALUES)


@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
def test_two_rows_far_apart_do_not_hang(C: float) -> None:
    model = SVMClassifier(C=C, tol=1e-6).fit([[0.0], [1e90]], [0, 1])
    assert np.isfinite(model.coef_).all()
    assert model.predict([[0.0], [1e90]]).tolist() == [0, 1]


def test_contradictory_copies() -> None:
    """One row in both classes: each copy costs 1 whatever the weights are."""
    model = SVMClassifier(C=3.0, tol=1e-9).fit([[1.0], [1.0]], [0, 1])
    assert model.coef_[0, 0] == pytest.approx(0.0, abs=1e-4)
    assert model.certificate_.primal == pytest.approx(6.0)


def test_constant_features_have_no_weight() -> None:
    model = SVMClassifier(**TIGHT).fit(np.column_stack([X, np.full(60, 7.0)]), Y)
    assert model.coef_[0, -1] == pytest.approx(0.0, abs=1e-6)
    flat = SVMClassifier(class_weight={"no": 2.0}).fit(np.ones((60, 2)), Y)
    assert np.abs(flat.coef_).max() < 1e-3
    assert set(flat.predict(np.ones((3, 2)))) == {"no"}


def test_targets_inside_the_tube_need_no_weights() -> None:
    rows, y = np.array([[0, 2, 0], [1, 0, 0], [0, 0, 3], [1, 0, 0.0]]), np.array([0.02, 0.05, 0.11, 0.14])
    for form in (rows, sp.csr_matrix(rows)):
        model = SVMRegressor(C=100.0, epsilon=0.1).fit(form, y)
        np.testing.assert_array_equal(model.coef_, np.zeros(3))
        assert 0.04 - 1e-9 <= model.intercept_ <= 0.12 + 1e-9


def test_two_threads_fit_at_once() -> None:
    models: list[Any] = [SVMClassifier(C=C, random_state=0) for C in (0.1, 10.0)]
    alone = [clone(model).fit(X, Y).coef_ for model in models]
    threads = [threading.Thread(target=model.fit, args=(X, Y)) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for model, coef in zip(models, alone):
        np.testing.assert_array_equal(model.coef_, coef)


def test_the_reason_for_a_solver_is_said() -> None:
    hard = SVMClassifier(C=1e4, random_state=0).fit(X * [1, 100, 1e4, 1], Y)
    assert hard.solver_ == "interior_point"
    assert "more passes" in hard.solver_reason_
    assert SVMClassifier(solver="coordinate_ascent").fit(X, Y).solver_reason_ == "asked for"


def test_a_fit_cut_short_says_so() -> None:
    with pytest.warns(ConvergenceWarning, match="stopped by pass limit"):
        model = SVMClassifier(max_passes=2, solver="coordinate_ascent", C=100.0, tol=1e-9).fit(X, Y)
    assert model.certificate_.status is Status.PASS_LIMIT
    assert model.certificate_.dual <= SVMClassifier(C=100.0, **TIGHT).fit(X, Y).certificate_.primal


@pytest.mark.slow
@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits", "diabetes"])
def test_unscaled_data_and_any_C(name: str) -> None:
    """Six decimals of the gap for ``C`` from a millionth to a million, features as they come."""
    rows, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    for C in 10.0 ** np.arange(-6, 7):
        for model in (
            [SVMRegressor(C=C), SVMRegressor(C=C, loss="squared_epsilon_insensitive")]
            if name == "diabetes"
            else [
                SVMClassifier(C=C), SVMClassifier(C=C, loss="squared_hinge"), SVMClassifier(C=C, multi_class="ovo"),
                MulticlassSVM(C=C),
            ]
        ):  # fmt: skip
            model.set_params(tol=1e-6, random_state=0).fit(rows, y)
            assert model.certificate_.status is Status.CONVERGED, (C, model)
            assert model.certificate_.relative_gap <= 1e-6


def test_max_time_ends_a_pass_in_the_middle() -> None:
    rows = np.tile(X, (4000, 1)) + RNG.normal(size=(240_000, 4))
    y = rows.sum(1) > 1.0
    SVMClassifier(solver="coordinate_ascent", max_passes=2, tol=0.9).fit(rows[:100], y[:100])  # compiles what is needed
    with pytest.warns(ConvergenceWarning, match="stopped by time limit"):
        model = SVMClassifier(solver="coordinate_ascent", tol=0.0, max_time=1e-3).fit(rows, y)
    assert model.certificate_.passes == 1  # that of the certificate
    assert model.certificate_.dual <= model.certificate_.primal


@LOSSES
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_small_wanted_margins_have_a_risk_that_is_bounded(loss: Any, kernel: str) -> None:
    """Of a wanted margin below 1 a wrong sign costs less than 1: that is the risk, and the bound holds."""
    margin = RNG.uniform(0.01, 2.0, 60)
    model = SVMClassifier(loss=loss, kernel=kernel, tol=1e-6).fit(
        X, np.where(RNG.random(60) < 0.5, "a", "b"), None, margin
    )
    assert 0.0 < model.certificate_.training_risk <= model.certificate_.risk_bound


@pytest.mark.parametrize("value", [0.1, 1.0 / 3.0, 1.0, 5.0])
@pytest.mark.parametrize(
    "options",
    [
        dict(),
        dict(epsilon=0.0),
        dict(epsilon=1e-12),
        dict(epsilon=0.0, solver="interior_point"),
        dict(loss="squared_epsilon_insensitive", epsilon=0.0),
        dict(kernel="rbf"),
        dict(kernel="rbf", epsilon=0.0),
        dict(nu=0.5),
        dict(nu=0.9, kernel="rbf"),
    ],
    ids=str,
)
def test_a_constant_target(value: float, options: Any) -> None:
    """The optimum is 0: a flat model, whatever the seed, without a warning and without a relative gap."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    for seed in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = SVMRegressor(random_state=seed, **options).fit(X, np.full(40, value))
        assert model.certificate_.status.ok
        assert 0.0 <= model.certificate_.primal + 1e-15
        assert model.certificate_.primal <= 1e-12
        assert model.predict(X) == pytest.approx(np.full(40, value), abs=model.epsilon + 1e-9)


@pytest.mark.parametrize(
    "options",
    [dict(), dict(loss="squared_epsilon_insensitive"), pytest.param(dict(kernel="rbf"), marks=pytest.mark.slow)],
    ids=str,
)
@pytest.mark.parametrize(("base", "step"), [(1.0, 3e-16), (1e6, 3e-10), (1e6, 3e-9), (0.1, 3e-17)])
def test_targets_that_differ_by_rounding_alone(base: float, step: float, options: Any) -> None:
    """No value is small beside such an optimum: bounds that rounding puts above it are no fault of anything."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = base + step * np.arange(40)
    model = SVMRegressor(epsilon=0.0, max_passes=100, random_state=0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = model.fit(X, y).certificate_
    rounding = 64.0 * np.finfo(np.float64).eps * base
    assert 0.0 <= found.dual <= found.primal <= 40.0 * (40.0 * step + rounding)
    # with C = 1 no residual is larger than the objective, which is of the size of rounding
    assert model.predict(X) == pytest.approx(y, rel=0.0, abs=max(found.primal, 40.0 * step) + rounding)
