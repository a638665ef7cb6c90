"""Classes of any hashable type: numbers to NumPy and scikit-learn, and as given to everybody else."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from ._estimator import LabelIndex, check_lengths, check_one_kind, check_sample_weight, labels_as_given
from .errors import DataError

__all__ = ["ClassLabels", "Classifier", "classes_in", "classes_part"]

Ints = NDArray[np.int64]


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
        Where text and numbers are mixed, something cannot be a label, or ``class_weight`` does not fit such labels.
    """

    def __init__(self, y: Any, class_weight: Any = None) -> None:
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
            self.class_weight = {int(moved[k]): each for k, each in self.class_weight.items() if moved[k] < n}
        return np.asarray(moved[y])

    def names(self, classes: NDArray[Any]) -> NDArray[Any]:
        """The classes as given, of those among the checked labels that count, sorted."""
        return classes if self._given is None else _objects([self._index.labels[k] for k in classes.tolist()])


class Classifier(ClassifierMixin):
    """scikit-learn's classifier, whose score knows labels of any type."""

    classes_: NDArray[Any]

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Share of the rows that are predicted right, of their weight where there are weights.

        Raises
        ------
        DataError
            When the numbers of rows and labels differ, or for bad weights.
        """
        labels = labels_as_given(y)
        predicted: NDArray[Any]
        if labels is None and _is_plain(self.classes_):
            return float(super().score(X, _plain(y), sample_weight))
        predicted = self.predict(X)
        if labels is None:
            labels = np.asarray(y).tolist()
        check_lengths(predicted, labels, "rows")
        right = [bool(found == label) for found, label in zip(predicted.tolist(), labels, strict=True)]
        return float(np.average(right, weights=check_sample_weight(sample_weight, len(right))))


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


def _by_number(class_weight: Any, index: LabelIndex) -> Any:
    """``class_weight`` with the numbers of the labels in their places; refused here, where labels have names."""
    if not isinstance(class_weight, dict):
        return class_weight
    for label, factor in class_weight.items():
        if label not in index.number:
            raise DataError(f"class_weight names the class {label!r}, which is not in y")
        if not (isinstance(factor, numbers.Real) and 0 <= float(factor) < np.inf):
            raise DataError(f"class_weight of {label!r} is {factor!r}; it must be finite and at least 0")
    return {index.number[label]: factor for label, factor in class_weight.items()}
