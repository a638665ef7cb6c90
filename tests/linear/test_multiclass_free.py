"""Free intercepts of the multiclass machine: optimum, bounds, feasible dual points, the best intercepts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import linprog

from maxmargin.solvers.linear.automatic import Automatic
from maxmargin.solvers.linear.biases import balanced, stationary
from maxmargin.solvers.linear.crammer_singer import CrammerSinger, MulticlassTask
from maxmargin.solvers.linear.multiclass_block_ascent import MulticlassBlockAscent
from maxmargin.solvers.linear.multiclass_free import best_biases, better_biases, objective_at_zero
from maxmargin.solvers.linear.multiclass_interior_point import MulticlassInteriorPoint
from maxmargin.solvers.linear.rows import Rows
from maxmargin.solvers.loop import Result, run_to_tolerance
from maxmargin.status import Status
from solvers.enumeration import multiclass_case

Reals = NDArray[np.float64]
SOLVERS: dict[str, Any] = {
    "coordinate_ascent": CrammerSinger(), "no shrinking": CrammerSinger(shrinking=False),
    "interior_point": MulticlassInteriorPoint(), "block_ascent": MulticlassBlockAscent(block=10), "auto": Automatic(),
}  # fmt: skip
COSTS = {"zero_one": 1.0 - np.eye(3), "costs": np.array([[0, 1, 3], [2, 0, 0.5], [1, 1, 0]])}
RNG = np.random.default_rng(2)
X = np.column_stack([RNG.normal(size=(30, 4)) + 2.0, np.full(30, 0.5)])
Y = np.r_[0, 1, 2, RNG.choice(3, 27, p=[0.6, 0.3, 0.1])]
WEIGHT = RNG.integers(1, 4, 30) / 2.0


def make(rows: Any, costs: Reals, C: float, tol: float) -> MulticlassTask:
    return MulticlassTask(Rows(rows), Y, costs, C, WEIGHT, tol, np.random.default_rng(0), free=True)


def solve(rows: Any, costs: Reals, C: float, solver: Any, tol: float = 1e-6, **options: Any) -> Result:
    return run_to_tolerance(make(rows, costs, C, tol), solver, **({"max_passes": 30_000} | options))


def objective(rows: Reals, costs: Reals, C: float, w: Reals) -> float:
    """By its definition."""
    W = w.reshape(-1, 3)
    scores = rows @ W
    slack = (costs[Y] + scores).max(1) - scores[np.arange(30), Y]
    return 0.5 * float((W[:-1] ** 2).sum()) + C * float(WEIGHT @ slack)


def optimum(rows: Reals, costs: Reals, C: float) -> float:
    """By a general solver; intercepts of sum 0, without which they are not determined."""
    import piqp

    listed, n, d = multiclass_case(rows, Y, costs=costs).listed, 30, rows.shape[1]
    P = np.diag(np.r_[np.ones(3 * (d - 1)), np.zeros(3 + n)])
    equation = np.r_[np.zeros(3 * (d - 1)), np.ones(3), np.zeros(n)]
    solver = piqp.DenseSolver()
    for name in ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"):
        setattr(solver.settings, name, 1e-10)
    solver.setup(
        P, np.r_[np.zeros(3 * d), C * WEIGHT], A=equation[None], b=np.zeros(1),
        G=np.vstack([np.hstack([psi, np.tile(-np.eye(n)[i], (3, 1))]) for i, psi in enumerate(listed.psi)]),
        h_u=np.concatenate([-loss for loss in listed.loss]),
    )  # fmt: skip
    assert solver.solve() == piqp.PIQP_SOLVED
    return objective(rows, costs, C, np.array(solver.result.x[: 3 * d]))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("costs", COSTS)
@pytest.mark.parametrize("C", [1e-6, 1e-3, 0.1, 3.0])
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_optimum_is_reached(solver: str, C: float, costs: str, form: Any) -> None:
    value = optimum(X, COSTS[costs], C)
    tol = 1e-4 if C > 1.0 and "point" not in solver else 1e-6
    result = solve(form(X), COSTS[costs], C, SOLVERS[solver], tol)
    assert result.certificate.status is Status.CONVERGED
    assert objective(X, COSTS[costs], C, result.w) == pytest.approx(result.certificate.primal, rel=1e-12)
    assert result.certificate.primal <= value * (1 + 1.01 * tol)
    assert value * (1 - 1.01 * tol) <= result.certificate.dual <= value * (1 + 1e-8)
    assert abs(result.w[-3:].sum()) <= 1e-9 * max(1.0, np.abs(result.w[-3:]).max())


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("C", [1e-3, 0.5])
def test_the_optimum_lies_between_dual_and_primal_after_every_pass(C: float, solver: str) -> None:
    value = optimum(X, COSTS["costs"], C)
    seen: list[Any] = []
    solve(
        X, COSTS["costs"], C, SOLVERS[solver], 1e-9, max_passes=60, check_every=1,
        callback=lambda record, w: seen.append((record, w.copy())),
    )  # fmt: skip
    assert len(seen) >= 6
    for record, w in seen:
        assert record.primal == pytest.approx(objective(X, COSTS["costs"], C, w), rel=1e-10)
        assert record.dual <= value * (1 + 1e-8) <= record.primal * (1 + 2e-8)


def test_what_features_have_in_common_changes_nothing() -> None:
    moved = X + np.array([50.0, -3.0, 0.0, 7.0, 0.0])
    one, other = (solve(rows, COSTS["costs"], 0.1, MulticlassInteriorPoint(), 1e-9) for rows in (X, moved))
    np.testing.assert_allclose(one.w[:12], other.w[:12], atol=1e-4 * np.abs(one.w).max())
    assert one.certificate.primal == pytest.approx(other.certificate.primal, rel=1e-8)


@pytest.mark.parametrize("C", [1e-9, 1e-6, 1e-4])
@pytest.mark.parametrize("costs", COSTS)
def test_coordinate_ascent_with_all_rows_in_corners(costs: str, C: float) -> None:
    """No row says then how the sums respond to the multipliers."""
    result = solve(X, COSTS[costs], C, CrammerSinger(), 1e-5, max_passes=200)
    assert result.certificate.status is Status.CONVERGED


def test_two_points_whose_dual_is_all_or_nothing() -> None:
    """A step that is too long fills both boxes, and from there no row responds."""
    rows = np.array([[0.0, 0.125], [1.0, 0.125]])
    task = MulticlassTask(
        Rows(rows), np.array([0, 1]), 1.0 - np.eye(2), 10.0, np.ones(2), 1e-3, np.random.default_rng(0), free=True
    )
    result = run_to_tolerance(task, CrammerSinger(), max_passes=300)
    assert result.certificate.status is Status.CONVERGED
    assert result.certificate.dual == pytest.approx(1.0, rel=1e-3)


def test_coordinate_ascent_takes_no_more_passes_than_with_a_penalty() -> None:
    rng = np.random.default_rng(0)
    rows = sp.random_array((1500, 300), density=0.05, rng=rng, format="csr")
    y = np.asarray(rows @ rng.normal(size=(300, 6)) + [1.0, 0.5, 0.0, 0.0, -0.5, -1.0]).argmax(1)
    passes = []
    for constant, free in ((1.0, False), (0.25, True)):
        extended = sp.csr_matrix(sp.hstack([rows, np.full((1500, 1), constant)]))
        task = MulticlassTask(
            Rows(extended), y, 1.0 - np.eye(6), 1.0, np.ones(1500), 1e-3, np.random.default_rng(0), free=free
        )
        result = run_to_tolerance(task, CrammerSinger(), max_passes=1000)
        assert result.certificate.status is Status.CONVERGED
        passes.append(result.certificate.passes)
    assert passes[1] <= 1.5 * passes[0]


def excess(a: Reals, target: Any, constant: Reals) -> Reals:
    beta = -a
    beta[np.arange(len(a)), target] += a.sum(1)
    return np.asarray(constant @ beta)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_dual_points_are_made_feasible(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    for trial in range(60):
        n = int(rng.integers(2, 40))
        target, size = rng.integers(0, n_classes, n), 10.0 ** rng.uniform(-3, 3, n)
        constant = 10.0 ** rng.uniform(-2, 2, n) if trial % 2 else np.ones(n)
        a = rng.dirichlet(np.full(n_classes, 0.3), n) * (rng.random((n, n_classes)) < rng.random())
        a[np.arange(n), rng.integers(0, n_classes, n)] += 0.1
        a *= (size / a.sum(1))[:, None]
        found = balanced(a, target, constant)
        assert (found >= 0.0).all()
        np.testing.assert_allclose(found.sum(1), size, rtol=1e-12)
        assert np.abs(excess(found, target, constant)).max() <= 1e-13 * float(constant @ size)
        np.testing.assert_allclose(balanced(found, target, constant), found, atol=1e-12 * size.max())


def test_a_small_excess_makes_a_small_change() -> None:
    """Where rows are between classes, those in corners stay."""
    a = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.4 + 1e-6, 0.6 - 1e-6]])
    target = np.array([1, 0, 0, 1])
    found = balanced(a, target, np.ones(4))
    np.testing.assert_array_equal(found[:2], a[:2])
    assert 0.0 < np.abs(found - a).max() < 0.1
    assert abs(excess(found, target, np.ones(4))[0]) <= 1e-15


def test_factors_at_rest() -> None:
    np.testing.assert_allclose(stationary(np.array([[0.0, 2.0], [6.0, 0.0]])), [1.0, 1.0 / 3.0])
    circle = np.array([[0.0, 3.0, 0.0], [0.0, 0.0, 3.0], [3.0, 0.0, 0.0]])
    np.testing.assert_allclose(stationary(circle), np.ones(3))
    one_way = np.array([[0.0, 5.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert np.abs(stationary(one_way)[:, None] * one_way).max() < 1e-20
    flow = RNG.random((6, 6)) * (1.0 - np.eye(6))
    kept = stationary(flow)[:, None] * flow
    np.testing.assert_allclose(kept.sum(0), kept.sum(1), rtol=1e-13)


@pytest.mark.parametrize("costs", COSTS)
def test_the_best_intercepts_are_those_of_a_linear_program(costs: str) -> None:
    task = make(X, COSTS[costs], 0.7, 1e-6)
    for scores in (np.zeros((30, 3)), RNG.normal(size=(30, 3)), 100.0 * RNG.normal(size=(30, 3))):
        biases, a = best_biases(task, scores, 1e-9)
        cost = COSTS[costs][Y] + scores - scores[np.arange(30), Y][:, None]
        # sum_i c_i s_i with s_i >= cost_ik + u (b_k - b_(y_i))
        moves = 0.5 * (np.eye(3)[None] - np.eye(3)[Y][:, None])
        below = np.hstack([moves.reshape(-1, 3), -np.repeat(np.eye(30), 3, axis=0)])
        bounds = [(None, None)] * 33
        least = linprog(np.r_[np.zeros(3), task.c], A_ub=below, b_ub=-cost.ravel(), bounds=bounds).fun
        found = float(task.c @ (cost + moves @ biases).max(1))
        assert least <= found * (1 + 1e-12)
        assert found <= least + 1e-8 * (1.0 + least)
        assert abs(float(biases.sum())) <= 1e-12 * (1.0 + np.abs(biases).max())
        assert float((a * cost).sum()) <= least + 1e-8 * (1.0 + least)
    nothing = np.zeros(task.n_weights)
    assert objective_at_zero(task) <= task.objective(nothing)


def test_intercepts_taken_one_by_one_come_near_the_best() -> None:
    rng = np.random.default_rng(0)
    for trial in range(20):
        rows = np.hstack([rng.normal(size=(80, 2)), rng.choice([0.5, 1.0, 2.0], (80, 1))])
        task = MulticlassTask(
            Rows(rows), rng.choice(4, 80, p=[0.6, 0.2, 0.1, 0.1]), 1.0 - np.eye(4), 0.3, rng.uniform(0.5, 2.0, 80), 1e-6,
            np.random.default_rng(0), free=True,
        )  # fmt: skip
        w = rng.normal(size=(3, 4))
        w[-1] = 0.0
        scores, values = task.rows.scores(w), []
        best = best_biases(task, scores, 1e-9)[0]
        for biases in (np.zeros(4), better_biases(task, scores, np.zeros(4)), best):
            w[-1] = biases
            values.append(task.objective(w.reshape(-1)))
        assert values[2] - 1e-8 <= values[1] <= values[0]
        assert values[1] - values[2] <= 0.2 * (values[0] - values[2]) + 1e-8, trial
