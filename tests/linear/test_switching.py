"""The automatic choice: what it costs, what it keeps, what it says."""

from __future__ import annotations

import gc
import warnings
import weakref
from typing import Any, Literal

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

from maxmargin import MulticlassSVM, SVMClassifier, SVMRegressor, svm_path
from maxmargin.solvers import progress
from maxmargin.solvers.base import Step
from maxmargin.solvers.linear.alternating import Alternating
from maxmargin.solvers.linear.automatic import Automatic
from maxmargin.solvers.linear.coordinate_ascent import CoordinateAscent
from maxmargin.solvers.linear.interior_point import InteriorRun
from maxmargin.solvers.linear.newton import Newton
from maxmargin.solvers.linear.rows import Rows
from maxmargin.solvers.linear.task import LinearTask
from maxmargin.status import Status
from maxmargin.terms import hinge, squared_hinge

SCALES = np.logspace(-2, 2, 8)


def limited(model: Any, X: Any, y: Any, passes: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.set_params(max_passes=passes).fit(X, y).certificate_


@pytest.mark.parametrize(
    "machine", [SVMClassifier(100.0, random_state=0), MulticlassSVM(100.0, random_state=0)], ids=str
)
def test_a_limit_after_the_switch_leaves_no_less_than_one_before(machine: Any) -> None:
    rng = np.random.default_rng(0)
    n = 20_000 if isinstance(machine, SVMClassifier) else 2000
    X = rng.normal(size=(n, 8)) * SCALES
    scores = X / SCALES @ rng.normal(size=(8, 2 if n > 2000 else 5)) + rng.normal(size=(n, 1))
    y = scores.argmax(1)
    found = [limited(machine, X, y, passes) for passes in (8, 9, 10, 11, 12, 14, 18, 24)]
    assert found[0].solver == "coordinate_ascent"
    assert found[-1].solver == "interior_point"
    primal, dual = np.array([(each.primal, each.dual) for each in found]).T
    assert (np.diff(np.minimum.accumulate(primal[1:])) <= 0.0).all()
    # what coordinate ascent had found when it was left is kept
    assert (primal[1:] <= primal[0] * 1.5).all()
    assert (dual[2:] >= dual[0] * (1 - 1e-9)).all()


@pytest.mark.parametrize("passes", range(1, 14))
def test_a_limit_about_the_switch_leaves_no_empty_model(passes: int) -> None:
    """Coordinate ascent's weights may be worse than none by then: the next method begins with a multiple of them."""
    rng = np.random.default_rng(0)
    X = sp.csr_array(rng.normal(size=(3000, 300)) * (rng.random((3000, 300)) < 0.13))
    y = np.abs(X[:, :150].sum(1)) > 3.0
    model = SVMClassifier(loss="squared_hinge", penalize_intercept=True, max_passes=passes, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert model.solver_ == ("newton" if passes > 8 else "coordinate_ascent")
    assert model.coef_.any()
    assert passes <= 8 or model.certificate_.primal < 3000.0


def test_an_early_guess_does_not_make_the_dear_choice() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 60)), rng.integers(0, 30, 300)
    y[:30] = range(30)
    model = MulticlassSVM(tol=1e-8, random_state=0, max_passes=5000).fit(X, y)
    assert model.solver_ == "coordinate_ascent"
    assert model.certificate_.relative_gap <= 1e-8


