"""The multiclass machine by coordinate ascent: optimum, projections, certificates, forms of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import maxmargin.solvers.linear.crammer_singer as crammer_singer
from maxmargin.solvers.linear.automatic import Automatic
from maxmargin.solvers.linear.crammer_singer import CrammerSinger, MulticlassTask
from maxmargin.solvers.linear.rows import Rows
from maxmargin.solvers.linear.simplex import project
from maxmargin.solvers.loop import Record, Result, run_to_tolerance
from maxmargin.status import Status
from solvers.enumeration import multiclass_case

RNG = np.random.default_rng(2)
X = RNG.normal(size=(30, 4)) * (RNG.random((30, 4)) < 0.7)
Y = RNG.integers(0, 3, 30)
WEIGHT = RNG.integers(1, 4, 30) / 2.0
COSTS = {"zero_one": 1.0 - np.eye(3), "costs": np.array([[0, 1, 3], [2, 0, 0.5], [1, 1, 0]])}


def solve(rows: Any, costs: Any, C: float, tol: float = 1e-7, **options: Any) -> Result:
    task = MulticlassTask(Rows(rows), Y, costs, C, WEIGHT, tol, np.random.default_rng(0))
    shrinking = options.pop("shrinking", True)
    return run_to_tolerance(task, CrammerSinger(shrinking), max_passes=options.pop("max_passes", 30_000), **options)


@pytest.mark.parametrize("shrinking", [True, False])
@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("C", [1e-3, 0.1, 3.0])
def test_the_optimum_is_reached(C: float, costs: str, shrinking: bool) -> None:
    listed = multiclass_case(X, Y, costs=COSTS[costs]).listed
    value = listed.optimum(C * WEIGHT)[1]
    result = solve(X, COSTS[costs], C, shrinking=shrinking)
    assert result.certificate.status is Status.CONVERGED
    assert listed.primal(result.w, C * WEIGHT) == pytest.approx(result.certificate.primal, rel=1e-12)
    assert result.certificate.primal <= value * (1 + 1e-6)
    assert value * (1 - 1e-6) <= result.certificate.dual <= value * (1 + 1e-9)


def test_the_optimum_lies_between_dual_and_primal_after_every_pass() -> None:
    listed = multiclass_case(X, Y, costs=COSTS["costs"]).listed
    value = listed.optimum(0.5 * WEIGHT)[1]
    seen: list[tuple[Record, Any]] = []
    solve(X, COSTS["costs"], 0.5, max_passes=60, check_every=1, callback=lambda r, w: seen.append((r, w.copy())))
    assert len(seen) >= 20
    for record, w in seen:
        assert record.exact
        assert record.primal == pytest.approx(listed.primal(w, 0.5 * WEIGHT), rel=1e-10)
        assert record.dual <= value * (1 + 1e-9) <= record.primal * (1 + 2e-9)


@pytest.mark.parametrize(
    "form", [sp.csr_matrix, sp.csc_matrix, np.asfortranarray, lambda rows: rows.astype(np.float32)]
)
def test_every_form_of_the_rows_gives_the_same_problem(form: Any) -> None:
    rows = np.round(4 * X)
    expected = solve(rows, COSTS["zero_one"], 0.1).certificate.primal
    assert solve(form(rows), COSTS["zero_one"], 0.1).certificate.primal == pytest.approx(expected, rel=1e-6)


def test_a_row_of_zeros_costs_what_its_class_loses() -> None:
    result = solve(np.zeros((30, 2)), COSTS["costs"], 1.0)
    assert result.certificate.primal == pytest.approx(float(WEIGHT @ COSTS["costs"][Y].max(1)))
    np.testing.assert_array_equal(result.w, np.zeros(6))


def test_the_projection_onto_a_simplex_is_the_nearest_point() -> None:
    rng = np.random.default_rng(1)
    for n in (1, 2, 5, 20):
        for total in (1e-3, 1.0, 50.0):
            point = rng.normal(size=n) * 10 ** rng.uniform(-2, 2)
            some = rng.choice(n, rng.integers(1, n + 1), replace=False)  # any entries give a level that is not too high
            for start in (-np.inf, (point[some].sum() - total) / len(some)):
                found = point.copy()
                project(found, n, total, start)
                assert found.min() >= 0
                assert found.sum() == pytest.approx(total, rel=1e-9)
                # optimality: what was taken away is the same where something is left, and at most that elsewhere
                taken = point - found
                level = taken[found > 0]
                assert np.ptp(level) <= 1e-9 * (1 + np.abs(level).max())
                assert (taken <= level.max() + 1e-9 * (1 + np.abs(point).max())).all()


def few_at_work(tol: float = 1e-6, free: bool = False) -> MulticlassTask:
    """Of 600 rows few have more than one class at the optimum."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(600, 5))
    y = (X @ rng.normal(size=(5, 4)) + 0.3 * rng.normal(size=(600, 4))).argmax(1)
    X = np.column_stack([X, np.full(600, 0.5)]) if free else X
    return MulticlassTask(Rows(X), y, 1.0 - np.eye(4), 1.0, np.ones(600), tol, np.random.default_rng(0), free=free)


