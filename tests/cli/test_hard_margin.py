"""``-C inf``: hard margins of two labels and of rankings, and the rows that allow none."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from maxmargin import HardMarginSVM, SVMClassifierCV, SVMRanker, load_model, save_model
from maxmargin.cli.learners import check_options, choose, make, parameters
from maxmargin.cli.options import make_parser
from maxmargin.cli.table import TASKS
from maxmargin.data import read_svmlight

Run = Callable[..., Any]


@pytest.fixture
def two(folder: Path) -> str:
    """Two labels apart, a row of another one without weight among them."""
    X = np.random.default_rng(0).normal(size=(40, 3)).round(3)
    lines = [f"{1 if row.sum() > 0 else -1} 1:{row[0]} 2:{row[1]} 3:{row[2]}" for row in X if abs(row.sum()) > 0.3]
    lines.insert(5, "-1 cost:0 1:9 2:9 3:9")
    (folder / "two.svm").write_text("# a comment\n" + "\n".join(lines) + "\n")
    return "two.svm"


@pytest.fixture
def ranks(folder: Path) -> str:
    X = np.random.default_rng(1).normal(size=(30, 3)).round(3)
    lines = [f"{int(row[0] * 2 - row[1] > 0)} qid:{k // 5} 1:{row[0]} 2:{row[1]} 3:{row[2]}" for k, row in enumerate(X)]
    (folder / "ranks.svm").write_text("\n".join(lines) + "\n")
    return "ranks.svm"


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ("", {}),
        ("--kernel rbf --gamma 0.5 --tol 1e-5", {"kernel": "rbf", "gamma": 0.5, "tol": 1e-5}),
        ("--intercept penalized --seed 3", {"penalize_intercept": True, "random_state": 3}),
        ("--solver interior_point --max-passes 50 --max-time 60", {"solver": "interior_point", "max_passes": 50}),
    ],
)
def test_a_model_is_the_one_of_the_library(options: str, values: dict[str, Any], ok: Run, two: str) -> None:
    ok("train", two, "-o", "m", "--task", "binary", "-C", "inf", *options.split())
    data = read_svmlight(two)
    assert data.sample_weight is not None
    used = data.sample_weight > 0
    expected = HardMarginSVM(**{"random_state": 0, **values}).fit(data.X[used], data.y[used].astype(int))
    model = load_model("m")
    assert type(model) is HardMarginSVM
    np.testing.assert_array_equal(model.decision_function(data.X), expected.decision_function(data.X))
    assert ok("predict", "m", two).out.splitlines() == [str(k) for k in expected.predict(data.X).tolist()]
    scored = [line.split("\t")[1] for line in ok("predict", "--scores", "m", two).out.splitlines()]
    assert [float(score) for score in scored] == expected.decision_function(data.X).tolist()
    assert "accuracy" in ok("evaluate", "m", two).out
    shown = ok("inspect", "m").out
    assert "HardMarginSVM" in shown
    assert f"margin      {expected.margin_:.6g}\n" in shown
    assert json.loads(ok("inspect", "--json", "m").out)["margin"] == expected.margin_


def test_a_ranking_has_one_too(ok: Run, ranks: str) -> None:
    ok("train", ranks, "-o", "m", "-C", "inf")
    data = read_svmlight(ranks)
    expected = SVMRanker(np.inf, random_state=0).fit(data.X, data.y, qid=data.qid)
    model = load_model("m")
    assert model.C == np.inf
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert "swapped pairs  0.0000" in ok("evaluate", "m", ranks).out
    ok("train", ranks, "-o", "m", "--warm-start", "m", "-C", "inf", "--tol", "1e-6")
    assert load_model("m").certificate_.relative_gap <= 1e-6


@pytest.mark.parametrize("task", ["binary", "ranking"])
def test_rows_may_lie_in_files(task: str, ok: Run, two: str, ranks: str) -> None:
    data = two if task == "binary" else ranks
    for name, more in (("kept", []), ("filed", ["--memory", "10"])):
        ok("train", data, "-o", name, "--task", task, "-C", "inf", *more)
    kept, filed = load_model("kept"), load_model("filed")
    np.testing.assert_array_equal(kept.coef_, filed.coef_)


LEFT = " contradict each other (without any one of them the others would not); remove such "
NUMBER = ", or give -C a number, which allows errors"


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        (
            "# c\n0 1:2\n\n1 cost:0 1:5\n1 1:3 # c\n0 1:7\n",
            "",
            f"no hyperplane separates the labels: line 2 (0), line 5 (1) and line 6 (0){LEFT}rows{NUMBER}",
        ),
        (
            "a 1:1 2:2\nb 2:2 1:1\na 1:9\n",
            "--kernel rbf",
            "no hyperplane in the space of the kernel separates the labels: line 1 (a) and line 2 (b)"
            f"{LEFT}rows{NUMBER}",
        ),
        (
            "1 1:1\n0 1:-2\n1 1:0\n",
            "--intercept none",
            "no hyperplane separates the labels: line 3 (1), but that row is 0, and without an intercept its score is "
            f"0 too; remove such rows{NUMBER}",
        ),
    ],
)
def test_rows_that_allow_none_are_named_by_their_lines(lines: str, options: str, message: str, run: Run) -> None:
    Path("d.svm").write_text(lines)
    done = run("train", "d.svm", "-o", "m", "-q", "--task", "binary", "-C", "inf", *options.split())
    assert (done.status, done.error) == (2, f"d.svm: {message}")
    assert not Path("m").exists()


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            "2 qid:7 1:1\n1 qid:7 1:0\n# c\n2 qid:9 1:3\n1 qid:9 1:4\n",
            f"no weights put all pairs in order: line 1 above line 2 (qid 7) and line 4 above line 5 (qid 9){LEFT}"
            f"pairs{NUMBER}",
        ),
        (
            "\n1 qid:7 1:1\n2 qid:7 1:1\n",
            "no weights put all pairs in order: line 3 above line 2 (qid 7), but they have the same features; remove "
            f"such pairs{NUMBER}",
        ),
    ],
)
def test_pairs_that_allow_none_are_named_by_their_lines(lines: str, message: str, run: Run, folder: Path) -> None:
    (folder / "d.svm").write_text(lines)
    done = run("train", "d.svm", "-o", "m", "-q", "-C", "inf")
    assert done.status == 2
    found = done.error.removeprefix("d.svm: ")
    halves = [part.split(f"{LEFT}pairs")[0] for part in (found, message)]
    assert {*halves[0].split(" and ")} == {*halves[1].split(" and ")} or found == message


@pytest.mark.parametrize("task", [task for task in TASKS if task not in ("binary", "ranking")])
def test_other_tasks_have_none(task: str, run: Run, svm: str) -> None:
    Path("t.mrg").write_text("(S (A a) (B b))\n")
    Path("t.conll").write_text("a X\nb Y\n")
    data = {"sequence": "t.conll", "tree": "t.mrg"}.get(task, svm)
    done = run("train", data, "-o", "m", "--task", task, "-C", "inf")
    assert (done.status, done.error) == (
        2,
        f"-C inf cannot go with task {task}: it allows no loss at all, which is for binary and ranking; give a number",
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--loss squared_hinge", "--loss squared_hinge cannot go with task binary with -C inf, which has hinge"),
        ("--class-weight balanced", "--class-weight cannot go with task binary with -C inf"),
        ("--nu 0.2", "--nu cannot go with task binary with -C inf"),
        ("--epsilon 1", "--epsilon cannot go with task binary with -C inf; it is for regression"),
        ("--kernel rbf --memory 1M", "--memory cannot go with --kernel rbf: rows can be in files for linear machines"),
        ("--gamma 1", "--gamma cannot go with --kernel linear; it is for poly, rbf, sigmoid"),
    ],
)
def test_what_a_hard_margin_has_no_use_for_is_refused(options: str, message: str, run: Run, svm: str) -> None:
    done = run("train", svm, "-o", "m", "--task", "binary", "-C", "inf", *options.split())
    assert done.status == 2
    assert done.error.startswith(message)


def test_every_option_of_the_table_is_a_parameter() -> None:
    """What is offered reaches the estimator, and every solver that is offered solves the problem."""
    learner = TASKS["binary"].hard
    assert learner is not None
    for option, values in learner.options.items():
        for value in values:
            flag = f"--{option.replace('_', '-')}"
            args = make_parser().parse_args(["train", "x", "--task", "binary", "-C", "inf", flag, value])
            assert choose(args, "binary") is learner
            check_options(args, "binary", "svmlight", learner)
            model = make(learner, parameters(args, learner))
            if option == "solver":
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    model.set_params(max_passes=50).fit([[-1.0], [1.0]], [0, 1])
                assert model.margin_ > 0.0
    free = ("callback", "verbose", "fit_intercept", "penalize_intercept", "random_state")
    offered = {*learner.options, *free}
    assert {*HardMarginSVM().get_params()} <= offered


def test_solvers_of_it_are_compared(ok: Run, two: str) -> None:
    table = ok("compare", two, "--task", "binary", "-C", "inf", "--solvers", "interior_point,coordinate_ascent").out
    assert "interior_point" in table
    assert "converged" in table


def test_models_that_were_made_in_python_are_served(ok: Run, two: str) -> None:
    """The best estimator of a search, and one that a stream taught."""
    data = read_svmlight(two)
    y = data.y.astype(int)
    search = SVMClassifierCV([0.1, 1.0], cv=3, random_state=0).fit(data.X, y)
    save_model(search, "search")
    assert ok("predict", "search", two).out.splitlines() == [str(k) for k in search.predict(data.X).tolist()]
    assert "SVMClassifier (" in ok("inspect", "search").out
    ranker = SVMRanker().partial_fit(data.X, y)
    save_model(ranker, "stream")
    scores = [float(line) for line in ok("predict", "stream", two).out.splitlines()]
    assert scores == ranker.predict(data.X).tolist()
    assert f"certificate none: learned by partial_fit from {len(y)} rows" in ok("inspect", "stream").out
    assert json.loads(ok("inspect", "--json", "stream").out)["certificate"] is None
