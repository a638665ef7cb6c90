"""Dense features far from the origin beside their spread: the answers of the same rows near it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import maxmargin.solvers.linear.folding as folding
from ended_by_callback import Ends
from maxmargin import HardMarginSVM, SVMClassifier, SVMRegressor, kkt_report, svm_path
from maxmargin.solvers.linear.folding import fold
from maxmargin.solvers.linear.rows import Rows
from maxmargin.status import Status

Reals = NDArray[np.float64]
RNG = np.random.default_rng(0)
N = 60
NEAR = RNG.normal(size=(N, 3))
NOISY = NEAR[:, 0] + 0.5 * RNG.normal(size=N)
SIGN = np.where(NOISY > 0.0, 1, -1)
THREE = np.digitize(NOISY, [-0.5, 0.5])
OFFSETS: dict[str, Any] = {
    "0": 0.0,
    "1e4": 1e4,
    "1e6": 1e6,
    "1e8": 1e8,
    "-1e9": -1e9,
    "one": [0.0, 1e9, 0.0],
    "each another": [1e9, -1e7, 3.0],
}
LOSSES = ["hinge", "squared_hinge", "logistic", "epsilon_insensitive", "squared_epsilon_insensitive"]
FAR = np.array([1e8, -1e7, 3.0])


def moved(m: Any) -> tuple[Reals, Reals]:
    """Rows at a distance of ``m``, and the same near the origin: their difference is ``m`` to the last bit."""
    far = NEAR + m
    return far, far - m


def machine(loss: str, **options: Any) -> Any:
    options = dict(C=10.0, random_state=0) | options
    return SVMRegressor(loss=loss, **options) if "epsilon" in loss else SVMClassifier(loss=loss, **options)


def target(loss: str) -> Any:
    return NOISY if "epsilon" in loss else SIGN


def near_intercept(model: Any, m: Any) -> float:
    """What the intercept is for the rows near the origin."""
    weights = np.atleast_2d(model.coef_)[0] * np.broadcast_to(m, 3)
    return math.fsum([float(np.ravel(model.intercept_)[0]), *weights.tolist()])


def digits(m: Any, model: Any) -> float:
    """How much of a score is lost where products with rows at ``m`` are added up."""
    return 1e-12 + 8 * np.finfo(float).eps * float(np.abs(np.atleast_2d(model.coef_) * m).sum())


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("m", OFFSETS.values(), ids=OFFSETS)
def test_the_answer_is_that_of_rows_near_the_origin(m: Any, loss: str, tol: float) -> None:
    far, near = moved(m)
    model = machine(loss, tol=tol).fit(far, target(loss))
    other = machine(loss, tol=tol).fit(near, target(loss))
    assert model.certificate_.status is Status.CONVERGED
    assert model.certificate_.relative_gap <= tol
    assert model.certificate_.primal == pytest.approx(other.certificate_.primal, rel=tol)
    assert model.certificate_.dual == pytest.approx(other.certificate_.dual, rel=2.0 * tol)
    apart = math.sqrt(2.0 * tol * model.certificate_.primal)  # the objective is strongly convex in the weights
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=0.0, atol=2.0 * apart)
    scores = near @ np.ravel(model.coef_) + near_intercept(model, m)
    found = model.predict(far) if "epsilon" in loss else model.decision_function(far)
    np.testing.assert_allclose(found, scores, rtol=0.0, atol=digits(m, model))


@pytest.mark.parametrize("m", [1e7, 1e9, FAR], ids=str)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_objective_is_that_of_the_weights(m: Any, loss: str) -> None:
    far, near = moved(m)
    seen: list[Reals] = []
    model = machine(loss, tol=1e-6, callback=lambda record, w: seen.append(w.copy())).fit(far, target(loss))
    f = near @ np.ravel(model.coef_) + near_intercept(model, m)
    y = target(loss)
    costs = {
        "hinge": np.maximum(1.0 - y * f, 0.0),
        "squared_hinge": np.maximum(1.0 - y * f, 0.0) ** 2,
        "logistic": np.logaddexp(0.0, -y * f),
        "epsilon_insensitive": np.maximum(np.abs(y - f) - model.epsilon, 0.0) if "epsilon" in loss else f,
        "squared_epsilon_insensitive": np.maximum(np.abs(y - f) - model.epsilon, 0.0) ** 2 if "epsilon" in loss else f,
    }
    value = 0.5 * float(np.sum(model.coef_**2)) + 10.0 * float(costs[loss].sum())
    assert model.certificate_.primal == pytest.approx(value, rel=1e-6)
    # weights in callbacks are those of the features as they were given
    np.testing.assert_array_equal(seen[-1][:3], np.ravel(model.coef_))
    assert seen[-1][3] == np.ravel(model.intercept_)[0]
    beta = np.zeros(N)
    beta[model.support_] = model.dual_coef_[0]
    assert abs(beta.sum()) < 1e-9
    assert np.linalg.norm(np.ravel(model.coef_) - near.T @ beta) == pytest.approx(model.dual_residual_[0], abs=1e-6)


def test_best_intercept_of_exact_numbers() -> None:
    """With whole numbers nothing is lost but the last digits of the intercept."""
    X = np.array([[0.0], [2.0]]) + 2.0**40
    model = SVMClassifier(100.0, tol=1e-9, random_state=0).fit(X, [-1, 1])
    np.testing.assert_allclose(model.coef_, [[1.0]], rtol=1e-6)
    assert model.intercept_[0] == pytest.approx(-(2.0**40 + 1.0) * model.coef_[0, 0], rel=1e-15)


@pytest.mark.parametrize("kind", ["float32", "fortran", "frame", "memory map", "read-only"])
def test_kinds_of_matrices(kind: str, tmp_path: Path) -> None:
    dtype = np.float32 if kind == "float32" else np.float64
    far = (NEAR + 1e7).astype(dtype)
    near = far.astype(np.float64) - 1e7
    given: Any = far
    if kind == "fortran":
        given = np.asfortranarray(far)
    elif kind == "frame":
        given = pd.DataFrame(far, columns=["a", "b", "c"])
    elif kind == "memory map":
        np.save(tmp_path / "rows.npy", far)
        given = np.load(tmp_path / "rows.npy", mmap_mode="r")
    elif kind == "read-only":
        given.flags.writeable = False
    model = SVMClassifier(10.0, tol=1e-6, random_state=0).fit(given, SIGN)
    other = SVMClassifier(10.0, tol=1e-6, random_state=0).fit(near, SIGN)
    assert model.certificate_.status is Status.CONVERGED
    assert model.certificate_.primal == pytest.approx(other.certificate_.primal, rel=1e-6)
    np.testing.assert_allclose(model.decision_function(given), other.decision_function(near), atol=0.02)
    np.testing.assert_array_equal(far, (NEAR + 1e7).astype(dtype))  # the data are left as they were


@pytest.mark.parametrize(
    "solver",
    ["coordinate_ascent", "interior_point", "active_set", "block_ascent", "bundle", "one_slack", "projected_gradient"],
)
def test_solvers(solver: str) -> None:
    far, near = moved(FAR)
    model = SVMClassifier(1.0, solver=solver, tol=1e-4, random_state=0).fit(far, SIGN)
    other = SVMClassifier(1.0, solver=solver, tol=1e-4, random_state=0).fit(near, SIGN)
    assert model.certificate_.status is Status.CONVERGED
    assert model.certificate_.primal == pytest.approx(other.certificate_.primal, rel=1e-4)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_several_classes_and_sample_weights(multi_class: str) -> None:
    far, near = moved(FAR)
    weight = np.arange(N) % 4  # a quarter of the rows do not count
    options: Any = dict(C=10.0, multi_class=multi_class, tol=1e-6, random_state=0)
    model = SVMClassifier(**options).fit(far, THREE, weight)
    other = SVMClassifier(**options).fit(near, THREE, weight)
    assert model.certificate_.status is Status.CONVERGED
    assert model.certificate_.primal == pytest.approx(other.certificate_.primal, rel=1e-6)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=0.05)
    assert np.mean(model.predict(far) == other.predict(near)) > 0.95


@pytest.mark.parametrize("loss", LOSSES)
def test_paths(loss: str) -> None:
    far, near = moved(FAR)
    grid = [0.01, 0.1, 1.0, 10.0]
    kind: Any = dict(loss=loss, tol=1e-6, random_state=0)
    if "epsilon" in loss:
        kind["task"] = "regression"
    path, other = svm_path(far, target(loss), grid, **kind), svm_path(near, target(loss), grid, **kind)
    for mine, its in zip(path.models, other.models, strict=True):
        assert mine.certificate_.status is Status.CONVERGED
        assert mine.certificate_.primal == pytest.approx(its.certificate_.primal, rel=1e-6)
    np.testing.assert_allclose(path.norms, other.norms, rtol=1e-2)
    np.testing.assert_allclose(path.training_errors, other.training_errors, atol=1e-2 if "epsilon" in loss else 1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_warm_start_begins_where_the_fit_before_ended(loss: str) -> None:
    far, _ = moved(1e8)
    model = machine(loss, tol=1e-6, warm_start=True).fit(far, target(loss))
    cold, primal = model.n_iter_, model.certificate_.primal
    model.fit(far, target(loss))
    assert model.n_iter_ <= 3 < cold
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-6)
    model.fit(far[: N // 2], target(loss)[: N // 2])  # other rows, which are moved by another distance
    assert model.certificate_.status is Status.CONVERGED
    model.set_params(penalize_intercept=True).fit(NEAR, target(loss))
    assert model.certificate_.status is Status.CONVERGED


@pytest.mark.parametrize("interrupt", [True, False])
@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("m", [1e8, 1e10])
def test_early_ends_leave_the_model_of_the_fit_before(m: float, multi_class: str, interrupt: bool) -> None:
    far, near = moved(m)
    options: Any = dict(C=1.0, multi_class=multi_class, tol=1e-3, random_state=0, warm_start=True)
    model, other = SVMClassifier(**options).fit(far, THREE), SVMClassifier(**options).fit(near, THREE)
    coef, intercept, primal = model.coef_.copy(), model.intercept_.copy(), model.certificate_.primal
    for each, X in ((model, far), (other, near)):
        each.set_params(callback=Ends(1, interrupt=interrupt))
        if interrupt:
            with pytest.raises(KeyboardInterrupt):
                each.fit(X, THREE)
        else:
            each.fit(X, THREE)
    np.testing.assert_array_equal(model.coef_[1:], coef[1:])
    np.testing.assert_array_equal(model.intercept_[1:], intercept[1:])
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-6)
    assert model.certificate_.dual == pytest.approx(other.certificate_.dual, rel=3e-3)


def test_an_early_end_is_in_original_coordinates() -> None:
    far, near = moved(1e8)
    model = SVMClassifier(10.0, random_state=0, callback=Ends(1, interrupt=False), solver="coordinate_ascent")
    model.fit(far, SIGN)
    f = near @ model.coef_[0] + near_intercept(model, 1e8)
    value = 0.5 * float(model.coef_[0] @ model.coef_[0]) + 10.0 * float(np.maximum(1.0 - SIGN * f, 0.0).sum())
    assert model.certificate_.primal == pytest.approx(value, rel=1e-6)


def test_conditions_of_optimality() -> None:
    far, near = moved(1e7)
    reports = [kkt_report(SVMClassifier(10.0, tol=1e-8, random_state=0).fit(X, SIGN), X, SIGN) for X in (far, near)]
    np.testing.assert_array_equal(reports[0].counts, reports[1].counts)
    assert reports[0].primal == pytest.approx(reports[1].primal, rel=1e-6)
    assert reports[0].stationarity < 1e-3
    np.testing.assert_allclose(reports[0].scores, reports[1].scores, atol=1e-3)


def test_hard_margins() -> None:
    apart = NEAR[np.abs(NEAR[:, 0]) > 0.3]
    far = apart + 1e8
    near, y = far - 1e8, np.where(apart[:, 0] > 0, "yes", "no")
    model = HardMarginSVM(tol=1e-6, random_state=0).fit(far, y)
    other = HardMarginSVM(tol=1e-6, random_state=0).fit(near, y)
    assert model.certificate_.status is Status.CONVERGED
    assert model.margin_ == pytest.approx(other.margin_, rel=1e-5)
    np.testing.assert_allclose(model.coef_, other.coef_, atol=1e-2)
    np.testing.assert_allclose(model.decision_function(far), other.decision_function(near), atol=1e-2)


@pytest.mark.parametrize(
    "X",
    [
        NEAR,
        NEAR + 1e3,
        (NEAR + 100.0).astype(np.float32),
        np.column_stack([NEAR, np.full(N, 1e9)]),
        np.full((N, 2), 1e9),
        np.zeros((N, 2)),
        np.zeros((N, 0)),
        NEAR[:1] + 1e9,
    ],
    ids=["near", "not so far", "float32", "a constant", "all constant", "zero", "no features", "one row"],
)
def test_nothing_is_copied_without_need(X: Any) -> None:
    rows = Rows(X)
    found = fold(rows, free=True)
    assert found.rows is rows
    w = np.ones(X.shape[1] + 1)
    assert found.original(w) is w
    assert found.folded(w) is w
    np.testing.assert_array_equal(found.intercept(w), [1.0])


def test_what_is_moved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    X = np.column_stack([moved([1e9, 0.0, 10.0])[0], np.full(N, 7.0)])
    rows = Rows(X)
    assert fold(rows).rows is rows  # of an intercept that is not free
    found = fold(rows, free=True)
    assert found.shift is not None
    np.testing.assert_array_equal(found.shift[1:], [0.0, 0.0, 7.0])
    np.testing.assert_array_equal(found.rows.matrix[:, :3] + [found.shift[0], 0.0, 0.0], X[:, :3])  # exactly
    assert np.abs(found.rows.matrix[:, 0].mean()) < 1e-6
    assert not found.rows.matrix[:, 3].any()
    w = RNG.normal(size=5)
    original = found.original(w)
    np.testing.assert_array_equal(original[:4], w[:4])
    np.testing.assert_allclose(X @ original[:4] + original[4], found.rows.scores(w[:4]) + w[4], atol=1e-5)
    np.testing.assert_allclose(found.folded(original), w, atol=1e-6)
    np.testing.assert_array_equal(found.original(w, np.zeros(4)), w[:4])
    monkeypatch.setattr(folding, "_MOST_MAPPED", 100)
    np.save(tmp_path / "rows.npy", X)
    mapped = Rows(np.load(tmp_path / "rows.npy", mmap_mode="r"))
    assert fold(mapped, free=True).rows is mapped
    assert fold(rows, free=True).shift is not None
