"""Conditions of optimality of a binary machine: its rows in the plane, or by their margins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import DataError
from ._base import BLUE, GREY, INK, OCHRE, VERMILLION, Display, Reals, frame, legend, short

if TYPE_CHECKING:
    from ..kkt import KKTReport

__all__ = ["KKTDisplay"]


class KKTDisplay(Display):
    """Rows of a binary machine by the category that their multipliers put them in.

    Of two features the plane: the line between the classes, the margins (dashed), and from every row with a slack a
    line to the margin that it should be beyond; with a kernel, whose margins are curves, a ring of an area that is
    proportional to the slack. Of other data the margins ``y f`` of all rows in ascending order, with their slacks. Each
    category has a marker and a colour; in the plane markers of the second class are filled.

    Parameters
    ----------
    report : KKTReport
    points : array of shape (n, 2), optional
        Features of the rows of the report; the plane is drawn where they are given.
    score : callable, optional
        Scores with the intercept of the report, of an array of shape (k, 2); needed with ``points``.
    labels : sequence of two, optional
        Names of the classes.
    """

    _MARKS = (("o", GREY, 18), ("s", BLUE, 42), ("^", OCHRE, 42), ("X", VERMILLION, 52))
    _STEPS = 200
    _RING, _LARGEST_RING = 90.0, 900.0  # area of a ring for a slack of 1, and of the largest

    def __init__(
        self,
        report: KKTReport,
        points: ArrayLike | None = None,
        score: Callable[[Reals], Reals] | None = None,
        *,
        labels: Sequence[Any] = (-1, 1),
    ) -> None:
        self.report, self.score, self.labels = report, score, list(labels)
        self.points = None if points is None else np.asarray(points, np.float64)
        if self.points is not None and (self.points.shape != (len(report.rows), 2) or score is None):
            raise DataError(f"the plane needs a score and points of shape {(len(report.rows), 2)}")
        if self.points is not None and len(bad := np.argwhere(~np.isfinite(self.points))):
            row, column = bad[0]
            raise DataError(f"points[{row}, {column}] is {self.points[row, column]}; it must be a finite number")

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, *, ax: Any = None, **options: Any
    ) -> KKTDisplay:
        """Draw the report of a model on its training data; parameters and errors of :func:`~maxmargin.kkt_report`."""
        from ..kkt import kkt_report

        report = kkt_report(model, X, y, sample_weight, **options)
        points, score = None, None
        if model.n_features_in_ == 2 and model.kernel != "precomputed":
            rows = X.toarray() if hasattr(X, "toarray") else np.asarray(X, np.float64)
            points, shift = rows[report.rows], report.b - float(model.intercept_[0])

            def score(grid: Reals) -> Reals:
                return np.asarray(model.decision_function(grid)) + shift

        return cls(report, points, score, labels=model.classes_.tolist()).plot(ax)

    def _draw(self, ax: Any) -> None:
        if self.points is None:
            self._draw_margins(ax)
        else:
            self._draw_plane(ax, self.points)
        report = self.report
        slacks = f"{report.errors} errors, sum of slacks {report.error_bound:.4g}"
        ax.set_title(f"{report.name}, C={report.C:g}: {slacks}", fontsize=11)
        frame(ax, grid=False)
        for name, count, (marker, colour, size) in zip(report.category_names, report.counts, self._MARKS):
            ax.scatter([], [], size, colour, marker=marker, label=f"{name}: {count}", linewidths=0)
        legend(ax, fontsize=8, ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.13))

    def _draw_margins(self, ax: Any) -> None:
        report = self.report
        order = np.argsort(report.margins, kind="stable")
        place, margins, missing = np.arange(len(order)), report.margins[order], report.xi[order]
        late = missing > 0.0
        ax.vlines(place[late], margins[late], (margins + missing)[late], color=GREY, linewidth=0.8, zorder=1)
        ax.axhline(0.0, color=INK, linewidth=1.2)
        if (report.wanted == 1.0).all():
            ax.axhline(1.0, color=INK, linewidth=1.0, linestyle="--")
        for k, (marker, colour, size) in enumerate(self._MARKS):
            mine = report.category[order] == k
            ax.scatter(place[mine], margins[mine], size, colour, marker=marker, linewidths=0, zorder=2)
        ax.set(xlabel="rows in ascending order", ylabel="margin y f")

    def _draw_plane(self, ax: Any, points: Reals) -> None:
        report = self.report
        low, high = points.min(0), points.max(0)
        room = 0.08 * np.where(high > low, high - low, 1.0)
        axes = [np.linspace(low[j] - room[j], high[j] + room[j], self._STEPS) for j in range(2)]
        self._draw_score(ax, axes)
        self._draw_slacks(ax, points)
        for k, (marker, colour, size) in enumerate(self._MARKS):
            mine = report.category == k
            face = [colour if positive else "white" for positive in report.sign[mine] > 0.0]
            ax.scatter(*points[mine].T, size, face, marker=marker, edgecolors=colour, linewidths=1.0, zorder=2)
        ax.set(xlim=axes[0][[0, -1]], ylim=axes[1][[0, -1]])
        first, second = self.labels
        names = f"(filled: {short(second, 20)}, hollow: {short(first, 20)})"
        ax.set_xlabel(f"feature 0 {names}", parse_math=False)
        ax.set_ylabel("feature 1")

    def _draw_score(self, ax: Any, axes: Sequence[Reals]) -> None:
        """The line between the classes, and the margins."""
        x, y = np.meshgrid(*axes)
        assert self.score is not None
        values = self.score(np.column_stack([x.ravel(), y.ravel()])).reshape(x.shape)
        for level, width, dash in ((-1.0, 1.0, "dashed"), (0.0, 1.8, "solid"), (1.0, 1.0, "dashed")):
            if values.min() < level < values.max():  # else there is nothing to draw, and a warning says so
                ax.contour(x, y, values, [level], colors=INK, linewidths=width, linestyles=dash, zorder=1)

    def _draw_slacks(self, ax: Any, points: Reals) -> None:
        """Lines from rows with a slack to their margin, or rings where margins are curves."""
        report = self.report
        late = report.xi > 0.0
        if report.weights is not None and report.weights.any():
            step = report.sign * report.xi / float(report.weights @ report.weights)
            ends = points + step[:, None] * report.weights
            lines = np.stack([points, ends, np.full_like(points, np.nan)], axis=1)[late].reshape(-1, 2)
            ax.plot(lines[:, 0], lines[:, 1], color=GREY, linewidth=0.8, zorder=1)
        else:
            area = min(self._RING, self._LARGEST_RING / max(float(report.xi.max()), 1e-300))
            ax.scatter(*points[late].T, area * report.xi[late], facecolors="none", edgecolors=GREY, zorder=1)
