"""The second-best tree against all trees."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from maxmargin.decoders.cky import cky_core, order_rules, span_index
from maxmargin.decoders.second_tree import second_tree_core

Nodes = tuple[tuple[int, int, int, int], ...]


def all_trees(n: int, words: Any, left: Any, right: Any, parent: Any) -> dict[Nodes, int]:
    """Every tree over ``n`` words, and its symbol at the top; ``words[i, s]`` says that ``s`` may cover word ``i``."""
    found: dict[tuple[int, int], list[tuple[int, Nodes]]] = defaultdict(list)
    for i, s in np.argwhere(words).tolist():
        found[i, i + 1].append((s, ((i, i + 1, s, -1),)))
    for width in range(2, n + 1):
        for i, r in itertools.product(range(n - width + 1), range(len(left))):
            j = i + width
            for m in range(i + 1, j):
                for (a, before), (b, after) in itertools.product(found[i, m], found[m, j]):
                    if a == left[r] and b == right[r]:
                        found[i, j].append((int(parent[r]), ((i, j, int(parent[r]), r), *before, *after)))
    return {nodes: s for s, nodes in found[0, n]}


@pytest.mark.parametrize("seed", range(40))
def test_second_best_of_all_trees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, n_symbols, n_rules = int(rng.integers(1, 6)), int(rng.integers(1, 4)), int(rng.integers(2, 11))
    rules = np.unique(rng.integers(0, n_symbols, (n_rules, 3)), axis=0)
    rules = rules[order_rules(rules[:, 0], rules[:, 1], n_symbols)[0]]
    left, right, parent = (np.ascontiguousarray(column) for column in rules.T)
    start = order_rules(left, right, n_symbols)[1]
    # whole numbers make ties, which must do no harm
    draw = rng.normal if seed % 2 else lambda size: rng.integers(0, 3, size).astype(float)
    lexical = np.where(rng.random((n, n_symbols)) < 0.9, draw(size=(n, n_symbols)), -np.inf)
    span, weight = draw(size=n * (n - 1) // 2 * n_symbols), draw(size=len(left))
    root = np.where(rng.random(n_symbols) < 0.8, draw(size=n_symbols), -np.inf)
    scores = {}
    for nodes, top in all_trees(n, np.isfinite(lexical), left, right, parent).items():
        score = root[top]
        for i, j, s, rule in nodes:
            score += lexical[i, s] if rule < 0 else span[span_index(i, j, n) * n_symbols + s] + weight[rule]
        if np.isfinite(score):
            scores[nodes] = score
    out = np.zeros(4 * (2 * n - 1), np.int32)
    arguments = lexical.ravel(), n, n_symbols, span, start, right, parent, weight, root, out
    best, _, fragments = cky_core(*arguments)
    if not scores:
        assert fragments > 0
        return
    first = tuple(map(tuple, out.reshape(-1, 4).tolist()))
    assert scores[first] == pytest.approx(best)
    loss = second_tree_core(*arguments)
    second = tuple(map(tuple, out.reshape(-1, 4).tolist()))
    del scores[first]
    if not scores:
        assert loss == np.inf
        assert second == first
        return
    assert second != first
    assert scores[second] == pytest.approx(max(scores.values()))
    assert best - loss == pytest.approx(scores[second])
