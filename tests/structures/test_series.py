"""A pandas Series is taken by position, whatever its index."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maxmargin import MulticlassSVM, SequenceSVM, StructuredSVM, SVMClassifier, SVMRegressor, TreeSVM
from maxmargin.data import parse_tree
from maxmargin.errors import DataError
from maxmargin.hmm import GenerativeHMM
from maxmargin.metrics import token_error
from solvers.enumeration import ListedStructure, multiclass_case, plain_case

pd = pytest.importorskip("pandas")
INDEXES = [[2, 1, 0, 3], [7, 8, 9, 10], ["d", "a", "c", "b"]]


@pytest.mark.parametrize("index", INDEXES)
@pytest.mark.parametrize("weight", [None, [1.0, 1.0, 0.0, 2.0]])
def test_sequences(index: Any, weight: Any) -> None:
    X = [[["a"], ["b"]], [["b"]], [["c"], ["a"]], [["d"]]]
    y = [["A", "B"], ["B"], ["C", "A"], ["D"]]
    for make in (lambda: SequenceSVM(C=10.0), GenerativeHMM):
        expected = make().fit(X, y, sample_weight=weight)
        for Y in (pd.Series(y, index=index), pd.Series(y), y):
            model = make().fit(pd.Series(X, index=index), Y, sample_weight=weight)
            assert model.attributes_ == expected.attributes_
            assert model.predict(pd.Series(X, index=index)) == expected.predict(X)


@pytest.mark.parametrize("index", INDEXES)
def test_trees(index: Any) -> None:
    y = [parse_tree(f"(S (N {word}) (V runs))") for word in ("dog", "cat", "cow", "ox")]
    X, weight = [tree.leaves() for tree in y], [0.0, 1.0, 1.0, 1.0]
    expected = TreeSVM().fit(X, y, sample_weight=weight)
    model = TreeSVM().fit(pd.Series(X, index=index), pd.Series(y), sample_weight=weight)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert list(map(str, model.predict(pd.Series(X, index=index)))) == list(map(str, expected.predict(X)))


@pytest.mark.parametrize("index", INDEXES)
def test_ones_own_structure(index: Any) -> None:
    case = plain_case(multiclass_case(np.random.default_rng(0).normal(size=(4, 3)), np.arange(4) % 2))
    y = list(enumerate(case.listed.truth))
    expected = StructuredSVM(ListedStructure(case.listed), random_state=0).fit(list(range(4)), y)
    for weight in (None, [1.0, 0.0, 1.0, 1.0]):
        expected = StructuredSVM(ListedStructure(case.listed), random_state=0).fit(
            list(range(4)), y, sample_weight=weight
        )
        model = StructuredSVM(ListedStructure(case.listed), random_state=0)
        model.fit(pd.Series(range(4), index=index), pd.Series(y), sample_weight=weight)
        np.testing.assert_array_equal(model.coef_, expected.coef_)
        assert model.score(pd.Series(range(4), index=index), pd.Series(y)) == expected.score(list(range(4)), y)


def test_tokens_and_sentences_that_are_series() -> None:
    """A sequence is taken by position too, and so is a token."""
    X, y = [[["a"], ["b"]], [["b"]], [["c"], ["a"]]], [["A", "B"], ["B"], ["C", "A"]]
    indexes = [[2, 1], [5], ["q", "p"]]
    series = [pd.Series(sequence, index=index) for sequence, index in zip(X, indexes, strict=True)]
    tokens = [[pd.Series(token, index=["t"]) for token in sequence] for sequence in X]
    labels = [pd.Series(sequence, index=index) for sequence, index in zip(y, indexes, strict=True)]
    for make in (lambda: SequenceSVM(C=10.0), GenerativeHMM):
        expected = make().fit(X, y)
        for given in (series, tokens):
            model = make().fit(given, labels)
            assert model.attributes_ == expected.attributes_
            assert model.predict(given) == expected.predict(X)
            assert model.score(given, labels) == expected.score(X, y)
    numbers = [np.arange(6.0).reshape(3, 2), np.ones((1, 2))]
    kinds = [["A", "B", "A"], ["B"]]
    vectors = [pd.Series(list(block), index=range(5, 5 + len(block))) for block in numbers]
    frames = [pd.DataFrame(block, index=range(7, 7 + len(block)), columns=["u", "v"]) for block in numbers]
    dense = SequenceSVM(C=10.0, random_state=0).fit(numbers, kinds)
    for given in (vectors, frames):
        model = SequenceSVM(C=10.0, random_state=0).fit(given, kinds)
        np.testing.assert_array_equal(model.predict(given)[0], dense.predict(numbers)[0])
        assert model.certificate_.primal == dense.certificate_.primal
    trees = [parse_tree(f"(S (N {word}) (V runs))") for word in ("dog", "cat")]
    words = [pd.Series(tree.leaves(), index=[3, 1]) for tree in trees]
    assert list(map(str, TreeSVM().fit(words, trees).predict(words))) == list(map(str, trees))


FRAME = pd.DataFrame({"word": ["the", "cat"], "tag": ["D", "N"]})


@pytest.mark.parametrize(
    ("make", "X", "message"),
    [
        (
            SequenceSVM,
            FRAME,
            r"^X must be a list of sequences, not a DataFrame: \[X.to_dict\('records'\)\] is one sequence",
        ),
        (GenerativeHMM, FRAME, "^X must be a list of sequences, not a DataFrame: "),
        (TreeSVM, FRAME, "^X must be a list of sentences, not a DataFrame: "),
        (SequenceSVM, [FRAME], r"^sequence 0 is a DataFrame whose column 'word' holds no numbers: frame.to_dict"),
        (TreeSVM, [FRAME], "^sentence 0 is a DataFrame"),
        (SequenceSVM, [[FRAME]], "^sequence 0, token 0 is a DataFrame"),
    ],
)
def test_a_data_frame_is_no_list_of_examples(make: Any, X: Any, message: str) -> None:
    """To Python it is a list of the names of its columns."""
    y = [parse_tree("(S (D the) (N cat))")] if make is TreeSVM else [["D", "N"]]
    with pytest.raises(DataError, match=message) as found:
        make().fit(X, y)
    assert "\n" not in str(found.value)


def test_what_to_give_instead_of_a_data_frame_works() -> None:
    model = SequenceSVM().fit([FRAME.to_dict("records")], [["D", "N"]])
    assert model.predict([FRAME.to_dict("records")]) == [["D", "N"]]
    with pytest.raises(DataError, match="^X must be a list of sequences, not a DataFrame"):
        model.predict(FRAME)


def test_a_data_frame_for_ones_own_structure() -> None:
    case = plain_case(multiclass_case(np.random.default_rng(0).normal(size=(4, 3)), np.arange(4) % 2))
    frame = pd.DataFrame({"u": range(4)})
    y = list(enumerate(case.listed.truth))
    for call in (lambda m: m.fit(frame, y), lambda m: m.fit(list(range(4)), y).predict(frame)):
        with pytest.raises(
            DataError, match="^X must be a list of examples, not a DataFrame: .*an example for each row"
        ):
            call(StructuredSVM(ListedStructure(case.listed), random_state=0))


def test_a_data_frame_is_no_list_of_labels() -> None:
    """Names of columns would be learned, and scored, without a word where there are as many of them as tokens."""
    X, y = [[["a"], ["b"]], [["b"], ["a"]]], [["D", "N"], ["N", "D"]]
    whole, one = "^y must be a list of label sequences, not a DataFrame$", "^labels of sequence 0 are a DataFrame; "
    for make in (SequenceSVM, GenerativeHMM):
        model = make().fit(X, y)
        for call in (make().fit, model.score):
            with pytest.raises(DataError, match=whole):
                call(X, FRAME)
            with pytest.raises(DataError, match=one):
                call(X, [FRAME, y[1]])
    model = SequenceSVM().fit(X, y)
    with pytest.raises(DataError, match="^known must be a list of label sequences, not a DataFrame$"):
        model.predict(X, known=FRAME)
    with pytest.raises(DataError, match="^known: sequence 0 is a DataFrame; "):
        model.predict(X, known=[FRAME, None])
    for pair in ((FRAME, ["D", "N"]), (["D", "N"], FRAME), (y, [FRAME, y[1]])):
        with pytest.raises(DataError, match="must be a list of labels or of sequences of labels, not a DataFrame$"):
            token_error(*pair)


def test_a_data_frame_is_no_list_of_outputs() -> None:
    trees = [parse_tree(f"(S (N {word}) (V runs))") for word in ("dog", "cat")]
    words = [tree.leaves() for tree in trees]
    case = plain_case(multiclass_case(np.random.default_rng(0).normal(size=(2, 3)), np.arange(2)))
    y = list(enumerate(case.listed.truth))
    own = StructuredSVM(ListedStructure(case.listed), random_state=0).fit([0, 1], y)
    with pytest.raises(DataError, match="^y must be a list of outputs, not a DataFrame$"):
        own.score([0, 1], FRAME)
    with pytest.raises(DataError, match="^y must be a list of Tree objects .*, not a DataFrame$"):
        TreeSVM().fit(words, trees).score(words, FRAME)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a", None, "b", "a"], r"^y\[1\]: (None|nan) cannot be a label: it stands for a missing label$"),
        ([1.0, 2.0, np.nan, 1.0], r"^y\[2\]: nan cannot be a label: it stands for a missing label$"),
    ],
)
@pytest.mark.parametrize("make", [MulticlassSVM, SVMClassifier])
def test_missing_labels_are_named(make: Any, y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make().fit(np.eye(4), pd.Series(y, index=[4, 3, 2, 1]))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (pd.Series(["a", None, "b", "a"]), r"^y must hold real numbers, not 'a' \(y\[0\]\)$"),
        (pd.Series([1.0, 2.0, None, 3.0]), r"^y\[2\] is NaN: the number is missing; leave such rows out$"),
        (pd.Series([1.0, "x", 2.0, 3.0], index=list("dcba")), r"^y must hold real numbers, not 'x' \(y\[1\]\)$"),
    ],
)
def test_missing_numbers_are_named(y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SVMRegressor().fit(np.eye(4), y)
