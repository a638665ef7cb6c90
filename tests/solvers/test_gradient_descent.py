"""Gradient descent: its starts, its steps by transcription, where it stops, optima of smooth losses, and kinks."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from linear.problems import INTERCEPTS, LOSSES, SCALE, Small, random_problem
from maxmargin import MulticlassSVM, SVMClassifier, SVMRegressor
from maxmargin.errors import DataError
from maxmargin.kernels import Kernel
from maxmargin.losses import Logistic, Perceptron
from maxmargin.solvers.base import Task, WarmStart
from maxmargin.solvers.gradient_descent import GradientDescent
from maxmargin.solvers.kernel.task import KernelTask
from maxmargin.solvers.linear.rows import Rows
from maxmargin.solvers.linear.task import LinearTask
from maxmargin.solvers.loop import minimize, run_to_tolerance
from maxmargin.solvers.objective import objective_of
from maxmargin.status import Status
from maxmargin.terms import LossTerms, hinge, insensitive, squared_insensitive
from solvers.enumeration import Case, multiclass_case, named_cases, plain_case

Reals = NDArray[np.float64]
KINDS = pytest.mark.parametrize("kind", ["compiled", "plain"])


def of_kind(case: Case, kind: str) -> Case:
    return case if kind == "compiled" else plain_case(case)


def structured_task(case: Case, C: float = 1.0, seed: int = 0) -> Task:
    return Task(case.oracle, C, np.ones(case.n), np.arange(case.n), np.random.default_rng(seed), 1e-9)


# starts


@pytest.mark.parametrize("of", ["linear", "structured"])
def test_where_it_begins(of: str) -> None:
    """At 0, at given weights, at random ones that the seed decides, and at a warm start whatever was asked for."""

    def begin(solver: GradientDescent, seed: int = 0, warm: Reals | None = None) -> tuple[Reals, float]:
        problem, case = random_problem(2, "squared_hinge", "free", 0.1, d=400), named_cases()["costs"]
        task: Any = problem.task(seed=seed) if of == "linear" else structured_task(case, seed=seed)
        task.warm = None if warm is None else WarmStart(warm)
        run: Any = solver.start(task)
        w = run.weights()
        value = problem.value(w) if of == "linear" else case.listed.primal(w, np.ones(case.n))
        assert run.at.value == pytest.approx(value, rel=1e-12)
        return w, value

    w, value = begin(GradientDescent())
    assert not w.any()
    given = np.linspace(-1.0, 2.0, len(w))
    given.flags.writeable = False
    start, other = begin(GradientDescent(start_at=given))
    np.testing.assert_array_equal(start, given)
    assert start is not given
    assert other != value
    np.testing.assert_array_equal(begin(GradientDescent(start_at=given.tolist()))[0], given)  # type: ignore[arg-type]
    random = GradientDescent(start_at="random")
    first, again, another = (begin(random, seed)[0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - another).min() > 0.0
    if of == "linear":  # length about 1: the square is a mean of 401 squares
        assert np.linalg.norm(first) == pytest.approx(1.0, abs=0.15)
    for solver in (GradientDescent(), random, GradientDescent(start_at=given)):
        np.testing.assert_array_equal(begin(solver, warm=given + 1.0)[0], given + 1.0)


def test_every_start_ends_at_the_optimum() -> None:
    problem = random_problem(2, "squared_hinge", "penalized", 0.3)
    value = problem.optimum()
    for start in ("zero", "random", np.array([3.0, -1.0, 0.5, 2.0, -4.0])):
        found = run_to_tolerance(problem.task(1e-8), GradientDescent(start_at=start), max_passes=2000).certificate  # type: ignore[arg-type]
        assert found.status is Status.CONVERGED
        assert found.primal == pytest.approx(value, rel=1e-7)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("one", "start_at must be 'zero', 'random' or an array, not 'one'"),
        (np.zeros(4), r"start_at must have 5 finite numbers; its shape is \(4,\)"),
        (np.zeros((5, 1)), r"start_at must have 5 finite numbers; its shape is \(5, 1\)"),
        (np.full(5, np.nan), "start_at must have 5 finite numbers"),
    ],
)
def test_starts_that_are_none(start: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GradientDescent(start_at=start).start(random_problem(0, "hinge", "free", 1.0).task())


@pytest.mark.parametrize("epsilon", [-1e-9, math.nan, math.inf])
def test_what_is_no_epsilon(epsilon: float) -> None:
    with pytest.raises(ValueError, match="epsilon must be a number of at least 0, not"):
        GradientDescent(epsilon)


def test_kernels_are_not_for_it() -> None:
    terms = insensitive(np.ones(2), np.ones(2), 0.1)
    task = KernelTask(
        Kernel("linear"), np.eye(2), terms, 1.0, np.ones(2), np.zeros(0), np.zeros((2, 2), np.int64), 1e-3
    )
    with pytest.raises(DataError, match="gradient_descent is for linear and structured machines"):
        GradientDescent().start(task)


# steps


def gradient_of(problem: Small, w: Reals) -> Reals:
    """By the definitions, with 0 at every kink."""
    d = problem.X.shape[1]
    A = np.column_stack([problem.X, np.ones(len(problem.y))])[:, : len(w)]
    f, ridge = A @ w, np.append(np.ones(d), {"free": 0.0, "penalized": SCALE**-2, "none": 0.0}[problem.intercept])
    if "hinge" in problem.loss:
        error, towards = 1.0 - problem.y * f, problem.y
    else:
        error, towards = np.abs(problem.y - f) - 0.3, np.sign(problem.y - f)
    slope = 2.0 * np.maximum(error, 0.0) if "squared" in problem.loss else (error > 0.0) * 1.0
    return np.asarray(ridge[: len(w)] * w - A.T @ (problem.c * towards * slope))


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_step_is_the_longest_of_a_half_halved_that_lowers_the_objective(loss: str, intercept: str) -> None:
    epsilon, halvings = 1e-9, []
    for seed, C in enumerate((0.01, 1.0, 20.0)):
        problem = random_problem(seed, loss, intercept, C)
        run: Any = GradientDescent(epsilon).start(problem.task())
        w = np.zeros(problem.task().n_weights)
        for _ in range(12):
            g, value = gradient_of(problem, w), problem.value(w)
            values = [problem.value(w - g / 2.0**k) for k in range(1, 60)]
            lower = [k for k, there in enumerate(values, 1) if there < value - epsilon * value]
            step = run.advance()
            assert step.settled == (not lower)
            if step.settled:
                break
            halvings.append(lower[0])
            w = w - g / 2.0 ** lower[0]
            np.testing.assert_allclose(run.weights(), w, rtol=1e-9, atol=1e-12)
            assert run.at.value == pytest.approx(values[lower[0] - 1], rel=1e-12)
            assert run.at.value < value
            w = run.weights().copy()
        np.testing.assert_array_equal(run.weights(), w)
    assert min(halvings) == 1, "the first step never did: the test says little"
    assert max(halvings) > 3, "nothing was ever halved: the test says little"


@KINDS
def test_steps_of_a_structured_problem(kind: str) -> None:
    case = of_kind(named_cases()["label costs"], kind)
    run: Any = GradientDescent(start_at="random").start(structured_task(case, 0.7))
    psi, loss = case.listed.psi, case.listed.loss
    c = np.full(case.n, 0.7)
    w, taken = run.weights().copy(), set()
    for _ in range(10):
        best = [int((delta + each @ w).argmax()) for delta, each in zip(loss, psi)]
        g = w + sum(0.7 * each[k] for k, each in zip(best, psi))
        value = case.listed.primal(w, c)
        k = next(k for k in range(1, 60) if case.listed.primal(w - g / 2.0**k, c) < value)
        taken.add(k)
        run.advance()
        w = w - g / 2.0**k
        np.testing.assert_allclose(run.weights(), w, rtol=0, atol=1e-9)
        assert run.at.value == pytest.approx(case.listed.primal(w, c), rel=1e-12)
    assert len(taken) > 1


def test_a_step_across_the_valley_is_no_end() -> None:
    """``1/2 w^2 + 3/2 (1 - w)^2`` is 3/2 both at 0 and where the step of 1/2 leads from there."""
    problem = Small(np.ones((1, 1)), np.ones(1), np.array([1.5]), "squared_insensitive", "none")
    terms = squared_insensitive(problem.y, problem.c, 0.0)
    task = LinearTask(Rows(problem.X), terms, 1.0, problem.c, "none", 1e-9, np.random.default_rng(0), signs=False)
    run: Any = GradientDescent().start(task)
    assert task.objective(np.zeros(1)) == task.objective(np.array([1.5])) == 1.5
    run.advance()
    assert run.weights().tolist() == [0.75]  # the optimum
    model = SVMRegressor(
        1.5, loss="squared_epsilon_insensitive", epsilon=0.0, fit_intercept=False, solver="gradient_descent", tol=1e-9
    ).fit([[1.0]], [1.0])
    assert model.certificate_.status is Status.CONVERGED
    assert model.coef_.tolist() == [0.75]


# its own epsilon


def test_it_ends_when_no_step_moves_the_objective_by_more_than_epsilon() -> None:
    problem = random_problem(4, "squared_hinge", "none", 2.0)
    passes = []
    for epsilon in (0.1, 1e-2, 1e-4, 1e-8, 0.0):
        run: Any = GradientDescent(epsilon).start(problem.task())
        values = [run.at.value]
        settled = False
        while not settled:
            settled = run.advance().settled
            values.append(run.at.value)
            assert len(values) < 1000, "it never ends"
        passes.append(len(values) - 1)
        drops = -np.diff(values[:-1])
        assert (drops > epsilon * np.array(values[:-2])).all()
        w, g = run.weights(), gradient_of(problem, run.weights())
        left = values[-1] - min(problem.value(w - g / 2.0**k) for k in range(1, 60))
        assert left <= (epsilon + 1e-14) * values[-1]
    assert passes == sorted(passes)
    assert passes[0] < passes[2] < passes[3] < passes[-1]
    assert values[-1] == pytest.approx(problem.optimum(), rel=1e-8)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_stop_is_its_own_and_not_that_of_the_tolerance(loss: str) -> None:
    """A large epsilon ends it early, and it says so; the tolerance of the gap ends it where that is reached first."""
    problem = random_problem(4, loss, "none", 2.0)
    early = run_to_tolerance(problem.task(1e-9), GradientDescent(0.2), max_passes=500).certificate
    assert early.status is Status.STANDSTILL
    assert early.relative_gap > 1e-3
    loose = run_to_tolerance(problem.task(0.3), GradientDescent(), max_passes=500).certificate
    assert loose.status is Status.CONVERGED
    assert loose.relative_gap <= 0.3
    assert early.dual <= problem.optimum() * (1 + 1e-9) <= early.primal * (1 + 2e-9)


# kinks


def test_at_the_kink_of_a_loss_the_subgradient_is_0() -> None:
    """All rows at it exactly: what is left is the penalty; beside it the loss has its slope."""
    ones, c = np.ones(3), np.array([1.0, 2.0, 4.0])

    def slope(terms: Any, w: float) -> float:
        rng = np.random.default_rng(0)
        objective = objective_of(LinearTask(Rows(np.ones((3, 1))), terms, 1.0, c, "none", 1e-3, rng), "this")
        point = objective.at(np.array([w]))
        by_examples = objective.slope_of(np.array([w]), np.arange(3))
        np.testing.assert_array_equal(point.slope, by_examples)
        assert objective.gradient(point).tolist() == [w + point.slope[0]]
        return float(point.slope[0])

    assert slope(hinge(ones, c), 1.0) == 0.0
    assert slope(hinge(ones, c), np.nextafter(1.0, 0.0)) == -7.0
    assert slope(hinge(-ones, c), -1.0) == 0.0
    assert slope(LossTerms(ones[:, None], Perceptron(), c), 0.0) == 0.0
    assert slope(LossTerms(ones[:, None], Perceptron(), c), -1e-300) == -7.0
    for edge in (0.75, 1.25):  # of the tube
        assert slope(insensitive(ones, c, 0.25), edge) == 0.0
    assert slope(insensitive(ones, c, 0.25), 0.5) == -7.0
    assert slope(insensitive(ones, c, 0.25), 1.5) == 7.0


@KINDS
@pytest.mark.parametrize("truth", [0, 1, 2])
def test_where_the_truth_ties_there_is_no_slope(truth: int, kind: str) -> None:
    """Whatever its number: with margins that are exact, and with margins that are exact but for rounding."""
    for costs in (1.0 - np.eye(3), np.zeros((3, 3))):
        for size in (1.0, 0.1, 1.0 / 3.0, 1e5 / 3.0):
            case = of_kind(multiclass_case(np.array([[size]]), np.array([truth]), costs), kind)
            objective = objective_of(structured_task(case), "this")
            margin = np.array([-costs[truth, label] / size for label in range(3)])  # all outputs tie with the truth
            for shift in (0.0, 0.7 / size, -1.9 / size):
                w = margin + shift
                assert abs(case.listed.slacks(w)).max() < 1e-14
                point = objective.at(w)
                assert not point.slope.any()
                assert not point.dual.any()
                assert point.value == pytest.approx(0.5 * float(w @ w), rel=1e-14)
                dual = objective.no_dual()
                assert not objective.slope_of(w, np.array([0, 0]), dual).any()
                assert not dual.any()
    # a margin that is short, even by little, has a slope
    case = of_kind(multiclass_case(np.ones((1, 1)), np.array([truth]), 1.0 - np.eye(3)), kind)
    for short in (1e-12, 0.5):
        w = np.where(np.arange(3) == truth, 0.0, -2.0)
        w[(truth + 1) % 3] = -1.0 + short
        point = objective_of(structured_task(case, 3.0), "this").at(w)
        assert point.slope[(truth + 1) % 3] == 3.0 == -point.slope[truth]
        assert point.value == pytest.approx(0.5 * float(w @ w) + 3.0 * short, rel=1e-12)


@KINDS
def test_only_examples_without_a_slack_lose_their_slope(kind: str) -> None:
    """At any weights the slope is that of the listed outputs, and the plane touches the loss."""
    case = of_kind(named_cases()["costs"], kind)
    rng = np.random.default_rng(3)
    none = 0
    for size in (0.1, 1.0, 3.0):
        for _ in range(20):
            w = size * rng.normal(size=case.listed.n_weights)
            point = objective_of(structured_task(case), "this").at(w)
            best = [int((delta + psi @ w).argmax()) for delta, psi in zip(case.listed.loss, case.listed.psi)]
            slope = sum(psi[k] for k, psi in zip(best, case.listed.psi))
            none += sum(k == true for k, true in zip(best, case.listed.truth))
            np.testing.assert_allclose(point.slope, slope, rtol=0, atol=1e-12)
            loss = float(case.listed.slacks(w).sum())
            assert float(point.slope @ w) + point.dual[-1] == pytest.approx(loss, rel=1e-12, abs=1e-12)
    assert none > 20


@KINDS
def test_names_of_labels_do_not_matter_where_only_the_truth_ties(kind: str) -> None:
    """At 0 every wrong class of one kind of row costs nothing, and each other row has one costliest class."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(12, 3)), rng.permutation(np.repeat(np.arange(3), 4))
    costs = np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 1.0], [2.0, 0.7, 0.0]])
    first: list[float] = []
    for names in permutations(range(3)):
        new = np.array(names)
        renamed = np.zeros_like(costs)
        renamed[np.ix_(new, new)] = costs
        run: Any = GradientDescent().start(structured_task(of_kind(multiclass_case(X, new[y], renamed), kind), 0.3))
        values = []
        for _ in range(25):
            run.advance()
            values.append(run.at.value)
        first = first or values
        np.testing.assert_allclose(values, first, rtol=1e-9)
    assert first[0] > 1.01 * first[-1]


