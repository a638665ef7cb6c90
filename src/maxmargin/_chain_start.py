"""Weights at which the training of a chain begins: those of a model that knows some of the same names."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._estimator import LabelIndex
from .errors import DataError
from .structures.attributes import AttributeIndex

__all__ = ["ChainWeights", "check_same_names", "weights_of"]

Reals = NDArray[np.float64]


class ChainWeights(NamedTuple):
    """Weights of a chain and the names that they are for."""

    classes: list[Any]
    attributes: AttributeIndex
    n_dense: int
    emission: Reals
    initial: Reals
    final: Reals
    transition: Reals

    def moved(self, labels: LabelIndex, index: AttributeIndex, n_dense: int) -> Reals:
        """The weights where the names are the same, 0 elsewhere, in the order of a ``SequenceSVM``."""
        old_label = {label: k for k, label in enumerate(self.classes)}
        both = [label for label in labels.labels if label in old_label]
        new = np.array([labels.number[label] for label in both], np.int64)
        old = np.array([old_label[label] for label in both], np.int64)
        from .structures.sequence import Sequence as Structure

        structure = Structure(len(labels))
        w = np.zeros((len(index) + n_dense) * len(labels) + structure.n_shared)
        emission, initial, final, transition = structure.split(w)
        numbers = self.attributes.numbers(index.names(), grow=False)
        rows = np.flatnonzero(numbers >= 0)
        for i, j in zip(new, old, strict=True):  # label by label: all at once would be a copy of all weights more
            emission[rows, i] = self.emission[numbers[rows], j]
        if n_dense == self.n_dense and n_dense:
            emission[np.ix_(np.arange(len(index), len(emission)), new)] = self.emission[len(self.attributes) :][:, old]
        initial[new], final[new] = self.initial[old], self.final[old]
        transition[np.ix_(new, new)] = self.transition[np.ix_(old, old)]
        return w


def weights_of(start: Any) -> ChainWeights:
    """The weights of another model of the same decoder; a DataError where there is none."""
    if not hasattr(start, "chain_weights"):
        raise DataError(f"start must be a fitted GenerativeHMM, not {start!r:.60}")
    weights = start.chain_weights()
    return ChainWeights(start.classes_, AttributeIndex(start.attributes_), start.n_dense_, *weights)


def check_same_names(
    weights: ChainWeights, labels: Sequence[Hashable], attributes: Sequence[Hashable], n_dense: int
) -> None:
    """Refuse a start that knows other labels or features than the training data have."""
    for what, known, needed in (
        ("label", weights.classes, labels),
        ("attribute", weights.attributes.names(), attributes),
    ):
        mine, yours = set(known), set(needed)
        missing = next((name for name in needed if name not in mine), None)
        if missing is not None:
            raise DataError(f"start does not know the {what} {missing!r} of the training data: fit it to the same ones")
        unused = next((name for name in known if name not in yours), None)
        if unused is not None:
            raise DataError(
                f"start knows the {what} {unused!r}, which the training data lack (or min_count leaves out): fit it to "
                "the same ones"
            )
    if weights.n_dense != n_dense:
        raise DataError(
            f"start was fitted to vectors of length {weights.n_dense}, the training data have length {n_dense}: fit it "
            "to the same sequences"
        )
