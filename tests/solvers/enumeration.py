"""Small problems with every output written out: what any solver's answer can be held against.

A :class:`Listed` problem follows from the definition of its structure in plain NumPy, without the library; its optimum
comes from a general solver of quadratic programs. A :class:`Case` pairs it with the library's view of the same problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from maxmargin.solvers.compiled_oracle import CompiledOracle
from maxmargin.solvers.oracle import Oracle
from maxmargin.solvers.plain_oracle import PlainOracle
from maxmargin.structures.attributes import Tokens
from maxmargin.structures.multiclass import Multiclass
from maxmargin.structures.sequence import Sequence

__all__ = [
    "Case", "Listed", "ListedStructure", "multiclass_case", "named_cases", "plain_case", "random_sequences",
    "random_tokens", "sequence_case",
]  # fmt: skip

Reals = NDArray[np.float64]
Output = tuple[int, int]


@dataclass
class Listed:
    """All outputs of all examples: joint features, losses, and which one is the truth."""

    phi: list[Reals]
    loss: list[Reals]
    truth: list[int]

    @property
    def n_weights(self) -> int:
        return self.phi[0].shape[1]

    @property
    def psi(self) -> list[Reals]:
        """Joint features minus the truth's."""
        return [phi - phi[true] for phi, true in zip(self.phi, self.truth)]

    def slacks(self, w: Reals) -> Reals:
        """``max_y Delta + <w, psi>`` of every example."""
        return np.array([(loss + psi @ w).max() for loss, psi in zip(self.loss, self.psi)])

    def primal(self, w: Reals, c: Reals) -> float:
        """``1/2 |w|^2 + sum_i c_i xi_i``."""
        return 0.5 * float(w @ w) + float(c @ self.slacks(w))

    def risks(self, w: Reals) -> Reals:
        """Task loss of the output with the highest score."""
        return np.array([loss[(phi @ w).argmax()] for loss, phi in zip(self.loss, self.phi)])

    def optimum(self, c: Reals, ridge: float = 1.0) -> tuple[Reals, float]:
        """Minimiser of ``ridge/2 |w|^2 + sum_i c_i xi_i`` and its value, by an interior point method."""
        used = np.flatnonzero(c > 0)
        psi, n = self.psi, len(used)
        rows = [np.hstack([psi[i], np.tile(-np.eye(n)[k], (len(psi[i]), 1))]) for k, i in enumerate(used)]
        w = _quadratic_program(
            np.r_[np.full(self.n_weights, ridge), np.zeros(n)],
            np.r_[np.zeros(self.n_weights), c[used]],
            np.vstack(rows),
            np.concatenate([-self.loss[i] for i in used]),
        )[: self.n_weights]
        return w, 0.5 * ridge * float(w @ w) + float(c @ self.slacks(w))

    @property
    def wrong(self) -> Reals:
        """``psi`` of all outputs but the truths, one after another."""
        return np.vstack([np.delete(psi, true, 0) for psi, true in zip(self.psi, self.truth)])

    def margin(self) -> float:
        """The most by which weights of length 1 score every truth above all other outputs; for separable problems."""
        n, wrong = self.n_weights, self.wrong
        w = _quadratic_program(np.ones(n), np.zeros(n), wrong, np.full(len(wrong), -1.0))
        return float((-wrong @ w).min() / np.linalg.norm(w))


def _quadratic_program(diagonal: Reals, linear: Reals, G: Reals, h: Reals) -> Reals:
    """Minimiser of ``1/2 sum_j diagonal_j x_j^2 + <linear, x>`` with ``G x <= h``, by an interior point method."""
    import piqp

    solver = piqp.DenseSolver()
    for name in ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"):
        setattr(solver.settings, name, 1e-10)
    solver.setup(np.diag(diagonal), linear, G=G, h_u=h)
    solver.solve()
    return np.array(solver.result.x)


