"""Transition weights of a sequence model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import DataError
from ._base import INK, Display, fitted, load_matplotlib, short

__all__ = ["TransitionDisplay"]


class TransitionDisplay(Display):
    """Heat map of transition weights, from the label of a row to the label of a column.

    Parameters
    ----------
    transition : array of shape (n_labels, n_labels)
        ``[from, to]``; ``-inf`` is forbidden and left grey.
    labels : sequence of length n_labels
    name : str
        What was fitted.

    Raises
    ------
    DataError
        When there is no label, the shapes do not fit, or a weight is NaN or infinite.
    """

    _MOST_NUMBERS = 16  # labels up to which the map has room for numbers

    def __init__(self, transition: ArrayLike, labels: Sequence[Any], *, name: str = "model") -> None:
        self.transition = np.asarray(transition, np.float64)
        self.labels = list(labels)
        self.name = name
        if self.transition.shape != (len(self.labels),) * 2:
            raise DataError(f"transition has shape {self.transition.shape}, but there are {len(self.labels)} labels")
        if not self.labels:
            raise DataError("there are no labels to draw")
        if len(bad := np.argwhere(np.isnan(self.transition) | (self.transition == np.inf))):
            row, column = bad[0]
            raise DataError(
                f"transition[{row}, {column}] is {self.transition[row, column]}; a weight is finite, or -inf: forbidden"
            )

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> TransitionDisplay:
        """Draw ``transition_`` of a fitted estimator, with ``classes_`` as labels.

        Raises
        ------
        DataError
            When the estimator was not fitted or has no transitions.
        """
        weights = fitted(estimator, "transition_")
        return cls(weights, estimator.classes_, name=type(estimator).__name__).plot(ax)

    def _size(self) -> tuple[float, float]:
        side = min(max(0.46 * len(self.labels), 3.6), 14.0)
        return side + 1.6, side + 0.8

    def _draw(self, ax: Any) -> None:
        n = len(self.labels)
        finite = np.isfinite(self.transition)
        low, high = (float(f(self.transition[finite])) for f in (np.min, np.max)) if finite.any() else (0.0, 0.0)
        if low < 0 < high:  # signed weights: 0 is white
            high = max(-low, high)
            low = -high
            colours = "PuOr_r"
        else:
            colours = "cividis"
        colormap = load_matplotlib().colormaps[colours].with_extremes(bad="#dddddd")
        picture = ax.imshow(np.where(finite, self.transition, np.nan), cmap=colormap, vmin=low, vmax=high)
        ticks = range(0, n, max(1, math.ceil(n / 40)))
        names = [short(self.labels[k]) for k in ticks]
        ax.set_xticks(ticks, names, rotation=90 if max(map(len, names)) > 3 else 0, parse_math=False)
        ax.set_yticks(ticks, names, parse_math=False)
        ax.set(xlabel="to", ylabel="from")
        ax.set_title(f"{self.name}: transition weights", parse_math=False)
        ax.tick_params(length=0)
        ax.figure.colorbar(picture, ax=ax, fraction=0.046, pad=0.03)
        if n <= self._MOST_NUMBERS:
            self._write_numbers(ax, picture, 1 if max(-low, high) >= 1 else 2)

    def _write_numbers(self, ax: Any, picture: Any, places: int) -> None:
        """Write the weights into a heat map, in the one of two colours that stands out."""
        for row, column in np.argwhere(np.isfinite(self.transition)):
            value = self.transition[row, column]
            red, green, blue, _ = picture.to_rgba(value)
            dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
            text = f"{round(value, places) + 0.0:.{places}f}".replace("-", "−")  # no minus before 0.0
            ax.text(column, row, text, ha="center", va="center", fontsize=7, color="white" if dark else INK)
