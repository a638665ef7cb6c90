"""Stochastic subgradient methods, of any task that :mod:`.objective` gives a face.

With ``P(w) = 1/2 |w|^2 + sum_i c_i loss_i(w)``, a batch of ``k`` of the ``n`` examples and steps ``r_t``::

    w <- w - r_t (w + n/k sum_(i in batch) c_i loss_i'(w)) + momentum (w - w_before)

and what is returned is a mean of the ``w``. ``P`` is ``1 / lambda`` times ``lambda/2 |w|^2 + 1/n sum_i loss_i`` with
``lambda = 1 / (n C)``, so a step of ``c/t`` is ``c / (lambda t)`` there. Where examples come in an order, ``n/k`` is
the number of batches of a pass, as if the last one were full.

Sources: Shalev-Shwartz, Singer, Srebro and Cotter (Mathematical Programming 2011; :class:`Pegasos`); Rakhlin, Shamir
and Sridharan (ICML 2012; suffix averages); Lacoste-Julien, Schmidt and Bach (2012), Shamir and Zhang (ICML 2013;
polynomial ones); Johnson and Zhang (NIPS 2013; variance reduction).

Lower bounds are those of the last multipliers of all rows (structured: of the planes of a pass) and of their mean over
the passes. Measured: the bound of that mean is about as far from the optimum as the weights are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._products import inner
from ..errors import DataError
from .base import Run, Step
from .chunks import chunks
from .linear.subgradient_steps import COLUMNS
from .objective import Bounds, Objective, Point, objective_of, starting_weights
from .options import check_bool, check_choice, check_option
from .oracle import Evaluation

__all__ = ["Pegasos", "Subgradient"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
_POWER = 3.0
_PASSES = 2
_LARGEST = 1e150
_GROWN = 1e10
_CHOICES = {
    "step": ("1/t", "1/sqrt(t)", "constant"),
    "averaging": ("none", "uniform", "suffix", "polynomial"),
    "order": ("permuted", "random", "cyclic"),
}


@dataclass(frozen=True)
class Subgradient:
    """Stochastic subgradient descent.

    Parameters
    ----------
    step : {"1/t", "1/sqrt(t)", "constant"}, optional
        ``r_t`` is ``c/t``, ``c/sqrt(t)`` or ``c``; by default the first, and constant with ``variance_reduction``.
        Constant ones end in a neighbourhood of the optimum that is the smaller the smaller they are.
    c : float, optional
        By default that for which a step is ``1/m`` after a pass of ``m`` steps: 1, ``1 / sqrt(m)``, ``1/m``; with
        ``momentum`` these times ``1 - momentum``, as ``1 / (1 - momentum)`` steps go the same way together; with
        ``variance_reduction`` ``1 / (2 L)``. For a loss with a derivative, ``L`` bounds how fast the gradient of one
        example changes (of the exponential loss and of a user's own: at a score of 0; of a user's own without a second
        derivative whose slopes are not bounded: over a margin of 1), and no step is longer than
        ``(1 - momentum) / L`` but constant ones that are given.
    averaging : {"none", "uniform", "suffix", "polynomial"}, optional
        Which mean of the weights is returned: the last weights; all; the last half of the steps, or up to the last
        three quarters (what the half is cannot be known before the end); all with the share
        ``(power + 1) / (t + power)`` of the ``t``-th. By default polynomial, and none with ``variance_reduction``.
    power : float, optional
        Of polynomial averaging: 3 by default as in Shamir and Zhang; 1 is that of Lacoste-Julien, Schmidt and Bach.
    order : {"permuted", "random", "cyclic"}
        A new permutation for each pass; independent draws; as the examples come (an estimator sorts small sets).
    batch : int
        Examples for each step.
    momentum : float in [0, 1)
        A step with it costs as much as there are weights.
    variance_reduction : bool
        For losses with a derivative: every two passes the gradient over all examples is computed, and a step takes that
        and the difference of the batch from what it said then (SVRG). Converges linearly.
    project : bool
        After each step bring the weights back into the ball of radius ``sqrt(P(0))``, in which the optimum is.

    Raises
    ------
    ValueError
        For options out of their range or that contradict each other.

    Notes
    -----
    A step on rows and rankings costs what the rows have of non-zeros, one on compiled structures the decoding and what
    the planes have; one on structures in plain Python, or with a user's own loss, and any with momentum, as much as
    there are weights as well: take batches. The step of a free intercept is longer than that of the weights by the mean
    of ``|x_i|^2``, as of the weight of a constant feature as long as the rows; the returned one is the best for the
    returned weights. A loss without a derivative has the subgradient 0 at its kink, and so has a structured example at
    the kink where its truth itself has the largest loss and score.

    The answer is the best of the weights to begin with and of the means at evaluations. What the first are worth takes
    another pass over the data, but on structures and rankings whose planes tell that it is more than that of the mean.
    """

    step: Literal["1/t", "1/sqrt(t)", "constant"] | None = None
    c: float | None = None
    averaging: Literal["none", "uniform", "suffix", "polynomial"] | None = None
    power: float | None = None
    order: Literal["permuted", "random", "cyclic"] = "permuted"
    batch: int = 1
    momentum: float = 0.0
    variance_reduction: bool = False
    project: bool = False

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            check_choice(self, name, allowed, optional=name != "order")
        if self.c is not None:
            check_option(self, "c", "a finite number above 0", lambda each: 0.0 < each < math.inf)
        if self.power is not None:
            check_option(self, "power", "a finite number above -1", lambda each: -1.0 < each < math.inf)
        _check_batch(self)
        check_option(self, "momentum", "at least 0 and below 1", lambda each: 0.0 <= each < 1.0)
        check_bool(self, "variance_reduction", "project")
        if self.power is not None and self.averaging not in (None, "polynomial"):
            raise ValueError(f"Subgradient: power is for polynomial averaging, not for averaging={self.averaging!r}")
        if self.project and self.momentum > 0.0:
            raise ValueError("Subgradient: project is for steps without momentum")
        if self.variance_reduction:
            given = {"power": self.power is not None, "momentum": self.momentum > 0.0, "project": self.project}
            given["a step that is not constant"] = self.step not in (None, "constant")
            given["averaging"] = self.averaging not in (None, "none")
            for name, wrong in given.items():
                if wrong:
                    raise ValueError(f"Subgradient: variance_reduction goes without {name}")

    @property
    def name(self) -> str:
        """Short name, as accepted by the estimators."""
        return "subgradient"

    def start(self, task: Any) -> Run:
        """Begin a run on a linear, structured or ranking task.

        Raises
        ------
        DataError
            For other tasks, and for ``variance_reduction`` of a loss without a derivative; during the run when the
            weights overflow, or their objective has grown beyond ``1e10`` times what it was both at the start and at
            the first evaluation: then the steps are too long.
        """
        return _SubgradientRun(self, self.name, task)


@dataclass(frozen=True)
class Pegasos:
    """Primal estimated subgradient solver: steps ``1 / (lambda t)`` on examples drawn at random, the last weights.

    Parameters
    ----------
    batch : int
        Examples for each step, drawn with replacement.
    project : bool
        Bring the weights back into the ball of radius ``1 / sqrt(lambda)`` after each step; with weights ``s_i`` or
        losses other than the hinge ``sqrt(P(0))``, which is the same for the hinge.
    """

    batch: int = 1
    project: bool = True

    def __post_init__(self) -> None:
        _check_batch(self)
        check_bool(self, "project")

    @property
    def name(self) -> str:
        """Short name, as accepted by the estimators."""
        return "pegasos"

    def start(self, task: Any) -> Run:
        """Begin a run, see :meth:`Subgradient.start`."""
        return _SubgradientRun(self._options(), self.name, task)

    def _options(self) -> Subgradient:
        return Subgradient("1/t", 1.0, "none", order="random", batch=self.batch, project=self.project)


def _check_batch(solver: Subgradient | Pegasos) -> None:
    check_option(solver, "batch", "an integer of at least 1", lambda each: each >= 1.0, integral=True)


class _SubgradientRun(Run):
    """A step stands for ``times`` as many examples as it sees; ``block`` is the step after which the mean began."""

    task: Any

    def __init__(self, options: Subgradient, name: str, task: Any) -> None:
        self.options, self.name, self.task = options, name, task
        self.objective = objective_of(task, name)
        self.bounds = Bounds(self.objective)
        smooth = self.objective.smooth
        if options.variance_reduction and not smooth:
            such = ", such as 'squared_hinge' (of a CustomLoss its bend)"
            if getattr(task, "oracle", None) is not None:
                such = ", which the largest violation of an output has not: leave it out"
            raise DataError(f"{task.name}: variance_reduction needs a loss with a derivative{such}")
        n = len(task.examples)
        self.size = min(int(options.batch), n)
        self.m = -(-n // self.size)
        self.times = n / self.size if options.order == "random" else float(self.m)
        self.averaging = options.averaging or ("none" if options.variance_reduction else "polynomial")
        self.free = self.objective.has_bias and not self.objective.ridge[-1] > 0.0
        self.bias = self.objective.bias_square
        self.step = options.step or ("constant" if options.variance_reduction else "1/t")
        given = options.c is not None and self.step == "constant"
        together = 1.0 - options.momentum  # that many steps in one direction are worth one without momentum
        bent = smooth or self.objective.steep
        self.longest = together / (1.0 + self.objective.change()) if bent and not given else math.inf
        usual = {"1/t": 1.0, "1/sqrt(t)": self.m**-0.5, "constant": 1.0 / self.m}[self.step]
        self.c = options.c or together * usual
        if options.variance_reduction and options.c is None:
            self.c = 0.5 * self.longest
        self.steps = self._first_steps()
        self.taken = self.block = self.passes = self.next = 0
        self.earlier: tuple[int, Reals] | None = None
        self.primal = math.inf
        self.found: Reals | None = None
        self.most: float | None = None  # what the first mean and the weights to begin with are worth, the larger

    def _first_steps(self) -> Any:
        options, task = self.options, self.task
        w = starting_weights("zero", task, self.objective.n_weights)
        self.start = w.copy()
        radius = math.sqrt(self.objective.at(np.zeros_like(w)).value) if options.project else math.inf
        averaged = self.averaging != "none"
        ways: dict[str, Any] = {"averaged": averaged, "momentum": options.momentum, "radius": radius}
        compiled = self.objective.steps(w, **ways, anchored=options.variance_reduction)
        return _PlainSteps(self.objective, w, **ways) if compiled is None else compiled

    def advance(self) -> Step:
        self.found = None
        # the look at the weights to begin with may take a pass of its own: it is left room
        look = int(self.most is None and not self.objective.by_example)
        if self.options.variance_reduction:
            return self._reduced_pass(self.passes_left - look)
        if self.passes_left < 1 + look:
            return Step(0, math.inf, self.bounds.best, ready=True)
        self._pass()
        if self.averaging == "suffix" and self.passes & (self.passes - 1) == 0:  # 1, 2, 4, 8, ...
            self.earlier, self.block = (self.taken - self.block, self.steps.mean()), self.taken
        due, passes = self.passes >= self.next, 1
        if due:
            self.next = int(1.2 * self.passes) + 1
        if self.objective.by_example or self.options.order != "random":
            self.bounds.add(self.steps.a)
        elif due and self.passes_left >= 2 + look:  # planes of some examples, and twice of others, are no dual point
            at = self.objective.at(self._mean())
            self.bounds.add(at.dual)
            self.bounds.look(at.dual)
            passes += 1
        return Step(passes, self.primal - self.bounds.best, self.bounds.best, ready=due)

    def _reduced_pass(self, most: float) -> Step:
        anew = self.passes % _PASSES == 0
        if anew:
            at = self.objective.at(self.steps.last())
            self.primal = at.value
            self.bounds.add(at.dual)
            self.steps.set_anchor(at, self.times)
        together = 1 + anew
        if together > most:  # the weights stay as they are
            return Step(1, self.primal - self.bounds.best, self.bounds.best, ready=True)
        self._pass()
        return Step(together, self.primal - self.bounds.best, self.bounds.best)

    def _pass(self) -> None:
        """One pass over the examples, or as many draws."""
        examples, rng = self.task.examples, self.task.rng
        if self.options.order == "random":
            order = examples[rng.integers(0, len(examples), self.m * self.size)]
        else:
            order = examples if self.options.order == "cyclic" else rng.permutation(examples)
        plan, size = self._plan(), self.size
        if not self.objective.by_example:
            self.steps.a[:] = 0.0
        for low, high in self._parts():
            self.steps.take(order[low * size : high * size], size, plan[low:high])
            self.taken += high - low
        if not np.abs(self.steps.last()).max(initial=0.0) <= _LARGEST:
            raise self._too_long("weights have overflowed")
        self.passes += 1

    def _too_long(self, what: str) -> DataError:
        return DataError(
            f"{self.task.name}: {self.name}: the {what}, as the steps are too long; give a smaller c, such as "
            f"Subgradient(c={0.1 * self.c:.3g}), or scale the features down"
        )

    def _parts(self) -> Iterator[tuple[int, int]]:
        """Steps of a pass from one number to another, between which it is seen whether time is over."""
        if not isinstance(self.steps, _PlainSteps):
            low = 0
            for run in chunks(np.arange(self.m * self.size), self.task.deadline):  # examples: a step may see many
                high = int(run[-1]) // self.size + 1
                if high > low:
                    yield low, high
                low = high
            return
        for k in range(self.m):
            if k:
                self.task.deadline.check()
            yield k, k + 1

    def _plan(self) -> Reals:
        """The next pass, see :data:`COLUMNS`."""
        t = self.taken + np.arange(1.0, self.m + 1.0)
        length = {"1/t": self.c / t, "1/sqrt(t)": self.c / np.sqrt(t), "constant": np.full(self.m, self.c)}[self.step]
        length = np.minimum(length, self.longest)
        plan = np.empty((self.m, COLUMNS))
        plan[:, 0], plan[:, 1] = 1.0 - length, length * self.times
        plan[:, 2], plan[:, 3] = 1.0 if self.free else plan[:, 0], plan[:, 1] * self.bias
        power = self.options.power if self.options.power is not None else _POWER
        if self.averaging != "polynomial":
            power = 0.0
        plan[:, 4] = (power + 1.0) / (t - self.block + power)
        return plan

    def weights(self) -> Reals:
        return self._mean() if self.found is None else self.found

    def _mean(self) -> Reals:
        if self.averaging == "none":
            last: Reals = self.steps.last()
            return last
        w: Reals = self.steps.mean()
        if self.earlier is not None:
            count, before = self.earlier
            w += count / (count + self.taken - self.block) * (before - w)
        return w

    def dual(self) -> float:
        """The best bound, recomputed; sets the weights to be returned, with the best intercept."""
        self.found = self.objective.settled(self._mean())
        return self.bounds.latest()

    def evaluate(self, w: Reals) -> Evaluation:
        """At the first of the means those of the weights to begin with, to which ``w`` is set, where they are better.

        Later ones need no such look, as the outer loop keeps the best.
        """
        found: Evaluation = self.task.evaluate(w)
        self.primal = self._worth(w, found)
        if w is not self.found:
            return found
        if self.most is None:
            if self.primal <= self._sure() or not self.taken:
                self.most = self.primal
            else:
                found = self._better(w, found)  # sets it when all is done: Ctrl-C may end this
        elif not self.primal <= _GROWN * self.most:
            raise self._too_long("objective grows from pass to pass")
        return found

    def _better(self, w: Reals, found: Evaluation) -> Evaluation:
        start = self.objective.settled(self.start)
        other: Evaluation = self.task.evaluate(start)
        if not self.objective.by_example:  # a look of its own: the one after the next pass is left out
            self.owed, self.next = 1, max(self.next, self.passes + 2)
        value = self._worth(start, other)
        self.most = max(value, self.primal)
        if self.primal <= value:
            return found
        w[:] = start
        self.primal = value
        return other

    def _worth(self, w: Reals, found: Evaluation) -> float:
        return float(self.task.penalty(w)) + inner(self.task.c[self.task.examples], found.slack)

    def _sure(self) -> float:
        """What the weights to begin with are worth at least, by the planes of a pass over each example."""
        if self.objective.by_example or self.options.order == "random":
            return -math.inf
        slope, offset = self.steps.a[:-1], float(self.steps.a[-1])
        return float(self.task.penalty(self.start)) + inner(slope, self.start) + offset


class _PlainSteps:
    """As :class:`~.linear.subgradient_steps.CompiledSteps`, by the subgradients of any objective.

    Each step moves all weights.

    Attributes
    ----------
    a : float64 array
        A dual point after a pass over each example, see :meth:`Objective.slope_of`.
    """

    def __init__(self, objective: Objective, w: Reals, *, averaged: bool, momentum: float, radius: float) -> None:
        self.objective, self.momentum, self.radius = objective, momentum, radius
        self.w, self.move = w, np.zeros_like(w)
        self.z = w.copy() if averaged else np.empty(0)
        self.a = objective.no_dual()
        self.anchor: tuple[Reals, Reals] | None = None

    def set_anchor(self, point: Point, times: float) -> None:
        """See :meth:`~.linear.subgradient_steps.CompiledSteps.set_anchor`."""
        self.anchor = point.w.copy(), point.slope / times

    def take(self, order: Ints, size: int, plan: Reals) -> None:
        """See :meth:`~.linear.subgradient_steps.CompiledSteps.take`."""
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused after the pass
            for k, columns in enumerate(plan):
                self._step(order[k * size : (k + 1) * size], *columns)

    def _step(
        self, examples: Ints, factor: float, stride: float, bias_factor: float, bias_stride: float, share: float
    ) -> None:
        slope = self.objective.slope_of(self.w, examples, self.a)
        if self.anchor is not None:
            w, rest = self.anchor
            slope = slope - self.objective.slope_of(w, examples) + rest
        w = factor * self.w - stride * slope
        if self.objective.has_bias:
            w[-1] = bias_factor * self.w[-1] - bias_stride * slope[-1]
        if self.momentum > 0.0:
            w += self.momentum * self.move
            self.move = w - self.w
        if self.radius < math.inf:
            norm = math.sqrt(inner(self.objective.ridge, w * w))
            if norm > self.radius:
                w[self.objective.ridge > 0.0] *= self.radius / norm
        self.w = w
        if len(self.z):
            self.z += share * (w - self.z)

    def last(self) -> Reals:
        """The weights, as a copy."""
        return self.w.copy()

    def mean(self) -> Reals:
        """Their mean, as a copy."""
        return self.z.copy()
