"""Dual ascent over blocks of rows: the products of rows, the optimum, and texts that other ways do not learn."""

from __future__ import annotations

import threading
import time
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from linear.problems import INTERCEPTS
from maxmargin import HardMarginSVM, SVMClassifier, SVMRegressor
from maxmargin.errors import DataError
from maxmargin.solvers import BlockAscent
from maxmargin.solvers.linear.row_products import RowProducts
from maxmargin.solvers.linear.rows import Rows
from maxmargin.status import Status

OF_CLASSES = ["hinge", "squared_hinge"]
OF_NUMBERS = ["epsilon_insensitive", "squared_epsilon_insensitive"]
EACH_INTERCEPT: dict[str, dict[str, bool]] = {
    "free": {},
    "penalized": {"penalize_intercept": True},
    "none": {"fit_intercept": False},
}


def texts(n: int, d: int, alike: int, seed: int = 0) -> sp.csr_matrix:
    """Rows of some thirty words by Zipf's law, each of them ``alike`` times with a word in twenty changed."""
    rng = np.random.default_rng(seed)
    chance = 1.0 / np.arange(1, d + 1) ** 1.1
    base = rng.choice(d, size=(n // alike, 30), p=chance / chance.sum())
    words = np.repeat(base, alike, axis=0)
    words = np.where(rng.random(words.shape) < 0.05, rng.integers(d, size=words.shape), words)
    X = sp.csr_matrix((np.ones(words.size), (np.repeat(np.arange(len(words)), 30), words.ravel())), (len(words), d))
    X.sum_duplicates()
    return normalize(X)


@pytest.mark.parametrize("kind", ["sparse", "float32", "int64", "repeated", "dense", "full"])
@pytest.mark.parametrize("plus", [0.0, 2.25])
def test_products_of_rows_are_those_of_the_matrix(kind: str, plus: float) -> None:
    rng = np.random.default_rng(0)
    full = sp.random(60, 40, density=0.15, random_state=1).toarray()
    full[7] = 0.0
    X: Any = sp.csr_matrix(full if kind != "full" else full + 1.0)
    if kind == "float32":
        X = X.astype(np.float32)
    elif kind == "int64":
        X = sp.csr_matrix((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), X.shape)
    elif kind == "repeated":  # and unsorted
        twice = np.repeat(X.indices, 2)
        X = sp.csr_matrix((np.repeat(0.5 * X.data, 2), twice, 2 * X.indptr), X.shape)
        X.indices[: X.indptr[1]] = X.indices[: X.indptr[1]][::-1]
        X.data[: X.indptr[1]] = X.data[: X.indptr[1]][::-1]
    elif kind == "dense":
        X = X.toarray()
    full = X.toarray().astype(np.float64) if sp.issparse(X) else full
    wanted = full @ full.T + plus
    products = RowProducts(Rows(X), plus, lambda: None)
    tolerance = dict(rtol=1e-12, atol=1e-14)
    for size in (1, 2, 17, 60, 60):
        rows = np.sort(rng.permutation(60)[:size])
        slots = products.fetch(rows)
        block = np.full((size + 1, size + 1), 9.0)
        products.fill_block(rows, slots, block)
        assert (block[-1] == 9.0).all()
        assert (block[:, -1] == 9.0).all()
        np.testing.assert_allclose(block[:-1, :-1], wanted[np.ix_(rows, rows)], **tolerance)
        np.testing.assert_allclose(products.diagonal(rows, slots), wanted[rows, rows], **tolerance)
        steps, sums = rng.normal(size=size), rng.normal(size=60)
        moved = sums.copy()
        products.add(rows, slots, steps, moved)
        np.testing.assert_allclose(moved, sums + wanted[:, rows] @ steps, rtol=1e-11, atol=1e-12)
    beta = rng.normal(size=60)
    np.testing.assert_allclose(products.combined(beta), wanted @ beta, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("intercept", EACH_INTERCEPT)
@pytest.mark.parametrize("loss", OF_CLASSES + OF_NUMBERS)
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3, 1e6])
def test_the_optimum_is_that_of_the_interior_point_method(loss: str, intercept: str, C: float) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 100)) + 1.0
    values = X[:, 0] - X[:, 1] + rng.normal(size=90)
    kind: Any = SVMClassifier if loss in OF_CLASSES else SVMRegressor
    y = np.sign(values) if loss in OF_CLASSES else values
    tol = 1e-8 if C <= 1e3 else 1e-6  # beyond that rounding of the scores is seen
    options: dict[str, Any] = {"C": C, "loss": loss, "tol": tol, "random_state": 0} | EACH_INTERCEPT[intercept]
    mine, other = (kind(solver=solver, **options).fit(X, y) for solver in (BlockAscent(block=30), "interior_point"))
    assert mine.solver_ == "block_ascent"
    assert mine.certificate_.status.ok
    np.testing.assert_allclose(mine.certificate_.primal, other.certificate_.primal, rtol=2.0 * tol)
    np.testing.assert_allclose(mine.coef_, other.coef_, rtol=1e-3, atol=1e-3 * np.abs(other.coef_).max())


