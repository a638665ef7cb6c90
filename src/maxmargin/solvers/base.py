"""What a solver is, and what it is given: a :class:`Task` in, a :class:`Run` that advances pass by pass."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .._products import inner
from ..errors import DataError, StructureError
from ..losses import conjugate_fault
from ..terms import LossTerms, Terms
from .deadline import Deadline
from .oracle import Evaluation, Oracle, Work
from .passes import DUAL, GAP
from .planes import Planes

__all__ = [
    "FINEST", "Problem", "Run", "Solver", "Step", "StructuredRun", "Task", "WarmStart", "enough_beside",
    "fault_of_ours", "fault_of_terms", "sweep_until", "to_dual_point",
]  # fmt: skip

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
_VISITS = 2000
# part of the gap of a sweep whose examples are visited again, and how often (on tagging and on handwritten words from
# 0.2 to 0.5, and from 4 to 20 times, were as good)
_SHARE, _TURNS = 0.3, 8
_BEFORE = 3  # calls before that: in early passes a few sweeps are enough
FINEST = 1e-15
"""Relative gap beyond which there is only rounding, whatever tolerance is asked for."""


@dataclass
class WarmStart:
    """A start other than zero: weights, or more of an earlier fit of the very same examples.

    Attributes
    ----------
    w : float64 array
    planes : Planes or None
        The working set of a structured problem.
    beta : float64 array of shape (n,) or None
        Dual point of a plain machine: the coefficients of its rows. After a change of ``C`` it need not be feasible.
    solver : str
        Name of the algorithm that ended there.
    usual : tuple of str and int
        The same, and the passes it took, of the last fit that did not go by the active-set method.
    C : float
        Of the earlier fit; 0 where it is not known.
    products : float64 array of shape (n,) or None
        Of a kernel machine on the very same points ``K`` times the coefficients, if known.
    """

    w: Reals
    planes: Planes | None = None
    beta: Reals | None = None
    solver: str = ""
    usual: tuple[str, int] = ("", 0)
    C: float = 0.0
    products: Reals | None = None


def enough_beside(task: Any, primal: float) -> tuple[float, bool]:
    """A gap that is no more than rounding, where the problem knows one, and whether the optimum may be 0.

    Of problems with optima of at most 0 (:class:`~maxmargin.solvers.kernel.KernelTask` with totals) an objective that
    is surely below 0 says that it is not.
    """
    enough = float(getattr(task, "enough", 0.0))
    rounded = float(getattr(task, "rounded", enough))
    return (enough, True) if primal >= -rounded else (rounded, False)


class Problem(Protocol):
    """What the outer loop and the certificate need of a task, whatever its solvers need beyond that."""

    C: float
    tol: float
    weight: Reals
    warm: WarmStart | None

    @property
    def examples(self) -> Ints:
        """Numbers of the examples of positive weight."""

    @property
    def c(self) -> Reals:
        """``C s_i`` of every example."""

    @property
    def name(self) -> str:
        """Who to blame in an error."""

    @property
    def exact(self) -> bool:
        """Whether the lower bound is one (an inexact decoder makes none)."""

    def penalty(self, w: Reals) -> float:
        """The part of the objective that is no loss."""

    def evaluate(self, w: Reals) -> Evaluation:
        """Slacks and risks of all examples under ``w``."""


@dataclass
class Task:
    """One structured problem for a solver.

    Attributes
    ----------
    oracle : Oracle
    C : float
        Of ``1/2 |w|^2 + C sum_i s_i xi_i``.
    weight : float64 array of shape (n_examples,)
        ``s_i``.
    examples : int64 array
        Numbers of the examples with positive weight; no other is ever visited.
    rng : numpy.random.Generator
    tol : float
        Relative gap asked for.
    n_jobs : int
    warm : WarmStart or None
    deadline : Deadline
        Looked at within passes too; the outer loop sets it. A task without one is asked between passes only.
    """

    oracle: Oracle
    C: float
    weight: Reals
    examples: Ints
    rng: np.random.Generator
    tol: float
    n_jobs: int = 1
    warm: WarmStart | None = None
    deadline: Deadline = field(default_factory=Deadline)

    def __post_init__(self) -> None:
        self.oracle = self.oracle.until(self.deadline)

    @property
    def c(self) -> Reals:
        """``C s_i`` of every example."""
        with np.errstate(over="ignore"):  # refused by the outer loop
            return np.asarray(self.C * self.weight)

    @property
    def name(self) -> str:
        """Class of the structure."""
        return self.oracle.name

    @property
    def exact(self) -> bool:
        """Whether the structure's decoder finds the maximum."""
        return self.oracle.exact

    def penalty(self, w: Reals) -> float:
        """``1/2 |w|^2``."""
        return 0.5 * inner(w, w)

    def evaluate(self, w: Reals) -> Evaluation:
        """Slacks and risks of all examples under ``w``."""
        return self.oracle.evaluate(w, self.examples, risk=True, n_jobs=self.n_jobs)

    def fault(self, said: str, w: Reals) -> Exception:
        """As a decoder that is none makes it."""
        return StructureError(
            f"{said}: the loss-augmented argmax of some example is not the maximum; run check_structure to find which"
        )


