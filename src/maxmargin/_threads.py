"""Work in pieces by several threads of Python, for code that leaves the interpreter's lock while it runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

__all__ = ["as_many_as_blas", "in_order"]

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def as_many_as_blas() -> int:
    """How many threads the libraries of linear algebra may use now: what the user, or a pool of processes, gave them.

    The number is read and never set, since it is the whole process's.
    """
    return max((library.num_threads for library in _libraries().lib_controllers), default=1)


@cache
def _libraries() -> ThreadpoolController:
    from threadpoolctl import ThreadpoolController  # looks for libraries: only when there is work for threads

    return ThreadpoolController().select(user_api="blas")


def in_order(run: Callable[[_Item], _Result], items: Iterable[_Item], threads: int) -> Iterator[_Result]:
    """``run(item)`` of every item; the results come in the order of the items, whatever the number of threads.

    Two items for each thread are at work or wait, so results that nobody has taken yet are few; the next item is asked
    for when there is room for it. What waits is not begun after an exception.
    """
    if threads == 1:
        yield from map(run, items)
        return
    pending: deque[Future[_Result]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for item in items:
                pending.append(pool.submit(run, item))
                if len(pending) == 2 * threads:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for job in pending:
                job.cancel()
