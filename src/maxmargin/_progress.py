"""What a long fit shows: one line for each pass, a notice while code is compiled, the certificate at the end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _compiled
from .problem import Certificate
from .solvers.loop import Record

__all__ = ["Progress", "notice_when_compiling"]

Reals = NDArray[np.float64]


@contextmanager
def notice_when_compiling(stream: Any = None, after: float = 1.0) -> Iterator[None]:
    """Say on ``stream`` that code is being compiled once that has taken longer than ``after`` seconds of the block."""
    out = sys.stderr if stream is None else stream
    with _compiled.watch_compiler(
        after, lambda: print("compiling (once after an installation or update; about 10 s) ...", file=out, flush=True)
    ):
        yield


class Progress:
    """One line for each pass: primal, dual, gap, time. On a terminal the line is rewritten in place."""

    def __init__(self, verbose: int, user: Callable[[Record, Reals], Any] | None, name: str) -> None:
        self.verbose, self.user, self.name = int(verbose), user, name
        self.out = sys.stderr
        self._notice = notice_when_compiling(self.out) if self.verbose else None
        self._shown = 0.0
        self._open_line = False
        self._header = False

    @property
    def callback(self) -> Callable[[Record, Reals], Any] | None:
        """What the solver calls after each pass."""
        return self._after_pass if self.verbose or self.user is not None else None

    def __enter__(self) -> Progress:
        if self._notice is not None:
            self._notice.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._hush()
        if self._open_line:
            print(file=self.out, flush=True)
            self._open_line = False

    def _hush(self) -> None:
        if self._notice is not None:
            self._notice.__exit__(None, None, None)
            self._notice = None

    def _after_pass(self, record: Record, w: Reals) -> Any:
        if self.verbose:
            self._show(record)
        if self.user is None:
            return None
        own = w.copy()  # theirs to keep: the solver goes on changing its own
        own.flags.writeable = False
        return self.user(record, own)

    def _show(self, record: Record) -> None:
        self._hush()
        if not self._header:
            print(f"{'pass':>5} {'primal':>13} {'dual':>13} {'rel. gap':>10} {'seconds':>8}", file=self.out)
            self._header = True
        tilde = " " if record.exact else "~"
        primal = f"{record.primal:13.6g}" if np.isfinite(record.primal) else f"{'-':>13}"
        dual = f"{record.dual:13.6g}" if record.dual > -np.inf else f"{'-':>13}"
        seen = np.isfinite(record.primal) and record.dual > -np.inf
        gap = f"{record.relative_gap:9.2e}" if seen else f"{'-':>9}"
        line = f"{record.passes:5d} {tilde}{primal[1:]} {dual} {tilde}{gap} {record.seconds:8.1f}"
        if self.out.isatty() and self.verbose == 1:
            print("\r" + line, end="", file=self.out, flush=True)
            self._open_line = True
        elif self.verbose > 1 or record.exact or record.seconds >= self._shown:
            print(line, file=self.out, flush=True)
            self._shown = max(1.0, 1.3 * record.seconds)

    def close(self, certificate: Certificate) -> None:
        """The certificate at the end."""
        if self.verbose:
            print(f"{self.name} ({certificate.solver}): {certificate}", file=self.out, flush=True)
            if not certificate.status.ok:
                print(certificate.advice, file=self.out, flush=True)
