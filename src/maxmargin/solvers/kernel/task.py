"""A kernel machine as a problem for solvers: points, kernel, terms of the loss, intercept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...kernels import Kernel
from ...terms import Terms
from ..base import WarmStart
from ..linear.intercept import best_intercept
from ..oracle import Evaluation

__all__ = ["KernelTask"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass
class KernelTask:
    """``min 1/2 beta' K beta + sum_v cost_v(K beta + b)`` over ``beta`` and, where it is free, the intercept ``b``.

    Weights are kept as one vector ``[beta, b]`` of length ``n + 1``, or ``beta`` alone.

    Attributes
    ----------
    kernel : Kernel
    X : array or CSR matrix of shape (n, d)
        Points with positive weight only; for a precomputed kernel their values, of shape ``(n, n)``.
    terms : Terms
    weight : float64 array of shape (n,)
        ``s_i``; ``terms`` have ``c_i = C s_i`` in them.
    intercept : {"free", "none"}
    signs : bool
        Whether the task loss is a wrong sign (classification); else it is the loss itself.
    warm : WarmStart, optional
        Weights to start from.
    exact : bool
        Whether the kernel is known to be positive semi-definite; only then dual values are surely lower bounds.
    """

    kernel: Kernel
    X: Any
    terms: Terms
    C: float
    weight: Reals
    intercept: Literal["free", "none"]
    tol: float
    name: str = "kernel machine"
    signs: bool = True
    warm: WarmStart | None = None
    exact: bool = field(init=False)
    examples: Ints = field(init=False)
    c: Reals = field(init=False)
    _known: tuple[Reals, Reals] | None = field(init=False, default=None, repr=False)

    def __post_init__(self) -> None:
        self.exact = self.kernel.definite
        self.examples = np.arange(len(self.weight))
        self.c = self.C * self.weight

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.weight)

    @property
    def n_weights(self) -> int:
        """Length of the vector of weights."""
        return self.n + (self.intercept == "free")

    def products(self, beta: Reals) -> Reals:
        """``K beta`` in float64; remembered for the last ``beta``, since a certificate asks for it several times."""
        if self._known is None or not np.array_equal(self._known[0], beta):
            self._known = beta.copy(), self.kernel.combined(self.X, self.X, beta)
        return self._known[1]

    def penalty(self, w: Reals) -> float:
        """``1/2 beta' K beta``."""
        beta = w[: self.n]
        return 0.5 * float(beta @ self.products(beta))

    def objective(self, w: Reals) -> float:
        """``P(w)``."""
        return self.penalty(w) + float(self.terms.cost(self.scores(w)).sum())

    def scores(self, w: Reals) -> Reals:
        """Scores of all points."""
        return self.products(w[: self.n]) + (w[self.n] if self.intercept == "free" else 0.0)

    def evaluate(self, w: Reals) -> Evaluation:
        """Losses and task losses of all points, per unit of weight."""
        scores = self.scores(w)
        slack = self.terms.cost(scores) / self.c
        risk = (self.terms.sign[:, 0] * scores <= 0.0).astype(np.float64) if self.signs else slack
        return Evaluation(slack, risk, np.empty(0, np.int64))

    def from_dual(self, a: Reals) -> tuple[Reals, float]:
        """Weights of a dual point, with the best intercept there is for them, and the dual value.

        Where the intercept is free the point is made feasible first, see :meth:`~maxmargin.terms.Terms.balanced`.
        """
        if self.intercept == "free":
            a = self.terms.balanced(a)
        w = np.empty(self.n_weights)
        w[: self.n] = self.terms.beta(a)
        if self.intercept == "free":
            w[self.n] = best_intercept(self.terms, self.products(w[: self.n]))
        return w, self.terms.gain(a) - self.penalty(w)

    def to_dual(self, w: Reals) -> Reals:
        """The dual point of weights, as near as the box allows, shape ``(n, m)``."""
        a = np.clip(self.terms.sign * w[: self.n, None], 0.0, self.terms.upper)
        return self.terms.balanced(a) if self.intercept == "free" else a
