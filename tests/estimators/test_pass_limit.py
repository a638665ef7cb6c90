"""``max_passes`` is a limit: what evaluations and steps of several passes take counts too."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from maxmargin import MulticlassSVM, SVMClassifier, SVMRegressor
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
        ["auto", "coordinate_ascent", "interior_point", "projected_gradient", *_FIRST_ORDER, *_STEPS],
    ),
    "logistic": (SVMClassifier, ["auto", "newton", "reduced", *_FIRST_ORDER, *_STEPS]),
    "squared_hinge": (SVMClassifier, ["newton", "coordinate_ascent", "projected_gradient", "reduced"]),
    "numbers": (SVMRegressor, ["auto", "coordinate_ascent", "projected_gradient", *_FIRST_ORDER]),
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
