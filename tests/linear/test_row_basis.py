"""The multiclass interior point in a basis of the rows, and how far it goes: wide rows, ill scales, any ``C``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

from maxmargin import MulticlassSVM
from maxmargin.solvers.linear import multiclass_interior_point
from maxmargin.solvers.linear.automatic import Automatic, multiclass_in_passes
from maxmargin.solvers.linear.crammer_singer import MulticlassTask
from maxmargin.solvers.linear.multiclass_interior_point import MulticlassInteriorPoint, MulticlassInteriorRun
from maxmargin.solvers.linear.row_basis import basis_of
from maxmargin.solvers.linear.rows import Rows
from maxmargin.solvers.loop import Result, run_to_tolerance
from maxmargin.status import Status
from solvers.enumeration import multiclass_case

Reals = NDArray[np.float64]
RNG = np.random.default_rng(8)
N, D, K = 14, 40, 3
X = RNG.normal(size=(N, D)) * (RNG.random((N, D)) < 0.6)
Y = RNG.permutation(np.arange(N) % K)
COSTS = np.array([[0, 1, 3], [2, 0, 0.5], [1, 1, 0]])
LAST = np.column_stack([X, np.full(N, 2.0)])
SCALES = 10.0 ** RNG.uniform(-6.0, 6.0, D)
FORMS: dict[str, Any] = {
    "dense": X,
    "sparse": sp.csr_matrix(X),
    "scales": X * SCALES,
    "large and small": X * np.where(np.arange(D) < 5, 1e6, 1e-5),
    "rank 4": X[:, :4] @ RNG.normal(size=(4, D)),
    "few features present": np.column_stack([X[:, :3], np.zeros((N, D))]),
    "a tiny row": X * np.where(np.arange(N) == 3, 1e-9, 1.0)[:, None],
    "zeros": np.zeros((N, D)),
}


def make(
    rows: Any, C: float, free: bool = False, y: Any = Y, costs: Reals = COSTS, tol: float = 1e-8
) -> MulticlassTask:
    return MulticlassTask(Rows(rows), y, costs, C, np.ones(len(y)), tol, np.random.default_rng(0), free=free)


def solve(task: MulticlassTask, solver: Any = None, **options: Any) -> Result:
    return run_to_tolerance(task, solver or MulticlassInteriorPoint(), **options)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_scores_and_norms_are_those_of_the_rows(form: str, free: bool) -> None:
    rows = FORMS[form]
    if free:
        rows = (
            sp.hstack([rows, np.full((N, 1), 2.0)]).tocsr()
            if sp.issparse(rows)
            else np.column_stack([rows, LAST[:, -1]])
        )
    basis = basis_of(Rows(rows), free)
    rank = basis.rows.shape[1] - free
    dense = np.asarray(rows.todense()) if sp.issparse(rows) else rows
    assert rank == max(
        np.linalg.matrix_rank(dense[:, :D] / np.maximum(np.abs(dense[:, :D]).max(1, keepdims=True), 1e-300)), 1
    )
    V = RNG.normal(size=(rank + free, K))
    W = basis.original(V)
    assert W.shape == (dense.shape[1], K)
    size = np.abs(dense) @ np.abs(W) + np.abs(basis.rows.matrix) @ np.abs(V)
    assert (np.abs(dense @ W - basis.rows.matrix @ V) <= 1e-13 * size).all()
    if form != "zeros":
        np.testing.assert_allclose((W**2).sum(0), (V**2).sum(0), rtol=1e-12)
    if free:
        assert (W[-1] == V[-1]).all()
    if form != "zeros":
        np.testing.assert_allclose(basis.coordinates(W), V, rtol=0.0, atol=1e-12 * np.abs(V).max())


def test_small_features_keep_their_digits() -> None:
    """Beside features 1e12 times as large; of a Gram matrix nothing of them would be left."""
    large, small = X[:, :5], 1e-12 * X[:, 5:]
    basis = basis_of(Rows(np.column_stack([large, small])), False)
    W = basis.original(np.eye(basis.rows.shape[1]))
    back = basis.rows.matrix @ W.T
    np.testing.assert_allclose(back[:, 5:], small, rtol=0.0, atol=1e-12 * np.abs(small).max())
    np.testing.assert_allclose(back[:, :5], large, rtol=0.0, atol=1e-12)


def test_rows_that_outnumber_features_stay_as_they_are() -> None:
    rows = Rows(X.T)
    assert basis_of(rows, False).rows is rows


@pytest.mark.parametrize("free", [False, True])
def test_the_systems_have_the_size_of_the_rows_and_one_class_less(free: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    original = multiclass_interior_point.solver_of

    def counted(matrix: Reals, ridge: Reals) -> Any:
        sizes.append(len(matrix))
        return original(matrix, ridge)

    monkeypatch.setattr(multiclass_interior_point, "solver_of", counted)
    result = solve(make(LAST if free else X, 1.0, free))
    assert result.certificate.status is Status.CONVERGED
    assert set(sizes) == {(N + free) * (K - 1)}
    assert len(result.w) == (D + free) * K


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("C", [1e-3, 0.3, 1e6])
def test_the_optimum_is_that_of_the_original_rows(form: str, C: float) -> None:
    rows = FORMS[form]
    certificate = (result := solve(make(rows, C))).certificate
    assert certificate.status is Status.CONVERGED
    dense = np.asarray(rows.todense()) if sp.issparse(rows) else rows
    listed = multiclass_case(dense, Y, costs=COSTS).listed
    assert listed.primal(result.w, C * np.ones(N)) == pytest.approx(certificate.primal, rel=1e-9)
    if C < 1.0 and form not in ("scales", "large and small"):  # where the general program is exact enough
        value = listed.optimum(C * np.ones(N))[1]
        assert value * (1 - 1e-6) <= certificate.dual <= certificate.primal <= value * (1 + 1e-6)


@pytest.mark.parametrize("penalized", [True, False])
def test_it_agrees_with_coordinate_ascent(penalized: bool) -> None:
    one, other = (
        MulticlassSVM(
            0.5, solver=solver, tol=1e-6, max_passes=20_000, random_state=0, penalize_intercept=penalized
        ).fit(X, Y)
        for solver in ("interior_point", "coordinate_ascent")
    )
    assert one.certificate_.primal == pytest.approx(other.certificate_.primal, rel=2e-6)
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=5e-3)


def test_a_warm_start_on_wide_rows() -> None:
    model = MulticlassSVM(1.0, solver="interior_point", tol=1e-6, warm_start=True).fit(X, Y)
    passes = model.certificate_.passes
    again = model.fit(X, Y).certificate_
    assert again.status is Status.CONVERGED
    assert again.passes < passes


def test_rows_too_wide_for_weights_of_their_own() -> None:
    """20,000 features times 3 classes were refused, and never chosen."""
    rows = np.tile(X, 500) * np.geomspace(1e-3, 1e3, 500 * D)
    assert multiclass_in_passes(make(rows, 1.0)) < math.inf
    result = solve(make(rows, 1e4, tol=1e-6), Automatic(), max_passes=1000)
    assert result.certificate.status is Status.CONVERGED
    assert result.certificate.solver == "interior_point"


def apart(free: bool) -> tuple[Reals, NDArray[np.int64]]:
    """Classes that can be told apart, by features of very different scales."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 60)
    rows = rng.normal(size=(60, 4))
    rows[:, :3] += 6.0 * np.eye(3)[y]
    rows *= [1e-4, 1.0, 1e3, 1e6]
    return np.column_stack([rows, np.full(60, math.sqrt((rows**2).sum(1).mean()))]) if free else rows, y


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("C", [1.0, 1e4, 1e8, 1e12, 1e16, 1e20])
def test_any_C_on_ill_scaled_rows(C: float, free: bool) -> None:
    """Squares of features times ``C`` of up to 1e33: rounding of one class must not be seen in the others."""
    rows, y = apart(free)
    result = solve(make(rows, C, free, y, 1.0 - np.eye(3), 1e-6), max_passes=90)
    assert result.certificate.status is Status.CONVERGED
    assert result.certificate.relative_gap <= 1e-6


def test_weights_have_nothing_in_common() -> None:
    """What all classes share changes no score's order, only the norm: it is 0, and stays so at a large ``C``."""
    rows, y = apart(False)
    run = MulticlassInteriorRun(make(rows, 1e14, False, y))
    for _ in range(40):
        run.advance()
        assert np.abs(run.W.sum(1)).max() <= 1e-14 * np.abs(run.W).max()


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("power", [-30, 7, 40])
def test_scaled_rows_with_a_scaled_C_take_the_same_steps(power: int, wide: bool) -> None:
    factor = 2.0**power  # changes no digit
    rows = X if wide else X[:, :5]
    one = MulticlassInteriorRun(make(rows, 0.5))
    other = MulticlassInteriorRun(make(rows * factor, 0.5 / factor**2))
    for _ in range(12):
        one.advance()
        other.advance()
        assert (other.a * factor**2 == one.a).all()
        assert (other.W * factor == one.W).all()
        assert (other.low == one.low).all()
