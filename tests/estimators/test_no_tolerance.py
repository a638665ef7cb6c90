"""``tol=0`` asks for all that float64 gives: a fit ends there, soon, with numbers, and says what they are."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from linear.problems import random_problem
from maxmargin import MulticlassSVM, SVMClassifier, SVMRegressor
from maxmargin.solvers.base import Run, Step
from maxmargin.solvers.linear.coordinate_ascent import CoordinateAscent
from maxmargin.solvers.loop import run_to_tolerance
from maxmargin.status import Status

MACHINES = {
    "hinge": (SVMClassifier, {}),
    "squared_hinge": (SVMClassifier, {"loss": "squared_hinge"}),
    "rbf": (SVMClassifier, {"kernel": "rbf"}),
    "classes": (MulticlassSVM, {}),
    "numbers": (SVMRegressor, {}),
    "numbers, rbf": (SVMRegressor, {"kernel": "rbf"}),
}


@pytest.mark.parametrize("solver", ["auto", "interior_point"])
@pytest.mark.parametrize("of", MACHINES)
def test_the_optimum_up_to_rounding(of: str, solver: str) -> None:
    kind, options = MACHINES[of]
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(int(rng.integers(20, 200)), int(rng.integers(1, 6))))
        y = X[:, 0] + 0.5 * rng.normal(size=len(X))
        if kind is not SVMRegressor:
            y = (y > 0).astype(int)
            y[:2] = [0, 1]
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            warnings.simplefilter("ignore", UserWarning)
            found = kind(0.1, tol=0, solver=solver, random_state=0, **options).fit(X, y).certificate_
            near = kind(0.1, tol=1e-8, solver=solver, random_state=0, **options).fit(X, y).certificate_
        assert found.dual <= near.primal * (1 + 1e-12)
        assert found.primal <= near.primal * (1 + 1e-12)
        assert found.primal >= near.dual * (1 - 1e-12)
        if "rbf" not in of:  # figures of kernels may go on moving in their last digits
            assert found.status in (Status.CONVERGED, Status.STALLED)
            assert found.passes <= 120
        assert found.relative_gap <= 1e-9


class _Lost(Run):
    """Has no numbers after some passes: in its weights, in its bound, or in what its steps tell."""

    def __init__(self, run: Run, of: str, after: int) -> None:
        self.inner, self.of, self.after, self.done = run, of, after, 0
        self.task = run.task

    @property
    def lost(self) -> bool:
        return self.done > self.after

    def advance(self) -> Step:
        self.done += 1
        step = self.inner.advance()
        step.ready = True
        if self.lost and self.of == "step":
            step.gap = step.dual = np.nan
        return step

    def weights(self) -> Any:
        w = self.inner.weights()
        return np.full_like(w, np.nan) if self.lost and self.of in ("weights", "step") else w

    def dual(self) -> float:
        value = self.inner.dual()
        return np.nan if self.lost and self.of == "bound" else value


class _Losing:
    name = "losing"

    def __init__(self, of: str, after: int) -> None:
        self.of, self.after = of, after

    def start(self, task: Any) -> Run:
        return _Lost(CoordinateAscent().start(task), self.of, self.after)


@pytest.mark.parametrize("after", [0, 4])
@pytest.mark.parametrize("of", ["weights", "bound", "step"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_that_are_lost_are_no_answer(of: str, after: int) -> None:
    problem = random_problem(3, "hinge", "none", 1.0)
    found = run_to_tolerance(problem.task(0.0), _Losing(of, after), max_passes=40)
    good = run_to_tolerance(
        problem.task(0.0), CoordinateAscent(), max_passes=max(2 * after, 2), check_every=1
    ).certificate
    assert np.isfinite(found.w).all()
    assert found.certificate.primal == pytest.approx(problem.value(found.w), rel=1e-12)
    assert not np.isnan(found.certificate.dual)
    assert found.certificate.dual <= good.primal
    assert found.certificate.status is (Status.PASS_LIMIT if of == "bound" else Status.STALLED)
    assert found.certificate.passes <= 40 if of == "bound" else 2 * after + 4
    if of != "bound" and after:
        assert found.certificate.primal <= good.primal * (1 + 1e-9)
