"""Scores of labels, spans and brackets."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin.data import Tree, parse_tree
from maxmargin.errors import DataError
from maxmargin.metrics import (
    Score,
    bracket_scores,
    classification_report,
    ndcg,
    precision_at,
    sequence_error,
    span_scores,
    token_error,
)


def test_a_label_that_no_model_knows_is_shown_and_counts_as_an_error() -> None:
    true = [["A", "B"], ["C", "A", "Z"]]
    pred = [["A", "B"], ["C", "B", "C"]]
    report = classification_report(true, pred)
    assert report.accuracy == 3 / 5
    assert {label: score.recall for label, score in report.labels.items()} == {"A": 0.5, "B": 1, "C": 1, "Z": 0}
    assert report.labels["Z"] == Score(support=1, predicted=0, correct=0)
    row = next(line for line in report.table().splitlines() if line.startswith("Z"))
    assert row.split() == ["Z", "0.0000", "0.0000", "0.0000", "1", "0"]
    assert token_error(true, pred) == pytest.approx(2 / 5)
    assert sequence_error(true, pred) == 1 / 2


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30))
def test_scores_of_labels_are_those_of_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    from sklearn.metrics import accuracy_score, f1_score, precision_recall_fscore_support

    true, pred = map(list, zip(*pairs))
    report = classification_report(true, pred)
    labels = sorted({*true, *pred})
    assert list(report.labels) == labels
    ours = [(s.precision, s.recall, s.f1, s.support) for s in report.labels.values()]
    theirs = precision_recall_fscore_support(true, pred, labels=labels, zero_division=0.0)
    assert np.allclose(ours, np.transpose(theirs))
    assert report.accuracy == pytest.approx(accuracy_score(true, pred))
    assert report.macro_f1 == pytest.approx(f1_score(true, pred, average="macro", zero_division=0.0))
    assert token_error(np.array(true), np.array(pred)) == pytest.approx(1 - report.accuracy)


@pytest.mark.parametrize("container", [list, tuple, np.array])
def test_containers_make_no_difference(container: Any) -> None:
    true, pred = [["A", "B"], ["C"]], [["A", "C"], ["C"]]
    as_given = [container(labels) for labels in true], [container(labels) for labels in pred]
    assert classification_report(*as_given) == classification_report(true, pred)
    assert span_scores([container(["B-X", "O"])], [["B-X", "O"]]).overall.f1 == 1
    flat = classification_report(container(["A", "B", "C"]), container(["A", "C", "C"]))
    assert flat == classification_report(true, pred)


SWAPPED = [("a", 1), ("a", 2)], [("a", 2), ("a", 1)]


def test_tuples_are_labels_where_that_is_said() -> None:
    report = classification_report(*SWAPPED, nested=False)
    assert (report.accuracy, report.total, list(report.labels)) == (0.0, 2, SWAPPED[0])
    assert token_error(*SWAPPED, nested=False) == 1.0
    assert sequence_error(*SWAPPED, nested=False) == 1.0
    report = classification_report(*SWAPPED, nested=True)
    assert (report.accuracy, report.total, list(report.labels)) == (0.5, 4, [1, 2, "a"])
    assert token_error(*SWAPPED, nested=True) == 0.5
    assert sequence_error(*SWAPPED, nested=True) == 1.0


@pytest.mark.parametrize("metric", [classification_report, token_error, sequence_error])
def test_tuples_that_may_be_either_are_refused(metric: Any) -> None:
    for pair in (SWAPPED, ([("A", "B")], [("A", "C")]), ([("a",)], [("b",)])):
        with pytest.raises(DataError, match="nothing but tuples of one length, .*: give nested=False or nested=True"):
            metric(*pair)


def test_tuples_beside_others_are_what_these_are() -> None:
    assert token_error([("A", "B"), ("A", "C")], [["A", "B"], ["A", "A"]]) == 1 / 4
    assert token_error(np.array([["A", "B"], ["A", "C"]]), [("A", "B"), ("A", "A")]) == 1 / 4
    assert token_error([("A", "B"), ("A",)], [("A", "B"), ("C",)]) == 1 / 3
    assert token_error([("a", 1), None, ("b", 1)], [("a", 1), ("a", 1), ("b", 2)]) == 2 / 3
    assert token_error([[("a", 1)], [("b", 1)]], [[("a", 1)], [("b", 2)]]) == 1 / 2
    assert span_scores([("B-X", "O")], [("B-X", "O")]).overall.f1 == 1


def test_sequences_and_labels_are_what_is_said_of_them() -> None:
    assert token_error(["A", "B"], ["A", "C"], nested=False) == token_error([["A"], ["B"]], [["A"], ["C"]], nested=True)
    with pytest.raises(DataError, match="nested=True, but y_true or y_pred holds labels"):
        token_error(["A", "B"], ["A", "C"], nested=True)
    with pytest.raises(DataError, match="nested=False, but y_true or y_pred holds sequences of labels"):
        token_error([["A"], ["B"]], [["A"], ["C"]], nested=False)


def test_tables_fit_their_width() -> None:
    labels = ["a" * 200, "b", "", " c", "new\nline", "日本"]
    report = classification_report(labels, labels[::-1])
    for width in (60, 79, 200):
        lines = report.table(width).splitlines()
        assert max(map(len, lines)) <= width
        assert len(lines) == 1 + len(labels) + 2
    assert "a" * 20 + "..." not in report.table(300)
    for shown in ("''", "' c'", "'new\\nline'", "日本"):
        assert any(line.startswith(shown) for line in report.table().splitlines())
    mixed = classification_report([1, "a", None], ["a", 1, None])
    assert [line.split()[0] for line in mixed.table().splitlines()[1:4]] == ["None", "1", "a"]


@pytest.mark.parametrize("metric", [classification_report, token_error, sequence_error, span_scores])
def test_lengths_and_empty_data(metric: Any) -> None:
    with pytest.raises(DataError, match="sequence 1: y_true has 2 labels, y_pred 3"):
        metric([["O"], ["O", "O"]], [["O"], ["O", "O", "O"]])
    with pytest.raises(DataError, match="y_true has 1 sequences, y_pred 2"):
        metric([["O"]], [["O"], ["O"]])
    with pytest.raises(DataError, match="y_true has 3 labels, y_pred 2"):
        metric(["O", "O", "O"], ["O", "O"])
    for empty in ([], [[]], [[], []], np.zeros(0)):
        with pytest.raises(DataError, match="no labels"):
            metric(empty, empty)
    with pytest.raises(DataError, match="mixed"):
        metric([["O"], "O"], [["O"], "O"])
    with pytest.raises(DataError, match="y_pred must be a list"):
        metric(["O"], "O")


def test_empty_sequences_among_others_are_right() -> None:
    assert sequence_error([[], ["A"]], [[], ["B"]]) == 1 / 2
    assert token_error([[], ["A"]], [[], ["B"]]) == 1


def test_spans_by_hand() -> None:
    true = [["B-NP", "I-NP", "O", "B-VP"], ["B-NP", "B-NP"]]
    pred = [["I-NP", "I-NP", "O", "B-NP"], ["B-NP", "I-NP"]]
    scores = span_scores(true, pred)
    assert scores.types == {"NP": Score(3, 3, 1), "VP": Score(1, 0, 0)}
    assert scores.overall == Score(4, 3, 1)
    assert (scores.overall.precision, scores.overall.recall, scores.overall.f1) == (1 / 3, 1 / 4, 2 / 7)
    assert scores.accuracy == pytest.approx(3 / 6)
    assert [line.split()[0] for line in scores.table().splitlines()[1:4]] == ["NP", "VP", "all"]
    none = span_scores([["O"]], [["O"]])
    assert (none.overall.f1, none.accuracy) == (0, 1)
    with pytest.raises(DataError, match="y_pred, sequence 1: label 'NN' at 0"):
        span_scores([["O"], ["O"]], [["O"], ["NN"]])


def test_equal_spans_of_different_sequences_are_not_matched() -> None:
    assert span_scores([["B-X"], ["O"]], [["O"], ["B-X"]]).overall == Score(1, 1, 0)


def test_brackets_by_hand() -> None:
    true = [parse_tree("(ROOT (S (NP (D a) (N b)) (VP (V c) (NP (N d)))))"), parse_tree("(X (X (X (A a) (B b))))")]
    pred = [parse_tree("(ROOT (S (NP (Q a)) (VP (N b) (V c) (NP (N d)))))"), parse_tree("(X (X (A a) (B b)))")]
    scores = bracket_scores(true, pred)
    assert scores.labels == {"NP": Score(2, 2, 1), "S": Score(1, 1, 1), "VP": Score(1, 1, 0), "X": Score(3, 2, 2)}
    assert scores.overall == Score(7, 6, 4)
    assert scores.exact == 0
    assert bracket_scores(true, pred, ignore=["X"]).overall == Score(5, 5, 3)
    assert bracket_scores(true, true) == bracket_scores(true, [parse_tree(str(tree)) for tree in true])
    assert bracket_scores(true, true).exact == 1
    retagged = bracket_scores(true[:1], [parse_tree("(TOP (S (NP (X a) (Y b)) (VP (Z c) (NP (W d)))))")])
    assert (retagged.overall.f1, retagged.exact) == (1, 1)
    assert "exactly right 0.0000 of 2 trees" in scores.table()


def test_trees_that_cannot_be_compared() -> None:
    tree = parse_tree("(S (A a) (B b))")
    with pytest.raises(DataError, match="tree 1: the true tree has 2 words, the predicted one 1"):
        bracket_scores([tree, tree], [tree, parse_tree("(S (A a))")])
    with pytest.raises(DataError, match="2 true trees and 1 predicted"):
        bracket_scores([tree, tree], [tree])
    with pytest.raises(DataError, match="no trees"):
        bracket_scores([], [])


@st.composite
def parses_of_one_sentence(draw: Any) -> Tree:
    """A random tree over four words, with unary chains."""

    def build(start: int, stop: int) -> Tree:
        if stop - start == 1:
            tree = Tree("T", (f"w{start}",))
        else:
            cut = draw(st.integers(start + 1, stop - 1))
            tree = Tree(draw(st.sampled_from("XY")), (build(start, cut), build(cut, stop)))
        return Tree(draw(st.sampled_from("XY")), (tree,)) if draw(st.booleans()) else tree

    return build(0, 4)


@given(parses_of_one_sentence(), parses_of_one_sentence())
def test_brackets_are_matched_one_to_one(true: Tree, pred: Tree) -> None:
    """The number of correct brackets, counted by striking out one true bracket for each that matches it."""
    left = [span for span in true.spans(preterminals=True) if span[0] != "T"]
    found = [span for span in pred.spans(preterminals=True) if span[0] != "T"]
    correct, free = 0, list(left)
    for span in found:
        if span in free:
            free.remove(span)
            correct += 1
    scores = bracket_scores([true], [pred])
    assert scores.overall == Score(len(left), len(found), correct)
    assert scores.exact == (Counter(left) == Counter(found))


@pytest.mark.parametrize("empty", [float("nan"), float("inf"), "z", "1", True, [0.0]])
def test_what_a_query_without_relevant_documents_counts_is_a_number(empty: Any) -> None:
    for grades in ([1, 0], [0, 0]):
        with pytest.raises(ValueError, match="empty must be a finite number or None, not "):
            ndcg(grades, [0.5, 0.1], empty=empty)
    assert ndcg([0, 0], [0.5, 0.1], empty=np.float32(0.5)) == 0.5


@pytest.mark.parametrize("relevant", [float("nan"), "z", None])
def test_the_lowest_relevant_grade_is_a_number(relevant: Any) -> None:
    with pytest.raises(ValueError, match="relevant must be a number, not "):
        precision_at([1, 0], [0.5, 0.1], relevant=relevant)


@pytest.mark.parametrize("gain", ["cubic", ["linear"], np.array(["linear", "exponential"])])
def test_the_gain_is_one_of_two(gain: Any) -> None:
    with pytest.raises(ValueError, match="gain must be 'linear' or 'exponential', not "):
        ndcg([1, 0], [0.5, 0.1], gain=gain)
