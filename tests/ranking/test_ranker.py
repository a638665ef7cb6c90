"""The estimator: queries in any form, weights, scikit-learn with routed queries, refusals."""

from __future__ import annotations

import io
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError, SkipTestWarning
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from linear.problems import Small
from maxmargin import SVMRanker, load_model, save_model
from maxmargin.data import read_svmlight
from maxmargin.errors import DataError
from maxmargin.metrics import ndcg, swapped_pairs
from ranking.listed import explicit, pairs_of, random_ranking

TIGHT: dict[str, Any] = dict(tol=1e-9, max_passes=5000)
LOSSES = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])

# nine documents of three queries, not sorted by query
UNSORTED_QID = np.array([5, 2, 5, 9, 2, 5, 9, 2, 2])
UNSORTED_Y = np.array([2, 0, 0, 1, 1, 1, 0, 1, 2])
UNSORTED_X = np.random.default_rng(11).normal(size=(9, 3))


@LOSSES
def test_any_order_of_documents_and_any_kind_of_query_names(loss: Any) -> None:
    X, y, qid = UNSORTED_X, UNSORTED_Y, UNSORTED_QID
    small = explicit(X, y, np.unique(qid, return_inverse=True)[1], np.full(3, 0.5), loss)
    value = small.optimum()
    order = np.argsort(qid, kind="stable")
    text = np.array([f"q{q}" for q in qid])
    huge = qid.astype(np.int64) + 2**53
    models = [
        SVMRanker(C=0.5, loss=loss, **TIGHT).fit(*data)
        for data in (
            (X, y, qid), (X[order], y[order], qid[order]), (X, y, text), (X, y, text.astype(object)), (X, y, list(huge)),
            (X, y, qid.astype(float)), (X, y, pd.Series(qid)), (X, y, qid.astype(np.uint8)),
        )
    ]  # fmt: skip
    for model in models:
        assert model.certificate_.primal == pytest.approx(value, rel=1e-7)
        np.testing.assert_allclose(model.coef_, models[0].coef_, atol=1e-4)
        assert model.certificate_.n_examples == 3


def test_neighbouring_large_query_numbers_stay_apart() -> None:
    a = 2**53 + 1
    text = f"2 qid:{a} 1:0.5\n0 qid:{a} 1:0.1\n1 qid:{a + 1} 1:0.4\n0 qid:{a + 1} 1:0.3\n"
    data = read_svmlight(io.BytesIO(text.encode()))
    assert data.qid is not None
    assert data.qid.tolist() == [a, a, a + 1, a + 1]
    model = SVMRanker(C=1.0, **TIGHT).fit(data.X, data.y, data.qid)
    assert model.certificate_.n_examples == 2
    small = explicit(data.X.toarray(), data.y, [0, 0, 1, 1], [1.0, 1.0], "hinge")
    assert model.certificate_.primal == pytest.approx(small.optimum(), rel=1e-7)
    with pytest.raises(DataError, match=r"qid\[0\] is .*, no exact whole number; give qid as int64 or text"):
        SVMRanker().fit(data.X, data.y, data.qid.astype(float) * 2)


def test_queries_of_one_document_add_nothing() -> None:
    X, y, qid = np.array([[1.0, 0], [0, 1], [5, 5], [0.2, 0.9]]), np.array([1, 0, 1, 0]), np.array([1, 1, 2, 3])
    model = SVMRanker(**TIGHT).fit(X, y, qid)
    two = SVMRanker(**TIGHT).fit(X[:2], y[:2])
    np.testing.assert_allclose(model.coef_, two.coef_, atol=1e-6)
    np.testing.assert_allclose(model.coef_ / np.linalg.norm(model.coef_), np.array([1.0, -1.0]) / np.sqrt(2), atol=1e-6)
    assert model.certificate_.n_examples == 1
    for odd in (np.arange(4), ["a", "b", "c", "d"]):
        with pytest.raises(DataError, match="no comparable pairs"):
            SVMRanker().fit(X, y, odd)
    with pytest.raises(DataError, match="no comparable pairs"):
        SVMRanker().fit(X, np.ones(4))
    with pytest.raises(DataError, match="no comparable pairs.*of positive weight"):
        SVMRanker().fit(X, y, qid, [0.0, 0.0, 1.0, 1.0])


def test_the_same_as_a_linear_machine_on_listed_pairs() -> None:
    X, y, qid = random_ranking(3, n=60)
    pairs = pairs_of(y, qid)
    rows = X[pairs[:, 0]] - X[pairs[:, 1]]
    sign = np.where(np.arange(len(rows)) % 2, 1.0, -1.0)
    for loss in ("hinge", "squared_hinge"):
        machine = LinearSVC(
            C=0.05, loss=loss, fit_intercept=False, dual=True, tol=1e-8, max_iter=100_000, random_state=0
        )
        machine.fit(rows * sign[:, None], sign)
        model = SVMRanker(C=0.05, loss=loss, **TIGHT).fit(X, y, qid)  # type: ignore[arg-type]
        np.testing.assert_allclose(model.coef_, machine.coef_[0], atol=2e-4)
        assert model.certificate_.training_risk == pytest.approx(swapped_pairs(y, model.predict(X), qid), abs=1e-12)