class ListedStructure:
    """The listed outputs as a structure in plain Python: ``(i, k)`` is the k-th output of example ``i``."""

    def __init__(self, listed: Listed) -> None:
        self.listed = listed

    def joint_features(self, x: int, y: Output) -> Reals:
        return self.listed.phi[x][y[1]]

    def loss(self, y_true: Output, y: Output) -> float:
        return float(self.listed.loss[y_true[0]][y[1]])

    def argmax(self, x: int, w: Reals, y_true: Output | None = None) -> Output:
        scores = self.listed.phi[x] @ w
        return x, int((scores if y_true is None else scores + self.listed.loss[x]).argmax())


@dataclass
class Case:
    """One problem twice: as the library sees it, and with all outputs listed."""

    oracle: Oracle
    listed: Listed
    structure: Any

    @property
    def n(self) -> int:
        return len(self.listed.phi)


def plain_case(case: Case) -> Case:
    """The same outputs as a structure in plain Python."""
    structure = ListedStructure(case.listed)
    truth = list(enumerate(case.listed.truth))
    return Case(PlainOracle(structure, range(case.n), truth), case.listed, structure)


def multiclass_case(X: Reals, y: NDArray[np.int64], costs: Reals | None = None, *, sparse: bool = False) -> Case:
    """Classes over rows: ``phi(x, k)`` is ``x`` in the block of class ``k``; weights run class by class within a feature."""
    k = int(y.max()) + 1 if costs is None else len(costs)
    structure = Multiclass(k, costs)
    encoded = structure.encode(sp.csr_matrix(X) if sparse else X, y)
    costs = 1.0 - np.eye(k) if costs is None else costs
    phi = [np.stack([np.outer(x, np.eye(k)[label]).ravel() for label in range(k)]) for x in X]
    listed = Listed(phi, [costs[label] for label in y], y.tolist())
    return Case(CompiledOracle(structure, encoded), listed, structure)


def random_tokens(
    rng: np.random.Generator, lengths: list[int], kind: str = "sparse", n_attributes: int = 4, n_dense: int = 2
) -> tuple[Tokens, Reals]:
    """Packed tokens and the same features as one matrix; ``kind`` is sparse, ones (no values), dense or both."""
    start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    blocks, dense = [], None
    indptr = indices = values = None
    if kind != "dense":
        S = (rng.random((start[-1], n_attributes)) < 0.5) * rng.normal(size=(start[-1], n_attributes))
        if kind == "ones":
            S = (S != 0).astype(float)
        csr = sp.csr_matrix(S)
        indptr, indices = csr.indptr.astype(np.int64), csr.indices.astype(np.int32)
        values = None if kind == "ones" else csr.data
        blocks.append(S)
    if kind in ("dense", "both"):
        dense = rng.normal(size=(start[-1], n_dense))
        blocks.append(dense)
    return Tokens(start, indptr, indices, values, n_attributes if kind != "dense" else 0, dense), np.hstack(blocks)


def sequence_case(
    tokens: Tokens,
    features: Reals,
    labels: list[NDArray[np.int64]],
    n_labels: int,
    *,
    normalize: bool = False,
    costs: Reals | None = None,
    masks: dict[str, NDArray[np.bool_]] | None = None,
) -> Case:
    """Label sequences: all that the masks allow, with counts of first label, last label and neighbours as features."""
    structure = Sequence(n_labels, normalize=normalize, costs=costs, **(masks or {}))
    encoded = structure.encode(tokens, labels)
    costs = 1.0 - np.eye(n_labels) if costs is None else costs
    one = np.eye(n_labels)
    initial, final, follows = structure._masks
    listed = Listed([], [], [])
    for i, y in enumerate(labels):
        x = features[tokens.start[i] : tokens.start[i + 1]]
        outputs = [
            out
            for out in product(range(n_labels), repeat=len(y))
            if not out or (initial[out[0]] and final[out[-1]] and all(follows[a, b] for a, b in zip(out, out[1:])))
        ]
        phi = np.zeros((len(outputs), features.shape[1] * n_labels + n_labels * (n_labels + 2)))
        for row, out in zip(phi, outputs):
            if out:
                pairs = sum((np.outer(one[a], one[b]) for a, b in zip(out, out[1:])), np.zeros_like(one))
                row[:] = np.concatenate([(x.T @ one[list(out)]).ravel(), one[out[0]], one[out[-1]], pairs.ravel()])
        loss = np.array([sum(costs[a, b] for a, b in zip(y, out)) for out in outputs], float)
        listed.phi.append(phi)
        listed.loss.append(loss / max(len(y), 1) if normalize else loss)
        listed.truth.append(outputs.index(tuple(y.tolist())))
    return Case(CompiledOracle(structure, encoded), listed, structure)


