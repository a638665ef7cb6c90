"""Multiclass support vector machine in the form of Crammer and Singer."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ._class_weight import weights_of_rows, without_zero_classes
from ._estimator import (
    LabelIndex,
    MarginEstimator,
    check_lengths,
    check_number,
    check_one_kind,
    check_sample_weight,
    choose_solver,
    costs_of_labels,
    labels_as_given,
)
from ._machine import check_margin, counted
from ._notes import about_contradictions, about_scales, hard_margin, tell_hard_margin, tell_zero, zero_is_best
from .data._mapped_rows import rows_of
from .errors import DataError
from .problem import Certificate
from .solvers import by_name
from .solvers.loop import Result, run_to_tolerance
from .structures.base import Encoded, check_magnitude
from .structures.rows import FEW_ENTRIES
from .structures.values import as_reals, check_largest, check_sparse

__all__ = ["MulticlassSVM"]

# Square of the constant feature of free intercepts over the mean squared norm of the rows: as of two classes
_CONSTANT = 0.03


class MulticlassSVM(ClassifierMixin, MarginEstimator):
    """Linear multiclass SVM (Crammer-Singer) with a certificate.

    Minimises ``1/2 sum_k |w_k|^2 + C sum_i s_i max_k [m_i cost(y_i, k) + <w_k - w_(y_i), x_i> + b_k - b_(y_i)]``. The
    prediction is the class with the highest score ``<w_k, x> + b_k``.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the slacks; ``C = 1 / (lambda n)`` gives the lambda form.
    loss : {"zero_one"}, array of shape (n_classes, n_classes) or callable, default="zero_one"
        ``loss[true, predicted]``, rows and columns in the order of ``classes_``; or ``loss(true, predicted)`` of two
        labels, a number of at least 0, and 0 for equal ones: the fit asks for it once for every pair. A callable stays
        the parameter that it is, which a model file refuses: predictions need no loss, so
        ``set_params(loss="zero_one")`` before saving.
    fit_intercept : bool, default=True
        Learn an intercept ``b_k`` for each class.
    penalize_intercept : bool, default=True
        Treat the intercepts as the weights of a constant feature, penalised like the others, as LIBLINEAR does with
        ``-B 1``; all solvers can. False: they are free, and optimal as such (of sum 0, for a number that all classes
        have in common changes nothing); that takes ``solver="auto"``, ``"coordinate_ascent"`` or ``"interior_point"``.
    intercept_scaling : float, default=1.0
        Of penalised intercepts: value of the constant feature; larger values penalise them less.
    class_weight : dict, "balanced" or None, default=None
        Factors on ``C`` for the examples of each class; one of factor 0 is absent.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_passes : int, default=1000
        Passes over the data, that of the certificate included (1 is taken for 2: a pass and its certificate).
    max_time : float, optional
        Seconds of solving, looked at within passes too; the pass of the certificate comes on top.
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
        Sorted; labels that are neither text nor numbers make an array of objects, which is in order of their first
        occurrence where they cannot be sorted.
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
        loss: Literal["zero_one"] | ArrayLike | Callable[[Any, Any], float] = "zero_one",
        fit_intercept: bool = True,
        penalize_intercept: bool = True,
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
        self.penalize_intercept = penalize_intercept
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

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, margin: ArrayLike | None = None
    ) -> MulticlassSVM:
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Classes of any hashable type: they come back as given. Text and numbers are not to be mixed.
        sample_weight : array of shape (n,), optional
            Factors ``s_i`` on the slacks; 0 leaves a row out, negative ones are refused.
        margin : array of shape (n,), optional
            Factors ``m_i`` on the costs, which are the wanted margins (1 by default), positive.

        Raises
        ------
        ValueError
            For invalid parameters or data (one class, NaN, wrong shapes): says which and where. For a loss that is NaN,
            negative, no number, or not 0 for the truth: names the two labels.
        KeyboardInterrupt
            After Ctrl-C, with the best model so far already stored.
        """
        from .solvers.oracle import CompiledOracle
        from .structures.multiclass import Multiclass
        from .structures.rows import merge_equal_rows

        self._check_parameters()
        solver = self._structured_solver()
        by_rows = self._check_intercept(solver)
        given = labels_as_given(y)
        if given is None:
            check_one_kind(y)
        else:  # numbers of the labels take their place: NumPy and scikit-learn need not know what they are
            every = LabelIndex(given)
            y = every.numbers(given)
        check_sparse(X)
        X, truth = validate_data(self, X, _plain(y), accept_sparse="csr", dtype="numeric")
        check_classification_targets(truth)
        weight, class_weight = check_sample_weight(sample_weight, len(truth)), self.class_weight
        if given is not None:
            class_weight = _by_number(self.class_weight, every)
        weight = without_zero_classes(class_weight, weight, truth)
        wanted = check_margin(margin, len(truth))
        counts = np.ones(len(truth), np.bool_) if weight is None else weight > 0
        if given is not None:  # absent labels have no say in the order either
            index = LabelIndex(given[i] for i in np.flatnonzero(counts).tolist())
            moved = index.numbers(every.labels)
            moved[moved < 0] = len(index)
            truth = moved[truth]
            if isinstance(class_weight, dict):
                class_weight = {int(moved[k]): each for k, each in class_weight.items() if moved[k] < len(index)}
        classes = np.unique(truth[counts])  # a class whose rows all have weight 0 is absent
        number = np.minimum(np.searchsorted(classes, truth), len(classes) - 1)
        names = classes if given is None else _objects(index.labels)
        if len(classes) < 2:
            raise DataError(f"MulticlassSVM needs at least two classes; y has one class only: {names.tolist()[0]!r}")
        weight = weights_of_rows(class_weight, weight, classes, truth, counts)
        costs = None
        if callable(self.loss):
            costs = costs_of_labels(self.loss, names.tolist())
        elif not isinstance(self.loss, str):
            costs = as_reals(self.loss, "loss")
            check_largest(costs, "loss")
        elif self.loss != "zero_one":
            raise ValueError(f"loss must be 'zero_one', a callable of two labels or a cost matrix, not {self.loss!r}")
        structure = Multiclass(len(classes), costs)
        notes = about_scales(X, getattr(self, "feature_names_in_", None), shifts=self._free, C=float(self.C))
        n_features = X.shape[1]
        X = _canonical(X)
        constant = self._constant(X, weight)
        X = _with_constant(X, constant)  # the one working copy
        groups = number
        if wanted is not None:  # only rows of one margin are equal; their order is that without the absent ones
            groups = np.zeros_like(number)
            pairs = np.column_stack([number, wanted])[counts]
            groups[counts] = np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)
        if by_rows:
            chosen, order, used = counted(X, groups, weight)
            if wanted is not None:
                chosen, used = _divided(chosen, wanted[order]), used * wanted[order]
            result, at_zero = self._fit_rows(chosen, number[order], structure.costs, used, solver)
        else:
            order, weight = merge_equal_rows(X, groups, weight)
            scaled = X
            if wanted is not None:
                scaled, weight = _divided(X, wanted), weight * wanted
            encoded: Encoded = structure.encode(scaled, number)
            used = weight[order]
            initial = None
            same = self.warm_start and hasattr(self, "coef_") and self.coef_.shape[1] == n_features
            if same and self.classes_.tolist() == names.tolist():
                initial = _joined(self.coef_, self.intercept_, constant)
            result = self._optimize(CompiledOracle(structure, encoded), weight, initial, order=order)
            at_zero = float(self.C) * float(used.sum())
        self._keep_notes(notes + self._notes_after(result.certificate, at_zero, X, number, order, used))
        if wanted is not None:  # means over the weights alone, not over their products with the margins
            share = float(used.sum()) / float((used / wanted[order]).sum())
            found = result.certificate
            result.certificate = replace(
                found, risk_bound=found.risk_bound * share, training_risk=found.training_risk * share
            )
        self._take(result, names, constant)
        return self

    @property
    def _free(self) -> bool:
        return bool(self.fit_intercept and not self.penalize_intercept)

    def _check_intercept(self, solver: Any) -> bool:
        """Check what there is to the intercept and to a warm start; returns whether the solver is one by rows."""
        check_number(self, "intercept_scaling", low=0.0, low_allowed=False)
        by_rows = isinstance(solver, tuple(type(each) for each in solvers_by_rows().values()))
        if by_rows and self.warm_start:
            raise ValueError(f"MulticlassSVM: solver={solver.name!r} has no warm start; set warm_start=False")
        if self._free and not by_rows:
            asked = "warm_start=True" if self.solver == "auto" else f"solver={solver.name!r}"
            raise ValueError(
                f"MulticlassSVM: {asked} has no free intercept: set penalize_intercept=True, or take solver='auto', "
                "'coordinate_ascent' or 'interior_point' without a warm start"
            )
        return by_rows

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
    ) -> tuple[Result, float]:
        """Solvers that need no structure: the dual has a simplex for each row. And the objective of weights of 0."""
        from .solvers.linear.crammer_singer import MulticlassTask
        from .solvers.linear.multiclass_free import objective_at_zero
        from .solvers.linear.rows import Rows

        rng = np.random.default_rng(self._seed())
        task = MulticlassTask(
            Rows(X), number, costs, float(self.C), weight, float(self.tol), rng, name=type(self).__name__,
            free=self._free,
        )  # fmt: skip
        result = self._watched(lambda **limits: run_to_tolerance(task, solver, **limits))
        at_zero = task.objective(np.zeros(task.n_weights))
        # weights near the optimum are as near to 0 as this where 0 is near it too
        if self._free and task.penalty(result.w) <= 4.0 * float(self.tol) * at_zero:
            at_zero = objective_at_zero(task)
        return result, at_zero

    def _notes_after(
        self,
        certificate: Certificate,
        at_zero: float,
        X: Any,
        number: NDArray[np.int64],
        order: NDArray[np.int64],
        used: NDArray[np.float64],
    ) -> list[str]:
        """Notes on equal rows of different classes, weights of 0 and a hard margin; ``used``: weights of the order."""
        notes = about_contradictions(X[order], number[order], order) if X.size <= FEW_ENTRIES else []
        if isinstance(self.loss, str):
            zero = zero_is_best(certificate, at_zero, float(self.tol))
            notes += tell_zero([zero], "tell the classes apart", notes)
            total, least = float(used.sum()), float(used.min())
            if certificate.primal > certificate.C * certificate.risk_bound * total:  # else all that is left is rounding
                notes += tell_hard_margin([hard_margin(certificate, total, least, float(self.tol))])
        return notes

    def _take(self, result: Result, classes: NDArray[Any], constant: float) -> None:
        """Store the weights, then the figures."""
        W = result.w.reshape(-1, len(classes))
        self.classes_ = classes
        self.coef_ = (W[:-1] if constant else W).T  # in the order that products with sparse rows take without a copy
        self.intercept_ = W[-1] * constant if constant else np.zeros(len(classes))
        if self._free:
            self.intercept_ -= self.intercept_.mean()
        self.solver_reason_ = result.reason
        self._finish(result)

    def _constant(self, X: Any, weight: NDArray[np.float64] | None) -> float:
        """Value of the constant feature, 0 for none.

        With free intercepts it makes no difference but to the speed of coordinate ascent, and is a power of 2: then the
        order of a sum makes none at all.
        """
        if not self.fit_intercept:
            return 0.0
        if self.penalize_intercept:
            return float(self.intercept_scaling)
        from .solvers.linear.rows import Rows

        check_magnitude(X.data if sp.issparse(X) else X)
        square = float(np.average(Rows(X).squared_norms, weights=weight))
        return 2.0 ** round(0.5 * math.log2(_CONSTANT * square)) if square > 0.0 else 1.0

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

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Share of the rows that are predicted right, of their weight where there are weights.

        Raises
        ------
        DataError
            When the numbers of rows and labels differ, or for bad weights.
        """
        labels = labels_as_given(y)
        if labels is None and _is_plain(self.classes_):
            return float(super().score(X, _plain(y), sample_weight))
        predicted = self.predict(X).tolist()
        if labels is None:
            labels = np.asarray(y).tolist()
        check_lengths(predicted, labels, "rows")
        right = [bool(found == label) for found, label in zip(predicted, labels, strict=True)]
        return float(np.average(right, weights=check_sample_weight(sample_weight, len(right))))

    def _to_parts(self) -> dict[str, Any]:
        """What a model file keeps, beyond the parameters and the figures."""
        names = getattr(self, "feature_names_in_", None)
        return {
            "classes": self.classes_ if _is_plain(self.classes_) else self.classes_.tolist(),
            "coef": self.coef_,
            "intercept": self.intercept_,
            "feature_names": None if names is None else names.tolist(),
            "solver_reason": self.solver_reason_,
        }

    def _from_parts(self, parts: dict[str, Any]) -> None:
        """Take over what :meth:`_to_parts` gave; a ValueError says what does not fit."""
        classes, names = parts["classes"], parts["feature_names"]
        if isinstance(classes, list):  # of objects: an array of tuples would be one of two dimensions
            if LabelIndex(classes).labels != classes:
                raise ValueError("the classes must be two or more, each once, and sorted where they can be")
            classes = _objects(classes)
        elif len(np.unique(classes := np.asarray(classes))) != classes.size:
            raise ValueError("the classes must be two or more, each once")
        coef, intercept = (np.ascontiguousarray(parts[name], np.float64) for name in ("coef", "intercept"))
        if classes.ndim != 1 or len(classes) < 2:
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


