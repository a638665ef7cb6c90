"""The oracle of a structure whose functions are compiled, and the prediction of many encoded examples."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, StructureError
from ..structures.base import LARGEST, Encoded, Structure, losses_of_truths
from ..structures.check_calls import Calls, check_are_compiled, check_functions, check_pack
from ..structures.check_report import Ledger, shown
from ..structures.plain import check_losses, checked_loss, tell_example
from . import batch, passes
from .buffers import Astray, Buffers
from .chunks import chunks, in_threads
from .deadline import OutOfTime
from .judge import entries_of, overflow_of, planes_of
from .oracle import Evaluation, Oracle, Work
from .planes import Planes

__all__ = ["CompiledOracle", "check_encoded", "decode_all"]

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]
_HELD_ENTRIES = 400_000
_LOOKED_AT = 20  # examples, at the beginning of a fit
_STALE = -1.2345e6  # what entries hold that potentials leaves alone
_SIZES = ("n_examples", "n_weights", "n_potentials", "n_output", "n_parts")
_PACKAGE = __name__.partition(".")[0]


@contextmanager
def _telling(structure: Structure, encoded: Encoded, w: Reals, examples: Ints, planes: Planes | None) -> Iterator[None]:
    """Name function and example where a compiled function fails in a kernel.

    A kernel does not say where it was: the functions are called again then, one by one.

    Raises
    ------
    StructureError, DataError
        Where a function left its arrays or gave what is none: names it and the example.
    Exception
        What a function raised, with a note.
    """
    try:
        yield
    except (DataError, StructureError, OutOfTime):
        raise
    except Exception as error:
        name = type(structure).__name__
        # weights that are lost say nothing any more, and any example may have done it
        lost = not np.isfinite(w).all()
        for i in range(encoded.n_examples) if lost else examples.tolist():
            replay = _Replay(structure, encoded, i)
            try:
                replay.run(np.zeros_like(w) if lost else w, planes)
            except Exception as fault:
                if isinstance(error, Astray):
                    raise fault from None
                tell_example(error, f"{name}.{replay.calls.latest}", i)
                break
        else:
            if isinstance(error, Astray):
                if lost:
                    raise overflow_of(name, int(examples[0])) from None
                raise StructureError(
                    f"{name}: a compiled function wrote outside its arrays, or gave NaN or what does not exist, in one "
                    "call but not when called again; it must keep nothing from call to call (run check_structure)"
                ) from None
        raise


class _Replay:
    """The calls that kernels make for one example, between guards, and a look at what each of them gives."""

    def __init__(self, structure: Structure, encoded: Encoded, i: int) -> None:
        self.structure, self.encoded, self.i, self.name = structure, encoded, i, type(structure).__name__
        ledger = Ledger(self.name, ("functions", "buffers", "features", "compiled = Python"), raise_errors=True)
        self.calls = Calls(structure, encoded, ledger, twins=False)

    def run(self, w: Reals, planes: Planes | None) -> None:
        """All calls, until one fails."""
        try:
            self._run(w, planes)
        except StructureError as error:
            if "check_structure" in str(error):
                raise
            raise StructureError(f"{error} (run check_structure)") from error.__cause__

    def _run(self, w: Reals, planes: Planes | None) -> None:
        calls, i, pack = self.calls, self.i, self.encoded.pack
        theta = calls.potentials(i, w)
        self._check_numbers(theta)
        self.exist = calls.potentials(i, w, _STALE) == theta
        if not len(pack.target):  # a prediction
            self._decoded(theta)
            return
        truth = true_vector(self.encoded, i)
        checked_loss(calls.loss(i, truth), self.name, i, of_truth=True)
        self._parts(truth)
        out = self._decoded(theta)
        self._parts(out)
        checked_loss(calls.loss(i, out), self.name, i)
        constant, theta = calls.augment(i, theta)
        self._check_numbers(np.append(theta, abs(constant)))
        out = self._decoded(theta)
        found, count = np.unique(self._parts(out), return_counts=True)
        checked_loss(calls.loss(i, out), self.name, i)
        if not np.isfinite(theta[found]).all():
            raise overflow_of(self.name, i)
        self._features(found.astype(np.int32), count.astype(np.float64), w)
        if planes is not None:
            for p in planes_of(i, planes):
                at = entries_of(planes, p)
                self._features(planes.part[at], planes.coef[at], w)

    def _check_numbers(self, values: Reals) -> None:
        """Potentials may be minus infinity, for what is forbidden."""
        odd = np.isnan(values) | (values == np.inf)
        function = self.calls.latest
        if odd.any():
            if _is_ours(getattr(self.structure, function)):
                raise overflow_of(self.name, self.i)
            shown = "NaN" if np.isnan(values).any() else "infinity"
            raise StructureError(f"{self.name}: {function} has returned {shown} at example {self.i}")

    def _decoded(self, theta: Reals) -> NDArray[np.int32]:
        score, out = self.calls.decode(self.i, theta)
        if np.isnan(score):
            self._check_numbers(np.array([score]))
        return out

    def _parts(self, out: NDArray[np.int32]) -> NDArray[np.int32]:
        parts = self.calls.parts(self.i, out)
        where = f", of the output {shown(out.tolist())}"
        self._check_range(parts, self.encoded.n_potentials, "potential", where)
        for part in parts[~self.exist[parts]][:1]:
            raise StructureError(
                f"{self.name}: parts of example {self.i}: potential {part} is none of the example's{where}; potentials "
                "leaves it alone"
            )
        return parts

    def _features(self, parts: NDArray[np.int32], coef: Reals, w: Reals) -> None:
        keys, values = self.calls.features(self.i, parts, coef)
        self._check_range(keys, self.encoded.n_weights, "feature index")
        self._check_numbers(np.abs(values))
        self._check_numbers(self.calls.potentials_at(self.i, w, parts))

    def _check_range(self, numbers: NDArray[Any], size: int, what: str, where: str = "") -> None:
        for number in numbers[(numbers < 0) | (numbers >= size)][:1]:
            raise StructureError(
                f"{self.name}: {self.calls.latest} of example {self.i}: {what} {number} is outside 0..{size - 1}{where}"
            )


def _is_ours(function: Any) -> bool:
    """Whether a function is the library's own."""
    return str(getattr(function, "__module__", "")).startswith(f"{_PACKAGE}.")


