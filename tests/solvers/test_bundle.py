"""The bundle method against general solvers, linear and structured, penalised and over a ball; and its theory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import LinearConstraint, NonlinearConstraint, linprog, minimize
from sklearn.base import clone

from linear.problems import INTERCEPTS, LOSSES, SCALE, Small, random_problem
from maxmargin import SVMClassifier, SVMRegressor
from maxmargin.errors import DataError
from maxmargin.losses import CustomLoss, Exponential, Logistic, MarginLoss, Perceptron
from maxmargin.solvers import passes
from maxmargin.solvers.ball_program import solve_ball_program
from maxmargin.solvers.base import Task, WarmStart
from maxmargin.solvers.bundle import Bundle
from maxmargin.solvers.frank_wolfe import FrankWolfe
from maxmargin.solvers.kernel.task import KernelTask
from maxmargin.solvers.linear.rows import Rows
from maxmargin.solvers.linear.task import LinearTask
from maxmargin.solvers.loop import Record, Result, run_to_tolerance
from maxmargin.solvers.loop import minimize as minimise
from maxmargin.solvers.n_slack import NSlack
from maxmargin.solvers.one_slack import OneSlack
from maxmargin.status import Status
from maxmargin.terms import hinge
from solvers.counted_planes import active_counts
from solvers.enumeration import Case, named_cases, plain_case, random_tokens, sequence_case

Reals = NDArray[np.float64]
# losses that are the largest of some lines, by slopes and heights at 0
LINES: dict[str, Reals] = {
    "perceptron": np.array([[-1.0, 0.0], [0.0, 0.0]]),
    "kinks": np.array([[-4.0, 2.0], [-1.0, 1.0], [0.0, 0.0]]),
    "rising": np.array([[-1.0, 1.0], [0.3, -0.3]]),
}
SMOOTH: dict[str, MarginLoss] = {"logistic": Logistic(), "exponential": Exponential()}


def largest(lines: Reals) -> CustomLoss:
    """The loss as a user would state it, without a second derivative."""
    return CustomLoss(
        lambda t: (np.multiply.outer(t, lines[:, 0]) + lines[:, 1]).max(-1),
        lambda t: lines[(np.multiply.outer(t, lines[:, 0]) + lines[:, 1]).argmax(-1), 0],
    )


def solve(task: LinearTask, solver: Any = None, **options: Any) -> Result:
    return run_to_tolerance(task, solver or Bundle(), **{"max_passes": 1000, **options})


def penalty_of(problem: Small, w: Reals) -> float:
    """Of weights as the solvers lay them out, by definition."""
    d = problem.X.shape[1]
    value = 0.5 * float(w[:d] @ w[:d])
    return value + (0.5 * (w[d] / SCALE) ** 2 if problem.intercept == "penalized" else 0.0)


def scores_of(problem: Small, w: Reals) -> Reals:
    d = problem.X.shape[1]
    return np.asarray(problem.X @ w[:d] + (w[d] if problem.intercept != "none" else 0.0))


def lines_optimum(problem: Small, lines: Reals) -> float:
    """Of a largest line, by a general solver of quadratic programs in ``(w, b, slacks)``."""
    import piqp

    X, y, n, d = problem.X, problem.y, len(problem.y), problem.X.shape[1]
    one = np.zeros((n, 1)) if problem.intercept == "none" else np.ones((n, 1))
    A = np.vstack([np.hstack([slope * y[:, None] * np.hstack([X, one]), -np.eye(n)]) for slope, _ in lines])
    h = np.repeat(-lines[:, 1], n)
    ridge = {"free": 0.0, "none": 1.0, "penalized": SCALE**-2}[problem.intercept]
    solver = piqp.DenseSolver()
    for name in ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"):
        setattr(solver.settings, name, 1e-11)
    solver.setup(np.diag(np.r_[np.ones(d), ridge, np.zeros(n)]), np.r_[np.zeros(d + 1), problem.c], G=A, h_u=h)
    solver.solve()
    w = np.array(solver.result.x[: d + 1])
    cost = (np.multiply.outer(y * scores_of(problem, w), lines[:, 0]) + lines[:, 1]).max(1)
    return penalty_of(problem, w) + float(problem.c @ cost)


def assert_optimal(result: Result, value: float, accuracy: float = 1e-6) -> None:
    found = result.certificate
    assert found.status is Status.CONVERGED, found
    assert found.primal <= value + accuracy * abs(value)
    assert value - accuracy * abs(value) <= found.dual <= value + 1e-8 * abs(value)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", LOSSES)
def test_sums_of_hinges(loss: str, intercept: str) -> None:
    for seed, C in enumerate((1e-3, 0.1, 2.0, 50.0)):
        problem = random_problem(seed, loss, intercept, C)
        result = solve(problem.task(1e-7))
        assert result.certificate.primal == pytest.approx(problem.value(result.w), rel=1e-12)
        assert_optimal(result, problem.optimum())


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", SMOOTH)
def test_smooth_losses(loss: str, intercept: str) -> None:
    for seed, C in enumerate((1e-3, 0.1, 2.0, 50.0)):
        problem = random_problem(seed, "hinge", intercept, C)
        assert_optimal(solve(problem.loss_task(SMOOTH[loss])), problem.smooth_optimum(SMOOTH[loss]))


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("lines", LINES)
def test_losses_with_kinks(lines: str, intercept: str) -> None:
    for seed, C in enumerate((1e-3, 0.1, 2.0, 50.0)):
        problem = random_problem(seed, "hinge", intercept, C)
        value = lines_optimum(problem, LINES[lines])
        task = problem.loss_task(largest(LINES[lines]))
        if lines == "perceptron":  # its optimum is 0, at 0: another start is needed to see it work
            assert abs(value) < 1e-6
            task = problem.loss_task(Perceptron())
            task.warm = WarmStart(np.random.default_rng(seed).normal(size=task.n_weights))
            value = 0.0
        assert_optimal(solve(task), value)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", LOSSES)
def test_one_slack_for_the_sum_of_all_hinges(loss: str, intercept: str) -> None:
    for seed, C in enumerate((1e-3, 0.1, 2.0)):
        problem = random_problem(seed, loss, intercept, C)
        result = solve(problem.task(1e-7), OneSlack())
        assert result.certificate.solver == "one_slack"
        assert_optimal(result, problem.optimum())


def test_one_slack_for_other_losses() -> None:
    problem = random_problem(1, "hinge", "free", 0.1)
    for loss in SMOOTH.values():
        assert_optimal(solve(problem.loss_task(loss), OneSlack()), problem.smooth_optimum(loss))
    assert_optimal(
        solve(problem.loss_task(largest(LINES["kinks"])), OneSlack()), lines_optimum(problem, LINES["kinks"])
    )


def test_share_and_dropped_planes_change_the_way_and_not_the_end() -> None:
    problem = random_problem(3, "hinge", "free", 2.0, n=60, d=6)
    value = problem.optimum()
    for solver in (Bundle(share=1.0), Bundle(share=0.1), Bundle(keep_rounds=2)):
        assert_optimal(solve(problem.task(1e-7), solver), value)


@pytest.mark.parametrize("radius", [None, 0.7])
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_every_plane_and_every_minimum_is_a_lower_bound(intercept: str, radius: float | None) -> None:
    """Of the loss at any weights with any intercept; and of the optimum after every pass."""
    rng = np.random.default_rng(0)
    for loss in ("hinge", "insensitive", "logistic", "exponential", "kinks"):
        problem = random_problem(9, loss if loss in LOSSES else "hinge", intercept, 0.5, n=60, d=6)
        losses = SMOOTH | {"kinks": largest(LINES["kinks"])}
        task = problem.task(1e-9) if loss in LOSSES else problem.loss_task(losses[loss], 1e-9)
        seen: list[tuple[Record, Reals]] = []

        def keep(record: Record, w: Any, seen: Any = seen) -> None:
            seen.append((record, w.copy()))

        result = solve(task, Bundle(radius), max_passes=60, check_every=1, callback=keep)
        best = result.certificate
        assert best.relative_gap < 1e-7
        assert len(seen) >= 4
        for record, w in seen:
            assert record.dual <= best.primal * (1 + 1e-10)
            assert record.primal >= best.dual * (1 - 1e-10)
            value = float(task.terms.cost(task.scores(w)).sum()) + (task.penalty(w) if radius is None else 0.0)
            assert not record.exact or record.primal <= value * (1 + 1e-10)
        run: Any = result._run
        assert_model_is_below(run, lambda w, task=task: float(task.terms.cost(task.scores(w)).sum()), rng)


def model_of(run: Any, w: Reals) -> float:
    """The largest plane, or 0, at weights as the planes are kept: those of a bundle method are of ``w / root``."""
    root = getattr(run, "root", np.ones_like(w))
    v = np.divide(w, root, out=np.zeros_like(w), where=root > 0.0)
    return max(0.0, *(plane.offset + float(plane.value @ v[plane.index]) for plane in run.cuts.planes))


def assert_model_is_below(run: Any, loss_of: Callable[[Reals], float], rng: np.random.Generator) -> None:
    """At random weights near and far, with any intercept, and at those of the run."""
    here = run.weights()
    for w in (here, *(size * rng.normal(size=len(here)) for size in (0.1, 1.0, 1.0, 10.0))):
        loss = loss_of(w)
        assert model_of(run, w) <= loss + 1e-9 * (1.0 + abs(loss))


@pytest.mark.parametrize("radius", [None, 0.7])
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_the_model_of_a_linear_machine_is_a_lower_bound_at_every_step(intercept: str, radius: float | None) -> None:
    """By the definition of the losses; few planes are kept, so that those of every pass are seen, and no others."""
    rng = np.random.default_rng(1)
    for loss in (*LOSSES, "logistic", "kinks"):
        problem = random_problem(8, loss if loss in LOSSES else "hinge", intercept, 0.5, n=60, d=6)
        own = None if loss in LOSSES else {"logistic": SMOOTH["logistic"], "kinks": largest(LINES["kinks"])}[loss]

        def loss_of(w: Reals, problem: Small = problem, own: MarginLoss | None = own) -> float:
            if own is None:
                return problem.value(w) - penalty_of(problem, w)
            return float(problem.c @ own.value(problem.y * scores_of(problem, w)))

        task = problem.task(1e-9) if own is None else problem.loss_task(own, 1e-9)
        run: Any = Bundle(radius, keep_rounds=3).start(task)
        best = solve(task, Bundle(radius)).certificate
        lower, dropped = 0.0, 0
        for _ in range(25):
            before = len(run.cuts.planes)
            run.advance()
            dropped += len(run.cuts.planes) <= before
            if intercept == "free":  # below the loss whatever the intercept
                assert not any((plane.index == task.n_weights - 1).any() for plane in run.cuts.planes)
            assert_model_is_below(run, loss_of, rng)
            assert lower <= run.lower <= best.primal * (1 + 1e-10)
            lower = run.lower
        assert dropped > 0
        assert lower > 0.9 * best.dual, "a model that bounds nothing"


@pytest.mark.parametrize("solver", [OneSlack(cached_rounds=0), OneSlack(keep_rounds=3), Bundle(), Bundle(radius=0.7)])
@pytest.mark.parametrize("name", ["costs", "hamming", "label costs"])
def test_the_model_of_a_structured_problem_is_a_lower_bound_at_every_step(name: str, solver: Any) -> None:
    """And touches the loss where the decoder was asked."""
    case, rng = named_cases()[name], np.random.default_rng(2)

    def loss_of(w: Reals) -> float:
        return 2.0 * float(case.listed.slacks(w).sum())

    run: Any = solver.start(structured_task(case, 2.0))
    for _ in range(25):
        # a bundle method begins with a pass at 0
        asked = (run.w if isinstance(solver, OneSlack) else run.root * run.cuts.v).copy()
        run.advance()
        assert_model_is_below(run, loss_of, rng)
        assert model_of(run, asked) == pytest.approx(loss_of(asked), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("batch", [1, 100])
@pytest.mark.parametrize("name", ["costs", "hamming", "label costs"])
def test_the_model_of_the_n_slack_method_is_a_lower_bound_at_every_step(name: str, batch: int) -> None:
    """Example by example; and within its epsilon of the slack where the decoder was asked."""
    case, rng = named_cases()[name], np.random.default_rng(3)
    task = structured_task(case, 2.0, tol=1e-6)
    run: Any = NSlack(batch=batch).start(task)
    for _ in range(12):
        asked = run.weights().copy()
        run.advance()
        own = run.weights().copy()
        for w in (own, asked, *(size * rng.normal(size=len(own)) for size in (0.1, 1.0, 1.0, 10.0))):
            _, model = case.oracle.best_cached(w, run.work.planes, np.arange(case.n))
            slack = case.listed.slacks(w)
            assert (model <= slack + 1e-9 * (1.0 + slack)).all()
            if w is asked and batch >= case.n:
                np.testing.assert_allclose(model, slack, rtol=1e-5, atol=1e-5)
    assert active_counts(run.work.planes)[0] > 2 * case.n


# over a ball


def ball_of(problem: Small, task: LinearTask, loss_of: Callable[[Reals], float], radius: float) -> float:
    """The least loss, of a smooth one, by sequential quadratic programming."""
    inside = {"type": "ineq", "fun": lambda w: 0.5 * radius**2 - penalty_of(problem, w)}
    start = np.zeros(task.n_weights)
    found = minimize(loss_of, start, method="SLSQP", constraints=[inside], options={"ftol": 1e-13, "maxiter": 500})
    return float(found.fun)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", ["squared_hinge", "squared_insensitive", "logistic", "exponential"])
def test_smooth_losses_over_a_ball(loss: str, intercept: str) -> None:
    for seed, radius in enumerate((0.05, 0.6, 3.0)):
        problem = random_problem(seed, loss if loss in LOSSES else "hinge", intercept, 0.5)
        task = problem.task(1e-7) if loss in LOSSES else problem.loss_task(SMOOTH[loss])

        def loss_of(w: Reals, problem: Small = problem) -> float:
            if loss in LOSSES:
                return problem.value(w) - penalty_of(problem, w)
            with np.errstate(over="ignore"):
                return float(problem.c @ SMOOTH[loss].value(problem.y * scores_of(problem, w)))

        value = ball_of(problem, task, loss_of, radius)
        result = solve(task, Bundle(radius))
        assert_optimal(result, value)
        assert result.certificate.primal == pytest.approx(loss_of(result.w), rel=1e-10)
        assert penalty_of(problem, result.w) <= 0.5 * radius**2 * (1 + 1e-9)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", ["hinge", "insensitive"])
def test_hinges_over_a_ball(loss: str, intercept: str) -> None:
    """Against a general solver in ``(w, b, slacks)``: linear constraints and the ball."""
    for seed, radius in enumerate((0.05, 0.6)):
        problem = random_problem(seed, loss, intercept, 0.5, n=12, d=3)
        task = problem.task(1e-7)
        n, size, sign, margin = 12, task.n_weights, task.terms.sign, task.terms.margin  # type: ignore[union-attr]
        X = np.hstack([problem.X, np.ones((n, 1))])[:, :size]
        A = np.vstack([np.hstack([sign[:, [v]] * X, np.eye(n)]) for v in range(sign.shape[1])])
        ridge = np.ones(size)
        if intercept != "none":
            ridge[-1] = SCALE**-2 if intercept == "penalized" else 0.0
        ball = NonlinearConstraint(lambda z, r=ridge: float(r @ z[: len(r)] ** 2), -np.inf, radius**2)
        found = minimize(
            lambda z, c=problem.c: float(c @ z[-len(c) :]),
            np.r_[np.zeros(size), np.full(n, 3.0 + np.abs(problem.y).max())],
            method="SLSQP",
            bounds=[(None, None)] * size + [(0.0, None)] * n,
            constraints=[LinearConstraint(A, margin.T.ravel(), np.inf), ball],
            options={"ftol": 1e-13, "maxiter": 1000},
        )
        assert_optimal(solve(task, Bundle(radius)), float(found.fun))


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", [*LOSSES, "logistic", "kinks"])
def test_the_ball_of_the_length_of_the_penalised_optimum_has_the_same_loss(loss: str, intercept: str) -> None:
    for seed, C in enumerate((0.1, 5.0)):
        problem = random_problem(seed, loss if loss in LOSSES else "hinge", intercept, C)
        losses = SMOOTH | {"kinks": largest(LINES["kinks"])}

        def task(tol: float) -> LinearTask:
            return problem.task(tol) if loss in LOSSES else problem.loss_task(losses[loss], tol)  # noqa: B023

        first = solve(task(1e-12))
        radius = math.sqrt(2.0 * penalty_of(problem, first.w))
        if radius == 0.0:
            continue
        value = first.certificate.primal - 0.5 * radius**2
        result = solve(task(1e-7), Bundle(radius))
        assert_optimal(result, value)
        # the dual point of the certificate gives weights on the ball, as sums of rows
        point = result.dual_point
        assert point.value == pytest.approx(value, rel=1e-6)
        np.testing.assert_allclose(problem.X.T @ point.beta, point.w[: problem.X.shape[1]], rtol=0, atol=1e-12)
        assert penalty_of(problem, point.w) == pytest.approx(0.5 * radius**2, rel=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "insensitive"])
def test_a_ball_so_large_that_it_does_not_bind(loss: str) -> None:
    """The loss alone is then a linear program."""
    problem = random_problem(2, loss, "free", 2.0)
    task = problem.task(1e-7)
    terms: Any = task.terms
    n, d = problem.X.shape
    A = np.vstack([
        -np.hstack([terms.sign[:, [v]] * problem.X, terms.sign[:, [v]], np.eye(n)]) for v in range(terms.sign.shape[1])
    ])  # fmt: skip
    bounds = [(None, None)] * (d + 1) + [(0.0, None)] * n
    found = linprog(np.r_[np.zeros(d + 1), problem.c], A, -terms.margin.T.ravel(), bounds=bounds)
    assert found.fun > 1.0, "the optimum is 0: choose other data"
    for radius in (30.0, 1e4):
        assert_optimal(solve(task, Bundle(radius)), float(found.fun))


def test_separable_data_in_a_large_ball_have_no_loss_at_all() -> None:
    X = np.array([[-2.0, 0.3], [-1.0, -0.4], [1.5, 0.2], [2.5, -0.1]])
    problem = Small(X, np.array([-1.0, -1.0, 1.0, 1.0]), np.ones(4), "hinge", "free")
    hard = solve(Small(problem.X, problem.y, np.full(4, 1e6), "hinge", "free").task(1e-10))
    length = float(np.linalg.norm(hard.w[:2]))
    for radius in (1.01 * length, 100.0):
        found = solve(problem.task(), Bundle(radius)).certificate
        assert (found.status, found.primal, found.dual) == (Status.CONVERGED, 0.0, 0.0)
    assert solve(problem.task(), Bundle(0.99 * length)).certificate.dual > 0.0


def test_a_start_outside_the_ball_is_brought_into_it() -> None:
    problem = random_problem(1, "hinge", "free", 1.0)
    value = solve(problem.task(), Bundle(0.5)).certificate.primal
    task = problem.task()
    task.warm = WarmStart(np.full(task.n_weights, 100.0))
    assert_optimal(solve(task, Bundle(0.5)), value)


def test_the_program_over_the_ball() -> None:
    """By weak duality: a point of the ball where the largest plane is as low as the bound of the weights."""
    rng = np.random.default_rng(4)
    inner = 0
    for _ in range(150):
        t, d = int(rng.integers(1, 30)), int(rng.integers(1, 12))
        A = (rng.normal(size=(t, d)) + rng.choice([0.0, 0.5])) * 10.0 ** rng.uniform(-3, 3)
        b = rng.normal(size=t) + rng.choice([-1.0, 0.0, 1.0])
        if t > 4:  # two planes that are the same, and a constant one
            A[1], b[1], A[2] = A[0], b[0], 0.0
        radius = 10.0 ** rng.uniform(-3, 3)
        tol = 1e-9 * max(1.0, float(np.abs(b).max()))
        start = rng.dirichlet(np.ones(t)) if rng.random() < 0.5 else np.zeros(t)

        def length(a: Reals, A: Reals = A) -> float:
            return float(np.linalg.norm(A.T @ a))

        a, step = solve_ball_program(A @ A.T, b, radius, start, length, tol=tol)
        v = -A.T @ step
        assert (a >= 0.0).all()
        assert a.sum() <= 1.0 + 1e-12
        assert np.linalg.norm(v) <= radius * (1 + 1e-9)
        true = max(0.0, float((b + A @ v).max())) - (float(b @ a) - radius * length(a))
        assert true <= 2.0 * tol
        inner += int(np.linalg.norm(v) < 0.9 * radius and step.any())
    assert inner > 5, "the ball always binds: the test says little"


# structured


@pytest.mark.parametrize("kind", ["compiled", "plain"])
@pytest.mark.parametrize("name", ["costs", "hamming"])
def test_structured_problems_as_other_solvers_have_them(name: str, kind: str) -> None:
    other = named_cases()[name]
    case = other if kind == "compiled" else plain_case(other)
    for C in (0.2, 5.0):
        first = minimise(other.oracle, FrankWolfe(), C=C, tol=1e-9, max_passes=1500, random_state=0)
        second = minimise(other.oracle, OneSlack(), C=C, tol=1e-9, max_passes=1500)
        result = minimise(case.oracle, Bundle(), C=C, tol=1e-8, max_passes=1500)
        assert_optimal(result, first.certificate.primal, 1e-7)
        assert_optimal(result, second.certificate.primal, 1e-7)
        assert result.check() == result.certificate
        radius = float(np.linalg.norm(first.w))
        value = first.certificate.primal - 0.5 * radius**2
        if value > 1e-3:
            ball = minimise(case.oracle, Bundle(radius), C=C, tol=1e-7, max_passes=1500)
            assert_optimal(ball, value)
            assert ball.certificate.primal == pytest.approx(C * case.listed.slacks(ball.w).sum(), rel=1e-10)
            assert np.linalg.norm(ball.w) <= radius * (1 + 1e-9)


def test_a_structured_problem_without_loss_in_its_ball() -> None:
    case = named_cases()["hamming"]
    for radius in (30.0, 1e3):
        found = minimise(case.oracle, Bundle(radius), C=30.0, tol=1e-7, max_passes=500).certificate
        assert found.dual == 0.0 <= found.primal <= 1e-9, found  # a sum of numbers of up to 1e3
        assert found.status is (Status.ZERO_OPTIMUM if found.primal > 0.0 else Status.CONVERGED)


# numbers of planes


def rounds_to(gap: float, run: Any) -> int:
    """Rounds until the gap is at most that."""
    for count in range(1, 10_000):
        if run.advance().gap <= gap:
            return count
    raise AssertionError("it never came so near")


def most_rounds(loss_at_0: float, longest: float, gap: float) -> int:
    """Theorem 5 of Joachims, Finley and Yu (2009), times C: with ``longest = C R`` and ``gap = C epsilon``."""
    assert gap <= 4.0 * longest**2
    return max(0, math.ceil(math.log2(loss_at_0 / (4.0 * longest**2)))) + math.ceil(16.0 * longest**2 / gap)


@pytest.mark.parametrize("solver", [Bundle(), Bundle(share=1.0), OneSlack()])
def test_rounds_of_a_linear_machine_stay_under_the_bound_of_theory(solver: Any) -> None:
    for seed in range(4):
        for Cn in (1e-3, 0.05, 1.0):
            n = 200
            problem = random_problem(seed, "hinge", "none", 1.0, n=n, d=5)
            c = np.full(n, Cn / n)
            task = problem.loss_task(Perceptron(), 1e-9)
            task.terms = hinge(problem.y, c)
            longest = Cn * float(np.linalg.norm(problem.X, axis=1).max())
            gaps = [4.0 * longest**2 / 2**k for k in range(4)]
            limits = [most_rounds(Cn, longest, gap) for gap in gaps]
            assert limits[0] <= 20, "a bound that nothing could break"
            for gap, limit in zip(gaps, limits, strict=True):
                assert rounds_to(gap, solver.start(task)) <= limit


@pytest.mark.parametrize("solver", [Bundle(), OneSlack(cached_rounds=0), OneSlack()])
def test_rounds_of_structured_problems_stay_under_the_bound_of_theory(solver: Any) -> None:
    for name in ("multiclass", "costs", "hamming", "label costs"):
        case = named_cases()[name]
        for C in (1e-3, 0.02, 0.5):
            task = structured_task(case, C)
            longest = C * sum(float(np.linalg.norm(psi, axis=1).max()) for psi in case.listed.psi)
            at_0 = C * sum(float(loss.max()) for loss in case.listed.loss)
            gaps = [4.0 * longest**2 / 2**k for k in range(4)]
            for gap in gaps:
                assert rounds_to(gap, solver.start(task)) <= most_rounds(at_0, longest, gap)


def structured_task(case: Case, C: float, tol: float = 1e-9) -> Task:
    return Task(case.oracle, C, np.ones(case.n), np.arange(case.n), np.random.default_rng(0), tol)


def test_planes_of_the_n_slack_method_stay_under_the_bound_of_theory() -> None:
    """Theorem 18 of Tsochantaridis and others (2005), with ``C n`` in the place of their ``C``.

    Sequences have so many outputs that a method which took any of them would break the bound.
    """
    rng = np.random.default_rng(1)
    for n, length, normalize in ((5, 6, True), (8, 6, True), (5, 7, False)):
        tokens, features = random_tokens(rng, [length] * n, "dense")
        labels = [rng.integers(0, 3, length) for _ in range(n)]
        case = sequence_case(tokens, features, labels, 3, normalize=normalize)
        R = max(float(np.linalg.norm(psi, axis=1).max()) for psi in case.listed.psi)
        largest_loss = max(float(loss.max()) for loss in case.listed.loss)
        assert largest_loss == (1.0 if normalize else length)
        possible = n * (3**length - 1)
        for C, tol, share in ((1e-3, 0.9, 0.02), (1e-2, 0.5, 0.3)):
            result = minimise(case.oracle, NSlack(batch=1), C=C, tol=tol, max_passes=200, random_state=0)
            assert result.certificate.status is Status.CONVERGED
            assert result.planes is not None
            epsilon = 0.5 * tol * result.certificate.dual / (C * n)
            limit = largest_loss * max(2 * n / epsilon, 8 * C * n * R**2 / epsilon**2)
            assert limit < share * possible, "a bound that nothing could break"
            added = active_counts(result.planes)[0] - n  # each begins with the truth
            assert n <= added <= limit


@pytest.mark.parametrize(("batch", "tol"), [(1, 0.3), (4, 0.05), (100, 0.3)])
def test_the_n_slack_method_adds_what_is_violated_by_more_than_epsilon(
    batch: int, tol: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nothing else; the program over the working set is solved to what the tolerance, or the decoder, asks for."""
    rng = np.random.default_rng(2)
    n, C = 8, 0.3
    tokens, features = random_tokens(rng, [6] * n, "dense")
    case = sequence_case(tokens, features, [rng.integers(0, 3, 6) for _ in range(n)], 3, normalize=False)
    task = structured_task(case, C, tol)
    run = NSlack(batch=batch).start(task)
    evaluate = task.oracle.evaluate
    gaps: list[float] = []
    spared: list[int] = []

    def dual() -> float:
        return float(run.work.state[passes.DUAL])

    def watched(w: Any, examples: Any, *, above: Any, work: Any, **options: Any) -> Any:
        cached = task.oracle.best_cached(w, work.planes, examples)[1]
        epsilon = 0.5 * tol * max(dual(), 0.0) / (C * n)
        np.testing.assert_allclose(above, cached + epsilon, rtol=1e-12, atol=1e-15)
        before = active_counts(work.planes)[0]
        found = evaluate(w, examples, above=above, work=work, **options)
        assert active_counts(work.planes)[0] - before == int((found.slack > cached + epsilon).sum())
        spared.append(int(((found.slack > cached + 1e-9) & (found.slack <= cached + epsilon)).sum()))
        gaps.append(C * np.maximum(found.slack - cached, 0.0).sum())
        return found

    monkeypatch.setattr(task.oracle, "evaluate", watched)
    for _ in range(30):
        gaps.clear()
        step = run.advance()
        w = run.weights()
        cached = task.oracle.best_cached(w, run.work.planes, task.examples)[1]
        left = 0.5 * w @ w + C * cached.sum() - dual()
        assert left <= max(0.4 * sum(gaps), 0.1 * tol * dual()) + 1e-9
        assert step.ready == (not run.added)
        if step.ready:
            break
    else:
        raise AssertionError("passes always added something")
    assert sum(spared), "epsilon spared nothing"
    true = np.array(
        [float((loss + psi @ w).max()) for loss, psi in zip(case.listed.loss, case.listed.psi, strict=True)]
    )
    assert (np.maximum(true, 0.0) <= cached + 0.5 * tol * dual() / (C * n) + 1e-9).all()