def test_work_is_bounded_by_that_of_the_other_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the progress promises."""
    monkeypatch.setattr(progress, "passes_to_go", lambda gaps, tol: 1.0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5)) * [1.0, 10.0, 100.0, 1e3, 1e4]
    y = X[:, 0] + 0.3 * rng.normal(size=400) > 0.0
    model = SVMClassifier(1e4, random_state=0).fit(X, y)
    assert model.solver_ == "interior_point"
    assert model.certificate_.status is Status.CONVERGED
    assert "costs as much as" in model.solver_reason_


def unscaled(intercept: Literal["free", "penalized", "none"] = "free") -> LinearTask:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 8)) * SCALES
    y = np.where((X / SCALES).sum(1) + rng.normal(size=2000) > 0.0, 1.0, -1.0)
    return LinearTask(
        Rows(X), hinge(y, np.full(2000, 100.0)), 100.0, np.ones(2000), intercept, 1e-6, np.random.default_rng(0)
    )


def test_the_switch_lets_go_of_what_it_leaves() -> None:
    run: Any = Automatic().start(unscaled())
    first = weakref.ref(run.run)
    for _ in range(200):
        if run.label == "interior_point":
            break
        run.advance()
    assert run.label == "interior_point"
    gc.collect()
    assert first() is None
    assert run.before is not None
    assert run.before[2] <= run.dual() <= run.task.objective(run.weights())


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
def test_scores_of_an_iteration_are_those_of_its_weights(intercept: Literal["free", "penalized", "none"]) -> None:
    run = InteriorRun(unscaled(intercept))
    for _ in range(15):
        run.advance()
        w = run.w.copy()
        np.testing.assert_allclose(run.f, run.task.scores(w), rtol=1e-9, atol=1e-10 * float(np.abs(run.f).max()))


def test_squared_hinges_of_very_many_features_are_left_to_newtons_method() -> None:
    """Five features in most rows, and thousands of one row each: coordinate ascent would take thousands of passes."""
    rng = np.random.default_rng(0)
    n, total, alone = 3000, 15_000, 5000
    rows, columns = rng.integers(n, size=total), np.r_[rng.integers(5, size=total - alone), 5 + np.arange(alone)]
    A = sp.csr_matrix((np.ones(total), (rows, columns)), (n, 5 + alone))
    y = np.sign(A @ rng.normal(size=A.shape[1]) + 0.3 * rng.normal(size=n))
    model = SVMClassifier(100.0, loss="squared_hinge", random_state=0).fit(A, y)
    assert model.solver_ == "newton"
    assert model.certificate_.status.ok
    assert "coordinate ascent" in model.solver_reason_


def near_copies(n: int, d: int) -> tuple[sp.csr_matrix, np.ndarray]:
    """Documents of fifty words, ten of each kind with a word in fifty changed, and values that they do not explain."""
    rng = np.random.default_rng(0)
    rows = rng.integers(d, size=(n // 10, 50))[rng.integers(n // 10, size=n)]
    rows = np.where(rng.random(rows.shape) < 0.02, rng.integers(d, size=rows.shape), rows)
    X = sp.csr_matrix((np.ones(rows.size), (np.repeat(np.arange(n), 50), rows.ravel())), (n, d))
    X.sum_duplicates()
    return normalize(X), rng.normal(size=n)


@pytest.mark.parametrize("C", [1e2, 1e4, 1e6])
def test_nearly_equal_texts_are_learnt_by_default(C: float) -> None:
    """Squared losses: neither coordinate ascent nor Newton's method is the shorter way for all of these."""
    X, values = near_copies(600, 11_000)
    for model, y in (
        (SVMClassifier(C, loss="squared_hinge", random_state=0), np.sign(values)),
        (SVMRegressor(C, loss="squared_epsilon_insensitive", random_state=0), values),
    ):
        found = model.fit(X, y).certificate_
        assert found.status is Status.CONVERGED
        assert found.relative_gap <= 1e-3


def test_plain_hinges_have_passes_enough_by_default() -> None:
    X, values = near_copies(600, 11_000)
    found = SVMClassifier(1e4, random_state=0).fit(X, np.sign(values)).certificate_
    assert found.status is Status.CONVERGED
    assert 1000 < found.passes <= 10_000


def hopeless() -> LinearTask:
    X, values = near_copies(600, 11_000)
    sign = np.sign(values)
    terms = squared_hinge(sign, np.full(600, 1e6))
    return LinearTask(Rows(X), terms, 1e6, np.ones(600), "free", 0.0, np.random.default_rng(0))


def turns_of(run: Any, count: int) -> tuple[list[tuple[str, float]], list[Any]]:
    """Who has each turn, with the work before it; the runs, from the second turn on."""
    turns, runs, ready = [(run.label, 0.0)], [], False
    while len(turns) < count:
        before, ready = ready, run.advance().ready
        if run.label != turns[-1][0]:
            assert before  # what was found in a turn is looked at when it ends
            turns.append((run.label, run.work))
            runs.append(run.run)
    return turns, runs


def test_turns_grow_and_nothing_is_begun_again() -> None:
    run = Alternating(hopeless(), [CoordinateAscent(), Newton()], "")
    turns, runs = turns_of(run, 4)
    assert [label for label, _ in turns] == ["coordinate_ascent", "newton", "coordinate_ascent", "newton"]
    assert turns[2][1] >= 4.0 * turns[1][1]
    assert turns[3][1] >= 2.0 * turns[2][1]
    assert runs[0] is runs[2]
    assert "coordinate ascent" in run.reason


def test_three_methods_have_turns() -> None:
    run = Automatic().start(hopeless())
    assert isinstance(run, Alternating)
    turns, runs = turns_of(run, 5)
    three = ["coordinate_ascent", "newton", "block_ascent"]
    assert [label for label, _ in turns] == [*three, "coordinate_ascent", "newton"]
    assert turns[2][1] >= 4.0 * turns[1][1]
    assert turns[3][1] >= 2.0 * turns[2][1]
    assert turns[4][1] >= 2.0 * turns[3][1]
    assert runs[0] is runs[3]
    assert "coordinate ascent" in run.reason


