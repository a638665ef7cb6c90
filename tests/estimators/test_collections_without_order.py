"""What belongs together by its place has one: text, mappings and sets are no lists. What is no collection is told too."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from maxmargin import AUCClassifier, GenerativeHMM, MulticlassSVM, SequenceSVM, SVMClassifier, SVMRegressor, TreeSVM
from maxmargin.data import parse_tree
from maxmargin.errors import DataError

TOKENS = [[["a", "b"], ["c"]], [["a"], ["b"]]] * 3
TAGS = [["X", "Y"], ["Y", "X"]] * 3
NO_LISTS = ["XY", b"XY", {"X": 1, "Y": 2}, {"X", "Y"}, frozenset(("X", "Y")), {"X": 1, "Y": 2}.keys()]
kinds = pytest.mark.parametrize("odd", NO_LISTS, ids=lambda odd: type(odd).__name__)


@kinds
def test_labels_of_a_sequence(odd: Any) -> None:
    said = f"^labels of sequence 1 are a {type(odd).__name__}; give a list with one label a token$"
    y = [TAGS[0], odd, *TAGS[2:]]
    for kind in (SequenceSVM, GenerativeHMM):
        model = kind()
        with pytest.raises(DataError, match=said):
            model.fit(TOKENS, y)
        model.fit(TOKENS, TAGS)
        with pytest.raises(DataError, match=said):
            model.score(TOKENS, y)
    known = [None, odd, *[None] * 4]
    with pytest.raises(
        DataError, match=f"^known: sequence 1 is a {type(odd).__name__}; give a list with one entry a token"
    ):
        SequenceSVM().fit(TOKENS, TAGS).predict(TOKENS, known=known)


@kinds
def test_tokens_of_a_sequence_and_words_of_a_sentence(odd: Any) -> None:
    with pytest.raises(DataError, match=f"^sequence 1 is a {type(odd).__name__}; a sequence is a list of tokens"):
        SequenceSVM().fit([TOKENS[0], odd], TAGS[:2])
    tree = parse_tree("(S (A x) (B y))")
    with pytest.raises(DataError, match=f"^sentence 1 is a {type(odd).__name__}; a sentence is a list of words$"):
        TreeSVM().fit([["x", "y"], odd], [tree, tree])


@pytest.mark.parametrize("odd", [*NO_LISTS[2:], None, 3], ids=lambda odd: type(odd).__name__)
def test_collections_of_examples(odd: Any) -> None:
    name = type(odd).__name__
    model = SequenceSVM().fit(TOKENS, TAGS)
    for call in (model.fit, model.score, GenerativeHMM().fit, GenerativeHMM().fit(TOKENS, TAGS).score):
        with pytest.raises(
            DataError, match=f"^y must be a list with an entry for each of the sequences, not a {name}$"
        ):
            call(TOKENS, odd)
    with pytest.raises(DataError, match=f"^X must be a list of sequences, not a {name}$"):
        model.predict(odd)
    with pytest.raises(DataError, match=f"^X must be a list of sentences, not a {name}$"):
        TreeSVM().fit(odd, [parse_tree("(S x)")])


@pytest.mark.parametrize("odd", [3, b"(S x)", ["(S x)"], None], ids=repr)
def test_a_tree_is_read_from_text(odd: Any) -> None:
    with pytest.raises(DataError, match=f"^a tree is read from a str, not from a {type(odd).__name__}$"):
        parse_tree(odd)


@pytest.mark.parametrize("kind", [SVMClassifier, MulticlassSVM, AUCClassifier])
def test_dates_are_no_numbers_to_a_score(kind: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    days = np.where(X[:, 0] > 0.0, np.datetime64("2020-01-01"), np.datetime64("2021-01-01"))
    assert kind().fit(X, X[:, 0] > 0.0).score(X, days) == 0.0
    assert kind().fit(X, days).score(X, days) > 0.9
    assert kind().fit(X, days).score(X, np.arange(20) % 2) == 0.0


def test_complex_values_are_refused_by_a_score_as_by_a_fit() -> None:
    X = np.arange(10.0)[:, None]
    model = SVMRegressor().fit(X, X[:, 0])
    for call in (model.fit, model.score):
        with pytest.raises(DataError, match=re.escape("Complex data not supported: y must hold real numbers") + "$"):
            call(X, X[:, 0] + 1j)
