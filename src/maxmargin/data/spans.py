"""Spans in labelled sequences: ``B-NP I-NP O`` and the like.

Labels are ``O`` or a letter, a dash and a type (``B-NP``; a bare letter is of type ""). The letters are B (begins a
span), I (inside), E (ends it) and S (a span by itself), with L for E, U for S and M for I. A span also begins, whatever
its letter, where the type changes or nothing is open, and ends before the next begins or an ``O``. These are the rules
of the CoNLL shared tasks' scorer; every sequence of labels has one reading under them, and the schemes are:

* IOB2: B at the beginning of every span, I in the rest;
* IOB1: I throughout, B only where a span follows another of its type;
* BIOES: S for a span of one token; else B, I, ..., E.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

from ..errors import DataError

__all__ = [
    "SCHEMES",
    "Scheme",
    "Span",
    "convert_labels",
    "detect_scheme",
    "forbidden_transitions",
    "label_spans",
    "span_labels",
]

Scheme = Literal["IOB1", "IOB2", "BIOES"]
SCHEMES: tuple[Scheme, ...] = ("IOB2", "IOB1", "BIOES")

_LABEL = re.compile(r"([BIESLUM])(?:-(.*))?", re.DOTALL)
_SAME = {"L": "E", "U": "S", "M": "I"}


class Span(NamedTuple):
    """A typed span over the tokens ``start`` to ``stop - 1``."""

    type: str
    start: int
    stop: int


def label_spans(labels: Sequence[str]) -> list[Span]:
    """The spans of one labelled sequence, from left to right.

    Raises
    ------
    DataError
        If a label is neither ``O`` nor a letter of B, I, E, S, L, U, M with a type.
    """
    spans = []
    start, open_type = 0, ""
    is_open = False
    for place, label in enumerate(labels):
        letter, kind = _parse(label, place)
        if is_open and (letter in ("O", "B", "S") or kind != open_type):
            spans.append(Span(open_type, start, place))
            is_open = False
        if letter != "O" and not is_open:
            start, open_type, is_open = place, kind, True
        if letter in ("E", "S"):
            spans.append(Span(open_type, start, place + 1))
            is_open = False
    if is_open:
        spans.append(Span(open_type, start, len(labels)))
    return spans


def span_labels(spans: Iterable[Span | tuple[str, int, int]], length: int, scheme: Scheme = "IOB2") -> list[str]:
    """The labels of a sequence of ``length`` tokens with these spans.

    Raises
    ------
    DataError
        If a span is empty, reaches beyond the sequence or overlaps another.
    """
    _check_scheme(scheme)
    labels = ["O"] * length
    last = Span("", 0, 0)
    for span in sorted((Span(*span) for span in spans), key=lambda span: span.start):
        if not last.stop <= span.start < span.stop <= length:
            raise DataError(f"{span} is empty, beyond a sequence of length {length}, or overlaps {last}")
        letters = ["I"] * (span.stop - span.start)
        touches = last.stop == span.start > 0 and last.type == span.type
        if scheme != "IOB1" or touches:
            letters[0] = "B"
        if scheme == "BIOES":
            letters[-1] = "E" if len(letters) > 1 else "S"
        labels[span.start : span.stop] = [f"{letter}-{span.type}" if span.type else letter for letter in letters]
        last = span
    return labels


def convert_labels(labels: Sequence[str], scheme: Scheme) -> list[str]:
    """One labelled sequence in another scheme; its spans stay the same."""
    return span_labels(label_spans(labels), len(labels), scheme)


def detect_scheme(sequences: Iterable[Sequence[str]]) -> Scheme:
    """The scheme that all of these labelled sequences follow.

    Where several fit (few spans) it is IOB2, then IOB1, then BIOES.

    Raises
    ------
    DataError
        If no scheme fits, or a label belongs to none.
    """
    wrong: dict[Scheme, str] = {}
    for number, labels in enumerate(sequences):
        plain = [_SAME.get(label[:1], label[:1]) + label[1:] for label in labels]
        spans = label_spans(plain)
        for scheme in SCHEMES:
            if scheme not in wrong:
                expected = span_labels(spans, len(labels), scheme)
                for place, (seen, right) in enumerate(zip(plain, expected)):
                    if seen != right:
                        seen = f"{labels[place]!r} at {place} of sequence {number}"
                        wrong[scheme] = f"{scheme} has {right!r} instead of {seen}"
                        break
    fitting: list[Scheme] = [scheme for scheme in SCHEMES if scheme not in wrong]
    if fitting:
        return fitting[0]
    raise DataError("labels follow no scheme: " + "; ".join(wrong.values()))


def _parse(label: str, place: int) -> tuple[str, str]:
    """The letter and the type of a label."""
    if label == "O":
        return "O", ""
    found = _LABEL.fullmatch(label) if isinstance(label, str) else None
    if found is None:
        raise DataError(f"label {label!r} at {place} is neither O nor a letter of B, I, E, S with a type, such as B-NP")
    return _SAME.get(found[1], found[1]), found[2] or ""


def _check_scheme(scheme: str) -> None:
    if scheme not in SCHEMES:
        raise ValueError(f"scheme must be one of {', '.join(SCHEMES)}, not {scheme!r}")


def forbidden_transitions(labels: Iterable[Any], scheme: str) -> list[tuple[Any, Any]]:
    """Pairs of labels that may not follow each other under a scheme; None stands for the start and for the end.

    Parameters
    ----------
    labels : labels such as ``B-NP``, ``I-NP``, ``O``
    scheme : {"iob2", "bioes"}
        IOB2: a span starts with B. BIOES: it starts with B and ends with E, or is one S.

    Raises
    ------
    DataError
        When the scheme is another one or a label does not follow it.
    """
    chosen = scheme.upper() if isinstance(scheme, str) else scheme
    if chosen not in ("IOB2", "BIOES"):
        raise DataError(f"forbidden transitions are known for 'iob2' and 'bioes', not for {scheme!r}")
    known = list(labels)
    parsed: list[tuple[Any, str, str]] = [(None, "O", "")]
    for place, label in enumerate(known):
        parsed.append((label, *_parse(label, place)))
    inside = ("I",) if chosen == "IOB2" else ("I", "E")
    open_ = ("B", "I")
    out: list[tuple[Any, Any]] = []
    for before, mark, kind in parsed:
        for after, next_mark, next_kind in parsed:
            if before is None and after is None:
                continue
            goes_on = mark in open_ and kind == next_kind
            if next_mark in inside:
                bad = not goes_on
            else:
                bad = chosen == "BIOES" and mark in open_
            if bad:
                out.append((before, after))
    return out
