"""Structures: what is predicted. Every module says how one kind of output is scored, decoded and judged.

The names below are what one's own structure is made of; they are loaded at their first use, as Numba is.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._compiled import compiled
    from .base import Encoded, Pack, RowGroup, Structure, make_pack, n_rows, true_output
    from .check import CheckReport, check_structure
    from .plain import PlainStructure

__all__ = [
    "CheckReport",
    "Encoded",
    "Pack",
    "PlainStructure",
    "RowGroup",
    "Structure",
    "check_structure",
    "compiled",
    "make_pack",
    "n_rows",
    "true_output",
]

_HOME_OF = {
    "CheckReport": ".check",
    "Encoded": ".base",
    "Pack": ".base",
    "PlainStructure": ".plain",
    "RowGroup": ".base",
    "Structure": ".base",
    "check_structure": ".check",
    "compiled": ".._compiled",
    "make_pack": ".base",
    "n_rows": ".base",
    "true_output": ".base",
}


def __getattr__(name: str) -> Any:
    """Load a public name from its module at its first use."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME_OF[name], __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
