"""Constituency parsing with a structured SVM."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ._estimator import (
    MarginEstimator,
    check_lengths,
    check_number,
    check_sample_weight,
    resolve_n_jobs,
    undone_if_failed,
)
from .errors import DataError
from .structures.values import examples_of, is_frame, is_no_list

if TYPE_CHECKING:
    from .data.brackets import Tree
    from .structures.tree import TreeStructure

__all__ = ["TreeSVM"]


class TreeSVM(MarginEstimator):
    """Structured SVM over constituency trees: grammar read off the trees, CKY, and a certificate.

    Minimises ``1/2 |w|^2 + C sum_i s_i max_y [Delta(y_i, y) + <w, phi(x_i, y) - phi(x_i, y_i)>]`` over all trees of the
    grammar, with weights of words' tags and the chains above them, of spans, of rules and of top symbols.

    Parameters
    ----------
    C : float, default=0.1
        Weight of the slacks; ``C = 1 / (lambda n)`` gives the lambda form.
    loss : {"constituents", "zero_one"}, default="constituents"
        Number of wrong and of missed constituents (a tag is one over its word), or 1 for any tree but the true one.
    horizontal : int, default=1
        How many sisters an intermediate symbol of the binarised grammar remembers.
    factor : {"right", "left"}, default="right"
        Side on which nodes with many children are binarised.
    functions, empty : bool, default=False
        Keep functional tags (``NP-SBJ``) and empty elements.
    min_count : int, default=1
        Features that occur less often in the training sentences are ignored. A sentence counts with its
        ``sample_weight``, as many copies of it would; fractions add up, and 1 ignores nothing.
    tol : float, default=1e-2
        Relative duality gap at which to stop.
    max_passes : int, default=200
        Passes over the data, that of the certificate included (1 is taken for 2: a pass and its certificate).
    max_time : float, optional
        Seconds of solving, looked at within passes too; the pass of the certificate comes on top.
    solver : str or solver object, default="auto"
        ``"frank_wolfe"``, ``"n_slack"``, ``"one_slack"``, ``"averaged_perceptron"``, ``"perceptron"``,
        ``"bundle"``, ``"gradient_descent"``, ``"subgradient"``, ``"pegasos"``.
    n_jobs : int, optional
        Threads for evaluations and predictions; the model does not depend on it.
    random_state : int or RandomState, optional
        Order of the visits.
    verbose : int, default=0
        1 shows progress, 2 every pass.
    warm_start : bool, default=False
        Start from the weights of the last fit when grammar and features are the same.
    callback : callable, optional
        ``callback(record, w)`` after every pass, or step of several; a true answer stops the fit.

    Attributes
    ----------
    coef_ : array of shape (n_weights,)
    structure_ : TreeStructure
        Grammar, vocabularies and the layout of the weights.
    certificate_ : Certificate
    history_ : list of Record
    n_mistakes_ : int64 array of shape (1,)
        Steps of a perceptron; with no other solver.
    complete_ : list of bool
        For each sentence of the last ``predict``: whether it has a whole tree of the grammar. Others got their best
        partial analysis, fragments under one root.

    Notes
    -----
    A sentence is a list of words, or of (word, tag) pairs where tags are given.

    Examples
    --------
    >>> from maxmargin import TreeSVM
    >>> from maxmargin.data import parse_tree
    >>> dog, snow = "(S (NP (DT the) (NN dog)) (VP (VB barks)))", "(S (NP (NN snow)) (VP (VB falls)))"
    >>> trees = [parse_tree(dog), parse_tree(snow)]
    >>> model = TreeSVM(C=10.0, random_state=0).fit([tree.leaves() for tree in trees], trees)
    >>> print(model.predict([["the", "snow", "falls"]])[0])
    (S (NP (DT the) (NN snow)) (VP (VB falls)))
    """

    coef_: NDArray[np.float64]
    structure_: TreeStructure

    _at_once = "its grammar is read off all trees at once"

    def __init__(
        self,
        C: float = 0.1,
        *,
        loss: Literal["constituents", "zero_one"] = "constituents",
        horizontal: int = 1,
        factor: Literal["right", "left"] = "right",
        functions: bool = False,
        empty: bool = False,
        min_count: int = 1,
        tol: float = 1e-2,
        max_passes: int = 200,
        max_time: float | None = None,
        solver: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        callback: Callable[..., Any] | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.horizontal = horizontal
        self.factor = factor
        self.functions = functions
        self.empty = empty
        self.min_count = min_count
        self.tol = tol
        self.max_passes = max_passes
        self.max_time = max_time
        self.solver = solver
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.callback = callback

    @undone_if_failed
    def fit(self, X: Sequence[Any], y: Sequence[Tree], sample_weight: ArrayLike | None = None) -> TreeSVM:
        """Read the grammar off the trees and fit the weights.

        Parameters
        ----------
        X : list of sentences
        y : list of Tree
            Over the words of their sentences.
        sample_weight : array of shape (n_sentences,), optional
            Factors on the slacks: weight 2 is two copies, for counts of words and features too (``min_count``, and the
            5 occurrences from which spans see a word itself). 0 leaves a sentence out, negative ones are refused.

        Raises
        ------
        ValueError
            For invalid parameters or data: says which sentence and what to do.
        KeyboardInterrupt
            After Ctrl-C, with the best model so far already stored.
        """
        from .solvers.compiled_oracle import CompiledOracle
        from .structures.tree import TreeStructure

        self._check_parameters()
        check_number(self, "min_count", low=1, integral=True)
        check_number(self, "horizontal", low=0, integral=True)
        X, y = examples_of(X, "X", "sentences"), examples_of(y, "y", "trees")
        _check_trees(X, y)
        weight = check_sample_weight(sample_weight, len(X))
        if weight is not None and (weight == 0).any():  # as if they had not been given
            kept = np.flatnonzero(weight > 0)
            X, y, weight = [X[i] for i in kept.tolist()], [y[i] for i in kept.tolist()], weight[kept]
        structure = TreeStructure.from_trees(
            X,
            y,
            loss=self.loss,
            horizontal=self.horizontal,
            factor=self.factor,
            functions=self.functions,
            empty=self.empty,
            min_count=self.min_count,
            sample_weight=weight,
        )
        encoded = structure.encode(X, y)
        _check_labels(y)
        initial = None
        if self.warm_start and hasattr(self, "coef_") and _same(structure.state(), self.structure_.state()):
            initial = self.coef_
        result = self._optimize(CompiledOracle(structure, encoded), weight, initial)
        self.structure_, self.coef_ = structure, result.w
        self._finish(result)
        return self

    def predict(self, X: Sequence[Any]) -> list[Tree]:
        """Best trees; ``complete_`` says which sentences have a whole tree of the grammar."""
        from .solvers.compiled_oracle import decode_all

        check_is_fitted(self, "coef_")
        _check_sentences(X)
        if not len(X):
            self.complete_: list[bool] = []
            return []
        structure = self.structure_
        encoded = structure.encode(X)
        start = encoded.extra["output_start"]
        flat, _ = decode_all(structure, encoded, self.coef_, start, n_jobs=resolve_n_jobs(self.n_jobs))
        outs: list[NDArray[np.int32]] = [flat[start[i] : start[i + 1]] for i in range(encoded.n_examples)]
        self.complete_ = [structure.complete(out) for out in outs]
        return [structure.output(encoded, i, out) for i, out in enumerate(outs)]

    def score(self, X: Sequence[Any], y: Sequence[Tree], sample_weight: ArrayLike | None = None) -> float:
        """F1 of labelled brackets; the true trees are cleaned as in ``fit``.

        With weights of the sentences, of shape (n,), each of its brackets counts so much.

        Raises
        ------
        DataError
            When ``y`` holds something else than trees, a tree has no words, or other numbers of them than its sentence:
            says which.
        """
        from .metrics import bracket_scores
        from .structures.grammar import cleaned

        check_is_fitted(self, "coef_")
        _check_trees(X, y, "score")
        grammar = self.structure_.grammar
        true = [cleaned(tree, i, functions=grammar.functions, empty=grammar.empty) for i, tree in enumerate(y)]
        predicted = self.predict(X)
        if (weight := check_sample_weight(sample_weight, len(true), "score")) is None:
            return float(bracket_scores(true, predicted).overall.f1)
        each = [bracket_scores([right], [found]).overall for right, found in zip(true, predicted, strict=True)]
        weight = weight / weight.max()
        total = float(weight @ [score.support + score.predicted for score in each])
        return 2.0 * float(weight @ [score.correct for score in each]) / total if total else 0.0

    def _to_parts(self) -> dict[str, Any]:
        """What a model file keeps, beyond the parameters and the figures."""
        return {"coef": self.coef_, "structure": self.structure_.state()}

    def _from_parts(self, parts: dict[str, Any]) -> None:
        """Take over what :meth:`_to_parts` gave; a ValueError says what does not fit."""
        from .structures.tree import TreeStructure

        coef = np.ascontiguousarray(parts["coef"], np.float64)
        if coef.ndim != 1:
            raise DataError(f"weights of shape {coef.shape}, not a vector")
        self.structure_ = TreeStructure.from_state(parts["structure"], n_weights=len(coef))
        self.coef_ = coef


def _check_sentences(X: Any) -> None:
    """Something with a length, and no text."""
    if is_no_list(X) or not hasattr(X, "__len__") or getattr(X, "shape", None) == ():
        raise DataError(f"X must be a list of sentences, not a {type(X).__name__}")


def _check_trees(X: Any, y: Any, purpose: str = "learn from") -> None:
    """As many trees as sentences, at least one, and nothing else."""
    from .data.brackets import Tree

    hint = "y must be a list of Tree objects (maxmargin.data: parse_tree reads one from a text, read_trees a file)"
    if isinstance(y, Tree | str) or is_frame(y):
        raise DataError(f"{hint}, not a {type(y).__name__}")
    _check_sentences(X)
    if not len(X) and hasattr(y, "__len__") and not isinstance(y, Mapping) and not len(y):
        raise DataError(f"X is empty: there is nothing to {purpose}")
    check_lengths(X, y, "sentences")
    for i, tree in enumerate(y):
        if not isinstance(tree, Tree):
            raise DataError(f"y[{i}] is a {type(tree).__name__}; {hint}")


def _check_labels(trees: Sequence[Tree]) -> None:
    """Refuse trees that cannot be written in brackets: those predicted would be like them."""
    from .data.brackets import why_unwritable

    for i, tree in enumerate(trees):
        if problem := why_unwritable(tree):
            raise DataError(f"tree {i}: {problem}")


def _same(first: dict[str, Any], second: dict[str, Any]) -> bool:
    return first.keys() == second.keys() and all(np.array_equal(first[name], second[name]) for name in first)
