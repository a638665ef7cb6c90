"""svmlight text: ``<label> [qid:<int>] [cost:<number>] <index>:<value> ... [# comment]``, a row a line.

LIBSVM's files are the same without ``qid``, those of SVM-rank and LETOR with it. Indices count from one unless said
otherwise. Rows without features are rows of zeros; empty lines and lines of comment are no rows.
"""

from __future__ import annotations

import operator
import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..errors import FileFormatError
from ._mapped_columns import Columns
from ._svmlight_block import FEATURE, INT32_MAX, Block, BlockParser, Problem
from .text import Source, read_blocks, source_name

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["FEATURE", "SvmLightData", "read_svmlight", "svmlight_parts"]

_BLOCK_BYTES = 1 << 19  # what is parsed is taken over while it is still in the cache
_PART_ENTRIES = 1 << 18


@dataclass(frozen=True, eq=False)
class SvmLightData:
    """What a file in svmlight's format holds.

    Attributes
    ----------
    X : csr_matrix of shape (n_rows, n_features)
        Sorted indices; ``indices`` and ``indptr`` are int32 unless int64 is needed.
    y : array of shape (n_rows,)
        float64, or text (dtype ``str``) where labels were read as text.
    qid : int64 array of shape (n_rows,) or None
        Query of each row, where the file has them.
    sample_weight : float64 array of shape (n_rows,) or None
        The ``cost`` of each row, 1 where a row has none, where the file has any.
    line : int64 array of shape (n_rows,)
        Line of the file that each row comes from, for messages.
    """

    X: csr_matrix
    y: NDArray[Any]
    qid: NDArray[np.int64] | None
    sample_weight: NDArray[np.float64] | None
    line: NDArray[np.int64]


def read_svmlight(
    source: Source,
    *,
    n_features: int | None = None,
    zero_based: bool | Literal["auto"] = False,
    dtype: DTypeLike = np.float64,
    labels: Literal["number", "text"] = "number",
    threads: int = 1,
    memory: int | None = None,
    folder: str | os.PathLike[str] | None = None,
) -> SvmLightData:
    """Read a file in svmlight's format.

    Parameters
    ----------
    source : path, "-" or open file
        Gzip data are unpacked.
    n_features : int, optional
        Columns of ``X``; by default as many as the largest index needs. Give it to read the files of one problem
        to the same width; a larger index is then an error.
    zero_based : bool or "auto"
        Whether indices count from zero. "auto" decides that from this file alone, by whether an index 0 occurs:
        do not use it for the parts of one problem.
    dtype : float64 or float32
        Type of the values. Decimal numbers are read exactly (to the nearest float64).
    labels : "number" or "text"
        Whether the first word of a line is a number or is taken as it stands; of text it may have 1000 bytes.
    threads : int
        Threads that parse; the result is the same for every number.
    memory : int, optional
        Bytes that the arrays of the result may take in memory. Where they need more, all of them are read-only arrays
        over memory maps of temporary files, which have no name and go with the last array that uses them. Reading takes
        some ten megabytes for each thread beside ``memory``, and the distinct labels where they are text.
    folder : path, optional
        Where these files go; by default the folder of :mod:`tempfile`.

    Returns
    -------
    SvmLightData

    Raises
    ------
    FileFormatError
        If a line does not follow the format, an index occurs twice in a row or is out of range, a value is not
        finite, a text label is too long, or only some rows have a qid; with path, line and the word in question.
    OSError
        If the file cannot be read, or a temporary file not be written.
    """
    if zero_based not in (True, False, "auto"):
        raise ValueError(f"zero_based must be True, False or 'auto', not {zero_based!r}")
    if labels not in ("number", "text"):
        raise ValueError(f"labels must be 'number' or 'text', not {labels!r}")
    if np.dtype(dtype) not in (np.float64, np.float32):
        raise ValueError(f"dtype must be float64 or float32, not {np.dtype(dtype)}")
    if n_features is not None and (n_features := operator.index(n_features)) < 0:
        raise ValueError(f"n_features must not be negative, got {n_features}")
    if (threads := operator.index(threads)) < 1:
        raise ValueError(f"threads must be at least 1, got {threads}")
    if memory is not None and (memory := operator.index(memory)) < 0:
        raise ValueError(f"memory must not be negative, got {memory}")
    if folder is not None and memory is None:
        raise ValueError("folder is for the temporary files of a limit on memory; give memory too")

    bases = (0, 1) if zero_based == "auto" else (int(not zero_based),)
    parser = BlockParser(labels == "text", np.dtype(dtype), bases, n_features)
    rows = _Rows(Columns(memory, folder), source_name(source), bases)
    try:
        rows.add(parser(b""))  # without rows there are columns too
        for block in _in_order(parser, read_blocks(source, _BLOCK_BYTES), threads):
            rows.add(block)
        return rows.finish(n_features, labels == "text")
    finally:
        rows.columns.close()


