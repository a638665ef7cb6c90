"""The best of a row of scores, and the names the package of decoders gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from maxmargin import decoders
from maxmargin.decoders.argmax import argmax, argmax_core
from maxmargin.decoders.checks import check_indices
from maxmargin.errors import DataError


def test_lowest_index_wins_ties(rng: np.random.Generator) -> None:
    for size in range(1, 12):
        scores = rng.integers(-2, 3, size).astype(float)
        scores[rng.random(size) < 0.3] = -np.inf
        expected = scores.tolist().index(scores.max())
        for core in (argmax_core, getattr(argmax_core, "py_func", argmax_core)):
            assert core(scores, size) == expected
        if scores.max() > -np.inf:
            assert argmax(scores) == (expected, scores.max())


def test_core_looks_at_the_first_n_only() -> None:
    assert argmax_core(np.array([1.0, 2.0, 3.0]), 2) == 1


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([], "scores allow no alternative"),
        ([-np.inf, -np.inf], "scores allow no alternative"),
        ([0.0, np.nan], r"scores\[1\] is nan"),
        ([[0.0]], r"scores has shape \(1, 1\); expected \(any,\)"),
        ([object()], "scores must be an array of real numbers"),
        ([0.0, 1e308], r"scores\[1\] is 1e\+308: scores above 1e\+300 cannot be added up"),
        (np.ma.array([0.0, 1.0], mask=[False, True]), r"scores\[1\] is masked"),
    ],
)
def test_errors_say_what_is_wrong(scores: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        argmax(scores)


def test_a_mask_without_masked_entries_is_none() -> None:
    assert argmax(np.ma.array([0.0, 1.0], mask=[False, False])) == (1, 1.0)


def test_names_are_functions_whatever_is_imported_first(run_python: Callable[..., str]) -> None:
    code = """
import maxmargin.decoders.viterbi
from maxmargin.decoders.cky import cky_core
from maxmargin.decoders import argmax, cky, viterbi
print(callable(argmax), callable(cky), callable(viterbi), callable(maxmargin.decoders.viterbi))
"""
    assert run_python(code).split() == ["True"] * 4
    assert all(callable(getattr(decoders, name)) for name in decoders.__all__)


def test_masked_entries_are_seen_in_lists_and_among_indices() -> None:
    row = np.ma.array([0.0, 5.0], mask=[False, True])
    with pytest.raises(DataError, match=r"unary\[1, 1\] is masked: fill in what is missing \(-inf forbids it\)"):
        decoders.viterbi([np.zeros(2), row], np.zeros((2, 2)))
    with pytest.raises(DataError, match=r"left\[1\] is masked: fill in what is missing$"):
        check_indices(np.ma.array([0, 1], mask=[False, True]), "left", (None,), 2)
    assert check_indices([], "left", (None,), 2).tolist() == []
