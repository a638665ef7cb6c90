"""Classes of any hashable type: numbers to NumPy and scikit-learn, and as given to everybody else."""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from ._class_weight import absent_classes, class_factors, without_zero_classes
from ._estimator import (
    LabelIndex,
    check_label,
    check_lengths,
    check_one_kind,
    check_sample_weight,
    is_missing,
    labels_as_given,
    missing_label,
    shares,
)
from ._notes import tell_absent
from .errors import DataError

__all__ = [
    "ClassLabels",
    "Classifier",
    "KnownLabels",
    "RowClasses",
    "all_classes",
    "classes_in",
    "classes_part",
]

Ints = NDArray[np.int64]
Reals = NDArray[np.float64]


class RowClasses(NamedTuple):
    """Classes and weights of the rows of a fit.

    Attributes
    ----------
    names : array of shape (n_classes,)
        Classes of the rows that count, as given; the others are absent.
    labels : array of shape (n,)
        Of all rows, as :attr:`ClassLabels.y` has them.
    number : int64 array of shape (n,)
        Class of each row that counts.
    used : bool array of shape (n,)
        Rows that count: of positive weight, in a class of positive weight.
    weight : float64 array of shape (n,), or None
        Weights of the samples, 0 of rows that do not count.
    factors : float64 array of shape (n_classes,), or None
        Those of ``class_weight``.
    notes : list of str
        On classes that it names and that are in no row.
    """

    names: NDArray[Any]
    labels: NDArray[Any]
    number: Ints
    used: NDArray[np.bool_]
    weight: Reals | None
    factors: Reals | None
    notes: list[str]

    def weights(self) -> Reals | None:
        """Weights of the rows times those of their classes; None when there are neither."""
        if self.factors is None:
            return self.weight
        out = np.where(self.used, 1.0, 0.0) if self.weight is None else self.weight.copy()
        with np.errstate(over="ignore"):  # refused where C is known
            out[self.used] *= self.factors[self.number[self.used]]
        return out

    def groups(self, wanted: Reals | None) -> Ints:
        """Numbers that rows share which have the same class and wanted margin."""
        if wanted is None:
            return self.number
        groups = np.zeros_like(self.number)
        # not of rows without weight, so that weights are copies
        kinds = np.column_stack([self.number, wanted])[self.used]
        groups[self.used] = np.unique(kinds, axis=0, return_inverse=True)[1].reshape(-1)
        return groups


class ClassLabels:
    """Labels of a fit; their numbers take the place of those that are neither text nor numbers.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels as given.
    class_weight : dict, "balanced" or None

    Attributes
    ----------
    y : array-like of shape (n,)
        For scikit-learn's checks: the labels, or their numbers.
    class_weight : dict, "balanced" or None
        For labels as in ``y``.

    Raises
    ------
    DataError
        Where text and numbers are mixed, something cannot be a label, ``y`` is neither a list nor an array, or
        ``class_weight`` does not fit such labels.
    """

    def __init__(self, y: Any, class_weight: Any = None) -> None:
        y = _one_each(y)
        given = labels_as_given(y)
        self.class_weight = class_weight
        self._given, self._index = given, LabelIndex(given or ())
        if given is None:
            check_one_kind(y)
            self.y: Any = _plain(y)
        else:
            self.y = self._index.numbers(given)
            self.class_weight = _by_number(class_weight, self._index)

    def used(self, y: NDArray[Any], rows: NDArray[np.bool_]) -> NDArray[Any]:
        """The checked labels again, numbered as without those of the other rows; ``class_weight`` follows.

        Labels without a row that counts have no say in the order of the classes: they come after all others.
        """
        if self._given is None:
            return y
        every, n = self._index, len(self._index)
        self._index = LabelIndex(self._given[i] for i in np.flatnonzero(rows).tolist())
        moved = self._index.numbers(every.labels)
        moved[moved < 0] = n
        if isinstance(self.class_weight, dict):
            self.class_weight = {
                k if isinstance(k, _Absent) else int(moved[k]): each
                for k, each in self.class_weight.items()
                if isinstance(k, _Absent) or moved[k] < n
            }
        return np.asarray(moved[y])

    def of_rows(self, checked: NDArray[Any], sample_weight: Any, name: str, *, binary: bool = False) -> RowClasses:
        """Classes and weights of rows with these checked labels, for the estimator of this name.

        Raises
        ------
        DataError
            For bad weights of samples or classes, and where there are fewer than two classes, or with ``binary`` more.
        ValueError
            For labels that are no classes.
        """
        every = _sorted_labels(checked)
        n = len(checked)
        weight = without_zero_classes(self.class_weight, check_sample_weight(sample_weight, n), checked)
        used = np.ones(n, np.bool_) if weight is None else weight > 0
        labels = self.used(checked, used)
        classes = every if weight is None and labels is checked else np.unique(labels[used])
        names = self.names(classes)
        zeros = ""
        if len(classes) < 2 <= len(every):
            given = {
                "sample_weight": sample_weight is not None and not np.asarray(sample_weight, np.float64).all(),
                "class_weight": isinstance(self.class_weight, dict) and 0 in self.class_weight.values(),
            }
            zeros = f"weights of 0 ({' and '.join(name for name, some in given.items() if some)})"
        if binary and len(classes) != 2:
            shown = ", ".join(repr(label) for label in names[:5].tolist()) + (", ..." if len(classes) > 5 else "")
            out = f" without the rows that {zeros} leave out" if zeros else ""
            kind = "class" if len(classes) < 2 else "classes"
            raise DataError(
                f"{name}: y has {len(classes)} {kind} ({shown}){out}. Only binary classification is supported."
            )
        if len(classes) < 2:
            has = f"{zeros} leave" if zeros else "y has"
            raise DataError(f"{name} needs at least two classes; {has} one class only: {names.tolist()[0]!r}")
        number = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
        absent = absent_classes(self.class_weight, labels)
        factors = class_factors(self.class_weight, classes, labels, used)
        return RowClasses(names, labels, number, used, weight, factors, [tell_absent(absent)] if absent else [])

    def names(self, classes: NDArray[Any]) -> NDArray[Any]:
        """The classes as given, of those among the checked labels that count, sorted."""
        return classes if self._given is None else _objects([self._index.labels[k] for k in classes.tolist()])