def test_names_of_classes_do_not_matter_to_the_estimator() -> None:
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(30, 3)), rng.permutation(np.repeat(np.arange(3), 10))
    costs = np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 1.0], [2.0, 0.7, 0.0]])
    primal = []
    for names in permutations(range(3)):
        new = np.array(names)
        renamed = np.zeros_like(costs)
        renamed[np.ix_(new, new)] = costs
        model = MulticlassSVM(0.1, loss=renamed, solver="gradient_descent", tol=0.0, max_passes=12)
        with pytest.warns(ConvergenceWarning):
            primal.append(model.fit(X, new[y]).certificate_.primal)
    assert max(primal) == pytest.approx(min(primal), rel=1e-9)


# optima of smooth losses


def assert_agrees(certificate: Any, value: float) -> None:
    assert certificate.status in (Status.CONVERGED, Status.STANDSTILL)
    assert value * (1 - 1e-9) <= certificate.primal <= value * (1 + 1e-6)
    assert value * (1 - 1e-6) <= certificate.dual <= value * (1 + 1e-9)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", ["squared_hinge", "squared_insensitive"])
def test_squared_losses_to_a_millionth(loss: str, intercept: str) -> None:
    for seed, C in enumerate((1e-3, 0.1, 2.0, 50.0)):
        problem = random_problem(seed, loss, intercept, C)
        result = run_to_tolerance(problem.task(1e-9), GradientDescent(), max_passes=3000)
        assert_agrees(result.certificate, problem.optimum())
        assert result.certificate.primal == pytest.approx(problem.value(result.w), rel=1e-12)


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_the_logistic_loss_to_a_millionth(intercept: str) -> None:
    for seed, C in enumerate((1e-3, 0.1, 2.0, 50.0)):
        problem = random_problem(seed, "hinge", intercept, C)
        result = run_to_tolerance(problem.loss_task(Logistic(), 1e-9), GradientDescent(), max_passes=3000)
        assert_agrees(result.certificate, problem.smooth_optimum(Logistic()))


