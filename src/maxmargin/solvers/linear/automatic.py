"""The solver of linear machines that suits the problem: coordinate ascent, and interior point where that is slow.

Coordinate ascent comes first: its passes are cheap, and on most data a dozen suffice. From its progress it is seen how
many more the tolerance would take; where they would cost more than an interior point method, that one takes over, or
Newton's method for squares of hinges with few features for each row, which it follows where steps bring little. The
decision counts operations and never looks at a clock, so the same data always give the same model. From a fit with
another ``C`` there may be a still shorter way: Newton's method at once, or see :mod:`.following`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...losses import Exponential, Logistic
from ...terms import Terms, hinges_only
from ..base import Run, Solver, Step, WarmStart
from ..bundle import Bundle
from ..oracle import Evaluation
from ..progress import LATE, MOST, Progress
from .alternating import Alternating
from .band import COST, suits
from .block_ascent import BlockAscent
from .coordinate_ascent import CoordinateAscent
from .crammer_singer import CrammerSinger, MulticlassTask
from .following import following
from .interior_point import InteriorPoint
from .multiclass_block_ascent import MulticlassBlockAscent
from .multiclass_interior_point import MulticlassInteriorPoint
from .newton import Newton, has_cheap_matrix
from .normal_equations import passes_for_matrix
from .row_basis import shortest
from .task import LinearTask

__all__ = ["Automatic", "First", "Switching"]

Reals = NDArray[np.float64]
_FIRST_LOOK = 8
_ITERATIONS = 25
# Of what interior point costs coordinate ascent has so much before its progress is believed, and so much in all, where
# that is enough for its leaps to show: with about as many features as rows they end suddenly after a hundred passes or
# two, and the other way costs thousands (measured: up to 50 times as long without; where they bring nothing it adds
# this share)
_PATIENCE, _IN_ALL, _ENOUGH = 0.1, 0.25, 64
# Newton's method for squares of hinges is the better one of so many features for each row at most, where interior point
# costs so many passes at least; what it costs in passes itself, and from which of its own on slow progress is believed
# (measured: 15 to 60 in all; of more features, where C is large, its conjugate gradients take thousands)
_NARROW, _DEAR, _OF_CURVATURE, _NEWTON_LOOK = 0.25, 200.0, 40.0, 40
# of several classes so many up to a thousand rows, and more of more: this power of how many times as many (measured: 25
# to 30 with 2,000 rows, 40 to 90 with 4,000, 80 to 150 with 40,000)
_MORE_OF_MORE = 0.4
# work of coordinate ascent in passes over all rows, evaluations included, where there is another way: whatever is
# believed
_LAST = 900
_WIDEST = 4000
# of several classes: see multiclass_first_look; passes before blocks of rows have a turn, and after that before the
# interior point method; all together leave enough for it
_TRIED, _TRIED_MOST, _WITH_BLOCKS = 0.25, 500, 300
_TURN = 2.0  # work of the first turn of blocks, over all before it (measured: 1 and 4 are slower on some texts)
# when shrunk rows are taken back the gap jumps for a pass or two: later on, one slow look does not decide
_IN_A_ROW, _EARLY = 3, 32
_LESS = 0.99
_OF_NEWTON = 100.0  # passes: most losses take a few dozen, and the bundle method as many again


class First(NamedTuple):
    """What is said of the method that comes first: its name, why it does, and what makes it slow."""

    name: str
    reason: str
    slow: str


_SWEEPS = First(
    "coordinate ascent", "its passes are cheap and it converges fast here", "unscaled features or a large C"
)
_NEAR = First(
    "Newton's method", "the fit before is near and the features are few", "curvature that vanishes, or a large C"
)
_OWN = First("Newton's method", "the loss is smooth and no sum of hinges", "curvature that vanishes, or a large C")
_CURVED = First("Newton's method", "squares of hinges bend, and the features are few", _OWN.slow)


@dataclass(frozen=True)
class Automatic:
    """Coordinate ascent, then an interior point method or Newton's where that is the shorter way.

    Losses that are no sums of hinges are for Newton's method, or, where they have kinks, for the bundle method, which
    also takes over from Newton's where the curvature of a user's own loss tells too little.
    """

    @property
    def name(self) -> str:
        """Short name, as accepted by the estimators."""
        return "auto"

    def start(self, task: LinearTask | MulticlassTask) -> Run:
        """Begin a run."""
        if isinstance(task, MulticlassTask):
            return _of_classes(task)
        if isinstance(task.terms, Terms):
            return _beside_a_fit(task) if task.moved else _usual(task)
        if task.terms.smooth and type(task.terms.loss) not in (Logistic, Exponential):
            return Switching(task, Newton(), Bundle(), _OF_NEWTON, _OWN)
        run: Run = (Newton() if task.terms.smooth else Bundle()).start(task)
        run.reason = _OWN.reason if task.terms.smooth else "the loss has kinks and no sum of hinges"
        return run


def _beside_a_fit(task: LinearTask) -> Run:
    """From one with another ``C``; where that took an interior point method, Newton's may find no way."""
    assert task.warm is not None
    budget = interior_point_in_passes(task)
    few = has_cheap_matrix(task.rows) or (_is_narrow(task) and budget < math.inf)
    if task.terms.smooth and few and task.warm.solver != InteriorPoint().name:
        return Switching(task, Newton(), InteriorPoint(), budget, _NEAR, _NEWTON_LOOK)
    return following(task, _usual)


