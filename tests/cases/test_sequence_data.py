"""Sequences at the edge: labels of any kind, nothing to learn from, lengths that do not fit."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from maxmargin import SequenceSVM
from maxmargin.errors import DataError
from maxmargin.metrics import classification_report


@pytest.mark.parametrize("names", [(10, 20, 40), ("B-x", "I-x", "O"), (-1, 0, 1), (2.5, 0.5, 1.5)])
def test_labels_need_not_be_numbers_from_zero(names: tuple[Any, ...]) -> None:
    Y = [[names[k] for k in y] for y in ([0, 1, 2], [2, 2, 0, 1], [1], [0, 0, 2])]
    X = [np.array([np.eye(3)[names.index(label)] for label in y]) for y in Y]
    found = SequenceSVM(C=10.0, random_state=0).fit(X, Y).predict(X)
    assert found == Y
    assert all(type(label) is type(names[0]) for y in found for label in y)
    arrays = SequenceSVM(C=10.0, random_state=0).fit(X, [np.array(y) for y in Y])
    assert arrays.predict(X) == Y


def test_empty_sequences() -> None:
    empty, a, b = np.zeros((0, 2)), [1.0, 0.0], [0.0, 1.0]
    X: list[Any] = [empty, np.array([a, b, a]), empty, np.array([b, b])]
    Y = [[], ["A", "B", "A"], [], ["B", "B"]]
    model = SequenceSVM(C=10.0, random_state=0).fit(X, Y)
    assert model.predict(X) == Y
    assert model.skipped_ == [0, 2]
    np.testing.assert_array_equal(model.coef_, SequenceSVM(C=10.0, random_state=0).fit(X[1::2], Y[1::2]).coef_)
    for nothing in ([empty, empty], [[], []]):
        with pytest.raises(DataError, match="all sequences are empty: there is nothing to learn from"):
            SequenceSVM().fit(nothing, [[], []])
    with pytest.raises(DataError, match="X is empty: there is nothing to learn from"):
        SequenceSVM().fit([], [])


def test_lengths_that_differ_are_named_before_any_training() -> None:
    X = [np.eye(3), np.ones((4, 3)), np.eye(3)[:2]]
    Y = [["a", "b", "c"], ["a", "a", "b"], ["a", "b"]]
    called: list[Any] = []
    model = SequenceSVM(callback=lambda *args: called.append(args))
    with pytest.raises(DataError, match="sequence 1 has 4 tokens but 3 labels"):
        model.fit(X, Y)
    with pytest.raises(DataError) as caught:
        model.fit(X, [*Y, ["a"]])
    assert re.findall(r"\d+", str(caught.value)) == ["3", "4"]
    assert not called


def test_a_label_that_the_model_never_saw_counts_as_an_error() -> None:
    X = [[["x=A"], ["x=B"]], [["x=C"], ["x=A"], ["x=C"]]]
    model = SequenceSVM(C=10.0, random_state=0).fit(X, [["A", "B"], ["C", "A", "C"]])
    true = [["A", "B"], ["C", "A", "Z"]]
    report = classification_report(true, model.predict(X))
    assert report.labels["Z"].support == 1
    assert report.labels["Z"].recall == 0
    assert report.accuracy == model.score(X, true) == 4 / 5
