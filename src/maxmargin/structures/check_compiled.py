"""Checks of structures with compiled functions; :func:`.check.check_structure` is their public face."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import Encoded, Structure
from .check_calls import Calls, check_functions, check_pack
from .check_reference import ReferenceCheck
from .check_report import Abandoned, Ledger, differ, shown
from .check_tools import (
    Candidates, Champions, Claim, Output, check_pickle, check_threads, check_truth_is_listed, compare, frozen,
    listed_candidates, random_weights, unchanged,
)  # fmt: skip

__all__ = ["COMPILED_CHECKS", "CompiledCheck"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int32]

COMPILED_CHECKS = (
    "functions", "encode and output", "buffers", "compiled = Python", "potentials", "features", "parts", "loss", "augment",
    "outputs", "decode", "loss-augmented decode", "reference", "two threads", "pickle",
)  # fmt: skip
_CLAIMS = (
    Claim("decode", "score", "decode", "find the output whose parts have the largest sum of theta"),
    Claim(
        "loss-augmented decode", "loss + score", "decode after augment", "find the largest sum of theta after augment too",
        " (augment seems to add nothing)",
    ),
)  # fmt: skip
# Without a list of outputs, outputs decoded from so many random potentials stand in for it.
_MORE_POTENTIALS = 100
# Far from any score, to see whether what should not be read is read.
_STALE = 1e6


class CompiledCheck:
    """One run of the checks on a compiled structure; what it finds goes into the ledger."""

    def __init__(
        self, structure: Structure, X: Any, Y: Sequence[Any], ledger: Ledger, candidates: Candidates | None, reference: Any,
        n_weights: int, rng: np.random.Generator, max_outputs: int,
    ) -> None:  # fmt: skip
        self.structure, self.ledger, self.reference, self.rng = structure, ledger, reference, rng
        self.X, self.Y = frozen(X), frozen(Y)
        self.n_weights, self.max_outputs = n_weights, max_outputs
        self.lists = candidates is None and (hasattr(structure, "outputs") or hasattr(reference, "outputs"))
        self.candidates = None if candidates is None else listed_candidates(candidates, self.X, len(Y))

    def run(self) -> None:
        """All checks."""
        ledger = self.ledger
        try:
            check_functions(self.structure, ledger)
            if not ledger.clean:
                return
            self.encoded = self._encode(self.structure, self.X, self.Y)
            check_pack(self.encoded, ledger)
            self._check_sizes()
            self.calls = Calls(self.structure, self.encoded, ledger)
            self._make_weights()
        except Abandoned:
            return
        for claim in _CLAIMS:
            ledger.note(claim.check, self._compared_with())
        if self.reference is None:
            ledger.note("reference", "none given")
        for i in range(len(self.Y)):
            try:
                self._examine(i)
            except Abandoned:
                continue
        try:
            self._check_output()
        except Abandoned:
            pass
        if not ledger.clean:
            for check in ("two threads", "pickle"):
                ledger.note(check, "after the faults")
            return
        expected = self._answers(self.calls)
        check_threads(ledger, expected, lambda order: self._answers(self.calls, order))
        check_pickle(self.structure, ledger, lambda again: self._answers(self._calls_of(again)) == expected)

    def _compared_with(self) -> str:
        if not self.structure.exact:
            return "exact = False: no maximum is asked for"
        if self.candidates is not None:
            return "compared with the candidates given"
        if self.lists:
            return "compared with all outputs"
        return "compared with outputs decoded from random potentials; define outputs(encoded, i) for a proof"

    # --- encode and output

    def _encode(self, structure: Structure, X: Any, Y: Any) -> Encoded:
        try:
            encoded = structure.encode(X, Y)
        except Exception as error:
            hint = "; it writes to X or Y: work on a copy" if "read-only" in str(error) else ""
            self.ledger.abandon("encode and output", None, f"encode raised {type(error).__name__}: {error}{hint}", error)
        if not isinstance(encoded, Encoded):
            self.ledger.abandon(
                "encode and output", None, f"encode returned {shown(encoded)}; return Encoded.of(make_pack(...), ...)"
            )
        return encoded

    def _check_sizes(self) -> None:
        encoded, n = self.encoded, len(self.Y)
        start, n_target = encoded.pack.target_start, len(encoded.pack.target)
        check = "encode and output"
        if encoded.n_examples != n:
            self.ledger.abandon(check, None, f"encode gives n_examples = {encoded.n_examples} for {n} true outputs")
        if len(start) != n + 1 or start[0] != 0 or (np.diff(start) < 0).any() or start[-1] > n_target:
            self.ledger.abandon(
                check, None, f"target_start has {len(start)} entries and ends at {start[-1] if len(start) else None} for {n} "
                f"examples and {n_target} entries of target; it must rise from 0, with one entry more than there are examples"
            )  # fmt: skip
        longest = int(np.diff(start).max(initial=0))
        if longest > encoded.n_output:
            i = int(np.diff(start).argmax())
            self.ledger.abandon(
                "buffers", i, f"its true output has {longest} entries, more than n_output = {encoded.n_output}; encode must "
                "give a larger n_output"
            )  # fmt: skip
        self.ledger.passed(check, None, 3)

    def _check_output(self) -> None:
        """Whether ``encode`` undoes ``output``."""
        check, pack = "encode and output", self.encoded.pack
        try:
            outputs = [self.structure.output(self.encoded, i, self._truth(i).copy()) for i in range(len(self.Y))]
        except Exception as error:
            self.ledger.abandon(check, None, f"output raised {type(error).__name__} on a true output: {error}", error)
        again = self._encode(self.structure, self.X, outputs).pack
        for i in range(len(self.Y)):
            old, new = self._truth(i), again.target[again.target_start[i] : again.target_start[i + 1]]
            if not np.array_equal(old, new):
                self.ledger.fault(
                    check, i, f"output turns the true vector {shown(old.tolist())} into {shown(outputs[i])}, which encode turns "
                    f"into {shown(new.tolist())}; encode must undo output"
                )  # fmt: skip
            else:
                self.ledger.passed(check, i)
        if not unchanged(pack, self.encoded.pack):
            self.ledger.fault(check, None, "output changed the pack")

    def _truth(self, i: int) -> Ints:
        pack = self.encoded.pack
        return pack.target[pack.target_start[i] : pack.target_start[i + 1]]

    def _vector(self, values: Any, fill: int = 0) -> Ints:
        out = np.full(self.encoded.n_output, fill, np.int32)
        out[: len(values)] = values
        return out

    # --- feature map

    def _make_weights(self) -> None:
        norms = []
        for i in range(len(self.Y)):
            parts, coef = _counted(self.calls.parts(i, self._vector(self._truth(i))))
            norms.append(float(np.linalg.norm(self.calls.features(i, parts, coef)[1])))
        self.w = random_weights(self.rng, self.n_weights, self.encoded.n_weights, float(np.nanmean(norms)))
        self.w.flags.writeable = False

    def _potentials(self, i: int) -> None:
        """Potentials under every weight vector, and which of them exist."""
        self.thetas = np.stack([self.calls.potentials(i, w) for w in self.w])
        self.exist = self.calls.potentials(i, self.w[-1], _STALE) == self.thetas[-1]
        bad = np.argwhere(~np.isfinite(self.thetas))
        for k, p in bad[:1]:
            self.ledger.abandon(
                "potentials", i, f"potential {p} is {self.thetas[k, p]} under finite weights; make all features finite numbers"
            )
        asked = self.rng.permutation(np.flatnonzero(self.exist)).astype(np.int32)
        for theta, w in zip(self.thetas, self.w):
            got = self.calls.potentials_at(i, w, asked[: self.encoded.n_parts])
            for p, value in zip(asked.tolist(), got):
                if differ(value, theta[p]):
                    self.ledger.abandon(
                        "potentials", i, f"potentials_at gives {value:.10g} for potential {p} but potentials gives "
                        f"{theta[p]:.10g}; they must agree"
                    )  # fmt: skip
            self.ledger.passed("potentials", i, len(got))

    def _features(self, i: int, parts: Ints, coef: Reals) -> None:
        """Whether ``features`` is the gradient of the potentials."""
        keys, values = self.calls.features(i, parts, coef)
        if len(np.unique(keys)) != len(keys):
            key = int(keys[np.flatnonzero(np.bincount(keys)[keys] > 1)[0]]) if keys.min() >= 0 else int(keys.min())
            self.ledger.abandon(
                "features", i, f"features lists weight {key} twice among {len(keys)} keys of parts {shown(parts.tolist())}; add up "
                "the values of one weight"
            )  # fmt: skip
        if len(keys) and not 0 <= keys.min() <= keys.max() < self.encoded.n_weights:
            self.ledger.abandon(
                "features", i, f"features lists weights from {keys.min()} to {keys.max()}; there are n_weights = "
                f"{self.encoded.n_weights}"
            )  # fmt: skip
        for w, theta in zip(self.w, self.thetas):
            got, wanted = float(w[keys] @ values), float(theta[parts] @ coef)
            if differ(got, wanted):
                self.ledger.abandon(
                    "features", i, f"<w, features> of parts {shown(parts.tolist())} is {got:.10g} but their potentials sum to "
                    f"{wanted:.10g}; features must be the gradient of potentials"
                )  # fmt: skip
            self.ledger.passed("features", i)

    # --- outputs

    def _parts(self, i: int, out: Ints, *, twin: bool) -> Ints:
        parts = self.calls.parts(i, out, twin=twin)
        wrong = parts[(parts < 0) | (parts >= len(self.exist))]
        wrong = wrong if len(wrong) else parts[~self.exist[parts]]
        if len(wrong):
            self.ledger.abandon(
                "parts", i, f"parts of output {shown(out.tolist())} has potential {wrong[0]}; the example has "
                f"{int(self.exist.sum())} potentials"
            )  # fmt: skip
        self.ledger.passed("parts", i)
        return parts

    def _judged(self, i: int, out: Ints, source: str, *, twin: bool = False) -> Output:
        """An output with everything that must hold for each."""
        parts = self._parts(i, out, twin=twin)
        loss = self.calls.loss(i, out, twin=twin)
        name = shown(out.tolist())
        if not 0.0 <= loss < np.inf:
            self.ledger.abandon("loss", i, f"the loss of output {name} is {loss!r}; it must be finite and at least 0")
        self.ledger.passed("loss", i)
        added = self.constant + float(self.delta[parts].sum())
        if differ(added, loss):
            self.ledger.fault(
                "augment", i, f"augment adds {added:.10g} to output {name} (constant {self.constant:.10g}), its loss is {loss:.10g}; "
                "constant and additions must sum to the loss"
            )  # fmt: skip
        self.ledger.passed("augment", i)
        return Output(out.tolist(), source, self.thetas[:, parts].sum(1), loss)

    def _decoded(self, i: int, theta: Reals, row: int) -> Output:
        """The best output of potentials, decoded twice with different remains in the buffers."""
        score, out = self.calls.decode(i, theta, 0, twin=True)
        stale, stale_out = self.calls.decode(i, np.where(self.exist, theta, _STALE), 1)
        check = _CLAIMS[row].check
        parts, stale_parts = self._parts(i, out, twin=True), self._parts(i, stale_out, twin=False)
        if differ(score, stale) or not np.array_equal(parts, stale_parts):
            self.ledger.abandon(
                check, i, f"decode depends on what stood in its buffers before (score {score:.10g} or {stale:.10g}, output "
                f"{shown(out.tolist())} or {shown(stale_out.tolist())}); read the potentials of the example only, set all of out"
            )  # fmt: skip
        if differ(score, float(theta[parts].sum())):
            self.ledger.fault(
                check, i, f"decode returned the score {score:.10g} but the potentials of its output {shown(out.tolist())} sum to "
                f"{theta[parts].sum():.10g}; return that sum"
            )  # fmt: skip
        return self._judged(i, out, "decoded from other potentials", twin=True)

    def _examine(self, i: int) -> None:
        self._potentials(i)
        nothing = np.zeros(self.encoded.n_potentials)
        self.constant, self.delta = self.calls.augment(i, nothing)
        constant, augmented = self.calls.augment(i, self.thetas[1])
        for p in np.flatnonzero(~np.isclose(augmented - self.thetas[1], self.delta) & self.exist)[:1]:
            self.ledger.abandon(
                "augment", i, f"augment adds {self.delta[p]:.10g} to potential {p} when it is 0, but "
                f"{augmented[p] - self.thetas[1, p]:.10g} when it is {self.thetas[1, p]:.10g}; add to theta, do not set it"
            )  # fmt: skip
        vector = self._vector(self._truth(i))
        truth_parts = self._parts(i, vector, twin=True)
        if not np.array_equal(truth_parts, self._parts(i, self._vector(self._truth(i), 1), twin=False)):
            self.ledger.abandon("parts", i, "parts depends on entries of out behind the end of the output; read only the output")
        truth = self._judged(i, vector, "the truth", twin=True)
        if truth.loss != 0.0:
            self.ledger.fault("loss", i, f"the loss of the true output is {truth.loss!r}; it must be 0")
        found = [[self._decoded(i, theta + row * self.delta, row) for theta in self.thetas] for row in (0, 1)]
        self._check_features(i, truth_parts, found)
        every, listed = Champions(len(self.w)), Champions(len(self.w))
        for output in (truth, *found[0], *found[1]):
            every.add(output, output.values)
        nearest = np.inf
        for output in self._others(i):
            every.add(output, output.values)
            listed.add(output, output.values)
            if abs(output.scores[-1] - truth.scores[-1]) < abs(nearest - truth.scores[-1]):
                nearest = float(output.scores[-1])
        complete = self.lists and listed.count <= self.max_outputs
        if complete:
            check_truth_is_listed(self.ledger, i, truth.scores, nearest, listed.count)
        elif self.lists:
            self.ledger.note("outputs", f"example {i} has more than max_outputs = {self.max_outputs}; the first were used")
        if self.structure.exact:
            compare(self.ledger, i, _CLAIMS, found, every, listed if complete else None)
        if self.reference is not None:
            self._refer(i, truth, found)

    def _refer(self, i: int, truth: Output, found: list[list[Output]]) -> None:
        try:
            x = self.X[i]
        except TypeError as error:
            self.ledger.abandon("reference", i, f"an X of type {type(self.X).__name__} has no X[{i}] for the reference", error)
        check = ReferenceCheck(self.reference, self.ledger, i, x, self.Y[i], self.w)
        for output in {tuple(output.y): output for output in (truth, *found[0], *found[1])}.values():
            vector = np.array(output.y, np.int32)
            y = self.structure.output(self.encoded, i, vector[: len(self._truth(i))])
            check.output(y, output.loss, self.calls.features(i, *_counted(self.calls.parts(i, vector))))
        check.best(found)

    def _check_features(self, i: int, truth: Ints, found: list[list[Output]]) -> None:
        for output in (found[0][-1], found[1][1]):
            other = self.calls.parts(i, np.array(output.y, np.int32))
            parts, count = _counted(np.concatenate([truth, other]))
            if len(parts):
                sign = np.bincount(truth, minlength=len(self.exist))[parts] - np.bincount(other, minlength=len(self.exist))[parts]
                self._features(i, parts, count)
                self._features(i, parts, sign.astype(np.float64))
        some = self.rng.permutation(np.flatnonzero(self.exist))[: self.encoded.n_parts].astype(np.int32)
        self._features(i, some, self.rng.normal(size=len(some)))

    # --- what to compare with

    def _others(self, i: int) -> Iterator[Output]:
        if self.candidates is not None:
            vectors, source = self._encoded_outputs(i, self.candidates[i]), "from candidates"
        elif self.lists:
            vectors, source = self._listed(i), "from outputs"
        else:
            vectors, source = self._met(i), "decoded from other potentials"
        for vector in vectors:
            yield self._judged(i, vector, source)

    def _listed(self, i: int) -> list[Ints]:
        """The full list, one more than wanted if it had to be cut."""
        own = hasattr(self.structure, "outputs")
        try:
            ys = self.structure.outputs(self.encoded, i) if own else self.reference.outputs(self.X[i])  # type: ignore[attr-defined]
            ys = list(islice(ys, self.max_outputs + 1))
        except Exception as error:
            self.ledger.abandon("outputs", i, f"outputs raised {type(error).__name__}: {error}", error)
        return [self._vector(y) for y in ys] if own else self._encoded_outputs(i, ys)

    def _encoded_outputs(self, i: int, ys: list[Any]) -> list[Ints]:
        """Output vectors of outputs in the user's form: the example is encoded once with each of them as its truth."""
        if isinstance(self.X, list | tuple):
            X: Any = [self.X[i]] * len(ys)
        elif hasattr(self.X, "shape"):
            X = self.X[np.full(len(ys), i)]
        else:
            self.ledger.abandon(
                "outputs", i, f"an X of type {type(self.X).__name__} cannot be repeated for the outputs to be encoded; define "
                "outputs(encoded, i)"
            )  # fmt: skip
        pack = self._encode(self.structure, X, ys).pack if ys else self.encoded.pack
        return [self._vector(pack.target[pack.target_start[k] : pack.target_start[k + 1]]) for k in range(len(ys))]

    def _met(self, i: int) -> list[Ints]:
        """Different outputs decoded from noise, and from noise around the outputs met: those are their neighbours."""
        met = {self._vector(self._truth(i)).tobytes(): self._vector(self._truth(i))}
        for k in range(_MORE_POTENTIALS):
            around = list(met.values())[-1 - k % min(len(met), 3)]
            theta = self.rng.normal(size=self.encoded.n_potentials)
            theta += (k % 4) * np.bincount(self.calls.parts(i, around), minlength=len(theta))
            _, out = self.calls.decode(i, theta)
            met[out.tobytes()] = out
        return list(met.values())

    # --- the whole

    def _calls_of(self, structure: Structure) -> Calls:
        return Calls(structure, structure.encode(self.X, self.Y), self.ledger)

    def _answers(self, calls: Calls, order: int = 1) -> list[float]:
        """Score of the best output of every example under the first random weights."""
        scores = {}
        for i in range(len(self.Y))[::order]:
            theta = np.zeros(calls.encoded.n_potentials)
            calls.structure.potentials(calls.encoded.pack, self.w[1], i, theta)
            scores[i], _ = calls.decode(i, theta)
        return [scores[i] for i in range(len(self.Y))]


def _counted(parts: Ints) -> tuple[Ints, Reals]:
    """Different parts and how often each occurs."""
    different, count = np.unique(parts, return_counts=True)
    return different.astype(np.int32), count.astype(np.float64)
