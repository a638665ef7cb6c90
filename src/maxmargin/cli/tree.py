"""Constituent trees over sentences."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from ..data.brackets import Tree, numbered_trees, write_trees
from ..data.text import Lines
from ..errors import FileFormatError, shorten
from ..metrics import bracket_scores
from .inputs import looks_like_trees
from .messages import counted
from .tasks import Examples, Task
from .weights import strongest

if TYPE_CHECKING:
    from argparse import Namespace

    from numpy.typing import NDArray

    from ..structures.grammar import Grammar
    from ..structures.tree import TreeStructure, TreeWeights
    from .inputs import Input
    from .messages import Voice

__all__ = ["TASK"]

_ROOM = 65  # for the name of a feature or rule: behind its weight, on a terminal of 80 columns
_WORD = re.compile(r"\S+", re.ASCII)  # a no-break space belongs to its word
_BARE = "(bare word)"  # the symbol without labels; no label has brackets


class TreeTask(Task):
    """Trees in brackets; for predictions also sentences, one a line, words parted by spaces."""

    def training(self, source: Input, settings: dict[str, Any], args: Namespace, voice: Voice) -> Examples:
        return self.truth(source, settings)

    def examples(
        self, source: Input, settings: Mapping[str, Any], voice: Voice, *, unlabelled: bool, compared: bool = False
    ) -> Examples:
        if not unlabelled and looks_like_trees(source.head()):
            return self.truth(source, settings)
        sentences = [_words(line) for line in Lines(source.open())]
        written = [words for words in sentences if words]
        if written and (empty := len(sentences) - len(written)):
            voice.note(f"{source.name}: {counted(empty, 'empty line')} left out: no line of the answer is for one")
        return Examples(written, None)

    def write(
        self, stream: IO[str], examples: Examples, predictions: Sequence[Tree], settings: Mapping[str, Any]
    ) -> None:
        write_trees(stream, predictions)

    def truth(self, source: Input, settings: Mapping[str, Any]) -> Examples:
        return _of_trees(self.written(source, settings))

    def written(self, source: Input, settings: Mapping[str, Any]) -> list[Tree]:
        """Trees without functional tags and empty elements, as the models of the command line predict them."""
        from ..structures.grammar import clean

        trees = []
        for line, tree in numbered_trees(source.open()):
            found = clean(tree)
            if found is None:
                raise FileFormatError("the tree has no words", path=source.name, line=line, token=str(tree))
            trees.append(found)
        if not trees:
            raise FileFormatError("no data in this file", path=source.name)
        return trees

    def what_is_partial(self, model: Any) -> str:
        """How many sentences of the last prediction have no whole tree of the grammar, and the first of them."""
        complete: list[bool] = getattr(model, "complete_", [])
        if all(complete):
            return ""
        return (
            f"{complete.count(False)} of {counted(len(complete), 'sentence')} outside the grammar, the first is "
            f"sentence {complete.index(False) + 1}: best partial analyses, fragments under one root"
        )

    def report(self, true: Sequence[Tree], predicted: Sequence[Tree], width: int, model: Any = None) -> str:
        return bracket_scores(true, predicted).table(width)

    def details(self, model: Any, settings: Mapping[str, Any], top: int) -> dict[str, Any]:
        structure = model.structure_
        grammar, weights = structure.grammar, structure.split(model.coef_)
        sizes = {
            "symbols": len(grammar.symbols),
            "rules": len(grammar.parent),
            "lexical": len(grammar.lexical),
            "tops": len(grammar.tops),
        }
        tags = [tag or _BARE for tag in structure.tags]
        return {
            "labels": tags,
            "features": sum(structure.span_features.n_features),
            "nonzero_weights": int(np.count_nonzero(model.coef_)),
            "grammar": sizes,
            "span_symbols": structure.span_symbols,
            "strongest_features": _strongest_features(structure, weights, tags, top),
            "strongest_rules": _strongest_rules(grammar, weights.rules, 2 * top),
        }


def _strongest_features(structure: TreeStructure, weights: TreeWeights, tags: list[str], top: int) -> list[Any]:
    """Those of tags, and of single labels over several words: chains and intermediate symbols are too many."""
    from ..structures.grammar import labels_of

    words, spans = ([shorten(name, _ROOM) for name in names] for names in structure.span_features.names())
    single = [k for k, symbol in enumerate(structure.span_symbols) if len(labels_of(symbol)) == 1]
    return [
        *strongest(weights.tags, words, [f"tag {tag}" for tag in tags], top),
        *strongest(weights.spans[:, single], spans, [f"span {structure.span_symbols[k]}" for k in single], top),
    ]


def _strongest_rules(grammar: Grammar, weights: NDArray[np.float64], top: int) -> list[list[Any]]:
    """``[parent, left, right, weight]`` of the rules with the largest absolute weights, strongest first."""
    (found,) = strongest(weights[:, None], range(len(weights)), [""], top)
    sides = (grammar.parent, grammar.left, grammar.right)
    return [[*(grammar.symbols[side[r]] or _BARE for side in sides), weight] for r, weight in found["features"]]


def _words(line: str) -> list[str]:
    """The words of a sentence, parted as in trees, with brackets as treebanks spell them: others are the tree's own."""
    return _WORD.findall(line.replace("(", "-LRB-").replace(")", "-RRB-"))


def _of_trees(trees: list[Tree]) -> Examples:
    return Examples([tree.leaves() for tree in trees], trees)


TASK = TreeTask()
