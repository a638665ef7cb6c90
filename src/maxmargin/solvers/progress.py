"""How far a method with cheap passes still has to go, as the gaps of its passes tell."""

from __future__ import annotations

import math

from .base import Step

__all__ = ["LATE", "MOST", "Progress", "passes_to_go"]

# work of coordinate ascent in passes over all rows, whatever else costs: more is too much where there is another way;
# and from when on it is believed that it will not suffice
MOST, LATE = 1000, 250


def passes_to_go(gaps: list[float], tol: float) -> float:
    """Passes until the relative gap is ``tol`` if it goes on falling as over the last half of the passes."""
    now, before = gaps[-1], gaps[len(gaps) // 2]
    if now <= tol:
        return 0.0
    if len(gaps) < 3:
        return math.inf
    rate = (math.log(max(before, 1e-300)) - math.log(now)) / (len(gaps) - 1 - len(gaps) // 2)
    return math.log(now / max(tol, 1e-300)) / rate if rate > 1e-12 else math.inf


class Progress:
    """The steps of a run so far.

    Attributes
    ----------
    gaps : list of float
        The relative gap of every step.
    passes : int
        Passes that the steps took.
    work : float
        What they cost, in passes over all rows.
    """

    def __init__(self) -> None:
        self.gaps: list[float] = []
        self.passes, self.work = 0, 0.0

    def add(self, step: Step) -> None:
        """One more step."""
        self.gaps.append(step.gap / max(step.dual + step.gap, 1e-300) if step.gap < math.inf else 1.0)
        self.passes += step.passes
        self.work += step.cost

    def remaining(self, tol: float) -> float:
        """Work until the relative gap is ``tol``, see :func:`passes_to_go`."""
        return passes_to_go(self.gaps, tol) * self.work / len(self.gaps)

    def is_late(self, remaining: float, most: float = MOST) -> bool:
        """Whether so much work more is too much, whatever another way costs."""
        return self.work >= LATE and remaining > max(most - self.work, 0.0)
