"""Displays: what they draw, where, and that they leave matplotlib's global state alone."""

from __future__ import annotations

import io
import itertools
import math
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from maxmargin import MulticlassSVM, SequenceSVM, SVMClassifier, compare_solvers
from maxmargin.compare import Comparison, SolverRun
from maxmargin.errors import DataError, MissingDependencyError
from maxmargin.hmm import GenerativeHMM
from maxmargin.losses import MARGIN_LOSSES, CustomLoss, Logistic
from maxmargin.plots import (
    CompareDisplay,
    CuttingPlaneDisplay,
    Display,
    GapDisplay,
    LossDisplay,
    ObjectiveDisplay,
    PathDisplay,
    PerceptronDisplay,
    SequenceDisplay,
    TransitionDisplay,
)
from maxmargin.problem import Certificate
from maxmargin.solvers.loop import Record
from maxmargin.status import Status

PASSES, PRIMAL, DUAL = [1, 2, 3, 3], [9.0, 6.0, 5.5, 5.2], [1.0, 4.0, 4.8, 5.0]
EXACT = [False, True, False, True]


@pytest.fixture(scope="module")
def fitted() -> tuple[list[Any], list[Any], SequenceSVM]:
    rng = np.random.default_rng(3)
    y = [rng.choice(["n", "v", "x"], 6).tolist() for _ in range(12)]
    X = [np.array([[1.0, label == "n", label == "v"] for label in labels]) for labels in y]
    X = [x + 0.7 * rng.standard_normal(x.shape) for x in X]
    return X, y, SequenceSVM(C=1.0, tol=1e-2, random_state=0).fit(X, y)


def all_displays(fitted: tuple[list[Any], list[Any], SequenceSVM], axes: Any = (None,) * 4) -> list[Any]:
    X, y, model = fitted
    rows = [np.hstack([x, x[:, :1]]) for x in X[:3]]
    return [
        GapDisplay.from_estimator(model, ax=axes[0]),
        ObjectiveDisplay.from_estimator(model, ax=axes[1]),
        TransitionDisplay.from_estimator(model, ax=axes[2]),
        SequenceDisplay.from_predictions(rows, y[:3], model.predict(X[:3]), image_shape=(2, 2), ax=axes[3]),
    ]


def test_pictures_without_global_state(run_python: Callable[..., str], tmp_path: Path) -> None:
    """A process that draws all displays never loads pyplot, whatever the backend, and keeps its settings."""
    pytest.importorskip("matplotlib")
    code = f"""
import matplotlib, sys
import numpy as np
from types import SimpleNamespace
from maxmargin.plots import GapDisplay, ObjectiveDisplay, SequenceDisplay, TransitionDisplay
assert "matplotlib.figure" not in sys.modules
before = dict(matplotlib.rcParams)
figures = {PASSES}, {PRIMAL}, {DUAL}, {EXACT}
displays = [
    GapDisplay(*figures), ObjectiveDisplay(*figures), TransitionDisplay(np.eye(3), "abc"),
    SequenceDisplay([np.ones((2, 8, 8))], ["ab"], {{"model": ["aa"]}}),
]
for number, display in enumerate(displays):
    display.save({str(tmp_path)!r} + f"/{{number}}.png", dpi=50)
assert "matplotlib.pyplot" not in sys.modules, "pyplot was loaded"
assert dict(matplotlib.rcParams) == before
"""
    run_python(code, env={"MPLBACKEND": "TkAgg"})
    from matplotlib.image import imread

    files = sorted(tmp_path.iterdir())
    assert [path.name for path in files] == ["0.png", "1.png", "2.png", "3.png"]
    for path in files:
        picture = imread(path)
        assert min(picture.shape[:2]) > 50
        assert np.ptp(picture[..., :3]) > 0.5, "nothing is drawn"


def test_own_figures_are_unknown_to_pyplot_and_given_axes_are_used(plots: Any, fitted: Any) -> None:
    for display in all_displays(fitted):
        assert display._repr_png_().startswith(b"\x89PNG")
    assert plots.get_fignums() == []
    figure, axes = plots.subplots(1, 4)
    for display, ax in zip(all_displays(fitted, axes), axes):
        assert display.ax_ is ax
        assert display.figure_ is figure
        assert display._repr_png_() is None
    figure.savefig(io.BytesIO())


