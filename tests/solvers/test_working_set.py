"""Cached planes: right after growing and shrinking, never listed twice; and the program of the cutting planes."""

from __future__ import annotations

import time
import tracemalloc
import weakref
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.errors import DataError, StructureError
from maxmargin.solvers import oracle as oracles
from maxmargin.solvers import passes, simplex_qp
from maxmargin.solvers.base import WarmStart, owners, to_dual_point
from maxmargin.solvers.compiled_oracle import CompiledOracle
from maxmargin.solvers.frank_wolfe import FrankWolfe
from maxmargin.solvers.loop import minimize
from maxmargin.solvers.n_slack import NSlack
from maxmargin.solvers.oracle import Work, make_oracle
from maxmargin.solvers.plain_oracle import PlainOracle
from maxmargin.solvers.planes import GROWING, copied
from maxmargin.solvers.simplex_qp import solve_simplex_qp
from maxmargin.status import Status
from maxmargin.structures.multiclass import Multiclass
from solvers.counted_planes import active_counts
from solvers.enumeration import Case, ListedStructure, multiclass_case, named_cases, plain_case, random_sequences


@pytest.fixture(scope="module")
def long_sequences() -> CompiledOracle:
    """So many and so long that the planes of one evaluation do not fit into a fresh working set."""
    return random_sequences(300, (5, 25), 4)


@pytest.fixture(scope="module")
def many_classes() -> Case:
    rng = np.random.default_rng(2)
    return plain_case(multiclass_case(rng.normal(size=(80, 8)), np.arange(80) % 5))


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("kind", ["compiled", "plain"])
def test_planes_found_by_an_evaluation_keep_their_numbers_while_the_working_set_grows(
    kind: str, n_jobs: int, long_sequences: CompiledOracle, many_classes: Case
) -> None:
    oracle: Any = long_sequences if kind == "compiled" else many_classes.oracle
    examples, rng = np.arange(oracle.n_examples), np.random.default_rng(0)
    work = Work.start(oracle.n_weights, np.ones(oracle.n_examples))
    room = len(work.planes.part)
    for _ in range(4):
        w = rng.normal(size=oracle.n_weights)
        found = oracle.evaluate(w, examples, work=work, n_jobs=n_jobs)
        np.testing.assert_array_equal(owners(work.planes)[found.planes], examples)
        best, scores = oracle.best_cached(w, work.planes, examples)
        np.testing.assert_array_equal(best, found.planes)
        np.testing.assert_allclose(scores, found.slack, rtol=1e-10)
        total = np.zeros(oracle.n_weights)
        oracle.add_planes(work.planes, examples, found.planes, np.ones(len(examples)), total)
        assert total @ w + work.planes.loss[found.planes].sum() == pytest.approx(found.slack.sum(), rel=1e-10)
    assert len(work.planes.part) > room, "the working set had room enough: the test says nothing"


