"""Every solver on every structure against a general solver of quadratic programs over all outputs."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from maxmargin import StructuredSVM
from maxmargin.solvers import BY_NAME, by_name
from maxmargin.solvers.base import Solver
from maxmargin.solvers.bundle import Bundle
from maxmargin.solvers.frank_wolfe import FrankWolfe
from maxmargin.solvers.loop import Result, minimize
from maxmargin.solvers.n_slack import NSlack
from maxmargin.solvers.one_slack import OneSlack
from maxmargin.status import Status
from solvers.enumeration import Case, named_cases, plain_case

WEIGHT = np.array([1.0, 0.5, 2.0, 0.0, 1.5, 3.0, 0.25])
DECADES = (1e-3, 0.2, 30.0)
NAMES = ("multiclass", "costs", "hamming", "normalized", "label costs", "forbidden")

SOLVERS: dict[str, Solver] = {
    **{
        f"{steps} {sampling}": FrankWolfe(steps, sampling)  # type: ignore[arg-type]
        for steps in ("pairwise", "away")
        for sampling in ("permutation", "uniform", "gap")
    },
    "few sweeps": FrankWolfe(sweeps=1),
    "n_slack": NSlack(),
    "n_slack one by one": NSlack(batch=1),
    "one_slack": OneSlack(),
    "one_slack without cache": OneSlack(cached_rounds=0, keep_rounds=3),
    "bundle": Bundle(),
}

cases = functools.cache(named_cases)


def weight_of(case: Case) -> Any:
    return WEIGHT[: case.n]


@functools.cache
def optimum(name: str, C: float) -> tuple[Any, float]:
    case = cases()[name]
    return case.listed.optimum(C * weight_of(case))


def solve(case: Case, solver: Solver, C: float, tol: float, max_passes: int = 1500) -> Result:
    return minimize(
        case.oracle, solver, C=C, sample_weight=weight_of(case), tol=tol, max_passes=max_passes, random_state=1
    )


def assert_optimal(case: Case, result: Result, reference: tuple[Any, float], C: float, accuracy: float) -> None:
    """Within ``accuracy`` of the optimum from both sides, by the test's own arithmetic, and converged."""
    w, value = reference
    certificate = result.certificate
    assert certificate.status is Status.CONVERGED, certificate
    assert case.listed.primal(result.w, C * weight_of(case)) <= value * (1 + accuracy)
    assert value * (1 - accuracy) <= certificate.dual <= value * (1 + 1e-8)
    # the objective grows at least as 1/2 |w - w*|^2 around its minimiser
    assert 0.5 * np.sum((result.w - w) ** 2) <= 2 * accuracy * value


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", NAMES)
def test_solvers_reach_the_optimum(name: str, solver: str) -> None:
    case = cases()[name]
    for C in DECADES:
        assert_optimal(case, solve(case, SOLVERS[solver], C, 1e-7), optimum(name, C), C, 1e-6)


@pytest.mark.parametrize("solver", ["pairwise permutation", "away uniform", "n_slack", "one_slack"])
@pytest.mark.parametrize("name", NAMES)
def test_structures_in_plain_python_reach_the_same_optimum(name: str, solver: str) -> None:
    case = plain_case(cases()[name])
    for C in DECADES[1:]:
        assert_optimal(case, solve(case, SOLVERS[solver], C, 1e-7), optimum(name, C), C, 1e-6)


@pytest.mark.parametrize("sampling", ["permutation", "uniform", "gap"])
@pytest.mark.parametrize("name", NAMES)
def test_plain_steps_come_near_the_optimum(name: str, sampling: Any) -> None:
    """Plain steps converge sublinearly: only two digits, and only where C is small."""
    case = cases()[name]
    for C in (1e-3, 0.1):
        result = solve(case, FrankWolfe("plain", sampling, sweeps=0), C, 1e-2, max_passes=3000)
        assert_optimal(case, result, optimum(name, C), C, 1e-2)


@pytest.mark.parametrize("kind", ["compiled", "plain"])
def test_averaged_iterates_come_near_the_optimum(kind: str) -> None:
    case = cases()["hamming"] if kind == "compiled" else plain_case(cases()["hamming"])
    result = solve(case, FrankWolfe(average=True), 0.1, 1e-3)
    assert_optimal(case, result, optimum("hamming", 0.1), 0.1, 1e-3)


@pytest.mark.parametrize("name", ["auto", "frank_wolfe", "n_slack", "one_slack", "bundle"])
def test_solvers_by_name_reach_the_optimum(name: str) -> None:
    case = plain_case(cases()["costs"])
    model = StructuredSVM(case.structure, C=2.0, solver=name, tol=1e-7, max_passes=1500, random_state=0)
    model.fit(range(case.n), list(enumerate(case.listed.truth)), weight_of(case))
    value = optimum("costs", 2.0)[1]
    assert model.certificate_.primal == pytest.approx(value, rel=1e-6)
    assert model.certificate_.dual == pytest.approx(value, rel=1e-6)
    assert model.solver_ == ("frank_wolfe" if name == "auto" else name)


def test_names_and_objects_of_solvers() -> None:
    for name in BY_NAME:
        solver = by_name(name)
        assert solver.name == name
        assert by_name(solver) is solver
    assert by_name("auto") == by_name("frank_wolfe") == FrankWolfe()
    with pytest.raises(
        ValueError, match="unknown solver 'newton'; known ones: averaged_perceptron, bundle, frank_wolfe"
    ):
        by_name("newton")
    for odd in (None, 3, FrankWolfe):
        with pytest.raises(ValueError, match="a solver object, not"):
            by_name(odd)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FrankWolfe(steps="sideways"), "steps must be one of"),  # type: ignore[arg-type]
        (lambda: FrankWolfe(sampling="never"), "sampling must be"),  # type: ignore[arg-type]
        (lambda: FrankWolfe(sweeps=-1), "sweeps must be at least 0, not -1"),
        (lambda: NSlack(batch=0), "must be at least 1"),
        (lambda: OneSlack(keep_rounds=0), "keep_rounds at least 1"),
    ],
)
def test_options_of_solvers_are_checked(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(10))
def test_many_random_problems(seed: int, solver: str) -> None:
    """As above with other sizes, other data and more decades."""
    from solvers.enumeration import random_case

    rng = np.random.default_rng(seed)
    for _ in range(3):
        case = random_case(rng)
        weight = rng.integers(0, 4, case.n) + 1.0 * (np.arange(case.n) == 0)
        for C in 10.0 ** rng.uniform(-4, 3, 2):
            value = case.listed.optimum(C * weight)[1]
            for each in (case, plain_case(case)):
                result = minimize(
                    each.oracle,
                    SOLVERS[solver],
                    C=C,
                    sample_weight=weight,
                    tol=1e-6,
                    max_passes=50_000 if solver == "few sweeps" else 5000,
                    random_state=seed,
                )
                primal = case.listed.primal(result.w, C * weight)
                assert result.certificate.dual <= value * (1 + 1e-7)
                assert result.certificate.primal == pytest.approx(primal, rel=1e-10)
                assert result.certificate.status.ok == (result.certificate.relative_gap <= 1e-6)
                assert primal <= value * (1 + 3e-6)
