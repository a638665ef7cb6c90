"""Machines of one score a row with labels of any hashable type: the models of their numbers, under their names."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning

from maxmargin import (
    AUCClassifier,
    HardMarginSVM,
    MulticlassSVM,
    SVMClassifier,
    SVMClassifierCV,
    load_model,
    save_model,
)
from maxmargin.errors import DataError, ModelFileError


class Colour(Enum):
    BLUE = "blue"
    GREEN = "green"
    RED = "red"


# each in the order that its classes get: sorted, or of their first occurrence
LABELS: dict[str, list[Any]] = {
    "tuples": [(0, "a"), (0, "b"), (1, "a")],
    "tuples of several lengths": [(0,), (0, 1), (1, 2, 3)],
    "sets": [frozenset("b"), frozenset("ac"), frozenset()],
    "bytes": [b"a", b"b", b"c"],
    "members": list(Colour),
    "None among text": ["b", None, "a"],
    "None, a truth value and a number": [None, True, 2.5],
    "fractions": [Fraction(1, 3), Fraction(1, 2), Fraction(2)],
    "types": [int, str, None],
}
KEPT = ("tuples", "tuples of several lengths", "sets", "None among text", "None, a truth value and a number")
NUMBER = np.arange(24) % 3
X = np.random.default_rng(5).normal(size=(24, 3)) + 2.0 * NUMBER[:, None]
WEIGHT = np.arange(24) % 4.0
TWO = NUMBER < 2
SEPARATE = X[TWO] + 9.0 * NUMBER[TWO][:, None]

Make = Callable[..., Any]
SEVERAL: dict[str, Make] = {
    "ovr": lambda **more: SVMClassifier(random_state=0, **more),
    "ovo": lambda **more: SVMClassifier(multi_class="ovo", random_state=0, **more),
    "kernel": lambda **more: SVMClassifier(kernel="rbf", random_state=0, **more),
    "pairs, kernel": lambda **more: SVMClassifier(kernel="rbf", multi_class="ovo", random_state=0, **more),
    "logistic": lambda **more: SVMClassifier(loss="logistic", random_state=0, **more),
    "search": lambda **more: SVMClassifierCV(Cs=[0.1, 1.0], cv=3, random_state=0, **more),
}
PAIRS: dict[str, Make] = {
    "auc": AUCClassifier,
    "two": lambda **more: SVMClassifier(random_state=0, **more),
    "search of two": lambda **more: SVMClassifierCV(Cs=[0.1, 1.0], cv=3, random_state=0, **more),
}


def objects(values: list[Any]) -> Any:
    return np.fromiter(values, object, len(values))


def check_same(given: Any, plain: Any, rows: Any, y: list[Any], numbers: Any, labels: list[Any]) -> None:
    """The same model, to the last bit, but for the names."""
    assert given.classes_.dtype == object
    assert given.classes_.tolist() == labels
    assert list(map(type, given.classes_.tolist())) == list(map(type, labels))
    assert given.decision_function(rows).tobytes() == plain.decision_function(rows).tobytes()
    assert given.predict(rows).tolist() == [labels[k] for k in plain.predict(rows).tolist()]
    assert given.certificate_.primal == plain.certificate_.primal
    for form in (list, tuple, objects):
        assert given.score(rows, form(y)) == plain.score(rows, numbers)
        weight = np.arange(len(y)) % 3.0
        assert given.score(rows, form(y), weight) == pytest.approx(plain.score(rows, numbers, weight), rel=1e-12)
    again = pickle.loads(pickle.dumps(given))
    assert again.predict(rows).tolist() == given.predict(rows).tolist()
    assert clone(given).get_params().keys() == given.get_params().keys()


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("machine", SEVERAL)
def test_labels_come_back_as_given(machine: str, kind: str) -> None:
    labels = LABELS[kind]
    y = [labels[k] for k in NUMBER]
    for form in (list, objects):
        given, plain = SEVERAL[machine]().fit(X, form(y)), SEVERAL[machine]().fit(X, NUMBER)
        check_same(given, plain, X, y, NUMBER, labels)


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("machine", [*PAIRS, "hard margin", "hard margin, kernel"])
def test_two_labels_come_back_as_given(machine: str, kind: str) -> None:
    labels, rows = LABELS[kind][:2], X[TWO]
    numbers = NUMBER[TWO]
    y = [labels[k] for k in numbers]
    make = PAIRS.get(machine)
    if make is None:
        more = {"kernel": "rbf", "gamma": 0.05} if "kernel" in machine else {}
        rows, make = SEPARATE, lambda: HardMarginSVM(random_state=0, **more)
    check_same(make().fit(rows, y), make().fit(rows, numbers), rows, y, numbers, labels)


@pytest.mark.parametrize("machine", [*SEVERAL, *PAIRS])
def test_weights_of_such_classes(machine: str) -> None:
    make, members = {**SEVERAL, **PAIRS}[machine], list(Colour)
    rows, numbers = (X, NUMBER) if machine in SEVERAL else (X[TWO], NUMBER[TWO])
    y, weight = [members[k] for k in numbers], np.arange(1, len(rows) + 1) % 4.0
    for factors in ({0: 2.0, 1: 0.5}, {}, "balanced", *([{1: 0.0}] if machine in SEVERAL else [])):
        named = factors if isinstance(factors, str) else {members[k]: each for k, each in factors.items()}
        given, plain = (
            make(class_weight=named).fit(rows, y, weight),
            make(class_weight=factors).fit(rows, numbers, weight),
        )
        assert given.classes_.tolist() == [members[k] for k in plain.classes_]
        assert given.decision_function(rows).tobytes() == plain.decision_function(rows).tobytes()
    for bad, message in (
        ({"red": 1.0}, "class_weight names the class 'red', which is not in y"),
        ({Colour.BLUE: -1.0}, "class_weight of <Colour.BLUE: 'blue'> is -1.0"),
        (dict.fromkeys(members[: numbers.max() + 1], 0.0), "class_weight is zero for every class"),
    ):
        with pytest.raises(DataError, match=message):
            make(class_weight=bad).fit(rows, y)


def test_a_class_without_weight_has_no_say_in_the_order() -> None:
    y = [Colour.RED, Colour.GREEN, Colour.BLUE] * 8
    model = SVMClassifier(random_state=0).fit(X, y, (NUMBER > 0).astype(float))
    assert model.classes_.tolist() == [Colour.GREEN, Colour.BLUE]
    model = AUCClassifier().fit(X, [None, (2,), (1,)] * 8, (NUMBER > 0).astype(float))
    assert model.classes_.tolist() == [(1,), (2,)]


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("machine", ["ovo", "kernel", "search", "auc", "hard margin"])
def test_a_model_file_keeps_what_it_can(machine: str, kind: str, tmp_path: Path) -> None:
    labels = LABELS[kind]
    if machine in SEVERAL:
        model, rows = SEVERAL[machine]().fit(X, [labels[k] for k in NUMBER]), X
    else:
        rows = SEPARATE
        model = (AUCClassifier() if machine == "auc" else HardMarginSVM()).fit(rows, [labels[k] for k in NUMBER[TWO]])
    if kind not in KEPT:
        with pytest.raises(ModelFileError, match="is of type "):
            save_model(model, tmp_path / "model")
        return
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert loaded.classes_.tolist() == model.classes_.tolist()
    assert loaded.predict(rows).tolist() == model.predict(rows).tolist()
    parts = model._to_parts()
    for bad in (
        parts["classes"][::-1] if kind == "tuples" else [*parts["classes"][:-1], parts["classes"][0]],
        [],
        [(1,)],
    ):
        with pytest.raises(ValueError, match="the classes must be two"):
            type(model)(**model.get_params())._from_parts({**parts, "classes": bad})


@pytest.mark.parametrize("make", [SVMClassifier, AUCClassifier, HardMarginSVM, lambda: SVMClassifierCV(cv=2)])
def test_what_cannot_be_a_label_is_named(make: Any) -> None:
    for y, message in (
        ([(1,), [2], (3,), (4,)], r"y\[1\]: \[2\] cannot be a label; labels are hashable values"),
        ([None, float("nan"), 2, 1], r"y\[1\]: nan cannot be a label"),
        ([(1, 2)] * 4, r"one class only: \(1, 2\)|y has 1 class \(\(1, 2\)\)"),
        (["a", 1, "a", 1], "y mixes text with other labels"),
    ):
        with pytest.raises(ValueError, match=message):
            make().fit(np.eye(4), y)


MAKES = [SVMClassifier, AUCClassifier, HardMarginSVM, MulticlassSVM, lambda: SVMClassifierCV(cv=2)]


@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize(
    ("y", "first"),
    [
        ([{1}, {2}] * 2, "{1}"),
        ([{"a": 1}, {}] * 2, "{'a': 1}"),
        ([[1, 2], [2, 3]] * 2, "[1, 2]"),
        ([[1], [2, 3]] * 2, "[1]"),
        (({1}, {2}) * 2, "{1}"),
        (objects([{1}, {2}] * 2), "{1}"),
    ],
    ids=repr,
)
def test_of_labels_that_are_none_the_first_is_named(make: Any, y: Any, first: str) -> None:
    with pytest.raises(DataError) as refused:
        make().fit(np.eye(4), y)
    assert str(refused.value) == f"y[0]: {first} cannot be a label; labels are hashable values"


@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize(
    ("given", "what"),
    [
        (lambda: (k % 2 for k in range(4)), "of type generator"),
        (lambda: map(str, [0, 1, 0, 1]), "of type map"),
        (lambda: "abab", "of type str"),
        (lambda: {0: 1, 1: 0, 2: 0, 3: 1}, "of type dict"),
        (lambda: {0, 1}, "of type set"),
        (lambda: 1, "of type int"),
        (lambda: np.array(1), r"an array of shape \(\)"),
    ],
)
def test_what_is_no_list_of_labels_is_named(make: Any, given: Any, what: str) -> None:
    more = r": give list\(y\)" if "generator" in what or "map" in what else ""
    line = f"^y is {what}; it must be a list or an array of labels, one for each row{more}$"
    with pytest.raises(DataError, match=line):
        make().fit(np.eye(4), given())


def test_a_score_of_what_is_no_list_of_labels() -> None:
    for labels in ([0, 1], [(0,), (1,)]):
        model = SVMClassifier().fit(np.eye(4), labels * 2)
        with pytest.raises(DataError, match="^y is of type generator; it must be a list"):
            model.score(np.eye(4), (label for label in labels * 2))


def test_a_column_is_left_to_scikit_learn() -> None:
    """It takes one with a warning, also as a list of lists of one label; and what has no labels it has a line for."""
    for column in ([[0], [1]] * 2, [["a"], ["b"]] * 2, np.array([[0], [1]] * 2)):
        with pytest.warns(DataConversionWarning):
            assert len(SVMClassifier().fit(np.eye(4), column).classes_) == 2
    with pytest.raises(ValueError, match="requires y to be passed"):
        SVMClassifier().fit(np.eye(4), None)  # type: ignore[arg-type]


def test_labels_that_compare_equal_are_one_class() -> None:
    rows = np.array([[0.0], [0.1], [0.2], [5.0], [6.0]])
    model = SVMClassifier().fit(rows, [1, True, 1.0, None, None])
    assert model.classes_.tolist() == [1, None]
    assert type(model.classes_[0]) is int  # as it came first
    assert model.predict(rows).tolist() == [1, 1, 1, None, None]
    assert SVMClassifier().fit(rows, [1, True, 1.0, 2, 2]).classes_.tolist() == [1.0, 2.0]  # an array of numbers


def test_a_path_knows_the_labels(tmp_path: Path) -> None:
    model = SVMClassifierCV(Cs=[0.1, 1.0], cv=3, random_state=0).fit(X, [LABELS["tuples"][k] for k in NUMBER])
    found = model.path_.predict(X)
    assert found.shape == (2, 24)
    assert found[0].tolist() == model.path_.models[0].predict(X).tolist()
