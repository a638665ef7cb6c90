"""Block SMO against an interior point method, against scikit-learn, and against the linear machines."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from sklearn.svm import SVC, SVR

from maxmargin import SVMClassifier
from maxmargin.kernels import make_kernel
from maxmargin.solvers.base import WarmStart
from maxmargin.solvers.kernel.block_smo import BlockSMO, single_precision_suffices
from maxmargin.solvers.kernel.row_cache import RowCache, block_of
from maxmargin.solvers.kernel.subproblem import (
    _best_piece,
    _highest_of,
    _move_thresholds,
    _partner_of,
    _partners,
    _place,
    _shares,
)
from maxmargin.solvers.kernel.task import KernelTask
from maxmargin.solvers.linear.interior_point import InteriorPoint
from maxmargin.solvers.linear.rows import Rows
from maxmargin.solvers.linear.task import LinearTask
from maxmargin.solvers.loop import Result, run_to_tolerance
from maxmargin.status import Status
from maxmargin.terms import Terms, hinge, insensitive, squared_hinge, squared_insensitive

Intercept = Literal["free", "none"]
KERNELS: dict[str, dict[str, Any]] = {
    "linear": {},
    "rbf": {"gamma": 0.4},
    "poly": {"gamma": 0.5, "coef0": 1.0, "degree": 2},
}


def data(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, noisy signs, noisy values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    values = X[:, 0] - 0.5 * X[:, -1] ** 2 + 0.5 * rng.normal(size=n)
    return X, np.where(values > -0.3, 1.0, -1.0), values


def terms_of(loss: str, y: np.ndarray, values: np.ndarray, c: np.ndarray) -> Terms:
    if loss == "hinge":
        return hinge(y, c)
    if loss == "squared_hinge":
        return squared_hinge(y, c)
    return (insensitive if loss == "insensitive" else squared_insensitive)(values, c, 0.2)


def task_of(kernel: Any, X: np.ndarray, terms: Terms, C: float, intercept: Intercept, tol: float) -> KernelTask:
    totals = np.zeros(1 if intercept == "free" else 0)
    group = np.zeros(terms.sign.shape, np.int64)
    return KernelTask(kernel, X, terms, C, np.ones(len(X)), totals, group, tol, signs=terms.sign.shape[1] == 1)


def fit(task: KernelTask, **options: Any) -> Result:
    return run_to_tolerance(task, BlockSMO(**options), max_passes=5000)


def optimum(K: np.ndarray, terms: Terms, free: bool) -> float:
    """Of the dual, by an interior point method."""
    import piqp

    n, m = terms.sign.shape
    spread = np.zeros((n, n * m))  # beta = spread a
    spread[np.repeat(np.arange(n), m), np.arange(n * m)] = terms.sign.ravel()
    Q = spread.T @ K @ spread + np.diag(terms.ridge.ravel())
    solver = piqp.DenseSolver()
    for name in ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"):
        setattr(solver.settings, name, 1e-10)
    unit = float((1.0 / terms.ridge if terms.squared else terms.upper).max())  # a = unit x, the objective over unit
    top = terms.upper.ravel() / unit
    solver.setup(
        unit * Q,
        -terms.margin.ravel(),
        **({"A": terms.sign.reshape(1, -1), "b": np.zeros(1)} if free else {}),
        x_l=np.zeros(n * m),
        x_u=top,
    )
    assert solver.solve() == piqp.PIQP_SOLVED
    a = unit * np.clip(np.asarray(solver.result.x), 0.0, top)
    return float(terms.margin.ravel() @ a - 0.5 * a @ Q @ a)


def combinations() -> list[Any]:
    """Losses, kernels and C; pairs take millions of steps where a kernel of low rank leaves many values unexplained."""
    return [
        pytest.param(loss, name, C, marks=[pytest.mark.slow] if (name, C) == ("poly", 1e4) and m == 2 else [])
        for loss, m in (("hinge", 1), ("squared_hinge", 1), ("insensitive", 2), ("squared_insensitive", 2))
        for name in KERNELS
        for C in (1e-3, 1.0, 100.0, 1e4)
    ]


@pytest.mark.parametrize("intercept", ["free", "none"])
@pytest.mark.parametrize(("loss", "name", "C"), combinations())
def test_the_optimum_is_that_of_an_interior_point_method(loss: str, intercept: Intercept, name: str, C: float) -> None:
    X, y, values = data(30, 3, 1)
    c = C * np.random.default_rng(0).uniform(0.5, 2.0, 30)
    terms = terms_of(loss, y, values, c)
    kernel = make_kernel(name, X, **KERNELS[name])
    task = task_of(kernel, X, terms, C, intercept, 5e-7)
    task.weight, task.c = c / C, c
    result = fit(task, block=16)
    best = optimum(kernel.block(X, X), terms, intercept == "free")
    found = result.certificate
    assert found.status == Status.CONVERGED
    assert found.relative_gap <= 5e-7
    assert found.primal == pytest.approx(best, rel=1e-6)
    # the certificate says what the weights are worth, by formulas written out here
    K, beta = kernel.block(X, X), result.w[:30]
    f = K @ beta + (result.w[30] if intercept == "free" else 0.0)
    slack = np.maximum(1.0 - y * f, 0.0) if "hinge" in loss else np.maximum(np.abs(values - f) - 0.2, 0.0)
    primal = 0.5 * beta @ K @ beta + c @ (slack**2 if "squared" in loss else slack)
    assert found.primal == pytest.approx(primal, rel=1e-9)
    if intercept == "free":
        assert abs(beta.sum()) <= 1e-9 * np.abs(beta).sum()


@pytest.mark.parametrize("block", [2, 3])
@pytest.mark.parametrize("intercept", ["free", "none"])
def test_the_smallest_blocks(block: int, intercept: Any) -> None:
    X, y, _ = data(60, 4, 3)
    kernel, terms = make_kernel("rbf", X, gamma=0.2), hinge(y, np.ones(60))
    found = fit(task_of(kernel, X, terms, 1.0, intercept, 1e-7), block=block).certificate
    assert found.status == Status.CONVERGED
    assert found.primal == pytest.approx(optimum(kernel.block(X, X), terms, intercept == "free"), rel=1e-6)


def test_classification_beside_scikit_learn() -> None:
    X, y, _ = data(700, 6, 2)
    result = fit(task_of(make_kernel("rbf", X, gamma=0.1), X, hinge(y, np.full(700, 2.0)), 2.0, "free", 1e-6), block=64)
    other = SVC(C=2.0, gamma=0.1, tol=1e-6).fit(X, y)
    beta = np.zeros(700)
    beta[other.support_] = other.dual_coef_[0]
    K = make_kernel("rbf", X, gamma=0.1).block(X, X)
    theirs = 0.5 * beta @ K @ beta + 2.0 * np.maximum(1.0 - y * other.decision_function(X), 0.0).sum()
    assert result.certificate.primal == pytest.approx(theirs, rel=2e-6)
    np.testing.assert_allclose(K @ result.w[:700] + result.w[700], other.decision_function(X), atol=5e-3)


def test_regression_beside_scikit_learn() -> None:
    X, _, values = data(500, 4, 3)
    kernel = make_kernel("rbf", X, gamma=0.2)
    result = fit(task_of(kernel, X, insensitive(values, np.full(500, 3.0), 0.1), 3.0, "free", 1e-6), block=64)
    other = SVR(C=3.0, gamma=0.2, epsilon=0.1, tol=1e-6).fit(X, values)
    beta = np.zeros(500)
    beta[other.support_] = other.dual_coef_[0]
    loss = np.maximum(np.abs(values - other.predict(X)) - 0.1, 0.0)
    theirs = 0.5 * beta @ kernel.block(X, X) @ beta + 3.0 * loss.sum()
    assert result.certificate.primal == pytest.approx(theirs, rel=2e-6)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "insensitive", "squared_insensitive"])
@pytest.mark.parametrize("intercept", ["free", "none"])
def test_the_linear_kernel_is_the_linear_machine(loss: str, intercept: Intercept) -> None:
    X, y, values = data(200, 5, 4)
    terms = terms_of(loss, y, values, np.full(200, 0.7))
    ours = fit(task_of(make_kernel("linear", X), X, terms, 0.7, intercept, 1e-8), block=50)
    linear = LinearTask(
        Rows(X), terms, 0.7, np.ones(200), intercept, 1e-9, np.random.default_rng(0), signs="hinge" in loss
    )
    theirs = run_to_tolerance(linear, InteriorPoint())
    assert ours.certificate.primal == pytest.approx(theirs.certificate.primal, rel=1e-7)
    np.testing.assert_allclose(X.T @ ours.w[:200], theirs.w[:5], atol=1e-3)


@pytest.mark.parametrize("C", [0.1, 0.5, 3.0])
def test_two_points(C: float) -> None:
    """At -1 and +1: both dual variables are ``min(1/2, C)``, and the middle of the intercepts is 0."""
    X, y = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0])
    w = fit(task_of(make_kernel("linear", X), X, hinge(y, np.full(2, C)), C, "free", 1e-12)).w
    a = min(0.5, C)
    np.testing.assert_allclose(w, [-a, a, 0.0], atol=1e-12)


def test_a_huge_common_coordinate() -> None:
    """Kernel values of 1e19 whose differences matter."""
    X = np.array([[1.0, 90001.0], [2.0, 90001.0]])
    task = task_of(
        make_kernel("poly", X, gamma=0.5, degree=2), X, hinge(np.array([-1.0, 1.0]), np.ones(2)), 1.0, "free", 1e-3
    )
    assert not single_precision_suffices(task, task.terms)
    np.testing.assert_allclose(task.scores(fit(task).w), [-1.0, 1.0], atol=1e-2)


@pytest.mark.parametrize("intercept", ["free", "none"])
def test_a_large_C(intercept: Intercept) -> None:
    rng = np.random.default_rng(5)
    X = np.vstack([rng.normal(size=(30, 4)), rng.normal(size=(30, 4)) + 0.7])
    y = np.repeat([-1.0, 1.0], 30)
    kernel = make_kernel("rbf", X, gamma=0.01)
    terms = hinge(y, np.full(60, 1e5))
    task = task_of(kernel, X, terms, 1e5, intercept, 1e-6)
    assert not single_precision_suffices(task, task.terms)
    result = fit(task)
    assert result.certificate.relative_gap <= 1e-6
    assert result.certificate.dual == pytest.approx(optimum(kernel.block(X, X), terms, intercept == "free"), rel=2e-6)


def test_rows_become_float64_when_an_evaluation_asks_for_it() -> None:
    """A start that claims products which are not those of its dual point: the evaluation sees it and goes on rightly."""
    X, y, _ = data(150, 3, 5)
    task = task_of(make_kernel("rbf", X, gamma=0.5), X, hinge(y, np.ones(150)), 1.0, "free", 1e-6)
    assert single_precision_suffices(task, task.terms)
    run: Any = BlockSMO(block=32).start(task)
    assert run.cache.store.dtype == np.float32
    run.products += 0.2 * X[:, 0]
    for _ in range(30):
        step = run.advance()
    run.dual()
    assert run.cache.store.dtype == np.float64
    for _ in range(60):
        step = run.advance()
    dual = run.dual()
    primal = task.objective(run.weights())
    assert step.gap == pytest.approx(primal - dual, abs=1e-9 * primal)
    assert primal - dual <= 1e-6 * primal


def test_float32_rows_reach_a_small_gap() -> None:
    X, y, _ = data(600, 6, 6)
    task = task_of(make_kernel("rbf", X, gamma=0.1), X, hinge(y, np.ones(600)), 1.0, "free", 1e-6)
    result: Any = fit(task, block=64)
    assert result.certificate.relative_gap <= 1e-6
    assert result._run.cache.store.dtype == np.float32


def test_the_cache_keeps_its_bound_and_its_rows() -> None:
    X, y, _ = data(400, 3, 7)
    kernel = make_kernel("rbf", X, gamma=0.3)
    cache = RowCache(kernel, X, np.float64, 0.1)
    assert cache.store.nbytes <= 100_000
    assert cache.capacity == 31
    K = kernel.block(X, X)
    rng = np.random.default_rng(0)
    for _ in range(50):
        rows = rng.permutation(60)[:20]
        np.testing.assert_allclose(cache.store[cache.fetch(rows)], K[rows], rtol=0, atol=1e-14)
    before = cache.computed
    cache.fetch(rows)
    assert cache.computed == before < 50 * 20
    task = task_of(kernel, X, hinge(y, np.ones(400)), 1.0, "free", 1e-5)
    small, large = fit(task, cache_mb=0.05, block=200), fit(task, block=40)
    assert small.certificate.primal == pytest.approx(large.certificate.primal, rel=2e-5)


def test_precomputed_and_own_functions_give_the_same_machine() -> None:
    X, y, _ = data(120, 3, 8)
    rbf = make_kernel("rbf", X, gamma=0.5)
    K, terms = rbf.block(X, X), hinge(y, np.ones(120))
    named = fit(task_of(rbf, X, terms, 1.0, "free", 1e-8), block=40)
    for kernel, points in ((make_kernel("precomputed", K), K), (make_kernel(rbf.block, X), X)):
        other = fit(task_of(kernel, points, terms, 1.0, "free", 1e-8), block=40)
        assert other.certificate.primal == pytest.approx(named.certificate.primal, rel=1e-7)
        np.testing.assert_allclose(other.w, named.w, atol=1e-2)


def test_an_indefinite_kernel_ends() -> None:
    X, y, _ = data(100, 3, 9)
    task = task_of(make_kernel("sigmoid", X, gamma=1.0, coef0=-1.0), X, hinge(y, np.ones(100)), 1.0, "free", 1e-6)
    assert not task.exact
    assert np.isfinite(fit(task).w).all()


def test_the_same_data_give_the_same_model() -> None:
    X, y, _ = data(300, 3, 10)
    task = task_of(make_kernel("rbf", X), X, hinge(y, np.ones(300)), 1.0, "free", 1e-4)
    np.testing.assert_array_equal(fit(task, block=50).w, fit(task, block=50).w)


def test_a_warm_start_is_taken_up() -> None:
    X, y, values = data(300, 3, 11)
    for terms in (hinge(y, np.ones(300)), insensitive(values, np.ones(300), 0.1)):
        task = task_of(make_kernel("rbf", X), X, terms, 1.0, "free", 1e-6)
        cold = fit(task, block=50)
        task.warm = WarmStart(cold.w)
        warm = fit(task, block=50)
        assert warm.certificate.passes <= 2 < cold.certificate.passes
        assert warm.certificate.primal == pytest.approx(cold.certificate.primal, rel=1e-6)


@pytest.mark.parametrize("intercept", ["free", "none"])
def test_one_class_only(intercept: Intercept) -> None:
    X, _, _ = data(20, 2, 12)
    terms = hinge(np.ones(20), np.ones(20))
    kernel = make_kernel("rbf", X)
    primal = fit(task_of(kernel, X, terms, 1.0, intercept, 1e-6)).certificate.primal
    assert primal == pytest.approx(optimum(kernel.block(X, X), terms, intercept == "free"), rel=1e-5, abs=1e-12)


def test_the_matrix_of_a_certificate_is_computed_once() -> None:
    X, y, _ = data(80, 2, 13)
    calls = []

    def function(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        calls.append(len(A) * len(B))
        return np.asarray(A @ B.T)

    task = task_of(make_kernel(function, X), X, hinge(y, np.ones(80)), 1.0, "free", 1e-6)
    run = BlockSMO().start(task)
    run.advance()
    calls.clear()
    run.dual()
    run.evaluate(run.weights())
    task.penalty(run.weights())
    assert len(calls) == 1


def test_wrong_options() -> None:
    X, y, _ = data(10, 2, 14)
    task = task_of(make_kernel("rbf", X), X, hinge(y, np.ones(10)), 1.0, "free", 1e-6)
    with pytest.raises(ValueError, match="cache_mb positive"):
        BlockSMO(cache_mb=0.0).start(task)


@pytest.mark.parametrize("n", [1, 5, 70])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_block_of_rows_at_hand(n: int, dtype: Any) -> None:
    rng = np.random.default_rng(n)
    half = rng.normal(size=(90, 90)).astype(dtype)
    K = half + half.T
    slots = rng.permutation(90)
    rows = np.sort(rng.permutation(90)[:n])
    store = np.empty_like(K)
    store[slots] = K
    found = np.full((n, n), np.nan)
    block_of(store, slots[rows], rows, found)
    assert (found == K[np.ix_(rows, rows)]).all()


def test_extremes_and_where_they_are() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 7, 63, 64, 65, 300):
        h = rng.normal(size=n)
        for at in {0, n // 2, n - 1}:
            assert _place(h, h[at]) == at
        assert _place(np.repeat(h, 2), h[-1]) == 2 * n - 2  # the first of equals
        assert _place(h, 9.0) == -1


@pytest.mark.parametrize("q", [1, 7, 127, 128, 129, 300])
@pytest.mark.parametrize("n_terms", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_best_of_pieces_are_the_best_of_all(q: int, n_terms: int, dtype: Any) -> None:
    rng = np.random.default_rng(q)
    n = n_terms * q
    h, old, K = rng.normal(size=n), np.empty(n), rng.normal(size=(2, q)).astype(dtype)
    up = np.where(rng.random((2, n)) < 0.6, 0.0, -np.inf)
    up[:, n // 2] = 0.0
    pieces = n_terms * -(-q // 128)
    highest, gains, room = np.empty((2, pieces)), np.empty(pieces), np.empty(128)
    old[:] = h
    _move_thresholds(K[0], K[1], 0.3, -0.2, h, up, highest)
    step = 0.3 * K[0].astype(np.float64) - 0.2 * K[1].astype(np.float64)
    assert h == pytest.approx(old - np.tile(step, n_terms), abs=1e-14)
    for g in range(2):
        piece = _best_piece(highest[g])
        assert highest[g, piece] == (h + up[g]).max()
        assert _highest_of(h, up[g], highest[g, piece], q, piece) == (h + up[g]).argmax()
    share = rng.random(n).astype(np.float32)
    assert _partners(h, -up[0], 0.5, share, q, gains) == (h - up[0]).min()
    wanted = np.maximum(0.5 - (h - up[0]), 0.0) ** 2 * share
    assert gains.max() == pytest.approx(wanted.max(), rel=1e-14)
    if wanted.max() > 0.0:
        assert _partner_of(h, -up[0], 0.5, share, q, _best_piece(gains), room) == wanted.argmax()


@pytest.mark.parametrize("scale", [1e-280, 1.0, 1e280])
def test_what_chooses_partners_fits_into_single_precision(scale: float) -> None:
    row = np.array([1.0, 1.0 - 1e-15, 0.2, -1.0]) * scale
    bend, share = np.ones(8) * scale, np.empty(8, np.float32)
    bend[4:] += 3.0 * scale
    _shares(bend, bend[0], bend.max() + 1e-300, 1e-13 * scale + 1e-300, row, share)
    assert share[0] == pytest.approx(5e13, rel=1e-6)
    assert np.isfinite(share).all()
    assert share[2:] == pytest.approx(5.0 / np.array([1.6, 4.0, 3.0, 3.0, 4.6, 7.0]), rel=1e-6)


def test_steps_take_more_rows_where_passes_do_not_do() -> None:
    """From the fifth pass on, as far as an eighth of the cache's memory goes; the next problem begins with as many."""
    X, y, values = data(400, 3, 7)
    kernel = make_kernel("rbf", X, gamma=0.4)
    task = task_of(kernel, X, terms_of("hinge", y, values, np.full(400, 100.0)), 100.0, "free", 1e-9)
    run = BlockSMO(block=4, cache_mb=1.28).start(task)
    sizes = []
    for _ in range(9):
        run.advance()
        sizes.append(len(run.worked))
    assert sizes[:4] == [4, 4, 4, 4]
    assert sizes[4:8] == [8, 16, 32, 64]
    assert run.block == task.values.block == 100  # 100 * 100 * 16 bytes
    assert BlockSMO(block=4).start(task).block == 100
    assert BlockSMO(block=200).start(task).block == 200


@pytest.mark.parametrize(("C", "common"), [(1e1, 0.0), (1e3, 0.0), (1e5, 0.0), (1e9, 0.0), (1e1, 3.0), (1e3, 3.0)])
def test_without_a_sum_rows_may_be_multiples_of_one_another_or_have_much_in_common(C: float, common: float) -> None:
    """Neither pairs that keep their sum nor single variables with a partner do alone for both."""
    rng = np.random.default_rng(3)
    Z = np.zeros((300, 61))
    Z[np.arange(300), rng.integers(0, 60, 300)] = rng.normal(size=300)
    Z[:, 60] = common
    y = np.where(rng.random(300) < 0.5, -1.0, 1.0)
    found = []
    for X, options in ((Z @ Z.T, {"kernel": "precomputed", "solver": "block_smo"}), (Z, {"solver": "interior_point"})):
        model = SVMClassifier(C, loss="squared_hinge", fit_intercept=False, tol=1e-4, max_passes=300, **options)
        found.append(model.fit(X, y).certificate_)
    assert found[0].status is Status.CONVERGED
    np.testing.assert_allclose(found[0].primal, found[1].primal, rtol=2e-4)
