"""Block ascent for several classes: the optimum, texts that passes row by row do not learn, limits, warm starts."""

from __future__ import annotations

import threading
import time
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from linear.test_block_ascent import texts
from maxmargin import MulticlassSVM
from maxmargin.solvers import MulticlassBlockAscent, MulticlassInteriorPoint
from maxmargin.solvers.linear.crammer_singer import MulticlassTask
from maxmargin.solvers.linear.multiclass_block_ascent import BlocksRun
from maxmargin.solvers.linear.rows import Rows
from maxmargin.solvers.loop import Result, run_to_tolerance
from maxmargin.status import Status
from solvers.enumeration import multiclass_case

COSTS = {"zero_one": 1.0 - np.eye(3), "costs": np.array([[0, 1, 3], [2, 0, 0.5], [1, 1, 0]])}
EACH_INTERCEPT: dict[str, dict[str, bool]] = {
    "free": {},
    "penalized": {"penalize_intercept": True},
    "none": {"fit_intercept": False},
}
RNG = np.random.default_rng(5)
X = RNG.normal(size=(30, 4)) * (RNG.random((30, 4)) < 0.7)
Y = RNG.integers(0, 3, 30)
WEIGHT = RNG.integers(1, 4, 30) / 2.0


def solve(rows: Any, costs: Any, C: float, tol: float = 1e-8, block: int = 10, **options: Any) -> Result:
    task = MulticlassTask(Rows(rows), Y, costs, C, WEIGHT, tol, np.random.default_rng(0))
    return run_to_tolerance(task, MulticlassBlockAscent(block), **options)


@pytest.mark.parametrize("block", [2, 10, 512])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, lambda rows: rows.astype(np.float32)])
@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("C", [1e-6, 1e-3, 0.1, 3.0])
def test_the_optimum_is_reached(C: float, costs: str, form: Any, block: int) -> None:
    rows = np.round(4 * X) / 4
    result = solve(form(rows), COSTS[costs], C, block=block)
    assert result.certificate.status is Status.CONVERGED
    listed = multiclass_case(rows, Y, costs=COSTS[costs]).listed
    assert listed.primal(result.w, C * WEIGHT) == pytest.approx(result.certificate.primal, rel=1e-12)
    value = listed.optimum(C * WEIGHT)[1]
    assert value * (1 - 1e-6) <= result.certificate.dual <= result.certificate.primal <= value * (1 + 1e-6)


def test_bounds_hold_after_every_step() -> None:
    value = multiclass_case(X, Y, costs=COSTS["costs"]).listed.optimum(0.5 * WEIGHT)[1]
    seen: list[Any] = []
    solve(X, COSTS["costs"], 0.5, check_every=1, callback=lambda record, w: seen.append(record))
    assert len(seen) >= 6
    for record in seen:
        assert record.dual <= value * (1 + 1e-9) <= record.primal * (1 + 2e-9)


@pytest.mark.parametrize("C", [1e4, 1e8])
def test_rows_of_zeros_and_rows_alike(C: float) -> None:
    """The dual does not bend along them."""
    wide = np.random.default_rng(4).normal(size=(12, 40))
    rows = np.vstack([wide, wide, np.zeros((6, 40))])
    result = solve(rows, COSTS["costs"], C, tol=1e-6)
    assert result.certificate.status is Status.CONVERGED
    other = MulticlassTask(Rows(rows), Y, COSTS["costs"], C, WEIGHT, 1e-9, np.random.default_rng(0))
    exact = run_to_tolerance(other, MulticlassInteriorPoint()).certificate
    assert exact.dual * (1 - 1e-9) <= result.certificate.primal <= exact.primal * (1 + 2e-6)


def test_a_block_of_a_single_row() -> None:
    """All others are at their optimum: this one has to get there too."""
    rows, y = np.eye(4)[:, :3], np.array([0, 1, 2, 0])
    weight = np.array([1e-3, 1e-3, 1.0, 1e-3])
    task = MulticlassTask(Rows(rows), y, COSTS["costs"], 1.0, weight, 1e-10, np.random.default_rng(0))
    run = MulticlassBlockAscent(2).start(task)
    assert isinstance(run, BlocksRun)
    for _ in range(20):
        run.advance()
        np.testing.assert_allclose(run.W.T, task.weights_of(run.a), atol=1e-12)
    assert run_to_tolerance(task, MulticlassBlockAscent(2)).certificate.status is Status.CONVERGED


@pytest.mark.parametrize("intercept", EACH_INTERCEPT)
@pytest.mark.parametrize(("C", "tol"), [(1e6, 1e-6), (1e10, 1e-3)])
def test_rounding_of_a_large_C_does_not_add_up(C: float, tol: float, intercept: str) -> None:
    """The dual variable of the truth has no digits for what goes from it to the others."""
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(12, 60)), np.arange(12) % 4
    options: dict[str, Any] = {"tol": tol, "max_passes": 300} | EACH_INTERCEPT[intercept]
    for solver in ("block_ascent", "auto"):
        model = MulticlassSVM(C, solver=solver, random_state=0, **options).fit(rows, y)
        assert model.certificate_.status is Status.CONVERGED


