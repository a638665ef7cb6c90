"""The multiclass machine by interior point, and the automatic choice: optimum, scales, limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import datasets

from maxmargin import MulticlassSVM
from maxmargin.errors import DataError
from maxmargin.solvers.base import WarmStart
from maxmargin.solvers.linear.automatic import Automatic
from maxmargin.solvers.linear.crammer_singer import MulticlassTask
from maxmargin.solvers.linear.multiclass_interior_point import MulticlassInteriorPoint, MulticlassInteriorRun
from maxmargin.solvers.linear.rows import Rows
from maxmargin.solvers.loop import Result, run_to_tolerance
from maxmargin.status import Status
from solvers.enumeration import multiclass_case

RNG = np.random.default_rng(5)
X = RNG.normal(size=(30, 4)) * (RNG.random((30, 4)) < 0.7)
Y = RNG.integers(0, 3, 30)
WEIGHT = RNG.integers(1, 4, 30) / 2.0
COSTS = {"zero_one": 1.0 - np.eye(3), "costs": np.array([[0, 1, 3], [2, 0, 0.5], [1, 1, 0]])}


def solve(rows: Any, costs: Any, C: float, tol: float = 1e-8, solver: Any = None, **options: Any) -> Result:
    task = MulticlassTask(Rows(rows), Y, costs, C, WEIGHT, tol, np.random.default_rng(0))
    return run_to_tolerance(task, solver or MulticlassInteriorPoint(), **options)


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("C", [1e-6, 1e-3, 0.1, 3.0, 1e4])
def test_the_optimum_is_reached(C: float, costs: str) -> None:
    result = solve(X, COSTS[costs], C)
    assert result.certificate.status is Status.CONVERGED
    assert result.certificate.passes < 40
    listed = multiclass_case(X, Y, costs=COSTS[costs]).listed
    assert listed.primal(result.w, C * WEIGHT) == pytest.approx(result.certificate.primal, rel=1e-12)
    if C < 1e3:  # where the general program is exact enough
        value = listed.optimum(C * WEIGHT)[1]
        assert value * (1 - 1e-6) <= result.certificate.dual <= result.certificate.primal <= value * (1 + 1e-6)


def test_bounds_hold_after_every_iteration() -> None:
    listed = multiclass_case(X, Y, costs=COSTS["costs"]).listed
    value = listed.optimum(0.5 * WEIGHT)[1]
    seen: list[Any] = []
    solve(X, COSTS["costs"], 0.5, check_every=1, callback=lambda r, w: seen.append((r, w.copy())))
    assert len(seen) >= 6
    for record, w in seen:
        assert record.primal == pytest.approx(listed.primal(w, 0.5 * WEIGHT), rel=1e-10)
        assert record.dual <= value * (1 + 1e-9) <= record.primal * (1 + 2e-9)


@pytest.mark.parametrize("form", [sp.csr_matrix, np.asfortranarray, lambda rows: rows.astype(np.float32)])
def test_every_form_of_the_rows(form: Any) -> None:
    rows = np.round(4 * X)
    expected = solve(rows, COSTS["zero_one"], 0.1).certificate.primal
    assert solve(form(rows), COSTS["zero_one"], 0.1).certificate.primal == pytest.approx(expected, rel=1e-7)


def test_a_row_of_zeros_costs_what_its_class_loses() -> None:
    result = solve(np.zeros((30, 2)), COSTS["costs"], 1.0)
    assert result.certificate.primal == pytest.approx(float(WEIGHT @ COSTS["costs"][Y].max(1)))
    assert np.abs(result.w).max() < 1e-12


@pytest.mark.parametrize("factor", [1e-6, 1e3, 1e8])
def test_scaled_rows_with_a_scaled_C_are_the_same_problem(factor: float) -> None:
    one = solve(X, COSTS["zero_one"], 1.0)
    other = solve(X * factor, COSTS["zero_one"], factor**-2)
    np.testing.assert_allclose(other.w * factor, one.w, rtol=1e-3, atol=1e-4 * np.abs(one.w).max())
    assert other.certificate.primal * factor**2 == pytest.approx(one.certificate.primal, rel=1e-7)


def test_features_of_any_scales() -> None:
    scales = np.array([1e-4, 1.0, 1e3, 1e6])
    result = solve(X * scales, COSTS["zero_one"], 1.0, solver=Automatic(), max_passes=200)
    assert result.certificate.status is Status.CONVERGED
    assert result.certificate.relative_gap <= 1e-8


@pytest.mark.parametrize("C", [1e5, 1e7, 1e9])
def test_bounds_are_true_at_a_large_C(C: float) -> None:
    """Separable: the optimum is that of the hard margin, whatever the C."""
    for seed in range(6):
        rows, y = datasets.make_blobs(60, 8, centers=4, random_state=seed)
        model = MulticlassSVM(C, tol=1e-6, random_state=0).fit(rows, y)
        certificate = model.certificate_
        assert certificate.status is Status.CONVERGED
        exact = MulticlassSVM(10.0, tol=1e-9, solver="interior_point").fit(rows, y).certificate_
        assert exact.risk_bound < 1e-6  # no slack there either
        assert certificate.dual <= exact.primal * (1 + 1e-7)
        assert certificate.primal >= exact.dual * (1 - 1e-7)


@pytest.mark.parametrize("solver", ["auto", "coordinate_ascent", "interior_point", "block_ascent"])
@pytest.mark.parametrize("kind", ["weight", "row", "C", "costs"])
def test_tiny_beside_large(solver: str, kind: str) -> None:
    """A step of a row is then far beyond its simplex."""
    weight, rows, C, costs = np.ones(30), X.copy(), 1.0, COSTS["zero_one"]
    if kind == "weight":
        weight[5] = 1e-18
    elif kind == "row":
        rows[5] *= 1e-9
    elif kind == "C":
        C = 1e-17
    else:
        costs = 1e16 * costs
    model = MulticlassSVM(C, loss=costs, solver=solver, random_state=0, max_passes=20_000).fit(rows, Y, weight)
    assert np.isfinite(model.coef_).all()
    assert model.certificate_.status is Status.CONVERGED
    assert model.certificate_.relative_gap <= 1e-3


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["auto", "interior_point"])
def test_numbers_too_large_for_any_bound_leave_no_nonsense(solver: str) -> None:
    model = MulticlassSVM(solver=solver, random_state=0, max_passes=60).fit(X * 9e99 / np.abs(X).max(), Y)
    assert np.isfinite(model.coef_).all()
    assert 0.0 <= model.certificate_.dual <= model.certificate_.primal <= 30.0  # that of weights 0


def test_too_many_weights_are_refused() -> None:
    rows, y = sp.csr_matrix((5000, 5000)), np.arange(5000) % 3
    task = MulticlassTask(Rows(rows), y, COSTS["zero_one"], 1.0, np.ones(5000), 1e-3, np.random.default_rng(0))
    with pytest.raises(DataError, match="up to 10000 weights; those of 3 classes are 15000"):
        run_to_tolerance(task, MulticlassInteriorPoint())


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer"])
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
def test_unscaled_data(name: str, C: float) -> None:
    rows, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    model = MulticlassSVM(C, tol=1e-6, random_state=0, penalize_intercept=True).fit(rows, y)
    assert model.certificate_.status is Status.CONVERGED
    assert model.certificate_.relative_gap <= 1e-6
    if C == 1.0:
        assert model.solver_ == "interior_point"
        assert "more passes" in model.solver_reason_
        other = MulticlassSVM(C, tol=1e-9, solver="one_slack", max_time=20.0, penalize_intercept=True)
        exact = other.fit(rows, y).certificate_
        assert exact.dual <= model.certificate_.primal * (1 + 1e-9)
        assert model.certificate_.primal <= exact.primal * (1 + 2e-6)


def test_the_choice() -> None:
    easy = MulticlassSVM(0.1, random_state=0).fit(RNG.normal(size=(500, 20)) / 5.0, RNG.integers(0, 4, 500))
    assert easy.solver_ == "coordinate_ascent"
    assert "cheap" in easy.solver_reason_
    hard = MulticlassSVM(1e3, random_state=0, warm_start=True).fit(X, Y)
    assert hard.solver_ == "interior_point"
    assert hard.set_params(C=2e3).fit(X, Y).solver_reason_ == "the fit that this one begins with ended with it"
    assert "ended with it" not in hard.set_params(C=0.01).fit(X, Y).solver_reason_


def test_coordinate_ascent_that_would_not_end_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the second method costs more than all passes that there are."""
    from maxmargin.solvers.linear import automatic

    monkeypatch.setattr(automatic, "multiclass_in_passes", lambda task: 1e9)
    result = solve(X * [1.0, 1.0, 100.0, 1e3], COSTS["zero_one"], 10.0, solver=Automatic(), max_passes=1000)
    assert result.certificate.status is Status.CONVERGED
    assert result.certificate.solver == "interior_point"


