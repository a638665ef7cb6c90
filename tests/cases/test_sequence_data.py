"""Sequences at the edge: labels of any kind, nothing to learn from, lengths that do not fit."""

from __future__ import annotations

import io
import pickle
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maxmargin import SequenceSVM, load_model, save_model
from maxmargin.data import read_columns
from maxmargin.errors import DataError
from maxmargin.metrics import classification_report


@pytest.mark.parametrize("names", [(10, 20, 40), ("B-x", "I-x", "O"), (-1, 0, 1), (2.5, 0.5, 1.5)])
def test_labels_need_not_be_numbers_from_zero(names: tuple[Any, ...]) -> None:
    Y = [[names[k] for k in y] for y in ([0, 1, 2], [2, 2, 0, 1], [1], [0, 0, 2])]
    X = [np.array([np.eye(3)[names.index(label)] for label in y]) for y in Y]
    found = SequenceSVM(C=10.0, random_state=0).fit(X, Y).predict(X)
    assert found == Y
    assert all(type(label) is type(names[0]) for y in found for label in y)
    arrays = SequenceSVM(C=10.0, random_state=0).fit(X, [np.array(y) for y in Y])
    assert arrays.predict(X) == Y


def test_empty_sequences() -> None:
    empty, a, b = np.zeros((0, 2)), [1.0, 0.0], [0.0, 1.0]
    X: list[Any] = [empty, np.array([a, b, a]), empty, np.array([b, b])]
    Y = [[], ["A", "B", "A"], [], ["B", "B"]]
    model = SequenceSVM(C=10.0, random_state=0).fit(X, Y)
    assert model.predict(X) == Y
    assert model.skipped_ == [0, 2]
    np.testing.assert_array_equal(model.coef_, SequenceSVM(C=10.0, random_state=0).fit(X[1::2], Y[1::2]).coef_)
    for nothing in ([empty, empty], [[], []]):
        with pytest.raises(DataError, match="all sequences are empty: there is nothing to learn from"):
            SequenceSVM().fit(nothing, [[], []])
    with pytest.raises(DataError, match="X is empty: there is nothing to learn from"):
        SequenceSVM().fit([], [])


def test_lengths_that_differ_are_named_before_any_training() -> None:
    X = [np.eye(3), np.ones((4, 3)), np.eye(3)[:2]]
    Y = [["a", "b", "c"], ["a", "a", "b"], ["a", "b"]]
    called: list[Any] = []
    model = SequenceSVM(callback=lambda *args: called.append(args))
    with pytest.raises(DataError, match="sequence 1 has 4 tokens but 3 labels"):
        model.fit(X, Y)
    with pytest.raises(DataError) as caught:
        model.fit(X, [*Y, ["a"]])
    assert re.findall(r"\d+", str(caught.value)) == ["3", "4"]
    assert not called


def test_a_label_that_the_model_never_saw_counts_as_an_error() -> None:
    X = [[["x=A"], ["x=B"]], [["x=C"], ["x=A"], ["x=C"]]]
    model = SequenceSVM(C=10.0, random_state=0).fit(X, [["A", "B"], ["C", "A", "C"]])
    true = [["A", "B"], ["C", "A", "Z"]]
    report = classification_report(true, model.predict(X))
    assert report.labels["Z"].support == 1
    assert report.labels["Z"].recall == 0
    assert report.accuracy == model.score(X, true) == 4 / 5


def test_ranges_and_empty_nodes_of_conllu_are_no_words() -> None:
    lines = [
        "# sent_id = made-up-1",
        "1\tEr\ter\tPRON\t_\t_\t2\tnsubj\t_\t_",
        "2\tgeht\tgehen\tVERB\t_\t_\t0\troot\t_\t_",
        "3-4\tzum\t_\t_\t_\t_\t_\t_\t_\t_",
        "3\tzu\tzu\tADP\t_\t_\t5\tcase\t_\t_",
        "4\tdem\tder\tDET\t_\t_\t5\tdet\t_\t_",
        "5\tMarkt\tMarkt\tNOUN\t_\t_\t2\tobl\t_\tSpaceAfter=No",
        "5.1\tgeht\tgehen\tVERB\t_\t_\t_\t_\t2:conj\t_",
        "",
    ]
    (rows,) = read_columns(io.StringIO("\n".join(lines) + "\n"))
    assert [row[1] for row in rows] == ["Er", "geht", "zu", "dem", "Markt"]
    assert [int(row[6]) for row in rows] == [2, 0, 5, 5, 2]
    assert [row[7] for row in rows] == ["nsubj", "root", "case", "det", "obl"]


def test_loading_a_model_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path / "here")
    X = [np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 1.0]])]
    y = [["A", "B"], ["B"]]
    model = SequenceSVM(C=10.0, random_state=0).fit(X, y)
    data = pickle.dumps(model)
    save_model(model, tmp_path / "model")
    before = sorted(tmp_path.rglob("*"))
    for _ in range(50):
        assert pickle.loads(data).predict(X) == load_model(tmp_path / "model").predict(X) == y
    assert sorted(tmp_path.rglob("*")) == before
