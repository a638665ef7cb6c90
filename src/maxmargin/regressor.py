"""Support vector regression, linear or with a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ._checked_rows import checked_rows
from ._estimator import check_sample_weight, check_targets, shares, undone_if_failed
from ._kernel_machine import KernelMachine, coefficients, dual_of, nu_for_values
from ._machine import check_epsilon, check_switches
from ._notes import HardMargin
from ._partial_fit import Streams, can_stream, for_streams, used_rows
from ._warm import EncodedValues, End, Ends
from .errors import DataError
from .losses import EpsilonInsensitive, SquaredEpsilonInsensitive
from .solvers.base import WarmStart
from .solvers.linear.rows import Rows
from .solvers.loop import Result
from .status import Status
from .terms import Terms, insensitive, squared_insensitive

__all__ = ["SVMRegressor"]

Reals = NDArray[np.float64]
_LOSSES = {"epsilon_insensitive": insensitive, "squared_epsilon_insensitive": squared_insensitive}
_LARGEST = 1e100


class Regressor(RegressorMixin):
    """scikit-learn's regressor, whose score refuses what are no values or weights as a fit does."""

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Coefficient of determination, of the weighted rows where there are weights.

        Raises
        ------
        DataError
            For values that are no real numbers, and for bad weights.
        """
        y = check_targets(y)
        if getattr(getattr(y, "dtype", None), "kind", "") == "c":
            raise DataError(f"{type(self).__name__}: Complex data not supported: y must hold real numbers")
        if sample_weight is not None and y is not None:
            sample_weight = shares(sample_weight, y)
        return float(super().score(X, y, sample_weight))


class SVMRegressor(Regressor, KernelMachine):
    """Support vector regression with a certificate.

    Minimises ``1/2 |w|^2 + C sum_i s_i (|y_i - <w, x_i> - b| - epsilon)_+`` (or the square of the bracket).
    With a kernel ``k`` the value is ``sum_j beta_j k(x_j, x) + b`` and ``|w|^2`` is
    ``sum_ij beta_i beta_j k(x_i, x_j)``.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the slacks; ``C = 1 / (lambda n)`` gives the lambda form.
    epsilon : float, default=0.1
        Errors up to this size cost nothing.
    kernel, gamma, coef0, degree
        See :class:`~maxmargin.SVMClassifier`.
    nu : float in (0, 1], optional
        Instead of ``epsilon``, which is found then: a bound of the share of errors outside the tube from above and of
        support vectors from below (Schoelkopf, Smola, Williamson, Bartlett 2000). The certificate is that of
        ``1/2 |w|^2 + C sum_i s_i (nu epsilon + (|y_i - f_i| - epsilon)_+)``.
    loss : {"epsilon_insensitive", "squared_epsilon_insensitive"} or an object of these losses, \
