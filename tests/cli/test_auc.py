"""``--task auc``: two classes, judged by the area under the ROC curve and by accuracy."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, roc_auc_score

from maxmargin import AUCClassifier, load_model
from maxmargin.data import read_svmlight

Run = Callable[..., Any]


@pytest.fixture
def rows(folder: Path) -> str:
    """Few rows of the class 2 and many of -1, written to ``train.svm`` and ``test.svm``."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 3)).round(3)
    y = np.where(X @ [1.0, -1.0, 0.5] + rng.normal(size=160) > 1.5, 2, -1)
    lines = [f"{label} " + " ".join(f"{k}:{v}" for k, v in enumerate(x, 1)) for label, x in zip(y, X)]
    Path("train.svm").write_text("\n".join(lines[:100]) + "\n")
    Path("test.svm").write_text("\n".join(lines[100:]) + "\n")
    return "train.svm"


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        ("", {}),
        (
            "-C 0.01 --C-per pair --loss squared_hinge --tol 1e-6 --max-passes 900 --max-time 60",
            dict(C=0.01, C_per="pair", loss="squared_hinge", tol=1e-6, max_passes=900, max_time=60.0),
        ),
        ("--class-weight balanced", {"class_weight": "balanced"}),
        ("--solver bundle", {"solver": "bundle"}),
    ],
)
def test_a_model_is_the_one_of_the_library(options: str, parameters: Any, ok: Run, rows: str) -> None:
    out = ok("train", rows, "-o", "m", "--task", "auc", "--test", "test.svm", *options.split()).out
    train, test = (read_svmlight(name, labels="number") for name in (rows, "test.svm"))
    expected = AUCClassifier(**parameters).fit(train.X, train.y.astype(int))
    assert load_model("m").get_params() == expected.get_params()
    np.testing.assert_array_equal(load_model("m").coef_, expected.coef_)
    assert ok("predict", "m", "test.svm").out.split() == [str(label) for label in expected.predict(test.X)]
    scored = [line.split("\t") for line in ok("predict", "--scores", "m", "test.svm").out.splitlines()]
    assert [float(score) for _, score in scored] == expected.decision_function(test.X).tolist()
    area = roc_auc_score(test.y, expected.decision_function(test.X))
    accuracy = accuracy_score(test.y, expected.predict(test.X))
    assert f"accuracy {accuracy:.4f} of 60" in out
    assert out.endswith(f"\nAUC   {area:.4f}  (2 above -1)\n")
    assert ok("evaluate", "m", "test.svm").out == out
    ok("predict", "--scores", "m", "test.svm", "-o", "p")
    assert ok("evaluate", "--predictions", "p", "test.svm", "--task", "auc").out == out


def test_solvers_side_by_side(ok: Run, rows: str) -> None:
    train, test = (read_svmlight(name, labels="number") for name in (rows, "test.svm"))
    out = ok("compare", rows, "-q", "--task", "auc", "--test", "test.svm", "--solvers", "newton,bundle").out
    _, *lines, measure = out.splitlines()
    assert measure == "test: 1 - AUC"
    for name, line in zip(("newton", "bundle"), lines, strict=True):
        model = AUCClassifier(solver=name).fit(train.X, train.y.astype(int))
        area = roc_auc_score(test.y, model.decision_function(test.X))
        cells = line.split()
        assert (cells[0], cells[1]) == (name, str(model.certificate_.passes))
        assert float(cells[7]) == pytest.approx(1.0 - area, abs=6e-5)


def test_what_a_model_shows(ok: Run, rows: str) -> None:
    ok("train", rows, "-o", "m", "--task", "auc")
    found = json.loads(ok("inspect", "--json", "m").out)
    model = load_model("m")
    assert (found["task"], found["estimator"], found["labels"]) == ("auc", "AUCClassifier", [-1, 2])
    assert (found["features"], found["intercept"]) == (3, model.intercept_.tolist())
    assert found["strongest_features"][0]["label"] == "2 (against -1)"
    out = ok("inspect", "m").out
    assert "C_per='row'" in out
    assert "task auc" in out
    ok("train", rows, "-o", "m2", "--warm-start", "m", "-C", "2")
    assert load_model("m2").C == 2.0


@pytest.mark.parametrize(
    ("true", "predicted", "end"),
    [
        ("b 1:1\na 1:1\n", "b\t2\na\t-1\n", "AUC   1.0000  (b above a)"),
        ("10 1:1\n9 1:1\n", "10\t2\n9\t-1\n", "AUC   1.0000  (10 above 9)"),
        ("1 1:1\n0 1:1\n1 1:1\n", "1\t0.5\n1\t0.5\n0\t-3\n", "AUC   0.2500  (1 above 0)"),
        ("1 1:1\n0 1:1\n", "1\n0\n", "AUC   -  (predictions have no scores: predict --scores writes them)"),
        ("1 1:1\n1 1:1\n", "1\t2\n0\t-1\n", "AUC   -  (it is of two classes; there is 1)"),
        ("1 1:1\n2 1:1\n3 1:1\n", "1\t2\n2\t1\n2\t1\n", "AUC   -  (it is of two classes; there are 3)"),
    ],
)
def test_predictions_in_a_file(true: str, predicted: str, end: str, ok: Run, folder: Path) -> None:
    Path("true.svm").write_text(true)
    out = ok("evaluate", "--predictions", "-", "true.svm", "--task", "auc", stdin=predicted).out
    assert out.splitlines()[-1] == end


def test_classes_that_a_model_does_not_know_or_meet(ok: Run, rows: str) -> None:
    """Rows of other classes are errors, and have no part in the area."""
    ok("train", rows, "-o", "m", "--task", "auc")
    both = ok("evaluate", "m", "test.svm").out.splitlines()[-1]
    text = Path("test.svm").read_text()
    out = ok("evaluate", "m", "-", stdin=text + "7 1:1\n").out.splitlines()
    assert out[-1] == both
    assert out[-2].endswith("of 61, mean F1 " + out[-2].split()[-1])
    only = "".join(line for line in text.splitlines(keepends=True) if line.startswith("2"))
    assert ok("evaluate", "m", "-", stdin=only).out.endswith("AUC   -  (no row of -1, or none of 2)\n")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ("train train.svm -o m --task auc --kernel rbf", "--kernel cannot go with task auc"),
        ("train train.svm -o m --task auc --seed 3", "--seed cannot go with task auc"),
        ("train train.svm -o m --task binary --C-per pair", "--C-per cannot go with task binary; it is for auc"),
        ("train three.svm -o m --task auc", "three.svm: 3 labels (1, 2, 3), but --task auc learns two"),
        ("train one.svm -o m --task auc", "one.svm: one label only (1), but --task auc learns two"),
        ("evaluate --predictions odd train.svm --task auc", "odd:2: a score that is not a number: '2\\tx'"),
    ],
)
def test_what_is_refused(argv: str, message: str, run: Run, rows: str) -> None:
    Path("three.svm").write_text("1 1:1\n2 1:2\n3 1:1\n")
    Path("one.svm").write_text("1 1:1\n1 1:2\n")
    Path("odd").write_text("2\t1\n2\tx\n")
    done = run(*argv.split(), "-q")
    assert done.status == 2
    assert message in done.error
    assert not Path("m").exists()
