"""A kernel machine as a problem for solvers: points, kernel, terms of the loss, intercept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..._products import inner
from ...kernels import Kernel
from ...terms import LossTerms, Terms, hinges_only
from ..base import WarmStart, enough_beside, fault_of_terms
from ..deadline import Deadline
from ..linear.intercept import best_intercept
from ..oracle import Evaluation
from ..warm_dual import factor_between, warm_dual
from .definiteness import refuse
from .row_cache import KernelValues

__all__ = ["KernelTask"]

_NEGLIGIBLE = 1e-6
_ROUNDING = 1e-13
_FAR = 1e6
_TOGETHER = 128  # points whose kernel values with one another are computed for those with themselves

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass
class KernelTask:
    """``min 1/2 beta' K beta + sum_v cost_v(K beta + t_g) + sum_g total_g t_g`` over ``beta`` and the thresholds ``t``.

    Terms are in groups; those of group ``g`` see the scores raised by the threshold ``t_g``. In the dual each threshold
    is the multiplier of a sum that is fixed, ``sum_v sign_v a_v = total_g`` over the terms of the group. So are written

    ==================  ==========================================  ======================================
    machine             groups                                      totals
    ==================  ==========================================  ======================================
    free intercept      one with all terms: ``t`` is the intercept  0
    without intercept   none
    one class           one with all terms: ``t`` is minus the      ``nu sum_i s_i``
                        threshold of normal points
    nu, two classes     one for each class: ``b`` minus and plus    plus and minus ``nu/2 sum_i s_i``
                        the margin
    nu, regression      one for each side: ``b`` plus and minus     plus and minus ``C nu/2 sum_i s_i``
                        the half width of the tube
    ==================  ==========================================  ======================================

    (Schoelkopf, Smola, Williamson, Bartlett, Neural Computation 2000; Schoelkopf et al., Neural Computation 2001.)
    Weights are kept as one vector ``[beta, t]`` of length ``n + n_groups``.

    Attributes
    ----------
    kernel : Kernel
    X : array or CSR matrix of shape (n, d)
        Points with positive weight only; for a precomputed kernel their values, of shape ``(n, n)``.
    terms : Terms or LossTerms
    weight : float64 array of shape (n,)
        ``s_i``; ``terms`` have ``c_i = C s_i`` in them.
    totals : float64 array of shape (n_groups,)
    group : int64 array of shape (n, m)
        Group of every term; not looked at where there are no totals.
    signs : bool
        Whether the task loss is a wrong sign, at the cost of a score of 0 (classification); else it is the loss itself.
    warm : WarmStart, optional
        Weights to start from.
    values : KernelValues
        What is known of the kernel matrix; tasks on the same points may share it.
    exact : bool
        Whether the kernel is known to be positive semi-definite; only then dual values are surely lower bounds.
    floor : float
        A lower bound of the optimum.
    enough : float
        A gap so small that it ends a run beside an optimum of 0: where totals make it one (classes that no margin
        tells apart), no gap would ever be small beside it.
    rounded : float
        What may be rounding of values: a gap that ends a run beside any optimum; objectives further below 0 say that
        the optimum is not 0.
    """

    kernel: Kernel
    X: Any
    terms: Terms | LossTerms
    C: float
    weight: Reals
    totals: Reals
    group: Ints
    tol: float
    name: str = "kernel machine"
    signs: bool = True
    warm: WarmStart | None = None
    values: KernelValues = field(default_factory=KernelValues, repr=False)
    deadline: Deadline = field(default_factory=Deadline)
    exact: bool = field(init=False)
    floor: float = field(init=False)
    enough: float = field(init=False)
    rounded: float = field(init=False)
    examples: Ints = field(init=False)
    c: Reals = field(init=False)

    def __post_init__(self) -> None:
        self.exact = self.kernel.definite
        self.floor = -np.inf if self.totals.any() else 0.0
        self.enough = self.rounded = 0.0
        if self.totals.any():
            a = self._simple_point()
            beta = self.terms.beta(a)
            terms = hinges_only(self.terms, self.name, "a machine with several thresholds")
            size = inner(beta, self.products(beta)) + float(np.abs(terms.margin * a).sum())
            self.enough = max(_NEGLIGIBLE * self.tol, _ROUNDING) * abs(size)
            self.rounded = _ROUNDING * abs(size)
        if self.warm is not None and self.warm.products is not None:
            self.values.products = self.warm.w[: self.n], self.warm.products
        self.examples = np.arange(len(self.weight))
        with np.errstate(over="ignore"):  # refused by the outer loop
            self.c = self.C * self.weight

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.weight)

    @property
    def n_weights(self) -> int:
        """Length of the vector of weights."""
        return self.n + len(self.totals)

    @property
    def moved(self) -> bool:
        """Whether the problem to begin with differs by its ``C`` alone."""
        return self.warm is not None and self.warm.products is not None

    def small(self, gap: float, *values: float) -> bool:
        """Whether a gap between such values is within the tolerance."""
        return gap <= max(self.tol * max(map(abs, values)), enough_beside(self, max(values))[0])

    def products(self, beta: Reals) -> Reals:
        """``K beta`` in float64; remembered for the last ``beta``, since a certificate asks for it several times.

        A warm start asks for a multiple of it.
        """
        known = self.values.products
        factor = None if known is None else factor_between(known[0], beta)
        if known is None or factor is None:
            known = beta.copy(), self.values.combined(self.kernel, self.X, beta)
        elif factor != 1.0:
            known = beta.copy(), factor * known[1]
        self.values.products = known
        return known[1]

    def values_of(self, rows: Ints, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """The kernel matrix of some points, by their rows."""
        return self.values.between(self.kernel, self.X, rows, dtype)

    def penalty(self, w: Reals) -> float:
        """``1/2 beta' K beta``, and the thresholds times their totals."""
        beta = w[: self.n]
        return 0.5 * inner(beta, self.products(beta)) + inner(self.totals, w[self.n :])

    def objective(self, w: Reals) -> float:
        """``P(w)``."""
        return self.penalty(w) + float(self._costs(w).sum())

    def rounding(self, w: Reals) -> float:
        """How wrong ``P(w)``, and a dual value near it, can be in float64."""
        terms, scores = self._with_thresholds(w)
        return terms.rounding(scores) + (self.enough if len(w) > self.n + 1 else 0.0)

    def _with_thresholds(self, w: Reals) -> tuple[Terms | LossTerms, Reals]:
        """Terms and scores that go together: several thresholds are in the margins of terms, one is in the scores."""
        products, thresholds = self.products(w[: self.n]), w[self.n :]
        if len(thresholds) <= 1:
            return self.terms, products + thresholds.sum()
        return self.shifted(thresholds), products

    def noise(self, w: Reals, small: float) -> float:
        """How wrong ``P(w)`` is likely to be for its scores; of numbers up to ``small`` no less than that."""
        lengths, beta = self._lengths(), np.abs(w[: self.n])
        shift, total = float(np.abs(w[self.n :]).max(initial=0.0)), inner(lengths, beta)
        bound = self.terms.most_noise(float(lengths.max()) * total + shift)
        if bound <= small:
            return bound
        terms, scores = self._with_thresholds(w)
        bound = terms.noise(scores, lengths * total + shift)
        if bound <= small:
            return bound
        return terms.noise(scores, self.kernel.combined(self.X, self.X, beta, sizes=True) + shift)

    def _lengths(self) -> Reals:
        """Of the points in the space of the kernel."""
        if self.values.lengths is None:
            parts = np.array_split(self.examples, -(-self.n // _TOGETHER))
            found = [self.values_of(rows).diagonal() for rows in parts]
            self.values.lengths = np.sqrt(np.abs(np.concatenate(found)))
        return self.values.lengths

    def scores(self, w: Reals) -> Reals:
        """Scores of all points, with the threshold of the first group if there is one."""
        return self.products(w[: self.n]) + (w[self.n] if len(self.totals) else 0.0)

    def evaluate(self, w: Reals) -> Evaluation:
        """Losses and task losses of all points, per unit of weight."""
        slack = self._costs(w) / self.c
        risk = slack
        if self.signs:
            risk = self.terms.wrong(self.scores(w)) / self.c
        return Evaluation(slack, risk, np.empty(0, np.int64))

    def fault(self, said: str, w: Reals) -> Exception:
        """The error where a lower bound is above the objective of ``w``."""
        return fault_of_terms(said, self.terms, self.scores(w), w[: self.n])

    def cost_at(self, products: Reals, thresholds: Reals) -> Reals:
        """Cost of every point, shape ``(n,)``."""
        if len(thresholds) <= 1:
            return self.terms.cost(products + thresholds.sum())
        return self.shifted(thresholds).cost(products)

    def shifted(self, thresholds: Reals) -> Terms:
        """Terms whose margins have the thresholds in them."""
        terms = hinges_only(self.terms, self.name, "a machine with several thresholds")
        return terms._replace(margin=terms.margin - terms.sign * thresholds[self.group]) if len(thresholds) else terms

    def thresholds(self, products: Reals) -> Reals:
        """The best there are for ``K beta``, shape ``(n_groups,)``."""
        out = np.empty(len(self.totals))
        for g, (terms, rows) in enumerate(self._groups()):
            out[g] = best_intercept(terms, products[rows], float(self.totals[g]))
        return out

    def balanced(self, a: Reals) -> Reals:
        """A dual point near ``a`` whose sums are the totals."""
        if len(self.totals) == 1:
            return self.terms.balanced(a, float(self.totals[0]))
        out = a.copy()
        for g, (terms, _) in enumerate(self._groups()):
            mine = self.group == g
            out[mine] = terms.balanced(a[mine][:, None], float(self.totals[g]))[:, 0]
        return out

    def from_dual(self, a: Reals) -> tuple[Reals, float]:
        """Weights of a dual point, with the best thresholds there are for them, and the dual value.

        The point is made feasible first, see :meth:`balanced`.
        """
        a = self.balanced(a)
        w = np.empty(self.n_weights)
        w[: self.n] = self.terms.beta(a)
        products = self.products(w[: self.n])
        value = self.terms.gain(a) - 0.5 * inner(w[: self.n], products)
        self.check_value(value)
        w[self.n :] = self.thresholds(products)
        return w, value

    def check_value(self, dual: float) -> None:
        """Refuse a squared loss whose dual grows without end, as it can with kernels that are not definite.

        Raises
        ------
        DataError
            When a dual value is far above the objective of weights of 0, or no number.
        """
        if not self.exact and not dual <= self._most:
            refuse(self, "the dual grows without end")

    @cached_property
    def _most(self) -> float:
        """A bound that no bounded dual comes near; infinite for losses whose dual always has a maximum."""
        if isinstance(self.terms, Terms) and not self.terms.squared:
            return np.inf
        nothing = np.zeros(self.n)
        return _FAR * float(self.cost_at(nothing, self.thresholds(nothing)).sum())

    def to_dual(self, w: Reals) -> Reals:
        """The dual point of weights, as near as the box allows, shape ``(n, m)``."""
        return self.balanced(np.clip(self.terms.sign * w[: self.n, None], 0.0, self.terms.upper))

    def start(self) -> Reals:
        """A dual point to begin with, shape ``(n, m)``: one near that of a warm start, else a simple one."""
        if self.warm is None:
            return self._simple_point()
        if self.totals.any() or not isinstance(self.terms, Terms):
            return self.to_dual(self.warm.w)
        beta = self.warm.w[: self.n]
        return warm_dual(self.terms, beta, lambda b: inner(b, self.products(b)), balanced=len(self.totals) > 0)

    def _simple_point(self) -> Reals:
        """0, or of the first terms of each group as many as its total takes."""
        a = np.zeros(self.terms.sign.shape)
        for g, total in enumerate(self.totals):
            mine = np.flatnonzero((self.group == g).ravel())
            upper = np.where(np.isinf(self.terms.upper.ravel()[mine]), abs(total), self.terms.upper.ravel()[mine])
            taken = np.cumsum(upper) - upper
            a.ravel()[mine] = np.clip(abs(total) - taken, 0.0, upper)
        return a

    def _costs(self, w: Reals) -> Reals:
        return self.cost_at(self.products(w[: self.n]), w[self.n :])

    def _groups(self) -> Iterator[tuple[Terms | LossTerms, Ints]]:
        """Terms of every group, as a column, and their rows."""
        if not len(self.totals):
            return
        if len(self.totals) == 1:
            yield self.terms, self.examples
            return
        terms = hinges_only(self.terms, self.name, "a machine with several thresholds")
        for g in range(len(self.totals)):
            mine = self.group == g
            yield Terms(*(values[mine][:, None] for values in terms)), np.nonzero(mine)[0]
