"""The public check of a structure: does it do what solvers rely on?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import DataError
from .base import Structure
from .check_compiled import COMPILED_CHECKS, CompiledCheck
from .check_plain import PLAIN_CHECKS, PlainCheck
from .check_report import CheckReport, Finding, Ledger
from .check_tools import Candidates
from .plain import check_is_structure
from .values import examples_of

__all__ = ["CheckReport", "Finding", "check_structure"]


def check_structure(
    structure: Any,
    X: Any,
    Y: Sequence[Any],
    *,
    candidates: Candidates | None = None,
    reference: Any = None,
    n_weights: int = 5,
    random_state: int | np.random.Generator | None = 0,
    max_outputs: int = 20_000,
    raise_errors: bool = True,
) -> CheckReport:
    """Check a structure on a few examples: small ones, whose outputs can all be listed, prove most.

    A plain structure (methods ``joint_features``, ``loss`` and ``argmax``) must return the maximum, also with the loss
    added; its loss must be 0 for the truth and nowhere negative, its features finite and of one length; it must not
    write to ``w`` or to its inputs, and must give the same answers when two threads call it. The maximum is compared
    with the ``candidates`` if these are given, else with all outputs from ``structure.outputs(x)`` if there is such a
    method, else with outputs met, which are argmaxes under other weights; a truth of another example that would be
    better is told of in a remark, as it need not be an output of this one. Joint features and losses of truths and
    argmaxes are asked for twice.

    For a compiled structure (a :class:`~maxmargin.structures.Structure`) the same is checked of ``decode``, ``loss``
    and the feature map, and further: that each function compiles to the signature that solvers call, and then computes
    what its Python source does; that ``augment`` adds up to ``loss``, ``potentials_at`` equals ``potentials`` and
    ``features`` is their gradient; that the sizes given by ``encode`` suffice; that ``encode`` undoes ``output``. The
    structure may list the output vectors of an example in a method ``outputs(encoded, i)``; ``candidates`` are outputs
    as in ``Y``.

    Parameters
    ----------
    structure : object
    X, Y : sequences
        Inputs and true outputs, as for training.
    candidates : sequence of collections, or callable, optional
        Outputs of each example to compare with, or a function ``x -> outputs``.
    reference : plain structure, optional
        For compiled structures: one in plain Python that must have the same losses, joint features (in the same order
        of the weights) and best scores. Its ``outputs(x)`` is used where nothing else lists the outputs.
    n_weights : int
        Random weight vectors to try, besides zero.
    random_state : int, Generator or None
    max_outputs : int
        Most outputs compared with on one example.
    raise_errors : bool
        Raise at the first fault; if false, go on and return the first fault of every check in the report.

    Returns
    -------
    CheckReport
        What was checked on how many examples; prints as a table.

    Raises
    ------
    StructureError
        When a class is given instead of an instance, and at the first fault: names the class, the example, the numbers
        that disagree, and what to mend.
    DataError
        When there is no example, or ``X``, ``Y`` and ``candidates`` do not fit together.
    """
    if n_weights < 1 or max_outputs < 1:
        raise ValueError(f"n_weights and max_outputs must be at least 1, not {n_weights!r} and {max_outputs!r}")
    if isinstance(structure, type):
        check_is_structure(structure)
    compiled = isinstance(structure, Structure)  # its encode knows other forms of X
    for name, values in (("Y", Y),) if compiled else (("X", X), ("Y", Y)):
        if not hasattr(values, "__len__"):
            raise DataError(f"{name} must be a list of examples, not a {type(values).__name__}")
    if len(Y) == 0:
        raise DataError("no example to check the structure on; give a few small ones")
    if not compiled and len(X) != len(Y):
        raise DataError(f"X has {len(X)} examples but Y has {len(Y)}")
    checks = COMPILED_CHECKS if compiled else PLAIN_CHECKS
    ledger = Ledger(type(structure).__name__, checks, raise_errors=raise_errors)
    rng = np.random.default_rng(random_state)
    if compiled:
        CompiledCheck(structure, X, Y, ledger, candidates, reference, n_weights, rng, max_outputs).run()
    else:
        X, Y = examples_of(X, "X", "examples"), examples_of(Y, "Y", "outputs")
        PlainCheck(structure, X, Y, ledger, candidates, n_weights, rng, max_outputs).run()
    return ledger.report("compiled" if compiled else "plain", len(Y))
