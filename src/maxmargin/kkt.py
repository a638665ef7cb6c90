"""The conditions of Karush, Kuhn and Tucker of a binary support vector machine, checked row by row.

With multipliers ``a_i`` of the margins, ``f_i = <w, x_i> + b``, wanted margins ``m_i`` (1 by default) and
``C_i = C s_i``, weights are optimal if and only if

======================  =====================================================================
primal feasibility      ``y_i f_i >= m_i - xi_i`` and ``xi_i >= 0``
dual feasibility        ``0 <= a_i <= C_i``
slackness               ``a_i (m_i - y_i f_i - xi_i) = 0`` and ``(C_i - a_i) xi_i = 0``
stationarity            ``w = sum_i a_i y_i x_i``
intercept               ``sum_i a_i y_i = 0`` where it is free, ``b = sum_i a_i y_i`` where it is penalised
======================  =====================================================================

The slacks are ``xi_i = (m_i - y_i f_i)_+``. A free intercept follows from the multipliers: it is
``b = y_i m_i - <w, x_i>`` for every row with ``0 < a_i < C_i``. The mean over these rows is taken; where there are
none, every ``b`` of an interval is as good, and its middle is taken. Multipliers that are far from the optimum may
leave no such ``b`` at all: then the nearest is taken, whose largest violation over these rows is the least.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.utils.validation import check_is_fitted

from ._checked_rows import checked_rows
from ._class_labels import KnownLabels
from ._estimator import check_sample_weight
from ._machine import check_margin
from .classifier import SVMClassifier
from .errors import DataError
from .hard_margin import HardMarginSVM
from .losses import Hinge
from .problem import relative_gap
from .solvers.bundle import Bundle
from .structures.rows import FEW_ENTRIES, equal_pairs

__all__ = ["CATEGORIES", "KKTReport", "kkt_report"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]

CATEGORIES = ("outside", "on the margin", "inside, right", "wrong")
"""Of a row: ``a = 0``; ``0 < a < C``; ``a = C`` and a slack of at most the wanted margin; ``a = C`` and a larger."""

_HOW = ("a = 0", "0 < a < C", "a = C, xi <= 1", "a = C, xi > 1")
_SAME = 1e-6
_ROUNDING = 1e-12
_TOLERANCES = (1e-6, 0.1)


@dataclass(frozen=True, eq=False)
class KKTReport:
    """What :func:`~maxmargin.kkt_report` found; ``print`` shows it as a table.

    Arrays have an entry for every row of positive weight.

    Attributes
    ----------
    rows : int64 array of shape (n,)
        Numbers of the rows in the data.
    sign : float64 array of shape (n,)
        ``y_i``: 1 for the second class, -1 for the first.
    a : float64 array of shape (n,)
        Multipliers. Those of equal rows that the fit took for one are shared out by their weights.
    upper : float64 array of shape (n,)
        Their bounds ``C_i``.
    wanted : float64 array of shape (n,)
        Wanted margins ``m_i``.
    scores : float64 array of shape (n,)
        ``f_i``, with the intercept ``b``.
    xi : float64 array of shape (n,)
        Slacks.
    category : int64 array of shape (n,)
        Places in :data:`CATEGORIES`.
    intercept : {"free", "penalized", "none"}
    b : float
        The intercept that follows from the multipliers (``intercept_`` of the model is the best one for its weights).
    b_interval : (float, float)
        The smallest and the largest intercept that the rows on the margin say; without such rows, the interval of
        intercepts that are as good. Both are ``b`` where the intercept is not free, or where none is as it should be.
    weights : float64 array of shape (d,), or None
        ``w`` of a linear machine.
    primal, dual : float
        Values of the two problems at these points. Where the certificate of the model has no lower bound, as with a
        kernel that is not positive semi-definite, the second is minus infinity: the multipliers bound nothing.
    primal_feasibility, dual_feasibility, margin_slackness, bound_slackness, stationarity, balance : float
        Largest violations of the conditions, in the order of the table above: each the largest absolute value over the
        rows, of the stationarity the length of the difference. Of a kernel machine, whose weights are that sum, it
        is 0. The balance is that of the intercept, 0 where there is none.
    tolerance : float
        Up to which share of its bound a multiplier was taken for 0 or for the bound.
    name : str
    C : float
    b_miss : float
        Without rows on the margin: how far ``b`` is from what the worst rows want, where no ``b`` suits all; else 0.
    """

    rows: Ints
    sign: Reals
    a: Reals
    upper: Reals
    wanted: Reals
    scores: Reals
    xi: Reals
    category: Ints
    intercept: Literal["free", "penalized", "none"]
    b: float
    b_interval: tuple[float, float]
    weights: Reals | None
    primal: float
    dual: float
    primal_feasibility: float
    dual_feasibility: float
    margin_slackness: float
    bound_slackness: float
    stationarity: float
    balance: float
    tolerance: float
    name: str
    C: float
    b_miss: float = 0.0

    @property
    def category_names(self) -> tuple[str, ...]:
        """:data:`CATEGORIES`."""
        return CATEGORIES

    @property
    def margins(self) -> Reals:
        """``y_i f_i``."""
        return self.sign * self.scores

    @property
    def counts(self) -> Ints:
        """Rows of each category."""
        return np.bincount(self.category, minlength=len(CATEGORIES))

    @property
    def errors(self) -> int:
        """Rows with ``y_i f_i <= 0``; never more than :attr:`error_bound`, as each has a slack of at least ``m_i``."""
        return int((self.margins <= 0.0).sum())

    @property
    def error_bound(self) -> float:
        """``sum_i xi_i / m_i``."""
        return float((self.xi / self.wanted).sum())

    @property
    def gap(self) -> float:
        """``primal - dual``: what all violations together cost at most; infinite without a lower bound."""
        return self.primal - self.dual

    @property
    def _source(self) -> str:
        """Where the intercept comes from."""
        if self.intercept != "free":
            return self.intercept
        if self.counts[1]:
            return f"mean over the {self.counts[1]} rows on the margin"
        if self.b_miss > 0.0:
            return f"no b suits these multipliers; the nearest is off by {self.b_miss:.6g}"
        return "the middle of [{:.6g}, {:.6g}], all as good".format(*self.b_interval)

    def __str__(self) -> str:
        n = len(self.rows)
        wanted = "1" if (self.wanted == 1.0).all() else "m"
        conditions = [
            ("primal feasibility", f"y f >= {wanted} - xi, xi >= 0", self.primal_feasibility),
            ("dual feasibility", "0 <= a <= C s", self.dual_feasibility),
            ("slackness, margin", f"a ({wanted} - y f - xi) = 0", self.margin_slackness),
            ("slackness, bound", "(C s - a) xi = 0", self.bound_slackness),
            ("stationarity", "w = sum a y x", self.stationarity),
        ]
        if self.intercept != "none":
            conditions.append(("intercept", f"{'0' if self.intercept == 'free' else 'b'} = sum a y", self.balance))
        lines = [f"{self.name}, C={self.C:g}, {n} rows; b = {self.b:.6g} ({self._source})", ""]
        lines.append(f"{'condition':<20} {'':<26} {'violated by':>11}")
        lines += [f"{name:<20} {formula:<26} {value:11.2g}" for name, formula, value in conditions]
        lines += ["", f"{'rows':<20} {'':<16} {'number':>9} {'sum a':>11} {'sum xi':>11}"]
        for k, (name, how) in enumerate(zip(CATEGORIES, _HOW, strict=True)):
            mine = self.category == k
            shown = how.replace("xi <= 1", f"xi <= {wanted}").replace("xi > 1", f"xi > {wanted}")
            sums = f"{self.a[mine].sum():11.5g} {self.xi[mine].sum():11.5g}"
            lines.append(f"{name:<20} {shown:<16} {mine.sum():9d} {sums}")
        lines.append(f"(within {self.tolerance:.2g} of its bound C s of 0 or of the bound, a counts as there)")
        lower = "no lower bound"
        if self.dual > -np.inf:
            relative = relative_gap(self.primal, self.dual)
            lower = f"dual {self.dual:.6g}  gap {self.gap:.3g} ({100 * relative:.3g} %)"
        bound = "sum of xi" if wanted == "1" else "sum of xi / m"
        lines += [
            "",
            f"primal {self.primal:.6g}  {lower}",
            f"training errors {self.errors} <= {bound} {self.error_bound:.6g}"
            f" (share {self.errors / n:.4g} <= {self.error_bound / n:.4g})",
        ]
        return "\n".join(lines)


def kkt_report(
    model: SVMClassifier,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    margin: ArrayLike | None = None,
    tolerance: float | None = None,
) -> KKTReport:
    """Check the conditions of optimality of a binary machine with the hinge loss, linear or with a kernel.

    Loss, ``C`` and intercept are those of the fit, whatever the parameters have been set to since.

    Parameters
    ----------
    model : SVMClassifier
        Fitted in this process (a model file has no multipliers of a linear machine), without ``nu``.
    X, y, sample_weight, margin
        The very data it was fitted to; of a precomputed kernel the values.
    tolerance : float, optional
        A multiplier nearer than this share of its bound to 0 or to the bound is taken to be there. By default the
        square root of the model's relative gap, but at least 1e-6 and at most 0.1: of a rough answer a small multiplier
        says little about the intercept.

    Returns
    -------
    KKTReport

    Raises
    ------
    DataError
        For another loss, several classes, ``nu``, the form over a ball (``Bundle(radius=...)``), a model without
        multipliers, or data, weights, margins or a ``class_weight`` that are not those of the fit: with these the
        objective of the model is not the one in its certificate.
    """
    _check_model(model)
    if tolerance is None:
        tolerance = float(np.clip(np.sqrt(model.certificate_.relative_gap), *_TOLERANCES))
    if not 0.0 <= tolerance < 0.5:
        raise ValueError(f"tolerance must be a number in [0, 0.5), not {tolerance!r}")
    labels = KnownLabels(y, model.classes_)
    X, truth = checked_rows(model, X, labels.y, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
    n = len(truth)
    number = labels.numbers(truth)
    strange = np.flatnonzero(number < 0)
    if len(strange):
        label = labels.label(int(strange[0]), truth)
        raise DataError(f"y[{strange[0]}] is {label!r}, which is none of the classes of the model")
    weight = check_sample_weight(sample_weight, n)
    weight = np.ones(n) if weight is None else weight
    factors = labels.factors(model.class_weight, number, weight > 0.0)
    if factors is not None:
        weight = weight * factors[number]
    wanted = check_margin(margin, n)
    wanted = np.ones(n) if wanted is None else wanted
    sign = np.where(number == 1, 1.0, -1.0)
    beta = _coefficients(model, X, sign, np.column_stack([number, wanted]), weight)

    rows = np.flatnonzero(weight > 0.0)
    f = model._scores(X)[rows, 0]
    C, form = model.certificate_.C, model._form_fitted.intercept
    sign, wanted, upper, beta = sign[rows], wanted[rows], C * weight[rows], beta[rows]
    a = sign * beta + 0.0  # no zeros with a sign
    at_zero, at_bound = a <= tolerance * upper, a >= (1.0 - tolerance) * upper
    b, interval, miss = _intercept(form, f, sign, wanted, at_zero, at_bound, beta)
    scores = f + b
    xi = np.maximum(wanted - sign * scores, 0.0)
    short = wanted - sign * scores - xi
    w, own = None, beta
    square = dual_square = float(beta @ f)
    stationarity = 0.0
    if hasattr(model, "dual_residual_"):
        w = model.coef_[0]
        own = np.asarray(X[rows].T @ beta)
        square, dual_square, stationarity = float(w @ w), float(own @ own), float(np.linalg.norm(w - own))
        rounding = _ROUNDING * float(np.linalg.norm(abs(X[rows]).T @ np.abs(beta)))
        if stationarity > model.dual_residual_[0] + _SAME * np.sqrt(max(square, dual_square)) + rounding:
            raise DataError("X is not what the model was fitted to: its multipliers do not give its weights")
    balance = float(beta.sum())
    _check_objective(model, form, square, f, sign, wanted, upper, _sizes(model, X[rows]))
    if form == "penalized":
        square, dual_square = square + b * b, dual_square + balance * balance
        balance -= b
    elif form == "none":
        balance = 0.0
    return KKTReport(
        rows=rows,
        sign=sign,
        a=a,
        upper=upper,
        wanted=wanted,
        scores=scores,
        xi=xi,
        category=np.where(at_zero, 0, np.where(~at_bound, 1, np.where(xi <= wanted, 2, 3))).astype(np.int64),
        intercept=form,
        b=b,
        b_interval=interval,
        weights=w,
        primal=0.5 * square + float(upper @ xi),
        dual=float(wanted @ a) - 0.5 * dual_square if model.certificate_.bounded else -np.inf,
        primal_feasibility=float(max(0.0, short.max(), -xi.min())),
        dual_feasibility=float(max(0.0, -a.min(), (a - upper).max())),
        margin_slackness=float(np.abs(a * short).max()),
        bound_slackness=float(np.abs((upper - a) * xi).max()),
        stationarity=stationarity,
        balance=abs(balance),
        tolerance=tolerance,
        name=type(model).__name__,
        C=C,
        b_miss=miss,
    )


def _check_model(model: Any) -> None:
    if not isinstance(model, SVMClassifier):
        instead = ""
        if isinstance(model, HardMarginSVM):
            instead = (
                "; an SVMClassifier with a C above abs(dual_coef_).sum() of this model has the same optimum: fit that, "
                "and report on it"
            )
        raise DataError(f"kkt_report is for SVMClassifier, not for {type(model).__name__}{instead}")
    check_is_fitted(model, "intercept_")
    if model.nu is not None:
        raise DataError("kkt_report is for the form with C; this model has nu")
    if isinstance(model.solver, Bundle) and model.solver.radius is not None:
        raise DataError(
            f"kkt_report is for the form with C; this model is the best in the ball of radius {model.solver.radius:g}"
        )
    if model._form_fitted.loss != Hinge.name:
        loss = model._form_fitted.loss or model.loss
        raise DataError(f"kkt_report is for the hinge loss; this model has loss={loss!r}")
    if len(model.classes_) > 2:
        raise DataError(f"kkt_report is for two classes; this model has {len(model.classes_)}")
    if not hasattr(model, "dual_coef_"):
        raise DataError(
            "the model has no multipliers (model files of linear machines have none, nor has partial_fit): fit it again"
        )


def _sizes(model: SVMClassifier, X: Any) -> Reals:
    """What the terms of the scores of some rows add up to where none cancels another: they are rounded beside that."""
    if "coef_" in vars(model):
        return np.asarray(abs(X) @ np.abs(model.coef_[0]))
    if model.kernel_.name == "precomputed":
        X = X[:, model.support_]
    return np.abs(model.kernel_.combined(X, model.support_vectors_, np.abs(model.dual_coef_[0])))


def _check_objective(
    model: SVMClassifier, form: str, square: float, f: Reals, sign: Reals, wanted: Reals, upper: Reals, sizes: Reals
) -> None:
    """Refuse data with which the weights of the model have another objective than in its certificate."""
    own = float(model.intercept_[0])
    slack = np.maximum(wanted - sign * (f + own), 0.0)
    primal = 0.5 * (square + own * own if form == "penalized" else square) + float(upper @ slack)
    known = model.certificate_.primal
    rounding = _ROUNDING * float(upper @ (wanted + sizes + abs(own)))
    if abs(primal - known) > _SAME * abs(known) + rounding:
        raise DataError(
            f"the data are not what the model was fitted to: with them its objective is {primal:.6g}, and it was "
            f"{known:.6g} in the fit; give the same rows, classes, weights and margins, and the class_weight of the fit"
        )


def _coefficients(model: SVMClassifier, X: Any, sign: Reals, kind: Reals, weight: Reals) -> Reals:
    """``a_i y_i`` of every row; of equal rows of one kind, shared out by their weights.

    Raises
    ------
    DataError
        When the rows are not those that the model was fitted to.
    """
    n, support, values = len(sign), model.support_, model.dual_coef_[0]
    if len(support) and support.max() >= n:
        raise DataError(f"X has {n} rows, but row {support.max()} supports the model: it was fitted to other data")
    wrong = np.flatnonzero((sign[support] * values < 0.0) | (weight[support] <= 0.0))
    if len(wrong):
        raise DataError(f"row {support[wrong[0]]} has another class or weight than in the fit: give the same data")
    precomputed = hasattr(model, "kernel_") and model.kernel_.name == "precomputed"
    if hasattr(model, "support_vectors_") and not precomputed:
        difference = abs(X[support] - model.support_vectors_)
        if len(support) and difference.max() > 0.0:
            raise DataError("X is not what the model was fitted to: its support vectors are other rows")
    out = np.zeros(n)
    out[support] = values
    if precomputed or X.size > FEW_ENTRIES:
        return out
    plain = X.astype(np.float64)
    if sp.issparse(plain) and not plain.has_canonical_format:
        plain.sum_duplicates()
    first, second = equal_pairs(plain).T
    if not len(first):
        return out
    equal = connected_components(sp.csr_array((np.ones(len(first)), (first, second)), (n, n)), directed=False)[1]
    group = np.unique(np.column_stack([equal, kind]), axis=0, return_inverse=True)[1].reshape(-1)
    total, joint = np.bincount(group, weights=out), np.bincount(group, weights=weight)
    return np.asarray(weight * (total / np.where(joint > 0.0, joint, 1.0))[group])


def _intercept(
    kind: str,
    f: Reals,
    sign: Reals,
    wanted: Reals,
    at_zero: NDArray[np.bool_],
    at_bound: NDArray[np.bool_],
    beta: Reals,
) -> tuple[float, tuple[float, float], float]:
    """The intercept that multipliers and scores without one say, what there is to choose from, and ``b_miss``."""
    if kind != "free":
        b = float(beta.sum()) + 0.0 if kind == "penalized" else 0.0
        return b, (b, b), 0.0
    at_margin = sign * wanted - f  # the intercept that puts the row on its margin
    free = ~(at_zero | at_bound)
    if free.any():
        said = at_margin[free]
        return float(said.mean()), (float(said.min()), float(said.max())), 0.0
    rises = (sign > 0.0) == at_zero  # rows that want an intercept of at least this much
    low = float(at_margin[rises].max(initial=-np.inf))
    high = float(at_margin[~rises].min(initial=np.inf))
    ends = [end for end in (low, high) if np.isfinite(end)]
    b = float(np.mean(ends))
    if low <= high:
        return b, (low, high), 0.0
    miss = 0.5 * (low - high)
    return b, (b, b), miss if miss > _ROUNDING * float(1.0 + np.abs(at_margin).max()) else 0.0
