"""svmlight text: bytes read in a second, beside scikit-learn's reader in the same run; and out of core.

The large file is 200 MB of rows as texts give them, 20 to 159 entries of 200,000 features with four to eight decimals,
made with a fixed seed in a temporary folder. Bars: three times scikit-learn's rate of CPU time on one thread, on it and
on a9a; 200 MB in a second of the clock on two threads, with the same result; and a peak of memory that reading
with a limit of 20 MB raises by less than 36 MB.
"""

from __future__ import annotations

import gzip
import io
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import child, known, medians, need, verdict

_PARTS, _ROWS = 4, 38_000  # parts of 50 MB
_LIMIT = 20_000_000


def write_text_like(path: Path) -> None:
    import numpy as np

    rng = np.random.default_rng(0)
    sizes = rng.integers(20, 160, _ROWS)
    indices = (rng.random(sizes.sum()) ** 3 * 200_000).astype(np.int64) + 1
    decimals = rng.integers(4, 9, len(indices))
    entries = [f"{v:.{d}f}" for v, d in zip(rng.gamma(2.0, 0.05, len(indices)).tolist(), decimals.tolist())]
    lines, start = [], 0
    for label, size in zip(rng.integers(0, 20, _ROWS).tolist(), sizes.tolist()):
        part = slice(start, start + size)
        row = sorted(set(indices[part].tolist()))
        lines.append(f"{label} " + " ".join(f"{i}:{entry}" for i, entry in zip(row, entries[part])) + "\n")
        start += size
    path.write_text("".join(lines) * _PARTS)


def rates(path: str, runs: int) -> dict[str, Any]:
    """Megabytes in a second: of CPU time for one thread, of the clock too."""
    import numpy as np
    from sklearn.datasets import load_svmlight_file

    from maxmargin.data import read_svmlight

    def timed(read: Callable[[], Any]) -> tuple[Any, float, float]:
        wall, cpu = time.perf_counter(), time.process_time()
        result = read()
        return result, time.process_time() - cpu, time.perf_counter() - wall

    read_svmlight(io.BytesIO(b"1 1:1\n"))  # load the compiled code
    size = Path(path).stat().st_size / 1e6
    seconds: dict[str, list[float]] = {}
    for _ in range(runs):
        one, cpu, _ = timed(lambda: read_svmlight(path))
        two, _, wall = timed(lambda: read_svmlight(path, threads=2))
        same = all(np.array_equal(getattr(one.X, part), getattr(two.X, part)) for part in ("data", "indices", "indptr"))
        del two
        (X, y), other, _ = timed(lambda: load_svmlight_file(path))
        equal = np.array_equal(one.X.data, X.data) and np.array_equal(one.X.indices, X.indices)
        equal = equal and np.array_equal(one.y, y)
        del one, X, y
        for name, value in (("one", cpu), ("two", wall), ("other", other), ("same", same), ("equal", equal)):
            seconds.setdefault(name, []).append(value)
    out: dict[str, Any] = {name: size / statistics.median(seconds[name]) for name in ("one", "two", "other")}
    ratio = statistics.median(b / a for a, b in zip(seconds["one"], seconds["other"]))
    return {**out, "ratio": ratio, "same": all(seconds["same"]), "equal": all(seconds["equal"]), "size": size}


def mapped(path: str) -> dict[str, Any]:
    """What reading with a limit adds to the peak of memory, and its rate."""
    import scipy.sparse  # noqa: F401

    from maxmargin.data import read_svmlight

    def peak() -> float:
        text = Path("/proc/self/status").read_text()
        return int(text.split("VmHWM:")[1].split()[0]) / 1024

    read_svmlight(io.BytesIO(b"1 1:1\n"))
    before, began = peak(), time.process_time()
    data = read_svmlight(path, memory=_LIMIT)
    seconds = time.process_time() - began
    needed = (data.X.data.nbytes + data.X.indices.nbytes) / 2**20
    return {"rate": Path(path).stat().st_size / 1e6 / seconds, "added": peak() - before, "needed": needed}


def main(runs: int = 5) -> bool:
    print("svmlight text, MB/s (CPU time on one thread, clock on two, medians of the runs)", flush=True)
    good = True
    with tempfile.TemporaryDirectory() as folder:
        large, small = Path(folder, "text.svm"), Path(folder, "a9a")
        write_text_like(large)
        with gzip.open(need("a9a_adult", "a9a.gz")) as packed, small.open("wb") as plain:
            shutil.copyfileobj(packed, plain)
        for path, times in ((large, runs), (small, 4 * runs)):
            found = child(__file__, "rates", str(path), str(times))
            print(
                f"  {path.name}, {found['size']:.1f} MB: one thread {found['one']:.0f}, "
                f"two threads {found['two']:.0f}, scikit-learn {found['other']:.0f}",
                flush=True,
            )
            good &= verdict(f"{path.name}: times scikit-learn's rate", found["ratio"], 3.0, at_most=False)
            if path is large:
                good &= verdict("two threads: MB/s", found["two"], 200.0, at_most=False)
            good &= verdict(f"{path.name}: equal to scikit-learn's", float(found["equal"]), 1.0, at_most=False)
            good &= verdict(f"{path.name}: two threads equal one", float(found["same"]), 1.0, at_most=False)
        if Path("/proc/self/status").exists():
            found = medians([child(__file__, "mapped", str(large)) for _ in range(3)])
            print(f"  out of core: {found['rate']:.0f} MB/s for {found['needed']:.0f} MB of entries")
            good &= verdict("out of core: MB added to the peak, limit 20", found["added"], 36.0)
    return good


if __name__ == "__main__":
    what = sys.argv[1:] or ["main"]
    if what[0] == "main":
        sys.exit(0 if main() else 1)
    known(what[:1], ("main", "mapped", "rates"))
    print(json.dumps(mapped(what[1]) if what[0] == "mapped" else rates(what[1], int(what[2]))))
