"""Rows selected where they lie: the same numbers as of a copy, in no more memory than a block of them."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from maxmargin import SVMClassifier, SVMRegressor
from maxmargin.solvers.linear import dense_products, selected_rows
from maxmargin.solvers.linear.band import BandRun
from maxmargin.solvers.linear.interior_point import InteriorPoint
from maxmargin.solvers.linear.rows import Rows
from maxmargin.solvers.linear.selected_rows import SelectedRows, some_rows
from maxmargin.solvers.linear.task import LinearTask
from maxmargin.solvers.loop import run_to_tolerance
from maxmargin.terms import Terms, hinge, insensitive


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("more", [0, 2])
@pytest.mark.parametrize("count", [0, 1, 3, 4, 9, 500])
def test_all_is_as_of_a_copy(
    dtype: Any, more: int, count: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense_products, "_PIECE", 7 * 90)  # several pieces, several blocks
    monkeypatch.setattr(selected_rows, "_IN_A_CACHE", 7 * 40)
    rows = Rows(rng.normal(size=(800, 7)).astype(dtype))
    places = np.sort(rng.choice(800, count, replace=False))
    below = rng.normal(size=(more, 7)).astype(dtype).astype(np.float64)
    found = SelectedRows(rows, places, below if more else None)
    copy = np.vstack([rows.matrix[places].astype(np.float64), below])
    assert found.shape == copy.shape
    assert not found.sparse
    assert found.entries == copy.size
    assert np.array_equal(np.asarray(found.matrix), copy)
    W, b, D = rng.normal(size=(7, 3)), rng.normal(size=count + more), rng.random(count + more)
    D[::3] = 0.0
    close = dict(rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.scores(W[:, 0]), copy @ W[:, 0], **close)
    np.testing.assert_allclose(found.scores(W), copy @ W, **close)
    np.testing.assert_allclose(found.combined(b), copy.T @ b, **close)
    B = rng.normal(size=(count + more, 2))
    np.testing.assert_allclose(found.combined(B), copy.T @ B, **close)
    np.testing.assert_allclose(found.gram(D), copy.T @ (D[:, None] * copy), **close)
    np.testing.assert_allclose(found.squared_norms, (copy**2).sum(1), **close)
    np.testing.assert_allclose(found.column_squares(D), D @ copy**2, **close)


def problem(kind: str) -> tuple[np.ndarray[Any, Any], Terms]:
    rng = np.random.default_rng(5)
    n, d = 60_000, 30
    X = rng.normal(size=(n, d))
    scores = X @ rng.normal(size=d)
    if kind == "hinge":
        return X, hinge(np.where(scores + 2.0 * rng.normal(size=n) > 0.0, 1.0, -1.0), np.ones(n))
    return X, insensitive(scores + rng.normal(size=n), np.ones(n), 0.1)


@pytest.mark.parametrize(("kind", "share"), [("hinge", 0.45), ("tube", 0.6)])
def test_a_band_of_dense_rows_is_no_copy(kind: str, share: float) -> None:
    """A copy would add a fifth of the data and more to what there is for each term."""
    X, terms = problem(kind)
    task = LinearTask(
        Rows(X), terms, 1.0, np.ones(len(X)), "none", 1e-6, np.random.default_rng(0), signs=kind == "hinge"
    )
    assert len(task.rows.squared_norms) == len(X)  # made now: whoever comes first makes them
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    found = run_to_tolerance(task, InteriorPoint(), max_passes=100)
    most = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    assert found.certificate.relative_gap <= 1e-6
    assert most < share * X.nbytes, most / X.nbytes


@pytest.mark.parametrize(("kind", "most"), [("hinge", 20.5), ("tube", 23.5)])
def test_a_fit_holds_few_numbers_for_each_row(kind: str, most: float) -> None:
    """Copies that nobody needs, or costs of all terms at once, would be more."""
    X, terms = problem(kind)
    y = terms.sign[:, 0] if kind == "hinge" else terms.margin[:, 0] + 0.1
    model = (SVMClassifier if kind == "hinge" else SVMRegressor)(fit_intercept=False, random_state=0)
    model.fit(X[:20_000], y[:20_000])  # what is loaded and compiled by the first one is not counted
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    model.fit(X, y)
    taken = (tracemalloc.get_traced_memory()[1] - before) / (8 * len(y))
    tracemalloc.stop()
    assert model.solver_ == "interior_point"  # after coordinate ascent
    assert taken < most, taken


@pytest.mark.parametrize("kind", ["hinge", "tube"])
def test_a_band_begins_where_the_one_before_has_ended(kind: str) -> None:
    X, terms = problem(kind)
    run = BandRun(LinearTask(Rows(X), terms, 1.0, np.ones(len(X)), "none", 1e-6, np.random.default_rng(0)))
    steps: dict[int, int] = {}
    for _ in range(60):
        ready = run.advance().ready
        steps[run.bands] = run.inner.steps
        if ready:
            break
    assert ready
    assert sum(steps[k] for k in steps if k) <= 20  # from nothing it is 26 and 27


def test_some_of_selected_rows_are_those_of_the_copy(rng: np.random.Generator) -> None:
    rows = Rows(rng.normal(size=(60, 5)))
    selected = SelectedRows(rows, np.array([3, 8, 20, 41, 59]), rng.normal(size=(2, 5)))
    for places in ([], [0], [1, 4], [2, 5], [5, 6], [0, 1, 2, 3, 4, 5, 6]):
        few = some_rows(selected, np.array(places, np.int64))
        np.testing.assert_array_equal(few.matrix, selected.matrix[np.array(places, np.int64)])
        np.testing.assert_allclose(few.squared_norms, selected.squared_norms[np.array(places, np.int64)])
