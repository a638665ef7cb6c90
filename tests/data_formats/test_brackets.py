"""Trees and their bracketed files."""

from __future__ import annotations

import copy
import io
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.data import Tree, parse_tree, read_trees, write_trees
from maxmargin.errors import DataError, FileFormatError

CAT = Tree("S", (Tree("NP", (Tree("DT", ("the",)), Tree("NN", ("cat",)))), Tree("VP", (Tree("VBZ", ("sits",)),))))

TEXTS = st.text(
    st.characters(exclude_characters="() \t\n\r\x0b\x0c", exclude_categories=["Cs"]), min_size=1, max_size=3
)
TREES = st.recursive(
    st.builds(Tree, TEXTS, st.tuples(TEXTS)),
    lambda trees: st.builds(Tree, TEXTS, st.lists(trees | TEXTS, min_size=1, max_size=3).map(tuple)),
    max_leaves=8,
)


def read(text: str) -> list[Tree]:
    return read_trees(io.StringIO(text, newline=""))


def test_a_tree_and_what_it_says() -> None:
    tree = parse_tree("(S (NP (DT the) (NN cat))\n (VP(VBZ sits)))")
    assert tree == CAT
    assert hash(tree) == hash(CAT)
    assert str(tree) == "(S (NP (DT the) (NN cat)) (VP (VBZ sits)))"
    assert tree.leaves() == ["the", "cat", "sits"]
    assert tree.tagged_words() == [("the", "DT"), ("cat", "NN"), ("sits", "VBZ")]
    assert tree.spans() == [("S", 0, 3), ("NP", 0, 2), ("VP", 2, 3)]
    assert tree.spans(preterminals=True) == [
        *(("S", 0, 3), ("NP", 0, 2), ("DT", 0, 1), ("NN", 1, 2), ("VP", 2, 3), ("VBZ", 2, 3))
    ]
    assert [node.label for node in tree.subtrees()] == ["S", "NP", "DT", "NN", "VP", "VBZ"]
    assert parse_tree("(X (A a) b (B c))").tagged_words() == [("a", "A"), ("b", "X"), ("c", "B")]
    assert Tree("NP", ["a", "b"]) == Tree("NP", ("a", "b"))  # type: ignore[arg-type]
    assert parse_tree("(NP a b)").spans() == [("NP", 0, 2)]


def test_trees_differ_by_label_shape_and_words() -> None:
    different = ["(S (A a) (B b))", "(S (A a b))", "(S (A a) b)", "(S a b)", "(S (A (A a)) (B b))", "(T (A a) (B b))"]
    trees = [parse_tree(text) for text in different]
    assert len(set(trees)) == len(trees)
    assert trees[0] != "(S (A a) (B b))"


def test_trees_cannot_be_changed_or_be_nonsense() -> None:
    with pytest.raises(AttributeError):
        CAT.label = "X"  # type: ignore[misc]
    with pytest.raises(DataError, match="no children"):
        Tree("NP", ())
    with pytest.raises(TypeError, match="int"):
        Tree("NP", (3,))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="label"):
        Tree(None, ("a",))  # type: ignore[arg-type]


def test_roots_without_label_and_trees_over_lines() -> None:
    text = "\n( (S\n\t(NP *con*)\r\n (VP (V ä-b))) (ID 3,.1))\n\n(NN x) (NN y)\n((S (X z)))"
    trees = read(text)
    assert [str(tree) for tree in trees] == [
        "( (S (NP *con*) (VP (V ä-b))) (ID 3,.1))",
        "(NN x)",
        "(NN y)",
        "( (S (X z)))",
    ]
    assert [tree.label for tree in trees] == ["", "NN", "NN", ""]
    assert read("") == []


