"""What a second thread gives: wall seconds of the parallel work with one thread and with two.

Gram products are divided by BLAS; kernel rows by threads of Python, as many as BLAS has; the decoder's are ``n_jobs``.
Each takes above a second with one thread (where it takes less, starting and ending together matters more).
Every measurement is a fresh process, the median of three calls; the machine must have two idle cores. What two cores
can do at best is printed beside it: two processes with one thread each, at once (virtual cores may be one real core).

``python benchmarks/threads.py [kernel_rows gram decoding]``
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from common import known, verdict

BAR = 1.6


def kernel_rows() -> Callable[[], Any]:
    """20,000 points of 50 features against each other."""
    import numpy as np

    from maxmargin.kernels import make_kernel

    X = np.random.default_rng(0).normal(size=(20_000, 50))
    kernel = make_kernel("rbf", X, gamma=0.02)
    beta = np.ones(len(X))
    return lambda: kernel.combined(X, X, beta)


def gram() -> Callable[[], Any]:
    """``X' D X`` of 200,000 rows and 600 features."""
    import numpy as np

    from maxmargin.solvers.linear.rows import Rows

    rows = Rows(np.random.default_rng(0).normal(size=(200_000, 600)))
    weights = np.ones(200_000)
    return lambda: rows.gram(weights)


def decoding() -> Callable[[], Any]:
    """Best tag sequences of 200,000 sentences of 20 words, 40 tags; reading the words is not in it."""
    import numpy as np

    from maxmargin import SequenceSVM

    rng = np.random.default_rng(0)
    words = [f"w{k}" for k in range(500)]
    X = [[[words[k]] for k in rng.integers(0, 500, 20)] for _ in range(200)]
    y = [[f"t{k}" for k in rng.integers(0, 40, 20)] for _ in range(200)]
    model = SequenceSVM(tol=0.9, n_jobs=int(os.environ["NUMBA_NUM_THREADS"])).fit(X, y)
    tokens = model._tokens(X * 1000)
    encoded = model._structure_.encode(tokens)
    return lambda: model._decode(model._structure_, encoded, tokens, model.coef_)


WORK = {"kernel_rows": kernel_rows, "gram": gram, "decoding": decoding}


def measured(name: str, threads: int, processes: int = 1) -> float:
    """Median wall seconds in fresh processes that run at once; the mean of them."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    running = [
        subprocess.Popen(
            [sys.executable, __file__, "measure", name],
            env={**os.environ, **dict.fromkeys(names, str(threads))},
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(processes)
    ]
    printed = [process.communicate()[0] for process in running]
    if any(process.returncode for process in running):
        sys.exit(f"{name}: a process failed")
    return statistics.mean(float(json.loads(text.strip().splitlines()[-1])) for text in printed)


def measure(name: str) -> float:
    call = WORK[name]()
    call()
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def main(names: list[str] | None = None) -> bool:
    print("A second thread (wall seconds)", flush=True)
    good = []
    for name in names or WORK:
        one, two = measured(name, 1), measured(name, 2)
        apart = measured(name, 1, processes=2)
        print(
            f"{name}: {one:.2f} s with one thread, {two:.2f} s with two; two processes that share nothing, at once: "
            f"{apart:.2f} s, so two cores are {2.0 * one / apart:.2f} of one here",
            flush=True,
        )
        good.append(verdict("one thread / two", one / two, BAR, at_most=False))
    return all(good)


if __name__ == "__main__":
    what = sys.argv[1:]
    if what and what[0] == "measure":
        known(what[1:], WORK)
        print(json.dumps(measure(what[1])))
    else:
        sys.exit(0 if main(known(what, WORK)) else 1)
