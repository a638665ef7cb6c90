"""Multiclass support vector machine in the form of Crammer and Singer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ._class_weight import weights_of_rows, without_zero_classes
from ._estimator import MarginEstimator, check_number, check_one_kind, check_sample_weight, choose_solver
from ._notes import about_contradictions, about_scales, hard_margin, tell_hard_margin, tell_zero, zero_is_best
from .data._mapped_rows import rows_of
from .errors import DataError
from .solvers import by_name
from .solvers.loop import Result, run_to_tolerance
from .structures.base import Encoded
from .structures.rows import FEW_ENTRIES
from .structures.values import as_reals, check_largest, check_sparse

__all__ = ["MulticlassSVM"]


class MulticlassSVM(ClassifierMixin, MarginEstimator):
    """Linear multiclass SVM (Crammer-Singer) with a certificate.

    Minimises ``1/2 sum_k |w_k|^2 + C sum_i s_i max_k [cost(y_i, k) + <w_k - w_(y_i), x_i>]``. The prediction is the
    class with the highest score ``<w_k, x>``.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the slacks; ``C = 1 / (lambda n)`` gives the lambda form.
    loss : {"zero_one"} or array of shape (n_classes, n_classes), default="zero_one"
        ``loss[true, predicted]``, rows and columns in the order of ``classes_`` (sorted).
    fit_intercept : bool, default=True
        Append a constant feature. Its weight is penalised like the others.
    intercept_scaling : float, default=1.0
        Value of the constant feature; larger values penalise the intercept less.
    class_weight : dict, "balanced" or None, default=None
        Factors on ``C`` for the examples of each class; one of factor 0 is absent.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_passes : int, default=1000
        Passes over the data, that of the certificate included (1 is taken for 2: a pass and its certificate).
    max_time : float, optional
        Seconds, looked at within passes too; the pass of the certificate comes on top.
    solver : str or solver object, default="auto"
        ``"coordinate_ascent"``: cheap passes, for many rows; ``"interior_point"``: a few dozen iterations whatever
        ``C`` and the scales, for up to some thousand weights; ``"auto"`` begins with the first and goes over to the
        second where that is the shorter way. These have no warm start. (``"auto"`` with ``warm_start=True`` is
        ``"frank_wolfe"``.) The solvers of structured machines: ``"frank_wolfe"``, ``"n_slack"``, ``"one_slack"``,
        ``"averaged_perceptron"``, ``"perceptron"``, ``"bundle"``, ``"gradient_descent"``, ``"subgradient"``,
        ``"pegasos"``.
    n_jobs : int, optional
        Threads for evaluations of the structured solvers; the model does not depend on it.
    random_state : int or RandomState, optional
        Order of the visits.
    verbose : int, default=0
        1 shows progress, 2 every pass.
    warm_start : bool, default=False
        Start from the weights of the last fit.
    callback : callable, optional
        ``callback(record, w)`` after every pass; a true answer stops the fit.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_ : array of shape (n_classes, n_features)
    intercept_ : array of shape (n_classes,)
    certificate_ : Certificate
    notes_ : tuple of str
        See :class:`~maxmargin.SVMClassifier`.
    history_ : list of Record
    solver_ : str
        Name of the solver used.
    solver_reason_ : str
        Why that one.
    n_iter_ : int
        Passes over the data.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import MulticlassSVM
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MulticlassSVM(C=1.0, random_state=0).fit(X, y)
    >>> bool(model.certificate_.relative_gap <= 1e-3)
    True
    """

    classes_: NDArray[Any]
    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: Literal["zero_one"] | ArrayLike = "zero_one",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        tol: float = 1e-3,
        max_passes: int = 1000,
        max_time: float | None = None,
        solver: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.tol = tol
        self.max_passes = max_passes
        self.max_time = max_time
        self.solver = solver
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.callback = callback

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> MulticlassSVM:
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Classes of any type that can be sorted.
        sample_weight : array of shape (n,), optional
            Factors on the slacks; 0 leaves a row out, negative ones are refused.

        Raises
        ------
        ValueError
            For invalid parameters or data (one class, NaN, wrong shapes): says which and where.
        KeyboardInterrupt
            After Ctrl-C, with the best model so far already stored.
        """
        from .solvers.oracle import CompiledOracle
        from .structures.multiclass import Multiclass
        from .structures.rows import merge_equal_rows

        self._check_parameters()
        solver = self._structured_solver()
        check_number(self, "intercept_scaling", low=0.0, low_allowed=False)
        check_one_kind(y)
        check_sparse(X)
        X, truth = validate_data(self, X, y, accept_sparse="csr", dtype="numeric")
        check_classification_targets(truth)
        weight = without_zero_classes(self.class_weight, check_sample_weight(sample_weight, len(truth)), truth)
        counts = np.ones(len(truth), np.bool_) if weight is None else weight > 0
        classes = np.unique(truth[counts])  # a class whose rows all have weight 0 is absent
        number = np.minimum(np.searchsorted(classes, truth), len(classes) - 1)
        if len(classes) < 2:
            raise DataError(f"MulticlassSVM needs at least two classes; y has one class only: {classes.tolist()[0]!r}")
        weight = weights_of_rows(self.class_weight, weight, classes, truth, counts)
        by_rows = isinstance(solver, tuple(type(each) for each in solvers_by_rows().values()))
        if by_rows and self.warm_start:
            raise ValueError(f"MulticlassSVM: solver={solver.name!r} has no warm start; set warm_start=False")
        costs = None
        if not isinstance(self.loss, str):
            costs = as_reals(self.loss, "loss")
            check_largest(costs, "loss")
        elif self.loss != "zero_one":
            raise ValueError(f"loss must be 'zero_one' or a cost matrix, not {self.loss!r}")
        structure = Multiclass(len(classes), costs)
        n_features = X.shape[1]
        notes = about_scales(X, getattr(self, "feature_names_in_", None), shifts=False, C=float(self.C))
        X = _with_constant(_canonical(X), self._constant())  # the one working copy
        if by_rows:
            from ._machine import counted

            chosen, order, used = counted(X, number, weight)
            result = self._fit_rows(chosen, number[order], structure.costs, used, solver)
            self._keep_notes(notes + self._notes_after(result, X, number, order, used))
            self._take(result, classes, n_features)
            return self
        order, weight = merge_equal_rows(X, number, weight)
        encoded: Encoded = structure.encode(X, number)
        initial = None
        same = self.warm_start and hasattr(self, "coef_") and self.coef_.shape[1] == n_features
        if same and np.array_equal(self.classes_, classes):
            initial = _joined(self.coef_, self.intercept_, self._constant())
        result = self._optimize(CompiledOracle(structure, encoded), weight, initial, order=order)
        self._keep_notes(notes + self._notes_after(result, X, number, order, weight[order]))
        self._take(result, classes, n_features)
        return self

    def _solver_names(self) -> list[str]:
        return [*super()._solver_names(), *(name for name in solvers_by_rows() if name != "auto")]

    def _structured_solver(self) -> Any:
        known = solvers_by_rows()

        def make(name: str) -> Any:
            return known[name] if name in known else by_name(name)

        solver = choose_solver(self, make, "structured machines", own=True)
        # only the structured solvers begin at weights
        return by_name("auto") if self.solver == "auto" and self.warm_start else solver

    def _fit_rows(
        self, X: Any, number: NDArray[np.int64], costs: NDArray[np.float64], weight: NDArray[np.float64], solver: Any
    ) -> Result:
        """Solvers that need no structure: the dual has a simplex for each row."""
        from .solvers.linear.crammer_singer import MulticlassTask
        from .solvers.linear.rows import Rows

        rng = np.random.default_rng(self._seed())
        task = MulticlassTask(
            Rows(X), number, costs, float(self.C), weight, float(self.tol), rng, name=type(self).__name__
        )
        return self._watched(lambda **limits: run_to_tolerance(task, solver, **limits))

    def _notes_after(
        self, result: Result, X: Any, number: NDArray[np.int64], order: NDArray[np.int64], used: NDArray[np.float64]
    ) -> list[str]:
        """Notes on equal rows of different classes, weights of 0 and a hard margin; ``used``: weights of the order."""
        notes = about_contradictions(X[order], number[order], order) if X.size <= FEW_ENTRIES else []
        if isinstance(self.loss, str):
            zero = zero_is_best(result.certificate, float(self.C) * float(used.sum()), float(self.tol))
            notes += tell_zero([zero], "tell the classes apart", notes)
            notes += tell_hard_margin(
                [hard_margin(result.certificate, float(used.sum()), float(used.min()), float(self.tol))]
            )
        return notes

    def _take(self, result: Result, classes: NDArray[Any], n_features: int) -> None:
        """Store the weights, then the figures."""
        W = result.w.reshape(-1, len(classes))
        self.classes_ = classes
        self.coef_ = W[:n_features].T  # in the order that products with sparse rows take without a copy
        constant = self._constant()
        self.intercept_ = W[-1] * constant if constant else np.zeros(len(classes))
        self.solver_reason_ = result.reason
        self._finish(result)

    def _constant(self) -> float:
        return float(self.intercept_scaling) if self.fit_intercept else 0.0

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores of shape (n, n_classes); for two classes the difference second minus first, of shape (n,)."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self, "coef_")
        check_sparse(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return np.asarray(X @ self.coef_.T) + self.intercept_

    def predict(self, X: Any) -> NDArray[Any]:
        """Class with the highest score, of shape (n,); the first in ``classes_`` on ties."""
        decision = self.decision_function(X)
        best = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(1)
        predicted: NDArray[Any] = self.classes_[best]
        return predicted

    def _to_parts(self) -> dict[str, Any]:
        """What a model file keeps, beyond the parameters and the figures."""
        names = getattr(self, "feature_names_in_", None)
        return {
            "classes": self.classes_,
            "coef": self.coef_,
            "intercept": self.intercept_,
            "feature_names": None if names is None else names.tolist(),
            "solver_reason": self.solver_reason_,
        }

    def _from_parts(self, parts: dict[str, Any]) -> None:
        """Take over what :meth:`_to_parts` gave; a ValueError says what does not fit."""
        classes, names = np.asarray(parts["classes"]), parts["feature_names"]
        coef, intercept = (np.ascontiguousarray(parts[name], np.float64) for name in ("coef", "intercept"))
        if classes.ndim != 1 or len(classes) < 2 or len(np.unique(classes)) != len(classes):
            raise ValueError("the classes must be two or more, each once")
        if coef.ndim != 2 or len(coef) != len(classes) or intercept.shape != (len(classes),):
            raise ValueError(f"weights of shapes {coef.shape} and {intercept.shape} for {len(classes)} classes")
        if names is not None:
            if len(names) != coef.shape[1]:
                raise ValueError(f"{len(names)} names for {coef.shape[1]} features")
            self.feature_names_in_ = np.array(names, dtype=object)
        self.solver_reason_ = str(parts.get("solver_reason", "asked for"))
        self.classes_, self.coef_, self.intercept_, self.n_features_in_ = classes, coef, intercept, coef.shape[1]


def solvers_by_rows() -> dict[str, Any]:
    """The solvers that are for this machine alone."""
    from .solvers.linear.automatic import Automatic
    from .solvers.linear.crammer_singer import CrammerSinger
    from .solvers.linear.multiclass_interior_point import MulticlassInteriorPoint

    return {"auto": Automatic(), "coordinate_ascent": CrammerSinger(), "interior_point": MulticlassInteriorPoint()}


def _canonical(X: Any) -> Any:
    """Sparse rows with sorted and distinct entries; the caller's matrix is left as it is."""
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _with_constant(X: Any, constant: float) -> Any:
    """``X`` as float64 with a constant column, if there is to be one; no copy where none is needed."""
    if sp.issparse(X):
        if not constant:
            return X.astype(np.float64, copy=False)

        def extended(X: Any) -> Any:
            return sp.hstack([X, sp.csr_matrix(np.full((X.shape[0], 1), constant))], format="csr", dtype=np.float64)

        return rows_of(X, change=extended)
    if not constant:
        return np.ascontiguousarray(X, np.float64)
    out = np.empty((X.shape[0], X.shape[1] + 1))
    out[:, :-1] = X
    out[:, -1] = constant
    return out


def _joined(coef: NDArray[np.float64], intercept: NDArray[np.float64], constant: float) -> NDArray[np.float64]:
    """The weights as the solver lays them out."""
    W = coef.T
    if constant:
        W = np.vstack([W, intercept[None] / constant])
    return np.ascontiguousarray(W).ravel()
