"""The same model, to the last bit, whatever the number of threads of the library of linear algebra."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from maxmargin import MulticlassSVM, SVMClassifier, SVMRanker, SVMRegressor

WITHIN = dict(tol=1e-2, random_state=0)
# more rows than OpenBLAS adds up in one thread (10,000), and products beyond what it multiplies in one
MACHINES: dict[str, Callable[[], Any]] = {
    "hinge": lambda: SVMClassifier(0.1, **WITHIN),
    "hinge by interior point": lambda: SVMClassifier(0.1, solver="interior_point", **WITHIN),
    "squared hinge": lambda: SVMClassifier(0.1, loss="squared_hinge", **WITHIN),
    "logistic": lambda: SVMClassifier(0.1, loss="logistic", **WITHIN),
    "gradient descent": lambda: SVMClassifier(0.1, loss="logistic", solver="gradient_descent", **WITHIN),
    "bundle": lambda: SVMClassifier(0.1, solver="bundle", **WITHIN),
    "regression": lambda: SVMRegressor(0.1, **WITHIN),
    "squared regression": lambda: SVMRegressor(0.1, loss="squared_epsilon_insensitive", **WITHIN),
    "several classes": lambda: MulticlassSVM(0.1, **WITHIN),
    "several classes by interior point": lambda: MulticlassSVM(0.1, solver="interior_point", **WITHIN),
    "ranking": lambda: SVMRanker(0.01, **WITHIN),
}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("n", "d"), [(12_000, 30), (2000, 150)])
def test_a_linear_machine(machine: str, n: int, d: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * np.logspace(0.0, 0.7, d)
    values = X[:, 0] + 0.3 * X[:, -1] + rng.normal(size=n)
    y: Any = values
    if "regression" not in machine and machine != "ranking":
        y = np.digitize(values, [-1.0, 1.0] if "classes" in machine else [0.0])
    options = {"qid": np.arange(n) // 20} if machine == "ranking" else {}
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            model = MACHINES[machine]().fit(X, y, **options)
        found.append((model.coef_.tobytes(), model.certificate_.primal, model.certificate_.dual))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("n", "d", "parameters"),
    [
        (12_000, 6, {}),
        (1500, 300, {"gamma": 1e-3}),
        (1200, 20, {"solver": "interior_point"}),
        (1200, 20, {"loss": "logistic"}),
        (1200, 20, {"nu": 0.3, "solver": "interior_point"}),
        (1200, 20, {"C": 1e6, "gamma": 0.01}),
        (1200, 20, {"kernel": "sigmoid", "gamma": 0.01}),
    ],
)
def test_a_kernel_machine(n: int, d: int, parameters: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * rng.normal(size=n) > 0.5
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            model = SVMClassifier(**({"kernel": "rbf", "tol": 1e-2} | parameters)).fit(X, y)
        found.append((model.dual_coef_.tobytes(), model.certificate_.primal, model.certificate_.dual))
    assert found[0] == found[1]
