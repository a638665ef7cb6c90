"""How a fit ended. Every member carries one sentence of advice."""

from __future__ import annotations

from enum import Enum

__all__ = ["Status"]


class Status(Enum):
    """Outcome of a fit; ``status.advice`` says what a user can do about it."""

    CONVERGED = ("converged", "The relative duality gap is at most tol, or no more than rounding: nothing to do.")
    ZERO_OPTIMUM = (
        "zero optimum",
        "The optimum is 0 up to rounding: the duality gap is negligible, though no gap is a small share of 0; nothing "
        "to do.",
    )
    SEPARATED = (
        "separated",
        "A whole pass made no mistake: the training data are separable, nothing is left to learn from them.",
    )
    STATIONARY = (
        "stationary",
        "The kernel is not positive semi-definite on these points, so the problem is not convex: the answer is a "
        "stationary point of it, without a bound.",
    )
    PASS_LIMIT = (
        "pass limit",
        "Raise max_passes, raise tol, or lower C; the certificate says how far the optimum can be.",
    )
    TIME_LIMIT = (
        "time limit",
        "Raise max_time, raise tol, or lower C; the certificate says how far the optimum can be.",
    )
    INTERRUPTED = ("interrupted", "The best model so far was kept; fit again with warm_start=True to go on.")
    STOPPED = ("stopped", "A callback asked to stop; the best model so far was kept.")
    STANDSTILL = (
        "standstill",
        "The objective no longer moves under this method; the certificate says how far the optimum can be, and another "
        "solver gets nearer.",
    )
    ROUNDING = (
        "rounding",
        "The gap seen is within tol, but the scores are differences of products so much larger that their rounding can "
        "hide more of it; rescale the features or the values, lower C or raise tol.",
    )
    STALLED = ("stalled", "Rounding errors prevent further progress; rescale the features or raise tol.")

    def __init__(self, label: str, advice: str) -> None:
        self.label = label
        self.advice = advice

    @property
    def ending(self) -> str:
        """What a fit that ended so did, as it stands behind its name in a sentence."""
        return _ENDINGS.get(self.label, f"stopped by {self.label}")

    @property
    def ok(self) -> bool:
        """True when the fit reached what it was asked for."""
        return self in (Status.CONVERGED, Status.ZERO_OPTIMUM, Status.SEPARATED, Status.STATIONARY)

    def __str__(self) -> str:
        return self.label


_ENDINGS = {
    "converged": "converged",
    "zero optimum": "found an optimum of zero",
    "separated": "separated the data",
    "stationary": "came to a stationary point",
    "interrupted": "was interrupted",
    "stopped": "was stopped",
    "standstill": "came to a standstill",
    "stalled": "stalled",
    "rounding": "came to the limits of rounding",
}
"""Where it is not the status that stopped the fit, as a limit does."""
