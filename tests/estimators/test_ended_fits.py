"""Fits that were ended in one of several problems, and fits that failed: what is stored is true, or what it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from ended_by_callback import Ends
from maxmargin import (
    AUCClassifier,
    MulticlassSVM,
    OneClassSVM,
    SequenceSVM,
    SVMClassifier,
    SVMClassifierCV,
    SVMRanker,
    SVMRegressor,
    SVMRegressorCV,
    load_model,
    save_model,
    svm_path,
)
from maxmargin.classifier import SVMClassifier as Machine
from maxmargin.errors import DataError
from maxmargin.status import Status

RNG = np.random.default_rng(3)
Y = np.repeat([0, 1, 2], 20)
X = RNG.normal(size=(60, 3)) + 0.5 * Y[:, None]
SEVERAL = pytest.mark.parametrize(
    "options",
    [
        {},
        {"multi_class": "ovo"},
        {"kernel": "rbf", "gamma": 0.5},
        {"kernel": "rbf", "gamma": 0.5, "multi_class": "ovo"},
        {"loss": "logistic"},
        {"solver": "perceptron"},
        {"kernel": "rbf", "gamma": 0.5, "nu": 0.3},
        {"kernel": "sigmoid"},
    ],
    ids=str,
)


def objective(model: Any) -> float:
    """That of all problems by definition, linear or with the rbf kernel."""
    scores, total = model._scores(X) + model.intercept_, 0.0
    for k in range(3):
        rows = np.ones(60, bool) if model.multi_class == "ovr" else np.isin(Y, [(0, 1), (0, 2), (1, 2)][k])
        first = k if model.multi_class == "ovr" else [0, 0, 1][k]
        t = np.where(Y[rows] == first, 1.0, -1.0) * scores[rows, k]
        total += np.sum(np.logaddexp(0.0, -t) if model.loss == "logistic" else np.maximum(1.0 - t, 0.0))
        if model.kernel == "linear":
            total += 0.5 * model.coef_[k] @ model.coef_[k]
        else:
            points, beta = model.support_vectors_, model.dual_coef_[k]
            total += 0.5 * beta @ rbf_kernel(points, gamma=0.5) @ beta
    return float(total)


@pytest.mark.parametrize("interrupt", [True, False])
@SEVERAL
def test_a_fit_that_is_ended_in_its_first_problem_comes_to_no_other(options: Any, interrupt: bool) -> None:
    ends = Ends(1, interrupt=interrupt)
    model = SVMClassifier(tol=1e-12, max_passes=300, callback=ends, **options)
    if interrupt:
        with pytest.raises(KeyboardInterrupt, match="keeps the best model so far"):
            model.fit(X, Y)
    else:
        model.fit(X, Y)
    assert ends.calls == 1
    found = model.certificate_
    assert found.status is (Status.INTERRUPTED if interrupt else Status.STOPPED)
    assert len(model.history_) >= 1
    bounded = "nu" not in options and options.get("kernel") != "sigmoid"
    assert found.dual == -np.inf if not bounded else 0.0 <= found.dual < found.primal
    assert not np.any(model.dual_coef_[1:])
    assert not np.any(model.intercept_[1:])
    assert model.predict(X).shape == (60,)
    if bounded and options.get("solver") != "perceptron":
        assert found.primal == pytest.approx(objective(model), rel=1e-9)
        assert found.risk_bound >= found.training_risk
        full = SVMClassifier(tol=1e-6, max_passes=3000, **options).fit(X, Y)
        assert found.dual <= full.certificate_.primal <= found.primal
    if options.get("solver") == "perceptron":
        assert model.n_mistakes_[1:].tolist() == [0, 0]


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_problems_that_were_solved_before_are_kept(kernel: str) -> None:
    options: dict[str, Any] = dict(kernel=kernel, gamma=0.5, tol=1e-8, random_state=0, max_passes=3000)
    full = SVMClassifier(**options).fit(X, Y)
    passes: list[int] = []

    def in_the_second(record: Any, w: Any) -> None:
        passes.append(record.passes)
        if passes[-1] < passes[max(len(passes) - 2, 0)]:
            raise KeyboardInterrupt

    model = SVMClassifier(callback=in_the_second, **options)
    with pytest.raises(KeyboardInterrupt, match="keeps the best model so far"):
        model.fit(X, Y)
    assert (np.diff(passes) < 0).sum() == 1
    assert passes[-1] < passes[-2]
    np.testing.assert_allclose(model._scores(X)[:, 0], full._scores(X)[:, 0], rtol=0.0, atol=1e-12)
    assert model.intercept_[0] == full.intercept_[0]
    assert not model._scores(X)[:, 2].any()


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_an_interrupt_between_two_problems_keeps_the_first(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "_fit_linear" if kernel == "linear" else "_fit_kernel"
    fit, calls = getattr(Machine, name), 0

    def once(*args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:  # before the solver has anything
            raise KeyboardInterrupt
        return fit(*args, **options)

    monkeypatch.setattr(Machine, name, once)
    model = SVMClassifier(kernel=kernel)
    with pytest.raises(KeyboardInterrupt, match="keeps the best model so far"):
        model.fit(X, Y)
    assert calls == 2
    assert model.certificate_.status is Status.INTERRUPTED
    assert model._scores(X)[:, 0].any()
    assert not model._scores(X)[:, 1:].any()


def test_a_warm_start_goes_on_from_what_is_there() -> None:
    model = SVMClassifier(tol=1e-6, max_passes=3000, warm_start=True, callback=Ends(1, interrupt=False)).fit(X, Y)
    model.set_params(callback=None).fit(X, Y)
    whole = SVMClassifier(tol=1e-6, max_passes=3000).fit(X, Y)
    assert model.certificate_.status is Status.CONVERGED
    assert model.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=2e-6)


def test_an_ended_model_comes_back_from_a_file(tmp_path: Any) -> None:
    model = SVMClassifier(kernel="rbf", callback=Ends(1, interrupt=False)).fit(X, Y)
    save_model(model, tmp_path / "model")
    same = load_model(tmp_path / "model")
    assert same.certificate_ == model.certificate_
    np.testing.assert_array_equal(same.predict(X), model.predict(X))


def test_a_search_and_a_path_are_ended_by_one_interrupt() -> None:
    ends = Ends(1, interrupt=True)
    search = SVMClassifierCV(Cs=3, max_passes=10, tol=1e-12, solver="coordinate_ascent", callback=ends)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, Y)
    assert ends.calls == 1
    assert "estimator_" not in vars(search)
    ends = Ends(1, interrupt=True)
    with pytest.raises(KeyboardInterrupt):
        svm_path(X, Y, 3, callback=ends, max_passes=10, tol=1e-12)
    assert ends.calls == 1


REFITS = [
    (SVMClassifier(), {"C": 1e60}, (X, Y), (X[:, :2], Y[::-1] + 7)),
    (SVMClassifier(), {"nu": 0.99}, (X, Y), (X, (Y > 0) + 5)),
    (SVMClassifier(kernel="rbf"), {"C": 1e60}, (X, Y), (X, (Y > 0) + 5)),
    (MulticlassSVM(), {"C": 1e60}, (X, Y), (X[:, :2], Y + 7)),
    (AUCClassifier(), {"C": 1e60}, (X, Y > 0), (X[:, :2], (Y > 0) + 7)),
    (SVMRegressor(), {"C": 1e60}, (X, Y), (X[:, :2], Y + 7)),
    (SVMRegressor(kernel="rbf"), {"solver": "newton"}, (X, Y), (X[:, :2], Y + 7)),
    (OneClassSVM(), {"nu": 0.5}, (X,), (X[:, :2] * 1e300,)),
    (SVMRanker(), {"C": 1e60}, (X, Y), (X[:, :2], Y)),
    (SVMClassifierCV(Cs=2), {"Cs": [1.0, 1e60]}, (X, Y), (X[:, :2], Y + 7)),
    (SVMRegressorCV(Cs=2), {"Cs": [1.0, 1e60]}, (X, Y), (X[:, :2], Y + 7)),
    (
        SequenceSVM(),
        {"C": 1e60},
        ([[["a"], ["b"]], [[], ["c"]]], [["x", "y"], ["x", "y"]]),
        ([[["d"]], []], [["z"], []]),
    ),
]


@pytest.mark.parametrize(("model", "change", "data", "other"), REFITS, ids=lambda value: repr(value)[:50])
def test_a_refit_that_fails_leaves_the_model_as_it_was(model: Any, change: Any, data: Any, other: Any) -> None:
    model.fit(*data)
    before, predicted = dict(vars(model)), model.predict(data[0])
    with pytest.raises(ValueError, match=r"too large|not feasible|is for a loss|epsilon_insensitive|smooth"):
        model.set_params(**change).fit(*other)
    after = {name: value for name, value in vars(model).items() if name.endswith("_") or name.startswith("_")}
    for name, value in after.items():
        assert value is before[name], name
    assert after.keys() == {name for name in before if name.endswith("_") or name.startswith("_")}
    np.testing.assert_array_equal(np.array(model.predict(data[0])), np.array(predicted))


def test_names_of_features_of_data_that_were_refused_do_not_stand_beside_older_weights() -> None:
    pandas = pytest.importorskip("pandas")
    model = SVMClassifier().fit(pandas.DataFrame(X, columns=list("abc")), Y)
    with pytest.raises(DataError, match="one class only"):
        model.fit(pandas.DataFrame(X, columns=list("cba")), np.zeros(60))
    assert model.feature_names_in_.tolist() == list("abc")


def test_an_interrupt_before_the_first_pass_leaves_the_model_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    model = SVMClassifier().fit(X, Y)
    before = dict(vars(model))

    def interrupted(*args: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Machine, "_fit_linear", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :2], np.where(Y > 0, "x", "y"))
    assert vars(model) == before


def test_a_warning_that_is_an_error_comes_after_the_model_is_stored() -> None:
    import warnings

    model = SVMClassifier().fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(Warning, match="pass limit"):
            model.set_params(max_passes=2, tol=1e-12).fit(X, np.where(Y > 0, "x", "y"))
    assert model.classes_.tolist() == ["x", "y"]
    assert model.certificate_.passes == 2
