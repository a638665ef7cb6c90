"""``X' D X`` in tiles: against the product itself, whatever the shape, the storage and the number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from maxmargin import SVMClassifier, _products
from maxmargin.solvers.deadline import OutOfTime
from maxmargin.solvers.linear import gram as tiles
from maxmargin.solvers.linear.rows import Rows
from maxmargin.solvers.linear.selected_rows import SelectedRows

SHAPES = [(1, 1), (3, 40), (352, 24), (353, 25), (700, 1), (4000, 30), (1000, 100), (6500, 49)]


def rows_of(n: int, d: int, kind: str, dtype: Any = np.float64) -> Any:
    X = np.random.default_rng(n + d).normal(size=(n, d)).astype(dtype)
    if kind == "sparse":
        X[np.random.default_rng(0).random((n, d)) < 0.5] = 0.0
        return sp.csr_array(X)
    return np.asfortranarray(X) if kind == "fortran" else X


@pytest.mark.parametrize("kind", ["dense", "fortran", "sparse"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_it_is_the_product(n: int, d: int, kind: str, dtype: Any) -> None:
    X = rows_of(n, d, kind, dtype)
    weights = np.random.default_rng(1).random(n)
    weights[::3] = 0.0
    found = Rows(X).gram(weights)
    dense = (X.toarray() if sp.issparse(X) else X).astype(np.float64)
    wanted = dense.T @ (weights[:, None] * dense)
    assert found == pytest.approx(wanted, rel=1e-12, abs=1e-13 * max(np.abs(wanted).max(), 1e-300))
    assert (found == found.T).all()


@pytest.mark.parametrize("n", [0, 5])
def test_nothing_to_add_up(n: int) -> None:
    for d in (0, 3):
        assert (Rows(np.ones((n, d))).gram(np.zeros(n)) == np.zeros((d, d))).all()


@pytest.mark.parametrize("call", [4e9, 4e7])
@pytest.mark.parametrize(("n", "d"), [(30_000, 60), (2000, 260)])
def test_the_number_of_threads_does_not_matter(n: int, d: int, call: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "_CALL", call)
    X = rows_of(n, d, "dense")
    weights = np.random.default_rng(1).random(n)
    found = []
    for threads in (1, 2, 3, 20):
        monkeypatch.setattr(tiles, "as_many_as_blas", lambda threads=threads: threads)
        found.append(Rows(X).gram(weights))
    assert all((other == found[0]).all() for other in found)


def test_no_library_divides_a_piece() -> None:
    assert tiles.PIECE_ROWS * tiles._TILE**2 <= _products._PIECE


@pytest.mark.parametrize("most", [1, 2, 5, 40])
@pytest.mark.parametrize("count", [1, 2, 7, 30])
def test_every_row_of_tiles_is_in_one_group(count: int, most: int) -> None:
    groups = tiles._groups(count, most)
    assert [i for low, high in groups for i in range(low, high)] == list(range(count))
    assert len(groups) <= most
    if count > 10 * most:
        sizes = [sum(range(low + 1, high + 1)) for low, high in groups]
        assert max(sizes) <= 1.3 * min(sizes)


def test_of_rows_where_they_lie() -> None:
    X = rows_of(20_000, 30, "dense", np.float32)
    places = np.random.default_rng(2).permutation(len(X))[:9000]
    more = np.random.default_rng(3).normal(size=(4, 30))
    weights = np.random.default_rng(1).random(9004)
    weights[::3] = 0.0
    dense = np.vstack([X[places], more]).astype(np.float64)
    found = SelectedRows(Rows(X), places, more).gram(weights)
    assert found == pytest.approx(dense.T @ (weights[:, None] * dense), rel=1e-12)


def test_long_calls_are_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that Ctrl-C cannot end is short."""
    X = rows_of(2000, 50, "dense")
    seen = []
    plain = tiles._add_tiles
    monkeypatch.setattr(tiles, "_add_tiles", lambda rows, *others: (seen.append(len(rows)), plain(rows, *others)))
    whole = Rows(X).gram(np.ones(2000))
    assert seen == [2000]
    monkeypatch.setattr(tiles, "_CALL", 1.0)
    assert (Rows(X).gram(np.ones(2000)) == whole).all()
    assert max(seen[1:]) <= tiles.PIECE_ROWS


@pytest.mark.parametrize("kind", ["dense", "sparse", "selected"])
def test_it_can_be_ended_on_the_way(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "_CALL", 1e6)
    rows: Any = Rows(rows_of(20_000, 30, "sparse" if kind == "sparse" else "dense"))
    if kind == "selected":
        rows = SelectedRows(rows, np.arange(0, 20_000, 2))
    calls = []

    def check() -> None:
        calls.append(len(calls))
        if len(calls) == 5:
            raise OutOfTime

    with pytest.raises(OutOfTime):
        rows.gram(np.ones(rows.shape[0]), check)
    assert len(calls) == 5
    assert (rows.gram(np.ones(rows.shape[0]), lambda: None) == rows.gram(np.ones(rows.shape[0]))).all()


def test_a_limit_of_time_within_an_iteration_leaves_the_model_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    X, r = rows_of(3000, 20, "dense"), np.random.default_rng(3)
    y = np.where(X[:, 0] + r.normal(size=3000) > 0.0, 1, -1)
    monkeypatch.setattr(tiles, "_CALL", 1e5)
    looks, gram = [0], Rows.gram

    def until(self: Rows, weights: Any, check: Any = None) -> Any:
        def counted() -> None:
            looks[0] += 1
            if looks[0] >= 40:
                raise OutOfTime
            check()

        return gram(self, weights, counted)

    monkeypatch.setattr(Rows, "gram", until)
    with pytest.warns(ConvergenceWarning, match="time limit"):
        model = SVMClassifier(solver="interior_point", tol=1e-12, random_state=0).fit(X, y)
    assert looks[0] >= 40
    found = model.certificate_
    assert 1 < found.passes
    assert found.dual <= found.primal
    slack = np.maximum(1.0 - y * model.decision_function(X), 0.0)
    assert found.primal == pytest.approx(0.5 * np.sum(model.coef_**2) + slack.sum())
