"""Interior point on a band of rows: the same optimum as on all of them, with a dual point that stands by itself."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import SVMClassifier, SVMRegressor
from maxmargin.solvers.linear import band
from maxmargin.solvers.linear.automatic import interior_point_in_passes
from maxmargin.solvers.linear.band import BandRun, suits
from maxmargin.solvers.linear.interior_point import InteriorPoint, InteriorRun
from maxmargin.solvers.linear.rows import Rows
from maxmargin.solvers.linear.task import LinearTask
from maxmargin.solvers.loop import Result, run_to_tolerance
from maxmargin.status import Status
from maxmargin.terms import Terms, hinge, insensitive, squared_hinge

Intercept = Literal["free", "penalized", "none"]
N, D = 40_000, 6
RNG = np.random.default_rng(3)
X = RNG.normal(size=(N, D)) * [1.0, 3.0, 0.1, 1.0, 1.0, 1.0]
SCORES = X @ [1.0, -0.5, 2.0, 0.0, 0.3, 1.0] + 0.4
Y = np.where(SCORES + RNG.normal(size=N) > 0.0, 1.0, -1.0)
VALUES = SCORES + 0.5 * RNG.standard_t(3, size=N)
WEIGHT = RNG.uniform(0.5, 2.0, size=N)


def task_of(
    terms: Any, rows: Any = X, *, intercept: Intercept = "free", tol: float = 1e-7, seed: int = 0, signs: bool = True
) -> LinearTask:
    return LinearTask(
        Rows(rows), terms, 1.0, np.ones(rows.shape[0]), intercept, tol, np.random.default_rng(seed), signs=signs
    )


def on_all_rows(task: LinearTask) -> Result:
    """By the plain interior point method."""

    class Plain:
        name = "interior_point"

        def start(self, task: LinearTask) -> InteriorRun:
            return InteriorRun(task)

    return run_to_tolerance(task, Plain(), max_passes=200)


def kinds() -> list[Any]:
    return [
        pytest.param(hinge(Y, 0.7 * WEIGHT), True, id="hinge"),
        pytest.param(hinge(Y, 30.0 * WEIGHT, RNG.uniform(0.5, 2.0, N)), True, id="margins"),
        pytest.param(insensitive(VALUES, 0.7 * WEIGHT, 0.2), False, id="tube"),
    ]


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
@pytest.mark.parametrize(("terms", "signs"), kinds())
def test_same_optimum_as_on_all_rows(terms: Terms, signs: bool, intercept: Intercept) -> None:
    task = task_of(terms, intercept=intercept, signs=signs)
    assert isinstance(InteriorPoint().start(task), BandRun)
    found = run_to_tolerance(task, InteriorPoint(), max_passes=200)
    other = on_all_rows(task_of(terms, intercept=intercept, signs=signs))
    assert found.certificate.status is Status.CONVERGED
    assert found.certificate.relative_gap <= 1e-7
    assert found.certificate.primal == pytest.approx(other.certificate.primal, rel=2e-7)
    assert found.certificate.passes < other.certificate.passes


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
@pytest.mark.parametrize(("terms", "signs"), kinds())
def test_the_dual_point_is_feasible_and_has_the_value_said(terms: Terms, signs: bool, intercept: Intercept) -> None:
    found = run_to_tolerance(task_of(terms, intercept=intercept, signs=signs), InteriorPoint(), max_passes=200)
    beta = found.dual_point.beta
    # the variables of a row are those of its two sides: at an optimum one of them is 0
    a = np.maximum(terms.sign * beta[:, None], 0.0)
    assert (a <= terms.upper * (1 + 1e-12)).all()
    v = X.T @ beta
    value = float((terms.margin * a).sum()) - 0.5 * float(v @ v)
    if intercept == "free":
        assert abs(beta.sum()) <= 1e-9 * np.abs(beta).sum()
    elif intercept == "penalized":
        value -= 0.5 * float(beta.sum()) ** 2
    assert value == pytest.approx(found.certificate.dual, rel=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_rows(dtype: Any) -> None:
    rows = sp.random_array((N, D), density=0.3, format="csr", rng=np.random.default_rng(1), dtype=dtype)
    found = run_to_tolerance(task_of(hinge(Y, WEIGHT), rows), InteriorPoint(), max_passes=200)
    other = on_all_rows(task_of(hinge(Y, WEIGHT), rows.toarray()))
    assert found.certificate.relative_gap <= 1e-7
    assert found.certificate.primal == pytest.approx(other.certificate.primal, rel=2e-7)


def test_bad_guesses_cost_time_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample that says little, and a band that is far too narrow."""
    bad = dict(
        _OF_SAMPLE=0.9, _OF_FIRST_BAND=1e-3, _BAND=1e-4, _STILL=0.0, _MOST=0.0, _SAMPLED_FOR_WEIGHT=2, _SAMPLE=1e-3
    )
    for name, value in bad.items():
        monkeypatch.setattr(band, name, value)
    task = task_of(hinge(Y, WEIGHT))
    run = BandRun(task)
    for _ in range(300):
        if run.advance().gap <= 1e-7 * run.dual():
            break
    assert run.crossed.any()
    assert run.bands == 2
    found, other = task.objective(run.weights()), on_all_rows(task_of(hinge(Y, WEIGHT))).certificate.primal
    assert found == pytest.approx(other, rel=2e-7)
    assert run.dual() >= found * (1 - 2e-7)


