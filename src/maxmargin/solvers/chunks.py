"""How many examples at a time: calls of compiled code last a third of a second at most, alone or in threads."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .deadline import Deadline

__all__ = ["Pace", "chunks", "in_threads"]

Ints = NDArray[np.int64]
_T = TypeVar("_T")
_FIRST_CHUNK = 64
_CHUNK_SECONDS = 0.3


@dataclass
class Pace:
    """How many at a time: what passes of the same work learn from one another, for the next to begin with."""

    size: int = _FIRST_CHUNK
    most: int = 1_000_000


def chunks(order: Ints, deadline: Deadline | None = None, pace: Pace | None = None) -> Iterator[Ints]:
    """Runs of ``order`` that each take about a third of a second, so that Ctrl-C and progress are served.

    Raises
    ------
    OutOfTime
        Between two runs, when the deadline has passed.
    """
    at, pace = 0, pace or Pace()
    while at < len(order):
        if at and deadline is not None:
            deadline.check()
        begin, size = time.perf_counter(), min(pace.size, len(order) - at)
        yield order[at : at + size]
        at += size
        seconds = max(time.perf_counter() - begin, 1e-6)
        fits = int(min(max(size * min(_CHUNK_SECONDS / seconds, 8.0), 1), pace.most))
        pace.size = fits if size == pace.size else max(fits, pace.size)  # a short rest says little


def in_threads(
    run: Callable[[int, int], _T], n: int, n_jobs: int, most: int, deadline: Deadline | None = None
) -> Iterator[_T]:
    """``run(lo, hi)`` over consecutive chunks in ``n_jobs`` threads; results in order, whatever their number.

    Raises
    ------
    OutOfTime
        Between two chunks, when the deadline has passed.
    """
    if n_jobs == 1:
        for part in chunks(np.arange(n), deadline, Pace(min(_FIRST_CHUNK, most), most)):
            yield run(int(part[0]), int(part[-1]) + 1)
        return
    size = min(max(1, -(-n // (8 * n_jobs))), most)
    with ThreadPoolExecutor(n_jobs) as pool:
        pending = [pool.submit(run, lo, min(lo + size, n)) for lo in range(0, n, size)]
        try:
            for k, job in enumerate(pending):
                if k and deadline is not None:
                    deadline.check()
                yield job.result()
        finally:
            for job in pending:
                job.cancel()
