"""svmlight text: ``<label> [qid:<int>] [cost:<number>] <index>:<value> ... [# comment]``, a row a line.

LIBSVM's files are the same without ``qid``, those of SVM-rank and LETOR with it. Indices count from one unless said
otherwise. Rows without features are rows of zeros; empty lines and lines of comment are no rows.
"""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..errors import FileFormatError
from .text import Source, format_number, parse_number, read_blocks, source_name

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["FEATURE", "SvmLightData", "read_svmlight"]

_BLOCK_BYTES = 1 << 22  # parsed in about 0.05 s, so that an interrupt is soon heard
_INT32_MAX = np.iinfo(np.int32).max

FEATURE = re.compile(r"\d+:.*", re.ASCII | re.DOTALL)
"""What no text label looks like."""


@dataclass(frozen=True, eq=False)
class SvmLightData:
    """What a file in svmlight's format holds.

    Attributes
    ----------
    X : csr_matrix of shape (n_rows, n_features)
        Sorted indices, int32 unless int64 is needed.
    y : array of shape (n_rows,)
        float64, or text (dtype ``str``) where labels were read as text.
    qid : int64 array of shape (n_rows,) or None
        Query of each row, where the file has them.
    sample_weight : float64 array of shape (n_rows,) or None
        The ``cost`` of each row, 1 where a row has none, where the file has any.
    line : int64 array of shape (n_rows,)
        Line of the file that each row comes from, for messages.
    """

    X: csr_matrix
    y: NDArray[Any]
    qid: NDArray[np.int64] | None
    sample_weight: NDArray[np.float64] | None
    line: NDArray[np.int64]


def read_svmlight(
    source: Source,
    *,
    n_features: int | None = None,
    zero_based: bool | Literal["auto"] = False,
    dtype: DTypeLike = np.float64,
    labels: Literal["number", "text"] = "number",
) -> SvmLightData:
    """Read a file in svmlight's format.

    Parameters
    ----------
    source : path, "-" or open file
        Gzip data are unpacked.
    n_features : int, optional
        Columns of ``X``; by default as many as the largest index needs. Give it to read the files of one problem
        to the same width; a larger index is then an error.
    zero_based : bool or "auto"
        Whether indices count from zero. "auto" decides that from this file alone, by whether an index 0 occurs:
        do not use it for the parts of one problem.
    dtype : float64 or float32
        Type of the values. Decimal numbers are read exactly (to the nearest float64).
    labels : "number" or "text"
        Whether the first word of a line is a number or is taken as it stands.

    Returns
    -------
    SvmLightData

    Raises
    ------
    FileFormatError
        If a line does not follow the format, an index occurs twice in a row or is out of range, a value is not
        finite, or only some rows have a qid; with path, line and the word in question.
    """
    if zero_based not in (True, False, "auto"):
        raise ValueError(f"zero_based must be True, False or 'auto', not {zero_based!r}")
    if labels not in ("number", "text"):
        raise ValueError(f"labels must be 'number' or 'text', not {labels!r}")
    if np.dtype(dtype) not in (np.float64, np.float32):
        raise ValueError(f"dtype must be float64 or float32, not {np.dtype(dtype)}")
    if n_features is not None and (n_features := operator.index(n_features)) < 0:
        raise ValueError(f"n_features must not be negative, got {n_features}")

    path = source_name(source)
    blocks, line = [], 1
    for text in read_blocks(source, _BLOCK_BYTES):
        block, line = _parse(text, line, path, labels == "text", np.dtype(dtype))
        blocks.append(block)
    if not blocks:
        blocks.append(_parse(b"", line, path, labels == "text", np.dtype(dtype))[0])
    rows = {name: _join(blocks, name) for name in list(blocks[0])}

    lines, has_qid, cost = rows["line"], rows["has_qid"], rows["cost"]
    if has_qid.any() and not has_qid.all():
        problem = "this row has no qid while others have one"
        raise FileFormatError(problem, path=path, line=int(lines[~has_qid][0]))
    if (cost < 0).any():
        first = int(np.flatnonzero(cost < 0)[0])
        token = f"cost:{format_number(float(cost[first]))}"
        raise FileFormatError("a cost must not be negative", path=path, line=int(lines[first]), token=token)
    return SvmLightData(
        X=_matrix(rows, n_features, zero_based, path),
        y=rows["y"],
        qid=rows["qid"] if has_qid.any() else None,
        sample_weight=cost if rows["has_cost"].any() else None,
        line=lines,
    )


