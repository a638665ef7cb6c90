"""Perceptrons say how many mistakes they made, whatever is predicted; other solvers say nothing of the kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from maxmargin import AUCClassifier, MulticlassSVM, SequenceSVM, StructuredSVM, SVMClassifier, TreeSVM
from maxmargin.data import parse_tree
from maxmargin.status import Status
from solvers.enumeration import multiclass_case, plain_case

RNG = np.random.default_rng(0)
Y = np.arange(30) % 3
X = RNG.normal(size=(30, 3)) + 4.0 * np.eye(3)[Y]
TREES = [parse_tree("(S (A a) (B b))"), parse_tree("(S (B b) (A a))")]
OWN = plain_case(multiclass_case(X, Y)).structure
FITS: dict[str, Callable[[Any], Any]] = {
    "multiclass": lambda model: model.fit(X, Y),
    "sequence": lambda model: model.fit([[["a"], ["b"]], [["b"], ["c"]]], [["P", "Q"], ["Q", "P"]]),
    "tree": lambda model: model.fit([tree.leaves() for tree in TREES], TREES),
    "structured": lambda model: model.fit(range(30), list(enumerate(Y))),
}
MODELS: dict[str, Any] = {
    "multiclass": MulticlassSVM(),
    "sequence": SequenceSVM(),
    "tree": TreeSVM(),
    "structured": StructuredSVM(OWN),
}


@pytest.mark.parametrize("solver", ["perceptron", "averaged_perceptron"])
@pytest.mark.parametrize("name", FITS)
def test_of_structures(name: str, solver: str) -> None:
    """On separable data a last pass has none, and the status says so."""
    model = MODELS[name].set_params(solver=solver, random_state=0, max_passes=1000)
    FITS[name](model)
    assert model.certificate_.status is Status.SEPARATED
    assert model.certificate_.training_risk == 0.0
    assert model.n_mistakes_.shape == (1,)
    assert model.n_mistakes_.dtype == np.int64
    assert 0 < model.n_mistakes_[0] <= model.certificate_.oracle_calls
    FITS[name](model.set_params(solver="frank_wolfe"))
    assert not hasattr(model, "n_mistakes_")


def test_none_is_left_of_an_earlier_fit() -> None:
    """Not by solvers that see rows, nor by a fit to other problems."""
    model = MulticlassSVM(solver="perceptron").fit(X, Y)
    assert model.n_mistakes_.sum() > 0
    assert not hasattr(model.set_params(solver="coordinate_ascent").fit(X, Y), "n_mistakes_")
    three = SVMClassifier(solver="perceptron", max_passes=1000).fit(X, Y)
    assert three.n_mistakes_.shape == (3,)
    assert three.set_params(solver="perceptron").fit(X, Y > 0).n_mistakes_.shape == (1,)
    assert not hasattr(AUCClassifier().fit(X, Y > 0), "n_mistakes_")
