"""Constituent trees in Penn brackets: ``(S (NP (DT the) (NN cat)) (VP (VBZ sits)))``."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..errors import DataError
from .text import Lines, Source, Target, writing

__all__ = ["Tree", "is_writable_word", "numbered_trees", "parse_tree", "read_trees", "why_unwritable", "write_trees"]

_TOKEN = re.compile(r"[()]|[^()\s]+", re.ASCII)  # a no-break space belongs to its word
_WORD = re.compile(r"[^()\s\ud800-\udfff]+", re.ASCII)  # no UTF-8 has halves of surrogate pairs
_LABEL = re.compile(rf"({_WORD.pattern})?", re.ASCII)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tree:
    """A labelled tree over words, immutable, equal and hashed by its content, of any depth.

    Parameters
    ----------
    label : str
        May be empty (the root of many treebanks).
    children : tuple of Tree or str
        At least one; a str is a word.

    Raises
    ------
    DataError
        If there is no child.
    TypeError
        If the label or a child is of another type.
    """

    label: str
    children: tuple[Tree | str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "children", tuple(self.children))
        if not isinstance(self.label, str):
            raise TypeError(f"the label of a tree must be str, not {type(self.label).__name__}")
        for child in self.children:
            if not isinstance(child, Tree | str):
                raise TypeError(f"a child of {self.label!r} must be a Tree or a str, not {type(child).__name__}")
        if not self.children:
            raise DataError(f"the tree {self.label!r} has no children")

    @property
    def is_preterminal(self) -> bool:
        """Whether the only child is a word: the label is the word's tag."""
        return len(self.children) == 1 and isinstance(self.children[0], str)

    def leaves(self) -> list[str]:
        """The words, from left to right."""
        return [item for item in self._flat() if isinstance(item, str)]

    def subtrees(self) -> Iterator[Tree]:
        """This tree and all below it, parents before children, from left to right."""
        stack: list[Tree | str] = [self]
        while stack:
            node = stack.pop()
            if isinstance(node, Tree):
                yield node
                stack.extend(reversed(node.children))

    def tagged_words(self) -> list[tuple[str, str]]:
        """The (word, tag) of every word, the tag being the label right above it."""
        tagged: list[tuple[str, str]] = []
        stack: list[tuple[Tree | str, str]] = [(self, "")]
        while stack:
            node, above = stack.pop()
            if isinstance(node, str):
                tagged.append((node, above))
            else:
                stack.extend((child, node.label) for child in reversed(node.children))
        return tagged

    def spans(self, *, preterminals: bool = False) -> list[tuple[str, int, int]]:
        """The (label, start, stop) of every node, parents before children; preterminals only if asked for."""
        spans: list[tuple[str, int, int]] = []
        open_spans: list[int] = []
        stack: list[Tree | str | None] = [self]
        position = 0
        while stack:
            node = stack.pop()
            if node is None:  # all below the last open span is done
                index = open_spans.pop()
                label, start, _ = spans[index]
                spans[index] = label, start, position
            elif isinstance(node, str):
                position += 1
            elif node.is_preterminal:
                if preterminals:
                    spans.append((node.label, position, position + 1))
                position += 1
            else:
                open_spans.append(len(spans))
                spans.append((node.label, position, position))
                stack.append(None)
                stack.extend(reversed(node.children))
        return spans

    def _flat(self) -> list[str | tuple[str, int]]:
        """The tree as words and (label, number of children), parents before children; it says all."""
        flat: list[str | tuple[str, int]] = []
        stack: list[Tree | str] = [self]
        while stack:
            node = stack.pop()
            if isinstance(node, str):
                flat.append(node)
            else:
                flat.append((node.label, len(node.children)))
                stack.extend(reversed(node.children))
        return flat

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return self is other or self._flat() == other._flat()

    def __hash__(self) -> int:
        return hash(tuple(self._flat()))

    def __str__(self) -> str:
        """The tree in brackets, on one line."""
        pieces: list[str] = []
        left: list[int] = []  # children still to come, of every open bracket
        for item in self._flat():
            if isinstance(item, str):
                pieces.append(f" {item}")
                left[-1] -= 1
            else:
                pieces.append(f" ({item[0]}")
                if left:
                    left[-1] -= 1
                left.append(item[1])
            while left and left[-1] == 0:
                pieces.append(")")
                left.pop()
        return "".join(pieces)[1:]

    def __repr__(self) -> str:
        return f"<Tree {self}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_flat, (self._flat(),)  # nested children would exhaust the stack

    def __copy__(self) -> Tree:
        return self

    def __deepcopy__(self, memo: Any) -> Tree:
        return self


