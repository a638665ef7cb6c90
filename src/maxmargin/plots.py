"""Pictures of fits and predictions, as scikit-learn's ``Display`` classes.

Every display keeps its data as attributes; ``plot`` draws it on given axes, or on a figure of its own that no global
state of matplotlib knows; ``save`` writes that figure. Needs matplotlib, which is loaded at the first plot.
Colour-blind readers can tell the colours apart, and no meaning rests on colour alone.
"""

from __future__ import annotations

import importlib
import io
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .data.text import replacing
from .errors import DataError, MissingDependencyError
from .losses import MARGIN_LOSSES, CustomLoss, Logistic, MarginLoss
from .problem import relative_gap

if TYPE_CHECKING:
    from .compare import Comparison
    from .kkt import KKTReport
    from .path import SVMPath

__all__ = [
    "CompareDisplay",
    "Display",
    "GapDisplay",
    "KKTDisplay",
    "LossDisplay",
    "ObjectiveDisplay",
    "PathDisplay",
    "SequenceDisplay",
    "TransitionDisplay",
]

Reals = NDArray[np.float64]

_BLUE, _VERMILLION, _GREY, _INK = "#0072B2", "#D55E00", "#999999", "#222222"
_WRONG = "#C62828"
_MOST_NUMBERS = 16  # labels up to which a heat map has room for numbers