def test_passes_over_a_few_rows_count_for_what_they_cost() -> None:
    """Thousands of passes over a hundredth of the rows are not too many."""
    cheap, dear = progress.Progress(), progress.Progress()
    for k in range(400):
        gap = 0.5 * 0.999**k
        cheap.add(Step(4, gap, 1.0 - gap, work=0.04))
        dear.add(Step(1, gap, 1.0 - gap))
    assert cheap.passes == 1600
    assert not cheap.is_late(cheap.remaining(1e-3))
    assert cheap.remaining(1e-3) == pytest.approx(0.04 * dear.remaining(1e-3))
    assert dear.is_late(dear.remaining(1e-3))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [1.0, 1e3])
def test_about_as_many_features_as_rows_are_left_to_the_leaps(loss: Any, C: float) -> None:
    """They end suddenly, and no rate of the passes before tells when; the other way costs thousands of passes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 260))
    y = X[:, :5].sum(1) + rng.normal(size=300) > 0.0
    model = SVMClassifier(C, loss=loss, random_state=0).fit(X, y)
    assert (model.solver_, model.certificate_.status) == ("coordinate_ascent", Status.CONVERGED)
    sure = SVMClassifier(C, loss=loss, solver="interior_point", tol=1e-6).fit(X, y).certificate_
    assert model.certificate_.dual <= sure.primal
    assert model.certificate_.primal <= sure.primal * (1 + 2e-3)


@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_squares_of_hinges_of_few_features_are_for_newtons_method(kind: Any, C: float) -> None:
    """In a few dozen passes, also of features of very unlike scales."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 100)) * np.logspace(-2, 2, 100)
    y = (X / np.logspace(-2, 2, 100))[:, :5].sum(1) + rng.normal(size=2000) > 0.0
    model = SVMClassifier(C, loss="squared_hinge", random_state=0).fit(kind(X), y)
    assert (model.solver_, model.certificate_.status) == ("newton", Status.CONVERGED)
    assert "this costs as much as 40" in model.solver_reason_
    assert model.certificate_.passes <= 100
    sure = SVMClassifier(C, loss="squared_hinge", solver="interior_point", tol=1e-8).fit(X, y).certificate_
    assert model.certificate_.dual <= sure.primal * (1 + 1e-12)
    assert sure.dual <= model.certificate_.primal <= sure.primal * (1 + 2e-3)
    again = SVMClassifier(C, loss="squared_hinge", random_state=0, warm_start=True).fit(kind(X), y)
    again.fit(kind(X), y)
    assert again.certificate_.passes <= model.certificate_.passes


def test_where_newtons_steps_bring_little_an_interior_point_method_takes_over() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((3000, 50))
    y = X.sum(1) > 25.0
    model = SVMClassifier(1e5, loss="squared_hinge", random_state=0).fit(X, y)
    assert (model.solver_, model.certificate_.status) == ("interior_point", Status.CONVERGED)
    assert model.solver_reason_.startswith("Newton's method ")
    sure = SVMClassifier(1e5, loss="squared_hinge", solver="interior_point", tol=1e-8).fit(X, y).certificate_
    assert sure.dual <= model.certificate_.primal <= sure.primal * (1 + 2e-3)
    warm = model.set_params(warm_start=True).fit(X, y)
    assert warm.solver_ == "interior_point"


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_paths_of_squared_hinges_of_few_features_go_on_with_newtons_method(kind: Any) -> None:
    """Also where the matrix costs more than a few products: beside a fit conjugate gradients need few of these."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 300)) * (rng.random((2000, 300)) < 0.2)
    y = X[:, :20].sum(1) + rng.normal(size=2000) > 0.0
    path = svm_path(kind(X), y, 12, loss="squared_hinge", random_state=0)
    assert [found.solver for found in path.certificates][1:] == ["newton"] * 11
    alone = svm_path(kind(X), y, 12, loss="squared_hinge", random_state=0, solver="coordinate_ascent")
    assert path.passes.sum() <= 0.8 * alone.passes.sum()
    for C, found in zip(path.Cs.tolist(), path.certificates, strict=True):
        sure = SVMClassifier(C, loss="squared_hinge", solver="interior_point", tol=1e-8).fit(X, y).certificate_
        assert found.dual <= sure.primal * (1 + 1e-12)
        assert sure.dual * (1 - 1e-12) <= found.primal <= sure.primal * (1 + 1e-3)
