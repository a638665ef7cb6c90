"""Where training labels break the transitions that a model forbids: file, line and labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ..data.attributes import token_lines
from ..data.columns import row_lines
from ..data.spans import forbidden_transitions
from ..errors import DataError, FileFormatError

if TYPE_CHECKING:
    from .inputs import Input
    from .tasks import Examples

__all__ = ["forbidden_in_data"]


def forbidden_in_data(
    forbidden: Any, examples: Examples, source: Input, settings: Mapping[str, Any]
) -> FileFormatError | None:
    """The first label of the data that a scheme or a list of forbidden transitions rules out, as an error.

    Parameters
    ----------
    forbidden : the parameter of :class:`~maxmargin.SequenceSVM`
    examples : Examples
        Sequences whose weight is 0 do not count.
    source, settings : where the examples come from, and how they were read
    """
    if forbidden is None:
        return None
    scheme = forbidden if isinstance(forbidden, str) else None
    weights = [1.0] * len(examples.y) if examples.weights is None else examples.weights.tolist()
    used = [(i, labels) for i, (labels, weight) in enumerate(zip(examples.y, weights)) if weight > 0]
    found = next(_strangers(used, scheme), None) if scheme else None
    if found is None:
        pairs = set(forbidden_transitions(_distinct(used), scheme) if scheme else forbidden)
        found = next(_offenders(used, pairs, f"--forbidden {scheme}" if scheme else "the model's `forbidden`"), None)
    if found is None:
        return None
    sequence, token, problem = found
    if settings["format"] == "crfsuite":
        lines = token_lines(source.open())
    else:
        lines = row_lines(source.open(), separator=settings.get("separator"))
    label = examples.y[sequence][token]
    return FileFormatError(problem, path=source.name, line=lines[sequence][token], token=label)


def _distinct(used: Sequence[tuple[int, Sequence[str]]]) -> list[str]:
    return list(dict.fromkeys(label for _, labels in used for label in labels))


def _strangers(used: Sequence[tuple[int, Sequence[str]]], scheme: str) -> Iterator[tuple[int, int, str]]:
    """Labels that do not belong to a scheme."""
    strange = set()
    for label in _distinct(used):
        try:
            forbidden_transitions([label], scheme)
        except DataError:
            strange.add(label)
    problem = f"the label is neither O nor a letter of B, I, E, S with a type, as --forbidden {scheme} needs"
    yield from ((i, t, problem) for i, labels in used for t, label in enumerate(labels) if label in strange)


def _offenders(
    used: Sequence[tuple[int, Sequence[str]]], pairs: set[tuple[Any, Any]], who: str
) -> Iterator[tuple[int, int, str]]:
    """Labels that stand where they must not."""
    for i, labels in used:
        for t, (before, after) in enumerate(pairwise([None, *labels, None])):
            if (before, after) not in pairs:
                continue
            if after is None:
                yield i, t - 1, f"the label ends a sequence, which {who} rules out"
            elif before is None:
                yield i, t, f"the label begins a sequence, which {who} rules out"
            else:
                yield i, t, f"the label follows {before!r}, which {who} rules out"
