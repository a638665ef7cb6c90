"""Solvers: how the optimum is found, one algorithm a file.

Names that the estimators accept stand in :data:`BY_NAME`; every solver is tried on every structure.
"""

from __future__ import annotations

from typing import Any

__all__ = ["BY_NAME", "by_name"]

BY_NAME = {
    "frank_wolfe": ("frank_wolfe", "FrankWolfe", {}),
    "n_slack": ("n_slack", "NSlack", {}),
    "one_slack": ("one_slack", "OneSlack", {}),
    "bundle": ("bundle", "Bundle", {}),
    "gradient_descent": ("gradient_descent", "GradientDescent", {}),
    "subgradient": ("subgradient", "Subgradient", {}),
    "pegasos": ("subgradient", "Pegasos", {}),
    "averaged_perceptron": ("perceptron", "Perceptron", {"average": True}),
    "perceptron": ("perceptron", "Perceptron", {"average": False}),
}


def by_name(solver: Any) -> Any:
    """The solver of a name (``"auto"`` is Frank-Wolfe), or the object itself when it is a solver.

    Raises
    ------
    ValueError
        For an unknown name: lists the known ones.
    """
    if not isinstance(solver, str):
        if not isinstance(solver, type) and callable(getattr(solver, "start", None)) and hasattr(solver, "name"):
            return solver
        raise ValueError(f"solver must be one of {sorted(BY_NAME)} or a solver object, not {solver!r}")
    from importlib import import_module

    name = "frank_wolfe" if solver == "auto" else solver
    if name not in BY_NAME:
        raise ValueError(f"unknown solver {solver!r}; known ones: {', '.join(sorted(BY_NAME))}, auto")
    module, cls, options = BY_NAME[name]
    return getattr(import_module(f".{module}", __name__), cls)(**options)
