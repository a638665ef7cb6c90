"""The perceptron on rows of two classes: step by step, the bound of its mistakes, and what it says about the data."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from maxmargin import HardMarginSVM, MulticlassSVM, SVMClassifier, SVMRegressor
from maxmargin.solvers.linear.rows import Rows
from maxmargin.solvers.linear.task import LinearTask
from maxmargin.solvers.loop import Result, run_to_tolerance
from maxmargin.solvers.perceptron import Perceptron
from maxmargin.status import Status
from maxmargin.terms import hinge

BOTH = pytest.mark.parametrize("average", [False, True], ids=["plain", "averaged"])
INTERCEPTS = pytest.mark.parametrize("intercept", ["free", "penalized", "none"])


def separable(seed: int, gap: float = 0.1, n: int = 80, d: int = 3) -> tuple[Any, Any]:
    """Rows on both sides of a hyperplane through (0.2, 0.2, ...), none within the gap."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    w = rng.normal(size=d)
    w /= np.linalg.norm(w)
    f = (X - 0.2) @ w
    X += np.where(f > 0, gap, -gap)[:, None] * w
    return X, np.where(f > 0, 1.0, -1.0)


def solve(X: Any, y: Any, solver: Perceptron, *, intercept: Any = "free", s: Any = None, passes: int = 1000) -> Result:
    s = np.ones(len(y)) if s is None else s
    task = LinearTask(Rows(X), hinge(y, 2.0 * s), 2.0, s, intercept, 1e-3, np.random.default_rng(0), scale=1.5)
    return run_to_tolerance(task, solver, max_passes=passes)


def by_hand(X: Any, y: Any, s: Any, constant: float, passes: int) -> tuple[Any, Any, int]:
    """The weights after so many passes in the given order, their mean after every visit, and the mistakes."""
    Z = np.column_stack([X, np.full(len(y), constant)])
    w, every, mistakes = np.zeros(Z.shape[1]), [], 0
    for _ in range(passes):
        for x, sign, weight in zip(Z, y, s, strict=True):
            if sign * (w @ x) <= 0.0:
                w = w + weight * sign * x
                mistakes += 1
            every.append(w)
    out, mean = w.copy(), np.mean(every, axis=0)
    for v in (out, mean):
        v[-1] *= constant  # from the weight of the constant feature to the intercept
    return out, mean, mistakes


@BOTH
@INTERCEPTS
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, lambda X: X.astype(np.float32), np.asfortranarray])
def test_every_step_is_that_of_the_definition(form: Any, intercept: str, average: bool) -> None:
    rng = np.random.default_rng(1)
    X = np.round(4 * rng.normal(size=(30, 3)))  # float32 holds these exactly
    y = np.where(X @ [1.0, -1.0, 0.5] + 3 * rng.normal(size=30) > 1.0, 1.0, -1.0)
    s = rng.integers(1, 4, 30).astype(float)
    found = solve(form(X), y, Perceptron(average, permuted=False), intercept=intercept, s=s, passes=5)
    w, mean, mistakes = by_hand(X, y, s, {"free": 1.5, "penalized": 1.5, "none": 0.0}[intercept], 4)
    expected = mean if average else w
    np.testing.assert_allclose(found.w, expected[:3] if intercept == "none" else expected, rtol=1e-12)
    assert found.n_mistakes == mistakes
    assert found.certificate.status is Status.PASS_LIMIT


@BOTH
def test_the_bound_of_the_mistakes(average: bool) -> None:
    """At most ``(R / gamma)^2``, with the best margin ``gamma`` by the hard-margin machine."""
    for seed in range(12):
        X, y = separable(seed, gap=(0.02, 0.1, 0.5)[seed % 3])
        for intercept in (True, False):
            if not intercept:
                X = X - 0.2
            best = HardMarginSVM(fit_intercept=intercept, penalize_intercept=intercept, tol=1e-6).fit(X, y)
            gamma = 1.0 / np.sqrt(2.0 * best.certificate_.dual)  # not less than the best one
            longest = np.sqrt((X**2).sum(1).max() + intercept)
            solver = "averaged_perceptron" if average else "perceptron"
            model = SVMClassifier(solver=solver, fit_intercept=intercept, random_state=seed, max_passes=100_000)
            model.fit(X, y)
            assert model.certificate_.status is Status.SEPARATED
            assert model.n_mistakes_.shape == (1,)
            assert 1 <= model.n_mistakes_[0] <= (longest / gamma) ** 2 * (1 + 1e-5)


def test_the_bound_is_sharp() -> None:
    """Rows that are the axes: every one of them is a mistake once, and ``(R / gamma)^2`` is their number."""
    for n in (2, 5, 17):
        found = solve(np.eye(n), np.where(np.arange(n) % 2, 1.0, -1.0), Perceptron(average=False), intercept="none")
        assert found.n_mistakes == n


@BOTH
@INTERCEPTS
def test_separable_data_are_said_to_be(intercept: str, average: bool) -> None:
    X, y = separable(3)
    X = X - 0.2 if intercept == "none" else X
    for permuted in (True, False):
        found = solve(X, y, Perceptron(average, permuted), intercept=intercept)
        assert found.certificate.status is Status.SEPARATED
        f = X @ found.w[:3] + (found.w[3] if intercept != "none" else 0.0)
        assert (y * f > 0.0).all()
        assert found.certificate.training_risk == 0.0


