"""Solvers are names of their package, and each of their options is checked when an object is made."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import maxmargin.solvers
from maxmargin import SVMClassifier
from maxmargin.solvers import (
    BY_NAME,
    BlockSMO,
    Bundle,
    CoordinateAscent,
    CrammerSinger,
    FrankWolfe,
    GradientDescent,
    NSlack,
    OneSlack,
    Pegasos,
    Perceptron,
    ProjectedGradient,
    Subgradient,
    TruncatedNewton,
    by_name,
)

CLASSES = [name for name in maxmargin.solvers.__all__ if isinstance(getattr(maxmargin.solvers, name), type)]
NO_NUMBERS = ["x", "1", True, np.True_, None, [1], np.zeros(3), 1j, math.nan, 10**400]
NO_INTEGERS = [*NO_NUMBERS, 2.5, 3.0, math.inf, Fraction(5, 2), 10**5000]
NO_SWITCHES = ["yes", 0, 1, None, 1.0, [True]]
NO_NAMES = ["x", "", 1, True, ["none"], np.zeros(3)]

NUMBERS = [
    (GradientDescent, "epsilon", [-1e-9, math.inf], [0, 0.5, np.float32(0.5), Fraction(1, 3)]),
    (Subgradient, "c", [0.0, -1.0, math.inf], [1e-9, 3, np.float64(2.0), None]),
    (Subgradient, "power", [-1.0, -math.inf, math.inf], [-0.5, 0, 3, None]),
    (Subgradient, "momentum", [-0.1, 1.0, math.inf], [0, 0.9]),
    (Bundle, "radius", [0.0, -1.0, math.inf], [1, 0.5, np.float32(2.0), None]),
    (Bundle, "share", [0.0, 1.1, math.inf], [1, 0.1]),
    (BlockSMO, "cache_mb", [0.0, -1.0, -math.inf], [0.5, 100]),
    (ProjectedGradient, "cache_mb", [0.0, -1.0, -math.inf], [0.5, 100]),
]
INTEGERS = [
    (Subgradient, "batch", 1), (Pegasos, "batch", 1), (Bundle, "keep_rounds", 1), (FrankWolfe, "sweeps", 0),
    (NSlack, "batch", 1), (NSlack, "max_sweeps", 1), (OneSlack, "cached_rounds", 0), (OneSlack, "keep_rounds", 1),
    (TruncatedNewton, "most_products", 1), (BlockSMO, "block", 2),
]  # fmt: skip
SWITCHES = [
    (Subgradient, "variance_reduction"), (Subgradient, "project"), (Pegasos, "project"), (FrankWolfe, "average"),
    (Perceptron, "average"), (Perceptron, "permuted"), (CoordinateAscent, "shrinking"), (CrammerSinger, "shrinking"),
    (ProjectedGradient, "accelerated"),
]  # fmt: skip
NAMES = [
    (Subgradient, "step", True), (Subgradient, "averaging", True), (Subgradient, "order", False),
    (FrankWolfe, "steps", False), (FrankWolfe, "sampling", False),
]  # fmt: skip


def refused(kind: Any, name: str, value: Any, what: str = "") -> None:
    with pytest.raises(ValueError, match=f"^{kind.__name__}: {name} must be .*{what}") as e:
        kind(**{name: value})
    assert "\n" not in str(e.value)
    assert ", not " in str(e.value)


def test_every_solver_is_a_name_of_the_package() -> None:
    for name in BY_NAME:
        kind = type(by_name(name))
        assert getattr(maxmargin.solvers, kind.__name__) is kind
    for name in CLASSES:
        kind = getattr(maxmargin.solvers, name)
        assert getattr(import_module(kind.__module__), name) is kind
        assert isinstance(kind().name, str)
        assert callable(kind().start)
        assert name in dir(maxmargin.solvers)
    for kind in ("CoordinateAscent", "InteriorPoint", "Newton", "ProjectedGradient", "BlockSMO"):
        assert kind in CLASSES
    with pytest.raises(AttributeError, match="module 'maxmargin.solvers' has no attribute 'Simplex'"):
        _ = maxmargin.solvers.Simplex
    assert by_name("subgradient") == Subgradient()


def test_no_option_is_left_out() -> None:
    tried = {(kind, name) for kind, name, *_ in [*NUMBERS, *INTEGERS, *SWITCHES, *NAMES]}
    for kind in {kind for kind, _ in tried}:
        options = {(kind, field.name) for field in dataclasses.fields(kind)}
        assert options - tried <= {(GradientDescent, "start_at")}


@pytest.mark.parametrize(("kind", "name", "out_of_range", "good"), NUMBERS)
def test_numbers(kind: Any, name: str, out_of_range: list[Any], good: list[Any]) -> None:
    for value in NO_NUMBERS:
        if not (value is None and None in good):
            refused(kind, name, value)
    for value in out_of_range:
        refused(kind, name, value, f"not {value!r}$")
    refused(kind, name, "x", "not 'x', which is no number$")
    for value in good:
        assert getattr(kind(**{name: value}), name) == value


@pytest.mark.parametrize(("kind", "name", "low"), INTEGERS)
def test_integers(kind: Any, name: str, low: int) -> None:
    for value in [*NO_INTEGERS, low - 1, -1]:
        refused(kind, name, value)
    refused(kind, name, 2.5, "not 2.5, which is no integer$")
    for value in (low, np.int64(7)):
        assert getattr(kind(**{name: value}), name) == value


@pytest.mark.parametrize(("kind", "name"), SWITCHES)
def test_switches(kind: Any, name: str) -> None:
    for value in NO_SWITCHES:
        refused(kind, name, value, "True or False, not")
    for value in (True, False, np.True_):
        assert getattr(kind(**{name: value}), name) == value


@pytest.mark.parametrize(("kind", "name", "optional"), NAMES)
def test_names(kind: Any, name: str, optional: bool) -> None:
    for value in NO_NAMES:
        refused(kind, name, value, "one of '")
    if optional:
        assert getattr(kind(**{name: None}), name) is None
    else:
        refused(kind, name, None, "one of '")


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ([math.nan] * 6, "have 6 finite numbers; entry 0 is nan"),
        ([0.0, 1.0, -math.inf], "have 3 finite numbers; entry 2 is -inf"),
        ("one", "be 'zero', 'random' or an array, not 'one'"),
        (None, "be 'zero', 'random' or an array of numbers, not None"),
        (True, "be 'zero', 'random' or an array of numbers, not True"),
        (1.0, "be 'zero', 'random' or an array of numbers, not 1.0"),
        (["1", "2"], "be 'zero', 'random' or an array of numbers, not"),
        ([True, False], "be 'zero', 'random' or an array of numbers, not"),
        ([None, 1.0], "have 2 finite numbers; entry 0 is nan"),
        ([1j], "be 'zero', 'random' or an array of numbers, not"),
        ([[1.0], [1.0, 2.0]], "be 'zero', 'random' or an array of numbers, not"),
        ([10**400], "be 'zero', 'random' or an array of numbers, not"),
    ],
)
def test_starts(start: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^GradientDescent: start_at must {message}"):
        GradientDescent(start_at=start)


def test_a_start_of_another_length_is_refused_by_the_fit() -> None:
    with pytest.raises(ValueError, match=r"start_at must have 2 finite numbers; its shape is \(3,\)"):
        SVMClassifier(solver=GradientDescent(start_at=np.zeros(3))).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    "options",
    [
        {"power": 1.0, "averaging": "uniform"},
        {"project": True, "momentum": 0.5},
        {"variance_reduction": True, "momentum": 0.5},
    ],
)
def test_options_that_contradict_each_other_are_refused_in_the_name_of_the_solver(options: Any) -> None:
    with pytest.raises(ValueError, match="^Subgradient: "):
        Subgradient(**options)
