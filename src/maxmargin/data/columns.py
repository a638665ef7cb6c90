"""Column files, as the CoNLL shared tasks use them: a token a line, an empty line after each sequence.

CoNLL-U is told from its first sentence: ten cells parted by tabs, of which the first numbers the words. Its comments,
its ranges of words (``3-4``) and its empty nodes (``8.1``) are no tokens, see :mod:`.conllu`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from ..errors import DataError
from .conllu import Beginning, Words
from .text import Lines, Source, Target, label_text, writable_line, writing

__all__ = ["Row", "read_columns", "row_lines", "split_labels", "write_columns"]

Row = tuple[str, ...]

_CELL = re.compile(r"[^ \t\r]+")  # not str.split: a no-break space belongs to its word
_DOCUMENT = "-DOCSTART-"


def read_columns(source: Source, *, separator: str | None = None) -> list[list[Row]]:
    """Read a column file.

    Lines that begin with ``-DOCSTART-`` are skipped, as are empty lines beyond the first. Of a CoNLL-U file (ten cells
    parted by tabs, of which the first numbers the words of a sentence) the words are given, with all ten cells, which
    may hold spaces; comments, ranges of words (``3-4``) and empty nodes (``8.1``) are left out.

    Parameters
    ----------
    source : path, "-" or open file
    separator : str, optional
        What parts the cells of a row; by default any run of spaces and tabs, and tabs in CoNLL-U.

    Returns
    -------
    list of sequences, each a list of rows, each a tuple of str
        All rows have the same number of cells.

    Raises
    ------
    FileFormatError
        If a row has more or fewer cells than the first one, words of CoNLL-U are not numbered 1, 2, 3, ..., or the text
        is not UTF-8.
    """
    sequences: list[list[Row]] = []
    rows: list[Row] = []
    for _, cells in _rows(source, separator):
        if cells:
            rows.append(tuple(map(sys.intern, cells)))  # words and labels recur: one object each
        elif rows:
            sequences.append(rows)
            rows = []
    return sequences


def row_lines(source: Source, *, separator: str | None = None) -> list[list[int]]:
    """The line (from 1) of every row that :func:`read_columns` gives, for messages."""
    numbers: list[list[int]] = [[]]
    for number, cells in _rows(source, separator):
        if cells:
            numbers[-1].append(number)
        elif numbers[-1]:
            numbers.append([])
    return [sequence for sequence in numbers if sequence]


def _rows(source: Source, separator: str | None) -> Iterator[tuple[int, list[str]]]:
    """The rows of a file, each with its line; no cells where a sequence ends, once or several times."""
    _check_separator(separator)
    lines = Lines(source)
    read, first, conllu = iter(lines), [], None
    if separator in (None, "\t"):
        beginning = Beginning()
        for line in read:
            first.append((lines.number, line))
            if (conllu := beginning.take(line)) is not None:
                break
        else:
            conllu = beginning.end()
    numbered = chain(first, ((lines.number, line) for line in read))
    yield from _words(numbered, lines) if conllu else _any_rows(numbered, lines, separator)
    yield 0, []


def _any_rows(
    numbered: Iterable[tuple[int, str]], lines: Lines, separator: str | None
) -> Iterator[tuple[int, list[str]]]:
    width = first = 0
    for number, line in numbered:
        cells = _cells(line, separator)
        if not cells or cells[0].startswith(_DOCUMENT):
            yield number, []
            continue
        if not width:
            width, first = len(cells), number
        if len(cells) != width:
            hint = "" if separator else " (separator='\\t' lets cells hold spaces)"
            raise lines.error(f"{len(cells)} columns where line {first} has {width}{hint}", line, line=number)
        yield number, cells


def _words(numbered: Iterable[tuple[int, str]], lines: Lines) -> Iterator[tuple[int, list[str]]]:
    """The same of a CoNLL-U file."""
    words, inside = Words(), False
    for number, line in chain(numbered, [(0, "")]):
        if line.startswith("#"):
            continue
        try:
            if line.strip(" \t\r"):
                inside, cells = True, line.split("\t")
                if words.take(cells):
                    yield number, cells
            elif inside:
                words.end()
                words, inside = Words(), False
                yield number, []
        except ValueError as error:
            raise lines.error(str(error), line or None, line=number) from None


def split_labels(sequences: Iterable[Sequence[Row]]) -> tuple[list[list[Row]], list[list[str]]]:
    """Part the last column, the labels, from the others."""
    rows, labels = [], []
    for sequence in sequences:
        rows.append([row[:-1] for row in sequence])
        labels.append([row[-1] for row in sequence])
    return rows, labels


def write_columns(
    target: Target, sequences: Iterable[Iterable[Sequence[str | int]]], *, separator: str | None = None
) -> None:
    """Write a column file; :func:`read_columns` with the same separator gives the same back.

    Words of CoNLL-U, all ten cells of each, are such a file again with ``separator="\\t"``.

    Parameters
    ----------
    target : path, "-" or open file
    sequences : sequences of rows of str or int
        Whole numbers are read back as text.
    separator : str, optional
        What parts the cells; by default a space, and cells cannot hold blanks.

    Raises
    ------
    DataError
        If a sequence is empty, rows differ in their number of cells, or a cell is neither text nor a whole number, or
        cannot be told from its surroundings.
    """
    _check_separator(separator)
    width, counts = 0, _Counts() if separator == "\t" else None
    with writing(target) as stream:
        for number, sequence in enumerate(sequences):
            row: list[str] = []
            for place, cells in enumerate(sequence):
                where = f"row {place} of sequence {number}"
                row = [label_text(cell, where, "cell") for cell in cells]
                line = (separator or " ").join(row)
                width = width or len(row)
                if len(row) != width:
                    raise DataError(f"{where} has {len(row)} columns where the first row has {width}")
                same = bool(row) and _cells(line, separator) == row and not row[0].startswith(_DOCUMENT)
                same = (counts is None or counts.keeps(line)) and same
                if not same or not writable_line(line, first=number == place == 0):
                    raise DataError(f"{where} would not be read back as it is: {tuple(row)!r}")
                stream.write(line + "\n")
            if not row:
                raise DataError(f"sequence {number} is empty, which a column file cannot express")
            if counts is not None and not counts.keeps(""):
                raise DataError(
                    f"sequence {number} would not be read back as it is: it has lines of CoNLL-U that are no words"
                )
            stream.write("\n")


class _Counts:
    """Whether a reader that takes what is written for CoNLL-U leaves out none of its lines."""

    def __init__(self) -> None:
        self._beginning, self._words = Beginning(), Words()
        self._conllu: bool | None = None
        self._all_words = True

    def keeps(self, line: str) -> bool:
        """Whether the next line can stand; what was unclear before may be told at the end of a sequence."""
        if self._conllu is None:
            self._conllu = self._beginning.take(line)
        if self._conllu is False:
            return True
        try:
            if line:
                self._all_words &= not line.startswith("#") and self._words.take(line.split("\t"))
            else:
                self._words.end()
                self._words = Words()
        except ValueError:
            self._all_words = False
        return self._all_words or self._conllu is None


def _cells(line: str, separator: str | None) -> list[str]:
    """The cells of a line, none if it is blank."""
    if separator is None or not line.strip(" \t\r"):
        return _CELL.findall(line)
    return line.split(separator)


def _check_separator(separator: str | None) -> None:
    if separator is not None and (separator == "" or set(separator) & set("\r\n")):
        raise ValueError(f"separator must be text without a line end, not {separator!r}")
