"""The encoded examples of a structure under check: sizes, true outputs, and outputs in the user's form and back."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import Encoded, Structure
from .check_calls import check_pack
from .check_report import Ledger, shown
from .check_tools import frozen

__all__ = ["Examples"]

Ints = NDArray[np.int32]

_CHECK = "encode and output"


class Examples:
    """Inputs and true outputs of a compiled structure, as given and encoded."""

    def __init__(self, structure: Structure, X: Any, Y: Sequence[Any], ledger: Ledger) -> None:
        self.structure, self.ledger = structure, ledger
        self.X, self.Y = frozen(X), frozen(Y)
        self.encoded = self._encode(self.X, self.Y)
        self.pack = self.encoded.pack
        check_pack(self.encoded, ledger)
        self._check_sizes()

    def __len__(self) -> int:
        return len(self.Y)

    def truth(self, i: int) -> Ints:
        """True output vector of an example."""
        return self.pack.target[self.pack.target_start[i] : self.pack.target_start[i + 1]]

    def vector(self, values: Any, fill: int = 0) -> Ints:
        """An output vector in a buffer as long as solvers give."""
        out = np.full(self.encoded.n_output, fill, np.int32)
        out[: len(values)] = values
        return out

    def output(self, i: int, vector: Ints) -> Any:
        """An output vector in the user's form."""
        try:
            return self.structure.output(self.encoded, i, vector)
        except Exception as error:
            said = f"output raised {type(error).__name__} for {shown(vector.tolist())}: {error}"
            self.ledger.abandon(_CHECK, i, said, error)

    def listed(self, i: int, source: Any, most: int) -> list[Ints]:
        """Output vectors from ``outputs`` of the structure or of a reference; one more than wanted if cut."""
        own = source is self.structure
        try:
            outputs = source.outputs(self.encoded, i) if own else source.outputs(self.X[i])
            ys = list(islice(outputs, most + 1))
        except Exception as error:
            self.ledger.abandon("outputs", i, f"outputs raised {type(error).__name__}: {error}", error)
        return self._fitting(i, ys) if own else self.vectors(i, ys)

    def vectors(self, i: int, ys: list[Any]) -> list[Ints]:
        """Vectors of outputs in the user's form: the example is encoded once with each of them as its truth."""
        if isinstance(self.X, list | tuple):
            X: Any = [self.X[i]] * len(ys)
        elif hasattr(self.X, "shape"):
            X = self.X[np.full(len(ys), i)]
        else:
            self.ledger.abandon(
                "outputs", i, f"an X of type {type(self.X).__name__} cannot be repeated for the outputs to be encoded; "
                "define outputs(encoded, i)"
            )  # fmt: skip
        if not ys:
            return []
        pack = self._encode(X, ys).pack
        return self._fitting(i, [pack.target[pack.target_start[k] : pack.target_start[k + 1]] for k in range(len(ys))])

    def check_output(self) -> None:
        """Whether ``encode`` undoes ``output``."""
        # solvers hand over whole buffers, so what follows the output must not matter
        outputs = [self.output(i, self.vector(self.truth(i), 1)) for i in range(len(self))]
        if np.array_equal(self._encode(self.X, outputs).pack.target, self.pack.target):
            for i in range(len(self)):
                self.ledger.passed(_CHECK, i)
            return
        for i, output in enumerate(outputs):
            others = list(self.Y)
            others[i] = output
            again = self._encode(self.X, others).pack.target
            if not np.array_equal(again, self.pack.target):
                old, first = self.truth(i), self.pack.target_start[i]
                new = again[first : first + len(old) + len(again) - len(self.pack.target)]
                self.ledger.fault(
                    _CHECK, i, f"output turns the true vector {shown(old.tolist())} (in a buffer of "
                    f"{self.encoded.n_output}) into {shown(output)}, which encode turns into {shown(new.tolist())}; "
                    "encode must undo output"
                )  # fmt: skip

    def _encode(self, X: Any, Y: Any) -> Encoded:
        try:
            encoded = self.structure.encode(X, Y)
        except Exception as error:
            hint = "; it writes to X or Y: work on a copy" if "read-only" in str(error) else ""
            self.ledger.abandon(_CHECK, None, f"encode raised {type(error).__name__}: {error}{hint}", error)
        if not isinstance(encoded, Encoded):
            said = f"encode returned {shown(encoded)}; return Encoded.of(make_pack(...), ...)"
            self.ledger.abandon(_CHECK, None, said)
        return encoded

    def _check_sizes(self) -> None:
        encoded, n = self.encoded, len(self)
        start, n_target = self.pack.target_start, len(self.pack.target)
        if encoded.n_examples != n:
            self.ledger.abandon(_CHECK, None, f"encode gives n_examples = {encoded.n_examples} for {n} true outputs")
        if len(start) != n + 1 or start[0] != 0 or (np.diff(start) < 0).any() or start[-1] > n_target:
            self.ledger.abandon(
                _CHECK, None, f"target_start has {len(start)} entries, the last {start[-1] if len(start) else None}, "
                f"for {n} examples and {n_target} entries of target; it must rise from 0 and have {n + 1} entries"
            )  # fmt: skip
        for i in range(n):
            self._fitting(i, [self.truth(i)])
        self.ledger.passed(_CHECK, None, 2)

    def _fitting(self, i: int, vectors: list[Ints]) -> list[Ints]:
        """The vectors, after a look at their lengths."""
        for vector in vectors:
            if len(vector) > self.encoded.n_output:
                self.ledger.abandon(
                    "buffers", i, f"output {shown([int(value) for value in vector])} has {len(vector)} entries, more "
                    f"than n_output = {self.encoded.n_output}; encode must give a larger n_output"
                )  # fmt: skip
        return vectors
