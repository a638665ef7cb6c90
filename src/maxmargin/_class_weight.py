"""Weights of rows from those of samples and classes."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight

from .errors import DataError

__all__ = ["absent_classes", "class_factors", "without_zero_classes"]


def without_zero_classes(
    class_weight: Any, weight: NDArray[np.float64] | None, y: NDArray[Any]
) -> NDArray[np.float64] | None:
    """Weights of samples that are 0 in classes of weight 0 too, so that such a class is absent as any other.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Faults in it are left to :func:`class_factors`.
    weight : float64 array of shape (n,), or None
    y : array of shape (n,)

    Raises
    ------
    DataError
        When no row has weight then.
    """
    if not isinstance(class_weight, dict):
        return weight
    known, number = np.unique(y, return_inverse=True)
    out = np.array([isinstance(each := class_weight.get(k, 1), numbers.Real) and each == 0 for k in known.tolist()])
    if not out.any():
        return weight
    if out.all():
        raise DataError("class_weight is zero for every class in y: there is nothing to learn from")
    weight = np.where(out[number.reshape(-1)], 0.0, 1.0 if weight is None else weight)
    if not weight.any():
        raise DataError("every row has sample_weight 0 or a class of class_weight 0: there is nothing to learn from")
    return weight


def absent_classes(class_weight: Any, y: NDArray[Any]) -> list[Any]:
    """What ``class_weight`` names beside the classes in ``y``, as a fold of data may lack one.

    Raises
    ------
    DataError
        When it names classes, and none that is in ``y``.
    """
    if not isinstance(class_weight, dict):
        return []
    known = set(np.unique(y).tolist())
    absent = [label for label in class_weight if label not in known]
    if absent and len(absent) == len(class_weight):
        raise DataError(f"class_weight names the class {absent[0]!r}, which is not in y")
    return absent


def class_factors(
    class_weight: Any, classes: NDArray[Any], y: NDArray[Any], used: NDArray[np.bool_]
) -> NDArray[np.float64] | None:
    """Factors of the classes, in their order; None when there are none.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Classes that it names in vain are left to :func:`absent_classes`.
    classes : array
        The classes of the rows used, sorted.
    y : array of shape (n,)
    used : bool array of shape (n,)
        Rows whose own weight is positive.

    Raises
    ------
    DataError
        For a bad factor, or when all factors are zero.
    ValueError
        When ``class_weight`` is none of the above.
    """
    if class_weight is None:
        return None
    if isinstance(class_weight, dict):
        for label, factor in class_weight.items():
            if not (isinstance(factor, numbers.Real) and 0 <= float(factor) < np.inf):
                raise DataError(f"class_weight of {label!r} is {factor!r}; it must be finite and at least 0")
        factors = np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
    elif isinstance(class_weight, str) and class_weight == "balanced":
        factors = compute_class_weight("balanced", classes=classes, y=y[used])
    else:
        raise ValueError(f"class_weight must be a dict, 'balanced' or None, not {class_weight!r}")
    if not factors.any():
        raise DataError("class_weight is zero for every class in y: there is nothing to learn from")
    return np.asarray(factors, np.float64)