# standstill


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", ["hinge", "insensitive"])
def test_at_a_kink_it_stops_and_is_honest(loss: str, intercept: str) -> None:
    """Before the optimum; the certificate has the optimum between its bounds, and the weights lie where it says."""
    for seed, C in enumerate((2.0, 50.0)):
        problem = random_problem(seed, loss, intercept, C)
        value = problem.optimum()
        result = run_to_tolerance(problem.task(1e-9), GradientDescent(), max_passes=3000)
        found = result.certificate
        assert found.status is Status.STANDSTILL
        assert not found.status.ok
        assert found.primal == pytest.approx(problem.value(result.w), rel=1e-12)
        assert found.dual <= value * (1 + 1e-9)
        assert found.primal >= value * (1 - 1e-9)
        assert found.relative_gap > 1e-5
        w, g = result.w, gradient_of(problem, result.w)
        assert min(problem.value(w - g / 2.0**k) for k in range(1, 60)) >= found.primal * (1 - 1.1e-12)


@KINDS
@pytest.mark.parametrize("name", ["hamming", "costs"])
def test_structured_problems_stop_at_a_kink_and_are_honest(name: str, kind: str) -> None:
    case = of_kind(named_cases()[name], kind)
    value = case.listed.optimum(np.full(case.n, 2.0))[1]
    for start in ("zero", "random"):
        result = minimize(
            case.oracle, GradientDescent(start_at=start), C=2.0, tol=1e-9, max_passes=10_000, random_state=0
        )  # type: ignore[arg-type]
        found = result.certificate
        assert found.status is Status.STANDSTILL
        assert found.dual <= value * (1 + 1e-7)
        assert found.primal >= value * (1 - 1e-7)
        assert found.primal == pytest.approx(case.listed.primal(result.w, np.full(case.n, 2.0)), rel=1e-12)