class KnownLabels:
    """Labels where the classes are known already: of the next piece of a stream, or of the data of a fit once more.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels as given.
    classes : array of shape (n_classes,)
        As :func:`all_classes` or a fit gave them.

    Attributes
    ----------
    y : array-like of shape (n,)
        For scikit-learn's checks: the labels, or the numbers of their classes.

    Raises
    ------
    DataError
        Where text and numbers are mixed, something cannot be a label, or ``y`` is neither a list nor an array.
    """

    def __init__(self, y: Any, classes: NDArray[Any]) -> None:
        y = _one_each(y)
        given = labels_as_given(y)
        if given is None and y is not None and not _is_plain(classes):
            given = _listed(y)  # a piece of text alone, where None is a class too
        self._classes, self._given, self._index = classes, given, LabelIndex(classes.tolist())
        if given is None:
            check_one_kind(y)
            self.y: Any = _plain(y)
        else:
            self.y = self._index.numbers(given)

    def numbers(self, checked: NDArray[Any]) -> Ints:
        """The places of the checked labels among the classes, -1 for one that is none of them."""
        if self._given is not None:
            return checked.astype(np.int64)
        classes = self._classes
        if (checked.dtype.kind in "UO") != (classes.dtype.kind in "UO"):  # NumPy would compare numbers as text
            return np.full(len(checked), -1)
        if {checked.dtype.kind, classes.dtype.kind} in ({"i", "u"}, {"i", "f"}, {"u", "f"}):
            return self._index.numbers(checked.tolist())  # NumPy would make floats of all, and of large ones the same
        at = np.minimum(np.searchsorted(classes, checked), len(classes) - 1)
        return np.where(classes[at] == checked, at, -1)

    def label(self, i: int, checked: NDArray[Any]) -> Any:
        """The label of row ``i`` as given."""
        return checked[i : i + 1].tolist()[0] if self._given is None else self._given[i]

    def factors(self, class_weight: Any, number: Ints, used: NDArray[np.bool_]) -> NDArray[np.float64] | None:
        """Factors of the classes, of rows with these :meth:`numbers`; see :func:`~._class_weight.class_factors`."""
        every = np.arange(len(self._classes))
        if isinstance(class_weight, dict):  # names classes that this piece may lack
            return class_factors(_by_number(class_weight, self._index), every, every, np.ones(len(every), np.bool_))
        return class_factors(class_weight, every, number, used)

    def weights(
        self, class_weight: Any, number: Ints, sample_weight: NDArray[np.float64] | None
    ) -> NDArray[np.float64] | None:
        """Weights of rows with these :meth:`numbers`, the factors of their classes in them.

        Raises
        ------
        DataError
            For bad factors, and for a class that will never come.
        """
        if isinstance(class_weight, dict):
            for label in class_weight:
                if label not in self._index.number:
                    raise DataError(f"class_weight names the class {label!r}, which is not in y, nor among classes")
        factors = self.factors(class_weight, number, np.ones(len(number), np.bool_))
        if factors is None:
            return sample_weight
        with np.errstate(over="ignore"):  # refused beside C
            return factors[number] if sample_weight is None else np.asarray(sample_weight * factors[number])


