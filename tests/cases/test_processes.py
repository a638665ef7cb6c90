"""Threads, forks, fresh processes, read-only installations, absent packages: the same answers everywhere."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import maxmargin
from maxmargin import MulticlassSVM

PACKAGE = Path(maxmargin.__file__).parent
RunPython = Callable[..., str]


@pytest.fixture(scope="module")
def run_python(run_python: RunPython) -> RunPython:
    """Runs code with the package that this process has loaded."""
    return functools.partial(run_python, path=PACKAGE.parent)


THREADS = """
import sys, threading
import numpy as np
from maxmargin import MulticlassSVM, SequenceSVM

rng = np.random.default_rng(3)
jobs = []
for k in range(4):
    y = np.repeat([0, 1], 100)
    jobs.append((rng.normal(size=(200, 5)) + 3.0 * np.where(y[:, None] == 1, 1, -1), y))

def work(X, y):
    model = MulticlassSVM(random_state=0, n_jobs=2).fit(X, y)
    tags = SequenceSVM(random_state=0, n_jobs=2).fit(X.reshape(40, 5, 5), y.reshape(40, 5))
    return [model.decision_function(X), model.predict(X), np.ravel(tags.predict(X.reshape(40, 5, 5))), tags.coef_]

def in_threads():
    results, start = [None] * 4, threading.Barrier(4)
    def run(k):
        start.wait()
        results[k] = work(*jobs[k])
    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for t in threads: t.start()
    for t in threads: t.join(120)
    return results

repeated = [in_threads() for _ in range(3)]  # the first of them in a process that has compiled nothing yet
for k, (X, y) in enumerate(jobs):
    expected = work(X, y)
    for results in repeated:
        for found, value in zip(results[k], expected):
            assert found.tobytes() == value.tobytes()
    assert (expected[1] == y).all()
print("equal")
"""


@pytest.mark.parametrize("layer", ["workqueue", pytest.param("omp", marks=pytest.mark.slow)])
def test_threads_that_fit_at_once(run_python: RunPython, layer: str) -> None:
    assert run_python(THREADS, env={"NUMBA_THREADING_LAYER": layer}) == "equal\n"


CHILD = """
import numpy as np
from maxmargin import MulticlassSVM

def fit_and_predict(X, y):
    return MulticlassSVM(random_state=0, n_jobs=2).fit(X, y).predict(X)

def predict(model, X):
    return model.predict(X)
"""

PARENT = """
import multiprocessing, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
import child_of_the_test as child
from maxmargin import MulticlassSVM

rng = np.random.default_rng(5)
y = np.repeat(["a", "b"], 150)
X = rng.normal(size=(300, 6)) + np.where(y == "b", 4.0, -4.0)[:, None]
model = MulticlassSVM(random_state=0, n_jobs=-1).fit(X, y)
assert (model.predict(X) == y).all()
for method in sys.argv[2:]:
    with multiprocessing.get_context(method).Pool(2) as pool:
        jobs = [pool.apply_async(child.fit_and_predict, (X, y)), pool.apply_async(child.predict, (model, X))]
        assert all((job.get(60) == y).all() for job in jobs)
        pool.close()
        pool.join()
    print(method)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.parametrize(
    ("layer", "methods"),
    [
        ("workqueue", ["fork"]),
        pytest.param("omp", ["fork", "spawn", "forkserver"], marks=pytest.mark.slow),
        pytest.param("workqueue", ["spawn", "forkserver"], marks=pytest.mark.slow),
    ],
)
def test_children_of_a_process_that_has_fitted(
    run_python: RunPython, tmp_path: Path, layer: str, methods: list[str]
) -> None:
    (tmp_path / "child_of_the_test.py").write_text(CHILD, encoding="utf-8")
    code = f"import sys; sys.argv[1:] = {[str(tmp_path), *methods]!r}\n{PARENT}"
    assert run_python(code, env={"NUMBA_THREADING_LAYER": layer}).split() == methods


FIT_EVERYTHING = """
import json
import numpy as np
from maxmargin import MulticlassSVM, SequenceSVM, StructuredSVM

class Classes:
    def joint_features(self, x, y):
        return np.outer(x, np.eye(2)[y]).ravel()
    def loss(self, y_true, y):
        return float(y != y_true)
    def argmax(self, x, w, y_true=None):
        scores = x @ w.reshape(-1, 2)
        return int((scores if y_true is None else scores + (np.arange(2) != y_true)).argmax())

rng = np.random.default_rng(0)
X, y = rng.normal(size=(9, 2)), np.arange(9) % 2
X[8], y[8] = X[6], y[6]
S = [[["a", "b"], ["c"]], [["b"]], [["a"], ["c", "a"], ["d"]], []]
T = [["P", "Q"], ["Q"], ["P", "Q", "P"], []]
out = {}
for solver in ("frank_wolfe", "n_slack", "one_slack", "averaged_perceptron", "perceptron"):
    options = dict(solver=solver, tol=1e-8, max_passes=300, random_state=1)
    models = [MulticlassSVM(**options).fit(X, y), SequenceSVM(**options).fit(S, T), StructuredSVM(Classes(), **options).fit(X, y)]
    for model in models:
        out[f"{solver} {type(model).__name__}"] = [model.certificate_.primal, *np.ravel(model.coef_)]
    assert models[1].predict(S) == models[1].predict(S, [None] * 4)
    models[1].predict_k_best(S, 2), models[1].predict_margins(S)
print(json.dumps(out))
"""


def assert_close(found: dict[str, Any], expected: dict[str, Any], accuracy: float) -> None:
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=0, atol=accuracy, err_msg=name)


@pytest.fixture(scope="module")
def everything(run_python: RunPython) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(run_python(FIT_EVERYTHING))
    return result


