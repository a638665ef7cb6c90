"""Leaps of coordinate ascent: what a face says of the dual, steps that make it rise, and problems that need them."""

from __future__ import annotations

import math
import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from linear.problems import EPSILON, INTERCEPTS, LOSSES, SCALE, Small
from maxmargin import MulticlassSVM, SVMClassifier, SVMRegressor
from maxmargin.solvers.base import Step
from maxmargin.solvers.deadline import Deadline, OutOfTime
from maxmargin.solvers.linear import face, selected_rows
from maxmargin.solvers.linear.coordinate_ascent import CoordinateAscent
from maxmargin.solvers.linear.crammer_singer import CrammerSinger, MulticlassTask
from maxmargin.solvers.linear.face import Leaps, leap
from maxmargin.solvers.linear.face_of_classes import ClassesFace
from maxmargin.solvers.linear.face_of_terms import TermsFace
from maxmargin.solvers.linear.interior_point import InteriorPoint
from maxmargin.solvers.linear.multiclass_interior_point import MulticlassInteriorPoint
from maxmargin.solvers.linear.rows import Rows
from maxmargin.solvers.loop import Result, run_to_tolerance
from maxmargin.status import Status

Reals = NDArray[np.float64]
C = 1e4
FORMS: dict[str, Any] = {
    "sparse": sp.csr_matrix,
    "dense": np.asarray,
    "float32": lambda X: X.astype(np.float32),
}


def contradicting(loss: str, intercept: str, form: str = "dense", n: int = 150, d: int = 400) -> Small:
    """Rows with more features than there are rows, and copies of some with another target."""
    rng = np.random.default_rng(8)
    X = np.round(rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.1), 2)
    y = X @ rng.normal(size=d)
    y = np.where(y > 0.0, 1.0, -1.0) if "hinge" in loss else np.round(y, 1)
    copies = n // 15
    X, y = np.vstack([X, X[:copies]]), np.append(y, -y[:copies])
    return Small(FORMS[form](X), y, np.full(len(y), C), loss, intercept)


def dual(problem: Small, a: Reals, shift: float, square: float) -> float:
    """Of the problem with a constant feature and a multiplier of its sum, by the definition."""
    X = problem.X.toarray() if sp.issparse(problem.X) else problem.X
    if "hinge" in problem.loss:
        sign, margin = problem.y[:, None], np.ones((len(a), 1))
    else:
        sign = np.tile([1.0, -1.0], (len(a), 1))
        margin = np.column_stack([problem.y, -problem.y]) - EPSILON
    beta = (sign * a).sum(1)
    value = float((margin * a).sum()) - shift * beta.sum() - 0.5 * square * beta.sum() ** 2
    if "squared" in problem.loss:
        value -= float((a**2 / (4.0 * problem.c[:, None])).sum())
    w = X.T @ beta
    return value - 0.5 * float(w @ w)


def some_face(problem: Small, a: Reals, constant: float, shift: float) -> TermsFace:
    task = problem.task()
    terms: Any = task.terms
    w = np.asarray(task.rows.combined(terms.beta(a)))
    at = shift + constant**2 * float(terms.beta(a).sum())
    return TermsFace(task.rows, terms.written_out(), a, (a > 0.0) & (a < terms.upper), w, constant, at, lambda: None)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("loss", LOSSES)