def _is_narrow(task: LinearTask) -> bool:
    """Whether there are so few features for each row that conjugate gradients need few products."""
    n, d = task.rows.shape
    return d <= _NARROW * n


@dataclass(frozen=True)
class _Turns:
    """Of several classes: coordinate ascent, and blocks of rows by turns where that takes long."""

    @property
    def name(self) -> str:
        """That of the one that begins."""
        return CrammerSinger().name

    def start(self, task: MulticlassTask) -> Run:
        """Begin a run."""
        return Alternating(task, [CrammerSinger(), MulticlassBlockAscent()], _SWEEPS.reason, _TRIED_MOST, _TURN)


def _of_classes(task: MulticlassTask) -> Run:
    """Of several classes: blocks of rows where features outnumber rows, or are more than a matrix may have."""
    budget = multiclass_in_passes(task)
    if budget == math.inf:
        return _Turns().start(task)
    first = _Turns() if task.rows.shape[0] < task.rows.shape[1] else CrammerSinger()
    return Switching(task, first, MulticlassInteriorPoint(), budget, first_look=multiclass_first_look(task, budget))


@dataclass(frozen=True)
class _Curved:
    """Newton's method for squares of hinges, and interior point where its steps bring little."""

    @property
    def name(self) -> str:
        """That of the one that begins."""
        return Newton().name

    def start(self, task: LinearTask) -> Run:
        """Begin a run."""
        return Switching(task, Newton(), InteriorPoint(), interior_point_in_passes(task), _CURVED, _NEWTON_LOOK)


def _usual(task: LinearTask) -> Run:
    """For hinges and their squares."""
    budget = interior_point_in_passes(task)
    if budget < math.inf:
        if task.terms.smooth and _is_narrow(task) and budget >= _DEAR:
            return Switching(task, CoordinateAscent(), _Curved(), _OF_CURVATURE)
        tried = int(min(_PATIENCE * budget, _TRIED_MOST))
        first_look, patience = (tried, _IN_ALL * budget) if tried >= _ENOUGH else (_FIRST_LOOK, 0.0)
        return Switching(task, CoordinateAscent(), InteriorPoint(), budget, first_look=first_look, patience=patience)
    # more features than a matrix may have
    if hinges_only(task.terms, task.name, "auto").squared:
        return Alternating(task, [CoordinateAscent(), Newton(), BlockAscent()], _SWEEPS.reason)
    return Alternating(task, [CoordinateAscent(), BlockAscent()], _SWEEPS.reason, MOST)


