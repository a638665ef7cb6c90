"""Stochastic subgradient methods: optima, rates, transcriptions of the papers' steps, and what is refused."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from linear.problems import INTERCEPTS, LOSSES, Small, random_problem
from maxmargin import MulticlassSVM, SVMClassifier
from maxmargin.errors import DataError
from maxmargin.losses import CustomLoss, Exponential, Logistic, MarginLoss, Perceptron
from maxmargin.solvers import structured_steps
from maxmargin.solvers.base import Task, WarmStart
from maxmargin.solvers.deadline import OutOfTime
from maxmargin.solvers.linear.subgradient_steps import CompiledSteps
from maxmargin.solvers.linear.task import LinearTask
from maxmargin.solvers.loop import Result, minimize, run_to_tolerance
from maxmargin.solvers.structured_objective import StructuredObjective
from maxmargin.solvers.structured_steps import StructuredSteps
from maxmargin.solvers.subgradient import Pegasos, Subgradient
from maxmargin.status import Status
from solvers.enumeration import named_cases, plain_case
from solvers.two_ways import assert_same_way

Reals = Any

SOLVERS: dict[str, Any] = {
    "default": Subgradient(),
    "last": Subgradient(averaging="none"),
    "uniform": Subgradient(averaging="uniform"),
    "suffix": Subgradient(averaging="suffix"),
    "power 1": Subgradient(c=2.0, power=1.0),
    "random": Subgradient(order="random"),
    "cyclic": Subgradient(order="cyclic"),
    "batches": Subgradient(batch=4),
    "random batches": Subgradient(order="random", batch=7),
    "momentum": Subgradient(momentum=0.5),
    "projected": Subgradient(project=True),
    "square root": Subgradient(step="1/sqrt(t)"),
    "pegasos": Pegasos(),
    "pegasos batches": Pegasos(batch=5, project=False),
}
SMOOTH = {name: SOLVERS[name] for name in ("default", "last", "uniform", "random", "batches", "momentum")} | {
    "constant": Subgradient(step="constant", averaging="uniform"),
    "reduced": Subgradient(variance_reduction=True),
    "reduced random": Subgradient(variance_reduction=True, order="random", batch=3),
}
ACCURACY = 0.03


def own(loss: MarginLoss, *, bend: bool = True) -> CustomLoss:
    """The same loss as one of a user's."""
    return CustomLoss(loss.value, loss.derivative, loss.curvature if bend else None, name="own")


def margin_task(
    loss: MarginLoss, C: float, intercept: str = "free", *, X: Any = None, tol: float = 1e-6, seed: int = 0, n: int = 25
) -> LinearTask:
    problem = random_problem(3, "hinge", intercept, C, n=n)
    return replace(problem, X=problem.X if X is None else X).loss_task(loss, tol, seed)


def smooth_optimum(loss: MarginLoss, C: float, intercept: str = "free") -> float:
    return random_problem(3, "hinge", intercept, C).smooth_optimum(loss)


def assert_reached(result: Result, optimum: float, accuracy: float) -> None:
    found = result.certificate
    assert found.status is Status.CONVERGED, found
    assert found.primal <= optimum / (1 - accuracy)
    assert optimum * (1 - accuracy) <= found.dual <= optimum * (1 + 1e-9)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", LOSSES)
def test_every_choice_reaches_the_optimum_of_hinges(loss: str, intercept: str) -> None:
    """To the accuracy that its own certificate states; the returned weights are what it speaks of."""
    problem = random_problem(8, loss, intercept, 0.1)
    value = problem.optimum()
    for name, solver in SOLVERS.items():
        result = run_to_tolerance(problem.task(ACCURACY), solver, max_passes=4000)
        assert result.certificate.solver == solver.name, name
        assert result.certificate.primal == pytest.approx(problem.value(result.w), rel=1e-12)
        assert_reached(result, value, ACCURACY)


@pytest.mark.parametrize("solver", SMOOTH)
@pytest.mark.parametrize("loss", [Logistic(), Exponential()], ids=repr)
def test_every_choice_reaches_the_optimum_of_smooth_losses(loss: MarginLoss, solver: str) -> None:
    for intercept in INTERCEPTS if isinstance(loss, Logistic) else ("free",):
        value = smooth_optimum(loss, 0.1, intercept)
        result = run_to_tolerance(margin_task(loss, 0.1, intercept, tol=ACCURACY), SMOOTH[solver], max_passes=1000)
        assert_reached(result, value, ACCURACY)


def test_the_perceptron_loss_brings_any_weights_to_zero() -> None:
    """Its optimum is 0; a start elsewhere has to come back."""
    task = margin_task(Perceptron(), 0.1, "none", tol=0.0)
    task.warm = WarmStart(np.full(4, -3.0))
    before = task.objective(task.warm.w)
    found = run_to_tolerance(task, Subgradient(averaging="none", c=0.3), max_passes=300).certificate
    assert found.dual == 0.0
    assert found.primal < 1e-3 * before


