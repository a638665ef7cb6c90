"""``notes_``: each is there when its condition holds, names the right things, and is true; and hostile numbers."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import datasets
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

import maxmargin._warm as warm
from maxmargin import (
    AUCClassifier,
    HardMarginSVM,
    MulticlassSVM,
    OneClassSVM,
    SVMClassifier,
    SVMClassifierCV,
    SVMRanker,
    SVMRegressor,
    SVMRegressorCV,
    load_model,
    save_model,
    svm_path,
)
from maxmargin._notes import about_contradictions, about_scales, hard_margin
from maxmargin.cli.messages import note_in_words
from maxmargin.errors import DataError
from maxmargin.losses import Perceptron
from maxmargin.structures.rows import equal_pairs

RNG = np.random.default_rng(31)
X = RNG.normal(size=(60, 3)) + 0.3
Y = X @ [1.0, -1.0, 0.5] + 0.7 * RNG.normal(size=60) > 0.2
VALUES = X @ [1.0, -2.0, 0.0] + 0.2 * RNG.normal(size=60)
SCALES = np.array([1.0, 1e-2, 1e3])
MODELS: list[Any] = [
    SVMClassifier(), SVMRegressor(), OneClassSVM(kernel="linear"), SVMRanker(max_passes=300),
    MulticlassSVM(max_passes=20), SVMClassifier(kernel="rbf"), OneClassSVM(),
]  # fmt: skip


def fitted(model: Any, rows: Any) -> Any:
    """A copy, fitted to these rows."""
    return clone(model).fit(rows, VALUES.round() if isinstance(model, SVMRanker | SVMRegressor) else Y)


def number(note: str, pattern: str) -> float:
    """A number of a note."""
    found = re.search(pattern, note)
    assert found, note
    return float(found[1])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_sound_data_need_no_note(model: Any) -> None:
    around_origin = isinstance(model, OneClassSVM) and model.kernel == "linear"  # its optimum there is 0
    assert fitted(model, X + 5.0 if around_origin else X).notes_ == ()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_unlike_scales_are_named(model: Any, kind: Any) -> None:
    rows = X * SCALES
    (note,) = (
        note for note in fitted(model, kind(rows)).notes_ if note.startswith("the scales of the features differ")
    )
    kernel = getattr(model, "kernel", "linear")
    free = kernel == "rbf" or (kernel == "linear" and not isinstance(model, OneClassSVM))
    scale = np.ptp(rows, axis=0) if free and kind is np.asarray else np.abs(rows).max(0)
    assert number(note, r"factor of (\S+),") == pytest.approx(scale.max() / scale.min(), rel=0.1)
    assert number(note, r"from (\S+) \(feature 1\)") == pytest.approx(scale[1], rel=0.1)
    assert number(note, r"to (\S+) \(feature 2\)") == pytest.approx(scale[2], rel=0.1)
    assert ("the penalty acts almost only" in note) == (kernel == "linear")
    assert ("MaxAbsScaler" in note) == (kind is sp.csr_matrix)
    assert "\n" not in note
    assert len(note) < 260


def test_what_the_note_promises() -> None:
    """Another model, and a faster one."""
    rows, y = datasets.load_breast_cancer(return_X_y=True, as_frame=True)
    plain = SVMClassifier(random_state=0).fit(rows, y == 1)
    assert plain.certificate_.status.ok
    (note,) = plain.notes_
    assert "(feature 'fractal dimension error')" in note
    assert "(feature 'worst area')" in note
    scaled = StandardScaler().fit_transform(rows)
    other = SVMClassifier(random_state=0).fit(scaled, y == 1)
    assert other.notes_ == ()
    assert (other.predict(scaled) != plain.predict(rows)).any()
    again = SVMClassifier(random_state=0, solver="coordinate_ascent")
    assert again.fit(scaled, y == 1).certificate_.status.ok
    with pytest.warns(ConvergenceWarning):
        again.fit(rows, y == 1)


def test_a_thousand_is_the_limit() -> None:
    for factor, count in ((900.0, 0), (1100.0, 1)):
        rows = np.array([[0.0, 0.0], [1.0, factor]])
        assert len(about_scales(rows, None, shifts=True)) == count
    moved = X + np.array([0.0, 1e6, 0.0])
    assert fitted(SVMClassifier(), moved).notes_ == ()  # a free intercept makes up for that
    assert "factor" in fitted(SVMClassifier(penalize_intercept=True), moved).notes_[0]


def test_the_size_of_all_features() -> None:
    for size in (1e-6, 1e7):
        model = fitted(SVMClassifier(2.0, tol=1e-8), size * X)
        (note,) = (note for note in model.notes_ if note.startswith("the features are of size"))
        span = number(note, r"size (\S+):")
        assert span == pytest.approx(size * np.ptp(X, axis=0).max(), rel=0.1)
        acts = number(note, r"acts on them as C=(\S+) ")
        assert acts == pytest.approx(2.0 * (size * np.ptp(X, axis=0).max()) ** 2, rel=0.1)
        exact = 2.0 * (size * np.ptp(X, axis=0).max()) ** 2
        same = SVMClassifier(exact, tol=1e-8).fit(X / np.ptp(X, axis=0).max(), Y)  # the truth of the note
        np.testing.assert_allclose(
            same.decision_function(X / np.ptp(X, axis=0).max()), model.decision_function(size * X), rtol=1e-3, atol=1e-4
        )


def test_constant_features() -> None:
    rows = np.column_stack([X, np.full(60, 7.0), np.zeros(60), np.ones(60), np.full(60, -3.0)])
    (note,) = fitted(SVMClassifier(), rows).notes_
    assert note.startswith("4 of 7 features have the same value in all rows (feature 3, feature 4, feature 5, ...)")
    assert np.abs(fitted(SVMClassifier(tol=1e-9), rows).coef_[0, 3:]).max() < 1e-6
    assert fitted(SVMClassifier(fit_intercept=False), rows).notes_ == ()  # there it is the intercept
    assert fitted(SVMClassifier(), sp.csr_matrix(rows)).notes_ == ()


def machines() -> list[Any]:
    """The linear ones that a shift of the features leaves as they are."""
    return [
        SVMClassifier(), SVMClassifier(loss="squared_hinge"), SVMClassifier(loss="logistic"), SVMClassifier(kernel="rbf"),
        SVMRegressor(), SVMRegressor(loss="squared_epsilon_insensitive"), SVMRanker(), AUCClassifier(),
    ]  # fmt: skip


@pytest.mark.parametrize("model", machines(), ids=str)
def test_features_that_are_all_constant(model: Any) -> None:
    y = np.arange(60) % 2 if isinstance(model, SVMClassifier | AUCClassifier) else np.arange(60.0)
    for rows in (np.full((60, 3), 7.0), sp.csr_matrix((60, 3))):
        note = clone(model).fit(rows, y).notes_[0]
        assert note.startswith("all of the features have the same value in all rows: they have no effect")
    part = about_scales(np.ones((200_000, 10)), None, shifts=True)  # seen in part
    assert part == []
    assert SVMClassifier().fit(np.ones((150_000, 10)), np.arange(150_000) % 2).notes_[0].startswith("weights of 0 are")


CORNERS, OPPOSITE = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), np.array([0, 0, 1, 1])


@pytest.mark.parametrize(
    "model", [*(m for m in machines() if getattr(m, "kernel", "") != "rbf"), MulticlassSVM()], ids=str
)
def test_features_that_do_not_separate(model: Any) -> None:
    what = {SVMRegressor: "tell the targets from each other", SVMClassifier: "tell the classes apart",
            MulticlassSVM: "tell the classes apart"}.get(type(model), "put the pairs in order")  # fmt: skip
    found = clone(model).set_params(tol=1e-4).fit(CORNERS, OPPOSITE)
    assert found.notes_[-1].startswith(
        f"weights of 0 are as good as any, within the tolerance: with this C the features do not {what}; try other"
    )
    assert ("a kernel" in found.notes_[-1]) == (not isinstance(model, SVMRanker | AUCClassifier))
    assert np.abs(found.coef_).max() < 0.05
    far = np.array([[0.0, 0.0], [1.0, 0.0], [8.0, 1.0], [9.0, 1.0]])
    assert not any("weights of 0" in note for note in clone(model).fit(far, OPPOSITE).notes_)


def test_weights_of_0_among_several_problems_and_of_kernels() -> None:
    rows = np.vstack([CORNERS, [[9.0, 9.0], [9.0, 8.0]]])
    notes = SVMClassifier(multi_class="ovo", tol=1e-5).fit(rows, [0, 0, 1, 1, 2, 2]).notes_
    assert [note[:48] for note in notes if "as good" in note] == ["in 1 of 3 two-class problems weights of 0 are as"]
    narrow = SVMClassifier(kernel="rbf", gamma=1e-9).fit(CORNERS, OPPOSITE)
    assert (
        "the values of the kernel do not tell the classes apart; try other features, another kernel" in narrow.notes_[0]
    )
    assert SVMClassifier(kernel="rbf").fit(CORNERS, OPPOSITE).notes_ == ()
    assert SVMRegressor(nu=0.5).fit(CORNERS, OPPOSITE).notes_ == ()  # its objective is another one
    (note,) = SVMRanker(tol=1e-8).fit_comparisons(None, ["A", "B"], ["B", "A"]).notes_
    assert note.startswith("weights of 0 are as good as any")


def test_what_the_note_on_weights_of_0_says() -> None:
    """Against the exact optimum: no weights do better by more than the tolerance, for rows of any kind."""
    said = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        rows = rng.normal(size=(400, 2))
        y = rng.random(400) < 0.3 + 0.02 * seed * (rows[:, 0] > 0)
        for loss in ("hinge", "squared_hinge", "logistic"):
            model = SVMClassifier(0.1, loss=loss, tol=1e-3).fit(rows, y)
            if any("weights of 0" in note for note in model.notes_):
                said += 1
                best = SVMClassifier(0.1, loss=loss, tol=1e-8).fit(rows, y).certificate_.primal
                nothing = SVMClassifier(0.1, loss=loss, tol=1e-8).fit(0.0 * rows, y).certificate_.primal
                assert nothing - best <= 1e-3 * nothing * (1.0 + 1e-6)
    assert 5 <= said < 24


def test_the_area_and_the_hard_margin_have_notes() -> None:
    rows = np.vstack([X * SCALES, (X * SCALES)[:1]])
    y = np.r_[Y, ~Y[0]]
    notes = AUCClassifier().fit(rows, y).notes_
    assert notes[0].startswith("the scales of the features differ")
    assert notes[1].startswith("1 point is in the data under more than one class (row 0 and row 60)")
    (note,) = HardMarginSVM().fit(X[:2] * SCALES, [0, 1]).notes_
    assert note.startswith("the scales of the features differ")
    (note,) = AUCClassifier(100.0).fit([[0.0], [1.0], [5.0], [7.0]], [0, 0, 1, 1]).notes_
    assert note.startswith("all pairs are in order and no slack is left: a larger C changes nothing")


def test_large_data_are_looked_at_in_part() -> None:
    rows = np.random.default_rng(0).normal(size=(30_000, 100)) * np.geomspace(1e-2, 1e3, 100)
    (note,) = about_scales(rows, None, shifts=True)
    assert "(seen in one row of 3)" in note
    assert number(note, r"factor of (\S+),") == pytest.approx(1e5, rel=0.5)
    (note,) = about_scales(sp.csr_matrix(rows), None, shifts=True)
    assert "(seen in one row of 23)" in note
    assert "(feature 0)" in note
    assert number(note, r"factor of (\S+),") == pytest.approx(1e5, rel=0.5)


def test_one_row_in_two_classes() -> None:
    rows, y = np.vstack([X, X[[5, 9, 9]], X[:1]]), np.r_[Y, ~Y[[5, 9]], ~Y[9], Y[0]]
    for kind in (np.asarray, sp.csr_matrix, lambda rows: rows.astype(np.float32)):
        for model in (SVMClassifier(), MulticlassSVM(), SVMClassifier(kernel="rbf")):
            (note,) = clone(model).fit(kind(rows), y).notes_
            assert note.startswith(
                "2 points are in the data under more than one class (row 5 and row 60, row 9 and row 61)"
            )
    assert SVMClassifier().fit(rows, y, np.r_[np.ones(60), np.zeros(4)]).notes_ == ()
    three = SVMClassifier().fit(np.vstack([X, X[:1], X[:1]]), np.r_[Y * 1, 5, 7])
    assert three.notes_[0].startswith("1 point is in the data under more than one class (row ")
    assert set(re.findall(r"row (\d+)", three.notes_[0])) == {"0", "60", "61"}
    many = SVMClassifier().fit(np.tile(X, (2, 1)), np.r_[Y, ~Y]).notes_[0]
    assert many.startswith("60 points are in the data")
    assert many.count(" and row ") == 3
    assert "..." in many
    assert SVMRegressor().fit(np.tile(X, (2, 1)), np.r_[VALUES, VALUES + 1.0]).notes_ == ()
    wanted = SVMClassifier().fit(np.tile(X, (2, 1)), np.r_[Y, Y], None, np.r_[np.ones(60), np.full(60, 2.0)])
    assert wanted.notes_ == ()


def test_pairs_of_equal_rows_by_brute_force() -> None:
    rows = np.random.default_rng(1).integers(-1, 2, (80, 3)).astype(float)
    expected = {(i, j) for j in range(80) for i in range(j) if (rows[i] == rows[j]).all()}
    for kind in (np.asarray, sp.csr_matrix):
        found = {(int(i), int(j)) for i, j in equal_pairs(kind(rows))}
        assert found <= expected
        label = np.arange(80)
        for i, j in sorted(found):
            label[label == label[j]] = label[i]
        assert {(i, j) for j in range(80) for i in range(j) if label[i] == label[j]} == expected
    assert len(equal_pairs(X)) == 0
    signed = np.array([[0.0, 1.0], [-0.0, 1.0]])
    assert equal_pairs(signed).tolist() == [[0, 1]]
    assert about_contradictions(np.zeros((2, 60_000)), np.array([0, 1]), np.arange(2)) == []  # too many values


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("options", [{}, {"penalize_intercept": True}, {"fit_intercept": False}], ids=str)
def test_the_hard_margin(options: Any, kernel: str) -> None:
    """Said exactly where a larger C changes nothing, within what is said of the objective."""
    rows = X[np.abs(X @ [1.0, -1.0, 0.5]) > 0.1]
    y = rows @ [1.0, -1.0, 0.5] > 0
    model = SVMClassifier(kernel=kernel, gamma=0.3, tol=1e-6, max_passes=20_000, **options)
    hard = clone(model).set_params(C=1e8).fit(rows, y)
    needed = float(np.abs(hard.dual_coef_).max())
    assert needed > 1.0
    for C in (0.3 * needed, 0.95 * needed, 2.0 * needed, 10.0 * needed, 1e6 * needed):
        soft = clone(model).set_params(C=C).fit(rows, y)
        found = [note for note in soft.notes_ if "hard margin" in note]
        assert bool(found) == (needed < C), (C / needed, soft.notes_)
        if found:
            assert found[0].startswith("the data are separable and no slack is left: a larger C changes nothing")
            assert soft.certificate_.training_risk == 0.0
            said = "objective by" in found[0]  # no more than rounding is not told
            assert said or found[0].endswith("no slack is left: a larger C changes nothing: this is the hard margin")
            most = number(found[0], r"objective by (\S+) %") / 100.0 if said else 0.0
            for more in (3.0 * C, 1e3 * C):
                other = clone(model).set_params(C=more).fit(rows, y).certificate_
                assert other.dual <= soft.certificate_.dual * (1.0 + 1.01 * most + 1e-6)
                assert other.primal >= soft.certificate_.dual * (1.0 - 1e-9)


def test_the_bound_of_the_objective_is_one() -> None:
    """Against the exact optimum of the hard margin, for rough answers too."""
    rows = X[np.abs(X @ [1.0, -1.0, 0.5]) > 0.1]
    y = rows @ [1.0, -1.0, 0.5] > 0
    exact = SVMClassifier(1e8, tol=1e-9).fit(rows, y).certificate_
    said = 0
    for C in (100.0, 1e4, 1e6):
        for tol in (0.3, 0.05, 1e-3, 1e-5):
            model = SVMClassifier(C, tol=tol, random_state=0).fit(rows, y)
            found, weight = model.certificate_, np.ones(len(rows))
            bound = hard_margin(found, float(weight.sum()), 1.0, 1e3)
            if bound is not None:
                said += 1
                assert exact.dual <= found.dual / (1.0 - bound.change) * (1.0 + 1e-9)
    assert said >= 6


def test_several_problems_and_other_machines_have_hard_margins_too() -> None:
    rows, y = datasets.load_iris(return_X_y=True)
    for options in ({}, {"kernel": "rbf"}, {"multi_class": "ovo"}):
        (note,) = SVMClassifier(10.0, **options).fit(rows, y).notes_  # type: ignore[arg-type]
        count = 2 if "multi_class" in options else 1  # the first class stands apart
        assert note.startswith(f"{count} of 3 two-class problems are separable and without slack: for these a larger C")
    apart = rows[y != 2]
    (note,) = MulticlassSVM(10.0).fit(apart, y[y != 2]).notes_
    assert note.startswith("the data are separable and no slack is left")
    (note,) = SVMRanker(100.0).fit(apart, y[y != 2]).notes_
    assert note.startswith("all pairs are in order and no slack is left: a larger C changes nothing")
    (note,) = SVMRanker(10.0, tol=1e-6).fit_comparisons(None, ["A", "B"], ["B", "C"]).notes_
    assert note.startswith("all pairs are in order and no slack is left")
    for model in (
        SVMClassifier(10.0, loss="squared_hinge"),
        SVMClassifier(10.0, loss="logistic"),
        SVMClassifier(nu=0.1),
    ):
        assert model.fit(apart, y[y != 2]).notes_ == ()


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_squared_hinges_come_near_the_hard_margin(kernel: str) -> None:
    """What is still to come is bounded, against fits for larger C."""
    rows = X[np.abs(X @ [1.0, -1.0, 0.5]) > 0.3]
    y = rows @ [1.0, -1.0, 0.5] > 0
    model = SVMClassifier(loss="squared_hinge", kernel=kernel, gamma=0.3, tol=1e-3)
    assert clone(model).fit(rows, y).notes_ == ()
    soft = clone(model).set_params(C=1e7, tol=1e-5).fit(rows, y)
    (note,) = soft.notes_
    assert note.startswith("the data are separable and hardly any slack is left: a larger C changes hardly anything")
    most = number(note, r"objective by (\S+) %") / 100.0
    other = clone(model).set_params(C=1e11, tol=1e-5).fit(rows, y).certificate_
    assert soft.certificate_.dual * (1.0 - 1e-9) <= other.primal
    assert other.dual <= soft.certificate_.dual * (1.0 + 1.01 * most + 1e-9)
    assert clone(model).set_params(C=1e7, tol=1e-5).fit(X, Y).notes_ == () or kernel == "rbf"
    weight = np.where(np.arange(len(y)) == 0, 1e-6, 1.0)  # one slack may be large
    slack = clone(model).set_params(C=1e7, tol=1e-5).fit(rows, y, weight)
    for found in (note for note in slack.notes_ if "slack" in note):
        exact = clone(model).set_params(C=1e13, tol=1e-5).fit(rows, y).certificate_
        bound = number(found, r"objective by (\S+) %") / 100.0
        assert exact.dual <= slack.certificate_.dual * (1.0 + 1.01 * bound + 1e-6)
    (note,) = SVMRanker(1e4, loss="squared_hinge").fit([[0.0], [1.0], [3.0]], [0, 1, 2]).notes_
    assert note.startswith("all pairs are in order and hardly any slack is left")


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_losses_without_a_minimum_say_so_on_separable_data(loss: str) -> None:
    rows = X[np.abs(X @ [1.0, -1.0, 0.5]) > 0.3]
    y = rows @ [1.0, -1.0, 0.5] > 0
    model = SVMClassifier(loss=loss)
    assert model.fit(rows, y).notes_ == ()
    fits = [clone(model).set_params(C=C).fit(rows, y) for C in (1e6, 1e9)]
    for found in fits:
        (note,) = found.notes_
        assert note.startswith("the data are separable and the mean loss is ")
        assert number(note, r"loss is (\S+):") == pytest.approx(found.certificate_.risk_bound, rel=0.5)
    # what it says of a larger C: longer weights, nearer to the direction of the hard margin
    hard = HardMarginSVM(tol=1e-8).fit(rows, y).coef_[0]
    lengths = [np.linalg.norm(found.coef_) for found in fits]
    angles = [hard @ found.coef_[0] / np.linalg.norm(hard) / size for found, size in zip(fits, lengths, strict=True)]
    assert lengths[0] < lengths[1]
    assert angles[0] < angles[1] < 1.0 + 1e-12
    mixed = (
        clone(model).set_params(C=1e6).fit(np.vstack([rows, rows[:1]]), np.r_[y, ~y[0]], np.r_[np.ones(len(y)), 1e-9])
    )
    assert not any("separable" in note for note in mixed.notes_)  # a tiny mean loss proves nothing here


def test_targets_inside_the_tube() -> None:
    for kernel in ("linear", "rbf"):
        (note,) = SVMRegressor(epsilon=10.0, kernel=kernel).fit(X, VALUES + 5.0).notes_
        assert note.startswith("all targets are within epsilon=10 of ")
        assert abs(number(note, r"of (\S+): all") - VALUES.mean() - 5.0) < 5.0
    assert SVMRegressor(epsilon=10.0, nu=1.0, kernel="rbf").fit(X, VALUES).notes_ == ()


def test_notes_are_shown_kept_and_renewed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = SVMClassifier(verbose=1).fit(X * SCALES, Y)
    shown = capsys.readouterr().err.splitlines()
    certificate = next(k for k, line in enumerate(shown) if line.startswith("SVMClassifier ("))
    assert shown[certificate + 2 :] == [f"note: {note}" for note in model.notes_]
    assert len(model.notes_) == 1
    save_model(model, tmp_path / "m")
    assert load_model(tmp_path / "m").notes_ == model.notes_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(verbose=0).fit(X, Y)
    assert model.notes_ == ()
    assert capsys.readouterr().err == ""


def test_notes_of_the_command_line_have_the_numbers_of_the_file() -> None:
    note = "from 1 (feature 0) to 9 (feature 12): scaling them (StandardScaler) is wise (row 3 and row 7); epsilon=1"
    assert note_in_words(note, {}) == note.replace("feature 0", "feature 1").replace("feature 12", "feature 13").replace(
        "row 3", "row 4").replace("row 7", "row 8").replace(" (StandardScaler)", "").replace(
            "epsilon=1", "--epsilon 1")  # fmt: skip
    assert "(feature 0) to 9 (feature 12)" in note_in_words(note, {"zero_based": True})


def test_train_and_inspect_show_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from maxmargin.cli import main

    data, model = str(tmp_path / "x.svm"), str(tmp_path / "m")
    Path(data).write_text("1 1:2000 2:1 5:0.1\n2 2:2 5:0.1\n1 1:3 4:1\n2 2:3 3:1\n1 2:3 3:1\n")
    assert main(["train", data, "-o", model, "--task", "binary", "-C", "10"]) == 0
    lines = capsys.readouterr().err.splitlines()
    scales, rows = (line.removeprefix("maxmargin: ") for line in lines[-4:-2])
    assert "from 0.1 (feature 5) to 2e+03 (feature 1)" in scales
    assert rows.startswith("1 point is in the data under more than one class (row 4 and row 5)")
    assert main(["inspect", model]) == 0
    out = capsys.readouterr().out
    assert f"note        {scales}\nnote        {rows}\n" in out
    assert main(["train", "-q", data, "-o", model, "--task", "binary"]) == 0
    assert capsys.readouterr().err == ""


# --- hostile numbers


HUGE = np.where(X > 1.0, 1e308, X)
FAR = np.array([[0.0], [1e100]])


@pytest.mark.parametrize("model", [*MODELS, SVMClassifier(kernel="poly"), SVMClassifier(loss="logistic")], ids=str)
def test_values_of_1e308_are_refused(model: Any) -> None:
    for kind in (np.asarray, sp.csr_matrix):
        with pytest.raises(DataError, match=r"features of up to 1e\+308 in size are too large to compute with; scale"):
            fitted(model, kind(HUGE))


@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(
    "options", [{}, {"loss": "squared_hinge"}, {"kernel": "rbf"}, {"kernel": "poly"}, {"kernel": "cosine"}], ids=str
)
def test_two_rows_as_far_apart_as_can_be(options: Any, C: float) -> None:
    for kind in (np.asarray, sp.csr_matrix):
        model = SVMClassifier(C, **options).fit(kind(FAR), [0, 1])
        assert model.certificate_.status.ok
        value = model.decision_function(FAR)
        assert np.isfinite(value).all()
        if options.get("kernel") in (None, "poly") or C > 0.1:  # else the intercept alone is as good
            assert model.predict(FAR).tolist() == [0, 1]
        if "kernel" not in options:
            assert model.coef_[0, 0] == pytest.approx(2e-100, rel=1e-2)


def test_two_rows_far_apart_for_the_other_machines() -> None:
    model = SVMRegressor(epsilon=0.1, tol=1e-6).fit(FAR, [0.0, 1.0])
    assert model.predict(FAR) == pytest.approx([0.1, 0.9], abs=1e-3)
    for penalized, value in ((True, 0.25), (False, 1e-200)):
        several = MulticlassSVM(random_state=0, penalize_intercept=penalized).fit(FAR, [0, 1])
        assert several.predict(FAR).tolist() == [0, 1]
        assert several.certificate_.status.ok
        assert several.certificate_.primal == pytest.approx(value, rel=2e-3)
    assert OneClassSVM().fit(FAR).certificate_.status.ok
    for machine in (OneClassSVM(kernel="linear"), SVMClassifier(nu=0.5)):
        with pytest.raises(DataError, match=r"values of up to 1e\+200: too large to compute with .*scale X down"):
            machine.fit(FAR, [0, 1])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("power", [15, 50, 100])
def test_a_few_enormous_values_leave_the_right_answer(power: int) -> None:
    """In units of the enormous values what is left of the others is nothing: that is the problem to be solved."""
    enormous = np.where(X > 1.0, 10.0**power, X)
    model = SVMClassifier(solver="interior_point", max_passes=300).fit(enormous, Y)
    weights = model.coef_[0] * np.where((X > 1.0).any(0), 10.0**power, 1.0)
    assert np.isfinite(weights).all()
    reference = SVMClassifier(tol=1e-6).fit(np.where(X > 1.0, 1e6, X), Y).certificate_.primal
    assert model.certificate_.primal == pytest.approx(reference, rel=2e-3)


def test_targets_of_no_size_are_refused() -> None:
    for size in (1e-300, 1e-120):
        with pytest.raises(DataError, match=r"y has no value above .*e-\d+ in size: too small; scale y up"):
            SVMRegressor(epsilon=0.0).fit(X, size * VALUES)
    assert SVMRegressor(epsilon=0.0).fit(X, np.zeros(60)).notes_[0].startswith("all targets are within epsilon=0 of 0")
    small = SVMRegressor(epsilon=0.0, tol=1e-6).fit(X, 1e-10 * VALUES)
    np.testing.assert_allclose(
        small.coef_ * 1e10, SVMRegressor(1e10, epsilon=0.0, tol=1e-6).fit(X, VALUES).coef_, rtol=1e-3, atol=1e-6
    )


def test_one_class_around_the_origin() -> None:
    """The optimum is 0 there: the run ends by the size of its gap, which a note explains."""
    for scale in (1.0, 1e6):
        model = OneClassSVM(kernel="linear").fit((X - X.mean(0)) * scale)
        assert model.certificate_.status.ok
        assert model.certificate_.relative_gap > model.tol
        (note,) = (note for note in model.notes_ if "goes through the origin" in note)
        assert "all weights are about 0" in note
        assert np.abs(model.coef_).max() * np.abs(X * scale).max() < 1e-3 * scale**2
    away = OneClassSVM(kernel="linear").fit(X + 5.0)
    assert away.certificate_.relative_gap <= away.tol
    assert not any("origin" in note for note in away.notes_)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_numbers_at_the_ends_of_the_range_are_refused_without_a_warning(kind: Any) -> None:
    """Also where only held-out rows have them, and where a margin is beyond all numbers."""
    y = [0, 1, 0, 1]
    for kernel in ("linear", "rbf"):
        with pytest.raises(DataError, match=r"features of up to 1e\+308 in size are too"):
            SVMClassifierCV(Cs=3, cv=2, kernel=kernel).fit(kind([[1e308], [-1e308], [1.0], [0.0]]), y)
    for rows, message in (
        ([[1e-200], [-1e-200], [2e-200], [-2e-200]], "the weights would be of size inf; scale X up"),
        ([[9e99, 1e-200], [-9e99, 0.0], [9e99, 2e-200], [-9e98, 1.0]], "scale the features"),
    ):
        with pytest.raises(DataError, match=message):
            HardMarginSVM().fit(kind(rows), y)


@pytest.mark.parametrize("loss", ["perceptron", Perceptron()])
def test_weights_of_0_are_an_optimum_of_the_perceptron_loss(loss: Any) -> None:
    for classes in (Y, np.arange(60) % 3):
        (note,) = SVMClassifier(loss=loss).fit(X, classes).notes_
        assert note.startswith("all weights are 0, which is always an optimum of the perceptron loss")
        assert "'hinge'" in note


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_constant_targets_with_nu(kernel: str) -> None:
    model = SVMRegressor(nu=0.5, kernel=kernel).fit(X, np.full(60, 3.0))
    assert model.notes_ == ("all weights are 0: with nu=0.5 no others are better, as where all targets are the same",)
    assert SVMRegressor(nu=0.5, kernel=kernel).fit(X, VALUES).notes_ == ()


def no_kernel(A: Any, B: Any) -> Any:
    return np.zeros((A.shape[0], B.shape[0]))


@pytest.mark.filterwarnings("ignore:with nu")
@pytest.mark.parametrize(
    "model",
    [
        OneClassSVM(kernel="linear"), OneClassSVM(kernel="poly"), OneClassSVM(kernel="precomputed"),
        SVMClassifier(kernel="cosine"), SVMClassifier(kernel=no_kernel), SVMClassifier(kernel="poly", nu=0.5),
        SVMRegressor(kernel=no_kernel), SVMRegressor(kernel="precomputed", nu=0.5), SVMRegressor(kernel="poly"),
    ],
    ids=lambda model: re.sub(r" at 0x\w+", "", str(model)),
)  # fmt: skip
def test_a_kernel_that_is_0_everywhere(model: Any) -> None:
    notes = clone(model).fit(np.zeros((6, 6)), [0, 0, 0, 1, 1, 1]).notes_
    assert notes[0].startswith("the kernel is 0 between all rows: every row has the same score")
    assert not [note for note in notes[1:] if "1 point is in the data" not in note]


SAME = np.ones((12, 2)), np.arange(12) % 2
NOTED: dict[str, tuple[Any, Any]] = {
    "constant features": (X * [1.0, 0.0, 1.0], Y),
    "all constant, contradictions": SAME,
    "unlike scales": (X * [1e-6, 1.0, 1e7], Y),
    "size": (X * 1e-6, Y),
    "weights of 0": (X * 1e-308, Y),
    "hard margin": (X, X[:, 0] > 0.3),
    "sparse": (sp.csr_array(X * [1e-6, 1.0, 1e7]), Y),
    "three classes": (np.repeat(X[:30], 2, 0), np.arange(60) % 3),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("kind", NOTED)
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_models_of_paths_and_searches_have_the_notes_of_a_fit(task: str, kind: str, kernel: str) -> None:
    rows, y = NOTED[kind]
    machine: Any = SVMClassifier
    search: Any = SVMClassifierCV
    if task == "regression":
        y, machine, search = y.astype(float), SVMRegressor, SVMRegressorCV
    options: Any = {"kernel": kernel, "gamma": 0.5, "max_passes": 300, "random_state": 0}
    Cs = [0.01, 1.0, 1e6]
    found = [model.notes_ for model in svm_path(rows, y, Cs, task=task, **options).models]  # type: ignore[arg-type]
    alone = [machine(C=C, **options).fit(rows, y).notes_ for C in Cs]
    of_data = [[note for note in notes if "changes" not in note] for notes in found]
    assert of_data == [[note for note in notes if "changes" not in note] for notes in alone]
    assert [len(notes) for notes in found] == [len(notes) for notes in alone]
    chosen = search(Cs, cv=2, **options).fit(rows, y)
    assert chosen.notes_ == found[Cs.index(chosen.C_)]
    if kernel == "linear" and (task == "classification" or kind not in ("hard margin", "three classes")):
        assert any(found)


def test_the_data_of_a_path_are_looked_at_once(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    looked: list[str] = []
    for name in ("extremes", "about_contradictions", "is_zero"):
        whole = getattr(warm, name)

        def counting(*given: Any, name: str = name, whole: Any = whole) -> Any:
            looked.append(name)
            return whole(*given)

        monkeypatch.setattr(warm, name, counting)
    path = svm_path(*SAME, [0.1, 1.0, 10.0], verbose=1)
    assert all(len(model.notes_) == 2 for model in path.models)
    assert sorted(looked) == ["about_contradictions", "extremes"]
    assert capsys.readouterr().err.count("note: all of the features") == 1
    looked.clear()
    SVMClassifierCV([0.1, 1.0], cv=2, kernel="rbf").fit(*SAME)
    assert sorted(looked) == ["about_contradictions", "extremes", "is_zero"]  # nobody reads those of the folds


@pytest.mark.parametrize(
    "model",
    [
        *(
            SVMClassifier(kernel=kernel, C=1e4)
            for kernel in ("linear", "rbf", "poly", "cosine", "sigmoid", lambda a, b: a @ b.T)
        ),
        SVMClassifier(C=1e4, fit_intercept=False), SVMClassifier(C=1e4, penalize_intercept=True), MulticlassSVM(C=1e4),
        MulticlassSVM(C=1e4, fit_intercept=False), MulticlassSVM(C=1e4, penalize_intercept=True),
        SVMRegressor(C=1e4, kernel="poly"), SVMRegressor(C=1e4, fit_intercept=False), AUCClassifier(C=1e4),
    ],
)  # fmt: skip
def test_all_constant_features_leave_no_advice(model: Any) -> None:
    """A larger C or another kernel would tell no row from another."""
    found = model.fit([[3.0]] * 6, [0, 1, 1, 1, 1, 0])
    assert sum("all of the features have the same value in all rows:" in note for note in found.notes_) == 1
    assert not any(word in note for note in found.notes_ for word in ("larger C", "kernel", "gamma"))
    assert len(set(np.round(found.decision_function([[3.0]] * 6) if hasattr(found, "classes_") else [0.0], 12))) == 1
