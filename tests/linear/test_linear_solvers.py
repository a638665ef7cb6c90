"""Solvers of linear machines against a general solver of quadratic programs, closed forms and each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from linear.problems import INTERCEPTS, LOSSES, Small, random_problem
from maxmargin import SVMClassifier
from maxmargin.errors import DataError
from maxmargin.solvers.linear.active_set import ActiveSet
from maxmargin.solvers.linear.automatic import Automatic
from maxmargin.solvers.linear.block_ascent import BlockAscent
from maxmargin.solvers.linear.coordinate_ascent import CoordinateAscent
from maxmargin.solvers.linear.interior_point import InteriorPoint
from maxmargin.solvers.linear.rows import Rows
from maxmargin.solvers.linear.task import LinearTask
from maxmargin.solvers.loop import Record, Result, run_to_tolerance
from maxmargin.solvers.progress import passes_to_go
from maxmargin.status import Status
from maxmargin.terms import hinge, insensitive, squared_hinge

SOLVERS: dict[str, Any] = {
    "interior point": InteriorPoint(),
    "active set": ActiveSet(),
    "block ascent": BlockAscent(block=16),
    "coordinate ascent": CoordinateAscent(),
    "no shrinking": CoordinateAscent(shrinking=False),
    "automatic": Automatic(),
}


def solve(problem: Small, solver: Any, tol: float = 1e-7, max_passes: int = 20_000, **options: Any) -> Result:
    return run_to_tolerance(problem.task(tol), solver, max_passes=max_passes, **options)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_optimum_is_reached(loss: str, intercept: str, solver: str) -> None:
    for seed, C in enumerate((1e-3, 0.1, 2.0)):
        problem = random_problem(seed, loss, intercept, C)
        value = problem.optimum()
        result = solve(problem, SOLVERS[solver])
        found = result.certificate
        assert found.status is Status.CONVERGED, (C, found)
        assert found.primal == pytest.approx(problem.value(result.w), rel=1e-12)
        assert problem.value(result.w) <= value * (1 + 1e-6)
        assert value * (1 - 1e-6) <= found.dual <= value * (1 + 1e-8)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", LOSSES)
def test_neither_scaling_nor_C_stops_the_interior_point(loss: str, intercept: str) -> None:
    for C in 10.0 ** np.arange(-6, 7, 3):
        problem = random_problem(5, loss, intercept, float(C), n=60, d=6)
        problem.X = problem.X * 10.0 ** np.arange(-3, 3)
        result = solve(problem, InteriorPoint(), tol=1e-6, max_passes=100)
        assert result.certificate.status is Status.CONVERGED, (C, result.certificate)
        assert result.certificate.primal == pytest.approx(problem.value(result.w), rel=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", LOSSES)
def test_the_optimum_lies_between_dual_and_primal_after_every_pass(loss: str, intercept: str, solver: str) -> None:
    problem = random_problem(8, loss, intercept, 0.5)
    value = problem.optimum()
    seen: list[tuple[Record, Any]] = []
    solve(
        problem, SOLVERS[solver], tol=1e-9, max_passes=40, check_every=1,
        callback=lambda record, w: seen.append((record, w.copy())),
    )  # fmt: skip
    exact = [(record, w) for record, w in seen if record.exact]
    assert len(exact) >= 5
    for record, w in exact:
        assert record.primal == pytest.approx(problem.value(w), rel=1e-10)
        assert record.dual <= value * (1 + 1e-9) <= record.primal * (1 + 2e-9)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("C", [0.1, 0.5, 3.0])
def test_two_points_in_closed_form(solver: str, C: float) -> None:
    """Points at -1 and 1: ``w = 2 min(1/2, C)``, and the middle of the intercepts that are as good is 0."""
    problem = Small(np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.full(2, C), "hinge", "free")
    result = solve(problem, SOLVERS[solver], tol=1e-12)
    assert result.w[0] == pytest.approx(2 * min(0.5, C), rel=1e-5)
    assert result.w[1] == pytest.approx(0.0, abs=1e-5)


FORMS = {
    "float32": lambda X: X.astype(np.float32),
    "Fortran": np.asfortranarray,
    "integers": lambda X: X,
    "CSR": sp.csr_matrix,
    "CSC": sp.csc_matrix,
    "float32 CSR": lambda X: sp.csr_matrix(X.astype(np.float32)),
    "int64 indices": lambda X: long_indices(sp.csr_matrix(X)),
    "unsorted": lambda X: unsorted(sp.csr_matrix(X)),
}


def long_indices(X: Any) -> Any:
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def unsorted(X: Any) -> Any:
    """Entries in reverse order, one of them in two halves."""
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    data, column = np.r_[X.data[::-1], X.data[0] / 2], np.r_[X.indices[::-1], X.indices[0]]
    data[len(X.data) - 1] /= 2
    order = np.argsort(np.r_[rows[::-1], rows[0]], kind="stable")
    out = sp.csr_matrix((data[order], column[order], np.r_[0, np.cumsum(np.bincount(np.r_[rows, rows[0]]))]), X.shape)
    assert not out.has_canonical_format
    return out


@pytest.mark.parametrize("solver", ["interior point", "coordinate ascent"])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_the_rows_gives_the_same_problem(form: str, solver: str) -> None:
    problem = random_problem(2, "hinge", "free", 1.0)
    problem.X = np.round(4 * problem.X)  # float32 holds these exactly
    expected = problem.optimum()
    given = FORMS[form](problem.X.copy())
    before = given.copy()
    result = solve(Small(given, problem.y, problem.c, "hinge", "free"), SOLVERS[solver], tol=1e-6)
    assert problem.value(result.w) == pytest.approx(expected, rel=2e-6)
    assert abs(given - before).max() == 0


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_products_with_rows(dtype: Any, sparse: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 7)) * (rng.random((40, 7)) < 0.5)
    rows = Rows(sp.csr_matrix(X.astype(dtype)) if sparse else X.astype(dtype))
    X = X.astype(dtype).astype(np.float64)
    w, beta, weights = rng.normal(size=7), rng.normal(size=40), rng.random(40)
    np.testing.assert_allclose(rows.scores(w), X @ w, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(rows.combined(beta), X.T @ beta, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(rows.squared_norms, (X**2).sum(1), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(rows.gram(weights), X.T @ np.diag(weights) @ X, rtol=1e-12, atol=1e-13)


def test_rows_are_used_as_they_are() -> None:
    X = np.ones((5, 3))
    assert np.shares_memory(Rows(X).data, X)
    S = sp.csr_matrix(X)
    assert np.shares_memory(Rows(S).data, S.data)


def test_the_same_seed_gives_the_same_model() -> None:
    problem = random_problem(4, "hinge", "free", 1.0)
    first, second = (solve(problem, CoordinateAscent(), tol=1e-3) for _ in range(2))
    np.testing.assert_array_equal(first.w, second.w)


def test_automatic_goes_over_where_coordinate_ascent_is_slow() -> None:
    hard = random_problem(1, "hinge", "free", 1e4, n=200, d=5)
    easy = random_problem(1, "hinge", "none", 1e-3, n=200, d=5)
    assert solve(hard, Automatic(), tol=1e-4).certificate.solver == "interior_point"
    assert solve(easy, Automatic(), tol=1e-4).certificate.solver == "coordinate_ascent"


def test_passes_to_go_is_exact_for_a_constant_rate() -> None:
    assert passes_to_go([2.0**-k for k in range(9)], 2.0**-20) == pytest.approx(12)
    assert passes_to_go([0.5] * 8, 1e-3) == np.inf
    assert passes_to_go([0.5, 1e-4], 1e-3) == 0.0


def test_a_run_cut_short_is_honest() -> None:
    problem = random_problem(1, "hinge", "free", 1e3)
    result = solve(problem, CoordinateAscent(), tol=1e-9, max_passes=3)
    assert result.certificate.status is Status.PASS_LIMIT
    value = problem.optimum()
    assert result.certificate.dual <= value <= result.certificate.primal


def test_too_many_features_for_a_matrix_of_them() -> None:
    """Refused before the memory is asked for; the automatic choice never comes to it."""
    X = sp.random(50, 30_000, density=1e-3, format="csr", random_state=0)
    y = np.arange(50) % 2
    with pytest.raises(DataError, match=r"interior_point is for up to 10000 features; there are 30000: use solver='co"):
        SVMClassifier(solver="interior_point").fit(X, y)
    assert SVMClassifier(random_state=0).fit(X, y).solver_ == "coordinate_ascent"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 41, 100])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "insensitive"])
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_long_dense_rows_are_visited_as_sparse_ones_are(intercept: str, loss: str, n: int, dtype: Any) -> None:
    """The steps for two rows that are read together are those for one after the other."""
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 256)).astype(dtype)
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    target = X[:, 0].astype(np.float64) if loss == "insensitive" else y
    terms = (insensitive(target, np.full(n, 0.05), 0.1) if loss == "insensitive"
             else (hinge if loss == "hinge" else squared_hinge)(y, np.full(n, 0.05)))  # fmt: skip
    seen = []
    for form in (X, sp.csr_matrix(X)):
        rows, rng = Rows(form), np.random.default_rng(1)
        task = LinearTask(rows, terms, 0.05, np.ones(n), intercept, 0.0, rng)  # type: ignore[arg-type]
        run = CoordinateAscent().start(task)
        seen.append([(run.advance().dual, run.dual(), run.weights().copy()) for _ in range(6)])
    for (dense, dual, w), (sparse, other, v) in zip(*seen, strict=True):
        assert dense == pytest.approx(sparse, rel=1e-9, abs=1e-12)
        assert dual == pytest.approx(other, rel=1e-9, abs=1e-12)
        assert w == pytest.approx(v, rel=1e-8, abs=1e-10)