class _Left(Run):
    """A run that has been left: its answer, without all else that it took."""

    task: Any

    def __init__(self, task: Any, w: Reals, value: float) -> None:
        self.task = task
        self.w, self.value = w, value

    def advance(self) -> Step:
        raise RuntimeError("this run has been left")

    def weights(self) -> Reals:
        return self.w

    def dual(self) -> float:
        return self.value


class Switching(Run):
    """``first`` has cheap passes, as coordinate ascent; ``second``, as interior point, costs ``budget`` of them.

    ``first`` is not left before ``first_look`` passes, and where it promises to be done within ``patience``, whatever
    else is said of long runs.
    """

    task: Any

    def __init__(
        self,
        task: Any,
        first: Solver,
        second: Solver,
        budget: float,
        told: First = _SWEEPS,
        first_look: int = _FIRST_LOOK,
        patience: float = 0.0,
    ) -> None:
        self.task, self.told, self.first_look = task, told, first_look
        self.second, self.budget, self.patience = second, budget, patience
        ends = (second.name, InteriorPoint().name) if isinstance(second, _Curved) else (second.name,)
        self.switched = task.warm is not None and task.warm.solver in ends and not _is_easier(task)
        if self.switched:
            self.run: Run = second.start(task)
            self.label, self.reason = second.name, "the fit that this one begins with ended with it"
        else:
            self.run = first.start(task)
            self.label, self.reason = first.name, told.reason
        self._tell_turns()
        self.optimism, self.cheap_passes = self.run.optimism, self.run.cheap_passes
        self.progress = Progress()  # of the first one
        self.slow = self.looks = 0
        self.before: tuple[Reals, float, float] | None = None
        self.point: Reals | None = None

    def advance(self) -> Step:
        self.run.passes_left, self.run.at_once = self.passes_left, self.at_once
        most = max(_LAST, self.patience)
        if not self.switched and self.budget < math.inf:  # no pass of many is to go beyond the last
            self.run.passes_left = min(self.passes_left, max(int(most - self.progress.work) - self.looks, 1))
        step = self.run.advance()
        self._tell_turns()
        if self.switched:
            return step
        progress = self.progress
        progress.add(step)
        done = progress.passes
        if self.budget == math.inf or done < self.first_look:
            return step
        remaining = progress.remaining(self.task.tol)
        last = progress.work + self.looks >= most  # no promise was kept
        late = progress.is_late(remaining, max(MOST, self.patience))
        self.slow = self.slow + 1 if remaining > self.budget or late else 0
        # after as much work as the other way costs that one is taken, whatever the progress promises: then neither
        # choice costs more than twice the better one
        if last or progress.work >= self.budget or self.slow >= (1 if done < _EARLY else _IN_A_ROW):
            self._switch(remaining)
        return step

    def _tell_turns(self) -> None:
        """Whose turn it is, where several have turns or the second one has been left, too."""
        if isinstance(self.run, Alternating) or (isinstance(self.run, Switching) and self.run.label != self.label):
            self.label, self.reason = self.run.label, self.run.reason

    def _switch(self, remaining: float) -> None:
        task = self.task
        value = self.run.dual()
        known = [self.run.weights().copy(), *([] if task.warm is None else [task.warm.w])]
        # what is left of coordinate ascent: its arrays are as many as those to come
        self.run = _Left(task, known[0], value)
        objective, best = min(((task.objective(w), w) for w in known), key=lambda pair: pair[0])
        self.before = (best, objective, value)
        self.run = _Left(task, best, value)
        task.warm = WarmStart(best)  # better to begin with than any simple ones
        self.run = self.second.start(task)
        self.label, self.switched = self.second.name, True
        self.reason = (
            f"{self.told.name} would take about {remaining:.0f} more passes ({self.told.slow}); "
            + (
                f"this costs as much as {self.budget:.0f}"
                if remaining > self.budget or self.progress.work >= self.budget
                else f"more than {MOST}"
            )
            if remaining < math.inf
            else f"{self.told.name} stands still ({self.told.slow})"
        )

    def change_way(self) -> bool:
        if (not self.switched or isinstance(self.run, Switching)) and self.run.change_way():
            self._tell_turns()
            return True
        if self.switched or self.budget == math.inf:
            return False
        self._switch(math.inf)
        return True

    def weights(self) -> Reals:
        return self.run.weights() if self.point is None else self.point

    def evaluate(self, w: Reals) -> Evaluation:
        return self.run.evaluate(w)

    def dual(self) -> float:
        """What coordinate ascent had found is not lost, as long as it is the better."""
        value, self.point = self.run.dual(), None
        self.looks += 1
        if self.before is not None:
            w, objective, lower = self.before
            value = max(value, lower)
            if objective < self.task.objective(self.run.weights()):
                self.point = w
            else:
                self.before = (w, math.inf, value)
        return value


