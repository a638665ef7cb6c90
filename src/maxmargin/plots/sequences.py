"""Sequences of pictures, with what models read in them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import DataError
from ._base import INK, WRONG, Display, short

__all__ = ["SequenceDisplay"]


class SequenceDisplay(Display):
    """Strips of pictures, each with its true label and the readings of one or more models below it.

    A wrong reading stands white in a red box.

    Parameters
    ----------
    pictures : list of arrays of shape (length, height, width)
        One array a sequence; dark is 1, light is 0.
    truth : list of sequences of labels
    readings : mapping from names of models to lists of sequences of labels
    columns : int
        Strips side by side.
    title : str

    Raises
    ------
    DataError
        When there is no sequence, the shapes or lengths do not fit, a pixel is not finite, or there are more sequences,
        or longer ones, than a picture can hold.
    """

    _LARGEST = 200.0  # inches

    def __init__(
        self,
        pictures: Sequence[ArrayLike],
        truth: Sequence[Sequence[Any]],
        readings: Mapping[str, Sequence[Sequence[Any]]],
        *,
        columns: int = 2,
        title: str = "readings",
    ) -> None:
        self.pictures = [np.asarray(strip, np.float64) for strip in pictures]
        self.truth = [list(labels) for labels in truth]
        self.readings = {name: [list(labels) for labels in found] for name, found in readings.items()}
        self.columns = max(1, min(int(columns), len(self.pictures)))
        self.title = title
        if not self.pictures:
            raise DataError("there are no sequences to draw")
        for i, strip in enumerate(self.pictures):
            if strip.ndim != 3:
                raise DataError(f"sequence {i} has pictures of shape {strip.shape}; it must be (length, height, width)")
            if len(strip) and not strip.size:
                raise DataError(f"sequence {i} has pictures without pixels: its shape is {strip.shape}")
            if len(bad := np.argwhere(~np.isfinite(strip))):
                raise DataError(f"sequence {i} has a pixel that is not finite, in picture {bad[0, 0]}")
        for name, found in {"truth": self.truth, **self.readings}.items():
            if [len(labels) for labels in found] != [len(strip) for strip in self.pictures]:
                raise DataError(f"{name}: its sequences are not as many and as long as those of the pictures")

        if max(self._size()) > self._LARGEST:
            rows, longest = len(self.pictures), max(map(len, self.pictures))
            raise DataError(
                f"{rows} sequences of up to {longest} pictures in {self.columns} columns do not fit into one picture: "
                "draw some of them"
            )

    @classmethod
    def from_predictions(
        cls,
        X: Iterable[ArrayLike],
        y_true: Sequence[Sequence[Any]],
        y_pred: Sequence[Sequence[Any]] | Mapping[str, Sequence[Sequence[Any]]],
        *,
        image_shape: tuple[int, int],
        columns: int = 2,
        title: str = "readings",
        ax: Any = None,
    ) -> SequenceDisplay:
        """Draw sequences of feature vectors whose first ``height * width`` entries are pixels, dark at 1.

        Parameters
        ----------
        X : list of arrays of shape (length, n_features)
        y_true : list of sequences of labels
        y_pred : list of sequences of labels, or a mapping from names of models to such lists
        image_shape : (height, width)
        columns, title : see the class
        ax : matplotlib Axes, optional

        Raises
        ------
        DataError
            When a vector is shorter than a picture, or numbers or lengths of sequences differ.
        """
        height, width = image_shape
        pictures = []
        for i, vectors in enumerate(X):
            rows = np.asarray(vectors, np.float64)
            if rows.ndim != 2 or rows.shape[1] < height * width:
                raise DataError(f"sequence {i} has shape {rows.shape}; a picture needs {height * width} values a row")
            pictures.append(rows[:, : height * width].reshape(-1, height, width))
        found = y_pred if isinstance(y_pred, Mapping) else {"predicted": y_pred}
        return cls(pictures, y_true, found, columns=columns, title=title).plot(ax)

    # in units of a picture's side: a strip is one picture high, below it stands one line for each reading
    _LINE, _GAP, _NAMES = 0.5, 0.6, 3.0

    def _layout(self) -> tuple[int, float, float]:
        """Strips below each other, height of one with its readings, width of a column with names and gap."""
        rows = math.ceil(len(self.pictures) / self.columns)
        longest = max(len(strip) for strip in self.pictures)
        return rows, 1 + self._LINE * (len(self.readings) + 1) + self._GAP, longest + self._NAMES + self._GAP

    def _size(self) -> tuple[float, float]:
        rows, height, width = self._layout()
        return 0.42 * width * self.columns + 0.2, 0.42 * height * rows + 0.9

    def _draw(self, ax: Any) -> None:
        rows, height, width = self._layout()
        for i, strip in enumerate(self.pictures):
            left = self._NAMES + width * (i // rows)
            top = height * (i % rows)
            for t, picture in enumerate(strip):
                extent = (left + t + 0.03, left + t + 0.97, top + 1, top)
                ax.imshow(picture, cmap="gray_r", vmin=0, vmax=1, extent=extent, interpolation="nearest")
            self._line(ax, "truth", self.truth[i], None, left, top + 1 + 0.5 * self._LINE)
            for k, (name, found) in enumerate(self.readings.items(), 1):
                self._line(ax, name, found[i], self.truth[i], left, top + 1 + (k + 0.5) * self._LINE)
        ax.set(xlim=(0, width * self.columns - self._GAP), ylim=(height * rows - self._GAP, -0.1), aspect="equal")
        ax.set_axis_off()
        ax.set_title(f"{self.title}\n(wrong ones in red boxes)", fontsize=11, parse_math=False)

    def _line(self, ax: Any, name: str, labels: list[Any], truth: list[Any] | None, left: float, y: float) -> None:
        """One line of readings below a strip, its name at the left."""
        style: dict[str, Any] = dict(va="center", parse_math=False)
        ax.text(left - 0.25, y, short(name), ha="right", fontsize=7.5, color="#555555", **style)
        for t, label in enumerate(labels):
            wrong = truth is not None and label != truth[t]
            look: dict[str, Any] = dict(color=INK, weight="bold" if truth is None else "normal")
            if wrong:
                box = dict(boxstyle="square,pad=0.15", facecolor=WRONG, edgecolor="none")
                look = dict(color="white", weight="bold", bbox=box)
            ax.text(left + t + 0.5, y, short(label), ha="center", fontsize=9, **look, **style)
