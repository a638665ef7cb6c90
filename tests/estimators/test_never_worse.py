"""A warm start that ends early is never worse than the weights it began with, whatever the machine and the solver."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from maxmargin import MulticlassSVM, SVMClassifier, SVMRegressor

MACHINES: dict[str, tuple[Any, dict[str, Any], list[str]]] = {
    "classes": (
        MulticlassSVM, {"penalize_intercept": True},
        ["auto", "coordinate_ascent", "interior_point", "frank_wolfe", "n_slack", "one_slack", "bundle", "subgradient"],
    ),
    "hinge": (
        SVMClassifier, {"fit_intercept": False}, ["auto", "coordinate_ascent", "interior_point", "active_set", "block_ascent", "projected_gradient"]
    ),
    "squared_hinge": (
        SVMClassifier, {"fit_intercept": False, "loss": "squared_hinge"},
        ["auto", "coordinate_ascent", "newton", "projected_gradient"],
    ),
    "numbers": (
        SVMRegressor, {"fit_intercept": False}, ["auto", "coordinate_ascent", "interior_point", "active_set", "block_ascent", "projected_gradient"]
    ),
}  # fmt: skip


@pytest.mark.parametrize(("of", "solver"), [(of, solver) for of, (_, _, names) in MACHINES.items() for solver in names])
def test_after_a_change_of_C(of: str, solver: str) -> None:
    kind, options, _ = MACHINES[of]
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(25, 4)).round(1), rng.integers(0, 3, 25)
        target = {"classes": y, "numbers": X[:, 0] + rng.normal(size=25)}.get(of, y > 0)
        for C in (0.1, 10.0, 100.0):
            for limit in (1, 2, 3, 5):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model = kind(solver=solver, warm_start=True, random_state=0, max_passes=30, **options)
                    model.fit(X, target)
                    square = 0.5 * float((model.coef_**2).sum() + (np.asarray(model.intercept_) ** 2).sum())
                    start = square + C * (model.certificate_.primal - square)
                    found = model.set_params(C=C, max_passes=limit).fit(X, target).certificate_
                if found.relative_gap > model.tol:  # it ended early
                    assert found.primal <= start * (1 + 1e-9), (seed, C, limit)
                assert found.passes <= max(limit, 2)
                assert found.dual <= found.primal