def test_every_axis_is_named(fitted: Any) -> None:
    pytest.importorskip("matplotlib")
    for display in all_displays(fitted):
        assert display.ax_.get_title()
        if not isinstance(display, SequenceDisplay):
            assert display.ax_.get_xlabel()
            assert display.ax_.get_ylabel()


def test_gap_and_objective_show_the_history(fitted: Any) -> None:
    pytest.importorskip("matplotlib")
    model = fitted[2]
    gap = GapDisplay.from_estimator(model)
    assert gap.gap.tolist() == [record.relative_gap for record in model.history_]
    assert gap.gap[-1] == model.certificate_.relative_gap
    line, dots, asked_for, *_ = gap.ax_.get_lines()
    assert line.get_xdata().tolist() == [record.passes for record in model.history_]
    assert line.get_ydata().tolist() == gap.gap.tolist()
    assert len(dots.get_xdata()) == sum(record.exact for record in model.history_)
    assert set(asked_for.get_ydata()) == {model.tol}
    assert gap.ax_.get_yscale() == "log"
    assert gap.ax_.get_ylabel() == "relative gap\n(primal − dual) / max(|primal|, |dual|)"
    objective = ObjectiveDisplay.from_estimator(model)
    primal, dual = objective.ax_.get_lines()[0], objective.ax_.get_lines()[2]
    assert primal.get_ydata().tolist() == [record.primal for record in model.history_]
    assert dual.get_ydata().tolist() == [record.dual for record in model.history_]


def test_a_history_of_any_estimator_and_without_a_gap() -> None:
    pytest.importorskip("matplotlib")
    X = np.array([[0.0], [1.0], [2.0]])
    assert GapDisplay.from_estimator(MulticlassSVM().fit(X, [0, 1, 1])).name == "MulticlassSVM"
    closed = GapDisplay([1, 2], [3.0, 2.0], [2.0, 2.0], [True, True]).plot()
    assert closed.gap.tolist() == [pytest.approx(1 / 3), 0.0]
    closed.figure_.savefig(io.BytesIO())
    GapDisplay([1], [2.0], [2.0], [True]).plot().figure_.savefig(io.BytesIO())


def test_what_has_no_gap_says_so() -> None:
    with pytest.raises(DataError, match="SequenceSVM has no history_: fit it first"):
        GapDisplay.from_estimator(SequenceSVM())
    record = SimpleNamespace(primal=np.inf, dual=0.0, passes=1, exact=True)
    estimator = SimpleNamespace(history_=[record], solver_="perceptron")
    with pytest.raises(DataError, match="has no gap to draw: its perceptron keeps no primal and dual"):
        ObjectiveDisplay.from_estimator(estimator)
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 1, 0, 1]
    apart = SVMClassifier(solver="perceptron", random_state=0).fit(X, [0, 0, 1, 1])
    with pytest.warns(ConvergenceWarning):
        mixed = SVMClassifier(solver="perceptron", random_state=0, max_passes=5).fit(X, y)
    for model, status in ((apart, Status.SEPARATED), (mixed, Status.PASS_LIMIT)):
        assert model.certificate_.status is status
        for kind in (GapDisplay, ObjectiveDisplay):
            with pytest.raises(DataError, match="^SVMClassifier has no gap to draw: its perceptron keeps no primal"):
                kind.from_estimator(model)
    with pytest.raises(DataError, match="MulticlassSVM has no transition_"):
        TransitionDisplay.from_estimator(MulticlassSVM())


def test_transitions_are_those_of_the_model(fitted: Any) -> None:
    pytest.importorskip("matplotlib")
    X, y, model = fitted
    for estimator in (model, GenerativeHMM().fit(X, y)):
        ax = TransitionDisplay.from_estimator(estimator).ax_
        np.testing.assert_array_equal(ax.get_images()[0].get_array(), estimator.transition_)
        assert [text.get_text() for text in ax.get_yticklabels()] == ["n", "v", "x"]
        shown = {text.get_position(): text.get_text() for text in ax.texts}
        value = estimator.transition_[1, 2]  # from v (row 1) to x (column 2)
        assert float(shown[2, 1].replace("−", "-")) == pytest.approx(value, abs=0.051)