@pytest.mark.parametrize("cut", range(len(GROWING)))
def test_growing_that_is_cut_short_leaves_room_for_what_the_kernels_believe(
    cut: int, long_sequences: CompiledOracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    oracle, left, extended = long_sequences, cut, oracles.extended
    examples, w = np.arange(oracle.n_examples), np.random.default_rng(0).normal(size=oracle.n_weights)
    work = Work.start(oracle.n_weights, np.ones(oracle.n_examples))

    def interrupted(*args: Any) -> Any:
        nonlocal left
        if not left:
            raise KeyboardInterrupt
        left -= 1
        return extended(*args)

    with monkeypatch.context() as patch:
        patch.setattr(oracles, "extended", interrupted)
        with pytest.raises(KeyboardInterrupt):
            oracle.evaluate(w, examples, work=work)
    room = {name: len(getattr(work.planes, name)) for name in GROWING}
    assert min(room["part"], room["coef"]) == room["part"]
    assert min(length for name, length in room.items() if name not in ("part", "coef")) == room["next"]
    found = oracle.evaluate(w, examples, work=work)
    np.testing.assert_array_equal(owners(work.planes)[found.planes], examples)
    best, scores = oracle.best_cached(w, work.planes, examples)
    np.testing.assert_array_equal(best, found.planes)
    np.testing.assert_allclose(scores, found.slack, rtol=1e-10)


def test_growing_never_holds_two_copies_of_all_arrays() -> None:
    work = Work.start(1, np.ones(200_000))
    work.planes.counts[:] = len(work.planes.next), len(work.planes.part)
    work.extend(1_000_000)
    work.planes.counts[:] = len(work.planes.next), len(work.planes.part)
    before = sum(array.nbytes for array in work.planes)
    tracemalloc.start()
    try:
        work.planes = copied(work.planes)  # its memory counts from here
        work.extend(0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    after = sum(array.nbytes for array in work.planes)
    assert after > 1.45 * before
    assert peak < 1.35 * after, "all arrays were copied before the first was let go"


@pytest.mark.parametrize("solver", [FrankWolfe(), NSlack()], ids=lambda solver: solver.name)
def test_a_warm_start_leaves_the_earlier_result_as_it_is(solver: Any, long_sequences: CompiledOracle) -> None:
    options: dict[str, Any] = dict(C=0.1, tol=1e-9, random_state=0)
    first = minimize(long_sequences, solver, max_passes=5, **options)
    assert first.planes is not None
    before = copied(first.planes)
    start = WarmStart(first.w, first.planes)
    second = minimize(long_sequences, solver, max_passes=9, warm_start=start, **options)
    assert second.certificate.dual > first.certificate.dual
    for was, array in zip(before, copied(first.planes), strict=True):
        np.testing.assert_array_equal(array, was)
    assert first.check().dual == pytest.approx(first.certificate.dual, rel=1e-12)


@pytest.mark.parametrize("kind", ["compiled", "plain"])
def test_a_known_output_is_not_listed_again(kind: str) -> None:
    case = named_cases()["label costs"] if kind == "compiled" else plain_case(named_cases()["label costs"])
    work = Work.start(case.oracle.n_weights, np.ones(case.n))
    w = np.random.default_rng(0).normal(size=case.oracle.n_weights)
    first = case.oracle.evaluate(w, np.arange(case.n), work=work)
    before = work.planes.counts.copy()
    again = case.oracle.evaluate(w, np.arange(case.n), work=work)
    np.testing.assert_array_equal(first.planes, again.planes)
    np.testing.assert_array_equal(before, work.planes.counts)


@pytest.mark.parametrize("n_jobs", [1, 4])
def test_evaluations_add_planes_of_those_above_a_bound_only(n_jobs: int) -> None:
    case = named_cases()["costs"]
    w = np.random.default_rng(1).normal(size=case.oracle.n_weights)
    slack = case.listed.slacks(w)
    above = np.full(case.n, np.sort(slack)[2])
    work = Work.start(case.oracle.n_weights, np.ones(case.n))
    found = case.oracle.evaluate(w, np.arange(case.n), work=work, above=above, n_jobs=n_jobs)
    np.testing.assert_allclose(found.slack, slack, rtol=1e-12)
    np.testing.assert_array_equal(found.planes >= 0, slack > above)
    assert active_counts(work.planes) == (case.n + np.count_nonzero(slack > above), case.n)


@pytest.mark.parametrize("kind", ["compiled", "plain"])
def test_making_room_leaves_the_dual_point_as_it_is(kind: str) -> None:
    case = named_cases()["hamming"] if kind == "compiled" else plain_case(named_cases()["hamming"])
    oracle, order = case.oracle, np.arange(case.n)
    work = Work.start(oracle.n_weights, np.ones(case.n))
    for _ in range(15):
        work.stamp += 1
        oracle.frank_wolfe(work, order)
    dual = to_dual_point(oracle, work, order)
    w = work.w.copy()
    n, active = active_counts(work.planes)
    work.make_room(keep_passes=0)
    left, still_active = active_counts(work.planes)
    assert still_active == active
    assert left < n
    np.testing.assert_array_equal(owners(work.planes)[work.planes.head], order)
    work.w[:] = np.nan
    value = to_dual_point(oracle, work, order)
    np.testing.assert_allclose(work.w, w, rtol=0, atol=1e-13)
    assert value == pytest.approx(dual, rel=1e-13)
    for _ in range(5):  # and the run goes on from there
        oracle.frank_wolfe(work, order)
    assert work.state[passes.DUAL] >= dual


@pytest.mark.parametrize("form", ["dense", "mapping", "row", "array row", "row with zeros"])
def test_planes_of_plain_structures_are_differences_of_joint_features(form: str) -> None:
    """Entries in both vectors are listed once, those that cancel not at all; the user's own vectors stay as they are."""

    class Vectors(ListedStructure):
        n_features = 4

        def joint_features(self, x: int, y: Any) -> Any:
            dense = super().joint_features(x, y)
            if form == "mapping":
                return {k: v for k, v in enumerate(dense) if v}
            if form == "row with zeros":
                return sp.csr_matrix((dense, np.arange(4), [0, 4]), shape=(1, 4))
            return dense if form == "dense" else (sp.csr_array if form == "array row" else sp.csr_matrix)(dense[None])

    listed = named_cases()["costs"].listed
    listed.phi = [
        np.array([[1.0, 2, 0, 0], [3, 4, 0, 0]]), np.array([[1.0, 2, 3, 0], [1, 2, 0, 5]]),
        np.array([[0.0, 0, 0, 0], [0, 1, -1, 0]]), np.array([[7.0, 7, 7, 7], [7, 7, 7, 7]]),
    ]  # fmt: skip
    listed.loss, listed.truth = [np.array([0.0, 1.0])] * 4, [0] * 4
    oracle = PlainOracle(Vectors(listed), range(4), [(i, 0) for i in range(4)])
    for i in range(4):
        part, coef = oracle._plane(i, (i, 1))
        assert len(set(part.tolist())) == len(part)
        assert (coef != 0).all()
        vector = np.zeros(4)
        vector[part] = coef
        np.testing.assert_array_equal(vector, listed.phi[i][1] - listed.phi[i][0])


def test_sparse_joint_features_are_left_as_they_are() -> None:
    row = sp.csr_matrix((np.array([1.0, 2.0, 4.0]), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 3))

    class Given(ListedStructure):
        def joint_features(self, x: int, y: Any) -> Any:
            return row

    listed = named_cases()["costs"].listed
    PlainOracle(Given(listed), range(2), list(enumerate(listed.truth[:2])))
    assert row.data.tolist() == [1.0, 2.0, 4.0]
    assert row.indices.tolist() == [1, 0, 1]


class Answers:
    """A structure with fresh feature vectors, or with such as belong to the structure after the call too."""

    def __init__(self, how: str) -> None:
        self.how, self.rng = how, np.random.default_rng(4)
        self.phi = self.rng.normal(size=(150, 4, 21)) * (self.rng.random((150, 4, 21)) < 0.4)
        self.given: list[Any] = []
        self.buffer = np.zeros(21)
        self.kept: weakref.WeakValueDictionary[tuple[int, int], Any] = weakref.WeakValueDictionary()

    def joint_features(self, x: int, y: int) -> Any:
        if self.how == "weak":
            kept = self.kept.get((x, y))
            if kept is None:
                self.kept[x, y] = kept = self.phi[x, y].copy()
            return kept
        if self.how == "buffer":
            self.buffer[:] = self.phi[x, y]
            return self.buffer
        if self.how == "view of a buffer":
            self.buffer[:] = self.phi[x, y]
            return self.buffer[:]
        if self.how == "read-only":
            vector = self.phi[x, y].copy()
            vector.flags.writeable = False
            return vector
        if self.how == "strided":
            return np.repeat(self.phi[x, y], 2)[::2]
        if self.how == "its own":
            return self.phi[x, y]
        vector = self.phi[x, y].copy()
        if self.how == "kept":
            self.given.append((vector, x, y))
        return vector

    def loss(self, y_true: int, y: int) -> float:
        return float(y != y_true)

    def argmax(self, x: int, w: Any, y_true: Any = None) -> int:
        return int(np.argmax(self.phi[x] @ w + (0.0 if y_true is None else np.arange(4) != y_true)))


@pytest.mark.parametrize("n", [150, 20])  # several visits a call, and one
@pytest.mark.parametrize("how", ["weak", "buffer", "view of a buffer", "read-only", "strided", "its own", "kept"])
def test_vectors_that_belong_to_the_structure_are_left_alone_and_lead_to_the_same_weights(how: str, n: int) -> None:
    weights = []
    for structure in (Answers("fresh"), Answers(how)):
        before = structure.phi.copy()
        oracle, _ = make_oracle(structure, range(n), [i % 4 for i in range(n)])
        work = Work.start(oracle.n_weights, np.ones(n))
        for seed in range(3):
            work.stamp += 1
            oracle.frank_wolfe(work, np.repeat(np.random.default_rng(seed).permutation(n), 2))
        oracle.evaluate(work.w, np.arange(n))
        weights.append(work.w)
        np.testing.assert_array_equal(structure.phi, before)
        for vector, x, y in structure.given:
            np.testing.assert_array_equal(vector, before[x, y])
    assert np.abs(weights[0]).max() > 0.1
    np.testing.assert_array_equal(weights[0], weights[1])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("at", [0, 15, 16, 20])  # in a whole block of entries and after the last one
def test_features_that_are_not_finite_are_found_among_the_visits_of_a_call(at: int, value: float) -> None:
    structure = Answers("fresh")
    oracle, _ = make_oracle(structure, range(150), [0] * 150)
    right = structure.joint_features

    def wrong(x: int, y: int) -> Any:
        vector = right(x, y)
        vector[at] = value if x == 77 else vector[at]
        return vector

    structure.joint_features = wrong  # type: ignore[method-assign]
    with pytest.raises(DataError, match="Answers, example 77: joint_features returned NaN or infinity"):
        oracle.frank_wolfe(Work.start(oracle.n_weights, np.ones(150)), np.arange(150))


@pytest.mark.parametrize("value", [np.ones(20), np.ones((21, 1)), "text"])
def test_features_that_cannot_be_used_name_the_example_of_the_visit(value: Any) -> None:
    structure = Answers("fresh")
    oracle, _ = make_oracle(structure, range(150), [0] * 150)
    right = structure.joint_features
    structure.joint_features = lambda x, y: value if x == 77 else right(x, y)  # type: ignore[method-assign]
    with pytest.raises((DataError, StructureError), match="example 77"):
        oracle.frank_wolfe(Work.start(oracle.n_weights, np.ones(150)), np.arange(150))


@pytest.mark.parametrize("share", [0.0, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("n", [1, 7, 8, 9, 64, 131])
def test_differences_list_the_entries_that_are_not_zero_in_order(n: int, share: float) -> None:
    rng = np.random.default_rng(n)
    phi = rng.integers(-2, 3, (2, n)) * (rng.random((2, n)) < share)
    phi = np.where(phi == 0, -0.0, phi)
    structure = Answers("its own")
    structure.phi = phi[None]
    part, coef = PlainOracle(structure, [0], [0])._plane(0, 1)
    np.testing.assert_array_equal(part, np.flatnonzero(phi[1] - phi[0]))
    np.testing.assert_array_equal(coef, (phi[1] - phi[0])[part])


class Vector(ListedStructure):
    """Gives the same thing for all outputs."""

    def __init__(self, value: Any, n_features: int | None = None) -> None:
        super().__init__(named_cases()["costs"].listed)
        self.value, self.n_features = value, n_features

    def joint_features(self, x: int, y: Any) -> Any:
        return self.value(x) if callable(self.value) else self.value


@pytest.mark.parametrize(
    ("structure", "message"),
    [
        (Vector({0: 1.0}), "must set n_features"),
        (Vector({3: 1.0}, 3), r"example 0: feature index outside 0\.\.2"),
        (Vector({-1: 1.0}, 3), r"example 0: feature index outside 0\.\.2"),
        (Vector({0.5: 1.0}, 3), "example 0: feature index"),
        (Vector(np.ones((2, 2))), r"example 0: joint_features returned .*shape \(2, 2\)"),
        (Vector(sp.csr_matrix(np.ones((3, 1)))), r"example 0: joint_features returned .*shape \(3, 1\)"),
        (Vector(np.array([1.0, np.nan])), "example 0: joint_features returned NaN or infinity"),
        (
            Vector(np.ma.masked_array([1.0, 2.0], [True, False])),
            "example 0: joint_features must be an array without a mask",
        ),
        (Vector(lambda x: np.ones(2 + x)), "length 3 on example 1 but 2 on example 0"),
    ],
)
def test_joint_features_that_cannot_be_used(structure: Any, message: str) -> None:
    with pytest.raises((StructureError, DataError), match=message):
        PlainOracle(structure, range(3), [(i, 0) for i in range(3)])


@pytest.mark.parametrize("loss", [-1.0, float("nan"), float("inf")])
def test_losses_that_cannot_be_used(loss: float) -> None:
    case = plain_case(named_cases()["costs"])
    case.structure.loss = lambda y_true, y: loss
    with pytest.raises(StructureError, match=f"ListedStructure: loss of example 0 is {loss}; .*finite, at least 0"):
        case.oracle.evaluate(np.zeros(case.oracle.n_weights), np.arange(3))


def test_what_is_no_structure_is_named() -> None:
    class Half:
        def loss(self, y_true: int, y: int) -> float:
            return 0.0

    with pytest.raises(StructureError, match="Half is no structure: it lacks joint_features, argmax"):
        make_oracle(Half(), [1], [1])


def test_the_active_set_alone_solves_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes as many steps as it needs; pairwise steps are for what rounding leaves."""

    def never(*_: Any) -> float:
        raise AssertionError("the active set method gave up")

    monkeypatch.setattr(simplex_qp, "_pairwise", never)
    rng = np.random.default_rng(3)
    for t, rank in [(40, 30), (80, 60), (120, 100)]:
        G, b = random_program(rng, t, rank, 1.0)
        a, gap = solve_simplex_qp(G, b, 1.0, tol=1e-9)
        assert gap <= 1e-9
        assert (a > 0.0).sum() > 11


def random_program(rng: np.random.Generator, t: int, rank: int, scale: float) -> tuple[Any, Any]:
    A = rng.normal(size=(rank, t)) * scale
    return A.T @ A, rng.normal(size=t) + 0.5


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("cap", [0.1, 1.0, 50.0])
def test_the_program_of_the_cutting_planes(scale: float, cap: float) -> None:
    """Against an interior point method; full and deficient ranks, repeated columns, with and without a start."""
    import piqp

    rng = np.random.default_rng(7)
    for t, rank in [(1, 1), (3, 2), (8, 8), (12, 3), (20, 5)]:
        G, b = random_program(rng, t, rank, scale)
        if t == 8:  # two cuts that are the same
            G[3], G[:, 3], b[3] = G[5], G[:, 5], b[5]
            G[3, 3] = G[5, 5]
        solver = piqp.DenseSolver()
        for name in ("eps_abs", "eps_rel"):
            setattr(solver.settings, name, 1e-12)
        solver.setup(G, -b, G=np.ones((1, t)), h_u=np.array([cap]), x_l=np.zeros(t), x_u=np.full(t, 2 * cap))
        solver.solve()
        reference = np.clip(solver.result.x, 0, None)
        best = b @ reference - 0.5 * reference @ G @ reference
        start = rng.dirichlet(np.ones(t)) * cap * 0.9
        for each in (None, start, np.zeros(t), reference * min(1.0, cap / max(reference.sum(), 1e-300))):
            tol = 1e-10 * max(1.0, abs(best))
            a, gap = solve_simplex_qp(G, b, cap, each, tol=tol)
            assert (a >= 0).all()
            assert a.sum() <= cap * (1 + 1e-12)
            value = b @ a - 0.5 * a @ G @ a
            assert value >= best - 1e-8 * max(1.0, abs(best))
            gradient = b - G @ a
            true_gap = cap * max(gradient.max(), 0.0) - a @ gradient
            assert gap <= tol
            rounding = 1e-15 * t * cap * (1.0 + np.abs(G).max() * cap) + 1e-12 * max(1.0, abs(best))
            assert true_gap <= max(gap, 0.0) + rounding


@pytest.mark.parametrize("max_passes", [2, 3, 5])
@pytest.mark.parametrize("solver", [FrankWolfe(), NSlack()], ids=lambda solver: solver.name)
def test_the_first_pass_of_a_start_from_weights_is_counted(solver: Any, max_passes: int, many_classes: Case) -> None:
    structure, calls = ListedStructure(many_classes.listed), []
    original = structure.argmax

    def argmax(x: int, w: Any, y_true: Any = None) -> Any:
        if y_true is not None:
            calls.append(x)
        return original(x, w, y_true)

    structure.argmax = argmax  # type: ignore[method-assign]
    oracle = PlainOracle(structure, range(many_classes.n), list(enumerate(many_classes.listed.truth)))
    start = WarmStart(np.random.default_rng(0).normal(size=oracle.n_weights))
    found = minimize(oracle, solver, C=1.0, tol=0.0, max_passes=max_passes, warm_start=start, random_state=0)
    assert 1 <= found.certificate.passes <= max_passes
    assert len(calls) == found.certificate.passes * many_classes.n
    assert found.certificate.primal <= many_classes.listed.primal(start.w, np.ones(many_classes.n)) * (1 + 1e-12)


@pytest.mark.parametrize("solver", [FrankWolfe(), NSlack()], ids=lambda solver: solver.name)
def test_the_first_pass_of_a_start_from_weights_keeps_the_limit_of_time(solver: Any, many_classes: Case) -> None:
    structure, seen = ListedStructure(many_classes.listed), []
    original = structure.argmax

    def argmax(x: int, w: Any, y_true: Any = None) -> Any:
        if y_true is not None:
            seen.append(x)
            time.sleep(0.02)
        return original(x, w, y_true)

    structure.argmax = argmax  # type: ignore[method-assign]
    oracle = PlainOracle(structure, range(many_classes.n), list(enumerate(many_classes.listed.truth)))
    w = np.random.default_rng(0).normal(size=oracle.n_weights)
    found = minimize(oracle, solver, C=1.0, tol=0.0, max_time=0.2, warm_start=WarmStart(w), random_state=0)
    assert found.certificate.status is Status.TIME_LIMIT
    assert found.certificate.dual <= found.certificate.primal
    assert len(seen) < 1.8 * many_classes.n  # a part of the first pass, and that of the certificate


@pytest.mark.parametrize("solver", [FrankWolfe(), NSlack()], ids=lambda solver: solver.name)
def test_a_start_from_read_only_weights_that_ends_early(solver: Any, long_sequences: CompiledOracle) -> None:
    w = np.random.default_rng(0).normal(size=long_sequences.n_weights)
    w.flags.writeable = False
    for limits in ({"max_passes": 2}, {"max_passes": 4}, {"max_time": 0.0}):
        found = minimize(long_sequences, solver, C=0.1, tol=1e-9, warm_start=WarmStart(w), random_state=0, **limits)
        assert found.certificate.dual <= found.certificate.primal
        assert np.isfinite(found.w).all()


def test_the_n_slack_program_is_not_solved_beyond_what_new_planes_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the last digit in every pass it took seven times as many sweeps, for the same optimum."""
    rng, visits, sweep = np.random.default_rng(0), [0], passes.sweep

    def counted(*args: Any) -> Any:
        visits[0] += len(args[6])
        return sweep(*args)

    monkeypatch.setattr(passes, "sweep", counted)
    oracle, _ = make_oracle(Multiclass(5), rng.normal(size=(300, 20)), rng.integers(0, 5, 300))
    found = minimize(oracle, NSlack(), C=1.0, tol=1e-6, max_passes=100, random_state=0).certificate
    assert found.status is Status.CONVERGED
    assert visits[0] < 60 * 300 * found.passes
