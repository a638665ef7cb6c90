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
from maxmargin import (
    HardMarginSVM,
    MulticlassSVM,
    SVMClassifier,
    SVMRegressor,
    kkt_report,
    load_model,
    save_model,
    svm_path,
)
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


def joint(m: Any, rows: Any = None, **options: Any) -> MulticlassSVM:
    """Several classes at once."""
    far = moved(m)[0] if rows is None else rows
    return MulticlassSVM(**(dict(C=10.0, random_state=0) | options)).fit(far, THREE)


def joint_objective(model: MulticlassSVM, m: Any, C: float) -> float:
    """At the weights of the model, of the rows near the origin, whose intercepts are exact sums."""
    near = moved(m)[1]
    shift = np.broadcast_to(m, 3)
    b = [math.fsum([b, *(w * shift).tolist()]) for w, b in zip(model.coef_, model.intercept_.tolist(), strict=True)]
    scores = near @ model.coef_.T + b
    lost = scores - scores[np.arange(N), THREE][:, None] + (np.arange(3) != THREE[:, None])
    return 0.5 * float((model.coef_**2).sum()) + C * float(lost.max(1).sum())


@pytest.mark.parametrize("solver", ["auto", "coordinate_ascent", "interior_point"])
@pytest.mark.parametrize("m", OFFSETS.values(), ids=OFFSETS)
def test_several_classes_at_once(m: Any, solver: str) -> None:
    expected = joint(0.0, moved(m)[1], tol=1e-7).certificate_
    model = joint(m, tol=1e-5, solver=solver)
    found = model.certificate_
    assert found.status is Status.CONVERGED
    assert found.dual <= expected.primal * (1 + 1e-9)
    assert expected.dual * (1 - 1e-9) <= found.primal <= expected.primal * (1 + 1.1e-5)
    # an intercept of 1e9 cannot be nearer to what it stands for than a tenth of a millionth
    assert joint_objective(model, m, 10.0) == pytest.approx(found.primal, rel=1e-4)
    assert model.score(moved(m)[0], THREE) == pytest.approx(joint(0.0, moved(m)[1], tol=1e-5).score(moved(m)[1], THREE))


def test_several_classes_at_once_of_any_kind() -> None:
    m = np.array([1e6, -2e5, 3e4])
    X = moved(m)[0]
    expected = joint(m, tol=1e-6)
    order = RNG.permutation(N)
    same = MulticlassSVM(10.0, tol=1e-6, random_state=0).fit(X[order], THREE[order])
    np.testing.assert_array_equal(same.coef_, expected.coef_)  # of small sets whatever the order of the rows
    np.testing.assert_array_equal(same.intercept_, expected.intercept_)
    for rows in (np.asfortranarray(X), pd.DataFrame(X)):
        np.testing.assert_array_equal(joint(m, rows, tol=1e-6).coef_, expected.coef_)
    single = joint(m, X.astype(np.float32), tol=1e-6)
    assert single.certificate_.status is Status.CONVERGED
    twice = MulticlassSVM(10.0, tol=1e-6, random_state=0).fit(X, THREE, sample_weight=np.full(N, 2.0))
    copies = MulticlassSVM(10.0, tol=1e-6, random_state=0).fit(np.vstack([X, X]), np.tile(THREE, 2))
    np.testing.assert_array_equal(twice.coef_, copies.coef_)
    costs = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    far = MulticlassSVM(loss=costs, tol=1e-6, random_state=0).fit(X, THREE, margin=1.0 + np.arange(N) % 2)
    near = MulticlassSVM(loss=costs, tol=1e-6, random_state=0).fit(X - m, THREE, margin=1.0 + np.arange(N) % 2)
    assert far.certificate_.primal == pytest.approx(near.certificate_.primal, rel=2e-6)