@pytest.mark.parametrize("intercept", EACH_INTERCEPT)
@pytest.mark.parametrize("loss", OF_CLASSES)
@pytest.mark.parametrize("C", [1e4, 1e6, 1e8])
def test_texts_that_are_nearly_equal_are_learnt_whatever_C(loss: str, intercept: str, C: float) -> None:
    """Coordinate ascent and Newton's method alone end at the limit of passes."""
    X = texts(1200, 9000, 8)
    y = np.random.default_rng(9).choice([-1, 1], X.shape[0])
    found = SVMClassifier(C, loss=loss, random_state=0, **EACH_INTERCEPT[intercept]).fit(X, y)
    assert found.certificate_.status is Status.CONVERGED
    assert found.certificate_.relative_gap <= 1e-3
    assert found.certificate_.passes < 10_000


@pytest.mark.parametrize("loss", OF_NUMBERS)
def test_so_are_numbers(loss: str) -> None:
    X = texts(800, 9000, 2)
    y = np.random.default_rng(9).normal(size=X.shape[0])
    found = SVMRegressor(1e4, loss=loss, random_state=0).fit(X, y).certificate_
    assert found.status is Status.CONVERGED
    assert found.passes < 10_000


def test_a_pass_limit_is_kept_and_leaves_the_best_so_far() -> None:
    X = texts(1200, 9000, 8)
    y = np.random.default_rng(9).choice([-1, 1], X.shape[0])
    before = np.inf
    for limit in (2, 3, 5, 9, 30):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = SVMClassifier(1e4, solver="block_ascent", max_passes=limit).fit(X, y)
        assert model.certificate_.passes <= limit
        assert model.certificate_.primal <= before * (1.0 + 1e-12)
        before = model.certificate_.primal


def test_the_limit_of_passes_is_shared() -> None:
    X = texts(800, 6000, 8)
    y = np.random.default_rng(9).choice([-1, 1], X.shape[0])
    model = SVMClassifier(1e3, max_passes=1000, random_state=0).fit(X, y)
    assert model.certificate_.status is Status.CONVERGED
    assert model.solver_ == "block_ascent"


def test_a_warm_start_goes_on_with_what_the_fit_before_ended_with() -> None:
    X = texts(800, 6000, 8)
    y = np.random.default_rng(9).choice([-1, 1], X.shape[0])
    model = SVMClassifier(1e3, warm_start=True, random_state=0).fit(X, y)
    assert model.solver_ == "block_ascent"
    model.set_params(C=1.1e3).fit(X, y)
    assert model.solver_ in ("block_ascent", "active_set")
    assert model.certificate_.passes < 100
    assert "its passes are cheap" not in model.solver_reason_


