"""What the estimators with kernels share: kernels made from parameters, one problem, support vectors, scores."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ._checked_rows import checked_rows, checked_scores
from ._estimator import check_number, choose_solver, warn_caller
from ._machine import Machine, counted, takes_copies
from ._notes import (
    HardMargin,
    about_equal_rows,
    about_scales,
    below,
    hard_margin,
    says_why_nothing,
    tell_indefinite,
    tell_unproven,
    tell_zero,
    tell_zero_by_nu,
    tell_zero_kernel,
    tell_zero_of_perceptron,
    without_minimum,
    zero_is_best,
)
from ._warm import Encoded, EncodedClasses
from .errors import DataError, ModelFileError
from .kernels import Kernel, check_precomputed, check_symmetric, is_zero, make_kernel
from .losses import Exponential, Logistic, Perceptron
from .problem import Certificate
from .solvers.ball import Ball
from .solvers.base import WarmStart
from .solvers.kernel.automatic import KernelAutomatic
from .solvers.kernel.block_smo import BlockSMO
from .solvers.kernel.definiteness import check_bounded, spectrum_of
from .solvers.kernel.interior_point import KernelInteriorPoint
from .solvers.kernel.newton import KernelNewton
from .solvers.kernel.row_cache import KernelValues
from .solvers.kernel.task import KernelTask
from .solvers.linear.intercept import best_intercept
from .solvers.linear.rows import Rows, square
from .solvers.loop import Result, check_costs, run_to_tolerance
from .solvers.projected_gradient import ProjectedGradient
from .status import Status
from .terms import LossTerms, Terms, insensitive

__all__ = ["KernelMachine", "kernel_solvers"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]

_LARGEST = 1e50
_MANY, _HOPELESS = 20_000, 300_000  # rows
_WITH_BOUND = (Status.CONVERGED, Status.ZERO_OPTIMUM)


class KernelMachine(Machine):
    """Base of the estimators with one score for a row, linear in the features or in a kernel's.

    Attributes
    ----------
    support_ : int64 array of shape (n_support,)
        Rows of the training data that the scores depend on; of equal rows one. In small sets their order follows from
        their content, so that scores do not depend on the order of the data, not even by rounding.
    support_vectors_ : array or CSR matrix of shape (n_support, d)
        Those rows; without columns for a precomputed kernel.
    dual_coef_ : float64 array of shape (n_problems, n_support)
        Their coefficients. Of pairs of classes an array that is made each time it is asked for: the machine itself
        keeps them without the zeros.
    dual_residual_ : float64 array of shape (n_problems,)
        Of linear problems without ``nu``, see :class:`~maxmargin.SVMClassifier`.
    kernel_ : Kernel
        The kernel with its parameters resolved.
    """

    kernel: Any
    gamma: float | str
    coef0: float
    degree: int
    nu: float | None
    cache_mb: float

    kernel_: Kernel
    support_: Ints
    support_vectors_: Any
    dual_coef_: Reals
    dual_residual_: Reals
    _about_kernel: str
    _sparse_dual: Any  # CSR of shape (n_support, n_problems)
    coef_: Reals
    n_features_in_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._precomputed
        return tags

    @property
    def _precomputed(self) -> bool:
        """Whether the rows are kernel values."""
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _counted(self, X: Any, number: Ints, weight: Reals | None) -> tuple[Any, Ints, Reals]:
        """As :func:`~maxmargin._machine.counted`; of a precomputed kernel the values between the rows that count."""
        if self._precomputed:
            check_precomputed(X)
        elif callable(self.kernel):
            check_symmetric(self.kernel, X)
        X, order, weight = counted(X, number, weight, merge=not (self._precomputed or takes_copies(self.solver)))
        return X[:, order] if self._precomputed else X, order, weight

    @property
    def _by_kernel(self) -> bool:
        """Whether the problem is solved in terms of kernel values."""
        return not (isinstance(self.kernel, str) and self.kernel == "linear") or self.nu is not None

    def _check_machine(self) -> Any:
        if self.nu is not None:
            check_number(self, "nu", low=0.0, low_allowed=False)
            if float(self.nu) > 1.0:
                raise ValueError(f"{type(self).__name__}: nu must be at most 1, not {self.nu!r}")
            if self._intercept != "free":
                raise ValueError(f"{type(self).__name__}: nu needs an intercept that is free")
        if not self._by_kernel:
            return super()._check_machine()
        self._forget("_about_kernel")  # of a fit that failed
        self._check_parameters()
        check_number(self, "cache_mb", low=0.0, low_allowed=False)
        solvers = kernel_solvers(float(self.cache_mb))
        return choose_solver(self, solvers.__getitem__, f"kernel={self.kernel!r}" if self.nu is None else "nu")

    def _solver_names(self) -> list[str]:
        return list(kernel_solvers(float(self.cache_mb))) if self._by_kernel else super()._solver_names()

    def _costs(self, weight: Reals) -> Reals:
        c = super()._costs(weight)
        check_costs(c, type(self).__name__)  # before squared losses divide by them
        return c

    def _make_kernel(self, X: Any, weight: Reals) -> Kernel:
        """The kernel for these points, of which each counts as often as its weight says."""
        plus = 1.0 if self._intercept == "penalized" else 0.0
        if self._precomputed:  # checked where the rows were counted
            return Kernel("precomputed", plus=plus)
        kernel = make_kernel(
            self.kernel, X, gamma=self.gamma, coef0=self.coef0, degree=self.degree, weight=weight, plus=plus
        )
        if kernel.name in ("linear", "poly"):
            squares = X.multiply(X).sum(1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X, dtype=np.float64)
            largest = kernel.largest(float(np.asarray(squares).max()))
            if not largest <= _LARGEST:
                cure = "scale X down"
                if kernel.name == "poly":  # the constant alone, or the products
                    cure = f"coef0={kernel.coef0:g} and degree={kernel.degree} alone make them so: give smaller ones"
                    if kernel.largest(0.0) <= _LARGEST:
                        cure = f"scale X down, or give a smaller gamma ({kernel.gamma:.3g}) or degree ({kernel.degree})"
                raise DataError(
                    f"the {kernel.name} kernel has values of up to {largest:.3g}: too large to compute with (at most "
                    f"{_LARGEST:g}); {cure}"
                )
        if X.shape[0] >= _HOPELESS and (way_out := self._way_out()):
            warn_caller(
                f"{type(self).__name__}: with a kernel the time grows like the square of the number of rows, and "
                f"{X.shape[0]} of them can take hours. {way_out}; or say how long to try by max_time",
                UserWarning,
            )
        return kernel

    def _way_out(self) -> str:
        """What to do instead of an exact fit to very many rows, or nothing."""
        if isinstance(self.kernel, str) and self.kernel in ("linear", "precomputed"):
            return ""
        return (
            "An approximation takes minutes: make_pipeline(sklearn.kernel_approximation.Nystroem(...), "
            f"{type(self).__name__}(kernel='linear')), see docs/kernels.md"
        )

    def _advice(self, certificate: Certificate) -> str:
        advice = super()._advice(certificate)
        limit = certificate.status in (Status.PASS_LIMIT, Status.TIME_LIMIT)
        if not (limit and self._by_kernel and certificate.n_examples >= _MANY * self._dual.shape[1]):
            return advice
        way_out = self._way_out()
        return f"{advice} {way_out}." if way_out else advice

    def _fit_kernel(self, task: KernelTask, solver: Any) -> Result:
        check_bounded(task)

        def run(**limits: Any) -> Result:
            return self._honest(run_to_tolerance(task, solver, **limits), task)

        return self._watched(run)

    def _kernel_task(
        self,
        kernel: Kernel,
        X: Any,
        terms: Terms | LossTerms,
        weight: Reals,
        *,
        C: float,
        signs: bool,
        totals: Reals | None = None,
        group: Ints | None = None,
        warm: WarmStart | None = None,
        values: KernelValues | None = None,
    ) -> KernelTask:
        """One problem. Without ``totals`` there is a free intercept or none."""
        if not isinstance(terms, Terms) and not terms.smooth:
            raise DataError(
                f"{type(self).__name__}: with a kernel the loss has to be smooth, or the hinge; {terms.loss!r} has "
                "kinks: use kernel='linear', or smooth them and give the second derivative"
            )
        if totals is None:
            totals = np.zeros(1 if self._intercept == "free" else 0)
        if group is None:
            group = np.zeros(terms.sign.shape, np.int64)
        return KernelTask(
            kernel, X, terms, C, weight, totals, group, float(self.tol), name=type(self).__name__, signs=signs,
            warm=warm, values=KernelValues() if values is None else values,
        )  # fmt: skip

    def _honest(self, result: Result, task: KernelTask) -> Result:
        """Where the kernel is not positive semi-definite, the answer is a stationary point, and there is no bound."""
        if task.exact:
            return result
        spectrum = spectrum_of(task)
        if -spectrum.least > spectrum.slight(task.tol, float(task.c.max())):
            self._about_kernel = tell_indefinite(*spectrum)
            found = result.certificate
            status = Status.STATIONARY if found.status in _WITH_BOUND else found.status
            result.certificate = replace(found, dual=-math.inf, status=status)
            result.forget_bounds()
        elif spectrum.n_seen < task.n:
            self.__dict__.setdefault("_about_kernel", tell_unproven(task.n, spectrum.n_seen))
        return result

    def _keep_notes(self, notes: Iterable[str], told: set[str] | None = None) -> None:
        note = self.__dict__.pop("_about_kernel", "")
        super()._keep_notes([*notes, note] if note else notes, told)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """``dual_coef_`` of a machine that keeps its coefficients sparse: dense, read-only, made when asked for."""
            if name != "dual_coef_" or "_sparse_dual" not in vars(self):
                return super().__getattr__(name)
            dense = self._sparse_dual.T.toarray()
            dense.flags.writeable = False
            return dense

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(["dual_coef_"] if "_sparse_dual" in vars(self) else [])})

    @property
    def _dual(self) -> Any:
        """The coefficients of shape ``(n_support, n_problems)``, dense or CSR: as they are kept."""
        return self.dual_coef_.T if "dual_coef_" in vars(self) else self._sparse_dual

    def _keep_coefficients(self, order: Ints, duals: list[tuple[Ints, Reals]], *, sparse: bool) -> Ints:
        """Take over the coefficients of each problem and their places among the rows ``order`` of the data.

        Returns the places of the support vectors in ``order``.
        """
        used = np.zeros(len(order), np.bool_)
        for places, _ in duals:
            used[places] = True
        support, column = np.flatnonzero(used), np.cumsum(used) - 1
        self.support_ = order[support]
        self._forget("dual_coef_", "_sparse_dual")
        if sparse:
            ends = np.cumsum([0, *(len(places) for places, _ in duals)])
            columns, values = (np.concatenate(parts) for parts in zip(*duals, strict=True))
            shape = len(support), len(duals)
            self._sparse_dual = sp.csc_matrix((values, column[columns], ends), shape).tocsr()
        else:
            self.dual_coef_ = np.zeros((len(duals), len(support)))
            for row, (places, values) in zip(self.dual_coef_, duals, strict=True):
                row[column[places]] = values
        return support

    def _keep_support(
        self, kernel: Kernel, X: Any, order: Ints, duals: list[tuple[Ints, Reals]], *, sparse: bool = False
    ) -> Ints:
        """As :meth:`_keep_coefficients`, with the points ``X``."""
        used = self._keep_coefficients(order, duals, sparse=sparse)
        self.kernel_ = replace(kernel, plus=0.0)
        points = X[used]
        if kernel.name == "precomputed":
            points = np.empty((len(used), 0))
        self.support_vectors_ = points
        self._forget("coef_", "dual_residual_")
        if kernel.name == "linear":
            coef = (points.T @ self._dual).T
            self.coef_ = np.ascontiguousarray(coef.toarray() if sp.issparse(coef) else coef)
        return used

    def _keep_dual(self, order: Ints, duals: list[tuple[Ints, Reals, float]], *, sparse: bool = False) -> Ints:
        """Take over what :func:`dual_of` gave for linear problems over the rows ``order`` of the data.

        Returns the places of the support vectors in ``order``.
        """
        support = self._keep_coefficients(order, [(places, values) for places, values, _ in duals], sparse=sparse)
        self.dual_residual_ = np.array([residual for _, _, residual in duals])
        self._forget("support_vectors_", "kernel_")
        return support

    def _notes_on(self, X: Any, data: Encoded | None = None, *, shifts: bool = True, early: bool = False) -> list[str]:
        """Notes on the features; ``shifts`` says whether a free threshold makes up for a constant added to one.

        Of a fit that was interrupted ``early`` nothing is said about weights of 0, which may be where it began. Where
        the rows are those of ``data``, which several fits may share, each look at all of them is taken once.
        """
        nothing: list[str] = []
        if self._by_kernel:
            if is_zero(self.kernel_, X) if data is None else data.kernel_is_zero:
                nothing = [tell_zero_kernel()]
            elif self.nu is not None and not early and not len(self.support_):
                nothing = [tell_zero_by_nu(float(self.nu))]
        seen = None if data is None else data.extremes
        if not isinstance(self.kernel, str):
            return nothing if says_why_nothing(nothing) else about_equal_rows(X, seen=seen) or nothing
        if self.kernel == "precomputed":
            return nothing
        linear = self.kernel == "linear"
        shifts = self.kernel == "rbf" or (linear and shifts and self._intercept == "free")
        C = float(self.C) if linear and self.nu is None else None
        names = getattr(self, "feature_names_in_", None)
        notes = about_scales(X, names, shifts=shifts, C=C, kernel=self.kernel, seen=seen)
        if not says_why_nothing(notes):
            return notes + nothing
        return nothing if says_why_nothing(nothing) and not shifts else notes  # the kernel of 0 says more

    def _notes_on_classes(self, data: EncodedClasses) -> list[str]:
        """Notes on equal rows in different classes."""
        return [] if not isinstance(self.kernel, str) or self.kernel == "precomputed" else data.contradictions

    def _zero_is_best(self, certificate: Certificate, terms: Terms | LossTerms) -> bool:
        """Whether weights of 0 are as good as any for a problem with this certificate and these terms."""
        if self.nu is not None or not self._definite:
            return False
        scores = np.zeros(terms.n_rows)
        if self._intercept == "free":
            scores += best_intercept(terms, scores)
        return zero_is_best(certificate, float(terms.cost(scores).sum()), float(self.tol))

    def _notes_on_zero(self, zero: list[bool], what: str, notes: list[str]) -> list[str]:
        """Notes on problems whose weights are 0, beside those there are."""
        loss = getattr(self, "loss", None)
        some = self.coef_.any() if "coef_" in vars(self) else len(self.support_)
        if (loss == Perceptron.name or isinstance(loss, Perceptron)) and not some:
            return [tell_zero_of_perceptron()]
        return tell_zero(zero, what, notes, kernel=not (isinstance(self.kernel, str) and self.kernel == "linear"))

    @property
    def _definite(self) -> bool:
        """Whether lower bounds are surely such."""
        return not self._by_kernel or self.kernel_.definite

    def _hard_margin(self, result: Result) -> HardMargin | None:
        """See :func:`~maxmargin._notes.hard_margin`; of a problem with two classes."""
        assert result._run is not None
        task: Any = result._run.task
        terms = task.terms
        if self.nu is not None or isinstance(task, Ball) or not task.exact:
            return None
        total = float(task.weight.sum())
        if not isinstance(terms, Terms):
            falls_for_ever = isinstance(terms.loss, Logistic | Exponential)
            at_zero = float(terms.loss.value(np.zeros(1))[0])
            return (
                without_minimum(result.certificate, total, float(task.weight.min()), at_zero)
                if falls_for_ever
                else None
            )
        margin = terms.margin[:, 0]
        if terms.squared:
            least = float((task.weight * margin * margin).min())
            return hard_margin(result.certificate, total, least, float(self.tol), squared=True)
        beta = result.w[: task.n] if self._by_kernel else result.dual_point.beta
        if not below(beta, task.c):
            return None
        return hard_margin(result.certificate, total, float((task.weight * margin).min()), float(self.tol))

    def _intercept_of(self, beta: Reals, thresholds: Reals) -> float:
        """The intercept of one problem with weights ``[beta, thresholds]``."""
        if self._intercept == "penalized":  # the weight of the constant feature in the kernel
            return float(beta.sum())
        return float(thresholds[0]) if len(thresholds) else 0.0

    def _scores(self, X: Any) -> Reals:
        """Scores without intercept, of shape ``(n, n_problems)``.

        Raises
        ------
        DataError
            When the values of a precomputed kernel are not those between test and training points, or a row has values
        too large to compute with.
        """
        try:
            X = checked_rows(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        except ValueError as error:
            n = self.n_features_in_
            if "kernel_" in vars(self) and self.kernel_.name == "precomputed" and f"expecting {n} feat" in str(error):
                raise DataError(
                    f"{error} (of a precomputed kernel, rows are test points and columns the training points: "
                    f"expected shape {(X.shape[0], n)}, seen {tuple(X.shape)})"
                ) from None
            raise
        return checked_scores(self, lambda: self._scores_of(X))

    def _scores_of(self, X: Any) -> Reals:
        if "coef_" not in vars(self):
            return self._kernel_scores(X)
        coef = np.atleast_2d(self.coef_)
        if X.dtype == np.float32:  # a product of both types would copy the data
            rows = Rows(X)
            return np.column_stack([rows.scores(w) for w in coef])
        return np.asarray(X @ coef.T)

    def _kernel_scores(self, X: Any) -> Reals:
        points = self.support_vectors_
        if self.kernel_.name == "precomputed":
            X = X[:, self.support_]
        return self.kernel_.combined(X, points, self._dual)

    def _score_parts(self) -> dict[str, Any]:
        """What a model file keeps of the scores."""
        parts: dict[str, Any] = {
            "feature_names": self._feature_names(),
            "n_features": self.n_features_in_,
            "coef": getattr(self, "coef_", None),
            "solver_reason": self.solver_reason_,
            "support": None,
        }
        if "kernel_" not in vars(self):  # weights are enough
            return parts
        kernel, points = self.kernel_, self.support_vectors_
        if kernel.function is not None:
            raise ModelFileError("the kernel of the fit is a function of the user's own, which cannot be kept")
        return parts | {
            "kernel": [kernel.name, kernel.coef0, kernel.degree],
            "support": self.support_,
            "dual_coef": self.dual_coef_ if "dual_coef_" in vars(self) else _csr_part(self._sparse_dual),
            "points": _csr_part(points) if sp.issparse(points) else points,
            "gamma": kernel.gamma,
            "center": kernel.center,
        }

    def _take_score_parts(self, parts: dict[str, Any], n_problems: int, *, sparse: bool = False) -> None:
        """Take over what :meth:`_score_parts` gave; a ValueError says what does not fit."""
        d, coef, support = parts["n_features"], parts["coef"], parts["support"]
        if type(d) is not int or d < 1:
            raise ValueError(f"{d!r:.40} features")
        self._take_feature_names(parts["feature_names"], d)
        self.n_features_in_ = d
        self.solver_reason_ = str(parts["solver_reason"])
        if support is not None:
            self._take_support(parts, np.asarray(support), n_problems, sparse=sparse)
        if coef is not None:
            coef = np.ascontiguousarray(coef, np.float64)
            if coef.size != n_problems * d or coef.shape[-1] != d:
                raise ValueError(f"weights of shape {coef.shape} for {n_problems} problems with {d} features")
            self.coef_ = coef
        elif support is None:
            raise ValueError("neither weights nor support vectors")

    def _take_support(self, parts: dict[str, Any], support: Ints, n_problems: int, *, sparse: bool) -> None:
        d = self.n_features_in_
        beta = parts["dual_coef"]
        if sparse and isinstance(beta, list):
            beta = _csr_of(beta, (len(support), n_problems)).astype(np.float64)
        else:
            beta = np.ascontiguousarray(beta, np.float64).T
        if support.ndim != 1 or support.dtype.kind not in "iu" or beta.shape != (len(support), n_problems):
            raise ValueError(f"coefficients of shape {beta.shape[::-1]} for {support.shape} support vectors")
        gamma, center, points = float(parts["gamma"]), parts["center"], parts["points"]
        # that of the fit; files of earlier versions leave it to the parameters
        name, coef0, degree = parts.get("kernel") or (self.kernel, self.coef0, self.degree)
        kernel = make_kernel(name, np.zeros((1, 1)), gamma=gamma, coef0=coef0, degree=degree)  # checks them
        if isinstance(points, list):
            points = _csr_of(points, (len(support), d))
        wanted = (len(support), 0 if kernel.name == "precomputed" else d)
        if points.shape != wanted:
            raise ValueError(f"support vectors of shape {points.shape}; they must have {wanted}")
        if kernel.name == "precomputed" and len(support) and not 0 <= support.min() <= support.max() < d:
            raise ValueError("numbers of support vectors outside the training points")
        if center is not None and np.shape(center) != (d,):
            raise ValueError(f"a center of shape {np.shape(center)} for {d} features")
        self.kernel_ = replace(kernel, center=None if center is None else np.ascontiguousarray(center, np.float64))
        self.support_, self.support_vectors_ = support.astype(np.int64), points
        if sparse:
            self._sparse_dual = sp.csr_matrix(beta)  # files of earlier versions have it dense
        else:
            self.dual_coef_ = beta.T


def _csr_part(matrix: Any) -> list[Any]:
    """A CSR matrix as a model file keeps it."""
    return [matrix.indptr, matrix.indices, matrix.data]


def _csr_of(part: list[Any], shape: tuple[int, int]) -> Any:
    """What :func:`_csr_part` gave; a ValueError says what does not fit."""
    indptr, indices, data = part
    if data.dtype == np.float16:  # which SciPy does not multiply
        data = data.astype(np.float64)
    matrix = sp.csr_matrix((data, indices, indptr), shape=shape)
    matrix.check_format(full_check=True)
    return matrix


def coefficients(beta: Reals, rows: Ints | None = None) -> tuple[Ints, Reals]:
    """Those of a problem that are not 0, of these ``rows`` or of all: their places and their values."""
    used = np.flatnonzero(beta)
    return used if rows is None else rows[used], beta[used]


def kernel_solvers(cache_mb: float) -> dict[str, Any]:
    """Solvers of machines with a kernel or nu, by name."""
    return {
        "auto": KernelAutomatic(cache_mb),
        "block_smo": BlockSMO(cache_mb),
        "interior_point": KernelInteriorPoint(),
        "newton": KernelNewton(),
        "projected_gradient": ProjectedGradient(cache_mb=cache_mb),
    }


def dual_of(result: Result, d: int, part: Ints | None = None) -> tuple[Ints, Reals, float]:
    """The dual point of a linear problem with ``d`` features over some of the rows; the result lets go of it.

    Returns
    -------
    places : int64 array of shape (n_support,)
        Among all rows.
    values : float64 array of shape (n_support,)
        Their coefficients.
    residual : float
        ``|w - sum_j beta_j x_j|``.
    """
    point, result.dual_point = result.dual_point, None
    residual = 0.0 if result.w is point.w else math.sqrt(square(result.w[:d] - point.w[:d]))
    return *coefficients(point.beta, part), residual


def bounded_together(results: list[Result]) -> None:
    """Problems of one certificate: one that ends without a bound leaves none for their sum."""
    if any(result.certificate.status is Status.STATIONARY for result in results):
        for result in results:
            if result.certificate.status in _WITH_BOUND:
                result.certificate = replace(result.certificate, status=Status.STATIONARY)
    if not all(result.certificate.bounded for result in results):
        for result in results:  # the history of one of them stands beside the certificate of all
            result.forget_bounds()


def points_of(kernel: Any, X: Any, rows: Ints) -> Any:
    """Some of the points; of a precomputed kernel their values."""
    if isinstance(kernel, Kernel):
        kernel = kernel.name
    return X[rows][:, rows] if isinstance(kernel, str) and kernel == "precomputed" else X[rows]


def nu_for_classes(sign: Reals, weight: Reals, nu: float, what: str) -> tuple[Terms, Reals, Ints]:
    """Terms, totals and groups of the nu form for two classes.

    ``1/2 |w|^2 + sum_i s_i (rho - y_i f_i)_+ - nu rho sum_i s_i``, see :class:`~maxmargin.solvers.kernel.KernelTask`.

    Raises
    ------
    DataError
        When ``nu`` is larger than twice the share of the smaller class.
    """
    n = float(weight.sum())
    smaller = min(float(weight[sign > 0].sum()), float(weight[sign < 0].sum()))
    if nu * n > 2.0 * smaller * (1.0 + 1e-12):
        most = math.floor(2e4 * smaller / n) / 1e4
        raise DataError(f"nu={nu:g} is not feasible{what}: at most {most:g}, twice the share of the smaller class")
    column = sign.reshape(-1, 1)
    terms = Terms(column, np.zeros_like(column), weight.reshape(-1, 1).copy(), np.zeros_like(column))
    half = min(0.5 * nu * n, smaller)
    return terms, np.array([half, -half]), (column < 0.0).astype(np.int64)


def nu_for_values(target: Reals, c: Reals, nu: float) -> tuple[Terms, Reals, Ints]:
    """Terms, totals and groups of the nu form for values; the thresholds are ``b`` plus and minus the half width."""
    terms = insensitive(target, c, 0.0)
    half = 0.5 * nu * float(c.sum())
    group = np.zeros(terms.sign.shape, np.int64)
    group[:, 1] = 1
    return terms, np.array([half, -half]), group


def canonical(beta: Reals, thresholds: Reals, *, zero: bool = False) -> tuple[Reals, float, bool]:
    """Coefficients and intercept of a nu form, scaled so that the margin is 1, and whether there is one.

    Where the margin is 0 the reduced convex hulls of the classes meet and the best weights are 0. ``zero`` says that
    the optimum was found to be 0: then a margin that is left is one of rounding.
    """
    b, rho = 0.5 * float(thresholds.sum()), 0.5 * float(thresholds[1] - thresholds[0])
    if zero or not rho > 1e-10 * max(1.0, abs(b)):
        return beta, b, False
    return beta / rho, b / rho, True
