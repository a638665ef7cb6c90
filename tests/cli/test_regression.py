"""``--task regression``: values of rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score

from maxmargin import SVMRegressor, load_model, save_model
from maxmargin.data import read_svmlight

Run = Callable[..., Any]


@pytest.fixture
def values(folder: Path) -> str:
    """Rows with a value each."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)).round(3)
    y = (X @ [2.0, 0.0, -1.0] + 0.5 + 0.2 * rng.normal(size=40)).round(4)
    (folder / "values.svm").write_text(
        "".join(f"{t} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(x)) + "\n" for t, x in zip(y, X))
    )
    return "values.svm"


TRAIN = ("train", "values.svm", "-o", "m", "--task", "regression")


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        ("", {}),
        ("--epsilon 0 -C 10 --loss squared_epsilon_insensitive", {"epsilon": 0.0, "C": 10.0, "loss": "squared_epsilon_insensitive"}),
        ("--intercept none --seed 2 --tol 1e-5", {"fit_intercept": False, "random_state": 2, "tol": 1e-5}),
        ("--intercept penalized --solver coordinate_ascent", {"penalize_intercept": True, "solver": "coordinate_ascent"}),
        ("--intercept free --epsilon 0.25 --max-passes 500", {"epsilon": 0.25, "max_passes": 500}),
    ],
)  # fmt: skip
def test_a_model_is_the_one_of_the_library(options: str, parameters: dict[str, Any], ok: Run, values: str) -> None:
    ok(*TRAIN, *options.split())
    data = read_svmlight(values)
    expected = SVMRegressor(**{"random_state": 0, **parameters}).fit(data.X, data.y)
    model = load_model("m")
    assert model.get_params() == expected.get_params()
    assert np.array_equal(model.coef_, expected.coef_)
    assert model.intercept_ == expected.intercept_
    printed = [float(line) for line in ok("predict", "m", values).out.splitlines()]
    assert printed == expected.predict(data.X).tolist()


def test_the_report(ok: Run, values: str) -> None:
    out = ok(*TRAIN, "--epsilon", "0.15", "--test", values).out
    assert ok("evaluate", "m", values).out == out
    data = read_svmlight(values)
    found = load_model("m").predict(data.X)
    shown = [line.rsplit("  ", 1)[1] for line in out.splitlines()[:3]]
    expected = (
        mean_absolute_error(data.y, found), mean_squared_error(data.y, found) ** 0.5, r2_score(data.y, found)
    )  # fmt: skip
    assert [float(text) for text in shown] == pytest.approx(expected, rel=1e-5)
    inside = np.mean(np.abs(data.y - found) <= 0.15)
    assert 0 < inside < 1
    assert out.splitlines()[3:] == [f"inside the tube         {inside:.4f} (errors of at most 0.15)", "of 40 values"]
    # without a model nobody knows the tube
    ok("predict", "m", values, "-o", "predicted")
    again = ok("evaluate", "--predictions", "predicted", values, "--task", "regression").out
    assert again.splitlines() == [*out.splitlines()[:3], "of 40 values"]


@pytest.mark.parametrize(
    ("true", "predicted", "expected"),
    [
        ("1 2 3", "1 2 3", ["0", "0", "1"]),
        ("5 5", "6 4", ["1", "1", "not defined: all true values are equal"]),
        ("1e200 -1e200", "-1e200 1e200", ["2e+200", "2e+200", "-3"]),
        ("1e-200 -1e-200", "0 0", ["1e-200", "1e-200", "0"]),
        ("0 2", "+1.5e0 .5", ["1.5", "1.5", "-1.25"]),
    ],
)
def test_figures(true: str, predicted: str, expected: list[str], ok: Run, folder: Path) -> None:
    Path("x.svm").write_text("".join(f"{value} 1:1\n" for value in true.split()))
    stdin = "\n".join(predicted.split())
    lines = ok("evaluate", "--predictions", "-", "x.svm", "--task", "regression", stdin=stdin).out.splitlines()
    assert [line[24:] for line in lines[:3]] == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 1:1\n1,5 1:2\n", "x.svm:2: the label is not a number: '1,5'"),
        ("1 1:1\n\n# comment\nhigh 1:2\n", "x.svm:4: the label is not a number: 'high'"),
        ("1 1:1\ninf 1:2\n", "x.svm:2: the label is not a finite number: 'inf'"),
        ("1 1:1\n2 1:1,5\n", "x.svm:2: the value is not a number: '1:1,5'"),
        ("1 1:1\n1e200 1:2\n", "x.svm: there are values of up to 1e+200 in size: too large; scale the values down"),
        ("1 cost:0 1:1\n2 cost:0 1:2\n", "x.svm: the weight in the data is zero for every "),
        ("1\n2\n", "x.svm: no row has a feature"),
    ],
)
def test_faults_in_the_data(text: str, message: str, run: Run, folder: Path) -> None:
    Path("x.svm").write_text(text)
    outcome = run("train", "x.svm", "-o", "m", "-q", "--task", "regression", "--format", "svmlight")
    assert outcome.status == 2
    assert outcome.error.startswith(message)
    assert not Path("m").exists()


