"""Pictures that say what they show: in notebooks, of estimates beside proofs, of the perceptron with an intercept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from maxmargin import SVMClassifier, compare_solvers
from maxmargin.compare import Comparison, SolverRun
from maxmargin.errors import DataError
from maxmargin.plots import CompareDisplay, CurveDisplay, GapDisplay, LossDisplay, PerceptronDisplay
from maxmargin.problem import Certificate
from maxmargin.solvers.loop import Record
from maxmargin.status import Status


def test_a_display_that_was_never_plotted_draws_itself(plots: Any) -> None:
    display = LossDisplay()
    assert display._repr_png_().startswith(b"\x89PNG")
    assert display.ax_.get_title() == "losses of the margin"
    assert plots.get_fignums() == []
    assert LossDisplay().plot(plots.subplots()[1])._repr_png_() is None  # the user's figure is shown anyway


def run(name: str, exact: list[bool]) -> SolverRun:
    history = [Record(p, 0.01 * p, 1.0, 1.0 - 0.5**p, e) for p, e in enumerate(exact, 1)]
    found = Certificate(1.0, 0.875, 0.5, 0.5, len(exact), 9, 0.03, 1.0, 9, "s", Status.CONVERGED)
    return SolverRun(name, "", found, 0.03, None, history)


def test_dots_of_a_comparison_are_the_gaps_that_are_proofs() -> None:
    pytest.importorskip("matplotlib")
    exact = {"first": [False, True, False, False, True], "second": [True, True, True], "third": [False, False]}
    display = CompareDisplay(Comparison([run(name, which) for name, which in exact.items()])).plot()
    for ax, unit in zip(display.axes_[0], (1.0, 0.01)):
        lines = ax.get_lines()
        for which, faint, strong in zip(exact.values(), lines[::2], lines[1::2], strict=True):
            passes = np.arange(1, len(which) + 1)
            np.testing.assert_allclose(faint.get_xdata(), unit * passes)
            np.testing.assert_allclose(strong.get_xdata(), unit * passes[which])
            np.testing.assert_allclose(strong.get_ydata(), 0.5 ** passes[which])
            assert faint.get_marker() in ("", "None", None)
            assert strong.get_marker() == "o"
            assert faint.get_linewidth() < strong.get_linewidth()
            assert faint.get_alpha() < 1.0
            assert faint.get_color() == strong.get_color()
    (legend,) = (ax.get_legend() for ax in display.figure_.axes if ax.get_legend() is not None)
    assert [text.get_text() for text in legend.get_texts()] == [*exact, "dots: computed exactly; faint: estimates"]


def test_dots_of_a_real_comparison_and_of_a_history() -> None:
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(60) > 0, 1, -1)
    found = compare_solvers(SVMClassifier(random_state=0), X, y, ["bundle", "subgradient"])
    lines = CompareDisplay(found).plot().axes_[0, 0].get_lines()
    for each, strong in zip(found.runs, lines[1::2], strict=True):
        assert strong.get_xdata().tolist() == [record.passes for record in each.history if record.exact]
    model = SVMClassifier(solver="bundle").fit(X, y)
    faint, strong = GapDisplay.from_estimator(model).ax_.get_lines()[:2]
    assert faint.get_xdata().tolist() == [record.passes for record in model.history_]
    assert strong.get_xdata().tolist() == [record.passes for record in model.history_ if record.exact]


def apart(n: int, moved: float) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 2))
    y = np.where(X @ [2.0, 1.0] > 0, 1, -1)
    return X + 0.1 * y[:, None] * np.array([2.0, 1.0]) + [moved, 0.0], y


def test_the_perceptron_with_an_intercept() -> None:
    pytest.importorskip("matplotlib")
    X, y = apart(40, 3.0)
    without = PerceptronDisplay(X, y, max_passes=60).plot()
    assert not without.separated
    assert without.passes == 60
    m = len(without.mistakes)
    assert without.axes_[0].get_title() == f"not separated in 60 passes\n({m} mistakes, no intercept)"
    display = PerceptronDisplay(X, y, max_passes=1000, intercept=True).plot()
    assert display.separated
    m = len(display.mistakes)
    w, b = display.weights[-1, :2], display.weights[-1, 2]
    assert display.weights.shape == (m + 1, 3)
    assert (y * (X @ w + b) > 0.0).all()
    np.testing.assert_allclose(b, y[display.mistakes].sum())
    np.testing.assert_allclose(w, (y[display.mistakes, None] * X[display.mistakes]).sum(0))
    rows, weights = display.axes_
    assert rows.get_title() == f"separated after {m} mistakes, with an intercept"
    for line in rows.get_lines():  # every line is that of some weights
        scores = line.get_xydata() @ display.weights[1:, :2].T + display.weights[1:, 2]
        assert np.isclose(scores, 0.0, atol=1e-9).all(0).any()
    np.testing.assert_allclose(rows.get_lines()[-1].get_xydata() @ w + b, 0.0, atol=1e-9)
    assert weights.get_title() == "the weights, turned by each\n(of the two features: the intercept is not drawn)"
    assert without.axes_[1].get_title() == "the weights, turned by each"
    (left, right), (low, high) = rows.get_xlim(), rows.get_ylim()
    assert left < X[:, 0].min() < X[:, 0].max() < right
    assert low < X[:, 1].min() < X[:, 1].max() < high
    np.testing.assert_array_equal(weights.get_lines()[-1].get_xydata()[-1], w)


def test_of_many_mistakes_some_lines_are_drawn() -> None:
    pytest.importorskip("matplotlib")
    X, y = apart(40, 0.0)
    y[np.argmax(X @ [2.0, 1.0])] *= -1
    display = PerceptronDisplay(X, y, max_passes=200).plot()
    assert not display.separated
    assert len(display.mistakes) > 200
    rows, weights = display.axes_
    lines = rows.get_lines()
    assert 20 <= len(lines) <= 30
    directions = display.weights / np.maximum(np.hypot(*display.weights.T), 1e-300)[:, None]
    ends = np.array([line.get_xydata()[1] for line in lines])
    for k, end in [*enumerate(ends[:12], 1), (len(display.mistakes), ends[-1])]:
        assert directions[k] @ end == pytest.approx(0.0, abs=1e-9)
    arrows = [text for text in weights.texts if text.arrow_patch is not None]
    assert len(arrows) <= 30


def test_weights_of_zero_have_no_line() -> None:
    pytest.importorskip("matplotlib")
    display = PerceptronDisplay([[1.0, 0.0], [1.0, 0.0]], [0, 1], max_passes=3).plot()
    assert display.weights[1::2, 0].tolist() == [-1.0] * 3
    assert not display.weights[2::2].any()
    assert len(display.axes_[0].get_lines()) == 3
    assert display.axes_[0].get_title() == "not separated in 3 passes\n(6 mistakes, no intercept)"
    numbers = [text.get_text() for text in display.axes_[0].texts]
    assert numbers == ["1,3,5", "2,4,6"]
    once = PerceptronDisplay([[1.0, 0.0], [1.0, 0.0]], [0, 1], max_passes=1, intercept=True).plot()
    assert once.axes_[0].get_title() == "not separated in 1 pass\n(2 mistakes, with an intercept)"


def test_curves_side_by_side_share_scale_and_looks() -> None:
    pytest.importorskip("matplotlib")
    t = np.array([1.0, 10.0, 100.0])
    pictures = {"first": {"1/t": (t, 1 / t), "0": (t, 0 * t)}, "second": {"other": (t, t), "1/t": (t, 1 / t)}}
    display = CurveDisplay(pictures, xlabel="t", ylabel="value").plot()
    first, second = display.axes_
    assert [ax.get_title() for ax in (first, second)] == ["first", "second"]
    assert first.get_ylim() == second.get_ylim()
    assert (first.get_xscale(), first.get_yscale(), first.get_xlabel(), first.get_ylabel()) == (
        "log",
        "log",
        "t",
        "value",
    )
    a, b = first.get_lines()[0], second.get_lines()[1]
    assert (a.get_color(), a.get_linestyle(), a.get_marker()) == (b.get_color(), b.get_linestyle(), b.get_marker())
    np.testing.assert_array_equal(a.get_ydata(), 1 / t)
    assert len(first.get_lines()[1].get_xdata()) == 0
    (legend,) = (ax.get_legend() for ax in display.figure_.axes if ax.get_legend() is not None)
    assert [text.get_text() for text in legend.get_texts()] == ["1/t", "0", "other"]


def test_curves_on_plain_scales_show_what_is_not_positive() -> None:
    x = np.linspace(-1.0, 1.0, 100)
    display = CurveDisplay(
        {"a": {"line": (x, x), "gone": (x, np.full(100, np.nan))}}, xlabel="x", ylabel="y", log=False
    )
    (ax,) = display.plot().axes_
    assert (ax.get_xscale(), ax.get_yscale()) == ("linear", "linear")
    assert ax.get_lines()[0].get_ydata().tolist() == x.tolist()
    assert len(ax.get_lines()[1].get_xdata()) == 0
    with pytest.raises(DataError, match="log must be True or False, not 'x'"):
        CurveDisplay({"a": {"b": ([1], [2])}}, xlabel="x", ylabel="y", log="x")  # type: ignore[arg-type]
