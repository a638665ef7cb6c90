"""Label sequences (the HMM-shaped chain): initial, final, transition and emission weights, Hamming loss.

``phi(x, y)`` adds up the features of every position in the block of its label, and counts of the first label, the last
label and each pair of neighbours; decoding is Viterbi's algorithm. Potentials of an example: ``T * K`` emissions, then
``K`` initial, ``K`` final and ``K * K`` transition weights (from, to), which are the same for all examples.
Source: Altun, Tsochantaridis, Hofmann (2003).
"""

from __future__ import annotations

from collections.abc import Sequence as SequenceOf
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._compiled import compiled
from ..decoders.viterbi import viterbi_core
from ..errors import DataError
from .attributes import Tokens
from .base import Encoded, RowGroup, Structure, freeze, make_pack
from .multiclass import check_costs

__all__ = ["Sequence"]

# pack.ints: number of labels, whether transitions are restricted, whether positions are restricted, rows of costs; if
#   these are more than the labels: the row of every position, which else is that of its true label
# pack.reals: costs (rows * K), then the weight of every position in the loss
# pack.table: allowed initial (K), final (K), transitions (K * K) if restricted; then allowed labels (rows * K) if any


@compiled
def _decode(pack, i, theta, out):
    ints, row_start, table = pack.ints, pack.row_start, pack.table
    n_labels = ints[0]
    first_row = row_start[0, i]
    n_steps = row_start[0, i + 1] - first_row
    unary = theta[: n_steps * n_labels]
    at = n_steps * n_labels
    shared = theta[at : at + n_labels * (n_labels + 2)]
    header = np.int64(0)
    if ints[1] != 0:
        header = len(shared)
        allowed = np.empty(len(shared))
        for q in range(len(shared)):
            allowed[q] = shared[q] if table[q] != 0 else -np.inf
        shared = allowed
    if ints[2] != 0:
        masked = np.empty(len(unary))
        offset = header + (first_row - row_start[0, 0]) * n_labels
        for q in range(len(unary)):
            masked[q] = unary[q] if table[offset + q] != 0 else -np.inf
        unary = masked
    return viterbi_core(
        unary,
        n_steps,
        n_labels,
        shared[:n_labels],
        shared[n_labels : 2 * n_labels],
        shared[2 * n_labels :],
        out,
    )


@compiled
def _parts(pack, i, out, parts):
    row_start, n_labels = pack.row_start, pack.ints[0]
    n_steps = row_start[0, i + 1] - row_start[0, i]
    if n_steps == 0:
        return 0
    at = n_steps * n_labels
    for t in range(n_steps):
        parts[t] = t * n_labels + out[t]
    parts[n_steps] = at + out[0]
    parts[n_steps + 1] = at + n_labels + out[n_steps - 1]
    at += 2 * n_labels
    for t in range(1, n_steps):
        parts[n_steps + 1 + t] = at + out[t - 1] * n_labels + out[t]
    return 2 * n_steps + 1


@compiled
def _augment(pack, i, theta):
    ints, reals, target, row_start = pack.ints, pack.reals, pack.target, pack.row_start
    n_labels, n_costs = ints[0], ints[3]
    first_row = row_start[0, i]
    for t in range(row_start[0, i + 1] - first_row):
        row = target[first_row + t] if n_costs == n_labels else ints[4 + first_row + t]
        weight = reals[n_costs * n_labels + first_row + t]
        if weight != 0.0:
            for label in range(n_labels):
                theta[t * n_labels + label] += weight * reals[row * n_labels + label]
    return 0.0


@compiled
def _loss(pack, i, out):
    ints, reals, target, row_start = pack.ints, pack.reals, pack.target, pack.row_start
    n_labels, n_costs = ints[0], ints[3]
    first_row = row_start[0, i]
    total = 0.0
    for t in range(row_start[0, i + 1] - first_row):
        row = target[first_row + t] if n_costs == n_labels else ints[4 + first_row + t]
        total += reals[n_costs * n_labels + first_row + t] * reals[row * n_labels + out[t]]
    return total