@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e8])
def test_the_start_is_on_the_central_path(C: float, costs: str) -> None:
    weight = WEIGHT * np.logspace(-6, 6, len(Y))
    task = MulticlassTask(Rows(X), Y, COSTS[costs], C, weight, 1e-3, np.random.default_rng(0))
    run = MulticlassInteriorRun(task)
    assert not run.W.any()
    assert np.ptp(run.a * run.low) <= 1e-12 * (run.a * run.low).max()
    assert run.a.sum(1) == pytest.approx(task.c, rel=1e-9)
    assert run.low == pytest.approx(run.t[:, None] - COSTS[costs][Y], rel=1e-9)
    assert (run.low > 0.0).all()


def test_the_bound_of_each_step_is_below_the_optimum() -> None:
    """Also while the weights are not those of the dual point."""
    best = solve(X * [1.0, 10.0, 100.0, 1e3], COSTS["costs"], 2.0, tol=1e-10).certificate.primal
    task = MulticlassTask(
        Rows(X * [1.0, 10.0, 100.0, 1e3]), Y, COSTS["costs"], 2.0, WEIGHT, 1e-8, np.random.default_rng(0)
    )
    run = MulticlassInteriorRun(task)
    steps = [run.advance() for _ in range(15)]
    assert run.off < 1.0
    assert all(step.dual <= best * (1.0 + 1e-9) for step in steps)
    assert steps[-1].dual > 0.9 * best