def _fits(w: Any) -> bool:
    """Whether kernels can take weights without a look at their type."""
    return type(w) is np.ndarray and w.ndim == 1 and w.dtype == np.float64 and w.flags.c_contiguous and w.flags.aligned


def true_vector(encoded: Encoded, i: int) -> NDArray[np.int32]:
    """True output of an example, in a buffer of the length that functions get."""
    out = np.zeros(encoded.n_output, np.int32)
    target = encoded.pack.target[encoded.pack.target_start[i] : encoded.pack.target_start[i + 1]]
    out[: len(target)] = target
    return out


def check_encoded(structure: Structure, encoded: Any) -> None:
    """Refuse what kernels could not take from ``encode``.

    Raises
    ------
    StructureError
        Names what is wrong.
    """
    _check_form(structure, encoded)
    _check_arrays(structure, encoded)


def _check_arrays(structure: Structure, encoded: Encoded) -> None:
    check_pack(encoded, Ledger(type(structure).__name__, ("functions",), raise_errors=True))


def _check_form(structure: Structure, encoded: Any) -> None:
    name = type(structure).__name__
    if not isinstance(encoded, Encoded):
        raise StructureError(
            f"{name}: encode returned an object of type {type(encoded).__name__}; it must return an Encoded (run "
            "check_structure)"
        )
    for size in _SIZES:
        value = getattr(encoded, size)
        if not isinstance(value, int | np.integer) or value < 0:
            raise StructureError(
                f"{name}: encode gives {size} = {value!r}; it must be an integer, at least 0 (run check_structure)"
            )
    n = encoded.pack.row_start.shape[1] - 1
    if len(encoded.pack.groups) and n != encoded.n_examples:
        raise StructureError(
            f"{name}: encode gives n_examples = {encoded.n_examples}, but rows of {n} (run check_structure)"
        )