@pytest.mark.parametrize("C", [1e-7, 1e-5, 1e-3])
def test_multipliers_wait_for_the_rows(C: float) -> None:
    """With small blocks they would go away from the optimum for ever faster."""
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(200, 5)), rng.choice(4, 200, p=[0.5, 0.3, 0.15, 0.05])
    rows[np.arange(200), y] += 1.0
    model = MulticlassSVM(C, solver=MulticlassBlockAscent(5), tol=1e-4, max_passes=600).fit(rows, y)
    assert model.certificate_.status is Status.CONVERGED
    assert max(record.primal for record in model.history_) < 10.0 * C * len(y)


@pytest.mark.parametrize("intercept", EACH_INTERCEPT)
@pytest.mark.parametrize("C", [1e2, 1e4, 1e6])
def test_texts_that_are_nearly_equal_are_learnt_whatever_C(C: float, intercept: str) -> None:
    """Coordinate ascent alone ends at the limit of passes, at a gap near 1."""
    rows = texts(1200, 9000, 8)
    y = np.random.default_rng(9).integers(0, 5, rows.shape[0])
    options: dict[str, Any] = {"C": C, "random_state": 0} | EACH_INTERCEPT[intercept]
    found = MulticlassSVM(**options).fit(rows, y)
    assert found.certificate_.status is Status.CONVERGED
    assert found.certificate_.passes < 10_000
    other = MulticlassSVM(solver="block_ascent", **options).fit(rows, y).certificate_
    assert other.status is Status.CONVERGED
    assert other.dual <= found.certificate_.primal
    assert found.certificate_.dual <= other.primal
    if C > 1e3:
        assert found.solver_ == "block_ascent"
        assert "have turns" in found.solver_reason_


def test_a_pass_limit_is_kept_and_leaves_the_best_so_far() -> None:
    rows = texts(800, 9000, 8)
    y = np.random.default_rng(9).integers(0, 5, rows.shape[0])
    highest = 0.0
    for limit in (2, 3, 5, 9, 30):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solver = MulticlassBlockAscent(100)
            model = MulticlassSVM(1e4, solver=solver, fit_intercept=False, max_passes=limit).fit(rows, y)
        assert model.certificate_.passes <= limit
        assert model.certificate_.primal <= min(record.primal for record in model.history_ if record.exact)
        assert model.certificate_.dual >= highest * (1.0 - 1e-12)
        highest = model.certificate_.dual
    assert highest > 0.0


def test_a_limit_of_time_ends_it_within_a_step() -> None:
    rows = texts(4000, 20_000, 8)
    y = np.random.default_rng(9).integers(0, 5, rows.shape[0])
    MulticlassSVM(1.0, solver="block_ascent").fit(rows[:40], y[:40])  # compiles
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MulticlassSVM(1e6, solver="block_ascent", max_time=0.5, tol=1e-9).fit(rows, y)
    assert model.certificate_.status is Status.TIME_LIMIT
    assert time.perf_counter() - begin < 10.0
    assert 0.0 <= model.certificate_.dual <= model.certificate_.primal


def test_a_warm_start_goes_on_with_what_the_fit_before_ended_with() -> None:
    rows = texts(800, 6000, 8)
    y = np.random.default_rng(9).integers(0, 5, rows.shape[0])
    model = MulticlassSVM(1e4, warm_start=True, random_state=0).fit(rows, y)
    assert model.solver_ == "block_ascent"
    first = model.certificate_.passes
    model.fit(rows, y)
    assert model.solver_ == "block_ascent"
    assert model.certificate_.passes < 0.1 * first
    model.set_params(C=1.1e4).fit(rows, y)
    assert model.certificate_.status is Status.CONVERGED
    assert model.certificate_.passes < 0.1 * first


def test_threads_and_seeds_make_no_difference() -> None:
    rows = texts(400, 4000, 8)
    y = np.random.default_rng(9).integers(0, 4, rows.shape[0])
    wanted = MulticlassSVM(1e3, solver="block_ascent", random_state=0).fit(rows, y).coef_
    found: dict[int, Any] = {}

    def fit(seed: int) -> None:
        found[seed] = MulticlassSVM(1e3, solver="block_ascent", random_state=seed).fit(rows, y).coef_

    threads = [threading.Thread(target=fit, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for coef in found.values():
        np.testing.assert_array_equal(coef, wanted)


@pytest.mark.parametrize("block", [1, 2.5, True, "many"])
def test_a_block_is_a_number_of_rows(block: Any) -> None:
    with pytest.raises(ValueError, match="block must be an integer of at least 2"):
        MulticlassBlockAscent(block)
