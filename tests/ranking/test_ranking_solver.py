"""The Newton solver of rankings: optimum, certificate, extreme problems."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.solvers.loop import run_to_tolerance
from maxmargin.solvers.ranking.newton import TruncatedNewton, line_minimum
from maxmargin.solvers.ranking.task import PairLoss
from maxmargin.status import Status
from ranking.listed import explicit, random_ranking, task_of

LOSSES = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])


@LOSSES
@pytest.mark.parametrize("C", [1e-3, 0.1, 5.0, 300.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_optimum_is_that_of_a_general_solver(loss: str, C: float, seed: int) -> None:
    X, y, query = random_ranking(seed)
    factor = np.array([1.0, 0.5, 0.0, 2.0])
    kept = factor[query] > 0.0
    small = explicit(X[kept], y[kept], query[kept], C * factor, loss)
    value = small.optimum()
    result = run_to_tolerance(task_of(X, y, query, factor, loss, C, 1e-8), TruncatedNewton(), max_passes=3000)
    certificate = result.certificate
    assert certificate.status is Status.CONVERGED
    assert small.objective(result.w, 0.0) == pytest.approx(certificate.primal, rel=1e-9)
    assert certificate.primal == pytest.approx(value, rel=1e-6)
    assert certificate.dual <= value * (1.0 + 1e-7)
    assert certificate.dual == pytest.approx(value, rel=1e-6)


@LOSSES
def test_every_step_has_a_lower_bound_below_the_optimum_and_an_objective_above_it(loss: str) -> None:
    X, y, query = random_ranking(5, n=40)
    C = 2.0
    small = explicit(X, y, query, np.full(4, C), loss)
    value = small.optimum()
    met = []

    def watch(record: Any, w: Any) -> None:
        met.append(record)
        assert small.objective(w, 0.0) >= value * (1.0 - 1e-9)
        assert record.dual <= value * (1.0 + 1e-9)
        assert record.primal >= value * (1.0 - 1e-9)

    result = run_to_tolerance(
        task_of(X, y, query, np.ones(4), loss, C, 1e-6),
        TruncatedNewton(),
        max_passes=3000,
        callback=watch,
        check_every=1,
    )
    assert len(met) >= 3
    assert all(record.exact for record in met)
    again = result.check()
    assert (again.primal, again.dual) == pytest.approx((result.certificate.primal, result.certificate.dual), rel=1e-12)


@LOSSES
def test_kinds_of_matrices_make_no_difference(loss: str) -> None:
    X, y, query = random_ranking(2)
    X = np.where(np.abs(X) < 0.5, 0.0, X.astype(np.float32).astype(np.float64))
    wide = sp.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    values = []
    for rows in (
        X,
        np.asfortranarray(X),
        X.astype(np.float32),
        sp.csr_array(X),
        sp.csr_array(X.astype(np.float32)),
        wide,
    ):
        task = task_of(rows, y, query, np.ones(4), loss, 1.0, 1e-9)
        values.append(run_to_tolerance(task, TruncatedNewton(), max_passes=3000).certificate.primal)
    np.testing.assert_allclose(values, values[0], rtol=1e-8)


@LOSSES
def test_features_of_very_different_scales(loss: str) -> None:
    X, y, query = random_ranking(4, n=60)
    task = task_of(X * [1e4, 1.0, 1e-3] + [1e5, 0.0, 3.0], y, query, np.ones(4), loss, 1.0, 1e-3)
    result = run_to_tolerance(task, TruncatedNewton(), max_passes=600)
    assert result.certificate.status is Status.CONVERGED


def test_more_features_than_documents_and_perfect_order() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 40)), np.arange(12)
    task = task_of(X, y, np.zeros(12, int), np.ones(1), "hinge", 1e6, 1e-4)
    result = run_to_tolerance(task, TruncatedNewton(), max_passes=3000)
    assert result.certificate.status is Status.CONVERGED
    assert result.certificate.training_risk == 0.0
    assert (np.diff(X @ result.w) >= 1.0 - 1e-3).all()


def test_the_same_data_give_the_same_bits() -> None:
    X, y, query = random_ranking(8)
    first, second = (
        run_to_tolerance(task_of(X, y, query, np.ones(4), "hinge", 1.0, 1e-6), TruncatedNewton(), max_passes=3000).w
        for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("minimum", [1e-6, 0.3, 1.0, 7.0, 1e4])
def test_the_minimum_on_a_line(minimum: float) -> None:
    def slope(t: float) -> float:
        return float(np.tanh(3.0 * (t / minimum - 1.0)) + 0.1 * (t / minimum - 1.0))

    t = line_minimum(slope, slope(0.0))
    assert abs(slope(t)) <= 0.2 * abs(slope(0.0))
    assert line_minimum(slope, 0.1) == 0.0


def test_a_step_derivative_is_bracketed() -> None:
    """As of a hinge: the derivative jumps over 0."""
    t = line_minimum(lambda t: -1.0 if t < 0.37 else 1.0, -1.0)
    assert t == pytest.approx(0.37, abs=0.05)


@LOSSES
@pytest.mark.parametrize("listed", [0, 8])
def test_a_loss_that_is_not_needed_any_more_goes_at_once(
    loss: str, listed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is as large as the documents, there is one for each step, and the command line seldom looks for cycles."""
    monkeypatch.setattr("maxmargin.solvers.ranking.task._LISTED", listed)
    X, y, query = random_ranking(3)
    task = task_of(X, y, query, np.ones(4), loss, 1.0, 1e-3)
    at = PairLoss(task, task.scores(np.ones(3)))
    assert at.curved(at.scores).any()
    assert np.isfinite([at.gain, at.cost.sum(), at.beta.sum()]).all()
    gone = weakref.ref(at)
    gc.disable()
    try:
        del at
        assert gone() is None
    finally:
        gc.enable()
