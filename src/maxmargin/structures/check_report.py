"""What a check of a structure found: a ledger to write into, a report to read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from ..errors import StructureError

__all__ = ["Abandoned", "CheckReport", "Finding", "Ledger", "differ", "shown"]


class Abandoned(Exception):
    """An example cannot be examined further; its fault is in the ledger."""


@dataclass(frozen=True)
class Finding:
    """Result of one check.

    Attributes
    ----------
    check : str
    result : {"ok", "fault", "warning", "not run"}
    n_examples, n_compared : int
        Examples looked at, and single comparisons made on them.
    note : str
        The message of the first fault, the warning, or why the check was not run; else what was compared with.
    """

    check: str
    result: str
    n_examples: int
    n_compared: int
    note: str = ""


@dataclass(frozen=True)
class CheckReport:
    """Everything that :func:`~maxmargin.check_structure` looked at; prints as a table.

    Attributes
    ----------
    structure : str
        Name of the class.
    kind : {"plain", "compiled"}
    n_examples : int
    findings : tuple of Finding
    """

    structure: str
    kind: str
    n_examples: int
    findings: tuple[Finding, ...]

    @property
    def faults(self) -> tuple[Finding, ...]:
        """Findings that are faults."""
        return tuple(found for found in self.findings if found.result == "fault")

    @property
    def ok(self) -> bool:
        """Whether no fault was found (warnings are none)."""
        return not self.faults

    def __str__(self) -> str:
        """The table, then the messages of faults and warnings."""
        verdict = "no fault found" if self.ok else f"{len(self.faults)} of {len(self.findings)} checks found a fault"
        width = max((len(found.check) for found in self.findings), default=5)
        lines = [
            f"{self.structure} ({self.kind} structure, {self.n_examples} examples): {verdict}",
            f"  {'check':{width}}  examples  compared  result",
        ]
        for found in self.findings:
            note = f" ({found.note})" if found.note and found.result in ("ok", "not run") else ""
            examples = found.n_examples or "-"
            lines.append(f"  {found.check:{width}}  {examples:>8}  {found.n_compared or '-':>8}  {found.result}{note}")
        lines += [f"{found.result}: {found.note}" for found in self.findings if found.result in ("fault", "warning")]
        return "\n".join(lines)


@dataclass
class _Tally:
    examples: set[int] = field(default_factory=set)
    compared: int = 0
    fault: str = ""
    warning: str = ""
    note: str = ""


class Ledger:
    """Collects what the checks of one structure compare and find.

    Parameters
    ----------
    name : str
        Class of the structure; stands first in every message.
    checks : sequence of str
        Names of the checks, in the order of the report.
    raise_errors : bool
        Raise at the first fault instead of going on.
    """

    def __init__(self, name: str, checks: Sequence[str], *, raise_errors: bool) -> None:
        self.name, self._raise = name, raise_errors
        self._tallies = {check: _Tally() for check in checks}

    @property
    def clean(self) -> bool:
        """Whether no fault was found so far."""
        return not any(tally.fault for tally in self._tallies.values())

    def passed(self, check: str, i: int | None, n: int = 1) -> None:
        """``n`` comparisons on example ``i`` (None: on none in particular) came out right."""
        tally = self._tallies[check]
        tally.compared += n
        if i is not None:
            tally.examples.add(i)

    def fault(self, check: str, i: int | None, text: str, cause: BaseException | None = None) -> None:
        """A fault: raised at once, or kept if it is the first of its check."""
        message = f"{self.name}: {text}" if i is None else f"{self.name}: example {i}: {text}"
        if self._raise:
            raise StructureError(message) from cause
        self.passed(check, i)
        tally = self._tallies[check]
        tally.fault = tally.fault or message

    def abandon(self, check: str, i: int | None, text: str, cause: BaseException | None = None) -> NoReturn:
        """A fault after which the example cannot be examined further."""
        self.fault(check, i, text, cause)
        raise Abandoned

    def warning(self, check: str, text: str) -> None:
        """Something that is no fault but worth a line."""
        self._tallies[check].warning = f"{self.name}: {text}"

    def remark(self, check: str, text: str) -> None:
        """The same, kept if it is the first of its check."""
        self._tallies[check].warning = self._tallies[check].warning or f"{self.name}: {text}"

    def note(self, check: str, text: str) -> None:
        """What a check compares with, or why it is not run."""
        self._tallies[check].note = text

    def report(self, kind: str, n_examples: int) -> CheckReport:
        """The report of what was written so far."""
        findings = []
        for check, tally in self._tallies.items():
            result = "fault" if tally.fault else "warning" if tally.warning else "ok" if tally.compared else "not run"
            note = tally.fault or tally.warning or tally.note
            findings.append(Finding(check, result, len(tally.examples), tally.compared, note))
        return CheckReport(self.name, kind, n_examples, tuple(findings))


def differ(a: float, b: float) -> bool:
    """Whether two scores or losses differ by more than the rounding of their sums."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a != b
    return abs(a - b) > 1e-8 * (1.0 + max(abs(a), abs(b)))


def shown(value: object, width: int = 60) -> str:
    """``repr`` in one short line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= width else text[: width - 3] + "..."
