"""Features of words and of spans of words, from numbers of word types: no string is built for a span.

A *view* maps a word to what it shares with others: its last two letters, its shape, ... Each view has a vocabulary, met
in the training sentences. The features of a word are views of the word and its neighbours. Those of a span of two words
or more are views of the two words at each end and of the neighbours on both sides, and its length. Each view and place
has a block of consecutive features, so that a feature's number is a sum.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .attributes import least_weight
from .values import examples_of, is_frame, is_no_list

__all__ = ["Rows", "Sentences", "SpanFeatures", "read_sentences"]

Ints = NDArray[np.int64]

_REACH = 2
"""Words looked at on either side of a place; so many boundary marks stand around every sentence."""

_LONGEST_SUFFIX = 6

# view and distance from the word
_WORD_PLACES = [
    *(("word", d) for d in (-2, -1, 0, 1, 2)),
    *((f"suffix {k}", d) for k in (1, 2, 3) for d in (-1, 0, 1)),
    *((f"prefix {k}", 0) for k in (1, 2, 3)),
    *((view, d) for view in ("shape", "frequent") for d in (-1, 0, 1)),
    ("lower", 0),
]
_COLUMN_WORD_PLACES = (-2, -1, 0, 1, 2)

# view, end of the span, distance from the word at that end
_SPAN_PLACES = [
    *(("frequent", end, d) for end, d in (("first", 0), ("first", 1), ("last", 0), ("last", -1))),
    *((view, end, d) for view in ("frequent", "shape") for end, d in (("first", -1), ("last", 1))),
    *(("shape", end, 0) for end in ("first", "last")),
]
_COLUMN_SPAN_PLACES = (("first", 0), ("first", 1), ("last", 0), ("last", -1), ("first", -1), ("last", 1))

_VIEWS = list(dict.fromkeys([name for name, _ in _WORD_PLACES] + [name for name, *_ in _SPAN_PLACES]))

_LONGER_THAN = np.array([2, 3, 4, 5, 7, 10, 15, 20, 30])
"""Lengths of spans fall into the classes between these numbers."""


@dataclass
class Sentences:
    """Words of many sentences, one after another.

    Attributes
    ----------
    start : int64 array of shape (n_sentences + 1,)
    columns : list of lists of str
        The words, then any further columns (tags, lemmas, ...).
    """

    start: Ints
    columns: list[list[str]]

    @property
    def lengths(self) -> Ints:
        """Number of words of every sentence."""
        return np.diff(self.start)

    def words(self, i: int) -> list[str]:
        """Words of sentence ``i``."""
        return self.columns[0][self.start[i] : self.start[i + 1]]


@dataclass
class Rows:
    """Sparse rows of ones.

    Attributes
    ----------
    start : int64 array of shape (n_sentences + 1,)
        Rows of sentence ``i`` are ``start[i]`` to ``start[i + 1]``.
    indptr, indices : int64 and int32 arrays
        CSR without values.
    n_features : int
    """

    start: Ints
    indptr: Ints
    indices: NDArray[np.int32]
    n_features: int


def read_sentences(X: Iterable[Any]) -> Sentences:
    """Pack sentences.

    Parameters
    ----------
    X : iterable of sentences
        A sentence is a sequence of words; a word is a str, or a tuple of str: the word, then more columns, the same
        number for all.

    Raises
    ------
    DataError
        For anything else, and for a sentence without words: names the sentence and the word.
    """
    X = examples_of(X, "X", "sentences")
    if is_no_list(X):
        raise DataError(f"X must be a list of sentences, not a {type(X).__name__}")
    flat: list[Any] = []
    lengths = []
    for i, sentence in enumerate(X):
        if is_frame(sentence):
            raise DataError(
                f"sentence {i} is a DataFrame, in which only names of columns are found; a sentence is a list of words"
            )
        if is_no_list(sentence) or not isinstance(sentence, Iterable):
            raise DataError(f"sentence {i} is a {type(sentence).__name__}; a sentence is a list of words")
        words = list(sentence)
        if not words:
            raise DataError(f"sentence {i} has no words; leave it out")
        lengths.append(len(words))
        flat += words
    start = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
    plain = not flat or isinstance(flat[0], str)
    width = 0 if plain or not isinstance(flat[0], tuple | list) else len(flat[0])
    for k, word in enumerate(flat):
        if plain:
            good = isinstance(word, str)
        else:
            good = isinstance(word, tuple | list) and len(word) == width > 0 and all(isinstance(p, str) for p in word)
        if not good:
            i = int(np.searchsorted(start, k, side="right")) - 1
            raise DataError(
                f"sentence {i}, word {k - start[i]} is {word!r:.60}; give each word as a str, or each as a tuple of "
                "str: the word and the same number of further columns"
            )
    return Sentences(start, [flat] if plain else [list(column) for column in zip(*flat, strict=True)])


def shape(word: str) -> str:
    """Kinds of the characters, runs cut to two and all to eight: ``Xx``, ``99-xx``."""
    out = ""
    for c in word:
        kind = "X" if c.isupper() else "x" if c.isalpha() else "9" if c.isdigit() else c
        if not out.endswith(2 * kind):
            out += kind
    return out[:8]


def _suffixes(word: str) -> list[str]:
    """Proper suffixes, the longest first, written with a dash."""
    return [f"-{word[-k:]}" for k in range(min(len(word) - 1, _LONGEST_SUFFIX), 0, -1)]


def _frequent(known: Mapping[str, Any]) -> Callable[[str], str]:
    """The word itself (``=word``), else its longest suffix among the known, else its shape."""

    def view(word: str) -> str:
        for value in (f"={word}", *_suffixes(word)):
            if value in known:
                return value
        return f"?{shape(word)[:3]}"

    return view


def _view(name: str, known: Mapping[str, Any]) -> Callable[[str], str]:
    """The function of a view; that of frequent words and suffixes needs to know these."""
    kind, _, number = name.partition(" ")
    if kind == "prefix":
        return lambda word: word[: int(number)]
    if kind == "suffix":
        return lambda word: word[-int(number) :]
    return {"lower": str.lower, "shape": shape, "frequent": _frequent(known)}.get(kind, str)


class SpanFeatures:
    """Vocabularies of all views.

    Parameters
    ----------
    vocabularies : mapping of str to sequence of str
        Values of every view, in the order of their numbers; the views of further columns are ``column 1`` and so on.

    Raises
    ------
    DataError
        When a view is missing or unknown, or lists a value twice.
    """

    def __init__(self, vocabularies: Mapping[str, Sequence[str]]) -> None:
        self.vocabularies = {name: list(values) for name, values in vocabularies.items()}
        # number 0 of every view is the boundary around the sentence
        self._numbers = {name: {v: k for k, v in enumerate(vs, 1)} for name, vs in self.vocabularies.items()}
        more = [f"column {k}" for k in range(1, 1 + len(self.vocabularies) - len(_VIEWS))]
        odd = set(self.vocabularies) ^ {*_VIEWS, *more}
        if odd:
            raise DataError(
                f"view {min(odd)!r} of words is {'unknown' if min(odd) in self.vocabularies else 'missing'}"
            )
        for name, numbers in self._numbers.items():
            if len(numbers) < len(self.vocabularies[name]):
                raise DataError(f"the view {name!r} of words lists a value twice")
        self.n_columns = 1 + len(more)
        self._word_places = _WORD_PLACES + [(name, d) for name in more for d in _COLUMN_WORD_PLACES]
        self._span_places = _SPAN_PLACES + [(name, *place) for name in more for place in _COLUMN_SPAN_PLACES]

    @classmethod
    def fit(
        cls,
        sentences: Sentences,
        *,
        min_count: int = 1,
        frequent: int = 5,
        sample_weight: NDArray[np.float64] | None = None,
    ) -> SpanFeatures:
        """Collect the vocabularies.

        Parameters
        ----------
        sentences : Sentences
        min_count : int
            Leave out what occurs less often. 1 leaves nothing out but what occurs in sentences of weight 0 alone.
        frequent : int
            Words that occur less often are seen by spans as their longest suffix that does not.
        sample_weight : float64 array of shape (n_sentences,), optional
            For both counts a word counts as much as its sentence weighs: weight 2 is two copies, 0 is none, and
            fractions add up.

        Raises
        ------
        DataError
            When the number of weights is not that of the sentences.
        """
        if sample_weight is not None and sample_weight.shape != sentences.lengths.shape:
            raise DataError(
                f"sample_weight has shape {sample_weight.shape}; it needs one weight for each of the "
                f"{len(sentences.lengths)} sentences"
            )
        words, *columns = (_occurrences(column, sentences.lengths, sample_weight) for column in sentences.columns)
        common: defaultdict[str, float] = defaultdict(float)
        for word, count in words.items():
            for value in (f"={word}", *_suffixes(word)):
                common[value] += count
        known = {value: count for value, count in common.items() if count >= least_weight(frequent)}
        found: dict[str, Mapping[str, float]] = {}
        for name in _VIEWS:
            found[name] = _counted(words, _view(name, known))
        for k, column in enumerate(columns, 1):
            found[f"column {k}"] = column
        least = least_weight(min_count)
        return cls({name: [v for v, n in counts.items() if n >= least] for name, counts in found.items()})

    def encode(self, sentences: Sentences) -> tuple[Rows, Rows]:
        """Rows of all words, and of all spans of two words or more, in the order of ``span_index``.

        Raises
        ------
        DataError
            When the number of columns is not that of the training sentences.
        """
        lengths = sentences.lengths
        if not len(lengths):
            sentences = Sentences(sentences.start, [[]] * self.n_columns)
        if len(sentences.columns) != self.n_columns:
            raise DataError(
                f"the words come with {len(sentences.columns) - 1} further columns; the training sentences had "
                f"{self.n_columns - 1}"
            )
        begin = sentences.start[:-1] + _REACH * (2 * np.arange(len(lengths)) + 1)
        at = np.arange(sentences.start[-1]) + np.repeat(begin - sentences.start[:-1], lengths)
        numbers = self._word_numbers(sentences, at)
        first, last = _ends(begin, lengths)
        words = [(numbers[view][at + d], self._size(view)) for view, d in self._word_places]
        ends = {"first": first, "last": last}
        spans = [(numbers[view][ends[end] + d], self._size(view)) for view, end, d in self._span_places]
        spans.append((np.searchsorted(_LONGER_THAN, last - first + 1).astype(np.int32), len(_LONGER_THAN) + 1))
        span_start = np.concatenate([[0], np.cumsum(lengths * (lengths - 1) // 2)]).astype(np.int64)
        return _rows(sentences.start, words), _rows(span_start, spans)

    def names(self) -> tuple[list[str], list[str]]:
        """Names of the features of words and of spans, for reports."""
        words = [f"{view}[{d:+d}]" if d else view for view, d in self._word_places]
        spans = [f"{view} of {end}{f'{d:+d}' if d else ''}" for view, end, d in self._span_places]
        named = []
        for places, views in ((words, self._word_places), (spans, self._span_places)):
            values = (["(boundary)", *self.vocabularies[view]] for view, *_ in views)
            named.append([f"{place} = {v}" for place, vs in zip(places, values) for v in vs])
        bounds = [1, *_LONGER_THAN.tolist()]
        named[1] += [f"length {low + 1}{f' to {high}' if high > low + 1 else ''}" for low, high in pairwise(bounds)]
        named[1].append(f"length above {bounds[-1]}")
        return named[0], named[1]

    @property
    def n_features(self) -> tuple[int, int]:
        """Number of features of words and of spans."""
        words = sum(self._size(view) for view, _ in self._word_places)
        return words, sum(self._size(view) for view, *_ in self._span_places) + len(_LONGER_THAN) + 1

    def _size(self, view: str) -> int:
        return len(self.vocabularies[view]) + 1

    def _word_numbers(self, sentences: Sentences, at: Ints) -> dict[str, NDArray[np.int32]]:
        """Number of every word in every view (-1: unknown), with boundary marks around each sentence."""
        out = {}
        total = int(sentences.start[-1]) + 2 * _REACH * len(sentences.lengths)
        for k, column in enumerate(sentences.columns):
            types: dict[str, int] = {}
            number_of = np.fromiter((types.setdefault(word, len(types)) for word in column), np.int64, len(column))
            for name, numbers in self._numbers.items():
                if name.startswith("column ") if k == 0 else name != f"column {k}":
                    continue
                view = _view(name, numbers)
                table = np.fromiter((numbers.get(view(word), -1) for word in types), np.int32, len(types))
                out[name] = np.zeros(total, np.int32)
                out[name][at] = table[number_of]
        return out


def _occurrences(column: list[str], lengths: Ints, sample_weight: NDArray[np.float64] | None) -> Mapping[str, float]:
    """How often every word occurs, in the order of first occurrence."""
    if sample_weight is None:
        return Counter(column)
    counts: defaultdict[str, float] = defaultdict(float)
    for word, weight in zip(column, np.repeat(sample_weight, lengths).tolist(), strict=True):
        if weight > 0:  # else it would have a place in the order
            counts[word] += weight
    return counts


def _counted(words: Mapping[str, float], view: Callable[[str], str]) -> Mapping[str, float]:
    counts: defaultdict[str, float] = defaultdict(float)
    for word, count in words.items():
        counts[view(word)] += count
    return counts


def _ends(begin: Ints, lengths: Ints) -> tuple[Ints, Ints]:
    """First and last word of every span of two words or more."""
    shapes = {n: np.triu_indices(n, 1) for n in set(lengths.tolist())}
    places = list(zip(begin.tolist(), lengths.tolist()))
    nothing = [np.zeros(0, np.int64)]
    first = np.concatenate(nothing + [shapes[n][0] + at for at, n in places])
    last = np.concatenate(nothing + [shapes[n][1] + at for at, n in places])
    return first, last


def _rows(start: Ints, blocks: Sequence[tuple[NDArray[np.int32], int]]) -> Rows:
    """Rows from one number for each row and block (-1: none) and the sizes of the blocks."""
    numbers = np.empty((int(start[-1]), len(blocks)), np.int32)
    base = 0
    for k, (column, size) in enumerate(blocks):
        np.add(column, base, out=numbers[:, k], where=column >= 0)
        numbers[column < 0, k] = -1
        base += size
    known = numbers >= 0
    indptr = np.concatenate([[0], np.cumsum(known.sum(1))]).astype(np.int64)
    return Rows(start, indptr, numbers[known], base)
