"""Losses of the margin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import DataError
from ..losses import MARGIN_LOSSES, CustomLoss, Logistic, MarginLoss
from ._base import BLUE, INK, OCHRE, VERMILLION, Display, frame, legend, short

__all__ = ["LossDisplay"]


class LossDisplay(Display):
    """Losses of the margin ``t = y f``, with the zero-one loss that they stand for.

    Parameters
    ----------
    losses : sequence of str or MarginLoss, optional
        Names as of :data:`maxmargin.losses.MARGIN_LOSSES`, or losses; by default those of the library, the logistic one
        to base 2, with which it is 1 at 0.
    margins : tuple of (low, high), default=(-2, 3)

    Raises
    ------
    DataError
        When there is no loss, a loss is none, or the margins are no interval.

    Examples
    --------
    >>> from maxmargin.plots import LossDisplay
    >>> LossDisplay(["hinge", "exponential"], margins=(-1, 1)).values[:, 0].round(3).tolist()
    [2.0, 2.718]
    """

    _STYLES = ((INK, "-"), (BLUE, "-"), (BLUE, "--"), (VERMILLION, "-"), (VERMILLION, "--"), (OCHRE, "-."))
    _HIGHEST = 4.0

    def __init__(
        self, losses: Sequence[str | MarginLoss] | None = None, *, margins: tuple[float, float] = (-2.0, 3.0)
    ) -> None:
        if losses is None:
            losses = ["zero_one", "hinge", "squared_hinge", Logistic(base=2.0), "exponential", "perceptron"]
        self.losses: list[MarginLoss] = []
        for given in losses:
            loss = MARGIN_LOSSES.get(given) if isinstance(given, str) else given
            if not isinstance(loss, MarginLoss):
                raise DataError(f"{given!r} is no loss of the margin; known are {', '.join(MARGIN_LOSSES)}")
            self.losses.append(loss)
        if not self.losses:
            raise DataError("there are no losses to draw")
        ends = np.asarray(margins)
        if ends.shape != (2,) or ends.dtype.kind not in "iuf" or not (np.isfinite(ends).all() and ends[0] < ends[1]):
            raise DataError(f"margins must be two numbers in ascending order, not {margins!r}")
        low, high = ends.tolist()
        self.margins = np.linspace(low, high, 1001)
        self.values = np.array([loss.value(self.margins) for loss in self.losses])

    def _draw(self, ax: Any) -> None:
        lines: list[Any] = []
        names: list[str] = []
        for k, (loss, values) in enumerate(zip(self.losses, self.values)):
            colour, dash = self._STYLES[k % len(self._STYLES)]
            by_name = isinstance(loss, CustomLoss) or MARGIN_LOSSES.get(loss.name) == loss
            name = loss.name if by_name else repr(loss)
            lines += ax.plot(self.margins, values, color=colour, linestyle=dash, linewidth=1.6)
            names.append(short(name))
        ax.set(xlim=self.margins[[0, -1]], xlabel="margin y f", ylabel="loss", title="losses of the margin")
        ax.set_ylim(-0.05, max(1.1, min(self._HIGHEST, 1.05 * float(self.values.max(initial=0.0)))))
        frame(ax)
        legend(ax, lines, names)
