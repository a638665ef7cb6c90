"""Column files, as the CoNLL shared tasks use them: a token a line, an empty line after each sequence."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence

from ..errors import DataError
from .text import Lines, Source, Target, writable_line, writing

__all__ = ["Row", "read_columns", "row_lines", "split_labels", "write_columns"]

Row = tuple[str, ...]

_CELL = re.compile(r"[^ \t\r]+")  # not str.split: a no-break space belongs to its word
_DOCUMENT = "-DOCSTART-"


def read_columns(source: Source, *, separator: str | None = None) -> list[list[Row]]:
    """Read a column file.

    Lines that begin with ``-DOCSTART-`` are skipped, as are empty lines beyond the first.

    Parameters
    ----------
    source : path, "-" or open file
    separator : str, optional
        What parts the cells of a row; by default any run of spaces and tabs.

    Returns
    -------
    list of sequences, each a list of rows, each a tuple of str
        All rows have the same number of cells.

    Raises
    ------
    FileFormatError
        If a row has more or fewer cells than the first one, or the text is not UTF-8.
    """
    _check_separator(separator)
    lines = Lines(source)
    sequences: list[list[Row]] = []
    rows: list[Row] = []
    width = first = 0
    for line in lines:
        cells = _cells(line, separator)
        if not cells or cells[0].startswith(_DOCUMENT):
            if rows:
                sequences.append(rows)
                rows = []
            continue
        if not width:
            width, first = len(cells), lines.number
        if len(cells) != width:
            hint = "" if separator else " (separator='\\t' lets cells hold spaces)"
            raise lines.error(f"{len(cells)} columns where line {first} has {width}{hint}", line)
        rows.append(tuple(map(sys.intern, cells)))  # words and labels recur: one object each
    if rows:
        sequences.append(rows)
    return sequences


def row_lines(source: Source, *, separator: str | None = None) -> list[list[int]]:
    """The line (from 1) of every row that :func:`read_columns` gives, for messages."""
    lines = Lines(source)
    numbers: list[list[int]] = [[]]
    for line in lines:
        cells = _cells(line, separator)
        if cells and not cells[0].startswith(_DOCUMENT):
            numbers[-1].append(lines.number)
        elif numbers[-1]:
            numbers.append([])
    return [sequence for sequence in numbers if sequence]


def split_labels(sequences: Iterable[Sequence[Row]]) -> tuple[list[list[Row]], list[list[str]]]:
    """Part the last column, the labels, from the others."""
    rows, labels = [], []
    for sequence in sequences:
        rows.append([row[:-1] for row in sequence])
        labels.append([row[-1] for row in sequence])
    return rows, labels


def write_columns(
    target: Target, sequences: Iterable[Iterable[Sequence[str]]], *, separator: str | None = None
) -> None:
    """Write a column file; :func:`read_columns` with the same separator gives the same back.

    Parameters
    ----------
    target : path, "-" or open file
    sequences : sequences of rows of str
    separator : str, optional
        What parts the cells; by default a space, and cells cannot hold blanks.

    Raises
    ------
    DataError
        If a sequence is empty, rows differ in their number of cells, or a cell cannot be told from its surroundings.
    """
    _check_separator(separator)
    width = 0
    with writing(target) as stream:
        for number, sequence in enumerate(sequences):
            row: Sequence[str] = ()
            for place, row in enumerate(sequence):
                line = (separator or " ").join(row)
                where = f"row {place} of sequence {number}"
                width = width or len(row)
                if len(row) != width:
                    raise DataError(f"{where} has {len(row)} columns where the first row has {width}")
                same = bool(row) and _cells(line, separator) == list(row) and not row[0].startswith(_DOCUMENT)
                if not same or not writable_line(line, first=number == place == 0):
                    raise DataError(f"{where} would not be read back as it is: {tuple(row)!r}")
                stream.write(line + "\n")
            if not row:
                raise DataError(f"sequence {number} is empty, which a column file cannot express")
            stream.write("\n")


def _cells(line: str, separator: str | None) -> list[str]:
    """The cells of a line, none if it is blank."""
    if separator is None or not line.strip(" \t\r"):
        return _CELL.findall(line)
    return line.split(separator)


def _check_separator(separator: str | None) -> None:
    if separator is not None and (separator == "" or set(separator) & set("\r\n")):
        raise ValueError(f"separator must be text without a line end, not {separator!r}")
