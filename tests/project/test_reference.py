"""The reference in ``docs/api``: every public name and method is there, and its table of solvers says what the code does.

Sphinx renders the pages from the docstrings; here the directives are read, which takes no build.
"""

from __future__ import annotations

import importlib
import inspect
import re
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import maxmargin
from maxmargin import HardMarginSVM, MulticlassSVM, OneClassSVM, StructuredSVM, SVMClassifier, SVMRegressor
from maxmargin.solvers import by_name

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = sorted((DOCS / "api").glob("*.md"))
SETTINGS = runpy.run_path(str(DOCS / "conf.py"))

DIRECTIVE = re.compile(r"^\.\. (auto\w+|py:data):: (\S+)\n((?:   :.*\n)*)", re.MULTILINE)
COMPLETE = [
    "maxmargin", "maxmargin.compare", "maxmargin.data", "maxmargin.decoders", "maxmargin.errors", "maxmargin.hmm",
    "maxmargin.kkt", "maxmargin.losses", "maxmargin.metrics", "maxmargin.model_file", "maxmargin.path",
    "maxmargin.plots", "maxmargin.problem", "maxmargin.status", "maxmargin.structures",
]  # fmt: skip


class Entry(NamedTuple):
    """A directive: its kind, the name that it renders, and its options."""

    kind: str
    name: str
    options: str


ENTRIES = [Entry(*found.groups()) for page in PAGES for found in DIRECTIVE.finditer(page.read_text(encoding="utf-8"))]


def resolve(entry: Entry) -> Any:
    """The module of this name, or the member of a module."""
    if entry.kind == "automodule":
        return importlib.import_module(entry.name)
    module, _, member = entry.name.rpartition(".")
    return getattr(importlib.import_module(module), member)


def classes() -> dict[type, Entry]:
    return {resolve(entry): entry for entry in ENTRIES if entry.kind in ("autoclass", "autoexception")}


def test_every_entry_stands_once_and_exists() -> None:
    names = [entry.name for entry in ENTRIES]
    assert sorted(set(names)) == sorted(names)
    kinds: dict[str, Callable[[Any], bool]] = {
        "autoclass": inspect.isclass,
        "autoexception": lambda found: inspect.isclass(found) and issubclass(found, BaseException),
        "autofunction": lambda found: callable(found) and not inspect.isclass(found),
        "automodule": inspect.ismodule,
    }
    wrong = [entry.name for entry in ENTRIES if not kinds.get(entry.kind, lambda _: True)(resolve(entry))]
    assert wrong == [], "of another kind than the directive"


@pytest.mark.parametrize("module", COMPLETE)
def test_every_public_name_is_on_a_page(module: str) -> None:
    """A name that several modules have needs to be there once."""
    names = {entry.name for entry in ENTRIES if entry.kind != "automodule"}
    objects = {id(rendered) for entry in ENTRIES if callable(rendered := resolve(entry))}
    found = importlib.import_module(module)
    missing = [
        name for name in found.__all__ if f"{module}.{name}" not in names and id(getattr(found, name)) not in objects
    ]
    assert found.__all__
    assert missing == [], "not in docs/api"


# --- members


def rendered_members(owner: type) -> Iterator[tuple[str, Any]]:
    """What a class itself defines for its users, without what Sphinx is told to leave out."""
    for name, member in vars(owner).items():
        left_out = SETTINGS["skip_member"](None, "class", name, member, False, None)
        is_code = hasattr(member, "__get__") and not inspect.ismemberdescriptor(member)  # the latter are slots
        if not name.startswith("_") and is_code and not inspect.isclass(member) and not left_out:
            yield name, member


def test_members_are_rendered_unless_a_page_says_otherwise() -> None:
    assert SETTINGS["autodoc_default_options"]["members"] is True
    assert "sphinx.ext.autodoc" in SETTINGS["extensions"]
    found = classes()
    bare = [
        name for name in maxmargin.__all__
        if inspect.isclass(getattr(maxmargin, name)) and ":no-members:" in found[getattr(maxmargin, name)].options
    ]  # fmt: skip
    assert bare == []


def test_every_method_has_what_is_rendered() -> None:
    """Members without a docstring of their own or of a base are left out without a word."""
    found = [
        f"{entry.name}.{name}"
        for owner, entry in classes().items()
        if ":no-members:" not in entry.options
        for name, _ in rendered_members(owner)
        if not inspect.getdoc(getattr(owner, name))
    ]
    assert found == [], "without a docstring"


def test_no_method_is_lost_in_a_base_class() -> None:
    """What a base defines is rendered with the base, or with the class that asks for inherited members."""
    listed = classes()
    lost = [
        f"{entry.name}.{name}, of {base.__qualname__}"
        for owner, entry in listed.items()
        if not re.search(":(no|inherited)-members:", entry.options)
        for base in owner.__mro__[1:]
        if base not in listed and base.__module__.startswith("maxmargin")
        for name, _ in rendered_members(base)
        if name not in vars(owner)
    ]
    assert lost == []


@pytest.mark.parametrize(
    "name",
    [
        "SVMClassifier.partial_fit", "SVMClassifier.predict_proba", "SVMRanker.fit_comparisons",
        "SequenceSVM.predict_k_best", "SVMPath.decision_function", "Certificate.relative_gap",
    ],
)  # fmt: skip
def test_members_of_each_kind_are_found(name: str) -> None:
    """Methods, those that depend on parameters, and properties: none slips through the tests above."""
    owner, member = name.split(".")
    assert member in dict(rendered_members(getattr(maxmargin, owner)))


# --- the table of solvers


def solver_table() -> dict[str, tuple[str, str, str]]:
    """For every name the solvers of linear machines, of machines with a kernel, and of structures, as written."""
    text = (DOCS / "api" / "solvers.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split(" |")] for line in re.findall(r'^\| `".*\|$', text, re.M)]
    assert all(len(row) == 4 for row in rows)
    return {row[0].strip('`"'): (row[1], row[2], row[3]) for row in rows}


def names_in_column(column: int) -> set[str]:
    return {name for name, cells in solver_table().items() if cells[column]}


def test_the_table_has_the_names_that_estimators_know() -> None:
    assert names_in_column(0) == set(SVMClassifier()._solver_names())
    assert names_in_column(1) == set(SVMClassifier(kernel="rbf")._solver_names()) == set(OneClassSVM()._solver_names())
    structured = set(StructuredSVM(None)._solver_names())
    assert (
        names_in_column(2)
        == structured | {"coordinate_ascent", "interior_point", "block_ascent"}
        == set(MulticlassSVM()._solver_names())
    )
    perceptrons = {"perceptron", "averaged_perceptron"}
    assert set(SVMRegressor()._solver_names()) == names_in_column(0) - perceptrons
    assert set(HardMarginSVM(kernel="rbf")._solver_names()) == names_in_column(0)


@pytest.mark.parametrize("name", list(solver_table()))
def test_the_table_names_the_solver_of_each_name(name: str) -> None:
    cells = solver_table()[name]
    machines = [SVMClassifier(solver=name), SVMClassifier(solver=name, kernel="rbf")]
    solvers = [model._check_machine() if cell else None for model, cell in zip(machines, cells[:2], strict=True)]
    solvers.append(by_name(name) if cells[2] and "only" not in cells[2] else None)
    for cell, solver in zip(cells, solvers, strict=True):
        if solver is not None:
            found = re.search(r"(\w+)`", cell)
            assert found
            assert found[1] == type(solver).__name__
            assert ("average=False" in cell) == (getattr(solver, "average", True) is False and "perceptron" in name)
