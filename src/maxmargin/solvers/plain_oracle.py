"""The oracle of a structure in plain Python, see :mod:`maxmargin.structures.plain`.

What the user's code returns is checked here, and what it raises is told with the example at which it happened.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any
from weakref import getweakrefcount

import numpy as np
from numpy.typing import NDArray

from .._products import inner
from ..errors import DataError, StructureError
from ..structures.base import LARGEST, check_magnitude
from ..structures.plain import (
    PlainData,
    checked_loss,
    checked_output,
    dense_vector,
    identity_features,
    identity_potentials_at,
    plain_pack,
    tell_example,
)
from . import batch, passes
from .judge import entries_of, planes_of
from .oracle import Evaluation, Oracle, Work

__all__ = ["PlainOracle"]

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
_FLOAT = np.dtype(np.float64)
_MOST_AHEAD = 1 << 24  # entries, 200 MB
_ODD = ("u1", "u2", "u4", "u8", "i1", "i2", "b1", "f2", "f4")  # types in which differences wrap or sums round


class PlainOracle(Oracle):
    """Oracle of a structure in plain Python (see :mod:`maxmargin.structures.plain`)."""

    features = staticmethod(identity_features)
    potentials_at = staticmethod(identity_potentials_at)
    sweeps = 50

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

    def squares_of_truths(self, examples: Ints) -> Reals:
        return np.array([inner(values, values) for _, values in map(self._truth, examples.tolist())], np.float64)

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


def _read_only(w: Reals) -> Reals:
    """A view that the user's code cannot write to; it follows the changes of ``w``."""
    view = w.view()
    view.flags.writeable = False
    return view
