"""Labels that are checked without scikit-learn are refused and warned of as with it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.utils.multiclass import check_classification_targets

from maxmargin import SVMClassifier

RNG = np.random.default_rng(5)
N = 40
X = RNG.normal(size=(N, 3))


def said(check: Any) -> list[str]:
    """The error of a call, or its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            check()
        except ValueError as error:
            return [str(error)]
    return [str(each.message) for each in caught]


LABELS = {
    "integers": np.arange(N) % 3,
    "unsigned": (np.arange(N) % 3).astype(np.uint8),
    "booleans": np.arange(N) % 2 == 0,
    "text": np.array(["yes", "no"])[np.arange(N) % 2],
    "objects": np.array(["yes", "no", "so"], object)[np.arange(N) % 3],
    "whole numbers": np.arange(N) % 4 - 1.0,
    "float32": (np.arange(N) % 4).astype(np.float32),
    "fractions": np.arange(N) % 3 + 0.5,
    "two fractions": np.arange(N) % 2 * 0.5,
    "one fraction": np.r_[np.arange(N - 1) % 2, 0.25],
    "too large": np.arange(N) % 2 * 1e300,
    "nearly as many classes as rows": np.arange(N) // 2 + np.arange(N) % 2 * 19,
    "as many": np.arange(N),
    "as many whole numbers": np.arange(N) * 1.0,
    "as many words": np.array([f"word {i}" for i in range(N)]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_are_checked_as_by_scikit_learn(kind: str) -> None:
    y = LABELS[kind]
    model = SVMClassifier(max_passes=1, tol=1.0)
    with np.errstate(invalid="ignore"):
        wanted = said(lambda: check_classification_targets(y))
        found = said(lambda: model.fit(X, y))
    if kind in ("fractions", "two fractions", "one fraction", "too large"):
        assert len(wanted) == 1
        assert "continuous" in wanted[0]
    elif "as many" in kind:
        assert len(wanted) == 1
        assert "unique classes" in wanted[0]
    assert found == wanted or [line for line in found if "stopped by" not in line] == wanted


@pytest.mark.parametrize("kind", ["integers", "text", "whole numbers", "objects"])
def test_classes_are_those_of_numpy(kind: str) -> None:
    y = LABELS[kind]
    weight = np.where(y == y[2], 0.0, 1.0)
    for s, rows in ((None, slice(None)), (np.ones(N), slice(None)), (weight, weight > 0)):
        model = SVMClassifier(max_passes=1, tol=1.0)
        if len(np.unique(y[rows])) < 2:
            continue
        model.fit(X, y, s)
        np.testing.assert_array_equal(model.classes_, np.unique(y[rows]))
