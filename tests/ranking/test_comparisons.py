"""Strengths from wins and ties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from linear.problems import Small
from maxmargin import SVMRanker
from maxmargin.errors import DataError

TIGHT: dict[str, Any] = dict(tol=1e-9, max_passes=20_000, random_state=0)
LOSSES = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])


def season(seed: int = 0) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 3))
    games = np.array([(a, b) for a in range(8) for b in range(8) if a != b])
    outcome = (X[games[:, 0]] - X[games[:, 1]]) @ [1.0, -0.5, 0.3] + rng.normal(size=len(games))
    won, tied = games[outcome > 0.4], games[np.abs(outcome) <= 0.4]
    return X, won[:, 0], won[:, 1], tied


@LOSSES
def test_wins_are_a_linear_machine_on_differences(loss: Any) -> None:
    X, winners, losers, _ = season()
    weight = 0.5 + np.arange(len(winners)) % 3
    small = Small(X[winners] - X[losers], np.ones(len(winners)), 0.2 * weight, loss, "none")
    for rows in (X, sp.csr_array(X), np.asfortranarray(X)):
        model = SVMRanker(C=0.2, loss=loss, **TIGHT).fit_comparisons(rows, winners, losers, weight)
        assert model.certificate_.primal == pytest.approx(small.optimum(), rel=1e-7)
        np.testing.assert_allclose(model.strengths_, model.predict(X))
    as_queries = SVMRanker(C=0.2, loss=loss, **TIGHT).fit(
        np.vstack([X[winners], X[losers]]), np.repeat([1, 0], len(winners)), np.tile(np.arange(len(winners)), 2), weight
    )
    np.testing.assert_allclose(as_queries.coef_, model.coef_, atol=1e-4)


@LOSSES
@pytest.mark.parametrize("tie_margin", [0.0, 0.3])
def test_ties_cost_what_is_documented(loss: Any, tie_margin: float) -> None:
    X, winners, losers, ties = season()
    model = SVMRanker(C=0.3, loss=loss, **TIGHT).fit_comparisons(
        X, winners, losers, ties=ties, tie_weight=np.full(len(ties), 0.7), tie_margin=tie_margin
    )

    def objective(w: Any) -> float:
        win = np.maximum(1.0 - (X[winners] - X[losers]) @ w, 0.0)
        tie = np.maximum(np.abs((X[ties[:, 0]] - X[ties[:, 1]]) @ w) - tie_margin, 0.0)
        power = 2 if loss == "squared_hinge" else 1
        return float(0.5 * w @ w + 0.3 * (win**power).sum() + 0.3 * 0.7 * (tie**power).sum())

    assert model.certificate_.primal == pytest.approx(objective(model.coef_), rel=1e-9)
    assert model.certificate_.relative_gap <= 1e-9
    rng = np.random.default_rng(1)
    best = objective(model.coef_)
    assert all(objective(model.coef_ + 0.01 * rng.normal(size=3)) >= best * (1 - 1e-8) for _ in range(50))


def test_a_tie_of_margin_one_is_a_win_for_each_side() -> None:
    X, winners, losers, ties = season()
    tied = SVMRanker(C=0.3, **TIGHT).fit_comparisons(X, winners, losers, ties=ties, tie_margin=1.0)
    both = SVMRanker(C=0.3, **TIGHT).fit_comparisons(
        X, [*winners, *ties[:, 0], *ties[:, 1]], [*losers, *ties[:, 1], *ties[:, 0]]
    )  # fmt: skip
    np.testing.assert_allclose(tied.coef_, both.coef_, atol=1e-4)
    assert both.certificate_.primal - tied.certificate_.primal == pytest.approx(0.3 * 2 * len(ties), rel=1e-6)


def test_items_by_name_and_the_table_of_strengths() -> None:
    model = SVMRanker(C=10.0, tol=1e-8).fit_comparisons(
        None, ["b", "a", "b"], ["a", "c", "c"], ties=[("a", "d")], items=["a", "b", "c", "d", "e"]
    )
    table = model.strength_table()
    assert table[0][0] == "b"
    strengths = dict(table)
    assert strengths["a"] == pytest.approx(strengths["d"], abs=1e-3)
    assert strengths["e"] == 0.0
    assert sorted(strengths.values(), reverse=True) == [value for _, value in table]
    np.testing.assert_array_equal(model.coef_, model.strengths_)
    assert SVMRanker().fit_comparisons(None, [7, 9], [9, 3]).items_.tolist() == [3, 7, 9]
    by_row = SVMRanker(C=10.0, tol=1e-8).fit_comparisons(np.eye(5), [1, 0, 1], [0, 2, 2], ties=[(0, 3)])
    np.testing.assert_allclose(by_row.strengths_, model.strengths_, atol=1e-6)
    by_row.fit([[0.0], [1.0]], [0, 1])
    assert not hasattr(by_row, "strengths_")


def test_weight_zero_leaves_out() -> None:
    X, winners, losers, ties = season()
    model = SVMRanker(C=0.3, **TIGHT).fit_comparisons(X, winners, losers, np.arange(len(winners)) % 2)
    part = SVMRanker(C=0.3, **TIGHT).fit_comparisons(X, winners[1::2], losers[1::2])
    np.testing.assert_allclose(model.coef_, part.coef_, atol=1e-4)


@pytest.mark.parametrize(
    ("arguments", "more", "message"),
    [
        ((None, ["a"], ["a"]), {}, "comparison 0 is of 'a' against itself"),
        ((None, ["a", "b"], ["b"]), {}, "winners has 2 items and losers 1"),
        ((np.eye(2), [0], [2]), {}, r"comparison 0 has the unknown item 2: rows of X are 0\.\.1"),
        ((None, ["a"], ["b"]), {"items": ["a", "c"]}, "unknown item 'b': it is not among the items"),
        ((None, ["a"], ["b"]), {"items": ["a", "b", "a"]}, "items names 'a' twice"),
        ((np.eye(2), ["a"], ["b"]), {"items": ["a", "b", "c"]}, "items has 3 names for the 2 rows"),
        ((None, ["a"], ["b"]), {"ties": [("a", "b", "c")]}, r"ties\[0\] has 3 items; a tie is between two"),
        ((None, [], []), {}, "no comparison of positive weight"),
        ((None, ["a"], ["b"], [1.0, 2.0]), {}, r"sample_weight has shape \(2,\)"),
        ((None, ["a"], ["b"]), {"ties": [("a", "b")], "tie_weight": [-1.0]}, r"tie_weight\[0\] is -1.0"),
        ((None, ["a"], ["b"]), {"tie_margin": -1.0}, "tie_margin must be a finite number >= 0, not -1.0"),
        ((None, "ab", "ba"), {}, "winners must be a list of items, not 'ab'"),
        ((None, [None], ["b"]), {}, r"winners\[0\] is None, which names no item"),
    ],
)
def test_refusals(arguments: Any, more: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        SVMRanker().fit_comparisons(*arguments, **more)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, DataError) or "tie_margin" in message


def test_a_warm_start_of_comparisons_is_refused() -> None:
    with pytest.raises(ValueError, match="fit_comparisons has no warm start"):
        SVMRanker(warm_start=True).fit_comparisons(None, ["a"], ["b"])


def test_weights_of_zero_leave_the_others() -> None:
    """Of wins or of ties alone: what is left are the others, and without slack there may be such ties."""
    X = np.arange(4.0)[:, None]
    wins = SVMRanker(**TIGHT).fit_comparisons(X, [3, 2], [1, 0])
    both = SVMRanker(**TIGHT).fit_comparisons(X, [3, 2], [1, 0], ties=[[0, 2]], tie_weight=[0.0])
    np.testing.assert_array_equal(both.coef_, wins.coef_)
    assert both.notes_ == wins.notes_
    hard = SVMRanker(C=np.inf).fit_comparisons(X, [3, 2], [1, 0], ties=[[0, 2]], tie_weight=[0.0])
    assert hard.coef_ == pytest.approx([0.5], rel=1e-3)
    ties = SVMRanker(**TIGHT).fit_comparisons(X, [3, 2], [1, 0], [0.0, 0.0], ties=[[0, 2]])
    assert ties.coef_.tolist() == [0.0]
    with pytest.raises(DataError, match="no comparison of positive weight"):
        SVMRanker().fit_comparisons(X, [3, 2], [1, 0], [0.0, 0.0], ties=[[0, 2]], tie_weight=[0.0])


def test_names_that_are_none() -> None:
    nan = float("nan")
    with pytest.raises(DataError, match=r"winners\[1\]: nan cannot be a label"):
        SVMRanker().fit_comparisons(None, [1.0, nan], [nan, 2.0])
    with pytest.raises(DataError, match=r"losers\[0\]: \[2\] cannot be a label"):
        SVMRanker().fit_comparisons(None, ["a"], [[2]])
    with pytest.raises(DataError, match=r"winners\[0\] is None, which names no item"):
        SVMRanker().fit_comparisons(None, [None], ["a"])


def test_names_that_have_no_order_stay_as_they_come() -> None:
    """Of sets ``<`` is "is part of": sorted by it they would stand in an order that follows from nothing."""
    whole, part, other = frozenset("bc"), frozenset("c"), frozenset("a")
    model = SVMRanker().fit_comparisons(None, [whole, part], [part, other])
    assert model.items_.tolist() == [whole, part, other]


@pytest.mark.parametrize("margin", [True, "1", None, -1.0, float("inf"), pytest.param(10**400, id="huge")])
def test_margins_of_ties_are_numbers(margin: Any) -> None:
    with pytest.raises(ValueError, match="tie_margin must be a finite number >= 0"):
        SVMRanker().fit_comparisons(None, ["a"], ["b"], ties=[("a", "b")], tie_margin=margin)


def test_a_fit_that_was_refused_leaves_the_model() -> None:
    model = SVMRanker().fit_comparisons(np.eye(3), [0, 1], [1, 2])
    before = dict(vars(model))
    with pytest.raises(DataError, match="of positive weight"):
        model.fit_comparisons(None, ["a"], ["b"], [0.0])
    assert vars(model) == before
