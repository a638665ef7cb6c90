"""Start-up: import, help, cold and warm compilation of everything that training on a sequence file needs.

Bars: ``maxmargin --help`` 0.3 s, ``import maxmargin`` 0.2 s, cold compilation 15 s, warm start of the compiled code
1 s.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from common import ONE_THREAD, known, verdict


def wall(command: list[str], runs: int = 5, **environment: str) -> float:
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        subprocess.run(command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL, check=True)
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def compile_seconds() -> None:
    """Time of a tiny fit and prediction less that of the same again: the rest is compilation, or loading."""
    from maxmargin import SequenceSVM

    X, y = [[["a"], ["b"]], [["b"], ["a"], ["a"]]], [["A", "B"], ["B", "A", "A"]]

    def job() -> float:
        wall, cpu = time.perf_counter(), time.process_time()
        SequenceSVM(random_state=0).fit(X, y).predict(X)
        return time.perf_counter() - wall if "wall" in sys.argv else time.process_time() - cpu

    import maxmargin.solvers.oracle  # noqa: F401  (importing Numba is not compilation)

    first = job()
    print(json.dumps({"seconds": first - job()}))


def compiled(cache: str) -> float:
    done = subprocess.run(
        [sys.executable, __file__, "compile"],
        env={**os.environ, **ONE_THREAD, "NUMBA_CACHE_DIR": cache},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return float(json.loads(done.stdout.strip().splitlines()[-1])["seconds"])


def main(runs: int = 3) -> bool:
    print("Start-up (medians; compilation in CPU seconds)", flush=True)
    bare = wall([sys.executable, "-c", "pass"])
    imported = wall([sys.executable, "-c", "import maxmargin"]) - bare
    shown = wall([sys.executable, "-m", "maxmargin", "--help"])
    cold, warm = [], []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as cache:
            cold.append(compiled(cache))
            warm.append(compiled(cache))
    return all(
        [
            verdict("seconds for --help", shown, 0.3),
            verdict("seconds for import maxmargin", imported, 0.2),
            verdict("seconds of cold compilation", statistics.median(cold), 15),
            verdict("seconds of warm loading", statistics.median(warm), 1),
        ]
    )


if __name__ == "__main__":
    known(sys.argv[1:], ("compile", "wall"))
    if "compile" in sys.argv:
        compile_seconds()
    else:
        sys.exit(0 if main() else 1)
