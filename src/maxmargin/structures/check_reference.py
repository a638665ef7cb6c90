"""Comparison of a compiled structure with one in plain Python that defines the same outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, StructureError
from .check_report import Ledger, differ, shown
from .check_tools import Output
from .plain import sparse_vector

__all__ = ["ReferenceCheck"]

Reals = NDArray[np.float64]
Sparse = tuple[NDArray[np.int64], Reals]


class ReferenceCheck:
    """The reference's answers on one example, held against those of the compiled structure."""

    def __init__(self, reference: Any, ledger: Ledger, i: int, x: Any, y_true: Any, w: Reals) -> None:
        self.reference, self.ledger, self.i = reference, ledger, i
        self.x, self.y_true, self.w = x, y_true, w

    def _asked(self, method: str, *args: Any) -> Any:
        try:
            return getattr(self.reference, method)(*args)
        except Exception as error:
            called = f"{type(self.reference).__name__}.{method}"
            self.ledger.abandon("reference", self.i, f"{called} raised {type(error).__name__}: {error}", error)

    def _features(self, y: Any) -> Reals:
        vector = self._asked("joint_features", self.x, y)
        try:
            index, value, length = sparse_vector(vector, getattr(self.reference, "n_features", None), shown(y))
        except (DataError, StructureError) as error:
            self.ledger.abandon("reference", self.i, f"the reference fails: {error}; check it by itself first", error)
        if length != self.w.shape[1]:
            self.ledger.abandon(
                "reference", self.i, f"there are {self.w.shape[1]} weights but the reference has {length} joint "
                "features; they must be the same, in the same order"
            )  # fmt: skip
        out = np.zeros(length)
        out[index] = value
        return out

    def output(self, y: Any, loss: float, features: Sparse) -> None:
        """Loss and joint features of one output, in the user's form."""
        wanted = float(self._asked("loss", self.y_true, y))
        if differ(loss, wanted):
            self.ledger.fault(
                "reference", self.i, f"loss of output {shown(y)} is {loss:.10g} but the reference says {wanted:.10g}"
            )
        dense = self._features(y)
        dense[features[0]] -= features[1]
        for k in np.flatnonzero(np.abs(dense) > 1e-8 * (1.0 + np.abs(features[1]).max(initial=0.0)))[:1]:
            mine = float(features[1][features[0] == k].sum())
            self.ledger.abandon(
                "reference", self.i, f"joint feature {k} of output {shown(y)} is {mine:.10g} but the reference says "
                f"{mine + dense[k]:.10g}"
            )  # fmt: skip
        self.ledger.passed("reference", self.i, 2)

    def best(self, found: Sequence[Sequence[Output]]) -> None:
        """Best scores, without the loss and with it, under every weight vector."""
        for row, what in enumerate(("best score", "best loss + score")):
            for k, w in enumerate(self.w):
                y = self._asked("argmax", self.x, w, self.y_true if row else None)
                wanted = float(w @ self._features(y))
                wanted += float(self._asked("loss", self.y_true, y)) if row else 0.0
                mine = float(found[row][k].values[row, k])
                if differ(mine, wanted):
                    self.ledger.fault(
                        "reference", self.i, f"the {what} is {mine:.10g} but the reference's is {wanted:.10g}, of "
                        f"output {shown(y)}"
                    )  # fmt: skip
                else:
                    self.ledger.passed("reference", self.i)
