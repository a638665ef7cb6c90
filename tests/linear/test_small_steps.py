"""What interior point methods do beside their products, on few rows as on many."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin import SVMClassifier
from maxmargin.solvers.linear import normal_equations
from maxmargin.solvers.linear.folding import off_the_origin
from maxmargin.solvers.linear.normal_equations import to_zero


@pytest.mark.parametrize("shape", [(1, 1), (30, 1), (9000, 2)])
def test_the_largest_step_is_that_of_the_plain_formula(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1.0, 1e3):
        x, dx = rng.random(shape), scale * rng.normal(size=shape)
        falling = dx < 0.0
        assert to_zero(x, dx) == min(1.0, float((-x[falling] / dx[falling]).min(initial=1.0)))
        assert to_zero(x[::2], dx[::2]) == to_zero(x[::2].copy(), dx[::2].copy())
    assert to_zero(x, np.abs(dx)) == 1.0
    assert to_zero(np.zeros(shape), -np.ones(shape)) == 0.0
    x[-1], dx[-1] = np.nan, -1.0  # the outer loop sees to it
    assert to_zero(x, dx) == 1.0


def test_steps_take_no_detour_by_the_checks_of_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """They go to LAPACK at once: one factor and four solutions in each iteration (two right sides, each refined)."""
    counts = dict.fromkeys(("dpotrf", "dpotrs"), 0)

    def counted(name: str) -> None:
        call = getattr(normal_equations, name)

        def counting(*args: object, **options: object) -> object:
            counts[name] += 1
            return call(*args, **options)

        monkeypatch.setattr(normal_equations, name, counting)

    for name in counts:
        counted(name)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    model = SVMClassifier(solver="interior_point", tol=1e-6).fit(X, X[:, 0] + rng.normal(size=60) > 0.0)
    crossings = counts["dpotrf"] - (counts["dpotrs"] - 2 * counts["dpotrf"]) // 2
    assert 0 < crossings <= 2
    assert model.n_iter_ - 2 <= counts["dpotrf"] <= model.n_iter_ + 2


def test_rows_near_the_origin_are_seen_to_be_so_by_three_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).normal(size=(50, 4))

    def refused(*args: object) -> None:
        raise AssertionError("a sample was taken")

    with monkeypatch.context() as patch:
        patch.setattr(np, "ix_", refused)
        assert off_the_origin(X) is None
    shift = off_the_origin(X + np.array([0.0, 1e9, 0.0, 0.0]))
    assert shift is not None
    assert shift[1] == pytest.approx(1e9, rel=1e-6)
    assert not shift[[0, 2, 3]].any()
