"""Binary trees and the way back, grammars read off trees, and the treebank grammar."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin.data.brackets import Tree, parse_tree, read_trees
from maxmargin.errors import DataError
from maxmargin.structures.grammar import (
    Grammar,
    binarize,
    clean,
    cleaned,
    is_intermediate,
    labels_of,
    symbol_of,
    unfold,
)
from maxmargin.structures.pcfg import TreebankGrammar

# labels that could be mistaken for the signs of symbols, and ordinary ones
LABELS = st.sampled_from(
    ["S", "NP", "NP-SBJ", "", "+", "|", "A|<B>", "\\", "\\0", "\\+", "-LRB-", "a+b", "x\n|", ",", "<>"]
)
WORDS = st.sampled_from(["the", "", "+", "|", "cat"])
TREES = st.recursive(
    st.builds(Tree, LABELS, st.tuples(WORDS)),
    lambda below: st.builds(Tree, LABELS, st.lists(below | WORDS, min_size=1, max_size=5).map(tuple)),
    max_leaves=15,
)
OPTIONS: dict[str, Any] = dict(horizontal=st.integers(0, 3), factor=st.sampled_from(["right", "left"]))


@given(st.lists(LABELS, max_size=4))
def test_symbols_keep_their_labels(labels: list[str]) -> None:
    symbol = symbol_of(labels)
    assert labels_of(symbol) == labels
    assert not is_intermediate(symbol)


@given(TREES, OPTIONS["horizontal"], OPTIONS["factor"])
def test_every_tree_comes_back_from_its_binary_tree(tree: Tree, horizontal: int, factor: Any) -> None:
    binary = binarize(tree, horizontal=horizontal, factor=factor)
    assert all(len(node.children) == 2 or node.is_preterminal for node in binary.subtrees())
    assert all(
        isinstance(child, Tree) for node in binary.subtrees() for child in node.children if len(node.children) > 1
    )
    assert binary.leaves() == tree.leaves()
    assert unfold(binary) == [tree]


@given(st.lists(TREES, min_size=1, max_size=4), OPTIONS["horizontal"], OPTIONS["factor"])
def test_every_tree_comes_back_from_its_derivation(trees: list[Tree], horizontal: int, factor: Any) -> None:
    for options in (dict(functions=True, empty=True), {}):
        grammar = Grammar.from_trees(trees, horizontal=horizontal, factor=factor, **options)
        again = Grammar.from_state(grammar.state())
        for i, tree in enumerate(trees):
            nodes, words = grammar.derivation(tree, i)
            assert words == tree.leaves()
            assert nodes.shape == (2 * len(words) - 1, 4)
            assert grammar.tree(nodes, words) == (tree if options else clean(tree))
            assert np.array_equal(again.derivation(tree)[0], nodes)


def test_binary_trees_by_hand() -> None:
    tree = parse_tree("(NP (DT the) (JJ old) (JJ grey) (ADJP (JJ tired)) (NN cat))")
    assert str(binarize(tree, horizontal=1)) == (
        "(NP (DT the) (NP|<JJ> (JJ old) (NP|<JJ> (JJ grey) (NP|<ADJP> (ADJP+JJ tired) (NN cat)))))"
    )
    assert str(binarize(tree, horizontal=2, factor="left")) == (
        "(NP (NP|<JJ,ADJP> (NP|<JJ,JJ> (NP|<DT,JJ> (DT the) (JJ old)) (JJ grey)) (ADJP+JJ tired)) (NN cat))"
    )
    chain = parse_tree("(ROOT (S (VP (VB go) (ADVP (RB home)))))")
    assert str(binarize(chain)) == "(ROOT+S+VP (VB go) (ADVP+RB home))"
    mixed = Tree("NP", ("the", Tree("NN", ("cat",))))
    assert binarize(mixed) == Tree("NP", (Tree("", ("the",)), Tree("NN", ("cat",))))


def test_trees_of_any_depth() -> None:
    tree = Tree("NN", ("word",))
    for k in range(5000):
        tree = Tree("X", (tree,)) if k % 3 else Tree("Y", (tree, "and", Tree("Z", ("so",))))
    assert unfold(binarize(tree)) == [tree]
    grammar = Grammar.from_trees([tree])
    assert grammar.tree(*grammar.derivation(tree)) == tree


@pytest.mark.parametrize(
    ("label", "plain"),
    [("NP-SBJ", "NP"), ("NP-SBJ-1", "NP"), ("NP=2", "NP"), ("NP-SBJ=2", "NP"), ("-LRB-", "-LRB-"), ("", ""), ("-", "-"),
     ("PRP$", "PRP$"), ("ADVP|PRT", "ADVP|PRT"), ("--", "--"), ("=", "=")],
)  # fmt: skip
def test_functional_tags(label: str, plain: str) -> None:
    assert clean(Tree(label, ("x",))) == Tree(plain, ("x",))
    assert clean(Tree(label, ("x",)), functions=True) == Tree(label, ("x",))


def test_empty_elements() -> None:
    tree = parse_tree("(S (NP-SBJ (-NONE- *)) (VP (VB go) (NP (NP (-NONE- *T*)) (SBAR (-NONE- 0)))) (. .))")
    assert clean(tree) == parse_tree("(S (VP (VB go)) (. .))")
    assert clean(tree, empty=True, functions=True) == tree
    nothing = parse_tree("(S (NP (-NONE- *)))")
    assert clean(nothing) is None
    with pytest.raises(DataError, match=r"tree 1 has no words"):
        Grammar.from_trees([tree, nothing])
    for options in ({}, dict(functions=True), dict(empty=True)):
        assert cleaned(tree, **options) == clean(tree, **options)
    assert cleaned(nothing, empty=True) == nothing
    with pytest.raises(DataError, match=r"^tree 7 has no words: \(S \(NP \(-NONE- \*\)\)\)$"):
        cleaned(nothing, 7)


def test_the_root_is_taken_off_only_if_it_can_be_put_back() -> None:
    texts = ["(ROOT (S (A a) (B b)))", "(ROOT (A a))", "(ROOT (A a) (B b))"]
    grammar = Grammar.from_trees([parse_tree(text) for text in texts])
    assert grammar.root == "ROOT"
    assert [grammar.symbols[s] for s in grammar.tops] == ["A", "ROOT", "S"]
    mixed = Grammar.from_trees([parse_tree(text) for text in [*texts, "(S (ROOT (A a) (B b)) (A a))"]])
    assert mixed.root is None
    for either in (grammar, mixed):
        for text in texts:
            assert str(either.tree(*either.derivation(parse_tree(text)))) == text
    assert Grammar.from_trees([parse_tree("( (S (A a) (B b)))")]).root == ""


def test_order_of_symbols_and_rules_does_not_depend_on_that_of_the_trees(rng: np.random.Generator) -> None:
    trees = [parse_tree(f"(S (A a) (X{k % 3} (B b) (C c) (D (B b))) (E{k} e))") for k in range(8)]
    first = Grammar.from_trees(trees)
    other = Grammar.from_trees([trees[k] for k in rng.permutation(8)])
    assert first.symbols == other.symbols == tuple(sorted(first.symbols))
    for name in ("left", "right", "parent", "lexical", "tops"):
        assert np.array_equal(getattr(first, name), getattr(other, name))
    assert (np.diff(first.left) >= 0).all()
    for s in range(len(first.symbols)):
        assert (first.left[first.rule_start[s] : first.rule_start[s + 1]] == s).all()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("(S (B b) (A a))", "rule 'S' -> 'B' 'A'"),
        ("(S (A a) (C c))", "rule 'S' -> 'A' 'C'"),
        ("(C c)", "symbol 'C' over a word"),
        ("(A (A a) (B b))", "rule 'A' -> 'A' 'B'"),
        ("(A a)", "symbol 'A' at the top"),
    ],
)
def test_trees_outside_the_grammar_are_refused(text: str, what: str) -> None:
    grammar = Grammar.from_trees([parse_tree("(S (A a) (B b))")])
    with pytest.raises(DataError, match=f"tree 7 is outside the grammar, which has no {what}"):
        grammar.derivation(parse_tree(text), 7)


def test_options_are_checked() -> None:
    tree = parse_tree("(S (A a) (B b))")
    for options, what in ((dict(factor="up"), "factor"), (dict(horizontal=-1), "horizontal")):
        with pytest.raises(DataError, match=what):
            Grammar.from_trees([tree], **options)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="no trees"):
        Grammar.from_trees([])


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("symbols", ["A", "A", "S"], "each once"),
        ("symbols", ["A", 2, "S"], "must be strings"),
        ("left", [3], "outside 0..2"),
        ("right", [-1], "outside 0..2"),
        ("parent", [0, 1], "one parent each"),
        ("left", [1, 0], "sorted"),
        ("lexical", [0.5], "symbol numbers"),
        ("lexical", [0, 0], "each once"),
        ("tops", np.zeros(0, np.int32), "one symbol or more"),
        ("tops", [[0]], "symbol numbers"),
        ("symbols", ["A", "B", "S|<A>"], "whole constituents"),
        ("root", 3, "root"),
        ("factor", "up", "factor"),
        ("horizontal", "2", "horizontal"),
    ],
)
def test_a_state_that_contradicts_itself_is_refused(name: str, value: Any, what: str) -> None:
    state = Grammar.from_trees([parse_tree("(S (A a) (B b))")]).state()
    with pytest.raises(DataError, match=what):
        Grammar.from_state({**state, name: value})
    del state[name]
    with pytest.raises(DataError, match=f"{name} is missing"):
        Grammar.from_state(state)


@pytest.mark.parametrize("horizontal", [0, 1, 2])
def test_a_treebank_comes_back(data_folder: Path, horizontal: int) -> None:
    path = data_folder / "gum_constituency" / "dev.mrg.gz"
    if not path.exists():
        pytest.skip(f"{path} is missing")
    trees = read_trees(path)
    for factor in ("right", "left"):
        grammar = Grammar.from_trees(trees, horizontal=horizontal, factor=factor)  # type: ignore[arg-type]
        for tree in trees[::5]:
            assert unfold(binarize(tree, horizontal=horizontal, factor=factor)) == [tree]  # type: ignore[arg-type]
            assert grammar.tree(*grammar.derivation(tree)) == clean(tree)


# --- the treebank grammar

TREEBANK = [
    parse_tree(text)
    for text in (
        "(S (NP (D the) (N cat)) (VP (V sees) (NP (D a) (N dog))))",
        "(S (NP (N cats)) (VP (V sleep)))",
        "(S (NP (NP (D a) (N dog)) (PP (P with) (NP (N cats)))) (VP (V sleep)))",
        "(S (NP (D the) (N dog)) (VP (V sees) (NP (D a) (N cat)) (PP (P with) (NP (N cats)))))",
    )
]


def test_relative_frequencies() -> None:
    grammar = Grammar.from_trees(TREEBANK)
    found = TreebankGrammar.from_trees(grammar, TREEBANK)
    rules: Counter[tuple[str, ...]] = Counter()
    for tree in TREEBANK:
        for node in binarize(tree).subtrees():
            if not node.is_preterminal:
                rules[(node.label, *(child.label for child in node.children if isinstance(child, Tree)))] += 1
    parents: Counter[str] = Counter()
    for rule, count in rules.items():
        parents[rule[0]] += count
    names = [tuple(grammar.symbols[s] for s in rule) for rule in zip(grammar.parent, grammar.left, grammar.right)]
    assert len(names) == len(rules)
    for name, score in zip(names, found.rules):
        assert score == pytest.approx(math.log(rules[name] / parents[name[0]]))
    assert {grammar.symbols[s]: round(math.exp(found.tops[s])) for s in grammar.tops} == {"S": 1}
    # p(symbol | word) sums to one, for known words and others
    for word in ("the", "cats", "sleep", "birds", "42"):
        score = found.lexical(word)
        assert (np.exp(score) * found.symbols).sum() == pytest.approx(1.0)
    the = found.lexical("the")
    assert the.argmax() == grammar.symbols.index("D")


def all_trees(grammar: Grammar, n: int) -> list[list[tuple[int, int, int, int]]]:
    """Every derivation of ``n`` words, as nodes in preorder."""
    found: dict[tuple[int, int], list[tuple[int, list[tuple[int, int, int, int]]]]] = defaultdict(list)
    for i in range(n):
        found[i, i + 1] = [(s, [(i, i + 1, s, -1)]) for s in grammar.lexical.tolist()]
    rules = list(zip(grammar.left.tolist(), grammar.right.tolist(), grammar.parent.tolist()))
    for width, i in itertools.product(range(2, n + 1), range(n)):
        j = i + width
        if j > n:
            continue
        for m, (r, (left, right, parent)) in itertools.product(range(i + 1, j), enumerate(rules)):
            for (a, before), (b, after) in itertools.product(found[i, m], found[m, j]):
                if (a, b) == (left, right):
                    found[i, j].append((parent, [(i, j, parent, r), *before, *after]))
    return [nodes for top, nodes in found[0, n] if top in grammar.tops]


def test_parses_are_the_most_probable_trees() -> None:
    grammar = Grammar.from_trees(TREEBANK)
    model = TreebankGrammar.from_trees(grammar, TREEBANK)
    for text in ("cats sleep", "a bird sees the dog", "the cat sees a dog with cats"):
        sentence = text.split()
        best, score = None, -np.inf
        for nodes in all_trees(grammar, len(sentence)):
            value = model.tops[nodes[0][2]]
            for start, _, symbol, rule in nodes:
                value += model.rules[rule] if rule >= 0 else model.lexical(sentence[start])[symbol]
            if value > score:
                best, score = nodes, value
        assert best is not None
        (tree,) = model.parse([sentence])
        assert tree == grammar.tree(np.array(best, np.int32), sentence)


def test_sentences_outside_the_grammar_get_fragments() -> None:
    grammar = Grammar.from_trees([parse_tree("(S (A a) (B b))")])
    (tree,) = TreebankGrammar.from_trees(grammar, [parse_tree("(S (A a) (B b))")]).parse([["a", "b", "a"]])
    assert tree == parse_tree("(ROOT (S (A a) (B b)) (A a))")
    with pytest.raises(DataError, match="sentence 0 has no words"):
        TreebankGrammar.from_trees(grammar, [parse_tree("(S (A a) (B b))")]).parse([[]])
