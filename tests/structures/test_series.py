"""A pandas Series is taken by position, whatever its index."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maxmargin import SequenceSVM, StructuredSVM, TreeSVM
from maxmargin.data import parse_tree
from maxmargin.hmm import GenerativeHMM
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
