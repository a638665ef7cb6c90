"""The compiled tree structure against its definition: all trees of small grammars, written out."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from maxmargin import check_structure
from maxmargin.data.brackets import Tree, parse_tree
from maxmargin.decoders.cky import span_index
from maxmargin.errors import DataError
from maxmargin.solvers.frank_wolfe import FrankWolfe
from maxmargin.solvers.loop import minimize
from maxmargin.solvers.oracle import make_oracle
from maxmargin.structures.base import Encoded
from maxmargin.structures.grammar import labels_of, symbol_of
from maxmargin.structures.tree import TreeStructure, _Labels
from solvers.enumeration import Listed

LOSSES = ("constituents", "zero_one")

# n-ary nodes, unary chains above words and others (one with a label twice), a bare word, a symbol over one word or more
TREES = [
    parse_tree(text)
    for text in (
        "(ROOT (S (A a) (B b)))",
        "(ROOT (S (B b) (A (A (B a) (B b)))))",
        "(ROOT (A a))",
        "(ROOT (S (A a) (B a) (A (B b))))",
        "(ROOT (S (A (A a) (B b)) (B b)))",
    )
] + [Tree("ROOT", (Tree("S", (Tree("B", ("a",)), "b")),))]
SENTENCES = [tree.leaves() for tree in TREES]


@cache
def structure_of(loss: Any = "constituents") -> TreeStructure:
    return TreeStructure.from_trees(SENTENCES, TREES, loss=loss, horizontal=0, frequent=1)


@cache
def derivations(n: int, width: int | None = None) -> list[tuple[tuple[int, int, int, int], ...]]:
    """Nodes of all derivations of the first ``width`` words (all of them: with a symbol that may be at the top)."""
    grammar = structure_of().grammar
    rules = list(enumerate(zip(grammar.left.tolist(), grammar.right.tolist(), grammar.parent.tolist())))

    @cache
    def below(i: int, j: int) -> list[tuple[tuple[int, int, int, int], ...]]:
        if j - i == 1:
            return [((i, j, s, -1),) for s in grammar.lexical.tolist()]
        return [
            ((i, j, parent, r), *a, *b)
            for m in range(i + 1, j)
            for a, b in itertools.product(below(i, m), below(m, j))
            for r, (left, right, parent) in rules
            if a[0][2] == left and b[0][2] == right
        ]

    return [nodes for nodes in below(0, n) if nodes[0][2] in grammar.tops]


def vector(nodes: Any, n_words: int, fragments: int = 0) -> np.ndarray:
    out = np.zeros(8 * n_words - 3, np.int32)
    out[0] = fragments
    out[1 : 1 + 4 * len(nodes)] = np.ravel(nodes)
    return out


class Enumerated(TreeStructure):
    """Lists its outputs, for `check_structure`."""

    def outputs(self, encoded: Encoded, i: int) -> Iterator[np.ndarray]:
        n = len(encoded.extra["sentences"].words(i))
        return (vector(nodes, n) for nodes in derivations(n))


def constituents(tree: Tree) -> Counter[tuple[Any, ...]]:
    """Labelled spans; the tag of a word (or that it has none) is kept apart from the labels above it."""
    found: Counter[tuple[Any, ...]] = Counter()

    def walk(node: Tree | str, at: int, tag: bool) -> int:
        if isinstance(node, str):
            found["tag", "" if not tag else None, at] += not tag
            return at + 1
        if node.is_preterminal:
            found["tag", node.label, at] += 1
            return walk(node.children[0], at, True)
        end = at
        for child in node.children:
            end = walk(child, end, False)
        found[node.label, at, end] += 1
        return end

    walk(tree, 0, False)
    return found


def n_wrong(truth: Tree, tree: Tree) -> int:
    a, b = constituents(truth), constituents(tree)
    return ((a - b) + (b - a)).total()


def score_of(structure: TreeStructure, nodes: Any, theta: np.ndarray, n: int, complete: bool = True) -> float:
    """Sum of potentials by the documented layout."""
    grammar = structure.grammar
    tags, chains, kinds = len(structure.tags), len(structure.chains), len(structure.span_symbols)
    shared = n * (tags + chains) + n * (n - 1) // 2 * kinds + 1
    total = 0.0
    for i, j, s, rule in nodes:
        symbol = grammar.symbols[s]
        if j - i == 1:
            chain, _, tag = symbol.rpartition("+")
            total += theta[i * tags + structure.tags.index(tag)]
            total += theta[n * tags + i * chains + structure.chains.index(chain)]
        else:
            row = n * (tags + chains) + span_index(i, j, n) * kinds
            total += theta[row + structure.span_symbols.index(symbol)] + theta[shared + rule]
    if complete:
        total += theta[shared + len(grammar.parent) + grammar.tops.tolist().index(nodes[0][2])]
    return float(total)


def decoded(structure: TreeStructure, encoded: Encoded, i: int, theta: np.ndarray) -> tuple[float, np.ndarray]:
    out = np.full(encoded.n_output, 77, np.int32)
    score = structure.decode(encoded.pack, i, theta, out)
    return float(score), out


def parts_of(structure: TreeStructure, encoded: Encoded, i: int, out: np.ndarray) -> np.ndarray:
    parts = np.full(encoded.n_parts, -1, np.int32)
    return parts[: structure.parts(encoded.pack, i, out, parts)]


@pytest.mark.parametrize("loss", LOSSES)
def test_every_function_against_all_trees(loss: str, rng: np.random.Generator) -> None:
    structure = structure_of(loss)
    encoded = structure.encode(SENTENCES, TREES)
    assert {"A+A", "S", "S|<>"} <= set(structure.span_symbols)
    assert structure.tags[0] == ""
    for i, truth in enumerate(TREES):
        n = len(SENTENCES[i])
        true = encoded.pack.target[encoded.pack.target_start[i] : encoded.pack.target_start[i + 1]].copy()
        assert structure.loss(encoded.pack, i, true) == 0.0
        assert structure.output(encoded, i, true) == truth
        for trial in range(6):
            theta = rng.normal(size=encoded.n_potentials)
            n_shared = len(structure.grammar.parent) + len(structure.grammar.tops)
            shared = n * (len(structure.tags) + len(structure.chains)) + n * (n - 1) // 2 * len(structure.span_symbols)
            theta[shared] = 0.0  # the truth has a potential without features
            theta[shared + 1 + n_shared :] = np.nan
            if trial % 2:
                theta[parts_of(structure, encoded, i, true)] += 1.0  # makes the truth the best tree, or nearly so
                theta[shared] = 0.0
            augmented = theta.copy()
            constant = structure.augment(encoded.pack, i, augmented)
            scores, losses = [], []
            for nodes in derivations(n):
                out = vector(nodes, n)
                parts = parts_of(structure, encoded, i, out)
                scores.append(score_of(structure, nodes, theta, n))
                assert theta[parts].sum() == pytest.approx(scores[-1], abs=1e-12)
                losses.append(structure.loss(encoded.pack, i, out))
                tree = structure.output(encoded, i, out)
                assert losses[-1] == (n_wrong(truth, tree) if loss == "constituents" else tree != truth)
                assert constant + (augmented - theta)[parts].sum() == pytest.approx(losses[-1])
            score, out = decoded(structure, encoded, i, theta)
            assert score == pytest.approx(max(scores))
            assert theta[parts_of(structure, encoded, i, out)].sum() == pytest.approx(score)
            score, out = decoded(structure, encoded, i, augmented)
            assert constant + score == pytest.approx((np.array(scores) + losses).max())
            assert augmented[parts_of(structure, encoded, i, out)].sum() == pytest.approx(score)


def test_zero_one_finds_the_second_best_tree_only_where_it_is_better() -> None:
    structure = structure_of("zero_one")
    encoded = structure.encode(SENTENCES, TREES)
    met = set()
    for i, bonus in itertools.product(range(len(TREES)), np.linspace(0.0, 1.0, 6)):
        theta = np.random.default_rng(i).normal(size=encoded.n_potentials)
        true = encoded.pack.target[encoded.pack.target_start[i] : encoded.pack.target_start[i + 1]].copy()
        truth = parts_of(structure, encoded, i, true)
        theta[truth] += bonus
        theta[truth[-1]] = 0.0
        plain = structure.loss(encoded.pack, i, decoded(structure, encoded, i, theta)[1])
        structure.augment(encoded.pack, i, theta)
        met.add((plain, structure.loss(encoded.pack, i, decoded(structure, encoded, i, theta)[1])))
    assert met == {(0.0, 0.0), (0.0, 1.0), (1.0, 1.0)}


def test_best_partial_analysis(rng: np.random.Generator) -> None:
    """Sentences outside the grammar: fewest fragments, best score among those."""
    trees = [parse_tree(text) for text in ("(ROOT (S (A a) (B b)))", "(ROOT (S (C c) (D d) (E e)))")]
    structure = TreeStructure.from_trees([tree.leaves() for tree in trees], trees)
    assert [len(structure.grammar.symbols), len(structure.grammar.parent)] == [7, 3]
    encoded = structure.encode([list("abab"), ["x"], ["a", "b"], list("abcde")])
    incomplete = 0
    for i, n in enumerate((4, 1, 2, 5)):
        theta = rng.normal(size=encoded.n_potentials)
        score, out = decoded(structure, encoded, i, theta)
        tree = structure.output(encoded, i, out)
        assert tree.label == "ROOT"
        assert tree.leaves() == encoded.extra["sentences"].words(i)
        assert theta[parts_of(structure, encoded, i, out)].sum() == pytest.approx(score)
        incomplete += not structure.complete(out)
        if n == 4:
            # the four words make two binary nodes, or three pieces of which one is S
            assert out[0] == 2
            best = -np.inf
            for cut in (1, 2, 3):
                for a, b in itertools.product(_pieces(structure, 0, cut), _pieces(structure, cut, 4)):
                    best = max(best, score_of(structure, (*a, *b), theta, 4, complete=False))
            assert score == pytest.approx(best)
    assert incomplete == 3  # alone "a b" is a sentence


def _pieces(structure: TreeStructure, i: int, j: int) -> list[Any]:
    g = structure.grammar
    if j - i == 1:
        return [((i, j, s, -1),) for s in g.lexical.tolist()]
    return [
        ((i, j, g.parent[r], r), *a, *b)
        for m in range(i + 1, j)
        for a, b in itertools.product(_pieces(structure, i, m), _pieces(structure, m, j))
        for r in range(len(g.parent))
        if a[0][2] == g.left[r] and b[0][2] == g.right[r]
    ]


def test_losses_of_partial_analyses(rng: np.random.Generator) -> None:
    for loss in LOSSES:
        structure = structure_of(loss)
        encoded = structure.encode(SENTENCES, TREES)
        for i, truth in enumerate(TREES):
            n = len(SENTENCES[i])
            for _ in range(10):
                # a bare word alone under the root would pass for a word with a tag
                symbols = rng.choice(structure.grammar.lexical[n == 1 :], n).tolist()
                out = vector([(t, t + 1, s, -1) for t, s in enumerate(symbols)], n, fragments=n)
                theta = rng.normal(size=encoded.n_potentials)
                augmented = theta.copy()
                constant = structure.augment(encoded.pack, i, augmented)
                wrong = structure.loss(encoded.pack, i, out)
                assert constant + (augmented - theta)[parts_of(structure, encoded, i, out)].sum() == pytest.approx(
                    wrong
                )
                assert wrong == (n_wrong(truth, structure.output(encoded, i, out)) if loss == "constituents" else 1.0)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_public_check_finds_no_fault(loss: Any) -> None:
    base = structure_of(loss)
    structure = Enumerated(base.grammar, base.span_features, loss=loss)
    report = check_structure(structure, SENTENCES[:4], TREES[:4], n_weights=2, max_outputs=3000)
    assert report.ok


# --- learning


def listed(structure: TreeStructure, X: list[Any], Y: list[Tree]) -> tuple[Listed, np.ndarray]:
    """All trees of all sentences, features added up node by node; columns that are 0 everywhere are left out."""
    words, spans = structure.span_features.encode(structure.encode(X).extra["sentences"])
    problem = Listed([], [], [])
    n_words, n_spans = structure.span_features.n_features
    for i, truth in enumerate(Y):
        n = len(X[i])
        phi = []
        for nodes in derivations(n):
            parts = structure.split(np.zeros(structure.encode(X).n_weights))
            for start, end, s, rule in nodes:
                symbol = structure.grammar.symbols[s]
                if end - start == 1:
                    chain, _, tag = symbol.rpartition("+")
                    row = words.start[i] + start
                    x = np.bincount(words.indices[words.indptr[row] : words.indptr[row + 1]], minlength=n_words)
                    parts.tags[:, structure.tags.index(tag)] += x
                    parts.chains[:, structure.chains.index(chain)] += x
                else:
                    row = spans.start[i] + span_index(start, end, n)
                    x = np.bincount(spans.indices[spans.indptr[row] : spans.indptr[row + 1]], minlength=n_spans)
                    parts.spans[:, structure.span_symbols.index(symbol)] += x
                    parts.rules[rule] += 1
            parts.tops[structure.grammar.tops.tolist().index(nodes[0][2])] += 1
            phi.append(np.concatenate([part.ravel() for part in parts]))
        trees = [structure.grammar.tree(np.array(nodes, np.int32), X[i]) for nodes in derivations(n)]
        problem.phi.append(np.array(phi))
        one = structure.loss_name == "zero_one"
        problem.loss.append(np.array([float(t != truth) if one else float(n_wrong(truth, t)) for t in trees]))
        problem.truth.append(trees.index(truth))
    kept = np.flatnonzero(np.vstack(problem.psi).any(0))
    problem.phi = [phi[:, kept] for phi in problem.phi]
    return problem, kept


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_the_optimum_is_that_of_a_general_solver(loss: Any, C: float) -> None:
    structure = structure_of(loss)
    X, Y = SENTENCES[:4], TREES[:4]
    problem, kept = listed(structure, X, Y)
    c = np.full(len(X), C)
    _, value = problem.optimum(c)
    oracle, _ = make_oracle(structure, X, Y)
    result = minimize(oracle, FrankWolfe(), C=C, tol=1e-6, max_passes=400, random_state=0)
    certificate = result.certificate
    assert certificate.relative_gap <= 1e-6
    assert problem.primal(result.w[kept], c) == pytest.approx(certificate.primal, rel=1e-9)
    assert certificate.dual <= value * (1 + 1e-7)
    assert certificate.primal >= value * (1 - 1e-7)
    assert certificate.training_risk == pytest.approx(problem.risks(result.w[kept]).mean())


def test_it_learns_its_training_trees() -> None:
    structure = structure_of()
    oracle, encoded = make_oracle(structure, SENTENCES, TREES)
    assert encoded is not None
    result = minimize(oracle, FrankWolfe(), C=100.0, tol=1e-3, max_passes=200, random_state=0)
    theta = np.empty(encoded.n_potentials)
    for i, tree in enumerate(TREES):
        structure.potentials(encoded.pack, result.w, i, theta)
        # the first and the last sentence are the same words
        out = decoded(structure, encoded, i, theta)[1]
        assert structure.output(encoded, i, out) == tree or i in (0, 5)


# --- saving, and what is refused


def test_a_structure_comes_back_from_its_state() -> None:
    structure = TreeStructure.from_trees([[("a", "x"), ("b", "y")]], TREES[:1], loss="zero_one", min_count=1)
    state = structure.state()
    arrays = {name for name, value in state.items() if isinstance(value, np.ndarray)}
    rest = json.loads(json.dumps({name: value for name, value in state.items() if name not in arrays}))
    again = TreeStructure.from_state({**{name: state[name] for name in arrays}, **rest})
    X = [[("b", "x"), ("a", "z"), ("b", "y")]]
    one, other = structure.encode(X), again.encode(X)
    for a, b in zip(one.pack, other.pack):
        assert np.array_equal(a, b)
    assert (again.loss_name, again.tags, again.span_symbols) == ("zero_one", structure.tags, structure.span_symbols)
    assert again.grammar.root == "ROOT"


def test_shared_labels_are_those_of_the_counts() -> None:
    chains = [["NP"], ["NP", "NP"], ["S", "NP", "S", "S"], ["S", "S"], [], ["VP", "NP", "NP", "NP"]]
    symbols = [*map(symbol_of, chains), "NP|<S>"]
    labels = [Counter(labels_of(symbol)) for symbol in symbols]
    found = _Labels(symbols)
    assert found.sizes.tolist() == [sum(a.values()) for a in labels]
    assert found.shared().tolist() == [[sum((a & b).values()) for b in labels] for a in labels]
    assert found.work == 7**2 + sum(
        sum(c.get(label, 0) >= k for c in labels) ** 2 for label in ("NP", "S", "VP") for k in (1, 2, 3)
    )


def many_symbols(n: int, labels: int = 1) -> dict[str, Any]:
    """The state of a structure of n symbols over several words, each a chain of so many labels above one of its own."""
    state = TreeStructure.from_trees([["a", "b"]], [parse_tree("(S (A a) (B b))")]).state()
    chain = ["X"] * (labels - 1)
    return state | {
        "symbols": [symbol_of([*chain, f"S{k}"]) for k in range(n)],
        "left": np.zeros(n, np.int32),
        "right": np.arange(n, dtype=np.int32),
        "parent": np.arange(n, dtype=np.int32),
        "lexical": np.zeros(1, np.int32),
        "tops": np.zeros(1, np.int32),
    }


def needed(state: dict[str, Any]) -> int:
    with pytest.raises(DataError, match=r"^1 weights; the grammar and the features need \d+$") as error:
        TreeStructure.from_state(state, n_weights=1)
    return int(str(error.value).rpartition(" ")[2])


@pytest.mark.parametrize(("n", "labels"), [(20_000, 1), (2000, 40)])
def test_a_state_of_very_many_symbols_is_refused_before_they_are_compared(
    n: int, labels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shared(self: Any) -> Any:
        raise AssertionError("compared")

    state = many_symbols(n, labels)
    monkeypatch.setattr(_Labels, "shared", shared)
    with pytest.raises(DataError, match=r"comparisons of symbols, too many for a grammar of \d+ weights"):
        TreeStructure.from_state(state, n_weights=needed(state))
    with pytest.raises(AssertionError, match="compared"):
        TreeStructure.from_state(many_symbols(n // 10, labels // 10 + 1))


def test_as_many_weights_as_a_treebank_has_allow_as_many_symbols() -> None:
    state = many_symbols(9000)
    state["view word"] = [f"w{k}" for k in range(2000)]
    state["view frequent"] = [f"w{k}" for k in range(2000)]
    structure = TreeStructure.from_state(state, n_weights=needed(state))
    assert len(structure.span_symbols) == 9000


def test_weights_by_name() -> None:
    structure = structure_of()
    encoded = structure.encode(SENTENCES, TREES)
    w = np.arange(encoded.n_weights, dtype=float)
    parts = structure.split(w)
    assert [part.shape[-1] for part in parts] == [
        len(structure.tags), len(structure.chains), len(structure.span_symbols), len(structure.grammar.parent),
        len(structure.grammar.tops),
    ]  # fmt: skip
    assert np.array_equal(np.concatenate([part.ravel() for part in parts]), w)
    assert all(np.shares_memory(part, w) for part in parts)


def test_columns_help_to_tell_words_apart() -> None:
    X = [[("x", "A"), ("x", "B")], [("x", "B"), ("x", "A")]]
    Y = [parse_tree("(S (A x) (B x))"), parse_tree("(S (B x) (A x))")]
    structure = TreeStructure.from_trees(X, Y)
    oracle, _ = make_oracle(structure, X, Y)
    assert minimize(oracle, FrankWolfe(), C=10.0, tol=1e-3, random_state=0).certificate.training_risk == 0.0


def test_no_sentences() -> None:
    encoded = structure_of().encode([], [])
    assert encoded.n_examples == 0
    assert encoded.extra["output_start"].tolist() == [0]


def test_trees_of_single_words_only() -> None:
    trees = [parse_tree("(ROOT (A a))"), parse_tree("(ROOT (B b))")]
    structure = TreeStructure.from_trees([["a"], ["b"]], trees)
    oracle, _ = make_oracle(structure, [["a"], ["b"]], trees)
    result = minimize(oracle, FrankWolfe(), C=10.0, tol=1e-3, random_state=0)
    assert result.certificate.training_risk == 0.0
    encoded = structure.encode([["a", "b"]])
    theta = np.empty(encoded.n_potentials)
    structure.potentials(encoded.pack, result.w, 0, theta)
    _, out = decoded(structure, encoded, 0, theta)
    assert not structure.complete(out)
    assert structure.output(encoded, 0, out).leaves() == ["a", "b"]


@pytest.mark.parametrize(
    ("X", "Y", "what"),
    [
        ([["a", "b"], []], TREES[:2], "sentence 1 has no words"),
        ([["a", "b"], ["b", "b", "b"]], TREES[:2], "tree 1 has other words than sentence 1: 'a b' for 'b b' at word 1"),
        ([["a", "b"], ["b", "a"]], TREES[:2], "tree 1 has other words"),
        ([["a", "b"]], TREES[:2], "1 sentences but 2 trees"),
        ([["a", "b"]], [parse_tree("(ROOT (S (A a) (Q b)))")], "tree 0 is outside the grammar"),
        ([["a"]], [parse_tree("(ROOT (-NONE- *))")], "tree 0 has no words"),
    ],
)
def test_what_does_not_fit_is_refused(X: Any, Y: Any, what: str) -> None:
    with pytest.raises(DataError, match=what):
        structure_of().encode(X, Y)


def test_an_unknown_loss_is_refused() -> None:
    with pytest.raises(DataError, match="loss must be one of"):
        TreeStructure.from_trees(SENTENCES, TREES, loss="f1")  # type: ignore[arg-type]
