"""Masked entries are refused wherever numbers are given, and a mask without any is none."""

from __future__ import annotations

from collections.abc import Callable
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
    kkt_report,
)
from maxmargin.errors import DataError
from maxmargin.hmm import GenerativeHMM
from maxmargin.structures.multiclass import Multiclass

X = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, 0.0], [5.0, 1.0], [6.0, 2.0], [7.0, 0.0]])
CLASSES, VALUES = np.array([0, 0, 0, 1, 1, 1]), np.array([0.0, 1.0, 2.0, 5.0, 6.0, 7.5])
QUERIES = [1, 1, 1, 2, 2, 2]

Fit = Callable[..., Any]
MACHINES: dict[str, tuple[Fit, Any]] = {
    "classifier": (lambda *data, **more: SVMClassifier(random_state=0).fit(*data, **more), CLASSES),
    "kernel": (lambda *data, **more: SVMClassifier(kernel="rbf").fit(*data, **more), CLASSES),
    "multiclass": (lambda *data, **more: MulticlassSVM(random_state=0).fit(*data, **more), CLASSES),
    "auc": (lambda *data, **more: AUCClassifier().fit(*data, **more), CLASSES),
    "search": (lambda *data, **more: SVMClassifierCV(Cs=[1.0], cv=2, random_state=0).fit(*data, **more), CLASSES),
    "stream": (lambda *data, **more: SVMClassifier(random_state=0).partial_fit(*data, classes=[0, 1], **more), CLASSES),
    "regressor": (lambda *data, **more: SVMRegressor(random_state=0).fit(*data, **more), VALUES),
    "search of values": (
        lambda *data, **more: SVMRegressorCV(Cs=[1.0], cv=2, random_state=0).fit(*data, **more),
        VALUES,
    ),
    "stream of values": (lambda *data, **more: SVMRegressor(random_state=0).partial_fit(*data, **more), VALUES),
    "ranker": (lambda *data, **more: SVMRanker(random_state=0).fit(*data, qid=QUERIES, **more), VALUES),
    "one class": (lambda x, y, **more: OneClassSVM(nu=0.5, gamma=1.0).fit(x, **more), VALUES),
}
WITHOUT_WEIGHTS: dict[str, tuple[Fit, Any]] = {
    **MACHINES,
    "hard margin": (lambda *data: HardMarginSVM(random_state=0).fit(*data), CLASSES),
}


def masked(values: Any, *place: int) -> Any:
    """With one entry masked, or none."""
    mask = np.zeros(np.shape(values), bool)
    if place:
        mask[place] = True
    return np.ma.masked_array(values, mask)


def refusal(call: Callable[[], Any]) -> str:
    with pytest.raises(DataError) as refused:
        call()
    return str(refused.value)


LINE = "X must be an array without a mask: row 3, column 1 is masked; fill in what is missing, or leave it out"


@pytest.mark.parametrize("machine", WITHOUT_WEIGHTS)
def test_rows(machine: str) -> None:
    fit, y = WITHOUT_WEIGHTS[machine]
    hidden = masked(X, 3, 1)
    hidden.mask[5, 0] = True
    assert refusal(lambda: fit(hidden, y)) == LINE
    assert refusal(lambda: fit(list(hidden), y)) == LINE
    model, plain = fit(masked(X), y), fit(X, y)
    assert fit(np.ma.masked_array(X), y).predict(X).tolist() == plain.predict(X).tolist()
    for name in ("predict", "decision_function"):
        if hasattr(model, name):
            assert refusal(lambda name=name: getattr(model, name)(hidden)) == LINE
            assert getattr(model, name)(masked(X)).tolist() == getattr(plain, name)(X).tolist()


@pytest.mark.parametrize("machine", ["regressor", "search of values", "stream of values", "ranker"])
def test_targets(machine: str) -> None:
    fit, y = MACHINES[machine]
    line = "y must be an array without a mask: entry 4 is masked; fill in what is missing, or leave it out"
    assert refusal(lambda: fit(X, masked(y, 4))) == line
    plain = fit(X, y).predict(X).tolist()
    assert fit(X, masked(y)).predict(X).tolist() == plain
    assert fit(X, np.ma.masked_array(y)).predict(X).tolist() == plain


