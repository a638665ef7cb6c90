"""Rows of one block of svmlight text: the compiled parser called, what it leaves done, what is wrong named."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .text import LONE_RETURN, format_number, parse_number

__all__ = ["FEATURE", "INT32_MAX", "LONGEST_LABEL", "Block", "BlockParser", "Problem", "odd_label"]

INT32_MAX = np.iinfo(np.int32).max

FEATURE = re.compile(r"\d+:.*", re.ASCII | re.DOTALL)
"""What no text label looks like."""

LONGEST_LABEL = 1000
"""Bytes of a text label: in an array of labels each takes four times as much as the longest."""


@dataclass(frozen=True)
class Problem:
    """What is wrong in a block; its lines count from 1."""

    text: str
    line: int
    token: str | None = None


@dataclass(frozen=True, eq=False)
class Block:
    """Rows of a block of text.

    Attributes
    ----------
    n_lines : int
        Lines that the block begins, rows or not.
    y : float64 array of shape (n_rows,), or the numbers of the labels as int32
    labels : list of str
        Distinct labels in the order of their first rows, where labels are text.
    line : int64 array of shape (n_rows,)
    qid : int64 array of shape (n_rows,) or None
    no_qid : int or None
        Line of the first row without qid.
    cost : float64 array of shape (n_rows,) or None
    ends : int64 array of shape (n_rows,)
        Entries up to the end of each row.
    indices : int32 or int64 array; values : float64 or float32 array
        The entries; indices count from zero unless two bases are in question, and are sorted in each row.
    zero : bool
        Whether the index 0 occurs in the text.
    width : int
        The largest index, as in ``indices``, and one.
    beyond : dict of int to Problem
        For each base in question: the first index that is too large under it.
    """

    n_lines: int
    y: NDArray[Any]
    labels: list[str]
    line: NDArray[np.int64]
    qid: NDArray[np.int64] | None
    no_qid: int | None
    cost: NDArray[np.float64] | None
    ends: NDArray[np.int64]
    indices: NDArray[Any]
    values: NDArray[Any]
    zero: bool
    width: int
    beyond: dict[int, Problem]


class _Buffers:
    """Room for the rows of a text, filled by the compiled parser."""

    def __init__(self, size: int) -> None:
        self.size = size
        n_rows, n_entries = size // 2 + 1, size // 4 + 1
        self.y, self.cost = np.empty(n_rows), np.empty(n_rows)
        self.label_at, self.slow = np.empty((n_rows, 2), np.int64), np.empty((n_rows, 3), np.int64)
        self.qid, self.line, self.indptr = (np.empty(n_rows + k, np.int64) for k in (0, 0, 1))
        self.marks = np.empty(n_rows, np.uint8)
        self.indices, self.values = np.empty(n_entries, np.int64), np.empty(n_entries)


@dataclass(eq=False)
class BlockParser:
    """Parses blocks, from several threads if need be.

    Parameters
    ----------
    text_labels : bool
        Take the first word of a row as it stands.
    dtype : float32 or float64
    bases : tuple of int
        What indices may count from.
    n_features : int or None
    """

    text_labels: bool
    dtype: np.dtype[Any]
    bases: tuple[int, ...]
    n_features: int | None
    _spare: list[_Buffers] = field(default_factory=list)

    def __call__(self, text: bytes) -> Block | Problem:
        """The rows of whole lines, or the first thing that is wrong with them."""
        if text and not text.endswith(b"\n"):
            text += b"\n"
        buffers = self._spare.pop() if self._spare else None
        if buffers is None or buffers.size < len(text):
            buffers = _Buffers(len(text) + len(text) // 4)
        try:
            return self._parse(text, buffers)
        finally:
            self._spare.append(buffers)

    def _parse(self, text: bytes, to: _Buffers) -> Block | Problem:
        from . import _svmlight_kernel as parser

        with np.errstate(over="ignore"):  # where it is not compiled: numbers of too many digits, read anew below
            status, at, n_rows, n_entries, n_slow, line = parser.parse_block(
                *(np.frombuffer(text, np.uint8), 1, self.text_labels, to.y, to.label_at, to.qid, to.cost, to.marks),
                *(to.line, to.indptr, to.indices, to.values, to.slow, *parser.power_tables()),
            )
        if (lone := _lone_return(text)) and (status == parser.OK or lone.line <= line):
            return lone
        if status != parser.OK:
            return _malformed(text, at, status, line, self.text_labels)
        for start, stop, whose in to.slow[:n_slow].tolist():
            token = text[start:stop].decode()
            try:
                number = parse_number(token)
            except ValueError as error:
                return Problem(str(error), 1 + text.count(b"\n", 0, start), token)
            if whose >= 0:
                to.values[whose] = number
            else:
                row, kind = divmod(-1 - whose, 2)
                (to.cost if kind == -1 - parser.COST else to.y)[row] = number

        marks, lines = to.marks[:n_rows], to.line[:n_rows].copy()
        has_qid, cost = marks & parser.HAS_QID != 0, to.cost[:n_rows]
        if (cost < 0).any():
            row = int(np.argmax(cost < 0))
            token = f"cost:{format_number(float(cost[row]))}"
            return Problem("a cost must not be negative", int(lines[row]), token)
        y: NDArray[Any] = to.y[:n_rows].copy()
        labels: list[str] = []
        if self.text_labels:
            coded = _decode(text, to.label_at[:n_rows], lines)
            if isinstance(coded, Problem):
                return coded
            y, labels = coded

        indptr, indices, values = to.indptr[: n_rows + 1], to.indices[:n_entries], to.values[:n_entries]

        def problem(what: str, wrong: NDArray[np.bool_], token: str | None = None) -> Problem:
            first = int(np.argmax(wrong))
            row = int(np.searchsorted(indptr, first, side="right")) - 1
            return Problem(what, int(lines[row]), token or f"{indices[first]}:{format_number(float(values[first]))}")

        with np.errstate(over="ignore"):
            converted = values.astype(self.dtype)
        if self.dtype != np.float64 and not np.isfinite(converted).all():
            return problem(f"the value is too large for {self.dtype}", ~np.isfinite(converted))
        lowest, largest = (int(indices.min()), int(indices.max())) if n_entries else (1, -1)
        if self.bases == (1,) and lowest == 0:
            what = "index 0, but indices count from one; give zero_based=True where they count from zero"
            return problem(what, indices == 0)
        beyond = {}
        for base in self.bases:
            if self.n_features is not None and largest >= self.n_features + base:
                counting = f"where indices count from {'one' if base else 'zero'}"
                what = f"the index is beyond n_features={self.n_features} {counting}"
                beyond[base] = problem(what, indices >= self.n_features + base)
        if len(self.bases) == 1 and beyond:
            return beyond[self.bases[0]]

        if (marks & parser.UNSORTED).any():
            order = np.lexsort((indices, np.repeat(np.arange(n_rows), np.diff(indptr))))
            indices[:], converted = indices[order], converted[order]
            twice = np.zeros(n_entries, np.bool_)
            twice[1:] = indices[1:] == indices[:-1]
            twice[indptr[:-1][np.diff(indptr) > 0]] = False  # the first of a row has nothing before it
            if twice.any():
                k = int(np.argmax(twice))
                token = f"{indices[k]}:{format_number(float(values[order[k]]))}"  # the indices are sorted already
                return problem("an index occurs twice in one row", twice, token)
        shift = self.bases[0] if len(self.bases) == 1 else 0
        if shift:
            indices -= shift
        return Block(
            n_lines=line - 1,
            y=y,
            labels=labels,
            line=lines,
            qid=to.qid[:n_rows].copy() if has_qid.any() else None,
            no_qid=None if has_qid.all() else int(lines[np.argmin(has_qid)]),
            cost=cost.copy() if (marks & parser.HAS_COST).any() else None,
            ends=indptr[1:].copy(),
            indices=indices.astype(np.int32 if largest <= INT32_MAX else np.int64),
            values=converted,
            zero=lowest == 0,
            width=largest - shift + 1,
            beyond=beyond,
        )


def _lone_return(text: bytes) -> Problem | None:
    """The first carriage return that is not at the end of a line, which the parser takes for a blank."""
    if b"\r" not in text or text.count(b"\r") == text.count(b"\r\n"):
        return None
    found = re.search(rb"\r[^\r\n]", text)
    if found is None:
        return None
    line = text[text.rfind(b"\n", 0, found.start()) + 1 : text.index(b"\n", found.start())]
    return Problem(LONE_RETURN, 1 + text.count(b"\n", 0, found.start()), line.rstrip(b"\r").decode("utf-8", "replace"))


def _malformed(text: bytes, at: int, status: int, line: int, text_labels: bool) -> Problem:
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
    return Problem(problem, line, token)


def odd_label(label: str) -> str:
    """What of a label can hardly be meant, as it is not seen: a blank that parts no words here; nothing for others."""
    if label.startswith("\ufeff"):
        return "begins with a byte-order mark"
    if label.strip() != label or any(map(FEATURE.fullmatch, label.split()[1:])):
        blank = next(char for char in label if char.isspace())
        return f"ends at a blank that is neither a space nor a TAB (U+{ord(blank):04X})"
    return ""


def _decode(
    text: bytes, places: NDArray[np.int64], lines: NDArray[np.int64]
) -> tuple[NDArray[np.int32], list[str]] | Problem:
    """The labels at (start, stop) places: the number of each row's, and the distinct ones."""
    known: dict[bytes, int] = {}
    raw = [text[start:stop] for start, stop in places.tolist()]
    codes = np.array([known.setdefault(label, len(known)) for label in raw], np.int32)
    labels = []
    for number, label in enumerate(known):
        if len(label) > LONGEST_LABEL:
            what = f"a label of {len(label)} bytes, where {LONGEST_LABEL} are the most"
            return Problem(what, int(lines[np.argmax(codes == number)]), label.decode("utf-8", "replace"))
        try:
            labels.append(label.decode("utf-8"))
        except UnicodeDecodeError:
            what, token = "the label is not UTF-8 text", label.decode("utf-8", "replace")
            return Problem(what, int(lines[np.argmax(codes == number)]), token)
        if what := odd_label(labels[-1]):
            return Problem(f"the label {what}", int(lines[np.argmax(codes == number)]), labels[-1])
        if FEATURE.fullmatch(labels[-1]):
            what = "the row begins with a feature, its label is missing"
            return Problem(what, int(lines[np.argmax(codes == number)]), labels[-1])
    return codes, labels
