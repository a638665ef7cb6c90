"""NDCG, precision and swapped pairs against their definitions."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from maxmargin.errors import DataError
from maxmargin.metrics import ndcg, precision_at, query_numbers, swapped_pairs

RELEVANCE = np.array([2, 3, 0, 1, 2, 0, 3, 1, 3.0])
GAINS: dict[str, Any] = {"linear": lambda r: r, "exponential": lambda r: 2.0**r - 1.0}


def dcg(relevance: Any, k: int, gain: str) -> float:
    """In the order given, by the definition."""
    return float(sum(GAINS[gain](r) / np.log2(rank + 1) for rank, r in enumerate(relevance[:k], 1)))


@pytest.mark.parametrize("gain", GAINS)
@pytest.mark.parametrize("k", [1, 5, 9, 20])
def test_ndcg_is_by_the_definition_whatever_the_order_of_the_rows(k: int, gain: Any) -> None:
    """The discount counts ranks from 1, and the ideal order sorts all documents before it is cut."""
    score = np.arange(9, 0, -1.0)
    right = dcg(RELEVANCE, k, gain) / dcg(np.sort(RELEVANCE)[::-1], k, gain)
    rng = np.random.default_rng(0)
    for order in (np.arange(9), rng.permutation(9)):
        assert ndcg(RELEVANCE[order], score[order], k=k, gain=gain) == pytest.approx(right, abs=1e-12)
    assert ndcg(RELEVANCE, RELEVANCE, k=k, gain=gain) == 1.0


rankings = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=12)


@given(rankings, st.integers(1, 6))
def test_ndcg_is_the_mean_over_queries_of_that_of_scikit_learn(rows: Any, k: int) -> None:
    query, y, f = (np.array(column) for column in zip(*rows))
    values = [
        ndcg_score(y[None, query == q], f[None, query == q], k=k) if (query == q).sum() > 1 else 1.0
        for q in np.unique(query)
        if y[query == q].max() > 0
    ]
    if values:
        assert ndcg(y, f, query, k=k) == pytest.approx(np.mean(values), abs=1e-12)
    n = len(np.unique(query))
    assert ndcg(y, f, query, k=k, empty=0.25) == pytest.approx((sum(values) + 0.25 * (n - len(values))) / n, abs=1e-12)


def test_queries_without_anything_to_find() -> None:
    assert ndcg([1], [0.3]) == 1.0
    assert ndcg([1, 0, 0], [1.0, 2.0, 3.0], ["a", "b", "b"]) == 1.0
    assert ndcg([0, 0], [1.0, 2.0], empty=0.5) == 0.5
    with pytest.raises(DataError, match="no query has a document of a grade above 0"):
        ndcg([0, 0], [1.0, 2.0])


@given(rankings)
def test_swapped_pairs_are_counted(rows: Any) -> None:
    query, y, f = (np.array(column) for column in zip(*rows))
    wrong = total = 0.0
    for a in range(len(y)):
        for b in range(len(y)):
            if query[a] == query[b] and y[a] > y[b]:
                total += 1
                wrong += 1.0 if f[a] < f[b] else 0.5 * (f[a] == f[b])
    if total:
        assert swapped_pairs(y, f, query) == pytest.approx(wrong / total, abs=1e-15)
    else:
        with pytest.raises(DataError, match="no comparable pairs"):
            swapped_pairs(y, f, query)


def test_swapped_pairs_of_many_documents() -> None:
    rng = np.random.default_rng(0)
    y, f = rng.permutation(2000), rng.permutation(2000)
    assert swapped_pairs(y, f) == pytest.approx(
        ((y[:, None] > y) & (f[:, None] < f)).sum() / (2000 * 1999 / 2), abs=1e-15
    )
    assert swapped_pairs(y, -y) == 1.0
    assert swapped_pairs(y, y) == 0.0


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2)), min_size=1, max_size=6), st.integers(1, 4))
def test_precision_is_the_mean_over_the_orders_of_ties(rows: Any, k: int) -> None:
    relevant, f = (np.array(column) for column in zip(*rows))
    values = [
        relevant[list(order)][:k].sum() / k
        for order in permutations(range(len(f)))
        if (np.diff(f[list(order)]) <= 0).all()
    ]
    assert precision_at(relevant, f, k=k) == pytest.approx(np.mean(values), abs=1e-12)
    assert precision_at(3.0 * relevant, f, k=k, relevant=2.5) == pytest.approx(np.mean(values), abs=1e-12)


def test_precision_of_several_queries() -> None:
    assert precision_at([1, 0, 0, 0, 2], [3, 2, 1, 2, 1], [0, 0, 0, 1, 1], k=2) == 0.5
    assert precision_at([1, 0, 0], [3, 2, 1], [0, 0, 1], k=1) == 0.5


def test_query_names() -> None:
    assert query_numbers(None, 2).tolist() == [0, 0]
    assert query_numbers([2**62 + 1, 2**62, 2**62 + 1], 3).tolist() == [1, 0, 1]
    assert query_numbers([1, "1", 1, "a"], 4).tolist() == [0, 1, 0, 2]  # not one query
    assert query_numbers(np.array([2**63, 2**63 + 1], np.uint64), 2).tolist() == [0, 1]
    assert query_numbers(["b", "a", "b"], 3).tolist() == [1, 0, 1]
    assert query_numbers(np.array([2**70, 3, 2**70], object), 3).tolist() == [1, 0, 1]
    assert query_numbers(np.array(["x", 3, "x"], object), 3).tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ndcg([1, 2], [1.0]), r"y_true has shape \(2,\), y_score \(1,\)"),
        (lambda: ndcg([], []), "there are no documents"),
        (lambda: ndcg([1, -2], [1.0, 2.0]), r"y_true\[1\] is -2; NDCG needs grades of at least 0"),
        (lambda: ndcg([1, 2], [1.0, np.nan]), r"y_score\[1\] is not a number"),
        (lambda: ndcg([1, 2000], [1.0, 2.0], gain="exponential"), "grades of up to 2000 are too large"),
        (lambda: ndcg([1, 2], [1.0, 2.0], gain="square"), "gain must be 'linear' or 'exponential'"),  # type: ignore[arg-type]
        (lambda: ndcg([1, 2], [1.0, 2.0], k=0), "k must be an integer of at least 1 or None, not 0"),
        (lambda: precision_at([1, 2], [1.0, 2.0], k=None), "k must be an integer of at least 1, not None"),  # type: ignore[arg-type]
        (lambda: swapped_pairs([1, 2], [1.0, 2.0], [0.5, 1.0]), r"qid\[0\] is .*0.5.*, no exact whole number"),
    ],
)
def test_refusals(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
