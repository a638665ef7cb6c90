"""Rankings on which Newton's method is slow, or ends in rounding: the bundle method takes over."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin import SVMRanker
from maxmargin.solvers.ranking.automatic import FOR_PAIRS


@pytest.mark.parametrize(
    ("seed", "tol"),
    [(18, 1e-3), (273, 1e-3), (403, 1e-3), (257, 1e-4), (204, 1e-6), (537, 1e-4), (537, 1e-6), (410, 1e-4)],
)
def test_a_few_documents_of_very_different_scales(seed: int, tol: float) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(10, 3)) * 10 ** rng.uniform(-3, 3, size=3)
    y, qid = rng.integers(0, 3, size=10), rng.integers(0, 3, size=10)
    found = SVMRanker(C=1000.0, tol=tol).fit(X, y, qid)
    expected = SVMRanker(C=1000.0, tol=1e-7, solver="bundle").fit(X, y, qid).certificate_
    assert found.certificate_.status.ok
    assert found.certificate_.passes < 1000
    assert expected.dual * (1 - 1e-9) <= found.certificate_.primal <= expected.primal * (1 + 1.1 * tol)
    assert found.certificate_.dual <= expected.primal * (1 + 1e-9)
    if found.solver_ == "bundle":
        assert "Newton's method" in found.solver_reason_


def test_other_rankings_stay_with_newtons_method() -> None:
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(200, 8)), rng.integers(0, 4, 200), rng.integers(0, 9, 200)
    for loss in ("hinge", "squared_hinge"):
        model = SVMRanker(C=0.1, loss=loss).fit(X, y, qid)
        assert (model.solver_, model.solver_reason_) == ("newton", FOR_PAIRS)
        assert model.certificate_.status.ok
