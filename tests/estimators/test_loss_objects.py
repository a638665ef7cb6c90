"""Losses of values as objects, and numbers that are none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from maxmargin import SVMClassifier, SVMRegressor, compare_solvers, load_model, save_model
from maxmargin.losses import EpsilonInsensitive, Hinge, Logistic, SquaredEpsilonInsensitive
from maxmargin.solvers.bundle import Bundle

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X @ [1.0, -2.0, 0.5] + 0.5 * RNG.normal(size=60)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("kind", [EpsilonInsensitive, SquaredEpsilonInsensitive])
def test_an_object_is_the_loss_of_its_name_and_width(kind: Any, kernel: str, tmp_path: Path) -> None:
    named = SVMRegressor(2.0, kernel=kernel, loss=kind.name, epsilon=0.3, tol=1e-6, random_state=0).fit(X, Y)
    given = clone(SVMRegressor(2.0, kernel=kernel, loss=kind(0.3), tol=1e-6, random_state=0)).fit(X, Y)
    np.testing.assert_array_equal(named.predict(X), given.predict(X))
    assert given.epsilon_ == 0.3
    assert named.certificate_.primal == given.certificate_.primal
    save_model(given, tmp_path / "m")
    again = load_model(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(X), given.predict(X))
    assert type(again.loss) is kind
    assert again.loss.epsilon == 0.3


def test_streams_and_nu_take_objects() -> None:
    one = SVMRegressor(loss=EpsilonInsensitive(0.3), random_state=0).partial_fit(X, Y)
    other = SVMRegressor(epsilon=0.3, random_state=0).partial_fit(X, Y)
    np.testing.assert_array_equal(one.coef_, other.coef_)
    with pytest.raises(ValueError, match="nu is for the loss epsilon_insensitive"):
        SVMRegressor(nu=0.3, kernel="rbf", loss=SquaredEpsilonInsensitive()).fit(X, Y)


class Derived(EpsilonInsensitive):
    """One whose value nobody knows."""


@pytest.mark.parametrize("loss", [Hinge(), Derived(), "hinge", 3, None])
def test_other_losses_are_refused(loss: Any) -> None:
    with pytest.raises(ValueError, match="loss must be one of .*epsilon_insensitive.* or an object of EpsilonIns"):
        SVMRegressor(loss=loss).fit(X, Y)


@pytest.mark.parametrize("value", ["a", None, True, float("nan")])
def test_numbers_of_options_are_named(value: Any) -> None:
    with pytest.raises(ValueError, match="epsilon must be a number of at least 0"):
        EpsilonInsensitive(value)
    with pytest.raises(ValueError, match="base must be a number above 1"):
        Logistic(value)
    if value is not None and value is not True:
        with pytest.raises(ValueError, match="radius must be a positive finite number or None"):
            SVMClassifier(solver=Bundle(radius=value)).fit(X, Y > 0)


def test_what_is_no_list_of_solvers_is_refused() -> None:
    with pytest.raises(ValueError, match="solvers must be a list of names or of solvers, not 3"):
        compare_solvers(SVMClassifier(), X, Y > 0, 3)  # type: ignore[arg-type]
