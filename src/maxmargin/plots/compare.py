"""Several solvers on one problem."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..errors import DataError
from ._base import (
    BLUE,
    DOTS,
    GREY,
    INK,
    OCHRE,
    VERMILLION,
    Display,
    exact_and_estimates,
    frame,
    legend,
    load_matplotlib,
    log_ticks,
    parted,
    short,
)

if TYPE_CHECKING:
    from ..compare import Comparison, SolverRun

__all__ = ["CompareDisplay"]


class CompareDisplay(Display):
    """Several solvers on one problem: relative gap against passes and time, and below it the test loss.

    Time is that of a clock, from the start of the solver, for both: a test loss stands where the run had made as many
    passes. (The table of the comparison has the CPU time of whole fits.) A dot is a gap that was computed afresh,
    from weights and dual point, and so a proof; faint lines are estimates met on the way, which prove nothing.

    Parameters
    ----------
    comparison : Comparison
        Of :func:`~maxmargin.compare_solvers`.

    Attributes
    ----------
    axes_ : array of matplotlib Axes
        Where the last ``plot`` drew, of shape (1 or 2, 2).
    """

    _COLOURS = (BLUE, VERMILLION, "#009E73", "#CC79A7", OCHRE, INK, "#56B4E9", GREY)
    _DASHES = ("-", "--", "-.", ":")

    def __init__(self, comparison: Comparison) -> None:
        if not hasattr(comparison, "runs"):
            raise DataError(f"CompareDisplay draws what compare_solvers gives, not {comparison!r}")
        self.comparison = comparison
        self.runs = [run for run in comparison.runs if run.certificate is not None]
        if not self.runs:
            raise DataError("nothing to draw: every solver refused the problem")
        self.with_test = any(run.test_curve for run in self.runs)

    def _size(self) -> tuple[float, float]:
        return 9.0, 7.4 if self.with_test else 4.2

    def _draw(self, ax: Any) -> None:
        self.axes_, below = parted(ax, 2 if self.with_test else 1, 2, type(self).__name__)
        for k, run in enumerate(self.runs):
            colour = self._COLOURS[k % len(self._COLOURS)]
            dash = self._DASHES[(k + k // len(self._COLOURS)) % len(self._DASHES)]
            self._draw_run(run, colour, dash)
        self._name_axes()
        handles, names = self.axes_[0, 0].get_legend_handles_labels()
        handles.append(load_matplotlib(".lines").Line2D([], [], color=GREY, marker="o", markersize=4, linewidth=0.8))
        names = [short(run.name) for run in self.runs] + [DOTS]
        legend(below, handles, names, fontsize="small", ncols=min(len(handles), 4), loc="center")

    def _draw_run(self, run: SolverRun, colour: str, dash: str) -> None:
        """The curves of one solver: its gaps in the first row, its test losses in the second."""
        bounded = run.certificate is not None and run.certificate.bounded
        records = [r for r in run.history if bounded and 0.0 < r.relative_gap < math.inf]
        gaps, exact = [r.relative_gap for r in records], [r.exact for r in records]
        for ax, what in zip(self.axes_[0], ("passes", "seconds")):
            at = [float(getattr(r, what)) for r in records]
            exact_and_estimates(ax, at, gaps, exact, color=colour, linestyle=dash)[1].set_label("run")
        for column, ax in enumerate(self.axes_[1] if run.test_curve else ()):
            at, losses = [point[column] for point in run.test_curve], [point[2] for point in run.test_curve]
            ax.plot(at, losses, dash, color=colour, linewidth=1.2, marker=".")

    def _name_axes(self) -> None:
        """Scales, names and frames."""
        for column, what in enumerate(("passes over the data", "seconds by the clock, solving alone")):
            above = self.axes_[0, column]
            if not any(len(line.get_xdata()) for line in above.lines):
                above.text(0.5, 0.5, "no gap above 0 with a bound", ha="center", transform=above.transAxes, color=GREY)
                above.set(xticks=[], yticks=[])
            else:
                log_ticks(above, "x")
                log_ticks(above, "y")
            if self.with_test:
                log_ticks(self.axes_[1, column], "x")
            self.axes_[-1, column].set_xlabel(what)
        self.axes_[0, 0].set_ylabel("relative gap")
        if self.with_test:
            self.axes_[1, 0].set_ylabel(f"test: {self.comparison.measure}", parse_math=False)
        for each in self.axes_.ravel():
            frame(each)
