"""Tokens with named attributes, dense vectors, or both, as packed arrays.

A sequence is a list of tokens, each a collection of attribute names (strings, or anything hashable) or a mapping from
names to values; or a 2-D array or DataFrame of numbers with one row a token; or a SciPy sparse matrix; or a pair (one
of the former, array). A pandas Series is a list.
Numbers in a list are a dense vector; numbers that name attributes come as a set or as the keys of a mapping.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, chain, count, repeat
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._compiled import compiled
from ..errors import DataError
from .values import by_position, check_rows, examples_of, is_frame, is_no_list, is_real

__all__ = ["AttributeIndex", "Tokens", "encode_tokens", "least_weight"]


@dataclass
class Tokens:
    """Packed tokens of many sequences.

    Attributes
    ----------
    start : int64 array of shape (n_sequences + 1,)
        Tokens of sequence ``i`` are ``start[i]`` to ``start[i + 1]``.
    indptr, indices, values : arrays or None
        Attribute numbers of every token (CSR); ``values`` is None when all are 1.
    n_attributes : int
    dense : float64 array of shape (n_tokens, n_dense) or None
    """

    start: NDArray[np.int64]
    indptr: NDArray[np.int64] | None
    indices: NDArray[np.int32] | None
    values: NDArray[np.float64] | None
    n_attributes: int
    dense: NDArray[np.float64] | None

    def counts(self, sample_weight: NDArray[np.float64] | None = None) -> NDArray[Any]:
        """In how many tokens each attribute occurs.

        Parameters
        ----------
        sample_weight : float64 array of shape (n_sequences,), optional
            Each token counts as much as its sequence weighs: weight 2 is two copies, 0 is none.

        Returns
        -------
        array of shape (n_attributes,)
            int64 without weights, else float64.
        """
        if self.indptr is None or self.indices is None:
            return np.zeros(self.n_attributes, np.int64)
        if sample_weight is None:
            return np.bincount(self.indices, minlength=self.n_attributes)
        each = np.repeat(sample_weight, np.diff(self.indptr[self.start]))
        return np.bincount(self.indices, each, self.n_attributes)

    def matrix(self) -> Any:
        """The attributes of all tokens as a CSR matrix of shape (n_tokens, n_attributes), or None."""
        if self.indptr is None or self.indices is None:
            return None
        import scipy.sparse as sp

        values = np.ones(len(self.indices)) if self.values is None else self.values
        return sp.csr_matrix((values, self.indices, self.indptr), shape=(len(self.indptr) - 1, self.n_attributes))


def least_weight(min_count: int) -> float:
    """The smallest sum of weights that passes for ``min_count`` occurrences.

    At 1, which leaves nothing out, any weight above 0 does. Above, a billionth less than ``min_count`` does: thirty
    times 0.1 is three copies whichever way the sum is rounded, so the order of the examples does not matter.
    """
    return float(min_count * (1 - 1e-9) if min_count > 1 else np.nextafter(0.0, 1.0))


class _Growing(dict[Hashable, int]):
    """Gives every new key the next number."""

    def __missing__(self, key: Hashable) -> int:
        self[key] = number = len(self)
        return number


class AttributeIndex:
    """Attribute names and their numbers, in the order of first occurrence."""

    def __init__(self, names: Iterable[Hashable] = ()) -> None:
        table = _Growing()
        for name in names:
            table[name]
        self._held: _Growing | list[Hashable] = table

    def __len__(self) -> int:
        return len(self._held)

    def names(self) -> list[Hashable]:
        """Names in the order of their numbers."""
        return list(self._held)

    def rest(self) -> None:
        """Keep no more than the names until a number is asked for.

        The table of the numbers takes some 60 bytes a name, 18 MB for the attributes of a few thousand sentences, and
        training does not look into it; it is built again, about 0.25 microseconds a name, when it is needed.
        """
        self._held = list(self._held)

    def _table(self) -> _Growing:
        held = self._held  # looked at once: two threads may ask at the same time
        if isinstance(held, list):
            self._held = held = _Growing(zip(held, count()))
        return held

    def numbers(self, names: Iterable[Hashable], *, grow: bool, count: int = -1) -> NDArray[np.int32]:
        """Numbers of names (``count`` of them, if known); unknown ones are added, or become -1.

        TypeError for a name that is not hashable.
        """
        table = self._table()
        if grow:
            found: Iterable[int] = map(table.__getitem__, names)
        else:
            found = map(table.get, names, repeat(-1))
        return np.fromiter(found, np.int32, count)

    def restricted(self, keep: NDArray[np.bool_]) -> AttributeIndex:
        """The index of the names kept, in their order."""
        return AttributeIndex(name for name, kept in zip(self._held, keep, strict=True) if kept)


@compiled
def _has_repeats(indptr, indices):
    """Whether a row lists a column twice.

    The columns of a row stand in a small hash table: a table of all columns would take longer to fill than a short
    sentence to read.
    """
    longest = np.int64(0)
    for row in range(len(indptr) - 1):
        longest = max(longest, indptr[row + 1] - indptr[row])
    size, unused = np.int64(8), np.int64(29)  # bits of 32
    while size < 2 * longest:
        size *= 2
        unused -= 1
    row_at, column_at = np.empty(size, np.int64), np.empty(size, np.int64)
    for slot in range(size):
        row_at[slot] = -1
    for row in range(len(indptr) - 1):
        for k in range(indptr[row], indptr[row + 1]):
            column = np.int64(indices[k])
            slot = ((column * 0x9E3779B1) & 0xFFFFFFFF) >> unused  # columns may be multiples of a power of 2
            while row_at[slot] == row:
                if column_at[slot] == column:
                    return True
                slot = (slot + 1) & (size - 1)
            row_at[slot], column_at[slot] = row, column
    return False


@compiled
def _leave_out_unknown(indptr, numbers, values):
    """Move what has a number of at least 0 to the front, in place; ``values`` may be empty. Returns how many."""
    n = np.int64(0)
    first = indptr[0]
    for row in range(len(indptr) - 1):
        end = indptr[row + 1]
        for k in range(first, end):
            if numbers[k] >= 0:
                numbers[n] = numbers[k]
                if len(values) > 0:
                    values[n] = values[k]
                n += 1
        first = end
        indptr[row + 1] = n
    return n


def encode_tokens(X: Sequence[Any], index: AttributeIndex, *, grow: bool, n_dense: int | None = None) -> Tokens:
    """Pack sequences.

    Parameters
    ----------
    X : list of sequences
    index : AttributeIndex
        Grows when ``grow`` is true (training); otherwise unknown attributes are left out.
    n_dense : int, optional
        Length of the dense vectors that the model expects; read off the data when None. A model of dense vectors alone
        takes sparse matrices too, and one of matrices dense vectors: the same numbers.

    Raises
    ------
    DataError
        For anything that cannot be read; names the sequence and the token.
    """
    X = examples_of(X, "X", "sequences")
    if is_no_list(X) or not hasattr(X, "__len__") or hasattr(X, "tocsr"):
        raise DataError(f"X must be a list of sequences, not a {type(X).__name__}")
    names: list[Any] = []
    dense: list[tuple[int, NDArray[np.float64]]] = []
    matrices: list[Any] = []
    numbered = cache(lambda: _numbered(index))  # asked for by many sequences, or by none
    before = len(index)
    lengths: list[int] = []
    for i, sequence in enumerate(X):
        sparse, block = _two_parts(sequence, i)
        if n_dense is not None and not grow:
            sparse, block = _as_fitted(sparse, block, index, n_dense, i, numbered)
        rows: Any = block if sparse is None else sparse
        lengths.append(rows.shape[0] if hasattr(rows, "tocsr") else len(rows))
        if block is not None:
            if len(block) != lengths[i]:
                raise DataError(f"sequence {i} has {lengths[i]} tokens with attributes but {len(block)} dense rows")
            dense.append((i, block))
        if sparse is not None:
            (matrices if hasattr(sparse, "tocsr") else names).append(sparse)
    start = _starts(lengths, len(lengths))
    nonempty = len(lengths) - lengths.count(0)
    has_dense = sum(len(block) > 0 for _, block in dense)
    if names and matrices:
        raise DataError("some sequences are lists of attributes and some are matrices; give all in one form")
    if has_dense and has_dense != nonempty:
        raise DataError("some sequences have dense vectors and some have not; give all in one form")
    indptr = indices = values = None
    if matrices:
        indptr, indices, values = _from_matrices(matrices, index, n_dense or 0, grow=grow)
    elif names and any(len(s) for s in names):
        if has_dense and sum(len(s) > 0 for s in names) != nonempty:
            raise DataError("some sequences have attributes and some have not; give all in one form")
        indptr, indices, values = _from_names(names, index, grow=grow)

    def known() -> str:
        """What a model was fitted on, or a stream had before, where there is one; for messages."""
        had = "" if n_dense is None else _fitted_on(index, n_dense, before)
        return had and (f"; the stream had {had} before" if grow else f"; the model was fitted on {had}")

    out = _stack(dense, n_dense if n_dense is not None else _width(dense), int(start[-1]), known)
    if indptr is None and len(index):
        indptr, indices = np.zeros(start[-1] + 1, np.int64), np.zeros(0, np.int32)
    return Tokens(start, indptr, indices, values, len(index), out)


def _as_fitted(
    sparse: Any,
    block: NDArray[np.float64] | None,
    index: AttributeIndex,
    n_dense: int,
    i: int,
    numbered: Callable[[], bool],
) -> tuple[Any, NDArray[np.float64] | None]:
    """The parts of a sequence in the form of the data of the fit, where they are a matrix either way.

    ``numbered`` says whether attributes are the columns of matrices.
    """
    if block is None and hasattr(sparse, "tocsr") and n_dense and not len(index):
        return None, _dense(sparse.toarray(), i)
    if sparse is None and block is not None and len(block) and not n_dense and numbered():
        import scipy.sparse as sp

        return sp.csr_matrix(block), None
    return sparse, block


def _numbered(index: AttributeIndex, n: int | None = None) -> bool:
    """Whether attributes, or the first ``n`` of them, are the columns of matrices."""
    names = index.names()[:n]
    return names == list(range(len(names)))


def _fitted_on(index: AttributeIndex, n_dense: int, n: int | None = None) -> str:
    """What the data of a fit were, in words; they had the first ``n`` attributes, all by default."""
    what, n = [], len(index) if n is None else n
    if n:
        what = [f"sparse matrices of {n} columns" if _numbered(index, n) else "named attributes"]
    if n_dense:
        what.append(f"dense rows of {n_dense} values")
    return " and ".join(what)


def _two_parts(sequence: Any, i: int) -> tuple[Any, NDArray[np.float64] | None]:
    """Attributes (list or sparse matrix, or None) and dense rows (or None) of a sequence."""
    if isinstance(sequence, np.ndarray) and sequence.dtype != object:
        return None, _dense(sequence, i)
    if hasattr(sequence, "tocsr"):
        check_rows(sequence, f"sequence {i}")
        return sequence.tocsr(), None
    if is_frame(sequence):
        return None, _dense(_frame_rows(sequence, i), i)
    if (
        isinstance(sequence, tuple)
        and len(sequence) == 2
        and isinstance(sequence[1], np.ndarray)
        and sequence[1].ndim == 2
    ):
        sparse, _ = _two_parts(sequence[0], i)
        return sparse, _dense(sequence[1], i)
    if isinstance(sequence, tuple) and len(sequence) == 2 and is_frame(sequence[1]):
        return _two_parts((sequence[0], _frame_rows(sequence[1], i)), i)
    sequence = by_position(sequence)
    if is_no_list(sequence) or not hasattr(sequence, "__len__"):
        raise DataError(
            f"sequence {i} is a {type(sequence).__name__}; a sequence is a list of tokens (each a collection of "
            "attributes) or a 2-D array"
        )
    if len(sequence) and hasattr(sequence[0], "iloc"):
        sequence = [by_position(token) for token in sequence]
    if len(sequence) and isinstance(sequence[0], list | tuple | np.ndarray) and len(sequence[0]):
        first = sequence[0][0]
        if isinstance(first, float | int | np.number) and not isinstance(first, bool | str):
            try:
                return None, _dense(np.array(sequence, np.float64), i)
            except OverflowError:
                raise DataError(
                    f"sequence {i} holds an integer beyond all floats; scale the vectors of all tokens down"
                ) from None
            except ValueError:
                raise DataError(
                    f"sequence {i}: its rows of numbers have different lengths; numbers in a list are a dense vector "
                    "(give the ids of sparse attributes as a set, as {id: value}, or as strings)"
                ) from None
    return sequence, None


def _frame_rows(frame: Any, i: int) -> NDArray[np.float64]:
    """The values of a DataFrame of numbers, of whatever types."""
    for column, dtype in zip(frame.columns, frame.dtypes, strict=True):
        if dtype.kind not in "biuf":
            raise DataError(
                f"sequence {i} is a DataFrame whose column {column!r:.40} holds no numbers: frame.to_dict('records') "
                "has a dict of numbers and strings for each row, which is a token"
            )
    rows: NDArray[np.float64] = frame.to_numpy(np.float64, na_value=np.nan)
    return rows


def _dense(block: NDArray[Any], i: int) -> NDArray[np.float64]:
    if block.ndim != 2:
        if block.size == 0:
            return np.zeros((0, 0))
        raise DataError(f"sequence {i} is an array of shape {block.shape}; it must be 2-D, one row a token")
    if block.dtype.kind not in "biuf":
        raise DataError(f"sequence {i} is an array of {block.dtype}; it must hold real numbers")
    out = np.asarray(block, np.float64)
    if not np.isfinite(out).all():
        row, column = np.argwhere(~np.isfinite(out))[0]
        raise DataError(f"sequence {i}, row {row}, column {column}: value {block[row, column]} is not finite")
    return out


def _width(dense: list[tuple[int, NDArray[np.float64]]]) -> int:
    return next((block.shape[1] for _, block in dense if len(block)), 0)


def _stack(
    dense: list[tuple[int, NDArray[np.float64]]], width: int, n_tokens: int, known: Callable[[], str]
) -> NDArray[np.float64] | None:
    """All dense rows under each other; every block comes with the number of its sequence.

    ``known`` says in messages what a model was fitted on, or a stream had.
    """
    filled = [(i, block) for i, block in dense if len(block)]
    if width == 0 and not filled:
        return None
    for i, block in filled:
        if block.shape[1] != width:
            raise DataError(f"sequence {i} has rows of {block.shape[1]} values; {width} are expected{known()}")
    if not filled:
        if n_tokens:
            raise DataError(f"the sequences have no dense vectors; {width} values a token are expected{known()}")
        return np.zeros((0, width))
    return np.concatenate([block for _, block in filled])


def _from_names(
    names: list[Any], index: AttributeIndex, *, grow: bool
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64] | None]:
    tokens = list(chain.from_iterable(names))
    kinds = set(map(type, tokens))
    if not kinds <= {list, tuple, set, frozenset, dict}:
        _refuse_odd_tokens(names)
        tokens = [t if isinstance(t, Mapping) else list(t) for t in tokens]
        kinds = {dict if any(isinstance(t, Mapping) for t in tokens) else list}
    indptr = _starts(map(len, tokens), len(tokens))
    total = int(indptr[-1])
    values: NDArray[np.float64] | None = None
    flat: Iterable[Any]
    if any(issubclass(kind, Mapping) for kind in kinds):
        flat, values = _names_and_values(names, tokens, total)
    else:
        flat = chain.from_iterable(tokens)  # no list of all names: it would be larger than all their numbers
    try:
        numbers = index.numbers(flat, grow=grow, count=total)
    except TypeError:
        i, t, name = next(
            (i, t, name)
            for i, sequence in enumerate(names)
            for t, token in enumerate(sequence)
            for name in token
            if not _is_hashable(name)
        )
        raise DataError(
            f"sequence {i}, token {t}: attribute {name!r} cannot be a name: names are strings or other hashable values"
        ) from None
    if grow and any(isinstance(name, Real) for name in index.names()):
        _refuse_stray_vectors(names)
    if not grow:
        known = _leave_out_unknown(indptr, numbers, np.zeros(0) if values is None else values)
        numbers, values = numbers[:known], None if values is None else values[:known]
    return _canonical(indptr, numbers, values, len(index))


def _starts(lengths: Iterable[int], n: int) -> NDArray[np.int64]:
    """Where each of ``n`` consecutive pieces starts, and the end."""
    return np.fromiter(accumulate(lengths, initial=0), np.int64, n + 1)


def _refuse_stray_vectors(names: list[Any]) -> None:
    """A vector among tokens of attributes: the first token of its sequence decides what the sequence is."""
    for i, sequence in enumerate(names):
        for t, token in enumerate(sequence):
            token = by_position(token)
            if isinstance(token, list | tuple | np.ndarray) and len(token) and is_real(token[0]):
                raise DataError(
                    f"sequence {i}, token {t} is a list of numbers among tokens with attributes; numbers in a list are "
                    "a dense vector (give the ids of sparse attributes as a set, as {id: value}, or as strings)"
                )


def _refuse_odd_tokens(names: list[Any]) -> None:
    for i, sequence in enumerate(names):
        for t, token in enumerate(sequence):
            if isinstance(token, str | bytes) or not isinstance(token, Iterable) or is_frame(token):
                shown = " ".join(repr(token).split())
                raise DataError(
                    f"sequence {i}, token {t} is a {type(token).__name__} ({shown:.40}); a token is a collection of "
                    "attributes, for example ['word=the', 'shape=xxx'] or {'length': 3.0}"
                )


def _names_and_values(names: list[Any], tokens: list[Any], total: int) -> tuple[list[Any], NDArray[np.float64]]:
    """Flat names and values; a text value becomes part of the name, as ``name=value``."""
    flat: list[Any] = []
    numbers: list[Any] = []
    for token in tokens:
        if isinstance(token, Mapping):
            for name, value in token.items():
                if isinstance(value, str):
                    flat.append(f"{name}={value}")
                    numbers.append(1.0)
                else:
                    flat.append(name)
                    numbers.append(value)
        else:
            flat.extend(token)
            numbers.extend(repeat(1.0, len(token)))
    values: NDArray[np.float64] | None = None
    if set(map(type, numbers)) <= {float, int, bool, np.float64} or all(map(is_real, numbers)):
        try:
            values = np.array(numbers, np.float64)
        except OverflowError:
            pass
    if values is None:  # NumPy would also take text, times, and lists of equal lengths
        k = next(k for k, value in enumerate(numbers) if not _is_number(value))
        i, t = _position(names, k)
        raise DataError(
            f"sequence {i}, token {t}: attribute {flat[k]!r} has value {numbers[k]!r:.40}; it must be a number "
            "or a string (a vector of numbers for each token is given as a 2-D array, alone or beside the attributes)"
        )
    if not np.isfinite(values).all():
        k = int(np.flatnonzero(~np.isfinite(values))[0])
        i, t = _position(names, k)
        raise DataError(
            f"sequence {i}, token {t}: attribute {flat[k]!r} has the value {values[k]}, which is not finite"
        )
    return flat, values


def _is_hashable(name: Any) -> bool:
    """Whether it can be a key; a tuple that holds a list only looks so."""
    try:
        hash(name)
    except TypeError:
        return False
    return True


def _is_number(value: Any) -> bool:
    """Whether it is a number that a float can hold."""
    if not is_real(value):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True


def _position(names: list[Any], k: int) -> tuple[int, int]:
    """Sequence and token of the k-th attribute."""
    for i, sequence in enumerate(names):
        for t, token in enumerate(sequence):
            if k < len(token):
                return i, t
            k -= len(token)
    raise IndexError(k)


def _from_matrices(
    matrices: list[Any], index: AttributeIndex, n_dense: int, *, grow: bool
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64] | None]:
    import scipy.sparse as sp

    widths = {m.shape[1] for m in matrices}
    if len(widths) > 1:
        raise DataError(f"the sparse matrices have different numbers of columns: {sorted(widths)}")
    width = widths.pop()
    if grow and width >= len(index):
        index.numbers(range(width), grow=True)
    elif width != len(index):
        had = f"with {len(index)}" if _numbered(index) else f"with {len(index)} named attributes"
        had = had if len(index) else f"on {_fitted_on(index, n_dense)}"
        raise DataError(f"the sparse matrices have {width} columns; the model was fitted {had}")
    X = sp.vstack(matrices, format="csr") if len(matrices) > 1 else matrices[0].tocsr()
    values = np.asarray(X.data, np.float64)
    if not np.isfinite(values).all():
        raise DataError("a sparse matrix holds values that are not finite")
    return _canonical(X.indptr.astype(np.int64), X.indices.astype(np.int32), values, width)


def _canonical(
    indptr: NDArray[np.int64], numbers: NDArray[np.int32], values: NDArray[np.float64] | None, n_columns: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64] | None]:
    """Repeated attributes added up, values dropped when all are 1."""
    if values is not None and (values == 1.0).all():
        values = None
    if _has_repeats(indptr, numbers):
        import scipy.sparse as sp

        data = np.ones(len(numbers)) if values is None else values.copy()
        X = sp.csr_matrix((data, numbers.copy(), indptr), shape=(len(indptr) - 1, n_columns))
        X.sum_duplicates()
        indptr, numbers, values = X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data
    return indptr, numbers, values