class CompiledOracle(Oracle):
    """Oracle of a :class:`~maxmargin.structures.base.Structure`."""

    def __init__(self, structure: Structure, encoded: Encoded) -> None:
        missing = structure.missing()
        if missing:
            raise StructureError(f"{type(structure).__name__} lacks the compiled function {missing[0]!r}")
        check_are_compiled(structure, Ledger(type(structure).__name__, ("functions",), raise_errors=True))
        _check_form(structure, encoded)
        self.name = type(structure).__name__
        self.structure, self.encoded = structure, replace(encoded, extra={})
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
        _check_arrays(self.structure, self.encoded)
        if not all(map(_is_ours, self.functions)):
            check_functions(self.structure, Ledger(self.name, ("functions",), raise_errors=True))
        if not _is_ours(self.loss):  # the library's are 0 at the truth, and loading this kernel takes 45 ms
            for run in chunks(np.arange(self.n_examples)):
                losses = np.empty(len(run))
                with self.telling(np.zeros(self.n_weights), run):
                    losses_of_truths(self.loss, self.pack, run, int(self.sizes[1]), losses)
                check_losses(losses, self.name, run, of_truth=True)
        if all(map(_is_ours, self.functions)):
            return
        # some solvers never notice a part that only other examples have
        for i in np.unique(np.linspace(0, self.n_examples - 1, min(self.n_examples, _LOOKED_AT)).astype(np.int64)):
            self._examine(int(i), np.zeros(self.n_weights), None)

    def _examine(self, i: int, w: Reals, planes: Planes | None) -> None:
        replay = _Replay(self.structure, self.encoded, i)
        try:
            replay.run(w, planes)
        except StructureError as error:
            raised = error.__cause__
            if not isinstance(raised, Exception):
                raise
            tell_example(raised, f"{self.name}.{replay.calls.latest}", i)  # what a function raises keeps its type
            raise raised from None

    def telling(self, w: Reals, examples: Ints, planes: Planes | None = None) -> AbstractContextManager[None]:
        """Where compiled functions fail in a kernel, say which one, and at which of the examples.

        Parameters
        ----------
        planes : Planes, optional
            Those that the kernel looks at.
        """
        return _telling(self.structure, self.encoded, w, examples, planes)

    def _truth(self, i: int) -> tuple[NDArray[np.int32], Reals]:
        return self._parts(i, true_vector(self.encoded, i))

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
        part, coef, buffers = np.empty(room, np.int32), np.empty(room), Buffers(self.sizes)
        with self.telling(w, examples):
            batch.evaluate_batch(
                self.potentials, self.augment, self.decode, self.parts, self.loss, self.pack, w, examples, risk, planes,
                self.sizes, *buffers.all, slack, risks, losses, start, part, coef,
            )  # fmt: skip
            buffers.check()
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
        room = Buffers(self.sizes)
        for run in chunks(order, self.deadline):
            done = 0
            while done < len(run):
                with self.telling(work.w, run[done:], work.planes):
                    done += passes.frank_wolfe_pass(
                        self.potentials, self.augment, self.decode, self.parts, self.loss, self.features, self.pack,
                        work.w, work.average, work.planes, run[done:], work.c, work.rule, work.stamp, self.sizes,
                        *room.all, work.state, work.gaps, keys, values,
                    )  # fmt: skip
                    room.check()
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
        mistakes, room = 0, Buffers(self.sizes)
        for run in chunks(order, self.deadline):
            with self.telling(w, run):
                mistakes += passes.perceptron_pass(
                    self.potentials, self.decode, self.parts, self.features, self.pack, w, average, run, s, self.sizes,
                    *room.all, state,
                )  # fmt: skip
                room.check()
        return mistakes

    def squares_of_truths(self, examples: Ints) -> Reals:
        from .structured_steps import squares_of_truths  # here, as that module imports this one

        squares, room, at = np.empty(len(examples)), Buffers(self.sizes), 0
        for run in chunks(examples, self.deadline):
            with self.telling(np.zeros(self.n_weights), run):
                squares_of_truths(
                    self.parts, self.features, self.pack, run, self.sizes, self.n_weights, room.out, room.true_parts,
                    squares[at : at + len(run)],
                )  # fmt: skip
                room.check()
            at += len(run)
        return squares

    def sweep(self, work: Work, order: Ints) -> None:
        with self.telling(work.w, order, work.planes):
            super().sweep(work, order)

    def add_planes(self, planes: Planes, examples: Ints, ids: Ints, scale: Reals, out: Reals) -> None:
        with self.telling(np.zeros(self.n_weights), examples, planes):
            super().add_planes(planes, examples, ids, scale, out)

    def best_cached(self, w: Reals, planes: Planes, examples: Ints) -> tuple[Ints, Reals]:
        with self.telling(w, examples, planes):
            return super().best_cached(w, planes, examples)


def decode_all(
    structure: Structure, encoded: Encoded, w: Reals, start: Ints, *, n_jobs: int = 1
) -> tuple[NDArray[np.int32], Reals]:
    """Best outputs of all encoded examples, one after another at ``start``, and their scores.

    Parameters
    ----------
    encoded : Encoded
        Its pack comes from :func:`~maxmargin.structures.base.make_pack`, or :func:`check_encoded` has looked at it.
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
    examples = np.arange(encoded.n_examples)
    potentials, decode, pack = structure.potentials, structure.decode, encoded.pack
    known = _is_ours(potentials) and _is_ours(decode) and _fits(w)
    decode_batch = batch.decode_batch.as_they_are if known else batch.decode_batch

    def run(lo: int, hi: int) -> None:
        with _telling(structure, encoded, w, examples[lo:hi], None):
            room = Buffers(sizes)
            decode_batch(
                potentials, decode, pack, w, examples[lo:hi], room.theta, room.out, start[lo : hi + 1], outs,
                scores[lo:hi],
            )  # fmt: skip
            room.check()

    for _ in in_threads(run, encoded.n_examples, n_jobs, encoded.n_examples):
        pass
    return outs, scores
