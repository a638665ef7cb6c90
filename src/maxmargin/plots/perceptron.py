"""The perceptron in the plane: how every mistake turns the weights."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import DataError
from ..solvers.linear.perceptron import perceptron_pass
from ..solvers.linear.rows import Rows
from ..solvers.linear.task import LinearTask
from ..solvers.options import check_bool
from ..solvers.passes import STATE_SIZE
from ..terms import hinge
from ._base import BLUE, GREY, INK, VERMILLION, Display, Reals, frame, legend, parted, short, two_signs

__all__ = ["PerceptronDisplay"]


class PerceptronDisplay(Display):
    """The perceptron in the plane, mistake by mistake: ``w <- w + y_i x_i``, from ``w = 0``.

    Rows are visited as they are given, pass after pass. On the left are the rows, a number at each one that caused one
    of the first mistakes, and the lines ``<w, x> = 0`` after the mistakes, from faint to dark; on the right the
    weights of the two features. Of many mistakes the first are drawn, some of the others, and the last.

    Parameters
    ----------
    X : array of shape (n, 2)
    y : array of shape (n,)
        Two classes; the second one in order is +1.
    max_passes : int, default=100
    intercept : bool, default=False
        Add a constant feature of 1, whose weight is the intercept: the lines are ``<w, x> + b = 0`` then, and need not
        go through the origin.

    Attributes
    ----------
    weights : array of shape (m + 1, 2) or (m + 1, 3)
        After each of ``m`` mistakes, from 0 on; with an intercept it is the third column.
    mistakes : int64 array of shape (m,)
        Rows that caused them.
    passes : int
        That were made.
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
    _NUMBERED, _LINES, _STEPS = 12, 30, 2000  # mistakes with a number, with a line, and on the path of the weights

    def __init__(self, X: ArrayLike, y: ArrayLike, *, max_passes: int = 100, intercept: bool = False) -> None:
        self.points = np.asarray(X, np.float64)
        if self.points.ndim != 2 or self.points.shape[1] != 2:
            raise DataError(f"X must hold two finite features a row, not an array of shape {self.points.shape}")
        if len(bad := np.argwhere(~np.isfinite(self.points))):
            row, column = bad[0]
            raise DataError(f"X must hold two finite features a row; X[{row}, {column}] is {self.points[row, column]}")
        self.sign = two_signs(y, len(self.points))
        self.classes = np.unique(np.asarray(y)).tolist()
        self.intercept = intercept
        check_bool(self, "intercept")
        if not isinstance(max_passes, numbers.Integral) or isinstance(max_passes, bool) or max_passes < 1:
            raise DataError(f"max_passes must be at least 1, an integer, not {max_passes!r}")
        self._run(int(max_passes))

    def _run(self, max_passes: int) -> None:
        """The visits, one by one, so that no turn is missed."""
        ones = np.ones(len(self.points))
        rows = np.column_stack([self.points, ones]) if self.intercept else self.points
        task = LinearTask(Rows(rows), hinge(self.sign, ones), 1.0, ones, "none", 0.0, np.random.default_rng(0))
        w, state, none = np.zeros(rows.shape[1]), np.zeros(STATE_SIZE), np.empty(0)
        path: list[Reals] = [w.copy()]
        mistakes: list[int] = []
        self.separated = False
        for self.passes in range(1, max_passes + 1):
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
        return 9.0, 4.5

    def _draw(self, ax: Any) -> None:
        (self.axes_,), below = parted(ax, 1, 2, type(self).__name__)
        m = len(self.mistakes)
        self._shown = [*range(1, min(m, self._NUMBERED) + 1)]
        if m > self._NUMBERED:
            rest = np.linspace(self._NUMBERED + 1, m, min(m, self._LINES) - self._NUMBERED)
            self._shown += np.unique(rest.round().astype(int)).tolist()
        self._draw_rows(self.axes_[0])
        self._draw_weights(self.axes_[1])
        handles, names = self.axes_[0].get_legend_handles_labels()
        arrow, name = self.axes_[1].get_legend_handles_labels()
        names = [f"class {short(label, 20)}" for label in self.classes]
        legend(below, handles + arrow, names + name, fontsize="small", ncols=3, loc="center")

    def _title(self) -> str:
        """What came of it."""
        m = len(self.mistakes)
        mistakes = f"{m} mistake{'s' * (m != 1)}"
        if self.separated:
            return f"separated after {mistakes}" + ", with an intercept" * self.intercept
        passes = f"{self.passes} pass{'es' * (self.passes != 1)}"
        return f"not separated in {passes}\n({mistakes}, {'with an' if self.intercept else 'no'} intercept)"

    def _shade(self, k: int) -> float:
        """How dark the line after the ``k``-th mistake is."""
        return 0.2 + 0.8 * (k / len(self.mistakes)) ** 2

    def _window(self) -> tuple[Reals, float]:
        """Middle of the picture and half its side: around the origin, through which lines without an intercept go."""
        if not self.intercept:
            return np.zeros(2), 1.1 * float(np.abs(self.points).max()) or 1.0
        low, high = self.points.min(0), self.points.max(0)
        return 0.5 * low + 0.5 * high, 0.55 * float((high - low).max()) or 1.0

    def _line(self, k: int, middle: Reals, reach: float) -> Reals | None:
        """Two points of the line after the ``k``-th mistake, beyond the picture; None where its weights are 0."""
        size = float(np.hypot(*self.weights[k, :2]))
        b = float(self.weights[k, 2]) if self.intercept else 0.0
        if size == 0.0 or not math.isfinite(b / size):
            return None
        w = self.weights[k, :2] / size
        foot = middle - (float(w @ middle) + b / size) * w
        along = 2.0 * reach * np.array([-w[1], w[0]])
        return np.array([foot - along, foot + along])

    def _draw_rows(self, ax: Any) -> None:
        for value, (marker, colour) in zip((-1.0, 1.0), self._STYLES):
            mine = self.sign == value
            ax.scatter(*self.points[mine].T, 16, colour, marker=marker, linewidths=0, label="class")
        middle, reach = self._window()
        for k in self._shown:
            line, last = self._line(k, middle, reach), k == len(self.mistakes)
            if line is not None:
                style = "-" if last else "--"
                width = 2.0 if last else 1.0
                ax.plot(*line.T, style, color=INK, linewidth=width, alpha=self._shade(k), zorder=1)
        numbers: dict[int, list[str]] = {}
        for k, i in enumerate(self.mistakes.tolist()[: self._NUMBERED], 1):
            numbers.setdefault(i, []).append(str(k))
        for i, its in numbers.items():
            ax.annotate(
                ",".join(its), self.points[i], xytext=(0, 6), textcoords="offset points", ha="center", fontsize=9
            )
            ax.scatter(*self.points[i], 60, "none", edgecolors=INK, linewidths=1.0, zorder=3)
        (left, low), (right, high) = middle - reach, middle + reach
        ax.set(xlim=(left, right), ylim=(low, high), aspect="equal", xlabel="feature 0", ylabel="feature 1")
        ax.set_title(self._title(), fontsize=11)
        frame(ax)

    def _draw_weights(self, ax: Any) -> None:
        w = self.weights[:, :2]
        few = len(self.mistakes) <= self._LINES
        for k in self._shown if few else self._shown[: self._NUMBERED]:
            arrow = dict(arrowstyle="->", color=INK, alpha=self._shade(k), shrinkA=0, shrinkB=0)
            ax.annotate("", w[k], xytext=w[k - 1], arrowprops=arrow)
            if k <= self._NUMBERED:
                middle = 0.5 * (w[k] + w[k - 1])
                ax.annotate(str(k), middle, xytext=(4, 4), textcoords="offset points", fontsize=9)
        path = w if few else w[np.linspace(0, len(w) - 1, min(len(w), self._STEPS)).round().astype(int)]
        ax.plot(*path.T, "." if few else "-", color=GREY, markersize=4, linewidth=0.4, zorder=1)
        style: dict[str, Any] = dict(marker="o", markevery=[1], linewidth=2.0, zorder=2)  # seen at 0 too
        ax.plot([0, w[-1, 0]], [0, w[-1, 1]], color=BLUE, label="last weights", **style)
        ax.margins(0.12)
        ax.set(xlabel="weight 0", ylabel="weight 1", aspect="equal", adjustable="datalim")
        title = "the weights, turned by each"
        if self.intercept:
            title += "\n(of the two features: the intercept is not drawn)"
        ax.set_title(title, fontsize=11)
        frame(ax)
