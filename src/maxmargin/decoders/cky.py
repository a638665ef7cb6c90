"""Best tree of a weighted binary grammar (Chomsky normal form), or the best partial analysis of a sentence.

A rule ``r`` rewrites ``parent[r]`` as ``left[r] right[r]``. The score of a tree is the sum of ``lexical`` over its
words, of the rules' weights, of ``span`` over its constituents of two words or more, and of ``root`` at the top.
Every score is finite or ``-inf`` (forbidden).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._compiled import compiled
from ..errors import DataError
from .checks import Floats, Ints, check_indices, check_scores

__all__ = ["cky", "Parse", "Constituent", "cky_core", "span_index", "order_rules"]

# The chart has one row for each start and symbol; along it run the ends, from the last word backwards, so that the
# rows of two starts agree in the end they speak of. Starts are filled from the right. As soon as symbol `left` over
# [i, m) is final, each rule with that left child takes all ends at once: row (i, parent) becomes the maximum of itself
# and of row (m, right) plus a constant. Rows are cut into blocks of 8, padded with -inf, for an unrolled loop without
# remainder (1.5 times faster than slices of the true length, 2 to 3 times faster than one split at a time). No
# backpointers are kept: finding the splits again along the best tree costs less than noting them everywhere.
#
# Every choice is a `>`: should finite scores overflow on the way and meet as NaN, that cell is never chosen, so that
# each node unfolded has a rule and a split.


@compiled
def span_index(i: int, j: int, n_words: int) -> int:
    """Position of the words ``[i, j)``, ``j - i >= 2``, among all such spans: by start, then by end.

    There are ``n_words * (n_words - 1) / 2`` of them: (0, 2), (0, 3), ..., (0, n), (1, 3), ...
    """
    return i * (n_words - 1) - i * (i - 1) // 2 + j - i - 2


@compiled
def blocks_of(i: int, n_words: int) -> int:
    """Number of blocks in a row of start ``i``."""
    return (n_words - i + 7) // 8


@compiled
def cell(i: int, j: int, symbol: int, n_words: int, first_block: Ints) -> int:
    """Position in the flat chart of ``symbol`` over ``[i, j)``."""
    block: int = first_block[i] + symbol * blocks_of(i, n_words)
    return 8 * block + n_words - j


@compiled
def raise_row(chart: Floats, target: int, source: int, n_blocks: int, constant: float) -> None:
    """Set row ``target`` to the elementwise maximum of itself and ``constant`` plus row ``source``."""
    for block in range(n_blocks):
        here, there = chart[target + block], chart[source + block]
        for k in range(8):
            score = constant + there[k]
            here[k] = score if score > here[k] else here[k]


@compiled
def fill_core(
    lexical: Floats,
    n_words: int,
    n_symbols: int,
    span: Floats,
    rule_start: Ints,
    rule_right: Ints,
    rule_parent: Ints,
    rule_weight: Floats,
    first_block: Ints,
    chart: Floats,
    live: NDArray[np.bool_],
) -> None:
    """Fill the chart (all ``-inf``) with the best score of every symbol over every span, and ``live`` (all False).

    ``live[i * n_symbols + symbol]`` says that ``symbol`` covers some words from ``i`` on.
    """
    flat = chart.reshape(-1)
    for i in range(n_words - 1, -1, -1):
        n_blocks = blocks_of(i, n_words)
        for symbol in range(n_symbols):
            flat[cell(i, i + 1, symbol, n_words, first_block)] = lexical[i * n_symbols + symbol]
        for middle in range(i + 1, n_words + 1):
            with_span = span.size > 0 and middle > i + 1
            for left in range(n_symbols):
                at = cell(i, middle, left, n_words, first_block)
                score = flat[at]
                if score == -np.inf:
                    continue
                if with_span:
                    score += span[span_index(i, middle, n_words) * n_symbols + left]
                    flat[at] = score
                    if score == -np.inf:
                        continue
                live[i * n_symbols + left] = True
                if middle == n_words:
                    continue
                right_blocks = blocks_of(middle, n_words)
                for rule in range(rule_start[left], rule_start[left + 1]):
                    right = rule_right[rule]
                    if live[middle * n_symbols + right]:
                        target = first_block[i] + rule_parent[rule] * n_blocks
                        source = first_block[middle] + right * right_blocks
                        raise_row(chart, target, source, right_blocks, score + rule_weight[rule])


@compiled
def tile_core(n_words: int, n_symbols: int, first_block: Ints, flat: Floats, fragments: Ints) -> tuple[Any, Any]:
    """Fewest constituents that tile the sentence, best score among those.

    Writes ``(start, end, symbol)`` of each to ``fragments``, from the last to the first; ``symbol`` is -1 for a word
    that no symbol covers (it scores 0). Returns the score and the number of fragments. Ties: the leftmost start of the
    last fragment, then of the one before, and the lowest symbols.
    """
    count = np.full(n_words + 1, n_words + 1)
    total = np.full(n_words + 1, -np.inf)
    begin = np.zeros(n_words + 1, np.int64)
    count[0] = 0
    total[0] = 0.0
    for i in range(n_words):
        for j in range(i + 1, n_words + 1):
            top = -np.inf
            for symbol in range(n_symbols):
                score = flat[cell(i, j, symbol, n_words, first_block)]
                top = score if score > top else top
            if top == -np.inf:
                if j > i + 1:
                    continue
                top = 0.0
            pieces, score = count[i] + 1, total[i] + top
            if pieces < count[j] or (pieces == count[j] and score > total[j]):
                count[j], total[j], begin[j] = pieces, score, i
    j = n_words
    for piece in range(count[n_words]):
        i = begin[j]
        chosen = -1
        top = -np.inf
        for symbol in range(n_symbols):
            score = flat[cell(i, j, symbol, n_words, first_block)]
            if score > top:
                top = score
                chosen = symbol
        fragments[3 * piece], fragments[3 * piece + 1], fragments[3 * piece + 2] = i, j, chosen
        j = i
    return total[n_words], count[n_words]


@compiled
def unfold_core(
    stack: Ints,
    size: int,
    n_words: int,
    n_symbols: int,
    rule_start: Ints,
    rule_right: Ints,
    rule_parent: Ints,
    rule_weight: Floats,
    first_block: Ints,
    flat: Floats,
    live: NDArray[np.bool_],
    out: Ints,
) -> int:
    """Write the trees under the ``size`` constituents on ``stack``, last one first; return the number of nodes."""
    nodes = 0
    while size > 0:
        size -= 1
        i, j, symbol = stack[3 * size], stack[3 * size + 1], stack[3 * size + 2]
        chosen = -1
        if j - i > 1:
            best = -np.inf
            middle = i
            chosen_left = 0
            for left in range(n_symbols):
                if not live[i * n_symbols + left]:
                    continue
                for rule in range(rule_start[left], rule_start[left + 1]):
                    if rule_parent[rule] != symbol:
                        continue
                    for m in range(i + 1, j):
                        before = flat[cell(i, m, left, n_words, first_block)] + rule_weight[rule]
                        score = before + flat[cell(m, j, rule_right[rule], n_words, first_block)]
                        if score > best:
                            best = score
                            middle, chosen_left, chosen = m, left, rule
            stack[3 * size], stack[3 * size + 1], stack[3 * size + 2] = middle, j, rule_right[chosen]
            size += 1
            stack[3 * size], stack[3 * size + 1], stack[3 * size + 2] = i, middle, chosen_left
            size += 1
        out[4 * nodes], out[4 * nodes + 1], out[4 * nodes + 2], out[4 * nodes + 3] = i, j, symbol, chosen
        nodes += 1
    return nodes


@compiled
def cky_core(
    lexical: Floats,
    n_words: int,
    n_symbols: int,
    span: Floats,
    rule_start: Ints,
    rule_right: Ints,
    rule_parent: Ints,
    rule_weight: Floats,
    root: Floats,
    out: Ints,
) -> tuple[float, int, int]:
    """Best tree of a sentence, or its best partial analysis, for callers that are compiled themselves.

    Parameters
    ----------
    lexical : float64 array (n_words * n_symbols,)
        Score of ``symbol`` over word ``i`` alone at ``[i * n_symbols + symbol]``.
    n_words, n_symbols : int
        At least 1 each.
    span : float64 array (n_words * (n_words - 1) / 2 * n_symbols,) or empty
        Added to a constituent of two words or more, at ``[span_index(i, j, n_words) * n_symbols + symbol]``.
        Empty stands for zeros.
    rule_start : int32 or int64 array (n_symbols + 1,)
        The rules with left child ``s`` are ``rule_start[s]:rule_start[s + 1]``.
    rule_right, rule_parent : int32 or int64 arrays (n_rules,)
        Right child and parent of each rule, sorted by left child, then by right child (see `order_rules`).
    rule_weight : float64 array (n_rules,)
        Weights, in the same order.
    root : float64 array (n_symbols,)
        Added at the top of a complete tree; ``-inf`` for a symbol that may not be there.
    out : int32 array (at least 4 * (2 * n_words - 1),)
        Receives the nodes in preorder (node, left subtree, right subtree) as quadruples ``(i, j, symbol, rule)``:
        ``symbol`` covers the words ``[i, j)`` and is rewritten by ``rule`` (a position in the sorted arrays).
        ``rule`` is -1 for a single word. Ties: the lowest symbol at the top, then the first rule in the sorted order,
        then the leftmost split.

    Returns
    -------
    score : float64
        Score of the tree, or of the fragments together (``root`` left out).
    n_nodes : int64
        Number of quadruples written.
    n_fragments : int64
        0 for a complete tree. If there is none, the sentence is tiled by as few constituents as possible, with the best
        score among those; this is their number, and their trees are written one after another from the left.
        A word that no symbol covers is a fragment ``(i, i + 1, -1, -1)`` with score 0.
    """
    first_block = np.empty(n_words, np.int64)
    n_blocks = 0
    for i in range(n_words):
        first_block[i] = n_blocks
        n_blocks += n_symbols * blocks_of(i, n_words)
    chart = np.full((n_blocks, 8), -np.inf)
    flat = chart.reshape(-1)
    live = np.zeros(n_words * n_symbols, np.bool_)
    fill_core(
        lexical, n_words, n_symbols, span, rule_start, rule_right, rule_parent, rule_weight, first_block, chart, live
    )
    stack = np.empty(3 * (n_words + 1), np.int64)
    score = -np.inf
    pending = 1
    n_fragments = 0
    for symbol in range(n_symbols):
        candidate = flat[cell(0, n_words, symbol, n_words, first_block)] + root[symbol]
        if candidate > score:
            score = candidate
            stack[0], stack[1], stack[2] = 0, n_words, symbol
    if score == -np.inf:
        score, n_fragments = tile_core(n_words, n_symbols, first_block, flat, stack)
        pending = n_fragments
    n_nodes = unfold_core(
        stack,
        pending,
        n_words,
        n_symbols,
        rule_start,
        rule_right,
        rule_parent,
        rule_weight,
        first_block,
        flat,
        live,
        out,
    )
    return score, n_nodes, n_fragments


def order_rules(left: Ints, right: Ints, n_symbols: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sort rules as `cky_core` wants them.

    Returns
    -------
    order : int64 array of shape (n_rules,)
        Positions of the rules given, by left child, then right child, then position: ``rule_right = right[order]`` etc.
    start : int64 array of shape (n_symbols + 1,)
        Where the rules of each left child start in that order (``rule_start``).
    """
    order = np.lexsort((right, left)).astype(np.int64)
    start = np.searchsorted(np.asarray(left)[order], np.arange(n_symbols + 1)).astype(np.int64)
    return order, start


