"""Entries that are no numbers are named with their place, by every machine, in fits and predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from maxmargin import (
    AUCClassifier,
    HardMarginSVM,
    MulticlassSVM,
    OneClassSVM,
    SVMClassifier,
    SVMClassifierCV,
    SVMRanker,
    SVMRegressor,
    SVMRegressorCV,
    svm_path,
)
from maxmargin.errors import DataError

X = np.random.default_rng(0).normal(size=(30, 4)) + np.repeat([[0.0], [5.0]], 15, axis=0)
Y = np.repeat([0, 1], 15)
# some of these scores are finite, and some are not
TOO_LARGE = (
    r"(the values of row {0} are too large to compute its score|row {0} has a score of [\d.e+]+ in size, and sums of "
    r"scores above 1e\+300 overflow); scale X as"
)
MACHINES: dict[str, Any] = {
    "classifier": SVMClassifier(),
    "kernel": SVMClassifier(kernel="rbf"),
    "regressor": SVMRegressor(),
    "one class": OneClassSVM(),
    "several classes": MulticlassSVM(),
    "hard margin": HardMarginSVM(),
    "auc": AUCClassifier(),
    "ranker": SVMRanker(),
    "search": SVMClassifierCV(Cs=[1.0], cv=2),
    "search of regressors": SVMRegressorCV(Cs=[1.0], cv=2),
}


def spoilt(value: float) -> np.ndarray:
    out = X.copy()
    out[17, 2] = out[20, 0] = value
    return out


def fitted(machine: Any, rows: Any) -> Any:
    return machine.fit(rows) if isinstance(machine, OneClassSVM) else machine.fit(rows, Y)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", MACHINES)
def test_the_place_is_named(name: str, value: float) -> None:
    what = "NaN" if np.isnan(value) else "infinity"
    said = rf"{type(MACHINES[name]).__name__}: X contains {what}, first in row 17, column 2: \w+ .*"
    for form in (np.asarray, sp.csr_matrix, sp.csc_matrix, lambda rows: rows.astype(np.float32), np.ndarray.tolist):
        with pytest.raises(DataError, match=said) as caught:
            fitted(MACHINES[name], form(spoilt(value)))
        assert "\n" not in str(caught.value)
    model = fitted(MACHINES[name], X)
    with pytest.raises(DataError, match=said.replace(type(model).__name__, "[A-Za-z]+")):
        model.predict(spoilt(value))


def test_columns_of_a_frame_are_named() -> None:
    frame = pd.DataFrame(spoilt(np.nan), columns=["a", "b", "height", "d"])
    with pytest.raises(DataError, match=r"row 17, column 2 \('height'\): drop such rows"):
        SVMClassifier().fit(frame, Y)
    missing = frame.convert_dtypes()
    with pytest.raises(DataError, match=r"row 17, column 2 \('height'\): drop such rows"):
        SVMClassifier().fit(missing, Y)
    with pytest.raises(DataError, match=r"row 17, column 2 \('height'\)"):
        svm_path(frame, Y, [1.0])


def test_what_is_wrong_with_the_targets_is_still_said_of_them() -> None:
    with pytest.raises(ValueError, match="y"):
        SVMRegressor().fit(X, spoilt(np.nan)[:, 2])
    with pytest.raises(ValueError, match="complex|Complex"):
        SVMClassifier().fit(X * 1j, Y)


@pytest.mark.parametrize("name", MACHINES)
def test_words_among_numbers_are_named(name: str) -> None:
    rows = X.astype(object)
    rows[17, 2], rows[3, 1] = "tall", "2.5"  # the second one spells a number
    for form in (np.asarray, np.ndarray.tolist):
        with pytest.raises(DataError, match=r": X contains 'tall', first in row 17, column 2: give numbers"):
            fitted(MACHINES[name], form(rows))
    with pytest.raises(DataError, match=r"row 17, column 2 \('height'\): give numbers"):
        fitted(MACHINES[name], pd.DataFrame(rows, columns=["a", "b", "height", "d"]))


LINEAR = [
    SVMClassifier(multi_class="ovo"),
    SVMClassifierCV(Cs=[1.0], cv=2, multi_class="ovo"),
    OneClassSVM(kernel="linear"),
]
POLYNOMIAL = [machine(kernel="poly") for machine in (SVMClassifier, SVMRegressor, OneClassSVM, HardMarginSVM)]
# those of the rbf kernel have a limit
UNBOUNDED = [each for each in (*MACHINES.values(), *LINEAR, *POLYNOMIAL) if getattr(each, "kernel", "") != "rbf"]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("machine", UNBOUNDED, ids=repr)
def test_scores_that_overflow_are_refused_by_every_machine(machine: Any, classes: int, form: Any) -> None:
    if classes == 3 and isinstance(machine, HardMarginSVM | AUCClassifier):
        classes = 2
    model = clone(machine).fit(X, np.arange(30) * classes // 30)
    w = np.atleast_2d(getattr(model, "coef_", np.ones(4)))[-1]
    far = np.vstack([X[:2], 1.7e308 * np.where(w < 0.0, -1.0, 1.0)])  # of the largest score that a row can have
    for method in ("predict", "decision_function", "score_samples"):
        if hasattr(model, method):
            with pytest.raises(DataError, match=TOO_LARGE.format(2)):
                getattr(model, method)(form(far))
            assert np.isfinite(getattr(model, method)(form(X))).all()


def test_scores_of_a_path_that_overflow_are_refused() -> None:
    path = svm_path(X, Y, 3)
    with pytest.raises(DataError, match=TOO_LARGE.format(1)):
        path.predict(np.vstack([X[:1], np.full((1, 4), 1.7e308) * np.sign(path.coef_[-1])]))
