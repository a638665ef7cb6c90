"""Spans and the schemes that label them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin.data import Span, convert_labels, detect_scheme, label_spans, read_columns, span_labels, split_labels
from maxmargin.errors import DataError

SCHEMES = ("IOB1", "IOB2", "BIOES")
LABELS = st.sampled_from(["O", *(f"{letter}-{kind}" for letter in "BIES" for kind in "XY"), "B", "I"])


@st.composite
def spans_and_length(draw: Any) -> tuple[list[Span], int]:
    spans, at = [], 0
    for gap, size, kind in draw(
        st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3), st.sampled_from(["X", "Y-Z"])))
    ):
        spans.append(Span(kind, at + gap, at + gap + size))
        at += gap + size
    return spans, at + draw(st.integers(0, 2))


@given(spans_and_length(), st.sampled_from(SCHEMES))
def test_spans_are_their_labels_in_every_scheme(case: tuple[list[Span], int], scheme: Any) -> None:
    spans, length = case
    labels = span_labels(spans, length, scheme)
    assert len(labels) == length
    assert label_spans(labels) == spans
    for other in SCHEMES:
        assert convert_labels(convert_labels(labels, other), scheme) == labels
    assert span_labels(label_spans(labels), length, detect_scheme([labels])) == labels


def test_each_scheme_by_hand() -> None:
    spans = [("A", 0, 1), ("A", 1, 3), ("B", 3, 4), ("A", 5, 8)]
    assert span_labels(spans, 8, "IOB1") == ["I-A", "B-A", "I-A", "I-B", "O", "I-A", "I-A", "I-A"]
    assert span_labels(spans, 8, "IOB2") == ["B-A", "B-A", "I-A", "B-B", "O", "B-A", "I-A", "I-A"]
    assert span_labels(spans, 8, "BIOES") == ["S-A", "B-A", "E-A", "S-B", "O", "B-A", "I-A", "E-A"]
    assert label_spans(["U-A", "B-A", "L-A", "M-B"]) == [("A", 0, 1), ("A", 1, 3), ("B", 3, 4)]


ENDS = {("B", "B"), ("B", "S"), ("B", "O"), ("I", "B"), ("I", "S"), ("I", "O")}
STARTS = {("E", "E"), ("E", "I"), ("S", "E"), ("S", "I"), ("O", "E"), ("O", "I")}


def scorer_spans(labels: list[str]) -> list[tuple[str, int, int]]:
    """The rules as the shared tasks' scorer has them: pairs of tags that end a span, and pairs that begin one."""
    spans, start = [], -1
    tags = [("O", ""), *((label + "-").split("-")[:2] for label in labels), ("O", "")]
    for here, ((tag0, type0), (tag1, type1)) in enumerate(pairwise(tags)):
        if start >= 0 and ((tag0, tag1) in ENDS or tag0 in "ES" or (tag0 != "O" and type0 != type1)):
            spans.append((type0, start, here))
            start = -1
        if (tag0, tag1) in STARTS or tag1 in "BS" or (tag1 != "O" and type0 != type1):
            start = here
    return spans


@given(st.lists(LABELS, max_size=8))
def test_any_labels_have_the_spans_that_the_scorer_counts(labels: list[str]) -> None:
    assert label_spans(labels) == scorer_spans(labels)


def test_labels_of_no_scheme() -> None:
    with pytest.raises(DataError, match="'NN' at 1"):
        label_spans(["O", "NN"])
    with pytest.raises(DataError, match="3 at 0"):
        label_spans([3])  # type: ignore[list-item]
    assert detect_scheme([["I-A", "I-A"], []]) == "IOB1"
    assert detect_scheme([["B-A", "I-A"], ["O"]]) == "IOB2"
    assert detect_scheme([["B-A", "L-A", "U-A"]]) == "BIOES"
    with pytest.raises(DataError, match="no scheme") as caught:
        detect_scheme([["B-A"], ["O", "I-A"]])
    assert "IOB2 has 'B-A' instead of 'I-A' at 1 of sequence 1" in str(caught.value)
    with pytest.raises(ValueError, match="scheme"):
        convert_labels(["O"], "IOB3")  # type: ignore[arg-type]


@pytest.mark.parametrize("spans", [[("A", 0, 2), ("B", 1, 3)], [("A", 2, 2)], [("A", 2, 4)], [("A", -1, 1)]])
def test_spans_that_cannot_be_labelled(spans: list[tuple[str, int, int]]) -> None:
    with pytest.raises(DataError, match="Span"):
        span_labels(spans, 3)


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("conll2000_chunking/test.txt.gz", "IOB2"),
        ("wnut17_ner/dev.conll.gz", "IOB2"),
        ("wikigold_ner/wikigold.conll.txt.gz", "IOB1"),
    ],
)
def test_the_schemes_of_real_data(data_folder: Path, name: str, scheme: str) -> None:
    _, labels = split_labels(read_columns(data_folder / name))
    assert detect_scheme(labels) == scheme
