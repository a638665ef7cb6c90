"""Displays with input that is empty, not finite, very large, or named like a formula."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from maxmargin import SVMClassifier, kkt_report
from maxmargin.compare import Comparison, SolverRun
from maxmargin.errors import DataError
from maxmargin.losses import CustomLoss
from maxmargin.plots import (
    CompareDisplay,
    CurveDisplay,
    CuttingPlaneDisplay,
    GapDisplay,
    KKTDisplay,
    LossDisplay,
    ObjectiveDisplay,
    PathDisplay,
    PerceptronDisplay,
    SequenceDisplay,
    StrengthDisplay,
    TransitionDisplay,
)
from maxmargin.problem import Certificate
from maxmargin.solvers.loop import Record
from maxmargin.status import Status

pytest.importorskip("matplotlib")

NAMES = ["$x_1$", "_a_$b$", r"$\frac$"]  # the last is no formula that can be set

pytestmark = pytest.mark.filterwarnings("error")


def texts(display: Any) -> list[str]:
    """All texts of a picture that can be drawn."""
    display.figure_.savefig(io.BytesIO(), format="png", dpi=40)
    kind = type(display.ax_.title)
    return [text.get_text() for text in display.figure_.findobj(kind) if text.get_text()]


def run(name: str) -> SolverRun:
    history = [Record(p, 0.01 * p, 1.0, 1.0 - 0.5**p, p == 3) for p in (1, 2, 3)]
    found = Certificate(1.0, 0.875, 0.5, 0.5, 3, 9, 0.03, 1.0, 9, "s", Status.CONVERGED)
    return SolverRun(name, "", found, 0.03, None, history)


def kkt(labels: list[str]) -> KKTDisplay:
    X, y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]]), np.repeat(labels, 2)
    return KKTDisplay.from_estimator(SVMClassifier().fit(X, y), X, y)


def own_loss(name: str) -> CustomLoss:
    return CustomLoss(lambda t: np.exp(-t), lambda t: -np.exp(-t), name=name)


@pytest.mark.parametrize(
    "make",
    [
        lambda names: GapDisplay([1, 2], [2.0, 1.5], [1.0, 1.2], [True, True], name=" ".join(names)).plot(),
        lambda names: ObjectiveDisplay([1, 2], [2.0, 1.5], [1.0, 1.2], [True, True], name=" ".join(names)).plot(),
        lambda names: CompareDisplay(Comparison([run(name) for name in names])).plot(),
        lambda names: CurveDisplay(
            {name: {name: ([1, 2], [2.0, 1.0])} for name in names}, xlabel=names[0], ylabel=names[2]
        ).plot(),
        lambda names: LossDisplay([own_loss(name) for name in names]).plot(),
        lambda names: StrengthDisplay(names, [1.0, 2.0, 3.0], name=names[2]).plot(),
        lambda names: TransitionDisplay(np.eye(3), names, name=names[2]).plot(),
        lambda names: SequenceDisplay([np.ones((3, 2, 2))], [names], {names[2]: [names]}, title=names[2]).plot(),
    ],
    ids=["gap", "objective", "compare", "curves", "losses", "strengths", "transitions", "sequences"],
)
def test_names_are_drawn_as_they_are(make: Callable[[list[str]], Any]) -> None:
    found = texts(make(NAMES))
    for name in NAMES:
        assert any(name in text for text in found), name


@pytest.mark.parametrize("pair", [NAMES[:2], NAMES[1:]])
def test_names_of_two_classes_are_drawn_as_they_are(pair: list[str]) -> None:
    for display in (kkt(pair), PerceptronDisplay([[1.0, 0.0], [0.0, 1.0]], pair).plot()):
        found = texts(display)
        for name in pair:
            assert any(name in text for text in found), name


def test_long_names_are_cut() -> None:
    for display in (
        TransitionDisplay(np.eye(2), ["a" * 300, "b\nc"]).plot(),
        LossDisplay([own_loss("a" * 300)]).plot(),
        CompareDisplay(Comparison([run("a" * 300)])).plot(),
    ):
        assert any(text.startswith("aaa") and text.endswith("…") and len(text) == 32 for text in texts(display))


ONES = np.ones(3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GapDisplay([], [], [], []), "there is no pass to draw"),
        (lambda: ObjectiveDisplay([], [], [], []), "there is no pass to draw"),
        (lambda: GapDisplay([1, 2], [1.0], [1.0, 2.0], [True, True]), r"primal has shape \(1,\); .* the 2 passes"),
        (lambda: GapDisplay([1, np.nan], [1.0, 1.0], [0.5, 0.5], [True, True]), r"passes\[1\] is nan"),
        (lambda: CurveDisplay({}, xlabel="x", ylabel="y"), "there are no curves"),
        (lambda: CurveDisplay({"a": {"b": ([1], [1, 2])}}, xlabel="x", ylabel="y"), "b: x and y must be of one length"),
        (lambda: LossDisplay([]), "there are no losses to draw"),
        (lambda: LossDisplay(margins=cast(Any, (0.0, 1.0, 2.0))), "margins must be two numbers in ascending order"),
        (lambda: LossDisplay(margins=cast(Any, ("a", "b"))), "margins must be two numbers in ascending order"),
        (lambda: LossDisplay(margins=(0.0, math.nan)), "margins must be two numbers in ascending order"),
        (lambda: PathDisplay([], [], [], []), r"Cs has shape \(0,\)"),
        (lambda: PathDisplay([0.0, 1.0, 2.0], ONES, ONES, ONES), "Cs must be above 0, and one is 0"),
        (lambda: PathDisplay(ONES, [1.0, np.nan, 1.0], ONES, ONES), r"norms\[1\] is nan"),
        (lambda: PathDisplay(ONES, ONES, ONES, ONES, tested=[1.0, 1.0, np.inf]), r"tested\[2\] is inf"),
        (lambda: TransitionDisplay(np.empty((0, 0)), []), "there are no labels to draw"),
        (lambda: TransitionDisplay([[0.0, np.nan], [0.0, 0.0]], "ab"), r"transition\[0, 1\] is nan"),
        (lambda: TransitionDisplay([[0.0, 0.0], [np.inf, 0.0]], "ab"), r"transition\[1, 0\] is inf"),
        (lambda: SequenceDisplay([np.full((1, 2, 2), np.nan)], ["a"], {}), "sequence 0 has a pixel that is not finite"),
        (lambda: SequenceDisplay([np.ones((1, 0, 2))], ["a"], {}), "sequence 0 has pictures without pixels"),
        (
            lambda: SequenceDisplay([np.ones((1, 2, 2))] * 10_000, ["a"] * 10_000, {}),
            "10000 sequences of up to 1 pictures in 2 columns do not fit into one picture: draw some",
        ),
        (lambda: CuttingPlaneDisplay([], []), "the picture needs two classes, and y has 0"),
        (lambda: CuttingPlaneDisplay([1.0], [1]), "the picture needs two classes, and y has 1"),
        (lambda: CuttingPlaneDisplay([1.0, 2.0], [0.0, math.nan]), r"y\[1\] is nan: it needs a class for every row"),
        (lambda: CuttingPlaneDisplay([1.0, 2.0], ["a", None]), r"y\[1\] is None: it needs a class for every row"),
        (
            lambda: CuttingPlaneDisplay([1.0, 2.0], np.array(["a", 1], object)),
            "y has classes of several types, which have no order",
        ),
        (lambda: CuttingPlaneDisplay([1e3, 2.0], [0, 1], loss="exponential"), "the risk overflows at weights of si"),
        (lambda: PerceptronDisplay(np.empty((0, 2)), []), "the picture needs two classes, and y has 0"),
        (lambda: PerceptronDisplay([[1.0, 2.0]], [1]), "the picture needs two classes, and y has 1"),
        (lambda: StrengthDisplay([], []), "there are 0 items"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_named(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        make()


def test_points_that_are_not_finite_are_named() -> None:
    X, y = np.array([[0.0, 1.0], [1.0, 0.0]]), [0, 1]
    report = kkt_report(SVMClassifier().fit(X, y), X, y)
    with pytest.raises(DataError, match=r"points\[1, 0\] is nan"):
        KKTDisplay(report, [[0.0, 1.0], [np.nan, 0.0]], lambda grid: grid[:, 0])


@pytest.mark.parametrize(
    "make",
    [
        lambda: GapDisplay([1], [2.0], [1.0], [True]),
        lambda: GapDisplay([1, 2], [2.0, np.nan], [1.0, 1.0], [False, True]),
        lambda: ObjectiveDisplay([1], [2.0], [1.0], [False]),
        lambda: ObjectiveDisplay([1, 2], [np.inf, 2.0], [-np.inf, np.nan], [False, True]),
        lambda: ObjectiveDisplay([1, 2], [np.inf, np.nan], [-np.inf, np.nan], [False, True]),
        lambda: CurveDisplay({"a": {"b": ([], [])}}, xlabel="x", ylabel="y"),
        lambda: CurveDisplay({"a": {"b": ([1], [2.0])}, "c": {}}, xlabel="x", ylabel="y"),
        lambda: CurveDisplay({"a": {"b": ([1, 2], [np.nan, 0.0])}}, xlabel="x", ylabel="y"),
        lambda: PathDisplay([1.0], [1.0], [0.0], [0.0]),
        lambda: PathDisplay([1.0], [0.0], [0.0], [0.0]),
        lambda: TransitionDisplay([[1.0]], ["a"]),
        lambda: TransitionDisplay([[-np.inf]], ["a"]),
        lambda: SequenceDisplay([np.ones((1, 1, 1)), np.empty((0, 1, 1))], ["a", ""], {}),
        lambda: StrengthDisplay(["a"], [0.0]),
        lambda: CuttingPlaneDisplay([0.0, 0.0], [0, 1], loss="perceptron"),
        lambda: PerceptronDisplay([[0.0, 0.0], [0.0, 0.0]], [0, 1]),
        lambda: PerceptronDisplay([[1.0, 1.0], [1.0, 1.0]], [0, 1], intercept=True),
        lambda: LossDisplay(margins=(-2000.0, 1.0)),
    ],
)
def test_little_and_empty_data_are_drawn(make: Callable[[], Any]) -> None:
    assert make()._repr_png_().startswith(b"\x89PNG")


def test_ten_thousand_rows(rng: np.random.Generator) -> None:
    """Nothing is slow, and no picture has more lines than can be seen."""
    X = rng.standard_normal((10_000, 2))
    y = np.where(X @ [1.0, 0.5] + rng.standard_normal(len(X)) > 0, "b", "a")
    perceptron = PerceptronDisplay(X, y, max_passes=2).plot()
    assert len(perceptron.mistakes) > 1000
    assert len(perceptron.axes_[0].get_lines()) <= 30
    planes = CuttingPlaneDisplay(X[:, 0], y)
    many = np.arange(1.0, 10_001.0)
    for display in (
        perceptron,
        planes,
        GapDisplay(many, 1.0 + 1.0 / many, np.ones(10_000), many % 100 == 0),
        KKTDisplay.from_estimator(SVMClassifier(C=0.01).fit(X, y), X, y),
        StrengthDisplay(range(10_000), many),
    ):
        assert display._repr_png_().startswith(b"\x89PNG")


def test_rings_of_slacks_stay_smaller_than_the_picture() -> None:
    """A kernel whose values are large has large slacks."""
    X, y = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 9.0], [8.0, 8.0]]), [0, 1, 0, 1]
    model = SVMClassifier(kernel=lambda a, b: 1e4 * (a @ b.T) + 1.0, C=1e-6, tol=1e-2).fit(X, y)
    report = kkt_report(model, X, y)
    object.__setattr__(report, "xi", np.array([1e6, 2e6, 0.0, 0.0]))
    display = KKTDisplay(report, X, lambda grid: grid[:, 0]).plot()
    (rings,) = (
        each for each in display.ax_.collections if hasattr(each, "get_sizes") and not len(each.get_facecolors())
    )
    small, large = rings.get_sizes()
    assert large == pytest.approx(2 * small)
    assert large <= 900.0


@pytest.mark.parametrize(
    ("pictures", "what"),
    [
        ([1], "pictures must map titles to curves"),
        ({"a": ([1], [2])}, "picture 'a' must map names to pairs"),
        ({"a": {"b": ([1], [2], [3])}}, "b: a curve is a pair"),
        ({"a": {"b": (["x"], [2])}}, "b: a curve is a pair"),
        ({"a": {"b": 3}}, "b: a curve is a pair"),
    ],
)
def test_what_is_no_curve(pictures: Any, what: str) -> None:
    with pytest.raises(DataError, match=what):
        CurveDisplay(pictures, xlabel="x", ylabel="y")
