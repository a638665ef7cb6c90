"""``--task binary``, and the forms of ``--task multiclass`` that are made of two-class problems."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from maxmargin import MulticlassSVM, SVMClassifier, load_model, save_model
from maxmargin.data import read_svmlight
from maxmargin.metrics import classification_report

Run = Callable[..., Any]
WIDE = 10**6


def write_rows(path: str, labels: list[str], n: int = 60) -> None:
    """Rows of four features, labelled by a noisy linear score."""
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(n):
        x = rng.normal(size=4).round(3)
        place = int(np.clip((x[0] - x[2] + 0.4 * rng.normal() + 2) / 4 * len(labels), 0, len(labels) - 1))
        lines.append(f"{labels[place]} " + " ".join(f"{j + 1}:{value}" for j, value in enumerate(x)))
    Path(path).write_text("\n".join(lines) + "\n")


@pytest.fixture
def two(folder: Path) -> str:
    """A file of two classes."""
    write_rows("two.svm", ["-1", "+1"])
    return "two.svm"


@pytest.fixture
def four(folder: Path) -> str:
    """A file of four classes."""
    write_rows("four.svm", ["a", "b", "c", "d"])
    return "four.svm"


CASES = [
    ("two", "--task binary", SVMClassifier()),
    (
        "two",
        "--task binary --loss squared_hinge -C 0.1 --tol 1e-6 --seed 3",
        SVMClassifier(loss="squared_hinge", C=0.1, tol=1e-6, random_state=3),
    ),
    ("two", "--task binary --intercept penalized", SVMClassifier(penalize_intercept=True)),
    ("two", "--task binary --intercept none", SVMClassifier(fit_intercept=False)),
    ("two", "--task binary --class-weight -1:0.5 +1:2", SVMClassifier(class_weight={-1: 0.5, 1: 2.0})),
    ("two", "--class-weight 1:3", MulticlassSVM(class_weight={1: 3.0})),
    ("four", "--class-weight b:3 --class-weight c:0.5", MulticlassSVM(class_weight={"b": 3.0, "c": 0.5})),
    ("four", "--multi-class ovr --class-weight a:0 d:2", SVMClassifier(class_weight={"a": 0.0, "d": 2.0})),
    ("two", "--task binary --class-weight balanced", SVMClassifier(class_weight="balanced")),
    ("two", "--task binary --solver interior_point", SVMClassifier(solver="interior_point")),
    ("two", "--task binary --loss logistic", SVMClassifier(loss="logistic")),
    (
        "two",
        "--task binary --loss logistic --intercept penalized --solver newton",
        SVMClassifier(loss="logistic", penalize_intercept=True, solver="newton"),
    ),
    (
        "two",
        "--task binary --loss exponential --class-weight balanced -C 0.1",
        SVMClassifier(loss="exponential", class_weight="balanced", C=0.1),
    ),
    ("two", "--task binary --loss squared_hinge --solver newton", SVMClassifier(loss="squared_hinge", solver="newton")),
    ("four", "--multi-class ovr --loss logistic", SVMClassifier(multi_class="ovr", loss="logistic")),
    ("four", "--multi-class ovo --loss exponential", SVMClassifier(multi_class="ovo", loss="exponential")),
    (
        "two",
        "--task binary --kernel linear --max-time 60 --max-passes 900",
        SVMClassifier(max_time=60.0, max_passes=900),
    ),
    ("two", "--multi-class ovr", SVMClassifier()),
    ("four", "--multi-class ovr", SVMClassifier(multi_class="ovr")),
    ("four", "--multi-class ovo --loss squared_hinge", SVMClassifier(multi_class="ovo", loss="squared_hinge")),
    ("four", "--multi-class crammer-singer", MulticlassSVM()),
    ("four", "--intercept none --class-weight balanced", MulticlassSVM(fit_intercept=False, class_weight="balanced")),
    ("four", "--solver coordinate_ascent", MulticlassSVM(solver="coordinate_ascent")),
]


@pytest.mark.parametrize(("name", "options", "estimator"), CASES)
def test_a_model_is_the_one_of_the_library(
    name: str, options: str, estimator: Any, ok: Run, two: str, four: str
) -> None:
    path = {"two": two, "four": four}[name]
    ok("train", path, "-o", "m", *options.split())
    expected = clone(estimator).set_params(random_state=estimator.random_state or 0)
    data = read_svmlight(path, labels="text")
    y = data.y.astype(int) if name == "two" else data.y
    expected.fit(data.X, y)
    model = load_model("m")
    assert type(model) is type(expected)
    assert model.get_params() == expected.get_params()
    assert np.array_equal(model.coef_, expected.coef_)
    assert np.array_equal(model.intercept_, expected.intercept_)
    predicted = [str(label) for label in expected.predict(data.X)]
    assert ok("predict", "m", path).out.split() == predicted
    true = [str(label) for label in y]
    assert ok("evaluate", "m", path).out == classification_report(true, predicted).table(WIDE) + "\n"
    # with the scores that decide
    rows = [line.split("\t") for line in ok("predict", "m", path, "--scores").out.splitlines()]
    assert [row[0] for row in rows] == predicted
    scores = np.array([[float(cell) for cell in row[1:]] for row in rows])
    assert np.array_equal(scores, expected.decision_function(data.X).reshape(scores.shape))
    ok("predict", "m", path, "--scores", "-o", "scores")
    assert ok("evaluate", "--predictions", "scores", path).out == ok("evaluate", "m", path).out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "1 1:1\n2 1:2\n3 1:3\n",
            "x.svm: 3 labels (1, 2, 3), but --task binary learns two; try multiclass",
        ),
        ("".join(f"{k} 1:1\n" for k in range(9)), "x.svm: 9 labels (0, 1, 2, 3, 4, ...), but --task binary learns"),
        ("yes 1:1\nyes 1:2\n", "x.svm: one label only (yes), but --task binary learns two"),
        ("1 1:1\n+1 1:2\n", "x.svm: one label only (1), but --task binary learns two"),
        ("1 cost:0 1:1\n-1 1:2\n", "x.svm: one label only (-1), but --task binary learns two"),
        ("1 cost:0 1:1\n-1 cost:0 1:2\n", "x.svm: the weight in the data is zero for every "),
        ("0.5 1:1\n-1 1:2\n", "x.svm:1: the label is a fraction, not a class"),
        ("1 1:1\n-1 1:2\nNaN 1:3\n", "x.svm:3: the label is missing: it is no class; leave the row out: 'NaN'"),
        ("-inf 1:1\n1 1:2\n", "x.svm:1: the label is not a finite number: it is no class; leave the row out: '-inf'"),
        ("1 1:1\n1e400 1:2\n", "x.svm:2: the label is not a finite number: it is no class; leave the row out: '1e400'"),
        ("1 1:1\n-1 1:x\n", "x.svm:2: the value is not a number: '1:x'"),
        ("1\n-1\n", "x.svm: no row has a feature"),
    ],
)
def test_faults_in_the_data(text: str, message: str, run: Run, folder: Path) -> None:
    Path("x.svm").write_text(text)
    outcome = run("train", "x.svm", "-o", "m", "-q", "--task", "binary")
    assert outcome.status == 2
    assert outcome.error.startswith(message)
    assert not Path("m").exists()


def test_missing_labels_are_refused_and_names_like_them_are_not(ok: Run, run: Run, folder: Path) -> None:
    Path("x.svm").write_text("1 1:1\n-1 1:-1\n")
    ok("train", "x.svm", "-o", "m", "--task", "binary")
    Path("missing.svm").write_text("1 1:1\nnan 1:2\n")
    outcome = run("evaluate", "m", "missing.svm")
    assert outcome.status == 2
    assert outcome.error == "missing.svm:2: the label is missing: it is no class; leave the row out: 'nan'"
    Path("languages.svm").write_text("nan 1:1\nsia 1:-1\n")
    ok("train", "languages.svm", "-o", "l", "--task", "binary")
    assert load_model("l").classes_.tolist() == ["nan", "sia"]
    ok("evaluate", "l", "languages.svm")


@pytest.mark.parametrize("label", ["nan", "-inf", "1e400", "0.5"])
@pytest.mark.parametrize("task", ["multiclass", "binary", "auc", "one-class"])
def test_true_labels_are_checked_whatever_predicted(label: str, task: str, ok: Run, run: Run, folder: Path) -> None:
    Path("x.svm").write_text("1 1:1\n-1 1:-1\n")
    ok("train", "x.svm", "-o", "m", "--task", task)
    Path("true.svm").write_text(f"# a comment\n1 1:1\n{label} 1:2\n")
    Path("predicted").write_text("1\n-1\n")
    more = [] if task == "multiclass" else ["--task", task]
    by_model, by_file = (
        run("evaluate", "m", "true.svm"),
        run("evaluate", "-q", "--predictions", "predicted", "true.svm", *more),
    )
    assert (by_model.status, by_file.status) == (2, 2)
    assert by_file.error == by_model.error
    assert by_file.error.startswith("true.svm:3: the label is ")
    assert by_file.error.endswith(f": '{label}'")


@pytest.mark.parametrize("zero", ["-0", "-0.0", "+0", "-0e3", "-1e-400"])
@pytest.mark.parametrize("task", ["multiclass", "binary", "auc"])
def test_zero_is_one_class_however_it_is_spelt(task: str, zero: str, ok: Run, folder: Path) -> None:
    rows = "{0} 1:3\n1 1:-3\n0 1:2\n1 1:-2\n"
    for name, text in (("x.svm", rows.format(zero)), ("plain.svm", rows.format("0"))):
        Path(name).write_text(text)
    ok("train", "x.svm", "-o", "m", "--task", task)
    expected = ok("evaluate", "m", "plain.svm").out
    assert ok("evaluate", "m", "x.svm").out == expected
    Path("predicted").write_text(f"{zero}\n1\n0\n1\n")
    if task in ("multiclass", "binary"):
        assert ok("evaluate", "--task", task, "--predictions", "predicted", "x.svm").out == expected


@pytest.mark.parametrize("label", ["nan", "inf", "-1e400"])
def test_predicted_labels_are_checked_too(label: str, run: Run, folder: Path) -> None:
    Path("true.svm").write_text("1 1:1\n-1 1:2\n1 1:3\n")
    Path("predicted").write_text(f"1\n\n-1\n{label}\n")
    outcome = run("evaluate", "-q", "--predictions", "predicted", "true.svm")
    assert outcome.status == 2
    assert outcome.error.startswith("predicted:4: the label is ")
    assert outcome.error.endswith(f": '{label}'")


def test_names_like_numbers_may_be_predicted(ok: Run, folder: Path) -> None:
    Path("languages.svm").write_text("nan 1:1\nsia 1:-1\n1e400 1:2\n")
    Path("predicted").write_text("nan\nsia\nsia\n")
    assert "nan " in ok("evaluate", "--predictions", "predicted", "languages.svm").out
    Path("predicted").write_text("nan\nnan\nnan\n")
    assert "nan " in ok("evaluate", "--predictions", "predicted", "languages.svm").out


@pytest.mark.parametrize("solver", ["perceptron", "averaged_perceptron"])
def test_a_weight_of_losses_that_a_perceptron_does_not_see(solver: str, run: Run, two: str) -> None:
    line = ["train", two, "-q", "--max-passes", "2", "--solver", solver]
    note = f"-C counts in the certificate alone: --solver {solver} learns the same whatever it is"
    for task in ("binary", "multiclass"):
        done = run(*line, "-o", f"{task}.m", "--task", task, "-C", "3")
        assert done.status == 0
        assert sum(note in each for each in done.err.splitlines()) == 1
        assert note not in run(*line, "-o", "without.m", "--task", task).err
        coef, other = load_model(f"{task}.m").coef_, load_model("without.m").coef_
        assert coef.tolist() == other.tolist()
    again = run("train", two, "-q", "-o", "again.m", "--max-passes", "2", "--warm-start", "multiclass.m", "-C", "2")
    assert note in again.err


def test_a_label_without_weight_does_not_count(ok: Run, folder: Path) -> None:
    Path("x.svm").write_text("1 1:1\n-1 1:-1\n7 cost:0 1:5\n")
    ok("train", "x.svm", "-o", "m", "--task", "binary")
    assert load_model("m").classes_.tolist() == [-1, 1]
    Path("w.svm").write_text("1 cost:3 1:1\n-1 1:2\n1 1:0.5\n")
    Path("r.svm").write_text("1 1:1\n-1 1:2\n1 1:1\n1 1:0.5\n1 1:1\n")
    for name in "wr":
        ok("train", f"{name}.svm", "-o", name, "--task", "binary", "--tol", "1e-9")
    assert load_model("w").certificate_.primal == pytest.approx(load_model("r").certificate_.primal, rel=1e-7)


def test_features_of_other_data(run: Run, ok: Run, two: str) -> None:
    ok("train", two, "-o", "m", "--task", "binary")
    model = load_model("m")
    outcome = run("predict", "m", "-", "--scores", stdin="1:2\nwhatever 2:1 5:7\n")
    assert outcome.status == 2  # the first row says that there are no labels
    outcome = run("predict", "m", "-", "--scores", stdin="x 1:2\nwhatever 2:1 5:7\n")
    expected = model.decision_function(np.array([[2.0, 0, 0, 0], [0, 1, 0, 0]]))
    assert [float(line.split("\t")[1]) for line in outcome.out.splitlines()] == pytest.approx(expected)
    assert outcome.err == "maxmargin: <stdin>: 1 value of features beyond the 4 of the model is left out\n"
    assert ok("predict", "m", "-", "--scores", stdin="").out == ""


def test_test_data_with_other_labels(ok: Run, two: str) -> None:
    Path("test.svm").write_text("1 1:9\nodd 1:-9\n")
    out = ok("train", two, "-o", "m", "--task", "binary", "--test", "test.svm").out
    assert out == classification_report(["1", "odd"], ["1", "-1"]).table(WIDE) + "\n"


def test_what_there_is_to_see(ok: Run, two: str, four: str) -> None:
    ok("train", two, "-o", "m", "--task", "binary")
    model, found = load_model("m"), json.loads(ok("inspect", "m", "--json").out)
    assert (found["task"], found["estimator"], found["labels"]) == ("binary", "SVMClassifier", [-1, 1])
    assert found["intercept"] == model.intercept_.tolist()
    (entry,) = found["strongest_features"]
    assert entry["label"] == "1 (against -1)"
    assert entry["features"][0][1] == model.coef_[0, entry["features"][0][0] - 1]
    assert entry["features"][0][0] == np.abs(model.coef_[0]).argmax() + 1
    out = ok("inspect", "m").out
    assert f"\nintercept   {model.intercept_[0]:.6g}\n" in out
    assert "\n1 (against -1)\n" in out
    for form, names in (
        ("ovr", ["a", "b", "c", "d"]),
        ("ovo", [f"{one} (against {other})" for one, other in ("ab", "ac", "ad", "bc", "bd", "cd")]),
    ):
        ok("train", four, "-o", "m", "--multi-class", form)
        model, found = load_model("m"), json.loads(ok("inspect", "m", "--json", "--top", "1").out)
        assert found["task"] == "multiclass"
        assert [entry["label"] for entry in found["strongest_features"]] == names
        for row, entry in zip(model.coef_, found["strongest_features"]):
            assert abs(entry["features"][0][1]) == np.abs(row).max()


def test_a_classifier_saved_from_python(ok: Run, run: Run, folder: Path) -> None:
    save_model(SVMClassifier(random_state=0).fit(np.array([[1.0], [-1.0]]), ["right", "left"]), "m")
    assert ok("predict", "m", "-", stdin="? 1:3\n? 1:-3\n").out == "right\nleft\n"
    save_model(SVMClassifier(random_state=0).fit(np.array([[1.0], [-1.0]]), ["one\ttwo", "left"]), "m")
    for more in ([], ["--scores"]):
        outcome = run("predict", "m", "-", *more, stdin="? 1:3\n")
        assert outcome.error == "the label 'one\\ttwo' of the model cannot be written as a cell"


def test_an_interruption(run: Run, two: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model is written; a fit of these cannot go on from it, so that is not said."""

    def interrupt(record: Any, w: Any) -> None:
        raise KeyboardInterrupt

    fit = SVMClassifier.fit
    monkeypatch.setattr(SVMClassifier, "fit", lambda self, *a, **k: fit(self.set_params(callback=interrupt), *a, **k))
    outcome = run("train", two, "-o", "m", "--tol", "0", "-q", "--task", "binary")
    assert outcome.status == 130
    assert re.fullmatch(r"maxmargin: interrupted; wrote m \(.*\): the best model so far\n", outcome.err)
    assert load_model("m").certificate_.status.name == "INTERRUPTED"


