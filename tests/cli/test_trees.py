"""Trees on the command line: with the estimator, and with a stand-in that shows what an estimator has to offer."""

from __future__ import annotations

import importlib.util
import json
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maxmargin._estimator import MarginEstimator
from maxmargin.data import Tree, parse_tree, read_trees
from maxmargin.metrics import bracket_scores
from maxmargin.problem import Certificate
from maxmargin.status import Status

Run = Callable[..., Any]

TREES = "(S (NP (DT the) (NN cat)) (VP (VBZ sits)))\n(S (NP (NNS dogs)) (VP (VBP bark)))\n"


class StandIn(MarginEstimator):
    """Knows the sentences that it has seen; all others are flat."""

    def __init__(
        self, C: float = 1.0, *, tol: float = 1e-2, max_passes: int = 10, max_time: float | None = None,
        solver: str = "auto", n_jobs: int | None = None, random_state: int | None = None, verbose: int = 0,
        warm_start: bool = False, callback: Any = None,
    ) -> None:  # fmt: skip
        self.C, self.tol, self.max_passes, self.max_time, self.solver = C, tol, max_passes, max_time, solver
        self.n_jobs, self.random_state, self.verbose = n_jobs, random_state, verbose
        self.warm_start, self.callback = warm_start, callback

    def fit(self, X: list[list[str]], y: list[Tree], sample_weight: Any = None) -> StandIn:
        assert [tree.leaves() for tree in y] == X
        self._from_parts({"trees": [str(tree) for tree in y], "coef": np.zeros(3)})
        self.certificate_ = Certificate(1.0, 1.0, 0.5, 0.0, 1, 2, 0.1, self.C, len(y), "none", Status.CONVERGED)
        self.history_ = []
        return self

    def predict(self, X: list[list[str]]) -> list[Tree]:
        return [self.known.get(tuple(words), Tree("X", tuple(words))) for words in X]

    def _to_parts(self) -> dict[str, Any]:
        return {"trees": self.trees_, "coef": self.coef_}

    def _from_parts(self, parts: dict[str, Any]) -> None:
        self.trees_, self.coef_ = parts["trees"], parts["coef"]
        self.known = {tuple(tree.leaves()): tree for tree in map(parse_tree, self.trees_)}


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in takes the place of the estimator."""
    module: Any = types.ModuleType("maxmargin.tree")
    module.TreeSVM = type("TreeSVM", (StandIn,), {"__module__": "maxmargin.tree", "__init__": StandIn.__init__})
    monkeypatch.setitem(sys.modules, "maxmargin.tree", module)


@pytest.fixture
def trees(folder: Path) -> str:
    """A small treebank."""
    (folder / "train.mrg").write_text(TREES)
    return "train.mrg"


def there_and_back(run: Run, ok: Run, trees: str) -> None:
    """Train, predict from trees and from sentences, evaluate, inspect."""
    outcome = run("train", trees, "-o", "m", "-C", "10")
    assert outcome.status == 0
    assert "maxmargin: train.mrg: brackets (by its name), task tree\n" in outcome.err
    assert ok("predict", "m", trees).out == TREES
    assert ok("predict", "m", "-", stdin="the cat sits\n\n dogs  bark \n").out == TREES
    found = ok("predict", "m", "-", "--unlabelled", stdin="dogs bark\n").out
    assert found == TREES.splitlines()[1] + "\n"
    expected = bracket_scores(read_trees(trees), read_trees(trees)).table(10**6) + "\n"
    assert ok("evaluate", "m", trees).out == expected
    assert run("evaluate", "m", "-", stdin="dogs bark\n").error == "<stdin>: has no labels to compare with"
    assert json.loads(ok("inspect", "m", "--json").out)["parameters"]["C"] == 10
    assert ok("inspect", "m").out.startswith("m: TreeSVM (")
    ok("train", trees, "-o", "m2", "--warm-start", "m", "--test", trees)


@pytest.mark.usefixtures("stand_in")
def test_an_estimator_slots_in(run: Run, ok: Run, trees: str) -> None:
    there_and_back(run, ok, trees)
    assert ok("predict", "m", "-", stdin="dogs sit\n").out == "(X dogs sit)\n"


@pytest.mark.skipif(importlib.util.find_spec("maxmargin.tree") is None, reason="there is no tree estimator yet")
def test_the_tree_estimator(run: Run, ok: Run, trees: str) -> None:
    there_and_back(run, ok, trees)


@pytest.mark.usefixtures("stand_in")
def test_faults_in_trees(run: Run, ok: Run, trees: str) -> None:
    ok("train", trees, "-o", "m")
    for text, message in (
        ("(S (NP a))\n(S b", "<stdin>:2: this bracket is never closed: '(S'"),
        ("(S (NP a)) b\n", "<stdin>: has no labels"),  # a sentence of odd words
    ):
        outcome = run("evaluate", "m", "-", stdin=text)
        assert outcome.status == 2
        assert outcome.error.startswith(message)
    outcome = run("train", "-", "-o", "m", "--format", "brackets", "-q", stdin="(S (NP a)) b\n")
    assert outcome.error == "<stdin>:1: text outside of brackets: 'b'"
