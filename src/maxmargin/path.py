"""Support vector machines for a grid of values of ``C``, each fit begun where the one before ended.

From small values to large ones the coefficients of a fit, times the ratio of the two values as far as the bounds allow,
are a dual point near the optimum of the next fit (Hastie, Rosset, Tibshirani, Zhu, JMLR 2004: between a few values the
path is linear in ``C``). Each fit has a certificate of its own, so the way to it does not matter.
"""

from __future__ import annotations

import copy
import inspect
import math
import numbers
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._products import inner
from ._warm import EncodedValues, Ends
from .classifier import SVMClassifier
from .problem import Certificate
from .regressor import SVMRegressor
from .solvers.linear.rows import square
from .structures.values import as_reals

__all__ = ["SVMPath", "grid_of_C", "svm_path"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]

_LOWEST, _HIGHEST = -3, 3  # decades
MACHINES: dict[str, Any] = {"classification": SVMClassifier, "regression": SVMRegressor}


@dataclass(frozen=True, eq=False, repr=False)
class SVMPath:
    """What :func:`svm_path` found; ``print`` shows it as a table. Entry ``k`` of every array belongs to ``Cs[k]``.

    Attributes
    ----------
    Cs : float64 array of shape (n_C,)
        The values, in the order given.
    models : tuple of SVMClassifier or of SVMRegressor
        The fits, see :meth:`model`.
    norms : float64 array of shape (n_C,)
        ``|w|``, in the space of the kernel where there is one, without the intercept; of several problems together
        (the root of the sum of their squares). Within ``sqrt(2 gap)`` of that of the best weights, which at a small
        ``C`` can be more than it is: give a smaller ``tol`` there.
    training_errors : float64 array of shape (n_C,)
        Weighted share of the training rows that are predicted wrongly; of regressors the weighted mean of the absolute
        errors.
    n_rows : int
        Rows with positive weight; of equal rows in small sets one.
    """

    Cs: Reals
    models: tuple[Any, ...]
    norms: Reals
    training_errors: Reals
    n_rows: int
    _points: Any

    def __len__(self) -> int:
        return len(self.Cs)

    @property
    def margins(self) -> Reals:
        """``2 / |w|``, of classifiers from the one margin to the other, shape ``(n_C,)``; infinite for weights of 0."""
        with np.errstate(divide="ignore"):
            return np.asarray(2.0 / self.norms)

    @property
    def coef_(self) -> Reals:
        """Weights, shape ``(n_C, n_problems, n_features)``, for ``kernel="linear"`` only."""
        return np.array([np.atleast_2d(model.coef_) for model in self.models])

    @property
    def intercept_(self) -> Reals:
        """Intercepts, shape ``(n_C, n_problems)``."""
        return np.array([np.atleast_1d(model.intercept_) for model in self.models])

    @property
    def support_(self) -> Ints:
        """Rows of the training data that support any of the models, ascending, int64."""
        return np.unique(np.concatenate([model.support_ for model in self.models]))

    @property
    def dual_coef_(self) -> Reals:
        """Signed coefficients of the rows ``support_``, shape ``(n_C, n_problems, len(support_))``."""
        return _dual_coef(self.models, self.support_)

    @property
    def n_support(self) -> Ints:
        """How many rows support each model, shape ``(n_C,)``."""
        return np.array([len(model.support_) for model in self.models], np.int64)

    @property
    def certificates(self) -> list[Certificate]:
        """The certificate of each model."""
        return [model.certificate_ for model in self.models]

    @property
    def passes(self) -> Ints:
        """Passes over the data of each fit, shape ``(n_C,)``."""
        return np.array([model.n_iter_ for model in self.models], np.int64)

    def model(self, C: float | None = None, *, k: int | None = None) -> Any:
        """The fit at a value of the grid, or at position ``k``.

        Raises
        ------
        ValueError
            When ``C`` is no value of the grid: names the nearest one.
        IndexError
            When there is no position ``k``.
        """
        if (C is None) == (k is None):
            raise ValueError("give either a value C of the grid or a position k")
        if k is not None and not (isinstance(k, numbers.Integral) and -len(self) <= k < len(self)):
            raise IndexError(f"position k={k!r} is none of the {len(self)} on the path")
        if k is None:
            if not isinstance(C, numbers.Real):
                raise ValueError(f"C must be a number of the grid, not {C!r}")
            k = int(np.abs(np.log(self.Cs) - np.log(C)).argmin()) if C > 0 else 0
            if not np.isclose(self.Cs[k], C, rtol=1e-9, atol=0.0):
                raise ValueError(f"C={C!r} is not on the path; the nearest value is {float(self.Cs[k])!r}")
        return self.models[k]

    def decision_function(self, X: Any) -> Reals:
        """Scores of every classifier, shape ``(n_C, n)`` for two classes, else ``(n_C, n, n_classes)``."""
        if self.regression:
            raise AttributeError("a path of SVMRegressor has no decision function; predict gives its values")
        return np.array([model.decision_function(X) for model in self.scored(X)])

    def predict(self, X: Any) -> NDArray[Any]:
        """Classes or values that every model predicts, shape ``(n_C, n)``."""
        return np.array([model.predict(X) for model in self.scored(X)])

    def scored(self, X: Any) -> Iterator[Any]:
        """The models, each with the scores of these rows in hand: whatever they are asked for is about these rows."""
        scores = self._stacked._scores(X).reshape(-1, len(self), self.intercept_.shape[1])
        for k, model in enumerate(self.models):
            yield _with_scores(model, scores[:, k])

    @property
    def regression(self) -> bool:
        """Whether the models are regressors."""
        return isinstance(self.models[0], SVMRegressor)

    @cached_property
    def _stacked(self) -> Any:
        """A fit with the problems of all: one pass over rows scores them for every model."""
        out = copy.copy(self.models[0])
        if "coef_" in vars(out):
            out.coef_ = np.concatenate(self.coef_)
            return out
        out.support_, out.support_vectors_ = self.support_, self._points
        out.dual_coef_ = self.dual_coef_.reshape(self.intercept_.size, len(out.support_))
        return out

    def __str__(self) -> str:
        of_size = ["|w|", "mean |error|"] if self.regression else ["|w|", "2/|w|", "errors"]
        rows = [["C", *of_size, "support", "gap", "passes"]]
        for k, found in enumerate(self.certificates):
            error = self.training_errors[k]
            shown = [f"{error:.4g}"] if self.regression else [f"{self.margins[k]:.4g}", f"{100.0 * error:.2f} %"]
            rows.append([
                f"{self.Cs[k]:.4g}", f"{self.norms[k]:.4g}", *shown, str(self.n_support[k]),
                f"{found.relative_gap:.1e}", str(found.passes),
            ])  # fmt: skip
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        for C, found in zip(self.Cs, self.certificates, strict=True):
            if not found.status.ok:
                lines.append(f"the fit at C={C:g} ended early: {found.status}")
        return "\n".join(lines)