@pytest.mark.parametrize("scale", [1e3, 1e10, 1e14, 1e16, 1e30, 1e100])
@pytest.mark.parametrize("penalized", [True, False])
def test_two_rows_at_any_distance(scale: float, penalized: bool) -> None:
    rows = np.array([[0.0], [scale]])
    model = MulticlassSVM(penalize_intercept=penalized, solver="interior_point", max_passes=600).fit(rows, [0, 1])
    assert model.certificate_.status is Status.CONVERGED
    # of weights w and -w and intercepts b and -b: b alone tells the rows apart, or w does
    optimum = 0.25 if penalized else scale**-2
    assert model.certificate_.primal == pytest.approx(optimum, rel=2e-3)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("width", [8, 3000])
def test_known_weights_are_a_better_start_than_none(width: int, free: bool) -> None:
    rng = np.random.default_rng(0)
    n = 2000 if width < 100 else 60
    rows = rng.normal(size=(n, width))
    scores = rows[:, :8] @ rng.normal(size=(8, 4)) + rng.normal(size=(n, 4))
    rows = np.column_stack([rows, np.ones(n)]) if free else rows

    def fit(warm: WarmStart | None, C: float = 0.1) -> Result:
        task = MulticlassTask(
            Rows(rows), scores.argmax(1), 1.0 - np.eye(4), C, np.ones(n), 1e-6, np.random.default_rng(0), free=free
        )
        task.warm = warm
        return run_to_tolerance(task, MulticlassInteriorPoint())

    cold = fit(None)
    warm = fit(WarmStart(cold.w + 1e-3 * np.abs(cold.w).max() * rng.normal(size=len(cold.w))))
    assert warm.certificate.status is cold.certificate.status is Status.CONVERGED
    assert warm.certificate.primal == pytest.approx(cold.certificate.primal, rel=2e-6)
    assert warm.certificate.passes < cold.certificate.passes
    # weights that are worse than none do no harm
    bad = fit(WarmStart(1e3 * cold.w))
    assert bad.certificate.passes == cold.certificate.passes