@pytest.mark.parametrize("order", ["random", "permuted"])
def test_the_expected_gap_falls_as_one_over_t(order: Any) -> None:
    """Eight times the steps: the theory says an eighth for averages with steps 1/t; a fourth passes."""
    problem = random_problem(8, "hinge", "none", 0.3)
    value = problem.optimum()

    def gap(passes: int) -> float:
        gaps = []
        for seed in range(15):
            run = Subgradient(order=order).start(problem.task(seed=seed))
            for _ in range(passes):
                run.advance()
            gaps.append(problem.value(run.weights()) - value)
        return float(np.mean(gaps))

    few, many = gap(12), gap(96)
    assert 0.0 < many < few / 4
    assert few < 0.1 * value


def test_constant_steps_end_the_nearer_the_shorter_they_are() -> None:
    problem = random_problem(8, "hinge", "none", 0.3)
    value = problem.optimum()

    def gap(c: float) -> float:
        solver = Subgradient(step="constant", c=c, averaging="uniform", order="random")
        return problem.value(run_to_tolerance(problem.task(0.0), solver, max_passes=1500).w) / value - 1

    assert gap(1e-3) < gap(1e-2) / 3 < gap(0.1) / 9
    assert gap(1e-3) < 1e-2


@pytest.mark.parametrize("project", [True, False])
@pytest.mark.parametrize("k", [1, 4])
def test_pegasos_step_by_step(k: int, project: bool) -> None:
    """Its own form: ``lambda/2 |w|^2 + 1/n sum_i loss_i``, steps ``1 / (lambda t)``, ball of radius ``1/sqrt(lambda)``."""
    C, n = 0.4, 23
    problem = random_problem(5, "hinge", "none", C, n=n)
    problem.c = np.full(n, C)
    run: Any = Pegasos(batch=k, project=project).start(problem.task())
    m = -(-n // k)
    draws = np.random.default_rng(0)
    lam, w, t = 1.0 / (n * C), np.zeros(4), 0
    back = 0
    for _ in range(4):
        order = draws.integers(0, n, m * k)
        plan = run._plan()
        for step in range(m):
            batch = order[step * k : (step + 1) * k]
            t += 1
            active = batch[problem.y[batch] * (problem.X[batch] @ w) < 1.0]
            w = (1.0 - 1.0 / t) * w + problem.X[active].T @ problem.y[active] / (lam * t * k)
            norm = float(np.linalg.norm(w))
            if project and norm > lam**-0.5:
                w *= lam**-0.5 / norm
                back += 1
            run.steps.take(batch, k, plan[step : step + 1])
            run.taken += 1
            np.testing.assert_allclose(run.weights(), w, rtol=1e-9, atol=1e-12)
    assert (back > 0) == project
    whole: Any = Pegasos(batch=k, project=project).start(problem.task())
    for _ in range(4):
        whole.advance()
    np.testing.assert_allclose(whole.weights(), w, rtol=1e-9, atol=1e-12)


def test_heavy_ball_step_by_step() -> None:
    """And the free intercept, whose step is longer by the mean of ``|x_i|^2``."""
    problem = random_problem(2, "squared_hinge", "free", 0.1)
    n, r, momentum = 25, 1e-3, 0.8
    run: Any = Subgradient(step="constant", c=r, momentum=momentum, averaging="none", order="cyclic", batch=5).start(
        problem.task()
    )
    A = np.column_stack([problem.X, np.ones(n)])
    length = r * np.append(np.ones(4), (problem.X**2).sum(1).mean())
    v = before = np.zeros(5)
    for _ in range(3):
        for at in range(0, n, 5):
            some = slice(at, at + 5)
            slack = np.maximum(1.0 - problem.y[some] * (A[some] @ v), 0.0)
            slope = np.append(v[:4], 0.0) - 5 * A[some].T @ (2.0 * problem.c[some] * problem.y[some] * slack)
            v, before = v - length * slope + momentum * (v - before), v
        run.advance()
        np.testing.assert_allclose(run.weights(), v, rtol=1e-9)


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize(
    "options",
    [dict(averaging="uniform"), dict(averaging="suffix"), dict(power=1.0), dict(), dict(momentum=0.3)],
    ids=str,
)
def test_averages_are_those_of_all_weights_on_the_way(options: Any, plain: bool) -> None:
    """Steps one by one, each written down, against the means that were kept without ever making them."""
    loss = own(Logistic()) if plain else Logistic()
    one: Any = Subgradient(order="cyclic", batch=2, **options).start(margin_task(loss, 0.3))
    other: Any = Subgradient(order="cyclic", batch=2, **options).start(margin_task(loss, 0.3))
    seen = []
    for p in range(1, 8):
        other.advance()
        plan = one._plan()
        for step in range(one.m):
            one.steps.take(np.arange(25)[2 * step : 2 * step + 2], 2, plan[step : step + 1])
            one.taken += 1
            seen.append(one.steps.last())
        first = 0
        if options.get("averaging") == "suffix":  # between the last half and the last three quarters
            first = one.m * max(2 ** (int(math.log2(p)) - 1), 0 if p < 2 else 1) if p > 1 else 0
            assert 0.5 <= 1 - first / len(seen) <= 1.0
        power = options.get("power", 0.0 if "averaging" in options else 3.0)
        t = np.arange(1.0, len(seen) - first + 1.0)
        share = (power + 1) / (t + power)
        weight = share * np.append(np.cumprod(1.0 - share[:0:-1])[::-1], 1.0)
        assert weight.sum() == pytest.approx(1.0)
        np.testing.assert_allclose(other.weights(), weight @ np.array(seen[first:]), rtol=1e-9, atol=1e-12)


PATHS = [
    dict(),
    dict(averaging="suffix", order="random", batch=3),
    dict(averaging="none", momentum=0.6),
    dict(project=True, step="1/sqrt(t)", averaging="uniform", batch=2),
    dict(step="constant", c=1e-3, power=1.0),
    dict(variance_reduction=True),
    dict(variance_reduction=True, batch=4, order="random"),
]


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("options", PATHS, ids=str)
def test_a_users_own_loss_goes_the_same_way_as_a_compiled_one(options: Any, intercept: str) -> None:
    """Plain NumPy, which makes all weights at each step, is an independent body of the same method."""
    first: Any
    second: Any
    loss = Logistic(base=2.0)
    first, second = (Subgradient(**options).start(margin_task(each, 1.0, intercept)) for each in (loss, own(loss)))
    assert isinstance(first.steps, CompiledSteps)
    assert not isinstance(second.steps, CompiledSteps)
    assert first.longest == pytest.approx(second.longest)  # at 0 the curvature is the largest
    for _ in range(5):
        first.advance(), second.advance()
        np.testing.assert_allclose(first.weights(), second.weights(), rtol=1e-8, atol=1e-10)
    assert first.dual() == pytest.approx(second.dual(), rel=1e-6)


def test_a_users_own_loss_with_a_kink_or_without() -> None:
    """``max(0, 1 - t)`` once more, from outside; and a smooth one, with reduced variance."""
    hinge = CustomLoss(lambda t: np.maximum(1.0 - t, 0.0), lambda t: np.where(t < 1.0, -1.0, 0.0))
    problem = random_problem(3, "hinge", "free", 0.1)
    result = run_to_tolerance(margin_task(hinge, 0.1, tol=ACCURACY), Subgradient(batch=2), max_passes=600)
    assert_reached(result, problem.optimum(), ACCURACY)
    smooth = run_to_tolerance(margin_task(own(Logistic()), 0.1, tol=1e-4), Subgradient(variance_reduction=True))
    assert_reached(smooth, smooth_optimum(Logistic(), 0.1), 1e-4)


def test_no_momentum_is_the_limit_of_little_momentum() -> None:
    """Two ways of moving weights: at once, and by numbers that stand for all of them."""
    for options in (
        dict(),
        dict(averaging="suffix", order="random", batch=3),
        dict(step="1/sqrt(t)", averaging="none"),
    ):
        weights = []
        for momentum in (0.0, 1e-12):
            run = Subgradient(momentum=momentum, **options).start(random_problem(2, "hinge", "free", 0.5).task())  # type: ignore[arg-type]
            for _ in range(5):
                run.advance()
            weights.append(run.weights())
        np.testing.assert_allclose(weights[0], weights[1], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("intercept", ["free", "none"])
def test_reduced_variance_converges_linearly(intercept: str) -> None:
    value = smooth_optimum(Logistic(), 1.0, intercept)
    run: Any = Subgradient(variance_reduction=True).start(margin_task(Logistic(), 1.0, intercept))
    gaps = []
    for _ in range(60):
        for _ in range(4):
            run.advance()
        run.dual()
        gaps.append(run.task.objective(run.weights()) / value - 1)
    until = next(k for k, gap in enumerate(gaps) if gap < 1e-9)
    assert until < 59
    rates = [after / gap for gap, after in zip(gaps[:until], gaps[1 : until + 1])]
    assert len(rates) >= 3
    assert max(rates) < 0.7
    result = run_to_tolerance(
        margin_task(Logistic(), 1.0, intercept, tol=1e-9), Subgradient(variance_reduction=True), max_passes=2000
    )
    assert_reached(result, value, 1e-8)


def test_without_reduced_variance_it_does_not() -> None:
    """The same constant steps alone: the noise stays."""
    value = smooth_optimum(Logistic(), 1.0)
    steps = Subgradient(variance_reduction=True).start(margin_task(Logistic(), 1.0)).c  # type: ignore[attr-defined]
    plain = Subgradient(step="constant", c=steps, averaging="none", order="random")
    result = run_to_tolerance(margin_task(Logistic(), 1.0, tol=0.0), plain, max_passes=600)
    assert result.certificate.primal > value * (1 + 1e-5)


def test_the_same_seed_gives_the_same_model_with_a_callback_or_without() -> None:
    problem = random_problem(4, "hinge", "free", 1.0)
    for solver in (Subgradient(), Subgradient(order="random"), Subgradient(averaging="suffix"), Pegasos()):
        one, two = (run_to_tolerance(problem.task(0.0), solver, max_passes=30).w for _ in range(2))
        watched = run_to_tolerance(problem.task(0.0), solver, max_passes=30, callback=lambda record, w: None).w
        other = run_to_tolerance(problem.task(0.0, seed=1), solver, max_passes=30).w
        np.testing.assert_array_equal(one, two)
        np.testing.assert_array_equal(one, watched)
        assert np.abs(one - other).max() > 1e-6


@pytest.mark.parametrize(
    "solver",
    [Subgradient(), Subgradient(batch=3, momentum=0.5), Subgradient(variance_reduction=True), Pegasos()],
    ids=repr,
)
def test_every_form_of_the_rows_gives_the_same_way(solver: Any) -> None:
    X = np.round(4 * random_problem(3, "hinge", "free", 1.0).X)  # float32 holds these exactly
    X[np.abs(X) < 2] = 0.0
    forms = [X, sp.csr_matrix(X), X.astype(np.float32), sp.csr_matrix(X.astype(np.float32)), np.asfortranarray(X)]
    found = [run_to_tolerance(margin_task(Logistic(), 0.2, X=form, tol=0.0), solver, max_passes=20).w for form in forms]
    for w in found[1:]:
        np.testing.assert_allclose(w, found[0], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "squared_insensitive"])
def test_weights_are_copies_where_the_order_is_fixed(loss: str) -> None:
    """All rows in one batch: weight k is k copies. All rows twice, one after another: two passes of weight 2."""
    problem = random_problem(6, loss, "free", 0.05)
    times = np.arange(25) % 3 + 1
    weighted = Small(problem.X, problem.y, 0.05 * times, loss, "free")
    copies = Small(
        np.repeat(problem.X, times, 0), np.repeat(problem.y, times), np.full(times.sum(), 0.05), loss, "free"
    )
    runs = [Subgradient(c=0.5, batch=1000, order="cyclic").start(each.task()) for each in (weighted, copies)]
    for run in runs:
        # the lengths of steps that follow from the rows know of rows and not of weights
        run.bias, run.longest = 3.0, 0.02  # type: ignore[attr-defined]
        for _ in range(6):
            run.advance()
    np.testing.assert_allclose(runs[0].weights(), runs[1].weights(), rtol=1e-10)
    double = Small(problem.X, problem.y, 2.0 * problem.c, loss, "free")
    twice = Small(np.tile(problem.X, (2, 1)), np.tile(problem.y, 2), np.tile(problem.c, 2), loss, "free")
    one, two = (Subgradient(c=0.5, order="cyclic").start(each.task()) for each in (double, twice))
    for _ in range(4):
        one.advance(), one.advance(), two.advance()
        np.testing.assert_allclose(one.weights(), two.weights(), rtol=1e-9)


@pytest.mark.parametrize("name", [*SOLVERS, "reduced"])
def test_no_bound_is_above_the_optimum_at_any_time(name: str) -> None:
    solver = {**SOLVERS, **SMOOTH}[name]
    for loss in ("hinge", "squared_hinge", "insensitive"):
        for C in (0.01, 30.0):
            if name == "reduced" and loss != "squared_hinge":
                continue
            problem = random_problem(7, loss, "free", C)
            value = problem.optimum()
            result = run_to_tolerance(problem.task(0.0), solver, max_passes=30, check_every=1)
            exact = [record for record in result.history if record.exact]
            assert len(exact) >= 5
            for record in exact:
                assert record.dual <= value * (1 + 1e-9) <= record.primal * (1 + 2e-9)


WEIGHT = np.array([1.0, 0.5, 2.0, 0.0, 1.5, 3.0, 0.25])


@pytest.mark.parametrize("kind", ["compiled", "plain"])
@pytest.mark.parametrize("name", ["multiclass", "hamming"])
def test_structures_come_near_the_optimum(name: str, kind: str) -> None:
    """Several methods on classes and on label sequences, with unequal weights, one of them 0."""
    case = named_cases()[name]
    c = 0.2 * WEIGHT[: case.n]
    value = case.listed.optimum(c)[1]
    case = case if kind == "compiled" else plain_case(case)
    for solver, accuracy in (
        (Subgradient(batch=2), 0.01),
        (Subgradient(averaging="suffix", order="cyclic", batch=3), 0.01),
        (Subgradient(momentum=0.5, batch=2), 0.02),
        (Subgradient(project=True, step="1/sqrt(t)"), 0.05),
    ):
        result = minimize(
            case.oracle, solver, C=0.2, sample_weight=WEIGHT[: case.n], tol=accuracy, max_passes=400, random_state=0
        )
        assert case.listed.primal(result.w, c) == pytest.approx(result.certificate.primal, rel=1e-10)
        assert_reached(result, value, accuracy)
    for random in (Pegasos(batch=2), Subgradient(order="random", batch=2)):  # no dual point from passes: poor bounds
        result = minimize(
            case.oracle, random, C=0.2, sample_weight=WEIGHT[: case.n], tol=1e-3, max_passes=80, random_state=0
        )
        assert case.listed.primal(result.w, c) <= value * 1.05
        assert 0.5 * value < result.certificate.dual <= value * (1 + 1e-9)
        assert all(record.dual <= value * (1 + 1e-9) for record in result.history)


STRUCTURED_PATHS = [
    Subgradient(),
    Subgradient(averaging="suffix", order="random", batch=3),
    Subgradient(averaging="none", step="1/sqrt(t)"),
    Subgradient(step="constant", c=0.3, power=1.0),
    Subgradient(averaging="uniform", project=True, step="1/sqrt(t)", c=3.0),
    Subgradient(batch=100),
    Pegasos(batch=2),
]


def structured_pair(name: str, solver: Any, monkeypatch: pytest.MonkeyPatch, C: float = 0.3) -> tuple[Any, Any]:
    """Runs of one problem, with unequal weights, by compiled steps and by plain ones, which are of NumPy alone."""
    runs = []
    for plain in (False, True):
        case = named_cases()[name]
        weight = np.arange(case.n) % 3 + 0.5
        task = Task(case.oracle, C, weight, np.arange(case.n), np.random.default_rng(0), 1e-3)
        with monkeypatch.context() as patch:
            if plain:
                patch.setattr(StructuredObjective, "steps", lambda self, w, **ways: None)
            runs.append(solver.start(task))
    return runs[0], runs[1]


@pytest.mark.parametrize("solver", STRUCTURED_PATHS, ids=repr)
@pytest.mark.parametrize("name", ["multiclass", "costs", "normalized", "hamming", "label costs", "forbidden"])
def test_compiled_steps_on_structures_are_those_of_numpy(
    name: str, solver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = structured_pair(name, solver, monkeypatch)
    assert isinstance(first.steps, StructuredSteps)
    assert not isinstance(second.steps, StructuredSteps)
    assert_same_way(first, second, 12)
    assert first.dual() == pytest.approx(second.dual(), rel=1e-8)


def test_structures_in_python_and_momentum_go_by_plain_steps() -> None:
    for case, solver in (
        (plain_case(named_cases()["multiclass"]), Subgradient()),
        (named_cases()["multiclass"], Subgradient(momentum=0.5)),
    ):
        task = Task(case.oracle, 1.0, np.ones(case.n), np.arange(case.n), np.random.default_rng(0), 1e-3)
        assert not isinstance(Subgradient.start(solver, task).steps, StructuredSteps)  # type: ignore[attr-defined]


@pytest.mark.parametrize("averaging", ["none", "polynomial"])
def test_a_step_left_to_python_is_the_same_step(averaging: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the kernel does not do: here every third of its calls ends after one step."""
    solver = Subgradient(averaging=averaging, project=True, step="1/sqrt(t)")
    first, second = structured_pair("normalized", solver, monkeypatch)
    kernel, calls = structured_steps.structured_steps, [0]

    def lazy(*arguments: Any) -> int:
        calls[0] += 1
        if calls[0] % 3:
            return 0
        before, after = arguments[:10], arguments[11:]
        return int(kernel(*before, arguments[10][:1], *after))

    monkeypatch.setattr(structured_steps, "structured_steps", lazy)
    for _ in range(6):
        first.advance(), second.advance()
        np.testing.assert_allclose(first.weights(), second.weights(), rtol=1e-8, atol=1e-10)
    assert first.dual() == pytest.approx(second.dual(), rel=1e-8)
    assert calls[0] > 10


def test_what_is_no_slack_is_refused_by_compiled_steps() -> None:
    """The oracle says what it is, as it does to all solvers."""
    case = named_cases()["multiclass"]
    task = Task(case.oracle, 1.0, np.ones(case.n), np.arange(case.n), np.random.default_rng(0), 1e-3)
    run: Any = Subgradient().start(task)
    run.advance()
    run.steps.u[:] = np.nan
    with pytest.raises(DataError, match="Multiclass: the score of example . overflowed"):
        run.advance()


def test_a_large_batch_is_left_within_a_pass() -> None:
    """Runs between two looks at the clock are of examples, not of steps."""
    task = random_problem(0, "hinge", "free", 0.1, n=2000).task(0.0)
    run: Any = Subgradient(batch=50).start(task)
    parts = list(run._parts())
    assert parts[0] == (0, 2)  # 64 examples
    assert [low for low, _ in parts] == [0, *(high for _, high in parts[:-1])]
    assert parts[-1][1] == 40


def test_structured_pegasos_is_that_of_two_classes() -> None:
    """Estimators take both by name."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 3
    X[np.arange(40), y] += 2.0
    for name in ("subgradient", "pegasos"):
        model = MulticlassSVM(C=0.05, solver=name, tol=0.1, max_passes=100, random_state=0).fit(X, y)
        exact = MulticlassSVM(C=0.05, tol=1e-6).fit(X, y)
        assert model.solver_ == name
        assert model.certificate_.primal <= 1.1 * exact.certificate_.primal
        machine = SVMClassifier(C=0.05, solver=name, tol=0.05, random_state=0).fit(X, y)
        best = SVMClassifier(C=0.05, tol=1e-6).fit(X, y).certificate_.primal
        assert best * (1 - 1e-5) <= machine.certificate_.primal <= best * 1.06
        assert machine.certificate_.dual <= best
        beta = np.zeros((3, 40))
        beta[:, machine.support_] = machine.dual_coef_
        np.testing.assert_allclose(beta.sum(1), 0.0, atol=1e-10)


def test_a_pass_of_a_structure_is_left_when_time_is_over() -> None:
    case = plain_case(named_cases()["costs"])
    minimize(case.oracle, Subgradient(), C=1.0, tol=0.0, max_passes=2)  # compiles what is needed
    argmax, calls = case.structure.argmax, 0

    def slow(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        time.sleep(0.1 if calls < 7 else 0.0)
        return argmax(*args)

    case.structure.argmax = slow
    result = minimize(case.oracle, Subgradient(), C=1.0, tol=0.0, max_passes=1000, max_time=0.25, random_state=0)
    assert result.certificate.status is Status.TIME_LIMIT
    assert result.certificate.passes == 2  # that of the certificate, and a look at the weights to begin with
    assert calls == 3 + 2 * 2 * case.n  # with losses and without
    assert result.certificate.primal == pytest.approx(case.listed.primal(result.w, np.ones(case.n)))
    assert result.certificate.dual <= case.listed.optimum(np.ones(case.n))[1]


@pytest.mark.parametrize("averaging", ["none", "suffix", "polynomial"])
def test_an_interrupt_in_the_middle_of_a_pass_keeps_the_model(averaging: Any) -> None:
    case = plain_case(named_cases()["label costs"])
    argmax, calls, c = case.structure.argmax, 0, np.full(case.n, 0.1)

    def interrupted(*args: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == stop:
            raise KeyboardInterrupt
        return argmax(*args)

    case.structure.argmax = interrupted
    for stop in (1, 4, 40):
        calls = 0
        result = minimize(
            case.oracle, Subgradient(averaging=averaging), C=0.1, tol=0.0, max_passes=1000, random_state=0
        )
        assert result.certificate.status is Status.INTERRUPTED
        assert result.certificate.primal == pytest.approx(case.listed.primal(result.w, c))
        assert 0.0 <= result.certificate.dual <= case.listed.optimum(c)[1]
        # a few steps, which are long, are worth less than the weights 0
        assert result.certificate.primal <= case.listed.primal(np.zeros_like(result.w), c)
        assert (stop == 40) == result.w.any()


def test_rows_are_left_in_the_middle_of_a_pass_too() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    task = Small(X, y, np.full(3000, 0.1), "hinge", "free").task(0.0)
    run: Any = Subgradient().start(task)
    run.advance()
    task.deadline.at = 0.0
    with pytest.raises(OutOfTime):
        run.advance()
    assert 3000 < run.taken < 6000
    task.deadline.at = math.inf
    assert run.dual() <= task.objective(run.weights())


@pytest.mark.parametrize("max_passes", [1, 2, 5])
@pytest.mark.parametrize("solver", [Subgradient(), Subgradient(order="random"), Pegasos()], ids=repr)
def test_passes_are_counted(solver: Any, max_passes: int) -> None:
    case = named_cases()["costs"]
    found = minimize(case.oracle, solver, C=10.0, tol=0.0, max_passes=max_passes, random_state=0).certificate
    assert found.status is Status.PASS_LIMIT
    assert found.passes <= max(max_passes, 2) + (getattr(solver, "order", "random") == "random")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(step="1/t^2"), "step must be one of"),
        (dict(averaging="all"), "averaging must be one of"),
        (dict(order=None), "order must be one of"),
        (dict(c=0.0), "c must be a finite number above 0, not 0.0"),
        (dict(c=math.nan), "c must be a finite number"),
        (dict(power=-1.0), "power must be a finite number above -1"),
        (dict(power=1.0, averaging="uniform"), "power is for polynomial averaging, not for averaging='uniform'"),
        (dict(batch=0), "batch must be an integer of at least 1, not 0"),
        (dict(batch=2.5), "batch must be an integer"),
        (dict(batch=True), "batch must be an integer"),
        (dict(momentum=1.0), "momentum must be at least 0 and below 1"),
        (dict(project=True, momentum=0.5), "project is for steps without momentum"),
        (dict(variance_reduction=True, momentum=0.5), "variance_reduction goes without momentum"),
        (dict(variance_reduction=True, project=True), "variance_reduction goes without project"),
        (dict(variance_reduction=True, step="1/t"), "variance_reduction goes without a step that is not constant"),
        (dict(variance_reduction=True, averaging="uniform"), "variance_reduction goes without averaging"),
        (dict(variance_reduction=True, power=2.0), "variance_reduction goes without power"),
    ],
)
def test_options_out_of_range_and_contradictions_are_refused(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Subgradient(**options)
    if options.keys() == {"batch"}:
        with pytest.raises(ValueError, match=message):
            Pegasos(**options)


def test_reduced_variance_needs_a_derivative() -> None:
    solver = Subgradient(variance_reduction=True)
    for task in (random_problem(0, "hinge", "free", 1.0).task(), margin_task(own(Logistic(), bend=False), 1.0)):
        with pytest.raises(DataError, match="linear machine: variance_reduction needs a loss with a derivative"):
            run_to_tolerance(task, solver)
    with pytest.raises(DataError, match="Multiclass: variance_reduction needs a loss with a derivative"):
        minimize(named_cases()["multiclass"].oracle, solver, C=1.0)
    with pytest.raises(ValueError, match="solver 'subgradient' is not for kernel='rbf'"):
        SVMClassifier(kernel="rbf", solver="subgradient").fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("loss", ["squared_hinge", "own"])
def test_steps_that_are_too_long_are_refused(loss: str) -> None:
    solver = Subgradient(step="constant", c=100.0)
    if loss == "own":
        own_loss = CustomLoss(lambda t: (1.0 - t) ** 2, lambda t: 2.0 * (t - 1.0))
        task = margin_task(own_loss, 10.0)
    else:
        task = random_problem(0, loss, "free", 10.0).task()
    with pytest.raises(DataError, match="weights have overflowed, as the steps are too long; give a smaller c"):
        run_to_tolerance(task, solver)


# steps that are too long, and what is returned then


SQUARE = CustomLoss(lambda t: (1.0 - t) ** 2, lambda t: 2.0 * (t - 1.0))


@pytest.mark.parametrize("solver", [Subgradient(), Subgradient(step="1/sqrt(t)"), Subgradient(batch=25), Pegasos()])
def test_a_users_own_loss_with_steep_slopes_has_safe_steps(solver: Any) -> None:
    """Its second derivative is not known; that of a square is what its slope changes by over 1."""
    bent = CustomLoss(SQUARE.function, SQUARE.slope, lambda t: np.full_like(t, 2.0))
    run, known = (solver.start(margin_task(loss, 1.0, "none")) for loss in (SQUARE, bent))
    assert run.longest == pytest.approx(known.longest, rel=1e-12)
    assert run.longest < 1.0
    problem = random_problem(3, "hinge", "none", 1.0)
    A = problem.X * problem.y[:, None]
    c = problem.c  # unequal
    w = np.linalg.solve(np.eye(4) + 2.0 * A.T @ (c[:, None] * A), 2.0 * A.T @ c)
    value = 0.5 * float(w @ w) + float(c @ (1.0 - A @ w) ** 2)
    found = run_to_tolerance(margin_task(SQUARE, 1.0, "none", tol=1e-3), solver, max_passes=1000).certificate
    assert value * (1 - 1e-9) <= found.primal <= value * 1.02
    assert found.dual <= value * (1 + 1e-9)


def test_losses_with_bounded_slopes_keep_their_steps() -> None:
    hinge = CustomLoss(lambda t: np.maximum(1.0 - t, 0.0), lambda t: np.where(t < 1.0, -1.0, 0.0))
    for loss in (hinge, own(Logistic(), bend=False), Perceptron()):
        assert Subgradient().start(margin_task(loss, 1.0)).longest == math.inf  # type: ignore[attr-defined]


@pytest.mark.parametrize("of", ["linear", "warm", "structured", "reduced", "momentum"])
def test_the_answer_is_never_worse_than_the_weights_it_began_with(of: str) -> None:
    """With a given constant step that is too long; the figures are those of the weights."""
    c = np.full(7, 2.0)
    for max_passes in (2, 3, 8):
        if of == "structured":
            case = named_cases()["multiclass"]
            result = minimize(
                case.oracle, Subgradient(step="constant", c=0.9), C=2.0, tol=0.0, max_passes=max_passes, random_state=0
            )
            found = result.certificate
            assert found.primal == pytest.approx(case.listed.primal(result.w, c), rel=1e-12)
            assert found.primal <= case.listed.primal(np.zeros_like(result.w), c)
            continue
        problem = random_problem(8, "squared_hinge", "none", 10.0)
        task = problem.task(0.0)
        begin = np.zeros(4)
        if of == "warm":
            begin = run_to_tolerance(problem.task(1e-2), Subgradient(), max_passes=500).w
            task.warm = WarmStart(begin)
        longer = {"step": "constant", "c": 2e-3} | {
            "reduced": {"variance_reduction": True, "c": 4e-3}, "momentum": {"momentum": 0.5, "c": 5e-4}
        }.get(of, {})  # fmt: skip
        result = run_to_tolerance(task, Subgradient(**longer), max_passes=max_passes)  # type: ignore[arg-type]
        assert result.certificate.primal == pytest.approx(problem.value(result.w), rel=1e-12)
        assert problem.value(result.w) <= problem.value(begin) * (1 + 1e-12)
        assert result.check().primal == pytest.approx(result.certificate.primal, rel=1e-12)


def test_a_first_mean_that_is_worse_is_no_standstill() -> None:
    """Later ones are reported and kept as they are, when the first was worse than 0."""
    problem = random_problem(8, "hinge", "none", 300.0)
    run: Any = Subgradient().start(problem.task())
    run.advance()
    assert problem.value(run.weights()) > 2.0 * problem.value(np.zeros(4))
    result = run_to_tolerance(problem.task(0.0), Subgradient(), max_passes=600)
    assert result.certificate.status is Status.PASS_LIMIT
    assert result.certificate.primal < 0.9 * problem.value(np.zeros(4))


@pytest.mark.parametrize("solver", [Subgradient(step="constant", c=100.0), Subgradient(step="constant", c=0.03)])
def test_what_grows_or_overflows_is_told_with_a_step_to_take(solver: Subgradient) -> None:
    problem = random_problem(0, "squared_hinge", "free", 10.0)
    with pytest.raises(
        DataError, match=r"as the steps are too long; give a smaller c, such as Subgradient\(c="
    ) as told:
        run_to_tolerance(problem.task(0.0), solver, max_passes=3000)
    assert "none" not in str(told.value)
    assert f"c={0.1 * solver.c:.3g}" in str(told.value)  # type: ignore[operator]


def test_growth_is_seen_before_the_weights_overflow() -> None:
    run: Any = Subgradient(step="constant", c=1e-3).start(random_problem(0, "squared_hinge", "none", 1.0).task())
    run.advance()
    run.dual()
    run.evaluate(run.weights())
    run.steps.u[:] = 1e9
    run.steps.z[:] = 1e9
    run.dual()
    with pytest.raises(DataError, match="the objective grows from pass to pass, as the steps are too long"):
        run.evaluate(run.weights())


# momentum


@pytest.mark.parametrize("step", ["1/t", "1/sqrt(t)", "constant"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_default_steps_with_momentum_are_as_long_together(loss: str, step: Any) -> None:
    problem = random_problem(8, loss, "free", 1.0)
    value = problem.optimum()
    for momentum in (0.5, 0.9):
        alone, pushed = (Subgradient(step, momentum=m).start(problem.task()) for m in (0.0, momentum))
        np.testing.assert_allclose(pushed._plan()[:, 1], (1 - momentum) * alone._plan()[:, 1], rtol=1e-12)  # type: ignore[attr-defined]
        bare, found = (
            run_to_tolerance(problem.task(0.0), Subgradient(step, momentum=m), max_passes=200).certificate.primal
            for m in (0.0, momentum)
        )
        assert value * (1 - 1e-9) <= found <= max(bare, value) * 1.1
    given: Any = Subgradient(step, c=0.5, momentum=0.9).start(random_problem(8, "hinge", "free", 1.0).task())
    assert given.c == 0.5


def test_who_has_no_derivative_is_told_what_to_do() -> None:
    with pytest.raises(DataError, match=r"needs a loss with a derivative.*of a CustomLoss its bend"):
        SVMClassifier(solver=Subgradient(variance_reduction=True)).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(DataError, match=r"needs a loss with a derivative, which the largest violation.*leave it out"):
        MulticlassSVM(solver=Subgradient(variance_reduction=True), penalize_intercept=True).fit([[0.0], [1.0]], [0, 1])
