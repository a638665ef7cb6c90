"""The report on the conditions of optimality: closed form, other solvers, violations that are there, wrong data."""

from __future__ import annotations

import io
import re
import warnings
from dataclasses import fields, replace
from enum import Enum
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.svm import SVC

from maxmargin import MulticlassSVM, SVMClassifier, kkt_report, load_model, save_model
from maxmargin.errors import DataError
from maxmargin.kkt import CATEGORIES
from maxmargin.plots import KKTDisplay
from maxmargin.solvers.bundle import Bundle

RNG = np.random.default_rng(4)
N = 70
X = RNG.normal(size=(N, 3)) * [1.0, 2.0, 0.5] + 0.3
SIGN = np.where(X @ [1.0, 0.5, -1.0] + RNG.normal(size=N) > 0.2, 1.0, -1.0)
NAMES = np.where(SIGN > 0, "yes", "no")
WEIGHT = RNG.uniform(0.3, 2.0, N)
TIGHT: dict[str, Any] = dict(tol=1e-10, max_passes=20_000)
KERNELS = pytest.mark.parametrize("kernel", ["linear", "rbf"])


def gram(kernel: str, rows: Any = X) -> Any:
    return linear_kernel(rows) if kernel == "linear" else rbf_kernel(rows, gamma=0.4)


def multipliers(K: Any, sign: Any, upper: Any, wanted: Any) -> Any:
    """Of the dual with a free intercept, by an interior point method."""
    import piqp

    solver = piqp.DenseSolver()
    for name in ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"):
        setattr(solver.settings, name, 1e-11)
    solver.setup(K * np.outer(sign, sign), -wanted, A=sign[None], b=np.zeros(1), x_l=np.zeros(len(sign)), x_u=upper)
    assert solver.solve() == piqp.PIQP_SOLVED
    return np.asarray(solver.result.x)


@pytest.mark.parametrize("kernel", ["linear", "poly"])
@pytest.mark.parametrize("C", [0.125, 0.25, 0.375, 0.5, 0.75, 8.0])
def test_two_points_in_closed_form(C: float, kernel: str) -> None:
    """Points at -1 and 1: ``a = min(1/2, C)``; below a half any ``|b| <= 1 - 2C`` is as good."""
    rows = np.array([[-1.0], [1.0]])
    model = SVMClassifier(C, kernel=kernel, degree=1, gamma=1.0, tol=1e-12).fit(rows, ["left", "right"])
    report = kkt_report(model, rows, ["left", "right"])
    exact = pytest.approx if C > 0.5 else lambda value, **_: value  # inside the box there is rounding
    a = min(0.5, C)
    assert report.sign.tolist() == [-1.0, 1.0]
    assert report.a.tolist() == exact([a, a], rel=1e-6)
    assert report.b == exact(0.0, abs=1e-6)
    room = max(1.0 - 2.0 * C, 0.0)
    assert report.b_interval == exact((-room, room), abs=1e-6)
    assert report.xi.tolist() == exact([room, room], abs=1e-6)
    assert [CATEGORIES[k] for k in report.category] == (["on the margin"] if C > 0.5 else ["inside, right"]) * 2
    assert report.scores.tolist() == exact([-2.0 * a, 2.0 * a], rel=1e-6)
    if kernel == "linear":
        assert report.weights is not None
        assert report.weights.tolist() == exact([2.0 * a], rel=1e-6)
    assert report.dual == exact(2.0 * a - 2.0 * a * a, rel=1e-9)
    for violation in violations(report).values():
        assert violation == exact(0.0, abs=1e-6)
    assert (report.errors, report.error_bound) == (0, exact(2.0 * room, abs=1e-6))
    shown = str(report)
    assert ("mean over the 2 rows on the margin" if C > 0.5 else "the middle of [") in shown


def violations(report: Any) -> dict[str, float]:
    """The six figures."""
    names = "primal_feasibility dual_feasibility margin_slackness bound_slackness stationarity balance"
    return {name: getattr(report, name) for name in names.split()}


