"""Very many rows with a kernel: linear machines on Nyström features, and the messages that name this way out.

``docs/kernels.md`` shows how to judge the approximation; ``tests/project/test_pages.py`` runs it.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline

from maxmargin import OneClassSVM, SVMClassifier, SVMRegressor, _kernel_machine

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * RNG.normal(size=120)
TIGHT: dict[str, Any] = dict(tol=1e-7, max_passes=5000)
MACHINES = [SVMClassifier(), SVMClassifier(loss="squared_hinge"), SVMRegressor(), OneClassSVM(0.3, kernel="linear")]


def targets(model: Any) -> Any:
    return Y if isinstance(model, SVMRegressor) else Y > 0.0


@pytest.mark.parametrize("model", MACHINES, ids=str)
def test_the_objective_is_that_of_the_exact_machine_over_fewer_functions(model: Any) -> None:
    """Never below its optimum, falling with the components, and equal where all rows are sampled."""
    y, name = targets(model), type(model)
    own = {key: value for key, value in model.get_params().items() if key in ("loss", "nu")}
    exact = name(**own, kernel="rbf", gamma=0.5, **TIGHT).fit(X, y).certificate_
    assert exact.relative_gap <= 1e-7
    found = []
    for n_components in (5, 20, 60, 120):
        features = Nystroem(gamma=0.5, n_components=n_components, random_state=0)
        pipeline = make_pipeline(features, name(**own, kernel="linear", **TIGHT)).fit(X, y)
        found.append(pipeline[-1].certificate_.primal)
    size = abs(exact.dual)
    assert found[0] > exact.dual + 1e-3 * size
    assert min(found) >= exact.dual - 1e-7 * size
    assert found[-1] == pytest.approx(exact.primal, rel=1e-5)
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize(
    "model", [SVMClassifier(kernel="rbf"), SVMRegressor(kernel="cosine"), OneClassSVM(), SVMClassifier(kernel=np.dot)]
)
def test_very_many_rows_are_told_of_an_approximation(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the work begins, and again where it ends at a limit."""
    if callable(model.kernel):
        model.kernel = lambda A, B: A @ B.T
    y, way_out = (
        targets(model),
        rf"Nystroem\(\.\.\.\), {type(model).__name__}\(kernel='linear'\)\), see docs/kernels.md",
    )
    monkeypatch.setattr(_kernel_machine, "_HOPELESS", 121)
    monkeypatch.setattr(_kernel_machine, "_MANY", 121)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.set_params(tol=0.0, max_passes=2).fit(X, y)
    assert [each.category for each in caught] == [ConvergenceWarning]
    assert "Nystroem" not in str(caught[0].message)

    monkeypatch.setattr(_kernel_machine, "_HOPELESS", 120)
    monkeypatch.setattr(_kernel_machine, "_MANY", 120)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y)
    before, after = (str(each.message) for each in caught)
    assert before.startswith(
        f"{type(model).__name__}: with a kernel the time grows like the square of the number of rows"
    )
    assert "and 120 of them can take hours" in before
    assert "\n" not in before + after
    for message in (before, after):
        assert re.search(way_out, message)
    assert "stopped by pass limit" in after
    assert (Path(__file__).parents[2] / "docs" / "kernels.md").is_file()


@pytest.mark.parametrize("options", [{"kernel": "linear"}, {"nu": 0.2}, {"kernel": "precomputed"}])
def test_there_is_no_such_way_out_of_other_problems(options: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_kernel_machine, "_HOPELESS", 1)
    monkeypatch.setattr(_kernel_machine, "_MANY", 1)
    data = X @ X.T if "kernel" in options and options["kernel"] == "precomputed" else X
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        SVMClassifier(**options, tol=0.0, max_passes=2).fit(data, Y > 0.0)
    assert ConvergenceWarning in [each.category for each in caught]
    assert not any("Nystroem" in str(each.message) for each in caught)
