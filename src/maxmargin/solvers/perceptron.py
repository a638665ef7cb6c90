"""The perceptron, plain and averaged, on structures and on rows.

From ``w = 0``, at every mistake ``w += s_i (phi(x_i, y_i) - phi(x_i, yhat))`` with the plain decoder; on rows of two
classes a mistake is ``y_i <w, x_i> <= 0`` and the step ``s_i y_i x_i``, with a constant feature for the intercept. On
separable data it stops by itself, with equal weights ``s_i`` after at most ``(R / gamma)^2`` mistakes, where ``R`` is
the length of the longest step and ``gamma`` the best margin of weights of length 1 (Novikoff 1962); on other data it
never does. It does not minimise the objective: its certificate gives the objective at its weights with the trivial dual
bound 0. The averaged one goes on until the mean of the weights separates as well: once a pass makes no mistake, further
passes would not move the weights and only pull the mean towards them, so their visits are counted without being made.
Sources: Rosenblatt (1958); Freund and Schapire (1999); Collins (2002).
Cost of a pass: one call of the decoder for each example, or one product with each row. Memory: the weights (twice when
averaging).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from . import passes
from .base import Run, Step, Task
from .linear.perceptron import perceptron_pass
from .linear.task import LinearTask
from .options import check_bool

__all__ = ["Perceptron"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Perceptron:
    """Perceptron.

    Parameters
    ----------
    average : bool
        Return the mean of the weights after every visit (default), or the last weights.
    permuted : bool
        Visit the examples in a new random order each pass (default), or always as they are given.
    """

    average: bool = True
    permuted: bool = True

    def __post_init__(self) -> None:
        check_bool(self, "average", "permuted")

    @property
    def name(self) -> str:
        """Short name, as accepted by the estimators."""
        return "averaged_perceptron" if self.average else "perceptron"

    def start(self, task: Task | LinearTask) -> Run:
        """Begin a run on a structured task, or on a linear one for two classes.

        Raises
        ------
        DataError
            For other tasks.
        """
        return _PerceptronRun(self, task)


class _PerceptronRun(Run):
    """``n_mistakes`` counts the steps so far."""

    n_mistakes: int
    task: Any
    keeps_best = False

    def __init__(self, options: Perceptron, task: Task | LinearTask) -> None:
        self.options, self.task = options, task
        n_weights, self.visit = _visits_of(task, options.name)
        self.w = np.zeros(n_weights) if task.warm is None else np.array(task.warm.w, np.float64)
        self.average = np.zeros(n_weights if options.average else 0)
        self.state = np.zeros(passes.STATE_SIZE)
        self.settled = self.looked = False
        self.n_mistakes = 0

    def advance(self) -> Step:
        if not self.settled:
            examples = self.task.examples
            order = self.task.rng.permutation(examples) if self.options.permuted else examples
            mistakes = self.visit(self.w, self.average, order, self.task.weight, self.state)
            self.n_mistakes += mistakes
            self.settled = mistakes == 0
            separated = self.settled and not self.options.average
        else:
            if self.looked:
                self.state[passes.STEPS] *= 2.0
            self.looked = True
            separated = self._mean_separates()
        return Step(1, np.inf, 0.0, ready=separated, separated=separated)

    def _mean_separates(self) -> bool:
        """A pass that moves nothing, as all its steps have weight 0."""
        still = np.zeros(len(self.task.weight))
        unused = np.zeros(passes.STATE_SIZE)
        return self.visit(self.weights(), self.average[:0], self.task.examples, still, unused) == 0

    def weights(self) -> Reals:
        steps = self.state[passes.STEPS]
        if self.options.average and steps > 0:
            averaged: Reals = self.w - self.average / steps
            return averaged
        return self.w

    def dual(self) -> float:
        return 0.0


def _visits_of(task: Task | LinearTask, solver: str) -> tuple[int, Callable[[Reals, Reals, Ints, Reals, Reals], int]]:
    """The number of weights, and a pass: ``(w, average, order, s, state)`` to the number of mistakes."""
    if isinstance(task, Task):
        return task.oracle.n_weights, task.oracle.perceptron
    if isinstance(task, LinearTask) and task.signs:
        return task.n_weights, lambda w, average, order, s, state: perceptron_pass(task, w, average, order, s, state)
    raise DataError(f"{task.name}: {solver} is for structured machines and for linear classification")
