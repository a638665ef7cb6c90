"""Strengths that a ranking machine learned from comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import DataError
from ._base import BLUE, GREY, Display, fitted, frame, short

__all__ = ["StrengthDisplay"]

_ROW, _ROUND = 0.22, 1.3  # inches of a row, and above and below all rows
_POINTS, _FILL = 9.0, 0.75  # size of names, and the part of a row that they take at most


class StrengthDisplay(Display):
    """Strengths of items as dots on a scale, a row for each item, the strongest at the top.

    Only differences mean anything: a win wants a lead of 1.

    Parameters
    ----------
    items : sequence of length n
        Names.
    strengths : array of shape (n,)
    most : int, default=40
        Rows at most, 3 or more; of more items the strongest and the weakest are drawn, and a row between them says how
        many are left out.
    name : str
        What was fitted.

    Raises
    ------
    DataError
        When there is no item, the numbers of names and strengths differ, or a strength is not finite.
    ValueError
        When ``most`` is below 3.
    """

    def __init__(self, items: Sequence[Any], strengths: ArrayLike, *, most: int = 40, name: str = "model") -> None:
        values = np.asarray(strengths, np.float64)
        items = list(items)
        if values.shape != (len(items),) or not len(items):
            raise DataError(f"strengths has shape {values.shape}, but there are {len(items)} items")
        if not np.isfinite(values).all():
            raise DataError(f"the strength of {items[int(np.argmin(np.isfinite(values)))]!r:.80} is not finite")
        if most < 3:
            raise ValueError(f"most must be at least 3, not {most!r}")
        order = np.argsort(-values, kind="stable")
        self.items, self.strengths = [items[k] for k in order], values[order]
        self.most, self.name = int(most), name

    @classmethod
    def from_estimator(cls, estimator: Any, *, most: int = 40, ax: Any = None) -> StrengthDisplay:
        """Draw what ``strength_table`` of a :class:`~maxmargin.SVMRanker` fitted to comparisons lists.

        Raises
        ------
        DataError
            When the estimator has no strengths.
        """
        strengths = fitted(estimator, "strengths_")
        return cls(estimator.items_.tolist(), strengths, most=most, name=type(estimator).__name__).plot(ax)

    def _shown(self) -> tuple[list[int], int]:
        """The items to be drawn, and after how many of them some are left out (0: none are)."""
        n = len(self.items)
        if n <= self.most:
            return list(range(n)), 0
        first = self.most // 2
        return [*range(first), *range(n - (self.most - 1 - first), n)], first

    def _size(self) -> tuple[float, float]:
        return 6.4, _ROUND + _ROW * min(len(self.items), self.most)

    def _draw(self, ax: Any) -> None:
        shown, cut = self._shown()
        rows = np.arange(len(shown))
        names = [short(self.items[k]) for k in shown]
        ticks = rows.tolist()
        if cut:
            rows[cut:] += 1
            ticks = [*rows[:cut].tolist(), cut, *rows[cut:].tolist()]
            names.insert(cut, f"… {len(self.items) - len(shown)} more …")
        room = 72.0 * ax.figure.get_figheight() * ax.get_position().height / len(ticks)
        size = min(_POINTS, _FILL * room)
        frame(ax, without=("top", "right", "left"))
        ax.axvline(0.0, color=GREY, linewidth=0.8, zorder=1)
        ax.plot(
            self.strengths[shown],
            rows,
            "o",
            color=BLUE,
            markersize=0.6 * size,
            label="strength",
            clip_on=False,
            zorder=3,
        )
        ax.set_yticks(ticks, names, fontsize=size, parse_math=False)
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(len(ticks) - 0.5, -0.5)
        ax.set(xlabel="strength (a win wants a lead of 1)", ylabel="item")
        ax.set_title(f"{self.name}: strengths", parse_math=False)
