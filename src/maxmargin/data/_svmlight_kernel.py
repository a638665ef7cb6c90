"""The byte parser of svmlight text: one pass over a block of whole lines.

A decimal number whose digits fit 53 bits and whose power of ten is at most 22 either way is exact after one
multiplication or division (Clinger, "How to read floating point numbers accurately", PLDI 1990). One of up to 18 digits
is multiplied by its power of ten in integers of 62 bits, with a bound on the error (the idea of Lemire, "Number parsing
at a gigabyte per second", 2021); all but one in a hundred are so rounded beyond doubt. The caller reads the
rest, noted in ``slow``, with Python's ``float``.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from .._compiled import array, compiled, kernel

__all__ = ["OK", "BAD_LABEL", "BAD_TOKEN", "BAD_VALUE", "BAD_QID", "BAD_COST", "INDEX_TOO_LARGE", "TWICE"]
__all__ += ["HAS_QID", "HAS_COST", "UNSORTED", "LABEL", "COST", "parse_block", "power_tables"]

# what stopped the parser
OK, BAD_LABEL, BAD_TOKEN, BAD_VALUE, BAD_QID, BAD_COST, INDEX_TOO_LARGE, TWICE = range(8)
# what a row has
HAS_QID, HAS_COST, UNSORTED = 1, 2, 4
# whose number is slow: an entry (its position, not negative), or LABEL - 2 * row, or COST - 2 * row
LABEL, COST = -1, -2

_EXACT, _SLOW, _BAD = 0, 1, 2
_SMALL_POWER = 22  # 10.0**22 is the largest exact power
_LARGE_POWER = 280  # 18 digits times its power are still finite, and one digit divided by it is still normal
_LARGEST_INDEX = 999_999_999_999_999_999

_BLANKS = (9, 13, 32)  # tab, carriage return, space
_NEWLINE, _HASH, _COLON, _POINT, _PLUS, _MINUS = 10, 35, 58, 46, 43, 45


@compiled
def _digit(text: Any, at: int) -> Any:
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
def _integer(text: Any, at: int) -> tuple[Any, int]:
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


@functools.cache
def power_tables() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """10**k as exact floats for k = 0 ... 22; and the table ``scaled`` of :func:`_multiplied`, both read-only.

    ``scaled[k + 280] = (t, e)`` with ``2**61 <= t < 2**62`` and ``t * 2**e <= 10**k < (t + 1) * 2**e``.
    """
    small = np.array([float(10**k) for k in range(_SMALL_POWER + 1)])
    scaled = np.empty((2 * _LARGE_POWER + 1, 2), np.int64)
    for k in range(-_LARGE_POWER, _LARGE_POWER + 1):
        power = 10 ** abs(k)
        shift = power.bit_length() - 62 if k >= 0 else -61 - power.bit_length()
        top = (power << 62 >> shift + 62) if k >= 0 else (1 << -shift) // power
        scaled[k + _LARGE_POWER] = top, shift
    small.flags.writeable = scaled.flags.writeable = False
    return small, scaled


@compiled
def _multiplied(mantissa: int, exponent: int, scaled: Any) -> tuple[float, bool]:
    """``mantissa * 10**exponent`` to the nearest float, and whether that is certain; ``mantissa`` in [1, 10**18)."""
    top, shift = scaled[exponent + _LARGE_POWER]
    while mantissa < 1 << 61:
        mantissa <<= 1
        shift -= 1
    # The product of 62 bits by 62 bits, without its lower 62 bits: each of the sums stays below 2**63.
    half = (1 << 31) - 1
    a, b, c, d = mantissa >> 31, mantissa & half, top >> 31, top & half
    high = a * c + ((a * d + b * c + (b * d >> 31)) >> 31)
    # `top` is too small by less than 1, hence the product by less than 2**62: the true value is in [high, high + 2).
    drop = 8 if high < 1 << 61 else 9
    rest = high & ((1 << drop) - 1)
    middle = 1 << (drop - 1)
    rounded = (high >> drop) + (rest >= middle)
    return math.ldexp(float(rounded), int(shift + 62 + drop)), rest < middle - 1 or rest > middle


@compiled
def _number(text: Any, at: int, small: Any, scaled: Any) -> tuple[Any, int, int]:
    """A decimal number, the position after it, and whether it is exact, slow or bad."""
    end = len(text)
    negative = at < end and text[at] == _MINUS
    if negative or (at < end and text[at] == _PLUS):
        at += 1
    mantissa: Any = np.int64(0)
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
    if significant > 18:
        return 0.0, at, _SLOW
    certain = True
    if mantissa == 0:
        value = 0.0
    elif mantissa <= 9007199254740992 and -_SMALL_POWER <= exponent <= _SMALL_POWER:
        value = mantissa * small[exponent] if exponent >= 0 else mantissa / small[-exponent]
    elif -_LARGE_POWER <= exponent <= _LARGE_POWER:
        value, certain = _multiplied(mantissa, exponent, scaled)
    else:
        return 0.0, at, _SLOW
    return -value if negative else value, at, _EXACT if certain else _SLOW


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
        array(types.int64, 2, readonly=True),
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
    small: Any,
    scaled: Any,
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
        A place for every four bytes of the text, and one more.
    slow : int64 array (2 * lines + places for values, 3)
        Filled with (start, end, whose number) of the numbers that the caller has to read.
    small : float64 array, scaled : int64 array, both read-only
        The two of :func:`power_tables`.

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
                value, at, state = _number(text, start, small, scaled)
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
                    value, at, state = _number(text, begin, small, scaled)
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
                    value, at, state = _number(text, begin, small, scaled)
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