@KERNELS
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
def test_the_multipliers_are_those_of_others(C: float, kernel: str) -> None:
    wanted = RNG.uniform(0.5, 1.5, N)
    for m in (None, wanted):
        model = SVMClassifier(C, kernel=kernel, gamma=0.4, **TIGHT).fit(X, NAMES, WEIGHT, m)
        report = kkt_report(model, X, NAMES, WEIGHT, margin=m)
        K, upper, m = gram(kernel), C * WEIGHT, np.ones(N) if m is None else m
        theirs = multipliers(K, SIGN, upper, m)
        np.testing.assert_allclose(report.a, theirs, atol=2e-5 * C)
        assert max(violations(report).values()) < 1e-4 * C
        f = K @ (theirs * SIGN)
        free = (theirs > 1e-4 * upper) & (theirs < (1 - 1e-4) * upper)
        assert report.b == pytest.approx(float((SIGN * m - f)[free].mean()), abs=1e-4)
        np.testing.assert_allclose(report.xi, np.maximum(m - SIGN * (f + report.b), 0.0), atol=1e-3)
        assert (
            report.category.tolist() == np.select([theirs < 1e-4 * upper, free, report.xi <= m], [0, 1, 2], 3).tolist()
        )
        value = theirs @ m - 0.5 * (theirs * SIGN) @ f
        assert report.dual == pytest.approx(value, rel=1e-8)
        assert report.primal == pytest.approx(value, rel=1e-7)


@KERNELS
def test_beside_scikit_learn(kernel: str) -> None:
    for C in (0.1, 2.0):
        other = SVC(C=C, kernel=kernel, gamma=0.4, tol=1e-9).fit(X, NAMES)
        beta = np.zeros(N)
        beta[other.support_] = other.dual_coef_[0]
        report = kkt_report(SVMClassifier(C, kernel=kernel, gamma=0.4, **TIGHT).fit(X, NAMES), X, NAMES)
        np.testing.assert_allclose(report.a * report.sign, beta, atol=1e-4 * C)
        assert report.b == pytest.approx(other.intercept_[0], abs=1e-4)
        np.testing.assert_allclose(report.scores, other.decision_function(X), atol=1e-3)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["perceptron", "gradient_descent", "subgradient"])
def test_figures_of_a_rough_answer_are_those_of_the_formulas(solver: str) -> None:
    """Rows whose multiplier is 0 violate a condition too where they have a slack."""
    model = SVMClassifier(solver=solver, max_passes=4, random_state=0).fit(X, NAMES, WEIGHT)
    report = kkt_report(model, X, NAMES, WEIGHT)
    rows, f = X[report.rows], X[report.rows] @ model.coef_[0] + report.b
    xi = np.maximum(1.0 - report.sign * f, 0.0)
    np.testing.assert_allclose(report.xi, xi, atol=1e-12)
    assert violations(report) == pytest.approx(
        {
            "primal_feasibility": 0.0,
            "dual_feasibility": 0.0,
            "margin_slackness": np.abs(report.a * (1.0 - report.sign * f - xi)).max(),
            "bound_slackness": np.abs((report.upper - report.a) * xi).max(),
            "stationarity": np.linalg.norm(model.coef_[0] - (report.a * report.sign) @ rows),
            "balance": abs(report.a @ report.sign),
        },
        abs=1e-9,
    )
    assert report.bound_slackness > 0.1


@KERNELS
@pytest.mark.parametrize("solver", ["auto", "interior_point"])
@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
def test_violations_add_up_to_the_gap(intercept: str, solver: str, kernel: str) -> None:
    """``P - D = 1/2 |w - w(a)|^2 + sum (C - a) xi - sum a (m - y f - xi) - b balance``, also of a rough answer."""
    options = dict(fit_intercept=intercept != "none", penalize_intercept=intercept == "penalized", random_state=0)
    for tol in (0.2, 1e-3, 1e-9):
        model = SVMClassifier(kernel=kernel, solver=solver, tol=tol, **options).fit(X, NAMES, WEIGHT)
        report = kkt_report(model, X, NAMES, WEIGHT)
        assert report.intercept == intercept
        missing = report.wanted - report.margins
        slackness = (report.upper - report.a) @ report.xi - report.a @ (missing - report.xi)
        left = 0.5 * report.stationarity**2 - report.b * (0.0 if intercept != "free" else report.a @ report.sign)
        assert report.gap == pytest.approx(slackness + left, abs=1e-9 * report.primal)
        assert report.gap >= -1e-9 * report.primal
        assert violations(report)["bound_slackness"] <= report.gap + 1e-9 * report.primal
        assert report.errors <= report.error_bound
        b, interval = report.b, report.b_interval
        assert interval[0] <= b <= interval[1]
        if intercept == "penalized":
            assert b == pytest.approx(float(report.a @ report.sign))
        if tol < 1e-6:
            assert b == pytest.approx(model.intercept_[0], abs=1e-3)
            assert report.gap <= 1e-5 * report.primal


