"""A Cholesky factor whose rows come and go, against numpy's of the matrix as it is then."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin.solvers.linear.growing_factor import append, remove, solve


@pytest.mark.parametrize("seed", range(5))
def test_rows_that_come_and_go(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(40, 12))
    matrix = rows @ rows.T + 0.5 * np.eye(40)
    factor, chosen = np.zeros((20, 20)), list[int]()
    for _ in range(200):
        k = len(chosen)
        if k and (k == 20 or rng.random() < 0.4):
            place = int(rng.integers(k))
            remove(factor, k, place)
            del chosen[place]
        else:
            v = int(rng.choice(np.setdiff1d(np.arange(40), chosen)))
            append(factor, k, matrix[v, chosen].copy(), matrix[v, v], 1e-12)
            chosen.append(v)
        k = len(chosen)
        if not k:
            continue
        lower = np.tril(factor[:k, :k])
        here = matrix[np.ix_(chosen, chosen)]
        assert lower @ lower.T == pytest.approx(here, abs=1e-11 * np.abs(here).max())
        assert np.abs(lower) == pytest.approx(np.abs(np.linalg.cholesky(here)), abs=1e-10)
        b = rng.normal(size=k)
        x = b.copy()
        solve(factor, k, x)
        assert x == pytest.approx(np.linalg.solve(here, b), rel=1e-9, abs=1e-9)


def test_a_row_that_depends_on_others_has_the_least_pivot() -> None:
    factor = np.zeros((2, 2))
    append(factor, 0, np.zeros(0), 4.0, 1e-6)
    append(factor, 1, np.array([4.0]), 4.0, 1e-6)
    assert factor[1].tolist() == [2.0, 1e-3]
