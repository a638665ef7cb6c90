"""What several fits of a plain machine share: the data as its problems take them, and where an earlier fit ended."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._notes import Extremes, about_contradictions, extremes
from .kernels import Kernel, is_zero
from .problem import Certificate
from .solvers.base import WarmStart
from .solvers.kernel.row_cache import KernelValues
from .solvers.linear.active_set import ActiveSet
from .solvers.linear.folding import Folded, fold
from .solvers.linear.rows import Rows
from .solvers.linear.task import LinearTask
from .solvers.loop import Result

__all__ = ["Encoded", "EncodedClasses", "EncodedValues", "End", "Ends"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(kw_only=True)
class Encoded:
    """Data of a machine that are checked and ready for its problems, whatever ``C`` is.

    Attributes
    ----------
    X : array or CSR matrix of shape (m, d)
        Rows that count.
    order : int64 array of shape (m,)
        Which rows of the data they are.
    counts, weight : float64 arrays of shape (m,)
        How often each counts, and that times the factor of its class.
    n : int
        Rows of the data.
    free : bool
        Whether the intercept is.
    kernel : Kernel or None
        Made at the first fit.
    values : KernelValues
        Shared by all problems on all of the rows.
    """

    X: Any
    order: Ints
    counts: Reals
    weight: Reals
    n: int
    free: bool
    kernel: Kernel | None = None
    values: KernelValues = field(default_factory=KernelValues)

    @cached_property
    def rows(self) -> Rows:
        """The rows as the solvers of linear machines take them."""
        return Rows(self.X)

    @cached_property
    def folded(self) -> Folded:
        """What is solved instead of the rows, see :mod:`~maxmargin.solvers.linear.folding`."""
        return fold(self.rows, free=self.free)

    @cached_property
    def extremes(self) -> Extremes:
        """What notes on the scales of the features look at, see :func:`~maxmargin._notes.extremes`."""
        return extremes(self.X)

    @cached_property
    def kernel_is_zero(self) -> bool:
        """Whether the kernel, without the constant feature of a penalised intercept, is 0 between all rows."""
        assert self.kernel is not None
        return is_zero(replace(self.kernel, plus=0.0), self.X)


@dataclass(kw_only=True)
class EncodedClasses(Encoded):
    """Those of a classifier.

    Attributes
    ----------
    number : int64 array of shape (m,)
        Classes.
    wanted : float64 array of shape (m,), or None
        Margins.
    notes : list of str
        On the weights of the classes.
    """

    number: Ints
    wanted: Reals | None = None
    notes: list[str] = field(default_factory=list)

    @cached_property
    def contradictions(self) -> list[str]:
        """Notes on equal rows of different classes."""
        return about_contradictions(self.X, self.number, self.order)


@dataclass(kw_only=True)
class EncodedValues(Encoded):
    """Those of a regressor.

    Attributes
    ----------
    target : float64 array of shape (m,)
    """

    target: Reals


class End(NamedTuple):
    """What a linear problem on all rows ends with: the next one on the very same rows need not compute it again.

    Attributes
    ----------
    w : float64 array
        Weights of the folded rows, and an intercept.
    products : float64 array of shape (m,)
        Scores of the rows without intercept.
    beta : float64 array of shape (m,)
        The dual point.
    sums : tuple of two float64 arrays, or None
        The same with its weights without intercept, where these are at hand as computed from it.
    C : float
    before : tuple of two float64 arrays and a float, or None
        Weights, scores and ``C`` of the problem that this one began with.
    solver : str
    usual : tuple of str and int
        See :class:`~maxmargin.solvers.base.WarmStart`.
    offset : float
        By how much the scores of the original rows are larger.
    """

    w: Reals
    products: Reals
    beta: Reals
    sums: tuple[Reals, Reals] | None
    C: float
    before: tuple[Reals, Reals, float] | None
    solver: str
    usual: tuple[str, int]
    offset: float = 0.0

    @classmethod
    def of(cls, result: Result, folded: Folded, began: End | None = None) -> End:
        """The end of a run that still holds its problem, a linear one on these rows, and where it ``began``."""
        assert result._run is not None
        task: Any = result._run.task
        beta, sums = result.dual_point.beta, task.sums
        known = sums is not None and np.array_equal(sums[0], beta)
        products = task.products(result.w[: task.rows.shape[1]])  # most often known
        return cls(
            result.w, products, beta, sums if known else None, task.C,
            None if began is None else (began.w, began.products, began.C), result.certificate.solver,
            _usual(result.certificate, began), folded.moved(result.w),
        )  # fmt: skip

    def begin(self, task: LinearTask) -> None:
        """Let a problem on the same rows begin here; it need not compute again what is known."""
        d = task.rows.shape[1]
        task.warm = WarmStart(self.w, beta=self.beta, solver=self.solver, usual=self.usual, C=self.C)
        task.known, task.sums = (self.w[:d], self.products), self.sums
        if self.before is not None and task.terms.smooth:
            earlier, scores, C = self.before
            step = _steps(task.C, self.C, C)
            task.ahead = (self.w + step * (self.w - earlier), self.products + step * (self.products - scores))


def _usual(by: Certificate | WarmStart, earlier: End | _Kept | None) -> tuple[str, int]:
    """Solver and passes of a fit, or of an earlier one where it went by the active-set method."""
    if isinstance(by, WarmStart):
        return by.usual
    if by.solver == ActiveSet().name and earlier is not None:
        return earlier.usual
    return by.solver, by.passes


def _steps(C: float, last: float, earlier: float) -> float:
    """How far ahead ``C`` is, in steps from the earlier to the last value; at most 1, and 0 where it is another way."""
    step = math.log(last) - math.log(earlier)
    return min(max((math.log(C) - math.log(last)) / step, 0.0), 1.0) if step != 0.0 else 0.0


class _Kept(NamedTuple):
    """What :meth:`Ends.keep` is given; coefficients for all rows of the data."""

    w: tuple[Reals, ...]
    beta: Reals
    solver: str
    usual: tuple[str, int]
    C: float
    products: Reals | None


@dataclass
class Ends:
    """Where the problems of a fit ended, by what they are of: classes, and a kernel; ``before`` are those before.

    Where no other fit follows nothing is ``wanted``, and nothing kept. Coefficients are kept for all ``n`` rows of the
    data, as other rows may count in the next fit. Where the next one has the ``same`` data, linear problems on all rows
    leave what they end with, in their order, and kernel problems on all rows their scores.
    """

    n: int
    by_kernel: bool
    before: Ends | None = None
    wanted: bool = True
    same: bool = False
    known: list[End] = field(default_factory=list)
    ends: dict[Hashable, _Kept] = field(default_factory=dict)

    def start(self, rows: Ints, n_weights: int, of: Hashable = ()) -> WarmStart | None:
        """Where a problem is to begin: on these rows, with so many weights beside those of a kernel's rows.

        Where the data had another number of rows, nobody knows which is which: then weights of features are all there
        is to begin with, and of a kernel's rows there is nothing.
        """
        before = self.before
        if before is None or before.by_kernel != self.by_kernel or of not in before.ends:
            return None
        w, beta, solver, usual, C, products = before.ends[of]
        if sum(map(len, w)) != n_weights:  # with another intercept or other features
            return None
        if before.n != self.n:
            return None if self.by_kernel else WarmStart(np.concatenate(w))
        mine = beta[rows]
        return WarmStart(
            np.concatenate([mine, *w] if self.by_kernel else w),
            beta=mine, solver=solver, usual=usual, C=C, products=products,
        )  # fmt: skip

    def known_start(self) -> End | None:
        """The end of the next linear problem on all rows, in the fit before to the same data."""
        k, before = len(self.known), self.before
        return before.known[k] if before is not None and k < len(before.known) else None

    def keep(
        self,
        rows: Ints,
        w: tuple[Reals, ...],
        beta: Reals,
        by: Certificate | WarmStart,
        of: Hashable = (),
        products: Callable[[Reals], Reals] | None = None,
    ) -> None:
        """The end of a problem on these rows, and what says how it was solved, with which ``C``.

        ``w`` are the weights, in pieces that follow one another; of a kernel machine they are the thresholds, and
        ``products`` gives ``K beta`` of a problem on all rows.
        """
        if not self.wanted:
            return
        everywhere = np.zeros(self.n)
        everywhere[rows] = beta
        known = products(beta) if self.same and products is not None else None
        usual = _usual(by, None if self.before is None else self.before.ends.get(of))
        self.ends[of] = _Kept(w, everywhere, by.solver, usual, by.C, known)

    @property
    def products(self) -> list[Reals]:
        """Scores of the rows without intercept by each problem, as far as they are known."""
        of_kernels = [end.products for end in self.ends.values() if end.products is not None]
        return [end.products + end.offset if end.offset else end.products for end in self.known] or of_kernels
