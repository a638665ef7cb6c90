"""A kernel machine as a linear one: a factor of the kernel matrix, for up to a few thousand points.

With ``K = L L^T`` the points are the rows of ``L``. The factor is a Cholesky one with pivots, so it has as many columns
as the matrix has rank. Memory: the matrix, and its factor twice.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError
from ..base import WarmStart
from ..linear.rows import Rows
from ..linear.task import LinearTask
from .pivoted_cholesky import pivoted_cholesky
from .task import KernelTask

__all__ = ["MOST_POINTS", "factor_for", "factor_of", "likely_rank", "linear_task_of", "shared_factor", "suits"]

Reals = NDArray[np.float64]
MOST_POINTS = 4000
_DEFINITE = 1e-10
_PROBES = 4
_SAMPLE = 512


def suits(task: KernelTask) -> bool:
    """Whether a task has few enough points for a factor."""
    return task.n <= MOST_POINTS


def likely_rank(task: KernelTask) -> int:
    """Columns that a factor would have, as a sample of the points tells; their number where it tells nothing.

    A sample with less than half the rank that it could have has nearly that of all points (measured: at least .85 of it
    on points in two dimensions, all of it for polynomials). Computed once for all tasks that share their values.
    """
    values, n = task.values, task.n
    if values.rank is None:
        size = min(n // 2, _SAMPLE)
        rows = np.sort(np.random.default_rng(0).permutation(n)[:size])
        rank = pivoted_cholesky(task.values_of(rows)).shape[1]
        values.rank = rank if 2 * rank < size else n
    return values.rank


def factor_for(task: KernelTask, method: str, *, many: str, indefinite: str = "") -> Reals:
    """The factor, computed once for all tasks that share their values.

    Raises
    ------
    DataError
        When there are ``many`` points, or the kernel matrix is ``indefinite``: names the method and what else to do.
    """
    if not suits(task):
        raise DataError(
            f"{task.name}: {method} with a kernel is for up to {MOST_POINTS} points; there are {task.n}: {many}"
        )
    factor = shared_factor(task)
    if factor is None:
        why = f"the kernel matrix is not positive semi-definite, which {method} needs"
        raise DataError(f"{task.name}: {why}{indefinite}")
    return factor


def shared_factor(task: KernelTask) -> Reals | None:
    """``L`` of :func:`factor_of`, computed once for all tasks that share their values."""
    values = task.values
    if values.factor is None:
        factor = factor_of(task.kernel.block(task.X, task.X))
        values.factor = False if factor is None else factor
    return None if values.factor is False else values.factor


def factor_of(K: Reals) -> Reals | None:
    """``L`` of shape ``(n, rank)`` with ``K = L L^T`` up to rounding; None when there is none."""
    n = len(K)
    largest = float(np.abs(K).max(initial=0.0))
    if largest == 0.0:
        return np.zeros((n, 1))
    L = pivoted_cholesky(K)
    # by products with a few random vectors: all of them would cost more than the factor
    probes = np.random.default_rng(0).normal(size=(n, _PROBES))
    missing = float(np.abs(K @ probes - L @ (L.T @ probes)).max())
    return L if missing <= _DEFINITE * largest * math.sqrt(n) else None


def linear_task_of(task: KernelTask, factor: Reals) -> LinearTask:
    """The linear task of the rows of the factor, for tasks with at most one threshold; a warm start is taken along."""
    out = LinearTask(
        Rows(factor), task.terms, task.C, task.weight, "free" if len(task.totals) else "none", task.tol,
        np.random.default_rng(0), name=task.name, deadline=task.deadline,
    )  # fmt: skip
    if task.warm is not None:
        out.warm = WarmStart(np.append(factor.T @ task.warm.w[: task.n], task.warm.w[task.n :]))
    return out
