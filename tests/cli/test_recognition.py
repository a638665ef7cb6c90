"""The format of a file is told from its first lines and its name."""

from __future__ import annotations

import errno
import gzip
import os
from pathlib import Path
from typing import Any

import pytest

import maxmargin.data.text as text_sources
from maxmargin.cli.inputs import Input, check_output, looks_like_trees, recognise
from maxmargin.cli.messages import UsageError
from maxmargin.errors import FileFormatError

CONTENTS = {
    "svmlight": [
        "1 1:2 5:1\n-1 2:2 # comment\n",
        "# a comment\n+1 cost:3 1:0.5\n2 cost:2 7:1\n",
        "# a comment\n+1 1:0.5\n2 cost:2 7:1\n",
        "yes 1:1\nno\n",
        "1 1:2\n1 1:x\n",  # a fault that the reader shall name
    ],
    "columns": [
        "Confidence NN B-NP\nin IN B-PP\n\nthe DT B-NP\n",
        "-DOCSTART- -X- O\n\nthe\tDT\tO\n",
        "( ( O\nhe PRP B-NP\n) ) O\n",
        "( -LRB- O\nhe PRP B-NP\n",
        "at IN O\n3:30 CD O\n",
        "a=b NN O\nthe DT O\nthe cat NN O\n",
    ],
    "crfsuite": [
        "B-NP\tw=the\nI-NP\tw=cat\tcap:2\n\nO\tw=.\n",
        "@weight:2\tB\tx=1\ty=2\nI\tx=2\ty=3\n",
        "B\ta\tb\nI\ta\nO\n",
        ":\tw=\\:\tnext=x\n",
    ],
    "brackets": [
        "(ROOT (NP (NN Introduction)))\n",
        "( (S (NP (DT the) (NN cat))\n     (VP (VBZ sits))))\n",
        "(\n(S (NP a))\n)\n",
        "(S (NP (DT the) (NN cat)) (VP (VBZ sits)))\n(S (NP (DT a) (NN dog)) (VP (VBZ sits)))\n",
    ],
}
MARKED = {
    "ranking": [
        "2 qid:1 1:0.5\n1 qid:1 2:1\n",
        "# LETOR\n\n2 qid:10032 1:0.056537 2:0.0 46:0.07 #docid = GX029-35 inc = 1\n0 qid:10032 1:0.2 # x\n",
        "2\tqid:1 cost:2 1:0.5\r\n1\tqid:1 cost:2 2:1\r\n",
    ],
    "multiclass": ["2 1:0.5 # qid:1\n1 2:1\n", "qid 1:0.5\nx 2:1\n", "1.5 1:0.5\n2.5 2:1\n"],
}
TASKS = {"svmlight": "multiclass", "columns": "sequence", "crfsuite": "sequence", "brackets": "tree"}


@pytest.mark.parametrize(("format", "text"), [(name, text) for name, texts in CONTENTS.items() for text in texts])
def test_contents_tell_the_format(format: str, text: str, tmp_path: Path) -> None:
    for name, data in (("data.txt", text.encode()), ("data.gz", gzip.compress(text.encode()))):
        (tmp_path / name).write_bytes(data)
        found = recognise(Input(str(tmp_path / name)), None, None)
        assert found == (format, TASKS[format], "by its first lines")


@pytest.mark.parametrize(("task", "text"), [(name, text) for name, texts in MARKED.items() for text in texts])
def test_rows_with_a_query_are_ranked(task: str, text: str, tmp_path: Path) -> None:
    """Unless the task is named."""
    (tmp_path / "x.txt").write_text(text)
    source = Input(str(tmp_path / "x.txt"))
    assert recognise(source, None, None)[1] == recognise(source, "svmlight", None)[1] == task
    assert recognise(source, None, "regression") == ("svmlight", "regression", "by its first lines")


def test_the_name_decides_between_formats_that_fit(tmp_path: Path) -> None:
    for text in ("B-NP\tw=the\tp=DT\nI-NP\tw=cat\tp=NN\n", "B\tthe\tDT\nI\tcat\tNN\n"):
        for name, expected in (("x.conll", "columns"), ("x.tsv.gz", "columns"), ("x.crfsuite", "crfsuite")):
            (tmp_path / name).write_text(text)
            assert recognise(Input(str(tmp_path / name)), None, None)[0] == expected


def test_the_name_decides_where_no_format_fits(tmp_path: Path) -> None:
    (tmp_path / "x.mrg").write_text("what\nis\nthis\n")
    assert recognise(Input(str(tmp_path / "x.mrg")), None, None) == ("brackets", "tree", "by its name")


def test_the_name_does_not_overrule_the_contents(tmp_path: Path) -> None:
    (tmp_path / "x.mrg").write_text("1 1:2\n2 1:3\n")
    assert recognise(Input(str(tmp_path / "x.mrg")), None, None)[0] == "svmlight"