def _parse(
    text: bytes, line: int, path: str, text_labels: bool, dtype: np.dtype[Any]
) -> tuple[dict[str, NDArray[Any]], int]:
    """The rows in whole lines of text, the first of which has number ``line``, and the number of the next line."""
    from . import _svmlight_kernel as parser

    n_lines, n_entries = text.count(b"\n") + 1, len(text) // 4 + 1  # an entry and its space take four bytes
    y, qid, cost = np.empty(n_lines), np.zeros(n_lines, np.int64), np.empty(n_lines)
    label_at, marks = np.empty((n_lines, 2), np.int64), np.empty(n_lines, np.uint8)
    lines, indptr = np.empty(n_lines, np.int64), np.zeros(n_lines + 1, np.int64)
    indices, values = np.empty(n_entries, np.int64), np.empty(n_entries)
    slow = np.empty((2 * n_lines + n_entries, 3), np.int64)
    status, at, n_rows, n_entries, n_slow, next_line = parser.parse_block(
        *(np.frombuffer(text, np.uint8), line, text_labels, y, label_at, qid, cost, marks, lines),
        *(indptr, indices, values, slow, *parser.power_tables()),
    )
    if status != parser.OK:
        raise _malformed(text, at, status, path, next_line, text_labels)

    for start, stop, whose in slow[:n_slow].tolist():
        try:
            number = parse_number(text[start:stop].decode())
        except ValueError as error:
            problem, token = str(error), text[start:stop].decode()
            raise FileFormatError(problem, path=path, line=line + text.count(b"\n", 0, start), token=token) from None
        if whose >= 0:
            values[whose] = number
        else:
            row, kind = divmod(-1 - whose, 2)
            (cost if kind == -1 - parser.COST else y)[row] = number

    indices, marks = indices[:n_entries], marks[:n_rows]
    small = n_entries == 0 or indices.max() <= _INT32_MAX
    with np.errstate(over="ignore"):
        converted = values[:n_entries].astype(dtype, copy=False)
    if not np.isfinite(converted).all():
        place = int(np.argmax(~np.isfinite(converted)))
        row = int(np.searchsorted(indptr[: n_rows + 1], place, side="right")) - 1
        token = f"{indices[place]}:{format_number(float(values[place]))}"
        raise FileFormatError(f"the value is too large for {dtype}", path=path, line=int(lines[row]), token=token)
    rows = dict(
        y=_decode(text, label_at[:n_rows], lines, path) if text_labels else y[:n_rows],
        qid=qid[:n_rows],
        cost=cost[:n_rows],
        line=lines[:n_rows],
        has_qid=marks & parser.HAS_QID != 0,
        has_cost=marks & parser.HAS_COST != 0,
        unsorted=marks & parser.UNSORTED != 0,
        count=np.diff(indptr[: n_rows + 1]),
        indices=indices.astype(np.int32) if small else indices,
        values=converted,
    )
    return rows, next_line


def _malformed(text: bytes, at: int, status: int, path: str, line: int, text_labels: bool) -> FileFormatError:
    """What is wrong with the word that begins at ``at``."""
    from . import _svmlight_kernel as parser

    until = rb"[^ \t\r\n]*" if text_labels and status == parser.BAD_LABEL else rb"[^ \t\r\n#]*"
    found = re.compile(until).match(text, at)
    token = found.group().decode("utf-8", "replace") if found else ""
    if status in (parser.BAD_LABEL, parser.BAD_VALUE, parser.BAD_COST):
        number = token if status == parser.BAD_LABEL else token.partition(":")[2]
        try:
            parse_number(number)
            reason = "not a number"
        except ValueError as error:
            reason = str(error)
    if status == parser.BAD_LABEL and text_labels:
        problem = "the label holds a control character"
    elif status == parser.BAD_LABEL:
        problem = f"the label is {reason} (labels='text' takes labels as they stand)"
    elif status == parser.BAD_VALUE:
        problem = f"the value is {reason}"
    elif status == parser.BAD_COST:
        problem = f"the cost is {reason}"
    elif status == parser.BAD_QID:
        problem = "the qid is not a whole number of 64 bits"
    elif status == parser.INDEX_TOO_LARGE:
        problem = "the index is too large"
    elif status == parser.TWICE:
        problem = "given twice in one row"
    else:
        problem = "expected <index>:<value>"
    return FileFormatError(problem, path=path, line=line, token=token)


