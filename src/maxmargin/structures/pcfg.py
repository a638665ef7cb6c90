"""The treebank grammar: relative frequencies of rules and words, the classic baseline of a trained parser."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.brackets import Tree
from ..decoders.cky import cky_core
from ..errors import DataError
from .grammar import Grammar

__all__ = ["TreebankGrammar"]

_LONGEST_SUFFIX = 4


@dataclass(frozen=True, eq=False)
class TreebankGrammar:
    """A probabilistic context-free grammar with relative frequencies.

    A word seen in training has ``log p(word | symbol)``; it takes no symbol it was not seen with, unless it was seen
    once only. Any other word is judged by its kind (capital, digit, hyphen) and longest known suffix, with the
    frequencies of the words seen once: ``log p(word seen once | symbol) p(kind, suffix | symbol, word seen once)``, the longer suffixes
    smoothed with the shorter ones.

    Attributes
    ----------
    grammar : Grammar
    rule_score, top_score : float64 arrays
        Log relative frequencies of the rules, and of the symbols at the top (``-inf`` for the others).
    """
