"""The active-set method: against other solvers and a general one, on ties and copies; its limits; when it is chosen."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from linear.problems import Small
from maxmargin import HardMarginSVM, MulticlassSVM, SVMClassifier, SVMRegressor, svm_path
from maxmargin.errors import DataError
from maxmargin.solvers import ActiveSet
from maxmargin.solvers.linear import active_set, following

Reals = NDArray[np.float64]
INTERCEPTS: dict[str, dict[str, Any]] = {
    "free": {}, "penalized": {"penalize_intercept": True}, "none": {"fit_intercept": False}
}  # fmt: skip
CANCER, BENIGN = load_breast_cancer(return_X_y=True)


def cancer() -> tuple[Reals, Any]:
    return scale(CANCER), np.where(BENIGN == 1, 1.0, -1.0)


@pytest.mark.parametrize("C", [1e-3, 0.3, 20.0, 1e4])
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_optimum_of_a_general_solver(loss: str, intercept: str, C: float) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 5)) + 0.3
    sign = np.where(X[:, 0] + rng.normal(size=40) > 0.3, 1.0, -1.0)
    weight = rng.uniform(0.2, 3.0, 40)
    model = SVMClassifier(C, loss=loss, solver="active_set", tol=1e-9, random_state=0, **INTERCEPTS[intercept])
    found = model.fit(X, sign, sample_weight=weight).certificate_
    problem = Small(X, sign, C * weight, loss, "free" if intercept == "free" else "none")
    if intercept == "penalized":  # a constant feature
        problem.X = np.hstack([X, np.ones((40, 1))])
    assert found.status.ok
    assert model.solver_ == "active_set"
    assert found.primal == pytest.approx(problem.optimum(), rel=1e-7)


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("epsilon", [0.0, 0.2, 5.0])
@pytest.mark.parametrize("C", [0.01, 10.0])
def test_regression(loss: str, epsilon: float, C: float) -> None:
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:150], scale(y[:150])
    options: dict[str, Any] = dict(C=C, loss=loss, epsilon=epsilon, tol=1e-9, random_state=0)
    mine = SVMRegressor(solver="active_set", **options).fit(X, y)
    other = SVMRegressor(solver="interior_point", **options).fit(X, y)
    assert mine.certificate_.status.ok
    assert mine.certificate_.primal == pytest.approx(other.certificate_.primal, rel=3e-9, abs=1e-12)


def kinds() -> dict[str, Any]:
    X, _ = cancer()
    X = X[:200, :8]
    return {
        "dense": X, "float32": X.astype(np.float32), "CSR": sp.csr_matrix(np.where(np.abs(X) > 0.7, X, 0.0)),
        "ties": np.round(X), "copies": np.repeat(X[:50], 4, axis=0), "low rank": X[:, :3] @ np.ones((3, 8)),
        "wide": X[:20] @ np.random.default_rng(0).normal(size=(8, 60)), "counts": np.round(3 * X) + 10.0,
    }  # fmt: skip


@pytest.mark.parametrize("kind", kinds())
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_any_rows(kind: str, C: float) -> None:
    X = kinds()[kind]
    y = BENIGN[: X.shape[0]]
    mine = SVMClassifier(C, solver="active_set", tol=1e-7, random_state=0).fit(X, y)
    other = SVMClassifier(C, tol=1e-7, random_state=0).fit(X, y)
    assert mine.certificate_.status.ok
    assert mine.certificate_.primal == pytest.approx(other.certificate_.primal, rel=2e-7)


def test_the_two_points_exactly() -> None:
    for C in (0.1, 0.4, 0.5, 0.6, 7.0):
        model = SVMClassifier(C, solver="active_set", tol=1e-12).fit([[-1.0], [1.0]], [0, 1])
        assert model.coef_[0, 0] == pytest.approx(min(2.0 * C, 1.0), rel=2e-6)  # the root of the gap
        assert model.certificate_.gap <= 1e-12


def test_an_answer_is_all_but_exact() -> None:
    """Far beyond the tolerance asked for, and its support vectors are those of the optimum."""
    X, y = cancer()
    model = SVMClassifier(10.0, solver="active_set", random_state=0).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-5
    margins = y * model.decision_function(X)
    at_margin = np.flatnonzero(margins <= 1.0 + 1e-5)
    assert np.isin(model.support_, at_margin).all()
    assert len(at_margin) - len(model.support_) <= 1


def test_same_seed_same_model() -> None:
    X, y = cancer()
    one, other = (SVMClassifier(solver="active_set", random_state=5).fit(X, y) for _ in range(2))
    assert one.coef_.tolist() == other.coef_.tolist()


def test_the_face_may_have_as_many_rows_as_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows of a squared hinge are free at a small C: the factor grows."""
    X, y = cancer()
    model = SVMClassifier(1e-3, loss="squared_hinge", solver="active_set", tol=1e-9, random_state=0).fit(X, y)
    assert len(model.support_) > 300
    assert model.certificate_.status.ok
    monkeypatch.setattr(active_set, "_MOST_FREE", 100)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert not model.certificate_.status.ok
    assert model.certificate_.dual <= model.certificate_.primal


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 20, 101, 150])
def test_pass_limit(limit: int) -> None:
    X, y = cancer()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = SVMClassifier(solver="active_set", tol=1e-12, max_passes=limit).fit(X, y).certificate_
    assert found.passes <= max(limit, 2)
    assert found.dual <= found.primal <= len(y) * (1 + 1e-9)


