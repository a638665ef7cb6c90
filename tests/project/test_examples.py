"""The examples in the docstrings are run as they stand."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "maxmargin"
WITH_EXAMPLES = [path for path in sorted(PACKAGE.rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("name", map(name_of, WITH_EXAMPLES))
def test_examples_give_what_they_say(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted > 0
    assert found.failed == 0, "see the report above"


def test_the_examples_of_estimators_are_among_them() -> None:
    names = {name_of(path) for path in WITH_EXAMPLES}
    assert {"maxmargin.classifier", "maxmargin.ranking", "maxmargin.sequence", "maxmargin.compare"} <= names