def fault_of_ours(said: str) -> StructureError:
    """The error where nothing that a user gives can be wrong."""
    return StructureError(f"{said}: this is a fault of the library; please report it with the data")


def fault_of_terms(said: str, terms: Terms | LossTerms, scores: Reals, beta: Reals) -> Exception:
    """The error where a lower bound of a plain machine is above its objective.

    Parameters
    ----------
    said : str
        Which values they are.
    terms : Terms or LossTerms
    scores, beta : float64 arrays of shape (n,)
        Of the weights, and coefficients of the dual point.
    """
    if not isinstance(terms, LossTerms):
        return fault_of_ours(said)
    margins = terms.sign[:, 0] * scores
    slopes = np.clip(-terms.sign[:, 0] * beta / terms.c, *terms.loss.slopes)
    slopes = np.append(slopes, terms.loss.derivative(margins))
    return DataError(f"{said}: {conjugate_fault(terms.loss, slopes, np.append(margins, margins))}")


@dataclass
class Step:
    """Figures of one pass.

    Attributes
    ----------
    passes : int
        Passes of the loss-augmented (or plain) decoder over the data.
    gap : float
        Estimate of the gap, from values met on the way.
    dual : float
        Running value of the dual; recomputed at every evaluation.
    ready : bool
        Whether the solver thinks that nothing more is to be done.
    separated : bool
        Whether a whole pass met no mistake (perceptron).
    settled : bool
        Whether the objective has ceased to move under this method.
    work : float
        What the pass cost, as a share of one over all rows.
    """

    passes: int
    gap: float
    dual: float
    ready: bool = False
    separated: bool = False
    settled: bool = False
    work: float = 1.0

    @property
    def cost(self) -> float:
        """``work``; steps of a pass over all rows, or of several, say nothing of it."""
        return float(self.passes) if self.work == 1.0 else self.work


class Run(ABC):
    """One run of a solver on a task."""

    task: Problem
    exact_gap = False
    """Whether the gaps of the steps are exact rather than sums of figures met on the way."""

    optimism = 0.5
    """What share of the gap of a step the exact one is likely to be; an evaluation corrects it."""

    reason = "asked for"
    """Why this algorithm."""

    n_mistakes: int | None = None
    """Mistakes that a perceptron has made."""

    passes_left: float = float("inf")
    """Passes that :meth:`advance` may take; the outer loop says it before each call."""

    at_once: float = float("inf")
    """Passes until the next evaluation that is due in any case, which steps of several short passes heed; the same."""

    at_rounding = False
    """Whether it is rounding that keeps a run that has settled from the tolerance."""

    label = ""
    """Name of the algorithm at work, where the solver chooses among several."""

    owed: int = 0
    """Passes that an evaluation took beyond its own; the outer loop counts them and takes them back to 0."""

    looks_at_start = False
    """Whether the weights of a warm start are evaluated before the first pass: it keeps the planes that it meets."""

    cheap_passes = False
    """Whether a pass costs no more than a look at where the run begins, or the first one begins with such a look."""

    keeps_best = True
    """Whether the best objective met is worth more than the last weights."""

    @abstractmethod
    def advance(self) -> Step:
        """One pass."""

    @abstractmethod
    def weights(self) -> Reals:
        """The weights that would be returned now; may be the run's own array, which later passes change."""

    @abstractmethod
    def dual(self) -> float:
        """A lower bound of the optimum, recomputed from the dual point in float64; sets the weights to that point."""

    def evaluate(self, w: Reals) -> Evaluation:
        """Slacks and risks under ``w``; a run may keep the planes it meets."""
        return self.task.evaluate(w)

    def change_way(self) -> bool:
        """Take another algorithm where this one no longer moves; False if there is none."""
        return False

    def at_least(self, w: Reals) -> float | None:
        """What the objective of weights is at least, told without a pass over the data; None if nothing tells it."""
        return None

    def planes(self) -> Planes | None:
        """The working set, for a later warm start."""
        return None


