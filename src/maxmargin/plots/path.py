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
        lines = ax.plot(self.Cs[shown], self.norms[shown], "o-", color=BLUE, markersize=4, label="|w| (left)")
        right = ax.twinx()
        shares = [("training errors", self.errors, "s--", VERMILLION), ("support vectors", self.support, "^:", INK)]
        if self.tested is not None:
            shares.append(("errors on other rows", self.tested, "x-.", WRONG))
        for name, share, style, colour in shares:
            lines += right.plot(self.Cs, 100.0 * share, style, color=colour, markersize=4, label=name)
        ax.set_xscale("log")
        if shown.any():
            ax.set_yscale("log")
        ax.set(xlabel="C", ylabel="|w|", title="The effect of C")
        right.set(ylabel="% of the rows", ylim=(0.0, None))
        frame(ax, without=["top"])
        frame(right, without=["top"], grid=False)
        ax.legend(
            handles=lines, frameon=False, fontsize=8, ncols=len(lines), loc="upper center", bbox_to_anchor=(0.5, -0.13)
        )
