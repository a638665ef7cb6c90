"""Names of items, queries and classes stay apart and as they are, in memory and in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maxmargin import MulticlassSVM, SVMClassifier, SVMRanker, load_model, save_model
from maxmargin.errors import ModelFileError
from maxmargin.metrics import query_numbers

NAMES: dict[str, tuple[list[Any], list[Any]]] = {
    "text": (["a", "long name"], ["b", "a"]),
    "text and numbers": (["a", 1], ["b", 2]),
    "text of numbers": (["1", 1], ["2", 2]),
    "tuples": ([(1, 2), (3, 4)], [(5, 6), (7, 8)]),
    "tuples and sets": ([(1, 2), frozenset([1])], ["x", (1, (2, "y"))]),
    "booleans and numbers": ([True, 5], [5, 7]),
    "booleans": ([True], [False]),
    "integers": ([10**18 + 1, 7], [10**18, -3]),
    "integers of any size": ([2**63, 3], [-1, 2**64]),
    "integers and floats": ([1.5, 2], [2, 10**17 + 1]),
    "floats": ([0.1, 1e300], [-2.5, 0.1]),
    "null characters": (["a\0", "a"], ["a\0\0", "\0a"]),
    "numpy": ([np.int64(3), "a"], [np.str_("b"), np.float32(0.5)]),
    "many": ([f"{k}" for k in range(80)], list(range(80))),
    "one long name": (["x" * 70_000, *map(str, range(1000))], ["y", *map(str, range(1, 1001))]),
}


def each_is(found: list[Any], wanted: list[Any]) -> bool:
    return [(type(name), name) for name in found] == [(type(name), name) for name in wanted]


@pytest.mark.parametrize("kind", NAMES)
def test_names_of_items_come_back(kind: str, tmp_path: Path) -> None:
    winners, losers = NAMES[kind]
    model = SVMRanker().fit_comparisons(None, winners, losers)
    assert model.items_.ndim == 1
    assert set(model.items_.tolist()) == {*winners, *losers}
    table = dict(model.strength_table())
    assert all(table[winner] > table[loser] for winner, loser in zip(winners[:1], losers[:1], strict=True))
    save_model(model, tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert loaded.items_.dtype == model.items_.dtype
    assert each_is(loaded.items_.tolist(), model.items_.tolist())
    assert loaded.strength_table() == model.strength_table()


@pytest.mark.parametrize("items", [["a", "a"], ["a", 1.0, 1], "ab"])
def test_names_in_a_file_that_are_none_are_refused(items: Any, tmp_path: Path) -> None:
    model = SVMRanker().fit_comparisons(None, ["a", "b"], ["b", "c"])
    parts = model._to_parts() | {"items": items, "strengths": np.zeros(len(items))}
    model._to_parts = lambda: parts  # type: ignore[method-assign]
    save_model(model, tmp_path / "m")
    with pytest.raises(ModelFileError, match="each once"):
        load_model(tmp_path / "m")


def test_queries_that_null_characters_tell_apart() -> None:
    assert query_numbers(["a\0", "a", "a\0"], 3).tolist() == [1, 0, 1]
    assert query_numbers([b"a\0", b"a"], 2).tolist() == [1, 0]
    assert query_numbers([1, "1"], 2).tolist() == [0, 1]


@pytest.mark.parametrize("machine", [SVMClassifier, MulticlassSVM])
@pytest.mark.parametrize("given", [list, lambda y: np.array(y, object)])
def test_classes_that_null_characters_tell_apart(machine: Any, given: Any, tmp_path: Path) -> None:
    X, y = np.arange(6.0)[:, None], ["a", "a", "a", "a\0", "a\0", "a\0"]
    model = machine().fit(X, given(y))
    assert model.classes_.tolist() == ["a", "a\0"]
    assert model.predict(X).tolist() == y
    assert model.score(X, given(y)) == 1.0
    save_model(model, tmp_path / "m")
    assert load_model(tmp_path / "m").predict(X).tolist() == y