def test_short_passes_are_made_several_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    visits: list[tuple[Any, Any]] = []
    visit = crammer_singer._visit

    def watched(*args: Any) -> None:
        visit(*args)
        visits.append((args[12], args[13]))

    monkeypatch.setattr(crammer_singer, "_visit", watched)
    run = CrammerSinger(shrinking=True).start(few_at_work())
    steps = []
    for _ in range(60):
        visits.clear()
        steps.append(run.advance())
        order = np.concatenate([rows for rows, _ in visits])
        kept = np.concatenate([kept for _, kept in visits])
        if steps[-1].ready or run.visited.all():  # a leap, or all rows at work: they are taken back
            continue
        last = len(order) // steps[-1].passes  # the last of the passes decides
        assert len(set(order[-last:].tolist())) == last
        np.testing.assert_array_equal(np.flatnonzero(run.visited), np.sort(order[-last:][kept[-last:]]))
    assert steps[0].passes == 1
    assert max(step.passes for step in steps) > 2
    assert all(step.work <= 1.0 + 1e-12 for step in steps if not step.ready)  # no more than a pass over all rows
    several = next(step for step in reversed(steps) if step.passes > 2 and not step.ready)
    run.at_once = 1
    one = run.advance()
    assert one.passes == 1
    assert 0.5 <= several.gap / one.gap <= 2.0  # of a pass, not of all of them
    np.testing.assert_allclose(run.W, run.task.weights_of(run.a).T, atol=1e-9)
    assert run.dual() == pytest.approx(one.dual, rel=1e-9)


def test_multipliers_that_have_far_to_go_move_after_each_pass() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=2000)
    y = np.clip(np.round(x + 0.3 * rng.normal(size=2000)) + 1, 0, 3).astype(int)
    rows = Rows(np.column_stack([x, np.full(2000, 0.25)]))
    task = MulticlassTask(rows, y, 1.0 - np.eye(4), 0.05, np.ones(2000), 1e-6, np.random.default_rng(0), free=True)
    run = CrammerSinger().start(task)
    several, alone = 0, 0
    for _ in range(150):
        settled = run.settled
        passes = run.advance().passes
        assert settled or passes == 1
        several += passes > 1
        alone += not settled and run.visited.mean() < 0.5
    assert several > 0
    assert alone > 0


@pytest.mark.parametrize("solver", [CrammerSinger(), Automatic()])
def test_steps_of_several_passes_end_where_an_evaluation_is_due(solver: Any) -> None:
    told: list[Record] = []
    run_to_tolerance(few_at_work(1e-9), solver, max_passes=150, check_every=3, callback=lambda r, w: told.append(r))
    exact = {record.passes for record in told if record.exact}
    assert {record.passes for record in told if record.passes % 3 == 0} <= exact
    assert len(exact) >= 45


@pytest.mark.parametrize("free", [False, True])
def test_a_few_long_rows_do_not_keep_all_others_at_work(monkeypatch: pytest.MonkeyPatch, free: bool) -> None:
    """What they violate is large in scores, and small in weights, which is what moves the scores of the others."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 5))
    y = (X @ rng.normal(size=(5, 4)) + 0.3 * rng.normal(size=(3000, 4))).argmax(1)
    X[::100] *= 100.0
    X = np.column_stack([X, np.ones(3000)]) if free else X
    task = MulticlassTask(Rows(X), y, 1.0 - np.eye(4), 1.0, np.ones(3000), 1e-3, np.random.default_rng(0), free=free)
    work = []
    advance = crammer_singer.CrammerSingerRun.advance

    def counted(run: Any) -> Any:
        work.append(0.0)
        step = advance(run)
        work[-1] = step.work
        return step

    monkeypatch.setattr(crammer_singer.CrammerSingerRun, "advance", counted)
    result = run_to_tolerance(task, CrammerSinger(), max_passes=10_000)
    assert result.certificate.status is Status.CONVERGED
    assert sum(work) < 0.25 * result.certificate.passes
