"""Running the command line inside the test process, in a folder of its own."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from maxmargin.cli import main

SVM = "1 1:2 5:1\n-1 2:2\n1 1:3 4:1\n-1 2:3 3:1\n"
COLUMNS = """\
The DT B-NP
cat NN I-NP
sat VBD O

A DT B-NP
dog NN I-NP
barked VBD O

Dogs NNS B-NP
ran VBD O
"""
CRFSUITE = "B-NP\tw=the\nI-NP\tw=cat\tcap:2\n\nO\tw=.\n\nB-NP\tw=a\nI-NP\tw=dog\n"
TREES = "(S (NP (DT the) (NN cat)) (VP (VBZ sits)))\n(S (NP (NNS dogs)) (VP (VBP bark)))\n"


@dataclass
class Outcome:
    """What a command did: its exit status, what it wrote to standard output and to standard error."""

    status: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The only line of standard error, without the name of the program."""
        (line,) = self.err.splitlines()
        assert line.startswith("maxmargin: error: ")
        assert self.out == ""
        return line.removeprefix("maxmargin: error: ")


Run = Callable[..., Outcome]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """``run("predict", "m.model", "-", stdin=...)``: runs a command and gives its :class:`Outcome`."""

    def run(*argv: str | Path, stdin: str | bytes = b"") -> Outcome:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        capsys.readouterr()
        status = main([str(arg) for arg in argv])
        captured = capsys.readouterr()
        return Outcome(status, captured.out, captured.err)

    return run


@pytest.fixture
def ok(run: Run) -> Run:
    """As ``run``, for commands that have to succeed; training is quiet."""

    def ok(*argv: str | Path, stdin: str | bytes = b"") -> Outcome:
        outcome = run(*argv, *(["-q"] if argv[0] == "train" else []), stdin=stdin)
        assert outcome.status == 0, outcome.err
        return outcome

    return ok


@pytest.fixture
def svm(folder: Path) -> str:
    """A small svmlight file."""
    (folder / "train.svm").write_text(SVM)
    return "train.svm"


@pytest.fixture
def columns(folder: Path) -> str:
    """A small column file."""
    (folder / "train.conll").write_text(COLUMNS)
    return "train.conll"


@pytest.fixture
def crfsuite(folder: Path) -> str:
    """A small file of attributes."""
    (folder / "train.crf").write_text(CRFSUITE)
    return "train.crf"
