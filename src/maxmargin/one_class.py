"""One-class support vector machine: where most of the data are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from ._checked_rows import checked_rows
from ._estimator import check_sample_weight, undone_if_failed
from ._kernel_machine import KernelMachine, coefficients
from .status import Status
from .terms import hinge

__all__ = ["OneClassSVM"]


class OneClassSVM(OutlierMixin, KernelMachine):
    """One-class support vector machine with a certificate.

    Minimises ``1/2 |w|^2 + sum_i s_i (rho - <w, x_i>)_+ - nu rho sum_i s_i`` over ``w`` and ``rho``, with features or
    with a kernel (Schoelkopf, Platt, Shawe-Taylor, Smola, Williamson, Neural Computation 2001, multiplied by
    ``nu sum_i s_i``).

    Parameters
    ----------
    nu : float in (0, 1], default=0.5
        A bound of the share of outliers in the training data from above, and of support vectors from below.
    kernel : default="rbf"
        This one and ``gamma``, ``coef0``, ``degree``, ``cache_mb``: see :class:`~maxmargin.SVMClassifier`.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_passes : int, default=10000
        Passes over the data.
    max_time : float, optional
        Seconds of solving, see :class:`~maxmargin.SVMClassifier`.
    solver : {"auto", "block_smo", "interior_point", "projected_gradient"} or solver object, default="auto"
    verbose : int, default=0
        1 shows progress, 2 every pass.
    callback : callable, optional
        ``callback(record, w)`` after every pass, or step of several; a true answer stops the fit.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_ : arrays
        Rows that the scores depend on, their features, and their coefficients of shape ``(1, n_support)``.
    coef_ : array of shape (n_features,)
        With ``kernel="linear"`` only.
    offset_ : float
        ``rho``: scores below it are those of outliers.
    kernel_ : Kernel
        With its parameters resolved.
    certificate_ : Certificate
    notes_ : tuple of str
        On features of unlike scales, see :class:`~maxmargin.SVMClassifier`.
    history_ : list of Record
    solver_, solver_reason_ : str
    n_iter_ : int
        Passes over the data.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import OneClassSVM
    >>> X = np.array([[0.0], [0.1], [0.2], [0.1], [3.0]])
    >>> OneClassSVM(nu=0.3, gamma=1.0).fit(X).predict([[0.1], [2.0]]).tolist()
    [1, -1]
    """

    C = 1.0
    fit_intercept = True
    penalize_intercept = False

    offset_: float

    def __init__(
        self,
        nu: float = 0.5,
        *,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        coef0: float = 0.0,
        degree: int = 3,
        tol: float = 1e-3,
        max_passes: int = 10_000,
        max_time: float | None = None,
        solver: Any = "auto",
        cache_mb: float = 500.0,
        verbose: int = 0,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.nu = nu
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.tol = tol
        self.max_passes = max_passes
        self.max_time = max_time
        self.solver = solver
        self.cache_mb = cache_mb
        self.verbose = verbose
        self.callback = callback

    @undone_if_failed
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> OneClassSVM:
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : ignored
        sample_weight : array of shape (n,), optional
            How often each row counts; 0 leaves it out, negative ones are refused.

        Raises
        ------
        ValueError
            For invalid parameters or data: says which and where.
        KeyboardInterrupt
            After Ctrl-C, with the best model so far already stored.
        """
        if self.nu is None:
            raise ValueError("OneClassSVM: nu must be a number in (0, 1], not None")
        solver = self._check_machine()
        X = checked_rows(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        weight = check_sample_weight(sample_weight, X.shape[0])
        X, order, weight = self._counted(X, np.zeros(X.shape[0], np.int64), weight)
        n = len(order)
        kernel = self._make_kernel(X, weight)
        totals = np.array([float(self.nu) * float(weight.sum())])
        task = self._kernel_task(kernel, X, hinge(np.ones(n), weight, 0.0), weight, C=1.0, signs=False, totals=totals)
        result = self._fit_kernel(task, solver)
        self.offset_ = -float(result.w[n])
        self._keep_support(kernel, X, order, [coefficients(result.w[:n])])
        if "coef_" in vars(self):
            self.coef_ = self.coef_[0]
        notes = self._notes_on(X, shifts=False)
        if result.certificate.status is Status.ZERO_OPTIMUM:
            notes.append(
                "the best hyperplane goes through the origin and all weights are about 0: with this kernel and nu the "
                "data lie around it; take the rbf kernel, or a smaller nu"
            )
        self._keep_notes(notes)
        self._take_over([result])
        return self

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """``<w, x>`` of every row, of shape (n,)."""
        check_is_fitted(self, "offset_")
        return np.asarray(self._scores(X)[:, 0])

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """``<w, x> - rho`` of every row, of shape (n,): negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """1 for rows like those of the training data, -1 for outliers; shape (n,)."""
        return np.where(self.decision_function(X) >= 0.0, 1, -1)

    def _to_parts(self) -> dict[str, Any]:
        """What a model file keeps, beyond the parameters and the figures."""
        return self._score_parts() | {"offset": self.offset_}

    def _from_parts(self, parts: dict[str, Any]) -> None:
        """Take over what :meth:`_to_parts` gave; a ValueError says what does not fit."""
        self._take_score_parts(parts, 1)
        self.offset_ = float(parts["offset"])
