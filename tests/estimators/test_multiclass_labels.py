"""MulticlassSVM with labels of any hashable type, and with a loss of two labels."""

from __future__ import annotations

import pickle
from enum import Enum, IntEnum
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from maxmargin import MulticlassSVM, load_model, save_model
from maxmargin.errors import DataError, ModelFileError


class Colour(Enum):
    RED = "red"
    BLUE = "blue"
    GREEN = "green"


class Size(IntEnum):
    SMALL = 1
    MIDDLE = 2
    LARGE = 3


NUMBER = np.arange(24) % 3
X = np.random.default_rng(5).normal(size=(24, 3)) + NUMBER[:, None]
WEIGHT = np.arange(24) % 4.0
COSTS = np.array([[0.0, 1.0, 2.5], [0.5, 0.0, 1.0], [2.0, 0.7, 0.0]])

LABELS: dict[str, list[Any]] = {
    "tuples": [(0, "a"), (0, "b"), (1, "a")],
    "tuples of several lengths": [(0,), (0, 1), (1, 2, 3)],
    "sets": [frozenset("b"), frozenset("ac"), frozenset()],
    "bytes": [b"a", b"b", b"c"],
    "members": list(Colour),
    "members that are integers": list(Size),
    "None among text": ["a", None, "b"],
    "None among numbers": [3, None, 2],
    "fractions": [Fraction(1, 3), Fraction(1, 2), Fraction(2)],
    "large integers": [1, 10**30, 10**40],
    "complex": [1j, 2 + 0j, -1j],
    "types": [int, str, None],
}


def objects(values: list[Any]) -> Any:
    return np.fromiter(values, object, len(values))


@pytest.mark.parametrize("form", [list, tuple, objects])
@pytest.mark.parametrize("kind", LABELS)
def test_labels_come_back_as_given(kind: str, form: Any) -> None:
    labels = LABELS[kind]
    y = [labels[k] for k in NUMBER]
    plain = MulticlassSVM(random_state=0).fit(X, NUMBER, WEIGHT)
    model = MulticlassSVM(random_state=0).fit(X, form(y), WEIGHT)
    order = [model.classes_.tolist().index(label) for label in labels]
    assert model.classes_.dtype == object
    assert model.classes_.shape == (3,)
    assert {type(label) for label in model.classes_} == {type(label) for label in labels}
    np.testing.assert_allclose(model.coef_[order], plain.coef_, atol=2e-2)
    if order == [0, 1, 2]:
        np.testing.assert_array_equal(model.coef_, plain.coef_)
    scores = (X @ model.coef_.T + model.intercept_).argmax(1)
    predicted = model.predict(X)
    assert predicted.shape == (24,)
    assert predicted.tolist() == [model.classes_[k] for k in scores]
    right = np.array([a == b for a, b in zip(predicted.tolist(), y)])
    assert model.score(X, form(y)) == right.mean()
    assert model.score(X, form(y), WEIGHT) == pytest.approx(np.average(right, weights=WEIGHT))


def test_sorted_where_they_can_be_else_by_first_occurrence() -> None:
    def classes(y: list[Any], weight: Any = None) -> list[Any]:
        return MulticlassSVM(random_state=0).fit(np.eye(len(y)), y, weight).classes_.tolist()

    assert classes([(2, 1), (1, 5), (1, 2)]) == [(1, 2), (1, 5), (2, 1)]
    chain = [frozenset("ab"), frozenset(), frozenset("a")]  # each a part of another: sorted
    assert classes(chain) == [frozenset(), frozenset("a"), frozenset("ab")]
    for first in (frozenset("a"), frozenset("b")):  # neither a part of the other
        other = frozenset("ab") - first
        assert classes([first, other]) == [first, other]
    assert classes([Colour.GREEN, Colour.RED, Colour.GREEN]) == [Colour.GREEN, Colour.RED]
    # rows of weight 0 have no say
    assert classes([Colour.BLUE, Colour.RED, Colour.BLUE], [0, 1, 1]) == [Colour.RED, Colour.BLUE]
    assert classes([None, (2,), (1,)], [0, 1, 1]) == [(1,), (2,)]


