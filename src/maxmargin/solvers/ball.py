"""The ball form of a problem: its loss alone, over weights no longer than a radius."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ball"]

_ROUNDING = 1e-12


class Ball:
    """``min sum_i c_i xi_i(w)`` over ``penalty(w) <= radius^2 / 2``, that is ``|w| <= radius`` less a free intercept.

    The penalty is 0 in the ball and infinite outside, so a certificate speaks of the loss and of nothing else. All
    other attributes are those of the task.

    Attributes
    ----------
    enough : float
        A gap so small is one of rounding: the loss may well be 0, and then none is small beside it.
    """

    def __init__(self, task: Any, radius: float) -> None:
        self.task, self.radius, self.enough = task, radius, 0.0

    def __getattr__(self, name: str) -> Any:
        if name == "task":  # of an object that is being made
            raise AttributeError(name)
        return getattr(self.task, name)

    def penalty(self, w: NDArray[np.float64]) -> float:
        """0 in the ball, infinite outside."""
        half = 0.5 * self.radius * self.radius
        return 0.0 if self.task.penalty(w) <= half * (1.0 + _ROUNDING) else math.inf