def test_time_limit_and_what_comes_before_it() -> None:
    X, y = cancer()
    with pytest.warns(ConvergenceWarning, match="time"):
        model = SVMClassifier(1e-2, solver="active_set", max_time=0.0).fit(X, y)
    assert model.certificate_.dual <= model.certificate_.primal


def test_what_it_is_not_for() -> None:
    X, y = cancer()
    with pytest.raises(DataError, match=r"SVMClassifier: active_set is for the hinge loss.*not for Logistic"):
        SVMClassifier(loss="logistic", solver="active_set").fit(X, y)
    with pytest.raises(ValueError, match="active_set"):
        SVMClassifier(kernel="rbf", solver="active_set").fit(X, y)
    with pytest.raises(ValueError, match="active_set"):
        MulticlassSVM(solver="active_set").fit(X, y)


def test_hard_margin() -> None:
    X, y = load_iris(return_X_y=True)
    mine = HardMarginSVM(solver="active_set", tol=1e-8).fit(X, y == 0)
    assert mine.certificate_.primal == pytest.approx(
        HardMarginSVM(tol=1e-8).fit(X, y == 0).certificate_.primal, rel=1e-7
    )


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_path_goes_by_it_where_few_rows_change(loss: str) -> None:
    X, y = cancer()
    path = svm_path(X, y, 12, loss=loss, random_state=0)
    taken = [model.solver_ for model in path.models]
    assert taken[-4:] == ["active_set" if loss == "hinge" else "newton"] * 4
    assert taken[0] == "coordinate_ascent"
    assert "near" in path.models[-1].solver_reason_
    for C, found in zip(path.Cs, path.certificates, strict=True):
        alone = SVMClassifier(C, loss=loss, tol=1e-7, random_state=0).fit(X, y).certificate_
        assert found.status.ok
        assert alone.dual * (1 - 1e-9) <= found.primal <= alone.primal * (1 + 1.1e-3)
    again = svm_path(X, y, 12, loss=loss, random_state=0)
    assert path.coef_.tolist() == again.coef_.tolist()


