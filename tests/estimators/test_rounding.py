"""Where rounding of the scores can hide a gap as large as the tolerance, a fit does not call itself converged."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.exceptions import ConvergenceWarning

from maxmargin import SVMClassifier, SVMRegressor
from maxmargin.solvers.linear.rows import Rows
from maxmargin.solvers.linear.task import LinearTask
from maxmargin.status import Status
from maxmargin.terms import hinge

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
TINY = 1e-8 * (X @ [1.0, -2.0, 0.5]) + 1e-9 * RNG.normal(size=40)
INNER = {"callable": lambda A, B: A @ B.T, "precomputed": "precomputed", "poly": "poly"}


@pytest.mark.parametrize("kind", sorted(INNER))
def test_coefficients_of_a_million_for_values_of_a_hundred_millionth(kind: str) -> None:
    rows = X @ X.T if kind == "precomputed" else X
    model = SVMRegressor(1e4, kernel=INNER[kind], degree=1, coef0=0.0, gamma=1.0, epsilon=0.0)
    with pytest.warns(ConvergenceWarning, match="came to the limits of rounding at a relative gap of .* lower C"):
        model.fit(rows, TINY)
    found = model.certificate_
    assert found.status is Status.ROUNDING
    assert not found.status.ok
    # it is right to say so: the objective is another one in numbers with more digits
    beta = np.zeros(40, np.longdouble)
    beta[model.support_] = model.dual_coef_[0]
    scores = (X.astype(np.longdouble) @ X.T.astype(np.longdouble)) @ beta
    errors = np.abs(scores + np.longdouble(model.intercept_) - TINY)
    exact = float(0.5 * beta @ scores + np.longdouble(1e4) * errors.sum())
    assert abs(found.primal - exact) > 1e-3 * exact


def test_with_values_of_usual_size_it_converges() -> None:
    for kind, kernel in INNER.items():
        rows = X @ X.T if kind == "precomputed" else X
        model = SVMRegressor(1e4, kernel=kernel, degree=1, coef0=0.0, gamma=1.0, epsilon=0.0).fit(rows, 1e8 * TINY)
        assert model.certificate_.status is Status.CONVERGED


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6, 1e9])
def test_it_is_about_as_large_as_the_error_of_the_objective(offset: float) -> None:
    rows, sign = X + offset, np.where(X[:, 0] > 0.1, 1.0, -1.0)
    task = LinearTask(Rows(rows), hinge(sign, np.ones(40)), 1.0, np.ones(40), "free", 1e-3, RNG)
    errors, bounds = [], []
    for _ in range(50):
        w = RNG.normal(size=3)
        full = np.append(w, -offset * w.sum() + 0.3)
        wide = rows.astype(np.longdouble) @ full[:3].astype(np.longdouble) + np.longdouble(full[3])
        exact = 0.5 * float(w @ w) + float(np.maximum(1.0 - sign * wide, 0.0).sum())
        errors.append(abs(task.objective(full) - exact))
        bounds.append(task.noise(full, 0.0))
        assert bounds[-1] <= task.noise(full, np.inf) * (1.0 + 1e-9)
    assert max(errors) <= 10.0 * min(bounds)
    assert max(bounds) <= 1e-13 * (1.0 + offset)


def test_features_far_from_the_origin() -> None:
    y = np.where(X[:, 0] + 0.5 * RNG.normal(size=40) > 0.0, 1, -1)
    assert SVMClassifier(10.0, tol=1e-9, random_state=0).fit(X + 1e3, y).certificate_.status is Status.CONVERGED
    assert SVMClassifier(10.0, random_state=0).fit(X + 1e5, y).certificate_.status is Status.CONVERGED


def test_columns_of_very_different_sizes_are_no_matter() -> None:
    """Sizes of the terms count, not the product of the lengths of row and weights."""
    y = np.where(X[:, 0] + 0.5 * RNG.normal(size=40) > 0.0, 1, -1)
    rows = X * [1.0, 1e8, 1e-8]
    model = SVMClassifier(10.0, tol=1e-7, random_state=0).fit(rows, y)
    assert model.certificate_.status is Status.CONVERGED


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
def test_data_as_they_are(C: float, kernel: Any) -> None:
    rows, y = load_breast_cancer(return_X_y=True)
    for tol in (1e-3, 1e-6):
        model = SVMClassifier(C, kernel=kernel, tol=tol, random_state=0).fit(rows, y)
        assert model.certificate_.status is Status.CONVERGED
    rows, y = load_diabetes(return_X_y=True)
    model = SVMRegressor(C, kernel="linear", tol=1e-6, random_state=0).fit(rows, y)
    assert model.certificate_.status is Status.CONVERGED


def test_lengths_that_are_rounding_end_no_fit_with_an_error() -> None:
    r = np.random.default_rng(0)
    rows = r.standard_normal((20, 2))
    y = np.where(rows.sum(1) > 0, 1, -1)
    how: dict[str, Any] = dict(kernel="poly", fit_intercept=False, tol=1e-8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        SVMRegressor(loss="squared_epsilon_insensitive", **how).fit(rows + 1e3, rows[:, 0])
        SVMClassifier(1e4, loss="squared_hinge", **how).fit(rows + 1e3, y)
        rows = np.random.default_rng(0).standard_normal((150, 5))
        y = np.where(rows.sum(1) > 0, 1, -1)
        fit = SVMClassifier(1e8, kernel="poly", solver="interior_point", max_passes=50).fit(rows + 1e4, y)
    assert fit.certificate_.dual <= fit.certificate_.primal
