"""Compiled code: fresh after every edit, found in the cache by the next process, and working without any cache."""

from __future__ import annotations

import importlib.util
import json
import shutil
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
import pytest

from maxmargin._compiled import Kernel, compiled, compiled_sources, function_type

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "maxmargin"

needs_compiler = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="NUMBA_DISABLE_JIT is set")

CALLEE = '''
"""A function that others call."""
from .._compiled import compiled

@compiled
def step(x):
    return x + 1.0
'''

CALLER = '''
"""Functions that call ``step``, which stands in another file."""
from numba import types
from .._compiled import array, compiled, function_type, kernel
from ..decoders.callee import step

@compiled
def twice(x):
    return step(step(x))

@kernel(lambda: types.float64(array(types.float64, readonly=True)))
def total(a):
    s = 0.0
    for x in a:
        s += step(x)
    return s

@kernel(lambda: types.float64(function_type(types.float64(types.float64)), types.float64))
def apply(f, x):
    return f(x)
'''

REPORT = """
import json
import numpy as np
from maxmargin.decoders.callee import step
from maxmargin.solvers.caller import apply, total, twice

a = np.arange(3.0)
a.flags.writeable = False
values = [twice(1.0), total(a), apply(step, 5.0)]
functions = [f for f in (twice, total.build(), apply.build(), step) if hasattr(f, "stats")]
print(json.dumps({
    "values": values,
    "hits": sum(sum(f.stats.cache_hits.values()) for f in functions),
    "misses": sum(sum(f.stats.cache_misses.values()) for f in functions),
    "paths": [f.stats.cache_path for f in functions],
}))
"""


@pytest.fixture
def small_package(tmp_path: Path) -> Path:
    """The compiling part of the package with a caller and a callee in two folders; gives the folder that holds it."""
    package = tmp_path / "site" / "maxmargin"
    for file in ("decoders/__init__.py", "solvers/__init__.py"):
        (package / file).parent.mkdir(parents=True)
        (package / file).touch()
    for file in ("__init__.py", "_version.py", "_compiled.py"):
        shutil.copy(PACKAGE / file, package / file)
    (package / "decoders" / "callee.py").write_text(CALLEE, encoding="utf-8")
    (package / "solvers" / "caller.py").write_text(CALLER, encoding="utf-8")
    return package.parent


