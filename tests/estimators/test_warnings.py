"""Warnings point to the line of the user that called: of every estimator, however deep the fit lies in it."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

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
    svm_path,
)
from maxmargin.status import Status
from maxmargin.structures.multiclass import Multiclass

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
VALUES = X @ [1.0, -1.0, 0.5, 0.0] + RNG.normal(size=60)
TWO, THREE = (VALUES > 0.0).astype(int), np.digitize(VALUES, [-1.0, 1.0])
TOKENS = [[[f"w={k}"] for k in RNG.integers(6, size=4)] for _ in range(20)]
TAGS = [RNG.choice(["A", "B"], size=4).tolist() for _ in range(20)]
EARLY: Any = {"tol": 0.0, "max_passes": 2}


def here() -> int:
    """The line of the caller."""
    return sys._getframe(1).f_lineno


def where(call: Callable[[], Any], category: type[Warning]) -> list[tuple[str, int]]:
    """The places that warnings of a call name."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [(each.filename, each.lineno) for each in caught if issubclass(each.category, category)]


MODELS: list[Any] = [
    (SVMClassifier(10.0, **EARLY), (X, TWO)),
    (SVMClassifier(10.0, kernel="rbf", tol=1e-12, max_passes=2), (X, TWO)),
    (SVMClassifier(multi_class="ovo", **EARLY), (X, THREE)),
    (SVMRegressor(10.0, **EARLY), (X, VALUES)),
    (OneClassSVM(kernel="rbf", nu=0.5, tol=1e-14, max_passes=2), (X,)),
    (HardMarginSVM(solver="coordinate_ascent", **EARLY), (X, X[:, 0] > 0.0)),
    (SVMRanker(**EARLY), (X, THREE)),
    (SVMRanker(float("inf"), **EARLY), (X[:20], X[:20] @ np.ones(4))),
    (AUCClassifier(**EARLY), (X, TWO)),
    (MulticlassSVM(**EARLY), (X, THREE)),
    (MulticlassSVM(solver="frank_wolfe", **EARLY), (X, THREE)),
    (SequenceSVM(**EARLY), (TOKENS, TAGS)),
    (StructuredSVM(Multiclass(3), **EARLY), (X, THREE)),
    (SVMClassifierCV([1.0], cv=2, **EARLY), (X, TWO)),
]


@pytest.mark.parametrize(
    ("model", "data"), MODELS, ids=lambda each: "" if isinstance(each, tuple) else repr(each).split(" object at ")[0]
)
def test_an_early_end_is_told_of_the_line_that_called_fit(model: Any, data: Any) -> None:
    def call() -> None:
        lines.append(here() + 1)
        model.fit(*data)

    lines: list[int] = []
    places = where(call, ConvergenceWarning)
    assert places
    assert set(places) == {(__file__, lines[0])}


def test_of_comparisons_and_paths_too() -> None:
    def compared() -> None:
        SVMRanker(**EARLY).fit_comparisons(None, ["a", "b", "c", "a"], ["b", "c", "a", "c"])

    def path() -> None:
        svm_path(X, TWO, [1.0, 10.0], **EARLY)

    for call in (compared, path):
        places = where(call, ConvergenceWarning)
        assert places
        assert set(places) == {(__file__, call.__code__.co_firstlineno + 1)}


def test_a_margin_of_nothing_is_told_of_the_line_that_called_fit() -> None:
    """Told by another way, from the middle of the fit."""

    def call() -> None:
        SVMClassifier(nu=0.3).fit(X, np.arange(60) % 2)

    def rest() -> None:
        SVMClassifier(nu=0.3, multi_class="ovr").fit(X, np.arange(60) % 3)

    for each in (call, rest):
        places = where(each, UserWarning)
        assert places
        assert set(places) == {(__file__, each.__code__.co_firstlineno + 1)}


ENDINGS = {
    Status.PASS_LIMIT: "stopped by pass limit",
    Status.TIME_LIMIT: "stopped by time limit",
    Status.STANDSTILL: "came to a standstill",
    Status.STALLED: "stalled",
}


@pytest.mark.parametrize("status", ENDINGS, ids=str)
def test_every_early_end_is_told_in_a_sentence(status: Status, monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(model: Any, run: Any) -> Any:
        result = watched(model, run)
        return replace(result, certificate=replace(result.certificate, status=status))

    watched = SequenceSVM._watched
    monkeypatch.setattr(SequenceSVM, "_watched", ended)
    line = rf"^SequenceSVM {ENDINGS[status]} at a relative gap of \S+ \(tol 0.01\) after \d+ pass.*{status.advice}$"
    with pytest.warns(ConvergenceWarning, match=line):
        SequenceSVM().fit([[["a"], ["b"]]], [["A", "B"]])


def test_no_end_is_told_as_stopped_by_what_does_not_stop() -> None:
    """The statuses that are no names of limits have words of their own."""
    told = {status: status.ending for status in Status}
    assert {status for status, ending in told.items() if ending.startswith("stopped by")} == {
        Status.PASS_LIMIT,
        Status.TIME_LIMIT,
    }
    assert len(set(told.values())) == len(Status)
