"""The treebank grammar: relative frequencies of rules and words, the classic baseline for a trained parser.

Up to a constant of the sentence, ``log p(tree, words)`` is the sum of ``log p(rule | parent)`` over the rules,
``log p(symbol)`` of the top and, by Bayes' rule, ``log p(symbol | word) - log p(symbol)`` over the words.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.brackets import Tree
from ..decoders.cky import cky_core
from ..errors import DataError
from .grammar import Grammar

__all__ = ["TreebankGrammar"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TreebankGrammar:
    """A probabilistic context-free grammar with relative frequencies.

    ``p(symbol | word)`` is smoothed with the symbols of rare words of the same kind (capital, digit, hyphen), then with
    those that also share one, two, three and four last letters; for an unknown word that is all there is.

    Attributes
    ----------
    grammar : Grammar
    rules, tops : float64 arrays of shapes (n_rules,) and (n_symbols,)
        Log relative frequencies.
    symbols : float64 array of shape (n_symbols,)
        Relative frequencies of the symbols over words.
    words, kinds : dict of float64 array of shape (n_symbols,)
        How often each word, and each kind and ending of rare words, had each symbol.
    """

    grammar: Grammar
    rules: Floats
    tops: Floats
    symbols: Floats
    words: dict[str, Floats]
    kinds: dict[str, Floats]
    smoothing: float = 1.0

    @classmethod
    def from_trees(
        cls, grammar: Grammar, trees: Sequence[Tree], *, smoothing: float = 1.0, rare: int = 2
    ) -> TreebankGrammar:
        """Count.

        Parameters
        ----------
        grammar : Grammar
        trees : sequence of Tree
            All within the grammar.
        smoothing : float
            Weight of the more general distribution, in occurrences.
        rare : int
            Words seen so often at most stand for the unknown ones.

        Raises
        ------
        DataError
            For a tree outside the grammar, with its index.
        """
        n_symbols = len(grammar.symbols)
        rules, tops = np.zeros(len(grammar.parent)), np.zeros(n_symbols)
        words: dict[str, Floats] = defaultdict(lambda: np.zeros(n_symbols))
        for i, tree in enumerate(trees):
            nodes, leaves = grammar.derivation(tree, i)
            leaf = nodes[:, 3] < 0
            np.add.at(rules, nodes[~leaf, 3], 1.0)
            tops[nodes[0, 2]] += 1.0
            for word, symbol in zip(leaves, nodes[leaf, 2].tolist(), strict=True):
                words[word][symbol] += 1.0
        kinds: dict[str, Floats] = defaultdict(lambda: np.zeros(n_symbols))
        for word, counts in words.items():
            if counts.sum() <= rare:
                for kind in _kinds(word):
                    kinds[kind] += counts
        parents = np.bincount(grammar.parent, weights=rules, minlength=n_symbols)
        symbols = sum(words.values(), np.zeros(n_symbols))
        with np.errstate(divide="ignore"):
            return cls(
                grammar,
                np.log(rules) - np.log(parents[grammar.parent]),
                np.log(tops / max(tops.sum(), 1.0)),
                symbols / symbols.sum(),
                dict(words),
                dict(kinds),
                smoothing,
            )

    def lexical(self, word: str) -> Floats:
        """Score of every symbol over a word."""
        p = self.symbols
        for counts in (*(self.kinds.get(kind) for kind in _kinds(word)), self.words.get(word)):
            if counts is not None:
                p = (counts + self.smoothing * p) / (counts.sum() + self.smoothing)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.symbols > 0, np.log(p) - np.log(self.symbols), -np.inf)

    def parse(self, sentences: Sequence[Sequence[str]]) -> list[Tree]:
        """Most probable trees; best partial analyses of sentences outside the grammar."""
        g = self.grammar
        scores: dict[str, Floats] = {}
        trees = []
        for i, words in enumerate(sentences):
            if not len(words):
                raise DataError(f"sentence {i} has no words")
            for word in words:
                if word not in scores:
                    scores[word] = self.lexical(word)
            nodes = np.empty((2 * len(words) - 1, 4), np.int32)
            _, n, n_fragments = cky_core(
                np.concatenate([scores[word] for word in words]), len(words), len(g.symbols), np.zeros(0),
                g.rule_start, g.right, g.parent, self.rules, self.tops, nodes.reshape(-1),
            )  # fmt: skip
            trees.append(g.tree(nodes[:n], words, complete=n_fragments == 0))
        return trees


def _kinds(word: str) -> Iterator[str]:
    """The kind of a word, then the kind with one to four last letters."""
    kind = "".join(
        mark
        for mark, holds in (
            ("A", word[:1].isupper()),
            ("9", any(c.isdigit() for c in word)),
            ("-", "-" in word),
            ("x", any(c.isalpha() for c in word)),
        )
        if holds
    )
    for length in range(min(len(word), 4) + 1):
        yield f"{kind} {word[len(word) - length :]}"
