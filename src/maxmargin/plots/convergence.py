"""How a fit converged, pass by pass: its gap, and its primal and dual objective."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DataError
from ..problem import relative_gap
from ._base import BLUE, GREY, VERMILLION, Display, Reals, fitted, frame, load_matplotlib

__all__ = ["GapDisplay", "ObjectiveDisplay"]


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
            for record in fitted(estimator, "history_")
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
        ax.plot([], [], "o", color=GREY, markersize=5, label="computed exactly; estimates elsewhere")
        ax.set(xlabel="passes over the data", ylabel=quantity, title=title)
        ax.xaxis.set_major_locator(load_matplotlib(".ticker").MaxNLocator(integer=True))
        frame(ax)
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
        self._line(ax, gap, gap > 0, BLUE, "relative gap")
        if self.tol:
            ax.axhline(self.tol, color=VERMILLION, linestyle="--", linewidth=1.2, label=f"asked for: {self.tol:g}")
        if (gap > 0).any() or self.tol:
            ax.set_yscale("log")
        self._finish(ax, "(primal − dual) / primal", f"{self.name}: duality gap")


class ObjectiveDisplay(_HistoryDisplay):
    """Primal and dual objective against passes: they close in on the optimum from both sides.

    Parameters as for :class:`GapDisplay`.
    """

    def _draw(self, ax: Any) -> None:
        everywhere = np.ones(len(self.passes), bool)
        ax.fill_between(self.passes, self.dual, self.primal, color=GREY, alpha=0.15, linewidth=0)
        self._line(ax, self.primal, everywhere, BLUE, "primal (objective of the weights)")
        self._line(ax, self.dual, everywhere, VERMILLION, "dual (lower bound of the optimum)", "--")
        if self.dual.min() > 0 and self.primal.max() > 100 * self.dual.max():
            ax.set_yscale("log")
        self._finish(ax, "objective", f"{self.name}: the optimum lies in between")
