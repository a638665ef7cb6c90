"""Dates, spans of time, complex numbers and other objects among the features are refused with their place."""

from __future__ import annotations

import datetime
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import (
    AUCClassifier,
    HardMarginSVM,
    MulticlassSVM,
    OneClassSVM,
    SequenceSVM,
    SVMClassifier,
    SVMRanker,
    SVMRegressor,
    save_model,
)
from maxmargin.errors import DataError, ModelFileError

pd = pytest.importorskip("pandas")

DAYS = pd.date_range("2020-01-05", periods=4)
NUMBERS = [1.0, 2.0, 3.0, 4.0]
Y = [0, 1, 0, 1]
TIMES: dict[str, tuple[Any, str]] = {
    "dates among numbers": (pd.DataFrame({"a": NUMBERS, "d": DAYS}), r"2020-01-05 00:00:00 .* column 1 \('d'\)"),
    "spans among numbers": (pd.DataFrame({"a": NUMBERS, "d": DAYS - DAYS[0]}), r"0 days .* column 1 \('d'\)"),
    "missing dates": (pd.DataFrame({"d": [pd.NaT, *DAYS[:3]], "a": NUMBERS}), r"NaT .* column 0 \('d'\)"),
    "dates of a zone": (pd.DataFrame({"a": NUMBERS, "d": DAYS.tz_localize("UTC")}), r"2020.* column 1 \('d'\)"),
    "dates alone": (pd.DataFrame({"d": DAYS, "e": DAYS}), r"2020.* column 0 \('d'\)"),
    "periods": (pd.DataFrame({"a": NUMBERS, "d": DAYS.to_period("D")}), r"2020-01-05 .* column 1 \('d'\)"),
    "intervals": (pd.DataFrame({"a": NUMBERS, "d": pd.interval_range(0, 4)}), r"\(0, 1\] .* column 1 \('d'\)"),
    "timestamps": (np.array([[1.0, DAYS[0]]] * 4, object), "2020.* column 1"),
    "dates in lists": ([[1.0, datetime.date(2020, 1, 5)]] * 4, "2020-01-05 .* column 1"),
    "an array of dates": (np.array(DAYS)[:, None], "2020-01-05.* column 0"),
    "an array of spans": (np.array(DAYS - DAYS[0])[:, None], "0 .* column 0"),
    "NumPy's dates in lists": ([[1.0, np.datetime64("2020-01-05")]] * 4, "2020-01-05 .* column 1"),
    "arrays of dates in a list": ([np.array(DAYS[:2])] * 4, "2020-01-05.* column 0"),
    "NumPy's dates in objects": (np.array([[1.0, np.timedelta64(3, "D")]] * 4, object), "3 days .* column 1"),
}


@pytest.mark.parametrize("kind", TIMES)
@pytest.mark.parametrize("model", [SVMClassifier(), SVMRanker(), MulticlassSVM(), OneClassSVM()], ids=str)
def test_times_are_refused(model: Any, kind: str) -> None:
    X, message = TIMES[kind]
    pattern = f"X contains {message}.*: give numbers, such as the days since some date$"
    with pytest.raises(DataError, match=pattern) as caught:
        model.fit(X, Y)
    assert "first in row 0" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_times_are_refused_by_predictions() -> None:
    model = SVMClassifier().fit(np.array([NUMBERS, NUMBERS]).T, Y)
    with pytest.raises(DataError, match="first in row 0, column 0: give numbers"):
        model.predict(np.array(DAYS).reshape(2, 2))


@pytest.mark.parametrize(
    ("X", "place"),
    [
        (np.full((4, 2), 2j), "contains 0+2j, first in row 0, column 0"),
        ([[1.0, 2j]] * 4, "contains 1+0j, first in row 0, column 0"),
        (np.array([[1.0, 2.0], [1.0, 2j]] * 2, object), "contains 0+2j, first in row 1, column 1"),
        (sp.csr_matrix([[0.0, 0.0], [0.0, 2j]] * 2), "contains 0+2j, first in row 1, column 1"),
        (pd.DataFrame({"a": NUMBERS, "c": [2j] * 4}), "contains 0+2j, first in row 0, column 1 ('c')"),
    ],
)
def test_complex_numbers_are_refused_in_one_line(X: Any, place: str) -> None:
    with pytest.raises(DataError, match=re.escape(place)) as caught:
        SVMClassifier().fit(X, Y)
    assert "\n" not in str(caught.value)


def test_other_objects_are_named() -> None:
    with pytest.raises(TypeError, match=r"X contains \{\} \(dict\), first in row 2, column 1: give numbers \("):
        SVMClassifier().fit(np.array([[1.0, 2.0], [1.0, 2.0], [1.0, {}], [None, 2.0]], object), Y)


@pytest.mark.parametrize("comparisons", [False, True])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_solvers_of_hard_rankings_are_listed(loss: Any, comparisons: bool) -> None:
    model = SVMRanker(C=float("inf"), solver="newton", loss=loss)
    with pytest.raises(ValueError, match=r"with C=inf there is none, .*one of \['auto', 'bundle'") as caught:
        _ = model.fit_comparisons(None, ["a"], ["b"]) if comparisons else model.fit([[1.0], [2.0]], [0, 1])
    for name in re.findall(r"'(\w+)'", str(caught.value).partition("must be")[2]):
        assert name != "newton"
        fitted = SVMRanker(C=float("inf"), solver=name, loss=loss, max_passes=300).fit([[1.0], [2.0]], [0, 1])
        assert fitted.certificate_.status.ok


@pytest.mark.parametrize("machine", [SVMClassifier, MulticlassSVM])
@pytest.mark.parametrize("given", [list, np.array])
def test_labels_that_are_dates_are_not_said_to_be_kept(machine: Any, given: Any, tmp_path: Path) -> None:
    days = given([np.datetime64("2020-01-05"), np.datetime64("2020-01-06")])
    model = machine().fit([[0.0], [1.0]], days)
    with pytest.raises(ModelFileError, match="datetime64.*; give dates and times as text or numbers$"):
        save_model(model, tmp_path / "m")


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize(
    "machine", [SVMClassifier, SVMRegressor, MulticlassSVM, OneClassSVM, SVMRanker, HardMarginSVM, AUCClassifier]
)
def test_features_that_are_too_large_are_refused_without_a_warning(machine: Any, free: bool) -> None:
    model = machine(fit_intercept=free) if "fit_intercept" in machine().get_params() else machine()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DataError, match="too large to compute with"):
            model.fit([[1e308], [-1e308], [1.0], [2.0]], Y)
        with pytest.raises(DataError, match=r"too large to compute with; .* is in row 2, column 1$"):
            model.fit(np.array([[1.0, 2.0], [3.0, 1.0], [0.0, -1e200], [2.0, 1e300]]), Y)
        with pytest.raises(DataError, match=r"too large to compute with; .* is in row 2, column 1$"):
            model.fit(sp.csr_matrix([[1.0, 2.0], [3.0, 0.0], [0.0, -1e200], [2.0, 1e300]]), Y)


def test_tokens_with_values_that_are_too_large_are_named() -> None:
    labels = [["P"], ["P", "Q"]]
    for X in ([[{"a": 1.0}], [{"a": 1.0}, {"b": 1e200}]], [np.ones((1, 2)), np.array([[1.0, 2.0], [1e200, 1.0]])]):
        with pytest.raises(DataError, match=r"up to 1e\+200 in size .* is in example 1 \(row 1 of it\)$"):
            SequenceSVM().fit(X, labels)
