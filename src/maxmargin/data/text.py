"""Text in, text out: how every reader opens its source and every writer its target.

A source is a path, ``"-"`` (standard input) or an open file, binary or text. Gzip data are recognised by their first
bytes, whatever the name. Text is UTF-8; a byte-order mark and Windows line ends are tolerated. A carriage return within
a line is refused: in old Macintosh files it ends lines, and a file would be one line of nonsense.
A target is a path, ``"-"`` (standard output) or an open file. A path is replaced in one step when everything is
written, so a failure leaves the old file, or none, and nothing else; a name that ends in ``.gz`` is compressed.

A file that cannot be opened, read or written raises what Python raises (``FileNotFoundError``, ``IsADirectoryError``,
``PermissionError``, ...), always with its name; what is wrong inside a file is a
:class:`~maxmargin.errors.FileFormatError`.
"""

from __future__ import annotations

import errno
import gzip
import io
import math
import os
import re
import secrets
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from numbers import Integral
from typing import IO, Any, TypeAlias, cast

from ..errors import DataError, FileFormatError

__all__ = [
    "LONE_RETURN",
    "Lines",
    "Source",
    "Target",
    "format_number",
    "label_text",
    "parse_number",
    "read_blocks",
    "replacing",
    "source_name",
    "standard",
    "try_replacing",
    "writable_line",
    "writing",
]

Source: TypeAlias = str | os.PathLike[str] | IO[bytes] | IO[str]
Target: TypeAlias = str | os.PathLike[str] | IO[bytes] | IO[str]

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
LONE_RETURN = "a carriage return within the line; lines end with LF or CR LF: convert the file, as tr '\\r' '\\n' does"
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


class Lines:
    """The lines of a text source, without their ends, and the place reached for error messages.

    Iterating opens the source, reads it as it goes and closes what it opened.

    Attributes
    ----------
    path : str
        What messages call the source.
    number : int
        Number of the line given last, from 1.
    """

    def __init__(self, source: Source) -> None:
        self.path = source_name(source)
        self.number = 0
        self._source = source

    def __iter__(self) -> Iterator[str]:
        with _reading(self._source) as stream:
            for self.number, raw in enumerate(stream, start=1):
                if self.number == 1:
                    raw = raw.removeprefix(_BYTE_ORDER_MARK)
                try:
                    line = raw.decode("utf-8")
                except UnicodeDecodeError as error:
                    shown = raw[error.start : error.start + 8].hex(" ")
                    raise self.error("not UTF-8 text; convert the file to UTF-8", f"bytes {shown}") from None
                line = line.rstrip("\r\n")
                if "\r" in line:
                    raise self.error(LONE_RETURN, line)
                yield line

    def error(self, problem: str, token: str | None = None, *, line: int | None = None) -> FileFormatError:
        """The error to raise for ``problem`` in the line given last, or in ``line``."""
        return FileFormatError(problem, path=self.path, line=line or self.number or None, token=token)


def read_blocks(source: Source, size: int) -> Iterator[bytes]:
    """Whole lines of a source, as blocks of about ``size`` bytes; only the last may lack its line end."""
    with _reading(source) as stream:
        pieces = [stream.read(size).removeprefix(_BYTE_ORDER_MARK)]
        while data := stream.read(size):
            cut = data.rfind(b"\n") + 1
            if cut:
                yield b"".join((*pieces, data[:cut]))
                pieces = [data[cut:]]
            else:
                pieces.append(data)
        if block := b"".join(pieces):
            yield block


def source_name(source: Source) -> str:
    """What error messages call a source."""
    if isinstance(source, str | os.PathLike):
        path = os.fsdecode(source)
        return "<stdin>" if path == "-" else path
    if not hasattr(source, "read"):
        raise TypeError(f"a source is a path, '-' or an open file, not {type(source).__name__}")
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "<text>"


def parse_number(token: str) -> float:
    """The finite decimal number that ``token`` writes; anything else is a ValueError that says why."""
    if not _DECIMAL.fullmatch(token):
        raise ValueError("not a finite number" if token.strip("+-").lower() in _NOT_FINITE else "not a number")
    value = float(token)
    if math.isinf(value):
        raise ValueError("too large for a number")
    return value


_NOT_FINITE = ("nan", "inf", "infinity")


def format_number(value: float) -> str:
    """The shortest text that reads back as the very same number."""
    return repr(value).removesuffix(".0")


def label_text(label: Any, where: str, what: str = "label") -> str:
    """A label as it is written: text as it is, and a whole number, as estimators give them back too, in digits.

    Raises
    ------
    DataError
        For anything else; ``where`` and ``what`` name it.
    """
    if isinstance(label, str):
        return label
    if isinstance(label, Integral) and not isinstance(label, bool):
        return str(int(label))
    raise DataError(f"{where}: the {what} {label!r:.40} is neither text nor a whole number")


def writable_line(line: str, *, first: bool) -> bool:
    """Whether ``line`` is read back as it is; ``first`` says that it begins its file."""
    return "\n" not in line and "\r" not in line and not (first and line.startswith("\ufeff"))


