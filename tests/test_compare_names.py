"""Names of the rows of a comparison, and what is no solver."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maxmargin import SVMClassifier, compare_solvers
from maxmargin.solvers import Bundle, FrankWolfe, Subgradient

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.where(X[:, 0] + RNG.normal(size=60) > 0.0, 1, -1)
MODEL = SVMClassifier(0.05, max_passes=20, random_state=0)


def names(solvers: Any) -> list[str]:
    return [run.name for run in compare_solvers(MODEL, X, Y, solvers).runs]


def test_solvers_of_one_name_are_told_apart_by_their_options() -> None:
    steps = [Subgradient(step="1/t"), Subgradient(step="1/sqrt(t)", momentum=0.5), "bundle"]
    assert names(steps) == ["subgradient step=1/t", "subgradient step=1/sqrt(t), momentum=0.5", "bundle"]
    assert names([Subgradient(step="1/t"), "bundle"]) == ["subgradient", "bundle"]
    assert names(["bundle", "bundle", "bundle"]) == ["bundle", "bundle (2)", "bundle (3)"]
    assert names(Subgradient(step="1/t")) == ["subgradient"]


def test_a_mapping_names_them() -> None:
    found = compare_solvers(MODEL, X, Y, {"short steps": Subgradient(step="1/t"), "planes": "bundle"})
    assert [run.name for run in found.runs] == ["short steps", "planes"]
    assert str(found).splitlines()[1].startswith("short steps")
    assert found.note == ""


def test_a_ball_is_another_problem() -> None:
    found = compare_solvers(MODEL, X, Y, {"ball": Bundle(radius=0.5), "penalty": "bundle"})
    assert found.note.startswith("ball has another problem")
    assert str(found).splitlines()[-1] == f"note: {found.note}"


@pytest.mark.parametrize(
    ("solvers", "what"),
    [
        ([0, 1], "solver 0 of the list is 0; give names .*coordinate_ascent"),
        (np.arange(60), "solver 0 of the list is "),
        (["bundle", Subgradient], "solver 1 of the list is <class"),
        ({"a": "b"}, "no solver 'b' here"),
        ({"good": "bundle", "my own": 3}, "solver my own is 3; give names"),
        ({}, "no solver to compare"),
        ([], "no solver to compare"),
        (3, "solvers must be a list"),
    ],
)
def test_what_is_no_solver(solvers: Any, what: str) -> None:
    with pytest.raises(ValueError, match=f"compare_solvers: {what}"):
        compare_solvers(MODEL, X, Y, solvers)


def test_what_is_for_other_problems_is_noted() -> None:
    found = compare_solvers(MODEL, X, Y, [FrankWolfe(), "bundle"])
    assert found.runs[0].name == "frank_wolfe"
    assert "is not for linear machines" in found.runs[0].refused
