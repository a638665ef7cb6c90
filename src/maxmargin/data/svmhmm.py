"""SVM-hmm's format: svmlight rows that are tokens, ``<tag> qid:<sequence> <index>:<value> ...``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..errors import FileFormatError
from .svmlight import read_svmlight
from .text import Source, source_name

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["SvmHmmData", "read_svmhmm"]


@dataclass(frozen=True, eq=False)
class SvmHmmData:
    """Sequences of tokens with sparse features.

    Attributes
    ----------
    X : list of csr_matrix of shape (n_tokens, n_features)
        The tokens of each sequence.
    y : list of arrays of shape (n_tokens,)
        Their tags.
    qid : int64 array of shape (n_sequences,)
        The number that the file gives each sequence.
    """

    X: list[csr_matrix]
    y: list[NDArray[Any]]
    qid: NDArray[np.int64]


def read_svmhmm(
    source: Source,
    *,
    n_features: int | None = None,
    zero_based: bool | Literal["auto"] = False,
    dtype: DTypeLike = np.float64,
    labels: Literal["number", "text"] = "text",
) -> SvmHmmData:
    """Read sequences from a file in SVM-hmm's format: successive rows with one qid are one sequence.

    The parameters are those of :func:`~maxmargin.data.read_svmlight`; tags are taken as they stand by default.

    Raises
    ------
    FileFormatError
        As :func:`~maxmargin.data.read_svmlight` does, and if rows have no qid or a sequence goes on after another.
    """
    data = read_svmlight(source, n_features=n_features, zero_based=zero_based, dtype=dtype, labels=labels)
    if not len(data.y):
        return SvmHmmData([], [], np.zeros(0, np.int64))
    if data.qid is None:
        problem = "this row has no qid, which says what sequence it belongs to"
        raise FileFormatError(problem, path=source_name(source), line=int(data.line[0]))
    starts = np.flatnonzero(np.concatenate([[True], data.qid[1:] != data.qid[:-1]]))
    qid = data.qid[starts]
    _, first, which = np.unique(qid, return_index=True, return_inverse=True)
    again = first[which] != np.arange(len(qid))
    if again.any():
        place = starts[np.argmax(again)]
        problem = "a sequence goes on after another; its rows must follow each other"
        token = f"qid:{data.qid[place]}"
        raise FileFormatError(problem, path=source_name(source), line=int(data.line[place]), token=token)
    stops = [*starts[1:].tolist(), len(data.y)]
    parts = [slice(start, stop) for start, stop in zip(starts.tolist(), stops)]
    return SvmHmmData([data.X[part] for part in parts], [data.y[part] for part in parts], qid)