class _Scored:
    """A fit whose scores of the rows at hand are known."""

    _known: Reals

    def _scores(self, X: Any) -> Reals:
        return self._known


@cache
def _scored_kind(machine: type) -> type:
    """Of the machine's name, which messages of scikit-learn's scorers show."""
    return type(machine.__name__, (_Scored, machine), {})


def _with_scores(model: Any, scores: Reals) -> Any:
    kind: Any = _scored_kind(SVMRegressor if isinstance(model, SVMRegressor) else SVMClassifier)
    out: Any = kind.__new__(kind)
    out.__dict__.update(vars(model), _known=scores)
    return out


def svm_path(
    X: Any,
    y: ArrayLike,
    Cs: int | ArrayLike = 20,
    *,
    task: Literal["classification", "regression"] = "classification",
    sample_weight: ArrayLike | None = None,
    margin: ArrayLike | None = None,
    **parameters: Any,
) -> SVMPath:
    """Fit :class:`~maxmargin.SVMClassifier` or :class:`~maxmargin.SVMRegressor` for many values of ``C``.

    The values are taken in ascending order, whatever the order given, and each fit begins where the one before ended; a
    kernel's values are computed once for all of them, as far as ``cache_mb`` allows. As ``C`` goes to 0 the weights do,
    and the classes predicted are the larger one; as it grows the fit of separable data comes to the hard margin (of
    regressors to the smallest weights with all errors within ``epsilon``, where there are such).

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    y : array of shape (n,)
        Two classes or more, or numbers for a regression.
    Cs : int or array of shape (n_C,), default=20
        The values, positive; a number stands for so many between 1e-3 and 1e3, evenly in their logarithm.
    task : {"classification", "regression"}, default="classification"
        Which of the two is fitted.
    sample_weight, margin : arrays of shape (n,), optional
        See :meth:`maxmargin.SVMClassifier.fit`; margins are for classification.
    **parameters
        Of the estimator, without ``C``, ``nu`` and ``warm_start``. Each fit has the tolerance ``tol``, and limits and
        the callback are those of each fit.

    Returns
    -------
    SVMPath

    Raises
    ------
    ValueError
        For values of ``C`` that are no positive finite numbers, for an unknown task, and as the ``fit`` of the
        estimator.
    TypeError
        For an unknown parameter.
    KeyboardInterrupt
        After Ctrl-C. Its attribute ``path`` is the SVMPath of the values that are done, in the order given, and of the
        one that was interrupted with the best model so far; there is none where nothing was done.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import svm_path
    >>> path = svm_path(np.array([[-1.0], [1.0]]), [0, 1], [0.125, 0.25, 0.5, 1.0])
    >>> path.norms.round(3).tolist()
    [0.25, 0.5, 1.0, 1.0]
    """
    return path_of(X, y, Cs, parameters, task=task, sample_weight=sample_weight, margin=margin)


