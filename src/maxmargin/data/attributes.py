r"""CRFsuite's attribute format: ``label<TAB>attribute[:weight]<TAB>...``, a token a line.

An empty line ends a sequence. ``\:`` and ``\\`` stand for a colon and a backslash in a name. What follows the last
other colon is the attribute's weight; without one it is 1. ``@weight:<number>`` at the beginning of a line gives
the weight of its sequence. Spaces belong to names, and there are no comments.
"""

from __future__ import annotations

import itertools
import math
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DataError, FileFormatError
from .text import Lines, Source, Target, format_number, label_text, parse_number, writable_line, writing

__all__ = ["AttributeData", "Attributes", "read_attributes", "token_lines", "write_attributes"]

Attributes: TypeAlias = list[str] | dict[str, float]
"""The attributes of one token: names, or weights by name."""

_ESCAPED = re.compile(r"\\([:\\])")
_COLON = re.compile(r"\\[:\\]|:")
_TO_ESCAPE = re.compile(r"[:\\]")
_WEIGHT = "@weight:"
_BLANK = " \t\r"


@dataclass(frozen=True, eq=False)
class AttributeData:
    """Sequences of tokens with named attributes.

    Attributes
    ----------
    X : list of sequences, each a list of tokens
        A token is a list of attribute names if every weight in the file is 1, else a dict of weights by name.
    y : list of lists of str
        The labels of each sequence.
    weights : float64 array of shape (n_sequences,) or None
        Weights of the sequences, 1 where none is given, if any is given.
    """

    X: list[list[Attributes]]
    y: list[list[str]]
    weights: NDArray[np.float64] | None


def read_attributes(source: Source) -> AttributeData:
    """Read a file in CRFsuite's attribute format.

    The last sequence needs no empty line after it, and several empty lines are as good as one.
    Weights of an attribute that a token has several times add up (a list holds it as often).

    Parameters
    ----------
    source : path, "-" or open file

    Returns
    -------
    AttributeData

    Raises
    ------
    FileFormatError
        If a label or a name is missing, a weight is not a number, or the text is not UTF-8.
    """
    lines = Lines(source)
    known: dict[str, tuple[str, float]] = {}  # fields recur: each is parsed once, and its name is one object
    sequences: list[list[list[tuple[str, float]]]] = []
    y: list[list[str]] = []
    weights: list[float | None] = []
    tokens: list[list[tuple[str, float]]] = []
    labels: list[str] = []
    weight: float | None = None
    for line in itertools.chain(lines, [""]):
        fields = line.split("\t")
        if fields[0].startswith(_WEIGHT):
            if weight is not None:
                raise lines.error("a second weight for one sequence", fields[0])
            weight = _number(fields[0].removeprefix(_WEIGHT), fields[0], lines)
            if weight < 0:
                raise lines.error("a weight must not be negative", fields[0])
            del fields[0]
            if not any(fields):
                continue
        elif not line.strip(_BLANK):
            if labels:
                sequences.append(tokens)
                y.append(labels)
                weights.append(weight)
            elif weight is not None:
                raise lines.error("a weight without a sequence")
            tokens, labels, weight = [], [], None
            continue
        label = sys.intern(_ESCAPED.sub(r"\1", fields[0]))
        if not label.strip(_BLANK):
            raise lines.error("the label is missing", line)
        labels.append(label)
        del fields[0]
        try:
            tokens.append([known[field] for field in fields])
        except KeyError:
            fields = [field for field in fields if field]
            known.update({field: _parse(field, lines) for field in fields if field not in known})
            tokens.append([known[field] for field in fields])

    has_weights = any(weight is not None for weight in weights)
    return AttributeData(
        _collected(sequences, all(weight == 1 for _, weight in known.values()), lines.path),
        y,
        np.array([1.0 if weight is None else weight for weight in weights]) if has_weights else None,
    )


def token_lines(source: Source) -> list[list[int]]:
    """The line (from 1) of every token that :func:`read_attributes` gives, for messages."""
    lines = Lines(source)
    numbers: list[list[int]] = [[]]
    for line in lines:
        if line.startswith(_WEIGHT) and not any(line.split("\t")[1:]):
            continue
        if line.strip(_BLANK):
            numbers[-1].append(lines.number)
        elif numbers[-1]:
            numbers.append([])
    return [sequence for sequence in numbers if sequence]


def _parse(field: str, lines: Lines) -> tuple[str, float]:
    """The name and the weight of an attribute."""
    if ":" not in field and "\\" not in field:
        return sys.intern(field), 1.0
    colon = -1
    for found in _COLON.finditer(field):
        if found[0] == ":":
            colon = found.start()
    name = _ESCAPED.sub(r"\1", field[:colon] if colon >= 0 else field)
    if not name:
        raise lines.error("the name of an attribute is missing", field)
    return sys.intern(name), 1.0 if colon < 0 else _number(field[colon + 1 :], field, lines)


