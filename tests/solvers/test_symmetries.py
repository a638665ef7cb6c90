"""What must make no difference: how a weight is written, names, order, copies, threads, a fresh process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maxmargin.solvers import BY_NAME, by_name
from maxmargin.solvers.base import Solver
from maxmargin.solvers.compiled_oracle import CompiledOracle
from maxmargin.solvers.frank_wolfe import FrankWolfe
from maxmargin.solvers.loop import Result, minimize
from maxmargin.solvers.n_slack import NSlack
from maxmargin.solvers.one_slack import OneSlack
from maxmargin.solvers.perceptron import Perceptron
from solvers.enumeration import (
    Case,
    multiclass_case,
    named_cases,
    plain_case,
    random_sequences,
    random_tokens,
    sequence_case,
)

SOLVERS: dict[str, Solver] = {"frank_wolfe": FrankWolfe(), "n_slack": NSlack(), "one_slack": OneSlack()}
EVERY: dict[str, Solver] = {
    **SOLVERS,
    "gap": FrankWolfe("away", "gap", sweeps=3, average=True),
    "perceptron": Perceptron(),
    "batches": NSlack(batch=3),
}


def solved(case: Case, solver: str, weight: Any = None, C: float = 0.7) -> Result:
    return minimize(case.oracle, SOLVERS[solver], C=C, sample_weight=weight, tol=1e-9, max_passes=2000, random_state=0)


def assert_same_optimum(first: Result, second: Result) -> None:
    """Equal up to what their certificates leave open: ``1/2 |w - w*|^2`` is at most the gap."""
    a, b = first.certificate, second.certificate
    assert a.relative_gap <= 1e-9
    assert b.relative_gap <= 1e-9
    assert a.primal == pytest.approx(b.primal, rel=3e-9)
    apart = np.sqrt(2 * max(a.gap, 0)) + np.sqrt(2 * max(b.gap, 0))
    assert np.linalg.norm(first.w - second.w) <= apart + 1e-9 * (1 + np.linalg.norm(first.w))


def sequences(index: Any, seed: int = 3) -> Case:
    """Some sequences of a fixed collection, in the order given."""
    rng = np.random.default_rng(seed)
    lengths = [2, 3, 1, 4, 2]
    tokens, features = random_tokens(rng, lengths, "both")
    labels = [rng.integers(0, 3, n) for n in lengths]
    rows = np.concatenate([np.arange(tokens.start[i], tokens.start[i + 1]) for i in index])
    chosen, matrix = random_tokens(rng, [lengths[i] for i in index], "dense")
    assert chosen.dense is not None
    chosen.dense, matrix = features[rows], features[rows]
    return sequence_case(chosen, matrix, [labels[i] for i in index], 3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_weight_k_is_k_copies_and_weight_0_is_absence(solver: str) -> None:
    times = np.array([2, 1, 0, 3, 1])
    weighted = solved(sequences(range(5)), solver, times.astype(float))
    copied = solved(sequences(np.repeat(np.arange(5), times)), solver)
    assert_same_optimum(weighted, copied)
    assert weighted.certificate.risk_bound == pytest.approx(copied.certificate.risk_bound, abs=1e-4)
    assert (weighted.certificate.n_examples, copied.certificate.n_examples) == (4, 7)


@pytest.mark.parametrize("solver", SOLVERS)
def test_weights_and_C_are_one_thing(solver: str) -> None:
    case = sequences(range(5))
    assert_same_optimum(solved(case, solver, np.full(5, 4.0), C=0.2), solved(case, solver, C=0.8))


@pytest.mark.parametrize("solver", SOLVERS)
def test_examples_in_another_order(solver: str) -> None:
    assert_same_optimum(solved(sequences(range(5)), solver), solved(sequences([3, 0, 4, 1, 2]), solver))


@pytest.mark.parametrize("solver", SOLVERS)
def test_features_that_stand_twice(solver: str) -> None:
    """Each of two equal columns divided by ``sqrt(2)``: the same scores, the same objective."""
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(9, 2)), np.arange(9) % 3
    once, twice = multiclass_case(X, y), multiclass_case(np.hstack([X, X]) / np.sqrt(2), y)
    a, b = solved(once, solver), solved(twice, solver)
    assert a.certificate.primal == pytest.approx(b.certificate.primal, rel=3e-9)
    W = b.w.reshape(2, 2, 3)
    np.testing.assert_allclose(W[0], W[1], atol=1e-9)
    np.testing.assert_allclose(np.sqrt(2) * W[0].ravel(), a.w, atol=2e-4)


@pytest.mark.parametrize("kind", ["compiled", "plain"])
@pytest.mark.parametrize("solver", [*EVERY, *BY_NAME])
def test_the_units_of_features_and_losses(solver: str, kind: str) -> None:
    """``X -> a X``, ``Delta -> u Delta``, ``C -> u / a^2 C`` is ``w -> u / a w``; to the last bit for powers of 2."""
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 3
    costs = np.array([[0.0, 1.0, 2.5], [0.5, 0.0, 1.0], [2.0, 0.7, 0.0]])
    found = []
    for a, u in ((1.0, 1.0), (2.0**-20, 1.0), (2.0**20, 1.0), (1.0, 2.0**-20), (1.0, 2.0**20), (1e-6, 1.0), (1e6, 1.0)):
        case = multiclass_case(a * X, y, u * costs)
        oracle = (case if kind == "compiled" else plain_case(case)).oracle
        used = EVERY.get(solver) or by_name(solver)
        result = minimize(oracle, used, C=0.3 * u / a**2, tol=1e-6, max_passes=60, random_state=0)
        unit = a**2 if "perceptron" in solver else u  # whose steps are as long as the features, whatever the losses
        found.append((result.w * (a / unit), result.certificate, (a / u) ** 2))
    w, certificate, _ = found[0]
    for other, its, _ in found[1:5]:
        np.testing.assert_array_equal(other, w)
        assert its.passes == certificate.passes
    for other, its, to_ours in found[5:]:
        if solver != "gap":  # which draws its visits, and one that rounding changes leads elsewhere
            np.testing.assert_allclose(other, w, rtol=0, atol=1e-5 * np.abs(w).max())
        assert certificate.dual <= its.primal * to_ours * (1.0 + 1e-9)
        assert its.dual * to_ours <= certificate.primal * (1.0 + 1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_labels_with_other_numbers(solver: str) -> None:
    rng = np.random.default_rng(6)
    X, y, new = rng.normal(size=(9, 2)), np.arange(9) % 3, np.array([2, 0, 1])
    costs = np.array([[0.0, 1.0, 2.0], [0.5, 0.0, 1.0], [1.0, 3.0, 0.0]])
    moved = np.empty_like(costs)
    moved[np.ix_(new, new)] = costs
    a, b = solved(multiclass_case(X, y, costs), solver), solved(multiclass_case(X, new[y], moved), solver)
    assert a.certificate.primal == pytest.approx(b.certificate.primal, rel=3e-9)
    np.testing.assert_allclose(b.w.reshape(-1, 3)[:, new], a.w.reshape(-1, 3), atol=2e-4)


@pytest.fixture(scope="module")
def middling() -> CompiledOracle:
    """Enough examples for several chunks and threads, and planes that outgrow the first working set."""
    return random_sequences(150, (1, 12), 3)


def assert_identical(first: Result, second: Result) -> None:
    np.testing.assert_array_equal(first.w, second.w)
    for name in ("primal", "dual", "risk_bound", "training_risk", "passes", "status"):
        assert getattr(first.certificate, name) == getattr(second.certificate, name)
    assert [(r.passes, r.primal, r.dual) for r in first.history] == [
        (r.passes, r.primal, r.dual) for r in second.history
    ]


@pytest.mark.parametrize("solver", EVERY)
def test_threads_and_runs_are_bit_identical(middling: CompiledOracle, solver: str) -> None:
    results = [
        minimize(middling, EVERY[solver], C=0.1, tol=1e-4, max_passes=8, random_state=5, n_jobs=n_jobs, check_every=2)
        for n_jobs in (1, 1, 2, 4)
    ]
    for other in results[1:]:
        assert_identical(results[0], other)
    different = minimize(middling, EVERY[solver], C=0.1, tol=1e-4, max_passes=8, random_state=6, check_every=2)
    if solver != "one_slack":  # which visits in no random order
        assert (different.w != results[0].w).any()


def test_seeds_of_all_kinds() -> None:
    case = plain_case(named_cases()["costs"])
    runs = [
        minimize(case.oracle, FrankWolfe(), C=1.0, tol=1e-4, random_state=seed)
        for seed in (3, np.random.default_rng(3), np.int64(3))
    ]
    for other in runs[1:]:
        assert_identical(runs[0], other)
