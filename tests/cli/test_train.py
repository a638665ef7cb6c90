"""``maxmargin train``: what it writes, what it says, and what it refuses in the data."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maxmargin import MulticlassSVM, SequenceSVM, load_model, save_model
from maxmargin.data import (
    apply_template,
    chunking_template,
    default_template,
    read_columns,
    read_svmlight,
    split_labels,
)
from maxmargin.model_file import load_with_metadata

Run = Callable[..., Any]


def test_a_model_is_the_one_of_the_library(ok: Run, svm: str) -> None:
    ok("train", svm, "-o", "m", "-C", "0.5", "--tol", "1e-5", "--seed", "3")
    data = read_svmlight(svm)
    model = MulticlassSVM(C=0.5, tol=1e-5, random_state=3).fit(data.X, data.y.astype(int))
    loaded = load_model("m")
    assert np.array_equal(loaded.coef_, model.coef_)
    assert loaded.classes_.tolist() == [-1, 1]
    assert loaded.get_params() == model.get_params()


@pytest.mark.parametrize("template", ["default", "chunking"])
def test_column_files_get_the_attributes_of_a_template(template: str, ok: Run, columns: str) -> None:
    ok("train", columns, "-o", "m", "--template", template, "--min-count", "2", "--forbidden", "iob2")
    rows, y = split_labels(read_columns(columns))
    X = apply_template(rows, chunking_template() if template == "chunking" else default_template(2))
    model = SequenceSVM(random_state=0, min_count=2, forbidden="iob2").fit(X, y)
    loaded = load_model("m")
    assert loaded.attributes_ == model.attributes_
    assert np.array_equal(loaded.coef_, model.coef_)
    assert loaded.get_params() == model.get_params()


def test_every_option_reaches_the_estimator(ok: Run, columns: str) -> None:
    options = "-C 2 --loss normalized_hamming --tol 0.5 --max-passes 7 --max-time 60 --solver n_slack --seed 5 --jobs 2"
    ok("train", columns, "-o", "m", *options.split())
    expected = {"C": 2.0, "loss": "normalized_hamming", "tol": 0.5, "max_passes": 7, "max_time": 60.0}
    expected |= {"solver": "n_slack", "random_state": 5, "n_jobs": 2, "verbose": 0, "warm_start": False}
    assert expected.items() <= load_model("m").get_params().items()


def test_a_template_of_ones_own(ok: Run, columns: str) -> None:
    text = "# words only\ncolumns w\n\nw[0]\n suffix2(w[0]) \nw[-1] | w[0]\nends\n"
    Path("my.template").write_text(text)
    ok("train", columns, "-o", "m", "--template", "my.template")
    names = load_model("m").attributes_
    assert {re.sub("=.*", "", name) for name in names} == {
        *("w[0]", "suffix2(w[0])", "w[-1]|w[0]", "__BOS__", "__EOS__")
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "my.template: a template without attributes"),
        ("columns w pos\n# nothing\n", "my.template: a template without attributes"),
        ("w[0]\n", "my.template:1: a template begins with 'columns' and their names, such as 'columns w pos': 'w[0]'"),
        (
            "columns\n",
            "my.template:1: a template begins with 'columns' and their names, such as",
        ),
        ("columns w w\nw[0]\n", "my.template:1: two columns have one name: ('w', 'w')"),
        ("columns w\n\nx[0]\n", "my.template:3: attribute 'x[0]': no column 'x', only w"),
        ("columns w\nw[0]\nU01:%x[0,1]\n", "my.template:3: attribute 'U01:%x[0,1]': 'U01:%x[0,1]' is not name[offset]"),
        ("columns w\nupper(w[0])\n", "my.template:2: attribute 'upper(w[0])': no form 'upper', only lower"),
        ("columns a b c\na[0]\n", "train.conll:1: 2 columns and the label where the template names 3: a, b, c: 'The"),
        (
            "columns w\nw[-50]\n",
            "train.conll: the template gives no token an attribute: there is nothing to learn from",
        ),
    ],
)
def test_faults_in_a_template(text: str, message: str, run: Run, columns: str) -> None:
    Path("my.template").write_text(text)
    outcome = run("train", columns, "-o", "m", "--template", "my.template", "-q")
    assert outcome.status == 2
    assert outcome.error.startswith(message)
    assert not Path("m").exists()


def test_progress_and_certificate_are_shown(run: Run, svm: str) -> None:
    outcome = run("train", svm)
    assert (outcome.status, outcome.out) == (0, "")
    lines = [line for line in outcome.err.splitlines() if not line.endswith(" ...")]  # compiling ...
    assert lines[0] == "maxmargin: train.svm: svmlight (by its name), task multiclass"
    assert lines[1].split() == ["pass", "primal", "dual", "rel.", "gap", "seconds"]
    certificate = load_model("train.model").certificate_
    assert str(certificate).splitlines() == [lines[-5].partition(": ")[2], lines[-4]]
    assert lines[-3].startswith("maxmargin: the data are separable and no slack is left: a larger -C changes nothing")
    times = r"maxmargin: reading \d+\.\d s, training \d+\.\d s, writing \d+\.\d s \(in the solver: .* s\)"
    assert re.fullmatch(times, lines[-2])
    size = os.path.getsize("train.model")
    assert lines[-1] == f"maxmargin: wrote train.model ({size / 1000:.1f} kB)"


def test_quiet_and_verbose(run: Run, svm: str) -> None:
    assert run("train", svm, "-o", "m", "-q").err == ""
    usual, verbose = (run("train", svm, "-o", "m", *more).err for more in ([], ["-v"]))
    assert len(verbose.splitlines()) >= len(usual.splitlines())
    passes = load_model("m").certificate_.passes
    assert sum(line.lstrip()[:1].isdigit() for line in verbose.splitlines()) >= passes - 1


def test_an_early_end_is_no_failure(run: Run, columns: str) -> None:
    """A note says so even to those who want quiet; the model is written."""
    outcome = run("train", columns, "-o", "m", "--max-passes", "1", "--tol", "0", "-q")
    assert outcome.status == 0
    (line,) = outcome.err.splitlines()
    assert line.startswith("maxmargin: SequenceSVM stopped by pass limit at a relative gap of")
    assert load_model("m").certificate_.status.name == "PASS_LIMIT"
    outcome = run("train", columns, "-o", "m", "--max-passes", "1", "--tol", "0")
    assert outcome.err.count("Raise --max-passes") == 1


@pytest.mark.parametrize("name", ["train.svm.gz", "train.data", "train"])
def test_the_name_of_the_model_follows_the_data(name: str, ok: Run, svm: str) -> None:
    data = Path(svm).read_bytes()
    Path(svm).unlink()
    Path(name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    ok("train", name)
    assert {path.name for path in Path().iterdir()} == {name, "train.model"}


def test_standard_input_and_windows_line_ends(ok: Run, svm: str, columns: str, crfsuite: str) -> None:
    for path in (svm, columns, crfsuite):
        ok("train", path, "-o", "plain")
        data = Path(path).read_bytes()
        for changed in (data, gzip.compress(data), data.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + data):
            ok("train", "-", "-o", "other", stdin=changed)
            plain, other = load_model("plain"), load_model("other")
            assert np.array_equal(plain.coef_, other.coef_)
            assert list(plain.classes_) == list(other.classes_)


def test_labels_of_svmlight_files(ok: Run, run: Run, folder: Path) -> None:
    for texts, classes in (
        (["+1", "-1", "1.0", "-1"], [-1, 1]),
        (["10", "9", "9", "10"], [9, 10]),
        (["yes", "no", "+1", "no"], ["+1", "no", "yes"]),
        (["9007199254740993", "9007199254740992"], ["9007199254740992", "9007199254740993"]),
    ):
        Path("x.svm").write_text("".join(f"{text} {k + 1}:1\n" for k, text in enumerate(texts)))
        ok("train", "x.svm", "-o", "m")
        assert load_model("m").classes_.tolist() == classes
    Path("x.svm").write_text("1 1:1\n# comment\n0.5 2:1\n")
    outcome = run("train", "x.svm", "-o", "m2", "-q")
    assert outcome.error == (
        "x.svm:3: the label is a fraction, not a class (classes are whole numbers or names; --task regression learns "
        "values): '0.5'"
    )


def test_weights_in_the_data_count(ok: Run, folder: Path) -> None:
    Path("w.svm").write_text("1 cost:3 1:1\n-1 1:2\n1 1:0.5\n")
    Path("r.svm").write_text("1 1:1\n-1 1:2\n1 1:1\n1 1:0.5\n1 1:1\n")
    Path("w.crf").write_text("@weight:3\tA\tx\nB\ty\n\nA\ty\nB\tx\n")
    Path("r.crf").write_text("A\tx\nB\ty\n\n" * 3 + "A\ty\nB\tx\n")
    for kind in ("svm", "crf"):
        for name in "wr":
            ok("train", f"{name}.{kind}", "-o", name, "--tol", "1e-9", "--max-passes", "10000")
        assert load_model("w").certificate_.primal == pytest.approx(load_model("r").certificate_.primal, rel=1e-7)


def test_a_qid_is_mentioned(run: Run, folder: Path) -> None:
    Path("x.svm").write_text("1 qid:1 1:1\n2 qid:1 2:1\n")
    for task in ("multiclass", "binary", "regression"):
        outcome = run("train", "x.svm", "-o", "m", "-q", "--task", task)
        assert outcome.err == "maxmargin: x.svm: the qid of its rows means nothing to this task and is left out\n"


def test_indices_from_zero_stay_so(ok: Run, run: Run, folder: Path) -> None:
    """The base of the indices is said once, for training; it goes with the model."""
    Path("a.svm").write_text("1 0:1 2:3\n0 1:2\n")
    Path("b.svm").write_text("1 1:5 2:7\n")
    outcome = run("train", "a.svm", "-o", "m", "-q")
    assert outcome.error == (
        "a.svm:1: index 0, but indices count from one; train with --zero-based where they count from zero: '0:1'"
    )
    ok("train", "a.svm", "-o", "m", "--zero-based")
    model = load_model("m")
    assert model.n_features_in_ == 3
    expected = model.predict(np.array([[0, 5, 7.0]])).tolist()
    assert ok("predict", "m", "b.svm").out.split() == [str(label) for label in expected]


def test_tabs_let_cells_hold_spaces(ok: Run, run: Run, folder: Path) -> None:
    Path("x.conll").write_text("New York\tNNP\tB-LOC\nis\tVBZ\tO\n\nNew Jersey\tNNP\tB-LOC\n")
    outcome = run("train", "x.conll", "-o", "m", "-q")
    assert outcome.error.startswith("x.conll:2: 3 columns where line 1 has 4 (--separator tab lets cells hold spaces)")
    # predict and evaluate have no such option
    Path("plain.conll").write_text("York NNP B-LOC\nis VBZ O\n")
    ok("train", "plain.conll", "-o", "plain")
    for command in (
        ["predict", "-q", "plain"],
        ["evaluate", "-q", "plain"],
        ["evaluate", "-q", "--predictions", "plain.conll"],
    ):
        assert run(*command, "x.conll").error.startswith(
            "x.conll:2: 3 columns where line 1 has 4 (train with --separator tab where cells hold spaces)"
        )
    ok("train", "x.conll", "-o", "m", "--separator", "tab")
    assert "w[0]=New York" in load_model("m").attributes_
    assert ok("predict", "m", "x.conll").out.startswith("New York\tNNP\tB-LOC\tB-LOC\n")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.svm", "1 1:2\n-1 2:x\n", "x.svm:2: the value is not a number: '2:x'"),
        ("x.svm", "1 1:2\n-1 abc\n2 1:1\n", "x.svm:2: expected <index>:<value>: 'abc'"),
        ("x.svm", "1 1:2 1:3\n-1 2:1\n", "x.svm:1: an index occurs twice in one row: '1:3'"),
        ("x.svm", "1 1:2\n1 2:1\n", "x.svm: MulticlassSVM needs at least two classes; there is one class only: "),
        ("x.svm", "1 cost:0 1:2\n2 cost:0 2:1\n", "x.svm: the weight in the data is zero for every "),
        ("x.conll", "a b\nc\n\nd e\nf g\n", "x.conll:2: 1 columns where line 1 has 2"),
        (
            "x.crf",
            "B-NP\tw=the\nI-NP\ta:b\n",
            "x.crf:2: what follows the last colon is not a number (a colon in a name is",
        ),
        ("x.crf", "B-NP\tw=the\n\tw=cat\tx=y\n", "x.crf:2: the label is missing"),
        ("x.mrg", "(S (NP a)\n", "x.mrg:1: this bracket is never closed: '(S'"),
        ("x.gz", "1 1:2\n", "x.gz: "),
        ("x.txt", "\n\n", "x.txt: no data in this file"),
    ],
)
def test_faults_in_the_data(name: str, text: str, message: str, run: Run, folder: Path) -> None:
    data = text.encode()
    Path(name).write_bytes(gzip.compress(data)[:-4] if name == "x.gz" else data)
    outcome = run("train", name, "-o", "m", "-q")
    assert outcome.status == 2
    assert outcome.error.startswith(message)
    assert os.listdir() == [name]


def test_one_column_has_no_labels(run: Run, folder: Path) -> None:
    Path("x.conll").write_text("-DOCSTART-\n\nword\nword\n")
    outcome = run("train", "x.conll", "-o", "m", "--format", "columns", "-q")
    assert outcome.error == "x.conll:3: one column only: the labels are missing: 'word'"


# --- evaluation after training


def test_test_data_are_evaluated_after_training(run: Run, ok: Run, columns: str) -> None:
    Path("test.conll").write_text("The DT B-NP\ndog NN I-NP\nran VBD Z\n")
    outcome = run("train", columns, "-o", "m", "--test", "test.conll")
    assert outcome.status == 0
    assert outcome.out == ok("evaluate", "m", "test.conll").out
    assert re.search(r"^Z +0\.0000 +0\.0000 +0\.0000 +1 +0$", outcome.out, re.MULTILINE)


def test_faults_in_the_test_data_cost_no_time(run: Run, columns: str) -> None:
    for text, message in (
        ("", "test.conll: no data in this file"),
        ("\n-DOCSTART- -X- O\n", "test.conll: no data in this file"),
        ("The DT\n", "test.conll: has no labels to compare with"),
        ("The DT B-NP\ncat\n", "test.conll:2: 1 columns where line 1 has 3"),
        ("The DT B-NP X\n", "test.conll:1: 4 columns where the model expects 2, or 3 with labels: 'The DT B-NP X'"),
    ):
        Path("test.conll").write_text(text)
        outcome = run("train", columns, "-o", "m", "--test", "test.conll", "-q")
        assert outcome.status == 2
        assert outcome.error.startswith(message)
        assert not Path("m").exists()


# --- warm starts


def test_a_warm_start_goes_on(run: Run, ok: Run, columns: str) -> None:
    """Options that are not given, the template and the format are those of the model."""
    ok("train", columns, "-o", "m", "-C", "3", "--template", "chunking", "--max-passes", "2")
    outcome = run("train", columns, "-o", "m2", "--warm-start", "m", "--max-passes", "50")
    assert outcome.status == 0
    assert outcome.err.startswith("maxmargin: train.conll: columns (as for m), task sequence\n")
    model, metadata = load_with_metadata("m2")
    assert model.get_params()["C"] == 3
    assert metadata["template"] == load_with_metadata("m")[1]["template"]
    rows, y = split_labels(read_columns(columns))
    X = apply_template(rows, chunking_template())
    expected = load_model("m").set_params(warm_start=True, max_passes=50).fit(X, y)
    assert np.array_equal(model.coef_, expected.coef_)
    ok("train", columns, "-o", "m2", "--warm-start", "m2", "-C", "4")  # from itself, replacing itself
    assert load_model("m2").get_params()["C"] == 4


def test_a_warm_start_from_another_problem(run: Run, ok: Run, svm: str, columns: str) -> None:
    ok("train", svm, "-o", "m")
    outcome = run("train", columns, "-o", "m2", "--task", "sequence", "--warm-start", "m", "-q")
    assert outcome.error == "--task sequence cannot start from m, a model of task multiclass"
    outcome = run("train", columns, "-o", "m2", "--warm-start", "m", "-q")
    assert outcome.error.startswith("train.conll:1: expected <index>:<value>")
    Path("more.svm").write_text("1 1:1\n-1 9:1\n")
    outcome = run("train", "more.svm", "-o", "m2", "--warm-start", "m", "-q")
    assert outcome.err == "maxmargin: m is of no use as a start: the data have features beyond the 5 of the model\n"
    Path("fewer.svm").write_text("1 1:1\n-1 2:1\n")
    assert run("train", "fewer.svm", "-o", "m2", "--warm-start", "m", "-q").err == ""
    assert load_model("m2").n_features_in_ == 5
    Path("other.svm").write_text("1 1:1\n3 2:1\n")
    outcome = run("train", "other.svm", "-o", "m2", "--warm-start", "m", "-q")
    assert outcome.err == "maxmargin: m is of no use as a start: the classes of the data are not those of the model\n"


# --- interruptions


def test_ctrl_c_keeps_the_best_model(run: Run, columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("m").write_bytes(b"old")

    def interrupt(record: Any, w: Any) -> None:
        raise KeyboardInterrupt

    fit = SequenceSVM.fit
    monkeypatch.setattr(SequenceSVM, "fit", lambda self, *a, **k: fit(self.set_params(callback=interrupt), *a, **k))
    outcome = run("train", columns, "-o", "m", "--tol", "0", "-q")
    assert outcome.status == 130
    assert re.fullmatch(
        r"maxmargin: interrupted; wrote m \(.* kB\): the best model so far \(--warm-start m goes on\)\n", outcome.err
    )
    assert load_model("m").certificate_.status.name == "INTERRUPTED"


def test_ctrl_c_before_there_is_a_model(run: Run, ok: Run, columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*args: Any, **more: Any) -> None:
        raise KeyboardInterrupt

    ok("train", columns, "-o", "m")
    before = Path("m").read_bytes()
    for target in ("maxmargin.cli.sequence.read_columns", "maxmargin.sequence.SequenceSVM._training_tokens"):
        for more in ([], ["--warm-start", "m"]):  # the certificate of an old fit is none of this one
            with monkeypatch.context() as patch:
                patch.setattr(target, interrupt)
                outcome = run("train", columns, "-o", "m", "-q", *more)
            assert outcome.status == 130
            assert outcome.err.startswith("maxmargin: interrupted")
            assert outcome.err.endswith("nothing was written\n")
            assert Path("m").read_bytes() == before


def test_a_failure_while_writing_leaves_the_old_file(run: Run, svm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("m").write_bytes(b"old")

    def fail(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    outcome = run("train", svm, "-o", "m", "-q")
    assert (outcome.status, outcome.error) == (2, "m: No space left on device")
    assert Path("m").read_bytes() == b"old"
    assert sorted(os.listdir()) == ["m", "train.svm"]


def test_models_say_how_their_data_were_read(ok: Run, svm: str, columns: str, crfsuite: str) -> None:
    for path, expected in (
        (svm, {"format": "svmlight", "task": "multiclass", "zero_based": False, "features": 5}),
        (columns, {"format": "columns", "task": "sequence", "columns": 2, "separator": None}),
        (crfsuite, {"format": "crfsuite", "task": "sequence"}),
    ):
        ok("train", path, "-o", "m")
        metadata = load_with_metadata("m")[1]
        assert expected.items() <= metadata.items()
        assert metadata["data"] == path
        assert json.dumps(metadata)


def test_settings_of_nonsense_are_refused(run: Run, ok: Run, columns: str) -> None:
    """They are read from the file, and a file may be a stranger's."""
    ok("train", columns, "-o", "m")
    model, metadata = load_with_metadata("m")
    for change in (
        {"task": "tree"},
        {"task": 3},
        {"format": "svmlight"},
        {"template": 3},
        {"template": {"columns": 1}},
        {"template": {"columns": ["w"], "attributes": ["x[0]"], "ends": True}},
        {"template": {"columns": ["w"], "attributes": [3], "ends": True}},
        {"columns": "many"},
        {"separator": 3},
        {"separator": ""},
    ):
        save_model(model, "m", metadata={**metadata, **change})
        outcome = run("predict", "m", columns, "-q")
        assert outcome.status == 2, change
        assert "makes no sense" in outcome.error


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("lab.svm", "a\nb\n", "lab.svm: no row has a feature"),
        ("big.svm", "1 1:2\n-1 99999999999:1\n", "big.svm:2: a feature number so large .*GiB.*'99999999999'"),
        ("big.svm", "1 99999999999:1 3:1\n-1 1:2\n", "big.svm:1: a feature number so large .*'99999999999'"),
    ],
)
@pytest.mark.parametrize("more", [[], ["--zero-based"]])
def test_rows_that_make_no_sense_are_refused(
    name: str, text: str, message: str, more: list[str], run: Run, folder: Path
) -> None:
    (folder / name).write_text(text)
    outcome = run("train", name, "-o", "m", *more)
    assert outcome.status == 2
    assert re.search(message, outcome.err)
    assert not os.path.exists("m")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("the X DT B\ncat Y NN I\n", "other.conll:1: 4 columns where the model has learned from 2 and the label"),
        ("\nthe B\ncat I\n", "other.conll:2: 2 columns where the model has learned from 2 and the label"),
    ],
)
def test_a_warm_start_needs_the_same_columns(text: str, message: str, run: Run, ok: Run, folder: Path) -> None:
    (folder / "a.conll").write_text("the DT B\ncat NN I\n\na DT B\n")
    (folder / "other.conll").write_text(text)
    ok("train", "a.conll", "-o", "first")
    outcome = run("train", "other.conll", "--warm-start", "first", "-o", "m")
    assert outcome.status == 2
    assert message in outcome.err
    assert not os.path.exists("m")


