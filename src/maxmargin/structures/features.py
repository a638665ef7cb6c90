"""The library's feature map: rows of features times label blocks, plus shared weights.

``theta[row, label] = sum_a x_row[a] W[a, label]`` for the rows of every group, then the shared weights themselves.
Weights run label-minor, so gathering a feature touches one short contiguous run. Layout: :func:`.base.make_pack`.
"""

from __future__ import annotations

import numpy as np

from .._compiled import compiled

__all__ = ["features", "n_potentials", "potentials", "potentials_at"]


@compiled(dot=True)
def potentials(pack, w, i, theta):
    """Fill all potentials of example ``i``."""
    groups, row_start, indptr, indices = pack.groups, pack.row_start, pack.indptr, pack.indices
    values, dense, shared = pack.values, pack.dense, pack.shared
    ones = len(values) == 0
    at = 0
    for g in range(len(groups)):
        n_labels, first, n_sparse, n_dense = groups[g, 0], groups[g, 1], groups[g, 2], groups[g, 3]
        for row in range(row_start[g, i], row_start[g, i + 1]):
            cell = theta[at : at + n_labels]
            for label in range(n_labels):
                cell[label] = 0.0
            for k in range(indptr[row], indptr[row + 1]):
                base = first + np.int64(indices[k]) * n_labels
                block = w[base : base + n_labels]
                if ones:
                    for label in range(n_labels):
                        cell[label] += block[label]
                else:
                    x = values[k]
                    for label in range(n_labels):
                        cell[label] += x * block[label]
            if n_dense > 0:
                offset = groups[g, 4] + (row - row_start[g, 0]) * n_dense
                for a in range(n_dense):
                    x = dense[offset + a]
                    if x != 0.0:
                        base = first + (n_sparse + a) * n_labels
                        block = w[base : base + n_labels]
                        for label in range(n_labels):
                            cell[label] += x * block[label]
            at += n_labels
    first = shared[0]
    for q in range(shared[1]):
        theta[at + q] = w[first + q]


@compiled
def _locate(groups, row_start, i, part):
    """Group (or -1 for shared), row and label of a potential."""
    at = np.int64(part)
    for g in range(len(groups)):
        n_labels = groups[g, 0]
        start = row_start[g, i]
        size = (row_start[g, i + 1] - start) * n_labels
        if at < size:
            row = at // n_labels
            return np.int64(g), start + row, at - row * n_labels
        at -= size
    return np.int64(-1), np.int64(0), at


@compiled(dot=True)
def potentials_at(pack, w, i, parts, m, theta):
    """Fill ``theta[p]`` for ``p`` in ``parts[:m]`` only."""
    groups, row_start, indptr, indices = pack.groups, pack.row_start, pack.indptr, pack.indices
    values, dense, first_shared = pack.values, pack.dense, pack.shared[0]
    ones = len(values) == 0
    for q in range(m):
        g, row, label = _locate(groups, row_start, i, parts[q])
        if g < 0:
            theta[parts[q]] = w[first_shared + label]
            continue
        n_labels, first, n_sparse, n_dense = groups[g, 0], groups[g, 1], groups[g, 2], groups[g, 3]
        first += label
        total = 0.0
        for k in range(indptr[row], indptr[row + 1]):
            value = w[first + np.int64(indices[k]) * n_labels]
            total += value if ones else values[k] * value
        if n_dense > 0:
            offset = groups[g, 4] + (row - row_start[g, 0]) * n_dense
            for a in range(n_dense):
                total += dense[offset + a] * w[first + (n_sparse + a) * n_labels]
        theta[parts[q]] = total


@compiled
def features(pack, i, parts, coef, m, keys, values):
    """Sparse vector ``sum_q coef[q] A_i e_parts[q]`` with distinct keys.

    Returns its length, or minus the length needed when the buffers are too short. Rows that share a feature and a label
    are merged through a small hash table, which stays in the first-level cache where a scratch vector as long as the
    weights would not.
    """
    groups, row_start, indptr, indices = pack.groups, pack.row_start, pack.indptr, pack.indices
    x, dense, first_shared = pack.values, pack.dense, pack.shared[0]
    need = np.int64(0)
    several_rows = False
    seen_row = np.int64(-1)
    max_labels = np.int64(0)
    for q in range(m):
        g, row, _ = _locate(groups, row_start, i, parts[q])
        if g < 0:
            need += 1
            continue
        need += indptr[row + 1] - indptr[row] + groups[g, 3]
        if groups[g, 0] > max_labels:
            max_labels = groups[g, 0]
        if seen_row >= 0 and row != seen_row:
            several_rows = True
        seen_row = row
    if need > len(keys):
        return -need

    size = np.int64(16)
    if several_rows:
        while size < 2 * need:
            size *= 2
    table = np.empty(size, np.int32)  # a loop compiles ten times as fast as np.full
    for q in range(size):
        table[q] = -1
    ones = len(x) == 0
    n = np.int64(0)
    # sparse features first: only they need the table
    for q in range(m):
        g, row, label = _locate(groups, row_start, i, parts[q])
        if g < 0:
            continue
        c = coef[q]
        n_labels, first = groups[g, 0], groups[g, 1] + label
        for k in range(indptr[row], indptr[row + 1]):
            key = first + np.int64(indices[k]) * n_labels
            value = c if ones else c * x[k]
            if several_rows:
                slot = (((key & 0x7FFFFFFF) * 0x9E3779) >> 9) & (size - 1)
                while table[slot] >= 0 and keys[table[slot]] != key:
                    slot = (slot + 1) & (size - 1)
                if table[slot] >= 0:
                    values[table[slot]] += value
                    continue
                table[slot] = n
            keys[n] = key
            values[n] = value
            n += 1
    # dense features: rows with one label share all keys, so their vectors are added up in place
    for g in range(len(groups)):
        n_dense = groups[g, 3]
        if n_dense == 0:
            continue
        n_labels = groups[g, 0]
        slot_of = np.empty(max_labels, np.int64)
        for q in range(max_labels):
            slot_of[q] = -1
        for q in range(m):
            where, row, label = _locate(groups, row_start, i, parts[q])
            if where != g:
                continue
            c = coef[q]
            offset = groups[g, 4] + (row - row_start[g, 0]) * n_dense
            start = slot_of[label]
            if start >= 0:
                for a in range(n_dense):
                    values[start + a] += c * dense[offset + a]
                continue
            slot_of[label] = n
            first = groups[g, 1] + groups[g, 2] * n_labels + label
            for a in range(n_dense):
                keys[n] = first + a * n_labels
                values[n] = c * dense[offset + a]
                n += 1
    for q in range(m):
        g, _, label = _locate(groups, row_start, i, parts[q])
        if g < 0:
            keys[n] = first_shared + label
            values[n] = coef[q]
            n += 1
    return n


@compiled
def n_potentials(pack, i):
    """Number of potentials of example ``i``."""
    total = pack.shared[1]
    for g in range(len(pack.groups)):
        total += (pack.row_start[g, i + 1] - pack.row_start[g, i]) * pack.groups[g, 0]
    return total
