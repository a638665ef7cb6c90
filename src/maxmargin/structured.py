"""Structured SVM over any structure: the library's, or one's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ._estimator import (
    MarginEstimator,
    check_lengths,
    check_sample_weight,
    resolve_n_jobs,
    undone_if_failed,
)
from ._partial_fit import Streams, check_stream_costs, check_stream_solver, for_streams
from .errors import DataError
from .structures.base import Structure
from .structures.plain import check_is_structure, checked_loss, checked_output, tell_example
from .structures.values import by_position, examples_of

__all__ = ["StructuredSVM"]


class StructuredSVM(MarginEstimator):
    """Structured SVM with a structure given as an object.

    Minimises ``1/2 |w|^2 + C sum_i s_i max_y [Delta(y_i, y) + <w, phi(x_i, y) - phi(x_i, y_i)>]``.

    Parameters
    ----------
    structure : object
        Either a plain Python structure with the methods ``joint_features(x, y)``, ``loss(y_true, y)`` and
        ``argmax(x, w, y_true=None)``, or a compiled one derived from ``maxmargin.structures.Structure``.
        ``check_structure`` tells whether it keeps its promises.
    C : float, default=1.0
        Weight of the slacks; ``C = 1 / (lambda n)`` gives the lambda form.
    solver : str or solver object, default="auto"
        ``"frank_wolfe"``, ``"n_slack"``, ``"one_slack"``, ``"averaged_perceptron"``, ``"perceptron"``,
        ``"bundle"``, ``"gradient_descent"``, ``"subgradient"``, ``"pegasos"``.
    tol : float, default=1e-2
        Relative duality gap at which to stop.
    max_passes : int, default=200
        Passes over the data, that of the certificate included (1 is taken for 2: a pass and its certificate).
    max_time : float, optional
        Seconds of solving, looked at within passes too; the pass of the certificate comes on top.
    n_jobs : int, optional
        Threads for evaluations and predictions of compiled structures; the model does not depend on it.
    random_state : int or RandomState, optional
        Order of the visits.
    verbose : int, default=0
        1 shows progress, 2 every pass.
    warm_start : bool, default=False
        Start from the weights of the last fit.
    callback : callable, optional
        ``callback(record, w)`` after every pass, or step of several; a true answer stops the fit.

    Attributes
    ----------
    coef_ : array of shape (n_weights,)
    certificate_ : Certificate
    history_ : list of Record
    n_mistakes_ : int64 array of shape (1,)
        Steps of a perceptron; with no other solver.
    n_samples_seen_ : int
        Examples of positive weight, after :meth:`partial_fit`.
    """

    coef_: NDArray[np.float64]

    def __init__(
        self,
        structure: Any,
        C: float = 1.0,
        *,
        solver: Any = "auto",
        tol: float = 1e-2,
        max_passes: int = 200,
        max_time: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.structure = structure
        self.C = C
        self.solver = solver
        self.tol = tol
        self.max_passes = max_passes
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.callback = callback

    @undone_if_failed
    def fit(self, X: Sequence[Any], y: Sequence[Any], sample_weight: ArrayLike | None = None) -> StructuredSVM:
        """Fit the weights.

        Parameters
        ----------
        X, y : sequences of equal length
            Inputs and outputs as the structure knows them.
        sample_weight : array of shape (n,), optional
            Factors on the slacks; 0 leaves an example out, negative ones are refused.

        Raises
        ------
        ValueError
            For invalid parameters or data.
        StructureError
            When the structure lacks something or contradicts itself: names the example and the numbers.
        Exception
            What methods of a plain structure raise comes through as it is, with a note that says at which example.
        KeyboardInterrupt
            After Ctrl-C, with the best model so far already stored.
        """
        from .solvers.oracle import make_oracle

        self._check_parameters()
        X, y = self._examples(X), self._examples(y, "y", "outputs")
        check_lengths(X, y, "examples")
        weight = check_sample_weight(sample_weight, len(y))
        oracle, _ = make_oracle(self.structure, X, y)
        initial = self.coef_ if self.warm_start and hasattr(self, "coef_") else None
        result = self._optimize(oracle, weight, initial)
        self.coef_ = result.w
        self._forget("solver_reason_")  # of a stream
        self._finish(result)
        return self

    @for_streams(check_stream_solver)
    @undone_if_failed
    def partial_fit(self, X: Sequence[Any], y: Sequence[Any], sample_weight: ArrayLike | None = None) -> StructuredSVM:
        """Learn from the next piece of a stream, visiting each example once, in the order given.

        After ``n`` examples in all, of any number of calls, the objective is that of :meth:`fit` for these with the
        same ``C``; in random order the weights come near its minimum as fast as ``1 / sqrt(n)``, see
        :mod:`maxmargin.solvers.structured_stream`. They are the same to the last bit whatever the pieces are. An
        example costs one loss-augmented decoding (the first 64 of a stream two), and a structure in plain Python as
        much beside it as there are weights, which a compiled one costs for each piece. There is no ``certificate_``: it
        would need the examples that are gone. A :meth:`fit` before is forgotten, and a later one forgets the stream.
        ``solver`` must be ``"auto"`` or ``"subgradient"``; ``tol``, the limits, ``random_state``, ``warm_start``,
        ``verbose`` and ``callback`` play no part. A model file keeps all that the next call needs.

        Parameters
        ----------
        X, y : sequences of equal length
            Inputs and outputs as the structure knows them; there must be as many weights in every piece.
        sample_weight : array of shape (n,), optional
            Factors on the slacks; 0 leaves an example out, negative ones are refused.

        Returns
        -------
        StructuredSVM
            This estimator, with ``coef_`` and ``n_samples_seen_``.

        Raises
        ------
        ValueError
            For invalid parameters or data, and for parameters changed between two calls.
        RuledOutError
            With another solver: there is no such method then.
        StructureError
            When the structure lacks something or contradicts itself: names the example and the numbers. The estimator
            stays as it was.
        Exception
            What methods of a plain structure raise, as of :meth:`fit`; the estimator stays as it was.
        KeyboardInterrupt
            After Ctrl-C, when the piece has been used in part.
        """
        from .solvers.oracle import make_oracle

        self._check_parameters()
        streams: Streams | None = vars(self).get("_streams")
        if streams is not None:
            streams.check(self)
        X, y = self._examples(X), self._examples(y, "y", "outputs")
        check_lengths(X, y, "examples")
        weight = check_sample_weight(sample_weight, len(y))
        weight = np.ones(len(y)) if weight is None else weight
        check_stream_costs(self, weight[weight > 0.0])
        oracle, _ = make_oracle(self.structure, X, y)
        if streams is None:
            streams = Streams.of_structure(self, oracle.n_weights)
        elif oracle.n_weights != streams.each[0].n_weights:
            raise DataError(
                f"{oracle.name} has {oracle.n_weights} weights for this piece and had {streams.each[0].n_weights} when "
                "this stream began; there must be as many for every piece"
            )
        streams.take_examples(self, oracle, weight)
        return self

    @property
    def _n_weights(self) -> int:
        """Those of a stream."""
        return len(self.coef_)

    def _take_weights(self, streams: Streams) -> None:
        """Those of the stream."""
        self.coef_ = streams.each[0].weights()

    def predict(self, X: Sequence[Any]) -> list[Any]:
        """Best output of every input.

        Raises
        ------
        StructureError
            When ``argmax`` of a plain structure returns None, and where a function of a compiled one leaves its arrays
            or returns NaN: names the input. What they raise comes through with its type, and with a note that says for
            which input.
        """
        check_is_fitted(self, "coef_")
        check_is_structure(self.structure)
        if not isinstance(self.structure, Structure):
            w = self.coef_.view()
            w.flags.writeable = False
            return [self._answer(i, x, w) for i, x in enumerate(self._examples(X))]
        from .solvers.compiled_oracle import check_encoded, decode_all
        from .structures.check_calls import check_are_compiled
        from .structures.check_report import Ledger

        check_are_compiled(self.structure, Ledger(type(self.structure).__name__, ("functions",), raise_errors=True))
        X = self._examples(X)
        if _is_empty(X):  # what encode makes of nothing need not be defined
            return []
        encoded = self.structure.encode(X)
        check_encoded(self.structure, encoded)
        start = np.arange(encoded.n_examples + 1) * encoded.n_output
        outs, _ = decode_all(self.structure, encoded, self.coef_, start, n_jobs=resolve_n_jobs(self.n_jobs))
        return [self.structure.output(encoded, i, outs[start[i] : start[i + 1]]) for i in range(encoded.n_examples)]

    def _examples(self, values: Any, name: str = "X", what: str = "examples") -> Any:
        """Of a structure in plain Python one by one; a compiled one encodes them together, be it a DataFrame."""
        return by_position(values) if isinstance(self.structure, Structure) else examples_of(values, name, what)

    def _answer(self, i: int, x: Any, w: NDArray[np.float64]) -> Any:
        name = type(self.structure).__name__
        try:
            return checked_output(self.structure.argmax(x, w, None), name, i)
        except Exception as error:
            tell_example(error, name, i)
            raise

    def _loss(self, i: int, y_true: Any, y: Any) -> float:
        name = type(self.structure).__name__
        try:
            return checked_loss(self.structure.loss(y_true, y), name, i)
        except Exception as error:
            tell_example(error, name, i, y)
            raise

    def score(self, X: Sequence[Any], y: Sequence[Any], sample_weight: ArrayLike | None = None) -> float:
        """Minus the mean task loss of plain structures; share of outputs predicted exactly for compiled ones.

        Each example counts with its weight, of shape (n,), where there are weights.
        """
        y = self._examples(y, "y", "outputs")
        check_lengths(X, y, "examples")
        weight = check_sample_weight(sample_weight, len(y), "score")
        found = self.predict(X)
        if not isinstance(self.structure, Structure):
            losses = [self._loss(i, *pair) for i, pair in enumerate(zip(y, found, strict=True))]
            return -float(np.average(losses, weights=weight))
        return float(np.average([np.array_equal(t, p) for t, p in zip(y, found, strict=True)], weights=weight))


def _is_empty(X: Any) -> bool:
    """Whether there is no example, in a list, an array, a sparse matrix or a DataFrame."""
    shape = getattr(X, "shape", None)
    return shape[:1] == (0,) if isinstance(shape, tuple) else hasattr(X, "__len__") and len(X) == 0
