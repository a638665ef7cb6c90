"""The pages in ``docs/theory``, and those of kernels, losses and ``C``, are run as they stand: every cell, in order.

What a notebook would show of a cell's last expression is looked at too: pictures, and no names of objects in memory.
"""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = sorted([*(DOCS / "theory").rglob("*.md"), DOCS / "choosing_c.md", DOCS / "kernels.md", DOCS / "losses.md"])
CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(?::[^\n]*\n)*(.*?)^```$", re.DOTALL | re.MULTILINE)
TABLE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.DOTALL | re.MULTILINE)


# The displays that the pages promise; every page with pictures is here.
PICTURES = {
    "choosing_c": ["PathDisplay"],
    "losses": ["LossDisplay"],
    "theory/binary": ["KKTDisplay", "LossDisplay", "PathDisplay", "KKTDisplay", "KKTDisplay"],
    "theory/solvers": ["CompareDisplay"],
    "theory/solvers/cutting_planes": ["CuttingPlaneDisplay", "GapDisplay"],
    "theory/solvers/frank_wolfe": ["CompareDisplay"],
    "theory/solvers/dual": ["CurveDisplay"],
    "theory/solvers/gradients": ["CurveDisplay"],
    "theory/solvers/perceptron": ["PerceptronDisplay", "PerceptronDisplay"],
    "theory/solvers/second_order": ["GapDisplay"],
}


# What the cells of a page must do, not only its sentences: a text for each statement that has no picture.
STATEMENTS = {
    "losses": [".conjugate(", ".derivative(", "slopes_at_zero()", "eta * loss.value(f)"],
    "theory/binary": ["penalize_intercept=True", "HardMarginSVM(", "kkt_report(", "small.norms <= small.Cs", "for name, k in values"],
    "theory/problem": ["to_C_over_n(", "Scaling.percent(", "Bundle(radius=", "sample_weight=times", "margin=times", "except StructureError"],
    "theory/solvers/cutting_planes": ["MulticlassSVM(", "SVMRanker(", "NSlack(", "OneSlack(", "<= limit"],
    "theory/solvers/dual": ["margin=1.0 - signs * b", "shrinking=shrinking", "a *= np.where(signs > 0", "project("],
    "theory/solvers/perceptron": ["n_mistakes_[0] <= (R / gamma) ** 2", 'MulticlassSVM(solver="perceptron"', "averaged_perceptron"],
    "theory/solvers/gradients": [
        "start_at=start", '"random"', "start_at=[1.0]", 'step="constant"', '"averaging": "suffix"', '"order": "cyclic"',
        "momentum=mu", "Pegasos()", "variance_reduction=True", "partial_fit(",
    ],
}  # fmt: skip


def name_of(page: Path) -> str:
    return str(page.relative_to(DOCS).with_suffix(""))


def cells(page: Path) -> list[str]:
    """Code of the cells, padded so that a traceback names the line of the page."""
    text = page.read_text(encoding="utf-8")
    return ["\n" * text[: found.start(1)].count("\n") + found[1] for found in CELL.finditer(text)]


def run(code: str, page: Path, names: dict[str, object]) -> object:
    """Run a cell; returns the value of its last expression, which a notebook shows."""
    tree = ast.parse(code, str(page))
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, str(page), "exec"), names)
    return eval(compile(ast.Expression(last.value), str(page), "eval"), names) if isinstance(last, ast.Expr) else None


def shown(value: object) -> str:
    """The kind of picture that a notebook shows of a value, or an empty string for none.

    Raises
    ------
    AssertionError
        When it would show the name of a figure, or of an object in memory.
    """
    if hasattr(value, "_repr_png_"):
        assert (value._repr_png_() or b"").startswith(b"\x89PNG"), f"{value!r} shows no picture"
        return type(value).__name__
    bare = re.search(r"<Figure|<Axes| at 0x[0-9a-fA-F]+", repr(value))
    assert not bare, f"a notebook shows {value!r}; end the cell with a display"
    return ""


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_runs_and_shows_its_pictures(page: Path) -> None:
    pytest.importorskip("matplotlib")
    found = cells(page)
    assert found
    names: dict[str, object] = {"__name__": page.stem}
    kinds = [shown(run(code, page, names)) for code in found]
    assert [kind for kind in kinds if kind] == PICTURES.get(name_of(page), [])
    assert sum("assert" in code for code in found) > 0


@pytest.mark.parametrize("name", STATEMENTS)
def test_statements_of_a_page_are_run(name: str) -> None:
    code = "\n".join(cells(DOCS / f"{name}.md"))
    assert [each for each in STATEMENTS[name] if each not in code] == []


def test_what_a_notebook_would_show_without_a_picture_is_found() -> None:
    figures = pytest.importorskip("matplotlib.figure")
    page, names = DOCS / "some.md", {}
    assert run("x = 3\nx + 1", page, names) == 4
    assert run("x = 3", page, names) is None
    figure = figures.Figure()
    for bare in (figure, figure.add_subplot(), object(), [object()]):
        with pytest.raises(AssertionError, match="end the cell with a display"):
            shown(bare)
    for fine in (None, "text", 3.0):
        assert shown(fine) == ""
    with pytest.raises(AssertionError, match="shows no picture"):
        shown(SimpleNamespace(_repr_png_=lambda: None))


@pytest.mark.parametrize(
    ("text", "fine"),
    [
        ("<pre>&lt;Figure size 1030x400 with 5 Axes&gt;</pre>", False),
        ("<pre><span>&lt;maxmargin.plots.losses.LossDisplay</span> <span>at</span> 0x7f01&gt;</pre>", False),
        ("<pre>&lt;Axes: xlabel=&#x27;C&#x27;&gt;</pre>", False),
        ('<img src="figure.png" alt="a picture"/><p>at 0 the loss is 1</p>', True),
    ],
)
def test_pages_that_show_objects_in_memory_are_refused(text: str, fine: bool, tmp_path: Path) -> None:
    refuse = runpy.run_path(str(DOCS / "conf.py"))["refuse_bare_objects"]
    (tmp_path / "theory").mkdir()
    (tmp_path / "theory" / "page.html").write_text(text, encoding="utf-8")
    built = SimpleNamespace(format="html")
    app = SimpleNamespace(outdir=tmp_path, builder=built, env=SimpleNamespace(found_docs={"theory/page"}))
    if fine:
        refuse(app, None)
        return
    with pytest.raises(ValueError, match="page.html: a cell shows .* must end with a display"):
        refuse(app, None)
    refuse(app, RuntimeError("the build failed already"))


def listed_on(page: Path) -> set[str]:
    """The pages in the tables of contents of a page, as paths in the folder of the pages without their ending."""
    tables = TABLE.findall(page.read_text(encoding="utf-8"))
    lines = [line for table in tables for line in table.splitlines() if line and not line.startswith(":")]
    return {str((page.parent / line).resolve().relative_to(DOCS)) for line in lines}


def test_every_page_is_listed_once() -> None:
    pages = [page for page in DOCS.rglob("*.md") if "_build" not in page.parts]
    listed = [name for page in pages for name in listed_on(page)]
    assert sorted(listed) == sorted({str(page.relative_to(DOCS).with_suffix("")) for page in pages} - {"index"})