def svmlight_parts(
    source: Source, *, zero_based: bool = False, labels: Literal["number", "text"] = "number"
) -> Iterator[SvmLightData]:
    """The rows of a file part by part, for what needs only some of them at a time; a part is some megabytes.

    There is one part at least. Parameters and errors are those of :func:`read_svmlight`; an error comes after the parts
    before it. Lines count through the file, while each part has its own number of columns, and weights only where some
    of its rows have.
    """
    bases = (int(not zero_based),)
    parser = BlockParser(labels == "text", np.dtype(np.float64), bases, None)
    rows = _Rows(Columns(), source_name(source), bases)
    rows.add(parser(b""))
    yielded = False
    for text in read_blocks(source, _BLOCK_BYTES):
        rows.add(parser(text))
        if rows.n_entries + rows.n_rows >= _PART_ENTRIES:
            yield rows.finish(None, labels == "text")
            rows, yielded = rows.following(), True
    if rows.n_rows or not yielded:
        yield rows.finish(None, labels == "text")


def _in_order(parser: BlockParser, texts: Iterable[bytes], threads: int) -> Iterator[Block | Problem]:
    """What the parser makes of each text, in their order; texts are read while others are parsed."""
    if threads == 1:
        yield from map(parser, texts)
        return
    failure = None
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Block | Problem]] = deque()
        source = iter(texts)
        while failure is None:
            try:
                waiting.append(pool.submit(parser, next(source)))
            except StopIteration:
                break
            except Exception as error:  # what is wrong in the texts before it comes first, as it does with one thread
                failure = error
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    if failure is not None:
        raise failure


class _Rows:
    """The rows of all blocks so far, and what is known of the file as a whole."""

    def __init__(self, columns: Columns, path: str, bases: tuple[int, ...]) -> None:
        self.columns, self._path, self._bases = columns, path, bases
        self._n_lines = self.n_rows = self.n_entries = self._width = 0
        self._zero = self._has_qid = self._has_cost = False
        self._no_qid: int | None = None
        self._labels: dict[str, int] = {}
        self._beyond: dict[int, FileFormatError] = {}
        columns.append("indptr", np.zeros(1, np.int32))

    def following(self) -> _Rows:
        """Room for the rows of the file that follow these."""
        rows = _Rows(Columns(), self._path, self._bases)
        rows._n_lines, rows._has_qid, rows._no_qid = self._n_lines, self._has_qid, self._no_qid
        return rows

    def add(self, block: Block | Problem) -> None:
        """Take over the rows that follow."""
        if isinstance(block, Problem):
            raise self._error(block)
        columns, n_rows, n_entries = self.columns, len(block.y), len(block.values)
        for base, problem in block.beyond.items():
            self._beyond.setdefault(base, self._error(problem))

        if block.no_qid is not None and self._no_qid is None:
            self._no_qid = self._n_lines + block.no_qid
        self._has_qid |= block.qid is not None
        if self._has_qid and self._no_qid is not None:
            raise self._error(Problem("this row has no qid while others have one", self._no_qid - self._n_lines))
        if block.qid is not None:
            columns.append("qid", block.qid)

        if block.cost is not None:
            if not self._has_cost:
                columns.fill("cost", 1.0, self.n_rows)
                self._has_cost = True
            columns.append("cost", block.cost)
        elif self._has_cost:
            columns.fill("cost", 1.0, n_rows)

        y = block.y
        if y.dtype == np.int32:
            numbers = [self._labels.setdefault(label, len(self._labels)) for label in block.labels]
            y = np.array(numbers, np.int32)[y]
        columns.append("y", y)
        columns.append("line", block.line + self._n_lines)
        ends = block.ends + self.n_entries
        columns.append("indptr", ends.astype(np.int32) if self.n_entries + n_entries <= INT32_MAX else ends)
        columns.append("indices", block.indices)
        columns.append("values", block.values)
        self._n_lines += block.n_lines
        self.n_rows += n_rows
        self.n_entries += n_entries
        self._zero |= block.zero
        self._width = max(self._width, block.width)

    def finish(self, n_features: int | None, text_labels: bool) -> SvmLightData:
        """What they are together."""
        from scipy.sparse import csr_matrix

        columns, width = self.columns, self._width
        if len(self._bases) > 1:
            base = int(not self._zero)
            if base in self._beyond:
                raise self._beyond[base]
            if base:
                columns.rewrite("indices", lambda indices: indices - 1)
                width = max(0, width - 1)
        n_features = width if n_features is None else n_features
        # One type for both: with two, scipy makes a copy of the indices in every product.
        if max(n_features, self.n_entries, self.n_rows) > INT32_MAX:
            columns.widen("indices", np.int64)
            columns.widen("indptr", np.int64)
        if text_labels:
            names = np.array(list(self._labels), np.str_)
            columns.rewrite("y", lambda numbers: names[numbers])
        parts = tuple(columns.take(name) for name in ("values", "indices", "indptr"))
        X = csr_matrix(parts, shape=(self.n_rows, n_features), copy=False)
        X.has_sorted_indices = X.has_canonical_format = True
        return SvmLightData(
            X=X,
            y=columns.take("y"),
            qid=columns.take("qid") if self._has_qid else None,
            sample_weight=columns.take("cost") if self._has_cost else None,
            line=columns.take("line"),
        )

    def _error(self, problem: Problem) -> FileFormatError:
        line = self._n_lines + problem.line
        return FileFormatError(problem.text, path=self._path, line=line, token=problem.token)
