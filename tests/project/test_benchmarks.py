"""The benchmarks refuse a name that they do not know in one line, before any work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
FILES = sorted(path.name for path in FOLDER.glob("*.py") if path.name != "common.py")
MEASURING = [
    ("path.py", "measure"),
    ("threads.py", "measure"),
    ("solvers.py", "measure"),
    ("kernel.py", "ours"),
    ("kernel.py", "SVC"),
    ("linear.py", "ours"),
    ("linear.py", "LIBLINEAR"),
]


@pytest.mark.parametrize("argv", [*((name,) for name in FILES), *MEASURING], ids=" ".join)
def test_an_unknown_name_is_refused(argv: tuple[str, ...]) -> None:
    command = [sys.executable, str(FOLDER / argv[0]), *argv[1:], "no_such_row"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert "'no_such_row'" in line
    assert argv[0] in line or argv[0] == "run.py"
