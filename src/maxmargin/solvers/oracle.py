"""The oracle: one face of a structure for all solvers, whether its functions are compiled or plain Python.

Solvers ask it for most violated planes under fixed weights (:meth:`Oracle.evaluate`), for sequential passes
(:meth:`Oracle.frank_wolfe`, :meth:`Oracle.perceptron`), and for sums of cached planes; they never look inside.
"""

from __future__ import annotations

import sys
import time
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass
from typing import Any
from weakref import getweakrefcount

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, StructureError
from ..structures.base import LARGEST, Encoded, Structure, check_magnitude, losses_of_truths
from ..structures.plain import (
    PlainData,
    check_is_structure,
    check_losses,
    checked_loss,
    checked_output,
    dense_vector,
    identity_features,
    identity_potentials_at,
    plain_pack,
    tell_example,
)
from . import batch, passes
from .deadline import Deadline
from .judge import Judge, entries_of, planes_of
from .planes import GROWING, Planes, compacted, extended, new_planes

__all__ = [
    "CompiledOracle", "Evaluation", "Oracle", "Pace", "PlainOracle", "Work", "chunks", "decode_all", "make_oracle",
]  # fmt: skip

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
_NONE: Reals = np.empty(0)
_FLOAT = np.dtype(np.float64)
_FIRST_CHUNK = 64
_CHUNK_SECONDS = 0.3
_KEEP_PASSES = 10
_HELD_ENTRIES = 400_000
_PACKAGE = __name__.partition(".")[0]
_MOST_AHEAD = 1 << 24  # entries, 200 MB
_ODD = ("u1", "u2", "u4", "u8", "i1", "i2", "b1", "f2", "f4")  # types in which differences wrap or sums round


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


@dataclass
class Pace:
    """How many at a time: what passes of the same work learn from one another, for the next to begin with."""

    size: int = _FIRST_CHUNK


def chunks(order: Ints, deadline: Deadline | None = None, pace: Pace | None = None) -> Iterator[Ints]:
    """Runs of ``order`` that each take about a third of a second, so that Ctrl-C and progress are served.

    Raises
    ------
    OutOfTime
        Between two runs, when the deadline has passed.
    """
    at, pace = 0, pace or Pace()
    while at < len(order):
        if at and deadline is not None:
            deadline.check()
        begin, size = time.perf_counter(), min(pace.size, len(order) - at)
        yield order[at : at + size]
        at += size
        seconds = max(time.perf_counter() - begin, 1e-6)
        fits = int(min(max(size * min(_CHUNK_SECONDS / seconds, 8.0), 1), 1_000_000))
        pace.size = fits if size == pace.size else max(fits, pace.size)  # a short rest says little


class Oracle(Judge):
    """A structure with its encoded examples, as the solvers see it."""

    n_examples: int
    n_weights: int
    pack: Any
    sizes: Ints
    features: Any
    potentials_at: Any
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

    def sweep(self, work: Work, order: Ints) -> None:
        """One pass of steps over ``order`` on cached planes alone."""
        keys, values = self._buffers()
        for run in chunks(order, self.deadline):
            passes.sweep(
                self.potentials_at, self.features, self.pack, work.w, work.average, work.planes, run, work.c, work.rule,
                work.stamp, self.sizes, work.state, work.gaps, keys, values,
            )  # fmt: skip

    def add_planes(self, planes: Planes, examples: Ints, ids: Ints, scale: Reals, out: Reals) -> None:
        """``out += sum_k scale[k] psi(ids[k])``."""
        for run in chunks(np.arange(len(examples))):
            part = slice(run[0], run[-1] + 1)
            batch.accumulate(self.features, self.pack, planes, examples[part], ids[part], scale[part], out)

    def best_cached(self, w: Reals, planes: Planes, examples: Ints) -> tuple[Ints, Reals]:
        """Best cached plane of each example under ``w``, and its score."""
        ids, scores = np.empty(len(examples), np.int64), np.empty(len(examples))
        for run in chunks(np.arange(len(examples)), self.deadline):
            part = slice(run[0], run[-1] + 1)
            batch.best_cached(
                self.potentials_at, self.pack, w, planes, self.sizes, examples[part], ids[part], scores[part]
            )
        return ids, scores

    def _buffers(self) -> tuple[Ints, Reals]:
        n = int(min(max(1024, 64 * self.sizes[2]), 1 << 20))
        return np.empty(n, np.int64), np.empty(n)