@pytest.mark.parametrize("machine", [name for name, (_, y) in WITHOUT_WEIGHTS.items() if y is CLASSES])
def test_classes(machine: str) -> None:
    fit, y = WITHOUT_WEIGHTS[machine]
    assert refusal(lambda: fit(X, masked(y, 4))) == "y[4]: masked cannot be a label: it stands for a missing label"
    assert fit(X, masked(y)).predict(X).tolist() == fit(X, y).predict(X).tolist()


@pytest.mark.parametrize("machine", list(MACHINES))
def test_weights(machine: str) -> None:
    fit, y = MACHINES[machine]
    weight = np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])
    line = "sample_weight must be an array without a mask: entry 2 is masked; fill in what is missing, or leave it out"
    assert refusal(lambda: fit(X, y, sample_weight=masked(weight, 2))) == line
    plain = fit(X, y, sample_weight=weight).predict(X).tolist()
    assert fit(X, y, sample_weight=masked(weight)).predict(X).tolist() == plain


MAKES = [lambda: SequenceSVM(random_state=0), lambda: GenerativeHMM(emission="gaussian")]


@pytest.mark.parametrize("make", MAKES, ids=["svm", "hmm"])
def test_sequences(make: Any) -> None:
    y = [["a", "a", "a"], ["b", "b", "b"]]
    pieces = [X[:3], X[3:]]
    line = "sequence 1 must be an array without a mask: row 2, column 0 is masked; fill in what is missing, or leave it out"
    plain = make().fit(pieces, y)
    for hidden in (
        [X[:3], masked(X[3:], 2, 0)],
        [X[:3], list(masked(X[3:], 2, 0))],
        (X[:3], masked(X[3:], 2, 0)),
        masked(np.array(pieces), 1, 2, 0),
        np.fromiter([X[:3], masked(X[3:], 2, 0)], object, 2),
    ):
        assert refusal(lambda hidden=hidden: make().fit(hidden, y)) == line
        assert refusal(lambda hidden=hidden: plain.predict(hidden)) == line
    assert make().fit([masked(piece) for piece in pieces], y).predict(pieces) == plain.predict(pieces)


def test_vectors_beside_attributes() -> None:
    X_with = [(["w=the", "w=cat", "w=sat"], X[:3]), (["w=a", "w=dog", "w=ran"], masked(X[3:], 0, 1))]
    message = refusal(lambda: SequenceSVM().fit(X_with, [["a"] * 3, ["b"] * 3]))
    assert message.startswith("sequence 1 must be an array without a mask: row 0, column 1 is masked")


class Sides:
    """Of two sides the one that a vector points to, in plain Python."""

    n_features = 2

    def joint_features(self, x: Any, y: int) -> Any:
        return y * np.asarray(x)

    def loss(self, y_true: int, y: int) -> float:
        return float(y_true != y)

    def argmax(self, x: Any, w: Any, y_true: int | None = None) -> int:
        def score(y: int) -> float:
            return float(w @ self.joint_features(x, y)) + (0.0 if y_true is None else self.loss(y_true, y))

        return max((-1, 1), key=score)


def test_examples_of_a_plain_structure() -> None:
    y = [1, 1, 1, -1, -1, -1]
    line = "example 3 must be an array without a mask: entry 1 is masked; fill in what is missing, or leave it out"
    model = StructuredSVM(Sides(), random_state=0).fit(masked(X), y)
    assert refusal(lambda: StructuredSVM(Sides()).fit(masked(X, 3, 1), y)) == line
    assert refusal(lambda: model.predict(masked(X, 3, 1))) == line
    assert refusal(lambda: model.predict(list(masked(X, 3, 1)))) == line


def test_the_report_of_conditions() -> None:
    model = SVMClassifier(random_state=0).fit(X, CLASSES)
    assert refusal(lambda: kkt_report(model, masked(X, 3, 1), CLASSES)) == LINE


def test_rows_of_a_structure_of_ones_own() -> None:
    line = "group 0: dense must be an array without a mask: row 3, column 1 is masked; fill in what is missing, or leave it out"
    structure = Multiclass(2)
    target = np.array([0, 0, 0, 1, 1, 1])
    assert refusal(lambda: StructuredSVM(structure, random_state=0).fit(masked(X, 3, 1), target)) in (line, LINE)
    StructuredSVM(structure, random_state=0).fit(masked(X), target)
