"""Paths over C and searches for it, of regressors: they are separate fits, which a general solver confirms."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError, SkipTestWarning
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.utils.estimator_checks import check_estimator

from linear.problems import EPSILON, Small
from maxmargin import SVMPath, SVMRegressor, SVMRegressorCV, load_model, save_model, svm_path
from maxmargin.errors import DataError
from maxmargin.plots import PathDisplay

RNG = np.random.default_rng(5)
X = RNG.normal(size=(60, 4))
Y = X @ [1.0, -2.0, 0.5, 0.0] + 0.3 * RNG.normal(size=60) + 1.5
CS = [1e-3, 0.05, 1.0, 30.0]
TIGHT: dict[str, Any] = dict(tol=1e-8, random_state=0)
FOLDS = list(KFold(3).split(X))


def path_of(**options: Any) -> SVMPath:
    return svm_path(X, Y, CS, task="regression", **(TIGHT | options))


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_path_is_separate_fits(kernel: str, loss: str) -> None:
    options: dict[str, Any] = dict(kernel=kernel, gamma=0.4, loss=loss, epsilon=0.2)
    path = path_of(**options)
    assert path.regression
    for k, C in enumerate(CS):
        alone, model = SVMRegressor(C, **options, **TIGHT).fit(X, Y), path.models[k]
        assert model.certificate_.status.ok
        assert model.certificate_.relative_gap <= 1e-8
        assert model.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=2e-8)
        assert model.predict(X) == pytest.approx(alone.predict(X), abs=2e-3)
        assert model.get_params() == alone.get_params()
        assert path.training_errors[k] == pytest.approx(np.abs(model.predict(X) - Y).mean())
        assert path.predict(X)[k] == pytest.approx(model.predict(X))
        beta = model.dual_coef_[0]
        points = X[model.support_]
        K = points @ points.T if kernel == "linear" else model.kernel_.block(points, points)
        assert path.norms[k] == pytest.approx(np.sqrt(beta @ K @ beta), rel=1e-6)
    assert path.intercept_.shape == (4, 1)
    assert path.dual_coef_.shape == (4, 1, len(path.support_))


def test_certificates_against_a_general_solver() -> None:
    for C, found in zip(CS, path_of(epsilon=EPSILON).certificates, strict=True):
        value = Small(X, Y, np.full(len(X), C), "epsilon_insensitive", "free").optimum()
        assert found.dual * (1 - 1e-8) <= value * (1 + 1e-7)
        assert found.primal == pytest.approx(value, rel=1e-6)


def test_a_path_saves_passes() -> None:
    path = svm_path(X, Y, 10, task="regression", kernel="rbf", solver="block_smo", tol=1e-3, random_state=0)
    alone = [SVMRegressor(C, kernel="rbf", solver="block_smo", random_state=0).fit(X, Y).n_iter_ for C in path.Cs]
    assert path.passes.sum() < sum(alone)


def test_limits() -> None:
    """A small C: no weights, the intercept in the middle. A large one: the tube of width epsilon, where there is one."""
    path = svm_path(X[:4], Y[:4], [1e-9, 1e5], task="regression", epsilon=0.05, **TIGHT)
    assert path.norms[0] < 1e-6
    assert np.abs(path.predict(X[:4])[1] - Y[:4]).max() <= 0.05 * (1 + 1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_no_row_supports_a_model(kernel: str) -> None:
    """All targets are within the tube at every C, or the same."""
    rows = X @ X.T if kernel == "precomputed" else X
    for y, epsilon in ((Y, 100.0), (np.full(len(Y), 3.0), 0.1)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            path = svm_path(rows, y, [0.1, 10.0], task="regression", kernel=kernel, epsilon=epsilon)
            search = SVMRegressorCV([0.1, 10.0], cv=3, kernel=kernel, epsilon=epsilon, random_state=0).fit(rows, y)
        assert path.norms.tolist() == [0.0, 0.0]
        assert path.predict(rows) == pytest.approx(np.full((2, len(Y)), 0.5 * (y.max() + y.min())))
        assert np.ptp(search.predict(rows)) == 0.0
        assert "|w|" in str(path)


def test_weights_are_copies_and_rows_may_be_sparse() -> None:
    weight = RNG.integers(0, 3, len(X))
    copies = np.repeat(np.arange(len(X)), weight)
    options: dict[str, Any] = dict(task="regression", **TIGHT)
    one = svm_path(sp.csr_matrix(X), Y, CS, sample_weight=weight, **options)
    other = svm_path(X[copies], Y[copies], CS, **options)
    assert one.coef_ == pytest.approx(other.coef_, rel=1e-4, abs=1e-6)
    assert one.training_errors == pytest.approx(other.training_errors)


def test_the_table_and_the_picture() -> None:
    path = path_of(epsilon=0.2)
    lines = str(path).splitlines()
    assert lines[0].split() == ["C", "|w|", "mean", "|error|", "support", "gap", "passes"]
    assert f"{path.training_errors[0]:.4g}" in lines[1]
    display = PathDisplay.from_path(path, X=X[:20], y=Y[:20])
    assert display.regression
    assert display.tested == pytest.approx([np.abs(found - Y[:20]).mean() for found in path.predict(X[:20])])
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["|w| (left)", "training errors", "errors on other rows"]
    with pytest.raises(DataError, match=r"y has shape \(3,\); it needs one entry for each of the 20 rows"):
        PathDisplay.from_path(path, X=X[:20], y=Y[:3])


def test_wrong_inputs_to_a_path() -> None:
    with pytest.raises(ValueError, match=r"task must be one of \['classification', 'regression'\], not 'ranking'"):
        svm_path(X, Y, task="ranking")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="svm_path has no parameter 'class_weight' for regression"):
        svm_path(X, Y, task="regression", class_weight="balanced")
    with pytest.raises(ValueError, match="margin is for classification"):
        svm_path(X, Y, task="regression", margin=np.ones(len(X)))
    with pytest.raises(AttributeError, match="no decision function"):
        path_of().decision_function(X)
    with pytest.raises(ValueError, match="NaN"):
        svm_path(X, np.where(Y > 2.0, np.nan, Y), task="regression")
    with pytest.raises(ValueError, match="loss"):
        svm_path(X, Y, task="regression", loss="hinge")


@pytest.mark.parametrize("scoring", [None, "neg_mean_absolute_error"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_scores_of_a_search_are_those_of_separate_fits(kernel: str, scoring: str | None) -> None:
    options: dict[str, Any] = dict(kernel=kernel, epsilon=0.2, **TIGHT)
    search = SVMRegressorCV(CS, scoring=scoring, cv=4, **options).fit(X, Y)
    grid = GridSearchCV(SVMRegressor(**options), {"C": CS}, scoring=scoring, cv=4).fit(X, Y)
    for k, C in enumerate(CS):
        alone = cross_val_score(SVMRegressor(C, **options), X, Y, cv=4, scoring=scoring)
        assert search.scores_[:, k] == pytest.approx(alone, rel=1e-4, abs=1e-5)
    assert search.C_ == grid.best_params_["C"]
    assert search.estimator_ is search.path_.model(search.C_)
    assert np.array_equal(search.predict(X), search.estimator_.predict(X))
    assert search.certificate_ is search.estimator_.certificate_
    assert search.epsilon_ == 0.2
    assert clone(search).get_params() == search.get_params()
    assert not hasattr(search, "decision_function")


def test_weights_and_a_precomputed_kernel_in_a_search() -> None:
    weight = RNG.integers(0, 3, len(X))
    copies = np.repeat(np.arange(len(X)), weight)
    folds = [tuple(np.flatnonzero(np.isin(copies, part)) for part in fold) for fold in FOLDS]
    weighted = SVMRegressorCV(CS, cv=FOLDS, **TIGHT).fit(X, Y, sample_weight=weight)
    copied = SVMRegressorCV(CS, cv=folds, **TIGHT).fit(X[copies], Y[copies])
    assert weighted.scores_ == pytest.approx(copied.scores_, rel=1e-4)
    assert weighted.coef_ == pytest.approx(copied.coef_, rel=1e-4)
    K: NDArray[np.float64] = np.exp(-0.4 * ((X[:, None] - X) ** 2).sum(2))
    one = SVMRegressorCV(CS, cv=FOLDS, kernel="precomputed", **TIGHT).fit(K, Y)
    other = SVMRegressorCV(CS, cv=FOLDS, kernel="rbf", gamma=0.4, **TIGHT).fit(X, Y)
    assert one.scores_ == pytest.approx(other.scores_, abs=1e-4)
    assert one.predict(K) == pytest.approx(other.predict(X), abs=1e-3)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_model_file_of_a_search(kernel: str, tmp_path: Path) -> None:
    search = SVMRegressorCV([0.1, 1.0], cv=3, kernel=kernel, random_state=0).fit(X, Y)
    save_model(search, tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert isinstance(loaded, SVMRegressorCV)
    assert np.array_equal(loaded.predict(X), search.predict(X))
    assert np.array_equal(loaded.scores_, search.scores_)
    assert loaded.C_ == search.C_
    assert loaded.certificate_ == search.certificate_


def test_the_checks_of_scikit_learn() -> None:
    with warnings.catch_warnings():
        for category in (SkipTestWarning, ConvergenceWarning):
            warnings.simplefilter("ignore", category)
        check_estimator(SVMRegressorCV(Cs=1, cv=2))


def test_wrong_inputs_to_a_search() -> None:
    with pytest.raises(ValueError, match="Cs is empty"):
        SVMRegressorCV([]).fit(X, Y)
    with pytest.raises(ValueError, match="scoring must be one name or one function"):
        SVMRegressorCV(scoring=["r2"]).fit(X, Y)
    weight = np.ones(len(X))
    weight[FOLDS[1][1]] = 0.0
    with pytest.raises(DataError, match="no held-out row of fold 1 has positive weight"):
        SVMRegressorCV(cv=FOLDS).fit(X, Y, sample_weight=weight)
    with pytest.raises(ValueError, match="epsilon"):
        SVMRegressorCV(epsilon=-1.0).fit(X, Y)
    with pytest.raises(NotFittedError):
        SVMRegressorCV().predict(X)
    with pytest.raises(AttributeError, match="SVMRegressorCV has no attribute 'coef_'"):
        _ = SVMRegressorCV().coef_


def test_folds_that_are_none() -> None:
    for cv, message in (
        ([], r"cv=\[\] gives no folds"),
        ([1, 2], "fold 0 of cv is no pair of training rows and held-out rows of 60"),
        ([(np.arange(30), np.arange(70))], "fold 0 of cv is no pair"),
        ([(np.arange(30), np.arange(0))], "fold 0 of cv has no held-out rows"),
    ):
        with pytest.raises(DataError, match=message):
            SVMRegressorCV([0.1, 1.0], cv=cv).fit(X, Y)
    weight = np.zeros(len(X))
    weight[FOLDS[0][1]] = 1.0
    with pytest.raises(DataError, match="no training row of fold 0 has positive weight"):
        SVMRegressorCV([0.1], cv=FOLDS).fit(X, Y, sample_weight=weight)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match="r2 needs two held-out rows in a fold"):
            SVMRegressorCV([0.1], cv=len(X)).fit(X, Y)
    with pytest.raises(DataError, match="square"):
        SVMRegressorCV([0.1], cv=3, kernel="precomputed").fit(X, Y)


def test_what_a_path_has_not(tmp_path: Path) -> None:
    for k in (4, -5, 1.5):
        with pytest.raises(IndexError, match=f"position k={k} is none of the 4 on the path"):
            path_of().model(k=k)  # type: ignore[arg-type]
    save_model(SVMRegressorCV([0.1], cv=2).fit(X, Y), tmp_path / "m")
    with pytest.raises(AttributeError, match="model files keep no path_"):
        _ = load_model(tmp_path / "m").path_
    with pytest.raises(Exception, match="SVMRegressor has none"):
        SVMRegressorCV([0.1], cv=2, scoring="roc_auc").fit(X, Y)
