"""The path over C: every point of it an optimum with a certificate, its limits, its figures, and what it saves."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from linear.problems import Small
from maxmargin import SVMClassifier, SVMPath, svm_path
from maxmargin.errors import DataError
from maxmargin.kernels import make_kernel
from maxmargin.plots import PathDisplay
from maxmargin.solvers.kernel.row_cache import KernelValues
from maxmargin.solvers.linear.newton import NewtonRun
from maxmargin.solvers.linear.rows import Rows

Reals = NDArray[np.float64]
RNG = np.random.default_rng(3)
X = RNG.normal(size=(70, 4)) + 0.3
SIGN = np.where(X @ [1.0, -1.0, 0.5, 0.0] + 0.7 * RNG.normal(size=70) > 0.3, 1.0, -1.0)
CS = [1e-3, 0.02, 0.3, 4.0, 50.0, 1e3]
TIGHT: dict[str, Any] = dict(tol=1e-6, random_state=0)


def gram(rows: Any) -> Reals:
    return np.asarray(make_kernel("rbf", rows, gamma=0.4).block(rows, rows))


def optimum(kernel: str, loss: str, intercept: str, C: float) -> float:
    """By a general solver, of a kernel machine on a factor of its kernel matrix."""
    rows = X if kernel == "linear" else np.linalg.cholesky(gram(X) + 1e-13 * np.eye(len(X)))
    problem = Small(rows, SIGN, np.full(len(X), C), loss, "free" if intercept == "free" else "none")
    if intercept == "penalized":  # a constant feature
        problem.X = np.hstack([rows, np.ones((len(X), 1))])
    return problem.optimum()


def path_of(kernel: str, loss: str, intercept: str, Cs: Any = CS, **options: Any) -> SVMPath:
    return svm_path(
        X, SIGN, Cs, kernel=kernel, gamma=0.4, loss=loss, fit_intercept=intercept != "none",
        penalize_intercept=intercept == "penalized", **(TIGHT | options),
    )  # fmt: skip


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_every_point_is_an_optimum(kernel: str, loss: str, intercept: str) -> None:
    for C, found in zip(CS, path_of(kernel, loss, intercept).certificates, strict=True):
        value = optimum(kernel, loss, intercept, C)
        assert found.status.ok
        assert found.relative_gap <= 1e-6
        assert value * (1 - 1e-8) <= found.primal <= value * (1 + 1.1e-6)
        assert value * (1 - 1.1e-6) <= found.dual <= value * (1 + 1e-8)
        assert found.C == C


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_certificates_by_the_definition(kernel: str, loss: str) -> None:
    """Both values from the model's weights and coefficients alone."""
    path = path_of(kernel, loss, "free")
    K = X @ X.T if kernel == "linear" else gram(X)
    for C, found, beta, intercept in zip(CS, path.certificates, path.dual_coef_, path.intercept_, strict=True):
        a = np.zeros(len(X))
        a[path.support_] = SIGN[path.support_] * beta[0]
        assert (a >= 0.0).all()
        assert abs(a @ SIGN) <= 1e-9 * a.sum()
        dual = a.sum() - 0.5 * (a * SIGN) @ K @ (a * SIGN)
        if loss == "hinge":
            assert a.max() <= C * (1 + 1e-12)
        else:
            dual -= 0.25 / C * a @ a
        assert dual == pytest.approx(found.dual, rel=1e-9)
        model = path.model(C)
        square = 0.5 * float(a * SIGN @ K @ (a * SIGN)) if kernel == "rbf" else 0.5 * float(np.sum(model.coef_**2))
        scores = model.decision_function(X)
        slack = np.maximum(0.0, 1.0 - SIGN * scores)
        primal = square + C * float(np.sum(slack if loss == "hinge" else slack**2))
        assert primal == pytest.approx(found.primal, rel=1e-9)
        assert intercept == pytest.approx(model.intercept_)


