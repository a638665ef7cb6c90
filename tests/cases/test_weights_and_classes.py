"""Weights, classes and features at the edge: each of these inputs has made some other program fail its user."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from maxmargin import MulticlassSVM, SequenceSVM, StructuredSVM
from maxmargin.errors import DataError
from maxmargin.structures.multiclass import Multiclass
from solvers.enumeration import multiclass_case

TIGHT: dict[str, Any] = dict(tol=1e-8, max_passes=5000, random_state=0)
SOLVERS = pytest.mark.parametrize("solver", ["frank_wolfe", "n_slack", "one_slack"])


def optimum(X: Any, y: Any, c: Any, *, constant: float = 1.0) -> tuple[Any, Any, float]:
    """Coefficients, intercepts and objective of the documented problem, by a general solver."""
    joined = np.hstack([X, np.full((len(X), 1), constant)])
    number = np.unique(y, return_inverse=True)[1]
    w, value = multiclass_case(joined, number).listed.optimum(np.broadcast_to(c, len(X)).astype(float))
    W = w.reshape(X.shape[1] + 1, -1)
    return W[:-1].T, W[-1] * constant, value


@pytest.mark.parametrize("kind", ["classes", "sequences", "structures"])
def test_all_weights_zero(kind: str) -> None:
    X = np.array([[0, 1], [1, 0], [2, 2], [5, 5], [6, 5], [5, 6.0]])
    y = np.array([0, 0, 0, 1, 1, 1])
    if kind == "classes":
        model: Any = MulticlassSVM()
        args: Any = (X, y)
    elif kind == "sequences":
        model, args = SequenceSVM(), ([x[None] for x in X], [[k] for k in y])
    else:
        model, args = StructuredSVM(Multiclass(2)), (X, y)
    with pytest.raises(DataError, match="sample_weight is zero for every example"):
        model.fit(*args, np.zeros(6))
    assert not {"coef_", "classes_", "certificate_"} & vars(model).keys()
    model.fit(*args)


@SOLVERS
def test_sparse_rows_and_some_weights_zero(solver: str) -> None:
    X = np.array([[0, 0, 1], [1, 0, 0], [0, 2, 0], [0, 0, 0], [3, 0, 1], [2, 3, 0], [0, 3, 2], [1, 1, 0.0]])
    y, weight = np.repeat([-1, 1], 4), np.array([1, 1, 1, 0, 1, 1, 0, 1.0])
    kept = weight > 0
    coef, intercept, value = optimum(X[kept], y[kept], 1.0)
    for rows, labels, s in [
        (sp.csr_array(X), y, weight),
        (X, y, weight),
        (X[kept], y[kept], None),
        (sp.csr_array(X[kept]), y[kept], None),
    ]:
        model = MulticlassSVM(solver=solver, **TIGHT).fit(rows, labels, s)
        np.testing.assert_allclose(model.coef_, coef, atol=1e-3)
        np.testing.assert_allclose(model.intercept_, intercept, atol=1e-3)
        assert model.certificate_.primal == pytest.approx(value, rel=1e-6)


@SOLVERS
def test_a_class_weight_goes_to_its_own_class(solver: str) -> None:
    X, y = np.array([[0.0], [7.0], [6.0]]), np.array([-1, -1, 1])
    right, swapped = (optimum(X, y, 100.0 * np.array(c))[2] for c in ([0.5, 0.5, 1.0], [1.0, 1.0, 0.5]))
    assert abs(right - swapped) > 1.0
    for weights in ({-1: 0.5, 1: 1.0}, {1: 1.0, -1: 0.5}):
        model = MulticlassSVM(C=100.0, class_weight=weights, solver=solver, **TIGHT).fit(X, y)
        assert model.certificate_.primal == pytest.approx(right, rel=1e-6)


def test_one_class_only() -> None:
    X = np.arange(10.0).reshape(5, 2)
    with pytest.raises(DataError, match="y has one class only: 'spam'"):
        MulticlassSVM().fit(X, np.array(["spam"] * 5))
    # one label is no mistake in sequences: there it is the only answer
    assert SequenceSVM().fit([[["a"], ["b"]]], [["spam", "spam"]]).predict([[["c"]]]) == [["spam"]]


HUGE = """
import warnings
import numpy as np
from maxmargin import MulticlassSVM, SequenceSVM
from maxmargin.errors import DataError

warnings.simplefilter("ignore")
base = np.array([[1.6e308, 1.0], [1.7e308, 0.0], [-1.6e308, 1.0], [-1.7e308, 0.0]])
y = [1, 1, 0, 0]
for solver in ("frank_wolfe", "n_slack", "averaged_perceptron", "one_slack"):
    for scale in (1.0, 1e-108, 1e-150):
        X = scale * base
        for kind in (MulticlassSVM, SequenceSVM):
            print(f"{solver}, {kind.__name__}, {1.6e308 * scale:g}:", end=" ", flush=True)
            sequences = kind is SequenceSVM
            model = kind(solver=solver, random_state=0, max_passes=20)
            try:
                model.fit([x[None] for x in X] if sequences else X, [[k] for k in y] if sequences else y)
            except DataError as error:
                print("refused" if "scale the features" in str(error) else f"refused without advice: {error}")
                continue
            found = np.ravel(model.predict([x[None] for x in X] if sequences else X)).tolist()
            figures = [*model.coef_.ravel(), model.certificate_.primal, model.certificate_.dual]
            print("right" if found == y and np.isfinite(figures).all() else f"wrong: {model.coef_.tolist()} {found}")