@LOSSES
def test_weights_of_queries(loss: Any) -> None:
    X, y, qid = random_ranking(6)
    factor = np.array([2.0, 0.0, 0.5, 1.0])
    value = explicit(X, y, qid, 0.3 * factor, loss).optimum()
    each = SVMRanker(C=0.3, loss=loss, **TIGHT).fit(X, y, qid, factor[qid])
    query = SVMRanker(C=0.3, loss=loss, **TIGHT).fit(X, y, qid, sample_weight=factor)
    assert each.certificate_.primal == pytest.approx(value, rel=1e-7)
    np.testing.assert_array_equal(each.coef_, query.coef_)


@LOSSES
def test_weights_of_documents(loss: Any) -> None:
    """That of a pair is the product of two, as of so many copies; together with weights of queries."""
    X, y, qid = random_ranking(6)
    factor, each = np.array([2.0, 1.0, 0.5, 1.0]), np.random.default_rng(0).choice([0.0, 0.4, 1.0, 3.0], len(y))
    pairs = pairs_of(y, qid)
    c = 0.3 * factor[qid[pairs[:, 0]]] * each[pairs[:, 0]] * each[pairs[:, 1]]
    rows = X[pairs[:, 0]] - X[pairs[:, 1]]
    value = Small(rows[c > 0.0], np.ones((c > 0.0).sum()), c[c > 0.0], loss, "none").optimum()
    model = SVMRanker(C=0.3, loss=loss, **TIGHT).fit(X, y, qid, factor, document_weight=each)
    assert model.certificate_.primal == pytest.approx(value, rel=1e-7)
    wrong = X[pairs] @ model.coef_
    risk = float(c @ (wrong[:, 0] <= wrong[:, 1]) / c.sum())
    assert model.certificate_.training_risk == pytest.approx(risk, abs=1e-12)

    times = np.random.default_rng(1).integers(0, 4, len(y))
    copies = [np.repeat(values, times, 0) for values in (X, y, qid)]
    one = SVMRanker(C=0.1, loss=loss, **TIGHT).fit(X, y, qid, document_weight=times)
    other = SVMRanker(C=0.1, loss=loss, **TIGHT).fit(*copies)
    assert one.certificate_.primal == pytest.approx(other.certificate_.primal, rel=1e-8)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-4)


def test_a_warm_start_begins_with_the_last_weights() -> None:
    X, y, qid = random_ranking(1, n=200)
    model = SVMRanker(C=0.1, tol=1e-6, warm_start=True).fit(X, y, qid)
    cold = model.n_iter_
    model.fit(X, y, qid)
    assert model.n_iter_ < 0.5 * cold
    assert model.certificate_.relative_gap <= 1e-6
    model.fit(X[:, :2], y, qid)
    assert model.coef_.shape == (2,)


def test_data_frames_sparse_rows_pickles_and_clones() -> None:
    X, y, qid = random_ranking(2)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = SVMRanker(C=0.5).fit(frame, pd.Series(y), pd.Series(qid))
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.n_features_in_ == 3
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(frame), model.predict(frame))
    np.testing.assert_allclose(model.predict(frame), X @ model.coef_)
    assert not hasattr(clone(model), "coef_")
    sparse = SVMRanker(C=0.5).fit(sp.csr_array(X), y, qid)
    np.testing.assert_allclose(sparse.predict(sp.csr_matrix(X)), sparse.predict(X))
    fresh = SVMRanker()
    fresh._from_parts(model._to_parts())
    np.testing.assert_array_equal(fresh.predict(frame), model.predict(frame))


def test_queries_are_routed_through_a_search() -> None:
    X, y, qid = random_ranking(7, n=120, n_queries=12)
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = SVMRanker().set_fit_request(qid=True).set_score_request(qid=True)
        for splitter, extra in ((GroupKFold(3), {"groups": qid}), (KFold(3, shuffle=True, random_state=0), {})):
            search = GridSearchCV(ranker, {"C": [1e-3, 1.0]}, cv=splitter, error_score="raise").fit(
                X, y, qid=qid, **extra
            )
            train, test = next(splitter.split(X, y, extra.get("groups")))
            for k, C in enumerate((1e-3, 1.0)):
                model = SVMRanker(C=C).fit(X[train], y[train], qid[train])
                expected = ndcg(y[test], model.predict(X[test]), qid[test])
                assert search.cv_results_["split0_test_score"][k] == pytest.approx(expected, abs=1e-9)


def test_the_checks_of_scikit_learn() -> None:
    reason = "a weight is that of a query, whose documents have it together; document_weight is that of copies"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        check_estimator(
            SVMRanker(),
            expected_failed_checks=dict.fromkeys(
                (
                    "check_sample_weights_not_overwritten",
                    "check_sample_weight_equivalence_on_dense_data",
                    "check_sample_weight_equivalence_on_sparse_data",
                ),
                reason,
            ),
        )


