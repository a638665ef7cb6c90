"""How many examples at a time: calls of compiled code last a third of a second at most, alone or in threads."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .._threads import in_order
from .deadline import Deadline

__all__ = ["Pace", "chunks", "in_threads"]

Ints = NDArray[np.int64]
_T = TypeVar("_T")
_FIRST_CHUNK = 64
_SMALLEST = 8  # of the last chunks for threads
_CHUNK_SECONDS = 0.3


@dataclass
class Pace:
    """How many at a time: what passes of the same work learn from one another, for the next to begin with.

    All but the last of a pass are a ``multiple``.
    """

    size: int = _FIRST_CHUNK
    most: int = 1_000_000
    multiple: int = 1

    def learn(self, size: int, seconds: float) -> None:
        """A chunk of that size took so long."""
        fits = int(min(max(size * min(_CHUNK_SECONDS / max(seconds, 1e-6), 8.0), 1), self.most))
        self.size = fits if size > self.size - self.multiple else max(fits, self.size)  # a short rest says little


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
        fits = max(pace.size - pace.size % pace.multiple, pace.multiple)
        begin, size = time.perf_counter(), min(fits, len(order) - at)
        yield order[at : at + size]
        at += size
        pace.learn(size, time.perf_counter() - begin)


def in_threads(
    run: Callable[[int, int], _T], n: int, n_jobs: int, most: int, deadline: Deadline | None = None
) -> Iterator[_T]:
    """``run(lo, hi)`` over consecutive chunks in ``n_jobs`` threads; results in order, whatever their number.

    Each chunk takes about a third of a second, and two for each thread are at work or wait: so limits are kept, and
    results that nobody has taken yet are few.

    Raises
    ------
    OutOfTime
        Between two chunks, when the deadline has passed.
    """
    pace = Pace(min(_FIRST_CHUNK, most), most)
    # one chunk in any case: clocks and threads take longer than a short sentence
    if 0 < n <= min(pace.size, _SMALLEST):
        yield run(0, n)
        return
    if n_jobs == 1:
        for part in chunks(np.arange(n), deadline, pace):
            yield run(int(part[0]), int(part[-1]) + 1)
        return

    def parts() -> Iterator[tuple[int, int]]:
        at = 0
        while at < n:
            # towards the end they become smaller, so that all threads end together
            size = min(pace.size, max(_SMALLEST, (n - at) // (4 * n_jobs)))
            yield at, min(at + size, n)
            at += size

    def timed(part: tuple[int, int]) -> tuple[_T, int, int, float]:
        begin = time.perf_counter()
        return run(*part), *part, time.perf_counter() - begin

    for result, lo, hi, seconds in in_order(timed, parts(), n_jobs):
        pace.learn(hi - lo, seconds)
        yield result
        if deadline is not None and hi < n:
            deadline.check()