def test_an_array_of_objects_with_numbers_is_as_the_list() -> None:
    given = MulticlassSVM(random_state=0).fit(X, objects(NUMBER.tolist()))
    plain = MulticlassSVM(random_state=0).fit(X, NUMBER.tolist())
    assert given.classes_.dtype == plain.classes_.dtype
    np.testing.assert_array_equal(given.coef_, plain.coef_)
    assert given.score(X, objects(NUMBER.tolist())) == plain.score(X, NUMBER)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        MulticlassSVM().fit(X, objects((NUMBER + 0.5).tolist()))
    array = np.array([b"a", b"b", b"c"])[NUMBER]
    assert MulticlassSVM(random_state=0).fit(X, array).classes_.tolist() == [b"a", b"b", b"c"]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([(1,), [2], (3,), (4,)], r"y\[1\]: \[2\] cannot be a label; labels are hashable values"),
        ([(1,), (2, [3]), (3,), (4,)], r"y\[1\]: \(2, \[3\]\) cannot be a label"),
        ([None, float("nan"), 2, 1], r"y\[1\]: nan cannot be a label"),
        (objects([[1], [2], [1], [2]]), r"y\[0\]: \[1\] cannot be a label"),
        ([(1, 2)] * 4, r"needs at least two classes; y has one class only: \(1, 2\)"),
        ([None] * 4, "y has one class only: None"),
    ],
)
def test_what_cannot_be_a_label_is_named(y: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        MulticlassSVM().fit(np.eye(4), y)
    assert "\n" not in str(caught.value)


def test_weights_of_such_classes() -> None:
    y = [list(Colour)[k] for k in NUMBER]
    for factors in ({0: 2.0, 2: 0.5}, {1: 0.0}, {}, "balanced"):
        named = factors if isinstance(factors, str) else {list(Colour)[k]: each for k, each in factors.items()}
        given = MulticlassSVM(random_state=0, class_weight=named).fit(X, y, WEIGHT)
        plain = MulticlassSVM(random_state=0, class_weight=factors).fit(X, NUMBER, WEIGHT)
        order = [given.classes_.tolist().index(list(Colour)[k]) for k in plain.classes_]
        assert given.certificate_.primal == pytest.approx(plain.certificate_.primal, rel=2e-3)
        np.testing.assert_allclose(given.coef_[order], plain.coef_, atol=2e-2)
    for bad, message in (
        ({"red": 1.0}, "class_weight names the class 'red', which is not in y"),
        ({Colour.RED: -1.0}, "class_weight of <Colour.RED: 'red'> is -1.0"),
        (dict.fromkeys(Colour, 0.0), "class_weight is zero for every class"),
    ):
        with pytest.raises(DataError, match=message):
            MulticlassSVM(class_weight=bad).fit(X, y)


def test_a_warm_start_knows_the_labels_again() -> None:
    y = [LABELS["tuples"][k] for k in NUMBER]
    model = MulticlassSVM(random_state=0, warm_start=True).fit(X, y)
    cold = model.n_iter_
    assert model.fit(X, y).n_iter_ < cold


@pytest.mark.parametrize("kind", ["tuples", "sets", "None among text"])
def test_a_model_file_keeps_tuples_sets_and_none(kind: str, tmp_path: Path) -> None:
    model = MulticlassSVM(random_state=0).fit(X, [LABELS[kind][k] for k in NUMBER])
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert loaded.predict(X).tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("kind", ["bytes", "members", "members that are integers", "fractions"])
def test_a_model_file_refuses_other_labels(kind: str, tmp_path: Path) -> None:
    model = MulticlassSVM(random_state=0).fit(X, [LABELS[kind][k] for k in NUMBER])
    with pytest.raises(ModelFileError, match="the label .* is of type "):
        save_model(model, tmp_path / "model")


def test_a_loss_of_two_labels_is_the_matrix_of_its_values(tmp_path: Path) -> None:
    y = [list(Colour)[k] for k in NUMBER]
    place = {colour: k for k, colour in enumerate(Colour)}

    def loss(true: Colour, predicted: Colour) -> float:
        return float(COSTS[place[true], place[predicted]])

    model = MulticlassSVM(random_state=0, loss=loss).fit(X, y)
    order = [place[colour] for colour in model.classes_]
    same = MulticlassSVM(random_state=0, loss=COSTS[np.ix_(order, order)]).fit(X, y)
    np.testing.assert_array_equal(model.coef_, same.coef_)
    assert (model.coef_ != MulticlassSVM(random_state=0).fit(X, y).coef_).any()
    assert clone(model).loss is loss
    assert model.get_params()["loss"] is loss
    text = MulticlassSVM(random_state=0, loss=differ).fit(X, NUMBER)
    assert pickle.loads(pickle.dumps(text)).predict(X).tolist() == text.predict(X).tolist()
    with pytest.raises(ModelFileError, match="the parameter loss <function differ"):
        save_model(text, tmp_path / "model")
    save_model(text.set_params(loss="zero_one"), tmp_path / "model")
    assert load_model(tmp_path / "model").predict(X).tolist() == text.predict(X).tolist()


def differ(true: Any, predicted: Any) -> bool:
    return bool(true != predicted)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, r"loss\('a', 'c'\) is nan: it must be 0 for the truth, and finite, at least 0"),
        (-1, r"loss\('a', 'c'\) is -1: it must be 0 for the truth, and finite, at least 0"),
        (np.inf, r"loss\('a', 'c'\) is inf: it must be 0 for the truth, and finite"),
        ("1", r"loss\('a', 'c'\) is '1': it must be a number"),
        (None, r"loss\('a', 'c'\) is None: it must be a number"),
        (np.ones((2, 2)), r"loss\('a', 'c'\) is array.*: it must be a number"),
    ],
)
def test_a_loss_that_is_none_is_refused(value: Any, message: str) -> None:
    y = np.array(["a", "b", "c"])[NUMBER]
    with pytest.raises(DataError, match=message) as caught:
        MulticlassSVM(loss=lambda true, predicted: value if (true, predicted) == ("a", "c") else true != predicted).fit(
            X, y
        )
    assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match=r"loss\('b', 'b'\) is 1: it must be 0 for y == y_true"):
        MulticlassSVM(loss=lambda true, predicted: int(true == "b" or true != predicted)).fit(X, y)
