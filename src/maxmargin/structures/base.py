"""What a structure is: the contract between outputs and solvers.

Every output is scored through a small vector of *potentials* ``theta_i = A_i^T w``; an output ``y`` uses some of them
(its *parts*, with multiplicity), and its score is the sum of those. A structure therefore consists of

* a feature map: ``potentials``, ``potentials_at`` and ``features`` (the library's, from :mod:`.features`, serves all
  structures whose potentials come from rows of features times label blocks, plus shared weights);
* a decoder: ``decode`` finds the output with the largest sum of potentials;
* a task loss that decomposes over the parts: ``augment`` adds it to the potentials, ``loss`` evaluates it;
* ``parts``: which potentials an output uses.

All are compiled functions with the signatures below over one read-only argument tuple, :class:`Pack`; solvers are
compiled once for all structures. An output is an ``int32`` vector, whatever it means.

=====================================================  ==========================================================
``potentials(pack, w, i, theta)``                      fill ``theta`` of example ``i``
``potentials_at(pack, w, i, parts, m, theta)``         fill ``theta[p]`` for ``p`` in ``parts[:m]`` only
``features(pack, i, parts, coef, m, keys, values)``    sparse vector ``sum_q coef[q] A_i e_parts[q]`` with distinct
                                                       keys; returns its length, or minus the length needed when the
                                                       buffers are too short
``decode(pack, i, theta, out)``                        write the best output, return its score
``parts(pack, i, out, parts)``                         write the parts of an output, return their number
``augment(pack, i, theta)``                            add the task loss to ``theta``, return its constant part
``loss(pack, i, out)``                                 task loss of an output against the truth
=====================================================  ==========================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numba import types
from numpy.typing import ArrayLike, NDArray

from .._compiled import array, compiled, function_type, kernel
from ..errors import DataError, StructureError
from .values import LARGEST, check_unmasked

__all__ = [
    "Encoded", "FUNCTIONS", "LARGEST", "Pack", "RowGroup", "Structure", "check_magnitude", "check_row_magnitude",
    "freeze", "losses_of_truths", "make_pack", "n_rows", "signatures", "true_output",
]  # fmt: skip

FUNCTIONS = ("potentials", "potentials_at", "features", "decode", "parts", "augment", "loss")


_CACHED = 1 << 16  # values
_SPARE = 1024  # entries behind a buffer, for a loss that writes beyond its end, which passes will notice


class Pack(NamedTuple):
    """Everything the compiled functions may read about the encoded examples; all arrays are read-only.

    Attributes
    ----------
    row_start : int64 array of shape (n_groups, n_examples + 1)
        Rows of group ``g`` of example ``i`` are ``row_start[g, i]`` to ``row_start[g, i + 1]``.
    indptr, indices, values : int64, int32 and float64 arrays
        Sparse features of the rows (CSR); ``values`` is empty when all are 1.
    dense : float64 array
        Dense features, row after row, group after group.
    groups : int64 array of shape (n_groups, 5)
        Labels, first weight, sparse features, dense features, offset into ``dense``.
    shared : int64 array of shape (2,)
        First weight and number of the weights that are potentials themselves (transitions, rules).
    target, target_start : int32 and int64 arrays
        True outputs, one after another; ``target_start`` has length ``n_examples + 1``.
    ints, reals, table : int64, float64 and int32 arrays
        Whatever the structure wants to keep.
    """

    row_start: NDArray[np.int64]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]
    dense: NDArray[np.float64]
    groups: NDArray[np.int64]
    shared: NDArray[np.int64]
    target: NDArray[np.int32]
    target_start: NDArray[np.int64]
    ints: NDArray[np.int64]
    reals: NDArray[np.float64]
    table: NDArray[np.int32]


@compiled
def n_rows(pack: Pack, i: int, group: int = 0) -> Any:
    """Number of rows of a group of example ``i``."""
    return pack.row_start[group, i + 1] - pack.row_start[group, i]


@compiled
def true_output(pack: Pack, i: int) -> NDArray[np.int32]:
    """True output of example ``i``, as a read-only view."""
    return pack.target[pack.target_start[i] : pack.target_start[i + 1]]


class Signatures(NamedTuple):
    """Numba types of the pack and of the compiled functions of a structure."""

    pack: Any
    potentials: Any
    potentials_at: Any
    features: Any
    decode: Any
    parts: Any
    augment: Any
    loss: Any


@cache
def signatures() -> Signatures:
    """The types used in the signatures of the kernels."""
    f8, i8, i4 = types.float64, types.int64, types.int32

    def ro(dtype: Any, ndim: int = 1) -> Any:
        return array(dtype, ndim, readonly=True)

    pack = types.NamedTuple(
        [ro(i8, 2), ro(i8), ro(i4), ro(f8), ro(f8), ro(i8, 2), ro(i8), ro(i4), ro(i8), ro(i8), ro(f8), ro(i4)], Pack
    )
    reals, ints, keys = array(f8), array(i4), array(i8)
    return Signatures(
        pack=pack,
        potentials=function_type(types.void(pack, ro(f8), i8, reals)),
        potentials_at=function_type(types.void(pack, ro(f8), i8, ints, i8, reals)),
        features=function_type(i8(pack, i8, ints, reals, i8, keys, reals)),
        decode=function_type(f8(pack, i8, reals, ints)),
        parts=function_type(i8(pack, i8, ints, ints)),
        augment=function_type(f8(pack, i8, reals)),
        loss=function_type(f8(pack, i8, ints)),
    )


@kernel(lambda: types.void(signatures().loss, signatures().pack, array(types.int64), types.int64, array(types.float64)))
def losses_of_truths(
    loss: Any, pack: Pack, examples: NDArray[np.int64], n_output: int, losses: NDArray[np.float64]
) -> None:
    """``losses[k]`` becomes the loss of the true output of ``examples[k]``, in a buffer of ``n_output`` entries."""
    out = np.zeros(n_output + _SPARE, np.int32)[:n_output]
    for k in range(len(examples)):
        first = pack.target_start[examples[k]]
        for q in range(pack.target_start[examples[k] + 1] - first):
            out[q] = pack.target[first + q]
        losses[k] = loss(pack, examples[k], out)


def freeze(values: Any, dtype: Any, ndim: int = 1) -> NDArray[Any]:
    """C-contiguous read-only view or copy of the exact dtype (the caller's own array is never flagged)."""
    if type(values) is tuple and not values and ndim == 1:
        return _nothing(dtype)
    if _is_frozen(values, dtype, ndim):
        return values  # type: ignore[no-any-return]
    out = np.ascontiguousarray(values, dtype=dtype)
    if out.ndim != ndim:
        out = out.reshape((-1,) if ndim == 1 else (0, 0))
    out = out.view()
    out.flags.writeable = False
    return out


@cache
def _nothing(dtype: Any) -> NDArray[Any]:
    """The one empty array of a type: half of the arrays of a prediction are empty."""
    out = np.zeros(0, dtype)
    out.flags.writeable = False
    return out


def _is_frozen(values: Any, dtype: Any, ndim: int) -> bool:
    """Whether :func:`freeze` could have returned it."""
    if type(values) is not np.ndarray or values.ndim != ndim or values.dtype != dtype:
        return False
    flags = values.flags
    return flags.c_contiguous and flags.aligned and not flags.writeable


@dataclass
class RowGroup:
    """Rows of features that meet the same block of labels: one potential for each row and label.

    Attributes
    ----------
    n_labels : int
    row_start : int array of shape (n_examples + 1,)
        Rows of example ``i`` are ``row_start[i]`` to ``row_start[i + 1]``, counted within the group.
    indptr, indices, values : arrays, optional
        Sparse features of all rows of the group (CSR); ``values=None`` means that all are 1.
    n_sparse : int
        Number of sparse features.
    dense : float array of shape (n_rows, n_dense), optional
        Dense features of all rows of the group.
    """

    n_labels: int
    row_start: ArrayLike
    indptr: ArrayLike | None = None
    indices: ArrayLike | None = None
    values: ArrayLike | None = None
    n_sparse: int = 0
    dense: ArrayLike | None = None


def make_pack(
    groups: Sequence[RowGroup],
    *,
    n_shared: int = 0,
    target: ArrayLike = (),
    target_start: ArrayLike = (),
    ints: ArrayLike = (),
    reals: ArrayLike = (),
    table: ArrayLike = (),
) -> Pack:
    """Lay out groups of rows and shared weights for the library's feature map.

    The weights of a group are ``W[feature, label]`` with the label running fastest, sparse features first; the groups
    follow each other, the shared weights come last. The potentials of an example are those of its rows, group by group
    (row by row, label running fastest), then the shared weights.
    """
    n_examples = len(np.asarray(groups[0].row_start)) - 1 if groups else len(np.asarray(target_start)) - 1
    starts = np.zeros((len(groups), n_examples + 1), np.int64)
    layout = np.zeros((len(groups), 5), np.int64)
    indptr, indices, values, dense = [], [], [], []
    weighted = any(g.values is not None for g in groups)
    first_row = first_weight = first_value = dense_size = 0
    for k, g in enumerate(groups):
        rows = np.asarray(g.row_start, np.int64)
        n_rows = int(rows[-1])
        starts[k] = rows + first_row
        ptr = np.zeros(n_rows + 1, np.int64) if g.indptr is None else np.asarray(g.indptr, np.int64)
        if len(ptr) != n_rows + 1:
            raise StructureError(f"group {k}: indptr has {len(ptr)} entries for {n_rows} rows; it needs {n_rows + 1}")
        _check_sparse(k, g, ptr)
        indptr.append(ptr[1:] + first_value if k else ptr)
        first_value += int(ptr[-1])
        if g.indices is not None:
            indices.append(np.asarray(g.indices))
        if g.values is not None:
            _check_values(k, g, ptr, np.asarray(g.values, np.float64))
        if weighted:
            values.append(np.ones(int(ptr[-1])) if g.values is None else np.asarray(g.values, np.float64))
        n_dense = 0
        if g.dense is not None:
            check_unmasked(g.dense, f"group {k}: dense")
            block = np.asarray(g.dense, np.float64)
            if block.ndim != 2 or len(block) != n_rows:
                raise StructureError(f"group {k}: dense features have shape {block.shape} for {n_rows} rows")
            n_dense = block.shape[1]
            _check_values(k, g, n_dense * np.arange(n_rows + 1), block)
            dense.append(block.ravel())
        layout[k] = (g.n_labels, first_weight, g.n_sparse, n_dense, dense_size)
        dense_size += n_dense * n_rows
        first_row += n_rows
        first_weight += (g.n_sparse + n_dense) * g.n_labels

    def joined(arrays: list[Any], dtype: Any) -> NDArray[Any]:
        return freeze(arrays[0] if len(arrays) == 1 else np.concatenate(arrays) if arrays else (), dtype)

    return Pack(
        row_start=freeze(starts, np.int64, 2),
        indptr=joined(indptr or [np.zeros(1, np.int64)], np.int64),
        indices=joined(indices, np.int32),
        values=joined(values, np.float64),
        dense=joined(dense, np.float64),
        groups=freeze(layout, np.int64, 2),
        shared=freeze([first_weight, n_shared], np.int64),
        target=freeze(target, np.int32),
        target_start=freeze(target_start, np.int64),
        ints=freeze(ints, np.int64),
        reals=freeze(reals, np.float64),
        table=freeze(table, np.int32),
    )


def check_magnitude(values: NDArray[np.float64], where: Callable[[int], str] | None = None) -> None:
    """Refuse values whose squares and sums of squares would overflow.

    Parameters
    ----------
    where : callable, optional
        Says in words where the entry of a number is, which counts through the array row by row.

    Raises
    ------
    DataError
        Names the largest value, and the place of the first one that is too large.
    """
    largest, step = 0.0, 1 + _CACHED * len(values) // max(values.size, 1)
    for at in range(0, len(values), step):  # both looks at a part while it is in a cache
        part = values[at : at + step]
        largest = max(largest, float(part.max(initial=0.0)), -float(part.min(initial=0.0)))
    if largest > LARGEST:
        place = ""
        if where is not None:
            place = f"; the first that is too large is in {where(int((np.abs(values).ravel() > LARGEST).argmax()))}"
        raise DataError(
            f"features of up to {largest:.3g} in size are too large to compute with; scale the features down (values "
            f"of about 1 are best){place}"
        )


def check_row_magnitude(X: Any) -> None:
    """The same of rows, dense or in CSR form; names the row and the column."""
    if not sp.issparse(X):
        flat = X.reshape(-1) if X.flags.c_contiguous else X
        check_magnitude(flat, lambda k: f"row {k // X.shape[1]}, column {k % X.shape[1]}")
        return

    def where(k: int) -> str:
        return f"row {int(np.searchsorted(X.indptr, k, side='right')) - 1}, column {X.indices[k]}"

    check_magnitude(X.data, where)


def _check_values(k: int, group: RowGroup, indptr: NDArray[np.int64], values: NDArray[np.float64]) -> None:
    """Refuse NaN, infinity and what is too large among the features of a group, whose rows begin at ``indptr``."""

    def place_of(entry: int) -> tuple[int, int]:
        row = int(np.searchsorted(indptr, entry, side="right")) - 1
        return int(np.searchsorted(np.asarray(group.row_start), row, side="right")) - 1, row

    def where(entry: int) -> str:
        i, row = place_of(entry)
        return f"example {i} (row {row - int(np.asarray(group.row_start)[i])} of it)"

    step = 1 + _CACHED * len(values) // max(values.size, 1)
    for at in range(0, len(values), step):
        odd = ~np.isfinite(values[at : at + step].ravel())
        if odd.any():
            place = at * (values.size // len(values)) + int(odd.argmax())
            i, row = place_of(place)
            raise DataError(
                f"example {i}: a feature of group {k} is {values.ravel()[place]} (row {row} of the group); all must be "
                "finite"
            )
    check_magnitude(values, where)


def _check_sparse(k: int, group: RowGroup, indptr: NDArray[np.int64]) -> None:
    """Compiled code reads where these arrays point: they must not point outside."""
    indices = np.zeros(0, np.int64) if group.indices is None else np.asarray(group.indices)
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any() or indptr[-1] != len(indices):
        raise StructureError(f"group {k}: indptr must rise from 0 to the number of indices, {len(indices)}")
    if group.values is not None and len(np.asarray(group.values)) != len(indices):
        raise StructureError(f"group {k}: {len(np.asarray(group.values))} values for {len(indices)} indices")
    if len(indices) and (indices.min() < 0 or indices.max() >= group.n_sparse):
        odd = indices.min() if indices.min() < 0 else indices.max()
        raise StructureError(f"group {k}: feature number {odd} is outside 0..{group.n_sparse - 1}")


@dataclass
class Encoded:
    """Examples ready for the solvers.

    Attributes
    ----------
    pack : Pack
    n_examples, n_weights : int
    n_potentials, n_output, n_parts : int
        Buffer sizes: the largest number of potentials, output entries and parts of any example.
    extra : dict
        Whatever the structure needs to turn outputs back into the user's.
    """

    pack: Pack
    n_examples: int
    n_weights: int
    n_potentials: int
    n_output: int
    n_parts: int
    extra: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, pack: Pack, *, n_output: int, n_parts: int, **extra: Any) -> Encoded:
        """Sizes read off a pack made by :func:`make_pack`."""
        counts = pack.row_start[:, 1:] - pack.row_start[:, :-1]
        per_example = pack.groups[:, 0] @ counts if len(pack.groups) else np.zeros(1, np.int64)
        first_shared, n_shared = pack.shared.tolist()
        n_examples = pack.row_start.shape[1] - 1 if len(pack.groups) else len(pack.target_start) - 1
        return cls(
            pack=pack,
            n_examples=n_examples,
            n_weights=first_shared + n_shared,
            n_potentials=int(per_example.max(initial=0)) + n_shared,
            n_output=max(int(n_output), 1),
            n_parts=max(int(n_parts), 1),
            extra=extra,
        )


class Structure:
    """Base class of structures with compiled functions.

    A subclass sets the functions ``decode``, ``parts``, ``augment`` and ``loss`` (made by
    ``maxmargin.structures.compiled``; they take no ``self``), and the methods :meth:`encode` and :meth:`output`.
    The feature map may be replaced as well.
    """

    exact = True
    """Whether ``decode`` always finds the maximum (the certificate is a bound only then)."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Compiled functions take no ``self``: those written in the body of a subclass become static."""
        super().__init_subclass__(**options)
        for name in FUNCTIONS:
            member = cls.__dict__.get(name)
            if callable(member) and not isinstance(member, staticmethod):
                setattr(cls, name, staticmethod(member))

    decode: Any
    parts: Any
    augment: Any
    loss: Any

    @property
    def potentials(self) -> Any:
        """Compiled ``potentials`` (the library's feature map)."""
        from .features import potentials

        return potentials

    @property
    def potentials_at(self) -> Any:
        """Compiled ``potentials_at`` (the library's feature map)."""
        from .features import potentials_at

        return potentials_at

    @property
    def features(self) -> Any:
        """Compiled ``features`` (the library's feature map)."""
        from .features import features

        return features

    def encode(self, X: Sequence[Any], Y: Sequence[Any] | None = None) -> Encoded:
        """Inputs (and true outputs) as packed arrays. Called with ``Y=None`` for prediction."""
        raise StructureError(f"{type(self).__name__} must define encode(X, Y=None)")

    def output(self, encoded: Encoded, i: int, out: NDArray[np.int32]) -> Any:
        """The user's form of an output vector of example ``i``, whose end is unused when it is longer than needed."""
        raise StructureError(f"{type(self).__name__} must define output(encoded, i, out)")

    def missing(self) -> list[str]:
        """Names of the compiled functions that the class lacks."""
        return [name for name in FUNCTIONS if not hasattr(self, name)]
