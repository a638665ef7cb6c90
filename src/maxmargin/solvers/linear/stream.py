"""One pass over a stream of rows, piece by piece, where nobody knows how many will come.

After ``n`` rows the objective is ``P_n(w) = 1/2 |w|^2 + C sum_(i <= n) s_i loss_i(w)``, that of a fit of these rows:
the more there are, the less the penalty weighs against the mean loss (``lambda = 1 / (n C)``). Dual averaging (Nesterov
2009; Xiao 2010) with a proximal term that grows, which is Pegasos where that term is the penalty alone::

    w_(n+1) = -G_n / (1/C + beta_n),    G_n = sum of the subgradients of s_i loss_i that the rows met,
    beta_n = sum_(i <= n) s_i |x_i|^2 / (10 e sqrt(n)) + 2 max_(i <= n) bend_i |x_i|^2

with ``bend_i`` the largest second derivative of ``s_i loss_i``, 0 of plain hinges; ``e`` is the root mean square of the
targets for a plain tube around them, else 1. What is returned is the mean of all ``w_n``, with the share
``4 / (n + 3)`` of the latest (Shamir and Zhang 2013). The intercept has its own ``beta_n``, with 1 for ``|x_i|^2``,
and where it is free no ``1/C``.

By the regret bound of dual averaging, for rows in random order the expected ``P_n`` of such means is above its minimum
by ``C O(sqrt(n))``, so relative to ``P_n`` by ``O(1 / sqrt(n))`` where no weights bring the mean loss to 0. There is no
lower bound and no certificate: the rows are gone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...terms import LossTerms, Terms
from ..chunks import chunks
from ..scaled_weights import own_arrays
from .rows import Rows
from .subgradient_steps import COLUMNS, CompiledSteps, curvatures

__all__ = ["Stream"]

Reals = NDArray[np.float64]
_LENGTH = 0.1
_POWER = 3.0


class Stream:
    """Weights of one problem that learn from one piece of a stream after another.

    Parameters
    ----------
    d : int
        Number of features.
    C : float
    intercept : {"free", "penalized", "none"}
        A penalised one is the weight of a constant feature 1.

    Attributes
    ----------
    seen : int
        Rows so far.
    """

    unit: ClassVar[str] = "row"
    """What a step is for."""

    first_figures: ClassVar[tuple[float, ...]] = (0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0)
    """The figures before the first row, see :meth:`state`."""

    steps: Any

    def __init__(self, d: int, C: float, intercept: str) -> None:
        self.d, self.C, self.intercept = d, C, intercept
        zero = np.zeros(self.n_weights)
        self.go_on_from(0, zero, zero, np.array(self.first_figures))

    @property
    def n_weights(self) -> int:
        """Number of weights, the intercept included."""
        return self.d + (self.intercept != "none")

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(own_arrays(state))

    def state(self) -> tuple[int, Reals, Reals, Reals]:
        """All it goes on from: rows seen, the last weights, their mean, and figures of the rows, shape ``(7,)``.

        Weights have the intercept last, if there is one. The figures are the sums of ``s_i |x_i|^2``, of ``s_i`` and of
        ``s_i`` times the squared targets, the largest bends of weights and intercept, and the widths of the last step.
        """
        return self.seen, self.steps.last(), self.steps.mean(), self._figures()

    def _figures(self) -> Reals:
        return np.concatenate([self._sums, self._bends, self._width])[:, 0]

    def go_on_from(self, seen: int, last: Reals, mean: Reals, figures: Reals) -> None:
        """Take over what :meth:`state` gave.

        Raises
        ------
        ValueError
            For figures that no rows have.
        """
        if not ((figures[:5] >= 0.0).all() and (figures[5:] > 0.0).all()):
            raise ValueError("figures of rows that no rows have")
        self.seen = seen
        self.steps = CompiledSteps(last, self.d, averaged=True, mean=mean)
        self._sums, self._bends, self._width = (part[:, None].copy() for part in np.split(figures, [3, 5]))

    def take(self, rows: Rows, terms: Terms | LossTerms, weight: Reals, target: Reals | None = None) -> None:
        """One step for each row in turn.

        Parameters
        ----------
        rows : Rows
        terms : Terms or LossTerms
            With the cost ``s_i loss_i``, without ``C``.
        weight : float64 array of shape (n,)
            ``s_i > 0``.
        target : float64 array of shape (n,), optional
            Targets, where scores are to be near them.
        """
        n = len(weight)
        # of the weights, and of the intercept
        sizes = np.stack([rows.squared_norms, np.ones(n)])
        squares = np.ones(n) if target is None else target * target
        scaled = target is not None and isinstance(terms, Terms) and not terms.squared
        plan, keep = self._plan(weight * np.vstack([sizes, squares]), curvatures(terms) * sizes, scaled)
        self.steps.turn_to(rows, terms)
        done = 0
        try:
            for run in chunks(np.arange(n)):
                self.steps.take(run, 1, plan[done : done + len(run)])
                done += len(run)
        finally:  # also after Ctrl-C
            self.steps.release()
            keep(done)

    def _plan(
        self, loads: Reals, bends: Reals, scaled: bool = False, scale: Reals | None = None
    ) -> tuple[Reals, Callable[[int], None]]:
        """A plan of steps, and what is to be called with the number of those that were taken.

        Parameters
        ----------
        loads : float64 array of shape (3, n)
            ``s_i`` times ``|x_i|^2``, 1 and the square of the target.
        bends : float64 array of shape (2, n)
            ``bend_i`` times ``|x_i|^2`` and 1.
        scaled : bool
            Whether steps go by the size of the targets.
        scale : float64 array of shape (n,), optional
            Instead, the size of the losses at each step.
        """
        n = loads.shape[1]
        t = self.seen + np.arange(1.0, n + 1.0)
        # one after another, whatever the pieces are
        sums = np.cumsum(np.concatenate([self._sums, loads], axis=1), axis=1)[:, 1:]
        bends = np.maximum(np.maximum.accumulate(bends, axis=1), self._bends)
        if scale is None:
            scale = np.sqrt(sums[2] / np.where(sums[1] > 0.0, sums[1], 1.0)) if scaled else np.ones(n)
        width = 2.0 * bends
        # targets that are 0 so far, as the weights, have subgradients of 0
        width += _LENGTH * sums[:2] / (np.sqrt(t) * np.where(scale > 0.0, scale, np.inf))
        width[: 1 + (self.intercept == "penalized")] += 1.0 / self.C
        width[width == 0.0] = 1.0
        plan = np.empty((n, COLUMNS))
        plan[:, 0], plan[:, 2] = np.concatenate([self._width, width[:, :-1]], axis=1) / width
        plan[:, 1] = 1.0 / width[0]
        plan[:, 3] = 0.0 if self.intercept == "none" else 1.0 / width[1]
        plan[:, 4] = (_POWER + 1.0) / (t + _POWER)

        def keep(done: int) -> None:
            if done:
                self.seen += done
                self._sums, self._bends, self._width = (x[:, done - 1 : done].copy() for x in (sums, bends, width))

        return plan, keep

    def weights(self) -> Reals:
        """Mean weights, the intercept last if there is one."""
        mean: Reals = self.steps.mean()
        return mean
