"""The face of a product of simplices: dual variables of Crammer and Singer's machine that are not 0."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .cholesky import factor, solve
from .row_products import RowProducts
from .rows import Rows
from .selected_rows import some_rows
from .simplex import project_rows

__all__ = ["ClassesFace"]

Reals = NDArray[np.float64]
_LARGEST = 2000  # variables of a matrix: 32 MB, and as much for the products of the rows
_CHEAPER = 8.0  # times: an operation within matrices, over one of products with vectors (measured: 6 to 20)
_ROUNDING = 1e-13  # of the largest entry of its diagonal


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

    def inverse(self, damping: Reals, most: int) -> tuple[Callable[[Reals], Reals], int] | None:
        """By a variable for each class of a row but its largest, which takes what the others leave."""
        (r, classes), entries = self.free.shape, self.rows.entries
        f = int(self.count.sum()) - r
        cost = (0.5 * r * entries + 4.0 * f**2 + f**3 / 3.0) / (2.0 * (entries + self.rows.shape[1]) * classes)
        cost /= _CHEAPER
        if f > _LARGEST or cost >= most:
            return None
        self.check()
        i, k = np.nonzero(self.free)
        first = self.values.reshape(self.free.shape).argmax(1)
        others = k != first[i]
        i, k = i[others], k[others]
        last, every = first[i], np.arange(r)
        products = np.empty((r, r))
        RowProducts(self.rows, 0.0, self.check).fill_block(every, every, products)
        matrix = products[np.ix_(i, i)]
        del products
        shared = (k[:, None] == k).astype(np.int8)
        shared += last[:, None] == last
        shared -= k[:, None] == last
        shared -= last[:, None] == k
        matrix *= shared
        row = damping.reshape(self.free.shape)[i, 0]  # the same for all classes of a row
        matrix[np.diag_indices(f)] += 2.0 * row
        for ahead in range(1, int(self.count.max()) - 1):  # other classes of the same row; below the diagonal is enough
            same = np.flatnonzero(i[ahead:] == i[:-ahead])
            matrix[same + ahead, same] += row[same]
        tiles = factor(matrix, _ROUNDING * float(matrix.diagonal().max(initial=0.0)))
        if tiles is None:
            return None

        def inverse(slope: Reals) -> Reals:
            slope = slope.reshape(self.free.shape)
            steps = solve(tiles, slope[i, k] - slope[i, last])
            p = np.zeros(self.free.shape)
            p[i, k] = steps
            p[every, first] = -np.bincount(i, steps, r)
            return p.ravel()

        return inverse, math.ceil(cost)

    def projected(self, values: Reals) -> Reals:
        """The nearest values between the bounds."""
        points = values.reshape(self.free.shape).copy()
        project_rows(points, self.free, self.total)
        return points.ravel()
