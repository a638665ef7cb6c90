"""What the command line says on standard error, always in lines that begin with ``maxmargin:``."""

from __future__ import annotations

import io
import os
import re
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TextIO

__all__ = [
    *("InWords", "Listener", "UsageError", "Voice", "as_options", "complain", "in_words", "note_in_words", "silence"),
    *("TOO_LARGE", "counted", "size_in_words", "without_place"),
]

# Messages of the library speak of its parameters; here these are options. First what is said in other words,
_SPOKEN = (
    ("give zero_based=True where they count from zero", "train with --zero-based where they count from zero"),
    ("separator='\\t' lets cells hold spaces", "--separator tab lets cells hold spaces"),
    (" (labels='text' takes labels as they stand)", ""),
    ("a class of class_weight 0", "a label of --class-weight 0"),
    ("use another kernel, or SVMClassifier", "use another kernel, or give -C a number"),
    ("rescale the features, or use SVMClassifier", "rescale the features, or give -C a number"),
    ("or use a finite C", "or give -C a number"),
    ("sample_weight is zero for every", "the weight in the data is zero for every"),
    ("sample_weight is 0 everywhere", "the weights in the data are 0"),
    ("row has sample_weight 0", "row has the weight 0"),
    ("times the largest sample weight", "times the largest weight"),
    (" C or the weights", " -C or the weights (cost: of rows, @weight: of sequences, --class-weight)"),
    ("scaling them (StandardScaler)", "scaling them"),
    ("scaling them (MaxAbsScaler)", "scaling them"),
    ("fit again with warm_start=True to go on", "train again with --warm-start to go on"),
    ("set penalize_intercept=True", "give --intercept penalized"),
    ("needs penalize_intercept=True", "needs --intercept penalized"),
    ("scale y ", "scale the values "),
    ("y has values", "there are values"),
    ("y has no value", "there is no value"),
    ("y has one class", "there is one class"),
    ("weights of 0 (sample_weight", "weights of 0 (cost: of rows"),
    ("check y and qid", "check the grades and qid"),
)
# then names that can be nothing but parameters, and others where nothing else can be meant: data may speak of a C too.
_NAMES = re.compile(r"(?<![\w'./-])(?:max_passes|max_time|min_count|class_weight|multi_class)\b(?!\.\w|[/-])")
_PHRASES = tuple(
    (re.compile(pattern), option)
    for pattern, option in (
        (r"(?<![\w'./-])(gamma|degree|coef0|nu|epsilon)=(?=[-+.\d]|inf\b)", r"--\1 "),
        (r"\b(lower|raise|smaller|with) (tol|gamma|degree|coef0|nu|epsilon)\b", r"\1 --\2"),
        (r"(?<=\)) or degree \(", " or --degree ("),
        (r"\bthis kernel and nu\b", "this kernel and --nu"),
        (r"\(tol ", "(--tol "),
        (r"\b(lower|[Rr]aise|larger?|this|or a) C\b", r"\1 -C"),
        (r"\bC=(?=[-+.\d]|inf\b)", "-C "),
        (r"(?:^|(?<=: )|(?<=[Aa]s ))C (?=times |grows |is infinite)", "-C "),
        (r"\bn_samples=(?=\d)", ""),
        (r"make_pipeline\(.*\), see docs/kernels.md", "in Python (docs/kernels.md), or --kernel linear"),
        (r"give a smaller c, such as \w+\(c=[^)]*\), or ", ""),
        (r" \(run check_structure\)|(?:[,;:] )?\brun check_structure\b[^,;.]*", ""),
        (r"\bscale X ", "scale the features "),
        (r"\bX contains ", "the features contain "),
        (r"\bin y\b", "in the data"),
    )
)
# One or several of them: "solver='auto', 'newton' or 'bundle'".
_SOLVERS = re.compile(r"solver='\w+'(?:(?:, | or )'\w+')*")


class UsageError(Exception):
    """Arguments that are wrong or contradict each other."""


