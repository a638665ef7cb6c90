"""Newton's method against general optimisers, its lower bound, hard data, and the systems that it solves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit
from sklearn import datasets
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from maxmargin import HardMarginSVM, OneClassSVM, SVMClassifier, SVMRegressor
from maxmargin._products import inner
from maxmargin.errors import DataError
from maxmargin.kernels import make_kernel
from maxmargin.losses import CustomLoss, Exponential, Hinge, Logistic, MarginLoss, Perceptron, SquaredHinge
from maxmargin.solvers.base import WarmStart
from maxmargin.solvers.kernel.automatic import KernelAutomatic
from maxmargin.solvers.kernel.block_smo import BlockSMO
from maxmargin.solvers.kernel.interior_point import KernelInteriorPoint
from maxmargin.solvers.kernel.newton import KernelNewton
from maxmargin.solvers.kernel.task import KernelTask
from maxmargin.solvers.linear.automatic import Automatic
from maxmargin.solvers.linear.coordinate_ascent import CoordinateAscent
from maxmargin.solvers.linear.interior_point import InteriorPoint
from maxmargin.solvers.linear.newton import Newton, _System
from maxmargin.solvers.linear.normal_equations import normal_equations
from maxmargin.solvers.linear.rows import Rows
from maxmargin.solvers.linear.task import LinearTask
from maxmargin.solvers.loop import Record, Result, run_to_tolerance
from maxmargin.solvers.truncated import conjugate_gradients, line_minimum
from maxmargin.status import Status
from maxmargin.terms import insensitive, margin_terms, squared_insensitive

SCALE = 0.7
INTERCEPTS = ("free", "penalized", "none")
SQUARE = CustomLoss(lambda t: (1.0 - t) ** 2, lambda t: 2.0 * (t - 1.0), lambda t: np.full_like(t, 2.0), "square")
SOFT = CustomLoss(
    lambda t: 0.2 * np.logaddexp(0.0, (1.0 - t) / 0.2), lambda t: -expit((1.0 - t) / 0.2),
    lambda t: 5.0 * expit((1.0 - t) / 0.2) * expit((t - 1.0) / 0.2), "soft_hinge",
)  # fmt: skip
LOSSES: list[MarginLoss] = [Logistic(), Logistic(2.0), Exponential(), SquaredHinge(), SQUARE, SOFT]


def data(seed: int, n: int = 40, d: int = 4) -> tuple[Any, Any, Any]:
    """Rows with an offset, noisy signs, and unequal weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.5
    y = np.where(X @ rng.normal(size=d) - 0.7 + 0.8 * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y, rng.integers(1, 4, n) / 2.0


def task_of(X: Any, y: Any, c: Any, loss: MarginLoss, intercept: Any, tol: float = 1e-9) -> LinearTask:
    terms, rng = margin_terms(loss, y, c), np.random.default_rng(0)
    return LinearTask(Rows(X), terms, 1.0, c, intercept, tol, rng, name="machine", scale=SCALE)


def objective(w: Any, X: Any, y: Any, c: Any, loss: MarginLoss, intercept: str) -> float:
    """By the definition; the intercept is the last weight where there is one."""
    d = X.shape[1]
    b = w[d] if intercept != "none" else 0.0
    value = 0.5 * w[:d] @ w[:d] + c @ loss.value(y * (X @ w[:d] + b))
    return float(value + (0.5 * (b / SCALE) ** 2 if intercept == "penalized" else 0.0))


def optimum(X: Any, y: Any, c: Any, loss: MarginLoss, intercept: str) -> float:
    """By a general trust region method on the weights."""
    A = X if intercept == "none" else np.column_stack([X, np.ones(len(X))])
    ridge = np.ones(A.shape[1])
    if intercept != "none":
        ridge[-1] = SCALE**-2 if intercept == "penalized" else 1e-14
    found = minimize(
        lambda w: objective(w, X, y, c, loss, intercept), np.zeros(len(ridge)), method="trust-exact",
        jac=lambda w: ridge * w + A.T @ (c * y * loss.derivative(y * (A @ w))),
        hess=lambda w: np.diag(ridge) + (A.T * (c * loss.curvature(y * (A @ w)))) @ A,
        options={"gtol": 1e-9, "maxiter": 1000},
    )  # fmt: skip
    return float(found.fun)


def solve(task: LinearTask, solver: Any = None, max_passes: int = 2000, **options: Any) -> Result:
    return run_to_tolerance(task, solver or Newton(), max_passes=max_passes, **options)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_optimum_is_reached(loss: MarginLoss, intercept: str) -> None:
    for seed, C in enumerate((1e-3, 0.1, 2.0, 50.0)):
        X, y, weight = data(seed)
        problem = (X, y, C * weight, loss, intercept)
        value = optimum(*problem)
        found = solve(task_of(*problem))
        assert found.certificate.status is Status.CONVERGED
        assert found.certificate.relative_gap <= 1e-9
        assert found.certificate.primal == pytest.approx(objective(found.w, *problem), rel=1e-12)
        assert objective(found.w, *problem) <= value * (1.0 + 1e-8)
        assert value * (1.0 - 1e-7) <= found.certificate.dual <= value * (1.0 + 1e-12)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_optimum_lies_between_dual_and_primal_after_every_pass(loss: MarginLoss, intercept: str) -> None:
    X, y, weight = data(8)
    problem = (X, y, 3.0 * weight, loss, intercept)
    value, seen = optimum(*problem), list[tuple[Record, Any]]()
    solve(task_of(*problem, tol=1e-12), check_every=1, callback=lambda record, w: seen.append((record, w.copy())))
    assert sum(record.exact for record, _ in seen) >= 4
    for record, w in seen:
        assert record.dual <= value * (1 + 1e-10)
        assert record.primal >= value * (1 - 1e-9)
        if record.exact:
            assert record.primal == pytest.approx(objective(w, *problem), rel=1e-12)


FORMS = {
    "dense float32": lambda X: X.astype(np.float32),
    "CSR": sp.csr_matrix,
    "CSR float32": lambda X: sp.csr_matrix(X.astype(np.float32)),
    "CSC": sp.csc_matrix,
    "Fortran": np.asfortranarray,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("wide", [False, True])
def test_every_form_of_the_rows_gives_the_same_problem(form: str, wide: bool) -> None:
    """Also with the matrix left out, as for very many features."""
    X, y, c = data(2, d=60 if wide else 4)
    X = np.round(4 * X) / 4  # float32 holds these exactly
    expected = optimum(X, y, c, Logistic(), "free")
    run = solve(task_of(FORMS[form](X.copy()), y, c, Logistic(), "free"))
    assert objective(run.w, X, y, c, Logistic(), "free") == pytest.approx(expected, rel=1e-9)


def test_without_the_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    """More features than a matrix is made of; they have very different sizes."""
    X, y, c = data(3, d=30)
    X = X * 10.0 ** np.linspace(-2, 2, 30)
    monkeypatch.setattr("maxmargin.solvers.linear.normal_equations._WIDEST", 10)
    monkeypatch.setattr("maxmargin.solvers.linear.newton.normal_equations", None)
    for intercept in INTERCEPTS:
        found = solve(task_of(X, y, c, Logistic(), intercept), max_passes=20_000)
        assert found.certificate.status is Status.CONVERGED
        value = objective(found.w, X, y, c, Logistic(), intercept)
        assert found.certificate.primal == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("loss", [Logistic(), Exponential(), SquaredHinge()], ids=repr)
@pytest.mark.parametrize("name", ["wine", "breast_cancer"])
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_unscaled_features_and_any_C(loss: MarginLoss, name: str, intercept: str) -> None:
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    y = np.where(y == 1, 1.0, -1.0)
    for C in 10.0 ** np.arange(-6, 7, 2):
        problem = (X, y, np.full(len(y), C), loss, intercept)
        found = solve(task_of(*problem, tol=1e-6), max_passes=1000)
        assert found.certificate.status is Status.CONVERGED, (C, found.certificate)
        assert found.certificate.primal == pytest.approx(objective(found.w, *problem), rel=1e-9)


def test_features_of_very_different_sizes() -> None:
    """Rows that say much of one feature only must not hide what others say of the next."""
    rng = np.random.default_rng(0)
    X = np.zeros((200, 2))
    X[:100, 0], X[100:, 1] = 1e9 * rng.normal(size=100), rng.normal(size=100)
    y = np.where(rng.random(200) < 0.5, 1.0, -1.0)
    run = Newton().start(task_of(X, y, np.full(200, 1e3), Logistic(), "none"))
    run.by_matrix = True
    for _ in range(12):
        run.advance()
    assert run.best.primal - run.highest.dual <= 1e-9 * run.best.primal


@pytest.mark.parametrize("loss", [Logistic(), Exponential()], ids=repr)
def test_a_run_can_begin_anywhere(loss: MarginLoss) -> None:
    """Where all rows are so well classified that no curvature is left, or so badly that the loss is infinite."""
    X, y, c = data(5)
    X[:, 0] = y
    problem = (X, y, c, loss, "free")
    value = optimum(*problem)
    for size in (-1000.0, -100.0, 1.0, 5.0, 800.0):
        task = task_of(*problem)
        task.warm = WarmStart(np.array([size, 0.0, 0.0, 0.0, 0.0]))
        found = solve(task, max_passes=5000)
        assert found.certificate.status is Status.CONVERGED, size
        assert found.certificate.primal == pytest.approx(value, rel=1e-8)
    task = task_of(*problem)
    task.warm = WarmStart(solve(task_of(*problem)).w)
    assert solve(task).certificate.passes <= 4


@pytest.mark.parametrize("loss", [SquaredHinge(), Logistic(), Exponential()], ids=repr)
@pytest.mark.parametrize("times", [30.0, 1e3, 1e200])
def test_weights_that_are_too_long_are_begun_with_at_their_best_length(loss: MarginLoss, times: float) -> None:
    """As of another method that was left early: they are no empty model, also where their cost is no number."""
    problem = (*data(5), loss, "none")
    w = solve(task_of(*problem)).w
    task = task_of(*problem)
    task.warm = WarmStart(times * w)
    nothing = task.objective(np.zeros_like(w))
    with np.errstate(over="ignore"):
        assert not task.objective(task.warm.w) <= nothing
    begun = Newton().start(task).weights()
    least = min(task.objective(t * w) for t in np.linspace(0.5, 1.5, 101))
    # of what is to be gained: the search ends where the slope is a fifth of that at 0
    assert nothing - task.objective(begun) >= 0.9 * (nothing - least) > 0.0
    task.warm = WarmStart(-times * w)  # uphill from the start
    assert not Newton().start(task).weights().any()


def test_other_losses_and_other_solvers_are_refused() -> None:
    X, y, c = data(0)
    for loss in (
        Hinge(),
        Perceptron(),
        CustomLoss(lambda t: np.maximum(0, 1 - t), lambda t: np.where(t < 1, -1.0, 0.0)),
    ):
        with pytest.raises(DataError, match="^machine: Newton's method needs a loss with a second derivative, such as"):
            solve(task_of(X, y, c, loss, "free"))
    values = X.sum(1)
    rows, rng = Rows(X), np.random.default_rng(0)
    with pytest.raises(DataError, match="needs a loss with a second derivative"):
        solve(LinearTask(rows, insensitive(values, c, 0.1), 1.0, c, "free", 1e-6, rng))
    for solver in (CoordinateAscent(), InteriorPoint()):
        with pytest.raises(
            DataError, match=rf"^machine: {solver.name} is for the hinge loss, its kin and .* Logistic\(\)"
        ):
            solve(task_of(X, y, c, Logistic(), "free"), solver)
    squared = LinearTask(rows, squared_insensitive(values, c, 0.1), 1.0, c, "free", 1e-9, rng, signs=False)
    by_interior = solve(squared, InteriorPoint()).certificate.primal
    assert solve(squared).certificate.primal == pytest.approx(by_interior, rel=1e-8)


def test_automatic_takes_it_and_says_so() -> None:
    X, y, c = data(0)
    for loss in (Logistic(), SQUARE):
        found = solve(task_of(X, y, c, loss, "free"), Automatic())
        assert found.certificate.solver == "newton"
        assert found._run.reason == "the loss is smooth and no sum of hinges"  # type: ignore[union-attr]
    assert solve(task_of(X, y, c, Logistic(), "free"))._run.reason == "asked for"  # type: ignore[union-attr]


def test_a_run_cut_short_is_honest() -> None:
    X, y, c = data(1)
    problem = (X, y, 1e3 * c, Exponential(), "free")
    found = solve(task_of(*problem), max_passes=6)
    assert found.certificate.status is Status.PASS_LIMIT
    assert found.certificate.dual <= optimum(*problem) <= found.certificate.primal


# with kernels


def kernel_task(name: str, loss: MarginLoss, C: float, free: bool, X: Any, y: Any, tol: float = 1e-8) -> KernelTask:
    kernel = make_kernel(name, X, gamma=0.3, coef0=1.0, degree=3)
    c, totals = np.full(len(y), C), np.zeros(int(free))
    return KernelTask(
        kernel, X, margin_terms(loss, y, c), C, np.ones(len(y)), totals, np.zeros((len(y), 1), np.int64), tol, name="machine"
    )  # fmt: skip


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_kernel_machines_are_those_of_a_general_optimiser(loss: MarginLoss, kernel: str, free: bool) -> None:
    """In ``beta``: ``1/2 beta'K beta + sum cost(K beta + b)``."""
    X, y, _ = data(6)
    K = rbf_kernel(X, gamma=0.3) if kernel == "rbf" else polynomial_kernel(X, degree=3, gamma=0.3, coef0=1.0)
    n = len(y)
    for C in (1e-2, 1.0, 30.0):
        found = run_to_tolerance(kernel_task(kernel, loss, C, free, X, y), KernelNewton(), max_passes=2000)

        def value(v: Any, C: float = C) -> float:
            return float(0.5 * v[:n] @ K @ v[:n] + C * loss.value(y * (K @ v[:n] + (v[n] if free else 0.0))).sum())

        mine = value(found.w)
        assert found.certificate.status is Status.CONVERGED
        assert found.certificate.primal == pytest.approx(mine, rel=1e-10)
        L = np.linalg.cholesky(K + 1e-9 * np.eye(n))
        best = optimum(L, y, np.full(n, C), loss, "free" if free else "none")
        assert mine == pytest.approx(best, rel=1e-6)
        assert found.certificate.dual <= best * (1 + 1e-6)


@pytest.mark.parametrize("loss", [Logistic(), Exponential()], ids=repr)
def test_kernel_machines_for_any_C(loss: MarginLoss) -> None:
    X, y = datasets.load_wine(return_X_y=True)
    y = np.where(y == 1, 1.0, -1.0)
    for scaled in (False, True):
        Z = (X - X.mean(0)) / X.std(0) if scaled else X
        for free in (True, False):
            for C in 10.0 ** np.arange(-6, 7, 3):
                found = run_to_tolerance(kernel_task("rbf", loss, C, free, Z, y, 1e-6), KernelNewton(), max_passes=1000)
                assert found.certificate.status is Status.CONVERGED, (C, found.certificate)


def test_kernel_machines_that_are_refused() -> None:
    X, y, _ = data(0)
    task = kernel_task("rbf", Logistic(), 1.0, True, X, y)
    for solver in (BlockSMO(), KernelInteriorPoint()):
        with pytest.raises(
            DataError, match=rf"^machine: {solver.name} is for the hinge loss, its kin and .* Logistic\(\)"
        ):
            run_to_tolerance(task, solver)
    assert run_to_tolerance(task, KernelAutomatic(), max_passes=500).certificate.solver == "newton"
    with pytest.raises(DataError, match="kernel matrix is not positive semi-definite, which Newton's method needs"):
        run_to_tolerance(kernel_task("sigmoid", Logistic(), 1.0, True, 10.0 * X, y), KernelNewton())
    with pytest.raises(DataError, match="second derivative"):
        run_to_tolerance(kernel_task("rbf", Hinge(), 1.0, True, X, y), KernelNewton())
    many = np.zeros((4001, 1))
    with pytest.raises(
        DataError, match="with a kernel is for up to 4000 points; there are 4001: use scikit-learn's Nys"
    ):
        run_to_tolerance(kernel_task("rbf", Logistic(), 1.0, True, many, np.ones(4001)), KernelNewton())


# rows far from the origin


def uncentred(seed: int, n: int = 1500, d: int = 400) -> tuple[Any, Any, Any]:
    """Like pixels, from 0 to 1, and labels that they say nothing of."""
    rng = np.random.default_rng(seed)
    return rng.random((n, d)), rng.choice([-1.0, 1.0], n), np.ones(n)


@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize("loss", [Logistic(), SquaredHinge()], ids=repr)
def test_rows_far_from_the_origin_take_no_more_passes_than_centred_ones(loss: MarginLoss, C: float) -> None:
    for seed in range(4):
        X, y, ones = uncentred(seed)
        near = solve(task_of(X - X.mean(0), y, C * ones, loss, "free", 1e-3)).certificate
        far = solve(task_of(X, y, C * ones, loss, "free", 1e-3)).certificate
        assert far.status is Status.CONVERGED
        assert far.primal == pytest.approx(near.primal, rel=1e-3)
        assert far.passes <= 1.2 * near.passes + 2


def test_numbers_far_from_the_origin_take_no_more_passes_than_centred_ones() -> None:
    for seed in range(4):
        X, y, ones = uncentred(seed)
        passes = []
        for rows in (X - X.mean(0), X):
            terms, rng = squared_insensitive(y, 10.0 * ones, 0.1), np.random.default_rng(0)
            task = LinearTask(Rows(rows), terms, 10.0, 10.0 * ones, "free", 1e-3, rng, signs=False)
            passes.append(solve(task).certificate.passes)
        assert passes[1] <= 1.2 * passes[0] + 2


# its parts


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("last", [None, 0.0, 2.0])
def test_normal_equations_are_those_of_the_matrix(form: Any, last: float | None) -> None:
    rng = np.random.default_rng(1)
    X, weights = rng.normal(size=(50, 6)) * 10.0 ** np.arange(-3, 3), rng.random(50) * (rng.random(50) < 0.7)
    A = X if last is None else np.column_stack([X, np.ones(50)])
    ridge = np.ones(A.shape[1])
    if last is not None:
        ridge[-1] = last
    matrix = np.diag(ridge) + A.T @ np.diag(weights) @ A
    solver = normal_equations(Rows(form(X)), weights, ridge)
    for _ in range(3):
        b = rng.normal(size=len(ridge))
        np.testing.assert_allclose(solver(b), np.linalg.solve(matrix, b), rtol=1e-9)


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_the_system_without_the_intercept_has_the_same_solution(
    intercept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("maxmargin.solvers.linear.newton._FORCING", 1e-10)
    rng = np.random.default_rng(4)
    X, y, c = data(4)
    curvature = rng.random(len(y))
    task = task_of(X + 3.0, y, c, Logistic(), intercept)
    A = X + 3.0 if intercept == "none" else np.column_stack([X + 3.0, np.ones(len(X))])
    matrix = np.diag(task.ridge) + (A.T * curvature) @ A
    b = rng.normal(size=len(matrix))
    p, _, reached = _System(task, curvature).solution(b, 100)
    assert reached
    np.testing.assert_allclose(p, np.linalg.solve(matrix, b), rtol=1e-7, atol=1e-9)
    down, products, reached = _System(task, curvature).solution(b, 0)
    assert (products, reached) == (0, False)
    assert inner(down, b) > 0.0


def test_normal_equations_at_the_edge() -> None:
    """No weights at all, also none for the intercept; and equal columns, which rounding makes indefinite."""
    X = np.array([[1.0, 2.0], [3.0, 4.0]])
    ridge = np.array([1.0, 1.0, 0.0])
    np.testing.assert_array_equal(normal_equations(Rows(X), np.zeros(2), ridge)(np.arange(3.0)), np.arange(3.0))
    np.testing.assert_allclose(normal_equations(Rows(X), np.full(2, 1e-310), ridge)(np.array([1.0, 2, 0])), [1, 2, -8])
    solve = normal_equations(Rows(1e9 * np.ones((3, 2))), np.ones(3), np.ones(2))
    assert solve(np.array([1e9, 1e9])).sum() == pytest.approx(2e9 / 6e18, rel=1e-6)


@pytest.mark.parametrize("n", [1, 5, 40])
def test_conjugate_gradients(n: int) -> None:
    rng = np.random.default_rng(n)
    M = rng.normal(size=(n, n))
    A, b = M @ M.T + np.eye(n), rng.normal(size=n)
    scale = 1.0 / A.diagonal()
    p, products, reached = conjugate_gradients(lambda v: A @ v, b, scale, forcing=1e-10, most=10 * n)
    assert reached
    np.testing.assert_allclose(p, np.linalg.solve(A, b), rtol=1e-6, atol=1e-9)
    p, products, reached = conjugate_gradients(lambda v: A @ v, b, scale, forcing=0.2, most=10 * n)
    r = b - A @ p
    assert reached
    assert r @ (scale * r) <= 0.04 * (b @ (scale * b)) * (1 + 1e-9)
    assert p @ b > 0.0  # so it is a direction of descent for a gradient of -b
    assert products <= n
    p, products, reached = conjugate_gradients(lambda v: A @ v, b, scale, forcing=0.0, most=1)
    assert (products, reached) == (1, False)
    assert conjugate_gradients(lambda v: A @ v, np.zeros(n), scale, forcing=0.1, most=5)[1:] == (0, True)


@pytest.mark.parametrize(
    "slope",
    [
        lambda t: t - 3.0,
        lambda t: 1e-6 * (t - 1e5),
        lambda t: 1e8 * (t - 1e-6),
        lambda t: np.exp(500.0 * t) - 2.0,
        lambda t: np.exp(3000.0 * t) - 2.0,  # too large for a float at 1
        lambda t: np.exp(200.0 * (t - 0.5)) - np.exp(-200.0 * (t - 0.5)) if t < 4 else np.nan,
        lambda t: -1.0 if t < 0.123 else 1.0,
        lambda t: -1.0 if t < 0.123 else 1e200,
        lambda t: -1e-3 if t < 77.7 else 1e3 * (t - 77.7) - 1e-3,
    ],
)
def test_a_line_is_searched(slope: Any) -> None:
    """The slope there is small, or negative just before it jumps; never after few calls a step that does not descend."""
    calls = []

    def counted(t: float) -> float:
        calls.append(t)
        with np.errstate(over="ignore"):
            return float(slope(t))

    t = line_minimum(counted, float(slope(0.0)))
    small = 0.2 * abs(slope(0.0))
    assert t > 0.0
    assert len(calls) <= 40
    if abs(counted(t)) > small:
        assert slope(t) < 0.0 < slope(t * (1.0 + 1e-3))


def test_a_line_that_does_not_fall_is_left_alone() -> None:
    assert line_minimum(lambda t: 1.0, 0.0) == line_minimum(lambda t: 1.0, 1.0) == 0.0
    assert line_minimum(lambda t: np.nan, -1.0) == 0.0


@pytest.mark.parametrize("weight", [[1.0, 3.0], [1.0, 50.0]])
@pytest.mark.parametrize("C", [1.0, 100.0, 1e4, 1e6])
def test_a_loss_without_curvature_on_either_side_is_left_to_the_bundle_method(C: float, weight: list[float]) -> None:
    """Two points, and a hinge rounded off between 0 and 1: apart from that Newton's method sees no intercept."""
    loss = CustomLoss(
        lambda t: np.where(t >= 1.0, 0.0, np.where(t < 0.0, 0.5 - t, 0.5 * (1.0 - t) ** 2)),
        lambda t: np.where(t >= 1.0, 0.0, np.where(t < 0.0, -1.0, t - 1.0)),
        lambda t: np.where((t >= 0.0) & (t < 1.0), 1.0, 0.0),
    )
    rows, y = [[0.0], [1.0]], [0, 1]
    found = SVMClassifier(C, loss=loss, tol=1e-6).fit(rows, y, weight).certificate_
    other = SVMClassifier(C, loss=loss, tol=1e-6, solver="bundle").fit(rows, y, weight).certificate_
    assert found.status.ok
    assert found.primal == pytest.approx(other.primal, rel=2e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_regressor_is_told_of_a_loss_that_it_takes(kernel: str) -> None:
    X = np.arange(6.0)[:, None]
    with pytest.raises(DataError, match=r"SVMRegressor: .* such as 'squared_epsilon_insensitive'$"):
        SVMRegressor(solver="newton", kernel=kernel).fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("model", "where"),
    [
        (OneClassSVM(solver="newton"), "this machine"),
        (HardMarginSVM(solver="newton"), "this machine"),
        (HardMarginSVM(solver="newton", kernel="rbf"), "this machine"),
        (SVMClassifier(solver="newton", nu=0.5), "a machine with nu"),
        (SVMRegressor(solver="newton", nu=0.5), "a machine with nu"),
    ],
)
def test_no_loss_is_advised_that_the_machine_cannot_take(model: Any, where: str) -> None:
    with pytest.raises(DataError, match=f"a second derivative, which {where} has not: use another solver") as caught:
        model.fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    assert "squared" not in str(caught.value)
