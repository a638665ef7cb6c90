"""Outputs with the features of the truth, or of one another, whose losses differ: planes of no or of equal entries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maxmargin import MulticlassSVM, StructuredSVM
from maxmargin.solvers import FrankWolfe
from maxmargin.status import Status

SOLVERS = ["auto", "frank_wolfe", "n_slack", "one_slack", "bundle"]


class Classes:
    """Three classes on rows of two features, some of which are all 0."""

    def joint_features(self, x: Any, y: int) -> Any:
        out = np.zeros((3, 2))
        out[y] = x
        return out.ravel()

    def loss(self, y_true: int, y: int) -> float:
        return float(y_true != y)

    def argmax(self, x: Any, w: Any, y_true: int | None = None) -> int:
        scores = w.reshape(3, 2) @ x
        if y_true is not None:
            scores = scores + (np.arange(3) != y_true)
        return int(scores.argmax())


class Pairs:
    """Outputs 0 and 1 have equal features, and so have 2 and 3."""

    def __init__(self, far: float = 1.0) -> None:
        self.far = far

    def joint_features(self, x: Any, y: int) -> Any:
        out = np.zeros((2, 2))
        out[y // 2] = x
        return out.ravel()

    def loss(self, y_true: int, y: int) -> float:
        return (self.far if abs(y_true - y) == 3 else 1.0) * float(y_true != y)

    def argmax(self, x: Any, w: Any, y_true: int | None = None) -> int:
        def score(y: int) -> float:
            return float(w @ self.joint_features(x, y)) + (0.0 if y_true is None else self.loss(y_true, y))

        return max(range(4), key=score)


@pytest.mark.parametrize("solver", SOLVERS)
def test_an_example_without_features_costs_its_loss(solver: str) -> None:
    X = np.array([[1, 0], [0, 1], [1, 1], [0, 0], [2, 0], [0, 2]], float)
    Y = [0, 1, 2, 1, 0, 1]
    found = StructuredSVM(Classes(), C=1.0, solver=solver, tol=1e-7, max_passes=500, random_state=0).fit(X, Y)
    same = MulticlassSVM(C=1.0, fit_intercept=False, tol=1e-9).fit(X, Y).certificate_
    assert same.primal > 1.0  # the row of zeros alone
    assert found.certificate_.status is Status.CONVERGED
    assert found.certificate_.primal == pytest.approx(same.primal, rel=1e-6)
    assert found.certificate_.dual <= same.primal * (1.0 + 1e-9)


@pytest.mark.parametrize("steps", ["pairwise", "away", "plain"])
@pytest.mark.parametrize("sweeps", [0, 50])
def test_no_argmax_is_accused_for_outputs_with_equal_features(steps: Any, sweeps: int) -> None:
    rng = np.random.default_rng(0)
    X, Y = list(rng.normal(size=(20, 2))), rng.integers(4, size=20).tolist()
    model = StructuredSVM(Pairs(), C=1.0, solver=FrankWolfe(steps=steps, sweeps=sweeps), random_state=0, tol=1e-6)
    found = model.fit(X, Y).certificate_
    assert found.status is Status.CONVERGED
    assert found.primal == pytest.approx(20.0)  # weights of 0: the twin of each truth costs 1 whatever they are


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("C", [0.1, 3.0])
def test_of_equal_features_the_larger_loss_counts(solver: str, C: float) -> None:
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(15, 2)), rng.integers(4, size=15)
    X[np.arange(15), Y // 2] += 2.0
    model = StructuredSVM(Pairs(5.0), C=C, solver=solver, tol=1e-8, max_passes=2000, random_state=0).fit(X, Y.tolist())

    # every row: max(1, Delta - <w_true - w_other, x>) with Delta of 5 if the truth has a far one there, else 1
    def objective(w: Any) -> float:
        W = w.reshape(2, 2)
        margin = np.einsum("ij,ij->i", W[Y // 2] - W[1 - Y // 2], X)
        far = np.where((Y == 0) | (Y == 3), 5.0, 1.0)
        return float(0.5 * w @ w + C * np.maximum(1.0, far - margin).sum())

    found = model.certificate_
    assert found.primal == pytest.approx(objective(model.coef_), rel=1e-9)
    from scipy.optimize import minimize

    best = min(
        float(minimize(objective, start, method="Powell", options={"xtol": 1e-10, "ftol": 1e-14, "maxiter": 10000}).fun)
        for start in (model.coef_, np.zeros(4))
    )
    assert found.dual <= best * (1.0 + 1e-9)
    assert found.primal <= best * (1.0 + 1e-6)


@pytest.mark.parametrize("solver", ["perceptron", "averaged_perceptron"])
def test_a_perceptron_has_not_separated_what_it_predicts_wrongly(solver: str) -> None:
    X, Y = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), [0, 1, 2]
    found = StructuredSVM(Classes(), solver=solver, random_state=0, max_passes=50).fit(X, Y).certificate_
    assert found.training_risk > 0.0
    assert found.status is not Status.SEPARATED
    found = StructuredSVM(Classes(), solver=solver, random_state=0, max_passes=50).fit(X[:2], Y[:2]).certificate_
    assert found.status is Status.SEPARATED
