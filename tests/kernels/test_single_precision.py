"""Steps whose numbers are float32: when they are, and that the optimum is the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maxmargin.kernels import make_kernel
from maxmargin.solvers.kernel import block_smo
from maxmargin.solvers.kernel.block_smo import BlockRun, BlockSMO
from maxmargin.solvers.kernel.task import KernelTask
from maxmargin.solvers.loop import run_to_tolerance
from maxmargin.terms import Terms, hinge, insensitive, squared_hinge

RNG = np.random.default_rng(2)
N = 500
X = RNG.normal(size=(N, 4))
VALUES = X[:, 0] - X[:, 1] ** 2 + 0.5 * RNG.normal(size=N)
SIGN = np.where(VALUES > -0.4, 1.0, -1.0)


def task_of(loss: str, C: float, tol: float, scale: float = 1.0) -> KernelTask:
    c = np.full(N, C)
    terms: Terms = {
        "hinge": lambda: hinge(SIGN, c),
        "squared_hinge": lambda: squared_hinge(SIGN, c),
        "insensitive": lambda: insensitive(VALUES, c, 0.2),
    }[loss]()
    kernel = make_kernel("poly", X, gamma=0.3 * scale, coef0=scale, degree=2)
    group = np.zeros(terms.sign.shape, np.int64)
    return KernelTask(kernel, X, terms, C, np.ones(N), np.zeros(1), group, tol, signs=loss != "insensitive")


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "insensitive"])
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_the_optimum_is_that_of_steps_in_float64(loss: str, C: float, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds: list[Any] = []
    ascend = block_smo.ascend

    def seen(K: Any, *rest: Any) -> int:
        kinds.append((K.dtype, rest[4].dtype))
        return ascend(K, *rest)

    monkeypatch.setattr(block_smo, "ascend", seen)
    found = run_to_tolerance(task_of(loss, C, 1e-9), BlockSMO(block=64), max_passes=2000).certificate
    short, long = (np.dtype(np.float32),) * 2, (np.dtype(np.float64),) * 2
    assert kinds[0] == short
    assert set(kinds) == {short, long} if C > 1.0 else set(kinds) <= {short, long}
    monkeypatch.setattr(BlockRun, "_short", lambda *_: np.float64)
    kinds.clear()
    exact = run_to_tolerance(task_of(loss, C, 1e-9), BlockSMO(block=64), max_passes=2000).certificate
    assert set(kinds) == {long}
    assert found.relative_gap <= 1e-9
    assert found.primal == pytest.approx(exact.primal, rel=2e-9)


def test_numbers_are_long_where_short_ones_would_not_do() -> None:
    run = BlockSMO(block=64).start(task_of("hinge", 1.0, 1e-3))
    assert isinstance(run, BlockRun)
    thresholds, diagonal = np.array([1.0, -1.0, 0.5]), np.ones(3)
    run.violation = 1.0
    assert run._short(thresholds, diagonal) is np.float32
    assert run._short(2e3 * thresholds, diagonal) is np.float64  # their rounding is not small beside the violation
    assert run._short(thresholds, 1e6 * diagonal) is np.float64  # nor is that of the steps
    assert run._short(thresholds, 1e-11 * diagonal) is np.float64
    run.idle = 1  # the last step brought nothing
    assert run._short(thresholds, diagonal) is np.float64
    run.idle, run.violation = 0, 1e11
    assert run._short(thresholds, diagonal) is np.float64


@pytest.mark.parametrize("scale", [1e-20, 1e-6, 1e6, 1e20])
def test_kernels_of_any_scale_have_the_optimum_of_their_own(scale: float) -> None:
    """Kernel values times ``scale^2`` with ``C`` over it: the same problem in other units."""
    one = run_to_tolerance(task_of("hinge", 1.0, 1e-8), BlockSMO(block=64), max_passes=2000).certificate
    other = run_to_tolerance(
        task_of("hinge", 1.0 / scale**2, 1e-8, scale), BlockSMO(block=64), max_passes=2000
    ).certificate  # fmt: skip
    assert other.relative_gap <= 1e-8
    assert other.primal * scale**2 == pytest.approx(one.primal, rel=2e-8)