def equal(one: SVMPath, other: SVMPath, order: Any = slice(None)) -> None:
    for name in ("Cs", "norms", "margins", "training_errors", "intercept_", "n_support", "passes"):
        assert np.array_equal(getattr(one, name)[order], getattr(other, name)), name
    assert [found.primal for found in np.array(one.certificates)[order]] == [f.primal for f in other.certificates]


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_order_of_the_values_is_kept_and_does_not_matter(kernel: str) -> None:
    given = np.array([4.0, 1e-3, 0.3, 50.0, 0.3])
    order = np.array([1, 4, 3, 0, 2])
    one, other = (path_of(kernel, "hinge", "free", Cs) for Cs in (given, given[order]))
    assert one.Cs.tolist() == given.tolist()
    assert [model.C for model in other.models] == given[order].tolist()
    # of the two equal values, the first given begins where the smaller one ended
    assert one.passes[2] > 2 >= one.passes[4]
    assert other.passes[1] > 2 >= other.passes[4]
    distinct = [0, 1, 3]
    equal(
        path_of(kernel, "hinge", "free", given[distinct]), path_of(kernel, "hinge", "free", given[[3, 0, 1]]), [2, 0, 1]
    )


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_one_value_is_one_fit(kernel: str) -> None:
    path = path_of(kernel, "hinge", "free", [0.3])
    model = SVMClassifier(0.3, kernel=kernel, gamma=0.4, **TIGHT).fit(X, SIGN)
    assert len(path) == 1
    # of kernels, the path's rows are float64
    precision = 1e-12 if kernel == "linear" else 1e-6
    assert path.certificates[0].primal == pytest.approx(model.certificate_.primal, rel=precision)
    assert path.models[0].decision_function(X) == pytest.approx(model.decision_function(X), abs=np.sqrt(precision))
    assert path.models[0].support_.tolist() == model.support_.tolist()
    assert path.models[0].get_params() == model.get_params()


def test_the_default_grid() -> None:
    path = svm_path(X, SIGN)
    assert len(path) == 20
    assert path.Cs == pytest.approx(np.logspace(-3, 3, 20))
    assert len(svm_path(X, SIGN, 1)) == 1


def test_two_points() -> None:
    """``w = min(2 C, 1)``; ``b = 0`` by the rule of the middle."""
    Cs = np.array([0.01, 0.1, 0.4, 0.6, 5.0])
    path = svm_path(np.array([[-1.0], [1.0]]), ["left", "right"], Cs, tol=1e-9)
    w = np.minimum(2.0 * Cs, 1.0)
    assert path.coef_[:, 0, 0] == pytest.approx(w, rel=1e-6)
    assert path.norms == pytest.approx(w, rel=1e-6)
    assert path.margins == pytest.approx(2.0 / w, rel=1e-6)
    assert path.intercept_ == pytest.approx(np.zeros((5, 1)), abs=1e-6)
    assert path.n_support.tolist() == [2] * 5


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_tiny_C_is_the_majority_rule(kernel: str, loss: str) -> None:
    rows = np.flatnonzero(np.cumsum(SIGN > 0) + (SIGN < 0) * 99 > 12)  # some positive rows fewer
    path = svm_path(X[rows], SIGN[rows], [1e-9, 1e-7], kernel=kernel, loss=loss, **TIGHT)
    assert path.norms.max() <= 1e-4
    assert path.norms[0] <= 0.02 * path.norms[1]
    share = min((SIGN[rows] > 0).mean(), (SIGN[rows] < 0).mean())
    assert path.training_errors == pytest.approx([share, share])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_large_C_is_the_hard_margin(loss: str) -> None:
    apart = X + 0.5 * SIGN[:, None]
    keep = np.abs(apart @ [1.0, -1.0, 0.5, 0.0] - 0.3) > 0.2
    apart, sign = apart[keep], np.where(apart[keep] @ [1.0, -1.0, 0.5, 0.0] > 0.3, 1.0, -1.0)
    hard = Small(apart, sign, np.full(len(sign), 1e8), "hinge", "free").optimum()
    path = svm_path(apart, sign, [1e-2, 1.0, 1e4, 1e6, 1e7], loss=loss, **TIGHT)
    assert 0.5 * path.norms[-2:] ** 2 == pytest.approx([hard, hard], rel=1e-4)
    assert path.margins[-1] == pytest.approx(2.0 / np.sqrt(2.0 * hard), rel=1e-4)
    assert path.training_errors[-1] == 0.0
    assert (np.diff(path.norms) > -1e-4 * path.norms[1:]).all()  # the more C, the longer


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_several_classes(kernel: str, multi_class: str) -> None:
    rows, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    options: dict[str, Any] = dict(kernel=kernel, multi_class=multi_class, **TIGHT)
    path = svm_path(rows, names, [0.1, 1.0, 10.0], **options)
    for k, C in enumerate((0.1, 1.0, 10.0)):
        alone = SVMClassifier(C, **options).fit(rows, names)
        assert path.certificates[k].primal == pytest.approx(alone.certificate_.primal, rel=3e-6)
        assert path.model(C).decision_function(rows) == pytest.approx(path.decision_function(rows)[k], rel=1e-9)
        assert path.predict(rows)[k].tolist() == path.model(C).predict(rows).tolist()
        assert path.training_errors[k] == pytest.approx((path.predict(rows)[k] != names).mean())
        assert path.n_support[k] == len(path.model(C).support_)
    if kernel == "linear":
        assert path.norms == pytest.approx(np.sqrt((path.coef_**2).sum((1, 2))))


