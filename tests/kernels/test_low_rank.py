"""Kernels of low rank: a sample tells, and the automatic choice goes the shorter way early."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_circles, make_moons

from maxmargin import SVMClassifier
from maxmargin.kernels import make_kernel
from maxmargin.solvers.kernel.factor import likely_rank, shared_factor
from maxmargin.solvers.kernel.task import KernelTask
from maxmargin.terms import hinge


def task_of(points: Any, kernel: Any) -> KernelTask:
    n = len(points)
    sign = np.where(np.arange(n) % 2, 1.0, -1.0)
    return KernelTask(
        kernel, points, hinge(sign, np.ones(n)), 1.0, np.ones(n), np.zeros(1), np.zeros((n, 1), int), 1e-3
    )


@pytest.mark.parametrize("n", [300, 1500])
@pytest.mark.parametrize(("d", "degree"), [(2, 3), (4, 2)])
def test_a_sample_tells_the_rank_of_a_polynomial(n: int, d: int, degree: int) -> None:
    X = np.random.default_rng(n).normal(size=(n, d))
    task = task_of(X, make_kernel("poly", X, gamma=0.5, coef0=1.0, degree=degree))
    factor = shared_factor(task)
    assert factor is not None
    assert likely_rank(task) == factor.shape[1] < 40


def test_a_sample_tells_about_the_rank_of_smooth_kernels() -> None:
    X = make_circles(2000, noise=0.2, random_state=0)[0]
    kernel = make_kernel("rbf", X, gamma=0.5)
    task = task_of(X, kernel)
    factor = shared_factor(task)
    assert factor is not None
    assert 0.8 * factor.shape[1] <= likely_rank(task) <= factor.shape[1]
    K = kernel.block(X, X)
    given = task_of(K, make_kernel("precomputed", K))
    assert likely_rank(given) == likely_rank(task)


def test_of_full_rank_is_what_a_sample_does_not_tell() -> None:
    X = np.random.default_rng(0).normal(size=(600, 12))
    assert likely_rank(task_of(X, make_kernel("rbf", X, gamma=0.5))) == 600
    assert likely_rank(task_of(X[:3], make_kernel("linear", X[:3]))) == 3


@pytest.mark.parametrize("seed", range(4))
def test_the_automatic_choice_goes_the_shorter_way_early(seed: int) -> None:
    """Steps of pairs took up to 160 passes here, as long as the other way would take with a matrix of full rank."""
    X, y = (make_moons if seed % 2 else make_circles)(2600, noise=0.25, random_state=6 + seed)
    model = SVMClassifier(1e4, kernel="rbf", tol=1e-6, random_state=0).fit(X, y)
    assert model.certificate_.relative_gap <= 1e-6
    assert model.certificate_.passes <= 40
