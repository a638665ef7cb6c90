"""Checks of structures in plain Python; :func:`.check.check_structure` is their public face."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, StructureError
from .check_report import Abandoned, Ledger, differ, shown
from .check_tools import (
    Candidates,
    Claim,
    Output,
    check_again,
    check_pickle,
    check_threads,
    frozen,
    hold_against,
    listed_candidates,
    random_weights,
    thawed,
    unchanged,
)
from .plain import METHODS, sparse_vector
from .values import is_real, loss_fault

__all__ = ["PLAIN_CHECKS", "PlainCheck"]

Reals = NDArray[np.float64]

PLAIN_CHECKS = (
    "methods", "read-only inputs", "joint features", "loss", "outputs", "argmax", "loss-augmented argmax",
    "two threads", "pickle",
)  # fmt: skip
_ARGUMENTS = {"joint_features": ("x", "y"), "loss": ("y_true", "y"), "argmax": ("x", "w", "y_true")}
_CLAIMS = (
    Claim("argmax", "score", "argmax(x, w)", "return the output with the largest <w, joint_features(x, y)>"),
    Claim(
        "loss-augmented argmax", "loss + score", "argmax(x, w, y_true)",
        "return the output with the largest loss(y_true, y) + <w, joint_features(x, y)>",
        " (y_true seems to be ignored)",
    ),
)  # fmt: skip
# Without a list of outputs, argmaxes under so many more weights stand in for it, and under those that favour so many
# truths of other examples.
_MORE_WEIGHTS = 20
_SPREAD = 0.5 * (5.0**0.5 - 1.0)
# Features and losses asked for twice may differ by so much: sums in another order.
_ROUNDING = 1e-11


@dataclass(frozen=True)
class _Truth:
    """The truth of another example, with its joint features and its loss as an output of this one."""

    example: int
    index: NDArray[np.int32]
    value: Reals
    loss: float


class PlainCheck:
    """One run of the checks on a plain structure; what it finds goes into the ledger."""

    def __init__(
        self, structure: Any, X: Sequence[Any], Y: Sequence[Any], ledger: Ledger, candidates: Candidates | None,
        n_weights: int, rng: np.random.Generator, max_outputs: int,
    ) -> None:  # fmt: skip
        self.structure, self.ledger, self.rng, self.max_outputs = structure, ledger, rng, max_outputs
        self.exact = bool(getattr(structure, "exact", True))
        self.X, self.Y = [frozen(x) for x in X], [frozen(y) for y in Y]
        self.candidates = None if candidates is None else listed_candidates(candidates, self.X, len(self.X))
        self.lists = self.candidates is None and callable(getattr(structure, "outputs", None))
        self.n_weights = n_weights
        self.length, self.norm = -1, 0.0
        self.w: Reals = np.empty((0, 0))
        self.alike: dict[Any, list[int]] = {}
        self.place = []  # of each example among those alike
        for i, y in enumerate(self.Y):
            among = self.alike.setdefault(_look(y), [])
            self.place.append(len(among))
            among.append(i)
        self.remarked: set[str] = set()
        self.originals = [(frozen(x), frozen(y)) for x, y in zip(self.X, self.Y)]

    def run(self) -> None:
        """All checks."""
        missing = [name for name in METHODS if not callable(getattr(self.structure, name, None))]
        if missing:
            wanted = f"a plain structure defines {', '.join(METHODS)}"
            self.ledger.fault("methods", None, f"lacks {', '.join(missing)}; {wanted}")
            return
        self.ledger.passed("methods", None, len(METHODS))
        if not self._make_weights():
            return
        for claim in _CLAIMS:
            self.ledger.note(claim.check, self._compared_with())
        before = self.w.copy()
        for i in range(len(self.X)):
            try:
                self._examine(i)
                self._check_unchanged(i, "a method")
            except Abandoned:
                continue
        for k, j in np.argwhere(self.w != before)[:1]:
            change = f"from {before[k, j]:.10g} to {self.w[k, j]:.10g}"
            self.ledger.fault("read-only inputs", None, f"argmax changed w[{j}] {change}; work on a copy")
        if not self.ledger.clean:
            self.ledger.note("two threads", "after the faults")
            self.ledger.note("pickle", "after the faults")
            return
        expected = self._answers(self.structure)
        if not check_again(self.ledger, expected, self._answers(self.structure), "argmax", exact=self.exact):
            return
        check_threads(
            self.ledger, expected, lambda order: self._answers(self.structure, order), "argmax", exact=self.exact
        )
        check_pickle(self.structure, self.ledger, lambda again: self._answers(again) == expected)

    def _compared_with(self) -> str:
        if not self.exact:
            return "exact = False: no maximum is asked for"
        if self.candidates is not None:
            return "against the candidates"
        return "against all outputs" if self.lists else "against outputs met; define outputs(x) to compare with all"

    def _make_weights(self) -> bool:
        norms = []
        for i in range(len(self.X)):
            try:
                norms.append(float(np.linalg.norm(self._features(i, self.Y[i], twice=True)[1])))
            except Abandoned:
                continue
        if not norms:
            return False
        self.norm = float(np.mean(norms))
        self.w = random_weights(self.rng, self.n_weights, self.length, self.norm).view()
        self.w.flags.writeable = False
        return True

    # --- calls of the user's methods

    def _call(self, check: str, i: int, method: str, *args: Any) -> Any:
        try:
            return getattr(self.structure, method)(*args)
        except Exception as error:
            if isinstance(error, ValueError) and "read-only" in str(error):
                written = self._written(method, args)
                self.ledger.abandon(
                    "read-only inputs", i, f"{method} writes to its argument {written} ({error}); work on a copy", error
                )
            self.ledger.abandon(check, i, f"{method} raised {type(error).__name__}: {error}", error)

    def _written(self, method: str, args: Sequence[Any]) -> str:
        """The argument that must be writable for a call to succeed."""
        for k, name in enumerate(_ARGUMENTS[method][: len(args)]):
            try:
                getattr(self.structure, method)(*args[:k], thawed(args[k]), *args[k + 1 :])
            except Exception:
                continue
            return name
        return " or ".join(_ARGUMENTS[method])

    def _check_unchanged(self, i: int, method: str) -> None:
        """Whether the example still is what it was before the call of a method."""
        for value, original, name in zip((self.X[i], self.Y[i]), self.originals[i], ("x", "y_true")):
            if not unchanged(value, original):
                self.ledger.abandon("read-only inputs", i, f"{name} was changed by {method}; work on a copy")

    def _features(self, i: int, y: Any, *, twice: bool = False) -> tuple[NDArray[np.int32], Reals]:
        vector = self._call("joint features", i, "joint_features", self.X[i], y)
        try:
            n_features = getattr(self.structure, "n_features", None)
            index, value, length = sparse_vector(vector, n_features, f"output {shown(y)}")
        except (DataError, StructureError) as error:
            dense = vector if isinstance(vector, np.ndarray) and vector.dtype.kind == "f" else np.zeros(0)
            bad = np.flatnonzero(~np.isfinite(dense))
            where = f" (index {bad[0]} of {dense.size} is {dense.flat[bad[0]]})" if len(bad) else ""
            self.ledger.abandon("joint features", i, f"{error}{where}", error)
        if self.length < 0:
            self.length = length
        elif length != self.length:
            self.ledger.abandon(
                "joint features", i, f"joint_features has length {length} for output {shown(y)} but {self.length} "
                "before; it must be the same for all examples and outputs",
            )  # fmt: skip
        self.ledger.passed("joint features", i)
        if twice:
            self._check_unchanged(i, "joint_features")
            first, second = np.zeros((2, length))
            first[index] = value
            index, value = self._features(i, y)
            second[index] = value
            for k in np.flatnonzero(np.abs(first - second) > _ROUNDING * (1.0 + np.abs(first).max(initial=0.0)))[:1]:
                self.ledger.abandon(
                    "joint features", i, f"feature {k} of output {shown(y)} is {first[k]:.10g}, and {second[k]:.10g} "
                    "when joint_features is called again; it must depend on x and y alone"
                )  # fmt: skip
        return index, value

    def _loss(self, i: int, y: Any, *, twice: bool = False) -> float:
        said = self._call("loss", i, "loss", self.Y[i], y)
        if fault := loss_fault(said):
            value = float(said) if is_real(said) else said
            self.ledger.abandon("loss", i, f"the loss of output {shown(y)} is {shown(value)}; {fault}")
        self.ledger.passed("loss", i)
        if twice:
            self._check_unchanged(i, "loss")
            again = self._loss(i, y)
            if abs(again - float(said)) > _ROUNDING * (1.0 + abs(again)):
                self.ledger.abandon(
                    "loss", i, f"the loss of output {shown(y)} is {float(said):.10g}, and {again:.10g} when loss is "
                    "called again; it must depend on y_true and y alone"
                )  # fmt: skip
        return float(said)

    def _judged(self, i: int, y: Any, source: str, *, twice: bool = False) -> Output:
        index, value = self._features(i, y, twice=twice)
        return Output(y, source, self.w[:, index] @ value, self._loss(i, y, twice=twice))

    # --- one example

    def _examine(self, i: int) -> None:
        truth = self._judged(i, self.Y[i], "the truth", twice=True)
        if fault := loss_fault(truth.loss, of_truth=True):
            self.ledger.fault("loss", i, f"the loss of the true output is {truth.loss!r}; {fault}")
        found = [[self._found(i, w, augmented) for w in self.w] for augmented in (False, True)]
        self.ledger.passed("read-only inputs", i, 2 * len(self.w))
        listed = self.lists or self.candidates is not None
        others = [] if listed else self._others(i)
        outputs = self._listed(i) if listed else self._met(i, others)
        hold_against(
            self.ledger, i, _CLAIMS, truth, found, outputs, listed=self.lists, max_outputs=self.max_outputs,
            exact=self.exact, idle=lambda: self._ignores_truth(i),
        )  # fmt: skip
        if self.exact:
            self._compare_with_others(i, found, others)

    def _found(self, i: int, w: Reals, augmented: bool) -> Output:
        check = _CLAIMS[augmented].check
        y = self._call(check, i, "argmax", self.X[i], w, self.Y[i] if augmented else None)
        if y is None:
            self.ledger.abandon(check, i, "argmax returned None; it must return an output")
        self._check_unchanged(i, "argmax")
        return self._judged(i, y, "an argmax under other weights", twice=True)

    def _ignores_truth(self, i: int) -> bool:
        """Whether ``argmax`` returns the same with ``y_true`` as without, also where that is its own best output.

        Under small weights the loss decides, which is 0 for that output alone or for few.
        """
        try:
            for w in 1e-9 * self.w[1:]:
                best = self.structure.argmax(self.X[i], w, None)
                with_truth = self.structure.argmax(self.X[i], w, best)
                if self.structure.loss(best, with_truth) > 0:
                    return False
        except Exception:  # what it returns is no truth to it
            return False
        return True

    def _listed(self, i: int) -> Iterator[Output]:
        if self.candidates is not None:
            ys, source = self.candidates[i], "from candidates"
        else:
            source = "from outputs(x)"
            try:
                # one more than wanted tells that the list was cut
                ys = list(islice(self.structure.outputs(self.X[i]), self.max_outputs + 1))
            except Exception as error:
                self.ledger.abandon("outputs", i, f"outputs raised {type(error).__name__}: {error}", error)
        for y in ys:
            yield self._judged(i, y, source)

    def _met(self, i: int, others: Sequence[_Truth]) -> Iterator[Output]:
        """Argmaxes under other weights, some of which favour the truths of other examples."""
        for w in random_weights(self.rng, _MORE_WEIGHTS, self.length, self.norm)[1:]:
            for augmented in (False, True):
                yield self._found(i, w, augmented)
        index, value = self._features(i, self.Y[i])
        for other in others:
            w = np.zeros(self.length)
            w[other.index] = other.value
            w[index] -= value
            w *= 10.0 / max(float(np.linalg.norm(w)), 1e-300) / max(self.norm, 1e-300)
            for towards in (w, -w):
                towards.flags.writeable = False
                yield self._found(i, towards, False)

    def _others(self, i: int) -> list[_Truth]:
        """Truths of some other examples that look like this one's, which need not be outputs of this one.

        Those with the features and the loss of one before are left out: they say no more.
        """
        alike, place = self.alike[_look(self.Y[i])], self.place[i]
        m = len(alike) - 1
        # steps of no period, as truths may have one; of few, all
        steps = range(m) if m <= _MORE_WEIGHTS else {int(m * (k * _SPREAD % 1.0)) for k in range(_MORE_WEIGHTS)}
        found: dict[Any, _Truth] = {}
        for j in sorted(alike[(place + 1 + step) % (m + 1)] for step in steps):
            try:
                vector = self.structure.joint_features(self.X[i], self.Y[j])
                index, value, length = sparse_vector(vector, getattr(self.structure, "n_features", None), "")
                loss = self.structure.loss(self.Y[i], self.Y[j])
                if length != self.length or loss_fault(loss):
                    continue
            except Exception:  # no output of this example
                continue
            found.setdefault((index.tobytes(), value.tobytes(), float(loss)), _Truth(j, index, value, float(loss)))
        return list(found.values())

    def _compare_with_others(self, i: int, found: Sequence[Sequence[Output]], others: Sequence[_Truth]) -> None:
        """A remark on a truth of another example that would be better, if it were an output of this one."""
        for row, claim in enumerate(_CLAIMS):
            if claim.check not in self.remarked:
                self._compare_claim(i, claim, row, found[row], others)

    def _compare_claim(self, i: int, claim: Claim, row: int, found: Sequence[Output], others: Sequence[_Truth]) -> None:
        for other in others:
            y = self.Y[other.example]
            values = Output(y, "", self.w[:, other.index] @ other.value, other.loss).values[row]
            for k, output in enumerate(found):
                mine, theirs = float(output.values[row, k]), float(values[k])
                if theirs > mine and differ(mine, theirs):
                    self.remarked.add(claim.check)
                    self.ledger.remark(
                        claim.check, f"{claim.call} of example {i} returned {shown(output.y)} with {claim.what} "
                        f"{mine:.10g}, and {shown(y)}, the truth of example {other.example}, has {theirs:.10g}: right "
                        "if that is no output of this example; define outputs(x) to compare with all"
                    )  # fmt: skip
                    return

    # --- the whole

    def _answers(self, structure: Any, order: int = 1) -> list[float]:
        """Score of the argmax of every example under the first random weights."""
        scores = {}
        for i in range(len(self.X))[::order]:
            vector = structure.joint_features(self.X[i], structure.argmax(self.X[i], self.w[1], None))
            index, value, _ = sparse_vector(vector, getattr(structure, "n_features", None), "")
            scores[i] = float(self.w[1, index] @ value)
        return [scores[i] for i in range(len(self.X))]


def _look(y: Any) -> Any:
    """What outputs of the same kind have in common: type and shape."""
    return type(y), str(getattr(y, "shape", None) or (len(y) if hasattr(y, "__len__") else None))
