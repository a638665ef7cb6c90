"""Wanted margins are for classes: every other estimator refuses them, and says which argument it does not know."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maxmargin import AUCClassifier, HardMarginSVM, OneClassSVM, SVMClassifier, SVMRanker, SVMRegressor

X = np.random.default_rng(0).normal(size=(20, 2))
CLASSES = (X[:, 0] > 0.0).astype(int)


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (SVMRegressor(), (X, X[:, 0])),
        (SVMRegressor(kernel="rbf"), (X, X[:, 0])),
        (SVMRegressor(nu=0.5), (X, X[:, 0])),
        (OneClassSVM(), (X,)),
        (AUCClassifier(), (X, CLASSES)),
        (SVMRanker(), (X, CLASSES)),
        (HardMarginSVM(), (X, CLASSES)),
    ],
    ids=repr,
)
def test_margins_without_a_meaning_are_refused(model: Any, data: Any) -> None:
    with pytest.raises(TypeError, match=rf"{type(model).__name__}\.fit\(\) .*'margin'"):
        model.fit(*data, margin=np.full(20, 2.0))
    assert not hasattr(model, "coef_")


def test_the_nu_form_finds_its_own_margin() -> None:
    with pytest.raises(ValueError, match="nu is for the hinge loss without wanted margins"):
        SVMClassifier(nu=0.3).fit(X, CLASSES, margin=np.full(20, 2.0))
