"""Compiled functions of constituency trees, see :mod:`.tree`: potentials to best output, parts and task losses.

Potentials of an example: words times tags, words times chains, spans times span symbols, one for the truth, then the
rules and the tops, which are the same for all examples. The one *for the truth* has no features: it is 0 under any
weights, and only the true tree has it as a part. So the 0/1 loss decomposes like any other: 1, minus 1 on that part.

An output is an int32 vector: the number of fragments (0 for a complete tree), then ``(start, end, symbol, rule)`` of
every node in preorder, as :func:`~maxmargin.decoders.cky.cky_core` writes them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .._compiled import compiled
from ..decoders.cky import cky_core, span_index
from ..decoders.second_tree import second_tree_core
from .base import Pack

__all__ = ["CHAIN", "LOSSES", "SPAN", "TAG", "TOP"]

Floats = NDArray[np.float64]
Outputs = NDArray[np.int32]

# groups of rows
TAGS, CHAINS, SPANS, TRUTH = 0, 1, 2, 3

# pack.ints: sizes, then positions in pack.table
N_SYMBOLS, N_RULES = 0, 1
RULE_START, RULE_RIGHT, RULE_PARENT = 2, 3, 4
# number of labels of every chain and span symbol, and how many any two of them share
CHAIN_SIZE, SPAN_SIZE, CHAIN_SHARED, SPAN_SHARED = 5, 6, 7, 8

# pack.table begins with four columns a symbol, -1 where it has none: tag and chain (over a word), span symbol, top
TAG, CHAIN, SPAN, TOP = 0, 1, 2, 3


@compiled
def _sizes(pack: Pack, i: int) -> tuple[int, int, int, int, int]:
    """Number of words and of spans, and where the potentials of chains, of spans, and of the truth begin."""
    n_words = pack.row_start[TAGS, i + 1] - pack.row_start[TAGS, i]
    n_spans = pack.row_start[SPANS, i + 1] - pack.row_start[SPANS, i]
    chains_at = n_words * pack.groups[TAGS, 0]
    spans_at = chains_at + n_words * pack.groups[CHAINS, 0]
    return n_words, n_spans, chains_at, spans_at, spans_at + n_spans * pack.groups[SPANS, 0]


@compiled
def _scores(pack: Pack, i: int, theta: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """What the decoder wants: scores of the symbols over words, over spans, and at the top."""
    n_words, n_spans, chains_at, spans_at, truth_at = _sizes(pack, i)
    n_tags, n_chains, n_kinds = pack.groups[TAGS, 0], pack.groups[CHAINS, 0], pack.groups[SPANS, 0]
    n_symbols = pack.ints[N_SYMBOLS]
    tops_at = truth_at + 1 + pack.ints[N_RULES]
    lexical = np.empty(n_words * n_symbols)
    span = np.empty(n_spans * n_symbols)
    top = np.empty(n_symbols)
    for s in range(n_symbols):
        tag, chain, kind = pack.table[4 * s + TAG], pack.table[4 * s + CHAIN], pack.table[4 * s + TOP]
        top[s] = theta[tops_at + kind] if kind >= 0 else -np.inf
        for t in range(n_words):
            score = -np.inf
            if tag >= 0:
                score = theta[t * n_tags + tag] + theta[chains_at + t * n_chains + chain]
            lexical[t * n_symbols + s] = score
    for t in range(n_spans):
        for s in range(n_symbols):
            kind = pack.table[4 * s + SPAN]
            span[t * n_symbols + s] = theta[spans_at + t * n_kinds + kind] if kind >= 0 else 0.0
    return lexical, span, top, theta[truth_at + 1 : tops_at]


@compiled
def _rules(pack: Pack) -> tuple[Outputs, Outputs, Outputs]:
    n_symbols, n_rules = pack.ints[N_SYMBOLS], pack.ints[N_RULES]
    start, right, parent = pack.ints[RULE_START], pack.ints[RULE_RIGHT], pack.ints[RULE_PARENT]
    return (
        pack.table[start : start + n_symbols + 1],
        pack.table[right : right + n_rules],
        pack.table[parent : parent + n_rules],
    )


@compiled
def _decode(pack: Pack, i: int, theta: Floats, out: Outputs) -> float:
    n_words = pack.row_start[TAGS, i + 1] - pack.row_start[TAGS, i]
    lexical, span, top, weight = _scores(pack, i, theta)
    start, right, parent = _rules(pack)
    score, _, out[0] = cky_core(
        lexical, n_words, pack.ints[N_SYMBOLS], span, start, right, parent, weight, top, out[1:]
    )
    for q in range(4 * _n_nodes(pack, i, out) + 1, 8 * n_words - 3):  # fragments have fewer nodes than a tree
        out[q] = 0
    return float(score)


@compiled
def _n_nodes(pack: Pack, i: int, out: Outputs) -> int:
    n_words = pack.row_start[TAGS, i + 1] - pack.row_start[TAGS, i]
    return int(2 * n_words - max(1, out[0]))


@compiled
def _parts(pack: Pack, i: int, out: Outputs, parts: Outputs) -> int:
    n_words, _, chains_at, spans_at, truth_at = _sizes(pack, i)
    n_tags, n_chains, n_kinds = pack.groups[TAGS, 0], pack.groups[CHAINS, 0], pack.groups[SPANS, 0]
    m = 0
    for q in range(_n_nodes(pack, i, out)):
        start, end, symbol, rule = out[4 * q + 1], out[4 * q + 2], out[4 * q + 3], out[4 * q + 4]
        if rule >= 0:
            parts[m] = spans_at + span_index(start, end, n_words) * n_kinds + pack.table[4 * symbol + SPAN]
            parts[m + 1] = truth_at + 1 + rule
            m += 2
        elif symbol >= 0:
            parts[m] = start * n_tags + pack.table[4 * symbol + TAG]
            parts[m + 1] = chains_at + start * n_chains + pack.table[4 * symbol + CHAIN]
            m += 2
    if out[0] == 0:
        parts[m] = truth_at + 1 + pack.ints[N_RULES] + pack.table[4 * out[3] + TOP]
        m += 1
    return m


# Loss "constituents". Over one span let T be the labels of the truth and P those predicted: as multisets they differ in
# |T| + |P| - 2 |T & P| labels. A tag is a label of its own beside those of its chain.


@compiled
def _augment(pack: Pack, i: int, theta: Floats) -> float:
    n_words, n_spans, chains_at, spans_at, _ = _sizes(pack, i)
    n_tags, n_chains, n_kinds = pack.groups[TAGS, 0], pack.groups[CHAINS, 0], pack.groups[SPANS, 0]
    for q in range(chains_at):
        theta[q] += 1.0
    for t in range(n_words):
        for q in range(n_chains):
            theta[chains_at + t * n_chains + q] += pack.table[pack.ints[CHAIN_SIZE] + q]
    for t in range(n_spans):
        for q in range(n_kinds):
            theta[spans_at + t * n_kinds + q] += pack.table[pack.ints[SPAN_SIZE] + q]
    constant = 0.0
    for at in range(pack.target_start[i] + 1, pack.target_start[i + 1], 4):
        start, end, symbol = pack.target[at], pack.target[at + 1], pack.target[at + 2]
        if end - start == 1:
            tag, chain = pack.table[4 * symbol + TAG], pack.table[4 * symbol + CHAIN]
            constant += 1.0 + pack.table[pack.ints[CHAIN_SIZE] + chain]
            theta[start * n_tags + tag] -= 2.0
            shared = pack.ints[CHAIN_SHARED] + chain * n_chains
            for q in range(n_chains):
                theta[chains_at + start * n_chains + q] -= 2.0 * pack.table[shared + q]
        else:
            kind = pack.table[4 * symbol + SPAN]
            constant += pack.table[pack.ints[SPAN_SIZE] + kind]
            first = spans_at + span_index(start, end, n_words) * n_kinds
            shared = pack.ints[SPAN_SHARED] + kind * n_kinds
            for q in range(n_kinds):
                theta[first + q] -= 2.0 * pack.table[shared + q]
    return constant


@compiled
def _n_labels(pack: Pack, symbol: int, over_word: bool) -> int:
    if symbol < 0:
        return 0
    if over_word:
        return 1 + int(pack.table[pack.ints[CHAIN_SIZE] + pack.table[4 * symbol + CHAIN]])
    return int(pack.table[pack.ints[SPAN_SIZE] + pack.table[4 * symbol + SPAN]])


@compiled
def _n_shared(pack: Pack, a: int, b: int, over_word: bool) -> int:
    """Number of labels that two symbols over the same span share."""
    if b < 0:
        return 0
    if over_word:
        first = pack.ints[CHAIN_SHARED] + pack.table[4 * a + CHAIN] * pack.groups[CHAINS, 0]
        same_tag = 1 if pack.table[4 * a + TAG] == pack.table[4 * b + TAG] else 0
        return same_tag + int(pack.table[first + pack.table[4 * b + CHAIN]])
    first = pack.ints[SPAN_SHARED] + pack.table[4 * a + SPAN] * pack.groups[SPANS, 0]
    return int(pack.table[first + pack.table[4 * b + SPAN]])


@compiled
def _loss(pack: Pack, i: int, out: Outputs) -> float:
    total = 0
    n_out = 4 * _n_nodes(pack, i, out) + 1
    for q in range(1, n_out, 4):
        total += _n_labels(pack, out[q + 2], out[q + 1] - out[q] == 1)
    q = 1
    for at in range(pack.target_start[i] + 1, pack.target_start[i + 1], 4):
        start, end, symbol = pack.target[at], pack.target[at + 1], pack.target[at + 2]
        total += _n_labels(pack, symbol, end - start == 1)
        # both trees list their spans by start, then the longest first
        while q < n_out and (out[q] < start or (out[q] == start and out[q + 1] > end)):
            q += 4
        if q < n_out and out[q] == start and out[q + 1] == end:
            total -= 2 * _n_shared(pack, symbol, out[q + 2], end - start == 1)
    return float(total)


# Loss "zero_one"


@compiled
def _is_truth(pack: Pack, i: int, out: Outputs) -> bool:
    at = pack.target_start[i]
    for q in range(pack.target_start[i + 1] - at):
        if out[q] != pack.target[at + q]:
            return False
    return True


@compiled
def _decode_zero_one(pack: Pack, i: int, theta: Floats, out: Outputs) -> float:
    """As `_decode`; the truth has a penalty when the loss is added, and then the second-best tree may be better."""
    score: float = _decode(pack, i, theta, out)
    reward = theta[_sizes(pack, i)[4]]
    if reward == 0.0 or not _is_truth(pack, i, out):
        return score
    lexical, span, top, weight = _scores(pack, i, theta)
    start, right, parent = _rules(pack)
    n_words = pack.row_start[TAGS, i + 1] - pack.row_start[TAGS, i]
    behind = second_tree_core(lexical, n_words, pack.ints[N_SYMBOLS], span, start, right, parent, weight, top, out[1:])
    if behind <= -reward:
        return score - float(behind)
    for q in range(pack.target_start[i + 1] - pack.target_start[i]):
        out[q] = pack.target[pack.target_start[i] + q]
    return score + float(reward)


@compiled
def _parts_zero_one(pack: Pack, i: int, out: Outputs, parts: Outputs) -> int:
    m: int = _parts(pack, i, out, parts)
    if len(pack.target) > 0 and _is_truth(pack, i, out):
        parts[m] = _sizes(pack, i)[4]
        m += 1
    return m


@compiled
def _augment_zero_one(pack: Pack, i: int, theta: Floats) -> float:
    theta[_sizes(pack, i)[4]] -= 1.0
    return 1.0


@compiled
def _loss_zero_one(pack: Pack, i: int, out: Outputs) -> float:
    return 0.0 if _is_truth(pack, i, out) else 1.0


LOSSES = {
    "constituents": (_decode, _parts, _augment, _loss),
    "zero_one": (_decode_zero_one, _parts_zero_one, _augment_zero_one, _loss_zero_one),
}
