"""Imports go downwards only, and Numba is used in one place."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "maxmargin"

# The layers from the bottom to the top: a module imports from its own layer and from those above it in this table.
# A new module or folder of the package gets its place here.
LAYERS = (
    ("errors", "_compiled", "_products", "_threads", "_version"),
    ("problem", "losses", "terms", "kernels", "status", "result", "decoders"),
    ("structures", "data", "metrics"),
    ("solvers",),
    (
        "_estimator",
        "_checked_rows",
        "_progress",
        "_class_labels",
        "_class_weight",
        "_notes",
        "_warm",
        "_machine",
        "_kernel_machine",
        "_partial_fit",
        "_items",
        "_given_labels",
        "_transitions",
        "_completion",
        "_chain_start",
        "classifier",
        "regressor",
        "one_class",
        "hard_margin",
        "path",
        "search",
        "auc",
        "multiclass",
        "ranking",
        "sequence",
        "tree",
        "structured",
        "hmm",
    ),
    ("model_file", "compare", "kkt"),
    ("plots", "reports"),
    ("demo", "cli", "__main__"),
)

# Beyond the layers: what the first may not import although the table allows it, and what of that it may.
FORBIDDEN = (
    ("data", "structures", ()),
    (
        "solvers",
        "structures",
        (
            "structures.base",
            "structures.features",
            "structures.plain",
            "structures.check_calls",
            "structures.check_report",
        ),
    ),
)

LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


@dataclass(frozen=True)
class Import:
    """``importer`` (a module, without the package's name) imports ``target`` in a line of its file."""

    importer: str
    target: str
    line: int


def module_name(path: Path, package: Path = PACKAGE) -> str:
    """``solvers.block`` for ``solvers/block.py``; a package's ``__init__`` bears the name of its folder."""
    parts = path.relative_to(package).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path, package: Path = PACKAGE) -> Iterator[Import]:
    """Every import of a module of the package, wherever in the file it stands."""
    importer = module_name(path, package)
    folder = ["maxmargin", *path.relative_to(package).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = [] if node.level == 0 else folder[: len(folder) - node.level + 1]
            source = ".".join([*base, *([node.module] if node.module else [])])
            # `from package import name` imports a module where there is one of that name
            targets = [
                f"{source}.{alias.name}" if is_module(f"{source}.{alias.name}", package) else source
                for alias in node.names
            ]
        else:
            continue
        for target in targets:
            if target.split(".")[0] == "maxmargin":
                yield Import(importer, target.partition(".")[2], node.lineno)


def is_module(name: str, package: Path) -> bool:
    first, *rest = name.split(".")
    path = package.joinpath(*rest)
    return first == "maxmargin" and (path.is_dir() or path.with_suffix(".py").is_file())


def inside(module: str, folder: str) -> bool:
    return module == folder or module.startswith(folder + ".")


def violation(found: Import) -> str | None:
    """Why an import is wrong, or None."""
    where = f"maxmargin/{found.importer.replace('.', '/')}, line {found.line}"
    importer, target = found.importer.split(".")[0], found.target.split(".")[0]
    if not target:
        return f"{where}: imports from maxmargin itself; import from the module that defines the name"
    for name in (importer, target):
        if name not in LEVEL:
            return f"{where}: the module {name!r} has no layer; give it one in LAYERS of {Path(__file__).name}"
    if LEVEL[target] > LEVEL[importer]:
        return f"{where}: {importer} must not import {target}, which is a higher layer"
    for source, forbidden, allowed in FORBIDDEN:
        if inside(found.importer, source) and inside(found.target, forbidden) and found.target not in allowed:
            return f"{where}: {source} must not import {found.target}; allowed: {', '.join(allowed) or 'nothing of it'}"
    return None


def modules(package: Path = PACKAGE) -> list[Path]:
    return sorted(path for path in package.rglob("*.py") if path != package / "__init__.py")


def violations(package: Path) -> list[str]:
    return [text for path in modules(package) for found in imports_of(path, package) if (text := violation(found))]


def test_imports_go_downwards() -> None:
    assert violations(PACKAGE) == []


def test_every_module_has_a_layer() -> None:
    new = {module_name(path).split(".")[0] for path in modules()} - LEVEL.keys()
    assert not new, f"give {sorted(new)} a layer in LAYERS of {Path(__file__).name}"


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("problem.py", "from .errors import DataError", None),
        ("problem.py", "def f():\n    from . import sequence", "must not import sequence"),
        ("solvers/frank_wolfe.py", "from ..structures.base import Structure", None),
        ("solvers/frank_wolfe.py", "from ..structures import base, chain", "must not import structures.chain"),
        ("solvers/frank_wolfe.py", "import maxmargin.structures.chain", "must not import structures.chain"),
        ("solvers/frank_wolfe.py", "from maxmargin.structures import Chain", "must not import structures;"),
        ("structures/chain.py", "from ..solvers.block import step", "must not import solvers"),
        ("structures/chain.py", "from .base import Structure", None),
        ("data/svmlight.py", "from ..structures.chain import Chain", "must not import structures.chain"),
        ("data/svmlight.py", "from maxmargin import SequenceSVM", "imports from maxmargin itself"),
        ("data/svmlight.py", "from .._version import __version__", None),
        ("surprise.py", "from .errors import DataError", "LAYERS"),
        ("cli/train.py", "from ..sequence import SequenceSVM\nfrom ..unheard import x", "LAYERS"),
    ],
)
def test_the_rules_can_be_broken(tmp_path: Path, file: str, text: str, expected: str | None) -> None:
    for name in ("sequence.py", "structures/base.py", "structures/chain.py", "unheard.py", file):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / file).write_text(text, encoding="utf-8")
    found = violations(tmp_path)
    assert found == [] if expected is None else len(found) == 1 and expected in found[0], found


def test_numba_is_used_through_one_module() -> None:
    """Elsewhere only its types are imported: decorators and options belong to ``_compiled``."""
    wrong = []
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            wrong += [
                f"{module_name(path)}, line {node.lineno}: {name}"
                for name in names
                if name.split(".")[0] == "numba" and name != "numba.types"
            ]
    assert [text for text in wrong if not text.startswith("_compiled,")] == []
