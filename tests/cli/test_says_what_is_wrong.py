"""What cannot be done is refused in words that name the cause: the model, the file, the option that was given."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from maxmargin import (
    HardMarginSVM,
    MulticlassSVM,
    OneClassSVM,
    SVMClassifier,
    SVMClassifierCV,
    SVMRegressor,
    SVMRegressorCV,
    load_model,
    save_model,
)
from maxmargin.errors import ModelFileError

Run = Callable[..., Any]
FRACTION = (
    "the label is a fraction, not a class (classes are whole numbers or names; --task regression learns values): "
)


@pytest.fixture
def X(folder: Path) -> Any:
    """Rows; ``three.svm`` has classes for them, ``values.svm`` values, ``others.svm`` classes of other names."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 5)), np.arange(60) % 3
    X[np.arange(60), y] += 2.0
    for name, labels in (("three", y), ("values", X.sum(1)), ("others", y + 10)):
        dump_svmlight_file(X, labels, f"{name}.svm", zero_based=False)
    return X


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_a_precomputed_kernel_has_no_rows_in_files(command: str, run: Run, ok: Run, X: Any) -> None:
    K, two = X @ X.T + 1.0, X[:, 0] > X[:, 1]
    for model in (
        SVMClassifier(kernel="precomputed").fit(K, two),
        SVMRegressor(kernel="precomputed").fit(K, X[:, 0]),
        OneClassSVM(kernel="precomputed").fit(K),
        HardMarginSVM(kernel="precomputed").fit(K, two),
        SVMClassifierCV(Cs=[1.0], cv=3, kernel="precomputed").fit(K, two),
    ):
        save_model(model, "m")
        outcome = run(command, "m", "three.svm")
        assert outcome.status == 2
        assert outcome.error.startswith("m has kernel='precomputed': it needs the values of the kernel between each ")
        assert "its 60 training rows" in outcome.error
        assert "kernel      precomputed" in ok("inspect", "m").out


@pytest.mark.parametrize("kind", [SVMRegressorCV, SVMClassifierCV])
def test_how_a_search_chose_is_shown(kind: Any, ok: Run, X: Any) -> None:
    target = X.sum(1) if kind is SVMRegressorCV else np.arange(60) % 3
    search = kind(Cs=[0.001, 1.0, 10.0], cv=4, random_state=0).fit(X, target)
    save_model(search, "m")
    found = json.loads(ok("inspect", "m", "--json").out)["search"]
    means = search.scores_.mean(0)
    assert found == {
        "estimator": kind.__name__,
        "C": search.C_,
        "score": means[list(search.Cs_).index(search.C_)],
        "folds": 4,
        "scoring": None,
        "Cs": [0.001, 1.0, 10.0],
        "mean_scores": means.tolist(),
    }
    out = ok("inspect", "m").out
    best = kind.__name__.removesuffix("CV")
    assert out.startswith(f"m: {best} (")
    assert out.splitlines()[0].endswith(f", found by {kind.__name__}")
    assert (
        f"\nsearch      C={search.C_:g} has the best mean score ({found['score']:.6g}) on 4 folds, of 3 values from "
        "0.001 to 10\n"
    ) in out
    save_model(search.estimator_, "m")
    assert "search" not in json.loads(ok("inspect", "m", "--json").out)


def test_what_comes_from_the_model_to_start_from_is_said_so(run: Run, ok: Run, X: Any) -> None:
    ok("train", "three.svm", "-o", "free", "--intercept", "free")
    start = ("train", "three.svm", "-o", "new", "-q", "--warm-start", "free")
    assert run(*start, "--multi-class", "ovr").error == (
        "--multi-class ovr cannot go with --warm-start free, a model of --multi-class crammer-singer"
    )
    have = "auto, coordinate_ascent, interior_point, block_ascent"
    assert run(*start, "--solver", "frank_wolfe").error == (
        "--solver frank_wolfe cannot go with the free intercepts of free (--intercept penalized has others), which "
        f"have {have}"
    )
    assert run(*start, "--solver", "frank_wolfe", "--intercept", "free").error == (
        f"--solver frank_wolfe cannot go with --intercept free, which has {have}"
    )
    assert not Path("new").exists()
    ok(*start[:-3], "--warm-start", "free", "--solver", "frank_wolfe", "--intercept", "penalized")
    outcome = run("train", "three.svm", "-o", "n", "-q", "--warm-start", "new", "--intercept", "free")
    assert outcome.error == (
        f"--solver frank_wolfe cannot go with --intercept free, which has {have}; frank_wolfe is the solver of new"
    )


