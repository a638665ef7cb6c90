"""Ctrl-C in a path over ``C``: what is done goes up with the interrupt."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ended_by_callback import Ends
from maxmargin import SVMClassifier, SVMPath, SVMRegressor, svm_path
from maxmargin.solvers.loop import _Loop
from maxmargin.status import Status

RNG = np.random.default_rng(7)
X = RNG.normal(size=(60, 3))
TWO = X[:, 0] + RNG.normal(size=60) > 0.0
THREE = np.digitize(X[:, 0] + 0.5 * RNG.normal(size=60), [-0.5, 0.5])
VALUES = X @ [1.0, -2.0, 0.5] + 0.3 * RNG.normal(size=60)
CS = [10.0, 0.1, 100.0, 1.0]  # taken in the order 0.1, 1, 10, 100
OPTIONS: dict[str, Any] = dict(tol=1e-6, max_passes=5000, random_state=0)
EACH = pytest.mark.parametrize(
    ("y", "options"),
    [
        pytest.param(TWO, {}, id="linear"),
        pytest.param(THREE, {}, id="linear, three classes"),
        pytest.param(TWO, {"kernel": "rbf"}, id="rbf"),
        pytest.param(THREE, {"kernel": "rbf"}, id="rbf, three classes"),
        pytest.param(TWO, {"kernel": "rbf", "loss": "logistic"}, id="rbf, logistic"),
        pytest.param(VALUES, {"task": "regression"}, id="regression"),
        pytest.param(VALUES, {"task": "regression", "kernel": "rbf"}, id="regression, rbf"),
    ],
)


def is_part(part: SVMPath, whole: SVMPath, Cs: list[float]) -> None:
    """Whether a path is that of these values, with the figures of the whole one."""
    assert part.Cs.tolist() == Cs
    assert len(part) == len(part.models) == len(part.certificates) == len(Cs)
    assert part.n_rows == whole.n_rows
    for C in Cs:
        k, j = Cs.index(C), int(np.flatnonzero(whole.Cs == C)[0])
        assert part.model(C).C == C
        assert part.certificates[k].status is Status.CONVERGED
        assert part.norms[k] == whole.norms[j]
        assert part.training_errors[k] == whole.training_errors[j]
        np.testing.assert_allclose(part.predict(X)[k], whole.predict(X)[j], rtol=1e-9)
    assert str(part).count("\n") >= len(Cs)


def told(stopped: pytest.ExceptionInfo[KeyboardInterrupt], n: int) -> None:
    (note,) = stopped.value.__notes__
    assert f"svm_path has done {n} of 4 values of C" in note
    assert "\n" not in note


@EACH
def test_a_fit_that_was_never_begun_is_not_in_it(y: Any, options: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = svm_path(X, y, CS, **OPTIONS, **options)
    machine = SVMRegressor if "task" in options else SVMClassifier
    take, calls = machine._check_machine, 0

    def third(self: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 4:  # the first is before all fits
            raise KeyboardInterrupt
        return take(self)

    monkeypatch.setattr(machine, "_check_machine", third)
    with pytest.raises(KeyboardInterrupt) as stopped:
        svm_path(X, y, CS, **OPTIONS, **options)
    is_part(stopped.value.path, whole, [0.1, 1.0])  # type: ignore[attr-defined]
    told(stopped, 2)


@pytest.mark.parametrize("at_start", [True, False])
@EACH
def test_the_fit_that_was_interrupted_is_in_it(
    y: Any, options: Any, at_start: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = svm_path(X, y, CS, **OPTIONS, **options)
    run = _Loop.run

    def interrupt(*_: Any) -> Any:
        raise KeyboardInterrupt

    def of_third(self: Any) -> Any:
        if self.task.C != 10.0:
            return run(self)
        if at_start:
            monkeypatch.setattr(type(self.solver), "start", interrupt)
        else:
            self.callback = Ends(1, interrupt=True)
        return run(self)

    monkeypatch.setattr(_Loop, "run", of_third)
    with pytest.raises(KeyboardInterrupt, match="keeps the best model so far") as stopped:
        svm_path(X, y, CS, **OPTIONS, **options)
    path: SVMPath = stopped.value.path  # type: ignore[attr-defined]
    told(stopped, 3)
    assert path.Cs.tolist() == [10.0, 0.1, 1.0]
    assert path.predict(X).shape == (3, 60)
    found, optimum = path.certificates[0], whole.certificates[0]
    assert found.status is Status.INTERRUPTED
    assert found.C == 10.0
    assert found.dual <= optimum.primal * (1.0 + 1e-9)
    assert found.primal >= optimum.dual * (1.0 - 1e-9)
    assert np.isfinite(path.norms).all()
    assert "C=10 ended early" in str(path)
    if at_start:  # where the fit of the value before had ended
        np.testing.assert_allclose(path.norms[0], path.norms[2], rtol=1e-9)
        assert path.training_errors[0] == pytest.approx(path.training_errors[2], rel=1e-9)
    monkeypatch.undo()
    assert svm_path(X, y, CS, **OPTIONS, **options).norms.tolist() == whole.norms.tolist()


def test_where_nothing_is_done_it_is_the_plain_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(SVMClassifier, "_fit_all", interrupt)
    with pytest.raises(KeyboardInterrupt) as stopped:
        svm_path(X, TWO, CS)
    assert not hasattr(stopped.value, "path")
    assert not hasattr(stopped.value, "__notes__")


def test_the_first_fit_alone() -> None:
    with pytest.raises(KeyboardInterrupt) as stopped:
        svm_path(X, TWO, CS, callback=Ends(1, interrupt=True), tol=1e-12)
    told(stopped, 1)
    path: SVMPath = stopped.value.path  # type: ignore[attr-defined]
    assert path.Cs.tolist() == [0.1]
    assert path.model(0.1).certificate_.status is Status.INTERRUPTED
