"""Attributes of tokens from the cells around them: ``w[-1]|w[0]=the|cat``.

A template names the columns of a file and lists its attributes as text. An attribute is one cell, or several joined by
``|``; a cell is ``name[offset]``, from the token itself (0), those before (negative) or after it, and may be
seen through a form: ``lower(w[0])``, ``suffix3(w[-1])``, ``shape(w[0])``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from ..errors import DataError

__all__ = ["FORMS", "Template", "apply_template", "chunking_template", "default_template"]

_CELL = re.compile(r"(?:(?P<form>\w+)\()?(?P<column>[^\W\d]\w*)\[(?P<offset>[+-]?\d+)\](?(form)\))", re.ASCII)


def _shape(word: str) -> str:
    """``Xx-d`` of ``Boeing-747``: kinds of characters, runs of a kind as one."""
    # characters other than letters and digits stand for themselves
    kinds = ["X" if c.isupper() else "x" if c.isalpha() else "d" if c.isdigit() else c for c in word]
    return "".join(kind for kind, before in zip(kinds, ["", *kinds]) if kind != before)


def _prefix(length: int, word: str) -> str:
    return word[:length]


def _suffix(length: int, word: str) -> str:
    return word[-length:]


FORMS: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "shape": _shape,
    **{f"prefix{length}": partial(_prefix, length) for length in range(1, 6)},
    **{f"suffix{length}": partial(_suffix, length) for length in range(1, 6)},
}
"""How a cell can be seen, by name."""


@dataclass(frozen=True)
class Template:
    """What attributes tokens get.

    Parameters
    ----------
    columns : tuple of str
        Names of the first columns of a file; further columns are not looked at.
    attributes : tuple of str
        Such as ``"w[0]"``, ``"w[-1]|w[0]"`` or ``"lower(w[1])"``; see the module.
    ends : bool
        Whether the first and the last token of a sequence get ``__BOS__`` and ``__EOS__``.

    Raises
    ------
    ValueError
        If an attribute is not written as it should or names a column or a form that does not exist.
    """

    columns: tuple[str, ...]
    attributes: tuple[str, ...]
    ends: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "attributes", tuple(self.attributes))
        if len(set(self.columns)) != len(self.columns):
            raise ValueError(f"two columns have one name: {self.columns}")
        for attribute in self.attributes:
            self.cells(attribute)

    def cells(self, attribute: str) -> list[tuple[int, int, str]]:
        """The (column, offset, form or "") of each cell of an attribute."""
        cells = []
        for text in attribute.split("|"):
            found = _CELL.fullmatch(text)
            if found is None:
                raise ValueError(f"attribute {attribute!r}: {text!r} is not name[offset] or form(name[offset])")
            form, column = found["form"] or "", found["column"]
            if column not in self.columns:
                raise ValueError(f"attribute {attribute!r}: no column {column!r}, only {', '.join(self.columns)}")
            if form and form not in FORMS:
                raise ValueError(f"attribute {attribute!r}: no form {form!r}, only {', '.join(FORMS)}")
            cells.append((self.columns.index(column), int(found["offset"]), form))
        return cells


def apply_template(sequences: Iterable[Sequence[Sequence[str]]], template: Template) -> list[list[list[str]]]:
    """The attributes of every token.

    An attribute that would reach beyond an end of its sequence is left out.

    Parameters
    ----------
    sequences : sequences of rows of str
        As :func:`~maxmargin.data.read_columns` gives; rows may have more columns than the template.
    template : Template

    Returns
    -------
    list of sequences, each a list of tokens, each a list of attributes
        Equal attributes are one object.

    Raises
    ------
    DataError
        If a row has fewer columns than the template names.
    """
    parts = [(f"{attribute}=", template.cells(attribute)) for attribute in template.attributes]
    names: list[dict[tuple[str, ...], str]] = [{} for _ in parts]
    forms: dict[str, dict[str, str]] = {form: {} for form in FORMS}
    result = []
    for number, rows in enumerate(sequences):
        for place, row in enumerate(rows):
            if len(row) < len(template.columns):
                expected = f"the template names {len(template.columns)}: {', '.join(template.columns)}"
                raise DataError(f"row {place} of sequence {number} has {len(row)} columns, {expected}")
        size = len(rows)
        tokens: list[list[str]] = [[] for _ in rows]
        columns = {(column, ""): [row[column] for row in rows] for column in range(len(template.columns))}
        for (prefix, cells), known in zip(parts, names):
            for column, _, form in cells:
                if (column, form) not in columns:
                    columns[column, form] = _formed(columns[column, ""], form, forms[form])
            start = min(size, max(0, *(-offset for _, offset, _ in cells)))
            stop = max(start, size - max(0, *(offset for _, offset, _ in cells)))
            seen = [columns[column, form][start + offset : stop + offset] for column, offset, form in cells]
            for token, values in zip(tokens[start:stop], zip(*seen)):
                name = known.get(values)
                if name is None:
                    name = known[values] = prefix + "|".join(values)
                token.append(name)
        if template.ends and tokens:
            tokens[0].append("__BOS__")
            tokens[-1].append("__EOS__")
        result.append(tokens)
    return result


def _formed(words: list[str], form: str, known: dict[str, str]) -> list[str]:
    """Words seen through a form; ``known`` keeps what was computed before."""
    for word in words:
        if word not in known:
            known[word] = FORMS[form](word)
    return [known[word] for word in words]


def chunking_template() -> Template:
    """The 19 attributes common in chunking, for columns of words and part-of-speech tags.

    The five words and the five tags around the token, the two pairs of words and the four pairs of tags that
    are neighbours there, and the three triples of tags.
    """
    return Template(
        ("w", "pos"),
        (
            *_runs("w", 1, 2),
            *_runs("w", 2, 1),
            *_runs("pos", 1, 2),
            *_runs("pos", 2, 2),
            *_runs("pos", 3, 2),
        ),
    )


def default_template(n_columns: int) -> Template:
    """Attributes for any column file: its ``n_columns`` columns without the label, the first of them words.

    Every column gives the five cells around the token and the pairs of neighbours among the middle three;
    words are also seen in lower case, by their shape, and by prefixes and suffixes of up to four characters.
    Columns are called ``w``, ``c1``, ``c2``, ...
    """
    if n_columns < 1:
        raise ValueError(f"a template needs at least one column, got {n_columns}")
    columns = ("w", *(f"c{number}" for number in range(1, n_columns)))
    attributes = [attribute for column in columns for attribute in (*_runs(column, 1, 2), *_runs(column, 2, 1))]
    attributes += [f"{form}(w[{offset}])" for form in ("lower", "shape") for offset in (-1, 0, 1)]
    attributes += [f"{side}{length}(w[0])" for side in ("prefix", "suffix") for length in (1, 2, 3, 4)]
    return Template(columns, tuple(attributes))


def _runs(column: str, length: int, reach: int) -> list[str]:
    """The runs of ``length`` neighbouring cells within ``reach`` of the token."""
    return [
        "|".join(f"{column}[{offset}]" for offset in range(start, start + length))
        for start in range(-reach, reach - length + 2)
    ]