def _decode(text: bytes, places: NDArray[np.int64], lines: NDArray[np.int64], path: str) -> NDArray[np.str_]:
    """The labels at (start, stop) places."""
    known: dict[bytes, str] = {}
    labels = []
    for row, (start, stop) in enumerate(places.tolist()):
        raw = text[start:stop]
        label = known.get(raw)
        if label is None:
            try:
                label = raw.decode("utf-8")
            except UnicodeDecodeError:
                problem, token = "the label is not UTF-8 text", raw.decode("utf-8", "replace")
                raise FileFormatError(problem, path=path, line=int(lines[row]), token=token) from None
            if FEATURE.fullmatch(label):
                problem = "the row begins with a feature, its label is missing"
                raise FileFormatError(problem, path=path, line=int(lines[row]), token=label)
            known[raw] = label
        labels.append(label)
    return np.array(labels, dtype=np.str_)


def _join(blocks: list[dict[str, NDArray[Any]]], name: str) -> NDArray[Any]:
    """One column of all blocks, which give theirs up one by one: the two copies never exist at once."""
    parts: list[NDArray[Any]] = [block.pop(name) for block in reversed(blocks)]
    if len(parts) == 1:
        return parts[0]
    joined: NDArray[Any] = np.empty(sum(map(len, parts)), np.result_type(*{part.dtype for part in parts}))
    start = 0
    while parts:
        part = parts.pop()
        joined[start : start + len(part)] = part
        start += len(part)
    return joined


def _matrix(
    rows: dict[str, NDArray[Any]], n_features: int | None, zero_based: bool | Literal["auto"], path: str
) -> csr_matrix:
    """The entries as a matrix, their indices checked and sorted."""
    from scipy.sparse import csr_matrix

    indices, values = rows["indices"], rows["values"]
    indptr = np.concatenate([[0], np.cumsum(rows["count"])])

    def error(problem: str, wrong: NDArray[np.bool_], token: str | None = None) -> FileFormatError:
        first = int(np.argmax(wrong))
        row = int(np.searchsorted(indptr, first, side="right")) - 1
        token = token or f"{indices[first]}:{format_number(float(values[first]))}"
        return FileFormatError(problem, path=path, line=int(rows["line"][row]), token=token)

    lowest, largest = (int(indices.min()), int(indices.max())) if len(indices) else (1, 0)
    base = int(lowest > 0) if zero_based == "auto" else int(not zero_based)
    if lowest < base:
        problem = "index 0, but indices count from one; give zero_based=True where they count from zero"
        raise error(problem, indices == 0)
    width = largest + 1 - base
    if n_features is None:
        n_features = width
    elif n_features < width:
        counting = f"where indices count from {'one' if base else 'zero'}"
        raise error(f"the index is beyond n_features={n_features} {counting}", indices >= n_features + base)

    index_type = np.int32 if max(n_features, len(indices)) <= _INT32_MAX else np.int64
    indices = indices.astype(index_type, copy=False)
    indices -= base
    X = csr_matrix((values, indices, indptr.astype(index_type)), shape=(len(rows["line"]), n_features))
    if rows["unsorted"].any():
        X.has_sorted_indices = False
        X.sort_indices()
        twice = np.concatenate([[False], X.indices[1:] == X.indices[:-1]])
        twice[indptr[:-1][rows["count"] > 0]] = False  # the first of a row has nothing before it
        if twice.any():
            raise error("an index occurs twice in one row", twice, f"{X.indices[np.argmax(twice)] + base}:")
    X.has_sorted_indices = X.has_canonical_format = True
    return X
