"""First-order methods on rankings: optima against a general solver over listed pairs, planes, certificates, refusals."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from linear.problems import Small
from maxmargin import AUCClassifier, SVMClassifier, SVMRanker, compare_solvers, load_model, save_model
from maxmargin.errors import DataError
from maxmargin.metrics import ndcg
from maxmargin.ranking import FOR_PAIRS, PAIR_SOLVERS
from maxmargin.solvers.base import WarmStart
from maxmargin.solvers.bundle import Bundle
from maxmargin.solvers.deadline import OutOfTime
from maxmargin.solvers.gradient_descent import GradientDescent
from maxmargin.solvers.linear.coordinate_ascent import CoordinateAscent
from maxmargin.solvers.loop import Result, run_to_tolerance
from maxmargin.solvers.objective import objective_of
from maxmargin.solvers.ranking.newton import TruncatedNewton
from maxmargin.solvers.ranking.objective import RankingObjective
from maxmargin.solvers.ranking.steps import RankingSteps
from maxmargin.solvers.ranking.task import PairLoss, RankingTask
from maxmargin.solvers.subgradient import Pegasos, Subgradient
from maxmargin.status import Status
from ranking.listed import explicit, pairs_of, random_ranking, task_of
from solvers.two_ways import assert_same_way

LOSSES = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
FACTOR = np.array([1.0, 0.5, 0.0, 2.0])
WAYS: dict[str, Any] = {
    "default": Subgradient(),
    "last": Subgradient(averaging="none"),
    "suffix": Subgradient(averaging="suffix", order="cyclic"),
    "batches": Subgradient(batch=2),
    "momentum": Subgradient(momentum=0.5),
    "projected": Subgradient(project=True),
    "square root": Subgradient(step="1/sqrt(t)"),
}


def posed(seed: int, loss: str, C: float, tol: float, *, weighted: bool = False) -> tuple[RankingTask, Small]:
    """A ranking of queries of unequal weight, one of them 0, and the same with one row for each pair."""
    X, y, query = random_ranking(seed)
    each = np.random.default_rng(seed).choice([0.5, 1.0, 3.0], len(y)) if weighted else np.ones(len(y))
    kept = FACTOR[query] > 0.0
    small = explicit(X[kept], y[kept], query[kept], C * FACTOR, loss)
    pairs = pairs_of(y[kept], query[kept])
    small.c = small.c * each[kept][pairs[:, 0]] * each[kept][pairs[:, 1]]
    return task_of(X, y, query, FACTOR, loss, C, tol, each if weighted else None), small


def assert_reached(result: Result, small: Small, value: float, accuracy: float) -> None:
    found = result.certificate
    assert found.status is Status.CONVERGED, found
    assert found.primal == pytest.approx(small.objective(result.w, 0.0), rel=1e-9)
    assert found.primal <= value / (1.0 - accuracy)
    assert value * (1.0 - accuracy) <= found.dual <= value * (1.0 + 1e-7)


@LOSSES
@pytest.mark.parametrize("C", [1e-3, 0.1, 5.0, 300.0])
def test_the_bundle_method_ends_at_the_optimum_of_a_general_solver(loss: str, C: float) -> None:
    for seed in range(3):
        task, small = posed(seed, loss, C, 1e-7, weighted=seed == 2)
        value = small.optimum()
        result = run_to_tolerance(task, Bundle(), max_passes=3000)
        assert_reached(result, small, value, 1e-6)
        newton = run_to_tolerance(task, TruncatedNewton(), max_passes=3000)
        assert result.certificate.primal == pytest.approx(newton.certificate.primal, rel=1e-6)
        again = result.check()
        assert (again.primal, again.dual) == pytest.approx((result.certificate.primal, result.certificate.dual), 1e-9)


@pytest.mark.parametrize("C", [1e-3, 0.1])
def test_gradient_descent_ends_at_the_optimum_of_the_square(C: float) -> None:
    for seed in range(3):
        task, small = posed(seed, "squared_hinge", C, 1e-6)
        result = run_to_tolerance(task, GradientDescent(), max_passes=20_000)
        assert_reached(result, small, small.optimum(), 2e-6)


@pytest.mark.parametrize("C", [1e-3, 0.1, 5.0])
def test_gradient_descent_on_the_hinge_says_how_near_it_came(C: float) -> None:
    """It may end at a kink: then at a standstill, with an objective and a bound on both sides of the optimum."""
    for seed in range(3):
        task, small = posed(seed, "hinge", C, 1e-6)
        value = small.optimum()
        found = run_to_tolerance(task, GradientDescent(), max_passes=2000)
        assert found.certificate.status in (Status.CONVERGED, Status.STANDSTILL)
        assert found.certificate.primal == pytest.approx(small.objective(found.w, 0.0), rel=1e-9)
        assert found.certificate.dual <= value * (1.0 + 1e-9) <= found.certificate.primal * (1.0 + 2e-9)


@LOSSES
@pytest.mark.parametrize("name", WAYS)
def test_stochastic_methods_reach_the_accuracy_that_they_state(loss: str, name: str) -> None:
    accuracy = 0.03
    for seed in range(2):
        task, small = posed(seed, loss, 0.02, accuracy, weighted=seed == 1)
        result = run_to_tolerance(task, WAYS[name], max_passes=6000)
        assert_reached(result, small, small.optimum(), accuracy)


@LOSSES
@pytest.mark.parametrize("solver", [Pegasos(), Pegasos(batch=2), Subgradient(order="random")], ids=repr)
def test_draws_at_random_come_near_the_optimum(loss: str, solver: Any) -> None:
    """Planes of some queries, and twice of others, are no dual point: bounds are poor, and right."""
    task, small = posed(0, loss, 0.02, 0.0)
    value = small.optimum()
    result = run_to_tolerance(task, solver, max_passes=2000)
    assert small.objective(result.w, 0.0) <= 1.03 * value
    assert 0.5 * value < result.certificate.dual <= value * (1.0 + 1e-9)
    assert all(record.dual <= value * (1.0 + 1e-9) for record in result.history)


@pytest.mark.parametrize("options", [{}, {"order": "random", "batch": 2}], ids=str)
def test_reduced_variance_is_for_the_square(options: Any) -> None:
    solver = Subgradient(variance_reduction=True, **options)
    task, small = posed(1, "squared_hinge", 0.1, 1e-6)
    assert_reached(run_to_tolerance(task, solver, max_passes=6000), small, small.optimum(), 2e-6)
    with pytest.raises(DataError, match="ranking: variance_reduction needs a loss with a derivative"):
        solver.start(posed(1, "hinge", 0.1, 1e-6)[0])


@LOSSES
def test_the_steps_are_no_longer_than_the_loss_is_curved(loss: str) -> None:
    """``change`` bounds how fast the gradient of one query, times their number, changes: by listed pairs."""
    for seed in range(4):
        task, _ = posed(seed, loss, 0.7, 1e-3, weighted=True)
        face = objective_of(task, "this")
        assert face.smooth is (loss == "squared_hinge")
        if loss == "hinge":
            continue
        most = 0.0
        for q in range(len(task.factor)):
            alone = task.of_queries(np.array([q]))
            pairs = pairs_of(alone.queries.grade, np.zeros(len(alone.queries.grade)))
            rows = alone.rows.matrix[pairs[:, 0]] - alone.rows.matrix[pairs[:, 1]]
            v = alone.queries.weight[pairs].prod(1)
            most = max(most, 2.0 * 0.7 * task.factor[q] * np.linalg.eigvalsh((rows * v[:, None]).T @ rows)[-1])
        assert len(task.factor) * most <= face.change() <= 2.0 * len(task.factor) * most * (1.0 + 1e-9)


@LOSSES
@pytest.mark.parametrize("radius", [None, 0.7])
def test_every_plane_and_every_minimum_is_a_lower_bound(loss: str, radius: float | None) -> None:
    rng = np.random.default_rng(0)
    for seed in range(3):
        task, small = posed(seed, loss, 0.5, 1e-9, weighted=seed == 1)
        others = [scale * rng.normal(size=3) for scale in (1e-3, 0.1, 1.0, 5.0) for _ in range(5)]
        losses = np.array([small.objective(v, 0.0) - 0.5 * float(v @ v) for v in others])
        run: Any = Bundle(radius).start(task)
        inside = [v if radius is None else v * min(1.0, radius / np.linalg.norm(v)) for v in others]
        values = [small.objective(v, 0.0) - (0.5 * float(v @ v) if radius is not None else 0.0) for v in inside]
        lower = []
        for _ in range(25):
            step = run.advance()
            lower.append(run.dual())
            for plane in run.cuts.planes:
                slope = np.zeros(3)
                slope[plane.index] = plane.value
                heights = np.array([plane.offset + float(slope @ v) for v in others])
                assert (heights <= losses * (1.0 + 1e-12) + 1e-12).all()
            assert max(step.dual, lower[-1]) <= min(values) * (1.0 + 1e-12) + 1e-12
        optimum = small.optimum()
        if radius is None:
            assert (np.array(lower) <= optimum * (1.0 + 1e-9)).all()
            assert lower[-1] > 0.9 * optimum


@LOSSES
def test_the_plane_of_any_scores_is_below_the_loss(loss: str) -> None:
    """Also where the scores are not those of the weights: rounding is no more than that."""
    rng = np.random.default_rng(1)
    task, small = posed(0, loss, 0.5, 1e-3)
    for _ in range(20):
        w = rng.normal(size=3)
        at = PairLoss(task, task.scores(w) + 0.3 * rng.normal(size=len(task.queries.documents)))
        slope = -task.combined(at.descent)
        for scale in (0.1, 1.0, 3.0):
            v = scale * rng.normal(size=3)
            value = small.objective(v, 0.0) - 0.5 * float(v @ v)
            assert at.level + float(slope @ v) <= value * (1.0 + 1e-12)


@LOSSES
def test_over_the_ball_of_the_optimum_the_loss_is_that_of_the_optimum(loss: str) -> None:
    for seed, C in enumerate((0.01, 0.3)):
        task, small = posed(seed, loss, C, 1e-7)
        free = run_to_tolerance(task, Bundle(), max_passes=3000)
        radius = float(np.linalg.norm(free.w))
        ball = run_to_tolerance(task, Bundle(radius), max_passes=3000)
        expected = free.certificate.primal - 0.5 * radius**2
        assert ball.certificate.status is Status.CONVERGED
        assert ball.certificate.primal == pytest.approx(expected, rel=1e-5)
        assert ball.certificate.dual <= ball.certificate.primal
        assert np.linalg.norm(ball.w) <= radius * (1.0 + 1e-9)
        assert small.objective(ball.w, 0.0) - 0.5 * float(ball.w @ ball.w) == pytest.approx(ball.certificate.primal)


@LOSSES
def test_subgradients_add_up_and_touch(loss: str) -> None:
    """Of some queries alone, one of them twice; of all of them; and along a line."""
    rng = np.random.default_rng(2)
    task, small = posed(3, loss, 0.4, 1e-3, weighted=True)
    face = objective_of(task, "this")
    w, direction = rng.normal(size=(2, 3))
    at = face.at(w)
    assert at.value == pytest.approx(small.objective(w, 0.0), rel=1e-12)
    assert at.dual[-1] + float(at.slope @ w) == pytest.approx(at.value - 0.5 * float(w @ w), rel=1e-12)
    for r in (0.0, 0.3, 2.0):
        expected = small.objective(w + r * direction, 0.0)
        assert face.along(at, direction)(r) == pytest.approx(expected, rel=1e-12)
    dual = face.no_dual()
    slopes = [face.slope_of(w, np.array([q]), dual) for q in task.examples]
    np.testing.assert_allclose(dual, at.dual, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(np.sum(slopes, axis=0), at.slope, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(face.slope_of(w, np.array([1, 0, 1])), 2 * slopes[1] + slopes[0], rtol=1e-12)
    if loss == "squared_hinge":
        h = 1e-6
        for j, unit in enumerate(np.eye(3)):
            rise = small.objective(w + h * unit, 0.0) - small.objective(w - h * unit, 0.0)
            assert face.gradient(at)[j] == pytest.approx(rise / (2.0 * h), rel=1e-5, abs=1e-6)


@LOSSES
@pytest.mark.parametrize("form", ["dense", "sparse", "float32"])
@pytest.mark.parametrize("solver", [*(WAYS[name] for name in WAYS if name != "momentum"), Pegasos(batch=2)], ids=repr)
def test_compiled_steps_are_those_of_numpy(solver: Any, form: str, loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, query = random_ranking(4)
    X = np.where(np.abs(X) < 0.5, 0.0, X.astype(np.float32).astype(np.float64))
    rows = {"dense": X, "sparse": sp.csr_array(X), "float32": X.astype(np.float32)}[form]
    each = np.random.default_rng(0).choice([0.5, 1.0, 3.0], len(y))
    runs: list[Any] = []
    for plain in (False, True):
        with monkeypatch.context() as patch:
            if plain:
                patch.setattr(RankingObjective, "steps", lambda self, w, **ways: None)
            runs.append(solver.start(task_of(rows, y, query, FACTOR, loss, 0.05, 1e-3, each)))
    first, second = runs
    assert isinstance(first.steps, RankingSteps)
    assert not isinstance(second.steps, RankingSteps)
    assert_same_way(first, second, 8)


def test_a_pass_is_left_when_time_is_over() -> None:
    X = np.random.default_rng(0).normal(size=(400, 3))
    task = task_of(X, X[:, 0] > 0.0, np.arange(400) // 2, np.ones(200), "hinge", 0.1, 0.0)
    run: Any = Subgradient().start(task)
    run.advance()
    task.deadline.at = 0.0
    with pytest.raises(OutOfTime):
        run.advance()
    assert len(task.examples) < run.taken < 2 * len(task.examples)


def test_rounds_stay_under_the_bound_of_theory() -> None:
    """That of Joachims, Finley and Yu (2009): of the length of the longest slope, whatever the number of pairs."""
    for seed in range(3):
        for C in (1e-4, 3e-3):
            task, small = posed(seed, "hinge", C, 1e-9)
            longest = float(small.c @ np.linalg.norm(small.X, axis=1))
            for k in range(3):
                gap = 4.0 * longest**2 / 2**k
                at_0 = float(small.c.sum())
                most = max(0, math.ceil(math.log2(at_0 / (4.0 * longest**2)))) + math.ceil(16.0 * longest**2 / gap)
                run = Bundle().start(task)
                rounds = next(count for count in range(1, 1000) if run.advance().gap <= gap)
                assert rounds <= most <= 40


def test_a_warm_start_is_where_they_begin() -> None:
    task, _ = posed(0, "hinge", 0.1, 1e-6)
    cold = run_to_tolerance(task, Bundle(), max_passes=3000)
    task.warm = WarmStart(cold.w)
    for solver in (Bundle(), GradientDescent(), Subgradient()):
        run = solver.start(task)
        np.testing.assert_array_equal(run.weights(), cold.w)


# estimators


@LOSSES
@pytest.mark.parametrize("solver", PAIR_SOLVERS)
def test_every_name_is_taken(loss: Any, solver: str) -> None:
    X, y, qid = random_ranking(2)
    value = explicit(X, y, qid, np.full(4, 0.01), loss).optimum()
    model = SVMRanker(C=0.01, loss=loss, solver=solver, tol=0.05, random_state=0, max_passes=5000).fit(X, y, qid)
    assert model.solver_ == ("newton" if solver == "auto" else solver)
    assert model.solver_reason_ == (FOR_PAIRS if solver == "auto" else "asked for")
    assert model.certificate_.status is Status.CONVERGED
    assert model.certificate_.dual <= value * (1.0 + 1e-9) <= model.certificate_.primal * (1.0 + 2e-9)
    again = SVMRanker(C=0.01, loss=loss, solver=PAIR_SOLVERS[solver], tol=0.05, random_state=0, max_passes=5000)
    np.testing.assert_array_equal(again.fit(X, y, qid).coef_, model.coef_)


@LOSSES
@pytest.mark.parametrize("C_per", ["row", "pair"])
def test_every_name_is_taken_for_the_area(loss: Any, C_per: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X[:, 0] + 0.7 * rng.normal(size=40) > 0.4
    weight = rng.choice([0.0, 1.0, 2.0], 40)
    options: Any = dict(C=0.02, C_per=C_per, loss=loss)
    best = AUCClassifier(tol=1e-9, **options).fit(X, y, weight)
    assert (best.solver_, best.solver_reason_) == ("newton", FOR_PAIRS)
    for solver in PAIR_SOLVERS:
        model = AUCClassifier(solver=solver, tol=0.03, max_passes=5000, **options).fit(X, y, weight)
        assert model.solver_ == ("newton" if solver == "auto" else solver)
        assert model.certificate_.status is Status.CONVERGED
        assert model.certificate_.dual <= best.certificate_.primal * (1.0 + 1e-9)
        assert best.certificate_.dual <= model.certificate_.primal * (1.0 + 1e-9)
    for solver in ("bundle", "one_slack"):
        planes = AUCClassifier(solver=solver, tol=1e-7, **options).fit(X, y, weight)
        assert planes.certificate_.primal == pytest.approx(best.certificate_.primal, rel=1e-6)
        np.testing.assert_allclose(planes.coef_, best.coef_, atol=2e-3)


def test_sparse_rows_give_the_same() -> None:
    X, y, qid = random_ranking(5)
    X = np.where(np.abs(X) < 0.5, 0.0, X.astype(np.float32).astype(np.float64))
    forms = (X, sp.csr_array(X), X.astype(np.float32), np.asfortranarray(X))
    for solver in ("gradient_descent", "subgradient"):
        models = [SVMRanker(C=0.05, solver=solver, tol=0.03, random_state=0).fit(rows, y, qid) for rows in forms]
        for model in models[1:]:
            np.testing.assert_allclose(model.coef_, models[0].coef_, rtol=1e-6, atol=1e-8)
    models = [SVMRanker(C=0.05, solver="bundle", tol=1e-7).fit(rows, y, qid) for rows in forms]
    values = [model.certificate_.primal for model in models]
    np.testing.assert_allclose(values, values[0], rtol=1e-7)


def test_comparisons_go_by_the_solvers_of_a_linear_machine() -> None:
    rng = np.random.default_rng(0)
    wins = rng.permuted(np.tile(np.arange(6), (40, 1)), axis=1)[:, :2]
    best = SVMRanker(C=0.3, tol=1e-8).fit_comparisons(None, wins[:, 0], wins[:, 1])
    assert best.solver_ == "coordinate_ascent"
    for solver in ("bundle", Bundle(), "one_slack", "subgradient", "gradient_descent"):
        model = SVMRanker(C=0.3, tol=0.02, solver=solver, random_state=0, max_passes=3000)
        model._quiet = True
        model.fit_comparisons(None, wins[:, 0], wins[:, 1])
        assert model.solver_ == getattr(solver, "name", solver)
        assert model.certificate_.dual <= best.certificate_.primal * (1.0 + 1e-7)
        assert best.certificate_.dual <= model.certificate_.primal * (1.0 + 1e-7)
    with pytest.raises(ValueError, match="SVMRanker: Newton's method needs a loss with"):
        SVMRanker(solver="newton").fit_comparisons(None, wins[:, 0], wins[:, 1])
    for odd in (TruncatedNewton(), CoordinateAscent(), "coordinate_ascent", "n_slack"):
        with pytest.raises(ValueError, match="SVMRanker: solver .* is not for comparisons: it is for "):
            SVMRanker(solver=odd).fit_comparisons(None, wins[:, 0], wins[:, 1])


def test_the_hard_margin_goes_by_the_solver_of_the_pairs_at_hand() -> None:
    X, _, qid = random_ranking(1)
    y = X @ np.array([1.0, -2.0, 0.5])
    best = SVMRanker(C=np.inf, tol=1e-8).fit(X, y, qid)
    model = SVMRanker(C=np.inf, tol=1e-6, solver="bundle").fit(X, y, qid)
    assert model.certificate_.status is Status.CONVERGED
    assert model.certificate_.primal == pytest.approx(best.certificate_.primal, rel=2e-6)
    with pytest.raises(ValueError, match="SVMRanker: Newton's method needs a loss with"):
        SVMRanker(C=np.inf, solver="newton").fit(X, y, qid)
    with pytest.raises(ValueError, match="solver 'n_slack' is not for ranking with C=inf: it is for structured"):
        SVMRanker(C=np.inf, solver="n_slack").fit(X, y, qid)


def test_solvers_for_other_problems_are_refused_with_what_they_are_for() -> None:
    X, y, qid = random_ranking(0)
    for model in (SVMRanker(), AUCClassifier()):
        name = type(model).__name__
        for solver, purpose in (
            ("n_slack", "structured machines"),
            ("coordinate_ascent", "linear machines and MulticlassSVM"),
            ("block_smo", "machines with a kernel or nu"),
            ("projected_gradient", "linear machines and machines with a kernel or nu"),
            ("averaged_perceptron", "linear classification and structured machines"),
            (CoordinateAscent(), "linear machines"),
        ):
            message = f"{name}: solver .* is not for ranking: it is for {purpose}; solver must be one of"
            with pytest.raises(ValueError, match=message):
                model.set_params(solver=solver).fit(X, y > 1)
        with pytest.raises(ValueError, match=f"{name}: unknown solver 'simplex'; solver must be one of"):
            model.set_params(solver="simplex").fit(X, y > 1)
    with pytest.raises(ValueError, match=r"solver TruncatedNewton.* is not for linear machines: it is for ranking; "):
        SVMClassifier(solver=TruncatedNewton()).fit(X, y > 1)
    with pytest.raises(AttributeError, match="partial_fit goes by stochastic subgradients: solver must be 'auto' or"):
        SVMRanker(solver="bundle").partial_fit(X, y, qid)
    SVMRanker(solver="subgradient").partial_fit(X, y, qid)


def test_a_model_file_keeps_the_name(tmp_path: Path) -> None:
    X, y, qid = random_ranking(0)
    for model, data in ((SVMRanker(solver="bundle"), (X, y, qid)), (AUCClassifier(solver="bundle"), (X, y > 1))):
        model.fit(*data)
        save_model(model, tmp_path / "m")
        loaded = load_model(tmp_path / "m")
        assert (loaded.solver, loaded.solver_, loaded.solver_reason_) == ("bundle", "bundle", "asked for")
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        save_model(model.set_params(solver=Bundle()).fit(*data), tmp_path / "m")
        assert load_model(tmp_path / "m").solver == "auto"


def test_they_are_compared_side_by_side() -> None:
    X, y, qid = random_ranking(0, n=60)
    model = SVMRanker(C=0.02, tol=0.02, max_passes=3000, random_state=0)
    found = compare_solvers(
        model, X, y, X_test=X, y_test=y, qid=qid, score_parameters={"qid": qid}, curve=False
    )  # fmt: skip
    assert [run.name for run in found.runs] == [name for name in PAIR_SOLVERS if name != "auto"]
    for run in found.runs:
        assert run.certificate is not None
        fitted = SVMRanker(C=0.02, tol=0.02, max_passes=3000, random_state=0, solver=run.name).fit(X, y, qid)
        assert run.certificate.primal == fitted.certificate_.primal
        assert run.test_loss == 1.0 - ndcg(y, fitted.predict(X), qid)
    area = compare_solvers(AUCClassifier(C=0.1), X, y > 1, ["newton", "bundle"])
    values = [run.certificate.primal for run in area.runs if run.certificate is not None]
    assert values[0] == pytest.approx(values[1], rel=2e-3)
