"""The perceptron in the plane: how every mistake turns the weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import DataError
from ..solvers.linear.perceptron import perceptron_pass
from ..solvers.linear.rows import Rows
from ..solvers.linear.task import LinearTask
from ..solvers.passes import STATE_SIZE
from ..terms import hinge
from ._base import BLUE, GREY, INK, VERMILLION, Display, Reals, frame, parted, two_signs

__all__ = ["PerceptronDisplay"]


class PerceptronDisplay(Display):
    """The perceptron in the plane, mistake by mistake: ``w <- w + y_i x_i``, from ``w = 0``.

    Rows are visited as they are given, pass after pass, without an intercept. On the left are the rows, a number at
    each one that caused a mistake, and the lines ``<w, x> = 0`` after the mistakes, from faint to dark; on the right
    the weights.

    Parameters
    ----------
    X : array of shape (n, 2)
    y : array of shape (n,)
        Two classes; the second one in order is +1.
    max_passes : int, default=100

    Attributes
    ----------
    weights : array of shape (m + 1, 2)
        After each of ``m`` mistakes, from 0 on.
    mistakes : int64 array of shape (m,)
        Rows that caused them.
    separated : bool
        Whether a whole pass met no mistake.
    axes_ : array of matplotlib Axes
        Where the last ``plot`` drew: rows, and weights.

    Raises
    ------
    DataError
        For data of another shape, other than two classes, or ``max_passes`` below 1.

    Examples
    --------
    >>> from maxmargin.plots import PerceptronDisplay
    >>> display = PerceptronDisplay([[1.0, 0.0], [0.0, 1.0]], [1, -1])
    >>> display.weights.tolist(), display.mistakes.tolist(), display.separated
    ([[0.0, 0.0], [1.0, 0.0], [1.0, -1.0]], [0, 1], True)
    """

    _STYLES = (("o", VERMILLION), ("s", BLUE))
    _NUMBERED = 12

    def __init__(self, X: ArrayLike, y: ArrayLike, *, max_passes: int = 100) -> None:
        self.points = np.asarray(X, np.float64)
        if self.points.ndim != 2 or self.points.shape[1] != 2:
            raise DataError(f"X must hold two finite features a row, not an array of shape {self.points.shape}")
        if len(bad := np.argwhere(~np.isfinite(self.points))):
            row, column = bad[0]
            raise DataError(f"X must hold two finite features a row; X[{row}, {column}] is {self.points[row, column]}")
        self.sign = two_signs(y, len(self.points))
        self.classes = np.unique(np.asarray(y)).tolist()
        if max_passes < 1:
            raise DataError(f"max_passes must be at least 1, not {max_passes!r}")
        self._run(max_passes)

    def _run(self, max_passes: int) -> None:
        """The visits, one by one, so that no turn is missed."""
        ones = np.ones(len(self.points))
        task = LinearTask(
            Rows(self.points), hinge(self.sign, ones), 1.0, ones, "none", 0.0, np.random.default_rng(0)
        )  # fmt: skip
        w, state, none = np.zeros(2), np.zeros(STATE_SIZE), np.empty(0)
        path: list[Reals] = [w.copy()]
        mistakes: list[int] = []
        self.separated = False
        for _ in range(max_passes):
            before = len(mistakes)
            for i in range(len(self.points)):
                if perceptron_pass(task, w, none, np.array([i]), ones, state):
                    path.append(w.copy())
                    mistakes.append(i)
            self.separated = len(mistakes) == before
            if self.separated:
                break
        self.weights, self.mistakes = np.array(path), np.array(mistakes, np.int64)

    def _size(self) -> tuple[float, float]:
        return 9.0, 4.3

    def _draw(self, ax: Any) -> None:
        (self.axes_,), below = parted(ax, 1, 2, type(self).__name__)
        self._draw_rows(self.axes_[0])
        self._draw_weights(self.axes_[1])
        handles, names = self.axes_[0].get_legend_handles_labels()
        arrow, name = self.axes_[1].get_legend_handles_labels()
        below.legend(handles + arrow, names + name, frameon=False, fontsize="small", ncols=3, loc="center")

    def _shade(self, k: int) -> float:
        """How dark the line after the ``k``-th mistake is."""
        return 0.2 + 0.8 * (k / len(self.mistakes)) ** 2

    def _draw_rows(self, ax: Any) -> None:
        for value, label, (marker, colour) in zip((-1.0, 1.0), self.classes, self._STYLES):
            mine = self.sign == value
            ax.scatter(*self.points[mine].T, 16, colour, marker=marker, linewidths=0, label=f"class {label!s:.20}")
        reach = 1.1 * float(np.abs(self.points).max())
        for k, w in enumerate(self.weights[1:], 1):
            along = np.array([-w[1], w[0]]) * 2.0 * reach / max(float(np.linalg.norm(w)), 1e-300)
            last = k == len(self.mistakes)
            ax.plot(
                [-along[0], along[0]], [-along[1], along[1]], "-" if last else "--", color=INK,
                linewidth=2.0 if last else 1.0, alpha=self._shade(k), zorder=1,
            )  # fmt: skip
        for k, i in enumerate(self.mistakes.tolist()[: self._NUMBERED], 1):
            ax.annotate(str(k), self.points[i], xytext=(0, 6), textcoords="offset points", ha="center", fontsize=9)
            ax.scatter(*self.points[i], 60, "none", edgecolors=INK, linewidths=1.0, zorder=3)
        verb = "separated after" if self.separated else "not separated after"
        ax.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xlabel="feature 0", ylabel="feature 1")
        ax.set_title(f"{verb} {len(self.mistakes)} mistakes", fontsize=11)
        frame(ax)

    def _draw_weights(self, ax: Any) -> None:
        w = self.weights
        for k in range(1, len(w)):
            arrow = dict(arrowstyle="->", color=INK, alpha=self._shade(k), shrinkA=0, shrinkB=0)
            ax.annotate("", w[k], xytext=w[k - 1], arrowprops=arrow)
            if k <= self._NUMBERED:
                middle = 0.5 * (w[k] + w[k - 1])
                ax.annotate(str(k), middle, xytext=(4, 4), textcoords="offset points", fontsize=9)
        ax.plot(*w.T, ".", color=GREY, markersize=4)
        ax.plot([0, w[-1, 0]], [0, w[-1, 1]], color=BLUE, linewidth=2.0, zorder=1, label="last weights")
        ax.margins(0.12)
        ax.set(xlabel="weight 0", ylabel="weight 1", aspect="equal", adjustable="datalim")
        ax.set_title("the weights, turned by each", fontsize=11)
        frame(ax)
