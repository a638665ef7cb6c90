"""Ranking from graded documents: losses of ordered pairs, listed only where nothing else will do, and solvers."""
