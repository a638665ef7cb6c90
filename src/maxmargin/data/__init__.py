"""Readers and writers of the file formats of the field. Names are loaded at their first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .attributes import AttributeData, read_attributes, write_attributes
    from .brackets import Tree, parse_tree, read_trees, write_trees
    from .columns import read_columns, split_labels, write_columns
    from .spans import Span, convert_labels, detect_scheme, label_spans, span_labels
    from .svmhmm import SvmHmmData, read_svmhmm
    from .svmlight import SvmLightData, read_svmlight
    from .svmlight_writer import write_svmlight
    from .templates import Template, apply_template, chunking_template, default_template

__all__ = [
    "AttributeData",
    "Span",
    "SvmHmmData",
    "SvmLightData",
    "Template",
    "Tree",
    "apply_template",
    "chunking_template",
    "convert_labels",
    "default_template",
    "detect_scheme",
    "label_spans",
    "parse_tree",
    "read_attributes",
    "read_columns",
    "read_svmhmm",
    "read_svmlight",
    "read_trees",
    "span_labels",
    "split_labels",
    "write_attributes",
    "write_columns",
    "write_svmlight",
    "write_trees",
]

_NAMES_IN = {
    "attributes": ("AttributeData", "read_attributes", "write_attributes"),
    "brackets": ("Tree", "parse_tree", "read_trees", "write_trees"),
    "columns": ("read_columns", "split_labels", "write_columns"),
    "spans": ("Span", "convert_labels", "detect_scheme", "label_spans", "span_labels"),
    "svmhmm": ("SvmHmmData", "read_svmhmm"),
    "svmlight": ("SvmLightData", "read_svmlight"),
    "svmlight_writer": ("write_svmlight",),
    "templates": ("Template", "apply_template", "chunking_template", "default_template"),
}
_HOME_OF = {name: module for module, names in _NAMES_IN.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load a public name from its module at its first use."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