@KINDS
@pytest.mark.parametrize("C", [2.0, 50.0, 1e4])
def test_the_planes_it_met_bound_the_optimum(C: float, kind: str) -> None:
    """Never below that of any of them or of 0: a single plane far off bounds by less than nothing."""
    case = of_kind(named_cases()["multiclass"], kind)
    value = case.listed.optimum(np.full(case.n, C))[1]
    task = Task(case.oracle, C, np.ones(case.n), np.arange(case.n), np.random.default_rng(0), 1e-9)
    run: Any = GradientDescent().start(task)
    bounds, singles = [run.bounds.best], []
    for _ in range(40):
        run.advance()
        bounds.append(run.bounds.best)
        singles.append(run.objective.bound(run.at.dual)[1])
    assert (np.diff(bounds) >= 0.0).all()
    assert bounds[0] >= 0.0
    assert bounds[-1] >= max(singles)
    assert (0.05 if C <= 50.0 else 0.002) * value < bounds[-1] == pytest.approx(run.dual(), rel=1e-9)
    assert bounds[-1] <= value * (1.0 + 1e-7)
    if C == 1e4:
        assert max(singles) < 0.0


def test_the_estimator_says_that_it_stands_still() -> None:
    problem = random_problem(1, "hinge", "free", 20.0)
    with pytest.warns(ConvergenceWarning, match="came to a standstill at .*another solver.* solver='bundle' is for "):
        model = SVMClassifier(20.0, solver="gradient_descent", max_passes=3000).fit(problem.X, problem.y)
    assert model.certificate_.status is Status.STANDSTILL
    assert model.solver_ == "gradient_descent"
    best = SVMClassifier(20.0, tol=1e-9, max_passes=5000).fit(problem.X, problem.y).certificate_
    assert model.certificate_.dual <= best.primal <= model.certificate_.primal


