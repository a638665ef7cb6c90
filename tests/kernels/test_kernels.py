"""Kernel functions against scikit-learn's, against their definitions, and far from the origin."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import pairwise

from maxmargin import HardMarginSVM, OneClassSVM, SVMClassifier, SVMRegressor
from maxmargin.errors import DataError
from maxmargin.kernels import Kernel, check_symmetric, is_zero, make_kernel

OPTIONS: dict[str, dict[str, Any]] = {
    "linear": {},
    "poly": {"gamma": 0.3, "coef0": 1.5, "degree": 3},
    "rbf": {"gamma": 0.2},
    "sigmoid": {"gamma": 0.1, "coef0": -0.5},
    "cosine": {},
}
REFERENCE = {
    "linear": pairwise.linear_kernel,
    "poly": pairwise.polynomial_kernel,
    "rbf": pairwise.rbf_kernel,
    "sigmoid": pairwise.sigmoid_kernel,
    "cosine": pairwise.cosine_similarity,
}


def points(n: int, d: int, seed: int, density: float = 1.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    X[n // 2] = 0.0
    return X


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("density", [1.0, 0.4, 0.03])
@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-12), (np.float32, 2e-5)])
def test_values_are_those_of_scikit_learn(name: str, density: float, dtype: type, tol: float) -> None:
    X, Z = points(330, 40, 0, density), points(270, 40, 1, density)
    expected = REFERENCE[name](Z, X, **OPTIONS[name])
    scale = max(1.0, float(np.abs(expected).max()))
    for training in (X, sp.csr_matrix(X), np.asfortranarray(X)):
        kernel = make_kernel(name, training, **OPTIONS[name])
        for test in (Z, sp.csr_matrix(Z)):
            found = kernel.block(test, training, dtype)
            assert found.dtype == dtype
            np.testing.assert_allclose(found, expected, rtol=0, atol=tol * scale)


@pytest.mark.parametrize("name", OPTIONS)
def test_entries_of_one_place_add_up(name: str) -> None:
    X = points(60, 40, 0, 0.03)
    whole = sp.csr_matrix(X)
    row, column = (np.concatenate([place, place[::-1]]) for place in whole.nonzero())
    halves = sp.coo_matrix((np.concatenate([0.25 * whole.data, 0.75 * whole.data[::-1]]), (row, column)), X.shape)
    order = np.argsort(row, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=60))])
    twice = sp.csr_matrix((halves.data[order], column[order], indptr), X.shape)
    assert twice.nnz == 2 * whole.nnz
    kept = twice.data.copy()
    np.testing.assert_allclose(
        make_kernel(name, twice, **OPTIONS[name]).block(twice, twice),
        make_kernel(name, X, **OPTIONS[name]).block(X, X),
        rtol=0, atol=1e-12,
    )  # fmt: skip
    np.testing.assert_array_equal(twice.data, kept)


def test_many_points_are_taken_in_blocks() -> None:
    """More rows and more points than a block has."""
    X, Z = points(9000, 3, 0), points(600, 3, 1)
    kernel = make_kernel("rbf", X, gamma=0.7)
    expected = pairwise.rbf_kernel(Z, X, gamma=0.7)
    np.testing.assert_allclose(kernel.block(Z, X), expected, rtol=0, atol=1e-13)
    beta = np.random.default_rng(2).normal(size=9000)
    beta[::2] = 0.0
    np.testing.assert_allclose(kernel.combined(Z, X, beta), expected @ beta, rtol=0, atol=1e-10)
    several = np.column_stack([beta, np.roll(beta, 1)])
    np.testing.assert_allclose(kernel.combined(Z, X, several), expected @ several, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ["poly", "rbf", "precomputed", "callable"])
def test_a_constant_is_added_to_every_value(name: str) -> None:
    X = points(9, 3, 0)
    given = X @ X.T if name == "precomputed" else X
    what = pairwise.linear_kernel if name == "callable" else name
    plain, raised = make_kernel(what, given), make_kernel(what, given, plus=2.5)
    np.testing.assert_allclose(raised.block(given, given), plain.block(given, given) + 2.5, rtol=1e-14)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_rows_that_count_twice_count_twice_in_the_variance(kind: Any) -> None:
    X = points(30, 4, 3, 0.5)
    counts = np.arange(30) % 4
    repeated = make_kernel("rbf", np.repeat(X, counts, axis=0)).gamma
    assert make_kernel("rbf", kind(X), weight=counts.astype(float)).gamma == pytest.approx(repeated, rel=1e-12)


@pytest.mark.parametrize("degree", range(8))
def test_every_degree(degree: int) -> None:
    X = points(20, 4, degree)
    kernel = make_kernel("poly", X, gamma=0.5, coef0=-0.3, degree=degree)
    np.testing.assert_allclose(kernel.block(X, X), (0.5 * X @ X.T - 0.3) ** degree, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("density", [1.0, 0.05])
def test_gamma_by_its_name(sparse: bool, density: float) -> None:
    X = points(200, 30, 3, density) + (2.0 if density == 1.0 else 0.0)
    given = sp.csr_matrix(X) if sparse else X
    assert make_kernel("rbf", given).gamma == pytest.approx(1.0 / (30 * X.var()), rel=1e-12)
    assert make_kernel("rbf", given, gamma="auto").gamma == 1.0 / 30
    assert make_kernel("rbf", np.ones((4, 3))).gamma == 1.0


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_far_from_the_origin(sparse: bool, dtype: type) -> None:
    X = np.array([[10000.0, 5.0], [10001.0, 5.0], [10000.5, 5.5], [10003.0, 4.0]], np.float32)
    exact = np.exp(-((X[:, None].astype(float) - X[None].astype(float)) ** 2).sum(-1))
    given = sp.csr_matrix(X) if sparse else X
    K = make_kernel("rbf", given, gamma=1.0).block(given, given, dtype)
    np.testing.assert_allclose(K, exact, rtol=0, atol=1e-13 if dtype == np.float64 else 1e-5)
    assert K.max() <= 1.0


@pytest.mark.parametrize("name", ["rbf", "poly", "sigmoid", "cosine"])
@pytest.mark.parametrize("size", [1.0, 1000.0])
def test_few_float32_entries_lose_nothing(name: str, size: float) -> None:
    rng = np.random.default_rng(0)
    X = np.zeros((60, 400), np.float32)
    X[:, :24] = size * (1.0 + 0.001 * rng.normal(size=(60, 24)))
    given = sp.csr_matrix(X)
    kernel = make_kernel(name, given, gamma=0.05 * size**-2, coef0=1.0)
    exact = make_kernel(name, X.astype(float), gamma=0.05 * size**-2, coef0=1.0)
    np.testing.assert_allclose(
        kernel.block(given, given), exact.block(X.astype(float), X.astype(float)), rtol=1e-12, atol=0
    )


def test_a_function_is_not_asked_for_no_points() -> None:
    def function(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        assert len(A)
        assert len(B)
        return A @ B.T

    X = points(7, 2, 0)
    kernel = make_kernel(function, X)
    assert not kernel.combined(X, X, np.zeros(7)).any()
    assert kernel.combined(X, X, np.zeros((7, 3))).shape == (7, 3)
    model = SVMRegressor(kernel=function).fit(X, np.ones(7))
    np.testing.assert_allclose(model.predict(X), 1.0, atol=0.11)


def test_a_precomputed_kernel_is_checked() -> None:
    X, T = points(6, 2, 0), points(3, 2, 1)
    K = X @ X.T
    kernel = make_kernel("precomputed", K)
    np.testing.assert_array_equal(kernel.block(T @ X.T, K), T @ X.T)
    beta = np.array([0.0, 1.0, -2.0, 0.0, 3.0, 1.0])
    np.testing.assert_allclose(kernel.combined(T @ X.T, K, beta), T @ (X.T @ beta), atol=1e-13)
    with pytest.raises(DataError, match=r"expected shape \(3, 6\), seen \(3, 3\); rows are test points"):
        kernel.block(T @ T.T, K)
    with pytest.raises(DataError, match=r"must be square.*expected shape \(6, 6\), seen \(6, 5\)"):
        make_kernel("precomputed", K[:, :5])
    K[4, 1] += 1.0
    with pytest.raises(DataError, match="not symmetric"):
        make_kernel("precomputed", K)


def test_ones_own_function() -> None:
    X, Z = points(300, 3, 0), points(290, 3, 1)
    kernel = make_kernel(pairwise.laplacian_kernel, X)
    np.testing.assert_array_equal(kernel.block(Z, X), pairwise.laplacian_kernel(Z, X))
    with pytest.raises(DataError, match=r"shape \(34, 300\).*not \(300, 34\)"):
        make_kernel(lambda A, B: B @ A.T, X).block(Z[:34], X)
    with pytest.raises(DataError, match="not finite"):
        make_kernel(lambda A, B: A @ B.T * np.nan, X).block(Z, X)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("gauss", {}, "kernel must be one of linear, poly"),
        ("rbf", {"gamma": "large"}, "gamma must be"),
        ("rbf", {"gamma": 0.0}, "gamma must be"),
        ("rbf", {"gamma": None}, "gamma must be .*, not None"),
        ("rbf", {"gamma": True}, "gamma must be .*, not True"),
        pytest.param("rbf", {"gamma": 10**400}, "gamma must be", id="huge"),
        ("poly", {"degree": True}, "degree must be an integer of at least 0, not True"),
        ("poly", {"coef0": None}, "coef0 must be a finite number, not None"),
        ("poly", {"coef0": 10**400}, "coef0 must be a finite number"),
        ("poly", {"coef0": False}, "coef0 must be a finite number, not False"),
        ("poly", {"gamma": np.nan}, "gamma must be"),
        ("poly", {"degree": 2.5}, "degree must be an integer"),
        ("sigmoid", {"coef0": np.inf}, "coef0 must be"),
    ],
)
def test_wrong_parameters(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make_kernel(name, points(4, 2, 0), **options)


def test_wrong_numbers_of_columns() -> None:
    X = points(4, 3, 0)
    with pytest.raises(DataError, match="X has 2 columns, but the training points have 3"):
        make_kernel("rbf", X).block(X[:, :2], X)
    with pytest.raises(DataError, match=r"array of shape \(3,\)"):
        make_kernel("linear", X).block(X[0], X)


def test_which_kernels_are_definite() -> None:
    assert Kernel("rbf").definite
    assert Kernel("poly", coef0=1.0).definite
    assert not Kernel("poly", coef0=-1.0).definite
    assert not Kernel("sigmoid").definite


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("power", [-149, -20, 90])
def test_the_variance_of_features_of_any_size(kind: Any, power: int) -> None:
    """Squares of small features leave the range of numbers long before their variance does."""
    X = points(60, 4, 1, 0.2)
    kernel = make_kernel("rbf", kind(X * 10.0**power))
    assert kernel.gamma == pytest.approx(make_kernel("rbf", kind(X)).gamma * 10.0 ** (-2 * power), rel=1e-12)
    values = kernel.block(kind(X * 10.0**power), kind(X * 10.0**power))
    np.testing.assert_allclose(values, make_kernel("rbf", X).block(X, X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("name", ["rbf", "sigmoid", "poly"])
@pytest.mark.parametrize("size", [1e-160, 1e-170, 1e-300])
def test_a_gamma_that_is_no_number_is_refused(kind: Any, name: str, size: float) -> None:
    with pytest.raises(DataError, match="gamma=inf: too large to compute with .*; scale X up, or give a smaller gamma"):
        make_kernel(name, kind(size * points(60, 4, 1, 0.2)))
    with pytest.raises(DataError, match=r"gamma=1e\+308: too large to compute with .*or give a smaller gamma"):
        make_kernel(name, kind(points(60, 4, 1, 0.2)), gamma=1e308)


@pytest.mark.parametrize("density", [1.0, 0.05])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_exponents_that_are_no_numbers_are_refused(kind: Any, density: float) -> None:
    """Up to the limit values are 0 and 1; above it their parts would be infinite."""
    X = kind(1e50 * points(60, 4, 1, density))
    values = make_kernel("rbf", X, gamma=1e197).block(X, X)
    assert np.isfinite(values).all()
    with pytest.raises(DataError, match="gamma=1e.200 times the largest squared .*; scale X down, or give a smaller"):
        make_kernel("rbf", X, gamma=1e200)
    with pytest.raises(DataError, match="gamma=1e.200 times the largest squared length of a row"):
        make_kernel("sigmoid", X, gamma=1e200)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("size", [1e-310, 1e-170, 1e160, 1e300])
def test_the_cosine_of_rows_of_any_size(kind: Any, size: float) -> None:
    X = points(30, 5, 2, 0.3)
    large = kind(size * X)
    found = make_kernel("cosine", large).block(large, kind(X))
    np.testing.assert_allclose(found, pairwise.cosine_similarity(X), rtol=0, atol=1e-12 if size > 1e-300 else 1e-4)


TURN = np.array([[1.0, 1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


@pytest.mark.parametrize("machine", [SVMClassifier, HardMarginSVM, SVMRegressor, OneClassSVM])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_a_function_that_is_not_symmetric_is_refused(machine: Any, kind: Any) -> None:
    X = points(60, 3, 0)

    def odd(A: Any, B: Any) -> Any:
        return A @ TURN @ B.T

    with pytest.raises(DataError, match="^the kernel function is not symmetric: of rows ") as caught:
        machine(kernel=odd).fit(kind(X), np.arange(60) % 2)
    found = re.search(r"rows (\d+) and (\d+) it is (\S+), and of rows (\d+) and (\d+) it is (\S+);", str(caught.value))
    assert found
    a, b = int(found[1]), int(found[2])
    assert (int(found[4]), int(found[5])) == (b, a)
    assert float(found[3]) == pytest.approx(X[a] @ TURN @ X[b], rel=1e-4)
    assert float(found[6]) == pytest.approx(X[b] @ TURN @ X[a], rel=1e-4)


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_rounding_is_no_asymmetry(size: float) -> None:
    X = points(100, 3, 0)
    noise = np.random.default_rng(0)

    def rounded(A: Any, B: Any) -> Any:
        values = pairwise.rbf_kernel(A, B)
        return size * (values + 1e-7 * noise.normal(size=values.shape))

    check_symmetric(rounded, X)
    check_symmetric(lambda A, B: np.zeros((len(A), len(B))), X)


def test_whether_a_kernel_is_0_between_all_rows() -> None:
    X = np.zeros((5000, 2))
    assert is_zero(make_kernel("linear", X), X)
    assert not is_zero(make_kernel("rbf", X), X)
    X[4321, 1] = 1.0  # in no sample
    assert not is_zero(make_kernel("linear", X), X)
    K = np.zeros((100, 100))
    assert is_zero(make_kernel("precomputed", K), K)
    K[3, 3] = 1.0
    assert not is_zero(make_kernel("precomputed", K), K)


@pytest.mark.parametrize("offset", [1e5, 1e6, 1e8])
@pytest.mark.parametrize("sparse", [False, True])
def test_distances_within_groups_that_are_far_apart(offset: float, sparse: bool) -> None:
    """Expanded squares had lost them: fits called themselves converged at objectives of another matrix."""
    r = np.random.default_rng(0)
    rows = r.normal(size=(60, 2))
    rows[:30, 0] += offset
    wide = rows.astype(np.longdouble)
    exact = np.exp(-((wide[:, None] - wide[None]) ** 2).sum(2)).astype(np.float64)
    points: Any = sp.csr_array(rows) if sparse else rows
    found = make_kernel("rbf", points, gamma=1.0).block(points, points)
    np.testing.assert_allclose(found, exact, atol=1e-8)
    some = make_kernel("rbf", points, gamma=1.0).combined(points[:7], points, np.ones(60))
    np.testing.assert_allclose(some, exact[:7].sum(1), atol=1e-7)
    y = np.where(r.normal(size=60) + rows[:, 1] > 0.0, 1, -1)
    machine = SVMClassifier(100.0, kernel="rbf", gamma=1.0, random_state=0, tol=1e-6).fit(points, y)
    other = SVMClassifier(100.0, kernel="precomputed", random_state=0, tol=1e-6).fit(exact, y)
    assert machine.certificate_.primal == pytest.approx(other.certificate_.primal, rel=1e-5)