def test_logistic_loss_too() -> None:
    path = svm_path(X, SIGN, [0.1, 1.0, 10.0], loss="logistic", **TIGHT)
    for C, found in zip(path.Cs, path.certificates, strict=True):
        alone = SVMClassifier(C, loss="logistic", **TIGHT).fit(X, SIGN).certificate_
        assert found.primal == pytest.approx(alone.primal, rel=2e-6)


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_norms_and_errors_by_the_definition(kernel: str, intercept: str) -> None:
    """With repeated rows, which are merged, and weights."""
    rows, y = np.vstack([X, X[:20]]), np.concatenate([SIGN, SIGN[:15], -SIGN[15:20]])
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    K = rows @ rows.T if kernel == "linear" else gram(rows)
    given = K if kernel == "precomputed" else rows
    path = svm_path(
        given, y, [0.05, 1.0], sample_weight=weight, kernel=kernel, gamma=0.4, fit_intercept=intercept != "none",
        penalize_intercept=intercept == "penalized", **TIGHT,
    )  # fmt: skip
    for k, model in enumerate(path.models):
        beta = np.zeros(len(y))
        beta[path.support_] = path.dual_coef_[k, 0]
        assert beta[model.support_] == pytest.approx(model.dual_coef_[0])
        norm = np.linalg.norm(model.coef_) if kernel == "linear" else np.sqrt(beta @ K @ beta)
        assert path.norms[k] == pytest.approx(norm, rel=1e-9)
        wrong = np.average(model.predict(given) != y, weights=weight)
        assert path.training_errors[k] == pytest.approx(wrong)
        assert path.decision_function(given)[k] == pytest.approx(model.decision_function(given), rel=1e-9)
    same = svm_path(sp.csr_matrix(given), y, [0.05, 1.0], sample_weight=weight, kernel=kernel, gamma=0.4, **TIGHT)
    assert same.training_errors.shape == (2,)


def test_weights_are_copies_and_margins_are_wanted_ones() -> None:
    twice = svm_path(np.vstack([X, X]), np.concatenate([SIGN, SIGN]), [0.1, 1.0], **TIGHT)
    once = svm_path(X, SIGN, [0.1, 1.0], sample_weight=np.full(len(X), 2.0), **TIGHT)
    assert once.norms.tolist() == twice.norms.tolist()
    wide = svm_path(X, SIGN, [0.1], margin=np.full(len(X), 2.0), **TIGHT)
    alone = SVMClassifier(0.1, **TIGHT).fit(X, SIGN, margin=np.full(len(X), 2.0))
    assert wide.certificates[0].primal == pytest.approx(alone.certificate_.primal, rel=1e-9)


def test_models_by_value_and_by_position() -> None:
    path = svm_path(X, SIGN, [10.0, 0.1])
    assert path.model(10.0) is path.models[0] is path.model(k=0) is path.model(k=-2)
    assert path.model(0.1 * (1 + 1e-12)) is path.models[1]
    with pytest.raises(ValueError, match=r"C=9\.0 is not on the path; the nearest value is 10\.0"):
        path.model(9.0)
    with pytest.raises(ValueError, match="not on the path"):
        path.model(-1.0)
    with pytest.raises(ValueError, match="C must be a number of the grid, not 'a'"):
        path.model("a")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="either a value C of the grid or a position k"):
        path.model()
    with pytest.raises(ValueError, match="either a value C of the grid or a position k"):
        path.model(10.0, k=0)
    with pytest.raises(IndexError):
        path.model(k=2)


