"""The structured perceptron, plain and averaged (Collins 2002; Freund and Schapire 1999).

From ``w = 0``, at every mistake ``w += s_i (phi(x_i, y_i) - phi(x_i, yhat))`` with the plain decoder. On separable data
it stops by itself after at most ``(R / gamma)^2`` mistakes; on other data it never does. It does not minimise the
objective: its certificate gives the objective at its weights with the trivial dual bound 0. The averaged one goes on
until the mean of the weights separates as well: once a pass makes no mistake, further passes would not move the weights
and only pull the mean towards them, so their visits are counted without being made.
Cost of a pass: one call of the decoder for each example. Memory: the weights (twice when averaging).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from . import passes
from .base import Run, Step, StructuredRun, Task

__all__ = ["Perceptron"]


@dataclass(frozen=True)
class Perceptron:
    """Structured perceptron.

    Parameters
    ----------
    average : bool
        Return the mean of the weights after every visit (default), or the last weights.
    """

    average: bool = True

    @property
    def name(self) -> str:
        """Short name, as accepted by the estimators."""
        return "averaged_perceptron" if self.average else "perceptron"

    def start(self, task: Task) -> Run:
        """Begin a run."""
        return _PerceptronRun(self, task)


class _PerceptronRun(StructuredRun):
    keeps_best = False

    def __init__(self, options: Perceptron, task: Task) -> None:
        self.options, self.task = options, task
        self.w = np.zeros(task.oracle.n_weights) if task.warm is None else np.array(task.warm.w, np.float64)
        self.average = np.zeros(task.oracle.n_weights if options.average else 0)
        self.state = np.zeros(passes.STATE_SIZE)
        self.settled = self.looked = False

    def advance(self) -> Step:
        if not self.settled:
            order = self.task.rng.permutation(self.task.examples)
            mistakes = self.task.oracle.perceptron(self.w, self.average, order, self.task.weight, self.state)
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
        return self.task.oracle.perceptron(self.weights(), self.average[:0], self.task.examples, still, unused) == 0

    def weights(self) -> NDArray[np.float64]:
        steps = self.state[passes.STEPS]
        if self.options.average and steps > 0:
            averaged: NDArray[np.float64] = self.w - self.average / steps
            return averaged
        return self.w

    def dual(self) -> float:
        return 0.0
