"""The order in which coordinate ascent visits rows, and the weights that it returns."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from linear.problems import random_problem
from maxmargin import SVMClassifier
from maxmargin._compiled import compiled, prefetch
from maxmargin.solvers.linear import averaging
from maxmargin.solvers.linear.order import in_blocks


@pytest.mark.parametrize("n", [0, 1, 2, 15, 16, 17, 31, 255, 256, 257, 273, 1000, 5000])
def test_every_row_comes_once(n: int) -> None:
    rows = 3 * np.arange(n)
    for seed in range(20):
        np.testing.assert_array_equal(np.sort(in_blocks(rows, np.random.default_rng(seed))), rows)


def test_every_order_of_few_rows_is_as_likely() -> None:
    rng = np.random.default_rng(0)
    seen: dict[tuple[int, ...], int] = {}
    for _ in range(24_000):
        order = tuple(in_blocks(np.arange(4), rng).tolist())
        seen[order] = seen.get(order, 0) + 1
    assert len(seen) == 24
    chi2 = sum((count - 1000.0) ** 2 / 1000.0 for count in seen.values())
    assert chi2 < 49.7  # its 99.9 % quantile of 23 degrees of freedom


def test_rows_read_together_are_neighbours_in_the_data() -> None:
    """A window of 256 rows has about 16 blocks, and no two passes are alike."""
    rng = np.random.default_rng(1)
    orders = [in_blocks(np.arange(100_000), rng) for _ in range(3)]
    for order in orders:
        for at in range(0, 100_000 - 256, 25_600):
            jumps = (np.diff(np.sort(order[at : at + 256])) > 1).sum()
            assert jumps <= 17
    assert (orders[0] != orders[1]).mean() > 0.99
    # blocks begin at other places each time: pairs of neighbours are not always in one window
    assert {int(order[0]) % 16 for order in orders} != {0}


def test_the_same_seed_gives_the_same_order() -> None:
    np.testing.assert_array_equal(
        in_blocks(np.arange(999), np.random.default_rng(5)), in_blocks(np.arange(999), np.random.default_rng(5))
    )


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
@pytest.mark.parametrize("loss", ["hinge", "squared_insensitive"])
def test_of_two_weights_and_their_middle_the_best_is_taken(loss: str, intercept: str) -> None:
    rng = np.random.default_rng(3)
    for seed in range(20):
        small = random_problem(seed, loss, intercept, 1.0)
        task = small.task()
        w, v = rng.normal(size=(2, task.n_weights))
        point = task.best_between(w, v)
        known = task.scores(point)  # from what it knew
        np.testing.assert_allclose(known, small.task().scores(point), atol=1e-12)
        for share in (0.0, 0.5, 1.0):
            other = w + share * (v - w)
            assert task.objective(point) <= task.objective(other) * (1.0 + 1e-12)
        if intercept == "free":
            for shift in (-1e-3, 1e-3):
                moved = point.copy()
                moved[-1] += shift
                assert task.objective(point) <= task.objective(moved) * (1.0 + 1e-12)


@pytest.mark.parametrize("options", [{}, {"fit_intercept": False}, {"penalize_intercept": True}], ids=str)
def test_averaged_weights_are_better_than_the_last_ones(
    options: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On many rows of few features, after as many passes; a dual point is there for both."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(4000, 20))
    y = np.where(X @ rng.normal(size=20) + 2.0 * rng.normal(size=4000) > 0.0, 1.0, -1.0)
    optimum = SVMClassifier(1.0, tol=1e-7, **options).fit(X, y).certificate_.dual

    def excess() -> tuple[float, float]:
        model = SVMClassifier(1.0, solver="coordinate_ascent", tol=1e-9, max_passes=40, random_state=0, **options)
        with pytest.warns(ConvergenceWarning):
            model.fit(X, y)
        return model.certificate_.primal / optimum - 1.0, float(model.dual_residual_[0])

    averaged, residual = excess()
    monkeypatch.setattr(averaging, "_SWINGS", 1000)  # more rows for each feature than there are
    last, none = excess()
    assert 0.0 < averaged <= 0.7 * last
    assert residual > 0.0 == none


def test_loading_ahead_changes_nothing() -> None:
    @compiled
    def total(values, at):  # type: ignore[no-untyped-def]
        for k in at:
            prefetch(values, k)
        return values.sum()

    assert total(np.arange(4.0), np.array([0, 3, 4, -1, 1 << 62])) == 6.0
    assert total(np.zeros(0, np.int32), np.array([0, 7])) == 0


def test_without_the_compiler_it_does_nothing() -> None:
    code = "from maxmargin._compiled import prefetch; assert prefetch(None, 0) is None"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, check=False)
    assert done.returncode == 0


def test_several_orders_at_once_are_orders_each() -> None:
    some = np.arange(0, 900, 3)
    orders = in_blocks(some, np.random.default_rng(2), 4).reshape(4, -1)
    for order in orders:
        np.testing.assert_array_equal(np.sort(order), some)
    assert len({tuple(order) for order in orders}) == 4
    np.testing.assert_array_equal(orders[0], in_blocks(some, np.random.default_rng(2)))
