"""Numbers at the ends of what floats hold, and refusals in one line."""

from __future__ import annotations

import re
import warnings
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
    SVMClassifier,
    SVMClassifierCV,
    SVMRanker,
    SVMRegressor,
    SVMRegressorCV,
    load_model,
)
from maxmargin.errors import DataError, ModelFileError
from model_file_changes import Change, set_part, tampered

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 3))
TWO = np.where(X[:, 0] > 0.0, 1, 0)
MACHINES: list[Any] = [
    AUCClassifier(),
    HardMarginSVM(),
    MulticlassSVM(),
    OneClassSVM(),
    SVMClassifier(),
    SVMClassifier(kernel="rbf"),
    SVMClassifierCV([1.0], cv=3),
    SVMRanker(),
    SVMRegressor(),
    SVMRegressorCV([1.0], cv=3),
]
SCORED = [machine for machine in MACHINES if hasattr(machine, "score") and not isinstance(machine, SVMRanker)]


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_an_integer_beyond_all_floats_is_refused_with_its_place(machine: Any) -> None:
    large = X.astype(object)
    large[5, 2] = 10**400
    place = rf"^{type(machine).__name__.removesuffix('CV')}(CV)?: X has 1000.*, first in row 5, column 2: it is beyond all floats"
    with pytest.raises(DataError, match=place):
        machine.fit(large, TWO)
    machine.fit(X, TWO)
    with pytest.raises(DataError, match=place):
        machine.predict(large)


def test_an_integer_beyond_all_floats_in_a_sequence() -> None:
    with pytest.raises(DataError, match="sequence 1 holds an integer beyond all floats"):
        SequenceSVM().fit([[[1.0, 2.0]], [[1, 10**400]]], [["a"], ["b"]])


@pytest.mark.parametrize("solver", ["frank_wolfe", "n_slack", "one_slack", "bundle"])
def test_scores_whose_rounding_hides_losses_are_laid_to_the_features(solver: str) -> None:
    rows = [[{"w": 1e20}, {"w": "b"}], [{"w": 1}, {"w": 2}], [{"w": 1.5}]]
    with pytest.raises(DataError, match="rounding hides a loss of 1; scale the values of its features down"):
        SequenceSVM(solver=solver, random_state=0).fit(rows, [["P", "Q"], ["Q", "P"], ["P"]])


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
@pytest.mark.parametrize("rows", [X[:, 0], np.float64(3.0)], ids=["one dimension", "none"])
def test_what_has_not_two_dimensions_is_refused_in_one_line(machine: Any, rows: Any) -> None:
    with pytest.raises(DataError, match=rf"^{type(machine).__name__}: Expected 2D array.*Reshape your data") as caught:
        machine.fit(rows, TWO)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("machine", [SVMRegressor(), SVMRanker()], ids=repr)
def test_complex_targets_are_refused_in_one_line(machine: Any) -> None:
    with pytest.raises(DataError, match="Complex data not supported: y must hold real numbers$"):
        machine.fit(X, TWO + 1j)


def test_values_of_parameters_are_shown_in_one_line() -> None:
    with pytest.raises(ValueError, match=re.escape("not array([[0., 0.], [0., 0.]])")):
        SVMClassifier(C=np.zeros((2, 2))).fit(X, TWO)


@pytest.mark.parametrize(
    "machine", [AUCClassifier(), SVMClassifier(solver="interior_point"), SVMClassifier(), SVMRegressor()], ids=repr
)
def test_weights_of_next_to_nothing(machine: Any) -> None:
    """Products of two of them are 0, and their quotients infinite."""
    noisy = np.where(RNG.random(24) < 0.2, 1 - TWO, TWO)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        machine.fit(X, noisy, sample_weight=np.where(np.arange(24) % 2, 1e-300, 1.0))
    assert machine.certificate_.status.ok


@pytest.mark.parametrize("machine", SCORED, ids=repr)
def test_weights_of_scores_are_checked(machine: Any) -> None:
    weight = RNG.random(24)
    machine.fit(X, TWO)
    for change, message in (
        (np.where(np.arange(24) == 3, -1.0, weight), r"sample_weight\[3\] is -1.0"),
        (np.ma.masked_array(weight, weight > 0.5), "without a mask"),
        (weight + 1j, "must hold real numbers"),
        (np.zeros(24), "nothing to score"),
    ):
        with pytest.raises(DataError, match=message):
            machine.score(X, TWO, sample_weight=change)
    wanted = machine.score(X, TWO, sample_weight=weight)
    assert machine.score(X, TWO, sample_weight=weight * 1e308) == pytest.approx(wanted)


def test_values_to_be_scored_are_checked() -> None:
    with pytest.raises(DataError, match="y must be an array of real numbers"):
        SVMRegressor().fit(X, TWO).score(X, [10**400, *TWO[1:]])


@pytest.mark.parametrize(
    ("machine", "change"),
    [
        (SVMClassifier().fit(X, TWO), set_part("intercept", {"float": "inf"})),
        (SVMClassifierCV([1.0], cv=3).fit(X, TWO), set_part("intercept", {"float": "nan"})),
        (SVMRegressor().fit(X, TWO), set_part("intercept", {"float": "nan"})),
        (OneClassSVM().fit(X), set_part("offset", {"float": "-inf"})),
        (HardMarginSVM().fit(X, TWO), set_part("margin", {"float": "nan"})),
        (SVMRanker().fit(X, TWO), set_part("coef", {"float": "inf"})),
        (SVMClassifier().fit(X, TWO), set_part("feature_names", ["a", [], "b"])),
        (MulticlassSVM().fit(X, TWO), set_part("feature_names", ["a", 1, "b"])),
    ],
    ids=["intercept", "of a search", "of a regressor", "offset", "margin", "ranking", "a list", "a number"],
)
def test_numbers_and_names_in_the_header_of_a_file(machine: Any, change: Change, tmp_path: Path) -> None:
    path = tampered(machine, tmp_path / "m", change)
    with pytest.raises(ModelFileError, match="not finite|must be text") as caught:
        load_model(path)
    assert "\n" not in str(caught.value)