@pytest.fixture
def report(run_python: Callable[..., str], tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Run the small package at ``path`` in a fresh process, with a home in the test's folder."""

    def run(path: Path, **env: str) -> dict[str, Any]:
        clean = {"NUMBA_CACHE_DIR": None, "NUMBA_DISABLE_JIT": None, "XDG_CACHE_HOME": None, "HOME": str(tmp_path)}
        # without byte code files, whose own check for freshness is too coarse for two edits in one second
        printed = run_python(REPORT, path=path, env={**clean, "PYTHONDONTWRITEBYTECODE": "1", **env})
        result: dict[str, Any] = json.loads(printed)
        return result

    return run


def edit_callee(package: Path) -> None:
    callee = package / "maxmargin" / "decoders" / "callee.py"
    callee.write_text(CALLEE.replace("1.0", "2.0"), encoding="utf-8")


BEFORE, AFTER = [3.0, 6.0, 6.0], [5.0, 9.0, 7.0]


def test_next_process_hits_the_cache_and_an_edited_callee_renews_its_callers(
    small_package: Path, report: Callable[..., dict[str, Any]]
) -> None:
    cold = report(small_package)
    assert cold["values"] == BEFORE
    assert (cold["hits"], cold["misses"]) == (0, 4)

    warm = report(small_package)
    assert warm["values"] == BEFORE
    assert (warm["hits"], warm["misses"]) == (4, 0)

    edit_callee(small_package)
    assert report(small_package)["values"] == AFTER


def test_without_any_cache_folder(small_package: Path, report: Callable[..., dict[str, Any]]) -> None:
    """A read-only installation without a home. Files in the place of folders stop the superuser too."""
    for folder in ("decoders", "solvers"):
        (small_package / "maxmargin" / folder / "__pycache__").touch()
    before = sorted(small_package.rglob("*"))
    result = report(small_package, HOME="/dev/null")
    assert result["values"] == BEFORE
    assert result["paths"] == [None] * 4
    assert sorted(small_package.rglob("*")) == before


def test_in_a_zip_archive(small_package: Path, report: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    """Imported from an archive: right without a home, and with one an edited callee renews its callers."""
    archive = tmp_path / "bundle.zip"

    def pack() -> None:
        with zipfile.ZipFile(archive, "w") as bundle:
            for path in small_package.rglob("*.py"):
                bundle.write(path, path.relative_to(small_package))

    pack()
    assert report(archive, HOME="/dev/null")["values"] == BEFORE
    assert report(archive)["values"] == BEFORE
    assert report(archive)["hits"] == 4
    edit_callee(small_package)
    pack()
    assert report(archive)["values"] == AFTER


def test_without_the_compiler(small_package: Path, report: Callable[..., dict[str, Any]]) -> None:
    result = report(small_package, NUMBA_DISABLE_JIT="1")
    assert result["values"] == BEFORE
    assert result["paths"] == []


@pytest.mark.parametrize("stdin", [False, True], ids=["-c", "stdin"])
def test_functions_defined_at_the_prompt(run_python: Callable[..., str], stdin: bool) -> None:
    """Code without a file is compiled in memory."""
    code = """
from numba import types
from maxmargin._compiled import compiled, kernel, function_type

@compiled
def square(x):
    return x * x

@kernel(lambda: types.float64(function_type(types.float64(types.float64)), types.float64))
def apply(f, x):
    return f(x) + 1.0

print(apply(square, 3.0), square.stats.cache_path, apply.build().stats.cache_path)
"""
    printed = run_python(code, stdin=stdin, env={"NUMBA_DISABLE_JIT": None})
    assert printed.split() == ["10.0", "None", "None"]


# --- in this process: a module executed anew looks into the disk cache like a new process does


FUNCTION = """
from maxmargin._compiled import compiled

@compiled
def plus_one(x):
    return x + 1
"""


@pytest.fixture
def new_module(tmp_path: Path) -> Callable[[], ModuleType]:
    """Executes the text above as a module of its own, each time with an empty memory."""
    path = tmp_path / "functions.py"
    path.write_text(FUNCTION, encoding="utf-8")

    def load() -> ModuleType:
        spec = importlib.util.spec_from_file_location("functions", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def cache_files(function: Any, pattern: str) -> list[Path]:
    return sorted(Path(function.stats.cache_path).glob(f"functions.plus_one-{pattern}"))


@needs_compiler
@pytest.mark.parametrize("pattern", ["*.nbi", "*.nbc"])
@pytest.mark.parametrize("content", [b"", b"\x80\x05 no pickle"], ids=["empty", "nonsense"])
def test_damaged_cache_file_is_replaced(new_module: Callable[[], Any], pattern: str, content: bytes) -> None:
    """A crash of the machine can leave empty files behind."""
    first = new_module().plus_one
    assert first(1) == 2
    (file,) = cache_files(first, pattern)
    file.write_bytes(content)
    second = new_module().plus_one
    assert second(1) == 2
    third = new_module().plus_one
    assert third(1) == 2
    assert sum(third.stats.cache_hits.values()) == 1


@needs_compiler
def test_entry_of_another_signature_is_refused(new_module: Callable[[], Any]) -> None:
    """Two processes that write at once can leave an index that names the machine code of the other's signature."""
    first = new_module().plus_one
    assert first(1) == 2
    (code_for_int,) = cache_files(first, "*.1.nbc")
    kept = code_for_int.read_bytes()
    assert first(0.5) == 1.5
    (code_for_float,) = cache_files(first, "*.2.nbc")
    code_for_float.write_bytes(kept)
    assert new_module().plus_one(0.5) == 1.5
    third = new_module().plus_one
    assert third(0.5) == 1.5
    assert sum(third.stats.cache_hits.values()) == 1


@needs_compiler
def test_entry_of_older_sources_is_refused(new_module: Callable[[], Any], tmp_path: Path) -> None:
    """The same when one of the two processes has started before an edit."""
    first = new_module().plus_one
    assert first(1) == 2
    (file,) = cache_files(first, "*.nbc")
    kept = file.read_bytes()
    (tmp_path / "functions.py").write_text(FUNCTION.replace("x + 1", "x + 9"), encoding="utf-8")
    assert new_module().plus_one(1) == 10
    file.write_bytes(kept)
    assert new_module().plus_one(1) == 10


@needs_compiler
def test_cache_folder_lost_before_the_first_call(new_module: Callable[[], Any]) -> None:
    """The folder could be written when the function was defined and cannot be when it is compiled."""
    function = new_module().plus_one
    folder = Path(function.stats.cache_path)
    shutil.rmtree(folder)
    folder.touch()
    assert function(1) == 2


@needs_compiler
def test_threads_build_one_kernel_at_once() -> None:
    built: list[Any] = []

    def add_up(a):  # type: ignore[no-untyped-def]
        s = 0.0
        for x in a:
            s += x
        return s

    signatures: list[int] = []

    def signature() -> Any:
        signatures.append(1)
        return numba.types.float64(numba.types.Array(numba.types.float64, 1, "C"))

    shared = Kernel(add_up, signature)
    start = threading.Barrier(4)

    def work() -> None:
        start.wait()
        assert shared(np.arange(4.0)) == 6.0
        built.append(shared.build())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert len(built) == 4
    assert all(dispatcher is built[0] for dispatcher in built)
    assert len(signatures) == 1


@needs_compiler
def test_a_function_given_to_a_kernel_is_searched_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba's own search takes longer than the work of a kernel on a few examples."""
    real = numba.types.float64
    by_value = function_type(real(real))

    @compiled
    def double(x):  # type: ignore[no-untyped-def]
        return 2.0 * x

    @compiled
    def square(x):  # type: ignore[no-untyped-def]
        return x * x

    def both(f, g, x):  # type: ignore[no-untyped-def]
        return f(x) + g(x)

    def other(f, x, n):  # type: ignore[no-untyped-def]
        return f(x) + n

    first = Kernel(both, lambda: real(by_value, by_value, real))
    second = Kernel(other, lambda: real(function_type(real(real)), real, real))
    assert (first(double, square, 3.0), second(square, 3.0, 1.0)) == (15.0, 10.0)

    def refuse(*args: Any) -> Any:
        raise AssertionError("searched again")

    monkeypatch.setattr(type(double), "get_compile_result", refuse)
    assert (first(double, square, 4.0), second(square, 4.0, 1.0)) == (24.0, 17.0)
    assert first(square, double, 4.0) == 24.0


def test_every_compiled_source_counts_for_freshness() -> None:
    """Each module that uses the decorators is among the files whose hash is part of every cached function's stamp."""
    counted = compiled_sources().keys()
    using = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if "_compiled import" in path.read_text(encoding="utf-8")
    }
    assert using <= counted
    assert "_compiled.py" in counted


@pytest.mark.slow
def test_all_kernels_of_the_package_are_cached(run_python: Callable[..., str], tmp_path: Path) -> None:
    """The second process finds every kernel on disk."""
    code = """
import importlib, json, pkgutil
import maxmargin
from maxmargin._compiled import Kernel, compiled, compiled_sources, function_type

kernels = {}
for module in pkgutil.walk_packages(maxmargin.__path__, "maxmargin."):
    if not module.name.endswith("__main__"):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, Kernel):
                kernels[f"{value.__module__}.{value.__qualname__}"] = value.build().stats
print(json.dumps({name: [sum(stats.cache_hits.values()), sum(stats.cache_misses.values())]
                  for name, stats in kernels.items()}))
"""
    env = {"NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_DISABLE_JIT": None}
    cold, warm = (json.loads(run_python(code, env=env)) for _ in range(2))
    assert cold, "no kernel found"
    assert set(map(tuple, cold.values())) == {(0, 1)}
    assert {name for name, counts in warm.items() if counts != [1, 0]} == set()
