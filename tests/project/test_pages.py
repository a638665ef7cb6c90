"""The pages in ``docs/theory``, and those of kernels and losses, are run as they stand: every cell, in order, with what it asserts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = sorted([*(DOCS / "theory").rglob("*.md"), DOCS / "choosing_c.md", DOCS / "kernels.md", DOCS / "losses.md"])
CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(?::[^\n]*\n)*(.*?)^```$", re.DOTALL | re.MULTILINE)
TABLE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def cells(page: Path) -> list[str]:
    """Code of the cells, padded so that a traceback names the line of the page."""
    text = page.read_text(encoding="utf-8")
    return ["\n" * text[: found.start(1)].count("\n") + found[1] for found in CELL.finditer(text)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS).with_suffix("")))
def test_a_page_runs(page: Path) -> None:
    pytest.importorskip("matplotlib")
    found = cells(page)
    assert found
    names: dict[str, object] = {"__name__": page.stem}
    for code in found:
        exec(compile(code, str(page), "exec"), names)
    assert sum("assert" in code for code in found) > 0


def listed_on(page: Path) -> set[str]:
    """The pages in the tables of contents of a page, as paths in the folder of the pages without their ending."""
    tables = TABLE.findall(page.read_text(encoding="utf-8"))
    lines = [line for table in tables for line in table.splitlines() if line and not line.startswith(":")]
    return {str((page.parent / line).resolve().relative_to(DOCS)) for line in lines}


def test_every_page_is_listed_once() -> None:
    pages = [page for page in DOCS.rglob("*.md") if "_build" not in page.parts]
    listed = [name for page in pages for name in listed_on(page)]
    assert sorted(listed) == sorted({str(page.relative_to(DOCS).with_suffix("")) for page in pages} - {"index"})
