"""The solver of rankings that suits the problem: Newton's method, and the bundle method where that is slow.

Newton's method on a smoothed hinge takes a few dozen passes on most data. On a few documents with features of very
different scales, or with a large ``C``, it may take thousands, or end in rounding; the bundle method needs dozens there
(measured on random problems of ten documents).
"""

from __future__ import annotations

from dataclasses import dataclass

from ..base import Run
from ..bundle import Bundle
from ..linear.automatic import First, Switching
from .newton import TruncatedNewton
from .task import RankingTask

__all__ = ["FOR_PAIRS", "Automatic"]

FOR_PAIRS = "losses over all pairs are smoothed for Newton's method"
_NEWTON = First("Newton's method", FOR_PAIRS, "unscaled features or a large C")
# passes: from when on it is believed that Newton's method is slow, and what the other is taken to cost
_LOOK, _BUNDLE = 150, 150.0


@dataclass(frozen=True)
class Automatic:
    """Newton's method, then the bundle method where that is the shorter way."""

    @property
    def name(self) -> str:
        """Short name, as accepted by the estimators."""
        return "auto"

    def start(self, task: RankingTask) -> Run:
        """Begin a run."""
        return Switching(task, TruncatedNewton(), Bundle(), _BUNDLE, _NEWTON, first_look=_LOOK)
