"""``max_passes`` is a limit: what evaluations and steps of several passes take counts too."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from maxmargin import AUCClassifier, MulticlassSVM, SVMClassifier, SVMRanker, SVMRegressor
from maxmargin.solvers.subgradient import Subgradient

_STRUCTURED = ["frank_wolfe", "n_slack", "one_slack", "perceptron", "averaged_perceptron"]
_FIRST_ORDER = ["bundle", "gradient_descent", "subgradient", "pegasos"]
_STEPS = {
    "random": Subgradient(order="random"),
    "batches": Subgradient(order="cyclic", batch=7),
    "suffix": Subgradient(averaging="suffix"),
}
KINDS: dict[str, tuple[Any, list[Any]]] = {
    "classes": (MulticlassSVM, ["auto", "coordinate_ascent", "interior_point", *_STRUCTURED, *_FIRST_ORDER, *_STEPS]),
    "hinge": (
        SVMClassifier,
        [
            "auto",
            "coordinate_ascent",
            "interior_point",
            "active_set",
            "block_ascent",
            "projected_gradient",
            *_FIRST_ORDER,
            *_STEPS,
        ],
    ),
    "logistic": (SVMClassifier, ["auto", "newton", "reduced", *_FIRST_ORDER, *_STEPS]),
    "squared_hinge": (
        SVMClassifier,
        ["newton", "coordinate_ascent", "active_set", "block_ascent", "projected_gradient", "reduced"],
    ),
    "numbers": (
        SVMRegressor,
        ["auto", "coordinate_ascent", "active_set", "block_ascent", "projected_gradient", *_FIRST_ORDER],
    ),
}


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("kind", "solver"), [(kind, solver) for kind, (_, names) in KINDS.items() for solver in names])
def test_no_solver_takes_more_passes(kind: str, solver: str, fit_intercept: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    scores = X @ rng.normal(size=(3, 3))
    y = {"classes": scores.argmax(1), "numbers": scores[:, 0]}.get(kind, np.where(scores[:, 0] > 0, 1, -1))
    options: dict[str, Any] = {"loss": kind} if kind in ("hinge", "logistic", "squared_hinge") else {}
    chosen = Subgradient(variance_reduction=True) if solver == "reduced" else _STEPS.get(solver, solver)
    for limit in (*range(1, 12), 14, 17, 25):
        model = KINDS[kind][0](
            solver=chosen, max_passes=limit, tol=1e-12, random_state=0, fit_intercept=fit_intercept, **options
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        found = model.certificate_
        assert found.passes <= max(limit, 2)
        assert found.dual <= found.primal * (1 + 1e-9)
        assert np.isfinite(found.primal)
        if kind != "numbers" and "perceptron" not in solver:  # what the weights 0 are worth, or less
            assert found.primal <= 40.0 * (1 + 1e-9)


@pytest.mark.parametrize("solver", ["auto", "newton", "bundle"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("kind", [AUCClassifier, SVMRanker])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_rankings_from_nothing_and_from_a_warm_start(kind: Any, loss: str, solver: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6))
    arguments: tuple[Any, ...] = (X, (X[:, 0] + 0.7 * rng.normal(size=60) > 0) * 1)
    if kind is SVMRanker:
        arguments = (X, rng.integers(0, 3, 60), np.repeat(np.arange(6), 10))
    for C in (1.0, 5.0):
        for limit in (1, 2, 3, 5, 8):
            options: dict[str, Any] = {"loss": loss, "solver": solver, "max_passes": limit}
            assert kind(C, **options).fit(*arguments).certificate_.passes <= max(limit, 2)
            model = kind(1.0, loss=loss, solver=solver, warm_start=True).fit(*arguments)
            square = 0.5 * float((model.coef_**2).sum())
            start = square + C * (model.certificate_.primal - square)
            found = model.set_params(C=C, max_passes=limit).fit(*arguments).certificate_
            assert found.passes <= max(limit, 2)
            if found.relative_gap > model.tol:
                assert found.primal <= start * (1 + 1e-9)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_newton_on_pairs_ends_at_rounding() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    y = (X[:, 0] + 0.7 * rng.normal(size=60) > 0) * 1
    found = AUCClassifier(solver="newton", tol=0, max_passes=10_000).fit(X, y).certificate_
    assert found.passes < 3000
    assert found.relative_gap < 1e-10
