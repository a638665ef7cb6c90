"""Grammars read off trees: cleaning, unary chains folded into symbols, binary nodes, and the way back.

A *binary tree* is a :class:`~maxmargin.data.brackets.Tree` each of whose nodes has two subtrees or one word; its labels
are *symbols*. A symbol is

* a chain of labels, from the top down, joined by ``+``: ``S+VP`` is an S whose only child is that VP, ``NP+NN`` over a
  word is an NP of one noun. The chain without labels (the empty symbol) is a word that stands beside subtrees;
* or an intermediate symbol ``NP|<DT,JJ>``: some of the children of an NP, with the labels next to the cut.

``+``, ``|`` and backslashes in labels are escaped by a backslash, an empty label is written ``\\0``, so that every tree
comes back from its binary tree unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..data.brackets import Tree
from ..decoders.cky import order_rules
from ..errors import DataError

__all__ = ["Grammar", "binarize", "clean", "cleaned", "is_intermediate", "labels_of", "symbol_of"]

Factor = Literal["right", "left"]

_INTERMEDIATE = re.compile(r"(?:[^\\|]|\\.)*\|", re.DOTALL)
_FUNCTIONS = re.compile(r"\A([^-].*?)[-=].*", re.DOTALL)
_CHAIN_LABEL = re.compile(r"(?:[^\\+]|\\.)+", re.DOTALL)


def _escaped(label: str) -> str:
    return re.sub(r"[\\+|]", r"\\\g<0>", label) if label else r"\0"


def symbol_of(labels: Iterable[str]) -> str:
    """The symbol of a chain of labels, from the top down."""
    return "+".join(map(_escaped, labels))


def labels_of(symbol: str) -> list[str]:
    """The labels of a symbol, from the top down; none for an intermediate one and for a bare word."""
    if is_intermediate(symbol):
        return []
    parts = _CHAIN_LABEL.findall(symbol)
    return ["" if part == r"\0" else re.sub(r"\\(.)", r"\1", part, flags=re.DOTALL) for part in parts]


def is_intermediate(symbol: str) -> bool:
    """Whether a symbol stands for some of the children of a node."""
    return _INTERMEDIATE.match(symbol) is not None


def _bottom_up(tree: Tree) -> list[Tree]:
    """All nodes, children before parents, from right to left: the subtrees of a node end what was done before it."""
    return list(tree.subtrees())[::-1]


def clean(tree: Tree, *, functions: bool = False, empty: bool = False) -> Tree | None:
    """A tree without functional tags and empty elements.

    Parameters
    ----------
    tree : Tree
    functions : bool
        Keep functional tags and indices, as in ``NP-SBJ`` and ``NP=2``. A dash in front (``-LRB-``) is no such tag.
    empty : bool
        Keep empty elements (label ``-NONE-``), and what covers nothing else.

    Returns
    -------
    Tree or None
        None when nothing is left.
    """
    done: list[Tree | None] = []
    for node in _bottom_up(tree):
        children = [child if isinstance(child, str) else done.pop() for child in node.children]
        kept = [] if node.label == "-NONE-" and not empty else [child for child in children if child is not None]
        label = node.label if functions else _FUNCTIONS.sub(r"\1", node.label)
        done.append(Tree(label, tuple(kept)) if kept else None)
    return done[0]


def cleaned(tree: Tree, index: int = 0, *, functions: bool = False, empty: bool = False) -> Tree:
    """:func:`clean` for trees that must have words.

    Raises
    ------
    DataError
        When nothing is left; ``index`` says which tree it is.
    """
    found = clean(tree, functions=functions, empty=empty)
    if found is None:
        raise DataError(f"tree {index} has no words: {tree}")
    return found


def binarize(tree: Tree, *, horizontal: int = 1, factor: Factor = "right") -> Tree:
    """The binary tree of any tree.

    Parameters
    ----------
    tree : Tree
    horizontal : int
        How many labels next to the cut an intermediate symbol remembers (the Markov order along the children).
    factor : {"right", "left"}
        Whether the children are split off from the left (the intermediate symbols cover the last ones) or the right.
    """
    # of each node done: labels of its chain, from the bottom up, and what is below the chain
    done: list[tuple[list[str], tuple[Tree | str, ...]]] = []
    for node in _bottom_up(tree):
        if node.is_preterminal:
            done.append(([node.label], node.children))
        elif len(node.children) == 1:
            done[-1][0].append(node.label)
        else:
            below = [([], (child,)) if isinstance(child, str) else done.pop() for child in node.children]
            children = [Tree(symbol_of(labels[::-1]), rest) for labels, rest in below]
            tops = [_escaped(labels[-1]) if labels else "" for labels, _ in below]
            done.append(([node.label], _two(children, tops, _escaped(node.label), horizontal, factor)))
    labels, rest = done[0]
    return Tree(symbol_of(labels[::-1]), rest)


def _two(children: list[Tree], tops: list[str], label: str, horizontal: int, factor: Factor) -> tuple[Tree, Tree]:
    """Two nodes for all children of a node."""

    def memory(lo: int, hi: int) -> str:
        return f"{label}|<{','.join(tops[lo:hi])}>"

    n = len(children)
    if factor == "right":
        node = children[-1]
        for k in range(n - 2, 0, -1):
            node = Tree(memory(k, min(k + horizontal, n)), (children[k], node))
        return children[0], node
    node = children[0]
    for k in range(1, n - 1):
        node = Tree(memory(max(k + 1 - horizontal, 0), k + 1), (node, children[k]))
    return node, children[-1]


def unfold(tree: Tree) -> list[Tree | str]:
    """What a binary tree stands for: one tree, or the children that an intermediate symbol covers."""
    done: list[list[Tree | str]] = []
    for node in _bottom_up(tree):
        content: list[Tree | str] = []
        for child in node.children:
            content += [child] if isinstance(child, str) else done.pop()
        for label in reversed(labels_of(node.label)):
            content = [Tree(label, tuple(content))]
        done.append(content)
    return done[0]


@dataclass(frozen=True, eq=False)
class Grammar:
    """Symbols and rules of binary trees, and the options with which trees become binary.

    Attributes
    ----------
    symbols : tuple of str
        Sorted; a symbol's number is its position.
    left, right, parent : int32 arrays of shape (n_rules,)
        Rule ``r`` rewrites ``parent[r]`` as ``left[r] right[r]``; in the order of
        :func:`~maxmargin.decoders.cky.order_rules`.
    lexical, tops : int32 arrays
        Symbols that may cover a single word, and those that may stand at the top.
    root : str or None
        Label above every sentence (``ROOT``), which is taken off and put back.
    horizontal, factor, functions, empty
        See :func:`binarize` and :func:`clean`.
    """

    symbols: tuple[str, ...]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    parent: NDArray[np.int32]
    lexical: NDArray[np.int32]
    tops: NDArray[np.int32]
    root: str | None = None
    horizontal: int = 1
    factor: Factor = "right"
    functions: bool = False
    empty: bool = False

    @classmethod
    def from_trees(
        cls,
        trees: Sequence[Tree],
        *,
        horizontal: int = 1,
        factor: Factor = "right",
        functions: bool = False,
        empty: bool = False,
    ) -> Grammar:
        """Read the grammar off trees.

        Raises
        ------
        DataError
            For an option without meaning, no trees, or a tree without words (with its index).
        """
        _check_options(horizontal, factor)
        if not len(trees):
            raise DataError("no trees to read a grammar off")
        nothing = np.zeros(0, np.int32)
        trees = [cleaned(tree, i, functions=functions, empty=empty) for i, tree in enumerate(trees)]
        plain = cls(
            (), nothing, nothing, nothing, nothing, nothing, _root_of(trees), horizontal, factor, functions, empty
        )
        rules: set[tuple[str, ...]] = set()
        words: set[str] = set()
        tops: set[str] = set()
        for tree in trees:
            top = plain._binary(tree)
            tops.add(top.label)
            for node in top.subtrees():
                if node.is_preterminal:
                    words.add(node.label)
                else:
                    rules.add((*(child.label for child in node.children if isinstance(child, Tree)), node.label))
        symbols = tuple(sorted(words.union(*rules)))
        number = {symbol: k for k, symbol in enumerate(symbols)}
        numbers = np.array([[number[symbol] for symbol in rule] for rule in sorted(rules)], np.int32).reshape(-1, 3)
        numbers = numbers[order_rules(numbers[:, 0], numbers[:, 1], len(symbols))[0]]
        return replace(
            plain,
            symbols=symbols,
            left=numbers[:, 0].copy(),
            right=numbers[:, 1].copy(),
            parent=numbers[:, 2].copy(),
            lexical=np.array([number[symbol] for symbol in sorted(words)], np.int32),
            tops=np.array([number[symbol] for symbol in sorted(tops)], np.int32),
        )

    @cached_property
    def rule_start(self) -> NDArray[np.int64]:
        """The rules with left child ``s`` are ``rule_start[s]:rule_start[s + 1]``."""
        return order_rules(self.left, self.right, len(self.symbols))[1]

    @cached_property
    def _sets(self) -> tuple[frozenset[int], frozenset[int]]:
        return frozenset(self.lexical.tolist()), frozenset(self.tops.tolist())

    @cached_property
    def _number(self) -> dict[str, int]:
        return {symbol: k for k, symbol in enumerate(self.symbols)}

    @cached_property
    def _rule(self) -> dict[tuple[int, int, int], int]:
        rules = zip(self.left.tolist(), self.right.tolist(), self.parent.tolist(), strict=True)
        return {rule: r for r, rule in enumerate(rules)}

    def binary(self, tree: Tree, index: int = 0) -> Tree:
        """Clean a tree, take off the root's label and make the rest binary.

        Raises
        ------
        DataError
            When the tree has no words; ``index`` says which tree it is.
        """
        return self._binary(cleaned(tree, index, functions=self.functions, empty=self.empty))

    def _binary(self, tree: Tree) -> Tree:
        below = tree.children[0]
        if tree.label == self.root and len(tree.children) == 1 and isinstance(below, Tree) and below.label != self.root:
            tree = below
        return binarize(tree, horizontal=self.horizontal, factor=self.factor)

    def derivation(self, tree: Tree, index: int = 0) -> tuple[NDArray[np.int32], list[str]]:
        """The nodes of a tree, as :func:`~maxmargin.decoders.cky.cky_core` writes them, and its words.

        Returns
        -------
        nodes : int32 array of shape (2 * n_words - 1, 4)
            ``(start, end, symbol, rule)`` in preorder; ``rule`` is -1 over a word.
        words : list of str
            Without empty elements if the grammar has none.

        Raises
        ------
        DataError
            When the grammar has not all of its symbols and rules, or the tree has no words; ``index`` says which tree
            it is.
        """
        nodes = list(self.binary(tree, index).subtrees())
        numbers = [self._number.get(node.label, -1) for node in nodes]
        sizes = [1] * len(nodes)
        for k in range(len(nodes) - 1, -1, -1):
            if not nodes[k].is_preterminal:
                sizes[k] = sizes[k + 1] + sizes[k + 2 * sizes[k + 1]]
        out = np.empty((len(nodes), 4), np.int32)
        start = 0
        for k, node in enumerate(nodes):
            rule = -1
            if node.is_preterminal:
                known = numbers[k] in self._sets[0]
                what = f"symbol {node.label!r} over a word"
            else:
                right = k + 2 * sizes[k + 1]
                rule = self._rule.get((numbers[k + 1], numbers[right], numbers[k]), -1)
                known = rule >= 0
                what = f"rule {node.label!r} -> {nodes[k + 1].label!r} {nodes[right].label!r}"
            if known and k == 0 and numbers[0] not in self._sets[1]:
                known, what = False, f"symbol {node.label!r} at the top"
            if not known:
                raise DataError(f"tree {index} is outside the grammar, which has no {what}")
            out[k] = start, start + sizes[k], numbers[k], rule
            start += node.is_preterminal
        return out, [word for node in nodes for word in node.children if isinstance(word, str)]

    def tree(self, nodes: NDArray[np.int32], words: Sequence[str], *, complete: bool = True) -> Tree:
        """The tree of the nodes that a decoder wrote: the inverse of :meth:`derivation`.

        Parameters
        ----------
        nodes : int array of shape (n_nodes, 4)
        words : sequence of str
        complete : bool
            False if the nodes are those of several fragments; these are put under one root.
        """
        done: list[Tree] = []
        for start, end, number, _ in nodes[::-1].tolist():
            symbol = self.symbols[number] if number >= 0 else ""
            below = (words[start],) if end - start == 1 else (done.pop(), done.pop())
            done.append(Tree(symbol, below))
        content = [piece for fragment in reversed(done) for piece in unfold(fragment)]
        if complete and isinstance(content[0], Tree) and self.root in (None, content[0].label):
            return content[0]
        return Tree("ROOT" if self.root is None else self.root, tuple(content))

    def state(self) -> dict[str, Any]:
        """Everything :meth:`from_state` needs, as strings, numbers, lists of strings and arrays."""
        return {f.name: list(v) if isinstance(v := getattr(self, f.name), tuple) else v for f in fields(self)}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Grammar:
        """The grammar of a :meth:`state`.

        Raises
        ------
        DataError
            When it contradicts itself: says where.
        """
        missing = [f.name for f in fields(cls) if f.name not in state]
        if missing:
            raise DataError(f"grammar: {missing[0]} is missing")
        values = {f.name: state[f.name] for f in fields(cls)}
        symbols = values["symbols"] = tuple(values["symbols"])
        if not all(isinstance(symbol, str) for symbol in symbols) or len(set(symbols)) < len(symbols):
            raise DataError("grammar: symbols must be strings, each once")
        for name in ("left", "right", "parent", "lexical", "tops"):
            numbers = np.asarray(values[name])
            if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
                raise DataError(f"grammar: {name} must be a list of symbol numbers")
            if len(numbers) and (numbers.min() < 0 or numbers.max() >= len(symbols)):
                raise DataError(f"grammar: {name} names a symbol outside 0..{len(symbols) - 1}")
            if name in ("lexical", "tops") and len(np.unique(numbers)) < max(len(numbers), 1):
                raise DataError(f"grammar: {name} must name one symbol or more, each once")
            values[name] = numbers.astype(np.int32)
        grammar = cls(**values)
        left, right = grammar.left, grammar.right
        in_order = len(left) == len(right) and (order_rules(left, right, len(symbols))[0] == np.arange(len(left))).all()
        if not in_order or len(left) != len(grammar.parent):
            raise DataError("grammar: the rules must be sorted by left, then right symbol, with one parent each")
        if not all(labels_of(symbols[top]) for top in grammar.tops.tolist()):
            raise DataError("grammar: only whole constituents may stand at the top")
        if not isinstance(grammar.root, str | None):
            raise DataError(f"grammar: root must be a string or None, not {grammar.root!r}")
        _check_options(grammar.horizontal, grammar.factor)
        return grammar


def _check_options(horizontal: int, factor: str) -> None:
    if factor not in ("right", "left"):
        raise DataError(f"factor must be 'right' or 'left', not {factor!r}")
    if not isinstance(horizontal, int | np.integer) or horizontal < 0:
        raise DataError(f"horizontal must be a whole number of at least 0, not {horizontal!r}")


def _root_of(trees: Sequence[Tree]) -> str | None:
    """The label at the top of all trees, if it stands above whole sentences and nowhere else."""
    root = trees[0].label
    below = (node.label for tree in trees for node in list(tree.subtrees())[1:])
    alone = any(len(tree.children) == 1 for tree in trees)
    return root if alone and all(tree.label == root for tree in trees) and root not in below else None