"""


def test_huge_values(run_python: Callable[..., str]) -> None:
    """Right or refused, whatever the solver; never NaN, never a model of zeros, never a crash (so in its own process)."""
    answers = run_python(HUGE).splitlines()
    assert len(answers) == 24
    assert [line for line in answers if line.split(": ")[1] not in ("right", "refused")] == []


@SOLVERS
def test_a_constant_column(solver: str) -> None:
    """It shares its part with the intercept, which is penalised alike."""
    rng = np.random.default_rng(1)
    Z = np.vstack([rng.normal(size=(9, 2)), rng.normal(size=(9, 2)) + 1.5])
    y = np.repeat([0, 1], 9)
    X = np.column_stack([Z[:, 0], np.full(18, 5.0), Z[:, 1]])
    coef, intercept, value = optimum(X, y, 1.0)
    model = MulticlassSVM(solver=solver, **TIGHT).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert model.certificate_.primal == pytest.approx(value, rel=1e-6)
    expected = (X @ coef.T + intercept) @ [-1.0, 1.0]
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-3)
    np.testing.assert_allclose(model.coef_[:, 1], 5.0 * model.intercept_, atol=1e-6)


@pytest.mark.parametrize("constant", [1.0, 30.0])
def test_the_intercept_is_penalised_as_documented(constant: float) -> None:
    """Far from the origin the two usual rules differ much."""
    rng = np.random.default_rng(7)
    X = np.vstack([rng.normal(size=(10, 2)), rng.normal(size=(10, 2)) + 1.2]) + 20.0
    y = np.repeat([-1, 1], 10)
    model = MulticlassSVM(intercept_scaling=constant, tol=1e-6, max_passes=500, solver="one_slack", random_state=0).fit(
        X, y
    )
    assert model.certificate_.primal == pytest.approx(optimum(X, y, 1.0, constant=constant)[2], rel=1e-5)
    assert optimum(X, y, 1.0, constant=1e4)[2] < 0.99 * optimum(X, y, 1.0)[2]


def test_names_of_classes_do_not_matter() -> None:
    rng = np.random.default_rng(6)
    number = np.repeat([0, 1, 2], 7)
    X = np.array([[0, 0], [4, 0], [0, 4.0]])[number] + 0.3 * rng.normal(size=(21, 2))
    names = np.array(["LL", "HH", "MM"])
    by_number = MulticlassSVM(**TIGHT).fit(X, number)
    for labels in (names[number], names[number].astype(object), names[number].tolist()):
        by_name = MulticlassSVM(**TIGHT).fit(X, labels)
        assert by_name.classes_.tolist() == ["HH", "LL", "MM"]
        np.testing.assert_array_equal(by_name.predict(X), names[by_number.predict(X)])
        np.testing.assert_allclose(
            by_name.decision_function(X)[:, [1, 0, 2]], by_number.decision_function(X), atol=1e-3
        )
        assert by_name.certificate_.primal == pytest.approx(by_number.certificate_.primal, rel=1e-7)
    for labels in (number.astype(np.int8), number.astype(float), number + 10):
        same = MulticlassSVM(**TIGHT).fit(X, labels)
        assert same.coef_.tobytes() == by_number.coef_.tobytes()
        assert same.predict(X).dtype == labels.dtype
    flags = MulticlassSVM(**TIGHT).fit(X, number > 0)
    assert flags.predict(X).dtype == bool


def test_scores_and_predictions_agree_everywhere() -> None:
    rng = np.random.default_rng(27)
    y = np.repeat(["u", "v", "w"], 25)
    X = np.repeat([[0, 0], [2.0, 0], [1, 1.7]], 25, axis=0) + rng.normal(size=(75, 2))
    side = np.linspace(-3, 5, 60)
    grid = np.array([(a, b) for a in side for b in side])
    model = MulticlassSVM(random_state=0).fit(X, y)
    scores = model.decision_function(grid)
    assert scores.shape == (3600, 3)
    np.testing.assert_array_equal(model.predict(grid), model.classes_[scores.argmax(1)])
    assert set(model.predict(grid)) == {"u", "v", "w"}


@SOLVERS
def test_repeated_rows_are_a_weighted_problem(solver: str) -> None:
    B = np.array([[0, 0], [1, 0], [0, 1], [2, 2], [1.2, 1.0], [2, 1]])
    y, times = np.array([-1, -1, -1, 1, -1, 1]), np.array([4, 1, 3, 2, 5, 3])
    coef, _, value = optimum(B, y, times)
    repeated = np.repeat(B, times, axis=0), np.repeat(y, times)
    model = MulticlassSVM(solver=solver, **TIGHT).fit(*repeated)
    np.testing.assert_allclose(model.coef_, coef, atol=1e-3)
    assert model.certificate_.primal == pytest.approx(value, rel=1e-6)
    # without the merging of rows too
    joined = np.hstack([repeated[0], np.ones((18, 1))])
    plain = StructuredSVM(Multiclass(2), solver=solver, **TIGHT).fit(joined, (repeated[1] + 1) // 2)
    assert plain.certificate_.primal == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("C", [1e-6, 1e4, 1e8])
@SOLVERS
def test_tiny_and_huge_C(C: float, solver: str) -> None:
    """Bounds hold in any case; what is not reached is said."""
    rng = np.random.default_rng(5)
    X = np.vstack([rng.normal(size=(15, 4)), rng.normal(size=(15, 4)) + 0.7])
    y = np.repeat([0, 1], 15)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model = MulticlassSVM(C=C, solver=solver, max_passes=20, random_state=0).fit(X, y)
    certificate = model.certificate_
    value = optimum(X, y, C)[2]
    assert certificate.dual <= value * (1 + 1e-6)
    assert value * (1 - 1e-6) <= certificate.primal < np.inf
    assert certificate.status.ok == (not caught)
    if certificate.status.ok:
        assert certificate.primal <= value * (1 + 2e-3)
