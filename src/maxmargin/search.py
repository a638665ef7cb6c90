"""The value of ``C`` by cross-validation: one path over ``C`` for each fold, and one pass over its held-out rows."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ._checked_rows import checked_rows
from ._class_labels import Classifier, ClassLabels
from ._estimator import check_sample_weight, check_targets, undone_if_failed
from ._kernel_machine import points_of
from .errors import DataError
from .kernels import check_precomputed
from .losses import EpsilonInsensitive, MarginLoss
from .path import MACHINES, SVMPath, grid_of_C, path_of
from .regressor import Regressor
from .structures.base import check_row_magnitude

__all__ = ["SVMClassifierCV", "SVMRegressorCV"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]

_SEARCH = ("Cs", "cv", "scoring")
_ROUNDING = 1e-12


def _has_probabilities(search: SVMClassifierCV) -> bool:
    inner = vars(search).get("estimator_") or search._machine()
    return hasattr(inner, "predict_proba")


class _Search(BaseEstimator):
    """What the searches share; ``_task`` is that of the paths."""

    _task: Literal["classification", "regression"]
    C_: float
    Cs_: Reals
    scores_: Reals
    path_: SVMPath
    estimator_: Any

    def _fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        """Find the best ``C``, and fit for it."""
        grid = grid_of_C(self.Cs)
        if not (self.scoring is None or isinstance(self.scoring, str) or callable(self.scoring)):
            raise ValueError(f"scoring must be one name or one function, not {self.scoring!r}")
        scorer = check_scoring(self._machine(), scoring=self.scoring)
        rows, truth, weight, parameters = self._checked(X, y, sample_weight)
        if self._precomputed:
            check_precomputed(rows)
        scores: list[list[float]] = []
        for train, test in self._folds(rows, truth):
            s = None if weight is None else weight[train]
            if s is not None and not s.any():
                raise DataError(f"no training row of fold {len(scores)} has positive weight; use other folds")
            path = path_of(
                points_of(self.kernel, rows, train), truth[train], grid, _of_labels(parameters, truth[train]),
                task=self._task, sample_weight=s, with_notes=False,
            )  # fmt: skip
            held_out = rows[test][:, train] if self._precomputed else rows[test]
            known = {}
            if weight is not None:
                if not weight[test].any():
                    raise DataError(f"no held-out row of fold {len(scores)} has positive weight; use other folds")
                if _takes_weights(scorer):
                    known = {"sample_weight": weight[test]}
            scores.append([float(scorer(model, held_out, truth[test], **known)) for model in path.scored(held_out)])
        if not scores:
            raise DataError(f"cv={self.cv!r:.80} gives no folds")
        mean = np.mean(scores, axis=0)
        if not np.isfinite(mean).all():
            few = (
                "; r2 needs two held-out rows in a fold" if self.scoring is None and self._task == "regression" else ""
            )
            raise ValueError(
                f"the scores on held-out rows are no numbers at C={grid[~np.isfinite(mean)][0]:g}; use other folds or "
                f"another scoring{few}"
            )
        best = np.flatnonzero(mean >= mean.max() - _ROUNDING * abs(mean.max()))
        k = int(best[grid[best].argmin()])
        self.Cs_, self.scores_ = grid, np.array(scores)
        self.path_ = path_of(X, y, grid, self._parameters(), task=self._task, sample_weight=sample_weight)
        self.estimator_, self.C_ = self.path_.model(k=k), float(grid[k])

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, NDArray[Any], Reals | None, dict[str, Any]]:
        """Rows, targets and weights as the folds take them, and parameters of the machine for these."""
        raise NotImplementedError

    def _folds(self, X: Any, truth: NDArray[Any]) -> Iterator[tuple[Ints, Ints]]:
        """Rows to train on and rows held out; masks are made positions."""
        splitter = check_cv(self.cv, truth, classifier=self._task == "classification")
        folds, everything = iter(splitter.split(X, truth)), np.arange(len(truth))
        for k in itertools.count():
            try:
                train, test = next(folds)
                pair = everything[train], everything[test]
            except StopIteration:
                return
            except (IndexError, TypeError) as error:
                raise DataError(
                    f"fold {k} of cv is no pair of training rows and held-out rows of {len(truth)}: {error}"
                ) from None
            for rows, what in zip(pair, ("training", "held-out"), strict=True):
                if not len(rows):
                    raise DataError(f"fold {k} of cv has no {what} rows")
            yield pair

    def _parameters(self) -> dict[str, Any]:
        """Those of the machine."""
        out: dict[str, Any] = self.get_params(deep=False)
        for name in _SEARCH:
            del out[name]
        return out

    def _machine(self) -> Any:
        return MACHINES[self._task](**self._parameters())

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._precomputed
        return tags

    def __getattr__(self, name: str) -> Any:
        """Fitted attributes of the model."""
        if name == "path_" and "estimator_" in vars(self):
            raise AttributeError(f"this {type(self).__name__} was loaded, and model files keep no path_: fit again")
        if name.endswith("_") and not name.startswith("_") and "estimator_" in vars(self):
            return getattr(self.estimator_, name)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def _check_parameters(self) -> None:
        self._machine()._check_parameters()

    def _to_parts(self) -> dict[str, Any]:
        """What a model file keeps, beyond the parameters and the figures: the best estimator's, and the scores."""
        parts: dict[str, Any] = self.estimator_._to_parts()
        return parts | {"C": self.C_, "Cs": self.Cs_, "scores": self.scores_}

    def _from_parts(self, parts: dict[str, Any]) -> None:
        """Take over what :meth:`_to_parts` gave; a ValueError says what does not fit."""
        grid, C = grid_of_C(np.asarray(parts["Cs"])), parts["C"]
        scores = np.ascontiguousarray(parts["scores"], np.float64)
        if scores.shape[1:] != grid.shape:
            raise ValueError(f"scores of shape {scores.shape} for {len(grid)} values of C")
        if not (isinstance(C, float) and C in grid):
            raise ValueError(f"C={C!r:.40} is none of the values searched")
        inner = self._machine().set_params(C=C)
        inner._from_parts(parts)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(inner, name):
                setattr(self, name, getattr(inner, name))
        self.estimator_, self.C_, self.Cs_, self.scores_ = inner, C, grid, scores


