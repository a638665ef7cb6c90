"""Kernels that are not positive semi-definite: stationary points without a bound, or a refusal; never NaN, never late."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.svm import SVC

from maxmargin import (
    HardMarginSVM,
    OneClassSVM,
    SVMClassifier,
    SVMClassifierCV,
    SVMRegressor,
    compare_solvers,
    kkt_report,
    load_model,
    save_model,
    svm_path,
)
from maxmargin.errors import DataError
from maxmargin.plots import CompareDisplay, GapDisplay, ObjectiveDisplay
from maxmargin.problem import relative_gap
from maxmargin.solvers.kernel.definiteness import is_definite, smallest_eigenvalue
from maxmargin.status import Status

IRIS, WINE = load_iris(return_X_y=True), load_wine(return_X_y=True)
SIGMOID: dict[str, Any] = dict(kernel="sigmoid")
RNG = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def is_honest(model: Any) -> None:
    found = model.certificate_
    assert found.status is Status.STATIONARY
    assert found.dual == -math.inf
    assert found.relative_gap == found.gap == math.inf
    assert "no lower bound" in str(found)
    assert "stationary" in str(found)
    (note,) = (note for note in model.notes_ if "not positive semi-definite" in note)
    assert note.endswith("the answer is a stationary point of it, and there is no lower bound")
    for values in (model.dual_coef_, found.primal):
        assert np.isfinite(values).all()
    assert model.history_
    assert all(record.dual == -math.inf for record in model.history_)


# --- the eigenvalue


@pytest.mark.parametrize("n", [1, 2, 30, 300])
def test_the_smallest_eigenvalue(n: int) -> None:
    rng = np.random.default_rng(n)
    A = rng.normal(size=(n, max(1, n // 2)))
    for K in (A @ A.T, np.zeros((n, n)), np.ones((n, n)), 1e200 * A @ A.T, 1e-200 * A @ A.T):
        assert is_definite(K)
        assert smallest_eigenvalue(K) == 0.0
    for size in (1e-9, 1e-3, 1.0, 1e3):
        v = rng.normal(size=n)
        K = np.eye(n) - (1.0 + size) * np.outer(v, v) / (v @ v)
        assert smallest_eigenvalue(K) == pytest.approx(-size, rel=1e-2)
        assert not is_definite(K)
    B = rng.normal(size=(n, n))
    K = B + B.T - 3.0 * np.eye(n)
    assert smallest_eigenvalue(K) == pytest.approx(np.linalg.eigvalsh(K)[0], rel=0.05)
    assert smallest_eigenvalue(K) >= np.linalg.eigvalsh(K)[0] * (1.0 + 1e-9)


# --- the hinge: a stationary point, and no bound


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("data", [IRIS, WINE], ids=["iris", "wine"])
@pytest.mark.parametrize(
    "model",
    [
        SVMClassifier(**SIGMOID),
        SVMClassifier(multi_class="ovo", **SIGMOID),
        SVMClassifier(fit_intercept=False, **SIGMOID),
        SVMClassifier(penalize_intercept=True, **SIGMOID),
        SVMClassifier(solver="projected_gradient", **SIGMOID),
        SVMRegressor(**SIGMOID),
        SVMRegressor(nu=0.3, **SIGMOID),
    ],
    ids=str,
)
def test_hinges_end_without_a_bound(model: Any, data: Any, C: float) -> None:
    is_honest(model.set_params(C=C).fit(*data))


def test_the_other_machines() -> None:
    X, y = IRIS
    is_honest(OneClassSVM(**SIGMOID).fit(X))
    assert not any("goes through the origin" in note for note in OneClassSVM(**SIGMOID).fit(X).notes_)
    is_honest(SVMClassifierCV(Cs=2, cv=2, **SIGMOID).fit(X, y))
    for model in svm_path(X, y, 3, **SIGMOID).models:
        is_honest(model)
    K = X @ X.T - 2.0
    is_honest(SVMClassifier(kernel="precomputed").fit(K - np.diag(K).mean(), y))
    is_honest(SVMClassifier(kernel=lambda A, B: A @ B.T - 30.0).fit(X, y))


def test_why_there_is_none() -> None:
    """A point far below the stationary one: the value of the dual there bounds nothing."""
    X, y = IRIS
    sign = np.where(y == 2, 1.0, -1.0)
    model = SVMClassifier(tol=1e-6, **SIGMOID).fit(X, sign)
    is_honest(model)
    K = model.kernel_.block(X, X)
    least, vectors = np.linalg.eigh(K)
    assert f"smallest eigenvalue {least[0]:.3g} " in model.notes_[0]
    beta = 1e4 * vectors[:, 0]
    assert 0.5 * beta @ K @ beta + np.maximum(1.0 - sign * (K @ beta), 0.0).sum() < model.certificate_.primal


def indefinite() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=40) > 0.0, 1, -1)


def test_the_report_has_no_bound_where_the_certificate_has_none() -> None:
    X, y = indefinite()
    model = SVMClassifier(**SIGMOID).fit(X, y)
    is_honest(model)
    report = kkt_report(model, X, y)
    assert report.dual == -math.inf
    assert report.gap == math.inf
    assert report.primal == pytest.approx(model.certificate_.primal)
    assert str(report).splitlines()[-2] == f"primal {report.primal:.6g}  no lower bound"
    assert "dual 1" in str(kkt_report(SVMClassifier(kernel="rbf").fit(X, y), X, y))


def test_pictures_have_no_bound_where_the_certificate_has_none() -> None:
    pytest.importorskip("matplotlib")
    X, y = indefinite()
    model = SVMClassifier(**SIGMOID).fit(X, y)
    with pytest.raises(DataError, match="^SVMClassifier has no gap to draw: its certificate has no lower bound"):
        GapDisplay.from_estimator(model)
    ax = ObjectiveDisplay.from_estimator(model).ax_
    assert ax.get_title() == "SVMClassifier: no lower bound of the optimum"
    assert [text.get_text().split()[0] for text in ax.get_legend().get_texts()] == ["primal", "dots:"]
    estimates, dots, _ = ax.get_lines()
    assert estimates.get_ydata().tolist() == [record.primal for record in model.history_]
    assert dots.get_ydata().tolist() == [record.primal for record in model.history_ if record.exact]
    assert not any(len(area.get_paths()[0].vertices) > 3 for area in ax.collections if area.get_paths())
    display = CompareDisplay(compare_solvers(SVMClassifier(random_state=0, **SIGMOID), X, y)).plot()
    assert len(display.runs) == 2
    for above in display.axes_[0]:
        assert not any(len(line.get_xdata()) for line in above.get_lines())


def test_decisions_of_other_programs() -> None:
    X = RNG.normal(size=(80, 3))
    y = X[:, 0] + 0.3 * RNG.normal(size=80) > 0.0
    options: dict[str, Any] = dict(kernel="sigmoid", gamma=0.4, coef0=0.0, tol=1e-6)
    ours, theirs = SVMClassifier(**options).fit(X, y), SVC(**options).fit(X, y)
    is_honest(ours)
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.9


def test_pairs_of_classes_of_which_one_has_a_definite_kernel() -> None:
    """The status of their sum is that of the worst."""
    X = np.array([[1.0], [2.0], [3.0], [4.0], [-1.0], [-1.1]])
    K = X @ X.T
    K[4, 5] = K[5, 4] = 9.0  # the third class alone makes it indefinite
    model = SVMClassifier(kernel="precomputed", multi_class="ovo").fit(K, [0, 0, 1, 1, 2, 2])
    is_honest(model)


def test_a_kernel_that_is_definite_keeps_its_bound() -> None:
    X, y = IRIS
    K = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(2))
    for model, rows in (
        (SVMClassifier(kernel="precomputed"), K),
        (SVMClassifier(kernel="precomputed"), K.astype(np.float32)),  # its rounding makes small eigenvalues below 0
        (SVMClassifier(kernel="precomputed"), K.astype(np.float32).astype(np.float64)),
        (SVMClassifier(kernel="precomputed", loss="squared_hinge"), K.astype(np.float32)),
        (SVMClassifier(kernel=lambda A, B: (A @ B.T) ** 2 + A @ B.T), X),
        (SVMClassifier(kernel="poly", coef0=-1.0, degree=2), X[:, :1] * 0.0 + 1.0),
    ):
        found = model.fit(rows, y).certificate_
        assert found.status is Status.CONVERGED
        assert found.relative_gap <= 1e-3
        assert not any("definite" in note for note in model.notes_)
    assert not is_definite(K.astype(np.float32).astype(np.float64))


def test_what_is_not_looked_at_is_said() -> None:
    n = 2300
    X = RNG.normal(size=(n, 2))
    y = X[:, 0] > 0.0
    model = SVMClassifier(kernel=lambda A, B: A @ B.T, tol=0.1).fit(X, y)
    assert model.certificate_.status is Status.CONVERGED
    assert model.notes_[-1].endswith("which is true for the 2000 of 2300 points that were looked at")
    assert SVMClassifier(tol=0.1, kernel="rbf").fit(X, y).notes_ == ()
    is_honest(SVMClassifier(tol=0.1, **SIGMOID).fit(3.0 * X, y))


# --- squared losses


@pytest.mark.parametrize("C", [1.0, 100.0, 1e4])
@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}, {"solver": "projected_gradient"}], ids=str)
def test_squared_losses_without_an_optimum_are_refused(options: Any, C: float) -> None:
    X, y = WINE
    began = time.perf_counter()
    for model in (
        SVMClassifier(C, loss="squared_hinge", **SIGMOID, **options),
        SVMRegressor(C, loss="squared_epsilon_insensitive", **SIGMOID, **options),
    ):
        with pytest.raises(DataError, match=r"smallest eigenvalue -8.79\), so that with a squared loss .* no optimum"):
            model.fit(X, y)
    assert time.perf_counter() - began < 5.0


def test_the_advice_on_C_is_right() -> None:
    X, y = WINE
    with pytest.raises(DataError, match=r"or a C of at most (\S+)$") as caught:
        SVMClassifier(loss="squared_hinge", **SIGMOID).fit(X, y)
    C = float(str(caught.value).split()[-1])
    is_honest(SVMClassifier(0.95 * C, loss="squared_hinge", **SIGMOID).fit(X, y))
    with pytest.raises(DataError, match="no optimum"):
        SVMClassifier(1.1 * C, loss="squared_hinge", **SIGMOID).fit(X, y)


@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}], ids=str)
def test_growth_without_end_is_met_where_points_were_not_looked_at(options: Any) -> None:
    n = 2100
    K = np.eye(n)
    unseen = np.setdiff1d(np.arange(n), np.linspace(0, n - 1, 2000).astype(np.int64))[:2]
    K[unseen[0], unseen[1]] = K[unseen[1], unseen[0]] = 3.0
    y = np.arange(n) % 2
    y[unseen] = [0, 1]
    model = SVMClassifier(100.0, kernel="precomputed", loss="squared_hinge", **options)
    with pytest.raises(DataError, match=r"\(the dual grows without end\), so that with a squared loss"):
        model.fit(K, y)


# --- and others


def test_a_wrong_sign() -> None:
    X, y = IRIS
    for model in (SVMClassifier(), SVMClassifier(loss="squared_hinge"), SVMRegressor(), OneClassSVM()):
        with pytest.raises(DataError, match=r"the kernel has no positive eigenvalue .*down to -123.*its sign wrong"):
            model.set_params(kernel=lambda A, B: -A @ B.T).fit(X, y)


def test_limits_keep_their_status() -> None:
    X, y = WINE
    with pytest.warns(UserWarning, match="stopped by time limit after . passes. Raise max_time.*, or lower C.$"):
        model = SVMClassifier(100.0, max_time=0.0, tol=0.0, **SIGMOID).fit(X, y)
    assert model.certificate_.status is Status.TIME_LIMIT
    assert model.certificate_.dual == -math.inf


def test_a_model_file_and_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from maxmargin.cli import main

    model = SVMClassifier(**SIGMOID).fit(*IRIS)
    save_model(model, tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    is_honest(loaded)
    assert main(["inspect", str(tmp_path / "m")]) == 0
    assert "no lower bound" in capsys.readouterr().out
    assert main(["inspect", "--json", str(tmp_path / "m")]) == 0
    out = capsys.readouterr().out
    assert "Infinity" not in out
    assert "NaN" not in out


def test_the_relative_gap_of_no_bound() -> None:
    assert relative_gap(3.0, -math.inf) == relative_gap(-3.0, -math.inf) == math.inf
    assert relative_gap(3.0, 3.0) == 0.0


def test_a_factor_proves_more_than_a_part() -> None:
    """The hard margin factors the whole matrix: nothing is left to be said of it."""
    n = 2050
    X = np.sort(RNG.normal(size=(n, 1)), axis=0)
    X[n // 2 :] += 1.0
    model = HardMarginSVM(kernel=lambda A, B: A @ B.T).fit(X, np.arange(n) >= n // 2)
    assert model.certificate_.status is Status.CONVERGED
    assert not any("definite" in note for note in model.notes_)


@pytest.mark.parametrize("n", [5, 60])
def test_cycles_among_stationary_points_end(n: int) -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        A, y = rng.normal(size=(n, n)), np.where(rng.random(n) < 0.5, 1, -1)
        y[:2] = 1, -1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = SVMClassifier(kernel="precomputed").fit(A + A.T, y).certificate_
        assert found.status in (Status.STANDSTILL, Status.STATIONARY)
        assert found.passes < 5000
