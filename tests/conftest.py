"""Fixtures that every test may ask for, and the settings of the property tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]

# The first example of a property may compile: neither a deadline nor the health check on slow data means anything.
_COMMON: dict[str, Any] = dict(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("maxmargin", **_COMMON)
settings.register_profile("maxmargin-ci", derandomize=True, database=None, print_blob=True, **_COMMON)
settings.load_profile("maxmargin-ci" if os.environ.get("CI") else "maxmargin")


@pytest.fixture(scope="session")
def project_root() -> Path:
    """The folder of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets (not part of the project): MAXMARGIN_DATA, or beside the checkout."""
    folder = Path(os.environ.get("MAXMARGIN_DATA") or ROOT.parent / "shared" / "data").expanduser()
    if not folder.is_dir():
        pytest.skip(f"no folder of real data at {folder}: set MAXMARGIN_DATA")
    return folder


@pytest.fixture
def rng() -> np.random.Generator:
    """A fresh generator, the same for every test."""
    return np.random.default_rng(20260)


@pytest.fixture
def plots() -> Iterator[Any]:
    """``matplotlib.pyplot`` without a screen; every figure is closed afterwards."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


@pytest.fixture(scope="session")
def run_python() -> Callable[..., str]:
    """A function that runs Python code in a fresh process and gives what it printed.

    ``run_python(code, env={...}, path=folder, stdin=False)``: ``env`` changes the environment (None removes a
    variable), ``path`` is the folder that holds the package, ``stdin`` feeds the code through standard input.
    """

    def run(
        code: str, *, env: Mapping[str, str | None] | None = None, path: Path = ROOT / "src", stdin: bool = False
    ) -> str:
        changed = {**os.environ, "PYTHONPATH": str(path), **(env or {})}
        done = subprocess.run(
            [sys.executable, "-"] if stdin else [sys.executable, "-c", code],
            input=code if stdin else "",
            env={name: value for name, value in changed.items() if value is not None},
            text=True,
            capture_output=True,
            timeout=300,
            check=False,
        )
        if done.returncode:
            pytest.fail(f"the process ended with {done.returncode}:\n{done.stdout}{done.stderr}", pytrace=False)
        return done.stdout

    return run


def pytest_configure() -> None:
    """Shells start background jobs with Ctrl-C ignored, and children inherit that; the tests of interrupts need it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
