"""The library's feature map is one linear map: potentials, single potentials and features are its views."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.errors import StructureError
from maxmargin.structures import make_pack
from maxmargin.structures.base import Encoded, Pack, RowGroup, freeze, n_rows
from maxmargin.structures.features import features, n_potentials, potentials, potentials_at

N = 5
KINDS = ("sparse", "ones", "dense", "both", "nothing")


def random_pack(seed: int, kinds: tuple[str, ...], n_shared: int, wide: bool = False) -> tuple[Pack, list[Any], int]:
    """A pack of several groups, and for each example the whole matrix from weights to potentials."""
    rng = np.random.default_rng(seed)
    groups, blocks = [], []
    weighted = any(kind in ("sparse", "both") for kind in kinds)
    first = 0
    for kind in kinds:
        n_labels, n_sparse, n_dense = int(rng.integers(1, 5)), int(rng.integers(1, 7)), int(rng.integers(1, 4))
        if wide:
            n_sparse = 3000
        start = np.concatenate([[0], np.cumsum(rng.integers(0, 4, N))])
        start[-1] = max(start[-1], 1)
        rows = int(start[-1])
        group, parts = RowGroup(n_labels, start), []
        if kind in ("sparse", "ones", "both"):
            S = (rng.random((rows, n_sparse)) < (0.01 if wide else 0.4)) * rng.normal(size=(rows, n_sparse))
            csr = sp.csr_array(S)
            group.indptr, group.indices, group.n_sparse = csr.indptr, csr.indices, n_sparse
            group.values = csr.data if kind != "ones" else None
            parts.append(S if kind != "ones" else (S != 0).astype(float))
        if kind in ("dense", "both"):
            group.dense = rng.normal(size=(rows, n_dense)) * (rng.random((rows, n_dense)) < 0.8)
            parts.append(group.dense)
        groups.append(group)
        x = np.hstack(parts) if parts else np.zeros((rows, 0))
        blocks.append((start, x, n_labels, first))
        first += x.shape[1] * n_labels
    total = first + n_shared
    maps = []
    for i in range(N):
        lines = []
        for start, x, n_labels, offset in blocks:
            for row in range(start[i], start[i + 1]):
                for label in range(n_labels):
                    line = np.zeros(total)
                    line[offset + label : offset + x.shape[1] * n_labels : n_labels] = x[row]
                    lines.append(line)
        lines += list(np.eye(total)[first:])
        maps.append(np.array(lines).reshape(len(lines), total))
    pack = make_pack(groups, n_shared=n_shared, target=np.zeros(N), target_start=np.arange(N + 1))
    assert (len(pack.values) > 0) == (weighted and len(pack.indices) > 0)
    return pack, maps, total


PACKS = [
    ((kind,), n_shared) for kind in KINDS for n_shared in (0, 3)
] + [(("sparse", "dense"), 2), (("ones", "both"), 0), (("ones", "ones", "nothing"), 1), (("both", "ones", "dense"), 4)]  # fmt: skip


@pytest.mark.parametrize(("kinds", "n_shared"), PACKS)
@pytest.mark.parametrize("seed", range(3))
def test_three_views_of_one_matrix(seed: int, kinds: tuple[str, ...], n_shared: int) -> None:
    pack, maps, total = random_pack(seed, kinds, n_shared)
    rng = np.random.default_rng(seed)
    w = rng.normal(size=total)
    w.flags.writeable = False
    encoded = Encoded.of(pack, n_output=1, n_parts=1)
    assert (encoded.n_examples, encoded.n_weights) == (N, total)
    assert encoded.n_potentials == max(len(A) for A in maps)
    for i, A in enumerate(maps):
        assert n_potentials(pack, i) == len(A)
        theta = np.full(encoded.n_potentials + 2, np.nan)
        potentials(pack, w, i, theta)
        np.testing.assert_allclose(theta[: len(A)], A @ w, rtol=0, atol=1e-12)
        assert np.isnan(theta[len(A) :]).all(), "written beyond the potentials of the example"
        if not len(A):
            continue
        # some, in any order, also twice
        parts = rng.integers(0, len(A), 6).astype(np.int32)
        some = np.full(encoded.n_potentials, np.nan)
        potentials_at(pack, w, i, parts, 5, some)
        np.testing.assert_allclose(some[parts[:5]], (A @ w)[parts[:5]], rtol=0, atol=1e-12)
        assert np.isnan(np.delete(some, parts[:5])).all()
        # sums of columns, with distinct keys
        for m in (0, 1, min(len(A), 4), len(A)):
            chosen = rng.permutation(len(A))[:m].astype(np.int32)
            coef = rng.normal(size=m)
            keys, values = np.full(400, -1, np.int64), np.full(400, np.nan)
            n = features(pack, i, chosen, coef, m, keys, values)
            assert 0 <= n <= 400
            assert len(set(keys[:n].tolist())) == n
            assert (keys[n:] == -1).all()
            vector = np.zeros(total)
            vector[keys[:n]] = values[:n]
            np.testing.assert_allclose(vector, coef @ A[chosen], rtol=0, atol=1e-12)


@pytest.mark.parametrize("kinds", [("sparse",), ("both", "ones"), ("dense",)])
def test_short_buffers_ask_for_more_and_are_left_alone(kinds: tuple[str, ...]) -> None:
    pack, maps, total = random_pack(1, kinds, 2)
    for i, A in enumerate(maps):
        parts = np.arange(len(A), dtype=np.int32)
        coef = np.ones(len(A))
        keys, values = np.full(1, -7, np.int64), np.full(1, np.nan)
        need = -features(pack, i, parts, coef, len(A), keys, values)
        assert need > 1
        assert keys[0] == -7
        keys, values = np.empty(need, np.int64), np.empty(need)
        n = features(pack, i, parts, coef, len(A), keys, values)
        assert 0 < n <= need
        vector = np.zeros(total)
        vector[keys[:n]] = values[:n]
        np.testing.assert_allclose(vector, A.sum(0), atol=1e-12)
        if need > n:  # merged keys: shorter buffers would do, but the promise is about the need
            assert features(pack, i, parts, coef, len(A), keys[: need - 1], values[: need - 1]) == -need


def test_many_keys_that_meet_in_the_hash_table() -> None:
    """Hundreds of features in each row, many of them shared, and keys beyond the size of the table."""
    pack, maps, total = random_pack(2, ("ones",), 0, wide=True)
    rng = np.random.default_rng(0)
    for i, A in enumerate(maps):
        if not len(A):
            continue
        parts, coef = rng.permutation(len(A)).astype(np.int32), rng.normal(size=len(A))
        keys, values = np.empty(20_000, np.int64), np.empty(20_000)
        n = features(pack, i, parts, coef, len(A), keys, values)
        assert len(set(keys[:n].tolist())) == n
        vector = np.zeros(total)
        vector[keys[:n]] = values[:n]
        np.testing.assert_allclose(vector, coef @ A[parts], atol=1e-12)


def test_keys_beyond_32_bits() -> None:
    """Billions of weights: positions are computed in 64 bits."""
    n_sparse, n_labels = 2**31 - 1, 50
    rows = RowGroup(n_labels, [0, 2], indptr=[0, 2, 4], indices=[0, n_sparse - 1, 7, n_sparse - 1], n_sparse=n_sparse)
    pack = make_pack([rows], n_shared=3)
    keys, values = np.empty(9, np.int64), np.empty(9)
    parts = np.array([49, 99, 102], np.int32)
    n = features(pack, 0, parts, np.array([1.0, 2.0, 5.0]), 3, keys, values)
    found = dict(zip(keys[:n].tolist(), values[:n].tolist()))
    last = n_sparse * n_labels - 1
    assert found == {49: 1.0, last: 3.0, 7 * n_labels + 49: 2.0, last + 3: 5.0}


def test_packs_are_read_only_and_leave_their_sources_alone() -> None:
    pack, _, _ = random_pack(0, ("both",), 1)
    for name, values in pack._asdict().items():
        assert not values.flags.writeable, name
        assert values.flags.c_contiguous
    mine = np.arange(3.0)
    frozen = freeze(mine, np.float64)
    assert np.shares_memory(frozen, mine)
    mine[0] = 5.0
    with pytest.raises(ValueError, match="read-only"):
        frozen[0] = 1.0
    assert freeze((), np.int64, 2).shape == (0, 0)


def test_rows_are_counted_by_group() -> None:
    groups = [RowGroup(2, [0, 1, 3], dense=np.ones((3, 1))), RowGroup(3, [0, 2, 2], dense=np.ones((2, 2)))]
    pack = make_pack(groups)
    assert [[n_rows(pack, i, g) for i in range(2)] for g in range(2)] == [[1, 2], [2, 0]]
    assert n_rows(pack, 1) == 2


@pytest.mark.parametrize(
    ("group", "message"),
    [
        (RowGroup(2, [0, 2], indptr=[0, 1], indices=[0]), "group 0: indptr has 2 entries for 2 rows; it needs 3"),
        (RowGroup(2, [0, 2], dense=np.ones((3, 1))), r"group 0: dense features have shape \(3, 1\) for 2 rows"),
        (RowGroup(2, [0, 2], dense=np.ones(2)), r"group 0: dense features have shape \(2,\) for 2 rows"),
        (RowGroup(2, [0, 2], indptr=[0, 1, 2], indices=[0, 5], n_sparse=5), "group 0: .*5"),
        (RowGroup(2, [0, 2], indptr=[0, 1, 2], indices=[0, -1], n_sparse=5), "group 0: .*-1"),
        (RowGroup(2, [0, 2], indptr=[0, 1, 2], indices=[0, 1, 1], n_sparse=5), "group 0: "),
        (RowGroup(2, [0, 2], indptr=[0, 1, 2], indices=[0, 1], values=[1.0], n_sparse=5), "group 0: "),
    ],
)
def test_groups_that_contradict_themselves_are_refused(group: RowGroup, message: str) -> None:
    with pytest.raises(StructureError, match=message):
        make_pack([group])
