"""Parameters and targets of the wrong kind: switches that are text, numbers that are none, targets that are labels."""

from __future__ import annotations

import inspect
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maxmargin import (
    AUCClassifier,
    HardMarginSVM,
    MulticlassSVM,
    OneClassSVM,
    SequenceSVM,
    StructuredSVM,
    SVMClassifier,
    SVMClassifierCV,
    SVMRanker,
    SVMRegressor,
    SVMRegressorCV,
    TreeSVM,
    load_model,
    svm_path,
)
from maxmargin.errors import DataError
from model_file_changes import set_part, tampered

RNG = np.random.default_rng(5)
X = RNG.normal(size=(40, 3))
Y = (X[:, 0] > 0).astype(int)
NUMBERS = X @ [1.0, -1.0, 0.5]
EVERY = [
    SVMClassifier, SVMRegressor, OneClassSVM, HardMarginSVM, AUCClassifier, SVMRanker, MulticlassSVM, SequenceSVM,
    TreeSVM, SVMClassifierCV, SVMRegressorCV,
]  # fmt: skip
SWITCHES = ("fit_intercept", "penalize_intercept", "warm_start", "functions", "empty")


@pytest.mark.parametrize(
    ("estimator", "name", "value"),
    [
        (kind, name, value)
        for kind in [*EVERY, StructuredSVM]
        for name in SWITCHES
        for value in ("no", 0, 1, None, 1.0, [True])
        if name in inspect.signature(kind).parameters
        if (kind, name, value) != (MulticlassSVM, "penalize_intercept", None)  # which has a meaning
    ],
)
def test_switches_are_true_or_false(estimator: Any, name: str, value: Any) -> None:
    model = (estimator(structure=None) if estimator is StructuredSVM else estimator()).set_params(**{name: value})
    data = ([[["a"]]], [["x"]]) if estimator is SequenceSVM else (X, Y)
    with pytest.raises(ValueError, match=f"{name} must be True"):
        model.fit(*data)
    assert "coef_" not in vars(model)


def test_switches_of_streams_and_paths() -> None:
    with pytest.raises(ValueError, match="fit_intercept must be True or False, not 'no'"):
        svm_path(X, Y, fit_intercept="no")
    for model, more in ((SVMClassifier(), {"classes": [0, 1]}), (SVMRegressor(), {})):
        with pytest.raises(ValueError, match="penalize_intercept must be True or False, not 'no'"):
            model.set_params(penalize_intercept="no").partial_fit(X, Y, **more)
    assert SVMClassifier(fit_intercept=np.False_).fit(X, Y).intercept_.tolist() == [0.0]


@pytest.mark.parametrize("estimator", EVERY)
@pytest.mark.parametrize("value", ["yes", None, 1.5])
def test_verbose_is_a_number(estimator: Any, value: Any) -> None:
    data = ([[["a"]]], [["x"]]) if estimator is SequenceSVM else (X, Y)
    with pytest.raises(ValueError, match="verbose must be an integer, not"):
        estimator(verbose=value).fit(*data)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"C": 10**400}, "C must be a finite number > 0, not 1000"),
        ({"C": 10**5000}, "C must be a finite number > 0, not an integer of thousands of digits"),
        ({"C": Fraction(10**400)}, "C must be a finite number > 0"),
        ({"C": True}, "C must be a finite number > 0, not True"),
        ({"tol": -(10**400)}, "tol must be a finite number >= 0"),
        ({"max_passes": 10**400}, "max_passes must be an integer >= 1"),
        ({"max_time": 10**400}, "max_time must be a finite number >= 0"),
        ({"n_jobs": True}, "n_jobs must be a non-zero integer or None, not True"),
    ],
    ids=lambda value: str(type(value)),
)
def test_numbers_that_are_none(options: dict[str, Any], what: str) -> None:
    for kind in (MulticlassSVM, SVMClassifier):
        if options.keys() <= kind().get_params().keys():
            with pytest.raises(ValueError, match=what):
                kind(**options).fit(X, Y)


@pytest.mark.parametrize("value", ["no", 0, 1])
def test_files_of_versions_that_took_such_switches_open(tmp_path: Path, value: Any) -> None:
    model = SVMClassifier(fit_intercept=bool(value)).fit(X, Y)

    def older(contents: Any) -> None:
        contents.values["parameters"]["fit_intercept"] = value
        contents.values["parts"].pop("form")

    same = load_model(tampered(model, tmp_path / "model", older))
    assert same.fit_intercept is bool(value)
    np.testing.assert_array_equal(same.predict(X), model.predict(X))
    jobs = tampered(MulticlassSVM().fit(X, Y), tmp_path / "jobs", lambda c: c.values["parameters"].update(n_jobs=True))
    assert load_model(jobs).n_jobs == 1
    assert load_model(jobs).penalize_intercept is None


TEXT = [NUMBERS.astype(str), NUMBERS.astype(str).astype(object), NUMBERS.astype(str).tolist()]


@pytest.mark.parametrize("y", [*TEXT, np.array(["a"] * 40), np.full(40, np.datetime64("2020-01-01"))])
@pytest.mark.parametrize("kind", [SVMRegressor, SVMRegressorCV, SVMRanker])
def test_targets_that_are_no_numbers_are_refused(kind: Any, y: Any) -> None:
    with pytest.raises(DataError, match="y must hold real numbers, not"):
        kind().fit(X, y)
    if kind is not SVMRegressorCV:
        with pytest.raises(DataError, match="y must hold real numbers, not"):
            kind().partial_fit(X, y)


def test_a_path_of_regressors_refuses_text_too() -> None:
    with pytest.raises(DataError, match="y must hold real numbers, not"):
        svm_path(X, TEXT[0], task="regression")


@pytest.mark.parametrize("model", [SVMRegressor(random_state=0), SVMRanker()], ids=repr)
def test_booleans_count_for_0_and_1(model: Any) -> None:
    as_numbers = model.fit(X, Y).coef_
    np.testing.assert_array_equal(model.fit(X, Y > 0).coef_, as_numbers)
    np.testing.assert_array_equal(model.fit(X, (Y > 0).tolist()).coef_, as_numbers)
    np.testing.assert_array_equal(model.fit(X, np.array([Fraction(int(k)) for k in Y])).coef_, as_numbers)


@pytest.mark.parametrize(("factor", "what"), [(1e-200, "too small; scale y up"), (1e200, "too large; scale y down")])
def test_targets_of_no_size_are_refused_in_streams_as_in_fits(factor: float, what: str) -> None:
    for name in ("fit", "partial_fit"):
        with pytest.raises(DataError, match=what):
            getattr(SVMRegressor(), name)(X, NUMBERS * factor)


def test_a_damaged_form_is_refused(tmp_path: Path) -> None:
    from maxmargin.errors import ModelFileError

    model = SVMClassifier().fit(X, Y)
    for form in (["ovr", "hinge"], ["one", "hinge", "free"], ["ovr", "hinge", "no"], ["ovr", 3, "free"], 7):
        with pytest.raises(ModelFileError, match="do not fit together"):
            load_model(tampered(model, tmp_path / "model", set_part("form", form)))
