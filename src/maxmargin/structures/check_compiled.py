"""Checks of structures with compiled functions; :func:`.check.check_structure` is their public face."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import Structure
from .check_calls import Calls, check_functions
from .check_examples import Examples
from .check_reference import ReferenceCheck
from .check_report import Abandoned, Ledger, differ, shown
from .check_tools import (
    Candidates,
    Claim,
    Output,
    check_again,
    check_pickle,
    check_threads,
    hold_against,
    listed_candidates,
    random_weights,
)
from .values import loss_fault

__all__ = ["COMPILED_CHECKS", "CompiledCheck"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int32]

COMPILED_CHECKS = (
    "functions", "encode and output", "buffers", "compiled = Python", "potentials", "features", "parts", "loss",
    "augment", "outputs", "decode", "loss-augmented decode", "reference", "two threads", "pickle",
)  # fmt: skip
_CLAIMS = (
    Claim("decode", "score", "decode", "find the output whose parts have the largest sum of theta"),
    Claim(
        "loss-augmented decode", "loss + score", "decode after augment",
        "find the output whose parts have the largest sum of theta", " (augment seems to add nothing)",
    ),
)  # fmt: skip
# Without a list of outputs, outputs decoded from so many random potentials stand in for it.
_MORE_POTENTIALS = 100
# Calls that tell chance from what is read astray.
_AGAIN = 10
# Far from any score, to see whether what should not be read is read.
_STALE = 1e6


class CompiledCheck:
    """One run of the checks on a compiled structure; what it finds goes into the ledger."""

    def __init__(
        self, structure: Structure, X: Any, Y: Sequence[Any], ledger: Ledger, candidates: Candidates | None,
        reference: Any, n_weights: int, rng: np.random.Generator, max_outputs: int,
    ) -> None:  # fmt: skip
        self.structure, self.ledger, self.reference, self.rng = structure, ledger, reference, rng
        self.n_weights, self.max_outputs, self.n_examples = n_weights, max_outputs, len(Y)
        self._given = X, Y
        self.candidates = None if candidates is None else listed_candidates(candidates, X, len(Y))
        sources = (source for source in (structure, reference) if hasattr(source, "outputs"))
        self.source = None if candidates is not None else next(sources, None)

    def run(self) -> None:
        """All checks."""
        ledger = self.ledger
        try:
            check_functions(self.structure, ledger)
            if not ledger.clean:
                return
            self.examples = Examples(self.structure, *self._given, ledger)
            self.encoded = self.examples.encoded
            self.calls = Calls(self.structure, self.encoded, ledger)
            self._make_weights()
        except Abandoned:
            return
        for claim in _CLAIMS:
            ledger.note(claim.check, self._compared_with())
        if self.reference is None:
            ledger.note("reference", "none given")
        for i in range(self.n_examples):
            try:
                self._examine(i)
            except Abandoned:
                continue
        try:
            self.examples.check_output()
        except Abandoned:
            pass
        if not ledger.clean:
            for check in ("two threads", "pickle"):
                ledger.note(check, "after the faults")
            return
        expected = self._answers(self.structure)
        once_more = self._answers(self.structure)
        if not check_again(ledger, expected, once_more, "decode", exact=self.structure.exact):
            return
        check_threads(
            ledger, expected, lambda order: self._answers(self.structure, order), "decode", exact=self.structure.exact
        )
        check_pickle(self.structure, ledger, lambda again: self._answers(again) == expected)

    def _compared_with(self) -> str:
        if not self.structure.exact:
            return "exact = False: no maximum is asked for"
        if self.candidates is not None:
            return "against the candidates"
        if self.source is not None:
            return "against all outputs"
        return "against outputs met; define outputs(encoded, i) to compare with all"

    # --- feature map

    def _make_weights(self) -> None:
        norms = []
        for i in range(self.n_examples):
            parts, coef = _counted(self.calls.parts(i, self.examples.vector(self.examples.truth(i)), twin=True))
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
                "potentials", i, f"potential {p} is {self.thetas[k, p]} under finite weights; make all features "
                "finite, and forbid outputs in decode"
            )  # fmt: skip
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
                "features", i, f"features lists weight {key} twice among {len(keys)} keys of parts "
                f"{shown(parts.tolist())}; add up the values of one weight"
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
                    "features", i, f"<w, features> of parts {shown(parts.tolist())} is {got:.10g} but their potentials "
                    f"sum to {wanted:.10g}; features must be the gradient of potentials"
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
        if fault := loss_fault(loss):
            self.ledger.abandon("loss", i, f"the loss of output {name} is {loss!r}; {fault}")
        self.ledger.passed("loss", i)
        added = self.constant + float(self.delta[parts].sum())
        if differ(added, loss):
            self.ledger.fault(
                "augment", i, f"augment adds {added:.10g} to output {name} (constant {self.constant:.10g}), its loss "
                f"is {loss:.10g}; constant and additions must sum to the loss"
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
            for again, again_out in (self.calls.decode(i, theta, 0) for _ in range(_AGAIN)):
                if differ(score, again) or not np.array_equal(parts, self._parts(i, again_out, twin=False)):
                    self.ledger.abandon(
                        check, i, f"decode answers differently when called again: score {score:.10g} and {again:.10g}, "
                        f"output {shown(out.tolist())} and {shown(again_out.tolist())}; it must depend on its "
                        "arguments alone"
                    )  # fmt: skip
            self.ledger.abandon(
                check, i, f"decode depends on what stood in its buffers before: score {score:.10g} or {stale:.10g}, "
                f"output {shown(out.tolist())} or {shown(stale_out.tolist())}; read the example's potentials only and "
                "set all of its output"
            )  # fmt: skip
        if differ(score, float(theta[parts].sum())):
            self.ledger.fault(
                check, i, f"decode returned the score {score:.10g} but the potentials of its output "
                f"{shown(out.tolist())} sum to {theta[parts].sum():.10g}; return that sum"
            )  # fmt: skip
        return self._judged(i, out, "decoded from other potentials", twin=True)

    def _examine(self, i: int) -> None:
        self._potentials(i)
        nothing = np.zeros(self.encoded.n_potentials)
        self.constant, self.delta = self.calls.augment(i, nothing)
        _, augmented = self.calls.augment(i, self.thetas[1])
        for p in np.flatnonzero(~np.isclose(augmented - self.thetas[1], self.delta) & self.exist)[:1]:
            self.ledger.abandon(
                "augment", i, f"augment adds {self.delta[p]:.10g} to potential {p} when it is 0, but "
                f"{augmented[p] - self.thetas[1, p]:.10g} when it is {self.thetas[1, p]:.10g}; add to theta only"
            )  # fmt: skip
        vector = self.examples.vector(self.examples.truth(i))
        truth_parts = self._parts(i, vector, twin=True)
        with_ones = self._parts(i, self.examples.vector(self.examples.truth(i), 1), twin=False)
        if not np.array_equal(truth_parts, with_ones):
            self.ledger.abandon(
                "parts", i, f"parts of the truth are {shown(truth_parts.tolist())} when zeros follow the output in its "
                f"buffer, {shown(with_ones.tolist())} when ones do; read the output only"
            )  # fmt: skip
        truth = self._judged(i, vector, "the truth", twin=True)
        if fault := loss_fault(truth.loss, of_truth=True):
            self.ledger.fault("loss", i, f"the loss of the true output is {truth.loss!r}; {fault}")
        found = [[self._decoded(i, theta + row * self.delta, row) for theta in self.thetas] for row in (0, 1)]
        self._check_features(i, truth_parts, found)
        hold_against(
            self.ledger, i, _CLAIMS, truth, found, self._others(i), listed=self.source is not None,
            max_outputs=self.max_outputs, exact=self.structure.exact, idle=lambda: not self.delta.any(),
        )  # fmt: skip
        if self.reference is not None:
            self._refer(i, truth, found)

    def _refer(self, i: int, truth: Output, found: list[list[Output]]) -> None:
        try:
            x, y_true = self.examples.X[i], self.examples.Y[i]
        except TypeError as error:
            kind = type(self.examples.X).__name__
            self.ledger.abandon("reference", i, f"X of type {kind} has no X[{i}] for the reference", error)
        check = ReferenceCheck(self.reference, self.ledger, i, x, y_true, self.w)
        for output in {tuple(output.y): output for output in (truth, *found[0], *found[1])}.values():
            vector = np.array(output.y, np.int32)
            features = self.calls.features(i, *_counted(self.calls.parts(i, vector)))
            check.output(self.examples.output(i, vector), output.loss, features)
        check.best(found)

    def _check_features(self, i: int, truth: Ints, found: list[list[Output]]) -> None:
        for output in (found[0][-1], found[1][1]):
            other = self.calls.parts(i, np.array(output.y, np.int32))
            parts, count = _counted(np.concatenate([truth, other]))
            if len(parts):
                twice = 2.0 * np.bincount(truth, minlength=len(self.exist))[parts]
                self._features(i, parts, count)
                self._features(i, parts, twice - count)
        some = self.rng.permutation(np.flatnonzero(self.exist))[: self.encoded.n_parts].astype(np.int32)
        self._features(i, some, self.rng.normal(size=len(some)))

    # --- what to compare with

    def _others(self, i: int) -> Iterator[Output]:
        if self.candidates is not None:
            vectors, source = self.examples.vectors(i, self.candidates[i]), "from candidates"
        elif self.source is not None:
            vectors, source = self.examples.listed(i, self.source, self.max_outputs), "from outputs"
        else:
            vectors, source = self._met(i), "decoded from other potentials"
        for vector in vectors:
            yield self._judged(i, self.examples.vector(vector), source)

    def _met(self, i: int) -> list[Ints]:
        """Different outputs decoded from noise, and from noise around the outputs met: those are their neighbours."""
        met = {self.examples.vector(self.examples.truth(i)).tobytes(): self.examples.vector(self.examples.truth(i))}
        for k in range(_MORE_POTENTIALS):
            around = list(met.values())[-1 - k % min(len(met), 3)]
            theta = self.rng.normal(size=self.encoded.n_potentials)
            theta += (k % 4) * np.bincount(self.calls.parts(i, around), minlength=len(theta))
            _, out = self.calls.decode(i, theta)
            met[out.tobytes()] = out
        return list(met.values())

    # --- the whole

    def _answers(self, structure: Structure, order: int = 1) -> list[float]:
        """Score of the best output of every example under the first random weights, by a structure and its encoding."""
        encoded = structure.encode(self.examples.X, self.examples.Y)
        scores = {}
        for i in range(self.n_examples)[::order]:
            theta, out = np.zeros(encoded.n_potentials), np.zeros(encoded.n_output, np.int32)
            structure.potentials(encoded.pack, self.w[1], i, theta)
            scores[i] = float(structure.decode(encoded.pack, i, theta, out))
        return [scores[i] for i in range(self.n_examples)]


def _counted(parts: Ints) -> tuple[Ints, Reals]:
    """Different parts and how often each occurs."""
    different, count = np.unique(parts, return_counts=True)
    return different.astype(np.int32), count.astype(np.float64)