def test_several_classes_at_once_go_on_from_one_another() -> None:
    m = np.array([1e6, -2e5, 3e4])
    X = moved(m)[0]
    told: list[Reals] = []
    warm = MulticlassSVM(random_state=0, warm_start=True, tol=1e-5, callback=lambda record, w: told.append(w.copy()))
    for C in (0.1, 1.0, 10.0, 0.3):
        warm.set_params(C=C).fit(X, THREE)
        cold = MulticlassSVM(C, random_state=0, tol=1e-5).fit(X, THREE)
        assert warm.certificate_.status is Status.CONVERGED
        assert warm.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=2e-5)
    # again with the same C: nothing is to be done, whatever way back and forth the intercepts have gone
    assert warm.fit(X, THREE).n_iter_ <= 3
    # other rows have another mean
    other = warm.fit(X[:40], THREE[:40]).certificate_
    alone = MulticlassSVM(0.3, random_state=0, tol=1e-5).fit(X[:40], THREE[:40]).certificate_
    assert other.primal == pytest.approx(alone.primal, rel=2e-5)
    # callbacks see weights for the rows as they are
    model = MulticlassSVM(10.0, random_state=0, solver="interior_point", callback=lambda r, w: told.append(w.copy()))
    model.fit(X, THREE)
    W = told[-1].reshape(4, 3)
    np.testing.assert_allclose(W[:3].T, model.coef_, atol=0.02 * np.abs(model.coef_).max())
    biases = W[3] - W[3].mean()  # of a constant feature, whose value is a power of 2
    constant = float(model.intercept_ @ biases) / float(biases @ biases)
    assert math.log2(constant) == pytest.approx(round(math.log2(constant)), abs=0.05)
    np.testing.assert_allclose(constant * biases, model.intercept_, rtol=0.05)


# where the distance counts: the intercept is penalised, or there is none

KEPT = [{"fit_intercept": False}, {"penalize_intercept": True}]
ASKEW = np.linalg.qr(np.column_stack([np.ones(6), np.random.default_rng(1).normal(size=(6, 5))]))[0]


def spread(m: Any, n: int = 200) -> tuple[Reals, Reals]:
    """Rows at a distance in all of six features, and noisy values that they explain."""
    rng = np.random.default_rng(2)
    near = rng.normal(size=(n, 6))
    return near + m, near[:, 0] - near[:, 3] + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize("options", KEPT, ids=["none", "penalized"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.1, 1e5])
def test_a_distance_that_counts_is_brought_into_one_feature(loss: str, C: float, options: Any) -> None:
    """The answer is that of rows turned by another rotation, and found in as few passes; of any ``C``."""
    far, values = spread([3e3, -1e3, 2e3, 3e3, 1e3, -2e3])
    y = values if "epsilon" in loss else np.where(values > 0.0, 1, -1)
    model = machine(loss, C=C, tol=1e-6, **options).fit(far, y)
    other = machine(loss, C=C, tol=1e-9, **options).fit(far @ ASKEW, y)
    assert model.certificate_.status is Status.CONVERGED
    assert model.certificate_.passes <= 500
    least, most = other.certificate_.dual, other.certificate_.primal
    assert model.certificate_.dual <= most * (1 + 1e-9)
    assert least * (1 - 1e-9) <= model.certificate_.primal <= most * (1 + 2e-6)
    w, b = np.ravel(model.coef_).astype(np.longdouble), np.longdouble(np.ravel(model.intercept_)[0])
    f = far @ w + b
    slack = np.maximum(np.abs(values - f) - 0.1 if "epsilon" in loss else 1.0 - y * f, 0.0)
    costs = np.logaddexp(0.0, -y * f) if loss == "logistic" else slack**2 if "squared" in loss else slack
    value = float(0.5 * (w @ w + (b * b if "penalize_intercept" in options else 0.0)) + C * costs.sum())
    assert model.certificate_.primal == pytest.approx(value, rel=1e-7)


