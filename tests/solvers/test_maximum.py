"""What counts as a fault of the decoder goes with the size of losses and scores, and with the rounding of their sums."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from maxmargin import SequenceSVM, StructuredSVM
from maxmargin._compiled import jit_disabled
from maxmargin.errors import StructureError
from maxmargin.solvers.judge import Judge
from maxmargin.solvers.oracle import Work, make_oracle
from maxmargin.solvers.plain_oracle import PlainOracle
from maxmargin.solvers.planes import copied
from maxmargin.structures import compiled
from maxmargin.structures.multiclass import Multiclass

SCALES = (1e-8, 1.0, 1e8)
RNG = np.random.default_rng(5)
X = RNG.normal(size=(20, 4))
Y = np.arange(20) % 3
scaled = pytest.mark.parametrize(("unit", "size"), [(a, b) for a in SCALES for b in SCALES])


class Scaled:
    """Classes, with losses in units of ``unit`` and features in units of ``size``."""

    def __init__(self, unit: float, size: float, how: str = "right") -> None:
        self.unit, self.size, self.how = unit, size, how

    def joint_features(self, x: Any, y: int) -> Any:
        return self.size * np.outer(x, np.eye(3)[y]).ravel()

    def loss(self, y_true: int, y: int) -> float:
        return self.unit * (y != y_true)

    def argmax(self, x: Any, w: Any, y_true: int | None = None) -> int:
        scores = self.size * (x @ w.reshape(-1, 3))
        if y_true is not None and self.how != "ignores the loss":
            scores = scores + self.unit * (np.arange(3) != y_true)
        return int(scores.argmax())


def fitted(structure: Any, solver: str, **settings: Any) -> Any:
    unit, size = structure.unit, structure.size
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # the same problem in all units: w -> unit / size w
        model = StructuredSVM(structure, C=0.5 * unit / size**2, solver=solver, tol=1e-6, random_state=0, **settings)
        return model.fit(X, Y.tolist())


@pytest.mark.parametrize("solver", ["frank_wolfe", "n_slack", "one_slack"])
@scaled
def test_one_problem_in_all_units(unit: float, size: float, solver: str) -> None:
    model = fitted(Scaled(unit, size), solver, max_passes=300)
    expected = fitted(Scaled(1.0, 1.0), "frank_wolfe", max_passes=300)
    assert model.certificate_.primal * (size / unit) ** 2 == pytest.approx(expected.certificate_.primal, rel=1e-4)


@pytest.mark.parametrize("solver", ["frank_wolfe", "n_slack", "one_slack"])
@scaled
def test_a_fault_is_found_in_all_units(unit: float, size: float, solver: str) -> None:
    with pytest.raises(StructureError, match=r"Scaled: .*argmax of example \d+ is not the maximum: .*check_structure"):
        fitted(Scaled(unit, size, "ignores the loss"), solver, max_passes=300)


@pytest.mark.parametrize("solver", ["one_slack", "bundle"])
@scaled
def test_a_worse_output_than_the_truth_is_found_in_all_units(unit: float, size: float, solver: str) -> None:
    structure = Scaled(unit, size)
    structure.argmax = lambda x, w, y_true=None: int((x @ w.reshape(-1, 3)).argmin())  # type: ignore[method-assign]
    with pytest.raises(StructureError, match=r"Scaled: the .*argmax of example \d+ .*is not the maximum"):
        fitted(structure, solver)


def judged(oracle: Any, w: Any, work: Work) -> None:
    examples = np.array([0])
    _, cached = oracle.best_cached(w, work.planes, examples)
    found = oracle.evaluate(w, examples, work=work)
    oracle.check_maximum(examples, found.slack, cached)


def stepped(oracle: Any, w: Any, work: Work) -> None:
    """A pass of steps from these weights, with copies of these planes."""
    pass_ = Work.start(len(w), np.ones(1))
    pass_.w[:], pass_.planes = w, copied(work.planes)
    oracle.frank_wolfe(pass_, np.array([0]))


class Order:
    """Outputs 1 and 2 have the same products, in another order: they tie, and their sums differ by rounding."""

    n = 1000

    def __init__(self, scale: float) -> None:
        rng = np.random.default_rng(1)
        order = rng.permutation(self.n)
        x = rng.normal(size=self.n)
        w = scale * rng.normal(size=self.n)
        w[0] += (1e-9 * scale - w @ x) / x[0]  # large products, a small sum
        self.phi = np.zeros((3, 2 * self.n))
        self.phi[1, : self.n], self.phi[2, self.n :] = x, x[order]
        self.w = np.concatenate([w, w[order]])
        self.chosen, self.unit = 0, 1e-9 * scale

    def joint_features(self, x: int, y: int) -> Any:
        return self.phi[y]

    def loss(self, y_true: int, y: int) -> float:
        return self.unit * (y != y_true)

    def argmax(self, x: int, w: Any, y_true: int | None = None) -> int:
        return self.chosen


def ties(scale: float) -> tuple[Order, Any, Work]:
    """Both outputs are known, and the decoder takes the one whose sum came out smaller."""
    structure = Order(scale)
    oracle = PlainOracle(structure, [0], [0])
    sums = structure.phi @ structure.w
    best = 1 if sums[1] > sums[2] else 2
    assert sums[best] - sums[3 - best] > 1e-6 * (structure.unit + sums[best])  # more than a decoder may be off by
    work = Work.start(2 * structure.n, np.ones(1))
    structure.chosen = best
    oracle.evaluate(structure.w, np.array([0]), work=work)
    structure.chosen = 3 - best
    return structure, oracle, work


@pytest.mark.parametrize("scale", [*SCALES, 1e12])
def test_what_sums_round_is_no_fault(scale: float) -> None:
    structure, oracle, work = ties(scale)
    judged(oracle, structure.w, work)
    structure.chosen = 3 - structure.chosen  # the sums of the library may come out the other way round
    judged(oracle, structure.w, work)
    stepped(oracle, structure.w, work)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("share", "single"), [(1e-10, True), (1e-7, True), (1e-3, False)])
def test_more_than_that_is_a_fault(scale: float, share: float, single: bool) -> None:
    structure, oracle, work = ties(scale)
    worse = structure.phi[structure.chosen]
    worse *= 1 - np.sign(worse * structure.w) * share  # this share of the sizes of all products
    fault = "Order: the loss-augmented argmax of example 0 is not the maximum"
    with pytest.raises(StructureError, match=fault):  # by a pass of steps, which looks for itself
        stepped(oracle, structure.w, work)
    with pytest.raises(StructureError, match=fault) as caught:
        judged(oracle, structure.w, work)
    assert ("(so little is the rounding of float32: compute scores in float64)" in str(caught.value)) == single


@compiled
def _decode_nothing_new(pack, i, theta, out):
    """The first class, whatever the potentials are."""
    out[0] = 0
    return theta[0]


class First(Multiclass):
    decode = staticmethod(_decode_nothing_new)


@pytest.mark.skipif(jit_disabled(), reason="the same by the plain structures above")
@pytest.mark.parametrize("unit", SCALES)
def test_compiled_structures_are_judged_by_the_same_rule(unit: float) -> None:
    costs = unit * (1 - np.eye(3))
    right, _ = make_oracle(Multiclass(3, costs), X, Y)
    wrong, _ = make_oracle(First(3, costs), X, Y)
    examples = np.flatnonzero(Y == 0)
    work = Work.start(12, np.ones(20))
    w = np.zeros(12)
    right.evaluate(w, examples, work=work)
    _, cached = right.best_cached(w, work.planes, examples)
    assert (cached == unit).all()
    found = right.evaluate(w, examples, work=work)
    right.check_maximum(examples, found.slack, cached)
    found = wrong.evaluate(w, examples, work=work)
    with pytest.raises(StructureError, match=r"First: the loss-augmented argmax of example 0 is not the maximum"):
        wrong.check_maximum(examples, found.slack, cached)
    w = unit * RNG.normal(size=12)
    with pytest.raises(StructureError, match=r"First: .* is not the maximum: .* above the truth's, the truth itself"):
        wrong.evaluate(w, np.arange(20))


def test_rounding_is_judged_once_not_at_every_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of separated data every evaluation has truths whose own score is a little below them."""
    rng = np.random.default_rng(2)
    labels = [rng.integers(0, 3, 12) for _ in range(50)]
    tokens = [np.eye(3)[y] + 0.01 * rng.normal(size=(12, 3)) for y in labels]
    judged_at: list[int] = []
    products = Judge._products

    def counted(self: Any, i: int, *args: Any) -> Any:
        judged_at.append(i)
        return products(self, i, *args)

    monkeypatch.setattr(Judge, "_products", counted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SequenceSVM(C=100.0, solver="gradient_descent", max_passes=40, random_state=0).fit(tokens, labels)
    assert model.score(tokens, labels) == 1.0
    assert len(judged_at) < 10
