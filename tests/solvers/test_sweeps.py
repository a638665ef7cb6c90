"""Sweeps over cached planes: they return to the few examples that hold much of the gap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maxmargin import SequenceSVM
from maxmargin.solvers import base, frank_wolfe
from maxmargin.solvers.compiled_oracle import CompiledOracle
from maxmargin.solvers.frank_wolfe import FrankWolfe
from maxmargin.solvers.loop import minimize
from maxmargin.solvers.passes import GAP, STATE_SIZE
from solvers.enumeration import multiclass_case, plain_case


def contradicting(n: int = 2500, pairs: int = 20) -> tuple[list[Any], list[Any]]:
    """Sentences that can be learned, and pairs of equal ones with different labels."""
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 200, (n, 3)).tolist()
    X = [[[f"w{a}"] for a in sentence] for sentence in numbers]
    y = [[a % 3 for a in sentence] for sentence in numbers]
    for k in range(pairs):
        X += 2 * [[[f"c{k}"], [f"d{k}"]]]
        y += [[0, 1], [1, 2]]
    return X, y


def test_sentences_that_contradict_each_other_take_half_the_visits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their weights rise to C, 100 here, in small steps, long after all others have come to rest."""
    X, y = contradicting()
    visits: list[int] = []
    sweep = CompiledOracle.sweep

    def counted(self: CompiledOracle, work: Any, order: Any) -> None:
        visits[-1] += len(order)
        sweep(self, work, order)

    monkeypatch.setattr(CompiledOracle, "sweep", counted)
    found = []
    for before in (base._BEFORE, 10**9):
        monkeypatch.setattr(base, "_BEFORE", before)
        visits.append(0)
        found.append(SequenceSVM(C=100.0, tol=1e-4, max_passes=200, random_state=0).fit(X, y).certificate_)
    assert all(certificate.status.ok for certificate in found)
    assert visits[0] < 0.6 * visits[1]
    assert found[0].primal == pytest.approx(found[1].primal, rel=2e-4)
    assert found[0].dual == pytest.approx(found[1].dual, rel=2e-4)


def test_as_few_examples_as_hold_a_share() -> None:
    gaps = np.array([9.0, 0.0, 4.0, 1.0, 3.0, 9.0])
    examples = np.array([1, 2, 3, 4])
    for share, few in [(0.0, [2]), (0.4, [2]), (0.6, [2, 4]), (0.95, [2, 4, 3])]:
        np.testing.assert_array_equal(base._with_share(examples, gaps, share), few)
    assert len(base._with_share(np.array([1]), gaps, 0.3)) == 1  # no gap at all


@pytest.mark.parametrize("holders", [30, 3000])
@pytest.mark.parametrize("most", [1, 2, 4, 5, 7, 40])
def test_visits_stay_within_the_limit(most: int, holders: int) -> None:
    """Of a sweep over all examples, and of the few, the last may go a little beyond."""
    examples = np.arange(3000)
    gaps = np.zeros(3000)
    gaps[:holders] = 1.0
    seen: list[int] = []

    class Oracle:
        def sweep(self, work: Any, order: Any) -> None:
            seen.append(len(order))
            work.state[GAP] = 30.0

    class Work:
        state = np.zeros(STATE_SIZE)

    class Task:
        oracle, rng = Oracle(), np.random.default_rng(0)

    work: Any = Work()
    work.gaps = gaps
    task: Any = Task()
    assert base.sweep_until(task, work, examples, most=most, gap=1.0) == 30.0
    assert most <= sum(seen) / 3000 <= most + 1
    assert any(count % 3000 for count in seen) == (most > base._BEFORE)


@pytest.mark.parametrize(("sweeps", "compiled", "plain"), [("auto", 20, 50), (3, 3, 3), (0, 0, 0)])
def test_plain_python_is_worth_more_sweeps(
    monkeypatch: pytest.MonkeyPatch, sweeps: Any, compiled: int, plain: int
) -> None:
    """A sweep may take as long as a compiled search, but hardly ever as long as one in Python."""
    seen: list[int] = []

    def counted(task: Any, work: Any, examples: Any, *, most: int, gap: float) -> float:
        seen.append(most)
        return base.sweep_until(task, work, examples, most=most, gap=gap)

    monkeypatch.setattr(frank_wolfe, "sweep_until", counted)
    solver = FrankWolfe(sweeps=sweeps)
    rng = np.random.default_rng(0)
    case = multiclass_case(rng.normal(size=(12, 3)), np.arange(12) % 3)
    for oracle, most in ((case.oracle, compiled), (plain_case(case).oracle, plain)):
        seen.clear()
        minimize(oracle, solver, C=1.0, max_passes=4, random_state=0)
        assert seen
        assert set(seen) == {most}


def test_a_warm_start_goes_over_the_planes_that_it_has_before_it_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    """With another C they are far from where they would be."""
    X, y = contradicting(200, 5)
    model = SequenceSVM(C=0.1, tol=1e-3, warm_start=True, random_state=0).fit(X, y)
    calls: list[str] = []

    def telling(name: str) -> Any:
        method = getattr(CompiledOracle, name)

        def told(self: Any, *args: Any) -> None:
            calls.append(name)
            method(self, *args)

        return told

    for name in ("sweep", "frank_wolfe"):
        monkeypatch.setattr(CompiledOracle, name, telling(name))
    model.set_params(C=10.0).fit(X, y)
    assert calls[0] == "sweep"
    calls.clear()
    SequenceSVM(C=10.0, tol=1e-3, random_state=0).fit(X, y)
    assert calls[0] == "frank_wolfe"


@pytest.mark.parametrize("sweeps", ["AUTO", None, 2.5])
def test_who_gives_wrong_sweeps_hears_of_the_choice_by_itself(sweeps: Any) -> None:
    with pytest.raises(ValueError, match="sweeps must be 'auto' or at least 0, not"):
        FrankWolfe(sweeps=sweeps)
