"""Linear classification by the area under the ROC curve: the ranking machine on two classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ._checked_rows import checked_rows, checked_scores
from ._class_labels import Classifier, ClassLabels, classes_in, classes_part
from ._estimator import MarginEstimator, undone_if_failed
from ._machine import counted
from ._notes import about_contradictions, about_order, about_scales
from .ranking import FOR_PAIRS, PAIR_SOLVERS, pair_solver
from .solvers.base import WarmStart
from .solvers.linear.rows import Rows
from .solvers.loop import Result, run_to_tolerance
from .solvers.ranking.queries import group
from .solvers.ranking.task import RankingTask, check_pairs

__all__ = ["AUCClassifier", "best_threshold"]

Reals = NDArray[np.float64]


class AUCClassifier(Classifier, MarginEstimator):
    """Linear classifier of two classes, trained for the area under the ROC curve (AUC), with a certificate.

    Minimises ``1/2 |w|^2 + C k sum_(i, j) s_i s_j (1 - <w, x_i - x_j>)_+`` (or the square of the bracket) over the
    pairs of a row ``i`` of the second class and a row ``j`` of the first. One minus the AUC is the share of these pairs
    whose bracket is 1 or more, so their mean slack bounds it (Brefeld and Scheffer, "AUC maximizing support vector
    learning", ICML workshop on ROC analysis 2005; Joachims, KDD 2006). Pairs need not be listed: a pass costs two
    products with ``X`` and ``O(n log n)``. It is :class:`~maxmargin.SVMRanker` with the two classes as grades.

    How many rows a class has means nothing to the AUC, and hardly anything to the weights. The intercept changes no
    order: it is chosen afterwards and makes :meth:`predict` as right as it can be on the training rows.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the slacks.
    C_per : {"row", "pair"}, default="row"
        ``"row"``: the slack of a row is the mean over its pairs, and these are summed over all rows, that is
        ``k = 1 / sum_i s_i + 1 / sum_j s_j``. ``C`` then means what it does for
        :class:`~maxmargin.SVMClassifier`: data that are repeated double it. ``"pair"``: the sum over the pairs,
        ``k = 1``, as of :class:`~maxmargin.SVMRanker`. (For the mean over all pairs divide the ``C`` of rows by the
        number of rows.)
    loss : {"hinge", "squared_hinge"}, default="hinge"
    class_weight : dict, "balanced" or None, default=None
        Factors on the training errors that the intercept is chosen by. They have no effect on ``coef_``: on every
        pair they would be the same. A class of factor 0 is absent.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_passes : int, default=10000
        Passes over the data: each product with the Hessian, gradient or evaluation is one.
    max_time : float, optional
        Seconds of solving.
    solver : str or solver object, default="auto"
        As of :class:`~maxmargin.SVMRanker`, with all pairs for one example.
    verbose : int, default=0
        1 shows progress, 2 every pass.
    warm_start : bool, default=False
        Start from the weights of the last fit.
    callback : callable, optional
        ``callback(record, w)`` after every step; a true answer stops the fit.

    Attributes
    ----------
    classes_ : array of shape (2,)
    coef_ : array of shape (1, n_features)
    intercept_ : array of shape (1,)
        Minus the threshold with the fewest weighted errors on the training rows: the middle between the scores next to
        it, of several the one with the widest distance between these, then the lowest. Where the best is to take all
        rows for one class, it lies 1 beyond their scores.
    certificate_ : Certificate
        Of one example, the set of all pairs: its risk is the weighted share of training pairs in wrong order, equal
        scores included, which is one minus the AUC where no scores are equal; its bound is their mean slack.
    notes_ : tuple of str
        See :class:`~maxmargin.SVMClassifier`.
    history_ : list of Record
    solver_, solver_reason_ : str
        The algorithm, and why it was taken.
    n_iter_ : int
        Passes over the data.

    Notes
    -----
    ``score`` is the accuracy, as of every classifier of scikit-learn; ``scoring="roc_auc"`` judges and selects by
    the AUC.

    Examples
    --------
    >>> from maxmargin import AUCClassifier
    >>> model = AUCClassifier(C=10.0).fit([[0.0], [1.0], [5.0], [7.0]], ["no", "no", "yes", "yes"])
    >>> float(model.certificate_.training_risk), model.predict([[2.0], [4.0]]).tolist()
    (0.0, ['no', 'yes'])
    """

    classes_: NDArray[Any]
    coef_: Reals
    intercept_: Reals
    solver_reason_: str

    def __init__(
        self,
        C: float = 1.0,
        *,
        C_per: Literal["row", "pair"] = "row",
        loss: Literal["hinge", "squared_hinge"] = "hinge",
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        tol: float = 1e-3,
        max_passes: int = 10_000,
        max_time: float | None = None,
        solver: Any = "auto",
        verbose: int = 0,
        warm_start: bool = False,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.C = C
        self.C_per = C_per
        self.loss = loss
        self.class_weight = class_weight
        self.tol = tol
        self.max_passes = max_passes
        self.max_time = max_time
        self.solver = solver
        self.verbose = verbose
        self.warm_start = warm_start
        self.callback = callback

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags

    @undone_if_failed
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> AUCClassifier:
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Used as it is, without a copy, when it is float64 or float32 in C order or CSR and no weight is 0 (sets of
            up to a hundred thousand values are copied, as equal rows are merged).
        y : array of shape (n,)
            Two classes of any hashable type, which come back as given; text and numbers are not to be mixed. Labels
            that compare equal are one class.
        sample_weight : array of shape (n,), optional
            Weights ``s``: that of a pair is the product of two, so that a row of weight 2 is two equal rows. 0 leaves a
            row out, negative ones are refused.

        Raises
        ------
        ValueError
            For invalid parameters or data (other than two classes, NaN, wrong shapes): says which and where.
        KeyboardInterrupt
            After Ctrl-C, with the best model so far already stored.
        """
        self._check_parameters()
        solver = pair_solver(self)
        for name, values in (("loss", ("hinge", "squared_hinge")), ("C_per", ("row", "pair"))):
            if getattr(self, name) not in values:
                raise ValueError(f"{name} must be {values[0]!r} or {values[1]!r}, not {getattr(self, name)!r}")
        labels = ClassLabels(y, self.class_weight)
        X, truth = checked_rows(self, X, labels.y, accept_sparse="csr", dtype=[np.float64, np.float32])
        classes = labels.of_rows(truth, sample_weight, "AUCClassifier", binary=True)
        X, order, weight = counted(X, classes.number, classes.weight)
        number, factors = classes.number[order], classes.factors
        rows = Rows(X)
        result = self._fit_pairs(rows, number, weight, solver)
        self.classes_, self.coef_ = classes.names, result.w.reshape(1, -1)
        cost = weight / weight.max()
        if factors is not None:
            cost *= (factors / factors.max())[number]
        self.intercept_ = np.array([-best_threshold(rows.scores(result.w), number == 1, cost)])
        self._keep_notes(classes.notes + self._notes(X, order, number, weight, result))
        self.solver_reason_ = result.reason
        self._finish(result)
        return self

    def _notes(
        self, X: Any, order: NDArray[np.int64], number: NDArray[np.int64], weight: Reals, result: Result
    ) -> list[str]:
        notes = about_scales(X, getattr(self, "feature_names_in_", None), shifts=True, C=float(self.C))
        notes += about_contradictions(X, number, order)
        of_class = [weight[number == k] for k in range(2)]
        k = self._factor(number, weight)
        total, least = (k * float(np.prod([each(s) for s in of_class])) for each in (np.sum, np.min))
        return notes + about_order(result.certificate, self.loss, float(self.C), total, least, float(self.tol), notes)

    def _factor(self, number: NDArray[np.int64], weight: Reals) -> float:
        """``k``, the factor of all pairs."""
        return float((1.0 / np.bincount(number, weights=weight)).sum()) if self.C_per == "row" else 1.0

    def _solver_names(self) -> list[str]:
        return list(PAIR_SOLVERS)

    def _fit_pairs(self, rows: Rows, number: NDArray[np.int64], weight: Reals, solver: Any) -> Result:
        queries = group(number.astype(np.float64), np.zeros(len(number), np.int64), weight=weight)
        check_pairs(queries, "sample_weight")
        factor = np.array([self._factor(number, weight)])
        initial = None
        if self.warm_start and getattr(self, "coef_", np.empty(0)).shape == (1, rows.shape[1]):
            initial = WarmStart(self.coef_[0])
        task = RankingTask(
            rows, queries, factor, self.loss, float(self.C), float(self.tol), name=type(self).__name__, warm=initial
        )

        def run(**limits: Any) -> Result:
            return run_to_tolerance(task, solver, **limits)

        return self._watched(run)

    def decision_function(self, X: Any) -> Reals:
        """Scores of shape (n,): positive for the second class; their order is what was learned."""
        check_is_fitted(self, "coef_")
        X = checked_rows(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return checked_scores(self, lambda: Rows(X).scores(self.coef_[0]) + self.intercept_[0])

    def predict(self, X: Any) -> NDArray[Any]:
        """Classes of shape (n,)."""
        second = self.decision_function(X) > 0.0
        predicted: NDArray[Any] = self.classes_[second.astype(int)]
        return predicted

    def _to_parts(self) -> dict[str, Any]:
        """What a model file keeps, beyond the parameters and the figures."""
        return {
            "classes": classes_part(self.classes_),
            "coef": self.coef_,
            "intercept": self.intercept_,
            "feature_names": self._feature_names(),
            "solver_reason": self.solver_reason_,
        }

    def _from_parts(self, parts: dict[str, Any]) -> None:
        """Take over what :meth:`_to_parts` gave; a ValueError says what does not fit."""
        classes = classes_in(parts["classes"], "two")
        coef, intercept = (np.ascontiguousarray(parts[name], np.float64) for name in ("coef", "intercept"))
        if coef.ndim != 2 or len(coef) != 1 or intercept.shape != (1,):
            raise ValueError(
                f"weights of shapes {coef.shape} and {intercept.shape}; they must be one vector and a number"
            )
        self._take_feature_names(parts["feature_names"], coef.shape[1])
        self.classes_, self.coef_, self.intercept_, self.n_features_in_ = classes, coef, intercept, coef.shape[1]
        self.solver_reason_ = str(parts.get("solver_reason", FOR_PAIRS))


def best_threshold(scores: Reals, positive: NDArray[np.bool_], cost: Reals) -> float:
    """The threshold with the least total cost of errors when rows with scores above it are taken for positive.

    Parameters
    ----------
    scores : float64 array of shape (n,)
        Of one row at least.
    positive : bool array of shape (n,)
    cost : float64 array of shape (n,)
        What an error on each row costs, at least 0.

    Returns
    -------
    float
        The middle between the neighbouring scores, of several such places the one with the widest distance between
        these, then the lowest; 1 beyond the scores where all rows are best taken for one class.
    """
    order = np.argsort(scores, kind="stable")
    at, cost, positive = scores[order], cost[order], positive[order]
    beyond = max(2.0, 4.0 * float(np.spacing(np.abs(at).max())))  # seen in float64 also of very large scores
    low, high = np.append(at[0] - beyond, at), np.append(at, at[-1] + beyond)
    middle = low + 0.5 * (high - low)
    missed, right = (np.append(0.0, np.cumsum(np.where(one, cost, 0.0))) for one in (positive, ~positive))
    errors = missed + (right[-1] - right)
    errors[middle >= high] = np.inf  # equal scores
    best = np.flatnonzero(errors <= errors.min() + 1e-12 * float(cost.sum()))
    return float(middle[best[np.argmax((high - low)[best])]])
