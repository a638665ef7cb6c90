"""Constituent trees over sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

from ..data.brackets import Tree, read_trees
from ..data.text import Lines
from ..errors import FileFormatError
from ..metrics import bracket_scores
from .inputs import looks_like_trees
from .tasks import Examples, Task

if TYPE_CHECKING:
    from argparse import Namespace

    from .inputs import Input
    from .messages import Voice

__all__ = ["TASK"]


class TreeTask(Task):
    """Trees in brackets; for predictions also sentences, one a line, words parted by spaces."""

    def training(self, source: Input, settings: dict[str, Any], args: Namespace, voice: Voice) -> Examples:
        return _of_trees(self.truth(source, settings))

    def examples(self, source: Input, settings: Mapping[str, Any], voice: Voice, *, unlabelled: bool) -> Examples:
        if not unlabelled and looks_like_trees(source.head()):
            return _of_trees(self.truth(source, settings))
        return Examples([line.split() for line in Lines(source.open()) if line.strip()], None)

    def make(self, parameters: Mapping[str, Any]) -> Any:
        from ..tree import TreeSVM

        return TreeSVM(**parameters)

    def write(
        self, stream: IO[str], examples: Examples, predictions: Sequence[Tree], settings: Mapping[str, Any]
    ) -> None:
        stream.writelines(f"{tree}\n" for tree in predictions)

    def truth(self, source: Input, settings: Mapping[str, Any]) -> list[Tree]:
        trees = read_trees(source.open())
        if not trees:
            raise FileFormatError("no data in this file", path=source.name)
        return [_cleaned(tree, i, source.name) for i, tree in enumerate(trees)]

    def written(self, source: Input, settings: Mapping[str, Any]) -> list[Tree]:
        return self.truth(source, settings)

    def report(self, true: Sequence[Tree], predicted: Sequence[Tree], width: int) -> str:
        return bracket_scores(true, predicted).table(width)


def _cleaned(tree: Tree, i: int, path: str) -> Tree:
    """Without functional tags and empty elements, as the models of the command line predict them."""
    from ..structures.grammar import clean

    found = clean(tree)
    if found is None:
        raise FileFormatError(f"tree {i} has no words", path=path)
    return found


def _of_trees(trees: list[Tree]) -> Examples:
    return Examples([tree.leaves() for tree in trees], trees)


TASK = TreeTask()
