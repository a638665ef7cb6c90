"""The package as a whole: what its import loads and leaves alone, its public names, its version and its texts."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

import pytest

import maxmargin

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "maxmargin"
SOURCES = sorted(PACKAGE.rglob("*.py"))

RunPython = Callable[..., str]


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def where(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


# --- import


HELP = """
import sys
from maxmargin.cli import main
sys.argv = ["maxmargin", "--help"]
try:
    main()
except SystemExit as stop:
    assert not stop.code, stop.code
"""


@pytest.mark.parametrize("code", ["import maxmargin; dir(maxmargin)", "import maxmargin.errors", HELP])
def test_the_start_loads_nothing_heavy(run_python: RunPython, code: str) -> None:
    heavy = ["numpy", "scipy", "numba", "sklearn", "matplotlib", "pandas", "joblib", "tqdm"]
    printed = run_python(f"{code}\nimport sys\nprint('loaded:', *(sys.modules.keys() & {heavy}))")
    assert printed.splitlines()[-1].split() == ["loaded:"]


def test_import_touches_no_global_state(run_python: RunPython) -> None:
    """Importing every module changes no setting of the process; other libraries are loaded before the first look."""
    code = """
import importlib, logging, os, pkgutil, random, signal, sys, threading, warnings
import matplotlib.pyplot, numba, numpy as np
import scipy.optimize, scipy.sparse.csgraph, sklearn.base, sklearn.utils.validation

def state():
    return {
        "random": random.getstate(),
        "numpy.random": repr(np.random.get_state(legacy=False)),
        "numpy errors": np.geterr(),
        "numpy printing": repr(np.get_printoptions()),
        "warnings": list(warnings.filters),
        "warnings hook": warnings.showwarning,
        "numba threads": numba.get_num_threads(),
        "numba settings": {name: repr(value) for name, value in vars(numba.config).items() if name.isupper()},
        "matplotlib": dict(matplotlib.rcParams),
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "hooks": (sys.excepthook, sys.displayhook, threading.excepthook, print),
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "logging": (logging.root.level, list(logging.root.handlers)),
        "recursion": sys.getrecursionlimit(),
        "threads": threading.active_count(),
    }

before = state()
import maxmargin
for module in pkgutil.walk_packages(maxmargin.__path__, "maxmargin."):
    importlib.import_module(module.name)
after = state()
print("changed:", *(name for name in before if before[name] != after[name]))
"""
    assert run_python(code).split() == ["changed:"]


# --- public names and version


@pytest.mark.parametrize("name", maxmargin.__all__)
def test_public_name_resolves_and_is_listed(name: str) -> None:
    assert getattr(maxmargin, name) is getattr(maxmargin, name)
    assert name in dir(maxmargin)


def test_type_checkers_see_the_same_names() -> None:
    """The imports for type checkers, the table of lazy names and ``__all__`` say the same."""
    typed = {
        alias.name: node.module
        for block in tree(PACKAGE / "__init__.py").body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed == maxmargin._HOME_OF
    assert {*typed, "__version__"} == set(maxmargin.__all__)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'maxmargin' has no attribute 'SVM'"):
        maxmargin.SVM  # noqa: B018


def test_version_agrees() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+|rc\d+)?", maxmargin.__version__)
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in settings["project"]
    assert settings["tool"]["hatch"]["version"]["path"] == "src/maxmargin/_version.py"
    assert f"[{maxmargin.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    try:
        installed = metadata.version("maxmargin")
    except metadata.PackageNotFoundError:
        return  # run from the sources
    assert installed == maxmargin.__version__


def test_licence_and_marker_of_types_exist() -> None:
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith("BSD 3-Clause License")
    assert (PACKAGE / "py.typed").is_file()


# --- texts


def project_files() -> Iterator[Path]:
    """Every text file of the project; this one, which spells out what is forbidden, excepted."""
    suffixes = {".py", ".md", ".toml", ".yaml", ".yml", ".sh", ".ipynb", ".rst", ""}
    folders = ("src", "tests", "scripts", "benchmarks", "examples", "docs", ".ci")
    found = [path for path in ROOT.iterdir() if path.name != ".git"]
    found += [path for folder in folders for path in (ROOT / folder).rglob("*")]
    for path in sorted(found):
        if path.is_file() and path.suffix in suffixes and "__pycache__" not in path.parts and path != Path(__file__):
            yield path


EVERYWHERE = {
    r"allow_pickle\s*=\s*True": "arrays are read without pickle",
    r"\b(np|numpy)\.random\.(seed|RandomState)\b|random\.seed\(": "randomness comes from a generator that is passed on",
    r"(?<![\w.~*-])/(work|farm|opt|root|home/\w+|tmp/\w+)/": "no path of one machine",
    r"pypi\.org|pythonhosted\.org|anaconda\.(org|com)": "no host of a registry",
}
IN_THE_PACKAGE = {
    r"\b(pickle|cPickle|cloudpickle|dill|joblib)\.load": "nothing is unpickled",
    r"parallel\s*=\s*True|\bprange\b|\bjitclass\b|\bcfunc\b": "not among the compiled forms in use",
    r"fastmath\s*=\s*True": "full fastmath breaks checks for NaN",
    r"set_num_threads|threading_layer\(|THREADING_LAYER": "threads of other libraries are the user's",
    r"(simplefilter|filterwarnings|resetwarnings)\(": "filters of warnings are the user's",
    r"\b(np|numpy)\.(seterr|set_printoptions)|os\.putenv|os\.environ\[[^\]]*\]\s*=(?!=)|os\.environ\.(update|setdefault)":
        "settings of the process are the user's",
}  # fmt: skip


def test_nothing_forbidden_is_written() -> None:
    found = []
    for path in project_files():
        rules = {**EVERYWHERE, **IN_THE_PACKAGE} if path.is_relative_to(PACKAGE) else EVERYWHERE
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            found += [
                f"{where(path, number)}: {why}: {line.strip()}" for rule, why in rules.items() if re.search(rule, line)
            ]
    assert found == []


def test_every_module_and_public_name_has_a_docstring() -> None:
    found = []
    for path in SOURCES:
        module = tree(path)
        defined = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        public = [node for node in module.body if isinstance(node, defined) and not node.name.startswith("_")]
        found += [where(path, 1)] if not ast.get_docstring(module) else []
        found += [f"{where(path, node.lineno)} {node.name}" for node in public if not ast.get_docstring(node)]
    assert found == [], "without a docstring"


def test_only_the_command_line_prints() -> None:
    """Elsewhere a ``print`` names the stream it writes to."""
    found = []
    for path in SOURCES:
        if path.relative_to(PACKAGE).parts[0].removesuffix(".py") in {"cli", "demo", "__main__"}:
            continue
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                found += [] if any(keyword.arg == "file" for keyword in node.keywords) else [where(path, node.lineno)]
    assert found == []


@pytest.mark.parametrize("name", ["scripts/demo", "scripts/test", "scripts/check", "scripts/bench", ".ci/run"])
def test_script_can_be_run(name: str) -> None:
    path = ROOT / name
    assert path.stat().st_mode & 0o111, "not executable"
    assert "set -euo pipefail" in path.read_text(encoding="utf-8")
    subprocess.run(["bash", "-n", path], check=True)
