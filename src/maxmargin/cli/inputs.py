"""Files named on the command line: checked early, read as often as needed, their formats recognised."""

from __future__ import annotations

import io
import os
import re
import stat
import sys
import tempfile
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import IO, Any

from ..data.conllu import begins_as_conllu
from ..data.text import Lines, source_name, standard, try_replacing
from ..errors import FileFormatError
from .messages import UsageError, Voice
from .table import FORMATS, TASKS, task_of

__all__ = ["Input", "check_format", "check_output", "looks_like_trees", "not_temporary", "recognise"]

_HEAD = 200  # lines that are looked at
_KEPT = 1 << 26


class _Again(io.RawIOBase):
    """What was kept of a pipe, from its beginning; messages call it by the name it came from."""

    def __init__(self, kept: IO[bytes], name: str) -> None:
        self._kept, self.name, self._at = kept, name, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        self._kept.seek(self._at)
        data = self._kept.read(len(buffer))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


class _Text(io.TextIOBase):
    """Pieces of text as a file, under the name of another."""

    def __init__(self, pieces: Iterator[str], name: str) -> None:
        self._pieces, self.name = pieces, name

    def read(self, size: int | None = -1, /) -> str:
        """A piece, which may be longer than asked for."""
        return next(self._pieces, "")


class Input:
    """A file, or standard input.

    Parameters
    ----------
    path : str
        ``-`` is standard input.
    memory : int, optional
        Bytes that the rows of an svmlight file may take in memory; they go to temporary files where they need more.
        What can be read only once is kept, and goes there too (by default where it is larger than 64 MiB).

    Attributes
    ----------
    path, memory
        As given.
    name : str
        What messages call it.

    Raises
    ------
    OSError
        At once if it cannot be opened.
    """

    def __init__(self, path: str, memory: int | None = None) -> None:
        self.path, self.memory, self.name = path, memory, source_name(path)
        self._kept: IO[bytes] | None = None
        self._head: list[str] | None = None
        self._conllu: bool | None = None
        self._once = path == "-"  # what can be read only once is kept
        if not self._once:
            self._once = stat.S_ISFIFO(os.stat(path).st_mode)
        if not self._once:
            open(path, "rb").close()  # a folder is an error here

    def open(self) -> str | IO[bytes]:
        """A source for the readers of :mod:`maxmargin.data`."""
        if not self._once:
            return self.path
        if self._kept is None:
            if self.path != "-":
                with open(self.path, "rb") as pipe:
                    self._kept = self._read_once(pipe)
            else:
                stdin = standard(sys.stdin, self.name)
                self._kept = self._read_once(getattr(stdin, "buffer", stdin))
            weakref.finalize(self, self._kept.close)
        return _Again(self._kept, self.name)  # type: ignore[return-value]

    def _read_once(self, stream: IO[Any]) -> IO[bytes]:
        limit = _KEPT if self.memory is None else self.memory
        kept = tempfile.SpooledTemporaryFile(max(limit, 1))  # noqa: SIM115  (for as long as the input is there)
        while data := stream.read(1 << 16):
            try:
                kept.write(data if isinstance(data, bytes) else data.encode())
            except OSError as error:
                what = f"no room for a temporary copy of {self.name}: {error.strerror}"
                raise OSError(error.errno, what, tempfile.gettempdir()) from None
        return kept

    def head(self) -> list[str]:
        """The first lines that are not blank."""
        if self._head is None:
            self._head = list(islice((line for line in Lines(self.open()) if line.strip()), _HEAD))
        return self._head

    def is_conllu(self) -> bool:
        """Whether the first lines are those of CoNLL-U."""
        if self._conllu is None:
            self._conllu = begins_as_conllu(self.open())
        return self._conllu

    def rows(self) -> list[str]:
        """The first lines that say what a row looks like: no marks of documents, and no comments of CoNLL-U."""
        lines = self.head()
        if self.is_conllu():
            return [line for line in lines if line.partition("\t")[0].isdigit()]
        return [line for line in lines if not line.startswith("-DOCSTART-")] or lines

    def relabelled(self, add: Callable[[str], str]) -> IO[str]:
        """The text with ``add`` applied to every line that is not blank, to give labels to what has none."""
        lines = (f"{add(line) if line.strip() else ''}\n" for line in Lines(self.open()))
        return _Text(iter(lambda: "".join(islice(lines, 1000)), ""), self.name)  # type: ignore[return-value]


def not_temporary() -> str:
    """What to say where temporary files go elsewhere than the user has asked for; nothing where they do not.

    :mod:`tempfile` takes the next folder, without a word, where one cannot be written to.
    """
    for name in ("TMPDIR", "TEMP", "TMP"):
        if wanted := os.getenv(name):
            found = tempfile.gettempdir()
            if os.path.abspath(wanted) == os.path.abspath(found):
                return ""
            return f"{name}={wanted} is no folder that can be written to: temporary files go to {found}"
    return ""


