"""``maxmargin predict``: labels in the natural form of the data, whether these have labels or not."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maxmargin import MulticlassSVM, SequenceSVM, load_model, save_model
from maxmargin.data import chunking_template, read_attributes, read_columns
from maxmargin.data.templates import apply_template
from maxmargin.model_file import load_with_metadata

Run = Callable[..., Any]


# --- classes


@pytest.fixture
def classes(ok: Run, svm: str) -> str:
    """A model of two classes, -1 and 1, over five features."""
    ok("train", svm, "-o", "m")
    return "m"


def test_fewer_features_than_the_model(ok: Run, classes: str) -> None:
    """The highest index of the data may be below that of the model: the features are zeros."""
    Path("test.svm").write_text("1 1:1\n-1 2:1 3:1\n")
    assert ok("predict", classes, "test.svm").out == "1\n-1\n"


def test_more_features_than_the_model(run: Run, classes: str) -> None:
    Path("test.svm").write_text("1 1:1 6:9\n-1 2:1 3:1 7:9 8:9\n")
    outcome = run("predict", classes, "test.svm", "-q")
    assert (outcome.status, outcome.out) == (0, "1\n-1\n")
    assert outcome.err == "maxmargin: test.svm: 3 values of features beyond the 5 of the model are left out\n"


@pytest.mark.parametrize(
    "text",
    ["1:1\n2:1 3:1\n", "# c\n1:1 # d\n\n2:1 3:1\n", "9 1:1\nwhatever 2:1 3:1\n", "+1 qid:1 1:1\n? qid:2 2:1 3:1\n"],
)
def test_labels_do_not_matter(text: str, ok: Run, classes: str) -> None:
    for data in (text.encode(), gzip.compress(text.encode()), text.replace("\n", "\r\n").encode()):
        assert ok("predict", classes, "-", stdin=data).out == "1\n-1\n"


def test_unlabelled_can_be_said(ok: Run, run: Run, classes: str) -> None:
    """Needed where the first row has no features, so that nothing tells."""
    data = "qid:1 1:1\nqid:1 2:1\n"
    assert ok("predict", classes, "-", "--unlabelled", stdin=data).out == "1\n-1\n"
    assert run("predict", classes, "-", stdin=data).out == "1\n-1\n"  # qid:1 is as good a label as any
    outcome = run("predict", classes, "-", stdin="1:1\n1 2:1\n")
    assert outcome.error == "<stdin>:2: expected <index>:<value>: '1'"


def test_names_of_classes_come_back(ok: Run, folder: Path) -> None:
    for labels in (["yes", "no"], ["-3", "12"], ["é#1", "1e9999"]):
        Path("train.svm").write_text(f"{labels[0]} 1:1\n{labels[1]} 2:1\n")
        ok("train", "train.svm", "-o", "m")
        assert ok("predict", "m", "train.svm").out.split() == labels


def test_no_rows_no_labels(ok: Run, classes: str, columns: str, crfsuite: str) -> None:
    assert ok("predict", classes, "-", stdin="").out == ""
    for path in (columns, crfsuite):
        ok("train", path, "-o", "tags")
        assert ok("predict", "tags", "-", stdin="").out == ""
        assert ok("predict", "tags", "-", stdin="\n\n").out == ""


def test_faults_in_the_data_write_nothing(run: Run, classes: str) -> None:
    Path("out").write_text("old")
    Path("test.svm").write_text("1 1:1\n1 2:x\n")
    for more in (["-o", "out"], ["-o", "new"], []):
        outcome = run("predict", classes, "test.svm", *more)
        assert (outcome.status, outcome.error) == (2, "test.svm:2: the value is not a number: '2:x'")
    assert Path("out").read_text() == "old"
    assert sorted(os.listdir()) == ["m", "out", "test.svm", "train.svm"]


def test_output_to_a_file(ok: Run, classes: str, svm: str) -> None:
    printed = ok("predict", classes, svm).out
    for name in ("out", "out.gz"):
        outcome = ok("predict", classes, svm, "-o", name)
        assert (outcome.out, outcome.err) == ("", "")
    assert Path("out").read_text() == printed
    assert gzip.decompress(Path("out.gz").read_bytes()).decode() == printed


# --- columns


@pytest.fixture
def tags(ok: Run, columns: str) -> str:
    """A model of chunks, with the template of chunking."""
    ok("train", columns, "-o", "m", "--template", "chunking")
    return "m"


def test_the_predicted_label_is_the_last_column(ok: Run, tags: str, columns: str) -> None:
    rows = read_columns(columns)
    predicted = load_model(tags).predict(apply_template(rows, chunking_template()))
    expected = [[(*row, label) for row, label in zip(seq, labels)] for seq, labels in zip(rows, predicted)]
    ok("predict", tags, columns, "-o", "out")
    assert read_columns("out") == expected
    assert Path("out").read_text().endswith("\n\n")
    # without labels, with tabs
    Path("bare").write_text("\n\n".join("\n".join("\t".join(row[:2]) for row in seq) for seq in rows))
    assert ok("predict", tags, "bare").out == "".join(
        "".join(f"{row[0]}\t{row[1]}\t{row[3]}\n" for row in seq) + "\n" for seq in expected
    )


def test_the_output_is_input_again(ok: Run, tags: str, columns: str) -> None:
    """What was predicted without labels can be evaluated, trained on, predicted again."""
    bare = "\n".join(" ".join(line.split()[:2]) for line in Path(columns).read_text().splitlines())
    out = ok("predict", tags, "-", stdin=bare).out
    assert ok("predict", tags, "-", stdin=out).out.split("\n")[0] == "The DT B-NP B-NP"
    assert "accuracy 1.0000 of 8" in ok("evaluate", tags, "-", stdin=out).out
    ok("train", "-", "-o", "m2", stdin=out)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("The\ncat\n", "<stdin>:1: 1 column where the model expects 2, or 3 with labels: 'The'"),
        ("-DOCSTART- -X- O O\n\nThe DT B-NP x\n", "<stdin>:3: 4 columns where the model expects 2, or 3 with labels"),
        ("The DT\ncat\n", "<stdin>:2: 1 columns where line 1 has 2"),
        ("The DT\n\xff\n", "<stdin>:2: not UTF-8 text; convert the file to UTF-8: 'bytes ff 0a'"),
    ],
)
def test_faults_in_columns(text: str, message: str, run: Run, tags: str) -> None:
    outcome = run("predict", tags, "-", stdin=text.encode("latin-1"))
    assert outcome.status == 2
    assert outcome.error.startswith(message)
    outcome = run("predict", tags, "-", "--unlabelled", stdin="The DT O\n")
    assert outcome.error == "<stdin>:1: 3 columns where the model expects 2: 'The DT O'"


def test_a_confidence_is_the_margin(ok: Run, tags: str, columns: str) -> None:
    margins = load_model(tags).predict_margins(apply_template(read_columns(columns), chunking_template()))
    plain, out = ok("predict", tags, columns).out, ok("predict", tags, columns, "--confidence").out
    assert [line.rpartition(" ")[0] for line in out.splitlines()] == plain.splitlines()
    shown = [float(line.split()[-1]) for line in out.splitlines() if line]
    assert shown == pytest.approx(np.concatenate(margins), rel=1e-5)
    assert min(shown) > 0


def test_the_k_best_answers_come_with_scores(ok: Run, tags: str, columns: str) -> None:
    found = load_model(tags).predict_k_best(apply_template(read_columns(columns), chunking_template()), 3)
    blocks = ok("predict", tags, columns, "--k-best", "3").out.removesuffix("\n\n").split("\n\n")
    assert len(blocks) == 9
    for block, (labels, score), rank in zip(blocks, chain.from_iterable(found), [1, 2, 3] * 3):
        first, *rest = block.split("\n")
        assert first == f"# {rank} {score:.6f}"
        assert [line.split()[-1] for line in rest] == labels
    best = ok("predict", tags, columns, "--k-best", "1").out
    assert "".join(line for line in best.splitlines(True) if line[0] != "#") == ok("predict", tags, columns).out


def test_there_may_be_fewer_than_k_answers(ok: Run, crfsuite: str) -> None:
    ok("train", crfsuite, "-o", "m")
    assert ok("predict", "m", "-", "--k-best", "5", stdin="O\tw=.\n").out.count("#") == 3


# --- attributes


def test_labels_of_attribute_files(ok: Run, crfsuite: str) -> None:
    """One label a line, an empty line after each sequence."""
    ok("train", crfsuite, "-o", "m")
    predicted = load_model("m").predict(read_attributes(crfsuite).X)
    expected = "".join("".join(f"{label}\n" for label in labels) + "\n" for labels in predicted)
    assert ok("predict", "m", crfsuite).out == expected
    bare = "\n".join(line.partition("\t")[2] for line in Path(crfsuite).read_text().splitlines())
    assert ok("predict", "m", "-", "--unlabelled", stdin=bare).out == expected
    for weighted in (f"@weight:2\t{bare}", f"@weight:2\n{bare}"):
        assert ok("predict", "m", "-", "--unlabelled", stdin=weighted).out == expected
    confident = ok("predict", "m", crfsuite, "--confidence").out.splitlines()
    assert [line.partition("\t")[0] for line in confident] == expected.splitlines()
    assert all(float(line.partition("\t")[2]) > 0 for line in confident if line)


def test_windows_line_ends_part_sequences(ok: Run, folder: Path) -> None:
    text = "B-NP\tw=the\r\nI-NP\tw=cat\tcap:2\r\n\r\nO\tw=.\r\n\r\n"
    Path("train.crf").write_bytes(text.encode())
    ok("train", "train.crf", "-o", "m", "-C", "100")
    assert load_model("m").classes_ == ["B-NP", "I-NP", "O"]
    assert ok("predict", "m", "train.crf").out == "B-NP\nI-NP\n\nO\n\n"


def test_colons_in_labels_and_names(ok: Run, run: Run, folder: Path) -> None:
    Path("train.crf").write_text(":\tw=\\:\tnext=x\nNN\turl=http\\://a:2.5\tback=\\\\\nVB\tt=12\\:30\n")
    ok("train", "train.crf", "-o", "m", "-C", "100")
    model = load_model("m")
    assert model.classes_ == [":", "NN", "VB"]
    assert {"w=:", "url=http://a", "back=\\", "t=12:30"} <= {*model.attributes_}
    assert ok("predict", "m", "train.crf").out == ":\nNN\nVB\n\n"
    Path("odd.crf").write_text("VB\ta:b\n")
    assert run("predict", "m", "odd.crf").error.startswith("odd.crf:1: what follows the last colon is not a number")


def test_unknown_attributes_are_left_out(ok: Run, crfsuite: str, tags: str) -> None:
    ok("train", crfsuite, "-o", "attributes")
    out = ok("predict", "attributes", "-", stdin="O\tw=the\tnew=1\tother:7\n").out
    assert out == ok("predict", "attributes", "-", stdin="O\tw=the\n").out
    ok("predict", tags, "-", stdin="Unheard XYZ\n")


# --- models saved from Python have no settings


def test_models_saved_from_python(ok: Run, run: Run, svm: str, crfsuite: str, columns: str) -> None:
    save_model(MulticlassSVM(random_state=0).fit(np.eye(3), ["a", "b", "c"]), "classes")
    assert ok("predict", "classes", "-", stdin="? 2:1\n? 3:1\n").out == "b\nc\n"
    data = read_attributes(crfsuite)
    save_model(SequenceSVM(random_state=0).fit(data.X, data.y), "tags")
    assert ok("predict", "tags", crfsuite).out == ok("predict", "tags", crfsuite, "--format", "crfsuite").out
    outcome = run("predict", "tags", columns)
    assert outcome.error.startswith("this model was not trained by `maxmargin train` on columns and knows no template")


HALVES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no columns": lambda settings: settings.pop("columns"),
    "columns null": lambda settings: settings.update(columns=None),
    "columns true": lambda settings: settings.update(columns=True),
    "columns 0": lambda settings: settings.update(columns=0),
    "columns in words": lambda settings: settings.update(columns="2"),
    "fewer columns than the template": lambda settings: settings.update(columns=1),
    "template null": lambda settings: settings.update(template=None),
    "template a list": lambda settings: settings.update(template=["w"]),
    "template empty": lambda settings: settings.update(template={}),
    "no attributes": lambda settings: settings["template"].update(attributes=[]),
    "attributes a text": lambda settings: settings["template"].update(attributes="w[0]"),
    "attributes of nothing": lambda settings: settings["template"].update(attributes=["x[0]"]),
    "names of columns a text": lambda settings: settings["template"].update(columns="w"),
    "names of columns numbers": lambda settings: settings["template"].update(columns=[1, 2]),
    "ends null": lambda settings: settings["template"].update(ends=None),
    "no ends": lambda settings: settings["template"].pop("ends"),
}


@pytest.mark.parametrize("what", HALVES)
def test_half_of_the_settings(what: str, run: Run, tags: str, columns: str) -> None:
    model, settings = load_with_metadata(tags)
    HALVES[what](settings)
    save_model(model, "half", metadata=settings)
    for argv in (
        ["predict", "half", columns],
        ["evaluate", "half", columns],
        ["inspect", "half"],
        ["train", columns, "-o", "new", "--warm-start", "half"],
    ):
        outcome = run(*argv)
        assert outcome.status == 2
        assert outcome.error == "half: what it says of its data makes no sense"


def test_threads_do_not_change_the_answer(ok: Run, tags: str, columns: str) -> None:
    assert ok("predict", tags, columns, "--jobs", "2").out == ok("predict", tags, columns).out


def test_damaged_models_are_named(run: Run, classes: str, svm: str) -> None:
    data = Path(classes).read_bytes()
    Path(classes).write_bytes(data[:-10])
    outcome = run("predict", classes, svm)
    assert outcome.status == 2
    assert outcome.error.startswith("m: damaged or cut off")


def test_data_of_another_format(run: Run, ok: Run, svm: str, columns: str, crfsuite: str, folder: Path) -> None:
    """Refused where name and contents agree; else a note says so."""
    (folder / "train.mrg").write_text("(S (A a) (B b))\n(S (A a) (B c))\n")
    names = {"columns": columns, "crfsuite": crfsuite, "brackets": "train.mrg"}
    for format, path in names.items():
        ok("train", path, "-o", format)
    for model, data, looks in (
        ("crfsuite", columns, "columns"),
        ("columns", crfsuite, "crfsuite"),
        ("brackets", svm, "svmlight"),
        ("brackets", columns, "columns"),
        ("brackets", crfsuite, "crfsuite"),
    ):
        for command in ("predict", "evaluate"):
            outcome = run(command, model, data)
            assert outcome.status == 2
            assert outcome.error == (
                f"{data} looks like {looks}, but is read as {model}, as for {model} (--format {model} insists)"
            )
    assert ok("predict", "brackets", svm, "--format", "brackets").out
    outcome = run("train", crfsuite, "-o", "m", "--test", columns, "-q")
    assert outcome.error.startswith("train.conll looks like columns, but is read as crfsuite, as for train.crf")
    outcome = run("predict", "crfsuite", "-", "-q", stdin="the DT O\ncat NN O\n")
    assert outcome.status == 0
    assert outcome.err.splitlines() == [
        "maxmargin: <stdin> looks like columns, but is read as crfsuite, as for crfsuite",
        "maxmargin: <stdin>: no token has an attribute that the model knows",
    ]
    for model, path in names.items():
        assert run("predict", model, path, "-q").err == ""
    assert run("predict", "brackets", "-", "-q", stdin="a b\na c\n").err == ""


def test_labels_that_cannot_be_written_are_refused(run: Run, crfsuite: str) -> None:
    X = [[["w=a"], ["w=b"]]]
    save_model(SequenceSVM(random_state=0).fit(X, [["two\nlines", "B"]]), "m")
    outcome = run("predict", "m", "-", "--format", "crfsuite", stdin="B\tw=a\n")
    assert (outcome.status, outcome.error) == (2, "the label 'two\\nlines' of the model cannot be written as a line")
    save_model(SequenceSVM(random_state=0).fit(X, [[1, 2]]), "m")  # numbers are written as such
    assert run("predict", "m", "-", "--format", "crfsuite", stdin="1\tw=a\n2\tw=b\n").out == "1\n2\n\n"


def test_a_document_line_does_not_say_what_parts_cells(ok: Run, folder: Path) -> None:
    Path("x.conll").write_text("-DOCSTART- -X- O\n\nNew York\tNNP\tB\nis\tVBZ\tO\n")
    ok("train", "x.conll", "-o", "m", "--separator", "tab", "--format", "columns")
    assert ok("predict", "m", "x.conll").out.startswith("New York\tNNP\tB\t")
