"""``maxmargin inspect`` shows what is in a model, for people and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from maxmargin import MulticlassSVM, SequenceSVM, StructuredSVM, load_model, save_model
from maxmargin.cli.weights import strongest, strongest_transitions
from maxmargin.structures.multiclass import Multiclass

Run = Callable[..., Any]


def test_sequences_as_json(ok: Run, columns: str) -> None:
    ok("train", columns, "-o", "m")
    model, found = load_model("m"), json.loads(ok("inspect", "m", "--json", "--top", "2").out)
    assert (found["task"], found["estimator"], found["labels"]) == ("sequence", "SequenceSVM", model.classes_)
    assert found["certificate"] == model.certificate_.as_dict()
    assert found["parameters"] == model.get_params()
    assert found["transitions"] == model.transition_.tolist()
    assert (found["initial"], found["final"]) == (model.initial_.tolist(), model.final_.tolist())
    assert found["features"] == len(model.attributes_)
    assert found["size"] == Path("m").stat().st_size
    assert found["data"]["template"]["columns"] == ["w", "c1"]
    for k, entry in enumerate(found["strongest_features"]):
        assert entry["label"] == model.classes_[k]
        assert len(entry["features"]) == 2
        for name, weight in entry["features"]:
            assert weight == model.emission_[model.attributes_.index(name), k]
        assert abs(entry["features"][0][1]) == np.abs(model.emission_[:, k]).max()
    before, after, weight = found["strongest_transitions"][0]
    assert weight == model.transition_[model.classes_.index(before), model.classes_.index(after)]
    assert abs(weight) == np.abs(model.transition_).max()


def test_classes_as_json(ok: Run, folder: Path) -> None:
    for option, shift in (([], 1), (["--zero-based"], 0)):
        Path("x.svm").write_text(f"1 {shift}:3\n2 {shift + 1}:2\n3 {shift + 2}:1\n")
        ok("train", "x.svm", "-o", "m", *option)
        model, found = load_model("m"), json.loads(ok("inspect", "m", "--json").out)
        assert found["labels"] == [1, 2, 3]
        assert found["intercept"] == model.intercept_.tolist()
        for k, entry in enumerate(found["strongest_features"]):
            assert entry["features"] == [
                [column + shift, model.coef_[k, column]]
                for column in np.argsort(-np.abs(model.coef_[k]), kind="stable").tolist()
                if model.coef_[k, column]
            ]


def test_for_people(ok: Run, columns: str, svm: str) -> None:
    ok("train", columns, "-o", "m", "--template", "chunking")
    out, model = ok("inspect", "m", "--top", "1").out, load_model("m")
    lines = out.splitlines()
    assert lines[0].startswith("m: SequenceSVM (")
    assert lines[0].endswith("), task sequence")
    assert lines[1] == "data        format columns  data train.conll  columns 2"
    assert lines[2] == "labels      3: B-NP  I-NP  O"
    assert "C=1.0  callback=None" in lines[4]
    for line in str(model.certificate_).splitlines():
        assert line in out
    strongest_of_first = np.abs(model.emission_[:, 0]).argmax()
    assert f"\nB-NP\n  {model.emission_[strongest_of_first, 0]:10.4f}  {model.attributes_[strongest_of_first]}\n" in out
    table = out[out.index("transitions (row: from, column: to)") :].splitlines()
    assert table[1].split() == model.classes_
    for row, line in zip(model.transition_, table[2:], strict=True):
        assert [float(text) for text in line.split()[1:]] == pytest.approx(row, abs=1e-4)
    ok("train", svm, "-o", "m")
    assert "\n-1\n" in ok("inspect", "m").out


def test_many_labels_show_their_strongest_transitions(ok: Run, folder: Path) -> None:
    X = [[[f"w={t % 13}"] for t in range(30)]]
    save_model(SequenceSVM(random_state=0).fit(X, [[f"L{t % 13}" for t in range(30)]]), "m")
    out = ok("inspect", "m", "--top", "3").out
    assert "strongest transitions (--json has all)" in out
    assert out.count(" -> ") == 6


def test_top_may_be_nothing(ok: Run, columns: str) -> None:
    ok("train", columns, "-o", "m")
    assert "w[0]" not in ok("inspect", "m", "--top", "0").out


def test_odd_labels_and_figures_are_json(ok: Run, folder: Path) -> None:
    y = [[(1, "a"), np.float32(0.5)], [(1, "a"), float("inf")]]
    model = SequenceSVM(random_state=0, solver="perceptron", loss=1 - np.eye(3), forbidden={((1, "a"), (1, "a"))})
    save_model(model.fit([[["x"], ["y"]], [["x"], ["z"]]], y), "m")
    found = json.loads(ok("inspect", "m", "--json").out, parse_constant=pytest.fail)
    assert sorted(map(str, found["labels"])) == ["0.5", "None", "[1, 'a']"]
    assert found["parameters"]["loss"] == (1 - np.eye(3)).tolist()
    assert found["parameters"]["forbidden"] == [[[1, "a"], [1, "a"]]]


def test_names_of_columns(ok: Run, folder: Path) -> None:
    pandas = pytest.importorskip("pandas")
    save_model(MulticlassSVM(random_state=0).fit(pandas.DataFrame({"a": [0.0, 1.0], "b": [1.0, 0.0]}), [0, 1]), "m")
    found = json.loads(ok("inspect", "m", "--json").out)
    assert {name for name, _ in found["strongest_features"][0]["features"]} == {"a", "b"}


def test_a_structure_of_ones_own_cannot_be_shown(run: Run, folder: Path) -> None:
    save_model(StructuredSVM(Multiclass(2), random_state=0).fit(np.eye(2), np.array([0, 1])), "m")
    outcome = run("inspect", "m")
    assert outcome.status == 2
    assert outcome.error.startswith("m: holds a StructuredSVM; its structure is code and not in the file")


@given(
    arrays.arrays(float, st.tuples(st.integers(0, 8), st.integers(1, 3)), elements=st.sampled_from([0.0, -2, 1, 2, 3])),
    st.integers(0, 9),
)
def test_the_strongest_come_first(weights: Any, top: int) -> None:
    names, labels = [f"f{k}" for k in range(len(weights))], [*range(weights.shape[1])]
    for k, entry in enumerate(strongest(weights, names, labels, top)):
        ranked = sorted(range(len(weights)), key=lambda row: (-abs(weights[row, k]), row))
        ranked = [row for row in ranked if weights[row, k]][:top]
        assert entry == {"label": k, "features": [[names[row], weights[row, k]] for row in ranked]}


def test_the_strongest_transitions_name_both_ends() -> None:
    found = strongest_transitions(np.array([[0.0, -3.0], [2.0, 1.0]]), ["a", "b"], 2)
    assert found == [["a", "b", -3.0], ["b", "a", 2.0]]
