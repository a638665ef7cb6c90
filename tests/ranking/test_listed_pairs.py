"""Rankings of ill-scaled features at a large C, where all pairs become rows of an interior point method."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import datasets

from maxmargin import AUCClassifier, SVMClassifier, SVMRanker
from maxmargin.solvers.loop import run_to_tolerance
from maxmargin.solvers.ranking import automatic, listed
from maxmargin.solvers.ranking.listed import ListedPairs, can_list, count_pairs
from maxmargin.solvers.ranking.newton import TruncatedNewton
from maxmargin.solvers.ranking.queries import group
from maxmargin.status import Status
from ranking.listed import pairs_of, random_ranking, task_of

LOSSES = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])


@pytest.mark.parametrize("seed", range(5))
def test_the_number_of_pairs(seed: int) -> None:
    _, y, query = random_ranking(seed)
    assert count_pairs(group(np.asarray(y, float), query)) == len(pairs_of(y, query))


@LOSSES
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, lambda X: X.astype(np.float32)])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_the_optimum_is_that_of_newtons_method(C: float, form: Any, loss: str) -> None:
    X, y, query = random_ranking(3)
    X = np.round(8.0 * X) / 8.0
    weight = np.random.default_rng(1).integers(0, 4, len(y)) / 2.0
    factor = np.array([1.0, 0.5, 2.0, 1.0])
    tasks = [task_of(form(X), y, query, factor, loss, C, 1e-7, weight) for _ in range(2)]
    mine, other = (run_to_tolerance(task, solver) for task, solver in zip(tasks, [ListedPairs(), TruncatedNewton()]))
    assert mine.certificate.status is Status.CONVERGED
    assert mine.certificate.passes < 60
    assert mine.certificate.primal == pytest.approx(tasks[1].objective(mine.w), rel=1e-9)
    assert other.certificate.dual * (1 - 1e-9) <= mine.certificate.primal <= other.certificate.primal * (1 + 2e-7)
    assert mine.certificate.dual <= other.certificate.primal * (1 + 1e-9)


@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("wine", "squared_hinge"),
        ("breast_cancer", "squared_hinge"),
        pytest.param("breast_cancer", "hinge", marks=pytest.mark.slow),
    ],
)
def test_unscaled_data_at_a_large_C(name: str, loss: Any) -> None:
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    found = SVMRanker(1e6, loss=loss, tol=1e-6, random_state=0).fit(X, y)
    assert found.certificate_.status is Status.CONVERGED
    assert found.certificate_.relative_gap <= 1e-6
    assert found.solver_ == "interior_point"
    assert "stand still" in found.solver_reason_
    pairs = pairs_of(y, np.zeros(len(y)))
    rows = np.vstack([X[pairs[:, 0]] - X[pairs[:, 1]], X[pairs[:1, 1]] - X[pairs[:1, 0]]])
    sign, weight = np.append(np.ones(len(pairs)), -1.0), np.append(np.ones(len(pairs)), 1e-30)
    same = SVMClassifier(1e6, loss=loss, fit_intercept=False, solver="interior_point", tol=1e-7)
    exact = same.fit(rows, sign, sample_weight=weight).certificate_
    assert exact.dual * (1 - 1e-9) <= found.certificate_.primal <= exact.primal * (1 + 1.1e-6)
    assert found.certificate_.dual <= exact.primal * (1 + 1e-9)


@LOSSES
@pytest.mark.parametrize("seed", range(12))
def test_scales_and_C_of_many_orders(seed: int, loss: Any) -> None:
    """Bundle and Newton methods stood still on half of such problems, one that made do with weights of a smaller C."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(20, 50)), int(rng.integers(7, 12))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-3, 6, d)
    y, C = rng.integers(0, 3, n), 10.0 ** rng.uniform(5, 11)
    found = SVMRanker(C, loss=loss, random_state=0).fit(X, y).certificate_
    assert found.status is Status.CONVERGED
    assert found.relative_gap <= 1e-3
    smaller = SVMRanker(1e-3 * C, loss=loss, random_state=0).fit(X, y)
    task = task_of(X, y, np.zeros(n, np.int64), [1.0], loss, C, 1e-3)
    assert found.primal <= task.objective(smaller.coef_) * (1 + 1e-3)
    if loss == "hinge":
        area = AUCClassifier(C, C_per="pair").fit(X, y > 0).certificate_
        assert area.status is Status.CONVERGED


def test_too_many_pairs_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = datasets.load_wine(return_X_y=True)
    task = task_of(X, y, np.zeros(len(y), np.int64), [1.0], "hinge", 1.0, 1e-3)
    assert can_list(task)
    monkeypatch.setattr(listed, "_MOST", 13 * count_pairs(task.queries) - 1)
    assert not can_list(task)
    monkeypatch.setattr(automatic, "can_list", lambda task: False)
    with pytest.warns(Warning, match="standstill"):
        found = SVMRanker(1e6, loss="squared_hinge", tol=1e-6, random_state=0).fit(X, y)
    assert found.certificate_.status is Status.STANDSTILL
    assert found.solver_ == "bundle"


def test_long_documents_count_in_every_pair() -> None:
    """Two have 1,000 words each and 5,000 have one: differences have 1,000, but a mean of entries would be near 1."""
    n, d = 5000, 1000
    short = sp.csr_matrix((np.ones(n), (np.arange(n), np.arange(n) % d)), shape=(n, d))
    X = sp.vstack([sp.csr_matrix(np.ones((2, d))), short]).tocsr()
    y = np.append(np.ones(2), np.zeros(n))
    assert not can_list(task_of(X, y, np.zeros(n + 2, np.int64), [1.0], "hinge", 1.0, 1e-3))
    assert can_list(task_of(X[2:], y[1:-1], np.zeros(n, np.int64), [1.0], "hinge", 1.0, 1e-3))
