"""CRFsuite's attribute format, read and written."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.data import read_attributes, write_attributes
from maxmargin.data.attributes import token_lines
from maxmargin.errors import DataError, FileFormatError


def read(text: str) -> Any:
    return read_attributes(io.StringIO(text, newline=""))


def test_lists_of_names_where_all_weights_are_one() -> None:
    data = read("\n\nB-NP\tw=the\tw=the\t a b\t\nO\n\n\n \nO\tw=.:1")
    assert data.X == [[["w=the", "w=the", " a b"], []], [["w=."]]]
    assert data.y == [["B-NP", "O"], ["O"]]
    assert data.weights is None
    assert read("").X == []


def test_windows_line_ends() -> None:
    text = "B-NP\tw=the\r\nI-NP\tw=cat\tcap:2\r\n\r\nO\tw=.\r\n\r\n"
    for variant in (text, text.replace("\r\n", "\n"), text.replace("\r\n", "\r\r\n")):
        data = read(variant)
        assert data.X == [[{"w=the": 1.0}, {"w=cat": 1.0, "cap": 2.0}], [{"w=.": 1.0}]]
        assert data.y == [["B-NP", "I-NP"], ["O"]]


def test_colons_and_escapes() -> None:
    data = read(":\tw=\\:\tnext=x\nNN\turl=http\\://a:2.5\tback=\\\\\nVB\tt=12\\:30\n\\:x\\\\\ta:b:3\tc\\d\n")
    assert data.X == [
        [
            {"w=:": 1.0, "next=x": 1.0},
            {"url=http://a": 2.5, "back=\\": 1.0},
            {"t=12:30": 1.0},
            {"a:b": 3.0, "c\\d": 1.0},
        ]
    ]
    assert data.y == [[":", "NN", "VB", ":x\\"]]
    target = io.StringIO()
    write_attributes(target, data.X, data.y)
    again = read(target.getvalue())
    assert (again.X, again.y) == (data.X, data.y)


def test_weights_of_sequences_and_repeated_attributes() -> None:
    data = read("@weight:2.5\tA\tx:2\tx\nB\n\nA\tx\n\n@weight:0\nA\n")
    assert data.X == [[{"x": 3.0}, {}], [{"x": 1.0}], [{}]]
    assert data.weights.tolist() == [2.5, 1, 0]
    assert read("@weight\\:2\tx\n").y == [["@weight:2"]]
    assert read("@\tx\n").y == [["@"]]


@pytest.mark.parametrize(
    ("text", "line", "token", "problem"),
    [
        ("VB\ta:b\n", 1, "a:b", "not a number"),
        ("A\tx\n\nB\tx:\n", 3, "x:", "not a number"),
        ("A\tx:nan\n", 1, "x:nan", "not a finite number"),
        ("A\tx:1_0\n", 1, "x:1_0", "not a number"),
        ("A\t:2\n", 1, ":2", "name of an attribute is missing"),
        ("A\n\tx\n", 2, "\tx", "label is missing"),
        ("@weight:x\tA\n", 1, "@weight:x", "not a number"),
        ("@weight:-1\tA\n", 1, "@weight:-1", "negative"),
        ("A\n@weight:1\n@weight:1\tB\n", 3, "@weight:1", "second weight"),
        ("@weight:1\n\nA\n", 2, None, "without a sequence"),
        ("A\tx:1e308\tx:1e308\n", None, "x", "too large"),
    ],
)
def test_a_malformed_line_is_named(text: str, line: int | None, token: str | None, problem: str) -> None:
    with pytest.raises(FileFormatError, match=problem) as caught:
        read(text)
    assert (caught.value.line, caught.value.token) == (line, token)


NAMES = st.text(min_size=1, max_size=5) | st.sampled_from([":", "\\", "a:2", "\\:", "@weight:1", " ", "\ufeffx"])
WEIGHTS = st.floats(allow_nan=False, allow_infinity=False)
TOKENS = st.lists(NAMES, max_size=3) | st.dictionaries(NAMES, WEIGHTS, max_size=3)


@settings(max_examples=100)
@given(
    st.lists(st.lists(st.tuples(NAMES, TOKENS), min_size=1, max_size=3), max_size=3),
    st.data(),
)
def test_what_is_written_is_read_back(sequences: Any, data: st.DataObject) -> None:
    X = [[token for _, token in sequence] for sequence in sequences]
    y = [[label for label, _ in sequence] for sequence in sequences]
    weights = data.draw(st.none() | st.lists(st.floats(0, 1e300), min_size=len(X), max_size=len(X)))
    target = io.BytesIO()
    try:
        write_attributes(target, X, y, weights=weights)
    except DataError:
        return
    target.seek(0)
    back = read_attributes(target)
    assert back.y == y
    assert weights is None or not X or back.weights.tolist() == weights
    all_ones = all(not isinstance(token, dict) or set(token.values()) <= {1} for tokens in X for token in tokens)

    def expected(token: Any) -> Any:
        if all_ones:
            return list(token)
        return token if isinstance(token, dict) else {name: float(token.count(name)) for name in token}

    wanted = [[expected(token) for token in tokens] for tokens in X]
    assert wanted == back.X


def test_what_cannot_be_written(tmp_path: Path) -> None:
    refused: list[tuple[Any, Any, Any, str]] = [
        ([[["a"]]], [["A"], ["B"]], None, "X has 1 sequences, y 2"),
        ([[["a"]], [["b"]]], [["A"], ["A", "B"]], None, "sequence 1 has 1 tokens and 2 labels"),
        ([[["a"]], []], [["A"], []], None, "sequence 1 is empty"),
        ([[["a"]]], [[" "]], None, "token 0 of sequence 0: the label"),
        ([[["a"]]], [["A\tB"]], None, "token 0 of sequence 0"),
        ([[["a\n"]]], [["A"]], None, "token 0 of sequence 0"),
        ([[[""]]], [["A"]], None, "name of an attribute"),
        ([[["a", 3]]], [["A"]], None, "name of an attribute"),
        ([["word"]], [["A"]], None, "list of names"),
        ([[{"a": np.nan}]], [["A"]], None, "weight of 'a' is nan"),
        ([[{"a": "b"}]], [["A"]], None, "weight of 'a' is 'b'"),
        ([[["a"]]], [["A"]], [1, 2], "weights have shape"),
        ([[["a"]]], [["A"]], [-1], "not negative"),
    ]
    for X, y, weights, problem in refused:
        with pytest.raises(DataError, match=problem):
            write_attributes(tmp_path / "out", X, y, weights=weights)
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=150)
@given(
    st.one_of(
        st.binary(max_size=40),
        st.text(max_size=40),
        st.lists(
            st.sampled_from(["A", "x", ":", "2", "\\", "\t", "\n", "\r\n", " ", "@weight:1", "1e308"]), max_size=14
        ).map("".join),
    )
)
def test_any_text_is_read_or_refused(text: str | bytes) -> None:
    source = io.BytesIO(text) if isinstance(text, bytes) else io.StringIO(text, newline="")
    try:
        data = read_attributes(source)
    except FileFormatError:
        return
    assert [len(tokens) for tokens in data.X] == [len(labels) for labels in data.y]
    assert all(data.y)
    assert not any(label.endswith("\r") for labels in data.y for label in labels)
    target = io.BytesIO()
    try:
        write_attributes(target, data.X, data.y, weights=data.weights)
    except DataError:  # a carriage return at the end of a line, or a byte-order mark at its beginning
        assert isinstance(text, bytes) or "\r" in text or "\ufeff" in text
        return
    target.seek(0)
    back = read_attributes(target)
    assert (back.X, back.y) == (data.X, data.y)


def test_lines_of_tokens() -> None:
    text = "\n@weight:2\nA\tx\nB\n\n\n@weight:3\tC\ty\nA\n"
    lines = text.split("\n")
    numbers = token_lines(io.StringIO(text))
    assert numbers == [[3, 4], [7, 8]]
    labels = [[lines[n - 1].removeprefix("@weight:3\t").split("\t")[0] for n in row] for row in numbers]
    assert labels == read_attributes(io.StringIO(text)).y


def test_whole_numbers_are_labels_and_others_are_refused() -> None:
    target = io.StringIO()
    write_attributes(target, [[["a"], ["b"], ["c"]]], [[1, np.int64(-2), "x"]])
    assert read(target.getvalue()).y == [["1", "-2", "x"]]
    for label in (1.0, None, True, np.True_, b"x", ("x",)):
        with pytest.raises(DataError, match="token 1 of sequence 1: the label .* is neither text nor a whole number"):
            write_attributes(io.StringIO(), [[["a"]], [["a"], ["b"]]], [["x"], ["x", label]])


def test_a_byte_order_mark_is_refused_by_name() -> None:
    with pytest.raises(DataError, match="token 0 of sequence 0: a byte-order mark at the beginning cannot be written"):
        write_attributes(io.StringIO(), [[["a"]]], [["\ufeffx"]])
    for label in ("\ufeffx\t", "x\n"):
        with pytest.raises(DataError, match="token 0 of sequence 0: a line end or a TAB in a label or a name"):
            write_attributes(io.StringIO(), [[["a"]]], [[label]])
