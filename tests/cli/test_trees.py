"""Trees on the command line: with the estimator, and with a stand-in that shows what an estimator has to offer."""

from __future__ import annotations

import gzip
import io
import json
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maxmargin import TreeSVM, load_model
from maxmargin._estimator import MarginEstimator
from maxmargin.cli.inputs import Input, recognise
from maxmargin.cli.messages import UsageError
from maxmargin.data import Tree, parse_tree, read_trees
from maxmargin.errors import DataError
from maxmargin.metrics import bracket_scores
from maxmargin.problem import Certificate
from maxmargin.status import Status

Run = Callable[..., Any]

TREES = "(S (NP (DT the) (NN cat)) (VP (VBZ sits)))\n(S (NP (NNS dogs)) (VP (VBP bark)))\n"


class StandIn(MarginEstimator):
    """Knows the sentences that it has seen; all others are flat."""

    def __init__(
        self, C: float = 1.0, *, tol: float = 1e-2, max_passes: int = 10, max_time: float | None = None,
        solver: str = "auto", n_jobs: int | None = None, random_state: int | None = None, verbose: int = 0,
        warm_start: bool = False, callback: Any = None,
    ) -> None:  # fmt: skip
        self.C, self.tol, self.max_passes, self.max_time, self.solver = C, tol, max_passes, max_time, solver
        self.n_jobs, self.random_state, self.verbose = n_jobs, random_state, verbose
        self.warm_start, self.callback = warm_start, callback

    def fit(self, X: list[list[str]], y: list[Tree], sample_weight: Any = None) -> StandIn:
        assert [tree.leaves() for tree in y] == X
        self._from_parts({"trees": [str(tree) for tree in y], "coef": np.zeros(3)})
        self.certificate_ = Certificate(1.0, 1.0, 0.5, 0.0, 1, 2, 0.1, self.C, len(y), "none", Status.CONVERGED)
        self.history_ = []
        return self

    def predict(self, X: list[list[str]]) -> list[Tree]:
        return [self.known.get(tuple(words), Tree("X", tuple(words))) for words in X]

    def _to_parts(self) -> dict[str, Any]:
        return {"trees": self.trees_, "coef": self.coef_}

    def _from_parts(self, parts: dict[str, Any]) -> None:
        self.trees_, self.coef_ = parts["trees"], parts["coef"]
        self.known = {tuple(tree.leaves()): tree for tree in map(parse_tree, self.trees_)}


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in takes the place of the estimator."""
    module: Any = types.ModuleType("maxmargin.tree")
    module.TreeSVM = type("TreeSVM", (StandIn,), {"__module__": "maxmargin.tree", "__init__": StandIn.__init__})
    monkeypatch.setattr("maxmargin.TreeSVM", module.TreeSVM)
    monkeypatch.setitem(sys.modules, "maxmargin.tree", module)


@pytest.fixture
def trees(folder: Path) -> str:
    """A small treebank."""
    (folder / "train.mrg").write_text(TREES)
    return "train.mrg"


def there_and_back(run: Run, ok: Run, trees: str) -> None:
    """Train, predict from trees and from sentences, evaluate, start from a model."""
    outcome = run("train", trees, "-o", "m", "-C", "10")
    assert outcome.status == 0
    assert "maxmargin: train.mrg: brackets (by its name), task tree\n" in outcome.err
    assert ok("predict", "m", trees).out == TREES
    spaced = ok("predict", "m", "-", stdin="the cat sits\n\n dogs  bark \n")
    assert spaced.out == TREES
    assert "<stdin>: 1 empty line left out: no line of the answer is for one" in spaced.err
    found = ok("predict", "m", "-", "--unlabelled", stdin="dogs bark\n").out
    assert found == TREES.splitlines()[1] + "\n"
    expected = bracket_scores(read_trees(trees), read_trees(trees)).table(10**6) + "\n"
    assert ok("evaluate", "m", trees).out == expected
    assert run("evaluate", "m", "-", stdin="dogs bark\n").error == "<stdin>: has no labels to compare with"
    ok("train", trees, "-o", "m2", "--warm-start", "m", "--test", trees)


@pytest.mark.usefixtures("stand_in")
def test_an_estimator_slots_in(run: Run, ok: Run, trees: str) -> None:
    there_and_back(run, ok, trees)
    assert ok("predict", "m", "-", stdin="dogs sit\n").out == "(X dogs sit)\n"


def test_the_tree_estimator(run: Run, ok: Run, trees: str) -> None:
    there_and_back(run, ok, trees)


@pytest.mark.usefixtures("stand_in")
def test_faults_in_trees(run: Run, ok: Run, trees: str) -> None:
    ok("train", trees, "-o", "m")
    for text, message in (
        ("(S (NP a))\n(S b", "<stdin>:2: this bracket is never closed: '(S'"),
        ("(S (NP a)) b\n", "<stdin>: has no labels"),  # a sentence of odd words
    ):
        outcome = run("evaluate", "m", "-", stdin=text)
        assert outcome.status == 2
        assert outcome.error.startswith(message)
    outcome = run("train", "-", "-o", "m", "--format", "brackets", "-q", stdin="(S (NP a)) b\n")
    assert outcome.error == "<stdin>:1: text outside of brackets: 'b'"


# functional tags, an index and empty elements; what is left of the first is the first of TREES
ANNOTATED = """\
(S (NP-SBJ=1 (DT the) (NN cat)) (VP-PRD (VBZ sits) (NP (-NONE- *T*))))
(S (NP-SBJ-2 (NNS dogs)) (VP (VBP bark)))
"""


def test_trees_are_evaluated_as_they_are_learned(run: Run, ok: Run, folder: Path) -> None:
    Path("annotated.mrg").write_text(ANNOTATED)
    ok("train", "annotated.mrg", "-o", "m", "-C", "10")
    assert ok("predict", "m", "annotated.mrg").out == TREES
    plain = read_trees(io.BytesIO(TREES.encode()))
    expected = bracket_scores(plain, plain).table(10**6) + "\n"
    assert ok("evaluate", "m", "annotated.mrg").out == expected
    assert ok("evaluate", "--predictions", "-", "annotated.mrg", stdin=TREES).out == expected
    # the annotated trees as they stand do not have the words of the others
    with pytest.raises(DataError, match="tree 0: the true tree has 4 words, the predicted one 3"):
        bracket_scores(read_trees("annotated.mrg"), plain)


def test_trees_without_words_are_named(run: Run, ok: Run, trees: str) -> None:
    ok("train", trees, "-o", "m")
    Path("empty.mrg").write_text(TREES + "\n(S\n  (NP-SBJ (-NONE- *)))\n")  # the number is that of its first line
    for argv in (("train", "empty.mrg", "-o", "m2", "-q"), ("evaluate", "m", "empty.mrg")):
        outcome = run(*argv)
        assert outcome.status == 2
        assert outcome.error == "empty.mrg:4: the tree has no words: '(S (NP-SBJ (-NONE- *)))'"


def test_sentences_outside_the_grammar_are_told_of(run: Run, ok: Run) -> None:
    Path("t.mrg").write_text("(X (UH oh))\n(Y (UH ah))\n")
    ok("train", "t.mrg", "-o", "m", "-q")
    told = "1 of 2 sentences outside the grammar, the first is sentence 2: best partial analyses"
    outcome = ok("predict", "m", "-", stdin="oh\noh ah\n")
    assert outcome.out.splitlines()[1].startswith("(ROOT ")
    assert f"<stdin>: {told}" in outcome.err
    assert "outside the grammar" not in ok("predict", "m", "-", stdin="oh\n").err
    Path("more.mrg").write_text("(X (UH oh))\n(X (UH oh) (UH ah))\n")
    assert f"more.mrg: {told}" in ok("evaluate", "m", "more.mrg").err


def test_a_score_is_that_of_cleaned_trees() -> None:
    annotated = read_trees(io.BytesIO(ANNOTATED.encode()))
    X = [["the", "cat", "sits"], ["dogs", "bark"]]
    model = TreeSVM(C=10.0, random_state=0).fit(X, annotated)
    assert model.score(X, annotated) == 1.0
    assert model.set_params(functions=True, empty=True).score(X, annotated) == 1.0  # the grammar is still the old one
    with pytest.raises(DataError, match="^tree 1 has no words: "):
        model.score(X, [annotated[0], parse_tree("(S (NP (-NONE- *)))")])


LONG = "un" + 30 * "believable"
# nodes of three children, chains over one word and over several, a bare word, and a word longer than a line
ODD = f"""\
(S (NP (DT the) (JJ {LONG}) (NN cat)) (VP (VBZ sits) here))
(X (S (NP (DT a) (NN dog)) (VP (VBP bark))))
(S (NP (NNS dogs)) (VP (VBP bark) (ADVP (RB so))))
"""


@pytest.fixture
def odd_model(ok: Run, folder: Path) -> Any:
    """The model of odd trees, which is the file ``m``."""
    Path("odd.mrg").write_text(ODD)
    ok("train", "odd.mrg", "-o", "m", "-C", "10")
    return load_model("m")


def fitting(name: str) -> str:
    return name if len(name) <= 65 else name[:62] + "..."


def test_inspect_as_json(ok: Run, odd_model: Any) -> None:
    found = json.loads(ok("inspect", "m", "--json", "--top", "3").out)
    structure = odd_model.structure_
    weights = structure.split(odd_model.coef_)
    assert (found["task"], found["estimator"], found["parameters"]["C"]) == ("tree", "TreeSVM", 10)
    assert sorted(found["labels"]) == ["(bare word)", "DT", "JJ", "NN", "NNS", "RB", "VBP", "VBZ"]
    assert sorted(found["span_symbols"]) == ["NP", "NP|<JJ>", "S", "VP", "X+S"]
    # by hand; over words: the tags but RB and NNS, NP+NNS, ADVP+RB, VP+VBP, and nothing; at the top: S and X+S
    assert found["grammar"] == {"symbols": 14, "rules": 8, "lexical": 9, "tops": 2}
    assert found["nonzero_weights"] == np.count_nonzero(odd_model.coef_)
    words, spans = structure.span_features.names()
    assert found["features"] == len(words) + len(spans)

    columns = {f"tag {label}": (words, weights.tags[:, k]) for k, label in enumerate(found["labels"])}
    for symbol in ("NP", "S", "VP"):  # one label over several words
        columns[f"span {symbol}"] = spans, weights.spans[:, structure.span_symbols.index(symbol)]
    entries = found["strongest_features"]
    assert [entry["label"] for entry in entries] == list(columns)
    assert any(entry["features"] for entry in entries)
    for entry in entries:
        names, column = columns[entry["label"]]
        assert [abs(weight) for _, weight in entry["features"]] == sorted(np.abs(column[column != 0]))[::-1][:3]
        for name, weight in entry["features"]:
            assert weight in [value for known, value in zip(names, column, strict=True) if fitting(known) == name]

    grammar = structure.grammar
    sides = [
        [grammar.symbols[s] or "(bare word)" for s in side] for side in (grammar.parent, grammar.left, grammar.right)
    ]
    weight_of = dict(zip(zip(*sides, strict=True), weights.rules, strict=True))
    assert len(weight_of) == 8
    strongest_rules = [tuple(rule) for *rule, _ in found["strongest_rules"]]
    assert [weight_of[rule] for rule in strongest_rules] == [weight for *_, weight in found["strongest_rules"]]
    nonzero = sorted(abs(weight) for weight in weight_of.values() if weight)
    assert [abs(weight) for *_, weight in found["strongest_rules"]] == nonzero[::-1][:6]


def test_inspect_for_people(ok: Run, odd_model: Any) -> None:
    lines = ok("inspect", "m", "--top", "50").out.splitlines()
    assert lines[0].startswith("m: TreeSVM (")
    assert lines[0].endswith("), task tree")
    assert lines[2].startswith("labels      8: ")
    assert "grammar     14 symbols  8 rules  9 lexical  2 tops" in lines
    tables = lines[lines.index("") :]
    assert max(map(len, tables)) == 79  # the long word is cut to fit
    assert any("unbelievable" in line and line.endswith("...") for line in tables)
    assert "tag VBP" in tables
    assert "span VP" in tables
    rules = tables[tables.index("strongest rules") + 1 :]
    assert len(rules) == np.count_nonzero(odd_model.structure_.split(odd_model.coef_).rules)
    assert all(" -> " in line for line in rules)
    assert len(ok("inspect", "m", "--top", "0").out.splitlines()) == lines.index("")


def test_inspect_a_grammar_without_rules(ok: Run, folder: Path) -> None:
    ok("train", "-", "--format", "brackets", "-o", "m", stdin="(A a)\n(B b)\n")
    found = json.loads(ok("inspect", "m", "--json").out)
    assert found["grammar"] == {"symbols": 2, "rules": 0, "lexical": 2, "tops": 2}
    assert (found["span_symbols"], found["strongest_rules"]) == ([], [])
    assert "\ntag A\n" in ok("inspect", "m").out


@pytest.mark.parametrize(
    ("name", "text", "format", "how"),
    [
        ("x.svm", "1 1;2 3;4\n-1 2;2 5;1\n", "svmlight", "by its name"),
        ("x.libsvm.gz", "1 1;2 3;4\n-1 2;2 5;1\n", "svmlight", "by its name"),
        ("x.mrg", "the cat\na dog\n", "brackets", "by its name"),
        # names that say nothing, or that columns have as well
        ("x.txt", "1 1;2 3;4\n-1 2;2 5;1\n", "columns", "by its first lines"),
        ("x.dat", "the DT\na DT\n", "columns", "by its first lines"),
        ("x.dat.gz", "the DT\na DT\n", "columns", "by its first lines"),
        # what looks like trees is no vague guess
        ("x.svm", TREES, "brackets", "by its first lines"),
    ],
)
def test_a_name_outweighs_a_vague_guess_of_columns(name: str, text: str, format: str, how: str, folder: Path) -> None:
    data = text.encode()
    Path(name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert recognise(Input(name), None, None)[::2] == (format, how)


def test_a_fault_is_told_as_one_of_the_format_that_is_named(run: Run, folder: Path) -> None:
    for name, text, message in (
        ("x.svm", "1 1;2 3;4\n-1 2;2 5;1\n", "x.svm:1: "),
        ("x.mrg", "the cat\na dog\n", "x.mrg:1: text outside of brackets: 'the'"),
    ):
        Path(name).write_text(text)
        outcome = run("train", name, "-o", "m", "-q")
        assert outcome.status == 2
        assert outcome.error.startswith(message)
        assert "column" not in outcome.error
    Path("x.svm").write_text("the DT\na DT\n")
    with pytest.raises(UsageError, match="looks like columns, but --task tree"):
        recognise(Input("x.svm"), None, "tree")


def test_brackets_in_a_sentence_are_spelt_as_treebanks_do(ok: Run, folder: Path) -> None:
    (folder / "t.mrg").write_text("(S (A a) (B b))\n(S (A a) (B c))\n")
    ok("train", "t.mrg", "-o", "m")
    written = ok("predict", "m", "-", stdin="a (b)\n").out
    assert written == "(S (A a) (B -LRB-b-RRB-))\n"
    assert [tree.leaves() for tree in read_trees(io.StringIO(written))] == [["a", "-LRB-b-RRB-"]]
    Path("gold.mrg").write_text("(S (A a) (B -LRB-b-RRB-))\n")
    assert ok("evaluate", "m", "gold.mrg").out == ok("evaluate", "--predictions", "-", "gold.mrg", stdin=written).out
    blanks = "a\u00a0b c\n"  # a no-break space belongs to its word, in trees as in sentences
    (tree,) = read_trees(io.StringIO(ok("predict", "m", "-", stdin=blanks).out))
    assert tree.leaves() == ["a\u00a0b", "c"]


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TREES.replace("sits)))", "sits))))"), "1: a closing bracket without an opening one: ')'"),
        (TREES + "a line of text\n", "3: text outside of brackets: 'a'"),
        ("a line of text\n" + TREES, "1: text outside of brackets: 'a'"),
        (")\n" + TREES, "1: a closing bracket without an opening one: ')'"),
    ],
)
def test_damaged_trees_are_no_sentences(run: Run, ok: Run, trees: str, text: str, message: str) -> None:
    ok("train", trees, "-o", "m")
    Path("damaged.mrg").write_text(text)
    for command in ("predict", "evaluate"):
        for options in ([], ["--format", "brackets"]):
            outcome = run(command, "m", "damaged.mrg", *options)
            assert (outcome.status, outcome.out) == (2, "")
            assert outcome.error == f"damaged.mrg:{message}"
    sentences = "(see (1)) dogs bark\n(Smith (and Jones) wrote) this\nthe cat\n"
    assert ok("predict", "m", "-", stdin=sentences).out.count("\n") == 3
