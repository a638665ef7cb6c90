"""Dual ascent over blocks of rows: some hundred rows at a time, whose products with one another are at hand.

Problem: see :mod:`maxmargin.terms`. The steps are those of block SMO (:mod:`maxmargin.solvers.kernel.block_smo`, with
its sources) for the linear kernel, but no row of a kernel matrix is computed: a step takes the products of its rows
with one another, improves the dual over them, and brings the scores of all rows up to date by way of the weights, in
one pass. Coordinate ascent takes thousands of passes where many rows are nearly equal or ``C`` is large, and so do
conjugate gradients; within a block that costs nothing. Steps grow where a few passes over all rows do not do.
Cost of a step of ``q`` rows: a pass over all, the products of the ``q`` rows, of sparse ones where they share a
feature, and ``q`` for each pair of variables that moves. Memory beyond the data: ``q^2`` numbers, at most 0.25 GB, a
copy of dense rows, at most 0.1 GB, and a dozen numbers for each term.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ...kernels import Kernel
from ...terms import hinges_only
from ..base import Run, Step, WarmStart
from ..kernel.block_smo import BlockRun, BlockSMO
from ..kernel.row_cache import KernelValues
from ..kernel.task import KernelTask
from ..options import check_option
from .row_products import RowProducts
from .task import LinearTask

__all__ = ["BlockAscent"]

Reals = NDArray[np.float64]
# Megabytes, an eighth of which is for the numbers of a step: of more rows than such a step has, and of so many that it
# has most of them, where smaller ones take three times as long on hard problems (measured).
_MEMORY, _MOST_MEMORY, _FEW_ROWS = 500.0, 2000.0, 5000
# Operations of a pass of coordinate ascent for each entry of the rows; of a step's choice among all rows for each row;
# and what one for a pair of variables costs beside others (measured: a nanosecond each).
_PASS, _CHOICE, _PAIRS = 1.5, 100.0, 0.5


@dataclass(frozen=True)
class BlockAscent:
    """Dual ascent over blocks of rows.

    Parameters
    ----------
    block : int
        Rows of a step at first.
    """

    block: int = 512

    def __post_init__(self) -> None:
        check_option(self, "block", "an integer of at least 2", lambda value: value >= 2.0, integral=True)

    @property
    def name(self) -> str:
        """Short name, as accepted by the estimators."""
        return "block_ascent"

    def start(self, task: LinearTask) -> Run:
        """Begin a run.

        Raises
        ------
        DataError
            For a loss that is no sum of hinges or of their squares.
        """
        return BlockAscentRun(self, task)


@dataclass
class _Values(KernelValues):
    """Of the linear kernel, from the rows."""

    of: RowProducts | None = field(default=None)

    def cache(self, kernel: Kernel, X: Any, dtype: DTypeLike, megabytes: float) -> Any:
        return self.of

    def combined(self, kernel: Kernel, X: Any, beta: Reals) -> Reals:
        assert self.of is not None
        return self.of.combined(beta)


class BlockAscentRun(Run):
    """``blocks`` is the run on the same problem with the linear kernel; their dual points are the same."""

    task: LinearTask
    exact_gap = True
    cheap_passes = True  # a first step costs about as much as a look at where it begins, and tells the gap there

    def __init__(self, options: BlockAscent, task: LinearTask) -> None:
        self.task = task
        terms = hinges_only(task.terms, task.name, options.name)
        plus = task.scale**2 if task.intercept == "penalized" else 0.0
        self.products = RowProducts(task.rows, plus, task.deadline.check)
        # rounding of float32 is never asked for
        values = _Values(of=self.products, rounding=math.inf)
        totals = np.zeros(1 if task.intercept == "free" else 0)
        beta = task.dual_point.beta
        if not beta.any():
            beta = terms.beta(task.start())
        problem = KernelTask(
            Kernel("linear"), task.rows.matrix, terms, task.C, task.weight, totals,
            np.zeros(terms.sign.shape, np.int64), task.tol, task.name, task.signs,
            warm=WarmStart(np.append(beta, totals)) if beta.any() else None, values=values, deadline=task.deadline,
        )  # fmt: skip
        memory = _MOST_MEMORY if problem.n <= _FEW_ROWS else _MEMORY
        self.blocks = BlockRun(BlockSMO(memory, options.block), problem)
        self.point = np.zeros(task.n_weights)

    def advance(self) -> Step:
        """As many steps as it takes to work on as many rows as there are; each is a pass."""
        rows, steps, before = self.task.rows, self.blocks.steps, self._done()
        self.blocks.steps_left = max(self.passes_left, 1.0)
        step = self.blocks.advance()
        step.passes = max(self.blocks.steps - steps, 1)
        done = self._done() - before + step.passes * _CHOICE * rows.shape[0]
        step.work = done / max(_PASS * rows.entries, 1.0)
        return step

    def _done(self) -> float:
        """Operations so far; those of pairs go several at a time."""
        pairs = self.blocks.operations - self.products.operations
        return _PAIRS * pairs + self.products.operations

    def dual(self) -> float:
        self.blocks.dual()
        self.point, value = self.task.from_dual(self.blocks.a)
        return value

    def weights(self) -> Reals:
        return self.point