def test_options_that_do_not_belong_together(run: Run, ok: Run, two: str) -> None:
    ok("train", two, "-o", "m", "--task", "binary")
    ok("train", two, "-o", "cs")
    for argv, message in (
        ("train two.svm --task binary --multi-class ovr", "--multi-class cannot go with task binary; it is for multic"),
        ("train two.svm --task binary --epsilon 0", "--epsilon cannot go with task binary; it is for regression"),
        (
            "train two.svm --task binary --jobs 2",
            "--jobs cannot go with task binary; it is for multiclass with --multi",
        ),
        (
            "train two.svm --task binary --solver perceptron --tol 0.1",
            "--tol cannot go with --solver perceptron, which ends when a pass meets no mistake, or at --max-passes",
        ),
        (
            "train two.svm --solver averaged_perceptron --tol 0.1",
            "--tol cannot go with --solver averaged_perceptron, which ends",
        ),
        (
            "train two.svm --task binary --solver interior_point --seed 1",
            "--seed cannot go with --solver interior_point, which draws nothing at random",
        ),
        ("train two.svm --task binary --solver n_slack", "--solver n_slack cannot go with task binary, which has auto"),
        (
            "train two.svm --task binary --solver newton",
            "--solver newton cannot go with --loss hinge, which has auto, coo",
        ),
        (
            "train two.svm --task binary --solver newton --kernel rbf",
            "--solver newton cannot go with --loss hinge, which has ",
        ),
        (
            "train two.svm --multi-class ovo --loss logistic --solver coordinate_ascent",
            "--solver coordinate_ascent cannot go with --loss logistic, which has auto, newton",
        ),
        (
            "train two.svm --task binary --kernel rbf --loss exponential --solver block_smo",
            "--solver block_smo cannot go with --loss exponential, which has auto, newton",
        ),
        (
            "train two.svm --task binary --loss logistic --nu 0.2",
            "--loss logistic cannot go with --nu, which needs hinge",
        ),
        (
            "train two.svm --loss logistic",
            "--loss logistic cannot go with task multiclass, which has zero_one (logistic: m",
        ),
        (
            "train two.svm --solver newton",
            "--solver newton cannot go with task multiclass, which has auto, frank_wolfe",
        ),
        (
            "train two.svm --task binary --loss zero_one",
            "--loss zero_one cannot go with task binary, which has hinge, ",
        ),
        (
            "train two.svm --loss hinge",
            "--loss hinge cannot go with task multiclass, which has zero_one (hinge: multicl",
        ),
        (
            "train two.svm --intercept free --solver n_slack",
            "--solver n_slack cannot go with --intercept free, which has auto",
        ),
        (
            "train two.svm --multi-class crammer-singer --kernel rbf",
            "--kernel cannot go with task multiclass with --multi-class crammer-singer; it is for multiclass with --multi-",
        ),
        (
            "train two.svm --kernel rbf --jobs 2",
            "--kernel cannot go with task multiclass; it is for multiclass with --multi-class",
        ),
        ("train two.svm --gamma 2", "--gamma cannot go with --kernel linear; it is for poly, rbf, sigmoid"),
        (
            "train --task binary --class-weight two.svm",
            "argument --class-weight: must be balanced or LABEL:WEIGHT, not 'two.svm'",
        ),
        ("train two.svm --class-weight 1:x", "argument --class-weight: must be a number >= 0, not 'x'"),
        ("train two.svm --class-weight 1:-2", "argument --class-weight: must be a number >= 0, not '-2'"),
        ("train two.svm --class-weight 1:nan", "argument --class-weight: must be a number >= 0, not 'nan'"),
        ("train two.svm --class-weight 1:2 1:3", "argument --class-weight: names the label '1' twice"),
        (
            "train two.svm --class-weight balanced --class-weight 1:3",
            "argument --class-weight: takes either balanced or factors of labels",
        ),
        ("train two.svm --class-weight 7:2", "two.svm: --class-weight names the class 7, which is not in the data"),
        (
            "train two.svm --task regression --class-weight 1:2",
            "--class-weight cannot go with task regression; it is for multiclass, binary, auc",
        ),
        (
            "train two.svm --multi-class ovo --jobs 2",
            "--jobs cannot go with task multiclass with --multi-class ovo; it ",
        ),
        (
            "train two.svm --task binary --gamma 1",
            "--gamma cannot go with --kernel linear; it is for poly, rbf, sigmoid",
        ),
        (
            "train two.svm --task binary --kernel rbf --coef0 0",
            "--coef0 cannot go with --kernel rbf; it is for poly, si",
        ),
        ("train two.svm --task binary --kernel cosine --gamma 1", "--gamma cannot go with --kernel cosine; it is for "),
        ("train two.svm --task binary --kernel poly --degree 0", "argument --degree: must be a whole number >= 1"),
        ("train two.svm --task binary --kernel rbf --gamma 0", "argument --gamma: must be a number > 0, not '0'"),
        ("train two.svm --task binary --kernel rbf --gamma x", "argument --gamma: must be a number > 0, not 'x'"),
        ("train two.svm --task binary --template default", "--template cannot go with svmlight data (task binary)"),
        ("train two.svm --task binary -C 1e300", "two.svm: -C times the largest weight is 1e+300: too large to co"),
        ("train two.svm --warm-start m", "--warm-start cannot go with task binary; it is for multiclass with --multi"),
        (
            "train two.svm --warm-start m --task multiclass",
            "--task multiclass cannot start from m, a model of task bin",
        ),
        ("train two.svm --warm-start cs --multi-class ovr", "--multi-class ovr cannot go with --warm-start cs, a mo"),
        ("predict m two.svm --confidence", "--confidence cannot go with m, a model of task binary"),
        ("predict m two.svm --jobs 2", "--jobs cannot go with m: SVMClassifier has no threads of its own"),
        ("evaluate m two.svm --task ranking", "--task ranking cannot go with m, a model of task binary"),
    ):
        outcome = run(*argv.split(), *(["-o", "new"] if argv.startswith("train") else []))
        assert outcome.status == 2, argv
        assert outcome.err.splitlines()[-1].removeprefix("maxmargin: error: ").startswith(message), argv
        assert not Path("new").exists()