@BOTH
def test_inseparable_data_never_are(average: bool) -> None:
    X, y = separable(3)
    y[7] *= -1.0
    found = solve(np.vstack([X, X[:1]]), np.append(y, -y[0]), Perceptron(average), passes=60)
    assert found.certificate.status is Status.PASS_LIMIT
    assert found.certificate.training_risk > 0.0
    with pytest.warns(ConvergenceWarning, match="stopped by pass limit after 30 passes"):
        SVMClassifier(solver="averaged_perceptron" if average else "perceptron", max_passes=30).fit(X, y)


def test_a_score_of_zero_is_a_mistake() -> None:
    """A row of zeros without intercept: no weights get it right, and no run says so."""
    X = np.array([[0.0], [1.0]])
    assert solve(X, np.array([1.0, 1.0]), Perceptron(), intercept="none", passes=30).certificate.status is (
        Status.PASS_LIMIT
    )


@BOTH
def test_the_certificate_has_the_objective_and_the_trivial_bound(average: bool) -> None:
    X, y = separable(5)
    for loss in ("hinge", "squared_hinge"):
        model = SVMClassifier(3.0, loss=loss, solver="averaged_perceptron" if average else "perceptron").fit(X, y)
        w, slack = model.coef_[0], np.maximum(1.0 - y * model.decision_function(X), 0.0)
        cost = (slack if loss == "hinge" else slack**2).sum()
        assert model.certificate_.primal == pytest.approx(0.5 * w @ w + 3.0 * cost, rel=1e-12)
        assert model.certificate_.dual == 0.0
        assert model.certificate_.solver == ("averaged_perceptron" if average else "perceptron")


def test_the_same_seed_gives_the_same_model() -> None:
    X, y = separable(6, gap=0.01)
    one, same, other = (SVMClassifier(solver="perceptron", random_state=seed).fit(X, y) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.coef_, same.coef_)
    assert one.coef_.tobytes() != other.coef_.tobytes()


def test_as_an_estimator() -> None:
    X, y = separable(2, gap=0.3, n=120)
    three = np.where(y > 0, "left", np.where(X[:, 0] > 0, "right", "far"))
    model = SVMClassifier(solver="averaged_perceptron", max_passes=50, random_state=0)
    with pytest.warns(ConvergenceWarning):  # not every class can be separated from the others
        model.fit(X, three)
    assert model.n_mistakes_.shape == (3,)
    assert model.score(X, three) > 0.7
    model.set_params(solver="auto").fit(X, three)
    assert not hasattr(model, "n_mistakes_")
    own = SVMClassifier(solver=Perceptron(average=False, permuted=False)).fit(X, y)
    assert own.solver_ == "perceptron"
    assert own.score(X, y) == 1.0


@pytest.mark.parametrize("name", ["perceptron", "averaged_perceptron"])
def test_what_it_is_not_for(name: str) -> None:
    X, y = separable(1)
    where = "it is for linear classification and structured machines; solver must be one of"
    with pytest.raises(ValueError, match=f"SVMRegressor: solver '{name}' is not for linear regression: {where}"):
        SVMRegressor(solver=name).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=f"SVMClassifier: solver '{name}' is not for kernel='rbf': {where}"):
        SVMClassifier(kernel="rbf", solver=name).fit(X, y)


@pytest.mark.parametrize("solver", ["perceptron", "averaged_perceptron"])
@pytest.mark.parametrize("kind", [SVMClassifier, MulticlassSVM])
def test_many_copies_of_a_row_are_visited_one_by_one(kind: Any, solver: str) -> None:
    X = np.vstack([np.tile([1.0, 0.0], (1000, 1)), [[-0.9, 0.5]], [[-1.0, -0.5]]])
    y = np.append(np.ones(1001), -1.0)
    gamma = HardMarginSVM(fit_intercept=False).fit(X, y).margin_
    bound = (np.linalg.norm(X, axis=1).max() / gamma) ** 2
    for seed in range(4):
        model = kind(solver=solver, fit_intercept=False, random_state=seed).fit(X, y)
        assert np.all(np.asarray(model.n_mistakes_) <= bound)


@pytest.mark.parametrize("kind", [SVMClassifier, MulticlassSVM])
def test_the_given_order_is_that_of_the_data(kind: Any) -> None:
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(60, 3)), rng.choice([-1.0, 1.0], 60)
    X[30:] = X[:30]  # copies too, some with the other class
    solver = Perceptron(average=False, permuted=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = kind(solver=solver, fit_intercept=False, max_passes=2).fit(X, y)
    w, W = np.zeros(3), np.zeros((2, 3))
    for _ in range(model.n_iter_ - 1):  # the last pass is that of the certificate
        for x, sign in zip(X, y, strict=True):
            if sign * (w @ x) <= 0.0:
                w = w + sign * x
            true, said = int(sign > 0.0), int(np.argmax(W @ x))
            W[true] += x
            W[said] -= x
    assert model.coef_ == pytest.approx(w[None] if kind is SVMClassifier else W)
