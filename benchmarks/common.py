"""What the benchmarks share: the data folder, child processes that measure themselves, lines with a bar."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("MAXMARGIN_DATA", ROOT.parent / "shared" / "data"))
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


def need(*parts: str) -> Path:
    """A file of the data folder; leaves with a clear line when it is missing."""
    path = DATA.joinpath(*parts)
    if not path.exists():
        sys.exit(f"data file {path} is missing; set MAXMARGIN_DATA to the folder that holds the data sets")
    return path


def known(words: list[str], names: Iterable[str]) -> list[str]:
    """The words of the command line; leaves with a clear line when one of them is none of these names."""
    names = list(names)
    for word in words:
        if word not in names:
            there = f"known ones: {', '.join(names)}" if names else "it takes none"
            print(f"{Path(sys.argv[0]).name}: unknown name {word!r}; {there}", file=sys.stderr)
            sys.exit(2)
    return words


class Meter:
    """CPU seconds and memory of a part of this process: its peak, and by how much that is above what was there."""

    def __enter__(self) -> Meter:
        try:  # Linux: the peak starts anew
            Path("/proc/self/clear_refs").write_text("5")
            self._before = _memory_mb("VmRSS")
        except OSError:
            self._before = _memory_mb("VmHWM")
        self._began = time.process_time()
        return self

    def __exit__(self, *error: Any) -> None:
        self.seconds = time.process_time() - self._began
        self.peak_mb = _memory_mb("VmHWM")
        self.added_mb = max(self.peak_mb - self._before, 0.0)


def _memory_mb(field: str) -> float:
    """Resident memory now (``VmRSS``) or its peak (``VmHWM``); elsewhere than on Linux the peak of the process."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(float(line.split()[1]) / 1024 for line in lines if line.startswith(field))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def child(script: str, *arguments: str) -> dict[str, Any]:
    """Run one measurement of a benchmark file in a fresh single-threaded process; its last line is JSON."""
    done = subprocess.run(
        [sys.executable, script, *arguments],
        env={**os.environ, **ONE_THREAD},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:  # it has said why
        sys.exit(f"{Path(script).name} {' '.join(arguments)}: ended with {done.returncode}")
    out: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return out


def medians(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Median of every number over several runs."""
    return {
        key: statistics.median(run[key] for run in runs) for key in runs[0] if isinstance(runs[0][key], int | float)
    }


def verdict(text: str, value: float, bar: float, *, at_most: bool = True, form: str = "{:.3g}") -> bool:
    """Print one line with its bar; returns whether it is kept."""
    good = value <= bar if at_most else value >= bar
    sign = "<=" if at_most else ">="
    print(f"  {'ok  ' if good else 'MISS'} {text}: {form.format(value)} (bar {sign} {form.format(bar)})", flush=True)
    return good


def best_of(function: Callable[[], Any], runs: int = 3) -> float:
    """Median CPU seconds of a call."""
    times = []
    for _ in range(runs):
        began = time.process_time()
        function()
        times.append(time.process_time() - began)
    return statistics.median(times)
