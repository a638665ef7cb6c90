"""The oracle of a structure whose functions are compiled, and the prediction of many encoded examples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, StructureError
from ..structures.base import LARGEST, Encoded, Structure, losses_of_truths
from ..structures.plain import check_losses, checked_loss
from . import batch, passes
from .chunks import chunks, in_threads
from .judge import planes_of
from .oracle import Evaluation, Oracle, Work

__all__ = ["CompiledOracle", "decode_all"]

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
_HELD_ENTRIES = 400_000
_PACKAGE = __name__.partition(".")[0]


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

    @property
    def functions(self) -> tuple[Any, ...]:
        """The compiled functions of the structure."""
        return (
            self.potentials, self.potentials_at, self.features, self.augment, self.decode, self.parts, self.loss
        )  # fmt: skip

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
        for lo, hi, found in in_threads(run_one, n, n_jobs, most, self.deadline):
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

    for _ in in_threads(run, encoded.n_examples, n_jobs, encoded.n_examples):
        pass
    return outs, scores
