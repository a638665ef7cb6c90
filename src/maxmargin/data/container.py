"""A container for models: named arrays, lists of text and plain values in one file, read without trusting it.

The file is a zip archive that ``numpy.load`` opens too: ``header.json`` and members ``<name>.npy``, stored or deflated.
``docs/model_file.md`` describes it to the byte. Nothing in it is ever executed. Before anything large is read or
allocated, the names, sizes and array headers of all members are checked against each other and against the size of the
file; every member carries a checksum.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._version import __version__
from ..errors import ModelFileError
from .text import replacing

__all__ = ["Contents", "read_container", "write_container"]

FORMAT, VERSION = "maxmargin-model", 1
HEADER = "header.json"

_NAME = re.compile(r"[a-z][a-z0-9_]{0,99}", re.ASCII)
_ARRAY_HEADER = re.compile(
    rb"\{'descr': '([<|][biuf][1248])', 'fortran_order': False, "
    rb"'shape': \((|\d{1,18},|\d{1,18}(?:, \d{1,18}){1,7})\), \} *\n"
)
_MAGIC = b"\x93NUMPY\x01\x00"
_DTYPES = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8")
_MAX_MEMBERS = 1000
_SAMPLE = 1 << 18  # bytes that tell whether compression pays
_BLOCK = 1 << 20  # bytes read at a time

# What the contents of a file may take in memory: enough for any model written here, too little for a trap.
_ROOM, _ROOM_PER_BYTE = 1 << 28, 100
# What a text, a byte of it (a single character can make all of a text four bytes wide) and a byte of the header take as
# Python objects, generously.
_PER_TEXT, _PER_TEXT_BYTE, _PER_HEADER_BYTE = 64, 4, 32

_Path: TypeAlias = str | os.PathLike[str]
# What the zip reader, zlib and numpy say of bytes that make no sense.
_UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError),
    *(ValueError, OverflowError, NotImplementedError, RuntimeError),
)


@dataclass
class Contents:
    """What a container holds.

    Attributes
    ----------
    kind : str
        What the contents are.
    values : dict
        Anything that JSON can hold, without NaN and infinities.
    arrays : dict of arrays
        Of booleans, integers and floats of at most 64 bits, by name (small letters, digits, ``_``).
    texts : dict of lists of str
        By names that no array has.
    library : str
        Version of the library that wrote the file.
    room : float
        Bytes that may be made of the contents beside themselves, as a file of this size may hold no more.
    """

    kind: str
    values: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    texts: dict[str, list[str]]
    library: str = __version__
    room: float = field(default=math.inf, compare=False)


def write_container(path: _Path, contents: Contents, *, beside: int = 0) -> None:
    """Write a container; an existing file is replaced in one step when all is written.

    Arrays of floats that are mostly zeros are stored as the places and values of the others. Equal contents give
    equal files.

    Parameters
    ----------
    path : path
    contents : Contents
    beside : int
        Bytes that readers make of the contents beside themselves.

    Raises
    ------
    ValueError
        For a name or a type of array that the format does not know, or values that JSON cannot hold.
    ModelFileError
        When readers would refuse the file, as it takes far more memory than its size warrants; nothing is written.
    OSError
        If the file cannot be written.
    """
    packed = _packed(contents, shrink=True)
    try:
        _check_readable(packed, beside)
    except _Refused:  # readers would take it for a trap
        packed = _packed(contents, shrink=False)
        try:
            _check_readable(packed, beside)
        except _Refused as error:
            raise ModelFileError(f"{os.fsdecode(path)}: not written: readers would say: {error}") from None
    with replacing(path) as file:
        file.write(packed.getbuffer())


def _check_readable(packed: io.BytesIO, beside: int) -> None:
    with zipfile.ZipFile(packed) as archive:
        *_, room = _survey(archive, packed.getbuffer().nbytes)
    _check_room(beside, room)


def _packed(contents: Contents, *, shrink: bool) -> io.BytesIO:
    """The whole file; ``shrink`` allows compression and the storage of non-zeros alone."""
    sparse: dict[str, list[int]] = {}
    members: dict[str, NDArray[Any]] = {}
    for name, array in contents.arrays.items():
        array = _plain(name, array)
        nonzero = _nonzero(array) if shrink else None
        if nonzero is None:
            members[name] = array
        else:
            sparse[name] = list(array.shape)
            gaps = np.diff(nonzero, prepend=0)
            members[f"{name}.gaps"] = gaps.astype(np.min_scalar_type(int(gaps.max(initial=0))))
            members[f"{name}.values"] = array.ravel()[nonzero]
    for name, texts in contents.texts.items():
        # lone surrogates are no Unicode, but names of attributes may hold them
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
        members[f"{name}.utf8"] = np.frombuffer(b"".join(encoded), np.uint8)
        members[f"{name}.lengths"] = lengths.astype(np.min_scalar_type(int(lengths.max(initial=0))))
    names = [*contents.arrays, *contents.texts]
    if len({*names}) != len(names) or not all(map(_NAME.fullmatch, names)) or len(members) >= _MAX_MEMBERS:
        raise ValueError(f"names in a container are distinct and of small letters, digits and '_': {names}")
    header = {
        "format": FORMAT,
        "version": VERSION,
        "library": contents.library,
        "kind": contents.kind,
        "arrays": [name for name in contents.arrays if name not in sparse],
        "sparse": sparse,
        "texts": list(contents.texts),
        "values": contents.values,
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        text = json.dumps(header, allow_nan=False, separators=(",", ":")).encode()
        _add(archive, HEADER, b"", np.frombuffer(text, np.uint8), shrink)
        for name, array in members.items():
            array = array.astype(array.dtype.newbyteorder("<"), copy=False)
            head = io.BytesIO()
            np.lib.format.write_array_header_1_0(head, np.lib.format.header_data_from_array_1_0(array))
            _add(archive, f"{name}.npy", head.getvalue(), array, shrink)
    return packed


def _plain(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """A contiguous array of a type that the format knows."""
    array = np.asarray(array)
    if array.dtype.newbyteorder("<").str not in _DTYPES:
        raise ValueError(f"the array {name!r} holds {array.dtype}, not booleans or numbers of 64 bits at most")
    return np.ascontiguousarray(array) if array.ndim else array


def _nonzero(array: NDArray[Any]) -> NDArray[np.int64] | None:
    """Places that are not zero, if storing those alone saves half of the room; -0.0 is not zero."""
    if array.dtype.kind != "f" or array.size < 64:
        return None
    flat = array.ravel()
    found = flat.view(f"u{array.itemsize}") != 0
    return np.flatnonzero(found) if 4 * int(np.count_nonzero(found)) < array.size else None


def _add(archive: zipfile.ZipFile, name: str, head: bytes, array: NDArray[Any], shrink: bool) -> None:
    info = zipfile.ZipInfo(name)  # dated 1980, so that equal models are equal files
    info.create_system, info.external_attr = 3, 0o644 << 16
    data = array.reshape(-1).view(np.uint8).data if array.size else memoryview(b"")
    info.file_size = len(head) + len(data)
    middle = max(0, len(data) - _SAMPLE) // 2
    sample = data[middle : middle + _SAMPLE]
    if shrink and 10 * len(zlib.compress(sample)) < 9 * len(sample):
        info.compress_type = zipfile.ZIP_DEFLATED
    with archive.open(info, "w") as member:
        member.write(head)
        member.write(data)


# reading


class _Refused(Exception):
    """What is wrong with a file."""


@dataclass
class _Member:
    """Where an array stands: its archive member, type, shape and the bytes before its numbers."""

    info: zipfile.ZipInfo
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    skip: int

    @property
    def size(self) -> int:
        return math.prod(self.shape)


def read_container(path: _Path) -> Contents:
    """Read a container, whoever wrote it.

    Raises
    ------
    ModelFileError
        If the file is damaged, no container, written by a newer version, or would take far more memory than its own
        size warrants; one line that names the file.
    OSError
        If it cannot be opened.
    """
    shown = os.fsdecode(path)
    with open(path, "rb") as file:
        try:
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            if file.read(4) != b"PK\x03\x04":
                raise _Refused("not a model file" if size else "not a model file: it is empty")
            return _read(file, size)
        except _Refused as error:
            raise ModelFileError(f"{shown}: {error}") from None
        except _UNREADABLE as error:
            raise ModelFileError(f"{shown}: damaged or cut off ({str(error) or type(error).__name__})") from None
        except (MemoryError, RecursionError):
            raise ModelFileError(f"{shown}: too large for the memory of this machine, or damaged") from None


def _read(file: IO[bytes], size: int) -> Contents:
    with zipfile.ZipFile(file) as archive:
        header, members, room = _survey(archive, size)
        arrays = {name: _array(archive, members[name]) for name in header["arrays"]}
        for name, shape in header["sparse"].items():
            gaps, values = (_array(archive, members[f"{name}.{part}"]) for part in ("gaps", "values"))
            arrays[name] = _dense(name, tuple(shape), gaps, values)
        texts = {
            name: _texts(name, *(_array(archive, members[f"{name}.{part}"]) for part in ("utf8", "lengths")))
            for name in header["texts"]
        }
    return Contents(header["kind"], header["values"], arrays, texts, header["library"], room)


def _survey(archive: zipfile.ZipFile, size: int) -> tuple[dict[str, Any], dict[str, _Member], int]:
    """The header and the places of all arrays, known to be consistent and of bearable size; the room that is left."""
    infos = {info.filename: info for info in archive.infolist()}
    if HEADER not in infos:
        raise _Refused("not a model file")
    if len(infos) != len(archive.infolist()) or len(infos) > _MAX_MEMBERS:
        raise _Refused("damaged: members of one name, or too many")
    for info in infos.values():
        if info.flag_bits & 0x61 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise _Refused(f"member {info.filename!r} is encrypted or compressed in a way that model files are not")
    if sum(info.compress_size for info in infos.values()) > size:
        raise _Refused("damaged: its members are larger than the file")
    room = _ROOM + _ROOM_PER_BYTE * size
    needed = sum(info.file_size for info in infos.values()) + _PER_HEADER_BYTE * infos[HEADER].file_size
    _check_room(needed, room)
    header = _header(archive, infos[HEADER])
    members = {name.removesuffix(".npy"): _member(archive, infos[name]) for name in infos if name != HEADER}
    expected = {*header["arrays"]}
    for name, shape in header["sparse"].items():
        expected |= {f"{name}.gaps", f"{name}.values"}
        needed += 8 * math.prod(shape)
    for name in header["texts"]:
        expected |= {f"{name}.utf8", f"{name}.lengths"}
    if expected != members.keys():
        name = min(expected ^ members.keys())
        raise _Refused(f"damaged: the part {name!r} is {'missing' if name in expected else 'not in its header'}")
    for name in header["texts"]:
        needed += _PER_TEXT * members[f"{name}.lengths"].size + _PER_TEXT_BYTE * members[f"{name}.utf8"].size
    _check_room(needed, room)
    return header, members, room - needed


def _check_room(needed: float, room: float) -> None:
    if needed > room:
        raise _Refused(f"refused: its contents would take {needed:.3g} bytes, more than a file of its size may hold")


def _header(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> dict[str, Any]:
    with archive.open(info) as member:
        text = member.read()

    def not_json(name: str) -> Any:
        raise _Refused(f"damaged: its header holds {name}, which is not JSON")

    try:
        header = json.loads(text.decode("utf-8"), parse_constant=not_json)
    except ValueError:
        raise _Refused("damaged: its header is not JSON") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise _Refused("not a model file")
    version, library = header.get("version"), header.get("library")
    if type(version) is not int or type(library) is not str:
        raise _Refused("damaged: its header names no version")
    if version > VERSION:
        raise _Refused(
            f"written by a newer version (maxmargin {library:.20}, format {version}; this is maxmargin {__version__}, "
            f"format {VERSION}): update maxmargin to read it"
        )
    names = [*_listed(header, "arrays", list), *_listed(header, "sparse", dict), *_listed(header, "texts", list)]
    shapes = list(header["sparse"].values())
    good = all(isinstance(name, str) and _NAME.fullmatch(name) for name in names) and len({*names}) == len(names)
    good &= all(isinstance(shape, list) and all(type(n) is int and n >= 0 for n in shape) for shape in shapes)
    if version < 1 or not good or type(header.get("kind")) is not str or type(header.get("values")) is not dict:
        raise _Refused("damaged: its header lacks something or contradicts itself")
    return header


def _listed(header: dict[str, Any], name: str, kind: type) -> Iterator[Any]:
    found = header.get(name)
    if not isinstance(found, kind):
        raise _Refused(f"damaged: its header lacks {name!r}")
    return iter(found)  # type: ignore[call-overload, no-any-return]


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> _Member:
    """The header of an array, in the only form that is written."""
    with archive.open(info) as member:
        start = member.read(10)
        length = int.from_bytes(start[8:10], "little")
        text = member.read(length)
    found = _ARRAY_HEADER.fullmatch(text)
    if not info.filename.endswith(".npy") or start[:8] != _MAGIC or found is None or found[1].decode() not in _DTYPES:
        raise _Refused(f"damaged: the member {info.filename!r} is no array of numbers")
    shape = tuple(int(n) for n in re.findall(rb"\d+", found[2]))
    out = _Member(info, np.dtype(found[1].decode()), shape, 10 + length)
    if out.skip + out.size * out.dtype.itemsize != info.file_size:
        raise _Refused(
            f"damaged: the member {info.filename!r} has {info.file_size} bytes, but shape {shape} of {out.dtype}"
        )
    return out


def _array(archive: zipfile.ZipFile, member: _Member) -> NDArray[Any]:
    out = np.empty(member.shape, member.dtype)
    with archive.open(member.info) as source:
        source.read(member.skip)
        view = out.reshape(-1).view(np.uint8).data if out.size else memoryview(b"")
        at = 0
        while at < len(view):
            if not (piece := source.read(min(len(view) - at, _BLOCK))):
                raise EOFError
            view[at : at + len(piece)] = piece
            at += len(piece)
        source.read(1)  # at the end the checksum is compared
    if member.dtype.kind == "b" and out.size and int(out.view(np.uint8).max()) > 1:
        raise _Refused(f"damaged: the member {member.info.filename!r} holds what is neither true nor false")
    return out if sys.byteorder == "little" else out.astype(out.dtype.newbyteorder("="))


def _dense(name: str, shape: tuple[int, ...], gaps: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """The array that has ``values`` after ``gaps`` (differences of places) and zeros elsewhere."""
    size = math.prod(shape)
    good = gaps.ndim == values.ndim == 1 and len(gaps) == len(values)
    good = good and gaps.dtype.kind == "u" and values.dtype.kind == "f"
    if good and len(gaps):  # added up as floats: sums of hostile integers wrap around
        good = float(gaps.sum(dtype=np.float64)) < size and bool(gaps[1:].all())
    if not good:
        raise _Refused(f"damaged: the places of {name!r} are not within shape {shape}")
    out = np.zeros(size, values.dtype)
    out[np.cumsum(gaps, dtype=np.int64)] = values
    return out.reshape(shape)


def _texts(name: str, utf8: NDArray[Any], lengths: NDArray[Any]) -> list[str]:
    good = utf8.ndim == lengths.ndim == 1 and utf8.dtype == np.uint8 and lengths.dtype.kind == "u"
    if not good or float(lengths.sum(dtype=np.float64)) != len(utf8):
        raise _Refused(f"damaged: the texts of {name!r} do not fill their buffer")
    data = utf8.tobytes()
    ends: list[int] = np.cumsum(lengths, dtype=np.int64).tolist()
    places = zip([0, *ends], ends)
    if data.isascii():
        text = data.decode("ascii")
        return [text[start:end] for start, end in places]
    return [data[start:end].decode("utf-8", "surrogatepass") for start, end in places]
