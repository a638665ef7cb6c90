"""Arguments that are wrong or contradict each other are refused in one line, before any work."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import maxmargin
from maxmargin.cli import main
from maxmargin.cli.options import SOLVERS, make_parser
from maxmargin.cli.tasks import FORMATS, TASKS
from maxmargin.solvers import BY_NAME

Run = Callable[..., Any]


def test_the_solvers_offered_are_those_there_are() -> None:
    assert {*SOLVERS} == {*BY_NAME, "auto"}


def test_every_format_belongs_to_one_task() -> None:
    assert len(FORMATS) == len({*FORMATS}) == sum(len(task.formats) for task in TASKS.values())


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    for argv in (["--help"], *([command, "--help"] for command in ("train", "predict", "evaluate", "inspect", "demo"))):
        with pytest.raises(SystemExit) as stop:
            main(argv)
        assert stop.value.code == 0
        assert "usage: maxmargin" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"maxmargin {maxmargin.__version__}\n"


def test_defaults_are_left_to_the_estimators() -> None:
    args = vars(make_parser().parse_args(["train", "x"]))
    assert {name for name, value in args.items() if value not in (None, False)} == {"command", "data"}


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "the following arguments are required: command (see maxmargin --help)"),
        (["fly"], "argument command: invalid choice: 'fly'"),
        (["train"], "the following arguments are required: DATA (see maxmargin train --help)"),
        (["train", "x", "--temp", "y"], "unrecognized arguments: --temp"),
        (["train", "x", "-C", "0"], "argument -C: must be a number > 0, not '0'"),
        (["train", "x", "-C", "nan"], "argument -C: must be a number > 0, not 'nan'"),
        (["train", "x", "-C", "inf"], "argument -C: must be a number > 0, not 'inf'"),
        (["train", "x", "-C", "much"], "argument -C: must be a number > 0, not 'much'"),
        (["train", "x", "--tol", "-1"], "argument --tol: must be a number >= 0, not '-1'"),
        (["train", "x", "--max-passes", "0"], "argument --max-passes: must be a whole number >= 1, not '0'"),
        (["train", "x", "--max-passes", "1.5"], "argument --max-passes: must be a whole number >= 1, not '1.5'"),
        (["train", "x", "--max-time", "0"], "argument --max-time: must be a number > 0"),
        (["train", "x", "--seed", "-1"], "argument --seed: must be a whole number >= 0"),
        (["train", "x", "--jobs", "0"], "argument --jobs: must be a whole number other than 0"),
        (["train", "x", "--min-count", "0"], "argument --min-count: must be"),
        (["train", "x", "--solver", "magic"], "argument --solver: invalid choice: 'magic'"),
        (["train", "x", "--loss", "huber"], "argument --loss: invalid choice"),
        (["train", "x", "-q", "-v"], "argument -v/--verbose: not allowed with argument -q/--quiet"),
        (["train", "none.txt"], "none.txt: No such file or directory"),
        (["train", "."], ".: Is a directory"),
        (["train", "train.svm", "-o", "-"], "-o must name a file"),
        (["train", "-"], "-o is needed where DATA is standard input"),
        (["train", "train.svm", "-o", "."], ".: is a folder; -o names a file"),
        (["train", "train.svm", "-o", "none/x"], "none/x: no such folder"),
        (["train", "train.svm", "-o", "train.svm"], "-o train.svm would replace an input: name another file"),
        (["train", "train.svm", "-o", "m", "--test", "none"], "none: No such file or directory"),
        (["train", "-", "-o", "m", "--test", "-"], "only one of the inputs can be standard input"),
        (["train", "train.svm", "-o", "m", "--warm-start", "none"], "none: No such file or directory"),
        (["train", "train.svm", "-o", "m", "--warm-start", "train.svm"], "train.svm: not a model file"),
        (
            ["train", "train.svm", "-o", "m", "--template", "chunking"],
            "--template cannot go with svmlight data (task multi",
        ),
        (["train", "train.svm", "-o", "m", "--template", "none"], "none: No such file or directory"),
        (
            ["train", "train.svm", "-o", "m", "--min-count", "2"],
            "--min-count cannot go with svmlight data (task multiclass)",
        ),
        (["train", "train.svm", "-o", "m", "--forbidden", "iob2"], "--forbidden cannot go with svmlight data"),
        (["train", "train.svm", "-o", "m", "--separator", "tab"], "--separator cannot go with svmlight data"),
        (
            ["train", "train.svm", "-o", "m", "--loss", "hamming"],
            "--loss hamming cannot go with task multiclass, which has",
        ),
        (
            ["train", "train.svm", "-o", "m", "--task", "tree"],
            "train.svm: looks like svmlight, but --task tree reads brack",
        ),
        (
            ["train", "train.svm", "--format", "columns", "--task", "tree"],
            "--format columns cannot go with --task tree",
        ),
        (
            ["train", "train.conll", "-o", "m", "--zero-based"],
            "--zero-based cannot go with columns data (task sequence)",
        ),
        (
            ["train", "train.crf", "-o", "m", "--template", "default"],
            "--template cannot go with crfsuite data (task sequence)",
        ),
        (["predict", "none", "train.svm"], "none: No such file or directory"),
        (["predict", "-", "train.svm"], "MODEL must be a file"),
        (["predict", "train.svm", "train.svm"], "train.svm: not a model file"),
        (["predict", "m.model", "none"], "none: No such file or directory"),
        (["predict", "m.model", "train.svm", "-o", "m.model"], "-o m.model would replace an input"),
        (["predict", "m.model", "train.svm", "-o", "train.svm"], "-o train.svm would replace an input"),
        (
            ["predict", "m.model", "train.svm", "--k-best", "2", "--confidence"],
            "--k-best and --confidence cannot go together",
        ),
        (["predict", "m.model", "train.svm", "--k-best", "0"], "argument --k-best: must be a whole number >= 1"),
        (
            ["predict", "m.model", "train.svm", "--k-best", "2"],
            "--k-best cannot go with m.model, a model of task multiclass",
        ),
        (
            ["predict", "m.model", "train.svm", "--confidence"],
            "--confidence cannot go with m.model, a model of task multi",
        ),
        (
            ["predict", "m.model", "train.svm", "--format", "columns"],
            "--format columns cannot go with m.model, a model of",
        ),
        (
            ["evaluate", "train.svm"],
            "give MODEL and DATA, or --predictions FILE and DATA; there are 1 names: train.svm",
        ),
        (["evaluate", "a", "b", "c"], "give MODEL and DATA, or --predictions FILE and DATA; there are 3 names: a b c"),
        (
            ["evaluate", "--predictions", "p", "m.model", "train.svm"],
            "--predictions FILE takes DATA alone; there are 2 names",
        ),
        (["evaluate", "--predictions", "-", "-"], "only one of the inputs can be standard input"),
        (["evaluate", "--predictions", "none", "train.svm"], "none: No such file or directory"),
        (["evaluate", "none", "train.svm"], "none: No such file or directory"),
        (["inspect", "none"], "none: No such file or directory"),
        (["inspect", "."], ".: Is a directory"),
        (["inspect", "train.svm"], "train.svm: not a model file"),
        (["inspect", "m.model", "--top", "-1"], "argument --top: must be a whole number >= 0"),
    ],
)
def test_wrong_arguments(
    argv: list[str], message: str, run: Run, ok: Run, svm: str, columns: str, crfsuite: str
) -> None:
    if "m.model" in argv:
        ok("train", svm, "-o", "m.model")
        before = Path("m.model").read_bytes()
    outcome = run(*argv)
    assert outcome.status == 2
    assert outcome.error.startswith(message)
    assert {path.name for path in Path().iterdir()} <= {"train.svm", "train.conll", "train.crf", "m.model"}
    if "m.model" in argv:
        assert Path("m.model").read_bytes() == before


def test_a_file_that_nobody_named_is_not_replaced(run: Run, ok: Run, svm: str) -> None:
    ok("train", svm)
    before = Path("train.model").read_bytes()
    outcome = run("train", svm)
    assert outcome.status == 2
    assert outcome.error == "train.model exists already: say -o train.model to replace it, or name another file"
    assert Path("train.model").read_bytes() == before
    ok("train", svm, "-o", "train.model", "-C", "3")
    assert Path("train.model").read_bytes() != before


def test_messages_stay_on_one_line(run: Run) -> None:
    outcome = run("train", "two\nlines")
    assert outcome.status == 2
    assert outcome.error == "two lines: No such file or directory"


def test_unexpected_errors_are_one_line_too(run: Run, svm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> None:
        raise ZeroDivisionError("division\nby zero")

    monkeypatch.setattr("maxmargin.cli.train.recognise", fail)
    outcome = run("train", svm, "-o", "m")
    assert outcome.status == 1
    assert outcome.error == "division by zero (not expected: --debug shows where)"
    with pytest.raises(ZeroDivisionError):
        main(["train", svm, "-o", "m", "--debug"])


def test_errors_of_users_have_tracebacks_on_demand(svm: str) -> None:
    with pytest.raises(FileNotFoundError):
        main(["train", "none", "--debug"])


@pytest.mark.parametrize(
    "argv", [["--help"], ["train", "none.txt"], ["predict", "none", "none"], ["train", "x", "-C", "-1"]]
)
def test_nothing_heavy_is_loaded_before_the_arguments_are_right(argv: list[str], tmp_path: Path) -> None:
    code = f"""
import json, sys
from maxmargin.cli import main
try:
    main({argv!r})
except SystemExit:
    pass
print(json.dumps(sorted(set(sys.modules) & {{"numpy", "scipy", "numba", "sklearn", "matplotlib"}})))
"""
    env = {"PYTHONPATH": str(Path(maxmargin.__file__).parents[1])}
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout.splitlines()[-1]) == []
    assert time.perf_counter() - begin < 5  # 0.1 s on an idle machine


def test_settings_of_the_process_are_restored(run: Run, svm: str) -> None:
    import gc
    import warnings

    before = gc.get_threshold(), warnings.showwarning, list(warnings.filters)
    for argv in (["train", svm, "-o", "m", "-q"], ["train", "none"], ["predict", "m", svm]):
        run(*argv)
        assert (gc.get_threshold(), warnings.showwarning, list(warnings.filters)) == before
