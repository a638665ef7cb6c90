"""The parameter ``solver`` of every estimator: what it takes, and one line for what it does not, with the reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from maxmargin import (
    AUCClassifier,
    HardMarginSVM,
    MulticlassSVM,
    OneClassSVM,
    SequenceSVM,
    StructuredSVM,
    SVMClassifier,
    SVMRanker,
    SVMRegressor,
    TreeSVM,
    losses,
    svm_path,
)
from maxmargin._kernel_machine import kernel_solvers
from maxmargin._machine import _SOLVERS
from maxmargin.data import parse_tree
from maxmargin.multiclass import solvers_by_rows
from maxmargin.ranking import PAIR_SOLVERS
from maxmargin.solvers import BY_NAME, by_name
from maxmargin.solvers.base import Run
from maxmargin.solvers.frank_wolfe import FrankWolfe
from maxmargin.solvers.kernel.interior_point import KernelInteriorPoint
from maxmargin.solvers.linear.coordinate_ascent import CoordinateAscent
from maxmargin.solvers.linear.crammer_singer import CrammerSinger
from maxmargin.solvers.linear.interior_point import InteriorPoint
from maxmargin.solvers.perceptron import Perceptron
from maxmargin.solvers.ranking.newton import TruncatedNewton
from solvers.enumeration import multiclass_case, plain_case

X = np.random.default_rng(0).normal(size=(12, 2))
X[:, 0] += np.where(np.arange(12) % 2, 3.0, -3.0)
SIGN = np.arange(12) % 2
CASE = plain_case(multiclass_case(X, SIGN))
TREES = [parse_tree("(S (A a) (B b))"), parse_tree("(S (B b) (A a))")]

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

Fit = Callable[[Any], Any]
LINEAR: dict[str, Fit] = {
    "classifier": lambda solver: SVMClassifier(solver=solver, max_passes=4).fit(X, SIGN),
    "path": lambda solver: svm_path(X, SIGN, [1.0], solver=solver, max_passes=4),
    "hard margin": lambda solver: HardMarginSVM(solver=solver, max_passes=4).fit(X, SIGN),
    "regressor": lambda solver: SVMRegressor(solver=solver, max_passes=4).fit(X, X[:, 0]),
}
KERNEL: dict[str, Fit] = {
    "kernel": lambda solver: SVMClassifier(kernel="rbf", solver=solver, max_passes=4).fit(X, SIGN),
    "nu": lambda solver: SVMClassifier(nu=0.5, solver=solver, max_passes=4).fit(X, SIGN),
    "regressor with kernel": lambda solver: SVMRegressor(kernel="rbf", solver=solver, max_passes=4).fit(X, X[:, 0]),
    "one class": lambda solver: OneClassSVM(solver=solver, max_passes=4).fit(X),
}
STRUCTURED: dict[str, Fit] = {
    "multiclass": lambda solver: MulticlassSVM(solver=solver, max_passes=4).fit(X, SIGN),
    "sequence": lambda solver: SequenceSVM(solver=solver, max_passes=4).fit([[["a"], ["b"]]] * 2, [["P", "Q"]] * 2),
    "tree": lambda solver: TreeSVM(solver=solver, max_passes=4).fit([tree.leaves() for tree in TREES], TREES),
    "structured": lambda solver: StructuredSVM(CASE.structure, solver=solver, max_passes=4).fit(
        range(12), list(enumerate(SIGN))
    ),
}
RANKING: dict[str, Fit] = {
    "ranker": lambda solver: SVMRanker(solver=solver, max_passes=4).fit(X, SIGN),
    "area": lambda solver: AUCClassifier(solver=solver, max_passes=4).fit(X, SIGN),
}
ALL = LINEAR | KERNEL | STRUCTURED | RANKING
CLASSES = [
    InteriorPoint(), CoordinateAscent(), KernelInteriorPoint(), FrankWolfe(), CrammerSinger(), TruncatedNewton(),
]  # fmt: skip


def refusal(fit: Fit, solver: Any) -> str:
    """The message, which is one line and names the estimator."""
    with pytest.raises(ValueError) as caught:
        fit(solver)
    message = str(caught.value)
    assert re.fullmatch(r"[A-Za-z]+: .*", message), message
    return message


def said(fit: Fit, solver: Any) -> str:
    """The message of a refusal, if there is one."""
    try:
        fit(solver)
    except ValueError as error:
        return str(error)
    return ""


def offered(message: str) -> set[str]:
    """The names that a message lists."""
    found = re.search(r"solver must be one of \[(.*)\] or an object of theirs", message)
    assert found, message
    return set(re.findall("'([a-z_]+)'", found[1]))


@pytest.mark.parametrize("name", ALL)
def test_what_is_no_solver(name: str) -> None:
    fit = ALL[name]
    names = offered(refusal(fit, "simplex"))
    assert "unknown solver 'simplex'; " in refusal(fit, "simplex")
    for odd in (None, 3, FrankWolfe, InteriorPoint, np.ones(2), {"auto"}):
        message = refusal(fit, odd)
        assert offered(message) == names
        assert ": solver must be one of" in message
        assert ", not " in message


def test_the_lists_are_those_of_the_estimators() -> None:
    structured = {"auto", *BY_NAME}
    for name, fit in ALL.items():
        expected = set(kernel_solvers(1.0)) if name in KERNEL else set(_SOLVERS) if name in LINEAR else structured
        if name in RANKING:
            expected = set(PAIR_SOLVERS)
        if name == "multiclass":
            expected = expected | set(solvers_by_rows())
        if name == "regressor":
            expected = {each for each in expected if "perceptron" not in each}
        assert offered(refusal(fit, "simplex")) == expected


@pytest.mark.parametrize("name", ALL)
def test_every_name_that_is_offered_is_taken_and_every_other_refused_with_a_reason(name: str) -> None:
    """The hard margin has its own words for the perceptrons, and Newton's method for losses with kinks."""
    fit = ALL[name]
    names = offered(refusal(fit, "simplex"))
    for solver in {*_SOLVERS, *kernel_solvers(1.0), *BY_NAME}:
        if solver not in names:
            message = refusal(fit, solver)
            assert re.search(rf": solver '{solver}' is not for [^:]+: it is for [^;]+; solver must be one of", message)
            assert offered(message) == names
            continue
        message = said(fit, solver)
        assert "solver must be" not in message
        assert not message or solver == "newton" or (name == "hard margin" and "perceptron" in solver)


