"""Single steps of the sequential solvers, visit by visit, against a few lines of NumPy each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maxmargin.solvers import passes
from maxmargin.solvers.base import Task, to_dual_point
from maxmargin.solvers.block import AWAY, PAIRWISE, PLAIN
from maxmargin.solvers.frank_wolfe import FrankWolfe
from maxmargin.solvers.loop import minimize
from maxmargin.solvers.oracle import Work
from maxmargin.solvers.perceptron import Perceptron
from maxmargin.status import Status
from solvers.enumeration import Case, Listed, multiclass_case, named_cases, plain_case, random_tokens, sequence_case

Reals = Any


@pytest.fixture(scope="module")
def two_classes() -> tuple[Case, Reals, Reals]:
    """Overlapping classes, with the rows and the signs of their classes."""
    rng = np.random.default_rng(12)
    y = np.arange(14) % 2
    X = rng.normal(size=(14, 4)) + 0.4 * (2 * y[:, None] - 1)
    return multiclass_case(X, y), X, 2.0 * y - 1.0


def orders(n: int, visits: int, seed: int = 3) -> list[int]:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.permutation(n) for _ in range(-(-visits // n))])[:visits].tolist()


@pytest.mark.parametrize("rule", [PLAIN, PAIRWISE, AWAY])
@pytest.mark.parametrize("kind", ["compiled", "plain"])
def test_on_two_classes_frank_wolfe_is_dual_coordinate_ascent(
    two_classes: tuple[Case, Reals, Reals], kind: str, rule: int
) -> None:
    """``w_1 = -w_0 = v / 2`` turns the problem into ``1/4 |v|^2 + sum_i c_i max(0, 1 - s_i <v, x_i>)``."""
    case, X, sign = two_classes
    case = case if kind == "compiled" else plain_case(case)
    c = 0.6 * (1.0 + np.arange(case.n) % 3)
    work = Work.start(case.oracle.n_weights, c, rule=rule)
    v, a = np.zeros(X.shape[1]), np.zeros(case.n)
    for i in orders(case.n, 10 * case.n):
        case.oracle.frank_wolfe(work, np.array([i]))
        new = np.clip(a[i] + (1.0 - sign[i] * (v @ X[i])) / (2.0 * c[i] * (X[i] @ X[i])), 0.0, 1.0)
        v += 2.0 * c[i] * (new - a[i]) * sign[i] * X[i]
        a[i] = new
        W = work.w.reshape(-1, 2)
        np.testing.assert_allclose(W[:, 1], v / 2, rtol=0, atol=1e-12)
        np.testing.assert_allclose(W[:, 0], -v / 2, rtol=0, atol=1e-12)
        assert work.state[passes.DUAL] == pytest.approx(c @ a - 0.25 * (v @ v), abs=1e-12)
    truth_alpha = work.planes.alpha[work.planes.head]
    np.testing.assert_allclose(truth_alpha, 1.0 - a, atol=1e-12)
    assert ((a > 0) & (a < 1)).any()
    assert ((a == 0) | (a == 1)).any()


def reference_visit(listed: Listed, alpha: list[Reals], c: Reals, i: int, rule: int) -> float:
    """One exact step on the listed outputs met so far and the most violated one; returns the gap of the example."""
    w = -sum(c[k] * alpha[k] @ listed.psi[k] for k in range(len(alpha)))
    scores = listed.loss[i] + listed.psi[i] @ w
    best, mean = int(scores.argmax()), float(alpha[i] @ scores)
    active = np.flatnonzero(alpha[i] > 0)
    worst = int(active[scores[active].argmin()])
    one = np.eye(len(scores))
    toward, limit = one[best] - alpha[i], 1.0
    if rule == PAIRWISE:
        toward, limit = one[best] - one[worst], alpha[i][worst]
    elif rule == AWAY and alpha[i][worst] < 1.0 - 1e-12 and mean - scores[worst] > scores[best] - mean:
        rest = alpha[i] * (np.arange(len(scores)) != worst)
        toward, limit = rest / rest.sum() - one[worst], alpha[i][worst]
    slope, vector = float(toward @ scores), toward @ listed.psi[i]
    if slope > 0:
        norm = float(vector @ vector)
        step = min(limit, slope / (c[i] * norm)) if norm > 0 else limit
        alpha[i] = alpha[i] + step * toward
        alpha[i][alpha[i] < 1e-15] = 0.0
    return float(c[i] * (scores[best] - mean))


@pytest.mark.parametrize("rule", [PLAIN, PAIRWISE, AWAY])
@pytest.mark.parametrize("kind", ["compiled", "plain"])
@pytest.mark.parametrize("name", ["costs", "label costs", "forbidden"])
def test_steps_with_many_outputs(name: str, kind: str, rule: int) -> None:
    case = named_cases()[name] if kind == "compiled" else plain_case(named_cases()[name])
    listed, oracle = case.listed, case.oracle
    c = 0.3 + 0.2 * np.arange(case.n)
    alpha = [np.eye(len(loss))[true] for loss, true in zip(listed.loss, listed.truth)]
    work = Work.start(oracle.n_weights, c, rule=rule)
    for i in orders(case.n, 6 * case.n):
        before = work.state[passes.GAP]
        oracle.frank_wolfe(work, np.array([i]))
        gap = reference_visit(listed, alpha, c, i, rule)
        assert work.state[passes.GAP] - before == pytest.approx(gap, abs=1e-10)
        w = -sum(c[k] * alpha[k] @ listed.psi[k] for k in range(case.n))
        np.testing.assert_allclose(work.w, w, rtol=0, atol=1e-10)
        dual = sum(c[k] * alpha[k] @ listed.loss[k] for k in range(case.n)) - 0.5 * w @ w
        assert work.state[passes.DUAL] == pytest.approx(dual, abs=1e-10)
    moved, grown = work.w.copy(), work.state[passes.DUAL]
    value = to_dual_point(oracle, work, np.arange(case.n))
    np.testing.assert_allclose(work.w, moved, rtol=0, atol=1e-10)
    assert value == work.state[passes.DUAL] == pytest.approx(grown, rel=1e-10)


@pytest.mark.parametrize("kind", ["compiled", "plain"])
def test_the_averaged_iterate_is_the_average_of_the_iterates(kind: str) -> None:
    case = named_cases()["hamming"] if kind == "compiled" else plain_case(named_cases()["hamming"])
    task = Task(case.oracle, 0.5, np.ones(case.n), np.arange(case.n), np.random.default_rng(0), 1e-3)
    run: Any = FrankWolfe("plain", sweeps=0, average=True).start(task)
    iterates = []
    for k, i in enumerate(orders(case.n, 8 * case.n), start=1):
        case.oracle.frank_wolfe(run.work, np.array([i]))
        iterates.append(run.work.w.copy())
        weights = np.arange(1.0, k + 1)
        np.testing.assert_allclose(run.weights(), weights @ np.array(iterates) / weights.sum(), rtol=0, atol=1e-12)
    assert np.abs(run.weights() - run.work.w).max() > 1e-3


@pytest.mark.parametrize("kind", ["compiled", "plain"])
def test_averages_cover_sweeps_over_cached_planes(kind: str) -> None:
    """Whatever mixture of passes and sweeps: visits that take a step or look at one count alike."""
    case = named_cases()["costs"] if kind == "compiled" else plain_case(named_cases()["costs"])
    task = Task(case.oracle, 0.5, np.ones(case.n), np.arange(case.n), np.random.default_rng(0), 1e-3)
    run: Any = FrankWolfe(average=True).start(task)
    order = np.arange(case.n)
    case.oracle.frank_wolfe(run.work, order)
    total, weight = run.weights() * run.work.state[passes.WEIGHT], run.work.state[passes.WEIGHT]
    for _ in range(5):
        for i in order:
            before = run.work.state[passes.STEPS]
            case.oracle.sweep(run.work, np.array([i]))
            k = run.work.state[passes.STEPS]
            if k > before:
                total, weight = total + k * run.work.w, weight + k
            np.testing.assert_allclose(run.weights(), total / weight, rtol=0, atol=1e-12)


def separable(rng: np.random.Generator, kind: str) -> Case:
    """Data that some weights separate, drawn again until a random vector does so with some margin."""
    if kind == "classes":
        X = rng.normal(size=(60, 3))
        scores = np.sort(X @ (W := rng.normal(size=(3, 3))), axis=1)
        clear = scores[:, -1] - scores[:, -2] > 0.3
        return multiclass_case(X[clear], (X @ W).argmax(1)[clear])
    lengths = [3] * 20
    tokens, features = random_tokens(rng, lengths, "dense")
    guess = [np.zeros(3, np.int64)] * 20
    case = sequence_case(tokens, features, guess, 2)
    w = rng.normal(size=case.oracle.n_weights)
    best = [(phi @ w).argmax() for phi in case.listed.phi]
    from itertools import product

    outputs = list(product(range(2), repeat=3))
    return sequence_case(tokens, features, [np.array(outputs[k]) for k in best], 2)


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("kind", ["compiled", "plain"])
@pytest.mark.parametrize("name", ["multiclass", "normalized"])
def test_the_perceptron_visit_by_visit(name: str, kind: str, average: bool) -> None:
    case = named_cases()[name] if kind == "compiled" else plain_case(named_cases()[name])
    listed, oracle = case.listed, case.oracle
    s = 1.0 + np.arange(case.n) % 3
    task = Task(oracle, 1.0, s, np.arange(case.n), np.random.default_rng(0), 1e-3)
    run: Any = Perceptron(average=average).start(task)
    w, total, mistakes = np.zeros(oracle.n_weights), np.zeros(oracle.n_weights), 0
    for k, i in enumerate(orders(case.n, 8 * case.n), start=1):
        best = int((listed.phi[i] @ w).argmax())
        w = w - s[i] * listed.psi[i][best]
        total += w
        mistakes += oracle.perceptron(run.w, run.average, np.array([i]), s, run.state)
        np.testing.assert_allclose(run.w, w, rtol=0, atol=1e-12)
        np.testing.assert_allclose(run.weights(), total / k if average else w, rtol=0, atol=1e-12)
    assert 0 < mistakes < 8 * case.n


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("form", ["compiled", "plain"])
@pytest.mark.parametrize("kind", ["classes", "sequences"])
def test_the_perceptron_says_how_many_mistakes_it_made_within_its_bound(kind: str, form: str, average: bool) -> None:
    """Novikoff: at most ``(R / gamma)^2`` of them, whatever the order; ``gamma`` is that of the hard margin."""
    for seed in range(4):
        case = separable(np.random.default_rng(seed), kind)
        gamma, wrong = case.listed.margin(), case.listed.wrong
        assert gamma > 0
        bound = float((wrong**2).sum(1).max()) / gamma**2
        oracle = (case if form == "compiled" else plain_case(case)).oracle
        result = minimize(oracle, Perceptron(average=average), C=1.0, max_passes=100_000, random_state=seed)
        assert result.certificate.status is Status.SEPARATED
        assert result.n_mistakes is not None
        assert 0 < result.n_mistakes <= bound * (1.0 + 1e-6)


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["classes", "sequences"])
def test_separated_means_that_the_returned_weights_separate(kind: str, seed: int, average: bool) -> None:
    case = separable(np.random.default_rng(seed), kind)
    result = minimize(case.oracle, Perceptron(average=average), C=1.0, max_passes=5000, random_state=seed)
    assert result.certificate.status is Status.SEPARATED
    assert result.certificate.training_risk == 0.0
    assert case.listed.risks(result.w).max() == 0.0
    assert result.certificate.dual == 0.0


def test_a_perceptron_that_cannot_separate_stops_at_its_limit() -> None:
    X = np.ones((4, 1))
    result = minimize(multiclass_case(X, np.array([0, 1, 0, 1])).oracle, Perceptron(), C=1.0, max_passes=9)
    assert result.certificate.status is Status.PASS_LIMIT
    assert result.certificate.passes <= 10
    assert [record.exact for record in result.history].count(True) == 1
