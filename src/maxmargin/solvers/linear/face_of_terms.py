"""The face of a box: dual variables of hinges, of tubes and of their squares that are at no bound."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...terms import Terms
from .rows import Rows
from .selected_rows import some_rows

__all__ = ["TermsFace"]

Reals = NDArray[np.float64]


class TermsFace:
    """A :class:`~maxmargin.solvers.linear.face.Face` of a point ``a`` of the dual of :mod:`~maxmargin.terms`.

    Parameters
    ----------
    rows : Rows
    terms : Terms
    a : float64 array of shape (n, m)
    free : bool array of shape (n, m)
        Which of them are strictly between their bounds.
    w : float64 array of shape (d,)
        ``sum_i beta_i x_i``.
    constant : float
        Value of one more feature, the same for all rows.
    shift : float
        Score of all rows beside that of ``w``, that feature in it.
    check : callable
        Called before each product: it raises where the run is to end.
    """

    def __init__(
        self, rows: Rows, terms: Terms, a: Reals, free: NDArray[np.bool_], w: Reals, constant: float, shift: float,
        check: Callable[[], None],
    ) -> None:  # fmt: skip
        self.constant, self.check = constant, check
        self.where = np.nonzero(free)
        numbers, self.place = np.unique(self.where[0], return_inverse=True)
        self.rows = some_rows(rows, numbers)
        self.values, self.upper = a[self.where], terms.upper[self.where]
        self.sign, self.ridge = terms.sign[self.where], terms.ridge[self.where]
        score = (self.rows.scores(w) + shift)[self.place]
        self.slope = terms.margin[self.where] - self.sign * score - self.ridge * self.values
        self.diagonal = self.rows.squared_norms[self.place] + constant**2 + self.ridge

    def beta(self, p: Reals) -> Reals:
        """Coefficients of the rows of the face, shape ``(r,)``."""
        return np.asarray(np.bincount(self.place, self.sign * p, self.rows.shape[0]), np.float64)

    def product(self, p: Reals) -> Reals:
        """``H p``."""
        self.check()
        beta = self.beta(p)
        score = self.rows.scores(self.rows.combined(beta)) + self.constant**2 * float(beta.sum())
        return np.asarray(self.sign * score[self.place] + self.ridge * p)

    def inverse(self, damping: Reals, most: int) -> None:
        """None: leaps are taken where the rows of a face are many and sparse, and few products are cheaper."""

    def projected(self, values: Reals) -> Reals:
        """The nearest values between the bounds."""
        return np.clip(values, 0.0, self.upper)