default="epsilon_insensitive"
        An object of :class:`~maxmargin.losses.EpsilonInsensitive` or of its square has an ``epsilon`` of its own, which
        counts.
    fit_intercept : bool, default=True
        Learn an intercept ``b``; it is not penalised.
    penalize_intercept : bool, default=False
        Treat the intercept as the weight of a constant feature 1.
    tol : float, default=1e-3
        Relative duality gap at which to stop.
    max_passes : int, default=10000
        Passes over the data (iterations of the interior point method count as one each).
    max_time : float, optional
        Seconds of solving.
    solver, cache_mb
        See :class:`~maxmargin.SVMClassifier`.
    random_state : int or RandomState, optional
        Order of the visits.
    verbose : int, default=0
        1 shows progress, 2 every pass.
    warm_start : bool, default=False
        Begin where the last :meth:`fit` ended, see :class:`~maxmargin.SVMClassifier`.
    callback : callable, optional
        ``callback(record, w)`` after every pass, or step of several; a true answer stops the fit.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
        With ``kernel="linear"`` only.
    intercept_ : float
    support_, dual_coef_, dual_residual_, support_vectors_ : arrays
        Rows that the values depend on, and their coefficients of shape ``(1, n_support)``; see
        :class:`~maxmargin.SVMClassifier`.
    kernel_ : Kernel
        With its parameters resolved.
    epsilon_ : float
        Half the width of the tube, given or found.
    certificate_ : Certificate
    notes_ : tuple of str
        See :class:`~maxmargin.SVMClassifier`; also that no weights are needed for targets within ``epsilon``.
    history_ : list of Record
    solver_, solver_reason_ : str
        The algorithm, and why it was taken.
    n_iter_ : int
        Passes over the data.
    n_samples_seen_ : int
        Rows of positive weight, after :meth:`partial_fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import SVMRegressor
    >>> model = SVMRegressor(C=100.0, epsilon=0.0, tol=1e-6).fit(np.arange(5.0)[:, None], 2 * np.arange(5.0) + 1)
    >>> model.predict([[10.0]]).round(3).tolist()
    [21.0]
    """

    intercept_: float
    epsilon_: float

    def __init__(
        self,
        C: float = 1.0,
        *,
        epsilon: float = 0.1,
        kernel: Any = "linear",
        gamma: float | str = "scale",
        coef0: float = 0.0,
        degree: int = 3,
        nu: float | None = None,
        loss: Literal["epsilon_insensitive", "squared_epsilon_insensitive"]
        | EpsilonInsensitive = "epsilon_insensitive",
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        tol: float = 1e-3,
        max_passes: int = 10_000,
        max_time: float | None = None,
        solver: Any = "auto",
        cache_mb: float = 500.0,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.nu = nu
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.tol = tol
        self.max_passes = max_passes
        self.max_time = max_time
        self.solver = solver
        self.cache_mb = cache_mb
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.callback = callback

    @undone_if_failed
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> SVMRegressor:
        """Fit the model.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Used as it is where it can be, see :meth:`maxmargin.SVMClassifier.fit`.
        y : array of shape (n,)
            Numbers; booleans count for 0 and 1, text is refused.
        sample_weight : array of shape (n,), optional
            Factors ``s_i`` on the slacks; 0 leaves a row out, negative ones are refused.

        Raises
        ------
        ValueError
            For invalid parameters or data: says which and where.
        KeyboardInterrupt
            After Ctrl-C, with the best model so far already stored.
        """
        solver = self._check_machine()
        data = self._encoded(X, y, sample_weight)
        ends = self._ends(data.n, by_kernel=self._by_kernel)
        results, changes = self._fit_all(data, solver, ends)
        self._keep_ends(ends)
        self._keep_notes(self._notes(data, results, changes))
        self._take_over(results)
        return self

    def _notes(self, data: EncodedValues, results: list[Result], changes: list[HardMargin | None]) -> list[str]:
        """What there is to say after a fit, of the data and of the answer; nothing of a hard margin."""
        (result,) = results
        notes = self._notes_on(data.X, data, early=result.certificate.status is Status.INTERRUPTED)
        flat = not np.any(self.coef_ if "coef_" in vars(self) else self.dual_coef_)
        if self.nu is None and flat and result.certificate.primal == 0.0:
            notes.append(
                f"all targets are within epsilon={self._tube[1]:g} of {self.intercept_:.6g}: all weights are 0; "
                "a smaller epsilon would use the features"
            )
        if self.nu is None:
            terms = self._terms(data.target, self._costs(data.weight))
            zero = self._zero_is_best(result.certificate, terms)
            notes += self._notes_on_zero([zero], "tell the targets from each other", notes)
        return notes

    def _encoded(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> EncodedValues:
        """Check the data and what they need of the parameters; see :meth:`fit`."""
        check_switches(self)
        self._check_loss()
        if self.nu is not None and self._tube[0] != "epsilon_insensitive":
            raise ValueError("SVMRegressor: nu is for the loss epsilon_insensitive")
        X, target = self._numbers(X, y)
        n = len(target)
        weight = check_sample_weight(sample_weight, n)
        rows, order, counts = self._counted(X, np.unique(target, return_inverse=True)[1], weight)
        target = target if rows is X else target[order]  # most often all count
        return EncodedValues(
            X=rows, order=order, counts=counts, weight=counts, n=n, free=self._intercept == "free", target=target
        )

    def _numbers(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Any, Reals]:
        """Rows and targets, checked."""
        X, target = checked_rows(
            self, X, check_targets(y), accept_sparse="csr", dtype=[np.float64, np.float32], y_numeric=True, reset=reset
        )
        target = np.asarray(target, np.float64)
        largest = float(np.abs(target).max())
        if largest > _LARGEST:
            raise DataError(f"y has values of up to {largest:.3g} in size: too large; scale y down")
        if 0.0 < largest < 1.0 / _LARGEST:
            raise DataError(f"y has no value above {largest:.3g} in size: too small; scale y up")
        return X, target

    @property
    def _fit_all(self) -> Callable[[EncodedValues, Any, Ends], tuple[list[Result], list[HardMargin | None]]]:
        """Gives the answer for a solver, and nothing about a hard margin; as of a classifier."""
        return self._fit_by_kernel if self._by_kernel else self._fit_linear_rows

    def _check_loss(self) -> None:
        check_epsilon(self)
        if type(self.loss) not in (EpsilonInsensitive, SquaredEpsilonInsensitive) and (
            not isinstance(self.loss, str) or self.loss not in _LOSSES
        ):
            raise ValueError(
                f"loss must be one of {sorted(_LOSSES)} or an object of EpsilonInsensitive or "
                f"SquaredEpsilonInsensitive, not {self.loss!r}"
            )

    @property
    def _tube(self) -> tuple[str, float]:
        """Name of the loss and half the width of its tube."""
        if isinstance(self.loss, str):
            return self.loss, float(self.epsilon)
        return self.loss.name, float(self.loss.epsilon)

    def _terms(self, target: Reals, c: Reals) -> Terms:
        name, epsilon = self._tube
        return _LOSSES[name](target, c, epsilon)

    def _solver_names(self) -> list[str]:
        return [name for name in super()._solver_names() if "perceptron" not in name]

    def _start_in_tube(self, target: Reals, size: int) -> WarmStart | None:
        """The optimum, where all targets are in one tube: no weights, and an intercept in its middle.

        Solvers would only come near it, and no relative gap beside 0 is small.
        """
        free = self._intercept == "free"
        middle = 0.5 * float(target.max()) + 0.5 * float(target.min()) if free else 0.0
        if np.abs(target - middle).max() > self._tube[1]:
            return None
        held = self._intercept if not self._by_kernel else "free" if free else "none"
        w = np.zeros(size + (held != "none"))
        if free:
            w[size] = middle
        return WarmStart(w, beta=np.zeros(len(target)))

    @for_streams(can_stream)
    @undone_if_failed
    def partial_fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> SVMRegressor:
        """Learn from the next piece of a stream, visiting each row once, in the order given; for ``kernel="linear"``.

        As :meth:`maxmargin.SVMClassifier.partial_fit`. A free intercept begins at the mean target of the first piece.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Numbers; booleans count for 0 and 1, text is refused.
        sample_weight : array of shape (n,), optional
            Factors ``s_i`` on the slacks; 0 leaves a row out, negative ones are refused.

        Returns
        -------
        SVMRegressor
            This estimator, with ``coef_``, ``intercept_`` and ``n_samples_seen_``.

        Raises
        ------
        ValueError
            For invalid parameters or data, and for parameters changed between two calls.
        RuledOutError
            With a kernel or ``nu``, or another solver: there is no such method then.
        KeyboardInterrupt
            After Ctrl-C, when the piece has been used in part.
        """
        self._check_parameters()
        check_switches(self)
        self._check_loss()
        streams: Streams | None = vars(self).get("_streams")
        if streams is not None:
            streams.check(self)
        X, target = self._numbers(X, y, reset=streams is None)
        X, order, weight = used_rows(self, X, check_sample_weight(sample_weight, len(target)))
        target = target[order]
        if streams is None:
            start = float(np.average(target, weights=weight)) if self._intercept == "free" else 0.0
            streams = Streams.of_rows(self, 1, start)
        target = target - streams.start
        stream = streams.each[0]
        before = stream.seen
        with streams.piece(self, len(order), lambda: stream.seen - before):
            stream.take(Rows(X), self._terms(target, weight), weight, target)
        return self

    def _take_weights(self, streams: Streams) -> None:
        """Those of the stream."""
        coef, intercept = streams.weights()
        self.coef_, self.intercept_, self.epsilon_ = coef[0], float(intercept[0]), self._tube[1]

    def _fit_linear_rows(
        self, data: EncodedValues, solver: Any, ends: Ends
    ) -> tuple[list[Result], list[HardMargin | None]]:
        terms, d = self._terms(data.target, self._costs(data.weight)), data.X.shape[1]
        folded, warm = data.folded, self._start_in_tube(data.target, d)
        known = ends.known_start() if warm is None else None
        if warm is None and known is None:
            warm = ends.start(data.order, d + bool(self.fit_intercept))
        task = self._linear_task(folded, terms, data.weight, signs=False, warm=warm, known=known)
        result = self._fit_linear(folded, task, solver)
        own = folded.intercept(result.w)
        self.coef_ = folded.original(result.w, np.zeros(d))
        self.intercept_ = float(own.sum())  # of one, or none
        if ends.same:
            ends.known.append(End.of(result, folded, known))
        else:
            ends.keep(data.order, (self.coef_, own), result.dual_point.beta, result.certificate)
        dual = dual_of(result, folded.rows.shape[1])
        result.release()  # before more is made
        self._keep_dual(data.order, [dual])
        self.epsilon_ = self._tube[1]
        return [result], []

    def _fit_by_kernel(
        self, data: EncodedValues, solver: Any, ends: Ends
    ) -> tuple[list[Result], list[HardMargin | None]]:
        X, order, weight, target = data.X, data.order, data.weight, data.target
        if data.kernel is None:
            data.kernel = self._make_kernel(X, data.counts)
        kernel, n, C = data.kernel, len(order), float(self.C)
        if self.nu is None:
            terms = self._terms(target, self._costs(weight))
            warm = self._start_in_tube(target, len(target)) or ends.start(order, int(self._intercept == "free"))
            task = self._kernel_task(kernel, X, terms, weight, C=C, signs=False, warm=warm, values=data.values)
            result = self._fit_kernel(task, solver)
            self.intercept_ = self._intercept_of(result.w[:n], result.w[n:])
            self.epsilon_ = self._tube[1]
        else:
            terms, totals, group = nu_for_values(target, self._costs(weight), float(self.nu))
            task = self._kernel_task(
                kernel, X, terms, weight, C=C, signs=False, totals=totals, group=group, warm=ends.start(order, 2)
            )
            result = self._fit_kernel(task, solver)
            self.intercept_ = 0.5 * float(result.w[n] + result.w[n + 1])
            self.epsilon_ = max(0.5 * float(result.w[n] - result.w[n + 1]), 0.0)
        ends.keep(order, (result.w[n:],), result.w[:n], result.certificate, products=task.products)
        self._keep_support(kernel, X, order, [coefficients(result.w[:n])])
        if "coef_" in vars(self):
            self.coef_ = self.coef_[0]
        result.release()
        return [result], []

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predicted values, of shape (n,)."""
        check_is_fitted(self, "intercept_")
        return self._scores(X)[:, 0] + self.intercept_

    def _to_parts(self) -> dict[str, Any]:
        """What a model file keeps, beyond the parameters and the figures."""
        return self._score_parts() | {"intercept": self.intercept_, "epsilon": self.epsilon_}

    def _from_parts(self, parts: dict[str, Any]) -> None:
        """Take over what :meth:`_to_parts` gave; a ValueError says what does not fit."""
        self._take_score_parts(parts, 1)
        self.intercept_, self.epsilon_ = float(parts["intercept"]), float(parts["epsilon"])
