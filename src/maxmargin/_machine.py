"""What the plain machines share: rows that count, one problem after another, certificates of several added up."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor

from ._estimator import MarginEstimator, check_number, choose_solver
from ._warm import End, Ends
from .data._mapped_rows import rows_of
from .errors import DataError
from .problem import Certificate
from .solvers.at_start import AtStart
from .solvers.base import WarmStart
from .solvers.bundle import Bundle
from .solvers.gradient_descent import GradientDescent
from .solvers.kernel.task import KernelTask
from .solvers.linear.active_set import ActiveSet
from .solvers.linear.automatic import Automatic
from .solvers.linear.block_ascent import BlockAscent
from .solvers.linear.coordinate_ascent import CoordinateAscent
from .solvers.linear.folding import Folded
from .solvers.linear.interior_point import InteriorPoint
from .solvers.linear.newton import Newton
from .solvers.linear.task import LinearTask
from .solvers.loop import Result, certify, run_to_tolerance
from .solvers.one_slack import OneSlack
from .solvers.perceptron import Perceptron
from .solvers.projected_gradient import ProjectedGradient
from .solvers.subgradient import Pegasos, Subgradient
from .status import Status
from .structures.base import check_row_magnitude
from .structures.rows import FEW_ENTRIES, merge_equal_rows
from .structures.values import as_reals
from .terms import LossTerms, Terms

__all__ = ["Machine", "as_begun", "counted", "held_back", "left_out", "sum_of"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]

_MARGINS = 1e-50, 1e50  # a common factor is another C, and C has such limits
_SOLVERS: dict[str, Any] = {
    "auto": Automatic(),
    "coordinate_ascent": CoordinateAscent(),
    "interior_point": InteriorPoint(),
    "active_set": ActiveSet(),
    "block_ascent": BlockAscent(),
    "newton": Newton(),
    "one_slack": OneSlack(),
    "bundle": Bundle(),
    "gradient_descent": GradientDescent(),
    "subgradient": Subgradient(),
    "pegasos": Pegasos(),
    "projected_gradient": ProjectedGradient(),
    "perceptron": Perceptron(average=False),
    "averaged_perceptron": Perceptron(),
}


class Machine(MarginEstimator):
    """Base of the estimators with one score for a row."""

    fit_intercept: bool
    penalize_intercept: bool
    solver_reason_: str

    def _check_machine(self) -> Any:
        """Check the shared parameters; returns the solver."""
        self._check_parameters()
        return choose_solver(self, _SOLVERS.__getitem__, self._what_is_solved)

    @property
    def _what_is_solved(self) -> str:
        """As it stands in messages about solvers; only a hard margin with a kernel comes here with one."""
        if getattr(self, "_by_kernel", False):
            return "hard margins"
        return "linear regression" if is_regressor(self) else "linear machines"

    def _check_C(self) -> None:
        if is_classifier(self) and isinstance(self.C, numbers.Real) and self.C == math.inf:
            raise ValueError(
                f"{type(self).__name__}: C must be a finite number > 0 (HardMarginSVM is for an infinite one, with two "
                f"classes), not {self.C!r}"
            )
        super()._check_C()

    def _solver_names(self) -> list[str]:
        return list(_SOLVERS)

    def _costs(self, weight: Reals) -> Reals:
        """``C s_i``; the outer loop refuses what is too large."""
        with np.errstate(over="ignore"):
            return np.asarray(float(self.C) * weight)

    @property
    def _intercept(self) -> Literal["free", "penalized", "none"]:
        if not self.fit_intercept:
            return "none"
        return "penalized" if self.penalize_intercept else "free"

    def _ends(self, n: int, *, by_kernel: bool) -> Ends:
        """Where the problems of a fit to ``n`` rows will end, begun where those of the last one ended if asked to."""
        before = vars(self).get("_warm", ("", None))[1] if self.warm_start else None
        return Ends(n, by_kernel, before, wanted=bool(self.warm_start))

    def _keep_ends(self, ends: Ends) -> None:
        ends.before = None
        self.__dict__.pop("_warm", None)
        if self.warm_start:
            self._warm = ("rows", ends)

    def _fit_linear(self, folded: Folded, task: LinearTask, solver: Any) -> Result:
        """Weights of the result are those of the folded rows."""

        def run(callback: Any, **limits: Any) -> Result:
            told = None if callback is None else lambda record, w: callback(record, folded.original(w))
            return run_to_tolerance(task, solver, callback=told, **limits)

        return self._watched(run)

    def _linear_task(
        self,
        folded: Folded,
        terms: Terms | LossTerms,
        weight: Reals,
        *,
        signs: bool,
        warm: WarmStart | None = None,
        known: End | None = None,
    ) -> LinearTask:
        """One problem; the seed is the same for each of several, so that their order does not matter.

        Where the end of a problem on the same rows is ``known`` it begins there.
        """
        if warm is not None:
            warm = replace(warm, w=folded.folded(warm.w))
        rng = np.random.default_rng(self._seed())
        task = LinearTask(
            folded.rows, terms, float(self.C), weight, self._intercept, float(self.tol), rng,
            name=type(self).__name__, signs=signs, warm=warm,
        )  # fmt: skip
        if known is not None:
            known.begin(task)
        return task

    def _take_over(self, results: list[Result]) -> None:
        """Certificate and history of one problem, or of several added up; then speak of an early end.

        Problems that the fit did not come to are told in a note, and in the message of Ctrl-C.
        """
        missed = _tell_not_reached(results)
        reached = [result for result in results if result.certificate.passes] or results
        worst = max(reached, key=lambda result: _hardness(result.certificate))
        self.solver_reason_ = worst.reason
        worst.certificate = sum_of([result.certificate for result in results])
        if missed:
            self.notes_ = (*self.notes_, missed)
            if self.verbose:
                self._tell(missed)
        try:
            self._finish(worst, results)
        except KeyboardInterrupt as ended:
            raise KeyboardInterrupt(f"{ended}; {missed}" if missed else str(ended)) from None


def takes_copies(solver: Any) -> bool:
    """Whether each copy of a row is a row of its own to this solver, at its place in the data.

    A perceptron makes steps of the size of a row's weight, and its bound on mistakes is one for equal weights.
    """
    return isinstance(solver, Perceptron) or (isinstance(solver, str) and isinstance(_SOLVERS.get(solver), Perceptron))


def counted(X: Any, number: Ints, weight: Reals | None, *, merge: bool = True) -> tuple[Any, Ints, Reals]:
    """The rows that count, their positions in the data, and their weights, all positive.

    In small sets equal rows of equal targets become one, in an order that follows from their content: then neither
    copies instead of weights nor the order of the data change the model at all.
    """
    n = X.shape[0]
    check_row_magnitude(X)
    if merge and (X.nnz if sp.issparse(X) else X.size) <= FEW_ENTRIES:
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
    return rows_of(X, order), order, weight[order]


def sum_of(certificates: list[Certificate]) -> Certificate:
    """One certificate for independent problems: their objectives and bounds add up."""
    if len(certificates) == 1:
        return certificates[0]
    n = sum(each.n_examples for each in certificates)
    worst = max(certificates, key=_hardness)
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


def _hardness(certificate: Certificate) -> tuple[bool, bool, bool, bool, int]:
    """The largest is that of the problem which speaks for several: one that was ended, that fell short, the longest.

    An optimum of 0 speaks for their sum only where all are 0.
    """
    status = certificate.status
    return (
        status is Status.INTERRUPTED, status is Status.STOPPED, not status.ok, status is not Status.ZERO_OPTIMUM,
        certificate.passes,
    )  # fmt: skip


@contextmanager
def held_back(results: list[Result]) -> Iterator[None]:
    """While several problems are solved: Ctrl-C between two of them ends the fit as one in the last of them would."""
    try:
        yield
    except KeyboardInterrupt:
        if not results:
            raise
        results[-1].certificate = replace(results[-1].certificate, status=Status.INTERRUPTED)


def left_out(terms: Terms | LossTerms, weight: Reals, n_weights: int, last: Result, *, bounded: bool = True) -> Result:
    """The answer to a problem that a fit did not come to, as it ended in the ``last`` one: weights of 0.

    For problems that have no others to keep, see :func:`as_begun`.
    Losses are at least 0, so their certificate is right; where 0 is no bound of the optimum it is not ``bounded``.
    """
    found = last.certificate
    cost = float(terms.cost(np.zeros(terms.n_rows)).sum())
    risk = cost / (found.C * float(weight.sum()))
    certificate = replace(
        found, primal=cost, dual=0.0 if bounded else -math.inf, risk_bound=risk, training_risk=risk, passes=0,
        oracle_calls=0, seconds=0.0, n_examples=terms.n_rows, status=_status_after(last),
    )  # fmt: skip
    return Result(np.zeros(n_weights), certificate, [], n_mistakes=None if last.n_mistakes is None else 0)


def as_begun(task: LinearTask | KernelTask, last: Result) -> Result:
    """The answer to a problem that a fit did not come to, as it ended in the ``last`` one: where it was to begin.

    The weights are those of an earlier fit, to the last bit. The certificate is theirs in the problem as it is now,
    with the bound of the dual point at which a run would have begun.
    """
    run, found = AtStart(task), last.certificate
    w = run.weights()
    certificate = certify(run, w, run.dual(), 0, 0, 0.0, found.solver, _status_after(last))
    return Result(
        w, certificate, [], dual_point=getattr(task, "dual_point", None),
        n_mistakes=None if last.n_mistakes is None else 0,
    )  # fmt: skip


def _status_after(last: Result) -> Status:
    """Of the problems that no run came to; the last one may have converged when a callback ended the fit."""
    return Status.STOPPED if last.stopped else last.certificate.status


def _tell_not_reached(results: list[Result]) -> str:
    """Which problems a fit did not come to, and what their weights are; nothing where it came to all."""
    missed = [result for result in results if not result.certificate.passes]
    if not missed:
        return ""
    kept = sum(bool(result.w.any()) for result in missed)
    if not kept:
        what = "weights of 0"
    elif kept == len(missed):
        what = "the weights of the fit before"
    else:
        what = f"the weights of the fit before ({kept} of them) or of 0"
    return f"{len(missed)} of {len(results)} two-class problems were not reached and have {what}"


def check_switches(estimator: Any) -> None:
    """Refuse contradictory settings of the intercept."""
    if estimator.penalize_intercept and not estimator.fit_intercept:
        raise ValueError(f"{type(estimator).__name__}: penalize_intercept=True needs fit_intercept=True")


def check_epsilon(estimator: Any) -> None:
    """Half the width of the tube is a number of at least 0."""
    check_number(estimator, "epsilon", low=0.0)


def check_margin(margin: Any, n: int) -> Reals | None:
    """Wanted margins of the rows: positive numbers, neither so large nor so small that their squares are none."""
    if margin is None:
        return None
    out = as_reals(margin, "margin")
    if out.shape != (n,):
        raise DataError(f"margin has shape {out.shape}; it needs one number for each of the {n} rows")
    bad = np.flatnonzero(~(np.isfinite(out) & (out > 0)))
    if len(bad):
        raise DataError(f"margin[{bad[0]}] is {out[bad[0]]}; margins must be finite and positive")
    bad = np.flatnonzero((out < _MARGINS[0]) | (out > _MARGINS[1]))
    if len(bad):
        raise DataError(
            f"margin[{bad[0]}] is {out[bad[0]]:g}: margins to compute with lie between {_MARGINS[0]:g} and "
            f"{_MARGINS[1]:g}"
        )
    return out