def _matplotlib(module: str = "") -> Any:
    """matplotlib, or a module of it.

    Raises
    ------
    MissingDependencyError
        When matplotlib is not installed.
    """
    try:
        return importlib.import_module(f"matplotlib{module}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise MissingDependencyError("plots need matplotlib: pip install maxmargin[plots]") from None


class Display(ABC):
    """What all displays share; a kind of display says in ``_draw`` what is drawn.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the last ``plot`` drew.
    figure_ : matplotlib Figure
        The figure that holds them.
    """

    ax_: Any
    figure_: Any

    def plot(self, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure when None; returns the display."""
        own = ax is None
        if own:
            figure = _matplotlib(".figure").Figure(figsize=self._size(), layout="constrained")
            ax = figure.add_subplot()
        self.ax_, self.figure_, self._own = ax, ax.figure, own
        self._draw(ax)
        return self

    def save(self, path: str | os.PathLike[str], *, dpi: float = 150) -> None:
        """Write the figure, drawn first if need be; the end of the name (``.png``, ``.pdf``, ``.svg``) is its format.

        The file appears in one step: a failure leaves an old one as it was.
        """
        if not hasattr(self, "figure_"):
            self.plot()
        kind = os.path.splitext(os.fsdecode(path))[1].removeprefix(".").lower() or "png"
        known = self.figure_.canvas.get_supported_filetypes()
        if kind not in known:
            raise ValueError(f"no picture format {kind!r}; choose one of {', '.join(sorted(known))}")
        with replacing(path) as file:
            self.figure_.savefig(file, format=kind, dpi=dpi)

    def _repr_png_(self) -> bytes | None:
        """Shown by notebooks, unless the figure is the user's, which they show anyway."""
        if not getattr(self, "_own", False):
            return None
        out = io.BytesIO()
        self.figure_.savefig(out, format="png", dpi=100)
        return out.getvalue()

    def _size(self) -> tuple[float, float]:
        """Width and height of an own figure in inches."""
        return 6.4, 4.2

    @abstractmethod
    def _draw(self, ax: Any) -> None:
        """Draw the data on given axes."""


class _HistoryDisplay(Display):
    """Figures of a fit, pass by pass.

    Parameters
    ----------
    passes : array of shape (n,)
    primal, dual : arrays of shape (n,)
    exact : bool array of shape (n,)
        False where the figures are estimates met on the way.
    tol : float, optional
        Relative gap that the fit was asked for.
    name : str
        What was fitted, for the title.
    """

    def __init__(
        self,
        passes: ArrayLike,
        primal: ArrayLike,
        dual: ArrayLike,
        exact: ArrayLike,
        *,
        tol: float | None = None,
        name: str = "fit",
    ) -> None:
        self.passes = np.asarray(passes, np.float64)
        self.primal = np.asarray(primal, np.float64)
        self.dual = np.asarray(dual, np.float64)
        self.exact = np.asarray(exact, bool)
        self.tol = tol
        self.name = name

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the last fit of an estimator with a ``history_``.

        Raises
        ------
        DataError
            When the estimator was not fitted, or its solver keeps no dual bound (a perceptron).
        """
        name = type(estimator).__name__
        history = [
            record
            for record in _fitted(estimator, "history_")
            if math.isfinite(record.primal) and math.isfinite(record.dual)
        ]
        if not history:
            solver = getattr(estimator, "solver_", "solver")
            raise DataError(f"{name} has no gap to draw: its {solver} keeps no primal and dual objective")
        columns = zip(*((r.passes, r.primal, r.dual, r.exact) for r in history))
        return cls(*columns, tol=getattr(estimator, "tol", None), name=name).plot(ax)

    def _line(self, ax: Any, values: Reals, shown: NDArray[np.bool_], colour: str, label: str, dash: str = "-") -> None:
        """A line through all values, with dots at those computed exactly."""
        exact = shown & self.exact
        ax.plot(self.passes[shown], values[shown], color=colour, linewidth=1.4, linestyle=dash, label=label)
        ax.plot(self.passes[exact], values[exact], "o", color=colour, markersize=5)

    def _finish(self, ax: Any, quantity: str, title: str) -> None:
        """Names, grid and legend."""
        ax.plot([], [], "o", color=_GREY, markersize=5, label="computed exactly; estimates elsewhere")
        ax.set(xlabel="passes over the data", ylabel=quantity, title=title)
        ax.xaxis.set_major_locator(_matplotlib(".ticker").MaxNLocator(integer=True))
        ax.grid(color=_GREY, alpha=0.25, linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False)


class GapDisplay(_HistoryDisplay):
    """Relative duality gap against passes, on a logarithmic scale.

    The gap bounds how far the model's objective lies above the optimum. Parameters: see :meth:`from_estimator`, or give
    ``passes``, ``primal``, ``dual`` and ``exact``, arrays of shape (n,), with ``tol`` and ``name`` for line and title.

    Examples
    --------
    >>> from maxmargin.plots import GapDisplay
    >>> display = GapDisplay([1, 2, 3], [9.0, 6.0, 5.5], [1.0, 4.0, 5.0], [True, False, True], tol=0.1)
    >>> display.gap.round(3).tolist()
    [0.889, 0.333, 0.091]
    """

    @property
    def gap(self) -> Reals:
        """``(primal - dual) / primal``."""
        return np.array([relative_gap(primal, dual) for primal, dual in zip(self.primal, self.dual)])

    def _draw(self, ax: Any) -> None:
        gap = self.gap
        self._line(ax, gap, gap > 0, _BLUE, "relative gap")
        if self.tol:
            ax.axhline(self.tol, color=_VERMILLION, linestyle="--", linewidth=1.2, label=f"asked for: {self.tol:g}")
        if (gap > 0).any() or self.tol:
            ax.set_yscale("log")
        self._finish(ax, "(primal − dual) / primal", f"{self.name}: duality gap")


class ObjectiveDisplay(_HistoryDisplay):
    """Primal and dual objective against passes: they close in on the optimum from both sides.

    Parameters as for :class:`GapDisplay`.
    """

    def _draw(self, ax: Any) -> None:
        everywhere = np.ones(len(self.passes), bool)
        ax.fill_between(self.passes, self.dual, self.primal, color=_GREY, alpha=0.15, linewidth=0)
        self._line(ax, self.primal, everywhere, _BLUE, "primal (objective of the weights)")
        self._line(ax, self.dual, everywhere, _VERMILLION, "dual (lower bound of the optimum)", "--")
        if self.dual.min() > 0 and self.primal.max() > 100 * self.dual.max():
            ax.set_yscale("log")
        self._finish(ax, "objective", f"{self.name}: the optimum lies in between")


class TransitionDisplay(Display):
    """Heat map of transition weights, from the label of a row to the label of a column.

    Parameters
    ----------
    transition : array of shape (n_labels, n_labels)
        ``[from, to]``; ``-inf`` is forbidden and left grey.
    labels : sequence of length n_labels
    name : str
        What was fitted.
    """

    def __init__(self, transition: ArrayLike, labels: Sequence[Any], *, name: str = "model") -> None:
        self.transition = np.asarray(transition, np.float64)
        self.labels = list(labels)
        self.name = name
        if self.transition.shape != (len(self.labels),) * 2:
            raise DataError(f"transition has shape {self.transition.shape}, but there are {len(self.labels)} labels")

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> TransitionDisplay:
        """Draw ``transition_`` of a fitted estimator, with ``classes_`` as labels.

        Raises
        ------
        DataError
            When the estimator was not fitted or has no transitions.
        """
        weights = _fitted(estimator, "transition_")
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
        colormap = _matplotlib().colormaps[colours].with_extremes(bad="#dddddd")
        picture = ax.imshow(np.where(finite, self.transition, np.nan), cmap=colormap, vmin=low, vmax=high)
        ticks = range(0, n, max(1, math.ceil(n / 40)))
        names = [str(self.labels[k]) for k in ticks]
        ax.set_xticks(ticks, names, rotation=90 if max(map(len, names)) > 3 else 0)
        ax.set_yticks(ticks, names)
        ax.set(xlabel="to", ylabel="from", title=f"{self.name}: transition weights")
        ax.tick_params(length=0)
        ax.figure.colorbar(picture, ax=ax, fraction=0.046, pad=0.03)
        if n <= _MOST_NUMBERS:
            places = 1 if max(-low, high) >= 1 else 2
            for row, column in np.argwhere(finite):
                value = self.transition[row, column]
                red, green, blue, _ = picture.to_rgba(value)
                dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.5
                text = f"{round(value, places) + 0.0:.{places}f}".replace("-", "−")  # no minus before 0.0
                ax.text(column, row, text, ha="center", va="center", fontsize=7, color="white" if dark else _INK)


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
    """

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
        for name, found in {"truth": self.truth, **self.readings}.items():
            if [len(labels) for labels in found] != [len(strip) for strip in self.pictures]:
                raise DataError(f"{name}: its sequences are not as many and as long as those of the pictures")

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
        ax.set_title(f"{self.title}\n(wrong ones in red boxes)", fontsize=11)

    def _line(self, ax: Any, name: str, labels: list[Any], truth: list[Any] | None, left: float, y: float) -> None:
        """One line of readings below a strip, its name at the left."""
        ax.text(left - 0.25, y, name, ha="right", va="center", fontsize=7.5, color="#555555")
        for t, label in enumerate(labels):
            wrong = truth is not None and label != truth[t]
            style: dict[str, Any] = dict(color=_INK, weight="bold" if truth is None else "normal")
            if wrong:
                box = dict(boxstyle="square,pad=0.15", facecolor=_WRONG, edgecolor="none")
                style = dict(color="white", weight="bold", bbox=box)
            ax.text(left + t + 0.5, y, str(label), ha="center", va="center", fontsize=9, **style)


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

    _MARKS = (("o", _GREY, 18), ("s", _BLUE, 42), ("^", "#B8860B", 42), ("X", _VERMILLION, 52))
    _STEPS = 200

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

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, *, ax: Any = None, **options: Any
    ) -> KKTDisplay:
        """Draw the report of a model on its training data; parameters and errors of :func:`~maxmargin.kkt_report`."""
        from .kkt import kkt_report

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
        ax.spines[["top", "right"]].set_visible(False)
        for name, count, (marker, colour, size) in zip(report.category_names, report.counts, self._MARKS):
            ax.scatter([], [], size, colour, marker=marker, label=f"{name}: {count}", linewidths=0)
        ax.legend(frameon=False, fontsize=8, ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.13))

    def _draw_margins(self, ax: Any) -> None:
        report = self.report
        order = np.argsort(report.margins, kind="stable")
        place, margins, missing = np.arange(len(order)), report.margins[order], report.xi[order]
        short = missing > 0.0
        ax.vlines(place[short], margins[short], (margins + missing)[short], color=_GREY, linewidth=0.8, zorder=1)
        ax.axhline(0.0, color=_INK, linewidth=1.2)
        if (report.wanted == 1.0).all():
            ax.axhline(1.0, color=_INK, linewidth=1.0, linestyle="--")
        for k, (marker, colour, size) in enumerate(self._MARKS):
            mine = report.category[order] == k
            ax.scatter(place[mine], margins[mine], size, colour, marker=marker, linewidths=0, zorder=2)
        ax.set(xlabel="rows in ascending order", ylabel="margin y f")

    def _draw_plane(self, ax: Any, points: Reals) -> None:
        report = self.report
        low, high = points.min(0), points.max(0)
        room = 0.08 * np.where(high > low, high - low, 1.0)
        axes = [np.linspace(low[j] - room[j], high[j] + room[j], self._STEPS) for j in range(2)]
        x, y = np.meshgrid(*axes)
        assert self.score is not None
        values = self.score(np.column_stack([x.ravel(), y.ravel()])).reshape(x.shape)
        for level, width, dash in ((-1.0, 1.0, "dashed"), (0.0, 1.8, "solid"), (1.0, 1.0, "dashed")):
            if values.min() < level < values.max():  # else there is nothing to draw, and a warning says so
                ax.contour(x, y, values, [level], colors=_INK, linewidths=width, linestyles=dash, zorder=1)
        short = report.xi > 0.0
        if report.weights is not None and report.weights.any():
            step = report.sign * report.xi / float(report.weights @ report.weights)
            ends = points + step[:, None] * report.weights
            lines = np.stack([points, ends, np.full_like(points, np.nan)], axis=1)[short].reshape(-1, 2)
            ax.plot(lines[:, 0], lines[:, 1], color=_GREY, linewidth=0.8, zorder=1)
        else:
            ax.scatter(*points[short].T, 90.0 * report.xi[short], facecolors="none", edgecolors=_GREY, zorder=1)
        for k, (marker, colour, size) in enumerate(self._MARKS):
            mine = report.category == k
            face = [colour if positive else "white" for positive in report.sign[mine] > 0.0]
            ax.scatter(*points[mine].T, size, face, marker=marker, edgecolors=colour, linewidths=1.0, zorder=2)
        ax.set(xlim=axes[0][[0, -1]], ylim=axes[1][[0, -1]])
        first, second = self.labels
        ax.set(xlabel=f"feature 0 (filled: {second!s:.20}, hollow: {first!s:.20})", ylabel="feature 1")


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
        When a loss is none, or the margins are no interval.

    Examples
    --------
    >>> from maxmargin.plots import LossDisplay
    >>> LossDisplay(["hinge", "exponential"], margins=(-1, 1)).values[:, 0].round(3).tolist()
    [2.0, 2.718]
    """

    _STYLES = ((_INK, "-"), (_BLUE, "-"), (_BLUE, "--"), (_VERMILLION, "-"), (_VERMILLION, "--"), ("#B8860B", "-."))
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
        low, high = margins
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise DataError(f"margins must be two numbers in ascending order, not {margins!r}")
        self.margins = np.linspace(low, high, 1001)
        self.values = np.array([loss.value(self.margins) for loss in self.losses])

    def _draw(self, ax: Any) -> None:
        for k, (loss, values) in enumerate(zip(self.losses, self.values)):
            colour, dash = self._STYLES[k % len(self._STYLES)]
            by_name = isinstance(loss, CustomLoss) or MARGIN_LOSSES.get(loss.name) == loss
            name = loss.name if by_name else repr(loss)
            ax.plot(self.margins, values, color=colour, linestyle=dash, linewidth=1.6, label=name)
        ax.set(xlim=self.margins[[0, -1]], xlabel="margin y f", ylabel="loss", title="losses of the margin")
        ax.set_ylim(-0.05, max(1.1, min(self._HIGHEST, 1.05 * float(self.values.max(initial=0.0)))))
        ax.grid(color=_GREY, alpha=0.25, linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False)


class CompareDisplay(Display):
    """Several solvers on one problem: relative gap against passes and time, and below it the test loss.

    Time is that of the clock for gaps, CPU time of whole fits for test losses.

    Parameters
    ----------
    comparison : Comparison
        Of :func:`~maxmargin.compare_solvers`.

    Attributes
    ----------
    axes_ : array of matplotlib Axes
        Where the last ``plot`` drew, of shape (1 or 2, 2).
    """

    _COLOURS = (_BLUE, _VERMILLION, "#009E73", "#CC79A7", "#B8860B", _INK, "#56B4E9", _GREY)
    _DASHES = ("-", "--", "-.", ":")

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        self.runs = [run for run in comparison.runs if run.certificate is not None]
        if not self.runs:
            raise DataError("nothing to draw: every solver refused the problem")
        self.with_test = any(run.test_curve for run in self.runs)

    def _size(self) -> tuple[float, float]:
        return 9.0, 7.0 if self.with_test else 3.8

    def _draw(self, ax: Any) -> None:
        ax.set_axis_off()
        grid = ax.get_subplotspec().subgridspec(2 if self.with_test else 1, 2)
        self.axes_ = np.atleast_2d(grid.subplots())
        for k, run in enumerate(self.runs):
            colour, dash = (
                self._COLOURS[k % len(self._COLOURS)],
                self._DASHES[(k + k // len(self._COLOURS)) % len(self._DASHES)],
            )
            known = [record for record in run.history if 0.0 < record.relative_gap < math.inf]
            for column, places in enumerate(([r.passes for r in known], [r.seconds for r in known])):
                gaps = [record.relative_gap for record in known]
                self.axes_[0, column].plot(places, gaps, dash, color=colour, linewidth=1.4, label=run.name)
                if run.test_curve:
                    losses = [point[2] for point in run.test_curve]
                    self.axes_[1, column].plot(
                        [point[column] for point in run.test_curve],
                        losses,
                        dash,
                        color=colour,
                        marker=".",
                        linewidth=1.2,
                    )
        for column, what in enumerate(("passes over the data", "seconds")):
            self.axes_[0, column].set(xscale="log", yscale="log", ylabel="relative gap" if column == 0 else "")
            if self.with_test:
                label = f"test: {self.comparison.measure}" if column == 0 else ""
                self.axes_[1, column].set(xscale="log", ylabel=label)
            self.axes_[-1, column].set_xlabel(what)
        for each in self.axes_.ravel():
            each.grid(color=_GREY, alpha=0.25, linewidth=0.6)
            each.spines[["top", "right"]].set_visible(False)
        self.axes_[0, 0].legend(frameon=False, fontsize="small")


class PathDisplay(Display):
    """The effect of ``C``: length of the weights, training errors and support vectors along a path.

    Parameters
    ----------
    Cs, norms : arrays of shape (n,)
        In any order; norms of 0 are left out.
    errors, support : arrays of shape (n,)
        Shares of the rows, from 0 to 1.
    tested : array of shape (n,), optional
        Shares of errors on other rows.
    """

    def __init__(
        self,
        Cs: ArrayLike,
        norms: ArrayLike,
        errors: ArrayLike,
        support: ArrayLike,
        *,
        tested: ArrayLike | None = None,
    ) -> None:
        given = {"Cs": Cs, "norms": norms, "errors": errors, "support": support, "tested": tested}
        values = {name: np.asarray(value, np.float64) for name, value in given.items() if value is not None}
        order = np.argsort(values["Cs"], kind="stable")
        for name, value in values.items():
            if value.shape != order.shape or not len(order):
                raise DataError(f"{name} has shape {value.shape}; it needs one number for each of the {len(order)} Cs")
        self.Cs, self.norms, self.errors, self.support = (values[name][order] for name in list(given)[:4])
        self.tested = values["tested"][order] if tested is not None else None

    @classmethod
    def from_path(cls, path: SVMPath, *, X: Any = None, y: Any = None, ax: Any = None) -> PathDisplay:
        """Draw a path; with other rows ``X`` and their classes ``y`` also the errors on them."""
        if (X is None) != (y is None):
            raise ValueError("PathDisplay: give both X and y, or neither")
        tested = None if X is None else (path.predict(X) != np.asarray(y)).mean(1)
        return cls(path.Cs, path.norms, path.training_errors, path.n_support / path.n_rows, tested=tested).plot(ax)

    def _draw(self, ax: Any) -> None:
        shown = self.norms > 0.0
        lines = ax.plot(self.Cs[shown], self.norms[shown], "o-", color=_BLUE, markersize=4, label="|w| (left)")
        right = ax.twinx()
        shares = [("training errors", self.errors, "s--", _VERMILLION), ("support vectors", self.support, "^:", _INK)]
        if self.tested is not None:
            shares.append(("errors on other rows", self.tested, "x-.", _WRONG))
        for name, share, style, colour in shares:
            lines += right.plot(self.Cs, 100.0 * share, style, color=colour, markersize=4, label=name)
        ax.set_xscale("log")
        if shown.any():
            ax.set_yscale("log")
        ax.set(xlabel="C", ylabel="|w|", title="The effect of C")
        right.set(ylabel="% of the rows", ylim=(0.0, None))
        ax.grid(color=_GREY, alpha=0.25, linewidth=0.6)
        for each in (ax, right):
            each.spines["top"].set_visible(False)
        ax.legend(handles=lines, frameon=False)


def _fitted(estimator: Any, name: str) -> Any:
    """An attribute that a fit leaves."""
    if not hasattr(estimator, name):
        raise DataError(f"{type(estimator).__name__} has no {name}: fit it first, or draw a model that has one")
    return getattr(estimator, name)
