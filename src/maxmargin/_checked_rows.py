"""Rows of features as an estimator takes them: scikit-learn's checks, where an entry is no number, or a score none."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from .decoders.checks import LARGEST
from .errors import DataError, shorten
from .solvers.options import shown
from .structures.values import check_rows, is_frame, is_real, is_time, not_a_number

__all__ = ["checked_rows", "checked_scores"]

_AT_ONCE = 1 << 20  # entries


def checked_rows(estimator: Any, X: Any, *y: Any, **options: Any) -> Any:
    """``validate_data(estimator, X, *y, **options)`` of scikit-learn.

    Raises
    ------
    DataError
        Where an entry is masked, a word, a date, complex, NaN, infinite or an integer beyond all floats: names the
        row and the column; for a damaged sparse matrix, for what has not two dimensions, and for complex targets.
    TypeError
        Where an entry is another object: names the row and the column.
    ValueError
        As scikit-learn's.
    """
    check_rows(X)
    try:
        checked = validate_data(estimator, X, *y, **options)
        if (checked[0] if y else checked).dtype == object:  # which dtype="numeric" lets through in lists and frames
            raise TypeError("features must be numbers")
        return checked
    except OverflowError:
        if (beyond := _first_beyond_floats(X)) is None:
            raise
        row, column, digits = beyond
        names = getattr(X, "columns", None)
        name = "" if names is None else f" ({names[column]!r})"
        raise DataError(
            f"{type(estimator).__name__}: X has {shorten(digits)}, first in row {row}, column {column}{name}: it is "
            "beyond all floats; scale the column down"
        ) from None
    except (TypeError, ValueError) as error:
        said = str(error)
        if isinstance(error, TypeError) or "Complex data not supported" in said:
            if (odd := _first_object(X)) is None:
                if isinstance(error, TypeError) or "\n" not in said:
                    raise
                raise DataError(
                    f"{type(estimator).__name__}: {said.splitlines()[0]}: y must hold real numbers"
                ) from None
            refusal = not_a_number(f"{type(estimator).__name__}: X", *odd, X)
            if isinstance(odd[2], complex | np.complexfloating) or is_time(odd[2]):
                raise refusal from None
            raise TypeError(f"{refusal} ({said})") from None  # which scikit-learn's checks ask for, in its own words
        about = ("NaN" in said or "infinity" in said) and "Input y" not in said
        words = "string" in said
        place: tuple[int, int, Any] | None = None
        if words or about:
            place = _first_word(X) if words else _first_without_number(X)
        if place is None:
            if "\n" not in said or "feature names should match" in said:  # which have a line each, where they differ
                raise
            raise DataError(f"{type(estimator).__name__}: {_in_one_line(said)}") from None
        row, column, value = place
        names = getattr(X, "columns", None)
        name = "" if names is None else f" ({names[column]!r})"
        if isinstance(value, str):
            what, then = f"{value!r:.40}", "give numbers; what words stand for can be coded by OneHotEncoder of sklearn"
        elif np.isnan(value):
            what, then = "NaN", "drop such rows, or fill them in, as with sklearn.impute.SimpleImputer in a pipeline"
        else:
            what, then = "infinity", "replace it by a finite number, or drop such rows"
        raise DataError(
            f"{type(estimator).__name__}: X contains {what}, first in row {row}, column {column}{name}: {then}"
        ) from None


def checked_scores(estimator: Any, score: Callable[[], Any]) -> NDArray[np.float64]:
    """``score()``, the scores of rows: of shape (n,) or (n, n_scores).

    Raises
    ------
    DataError
        Where a score is no number, or above 1e300 in size, so that a sum of several may be none: names the row.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        scores: NDArray[np.float64] = np.asarray(score())
    fine = np.abs(scores) <= LARGEST
    if not fine.all():
        row = int(np.argmin(fine if fine.ndim == 1 else fine.all(1)))
        largest = float(np.abs(scores[row]).max())
        what = f"the values of row {row} are too large to compute its score"
        if np.isfinite(largest):
            what = f"row {row} has a score of {largest:.3g} in size, and sums of scores above {LARGEST:g} overflow"
        raise DataError(f"{type(estimator).__name__}: {what}; scale X as the data of the fit were")
    return scores


def _first_object(X: Any) -> tuple[int, int, Any] | None:
    """Row, column and value of the first entry that is neither a real number nor text, and does not stand for one."""
    if sp.issparse(X):
        X = X.tocoo()
        if X.dtype.kind != "c" or not X.nnz:
            return None
        first = int(np.lexsort((X.col, X.row))[0])
        return int(X.row[first]), int(X.col[first]), X.data[first]
    values = X.to_numpy(object) if is_frame(X) else np.asarray(X)
    if values.ndim != 2:
        return None
    for row, entries in enumerate(values.astype(object)):
        for column, entry in enumerate(entries):
            if not (is_real(entry) or isinstance(entry, str) or entry is None or type(entry).__name__ == "NAType"):
                return row, column, entry
    return None


def _first_beyond_floats(X: Any) -> tuple[int, int, str] | None:
    """Row, column and digits of the first integer that is too large for a float."""
    values = X.to_numpy(object) if is_frame(X) else np.asarray(X, object)
    for row, entries in enumerate(values if values.ndim == 2 else ()):
        for column, entry in enumerate(entries):
            if isinstance(entry, int):
                try:
                    float(entry)
                except OverflowError:
                    return row, column, shown(entry)
    return None


def _in_one_line(said: str) -> str:
    """A message of scikit-learn, without the array that it shows."""
    return " ".join(re.sub(r":\s*array=.*?\.\s+(?=Reshape)", ". ", said, flags=re.DOTALL).split())


def _first_word(X: Any) -> tuple[int, int, str] | None:
    """Row, column and value of the first entry that is a word and spells no number."""
    values = np.asarray(X, object)
    for row, entries in enumerate(values if values.ndim == 2 else ()):
        for column, entry in enumerate(entries):
            if isinstance(entry, str):
                try:
                    float(entry)
                except ValueError:
                    return row, column, str(entry)
    return None


def _first_without_number(X: Any) -> tuple[int, int, float] | None:
    """Row, column and value; None where there is none, or what it is cannot be said."""
    if sp.issparse(X):
        X = X.tocsr()
        bad = np.flatnonzero(~np.isfinite(X.data))
        if not len(bad):
            return None
        k = int(bad[0])
        return int(np.searchsorted(X.indptr, k, side="right")) - 1, int(X.indices[k]), float(X.data[k])
    try:
        # of a data frame, what is missing is NaN whatever the type of the column
        values = X.to_numpy(np.float64, na_value=np.nan) if is_frame(X) else np.asarray(X)
        if values.ndim != 2:
            return None
        step = max(1, _AT_ONCE // max(values.shape[1], 1))
        for at in range(0, len(values), step):
            part = values[at : at + step].astype(np.float64)
            places = np.argwhere(~np.isfinite(part)).tolist()
            if places:
                row, column = places[0]
                return at + row, column, float(part[row, column])
    except (TypeError, ValueError):
        pass
    return None
