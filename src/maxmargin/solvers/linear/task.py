"""A linear machine as a problem for solvers: rows, terms of the loss, intercept."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._products import inner
from ...terms import LossTerms, Terms
from ..base import WarmStart, fault_of_terms
from ..deadline import Deadline
from ..oracle import Evaluation
from ..warm_dual import factor_between, warm_dual
from .intercept import best_intercept
from .rows import Rows, square

__all__ = ["DualPoint", "LinearTask"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]


class DualPoint(NamedTuple):
    """A feasible point of the dual: its value, its coefficients ``beta`` of the rows, and their weights."""

    value: float
    beta: Reals
    w: Reals


@dataclass
class LinearTask:
    """``min 1/2 |w|^2 + sum_v cost_v`` over ``w`` and, if there is one, the intercept.

    Weights are kept as one vector of length ``d``, or ``d + 1`` with the intercept last.

    Attributes
    ----------
    rows : Rows
        Rows with positive weight only.
    terms : Terms or LossTerms
    weight : float64 array of shape (n,)
        ``s_i``; ``terms`` have ``c_i = C s_i`` in them.
    intercept : {"free", "penalized", "none"}
        A penalised one is the weight of a constant feature of value ``scale``.
    thresholds : float64 array
        For the interior point method alone: as many last columns of the rows as there are values are not penalised, and
        their weights times these values are added to the objective. Those columns say to which group a row belongs, see
        :class:`~maxmargin.solvers.kernel.task.KernelTask`.
    signs : bool
        Whether the task loss is a wrong sign, at the cost of a score of 0 (classification); else it is the loss itself.
    known : tuple of two float64 arrays, or None
        Weights of the features to begin with, and their products with the rows, where these are at hand.
    ahead : tuple of two float64 arrays, or None
        Weights that may be nearer to the optimum than those to begin with, as an earlier fit lets expect, and products.
    dual_point : DualPoint
        The highest one that :meth:`from_dual` has met; at first 0.
    """

    rows: Rows
    terms: Terms | LossTerms
    C: float
    weight: Reals
    intercept: Literal["free", "penalized", "none"]
    tol: float
    rng: np.random.Generator
    name: str = "linear machine"
    signs: bool = True
    scale: float = 1.0
    thresholds: Reals = field(default_factory=lambda: np.empty(0))
    warm: WarmStart | None = None
    exact: bool = True
    deadline: Deadline = field(default_factory=Deadline)
    dual_point: DualPoint = field(init=False, repr=False)
    known: tuple[Reals, Reals] | None = field(default=None, init=False, repr=False)
    ahead: tuple[Reals, Reals] | None = field(default=None, init=False, repr=False)
    last: tuple[Reals, Reals] | None = field(default=None, init=False, repr=False)
    sums: tuple[Reals, Reals] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self.dual_point = DualPoint(self.terms.nothing, np.zeros(len(self.weight)), np.zeros(self.n_weights))

    @cached_property
    def examples(self) -> Ints:
        """Numbers of all rows."""
        return np.arange(len(self.weight))

    @property
    def c(self) -> Reals:
        """``C s_i`` of every row."""
        with np.errstate(over="ignore"):  # refused by the outer loop
            return np.asarray(self.C * self.weight)

    @property
    def n_weights(self) -> int:
        """Length of the vector of weights."""
        return self.rows.shape[1] + (self.intercept != "none")

    @property
    def growth(self) -> float:
        """``C`` over that of the problem to begin with; 1 where there is none."""
        before = 0.0 if self.warm is None else self.warm.C
        growth = self.C / before if before > 0.0 else 1.0
        return growth if 0.0 < growth < math.inf else 1.0

    @property
    def moved(self) -> bool:
        """Whether the fit to begin with had another ``C``; its data may have been others too."""
        return self.growth != 1.0

    @cached_property
    def ridge(self) -> Reals:
        """``penalty(w)`` is ``1/2 sum_j ridge_j w_j^2``, thresholds aside: 1, but for the intercept and thresholds."""
        out = np.ones(self.n_weights)
        if self.intercept != "none":
            out[-1] = self.scale**-2 if self.intercept == "penalized" else 0.0
        if len(self.thresholds):
            out[-len(self.thresholds) :] = 0.0
        return out

    def combined(self, beta: Reals) -> Reals:
        """The adjoint of :meth:`scores`: ``X^T beta``, with ``sum_i beta_i`` for an intercept."""
        out = self.rows.combined(beta)
        return np.append(out, beta.sum()) if self.intercept != "none" else out

    def penalty(self, w: Reals) -> float:
        """``1/2 |w|^2``, with the intercept in it where it is penalised."""
        d = self.rows.shape[1] - len(self.thresholds)
        value = 0.5 * float(square(w[:d]))
        if len(self.thresholds):
            return value + inner(self.thresholds, w[d:])
        if self.intercept == "penalized":
            value += 0.5 * float(w[d] / self.scale) ** 2
        return value

    def objective(self, w: Reals) -> float:
        """``P(w)``."""
        return self.penalty(w) + float(self.terms.cost(self.scores(w)).sum())

    def rounding(self, w: Reals) -> float:
        """How wrong ``P(w)``, and a dual value near it, can be in float64."""
        return self.terms.rounding(self.scores(w))

    def noise(self, w: Reals, small: float) -> float:
        """How wrong ``P(w)`` is likely to be for its scores; of numbers up to ``small`` no less than that."""
        d, squares = self.rows.shape[1], self.rows.squared_norms
        shift = abs(float(w[d])) if self.intercept != "none" else 0.0
        length = math.sqrt(square(w[:d]))
        bound = self.terms.most_noise(length * math.sqrt(float(squares.max())) + shift)
        if bound <= small:
            return bound
        scores = self.scores(w)
        bound = self.terms.noise(scores, length * np.sqrt(squares) + shift)
        if bound <= small:
            return bound
        sizes, lengths = np.empty(len(scores)), np.abs(w[:d])
        for part, block in self.rows.blocks():
            self.deadline.check()
            sizes[part] = abs(block) @ lengths
        return self.terms.noise(scores, sizes + shift)

    def scores(self, w: Reals) -> Reals:
        """Scores of all rows."""
        d = self.rows.shape[1]
        scores = self.products(w[:d])
        return scores + w[d] if self.intercept != "none" else scores

    def products(self, w: Reals) -> Reals:
        """``X w`` for weights of the features, read-only; those of the last weights are not computed again."""
        for there in (self.last, self.known):
            if there is not None and np.array_equal(there[0], w):
                return there[1]
        products = self.rows.scores(w)
        self._remember(w, products)
        return products

    def look_ahead(self) -> Reals | None:
        """The weights ahead, if they are better than those to begin with; their products are at hand then."""
        if self.ahead is None or self.warm is None:
            return None
        w, products = self.ahead
        self._remember(w[: self.rows.shape[1]], products)
        return w if self.objective(w) < self.objective(self.warm.w) else None

    def _remember(self, w: Reals, products: Reals) -> None:
        products.flags.writeable = False
        self.last = (w.copy(), products)

    def evaluate(self, w: Reals) -> Evaluation:
        """Losses and task losses of all rows, per unit of weight."""
        scores = self.scores(w)
        slack, c = self.terms.cost(scores), self.c
        risk = self.terms.wrong(scores, slack) / c if self.signs else slack
        slack /= c
        return Evaluation(slack, risk, np.empty(0, np.int64))

    def fault(self, said: str, w: Reals) -> Exception:
        """The error where a lower bound is above the objective of ``w``."""
        return fault_of_terms(said, self.terms, self.scores(w), self.dual_point.beta)

    def start(self) -> Reals:
        """The dual point to begin with, shape ``(n, m)``: 0, or one near that of a warm start."""
        terms, warm = self.terms, self.warm
        if warm is None or warm.beta is None or not isinstance(terms, Terms):
            return np.zeros(terms.sign.shape)

        def length(beta: Reals) -> float:
            value = float(square(self.sums_of(beta)))
            return value + (self.scale * float(beta.sum())) ** 2 if self.intercept == "penalized" else value

        return warm_dual(terms, warm.beta, length, balanced=self.intercept == "free")

    def sums_of(self, beta: Reals) -> Reals:
        """``X^T beta``, read-only. The coefficients are kept: leave them as they are."""
        known = self.sums
        factor = None if known is None else factor_between(known[0], beta)
        if known is None or factor != 1.0:
            sums = self.rows.combined(beta) if known is None or factor is None else factor * known[1]
            sums.flags.writeable = False
            self.sums = known = (beta, sums)
        return known[1]

    def weights_of(self, beta: Reals) -> Reals:
        """Weights of a dual point; 0 for a free intercept. The coefficients are kept: leave them as they are."""
        w = self.sums_of(beta)
        if self.intercept == "none":
            return w.copy()
        return np.append(w, self.scale**2 * float(beta.sum()) if self.intercept == "penalized" else 0.0)

    def best_between(self, w: Reals, v: Reals) -> Reals:
        """The best of two weights and their middle, each with the best intercept there is where that is free."""
        d = self.rows.shape[1]
        first, second = self.products(w[:d]), self.products(v[:d])
        known = [(w, first), (0.5 * (w + v), 0.5 * (first + second)), (v, second)]
        least, best = math.inf, known[0]
        for point, products in known:
            if self.intercept == "free":
                point = np.append(point[:-1], best_intercept(self.terms, products))
            scores = products + point[-1] if self.intercept != "none" else products
            value = self.penalty(point) + float(self.terms.cost(scores).sum())
            if value < least:
                least, best = value, (point, products)
        self._remember(best[0][:d], best[1])
        return best[0]

    def from_dual(self, a: Reals, radius: float | None = None, *, answer: bool = True) -> tuple[Reals, float]:
        """Weights of a dual point, with the best intercept there is for them, and the dual value.

        Where the intercept is free the point is made feasible first, see :meth:`~maxmargin.terms.Terms.balanced`. With
        a ``radius`` the problem is that of the loss alone over ``penalty(w) <= radius^2 / 2``. Where the weights are no
        ``answer`` a free intercept of theirs is 0.
        """
        if self.intercept == "free":
            a = self.terms.balanced(a)
        beta = self.terms.beta(a)
        w = self.weights_of(beta)
        value, penalty = self.terms.gain(a), self.penalty(w)
        if radius is None:
            value -= penalty
        else:
            length = math.sqrt(2.0 * penalty)
            value -= radius * length
            share = radius / length if length > 0.0 else 0.0
            beta, w = share * beta, share * w
        if self.intercept == "free" and answer:
            w[-1] = best_intercept(self.terms, self.products(w[:-1]))
        if value > self.dual_point.value:
            self.dual_point = DualPoint(value, beta, w)
        return w, value
