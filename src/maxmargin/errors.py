"""Errors that a user meets, each a kind of a built-in error so that existing handlers keep working."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "DataError", "FileFormatError", "InseparableError", "StructureError", "ModelFileError", "MissingDependencyError",
    "RuledOutError",
]  # fmt: skip


class DataError(ValueError):
    """The data given cannot be learned from or predicted on; the message says where and what to do."""


class FileFormatError(DataError):
    """A file does not follow its format. ``path``, ``line`` (1-based) and ``token`` say where."""

    def __init__(self, problem: str, *, path: str, line: int | None = None, token: str | None = None) -> None:
        self.path, self.line, self.token, self.problem = path, line, token, problem
        where = path if line is None else f"{path}:{line}"
        shown = "" if token is None else f": {shorten(token)!r}"
        super().__init__(f"{where}: {problem}{shown}")


class InseparableError(DataError):
    """No hyperplane separates the classes, or no weights put all pairs in order.

    ``rows`` are the numbers of a few that show it, in rising order. Of rankings ``pairs`` are those that contradict
    each other, each as the rows of the better and of the worse one.
    """

    def __init__(self, problem: str, rows: Sequence[int] = (), pairs: Sequence[tuple[int, int]] = ()) -> None:
        self.rows, self.pairs = tuple(rows), tuple(pairs)
        super().__init__(problem)


class StructureError(TypeError):
    """A structure lacks what a solver needs, or two parts of it contradict each other."""


class ModelFileError(DataError):
    """A model file is damaged, of another kind, or written by a newer version."""


class RuledOutError(ValueError, AttributeError):
    """A method that the parameters rule out; also an AttributeError, so that ``hasattr`` says it is not there."""


class MissingDependencyError(ImportError):
    """An optional package is needed; the message names it and the extra that brings it."""


def shorten(token: str, width: int = 40) -> str:
    """The text, or its beginning and three dots where it is longer than ``width``."""
    return token if len(token) <= width else token[: width - 3] + "..."
