"""Checks of the options of solvers: their kind and range, in one line that names solver, option and value."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = ["check_bool", "check_choice", "check_option", "shown"]


def check_option(
    solver: Any, name: str, allowed: str, good: Callable[[float], bool], *, integral: bool = False
) -> None:
    """Refuse an option of a solver that is no number (or integer), or none of those that are ``good``.

    Parameters
    ----------
    allowed : str
        What it may be, as it stands in the message after "must be".
    """
    value, number = getattr(solver, name), math.nan
    kind = numbers.Integral if integral else numbers.Real
    fault = f", which is no {'integer' if integral else 'number'}"
    if isinstance(value, kind) and not isinstance(value, bool):
        fault = ""
        try:
            number = float(value)
        except OverflowError:
            fault = ", which is beyond all floats"
    if not good(number):
        raise ValueError(f"{type(solver).__name__}: {name} must be {allowed}, not {shown(value)}{fault}")


def check_choice(solver: Any, name: str, allowed: Sequence[str], *, optional: bool = False) -> None:
    """Refuse an option of a solver that is none of a few names, nor None where it is ``optional``."""
    value = getattr(solver, name)
    if not (isinstance(value, str) and value in allowed) and not (optional and value is None):
        names = ", ".join(repr(each) for each in allowed) + (" or None" if optional else "")
        raise ValueError(f"{type(solver).__name__}: {name} must be one of {names}, not {shown(value)}")


def check_bool(owner: Any, *names: str) -> None:
    """Refuse switches that are neither True nor False: text such as ``"no"`` would count for True."""
    for name in names:
        value = getattr(owner, name)
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"{type(owner).__name__}: {name} must be True or False, not {shown(value)}")


def shown(value: Any) -> str:
    """A value in a message."""
    try:
        return f"{' '.join(repr(value).split()):.80}"
    except ValueError:  # Python writes no integers of more than some thousand digits
        return "an integer of thousands of digits"
