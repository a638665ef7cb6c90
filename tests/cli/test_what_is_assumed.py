"""What is done otherwise than asked, or assumed, is said in a line."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from cli.conftest import Run
from maxmargin import load_model
from maxmargin.cli import main

RANKING = "1 1:1\n2 1:3\n3 1:4\n2 1:2\n"


def test_rankings_without_queries_are_evaluated_as_one(folder: Path, run: Run) -> None:
    (folder / "train.svm").write_text("".join(f"{line[0]} qid:1{line[1:]}\n" for line in RANKING.splitlines()))
    (folder / "test.svm").write_text(RANKING)
    assert run("train", "train.svm", "--task", "ranking", "-o", "m", "-q").status == 0
    said = "maxmargin: test.svm: no row has a qid: all are taken for documents of one query\n"
    outcome = run("evaluate", "m", "test.svm", "-q")
    assert (outcome.status, outcome.err) == (0, said)
    assert "1 query" in outcome.out
    outcome = run("train", "train.svm", "--task", "ranking", "-o", "n", "--test", "test.svm", "-q")
    assert (outcome.status, outcome.err) == (0, said)
    assert run("evaluate", "m", "train.svm", "-q").err == ""
    assert run("predict", "m", "test.svm", "-q").err == ""


def test_temporary_files_elsewhere_are_said(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "b.svm").write_text("1 1:1\n-1 1:2\n")
    there = folder / "there"
    there.mkdir()
    monkeypatch.setenv("TEMP", str(there))
    monkeypatch.setenv("TMPDIR", str(folder / "none"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    outcome = run("train", "b.svm", "-o", "m", "--memory", "10", "-q")
    wanted, found = folder / "none", there
    said = f"maxmargin: TMPDIR={wanted} is no folder that can be written to: temporary files go to {found}\n"
    assert (outcome.status, outcome.err) == (0, said)
    monkeypatch.setenv("TMPDIR", str(there))
    monkeypatch.setattr(tempfile, "tempdir", None)
    assert run("train", "b.svm", "-o", "m", "--memory", "10", "-q").err == ""
    monkeypatch.setenv("TMPDIR", str(folder / "none"))
    assert run("train", "b.svm", "-o", "m", "-q").err == ""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device without room")
@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"], ["--version"]])
def test_help_that_cannot_be_written(arguments: list[str], run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 0
    full = open("/dev/full", "w")  # noqa: SIM115  (closing it fails, as it still holds the text)
    monkeypatch.setattr(sys, "stdout", full)
    assert main(arguments) == 2
    monkeypatch.undo()
    with suppress(OSError):
        full.close()


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="there is no /dev/stdout")
def test_a_model_goes_into_a_pipe(tmp_path: Path) -> None:
    data = tmp_path / "rows.svm"
    data.write_text("1 1:1 2:2\n-1 1:-1 2:0.5\n1 1:2\n-1 2:-1\n")
    command = [sys.executable, "-m", "maxmargin", "train", str(data), "--task", "binary", "-q", "-o", "/dev/stdout"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    (tmp_path / "model").write_bytes(done.stdout)
    assert load_model(tmp_path / "model").predict([[3.0, 3.0]]).tolist() == [1]