@pytest.mark.slow
def test_without_the_compiler(run_python: RunPython, everything: dict[str, Any]) -> None:
    """Indices out of bounds are errors there: this also tells whether compiled code reads what is not its own."""
    found = json.loads(run_python(FIT_EVERYTHING, env={"NUMBA_DISABLE_JIT": "1"}))
    # sums are ordered otherwise; what a solver makes of that is within its tolerance
    assert_close(found, everything, 1e-3)


@pytest.mark.slow
def test_with_checked_indices(run_python: RunPython, everything: dict[str, Any], tmp_path: Path) -> None:
    env = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    assert_close(json.loads(run_python(FIT_EVERYTHING, env=env)), everything, 1e-3)


HIDE = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden())
"""


def test_without_optional_packages(run_python: RunPython, everything: dict[str, Any]) -> None:
    names = ["pandas", "matplotlib", "tqdm", "piqp", "pycrfsuite", "cvxpy", "tbb", "torch", "IPython"]
    assert_close(json.loads(run_python(HIDE.format(names=names) + FIT_EVERYTHING)), everything, 1e-12)


def test_a_missing_compiler_is_named_in_one_line(run_python: RunPython) -> None:
    code = HIDE.format(names=["numba"]) + (
        "import maxmargin\n"
        "try:\n"
        "    maxmargin.MulticlassSVM().fit([[0.0], [1.0]], [0, 1])\n"
        "except ImportError as error:\n"
        "    print(error)\n"
    )
    said = run_python(code)
    assert "numba" in said
    assert said.count("\n") == 1


# Seeds: half of the rows stand several times.


def repeated_rows() -> tuple[Any, Any]:
    rng = np.random.default_rng(9)
    base = rng.normal(size=(40, 5))
    y = (base[:, 0] + 0.5 * rng.normal(size=40) > 0).astype(int)
    index = np.concatenate([np.arange(40), np.repeat(np.arange(5), 12)])
    return base[index], y[index]


SEEDED = """
import hashlib, json
import numpy as np
from sklearn.utils import check_random_state
import scipy.sparse as sp
from maxmargin import MulticlassSVM, SequenceSVM

def bits(*arrays):
    return hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).hexdigest()

rng = np.random.default_rng(9)
base = rng.normal(size=(40, 5))
y = (base[:, 0] + 0.5 * rng.normal(size=40) > 0).astype(int)
index = np.concatenate([np.arange(40), np.repeat(np.arange(5), 12)])
X, y = base[index], y[index]
wide = sp.random_array((100, 20_000), density=2e-3, rng=rng, format="csr")
found = []
for rows, jobs in ((X, (1, 2, 4)), (wide, (1, 4))):
    for seeds in ((42,) * len(jobs), [check_random_state(42) for _ in jobs]):
        models = []
        for n_jobs, seed in zip(jobs, seeds):
            model = MulticlassSVM(C=1.0, random_state=seed, n_jobs=n_jobs).fit(rows, y)
            tags = SequenceSVM(random_state=seed, n_jobs=n_jobs).fit([rows[:50], rows[50:]], [y[:50], y[50:]])
            models.append([bits(model.coef_, model.intercept_), bits(tags.coef_)])
        assert models == [models[0]] * len(jobs)
        found.append(models[0])
print(json.dumps(found))
"""


def test_one_seed_one_model(run_python: RunPython) -> None:
    """Over runs, numbers of threads, fresh processes, and numbers of threads of the linear algebra."""
    printed = [run_python(SEEDED, env={"OPENBLAS_NUM_THREADS": n, "OMP_NUM_THREADS": n}) for n in ("1", "2")]
    assert printed[0] == printed[1]
    model = MulticlassSVM(C=1.0, random_state=42).fit(*repeated_rows())
    here = hashlib.sha256(model.coef_.tobytes() + model.intercept_.tobytes()).hexdigest()
    assert here == json.loads(printed[0])[0][0]


# Installations that cannot be written to


INSTALLED = """
import warnings
warnings.simplefilter("error")
import numpy as np
from maxmargin import MulticlassSVM
model = MulticlassSVM().fit([[0.0, 1], [1, 0], [4, 5], [5, 4]], [0, 0, 1, 1])
print(model.predict([[0.0, 1], [1, 0], [4, 5], [5, 4]]).tolist())
"""


@pytest.mark.slow
@pytest.mark.parametrize("where", ["folder", "archive"])
@pytest.mark.parametrize("stdin", [False, True])
def test_a_read_only_installation_without_a_home(
    run_python: RunPython, tmp_path: Path, where: str, stdin: bool
) -> None:
    """Compiled in memory, nothing written. Files in the place of folders stop the superuser too."""
    site = tmp_path / "site"
    shutil.copytree(PACKAGE, site / "maxmargin", ignore=shutil.ignore_patterns("__pycache__"))
    path = site
    if where == "archive":
        path = Path(shutil.make_archive(str(tmp_path / "bundle"), "zip", site))
    else:
        for folder in [site / "maxmargin", *(site / "maxmargin").rglob("*")]:
            if folder.is_dir():
                (folder / "__pycache__").touch()
        for entry in sorted(site.rglob("*"), reverse=True):
            os.chmod(entry, 0o555 if entry.is_dir() else 0o444)
    before = {entry: entry.stat().st_mtime_ns for entry in tmp_path.rglob("*")}
    env = {"HOME": "/dev/null", "XDG_CACHE_HOME": None, "NUMBA_CACHE_DIR": None, "PYTHONDONTWRITEBYTECODE": "1"}
    assert run_python(INSTALLED, env=env, path=path, stdin=stdin) == "[0, 0, 1, 1]\n"
    assert {entry: entry.stat().st_mtime_ns for entry in tmp_path.rglob("*")} == before
