"""What several fits of a plain machine share: the data as its problems take them, and where an earlier fit ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .kernels import Kernel
from .solvers.base import WarmStart
from .solvers.kernel.row_cache import KernelValues
from .solvers.linear.folding import Folded, fold
from .solvers.linear.rows import Rows

__all__ = ["Encoded", "Ends"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass
class Encoded:
    """Data of a classifier that are checked and ready for its problems, whatever ``C`` is.

    Attributes
    ----------
    X : array or CSR matrix of shape (m, d)
        Rows that count.
    order : int64 array of shape (m,)
        Which rows of the data they are.
    counts, weight : float64 arrays of shape (m,)
        How often each counts, and that times the factor of its class.
    wanted : float64 array of shape (m,), or None
        Margins.
    number : int64 array of shape (m,)
        Classes.
    n : int
        Rows of the data.
    kernel : Kernel or None
        Made at the first fit.
    values : KernelValues
        Shared by all problems on all of the rows.
    """

    X: Any
    order: Ints
    counts: Reals
    weight: Reals
    wanted: Reals | None
    number: Ints
    n: int
    kernel: Kernel | None = None
    values: KernelValues = field(default_factory=KernelValues)

    @cached_property
    def rows(self) -> Rows:
        """The rows as the solvers of linear machines take them."""
        return Rows(self.X)

    @cached_property
    def folded(self) -> Folded:
        """What is solved instead of the rows, see :mod:`~maxmargin.solvers.linear.folding`."""
        return fold(self.rows)


@dataclass
class Ends:
    """Where the problems of a fit ended, in their order; ``before`` are those of an earlier fit.

    Where no other fit follows nothing is ``wanted``, and nothing kept. Coefficients are kept for all ``n`` rows of the
    data, as other rows may count in the next fit. Where a list of ``scores`` is given, linear problems on all rows add
    those that they end with.
    """

    n: int
    by_kernel: bool
    before: Ends | None = None
    wanted: bool = True
    scores: list[Reals] | None = None
    ends: list[tuple[tuple[Reals, ...], Reals, str]] = field(default_factory=list)

    def start(self, rows: Ints, n_weights: int) -> WarmStart | None:
        """Where the next problem is to begin: on these rows, with so many weights beside those of a kernel's rows."""
        k, before = len(self.ends), self.before
        if before is None or (before.n, before.by_kernel) != (self.n, self.by_kernel) or k >= len(before.ends):
            return None
        w, beta, solver = before.ends[k]
        if sum(map(len, w)) != n_weights:  # with another intercept or other features
            return None
        mine = beta[rows]
        return WarmStart(np.concatenate([mine, *w] if self.by_kernel else w), beta=mine, solver=solver)

    def keep(self, rows: Ints, w: tuple[Reals, ...], beta: Reals, solver: str) -> None:
        """The end of the next problem on these rows, and its solver.

        ``w`` are the weights, in pieces that follow one another; of a kernel machine they are the thresholds.
        """
        if not self.wanted:
            return
        everywhere = np.zeros(self.n)
        everywhere[rows] = beta
        self.ends.append((w, everywhere, solver))
