"""The face of a product of simplices: dual variables of Crammer and Singer's machine that are not 0."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .rows import Rows
from .selected_rows import some_rows
from .simplex import project_rows

__all__ = ["ClassesFace"]

Reals = NDArray[np.float64]


class ClassesFace:
    """A :class:`~maxmargin.solvers.linear.face.Face` of a point ``a`` of the dual of :mod:`.crammer_singer`.

    Parameters
    ----------
    rows : Rows
    a : float64 array of shape (n, K)
    numbers : int64 array of shape (r,)
        Rows with more than one class that is not 0.
    c : float64 array of shape (n,)
    costs : float64 array of shape (r, K)
        Of the classes of those rows.
    W : float64 array of shape (d, K)
    check : callable
        Called before each product: it raises where the run is to end.
    """

    def __init__(
        self, rows: Rows, a: Reals, numbers: NDArray[np.int64], c: Reals, costs: Reals, W: Reals,
        check: Callable[[], None],
    ) -> None:  # fmt: skip
        self.check = check
        self.rows = some_rows(rows, numbers)
        values = a[numbers]
        self.free = values > 0.0
        self.count = self.free.sum(1)
        self.total = c[numbers]
        self.values = values.ravel()
        self.slope = self._along(costs + self.rows.scores(W))
        self.diagonal = np.repeat(self.rows.squared_norms, a.shape[1])
        self.upper = np.repeat(self.total, a.shape[1])

    def _along(self, slope: Reals) -> Reals:
        """The part of a gradient along directions that leave the sum of every row, and what is 0, as it is."""
        mean = np.einsum("ij,ij->i", slope, self.free) / self.count
        return np.where(self.free, slope - mean[:, None], 0.0).ravel()

    def combined(self, p: Reals) -> Reals:
        """``sum_i p_ik x_i``, shape ``(d, K)``."""
        return self.rows.combined(p.reshape(self.free.shape))

    def product(self, p: Reals) -> Reals:
        """``H p``."""
        self.check()
        return self._along(self.rows.scores(self.combined(p)))

    def projected(self, values: Reals) -> Reals:
        """The nearest values between the bounds."""
        points = values.reshape(self.free.shape).copy()
        project_rows(points, self.free, self.total)
        return points.ravel()
