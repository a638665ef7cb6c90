"""The one problem that every solver minimises, its parametrisations, and the certificate of an answer.

Objective (margin rescaling)::

    P(w) = 1/2 |w|^2 + C sum_i s_i xi_i(w),      xi_i(w) = max_y [ Delta(y_i, y) + <w, psi_i(y)> ]

with ``psi_i(y) = phi(x_i, y) - phi(x_i, y_i)``, task loss ``Delta >= 0``, ``Delta(y, y) = 0`` and example weights
``s_i >= 0``. Its dual lives on convex combinations of outputs, ``alpha_i`` in the simplex for every example::

    D(alpha) = C sum_i s_i sum_y alpha_i(y) Delta(y_i, y) - 1/2 |w(alpha)|^2,
    w(alpha) = -C sum_i s_i sum_y alpha_i(y) psi_i(y)

``D(alpha) <= P(w)`` for every pair, so ``P - D`` bounds the distance from the optimum. Sources: Taskar, Guestrin,
Koller (2003); Tsochantaridis, Joachims, Hofmann, Altun (2005); Lacoste-Julien, Jaggi, Schmidt, Pletscher (2013).

Three more parametrisations of the same problem are in use; :class:`Scaling` converts exactly between all of them.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from .losses import is_finite_number
from .status import Status

__all__ = ["Certificate", "Scaling"]


@dataclass(frozen=True)
class Scaling:
    """One trade-off between margin and slack, readable in every parametrisation of the literature.

    ==========================  ===============================================  ==================
    constructor                 objective                                        equals ours times
    ==========================  ===============================================  ==================
    ``Scaling.C(C)``            ``1/2 |w|^2 + C sum_i xi_i``                     1
    ``Scaling.C_over_n(C, n)``  ``1/2 |w|^2 + (C/n) sum_i xi_i``                 1
    ``Scaling.lam(lam, n)``     ``lam/2 |w|^2 + (1/n) sum_i xi_i``               ``lam``
    ``Scaling.percent(C, n)``   ``1/2 |w|^2 + (C/n) sum_i 100 xi_i``             1
    ==========================  ===============================================  ==================

    ``n`` is the number of examples; where they have weights it may be the sum of these, which need not be whole.

    A loss divided by the length of the output (``loss="normalized_hamming"``) is another task loss, not another
    scaling; where all outputs have the same length ``m`` the two are one problem up to the factor, see
    :meth:`loss_divided_by`.

    Attributes
    ----------
    value : float
        ``C`` of the objective ``1/2 |w|^2 + C sum_i xi_i``.
    """

    value: float

    def __post_init__(self) -> None:
        _positive(self.value, "C")

    @classmethod
    def C(cls, C: float) -> Scaling:
        """From ``1/2 |w|^2 + C sum_i xi_i``."""
        return cls(_positive(C, "C"))

    @classmethod
    def C_over_n(cls, C: float, n: float) -> Scaling:
        """From ``1/2 |w|^2 + (C/n) sum_i xi_i`` (structural SVM, n-slack form)."""
        return cls(_positive(C, "C") / _count(n))

    @classmethod
    def lam(cls, lam: float, n: float) -> Scaling:
        """From ``lam/2 |w|^2 + (1/n) sum_i xi_i``; the objectives differ by the factor ``lam``."""
        return cls(1.0 / (_positive(lam, "lam") * _count(n)))

    @classmethod
    def percent(cls, C: float, n: float) -> Scaling:
        """From ``1/2 |w|^2 + (C/n) sum_i xi_i`` with losses counted in percent, as some programs do."""
        return cls(100.0 * _positive(C, "C") / _count(n))

    def to_C(self) -> float:
        """``C`` of ``1/2 |w|^2 + C sum_i xi_i``."""
        return self.value

    def to_C_over_n(self, n: float) -> float:
        """``C`` of ``1/2 |w|^2 + (C/n) sum_i xi_i``."""
        return self.value * _count(n)

    def to_lam(self, n: float) -> float:
        """``lam`` of ``lam/2 |w|^2 + (1/n) sum_i xi_i``; multiply our objective by it to get that form's value."""
        return 1.0 / (self.value * _count(n))

    def loss_divided_by(self, length: float) -> tuple[Scaling, float]:
        """The equivalent scaling when every task loss is divided by ``length``.

        Minimising ``1/2 |w|^2 + C sum_i max_y [Delta + <w, psi>]`` and then dividing ``w`` by ``m`` minimises
        ``1/2 |w|^2 + (C/m) sum_i max_y [Delta/m + <w, psi>]``; the objective is divided by ``m**2``.

        Returns
        -------
        scaling : Scaling
            The scaling of the problem with the divided loss (``C / length``).
        factor : float
            ``1 / length``, by which the weights shrink.
        """
        length = _positive(length, "length")
        return Scaling(self.value / length), 1.0 / length


