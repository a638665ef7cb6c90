"""Chunks of examples: all of them, in order, with limits kept and few results waiting."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from maxmargin.solvers.chunks import Pace, chunks, in_threads
from maxmargin.solvers.deadline import Deadline, OutOfTime, clock


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 1000, 4999])
def test_all_examples_in_order(n: int, n_jobs: int) -> None:
    for most in (1, 10, 100_000):
        if n > 100 and most == 1:
            continue
        found = list(in_threads(lambda lo, hi: (lo, hi), n, n_jobs, most))
        assert [lo for lo, _ in found] == [0, *(hi for _, hi in found[:-1])][: len(found)]
        assert (found[-1][1] if found else 0) == n
        assert all(0 < hi - lo <= most for lo, hi in found)


def test_a_chunk_takes_about_a_third_of_a_second() -> None:
    pace = Pace()
    pace.learn(64, 0.001)
    assert pace.size == 512
    pace.learn(64, 0.1)  # of an earlier size: says little
    assert pace.size == 512
    pace.learn(512, 0.6)
    assert pace.size == 256
    pace.learn(256, 100.0)
    assert pace.size == 1
    assert [len(part) for part in chunks(np.arange(5), pace=Pace(2))] == [2, 3]


def test_chunks_of_a_multiple() -> None:
    for size in range(1, 9):
        lengths = [len(part) for part in chunks(np.arange(101), pace=Pace(size, most=7, multiple=2))]
        assert sum(lengths) == 101
        assert not any(length % 2 for length in lengths[:-1])
        assert max(lengths) <= 8
    pace = Pace(65, multiple=2)
    pace.learn(64, 100.0)  # as many as there are at a time
    assert pace.size == 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_slow_examples_keep_the_limit_of_time(n_jobs: int) -> None:
    done = []

    def run(lo: int, hi: int) -> int:
        time.sleep(0.005 * (hi - lo))
        done.append(hi - lo)
        return hi

    deadline = Deadline(at=clock() + 0.5)
    with pytest.raises(OutOfTime):
        for _ in in_threads(run, 4000, n_jobs, 100_000, deadline):
            pass
    assert 0 < sum(done) < 1000  # all of them would take 20 seconds


def test_few_results_wait() -> None:
    waiting, most, lock = 0, 0, threading.Lock()

    def run(lo: int, hi: int) -> int:
        nonlocal waiting, most
        with lock:
            waiting += 1
            most = max(most, waiting)
        return hi

    for _ in in_threads(run, 500, 2, 5):
        with lock:
            waiting -= 1
        time.sleep(0.0005)
    assert most <= 2 * 2 + 1


def test_an_error_in_a_thread_is_raised_and_ends_the_work() -> None:
    seen = []

    def run(lo: int, hi: int) -> int:
        seen.append(lo)
        if lo >= 20:
            raise ValueError("here")
        return hi

    with pytest.raises(ValueError, match="here"):
        list(in_threads(run, 1000, 2, 10))
    assert len(seen) < 12