def check_output(path: str, inputs: Iterable[str | None], option: str = "-o") -> None:
    """Refuse, before any work, an output that could not be written or that would replace an input.

    Raises
    ------
    OSError, UsageError
    """
    if path == "-":
        return
    if not path:
        raise UsageError(f"{option} {path!r} names no file")
    real = os.path.realpath(path)
    if os.path.exists(path) and not os.path.exists(real):  # a pipe behind /dev/stdout has no other name
        real = path
    folder = os.path.dirname(real)
    if os.path.isdir(real):
        raise UsageError(f"{path}: is a folder; {option} names a file")
    if path.endswith(os.sep):  # without it such a file would be written, and then not be found
        raise UsageError(f"{path}: is the name of a folder; {option} names a file")
    if not os.path.isdir(folder):
        raise UsageError(f"{path}: no such folder: {folder}")
    exists = os.path.exists(real)
    regular = not exists or os.path.isfile(real)
    if (exists and not os.access(real, os.W_OK)) or (regular and not os.access(folder, os.W_OK | os.X_OK)):
        raise UsageError(f"{path}: no permission to write it")
    for other in inputs:
        if other is not None and other != "-" and exists and os.path.samefile(other, real):
            raise UsageError(f"{option} {path} would replace an input: name another file")
    try_replacing(path)


def recognise(source: Input, format: str | None, task: str | None) -> tuple[str, str, str]:
    """The format of labelled data, their task, and how the format became known.

    Parameters
    ----------
    source : Input
    format, task : str or None
        What was said on the command line.

    Raises
    ------
    UsageError
        If the two contradict each other.
    FileFormatError
        If there are no data, or their format cannot be told.
    """
    if format is not None:
        if task is not None and format not in TASKS[task].formats:
            raise UsageError(
                f"--format {format} cannot go with --task {task}, which reads {_either(TASKS[task].formats)}"
            )
        return format, task or task_of(format, _uncommented(source.head())), "as asked"
    lines = source.head()
    if not lines:
        raise FileFormatError("no data in this file", path=source.name)
    allowed = TASKS[task].formats if task else FORMATS
    rows = source.rows()
    fitting = ["columns"] if source.is_conllu() else _fitting(rows, 0.5)
    if "crfsuite" not in fitting and 2 * sum("\t" in row for row in rows) >= len(rows):
        fitting.append("crfsuite")  # its attributes may look like anything, if only the name says so
    named = _by_name(source.path)
    # anything fits columns: a name that speaks of another format outweighs that, so that a fault is told as one of it
    vague = fitting == ["columns"] and not source.path.lower().removesuffix(".gz").endswith(".dat")
    if named in allowed and (named in fitting or not fitting or vague):
        found, how = named, "by its name"
    elif not fitting:
        problem = f"cannot tell the format; name it: --format {_either(allowed)}"
        raise FileFormatError(problem, path=source.name, line=1, token=lines[0])
    elif fitting[0] not in allowed:
        raise UsageError(
            f"{source.name}: looks like {fitting[0]}, but --task {task} reads {_either(allowed)} (--format)"
        )
    else:
        found, how = fitting[0], "by its first lines"
    return found, task or task_of(found, _uncommented(lines)), how


def check_format(source: Input, format: str, like: str, voice: Voice) -> None:
    """Refuse data that are of another format than they are read as, or say so where that is not certain.

    Parameters
    ----------
    source : Input
    format : str
        What they are read as, though nobody has named it: that of the data of ``like``.
    like : str
        Name of a model or a file.
    voice : Voice

    Raises
    ------
    UsageError
        If the name of the file and its first lines speak of one other format.
    """
    rows = source.rows()
    if not rows or format == "svmlight":  # whose reader takes nothing else
        return
    order = list(_SHARE)
    fits = format in _fitting(rows, 0.5)
    others = [name for name in _fitting(rows, 0.9) if name != format]
    others = [name for name in others if not fits or order.index(name) < order.index(format)]
    named = _by_name(source.path)
    if named in others:
        raise UsageError(
            f"{source.name} looks like {named}, but is read as {format}, as for {like} (--format {format} insists)"
        )
    if format == "brackets" or any("\t" in row for row in rows):  # sentences of one length; attributes of any kind
        others = [name for name in others if name != "columns"]
    if others:
        voice.note(f"{source.name} looks like {others[0]}, but is read as {format}, as for {like}")