@pytest.mark.parametrize(
    ("fit", "solver", "message"),
    [
        ("multiclass", "projected_gradient", "MulticlassSVM: solver 'projected_gradient' is not for structured machines: it is for linear machines and machines with a kernel or nu; "),
        ("multiclass", "block_smo", "is not for structured machines: it is for machines with a kernel or nu; "),
        ("multiclass", InteriorPoint(), "MulticlassSVM: solver InteriorPoint() is not for structured machines: it is for linear machines; "),
        ("multiclass", CoordinateAscent(), "solver CoordinateAscent(shrinking=True) is not for structured machines: it is for linear machines; "),
        ("sequence", "coordinate_ascent", "SequenceSVM: solver 'coordinate_ascent' is not for structured machines: it is for linear machines and MulticlassSVM; "),
        ("sequence", CrammerSinger(), "is not for structured machines: it is for MulticlassSVM; "),
        ("structured", KernelInteriorPoint(), "StructuredSVM: solver KernelInteriorPoint() is not for structured machines: it is for machines with a kernel or nu; "),
        ("kernel", "one_slack", "SVMClassifier: solver 'one_slack' is not for kernel='rbf': it is for linear machines, structured machines and ranking; "),
        ("classifier", "n_slack", "SVMClassifier: solver 'n_slack' is not for linear machines: it is for structured machines; "),
        ("classifier", "frank_wolfe", "SVMClassifier: solver 'frank_wolfe' is not for linear machines: it is for structured machines; "),
        ("classifier", "block_smo", "SVMClassifier: solver 'block_smo' is not for linear machines: it is for machines with a kernel or nu; "),
        ("path", "block_smo", "SVMClassifier: solver 'block_smo' is not for linear machines: it is for machines with a kernel or nu; "),
        ("classifier", CrammerSinger(), "is not for linear machines: it is for MulticlassSVM; "),
        ("kernel", "coordinate_ascent", "SVMClassifier: solver 'coordinate_ascent' is not for kernel='rbf': it is for linear machines and MulticlassSVM; "),
        ("kernel", InteriorPoint(), "solver InteriorPoint() is not for kernel='rbf': it is for linear machines; "),
        ("nu", "bundle", "SVMClassifier: solver 'bundle' is not for nu: it is for linear machines, structured machines and ranking; "),
        ("one class", "pegasos", "OneClassSVM: solver 'pegasos' is not for nu: it is for linear machines, structured machines and ranking; "),
        ("ranker", "n_slack", "SVMRanker: solver 'n_slack' is not for ranking: it is for structured machines; "),
        ("area", InteriorPoint(), "AUCClassifier: solver InteriorPoint() is not for ranking: it is for linear machines; "),
        ("structured", TruncatedNewton(), "is not for structured machines: it is for ranking; "),
        ("regressor", "perceptron", "SVMRegressor: solver 'perceptron' is not for linear regression: it is for linear classification and structured machines; "),
        ("regressor", Perceptron(), "SVMRegressor: solver Perceptron(average=True, permuted=True) is not for linear regression: it is for linear classification and structured machines; "),
    ],
)  # fmt: skip
def test_the_reasons(fit: str, solver: Any, message: str) -> None:
    assert message in refusal(ALL[fit], solver)