class StructuredRun(Run):
    """One run on a structured problem."""

    task: Task

    def most_violated(self, w: Reals, work: Work, *, risk: bool = False) -> Evaluation:
        """An evaluation whose planes join the working set: the calls of the decoder are not wasted.

        Raises
        ------
        StructureError
            When a plane seen before beats the decoder's, which is then no maximum: names the example.
        """
        task = self.task
        _, cached = task.oracle.best_cached(w, work.planes, task.examples)
        found = task.oracle.evaluate(w, task.examples, work=work, risk=risk, n_jobs=task.n_jobs)
        task.oracle.check_maximum(task.examples, found.slack, cached)
        return found

    def cached_objective(self, w: Reals, work: Work) -> float:
        """The objective of weights by the planes of the working set alone: no more than by those of all outputs."""
        task = self.task
        _, cached = task.oracle.best_cached(w, work.planes, task.examples)
        return task.penalty(w) + inner(task.c[task.examples], cached)


class Solver(Protocol):
    """A recipe: hyper-parameters of an algorithm, able to start runs."""

    @property
    def name(self) -> str:
        """Short name, as accepted by the estimators."""

    def start(self, task: Any) -> Run:
        """Begin a run on a task of the kind that the solver is for."""


def sweep_until(task: Task, work: Work, examples: Ints, *, most: int, gap: float) -> float:
    """Sweeps over the cached planes of examples, in random order, until their gap is at most ``gap``.

    Entering a kernel costs as much as some hundred visits: of few examples, several sweeps go in one call, and their
    mean gap counts. After some calls the few examples that hold much of the gap are visited some times more: where some
    contradict each other, their weights go on rising in small steps long after the others have come to rest. Of few
    examples, whose calls hold many sweeps, there are few such visits.

    Parameters
    ----------
    most : int
        Limit on the visits, in sweeps over all of the examples.

    Returns
    -------
    float
        The gap met in the last sweeps over all of them, infinite when there was none.
    """
    n = len(examples)
    together, calls, done, left = max(1, _VISITS // n), 0, 0.0, np.inf
    while done < most and left > gap:
        count = min(together, math.ceil(most - done))
        work.state[GAP] = 0.0
        _sweep(task, work, examples, count)
        left = float(work.state[GAP]) / count
        done += count
        calls += 1
        if left > gap and done < most and calls >= _BEFORE:
            few = _with_share(examples, work.gaps, _SHARE)
            turns = min(_TURNS, math.ceil((most - done) * n / len(few)))
            _sweep(task, work, few, turns)
            done += turns * len(few) / n
    return left


def _sweep(task: Task, work: Work, examples: Ints, times: int) -> None:
    task.oracle.sweep(work, np.concatenate([task.rng.permutation(examples) for _ in range(times)]))


def _with_share(examples: Ints, gaps: Reals, share: float) -> Ints:
    """As few of the examples as hold that share of all their gaps."""
    mine = gaps[examples]
    order = np.argsort(-mine, kind="stable")
    total = np.cumsum(mine[order])
    return examples[order[: 1 + np.searchsorted(total, share * total[-1])]]


def to_dual_point(oracle: Oracle, work: Work, examples: Ints) -> float:
    """Set ``work.w`` to ``w(alpha)`` of the working set, free of the rounding of the steps; returns ``D(alpha)``.

    The weights of an example are divided by their sum first, so that the point is feasible to the last bit. The
    weights are set in place: for many attributes they are the largest array of all.
    """
    planes = work.planes
    n = int(planes.counts[0])
    owner = owners(planes)
    alpha = planes.alpha[:n]
    total = np.bincount(owner, weights=alpha, minlength=len(planes.head))
    # sums run in the order of the examples as given, whatever the history of the working set
    rank = np.full(len(planes.head), -1, np.int64)
    rank[examples] = np.arange(len(examples))
    counts = (planes.length[:n] > 0) | (planes.loss[:n] > 0.0)  # without features a loss may be left
    used = np.flatnonzero((alpha > 0.0) & counts & (rank[owner] >= 0))
    used = used[np.argsort(rank[owner[used]], kind="stable")]
    share = work.c[owner[used]] * alpha[used] / total[owner[used]]
    work.w[:] = 0.0
    oracle.add_planes(planes, owner[used], used, -share, work.w)
    dual = inner(share, planes.loss[used]) - 0.5 * inner(work.w, work.w)
    work.state[DUAL] = dual
    return dual


def owners(planes: Planes) -> Ints:
    """The example of every plane."""
    n = int(planes.counts[0])
    owner = np.empty(n, np.int64)
    frontier, who = planes.head, np.arange(len(planes.head), dtype=np.int64)
    while len(frontier):
        owner[frontier] = who
        following = planes.next[frontier]
        keep = following >= 0
        frontier, who = following[keep], who[keep]
    return owner