# ties at the start, and passes


def positive_classes(n_classes: int = 6) -> tuple[Reals, NDArray[np.int64]]:
    """Features that are nowhere negative: at 0 no decoder's choice leads down."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % n_classes
    return 20.0 + 10.0 * rng.uniform(size=(60, 8)) + 20.0 * np.eye(n_classes, 8)[y], y


def test_ties_at_the_start_are_no_end() -> None:
    X, y = positive_classes()
    primal = []
    for names in (np.arange(6), np.arange(6)[::-1], np.array([2, 0, 5, 1, 4, 3])):
        model = MulticlassSVM(1.0, solver="gradient_descent", tol=1e-6, max_passes=600)
        with pytest.warns(ConvergenceWarning, match="stopped by"):
            first = model.fit(X, names[y])
        assert first.score(X, names[y]) == 1.0
        with pytest.warns(ConvergenceWarning):
            again = MulticlassSVM(1.0, solver="gradient_descent", tol=1e-6, max_passes=600).fit(X, names[y])
        np.testing.assert_array_equal(first.coef_, again.coef_)
        assert first.certificate_.dual <= first.certificate_.primal
        primal.append(first.certificate_.primal)
    best = MulticlassSVM(1.0, tol=1e-6).fit(X, y).certificate_.primal
    assert best * (1 - 1e-6) <= min(primal)
    assert max(primal) < 0.5 * 60.0  # that of 0


@KINDS
def test_a_start_that_is_the_optimum_is_left_alone(kind: str) -> None:
    """Ties, or a gradient of 0: no way leads down, and it ends with the weights it began with."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(4, 3)), 3, 0)  # every row once with each class: 0 is best
    case = of_kind(multiclass_case(X, np.tile(np.arange(3), 4), 1.0 - np.eye(3)), kind)
    result = minimize(case.oracle, GradientDescent(), C=1.0, tol=1e-9, max_passes=1000, random_state=0)
    assert result.certificate.primal == pytest.approx(case.listed.optimum(np.ones(case.n))[1], rel=1e-6)
    assert result.certificate.primal <= 12.0