class Classifier(ClassifierMixin):
    """scikit-learn's classifier, whose score knows labels of any type."""

    classes_: NDArray[Any]

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Share of the rows that are predicted right, of their weight where there are weights.

        Raises
        ------
        DataError
            When the numbers of rows and labels differ, for what cannot be labels, or for bad weights.
        """
        y = _one_each(y)
        if sample_weight is not None and y is not None:
            sample_weight = shares(sample_weight, y)
        labels = labels_as_given(y)
        predicted: NDArray[Any]
        dates = np.asarray(y).dtype.kind in "mM" if labels is None else False
        if labels is None and _is_plain(self.classes_) and dates == (self.classes_.dtype.kind in "mM"):
            return float(super().score(X, _plain(y), sample_weight))
        predicted = self.predict(X)
        if labels is None:
            labels = np.asarray(y).tolist()
        check_lengths(predicted, labels, "rows")
        right = [bool(found == label) for found, label in zip(predicted.tolist(), labels, strict=True)]
        return float(np.average(right, weights=sample_weight))


def all_classes(classes: Any) -> NDArray[Any]:
    """Classes as given, each once, in the order that a fit gives them: sorted, or of their first occurrence.

    Raises
    ------
    DataError
        As for labels.
    """
    try:
        classes = _one_each(classes, "classes")
        given = labels_as_given(classes)
        if given is None:
            check_one_kind(classes)
    except DataError as error:  # lines about labels begin with their name
        text = str(error)
        raise DataError(f"classes{text[1:]}" if text.startswith(("y[", "y ")) else text) from None
    if given is None:
        return np.unique(np.asarray(_plain(classes)))
    return _objects(LabelIndex(given).labels)


def classes_part(classes: NDArray[Any]) -> Any:
    """Classes as a model file keeps them: a list where they are neither text nor numbers."""
    return classes if _is_plain(classes) else classes.tolist()


def classes_in(part: Any, what: str = "two or more") -> NDArray[Any]:
    """The way back from :func:`classes_part`; a ValueError, which says ``what`` they must be, where that is none."""
    if isinstance(part, list):  # of objects: an array of tuples would be one of two dimensions
        if LabelIndex(part).labels != part:
            raise ValueError(f"the classes must be {what}, each once, and sorted where they can be")
        classes = _objects(part)
    elif (classes := np.asarray(part)).ndim != 1 or len(np.unique(classes)) != len(classes):
        raise ValueError(f"the classes must be {what}, each once")
    if len(classes) < 2 or (what == "two" and len(classes) > 2):
        raise ValueError(f"the classes must be {what}, each once")
    return classes


def _sorted_labels(checked: NDArray[Any]) -> NDArray[Any]:
    """The labels in a one-dimensional array, each once, after scikit-learn's check of them.

    Only what that would refuse or warn of goes there: it takes a sixth of a small fit.
    """
    kind = checked.dtype.kind
    with np.errstate(invalid="ignore"):  # of numbers too large for an integer
        if kind not in "biuU" and not (kind == "f" and (checked == checked.astype(np.int64)).all()):
            check_classification_targets(checked)
    labels = np.unique(checked)
    if len(labels) > max(2, len(checked) // 2):
        check_classification_targets(checked)
    return labels


def _one_each(y: Any, name: str = "y") -> Any:
    """Refuse labels that are no list or array, missing ones, and lists of nothing but what cannot be a label.

    What scikit-learn takes, or has a clear line for, is left to it: None, arrays of more dimensions, and a column,
    also as a list of lists of one entry.

    Returns
    -------
    list, array or None
        The labels; those of pandas' own types (Int64, boolean, category) as an array, for scikit-learn makes floats of
        them.

    Raises
    ------
    DataError
        Says what was given, and what to do.
    """
    if isinstance(y, np.ndarray) and y.dtype.kind == "T":  # strings of any length, which few know
        y = y.astype(object)
    if isinstance(y, list | tuple):
        if y and not any(isinstance(label, Hashable) for label in y) and not _is_column(y):
            check_label(y[0], f"{name}[0]")
        _check_none_missing(y, name)
        return y
    if y is None:
        return y
    if getattr(y, "shape", ()) != () or np.asarray(y).ndim > 0:
        _check_none_missing(y, name)
        return np.asarray(y) if hasattr(y, "isna") else y
    what = "an array of shape ()" if isinstance(y, np.ndarray) else f"of type {type(y).__name__}"
    more = f": give list({name})" if isinstance(y, Iterator) else ""
    raise DataError(
        f"{name} is {what}; it must be a list or an array of labels{', one for each row' if name == 'y' else ''}{more}"
    )


def _check_none_missing(y: Any, name: str) -> None:
    """Refuse missing labels.

    None is a label like others in lists and arrays, also in arrays of objects. In what pandas holds it is missing: so
    pandas takes it when it counts, drops or fills such entries.

    Raises
    ------
    DataError
        Names the first, and its row.
    """
    if isinstance(y, list | tuple):
        if not set(map(type, y)) <= {str, int, bool}:
            for i, label in enumerate(y):
                if is_missing(label):
                    raise missing_label(label, f"{name}[{i}]")
        return
    array = np.asarray(y)
    if hasattr(y, "isna"):
        missing = np.asarray(y.isna())
    elif isinstance(y, np.ma.MaskedArray):
        missing = np.ma.getmaskarray(y)
    elif array.dtype.kind in "fcmM":
        missing = np.isnat(array) if array.dtype.kind in "mM" else np.isnan(array)
    elif array.dtype == object:
        missing = np.fromiter(map(is_missing, array.ravel()), np.bool_, array.size).reshape(array.shape)
    else:
        return
    for at in np.argwhere(missing)[:1]:
        label = np.ma.masked if isinstance(y, np.ma.MaskedArray) else array[tuple(at)]
        shown = label.item() if isinstance(label, np.floating) else label
        more = " in what pandas holds; in a list None is a class" if label is None else ""
        raise DataError(f"{missing_label(shown, f'{name}[{at[0]}]')}{more}")


def _is_column(y: list[Any] | tuple[Any, ...]) -> bool:
    """Whether NumPy makes one value of each entry: of lists of one value, or of arrays without a dimension."""
    try:
        array = np.asarray(y)
    except ValueError:  # of several lengths
        return False
    return array.dtype != object and array.shape in ((len(y),), (len(y), 1))


def _listed(y: Any) -> list[Any]:
    """Labels as a list; refused where there is not one hashable value a row."""
    labels = y if isinstance(y, list | tuple) else np.asarray(y)
    if isinstance(labels, np.ndarray):
        if labels.ndim != 1:
            raise DataError(f"y has shape {labels.shape}; it must be a list or an array of labels, one for each row")
        labels = labels.tolist()
    for i, label in enumerate(labels):
        check_label(label, f"y[{i}]")
    return list(labels)


def _objects(labels: list[Any]) -> NDArray[Any]:
    """An array of the labels as they are, of one dimension also where they are tuples."""
    return np.fromiter(labels, object, len(labels))


def _is_plain(classes: NDArray[Any]) -> bool:
    """Whether classes are text or numbers, which NumPy and scikit-learn know."""
    return classes.dtype != object or all(isinstance(label, str) for label in classes.tolist())


def _plain(y: Any) -> Any:
    """Labels with numbers in an array of objects as an array of numbers, as they would be in a list."""
    array = np.asarray(y) if getattr(getattr(y, "dtype", None), "kind", "") == "O" else None
    if array is None or array.ndim != 1 or not isinstance(next(iter(array), None), numbers.Real | np.bool_):
        return y
    return np.asarray(array.tolist())


@dataclass(frozen=True)
class _Absent:
    """A label of ``class_weight`` that has no number, as no row has it."""

    label: Any

    def __repr__(self) -> str:
        return repr(self.label)


def _by_number(class_weight: Any, index: LabelIndex) -> Any:
    """``class_weight`` with the numbers of the labels in their places; refused here, where labels have names."""
    if not isinstance(class_weight, dict):
        return class_weight
    for label, factor in class_weight.items():
        if not (isinstance(factor, numbers.Real) and 0 <= float(factor) < np.inf):
            raise DataError(f"class_weight of {label!r} is {factor!r}; it must be finite and at least 0")
    numbered = {index.number.get(label, _Absent(label)): factor for label, factor in class_weight.items()}
    absent_classes(numbered, np.arange(len(index)))
    return numbered