def test_rounds_do_not_grow_with_the_number_of_rows() -> None:
    rng = np.random.default_rng(0)
    passes = []
    for n in (300, 3000, 30_000):
        X = rng.normal(size=(n, 5))
        y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
        c = np.full(n, 100.0 / n)
        task = LinearTask(Rows(X), hinge(y, c), 100.0 / n, np.ones(n), "free", 1e-4, rng)
        result = solve(task)
        assert result.certificate.status is Status.CONVERGED
        passes.append(result.certificate.passes)
    assert passes[-1] <= 1.5 * passes[0], passes


def test_copies_of_rows_are_weights() -> None:
    problem = random_problem(6, "hinge", "free", 1.0, n=40, d=4)
    problem.c = np.random.default_rng(0).integers(1, 5, 40).astype(float)
    times = problem.c.astype(int)
    copies = Small(np.repeat(problem.X, times, 0), np.repeat(problem.y, times), np.ones(times.sum()), "hinge", "free")
    first, second = solve(problem.task(1e-12)), solve(copies.task(1e-12))
    np.testing.assert_allclose(first.w, second.w, rtol=0, atol=1e-9)


# how it is reached and what it refuses


def test_losses_with_kinks_are_for_the_bundle_method() -> None:
    problem = random_problem(0, "hinge", "free", 1.0, n=50)
    model = SVMClassifier(loss=largest(LINES["kinks"]), tol=1e-6).fit(problem.X, problem.y)
    assert (model.solver_, model.solver_reason_) == ("bundle", "the loss has kinks and no sum of hinges")
    problem.c = np.ones(50)
    assert model.certificate_.primal == pytest.approx(lines_optimum(problem, LINES["kinks"]), rel=2e-6)
    X = problem.X[model.support_]
    residual = 2.0 * model.dual_residual_[0] + 1e-12
    np.testing.assert_allclose(model.dual_coef_[0] @ X, model.coef_[0], rtol=0, atol=residual)
    assert 0 < len(model.support_) < 50
    model = SVMClassifier(loss="perceptron").fit(problem.X, problem.y)
    assert (model.solver_, model.certificate_.primal) == ("bundle", 0.0)


