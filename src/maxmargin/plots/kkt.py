"""Conditions of optimality of a binary machine: its rows in the plane, or by their margins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import DataError
from ._base import BLUE, GREY, INK, OCHRE, VERMILLION, Display, Reals, frame, legend, load_matplotlib, short

if TYPE_CHECKING:
    from ..kkt import KKTReport

__all__ = ["KKTDisplay"]


class KKTDisplay(Display):
    """Rows of a binary machine by the category that their multipliers put them in.

    Of two features the plane: the line between the classes, the margins (dashed), and from every row with a slack a
    line to the margin that it should be beyond; with a kernel, whose margins are curves, a ring of an area that is
    proportional to the slack. The window is wide enough for margins that are up to three times the extent of the data
    beyond them; of others the legend says that they are not in the picture. Where rows want margins of their own the
    dashed lines are ``f = 1`` and ``f = -1``, and the legend says so. Of other data the margins ``y f`` of all rows in
    ascending order, with their slacks. Each category has a marker and a colour; in the plane markers of the second
    class are filled.

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
    _STEPS, _COARSE = 200, 121  # of the grids for the curves, and for where they are
    _FAR, _ROOM = 3.0, 0.08  # of the extent of the data: how far beyond them margins are looked for; around all of it
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
        handles, names = ax.get_legend_handles_labels()
        line = load_matplotlib(".lines").Line2D
        for name, style in self._lines.items():
            handles.append(line([], [], **style))
            names.append(name)
        legend(ax, handles, names, fontsize=8, ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.13))

    @property
    def _level(self) -> float | None:
        """The margin that all rows want; None where they want different ones."""
        wanted = self.report.wanted
        return float(wanted[0]) if (wanted == wanted[0]).all() else None

    def _draw_margins(self, ax: Any) -> None:
        report = self.report
        order = np.argsort(report.margins, kind="stable")
        place, margins, missing = np.arange(len(order)), report.margins[order], report.xi[order]
        late = missing > 0.0
        ax.vlines(place[late], margins[late], (margins + missing)[late], color=GREY, linewidth=0.8, zorder=1)
        ax.axhline(0.0, color=INK, linewidth=1.2)
        self._lines: dict[str, dict[str, Any]] = {"y f = 0": dict(color=INK, linewidth=1.2)}
        if self._level is not None:
            ax.axhline(self._level, color=INK, linewidth=1.0, linestyle="--")
            self._lines[f"wanted: y f = {self._level:g}"] = dict(color=INK, linewidth=1.0, linestyle="--")
        if late.any():
            own = "" if self._level is not None else ", to what the row wants"
            self._lines[f"slack{own}"] = dict(color=GREY, linewidth=0.8)
        for k, (marker, colour, size) in enumerate(self._MARKS):
            mine = report.category[order] == k
            ax.scatter(place[mine], margins[mine], size, colour, marker=marker, linewidths=0, zorder=2)
        ax.set(xlabel="rows in ascending order", ylabel="margin y f")

    def _draw_plane(self, ax: Any, points: Reals) -> None:
        report = self.report
        axes = self._window(points)
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

    def _scores_on(self, axes: Sequence[Reals]) -> tuple[Reals, Reals, Reals]:
        """A grid, and the scores of its points."""
        x, y = np.meshgrid(*axes)
        assert self.score is not None
        return x, y, self.score(np.column_stack([x.ravel(), y.ravel()])).reshape(x.shape)

    def _window(self, points: Reals) -> list[Reals]:
        """Both axes of the picture: around the points, and around such margins as are not too far from them."""
        low, high = points.min(0), points.max(0)
        extent = np.where(high > low, high - low, float((high - low).max()) or 1.0)
        far = [
            np.linspace(low[j] - self._FAR * extent[j], high[j] + self._FAR * extent[j], self._COARSE) for j in (0, 1)
        ]
        window = np.stack([low, high])
        if np.isfinite(far).all():
            x, y, values = self._scores_on(far)
            off = [np.abs(at - 0.5 * low[j] - 0.5 * high[j]) / extent[j] for j, at in enumerate((x, y))]
            inside, distance = np.maximum(*off) <= 0.5 + self._ROOM, np.hypot(*off)
            level = self._level or 1.0
            for beyond in (values <= -level, values >= level):
                other = beyond != beyond[inside][0]
                if other.any() and not other[inside].any():
                    nearest = np.unravel_index(np.where(other, distance, np.inf).argmin(), x.shape)
                    window = np.vstack([window, [x[nearest], y[nearest]]])
        low, high = window.min(0), window.max(0)
        room = self._ROOM * np.where(high > low, high - low, extent)
        return [np.linspace(low[j] - room[j], high[j] + room[j], self._STEPS) for j in (0, 1)]

    def _draw_score(self, ax: Any, axes: Sequence[Reals]) -> None:
        """The line between the classes, and the margins."""
        x, y, values = self._scores_on(axes)
        margin, drawn = self._level or 1.0, []
        for level, width, dash in ((-margin, 1.0, "dashed"), (0.0, 1.8, "solid"), (margin, 1.0, "dashed")):
            if values.min() < level < values.max():  # else there is nothing to draw, and a warning says so
                ax.contour(x, y, values, [level], colors=INK, linewidths=width, linestyles=dash, zorder=1)
                drawn.append(level)
        self._lines = {"f = 0": dict(color=INK, linewidth=1.8)} if 0.0 in drawn else {}
        found = [level for level in drawn if level]
        name = f"margins, f = ±{margin:g}"
        if self._level is None:
            name = "f = ±1; rows want margins of their own"
        if found:
            self._lines[name] = dict(color=INK, linewidth=1.0, linestyle="--")
        if len(found) < 2:
            missing = f"f = {-found[0]:g}" if found else f"f = ±{margin:g}"
            self._lines[f"{missing}: not in the picture"] = dict(linestyle="none")

    def _draw_slacks(self, ax: Any, points: Reals) -> None:
        """Lines from rows with a slack to their margin, or rings where margins are curves."""
        report = self.report
        late = report.xi > 0.0
        if report.weights is not None and report.weights.any():
            step = report.sign * report.xi / float(report.weights @ report.weights)
            ends = points + step[:, None] * report.weights
            lines = np.stack([points, ends, np.full_like(points, np.nan)], axis=1)[late].reshape(-1, 2)
            ax.plot(lines[:, 0], lines[:, 1], color=GREY, linewidth=0.8, zorder=1)
            name, style = "lines: slack", dict(color=GREY, linewidth=0.8)
        else:
            area = min(self._RING, self._LARGEST_RING / max(float(report.xi.max()), 1e-300))
            ax.scatter(*points[late].T, area * report.xi[late], facecolors="none", edgecolors=GREY, zorder=1)
            ring = dict(marker="o", markersize=9, markerfacecolor="none", markeredgecolor=GREY)
            name, style = "rings: slack, by area", dict(linestyle="none", **ring)
        if late.any():
            self._lines[name] = style
