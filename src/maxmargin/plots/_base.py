"""What all displays share: figures and files, colours, a plain frame, and the one place that loads matplotlib."""

from __future__ import annotations

import importlib
import io
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..data.text import replacing
from ..errors import DataError, MissingDependencyError

__all__ = [
    "BLUE",
    "DOTS",
    "GREY",
    "INK",
    "OCHRE",
    "VERMILLION",
    "WRONG",
    "Display",
    "Reals",
    "check_matplotlib",
    "exact_and_estimates",
    "fitted",
    "frame",
    "legend",
    "load_matplotlib",
    "log_ticks",
    "parted",
    "short",
    "two_signs",
]

Reals = NDArray[np.float64]

# Colour-blind readers can tell these apart.
BLUE, VERMILLION, OCHRE, GREY, INK = "#0072B2", "#D55E00", "#B8860B", "#999999", "#222222"
WRONG = "#C62828"

DOTS = "dots: computed exactly; faint: estimates"  # of histories, in legends

# Where logarithmic axes that span less than so many decades have numbers: apart by a seventh of the axis at least, and
# two at least.
_NUMBERS = ((1.0, (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)), (1.8, (1.0, 2.0, 5.0)), (3.0, (1.0, 3.0)))
_ROUND = 0.5  # below that, round numbers


def load_matplotlib(module: str = "") -> Any:
    """matplotlib, or a module of it, loaded here and not before.

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


def check_matplotlib() -> None:
    """Raise :class:`~maxmargin.errors.MissingDependencyError` where plots could not be drawn."""
    load_matplotlib()


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
            figure = load_matplotlib(".figure").Figure(figsize=self._size(), layout="constrained")
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
        """Shown by notebooks, drawn first if need be, unless the figure is the user's, which they show anyway."""
        if not hasattr(self, "figure_"):
            self.plot()
        if not self._own:
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


def fitted(estimator: Any, name: str) -> Any:
    """An attribute that a fit leaves."""
    if not hasattr(estimator, name):
        raise DataError(f"{type(estimator).__name__} has no {name}: fit it first, or draw a model that has one")
    return getattr(estimator, name)


def parted(ax: Any, rows: int, columns: int, name: str, *, share: bool = False) -> tuple[Any, Any]:
    """Part axes into a grid with a low strip below it.

    Parameters
    ----------
    ax : matplotlib Axes
        Of a grid themselves; they are hidden.
    rows, columns : int
    name : str
        Who asks, for the error.
    share : bool
        Whether the rows of the grid share their scales, and the numbers stand on the left alone.

    Returns
    -------
    axes : array of matplotlib Axes of shape (rows, columns)
    strip : matplotlib Axes
        Without a frame, for a legend that shall not lie on the data.

    Raises
    ------
    DataError
        When the axes are in no grid.
    """
    place = ax.get_subplotspec()
    if place is None:
        raise DataError(f"{name} needs axes of a grid, as subplots gives them: it parts them")
    ax.set_axis_off()
    upper, lower = place.subgridspec(2, 1, height_ratios=(12.0 * rows, 1.0))
    axes = upper.subgridspec(rows, columns).subplots(sharey="row" if share else False, squeeze=False)
    strip = ax.figure.add_subplot(lower)
    strip.set_axis_off()
    return axes, strip


def two_signs(y: ArrayLike, n: int) -> Reals:
    """Plus 1 for the second of two classes in order, minus 1 for the first, for ``n`` rows.

    Raises
    ------
    DataError
        For other than two classes, a row without one, or another number of rows.
    """
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise DataError(f"y has shape {labels.shape}; it needs one class for each of the {n} rows")
    missing = np.flatnonzero([label is None or label != label for label in labels.tolist()])
    if len(missing):
        raise DataError(f"y[{missing[0]}] is {labels[missing[0]]}: it needs a class for every row")
    try:
        classes = np.unique(labels)
    except TypeError:
        raise DataError("y has classes of several types, which have no order") from None
    if len(classes) != 2:
        raise DataError(f"the picture needs two classes, and y has {len(classes)}")
    return np.where(labels == classes[1], 1.0, -1.0)


def short(label: Any, most: int = 32) -> str:
    """A user's label as one line of so many characters at most."""
    text = " ".join(str(label).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def legend(ax: Any, handles: Sequence[Any] | None = None, names: Sequence[str] | None = None, **style: Any) -> None:
    """A legend without a frame, whose names stand as they are: no formulas between ``$``, none hidden for a ``_``.

    By default of all handles of ``ax`` that have a name.
    """
    if handles is None or names is None:
        handles, names = ax.get_legend_handles_labels()
    box = ax.legend(handles, [f"entry {k}" for k in range(len(names))], frameon=False, **style)
    for text, name in zip(box.get_texts(), names):
        text.set(text=name, parse_math=False)


def exact_and_estimates(ax: Any, x: ArrayLike, values: ArrayLike, exact: ArrayLike, **style: Any) -> tuple[Any, Any]:
    """A faint line through all values of a history, and a strong one with dots through those computed exactly.

    Returns
    -------
    estimates, exact : matplotlib Line2D
        The second is the one to be named.
    """
    x, values, exact = np.asarray(x, np.float64), np.asarray(values, np.float64), np.asarray(exact, bool)
    (estimates,) = ax.plot(x, values, **style, linewidth=0.9, alpha=0.7)
    (dots,) = ax.plot(x[exact], values[exact], **style, linewidth=1.6, marker="o", markersize=4)
    return estimates, dots


def log_ticks(ax: Any, name: str) -> None:
    """Make the axis ``name`` (``"x"`` or ``"y"``) logarithmic as it stands, with numbers that do not overprint.

    They are at powers of ten where there are several, else at simple multiples, or, on a short axis, at round numbers.
    Axes without data stay as they are: they have no logarithm.
    """
    if not ax.has_data():
        return
    ticker = load_matplotlib(".ticker")
    ax.set(**{f"{name}scale": "log"})
    low, high = getattr(ax, f"get_{name}lim")()
    ax.set(**{f"{name}lim": (low, high)})  # for good: other locators have other margins
    axis, decades = getattr(ax, f"{name}axis"), math.log10(high / low)
    if decades < _NUMBERS[-1][0]:
        locator = ticker.MaxNLocator(nbins=4)
        if decades >= _ROUND:
            locator = ticker.LogLocator(subs=next(subs for most, subs in _NUMBERS if decades < most), numticks=9)
        axis.set_major_locator(locator)
        axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        axis.set_major_locator(ticker.LogLocator(numticks=7))
    axis.set_minor_formatter(ticker.NullFormatter())


def frame(ax: Any, *, without: Sequence[str] = ("top", "right"), grid: bool = True) -> None:
    """Give axes a faint grid, and take away the sides of their frame that carry no scale."""
    if grid:
        ax.grid(color=GREY, alpha=0.25, linewidth=0.6)
    ax.spines[list(without)].set_visible(False)
