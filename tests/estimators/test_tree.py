"""TreeSVM refuses what are no trees, in fit and in score alike; a weight is so many copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from maxmargin import TreeSVM
from maxmargin.data import Tree, parse_tree
from maxmargin.errors import DataError

TREES = [parse_tree("(S (A a) (B b))"), parse_tree("(S (B b) (A a))")]
X = [tree.leaves() for tree in TREES]


@pytest.fixture(scope="module")
def model() -> TreeSVM:
    return TreeSVM(random_state=0).fit(X, TREES)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["(S (A a) (B b))"] * 2, r"y\[0\] is a str; y must be a list of Tree objects \(maxmargin.data: parse_tree"),
        ([TREES[0], None], r"y\[1\] is a NoneType; y must be a list of Tree objects"),
        ([("S", ("A", "a"), ("B", "b"))] * 2, r"y\[0\] is a tuple; y must be a list of Tree objects"),
        ("(S (A a) (B b))", "y must be a list of Tree objects .*, not a str"),
        (TREES[0], "y must be a list of Tree objects .*, not a Tree"),
        (None, "y must be a list with an entry for each of the sentences, not a NoneType"),
        (TREES[:1], "X has 2 sentences and y has 1; they must be equal"),
    ],
)
def test_what_are_no_trees(model: TreeSVM, y: Any, message: str) -> None:
    for call in (TreeSVM().fit, model.score):
        with pytest.raises(DataError, match=message):
            call(X, y)


@pytest.mark.parametrize("given", [None, 3, "", "the dog", {}, np.array(1.0), iter([])])
def test_what_are_no_sentences(model: TreeSVM, given: Any) -> None:
    with pytest.raises(DataError, match=f"^X must be a list of sentences, not an? {type(given).__name__}$"):
        model.predict(given)


def test_no_data_are_not_learned_from_and_not_scored(model: TreeSVM) -> None:
    with pytest.raises(DataError, match="^X is empty: there is nothing to score$"):
        model.score([], [])
    with pytest.raises(DataError, match="^X is empty: there is nothing to learn from$"):
        TreeSVM().fit([], [])
    with pytest.raises(DataError, match="^X has 0 sentences and y has 2; they must be equal$"):
        model.score([], TREES)
    assert model.predict([]) == []


@pytest.mark.parametrize("word", ["", "a b", "(", "b)", "\t", "\ud800"])
def test_words_that_no_tree_can_hold(model: TreeSVM, word: str) -> None:
    expected = f"sentence 1, word 1 is {word!r}, which cannot be written in a tree: "
    for sentences in ([["a"], ["b", word]], [[("a", "A")], [("b", "B"), (word, "A")]]):
        with pytest.raises(DataError) as caught:
            model.predict(sentences)
        assert str(caught.value).startswith(expected)
    y = [TREES[0], Tree("S", (Tree("B", ("b",)), Tree("A", (word,))))]
    with pytest.raises(DataError) as caught:
        TreeSVM().fit([tree.leaves() for tree in y], y)
    assert str(caught.value).startswith(expected)


@pytest.mark.parametrize(
    ("tree", "problem"),
    [
        (Tree("S", (Tree("B C", ("b",)), Tree("A", ("a",)))), "'B C' cannot be written between brackets"),
        (Tree("(", (Tree("B", ("b",)), Tree("A", ("a",)))), "'(' cannot be written between brackets"),
        (Tree("S", (Tree("", ("b",)), Tree("A", ("a",)))), "the word 'b' stands under an empty label"),
    ],
)
def test_trees_that_cannot_be_written_are_not_learned_from(tree: Tree, problem: str) -> None:
    with pytest.raises(DataError) as caught:
        TreeSVM().fit(X, [TREES[0], tree])
    assert str(caught.value) == f"tree 1: {problem}"


def test_words_with_brackets_spelt_as_treebanks_do_are_predicted_and_read_back(model: TreeSVM) -> None:
    (tree,) = model.predict([["-LRB-", "a\u00a0b"]])
    assert parse_tree(str(tree)) == tree


def test_trees_are_scored(model: TreeSVM) -> None:
    assert model.score(X, TREES) == 1.0


SENTENCES = [
    parse_tree(text)
    for text in [
        "(S (NP (DT the) (NN dog)) (VP (VB barks)))",
        "(S (NP (NN snow)) (VP (VB falls)))",
        "(S (NP (DT the) (NN cat)) (VP (VB sees) (NP (DT a) (NN dog))))",
        "(S (NP (NN rain)) (VP (VB stops)))",
    ]
]


@pytest.mark.parametrize("min_count", [1, 2, 3])
@pytest.mark.parametrize("weight", [[3] * 4, [1, 5, 2, 1], [4, 0, 2, 0]])
def test_a_weight_is_so_many_copies(weight: list[int], min_count: int) -> None:
    copies = [tree for tree, k in zip(SENTENCES, weight, strict=True) for _ in range(k)]
    model = TreeSVM(min_count=min_count, tol=1e-8, max_passes=2000, random_state=0)
    weighted = clone(model).fit([tree.leaves() for tree in SENTENCES], SENTENCES, sample_weight=weight)
    copied = clone(model).fit([tree.leaves() for tree in copies], copies)
    assert weighted.structure_.span_features.vocabularies == copied.structure_.span_features.vocabularies
    assert weighted.coef_.shape == copied.coef_.shape
    assert weighted.certificate_.primal == pytest.approx(copied.certificate_.primal, rel=1e-6)