def test_forbidden_transitions_stay_empty_and_many_labels_get_no_numbers() -> None:
    pytest.importorskip("matplotlib")
    display = TransitionDisplay([[0.0, -np.inf], [-0.01, 2.0]], ["a", "b"]).plot()
    assert display.ax_.get_images()[0].get_array().mask.tolist() == [[False, True], [False, False]]
    assert sorted(text.get_text() for text in display.ax_.texts) == ["0.0", "0.0", "2.0"]
    display.figure_.savefig(io.BytesIO())
    TransitionDisplay(np.full((2, 2), -np.inf), ["a", "b"]).plot().figure_.savefig(io.BytesIO())
    assert not TransitionDisplay(np.eye(60), [f"label {k}" for k in range(60)]).plot().ax_.texts
    with pytest.raises(DataError, match=r"transition has shape \(2, 2\), but there are 3 labels"):
        TransitionDisplay(np.eye(2), "abc")


def test_wrong_readings_and_only_those_stand_in_boxes() -> None:
    pytest.importorskip("matplotlib")
    pictures = [np.full((3, 4, 5), 0.5), np.ones((1, 4, 5))]
    readings = {"first": [[1, 2, 4], [7]], "second": [[1, 2, 3], [8]]}
    display = SequenceDisplay(pictures, [[1, 2, 3], [7]], readings).plot()
    boxed = [text.get_text() for text in display.ax_.texts if text.get_bbox_patch() is not None]
    assert boxed == ["4", "8"]
    assert len(display.ax_.get_images()) == 4
    names = [text.get_text() for text in display.ax_.texts if not text.get_text().isdigit()]
    assert names == ["truth", "first", "second"] * 2


def test_pixels_are_the_first_features() -> None:
    pytest.importorskip("matplotlib")
    X = [np.arange(14.0).reshape(2, 7) / 14]
    display = SequenceDisplay.from_predictions(X, ["ab"], ["ab"], image_shape=(2, 3))
    np.testing.assert_array_equal(display.pictures[0][1], X[0][1, :6].reshape(2, 3))
    with pytest.raises(DataError, match="a picture needs 8 values a row"):
        SequenceDisplay.from_predictions(X, ["ab"], ["ab"], image_shape=(2, 4))


