"""Wanted margins: which estimators have them, and of what size they, scales and losses may be."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from maxmargin import (
    AUCClassifier,
    HardMarginSVM,
    MulticlassSVM,
    OneClassSVM,
    SequenceSVM,
    SVMClassifier,
    SVMRanker,
    SVMRegressor,
)
from maxmargin.errors import DataError

X = np.random.default_rng(0).normal(size=(20, 2))
CLASSES = (X[:, 0] > 0.0).astype(int)


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (SVMRegressor(), (X, X[:, 0])),
        (SVMRegressor(kernel="rbf"), (X, X[:, 0])),
        (SVMRegressor(nu=0.5), (X, X[:, 0])),
        (OneClassSVM(), (X,)),
        (AUCClassifier(), (X, CLASSES)),
        (SVMRanker(), (X, CLASSES)),
        (HardMarginSVM(), (X, CLASSES)),
    ],
    ids=repr,
)
def test_margins_without_a_meaning_are_refused(model: Any, data: Any) -> None:
    with pytest.raises(TypeError, match=rf"{type(model).__name__}\.fit\(\) .*'margin'"):
        model.fit(*data, margin=np.full(20, 2.0))
    assert not hasattr(model, "coef_")


def test_the_nu_form_finds_its_own_margin() -> None:
    with pytest.raises(ValueError, match="nu is for the hinge loss without wanted margins"):
        SVMClassifier(nu=0.3).fit(X, CLASSES, margin=np.full(20, 2.0))


@pytest.mark.parametrize("value", [1e300, 1e200, 1.1e50, 0.9e-50, 1e-300])
@pytest.mark.parametrize(
    "model",
    [SVMClassifier(), SVMClassifier(loss="squared_hinge"), SVMClassifier(kernel="rbf"), MulticlassSVM()],
    ids=repr,
)
def test_margins_of_no_size_are_refused_by_name(model: Any, value: float) -> None:
    for k, margin in ((0, np.full(20, value)), (19, np.append(np.ones(19), value))):
        with pytest.raises(
            DataError, match=re.escape(f"margin[{k}] is {value:g}: margins to compute with lie between")
        ):
            model.fit(X, CLASSES, margin=margin)


@pytest.mark.parametrize("value", [1e50, 1e-20])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_margins_of_great_and_small_size_are_reached(kernel: str, loss: str, value: float) -> None:
    """A common factor ``m`` of the margins is one of the weights, with ``C / m`` in the place of ``C`` (hinge)."""
    model = SVMClassifier(kernel=kernel, loss=loss).fit(X, CLASSES, margin=np.full(20, value))
    assert model.certificate_.status.ok
    assert 0.0 <= model.certificate_.relative_gap <= 1e-3


@pytest.mark.parametrize("solver", ["auto", "frank_wolfe"])
def test_what_margins_make_of_costs_and_rows_is_said_of_margins(solver: str) -> None:
    with pytest.raises(DataError, match=r"margin times C and the weight of its row goes from 1e\+10 to 1e\+60"):
        MulticlassSVM(1e10, solver=solver).fit(X, CLASSES, margin=np.append(np.ones(19), 1e50))
    with pytest.raises(DataError, match="C times the largest sample weight is 1e"):  # so it is without margins
        MulticlassSVM(1e60, solver=solver).fit(X, CLASSES, margin=np.full(20, 1e-20))
    with pytest.raises(DataError, match=r"rows divided by their margin \(the least is 1e-50\) are too large"):
        MulticlassSVM(solver=solver).fit(X * 1e60, CLASSES, margin=np.full(20, 1e-50))


@pytest.mark.parametrize("value", [1e300, 1e101, 1e-300])
def test_the_scale_of_an_intercept_has_a_size(value: float) -> None:
    with pytest.raises(ValueError, match="intercept_scaling=1e.* is out of what can be computed with"):
        MulticlassSVM(intercept_scaling=value, penalize_intercept=True).fit(X, CLASSES)


@pytest.mark.parametrize("size", [1e-60, 1e-200])
def test_losses_of_no_size_are_refused(size: float) -> None:
    costs = size * (1.0 - np.eye(2))
    for loss in (costs, lambda true, predicted: size * float(true != predicted)):
        with pytest.raises(DataError, match=rf"loss has no entry above {size:g}: too small to compute with"):
            MulticlassSVM(loss=loss).fit(X, CLASSES)
        with pytest.raises(DataError, match=rf"loss has no entry above {size:g}: too small to compute with"):
            SequenceSVM(loss=loss).fit([[["a"], ["b"]]], [["x", "y"]])
    with pytest.raises(DataError, match="loss times label_weight has no entry above"):
        SequenceSVM(label_weight={"x": size, "y": size}).fit([[["a"], ["b"]]], [["x", "y"]])
    MulticlassSVM(loss=np.array([[0.0, 1.0], [size, 0.0]])).fit(X, CLASSES)  # beside others it is as good as 0


@pytest.mark.parametrize(
    "model",
    [
        SVMClassifier(0.5, tol=1e-9),
        SVMClassifier(0.5, tol=1e-9, loss="squared_hinge", penalize_intercept=True),
        SVMClassifier(0.5, tol=1e-9, kernel="rbf", gamma=0.5),
        MulticlassSVM(0.5, tol=1e-9, max_passes=5000, random_state=0),
        MulticlassSVM(0.5, tol=1e-9, max_passes=5000, solver="one_slack"),
    ],
    ids=str,
)
def test_copies_are_slacks_that_cost_more_and_not_wider_margins(model: Any) -> None:
    """Three ways to weigh rows, of which the first two are one problem and the third is another."""
    rng = np.random.default_rng(1)
    X, times = rng.normal(size=(40, 3)), 1 + np.arange(40) % 3
    y = np.where(X @ [1.0, 2.0, -1.0] + rng.normal(size=40) > 0, 1, 0)
    if isinstance(model, MulticlassSVM):
        y = y + (X[:, 0] > 0.8)
    copies, slacks = clone(model).fit(np.repeat(X, times, 0), np.repeat(y, times)), clone(model)
    slacks.fit(X, y, sample_weight=times)
    margins = clone(model).fit(X, y, margin=times)
    assert slacks.certificate_.primal == pytest.approx(copies.certificate_.primal, rel=1e-8)
    said, other = slacks.decision_function(X), margins.decision_function(X)
    np.testing.assert_allclose(said, copies.decision_function(X), atol=2e-3)
    assert np.abs(other - said).max() > 0.1
    assert margins.certificate_.primal > 1.01 * slacks.certificate_.primal
