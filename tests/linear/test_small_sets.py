"""Few rows, small C, unscaled features: where a free intercept or a large C brought the passes to a standstill."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maxmargin import MulticlassSVM, SVMClassifier, SVMRegressor


def problem(seed: int, kind: str) -> tuple[Any, float, np.random.Generator]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 12)) if seed % 2 else int(rng.integers(20, 200))
    d = int(rng.integers(1, 6))
    if kind == "integers":
        X = rng.integers(-2, 3, (n, d)).astype(float)
    elif kind == "signs":
        X = rng.integers(-1, 2, (n, d)).astype(float)
    elif kind == "wide":
        X = 1.0 * (rng.random((n, 1000)) < 0.01)
    else:
        X = rng.standard_normal((n, d))
    return X, 10.0 ** rng.uniform(-2.0, 1.0), rng


def classes(X: Any, rng: np.random.Generator) -> Any:
    y = np.where(X[:, 0] + rng.standard_normal(len(X)) > 0.0, 1, 0)
    y[0] = 1 - y[1]
    return y


def test_the_smallest_set_that_stood_still() -> None:
    X, y = np.array([[-2.0, 2.0], [2.0, 0.0], [1.0, -2.0], [2.0, -1.0]]), [0, 1, 1, 1]
    for solver in ("auto", "coordinate_ascent"):
        model = SVMClassifier(C=0.05, solver=solver, tol=1e-6, random_state=0).fit(X, y)
        assert model.certificate_.status.ok
        assert model.certificate_.primal == pytest.approx(0.075, rel=1e-5)
        np.testing.assert_allclose(model.coef_, [[0.2, -0.1]], atol=1e-3)


@pytest.mark.parametrize("solver", ["auto", "coordinate_ascent"])
@pytest.mark.parametrize("kind", ["integers", "normal", "wide"])
def test_classifiers_converge_with_a_free_intercept(kind: str, solver: str) -> None:
    for seed in range(150):
        X, C, rng = problem(seed, kind)
        model = SVMClassifier(C=C, solver=solver, random_state=0).fit(X, classes(X, rng))
        assert model.certificate_.status.ok, seed
        assert model.certificate_.relative_gap <= 1e-3


@pytest.mark.parametrize("solver", ["auto", "coordinate_ascent"])
def test_regressors_converge_with_a_free_intercept(solver: str) -> None:
    for seed in range(150):
        X, C, rng = problem(seed, "signs")
        y = rng.standard_normal(len(X))
        model = SVMRegressor(C=C, epsilon=0.1 * (seed % 4 // 2), solver=solver, random_state=0).fit(X, y)
        assert model.certificate_.status.ok, seed


def test_several_classes_converge_whatever_the_scales() -> None:
    """Where coordinate ascent stands still, or keeps no promise, the interior point method takes over."""
    reasons = set()
    for seed in (99, 110, 112, 121, 148, 162, 288, 379, 500, 570, 1654, 2240):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(2, 6)), int(rng.integers(1, 11))
        X = rng.standard_normal((n, d)) * 10 ** rng.uniform(-3, 3, d)
        model = MulticlassSVM(C=10 ** rng.uniform(0, 5), tol=1e-4, random_state=0).fit(X, np.arange(n) % 2)
        assert model.certificate_.status.ok, seed
        reasons.add(model.solver_reason_)
    assert any("stands still" in reason for reason in reasons)