class Listener(io.TextIOBase):
    """Standard error that may be closed, full, or a pipe that nobody reads any more: the work goes on without it."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        if self._stream is not None:
            try:
                self._stream.write(text)
                self._stream.flush()
            except (OSError, ValueError):  # ValueError: the stream is closed
                silence(self._stream)
                self._stream = None
        return len(text)

    def isatty(self) -> bool:
        return self._stream is not None and self._stream.isatty()

    def fileno(self) -> int:
        return super().fileno() if self._stream is None else self._stream.fileno()


def silence(stream: TextIO) -> None:
    """Let all that is still written to a stream go nowhere, also what the interpreter flushes at its end."""
    with suppress(OSError, ValueError):  # where the stream is no file of the system
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


class InWords(Listener):
    """What an estimator shows on standard error, in terms of the options."""

    def write(self, text: str) -> int:
        super().write(as_options(text))
        return len(text)


class Voice:
    """Progress and notes for the user; ``quiet`` leaves the notes."""

    def __init__(self, quiet: bool) -> None:
        self.quiet = quiet
        self._spent: dict[str, float] = {}
        self._inside: list[str] = []
        self._explained = False

    def say(self, text: str) -> None:
        """A line of progress."""
        if not self.quiet:
            self.note(text)

    def note(self, text: str) -> None:
        """A line that matters even to those who want quiet."""
        complain(text, "")

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Measure a block, without those inside it; one that takes long is announced."""
        timer = threading.Timer(3.0, self._announce, [name])
        timer.daemon = True
        if name != "training":  # which speaks for itself
            timer.start()
        self._spent.setdefault(name, 0.0)
        self._inside.append(name)
        begin = time.perf_counter()
        try:
            yield
        finally:
            timer.cancel()
            seconds = time.perf_counter() - begin
            self._spent[self._inside.pop()] += seconds
            if self._inside:
                self._spent[self._inside[-1]] -= seconds

    def _announce(self, name: str) -> None:
        self.say(f"{name} ..." if self._explained else f"{name} (the first run after an installation takes longer) ...")
        self._explained = True

    def spent(self) -> str:
        """The phases so far and their times."""
        return ", ".join(f"{name} {seconds:.1f} s" for name, seconds in self._spent.items())


def complain(text: str, kind: str = "error: ") -> None:
    """One line on standard error, whatever the text holds."""
    line = " ".join(text.splitlines())
    print(f"maxmargin: {kind}{line}", file=sys.stderr, flush=True)


def in_words(error: BaseException) -> str:
    """What an exception means to someone who does not see the code."""
    if isinstance(error, OSError) and error.strerror:
        name = error.filename
        shown = name.decode(errors="replace") if isinstance(name, bytes) else name
        return error.strerror if shown is None else f"{shown or repr('')}: {error.strerror}"
    return as_options(str(error) or type(error).__name__)


def as_options(text: str) -> str:
    """A message of the library, which speaks of parameters, in terms of the options."""
    for ours, theirs in _SPOKEN:
        text = text.replace(ours, theirs)
    text = _NAMES.sub(lambda found: "--" + found[0].replace("_", "-"), text)
    for phrase, option in _PHRASES:
        text = phrase.sub(option, text)
    return _SOLVERS.sub(lambda found: found[0].replace("=", " ").replace("'", ""), text)


def note_in_words(note: str, settings: Mapping[str, Any]) -> str:
    """A note of an estimator: features have the numbers of the file that was read, rows count from one."""
    first = {"feature": 0 if settings.get("zero_based") else 1, "row": 1}

    def renumbered(found: re.Match[str]) -> str:
        return f"{found[1]} {int(found[2]) + first[found[1]]}"

    return as_options(re.sub(r"\b(feature|row) (\d+)", renumbered, note))


TOO_LARGE = "in size are too large to compute with"
"""What estimators say of features whose squares would overflow; the place among their rows comes behind it."""


def without_place(said: str) -> str:
    """That message without the place: the file has another."""
    return said.partition("; the first that is too large is in")[0]


def counted(count: int, one: str, several: str = "") -> str:
    """``1 row``, ``2 rows``; ``several`` is the plural where it is not ``one`` with an s."""
    return f"{count} {one if count == 1 else several or one + 's'}"


def size_in_words(size: int) -> str:
    """``3.7 MB`` for 3,691,092 bytes."""
    value, unit = float(size), "bytes"
    for larger in ("kB", "MB", "GB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{size} bytes" if unit == "bytes" else f"{value:.1f} {unit}"