def _positive(value: float, name: str) -> float:
    if not (is_finite_number(value) and value > 0):
        raise ValueError(f"{name} must be a positive finite number, not {value!r:.80}")
    return float(value)


def _count(n: float) -> float:
    return _positive(n, "the number of examples, or the sum of their weights,")


@dataclass(frozen=True)
class Certificate:
    """How far from the optimum an answer can be, computed afresh in float64 from the returned weights.

    Attributes
    ----------
    primal : float
        ``P(w)`` of the returned weights.
    dual : float
        A lower bound of the optimum: ``D(alpha)`` of a feasible dual point. Minus infinity where there is none, as with
        a kernel that is not positive semi-definite.
    risk_bound : float
        Weighted mean of the slacks ``xi_i``: an upper bound of ``training_risk``.
    training_risk : float
        Weighted mean task loss of the predictions on the training data.
    passes : int
        Passes over the data with a call of the loss-augmented decoder for each example (evaluations included).
    oracle_calls : int
        Single calls of the loss-augmented decoder.
    seconds : float
        Wall-clock time of the fit.
    C : float
        The ``C`` of ``1/2 |w|^2 + C sum_i s_i xi_i``.
    n_examples : int
        Examples with positive weight.
    solver : str
        Name of the solver.
    status : Status
        How the fit ended.
    no_bound : str
        Why ``primal``, ``dual`` and ``risk_bound`` bound nothing, as of a structure with ``exact = False``: its argmax
        may miss the largest loss + score, so that slacks are too small. Empty where they do.
    """

    primal: float
    dual: float
    risk_bound: float
    training_risk: float
    passes: int
    oracle_calls: int
    seconds: float
    C: float
    n_examples: int
    solver: str
    status: Status
    no_bound: str = ""

    @property
    def bounded(self) -> bool:
        """Whether ``dual`` bounds the optimum: it is above minus infinity, and ``no_bound`` is empty."""
        return not self.no_bound and self.dual > -math.inf

    @property
    def gap(self) -> float:
        """``primal - dual``: the answer is at most this far above the optimum. Infinite where nothing is bounded."""
        return self.primal - self.dual if self.bounded else math.inf

    @property
    def relative_gap(self) -> float:
        """``gap / max(|primal|, |dual|)`` (0 when there is no gap); this is what ``tol`` bounds."""
        return relative_gap(self.primal, self.dual) if self.bounded else math.inf

    @property
    def advice(self) -> str:
        """That of the status, which speaks of the certificate only where this has a bound."""
        advice, said, _ = self.status.advice.partition("; the certificate says")
        return self.status.advice if self.bounded or not said else f"{advice}."

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers and strings, with the derived quantities."""
        out = asdict(self)
        out["status"] = str(self.status)
        out["gap"], out["relative_gap"] = self.gap, self.relative_gap
        return out

    def __str__(self) -> str:
        if self.no_bound:
            seen = " as far as seen" if self.status.ok else ""
            return (
                f"primal at least {self.primal:.6g}  no lower bound, for {self.no_bound}  passes {self.passes}  "
                f"{self.status}{seen}\ntraining risk {self.training_risk:.4g}, without a bound"
            )
        bound = f"dual {self.dual:.6g}  gap {self.gap:.3g} ({100 * self.relative_gap:.3g} %)"
        return (
            f"primal {self.primal:.6g}  {bound if self.bounded else 'no lower bound'}  "
            f"passes {self.passes}  {self.status}\n"
            f"training risk {self.training_risk:.4g} <= bound {self.risk_bound:.4g}"
        )


def relative_gap(primal: float, dual: float) -> float:
    """``(primal - dual) / max(|primal|, |dual|)``, 0 without a gap, infinite where there is no lower bound."""
    gap = primal - dual
    if gap <= 0 or dual == -math.inf:
        return 0.0 if gap <= 0 else math.inf
    return gap / max(abs(primal), abs(dual), 1e-300)