@pytest.mark.parametrize("task", ["multiclass", "binary", "auc"])
def test_values_are_no_classes_to_compare_with(task: str, run: Run, ok: Run, X: Any) -> None:
    data = "three.svm"
    if task != "multiclass":
        data = "two.svm"
        dump_svmlight_file(X, np.where(X[:, 0] > 0, 1, -1), data, zero_based=False)
    ok("train", data, "-o", "m", "--task", task)
    refused = run("train", "values.svm", "-o", "new", "-q", "--task", task).error
    assert refused.startswith("values.svm:1: " + FRACTION)
    assert run("evaluate", "m", "values.svm").error == refused
    assert run("train", data, "-o", "new", "-q", "--task", task, "--test", "values.svm").error == refused
    assert run("compare", data, "-q", "--task", task, "--test", "values.svm").error == refused
    assert not Path("new").exists()
    outcome = run("evaluate", "m", "-", stdin="# no row\n1 1:1\n-1 1:1\n0.5 1:2\n")
    assert outcome.error == f"<stdin>:4: {FRACTION}'0.5'"
    ok("predict", "m", "values.svm")  # where the labels play no part


def test_names_that_look_like_fractions_are_names_among_names(ok: Run, folder: Path) -> None:
    Path("x.svm").write_text("1.5 1:1\nb 2:1\n")
    ok("train", "x.svm", "-o", "m", "--test", "x.svm")
    assert "accuracy 1.0000 of 1" in ok("evaluate", "m", "-", stdin="1.5 1:1\n").out
    Path("x.svm").write_text("1 1:1\n2 2:1\n")
    ok("train", "x.svm", "-o", "m")
    assert "accuracy 0.5000 of 2" in ok("evaluate", "m", "-", stdin="1 1:1\nv1.5 2:1\n").out


def test_test_data_of_other_labels_are_noticed(run: Run, ok: Run, X: Any, columns: str) -> None:
    note = "maxmargin: no label of others.svm occurs in what three.svm teaches: do they belong together?\n"
    one = ("--solvers", "one_slack")
    assert run("train", "three.svm", "-o", "m", "-q", "--test", "others.svm").err == note
    assert run("compare", "three.svm", "-q", *one, "--test", "others.svm").err == note
    for task in ("multiclass", "one-class"):
        outcome = run("train", "three.svm", "-o", "m", "-q", "--task", task, "--test", "three.svm")
        assert (outcome.status, outcome.err) == (0, "")
    Path("more.svm").write_text("+1 1:1\n11 1:1\n")
    assert run("train", "three.svm", "-o", "m", "-q", "--test", "more.svm").err == ""
    Path("test.conll").write_text("The DT X\n")
    outcome = run("train", columns, "-o", "m", "-q", "--test", "test.conll")
    assert "no label of test.conll occurs in what train.conll teaches" in outcome.err


def test_a_refused_solver_is_named_once_in_terms_of_options(run: Run, X: Any) -> None:
    outcome = run("compare", "three.svm", "--intercept", "free", "--solvers", "frank_wolfe,bundle,coordinate_ascent")
    assert outcome.status == 0
    assert "intercept" not in outcome.err
    assert outcome.out.count("has no free intercept") == 2
    assert outcome.out.splitlines()[-1] == (
        "bundle: MulticlassSVM: solver bundle has no free intercept: give --intercept penalized, or take solver auto, "
        "coordinate_ascent, interior_point or block_ascent"
    )


