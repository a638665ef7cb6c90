"""Multiclass support vector machine in the form of Crammer and Singer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ._checked_rows import checked_rows, checked_scores
from ._class_labels import Classifier, ClassLabels, classes_in, classes_part
from ._estimator import (
    MarginEstimator,
    check_number,
    choose_solver,
    costs_of_labels,
    undone_if_failed,
)
from ._machine import check_margin, counted, takes_copies
from ._notes import about_contradictions, about_scales, hard_margin, tell_hard_margin, tell_zero, zero_is_best
from ._partial_fit import (
    Streams,
    check_stream_solver,
    check_stream_weight,
    class_piece,
    for_streams,
)
from ._products import inner
from .data._mapped_rows import rows_of
from .errors import DataError
from .problem import Certificate
from .solvers import by_name
from .solvers.base import WarmStart
from .solvers.linear.folding import in_mirror, moved_by, off_the_origin, reflected
from .solvers.linear.rows import Rows
from .solvers.loop import Result, check_costs, run_to_tolerance
from .structures.base import Encoded, check_magnitude
from .structures.rows import FEW_ENTRIES
from .structures.values import LARGEST, as_reals, check_largest, check_smallest

__all__ = ["MulticlassSVM"]

# Square of the constant feature of free intercepts over the mean squared norm of the rows: as of two classes
_CONSTANT = 0.03
# Standard deviations from the origin at which a feature is moved there, and rows whose mean tells. What all rows have
# in common makes coordinate ascent slow long before it is lost in rounding, and the working copy is made in any case.
_OFF, _MEAN = 10.0, 10_000
_PENALIZED = (
    "the intercepts are penalised, as {} penalises all weights: take auto, coordinate_ascent, interior_point or "
    "block_ascent for free ones, or ask for penalised ones, which means the same without this note"
)


def _can_stream(estimator: MulticlassSVM) -> bool:
    """Whether there is a ``partial_fit``; an AttributeError says why not."""
    check_stream_solver(estimator)
    check_stream_weight(estimator)
    return True


class MulticlassSVM(Classifier, MarginEstimator):
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
        ``set_params(loss="zero_one")`` before saving. (A stream goes on with its own: to save it give a matrix.)
    fit_intercept : bool, default=True
        Learn an intercept ``b_k`` for each class.
    penalize_intercept : bool or None, default=None
        False: the intercepts are free, and optimal as such (of sum 0, for a number that all classes have in common
        changes nothing); that takes ``solver="auto"``, ``"coordinate_ascent"``, ``"interior_point"`` or
        ``"block_ascent"``. True: they are the weights of a constant feature, penalised like the others, as LIBLINEAR
        does with ``-B 1``; all solvers can. None: free with the solvers that can, penalised with those of structured
        machines, and ``notes_`` says so; free in :meth:`partial_fit`.
    intercept_scaling : float, default=1.0
        Of penalised intercepts alone: value of the constant feature; larger values penalise them less.
    class_weight : dict, "balanced" or None, default=None
        Factors on ``C`` for the examples of each class; one of factor 0 is absent.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_passes : int, default=10000
        Passes over the data, that of the certificate included (1 is taken for 2: a pass and its certificate).
    max_time : float, optional
        Seconds of solving, looked at within passes too; the pass of the certificate comes on top.
    solver : str or solver object, default="auto"
        ``"coordinate_ascent"``: cheap passes, for many rows; ``"interior_point"``: a few dozen iterations whatever
        ``C`` and the scales, for up to some thousand weights; ``"block_ascent"``: where features outnumber rows, or are
        thousands, and many rows are nearly equal or ``C`` is large
        (:mod:`maxmargin.solvers.linear.multiclass_block_ascent`); ``"auto"`` begins with the first, gives the last
        turns there, and goes over to the second where that is the shorter way. The solvers of structured machines:
        ``"frank_wolfe"``, ``"n_slack"``, ``"one_slack"``, ``"averaged_perceptron"``, ``"perceptron"``, ``"bundle"``,
        ``"gradient_descent"``, ``"subgradient"``, ``"pegasos"``.
    n_jobs : int, optional
        Threads for evaluations of the structured solvers; the model does not depend on it.
    random_state : int or RandomState, optional
        Order of the visits.
    verbose : int, default=0
        1 shows progress, 2 every pass, or step of several.
    warm_start : bool, default=False
        Start where the last fit ended: from its dual variables, a number for each row and class that is kept for that
        (by the structured solvers from its planes and weights). The optimum is the same. With other rows than those,
        and after loading a pickle or a model file, it starts from the weights alone, which save less.
    callback : callable, optional
        ``callback(record, w)`` after every pass, or step of several; a true answer stops the fit.

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
    n_mistakes_ : int64 array of shape (1,)
        Steps of a perceptron; with no other solver.
    n_samples_seen_ : int
        Rows of positive weight, after :meth:`partial_fit`.

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
    _switches = ("fit_intercept", "warm_start")  # penalize_intercept may be None

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: Literal["zero_one"] | ArrayLike | Callable[[Any, Any], float] = "zero_one",
        fit_intercept: bool = True,
        penalize_intercept: bool | None = None,
        intercept_scaling: float = 1.0,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        tol: float = 1e-3,
        max_passes: int = 10_000,
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

    @undone_if_failed
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
            Factors ``m_i`` on the costs, which are the wanted margins (1 by default), between 1e-50 and 1e50.

        Raises
        ------
        ValueError
            For invalid parameters or data (one class, NaN, wrong shapes): says which and where. For a loss that is NaN,
            negative, no number, or not 0 for the truth: names the two labels. For free intercepts with a solver that
            has none, and for an ``intercept_scaling`` other than 1 of free ones.
        KeyboardInterrupt
            After Ctrl-C, with the best model so far already stored.
        """
        from .solvers.compiled_oracle import CompiledOracle
        from .structures.rows import merge_equal_rows

        self._check_parameters()
        solver = self._structured_solver()
        by_rows = self._check_intercept(solver)
        labels = ClassLabels(y, self.class_weight)
        X, truth = checked_rows(self, X, labels.y, accept_sparse="csr", dtype="numeric")
        classes = labels.of_rows(truth, sample_weight, "MulticlassSVM")
        wanted = check_margin(margin, len(truth))
        names, number, weight = classes.names, classes.number, classes.weights()
        structure = self._structure(names)
        notes = about_scales(X, getattr(self, "feature_names_in_", None), shifts=self._free, C=float(self.C))
        n_features = X.shape[1]
        X = _canonical(X)
        groups = classes.groups(wanted)  # only rows of one margin are equal; their order is that without absent ones
        shift = mirror = None
        if by_rows:
            chosen, order, used = counted(X, groups, weight)
            if self._free and not sp.issparse(X):
                shift = off_the_origin(chosen, _OFF, _MEAN)
            if shift is not None:  # the same problem, of rows that have less in common
                chosen = np.subtract(chosen, shift, dtype=np.float64)
            elif not self._free and not sp.issparse(X):
                turned = reflected(Rows(chosen))
                chosen, mirror = (chosen, None) if turned.mirror is None else (turned.rows.matrix, turned.mirror)
            constant = self._constant(chosen, used)
        else:
            chosen, constant = X, self._constant(X, weight)
        if self.fit_intercept and self.penalize_intercept is None and not by_rows:
            notes.append(_PENALIZED.format(solver.name))
        initial = None  # weights to begin at
        before = self._warm_rows() if by_rows else None
        same = self.warm_start and hasattr(self, "coef_") and self.coef_.shape[1] == n_features
        if same and self.classes_.tolist() == names.tolist():
            coef = self.coef_ if mirror is None else in_mirror(mirror, self.coef_)
            initial = _joined(coef, _moved(self.coef_, self.intercept_, shift), constant)
        chosen = _with_constant(chosen, constant)  # the working copy
        if by_rows:
            if wanted is not None:
                chosen, used = _divided(chosen, wanted[order]), self._times(used, wanted[order])
            warm, multipliers = None if initial is None else WarmStart(initial), None
            if before is not None and initial is not None and len(before.number) == len(number):
                warm = before.start(initial, number, order)
                multipliers = before.biases_at(shift, self.coef_) / (constant or 1.0)

            def weights(w: NDArray[np.float64]) -> NDArray[np.float64]:
                return _as_given(w, len(names), constant, shift, mirror)

            result, at_zero, kept = self._fit_rows(
                chosen, number[order], structure.costs, used, solver, warm, multipliers, weights
            )
            if kept is not None:
                self._warm = ("rows", _Rows.of(*kept, constant, number, order, result.certificate.solver, shift))
            result.w = weights(result.w)
        else:
            if not takes_copies(solver):
                order, weight = merge_equal_rows(chosen, groups, weight)
            else:
                weight = np.ones(len(number)) if weight is None else weight
                order = np.flatnonzero(weight > 0.0)
            if wanted is not None:
                chosen, weight = _divided(chosen, wanted), self._times(weight, wanted)
            encoded: Encoded = structure.encode(chosen, number)
            used = weight[order]
            result = self._optimize(CompiledOracle(structure, encoded), weight, initial, order=order)
            at_zero = float(self.C) * float(used.sum())
        notes += classes.notes
        self._keep_notes(notes + self._notes_after(result.certificate, at_zero, X, number, order, used))
        if wanted is not None:  # means over the weights alone, not over their products with the margins
            share = float(used.sum()) / float((used / wanted[order]).sum())
            found = result.certificate
            result.certificate = replace(
                found, risk_bound=found.risk_bound * share, training_risk=found.training_risk * share
            )
        self._take(result, names, constant)
        return self

    @for_streams(_can_stream)
    @undone_if_failed
    def partial_fit(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> MulticlassSVM:
        """Learn from the next piece of a stream, visiting each row once, in the order given.

        After ``n`` rows in all, of any number of calls, the objective is that of :meth:`fit` for these rows with the
        same ``C``; intercepts are free unless ``penalize_intercept=True``. In random order the weights come near its
        minimum as fast as ``1 / sqrt(n)``, the sooner the more alike the sizes of the features and the nearer these are
        to 0, see :mod:`maxmargin.solvers.structured_stream`. They are the same to the last bit whatever the pieces are.
        There is no ``certificate_``: it would need the rows that are gone. A :meth:`fit`
        before is forgotten, and a later one forgets the stream. ``solver`` must be ``"auto"`` or ``"subgradient"``;
        ``tol``, the limits, ``random_state``, ``warm_start``, ``verbose`` and ``callback`` play no part. A model file
        keeps all that the next call needs.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Classes of any hashable type, as for :meth:`fit`.
        classes : array of shape (n_classes,)
            All classes that will ever come, each once in ``classes_``: sorted where they can be. Needed in the
            first call, unless there was a fit before.
        sample_weight : array of shape (n,), optional
            Factors ``s_i`` on the slacks; 0 leaves a row out, negative ones are refused.

        Returns
        -------
        MulticlassSVM
            This estimator, with ``coef_``, ``intercept_``, ``classes_`` and ``n_samples_seen_``.

        Raises
        ------
        ValueError
            For invalid parameters or data, and for parameters changed between two calls.
        RuledOutError
            With another solver and ``class_weight="balanced"``: there is no such method then.
        KeyboardInterrupt
            After Ctrl-C, when the piece has been used in part.
        """
        from .solvers.compiled_oracle import CompiledOracle

        self._check_parameters()
        self._check_intercept_parameters(free=self._stream_intercepts["intercept"] == "free")
        streams, X, number, weight = class_piece(self, X, y, classes, sample_weight)
        structure, X = self._structure(self.classes_), _canonical(X)
        encoded: Encoded = structure.encode(_with_constant(X, self._stream_intercepts["constant"]), number)
        if streams is None:
            streams = Streams.of_structure(self, encoded.n_weights)
        oracle = CompiledOracle(structure, encoded)
        streams.take_examples(self, oracle, weight, squares=Rows(X).squared_norms)
        return self

    @property
    def _stream_intercepts(self) -> dict[str, Any]:
        """What a stream has for intercepts, see :class:`~.solvers.structured_stream.StructuredStream`."""
        if not self.fit_intercept:
            return {"intercept": "none", "n_intercepts": 0, "constant": 0.0}
        penalized = bool(self.penalize_intercept)
        return {
            "intercept": "penalized" if penalized else "free",
            "n_intercepts": len(getattr(self, "classes_", ())),
            "constant": float(self.intercept_scaling) if penalized else 1.0,
        }

    @property
    def _n_weights(self) -> int:
        """Those of a stream."""
        return int(self.coef_.size) + (len(self.coef_) if self.fit_intercept else 0)

    def _take_weights(self, streams: Streams) -> None:
        """Those of the stream."""
        self._set_weights(streams.each[0].weights(), len(self.classes_), self._stream_intercepts["constant"])

    def _structure(self, names: NDArray[Any]) -> Any:
        """The structure that the parameters state, for these classes."""
        from .structures.multiclass import Multiclass

        costs = None
        if callable(self.loss):
            costs = costs_of_labels(self.loss, names.tolist())
        elif not isinstance(self.loss, str):
            costs = as_reals(self.loss, "loss")
            check_largest(costs, "loss")
        elif self.loss != "zero_one":
            raise ValueError(f"loss must be 'zero_one', a callable of two labels or a cost matrix, not {self.loss!r}")
        structure = Multiclass(len(names), costs)
        check_smallest(structure.costs, "loss")
        return structure

    @property
    def _free(self) -> bool:
        """Whether there are intercepts without a penalty."""
        if not self.fit_intercept or self.penalize_intercept:
            return False
        return self.penalize_intercept is not None or _by_rows(self.solver)

    def _check_intercept_parameters(self, *, free: bool) -> None:
        check_number(self, "intercept_scaling", low=0.0, low_allowed=False)
        if not 1.0 / LARGEST <= float(self.intercept_scaling) <= LARGEST:
            raise ValueError(
                f"MulticlassSVM: intercept_scaling={self.intercept_scaling!r} is out of what can be computed with, "
                f"between {1.0 / LARGEST:g} and {LARGEST:g}"
            )
        if not (self.penalize_intercept is None or isinstance(self.penalize_intercept, bool | np.bool_)):
            raise ValueError(
                f"MulticlassSVM: penalize_intercept must be True, False or None, not {self.penalize_intercept!r}"
            )
        if self.penalize_intercept and not self.fit_intercept:
            raise ValueError("MulticlassSVM: penalize_intercept=True needs fit_intercept=True")
        if free and self.intercept_scaling != 1:
            raise ValueError(
                f"MulticlassSVM: intercept_scaling={self.intercept_scaling!r} needs penalize_intercept=True: free "
                "intercepts have no scale"
            )

    def _check_intercept(self, solver: Any) -> bool:
        """Check what there is to the intercept; returns whether the solver is one by rows."""
        self._check_intercept_parameters(free=False)
        by_rows = _by_rows(solver)
        if self._free and not by_rows:
            raise ValueError(
                f"MulticlassSVM: solver={solver.name!r} has no free intercept: set penalize_intercept=True, or take "
                "solver='auto', 'coordinate_ascent', 'interior_point' or 'block_ascent'"
            )
        self._check_intercept_parameters(free=self._free)
        return by_rows

    def _times(self, weight: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weights times margins, if the costs that they make are such as can be computed with."""
        name = type(self).__name__
        with np.errstate(over="ignore"):
            alone, costs = float(self.C) * weight, float(self.C) * weight * wanted
        used = weight > 0.0
        check_costs(alone[used], name)  # what is so without margins is said as without
        try:
            check_costs(costs[used], name)
        except DataError:
            raise DataError(
                f"{name}: margin times C and the weight of its row goes from {costs[used].min():.3g} to "
                f"{costs.max():.3g}: too far to compute with; give margins nearer to 1"
            ) from None
        return weight * wanted

    def _for_all(self, solvers: Iterable[Any]) -> tuple[MulticlassSVM, str]:
        """A copy that is the same problem for each of these solvers, and what to say about it."""
        asked = self.fit_intercept and self.penalize_intercept is None
        if not asked or all(_by_rows(solver) for solver in solvers):
            return self, ""
        same = clone(self).set_params(penalize_intercept=True)
        return same, "the intercepts are penalised: not all of these solvers have free ones"

    def _warm_rows(self) -> _Rows | None:
        """Where the last fit ended; given away, for it is large."""
        kind, before = self.__dict__.pop("_warm", ("", None))
        return before if kind == "rows" and self.warm_start else None

    def _solver_names(self) -> list[str]:
        return [*super()._solver_names(), *(name for name in solvers_by_rows() if name != "auto")]

    def _structured_solver(self) -> Any:
        known = solvers_by_rows()

        def make(name: str) -> Any:
            return known[name] if name in known else by_name(name)

        return choose_solver(self, make, "structured machines", own=True)

    def _fit_rows(
        self,
        X: Any,
        number: NDArray[np.int64],
        costs: NDArray[np.float64],
        weight: NDArray[np.float64],
        solver: Any,
        warm: WarmStart | None,
        multipliers: NDArray[np.float64] | None,
        as_given: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    ) -> tuple[Result, float, tuple[NDArray[np.float64], NDArray[np.float64]] | None]:
        """Solvers that need no structure: the dual has a simplex for each row.

        Also the objective of weights of 0, and the dual variables and multipliers for a warm start. Callbacks are told
        weights ``as_given``.
        """
        from .solvers.linear.crammer_singer import MulticlassTask
        from .solvers.linear.multiclass_free import objective_at_zero

        rng = np.random.default_rng(self._seed())
        task = MulticlassTask(
            Rows(X), number, costs, float(self.C), weight, float(self.tol), rng, name=type(self).__name__,
            free=self._free, warm=warm, multipliers=multipliers,
        )  # fmt: skip
        if warm is not None and warm.beta is None:
            warm.beta = task.near(warm.w)

        def run(callback: Any, **limits: Any) -> Result:
            told = None if callback is None else lambda record, w: callback(record, as_given(w))
            return run_to_tolerance(task, solver, callback=told, **limits)

        result = self._watched(run)
        at_zero = inner(task.c, costs.max(1)[number])
        # weights near the optimum are as near to 0 as this where 0 is near it too
        if self._free and task.penalty(result.w) <= 4.0 * float(self.tol) * at_zero:
            at_zero = objective_at_zero(task)
        return result, at_zero, task.last if self.warm_start else None

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
        self.classes_ = classes
        self._set_weights(result.w, len(classes), constant)
        if self._free:
            self.intercept_ -= self.intercept_.mean()
        self.solver_reason_ = result.reason
        self._finish(result)

    def _set_weights(self, w: NDArray[np.float64], n_classes: int, constant: float) -> None:
        W = w.reshape(-1, n_classes)
        self.coef_ = (W[:-1] if constant else W).T  # in the order that products with sparse rows take without a copy
        self.intercept_ = W[-1] * constant if constant else np.zeros(n_classes)

    def _constant(self, X: Any, weight: NDArray[np.float64] | None) -> float:
        """Value of the constant feature, 0 for none.

        With free intercepts it makes no difference but to the speed of coordinate ascent, and is a power of 2: then the
        order of a sum makes none at all.
        """
        if not self.fit_intercept:
            return 0.0
        if not self._free:
            return float(self.intercept_scaling)

        check_magnitude(X.data if sp.issparse(X) else X)
        with np.errstate(over="ignore", invalid="ignore"):  # weights that large are refused where C is known
            square = float(np.average(Rows(X).squared_norms, weights=weight))
        return 2.0 ** round(0.5 * math.log2(_CONSTANT * square)) if square > 0.0 else 1.0

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores of shape (n, n_classes); for two classes the difference second minus first, of shape (n,)."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self, "coef_")
        X = checked_rows(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return checked_scores(self, lambda: X @ self.coef_.T + self.intercept_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Class with the highest score, of shape (n,); the first in ``classes_`` on ties."""
        decision = self.decision_function(X)
        best = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(1)
        predicted: NDArray[Any] = self.classes_[best]
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
        classes = classes_in(parts["classes"])
        coef, intercept = (np.ascontiguousarray(parts[name], np.float64) for name in ("coef", "intercept"))
        if coef.ndim != 2 or len(coef) != len(classes) or intercept.shape != (len(classes),):
            raise ValueError(f"weights of shapes {coef.shape} and {intercept.shape} for {len(classes)} classes")
        self._take_feature_names(parts["feature_names"], coef.shape[1])
        self.solver_reason_ = str(parts.get("solver_reason", "asked for"))
        self.classes_, self.coef_, self.intercept_, self.n_features_in_ = classes, coef, intercept, coef.shape[1]


def solvers_by_rows() -> dict[str, Any]:
    """The solvers that are for this machine alone."""
    from .solvers.linear.automatic import Automatic
    from .solvers.linear.crammer_singer import CrammerSinger
    from .solvers.linear.multiclass_block_ascent import MulticlassBlockAscent
    from .solvers.linear.multiclass_interior_point import MulticlassInteriorPoint

    return {
        "auto": Automatic(), "coordinate_ascent": CrammerSinger(), "interior_point": MulticlassInteriorPoint(),
        "block_ascent": MulticlassBlockAscent(),
    }  # fmt: skip


def _by_rows(solver: Any) -> bool:
    """Whether a solver, by its name or as an object, is one of those."""
    known = solvers_by_rows()
    return solver in known if isinstance(solver, str) else isinstance(solver, tuple(map(type, known.values())))


class _Rows(NamedTuple):
    """Where a fit by rows ended: dual variables of all rows, 0 for absent ones, multipliers, classes, solver, shift."""

    a: NDArray[np.float64]
    biases: NDArray[np.float64]
    number: NDArray[np.int64]
    solver: str
    shift: NDArray[np.float64] | None

    @classmethod
    def of(
        cls,
        a: NDArray[np.float64],
        biases: NDArray[np.float64],
        constant: float,
        number: NDArray[np.int64],
        order: NDArray[np.int64],
        solver: str,
        shift: NDArray[np.float64] | None,
    ) -> _Rows:
        """Of the rows of this order less the shift, with this value of the constant feature."""
        every = np.zeros((len(number), a.shape[1]))
        every[order] = a
        return cls(every, biases * constant, number, solver, shift)

    def biases_at(self, shift: NDArray[np.float64] | None, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """The multipliers for rows less another shift."""
        return self.biases + coef @ (_or_zero(shift, coef) - _or_zero(self.shift, coef))

    def start(self, w: NDArray[np.float64], number: NDArray[np.int64], order: NDArray[np.int64]) -> WarmStart:
        """A start from there, and from weights; a row that has another class now begins anew."""
        same = (self.number == number)[order, None]
        return WarmStart(w, beta=np.where(same, self.a[order], 0.0), solver=self.solver)


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
        try:
            check_magnitude(out.data if sp.issparse(out) else out)
        except DataError:
            raise DataError(
                f"rows divided by their margin (the least is {part.min():.3g}) are too large to compute with; give "
                "larger margins, or scale the features down"
            ) from None
        return out

    return rows_of(X, change=change)  # which goes through mapped rows from the first to the last


def _or_zero(shift: NDArray[np.float64] | None, coef: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.zeros(coef.shape[1]) if shift is None else shift


def _moved(
    coef: NDArray[np.float64], intercept: NDArray[np.float64], shift: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Intercepts for rows less a shift."""
    if shift is None:
        return intercept
    return np.array([moved_by(shift, w, float(b)) for w, b in zip(coef, intercept, strict=True)])


def _as_given(
    w: NDArray[np.float64],
    n_classes: int,
    constant: float,
    shift: NDArray[np.float64] | None,
    mirror: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Weights for the rows as they were given, of those for rows less a shift, or in a mirror."""
    if shift is None and mirror is None:
        return w
    W = w.reshape(-1, n_classes).copy()
    if mirror is not None:
        W[: len(mirror)] = in_mirror(mirror, W[: len(mirror)].T).T
    if shift is not None:
        W[-1] = _moved(W[:-1].T, W[-1] * constant, -shift) / constant
    return W.ravel()


def _joined(coef: NDArray[np.float64], intercept: NDArray[np.float64], constant: float) -> NDArray[np.float64]:
    """The weights as the solver lays them out."""
    W = coef.T
    if constant:
        W = np.vstack([W, intercept[None] / constant])
    return np.ascontiguousarray(W).ravel()
