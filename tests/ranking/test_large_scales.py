"""Large ``C`` and large features: slacks are tiny beside the rounding of what they are made of."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from maxmargin import AUCClassifier, SVMRanker
from maxmargin.solvers.bundle import Bundle
from maxmargin.solvers.loop import run_to_tolerance
from maxmargin.solvers.ranking import task as task_module
from maxmargin.solvers.ranking.objective import RankingObjective
from maxmargin.solvers.ranking.pairs import list_short, sort_queries
from maxmargin.solvers.ranking.task import PairLoss
from maxmargin.status import Status
from ranking.listed import pairs_of, random_ranking, task_of

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
LOSSES = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
SOLVERS = pytest.mark.parametrize("solver", ["auto", "newton", "bundle", "one_slack"])


def separable() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    rng.normal(size=(40, 1)), rng.random(40)
    return np.concatenate([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 8.0]), np.repeat([0, 1], 20)


def exact_objective(w: Any, X: Any, y: Any, C: float, loss: str) -> float:
    """With rational numbers, pair by pair."""
    w = [Fraction(float(value)) for value in w]
    f = [sum((a * Fraction(float(x)) for a, x in zip(w, row, strict=True)), Fraction(0)) for row in X]
    slack = [max(1 - (f[a] - f[b]), Fraction(0)) for a, b in pairs_of(y, np.zeros(len(y)))]
    total = sum((s * s if loss == "squared_hinge" else s for s in slack), Fraction(0))
    return float(sum((a * a for a in w), Fraction(0)) / 2 + Fraction(C) * total)


def check(model: SVMRanker, X: Any, y: Any) -> None:
    """The certificate is right, or its status says that it may not be."""
    found = model.certificate_
    objective = exact_objective(model.coef_, X, y, model.C, model.loss)
    assert 0.0 <= found.dual <= found.primal
    assert found.dual <= objective * (1.0 + 1e-6)
    assert found.passes < 2000
    if found.status.ok:
        assert found.primal == pytest.approx(objective, rel=1.1e-3, abs=0.0)
    else:
        assert found.status in (Status.ROUNDING, Status.STALLED, Status.STANDSTILL)


@SOLVERS
@LOSSES
@pytest.mark.parametrize("C", [1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e17, 1e20])
def test_data_in_order_with_a_large_C(C: float, loss: Any, solver: str) -> None:
    X, y = separable()
    model = SVMRanker(C=C, loss=loss, solver=solver).fit(X, y)
    check(model, X, y)
    hard = SVMRanker(C=np.inf).fit(X, y).certificate_
    assert model.certificate_.dual <= hard.primal
    if solver == "auto" and C >= 1e12:
        assert model.certificate_.status.ok
        assert model.certificate_.primal == pytest.approx(hard.primal, rel=2e-3)
        if model.solver_ == "working_set":
            assert "hard margin" in model.solver_reason_


@SOLVERS
@LOSSES
@pytest.mark.parametrize("size", [1e-100, 1e16, 1e28, 1e31, 1e60, 1e63, 1e84, 1e100])
def test_a_pair_of_any_size(size: float, loss: Any, solver: str) -> None:
    X, y = np.array([[0.0], [size]]), np.array([0, 1])
    model = SVMRanker(loss=loss, solver=solver).fit(X, y)
    check(model, X, y)
    assert model.certificate_.passes < 200
    if solver == "auto":
        assert model.certificate_.status.ok


@SOLVERS
@LOSSES
@pytest.mark.parametrize("size", [1e8, 1e18, 1e50])
def test_data_out_of_order_of_a_large_size(size: float, loss: Any, solver: str) -> None:
    rng = np.random.default_rng(1)
    X, y = size * rng.normal(size=(30, 3)), rng.integers(0, 3, 30)
    check(SVMRanker(loss=loss, solver=solver).fit(X, y), X, y)


def test_two_classes_far_apart() -> None:
    model = AUCClassifier(loss="squared_hinge").fit([[0.0], [1e60]], [0, 1])
    assert model.certificate_.status.ok
    assert model.certificate_.primal == pytest.approx(0.5e-120, rel=1e-3, abs=0.0)


@pytest.mark.parametrize("listed", [0, 8], ids=["sums", "lists"])
@LOSSES
def test_tiny_slacks_are_right_in_proportion(loss: str, listed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_module, "_LISTED", listed)
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1, 2], 20)
    f = y + np.where(rng.random(60) < 0.2, -1e-9, 0.1) * rng.random(60) * (y - 1.0) + 1e-10 * rng.random(60)
    task = task_of(f[:, None], y, np.zeros(60, int), np.ones(1), loss, 1.0, 1e-3)
    found = PairLoss(task, f, 1e-10)
    slack = [max(1 - (Fraction(f[a]) - Fraction(f[b])), Fraction(0)) for a, b in pairs_of(y, np.zeros(60))]
    expected = float(sum(s * s if task.squared else s for s in slack))
    assert 0.0 < expected < 1e-4
    assert float(found.cost[0]) == pytest.approx(expected, rel=1e-7, abs=0.0)
    if task.squared:
        assert found.gain == pytest.approx(float(sum(2 * s - s * s for s in slack)), rel=1e-7, abs=0.0)


def test_short_pairs_are_listed() -> None:
    X, y, query = random_ranking(4, n=60)
    task = task_of(X, y, query, np.ones(4), "squared_hinge", 1.0, 1e-3)
    queries, f = task.queries, task.scores(np.array([1.0, -0.5, 0.2]))
    order = np.empty(len(f), np.int64)
    sort_queries(f, queries.start, order)
    owner = np.repeat(np.arange(len(queries.sizes)), queries.sizes)
    for limit in (-1.0, 0.0, 1.0, np.inf):
        expected = {(a, b) for a, b in pairs_of(queries.grade, owner) if f[a] - f[b] < limit}
        a, b = np.empty((2, len(expected)), np.int64)
        n = list_short(f, queries.grade, queries.n_grades, queries.start, order, limit, a, b)
        assert n == len(expected)
        assert set(zip(a, b, strict=True)) == expected
        if n:
            assert list_short(f, queries.grade, queries.n_grades, queries.start, order, limit, a[1:], b[1:]) == -1


def test_a_search_along_a_line_ends_where_no_step_is_small_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = 0
    place = RankingObjective.placed

    def huge(self: RankingObjective, w: Any, scores: Any) -> Any:
        nonlocal tried
        tried += 1
        assert tried < 5000
        found = place(self, w, scores)
        return found._replace(loss=np.inf) if w.any() else found

    monkeypatch.setattr(RankingObjective, "placed", huge)
    X, y, query = random_ranking(2)
    task = task_of(X, y, query, np.ones(4), "hinge", 1.0, 1e-6)
    result = run_to_tolerance(task, Bundle(), max_passes=5)
    assert not result.w.any()
    assert result.certificate.dual <= result.certificate.primal
