"""The program as a process: pipes, signals, what is left after a sudden end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import maxmargin
from maxmargin import load_model

Run = Callable[..., Any]
PROGRAM = [sys.executable, "-P", "-m", "maxmargin"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(maxmargin.__file__).parents[1])}

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")


def start(*argv: str, **options: Any) -> subprocess.Popen[bytes]:
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen([*PROGRAM, *argv], env=ENVIRONMENT, **options)


def slow_data() -> str:
    """Column data that no model fits, so that a fit with tol 0 goes on for long."""
    state, rows = 1, []
    for k in range(4000):
        state = state * 1103515245 % 2**31
        rows.append("" if k % 20 == 19 else f"w{state // 7 % 50} {'ABC'[state // 1000 % 3]}")
    return "\n".join(rows) + "\n"


SLOW = ("--tol", "0", "--max-passes", "100000000", "-v", "-C", "100")


@pytest.fixture
def slow(folder: Path) -> str:
    (folder / "slow.conll").write_text(slow_data())
    return "slow.conll"


def wait_for_passes(process: subprocess.Popen[bytes]) -> None:
    """Until progress is shown."""
    assert process.stderr is not None
    for line in process.stderr:
        if line.split()[:1] == [b"3"]:
            return
    pytest.fail("the program ended before its third pass")


def test_pipes(ok: Run, columns: str, folder: Path) -> None:
    ok("train", columns, "-o", "m")
    expected = ok("predict", "m", columns).out
    data = Path(columns).read_bytes()
    command = [*PROGRAM, "predict", "m", "-"]
    done = subprocess.run(command, env=ENVIRONMENT, input=data, capture_output=True, check=True)
    assert done.stdout.decode() == expected


def test_output_is_utf8_whatever_the_locale(ok: Run, folder: Path) -> None:
    Path("x.svm").write_text("é 1:1\nö 2:1\n", encoding="utf-8")
    ok("train", "x.svm", "-o", "m")
    for command in (["predict", "m", "x.svm"], ["evaluate", "m", "x.svm"], ["inspect", "m"]):
        environment = {**ENVIRONMENT, "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
        done = subprocess.run([*PROGRAM, *command], env=environment, capture_output=True, check=True)
        assert "é" in done.stdout.decode("utf-8")


def test_a_reader_that_leaves_is_no_error(ok: Run, columns: str) -> None:
    ok("train", columns, "-o", "m")
    for command in (["predict", "m", columns], ["inspect", "m"], ["evaluate", "m", columns]):
        process = start(*command)
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdout.close()  # before anything is written
        process.stdin.close()
        assert process.stderr is not None
        errors = process.stderr.read()
        assert (process.wait(60), errors) == (0, b""), command
        process.stderr.close()


def test_ctrl_c_writes_the_best_model(slow: str) -> None:
    process = start("train", slow, "-o", "m", *SLOW)
    wait_for_passes(process)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert time.monotonic() - begin < 30
    assert process.returncode == 130
    assert errors.decode().splitlines()[-1].startswith("maxmargin: interrupted; wrote m (")
    assert b"Traceback" not in errors
    assert load_model("m").certificate_.status.name == "INTERRUPTED"
    assert sorted(os.listdir()) == ["m", slow]


def test_ctrl_c_while_waiting_for_input(folder: Path) -> None:
    process = start("train", "-", "-o", "m")
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert (process.returncode, out, errors) == (130, b"", b"maxmargin: interrupted; nothing was written\n")
    assert os.listdir() == []


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_program_leaves_nothing(how: signal.Signals, slow: str) -> None:
    Path("m").write_bytes(b"old")
    process = start("train", slow, "-o", "m", *SLOW)
    wait_for_passes(process)
    process.send_signal(how)
    process.communicate(timeout=60)
    assert process.returncode == -how
    assert Path("m").read_bytes() == b"old"
    assert sorted(os.listdir()) == ["m", slow]


@pytest.mark.slow
def test_training_goes_on_when_nobody_listens(slow: str) -> None:
    """A pipe whose reader has left, a full device, a closed descriptor: the model is written all the same."""
    options = ["train", slow, "-o", "m", "--max-passes", "5", "--tol", "0", "-v"]
    process = start(*options, stderr=subprocess.PIPE)
    assert process.stderr is not None
    process.stderr.readline()
    process.stderr.close()
    assert process.wait(120) == 0
    assert load_model("m").certificate_.passes >= 5
    process.communicate()
    for redirection in ("2>/dev/full", "2>&-", "2>&- >&-"):
        Path("m").unlink()
        shell = f'"$0" "$@" {redirection}'
        done = subprocess.run(["sh", "-c", shell, *PROGRAM, *options], env=ENVIRONMENT, capture_output=True)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), redirection
        assert load_model("m").certificate_.passes >= 5


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_errors_of_writing_have_a_name(ok: Run, columns: str) -> None:
    ok("train", columns, "-o", "m")
    for command, name in (
        (["predict", "m", columns, "-o", "/dev/full"], "/dev/full"),
        (["train", columns, "-q", "-o", "/dev/full"], "/dev/full"),
        (["predict", "m", columns], "<stdout>"),
        (["inspect", "m"], "<stdout>"),
    ):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([*PROGRAM, *command], env=ENVIRONMENT, stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == 2
        assert done.stderr.decode().splitlines()[-1] == f"maxmargin: error: {name}: No space left on device"


def test_closed_standard_streams(ok: Run, columns: str) -> None:
    ok("train", columns, "-o", "m")
    for command, redirection, name in (
        (["predict", "m", "-"], "<&-", "<stdin>"),
        (["inspect", "m"], ">&-", "<stdout>"),
        (["evaluate", "m", columns], ">&-", "<stdout>"),
    ):
        done = subprocess.run(
            ["sh", "-c", f'"$0" "$@" {redirection}', *PROGRAM, *command], env=ENVIRONMENT, capture_output=True
        )
        assert (done.returncode, done.stderr.decode()) == (2, f"maxmargin: error: {name}: is closed\n")