def test_the_table() -> None:
    lines = str(svm_path(X, SIGN)).splitlines()
    assert len(lines) == 21
    assert lines[0].split() == ["C", "|w|", "2/|w|", "errors", "support", "gap", "passes"]
    assert max(map(len, lines)) <= 72
    assert re.fullmatch(r" *0\.001 +\S+ +\S+ +\d+\.\d\d % +\d+ +\S+ +\d+", lines[1])


def test_an_early_end_is_told() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        path = svm_path(X, SIGN, [1.0, 1e5], max_passes=3, tol=1e-9, solver="coordinate_ascent")
    assert not path.certificates[1].status.ok
    assert "the fit at C=100000 ended early: " in str(path)
    with pytest.warns(ConvergenceWarning, match="SVMClassifier stopped by"):
        svm_path(X, SIGN, [1e5], max_passes=3, tol=1e-9, solver="coordinate_ascent")


@pytest.mark.parametrize(
    ("Cs", "message"),
    [
        ([], "Cs is empty"), (0, "at least 1 value"), (-3, "at least 1 value"), ([1.0, 0.0], r"Cs\[1\] is 0"),
        ([-2.0], r"Cs\[0\] is -2"), ([1.0, np.nan], r"Cs\[1\] is nan"), ([np.inf], r"Cs\[0\] is inf"),
        (["much"], "Cs"), (2.5, "number of values or a list"), (True, "number of values or a list"),
        ([[1.0, 2.0]], "number of values or a list"), (None, "Cs"),
    ],
)  # fmt: skip
def test_wrong_values(Cs: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        svm_path(X, SIGN, Cs)


def test_other_wrong_inputs() -> None:
    for name in ("C", "nu", "warm_start", "kernels"):
        with pytest.raises(TypeError, match=f"svm_path has no parameter '{name}'"):
            svm_path(X, SIGN, **{name: 1.0})
    with pytest.raises(ValueError, match="NaN"):
        svm_path(np.where(X > 2.0, np.nan, X), SIGN)
    with pytest.raises(DataError, match="at least two classes"):
        svm_path(X, np.ones(len(X)))
    with pytest.raises(ValueError, match="loss"):
        svm_path(X, SIGN, loss="hing")
    with pytest.raises(DataError, match="sample_weight"):
        svm_path(X, SIGN, sample_weight=np.ones(3))


def test_a_path_takes_fewer_passes() -> None:
    """The counts do not depend on the machine."""
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(1500, 20))
    y = np.where(rows @ rng.normal(size=20) + 3.0 * rng.normal(size=1500) > 0.0, 1, 0)
    options: dict[str, Any] = dict(solver="coordinate_ascent", random_state=0)
    assert svm_path(rows, y, np.logspace(-3, 0, 12), **options).passes.sum() <= 177
    path = svm_path(rows, y, np.logspace(-3, 0, 20), **options)
    alone = [SVMClassifier(C, **options).fit(rows, y).certificate_ for C in path.Cs.tolist()]
    assert all(found.status.ok for found in (*path.certificates, *alone))
    assert path.passes.sum() <= sum(found.passes for found in alone) / 3


