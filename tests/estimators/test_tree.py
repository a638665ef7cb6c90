"""TreeSVM refuses what are no trees, in fit and in score alike."""

from __future__ import annotations

from typing import Any

import pytest

from maxmargin import TreeSVM
from maxmargin.data import parse_tree
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


def test_trees_are_scored(model: TreeSVM) -> None:
    assert model.score(X, TREES) == 1.0
