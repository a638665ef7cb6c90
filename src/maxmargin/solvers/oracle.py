"""The oracle: one face of a structure for all solvers, whether its functions are compiled or plain Python.

Solvers ask it for most violated planes under fixed weights (:meth:`Oracle.evaluate`), for sequential passes
(:meth:`Oracle.frank_wolfe`, :meth:`Oracle.perceptron`), and for sums of cached planes; they never look inside. The two
kinds are in :mod:`~maxmargin.solvers.compiled_oracle` and :mod:`~maxmargin.solvers.plain_oracle`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..structures.base import Encoded, Structure
from ..structures.plain import check_is_structure
from . import batch, passes
from .buffers import Buffers
from .chunks import chunks
from .deadline import Deadline
from .judge import Judge
from .planes import GROWING, Planes, compacted, extended, new_planes

__all__ = ["Evaluation", "Oracle", "Work", "make_oracle"]

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
_NONE: Reals = np.empty(0)
_KEEP_PASSES = 10


@dataclass
class Evaluation:
    """What the loss-augmented decoder says about examples under fixed weights.

    Attributes
    ----------
    slack, risk : float64 arrays
        ``max_y Delta + <w, psi>`` (at least 0), and the loss of the prediction.
    planes : int64 array
        The most violated plane of each example, when a working set was given.
    """

    slack: Reals
    risk: Reals
    planes: Ints


@dataclass
class Work:
    """Everything that a sequential solver moves: weights, working set, figures."""

    w: Reals
    c: Reals
    planes: Planes
    rule: int
    average: Reals
    state: Reals
    gaps: Reals
    stamp: int = 0

    @classmethod
    def start(cls, n_weights: int, c: Reals, *, rule: int = 1, averaged: bool = False) -> Work:
        """All dual weight on the truths, ``w = 0``."""
        return cls(
            w=np.zeros(n_weights),
            c=c,
            planes=new_planes(len(c)),
            rule=rule,
            average=np.zeros(n_weights) if averaged else _NONE,
            state=np.zeros(passes.STATE_SIZE),
            gaps=np.zeros(len(c)),
        )

    def end_pass(self) -> None:
        """Every tenth pass, drop planes without weight that were not used for ten passes.

        What is dropped depends on the number of passes alone, never on how full the arrays are.
        """
        if self.stamp % _KEEP_PASSES == 0:
            self.make_room(_KEEP_PASSES)

    def make_room(self, keep_passes: int) -> None:
        """Drop planes without weight that were not used for so many passes."""
        n_planes, n_entries = int(self.planes.counts[0]), int(self.planes.counts[1])
        self.planes = compacted(self.planes, n_planes // 2 + 1024, n_entries // 2 + 4096, self.stamp - keep_passes)

    def extend(self, n_entries: int) -> None:
        """Half as much room again, and at least that for so many entries; planes keep their numbers.

        Array by array, so that no two copies of all of them are there at once.
        """
        planes, entries = int(self.planes.counts[0]), int(self.planes.counts[1])
        for name in GROWING:
            self.planes = extended(self.planes, name, planes // 2 + 1024, entries // 2 + n_entries + 4096)


class Oracle(Judge):
    """A structure with its encoded examples, as the solvers see it."""

    n_examples: int
    n_weights: int
    pack: Any
    sizes: Ints
    features: Any
    potentials_at: Any
    sweeps = 20
    """Sweeps over cached planes that are worth no more than a pass with the decoder (measured on tagging, handwriting,
    protein chains and trees: with 50 a relative gap of 1e-2 takes up to twice as long, with 4 most often as long)."""
    deadline: Deadline | None = None

    def until(self, deadline: Deadline) -> Oracle:
        """The same oracle, whose calls raise :class:`OutOfTime` when the deadline passes."""
        timed = copy(self)
        timed.deadline = deadline
        return timed

    @abstractmethod
    def evaluate(
        self,
        w: Reals,
        examples: Ints,
        *,
        work: Work | None = None,
        above: Reals | None = None,
        risk: bool = False,
        n_jobs: int = 1,
    ) -> Evaluation:
        """Most violated outputs under ``w``.

        Their planes are added to the working set of ``work`` if given (of those examples only whose slack is larger
        than ``above``, if given; the others get plane number -1).
        """

    @abstractmethod
    def frank_wolfe(self, work: Work, order: Ints) -> None:
        """One sequential pass over ``order`` with a step at each example."""

    @abstractmethod
    def perceptron(self, w: Reals, average: Reals, order: Ints, s: Reals, state: Reals) -> int:
        """One perceptron pass; returns the number of mistakes."""

    @abstractmethod
    def squares_of_truths(self, examples: Ints) -> Reals:
        """``|phi(x_i, y_i)|^2`` of these examples."""

    def sweep(self, work: Work, order: Ints) -> None:
        """One pass of steps over ``order`` on cached planes alone."""
        keys, values = self._buffers()
        room = Buffers(self.sizes)
        for run in chunks(order, self.deadline):
            passes.sweep(
                self.potentials_at, self.features, self.pack, work.w, work.average, work.planes, run, work.c, work.rule,
                work.stamp, self.sizes, room.theta, work.state, work.gaps, keys, values,
            )  # fmt: skip
            room.check()

    def add_planes(self, planes: Planes, examples: Ints, ids: Ints, scale: Reals, out: Reals) -> None:
        """``out += sum_k scale[k] psi(ids[k])``."""
        for run in chunks(np.arange(len(examples))):
            part = slice(run[0], run[-1] + 1)
            batch.accumulate(self.features, self.pack, planes, examples[part], ids[part], scale[part], out)

    def best_cached(self, w: Reals, planes: Planes, examples: Ints) -> tuple[Ints, Reals]:
        """Best cached plane of each example under ``w``, and its score."""
        ids, scores, room = np.empty(len(examples), np.int64), np.empty(len(examples)), Buffers(self.sizes)
        for run in chunks(np.arange(len(examples)), self.deadline):
            part = slice(run[0], run[-1] + 1)
            batch.best_cached(
                self.potentials_at, self.pack, w, planes, self.sizes, room.theta, examples[part], ids[part],
                scores[part],
            )  # fmt: skip
            room.check()
        return ids, scores

    def _buffers(self) -> tuple[Ints, Reals]:
        n = int(min(max(1024, 64 * self.sizes[2]), 1 << 20))
        return np.empty(n, np.int64), np.empty(n)


def make_oracle(structure: Any, X: Sequence[Any], Y: Sequence[Any]) -> tuple[Oracle, Encoded | None]:
    """The oracle of a structure of either kind, with the encoded examples of a compiled one.

    Raises
    ------
    StructureError
        When the object is no structure, or a class instead of an instance: names the class and what it lacks.
    """
    check_is_structure(structure)
    # here, as these modules import this one
    from .compiled_oracle import CompiledOracle
    from .plain_oracle import PlainOracle

    if isinstance(structure, Structure):
        encoded = structure.encode(X, Y)
        return CompiledOracle(structure, encoded), encoded
    return PlainOracle(structure, X, Y), None
