"""Labels of sequences as given: one label, several that a token may have, or none; as numbers and as masks."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AnySet
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._estimator import LabelIndex, check_label, count_of
from .errors import DataError
from .structures.values import examples_of, is_frame, is_no_list

__all__ = [
    "GivenLabels", "allowed_labels", "given_labels", "known_numbers", "label_sequences", "labels_of", "scored_labels",
    "stream_labels", "weighted_share",
]  # fmt: skip

Ints = NDArray[np.int64]

_EMPTY = "the set of labels is empty; None stands for an unknown label"


@dataclass
class GivenLabels:
    """What training is told of the label of every token.

    Attributes
    ----------
    index : LabelIndex
        All labels that are named, also those within sets alone.
    flat : int64 array of shape (n_tokens,)
        Numbers of the labels, -1 where no single one is given.
    sets : dict of int and list of int
        Tokens with several labels to choose from, and the numbers of these.
    """

    index: LabelIndex
    flat: Ints
    sets: dict[int, list[int]]

    def candidates(self) -> NDArray[np.bool_]:
        """Labels that each token may have, of shape (n_tokens, n_labels)."""
        out = np.ones((len(self.flat), len(self.index)), bool)
        known = np.flatnonzero(self.flat >= 0)
        out[known] = False
        out[known, self.flat[known]] = True
        for token, numbers in self.sets.items():
            out[token] = False
            out[token, numbers] = True
        return out

    def notes(self, start: Ints, sequences: Ints) -> list[str]:
        """Notes on labels that one set names and nothing else: a slip of the pen would be a class of the model.

        Parameters
        ----------
        start : int64 array of shape (n_sequences + 1,)
            Where sequences begin among the tokens.
        sequences : int64 array of shape (n_sequences,)
            Their numbers, as the notes tell them.
        """
        named = np.bincount(self.flat[self.flat >= 0], minlength=len(self.index))
        for several in self.sets.values():  # those of one label are labels
            named[several] += 1
        notes = []
        for token, several in sorted(self.sets.items()):
            i = int(np.searchsorted(start, token, side="right")) - 1
            notes += [
                f"label {self.index.labels[number]!r:.40} stands nowhere but in the set of sequence "
                f"{int(sequences[i])}, token {token - int(start[i])}: it is a class of the model too; is it a slip?"
                for number in several
                if named[number] == 1
            ]
        return notes


def scored_labels(y: Sequence[Sequence[Any]], predicted: Sequence[Sequence[Any]], classes: Sequence[Any]) -> list[bool]:
    """Whether each predicted label is right, of the tokens where a label or a set of labels is given.

    A frozenset is a set of labels unless it is one of the ``classes``.
    """
    single = {label for label in classes if isinstance(label, frozenset)}

    def is_right(true: Any, found: Any) -> bool:
        several = isinstance(true, set) or (isinstance(true, frozenset) and true not in single)
        return bool(found in true if several else found == true)

    return [
        is_right(true, found)
        for labels, others in zip(y, predicted, strict=True)
        for true, found in zip(labels, others, strict=True)
        if true is not None
    ]


def weighted_share(right: Sequence[Sequence[bool]], weight: NDArray[np.float64]) -> float:
    """Share of the labels that are right, of sequences with weights.

    Raises
    ------
    DataError
        When no sequence of positive weight has a label.
    """
    size = np.array([len(each) for each in right])
    if not (weight * size).any():
        raise DataError("no sequence of positive weight has a label in y: there is nothing to score")
    share = weight / weight.max()
    return float(share @ np.array([sum(each) for each in right]) / (share @ size))


def label_sequences(y: Any, *, sets: bool = False) -> list[list[Any]]:
    """Labels of all sequences, see :func:`labels_of`.

    Raises
    ------
    DataError
        Where they are no list, and where something cannot be a label.
    """
    y = examples_of(y, "y", "label sequences")
    count_of(y, "y", "sequences")
    return [labels_of(labels, i, sets=sets) for i, labels in enumerate(y)]


def labels_of(labels: Any, i: int, *, sets: bool = False) -> list[Any]:
    """Labels of sequence ``i`` as a list of Python values.

    Parameters
    ----------
    sets : bool
        Whether an entry may be a set of labels.

    Raises
    ------
    DataError
        Where something cannot be a label; names the token.
    """
    if is_no_list(labels) or not hasattr(labels, "__len__") or is_frame(labels):
        raise DataError(f"labels of sequence {i} are a {type(labels).__name__}; give a list with one label a token")
    out = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    for t, label in enumerate(out):
        if sets and isinstance(label, set):
            _check_set(label, f"sequence {i}, token {t}")
        else:
            check_label(label, f"sequence {i}, token {t}")
    return out


def _check_set(labels: set[Any], where: str) -> None:
    if not labels:
        raise DataError(f"{where}: {_EMPTY}")
    if None in labels:
        raise DataError(f"{where}: None is in a set of labels; None alone stands for an unknown label")
    for label in labels:
        check_label(label, where)


def given_labels(y: Sequence[Sequence[Any]], n_tokens: int) -> GivenLabels:
    """Labels of training as numbers.

    A set holds the labels that its token may have. So does a frozenset, where each of its members is named as a label
    elsewhere in ``y``, by itself or within a set; otherwise it is a label itself, as other hashable values are.

    Parameters
    ----------
    y : list of lists of labels, as :func:`labels_of` gives them
    n_tokens : int
        How many labels there are.

    Raises
    ------
    DataError
        When no label is named at all.
    """
    flat: list[Any] = [label for sequence in y for label in sequence]
    sets: dict[int, AnySet[Any]] = {}
    if any(isinstance(label, set | frozenset) for label in flat):
        named = {label for label in flat if label is not None and not isinstance(label, set)}
        named = named.union(*(label for label in flat if isinstance(label, set)))
        for token, label in enumerate(flat):
            if isinstance(label, set) or (isinstance(label, frozenset) and label and label <= named):
                sets[token], flat[token] = label, None
    index = LabelIndex(
        label
        for token, given in enumerate(flat)
        for label in ((given,) if given is not None else sorted(sets.get(token, ()), key=repr))  # sets have no order
    )
    if not len(index):
        raise DataError("no label is known: there is nothing to learn from")
    number = index.number
    numbers = np.fromiter((-1 if label is None else number[label] for label in flat), np.int64, n_tokens)
    for token in [token for token, several in sets.items() if len(several) == 1]:
        (label,) = sets.pop(token)
        numbers[token] = number[label]
    return GivenLabels(index, numbers, {token: sorted(map(number.__getitem__, each)) for token, each in sets.items()})


def stream_labels(labels: Any, known: Sequence[Any] | None, *, begun: bool) -> LabelIndex:
    """All labels of a stream: as given at its beginning, or known from a fit before.

    Raises
    ------
    ValueError
        When they are not given at the beginning, or are others than then; for what cannot be a label.
    """
    if labels is None and known is None:
        raise ValueError("labels must be passed on the first call to partial_fit: all that will ever come")
    if labels is None:
        return LabelIndex(known or ())
    if isinstance(labels, str | bytes | Mapping) or not isinstance(labels, Iterable):
        raise DataError(f"labels is of type {type(labels).__name__}; it must be a list of labels")
    given = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    for k, label in enumerate(given):
        check_label(label, f"labels[{k}]")
        if label is None:
            raise DataError(f"labels[{k}] is None, which stands for an unknown label")
    if not given:
        raise DataError("labels is empty: partial_fit needs all labels that will ever come")
    if begun and known is not None:
        if set(given) != set(known):
            raise ValueError(f"labels are {given!r:.80}; they cannot change while a stream goes on")
        given = list(known)  # what cannot be sorted may come in another order
    return LabelIndex(given)


def known_numbers(y: Sequence[Sequence[Any]], sequences: Ints, index: LabelIndex) -> Ints:
    """Labels of a piece of a stream as numbers, one sequence after another.

    Parameters
    ----------
    y : list of lists of labels, as :func:`labels_of` gives them
    sequences : int64 array
        Numbers of the sequences, as messages tell them.
    index : LabelIndex

    Raises
    ------
    DataError
        For a label that is unknown, a set of labels, or none of the stream's: names the token.
    """
    for i, labels in zip(sequences.tolist(), y, strict=True):
        for t, label in enumerate(labels):
            if label is None or isinstance(label, set):
                what = "is unknown (None)" if label is None else "may be one of a set"
                raise DataError(
                    f"sequence {i}, token {t}: its label {what}; partial_fit learns from labels that are known: leave "
                    "such sequences out"
                )
            if label not in index.number:
                raise DataError(
                    f"sequence {i}, token {t}: the label {label!r:.40} is not among labels {index.labels!r:.80}"
                )
    return index.numbers(label for labels in y for label in labels)


def allowed_labels(known: Sequence[Any], start: Ints, number: Mapping[Hashable, int]) -> NDArray[np.bool_]:
    """What a prediction is told, of shape (n_tokens, n_labels).

    Parameters
    ----------
    known : list of sequences
        For every token its label, a set or list of labels, or None; or None for a sequence of which nothing is known.
    start : int64 array of shape (n_sequences + 1,)
    number : mapping of labels to their numbers

    Raises
    ------
    DataError
        For lengths that do not fit, for labels that the model does not know and for empty sets; names the token.
    """
    known = examples_of(known, "known", "label sequences")
    if len(known) != len(start) - 1:
        raise DataError(f"known has {len(known)} sequences and X has {len(start) - 1}")
    allowed = np.ones((int(start[-1]), len(number)), bool)
    for i, labels in enumerate(known):
        if labels is None:
            continue
        if is_no_list(labels) or not hasattr(labels, "__len__") or is_frame(labels):
            raise DataError(f"known: sequence {i} is a {type(labels).__name__}; give a list with one entry a token")
        if len(labels) != start[i + 1] - start[i]:
            raise DataError(f"known: sequence {i} has {len(labels)} entries for {start[i + 1] - start[i]} tokens")
        for t, label in enumerate(labels):
            if label is None:
                continue
            several = isinstance(label, set | list) or (isinstance(label, frozenset) and label not in number)
            if several and not label:
                raise DataError(f"known: sequence {i}: no label sequence agrees with token {t}: {_EMPTY}")
            try:
                numbers = [number[each] for each in (label if several else [label])]
            except KeyError as error:
                raise DataError(f"known: sequence {i}, token {t}: the model has no label {error.args[0]!r}") from None
            except TypeError:
                raise DataError(
                    f"known: sequence {i}, token {t}: {label!r:.40} is neither a label nor a set of labels"
                ) from None
            allowed[start[i] + t] = False
            allowed[start[i] + t, numbers] = True
    return allowed
