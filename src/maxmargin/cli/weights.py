"""The weights of a model as plain values, for ``maxmargin inspect``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["strongest", "strongest_transitions"]


def strongest(
    weights: NDArray[np.float64], names: Sequence[Any], labels: Sequence[Any], top: int
) -> list[dict[str, Any]]:
    """The features with the largest absolute weights of every label.

    Parameters
    ----------
    weights : array of shape (n_features, n_labels)
    names : sequence of length n_features
    labels : sequence of length n_labels
    top : int
        How many of each label, zeros excepted.

    Returns
    -------
    list of dict
        ``{"label": ..., "features": [[name, weight], ...]}`` in the order of the labels, strongest first.
    """
    out = []
    for k, label in enumerate(labels):
        column = weights[:, k]
        found = [[names[row], float(column[row])] for row in _largest(np.abs(column), top)]
        out.append({"label": label, "features": found})
    return out


def strongest_transitions(transition: NDArray[np.float64], labels: Sequence[Any], top: int) -> list[list[Any]]:
    """``[from, to, weight]`` of the transitions with the largest absolute weights, strongest first."""
    places = _largest(np.abs(transition).ravel(), top)
    pairs = [divmod(place, len(labels)) for place in places]
    return [[labels[i], labels[j], float(transition[i, j])] for i, j in pairs]


def _largest(values: NDArray[np.float64], top: int) -> list[int]:
    """Places of the ``top`` largest positive values, largest first, earlier ones first on ties."""
    places = np.flatnonzero(values > 0)
    if 0 < top < len(places):
        bound = np.partition(values[places], len(places) - top)[len(places) - top]
        places = places[values[places] >= bound]
    order = np.argsort(-values[places], kind="stable")[:top]
    return [int(place) for place in places[order]]
