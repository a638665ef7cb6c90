"""What the demonstration says while it works."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

__all__ = ["Console"]

_EVERY = 1.0  # seconds between two signs of life
_WIDTH = 54  # of the text of a step, so that results stand below each other


class Console:
    """Lines of text on a stream, and steps that show a dot for every second they take.

    Parameters
    ----------
    out : text stream
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def say(self, text: str = "") -> None:
        """Print a line, or several."""
        print(text, file=self._out, flush=True)

    @contextmanager
    def step(self, text: str) -> Iterator[list[str]]:
        """Print ``text``, then dots while the block runs, then what it put into the list, and its seconds."""
        print(f"  {text:<{_WIDTH}}", end="", file=self._out, flush=True)
        finished = threading.Event()
        dots = threading.Thread(target=self._dots, args=(finished,), daemon=True)
        start = time.perf_counter()
        dots.start()
        results: list[str] = []
        ending = "stopped"
        try:
            yield results
            ending = "  ".join([*results, f"({time.perf_counter() - start:.1f} s)"])
        finally:
            finished.set()
            dots.join()
            print(f" {ending}", file=self._out, flush=True)

    def _dots(self, finished: threading.Event) -> None:
        while not finished.wait(_EVERY):
            print(".", end="", file=self._out, flush=True)
