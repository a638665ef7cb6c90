"""The one outer loop of all solvers: tolerance, limits, callbacks, progress, Ctrl-C, certificate."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._products import inner
from ..errors import DataError, StructureError
from ..problem import Certificate, Scaling, relative_gap
from ..status import Status
from .at_start import AtStart
from .base import FINEST, Problem, Run, Solver, Task, WarmStart, enough_beside, fault_of_ours
from .deadline import Deadline, OutOfTime, clock
from .oracle import Oracle
from .planes import Planes, copied

__all__ = ["Record", "Result", "certify", "check_costs", "minimize", "run_to_tolerance"]

Reals = NDArray[np.float64]

# With features of up to 1e100 (see check_magnitude) the squares of the weights stay finite.
_LARGEST_COST = 1e50
_SMALLEST_COST = 1e-300  # its inverse is still a number
_SEEN = 1e-9  # who asks for a smaller gap asks for what rounding leaves
# gaps that are enough are those of rounding, 1e-13 of the size of the sums: values up to a millionth of it count as 0
_NEXT_TO_ZERO = 1e7


@dataclass(frozen=True)
class Record:
    """Figures after a pass; ``exact`` ones were computed afresh, others are estimates met on the way.

    After a fit whose certificate has no lower bound, see :attr:`~maxmargin.Certificate.bounded`, ``dual`` is minus
    infinity in all of them.
    """

    passes: int
    seconds: float
    primal: float
    dual: float
    exact: bool

    @property
    def gap(self) -> float:
        """``primal - dual``."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """``gap / max(|primal|, |dual|)``, see :attr:`~maxmargin.Certificate.relative_gap`."""
        return relative_gap(self.primal, self.dual)


@dataclass
class Result:
    """Answer of a solver.

    Attributes
    ----------
    w : float64 array
        The weights.
    certificate : Certificate
        Computed afresh from ``w`` and the dual point.
    history : list of Record
        One record after each pass and each evaluation.
    planes : Planes or None
        Working set, for a warm start on the same examples.
    dual_point : DualPoint or None
        That of the certificate's lower bound, where the task keeps one (:class:`~.linear.task.LinearTask`).
    reason : str
        Why this algorithm was taken.
    n_mistakes : int or None
        Steps of a perceptron; None of any other solver.
    stopped : bool
        Whether a callback has said so; the run may have converged by then.
    """

    w: Reals
    certificate: Certificate
    history: list[Record]
    planes: Planes | None = None
    _run: Run | None = field(default=None, repr=False)
    dual_point: Any = field(default=None, repr=False)
    reason: str = "asked for"
    n_mistakes: int | None = None
    stopped: bool = False

    @property
    def ended(self) -> bool:
        """Whether Ctrl-C or a callback has ended the run, and with it the fit: no other problem is to follow."""
        return self.stopped or self.certificate.status is Status.INTERRUPTED

    def forget_bounds(self) -> None:
        """Leave no lower bound in the history, where the certificate has none."""
        self.history = [_unbounded(record) for record in self.history]

    def release(self) -> None:
        """Let go of the problem and the run: they are larger than all that is left."""
        self._run = None

    def check(self) -> Certificate:
        """Recompute the certificate from the weights and the dual point; raises if the risk bound does not hold."""
        if self._run is None:
            raise RuntimeError("this result no longer holds its problem; fit again to check it")
        old = self.certificate
        w = self.w.copy()
        dual = self._run.dual()
        self.w[:] = w  # the dual point is computed in the array of the run, which may be this one
        return certify(self._run, w, dual, old.passes, old.oracle_calls, old.seconds, old.solver, old.status)


def _unbounded(record: Record) -> Record:
    return replace(record, dual=-math.inf)


def _no_bound(task: Problem) -> str:
    """Why certificates of a task bound nothing; empty where they do."""
    return "" if task.exact or getattr(task, "oracle", None) is None else "the argmax is not exact"


def certify(
    run: Run, w: Reals, dual: float, passes: int, oracle_calls: int, seconds: float, solver: str, status: Status
) -> Certificate:
    """Certificate of ``w`` computed afresh in float64, beside the lower bound ``dual``.

    Raises
    ------
    StructureError
        When the lower bound is above the objective, or the training risk above its bound: a fault of the structure or
        of this library.
    DataError
        When a conjugate of a user's own loss puts the lower bound above the objective, or scores are so large that
        their rounding hides losses.
    """
    task = run.task
    found = run.evaluate(w)
    weight = task.weight[task.examples]
    primal = task.penalty(w) + inner(task.C * weight, found.slack)
    total = float(weight.sum())
    bound, risk = inner(weight, found.slack) / total, inner(weight, found.risk) / total
    del weight  # before as many numbers are made
    # beside an optimum of about 0 no part of the values is small: then that of the sums they come from counts
    rounding = getattr(task, "rounding", lambda _: 0.0)(w) if dual > primal else 0.0
    if task.exact:
        if dual - primal > 1e-6 * (abs(primal) + abs(dual)) + rounding:
            said = f"{task.name}: the lower bound {dual:.10g} is above the objective {primal:.10g}"
            fault = getattr(task, "fault", None)  # tasks that take nothing of a user's own need none
            raise fault_of_ours(said) if fault is None else fault(said, w)
        excess = found.risk - found.slack
        # scores are sums of products: allow their rounding, nothing more
        largest = max(float(w.max(initial=0.0)), -float(w.min(initial=0.0)))
        allowed = 1e-9 * (1.0 + found.slack + largest)
        if (excess > allowed).any():
            k = int(excess.argmax())
            said = (
                f"{task.name}: example {int(task.examples[k])} has task loss {found.risk[k]:.10g} above its slack "
                f"{found.slack[k]:.10g}"
            )
            oracle = getattr(task, "oracle", None)
            if oracle is None:
                raise fault_of_ours(said)
            if oracle.is_rounding(int(task.examples[k]), float(excess[k]), w):
                raise DataError(
                    f"{task.name}: the scores of example {int(task.examples[k])} are so large that their rounding "
                    f"hides a loss of {found.risk[k]:.10g}; scale the values of its features down"
                )
            raise StructureError(f"{said}; the decoder and the loss contradict each other (run check_structure)")
    return Certificate(
        primal=primal,
        dual=float(min(dual, primal)) if dual - primal <= 1e-9 * abs(primal) + rounding else float(dual),
        risk_bound=bound,
        training_risk=risk,
        passes=passes,
        oracle_calls=oracle_calls,
        seconds=seconds,
        C=task.C,
        n_examples=len(found.slack),
        solver=solver,
        status=status,
        no_bound=_no_bound(task),
    )


def minimize(
    oracle: Oracle,
    solver: Solver,
    *,
    C: float,
    sample_weight: Reals | None = None,
    order: NDArray[np.int64] | None = None,
    tol: float = 1e-3,
    max_passes: int = 100,
    max_time: float | None = None,
    random_state: int | np.random.Generator | None = None,
    n_jobs: int = 1,
    warm_start: WarmStart | None = None,
    callback: Callable[[Record, Reals], Any] | None = None,
    check_every: int | None = None,
) -> Result:
    """Minimise ``1/2 |w|^2 + C sum_i s_i xi_i`` with a solver.

    Parameters
    ----------
    oracle : Oracle
    solver : Solver
    C : float
    sample_weight : float64 array of shape (n_examples,), optional
        ``s_i >= 0``; examples of weight 0 are left out.
    order : int64 array, optional
        The examples in the order that ``random_state`` shuffles (all by default).
    tol : float
        Relative duality gap at which to stop.
    max_passes : int
        Passes of the decoder over the data, evaluations and the one for the certificate included. There is at least one
        pass and its certificate: 1 is taken for 2.
    max_time : float, optional
        Seconds, without those in which code is compiled. A pass of a structured problem is left in the middle when they
        are over, and the best weights so far are kept; the pass for the certificate comes on top.
    random_state : int, Generator or None
        Seeds the order of the visits.
    n_jobs : int
        Threads for evaluations; the result does not depend on it.
    warm_start : WarmStart, optional
    callback : callable, optional
        Called as ``callback(record, w)`` after every pass, or step of several; a true answer stops the run.
        ``w`` is a read-only view that later passes change: copy it to keep it.
    check_every : int, optional
        Compute the exact gap after every so many passes (default: when the estimate promises the tolerance).

    Returns
    -------
    Result
        Also after Ctrl-C: the best weights so far, with ``status`` ``INTERRUPTED``.
    """
    Scaling.C(C)
    weight = np.ones(oracle.n_examples) if sample_weight is None else np.asarray(sample_weight, np.float64)
    examples = np.flatnonzero(weight > 0) if order is None else order[weight[order] > 0]
    if not len(examples):
        raise DataError(
            "no example has positive weight: sample_weight is 0 everywhere" if len(weight) else "no examples"
        )
    if warm_start is not None and warm_start.planes is not None:  # the earlier result stays as it is
        warm_start = replace(warm_start, planes=copied(warm_start.planes))
    if warm_start is not None and not warm_start.w.flags.writeable:  # kernels are for one kind of array
        warm_start = replace(warm_start, w=warm_start.w.copy())
    task = Task(
        oracle=oracle,
        C=float(C),
        weight=weight,
        examples=examples,
        rng=np.random.default_rng(random_state),
        tol=float(tol),
        n_jobs=n_jobs,
        warm=warm_start,
    )
    return run_to_tolerance(
        task, solver, max_passes=max_passes, max_time=max_time, callback=callback, check_every=check_every
    )


def run_to_tolerance(
    task: Problem,
    solver: Solver,
    *,
    max_passes: int = 100,
    max_time: float | None = None,
    callback: Callable[[Record, Reals], Any] | None = None,
    check_every: int | None = None,
) -> Result:
    """Run a solver on a task of any kind, as :func:`minimize` does on a structured one (see there)."""
    return _Loop(task, solver, max_passes, max_time, callback, check_every).run()


def check_costs(
    c: Reals, name: str, largest_of: str = "the largest sample weight", least_of: str = "the smallest weight of a row"
) -> None:
    """Refuse factors ``C s_i`` of the losses that are too large or too small to compute with.

    Messages say what it is that ``C`` was multiplied by.

    Raises
    ------
    DataError
        With the factor and the limit; a small one is told with the name of the machine.
    """
    largest, least = float(c.max(initial=0.0)), float(c.min(initial=np.inf))
    if largest > _LARGEST_COST:
        raise DataError(
            f"C times {largest_of} is {largest:.3g}: too large to compute with (at most "
            f"{_LARGEST_COST:g}); lower C or the weights"
        )
    if not least >= _SMALLEST_COST:
        raise DataError(
            f"{name}: C times {least_of} is {least:.3g}: too small to compute with (at least "
            f"{_SMALLEST_COST:g}); raise C or the weights"
        )


@dataclass(frozen=True)
class _Sparse:
    """Weights most of which are 0.

    Of the weights of a chunker, 59 MB, one in seventeen is not 0 after eight passes: a copy takes 7 MB so.
    """

    size: int
    where: NDArray[np.int64]
    values: Reals

    @classmethod
    def of(cls, w: Reals) -> _Sparse | None:
        """The same weights, or None where that would not save at least half of the memory."""
        if w.ndim != 1 or 4 * np.count_nonzero(w) > w.size:
            return None
        where = np.flatnonzero(w)
        return cls(len(w), where, w[where])

    def dense(self) -> Reals:
        """All weights."""
        w = np.zeros(self.size)
        w[self.where] = self.values
        return w


class _Loop:
    def __init__(
        self,
        task: Problem,
        solver: Solver,
        max_passes: int,
        max_time: float | None,
        callback: Callable[[Record, Reals], Any] | None,
        check_every: int | None,
    ) -> None:
        check_costs(task.c[task.examples], task.name, *getattr(task, "factors", ()))
        self.task, self.solver = task, solver
        self.max_passes = max(max_passes, 2)
        # tasks whose passes cannot be left in the middle have no deadline
        self.deadline: Deadline = getattr(task, "deadline", Deadline())
        self.callback, self.check_every = callback, check_every
        self.began = time.perf_counter()
        self.end = clock() + (math.inf if max_time is None else max_time)
        self.passes, self.stopped = 0, False
        self.history: list[Record] = []
        self.way = 0  # where the history of the algorithm at work begins
        self.best: tuple[Certificate, Reals | _Sparse] | None = None
        self.borrowed = False
        self.best_dual: float = getattr(task, "floor", 0.0)  # losses are at least 0, and so is the optimum
        self.posed: Any = task
        # weights to begin with that no evaluation has seen: at an early end they may be the best ones
        self.unseen: Reals | None = None if task.warm is None else task.warm.w
        # exact gap over estimated gap at the last evaluation: estimates are sums met on the way, usually too high
        self.optimism = 0.5

    def run(self) -> Result:
        run: Run | None = None
        try:
            with self.deadline.watching():
                run = self.solver.start(self.task)
                self.posed = run.task  # a solver may pose the problem in another form
                self.optimism = 1.0 if run.exact_gap else run.optimism
                self.deadline.at = self.end
                status = self._passes(run)
                self._serve_interrupt()
        except OutOfTime:
            status = Status.TIME_LIMIT
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
        finally:
            self.deadline.at = math.inf
        if run is None:  # interrupted while the solver was being set up
            run = self._as_begun()
        try:
            return self._finish(run, status)
        except KeyboardInterrupt:  # in the pass of the certificate, without which there is no model
            if status is Status.INTERRUPTED:  # the second one is meant
                raise
            return self._finish(run, Status.INTERRUPTED)

    def _as_begun(self) -> Run:
        """Instead of a run that there is not: its answer is where one would have begun.

        Raises
        ------
        KeyboardInterrupt
            Where that is no answer.
        """
        if not AtStart.fits(self.task, self.solver):
            raise KeyboardInterrupt
        self.unseen = None  # those of a warm start are the answer
        run = AtStart(self.task)
        if self.solver.name == "auto":
            run.reason = "the fit was interrupted before one was chosen"
        if "perceptron" in self.solver.name:
            run.n_mistakes = 0
        return run

    def _passes(self, run: Run) -> Status:
        warm = self.task.warm
        again = warm is not None and warm.planes is not None and run.planes() is not None
        # after a fit to the same data with another C the start is hardly ever good enough, unless that fit went beyond
        # the tolerance, as methods with costly passes do
        skipped = run.cheap_passes and self._moved
        if warm is not None and (again or warm.beta is not None) and self.max_passes > 3 and not skipped:
            # the dual point of an earlier fit may be good enough as it is
            self._evaluate(run)
            if np.array_equal(run.weights(), warm.w):
                self.unseen = None
            elif not again:  # those of the dual point may be others
                self._evaluate(run, weights=warm.w)
            if ended := self._first_record(run):
                return ended
        elif warm is not None and run.looks_at_start:  # what is found there joins the working set
            self._evaluate(run, weights=warm.w)
            if ended := self._first_record(run, warm.w):
                return ended
            if self.passes + 2 > self.max_passes:
                return Status.PASS_LIMIT
        if not run.keeps_best:
            self.unseen = None
        while True:
            self._keep_best()
            run.passes_left = self.max_passes - self._last_passes - self.passes
            run.at_once = math.inf if self.check_every is None else self.check_every - self.passes % self.check_every
            step = run.advance()
            self._serve_interrupt()
            self.passes += step.passes
            estimate = step.dual + step.gap
            due = self.check_every is not None and self.passes % self.check_every == 0
            small = max(
                max(self.task.tol, FINEST) * max(abs(estimate), abs(step.dual)), enough_beside(self.posed, estimate)[0]
            )
            promising = math.isfinite(step.gap) and step.gap * self.optimism <= small
            record = Record(self.passes, self._seconds(), estimate, step.dual, False)
            if math.isnan(step.gap) or math.isnan(step.dual):  # the numbers are lost, those before are not
                return Status.STALLED
            if step.separated:
                return Status.SEPARATED
            # of two passes the last one is for the weights to begin with
            full = self.unseen is not None and self.passes + 2 > self.max_passes
            if promising or ((due or step.ready or step.settled) and not full):
                certificate = self._evaluate(run)
                if reached := self._reached():
                    self.history.append(self._best_record())
                    self._call(run)
                    return reached
                if math.isnan(certificate.primal):
                    return Status.STALLED
                if 0 < step.gap < np.inf and not run.exact_gap:
                    self.optimism = min(max((certificate.primal - certificate.dual) / step.gap, 0.05), 1.0)
                record = self._record(certificate)
            self.history.append(record)
            self._call(run)
            if self.stopped:
                return Status.STOPPED
            if step.settled:
                return Status.STALLED if run.at_rounding else Status.STANDSTILL
            if self._stalled():
                if not run.change_way():
                    return Status.STALLED
                self.way = len(self.history)
            if self.passes + 1 + self._last_passes > self.max_passes:  # another pass and what comes last
                return Status.PASS_LIMIT
            if clock() >= self.end:
                return Status.TIME_LIMIT

    def _first_record(self, run: Run, weights: Reals | None = None) -> Status | None:
        """The look at where the run begins; how the run ends if that is enough."""
        self.history.append(self._best_record())
        self._call(run, weights)
        return self._reached() or (Status.STOPPED if self.stopped else None)

    @property
    def _last_passes(self) -> int:
        """Passes that come last: that of the certificate, and a look at weights to begin with that none has seen."""
        return 1 if self.unseen is None or self.max_passes <= 2 else 2

    @property
    def _moved(self) -> bool:
        """Whether the start is the end of a fit with another ``C``, most often to the same data."""
        return bool(getattr(self.task, "moved", False))

    def _evaluate(self, run: Run, status: Status = Status.CONVERGED, *, weights: Reals | None = None) -> Certificate:
        """Exact figures of the weights as they are, or of others; keeps the best ones and the best dual bound seen."""
        # the bound first: it also frees the weights of the rounding of the steps
        dual = run.dual() if weights is None else self.best_dual
        if math.isnan(dual):
            dual = -math.inf
        w = run.weights() if weights is None else weights
        if weights is not None and weights is self.unseen:
            self.unseen = None
        passes = self.passes + 1
        calls = passes * len(self.task.examples)
        certificate = certify(run, w, dual, passes, calls, self._seconds(), run.label or self.solver.name, status)
        self.passes, run.owed = passes + run.owed, 0
        self.best_dual = max(self.best_dual, dual)
        before = math.nan if self.best is None else self.best[0].primal
        if math.isnan(before) or certificate.primal <= before or not (run.keeps_best or math.isnan(certificate.primal)):
            self.best, self.borrowed = (certificate, w), True
        return certificate

    def _keep_best(self) -> None:
        """The best weights may be the run's own array: copy them before it moves on, and only then."""
        if self.best is not None and self.borrowed:
            found, w = self.best
            assert not isinstance(w, _Sparse)
            self.best, self.borrowed = (found, _Sparse.of(w) or w.copy()), False

    def _finish(self, run: Run, status: Status) -> Result:
        last = self.history[-1] if self.history else None
        open_end = self.best is None or last is None or not last.exact
        start = self._start_to_see(run, status)
        if open_end:
            self._keep_best()
            if start is None or not self.history or self.passes + 2 <= self.max_passes:
                self._evaluate(run, status)
            else:  # a pass for one of the two: the start is no worse than any before it
                self.best_dual = max(self.best_dual, run.dual())
        room = self.best is None or not self.history or self.passes < self.max_passes
        if start is not None and room and not self._is_worse(run, start):
            self._keep_best()
            self._evaluate(run, status, weights=start)
        assert self.best is not None
        if math.isnan(self.best[0].primal):  # no pass has given numbers
            self._evaluate(run, status, weights=np.zeros_like(run.weights()))
        found, kept = self.best
        w = kept.dense() if isinstance(kept, _Sparse) else kept
        highest = getattr(self.posed, "dual_point", None)  # a solver may have met a higher one between evaluations
        if highest is not None:
            self.best_dual = max(self.best_dual, highest.value)
        certificate = Certificate(
            primal=found.primal,
            dual=self._bound(found),
            risk_bound=found.risk_bound,
            training_risk=found.training_risk,
            passes=self.passes,
            oracle_calls=self.passes * len(self.task.examples),
            seconds=self._seconds(),
            C=self.task.C,
            n_examples=len(self.task.examples),
            solver=run.label or self.solver.name,
            status=self._seen(self._honest(status, found), found, w),
            no_bound=found.no_bound,
        )
        if start is not None or last is None or not last.exact:
            self.history.append(self._record(certificate))
        result = Result(
            w, certificate, self.history, run.planes(), run, highest, str(run.reason), run.n_mistakes, self.stopped
        )
        if not certificate.bounded:
            result.forget_bounds()
        return result

    def _start_to_see(self, run: Run, status: Status) -> Reals | None:
        """The weights of a warm start, where a run has ended early and none of its evaluations has seen them.

        Dual variables of a fit with a smaller ``C`` stand for weights that are larger in proportion, and the first
        passes may leave them far above where the earlier fit ended (2000 rows of 8 classes, from ``C=0.01`` to 1000:
        1,800 times the objective of weights of 0 after a pass). To begin with smaller ones is no cure: after ten passes
        the lower bound was a hundredth of what it is so.
        """
        early = status in (Status.PASS_LIMIT, Status.TIME_LIMIT, Status.INTERRUPTED, Status.STOPPED)
        start = self.unseen
        return start if early and start is not None and start.shape == run.weights().shape else None

    def _is_worse(self, run: Run, start: Reals) -> bool:
        """Whether the weights to begin with are known to be worse than the best ones, without a pass over the data."""
        least = run.at_least(start)
        return least is not None and self.best is not None and least >= self.best[0].primal

    def _honest(self, status: Status, found: Certificate) -> Status:
        """A run stopped by a limit may have converged all the same.

        A perceptron has separated nothing where an output with a loss has the features of the truth: no step moves it.
        """
        if status is Status.SEPARATED and getattr(self.task, "oracle", None) is not None and found.training_risk > 0.0:
            return Status.STANDSTILL
        limit = status in (Status.PASS_LIMIT, Status.TIME_LIMIT, Status.STALLED)
        return (self._within(found.primal, self._bound(found)) if limit else None) or status

    def _seen(self, status: Status, found: Certificate, w: Reals) -> Status:
        """Where rounding of the scores could hide a gap as large as the tolerance, that is what is to be said."""
        noise, tol = getattr(self.posed, "noise", None), max(self.task.tol, _SEEN)
        if status is not Status.CONVERGED or noise is None or relative_gap(found.primal, self._bound(found)) > tol:
            return status
        small = tol * abs(found.primal)
        size = noise(w, small)
        return Status.ROUNDING if size > small and size > self.posed.rounding(w) else status

    def _reached(self) -> Status | None:
        """How the run ends where the gap between the best weights and the best bound is small enough."""
        assert self.best is not None
        return self._within(self.best[0].primal, self._bound(self.best[0]))

    def _bound(self, found: Certificate) -> float:
        """The best lower bound there is; by rounding one may be above the objective."""
        return float(max(found.dual, min(self.best_dual, found.primal)))

    def _best_record(self) -> Record:
        assert self.best is not None
        found = self.best[0]
        return Record(self.passes, self._seconds(), found.primal, self._bound(found), True)

    def _within(self, primal: float, dual: float) -> Status | None:
        """What a gap makes of a run: a small share of the values, or no more than rounding, also beside 0."""
        if math.isnan(primal):
            return None
        if relative_gap(primal, dual) <= self.task.tol:
            return Status.CONVERGED
        enough, maybe_zero = enough_beside(self.posed, primal)
        if primal - dual > enough:
            return None
        zero = maybe_zero and max(abs(primal), abs(dual)) <= _NEXT_TO_ZERO * enough
        return Status.ZERO_OPTIMUM if zero else Status.CONVERGED

    def _record(self, certificate: Certificate) -> Record:
        return Record(self.passes, self._seconds(), certificate.primal, certificate.dual, True)

    def _call(self, run: Run, weights: Reals | None = None) -> None:
        if self.callback is None:
            return
        w = (run.weights() if weights is None else weights).view()
        w.flags.writeable = False
        record = _unbounded(self.history[-1]) if _no_bound(self.task) else self.history[-1]
        self.stopped = bool(self.callback(record, w))

    def _serve_interrupt(self) -> None:
        """Ctrl-C whose exception was lost on the way."""
        if self.deadline.interrupted:
            raise KeyboardInterrupt

    def _stalled(self) -> bool:
        """No exact figure moved over the last five evaluations."""
        if not self.history[-1].exact:  # nothing to see that the last one did not say
            return False
        exact = [r for r in self.history[max(len(self.history) - 12, self.way) :] if r.exact]
        if len(exact) < 6:
            return False
        old, new = exact[-6], exact[-1]
        scale = 1e-14 * max(abs(new.primal), 1e-300)
        return abs(old.dual - new.dual) <= scale and abs(old.primal - new.primal) <= scale

    def _seconds(self) -> float:
        return time.perf_counter() - self.began