class Constituent(NamedTuple):
    """``symbol`` over the words ``start .. end - 1``.

    ``rule`` rewrote it (-1 for a single word); ``symbol`` is -1 for a word that no symbol may cover.
    """

    start: int
    end: int
    symbol: int
    rule: int


@dataclass(frozen=True)
class Parse:
    """Result of :func:`cky`.

    Attributes
    ----------
    spans : list of Constituent
        In preorder: each constituent, then its left part, then its right part.
    score : float
        Score of the tree; of the fragments together, without any ``root`` score, where there is no tree.
    complete : bool
        True for one tree with a symbol at its top that ``root`` allows.
    fragments : int
        Number of trees in ``spans``, from left to right; 1 when complete.
    """

    spans: list[Constituent]
    score: float
    complete: bool
    fragments: int


def cky(
    lexical: ArrayLike,
    left: ArrayLike,
    right: ArrayLike,
    parent: ArrayLike,
    weights: ArrayLike,
    span: ArrayLike | None = None,
    root: ArrayLike | None = None,
) -> Parse:
    """Best tree of a sentence under a weighted binary grammar, or its best partial analysis.

    Without a complete tree the sentence is tiled by as few constituents as possible, with the best score among those;
    a word that no symbol may cover is a fragment of its own with score 0.

    Parameters
    ----------
    lexical : array_like of shape (n_words, n_symbols)
        Score of each symbol over each single word. All scores are finite, or ``-inf`` for what is forbidden.
    left, right, parent : array_like of int of shape (n_rules,)
        Rule ``r`` rewrites ``parent[r]`` as ``left[r] right[r]``.
    weights : array_like of shape (n_rules,)
        Scores of the rules.
    span : array_like of shape (n_words * (n_words - 1) / 2, n_symbols), optional
        ``span[span_index(i, j, n_words), s]`` is added to symbol ``s`` over the words ``i .. j - 1``, ``j - i >= 2``.
    root : array_like of shape (n_symbols,), optional
        Added for the symbol at the top of a complete tree; by default any symbol may be there, with score 0.

    Returns
    -------
    Parse
        Ties: the lowest symbol at the top, then the rule with the lowest left and right child, then the leftmost split.

    Raises
    ------
    DataError
        No words or symbols, wrong shapes, symbols out of range, NaN or ``+inf``.
    """
    words = check_scores(lexical, "lexical", (None, None))
    n, n_symbols = words.shape
    if n == 0:
        raise DataError("the sentence has no words: lexical must have at least one row")
    if n_symbols == 0:
        raise DataError("the grammar has no symbols: lexical must have at least one column")
    scores = check_scores(weights, "weights", (None,))
    lefts, rights, parents = (
        check_indices(values, name, scores.shape, n_symbols)
        for values, name in ((left, "left"), (right, "right"), (parent, "parent"))
    )
    spans = np.zeros(0) if span is None else check_scores(span, "span", (n * (n - 1) // 2, n_symbols)).ravel()
    tops = np.zeros(n_symbols) if root is None else check_scores(root, "root", (n_symbols,))
    order, start = order_rules(lefts, rights, n_symbols)
    out = np.empty(4 * (2 * n - 1), np.int32)
    score, n_nodes, n_fragments = cky_core(
        words.ravel(), n, n_symbols, spans, start, rights[order], parents[order], scores[order], tops, out
    )
    nodes = [
        Constituent(i, j, symbol, int(order[rule]) if rule >= 0 else -1)
        for i, j, symbol, rule in out[: 4 * n_nodes].reshape(-1, 4).tolist()
    ]
    return Parse(nodes, float(score), complete=bool(n_fragments == 0), fragments=max(int(n_fragments), 1))