def test_bands_grow_until_they_hold_all_rows() -> None:
    run = BandRun(task_of(hinge(Y, WEIGHT)))
    slack = run.terms.margin - run.terms.sign * np.linspace(-3.0, 3.0, N)[:, None]
    sizes = []
    while run.whole is None:
        run._narrow(slack + 0.01 * run.bands)
        if run.whole is None:
            assert run.band is not None
            sizes.append(len(run.band.rows))
        assert len(sizes) < 12
    assert all(now >= before for before, now in zip(sizes[1:], sizes[2:], strict=False))
    assert sizes[-1] > 0.3 * N


def test_the_bound_is_one_at_every_step() -> None:
    optimum = on_all_rows(task_of(hinge(Y, WEIGHT))).certificate.primal
    task = task_of(hinge(Y, WEIGHT))
    run = BandRun(task)
    for _ in range(40):
        step = run.advance()
        dual = run.dual()
        assert step.dual <= optimum * (1 + 1e-9)
        assert dual <= optimum * (1 + 1e-9)
        assert task.objective(run.weights()) >= optimum * (1 - 1e-6)
        if step.ready:
            break
    assert step.ready


def test_separable_rows_of_few_values() -> None:
    """There the gap of an iteration is often negative before its equations hold."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        rows = (rng.random((18_000, 10)) < 0.2).astype(float)
        scores = rows @ rng.normal(size=10)
        y = np.where(scores > np.median(scores), 1.0, -1.0)
        task = LinearTask(
            Rows(rows), hinge(y, np.full(18_000, 458.0)), 458.0, np.ones(18_000), "free", 1e-3,
            np.random.default_rng(0),
        )  # fmt: skip
        found = run_to_tolerance(task, InteriorPoint(), max_passes=200)
        assert found.certificate.status is Status.CONVERGED, seed
        assert found.certificate.relative_gap <= 1e-3


def test_all_rows_are_gone_on_with_and_never_begun_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(band, "_WIDEST", 0.05)
    task = task_of(hinge(Y, WEIGHT))
    run = BandRun(task)
    for _ in range(60):
        step = run.advance()
        assert run.dual() <= task.objective(run.weights()) * (1 + 1e-9)
        if step.gap <= 1e-7 * run.dual():
            break
    assert run.whole is not None
    assert 0.0 <= task.objective(run.weights()) - run.dual() <= 2e-7 * run.dual()


def test_few_rows_of_one_sign() -> None:
    y = np.full(N, -1.0)
    y[:37] = 1.0
    rows = X.copy()
    rows[:37, 0] += 2.0
    found = run_to_tolerance(task_of(hinge(y, WEIGHT), rows), InteriorPoint(), max_passes=200)
    assert found.certificate.relative_gap <= 1e-7
    assert found.certificate.primal == pytest.approx(
        on_all_rows(task_of(hinge(y, WEIGHT), rows)).certificate.primal, rel=2e-7
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_limit_leaves_the_best_so_far() -> None:
    values = []
    for passes in (2, 3, 4, 6, 30):
        model = SVMClassifier(solver="interior_point", tol=1e-7, max_passes=passes, random_state=0).fit(X, Y)
        values.append(model.certificate_.primal)
        assert model.certificate_.dual <= values[-1]
        assert model.certificate_.passes <= passes
    assert values == sorted(values, reverse=True)
    assert values[-1] < values[0]


def test_estimators() -> None:
    model = SVMClassifier(solver="interior_point", tol=1e-6, random_state=0, warm_start=True).fit(X, Y)
    assert model.certificate_.relative_gap <= 1e-6
    assert model.fit(X, Y).n_iter_ == 2
    again = SVMClassifier(solver="interior_point", tol=1e-6, random_state=0).fit(X, Y)
    assert (again.coef_ == model.coef_).all()
    values = SVMRegressor(solver="interior_point", tol=1e-6, random_state=0).fit(X, VALUES)
    assert values.certificate_.relative_gap <= 1e-6


def test_for_whom() -> None:
    many = task_of(hinge(Y, WEIGHT))
    assert suits(many)
    assert not suits(task_of(squared_hinge(Y, WEIGHT)))
    assert not suits(task_of(hinge(Y[:10_000], WEIGHT[:10_000]), X[:10_000]))
    assert isinstance(InteriorPoint().start(task_of(squared_hinge(Y, WEIGHT))), InteriorRun)
    # cheaper in the eyes of the automatic choice
    few = task_of(hinge(Y[:10_000], WEIGHT[:10_000]), X[:10_000])
    assert interior_point_in_passes(many) < 0.5 * interior_point_in_passes(few)


def test_last_iterations_are_on_few_rows() -> None:
    """Of a band only those rows stay that scores may still bring to their margin."""
    run = BandRun(task_of(hinge(Y, WEIGHT)))
    sizes = []
    for _ in range(40):
        step = run.advance()
        sizes.append(run.inner.task.rows.shape[0])
        if step.ready:
            break
    assert step.ready
    assert run.narrowed
    assert run.bands == 2
    assert sizes[-1] < 0.5 * max(sizes)


@pytest.mark.parametrize(("terms", "signs"), kinds())
def test_a_band_narrowed_too_early_costs_time_only(monkeypatch: pytest.MonkeyPatch, terms: Terms, signs: bool) -> None:
    monkeypatch.setattr(band, "_SURE", 0.5)
    monkeypatch.setattr(band, "_MOST", 0.1)
    task = task_of(terms, signs=signs)
    run = BandRun(task)
    for _ in range(300):
        if run.advance().gap <= 1e-7 * run.dual():
            break
    assert run.narrowed
    assert run.bands > 2
    other = on_all_rows(task_of(terms, signs=signs)).certificate.primal
    found = task.objective(run.weights())
    assert found == pytest.approx(other, rel=2e-7)
    assert run.dual() >= found * (1 - 2e-7)


def rare(C: float, seed: int = 0) -> LinearTask:
    """Of many rows on a grid 20 are of the other class, and have a hundred times the weight."""
    rng = np.random.default_rng(0)
    rows = np.round(rng.normal(size=(100_000, 20)))
    y = np.full(100_000, -1.0)
    rows[:20] += 1.0
    y[:20] = 1.0
    return task_of(hinge(y, C * np.where(y > 0.0, 100.0, 1.0)), rows, tol=1e-3, seed=seed)


@pytest.mark.parametrize("C", [1.0, 10.0, 100.0])
def test_a_rare_class(C: float) -> None:
    """The weights of a sample are far from optimal on all rows, and make no start, or one that comes to nothing."""
    for seed in (*range(6), 6, 11):
        found = run_to_tolerance(rare(C, seed), InteriorPoint(), max_passes=200).certificate
        assert found.status is Status.CONVERGED
        assert found.passes < 40, seed


@pytest.mark.parametrize("ahead", [1.0, 1e3])
def test_all_rows_begin_at_the_best_weights_unless_they_went_astray(ahead: float) -> None:
    run = BandRun(task_of(hinge(Y, WEIGHT), tol=1e-4))
    while not run.bands:
        run.advance()
    run.ahead, best = ahead, run.point.copy()
    run._go_whole()
    assert run.whole is not None
    assert np.array_equal(run.whole.w, best) == (ahead == 1.0)
    assert any(run.advance().gap <= 1e-4 * run.dual() for _ in range(50))


def test_heavy_rows_are_in_the_sample_each_for_itself() -> None:
    """Twenty rows that weigh as much as all others, with labels of their own."""
    rng = np.random.default_rng(9)
    heavy = rng.choice(N, 20, replace=False)
    weight, y = WEIGHT.copy(), Y.copy()
    weight[heavy] *= 2e3
    y[heavy] *= -1.0
    for seed in range(3):
        task = task_of(hinge(y, weight), tol=1e-3, seed=seed)
        upper = np.asarray(BandRun(task).inner.terms.upper)
        assert np.isin(weight[heavy], upper[:, 0]).all()
        assert upper.sum() == pytest.approx(weight.sum(), rel=0.1)
        found = run_to_tolerance(task, InteriorPoint(), max_passes=200).certificate
        assert found.status is Status.CONVERGED
        assert found.passes < 20, seed
