"""Machines with a kernel, or with ``--nu``, from the file to the report."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from maxmargin import SVMClassifier, SVMRegressor, load_model
from maxmargin.cli.learners import check_options, choose, make, parameters
from maxmargin.cli.messages import UsageError
from maxmargin.cli.options import make_parser
from maxmargin.data import read_svmlight

Run = Callable[..., Any]


@pytest.fixture
def rings(folder: Path) -> Path:
    """Points in the plane: ``two`` and ``three`` are labelled by their distance from the origin, ``value`` is it."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(60, 2)).round(3)
    distance = np.hypot(*points.T).round(4)
    for name, labels in (
        ("two", np.where(distance < 1.1, "in", "out")),
        ("three", np.digitize(distance, [0.8, 1.5])),
        ("value", distance),
    ):
        lines = [f"{label} 1:{x} 2:{y}\n" for label, (x, y) in zip(labels, points)]
        (folder / f"{name}.svm").write_text("".join(lines))
    return folder


BY_RBF = {"kernel": "rbf", "gamma": 0.5}
CASES = [
    ("two", "--task binary --kernel rbf --gamma 0.5 -C 3", SVMClassifier(C=3.0, **BY_RBF)),
    ("two", "--task binary --kernel rbf --gamma scale", SVMClassifier(kernel="rbf")),
    ("two", "--task binary --kernel rbf --gamma auto", SVMClassifier(kernel="rbf", gamma="auto")),
    (
        "two",
        "--task binary --kernel poly --degree 2 --coef0 1 --solver block_smo",
        SVMClassifier(kernel="poly", degree=2, coef0=1.0, solver="block_smo"),
    ),
    (
        "two",
        "--task binary --kernel sigmoid --coef0 0 --gamma 0.01 --intercept none",
        SVMClassifier(kernel="sigmoid", gamma=0.01, coef0=0.0, fit_intercept=False),
    ),
    (
        "two",
        "--task binary --kernel cosine --loss squared_hinge --intercept penalized",
        SVMClassifier(kernel="cosine", loss="squared_hinge", penalize_intercept=True),
    ),
    ("two", "--task binary --kernel rbf --loss logistic", SVMClassifier(kernel="rbf", loss="logistic")),
    (
        "two",
        "--task binary --kernel rbf --loss exponential --solver newton --intercept penalized",
        SVMClassifier(kernel="rbf", loss="exponential", solver="newton", penalize_intercept=True),
    ),
    ("two", "--task binary --kernel rbf --nu 0.3", SVMClassifier(kernel="rbf", nu=0.3)),
    (
        "two",
        "--task binary --kernel rbf --class-weight balanced",
        SVMClassifier(kernel="rbf", class_weight="balanced"),
    ),
    ("three", "--multi-class ovr --kernel rbf --gamma 0.5", SVMClassifier(**BY_RBF)),
    ("three", "--kernel rbf --gamma 0.5", SVMClassifier(**BY_RBF)),
    ("three", "--task multiclass --nu 0.2", SVMClassifier(nu=0.2)),
    ("three", "--multi-class ovo --kernel rbf --gamma 0.5", SVMClassifier(multi_class="ovo", **BY_RBF)),
    ("value", "--task regression --kernel rbf --gamma 0.5 -C 10", SVMRegressor(C=10.0, **BY_RBF)),
    ("value", "--task regression --kernel rbf --nu 0.2 -C 10", SVMRegressor(C=10.0, kernel="rbf", nu=0.2)),
    ("value", "--task regression --nu 0.2", SVMRegressor(nu=0.2)),
    (
        "value",
        "--task regression --kernel rbf --solver newton --loss squared_epsilon_insensitive",
        SVMRegressor(kernel="rbf", solver="newton", loss="squared_epsilon_insensitive"),
    ),
]


@pytest.mark.parametrize(("name", "options", "estimator"), CASES)
def test_a_model_is_the_one_of_the_library(name: str, options: str, estimator: Any, ok: Run, rings: Path) -> None:
    path = f"{name}.svm"
    ok("train", path, "-o", "m", *options.split())
    data = read_svmlight(path, labels="number" if name == "value" else "text")
    y = data.y.astype(int) if name == "three" else data.y
    expected = clone(estimator).set_params(random_state=0).fit(data.X, y)
    model = load_model("m")
    assert model.get_params() == expected.get_params()
    assert np.array_equal(model.dual_coef_, expected.dual_coef_)
    printed = ok("predict", "m", path).out.split()
    found = json.loads(ok("inspect", "m", "--json").out)
    if name == "value":
        assert [float(text) for text in printed] == pytest.approx(expected.predict(data.X), rel=1e-12)
        assert found["support_vectors"] == {"all": len(expected.support_)}
        shown = ok("inspect", "m").out
        assert f"(errors of at most {expected.epsilon_:g})" in ok("evaluate", "m", path).out
    else:
        assert printed == [str(label) for label in expected.predict(data.X)]
        rows = [line.split("\t")[1:] for line in ok("predict", "m", path, "--scores").out.splitlines()]
        scores = np.array(rows, float)
        assert scores == pytest.approx(expected.decision_function(data.X).reshape(scores.shape), rel=1e-10)
        counts = dict(zip([str(label) for label in expected.classes_], expected.n_support_.tolist()))
        assert found["support_vectors"] == counts
        shown = ok("inspect", "m").out
        assert "".join(f"  {label}: {n}" for label, n in counts.items()) in shown
        assert len(found["intercept"]) == len(expected.dual_coef_)
    assert f"\nsupport     {len(expected.support_)} vectors" in shown
    kernel = expected.kernel_
    used = {"poly": ("gamma", "degree", "coef0"), "sigmoid": ("gamma", "coef0"), "rbf": ("gamma",)}.get(kernel.name, ())
    assert found["kernel"] == {"name": kernel.name, **{name: getattr(kernel, name) for name in used}}
    shown_parameters = "".join(f"  {name} {getattr(kernel, name):g}" for name in used)
    assert f"\nkernel      {kernel.name}{shown_parameters}\n" in shown
    assert ("strongest_features" in found) == (kernel.name == "linear")