def test_labels_of_factor_0_are_no_labels_of_a_task_of_two(ok: Run, run: Run, folder: Path) -> None:
    """As if their rows had ``cost:0``, also where labels are names, and for the area under the curve."""
    rows = [("1", 2.0), ("-1", -1.0), ("1", 1.5), ("-1", -2.0), ("3", 0.5), ("3", -3.0)]
    for name, spell in (("numbers", dict), ("names", lambda _: {"1": "up", "-1": "down", "3": "out"})):
        names = spell(()) or {"1": "+1", "-1": "-1", "3": "3.0"}
        lines = [f"{names[label]} 1:{x} 2:1\n" for label, x in rows]
        Path("three.svm").write_text("".join(lines))
        Path("two.svm").write_text("".join(lines[:4]))
        for task in ("binary", "auc"):
            data = ("train", "three.svm", "-o", "m", "--task", task)
            assert "3 labels" in run(*data).err
            assert "3 labels" in run(*data, "--class-weight", f"{names['3']}:0.5").err
            ok(*data, "--class-weight", f"{names['3']}:0")
            ok("train", "two.svm", "-o", "plain", "--task", task)
            assert load_model("m").coef_.tolist() == load_model("plain").coef_.tolist(), name
            alone = run(*data, "-q", "--class-weight", f"{names['3']}:0", f"{names['1']}:0")
            assert alone.status == 2
            assert "one label only" in alone.error
            none = run(*data, "-q", "--class-weight", *(f"{label}:0" for label in names.values()))
            assert none.status == 2
            assert "--class-weight is zero for every class in the data" in none.error
