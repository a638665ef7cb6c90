"""The Cholesky factor in tiles, and the system that it solves."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin import _products
from maxmargin.solvers.linear.cholesky import TILE, factor, solve
from maxmargin.solvers.linear.normal_equations import solver_of

SIZES = [1, 2, 63, 64, 65, 128, 200]


def definite(d: int) -> np.ndarray:
    A = np.random.default_rng(d).normal(size=(d + 3, d))
    return A.T @ A + 0.1 * np.eye(d)


def whole(tiles: np.ndarray, d: int) -> np.ndarray:
    """``L`` of its tiles."""
    count = -(-d // TILE)
    out = np.zeros((count * TILE, count * TILE))
    for i in range(count):
        for j in range(i + 1):
            out[i * TILE : (i + 1) * TILE, j * TILE : (j + 1) * TILE] = tiles[i * (i + 1) // 2 + j]
    return out[:d, :d]


@pytest.mark.parametrize("shift", [0.0, 0.5])
@pytest.mark.parametrize("d", SIZES)
def test_it_is_the_factor(d: int, shift: float) -> None:
    matrix = definite(d)
    tiles = factor(matrix, shift)
    assert tiles is not None
    assert whole(tiles, d) == pytest.approx(np.linalg.cholesky(matrix + shift * np.eye(d)), rel=1e-9, abs=1e-11)
    b = np.random.default_rng(0).normal(size=d)
    given = b.copy()
    assert (matrix + shift * np.eye(d)) @ solve(tiles, b) == pytest.approx(b, abs=1e-9)
    assert (b == given).all()


def test_the_lower_triangle_is_read() -> None:
    matrix = definite(100)
    lower = np.tril(matrix) + np.triu(np.full((100, 100), np.nan), 1)
    first, second = factor(matrix), factor(lower)
    assert first is not None
    assert second is not None
    assert (first == second).all()


@pytest.mark.parametrize("d", SIZES)
def test_what_is_not_definite_has_none(d: int) -> None:
    for k in {0, d // 2, d - 1}:
        matrix = definite(d)
        matrix[k, k] = -1.0
        assert factor(matrix) is None
        matrix[k, k] = np.nan
        assert factor(matrix) is None


@pytest.mark.parametrize("d", [3, 64, 65, 150])
def test_the_system_of_a_step(d: int) -> None:
    """Of very different scales, and of rank one less than full."""
    rng = np.random.default_rng(d)
    scale = 10.0 ** rng.uniform(-6, 6, d)
    A = rng.normal(size=(d - 1, d))
    matrix = A.T @ A * scale * scale[:, None]
    ridge = 1e-3 * scale**2
    b = scale * rng.normal(size=d)
    x = solver_of(matrix.copy(), ridge)(b)
    assert (matrix @ x + ridge * x) / scale == pytest.approx(b / scale, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("d", [2, 70])
def test_a_matrix_that_rounding_spoilt_is_made_definite(d: int) -> None:
    matrix = np.ones((d, d))
    x = solver_of(matrix, np.zeros(d))(np.ones(d))
    assert x.sum() == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("d", [3, 64, 65, 150])
def test_numbers_that_are_none_end_at_once(d: int) -> None:
    """A diverged run is seen by its weights; raising the diagonal for ever would not help."""
    matrix = definite(d)
    matrix[d // 2, d // 2] = np.nan
    assert np.isnan(solver_of(matrix, np.zeros(d))(np.ones(d))).any()


def test_no_library_divides_a_product_of_tiles() -> None:
    assert TILE**3 <= _products._PIECE