def test_a_picture(plots: Any) -> None:
    rows, y = load_breast_cancer(return_X_y=True)
    rows = StandardScaler().fit_transform(rows)
    path = svm_path(rows[::2], y[::2], [10.0, 0.01, 0.1])
    display = PathDisplay.from_path(path, X=rows[1::2], y=y[1::2])
    norm, *shares = [line for axes in display.figure_.axes for line in axes.get_lines()]
    assert norm.get_xdata().tolist() == [0.01, 0.1, 10.0]
    assert norm.get_ydata().tolist() == path.norms[[1, 2, 0]].tolist()
    assert shares[0].get_ydata() == pytest.approx(100.0 * path.training_errors[[1, 2, 0]])
    assert shares[1].get_ydata() == pytest.approx(100.0 * path.n_support[[1, 2, 0]] / len(rows[::2]))
    assert shares[2].get_ydata()[2] == pytest.approx(100.0 * (path.model(10.0).predict(rows[1::2]) != y[1::2]).mean())
    assert (
        len(PathDisplay([1.0, 2.0], [0.0, 0.0], [0.1, 0.1], [1.0, 1.0]).plot(plots.subplots()[1]).ax_.get_lines()) == 1
    )
    with pytest.raises(ValueError, match="both X and y"):
        PathDisplay.from_path(path, X=rows)
    with pytest.raises(DataError, match="errors has shape"):
        PathDisplay([1.0, 2.0], [1.0, 2.0], [0.5], [0.1, 0.1])


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
@pytest.mark.parametrize("sparse", [False, True])
def test_no_product_with_the_rows_is_computed_twice(
    sparse: bool, intercept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, bytes]] = []

    def watched(name: str) -> Any:
        plain = getattr(Rows, name)

        def method(self: Rows, vector: Reals) -> Reals:
            seen.append((name, vector.tobytes()))
            return np.asarray(plain(self, vector))

        return method

    for name in ("scores", "combined"):
        monkeypatch.setattr(Rows, name, watched(name))
    rows = sp.csr_array(X * (np.abs(X) > 0.2)) if sparse else X
    path = svm_path(
        rows, SIGN, CS[1:4], fit_intercept=intercept != "none", penalize_intercept=intercept == "penalized",
        solver="coordinate_ascent", tol=1e-3, random_state=0,
    )  # fmt: skip
    assert all(found.status.ok for found in path.certificates)
    assert len(set(seen)) == len(seen) > 0


def test_the_start_is_looked_at_where_C_is_that_of_the_fit_before() -> None:
    first, again, moved = svm_path(
        X, SIGN, [0.3, 0.3, 4.0], solver="coordinate_ascent", tol=1e-3, random_state=0
    ).models
    assert again.history_[0].exact
    assert again.n_iter_ <= 2 < first.n_iter_
    assert not moved.history_[0].exact  # a pass costs less than to look
    assert moved.certificate_.relative_gap <= 1e-3


def test_a_fit_that_went_beyond_the_tolerance_is_the_next_one_too() -> None:
    """Iterations of interior point cost more than a look, and at a large C the same weights stay good."""
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(800, 5))
    y = np.where(rows @ rng.normal(size=5) + rng.normal(size=800) > 0.0, 1, 0)
    path = svm_path(rows, y, np.logspace(3, 5, 5), solver="interior_point", tol=1e-3)
    assert all(found.relative_gap <= 1e-3 for found in path.certificates)
    assert path.passes[0] > 5
    assert (path.passes <= 2).sum() >= 3


def test_rounding_that_stops_a_fit_does_not_stop_the_path() -> None:
    """Block SMO takes its point for good enough at a huge C, where rounding is large, and the looks do not."""
    rows = sp.random(400, 300, 0.05, random_state=1, format="csr")
    y = np.random.default_rng(0).integers(0, 2, 400)
    path = svm_path(rows, y, [1e-12, 1e-6, 1.0, 1e6, 1e12], kernel="rbf", gamma=0.1, random_state=0)
    assert all(found.status.ok and found.relative_gap <= 1e-3 for found in path.certificates)
    assert path.passes.max() < 100


def test_a_kernel_path_makes_one_sum_over_the_rows_for_each_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of its certificate: where a fit begins is a multiple of where the one before ended, or is seen in steps."""
    calls = []
    combined = KernelValues.combined
    monkeypatch.setattr(KernelValues, "combined", lambda self, *rest: calls.append(1) or combined(self, *rest))
    path = svm_path(X, SIGN, np.logspace(-3, 0, 12), kernel="rbf", gamma=0.4)
    assert all(found.status.ok for found in path.certificates)
    assert len(calls) <= len(path.Cs)


def test_smooth_losses_begin_ahead_of_the_last_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights go on evenly with the logarithm of C: the start is far nearer to the optimum than where the last ended."""
    starts: dict[float, float] = {}
    begin = NewtonRun.__init__

    def recorded(run: NewtonRun, task: Any) -> None:
        if task.warm is not None:
            ahead = task.look_ahead()
            starts[task.C] = task.objective(task.warm.w if ahead is None else ahead)
        begin(run, task)

    monkeypatch.setattr(NewtonRun, "__init__", recorded)
    Cs = np.logspace(-2, 1, 10)
    path = svm_path(X, SIGN, Cs, loss="logistic", **TIGHT)
    for k in range(2, len(Cs)):
        before, best = path.models[k - 1], path.certificates[k].dual
        loss = np.logaddexp(0.0, -SIGN * before.decision_function(X)).sum()
        last = 0.5 * float((before.coef_**2).sum()) + Cs[k] * float(loss)
        assert starts[Cs[k]] - best < 0.3 * (last - best)
    # a step of the grid that says nothing of the next one, and values met twice
    irregular = svm_path(X, SIGN, [0.01, 0.0101, 5.0, 5.0, 1e3], loss="logistic", **TIGHT)
    for C, found in zip(irregular.Cs, irregular.certificates, strict=True):
        alone = SVMClassifier(C, loss="logistic", **TIGHT).fit(X, SIGN).certificate_
        assert found.status.ok
        assert found.primal == pytest.approx(alone.primal, rel=2e-6)


