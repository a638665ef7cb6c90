"""Scores with weights: one of weight 2 counts as two equal ones, one of weight 0 as none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import GenerativeHMM, SequenceSVM, StructuredSVM, SVMRanker, TreeSVM
from maxmargin.data import parse_tree
from maxmargin.errors import DataError
from maxmargin.metrics import ndcg
from maxmargin.structures.multiclass import Multiclass

WEIGHT = np.array([2.0, 0.0, 1.0, 3.0])
TOKENS = [["a", "b"], ["b", "a", "c"], ["c"], ["c", "a", "b", "a"]]
TAGS = [["A", "B"], ["A", "A", "B"], ["A"], ["B", "A", "A", "B"]]
TREES = [
    parse_tree(text)
    for text in (
        "(S (N (A a) (B b)) (C c))", "(S (A a) (M (B b) (C c)))", "(S (A a) (B b))", "(S (A c) (N (B b) (C a)))",
    )
]  # fmt: skip


def copies(values: Any) -> Any:
    if isinstance(values, np.ndarray):
        return np.repeat(values, WEIGHT.astype(int), axis=0)
    return [value for value, weight in zip(values, WEIGHT, strict=True) for _ in range(int(weight))]


def examples(name: str) -> tuple[Any, Any, Any]:
    if name == "tree":
        X = [tree.leaves() for tree in TREES]
        return TreeSVM(random_state=0, max_passes=30).fit(X[:2] + X[3:], [TREES[1], TREES[0], TREES[3]]), X, TREES
    if name == "structured":
        rows = np.array([[1.0], [2.0], [3.0], [-1.0]])
        model = StructuredSVM(Multiclass(2)).fit(rows, [0, 0, 1, 1])
        return model, rows, [0, 1, 1, 0]
    if name == "hmm":
        X = [[{token: 1.0} for token in tokens] for tokens in TOKENS]
        return GenerativeHMM().fit(X[:2], TAGS[:2]), X, TAGS
    X = [[[token] for token in tokens] for tokens in TOKENS]
    y = TAGS if name == "sequence" else [[None if k == 1 else label for k, label in enumerate(tags)] for tags in TAGS]
    return SequenceSVM(max_passes=30).fit(X[:2], TAGS[:2]), X, y


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["sequence", "sequence of which not all is known", "hmm", "structured", "tree"])
def test_weights_are_copies(name: str) -> None:
    model, X, y = examples(name)
    expected = model.score(copies(X), copies(y))
    assert model.score(X, y, sample_weight=WEIGHT) == pytest.approx(expected, abs=1e-12)
    assert model.score(X, y, 1e200 * WEIGHT) == pytest.approx(expected, abs=1e-12)
    assert model.score(X, y, np.ones(4)) == pytest.approx(model.score(X, y), abs=1e-12)
    assert model.score(X, y) != pytest.approx(expected, abs=1e-3)
    for bad in ([1.0], -WEIGHT, 0.0 * WEIGHT):
        with pytest.raises(DataError, match="sample_weight"):
            model.score(X, y, sample_weight=bad)


def ranking() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(3)
    qid = np.array(["c", "a", "b", "d"])[rng.integers(0, 4, 40)]
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 3, 40)
    return X, np.where(qid == "d", 0, y), qid


def test_weights_of_queries_are_copies_of_them() -> None:
    X, y, qid = ranking()
    model = SVMRanker().fit(X, y, qid)
    of_query = dict(zip("abcd", (2.0, 0.0, 1.0, 3.0), strict=True))  # the last has no grade above 0
    by_hand = {q: ndcg(y[qid == q], model.predict(X[qid == q])) for q in "abc"}
    expected = sum(of_query[q] * by_hand[q] for q in "abc") / sum(of_query[q] for q in "abc")
    each = np.array([of_query[q] for q in qid])
    assert model.score(X, y, qid, each) == pytest.approx(expected, rel=1e-12)
    assert model.score(X, y, qid, sample_weight=list(of_query.values())) == pytest.approx(expected, rel=1e-12)
    rows = [(np.flatnonzero(qid == q), f"{q} {k}") for q in "abcd" for k in range(int(of_query[q]))]
    every = np.concatenate([each for each, _ in rows])
    names = np.concatenate([np.full(len(each), name) for each, name in rows])
    assert model.score(X[every], y[every], names) == pytest.approx(expected, rel=1e-12)
    assert model.score(X, y, qid, np.full(40, 7.0)) == pytest.approx(model.score(X, y, qid), rel=1e-12)
    with_empty = ndcg(y, model.predict(X), qid, empty=0.5, query_weight=list(of_query.values()))
    assert with_empty == pytest.approx((expected * 3.0 + 0.5 * 3.0) / 6.0, rel=1e-12)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.arange(40.0), "the same within one"),
        ([0.0, 0.0, 0.0, 1.0], "no query of positive weight has a document of a grade above 0"),
        ([1.0, -1.0, 1.0, 1.0], "sample_weight"),
        ([1.0, 1.0], "sample_weight has shape"),
        (["x"] * 40, "sample_weight"),
    ],
)
def test_weights_of_queries_that_are_none(weight: Any, message: str) -> None:
    X, y, qid = ranking()
    model = SVMRanker().fit(X, y, qid)
    with pytest.raises(DataError, match=message):
        model.score(X, y, qid, weight)
    with pytest.raises(DataError, match="query_weight"):
        ndcg(y, model.predict(X), qid, query_weight=[1.0, -1.0, 1.0, 1.0])


def test_pipelines_are_scored_where_metadata_are_routed() -> None:
    X, y, qid = ranking()
    weight = np.array(["abcd".index(q) for q in qid], float)
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = SVMRanker().set_fit_request(qid=True).set_score_request(qid=True)
        pipe = make_pipeline(StandardScaler(), ranker).fit(X, y, qid=qid)
        scores = pipe.predict(X)
        assert pipe.score(X, y, qid=qid) == pytest.approx(ndcg(y, scores, qid))
        asked = (
            SVMRanker().set_fit_request(qid=True, sample_weight=True).set_score_request(qid=True, sample_weight=True)
        )
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), asked)
        pipe.fit(X, y, qid=qid, sample_weight=weight)
        expected = ndcg(y, pipe.predict(X), qid, query_weight=[0.0, 1.0, 2.0, 3.0])
        assert pipe.score(X, y, qid=qid, sample_weight=weight) == pytest.approx(expected)


def test_weights_of_zero_leave_nothing_to_score() -> None:
    tags = SequenceSVM(random_state=0).fit([[["a"], ["b"]]], [["A", "B"]])
    ranker = SVMRanker(random_state=0).fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(ValueError, match="there is nothing to score"):
        tags.score([[["a"]]], [["A"]], sample_weight=[0.0])
    with pytest.raises(ValueError, match="there is nothing to score"):
        ranker.score([[1.0], [2.0]], [0, 1], sample_weight=[0.0, 0.0])
    with pytest.raises(ValueError, match="there is nothing to learn from"):
        ranker.fit([[1.0], [2.0]], [0, 1], sample_weight=[0.0, 0.0])