def test_labels_matter_only_where_they_are_compared(run: Run, ok: Run, values: str) -> None:
    ok(*TRAIN)
    w, b = load_model("m").coef_, load_model("m").intercept_
    for text in ("1:1\n2:1 3:1\n", "? 1:1\n? 2:1 3:1\n", "1,5 1:1\n2 2:1 3:1 9:9\n"):
        outcome = run("predict", "m", "-", stdin=text)
        assert [float(line) for line in outcome.out.splitlines()] == pytest.approx([w[0] + b, w[1] + w[2] + b])
        assert ("beyond the 3 of the model" in outcome.err) == ("9:9" in text)
    assert run("evaluate", "m", "-", stdin="1,5 1:1\n").error == "<stdin>:1: the label is not a number: '1,5'"
    assert run("evaluate", "m", "-", stdin="1:1\n").error == "<stdin>: has no labels to compare with"
    assert (
        run("train", *TRAIN[1:], "-q", "--test", "-", stdin="x 1:1\n").error
        == "<stdin>:1: the label is not a number: 'x'"
    )
    outcome = run("evaluate", "--predictions", "-", values, "--task", "regression", "-q", stdin="1\n\nx\n")
    assert outcome.error == "<stdin>:3: a predicted value that is not a number: 'x'"
    outcome = run("evaluate", "--predictions", "-", values, "--task", "regression", "-q", stdin="1\n")
    assert outcome.error == "values.svm (y_true) and - (y_pred): y_true has 40 values, y_pred 1"


def test_what_there_is_to_see(ok: Run, values: str) -> None:
    ok(*TRAIN)
    model, found = load_model("m"), json.loads(ok("inspect", "m", "--json", "--top", "1").out)
    assert (found["task"], found["estimator"], found["features"]) == ("regression", "SVMRegressor", 3)
    assert found["intercept"] == model.intercept_
    assert found["strongest_features"] == [{"label": "weights", "features": [[1, model.coef_[0]]]}]
    assert f"\nintercept   {model.intercept_:.6g}\n" in ok("inspect", "m").out


def test_a_regressor_saved_from_python(ok: Run, folder: Path) -> None:
    save_model(SVMRegressor(C=100.0, epsilon=0.0, tol=1e-9).fit(np.arange(5.0)[:, None], 2 * np.arange(5.0) + 1), "m")
    assert float(ok("predict", "m", "-", stdin="1:10\n").out) == pytest.approx(21)


def test_options_that_a_regressor_does_not_have(run: Run, values: str) -> None:
    for option, message in (
        ("--class-weight balanced", "--class-weight cannot go with task regression; it is for multiclass, binary"),
        ("--multi-class ovr", "--multi-class cannot go with task regression; it is for multiclass"),
        (
            "--loss hinge",
            "--loss hinge cannot go with task regression, which has epsilon_insensitive, squared_epsilon_",
        ),
        ("--epsilon -1", "argument --epsilon: must be a number >= 0, not '-1'"),
        ("--jobs 2", "--jobs cannot go with task regression"),
    ):
        outcome = run(*TRAIN, *option.split())
        assert (outcome.status, outcome.error[: len(message)]) == (2, message)
        assert not Path("m").exists()
