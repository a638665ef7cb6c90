"""Rows that are larger than memory: ``train --memory``, prediction part by part, what is left behind."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maxmargin import load_model
from maxmargin.cli.options import make_parser

from .conftest import SVM
from .test_processes import ENVIRONMENT, start

Run = Callable[..., Any]

needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs what /proc tells of memory")
posix = pytest.mark.skipif(os.name != "posix", reason="elsewhere an open file keeps its name")


def rows(n: int, *, classes: int = 2, each: int = 40, seed: int = 0) -> str:
    """Rows of as many features out of 300, of queries of twenty rows, with labels that depend on them."""
    rng = np.random.default_rng(seed)
    lines = []
    for k in range(n):
        indices = np.sort(rng.choice(300, each, replace=False))
        values = rng.normal(size=each).round(3)
        label = int(np.abs(values[indices < 150].sum()) * classes / 4) % classes
        features = " ".join(f"{i + 1}:{v}" for i, v in zip(indices.tolist(), values.tolist()))
        lines.append(f"{label} qid:{k // 20} {features}\n")
    return "".join(lines)


# --- the option


@pytest.mark.parametrize(
    ("text", "size"), [("0", 0), ("12345", 12345), ("500M", 500_000_000), ("1.5g", 1_500_000_000), ("2k", 2000)]
)
def test_sizes(text: str, size: int) -> None:
    assert make_parser().parse_args(["train", "x", "--memory", text]).memory == size


@pytest.mark.parametrize("text", ["", "M", "-1", "-5M", "1.5", "5 M", "5MB", "5X", "1e6", "nan", "٣"])
def test_what_is_no_size(text: str, run: Run, svm: str) -> None:
    outcome = run("train", svm, "-o", "m", f"--memory={text}")
    assert outcome.status == 2
    assert outcome.error.startswith(
        f"argument --memory: must be a number of bytes, or one with K, M, G or T (500M), not {text!r}"
    )
    assert os.listdir() == [svm]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            "--task binary --kernel rbf",
            "--memory cannot go with --kernel rbf: rows can be in files for linear machines",
        ),
        ("--task regression --kernel poly", "--memory cannot go with --kernel poly: rows can be in files"),
        ("--task binary --nu 0.2", "--memory cannot go with --nu: rows can be in files for linear machines only"),
        (
            "--task one-class --kernel linear",
            "--memory cannot go with task one-class: with any kernel it needs values between all rows, which stay in "
            "memory (learn from a sample of them); it is for multiclass, binary, auc, regression, ranking",
        ),
    ],
)
def test_what_needs_the_rows_in_memory(options: str, problem: str, run: Run, svm: str) -> None:
    outcome = run("train", svm, "-o", "m", "--memory", "1M", *options.split())
    assert outcome.status == 2
    assert outcome.error.startswith(problem)
    assert os.listdir() == [svm]


def test_structured_tasks_have_no_rows_in_files(run: Run, columns: str, crfsuite: str, folder: Path) -> None:
    Path("trees.mrg").write_text("(S (NP (DT the) (NN cat)) (VP (VBZ sits)))\n")
    kinds = {columns: "columns data (task sequence)", crfsuite: "crfsuite data (task sequence)"}
    for data, what in {**kinds, "trees.mrg": "brackets data (task tree)"}.items():
        outcome = run("train", data, "-o", "m", "--memory", "1M")
        assert (outcome.status, outcome.error) == (2, f"--memory cannot go with {what}")
    assert not Path("m").exists()


# --- the model is the same


WAYS = [
    ("--task binary -C 0.1", False),
    ("--task binary --loss squared_hinge --intercept penalized --max-passes 9", False),
    ("--task regression -C 0.1", False),
    ("--task auc", False),
    ("--task multiclass --max-passes 3", False),
    ("--task multiclass --max-passes 3 --solver coordinate_ascent", False),
    ("--task multiclass --multi-class ovr -C 0.1", False),
    ("--task multiclass --multi-class ovo -C 0.1", False),
    ("--task ranking -C 0.1", False),
    ("--task binary -C 0.1", True),
    ("--task multiclass --max-passes 3 --multi-class ovr", True),
]


@pytest.mark.parametrize(("options", "left_out"), WAYS)
def test_the_model_is_the_same(options: str, left_out: bool, ok: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Byte for byte, but for the times in it, which stand still here; also where rows of weight 0 are left out."""
    monkeypatch.setattr("time.perf_counter", lambda: 0.0)
    monkeypatch.setattr("maxmargin.data._mapped_rows._PIECE", 5000)
    text = rows(3000, classes=3 if "multiclass" in options else 2)
    if left_out:
        text = "".join(line.replace(" qid", " cost:0 qid", k % 7 == 0) for k, line in enumerate(text.splitlines(True)))
    Path("x.svm").write_text(text)
    for name, more in (("kept", []), ("filed", ["--memory", "100K"])):
        ok("train", "x.svm", "-o", name, *options.split(), *more)
    assert Path("kept").read_bytes() == Path("filed").read_bytes()
    assert load_model("kept").coef_.any()


