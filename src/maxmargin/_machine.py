"""What the plain machines share: rows that count, one problem after another, certificates of several added up."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ._estimator import MarginEstimator, check_number
from .errors import DataError
from .problem import Certificate
from .solvers.gradient_descent import GradientDescent
from .solvers.linear.automatic import Automatic
from .solvers.linear.coordinate_ascent import CoordinateAscent
from .solvers.linear.interior_point import InteriorPoint
from .solvers.linear.newton import Newton
from .solvers.linear.rows import Rows
from .solvers.linear.task import LinearTask
from .solvers.loop import Result, run_to_tolerance
from .structures.base import check_magnitude
from .structures.rows import merge_equal_rows
from .structures.values import as_reals
from .terms import LossTerms, Terms

__all__ = ["Machine", "counted", "sum_of"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]

_SOLVERS: dict[str, type] = {
    "auto": Automatic,
    "coordinate_ascent": CoordinateAscent,
    "interior_point": InteriorPoint,
    "newton": Newton,
    "gradient_descent": GradientDescent,
}
_MERGED_ENTRIES = 100_000


class Machine(MarginEstimator):
    """Base of the estimators with one score for a row."""

    fit_intercept: bool
    penalize_intercept: bool
    solver_reason_: str

    def _check_machine(self) -> Any:
        """Check the shared parameters; returns the solver."""
        self._check_parameters()
        if isinstance(self.solver, str) and self.solver in _SOLVERS:
            return _SOLVERS[self.solver]()
        if isinstance(self.solver, tuple(_SOLVERS.values())):
            return self.solver
        raise ValueError(f"solver must be one of {sorted(_SOLVERS)} or an object of theirs, not {self.solver!r}")

    def _costs(self, weight: Reals) -> Reals:
        """``C s_i``; the outer loop refuses what is too large."""
        with np.errstate(over="ignore"):
            return np.asarray(float(self.C) * weight)

    @property
    def _intercept(self) -> Literal["free", "penalized", "none"]:
        if not self.fit_intercept:
            return "none"
        return "penalized" if self.penalize_intercept else "free"

    def _fit_linear(self, rows: Rows, terms: Terms | LossTerms, weight: Reals, solver: Any, *, signs: bool) -> Result:
        """One problem; the seed is the same for each of several, so that their order does not matter."""
        task = LinearTask(
            rows, terms, float(self.C), weight, self._intercept, float(self.tol), np.random.default_rng(self._seed()),
            name=type(self).__name__, signs=signs,
        )  # fmt: skip

        def run(**limits: Any) -> Result:
            return run_to_tolerance(task, solver, **limits)

        return self._watched(run)

    def _take_over(self, results: list[Result]) -> None:
        """Certificate and history of one problem, or of several added up; then speak of an early end."""
        worst = max(results, key=lambda result: (not result.certificate.status.ok, result.certificate.passes))
        self.solver_reason_ = str(getattr(worst._run, "reason", "asked for"))
        worst.certificate = sum_of([result.certificate for result in results])
        self._finish(worst)


def counted(X: Any, number: Ints, weight: Reals | None, *, merge: bool = True) -> tuple[Any, Ints, Reals]:
    """The rows that count, their positions in the data, and their weights, all positive.

    In small sets equal rows of equal targets become one, in an order that follows from their content: then neither
    copies instead of weights nor the order of the data change the model at all.
    """
    n = X.shape[0]
    check_magnitude(X.data if sp.issparse(X) else X.reshape(-1) if X.flags.c_contiguous else X)
    if merge and (X.nnz if sp.issparse(X) else X.size) <= _MERGED_ENTRIES:
        X = X.astype(np.float64)
        if sp.issparse(X):
            X = X.tocsr()
            if not X.has_canonical_format:
                X.sum_duplicates()
        order, joint = merge_equal_rows(X, number, weight)
        return X[order], order, joint[order]
    weight = np.ones(n) if weight is None else weight
    if (weight > 0).all():
        return X, np.arange(n), weight
    order = np.flatnonzero(weight > 0)
    return X[order], order, weight[order]


def sum_of(certificates: list[Certificate]) -> Certificate:
    """One certificate for independent problems: their objectives and bounds add up."""
    if len(certificates) == 1:
        return certificates[0]
    n = sum(each.n_examples for each in certificates)
    worst = max(certificates, key=lambda each: (not each.status.ok, each.passes))
    return Certificate(
        primal=sum(each.primal for each in certificates),
        dual=sum(each.dual for each in certificates),
        risk_bound=sum(each.risk_bound * each.n_examples for each in certificates) / n,
        training_risk=sum(each.training_risk * each.n_examples for each in certificates) / n,
        passes=max(each.passes for each in certificates),
        oracle_calls=sum(each.oracle_calls for each in certificates),
        seconds=sum(each.seconds for each in certificates),
        C=worst.C,
        n_examples=n,
        solver=worst.solver,
        status=worst.status,
    )


def check_switches(estimator: Any) -> None:
    """Refuse contradictory settings of the intercept."""
    if estimator.penalize_intercept and not estimator.fit_intercept:
        raise ValueError(f"{type(estimator).__name__}: penalize_intercept=True needs fit_intercept=True")


def check_epsilon(estimator: Any) -> None:
    """The width of the tube is a number of at least 0."""
    check_number(estimator, "epsilon", low=0.0)


def check_margin(margin: Any, n: int) -> Reals | None:
    """Wanted margins of the rows: positive numbers."""
    if margin is None:
        return None
    out = as_reals(margin, "margin")
    if out.shape != (n,):
        raise DataError(f"margin has shape {out.shape}; it needs one number for each of the {n} rows")
    bad = np.flatnonzero(~(np.isfinite(out) & (out > 0)))
    if len(bad):
        raise DataError(f"margin[{bad[0]}] is {out[bad[0]]}; margins must be finite and positive")
    return out