@pytest.mark.parametrize("quiet", [[], ["-q"]])
def test_advice_is_in_terms_of_options(quiet: list[str], run: Run, X: Any) -> None:
    outcome = run("train", "three.svm", "-o", "m", "--max-passes", "1", "--tol", "1e-9", *quiet)
    assert outcome.status == 0
    assert "Raise --max-passes, raise --tol, or lower -C; the certificate says" in outcome.err
    assert "max_passes" not in outcome.err


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_not_finite_do_not_replace_a_model(
    value: float, run: Run, ok: Run, X: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ok("train", "three.svm", "-o", "m")
    before, fit = Path("m").read_bytes(), MulticlassSVM.fit

    def overflow(self: Any, *data: Any, **more: Any) -> Any:
        fit(self, *data, **more)
        self.coef_[0, 0] = value
        return self

    monkeypatch.setattr(MulticlassSVM, "fit", overflow)
    outcome = run("train", "three.svm", "-o", "m", "--warm-start", "m", "-q")
    assert (outcome.status, outcome.error) == (
        2,
        "m: not written: coef of this MulticlassSVM holds numbers that are not finite",
    )
    assert Path("m").read_bytes() == before
    assert sorted(os.listdir()) == ["m", "others.svm", "three.svm", "values.svm"]
    assert np.isfinite(load_model("m").coef_).all()


def test_no_number_of_a_model_file_is_other_than_finite(folder: Path, X: Any) -> None:
    model = SVMRegressor(kernel="rbf").fit(X, X[:, 0])
    model.dual_coef_[0, 0] = np.nan
    with pytest.raises(ModelFileError, match=r"not written: dual_coef.* not finite"):
        save_model(model, "m")
    one = OneClassSVM().fit(X)
    one.offset_ = float("nan")
    with pytest.raises(ValueError, match="not written: .*not finite"):
        save_model(one, "m")
    assert not Path("m").exists()


LARGE = (
    "features of up to 1e+200 in size are too large to compute with; scale the features down (values of about 1 are "
)


@pytest.mark.parametrize("task", ["multiclass", "binary", "regression", "auc", "one-class", "ranking"])
def test_features_too_large_to_learn_from_are_named_by_line_and_number(task: str, run: Run, folder: Any) -> None:
    text = "# c\n1 qid:1 7:1\n\n-1 qid:1 2:1 3:1e200\n1 qid:1 3:1e200\n"
    Path("big.svm").write_text(text if task == "ranking" else text.replace("qid:1 ", ""))
    for more in ([], ["--zero-based"]):
        outcome = run("train", "big.svm", "-q", "-o", "m", "--task", task, *more)
        assert outcome.status == 2
        assert outcome.error == f"big.svm:4: {LARGE}best): '3:1e+200'"
    if task == "one-class":
        Path("bare.svm").write_text("1:1 7:1\n\n# c\n3:-1e200\n")
        assert run("train", "bare.svm", "-q", "-o", "m", "--task", task).error.startswith(f"bare.svm:4: {LARGE}")
    else:
        assert run("compare", "big.svm", "-q", "--task", task).error == f"big.svm:4: {LARGE}best): '3:1e+200'"


@pytest.mark.parametrize("task", ["multiclass", "binary", "regression", "auc", "ranking"])
def test_features_too_large_for_a_score_are_named_by_line_and_number(
    task: str, run: Run, ok: Run, folder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("maxmargin.data._mapped_rows._PIECE", 2)  # rows of later pieces count from the first one
    monkeypatch.setattr("maxmargin.data.svmlight._PART_ENTRIES", 8)
    qid = "qid:1 " if task == "ranking" else ""
    Path("small.svm").write_text(
        "".join(f"{label} {qid}1:1 2:{x}\n" for label, x in ((1, 1), (-1, 2), (1, 3), (-1, 0)))
    )
    ok("train", "small.svm", "-o", "m", "--task", task, "-C", "100")
    rows = [f"1 {qid}1:1 2:{x}" for x in range(1, 10)] + [f"-1 {qid}1:1 2:1.7e308"]
    Path("far.svm").write_text("# c\n\n" + "\n".join(rows) + "\n")
    problem = "values whose score is above 1e300 in size, or none; scale the features as the data of the fit were: '2:1.7e+308'"
    scores = [["predict", "m", "far.svm", "-q", "--scores"]] if task not in ("regression", "ranking") else []
    for command in (
        ["predict", "m", "far.svm", "-q"],
        ["evaluate", "m", "far.svm", "-q"],
        ["train", "small.svm", "-q", "-o", "n", "--task", task, "-C", "100", "--test", "far.svm"],
        ["compare", "small.svm", "-q", "--task", task, "-C", "100", "--test", "far.svm"],
        *scores,
    ):
        outcome = run(*command)
        assert outcome.status == 2
        assert outcome.error == f"far.svm:12: {problem}"
    Path("far.svm").write_text(Path("far.svm").read_text().replace("1.7e308", "3e301"))
    assert run("predict", "m", "far.svm", "-q").error == f"far.svm:12: {problem.replace('1.7e+308', '3e+301')}"


def test_attributes_that_are_too_large_are_named_by_line_and_name(run: Run, ok: Run, folder: Any) -> None:
    Path("small.crf").write_text("B\ta:3\nI\tb:2\n\nB\ta:1\nI\tb:2\n")
    Path("big.crf").write_text("@weight:2\nB\ta:1\n\n\nB\ta:3\tb:2\nI\tb:2\tc\\:d:1e200\ta:1e307\n")
    ok("train", "small.crf", "-o", "m")
    for command in ("train", "compare"):
        outcome = run(command, "big.crf", "-q", *(["-o", "n"] if command == "train" else []))
        assert outcome.error.startswith("big.crf:6: features of up to 1e+307 in size are too large to compute with; ")
        assert outcome.error.endswith(": 'c:d:1e+200'")
    for command in ("predict", "evaluate"):
        outcome = run(command, "m", "big.crf", "-q")
        assert outcome.status == 2
        assert outcome.error.startswith("big.crf:6: features of up to 1e+307 in size are too large to compute with; ")
    outcome = run("compare", "small.crf", "-q", "--test", "big.crf", "--solvers", "frank_wolfe")
    assert outcome.error.startswith("big.crf:6: features of up to 1e+307 in size are too large to compute with; ")
    outcome = run("predict", "m", "big.crf", "-q", "--k-best", "2")
    assert outcome.error.startswith("big.crf:6: a value too large to compute with")
