"""Weights that steps move at the cost of what the steps have of non-zeros, and a mean of them, on any kind of problem.

Every step shrinks all weights, and every average takes a share of all of them. Neither is carried out: the weights are
``scale u``, their mean is ``mean_u u + mean_z z``, and a step changes the numbers of ``state`` and, at its non-zeros,
``u`` and ``z`` (Bottou 2010; Xu 2011). Where a number has become small the vectors are made anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._compiled import compiled
from .._products import inner

__all__ = [
    "INTERCEPT", "MEAN_INTERCEPT", "MEAN_U", "MEAN_Z", "NORM2", "PULL", "REST", "SCALE", "TAKEN", "VELOCITY",
    "ScaledWeights", "into_ball", "into_mean", "make_anew", "move", "own_arrays", "shrink",
]  # fmt: skip

Reals = NDArray[np.float64]

SCALE, MEAN_U, MEAN_Z, NORM2 = range(4)
"""Entries of ``state``: those three factors, and the square of the weights' norm where there is a ball."""

INTERCEPT, MEAN_INTERCEPT, PULL, VELOCITY, REST = range(4, 9)
"""Those of :class:`~.linear.subgradient_steps.CompiledSteps` alone."""

TAKEN = 4
"""That of :class:`~.structured_steps.StructuredSteps` alone: steps so far. After Ctrl-C nothing else knows."""

_SMALL = 1e-6


@compiled
def make_anew(u, z, state):
    """Factors back to 1 and 0: then ``u`` are the weights and ``z`` is their mean."""
    scale, p, q = state[SCALE], state[MEAN_U], state[MEAN_Z]
    for j in range(len(z)):
        z[j] = p * u[j] + q * z[j]
    for j in range(len(u)):
        u[j] *= scale
    state[SCALE], state[MEAN_U], state[MEAN_Z] = 1.0, 0.0, 1.0


@compiled
def shrink(u, z, state, factor):
    """All weights times a factor."""
    state[SCALE] *= factor
    state[NORM2] *= factor * factor
    if abs(state[SCALE]) < _SMALL:
        make_anew(u, z, state)


@compiled
def into_ball(state, radius, bias_ridge):
    """Back into ``|w|^2 + bias_ridge b^2 <= radius^2`` along the ray to 0, the intercept ``b`` only if it counts."""
    if radius < np.inf:
        square = state[NORM2] + bias_ridge * state[INTERCEPT] ** 2
        if square > radius * radius:
            back = radius / np.sqrt(square)
            state[SCALE] *= back
            state[NORM2] *= back * back
            if bias_ridge > 0.0:
                state[INTERCEPT] *= back


@compiled
def into_mean(u, z, state, share):
    """Take the weights into their mean with this share."""
    if share >= 1.0:
        for j in range(len(z)):
            z[j] = 0.0
        state[MEAN_U], state[MEAN_Z] = state[SCALE], 1.0
    else:
        state[MEAN_U] += share * (state[SCALE] - state[MEAN_U])
        state[MEAN_Z] *= 1.0 - share
        if state[MEAN_Z] < _SMALL:
            make_anew(u, z, state)


@compiled
def move(keys, values, n, factor, stride, share, radius, u, z, a, state):
    """``w <- factor w - stride slope`` with these ``n`` entries of the slope, into the ball, and into the mean.

    ``a`` takes up the slope too.
    """
    shrink(u, z, state, factor)
    averaged = len(z) > 0
    scale = state[SCALE]
    back = state[MEAN_U] / state[MEAN_Z] if averaged else 0.0
    for q in range(n):
        k, push = keys[q], -stride * values[q]
        a[k] += values[q]
        state[NORM2] += push * (2.0 * scale * u[k] + push)
        u[k] += push / scale
        if averaged:
            z[k] -= push / scale * back
    into_ball(state, radius, 0.0)
    if averaged:
        into_mean(u, z, state, share)


def own_arrays(state: dict[str, Any]) -> dict[str, Any]:
    """Attributes from a pickle, whose arrays may be read-only or maps of its file: copies of these, for steps write."""
    return {
        name: np.array(value)
        if isinstance(value, np.memmap) or (isinstance(value, np.ndarray) and not value.flags.writeable)
        else value
        for name, value in state.items()
    }


class ScaledWeights:
    """Weights on their way, and their mean.

    Parameters
    ----------
    w : float64 array of shape (n_weights,)
        Where to begin.
    averaged : bool
        Keep a mean of the weights.
    radius : float
        Largest norm of the weights.
    mean : float64 array of shape (n_weights,), optional
        The mean so far, if it is not ``w``.
    """

    def __init__(self, w: Reals, *, averaged: bool, radius: float = np.inf, mean: Reals | None = None) -> None:
        self.radius = radius
        self.u = np.array(w, np.float64)
        self.z = np.array(w if mean is None else mean, np.float64) if averaged else np.empty(0)
        self.state = np.zeros(9)
        self.state[[SCALE, MEAN_Z]] = 1.0
        self.measure()

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(own_arrays(state))

    def measure(self) -> None:
        """The norm afresh, of weights that are settled."""
        with np.errstate(over="ignore", invalid="ignore"):
            self.state[NORM2] = inner(self.u, self.u)

    def settle(self) -> None:
        """Carry out what was put off: then ``u`` are the weights and ``z`` is their mean."""
        make_anew(self.u, self.z, self.state)
        self.measure()

    def last(self) -> Reals:
        """The weights, as a copy."""
        self.settle()
        return self.u.copy()

    def mean(self) -> Reals:
        """Their mean, as a copy."""
        self.settle()
        return self.z.copy()