def _number(text: str, field: str, lines: Lines) -> float:
    try:
        return parse_number(text)
    except ValueError as error:
        raise lines.error(f"what follows the last colon is {error} (a colon in a name is written \\:)", field) from None


def _collected(sequences: list[list[list[tuple[str, float]]]], all_ones: bool, path: str) -> list[list[Attributes]]:
    """Tokens as lists of names or as dicts."""
    X: list[list[Attributes]] = []
    for tokens in sequences:
        if all_ones:
            X.append([[name for name, _ in token] for token in tokens])
        else:
            X.append([_summed(token, path) for token in tokens])
        tokens.clear()  # no longer needed
    return X


def _summed(token: list[tuple[str, float]], path: str) -> dict[str, float]:
    total: dict[str, float] = {}
    for name, weight in token:
        total[name] = total.get(name, 0.0) + weight
        if math.isinf(total[name]):
            raise FileFormatError("the weights of an attribute of one token are too large", path=path, token=name)
    return total


def write_attributes(
    target: Target,
    X: Iterable[Iterable[Iterable[str] | Mapping[str, float]]],
    y: Iterable[Iterable[str | int]],
    *,
    weights: ArrayLike | None = None,
) -> None:
    """Write a file in CRFsuite's attribute format; :func:`read_attributes` gives the same data back.

    Parameters
    ----------
    target : path, "-" or open file
    X : sequences of tokens
        A token is a collection of attribute names, or a mapping of names to weights.
    y : sequences of str or int
        Their labels; whole numbers are read back as text.
    weights : array-like of shape (n_sequences,), optional
        Weights of the sequences.

    Raises
    ------
    DataError
        If lengths differ, a sequence is empty, a weight is not a finite number, or a name or label cannot be written
        (empty, with a TAB or a line end, or a label that is neither text nor a whole number).
    """
    sequences, label_lists = list(X), list(y)
    if len(sequences) != len(label_lists):
        raise DataError(f"X has {len(sequences)} sequences, y {len(label_lists)}")
    heads = [""] * len(sequences)
    escaped: dict[str, str] = {}
    if weights is not None:
        numbers = np.asarray(weights, dtype=np.float64)
        if numbers.shape != (len(sequences),):
            raise DataError(f"X has {len(sequences)} sequences, weights have shape {numbers.shape}")
        if not (np.isfinite(numbers) & (numbers >= 0)).all():
            raise DataError("the weights of sequences must be finite and not negative")
        heads = [f"{_WEIGHT}{format_number(number)}\t" for number in numbers.tolist()]
    with writing(target) as stream:
        for number, (head, some_tokens, some_labels) in enumerate(zip(heads, sequences, label_lists)):
            tokens, labels = list(some_tokens), list(some_labels)
            if len(tokens) != len(labels):
                raise DataError(f"sequence {number} has {len(tokens)} tokens and {len(labels)} labels")
            if not tokens:
                raise DataError(f"sequence {number} is empty, which the attribute format cannot express")
            for place, (token, label) in enumerate(zip(tokens, labels)):
                where = f"token {place} of sequence {number}"
                text = label_text(label, where)
                if not text.strip(_BLANK):
                    raise DataError(f"{where}: the label {text!r} is empty")
                if isinstance(token, str):
                    raise DataError(f"{where} is the text {token!r}; expected a list of names or a dict of weights")
                line = "\t".join((_escape(text), *_fields(token, escaped, where)))
                line = head + line if place == 0 else line
                if "\t" in text or not writable_line(line, first=number == place == 0):
                    mark = "\t" not in text and writable_line(line, first=False)
                    what = "a byte-order mark at the beginning" if mark else "a line end or a TAB in a label or a name"
                    raise DataError(f"{where}: {what} cannot be written: {line!r}")
                stream.write(line + "\n")
            stream.write("\n")


def _escape(name: str) -> str:
    return _TO_ESCAPE.sub(r"\\\g<0>", name)


def _fields(token: Iterable[str] | Mapping[str, float], escaped: dict[str, str], where: str) -> list[str]:
    """The attributes of a token as they are written; ``escaped`` keeps the names seen before."""
    fields = []
    for name in token:
        field = escaped.get(name) if isinstance(name, str) else None
        if field is None:
            if not isinstance(name, str) or not name or "\t" in name:
                raise DataError(f"{where}: {name!r} cannot be written as the name of an attribute")
            field = escaped[name] = _escape(name)
        fields.append(field)
    if isinstance(token, Mapping):
        for place, (name, weight) in enumerate(token.items()):
            if not isinstance(weight, Real) or not math.isfinite(weight):
                raise DataError(f"{where}: the weight of {name!r} is {weight!r}, not a finite number")
            if weight != 1:
                fields[place] += f":{format_number(float(weight))}"
    return fields