@pytest.mark.parametrize(
    ("pictures", "truth", "found", "message"),
    [
        ([], [], [], "no sequences to draw"),
        ([np.ones((2, 4))], ["ab"], ["ab"], r"pictures of shape \(2, 4\)"),
        ([np.ones((2, 4, 4))], ["abc"], ["ab"], "truth: its sequences are not as many and as long"),
        ([np.ones((2, 4, 4))], ["ab"], ["a"], "model: its sequences are not as many and as long"),
    ],
)
def test_readings_that_do_not_fit_are_refused(pictures: Any, truth: Any, found: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        SequenceDisplay(pictures, truth, {"model": found})


def test_losses_against_the_margin() -> None:
    pytest.importorskip("matplotlib")
    own = CustomLoss(np.square, lambda t: 2.0 * t, name="own")
    display = LossDisplay(["zero_one", "hinge", Logistic(), Logistic(base=2.0), own], margins=(-1.0, 2.0)).plot()
    lines = display.ax_.get_lines()
    t = lines[0].get_xdata()
    assert (t[0], t[-1]) == (-1.0, 2.0)
    formulas = [t <= 0.0, np.maximum(0.0, 1.0 - t), np.log1p(np.exp(-t)), np.log2(1.0 + np.exp(-t)), t * t]
    for line, formula in zip(lines, formulas, strict=True):
        np.testing.assert_allclose(line.get_ydata(), formula, rtol=1e-12, atol=1e-14)
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == ["zero_one", "hinge", "logistic", "Logistic(base=2)", "own"]
    assert len({(line.get_color(), line.get_linestyle()) for line in LossDisplay().plot().ax_.get_lines()}) == 6
    assert LossDisplay().plot().ax_.get_ylim()[1] == 4.0  # the exponential one goes on
    assert LossDisplay(["zero_one"]).plot().ax_.get_xlabel()
    with pytest.raises(
        DataError, match="'log' is no loss of the margin; known are hinge, squared_hinge, logistic, exp"
    ):
        LossDisplay(["log"])
    with pytest.raises(DataError, match="margins must be two numbers in ascending order"):
        LossDisplay(margins=(1.0, -1.0))


FEATURE, SIDE = np.array([-4.0, -2.0, 1.0, 0.5, 0.5, 1.0, -1.5]), np.array([-1, -1, 1, 1, -1, -1, 1])


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic", "exponential", "perceptron"])
@pytest.mark.parametrize("start", [-1.5, 0.0, 2.0])
def test_planes_approach_the_risk_from_below(loss: str, start: float) -> None:
    display = CuttingPlaneDisplay(FEATURE, SIDE, radius=2.0, loss=loss, start=start, rounds=(1, 12))
    values = MARGIN_LOSSES[loss].value
    risk = np.array([values(w * FEATURE * SIDE).mean() for w in display.grid])
    np.testing.assert_allclose(display.risk, risk)
    assert display.points[0] == start
    for count in range(1, 13):
        model = display.model(display.grid, count)
        assert (model <= risk + 1e-9).all()
        lower, upper = display.bounds[count - 1]
        assert lower == pytest.approx(model.min(), abs=2e-2)  # the grid may miss the lowest point
        assert lower <= model.min() + 1e-9
        assert lower - 1e-9 <= risk.min()
        at = display.points[:count]
        touched = np.array([values(v * FEATURE * SIDE).mean() for v in at])
        np.testing.assert_allclose(display.slopes[:count] * at + display.offsets[:count], touched)
        assert upper == pytest.approx(touched.min())
        np.testing.assert_allclose(display.model(display.lowest[count - 1], count), lower, atol=1e-6)
    np.testing.assert_array_equal(display.points[1:], display.lowest[:-1])
    assert np.diff(display.bounds[-1])[0] < (1e-6 if loss in ("hinge", "perceptron") else 0.02)


def test_the_picture_of_planes_shows_risk_planes_and_model() -> None:
    pytest.importorskip("matplotlib")
    display = CuttingPlaneDisplay(FEATURE, SIDE, radius=2.0, start=-1.5).plot()
    assert len(display.axes_) == 3
    for ax, count in zip(display.axes_, (1, 2, 4)):
        risk, *planes, model, touched, lowest = ax.get_lines()
        np.testing.assert_array_equal(risk.get_ydata(), display.risk)
        assert len(planes) == count
        np.testing.assert_array_equal(model.get_ydata(), display.model(display.grid, count))
        assert touched.get_xdata().tolist() == display.points[:count].tolist()
        assert lowest.get_xdata()[0] == display.lowest[count - 1]
        assert ax.get_title().startswith(f"{count} plane")


def test_the_path_of_the_perceptron_is_the_sum_of_its_mistakes(rng: np.random.Generator) -> None:
    X = rng.standard_normal((50, 2))
    side = np.where(X @ [2.0, 1.0] > 0, "up", "down")
    X += 0.1 * np.where(side == "up", 1.0, -1.0)[:, None] * np.array([2.0, 1.0])
    display = PerceptronDisplay(X, side)
    sign = np.where(side == "up", 1.0, -1.0)
    w, path, mistakes = np.zeros(2), [np.zeros(2)], []
    while True:  # by the rule, in plain Python
        before = len(mistakes)
        for i in range(len(X)):
            if sign[i] * (X[i] @ w) <= 0.0:
                w = w + sign[i] * X[i]
                path.append(w)
                mistakes.append(i)
        if len(mistakes) == before:
            break
    np.testing.assert_allclose(display.weights, path)
    assert display.mistakes.tolist() == mistakes
    assert len(mistakes) >= 2
    assert display.separated
    mixed = PerceptronDisplay([[1.0, 0.0], [1.0, 0.0]], [0, 1], max_passes=3)
    assert not mixed.separated
    assert len(mixed.mistakes) == 6


def test_the_picture_of_the_perceptron_numbers_the_mistakes() -> None:
    pytest.importorskip("matplotlib")
    display = PerceptronDisplay([[1.0, 0.2], [-0.3, 1.0], [-1.0, -0.1]], ["a", "b", "b"]).plot()
    rows, weights = display.axes_
    m = len(display.mistakes)
    assert [text.get_text() for text in rows.texts] == [str(k) for k in range(1, m + 1)]
    assert len(rows.get_lines()) == m
    assert m == 1
    assert rows.get_title() == "separated after 1 mistake"
    assert [text.get_text() for text in weights.texts if text.get_text()] == [str(k) for k in range(1, m + 1)]
    last = rows.get_lines()[-1]
    along = np.array([np.ptp(last.get_xdata()), last.get_ydata()[1] - last.get_ydata()[0]])
    along[0] = last.get_xdata()[1] - last.get_xdata()[0]
    assert along @ display.weights[-1] == pytest.approx(0.0, abs=1e-9)
    display.figure_.savefig(io.BytesIO())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CuttingPlaneDisplay([[1.0]], [1]), r"x must hold one finite number for each row, not .*\(1, 1\)"),
        (lambda: CuttingPlaneDisplay([1.0, np.nan], [0, 1]), "x must hold one finite number"),
        (lambda: CuttingPlaneDisplay([1.0, np.nan], [0, 1]), r"x\[1\] is nan"),
        (
            lambda: CuttingPlaneDisplay([1.0, 2.0], [0, 1], rounds=3),
            "rounds must be numbers of at least 1, in a list, not 3",
        ),
        (lambda: PerceptronDisplay([[1.0, 2.0], [0.0, np.inf]], [0, 1]), r"X\[1, 1\] is inf"),
        (
            lambda: CuttingPlaneDisplay([1.0, 2.0], [0]),
            r"y has shape \(1,\); it needs one class for each of the 2 rows",
        ),
        (lambda: CuttingPlaneDisplay([1.0, 2.0], [0, 0]), "the picture needs two classes, and y has 1"),
        (lambda: CuttingPlaneDisplay([1.0, 2.0], [0, 1], radius=0.0), "radius must be a finite number above 0"),
        (lambda: CuttingPlaneDisplay([1.0, 2.0], [0, 1], radius=1.0, start=2.0), "at most the radius 1, not 2.0"),
        (lambda: CuttingPlaneDisplay([1.0, 2.0], [0, 1], rounds=(0,)), "rounds must be numbers of at least 1"),
        (lambda: CuttingPlaneDisplay([1.0, 2.0], [0, 1], loss="zero_one"), "not convex"),
        (lambda: PerceptronDisplay(np.eye(3), [0, 1, 1]), r"two finite features a row, not an array of shape \(3, 3\)"),
        (lambda: PerceptronDisplay(np.eye(2), [0, 1], max_passes=0), "max_passes must be at least 1"),
    ],
)
def test_pictures_of_methods_refuse_what_they_cannot_draw(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_legends_lie_beside_the_data() -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    path = PathDisplay([0.1, 1.0], [1.0, 2.0], [0.3, 0.1], [0.9, 0.5], tested=[0.4, 0.2]).plot()
    X = np.array([[0.0], [1.0], [2.0], [3.5]])
    compared = compare_solvers(SVMClassifier(random_state=0), X, [0, 0, 1, 1], X_test=X, y_test=[0, 0, 1, 1])
    for display, n in (
        (path, 4),
        (CompareDisplay(compared).plot(), 1 + sum(run.certificate is not None for run in compared.runs)),
        (CuttingPlaneDisplay(FEATURE, SIDE).plot(), 5),
        (PerceptronDisplay([[1.0, 0.0], [0.0, 1.0]], [1, -1]).plot(), 3),
    ):
        canvas = FigureCanvasAgg(display.figure_)
        canvas.draw()
        (legend,) = (ax.get_legend() for ax in display.figure_.axes if ax.get_legend() is not None)
        assert len(legend.get_texts()) == n
        box, everything = legend.get_window_extent(), display.figure_.bbox
        areas = [ax.get_tightbbox(canvas.get_renderer()) for ax in display.figure_.axes if ax.axison]
        if legend.axes.axison:  # its own axes have it in their outer box
            areas = [ax.get_window_extent() for ax in display.figure_.axes if ax.axison]
        assert not any(area.overlaps(box) for area in areas), type(display).__name__
        assert everything.x0 <= box.x0 < box.x1 <= everything.x1
        assert everything.y0 <= box.y0 < box.y1 <= everything.y1


def compared(n: int, passes: Any, seconds: Any, gaps: Any, losses: Any = ()) -> CompareDisplay:
    """So many solvers, each a little slower than the one before."""
    runs = []
    for k in range(n):
        history = [
            Record(int(p) + k, s * (1.0 + 0.1 * k), 1.0, 1.0 - gap, True) for p, s, gap in zip(passes, seconds, gaps)
        ]
        last = history[-1]
        found = Certificate(1.0, last.dual, 0.5, 0.5, last.passes, 9, last.seconds, 1.0, 9, "s", Status.CONVERGED)
        curve = [(r.passes, r.seconds, loss) for r, loss in zip(history, losses)]
        runs.append(SolverRun(f"averaged_perceptron_{k}", "", found, last.seconds, None, history, curve))
    return CompareDisplay(Comparison(runs, "1 - score" if len(losses) else ""))


@pytest.mark.parametrize(
    ("passes", "seconds", "gaps"),
    [
        (np.arange(1, 11), np.linspace(0.010, 0.013, 10), np.geomspace(9e-3, 2e-3, 10)),
        (np.arange(1, 300), np.geomspace(1e-3, 30.0, 299), np.geomspace(1e-1, 1e-8, 299)),
        ([30, 31, 32, 33], [0.0301, 0.0304, 0.0308, 0.031], [0.012, 0.0119, 0.0118, 0.01175]),
        ([2], [0.0123], [3e-4]),
        ([3, 5, 9], [1.0, 2.0, 1e4], [1e-5, 1e-5, 1e-5]),
        *[(np.arange(1, 20), np.geomspace(0.011, 0.011 * 10**d, 19), np.geomspace(0.7, 0.7 / 10**d, 19))
          for d in np.arange(0.05, 3.5, 0.3)],
    ],
)  # fmt: skip
def test_numbers_of_logarithmic_axes_stand_apart(passes: Any, seconds: Any, gaps: Any) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    display = compared(9 if len(passes) == 299 else 2, passes, seconds, gaps, np.linspace(0.3, 0.2, len(passes))).plot()
    FigureCanvasAgg(display.figure_).draw()
    for ax in display.axes_.ravel():
        for axis, (low, high) in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
            at = [*zip(axis.get_majorticklocs(), axis.get_majorticklabels())]
            at += zip(axis.get_minorticklocs(), axis.get_minorticklabels())
            shown = [label.get_window_extent() for value, label in at if low <= value <= high and label.get_text()]
            assert len(shown) >= 2
            assert not any(one.overlaps(other) for one, other in itertools.combinations(shown, 2))


@pytest.mark.parametrize("gap", [0.0, math.inf])
@pytest.mark.parametrize("losses", [(), (0.3, 0.2)])
def test_solvers_without_a_gap_to_draw(gap: float, losses: Any) -> None:
    """All of them at the optimum to the last bit, or without a lower bound."""
    pytest.importorskip("matplotlib")
    display = compared(2, [1, 2], [0.1, 0.2], [gap, gap], losses).plot()
    assert display._repr_png_()
    assert [text.get_text() for text in display.axes_[0, 0].texts] == ["no gap above 0 with a bound"]
    assert display.axes_[-1, 0].get_xscale() == ("log" if len(losses) else "linear")


def test_a_file_appears_in_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    display = TransitionDisplay(np.eye(2), "ab")
    target = tmp_path / "picture.svg"
    display.save(target)
    assert b"<svg" in target.read_bytes()
    target.write_text("old")

    def fail(file: Any, **options: Any) -> None:
        file.write(b"half of a pic")
        raise OSError("no space left")

    monkeypatch.setattr(display.figure_, "savefig", fail)
    with pytest.raises(OSError, match="no space left"):
        display.save(target)
    assert target.read_text() == "old"
    with pytest.raises(ValueError, match=r"no picture format 'doc'; choose one of .*png"):
        display.save(tmp_path / "picture.doc")
    assert [path.name for path in tmp_path.iterdir()] == ["picture.svg"]


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*sys.modules]:
        if name.partition(".")[0] == "matplotlib":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependencyError, match=r"^plots need matplotlib: pip install maxmargin\[plots\]$"):
        TransitionDisplay(np.eye(2), "ab").plot()


def test_displays_that_draw_nothing_cannot_be_made() -> None:
    class Blank(Display):
        """Says not what is drawn."""

    for kind in (Display, Blank):
        with pytest.raises(TypeError, match=r"abstract.*_draw"):
            kind()
