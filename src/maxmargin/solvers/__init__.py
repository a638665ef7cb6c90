"""Solvers: how the optimum is found, one algorithm a file.

Names that the estimators accept stand in :data:`BY_NAME`; every solver is tried on every structure. The classes whose
objects carry options are here too, ``from maxmargin.solvers import Subgradient``: each is loaded at its first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bundle import Bundle
    from .frank_wolfe import FrankWolfe
    from .gradient_descent import GradientDescent
    from .kernel.block_smo import BlockSMO
    from .kernel.interior_point import KernelInteriorPoint
    from .kernel.newton import KernelNewton
    from .linear.active_set import ActiveSet
    from .linear.block_ascent import BlockAscent
    from .linear.coordinate_ascent import CoordinateAscent
    from .linear.crammer_singer import CrammerSinger
    from .linear.interior_point import InteriorPoint
    from .linear.multiclass_block_ascent import MulticlassBlockAscent
    from .linear.multiclass_interior_point import MulticlassInteriorPoint
    from .linear.newton import Newton
    from .n_slack import NSlack
    from .one_slack import OneSlack
    from .perceptron import Perceptron
    from .projected_gradient import ProjectedGradient
    from .ranking.newton import TruncatedNewton
    from .subgradient import Pegasos, Subgradient

__all__ = [
    "ActiveSet",
    "BY_NAME",
    "BlockAscent",
    "BlockSMO",
    "Bundle",
    "CoordinateAscent",
    "CrammerSinger",
    "FrankWolfe",
    "GradientDescent",
    "InteriorPoint",
    "KernelInteriorPoint",
    "KernelNewton",
    "MulticlassBlockAscent",
    "MulticlassInteriorPoint",
    "NSlack",
    "Newton",
    "OneSlack",
    "Pegasos",
    "Perceptron",
    "ProjectedGradient",
    "Subgradient",
    "TruncatedNewton",
    "by_name",
    "is_solver",
]

_HOME_OF = {
    "ActiveSet": "linear.active_set",
    "BlockAscent": "linear.block_ascent",
    "BlockSMO": "kernel.block_smo",
    "Bundle": "bundle",
    "CoordinateAscent": "linear.coordinate_ascent",
    "CrammerSinger": "linear.crammer_singer",
    "FrankWolfe": "frank_wolfe",
    "GradientDescent": "gradient_descent",
    "InteriorPoint": "linear.interior_point",
    "KernelInteriorPoint": "kernel.interior_point",
    "KernelNewton": "kernel.newton",
    "MulticlassBlockAscent": "linear.multiclass_block_ascent",
    "MulticlassInteriorPoint": "linear.multiclass_interior_point",
    "NSlack": "n_slack",
    "Newton": "linear.newton",
    "OneSlack": "one_slack",
    "Pegasos": "subgradient",
    "Perceptron": "perceptron",
    "ProjectedGradient": "projected_gradient",
    "Subgradient": "subgradient",
    "TruncatedNewton": "ranking.newton",
}

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


def is_solver(value: Any) -> bool:
    """Whether it is an object of a solver, and no name or class of one."""
    return not isinstance(value, type) and callable(getattr(value, "start", None)) and hasattr(value, "name")


def by_name(solver: Any) -> Any:
    """The solver of a name (``"auto"`` is Frank-Wolfe), or the object itself when it is a solver.

    Raises
    ------
    ValueError
        For an unknown name: lists the known ones.
    """
    if not isinstance(solver, str):
        if is_solver(solver):
            return solver
        raise ValueError(f"solver must be one of {sorted(BY_NAME)} or a solver object, not {solver!r}")
    name = "frank_wolfe" if solver == "auto" else solver
    if name not in BY_NAME:
        raise ValueError(f"unknown solver {solver!r}; known ones: {', '.join(sorted(BY_NAME))}, auto")
    module, cls, options = BY_NAME[name]
    return getattr(import_module(f".{module}", __name__), cls)(**options)


def __getattr__(name: str) -> Any:
    """Load a class from its module at its first use."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