@pytest.mark.parametrize("tol", [1e-3, 1e-9])
def test_a_path_downwards_and_one_that_leaves_it(tol: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where places are many the usual way is taken from the same start, with the same certificate."""
    X, y = cancer()
    model = SVMClassifier(1e3, warm_start=True, tol=tol, random_state=0).fit(X, y)
    for C in (300.0, 10.0, 0.01):
        found = model.set_params(C=C).fit(X, y).certificate_
        alone = SVMClassifier(C, tol=tol, random_state=0).fit(X, y).certificate_
        assert found.status.ok
        assert found.primal == pytest.approx(alone.primal, rel=2 * tol)
    monkeypatch.setattr(following, "_LOOK", 1)
    monkeypatch.setattr(following, "_within_reach", lambda task, free: 1000.0)
    monkeypatch.setattr(
        following._Following, "reach", property(lambda self: -1.0, lambda self, value: None), raising=False
    )
    path = svm_path(X, y, 6, tol=tol, random_state=0)
    assert "active_set" not in [model.solver_ for model in path.models]
    assert all(found.status.ok for found in path.certificates)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_a_warm_start_with_another_C_goes_by_it(multi_class: str) -> None:
    X, y = load_iris(return_X_y=True)
    model = SVMClassifier(30.0, multi_class=multi_class, warm_start=True, random_state=0).fit(X, y)
    model.set_params(C=60.0).fit(X, y)
    assert model.solver_ == "active_set"
    best = SVMClassifier(60.0, multi_class=multi_class, tol=1e-7).fit(X, y).certificate_
    assert best.dual * (1 - 1e-9) <= model.certificate_.primal <= best.primal * (1 + 1.1e-3)
    # other data, of which the start says nothing
    rng = np.random.default_rng(0)
    other = rng.permutation(y)
    model.set_params(C=50.0).fit(X, other)
    best = SVMClassifier(50.0, multi_class=multi_class, tol=1e-7, max_passes=100_000).fit(X, other).certificate_
    assert model.certificate_.status.ok
    assert best.dual * (1 - 1e-9) <= model.certificate_.primal <= best.primal * (1 + 1.1e-3)


def test_numbers_that_are_lost_lead_to_the_usual_way(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = cancer()

    def lost(self: Any, places: int = 0) -> Any:
        self.a[:] = np.nan
        return self._step(1, np.full(len(y), np.nan), 1.0)

    monkeypatch.setattr(active_set.ActiveSetRun, "advance", lost)
    path = svm_path(X, y, 12, random_state=0)
    assert all(found.status.ok for found in path.certificates)
    assert "active_set" not in [model.solver_ for model in path.models]


def test_of_the_solver_objects() -> None:
    X, y = cancer()
    assert ActiveSet().name == "active_set"
    model = SVMClassifier(solver=ActiveSet(), random_state=0).fit(X, y)
    assert model.coef_.tolist() == SVMClassifier(solver="active_set", random_state=0).fit(X, y).coef_.tolist()


def test_rows_of_zeros_and_a_huge_C() -> None:
    for y in ([0, 1, 1], [0, 0, 1, 1]):
        X = np.zeros((len(y), 2))
        model = SVMClassifier(solver="active_set").fit(X, y)
        assert model.certificate_.status.ok
        assert model.certificate_.primal == pytest.approx(2.0 * min(np.bincount(y)), rel=1e-9)
    tube = SVMRegressor(solver="active_set", epsilon=0.0).fit(np.zeros((3, 1)), [0.0, 1.0, 5.0])
    assert tube.certificate_.primal == pytest.approx(5.0, rel=1e-6)
    X = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]
    huge = SVMClassifier(1e9, solver="active_set", fit_intercept=False).fit(X, [0, 1, 1])
    assert huge.certificate_.status.ok
    assert huge.certificate_.primal == pytest.approx(1e9, rel=1e-6)  # of the row of zeros


def test_circles_end() -> None:
    """Counts have so many ties that places can follow each other for ever at one point of the way."""
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((1000, 5)))
    y = X @ [1.0, 1.0, -1.0, 2.0, 0.5] + rng.standard_normal(1000) > 0
    path = svm_path(X, y, random_state=0)
    assert all(found.status.ok for found in path.certificates)
    assert path.passes.max() < 250


@pytest.mark.parametrize("limit", [30, 50, 200])
def test_a_path_needs_no_more_passes_than_it_may_take(limit: int) -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(500, 10))
    y = X[:, 0] + rng.normal(size=500) > 0
    path = svm_path(X, y, 20, random_state=0, max_passes=limit)
    assert all(found.status.ok for found in path.certificates)
    assert "active_set" in [model.solver_ for model in path.models]


def test_a_start_that_is_a_bad_one_is_left() -> None:
    """Coefficients of other rows: nearly all are inside their bounds, and none is where it should be."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1000, 10))
        y = X[:, 0] + 3 * rng.normal(size=1000) > 2
        model = SVMClassifier(0.1, solver="active_set", warm_start=True, random_state=0).fit(X[:500], y[:500])
        model.set_params(C=1.0).fit(X[500:], y[500:])
        best = SVMClassifier(1.0, tol=1e-6).fit(X[500:], y[500:]).certificate_
        assert model.certificate_.status.ok
        assert best.dual * (1 - 1e-9) <= model.certificate_.primal <= best.primal * (1 + 1.1e-3)