def test_what_newtons_method_has_found_is_not_lost() -> None:
    """Of features of scales sixteen orders apart block ascent finds nothing in a hundred passes."""
    scales = 10.0 ** np.random.default_rng(7).uniform(-8, 8, 4100)
    X = (texts(600, 4100, 2, 3) @ sp.diags(scales)).tocsr()
    y = np.random.default_rng(1).normal(size=600)
    options: dict[str, Any] = {"loss": "squared_epsilon_insensitive", "epsilon": 0.0, "max_passes": 1500}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SVMRegressor(1.0, random_state=0, **options).fit(X, y)
        newton = SVMRegressor(1.0, solver="newton", **options).fit(X, y)
    assert model.certificate_.primal <= 1.1 * newton.certificate_.primal


def test_the_clock_is_looked_at_within_a_step() -> None:
    """Two equal rows that contradict each other, where a pair gains next to nothing each time."""
    X = sp.csr_matrix(np.full((2, 4100), 2e4))
    SVMClassifier(1e9, loss="squared_hinge", solver="block_ascent", max_passes=3).fit(X, [1, -1])
    began = time.perf_counter()
    model = SVMClassifier(1e9, loss="squared_hinge", solver="block_ascent", max_time=0.3).fit(X, [1, -1])
    assert model.certificate_.status is Status.TIME_LIMIT
    assert time.perf_counter() - began < 3.0


def test_the_same_data_give_the_same_model() -> None:
    X = texts(600, 9000, 4)
    y = np.random.default_rng(2).choice([-1, 1], X.shape[0])
    found: list[np.ndarray] = []

    def fit() -> None:
        found.append(SVMClassifier(1e4, solver="block_ascent").fit(X, y).coef_)

    threads = [threading.Thread(target=fit) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    fit()
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()


def test_a_row_k_times_and_a_weight_of_k_are_the_same() -> None:
    X = texts(300, 9000, 3)
    y = np.random.default_rng(2).choice([-1, 1], X.shape[0])
    count = np.random.default_rng(3).integers(0, 4, X.shape[0])
    one = SVMClassifier(10.0, solver="block_ascent", tol=1e-9).fit(X, y, sample_weight=count)
    other = SVMClassifier(10.0, solver="block_ascent", tol=1e-9).fit(
        X[np.repeat(np.arange(len(y)), count)], np.repeat(y, count)
    )
    np.testing.assert_allclose(one.certificate_.primal, other.certificate_.primal, rtol=1e-8)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-4 * np.abs(other.coef_).max())


def test_hard_margins_too() -> None:
    X = texts(100, 9000, 1)
    y = np.random.default_rng(2).choice([-1, 1], X.shape[0])
    mine = HardMarginSVM(solver="block_ascent", tol=1e-6).fit(X, y)
    other = HardMarginSVM(tol=1e-6).fit(X, y)
    np.testing.assert_allclose(mine.certificate_.primal, other.certificate_.primal, rtol=2e-6)


def test_who_has_none_says_so() -> None:
    X, y = texts(60, 300, 2), np.tile([0, 1], 30)
    with pytest.raises(DataError, match=r"SVMClassifier: block_ascent is for the hinge loss.*not for Logistic"):
        SVMClassifier(loss="logistic", solver="block_ascent").fit(X, y)
    for model in (SVMClassifier(kernel="rbf", solver="block_ascent"), SVMClassifier(nu=0.3, solver="block_ascent")):
        with pytest.raises(ValueError, match="'block_ascent' is not for"):
            model.fit(X, y)
    with pytest.raises(ValueError, match="block"):
        BlockAscent(block=1)
    assert set(EACH_INTERCEPT) == set(INTERCEPTS)


def test_newtons_method_is_not_starved() -> None:
    """Block ascent finds little of features of unlike scales, and its passes are dear."""
    X = texts(1500, 5000, 1, 4)
    X = (X @ sp.diags(np.exp(3.0 * np.random.default_rng(5).normal(size=5000)))).tocsr()
    y = np.random.default_rng(6).normal(size=X.shape[0])
    model = SVMRegressor(1.0, loss="squared_epsilon_insensitive", random_state=0).fit(X, y)
    assert model.certificate_.status is Status.CONVERGED