class Sequence(Structure):
    """Label sequences over encoded tokens.

    Parameters
    ----------
    n_labels : int
    normalize : bool
        Divide the loss of a sequence by its length.
    costs : array of shape (n_labels, n_labels), optional
        ``costs[true, predicted]``, 0/1 by default.
    allowed_initial, allowed_final : bool arrays of shape (n_labels,), optional
    allowed_transitions : bool array of shape (n_labels, n_labels), optional
        ``[from, to]``.

    Attributes
    ----------
    label_names : sequence of length n_labels or None
        What messages call the labels; their numbers where it is not set.
    """

    label_names: SequenceOf[Any] | None = None

    decode = staticmethod(_decode)
    parts = staticmethod(_parts)
    augment = staticmethod(_augment)
    loss = staticmethod(_loss)

    def __init__(
        self,
        n_labels: int,
        *,
        normalize: bool = False,
        costs: ArrayLike | None = None,
        allowed_initial: ArrayLike | None = None,
        allowed_final: ArrayLike | None = None,
        allowed_transitions: ArrayLike | None = None,
    ) -> None:
        self.n_labels = n = int(n_labels)
        self.normalize = bool(normalize)
        self.costs = check_costs(costs, n)
        masks = (
            _mask(allowed_initial, (n,), "allowed_initial"),
            _mask(allowed_final, (n,), "allowed_final"),
            _mask(allowed_transitions, (n, n), "allowed_transitions"),
        )
        self.restricted = not all(mask.all() for mask in masks)
        self._masks = masks

    @property
    def n_shared(self) -> int:
        """Number of initial, final and transition weights."""
        return self.n_labels * (self.n_labels + 2)

    @cached_property
    def _allowed(self) -> NDArray[np.int32]:
        """The masks as compiled functions take them, the same for all that is encoded; empty if all is allowed."""
        masks = [mask.ravel() for mask in self._masks] if self.restricted else [()]
        return freeze(np.concatenate(masks), np.int32)

    def encode(
        self,
        X: Any,
        Y: SequenceOf[NDArray[np.int64]] | None = None,
        *,
        candidates: NDArray[np.bool_] | None = None,
        allowed: NDArray[np.bool_] | None = None,
    ) -> Encoded:
        """Encode tokens.

        Parameters
        ----------
        X : Tokens
        Y : list of int arrays, optional
            Label numbers of each sequence.
        candidates : bool array of shape (n_tokens, n_labels), optional
            Labels that each position may truly have, that of ``Y`` among them, which is the only one by default. The
            loss of a position is the least of those that they would have as true labels: with one candidate the usual
            loss, with all labels 0.
        allowed : bool array of shape (n_tokens, n_labels), optional
            Labels that each position may take (all by default).

        Raises
        ------
        DataError
            When a true sequence uses a forbidden transition, or a true label is no candidate: names the sequence and
            the position.
        """
        tokens: Tokens = X
        lengths = tokens.start[1:] - tokens.start[:-1]
        costs, rows = self.costs, list[int]()
        loss: dict[str, Any] = {}
        if Y is not None:
            target = self._targets(Y, lengths)
            weight = np.ones(int(tokens.start[-1]))
            if self.normalize:
                weight /= np.repeat(np.maximum(lengths, 1), lengths)
            if self.restricted:
                self._check_allowed(tokens.start, target)
            if candidates is not None:
                weight[candidates.all(1)] = 0.0
                costs, rows = self._least_costs(candidates, target, tokens.start)
            reals = np.concatenate([costs.ravel(), weight])
            loss = {"target": target, "target_start": tokens.start, "reals": reals}
        table: Any = self._allowed
        if allowed is not None:
            table = np.concatenate([table, np.asarray(allowed).ravel()])
        group = RowGroup(
            self.n_labels,
            tokens.start,
            indptr=tokens.indptr,
            indices=tokens.indices,
            values=tokens.values,
            n_sparse=tokens.n_attributes,
            dense=tokens.dense,
        )
        pack = make_pack(
            [group],
            n_shared=self.n_shared,
            ints=(self.n_labels, self.restricted, allowed is not None, len(costs), *rows),
            table=table,
            **loss,
        )
        longest = int(lengths.max(initial=0))
        return Encoded.of(pack, n_output=longest, n_parts=2 * longest + 1)

    def _targets(self, Y: SequenceOf[NDArray[np.int64]], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """All label numbers, one after another; compiled code trusts them."""
        if len(Y) != len(lengths):
            raise DataError(f"{len(lengths)} sequences but {len(Y)} label sequences")
        pieces = [np.asarray(y, np.int64) for y in Y]
        for i, piece in enumerate(pieces):
            if piece.shape != (lengths[i],):
                raise DataError(f"sequence {i} has {lengths[i]} tokens but {piece.size} labels")
            if len(piece) and (piece.min() < 0 or piece.max() >= self.n_labels):
                odd = piece.min() if piece.min() < 0 else piece.max()
                raise DataError(f"sequence {i}: label number {odd} is outside 0..{self.n_labels - 1}")
        return np.concatenate(pieces) if pieces else np.zeros(0, np.int64)

    def _least_costs(
        self, candidates: NDArray[np.bool_], target: NDArray[np.int64], start: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], list[int]]:
        """Costs with one more row for each set of candidates, and every position's row: none where no more are."""
        odd = np.flatnonzero(~candidates[np.arange(len(target)), target])
        if len(odd):
            i = int(np.searchsorted(start, odd[0], side="right") - 1)
            label = self._named(target[odd[0]])
            raise DataError(f"sequence {i}, position {odd[0] - start[i]}: the true label is no candidate: {label}")
        several = np.flatnonzero((candidates.sum(1) > 1) & ~candidates.all(1))
        if not len(several):
            return self.costs, []
        kinds, kind = np.unique(candidates[several], axis=0, return_inverse=True)
        rows = target.copy()
        rows[several] = self.n_labels + kind.reshape(-1)
        return np.concatenate([self.costs, [self.costs[each].min(0) for each in kinds]]), rows.tolist()

    def _check_allowed(self, start: NDArray[np.int64], target: NDArray[np.int64]) -> None:
        initial, final, transitions = self._masks
        inner = np.ones(len(target), bool)
        inner[start[:-1][start[:-1] < len(target)]] = False
        step = np.flatnonzero(inner)
        bad = step[~transitions[target[step - 1], target[step]]]
        full = np.flatnonzero(np.diff(start) > 0)
        bad_first = full[~initial[target[start[full]]]]
        bad_last = full[~final[target[start[full + 1] - 1]]]
        if len(bad):
            i = int(np.searchsorted(start, bad[0], side="right") - 1)
            t = int(bad[0] - start[i])
            labels = self._named(target[bad[0] - 1], target[bad[0]])
            raise DataError(f"sequence {i} uses a forbidden transition at position {t}: {labels}")
        for kind, where, at in (("starts", bad_first, start[:-1]), ("ends", bad_last, start[1:] - 1)):
            if len(where):
                i = int(where[0])
                label = self._named(target[at[i]])
                raise DataError(f"sequence {i} {kind} with a label that may not stand there: {label}")

    def _named(self, *labels: int) -> str:
        """What messages call a label, or one and the next."""
        if self.label_names is None:
            return f"label number {' to '.join(map(str, labels))}"
        return " to ".join(repr(self.label_names[label]) for label in labels)

    def output(self, encoded: Encoded, i: int, out: NDArray[np.int32]) -> NDArray[np.int32]:
        """Label numbers of the sequence."""
        return out[: encoded.pack.row_start[0, i + 1] - encoded.pack.row_start[0, i]]

    def split(self, w: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """Views of the weights: emissions (features, labels), initial, final, transitions (from, to)."""
        n = self.n_labels
        shared = w[len(w) - self.n_shared :]
        return (
            w[: len(w) - self.n_shared].reshape(-1, n),
            shared[:n],
            shared[n : 2 * n],
            shared[2 * n :].reshape(n, n),
        )


def _mask(values: ArrayLike | None, shape: tuple[int, ...], name: str) -> NDArray[np.bool_]:
    if values is None:
        return np.ones(shape, bool)
    out = np.array(values, bool)
    if out.shape != shape:
        raise DataError(f"{name} has shape {out.shape}; it needs {shape}")
    return out