def test_the_form_that_was_taken_is_said(run: Run, rings: Path) -> None:
    assert "task multiclass (--multi-class ovr)\n" in run("train", "three.svm", "-o", "m", "--kernel", "rbf").err
    assert "task multiclass\n" in run("train", "three.svm", "-o", "m").err
    given = run("train", "three.svm", "-o", "m", "--kernel", "rbf", "--multi-class", "ovo").err
    assert "task multiclass\n" in given
    assert "(--multi-class ovr)" in run("compare", "three.svm", "--kernel", "rbf", "--solvers", "block_smo").err


def test_rings_are_told_apart(ok: Run, rings: Path) -> None:
    """By a kernel, and not by a plane: the option has its effect."""
    right = {}
    for kernel in ("linear", "rbf"):
        ok("train", "two.svm", "-o", "m", "--task", "binary", "--kernel", kernel, "-C", "10")
        right[kernel] = float(ok("evaluate", "m", "two.svm").out.rpartition("accuracy ")[2].split()[0])
    assert right["rbf"] > 0.95 > 0.8 > right["linear"]


def test_features_of_other_data(run: Run, ok: Run, rings: Path) -> None:
    ok("train", "value.svm", "-o", "m", "--task", "regression", "--kernel", "rbf")
    outcome = run("predict", "m", "-", stdin="1:0.5\n2:1 7:1\n")
    expected = load_model("m").predict(np.array([[0.5, 0.0], [0.0, 1.0]]))
    assert [float(line) for line in outcome.out.splitlines()] == pytest.approx(expected)
    assert outcome.err == "maxmargin: <stdin>: 1 value of features beyond the 2 of the model is left out\n"


def test_a_feature_of_a_large_number_is_refused(run: Run, folder: Path) -> None:
    Path("x.svm").write_text("1 1:1\n-1 99999999999:1\n")
    outcome = run("train", "x.svm", "-o", "m", "-q", "--task", "binary", "--kernel", "rbf")
    assert outcome.status == 2
    assert outcome.error.startswith("x.svm:2: a feature number so large that learning would take ")


@pytest.mark.parametrize("more", ["", "--kernel rbf", "--nu 0.1", "--kernel rbf --nu 0.1"])
@pytest.mark.parametrize("solver", ["auto", "coordinate_ascent", "interior_point", "block_smo"])
def test_a_solver_is_refused_where_the_library_refuses_it(solver: str, more: str) -> None:
    args = make_parser().parse_args(["train", "x", "--task", "binary", "--solver", solver, *more.split()])
    learner = choose(args, "binary")
    try:
        make(learner, parameters(args, learner))._check_machine()
    except ValueError:
        with pytest.raises(UsageError, match=f"--solver {solver} cannot go with --"):
            check_options(args, "binary", "svmlight", learner)
    else:
        check_options(args, "binary", "svmlight", learner)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--gamma 1", "--gamma cannot go with --kernel linear; it is for poly, rbf, sigmoid"),
        ("--kernel rbf --degree 2", "--degree cannot go with --kernel rbf; it is for poly"),
        (
            "--kernel rbf --solver coordinate_ascent",
            "--solver coordinate_ascent cannot go with --kernel rbf, which has",
        ),
        (
            "--solver block_smo",
            "--solver block_smo cannot go with --kernel linear, which has auto, coordinate_ascent, ",
        ),
        (
            "--nu 0.2 --solver coordinate_ascent",
            "--solver coordinate_ascent cannot go with --nu, which has auto, block_smo",
        ),
        ("--nu 0.2 -C 2", "-C cannot go with --nu, which stands in its place"),
        ("--nu 0.2 --loss squared_hinge", "--loss squared_hinge cannot go with --nu, which needs hinge"),
        ("--nu 0.2 --intercept none", "--intercept none cannot go with --nu, which needs free"),
        ("--nu 0", "argument --nu: must be a number > 0 and <= 1, not '0'"),
        ("--nu 1.5", "argument --nu: must be a number > 0 and <= 1, not '1.5'"),
        ("--nu 1", "two.svm: --nu 1 is not feasible: at most 0."),
        ("--kernel precomputed", "argument --kernel: invalid choice: 'precomputed'"),
    ],
)
def test_options_that_do_not_belong_together(options: str, message: str, run: Run, rings: Path) -> None:
    outcome = run("train", "two.svm", "-o", "m", "-q", "--task", "binary", *options.split())
    assert outcome.status == 2
    assert outcome.error.startswith(message)
    assert not Path("m").exists()
    outcome = run("train", "value.svm", "-o", "m", "-q", "--task", "regression", "--nu", "0.2", "--epsilon", "0")
    assert outcome.error == "--epsilon cannot go with --nu, which stands in its place"