@pytest.mark.parametrize("options", KEPT, ids=["none", "penalized"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [1.0, 1e3, 1e6])
def test_no_distance_that_counts_stops_a_fit(loss: str, C: float, options: Any) -> None:
    rng = np.random.default_rng(2)
    near = rng.normal(size=(300, 30))
    values = near[:, :5].sum(1) + 0.5 * rng.normal(size=300)
    y = values if "epsilon" in loss else np.where(values > 0.0, 1, -1)
    found = machine(loss, C=C, tol=1e-5, **options).fit(near + 1e6, y).certificate_
    assert found.status is Status.CONVERGED
    assert found.passes <= 500


@pytest.mark.parametrize("m", [1e2, 1e4, [1e9, 0.0, -1e7, 0.0, 3e5, 1.0]], ids=str)
def test_what_is_reflected(m: Any) -> None:
    far = spread(m)[0]
    rows = Rows(far)
    found = fold(rows)
    if m == 1e2:
        assert found.rows is rows
        return
    assert found.mirror is not None
    turned = found.rows.matrix
    # each product is as right as its rows are: a few last digits of the longest numbers in them
    lengths = np.linalg.norm(far, axis=1)
    assert (np.abs(turned @ turned.T - far @ far.T) <= 1e-14 * np.outer(lengths, lengths)).all()
    means = np.abs(turned.mean(0))
    assert np.sort(means)[-2] < 1.0 < means.max() == pytest.approx(np.linalg.norm(far.mean(0)), rel=1e-6)
    assert (turned.std(0)[means < 1.0] < 2.0).all()  # what tells rows apart keeps its digits
    w = RNG.normal(size=7)
    np.testing.assert_allclose(found.folded(found.original(w)), w, rtol=0.0, atol=1e-14)
    assert found.original(w)[6] == w[6]
    np.testing.assert_allclose(far @ found.original(w)[:6], turned @ w[:6], rtol=0.0, atol=1e-14 * lengths.max() * 10.0)
    np.testing.assert_array_equal(found.original(w, np.zeros(6)), found.original(w)[:6])
    assert fold(rows, free=True).mirror is None
    one = Rows(np.column_stack([far[:, 0], NEAR.ravel()[:180].repeat(2)[:200]]))
    assert fold(one).rows is one  # it is in one feature


@pytest.mark.parametrize("options", KEPT, ids=["none", "penalized"])
def test_reflected_rows_everywhere(options: Any, tmp_path: Path) -> None:
    """Paths, warm starts, callbacks, several classes, hard margins and model files know features as they were given."""
    far, values = spread(1e4)
    y = np.where(values > 0.0, 1, -1)
    path = svm_path(far, y, [0.01, 1.0, 100.0], tol=1e-6, random_state=0, **options)
    seen: list[Reals] = []
    model = SVMClassifier(0.01, tol=1e-6, warm_start=True, random_state=0, **options)
    for C, found in zip(path.Cs.tolist(), path.models, strict=True):
        model.set_params(C=C, callback=lambda record, w: seen.append(w.copy())).fit(far, y)
        assert found.certificate_.primal == pytest.approx(model.certificate_.primal, rel=3e-6)
        np.testing.assert_allclose(found.coef_, model.coef_, atol=1e-2)
        np.testing.assert_array_equal(seen[-1][:6], model.coef_[0])
    assert kkt_report(model, far, y).stationarity < 1.0
    saved = tmp_path / "model"
    save_model(model, saved)
    np.testing.assert_array_equal(load_model(saved).decision_function(far), model.decision_function(far))
    three = np.digitize(values, [-0.5, 0.5])
    for kind in ("ovr", "ovo"):
        many = SVMClassifier(10.0, multi_class=kind, tol=1e-5, random_state=0, **options).fit(far, three)
        assert many.certificate_.status is Status.CONVERGED
        assert many.score(far, three) > 0.8
    apart = np.abs(values) > 1.0
    hard = HardMarginSVM(tol=1e-6, **options).fit(far[apart], y[apart])
    turned = HardMarginSVM(tol=1e-6, **options).fit(far[apart] @ ASKEW, y[apart])
    assert hard.margin_ == pytest.approx(turned.margin_, rel=1e-4)
    np.testing.assert_allclose(hard.coef_ @ ASKEW, turned.coef_, atol=1e-3)


@pytest.mark.parametrize("options", KEPT, ids=["none", "penalized"])
@pytest.mark.parametrize("C", [0.01, 1.0, 1e3])
def test_several_classes_at_a_distance_that_counts(C: float, options: Any) -> None:
    rng = np.random.default_rng(2)
    near = rng.normal(size=(300, 30))
    y = (near[:, :9].reshape(300, 3, 3).sum(2) + 0.5 * rng.normal(size=(300, 3))).argmax(1)
    far = near + 1e6
    seen: list[Reals] = []
    model = MulticlassSVM(C, tol=1e-4, random_state=0, warm_start=True, **options)
    model.set_params(callback=lambda record, w: seen.append(w.copy())).fit(far, y)
    found = model.certificate_
    assert found.status is Status.CONVERGED
    assert found.passes <= 100
    W = model.coef_.astype(np.longdouble)
    scores = far @ W.T + model.intercept_
    lost = (scores + (np.arange(3) != y[:, None])).max(1) - scores[np.arange(300), y]
    bias = float((model.intercept_**2).sum()) if "penalize_intercept" in options else 0.0
    assert found.primal == pytest.approx(float(0.5 * ((W * W).sum() + bias) + C * lost.sum()), rel=1e-6)
    np.testing.assert_array_equal(seen[-1].reshape(-1, 3)[:30].T, model.coef_)
    rotation = np.linalg.qr(np.column_stack([np.ones(30), rng.normal(size=(30, 29))]))[0]
    other = MulticlassSVM(C, tol=1e-6, random_state=0, **options).fit(far @ rotation, y).certificate_
    assert found.dual <= other.primal * (1 + 1e-7)
    assert other.dual * (1 - 1e-7) <= found.primal <= other.primal * (1 + 2e-4)
    again = model.fit(far, y).certificate_  # from the weights as given, and the dual point
    assert again.passes <= found.passes
    assert again.primal == pytest.approx(found.primal, rel=2e-4)