class SVMClassifierCV(Classifier, _Search):
    """:class:`~maxmargin.SVMClassifier` whose ``C`` is the one with the best score on held-out rows.

    For each fold one :func:`~maxmargin.svm_path` is fitted to the other rows and scored on the rows of the fold; then
    one to all rows. Its model at the best ``C`` predicts.

    Parameters
    ----------
    Cs : int or array of shape (n_C,), default=10
        Values to choose from; a number stands for so many between 1e-3 and 1e3, evenly in their logarithm.
    cv : int, splitter or iterable of (train, test), default=5
        As in scikit-learn: a number stands for so many stratified folds, without shuffling.
    scoring : str or callable, optional
        As in scikit-learn; the accuracy by default. Weights of rows go to it where it takes them.
    kernel, gamma, coef0, degree, loss, multi_class, fit_intercept, penalize_intercept, class_weight, tol, max_passes, \
max_time, solver, cache_mb, random_state, verbose, callback
        See :class:`~maxmargin.SVMClassifier`; limits and the callback are those of each fit.

    Attributes
    ----------
    C_ : float
        The best value; of several as good as each other the smallest.
    Cs_ : float64 array of shape (n_C,)
        The values, in the order given.
    scores_ : float64 array of shape (n_folds, n_C)
    path_ : SVMPath
        The fits to all rows; a model file does not keep them.
    estimator_ : SVMClassifier
        That at ``C_``; its attributes (``coef_``, ``classes_``, ``certificate_``, ...) are also those of the search.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from maxmargin import SVMClassifierCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = make_pipeline(StandardScaler(), SVMClassifierCV(Cs=[0.01, 0.1, 1.0], random_state=0)).fit(X, y)
    >>> search[-1].scores_.shape
    (5, 3)
    """

    _task = "classification"

    def __init__(
        self,
        Cs: int | ArrayLike = 10,
        *,
        cv: Any = 5,
        scoring: str | Callable[..., float] | None = None,
        kernel: Any = "linear",
        gamma: float | str = "scale",
        coef0: float = 0.0,
        degree: int = 3,
        loss: str | MarginLoss = "hinge",
        multi_class: Literal["ovr", "ovo"] = "ovr",
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        tol: float = 1e-3,
        max_passes: int = 10_000,
        max_time: float | None = None,
        solver: Any = "auto",
        cache_mb: float = 500.0,
        random_state: Any = None,
        verbose: int = 0,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.loss = loss
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_passes = max_passes
        self.max_time = max_time
        self.solver = solver
        self.cache_mb = cache_mb
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    @undone_if_failed
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> SVMClassifierCV:
        """Find the best ``C``, and fit for it.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
            As for :meth:`maxmargin.SVMClassifier.fit`. Where labels are neither text nor numbers ``scoring`` sees their
            numbers, 0 for the first of ``classes_``.
        sample_weight : array of shape (n,), optional
            See :meth:`maxmargin.SVMClassifier.fit`.

        Raises
        ------
        ValueError
            For invalid parameters or data; when all training rows of a fold are of one class, or none of its held-out
            rows has weight.
        """
        self._fit(X, y, sample_weight)
        return self

    def decision_function(self, X: Any) -> Reals:
        """As :meth:`maxmargin.SVMClassifier.decision_function`."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.decision_function(X))

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, NDArray[Any], Reals | None, dict[str, Any]]:
        labels = ClassLabels(y, self.class_weight)
        X, truth = checked_rows(self, X, labels.y, accept_sparse="csr", dtype=[np.float64, np.float32])
        check_row_magnitude(X)  # of all rows, before some are held out
        classes = labels.of_rows(truth, sample_weight, "SVMClassifierCV")
        return X, classes.labels, classes.weight, self._parameters() | {"class_weight": labels.class_weight}

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Reals:
        """As :meth:`maxmargin.SVMClassifier.predict_proba`."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Class with the highest score, of shape (n,)."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.predict(X))