def test_violations_that_are_there_are_seen() -> None:
    model = SVMClassifier(kernel="rbf", gamma=0.4, **TIGHT).fit(X, NAMES)
    good = kkt_report(model, X, NAMES)
    model.dual_coef_ = 3.0 * model.dual_coef_
    bad = kkt_report(certified(model, X), X, NAMES)
    assert bad.dual_feasibility == pytest.approx(2.0)
    assert bad.margin_slackness > 0.1 > good.margin_slackness
    assert good.dual_feasibility < 1e-12
    model.dual_coef_ = model.dual_coef_ / 6.0
    assert kkt_report(certified(model, X), X, NAMES).bound_slackness > 0.1
    assert good.balance < 1e-9 < 0.05 < kkt_report_with_one_multiplier_less(model)
    linear = SVMClassifier(**TIGHT).fit(X, NAMES)
    linear.coef_ = linear.coef_ + np.array([3.0, 0.0, 4.0])
    linear.dual_residual_ = np.array([5.1])
    assert kkt_report(certified(linear, X), X, NAMES).stationarity == pytest.approx(5.0, rel=1e-3)


def certified(model: Any, rows: Any, sign: Any = SIGN) -> Any:
    """A model whose weights were changed, with a certificate of these, as if a fit had ended there."""
    f = model._scores(rows)[:, 0]
    beta = model.dual_coef_[0]
    square = beta @ f[model.support_] if hasattr(model, "kernel_") else model.coef_[0] @ model.coef_[0]
    slack = np.maximum(1.0 - sign * (f + model.intercept_[0]), 0.0)
    primal = float(0.5 * square + model.C * slack.sum())
    model.certificate_ = replace(model.certificate_, primal=primal)
    return model


def kkt_report_with_one_multiplier_less(model: Any) -> float:
    """Its balance."""
    model.dual_coef_ = model.dual_coef_.copy()
    model.dual_coef_[0, 0] = 0.0
    return kkt_report(certified(model, X), X, NAMES).balance


@KERNELS
def test_copies_are_weights(kernel: str) -> None:
    """Of equal rows each has its share, in proportion to its weight; rows of weight 0 are left out."""
    counts = RNG.integers(0, 4, N)
    model = SVMClassifier(0.5, kernel=kernel, gamma=0.4, tol=1e-9)
    weighted = kkt_report(clone(model).fit(X, NAMES, counts), X, NAMES, counts)
    assert weighted.rows.tolist() == np.flatnonzero(counts).tolist()
    rows, y = np.repeat(X, counts, 0), np.repeat(NAMES, counts)
    order = RNG.permutation(len(y))
    for kind in (np.asarray, sp.csr_matrix):
        copied = kkt_report(clone(model).fit(kind(rows[order]), y[order]), kind(rows[order]), y[order])
        origin = np.repeat(np.arange(N), counts)[order]
        np.testing.assert_allclose(np.bincount(origin, copied.a, N)[weighted.rows], weighted.a, atol=1e-5)
        assert np.ptp([copied.a[origin == weighted.rows[0]]]) < 1e-12
        assert max(violations(copied).values()) < 1e-3
    odd = np.where(np.arange(len(y)) % 2, 0.5, 2.0)
    shared = kkt_report(clone(model).fit(rows, y, odd), rows, y, odd)
    np.testing.assert_allclose(shared.upper, 0.5 * odd)
    assert shared.dual_feasibility < 1e-9
    assert max(violations(shared).values()) < 1e-3


