"""Curves of one's own, in one style with the other pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import DataError
from ._base import BLUE, GREY, INK, OCHRE, VERMILLION, Display, Reals, frame, legend, log_ticks, parted, short

__all__ = ["CurveDisplay"]

_MARKED = 20  # points of a curve


class CurveDisplay(Display):
    """Curves on logarithmic or plain scales, in one picture or several side by side with one scale.

    Parameters
    ----------
    pictures : mapping of titles to mappings of names to (x, y)
        Two arrays of one length for each curve. Curves of the same name look alike in all pictures. What cannot be
        drawn is left out.
    xlabel, ylabel : str
    log : bool, default=True
        Whether the scales are logarithmic; what is not above 0 is drawn on plain ones only.

    Attributes
    ----------
    axes_ : array of matplotlib Axes
        Where the last ``plot`` drew, one for each picture.

    Raises
    ------
    DataError
        When there is no curve, or the arrays of one are not of one length.

    Examples
    --------
    >>> from maxmargin.plots import CurveDisplay
    >>> display = CurveDisplay({"falls": {"1/t": ([1, 2, 4], [1.0, 0.5, 0.25])}}, xlabel="t", ylabel="value")
    >>> [values.tolist() for values in display.pictures["falls"]["1/t"]]
    [[1.0, 2.0, 4.0], [1.0, 0.5, 0.25]]
    """

    _COLOURS = (BLUE, VERMILLION, OCHRE, INK, GREY)
    _MARKS = ("o-", "s--", "^-.", "D:")

    def __init__(
        self,
        pictures: Mapping[str, Mapping[str, tuple[ArrayLike, ArrayLike]]],
        *,
        xlabel: str,
        ylabel: str,
        log: bool = True,
    ) -> None:
        self.pictures: dict[str, dict[str, tuple[Reals, Reals]]] = {}
        self.names: list[str] = []
        self.xlabel, self.ylabel, self.log = xlabel, ylabel, log
        if not isinstance(log, bool):
            raise DataError(f"log must be True or False, not {log!r:.60}")
        if not isinstance(pictures, Mapping):
            raise DataError(f"pictures must map titles to curves, not be {pictures!r:.60}")
        for title, curves in pictures.items():
            if not isinstance(curves, Mapping):
                raise DataError(f"picture {title!r} must map names to pairs (x, y), not be {curves!r:.60}")
            self.pictures[title] = {}
            for name, given in curves.items():
                try:
                    x, y = (np.asarray(values, np.float64) for values in given)
                except (TypeError, ValueError):
                    raise DataError(
                        f"{name}: a curve is a pair (x, y) of arrays of numbers, not {given!r:.60}"
                    ) from None
                if x.ndim != 1 or x.shape != y.shape:
                    raise DataError(f"{name}: x and y must be of one length, not of shapes {x.shape} and {y.shape}")
                self.pictures[title][name] = x, y
                if name not in self.names:
                    self.names.append(name)
        if not self.names:
            raise DataError("there are no curves to draw")

    def _size(self) -> tuple[float, float]:
        return max(3.1 * len(self.pictures), 6.0) + 0.4, 4.0

    def _draw(self, ax: Any) -> None:
        axes, below = parted(ax, 1, len(self.pictures), type(self).__name__, share=True)
        self.axes_, handles = axes[0], {}
        for each, (title, curves) in zip(self.axes_, self.pictures.items()):
            for name, (x, y) in curves.items():
                k = self.names.index(name)
                look = dict(color=self._COLOURS[k % len(self._COLOURS)], markersize=4, linewidth=1.4)
                shown = np.isfinite(x) & np.isfinite(y) & (not self.log or ((x > 0.0) & (y > 0.0)))
                marks = self._MARKS[k % len(self._MARKS)]
                every = max(int(shown.sum()) // _MARKED, 1)
                (handles[name],) = each.plot(x[shown], y[shown], marks, markevery=every, **look)
            each.set_title(short(title, 60), fontsize=11, parse_math=False)
            each.set_xlabel(self.xlabel, parse_math=False)
            frame(each)
        self.axes_[0].set_ylabel(self.ylabel, parse_math=False)
        for each in self.axes_:
            if self.log and any(len(line.get_xdata()) for line in each.lines):
                log_ticks(each, "x")
                log_ticks(each, "y")
        names = [short(name) for name in self.names]
        legend(below, list(map(handles.__getitem__, self.names)), names, fontsize="small", ncols=4, loc="center")
