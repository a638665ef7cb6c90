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
_MANTISSAS = 10**18
_EXACT_MANTISSAS = 2**53
_LARGEST_INDEX = 999_999_999_999_999_999

_NEWLINE, _HASH, _COLON, _POINT, _PLUS, _MINUS = 10, 35, 58, 46, 43, 45


# A block ends with a line end, and every loop below stops there: no position needs a check against the length.


@compiled
def _byte(text: Any, at: int) -> Any:
    """The byte at a position, which is made unsigned: Numba compiles negative indexing for signed ones."""
    return np.int64(text[np.uint64(at)])


@compiled
def _is_digit(byte: int) -> bool:
    return 48 <= byte <= 57


@compiled
def _is_blank(byte: int) -> bool:
    """Space, carriage return or tab."""
    return byte == 32 or byte == 13 or byte == 9


@compiled
def _ends(byte: int) -> bool:
    """Whether a number may end before this byte."""
    return _is_blank(byte) or byte == _NEWLINE or byte == _HASH


@compiled
def _line_end(text: Any, at: int) -> int:
    while _byte(text, at) != _NEWLINE:
        at += 1
    return at


@compiled
def _skip_blanks(text: Any, at: int) -> int:
    while _is_blank(_byte(text, at)):
        at += 1
    return at


@compiled
def _label_end(text: Any, at: int) -> int:
    """The end of a text label, or -1 if it holds a control character."""
    while True:
        byte = _byte(text, at)
        if _is_blank(byte) or byte == _NEWLINE:
            return at
        if byte < 32 or byte == 127:
            return -1
        at += 1


@compiled
def _digits(text: Any, at: int, value: Any) -> tuple[Any, int]:
    """``value`` with the digits that follow at its end, modulo 2**64, and the position after them."""
    byte = _byte(text, at)
    while _is_digit(byte):
        value = value * 10 + (byte - 48)
        at += 1
        byte = _byte(text, at)
    return value, at


@compiled
def _integer(text: Any, at: int, negative: bool) -> tuple[Any, int, bool]:
    """A whole number, its sign read already, the position after it, and whether it is one and fits 64 bits."""
    start = at
    value, at = _digits(text, at, np.int64(0))
    if at - start <= 18:
        return -value if negative else value, at, at > start
    value, last = np.int64(0), 8 if negative else 7
    for place in range(start, at):  # below zero there is room for one more
        digit = _byte(text, place) - 48
        if value < -922337203685477580 or (value == -922337203685477580 and digit > last):
            return value, at, False
        value = value * 10 - digit
    return value if negative else -value, at, True


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
def _rounded(mantissa: int, exponent: int, small: Any, scaled: Any) -> tuple[float, int]:
    """``mantissa * 10**exponent``, ``mantissa`` in [0, 10**18), and whether that is exact or slow."""
    if mantissa <= _EXACT_MANTISSAS and -_SMALL_POWER <= exponent <= _SMALL_POWER:
        return mantissa * small[exponent] if exponent >= 0 else mantissa / small[-exponent], _EXACT
    if mantissa == 0:
        return 0.0, _EXACT
    if -_LARGE_POWER <= exponent <= _LARGE_POWER:
        value, certain = _multiplied(mantissa, exponent, scaled)
        return value, _EXACT if certain else _SLOW
    return 0.0, _SLOW


@compiled
def _plain_number(text: Any, at: int) -> tuple[Any, Any, bool, int, bool]:
    """A number without exponent: mantissa, decimals, sign, the position after it, and whether that is all of it."""
    negative = _byte(text, at) == _MINUS
    if negative:
        at += 1
    first = at
    mantissa, at = _digits(text, at, np.int64(0))
    whole = at - first
    count = 0 if mantissa == 0 and whole <= 19 else whole  # twenty digits may be 2**64, which is 0 here
    decimals: Any = np.int64(0)
    if _byte(text, at) == _POINT:
        first = at + 1
        mantissa, at = _digits(text, first, mantissa)
        decimals = at - first
    # nineteen digits that are too many are negative or not below 10**18
    plain = whole + decimals > 0 and count + decimals <= 19 and 0 <= mantissa < _MANTISSAS
    return mantissa, decimals, negative, at, plain and _ends(_byte(text, at))


@compiled
def _number(text: Any, at: int, small: Any, scaled: Any) -> tuple[Any, int, int]:
    """A decimal number, the position after it, and whether it is exact, slow or bad."""
    mantissa, decimals, negative, stop, plain = _plain_number(text, at)
    if not plain:
        any_number: tuple[Any, int, int] = _any_number(text, at, small, scaled)
        return any_number
    value, state = _rounded(mantissa, -decimals, small, scaled)
    return -value if negative else value, stop, state


