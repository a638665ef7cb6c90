"""Features of words and spans of sentences, made from the integers of word types rather than strings per span.

A *view* maps a word to something it shares with others (its last two letters, its shape, ...); every view has a
vocabulary, counted on the training sentences. The features of a word are views of itself and its neighbours; those of a
span are views of the words inside and outside its two ends, pairs of them, and its length. Features of one view have a
block of numbers each; pairs keep those met in the constituents of the training trees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError

__all__ = ["Rows", "Sentences", "SpanFeatures", "read_sentences"]

Ints = NDArray[np.int64]

_PAD = 2  # boundary words before and after every sentence

@dataclass
class Sentences:
    start: Ints
    columns: list[list[str]]

    @property
    def lengths(self) -> Ints:
        return np.diff(self.start)

    def words(self, i: int) -> list[str]:
        return self.columns[0][self.start[i] : self.start[i + 1]]


@dataclass
class Rows:
    """Sparse rows of ones: CSR without values."""

    start: Ints
    indptr: Ints
    indices: NDArray[np.int32]
    n_features: int


def read_sentences(X: Sequence[Any]) -> Sentences:
    columns: list[list[str]] = []
    lengths = []
    flat: list[Any] = []
    for i, sentence in enumerate(X):
        if isinstance(sentence, str):
            raise DataError(f"sentence {i} is a string")
        if len(sentence) == 0:
            raise DataError(f"sentence {i} has no words")
        lengths.append(len(sentence))
        flat.extend(sentence)
    if flat and isinstance(flat[0], str):
        columns = [flat]
    else:
        columns = [list(c) for c in zip(*flat, strict=True)]
    return Sentences(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), columns)


def shape(word: str) -> str:
    out = []
    for c in word:
        k = "X" if c.isupper() else "x" if c.isalpha() else "9" if c.isdigit() else c
        if len(out) < 2 or out[-1] != k or out[-2] != k:
            out.append(k)
    return "".join(out[:8])


def cover_of(counts, least):
    def cover(word):
        if counts[word] >= least:
            return word
        for k in range(min(len(word) - 1, 6), 0, -1):
            if counts["-" + word[-k:]] >= least:
                return "-" + word[-k:]
        return "?" + shape(word)[:3]
    return cover
def simple(word):
    c = word[0]
    return "X" if c.isupper() else "x" if c.isalpha() else "9" if c.isdigit() else word if not any(ch.isalnum() for ch in word) else "?"

# experiment configuration
LEX = [("word", o) for o in (-2, -1, 0, 1, 2)] + [("lower", 0)] + [(f"suffix{k}", o) for k in (1, 2, 3) for o in (-1, 0, 1)] + [(f"prefix{k}", 0) for k in (1, 2, 3)] + [("shape", o) for o in (-1, 0, 1)] + [("cover",o) for o in (-1,0,1)]
# positions: relative: ('f', d) = first + d ; ('l', d) = last + d
SPAN = [("cover", "f", 0), ("cover", "l", 0), ("cover", "f", -1), ("cover", "l", 1), ("shape", "f", 0), ("shape", "l", 0), ("shape", "f", -1), ("shape", "l", 1)]
PAIRS = [("cover", "f", 0, "cover", "l", 0), ("cover", "f", -1, "cover", "l", 1), ("cover", "f", -1, "cover", "f", 0), ("cover", "l", 0, "cover", "l", 1)]
BUCKETS = np.array([2, 3, 4, 5, 6, 8, 11, 16, 21, 31])
COVER=10
MIN=1
PAIRMIN=1
SHAPES=5

class SpanFeatures:
    def __init__(self):
        self.views = {}

    def value(self, name):
        if name == "word": return lambda w: w
        if name == "lower": return str.lower
        if name == "shape": return shape
        if name == "simple": return simple
        if name == "cover": return self.cover
        if name.startswith("suffix"): return lambda w, k=int(name[-1]): w[-k:]
        if name.startswith("prefix"): return lambda w, k=int(name[-1]): w[:k]

    def fit(self, S, gold):
        words = S.columns[0]
        counts = Counter(words)
        for w, c in list(counts.items()):
            for k in range(1, min(len(w) - 1, 6)+1):
                counts["-" + w[-k:]] += c
        self.cover = cover_of(counts, COVER)
        names = {v for v, *_ in LEX + SPAN} | {v for p in PAIRS for v in (p[0], p[3])}
        types = Counter(words)
        self.views = {}
        for name in sorted(names):
            f = self.value(name)
            c = Counter()
            for w, k in types.items(): c[f(w)] += k
            self.views[name] = {v: i + 1 for i, v in enumerate(v for v, k in c.items() if k >= MIN)}
        ids, first, last, *_ = self._prepare(S)
        keys = self._pair_keys(ids, first[gold], last[gold])
        self.pairs = []
        for k in keys:
            u, n = np.unique(k, return_counts=True)
            self.pairs.append(u[n >= PAIRMIN])
        if SHAPES:
            k=self._shape_keys(ids, first[gold], last[gold]); u,n=np.unique(k,return_counts=True); self.shapes=u[n>=2]

    def _prepare(self, S):
        types = {}
        tid = np.fromiter((types.setdefault(w, len(types)) for w in S.columns[0]), np.int64, len(S.columns[0]))
        n = len(S.lengths)
        pos = np.arange(len(tid)) + np.repeat(np.arange(n) * 2 * _PAD + _PAD, S.lengths)
        ids = {}
        for name, vocab in self.views.items():
            f = self.value(name)
            table = np.array([vocab.get(f(w), -1) for w in types], np.int64)
            a = np.zeros(len(tid) + 2 * _PAD * n, np.int64)
            a[pos] = table[tid]
            ids[name] = a
        begin = S.start[:-1] + np.arange(n) * 2 * _PAD + _PAD
        tri = {}
        fs, ls = [], []
        for b, m in zip(begin.tolist(), S.lengths.tolist()):
            if m not in tri: tri[m] = np.triu_indices(m, 1)
            i, j = tri[m]
            fs.append(i + b); ls.append(j + b)
        return ids, np.concatenate(fs), np.concatenate(ls), pos, begin

    def _pair_keys(self, ids, first, last):
        out = []
        for v, p, o, v2, p2, o2 in PAIRS:
            a = ids[v][(first if p == "f" else last) + o]
            b = ids[v2][(first if p2 == "f" else last) + o2]
            k = a * len(self.views[v2]) * 2 + b
            k[(a < 0) | (b < 0)] = -1
            out.append(k)
        return out
    def _shape_keys(self, ids, first, last):
        # simple classes of up to 7 words
        a = ids['simple']; B=len(self.views['simple'])+2
        key=np.zeros(len(first),np.int64); L=last-first+1
        for d in range(SHAPES):
            inside = d<L
            key = key*B + np.where(inside, a[np.minimum(first+d,last)]+1, 0)
        key[L>SHAPES]=-1
        return key

    def encode(self, S):
        ids, first, last, pos, _ = self._prepare(S)
        cols, base = [], 0
        for v, o in LEX:
            a = ids[v][pos + o]
            cols.append(np.where(a >= 0, a + base, -1)); base += len(self.views[v]) + 1
        words = self._rows(S.start, cols, base)
        cols, base = [], 0
        for v, p, o in SPAN:
            a = ids[v][(first if p == "f" else last) + o]
            cols.append(np.where(a >= 0, a + base, -1).astype(np.int32)); base += len(self.views[v]) + 1
        cols.append((base + np.searchsorted(BUCKETS, last - first + 1, side="right")).astype(np.int32)); base += len(BUCKETS) + 1
        keyl=list(zip(self.pairs, self._pair_keys(ids, first, last)))
        if SHAPES: keyl.append((self.shapes, self._shape_keys(ids,first,last)))
        for u, k in keyl:
            at = np.minimum(np.searchsorted(u, k), len(u) - 1)
            cols.append(np.where((u[at] == k) & (k >= 0), at + base, -1).astype(np.int32)); base += len(u)
        n = S.lengths
        start = np.concatenate([[0], np.cumsum(n * (n - 1) // 2)])
        return words, self._rows(start, cols, base)

    def _rows(self, start, cols, n):
        m = np.stack(cols, 1)
        known = m >= 0
        return Rows(start, np.concatenate([[0], np.cumsum(known.sum(1))]), m[known].astype(np.int32), n)
