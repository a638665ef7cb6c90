"""When a run is to end: its limit of time, and Ctrl-C."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .._compiled import compiling_seconds

__all__ = ["Deadline", "OutOfTime", "clock"]


def clock() -> float:
    """Seconds as of ``time.perf_counter``, but for those in which code is compiled.

    A limit of time is one of solving: the first fit after an installation compiles for 3 to 25 seconds (of the plain
    machines and of structures, measured), and a limit of one second had ended in its first pass.
    """
    return time.perf_counter() - compiling_seconds()


class OutOfTime(Exception):
    """The deadline of a run has passed; the outer loop catches it and keeps the best model so far."""


@dataclass
class Deadline:
    """The moment at which a run is to end, looked at between the chunks of its passes.

    Attributes
    ----------
    at : float
        A time of :func:`clock`; infinite when there is no limit.
    interrupted : bool
        Whether Ctrl-C has been pressed.
    watched : bool
        Whether a run goes on.
    """

    at: float = math.inf
    interrupted: bool = False
    watched: bool = False

    @property
    def left(self) -> float:
        """Seconds until then, 0 once the moment has come."""
        return max(self.at - clock(), 0.0)

    def check(self) -> None:
        """Raise :class:`OutOfTime` once the moment has come, and KeyboardInterrupt after Ctrl-C."""
        if self.interrupted:
            raise KeyboardInterrupt
        if clock() >= self.at:
            raise OutOfTime

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Remember that Ctrl-C was pressed, for the time of a run.

        Python raises KeyboardInterrupt wherever it is; where that is inside the compiler library, which looks up the
        functions among the arguments of a kernel, the exception is lost (seen in every second attempt with tiny
        passes). So it is written down as well. A handler of the user's own is left alone, as are other threads, which
        never see the signal; the handler there was is back when the run ends. One of an earlier run, which an interrupt
        at the very end of it has left behind, is no user's own.
        """
        before = signal.getsignal(signal.SIGINT)
        run = getattr(before, "deadline", None)
        if threading.current_thread() is not threading.main_thread() or (
            before is not signal.default_int_handler and run is None
        ):
            yield
            return
        if run is not None and not run.watched:
            before = signal.default_int_handler

        def handler(number: int, frame: Any) -> None:
            self.interrupted = True
            raise KeyboardInterrupt

        vars(handler)["deadline"] = self
        self.watched = True
        signal.signal(signal.SIGINT, handler)
        try:
            yield
        finally:
            self.watched = False
            signal.signal(signal.SIGINT, before)
            self.interrupted = False
