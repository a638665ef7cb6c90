"""The classifier for the area under the ROC curve: its objective, weights, threshold, and scikit-learn's conventions."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError, SkipTestWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

from linear.problems import Small
from maxmargin import AUCClassifier, SVMClassifier, SVMRanker, load_model, save_model
from maxmargin.auc import best_threshold
from maxmargin.errors import DataError
from ranking.listed import pairs_of

TIGHT: dict[str, Any] = dict(tol=1e-9, max_passes=5000)
LOSSES = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])


def two_classes(seed: int, n: int = 30, d: int = 3, share: float = 0.4) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 1.0
    score = X @ rng.normal(size=d) / np.sqrt(d) + rng.normal(size=n)
    return X, (score > np.quantile(score, 1.0 - share)).astype(int)


def listed(X: Any, y: Any, weight: Any, C: float, C_per: str, loss: str) -> Small:
    """The same problem with a row for each pair."""
    pairs = pairs_of(y, np.zeros(len(y)))
    c = C * weight[pairs[:, 0]] * weight[pairs[:, 1]]
    if C_per == "row":
        c *= 1.0 / weight[y == 1].sum() + 1.0 / weight[y == 0].sum()
    used = c > 0.0
    rows = X[pairs[used, 0]] - X[pairs[used, 1]]
    return Small(rows, np.ones(len(rows)), c[used], loss, "none")


@LOSSES
@pytest.mark.parametrize("C_per", ["row", "pair"])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_optimum_is_that_of_a_general_solver_over_listed_pairs(loss: Any, C_per: Any, C: float) -> None:
    X, y = two_classes(1)
    weight = np.random.default_rng(0).choice([0.0, 0.3, 1.0, 2.5], len(y))
    small = listed(X, y, weight, C, C_per, loss)
    value = small.optimum()
    for given_weight, problem, best in (
        (weight, small, value),
        (None, plain := listed(X, y, np.ones(len(y)), C, C_per, loss), plain.optimum()),
    ):
        model = AUCClassifier(C, C_per=C_per, loss=loss, tol=1e-8, max_passes=5000).fit(X, y, given_weight)
        found = model.certificate_
        assert found.primal == pytest.approx(problem.objective(model.coef_[0], 0.0), rel=1e-9)
        assert found.primal == pytest.approx(best, rel=1e-6)
        assert found.dual <= best * (1.0 + 1e-7)
        assert found.relative_gap <= 1e-8


@LOSSES
def test_it_is_the_ranker_with_two_grades(loss: Any) -> None:
    X, y = two_classes(2, n=80)
    ranker = SVMRanker(C=0.02, loss=loss, **TIGHT).fit(X, y)
    model = AUCClassifier(0.02, C_per="pair", loss=loss, **TIGHT).fit(X, y)
    np.testing.assert_allclose(model.coef_[0], ranker.coef_, atol=1e-5)
    assert model.certificate_.primal == pytest.approx(ranker.certificate_.primal, rel=1e-8)
    n, n_pairs = len(y), y.sum() * (1 - y).sum()
    rows = AUCClassifier(0.02 * n_pairs / n, loss=loss, **TIGHT).fit(X, y)
    assert rows.certificate_.primal == pytest.approx(ranker.certificate_.primal, rel=1e-8)
    np.testing.assert_allclose(rows.coef_, model.coef_, atol=1e-5)


@pytest.mark.parametrize("C_per", ["row", "pair"])
@pytest.mark.parametrize("n", [40, 26_000], ids=["merged", "as they are"])
def test_a_weight_is_a_number_of_copies(C_per: Any, n: int) -> None:
    """Exactly in small sets, whose equal rows are merged; else up to the tolerance."""
    X, y = two_classes(3, n=n, d=4)
    weight = np.random.default_rng(1).integers(0, 4, n)
    C = 0.1 if C_per == "row" else 0.1 / n
    one = AUCClassifier(C, C_per=C_per, tol=1e-6).fit(X, y, weight)
    other = AUCClassifier(C, C_per=C_per, tol=1e-6).fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    if n < 1000:
        np.testing.assert_array_equal(one.coef_, other.coef_)
        np.testing.assert_array_equal(one.intercept_, other.intercept_)
    assert one.certificate_.primal == pytest.approx(other.certificate_.primal, rel=2e-6)
    assert one.certificate_.training_risk == pytest.approx(other.certificate_.training_risk, abs=1e-3)


def test_C_per_row_is_that_of_rows() -> None:
    """Data twice are C twice; and C does not hang on the sizes of the classes."""
    X, y = two_classes(4)
    twice = AUCClassifier(0.3, **TIGHT).fit(np.tile(X, (2, 1)), np.tile(y, 2))
    double = AUCClassifier(0.6, **TIGHT).fit(X, y)
    assert twice.certificate_.primal == pytest.approx(double.certificate_.primal, rel=1e-8)
    many = AUCClassifier(0.3, **TIGHT).fit(X, y, np.where(y == 1, 9.0, 1.0))
    factor = (9.0 * y.sum() + (1 - y).sum()) / len(y)
    fewer = AUCClassifier(0.3 * factor, **TIGHT).fit(X, y)
    assert many.certificate_.primal == pytest.approx(fewer.certificate_.primal, rel=1e-8)


@LOSSES
def test_the_certificate_speaks_of_the_area(loss: Any) -> None:
    X, y = two_classes(5, n=200)
    weight = np.random.default_rng(0).uniform(0.1, 3.0, 200)
    model = AUCClassifier(loss=loss).fit(X, y, weight)
    area = roc_auc_score(y, model.decision_function(X), sample_weight=weight)
    assert model.certificate_.training_risk == pytest.approx(1.0 - area, abs=1e-9)
    assert model.certificate_.risk_bound >= 1.0 - area
    assert model.certificate_.n_examples == 1


def test_a_rare_class_is_ranked_better_than_by_the_hinge_of_rows() -> None:
    """Of 1,000 rows 50 are of the second class, which the hinge of rows all but gives up at a small ``C``."""
    areas = []
    for seed in range(8):
        X, y = two_classes(seed, n=2000, d=20, share=0.05)
        areas.append(
            [
                roc_auc_score(y[1000:], model.fit(X[:1000], y[:1000]).decision_function(X[1000:]))
                for model in (AUCClassifier(0.1, tol=1e-6), SVMClassifier(0.1, tol=1e-6))
            ]
        )
    ours, theirs = np.mean(areas, axis=0)
    assert ours > 0.8
    assert ours > theirs + 0.05


# --- the intercept

costs = st.sampled_from([0.0, 0.5, 1.0, 3.0])
scored = st.lists(
    st.tuples(st.sampled_from([-2.0, -0.5, 0.0, 0.25, 3.0]), st.booleans(), costs), min_size=1, max_size=9
)


@given(scored)
def test_the_threshold_has_the_fewest_errors(rows: Any) -> None:
    score, positive, cost = (np.array(column) for column in zip(*rows))
    at = np.unique(score)
    edges = np.concatenate([[at[0] - 2.0], at, [at[-1] + 2.0]])
    middles = 0.5 * (edges[1:] + edges[:-1])
    errors = np.array([cost[(score > t) != positive].sum() for t in middles])
    best = [(-width, t) for t, width, e in zip(middles, np.diff(edges), errors) if e == errors.min()]
    assert best_threshold(score, positive, cost) == min(best)[1]


def test_scores_without_room_for_a_threshold() -> None:
    low = 1.0
    high = np.nextafter(1.0, 2.0)
    t = best_threshold(np.array([low, high]), np.array([False, True]), np.ones(2))
    assert low <= t < high or t in (low - 1.0, high + 1.0)
    assert best_threshold(np.full(3, 1e20), np.array([True, True, False]), np.ones(3)) < 1e20


def test_prediction_has_the_fewest_weighted_errors_of_all_intercepts() -> None:
    X, y = two_classes(6, n=60, share=0.2)
    weight = np.random.default_rng(3).choice([0.0, 0.5, 2.0], 60)
    for class_weight, factor in ((None, (1.0, 1.0)), ("balanced", None), ({0: 0.5, 1: 4.0}, (0.5, 4.0))):
        model = AUCClassifier(class_weight=class_weight).fit(X, y, weight)
        used = weight > 0.0
        if factor is None:  # of the rows that are used
            factor = tuple(used.sum() / (2.0 * (used & (y == k)).sum()) for k in (0, 1))
        cost = weight * np.array(factor)[y]
        scores = X @ model.coef_[0]
        errors = [cost[(scores > t) != (y == 1)].sum() for t in (-np.inf, *scores)]
        assert cost[model.predict(X) != y].sum() == pytest.approx(min(errors))
    plain, balanced = (AUCClassifier(class_weight=each).fit(X, y, weight) for each in (None, "balanced"))
    np.testing.assert_array_equal(plain.coef_, balanced.coef_)
    assert balanced.predict(X).sum() > plain.predict(X).sum()


def test_the_middle_between_separated_classes() -> None:
    model = AUCClassifier(1000.0, tol=1e-8).fit([[0.0], [1.0], [5.0], [7.0]], [0, 0, 1, 1])
    assert -model.intercept_[0] / model.coef_[0, 0] == pytest.approx(3.0)


# --- conventions


def test_the_checks_of_scikit_learn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        check_estimator(AUCClassifier())


@pytest.mark.parametrize(
    "names", [("a", "b"), (False, True), (3, -1), (0.0, 1.0), np.array(["no", "yes"], object)], ids=str
)
def test_classes_of_any_kind(names: Any) -> None:
    X, y = two_classes(0)
    labels = np.array(names)[y]
    model = AUCClassifier(10.0).fit(X, labels)
    assert model.classes_.tolist() == sorted(names)
    assert model.coef_.shape == (1, 3)
    assert model.intercept_.shape == (1,)
    area = roc_auc_score(labels == model.classes_[1], model.decision_function(X))
    assert area == pytest.approx(1.0 - model.certificate_.training_risk)
    assert set(model.predict(X)) <= set(names)
    assert model.score(X, labels) > 0.6


def test_matrices_frames_pickles_and_clones() -> None:
    X, y = two_classes(7)
    X = np.where(np.abs(X) < 0.7, 0.0, X.astype(np.float32).astype(np.float64))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = AUCClassifier(**TIGHT).fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    forms: tuple[Any, ...] = (X, np.asfortranarray(X), X.astype(np.float32), sp.csr_array(X), sp.csc_matrix(X))
    for data in forms:
        other = AUCClassifier(**TIGHT).fit(data, y)
        assert other.certificate_.primal == pytest.approx(model.certificate_.primal, rel=1e-8)
        np.testing.assert_allclose(other.decision_function(X), model.decision_function(frame), atol=1e-4)
        np.testing.assert_array_equal(other.predict(data), other.predict(X))
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(frame), model.predict(frame))
    assert not hasattr(clone(model), "coef_")
    with pytest.raises(NotFittedError):
        clone(model).predict(X)
    with pytest.raises(ValueError, match="2 features"):
        AUCClassifier().fit(X, y).predict(X[:, :2])


def test_a_search_for_the_area() -> None:
    X, y = two_classes(8, n=90)
    search = GridSearchCV(AUCClassifier(), {"C": [1e-3, 1.0]}, scoring="roc_auc", cv=3, error_score="raise").fit(X, y)
    assert search.best_score_ > 0.6


def test_a_warm_start_begins_with_the_last_weights() -> None:
    X, y = two_classes(9, n=300)
    model = AUCClassifier(tol=1e-6, warm_start=True).fit(X, y)
    cold = model.n_iter_
    assert model.fit(X, y).n_iter_ < 0.5 * cold
    assert model.certificate_.relative_gap <= 1e-6
    assert model.fit(X[:, :2], y).coef_.shape == (1, 2)


def test_limits_and_callbacks() -> None:
    X, y = two_classes(1, n=200)
    with pytest.warns(ConvergenceWarning, match="AUCClassifier stopped by pass limit"):
        AUCClassifier(10.0, tol=1e-9, max_passes=5).fit(X, y)
    met: list[Any] = []
    AUCClassifier(10.0, tol=1e-9, callback=lambda record, w: met.append(w) or len(met) == 2).fit(X, y)
    assert len(met) == 2


X, Y = two_classes(0, n=24)


@pytest.mark.parametrize(
    ("options", "arguments", "message"),
    [
        ({"C": 0}, (X, Y), "AUCClassifier: C must be a finite number > 0, not 0"),
        ({"loss": "square"}, (X, Y), "loss must be 'hinge' or 'squared_hinge', not 'square'"),
        ({"C_per": "mean"}, (X, Y), "C_per must be 'row' or 'pair', not 'mean'"),
        ({"class_weight": {7: 1.0}}, (X, Y), "class_weight names the class 7, which is not in y"),
        ({}, (X, np.ones(24)), r"AUCClassifier: y has 1 class \(1.0\)"),
        ({}, (X, np.arange(24) % 3), r"y has 3 classes \(0, 1, 2\). Only binary classification is supported"),
        ({}, (X, Y, np.where(Y == 1, 0.0, 1.0)), r"y has 1 class \(0\)"),
        ({}, (X, [*map(str, Y[:-1]), 1]), "y mixes text with other labels"),
        ({}, (X, Y, -np.ones(24)), r"sample_weight\[0\] is -1.0; weights must be finite"),
        ({}, (X, Y, np.ones(7)), r"sample_weight has shape \(7,\)"),
        ({}, (X, Y, np.zeros(24)), "sample_weight is zero for every example"),
        ({}, (X, Y, np.full(24, 1e-80)), "sample_weight: a pair weighs the product of two weights"),
        ({}, (X, Y, np.full(24, 1e200)), "sample_weight: a pair weighs the product of two weights"),
        ({}, (X, Y[:5]), "inconsistent numbers of samples"),
        ({}, (np.where(X == X[0, 0], np.nan, X), Y), "NaN"),
        ({}, (np.empty((0, 3)), []), "0 sample"),
        ({}, (X * 1e200, Y), "too large to compute with; scale the features down"),
    ],
)
def test_refusals(options: Any, arguments: Any, message: str) -> None:
    model = AUCClassifier(**options)
    with pytest.raises(ValueError, match=message) as caught:
        model.fit(*arguments)
    assert not hasattr(model, "coef_")
    if isinstance(caught.value, DataError):
        assert "\n" not in str(caught.value)


# --- model files


def test_a_model_file_predicts_the_same(tmp_path: Path) -> None:
    X, y = two_classes(3)
    for names in (["no", "yes"], [-1, 1]):
        frame = pd.DataFrame(X, columns=["a", "b", "c"])
        model = AUCClassifier(C_per="pair", class_weight="balanced").fit(frame, np.array(names)[y])
        save_model(model, tmp_path / "m")
        loaded = load_model(tmp_path / "m")
        np.testing.assert_array_equal(loaded.decision_function(frame), model.decision_function(frame))
        np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))
        assert loaded.classes_.dtype == model.classes_.dtype
        assert loaded.get_params() == model.get_params()
        assert loaded.certificate_ == model.certificate_
        assert loaded.feature_names_in_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("classes", np.array([1, 1]), "the classes must be two"),
        ("classes", np.arange(3), "the classes must be two"),
        ("coef", np.ones(3), "weights of shapes"),
        ("coef", np.ones((2, 3)), "weights of shapes"),
        ("intercept", np.ones(2), "weights of shapes"),
        ("feature_names", ["a"], "1 names for 3 features"),
    ],
)
def test_parts_that_do_not_fit(name: str, value: Any, message: str) -> None:
    parts = AUCClassifier().fit(X, Y)._to_parts() | {name: value}
    with pytest.raises(ValueError, match=message):
        AUCClassifier()._from_parts(parts)
