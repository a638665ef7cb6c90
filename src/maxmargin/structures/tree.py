"""Constituency trees: lexical, span and rule weights; CKY; wrong constituents or 0/1 as the loss."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._compiled import compiled
from ..data.brackets import Tree
from ..decoders.cky import cky_core, span_index
from ..decoders.second_tree import second_tree_core
from ..errors import DataError
from .base import Encoded, RowGroup, Structure, make_pack
from .grammar import Grammar, is_intermediate, labels_of
from .span_features import SpanFeatures, read_sentences

__all__ = ["TreeStructure"]

# groups of rows: words times tags, words times chains above them, spans times span classes, the truth (see _augment)
TAGS, CHAINS, SPANS, TRUTH = 0, 1, 2, 3

# pack.ints: the sizes
SYMBOLS, RULES, ROOTS, TASK = 0, 1, 2, 3
# pack.table: tag, chain, span class and root of every symbol (-1: none), then rule_start, rule_right, rule_parent, then
# number of labels of every chain and span class, then how many any two of them share


@compiled
def _decode(pack, i, theta, out):
    n_words = pack.row_start[TAGS, i + 1] - pack.row_start[TAGS, i]
    n_spans = pack.row_start[SPANS, i + 1] - pack.row_start[SPANS, i]
    n_tags, n_chains, n_classes = pack.groups[TAGS, 0], pack.groups[CHAINS, 0], pack.groups[SPANS, 0]
    n_symbols, n_rules = pack.ints[SYMBOLS], pack.ints[RULES]
    chains_at = n_words * n_tags
    spans_at = chains_at + n_words * n_chains
    truth_at = spans_at + n_spans * n_classes
    rules_at = truth_at + 1
    roots_at = rules_at + n_rules
    lexical = np.empty(n_words * n_symbols)
    span = np.zeros(n_spans * n_symbols)
    root = np.empty(n_symbols)
    for s in range(n_symbols):
        tag, chain, kind, top = pack.table[4 * s], pack.table[4 * s + 1], pack.table[4 * s + 2], pack.table[4 * s + 3]
        root[s] = theta[roots_at + top] if top >= 0 else -np.inf
        for t in range(n_words):
            score = -np.inf
            if tag >= 0:
                score = theta[t * n_tags + tag] + theta[chains_at + t * n_chains + chain]
            lexical[t * n_symbols + s] = score
        if kind >= 0:
            for t in range(n_spans):
                span[t * n_symbols + s] = theta[spans_at + t * n_classes + kind]
    at = 4 * n_symbols
    start = pack.table[at : at + n_symbols + 1]
    at += n_symbols + 1
    right = pack.table[at : at + n_rules]
    parent = pack.table[at + n_rules : at + 2 * n_rules]
    weight = theta[rules_at:roots_at]
    nodes = out[1:]
    score, _, n_fragments = cky_core(
        lexical, n_words, n_symbols, span, start, right, parent, weight, root, nodes
    )
    out[0] = n_fragments
    reward = theta[truth_at]
    if reward < 0.0 and _is_truth(pack, i, out):
        loss = second_tree_core(lexical, n_words, n_symbols, span, start, right, parent, weight, root, nodes)
        if loss > -reward:
            for q in range(pack.target_start[i + 1] - pack.target_start[i]):
                out[q] = pack.target[pack.target_start[i] + q]
            return score + reward
        return score - loss
    return score


@compiled
def _n_nodes(pack, i, out):
    n_words = pack.row_start[TAGS, i + 1] - pack.row_start[TAGS, i]
    return 2 * n_words - max(1, out[0])


@compiled
def _is_truth(pack, i, out):
    if out[0] != 0:
        return False
    at = pack.target_start[i]
    for q in range(pack.target_start[i + 1] - at):
        if out[q] != pack.target[at + q]:
            return False
    return True


@compiled
def _parts(pack, i, out, parts):
    n_words = pack.row_start[TAGS, i + 1] - pack.row_start[TAGS, i]
    n_spans = pack.row_start[SPANS, i + 1] - pack.row_start[SPANS, i]
    n_tags, n_chains, n_classes = pack.groups[TAGS, 0], pack.groups[CHAINS, 0], pack.groups[SPANS, 0]
    chains_at = n_words * n_tags
    spans_at = chains_at + n_words * n_chains
    truth_at = spans_at + n_spans * n_classes
    m = 0
    for q in range(_n_nodes(pack, i, out)):
        start, end, symbol, rule = out[4 * q + 1], out[4 * q + 2], out[4 * q + 3], out[4 * q + 4]
        if symbol < 0:
            continue
        if rule < 0:
            parts[m] = start * n_tags + pack.table[4 * symbol]
            parts[m + 1] = chains_at + start * n_chains + pack.table[4 * symbol + 1]
        else:
            parts[m] = spans_at + span_index(start, end, n_words) * n_classes + pack.table[4 * symbol + 2]
            parts[m + 1] = truth_at + 1 + rule
        m += 2
    if out[0] == 0:
        parts[m] = truth_at + 1 + pack.ints[RULES] + pack.table[4 * out[3] + 3]
        m += 1
        if pack.ints[TASK] == 1 and len(pack.target) > 0 and _is_truth(pack, i, out):
            parts[m] = truth_at
            m += 1
    return m


@compiled
def _task(pack):
    """Position in pack.table of what the loss needs."""
    return 5 * pack.ints[SYMBOLS] + 1 + 2 * pack.ints[RULES]


@compiled
def _augment(pack, i, theta):
    n_words = pack.row_start[TAGS, i + 1] - pack.row_start[TAGS, i]
    n_spans = pack.row_start[SPANS, i + 1] - pack.row_start[SPANS, i]
    n_tags, n_chains, n_classes = pack.groups[TAGS, 0], pack.groups[CHAINS, 0], pack.groups[SPANS, 0]
    chains_at = n_words * n_tags
    spans_at = chains_at + n_words * n_chains
    if pack.ints[TASK] == 1:
        theta[spans_at + n_spans * n_classes] -= 1.0
        return 1.0
    chain_size = _task(pack)
    class_size = chain_size + n_chains
    chain_shared = class_size + n_classes
    class_shared = chain_shared + n_chains * n_chains
    for t in range(n_words):
        for q in range(n_tags):
            theta[t * n_tags + q] += 1.0
        for q in range(n_chains):
            theta[chains_at + t * n_chains + q] += pack.table[chain_size + q]
    for t in range(n_spans):
        for q in range(n_classes):
            theta[spans_at + t * n_classes + q] += pack.table[class_size + q]
    total = 0.0
    first = pack.target_start[i] + 1
    for k in range(2 * n_words - 1):
        start, end = pack.target[first + 4 * k], pack.target[first + 4 * k + 1]
        symbol, rule = pack.target[first + 4 * k + 2], pack.target[first + 4 * k + 3]
        if rule < 0:
            tag, chain = pack.table[4 * symbol], pack.table[4 * symbol + 1]
            theta[start * n_tags + tag] -= 2.0
            for q in range(n_chains):
                theta[chains_at + start * n_chains + q] -= 2.0 * pack.table[chain_shared + chain * n_chains + q]
            total += 1.0 + pack.table[chain_size + chain]
        else:
            kind = pack.table[4 * symbol + 2]
            at = spans_at + span_index(start, end, n_words) * n_classes
            for q in range(n_classes):
                theta[at + q] -= 2.0 * pack.table[class_shared + kind * n_classes + q]
            total += pack.table[class_size + kind]
    return total


@compiled
def _loss(pack, i, out):
    if pack.ints[TASK] == 1:
        return 0.0 if _is_truth(pack, i, out) else 1.0
    n_words = pack.row_start[TAGS, i + 1] - pack.row_start[TAGS, i]
    n_chains, n_classes = pack.groups[CHAINS, 0], pack.groups[SPANS, 0]
    chain_size = _task(pack)
    class_size = chain_size + n_chains
    chain_shared = class_size + n_classes
    class_shared = chain_shared + n_chains * n_chains
    first = pack.target_start[i] + 1
    total = 0.0
    k = 0
    n_nodes = _n_nodes(pack, i, out)
    for q in range(2 * n_words - 1):
        start, end, symbol = pack.target[first + 4 * q], pack.target[first + 4 * q + 1], pack.target[first + 4 * q + 2]
        # both lists are sorted by start, longest first
        while k < n_nodes and (out[4 * k + 1] < start or (out[4 * k + 1] == start and out[4 * k + 2] > end)):
            if out[4 * k + 2] - out[4 * k + 1] > 1:
                total += pack.table[class_size + pack.table[4 * out[4 * k + 3] + 2]]
            k += 1
        met = k < n_nodes and out[4 * k + 1] == start and out[4 * k + 2] == end
        if end - start == 1:
            tag, chain = pack.table[4 * symbol], pack.table[4 * symbol + 1]
            total += 1.0 + pack.table[chain_size + chain]
            if met and out[4 * k + 3] >= 0:
                total += 1.0 + pack.table[chain_size + pack.table[4 * out[4 * k + 3] + 1]]
                total -= 2.0 * pack.table[chain_shared + chain * n_chains + pack.table[4 * out[4 * k + 3] + 1]]
                if pack.table[4 * out[4 * k + 3]] == tag:
                    total -= 2.0
        else:
            kind = pack.table[4 * symbol + 2]
            total += pack.table[class_size + kind]
            if met:
                other = pack.table[4 * out[4 * k + 3] + 2]
                total += pack.table[class_size + other] - 2.0 * pack.table[class_shared + kind * n_classes + other]
        if met:
            k += 1
    return total


class TreeStructure(Structure):
    decode = staticmethod(_decode)
    parts = staticmethod(_parts)
    augment = staticmethod(_augment)
    loss = staticmethod(_loss)

    def __init__(self, grammar: Grammar, features: SpanFeatures, *, loss="constituents", factored=True, classes="memory") -> None:
        self.grammar, self.features_ = grammar, features
        self.task = loss
        self._columns(factored, classes)

    def _columns(self, factored, classes):
        g = self.grammar
        tags, chains, kinds = {}, {}, {}
        columns = np.full((len(g.symbols), 4), -1, np.int32)
        spans = set(g.parent.tolist())
        words = set(g.words.tolist())
        for s, symbol in enumerate(g.symbols):
            labels = labels_of(symbol)
            if s in words:
                columns[s, 0] = tags.setdefault(labels[-1] if factored and labels else symbol, len(tags))
                columns[s, 1] = chains.setdefault(tuple(labels[:-1]), len(chains))
            if s in spans:
                name = symbol
                if not labels:
                    name = symbol if classes == "memory" else symbol.split("|")[0] + "|"
                columns[s, 2] = kinds.setdefault(name, len(kinds))
        columns[g.tops, 3] = np.arange(len(g.tops))
        self.sizes = len(tags), len(chains), len(kinds)
        self.columns = columns
        ls = [Counter(c) for c in chains], [Counter(labels_of(k)) for k in kinds]
        self.table = np.concatenate([columns.ravel(), g.rule_start, g.right, g.parent,
            *(np.array([sum(c.values()) for c in x]) for x in ls),
            *(np.array([sum((a & b).values()) for a in x for b in x]) for x in ls)])

    def encode(self, X: Any, Y: Any = None) -> Encoded:
        sentences = read_sentences(X)
        words, spans = self.features_.encode(sentences)
        n = len(sentences.lengths)
        tags, chains, kinds = self.sizes
        target, target_start = (), ()
        lengths = sentences.lengths
        if Y is not None:
            t = []
            for i, y in enumerate(Y):
                d = self.grammar.derivation(y, i)
                if len(d) != 2 * lengths[i] - 1: raise DataError(f"tree {i} has other words")
                t.append(np.concatenate([[0], d.ravel()]))
            target = np.concatenate(t)
        size = 1 + 4 * (2 * lengths - 1)
        start = np.concatenate([[0], np.cumsum(size)])
        groups = [
            RowGroup(tags, words.start, words.indptr, words.indices, n_sparse=words.n_features),
            RowGroup(chains, words.start, words.indptr, words.indices, n_sparse=words.n_features),
            RowGroup(kinds, spans.start, spans.indptr, spans.indices, n_sparse=spans.n_features),
            RowGroup(1, np.arange(n + 1)),
        ]
        g = self.grammar
        pack = make_pack(groups, n_shared=len(g.parent) + len(g.tops), target=target, target_start=start if Y is not None else (),
            ints=[len(g.symbols), len(g.parent), len(g.tops), self.task == "zero_one"], table=self.table)
        m = int(lengths.max(initial=1))
        return Encoded.of(pack, n_output=1 + 4 * (2 * m - 1), n_parts=4 * m, sentences=sentences, output_start=start)

    def output(self, encoded: Encoded, i: int, out: NDArray[np.int32]) -> Tree:
        words = encoded.extra["sentences"].words(i)
        m = 2 * len(words) - max(1, int(out[0]))
        return self.grammar.tree(out[1 : 1 + 4 * m].reshape(-1, 4), words, complete=bool(out[0] == 0))
