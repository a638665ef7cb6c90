"""What a result says about itself is true: recomputed from its weights and its dual point by enumeration."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from maxmargin.errors import DataError, StructureError
from maxmargin.solvers import loop
from maxmargin.solvers.base import Solver, owners
from maxmargin.solvers.compiled_oracle import CompiledOracle
from maxmargin.solvers.frank_wolfe import FrankWolfe
from maxmargin.solvers.loop import Record, Result, minimize
from maxmargin.solvers.n_slack import NSlack
from maxmargin.solvers.one_slack import OneSlack
from maxmargin.solvers.perceptron import Perceptron
from maxmargin.solvers.plain_oracle import PlainOracle
from maxmargin.status import Status
from maxmargin.structures.base import Structure
from maxmargin.structures.multiclass import Multiclass
from maxmargin.structures.sequence import Sequence
from solvers.enumeration import Case, ListedStructure, multiclass_case, named_cases, plain_case, random_tokens

C = 0.8
WEIGHT = np.array([1.0, 0.5, 2.0, 0.0, 1.5, 3.0, 0.25])
NAMES = ("costs", "label costs", "forbidden")
FRANK_WOLFE: dict[str, Solver] = {
    f"{steps} {sampling}": FrankWolfe(steps, sampling, sweeps=sweeps)  # type: ignore[arg-type]
    for steps, sampling, sweeps in [("pairwise", "permutation", 20), ("away", "gap", 3), ("plain", "uniform", 0)]
}
CUTTING_PLANES: dict[str, Solver] = {"n_slack": NSlack(batch=2), "one_slack": OneSlack(), "rounds": OneSlack(0, 2)}
ALL = {**FRANK_WOLFE, **CUTTING_PLANES, "average": FrankWolfe(average=True), "perceptron": Perceptron()}

cases = functools.cache(named_cases)


@functools.cache
def optimum(name: str) -> float:
    case = cases()[name]
    return case.listed.optimum(C * WEIGHT[: case.n])[1]


def trace(case: Case, solver: Solver, max_passes: int = 40) -> tuple[Result, list[tuple[Record, Any]]]:
    """A run whose exact figures are computed after every pass, with the weights of each."""
    seen: list[tuple[Record, Any]] = []
    result = minimize(
        case.oracle, solver, C=C, sample_weight=WEIGHT[: case.n], tol=1e-9, max_passes=max_passes, random_state=2,
        check_every=1, callback=lambda record, w: seen.append((record, w.copy())),
    )  # fmt: skip
    assert [record for record, _ in seen] == result.history[: len(seen)]
    return result, seen


@pytest.mark.parametrize("solver", ALL)
@pytest.mark.parametrize("name", NAMES)
def test_the_optimum_lies_between_dual_and_primal_after_every_pass(name: str, solver: str) -> None:
    case, value = cases()[name], optimum(name)
    result, seen = trace(case, ALL[solver])
    assert len(seen) >= 3
    for record, w in seen:
        assert record.exact
        assert record.primal == pytest.approx(case.listed.primal(w, C * WEIGHT[: case.n]), rel=1e-10)
        assert record.dual <= value * (1 + 1e-9) <= record.primal * (1 + 2e-9)
    passes = [record.passes for record, _ in seen]
    assert passes == sorted(set(passes))
    if not ALL[solver].name.endswith("perceptron"):  # whose last weights count, not the best objective met
        assert result.certificate.primal <= min(record.primal for record, _ in seen) * (1 + 1e-12)
    assert result.certificate.dual >= max(record.dual for record, _ in seen) * (1 - 1e-12)


@pytest.mark.parametrize("solver", FRANK_WOLFE)
@pytest.mark.parametrize("name", NAMES)
def test_the_dual_never_falls_under_frank_wolfe(name: str, solver: str) -> None:
    duals = [record.dual for record, _ in trace(cases()[name], FRANK_WOLFE[solver])[1]]
    assert duals[0] > 0
    assert (np.diff(duals) >= -1e-12 * duals[-1]).all()
    assert duals[-1] > duals[0]


@pytest.mark.parametrize("kind", ["compiled", "plain"])
@pytest.mark.parametrize("solver", ALL)
@pytest.mark.parametrize("name", NAMES)
def test_a_certificate_is_what_enumeration_says(name: str, solver: str, kind: str) -> None:
    case = cases()[name] if kind == "compiled" else plain_case(cases()[name])
    weight = WEIGHT[: case.n]
    result = minimize(
        case.oracle, ALL[solver], C=C, sample_weight=weight, tol=1e-3, max_passes=7, random_state=0, n_jobs=2
    )
    found = result.certificate
    assert found.primal == pytest.approx(case.listed.primal(result.w, C * weight), rel=1e-12)
    assert found.risk_bound == pytest.approx(weight @ case.listed.slacks(result.w) / weight.sum(), rel=1e-12)
    assert found.training_risk == pytest.approx(weight @ case.listed.risks(result.w) / weight.sum(), rel=1e-12)
    assert found.training_risk <= found.risk_bound
    assert 0.0 <= found.dual <= optimum(name) * (1 + 1e-9)
    assert (found.C, found.n_examples, found.solver) == (C, np.count_nonzero(weight), ALL[solver].name)
    assert {type(value) for value in found.as_dict().values()} <= {int, float, str}
    assert found.oracle_calls == found.passes * found.n_examples
    assert 0 < found.seconds < 60
    assert (found.status is Status.CONVERGED) == (found.relative_gap <= 1e-3)
    last = result.history[-1]
    assert last.exact
    assert last.passes == found.passes


@pytest.mark.parametrize("solver", [*FRANK_WOLFE, "n_slack"])
@pytest.mark.parametrize("name", NAMES)
def test_the_working_set_holds_outputs_and_a_feasible_dual_point(name: str, solver: str) -> None:
    """Each plane is a listed output, found through the feature map alone, and their weights give the dual value."""
    case = cases()[name]
    oracle, c = case.oracle, C * WEIGHT[: case.n]
    assert isinstance(oracle, CompiledOracle)
    result = minimize(oracle, ALL[solver], C=C, sample_weight=WEIGHT[: case.n], tol=1e-9, max_passes=12, random_state=2)
    planes = result.planes
    assert planes is not None
    n = int(planes.counts[0])
    owner = owners(planes)
    np.testing.assert_allclose(np.bincount(owner, planes.alpha[:n]), 1.0, atol=1e-12)
    assert planes.alpha[:n].min() >= 0
    psi, loss = case.listed.psi, case.listed.loss
    w, linear = np.zeros(oracle.n_weights), 0.0
    for p in range(n):
        i = owner[p]
        columns = np.zeros((oracle.n_weights, int(oracle.sizes[0])))
        for k, unit in enumerate(np.eye(oracle.n_weights)):
            oracle.potentials(oracle.pack, unit, i, columns[k])
        entries = slice(planes.start[p], planes.start[p] + planes.length[p])
        vector = columns[:, planes.part[entries]] @ planes.coef[entries]
        same = np.abs(psi[i] - vector).max(1) < 1e-12
        assert (same & (np.abs(loss[i] - planes.loss[p]) < 1e-12)).any()
        w -= c[i] * planes.alpha[p] * vector
        linear += c[i] * planes.alpha[p] * planes.loss[p]
    # the dual point belongs to the run's own weights; those returned are the best seen, here the same
    assert result.certificate.dual == pytest.approx(linear - 0.5 * w @ w, rel=1e-12)


@pytest.mark.parametrize("solver", ["pairwise permutation", "n_slack", "one_slack", "perceptron"])
def test_a_result_checks_itself(solver: str) -> None:
    case = cases()["label costs"]
    result = minimize(case.oracle, ALL[solver], C=C, tol=1e-6, max_passes=30, random_state=0)
    again = result.check()
    for name in ("primal", "risk_bound", "training_risk"):
        assert getattr(again, name) == pytest.approx(getattr(result.certificate, name), rel=1e-12)
    assert again.dual == pytest.approx(result.certificate.dual, rel=1e-5)
    assert again.status is result.certificate.status
    result.w += 0.1
    assert result.check().primal == pytest.approx(case.listed.primal(result.w, np.full(case.n, C)), rel=1e-12)
    assert result.check().primal > again.primal
    result._run = None
    with pytest.raises(RuntimeError, match="no longer holds its problem; fit again"):
        result.check()


# What a structure may get wrong, and what is said about it.


class Lazy(ListedStructure):
    """Leaves out the loss: its loss-augmented answer is the prediction."""

    def argmax(self, x: int, w: Any, y_true: Any = None) -> Any:
        return super().argmax(x, w)


class Flattering(ListedStructure):
    """Says that nothing beats the truth."""

    def argmax(self, x: int, w: Any, y_true: Any = None) -> Any:
        return y_true if y_true is not None else super().argmax(x, w)


class Contrary(ListedStructure):
    """Gives the worst output."""

    def argmax(self, x: int, w: Any, y_true: Any = None) -> Any:
        scores = self.listed.phi[x] @ w
        return x, int((scores if y_true is None else scores + self.listed.loss[x]).argmin())


class Forgetful(ListedStructure):
    """Right at first; later it no longer knows an output that it has given before."""

    calls = 0

    def argmax(self, x: int, w: Any, y_true: Any = None) -> Any:
        self.calls += 1
        right = super().argmax(x, w, y_true)
        return right if self.calls <= 21 or y_true is None else (x, self.listed.truth[x])


@pytest.mark.parametrize("solver", ["pairwise permutation", "n_slack", "one_slack"])
@pytest.mark.parametrize("kind", [Lazy, Flattering, Contrary, Forgetful])
def test_a_decoder_that_lies_is_found_out(kind: type[ListedStructure], solver: str) -> None:
    case = cases()["costs"]
    structure = kind(case.listed)
    oracle = PlainOracle(structure, range(case.n), list(enumerate(case.listed.truth)))
    with pytest.raises(StructureError, match=f"{kind.__name__}: .*example \\d"):
        minimize(oracle, ALL[solver], C=5.0, tol=1e-3, max_passes=50, random_state=0)


def test_a_decoder_said_to_be_inexact_may_err() -> None:
    case = cases()["costs"]
    structure = Lazy(case.listed)
    structure.exact = False  # type: ignore[attr-defined]
    oracle = PlainOracle(structure, range(case.n), list(enumerate(case.listed.truth)))
    found = minimize(oracle, FrankWolfe(), C=5.0, tol=1e-3, max_passes=20, random_state=0).certificate
    assert found.primal >= 0
    assert found.no_bound == "the argmax is not exact"
    assert not any(word in str(found) for word in ("gap", "dual", "<="))
    exact = PlainOracle(ListedStructure(case.listed), range(case.n), list(enumerate(case.listed.truth)))
    assert not minimize(exact, FrankWolfe(), C=5.0, max_passes=20).certificate.no_bound


def compiled_liar(function: str) -> Structure:
    """Classes whose decoder, loss or joined loss contradicts the others."""
    from maxmargin.structures import compiled

    if function == "decode":

        @compiled
        def lie(pack, i, theta, out):  # type: ignore[no-untyped-def]
            out[0] = 0
            for label in range(pack.ints[0]):
                if theta[label] < theta[out[0]]:
                    out[0] = label
            return theta[out[0]]
    elif function == "augment":

        @compiled
        def lie(pack, i, theta):  # type: ignore[no-untyped-def]
            return 0.0
    else:

        @compiled
        def lie(pack, i, out):  # type: ignore[no-untyped-def]
            return 7.0 * (out[0] != pack.target[i])

    liar = Multiclass(3)
    setattr(liar, function, lie)
    return liar


@pytest.mark.parametrize("function", ["decode", "augment", "loss"])
def test_a_compiled_structure_that_lies_is_found_out(function: str) -> None:
    rng = np.random.default_rng(0)
    structure = compiled_liar(function)
    encoded = structure.encode(rng.normal(size=(12, 2)), np.arange(12) % 3)
    with pytest.raises(StructureError, match=r"Multiclass: .*example \d"):
        minimize(CompiledOracle(structure, encoded), FrankWolfe(), C=5.0, tol=1e-3, max_passes=50, random_state=0)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of code that is not compiled
def test_scores_that_overflow_are_an_error() -> None:
    case = multiclass_case(np.array([[1e90, 1.0], [-1e90, 1.0]]), np.array([0, 1]))
    with pytest.raises(DataError, match="example 0 overflowed; scale the features down"):
        case.oracle.evaluate(np.full(case.oracle.n_weights, 1e250), np.arange(2))
    plain = plain_case(case)
    plain.structure.argmax = lambda x, w, y_true=None: (x, 1 - case.listed.truth[x])
    with pytest.raises(DataError, match="example 0 overflowed"):
        plain.oracle.evaluate(np.full(case.oracle.n_weights, 1e250), np.arange(2))


def test_minimize_refuses_what_is_no_problem() -> None:
    oracle = cases()["costs"].oracle
    for C_ in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="C must be a positive finite number"):
            minimize(oracle, FrankWolfe(), C=C_)
    with pytest.raises(DataError, match="sample_weight is 0 everywhere"):
        minimize(oracle, FrankWolfe(), C=1.0, sample_weight=np.zeros(7))


def test_the_best_weights_are_kept_as_they_are_whether_most_are_zero_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain over many attributes has few weights that are not 0; its best ones must not lose a bit."""
    rng = np.random.default_rng(0)
    tokens = replace(random_tokens(rng, [8] * 40)[0], n_attributes=4000)
    structure = Sequence(6)
    oracle = CompiledOracle(structure, structure.encode(tokens, [rng.integers(0, 6, 8) for _ in range(40)]))
    options: dict[str, Any] = dict(C=100.0, tol=0.0, max_passes=9, check_every=2, random_state=0)
    kept: list[Any] = []
    of = loop._Sparse.of
    monkeypatch.setattr(loop._Sparse, "of", lambda w: kept.append(of(w)) or kept[-1])
    solvers = FrankWolfe(), FrankWolfe("plain", sweeps=0)
    results = [minimize(oracle, solver, **options) for solver in solvers]
    assert kept
    assert all(each is not None for each in kept)
    monkeypatch.setattr(loop._Sparse, "of", lambda w: None)
    for result, solver in zip(results, solvers, strict=True):
        assert result.certificate.primal < max(record.primal for record in result.history[-2:] if record.exact)
        whole = minimize(oracle, solver, **options)
        np.testing.assert_array_equal(result.w, whole.w)
        assert result.certificate.primal == whole.certificate.primal == pytest.approx(result.check().primal, rel=1e-12)


def test_weights_that_are_not_mostly_zero_are_copied() -> None:
    w = np.arange(12.0)
    assert loop._Sparse.of(w) is None
    assert loop._Sparse.of(np.zeros((40, 2))) is None
    w = np.where(np.arange(40) % 8 == 3, np.arange(40.0), 0.0)
    sparse = loop._Sparse.of(w)
    assert sparse is not None
    np.testing.assert_array_equal(sparse.dense(), w)