def random_sequences(n: int, lengths: tuple[int, int], n_labels: int) -> CompiledOracle:
    """So many sequences of lengths from the first to below the second, too long to list all labellings."""
    rng = np.random.default_rng(2)
    each = rng.integers(*lengths, n).tolist()
    tokens, _ = random_tokens(rng, each, "both", n_attributes=6)
    structure = Sequence(n_labels)
    return CompiledOracle(structure, structure.encode(tokens, [rng.integers(0, n_labels, m) for m in each]))


def named_cases() -> dict[str, Case]:
    """One small problem of each kind, for tests that go through all of them."""
    rng = np.random.default_rng(31)
    X, y = rng.normal(size=(7, 3)), np.array([0, 1, 2, 0, 1, 2, 0])
    costs = np.array([[0.0, 1.0, 2.5], [0.5, 0.0, 1.0], [2.0, 0.7, 0.0]])
    cases = {"multiclass": multiclass_case(X, y), "costs": multiclass_case(X, y, costs, sparse=True)}
    lengths = [3, 1, 4, 0, 2]
    labels = [rng.integers(0, 3, length) for length in lengths]
    masks = {
        "allowed_initial": np.array([True, True, False]),
        "allowed_final": np.array([False, True, True]),
        "allowed_transitions": np.array([[True, True, False], [True, True, True], [True, False, True]]),
    }
    permitted = [np.array(y) for y in ([0, 1, 2], [1], [1, 2, 0, 1], [], [0, 1])]
    cases["hamming"] = sequence_case(*random_tokens(rng, lengths, "sparse"), labels, 3)
    pairs = [np.minimum(y, 1) for y in labels]
    cases["normalized"] = sequence_case(*random_tokens(rng, lengths, "dense"), pairs, 2, normalize=True)
    cases["label costs"] = sequence_case(*random_tokens(rng, lengths, "ones"), labels, 3, costs=costs)
    cases["forbidden"] = sequence_case(*random_tokens(rng, lengths, "both"), permitted, 3, masks=masks)
    return cases


def random_case(rng: np.random.Generator) -> Case:
    """A problem of random kind and size."""
    n, k = int(rng.integers(1, 9)), int(rng.integers(2, 5))
    costs = None
    if rng.random() < 0.5:
        costs = rng.integers(0, 5, (k, k)) / 2.0 * (1 - np.eye(k))
    if rng.random() < 0.4:
        y = np.concatenate([np.arange(k), rng.integers(0, k, n)])
        return multiclass_case(rng.normal(size=(n + k, 3)), y, costs, sparse=bool(rng.integers(2)))
    k = min(k, 3)
    lengths = rng.integers(0, 5, n).tolist()
    lengths[0] = 2
    tokens, features = random_tokens(rng, lengths, str(rng.choice(["sparse", "ones", "dense", "both"])))
    labels = [rng.integers(0, k, length) for length in lengths]
    costs = None if costs is None else costs[:k, :k]
    return sequence_case(tokens, features, labels, k, normalize=bool(rng.integers(2)), costs=costs)