def test_a_face_is_the_dual_along_its_variables(
    loss: str, form: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    if form == "float32":  # as of rows that are too many for a copy
        monkeypatch.setattr(selected_rows, "_IN_A_COPY", 0)
    problem = contradicting(loss, "free", form, n=30, d=60)
    a = rng.uniform(0.0, C, (len(problem.y), 2 if "insensitive" in loss else 1)) * (rng.random((32, 1)) < 0.7)
    found = some_face(problem, a, 0.4, -0.3)
    assert 10 < len(found.values) < a.size
    assert np.array_equal(found.values, a[found.where])
    if "squared" in loss:
        assert np.isinf(found.upper).all()
    else:
        assert (found.upper == C).all()
    for _ in range(3):
        p = rng.normal(size=len(found.values))
        moved = a.copy()
        moved[found.where] += p
        rise = float(found.slope @ p) - 0.5 * float(p @ found.product(p))
        expected = dual(problem, moved, -0.3, 0.16) - dual(problem, a, -0.3, 0.16)
        assert rise == pytest.approx(expected, rel=1e-6, abs=1e-9 * abs(dual(problem, a, -0.3, 0.16)))
    unit = np.eye(len(found.values))
    bends = np.array([float(e @ found.product(e)) for e in unit])
    np.testing.assert_allclose(found.diagonal, bends, rtol=1e-5 if form == "float32" else 1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_leap_makes_the_dual_rise_and_stays_in_the_box(loss: str, rng: np.random.Generator) -> None:
    problem = contradicting(loss, "none", n=60, d=90)
    rises = 0
    for scale in (1e-3, 1.0, C):
        a = scale * rng.random((64, 2 if "insensitive" in loss else 1)) * (rng.random((64, 1)) < 0.8)
        found = some_face(problem, a, 0.0, 0.0)
        change, _, products = leap(found, 20)
        assert 1 < products <= 20 + 10
        if change is None:
            continue
        rises += 1
        moved = a.copy()
        moved[found.where] = found.values + change
        assert (moved >= 0.0).all()
        if "squared" not in loss:
            assert (moved <= C).all()
        assert dual(problem, moved, 0.0, 0.0) > dual(problem, a, 0.0, 0.0)
    assert rises >= 2


def test_a_leap_ends_at_the_maximum_where_no_bound_is_met() -> None:
    problem = contradicting("squared_hinge", "none", n=40, d=80)
    # all margins wrong: every dual variable is positive at the maximum
    X = 0.01 * problem.X
    problem = Small(X, problem.y, problem.c / C, "squared_hinge", "none")
    Z = problem.y[:, None] * X
    best = np.linalg.solve(Z @ Z.T + 0.5 * np.eye(len(Z)), np.ones(len(Z)))
    assert best.min() > 0.1
    found = some_face(problem, np.full((len(Z), 1), 0.05), 0.0, 0.0)
    change, way, _ = leap(found, 200)
    assert change is not None
    np.testing.assert_allclose(found.values + change, best, rtol=1e-6)
    np.testing.assert_allclose(change, way, rtol=1e-12)


def test_two_rows_that_contradict_each_other_go_to_their_bounds() -> None:
    x = np.array([[3.0, 1.0], [3.0, 1.0]])
    problem = Small(x, np.array([1.0, -1.0]), np.full(2, 7.0), "hinge", "none")
    found = some_face(problem, np.array([[0.5], [0.5]]), 0.0, 0.0)
    change, _, _ = leap(found, 10)
    assert change is not None
    np.testing.assert_allclose(found.values + change, 7.0)


def test_where_nothing_is_free_to_move_there_is_no_leap() -> None:
    leaps, rows = Leaps(), Rows(np.ones((20, 10)))
    assert leaps.products(0, 0, rows, 10, np.inf) == 0
    assert leaps.products(20, 101, rows, 10, np.inf) == 0
    assert leaps.products(5, 101, rows, 10, np.inf) == 0  # rows of several classes have several free variables
    assert leaps.products(10, 10, rows, 10, np.inf) > 0
    assert leaps.products(10, 10, rows, 10, 2.0) == 0


def test_products_over_very_many_features_are_counted_as_what_they_cost() -> None:
    wide = Rows(sp.csr_matrix((np.ones(40), (np.arange(40) % 20, np.arange(40))), (20, 4000)))
    leaps, step = Leaps(), Step(1, 0.0, 0.0)
    most = leaps.products(10, 10, wide, 4000, np.inf)
    leaps.count(step, most)
    assert step.passes == 1 + math.ceil(most * (0.5 + 100.0))
    assert leaps.products(10, 10, wide, 4000, 500.0) == 0


@pytest.mark.parametrize("scale", [1.0, 10.0])
@pytest.mark.parametrize("squared", [False, True])
def test_numbers_too_small_for_their_squares(squared: bool, scale: float) -> None:
    loss = "squared_epsilon_insensitive" if squared else "epsilon_insensitive"
    for C, X, y in (
        (1e30, [[1.0, 1.0, 0.0]] * 2, [1e-100, -1e-100]),
        (1.0, [[1e56, 1e56, 0.0]] * 3, [1e-95, -1e-95, 3e-95]),
    ):
        for intercept in (False, True):
            model = SVMRegressor(
                C, loss=loss, epsilon=0, fit_intercept=intercept, solver="coordinate_ascent", tol=1e-9, max_passes=100
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.fit(np.array(X), scale * np.array(y))
            assert np.isfinite(model.certificate_.primal)
            assert model.certificate_.dual <= model.certificate_.primal


def solve(problem: Small, tol: float = 1e-5, max_passes: int = 3000, **options: Any) -> Result:
    return run_to_tolerance(problem.task(tol), CoordinateAscent(), max_passes=max_passes, **options)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("loss", LOSSES)
def test_rows_that_contradict_each_other(loss: str, intercept: str) -> None:
    for form in FORMS:
        problem = contradicting(loss, intercept, form)
        expected = run_to_tolerance(problem.task(1e-9), InteriorPoint(), max_passes=200)
        assert expected.certificate.status is Status.CONVERGED
        found = solve(problem).certificate
        assert found.status is Status.CONVERGED, (form, found)
        assert found.dual <= expected.certificate.primal * (1 + 1e-9)
        assert expected.certificate.dual * (1 - 1e-9) <= found.primal <= expected.certificate.primal * (1 + 1.1e-5)


def test_they_need_leaps(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = contradicting("hinge", "free")
    passes = solve(problem).certificate.passes
    monkeypatch.setattr(face, "_FIRST", np.inf)
    without = solve(problem, max_passes=3 * passes).certificate
    assert without.status is Status.PASS_LIMIT
    assert without.relative_gap > 0.1


def test_the_dual_never_falls() -> None:
    records: list[Any] = []
    solve(contradicting("insensitive", "none"), check_every=1, callback=lambda record, w: records.append(record))
    exact = [record.dual for record in records if record.exact]
    assert len(exact) > 30
    assert all(after >= before - 1e-9 * abs(before) for before, after in pairwise(exact))


@pytest.mark.parametrize("most", [35, 40, 50, 70, 120])
def test_leaps_keep_to_the_limit_of_passes(most: int) -> None:
    found = solve(contradicting("hinge", "free"), tol=1e-12, max_passes=most)
    assert found.certificate.status is Status.PASS_LIMIT
    assert most - 2 <= found.certificate.passes <= most
    # a tolerance of 1e-12 would be met before the largest of these limits
    classes = run_to_tolerance(classes_task("dense", 0.0), CrammerSinger(), max_passes=most).certificate
    assert most - 2 <= classes.passes <= most


def test_weights_count_as_copies() -> None:
    problem = contradicting("hinge", "free")
    weight = 1.0 + np.arange(len(problem.y)) % 3
    weighted = Small(problem.X, problem.y, problem.c * weight, "hinge", "free")
    rows = np.repeat(np.arange(len(weight)), weight.astype(int))
    copied = Small(problem.X[rows], problem.y[rows], problem.c[rows], "hinge", "free")
    first, second = solve(weighted).certificate, solve(copied).certificate
    assert first.status is second.status is Status.CONVERGED
    assert first.primal == pytest.approx(second.primal, rel=2e-5)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OutOfTime])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_ctrl_c_and_the_limit_of_time_end_a_leap(form: str, error: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    inside: list[bool] = []
    original = face.conjugate_gradients

    def begin(*args: Any, **options: Any) -> Any:
        inside.append(True)
        return original(*args, **options)

    def check(_: Any) -> None:
        if inside:
            raise error

    expected = Status.INTERRUPTED if error is KeyboardInterrupt else Status.TIME_LIMIT
    monkeypatch.setattr(face, "conjugate_gradients", begin)
    monkeypatch.setattr(Deadline, "check", check)
    found = solve(contradicting("hinge", "free", form)).certificate
    assert inside
    assert found.status is expected
    assert 30 <= found.passes < 60
    assert found.dual <= found.primal
    inside.clear()
    found = run_to_tolerance(classes_task(form), CrammerSinger(), max_passes=3000).certificate
    assert inside
    assert found.status is expected
    assert 30 <= found.passes < 100
    assert found.dual <= found.primal


def classes_task(form: str, tol: float = 1e-5, free: bool = False) -> MulticlassTask:
    """Three classes, and copies of some rows with another one."""
    problem = contradicting("insensitive", "none", n=120, d=200)
    X = problem.X
    y = (X @ np.random.default_rng(3).normal(size=(200, 3))).argmax(1)
    y[-8:] = (y[:8] + 1) % 3
    if free:
        X = np.column_stack([X, np.full(len(X), 0.3)])
    return MulticlassTask(
        Rows(FORMS[form](X)), y, 1.0 - np.eye(3), C, np.ones(len(y)), tol, np.random.default_rng(0), free=free
    )


@pytest.mark.parametrize("form", FORMS)
def test_a_face_of_several_classes(form: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    if form == "float32":
        monkeypatch.setattr(selected_rows, "_IN_A_COPY", 0)
    task = classes_task(form)
    a = rng.random((128, 3)) * (rng.random((128, 3)) < 0.6)
    a[:, 0] += a.sum(1) == 0.0
    a *= (task.c / a.sum(1))[:, None]
    shared = np.flatnonzero((a > 0.0).sum(1) > 1)
    W = task.weights_of(a)
    costs = task.costs[task.target[shared]]
    found = ClassesFace(task.rows, a, shared, task.c, costs, W, lambda: None)

    def value(a: Reals) -> float:
        W = task.weights_of(a)
        return float((task.costs[task.target] * a).sum()) - 0.5 * float(W.ravel() @ W.ravel())

    p = rng.normal(size=costs.shape) * found.free
    p -= found.free * (p.sum(1) / found.free.sum(1))[:, None]
    moved = a.copy()
    moved[shared] += p
    rise = float(found.slope @ p.ravel()) - 0.5 * float(p.ravel() @ found.product(p.ravel()))
    assert rise == pytest.approx(value(moved) - value(a), rel=1e-5)
    np.testing.assert_allclose(W - task.weights_of(moved), found.combined(p.ravel()), atol=1e-6 * np.abs(W).max())
    change, _, _ = leap(found, 30)
    assert change is not None
    moved[shared] = (found.values + change).reshape(costs.shape)
    assert (moved >= 0.0).all()
    assert ((moved > 0.0) <= (a > 0.0)).all()
    np.testing.assert_allclose(moved.sum(1), task.c, rtol=1e-12)
    assert value(moved) > value(a)


@pytest.mark.parametrize("form", FORMS)
def test_the_matrix_of_a_face_is_inverted(form: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    if form == "float32":
        monkeypatch.setattr(selected_rows, "_IN_A_COPY", 0)
    task = classes_task(form)
    a = rng.random((128, 3)) * (rng.random((128, 3)) < 0.5)
    a[:, 0] += a.sum(1) == 0.0
    a *= (task.c / a.sum(1))[:, None]
    shared = np.flatnonzero((a > 0.0).sum(1) > 1)
    found = ClassesFace(task.rows, a, shared, task.c, task.costs[task.target[shared]], task.weights_of(a), lambda: None)
    damping = 0.1 / found.upper
    inverse, products = found.inverse(damping, 1000) or pytest.fail("it is to be had")
    assert 1 < products < 1000
    assert found.inverse(damping, products - 1) is None  # it would cost more
    p = rng.normal(size=found.free.shape) * found.free
    p = (p - found.free * (p.sum(1) / found.free.sum(1))[:, None]).ravel()
    np.testing.assert_allclose(inverse(found.product(p) + damping * p), p, rtol=1e-5, atol=1e-5)
    # led by it, conjugate gradients are there at once, where the damping alone keeps them from the ends of the earth
    _, way, done = leap(found, 1000)
    assert done <= products + 5
    own = float(np.abs(found.slope).max()) / (100.0 * found.upper)
    left = found.slope - found.product(way) - own * way
    assert np.abs(left).max() <= 1e-6 * np.abs(found.slope).max()


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_classes_that_contradict_each_other(form: str, free: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = run_to_tolerance(classes_task(form, 1e-8, free), MulticlassInteriorPoint(), max_passes=200).certificate
    assert expected.status is Status.CONVERGED
    found = run_to_tolerance(classes_task(form, free=free), CrammerSinger(), max_passes=3000).certificate
    assert found.status is Status.CONVERGED
    assert expected.dual * (1 - 1e-9) <= found.primal <= expected.primal * (1 + 1.1e-5)
    assert found.dual <= expected.primal * (1 + 1e-9)
    monkeypatch.setattr(face, "_FIRST", np.inf)
    without = run_to_tolerance(classes_task(form, free=free), CrammerSinger(), max_passes=found.passes).certificate
    assert without.relative_gap > 10 * found.relative_gap


@pytest.mark.parametrize("C", [1e3, 1e6])
def test_more_features_than_a_matrix_holds(C: float) -> None:
    """As estimators meet it: too many features for an interior point method, so coordinate ascent must do.

    With several classes a basis of the rows would serve, and would take ten times as long.
    """
    rng = np.random.default_rng(4)
    n, d = 400, 12_000
    X = sp.random(n, d, density=0.004, random_state=5, format="csr")
    X = sp.vstack([X, X[:20]]).tocsr()
    score = X @ rng.normal(size=(d, 3))
    y = np.where(score[:, 0] > 0.0, "yes", "no")
    y[n:] = np.where(y[:20] == "yes", "no", "yes")
    classes = score.argmax(1)
    classes[n:] = (classes[:20] + 1) % 3
    for model, target in (
        (SVMClassifier(C=C, random_state=0), y),
        (SVMClassifier(C=C, loss="squared_hinge", random_state=0), y),
        *((MulticlassSVM(C=C, random_state=seed), classes) for seed in range(6)),
        (SVMRegressor(C=C, loss="squared_epsilon_insensitive", random_state=0), score[:, 1]),
    ):
        model.fit(X, target)
        assert model.certificate_.status is Status.CONVERGED, (model, model.certificate_)
        assert model.certificate_.passes < 1000
        assert model.solver_.startswith("coordinate_ascent"), model.solver_


def test_the_weight_of_a_penalized_intercept_is_in_the_answer() -> None:
    problem = contradicting("hinge", "penalized")
    result = solve(problem)
    assert result.certificate.primal == pytest.approx(problem.value(result.w), rel=1e-10)
    assert SCALE != 1.0


@pytest.mark.parametrize("C", [1.0, 1e2, 1e4])
def test_leaps_are_waited_for_where_features_outnumber_rows(C: float) -> None:
    """They end within a quarter of what the other way costs; the gaps before them promised no end."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 600))
    y = rng.integers(0, 3, 300)
    X, y = np.vstack([X, X[:30]]), np.append(y, (y[:30] + 1) % 3)
    for seed in range(4):
        model = MulticlassSVM(C=C, random_state=seed).fit(X, y)
        assert model.certificate_.status is Status.CONVERGED
        assert model.solver_ == "coordinate_ascent"
        assert model.certificate_.passes < 200


@pytest.mark.parametrize("seed", range(6))
def test_few_rows_of_fewer_features_need_them_too(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(12, 2)) * [1.0, 30.0], np.where(rng.random(12) < 0.5, 1, -1)
    options: dict[str, Any] = dict(C=100.0, loss="squared_hinge", tol=1e-6, random_state=0)
    model = SVMClassifier(solver="coordinate_ascent", max_passes=1000, **options).fit(X, y)
    assert model.certificate_.status is Status.CONVERGED
    expected = SVMClassifier(solver="newton", **options).fit(X, y).certificate_.primal
    assert model.certificate_.primal == pytest.approx(expected, rel=2e-6)
