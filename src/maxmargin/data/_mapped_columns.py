"""Columns of numbers that grow: in memory, or in temporary files once they need more memory than they may have."""

from __future__ import annotations

import io
import mmap
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["Columns"]

_PIECE = 1 << 17  # values handled at a time


class Columns:
    """Arrays of one dimension, by name, that are written at their end.

    They are in memory while all of them need no more than ``memory`` bytes, and in temporary files from then on, to be
    read through memory maps at the end. The files have no name as soon as they are open (on Windows: they go when they
    are closed), so that nothing of them stays, however the process ends.

    Parameters
    ----------
    memory : int or None
        Bytes; None is no limit.
    folder : path or None
        Where temporary files go; None is the folder of :mod:`tempfile`.
    """

    def __init__(self, memory: int | None = None, folder: str | os.PathLike[str] | None = None) -> None:
        self._memory, self._used = memory, 0
        self._folder = tempfile.gettempdir() if folder is None else os.fspath(folder)
        self._in_files = False
        self._streams: dict[str, IO[bytes]] = {}
        self._types: dict[str, np.dtype[Any]] = {}

    def append(self, name: str, values: NDArray[Any]) -> None:
        """Write values at the end of a column, which takes a wider type where they need it.

        Raises
        ------
        OSError
            If a temporary file cannot be written; it names their folder.
        """
        if name not in self._streams:
            self._begin(name, values.dtype)
        self.widen(name, values.dtype)
        values = values.astype(self._types[name], copy=False)
        if not self._in_files and self._memory is not None and self._used + values.nbytes > self._memory:
            self._move_to_files()
        self._used += values.nbytes
        self._write(self._streams[name], values)

    def fill(self, name: str, value: float, count: int) -> None:
        """Write a number ``count`` times at the end of a column."""
        for start in range(0, count, _PIECE):
            self.append(name, np.full(min(_PIECE, count - start), value))

    def widen(self, name: str, dtype: DTypeLike) -> None:
        """Give a column a type that has room for values of another type too."""
        wide = np.result_type(self._types[name], dtype)
        if wide != self._types[name]:
            self.rewrite(name, lambda values: values.astype(wide))

    def rewrite(self, name: str, function: Callable[[NDArray[Any]], NDArray[Any]]) -> None:
        """Put ``function(values)`` in the place of the values, piece by piece."""
        new = f"new {name}"
        self._begin(new, function(np.empty(0, self._types[name])).dtype)
        for values in _pieces(self._streams[name], self._types[name]):
            self.append(new, function(values))
        with self._streams[name] as old:
            self._used -= old.seek(0, os.SEEK_END)
        self._streams[name], self._types[name] = self._streams.pop(new), self._types.pop(new)

    def take(self, name: str) -> NDArray[Any]:
        """The column, which is given up: an array in memory, or a read-only one over a memory map."""
        stream, dtype = self._streams.pop(name), self._types.pop(name)
        if not stream.seek(0, os.SEEK_END):
            stream.close()
            return np.empty(0, dtype)
        if isinstance(stream, io.BytesIO):
            return np.frombuffer(stream.getbuffer(), dtype)
        with stream:
            return np.frombuffer(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ), dtype)

    def close(self) -> None:
        """Give up all columns that were not taken."""
        for stream in self._streams.values():
            stream.close()

    def _begin(self, name: str, dtype: np.dtype[Any]) -> None:
        self._types[name] = dtype
        self._streams[name] = self._temporary_file() if self._in_files else io.BytesIO()

    def _move_to_files(self) -> None:
        self._in_files = True
        for name, stream in self._streams.items():
            assert isinstance(stream, io.BytesIO)
            self._streams[name] = self._temporary_file()
            self._write(self._streams[name], np.frombuffer(stream.getbuffer(), np.uint8) if stream.tell() else None)

    def _temporary_file(self) -> IO[bytes]:
        with self._named():
            return tempfile.TemporaryFile(dir=self._folder, buffering=0)

    def _write(self, stream: IO[bytes], values: NDArray[Any] | None) -> None:
        if values is None or not values.size:
            return
        left = np.ascontiguousarray(values).view(np.uint8).data
        with self._named():
            while left:  # a file without buffer may take a part
                left = left[stream.write(left) :]

    @contextmanager
    def _named(self) -> Iterator[None]:
        """What went wrong with a temporary file is said of their folder; their own names mean nothing."""
        try:
            yield
        except OSError as error:
            what = f"no temporary file for rows that need more memory than they may have: {error.strerror}; make room"
            raise OSError(error.errno, f"{what} or choose another folder", self._folder) from None


def _pieces(stream: IO[bytes], dtype: np.dtype[Any]) -> Iterator[NDArray[Any]]:
    """The values of a column from its beginning."""
    if isinstance(stream, io.BytesIO):
        step = _PIECE * dtype.itemsize
        stream.seek(0)
        while piece := stream.read(step):
            yield np.frombuffer(piece, dtype)
    else:
        stream.seek(0)
        while len(values := np.fromfile(stream, dtype, _PIECE)):
            yield values
