"""Model files that were changed by somebody after they were written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from maxmargin import save_model
from maxmargin.data.container import Contents, read_container, write_container

__all__ = ["Change", "set_array", "set_part", "tampered"]

Change = Callable[[Contents], Any]


def tampered(model: Any, path: Path, change: Change) -> Path:
    """The file of a model, changed; returns its path."""
    save_model(model, path)
    contents = read_container(path)
    change(contents)
    write_container(path, contents)
    return path


def set_part(name: str, value: Any, where: str = "parts") -> Change:
    """Another value among the parts, or among others of the file's values."""
    return lambda contents: contents.values[where].update({name: value})


def set_array(name: str, value: Any) -> Change:
    """Another array, or what a function makes of the one that is there."""
    return lambda contents: contents.arrays.update({name: value(contents.arrays[name]) if callable(value) else value})
