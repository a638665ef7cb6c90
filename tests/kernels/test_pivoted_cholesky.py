"""The factor with pivots: products, ranks, the order of rows, and the same bits whatever the number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg.lapack import dpstrf

from maxmargin.kernels import make_kernel
from maxmargin.solvers.kernel import pivoted_cholesky as module
from maxmargin.solvers.kernel.factor import factor_of
from maxmargin.solvers.kernel.pivoted_cholesky import pivoted_cholesky


def matrix(kind: str, n: int) -> Any:
    rng = np.random.default_rng(n)
    if kind == "rbf":
        X = rng.normal(size=(n, 3))
        return make_kernel("rbf", X, gamma=0.3).block(X, X)
    if kind == "low rank":
        A = rng.normal(size=(n, 7))
        return A @ A.T
    if kind == "repeated":
        A = np.repeat(rng.normal(size=(-(-n // 3), n)), 3, axis=0)[:n]
        return A @ A.T
    if kind == "scales":
        A = rng.normal(size=(n, n)) * np.logspace(-6, 3, n)[:, None]
        return A @ A.T
    return np.diag(rng.random(n))


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 130, 300])
@pytest.mark.parametrize("kind", ["rbf", "low rank", "repeated", "scales", "diagonal"])
def test_the_factor_is_one_of_about_the_rank(kind: str, n: int) -> None:
    K = matrix(kind, n)
    L = pivoted_cholesky(K)
    assert np.abs(L @ L.T - K).max() <= 1e-12 * np.abs(K).max()
    rank = dpstrf(K, lower=1)[2]
    assert abs(L.shape[1] - rank) <= 0.05 * rank
    if kind == "low rank":
        assert L.shape[1] == min(n, 7)
    found = factor_of(K)
    assert found is not None
    assert np.array_equal(found, L)


@pytest.mark.parametrize("scale", [1e-250, 1e250])
def test_any_scale(scale: float) -> None:
    K = matrix("rbf", 150)
    np.testing.assert_allclose(pivoted_cholesky(scale * K) / np.sqrt(scale), pivoted_cholesky(K), atol=1e-6)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("n", [5, 80, 400])
def test_what_is_not_positive_semi_definite_has_none(n: int, size: float) -> None:
    rng = np.random.default_rng(0)
    K = matrix("rbf", n)
    v = rng.normal(size=n)
    v /= np.linalg.norm(v)
    assert factor_of(size * (K - 2.0 * float(v @ K @ v) * np.outer(v, v))) is None
    swapped = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert factor_of(size * swapped) is None
    assert factor_of(-size * K) is None
    assert factor_of(np.zeros((n, n))) is not None


def test_threads_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    K = matrix("rbf", 700)
    monkeypatch.setattr(module, "_ROWS", 100)
    monkeypatch.setattr(module, "_MANY", 0)
    answers = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(module, "as_many_as_blas", lambda threads=threads: threads)
        answers.append(pivoted_cholesky(K).tobytes())
    assert answers[0] == answers[1] == answers[2]
