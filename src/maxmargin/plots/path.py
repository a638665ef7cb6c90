"""The effect of ``C`` along a path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import DataError
from ._base import BLUE, INK, VERMILLION, WRONG, Display, frame

if TYPE_CHECKING:
    from ..path import SVMPath

__all__ = ["PathDisplay"]


class PathDisplay(Display):
    """The effect of ``C``: length of the weights, training errors and support vectors along a path.

    Parameters
    ----------
    Cs, norms : arrays of shape (n,)
        In any order; norms of 0 are left out.
    errors, support : arrays of shape (n,)
        Shares of the rows, from 0 to 1; of a regression the errors are means of their sizes.
    tested : array of shape (n,), optional
        Errors on other rows.
    regression : bool, default=False
        The axis on the right is that of the errors then, and no share is drawn.
    """

    def __init__(
        self,
        Cs: ArrayLike,
        norms: ArrayLike,
        errors: ArrayLike,
        support: ArrayLike,
        *,
        tested: ArrayLike | None = None,
        regression: bool = False,
    ) -> None:
        given = {"Cs": Cs, "norms": norms, "errors": errors, "support": support, "tested": tested}
        values = {name: np.asarray(value, np.float64) for name, value in given.items() if value is not None}
        order = np.argsort(values["Cs"], kind="stable")
        for name, value in values.items():
            if value.shape != order.shape or not len(order):
                raise DataError(f"{name} has shape {value.shape}; it needs one number for each of the {len(order)} Cs")
            if len(bad := np.flatnonzero(~np.isfinite(value))):
                raise DataError(f"{name}[{bad[0]}] is {value[bad[0]]}; it must be a finite number")
        if (values["Cs"] <= 0.0).any():
            raise DataError(f"Cs must be above 0, and one is {values['Cs'].min():g}: the axis is logarithmic")
        self.Cs, self.norms, self.errors, self.support = (values[name][order] for name in list(given)[:4])
        self.tested = values["tested"][order] if tested is not None else None
        self.regression = regression

    @classmethod
    def from_path(cls, path: SVMPath, *, X: Any = None, y: Any = None, ax: Any = None) -> PathDisplay:
        """Draw a path; with other rows ``X`` and their classes or values ``y`` also the errors on them."""
        if (X is None) != (y is None):
            raise ValueError("PathDisplay: give both X and y, or neither")
        tested = None
        if X is not None:
            found, truth = path.predict(X), np.asarray(y)
            if truth.shape != found.shape[1:]:
                raise DataError(f"y has shape {truth.shape}; it needs one entry for each of the {found.shape[1]} rows")
            tested = (np.abs(found - truth) if path.regression else found != truth).mean(1)
        return cls(
            path.Cs, path.norms, path.training_errors, path.n_support / path.n_rows, tested=tested,
            regression=path.regression,
        ).plot(ax)  # fmt: skip

    def _draw(self, ax: Any) -> None:
        shown = self.norms > 0.0
        lines = ax.plot(self.Cs[shown], self.norms[shown], "o-", color=BLUE, markersize=4, label="|w| (left)")
        right = ax.twinx()
        drawn = [("training errors", self.errors, "s--", VERMILLION)]
        if not self.regression:
            drawn.append(("support vectors", self.support, "^:", INK))
        if self.tested is not None:
            drawn.append(("errors on other rows", self.tested, "x-.", WRONG))
        for name, values, style, colour in drawn:
            scaled = values if self.regression else 100.0 * values
            lines += right.plot(self.Cs, scaled, style, color=colour, markersize=4, label=name)
        ax.set_xscale("log")
        if shown.any():
            ax.set_yscale("log")
        ax.set(xlabel="C", ylabel="|w|", title="The effect of C")
        right.set(ylabel="mean size of the errors" if self.regression else "% of the rows", ylim=(0.0, None))
        frame(ax, without=["top"])
        frame(right, without=["top"], grid=False)
        ax.legend(
            handles=lines, frameon=False, fontsize=8, ncols=len(lines), loc="upper center", bbox_to_anchor=(0.5, -0.13)
        )
