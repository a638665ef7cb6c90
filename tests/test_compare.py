"""Solvers side by side: what the table says is what the fits say, and who is not for the problem says so."""

from __future__ import annotations

import re
import time
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.preprocessing import scale

from maxmargin import (
    AUCClassifier,
    MulticlassSVM,
    StructuredSVM,
    SVMClassifier,
    SVMRanker,
    SVMRegressor,
    compare,
    compare_solvers,
)
from maxmargin.compare import solver_names
from maxmargin.errors import DataError
from maxmargin.solvers.linear.coordinate_ascent import CoordinateAscent

X, Y = load_breast_cancer(return_X_y=True)
X = scale(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_figures_are_those_of_the_fits() -> None:
    model = SVMClassifier(max_passes=300, tol=1e-4, random_state=0)
    found = compare_solvers(
        model, X[::2], Y[::2], ["interior_point", CoordinateAscent()], X_test=X[1::2], y_test=Y[1::2]
    )
    assert [run.name for run in found.runs] == ["interior_point", "coordinate_ascent"]
    for run in found.runs:
        fitted = SVMClassifier(max_passes=300, tol=1e-4, random_state=0, solver=run.name).fit(X[::2], Y[::2])
        assert run.certificate is not None
        assert run.certificate.primal == fitted.certificate_.primal
        assert run.certificate.passes == fitted.certificate_.passes
        assert run.test_loss == 1.0 - fitted.score(X[1::2], Y[1::2])
        assert run.test_curve[-1] == (fitted.certificate_.passes, run.history[-1].seconds, run.test_loss)
        when = {record.passes: record.seconds for record in run.history}
        assert all(seconds == when.get(passes, seconds) for passes, seconds, _ in run.test_curve)
        passes = [point[0] for point in run.test_curve]
        assert passes == sorted(set(passes))
        assert len(passes) > 2
        half = SVMClassifier(max_passes=4, tol=1e-4, random_state=0, solver=run.name)
        with pytest.warns(match="pass limit"):
            half.fit(X[::2], Y[::2])
        assert run.test_curve[1][2] == 1.0 - half.score(X[1::2], Y[1::2])
    assert model.solver == "auto"
    assert not hasattr(model, "coef_")
    assert found.best.certificate is not None
    assert found.best.certificate.status.ok


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_times_along_a_test_curve_are_those_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the time that a fit takes that is stopped early."""
    fits: list[Any] = []

    def fit(model: Any) -> None:
        fits.append(model.fit(X, Y))
        if model.max_passes < 100:  # the shorter the slower
            ended = time.process_time() + 0.2 / model.max_passes
            while time.process_time() < ended:
                pass

    model = SVMClassifier(C=0.05, tol=1e-6, max_passes=100, random_state=0)
    found = compare.compare_fits(model, fit, ["coordinate_ascent", "subgradient"], lambda each: 1.0 - each.score(X, Y))
    for run in found.runs:
        assert len(run.test_curve) > 4
        seconds = [point[1] for point in run.test_curve]
        assert seconds == sorted(seconds)
        assert seconds[-1] == run.history[-1].seconds
        for passes, at, _ in run.test_curve:
            before = [record.seconds for record in run.history if record.passes < passes]
            after = [record.seconds for record in run.history if record.passes > passes]
            assert max(before, default=0.0) <= at <= min(after, default=at)


def test_every_solver_that_is_for_the_problem_ends_at_the_same_point() -> None:
    found = compare_solvers(SVMClassifier(C=0.01, max_passes=3000, random_state=0), X, Y)
    values = {run.name: run.certificate.primal for run in found.runs if run.certificate and run.certificate.status.ok}
    assert len(values) >= 3
    assert np.ptp(list(values.values())) <= 2e-3 * min(values.values())


def test_who_is_not_for_the_problem_says_so() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compare_solvers(SVMClassifier(max_passes=3), X, Y, ["coordinate_ascent"])
    found = compare_solvers(SVMClassifier(), X, Y, ["newton", "interior_point"])
    assert found.runs[0].certificate is None
    assert "needs a loss with" in found.runs[0].refused
    assert "newton: SVMClassifier: Newton's method needs" in str(found)
    with pytest.raises(DataError, match="one class only"):
        compare_solvers(SVMClassifier(), X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="no solver 'no_such' here; there are coordinate_ascent"):
        compare_solvers(SVMClassifier(), X, Y, ["newton", "no_such"])
    with pytest.raises(DataError, match="needs a loss"):  # one name is no list of letters
        compare_solvers(SVMClassifier(), X, Y, "newton")
    for other in (SVMRanker(), AUCClassifier()):
        with pytest.raises(
            ValueError, match="no solver 'n_slack' here; there are newton, one_slack, bundle, gradient_descent"
        ):
            compare_solvers(other, X, Y, ["n_slack"])
    with pytest.raises(ValueError, match="needs an estimator of this library, not 'x'"):
        compare_solvers("x", X, Y)
    with pytest.raises(ValueError, match="both X_test and y_test"):
        compare_solvers(SVMClassifier(), X, Y, X_test=X)
    with pytest.raises(ValueError, match="no solver"):
        compare_solvers(SVMClassifier(), X, Y, [])


def test_a_solver_of_other_machines_is_noted_beside_those_that_are_for_this_one() -> None:
    """By name as by object; what is wrong with the data is still said of the data."""
    rbf = SVMClassifier(kernel="rbf", random_state=0)
    for other in ("coordinate_ascent", CoordinateAscent()):
        found = compare_solvers(rbf, X, Y, ["block_smo", other])
        assert [run.certificate is None for run in found.runs] == [False, True]
        assert "is not for kernel='rbf': it is for linear machines" in found.runs[1].refused
        assert "coordinate_ascent: SVMClassifier: solver" in str(found)
    found = compare_solvers(MulticlassSVM(random_state=0), X, Y, ["coordinate_ascent", "newton"])
    assert found.best.name == "coordinate_ascent"
    assert "is not for structured machines: it is for linear machines" in found.runs[1].refused
    with pytest.raises(DataError, match="one class only"):
        compare_solvers(rbf, X, np.zeros(len(X)), ["block_smo", "coordinate_ascent"])


def test_what_is_wrong_with_the_test_data_is_said_to_be_theirs() -> None:
    far = X[:5].copy()
    far[3] = 1.7e308
    with pytest.raises(DataError, match="^the test data: SVMClassifier: the values of row 3 are too large"):
        compare_solvers(SVMClassifier(C=100.0), X, Y, "interior_point", X_test=far, y_test=Y[:5])
    with pytest.raises(DataError, match="^the test data: X has 1 features, but "):
        compare_solvers(SVMClassifier(), X, Y, "interior_point", X_test=X[:5, :1], y_test=Y[:5])


def test_names() -> None:
    assert {"coordinate_ascent", "interior_point", "newton", "gradient_descent"} <= set(solver_names(SVMClassifier()))
    assert "block_smo" in solver_names(SVMClassifier(kernel="rbf"))
    assert "coordinate_ascent" not in solver_names(SVMClassifier(kernel="rbf"))
    assert {"coordinate_ascent", "one_slack"} <= set(solver_names(MulticlassSVM()))
    assert {"frank_wolfe", "n_slack", "one_slack", "perceptron"} <= set(solver_names(StructuredSVM(None)))


def test_the_table() -> None:
    digits, labels = load_digits(return_X_y=True)
    model = MulticlassSVM(C=0.01, tol=1e-2, max_passes=60, random_state=0)
    names = ["frank_wolfe", "one_slack"]
    found = compare_solvers(
        model, digits[:600] / 16, labels[:600], names, X_test=digits[600:] / 16, y_test=labels[600:], curve=False
    )
    lines = str(found).splitlines()
    assert lines[0].split() == ["solver", "passes", "calls", "CPU", "s", "primal", "dual", "gap", "test"]
    assert [line.split()[0] for line in lines[1:3]] == names
    assert all(re.search(r"\d\.\de-\d\d +0\.\d+ +converged$", line) for line in lines[1:3])
    assert lines[3] == "test: 1 - score"
    assert max(map(len, lines)) <= 100
    assert [len(run.test_curve) for run in found.runs] == [1, 1]


def test_regression_and_weights() -> None:
    data, values = load_diabetes(return_X_y=True)
    weight = np.r_[np.zeros(10), np.ones(len(values) - 10)]
    names = ["interior_point", "coordinate_ascent"]
    found = compare_solvers(
        SVMRegressor(random_state=0), data, values, names, X_test=data, y_test=values, sample_weight=weight, curve=False
    )
    expected = SVMRegressor(solver="interior_point").fit(data[10:], values[10:])
    assert found.measure == "mean absolute error"
    assert found.runs[0].certificate is not None
    assert found.runs[0].certificate.primal == pytest.approx(expected.certificate_.primal, rel=1e-6)
    assert found.runs[0].test_loss == pytest.approx(np.abs(expected.predict(data) - values).mean(), rel=1e-3)


def test_seconds_are_those_of_a_fit_that_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, fits = [0.0], [0]
    monkeypatch.setattr(compare, "clock", lambda: time.perf_counter() - compiled[0])

    def fit(model: Any) -> None:
        fits[0] += 1
        if fits[0] == 1:
            compiled[0] += 5.0

    assert compare._timed(SVMClassifier(), fit)[1] < 1.0
    assert fits == [2]
    monkeypatch.setattr(compare, "clock", lambda: 0.0)  # for ever
    compare._timed(SVMClassifier(), fit)
    assert fits == [4]


def test_the_second_try_begins_as_the_first_one_did(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = load_breast_cancer().data
    found = []
    for _ in range(2):
        model = SVMClassifier(warm_start=True, random_state=0)
        found.append(compare_solvers(model, raw, Y, ["auto"]).runs[0].certificate)
        ticks = iter(np.linspace(0.0, 1e-9, 100))
        monkeypatch.setattr(compare, "clock", lambda ticks=ticks: next(ticks))  # it seems to compile for ever
    assert found[0].passes == found[1].passes > 5
