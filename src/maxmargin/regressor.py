"""Support vector regression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ._estimator import check_sample_weight
from ._machine import Machine, check_epsilon, check_switches, counted
from .errors import DataError
from .solvers.linear.rows import Rows
from .structures.values import check_sparse
from .terms import insensitive, squared_insensitive

__all__ = ["SVMRegressor"]

_LOSSES = {"epsilon_insensitive": insensitive, "squared_epsilon_insensitive": squared_insensitive}
_LARGEST = 1e100


class SVMRegressor(RegressorMixin, Machine):
    """Support vector regression with a certificate.

    Minimises ``1/2 |w|^2 + C sum_i s_i (|y_i - <w, x_i> - b| - epsilon)_+`` (or the square of the bracket).

    Parameters
    ----------
    C : float, default=1.0
        Weight of the slacks; ``C = 1 / (lambda n)`` gives the lambda form.
    epsilon : float, default=0.1
        Errors up to this size cost nothing.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"}, default="epsilon_insensitive"
    fit_intercept : bool, default=True
        Learn an intercept ``b``; it is not penalised.
    penalize_intercept : bool, default=False
        Treat the intercept as the weight of a constant feature 1.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_passes : int, default=1000
        Passes over the data (iterations of the interior point method count as one each).
    max_time : float, optional
        Seconds.
    solver : {"auto", "coordinate_ascent", "interior_point"} or solver object, default="auto"
        See :class:`~maxmargin.SVMClassifier`.
    random_state : int or RandomState, optional
        Order of the visits.
    verbose : int, default=0
        1 shows progress, 2 every pass.
    callback : callable, optional
        ``callback(record, w)`` after every pass; a true answer stops the fit.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    certificate_ : Certificate
    history_ : list of Record
    solver_, solver_reason_ : str
        The algorithm, and why it was taken.
    n_iter_ : int
        Passes over the data.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import SVMRegressor
    >>> model = SVMRegressor(C=100.0, epsilon=0.0, tol=1e-6).fit(np.arange(5.0)[:, None], 2 * np.arange(5.0) + 1)
    >>> model.predict([[10.0]]).round(3).tolist()
    [21.0]
    """

    coef_: NDArray[np.float64]
    intercept_: float

    def __init__(
        self,
        C: float = 1.0,
        *,
        epsilon: float = 0.1,
        loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"] = "epsilon_insensitive",
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        tol: float = 1e-3,
        max_passes: int = 1000,
        max_time: float | None = None,
        solver: Any = "auto",
        random_state: Any = None,
        verbose: int = 0,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.tol = tol
        self.max_passes = max_passes
        self.max_time = max_time
        self.solver = solver
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> SVMRegressor:
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Used as it is where it can be, see :meth:`maxmargin.SVMClassifier.fit`.
        y : array of shape (n,)
        sample_weight : array of shape (n,), optional
            Factors ``s_i`` on the slacks; 0 leaves a row out, negative ones are refused.

        Raises
        ------
        ValueError
            For invalid parameters or data: says which and where.
        KeyboardInterrupt
            After Ctrl-C, with the best model so far already stored.
        """
        solver = self._check_machine()
        check_switches(self)
        check_epsilon(self)
        if self.loss not in _LOSSES:
            raise ValueError(f"loss must be one of {sorted(_LOSSES)}, not {self.loss!r}")
        check_sparse(X)
        X, target = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], y_numeric=True)
        target = np.asarray(target, np.float64)
        if float(np.abs(target).max()) > _LARGEST:
            raise DataError(f"y has values of up to {np.abs(target).max():.3g} in size: too large; scale y down")
        weight = check_sample_weight(sample_weight, len(target))
        X, order, weight = counted(X, np.unique(target, return_inverse=True)[1], weight)
        terms = _LOSSES[self.loss](target[order], self._costs(weight), float(self.epsilon))
        result = self._fit_linear(Rows(X), terms, weight, solver, signs=False)
        d = X.shape[1]
        self.coef_ = result.w[:d].copy()
        self.intercept_ = float(result.w[d]) if self.fit_intercept else 0.0
        self._take_over([result])
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predicted values, of shape (n,)."""
        check_is_fitted(self, "coef_")
        check_sparse(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return np.asarray(X @ self.coef_) + self.intercept_
