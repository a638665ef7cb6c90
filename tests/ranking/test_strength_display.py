"""The picture of strengths learned from comparisons, and why a ranking machine's solver was taken."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maxmargin import AUCClassifier, SVMRanker, load_model, save_model
from maxmargin.errors import DataError
from maxmargin.plots import StrengthDisplay

pytest.importorskip("matplotlib")

NAMES = ["Ajax", "Bonn", "Celta", "a very long name of a club, $x_1$ and so on"]


def league(n: int) -> SVMRanker:
    """Item ``k`` wins against all later ones."""
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    winners, losers = np.array(pairs).T
    return SVMRanker().fit_comparisons(np.arange(n, 0.0, -1.0)[:, None], winners, losers)


def drawn(display: StrengthDisplay) -> tuple[list[float], list[float], list[str]]:
    (dots,) = (line for line in display.ax_.lines if line.get_label() == "strength")
    return (
        list(dots.get_xdata()),
        list(dots.get_ydata()),
        [text.get_text() for text in display.ax_.get_yticklabels()],
    )


def test_a_dot_for_each_item_the_strongest_at_the_top() -> None:
    model = SVMRanker(10.0).fit_comparisons(None, [NAMES[1], NAMES[0]], [NAMES[2], NAMES[3]])
    display = StrengthDisplay.from_estimator(model)
    x, y, names = drawn(display)
    table = model.strength_table()
    assert x == [strength for _, strength in table]
    assert display.items == [name for name, _ in table]
    assert y == [0, 1, 2, 3]
    assert display.ax_.get_ylim() == (3.5, -0.5)  # downwards
    for shown, (name, _) in zip(names, table, strict=True):
        assert shown == name or (shown.endswith("…") and name.startswith(shown[:-1]))
    assert display.ax_.get_title() == "SVMRanker: strengths"
    assert display.ax_.get_xlabel()
    assert display.ax_.get_ylabel()
    display.figure_.savefig(io.BytesIO())


@pytest.mark.parametrize(("n", "most"), [(40, 40), (41, 40), (200, 40), (5, 4), (9, 3)])
def test_of_many_items_the_ends_are_drawn(n: int, most: int) -> None:
    display = StrengthDisplay(range(n), -np.arange(n, dtype=float), most=most).plot()
    x, y, names = drawn(display)
    if n <= most:
        assert names == [str(k) for k in range(n)]
        return
    assert len(names) == most
    cut = names.index(f"… {n - most + 1} more …")
    assert cut not in y
    assert x == [*range(0, -cut, -1), *range(-n + most - 1 - cut, -n, -1)]
    assert [names[int(row)] for row in y] == [str(int(-value)) for value in x]


@pytest.mark.parametrize("n", [1, 3, 40, 200])
@pytest.mark.parametrize("own", [True, False])
def test_names_do_not_overlap(n: int, own: bool, plots: Any) -> None:
    items, strengths = [f"item {k}" for k in range(n)], np.random.default_rng(0).normal(size=n)
    ax = None if own else plots.subplots(1, 2, figsize=(7, 3.5))[1][0]
    display = StrengthDisplay(items, strengths).plot(ax)
    display.figure_.savefig(io.BytesIO())
    boxes = [text.get_window_extent() for text in display.ax_.get_yticklabels()]
    for above, below in zip(boxes, boxes[1:], strict=False):
        assert above.y0 >= below.y1 - 1.0


def test_what_is_refused() -> None:
    with pytest.raises(DataError, match="SVMRanker has no strengths_"):
        StrengthDisplay.from_estimator(SVMRanker().fit([[0.0], [1.0]], [0, 1]))
    with pytest.raises(DataError, match=r"strengths has shape \(2,\), but there are 3 items"):
        StrengthDisplay("abc", [1.0, 2.0])
    with pytest.raises(DataError, match="there are 0 items"):
        StrengthDisplay([], [])
    with pytest.raises(DataError, match="the strength of 'b' is not finite"):
        StrengthDisplay("abc", [1.0, np.nan, 2.0])
    with pytest.raises(ValueError, match="most must be at least 3, not 2"):
        StrengthDisplay("abc", [1.0, 2.0, 3.0], most=2)


def test_why_the_solver_was_taken(tmp_path: Path) -> None:
    X, y = [[0.0], [1.0], [5.0], [7.0]], [0, 0, 1, 1]
    for model in (SVMRanker().fit(X, y), AUCClassifier().fit(X, y), league(5)):
        assert model.solver_reason_
        assert "asked for" not in model.solver_reason_  # there is no choice to ask for
        save_model(model, tmp_path / "m")
        assert load_model(tmp_path / "m").solver_reason_ == model.solver_reason_
    assert league(5).solver_reason_ != SVMRanker().fit(X, y).solver_reason_
