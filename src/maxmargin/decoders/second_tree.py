"""Second-best tree of a weighted binary grammar, given the best one.

The second-best tree differs from the best one in the choice at one node alone: that node takes its second-best rule and
split, everything below these is again the best there is (any further change could be undone without loss). So one look
at the nodes of the best tree finds it, with the chart that found the best.
"""

from __future__ import annotations

import numpy as np

from .._compiled import compiled
from .checks import Floats, Ints
from .cky import blocks_of, cell, fill_core, unfold_core

__all__ = ["second_tree_core"]


@compiled
def second_tree_core(
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
) -> float:
    """Turn the best tree into the second-best one.

    Parameters
    ----------
    lexical, n_words, n_symbols, span, rule_start, rule_right, rule_parent, rule_weight, root
        As for :func:`~maxmargin.decoders.cky.cky_core`.
    out : int32 array
        Holds the nodes of the best tree, a complete one; receives those of the second-best tree.

    Returns
    -------
    loss : float64
        Score of the best tree minus that of the second; ``inf`` when there is only one tree (``out`` is kept then).
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
    loss = np.inf
    node, middle, rule, symbol = -1, 0, -1, -1  # where the second tree departs from the best, and how
    top = flat[cell(0, n_words, out[2], n_words, first_block)] + root[out[2]]
    for other in range(n_symbols):
        score = flat[cell(0, n_words, other, n_words, first_block)] + root[other]
        if other != out[2] and top - score < loss:
            loss = top - score
            node, symbol = 0, other
    for k in range(2 * n_words - 1):
        i, j, parent, used = out[4 * k], out[4 * k + 1], out[4 * k + 2], out[4 * k + 3]
        if used < 0:
            continue
        split = out[4 * k + 5]
        best = (
            flat[cell(i, split, out[4 * k + 6], n_words, first_block)]
            + flat[cell(split, j, rule_right[used], n_words, first_block)]
            + rule_weight[used]
        )
        for left in range(n_symbols):
            if not live[i * n_symbols + left]:
                continue
            for r in range(rule_start[left], rule_start[left + 1]):
                if rule_parent[r] != parent:
                    continue
                for m in range(i + 1, j):
                    score = flat[cell(i, m, left, n_words, first_block)] + rule_weight[r]
                    score += flat[cell(m, j, rule_right[r], n_words, first_block)]
                    if best - score < loss and (r != used or m != split):
                        loss = best - score
                        node, middle, rule, symbol = k, m, r, left
    if node < 0:
        return loss
    stack = np.empty(3 * (n_words + 1), np.int64)
    i, j = out[4 * node], out[4 * node + 1]
    first, pending = node, 1
    stack[0], stack[1], stack[2] = i, j, symbol
    if rule >= 0:  # the node keeps its symbol; its two parts are replaced
        out[4 * node + 3] = rule
        first, pending = node + 1, 2
        stack[0], stack[1], stack[2] = middle, j, rule_right[rule]
        stack[3], stack[4], stack[5] = i, middle, symbol
    unfold_core(
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
        out[4 * first :],
    )
    return loss