def test_a_hard_margin_is_linear_whatever_the_kernel() -> None:
    def fit(solver: Any) -> Any:
        return HardMarginSVM(kernel="rbf", solver=solver).fit(X, SIGN)

    assert "solver 'block_smo' is not for hard margins: it is for" in refusal(fit, "block_smo")
    assert fit(InteriorPoint()).solver_ == "interior_point"


@pytest.mark.parametrize("solver", CLASSES, ids=lambda solver: type(solver).__name__)
def test_an_object_is_taken_where_its_class_belongs(solver: Any) -> None:
    homes = {
        InteriorPoint: LINEAR, CoordinateAscent: LINEAR, KernelInteriorPoint: KERNEL, FrankWolfe: STRUCTURED,
        TruncatedNewton: RANKING,
    }  # fmt: skip
    home = homes.get(type(solver), {"multiclass": STRUCTURED["multiclass"]})
    for name, fit in ALL.items():
        if name in home:
            found = fit(solver)
            assert getattr(found, "solver_", solver.name) == solver.name
        else:
            assert f"solver {type(solver).__name__}(" in refusal(fit, solver)


def test_the_options_of_an_object_are_used() -> None:
    """Those of coordinate ascent for several classes too."""
    seen = []

    class Watched(CrammerSinger):
        def start(self, task: Any) -> Run:
            seen.append(self.shrinking)
            return super().start(task)

    model = MulticlassSVM(solver=Watched(shrinking=False)).fit(X, SIGN)
    assert (seen, model.solver_) == ([False], "coordinate_ascent")


class Own:
    """A solver that is none of this library's."""

    name = "own"

    def start(self, task: Any) -> Run:
        return FrankWolfe().start(task)


def test_a_solver_of_ones_own_for_structures() -> None:
    for name, fit in STRUCTURED.items():
        assert fit(Own()).solver_ == "own", name
    for fit in (LINEAR | KERNEL).values():
        assert ": solver must be one of" in refusal(fit, Own())


def test_a_wrong_solver_is_refused_before_the_data_are_read() -> None:
    for model in (SVMClassifier(solver="n_slack"), MulticlassSVM(solver="newton")):
        with pytest.raises(ValueError, match="is not for"):
            model.fit(X, "no classes")


def test_names_make_the_solvers_of_their_classes() -> None:
    for name in BY_NAME:
        assert type(MulticlassSVM(solver=name)._structured_solver()) is type(by_name(name))
        assert type(SequenceSVM(solver=name)._structured_solver()) is type(by_name(name))
    assert type(MulticlassSVM(solver="coordinate_ascent")._structured_solver()) is CrammerSinger


@pytest.mark.parametrize(("loss", "kinks"), [("hinge", True), ("exponential", False), (losses.Logistic(), False)])
def test_advice_on_kinks_is_for_losses_that_have_them(loss: Any, kinks: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) * [1.0, 30.0, 0.01]
    y = rng.integers(2, size=60)
    with pytest.warns(ConvergenceWarning) as found:
        SVMClassifier(100.0, loss=loss, solver="gradient_descent", max_passes=5, tol=1e-9).fit(X, y)
    assert ("kinks" in str(found[0].message)) == kinks
