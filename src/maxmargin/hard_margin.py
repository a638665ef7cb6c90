"""The hard margin: the hyperplane farthest from both of two separable classes, or the rows that allow none."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ._checked_rows import checked_rows
from ._class_labels import Classifier, ClassLabels, classes_in, classes_part
from ._estimator import undone_if_failed
from ._kernel_machine import KernelMachine, coefficients, dual_of
from ._machine import Machine, check_switches
from .errors import DataError, InseparableError
from .solvers.exact_penalty import enough_of
from .solvers.hard_margin import HardMargin
from .solvers.kernel.factor import MOST_POINTS, factor_of
from .solvers.kernel.row_cache import KernelValues
from .solvers.linear.folding import near_origin, reflected
from .solvers.linear.rows import Rows
from .solvers.linear.separation import Conflict
from .solvers.loop import Result
from .solvers.perceptron import Perceptron
from .structures.rows import equal_pairs
from .terms import hinge

__all__ = ["HardMarginSVM"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
_SHOWN = 10


class HardMarginSVM(Classifier, KernelMachine):
    """Hard-margin support vector classifier of two classes, with a certificate.

    Minimises ``1/2 |w|^2`` subject to ``y_i (<w, x_i> + b) >= 1`` for every row, with ``y_i`` plus 1 for the second
    class (Boser, Guyon, Vapnik, COLT 1992). The weights returned have all margins, and the certificate's ``dual`` is
    ``sum_i a_i - 1/2 |sum_i a_i y_i x_i|^2`` of some ``a_i >= 0``. With a kernel ``k`` the score is
    ``sum_j beta_j k(x_j, x) + b`` and ``|w|^2`` is ``sum_ij beta_i beta_j k(x_i, x_j)``.

    Data that no hyperplane separates are refused, with the numbers of a few rows that no hyperplane separates although
    any of them could be taken away; two equal rows of both classes are named before any others. With features moved and
    scaled to ``[-1, 1]``, hyperplanes with weights in ``[-1, 1]`` whose margin is at most ``1e-9`` count as none (with
    a kernel ``1e-6``, see :mod:`maxmargin.solvers.linear.separation`): rows are named too where rounding hides whether
    they can be separated.

    Parameters
    ----------
    kernel, gamma, coef0, degree
        See :class:`~maxmargin.SVMClassifier`; kernels other than the linear one must be positive semi-definite, and are
        for up to 4,000 rows.
    fit_intercept : bool, default=True
        Learn an intercept ``b``; it is not penalised.
    penalize_intercept : bool, default=False
        Treat the intercept as the weight of a constant feature 1: ``1/2 (|w|^2 + b^2)`` is minimised.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_passes : int, default=10000
        Passes over the data, those that look for a first hyperplane left out.
    max_time : float, optional
        Seconds of solving, as ``max_passes``; see :class:`~maxmargin.SVMClassifier`.
    solver : default="auto"
        Of the linear soft margin with a ``C`` that is large enough, see :class:`~maxmargin.SVMClassifier`, also with a
        kernel, whose matrix is factored. The perceptron, which looks for any hyperplane, is refused.
    random_state : int or RandomState, optional
        Order of the visits.
    verbose : int, default=0
        1 shows progress, 2 every pass.
    callback : callable, optional
        ``callback(record, w)`` after every pass, or step of several; a true answer stops the fit.

    Attributes
    ----------
    classes_ : array of shape (2,)
    coef_ : array of shape (1, n_features)
        With ``kernel="linear"`` only.
    intercept_ : array of shape (1,)
    margin_ : float
        ``1 / |w|``, the distance of the nearest rows from the hyperplane, in the kernel's space where there is one;
        not positive where the fit was stopped before the weights separated the classes.
    support_, dual_coef_ : arrays of shapes (n_support,) and (1, n_support)
        Rows of positive ``a_i`` and their ``a_i y_i``, see :class:`~maxmargin.SVMClassifier`.
    support_vectors_ : array or CSR matrix of shape (n_support, n_features)
        With a kernel.
    n_support_ : int64 array of shape (2,)
        How many of them each class has.
    kernel_ : Kernel
        With its parameters resolved.
    certificate_ : Certificate
        Its ``C`` is infinite.
    notes_ : tuple of str
        On features of very unlike scales, and of no effect; see :class:`~maxmargin.SVMClassifier`.
    history_ : list of Record
    solver_, solver_reason_ : str
        The algorithm, and why it was taken.
    n_iter_ : int
        Passes over the data.

    Examples
    --------
    >>> from maxmargin import HardMarginSVM
    >>> model = HardMarginSVM().fit([[-1.0], [1.0], [3.0]], ["left", "right", "right"])
    >>> model.coef_.tolist(), model.margin_, sorted(model.support_.tolist())
    ([[1.0]], 1.0, [0, 1])
    >>> try:
    ...     HardMarginSVM().fit([[0.0], [1.0], [2.0], [9.0]], ["left", "right", "left", "right"])
    ... except ValueError as error:
    ...     print(error.rows)
    (0, 1, 2)
    """

    C = 1.0
    nu = None

    classes_: NDArray[Any]
    coef_: Reals
    intercept_: Reals
    n_support_: Ints
    margin_: float

    def __init__(
        self,
        *,
        kernel: Any = "linear",
        gamma: float | str = "scale",
        coef0: float = 0.0,
        degree: int = 3,
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        tol: float = 1e-3,
        max_passes: int = 10_000,
        max_time: float | None = None,
        solver: Any = "auto",
        random_state: Any = None,
        verbose: int = 0,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
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
        tags.classifier_tags.multi_class = False
        return tags

    def _solver_names(self) -> list[str]:
        return Machine._solver_names(self)

    @undone_if_failed
    def fit(self, X: Any, y: ArrayLike) -> HardMarginSVM:
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Two classes of any hashable type, which come back as given; text and numbers are not to be mixed. Labels
            that compare equal are one class.

        Raises
        ------
        InseparableError
            When no hyperplane separates the classes: ``rows`` has the numbers of rows that show it.
        ValueError
            For invalid parameters or other data (one class, three, NaN, wrong shapes): says which and where.
        KeyboardInterrupt
            After Ctrl-C, with the best model so far already stored.
        """
        solver = Machine._check_machine(self)  # a kernel's matrix is factored, and the problem linear
        check_switches(self)
        if isinstance(solver, Perceptron):
            raise ValueError(f"HardMarginSVM: solver {self.solver!r} looks for any hyperplane, not for the margin")
        labels = ClassLabels(y)
        X, truth = checked_rows(self, X, labels.y, accept_sparse="csr", dtype=[np.float64, np.float32])
        check_classification_targets(truth)
        classes, number = np.unique(truth, return_inverse=True)
        names = labels.names(classes)
        if len(classes) == 1:
            raise DataError(f"HardMarginSVM needs two classes; y has one class only: {names.tolist()[0]!r}")
        if len(classes) > 2:
            raise DataError(
                f"Only binary classification is supported. HardMarginSVM has {len(classes)} classes; SVMClassifier "
                "takes them"
            )
        X, order, counts = self._counted(X, number, None)
        sign = np.where(number[order] == 1, 1.0, -1.0)
        self.classes_ = names
        if self._by_kernel:
            result = self._fit_by_kernel(X, order, counts, sign, solver)
        else:
            result = self._fit_by_weights(X, order, sign, solver)
        self.n_support_ = np.bincount(number[self.support_], minlength=2)
        assert result._run is not None
        task: Any = result._run.task
        square = 2.0 * task.penalty(result.w)
        if self._intercept == "penalized":
            square -= float(self.intercept_[0]) ** 2
        self.margin_ = float((sign * task.scores(result.w)).min()) / math.sqrt(square) if square > 0.0 else 0.0
        result.release()
        self._keep_notes(self._notes_on(X))
        result.certificate = replace(result.certificate, C=math.inf)
        self._take_over([result])
        return self

    def _fit_by_weights(self, X: Any, order: Ints, sign: Reals, solver: Any) -> Result:
        rows, d = Rows(X), X.shape[1]
        folded = near_origin(rows) if self._intercept == "free" else reflected(rows)
        c = self._costs_above(X, folded.rows, sign, order)
        result = self._fit_linear(folded, self._linear_task(folded, hinge(sign, c), c, signs=True), HardMargin(solver))
        self._keep_dual(order, [dual_of(result, d)])
        self.coef_ = folded.original(result.w)[None, :d].copy()
        self.intercept_ = np.array([folded.intercept(result.w).sum()])  # of one, or none
        return result

    def _fit_by_kernel(self, X: Any, order: Ints, counts: Reals, sign: Reals, solver: Any) -> Result:
        n = len(order)
        if n > MOST_POINTS:
            raise DataError(f"HardMarginSVM: kernels are for up to {MOST_POINTS} different rows; there are {n}")
        kernel = self._make_kernel(X, counts)
        factor = factor_of(kernel.block(X, X))
        if factor is None:
            raise DataError(
                "HardMarginSVM: the kernel matrix is not positive semi-definite, so it has no hyperplanes; use another "
                "kernel, or SVMClassifier"
            )
        c = self._costs_above(X, Rows(factor), sign, order)
        values = KernelValues(factor=factor)
        task = self._kernel_task(kernel, X, hinge(sign, c), c, C=1.0, signs=True, values=values)
        result = self._fit_kernel(task, HardMargin(solver, factor))
        self._keep_support(kernel, X, order, [coefficients(result.w[:n])])
        self.intercept_ = np.array([self._intercept_of(result.w[:n], result.w[n:])])
        return result

    def _costs_above(self, X: Any, rows: Rows, sign: Reals, order: Ints) -> Reals:
        """Costs of slack with which the soft margin is the hard one; refuses data that no hyperplane separates.

        ``rows`` are those of ``X``, or of a factor of the kernel matrix.
        """
        self._refuse_equal_rows(X, rows, sign, order)
        # a penalised intercept is in the kernel, or else as good as a free one
        intercept = self._intercept == "free" if self._by_kernel else self.fit_intercept
        found = enough_of(rows, sign, intercept, type(self).__name__, factor=self._by_kernel)
        if isinstance(found, Conflict):
            self._refuse(sign[found.rows], order[found.rows])
        return np.full(len(sign), found)

    def _refuse_equal_rows(self, X: Any, rows: Rows, sign: Reals, order: Ints) -> None:
        X = X.astype(np.float64, copy=False)
        if sp.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        pairs = equal_pairs(X)
        pairs = pairs[sign[pairs[:, 0]] != sign[pairs[:, 1]]]
        if not self.fit_intercept:  # one row of zeros is enough
            pairs = pairs[rows.squared_norms[pairs[:, 0]] > 0.0]
        if len(pairs):
            first = pairs[np.lexsort(np.sort(order[pairs], axis=1).T[::-1])[0]]
            self._refuse(sign[first], order[first])

    def _refuse(self, sign: Reals, rows: Ints) -> NoReturn:
        names = self.classes_.tolist()
        places = np.argsort(rows)
        shown = [f"{rows[k]} ({names[int(sign[k] > 0.0)]!r:.40})" for k in places[:_SHOWN].tolist()]
        if len(rows) > _SHOWN:
            shown.append(f"{len(rows) - _SHOWN} more")
        if len(shown) == 1:
            what = f"row {shown[0]} is 0, and without an intercept its score is 0 too; remove it, learn an intercept"
        else:
            what = (
                f"rows {', '.join(shown[:-1])} and {shown[-1]} contradict each other (without any one of them the "
                "others would not); remove such rows"
            )
        space = " in the space of the kernel" if self._by_kernel else ""
        raise InseparableError(
            f"HardMarginSVM: no hyperplane{space} separates the classes: {what}, or use SVMClassifier, which allows "
            "errors",
            rows[places].tolist(),
        )

    def decision_function(self, X: Any) -> Reals:
        """Scores of shape (n,): positive ones are of the second class."""
        check_is_fitted(self, "margin_")
        return np.asarray(self._scores(X)[:, 0] + self.intercept_[0])

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of every row, of shape (n,)."""
        second = self.decision_function(X) > 0.0
        predicted: NDArray[Any] = self.classes_[second.astype(int)]
        return predicted

    def _to_parts(self) -> dict[str, Any]:
        """What a model file keeps, beyond the parameters and the figures."""
        return self._score_parts() | {
            "classes": classes_part(self.classes_),
            "intercept": self.intercept_,
            "margin": self.margin_,
            "n_support": self.n_support_ if hasattr(self, "kernel_") else None,
        }

    def _from_parts(self, parts: dict[str, Any]) -> None:
        """Take over what :meth:`_to_parts` gave; a ValueError says what does not fit."""
        classes, intercept = classes_in(parts["classes"], "two"), np.ascontiguousarray(parts["intercept"], np.float64)
        if intercept.shape != (1,):
            raise ValueError(f"intercepts of shape {intercept.shape} for one problem")
        self._take_score_parts(parts, 1)
        if parts["support"] is not None:
            counts = np.asarray(parts["n_support"])
            if counts.shape != (2,) or counts.dtype.kind not in "iu":
                raise ValueError(f"numbers of support vectors of shape {counts.shape} for 2 classes")
            self.n_support_ = counts.astype(np.int64)
        self.classes_, self.intercept_, self.margin_ = classes, intercept, float(parts["margin"])