class SVMRegressorCV(Regressor, _Search):
    """:class:`~maxmargin.SVMRegressor` whose ``C`` is the one with the best score on held-out rows.

    As :class:`~maxmargin.SVMClassifierCV`, by paths of regressors. For the width of the tube as well put it in
    scikit-learn's ``GridSearchCV`` with a grid for ``epsilon``.

    Parameters
    ----------
    Cs : int or array of shape (n_C,), default=10
        Values to choose from; a number stands for so many between 1e-3 and 1e3, evenly in their logarithm.
    cv : int, splitter or iterable of (train, test), default=5
        As in scikit-learn: a number stands for so many folds, without shuffling.
    scoring : str or callable, optional
        As in scikit-learn; the coefficient of determination by default. Weights of rows go to it where it takes them.
    kernel, gamma, coef0, degree, loss, epsilon, fit_intercept, penalize_intercept, tol, max_passes, max_time, solver, \
cache_mb, random_state, verbose, callback
        See :class:`~maxmargin.SVMRegressor`; limits and the callback are those of each fit.

    Attributes
    ----------
    C_ : float
        The best value; of several as good as each other the smallest.
    Cs_ : float64 array of shape (n_C,)
        The values, in the order given.
    scores_ : float64 array of shape (n_folds, n_C)
    path_ : SVMPath
        The fits to all rows; a model file does not keep them.
    estimator_ : SVMRegressor
        That at ``C_``; its attributes (``coef_``, ``epsilon_``, ``certificate_``, ...) are also those of the search.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from maxmargin import SVMRegressorCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> search = SVMRegressorCV(Cs=[1.0, 100.0], epsilon=5.0, random_state=0).fit(X, y)
    >>> search.C_
    100.0
    """

    _task = "regression"

    def __init__(
        self,
        Cs: int | ArrayLike = 10,
        *,
        cv: Any = 5,
        scoring: str | Callable[..., float] | None = None,
        kernel: Any = "linear",
        gamma: float | str = "scale",
        coef0: float = 0.0,
        degree: int = 3,
        loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"]
        | EpsilonInsensitive = "epsilon_insensitive",
        epsilon: float = 0.1,
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        tol: float = 1e-3,
        max_passes: int = 10_000,
        max_time: float | None = None,
        solver: Any = "auto",
        cache_mb: float = 500.0,
        random_state: Any = None,
        verbose: int = 0,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.loss = loss
        self.epsilon = epsilon
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.tol = tol
        self.max_passes = max_passes
        self.max_time = max_time
        self.solver = solver
        self.cache_mb = cache_mb
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    @undone_if_failed
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> SVMRegressorCV:
        """Find the best ``C``, and fit for it.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Numbers, as for :meth:`maxmargin.SVMRegressor.fit`.
        sample_weight : array of shape (n,), optional
            See :meth:`maxmargin.SVMRegressor.fit`.

        Raises
        ------
        ValueError
            For invalid parameters or data; when none of the held-out rows of a fold has weight.
        """
        self._fit(X, y, sample_weight)
        return self

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, NDArray[Any], Reals | None, dict[str, Any]]:
        X, truth = checked_rows(
            self, X, check_targets(y), accept_sparse="csr", dtype=[np.float64, np.float32], y_numeric=True
        )
        check_row_magnitude(X)
        return X, truth, check_sample_weight(sample_weight, len(truth)), self._parameters()

    def predict(self, X: Any) -> Reals:
        """Predicted values, of shape (n,)."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.predict(X))


def _takes_weights(scorer: Any) -> bool:
    """Whether a scorer takes weights of rows: of scikit-learn's what is asked is their metric, for they all seem to."""
    try:
        parameters = inspect.signature(getattr(scorer, "_score_func", scorer)).parameters.values()
    except (TypeError, ValueError):  # of a callable that has none
        return False
    return any(each.name == "sample_weight" or each.kind is each.VAR_KEYWORD for each in parameters)


def _of_labels(parameters: dict[str, Any], labels: NDArray[Any]) -> dict[str, Any]:
    """Parameters for rows with these labels, a fold, which may lack a class that has a weight."""
    factors = parameters.get("class_weight")
    if not isinstance(factors, dict):
        return parameters
    known = set(labels.tolist())
    return parameters | {"class_weight": {label: each for label, each in factors.items() if label in known}}
