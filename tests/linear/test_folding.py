"""Features of one row folded into one feature a row: the same problem, the same answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import maxmargin._warm
from maxmargin import SVMClassifier, SVMRegressor, svm_path
from maxmargin.solvers.linear import folding
from maxmargin.solvers.linear.folding import Folded, fold
from maxmargin.solvers.linear.rows import Rows

N, COMMON, OWN = 200, 60, 20


def text(seed: int = 0, dtype: Any = np.float64) -> sp.csr_array:
    """Rows of words in common, and of words of their own: of these none in some rows, and up to 60 in others."""
    rng = np.random.default_rng(seed)
    rows, columns, fresh = [], [], COMMON
    for i in range(N):
        own = 0 if i % 7 == 0 else int(rng.integers(1, 2 * OWN))
        mine = np.concatenate([rng.choice(COMMON, 20, replace=False), np.arange(fresh, fresh + own)])
        rows.append(np.full(len(mine), i))
        columns.append(mine)
        fresh += own
    where = np.concatenate(columns)
    values = rng.normal(size=len(where)) * np.where(rng.random(len(where)) < 0.01, 0.0, 1.0)
    order = rng.permutation(fresh + 5)  # five features occur nowhere
    X = sp.csr_array((values.astype(dtype), (np.concatenate(rows), order[where])), shape=(N, fresh + 5))
    return X[:, rng.permutation(fresh + 5)].tocsr()


@pytest.fixture(autouse=True)
def fold_small_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "_FEWEST", 1000)


X = text()
SIGN = np.where(X[:, np.argsort(-X.count_nonzero(0))[:5]].sum(1) > 0, "yes", "no")


def test_scores_and_norms_are_kept() -> None:
    rows = Rows(X)
    found = fold(rows)
    assert found.column is not None
    assert found.rows.shape[1] < 0.1 * X.shape[1]
    assert found.rows.entries < 0.7 * X.nnz
    w = np.random.default_rng(1).normal(size=found.rows.shape[1] + 1)
    original = found.original(w)
    assert original.shape == (X.shape[1] + 1,)
    np.testing.assert_allclose(X @ original[:-1], found.rows.scores(w[:-1]), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(original[-1], w[-1])
    np.testing.assert_allclose(found.folded(original), w, rtol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(original), np.linalg.norm(w), rtol=1e-12)
    np.testing.assert_allclose(found.rows.squared_norms, rows.squared_norms, rtol=1e-12)


def test_weights_of_the_original_features_lose_nothing_but_length() -> None:
    found = fold(Rows(X))
    w = np.random.default_rng(1).normal(size=X.shape[1])
    mine = found.folded(w)
    np.testing.assert_allclose(found.rows.scores(mine), X @ w, rtol=1e-10, atol=1e-10)
    assert np.linalg.norm(mine) < np.linalg.norm(w)


@pytest.mark.parametrize("scale", [1e-90, 1e90])
def test_extreme_values_neither_vanish_nor_overflow(scale: float) -> None:
    found = fold(Rows(X * scale))
    w = np.random.default_rng(1).normal(size=found.rows.shape[1])
    np.testing.assert_allclose(scale * (X @ found.original(w)), found.rows.scores(w), rtol=1e-9, atol=1e-12 * scale)


def alone(found: Folded) -> np.ndarray:
    """Whether each of the original features is one of several in its column, or of a share other than 1."""
    assert found.column is not None
    several = np.bincount(found.column[found.share != 0.0], minlength=found.rows.shape[1]) > 1
    return (several[found.column] & (found.share != 0.0)) | ~np.isin(found.share, [0.0, 1.0])


def test_every_feature_keeps_its_column_and_those_of_no_row_have_a_weight_of_0() -> None:
    found = fold(Rows(X))
    assert found.column is not None
    count = np.bincount(X.indices, minlength=X.shape[1])
    kept = np.flatnonzero(count > 1)
    np.testing.assert_array_equal(found.column[kept], np.arange(len(kept)))
    np.testing.assert_array_equal(found.share[kept], 1.0)
    rows = np.repeat(np.arange(N), np.diff(X.indptr))[count[X.indices] == 1]
    for row, column in zip(rows, found.column[X.indices[count[X.indices] == 1]], strict=True):
        assert found.rows.indptr[row + 1] - 1 == np.flatnonzero(found.rows.indices == column)[0]
    w = -np.ones(found.rows.shape[1])
    nowhere = found.original(w)[count == 0]
    assert len(nowhere) == 5
    assert not nowhere.any()
    assert not np.signbit(nowhere).any()  # as it is in the file of a model


def test_what_is_written_to_another_array_covers_it() -> None:
    found = fold(Rows(X))
    w = np.random.default_rng(1).normal(size=found.rows.shape[1] + 1)
    out = np.full(X.shape[1], np.nan)
    assert found.original(w, out) is out
    np.testing.assert_array_equal(out, found.original(w)[:-1])


def test_a_feature_twice_in_one_row_is_not_folded() -> None:
    found = fold(Rows(X))
    one = int(np.flatnonzero(alone(found))[0])
    row = int(X.tocsc().indices[X.tocsc().indptr[one]])
    lo, hi = X.indptr[row], X.indptr[row + 1]
    k = lo + int(np.flatnonzero(X.indices[lo:hi] == one)[0])
    twice = sp.csr_array(
        (np.insert(X.data, k, 0.5), np.insert(X.indices, k, one), X.indptr + (np.arange(N + 1) > row)), X.shape
    )
    again = fold(Rows(twice))
    assert not alone(again)[one]
    w = np.random.default_rng(1).normal(size=again.rows.shape[1])
    np.testing.assert_allclose(twice @ again.original(w), again.rows.scores(w), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "other",
    [X.toarray(), X.astype(np.float32), X[:20], sp.csr_array(X[:, np.argsort(-X.count_nonzero(0))[:COMMON]])],
    ids=["dense", "float32", "few", "none alone"],
)
def test_the_rest_is_left_as_it_is(other: Any) -> None:
    rows = Rows(other)
    found = fold(rows)
    assert found.rows is rows
    w = np.ones(rows.shape[1])
    assert found.original(w) is w
    assert found.folded(w) is w


def without(monkeypatch: pytest.MonkeyPatch) -> None:
    for place in (folding, maxmargin._warm, maxmargin.classifier):
        monkeypatch.setattr(place, "fold", lambda rows, **_: Folded(rows, rows.shape[1]))


@pytest.mark.parametrize("solver", ["auto", "coordinate_ascent", "bundle", "newton"])
@pytest.mark.parametrize("kind", ["free", "penalized", "none"])
def test_fits_are_those_of_the_original_features(solver: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loss = "logistic" if solver == "newton" else "hinge"
    model = SVMClassifier(
        0.5, loss=loss, fit_intercept=kind != "none", penalize_intercept=kind == "penalized", solver=solver,
        tol=1e-6, max_passes=5000, random_state=0,
    )  # fmt: skip
    seen: list[int] = []
    model.set_params(callback=lambda record, w: seen.append(len(w)))
    model.fit(X, SIGN)
    assert set(seen) == {X.shape[1] + (kind != "none")}
    coef, intercept, primal = model.coef_[0].copy(), float(model.intercept_[0]), model.certificate_.primal
    assert model.certificate_.relative_gap <= 1e-6
    margins = np.where(SIGN == model.classes_[1], 1.0, -1.0) * (X @ coef + intercept)
    cost = np.logaddexp(0.0, -margins) if solver == "newton" else np.maximum(0.0, 1.0 - margins)
    square = coef @ coef + (intercept**2 if kind == "penalized" else 0.0)
    assert 0.5 * square + 0.5 * cost.sum() == pytest.approx(primal, rel=1e-9)
    beta = np.zeros(N)
    beta[model.support_] = model.dual_coef_[0]
    assert np.linalg.norm(coef - X.T @ beta) == pytest.approx(model.dual_residual_[0], abs=1e-8)
    without(monkeypatch)
    plain = model.fit(X, SIGN)
    assert plain.certificate_.primal == pytest.approx(primal, rel=2e-6)
    np.testing.assert_allclose(coef, plain.coef_[0], atol=2e-3)


def test_pairs_of_classes_regression_and_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    y = np.arange(N) % 3
    values = np.asarray(X[:, :50].sum(1)).ravel()

    def all_of_them() -> list[float]:
        pairs = SVMClassifier(0.1, multi_class="ovo", tol=1e-6, random_state=0).fit(X, y)
        line = SVMRegressor(0.1, tol=1e-6, random_state=0).fit(X, values)
        path = svm_path(X, y, [0.01, 0.1], tol=1e-5, random_state=0)
        for fit in path.models:
            assert np.mean(fit.predict(X) != y) == pytest.approx(path.training_errors[list(path.models).index(fit)])
        return [model.certificate_.primal for model in (pairs, line, *path.models)]

    folded = all_of_them()
    without(monkeypatch)
    np.testing.assert_allclose(folded, all_of_them(), rtol=2e-5)


def test_a_warm_start_with_other_rows_begins_where_the_fit_before_ended() -> None:
    model = SVMClassifier(1.0, tol=1e-6, warm_start=True, random_state=0).fit(X, SIGN)
    cold = model.n_iter_
    model.fit(X, SIGN)
    assert model.n_iter_ <= 3 < cold
    model.fit(text(1), SIGN)  # of another width, too
    assert model.certificate_.relative_gap <= 1e-6
