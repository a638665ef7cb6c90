"""Constituency trees: weights of tags, of spans and of rules; CKY; wrong constituents or 0/1 as the task loss.

A tree is scored through its binary tree (see :mod:`.grammar`). A word adds the potential of its tag and that of the
unary chain above the tag; a node over several words that of its symbol over the span, and the weight of its rule; the
top adds the weight of its symbol. Words and spans have the features of :mod:`.span_features`. Decoding takes time in
proportion to the rules and the cube of the sentence's length. Sources: Taskar, Klein, Collins, Koller, Manning (2004);
Hall, Durrett, Klein (2014) for features of spans.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..data.brackets import Tree, is_writable_word
from ..errors import DataError
from .base import Encoded, RowGroup, Structure, freeze, make_pack
from .grammar import Factor, Grammar, labels_of, symbol_of
from .span_features import Sentences, SpanFeatures, read_sentences
from .tree_kernels import CHAIN, LOSSES, SPAN, TAG, TOP

__all__ = ["TreeStructure", "TreeWeights"]


class TreeWeights(NamedTuple):
    """Weights by what they stand for; all are views.

    Attributes
    ----------
    tags, chains : float64 arrays of shapes (n_word_features, n_tags) and (n_word_features, n_chains)
    spans : float64 array of shape (n_span_features, n_span_symbols)
    rules, tops : float64 arrays of shapes (n_rules,) and (n_tops,)
    """

    tags: NDArray[np.float64]
    chains: NDArray[np.float64]
    spans: NDArray[np.float64]
    rules: NDArray[np.float64]
    tops: NDArray[np.float64]


class TreeStructure(Structure):
    """Constituency trees over sentences.

    Parameters
    ----------
    grammar : Grammar
    features : SpanFeatures
    loss : {"constituents", "zero_one"}
        The number of wrong constituents: those predicted that are not in the truth, and those in the truth that are not
        predicted; a tag is a constituent over its word. Or 1 for every tree but the truth.

    Attributes
    ----------
    tags, chains, span_symbols : lists of str
        What stands right above words (empty: nothing), the chains above that, and what covers several words.
    """

    def __init__(
        self, grammar: Grammar, features: SpanFeatures, *, loss: Literal["constituents", "zero_one"] = "constituents"
    ) -> None:
        if loss not in LOSSES:
            raise DataError(f"loss must be one of {sorted(LOSSES)}, not {loss!r}")
        self.grammar, self.span_features, self.loss_name = grammar, features, loss
        self.decode, self.parts, self.augment, self.loss = LOSSES[loss]
        columns, self.tags, self.chains, self.span_symbols = _numbered(grammar)
        chains, kinds = _Labels(self.chains), _Labels(self.span_symbols)
        pieces: list[NDArray[Any]] = [
            columns.ravel(), grammar.rule_start, grammar.right, grammar.parent, chains.sizes, kinds.sizes,
            chains.shared().ravel(), kinds.shared().ravel(),
        ]  # fmt: skip
        positions = np.cumsum([len(piece) for piece in pieces[:-1]])
        self._ints = np.array([len(grammar.symbols), len(grammar.parent), *positions], np.int64)
        self._table = freeze(np.concatenate([piece.astype(np.int32, copy=False) for piece in pieces]), np.int32)

    @classmethod
    def from_trees(
        cls,
        X: Sequence[Any],
        trees: Sequence[Tree],
        *,
        loss: Literal["constituents", "zero_one"] = "constituents",
        horizontal: int = 1,
        factor: Factor = "right",
        functions: bool = False,
        empty: bool = False,
        min_count: int = 1,
        frequent: int = 5,
        sample_weight: NDArray[np.float64] | None = None,
    ) -> TreeStructure:
        """Grammar and vocabularies of a treebank.

        Parameters
        ----------
        X : sequence of sentences
            See :func:`~maxmargin.structures.span_features.read_sentences`.
        trees : sequence of Tree
        horizontal, factor, functions, empty
            See :meth:`.Grammar.from_trees`.
        min_count, frequent
            See :meth:`.SpanFeatures.fit`.
        sample_weight : float64 array of shape (n_sentences,), optional
            How much each sentence counts towards ``min_count`` and ``frequent``: weight 2 is two copies. The grammar is
            that of all trees, however often a rule occurs.

        Raises
        ------
        DataError
            For sentences or trees that cannot be read (with their index).
        """
        grammar = Grammar.from_trees(trees, horizontal=horizontal, factor=factor, functions=functions, empty=empty)
        features = SpanFeatures.fit(
            read_sentences(X), min_count=min_count, frequent=frequent, sample_weight=sample_weight
        )
        return cls(grammar, features, loss=loss)

    def encode(self, X: Sequence[Any], Y: Sequence[Tree] | None = None) -> Encoded:
        """Encode sentences and their trees.

        ``extra`` holds the :class:`.Sentences` and ``output_start``, int64 array of shape (n_sentences + 1,): how long
        outputs are, summed up.

        Raises
        ------
        DataError
            For sentences that cannot be read, words that cannot be written in a tree, trees over other words, and trees
            outside the grammar: names the sentence or tree.
        """
        sentences = read_sentences(X)
        _check_words(sentences)
        words, spans = self.span_features.encode(sentences)
        lengths = sentences.lengths
        output_start = np.concatenate([[0], np.cumsum(8 * lengths - 3)]).astype(np.int64)
        target = () if Y is None else self._targets(sentences, Y)
        sparse: dict[str, Any] = dict(indptr=words.indptr, indices=words.indices, n_sparse=words.n_features)
        pack = make_pack(
            [
                RowGroup(len(self.tags), words.start, **sparse),
                RowGroup(len(self.chains), words.start, **sparse),
                RowGroup(len(self.span_symbols), spans.start, spans.indptr, spans.indices, n_sparse=spans.n_features),
                RowGroup(1, np.arange(len(lengths) + 1)),
            ],
            n_shared=len(self.grammar.parent) + len(self.grammar.tops),
            target=target,
            target_start=() if Y is None else output_start,
            ints=self._ints,
            table=self._table,
        )
        longest = int(lengths.max(initial=1))
        return Encoded.of(
            pack, n_output=8 * longest - 3, n_parts=4 * longest, sentences=sentences, output_start=output_start
        )

    def _targets(self, sentences: Sentences, trees: Sequence[Tree]) -> NDArray[np.int32]:
        n = len(sentences.lengths)
        if len(trees) != n:
            raise DataError(f"{n} sentences but {len(trees)} trees")
        pieces = [np.zeros(0, np.int32)]
        for i, tree in enumerate(trees):
            nodes, words = self.grammar.derivation(tree, i)
            given = sentences.words(i)
            if words != given:
                t = next((t for t, (a, b) in enumerate(zip(given, words)) if a != b), min(len(given), len(words)))
                raise DataError(
                    f"tree {i} has other words than sentence {i}: {' '.join(words[t : t + 3])!r} for "
                    f"{' '.join(given[t : t + 3])!r} at word {t}"
                )
            pieces += [np.zeros(1, np.int32), nodes.ravel()]
        return np.concatenate(pieces)

    @staticmethod
    def complete(out: NDArray[np.int32]) -> bool:
        """Whether an output is one tree; otherwise the sentence is outside the grammar, and the output is fragments."""
        return bool(out[0] == 0)

    def output(self, encoded: Encoded, i: int, out: NDArray[np.int32]) -> Tree:
        """The tree of an output; fragments are put under one root (see :meth:`complete`)."""
        words = encoded.extra["sentences"].words(i)
        n_nodes = 2 * len(words) - max(1, int(out[0]))
        return self.grammar.tree(out[1 : 1 + 4 * n_nodes].reshape(-1, 4), words, complete=self.complete(out))

    @property
    def n_weights(self) -> int:
        """Number of weights."""
        return _n_weights(self.grammar, self.span_features, self.tags, self.chains, self.span_symbols)

    def split(self, w: NDArray[np.float64]) -> TreeWeights:
        """The weights by what they stand for."""
        n_words, n_spans = self.span_features.n_features
        shapes = [(n_words, len(self.tags)), (n_words, len(self.chains)), (n_spans, len(self.span_symbols))]
        ends = np.cumsum([rows * columns for rows, columns in shapes] + [len(self.grammar.parent)])
        *blocks, rules, tops = np.split(w, ends)
        tags, chains, spans = (block.reshape(shape) for block, shape in zip(blocks, shapes))
        return TreeWeights(tags, chains, spans, rules, tops)

    def state(self) -> dict[str, Any]:
        """Everything that :meth:`from_state` needs: strings, numbers, None, lists of strings, and arrays."""
        views = {f"view {name}": values for name, values in self.span_features.vocabularies.items()}
        return {"loss": self.loss_name, **self.grammar.state(), **views}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], *, n_weights: int | None = None) -> TreeStructure:
        """The structure of a :meth:`state`.

        Parameters
        ----------
        state : mapping
        n_weights : int, optional
            How many weights there are for it. Others are refused before anything is made of the grammar, whose symbols
            are compared two by two: a file of some kilobytes can name very many.

        Raises
        ------
        DataError
            When it contradicts itself, or has not so many weights: says where.
        """
        views = {name[5:]: values for name, values in state.items() if name.startswith("view ")}
        loss: Any = state.get("loss")
        grammar, features = Grammar.from_state(state), SpanFeatures(views)
        if n_weights is not None:
            _, *names = _numbered(grammar)
            if n_weights != (needed := _n_weights(grammar, features, *names)):
                raise DataError(f"{n_weights} weights; the grammar and the features need {needed}")
            work = sum(_Labels(symbols).work for symbols in names[1:])
            if work > max(_MOST_WORK, _WORK_PER_WEIGHT * n_weights):
                raise DataError(f"{work} comparisons of symbols, too many for a grammar of {n_weights} weights")
        return cls(grammar, features, loss=loss)


def _check_words(sentences: Sentences) -> None:
    """Refuse words that no file of trees can hold, before they become leaves of one."""
    for i in range(len(sentences.lengths)):
        for t, word in enumerate(sentences.words(i)):
            if not is_writable_word(word):
                raise DataError(
                    f"sentence {i}, word {t} is {word!r:.60}, which cannot be written in a tree: a word is not empty "
                    "and has no blanks or brackets (treebanks spell brackets -LRB- and -RRB-)"
                )


# The work that a grammar from a file may ask for: about half a second, or more where there are as many weights.
# Treebanks have far more features than a sixteenth of their symbols, which is what this asks for.
_MOST_WORK, _WORK_PER_WEIGHT = 1 << 26, 16


class _Numbers(dict[str, int]):
    """Gives every new name the next number."""

    def __missing__(self, name: str) -> int:
        self[name] = number = len(self)
        return number


def _numbered(grammar: Grammar) -> tuple[NDArray[np.int32], list[str], list[str], list[str]]:
    """The columns of all symbols (see :mod:`.tree_kernels`), and the tags, chains and span symbols by number."""
    tags, chains, kinds = _Numbers(), _Numbers(), _Numbers()
    columns = np.full((len(grammar.symbols), 4), -1, np.int32)
    for s in grammar.lexical.tolist():
        labels = labels_of(grammar.symbols[s])
        columns[s, TAG] = tags[symbol_of(labels[-1:])]
        columns[s, CHAIN] = chains[symbol_of(labels[:-1])]
    for s in np.unique(grammar.parent).tolist():
        columns[s, SPAN] = kinds[grammar.symbols[s]]
    columns[grammar.tops, TOP] = np.arange(len(grammar.tops))
    return columns, list(tags), list(chains), list(kinds)


def _n_weights(
    grammar: Grammar, features: SpanFeatures, tags: list[str], chains: list[str], span_symbols: list[str]
) -> int:
    n_words, n_spans = features.n_features
    blocks = n_words * (len(tags) + len(chains)) + n_spans * len(span_symbols)
    return blocks + len(grammar.parent) + len(grammar.tops)


class _Labels:
    """Labels of symbols.

    Attributes
    ----------
    sizes : int64 array of shape (n_symbols,)
        Number of labels of every symbol.
    work : int
        Numbers that :meth:`shared` writes.
    """

    def __init__(self, symbols: Sequence[str]) -> None:
        # the second NP of a chain is something else than the first, so that two chains share two of them where both
        # have two
        having: defaultdict[tuple[str, int], list[int]] = defaultdict(list)
        self.sizes = np.zeros(len(symbols), np.int64)
        for k, symbol in enumerate(symbols):
            seen: Counter[str] = Counter()
            for label in labels_of(symbol):
                seen[label] += 1
                having[label, seen[label]].append(k)
            self.sizes[k] = seen.total()
        self._having = list(having.values())
        self.work = len(symbols) ** 2 + sum(len(each) ** 2 for each in self._having)

    def shared(self) -> NDArray[np.int32]:
        """How many labels any two symbols share, of shape (n_symbols, n_symbols)."""
        out = np.zeros((len(self.sizes), len(self.sizes)), np.int32)
        for each in self._having:
            out[np.ix_(each, each)] += 1
        return out
