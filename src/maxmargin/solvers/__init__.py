"""Solvers: how the optimum is found, one algorithm a file."""
