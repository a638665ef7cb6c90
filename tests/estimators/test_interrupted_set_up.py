"""Ctrl-C while a solver is being set up: the model is where the fit was to begin, and its certificate is true."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from maxmargin import (
    AUCClassifier,
    HardMarginSVM,
    MulticlassSVM,
    OneClassSVM,
    SequenceSVM,
    SVMClassifier,
    SVMRanker,
    SVMRegressor,
)
from maxmargin.solvers import loop
from maxmargin.solvers.bundle import Bundle
from maxmargin.solvers.kernel import automatic, factor, interior_point, newton
from maxmargin.solvers.loop import Result
from maxmargin.status import Status

Reals = NDArray[np.float64]
RNG = np.random.default_rng(5)
CLASS = np.repeat([0, 1, 2], 20)
X = RNG.normal(size=(60, 3)) + 0.7 * CLASS[:, None]
TWO = np.where(CLASS + RNG.normal(size=60) > 1.0, 1, -1)
VALUES = X @ [1.0, -2.0, 0.5] + 0.1 * RNG.normal(size=60)
QUERIES = np.repeat(np.arange(6), 10)
GRADES = np.digitize(VALUES, [-1.0, 1.0])
RBF: dict[str, Any] = dict(kernel="rbf", gamma=0.5)


def hinge(t: Reals) -> float:
    return float(np.maximum(1.0 - t, 0.0).sum())


def squared_weights(model: Any) -> float:
    if model.kernel == "linear":
        return float(np.sum(np.square(model.coef_)))
    beta = np.atleast_2d(model.dual_coef_)
    points = model.support_vectors_
    return float(np.trace(beta @ rbf_kernel(points, gamma=0.5) @ beta.T)) if len(points) else 0.0


def of_two(model: Any) -> float:
    t = TWO * model.decision_function(X)
    loss = float(np.logaddexp(0.0, -t).sum()) if model.loss == "logistic" else hinge(t)
    return 0.5 * squared_weights(model) + model.C * loss


def of_three(model: Any) -> float:
    scores = model.decision_function(X)
    return 0.5 * squared_weights(model) + model.C * hinge(np.where(CLASS[:, None] == np.arange(3), scores, -scores))


def of_values(model: Any) -> float:
    loss = np.maximum(np.abs(VALUES - model.predict(X)) - model.epsilon_, 0.0).sum()
    return float(0.5 * squared_weights(model) + model.C * loss)


def of_one_class(model: Any) -> float:
    rho = model.offset_
    return 0.5 * squared_weights(model) + hinge(1.0 + model.decision_function(X)) - model.nu * 60 * rho


def of_multiclass(model: Any) -> float:
    scores = X @ model.coef_.T + model.intercept_
    excess = scores - scores[np.arange(60), CLASS][:, None] + (CLASS[:, None] != np.arange(3))
    return float(0.5 * np.sum(model.coef_**2) + model.C * excess.max(1).sum())


def of_pairs(model: Any) -> float:
    scores = X @ model.coef_.ravel()
    if isinstance(model, AUCClassifier):
        loss = hinge(np.subtract.outer(scores[TWO > 0], scores[TWO < 0]))
        loss *= float((1.0 / np.bincount((TWO > 0).astype(int))).sum())
    else:
        better = (QUERIES[:, None] == QUERIES) & (GRADES[:, None] > GRADES)
        loss = hinge(np.subtract.outer(scores, scores)[better])
    return float(0.5 * np.sum(model.coef_**2) + model.C * loss)


CASES: list[tuple[Any, tuple[Any, ...], Callable[[Any], float]]] = [
    (SVMClassifier(**RBF), (X, TWO), of_two),
    (SVMClassifier(**RBF, solver="interior_point"), (X, TWO), of_two),
    (SVMClassifier(**RBF, loss="logistic"), (X, TWO), of_two),
    (SVMClassifier(**RBF, fit_intercept=False), (X, TWO), of_two),
    (SVMClassifier(**RBF), (X, CLASS), of_three),
    (SVMClassifier(), (X, TWO), of_two),
    (SVMClassifier(solver="newton", loss="logistic"), (X, TWO), of_two),
    (SVMClassifier(solver="projected_gradient"), (X, TWO), of_two),
    (SVMClassifier(), (X, CLASS), of_three),
    (SVMRegressor(), (X, VALUES), of_values),
    (SVMRegressor(**RBF, solver="interior_point"), (X, VALUES), of_values),
    (MulticlassSVM(), (X, CLASS), of_multiclass),
    (MulticlassSVM(solver="interior_point"), (X, CLASS), of_multiclass),
    (AUCClassifier(), (X, TWO), of_pairs),
    (SVMRanker(), (X, GRADES, QUERIES), of_pairs),
]
NU: list[tuple[Any, tuple[Any, ...]]] = [
    (SVMClassifier(**RBF, nu=0.3), (X, TWO)),
    (SVMClassifier(nu=0.8, solver="interior_point"), (X, TWO)),
    (SVMRegressor(**RBF, nu=0.3), (X, VALUES)),
]
ONE_CLASS: list[tuple[Any, tuple[Any, ...], Callable[[Any], float]]] = [
    (OneClassSVM(**RBF, nu=0.3), (X,), of_one_class),
    (OneClassSVM(**RBF, nu=0.3, solver="interior_point"), (X,), of_one_class),
]
EACH = pytest.mark.parametrize(
    ("model", "data", "objective"), [pytest.param(*case, id=repr(case[0])) for case in CASES]
)
EACH_NU = pytest.mark.parametrize(("model", "data"), [pytest.param(*case, id=repr(case[0])) for case in NU])


def interrupt(*_: Any) -> Any:
    raise KeyboardInterrupt


@contextmanager
def no_set_up() -> Iterator[None]:
    """While no solver can be set up: Ctrl-C comes first."""
    run = loop._Loop.run

    def of_no_start(self: Any) -> Result:
        solver = self.solver

        class Stopped:
            """As the solver at hand, but for its start."""

            start = staticmethod(interrupt)

            def __getattr__(self, name: str) -> Any:
                return getattr(solver, name)

        self.solver = Stopped()
        return run(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop._Loop, "run", of_no_start)
        yield


def interrupted(model: Any, data: tuple[Any, ...]) -> Any:
    """The model after a fit whose solver is interrupted at the start."""
    with no_set_up(), pytest.raises(KeyboardInterrupt, match="was interrupted; it keeps the best model so far"):
        model.fit(*data)
    return model


def fresh(model: Any, **changes: Any) -> Any:
    return clone(model).set_params(**changes)


@EACH
def test_without_a_start_the_weights_are_0(model: Any, data: Any, objective: Any) -> None:
    model = interrupted(fresh(model, warm_start=True), data)
    found = model.certificate_
    assert found.status is Status.INTERRUPTED
    assert found.passes == 1
    assert [record.exact for record in model.history_] == [True]
    assert found.dual == 0.0
    assert not np.any(model.coef_ if hasattr(model, "coef_") else model.dual_coef_)
    assert len(model.predict(X)) == 60
    assert found.primal == pytest.approx(objective(model), rel=1e-12)
    whole = fresh(model, tol=1e-6, max_passes=5000).fit(*data)
    assert found.dual <= whole.certificate_.primal <= found.primal
    # as if nothing had happened
    again = model.set_params(tol=1e-6, max_passes=5000).fit(*data)
    assert again.certificate_.status is Status.CONVERGED
    assert again.certificate_.primal == pytest.approx(whole.certificate_.primal, rel=3e-6)


@EACH
def test_with_a_start_the_weights_are_those(model: Any, data: Any, objective: Any) -> None:
    model = fresh(model, warm_start=True, tol=1e-6, max_passes=5000).fit(*data)
    before, primal, predicted = vars(model).copy(), model.certificate_.primal, model.predict(X)
    model = interrupted(model, data)
    found = model.certificate_
    assert found.status is Status.INTERRUPTED
    assert found.primal == pytest.approx(primal, rel=1e-12)
    assert found.primal == pytest.approx(objective(model), rel=1e-12)
    assert found.dual <= found.primal * (1.0 + 1e-9)
    if not isinstance(
        model, MulticlassSVM | AUCClassifier | SVMRanker
    ):  # of these no dual point is at hand without work
        assert found.relative_gap <= 2e-6
    np.testing.assert_array_equal(model.predict(X), predicted)
    for name in ("coef_", "dual_coef_", "intercept_", "support_"):
        if name in before:
            np.testing.assert_allclose(getattr(model, name), before[name], rtol=0.0, atol=1e-12)
    again = model.fit(*data)
    assert again.certificate_.status is Status.CONVERGED
    assert again.certificate_.primal == pytest.approx(primal, rel=3e-6)


@pytest.mark.parametrize(("model", "data", "objective"), ONE_CLASS, ids=["auto", "interior_point"])
def test_of_one_class_it_is_the_dual_point_to_begin_with(model: Any, data: Any, objective: Any) -> None:
    model = interrupted(fresh(model), data)
    found = model.certificate_
    assert found.status is Status.INTERRUPTED
    assert found.primal == pytest.approx(objective(model), rel=1e-12)
    assert set(model.predict(X).tolist()) <= {-1, 1}
    whole = fresh(model, tol=1e-6).fit(*data)
    assert -np.inf < found.dual <= whole.certificate_.primal <= found.primal
    np.testing.assert_array_equal(model.set_params(tol=1e-6).fit(*data).dual_coef_, whole.dual_coef_)


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_a_start_at_another_C_has_its_own_certificate(C: float) -> None:
    for options in ({}, RBF, RBF | {"loss": "logistic"}):
        model = SVMClassifier(warm_start=True, tol=1e-6, max_passes=5000, **options).fit(X, TWO)
        optimum = fresh(model, C=C).fit(X, TWO).certificate_
        found = interrupted(model.set_params(C=C), (X, TWO)).certificate_
        assert found.primal == pytest.approx(of_two(model), rel=1e-12)
        assert 0.0 < found.dual <= optimum.primal <= found.primal * (1.0 + 1e-9)


@pytest.mark.filterwarnings("ignore:with nu=")  # the point to begin with need not tell the classes apart
@EACH_NU
def test_by_nu_it_is_the_dual_point_to_begin_with(model: Any, data: Any) -> None:
    model = interrupted(fresh(model, warm_start=True), data)
    found = model.certificate_
    assert found.status is Status.INTERRUPTED
    assert model.predict(X).shape == (60,)
    assert model.dual_coef_.any() == isinstance(model, SVMClassifier)  # both sides of the tube cancel
    whole = fresh(model, tol=1e-6, max_passes=5000).fit(*data)
    assert found.dual <= whole.certificate_.primal + 1e-9
    assert whole.certificate_.dual <= found.primal + 1e-9
    model.set_params(tol=1e-6, max_passes=5000).fit(*data)
    np.testing.assert_allclose(model.predict(X), whole.predict(X), atol=1e-2)
    primal = model.certificate_.primal
    model = interrupted(model, data)
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-9)
    assert model.certificate_.dual == pytest.approx(primal, rel=1e-5)


def test_of_several_problems_the_first_ends_all() -> None:
    model = interrupted(SVMClassifier(solver="perceptron"), (X, CLASS))
    assert model.n_mistakes_.tolist() == [0, 0, 0]
    assert model.predict(X).shape == (60,)


def test_the_reason_is_none_that_was_not_given() -> None:
    assert "interrupted" in interrupted(SVMClassifier(), (X, TWO)).solver_reason_
    assert interrupted(SVMClassifier(solver="newton", loss="logistic"), (X, TWO)).solver_reason_ == "asked for"


@pytest.mark.parametrize("options", [{"loss": "logistic"}, {"solver": "interior_point"}], ids=str)
@pytest.mark.parametrize("where", ["shared_factor", "factor_of", "linear_task_of"])
def test_in_the_factor_of_the_kernel_matrix(options: Any, where: str) -> None:
    model = SVMClassifier(C=100.0, tol=1e-6, **RBF, **options)
    with pytest.MonkeyPatch.context() as patch:
        for module in (factor, automatic, interior_point, newton):
            if hasattr(module, where):
                patch.setattr(module, where, interrupt)
        with pytest.raises(KeyboardInterrupt, match="keeps the best model so far"):
            model.fit(X, TWO)
    assert model.certificate_.status is Status.INTERRUPTED
    assert model.certificate_.primal == pytest.approx(of_two(model), rel=1e-12)
    fresh_fit = SVMClassifier(C=100.0, tol=1e-6, **RBF, **options).fit(X, TWO)
    np.testing.assert_array_equal(model.fit(X, TWO).dual_coef_, fresh_fit.dual_coef_)


SEPARATED = np.where(X[:, 0] > np.median(X[:, 0]), 1, -1)
PAIRS = ([[["a"], ["b"]], [["b"], ["c"]]], [["x", "y"], ["y", "x"]])


NONE: list[tuple[Any, tuple[Any, ...]]] = [
    (HardMarginSVM(), (X, SEPARATED)),
    (HardMarginSVM(**RBF), (X, SEPARATED)),
    (SVMRanker(C=np.inf), (X, X[:, 0])),
    (SequenceSVM(), PAIRS),
    (SVMClassifier(solver=Bundle(radius=1.0)), (X, TWO)),
]


@pytest.mark.parametrize(("model", "data"), [pytest.param(*case, id=repr(case[0])) for case in NONE])
def test_where_weights_of_0_are_no_answer_there_is_none(model: Any, data: Any) -> None:
    with no_set_up(), pytest.raises(KeyboardInterrupt):
        model.fit(*data)
    assert not hasattr(model, "certificate_")
    assert len(model.fit(*data).predict(data[0])) == len(data[0])


def test_a_second_interrupt_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    from maxmargin.solvers.kernel.task import KernelTask

    monkeypatch.setattr(factor, "factor_of", interrupt)
    monkeypatch.setattr(KernelTask, "evaluate", interrupt)
    model = SVMClassifier(**RBF, loss="logistic")
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, TWO)
    assert not hasattr(model, "certificate_")


@pytest.mark.parametrize("model", [SVMClassifier(nu=0.3), SVMClassifier(nu=0.3, **RBF), SVMRegressor(nu=0.3, **RBF)])
def test_nothing_is_said_that_only_a_whole_fit_could_say(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of classes that cannot be told apart, or of weights that are the best."""

    def interrupted(self: Any, task: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("maxmargin.solvers.kernel.block_smo.BlockSMO.start", interrupted)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, VALUES if isinstance(model, SVMRegressor) else np.random.default_rng(0).choice([-1, 1], 60))
    assert model.certificate_.status is Status.INTERRUPTED
    assert model.notes_ == ()
