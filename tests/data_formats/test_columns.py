"""Column files and attributes made from them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.data import (
    Template,
    apply_template,
    chunking_template,
    default_template,
    read_columns,
    split_labels,
    write_columns,
)
from maxmargin.data.columns import row_lines
from maxmargin.errors import DataError, FileFormatError


def read(text: str, **options: Any) -> list[list[tuple[str, ...]]]:
    return read_columns(io.StringIO(text, newline=""), **options)


def test_sequences_rows_and_documents() -> None:
    text = "-DOCSTART- -X- O\n\n\nEU  NNP\tB-ORG\r\n10\u00a0000 CD O \n\n \t\n-DOCSTART- -X- O\n. . O"
    expected = [[("EU", "NNP", "B-ORG"), ("10\u00a0000", "CD", "O")], [(".", ".", "O")]]
    assert read(text) == expected
    assert split_labels(expected) == (
        [[("EU", "NNP"), ("10\u00a0000", "CD")], [(".", ".")]],
        [["B-ORG", "O"], ["O"]],
    )
    assert read("") == read("\n\n") == []


def test_cells_with_spaces_need_a_separator() -> None:
    text = "New York\tB\n\tO\n"
    assert read(text, separator="\t") == [[("New York", "B"), ("", "O")]]
    with pytest.raises(FileFormatError, match=r"1 columns where line 1 has 3 .*separator") as caught:
        read(text)
    assert caught.value.line == 2
    with pytest.raises(ValueError, match="separator"):
        read(text, separator="\n")


def test_a_ragged_row_is_named(tmp_path: Path) -> None:
    path = tmp_path / "ragged.conll"
    path.write_text("a X O\n\nb Y O\nc O\n")
    with pytest.raises(FileFormatError, match="2 columns where line 1 has 3") as caught:
        read_columns(path)
    assert (caught.value.path, caught.value.line, caught.value.token) == (str(path), 4, "c O")


CELLS = st.text(min_size=1, max_size=6) | st.sampled_from(["-DOCSTART-", "\ufeffa", "a b", "O"])


@settings(max_examples=100)
@given(
    st.integers(1, 3).flatmap(
        lambda width: st.lists(st.lists(st.tuples(*[CELLS] * width), min_size=1, max_size=3), max_size=3)
    ),
    st.sampled_from([None, "\t", " ", "||"]),
)
def test_what_is_written_is_read_back(sequences: list[list[tuple[str, ...]]], separator: str | None) -> None:
    target = io.BytesIO()
    try:
        write_columns(target, sequences, separator=separator)
    except DataError:
        return
    target.seek(0)
    assert read_columns(target, separator=separator) == sequences


def test_what_cannot_be_written(tmp_path: Path) -> None:
    for sequences, problem in (
        ([[("a", "O")], []], "sequence 1 is empty"),
        ([[("a", "O")], [("b",)]], "row 0 of sequence 1 has 1 columns"),
        ([[("a b", "O")]], "not be read back"),
        ([[("", "O")]], "not be read back"),
        ([[("a", "O\n")]], "not be read back"),
        ([[("a\rb", "O")]], "not be read back"),
        ([[("-DOCSTART-", "O")]], "not be read back"),
        ([[()]], "not be read back"),
    ):
        with pytest.raises(DataError, match=problem):
            write_columns(tmp_path / "out", sequences)
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=100)
@given(
    st.one_of(st.binary(max_size=40), st.text(max_size=40), st.text(" \t\r\nab-", max_size=40)),
    st.sampled_from([None, "\t"]),
)
def test_any_text_is_read_or_refused(text: str | bytes, separator: str | None) -> None:
    source = io.BytesIO(text) if isinstance(text, bytes) else io.StringIO(text, newline="")
    try:
        sequences = read_columns(source, separator=separator)
    except FileFormatError:
        return
    assert all(sequences)
    assert len({len(row) for rows in sequences for row in rows}) <= 1


def test_the_chunking_template() -> None:
    rows = [("He", "PRP", "B-NP"), ("sat", "VBD", "B-VP"), ("down", "RB", "B-ADVP"), (".", ".", "O"), ("|", "SYM", "O")]
    template = chunking_template()
    assert len(template.attributes) == 19
    ((first, _, middle, _, last),) = apply_template([rows], template)
    assert middle == [
        *("w[-2]=He", "w[-1]=sat", "w[0]=down", "w[1]=.", "w[2]=|"),
        *("w[-1]|w[0]=sat|down", "w[0]|w[1]=down|."),
        *("pos[-2]=PRP", "pos[-1]=VBD", "pos[0]=RB", "pos[1]=.", "pos[2]=SYM"),
        *("pos[-2]|pos[-1]=PRP|VBD", "pos[-1]|pos[0]=VBD|RB", "pos[0]|pos[1]=RB|.", "pos[1]|pos[2]=.|SYM"),
        *("pos[-2]|pos[-1]|pos[0]=PRP|VBD|RB", "pos[-1]|pos[0]|pos[1]=VBD|RB|.", "pos[0]|pos[1]|pos[2]=RB|.|SYM"),
    ]
    assert first == [
        *("w[0]=He", "w[1]=sat", "w[2]=down", "w[0]|w[1]=He|sat", "pos[0]=PRP", "pos[1]=VBD", "pos[2]=RB"),
        *("pos[0]|pos[1]=PRP|VBD", "pos[1]|pos[2]=VBD|RB", "pos[0]|pos[1]|pos[2]=PRP|VBD|RB", "__BOS__"),
    ]
    assert last[-1] == "__EOS__"
    assert len(last) == 11


def by_the_definition(rows: list[tuple[str, ...]], template: Template) -> list[list[str]]:
    """The attributes of one sequence, position by position."""
    result = []
    for here in range(len(rows)):
        attributes = []
        for attribute in template.attributes:
            places = [(here + offset, column) for column, offset, _ in template.cells(attribute)]
            if all(0 <= place < len(rows) for place, _ in places):
                attributes.append(f"{attribute}={'|'.join(rows[place][column] for place, column in places)}")
        if template.ends:
            attributes += ["__BOS__"] * (here == 0) + ["__EOS__"] * (here == len(rows) - 1)
        result.append(attributes)
    return result


@given(
    st.lists(st.lists(st.tuples(st.text("ab|=", max_size=2), st.text("XY", max_size=1)), max_size=5), max_size=3),
    st.lists(st.lists(st.tuples(st.sampled_from(["w", "p"]), st.integers(-3, 3)), min_size=1, max_size=3), max_size=4),
    st.booleans(),
)
def test_any_template_gives_what_its_definition_says(sequences: Any, parts: Any, ends: bool) -> None:
    attributes = ["|".join(f"{column}[{offset}]" for column, offset in part) for part in parts]
    template = Template(("w", "p"), tuple(attributes), ends)
    assert apply_template(sequences, template) == [by_the_definition(rows, template) for rows in sequences]


def test_forms_of_words() -> None:
    attributes = [f"{form}(w[0])" for form in ("lower", "shape", "prefix2", "suffix3")]
    template = Template(("w",), ("lower(w[-1])|w[0]", *attributes), ends=False)
    (tokens,) = apply_template([[("Boeing-747s",), ("É",)]], template)
    assert tokens[0] == [*("lower(w[0])=boeing-747s", "shape(w[0])=Xx-dx", "prefix2(w[0])=Bo", "suffix3(w[0])=47s")]
    assert tokens[1] == [
        *("lower(w[-1])|w[0]=boeing-747s|É", "lower(w[0])=é", "shape(w[0])=X", "prefix2(w[0])=É", "suffix3(w[0])=É")
    ]


def test_the_default_template_serves_any_columns() -> None:
    for n_columns in (1, 2, 4):
        template = default_template(n_columns)
        assert len(template.columns) == n_columns
        rows = [tuple(f"v{column}" for column in range(n_columns))] * 3
        ((_, middle, _),) = apply_template([rows], template)
        assert all(any(f"=v{column}" in attribute for attribute in middle) for column in range(n_columns))
        assert len(set(template.attributes)) == len(template.attributes)


def test_templates_and_rows_that_do_not_fit() -> None:
    for attribute in ("w", "w[x]", "v[0]", "loud(w[0])", "lower(w[0]", "w[0]|", ""):
        with pytest.raises(ValueError, match="attribute"):
            Template(("w",), (attribute,))
    with pytest.raises(ValueError, match="one name"):
        Template(("w", "w"), ())
    with pytest.raises(DataError, match="row 1 of sequence 1 has 1 columns, the template names 2"):
        apply_template([[], [("a", "b"), ("c",)]], chunking_template())
    with pytest.raises(ValueError, match="column"):
        default_template(0)


def test_the_real_chunking_data(data_folder: Path) -> None:
    sequences = read_columns(data_folder / "conll2000_chunking" / "test.txt.gz")
    assert (len(sequences), sum(map(len, sequences))) == (2012, 47377)
    sample = sequences[:300]
    assert apply_template(sample, chunking_template()) == [by_the_definition(s, chunking_template()) for s in sample]


@pytest.mark.slow
def test_the_real_chunking_data_have_the_known_number_of_attributes(data_folder: Path) -> None:
    sequences = read_columns(data_folder / "conll2000_chunking" / "train.txt.gz")
    tokens = (token for tokens in apply_template(sequences, chunking_template()) for token in tokens)
    assert len({attribute for token in tokens for attribute in token}) == 335_674


def test_lines_of_rows(tmp_path: Path) -> None:
    text = "\n-DOCSTART- x\n\na b\nc d\n\n \t\ne f\n-DOCSTART- x\ng h"
    (tmp_path / "x").write_text(text)
    lines = text.split("\n")
    numbers = row_lines(tmp_path / "x")
    assert numbers == [[4, 5], [8], [10]]
    assert [[tuple(lines[n - 1].split()) for n in row] for row in numbers] == read_columns(tmp_path / "x")


def test_whole_numbers_are_cells_and_others_are_refused() -> None:
    target = io.StringIO()
    write_columns(target, [[("a", 1), (np.int32(2), "b")]])
    assert read_columns(io.StringIO(target.getvalue())) == [[("a", "1"), ("2", "b")]]
    for cell in (1.0, None, True, np.True_, b"x", ("x",)):
        with pytest.raises(DataError, match="row 1 of sequence 1: the cell .* is neither text nor a whole number"):
            write_columns(io.StringIO(), [[("a", "b")], [("a", "b"), ("a", cell)]])  # type: ignore[list-item]