def test_classes_have_their_factors() -> None:
    model = SVMClassifier(class_weight={"yes": 3.0}, **TIGHT).fit(X, NAMES, WEIGHT)
    report = kkt_report(model, X, NAMES, WEIGHT)
    np.testing.assert_allclose(report.upper, WEIGHT * np.where(SIGN > 0, 3.0, 1.0))
    np.testing.assert_allclose(report.a, multipliers(gram("linear"), SIGN, report.upper, np.ones(N)), atol=1e-4)


def test_models_from_files_and_values_of_a_kernel(tmp_path: Any) -> None:
    K = gram("rbf")
    model = SVMClassifier(kernel="precomputed", **TIGHT).fit(K, NAMES)
    save_model(model, tmp_path / "m")
    report = kkt_report(load_model(tmp_path / "m"), K, NAMES)
    np.testing.assert_allclose(report.a, multipliers(K, SIGN, np.ones(N), np.ones(N)), atol=1e-4)


def test_what_is_no_such_model_or_not_its_data_is_refused(tmp_path: Any) -> None:
    model = SVMClassifier().fit(X, NAMES)
    save_model(model, tmp_path / "m")
    wrong: list[tuple[Any, Any, str]] = [
        (MulticlassSVM().fit(X, NAMES), (X, NAMES), "for SVMClassifier, not for MulticlassSVM"),
        (SVMClassifier(nu=0.3).fit(X, NAMES), (X, NAMES), "has nu"),
        (SVMClassifier(loss="squared_hinge").fit(X, NAMES), (X, NAMES), "loss='squared_hinge'"),
        (SVMClassifier().fit(X, np.arange(N) % 3), (X, NAMES), "two classes; this model has 3"),
        (load_model(tmp_path / "m"), (X, NAMES), "fit it again"),
        (model, (X[:5], NAMES[:5]), "it was fitted to other data"),
        (model, (X[::-1], NAMES), "X is not what the model was fitted to"),
        (model, (X, np.where(SIGN < 0, "yes", "no")), "has another class or weight than in the fit"),
        (
            model,
            (X, np.where(SIGN < 0, "yes", "maybe")),
            r"y\[\d+\] is 'maybe', which is none of the classes",
        ),
        (model, (X, NAMES, np.arange(N) % 2), "has another class or weight than in the fit"),
        (SVMClassifier(kernel="rbf").fit(X, NAMES), (X + 1.0, NAMES), "its support vectors are other rows"),
    ]
    for fitted, data, message in wrong:
        with pytest.raises(DataError, match=message) as error:
            kkt_report(fitted, *data)
        assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match="tolerance must be a number in"):
        kkt_report(model, X, NAMES, tolerance=0.5)
    with pytest.raises(ValueError, match="not fitted yet"):
        kkt_report(SVMClassifier(), X, NAMES)


def test_the_form_over_a_ball_is_refused() -> None:
    """Its multipliers are those of another problem: the figures would be violations of nothing."""
    for kind in (np.asarray, sp.csr_matrix):
        model = SVMClassifier(solver=Bundle(radius=0.5), tol=1e-6).fit(kind(X), NAMES)
        with pytest.raises(DataError, match="^kkt_report is for the form with C; this model .* ball of radius 0.5$"):
            kkt_report(model, kind(X), NAMES)
    report = kkt_report(SVMClassifier(solver=Bundle(), tol=1e-9, max_passes=2000).fit(X, NAMES), X, NAMES)
    assert max(violations(report).values()) < 1e-3


def misses(report: Any, b: float) -> float:
    """How far an intercept is at most from what a row with ``a = 0`` or ``a = C`` wants of it."""
    margins = report.sign * (report.scores - report.b + b)
    outside = report.category == 0
    return float(np.maximum(np.where(outside, report.wanted - margins, margins - report.wanted), 0.0).max())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["perceptron", "averaged_perceptron"])
