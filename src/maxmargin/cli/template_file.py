"""Templates of one's own: a text file that names the columns and lists the attributes; templates in model files."""

from __future__ import annotations

from typing import Any

from ..data.templates import Template, chunking_template, default_template
from ..data.text import Lines
from ..errors import FileFormatError

__all__ = ["as_values", "named_template", "read_template", "template_of"]


def named_template(name: str, n_columns: int) -> Template:
    """``default``, ``chunking`` or the template in a file, for data of ``n_columns`` columns without the label."""
    if name == "default":
        return default_template(n_columns)
    return chunking_template() if name == "chunking" else read_template(name)


def read_template(path: str) -> Template:
    """Read a template.

    The first line is ``columns`` and the names of the columns, each other line an attribute as in
    :class:`~maxmargin.data.Template`. A line ``ends`` marks the first and the last token of a sequence. Empty lines and
    those that begin with ``#`` say nothing.

    Raises
    ------
    FileFormatError
        If a line is none of these; names it.
    """
    lines = Lines(path)
    columns: tuple[str, ...] = ()
    attributes: list[str] = []
    ends = False
    for line in lines:
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if not columns:
            if words[0] != "columns" or len(words) < 2:
                raise lines.error("a template begins with 'columns' and their names, such as 'columns w pos'", line)
            columns = tuple(words[1:])
            _checked(lines, columns, ())
        elif words == ["ends"]:
            ends = True
        else:
            attribute = "".join(words)
            _checked(lines, columns, (attribute,))
            attributes.append(attribute)
    if not attributes:
        raise FileFormatError("a template without attributes", path=lines.path)
    return Template(columns, tuple(attributes), ends)


def as_values(template: Template) -> dict[str, Any]:
    """A template as a model file keeps it."""
    return {"columns": [*template.columns], "attributes": [*template.attributes], "ends": template.ends}


def template_of(values: Any) -> Template:
    """The template that a model file keeps, whoever wrote it.

    Raises
    ------
    ValueError
        If it is none.
    """
    if not isinstance(values, dict):
        raise ValueError("a template is a dict")
    columns, attributes, ends = (values.get(name) for name in ("columns", "attributes", "ends"))
    for texts in (columns, attributes):
        if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
            raise ValueError("columns and attributes are lists of text")
    if not isinstance(ends, bool):
        raise ValueError("ends is true or false")
    return Template(tuple(columns or ()), tuple(attributes or ()), ends)


def _checked(lines: Lines, columns: tuple[str, ...], attributes: tuple[str, ...]) -> None:
    try:
        Template(columns, attributes)
    except ValueError as error:
        raise lines.error(str(error)) from None
