"""Labels in pandas' own types and integers beyond those of floats come back as given; missing ones are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from maxmargin import AUCClassifier, HardMarginSVM, MulticlassSVM, SVMClassifier, SVMClassifierCV
from maxmargin.errors import DataError

pd = pytest.importorskip("pandas")

X = np.arange(12.0)[:, None]
NUMBER = np.repeat([0, 1], 6)
LARGE = [2**60, 2**60 + 1]
TYPES: list[tuple[str, list[Any], Any]] = [
    ("Int64", [3, 7], np.int64),
    ("Int64", LARGE, np.int64),
    ("Int8", [-1, 1], np.int8),
    ("UInt64", [2**63 + 1, 2**63 + 2], np.uint64),
    ("Float64", [1.0, 2.0], np.float64),
    ("boolean", [False, True], np.bool_),
    ("string", ["a", "b"], object),
    ("str", ["a", "b"], object),
]
FORMS: dict[str, Callable[[list[Any], str], Any]] = {
    "series": lambda values, kind: pd.Series(values, dtype=kind),
    "other index": lambda values, kind: pd.Series(values, dtype=kind, index=range(len(values), 0, -1)),
    "index": lambda values, kind: pd.Index(values, dtype=kind),
    "array": lambda values, kind: pd.array(values, dtype=kind),
    "category": lambda values, kind: pd.Series(values, dtype=kind).astype("category"),
    "categorical": lambda values, kind: pd.Categorical(pd.Series(values, dtype=kind)),
}
MACHINES: dict[str, Callable[[], Any]] = {
    "classifier": lambda: SVMClassifier(random_state=0),
    "perceptron": lambda: SVMClassifier(solver="perceptron", random_state=0),
    "kernel": lambda: SVMClassifier(kernel="rbf"),
    "multiclass": lambda: MulticlassSVM(random_state=0),
    "averaged perceptron": lambda: MulticlassSVM(solver="averaged_perceptron", random_state=0),
    "hard margin": lambda: HardMarginSVM(random_state=0),
    "auc": AUCClassifier,
    "search": lambda: SVMClassifierCV(Cs=[1.0, 10.0], cv=2, random_state=0),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("kind", "classes", "dtype"), TYPES, ids=[f"{kind} {values[0]}" for kind, values, _ in TYPES])
def test_labels_come_back_as_given(form: str, kind: str, classes: list[Any], dtype: Any) -> None:
    y = FORMS[form]([classes[k] for k in NUMBER], kind)
    model = SVMClassifier().fit(X, y)
    assert model.classes_.dtype == dtype
    assert model.classes_.tolist() == classes
    predicted = model.predict(X)
    assert (predicted.dtype, predicted.tolist()) == (dtype, [classes[k] for k in NUMBER])
    assert list(map(type, predicted.tolist())) == [type(classes[0])] * 12
    assert model.score(X, y) == 1.0
    assert model.score(X, y, np.ones(12)) == 1.0


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("kind", "classes"), [("Int64", LARGE), ("boolean", [False, True]), ("string", ["a", "b"])])
def test_in_every_machine(machine: str, kind: str, classes: list[Any]) -> None:
    y = pd.Series([classes[k] for k in NUMBER], dtype=kind)
    model = MACHINES[machine]().fit(X, y)
    assert model.classes_.tolist() == classes
    assert set(map(type, model.predict(X).tolist())) == {type(classes[0])}
    plain = MACHINES[machine]().fit(X, NUMBER)
    assert model.decision_function(X).tobytes() == plain.decision_function(X).tobytes()
    assert model.score(X, y) == plain.score(X, NUMBER)


@pytest.mark.parametrize("form", FORMS)
def test_a_stream(form: str) -> None:
    y = FORMS[form]([LARGE[k] for k in NUMBER], "Int64")
    for classes in (LARGE, FORMS[form](LARGE, "Int64"), np.array(LARGE, np.uint64)):
        model = SVMClassifier(random_state=0).partial_fit(X, y, classes=classes)
        assert model.classes_.tolist() == LARGE
        plain = SVMClassifier(random_state=0).partial_fit(X, NUMBER, classes=[0, 1])
        assert model.coef_.tolist() == plain.coef_.tolist()


def test_a_column_of_a_frame() -> None:
    frame = pd.DataFrame({"y": pd.array([LARGE[k] for k in NUMBER], dtype="Int64")})
    with pytest.warns(UserWarning, match="column-vector"):
        assert SVMClassifier().fit(X, frame).classes_.tolist() == LARGE


@pytest.mark.parametrize("other", [2.5, 1.0, -1])
def test_large_integers_beside_other_numbers(other: float) -> None:
    """An array of all of them would be one of floats, in which the large ones are the same."""
    labels = [other, 2**63, 2**63 + 1]
    y = [labels[k % 3] for k in range(12)]
    for given in (y, np.array(y, object), pd.Series(y, dtype=object)):
        model = SVMClassifier().fit(X, given)
        assert model.classes_.tolist() == labels
        assert list(map(type, model.classes_.tolist())) == list(map(type, labels))


def test_floats_that_are_exact_stay_an_array() -> None:
    assert SVMClassifier().fit(X, [1.0, 2] * 6).classes_.dtype == np.float64
    assert SVMClassifier().fit(X, [2.0**60, 2] * 6).classes_.dtype == np.float64


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("kind", "values"), [("Int64", [1, 2]), ("boolean", [True, False]), ("string", ["a", "b"]), ("Float64", [1.0, 2.0])]
)
def test_missing_labels_are_named(machine: str, form: str, kind: str, values: list[Any]) -> None:
    y = FORMS[form]([*values, None, *values, None, *values, *values, *values], kind)
    with pytest.raises(DataError, match=r"^y\[2\]: \S+ cannot be a label: it stands for a missing label$"):
        MACHINES[machine]().fit(np.arange(12.0)[:, None], y)


def test_none_is_a_class_unless_pandas_holds_it() -> None:
    labels = ["a", None, "a", None]
    for y in (labels, np.array(labels, object)):
        assert SVMClassifier().fit(X[:4], y).classes_.tolist() == ["a", None]
    with pytest.raises(DataError) as refused:
        SVMClassifier().fit(X[:4], pd.Series(labels, dtype=object))
    assert str(refused.value) == (
        "y[1]: None cannot be a label: it stands for a missing label in what pandas holds; in a list None is a class"
    )


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="NumPy 1 has no strings of any length")
@pytest.mark.parametrize("machine", MACHINES)
def test_strings_of_any_length(machine: str) -> None:
    y = np.array([["yes", "no, and a long one"][k] for k in NUMBER], dtype=np.dtypes.StringDType())
    model = MACHINES[machine]().fit(X, y)
    assert model.predict(X).tolist() == y.tolist()
    assert model.score(X, y) == 1.0


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="NumPy 1 has no strings of any length")
@pytest.mark.parametrize("missing", [[4], [4, 7], range(12)], ids=["one", "two", "all"])
def test_missing_strings_are_named(missing: Any) -> None:
    kind = np.dtypes.StringDType(na_object=np.nan)
    y = np.array([np.nan if i in missing else "ab"[k] for i, k in enumerate(NUMBER)], dtype=kind)
    with pytest.raises(DataError, match=rf"^y\[{missing[0]}\]: nan cannot be a label: it stands for a missing label"):
        SVMClassifier().fit(X, y)
