"""A callback that ends fits."""

from __future__ import annotations

from typing import Any


class Ends:
    """A callback that ends a fit in call ``at`` and never again: by Ctrl-C, or by its answer."""

    def __init__(self, at: int, *, interrupt: bool) -> None:
        self.at, self.interrupt, self.calls = at, interrupt, 0

    def __call__(self, record: Any, w: Any) -> bool:
        self.calls += 1
        if self.calls == self.at and self.interrupt:
            raise KeyboardInterrupt
        return self.calls == self.at
