"""Whether a structure keeps its promises, as far as scores met in a fit can tell.

Three things must hold of loss + score at every example, all of the loss-augmented decoder's output: it is no less than
that of any output seen before, no less than that of the truth, which is 0 by the choice of the origin, and no less than
the loss of the plain decoder's output. What is below by more than sums round is a fault of the structure, or of the
types of numbers that it computes with.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, StructureError
from ..structures.plain import check_losses
from . import passes
from .planes import Planes

if TYPE_CHECKING:
    from .oracle import Work

__all__ = ["Judge", "entries_of", "overflow_of", "planes_of"]

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
_EPSILON = float(np.finfo(np.float64).eps)
_EPSILON_32 = float(np.finfo(np.float32).eps)
_NEAR = 1e-6
_NEAR_RISK = 1e-9
_HINT = "run check_structure to find out why"


class Judge(ABC):
    """What oracles of both kinds share of it."""

    name: str
    exact: bool
    _latest: tuple[Reals, Work] | None = None  # weights and working set of the last evaluation
    # What has been found to be rounding so far: where all is separated, each evaluation has as much again. A judgement
    # takes a millisecond; of 3000 sequences without an error gradient descent would ask for 200 thousand.
    _noise = 0.0

    def check_maximum(self, examples: Ints, slack: Reals, cached: Reals) -> None:
        """Raise when an output seen before beats the decoder's under the weights of the last evaluation.

        By how much goes with the unit of losses and scores: a millionth of the largest loss and of the score is left
        to decoders that stop at a tolerance of their own (integer programs), and what sums round in float64.
        """
        if not self.exact or self._latest is None:
            return
        w, work = self._latest
        excess = cached - slack
        for k in self._doubtful(excess, _NEAR * (_largest_loss(work.planes) + np.abs(cached))):
            self._judge(int(examples[k]), float(slack[k]), float(cached[k]), w, work.planes)

    def _examine(self, i: int, w: Reals, planes: Planes | None) -> None:  # noqa: B027
        """Raise where what the structure gives for example ``i`` does not exist, as far as that can be seen."""

    def _doubtful(self, excess: Reals, allowed: Reals | float) -> Iterator[int]:
        """Where a difference is more than allowed, the worst first, until one is no more than known rounding."""
        found = np.flatnonzero(excess > np.maximum(allowed, self._noise))
        for k in found[np.argsort(-excess[found], kind="stable")].tolist():
            if excess[k] > self._noise:
                yield k

    def _fault(self, i: int, excess: float, w: Reals, planes: Planes | None = None) -> str | None:
        """None when a difference of scores of example ``i`` is rounding, else what may explain it, for messages."""
        self._examine(i, w, planes)
        m, size = self._products(i, w, planes)
        if excess > _rounding(m, size):
            return self._reason(excess, m, size)
        self._noise = max(self._noise, excess)
        return None

    def is_rounding(self, i: int, excess: float, w: Reals) -> bool:
        """Whether a difference of scores of example ``i`` under weights ``w`` is no more than their rounding."""
        return excess <= _rounding(*self._products(i, w, None))

    def _check_violations(self, work: Work) -> None:
        """The same of the largest violation that a pass has met; the weights have moved on since, but not far."""
        if work.state[passes.VIOLATIONS] and self.exact:
            i, said, better = (float(work.state[k]) for k in (passes.EXAMPLE, passes.ORACLE_SCORE, passes.CACHED_SCORE))
            if better - said > _NEAR * (_largest_loss(work.planes) + abs(better)):
                self._judge(int(i), said, better, work.w, work.planes)
        work.state[[passes.VIOLATIONS, passes.ORACLE_SCORE, passes.CACHED_SCORE]] = 0.0

    def _judge(self, i: int, said: float, better: float, w: Reals, planes: Planes) -> None:
        """Raise unless rounding explains why ``better`` is above ``said``: loss + score of outputs of example ``i``."""
        reason = self._fault(i, better - said, w, planes)
        if reason is not None:
            raise StructureError(
                f"{self.name}: the loss-augmented argmax of example {i} is not the maximum: its output has loss + "
                f"score {said:.10g}, an output seen before has {better:.10g}{reason}; {_HINT}"
            )

    def _products(self, i: int, w: Reals, planes: Planes | None = None) -> tuple[int, float]:
        """Number and sum of the sizes of the products of which scores of example ``i`` are sums.

        Those of the truth, and the most of the output that the decoder finds and of the cached planes.
        """
        parts, coef = self._truth(i)
        n_true, of_truth = self._size(i, w, parts, coef)
        found = [(*self._found(i, w), 0.0)]
        if planes is not None:
            for p in planes_of(i, planes):
                at = entries_of(planes, p)
                found.append((planes.part[at], planes.coef[at], float(planes.loss[p])))
        m, size = 0, 0.0
        for parts, coef, loss in found:
            n, of_plane = self._size(i, w, parts, coef)
            m, size = max(m, n), max(size, loss + of_plane)
        return m + n_true, size + 2.0 * of_truth  # a plane is the difference from the truth, which decoders do not take

    @abstractmethod
    def _size(self, i: int, w: Reals, parts: NDArray[np.int32], coef: Reals) -> tuple[int, float]:
        """Number and sum of the sizes of the products in the score of so many parts."""

    @abstractmethod
    def _truth(self, i: int) -> tuple[NDArray[np.int32], Reals]:
        """Parts of the true output, each with its number."""

    @abstractmethod
    def _found(self, i: int, w: Reals) -> tuple[NDArray[np.int32], Reals]:
        """The plane of the output that the loss-augmented decoder finds."""

    def _reason(self, excess: float, m: int, size: float) -> str:
        """Why it may be that an output is worse by ``excess``, for messages."""
        if excess <= np.sqrt(m) * _EPSILON_32 * size:  # errors of either sign, as they come
            return " (so little is the rounding of float32: compute scores in float64)"
        return ""

    def _checked(self, examples: Ints, slack: Reals, risks: Reals, losses: Reals, w: Reals) -> Reals:
        """Slacks, at least 0 because the truth is an output; what is clearly below is a fault of the structure.

        Parameters
        ----------
        risks : float64 array
            Losses of the predictions, 0 where none were asked for. No slack is below them.
        losses : float64 array
            Losses of the outputs of the loss-augmented decoder.

        Raises
        ------
        StructureError, DataError
            Names the example.
        """
        check_losses(losses, self.name, examples)
        check_losses(risks, self.name, examples)
        if not np.isfinite(slack).all():
            raise overflow_of(self.name, int(examples[int(np.flatnonzero(~np.isfinite(slack))[0])]))
        if self.exact:
            near = _NEAR * (float(losses.max(initial=0.0)) + float(np.abs(slack).max(initial=0.0)))
            for k in self._doubtful(-slack, near):
                reason = self._fault(int(examples[k]), -float(slack[k]), w)
                if reason is not None:
                    raise StructureError(
                        f"{self.name}: the loss-augmented argmax of example {examples[k]} is not the maximum: its "
                        f"output has loss + score {slack[k]:.10g} above the truth's, the truth itself has 0{reason}; "
                        f"{_HINT}"
                    )
            slack = np.maximum(slack, 0.0)
            for k in self._doubtful(risks - slack, _NEAR_RISK * slack):
                reason = self._fault(int(examples[k]), float(risks[k] - slack[k]), w)
                if reason is not None:
                    raise StructureError(
                        f"{self.name}: the argmax of example {examples[k]} has the loss {risks[k]:.10g}, its "
                        f"loss-augmented argmax has loss + score {slack[k]:.10g} above the truth's: one of them is "
                        f"not the maximum{reason}; {_HINT}"
                    )
        return np.maximum(slack, 0.0)


def overflow_of(name: str, i: int) -> DataError:
    """What is said of an example of the structure ``name`` whose score is not finite."""
    return DataError(
        f"{name}: the score of example {i} overflowed; scale the features down (values of about 1 are best), and see "
        "that none is NaN (run check_structure)"
    )


def planes_of(i: int, planes: Planes) -> Iterator[int]:
    """Numbers of the cached planes of an example."""
    p = int(planes.head[i])
    while p >= 0:
        yield p
        p = int(planes.next[p])


def entries_of(planes: Planes, p: int) -> slice:
    """Where the entries of a plane stand in the pool."""
    return slice(int(planes.start[p]), int(planes.start[p] + planes.length[p]))


def _largest_loss(planes: Planes) -> float:
    return float(planes.loss[: int(planes.counts[0])].max(initial=0.0))


def _rounding(m: int, size: float) -> float:
    """How far two scores can be apart that are the same but for rounding.

    A sum of ``m`` products has an error of at most ``m / 2`` times the machine's epsilon, relative to the sum of their
    sizes. There are four: two scores here, two of the decoder, which compares outputs by sums of its own.
    """
    return 2.0 * (m + 2) * _EPSILON * size