def test_empty_test_data_are_refused_before_the_learning(run: Run, svm: str, folder: Path) -> None:
    (folder / "empty.svm").write_text("")
    outcome = run("train", svm, "-o", "m", "--test", "empty.svm")
    assert outcome.status == 2
    assert "empty.svm: no data in this file" in outcome.err
    assert not os.path.exists("m")


def test_empty_trees_to_test_on_are_called_so(run: Run, folder: Path) -> None:
    Path("t.mrg").write_text("(S (A a) (B b))\n")
    Path("empty.mrg").write_text("\n")
    outcome = run("train", "t.mrg", "-o", "m", "--test", "empty.mrg", "-q")
    assert outcome.error == "empty.mrg: no data in this file"


@pytest.mark.parametrize(
    ("name", "text", "scheme", "message"),
    [
        ("x.conll", "a B-X\n\n-DOCSTART- O\n\nb O\nc I-X\n", "iob2", "x.conll:6: the label follows 'O', which"),
        ("x.conll", "a I-X\nb O\n", "iob2", "x.conll:1: the label begins a sequence, which --forbidden iob2 rules out"),
        ("x.conll", "a O\nb B-X\n", "bioes", "x.conll:2: the label ends a sequence, which --forbidden bioes rules out"),
        ("x.conll", "a O\nb NN\n", "iob2", "x.conll:2: the label is neither O nor a letter of B, I, E, S with a type"),
        ("x.crf", "@weight:0\nI-X\tw\n\n@weight:2\nO\tw\nI-X\tw\n", "iob2", "x.crf:6: the label follows 'O', which"),
    ],
)
def test_forbidden_labels_are_named(name: str, text: str, scheme: str, message: str, run: Run, folder: Path) -> None:
    """With their line; sequences of weight 0 play no part."""
    Path(name).write_text(text)
    outcome = run("train", name, "-o", "m", "--forbidden", scheme, "-q")
    assert outcome.status == 2
    assert outcome.error.startswith(message)
    assert os.listdir() == [name]


def test_a_count_that_no_attribute_has(run: Run, columns: str) -> None:
    outcome = run("train", columns, "-o", "m", "--min-count", "99", "-q")
    assert outcome.status == 2
    assert outcome.error.startswith("train.conll: ")
    assert "--min-count" in outcome.error


def test_data_too_large_for_the_memory_are_no_fault_of_the_program(
    run: Run, svm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any, **more: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("maxmargin.multiclass.MulticlassSVM.fit", fail)
    outcome = run("train", svm, "-o", "m", "-q")
    assert (outcome.status, outcome.error[:40]) == (2, "the data or the model are too large for ")


def test_names_that_are_empty(run: Run, svm: str) -> None:
    assert run("train", svm, "-o", "").error == "-o '' names no file"
    assert run("train", "", "-o", "m").error == "'': No such file or directory"
    assert run("demo", "--output", "").error == "--output '' names no folder"