@pytest.mark.parametrize("solver", ["auto", "newton", "gradient_descent"])
@pytest.mark.parametrize("loss", ["logistic", "exponential"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_fit_of_a_path_that_ends_early_is_no_worse_than_the_one_before(loss: str, solver: str) -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(300, 5))
        rows[:3] *= 30
        sign = np.where(rows[:, 0] + rng.normal(size=300) > 0, 1, -1)
        for limit in (2, 3, 4):
            path = svm_path(rows, sign, 8, loss=loss, max_passes=limit, solver=solver, random_state=0)
            for k in range(1, 8):
                before = path.models[k - 1]
                margins = sign * before.decision_function(rows)
                with np.errstate(over="ignore"):
                    lost = np.logaddexp(0.0, -margins) if loss == "logistic" else np.exp(-margins)
                start = 0.5 * float((before.coef_**2).sum()) + path.Cs[k] * float(lost.sum())
                assert path.certificates[k].primal <= start * (1 + 1e-9), (seed, limit, k)


def test_errors_are_those_of_the_model_where_a_path_is_stopped() -> None:
    rows, y = load_iris(return_X_y=True)
    for many in (10, 16, 25):
        said = iter([False] * many + [True] * 1000)
        path = svm_path(rows, y, np.logspace(-3, 0, 10), loss="logistic", callback=lambda *_, said=said: next(said))
        for model, error in zip(path.models, path.training_errors, strict=True):
            assert error == pytest.approx((model.predict(rows) != y).mean())


@pytest.mark.parametrize("seed", [66, 67, 69, 78, 108, 114])
def test_squares_on_bad_scales_and_at_a_huge_C(seed: int) -> None:
    """Newton's method, which small paths go by, finds no way there: another one takes over."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(20, 400)), int(rng.integers(1, 25))
    rows = rng.standard_normal((n, d))
    rows = rows * 10.0 ** rng.integers(-5, 5, d) if seed % 3 == 0 else np.round(rows) + 100.0
    scores = rows @ rng.standard_normal(d) + 0.1 * rng.standard_normal(n)
    sign = np.where(scores > np.median(scores), 1, -1)
    path = svm_path(rows, sign, np.logspace(-4, 8, 7), loss="squared_hinge", random_state=0)
    for C, found in zip(path.Cs, path.certificates, strict=True):
        alone = SVMClassifier(C, loss="squared_hinge", random_state=0).fit(rows, sign).certificate_
        assert found.status.ok or not alone.status.ok
        assert max(found.dual - alone.primal, alone.dual - found.primal) <= 1e-9 * alone.primal


@pytest.mark.parametrize("tol", [1e-2, 1e-5, 1e-11])
def test_weights_are_as_near_as_the_gap_says(tol: float) -> None:
    """``P(w) - P(w*) >= 1/2 |w - w*|^2``: at a small ``C`` the gap has to be small for weights in proportion to it."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 2))
    y = X[:, 0] + rng.normal(size=120) > 0.7
    grid = np.logspace(-8, 0, 9)
    path = svm_path(X, y, grid, tol=tol)
    for k, C in enumerate(grid):
        best = SVMClassifier(C=C, tol=1e-13).fit(X, y).coef_
        within = np.sqrt(2.0 * path.certificates[k].gap) + 1e-6 * np.linalg.norm(best)
        assert np.linalg.norm(path.coef_[k] - best) <= within
    if tol < 1e-10:
        assert path.norms[:5] / grid[:5] == pytest.approx(path.norms[0] / grid[0], rel=1e-2)
