"""Which labels may begin and end a sequence and follow each other, as masks; where labels contradict them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._estimator import LabelIndex
from .errors import DataError

__all__ = ["dead_end", "joined_masks", "masks_in", "masks_of", "transition_masks"]

Bools = NDArray[np.bool_]


def transition_masks(forbidden: Any, labels: LabelIndex, unknown: str = "which is not in y") -> dict[str, Bools]:
    """What is allowed, by the names of the structure's parameters; nothing where nothing is forbidden.

    Parameters
    ----------
    forbidden : iterable of (label, label), {"iob2", "bioes"} or None
        As ``SequenceSVM`` takes it.
    unknown : str
        What messages say of a label that is none of ``labels``.

    Raises
    ------
    DataError
        When a label is none of ``labels``.
    ValueError
        When ``forbidden`` is none of the above.
    """
    if forbidden is None:
        return {}
    n = len(labels)
    initial, final, transitions = np.ones(n, bool), np.ones(n, bool), np.ones((n, n), bool)
    if isinstance(forbidden, str):
        from .data.spans import forbidden_transitions

        forbidden = forbidden_transitions(labels.labels, forbidden)
    if not isinstance(forbidden, Iterable):
        raise ValueError(f"forbidden must be 'iob2', 'bioes' or a list of pairs of labels, not {forbidden!r}")
    for pair in forbidden:
        if isinstance(pair, str) or not isinstance(pair, Iterable) or len(both := tuple(pair)) != 2:
            raise ValueError(f"forbidden must hold pairs of labels, not {pair!r}")
        before, after = both
        for label in both:
            if label is not None and (not isinstance(label, Hashable) or label not in labels.number):
                raise DataError(f"forbidden names the label {label!r}, {unknown}")
        if before is None and after is None:
            raise ValueError("forbidden: (None, None) says nothing")
        if before is None:
            initial[labels.number[after]] = False
        elif after is None:
            final[labels.number[before]] = False
        else:
            transitions[labels.number[before], labels.number[after]] = False
    return {"allowed_initial": initial, "allowed_final": final, "allowed_transitions": transitions}


def masks_of(structure: Any) -> dict[str, Bools]:
    """What a structure allows, by the names of its parameters."""
    names = "allowed_initial", "allowed_final", "allowed_transitions"
    return dict(zip(names, structure._masks, strict=True))


def joined_masks(masks: dict[str, Bools]) -> Bools:
    """The masks one after another, as a model file keeps them."""
    return np.concatenate([mask.ravel() for mask in masks.values()])


def masks_in(allowed: Any, n: int) -> dict[str, Bools] | None:
    """The way back from :func:`joined_masks`, for ``n`` labels; a ValueError where that is none."""
    if allowed is None:
        return None
    if not isinstance(allowed, np.ndarray) or allowed.dtype != bool or allowed.shape != (n * (n + 2),):
        raise ValueError(f"what is allowed must be {n * (n + 2)} truth values for {n} labels")
    initial, final, transitions = np.split(allowed, [n, 2 * n])
    return {"allowed_initial": initial, "allowed_final": final, "allowed_transitions": transitions.reshape(n, n)}


def dead_end(structure: Any, allowed: Bools) -> int:
    """The first position of a sequence where no label can stand after those before it (or at the end).

    Parameters
    ----------
    allowed : bool array of shape (length, n_labels)
        Labels that each position may take; ``length`` is 1 or more.

    Returns
    -------
    int
        -1 where there is none.
    """
    initial, final, transitions = structure._masks
    reached = initial
    for t, may in enumerate(allowed):
        reached = may & (transitions[reached].any(0) if t else initial)
        if not reached.any():
            return t
    return -1 if (reached & final).any() else len(allowed) - 1
