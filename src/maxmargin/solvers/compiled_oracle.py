"""The oracle of a structure whose functions are compiled, and the prediction of many encoded examples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, StructureError
from ..structures.base import LARGEST, Encoded, Structure, losses_of_truths
from ..structures.plain import check_losses, checked_loss, tell_example
from . import batch, passes
from .chunks import chunks, in_threads
from .deadline import OutOfTime
from .judge import planes_of
from .oracle import Evaluation, Oracle, Work
from .planes import Planes

__all__ = ["CompiledOracle", "decode_all"]

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
_HELD_ENTRIES = 400_000
_PACKAGE = __name__.partition(".")[0]
_Call = tuple[str, Callable[[], Any]]


def _calls_of_prediction(
    functions: Any, pack: Any, i: int, w: Reals, theta: Reals, out: NDArray[np.int32]
) -> Iterator[_Call]:
    """The calls, by the name of the function, that a prediction makes."""
    yield "potentials", lambda: (functions.potentials(pack, w, i, theta), theta)[1]
    yield "decode", lambda: functions.decode(pack, i, theta, out)


@contextmanager
def _telling(name: str, examples: Ints, calls: Callable[[int], Iterator[_Call]]) -> Iterator[None]:
    """Name function and example in a note on what a compiled function of the structure ``name`` raises in a kernel.

    A kernel does not say where it was when one of them failed: they are called again then, one by one.
    """
    try:
        yield
    except (DataError, StructureError, OutOfTime):
        raise
    except Exception as error:
        for i in examples.tolist():
            if failing := _first_to_fail(calls(i)):
                tell_example(error, f"{name}.{failing}", i)
                break
        raise


def _first_to_fail(calls: Iterator[_Call]) -> str | None:
    function = None
    try:
        for function, call in calls:  # noqa: B007
            call()
    except Exception:
        return function
    return None


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
            with self.telling(np.zeros(self.n_weights), run):
                losses_of_truths(self.loss, self.pack, run, int(self.sizes[1]), losses)
            check_losses(losses, self.name, run, of_truth=True)

    def telling(self, w: Reals, examples: Ints) -> AbstractContextManager[None]:
        """A note on what compiled functions raise in a kernel: which one, and at which of the examples."""
        return _telling(self.name, examples, lambda i: self._calls(i, w))

    def _calls(self, i: int, w: Reals) -> Iterator[_Call]:
        """The calls that kernels make for an example, in whose answers there should be no NaN."""
        theta, out, truth = np.zeros(int(self.sizes[0])), np.zeros(int(self.sizes[1]), np.int32), self._true_output(i)
        yield "loss", lambda: self.loss(self.pack, i, truth)
        yield "parts", lambda: self._parts(i, truth)[1]
        yield from _calls_of_prediction(self, self.pack, i, w, theta, out)
        yield "loss", lambda: self.loss(self.pack, i, out)
        yield "augment", lambda: np.append(theta, self.augment(self.pack, i, theta))
        yield "decode", lambda: self.decode(self.pack, i, theta, out)
        yield "loss", lambda: self.loss(self.pack, i, out)
        yield "parts", lambda: self._parts(i, out)[1]
        parts, count = self._parts(i, out)
        yield "features", lambda: self._size(i, w, parts, count)[1]
        yield "potentials_at", lambda: (self.potentials_at(self.pack, w, i, parts, len(parts), theta), theta[parts])[1]

    def _source_of_nan(self, i: int, w: Reals) -> str:
        lost = bool(np.isnan(w).any())  # then any example may have done it
        for k in range(self.n_examples) if lost else (i,):
            for name, call in self._calls(k, np.zeros_like(w) if lost else w):
                if np.isnan(np.asarray(call(), np.float64)).any():
                    return f"{name} has returned NaN at example {k}"
        return ""

    def _check_numbers(self, work: Work) -> None:
        """Refuse NaN of the structure's functions in the figures of a pass; other figures overflow for the loop."""
        if np.isnan(work.state).any() and (source := self._source_of_nan(0, work.w)):
            raise StructureError(f"{self.name}: {source} (run check_structure)")

    def _true_output(self, i: int) -> NDArray[np.int32]:
        out = np.zeros(int(self.sizes[1]), np.int32)
        target = self.pack.target[self.pack.target_start[i] : self.pack.target_start[i + 1]]
        out[: len(target)] = target
        return out

    def _truth(self, i: int) -> tuple[NDArray[np.int32], Reals]:
        return self._parts(i, self._true_output(i))

    def _parts(self, i: int, out: NDArray[np.int32]) -> tuple[NDArray[np.int32], Reals]:
        """Different parts of an output, each with its number."""
        parts = np.empty(int(self.sizes[2]), np.int32)
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
        with self.telling(w, examples):
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
                with self.telling(work.w, run[done:]):
                    done += passes.frank_wolfe_pass(
                        self.potentials, self.augment, self.decode, self.parts, self.loss, self.features, self.pack,
                        work.w, work.average, work.planes, run[done:], work.c, work.rule, work.stamp, self.sizes,
                        work.state, work.gaps, keys, values,
                    )  # fmt: skip
                if done < len(run):
                    work.extend(4 * int(self.sizes[2]))
            self._check_planes(work, run)
            self._check_numbers(work)
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
        mistakes = 0
        for run in chunks(order, self.deadline):
            with self.telling(w, run):
                mistakes += passes.perceptron_pass(
                    self.potentials, self.decode, self.parts, self.features, self.pack, w, average, run, s, self.sizes,
                    state,
                )  # fmt: skip
        return mistakes

    def sweep(self, work: Work, order: Ints) -> None:
        with self.telling(work.w, order):
            super().sweep(work, order)
        self._check_numbers(work)

    def add_planes(self, planes: Planes, examples: Ints, ids: Ints, scale: Reals, out: Reals) -> None:
        with self.telling(np.zeros(self.n_weights), examples):
            super().add_planes(planes, examples, ids, scale, out)

    def best_cached(self, w: Reals, planes: Planes, examples: Ints) -> tuple[Ints, Reals]:
        with self.telling(w, examples):
            return super().best_cached(w, planes, examples)


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

    def calls(i: int) -> Iterator[_Call]:
        theta, out = np.zeros(encoded.n_potentials), np.zeros(encoded.n_output, np.int32)
        return _calls_of_prediction(structure, encoded.pack, i, w, theta, out)

    def run(lo: int, hi: int) -> None:
        with _telling(type(structure).__name__, np.arange(lo, hi), calls):
            batch.decode_batch(
                structure.potentials, structure.decode, encoded.pack, w, np.arange(lo, hi), sizes, start[lo : hi + 1],
                outs, scores[lo:hi],
            )  # fmt: skip

    for _ in in_threads(run, encoded.n_examples, n_jobs, encoded.n_examples):
        pass
    return outs, scores
