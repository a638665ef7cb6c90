"""Losses, gradients, curvature and dual values against all pairs written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin.solvers.ranking import task as task_module
from maxmargin.solvers.ranking.queries import group
from maxmargin.solvers.ranking.task import PairLoss
from ranking.listed import pairs_of, random_ranking, task_of

# few distinct scores: equal ones, and differences of exactly 1, where the hinge has its kink
documents = st.lists(
    st.tuples(st.integers(0, 3), st.integers(-2, 4), st.sampled_from([-1.5, -0.5, 0.0, 0.25, 0.5, 1.0, 1.75])),
    min_size=2,
    max_size=25,
)
LOSSES = pytest.mark.parametrize(
    ("loss", "width"), [("squared_hinge", 1.0), ("hinge", 1.0), ("hinge", 0.25), ("hinge", 1e-3)]
)


def stated(rows: list[Any], loss: str, width: float, each: Any, C: float = 0.7) -> Any:
    """The task with the scores as its one feature, its pairs by hand, and the loss at ``w = 1``.

    ``each`` are weights of the documents or None.
    """
    query, y, f = (np.array(column) for column in zip(*rows))
    factor = 0.5 + np.arange(4)
    task = task_of(f[:, None], y, query, factor, loss, C, 1e-3, each)
    pairs = pairs_of(y, query)
    c = C * factor[query[pairs[:, 0]]]
    if each is not None:
        c *= each[pairs].prod(1)
    return task, pairs, c, f, PairLoss(task, task.scores(np.ones(1)), width)


@pytest.mark.parametrize("listed", [0, 8], ids=["sums", "lists"])
@LOSSES
@given(rows=documents, seed=st.integers(0, 9), weighted=st.booleans())
def test_sums_over_pairs(listed: int, loss: str, width: float, rows: list[Any], seed: int, weighted: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task_module, "_LISTED", listed)
        check_sums(loss, width, rows, seed, weighted)


def check_sums(loss: str, width: float, rows: list[Any], seed: int, weighted: bool) -> None:
    query, y = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    if not len(pairs_of(y, query)):
        assert not len(group(y.astype(float), query).pairs)
        return
    each = np.random.default_rng(seed).choice([0.3, 1.0, 2.0, 7.0], len(rows)) if weighted else None
    task, pairs, c, f, found = stated(rows, loss, width, each)
    documents = task.queries.documents
    centred = np.zeros(len(rows))  # which side of a kink a pair is on may hang on the rounding of the mean
    centred[documents] = task.scores(np.ones(1))
    z = centred[pairs[:, 0]] - centred[pairs[:, 1]]
    slack = np.maximum(1.0 - (f[pairs[:, 0]] - f[pairs[:, 1]]), 0.0)
    if loss == "hinge":
        cost, a = c * slack, c * np.minimum(slack / width, 1.0)
        gain = a.sum()
        curvature = c / width * ((z < 1.0) & (z >= 1.0 - width))
    else:
        cost, a, curvature = c * slack**2, 2.0 * c * slack, 2.0 * c * (z < 1.0)
        gain = (a - a**2 / (4.0 * c)).sum()
    size = 1.0 + cost.sum() / width
    of_query = np.bincount(query[pairs[:, 0]], weights=cost, minlength=4)[task.queries.number]
    np.testing.assert_allclose(found.cost, of_query, atol=1e-12 * size)
    assert found.gain == pytest.approx(gain, abs=1e-12 * size)
    n = len(rows)
    S = np.zeros((len(pairs), n))  # differences of two documents
    S[np.arange(len(pairs)), pairs[:, 0]], S[np.arange(len(pairs)), pairs[:, 1]] = 1.0, -1.0
    np.testing.assert_allclose(found.beta, (S.T @ a)[documents], atol=1e-12 * size)
    v = np.random.default_rng(seed).normal(size=n)
    H = S.T @ (curvature[:, None] * S)
    np.testing.assert_allclose(found.curved(v[documents]), (H @ v)[documents], atol=1e-11 * size / width)
    np.testing.assert_allclose(found.degree, np.diag(H)[documents], atol=1e-11 * size / width)
    at = task.evaluate(np.ones(1))
    v = np.ones(len(pairs)) if each is None else each[pairs].prod(1)
    wrong = np.bincount(query[pairs[:, 0]], weights=v * (f[pairs[:, 0]] <= f[pairs[:, 1]]), minlength=4)
    total = np.bincount(query[pairs[:, 0]], weights=v, minlength=4)[task.queries.number]
    np.testing.assert_allclose(task.queries.pairs, total, rtol=1e-14)
    np.testing.assert_allclose(at.risk, wrong[task.queries.number] / total, atol=1e-12)
    assert task.c @ at.slack == pytest.approx(cost.sum(), abs=1e-12 * size)
    # a dual value is below every primal one, here both at the same weights
    w = float((S.T @ a) @ f)
    assert found.gain - 0.5 * w * w <= 0.5 + cost.sum() + 1e-9 * size


def test_documents_of_weight_0_are_not_there() -> None:
    y, query = np.array([1.0, 3.0, 2.0, 0.0, 2.0]), np.array([0, 0, 0, 1, 1])
    found = group(y, query, weight=np.array([2.0, 0.0, 3.0, 1.0, 0.0]))
    assert found.number.tolist() == [0]
    assert (found.documents.tolist(), found.grade.tolist()) == ([0, 2], [0, 1])
    assert (found.weight.tolist(), found.pairs.tolist()) == ([2.0, 3.0], [6.0])


def test_groups_hold_the_documents_of_queries_with_pairs_only() -> None:
    y = np.array([1.0, 3.0, 2.0, 2.0, 2.0, 1.0, 9.0])
    query = np.array([4, 0, 2, 4, 2, 4, 3])
    found = group(y, query)
    assert found.number.tolist() == [4]
    assert found.documents.tolist() == [0, 3, 5]
    assert found.grade.tolist() == [0, 1, 0]
    assert (found.start.tolist(), found.n_grades.tolist(), found.pairs.tolist()) == ([0, 3], [2], [2.0])


@given(st.integers(0, 50))
def test_the_number_of_pairs(seed: int) -> None:
    _, y, query = random_ranking(seed)
    found = group(y.astype(float), query)
    assert found.pairs.sum() == len(pairs_of(y, query))
    for k, q in enumerate(found.number):
        rows = found.documents[found.start[k] : found.start[k + 1]]
        assert rows.tolist() == np.flatnonzero(query == q).tolist()
        grades = found.grade[found.start[k] : found.start[k + 1]]
        assert np.unique(y[rows])[grades].tolist() == y[rows].tolist()


def test_scores_far_from_zero_lose_nothing() -> None:
    """An offset of a query changes no pair, however large it is."""
    X, y, query = random_ranking(3)
    w = np.array([0.3, -0.2, 0.5])
    plain = task_of(X, y, query, np.ones(4), "squared_hinge", 1.0, 1e-3)
    far = task_of(X + 2.0**20 * (query[:, None] + 1), y, query, np.ones(4), "squared_hinge", 1.0, 1e-3)
    np.testing.assert_allclose(far.evaluate(w).slack, plain.evaluate(w).slack, rtol=1e-8)
