"""Support vector classification with a free intercept, for two classes or more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ._class_weight import weights_of_rows
from ._estimator import check_one_kind, check_sample_weight
from ._machine import Machine, check_margin, check_switches, counted
from .errors import DataError
from .solvers.linear.rows import Rows
from .structures.values import check_sparse
from .terms import hinge, squared_hinge

__all__ = ["SVMClassifier"]

_LOSSES = {"hinge": hinge, "squared_hinge": squared_hinge}


class SVMClassifier(ClassifierMixin, Machine):
    """Support vector classifier with a certificate.

    Two classes: minimises ``1/2 |w|^2 + C sum_i s_i (m_i - y_i (<w, x_i> + b))_+`` (or the square of the bracket),
    with ``y_i`` plus 1 for the second class. More classes: one such problem for each class against the rest, or for
    each pair; the certificate is that of their sum.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the slacks; ``C = 1 / (lambda n)`` gives the lambda form.
    loss : {"hinge", "squared_hinge"}, default="hinge"
    multi_class : {"ovr", "ovo"}, default="ovr"
        One problem for each class against the rest, or one for each pair of classes. (One problem for all classes
        at once: :class:`~maxmargin.MulticlassSVM`.)
    fit_intercept : bool, default=True
        Learn an intercept ``b``; it is not penalised.
    penalize_intercept : bool, default=False
        Treat the intercept as the weight of a constant feature 1, as LIBLINEAR does with ``-B 1``.
    class_weight : dict, "balanced" or None, default=None
        Factors on ``C`` for the rows of each class.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_passes : int, default=1000
        Passes over the data (iterations of the interior point method count as one each).
    max_time : float, optional
        Seconds, for each of the problems.
    solver : {"auto", "coordinate_ascent", "interior_point"} or solver object, default="auto"
        ``"auto"`` begins with coordinate ascent and goes over to the interior point method where that is shorter, as
        on unscaled features or for a large ``C``; ``solver_`` and ``solver_reason_`` say what was chosen and why.
    random_state : int or RandomState, optional
        Order of the visits.
    verbose : int, default=0
        1 shows progress, 2 every pass.
    callback : callable, optional
        ``callback(record, w)`` after every pass; a true answer stops the fit.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_ : array of shape (1, n_features), or (n_problems, n_features)
    intercept_ : array of shape (1,) or (n_problems,)
    certificate_ : Certificate
    history_ : list of Record
        Of the hardest problem.
    solver_, solver_reason_ : str
        The algorithm, and why it was taken.
    n_iter_ : int
        Passes over the data.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import SVMClassifier
    >>> model = SVMClassifier(C=10.0).fit(np.array([[-1.0], [1.0]]), ["left", "right"])
    >>> model.predict([[0.3]]).tolist(), round(float(model.coef_[0, 0]), 3)
    (['right'], 1.0)
    """

    classes_: NDArray[Any]
    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: Literal["hinge", "squared_hinge"] = "hinge",
        multi_class: Literal["ovr", "ovo"] = "ovr",
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        tol: float = 1e-3,
        max_passes: int = 1000,
        max_time: float | None = None,
        solver: Any = "auto",
        random_state: Any = None,
        verbose: int = 0,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.class_weight = class_weight
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

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, margin: ArrayLike | None = None
    ) -> SVMClassifier:
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Used as it is, without a copy, when it is float64 or float32 in C order or CSR and no weight is 0 (sets of
            up to a hundred thousand values are copied, as equal rows are merged).
        y : array of shape (n,)
            Classes of any type that can be sorted.
        sample_weight : array of shape (n,), optional
            Factors ``s_i`` on the slacks; 0 leaves a row out, negative ones are refused.
        margin : array of shape (n,), optional
            Wanted margins ``m_i`` (1 by default), positive.

        Raises
        ------
        ValueError
            For invalid parameters or data (one class, NaN, wrong shapes): says which and where.
        KeyboardInterrupt
            After Ctrl-C, with the best model so far already stored.
        """
        solver = self._check_machine()
        check_switches(self)
        if self.loss not in _LOSSES:
            raise ValueError(f"loss must be one of {sorted(_LOSSES)}, not {self.loss!r}")
        if self.multi_class not in ("ovr", "ovo"):
            raise ValueError(f"multi_class must be 'ovr' or 'ovo', not {self.multi_class!r}")
        check_one_kind(y)
        check_sparse(X)
        X, truth = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        check_classification_targets(truth)
        n = len(truth)
        weight, wanted = check_sample_weight(sample_weight, n), check_margin(margin, n)
        used = np.ones(n, np.bool_) if weight is None else weight > 0
        classes = np.unique(truth[used])  # a class whose rows all have weight 0 is absent
        number = np.minimum(np.searchsorted(classes, truth), len(classes) - 1)
        if len(classes) < 2:
            raise DataError(f"SVMClassifier needs at least two classes; y has one class only: {classes.tolist()[0]!r}")
        weight = weights_of_rows(self.class_weight, weight, classes, truth, used)
        groups = (
            number if wanted is None else np.unique(np.column_stack([number, wanted]), axis=0, return_inverse=True)[1]
        )
        X, order, weight = counted(X, np.asarray(groups).reshape(-1), weight)
        number = number[order]
        wanted = np.ones(len(order)) if wanted is None else wanted[order]
        results = []
        whole = Rows(X)
        for part, sign in self._problems(number, len(classes)):
            rows = whole if part is None else Rows(X[part])
            s, m = (weight, wanted) if part is None else (weight[part], wanted[part])
            terms = _LOSSES[self.loss](sign, self._costs(s), m)
            results.append(self._fit_linear(rows, terms, s, solver, signs=True))
        self.classes_ = classes
        d = X.shape[1]
        self.coef_ = np.array([result.w[:d] for result in results])
        self.intercept_ = np.array([result.w[d] if self.fit_intercept else 0.0 for result in results])
        self._take_over(results)
        return self

    def _problems(
        self, number: NDArray[np.int64], n_classes: int
    ) -> Iterator[tuple[NDArray[np.int64] | None, NDArray[np.float64]]]:
        """Rows (None: all) and signs of every two-class problem."""
        if n_classes == 2:
            yield None, np.where(number == 1, 1.0, -1.0)
        elif self.multi_class == "ovr":
            for k in range(n_classes):
                yield None, np.where(number == k, 1.0, -1.0)
        else:
            for first, second in combinations(range(n_classes), 2):
                part = np.flatnonzero((number == first) | (number == second))
                yield part, np.where(number[part] == first, 1.0, -1.0)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores: of shape (n,) for two classes (positive: the second), else (n, n_classes).

        With ``multi_class="ovo"`` a class scores its wins over the others, and a part below one half of the sum of its
        margins, which decides between equal numbers of wins.
        """
        check_is_fitted(self, "coef_")
        check_sparse(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        scores = np.asarray(X @ self.coef_.T) + self.intercept_
        if len(self.classes_) == 2:
            return np.asarray(scores[:, 0])
        return scores if len(scores.T) == len(self.classes_) and self.multi_class == "ovr" else self._votes(scores)

    def _votes(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        wins, margins = np.zeros((2, len(scores), len(self.classes_)))
        for k, (first, second) in enumerate(combinations(range(len(self.classes_)), 2)):
            won = scores[:, k] > 0.0
            wins[:, first] += won
            wins[:, second] += ~won
            margins[:, first] += scores[:, k]
            margins[:, second] -= scores[:, k]
        votes: NDArray[np.float64] = wins + margins / (3.0 * (np.abs(margins) + 1.0))
        return votes

    def predict(self, X: Any) -> NDArray[Any]:
        """Class with the highest score, of shape (n,); the first in ``classes_`` on ties."""
        decision = self.decision_function(X)
        best = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(1)
        predicted: NDArray[Any] = self.classes_[best]
        return predicted