def test_where_no_intercept_suits_the_multipliers_the_nearest_is_said_to_be_that(solver: str) -> None:
    """A perceptron has no multipliers: all are 0, and of rows that do not lie apart each wants its own."""
    for m in (None, np.linspace(0.5, 2.0, N)):
        model = SVMClassifier(solver=solver, max_passes=10, random_state=0).fit(X, NAMES, None, m)
        report = kkt_report(model, X, NAMES, margin=m)
        assert not report.counts[1:].any()
        off = misses(report, report.b)
        assert off > 0.1
        assert report.b_miss == pytest.approx(off, rel=1e-12)
        assert report.b_interval == (report.b, report.b)
        for beside in (-0.1, -1e-6, 1e-6, 0.1):
            assert misses(report, report.b + beside) > off
        line = str(report).splitlines()[0]
        assert line.endswith(f"b = {report.b:.6g} (no b suits these multipliers; the nearest is off by {off:.6g})")
        assert "[" not in line


def test_an_interval_is_never_reversed() -> None:
    """With multipliers of any kind; and it is not empty by rounding alone."""
    empty = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        rows, y = rng.normal(size=(8, 2)), np.arange(8) % 2
        C = float(rng.choice([0.01, 0.05, 1e-3]))
        model = SVMClassifier(C, tol=1e-10, max_passes=5000).fit(rows, y)
        report = kkt_report(model, rows, y)
        low, high = report.b_interval
        assert low <= report.b <= high
        assert report.b_miss == 0.0
        if report.counts[1] == 0:
            assert misses(report, low) < 1e-6
            assert misses(report, high) < 1e-6
        # multipliers 0 or C at random, and the weights that they give
        a = C * rng.integers(0, 2, 8)
        used = np.flatnonzero(a)
        model.support_, model.dual_coef_ = used, (a * np.where(y > 0, 1.0, -1.0))[used][None]
        model.coef_, model.dual_residual_ = model.dual_coef_ @ rows[used], np.array([1e-12])
        report = kkt_report(certified(model, rows, np.where(y > 0, 1.0, -1.0)), rows, y)
        low, high = report.b_interval
        assert low <= report.b <= high
        assert report.counts[1] == 0
        if report.b_miss > 0.0:
            empty += 1
            assert misses(report, report.b) == pytest.approx(report.b_miss)
            assert "no b suits" in str(report)
        elif np.isfinite([low, high]).all():
            assert misses(report, low) < 1e-12 > misses(report, high)
            assert "all as good" in str(report)
    assert 5 < empty < 40
    # both ends say 0 but for rounding: a point and no empty interval
    for size in (1.0, 0.3, 1e5 / 3.0, 1e-5 / 3.0):
        rows = np.array([[-size + 0.1], [size + 0.1]])
        report = kkt_report(SVMClassifier(0.5 / size**2, tol=1e-9).fit(rows, [0, 1]), rows, [0, 1])
        assert report.b_miss == 0.0
        assert report.b_interval[0] <= report.b <= report.b_interval[1]
        assert report.b == pytest.approx(-0.1 / size, rel=1e-3)


def test_the_table() -> None:
    report = kkt_report(SVMClassifier(tol=1e-6).fit(X, NAMES, WEIGHT), X, NAMES, WEIGHT)
    lines = str(report).splitlines()
    assert lines[0].startswith(
        f"SVMClassifier, C=1, 70 rows; b = {report.b:.6g} (mean over the {report.counts[1]} rows"
    )
    assert max(map(len, lines)) <= 100
    for name, value in violations(report).items():
        (line,) = (line for line in lines if line.startswith(LABELS[name]))
        assert line.endswith(f"{value:.2g}")
    for k, name in enumerate(CATEGORIES):
        (line,) = (line for line in lines if line.startswith(f"{name} "))
        number, sum_a, sum_xi = line.split()[-3:]
        assert int(number) == report.counts[k]
        assert float(sum_a) == pytest.approx(report.a[report.category == k].sum(), rel=1e-4)
        assert float(sum_xi) == pytest.approx(report.xi[report.category == k].sum(), rel=1e-4)
    assert lines[-1].startswith(f"training errors {report.errors} <= sum of xi {report.error_bound:.6g}")


LABELS = {
    "primal_feasibility": "primal feasibility",
    "dual_feasibility": "dual feasibility",
    "margin_slackness": "slackness, margin",
    "bound_slackness": "slackness, bound",
    "stationarity": "stationarity",
    "balance": "intercept",
}