def path_of(
    X: Any,
    y: ArrayLike,
    Cs: int | ArrayLike,
    parameters: dict[str, Any],
    *,
    task: Literal["classification", "regression"],
    sample_weight: ArrayLike | None = None,
    margin: ArrayLike | None = None,
    with_notes: bool = True,
) -> SVMPath:
    """As :func:`svm_path`; ``with_notes`` says whether the models get theirs, which those of a fold nobody reads."""
    grid = grid_of_C(Cs)
    if not isinstance(task, str) or task not in MACHINES:
        raise ValueError(f"task must be one of {sorted(MACHINES)}, not {task!r}")
    machine = MACHINES[task]
    known = set(inspect.signature(machine).parameters) - {"C", "nu", "warm_start"}
    for name in parameters:
        if name not in known:
            raise TypeError(
                f"svm_path has no parameter {name!r} for {task}; beside Cs it takes {', '.join(sorted(known))}"
            )
    base = machine(**parameters)
    base._check_machine()
    if margin is None:
        data = base._encoded(X, y, sample_weight)
    elif task == "classification":
        data = base._encoded(X, y, sample_weight, margin)
    else:
        raise ValueError("svm_path: margin is for classification; a regression has epsilon")
    data.values.keep = True
    found: list[Any] = [base] * len(grid)
    before, norms, errors = None, np.empty(len(grid)), np.empty(len(grid))
    told: set[str] = set()  # most notes are on the data, and those of every model
    try:
        for k in np.argsort(grid, kind="stable"):
            found[k] = model = copy.copy(base)
            model.C = float(grid[k])
            ends = Ends(data.n, base._by_kernel, before, same=True)
            results, changes = model._fit_all(data, model._check_machine(), ends)
            # before the certificate is stored, which raises the Ctrl-C that was held back: who has one is whole
            norms[k], errors[k] = _norm_and_error(model, data, ends)
            model._keep_notes(model._notes(data, results, changes) if with_notes else (), told)
            model._take_over(results)
            ends.before, before = None, ends
    except KeyboardInterrupt as ended:
        done = np.array([k for k, model in enumerate(found) if hasattr(model, "certificate_")], np.int64)
        if len(done):
            vars(ended)["path"] = _path_of(done, grid, found, norms, errors, data)
            ended.add_note(
                f"svm_path has done {len(done)} of {len(grid)} values of C: the attribute path of this exception is "
                "the SVMPath of these"
            )
        raise
    return _path_of(np.arange(len(grid)), grid, found, norms, errors, data)


