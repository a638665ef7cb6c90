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

__all__ = ["Deadline", "OutOfTime"]


class OutOfTime(Exception):
    """The deadline of a run has passed; the outer loop catches it and keeps the best model so far."""


@dataclass
class Deadline:
    """The moment at which a run is to end, looked at between the chunks of its passes.

    Attributes
    ----------
    at : float
        A time of ``time.perf_counter``; infinite when there is no limit.
    interrupted : bool
        Whether Ctrl-C has been pressed.
    """

    at: float = math.inf
    interrupted: bool = False

    def check(self) -> None:
        """Raise :class:`OutOfTime` once the moment has come, and KeyboardInterrupt after Ctrl-C."""
        if self.interrupted:
            raise KeyboardInterrupt
        if time.perf_counter() >= self.at:
            raise OutOfTime

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Remember that Ctrl-C was pressed, for the time of a run.

        Python raises KeyboardInterrupt wherever it is; where that is inside the compiler library, which looks up the
        functions among the arguments of a kernel, the exception is lost (seen in every second attempt with tiny
        passes). So it is written down as well. A handler of the user's own is left alone, as are other threads, which
        never see the signal; the handler there was is back when the run ends.
        """
        if (
            threading.current_thread() is not threading.main_thread()
            or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        ):
            yield
            return

        def handler(number: int, frame: Any) -> None:
            self.interrupted = True
            raise KeyboardInterrupt

        signal.signal(signal.SIGINT, handler)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self.interrupted = False