def texts(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def counted(report: Any) -> list[str]:
    return [f"{name}: {count}" for name, count in zip(CATEGORIES, report.counts)]


def levels(ax: Any) -> list[float]:
    """Of the curves that are drawn."""
    return [float(level) for each in ax.collections for level in getattr(each, "levels", ())]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("model", [SVMClassifier(tol=1e-6), SVMClassifier(kernel="rbf", tol=1e-6)], ids=str)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_the_plane(model: Any, kind: Any) -> None:
    pytest.importorskip("matplotlib")
    rows = X[:, :2]
    display = KKTDisplay.from_estimator(clone(model).fit(kind(rows), NAMES), kind(rows), NAMES)
    report, ax = display.report, display.ax_
    slacks = "lines: slack" if model.kernel == "linear" else "rings: slack, by area"
    assert texts(ax) == [*counted(report), "f = 0", "margins, f = ±1", slacks]
    drawn = [np.asarray(each.get_offsets()) for each in ax.collections if hasattr(each, "get_sizes")]
    for k in range(4):
        mine = rows[report.category == k]
        assert any(np.array_equal(points, mine) for points in drawn)
    if model.kernel == "linear":  # slacks end on the margin of their class
        (line,) = ax.get_lines()
        ends = line.get_xydata().reshape(-1, 3, 2)
        short = report.xi > 0.0
        np.testing.assert_array_equal(ends[:, 0], rows[short])
        score = ends[:, 1] @ report.weights + report.b
        np.testing.assert_allclose(score, report.sign[short], atol=1e-9)
    display.figure_.savefig(io.BytesIO(), format="png")


@pytest.mark.filterwarnings("error")
def test_margins_of_other_data_and_points_without_a_slack() -> None:
    pytest.importorskip("matplotlib")
    for model, rows in ((SVMClassifier(), X), (SVMClassifier(kernel="precomputed"), gram("rbf"))):
        display = KKTDisplay.from_estimator(model.fit(rows, NAMES, WEIGHT), rows, NAMES, WEIGHT)
        margins = np.concatenate(
            [each.get_offsets()[:, 1] for each in display.ax_.collections if hasattr(each, "get_sizes")]
        )
        np.testing.assert_allclose(np.sort(margins), np.sort(display.report.margins))
        display.figure_.savefig(io.BytesIO(), format="png")
    apart = np.array([[0.0, 1.0], [0.0, 2.0]])
    display = KKTDisplay.from_estimator(SVMClassifier(10.0).fit(apart, [0, 1]), apart, [0, 1])
    display.figure_.savefig(io.BytesIO(), format="png")
    with pytest.raises(DataError, match=r"the plane needs a score and points of shape \(2, 2\)"):
        KKTDisplay(display.report, apart[:1], lambda grid: grid[:, 0])


TWO = np.array([[-1.0, 0.0], [1.0, 0.0]])


@pytest.mark.filterwarnings("error")
def test_the_window_holds_margins_that_are_not_too_far() -> None:
    pytest.importorskip("matplotlib")
    for C, margins in ((0.3, True), (0.1, False), (0.02, False)):
        for rows, axis in ((TWO, 0), (TWO[:, ::-1], 1), (1e3 * TWO + 7.0, 0)):
            size = np.ptp(rows)
            model = SVMClassifier(C / (0.5 * size) ** 2, tol=1e-10).fit(rows, [0, 1])
            display = KKTDisplay.from_estimator(model, rows, [0, 1])
            low, high = display.ax_.get_ylim() if axis else display.ax_.get_xlim()
            at = rows[:, axis].mean() + 0.5 * size / (2.0 * C) * np.array([-1.0, 1.0])
            if C > 0.05:
                assert low < at[0] < at[1] < high
                assert levels(display.ax_) == [-1.0, 0.0, 1.0]
                assert texts(display.ax_)[4:] == ["f = 0", "margins, f = ±1", "lines: slack"]
            else:
                assert high - low < 1.5 * size
                assert levels(display.ax_) == [0.0]
                assert texts(display.ax_)[4:] == ["f = 0", "f = ±1: not in the picture", "lines: slack"]
            if margins:  # no more room than they take
                assert high - low < 1.3 * np.ptp(at)
            display.figure_.savefig(io.BytesIO(), format="png")


def test_one_margin_of_a_kernel_that_is_nowhere() -> None:
    pytest.importorskip("matplotlib")
    rows, y = np.vstack([RNG.normal(size=(20, 2)), [[0.0, 0.0]]]), np.repeat([0, 1], [20, 1])
    model = SVMClassifier(0.5, kernel="rbf", gamma=0.1).fit(rows, y)
    display = KKTDisplay.from_estimator(model, rows, y)
    assert 1.0 not in levels(display.ax_)
    assert any("not in the picture" in text for text in texts(display.ax_))
    assert "rings: slack, by area" in texts(display.ax_)


def test_what_rows_want_is_said() -> None:
    pytest.importorskip("matplotlib")
    rows, twice = X[:, :2], np.full(N, 2.0)
    for m, margins in (
        (twice, "margins, f = ±2"),
        (np.where(np.arange(N) % 2, 1.0, 2.0), "f = ±1; rows want margins of their own"),
    ):
        model = SVMClassifier(tol=1e-6).fit(rows, NAMES, margin=m)
        ax = KKTDisplay.from_estimator(model, rows, NAMES, margin=m).ax_
        assert texts(ax)[4:] == ["f = 0", margins, "lines: slack"]
        level = 2.0 if m is twice else 1.0
        assert levels(ax) == [-level, 0.0, level]
    for m, own in ((None, ["wanted: y f = 1", "slack"]), (twice, ["wanted: y f = 2", "slack"]),
                   (np.where(np.arange(N) % 2, 1.0, 2.0), ["slack, to what the row wants"])):  # fmt: skip
        model = SVMClassifier(tol=1e-6).fit(X, NAMES, margin=m)
        display = KKTDisplay.from_estimator(model, X, NAMES, margin=m)
        assert texts(display.ax_) == [*counted(display.report), "y f = 0", *own]


class Side(Enum):
    RIGHT = 1
    LEFT = 2


OTHER_LABELS = pytest.mark.parametrize(
    "labels",
    [
        [(0,), (1,)],
        [(0, "b"), (1, "a")],
        [Side.RIGHT, Side.LEFT],
        [None, "a"],
        ["a", None],
        [frozenset("b"), frozenset("a")],
        [b"a", b"b"],
    ],
    ids=repr,
)
FIRST = np.argsort(SIGN, kind="stable")  # the first class first, as that is the order where there is no other


@OTHER_LABELS
@KERNELS
def test_labels_of_any_type_have_the_report_of_their_numbers(kernel: str, labels: list[Any]) -> None:
    rows, number, weight = X[FIRST], (SIGN[FIRST] > 0).astype(int), WEIGHT[FIRST]
    y = [labels[k] for k in number]
    for factors in (None, {0: 2.0, 1: 0.5}, {1: 3.0}, "balanced"):
        named = {labels[k]: each for k, each in factors.items()} if isinstance(factors, dict) else factors
        options: dict[str, Any] = dict(kernel=kernel, random_state=0)
        given = SVMClassifier(class_weight=named, **options).fit(rows, y, weight)  # type: ignore[arg-type]
        plain = SVMClassifier(class_weight=factors, **options).fit(rows, number, weight)  # type: ignore[arg-type]
        wanted = kkt_report(plain, rows, number, weight)
        for form in (y, np.fromiter(y, object, N)):
            report = kkt_report(given, rows, form, weight)
            assert str(report) == str(wanted)
            for field in fields(report):
                np.testing.assert_array_equal(getattr(report, field.name), getattr(wanted, field.name))


@OTHER_LABELS
def test_other_labels_than_those_of_the_model_are_named(labels: list[Any]) -> None:
    y = [labels[k] for k in (SIGN[FIRST] > 0).astype(int)]
    model = SVMClassifier().fit(X[FIRST], y)
    for strange in ("c", (2,), 7):
        with pytest.raises(DataError) as refused:
            kkt_report(model, X[FIRST], [*y[:3], strange, *y[4:]])
        assert str(refused.value) == f"y[3] is {strange!r}, which is none of the classes of the model"
    with pytest.raises(DataError, match=r"^y\[0\] is 0, which is none of the classes"):
        kkt_report(model, X[FIRST], np.zeros(N, int))
    with pytest.raises(DataError, match=r"^y\[3\]: \{1\} cannot be a label"):
        kkt_report(model, X[FIRST], [*y[:3], {1}, *y[4:]])
    with pytest.raises(DataError, match="^y is of type generator; it must be a list or an array of labels"):
        kkt_report(model, X[FIRST], (label for label in y))
    with pytest.raises(DataError, match="row .* has another class or weight than in the fit"):
        kkt_report(model, X[FIRST], y[::-1])


def test_labels_of_another_type_are_not_the_classes_of_the_model() -> None:
    """NumPy would compare numbers as text."""
    number = (SIGN > 0).astype(int)
    with pytest.raises(DataError, match=r"^y\[0\] is '[01]', which is none of the classes"):
        kkt_report(SVMClassifier().fit(X, number), X, number.astype(str))
    with pytest.raises(DataError, match=r"^y\[0\] is [01], which is none of the classes"):
        kkt_report(SVMClassifier().fit(X, number.astype(str)), X, number)


def test_a_picture_of_labels_of_another_type(plots: Any) -> None:
    y = [(int(sign),) for sign in SIGN]
    display = KKTDisplay.from_estimator(SVMClassifier().fit(X[:, :2], y), X[:, :2], y)
    assert display.labels == [(-1,), (1,)]


@pytest.mark.parametrize("options", [{}, {"kernel": "rbf", "gamma": 0.4}, {"penalize_intercept": True}], ids=str)
def test_what_is_not_of_the_fit_is_refused(options: Any) -> None:
    model = SVMClassifier(1.0, tol=1e-6, **options).fit(X, NAMES)
    good = kkt_report(model, X, NAMES)
    for weight, margin in ((np.full(N, 2.0), None), (WEIGHT, None), (None, np.full(N, 1.1))):
        with pytest.raises(DataError, match="not what the model was fitted to: with them its objective is"):
            kkt_report(model, X, NAMES, weight, margin=margin)
    with pytest.raises(DataError, match="not what the model was fitted to"):  # rows that support nothing are missed too
        kkt_report(model, np.vstack([X, X[:5]]), np.append(NAMES, NAMES[:5]))
    model.set_params(class_weight={"yes": 3.0})
    with pytest.raises(DataError, match="class_weight of the fit"):
        kkt_report(model, X, NAMES)
    model.set_params(class_weight=None)
    # the fit has had them, whatever they are now
    model.set_params(C=10.0, loss="squared_hinge", fit_intercept=False, penalize_intercept=False)
    same = kkt_report(model, X, NAMES)
    assert same.C == 1.0
    assert (same.gap, same.b, same.intercept) == (good.gap, good.b, good.intercept)
    other = SVMClassifier(loss="squared_hinge").fit(X, NAMES).set_params(loss="hinge")
    with pytest.raises(DataError, match="loss='squared_hinge'"):
        kkt_report(other, X, NAMES)


@pytest.mark.parametrize("C", [1e-6, 1e10])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@KERNELS
def test_rounding_is_not_taken_for_other_data(kernel: str, C: float, dtype: Any) -> None:
    rows = (X * [1.0, 1e4, 1.0]).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SVMClassifier(C, kernel=kernel, max_passes=50).fit(rows, NAMES, sample_weight=WEIGHT)
    assert kkt_report(model, rows, NAMES, WEIGHT).C == C


@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}, {"penalize_intercept": True}, {"kernel": "rbf"}])
def test_violations_of_0_have_no_sign(options: dict[str, Any]) -> None:
    rows, classes = np.array([[-1.0], [1.0]]), [0, 1]
    for data in (rows, 2.0 * rows, 0.1 * rows):
        report = kkt_report(SVMClassifier(tol=1e-9, **options).fit(data, classes), data, classes)
        assert not re.search(r"-0(\.0*)?(?![\d.])", str(report)), str(report)
        for value in (report.b, *violations(report).values(), *report.a):
            assert not (value == 0.0 and np.signbit(value))