def test_one_slack_by_name() -> None:
    """Rounds go to the minimiser of the model: as many planes as ``Bundle(share=1)``, and no fewer than the default."""
    problem = random_problem(0, "hinge", "free", 1.0, n=200, d=8)
    X, y = problem.X, problem.y
    for model in (SVMClassifier(tol=1e-7), SVMRegressor(tol=1e-7, C=0.1)):
        target = y if isinstance(model, SVMClassifier) else X[:, 0] + 0.3 * np.abs(X[:, 1])
        best = clone(model).fit(X, target)
        rounds = {}
        for solver in ("one_slack", OneSlack(keep_rounds=50), Bundle(share=1.0), "bundle"):
            found = clone(model).set_params(solver=solver).fit(X, target)
            assert found.certificate_.primal == pytest.approx(best.certificate_.primal, rel=1e-6)
            rounds[str(solver)] = found.certificate_.passes
        assert found.solver_ == "bundle"
        counts = list(rounds.values())
        assert counts[0] == counts[1] == counts[2] > counts[3]


def test_by_name_and_as_an_object() -> None:
    problem = random_problem(0, "hinge", "free", 1.0, n=50)
    usual = SVMClassifier(tol=1e-7).fit(problem.X, problem.y)
    model = SVMClassifier(tol=1e-7, solver="bundle").fit(problem.X, problem.y)
    assert model.solver_ == "bundle"
    np.testing.assert_allclose(model.coef_, usual.coef_, atol=1e-3)
    assert model.certificate_.primal == pytest.approx(usual.certificate_.primal, rel=1e-6)
    model.set_params(solver=Bundle(radius=0.5)).fit(problem.X, problem.y)
    assert np.linalg.norm(model.coef_) == pytest.approx(0.5, rel=1e-9)
    slack = np.maximum(1.0 - np.where(problem.y > 0, 1.0, -1.0) * model.decision_function(problem.X), 0.0)
    assert model.certificate_.primal == pytest.approx(slack.sum(), rel=1e-9)
    wide = SVMClassifier(solver=Bundle(radius=100.0)).fit(problem.X[:, :1], problem.X[:, 0] > 0.4)
    assert wide.certificate_.primal == 0.0