def test_limits_and_callbacks() -> None:
    X, y, qid = random_ranking(1, n=200)
    with pytest.warns(ConvergenceWarning, match="SVMRanker stopped by pass limit"):
        SVMRanker(C=10.0, tol=1e-9, max_passes=5).fit(X, y, qid)
    met: list[Any] = []
    SVMRanker(C=10.0, tol=1e-9, callback=lambda record, w: met.append(w) or len(met) == 2).fit(X, y, qid)
    assert len(met) == 2


X, Y, QID = random_ranking(0)


@pytest.mark.parametrize(
    ("options", "arguments", "message"),
    [
        ({"C": 0}, (X, Y, QID), "SVMRanker: C must be a finite number > 0, not 0"),
        ({"loss": "square"}, (X, Y, QID), "loss must be 'hinge' or 'squared_hinge', not 'square'"),
        ({}, (X, Y, QID[:5]), r"qid has shape \(5,\); it needs one query for each of the 24 documents"),
        ({}, (X, Y, np.where(np.arange(24) == 3, np.nan, QID)), r"qid\[3\] is .*nan.*, no exact whole number"),
        ({}, (X, Y, [None, *QID[1:].astype(object)]), r"qid\[0\] is None, which names no query"),
        ({}, (X, Y, QID, -np.ones(24)), r"sample_weight\[0\] is -1.0; weights must be finite"),
        ({}, (X, Y, QID, np.arange(24.0)), r"sample_weight\[\d+\] is \d+, but another document of the same query has"),
        ({}, (X, Y, QID, np.ones(7)), r"sample_weight has shape \(7,\)"),
        ({}, (X, Y, QID, np.zeros(24)), "sample_weight is zero for every example"),
        ({}, (X, Y, QID, None, -np.ones(24)), r"document_weight\[0\] is -1.0; weights must be finite"),
        ({}, (X, Y, QID, None, np.ones(7)), r"document_weight has shape \(7,\)"),
        ({}, (X, Y, QID, None, 1.0 * (np.arange(24) == 3)), "no comparable pairs.*of positive weight"),
        ({}, (X, Y, QID, None, np.full(24, 1e-80)), "document_weight: a pair weighs the product of two weights"),
        ({}, (X, Y[:5], QID), "inconsistent numbers of samples"),
        ({}, (np.where(X == X[0, 0], np.nan, X), Y, QID), "NaN"),
        ({}, (X, np.where(np.arange(24) == 3, np.nan, Y), QID), "NaN"),
        ({}, (X * 1e200, Y, QID), "too large to compute with; scale the features down"),
    ],
)
def test_refusals(options: Any, arguments: Any, message: str) -> None:
    model = SVMRanker(**options)
    with pytest.raises(ValueError, match=message) as caught:
        model.fit(*arguments)
    assert not hasattr(model, "coef_")
    if isinstance(caught.value, DataError):
        assert "\n" not in str(caught.value)


def test_prediction_needs_a_fit_and_the_same_features() -> None:
    with pytest.raises(NotFittedError):
        SVMRanker().predict(X)
    with pytest.raises(ValueError, match="2 features"):
        SVMRanker().fit(X, Y, QID).predict(X[:, :2])


def test_a_model_file_ranks_the_same(tmp_path: Path) -> None:
    frame = pd.DataFrame(UNSORTED_X, columns=["a", "b", "c"])
    model = SVMRanker(loss="squared_hinge", random_state=3).fit(frame, UNSORTED_Y, UNSORTED_QID)
    save_model(model, tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
    assert loaded.get_params() == model.get_params()
    assert loaded.certificate_ == model.certificate_
    with pytest.raises(NotFittedError, match="call fit_comparisons first"):
        loaded.strength_table()

    teams = SVMRanker().fit_comparisons(None, ["Ajax", "Bonn"], ["Bonn", "Celta"])
    save_model(teams, tmp_path / "m")
    assert load_model(tmp_path / "m").strength_table() == teams.strength_table()


def test_indices_out_of_range_are_refused() -> None:
    """Such rows come from files that somebody damaged; compiled code would read beyond the weights."""
    X, y, qid = random_ranking(0, n=30)
    odd = sp.csr_matrix(X)
    odd.indices[3] = 99
    model = SVMRanker().fit(X, y, qid)
    for act in (lambda: SVMRanker().fit(odd, y, qid), lambda: model.predict(odd)):
        with pytest.raises(DataError, match="99"):
            act()
    with pytest.raises(DataError, match="99"):
        SVMRanker().fit_comparisons(odd, [0, 1], [2, 3])


@pytest.mark.parametrize(("C", "size"), [(1e49, "too large"), (1e-320, "too small")])
def test_what_is_out_of_range_is_named(C: float, size: str) -> None:
    """Nobody gave weights: it is the number of pairs that ``C`` was multiplied by."""
    with pytest.raises(
        DataError, match=f"C times the number of pairs to be ordered, .*: {size} to compute with"
    ) as error:
        SVMRanker(C=C).fit(X, Y, QID)
    assert "sample weight" not in str(error.value)


def test_an_integer_beyond_all_floats_is_no_C() -> None:
    with pytest.raises(ValueError, match="C must be a finite number > 0"):
        SVMRanker(C=10**400).fit(X, Y, QID)
