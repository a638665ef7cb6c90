"""Passes are cut where the clock says; the model must not depend on it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from maxmargin import MulticlassSVM, SequenceSVM, SVMClassifier, SVMRanker, SVMRegressor
from maxmargin.solvers import chunks

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 200)) * (RNG.random((150, 200)) < 0.1)
X = np.vstack([X, X[:15]])
CLASSES = RNG.integers(0, 3, len(X))
SIGNS = np.where(RNG.random(len(X)) < 0.5, 1, -1)
VALUES = RNG.normal(size=len(X))
ROWS = ("auto", "coordinate_ascent", "one_slack", "bundle", "gradient_descent", "subgradient", "pegasos")


def machines() -> dict[str, Any]:
    out: dict[str, Any] = {}
    for solver in ROWS:
        out[f"classifier {solver}"] = SVMClassifier(1.0, solver=solver), SIGNS
        out[f"regressor {solver}"] = SVMRegressor(1.0, solver=solver), VALUES
    for solver in ("auto", "coordinate_ascent", "frank_wolfe", "n_slack", "subgradient", "averaged_perceptron"):
        out[f"multiclass {solver}"] = MulticlassSVM(1.0, solver=solver, penalize_intercept=True), CLASSES
    out["multiclass free"] = MulticlassSVM(1.0, solver="coordinate_ascent"), CLASSES
    out["perceptron"] = SVMClassifier(solver="averaged_perceptron"), SIGNS
    for solver in ("frank_wolfe", "n_slack", "one_slack", "subgradient", "averaged_perceptron"):
        out[f"sequence {solver}"] = SequenceSVM(1.0, solver=solver), None
        out[f"sequence {solver}, threads"] = SequenceSVM(1.0, solver=solver, n_jobs=2), None
    out["ranker"] = SVMRanker(1.0), VALUES
    return out


def weights(name: str, form: Any, seed: int, monkeypatch: pytest.MonkeyPatch) -> Any:
    cuts = np.random.default_rng(seed)

    def learn(self: Any, size: int, seconds: float) -> None:
        self.size = int(min(cuts.integers(1, 60), self.most))

    model, y = machines()[name]
    monkeypatch.setattr(chunks.Pace, "learn", learn)
    model.set_params(max_passes=60, random_state=3, tol=1e-7)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if y is None:
            sequences = [[[f"a{int(j)}" for j in np.flatnonzero(row)[:4]] for row in X[i : i + 3]] for i in range(50)]
            model.fit(sequences, [CLASSES[i : i + 3].tolist() for i in range(50)])
            return model.coef_, model.certificate_.passes
        model.fit(form(X), y, *([np.arange(len(X)) // 15] if name == "ranker" else []))
    return np.append(model.coef_, getattr(model, "intercept_", 0.0)), model.certificate_.passes


@pytest.mark.parametrize("name", machines())
def test_the_model_does_not_depend_on_the_clock(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    form = np.asarray if name.startswith("regressor") else sp.csr_matrix
    first, passes = weights(name, form, 0, monkeypatch)
    again, as_many = weights(name, form, 1, monkeypatch)
    np.testing.assert_array_equal(again, first)
    assert as_many == passes


def test_nor_does_it_where_long_dense_rows_are_read_in_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(151, 300))
    y = np.where(wide[:, 0] + rng.normal(size=151) > 0.0, 1, -1)
    found = []
    for seed in range(3):
        cuts = np.random.default_rng(seed)

        def learn(self: Any, size: int, seconds: float, cuts: Any = cuts) -> None:
            self.size = int(cuts.integers(1, 40))

        monkeypatch.setattr(chunks.Pace, "learn", learn)
        model = SVMClassifier(0.01, solver="coordinate_ascent", random_state=0, tol=1e-6).fit(wide, y)
        found.append(model.coef_.tobytes())
    assert found[0] == found[1] == found[2]
