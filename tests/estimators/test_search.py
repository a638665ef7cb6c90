"""The search for C: its scores are those of separate fits, its model is one of the grid, and scikit-learn takes it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError, SkipTestWarning
from sklearn.metrics import accuracy_score, f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from maxmargin import SVMClassifier, SVMClassifierCV, SVMRegressor, SVMRegressorCV
from maxmargin.errors import DataError

RNG = np.random.default_rng(8)
X = RNG.normal(size=(90, 4)) + 0.3
Y = np.where(X @ [1.0, -1.0, 0.5, 0.0] + RNG.normal(size=90) > 0.3, "yes", "no")
CS = [1.0, 0.01, 0.1, 10.0]
TIGHT: dict[str, Any] = dict(tol=1e-9, random_state=0)
FOLDS = list(StratifiedKFold(3).split(X, Y))


@pytest.mark.parametrize("kernel", ["linear", pytest.param("rbf", marks=pytest.mark.slow)])
def test_the_checks_of_scikit_learn(kernel: str) -> None:
    with warnings.catch_warnings():
        for category in (SkipTestWarning, ConvergenceWarning):
            warnings.simplefilter("ignore", category)
        warnings.filterwarnings("ignore", message="The least populated class")
        check_estimator(SVMClassifierCV(Cs=1, cv=2, kernel=kernel))


@pytest.mark.parametrize("scoring", [None, "roc_auc", "balanced_accuracy"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_scores_are_those_of_separate_fits(kernel: str, scoring: str | None) -> None:
    search = SVMClassifierCV(CS, kernel=kernel, scoring=scoring, cv=4, **TIGHT).fit(X, Y)
    for k, C in enumerate(CS):
        alone = cross_val_score(SVMClassifier(C, kernel=kernel, **TIGHT), X, Y, cv=4, scoring=scoring)
        assert search.scores_[:, k] == pytest.approx(alone)
    mean = search.scores_.mean(0)
    assert search.Cs_.tolist() == CS
    assert search.C_ == min(C for C, score in zip(CS, mean, strict=True) if score >= mean.max() - 1e-12)


def test_scikit_learns_own_search_finds_the_same() -> None:
    grid = GridSearchCV(SVMClassifier(**TIGHT), {"C": sorted(CS)}, cv=4).fit(X, Y)
    search = SVMClassifierCV(CS, cv=4, **TIGHT).fit(X, Y)
    assert grid.cv_results_["mean_test_score"] == pytest.approx(search.scores_.mean(0)[np.argsort(CS)])
    assert grid.best_params_["C"] == search.C_
    assert grid.predict(X).tolist() == search.predict(X).tolist()
    assert GridSearchCV(SVMClassifier(warm_start=True), {"C": [0.1, 1.0]}).fit(X, Y).best_score_ > 0.5


def test_the_model_is_that_of_the_path() -> None:
    search = SVMClassifierCV(CS, cv=3, **TIGHT).fit(X, Y)
    model = search.path_.model(search.C_)
    assert search.estimator_ is model
    assert model.C == search.C_
    assert len(search.path_) == 4
    assert np.array_equal(search.coef_, model.coef_)
    assert np.array_equal(search.intercept_, model.intercept_)
    assert search.classes_.tolist() == ["no", "yes"]
    assert search.certificate_ is model.certificate_
    assert search.n_features_in_ == 4
    assert np.array_equal(search.decision_function(X), model.decision_function(X))
    assert search.predict(X).tolist() == model.predict(X).tolist()
    assert search.score(X, Y) == accuracy_score(Y, model.predict(X))
    alone = SVMClassifier(search.C_, **TIGHT).fit(X, Y)
    assert search.coef_ == pytest.approx(alone.coef_, rel=1e-3, abs=1e-4)


def test_of_equal_scores_the_smallest_value_wins() -> None:
    rows = np.vstack([X[:, :1] * 0.0 - 1.0, X[:, :1] * 0.0 + 1.0])
    search = SVMClassifierCV([5.0, 0.5, 50.0]).fit(rows, np.repeat([0, 1], 90))
    assert search.scores_.tolist() == [[1.0] * 3] * 5
    assert search.C_ == 0.5


def test_weights_are_copies() -> None:
    """In training and in scoring; with folds that say which rows they hold."""
    weight = RNG.integers(0, 3, len(X))
    copies = np.repeat(np.arange(len(X)), weight)
    folds = [tuple(np.flatnonzero(np.isin(copies, part)) for part in fold) for fold in FOLDS]
    for scoring in (None, "roc_auc"):
        weighted = SVMClassifierCV(CS, cv=FOLDS, scoring=scoring, **TIGHT).fit(X, Y, sample_weight=weight)
        copied = SVMClassifierCV(CS, cv=folds, scoring=scoring, **TIGHT).fit(X[copies], Y[copies])
        assert weighted.scores_ == pytest.approx(copied.scores_)
        assert weighted.C_ == copied.C_
        assert weighted.coef_ == pytest.approx(copied.coef_, rel=1e-6)


def test_a_function_that_scores() -> None:
    def without_weights(model: Any, rows: Any, y: Any) -> float:
        return float(f1_score(y, model.predict(rows), pos_label="yes"))

    def with_weights(model: Any, rows: Any, y: Any, sample_weight: Any = None) -> float:
        assert sample_weight is not None
        return float(f1_score(y, model.predict(rows), pos_label="yes", sample_weight=sample_weight))

    weight = np.ones(len(X))
    one, other = (
        SVMClassifierCV(CS, cv=FOLDS, scoring=scoring, **TIGHT).fit(X, Y, sample_weight=weight).scores_
        for scoring in (without_weights, with_weights)
    )
    assert one == pytest.approx(other)


def test_a_precomputed_kernel() -> None:
    K = np.exp(-0.4 * ((X[:, None] - X) ** 2).sum(2))
    one = SVMClassifierCV(CS, cv=FOLDS, kernel="precomputed", **TIGHT).fit(K, Y)
    other = SVMClassifierCV(CS, cv=FOLDS, kernel="rbf", gamma=0.4, **TIGHT).fit(X, Y)
    assert one.scores_ == pytest.approx(other.scores_)
    assert one.predict(K).tolist() == other.predict(X).tolist()


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_several_classes_sparse_rows_and_masks(kernel: str, multi_class: str) -> None:
    rows, y = load_iris(return_X_y=True)
    folds = list(StratifiedKFold(3).split(rows, y))
    masks = [(np.isin(np.arange(len(y)), train), np.isin(np.arange(len(y)), test)) for train, test in folds]
    options: dict[str, Any] = dict(kernel=kernel, multi_class=multi_class, gamma=0.5, tol=1e-6, random_state=0)
    search = SVMClassifierCV([0.1, 1.0], cv=folds, **options).fit(rows, y)
    for k, C in enumerate((0.1, 1.0)):
        alone = cross_val_score(SVMClassifier(C, **options), rows, y, cv=folds)
        assert search.scores_[:, k] == pytest.approx(alone)
    sparse = SVMClassifierCV([0.1, 1.0], cv=masks, **options).fit(sp.csr_matrix(rows), y)
    assert sparse.scores_ == pytest.approx(search.scores_)


def test_probabilities_with_the_logistic_loss() -> None:
    search = SVMClassifierCV([0.1, 1.0], loss="logistic", scoring="neg_log_loss", **TIGHT).fit(X, Y)
    for k, C in enumerate((0.1, 1.0)):
        alone = cross_val_score(SVMClassifier(C, loss="logistic", **TIGHT), X, Y, scoring="neg_log_loss")
        assert search.scores_[:, k] == pytest.approx(alone, rel=1e-5)
    assert search.predict_proba(X) == pytest.approx(search.estimator_.predict_proba(X))
    assert not hasattr(SVMClassifierCV(), "predict_proba")
    assert hasattr(SVMClassifierCV(loss="logistic"), "predict_proba")


def test_in_a_pipeline_and_copied() -> None:
    rows, y = load_breast_cancer(return_X_y=True)
    search = make_pipeline(StandardScaler(), SVMClassifierCV(5, cv=3, random_state=0)).fit(rows, y)
    assert search.score(rows, y) > 0.97
    assert search[-1].Cs_ == pytest.approx(np.logspace(-3, 3, 5))
    again = clone(search).set_params(svmclassifiercv__Cs=[0.1]).fit(rows, y)
    assert again[-1].C_ == 0.1
    named = pytest.importorskip("pandas").DataFrame(rows[:, :3], columns=["a", "b", "c"])
    assert SVMClassifierCV(2, cv=2, random_state=0).fit(named, y).feature_names_in_.tolist() == ["a", "b", "c"]


def test_wrong_inputs() -> None:
    with pytest.raises(ValueError, match="Cs is empty"):
        SVMClassifierCV([]).fit(X, Y)
    with pytest.raises(ValueError, match=r"Cs\[0\] is nan"):
        SVMClassifierCV([np.nan]).fit(X, Y)
    with pytest.raises(ValueError, match="scoring must be one name or one function"):
        SVMClassifierCV(scoring=["accuracy", "f1"]).fit(X, Y)
    with pytest.raises(ValueError, match="kernel"):
        SVMClassifierCV(kernel="none of them").fit(X, Y)
    with pytest.raises(DataError, match="y has one class only"):
        SVMClassifierCV(cv=KFold(2)).fit(X, np.repeat([0, 1], 45))
    weight = np.ones(len(X))
    weight[FOLDS[1][1]] = 0.0
    with pytest.raises(DataError, match="no held-out row of fold 1 has positive weight"):
        SVMClassifierCV(cv=FOLDS).fit(X, Y, sample_weight=weight)
    with pytest.raises(ValueError, match=r"scores on held-out rows are no numbers at C=0\.1"):
        SVMClassifierCV([0.1], scoring=lambda model, rows, y: np.nan).fit(X, Y)
    with pytest.raises(NotFittedError):
        SVMClassifierCV().predict(X)
    with pytest.raises(AttributeError, match="SVMClassifierCV has no attribute 'coef_'"):
        _ = SVMClassifierCV().coef_


@pytest.mark.parametrize("named", [False, True])
def test_a_fold_may_lack_a_class_that_has_a_weight(named: bool) -> None:
    y = np.repeat([0, 1, 2], 30)
    labels: Any = y
    if named:
        labels = np.fromiter(((k,) for k in y.tolist()), object, 90)
    weights = {(2,) if named else 2: 3.0}
    search = SVMClassifierCV(Cs=CS, class_weight=weights, cv=KFold(3), **TIGHT).fit(X, labels)
    for k, (train, test) in enumerate(KFold(3).split(X)):
        of_fold = {2: 3.0} if 2 in y[train] else None
        model = SVMClassifier(CS[1], class_weight=of_fold, **TIGHT).fit(X[train], y[train])
        assert search.scores_[k, 1] == pytest.approx(model.score(X[test], y[test]))
    with pytest.raises(DataError, match="class_weight names the class 7, which is not in y"):
        SVMClassifierCV(Cs=CS, class_weight={7: 3.0}, cv=KFold(3)).fit(X, y)


def test_metrics_without_weights_are_asked_without() -> None:
    values = X @ [1.0, -1.0, 0.5, 0.0] + RNG.normal(size=90)

    def own(true: Any, predicted: Any) -> float:
        return -float(np.abs(true - predicted).max())

    weight = np.ones(90)
    found = [
        SVMRegressorCV(Cs=CS, scoring=scoring, cv=3, **TIGHT).fit(values[:, None], values, sample_weight=weight).scores_
        for scoring in ("neg_max_error", make_scorer(own))
    ]
    np.testing.assert_allclose(found[0], found[1])
    # those with weights still get them
    weight = RNG.uniform(0.1, 2.0, 90)
    search = SVMRegressorCV(Cs=[1.0], scoring="neg_mean_absolute_error", cv=3, **TIGHT).fit(X, values, weight)
    for k, (train, test) in enumerate(KFold(3).split(X)):
        model = SVMRegressor(**TIGHT).fit(X[train], values[train], weight[train])
        error = np.average(np.abs(model.predict(X[test]) - values[test]), weights=weight[test])
        assert search.scores_[k, 0] == pytest.approx(-error)


class NoSignature:
    """As of compiled code."""

    @property
    def __signature__(self) -> Any:
        raise ValueError("no signature found")

    def __call__(self, model: Any, rows: Any, y: Any) -> float:
        return float(model.score(rows, y))


def test_a_scorer_without_a_signature_gets_no_weights() -> None:
    search = SVMClassifierCV(Cs=[1.0], cv=3, scoring=NoSignature(), **TIGHT).fit(X, Y, np.ones(90))
    np.testing.assert_allclose(search.scores_, SVMClassifierCV(Cs=[1.0], cv=3, **TIGHT).fit(X, Y).scores_)


def test_a_search_that_fails_leaves_the_one_before() -> None:
    search = SVMClassifierCV(Cs=[1.0, 2.0], cv=3).fit(X, Y)
    before = dict(vars(search))
    with pytest.raises(DataError):
        search.set_params(Cs=[1.0]).fit(X[:, :2], np.zeros(90))
    after = dict(vars(search))
    assert {name: after[name] is before[name] for name in before if name.endswith("_")} == dict.fromkeys(
        (name for name in before if name.endswith("_")), True
    )
