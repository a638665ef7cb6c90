"""Features of words and spans against strings made one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maxmargin.decoders.cky import span_index
from maxmargin.errors import DataError
from maxmargin.structures.span_features import Rows, SpanFeatures, read_sentences, shape

SENTENCES = [
    ["The", "cats", "were", "sleeping", "in", "the", "sun", "."],
    ["Go"],
    ["Sleeping", "cats", ",", "42", "of", "them", ",", "were-seen", "in", "Rome"],
    ["In", "1999", "the", "cat", "slept"],
]
NEW = [["The", "unseen", "cats", "sleeping"], ["42"], ["Unbelievable", "RESULTS-99", "in"]]
WORD_VIEWS = {
    "word": (-2, -1, 0, 1, 2), "lower": (0,), "shape": (-1, 0, 1), "frequent": (-1, 0, 1),
    **{f"suffix {k}": (-1, 0, 1) for k in (1, 2, 3)}, **{f"prefix {k}": (0,) for k in (1, 2, 3)},
}  # fmt: skip


def value(view: str, word: str, known: set[str]) -> str:
    kind, _, number = view.partition(" ")
    if kind == "suffix":
        return word[-int(number) :]
    if kind == "prefix":
        return word[: int(number)]
    if view == "frequent":
        candidates = [f"={word}"] + ["-" + word[k:] for k in range(1, len(word)) if len(word) - k <= 6]
        return next((c for c in candidates if c in known), "?" + shape(word)[:3])
    return {"word": word, "lower": word.lower(), "shape": shape(word)}[view]


def expected(sentences: list[Any], features: SpanFeatures) -> tuple[list[set[str]], list[set[str]]]:
    """Names of the features of all words, and of all spans in order."""
    words: list[set[str]] = []
    spans: list[set[str]] = []
    frequent = set(features.vocabularies["frequent"])

    def at(sentence: list[Any], t: int, view: str) -> str:
        if not 0 <= t < len(sentence):
            return "(boundary)"
        if view.startswith("column "):
            return str(sentence[t][int(view[7:])])
        word = sentence[t] if isinstance(sentence[t], str) else sentence[t][0]
        return value(view, word, frequent)

    columns = [f"column {k}" for k in range(1, features.n_columns)]
    for sentence in sentences:
        n = len(sentence)
        for t in range(n):
            views = {**WORD_VIEWS, **dict.fromkeys(columns, (-2, -1, 0, 1, 2))}
            words.append(
                {f"{v}[{d:+d}] = {at(sentence, t + d, v)}" for v, ds in views.items() for d in ds if d}
                | {f"{v} = {at(sentence, t, v)}" for v in views}
            )
        for i in range(n):
            for j in range(i + 2, n + 1):
                places = {"first": i, "first+1": i + 1, "last": j - 1, "last-1": j - 2, "first-1": i - 1, "last+1": j}
                names = {
                    f"{v} of {p} = {at(sentence, t, v)}" for v in ("frequent", *columns) for p, t in places.items()
                }
                outer = {p: places[p] for p in ("first", "last", "first-1", "last+1")}
                names |= {f"shape of {p} = {at(sentence, t, 'shape')}" for p, t in outer.items()}
                length = j - i
                spans.append(names | {f"length {length if length < 6 else '6 to 7' if length < 8 else '8 to 10'}"})
    return words, spans


def named(rows: Rows, names: list[str]) -> list[set[str]]:
    assert rows.n_features == len(names) == len(set(names))
    return [{names[k] for k in rows.indices[lo:hi]} for lo, hi in zip(rows.indptr[:-1], rows.indptr[1:])]


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("min_count", [1, 2])
def test_features_are_those_of_the_definition(columns: bool, min_count: int) -> None:
    def with_columns(sentences: list[list[str]]) -> list[Any]:
        return [[(w, w[-1:], str(len(w))) for w in s] for s in sentences] if columns else sentences

    features = SpanFeatures.fit(read_sentences(with_columns(SENTENCES)), min_count=min_count, frequent=2)
    vocabulary = features.vocabularies
    assert {"=cats", "-eeping", "=in"} <= set(vocabulary["frequent"])
    assert "=Rome" not in vocabulary["frequent"]
    assert ("Rome" in vocabulary["word"]) == (min_count == 1)
    all_words, all_spans = features.names()
    for sentences in (with_columns(SENTENCES), with_columns(NEW), with_columns(NEW)[::-1]):
        words, spans = features.encode(read_sentences(sentences))
        assert (words.n_features, spans.n_features) == features.n_features
        wanted_words, wanted_spans = expected(sentences, features)
        assert named(words, all_words) == [names & set(all_words) for names in wanted_words]
        assert named(spans, all_spans) == [names & set(all_spans) for names in wanted_spans]
        lengths = [len(s) for s in sentences]
        assert np.diff(words.start).tolist() == lengths
        assert np.diff(spans.start).tolist() == [n * (n - 1) // 2 for n in lengths]
    # nothing of the training sentences is unknown
    if min_count == 1:
        words, spans = features.encode(read_sentences(with_columns(SENTENCES)))
        assert (np.diff(words.indptr) == 24 + 10 * columns).all()
        assert (np.diff(spans.indptr) == 11 + 12 * columns).all()


def test_spans_stand_in_the_order_of_the_decoder() -> None:
    features = SpanFeatures.fit(read_sentences(SENTENCES))
    n = len(SENTENCES[0])
    _, spans = features.encode(read_sentences(SENTENCES[:1]))
    names = named(spans, features.names()[1])
    for i in range(n):
        for j in range(i + 2, n + 1):
            before = SENTENCES[0][i - 1] if i else None
            shown = f"shape of first-1 = {shape(before) if before else '(boundary)'}"
            assert shown in names[span_index(i, j, n)]


def test_no_sentences_at_all() -> None:
    features = SpanFeatures.fit(read_sentences([[("a", "b")]]))
    words, spans = features.encode(read_sentences([]))
    assert words.start.tolist() == spans.start.tolist() == [0]
    assert len(words.indices) == len(spans.indices) == 0


@pytest.mark.parametrize(
    ("X", "what"),
    [
        ("the cat", "X must be a list of sentences, not a str"),
        ([["a"], "the cat"], "sentence 1 is a str"),
        ([["a"], 3], "sentence 1 is a int"),
        ([["a"], []], "sentence 1 has no words"),
        ([["a"], ["b", 3]], "sentence 1, word 1 is 3"),
        ([["a"], [("b", "c")]], "sentence 1, word 0 is"),
        ([[("a", "b"), ("c",)]], "sentence 0, word 1 is"),
        ([[("a", "b")], [("c", 1)]], "sentence 1, word 0 is"),
        ([[()]], "sentence 0, word 0 is"),
    ],
)
def test_what_is_no_sentence_is_refused(X: Any, what: str) -> None:
    with pytest.raises(DataError, match=what):
        read_sentences(X)


def test_columns_must_be_those_of_the_training_sentences() -> None:
    features = SpanFeatures.fit(read_sentences([[("a", "b")]]))
    with pytest.raises(DataError, match="0 further columns; the training sentences had 1"):
        features.encode(read_sentences([["a"]]))


def test_vocabularies_that_contradict_themselves_are_refused() -> None:
    vocabularies = SpanFeatures.fit(read_sentences(SENTENCES)).vocabularies
    for changed, what in (
        ({**vocabularies, "column 2": ["x"]}, "column 1"),
        ({**vocabularies, "suffix 9": ["x"]}, "column 1"),
        ({name: values for name, values in vocabularies.items() if name != "shape"}, "shape"),
        ({**vocabularies, "lower": ["a", "b", "a"]}, "'lower' of words lists a value twice"),
    ):
        with pytest.raises(DataError, match=what):
            SpanFeatures(changed)


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("least", [1, 2, 4])
@pytest.mark.parametrize("weight", [[2] * 4, [1, 3, 1, 2], [0, 2, 1, 0], [1] * 4])
def test_a_weight_counts_as_copies(columns: bool, least: int, weight: list[int]) -> None:
    sentences = [[(word, word[:1]) for word in sentence] for sentence in SENTENCES] if columns else SENTENCES
    copies = [sentence for sentence, k in zip(sentences, weight, strict=True) for _ in range(k)]
    for options in ({"min_count": least}, {"frequent": least}, {"min_count": least, "frequent": 3}):
        weighted = SpanFeatures.fit(read_sentences(sentences), sample_weight=np.array(weight, float), **options)
        assert weighted.vocabularies == SpanFeatures.fit(read_sentences(copies), **options).vocabularies


def test_fractions_of_counts_add_up() -> None:
    sentences = read_sentences([["the", "cat"], ["the", "cats"], ["a", "cat"]])
    weighted = SpanFeatures.fit(sentences, min_count=2, frequent=2, sample_weight=np.array([1.5, 0.5, 0.25]))
    assert weighted.vocabularies["word"] == ["the"]
    assert set(weighted.vocabularies["frequent"]) == {"=the", "?xx"}  # "=cat" and "-t" have 1.75
    light = SpanFeatures.fit(sentences, sample_weight=np.full(3, 0.1))  # 1 is no threshold
    assert light.vocabularies["word"] == ["the", "cat", "cats", "a"]
    with pytest.raises(DataError, match=r"sample_weight has shape \(2,\); .* each of the 3 sentences"):
        SpanFeatures.fit(sentences, sample_weight=np.ones(2))
