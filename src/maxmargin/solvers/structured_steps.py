"""Steps of stochastic subgradient methods on compiled structures: many of them for each call.

A step costs the loss-augmented decoding of its examples and what their planes have of non-zeros: weights and their mean
are those of :mod:`~maxmargin.solvers.scaled_weights`, so that no step moves all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from .._compiled import array, compiled, kernel
from .._products import inner
from ..structures.base import signatures
from .buffers import Astray, Buffers, features_astray, has_nan, parts_astray
from .compiled_oracle import CompiledOracle
from .objective import Objective
from .oracle import Oracle
from .planes import write_difference
from .scaled_weights import MEAN_U, MEAN_Z, SCALE, TAKEN, ScaledWeights, move

__all__ = ["NEAR", "StructuredSteps", "squares_of_truths"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]
NEAR = 1e-6
"""Slacks beside which rounding may count, relative to loss and weights."""
_EPSILON = float(np.finfo(np.float64).eps)
_BUFFER = 1024


@compiled
def _longer(keys, values, at, size):
    """Buffers of at least that size with the first ``at`` entries of these."""
    size = max(size, 2 * len(keys))
    more_keys, more_values = np.empty(size, np.int64), np.empty(size)
    for q in range(at):
        more_keys[q], more_values[q] = keys[q], values[q]
    return more_keys, more_values


@compiled
def _apart(keys, values, n, factor, stride, first, u, z, state):
    """What makes a step of all weights one that from ``first`` on has another factor and stride: so many times those.

    The mean stays as it is.
    """
    for q in range(n):
        if keys[q] >= first:
            values[q] *= stride
    back = state[MEAN_U] / state[MEAN_Z] if len(z) > 0 else 0.0
    for k in range(first, len(u)):
        push = (factor - 1.0) * u[k]
        u[k] += push
        if len(z) > 0:
            z[k] -= push * back


@kernel(
    lambda: types.int64(
        signatures().potentials, signatures().augment, signatures().decode, signatures().parts, signatures().loss,
        signatures().features, signatures().pack, array(types.float64), array(types.int64), types.int64,
        array(types.float64, 2), types.float64, types.int64, types.boolean, array(types.int64),
        array(types.float64), array(types.int32), array(types.int32), array(types.int32), array(types.float64),
        array(types.float64), array(types.float64), array(types.float64),
    )
)  # fmt: skip
def structured_steps(
    potentials, augment, decode, parts, loss, features, pack, c, order, size, plan, radius, n_apart, exact, sizes,
    theta, out, out_parts, true_parts, u, z, a, state,
):  # fmt: skip
    """One step for every ``size`` examples of ``order``; ``a`` takes up their planes, slopes and last the offset.

    Returns the number of steps done: it stops before one in which a loss or a slack is none, or a function goes astray,
    which is for Python to say.
    """
    scratch = np.zeros(sizes[0])
    part = np.empty(2 * sizes[2], np.int32)
    coef = np.empty(2 * sizes[2])
    keys, values = np.empty(_BUFFER, np.int64), np.empty(_BUFFER)
    for step in range(len(plan)):
        at = np.int64(0)
        offset = 0.0
        for at_order in range(step * size, min((step + 1) * size, len(order))):
            i = order[at_order]
            potentials(pack, u, i, theta)
            for q in range(sizes[0]):
                theta[q] *= state[SCALE]
            length = pack.target_start[i + 1] - pack.target_start[i]
            for q in range(length):
                out[q] = pack.target[pack.target_start[i] + q]
            n_true = parts(pack, i, out, true_parts)
            if parts_astray(n_true, true_parts, sizes[0]):
                return step
            slack = 0.0
            for q in range(n_true):
                slack -= theta[true_parts[q]]
            slack += augment(pack, i, theta)
            said = decode(pack, i, theta, out)
            n_out = parts(pack, i, out, out_parts)
            if np.isnan(said) or has_nan(theta) or parts_astray(n_out, out_parts, sizes[0]):
                return step
            for q in range(n_out):
                slack += theta[out_parts[q]]
            delta = loss(pack, i, out)
            if not (np.isfinite(slack) and np.isfinite(delta) and delta >= 0.0):
                return step
            m = write_difference(out_parts, n_out, true_parts, n_true, scratch, part, coef)
            if m == 0:
                offset += c[i] * delta if slack > 0.0 else 0.0
                continue
            n = features(pack, i, part, coef, m, keys[at:], values[at:])
            if n < 0:
                keys, values = _longer(keys, values, at, at - n)
                n = features(pack, i, part, coef, m, keys[at:], values[at:])
            if features_astray(n, keys[at:], values[at:], len(u)):
                return step
            largest = 0.0
            product, sum_of_sizes = 0.0, delta
            for q in range(at, at + n):
                each = state[SCALE] * u[keys[q]]
                largest = max(largest, abs(each))
                product += each * values[q]
                sum_of_sizes += abs(each * values[q])
            rounding = (n + 2) * _EPSILON * sum_of_sizes
            if exact and slack < -NEAR * (delta - slack) and slack < -rounding:
                return step
            near = slack <= NEAR * (1.0 + delta + largest)
            if slack <= 0.0 or (near and not delta + product > rounding):
                continue
            for q in range(at, at + n):
                values[q] *= c[i]
            at += n
            offset += c[i] * delta
        factor, stride, share = plan[step, 0], plan[step, 1], plan[step, 4]
        if n_apart > 0:
            _apart(keys, values, at, plan[step, 2] / factor, plan[step, 3] / stride, len(u) - n_apart, u, z, state)
        move(keys, values, at, factor, stride, share, radius, u, z, a, state)
        a[len(u)] += offset
        state[TAKEN] += 1.0
    return len(plan)


@kernel(
    lambda: types.void(
        signatures().parts, signatures().features, signatures().pack, array(types.int64), array(types.int64),
        types.int64, array(types.int32), array(types.int32), array(types.float64),
    )
)  # fmt: skip
def squares_of_truths(parts, features, pack, examples, sizes, n_weights, out, true_parts, squares):
    """``squares[k]`` becomes ``|phi(x_i, y_i)|^2`` of ``examples[k]``."""
    scratch = np.zeros(sizes[0])
    part = np.empty(2 * sizes[2], np.int32)
    coef = np.empty(2 * sizes[2])
    keys, values = np.empty(_BUFFER, np.int64), np.empty(_BUFFER)
    for k in range(len(examples)):
        i = examples[k]
        first = pack.target_start[i]
        for q in range(pack.target_start[i + 1] - first):
            out[q] = pack.target[first + q]
        n_true = parts(pack, i, out, true_parts)
        if parts_astray(n_true, true_parts, sizes[0]):
            raise Astray
        m = write_difference(true_parts, n_true, true_parts, 0, scratch, part, coef)  # each part once
        n = features(pack, i, part, coef, m, keys, values)
        if n < 0:
            keys, values = np.empty(-n, np.int64), np.empty(-n)
            n = features(pack, i, part, coef, m, keys, values)
        if features_astray(n, keys, values, n_weights):
            raise Astray
        total = 0.0
        for q in range(n):
            total += values[q] * values[q]
        squares[k] = total


class StructuredSteps(ScaledWeights):
    """Weights on their way, by steps on the examples of one structured problem after another, compiled where it is.

    Parameters
    ----------
    w : float64 array of shape (n_weights,)
        Where to begin.
    averaged, radius, mean
        As of :class:`~.scaled_weights.ScaledWeights`.
    n_apart : int
        How many of the last weights have factors and strides of their own, the third and fourth column of a plan.

    Attributes
    ----------
    a : float64 array of shape (n_weights + 1,)
        Sum of the planes since it was set to 0.
    """

    a: Reals

    def __init__(self, w: Reals, *, n_apart: int = 0, **options: Any) -> None:
        super().__init__(w, **options)
        self.n_apart = n_apart

    def turn_to(self, objective: Objective) -> None:
        """The problem whose examples are visited from now on; takes the steps that the kernel leaves to Python."""
        self.objective, self.a = objective, objective.no_dual()

    def release(self) -> None:
        """Let go of it."""
        del self.objective, self.a

    def take(self, order: Ints, size: int, plan: Reals) -> None:
        """Steps along a plan, each with ``size`` examples of ``order`` (the last one may have fewer)."""
        task = self.objective.task
        oracle: Oracle = task.oracle
        if not isinstance(oracle, CompiledOracle):
            for k, columns in enumerate(plan):
                self.step(order[k * size : (k + 1) * size], *columns)
            return
        done, room = 0, Buffers(oracle.sizes)
        while done < len(plan):
            rest = order[done * size :]
            with oracle.telling(self.u, rest):  # the weights but for their factor, which does not matter to a fault
                done += structured_steps(
                    oracle.potentials, oracle.augment, oracle.decode, oracle.parts, oracle.loss, oracle.features,
                    oracle.pack, task.c, rest, size, plan[done:], self.radius, self.n_apart, oracle.exact, oracle.sizes,
                    *room.all, self.u, self.z, self.a, self.state,
                )  # fmt: skip
                room.check()
            if done < len(plan):
                self.step(order[done * size : (done + 1) * size], *plan[done])
                done += 1

    def step(
        self, examples: Ints, factor: float, stride: float, factor_apart: float, stride_apart: float, share: float
    ) -> None:
        """One step in Python, of structures of either kind, which refuses what is no loss or no maximum."""
        self.settle()  # then the weights are u, and their mean is z
        slope = self.objective.slope_of(self.u, examples, self.a)
        first = len(self.u) - self.n_apart
        for part, shrunk, length in (
            (slice(0, first), factor, stride),
            (slice(first, None), factor_apart, stride_apart),
        ):
            self.u[part] *= shrunk
            self.u[part] -= length * slope[part]
        square = inner(self.u, self.u)
        if square > self.radius**2:
            self.u *= self.radius / np.sqrt(square)
        self.measure()
        if len(self.z):
            self.z += share * (self.u - self.z)
        self.state[TAKEN] += 1.0
