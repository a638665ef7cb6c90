"""Models that learned from a stream, in Python, are served by the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from maxmargin import MulticlassSVM, SequenceSVM, save_model

Run = Callable[..., Any]


@pytest.mark.parametrize("kind", ["multiclass", "sequence"])
def test_a_stream_is_shown_without_a_certificate(ok: Run, kind: str) -> None:
    if kind == "multiclass":
        X = np.random.default_rng(0).normal(size=(31, 2))
        model: Any = MulticlassSVM().partial_fit(X, np.arange(31) % 3, classes=[0, 1, 2])
        what = "31 rows, which are gone"
    else:
        model = SequenceSVM().partial_fit([[["w"]], [["v"], ["w"]]], [["A"], ["B", "A"]], labels=["A", "B"])
        what = "2 sequences, which are gone"
    save_model(model, "stream")
    out = ok("inspect", "stream").out
    assert type(model).__name__ in out
    assert f"certificate none: learned by partial_fit from {what}" in out
    assert json.loads(ok("inspect", "--json", "stream").out)["certificate"] is None
