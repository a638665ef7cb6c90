"""Ranking from graded documents: losses of ordered pairs without listing the pairs, and a solver for them."""