class CompiledOracle(Oracle):
    """Oracle of a :class:`~maxmargin.structures.base.Structure`."""

    def __init__(self, structure: Structure, encoded: Encoded) -> None:
        missing = structure.missing()
        if missing:
            raise StructureError(f"{type(structure).__name__} lacks the compiled function {missing[0]!r}")
        self.name = type(structure).__name__
        self.exact = bool(structure.exact)
        self.n_examples, self.n_weights = encoded.n_examples, encoded.n_weights
        self.pack = encoded.pack
        self.sizes = np.array([encoded.n_potentials, encoded.n_output, encoded.n_parts], np.int64)
        s = structure
        self.potentials, self.potentials_at, self.features = s.potentials, s.potentials_at, s.features
        self.augment, self.decode, self.parts, self.loss = s.augment, s.decode, s.parts, s.loss
        self._check_truths()

    def _check_truths(self) -> None:
        """Whether there are true outputs, of lengths that have room, and of loss 0."""
        lengths = np.diff(self.pack.target_start)
        if len(lengths) != self.n_examples:
            raise StructureError(
                f"{self.name}: encode gave true outputs for {len(lengths)} of {self.n_examples} examples; hand "
                "target and target_start to make_pack"
            )
        if self.pack.target_start[0] < 0 or (lengths < 0).any() or self.pack.target_start[-1] > len(self.pack.target):
            raise StructureError(f"{self.name}: target_start must rise from 0 to the length of target (encode)")
        for k in np.flatnonzero(lengths > self.sizes[1])[:1]:
            raise StructureError(
                f"{self.name}: example {k}: the true output has {lengths[k]} entries, but encode gives n_output = "
                f"{self.sizes[1]} (run check_structure)"
            )
        if str(self.loss.__module__).startswith(f"{_PACKAGE}."):
            return  # the library's are 0 at the truth, and loading this kernel takes 45 ms
        for run in chunks(np.arange(self.n_examples)):
            losses = np.empty(len(run))
            losses_of_truths(self.loss, self.pack, run, int(self.sizes[1]), losses)
            check_losses(losses, self.name, run, of_truth=True)

    def _truth(self, i: int) -> tuple[NDArray[np.int32], Reals]:
        out, parts = np.zeros(int(self.sizes[1]), np.int32), np.empty(int(self.sizes[2]), np.int32)
        target = self.pack.target[self.pack.target_start[i] : self.pack.target_start[i + 1]]
        out[: len(target)] = target
        found, count = np.unique(parts[: int(self.parts(self.pack, i, out, parts))], return_counts=True)
        return found.astype(np.int32), count.astype(np.float64)

    def _size(self, i: int, w: Reals, parts: NDArray[np.int32], coef: Reals) -> tuple[int, float]:
        n, keys, values = -1, np.empty(0, np.int64), np.empty(0)
        while n < 0:
            n = int(self.features(self.pack, i, parts.copy(), np.abs(coef), len(parts), keys, values))
            if n < 0:
                keys, values = np.empty(-n, np.int64), np.empty(-n)
        return n, float(np.abs(w[keys[:n]]) @ np.abs(values[:n]))

    def _found(self, i: int, w: Reals) -> tuple[NDArray[np.int32], Reals]:
        _, _, _, start, part, coef = self._evaluated(w, np.array([i]), risk=False, planes=True)
        return part[: start[1]], coef[: start[1]]

    def _evaluated(self, w: Reals, examples: Ints, *, risk: bool, planes: bool) -> tuple[Any, ...]:
        """Slacks, losses of the predictions and of the planes; where planes start, their parts and coefficients."""
        n = len(examples)
        room = 2 * int(self.sizes[2]) * n if planes else 0
        slack, risks, losses, start = np.zeros(n), np.zeros(n), np.empty(n), np.zeros(n + 1, np.int64)
        part, coef = np.empty(room, np.int32), np.empty(room)
        batch.evaluate_batch(
            self.potentials, self.augment, self.decode, self.parts, self.loss, self.pack, w, examples, risk, planes,
            self.sizes, slack, risks, losses, start, part, coef,
        )  # fmt: skip
        return slack, risks, losses, start, part, coef

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
        self._latest = None
        n = len(examples)
        slack, risks, losses, ids = np.empty(n), np.empty(n), np.empty(n), np.full(n, -1, np.int64)

        def run_one(lo: int, hi: int) -> tuple[int, int, tuple[Any, ...]]:
            return lo, hi, self._evaluated(w, examples[lo:hi], risk=risk, planes=work is not None)

        # planes of a chunk are held back until it is inserted: bound their memory
        most = max(1, _HELD_ENTRIES // max(1, 2 * int(self.sizes[2]))) if work is not None else n
        for lo, hi, found in _in_threads(run_one, n, n_jobs, most, self.deadline):
            slack[lo:hi], risks[lo:hi], losses[lo:hi], start, part, coef = found
            if work is not None:
                wanted = np.ones(hi - lo, bool) if above is None else slack[lo:hi] > above[lo:hi]
                self._insert(work, examples[lo:hi], ids[lo:hi], wanted, start, part, coef, losses[lo:hi])
        self._latest = None if work is None else (w, work)
        return Evaluation(self._checked(examples, slack, risks, losses, w), risks, ids)

    def _insert(
        self,
        work: Work,
        examples: Ints,
        ids: Ints,
        wanted: NDArray[np.bool_],
        start: Ints,
        part: NDArray[np.int32],
        coef: Reals,
        loss: Reals,
    ) -> None:
        done = 0
        while done < len(examples):
            done += batch.insert_batch(
                work.planes,
                examples[done:],
                wanted[done:],
                start[done:],
                part,
                coef,
                loss[done:],
                work.stamp,
                ids[done:],
            )
            if done < len(examples):
                work.extend(int(start[-1]))

    def frank_wolfe(self, work: Work, order: Ints) -> None:
        keys, values = self._buffers()
        for run in chunks(order, self.deadline):
            done = 0
            while done < len(run):
                done += passes.frank_wolfe_pass(
                    self.potentials, self.augment, self.decode, self.parts, self.loss, self.features, self.pack, work.w,
                    work.average, work.planes, run[done:], work.c, work.rule, work.stamp, self.sizes, work.state,
                    work.gaps, keys, values,
                )  # fmt: skip
                if done < len(run):
                    work.extend(4 * int(self.sizes[2]))
            self._check_planes(work, run)
        self._check_violations(work)

    def _check_planes(self, work: Work, run: Ints) -> None:
        """Refuse losses in the working set that are none; the kernel of a pass does not look."""
        losses = work.planes.loss[: int(work.planes.counts[0])]
        if bool(((losses >= 0.0) & (losses <= LARGEST)).all()):
            return
        for i in run.tolist():
            for p in planes_of(i, work.planes):
                checked_loss(float(work.planes.loss[p]), self.name, i)

    def perceptron(self, w: Reals, average: Reals, order: Ints, s: Reals, state: Reals) -> int:
        return sum(
            passes.perceptron_pass(
                self.potentials,
                self.decode,
                self.parts,
                self.features,
                self.pack,
                w,
                average,
                run,
                s,
                self.sizes,
                state,
            )
            for run in chunks(order, self.deadline)
        )


class PlainOracle(Oracle):
    """Oracle of a structure in plain Python (see :mod:`maxmargin.structures.plain`)."""

    features = staticmethod(identity_features)
    potentials_at = staticmethod(identity_potentials_at)

    def __init__(self, structure: Any, X: Sequence[Any], Y: Sequence[Any]) -> None:
        self.structure, self.X, self.Y = structure, X, Y
        self.name = type(structure).__name__
        self.exact = bool(getattr(structure, "exact", True))
        self.n_examples = len(X)
        self.pack = plain_pack()
        self.n_weights = -1
        self._buffer: Reals | None = None
        self._odd = ""
        indices, values = [], []
        for i in range(len(X)):
            if Y[i] is None:
                raise DataError(f"{self.name}: y[{i}] is None, which tells argmax that there is no true output")
            vector = self._vector(i, Y[i], of_truth=True)
            index = np.flatnonzero(vector)
            if not np.isfinite(vector[index]).all():
                self._not_finite(i)
            self._check_magnitude(i, vector[index])
            indices.append(index)
            values.append(vector[index].copy())
            self._loss(i, Y[i], of_truth=True)
        start = np.concatenate([[0], np.cumsum([len(index) for index in indices])])
        n = self.n_weights
        self.sizes = np.array([n, 1, 1], np.int64)
        self._data = PlainData(
            truth_start=start.astype(np.int64),
            truth_index=np.concatenate(indices).astype(np.int32),
            truth_value=np.concatenate(values),
            scratch=np.zeros(n),
            part=np.empty(n, np.int32),
            coef=np.empty(n),
        )

    def _as_vector(self, vector: Any, i: int) -> Reals:
        """What ``joint_features`` returned for example ``i``, as a dense vector of the right length."""
        if type(vector) is not np.ndarray or vector.dtype != _FLOAT or vector.ndim != 1:
            dtype = getattr(vector, "dtype", None)
            self._odd = dtype.name if isinstance(dtype, np.dtype) and dtype.str[1:] in _ODD else ""
            n_features = getattr(self.structure, "n_features", None)
            try:
                vector = dense_vector(vector, n_features, f"{self.name}, example {i}", self._buffer)
            except (DataError, StructureError) as error:
                raise type(error)(f"{error} (run check_structure)") from None
        if len(vector) != self.n_weights:
            if self.n_weights >= 0:
                raise StructureError(
                    f"{self.name}: joint_features has length {len(vector)} on example {i} but {self.n_weights} on "
                    "example 0 before; it must be the same for all examples and outputs (run check_structure)"
                )
            self.n_weights = len(vector)
            self._buffer = np.zeros(self.n_weights)
        return vector  # type: ignore[no-any-return]

    # Whatever the user's code raises goes through with a note that says at which example it happened.

    def _decoded(self, i: int, w: Reals, y_true: Any) -> Any:
        try:
            return checked_output(self.structure.argmax(self.X[i], w, y_true), self.name, i)
        except Exception as error:
            tell_example(error, self.name, i)
            raise

    def _loss(self, i: int, y: Any, *, of_truth: bool = False) -> float:
        try:
            loss = self.structure.loss(self.Y[i], y)
        except Exception as error:
            tell_example(error, self.name, i, None if of_truth else y)
            raise
        return checked_loss(loss, self.name, i, of_truth=of_truth)

    def _vector(self, i: int, y: Any, *, of_truth: bool = False) -> Reals:
        try:
            vector = self.structure.joint_features(self.X[i], y)
        except Exception as error:
            tell_example(error, self.name, i, None if of_truth else y)
            raise
        return self._as_vector(vector, i)

    def _plane(self, i: int, y: Any) -> tuple[NDArray[np.int32], Reals]:
        """Sparse ``joint_features(x_i, y) - joint_features(x_i, y_i)``, in buffers that the next call overwrites."""
        n = passes.plain_difference(*self._data, i, np.array(self._vector(i, y)))
        if n < 0:
            self._not_finite(i)
        coef = self._data.coef[:n]
        if not np.dot(coef, coef) <= LARGEST * LARGEST:
            self._check_magnitude(i, coef)
        return self._data.part[:n], coef

    def _truth(self, i: int) -> tuple[NDArray[np.int32], Reals]:
        data = self._data
        entries = slice(int(data.truth_start[i]), int(data.truth_start[i + 1]))
        return data.truth_index[entries], data.truth_value[entries]

    def _size(self, i: int, w: Reals, parts: NDArray[np.int32], coef: Reals) -> tuple[int, float]:
        return len(parts), float(np.abs(w[parts]) @ np.abs(coef))

    def _found(self, i: int, w: Reals) -> tuple[NDArray[np.int32], Reals]:
        part, coef = self._plane(i, self._decoded(i, _read_only(w), self.Y[i]))
        return part.copy(), coef.copy()

    def _reason(self, excess: float, m: int, size: float) -> str:
        if self._odd:
            return f" (joint_features returns {self._odd}, in which differences wrap or sums round: take float64)"
        return super()._reason(excess, m, size)

    def _check_magnitude(self, i: int, values: Reals) -> None:
        try:
            check_magnitude(values)
        except DataError as error:
            raise DataError(f"{self.name}, example {i}: {error} (run check_structure)") from None

    def _not_finite(self, i: int) -> None:
        raise DataError(f"{self.name}, example {i}: joint_features returned NaN or infinity (run check_structure)")

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
        slack, risks, losses = np.zeros(len(examples)), np.zeros(len(examples)), np.zeros(len(examples))
        ids = np.full(len(examples), -1, np.int64)
        self._latest, frozen = None, _read_only(w)
        for k, i in enumerate(examples.tolist()):
            if k and self.deadline is not None:
                self.deadline.check()
            if risk:
                risks[k] = self._loss(i, self._decoded(i, frozen, None))
            y = self._decoded(i, frozen, self.Y[i])
            part, coef = self._plane(i, y)
            losses[k] = self._loss(i, y)
            with np.errstate(over="ignore", invalid="ignore"):  # told apart below
                slack[k] = losses[k] + float(w[part] @ coef)
            if work is not None and (above is None or slack[k] > above[k]):
                self._insert_one(work, k, i, part, coef, float(losses[k]), ids)
        self._latest = None if work is None else (w, work)
        return Evaluation(self._checked(examples, slack, risks, losses, w), risks, ids)

    def _insert_one(
        self, work: Work, k: int, i: int, part: NDArray[np.int32], coef: Reals, loss: float, ids: Ints
    ) -> None:
        n, planes = len(part), work.planes
        if planes.counts[0] >= len(planes.next) or planes.counts[1] + n > len(planes.part):
            work.extend(4 * n)
        start, one = np.array([0, n], np.int64), np.array([i], np.int64)
        batch.insert_batch(
            work.planes, one, np.ones(1, bool), start, part, coef, np.array([loss]), work.stamp, ids[k : k + 1]
        )

    def frank_wolfe(self, work: Work, order: Ints) -> None:
        # Entering a kernel costs as much as a visit: a few visits share one call, so that up to 7 steps separate the
        # decoder's weights from those of the step. The step is exact at its own weights all the same. Small problems
        # go example by example.
        size = int(min(passes.TOGETHER, 1 + len(order) // 64))
        structure, X, Y, frozen = self.structure, self.X, self.Y, _read_only(work.w)
        argmax, joint_features, loss_of = structure.argmax, structure.joint_features, structure.loss
        loss, shape, getrefcount = np.empty(size), (self.n_weights,), sys.getrefcount
        rows = list(np.empty((passes.TOGETHER, self.n_weights)))
        vectors = rows.copy()
        visits = passes.plain_visits.entry()
        known = int(work.planes.counts[1])
        vector = np.empty(0)
        ours = getrefcount(vector)
        for at in range(0, len(order), size):
            if at and self.deadline is not None:
                self.deadline.check()
            run = order[at : at + size]
            for k, i in enumerate(run.tolist()):
                x, y_true = X[i], Y[i]
                y = None
                try:
                    y = argmax(x, frozen, y_true)
                    if y is None:
                        checked_output(y, self.name, i)
                    vector = joint_features(x, y)
                except Exception as error:
                    tell_example(error, self.name, i, y)
                    raise
                # A vector that nobody else holds is taken as it is, any other is copied: the kernel, which comes
                # later, overwrites it, and the structure may do so before. A copy costs as much as the difference.
                if (
                    type(vector) is np.ndarray
                    and getrefcount(vector) == ours
                    and getweakrefcount(vector) == 0
                    and vector.dtype == _FLOAT
                    and vector.shape == shape
                    and (flags := vector.flags).owndata
                    and flags.carray
                ):
                    vectors[k] = vector
                else:
                    rows[k][:] = self._as_vector(vector, i)
                    vectors[k] = rows[k]
                try:
                    said = loss_of(y_true, y)
                except Exception as error:
                    tell_example(error, self.name, i, y)
                    raise
                loss[k] = checked_loss(said, self.name, i)
            self._visits(visits, work, run, tuple(vectors), loss)
        added = work.planes.coef[known : int(work.planes.counts[1])]
        if max(added.max(initial=0.0), -added.min(initial=0.0)) > LARGEST:
            for i in order.tolist():
                for p in planes_of(i, work.planes):
                    self._check_magnitude(i, work.planes.coef[entries_of(work.planes, p)])
        self._check_violations(work)

    def _visits(self, visits: Any, work: Work, run: Ints, vectors: tuple[Reals, ...], loss: Reals) -> None:
        done = 0
        while True:
            done = visits(
                *self._data, *work.planes, work.w, work.average, run, vectors, done, loss, work.c, work.rule,
                work.stamp, work.state, work.gaps,
            )  # fmt: skip
            if done < 0:
                self._not_finite(int(run[-1 - done]))
            if done == len(run):
                return
            # a copy of the planes costs more than the visits in between: much room, which is no memory until it is used
            work.extend(4 * self.n_weights + min(3 * int(work.planes.counts[1]), _MOST_AHEAD))

    def perceptron(self, w: Reals, average: Reals, order: Ints, s: Reals, state: Reals) -> int:
        mistakes = 0
        frozen = _read_only(w)
        for k, i in enumerate(order.tolist()):
            if k and self.deadline is not None:
                self.deadline.check()
            part, coef = self._plane(i, self._decoded(i, frozen, None))
            if len(part):
                mistakes += 1
                w[part] -= s[i] * coef
                if len(average):
                    average[part] -= state[passes.STEPS] * s[i] * coef
            state[passes.STEPS] += 1
        return mistakes


def make_oracle(structure: Any, X: Sequence[Any], Y: Sequence[Any]) -> tuple[Oracle, Encoded | None]:
    """The oracle of a structure of either kind, with the encoded examples of a compiled one.

    Raises
    ------
    StructureError
        When the object is no structure, or a class instead of an instance: names the class and what it lacks.
    """
    check_is_structure(structure)
    if isinstance(structure, Structure):
        encoded = structure.encode(X, Y)
        return CompiledOracle(structure, encoded), encoded
    return PlainOracle(structure, X, Y), None


def _read_only(w: Reals) -> Reals:
    """A view that the user's code cannot write to; it follows the changes of ``w``."""
    view = w.view()
    view.flags.writeable = False
    return view


def _in_threads(run: Any, n: int, n_jobs: int, most: int, deadline: Deadline | None = None) -> Iterator[Any]:
    """``run(lo, hi)`` over consecutive chunks in ``n_jobs`` threads; results in order, whatever their number.

    Raises
    ------
    OutOfTime
        Between two chunks, when the deadline has passed.
    """
    size, at = min(_FIRST_CHUNK, most), 0
    if n_jobs == 1:
        while at < n:
            if at and deadline is not None:
                deadline.check()
            begin = time.perf_counter()
            yield run(at, min(at + size, n))
            at += size
            size = int(min(max(size * min(_CHUNK_SECONDS / max(time.perf_counter() - begin, 1e-6), 8.0), 1), most))
        return
    size = min(max(1, -(-n // (8 * n_jobs))), most)
    with ThreadPoolExecutor(n_jobs) as pool:
        pending = [pool.submit(run, lo, min(lo + size, n)) for lo in range(0, n, size)]
        try:
            for k, job in enumerate(pending):
                if k and deadline is not None:
                    deadline.check()
                yield job.result()
        finally:
            for job in pending:
                job.cancel()


def decode_all(
    structure: Structure, encoded: Encoded, w: Reals, start: Ints, *, n_jobs: int = 1
) -> tuple[NDArray[np.int32], Reals]:
    """Best outputs of all encoded examples, one after another at ``start``, and their scores.

    Parameters
    ----------
    start : int64 array of shape (n_examples + 1,)
        Where the output of each example goes; its length is the difference.

    Returns
    -------
    outs : int32 array of shape (start[-1],)
    scores : float64 array of shape (n_examples,)
        Minus infinity where no output is allowed.
    """
    if len(w) != encoded.n_weights:
        raise DataError(f"{type(structure).__name__}: {len(w)} weights for inputs that need {encoded.n_weights}")
    outs, scores = np.zeros(int(start[-1]), np.int32), np.zeros(encoded.n_examples)
    sizes = np.array([encoded.n_potentials, encoded.n_output, encoded.n_parts], np.int64)
    start = np.array(start, np.int64)

    def run(lo: int, hi: int) -> None:
        batch.decode_batch(
            structure.potentials, structure.decode, encoded.pack, w, np.arange(lo, hi), sizes, start[lo : hi + 1], outs,
            scores[lo:hi],
        )  # fmt: skip

    for _ in _in_threads(run, encoded.n_examples, n_jobs, encoded.n_examples):
        pass
    return outs, scores
