"""One stochastic run by compiled steps and by steps in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["assert_same_way"]


def assert_same_way(first: Any, second: Any, passes: int) -> None:
    """Weights, their mean, and what the steps met, pass by pass."""
    for _ in range(passes):
        first.advance(), second.advance()
        np.testing.assert_allclose(first.steps.last(), second.steps.last(), rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(first.weights(), second.weights(), rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(first.steps.a, second.steps.a, rtol=1e-7, atol=1e-9)
