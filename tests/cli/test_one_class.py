"""``--task one-class``: rows unlike the training data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maxmargin import OneClassSVM, load_model
from maxmargin.data import read_svmlight

Run = Callable[..., Any]


@pytest.fixture
def rows(folder: Path) -> str:
    """A cloud, and one row far from it."""
    X = np.random.default_rng(0).normal([0.0, 5.0], 1.0, (60, 2)).round(3)
    lines = [f"1 1:{a} 2:{b}" for a, b in X]
    (folder / "rows.svm").write_text("\n".join([*lines, "-1 1:50 2:-50"]) + "\n")
    return "rows.svm"


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        ("", {}),
        ("--nu 0.1 --gamma 0.2 --tol 1e-5", {"nu": 0.1, "gamma": 0.2, "tol": 1e-5}),
        ("--kernel linear --nu 0.3 --solver block_smo", {"kernel": "linear", "nu": 0.3, "solver": "block_smo"}),
    ],
)
def test_a_model_is_the_one_of_the_library(options: str, parameters: dict[str, Any], ok: Run, rows: str) -> None:
    ok("train", rows, "-o", "m", "--task", "one-class", *options.split())
    X = read_svmlight(rows).X
    expected = OneClassSVM(**parameters).fit(X)
    assert load_model("m").get_params() == expected.get_params()
    assert [int(line) for line in ok("predict", "m", rows).out.splitlines()] == expected.predict(X).tolist()
    scored = [line.split("\t") for line in ok("predict", "--scores", "m", rows).out.splitlines()]
    assert [float(score) for _, score in scored] == expected.decision_function(X).tolist()
    shown = ok("inspect", "m").out
    assert "task one-class" in shown
    assert f"{len(expected.support_)} vectors" in shown


def test_the_row_far_away_is_found(ok: Run, rows: str) -> None:
    ok("train", rows, "-o", "m", "--task", "one-class", "--nu", "0.1", "--gamma", "0.1")
    assert ok("predict", "m", rows).out.splitlines()[-1] == "-1"
    assert "accuracy" in ok("evaluate", "m", rows).out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("-C 2", "-C cannot go with task one-class"),
        ("--nu 1.5", "argument --nu: must be a number > 0 and <= 1"),
        ("--solver coordinate_ascent", "--solver coordinate_ascent cannot go with task one-class"),
    ],
)
def test_what_does_not_belong_to_it(options: str, message: str, run: Run, rows: str) -> None:
    done = run("train", rows, "-o", "m", "--task", "one-class", *options.split())
    assert done.status == 2
    assert message in done.error
    assert not Path("m").exists()
