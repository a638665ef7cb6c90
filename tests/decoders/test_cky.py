"""Trees against the enumeration of all derivations, and a plain recursion where those are too many."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from maxmargin._compiled import jit_disabled
from maxmargin.decoders.cky import Constituent, Parse, cky, cky_core, order_rules, span_index
from maxmargin.errors import DataError

Problem = dict[str, np.ndarray]
Tree = tuple[tuple[int, int, int, int], ...]


def random_problem(
    rng: np.random.Generator, n: int, n_symbols: int, n_rules: int, forbidden: float, whole: bool
) -> Problem:
    """Whole numbers make many ties, and sums without rounding."""

    def scores(*shape: int) -> np.ndarray:
        values = rng.integers(-2, 3, shape).astype(float) if whole else rng.normal(size=shape)
        values[rng.random(shape) < forbidden] = -np.inf
        return values

    left, right, parent = rng.integers(0, n_symbols, (3, n_rules))
    return dict(
        lexical=scores(n, n_symbols),
        left=left,
        right=right,
        parent=parent,
        weights=scores(n_rules),
        span=scores(n * (n - 1) // 2, n_symbols),
        root=scores(n_symbols),
    )


def node_score(problem: Problem, i: int, j: int, symbol: int, rule: int) -> float:
    """What one constituent adds to the score of its tree."""
    n = len(problem["lexical"])
    if rule < 0:
        return 0.0 if symbol < 0 else float(problem["lexical"][i, symbol])
    spans = [(a, b) for a in range(n) for b in range(a + 2, n + 1)]
    return float(problem["weights"][rule] + problem["span"][spans.index((i, j)), symbol])


def all_trees(problem: Problem, i: int, j: int, symbol: int) -> Iterator[tuple[float, Tree]]:
    """Every allowed derivation of the words [i, j) from ``symbol``: its score and its nodes in preorder."""
    if j == i + 1:
        score = node_score(problem, i, j, symbol, -1)
        if score > -np.inf:
            yield score, ((i, j, symbol, -1),)
        return
    for rule in np.flatnonzero(problem["parent"] == symbol):
        own = node_score(problem, i, j, symbol, rule)
        if own == -np.inf:
            continue
        for middle in range(i + 1, j):
            for a, first in all_trees(problem, i, middle, problem["left"][rule]):
                for b, second in all_trees(problem, middle, j, problem["right"][rule]):
                    yield own + a + b, ((i, j, symbol, int(rule)), *first, *second)


def tilings(n: int) -> Iterator[list[tuple[int, int]]]:
    for mask in range(2 ** (n - 1)):
        cuts = [0, *(k for k in range(1, n) if mask >> (k - 1) & 1), n]
        yield list(pairwise(cuts))


def enumerated(problem: Problem) -> tuple[bool, int, float, int]:
    """From the enumeration: complete, fragments, best score, number of trees looked at."""
    n, n_symbols = problem["lexical"].shape
    looked = 0
    best: dict[tuple[int, int], float] = {}
    whole = -np.inf
    for i in range(n):
        for j in range(i + 1, n + 1):
            for symbol in range(n_symbols):
                for score, _ in all_trees(problem, i, j, symbol):
                    looked += 1
                    best[i, j] = max(best.get((i, j), -np.inf), score)
                    if j - i == n:
                        whole = max(whole, score + problem["root"][symbol])
        best.setdefault((i, i + 1), 0.0)
    if whole > -np.inf:
        return True, 1, whole, looked
    covers = [[best[piece] for piece in pieces] for pieces in tilings(n) if all(piece in best for piece in pieces)]
    fewest = min(len(cover) for cover in covers)
    return False, fewest, max(sum(cover) for cover in covers if len(cover) == fewest), looked


def check_parse(problem: Problem, parse: Parse) -> None:
    """The nodes are trees of the grammar that tile the sentence, and add up to the score."""
    nodes = list(parse.spans)
    n = len(problem["lexical"])
    total = sum(node_score(problem, *node) for node in nodes)
    if parse.complete:
        total += float(problem["root"][nodes[0].symbol])
    assert total == pytest.approx(parse.score, abs=1e-9)

    def take(i: int) -> Constituent:
        node = nodes.pop(0)
        assert node.start == i
        if node.rule < 0:
            assert node.end == i + 1
            # a word goes without a symbol exactly where it must
            assert (node.symbol < 0) == np.isneginf(problem["lexical"][i]).all()
            return node
        assert problem["parent"][node.rule] == node.symbol
        first = take(i)
        second = take(first.end)
        assert (problem["left"][node.rule], problem["right"][node.rule]) == (first.symbol, second.symbol)
        assert second.end == node.end
        return node

    end = fragments = 0
    while end < n:
        end = take(end).end
        fragments += 1
    assert (end, fragments, nodes) == (n, parse.fragments, [])
    if parse.complete:
        assert fragments == 1


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("forbidden", [0.0, 0.2, 0.5])
@pytest.mark.parametrize(
    ("n", "n_symbols", "n_rules"), [(1, 3, 2), (2, 2, 3), (3, 3, 7), (4, 3, 5), (5, 2, 3), (6, 4, 5)]
)
def test_equals_enumeration(
    rng: np.random.Generator, n: int, n_symbols: int, n_rules: int, forbidden: float, whole: bool
) -> None:
    for _ in range(12):
        problem = random_problem(rng, n, n_symbols, n_rules, forbidden, whole)
        parse = cky(**problem)
        complete, fragments, score, _ = enumerated(problem)
        assert (parse.complete, parse.fragments) == (complete, fragments)
        assert parse.score == (score if whole else pytest.approx(score, abs=1e-12))
        check_parse(problem, parse)


def test_the_enumeration_met_every_kind_of_case(rng: np.random.Generator) -> None:
    kinds = set()
    for _ in range(60):
        problem = random_problem(rng, 4, 3, 5, 0.5, True)
        complete, fragments, _, looked = enumerated(problem)
        uncovered = bool(np.isneginf(problem["lexical"]).all(axis=1).any())
        kinds.add((complete, fragments, uncovered))
        assert looked < 10_000
    assert {(True, 1, False), (False, 1, False), (False, 2, False), (False, 3, True), (False, 4, False)} <= kinds


def recursion(problem: Problem) -> tuple[float, list[tuple[int, int, int, int]]]:
    """Best complete tree, with the documented order among equals, by a memoised recursion."""
    n, n_symbols = problem["lexical"].shape
    order = sorted(range(len(problem["left"])), key=lambda r: (problem["left"][r], problem["right"][r], r))
    table = {(i, j): k for k, (i, j) in enumerate((a, b) for a in range(n) for b in range(a + 2, n + 1))}

    @cache
    def best(i: int, j: int, symbol: int) -> tuple[float, int, int]:
        if j == i + 1:
            return float(problem["lexical"][i, symbol]), -1, -1
        top, chosen, split = -np.inf, -1, -1
        for rule in order:
            if problem["parent"][rule] == symbol:
                for m in range(i + 1, j):
                    first, second = best(i, m, int(problem["left"][rule])), best(m, j, int(problem["right"][rule]))
                    score = first[0] + problem["weights"][rule] + second[0]
                    if score > top:
                        top, chosen, split = score, rule, m
        return float(top + problem["span"][table[i, j], symbol]), chosen, split

    def nodes(i: int, j: int, symbol: int) -> list[tuple[int, int, int, int]]:
        _, rule, m = best(i, j, symbol)
        if rule < 0:
            return [(i, j, symbol, -1)]
        left, right = int(problem["left"][rule]), int(problem["right"][rule])
        return [(i, j, symbol, rule), *nodes(i, m, left), *nodes(m, j, right)]

    tops = [best(0, n, symbol)[0] + float(problem["root"][symbol]) for symbol in range(n_symbols)]
    symbol = int(np.argmax(tops))
    return tops[symbol], nodes(0, n, symbol)


@pytest.mark.parametrize(("n", "n_symbols", "n_rules"), [(1, 2, 1), (7, 5, 20), (8, 5, 20), (9, 4, 30), (17, 6, 30)])
def test_equals_recursion_with_ties(rng: np.random.Generator, n: int, n_symbols: int, n_rules: int) -> None:
    for whole in (False, True):
        problem = random_problem(rng, n, n_symbols, n_rules, 0.0, whole)
        score, nodes = recursion(problem)
        parse = cky(**problem)
        assert parse.complete
        assert parse.score == score
        assert parse.spans == nodes


def test_span_index_counts_spans_by_start_then_end() -> None:
    for n in range(1, 8):
        spans = [(i, j) for i in range(n) for j in range(i + 2, n + 1)]
        assert [span_index(i, j, n) for i, j in spans] == list(range(n * (n - 1) // 2))


def test_order_rules_groups_by_left_child(rng: np.random.Generator) -> None:
    left, right = rng.integers(0, 5, (2, 40))
    order, start = order_rules(left, right, 6)
    assert sorted(order) == list(range(40))
    keys = [(left[r], right[r], r) for r in order]
    assert keys == sorted(keys)
    assert all((left[order[start[s] : start[s + 1]]] == s).all() for s in range(6))
    assert (start[0], start[-1], len(start)) == (0, 40, 7)


def test_one_word() -> None:
    no_rules: dict[str, Any] = dict(left=[], right=[], parent=[], weights=[])
    assert cky([[1.0, 3.0]], **no_rules) == Parse([Constituent(0, 1, 1, -1)], 3.0, True, 1)
    assert cky([[1.0, 3.0]], **no_rules, root=[0.5, -np.inf]) == Parse([Constituent(0, 1, 0, -1)], 1.5, True, 1)
    assert cky([[1.0, 3.0]], **no_rules, root=[-np.inf] * 2) == Parse([Constituent(0, 1, 1, -1)], 3.0, False, 1)
    assert cky([[-np.inf] * 2], **no_rules) == Parse([Constituent(0, 1, -1, -1)], 0.0, False, 1)


def test_the_lowest_symbol_wins_ties_at_the_top() -> None:
    rules: dict[str, Any] = dict(left=[0, 0], right=[0, 0], parent=[2, 1], weights=[1.0, 1.0])
    words = [[0.0, -np.inf, -np.inf]] * 2
    whole = cky(words, **rules)
    assert whole.spans == [(0, 2, 1, 1), (0, 1, 0, -1), (1, 2, 0, -1)]
    assert cky(words, **rules, root=[-np.inf] * 3).spans == whole.spans


def test_fewest_fragments_come_before_the_best_score() -> None:
    # symbols: 0 = word, 1 = pair. Three pairs cover six words at a loss; the words alone would score more.
    lexical = np.full((6, 2), -np.inf)
    lexical[:, 0] = 10.0
    parse = cky(lexical, left=[0], right=[0], parent=[1], weights=[-100.0])
    assert (parse.complete, parse.fragments, parse.score) == (False, 3, 60.0 - 300.0)
    assert [node for node in parse.spans if node.rule == 0] == [(0, 2, 1, 0), (2, 4, 1, 0), (4, 6, 1, 0)]
    # an unknown word in the middle stands alone, although symbol 1 has negative scores elsewhere
    lexical[2] = -np.inf
    parse = cky(lexical, left=[0], right=[0], parent=[1], weights=[-100.0])
    assert (parse.complete, parse.fragments) == (False, 4)
    assert Constituent(2, 3, -1, -1) in parse.spans


def core_arguments(problem: Problem) -> tuple[Any, ...]:
    order, start = order_rules(problem["left"], problem["right"], problem["lexical"].shape[1])
    rules = [problem[name][order] for name in ("right", "parent", "weights")]
    n, n_symbols = problem["lexical"].shape
    return problem["lexical"].ravel(), n, n_symbols, problem["span"].ravel(), start, *rules, problem["root"]


@pytest.mark.parametrize(
    "plain", [False, pytest.param(True, marks=pytest.mark.skipif(jit_disabled(), reason="no JIT"))]
)
def test_core_writes_no_more_than_it_says(rng: np.random.Generator, plain: bool) -> None:
    core = cky_core.py_func if plain else cky_core
    seen = set()
    for _ in range(20):
        problem = random_problem(rng, 5, 3, 6, 0.3, True)
        parse = cky(**problem)
        out = np.full(4 * 9 + 5, -7, np.int32)
        score, n_nodes, n_fragments = core(*core_arguments(problem), out)
        assert score == parse.score
        assert n_fragments == (0 if parse.complete else parse.fragments)
        assert n_nodes == len(parse.spans) <= 9
        assert out[4 * n_nodes :].tolist() == [-7] * (out.size - 4 * n_nodes)
        seen.add(parse.complete)
    assert seen == {False, True}


@pytest.mark.parametrize("n", [2, 3, 4])
def test_core_survives_sums_that_overflow(n: int) -> None:
    """Finite scores may add up to inf, and inf - inf to NaN: such a constituent is not used."""
    _, start = order_rules(np.array([0, 0]), np.array([0, 1]), 2)
    out = np.full(4 * (2 * n - 1) + 4, -7, np.int32)
    lexical, span = np.full(2 * n, 1e308), np.full(n * (n - 1), -np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        _, n_nodes, n_fragments = cky_core(
            lexical, n, 2, span, start, np.array([0, 1]), np.array([1, 0]), np.zeros(2), np.zeros(2), out
        )
    assert n_nodes == n_fragments == n
    assert out[: 4 * n].reshape(n, 4).tolist() == [[i, i + 1, 0, -1] for i in range(n)]
    assert out[4 * n :].tolist() == [-7] * (out.size - 4 * n)


def test_any_memory_layout_and_type_of_numbers(rng: np.random.Generator) -> None:
    problem = random_problem(rng, 5, 4, 12, 0.2, True)
    expected = cky(**problem)
    frozen, turned, narrow = {}, {}, {}
    for name, array in problem.items():
        frozen[name] = array.copy()
        frozen[name].setflags(write=False)
        turned[name] = np.repeat(array, 2, axis=0)[::2] if array.ndim == 1 else np.asfortranarray(array)
        narrow[name] = array.astype(np.float32 if array.dtype == float else np.uint8)
    for other in (frozen, turned, narrow, {name: array.tolist() for name, array in problem.items()}):
        assert cky(**other) == expected


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(lexical=np.zeros((0, 2)), span=None), "the sentence has no words"),
        (dict(lexical=np.zeros((3, 0))), "the grammar has no symbols"),
        (dict(lexical=np.zeros(3)), r"lexical has shape \(3,\); expected \(any, any\)"),
        (dict(lexical=np.full((3, 2), np.nan)), r"lexical\[0, 0\] is nan"),
        (dict(weights=np.zeros((1, 1))), r"weights has shape \(1, 1\); expected \(any,\)"),
        (dict(left=[0, 1]), r"left has shape \(2,\); expected \(1,\)"),
        (dict(right=[2]), r"right\[0\] is 2: it must be at least 0 and below 2"),
        (dict(parent=[-1]), r"parent\[0\] is -1"),
        (dict(parent=[0.0]), "parent must be an array of integers, not of float64"),
        (dict(span=np.zeros((4, 2))), r"span has shape \(4, 2\); expected \(3, 2\)"),
        (dict(root=np.zeros(3)), r"root has shape \(3,\); expected \(2,\)"),
        (dict(root=[0.0, np.inf]), r"root\[1\] is inf"),
    ],
)
def test_errors_say_what_is_wrong(change: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = dict(lexical=np.zeros((3, 2)), left=[0], right=[0], parent=[1], weights=[0.0])
    with pytest.raises(DataError, match=message):
        cky(**{**good, **change})


def test_two_threads_parse_at_once(rng: np.random.Generator) -> None:
    problems = [random_problem(rng, 3 + k % 9, 4, 15, 0.2, False) for k in range(40)]
    alone = [cky(**problem) for problem in problems]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda problem: cky(**problem), problems * 3)) == alone * 3


def test_plain_python_gives_the_same_bits(run_python: Callable[..., str]) -> None:
    code = """
import json
import numpy as np
from maxmargin.decoders import cky
rng = np.random.default_rng(8)
results = []
for n, symbols, rules in ((1, 2, 1), (5, 3, 8), (9, 4, 6), (10, 3, 12)):
    lexical, weights = rng.normal(size=(n, symbols)), rng.normal(size=rules)
    lexical[rng.random(lexical.shape) < 0.4] = -np.inf
    left, right, parent = rng.integers(0, symbols, (3, rules))
    parse = cky(lexical, left, right, parent, weights)
    results.append([parse.spans, parse.score, parse.complete, parse.fragments])
print(json.dumps(results))
"""
    fast, slow = (json.loads(run_python(code, env={"NUMBA_DISABLE_JIT": flag})) for flag in (None, "1"))
    assert fast == slow
