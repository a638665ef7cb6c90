"""Support vector classification with a free intercept, for two classes or more, linear or with a kernel."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit, softmax
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ._checked_rows import checked_rows
from ._class_labels import Classifier, ClassLabels, classes_in, classes_part
from ._estimator import undone_if_failed, warn_caller
from ._kernel_machine import (
    KernelMachine,
    bounded_together,
    canonical,
    coefficients,
    dual_of,
    nu_for_classes,
    points_of,
)
from ._machine import as_begun, check_margin, check_switches, held_back, left_out
from ._notes import HardMargin, says_why_nothing, tell_apart_by_nu, tell_hard_margin
from ._partial_fit import Streams, can_stream, class_piece, for_streams, stream_loss
from ._products import weighted_sums
from ._warm import EncodedClasses, End, Ends
from .data._mapped_rows import rows_of
from .losses import MARGIN_LOSSES, Hinge, Logistic, MarginLoss, margin_loss
from .problem import Certificate
from .solvers.base import WarmStart
from .solvers.kernel.block_smo import float32_rounding
from .solvers.kernel.row_cache import KernelValues
from .solvers.kernel.task import KernelTask
from .solvers.linear.folding import Folded, fold, near_origin
from .solvers.linear.rows import Rows
from .solvers.loop import Result
from .status import Status
from .terms import LossTerms, Terms, margin_terms

__all__ = ["SVMClassifier"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]


class _Form(NamedTuple):
    """What was fitted, and scores mean: the parameters may have been set to others since.

    Attributes
    ----------
    multi_class : {"ovr", "ovo"}
    loss : str
        Name of one of the library's losses, or nothing.
    intercept : {"free", "penalized", "none"}
    """

    multi_class: str
    loss: str
    intercept: Literal["free", "penalized", "none"]


def _has_probabilities(model: SVMClassifier) -> bool:
    """Scores are log odds with the logistic loss, unless they are votes.

    Raises
    ------
    AttributeError
        Says what else gives probabilities.
    """
    form: _Form | None = vars(model).get("_form")
    logistic = model.loss == "logistic" or isinstance(model.loss, Logistic) if form is None else form.loss == "logistic"
    if not logistic:
        raise AttributeError(
            f"predict_proba needs {'' if form is None else 'a fit with '}loss='logistic'; or wrap the model in "
            "CalibratedClassifierCV"
        )
    multi_class = model.multi_class if form is None else form.multi_class
    if not (multi_class == "ovr" or len(getattr(model, "classes_", ())) == 2):
        raise AttributeError("predict_proba needs multi_class='ovr'; or wrap the model in CalibratedClassifierCV")
    return True


_TOGETHER = ("crammer_singer", "crammer-singer")  # the names that others have for it


def _signs_of_pairs(n_classes: int) -> Any:
    """1 where a pair has the class as its first, -1 where as its second; CSR of shape ``(n_pairs, n_classes)``."""
    pairs = np.column_stack(np.triu_indices(n_classes, 1))
    ends = np.arange(0, pairs.size + 1, 2)
    return sp.csr_matrix((np.tile([1.0, -1.0], len(pairs)), pairs.ravel(), ends), (len(pairs), n_classes))


class SVMClassifier(Classifier, KernelMachine):
    """Support vector classifier with a certificate.

    Two classes: minimises ``1/2 |w|^2 + C sum_i s_i (m_i - y_i (<w, x_i> + b))_+`` (or the square of the bracket),
    with ``y_i`` plus 1 for the second class. More classes: one such problem for each class against the rest, or for
    each pair; the certificate is that of their sum. With a kernel ``k`` the score is
    ``sum_j beta_j k(x_j, x) + b`` and ``|w|^2`` is ``sum_ij beta_i beta_j k(x_i, x_j)``.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the slacks; ``C = 1 / (lambda n)`` gives the lambda form.
    kernel : {"linear", "poly", "rbf", "sigmoid", "cosine", "precomputed"} or callable, default="linear"
        See :mod:`maxmargin.kernels`; a callable takes two matrices of rows and returns all values between them.
    gamma : float, "scale" or "auto", default="scale"
        Of the poly, rbf and sigmoid kernels; ``"scale"`` is ``1 / (n_features * X.var())``, ``"auto"`` is
        ``1 / n_features``.
    coef0 : float, default=0.0
        Of the poly and sigmoid kernels.
    degree : int, default=3
        Of the poly kernel.
    nu : float in (0, 1], optional
        Instead of ``C``, which is not used then: a bound of the share of margin errors from above and of support
        vectors from below (Schoelkopf, Smola, Williamson, Bartlett 2000). The certificate is that of
        ``1/2 |w|^2 + sum_i s_i (rho - y_i f_i)_+ - nu rho sum_i s_i``; the coefficients are divided by ``rho``.
    loss : {"hinge", "squared_hinge", "logistic", "exponential"} or MarginLoss, default="hinge"
        In the place of the bracket, see :mod:`maxmargin.losses`; the logistic one is that of logistic regression.
    multi_class : {"ovr", "ovo"}, default="ovr"
        One problem for each class against the rest, or one for each pair of classes. (One problem for all classes
        at once: :class:`~maxmargin.MulticlassSVM`.)
    fit_intercept : bool, default=True
        Learn an intercept ``b``; it is not penalised.
    penalize_intercept : bool, default=False
        Treat the intercept as the weight of a constant feature 1, as LIBLINEAR does with ``-B 1``.
    class_weight : dict, "balanced" or None, default=None
        Factors on ``C`` for the rows of each class; one of factor 0 is absent, as if its rows had weight 0.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_passes : int, default=10000
        Passes over the data (iterations of the interior point method count as one each).
    max_time : float, optional
        Seconds of solving, for each of the problems: those in which code is compiled, at the first fit after an
        installation, do not count.
    solver : {"auto", "coordinate_ascent", "interior_point", "newton", "block_smo"} or solver object, default="auto"
        ``"auto"`` begins with coordinate ascent and goes over to the interior point method where that is shorter, as
        on unscaled features or for a large ``C``; with a kernel it is block SMO, which is for kernels only. Losses
        other than the hinge and its square are for Newton's method, or for ``"bundle"`` where they have kinks.
        ``"active_set"`` is for some hundred rows with either of these two losses and features of similar scales
        (:mod:`maxmargin.solvers.linear.active_set`; each change of a row's part counts as a pass);
        ``"auto"`` takes it after a fit with another ``C``, on a path or by ``warm_start``, where few rows change their
        part. ``"block_ascent"`` is for the same two losses and thousands of features, where many rows are nearly equal
        or ``C`` is large (:mod:`maxmargin.solvers.linear.block_ascent`); ``"auto"`` gives it turns there.
        ``"bundle"``, ``"one_slack"`` (cutting planes, without a search for better ones), ``"gradient_descent"``,
        ``"subgradient"`` and ``"pegasos"`` are for linear machines with any loss (:mod:`maxmargin.solvers.bundle`,
        :mod:`maxmargin.solvers.subgradient`), ``"projected_gradient"`` is for the hinge and its square, linear or not,
        and ``"perceptron"`` and ``"averaged_perceptron"`` look for any hyperplane that separates two classes
        (:mod:`maxmargin.solvers`).
        ``solver_`` and ``solver_reason_`` say what was chosen and why.
    cache_mb : float, default=500.0
        Bound of the memory for kernel values, in millions of bytes.
    random_state : int or RandomState, optional
        Order of the visits.
    verbose : int, default=0
        1 shows progress, 2 every pass.
    warm_start : bool, default=False
        Begin where the last :meth:`fit` ended, if that had ``warm_start=True`` too; this saves time where ``C``, the
        weights or the classes of a few rows have changed, and the answer is as exact as any, or no worse than the start
        where it ends early. Problems that a stopped or interrupted fit does not come to keep what the last one found.
        Problems are the same where their classes are (of two classes in all, any two). They begin from nothing after a
        fit with other features, with or without an intercept where it is now the other way, or with another kernel
        (not merely other parameters of it), and in a model that comes from a pickle or a file. After one with another
        number of rows they begin from nothing with a kernel or ``nu``; linear ones begin with the weights alone, which
        saves little time, but the answer is no worse than they are. It takes as much memory as a row of ``n`` numbers
        for each problem. (Many values of ``C``: :func:`~maxmargin.svm_path`.)
    callback : callable, optional
        ``callback(record, w)`` after every pass, or step of several; a true answer stops the fit,
        all problems of it. As after Ctrl-C, those that it did not come to have weights of 0, or with ``warm_start``
        those of the fit before; ``notes_`` say how many.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    coef_ : array of shape (1, n_features), or (n_problems, n_features)
        With ``kernel="linear"`` only.
    support_, dual_coef_ : arrays of shapes (n_support,) and (n_problems, n_support)
        Rows that the scores depend on and their signed coefficients; of equal rows in small sets one. For
        ``kernel="linear"`` without ``nu`` they are the dual point of the certificate: ``dual_coef_ @ X[support_]`` is
        ``coef_`` up to ``dual_residual_``; a model file does not keep them. Of pairs of three classes or more
        ``dual_coef_``, mostly zeros, is made each time it is asked for.
    dual_residual_ : array of shape (n_problems,)
        For ``kernel="linear"`` without ``nu``: ``|w - sum_j beta_j x_j|``, 0 where the weights are those of the dual
        point. Where a solver found better ones, it is at most the root of twice the gap.
    support_vectors_ : array or CSR matrix of shape (n_support, n_features)
        With a kernel or ``nu``.
    n_support_ : int64 array of shape (n_classes,)
        How many of them each class has.
    kernel_ : Kernel
        With its parameters resolved.
    intercept_ : array of shape (1,) or (n_problems,)
    certificate_ : Certificate
    notes_ : tuple of str
        What there is to say about the data, a line each: features of very unlike scales, features without effect, equal
        rows in different classes, weights that may as well be 0, a hard margin, problems that a stopped or interrupted
        fit did not come to. Most often there is nothing.
    history_ : list of Record
        Of the hardest problem.
    solver_, solver_reason_ : str
        The algorithm, and why it was taken.
    n_iter_ : int
        Passes over the data.
    n_mistakes_ : int64 array of shape (n_problems,)
        Steps of a perceptron; with no other solver.
    n_samples_seen_ : int
        Rows of positive weight, after :meth:`partial_fit`.

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
    n_support_: NDArray[np.int64]
    _form: _Form

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: Any = "linear",
        gamma: float | str = "scale",
        coef0: float = 0.0,
        degree: int = 3,
        nu: float | None = None,
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
        warm_start: bool = False,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.nu = nu
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
        self.warm_start = warm_start
        self.callback = callback

    @undone_if_failed
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
            Classes of any hashable type: they come back as given. Text and numbers are not to be mixed; labels that
            compare equal are one class.
        sample_weight : array of shape (n,), optional
            Factors ``s_i`` on the slacks; 0 leaves a row out, negative ones are refused.
        margin : array of shape (n,), optional
            Wanted margins ``m_i`` (1 by default), between 1e-50 and 1e50; refused with ``nu``, and with the losses
            that know no margin, ``"logistic"`` and ``"exponential"``.

        Raises
        ------
        ValueError
            For invalid parameters or data (one class, NaN, wrong shapes): says which and where.
        KeyboardInterrupt
            After Ctrl-C, with the best model so far already stored.
        """
        solver = self._check_machine()
        data = self._encoded(X, y, sample_weight, margin)
        ends = self._ends(data.n, by_kernel=self._by_kernel)
        results, changes = self._fit_all(data, solver, ends)
        self._keep_ends(ends)
        self._keep_notes(self._notes(data, results, changes))
        self._take_over(results)
        return self

    def _notes(self, data: EncodedClasses, results: list[Result], changes: list[HardMargin | None]) -> list[str]:
        """What there is to say after a fit, of the data and of the answers."""
        notes = self._notes_on(data.X, data) + self._notes_on_classes(data) + data.notes
        together = self.__dict__.pop("_together", None)
        if together and not says_why_nothing(notes):
            notes.append(together)
        notes += self._notes_on_zero(self._zeros(data, results), "tell the classes apart", notes)
        return notes + tell_hard_margin(changes)

    def _encoded(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, margin: ArrayLike | None = None
    ) -> EncodedClasses:
        """Check the data and what they need of the parameters; see :meth:`fit`. ``classes_`` are known from then on."""
        check_switches(self)
        loss = margin_loss(self.loss)
        self._check_multi_class()
        if self.nu is not None and (not isinstance(loss, Hinge) or margin is not None):
            raise ValueError("SVMClassifier: nu is for the hinge loss without wanted margins")
        labels = ClassLabels(y, self.class_weight)
        X, checked = checked_rows(self, X, labels.y, accept_sparse="csr", dtype=[np.float64, np.float32])
        classes = labels.of_rows(checked, sample_weight, "SVMClassifier")
        n = len(checked)
        wanted = check_margin(margin, n)
        X, order, counts = self._counted(X, classes.groups(wanted), classes.weight)
        number = classes.number[order]
        with np.errstate(over="ignore"):  # refused where C is known
            weight = counts if classes.factors is None else counts * classes.factors[number]
        wanted = None if wanted is None else wanted[order]
        self.classes_ = classes.names
        return EncodedClasses(
            X=X, order=order, counts=counts, weight=weight, n=n, free=self._intercept == "free", number=number,
            wanted=wanted, notes=classes.notes,
        )  # fmt: skip

    def _check_multi_class(self) -> None:
        if self.multi_class not in ("ovr", "ovo"):
            other = "; the machine of Crammer and Singer is MulticlassSVM" if self.multi_class in _TOGETHER else ""
            raise ValueError(f"multi_class must be 'ovr' or 'ovo', not {self.multi_class!r}{other}")

    @property
    def _fit_all(self) -> Callable[[EncodedClasses, Any, Ends], tuple[list[Result], list[HardMargin | None]]]:
        """Gives the answers of all problems for a solver, and for each what :meth:`_hard_margin` says."""
        return self._fit_all_by_kernel if self._by_kernel else self._fit_all_linear

    @for_streams(can_stream)
    @undone_if_failed
    def partial_fit(
        self, X: Any, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> SVMClassifier:
        """Learn from the next piece of a stream, visiting each row once, in the order given; for ``kernel="linear"``.

        After ``n`` rows in all, of any number of calls, the objective is that of :meth:`fit` for these rows with the
        same ``C``; in random order the weights come near its minimum as fast as ``1 / sqrt(n)`` at least, see
        :mod:`maxmargin.solvers.linear.stream`. There is no ``certificate_``: it would need the rows that are gone. A
        :meth:`fit` before is forgotten, and a later one forgets the stream. ``solver`` must be ``"auto"`` or
        ``"subgradient"``; ``tol``, the limits, ``warm_start``, ``verbose`` and ``callback`` play no part. A model file
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
        SVMClassifier
            This estimator, with ``coef_``, ``intercept_``, ``classes_`` and ``n_samples_seen_``.

        Raises
        ------
        ValueError
            For invalid parameters or data, and for parameters changed between two calls.
        RuledOutError
            With a kernel or ``nu``, another solver, losses other than hinge, squared hinge, logistic and perceptron,
            and ``class_weight="balanced"``: there is no such method then.
        KeyboardInterrupt
            After Ctrl-C, when the piece has been used in part; ``n_samples_seen_`` counts the rows that at least one
            two-class problem has seen.
        """
        self._check_parameters()
        check_switches(self)
        loss = stream_loss(self.loss)
        self._check_multi_class()
        streams, X, number, weight = class_piece(self, X, y, classes, sample_weight)
        problems = list(self._problems(number))
        if streams is None:
            streams = Streams.of_rows(self, len(problems))
        before = [stream.seen for stream in streams.each]

        def taken() -> int:
            """Rows that at least one of the problems has seen."""
            seen = np.zeros(len(number), np.bool_)
            for stream, earlier, (part, _, _) in zip(streams.each, before, problems, strict=True):
                seen[slice(stream.seen - earlier) if part is None else part[: stream.seen - earlier]] = True
            return int(seen.sum())

        with streams.piece(self, len(number), taken):
            for stream, (part, sign, _) in zip(streams.each, problems, strict=True):
                if len(sign):
                    s, rows = (weight, X) if part is None else (weight[part], rows_of(X, part))
                    stream.take(Rows(rows), margin_terms(loss, sign, s), s)
        return self

    def _take_weights(self, streams: Streams) -> None:
        """Those of the streams."""
        self.coef_, self.intercept_ = streams.weights()
        self._form = self._form_asked

    @property
    def _form_asked(self) -> _Form:
        """What the parameters state."""
        loss = margin_loss(self.loss)
        known = (name for name, each in MARGIN_LOSSES.items() if isinstance(loss, type(each)))
        return _Form(self.multi_class, next(known, ""), self._intercept)

    @property
    def _form_fitted(self) -> _Form:
        """What was fitted; of models of earlier versions what the parameters state."""
        return vars(self).get("_form") or self._form_asked

    def _fit_all_linear(
        self, data: EncodedClasses, solver: Any, ends: Ends
    ) -> tuple[list[Result], list[HardMargin | None]]:
        X, order, weight, wanted, number = data.X, data.order, data.weight, data.wanted, data.number
        d = X.shape[1]
        n_weights = d + bool(self.fit_intercept)
        problems, keys = list(self._problems(number)), self._keys()
        coef, intercept = np.zeros((len(problems), d)), np.zeros(len(problems))
        results: list[Result] = []
        duals: list[tuple[Ints, Reals, float]] = []
        changes: list[HardMargin | None] = []

        def posed(part: Ints | None, sign: Reals) -> tuple[Terms | LossTerms, Reals]:
            s, m = (weight, wanted) if part is None else (weight[part], None if wanted is None else wanted[part])
            return margin_terms(margin_loss(self.loss), sign, self._costs(s), m), s

        with held_back(results):
            for k, (part, sign, _) in enumerate(problems):
                if part is None:
                    folded, places = data.folded, order
                else:
                    folded, places = fold(Rows(rows_of(X, part)), free=data.free), order[part]
                terms, s = posed(part, sign)
                known = ends.known_start() if part is None else None
                warm = ends.start(places, n_weights, keys[k]) if known is None else None
                task = self._linear_task(folded, terms, s, signs=True, warm=warm, known=known)
                result = self._fit_linear(folded, task, solver)
                folded.original(result.w, coef[k])
                own = folded.intercept(result.w)
                intercept[k] = own.sum()  # of one, or none
                if ends.same and part is None:
                    ends.known.append(End.of(result, folded, known))
                else:
                    ends.keep(places, (coef[k], own), result.dual_point.beta, result.certificate, keys[k])
                changes.append(self._hard_margin(result))
                duals.append(dual_of(result, folded.rows.shape[1], part))
                result.release()
                results.append(result)
                if result.ended:
                    break
        done = len(results)
        coef[done:], intercept[done:] = 0.0, 0.0  # Ctrl-C may have come before the last of these was taken
        del changes[done:], duals[done:], ends.known[done:]
        for k, (part, sign, _) in enumerate(problems[done:], done):
            terms, s = posed(part, sign)
            begun = self._linear_as_begun(data, part, terms, s, ends, keys[k], results[done - 1])
            if begun is None:
                results.append(left_out(terms, s, n_weights, results[done - 1]))
                duals.append((np.empty(0, np.int64), np.empty(0), 0.0))
            else:
                folded, result = begun
                folded.original(result.w, coef[k])
                intercept[k] = folded.intercept(result.w).sum()
                results.append(result)
                duals.append(dual_of(result, folded.rows.shape[1], part))
            changes.append(None)
        support = self._keep_dual(order, duals, sparse=len(self.classes_) > 2 and self.multi_class == "ovo")
        self.n_support_ = np.bincount(number[support], minlength=len(self.classes_))
        self.coef_, self.intercept_, self._form = coef, intercept, self._form_asked
        return results, changes

    def _linear_as_begun(
        self,
        data: EncodedClasses,
        part: Ints | None,
        terms: Terms | LossTerms,
        weight: Reals,
        ends: Ends,
        key: Hashable,
        last: Result,
    ) -> tuple[Folded, Result] | None:
        """The answer to a problem that is not reached, and its rows, where an earlier fit left one."""
        X, places = (data.X, data.order) if part is None else (rows_of(data.X, part), data.order[part])
        d = X.shape[1]
        known = ends.known_start() if part is None else None
        warm = ends.start(places, d + bool(self.fit_intercept), key) if known is None else None
        if known is not None:
            folded = data.folded
            ends.known.append(known)
        elif warm is not None:
            # sparse rows are not folded: weights of features that are in no row now are kept as well
            folded = near_origin(Rows(X)) if data.free else Folded(Rows(X), d)
            beta = np.zeros(len(places)) if warm.beta is None else warm.beta
            ends.keep(places, (warm.w,), beta, warm, key)
        else:
            return None
        return folded, as_begun(self._linear_task(folded, terms, weight, signs=True, warm=warm, known=known), last)

    def _fit_all_by_kernel(
        self, data: EncodedClasses, solver: Any, ends: Ends
    ) -> tuple[list[Result], list[HardMargin | None]]:
        X, order, weight, number = data.X, data.order, data.weight, data.number
        if data.kernel is None:
            data.kernel = self._make_kernel(X, data.counts)
        kernel = data.kernel
        data.values.keep = data.values.keep or (len(self.classes_) > 2 and self.multi_class == "ovr")
        problems, keys = list(self._problems(number)), [(kernel.name, key) for key in self._keys()]
        nothing = np.empty(0, np.int64), np.empty(0)
        duals, intercept = [nothing] * len(problems), np.zeros(len(problems))
        results: list[Result] = []
        changes: list[HardMargin | None] = []
        together: list[str] = []
        nu = self.nu is not None
        # of all points: for each pair of classes anew it had taken a sixth of the time of small pairs (measured)
        rounding = None if problems[0][0] is None else float32_rounding(kernel, X, data.values)

        def posed(k: int) -> KernelTask:
            part, sign, what = problems[k]
            rows = np.arange(len(order)) if part is None else part
            terms, totals, group = self._posed_by_kernel(data, rows, sign, what)
            return self._kernel_task(
                kernel, X if part is None else points_of(kernel, X, rows), terms, weight[rows],
                C=1.0 if nu else float(self.C), signs=not nu, totals=totals, group=group,
                warm=ends.start(order[rows], len(totals), keys[k]),
                values=data.values if part is None and not nu else KernelValues(rounding=rounding),
            )  # fmt: skip

        def take(k: int, result: Result, by: Certificate | WarmStart) -> None:
            """Coefficients and thresholds of a problem, for scores and for the next fit."""
            rows = np.arange(len(order)) if problems[k][0] is None else problems[k][0]
            assert rows is not None
            found, thresholds = result.w[: len(rows)], result.w[len(rows) :]
            run: Any = result._run
            products = run.task.products if problems[k][0] is None and run is not None else None
            ends.keep(order[rows], (thresholds,), found, by, keys[k], products)
            if self.nu is None:
                duals[k], intercept[k] = coefficients(found, rows), self._intercept_of(found, thresholds)
            else:
                status = result.certificate.status
                beta, intercept[k], apart = canonical(found, thresholds, zero=status is Status.ZERO_OPTIMUM)
                duals[k] = coefficients(beta, rows)
                if not apart and status is not Status.INTERRUPTED:  # which says nothing about the classes
                    together.append(problems[k][2])

        with held_back(results):
            for k in range(len(problems)):
                result = self._fit_kernel(posed(k), solver)
                take(k, result, result.certificate)
                changes.append(self._hard_margin(result))
                result.release()
                results.append(result)
                if result.ended:
                    break
        done = len(results)
        duals[done:], intercept[done:] = [nothing] * (len(problems) - done), 0.0
        del changes[done:]
        for k in range(done, len(problems)):
            task, last = posed(k), results[done - 1]
            if task.warm is None:
                bounded = kernel.definite and not nu
                results.append(left_out(task.terms, task.weight, task.n_weights, last, bounded=bounded))
            else:
                results.append(as_begun(task, last))
                take(k, results[k], task.warm)
            changes.append(None)
        bounded_together(results)
        if together:
            assert self.nu is not None
            self._together = tell_apart_by_nu(float(self.nu), together)
            warn_caller(self._together, UserWarning)
        self.intercept_, self._form = intercept, self._form_asked
        sparse = len(self.classes_) > 2 and self.multi_class == "ovo"
        support = self._keep_support(kernel, X, order, duals, sparse=sparse)  # coef_ too, of a linear kernel
        self.n_support_ = np.bincount(number[support], minlength=len(self.classes_))
        return results, changes

    def _posed_by_kernel(
        self, data: EncodedClasses, rows: Ints, sign: Reals, what: str
    ) -> tuple[Terms | LossTerms, Reals, Ints | None]:
        """Terms, totals and groups of one problem; ``what`` it is in messages."""
        s = data.weight[rows]
        if self.nu is not None:
            return nu_for_classes(sign, s, float(self.nu), what)
        m = None if data.wanted is None else data.wanted[rows]
        terms = margin_terms(margin_loss(self.loss), sign, self._costs(s), m)
        return terms, np.zeros(int(self._intercept == "free")), None

    def _zeros(self, data: EncodedClasses, results: list[Result]) -> list[bool]:
        """For each problem whether weights of 0 are as good as any."""
        loss, c = margin_loss(self.loss), self._costs(data.weight)
        if data.wanted is None:  # where all scores are 0 rows differ by their signs alone
            sums = np.bincount(data.number, c, len(self.classes_)).astype(np.float64)
            signs = np.array([1.0, -1.0])
            terms = [margin_terms(loss, signs, np.array(pair)) for pair in self._pairs(sums)]
        else:
            terms = []
            for part, sign, _ in self._problems(data.number):
                rows = slice(None) if part is None else part
                terms.append(margin_terms(loss, sign, c[rows], data.wanted[rows]))
        return [self._zero_is_best(result.certificate, each) for each, result in zip(terms, results, strict=True)]

    def _pairs(self, sums: Reals) -> list[tuple[float, float]]:
        """Sums over the classes added up, for every two-class problem, over its rows of either sign."""
        if len(sums) == 2:
            return [(sums[1], sums[0])]
        if self.multi_class == "ovr":
            return [(sums[k], np.delete(sums, k).sum()) for k in range(len(sums))]
        return list(combinations(sums.tolist(), 2))

    def _problems(self, number: Ints) -> Iterator[tuple[Ints | None, Reals, str]]:
        """Rows (None: all) and signs of every two-class problem, and what it is in messages."""
        names = self.classes_.tolist()
        if len(names) == 2:
            yield None, np.where(number == 1, 1.0, -1.0), ""
        elif self.multi_class == "ovr":
            for k, name in enumerate(names):
                yield None, np.where(number == k, 1.0, -1.0), f" for {name!r} against the rest"
        else:
            for first, second in combinations(range(len(names)), 2):
                part = np.flatnonzero((number == first) | (number == second))
                what = f" for {names[first]!r} against {names[second]!r}"
                yield part, np.where(number[part] == first, 1.0, -1.0), what

    def _keys(self) -> list[Hashable]:
        """What tells one two-class problem from others, also in the next fit: its classes, whatever their numbers.

        Where there are two classes there is no other problem, and their names do not matter.
        """
        names = self.classes_.tolist()
        if len(names) == 2:
            return [()]
        if self.multi_class == "ovr":
            return [("rest", name) for name in names]
        return [("pair", *pair) for pair in combinations(names, 2)]

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores: of shape (n,) for two classes (positive: the second), else (n, n_classes).

        With ``multi_class="ovo"`` a class scores its wins over the others, and a part below one half of the sum of its
        margins, which decides between equal numbers of wins.
        """
        check_is_fitted(self, "intercept_")
        scores = self._scores(X) + self.intercept_
        if len(self.classes_) == 2:
            return np.asarray(scores[:, 0])
        return scores if self._form_fitted.multi_class == "ovr" else self._votes(scores)

    def _votes(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        signs = _signs_of_pairs(len(self.classes_))
        margins = weighted_sums(scores, signs)
        # a pair that the first class does not win is the second one's: of class k, with as many classes before it
        wins = weighted_sums((scores > 0.0).astype(np.float64), signs) + np.arange(len(self.classes_))
        votes: NDArray[np.float64] = wins + margins / (3.0 * (np.abs(margins) + 1.0))
        return votes

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes, shape ``(n, n_classes)``; with ``loss="logistic"`` and no pairs of classes.

        Those of several classes are each class's own, divided by their sum.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.asarray(expit(np.column_stack([-scores, scores])))
        return np.asarray(softmax(log_expit(scores), axis=1))  # by logarithms: all may be too small for floats

    def predict(self, X: Any) -> NDArray[Any]:
        """Class with the highest score, of shape (n,); the first in ``classes_`` on ties."""
        best = self._predicted(X)  # first: it says so where there was no fit
        predicted: NDArray[Any] = self.classes_[best]
        return predicted

    def _predicted(self, X: Any) -> NDArray[np.intp]:
        """The numbers of the classes that are predicted."""
        decision = self.decision_function(X)
        return (decision > 0).astype(np.intp) if decision.ndim == 1 else decision.argmax(1)

    def _to_parts(self) -> dict[str, Any]:
        """What a model file keeps, beyond the parameters and the figures."""
        return self._score_parts() | {
            "classes": classes_part(self.classes_),
            "intercept": self.intercept_,
            "form": list(self._form_fitted),
            "n_support": self.n_support_ if hasattr(self, "kernel_") else None,
        }

    def _from_parts(self, parts: dict[str, Any]) -> None:
        """Take over what :meth:`_to_parts` gave; a ValueError says what does not fit."""
        classes, intercept = classes_in(parts["classes"]), np.ascontiguousarray(parts["intercept"], np.float64)
        k, form = len(classes), self._form_in(parts.get("form"))
        n_problems = 1 if k == 2 else k if form.multi_class == "ovr" else k * (k - 1) // 2
        if intercept.shape != (n_problems,):
            raise ValueError(f"intercepts of shape {intercept.shape} for {n_problems} problems")
        self._take_score_parts(parts, n_problems, sparse=n_problems > 1 and form.multi_class == "ovo")
        if parts["support"] is not None:
            counts = np.asarray(parts["n_support"])
            if counts.shape != (k,) or counts.dtype.kind not in "iu":
                raise ValueError(f"numbers of support vectors of shape {counts.shape} for {k} classes")
            self.n_support_ = counts.astype(np.int64)
        self.classes_, self.intercept_, self._form = classes, intercept, form

    def _form_in(self, part: Any) -> _Form:
        """What a model file says was fitted; files of earlier versions leave it to the parameters."""
        if part is None:
            return self._form_asked
        form = _Form(*part)
        known = ("ovr", "ovo"), ("", *MARGIN_LOSSES), ("free", "penalized", "none")
        if any(value not in values for value, values in zip(form, known, strict=True)):
            raise ValueError(f"a machine of the form {part!r:.80}")
        return form