def test_features_of_other_sizes() -> None:
    """No overflow on the way, although the first minimiser of the model is far off."""
    problem = random_problem(0, "hinge", "free", 1.0, n=50)
    for loss in ("exponential", "squared_hinge", "hinge"):
        for size in (1e-4, 1e4):
            X = size * problem.X
            model = SVMClassifier(loss=loss, solver="bundle", tol=1e-5).fit(X, problem.y)
            other = SVMClassifier(loss=loss, tol=1e-5, max_passes=5000).fit(X, problem.y)
            assert model.certificate_.status is Status.CONVERGED
            assert model.certificate_.primal == pytest.approx(other.certificate_.primal, rel=2e-5)


def test_a_run_cut_short_is_honest() -> None:
    problem = random_problem(1, "hinge", "free", 50.0)
    value = problem.optimum()
    for radius in (None, 1.0):
        found = solve(problem.task(1e-9), Bundle(radius), max_passes=4).certificate
        assert found.status is Status.PASS_LIMIT
        if radius is None:
            assert found.dual <= value <= found.primal * (1 + 1e-9)
        assert found.dual < found.primal


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"radius": 0.0}, "radius must be a positive finite number or None, not 0.0"),
        ({"radius": math.nan}, "radius must be a positive finite number"),
        ({"radius": math.inf}, "radius must be a positive finite number"),
        ({"share": 0.0}, "share must be above 0 and at most 1, not 0.0"),
        ({"share": 1.5}, "share must be above 0"),
        ({"keep_rounds": 0}, "keep_rounds must be at least 1, not 0"),
    ],
)
def test_options_are_checked(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Bundle(**options)


def test_tasks_without_weights_are_refused() -> None:
    task = KernelTask.__new__(KernelTask)
    task.name = "SVMClassifier"
    with pytest.raises(DataError, match="SVMClassifier: bundle is for linear and structured machines"):
        Bundle().start(task)
    with pytest.raises(DataError, match="SVMClassifier: one_slack is for linear and structured machines"):
        OneSlack().start(task)
