"""Labels of which training is told too little: completed by the model itself (Yu and Joachims, ICML 2009).

Each round takes the best sequence within what is given for the truth and fits to it, which is a step of the
concave-convex procedure for ``1/2 |w|^2 + C sum_i s_i (max_y [Delta(Y_i, y) + <w, phi(x_i, y)>] - max_(h in Y_i)
<w, phi(x_i, h)>)``, where ``Y_i`` are the sequences that agree with what is given and ``Delta(Y_i, y)`` is, at every
token, the least loss that one of its candidates has as the true label.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._given_labels import GivenLabels
from ._transitions import dead_end
from .errors import DataError
from .solvers.loop import Result
from .structures.attributes import Tokens

__all__ = ["Completion"]

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]


class Completion:
    """What is given of the labels of all tokens, and how it is completed.

    Parameters
    ----------
    structure : Sequence
    tokens : Tokens
    given : GivenLabels
    decode : callable
        ``decode(structure, encoded, tokens, w)``: the best labels of all tokens, and the score of each sequence.

    Attributes
    ----------
    candidates : bool array of shape (n_tokens, n_labels)
        Labels that each token may have.

    Raises
    ------
    DataError
        When no sequence of a training example agrees with what is given and allowed: names the token. When nothing is
        given.
    """

    def __init__(self, structure: Any, tokens: Tokens, given: GivenLabels, decode: Callable[..., Any]) -> None:
        self._structure, self._tokens, self._flat, self._decode = structure, tokens, given.flat, decode
        self.candidates = given.candidates()
        if self.candidates.all() and (self._flat < 0).all():  # of one label alone, every token may have all
            raise DataError("no label is known: there is nothing to learn from")
        if structure.restricted:
            for i in np.flatnonzero(np.diff(tokens.start)).tolist():
                t = dead_end(structure, self.candidates[tokens.start[i] : tokens.start[i + 1]])
                if t >= 0:
                    raise DataError(
                        f"sequence {i}, token {t}: none of the labels that it may have can stand there: forbidden "
                        "transitions contradict the labels given"
                    )

    def complete(self, w: Reals) -> Ints:
        """The best label of every token under ``w``, among its candidates."""
        encoded = self._structure.encode(self._tokens, allowed=self.candidates)
        completed, _ = self._decode(self._structure, encoded, self._tokens, w)
        return np.asarray(completed, np.int64)

    def first_weights(self, weight: Reals, fit: Callable[[Any, Reals], Result]) -> tuple[Reals, Result | None]:
        """Weights to begin with: of a model of the known labels alone, positions as sequences of length 1.

        Where no label stands alone, every attribute's weights are how often its tokens have each label for a candidate,
        in equal shares.

        Parameters
        ----------
        weight : float64 array of shape (n_sequences,)
        fit : callable
            ``fit(oracle, sample_weight)``: what a solver answers.

        Returns
        -------
        weights : float64 array
        result : Result or None
            That of the fit, with these weights; None where there was none.
        """
        from .solvers.compiled_oracle import CompiledOracle
        from .structures.sequence import Sequence as Structure

        structure, tokens, flat = self._structure, self._tokens, self._flat
        each = np.repeat(weight, np.diff(tokens.start))
        if (each * (flat >= 0)).any():
            singles = Tokens(
                np.arange(tokens.start[-1] + 1),
                tokens.indptr,
                tokens.indices,
                tokens.values,
                tokens.n_attributes,
                tokens.dense,
            )
            lone = Structure(structure.n_labels, costs=structure.costs)
            encoded = lone.encode(singles, np.split(np.maximum(flat, 0), singles.start[1:-1]))
            result = fit(CompiledOracle(lone, encoded), each * (flat >= 0))
            result.w[-structure.n_shared :] = 0.0
            return result.w, result
        shares = self.candidates * (each / self.candidates.sum(1))[:, None]
        blocks = [np.zeros((0, structure.n_labels))]
        sparse = tokens.matrix()
        if sparse is not None:
            blocks.append(sparse.T @ shares)
        if tokens.dense is not None:
            blocks.append(tokens.dense.T @ shares)
        return np.concatenate([*(block.ravel() for block in blocks), np.zeros(structure.n_shared)]), None