def _uncommented(lines: Sequence[str]) -> list[str]:
    return [line for line in lines if not line.lstrip().startswith("#")]


def _fitting(rows: Sequence[str], least: float) -> list[str]:
    """The formats that at least this share of the lines fits, the most particular first."""
    return [name for name, share in _SHARE.items() if share(rows) >= least]


def _either(names: Sequence[str]) -> str:
    return " or ".join(names)


_ENDINGS = {
    "svmlight": ("svm", "svmlight", "libsvm", "dat"),
    "columns": ("conll", "conllu", "conllx", "columns", "iob", "iob2", "bio", "bioes", "tsv"),
    "crfsuite": ("crfsuite", "crf"),
    "brackets": ("mrg", "ptb", "trees", "tree", "brackets", "parse"),
}


def _by_name(path: str) -> str:
    """The format that a file's name speaks of, or nothing."""
    ending = path.lower().removesuffix(".gz").rpartition(".")[2]
    return next((name for name, endings in _ENDINGS.items() if ending in endings), "")


_SVMLIGHT = re.compile(r"\s*[^\s:#]\S*(?:\s+qid:\d+)?(?:\s+cost:\S+)?(?:\s+\d+:\S+)*\s*(?:#.*)?", re.ASCII)
_ATTRIBUTE = re.compile(r".+=.*|.*[^:\\]:[-+.\deE]+", re.DOTALL)


def _svmlight(lines: Sequence[str]) -> float:
    rows = _uncommented(lines)
    found = sum(_SVMLIGHT.fullmatch(row) is not None for row in rows)
    return found / len(rows) if any(re.search(r"\s\d+:", row) for row in rows) else 0.0


def _columns(lines: Sequence[str]) -> float:
    width, count = Counter(len(line.split()) for line in lines).most_common(1)[0]
    return count / len(lines) if width > 1 else 0.0


def _crfsuite(lines: Sequence[str]) -> float:
    rows = [line.split("\t")[1:] for line in lines]
    attributes = sum(bool(row) and all(_ATTRIBUTE.fullmatch(field) for field in row if field) for row in rows)
    widths = Counter(map(len, rows))
    constant = widths.most_common(1)[0][1] > 0.9 * len(rows)
    return attributes / len(rows) if constant else sum(map(bool, rows)) / len(rows)


def _brackets(lines: Sequence[str]) -> float:
    return float(looks_like_trees(lines))


# What share of the lines fits a format; the first that fits half is taken, so the least particular comes last.
_SHARE = {"svmlight": _svmlight, "brackets": _brackets, "crfsuite": _crfsuite, "columns": _columns}

_TOKEN = re.compile(r"[()]|[^()\s]+")
_LONE = re.compile(r"\(\s+[^\s(]|\(\s*\(\s+[^\s(]")


_TAGGED = re.compile(r"\(\s*[^()\s]+\s+[^()\s]+\s*\)(?=\s*(?:[()]|$))")
_NESTED = re.compile(r"\(\s*[^()\s]*\s*\(")
_DEEP = re.compile(r"\(\s*[^()\s]*\s*\(\s*[^()\s]*\s*\(")
_LABEL = re.compile(r"\(\s*[^()\s]+")
_EMPTY = re.compile(r"\(\s*[^()\s]*\s*\)")


def looks_like_trees(lines: Sequence[str]) -> bool:
    """Whether lines begin with trees in brackets, whole or damaged, rather than with sentences.

    Whole ones have no text outside, and every bracket stands at its label.
    """
    text = "\n".join(lines)
    if not text.lstrip().startswith("(") or _LONE.search(text):
        return _like_damaged_trees(text)
    depth = 0
    for token in _TOKEN.finditer(text):
        if token[0] == "(":
            depth += 1
        elif depth == 0:
            return _like_treebank(text[: token.start()]) or _like_damaged_trees(text)
        elif token[0] == ")":
            depth -= 1
    return True


def _like_treebank(trees: str) -> bool:
    """Whether every word of these trees stands alone under its tag, as brackets in sentences hardly ever do."""
    tags = len(_TAGGED.findall(trees))
    sure = (tags > 1 and _NESTED.search(trees)) or (tags == 1 and _DEEP.search(trees))
    return bool(sure) and not _EMPTY.search(trees) and _n_stray(trees) == 0


def _like_damaged_trees(text: str) -> bool:
    """Whether most words stand alone under a tag, and some brackets in others."""
    return _NESTED.search(text) is not None and len(_TAGGED.findall(text)) > _n_stray(text)


def _n_stray(text: str) -> int:
    """Number of words that are neither labels nor alone under one."""
    return len(re.findall(r"[^()\s]+", text)) - len(_LABEL.findall(text)) - len(_TAGGED.findall(text))