@contextmanager
def writing(target: Target) -> Iterator[IO[str]]:
    """A text stream to ``target``; a path comes into being, or is replaced, only if the block ends well.

    Raises
    ------
    DataError
        If the text written cannot be encoded (a lone surrogate).
    OSError
        If the target cannot be written.
    """
    try:
        if not isinstance(target, str | os.PathLike):
            if not hasattr(target, "write"):
                raise TypeError(f"a target is a path, '-' or an open file, not {type(target).__name__}")
            with _as_text(target) as stream:
                yield stream
        elif os.fsdecode(target) == "-":
            out = standard(sys.stdout, "<stdout>")
            with _named("<stdout>"):
                out.flush()
                with _as_text(getattr(out, "buffer", out)) as stream:
                    yield stream
                out.flush()
        else:
            with replacing(target) as file:
                if not os.fsdecode(target).endswith(".gz"):
                    with _as_text(file) as stream:
                        yield stream
                else:  # without a time stamp and a name, so that equal data are equal files
                    packed = gzip.GzipFile("", "wb", fileobj=file, mtime=0)
                    with packed, _as_text(cast(IO[bytes], packed)) as stream:
                        yield stream
    except UnicodeEncodeError as error:
        shown = error.object[max(0, error.start - 10) : error.end + 10]
        raise DataError(f"text that is not valid Unicode cannot be written: {shown!r}") from None


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A binary file that takes the place of ``path`` in one step when the block ends well.

    Until then it is a hidden file in the same folder, which is removed on any failure.
    Permissions of a replaced file are kept, links are followed; a device or a pipe is written directly.
    """
    wanted = os.fsdecode(path)
    real, mode = _to_replace(wanted)
    if _is_special(mode):
        with _named(wanted), open(real, "wb") as special:
            yield special
        return
    file, temporary = _beside(real, wanted)
    try:
        with _named(wanted), file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            os.chmod(temporary, stat.S_IMODE(mode))
        os.replace(temporary, real)
    except BaseException:
        os.unlink(temporary)
        raise


def try_replacing(path: str | os.PathLike[str]) -> None:
    """What :func:`replacing` does before its block, and undone at once; nothing is tried on a device or a pipe.

    Permissions and the kinds of files do not tell all: a name may be too long, or a file system take no new files.

    Raises
    ------
    OSError
        Where :func:`replacing` would fail.
    """
    wanted = os.fsdecode(path)
    real, mode = _to_replace(wanted)
    if not _is_special(mode):
        file, temporary = _beside(real, wanted)
        file.close()
        os.unlink(temporary)


def _to_replace(wanted: str) -> tuple[str, int | None]:
    """Where a file will be written, and the mode of what is there; an OSError where it cannot be replaced."""
    real = os.path.realpath(wanted)
    folder = os.path.dirname(real)
    mode: int | None = None
    with suppress(FileNotFoundError), _named_as(wanted):
        mode = os.stat(wanted).st_mode
    if _is_special(mode) and not os.path.exists(real):  # a pipe behind /dev/stdout has no other name
        real = wanted
    if mode is not None and stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), wanted)
    if mode is None and not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, "No such folder", folder)
    if mode is not None and not os.access(real, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), wanted)
    return real, mode


def _is_special(mode: int | None) -> bool:
    return mode is not None and not stat.S_ISREG(mode)


def _beside(real: str, wanted: str) -> tuple[IO[bytes], str]:
    """A new hidden file in the folder of another, and its name; its errors speak of the file that was ``wanted``."""
    temporary = os.path.join(os.path.dirname(real), f".{secrets.token_hex(8)}.tmp")
    with _named_as(wanted):
        return open(temporary, "xb"), temporary


@contextmanager
def _named_as(name: str) -> Iterator[None]:
    """Errors speak of the file that the user named, whatever they came of."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, name) from None


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Errors of reading and writing, which Python raises without a name, get one."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, name) from None


def standard(stream: IO[str] | None, name: str) -> IO[str]:
    """A stream of :mod:`sys`, which is None where the process was started without it: that is an OSError."""
    if stream is None:
        raise OSError(errno.EBADF, "is closed", name)
    return stream


class _Bytes(io.RawIOBase):
    """``head``, then all that ``read`` gives, as a raw stream; text is encoded. The stream behind stays open."""

    def __init__(self, read: Callable[[int], bytes | str], head: bytes = b"") -> None:
        self._read, self._left = read, head

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if not self._left:
            data = self._read(len(buffer)) or b""
            # a lone surrogate passes here and is refused with its line as invalid UTF-8
            self._left = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
        count = min(len(buffer), len(self._left))
        buffer[:count], self._left = self._left[:count], self._left[count:]
        return count


@contextmanager
def _reading(source: Source) -> Iterator[IO[bytes]]:
    """The bytes of a source, unpacked; closes what it opened."""
    name = source_name(source)
    opened: IO[bytes] | None = None
    if not isinstance(source, str | os.PathLike):
        stream: IO[bytes] | IO[str] = source
    elif name == "<stdin>":
        stdin = standard(sys.stdin, name)
        stream = getattr(stdin, "buffer", stdin)
    else:
        if os.path.isdir(name):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
        stream = opened = open(name, "rb")  # noqa: SIM115  (closed below)
    try:
        with _named(name):
            raw = io.BufferedReader(_Bytes(stream.read))
            head = raw.read(len(_GZIP))
            plain = _Bytes(raw.read, head)
            if head == _GZIP:
                yield cast(IO[bytes], gzip.GzipFile(fileobj=plain, mode="rb"))
            elif not head and name.endswith(".gz"):
                raise EOFError
            else:
                yield io.BufferedReader(plain, 1 << 16)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise FileFormatError("damaged or cut off gzip data", path=name) from None
    finally:
        if opened is not None:
            opened.close()


@contextmanager
def _as_text(stream: IO[bytes] | IO[str]) -> Iterator[IO[str]]:
    """A binary stream as UTF-8 text with ``\\n`` line ends; a text stream as it is. The stream stays open."""
    if hasattr(stream, "encoding"):
        yield stream  # type: ignore[misc]
        return
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="\n")  # type: ignore[type-var]
    try:
        yield text
        text.flush()
    finally:
        text.detach()