@compiled
def _any_number(text: Any, at: int, small: Any, scaled: Any) -> tuple[Any, int, int]:
    """What :func:`_number` says of numbers of every form."""
    negative = _byte(text, at) == _MINUS
    if negative or _byte(text, at) == _PLUS:
        at += 1
    mantissa: Any = np.int64(0)
    significant = exponent = seen = point = 0
    while True:
        byte = _byte(text, at)
        if _is_digit(byte):
            seen = 1
            significant += mantissa > 0 or byte > 48
            if significant <= 18:
                mantissa = mantissa * 10 + (byte - 48)
                exponent -= point
        elif byte == _POINT and not point:
            point = 1
        else:
            break
        at += 1
    state = _EXACT if seen else _BAD
    if byte == 101 or byte == 69:  # e, E
        at += 1
        down = _byte(text, at) == _MINUS
        if down or _byte(text, at) == _PLUS:
            at += 1
        if not _is_digit(_byte(text, at)):
            state = _BAD
        power: Any = np.int64(0)
        while _is_digit(_byte(text, at)):
            if power < 10_000:
                power = power * 10 + (_byte(text, at) - 48)
            at += 1
        exponent += -power if down else power
    if state == _BAD or not _ends(_byte(text, at)):
        return 0.0, at, _BAD
    if significant > 18:
        return 0.0, at, _SLOW
    value, state = _rounded(mantissa, exponent, small, scaled)
    return -value if negative else value, at, state


@compiled
def _starts_with(text: Any, at: int, word: Any) -> bool:
    for k in range(len(word)):
        if _byte(text, at + k) != word[k]:  # at the latest at the line end
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
    """Parse whole lines, the last of which has its line end too.

    Parameters
    ----------
    text : uint8 array, read-only
    line : int
        Number of the first line.
    text_labels : bool
        Note where labels stand (``label_at``) and do not read them as numbers (``y``).
    y, cost : float64 arrays; label_at : int64 array (rows, 2); qid, lines : int64 arrays; marks : uint8 array
        Filled for each row. A row takes two bytes of the text at least.
    indptr : int64 array
        One place more than for rows; filled from 0 on.
    indices : int64 array; values : float64 array
        Filled for each entry. An entry takes four bytes with the blank before it.
    slow : int64 array (n, 3)
        Filled with (start, end, whose number) of the numbers that the caller has to read; no more than one for every
        two bytes of the text.
    small : float64 array, scaled : int64 array, both read-only
        The two of :func:`power_tables`.

    Returns
    -------
    (status, position, rows, entries, slow numbers, next line)
        ``position`` is where the token begins that ``status`` complains of, in line ``next line``.
    """
    end = len(text)
    at = row = entry = n_slow = 0
    indptr[0] = 0
    while True:
        at = _skip_blanks(text, at) if at < end else end
        if at >= end:
            return OK, at, row, entry, n_slow, line
        byte = _byte(text, at)
        if byte == _HASH:
            at = _line_end(text, at)
        elif byte != _NEWLINE:
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
            qid[row], cost[row] = 0, 1.0
            while True:
                byte = _byte(text, at)
                if _is_blank(byte):
                    at += 1
                    continue
                start = at
                if _is_digit(byte):
                    index, at, fits = _integer(text, at, False)
                    if _byte(text, at) != _COLON:
                        return BAD_TOKEN, start, row, entry, n_slow, line
                    if not fits or index > _LARGEST_INDEX:
                        return INDEX_TOO_LARGE, start, row, entry, n_slow, line
                    begin = at + 1
                    mantissa, decimals, negative, at, plain = _plain_number(text, begin)
                    if plain and mantissa <= _EXACT_MANTISSAS:  # nearly all: without a call
                        value = mantissa / small[np.uint64(decimals)]
                        if negative:
                            value = -value
                    else:
                        value, at, state = _number(text, begin, small, scaled)
                        if state == _BAD:
                            return BAD_VALUE, start, row, entry, n_slow, line
                        if state == _SLOW:
                            n_slow = _note(slow, n_slow, begin, at, entry)
                    if index <= last:
                        mark |= UNSORTED
                    last = index
                    indices[entry], values[entry] = index, value
                    entry += 1
                elif byte == _NEWLINE or byte == _HASH:
                    break
                elif _starts_with(text, at, _QID):
                    negative = _byte(text, at + 4) == _MINUS
                    number, at, fits = _integer(text, at + 4 + negative, negative)
                    if not fits or not _ends(_byte(text, at)):
                        return BAD_QID, start, row, entry, n_slow, line
                    if mark & HAS_QID:
                        return TWICE, start, row, entry, n_slow, line
                    mark |= HAS_QID
                    qid[row] = number
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
        at += 1
        line += 1
