"""How a fit converged, pass by pass: its gap, and its primal and dual objective."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DataError
from ..problem import relative_gap
from ._base import (
    BLUE,
    DOTS,
    GREY,
    VERMILLION,
    Display,
    Reals,
    exact_and_estimates,
    fitted,
    frame,
    legend,
    load_matplotlib,
)

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

    Raises
    ------
    DataError
        When there is no pass, the lengths differ, or a pass is no finite number; objectives that are not finite are
        left out.
    """

    _needs_bound: ClassVar[bool]
    """Whether nothing is left to draw without a lower bound of the optimum."""

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
        n = self.passes.shape
        if len(n) != 1 or n[0] == 0:
            raise DataError(f"there is no pass to draw: passes has shape {n}, and it needs one number a pass")
        for what, values in (("primal", self.primal), ("dual", self.dual), ("exact", self.exact)):
            if values.shape != n:
                raise DataError(f"{what} has shape {values.shape}; it needs one entry for each of the {n[0]} passes")
        if len(bad := np.flatnonzero(~np.isfinite(self.passes))):
            raise DataError(f"passes[{bad[0]}] is {self.passes[bad[0]]}; it must be a finite number")

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the last fit of an estimator with a ``history_``.

        Raises
        ------
        DataError
            When the estimator was not fitted, or its solver keeps no dual bound (a perceptron); for a gap also where
            there is no lower bound of the optimum, as with a kernel that is not positive semi-definite or a structure
            whose argmax is not exact.
        """
        name = type(estimator).__name__
        history = [record for record in fitted(estimator, "history_") if math.isfinite(record.primal)]
        solver = getattr(estimator, "solver_", "solver")
        if not history or "perceptron" in solver:  # a perceptron has the trivial bound 0, at its end
            raise DataError(f"{name} has no gap to draw: its {solver} keeps no primal and dual objective")
        found = getattr(estimator, "certificate_", None)
        bounded = [] if found and not found.bounded else [record for record in history if math.isfinite(record.dual)]
        if not bounded and cls._needs_bound:
            why = f", for {found.no_bound}" if found and found.no_bound else " (notes_ say why)"
            raise DataError(f"{name} has no gap to draw: its certificate has no lower bound{why}")
        history = bounded or [replace(record, dual=-math.inf) for record in history]
        columns = zip(*((r.passes, r.primal, r.dual, r.exact) for r in history))
        return cls(*columns, tol=getattr(estimator, "tol", None), name=name).plot(ax)

    def _line(self, ax: Any, values: Reals, shown: NDArray[np.bool_], colour: str, label: str, dash: str = "-") -> None:
        """A line through all values, with dots at those computed exactly."""
        given = self.passes[shown], values[shown], self.exact[shown]
        exact_and_estimates(ax, *given, color=colour, linestyle=dash)[1].set_label(label)

    def _finish(self, ax: Any, quantity: str, title: str) -> None:
        """Names, grid and legend."""
        ax.plot([], [], "o-", color=GREY, linewidth=0.8, markersize=4, label=DOTS)
        ax.set(xlabel="passes over the data", ylabel=quantity)
        ax.set_title(title, parse_math=False)
        ax.xaxis.set_major_locator(load_matplotlib(".ticker").MaxNLocator(integer=True))
        frame(ax)
        legend(ax)


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

    _needs_bound = True

    @property
    def gap(self) -> Reals:
        """``(primal - dual) / max(|primal|, |dual|)``, which ``tol`` bounds."""
        return np.array([relative_gap(primal, dual) for primal, dual in zip(self.primal, self.dual)])

    def _draw(self, ax: Any) -> None:
        gap = self.gap
        shown = (gap > 0) & np.isfinite(gap)
        self._line(ax, gap, shown, BLUE, "relative gap")
        if self.tol:
            ax.axhline(self.tol, color=VERMILLION, linestyle="--", linewidth=1.2, label=f"asked for: {self.tol:g}")
        if shown.any() or self.tol:
            ax.set_yscale("log")
        self._finish(ax, "relative gap\n(primal − dual) / max(|primal|, |dual|)", f"{self.name}: duality gap")


class ObjectiveDisplay(_HistoryDisplay):
    """Primal and dual objective against passes: they close in on the optimum from both sides.

    Where there is no lower bound of the optimum the primal objective is alone, and the title says so. Parameters as for
    :class:`GapDisplay`.
    """

    _needs_bound = False

    def _draw(self, ax: Any) -> None:
        above, below = np.isfinite(self.primal), np.isfinite(self.dual)
        both = above & below
        ax.fill_between(self.passes[both], self.dual[both], self.primal[both], color=GREY, alpha=0.15, linewidth=0)
        self._line(ax, self.primal, above, BLUE, "primal (objective of the weights)")
        if below.any():
            self._line(ax, self.dual, below, VERMILLION, "dual (lower bound of the optimum)", "--")
        if both.any() and self.dual[both].min() > 0 and self.primal[both].max() > 100 * self.dual[both].max():
            ax.set_yscale("log")
        said = "the optimum lies in between" if below.any() else "no lower bound of the optimum"
        self._finish(ax, "objective", f"{self.name}: {said}")
