"""The byte parser of svmlight text: one pass over a block of whole lines.

Decimal numbers whose digits fit 53 bits and whose power of ten is at most 22 either way are exact after one
multiplication or division (Clinger, "How to read floating point numbers accurately", PLDI 1990). The caller
reads the others, noted in ``slow``, with Python's ``float``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from .._compiled import array, compiled, kernel

__all__ = ["OK", "BAD_LABEL", "BAD_TOKEN", "BAD_VALUE", "BAD_QID", "BAD_COST", "INDEX_TOO_LARGE", "TWICE"]
__all__ += ["HAS_QID", "HAS_COST", "UNSORTED", "LABEL", "COST", "POWERS", "parse_block"]

# what stopped the parser
OK, BAD_LABEL, BAD_TOKEN, BAD_VALUE, BAD_QID, BAD_COST, INDEX_TOO_LARGE, TWICE = range(8)
# what a row has
HAS_QID, HAS_COST, UNSORTED = 1, 2, 4
# whose number is slow: an entry (its position, not negative), or LABEL - 2 * row, or COST - 2 * row
LABEL, COST = -1, -2

POWERS = 10.0 ** np.arange(23)  # all exact
_EXACT, _SLOW, _BAD = 0, 1, 2
_LARGEST_INDEX = 999_999_999_999_999_999

_BLANKS = (9, 13, 32)  # tab, carriage return, space
_NEWLINE, _HASH, _COLON, _POINT, _PLUS, _MINUS = 10, 35, 58, 46, 43, 45


@compiled
def _digit(text: Any, at: int) -> int:
    """The digit at a position, or -1 where there is none."""
    if at < len(text) and 48 <= text[at] <= 57:
        return np.int64(text[at]) - 48
    return -1


@compiled
def _ends(text: Any, at: int) -> bool:
    """Whether a number may end here."""
    return at >= len(text) or text[at] in _BLANKS or text[at] == _NEWLINE or text[at] == _HASH


@compiled
def _line_end(text: Any, at: int) -> int:
    while at < len(text) and text[at] != _NEWLINE:
        at += 1
    return at


@compiled
def _skip_blanks(text: Any, at: int) -> int:
    while at < len(text) and text[at] in _BLANKS:
        at += 1
    return at


@compiled
def _label_end(text: Any, at: int) -> int:
    """The end of a text label, or -1 if it holds a control character."""
    while at < len(text) and text[at] not in _BLANKS and text[at] != _NEWLINE:
        if text[at] < 32 or text[at] == 127:
            return -1
        at += 1
    return at


@compiled
def _integer(text: Any, at: int) -> tuple[int, int]:
    """A number without sign and the position after it; -1 if there is none or it does not fit 64 bits."""
    value = np.int64(_digit(text, at))
    while value >= 0:
        at += 1
        digit = _digit(text, at)
        if digit < 0:
            return value, at
        fits = value < 922337203685477580 or (value == 922337203685477580 and digit <= 7)
        value = value * 10 + digit if fits else np.int64(-1)
    while _digit(text, at) >= 0:
        at += 1
    return value, at


@compiled
def _number(text: Any, at: int, powers: Any) -> tuple[float, int, int]:
    """A decimal number, the position after it, and whether it is exact, slow or bad."""
    end = len(text)
    negative = at < end and text[at] == _MINUS
    if negative or (at < end and text[at] == _PLUS):
        at += 1
    mantissa = np.int64(0)
    significant = exponent = seen = point = 0
    while at < end:
        digit = _digit(text, at)
        if digit >= 0:
            seen = 1
            significant += mantissa > 0 or digit > 0
            if significant <= 18:
                mantissa = mantissa * 10 + digit
                exponent -= point
        elif text[at] == _POINT and not point:
            point = 1
        else:
            break
        at += 1
    state = _EXACT if seen else _BAD
    if at < end and (text[at] == 101 or text[at] == 69):  # e, E
        at += 1
        down = at < end and text[at] == _MINUS
        if down or (at < end and text[at] == _PLUS):
            at += 1
        if _digit(text, at) < 0:
            state = _BAD
        power = 0
        while at < end and _digit(text, at) >= 0:
            if power < 10_000:
                power = power * 10 + _digit(text, at)
            at += 1
        exponent += -power if down else power
    if state == _BAD or not _ends(text, at):
        return 0.0, at, _BAD
    if significant > 18 or mantissa > 9007199254740992 or exponent > 22 or exponent < -22:
        return 0.0, at, _SLOW
    value = float(mantissa)
    if exponent >= 0:
        value *= powers[exponent]
    else:
        value /= powers[-exponent]
    return -value if negative else value, at, _EXACT


@compiled
def _starts_with(text: Any, at: int, word: Any) -> bool:
    if at + len(word) > len(text):
        return False
    for k in range(len(word)):
        if text[at + k] != word[k]:
            return False
    return True


@compiled
def _note(slow: Any, count: int, start: int, stop: int, whose: int) -> int:
    slow[count, 0], slow[count, 1], slow[count, 2] = start, stop, whose
    return count + 1


_QID, _COST = (113, 105, 100, 58), (99, 111, 115, 116, 58)  # qid: and cost:


def _signature() -> Any:
    ints, floats = array(types.int64), array(types.float64)
    return types.UniTuple(types.int64, 6)(
        array(types.uint8, readonly=True),
        types.int64,
        types.boolean,
        *(floats, array(types.int64, 2), ints, floats, array(types.uint8), ints),
        *(ints, ints, floats),
        array(types.int64, 2),
        array(types.float64, readonly=True),
    )


@kernel(_signature)
def parse_block(
    text: Any,
    line: int,
    text_labels: bool,
    y: Any,
    label_at: Any,
    qid: Any,
    cost: Any,
    marks: Any,
    lines: Any,
    indptr: Any,
    indices: Any,
    values: Any,
    slow: Any,
    powers: Any,
) -> tuple[int, int, int, int, int, int]:
    """Parse whole lines.

    Parameters
    ----------
    text : uint8 array, read-only
    line : int
        Number of the first line.
    text_labels : bool
        Note where labels stand (``label_at``) and do not read them as numbers (``y``).
    y, cost : float64 arrays; label_at : int64 array (rows, 2); qid, lines : int64 arrays; marks : uint8 array
        One place for every line of the text.
    indptr : int64 array
        One place more; the first holds 0.
    indices : int64 array; values : float64 array
        A place for every colon of the text.
    slow : int64 array (rows * 2 + colons, 3)
        Filled with (start, end, whose number) of the numbers that the caller has to read.
    powers : float64 array, read-only
        ``POWERS``.

    Returns
    -------
    (status, position, rows, entries, slow numbers, next line)
        ``position`` is where the token begins that ``status`` complains of, in line ``next line``.
    """
    end = len(text)
    at = row = entry = n_slow = 0
    while True:
        at = _skip_blanks(text, at)
        if at >= end:
            return OK, at, row, entry, n_slow, line
        if text[at] == _HASH:
            at = _line_end(text, at)
        elif text[at] != _NEWLINE:
            lines[row] = line
            start = at
            if text_labels:
                at = _label_end(text, start)
                if at < 0:
                    return BAD_LABEL, start, row, entry, n_slow, line
                label_at[row, 0], label_at[row, 1] = start, at
            else:
                value, at, state = _number(text, start, powers)
                if state == _BAD:
                    return BAD_LABEL, start, row, entry, n_slow, line
                y[row] = value
                if state == _SLOW:
                    n_slow = _note(slow, n_slow, start, at, LABEL - 2 * row)
            mark = 0
            last = np.int64(-1)
            cost[row] = 1.0
            while True:
                at = _skip_blanks(text, at)
                if at >= end or text[at] == _NEWLINE or text[at] == _HASH:
                    break
                start = at
                if _digit(text, at) >= 0:
                    index, at = _integer(text, at)
                    if at >= end or text[at] != _COLON:
                        return BAD_TOKEN, start, row, entry, n_slow, line
                    if index < 0 or index > _LARGEST_INDEX:
                        return INDEX_TOO_LARGE, start, row, entry, n_slow, line
                    begin = at + 1
                    value, at, state = _number(text, begin, powers)
                    if state == _BAD:
                        return BAD_VALUE, start, row, entry, n_slow, line
                    if index <= last:
                        mark |= UNSORTED
                    last = index
                    indices[entry], values[entry] = index, value
                    if state == _SLOW:
                        n_slow = _note(slow, n_slow, begin, at, entry)
                    entry += 1
                elif _starts_with(text, at, _QID):
                    negative = at + 4 < end and text[at + 4] == _MINUS
                    number, at = _integer(text, at + 4 + negative)
                    if number < 0 or not _ends(text, at):
                        return BAD_QID, start, row, entry, n_slow, line
                    if mark & HAS_QID:
                        return TWICE, start, row, entry, n_slow, line
                    mark |= HAS_QID
                    qid[row] = -number if negative else number
                elif _starts_with(text, at, _COST):
                    begin = at + 5
                    value, at, state = _number(text, begin, powers)
                    if state == _BAD:
                        return BAD_COST, start, row, entry, n_slow, line
                    if mark & HAS_COST:
                        return TWICE, start, row, entry, n_slow, line
                    mark |= HAS_COST
                    cost[row] = value
                    if state == _SLOW:
                        n_slow = _note(slow, n_slow, begin, at, COST - 2 * row)
                else:
                    return BAD_TOKEN, start, row, entry, n_slow, line
            marks[row] = mark
            row += 1
            indptr[row] = entry
            at = _line_end(text, at)
        if at < end:  # at a line end
            at += 1
            line += 1
