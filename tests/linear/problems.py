"""Small linear problems written out: objective and optimum without the library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from maxmargin.losses import MarginLoss
from maxmargin.solvers.linear.rows import Rows
from maxmargin.solvers.linear.task import LinearTask
from maxmargin.terms import hinge, insensitive, margin_terms, squared_hinge, squared_insensitive

__all__ = ["EPSILON", "INTERCEPTS", "LOSSES", "Small", "random_problem"]

Reals = NDArray[np.float64]
LOSSES = ("hinge", "squared_hinge", "insensitive", "squared_insensitive")
INTERCEPTS = ("free", "penalized", "none")
EPSILON = 0.3
SCALE = 0.7


@dataclass
class Small:
    """One problem: rows, targets (signs or values), weights, loss, intercept."""

    X: Any
    y: Reals
    c: Reals
    loss: str
    intercept: str

    def objective(self, w: Reals, b: float) -> float:
        """By the definition of the losses."""
        f = np.asarray(self.X @ w).ravel() + b
        error = 1.0 - self.y * f if "hinge" in self.loss else np.abs(self.y - f) - EPSILON
        error = np.maximum(error, 0.0)
        value = 0.5 * float(w @ w) + float(self.c @ (error**2 if "squared" in self.loss else error))
        return value + (0.5 * (b / SCALE) ** 2 if self.intercept == "penalized" else 0.0)

    def optimum(self) -> float:
        """By a general solver of quadratic programs in ``(w, b, slacks)``."""
        import piqp

        X = np.asarray(self.X.todense()) if hasattr(self.X, "todense") else np.asarray(self.X, np.float64)
        n, d = X.shape
        if "hinge" in self.loss:
            A, h = np.hstack([-self.y[:, None] * X, -self.y[:, None], -np.eye(n)]), -np.ones(n)
        else:
            A = np.vstack([np.hstack([s * X, np.full((n, 1), s), -np.eye(n)]) for s in (1.0, -1.0)])
            h = np.concatenate([EPSILON + self.y, EPSILON - self.y])
        A = np.vstack([A, np.hstack([np.zeros((n, d + 1)), -np.eye(n)])])
        h = np.concatenate([h, np.zeros(n)])
        diagonal = np.concatenate([np.ones(d), [SCALE**-2 if self.intercept == "penalized" else 0.0], np.zeros(n)])
        linear = np.concatenate([np.zeros(d + 1), self.c])
        if "squared" in self.loss:
            diagonal[d + 1 :], linear[d + 1 :] = 2.0 * self.c, 0.0
        if self.intercept == "none":
            keep = np.delete(np.arange(d + 1 + n), d)
            A, diagonal, linear = A[:, keep], diagonal[keep], linear[keep]
        solver = piqp.DenseSolver()
        for name in ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"):
            setattr(solver.settings, name, 1e-11)
        solver.settings.max_iter = 500
        solver.setup(np.diag(diagonal), linear, G=A, h_u=h)
        solver.solve()
        x = np.array(solver.result.x)
        return self.objective(x[:d], float(x[d]) if self.intercept != "none" else 0.0)

    def task(self, tol: float = 1e-7, seed: int = 0) -> LinearTask:
        """The same problem as the library states it."""
        c = self.c
        terms = {
            "hinge": lambda: hinge(self.y, c),
            "squared_hinge": lambda: squared_hinge(self.y, c),
            "insensitive": lambda: insensitive(self.y, c, EPSILON),
            "squared_insensitive": lambda: squared_insensitive(self.y, c, EPSILON),
        }[self.loss]()
        return LinearTask(
            Rows(self.X), terms, 1.0, c, self.intercept, tol, np.random.default_rng(seed),  # type: ignore[arg-type]
            signs="hinge" in self.loss, scale=SCALE,
        )  # fmt: skip

    def loss_task(self, loss: MarginLoss, tol: float = 1e-7, seed: int = 0) -> LinearTask:
        """With any loss of the margin instead."""
        return LinearTask(
            Rows(self.X), margin_terms(loss, self.y, self.c), 1.0, self.c, self.intercept, tol,  # type: ignore[arg-type]
            np.random.default_rng(seed), scale=SCALE,
        )  # fmt: skip

    def smooth_optimum(self, loss: MarginLoss) -> float:
        """With a loss that has a derivative, by a general method for smooth functions."""
        d = self.X.shape[1]
        ridge = np.append(np.ones(d), {"free": 0.0, "penalized": SCALE**-2, "none": 0.0}[self.intercept])
        A = np.column_stack([self.X, np.full(len(self.y), 0.0 if self.intercept == "none" else 1.0)])

        def value(v: Reals) -> tuple[float, Reals]:
            t = self.y * (A @ v)
            cost = 0.5 * float(ridge @ (v * v)) + float(self.c @ loss.value(t))
            return cost, ridge * v + A.T @ (self.c * self.y * loss.derivative(t))

        options = dict(ftol=1e-15, gtol=1e-10, maxiter=10_000)
        with np.errstate(over="ignore"):
            found = minimize(value, np.zeros(d + 1), jac=True, method="L-BFGS-B", options=options)
        return float(found.fun)

    def value(self, w: Reals) -> float:
        """Objective of a vector of weights as the solvers lay it out."""
        d = self.X.shape[1]
        return self.objective(w[:d], float(w[d]) if self.intercept != "none" else 0.0)


def random_problem(seed: int, loss: str, intercept: str, C: float, *, n: int = 25, d: int = 4) -> Small:
    """Rows with an offset, a noisy linear target, and unequal weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 0.5
    y = X @ rng.normal(size=d) - 0.7 + 0.8 * rng.normal(size=n)
    if "hinge" in loss:
        y = np.where(y > 0, 1.0, -1.0)
        y[:2] = 1.0, -1.0
    return Small(X, y, C * rng.integers(1, 4, n) / 2.0, loss, intercept)
