"""How much memory a fit takes beyond its data, measured as resident memory of a fresh process."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")

MEASURE = """
import warnings
import numpy as np
import scipy.sparse as sp
from maxmargin import MulticlassSVM

warnings.simplefilter("ignore")

def status(name):
    with open("/proc/self/status") as lines:
        return 1024 * int(next(line for line in lines if line.startswith(name)).split()[1])

def growth(run):
    with open("/proc/self/clear_refs", "w") as peak:  # the peak starts anew
        peak.write("5")
    before = status("VmRSS")
    run()
    return status("VmHWM") - before

small = np.random.default_rng(0).normal(size=(30, 3))
for rows in (small, sp.csr_array(small)):  # what compiling and the first calls take is not counted
    MulticlassSVM().fit(rows, np.arange(30) % 3).predict(rows)
"""

ONE_HOT = """
rng = np.random.default_rng(0)
n, d = 20_000, 400
X = (rng.random((n, d), np.float32) < 0.05).astype(np.int8)
y = (X[:, :20].sum(1) > X[:, 20:40].sum(1)).astype(int)
rows = np.ones((n, d))  # the linear algebra library keeps buffers of its own
rows @ np.ones((d, 2)), rows.T @ np.ones((n, 2))
del rows
model = MulticlassSVM(max_passes=3, random_state=0)
taken = growth(lambda: model.fit(X, y))
limit = 1.3 * 8 * n * d
print(taken, limit)
assert taken < limit, f"{taken / 2**20:.0f} MB for int8, {limit / 2**20:.0f} allowed"
X = X.astype(np.float32)
taken = growth(lambda: model.fit(X, y))
limit = 1.3 * 4 * n * d + 40e6
assert taken < limit, f"{taken / 2**20:.0f} MB for float32, {limit / 2**20:.0f} allowed"
X = X.astype(np.float64)
taken = growth(lambda: model.predict(X))
assert taken < 0.5 * 8 * n * d, f"{taken / 2**20:.0f} MB for a prediction"
"""

MANY_WEIGHTS = """
rng = np.random.default_rng(0)
n, d, k = 2000, 200_000, 20
X = sp.random_array((n, d), density=2e-4, rng=rng, format="csr")
y = rng.integers(0, k, n)
weights = 8 * k * d
for solver in ("frank_wolfe", "n_slack", "one_slack", "averaged_perceptron"):
    model = MulticlassSVM(solver=solver, max_passes=4, random_state=0)
    taken = growth(lambda: model.fit(X, y))
    print(solver, taken / weights)
    assert taken < 10 * weights, f"{solver}: {taken / weights:.1f} times the weights"
    taken = growth(lambda: model.predict(X))
    assert taken < 0.5 * weights, f"{solver}: {taken / weights:.1f} times the weights for a prediction"
    del model
"""


@pytest.mark.parametrize("data", [ONE_HOT, MANY_WEIGHTS], ids=["one copy of the data", "a few vectors of weights"])
def test_memory_of_a_fit(run_python: Callable[..., str], data: str) -> None:
    run_python(MEASURE + data)