def _path_of(which: Ints, grid: Reals, found: list[Any], norms: Reals, errors: Reals, data: Any) -> SVMPath:
    """That of some of the values, at least one."""
    models = [found[k] for k in which]
    return SVMPath(grid[which], tuple(models), norms[which], errors[which], len(data.order), _points_of(models, data))


def grid_of_C(Cs: int | ArrayLike) -> Reals:
    """The values, float64 of shape ``(n_C,)``; a number stands for so many, see :func:`~maxmargin.svm_path`.

    Raises
    ------
    ValueError
        When there are none, or one is no positive finite number.
    """
    if isinstance(Cs, numbers.Integral) and not isinstance(Cs, bool):
        if Cs < 1:
            raise ValueError(f"Cs must be at least 1 value, not {Cs}")
        return np.logspace(_LOWEST, _HIGHEST, int(Cs)) if Cs > 1 else np.ones(1)
    grid = as_reals(Cs, "Cs")
    if grid.ndim != 1:
        raise ValueError(f"Cs must be a number of values or a list of them, not {Cs!r}")
    if not len(grid):
        raise ValueError("Cs is empty: give at least one value")
    bad = np.flatnonzero(~(np.isfinite(grid) & (grid > 0.0)))
    if len(bad):
        raise ValueError(f"Cs[{bad[0]}] is {grid[bad[0]]:g}; every C must be a positive finite number")
    return grid.copy()


def _dual_coef(models: Sequence[Any], support: Ints) -> Reals:
    out = np.zeros((len(models), len(models[0].dual_coef_), len(support)))
    for each, model in zip(out, models, strict=True):
        each[:, np.searchsorted(support, model.support_)] = model.dual_coef_
    return out


def _norm_and_error(model: Any, data: Any, ends: Ends) -> tuple[float, float]:
    """See :class:`SVMPath`; both without another pass over the data where the solver knows the scores of all rows."""
    P, known, kernel = np.size(model.intercept_), ends.products, data.kernel
    if kernel is None:
        if len(known) == P:  # folded weights, which are fewer, are as long
            width = data.folded.rows.shape[1]
            length = math.sqrt(sum(square(end.w[:width]) for end in ends.known))
            return length, _mean_error(model, np.column_stack(known), data)
        coef = np.atleast_2d(model.coef_)
        scores = data.rows.scores(np.ascontiguousarray(coef.T))
        return math.sqrt(inner(coef.ravel(), coef.ravel())), _mean_error(model, scores, data)
    everywhere = np.zeros((data.n, P))
    everywhere[model.support_] = model.dual_coef_.T
    beta = everywhere[data.order]
    scores = np.column_stack(known) if len(known) == P else data.values.combined(kernel, data.X, beta)
    scores -= kernel.plus * beta.sum(0)  # the constant feature of a penalised intercept
    norm = math.sqrt(max(float((beta * scores).sum()), 0.0))
    return norm, _mean_error(model, scores, data)


def _mean_error(model: Any, scores: Reals, data: Any) -> float:
    """By scores without intercept, of shape ``(n, n_problems)``."""
    scored = _with_scores(model, scores)
    if isinstance(data, EncodedValues):
        wrong = np.abs(scored.predict(None) - data.target)
        return float(wrong @ data.counts / data.counts.sum())
    wrong = scored._predicted(None) != data.number
    return float(data.counts[wrong].sum() / data.counts.sum())


def _points_of(models: list[Any], data: Any) -> Any:
    """Of machines with a kernel the rows that support any of them, ascending."""
    if "coef_" in vars(models[0]):
        return None
    used = np.flatnonzero(np.isin(data.order, np.concatenate([model.support_ for model in models])))
    used = used[np.argsort(data.order[used])]
    return np.empty((len(used), 0)) if models[0].kernel_.name == "precomputed" else data.X[used]
