"""Products in pieces, and work in threads that comes back in order."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from maxmargin._products import Panels, weighted_sums
from maxmargin._threads import as_many_as_blas, in_order
from maxmargin.kernels import Kernel, make_kernel


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 3, 64, 128, 129, 256, 257, 700])
@pytest.mark.parametrize(("m", "n"), [(1, 1), (5, 0), (0, 5), (31, 63), (32, 64), (33, 65), (100, 300)])
def test_the_pieces_are_the_product(m: int, n: int, d: int, dtype: type) -> None:
    rng = np.random.default_rng(0)
    left, points = rng.normal(size=(m, d)).astype(dtype), rng.normal(size=(n, d)).astype(dtype)
    kept = np.full((m, n + 5), 7.0, dtype)
    Panels(points).product(left, kept[:, 2 : n + 2])
    np.testing.assert_allclose(
        kept[:, 2 : n + 2], left.astype(float) @ points.T, rtol=0, atol=np.finfo(dtype).eps * 9 * d
    )
    assert (kept[:, :2] == 7.0).all()
    assert (kept[:, n + 2 :] == 7.0).all()


@pytest.mark.parametrize("shape", [(300,), (300, 1), (300, 7), (300, 5000)])
def test_weighted_sums(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    values, weights = rng.normal(size=(200, 300)), rng.normal(size=shape)
    np.testing.assert_allclose(weighted_sums(values, weights), values @ weights, rtol=0, atol=1e-11)


@pytest.mark.parametrize("d", [20, 200, 600])
def test_a_row_has_the_same_values_whatever_the_number_of_threads(d: int) -> None:
    X = np.random.default_rng(0).normal(size=(5000, d))
    X[:, 3] *= 1e3
    found = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads, "blas"):
            assert as_many_as_blas() == threads
            kernel = make_kernel("rbf", X, gamma=1e-6)
            values = kernel.columns(X, np.float32).rows(X[:1500])
            found.append((values, kernel.combined(X[:1500], X, X[:, 0]), kernel.combined(X[:1500], X, X[:, :9])))
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_two_threads_share_the_rows_of_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    names = set()
    values = Kernel.of_products

    def watched(self: Kernel, products: np.ndarray) -> np.ndarray:
        names.add(threading.current_thread().name)
        time.sleep(0.01)
        return values(self, products)

    monkeypatch.setattr(Kernel, "of_products", watched)
    X = np.random.default_rng(0).normal(size=(3000, 4))
    with threadpool_limits(2, "blas"):
        make_kernel("rbf", X).columns(X).rows(X)
        assert len(names) == 2
        names.clear()
        make_kernel("rbf", X[:9]).columns(X[:9]).rows(X[:9])
    assert names == {threading.main_thread().name}


def test_a_function_of_the_users_is_called_by_one_thread_only() -> None:
    names = set()

    def function(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        names.add(threading.current_thread().name)
        return A @ B.T

    X = np.random.default_rng(0).normal(size=(3000, 4))
    with threadpool_limits(2, "blas"):
        make_kernel(function, X).columns(X).rows(X)
    assert names == {threading.main_thread().name}


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_order_and_few_wait(threads: int) -> None:
    asked: list[int] = []

    def items():  # type: ignore[no-untyped-def]
        for k in range(30):
            asked.append(k)
            yield k

    def run(k: int) -> int:
        time.sleep(0.001 * (k % 3))
        return k * k

    found = []
    for value in in_order(run, items(), threads):
        found.append(value)
        assert len(asked) - len(found) <= 2 * threads
    assert found == [k * k for k in range(30)]


@pytest.mark.parametrize("threads", [1, 2])
def test_an_exception_ends_the_rest(threads: int) -> None:
    begun = []

    def run(k: int) -> int:
        begun.append(k)
        if k == 3:
            raise ValueError("three")
        return k

    with pytest.raises(ValueError, match="three"):
        list(in_order(run, range(1000), threads))
    assert len(begun) < 20


def test_what_is_left_is_not_begun_when_nobody_wants_it() -> None:
    begun = []
    results = in_order(begun.append, range(1000), 2)
    next(results)
    results.close()
    assert len(begun) < 20
    assert not [t for t in threading.enumerate() if t.name.startswith("ThreadPoolExecutor")]
