"""Plain machines begun at an earlier fit: the same optimum, from any point, and nothing done twice."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification

from linear.problems import INTERCEPTS, LOSSES, Small, random_problem
from maxmargin import SVMClassifier, SVMRegressor
from maxmargin.kernels import make_kernel
from maxmargin.solvers.base import WarmStart
from maxmargin.solvers.kernel.automatic import KernelAutomatic
from maxmargin.solvers.kernel.block_smo import BlockSMO
from maxmargin.solvers.kernel.interior_point import KernelInteriorPoint
from maxmargin.solvers.kernel.row_cache import KernelValues, RowCache
from maxmargin.solvers.kernel.task import KernelTask
from maxmargin.solvers.linear.active_set import ActiveSet
from maxmargin.solvers.linear.automatic import Automatic
from maxmargin.solvers.linear.block_ascent import BlockAscent
from maxmargin.solvers.linear.coordinate_ascent import CoordinateAscent
from maxmargin.solvers.linear.interior_point import InteriorPoint
from maxmargin.solvers.loop import Result, run_to_tolerance
from maxmargin.solvers.warm_dual import factor_between, warm_dual
from maxmargin.terms import Terms

SOLVERS: dict[str, Any] = {
    "interior point": InteriorPoint(),
    "active set": ActiveSet(),
    "block ascent": BlockAscent(),
    "coordinate ascent": CoordinateAscent(),
    "automatic": Automatic(),
}
KERNEL_SOLVERS: dict[str, Any] = {
    "block SMO": BlockSMO(),
    "interior point": KernelInteriorPoint(),
    "automatic": KernelAutomatic(),
}
TOL = 1e-7


def begun_at(problem: Small, start: Result | WarmStart, solver: Any, tol: float = TOL) -> Result:
    task = problem.task(tol)
    task.warm = start if isinstance(start, WarmStart) else WarmStart(start.w, beta=start.dual_point.beta)
    return run_to_tolerance(task, solver, max_passes=20_000)


def kernel_task(problem: Small, tol: float = TOL, **options: Any) -> KernelTask:
    linear = problem.task(tol)
    kernel = make_kernel("rbf", problem.X, gamma=0.5)
    totals = np.zeros(1 if problem.intercept == "free" else 0)
    group = np.zeros(linear.terms.sign.shape, np.int64)
    signs = "hinge" in problem.loss
    return KernelTask(kernel, problem.X, linear.terms, 1.0, problem.c, totals, group, tol, signs=signs, **options)


def as_linear(problem: Small) -> Small:
    """The machine with the RBF kernel, as a linear one on a factor of the kernel matrix."""
    K = make_kernel("rbf", problem.X, gamma=0.5).block(problem.X, problem.X)
    return Small(np.linalg.cholesky(K + 1e-13 * np.eye(len(K))), problem.y, problem.c, problem.loss, problem.intercept)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_optimum_is_reached_from_that_of_another_C(loss: str, intercept: str, solver: str) -> None:
    for old, new in ((0.05, 1.0), (1.0, 0.05), (0.3, 0.4)):
        start = run_to_tolerance(random_problem(1, loss, intercept, old).task(TOL), InteriorPoint())
        problem = random_problem(1, loss, intercept, new)
        result, value = begun_at(problem, start, SOLVERS[solver]), problem.optimum()
        assert result.certificate.status.ok
        assert problem.value(result.w) <= value * (1 + 1e-6)
        assert value * (1 - 1e-6) <= result.certificate.dual <= value * (1 + 1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_optimum_is_reached_from_anywhere(loss: str, solver: str, rng: np.random.Generator) -> None:
    problem = random_problem(2, loss, "free", 0.7)
    value = problem.optimum()
    n, d = problem.X.shape
    for size in (0.0, 1.0, 1e6):
        start = WarmStart(size * rng.normal(size=d + 1), beta=size * rng.normal(size=n))
        result = begun_at(problem, start, SOLVERS[solver])
        assert result.certificate.status.ok
        assert problem.value(result.w) <= value * (1 + 1e-6)
        assert result.certificate.dual <= value * (1 + 1e-8)


@pytest.mark.parametrize("solver", KERNEL_SOLVERS)
@pytest.mark.parametrize("intercept", ["free", "none"])
@pytest.mark.parametrize("loss", LOSSES)
def test_kernel_machines_begin_anywhere(loss: str, intercept: str, solver: str, rng: np.random.Generator) -> None:
    problem = random_problem(3, loss, intercept, 2.0)
    value = as_linear(problem).optimum()
    old = run_to_tolerance(kernel_task(random_problem(3, loss, intercept, 0.2)), KernelInteriorPoint())
    for w in (old.w, rng.normal(size=old.w.size)):
        task = kernel_task(problem, warm=WarmStart(w, beta=w[: len(problem.y)]))
        result = run_to_tolerance(task, KERNEL_SOLVERS[solver], max_passes=2000)
        assert result.certificate.status.ok
        assert result.certificate.primal <= value * (1 + 1e-6)
        assert value * (1 - 1e-6) <= result.certificate.dual <= value * (1 + 1e-7)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", LOSSES)
def test_at_the_optimum_two_evaluations_are_all(loss: str, intercept: str, solver: str) -> None:
    problem = random_problem(4, loss, intercept, 0.5)
    start = run_to_tolerance(problem.task(1e-9), InteriorPoint())
    result = begun_at(problem, start, SOLVERS[solver], tol=1e-8)
    assert result.certificate.passes == 2
    assert result.certificate.relative_gap <= 1e-8
    assert problem.value(result.w) <= problem.value(start.w) * (1 + 1e-12)


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_first_point_is_feasible_and_the_best_multiple(loss: str, balanced: bool, rng: np.random.Generator) -> None:
    problem = random_problem(5, loss, "free", 0.5)
    terms, X = problem.task().terms, problem.X
    assert isinstance(terms, Terms)

    def square(beta: Any) -> float:
        return float(np.sum((X.T @ beta) ** 2))

    def value(a: Any) -> float:
        return terms.gain(a) - 0.5 * square(terms.beta(a))

    for scale in (0.0, 0.1, 1.0, 50.0):
        beta = scale * rng.normal(size=len(X))
        a = warm_dual(terms, beta, square, balanced=balanced)
        assert (a >= 0.0).all()
        assert (a <= terms.upper).all()
        assert value(a) >= 0.0
        if balanced:
            assert abs(terms.beta(a).sum()) <= 1e-12 * max(1.0, float(a.sum()))
        for factor in (0.9, 1.1):
            if (factor * a <= terms.upper).all():
                assert value(factor * a) <= value(a) + 1e-12 * abs(value(a))


def test_a_larger_C_takes_bounds_along() -> None:
    """Where all variables are at their bound and stay there, the first point is the optimum."""
    X = np.array([[1.0], [-1.0], [2.0], [-2.0]])
    y = np.array([1.0, -1.0, 1.0, -1.0])
    small, large = (Small(X, y, np.full(4, C), "hinge", "free") for C in (1e-3, 1e-2))
    start = run_to_tolerance(small.task(1e-10), CoordinateAscent())
    result = begun_at(large, start, CoordinateAscent(), tol=1e-10)
    assert result.certificate.passes == 2
    assert result.certificate.primal == pytest.approx(large.optimum(), rel=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_interior_point_begins_on_the_central_path(loss: str, rng: np.random.Generator) -> None:
    task = random_problem(6, loss, "free", 3.0).task()
    task.warm = WarmStart(100.0 * rng.normal(size=task.n_weights))
    run = InteriorPoint().start(task)
    slack = task.terms.margin - task.terms.sign * task.scores(task.warm.w)[:, None]  # type: ignore[union-attr]
    products = run.a * run.low
    assert products == pytest.approx(np.full_like(products, products[0, 0]), rel=1e-9)
    assert (np.minimum(run.a, run.low) > 0.0).all()
    if run.bounded:
        assert run.room * run.high == pytest.approx(products, rel=1e-9)
        assert run.high - run.low == pytest.approx(slack, rel=1e-9)
        assert run.a + run.room == pytest.approx(run.terms.upper, rel=1e-9)
    else:
        assert run.terms.ridge * run.a - run.low == pytest.approx(slack, rel=1e-9)


def test_tasks_on_the_same_points_share_kernel_rows() -> None:
    values = KernelValues(keep=True)
    beta = None
    for C in (0.1, 1.0, 10.0):
        problem = random_problem(7, "hinge", "free", C, n=80)
        warm = None if beta is None else WarmStart(beta, beta=beta[:80])
        result = run_to_tolerance(kernel_task(problem, values=values, warm=warm), BlockSMO(), max_passes=500)
        beta = result.w
        assert result.certificate.primal <= as_linear(problem).optimum() * (1 + 1e-6)
    assert values.rows is not None
    assert values.rows.computed <= 80
    assert values.rows.store.dtype == np.float64


def test_products_from_kept_rows(rng: np.random.Generator) -> None:
    X = rng.normal(size=(30, 3))
    kernel = make_kernel("rbf", X, gamma=0.3)
    cache = RowCache(kernel, X, np.float64, 1.0)
    beta = np.where(rng.random(30) < 0.5, rng.normal(size=30), 0.0)
    assert cache.combined(beta) == pytest.approx(kernel.block(X, X) @ beta, rel=1e-12, abs=1e-14)
    assert cache.computed == np.count_nonzero(beta)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_classifiers_begin_where_they_ended(kernel: str, loss: str) -> None:
    X, y = make_classification(200, 6, n_informative=4, class_sep=0.7, random_state=0)
    warm = SVMClassifier(kernel=kernel, loss=loss, tol=1e-6, random_state=0, warm_start=True)
    for C in (1.0, 2.0, 2.0, 0.1):
        found = warm.set_params(C=C).fit(X, y).certificate_
        cold = SVMClassifier(C, kernel=kernel, loss=loss, tol=1e-6, random_state=0).fit(X, y).certificate_
        assert found.status.ok
        assert found.dual <= cold.primal * (1 + 1e-9)
        assert cold.dual <= found.primal * (1 + 1e-9)
    # the dual point alone where its weights are those kept, else these too
    assert warm.fit(X, y).n_iter_ == (1 if (kernel, loss) == ("rbf", "hinge") else 2)


def test_regressors_begin_where_they_ended(rng: np.random.Generator) -> None:
    X = rng.normal(size=(80, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=80)
    for options in ({}, {"kernel": "rbf"}, {"nu": 0.3}, {"loss": "squared_epsilon_insensitive"}):
        warm = SVMRegressor(tol=1e-6, warm_start=True, **options)  # type: ignore[arg-type]
        for C in (1.0, 3.0, 0.2):
            found = warm.set_params(C=C).fit(X, y).certificate_
            cold = SVMRegressor(C, tol=1e-6, **options).fit(X, y).certificate_  # type: ignore[arg-type]
            assert found.primal == pytest.approx(cold.primal, rel=3e-6), options
        assert warm.fit(X, y).n_iter_ == (2 if "loss" in options else 1), options


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_whatever_changes_between_two_fits(kernel: str, multi_class: str, rng: np.random.Generator) -> None:
    X, y = load_iris(return_X_y=True)
    other = y.copy()
    other[:5] = 2
    weight = rng.integers(0, 3, len(y)).astype(float)
    warm = SVMClassifier(kernel=kernel, multi_class=multi_class, tol=1e-5, warm_start=True)  # type: ignore[arg-type]
    changes: list[tuple[dict[str, Any], Any, Any, Any]] = [
        ({}, X, y, None), ({}, X, y, weight), ({}, X, other, None), ({"fit_intercept": False}, X, y, None),
        ({}, X[:, :2], y, None), ({}, X[20:], y[20:], None), ({"loss": "squared_hinge"}, X, y, None),
        ({"kernel": "poly"}, X, y, None), ({"kernel": "linear"}, X, y, None), ({}, X[:100], y[:100], None),
        ({"loss": "logistic"}, X, y, None),
    ]  # fmt: skip
    for parameters, rows, classes, s in changes:
        found = warm.set_params(**parameters).fit(rows, classes, s).certificate_
        cold = SVMClassifier(**{**warm.get_params(), "warm_start": False}).fit(rows, classes, s).certificate_
        assert found.status.ok
        assert found.primal == pytest.approx(cold.primal, rel=3e-5), parameters


def test_what_a_fit_leaves_behind() -> None:
    X, y = load_iris(return_X_y=True)
    model = SVMClassifier(tol=1e-2).fit(X, y)
    assert "_warm" not in vars(model)
    model.set_params(warm_start=True).fit(X, y)
    assert "_warm" in vars(model)
    assert "_warm" not in vars(pickle.loads(pickle.dumps(model)))
    model.set_params(warm_start=False).fit(X, y)
    assert "_warm" not in vars(model)


@pytest.mark.parametrize("n", [1, 50, 20_000])
def test_a_multiple_is_known_to_be_one(n: int) -> None:
    for k in range(30):
        rng = np.random.default_rng(k)
        known = rng.normal(size=n) * np.exp(20.0 * rng.normal(size=n)) if k % 2 else np.full(n, rng.normal())
        factor = float(np.exp(rng.normal()))
        found = factor_between(known, factor * known)
        assert found == pytest.approx(factor, rel=4e-16)
        assert factor_between(known, known.copy()) == 1.0
        other = factor * known
        other[n // 2] *= 1.0 + 1e-12
        assert (factor_between(known, other) is None) == (n > 1)
    assert factor_between(np.zeros(n), np.ones(n)) is None
    assert factor_between(np.zeros(n), np.zeros(n)) == 1.0
