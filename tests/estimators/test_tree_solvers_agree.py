"""Every solver reaches the same optimum of one problem of real size: trees over sentences of a treebank.

The perceptrons are left out: they minimise no objective, so there is no optimum that they could share.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from maxmargin import TreeSVM
from maxmargin._compiled import jit_disabled
from maxmargin.data import Tree, read_trees
from maxmargin.solvers import BY_NAME, by_name
from maxmargin.solvers.frank_wolfe import FrankWolfe
from maxmargin.status import Status
from maxmargin.structures.base import Encoded, true_output
from maxmargin.structures.grammar import clean
from maxmargin.structures.tree import TreeStructure

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(jit_disabled(), reason="takes too long with NUMBA_DISABLE_JIT"),
]

# Both terms of the objective count at this C, as a test asserts; at twice this C the cutting planes take twice as long.
C = 0.01
N_SENTENCES, FEWEST_WORDS, MOST_WORDS = 50, 5, 8

SOLVERS: dict[str, Any] = {
    "frank_wolfe": by_name("frank_wolfe"),
    "frank_wolfe, away steps": FrankWolfe("away"),
    "frank_wolfe, plain steps": FrankWolfe("plain"),
    "n_slack": by_name("n_slack"),
    "one_slack": by_name("one_slack"),
    "bundle": by_name("bundle"),
    "gradient_descent": by_name("gradient_descent"),
    "subgradient": by_name("subgradient"),
    "pegasos": by_name("pegasos"),
}
# Plain steps and subgradients converge sublinearly: every further digit takes ten times as long, or more.
TOLERANCES = {
    **dict.fromkeys(SOLVERS, 1e-6),
    **{"frank_wolfe, plain steps": 1e-4, "gradient_descent": 1e-2, "subgradient": 1e-2, "pegasos": 5e-2},
}
TIGHT = [name for name, tol in TOLERANCES.items() if tol == 1e-6]

Reals = NDArray[np.float64]
Fit = Callable[[str], TreeSVM]


@pytest.fixture(scope="module")
def trees(data_folder: Path) -> list[Tree]:
    path = data_folder / "gum_constituency" / "train.mrg.gz"
    if not path.exists():
        pytest.skip(f"{path} is missing")
    short = [tree for tree in read_trees(path) if FEWEST_WORDS <= len(tree.leaves()) <= MOST_WORDS]
    assert len(short) >= N_SENTENCES
    return short[:N_SENTENCES]


def words(trees: list[Tree]) -> list[list[str]]:
    return [tree.leaves() for tree in trees]


@pytest.fixture(scope="module")
def fit(trees: list[Tree]) -> Fit:
    """The fitted model of a solver; each is fitted once."""

    @functools.cache
    def fitted(name: str) -> TreeSVM:
        model = TreeSVM(C=C, solver=SOLVERS[name], tol=TOLERANCES[name], max_passes=500, random_state=0)
        return model.fit(words(trees), trees)

    return fitted


@pytest.fixture(scope="module")
def primal(trees: list[Tree], fit: Fit) -> Callable[[Reals], float]:
    """The objective of weights, by the structure's functions alone: none of a solver."""
    structure = fit("frank_wolfe").structure_
    encoded = structure.encode(words(trees), trees)

    def objective(w: Reals) -> float:
        return 0.5 * math.fsum(w * w) + C * math.fsum(slack(structure, encoded, i, w) for i in range(len(trees)))

    return objective


def slack(structure: TreeStructure, encoded: Encoded, i: int, w: Reals) -> float:
    """``max_y Delta(y_i, y) + <w, psi_i(y)>``, as the decoder scores it and again as its output is worth."""
    pack = encoded.pack
    theta = np.zeros(encoded.n_potentials)
    structure.potentials(pack, w, i, theta)
    augmented, best = theta.copy(), np.zeros(encoded.n_output, np.int32)
    constant = structure.augment(pack, i, augmented)
    true_score = score(structure, encoded, i, theta, true_output(pack, i).copy())
    found = float(constant + structure.decode(pack, i, augmented, best)) - true_score
    worth = structure.loss(pack, i, best) + score(structure, encoded, i, theta, best) - true_score
    assert found == pytest.approx(worth, rel=1e-12, abs=1e-12)
    return found


def score(structure: TreeStructure, encoded: Encoded, i: int, theta: Reals, out: NDArray[np.int32]) -> float:
    """Sum of the potentials that an output uses."""
    parts = np.zeros(encoded.n_parts, np.int32)
    return math.fsum(theta[parts[: structure.parts(encoded.pack, i, out, parts)]])


def test_no_solver_with_an_optimum_is_left_out() -> None:
    assert set(BY_NAME) - set(SOLVERS) == {"perceptron", "averaged_perceptron"}


def test_the_problem_is_not_trivial(fit: Fit, primal: Callable[[Reals], float], trees: list[Tree]) -> None:
    """The optimum is far from zero weights, both terms count there, and some trees are still wrong."""
    model = fit("frank_wolfe")
    w, value = model.coef_, model.certificate_.primal
    assert value < 0.8 * primal(np.zeros_like(w))
    assert 0.1 * value < 0.5 * float(w @ w) < 0.9 * value
    right = sum(found == clean(true) for found, true in zip(model.predict(words(trees)), trees, strict=True))
    assert 0.1 * len(trees) < right < 0.9 * len(trees)


@pytest.mark.parametrize("name", SOLVERS)
def test_each_solver_converges_to_its_tolerance(name: str, fit: Fit, primal: Callable[[Reals], float]) -> None:
    """By the objective of the test's own arithmetic and the solver's lower bound."""
    model = fit(name)
    certificate, own = model.certificate_, primal(model.coef_)
    assert certificate.status is Status.CONVERGED, certificate
    assert certificate.primal == pytest.approx(own, rel=1e-12)
    assert 0.0 < own - certificate.dual <= TOLERANCES[name] * own


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(SOLVERS, 2)))
def test_every_two_solvers_enclose_one_optimum(
    first: str, second: str, fit: Fit, primal: Callable[[Reals], float]
) -> None:
    """The lower bound of each is below the objective of the other, and the weights are as near as the gaps promise."""
    a, b = fit(first), fit(second)
    own_a, own_b = primal(a.coef_), primal(b.coef_)
    assert a.certificate_.dual <= own_b
    assert b.certificate_.dual <= own_a
    # the objective grows at least as 1/2 |w - w*|^2 around its minimiser
    radius = sum(math.sqrt(2.0 * (own - m.certificate_.dual)) for own, m in ((own_a, a), (own_b, b)))
    assert np.linalg.norm(a.coef_ - b.coef_) <= radius


def test_values_agree_to_six_digits(fit: Fit, primal: Callable[[Reals], float]) -> None:
    primals = np.array([primal(fit(name).coef_) for name in TIGHT])
    duals = np.array([fit(name).certificate_.dual for name in TIGHT])
    assert len(TIGHT) == 5
    assert np.ptp(primals) <= 1e-6 * primals.min()
    assert np.ptp(duals) <= 1e-6 * primals.min()