def test_rows_are_really_in_files(ok: Run, svm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above could not fail otherwise."""
    from maxmargin import SVMClassifier

    seen = []

    def fit(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        seen.append(X.data.flags.writeable)
        return before(self, X, y, sample_weight)

    before = SVMClassifier.fit
    monkeypatch.setattr(SVMClassifier, "fit", fit)
    for more in ([], ["--memory", "1G"], ["--memory", "50"]):
        ok("train", svm, "-o", "m", "--task", "binary", *more)
    assert seen == [True, True, False]


def test_standard_input_and_test_data(ok: Run, svm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packed standard input; test data with more features, and with as many."""
    monkeypatch.setattr("time.perf_counter", lambda: 0.0)
    for name, more in (("kept", []), ("filed", ["--memory", "10"])):
        ok("train", "-", "-o", name, *more, stdin=gzip.compress(SVM.encode()))
    assert Path("kept").read_bytes() == Path("filed").read_bytes()
    Path("more.svm").write_text("1 1:1 6:9\n-1 2:1 3:1 7:9 8:9\n")
    for test in ("more.svm", svm):
        plain, filed = (ok("train", svm, "-o", "m", "--test", test, "--memory", size) for size in ("1G", "0"))
        assert plain.out == filed.out
        assert plain.err == filed.err
    assert "3 values of features beyond the 5" in ok("train", svm, "-o", "m", "--test", "more.svm", "--memory", "0").err


# --- prediction


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Data are read in parts of a few rows."""
    monkeypatch.setattr("maxmargin.data.svmlight._BLOCK_BYTES", 2000)
    monkeypatch.setattr("maxmargin.data.svmlight._PART_ENTRIES", 100)
    monkeypatch.setattr("maxmargin.cli.inputs._KEPT", 1000)


@pytest.mark.parametrize("task", ["multiclass", "binary", "auc", "regression", "ranking", "one-class"])
def test_parts_are_predicted_as_the_whole(task: str, ok: Run, request: pytest.FixtureRequest) -> None:
    text = rows(150, classes=2)
    Path("x.svm").write_text(text)
    Path("bare.svm").write_text("".join(line.partition(" qid")[2].partition(" ")[2] for line in text.splitlines(True)))
    more = ["-C", "0.1"] if task != "one-class" else []
    ok("train", "x.svm", "-o", "m", "--task", task, *more)
    commands = [["predict", "m", "x.svm"], ["predict", "m", "bare.svm"], ["evaluate", "m", "x.svm"]]
    if task in ("multiclass", "binary", "auc"):
        commands.append(["predict", "m", "x.svm", "--scores"])
    expected = [ok(*command).out for command in commands]
    request.getfixturevalue("small_parts")
    assert [ok(*command).out for command in commands] == expected
    assert ok("predict", "m", "-", stdin=text).out == expected[0]
    ok("predict", "m", "bare.svm", "-o", "predictions")
    assert Path("predictions").read_text() == expected[1] == expected[0]
    out = ok("evaluate", "--predictions", "predictions", "x.svm", "--task", task).out
    assert len(out.splitlines()) >= 4


@pytest.mark.usefixtures("small_parts")
def test_a_fault_in_the_last_part(run: Run, ok: Run, svm: str) -> None:
    """Lines count through all parts; nothing was written, neither to a file nor to standard output."""
    ok("train", svm, "-o", "m")
    good = "1 1:1 2:2 3:3\n" * 500
    for end, problem in (("1 1:x\n", "the value is not a number: '1:x'"), ("1 qid:1 2:2\n1 1:1\n", "")):
        Path("x.svm").write_text(good + end)
        for more in ([], ["-o", "out"]):
            outcome = run("predict", "m", "x.svm", *more)
            assert (outcome.status, outcome.out) == (2, "")
            assert outcome.error.startswith(f"x.svm:{501 if problem else 1}: {problem}")
        outcome = run("evaluate", "m", "x.svm")
        assert (outcome.status, outcome.out) == (2, "")
    assert sorted(os.listdir()) == ["m", svm, "x.svm"]


@pytest.mark.usefixtures("small_parts")
def test_features_beyond_the_model_are_counted_through_all_parts(run: Run, ok: Run, svm: str) -> None:
    ok("train", svm, "-o", "m")
    Path("x.svm").write_text("1 1:1 6:9\n-1 2:1 3:1 7:9 8:9\n" * 200)
    outcome = run("predict", "m", "x.svm", "-q")
    assert (outcome.status, outcome.out) == (0, "1\n-1\n" * 200)
    assert outcome.err == "maxmargin: x.svm: 600 values of features beyond the 5 of the model are left out\n"


# --- memory


MEASURE = """
import json, sys, threading, time
from maxmargin.cli import main

def anonymous():
    return int(open("/proc/self/status").read().split("RssAnon:")[1].split()[0]) << 10

def peak(argv):
    "Bytes that a command takes at its peak beside what is there before."
    before, found, done = anonymous(), [0], threading.Event()
    def watch():
        while not done.wait(0.002):
            found[0] = max(found[0], anonymous())
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        assert main(argv) == 0
    finally:
        done.set()
        watcher.join()
    return found[0] - before

out = []
for small, argv in json.loads(sys.argv[1]):
    assert main(small) == 0  # what is compiled and imported
    out.append(peak(argv))
print("measured", json.dumps(out))
"""


def measured(commands: list[list[str]]) -> list[int]:
    """Peaks of the anonymous memory of commands on ``x.svm``, that of libraries and compiled code left out."""
    pairs = [([word.replace("x.svm", "small.svm") for word in argv], argv) for argv in commands]
    settings = {"MALLOC_ARENA_MAX": "1", "MALLOC_TRIM_THRESHOLD_": "100000"}  # what is freed is given back
    done = subprocess.run(
        [sys.executable, "-P", "-c", MEASURE, json.dumps(pairs)],
        env={**ENVIRONMENT, **settings}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout.split("measured ")[1]))


def large_rows(path: str, *, classes: int = 2) -> int:
    """Write a file whose rows take some 80 MB (most of them copies); returns that number. Also ``small.svm``."""
    text = rows(600, classes=classes, each=200)
    Path("small.svm").write_text(text[: text.index("\n", len(text) // 10) + 1])
    Path(path).write_text(text * 56)
    return 600 * 56 * 200 * 12


@needs_proc
def test_memory_stays_far_below_the_data(folder: Path) -> None:
    size = large_rows("x.svm")
    train = ["train", "x.svm", "-q", "-o", "m", "-C", "0.01", "--max-passes", "5", "--task"]
    bound = ["--memory", "2M"]
    commands = [
        [*train, "binary", *bound, "--test", "x.svm"],
        ["predict", "m", "x.svm", "-o", "out"],
        ["evaluate", "m", "x.svm"],
        [*train, "binary"],
    ]
    *bounded, free = measured(commands)
    assert max(bounded) < 0.4 * size, bounded  # a third is the least that a copy would add
    assert free > size  # the measure can fail


@needs_proc
@pytest.mark.slow
def test_memory_of_all_machines(folder: Path) -> None:
    size = large_rows("x.svm", classes=4)
    train = ["train", "x.svm", "-q", "-o", "m", "-C", "0.01", "--max-passes", "4", "--memory", "2M", "--task"]
    commands = [
        [*train, "regression"],
        [*train, "multiclass"],
        [*train, "multiclass", "--solver", "coordinate_ascent"],
        [*train, "multiclass", "--multi-class", "ovr"],
        [*train, "multiclass", "--multi-class", "ovo"],
        [*train, "ranking"],
    ]
    peaks = measured(commands)
    assert max(peaks) < 0.4 * size, peaks


# --- what is left behind


@posix
def test_no_file_is_left_by_faults_and_ctrl_c(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = folder / "temporary"
    temporary.mkdir()
    monkeypatch.setitem(ENVIRONMENT, "TMPDIR", str(temporary))
    text = rows(3000)
    Path("x.svm").write_text(text)
    Path("bad.svm").write_text(text + "1 qid:7 1:x\n")
    more = ("-o", "m", "--task", "binary", "--memory", "10K", "-C", "1000")
    process = start("train", "bad.svm", *more)
    assert process.communicate()[1].decode().splitlines()[-1].startswith("maxmargin: error: bad.svm:3001: the value")
    assert process.returncode == 2
    assert os.listdir(temporary) == []
    assert not Path("m").exists()

    forever = ("--tol", "0", "--max-passes", "100000000", "-v", "--solver", "coordinate_ascent")
    process = start("train", "x.svm", *more, *forever)
    assert process.stderr is not None
    for line in process.stderr:
        if line.split()[:1] == [b"3"]:
            break
    assert os.listdir(temporary) == []  # it has no name at any time
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130
    assert os.listdir(temporary) == []
    assert load_model("m").coef_.any()


def test_a_missing_folder_for_temporary_files(run: Run, svm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(Path("nowhere").absolute()))
    outcome = run("train", svm, "-o", "m", "--memory", "10", "-q")
    assert outcome.status == 2
    assert "choose another folder" in outcome.error
    assert "nowhere" in outcome.error
    outcome = run("train", "-", "-o", "m", "--memory", "10", "-q", stdin=SVM)
    assert outcome.status == 2
    assert "temporary copy of <stdin>" in outcome.error
    assert os.listdir() == [svm]
