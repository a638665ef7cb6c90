"""Projected gradient on the dual: the projection, the step, and the optimum of every machine it is for."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from linear.problems import INTERCEPTS, LOSSES, Small, random_problem
from maxmargin import OneClassSVM, SVMClassifier, SVMRegressor
from maxmargin.errors import DataError
from maxmargin.solvers.base import WarmStart
from maxmargin.solvers.loop import Record, minimize, run_to_tolerance
from maxmargin.solvers.oracle import make_oracle
from maxmargin.solvers.projected_gradient import ProjectedGradient
from maxmargin.solvers.projection import project
from maxmargin.status import Status
from maxmargin.structures.multiclass import Multiclass

ACCELERATED, PLAIN = ProjectedGradient(), ProjectedGradient(accelerated=False)
SOLVERS = pytest.mark.parametrize("solver", [ACCELERATED, PLAIN], ids=["accelerated", "plain"])

RNG = np.random.default_rng(5)
X = RNG.normal(size=(50, 3)) * [1.0, 3.0, 0.3] + 0.5
SIGN = np.where(X[:, 0] - 0.2 * X[:, 1] ** 2 + 0.7 * RNG.normal(size=50) > -1.0, 1.0, -1.0)
VALUES = np.sin(X[:, 0]) + X[:, 2] + 0.3 * RNG.normal(size=50)
WEIGHT = RNG.uniform(0.5, 2.0, 50)


# --- the projection


def nearest(z: Any, sign: Any, upper: Any, total: float) -> Any:
    """By a general solver of quadratic programs."""
    import piqp

    solver = piqp.DenseSolver()
    for name in ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"):
        setattr(solver.settings, name, 1e-12)
    solver.setup(np.eye(len(z)), -z, A=sign[None, :], b=np.array([total]), x_l=np.zeros(len(z)), x_u=upper)
    assert solver.solve() == piqp.PIQP_SOLVED
    return np.asarray(solver.result.x)


@pytest.mark.parametrize("bounds", ["finite", "infinite", "mixed", "equal"])
def test_the_projection_is_the_nearest_point(bounds: str, rng: np.random.Generator) -> None:
    for n in (1, 2, 3, 8, 30):
        for _ in range(6):
            sign = np.where(rng.random(n) < 0.5, 1.0, -1.0)
            upper = np.ones(n) if bounds == "equal" else rng.uniform(0.1, 2.0, n)
            if bounds in ("infinite", "mixed"):
                upper[rng.random(n) < (1.0 if bounds == "infinite" else 0.5)] = np.inf
            inside = np.minimum(upper, rng.uniform(0.0, 2.0, n) * (rng.random(n) < 0.7))
            total = float(sign @ inside)  # so it can be reached
            z = rng.normal(size=n) * rng.choice([0.1, 3.0])
            if bounds == "equal":
                z = np.round(z)  # knots that coincide
            a = project(z, sign, upper, total)
            assert sign @ a == pytest.approx(total, abs=1e-13 * (n + abs(z).sum()))
            assert (a >= 0.0).all()
            assert (a <= upper).all()
            np.testing.assert_allclose(a, nearest(z, sign, upper, total), rtol=0, atol=1e-6)
            # one multiplier for all that are inside the box; those on its ends are pushed there
            push = sign * (z - a)
            free = (a > 0.0) & (a < upper)
            low = push[np.where(sign > 0.0, a > 0.0, a < upper)].min(initial=np.inf)
            high = push[np.where(sign > 0.0, a < upper, a > 0.0)].max(initial=-np.inf)
            assert high <= low + 1e-13 * (1 + abs(z).max())
            assert np.ptp(push[free]) <= 1e-13 * (1 + abs(z).max()) if free.any() else True
            np.testing.assert_allclose(project(a, sign, upper, total), a, rtol=0, atol=1e-14 * (1 + abs(a).sum()))


def test_a_sum_out_of_reach_gives_the_end_of_the_box() -> None:
    sign, upper = np.array([1.0, 1.0, -1.0]), np.array([1.0, 2.0, 0.5])
    np.testing.assert_array_equal(project(np.zeros(3), sign, upper, 5.0), [1.0, 2.0, 0.0])
    np.testing.assert_array_equal(project(np.ones(3), sign, upper, -5.0), [0.0, 0.0, 0.5])


def test_the_projection_is_exact_beside_huge_numbers() -> None:
    """Steps far beyond the box leave the sum right to the last digits of the numbers in it."""
    z = np.array([1e12, -3e12, 0.25, 0.5])
    a = project(z, np.array([1.0, -1.0, 1.0, -1.0]), np.ones(4), 0.0)
    assert a[0] + a[2] == pytest.approx(a[1] + a[3], abs=1e-12)
    assert a[0] == 1.0
    assert a[1] == 0.0


# --- linear machines


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_optimum_is_reached(loss: str, intercept: str) -> None:
    for solver, seeds in ((ACCELERATED, (0, 1, 2)), (PLAIN, (0, 1))):
        for seed in seeds:
            problem = random_problem(seed, loss, intercept, (1e-3, 0.1, 2.0)[seed])
            value = problem.optimum()
            result = run_to_tolerance(problem.task(1e-7), solver, max_passes=5000)
            found = result.certificate
            assert found.status is Status.CONVERGED, (seed, found)
            assert found.solver == "projected_gradient"
            assert found.primal == pytest.approx(problem.value(result.w), rel=1e-12)
            assert problem.value(result.w) <= value * (1 + 1e-6)
            assert value * (1 - 1e-6) <= found.dual <= value * (1 + 1e-8)


@SOLVERS
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_the_optimum_lies_between_dual_and_primal_after_every_pass(intercept: str, solver: Any) -> None:
    problem = random_problem(8, "hinge", intercept, 0.5)
    value = problem.optimum()
    seen: list[Record] = []
    run_to_tolerance(
        problem.task(1e-9), solver, max_passes=60, check_every=1, callback=lambda record, w: seen.append(record)
    )
    exact = [record for record in seen if record.exact]
    assert len(exact) >= 5
    assert all(record.dual <= value * (1 + 1e-9) <= record.primal * (1 + 2e-9) for record in exact)


@SOLVERS
@pytest.mark.parametrize("C", [0.1, 0.5, 3.0])
def test_two_points_in_closed_form(C: float, solver: Any) -> None:
    """Points at -1 and 1: the dual is ``2a - 2a^2`` on ``[0, C]``, so ``a = min(1/2, C)``, ``w = 2a`` and ``b = 0``."""
    problem = Small(np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.full(2, C), "hinge", "free")
    result = run_to_tolerance(problem.task(1e-14), solver, max_passes=500)
    a = min(0.5, C)
    np.testing.assert_allclose(result.w, [2 * a, 0.0], rtol=0, atol=1e-7)
    np.testing.assert_allclose(result.dual_point.beta, [-a, a], rtol=0, atol=1e-7)
    assert result.certificate.dual == pytest.approx(2 * a - 2 * a * a, abs=1e-13)


# --- the step


def hessian(problem: Small) -> Any:
    """Of the negative dual, along the hyperplane where there is one; for one term a row."""
    Q = (problem.X @ problem.X.T) * np.outer(problem.y, problem.y)
    if problem.intercept == "penalized":
        Q += 0.7**2 * np.outer(problem.y, problem.y)
    if "squared" in problem.loss:
        Q += np.diag(0.5 / problem.c)
    if problem.intercept == "free":
        P = np.eye(len(Q)) - np.outer(problem.y, problem.y) / len(Q)
        Q = P @ Q @ P
    return Q


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_step_is_that_of_the_largest_eigenvalue(loss: str, intercept: str) -> None:
    problem = random_problem(3, loss, intercept, 1.0)
    run: Any = PLAIN.start(problem.task())
    run.advance()
    largest = np.linalg.eigvalsh(hessian(problem)).max()
    assert largest <= run.L <= 1.03 * largest


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_plain_steps_rise_at_the_rate_of_the_theorem(intercept: str) -> None:
    """After ``k`` steps from 0 the dual is at most ``L |a*|^2 / 2k`` below the optimum, and it never falls."""
    problem = random_problem(4, "hinge", intercept, 1.0)
    value = problem.optimum()
    best: Any = ACCELERATED.start(problem.task())
    for _ in range(2000):
        best.advance()
    run: Any = PLAIN.start(problem.task())
    duals = []
    for _ in range(200):
        duals.append(run.advance().dual)
    assert (np.diff(duals) >= -1e-12 * value).all()
    bound = run.L * (best.a**2).sum() / (2.0 * np.arange(1, 201))
    assert (value - np.array(duals) <= bound + 1e-9 * value).all()


@SOLVERS
def test_too_long_a_step_is_noticed(solver: Any) -> None:
    problem = random_problem(3, "hinge", "free", 1.0)
    run: Any = solver.start(problem.task())
    run.advance()
    right, run.L = run.L, 1e-3 * run.L
    step = run.advance()
    assert step.passes > 1  # the step was made anew
    for _ in range(300):
        run.advance()
    assert 0.3 * right <= run.L <= 1.1 * right
    assert run.dual() == pytest.approx(problem.optimum(), rel=1e-6)


def test_momentum_is_faster() -> None:
    problem = random_problem(2, "squared_insensitive", "free", 2.0)
    passes = [
        run_to_tolerance(problem.task(1e-6), s, max_passes=20_000).certificate.passes for s in (ACCELERATED, PLAIN)
    ]
    assert 4 * passes[0] < passes[1]


def test_a_warm_start_is_feasible_and_near() -> None:
    problem = random_problem(2, "hinge", "free", 1.0)
    first = run_to_tolerance(problem.task(1e-6), ACCELERATED, max_passes=5000)
    task = problem.task(1e-6)
    task.warm = WarmStart(first.w, beta=first.dual_point.beta)
    again = run_to_tolerance(task, ACCELERATED, max_passes=5000)
    assert again.certificate.status is Status.CONVERGED
    assert 4 * (again.certificate.passes - 20) < first.certificate.passes  # the power iteration takes up to 20


def test_features_that_are_all_zero() -> None:
    """The dual is linear then, and one step goes to the end of the box."""
    model = SVMClassifier(solver=ACCELERATED).fit(np.zeros((6, 2)), [0, 1, 1, 1, 0, 1])
    assert model.certificate_.status is Status.CONVERGED
    assert model.certificate_.primal == pytest.approx(4.0)  # the two rows of the smaller class have slack 2
    assert model.n_iter_ < 20


def test_a_run_cut_short_is_honest() -> None:
    problem = random_problem(1, "hinge", "free", 1e3)
    result = run_to_tolerance(problem.task(1e-9), ACCELERATED, max_passes=20)
    assert result.certificate.status is Status.PASS_LIMIT
    assert result.certificate.passes <= 20
    assert result.certificate.dual <= problem.optimum() <= result.certificate.primal


# --- kernels and estimators

MODELS = [
    SVMClassifier(2.0, kernel="rbf", gamma=0.3),
    SVMClassifier(2.0, kernel="rbf", gamma=0.3, fit_intercept=False),
    SVMClassifier(2.0, kernel="rbf", gamma=0.3, penalize_intercept=True, loss="squared_hinge"),
    SVMClassifier(nu=0.3, kernel="rbf", gamma=0.3),
    SVMRegressor(2.0, kernel="rbf", gamma=0.3),
    SVMRegressor(2.0, kernel="poly", degree=2, coef0=1.0, gamma=0.1, loss="squared_epsilon_insensitive"),
    SVMRegressor(2.0, kernel="rbf", gamma=0.3, nu=0.4),
    OneClassSVM(0.3, gamma=0.3),
    SVMClassifier(2.0),
    SVMRegressor(0.1),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_the_optimum_of_every_machine(model: Any) -> None:
    """That of the interior point method, whose own tests compare it with a general solver."""
    y = VALUES if isinstance(model, SVMRegressor) else SIGN
    other = clone(model).set_params(solver="interior_point", tol=1e-9).fit(X, y, sample_weight=WEIGHT)
    mine = clone(model).set_params(solver="projected_gradient", tol=1e-7, max_passes=5000)
    mine.fit(X, y, sample_weight=WEIGHT)
    found, best = mine.certificate_, other.certificate_.primal
    assert found.status is Status.CONVERGED
    assert mine.solver_ == "projected_gradient"
    assert found.primal == pytest.approx(best, rel=1e-6)
    assert best - 1e-6 * abs(best) <= found.dual <= best + 1e-8 * abs(best)
    if not isinstance(model, SVMRegressor):
        close = mine.decision_function(X) - other.decision_function(X)
        assert np.abs(close).max() <= 2e-2 * np.abs(other.decision_function(X)).max()


def test_without_room_for_the_kernel_matrix() -> None:
    with_room, without = (
        SVMClassifier(2.0, kernel="rbf", solver=ProjectedGradient(cache_mb=size), tol=1e-6).fit(X, SIGN)
        for size in (500.0, 1e-6)
    )
    assert without.n_iter_ == with_room.n_iter_
    np.testing.assert_allclose(without.decision_function(X), with_room.decision_function(X), rtol=0, atol=1e-6)


def test_a_kernel_that_is_not_definite_ends_without_a_claim() -> None:
    K = RNG.normal(size=(20, 20))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SVMClassifier(kernel="precomputed", solver="projected_gradient", max_passes=200).fit(K + K.T, SIGN[:20])
    assert np.isfinite(model.certificate_.primal)


# --- what it is not for


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_other_losses_are_refused(kernel: str) -> None:
    with pytest.raises(DataError, match=r"SVMClassifier: projected_gradient is for the hinge loss.*not for Logistic"):
        SVMClassifier(loss="logistic", kernel=kernel, solver="projected_gradient").fit(X, SIGN)


def test_structures_are_refused() -> None:
    oracle, _ = make_oracle(Multiclass(2), X, (SIGN > 0).astype(np.int64))
    with pytest.raises(DataError, match=r"Multiclass: projected_gradient is for machines with one score a row"):
        minimize(oracle, ACCELERATED, C=1.0)