def _objects(labels: list[Any]) -> NDArray[Any]:
    """An array of the labels as they are, of one dimension also where they are tuples."""
    return np.fromiter(labels, object, len(labels))


def _is_plain(classes: NDArray[Any]) -> bool:
    """Whether classes are text or numbers, which NumPy and scikit-learn know."""
    return classes.dtype != object or all(isinstance(label, str) for label in classes.tolist())


def _plain(y: Any) -> Any:
    """Labels with numbers in an array of objects as an array of numbers, as they would be in a list."""
    array = np.asarray(y) if getattr(getattr(y, "dtype", None), "kind", "") == "O" else None
    if array is None or array.ndim != 1 or not isinstance(next(iter(array), None), numbers.Real | np.bool_):
        return y
    return np.asarray(array.tolist())


def _by_number(class_weight: Any, index: LabelIndex) -> Any:
    """``class_weight`` with the numbers of the labels in their places; refused here, where labels have names."""
    if not isinstance(class_weight, dict):
        return class_weight
    for label, factor in class_weight.items():
        if label not in index.number:
            raise DataError(f"class_weight names the class {label!r}, which is not in y")
        if not (isinstance(factor, numbers.Real) and 0 <= float(factor) < np.inf):
            raise DataError(f"class_weight of {label!r} is {factor!r}; it must be finite and at least 0")
    return {index.number[label]: factor for label, factor in class_weight.items()}


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


def _divided(X: Any, margin: NDArray[np.float64]) -> Any:
    """Rows divided by their wanted margins; with slacks that cost as much more, margins of 1 are the same problem."""
    done = 0

    def change(rows: Any) -> Any:
        nonlocal done
        part = margin[done : done + rows.shape[0]]
        done += rows.shape[0]
        with np.errstate(over="ignore"):
            out = sp.csr_matrix(sp.diags(1.0 / part) @ rows) if sp.issparse(rows) else rows / part[:, None]
        check_magnitude(out.data if sp.issparse(out) else out)
        return out

    return rows_of(X, change=change)  # which goes through mapped rows from the first to the last


def _joined(coef: NDArray[np.float64], intercept: NDArray[np.float64], constant: float) -> NDArray[np.float64]:
    """The weights as the solver lays them out."""
    W = coef.T
    if constant:
        W = np.vstack([W, intercept[None] / constant])
    return np.ascontiguousarray(W).ravel()
