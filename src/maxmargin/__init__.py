"""Structured and plain large-margin learning: one problem, one engine, and a certificate with every answer.

The names below are loaded at their first use, so that ``import maxmargin`` and the command line start at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .auc import AUCClassifier
    from .classifier import SVMClassifier
    from .compare import compare_solvers
    from .hard_margin import HardMarginSVM
    from .hmm import GenerativeHMM
    from .kkt import kkt_report
    from .model_file import load_model, save_model
    from .multiclass import MulticlassSVM
    from .one_class import OneClassSVM
    from .path import SVMPath, svm_path
    from .problem import Certificate
    from .ranking import SVMRanker
    from .regressor import SVMRegressor
    from .search import SVMClassifierCV, SVMRegressorCV
    from .sequence import SequenceSVM
    from .structured import StructuredSVM
    from .structures.check import check_structure
    from .tree import TreeSVM

__all__ = [
    "AUCClassifier",
    "Certificate",
    "GenerativeHMM",
    "HardMarginSVM",
    "MulticlassSVM",
    "OneClassSVM",
    "SVMClassifier",
    "SVMClassifierCV",
    "SVMPath",
    "SVMRanker",
    "SVMRegressor",
    "SVMRegressorCV",
    "SequenceSVM",
    "StructuredSVM",
    "TreeSVM",
    "__version__",
    "check_structure",
    "compare_solvers",
    "kkt_report",
    "load_model",
    "save_model",
    "svm_path",
]

_HOME_OF = {
    "AUCClassifier": "auc",
    "Certificate": "problem",
    "GenerativeHMM": "hmm",
    "HardMarginSVM": "hard_margin",
    "MulticlassSVM": "multiclass",
    "OneClassSVM": "one_class",
    "SVMClassifier": "classifier",
    "SVMClassifierCV": "search",
    "SVMPath": "path",
    "SVMRanker": "ranking",
    "SVMRegressor": "regressor",
    "SVMRegressorCV": "search",
    "SequenceSVM": "sequence",
    "StructuredSVM": "structured",
    "TreeSVM": "tree",
    "check_structure": "structures.check",
    "compare_solvers": "compare",
    "kkt_report": "kkt",
    "load_model": "model_file",
    "save_model": "model_file",
    "svm_path": "path",
}


def __getattr__(name: str) -> Any:
    """Load a public name from its module at its first use."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
