"""What a fit shows while it runs: the notice about compiling appears when code is compiled, and only then."""

from __future__ import annotations

import io
import time
from typing import Any

import numba
import numpy as np
import pytest

from maxmargin import StructuredSVM
from maxmargin._compiled import compiled, watch_compiler
from maxmargin._progress import notice_when_compiling

needs_compiler = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="NUMBA_DISABLE_JIT is set")


def fresh(number: int) -> Any:
    """A function that no cache knows, as it has a constant of its own."""

    def function(x):  # type: ignore[no-untyped-def]
        return x + number

    return compiled(function)


@needs_compiler
def test_the_notice_comes_with_compiling_and_only_then() -> None:
    function = fresh(time.time_ns())
    for x, expected in ((1, 1), (2, 0), (3, 0)):
        out = io.StringIO()
        with notice_when_compiling(out, after=0.0):
            function(x)
            time.sleep(0.05)
        assert out.getvalue().count("compiling") == expected
    assert fresh(time.time_ns())(1)  # outside of any watch


@needs_compiler
def test_time_that_is_not_spent_on_compiling_does_not_count() -> None:
    function, told = fresh(time.time_ns()), []
    with watch_compiler(2.0, lambda: told.append(1)):
        function(1)
        time.sleep(2.2)
    assert not told


class Slow:
    """A plain structure whose first argmax takes longer than the notice waits."""

    def joint_features(self, x: Any, y: int) -> Any:
        return np.outer(x, np.eye(2)[y]).ravel()

    def loss(self, y_true: int, y: int) -> float:
        return float(y != y_true)

    def argmax(self, x: Any, w: Any, y_true: int | None = None) -> int:
        if not w.any():
            time.sleep(0.7)
        scores = x @ w.reshape(-1, 2)
        return int((scores if y_true is None else scores + (np.arange(2) != y_true)).argmax())


def test_a_slow_first_pass_is_not_taken_for_compiling(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = np.array([[1.0], [-1.0]]), [0, 1]
    StructuredSVM(Slow(), random_state=0).fit(X, y)  # compiles what is needed
    StructuredSVM(Slow(), random_state=0, verbose=1).fit(X, y)
    shown = capsys.readouterr().err
    assert "primal" in shown
    assert "compiling" not in shown