def _from_flat(flat: list[str | tuple[str, int]]) -> Tree:
    """The tree that :meth:`Tree._flat` describes."""
    done: list[Tree | str] = []
    for item in reversed(flat):
        if isinstance(item, str):
            done.append(item)
        else:
            label, count = item
            children = done[: -count - 1 : -1]
            del done[-count:]
            done.append(Tree(label, tuple(children)))
    (tree,) = done
    assert isinstance(tree, Tree)
    return tree


def read_trees(source: Source) -> list[Tree]:
    """Read trees in brackets, each over any number of lines.

    The first word after an opening bracket is the label, or there is none where another bracket follows at once. Words
    need no tags of their own: several may stand right under a label, and beside phrases, as in ``(NP the (NN cat))``.

    Parameters
    ----------
    source : path, "-" or open file

    Raises
    ------
    FileFormatError
        If a bracket is not closed or not opened, has nothing in it, or text stands outside of brackets.
    """
    return [tree for _, tree in numbered_trees(source)]


def numbered_trees(source: Source) -> Iterator[tuple[int, Tree]]:
    """What :func:`read_trees` reads, each tree behind the number of the line where it begins."""
    return _trees(Lines(source))


def parse_tree(text: str) -> Tree:
    """The one tree in a text; errors are those of :func:`read_trees`, and more or less than one tree is another."""
    if not isinstance(text, str):
        raise DataError(f"a tree is read from a str, not from a {type(text).__name__}")
    lines = Lines(io.StringIO(text))
    tree: Tree | None = None
    for _, found in _trees(lines):
        if tree is not None:
            raise lines.error("a second tree where one was expected", str(found))
        tree = found
    if tree is None:
        raise lines.error("no tree in this text", text)
    return tree


def is_writable_word(word: str) -> bool:
    """Whether a word can be written between brackets and read back: not empty, without blanks and brackets, UTF-8."""
    return _WORD.fullmatch(word) is not None


def why_unwritable(tree: Tree) -> str | None:
    """What keeps a tree from being written in brackets and read back; None if nothing does."""
    for node in tree.subtrees():
        words = [child for child in node.children if isinstance(child, str)]
        wrong = [word for word in words if not is_writable_word(word)]
        if wrong or not _LABEL.fullmatch(node.label):
            return f"{(wrong[0] if wrong else node.label)!r} cannot be written between brackets"
        if node.label == "" and isinstance(node.children[0], str):
            return f"the word {words[0]!r} stands under an empty label"
    return None


def write_trees(target: Target, trees: Iterable[Tree]) -> None:
    """Write trees in brackets, one a line; :func:`read_trees` gives the same back.

    Raises
    ------
    DataError
        If a label or a word has white space or brackets (the custom is ``-LRB-`` and ``-RRB-``), a word is
        empty, or a word stands right under an empty label.
    """
    with writing(target) as stream:
        for number, tree in enumerate(trees):
            if problem := why_unwritable(tree):
                raise DataError(f"tree {number}: {problem}")
            stream.write(f"{tree}\n")


def _trees(lines: Lines) -> Iterator[tuple[int, Tree]]:
    open_brackets: list[_Open] = []
    for line in lines:
        for token in _TOKEN.findall(line):
            top = open_brackets[-1] if open_brackets else None
            if token == "(":
                if top is not None and top.label is None:
                    top.label = ""
                open_brackets.append(_Open(lines.number))
            elif top is None:
                problem = "a closing bracket without an opening one" if token == ")" else "text outside of brackets"
                raise lines.error(problem, token)
            elif token == ")":
                if not top.children:
                    raise lines.error("a bracket with nothing under its label", f"({top.label or ''})")
                tree = Tree(top.label or "", tuple(top.children))
                open_brackets.pop()
                if open_brackets:
                    open_brackets[-1].children.append(tree)
                else:
                    yield top.line, tree
            elif top.label is None:
                top.label = token
            else:
                top.children.append(token)
    if open_brackets:
        first = open_brackets[0]
        raise lines.error("this bracket is never closed", f"({first.label or ''}", line=first.line)


@dataclass
class _Open:
    """A bracket that is not closed yet; its label is None until something follows it."""

    line: int
    label: str | None = None
    children: list[Tree | str] = field(default_factory=list)