@pytest.mark.parametrize(
    ("text", "line", "token", "problem"),
    [
        ("(S (A a)\n\n", 1, "(S", "never closed"),
        ("(A a)\n(", 2, "(", "never closed"),
        ("(A a))\n", 1, ")", "without an opening"),
        ("\nword (A a)", 2, "word", "outside"),
        ("(A a) b", 1, "b", "outside"),
        ("(A)", 1, "(A)", "nothing under"),
        ("(S (A a)\n())", 2, "()", "nothing under"),
    ],
)
def test_a_malformed_tree_is_named(text: str, line: int, token: str, problem: str) -> None:
    with pytest.raises(FileFormatError, match=problem) as caught:
        read(text)
    assert (caught.value.line, caught.value.token) == (line, token)


def test_one_tree_is_one_tree() -> None:
    for text, problem in (("", "no tree"), ("(A a) (B b)", "second tree"), ("(A a", "never closed")):
        with pytest.raises(FileFormatError, match=problem):
            parse_tree(text)


@given(st.lists(TREES, max_size=3))
def test_what_is_written_is_read_back(trees: list[Tree]) -> None:
    target = io.BytesIO()
    write_trees(target, trees)
    target.seek(0)
    assert read_trees(target) == trees
    for tree in trees:
        assert pickle.loads(pickle.dumps(tree)) == tree
        assert len(tree.tagged_words()) == len(tree.leaves())
        assert tree.spans(preterminals=True)[0] == (tree.label, 0, len(tree.leaves()))


def spans_by_recursion(tree: Tree, start: int = 0) -> list[tuple[str, int, int]]:
    below, stop = [], start
    for child in tree.children:
        if isinstance(child, Tree):
            below += spans_by_recursion(child, stop)
        stop += len(child.leaves()) if isinstance(child, Tree) else 1
    return [(tree.label, start, stop), *below]


@given(TREES)
def test_spans_are_those_of_the_definition(tree: Tree) -> None:
    assert tree.spans(preterminals=True) == spans_by_recursion(tree)
    inner = [node.label for node in tree.subtrees() if not node.is_preterminal]
    assert [label for label, _, _ in tree.spans()] == inner


def test_very_deep_trees() -> None:
    depth = 50_000
    tree = parse_tree("(X " * depth + "a" + ")" * depth)
    same = Tree("X", ("a",))
    for _ in range(depth - 1):
        same = Tree("X", (same,))
    assert tree == same
    assert hash(tree) == hash(same)
    assert tree.leaves() == ["a"]
    assert len(tree.spans()) == depth - 1
    assert parse_tree(str(tree)) == tree
    assert pickle.loads(pickle.dumps(tree)) == copy.deepcopy(tree) == copy.copy(tree)
    assert len(repr(tree)) > depth


def test_what_cannot_be_written(tmp_path: Path) -> None:
    for tree, problem in (
        (Tree("A", ("(",)), "'\\('"),
        (Tree("A", ("a b",)), "'a b'"),
        (Tree("A", ("",)), "''"),
        (Tree("A B", ("a",)), "'A B'"),
        (Tree("", ("a", Tree("B", ("b",)))), "empty label"),
    ):
        with pytest.raises(DataError, match=f"tree 1: .*{problem}"):
            write_trees(tmp_path / "out", [CAT, tree])
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=150)
@given(st.one_of(st.binary(max_size=40), st.text(max_size=40), st.text("()AB \n", max_size=40)))
def test_any_text_is_read_or_refused(text: str | bytes) -> None:
    source: Any = io.BytesIO(text) if isinstance(text, bytes) else io.StringIO(text, newline="")
    try:
        trees = read_trees(source)
    except FileFormatError:
        return
    assert read("".join(map(str, trees))) == trees


@pytest.mark.parametrize(
    ("name", "n_trees", "n_words"),
    [("gum_constituency/test.mrg.gz", 344, 7175), ("icepahc_modern/2008.ofsi.nar-sag.psd.gz", 1210, None)],
)
def test_real_treebanks(data_folder: Path, name: str, n_trees: int, n_words: int | None) -> None:
    trees = read_trees(data_folder / name)
    assert len(trees) == n_trees
    assert n_words in (None, sum(len(tree.leaves()) for tree in trees))
    assert read("\n".join(map(str, trees))) == trees
