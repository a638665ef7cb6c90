"""One pass over examples of a structured problem that come piece by piece, where nobody knows how many will come.

After ``n`` examples the objective is ``P_n(w) = 1/2 |w|^2 + C sum_(i <= n) s_i xi_i``, that of a fit of these. The
steps are those of :mod:`maxmargin.solvers.linear.stream`: ``G_n`` is the sum of the subgradients ``s_i psi_i`` that the
examples met, each found by one loss-augmented decoding at the weights ``w_i`` (Ratliff, Bagnell and Zinkevich 2007).

``beta_n`` has to be known before the decoding, so there stands ``|phi(x_i, y_i)|^2`` for ``|x_i|^2``. (The square of
``psi_i``, the difference of two such vectors, is twice that for several classes, and for sequences up to twice that
where attributes do not repeat. With twice as much, streams of several classes came nearer to the optimum where rows
have few features, and less near where they have tens; streams of sequences came less near.) There ``e`` is the root
mean square of the largest losses of the first 64 examples that can have one, which are decoded once more for that, at
weights of 0. So the features may have any unit, all of them together, and so may the losses. Intercepts of several
classes, the weights of a constant feature, have their own ``beta_n`` with eight times its square for ``|x_i|^2``:
beside features of another size one for both had hardly moved the smaller.

The weights stay as the steps keep them, products with factors that are put off, also between two pieces and in a file:
they are the same to the last bit whatever the pieces are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .base import Task
from .chunks import chunks
from .compiled_oracle import CompiledOracle
from .linear.stream import Stream
from .oracle import Oracle
from .scaled_weights import MEAN_U, MEAN_Z, SCALE, TAKEN
from .structured_objective import StructuredObjective
from .structured_steps import StructuredSteps

__all__ = ["StructuredStream"]

Reals = NDArray[np.float64]
# of the square of the constant feature (measured: less near with 1 and 2, and from 4 to 16 much the same)
_OF_CONSTANT = 8.0
_LOOKED_AT = 64  # examples that tell the size of the losses
_FACTORS = [SCALE, MEAN_U, MEAN_Z]


class StructuredStream(Stream):
    """Weights of a structured problem that learn from one piece of a stream after another.

    Parameters
    ----------
    n_weights : int
    C : float
    intercept : {"free", "penalized", "none"}
    n_intercepts : int
        How many of the last weights they are.
    constant : float
        Value of the feature that they belong to.
    """

    unit = "example"
    first_figures = (*Stream.first_figures, 0.0, 0.0, 1.0, 0.0, 1.0)

    def __init__(
        self, n_weights: int, C: float, intercept: str = "none", n_intercepts: int = 0, constant: float = 0.0
    ) -> None:
        self.n_intercepts, self.constant = n_intercepts, constant
        super().__init__(n_weights, C, intercept)

    @property
    def n_weights(self) -> int:
        """Number of weights, the intercepts included."""
        return self.d

    def state(self) -> tuple[int, Reals, Reals, Reals]:
        """All it goes on from, as of :class:`~.linear.stream.Stream`, with five figures more.

        These are the number of examples that told the size of the losses and the sum of its squares, and the factors of
        :mod:`~maxmargin.solvers.scaled_weights`: what stands in the place of the last weights and of their mean are the
        vectors that they belong to.
        """
        steps: StructuredSteps = self.steps
        figures = np.concatenate([self._figures(), self._looked, steps.state[_FACTORS]])
        return self.seen, steps.u.copy(), steps.z.copy(), figures

    def go_on_from(self, seen: int, last: Reals, mean: Reals, figures: Reals) -> None:
        """Take over what :meth:`state` gave.

        Raises
        ------
        ValueError
            For figures that no examples have.
        """
        own, looked, factors = np.split(figures, [len(Stream.first_figures), len(figures) - len(_FACTORS)])
        if not (factors >= 0.0).all() or 0.0 in factors[[0, 2]]:
            raise ValueError("factors of weights that no steps have")
        if not (looked >= 0.0).all():
            raise ValueError("figures of losses that no examples have")
        super().go_on_from(seen, last, mean, own)
        self._looked = looked.copy()
        self.steps = StructuredSteps(last, n_apart=self.n_intercepts, averaged=True, mean=mean)
        self.steps.state[_FACTORS] = factors

    def weights(self) -> Reals:
        """Mean weights; what was put off stays so."""
        state = self.steps.state
        return np.asarray(state[MEAN_U] * self.steps.u + state[MEAN_Z] * self.steps.z)

    def take_examples(self, oracle: Oracle, weight: Reals, at: int = 0, squares: Reals | None = None) -> None:
        """One step for each example of positive weight in turn.

        What fails leaves the stream as it was; after Ctrl-C it is that of the examples before.

        Parameters
        ----------
        oracle : Oracle
            It may have more weights than the stream so far: the new ones begin at 0.
        weight : float64 array of shape (n_examples,)
            ``s_i``.
        at : int
            Where new weights stand, one after another.
        squares : float64 array of shape (n_examples,), optional
            ``|phi(x_i, y_i)|^2`` without the constant feature, where they are at hand.
        """
        task = Task(oracle, 1.0, weight, np.flatnonzero(weight > 0.0), np.random.default_rng(0), 0.0)
        order = task.examples
        looked = np.cumsum(np.column_stack([self._looked, self._look(task)]), axis=1)[:, 1:]
        scale = np.sqrt(looked[1] / np.maximum(looked[0], 1.0))
        plan, keep = self._plan(self._loads(task, squares), np.zeros((2, len(order))), scale=scale)
        steps: StructuredSteps = self.steps
        before, begun = (self.d, steps.u, steps.z, steps.state.copy()), 0
        new = np.zeros(oracle.n_weights - self.d)
        steps.turn_to(StructuredObjective(task))
        try:
            self.d, steps.u, steps.z = oracle.n_weights, *(np.concatenate([x[:at], new, x[at:]]) for x in before[1:3])
            with task.deadline.watching():
                for run in chunks(order) if isinstance(oracle, CompiledOracle) else order[:, None]:
                    steps.take(run, 1, plan[begun : begun + len(run)])
                    begun += len(run)
                    task.deadline.check()
        except Exception:
            steps.state[TAKEN] = 0.0
            raise
        finally:
            done = int(steps.state[TAKEN])  # Ctrl-C may come between a step and its being counted here
            if not done:
                self.d, steps.u, steps.z, steps.state = before
            steps.state[TAKEN] = 0.0
            steps.release()
            keep(done)
            if done:
                self._looked = looked[:, done - 1].copy()

    def _loads(self, task: Task, squares: Reals | None) -> Reals:
        """What lengths of steps go by, see ``_plan``."""
        order, oracle = task.examples, task.oracle
        loads = np.zeros((3, len(order)))
        with np.errstate(over="ignore"):
            loads[0] = task.weight[order] * (oracle.squares_of_truths(order) if squares is None else squares[order])
            loads[1] = task.weight[order] * _OF_CONSTANT * self.constant**2
        if not np.isfinite(loads).all():
            raise DataError(f"{oracle.name}: features and weights are too large to compute with; scale them down")
        return loads

    def _look(self, task: Task) -> Reals:
        """Of each example whether it is one that tells the size of the losses, and the square of its largest one."""
        order, oracle = task.examples, task.oracle
        found = np.zeros((2, len(order)))
        at, wanted = 0, _LOOKED_AT - int(self._looked[0])
        while wanted > 0 and at < len(order):
            some = order[at : at + wanted]
            most = oracle.evaluate(np.zeros(oracle.n_weights), some).slack
            found[:, at : at + len(some)] = most > 0.0, most * most
            at += len(some)
            wanted -= int(np.count_nonzero(most))
        return found