@pytest.mark.parametrize("start", ["zero", "random"])
def test_passes_are_those_of_the_decoder(start: Any) -> None:
    """Trials of the line search too."""
    case = plain_case(named_cases()["label costs"])
    argmax, calls = case.structure.argmax, 0

    def counted(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        return argmax(*args)

    case.structure.argmax = counted
    for max_passes in (2, 7, 40, 10_000):
        calls = 0
        found = minimize(
            case.oracle, GradientDescent(start_at=start), C=1.0, tol=1e-9, max_passes=max_passes, random_state=0
        ).certificate
        # the pass of the certificate predicts as well
        assert calls - 2 * case.n <= found.oracle_calls <= calls, max_passes
        assert found.oracle_calls == found.passes * case.n


def test_trials_on_rows_cost_no_pass() -> None:
    problem = random_problem(4, "squared_hinge", "none", 20.0)
    run: Any = GradientDescent().start(problem.task())
    assert [run.advance().passes for _ in range(5)] == [1] * 5


@pytest.mark.parametrize("max_passes", [2, 3, 4, 5, 6, 7, 9, 12, 25])
@pytest.mark.parametrize("start", ["zero", "random"])
def test_trials_keep_to_the_limit_of_passes(max_passes: int, start: Any) -> None:
    case = named_cases()["label costs"]
    found = minimize(
        case.oracle, GradientDescent(start_at=start), C=1.0, tol=0.0, max_passes=max_passes, random_state=0
    ).certificate
    assert found.passes <= max_passes
