"""Graded documents of queries in svmlight files, as of SVM-rank and LETOR."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..data.svmlight import SvmLightData
from ..data.text import format_number
from ..errors import DataError, FileFormatError, InseparableError
from ..metrics import ndcg, precision_at, query_numbers, swapped_pairs
from .messages import counted
from .rows import ValueTask, conflict
from .tasks import Examples

if TYPE_CHECKING:
    from argparse import Namespace

    from .inputs import Input
    from .messages import Voice

__all__ = ["TASK"]

Graded = NDArray[Any]
_GRADED = np.dtype([("grade", np.float64), ("query", np.int64)])
_CUTS = (1, 3, 5, 10)


class RankingTask(ValueTask):
    """Labels are grades, the larger the better; predictions are scores, which order the documents of one query."""

    has_queries = True

    def targets(self, data: SvmLightData, name: str, args: Namespace, voice: Voice) -> Graded:
        if unsaid := self.unsaid(data):
            voice.note(f"{name}: {unsaid}")
        graded = self.outputs(data)
        if data.sample_weight is not None:
            _check_weights(data, graded, name)
        return graded

    def unsaid(self, data: SvmLightData) -> str:
        return "no row has a qid: all are taken for documents of one query" if data.qid is None and len(data.y) else ""

    def outputs(self, data: SvmLightData) -> Graded:
        graded = np.zeros(len(data.y), _GRADED)
        graded["grade"], graded["query"] = data.y, 0 if data.qid is None else data.qid
        return graded

    def fit(self, model: Any, examples: Examples) -> None:
        model.fit(examples.X, examples.y["grade"], qid=examples.y["query"], sample_weight=examples.weights)

    def explained(
        self, error: DataError, model: Any, examples: Examples, source: Input, settings: Mapping[str, Any]
    ) -> DataError:
        if not isinstance(error, InseparableError):
            return super().explained(error, model, examples, source, settings)
        query, line = examples.y["query"], examples.rows
        named = [f"line {line[a]} above line {line[b]} (qid {query[a]})" for a, b in error.pairs]
        return conflict(source.name, "no weights put all pairs in order", "pairs", "they have the same features", named)

    def report(self, true: Graded, predicted: Sequence[float], width: int, model: Any = None) -> str:
        """Figures of :mod:`maxmargin.metrics`; what is not defined for these grades is a dash."""
        if len(true) != len(predicted):
            raise DataError(f"y_true has {counted(len(true), 'document')}, y_pred {len(predicted)}")
        if not len(true):
            raise DataError("y_true and y_pred hold no documents: nothing to score")
        grade, number, score = true["grade"], query_numbers(true["query"], len(true)), np.asarray(predicted)

        def figure(metric: Callable[..., float], **options: Any) -> str:
            try:
                return f"{metric(grade, score, number, **options):.4f}"
            except DataError:
                return "-"

        lines = ["at    NDCG  2^grade  precision"]
        for k in _CUTS:
            graded = figure(ndcg, k=k), figure(ndcg, k=k, gain="exponential"), figure(precision_at, k=k)
            lines.append(f"{k:2}  {graded[0]:>6}  {graded[1]:>7}  {graded[2]:>9}")
        n_queries, some = (
            counted(n, "query", "queries") for n in (int(number.max()) + 1, len(np.unique(number[grade > 0])))
        )
        pairs = figure(swapped_pairs)
        lines += [
            "",
            f"swapped pairs  {pairs}" + (" (no query has two grades)" if pairs == "-" else ""),
            f"of {counted(len(true), 'document')}, {n_queries}",
            f"NDCG is the mean over the {some} with a grade above 0, with gains of grade and of 2^grade - 1;",
            "precision counts grades of at least 1, over all queries; pairs are of different grades in one query.",
        ]
        return "\n".join(lines)


def _check_weights(data: SvmLightData, graded: Graded, name: str) -> None:
    """Refuse a cost that differs within a query: there it is the weight of the query."""
    assert data.sample_weight is not None
    _, first, number = np.unique(graded["query"], return_index=True, return_inverse=True)
    expected = data.sample_weight[first][number.reshape(-1)]
    bad = np.flatnonzero(data.sample_weight != expected)
    if len(bad):
        row = int(bad[0])
        token, other = (f"cost:{format_number(float(values[row]))}" for values in (data.sample_weight, expected))
        problem = f"an earlier row of the same query has {other}; a query has one cost"
        raise FileFormatError(problem, path=name, line=int(data.line[row]), token=token)


TASK = RankingTask()
