"""Which solver the automatic choice of kernel machines ends with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification

from maxmargin import SVMClassifier, SVMRegressor


def noise(n: int, d: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, d)), rng.integers(0, 2, n)


def scaled(n: int) -> tuple[Any, Any]:
    X, y = make_classification(n, 20, flip_y=0.1, random_state=0)
    return (X - X.mean(0)) / X.std(0), y


@pytest.mark.parametrize(
    ("data", "C", "gamma"),
    [
        (scaled(2000), 1e5, "scale"),
        (noise(1000, 20), 1e5, "scale"),
        (noise(1000, 20), 1e6, 0.01),
        (noise(2000, 20), 1e3, 10.0),  # the gap rises in the fourth pass
    ],
)
def test_a_large_gap_beside_a_dual_that_hardly_rises_is_no_standstill(data: Any, C: float, gamma: Any) -> None:
    """With a large ``C`` the objective is nearly all gap until a few passes before the end, 12 or 13 here."""
    model = SVMClassifier(C, kernel="rbf", gamma=gamma).fit(*data)
    assert model.solver_ == "block_smo"
    assert model.certificate_.passes <= 15
    assert model.certificate_.relative_gap <= model.tol


def test_a_regressor_stays_too() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 10))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(1000)
    model = SVMRegressor(1e3, kernel="rbf").fit(X, y)
    assert (model.solver_, model.certificate_.passes <= 15) == ("block_smo", True)


@pytest.mark.parametrize(("n", "d", "C"), [(1000, 3, 1e6), (300, 4, 1e5)])
def test_where_pairs_take_for_ever_block_smo_is_left(n: int, d: int, C: float) -> None:
    """Alone it takes 370 passes of the first; the second has so few points that a block can cost as much as all."""
    model = SVMClassifier(C, kernel="rbf").fit(*noise(n, d))
    assert model.solver_ == "interior_point"
    assert model.certificate_.passes <= 40
