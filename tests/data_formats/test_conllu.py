"""CoNLL-U among column files: words alone, whatever stands between them."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.data import read_columns, write_columns
from maxmargin.data.columns import row_lines
from maxmargin.data.conllu import begins_as_conllu
from maxmargin.errors import DataError, FileFormatError


def line(number: str, form: str = "w", head: str = "_") -> str:
    return "\t".join([number, form, "_", "_", "_", "_", head, "_", "_", "_"])


def text_of(*lines: str) -> str:
    return "\n".join(lines) + "\n"


def read(text: str, **options: Any) -> list[list[tuple[str, ...]]]:
    return read_columns(io.StringIO(text, newline=""), **options)


def forms(text: str, **options: Any) -> list[list[str]]:
    return [[row[1] for row in rows] for rows in read(text, **options)]


SENTENCE = text_of(
    "# sent_id = made-up-1",
    "# text = Er geht zum Markt",
    line("1", "Er", "2"),
    line("2", "geht", "0"),
    line("3-4", "zum"),
    line("3", "zu", "5"),
    line("4", "dem", "5"),
    line("5", "Markt", "2"),
    line("5.1", "geht"),
    "",
)


def test_words_alone_are_tokens() -> None:
    (rows,) = read(SENTENCE)
    assert [row[0] for row in rows] == ["1", "2", "3", "4", "5"]
    assert [row[1] for row in rows] == ["Er", "geht", "zu", "dem", "Markt"]
    assert [row[6] for row in rows] == ["2", "0", "5", "5", "2"]
    assert {len(row) for row in rows} == {10}
    assert row_lines(io.StringIO(SENTENCE)) == [[3, 4, 6, 7, 8]]
    assert read(SENTENCE, separator="\t") == [rows]
    assert read(SENTENCE.replace("\n", "\r\n")) == [rows]
    assert read("\ufeff" + SENTENCE) == [rows]
    assert read(SENTENCE.rstrip("\n")) == [rows]
    assert read("\n\n" + SENTENCE + "\n \n" + SENTENCE) == [rows, rows]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([line("1", "a")], [["a"]]),
        ([line("0.1", "e"), line("0.2", "e"), line("1", "a"), line("1.1", "e"), line("2", "b")], [["a", "b"]]),
        ([line("1-2", "ab"), line("1", "a"), line("2", "b"), line("3-5"), *map(line, "345")], [["a", "b", *"www"]]),
        ([line("1", "New York"), line("2", "a\u00a0b"), line("3", "")], [["New York", "a\u00a0b", ""]]),
        (["# a license", "", "# another", "# newdoc", line("1", "#"), line("2", "# b")], [["#", "# b"]]),
        ([line("1", "a"), "", "#", "#\tx\ty", line("1", "b"), "", line("1", "c")], [["a"], ["b"], ["c"]]),
        ([line("1", "a"), "", line("1", "b"), "# in between", line("2", "c")], [["a"], ["b", "c"]]),
        (["# only the last sentence has words", line("1", "a"), "", "# none", "", line("1", "b")], [["a"], ["b"]]),
        ([line(str(k), "x") for k in range(1, 131)], [["x"] * 130]),
        ([line("9.1")], None),
        ([line("8.1"), line("8")], None),
    ],
)
def test_sentences_of_every_kind(lines: list[str], expected: Any) -> None:
    text = text_of(*lines)
    assert begins_as_conllu(io.StringIO(text)) == (expected is not None)
    if expected is not None:
        assert forms(text) == expected
        numbers = row_lines(io.StringIO(text))
        assert [[lines[n - 1].split("\t")[1] for n in sentence] for sentence in numbers] == expected


@pytest.mark.parametrize(
    ("lines", "problem", "at"),
    [
        ([line("2")], "word 2 where word 1 is the next", 3),
        ([line("1"), line("1")], "word 1 where word 2 is the next", 4),
        ([line("1"), line("3")], "word 3 where word 2 is the next", 4),
        ([line("2-3"), line("1")], "a range of words that does not begin with the next one, 1", 3),
        ([line("1-1"), line("1")], "a range of words that does not", 3),
        ([line("1-3"), line("1"), line("2-3")], "a range of words that does not", 5),
        ([line("1-3"), line("1"), line("2")], "the sentence ends with word 2, within a range up to 3", 6),
        ([line("1"), line("1.2")], r"an empty node where 1\.1 is the next", 4),
        ([line("1"), line("0.1")], r"an empty node where 1\.1 is the next", 4),
        ([line("0.1")], "a sentence without words", 4),
        ([line("01")], "begins with the number of a word", 3),
        ([line("1"), line("x")], "begins with the number of a word", 4),
        ([line("1"), line("2-")], "begins with the number of a word", 4),
        ([line("1"), line("٢")], "begins with the number of a word", 4),
        ([line("1"), line("2") + "\tx"], "11 columns where CoNLL-U has 10", 4),
        ([line("1"), "2 w _ _ _ _ _ _ _ _"], "1 columns where CoNLL-U has 10", 4),
    ],
)
def test_rows_out_of_order_are_named(lines: list[str], problem: str, at: int, tmp_path: Path) -> None:
    """In the second sentence: the first tells what the file is."""
    path = tmp_path / "x.conllu"
    path.write_text(text_of(line("1"), "", *lines, "", line("1")), encoding="utf-8")
    for read_file in (read_columns, row_lines):
        with pytest.raises(FileFormatError, match=problem) as caught:
            read_file(path)
        assert caught.value.line == at


@pytest.mark.parametrize(
    "text",
    [
        "# # O\n1 CD O\n",
        "#\tO\n1\tO\n",
        "1 a b c d e f g h O\n1-2 a b c d e f g h O\n",
        text_of("#", line("1")).replace("\t", " ").replace("#", "# a b c d e f g h i"),
        text_of(line("1"), line("2") + "x", line("7"), line("7-8")),
        text_of(line("1"), "\t".join("#_________"), line("2")),
        text_of("\t".join("#_________"), "", line("1")),
    ],
)
def test_other_column_files_keep_all_their_rows(text: str) -> None:
    rows = [row for sentence in read(text) for row in sentence]
    assert rows == [tuple(row.split()) for row in text.splitlines() if row]
    assert not begins_as_conllu(io.StringIO(text))


def test_a_separator_of_ones_own_is_taken_at_its_word() -> None:
    assert [len(rows) for rows in read(SENTENCE.partition("# text")[2].partition("\n")[2], separator="||")] == [7]


def test_words_are_written_and_read_back(tmp_path: Path) -> None:
    sentences = read(SENTENCE + SENTENCE)
    for name in ("x.conllu", "x.conllu.gz"):
        write_columns(tmp_path / name, sentences, separator="\t")
        assert read_columns(tmp_path / name) == sentences
        assert read_columns(tmp_path / name, separator="\t") == sentences
    packed = gzip.decompress((tmp_path / "x.conllu.gz").read_bytes()).decode()
    assert (
        packed == text_of(*[text for text in SENTENCE.splitlines() if text[:1].isdigit() and text[1] == "\t"], "") * 2
    )
    # cells without spaces may be parted by spaces, and are then no CoNLL-U, but the same rows
    write_columns(tmp_path / "x", sentences)
    assert read_columns(tmp_path / "x") == sentences


CELLS = tuple("_" * 9)


@pytest.mark.parametrize(
    "sequences",
    [
        [[("1", *CELLS), ("2-3", *CELLS), ("2", *CELLS), ("3", *CELLS)]],
        [[("1", *CELLS), ("1.1", *CELLS)]],
        [[("#", *CELLS), ("1", *CELLS)]],
        [[("1", *CELLS)], [("#", *CELLS), ("1", *CELLS)]],
        [[("1", *CELLS)], [("2", *CELLS)]],
        [[("1", *CELLS)], [("1", *CELLS), ("1-2", *CELLS)]],
    ],
)
def test_what_would_be_left_out_is_not_written(sequences: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"sequence \d would not be read back as it is"):
        write_columns(tmp_path / "out", sequences, separator="\t")
    assert not list(tmp_path.iterdir())
    write_columns(tmp_path / "out", sequences)
    assert read_columns(tmp_path / "out") == sequences


NUMBERS = st.sampled_from(["1", "2", "3", "1-2", "2-3", "0.1", "1.1", "2.1", "#", "# a", "x", ""])


@settings(max_examples=300)
@given(st.lists(st.lists(st.tuples(NUMBERS, *[st.sampled_from(["_", "a b"])] * 9), min_size=1, max_size=4), max_size=3))
def test_what_is_written_is_read_back(sequences: Any) -> None:
    target = io.BytesIO()
    try:
        write_columns(target, sequences, separator="\t")
    except DataError:
        return
    target.seek(0)
    assert read_columns(target, separator="\t") == sequences


@settings(max_examples=300)
@given(
    st.lists(NUMBERS.map(line) | st.sampled_from(["", "# c", " ", "1\t2"]), max_size=8), st.sampled_from([None, "\t"])
)
def test_any_lines_are_read_or_refused(lines: list[str], separator: str | None) -> None:
    text = text_of(*lines)
    try:
        sequences = read(text, separator=separator)
    except FileFormatError:
        return
    assert all(sequences)
    numbers = row_lines(io.StringIO(text), separator=separator)
    assert [len(rows) for rows in numbers] == [len(rows) for rows in sequences]
    if begins_as_conllu(io.StringIO(text)):
        assert all([row[0] for row in rows] == [str(k + 1) for k in range(len(rows))] for rows in sequences)


def test_a_pipe_is_read_once() -> None:
    class Once(io.StringIO):
        def seek(self, *args: Any) -> int:
            raise OSError("not seekable")

    assert [len(rows) for rows in read_columns(Once(SENTENCE))] == [5]
