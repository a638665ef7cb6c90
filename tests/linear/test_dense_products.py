"""Products of dense rows with vectors: against NumPy, and the same bits whatever the number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maxmargin.solvers.linear import dense_products
from maxmargin.solvers.linear.dense_products import combined, scores
from maxmargin.solvers.linear.rows import Rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "width"), [(0, 3), (1, 1), (7, 5), (8, 130), (9, 17), (61, 33)])
@pytest.mark.parametrize("m", [None, 1, 2, 4, 9])
@pytest.mark.parametrize("chosen", [False, True])
def test_products_are_those_of_numpy(
    dtype: Any, n: int, width: int, m: int | None, chosen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dense_products, "_PIECE", 20 * width)
    rng = np.random.default_rng(width)
    X = rng.normal(size=(n + 5, width)).astype(dtype)
    places = rng.permutation(n + 5)[:n] if chosen else None
    mine = X[places].astype(np.float64) if chosen else X[:n].astype(np.float64)
    data = Rows(X).data if chosen else Rows(X[:n]).data
    w = rng.normal(size=width if m is None else (width, m))
    beta = rng.normal(size=n if m is None else (n, m))
    found, sums = scores(data, width, n, w, places), combined(data, width, n, beta, places)
    assert found == pytest.approx(mine @ w, rel=1e-12, abs=1e-12)
    assert sums == pytest.approx(mine.T @ beta, rel=1e-12, abs=1e-12)
    assert found.shape == (mine @ w).shape
    assert sums.shape == (mine.T @ beta).shape
    assert sums.flags.c_contiguous


def test_vectors_in_any_layout() -> None:
    rng = np.random.default_rng(0)
    rows = Rows(rng.normal(size=(40, 6)))
    w, beta = rng.normal(size=(3, 12)), rng.normal(size=(5, 80))
    assert rows.scores(w[:, ::2].T) == pytest.approx(rows.matrix @ w[:, ::2].T)
    assert rows.scores(w[0, ::2]) == pytest.approx(rows.matrix @ w[0, ::2])
    assert rows.combined(beta[:, ::2].T) == pytest.approx(rows.matrix.T @ beta[:, ::2].T)
    assert rows.combined(beta[0, ::2]) == pytest.approx(rows.matrix.T @ beta[0, ::2])


@pytest.mark.parametrize("m", [None, 3])
def test_threads_change_no_bit(m: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    n, width = 3001, 37
    data = Rows(rng.normal(size=(n, width))).data
    w = rng.normal(size=width if m is None else (width, m))
    beta = rng.normal(size=n if m is None else (n, m))
    monkeypatch.setattr(dense_products, "_PIECE", 40 * width)
    monkeypatch.setattr(dense_products, "_WORTH_THREADS", 0)
    answers = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(dense_products, "as_many_as_blas", lambda threads=threads: threads)
        answers.append((scores(data, width, n, w).tobytes(), combined(data, width, n, beta).tobytes()))
    assert answers[0] == answers[1] == answers[2]