@pytest.mark.parametrize("text", ["", "\n\n", "word\nword\n", "a b c\nd e\nf\ng h i j\n"])
def test_what_cannot_be_told_is_asked_for(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text(text)
    with pytest.raises(FileFormatError, match=r"x\.txt(:1)?: (no data|cannot tell the format; name it: --f)"):
        recognise(Input(str(tmp_path / "x.txt")), None, None)


def test_format_and_task_must_go_together(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("1 1:2 3:4\n2 1:3 3:4\n")
    source = Input(str(tmp_path / "x"))
    assert recognise(source, "columns", None) == ("columns", "sequence", "as asked")
    assert recognise(source, "columns", "sequence") == ("columns", "sequence", "as asked")
    with pytest.raises(UsageError, match="--format columns cannot go with --task tree, which reads brackets"):
        recognise(source, "columns", "tree")
    with pytest.raises(UsageError, match="looks like svmlight, but --task sequence reads columns or crfsuite"):
        recognise(source, None, "sequence")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(S (NP a) (VP b))", True),
        ("((S (NP a)))", True),
        ("(S (NP a)", True),  # goes on after the first lines
        ("( Reuters ) said", False),
        ("( said", False),
        ("(S (NP a)) b", False),
        ("(S a)) (S b)", False),
        ("a (b c)", False),
        ("(S (NP (DT a) (NN b)))\na line of text", True),  # damaged
        ("(S (NP (DT a) (NN b))) and text", True),
        ("(S (NP (DT a) (NN b))))", True),
        ("(S (NP a))) (VP b))", True),
        ("(ROOT (NP (NN a)))\na line of text", True),
        ("text\n(S (NP (DT a) (NN b)))", True),
        (")\n(S (NP (DT a) (NN b)))", True),
        ("(see (1)) there\nit goes on", False),
        ("(Smith (and Jones) wrote)\nthis", False),
        ("(see (Fig. 1))\nThis is text", False),
        ("(a) b (c d)\nhere", False),
        ("the cat", False),
        ("", False),
    ],
)
def test_trees_are_told_from_sentences(text: str, expected: bool) -> None:
    assert looks_like_trees(text.splitlines()) is expected


def test_a_pipe_is_read_once_and_used_often(tmp_path: Path) -> None:
    import threading

    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(b"1 1:2\n2 2:3\n",))
    writer.start()
    source = Input(str(path))
    assert recognise(source, None, None)[0] == "svmlight"
    opened: Any = source.open()
    assert opened.read() == b"1 1:2\n2 2:3\n"
    assert source.relabelled("? {}".format).read() == "? 1 1:2\n? 2 2:3\n"
    writer.join()


def no_new_files(path: str, mode: str) -> Any:
    """``open`` in a folder where none can be made."""
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def test_outputs_are_checked_before_the_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_text("a")
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    check_output("-", ["a"])
    check_output("new", ["a", None, "-"])
    check_output("a", ["folder"])
    check_output(os.devnull, ["a"])
    for path, inputs, message in (
        ("folder", [], "folder: is a folder; -o names a file"),
        ("none/new", [], "none/new: no such folder: .*none"),
        ("a/new", [], "a/new: no such folder: .*a"),
        ("a", ["link"], "-o a would replace an input"),
        ("link", ["a"], "-o link would replace an input"),
    ):
        with pytest.raises(UsageError, match=message):
            check_output(path, inputs)
    before = sorted(os.listdir())
    assert before == ["a", "folder", "link"]
    with pytest.raises(OSError, match="File name too long") as caught:
        check_output("folder/" + "x" * 300, [])
    assert caught.value.filename == "folder/" + "x" * 300
    monkeypatch.setattr(
        text_sources, "open", no_new_files, raising=False
    )  # as in /proc, whose permissions do not say so
    for path in ("new", "a", "link"):
        with pytest.raises(FileNotFoundError) as caught:
            check_output(path, [])
        assert caught.value.filename == path
    check_output(os.devnull, [])
    monkeypatch.undo()
    assert sorted(tmp_path.iterdir()) == [tmp_path / name for name in before]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    for path in ("new", "a"):
        with pytest.raises(UsageError, match="no permission to write it"):
            check_output(path, [])


@pytest.mark.parametrize("name", ["svm", "columns", "crfsuite"])
def test_files_of_old_macintoshes_are_refused_with_their_line(name: str, run: Any, request: Any) -> None:
    path = Path(request.getfixturevalue(name))
    text = path.read_text()
    for old in (text.replace("\n", "\r"), "\n\n" + text.replace("\n", "\r")):
        path.write_text(old, newline="")
        for more in ([], ["--format", {"svm": "svmlight"}.get(name, name)]):
            outcome = run("train", path, "-o", "m", "-q", *more)
            assert outcome.status == 2
            number = 1 + old.count("\n")
            assert outcome.error.startswith(
                f"{path}:{number}: a carriage return within the line; lines end with LF or "
            )
