"""Checks of structures in plain Python; :func:`.check.check_structure` is their public face."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, StructureError
from .check_report import Abandoned, Ledger, shown
from .check_tools import (
    Candidates,
    Claim,
    Output,
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
# Without a list of outputs, argmaxes under so many more weights stand in for it.
_MORE_WEIGHTS = 20


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
        before, originals = self.w.copy(), [(frozen(x), frozen(y)) for x, y in zip(self.X, self.Y)]
        for i, original in enumerate(originals):
            try:
                self._examine(i)
            except Abandoned:
                continue
            if not unchanged((self.X[i], self.Y[i]), original):
                self.ledger.fault("read-only inputs", i, "x or y_true was changed by a method; work on a copy")
        for k, j in np.argwhere(self.w != before)[:1]:
            change = f"from {before[k, j]:.10g} to {self.w[k, j]:.10g}"
            self.ledger.fault("read-only inputs", None, f"argmax changed w[{j}] {change}; work on a copy")
        if not self.ledger.clean:
            self.ledger.note("two threads", "after the faults")
            self.ledger.note("pickle", "after the faults")
            return
        expected = self._answers(self.structure)
        check_threads(self.ledger, expected, lambda order: self._answers(self.structure, order))
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
                norms.append(float(np.linalg.norm(self._features(i, self.Y[i])[1])))
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

    def _features(self, i: int, y: Any) -> tuple[NDArray[np.int32], Reals]:
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
        return index, value

    def _loss(self, i: int, y: Any) -> float:
        said = self._call("loss", i, "loss", self.Y[i], y)
        if fault := loss_fault(said):
            value = float(said) if is_real(said) else said
            self.ledger.abandon("loss", i, f"the loss of output {shown(y)} is {shown(value)}; {fault}")
        self.ledger.passed("loss", i)
        return float(said)

    def _judged(self, i: int, y: Any, source: str) -> Output:
        index, value = self._features(i, y)
        return Output(y, source, self.w[:, index] @ value, self._loss(i, y))

    # --- one example

    def _examine(self, i: int) -> None:
        truth = self._judged(i, self.Y[i], "the truth")
        if fault := loss_fault(truth.loss, of_truth=True):
            self.ledger.fault("loss", i, f"the loss of the true output is {truth.loss!r}; {fault}")
        found = [[self._found(i, w, augmented) for w in self.w] for augmented in (False, True)]
        self.ledger.passed("read-only inputs", i, 2 * len(self.w))
        others = self._listed(i) if self.lists or self.candidates is not None else self._met(i)
        hold_against(
            self.ledger, i, _CLAIMS, truth, found, others, listed=self.lists, max_outputs=self.max_outputs,
            exact=self.exact,
        )  # fmt: skip

    def _found(self, i: int, w: Reals, augmented: bool) -> Output:
        check = _CLAIMS[augmented].check
        y = self._call(check, i, "argmax", self.X[i], w, self.Y[i] if augmented else None)
        if y is None:
            self.ledger.abandon(check, i, "argmax returned None; it must return an output")
        return self._judged(i, y, "an argmax under other weights")

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

    def _met(self, i: int) -> Iterator[Output]:
        """Argmaxes under other weights, and truths of other examples that look alike."""
        for w in random_weights(self.rng, _MORE_WEIGHTS, self.length, self.norm)[1:]:
            for augmented in (False, True):
                yield self._found(i, w, augmented)
        for j, y in enumerate(self.Y):
            if j != i and _look(y) == _look(self.Y[i]):
                try:
                    self.structure.joint_features(self.X[i], y), self.structure.loss(self.Y[i], y)
                except Exception:  # no output of this example
                    continue
                yield self._judged(i, y, f"the truth of example {j}; if it is no output here, define outputs(x)")

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
    return type(y), getattr(y, "shape", None) or (len(y) if hasattr(y, "__len__") else None)
