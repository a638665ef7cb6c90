"""CoNLL-U among column files: ten cells parted by tabs, and lines that are no words.

The first cell numbers the words of a sentence from 1. Between them stand comments (``# text = ...``), one line for the
text that several words share (``3-4 zum``, before words 3 and 4), and empty nodes (``8.1``, after word 8), which belong
to no tree. Only words are tokens of a sequence.
"""

from __future__ import annotations

import re

from .text import Lines, Source

__all__ = ["Beginning", "Words", "begins_as_conllu"]

_BLANK = " \t\r"
_WIDTH = 10
_NUMBER = re.compile(r"(0|[1-9][0-9]*)(?:([-.])([1-9][0-9]*))?")


class Words:
    """Which rows of one sentence are words; their numbers, those of ranges and of empty nodes must be in order."""

    def __init__(self) -> None:
        self.last = 0  # number of the last word
        self._node = 0  # of the last empty node behind it
        self._reach = 0  # where the last range ends

    def take(self, cells: list[str]) -> bool:
        """Whether the next row is a word.

        Raises
        ------
        ValueError
            When it cannot be the next row: says why.
        """
        if len(cells) != _WIDTH:
            raise ValueError(f"{len(cells)} columns where CoNLL-U has {_WIDTH}")
        found = _NUMBER.fullmatch(cells[0])
        if found is None:
            raise ValueError("a line of CoNLL-U begins with the number of a word, as in 3, 3-4 or 3.1")
        number, after = int(found[1]), self.last + 1
        if found[2] == "-":
            if number != after or int(found[3]) <= number or self._reach >= after:
                raise ValueError(f"a range of words that does not begin with the next one, {after}")
            self._reach = int(found[3])
            return False
        if found[2] == ".":
            if number != self.last or int(found[3]) != self._node + 1:
                raise ValueError(f"an empty node where {self.last}.{self._node + 1} is the next")
            self._node += 1
            return False
        if number != after:
            raise ValueError(f"word {number} where word {after} is the next")
        self.last, self._node = number, 0
        return True

    def end(self) -> None:
        """See that no range reaches beyond the sentence, and that there is a word.

        Raises
        ------
        ValueError
            Says which.
        """
        if self._reach > self.last:
            raise ValueError(f"the sentence ends with word {self.last}, within a range up to {self._reach}")
        if not self.last:
            raise ValueError("a sentence without words")


class Beginning:
    """Tells from the first lines of a file, up to the end of its first sentence, whether it is CoNLL-U."""

    def __init__(self) -> None:
        self._words = Words()
        self._rows = 0
        self._tab = False  # in a comment, which may then be a row

    def take(self, line: str) -> bool | None:
        """The answer, once a line gives it."""
        if not line.strip(_BLANK):
            return self.end() if self._rows else False if self._tab else None
        if line.startswith("#"):
            self._tab |= "\t" in line
            return False if self._rows else None
        try:
            self._words.take(line.split("\t"))
        except ValueError:
            return False
        self._rows += 1
        return None

    def end(self) -> bool:
        """The answer where the file ends."""
        try:
            self._words.end()
        except ValueError:
            return False
        return True


def begins_as_conllu(source: Source) -> bool:
    """Whether the first lines of a source are those of CoNLL-U."""
    beginning = Beginning()
    for line in Lines(source):
        if (found := beginning.take(line)) is not None:
            return found
    return beginning.end()
