"""Decoders: the best output for given potentials. Pure combinatorics, without features and without learning.

Each works on plain arrays of scores, wherever they come from: a linear model, a neural network, a grammar. The
functions below check their input; the ``*_core`` functions in their modules are compiled, check nothing, and are meant
for compiled callers.
"""

# Not loaded lazily: a module such as `viterbi` would take the place of the function of that name as soon as anybody
# imports from it. It costs nothing, since no decoder does without Numba; compilation waits for the first call.
from .argmax import argmax
from .cky import Constituent, Parse, cky, span_index
from .viterbi import max_marginals, viterbi, viterbi_k_best

__all__ = ["argmax", "viterbi", "viterbi_k_best", "max_marginals", "cky", "Parse", "Constituent", "span_index"]