def _is_easier(task: Any) -> bool:
    """Whether coordinate ascent may be the shorter way although the fit to begin with left it.

    Of several classes where ``C`` has fallen: a step of the other method costs some dozen passes there.
    """
    warm = task.warm
    if not isinstance(task, MulticlassTask) or warm is None or warm.beta is None:
        return False
    return float(task.c.sum()) < _LESS * float(warm.beta.sum())


def interior_point_in_passes(task: LinearTask) -> float:
    """What an interior point method costs, counted in passes of coordinate ascent; infinite where it is no choice.

    Beside the matrix the products with the rows take five (measured, one core).
    """
    return _ITERATIONS * (passes_for_matrix(task.rows) + 5.0) * (COST if suits(task) else 1.0)


def multiclass_first_look(task: MulticlassTask, budget: float) -> int:
    """From which pass on slow progress is believed, of several classes; the other way costs ``budget`` of them.

    Leaps between the passes end suddenly where features outnumber rows, and before that the gap may stand still for
    hundreds of passes: what is left of them no rate tells, so a share of what the other way costs is spent to see. It
    costs a hundred times what blocks of rows do there, most often: these have had a turn by then (measured on texts).
    """
    n, d = task.rows.shape
    if n < d:
        return int(max(_FIRST_LOOK, min(_TRIED * budget, _TRIED_MOST + _WITH_BLOCKS)))
    # by then leaps have shown what they bring, at a quarter of what the other way costs
    return LATE if budget > MOST else _FIRST_LOOK


def multiclass_in_passes(task: MulticlassTask) -> float:
    """The same for several classes at once, whose matrix has a block for every two of them but the last.

    Where features outnumber rows it is that of a basis of the rows, which has to be found first.
    """
    rows, k = task.rows, len(task.costs)
    (n, d), width = rows.shape, shortest(rows, task.free)
    if width * k > _WIDEST:
        return math.inf
    entries, sparse, basis = max(rows.entries, 1), rows.sparse, 0.0
    if width < d:
        basis = 4.0 * n * n * d / (16.0 * entries * k)
        entries, sparse = n * width, False
    # of products with the rows, in which those of the basis may be longer than those of coordinate ascent
    blocks = 0.5 * (k - 1) * (entries / max(n, 1) / (2.0 if sparse else 8.0) + 2.0)
    products = (blocks + 8.0) * entries / max(rows.entries, 1)
    factor = (width * (k - 1)) ** 3 / 3.0 / max(16.0 * rows.entries * k, 1.0)
    iterations = _ITERATIONS * math.pow(max(n / 1000.0, 1.0), _MORE_OF_MORE)
    return basis + iterations * (products + factor)
