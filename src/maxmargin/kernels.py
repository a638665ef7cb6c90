"""Kernel functions, computed in blocks by products of matrices.

=============  ==============================================  ==================
name           ``k(x, z)``                                     parameters
=============  ==============================================  ==================
linear         ``<x, z>``
poly           ``(gamma <x, z> + coef0) ** degree``            gamma, coef0, degree
rbf            ``exp(-gamma |x - z|^2)``                       gamma
sigmoid        ``tanh(gamma <x, z> + coef0)``                  gamma, coef0
cosine         ``<x, z> / (|x| |z|)``, 0 for a zero row
precomputed    the rows given are the values themselves
callable       one's own ``function(A, B)``
=============  ==============================================  ==================

Of these sigmoid is not positive semi-definite in general, nor is poly with a negative coef0, and of the last two nobody
knows: see :mod:`maxmargin.solvers.kernel.definiteness`.

Squared distances are expanded as ``|x|^2 - 2 <x, z> + |z|^2``, which loses the small ones between points far from the
origin; distances do not change when both points are moved, so the mean of the training data is taken off first. What is
left is ``eps gamma |x - mean|^2``, with the ``eps`` of the number type asked for; where that is more than 1e-9 even in
float64, as for groups of points far apart, differences are squared one by one, without BLAS. Sparse
rows cannot be moved without filling them: they are when at least one value in eight is there, and otherwise ``mean`` is
0 in that bound. The whole exponent comes from one product of rows that are two values longer. Its parts must be
numbers, or their difference is none: a ``gamma`` that makes them larger than 1e300 is refused.

Many values are computed by as many threads as the library of linear algebra (BLAS) may use: ``OPENBLAS_NUM_THREADS``
and the like, and ``threadpoolctl.threadpool_limits``, set both. The values do not depend on the number of threads.
Functions of one's own are called by one thread.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike, NDArray

from ._products import Panels, inner, weighted_sums
from ._threads import as_many_as_blas, in_order
from .errors import DataError
from .losses import is_finite_number

__all__ = ["Columns", "Kernel", "NAMES", "check_precomputed", "check_symmetric", "is_zero", "make_kernel"]

Reals = NDArray[np.float64]
_Result = TypeVar("_Result")

NAMES = ("linear", "poly", "rbf", "sigmoid", "cosine", "precomputed")
"""Kernels that have a name."""

_USES_GAMMA = ("poly", "rbf", "sigmoid")
_EPSILON, _INEXACT = float(np.finfo(np.float64).eps), 1e-9
# measured: products of this shape run at full speed and their results are still in the cache when exp takes them
_ROWS, _WIDTH = 256, 4096
_FILLED = 8
_FAR = 1e300  # twice or four times that is a number still
_SQUARES = (1e-280, 1e280)  # within these no square that matters has left the range of numbers
_DENSE_ENTRIES = 1 << 22
_ASYMMETRY = 1e-5  # of the largest value; float32 has seven digits
_SAMPLE = 40  # rows
_MANY = 1 << 21  # values; fewer are there before a second thread is


@dataclass(frozen=True)
class Kernel:
    """One kernel function with its parameters; see the table of the module.

    Attributes
    ----------
    name : str
        One of :data:`NAMES`, or ``"callable"``.
    gamma, coef0, degree
        Parameters, read by the kernels that have them.
    function : callable, optional
        ``function(A, B)`` of shape ``(len(A), len(B))``, for ``"callable"``.
    center : float64 array of shape (d,), optional
        Taken off both points before distances are expanded.
    plus : float
        Added to every value.
    """

    name: str
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3
    function: Callable[[Any, Any], Any] | None = None
    center: Reals | None = field(default=None, compare=False, repr=False)
    plus: float = 0.0

    @property
    def definite(self) -> bool:
        """Whether the kernel is known to be positive semi-definite, so that dual values are lower bounds."""
        return self.name in ("linear", "rbf", "cosine") or (self.name == "poly" and min(self.coef0, self.gamma) >= 0.0)

    def largest(self, square: float) -> float:
        """What no value of the linear or polynomial kernel exceeds in size for points of that squared length."""
        if self.name == "linear":
            return square
        try:
            return (self.gamma * square + abs(self.coef0)) ** self.degree
        except OverflowError:
            return math.inf

    def columns(self, B: Any, dtype: DTypeLike = np.float64) -> Columns:
        """Points made ready to be the second argument of many blocks.

        Parameters
        ----------
        B : array or CSR matrix of shape (n, d)
            For ``"precomputed"``: the training matrix, whose number of rows is all that is read.
        dtype : float32 or float64
            Of the products and of the values.
        """
        return Columns(self, B, np.dtype(dtype))

    def block(self, A: Any, B: Any, dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """``k(a, b)`` of all pairs, shape ``(len(A), len(B))``; see :meth:`columns`.

        Raises
        ------
        DataError
            When the two have different numbers of columns, or a precomputed block or the result of a callable has a
            wrong shape.
        """
        return self.columns(B, dtype).rows(A)

    def combined(self, A: Any, B: Any, beta: Any, *, sizes: bool = False) -> Reals:
        """``sum_j beta_j k(a, b_j)`` of every row of ``A``, in float64; points with ``beta_j = 0`` cost nothing.

        Several sets of coefficients share the values of the kernel.

        Parameters
        ----------
        A, B : arrays or CSR matrices of shape (m, d) and (n, d)
            For ``"precomputed"``: values of shape (m, n), and any matrix of n rows.
        beta : float64 array of shape (n,) or (n, k), or CSR matrix of shape (n, k)
        sizes : bool, default=False
            Sum ``|k(a, b_j)|`` instead, for bounds of rounding.

        Returns
        -------
        float64 array of shape (m,) or (m, k)
        """
        A, B = _matrix(A), _matrix(B)
        if sp.issparse(beta):
            used = np.flatnonzero(np.diff(beta.indptr))
        else:
            used = np.flatnonzero(beta if beta.ndim == 1 else beta.any(1))
        out = np.zeros((A.shape[0], *beta.shape[1:]))
        if not len(used):  # a function of the user's may not like to be asked for nothing
            return out
        if self.name == "precomputed" or len(used) == B.shape[0]:
            columns, weights = self.columns(B), beta
        else:
            columns, weights = self.columns(B[used]), beta[used]
        parts = [weights[points] for points in columns.spans] if len(columns.spans) > 1 else [weights]

        def weighted(block: Any, values: NDArray[Any]) -> Reals:
            return weighted_sums(np.abs(values) if sizes else values, parts[block.k])

        for block, sums in columns.each(A, weighted):
            out[block.rows] += sums
        return out

    def of_products(self, values: NDArray[Any]) -> NDArray[Any]:
        """From products (``gamma`` already in them; for rbf: exponents) to values, in place."""
        if self.name == "rbf":
            np.minimum(values, 0.0, out=values)
            np.exp(values, out=values)
        elif self.name == "poly":
            values += values.dtype.type(self.coef0)
            _power(values, self.degree)
        elif self.name == "sigmoid":
            values += values.dtype.type(self.coef0)
            np.tanh(values, out=values)
        return values


@dataclass(frozen=True)
class Block:
    """Some rows and some points, and what their values are computed from.

    Attributes
    ----------
    rows, points : slice
    A : array or CSR matrix
        Those rows.
    left : array or None
        The left factor of the products; None where values are given.
    k : int
        Number of the right factor.
    """

    rows: slice
    points: slice
    A: Any
    left: NDArray[Any] | None
    k: int


class Columns:
    """Points as the second argument of a kernel; made by :meth:`Kernel.columns`.

    Memory: one copy of the points in the number type of the products.
    """

    def __init__(self, kernel: Kernel, B: Any, dtype: np.dtype[Any]) -> None:
        self.kernel, self.dtype = kernel, dtype
        self.points: Any = _matrix(B)
        self.n = int(self.points.shape[0])
        self.width = self.n if kernel.name == "precomputed" else int(self.points.shape[1])
        self.filled = not sp.issparse(self.points) or kernel.center is not None or _mostly_filled(self.points)
        step = max(self.n, 1) if kernel.name in ("precomputed", "callable") else _WIDTH
        self.spans = [slice(at, min(at + step, self.n)) for at in range(0, self.n, step)]  # of points, side by side
        self.right: list[Any] = []
        self.apart = False  # whether distances are made of differences
        self.squares: Reals = np.empty(0)
        self.given = kernel.name in ("precomputed", "callable")
        if not self.given:
            self._prepare()

    def rows(self, A: Any) -> NDArray[Any]:
        """``k(a, b)`` of all pairs, shape ``(len(A), n)``."""
        A = _matrix(A)
        out = np.empty((A.shape[0], self.n), self.dtype)
        self.fill(A, out)
        return out

    def fill(self, A: Any, out: NDArray[Any]) -> None:
        """The same into an array of that shape and of the number type of the products."""
        for _ in self.each(A, _nothing, out):
            pass

    def blocks(self, A: Any) -> Iterator[tuple[slice, slice, NDArray[Any]]]:
        """The same block by block: rows of ``A``, points, values. Few milliseconds each, so Ctrl-C is served."""
        for block, values in self.each(A, lambda block, values: values):
            yield block.rows, block.points, values

    def each(
        self, A: Any, use: Callable[[Block, NDArray[Any]], _Result], out: NDArray[Any] | None = None
    ) -> Iterator[tuple[Block, _Result]]:
        """Blocks, each with what ``use`` makes of it and its values; in order, by as many threads as BLAS has.

        Parameters
        ----------
        use : callable
            From the block and its values, an array of shape ``(rows, points)``.
        out : array of shape (len(A), n), optional
            Where the values are kept.
        """
        A = _matrix(A)
        self._check_width(A)

        def run(block: Block) -> tuple[Block, _Result]:
            target = None if out is None else out[block.rows, block.points]
            return block, use(block, self._values(block, target))

        return in_order(run, self._blocks(A), self._threads(A.shape[0]))

    def _threads(self, m: int) -> int:
        return 1 if self.given or m * self.n < _MANY else as_many_as_blas()

    def _blocks(self, A: Any) -> Iterator[Block]:
        step = _ROWS if self.filled else max(1, min(_ROWS, _DENSE_ENTRIES // max(self.width, 1)))
        for at in range(0, A.shape[0], step):
            rows = slice(at, min(at + step, A.shape[0]))
            some = A[rows]
            if self.given:
                yield Block(rows, self.spans[0], some, None, 0)
                continue
            left = self._left(some)
            for k, points in enumerate(self.spans):
                yield Block(rows, points, some, left, k)

    def _prepare(self) -> None:
        for points in self.spans:
            block = self.points[points]
            if self.filled:
                extended = self._extended(block, last=True)
                if self.kernel.name == "rbf":
                    self.apart |= bool(_EPSILON * -float(extended[:, -1].min(initial=0.0)) > _INEXACT)
                self.right.append(Panels(np.ascontiguousarray(extended, self.dtype)))
            else:
                self.right.append(self._directions(block).astype(self.dtype))
        if self.kernel.name == "rbf" and not self.filled:
            self.squares = self.kernel.gamma * _squared_norms(self.points)

    def _left(self, A: Any) -> NDArray[Any]:
        if self.filled:
            return np.ascontiguousarray(self._extended(A, last=False), self.dtype)
        left = self._directions(A)
        if self.kernel.name in _USES_GAMMA:
            left = left * (2.0 * self.kernel.gamma if self.kernel.name == "rbf" else self.kernel.gamma)
        return np.ascontiguousarray(left.toarray().T if sp.issparse(left) else left.T, self.dtype)

    def _values(self, block: Block, out: NDArray[Any] | None) -> NDArray[Any]:
        """Of one block, in ``out`` where it is given."""
        if block.left is not None and self.filled and not self.apart:
            shape = (len(block.left), block.points.stop - block.points.start)
            values = np.empty(shape, self.dtype) if out is None else out
            self.right[block.k].product(block.left, values)
            self.kernel.of_products(values)
            if self.kernel.plus:
                values += self.dtype.type(self.kernel.plus)
            return values
        if block.left is None:
            values = self._listed(block)
        else:
            values = self._of_differences(block) if self.apart else self._of_sparse(block, block.left)
        if self.kernel.plus:
            values = values + self.dtype.type(self.kernel.plus)
        if out is None:
            return values
        out[...] = values
        return out

    def _listed(self, block: Block) -> NDArray[Any]:
        """Values that are given, by a matrix or a function."""
        if self.kernel.name == "precomputed":
            return np.asarray(_dense(block.A), self.dtype)
        return self._called(block.A)

    def _of_differences(self, block: Block) -> NDArray[Any]:
        from scipy.spatial.distance import cdist

        points = _dense(self.points[block.points]).astype(np.float64, copy=False)
        exponents = cdist(_dense(block.A).astype(np.float64, copy=False), points, "sqeuclidean")
        exponents *= -self.kernel.gamma
        return self.kernel.of_products(exponents).astype(self.dtype, copy=False)

    def _of_sparse(self, block: Block, left: NDArray[Any]) -> NDArray[Any]:
        values: NDArray[Any] = self.right[block.k] @ left  # (points, rows of A)
        if self.kernel.name == "rbf":
            values -= self.squares[block.points, None]
            values -= self.kernel.gamma * _squared_norms(block.A)
        return self.kernel.of_products(values.astype(self.dtype, copy=False)).T

    def _extended(self, A: Any, *, last: bool) -> Reals:
        """Rows in float64 whose products with those of the other side are what :meth:`Kernel.of_products` takes."""
        kernel = self.kernel
        A = self._directions(_dense(A))
        if kernel.name != "rbf":
            return A if last or kernel.name not in _USES_GAMMA else np.asarray(kernel.gamma * A)
        if kernel.center is not None:
            A = A - kernel.center
        out = np.empty((len(A), A.shape[1] + 2))
        squares = -kernel.gamma * np.einsum("ij,ij->i", A, A)
        out[:, :-2] = A if last else 2.0 * kernel.gamma * A
        out[:, -2] = 1.0 if last else squares
        out[:, -1] = squares if last else 1.0
        return out

    def _directions(self, A: Any) -> Any:
        """The rows in float64, of length 1 for the cosine."""
        A = A.astype(np.float64, copy=False)
        if self.kernel.name != "cosine":
            return A
        with np.errstate(over="ignore"):
            squares = _squared_norms(A)
        if ((squares < _SQUARES[0]) | (squares > _SQUARES[1])).any():  # by their largest values first
            sizes = np.asarray(abs(A).max(1).toarray() if sp.issparse(A) else np.abs(A).max(1)).ravel()
            A = _divided(A, sizes)
            squares = _squared_norms(A)
        return _divided(A, np.sqrt(squares))

    def _called(self, A: Any) -> NDArray[Any]:
        assert self.kernel.function is not None
        values = np.asarray(_dense(self.kernel.function(A, self.points)))
        if values.shape != (A.shape[0], self.n):
            raise DataError(
                f"the kernel function must return an array of shape {(A.shape[0], self.n)} for inputs of "
                f"{A.shape[0]} and {self.n} rows, not {values.shape}"
            )
        if values.dtype.kind not in "biuf" or not np.isfinite(values).all():
            raise DataError("the kernel function returned values that are not finite real numbers")
        return values.astype(self.dtype, copy=False)

    def _check_width(self, A: Any) -> None:
        if A.shape[1] == self.width:
            return
        if self.kernel.name == "precomputed":
            raise DataError(
                f"precomputed kernel: expected shape {(A.shape[0], self.n)}, seen {tuple(A.shape)}; rows are test "
                f"points, columns are the {self.n} training points"
            )
        raise DataError(f"X has {A.shape[1]} columns, but the training points have {self.width}")


def make_kernel(
    kernel: str | Callable[[Any, Any], Any],
    X: Any,
    *,
    gamma: float | str = "scale",
    coef0: float = 0.0,
    degree: int = 3,
    plus: float = 0.0,
    weight: Reals | None = None,
) -> Kernel:
    """The kernel of a training set: parameters checked and resolved.

    Parameters
    ----------
    kernel : str or callable
        One of :data:`NAMES`, or ``function(A, B)`` that returns an array of shape ``(len(A), len(B))``.
    X : array or CSR matrix of shape (n, d)
        Training points; for ``"precomputed"`` the values between them, of shape ``(n, n)``.
    gamma : float, "scale" or "auto"
        ``"scale"`` is ``1 / (d X.var())``, and 1 for constant data; ``"auto"`` is ``1 / d``.
    coef0 : float
    degree : int
        At least 0.
    plus : float
        Added to every value: the kernel of the same features and a constant one of value ``sqrt(plus)``.
    weight : float64 array of shape (n,), optional
        How often each row counts in the variance.

    Raises
    ------
    ValueError
        For a name or a parameter that is none.
    DataError
        When a precomputed matrix is not square or not symmetric, or ``gamma``, or its product with the squared length
        of a row, is too large to compute with.
    """
    X = _matrix(X)
    if callable(kernel):
        return Kernel("callable", function=kernel, plus=plus)
    if kernel not in NAMES:
        raise ValueError(f"kernel must be one of {', '.join(NAMES)} or a function of two matrices, not {kernel!r}")
    if kernel == "precomputed":
        check_precomputed(X)
        return Kernel(kernel, plus=plus)
    if not (isinstance(degree, Integral) and not isinstance(degree, bool) and degree >= 0):
        raise ValueError(f"degree must be an integer of at least 0, not {degree!r}")
    if not is_finite_number(coef0):
        raise ValueError(f"coef0 must be a finite number, not {coef0!r:.80}")
    value = _resolved(gamma, X, weight) if kernel in _USES_GAMMA else 1.0
    center = None
    if kernel == "rbf" and (not sp.issparse(X) or _mostly_filled(X)):
        center = np.asarray(X.mean(0, dtype=np.float64)).ravel()
    if kernel in ("rbf", "sigmoid"):
        _check_reach(value, X, center)
    return Kernel(kernel, value, float(coef0), int(degree), center=center, plus=plus)


def _resolved(gamma: float | str, X: Any, weight: Reals | None) -> float:
    d = int(X.shape[1])
    if isinstance(gamma, str) and gamma == "auto":
        return 1.0 / d
    if isinstance(gamma, str) and gamma == "scale":
        # by a power of two that is near the largest value: squares of small ones are numbers then
        factor = 2.0 ** -max(math.frexp(_largest(X))[1], -1000)
        variance = _variance(X, np.ones(X.shape[0]) if weight is None else weight, factor)
        value = 1.0 / (d * variance) * factor * factor if variance > 0.0 else 1.0
    elif not (is_finite_number(gamma) and float(gamma) > 0.0):
        raise ValueError(f'gamma must be "scale", "auto" or a positive number, not {gamma!r:.80}')
    else:
        value = float(gamma)
    if value > _FAR:
        raise DataError(
            f"gamma={value:.3g}: too large to compute with (at most {_FAR:g}); scale X up, or give a smaller gamma"
        )
    return value


def _largest(X: Any) -> float:
    """The size of the largest entry."""
    values = X.data if sp.issparse(X) else X
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def _check_reach(gamma: float, X: Any, center: Reals | None) -> None:
    """Refuse products of ``gamma`` and squared lengths that leave the range of numbers."""
    largest = _largest(X)
    if gamma * 4.0 * int(X.shape[1]) * largest * largest <= _FAR:  # no need to look at each row
        return
    reach = 0.0
    with np.errstate(over="ignore"):
        for at in range(0, X.shape[0], _WIDTH):
            block = X[at : at + _WIDTH]
            squares = _squared_norms(block if center is None else _dense(block) - center)
            reach = max(reach, gamma * float(squares.max(initial=0.0)))
    if not reach <= _FAR:
        what = "length of a row" if center is None else "distance of a row from the mean"
        raise DataError(
            f"gamma={gamma:.3g} times the largest squared {what} is {reach:.3g}: too large to compute with (at most "
            f"{_FAR:g}); scale X down, or give a smaller gamma"
        )


def _variance(X: Any, weight: Reals, factor: float) -> float:
    """Of all entries times ``factor``, in float64; from differences where they are at hand."""
    entries = float(weight.sum()) * int(X.shape[1])
    if sp.issparse(X):
        counts = np.repeat(weight, np.diff(X.indptr))
        data = X.data.astype(np.float64, copy=False)
        mean = inner(counts, data) / entries
        differences = factor * (data - mean)
        absent = entries - float(counts.sum())
        return float(counts @ (differences * differences) + absent * (factor * mean) ** 2) / entries
    starts = range(0, X.shape[0], _WIDTH)
    mean = sum(inner(weight[at : at + _WIDTH], X[at : at + _WIDTH].sum(1, dtype=np.float64)) for at in starts) / entries
    total = 0.0
    for at in starts:
        block = factor * (X[at : at + _WIDTH].astype(np.float64) - mean)
        total += inner(weight[at : at + _WIDTH], _squared_norms(block))
    return total / entries


def check_precomputed(K: Any) -> None:
    """Refuse a matrix of kernel values that is not square or not symmetric.

    Raises
    ------
    DataError
        Says the shape, or names the two entries that differ most.
    """
    n, width = K.shape
    if n != width:
        raise DataError(
            f"precomputed kernel: the matrix to fit must be square, rows and columns being the training points; "
            f"expected shape {(n, n)}, seen {(n, width)}"
        )
    largest, at, worst = 0.0, (0, 0), 0.0
    for start in range(0, n, _ROWS):
        rows = _dense(K[start : start + _ROWS]).astype(np.float64, copy=False)
        difference = np.abs(rows - _dense(K[:, start : start + _ROWS]).T)
        largest = max(largest, float(np.abs(rows).max(initial=0.0)))
        k, j = divmod(int(difference.argmax()), difference.shape[1])
        if difference[k, j] > worst:
            at, worst = (start + k, j), float(difference[k, j])
    if worst > _ASYMMETRY * largest:
        i, j = at
        raise DataError(
            f"precomputed kernel: the matrix to fit is not symmetric: entry {at} is {K[i, j]:.6g} and entry "
            f"{(j, i)} is {K[j, i]:.6g}"
        )


def check_symmetric(function: Callable[[Any, Any], Any], X: Any) -> None:
    """Refuse a kernel function that is not symmetric on a sample of the rows.

    Raises
    ------
    DataError
        Names the two rows whose values differ most.
    """
    X = _matrix(X)
    sample = _sample(X)
    values = Kernel("callable", function=function).block(X[sample], X[sample])
    difference = np.abs(values - values.T)
    i, j = divmod(int(difference.argmax()), len(sample))
    if difference[i, j] > _ASYMMETRY * np.abs(values).max():
        a, b = sample[i], sample[j]
        raise DataError(
            f"the kernel function is not symmetric: of rows {a} and {b} it is {values[i, j]:.6g}, and of rows {b} and "
            f"{a} it is {values[j, i]:.6g}; give a function with k(x, z) = k(z, x)"
        )


def is_zero(kernel: Kernel, X: Any) -> bool:
    """Whether the kernel is 0 between all rows; a sample of them mostly shows that it is not."""
    X = _matrix(X)
    sample = _sample(X)
    points = X[sample][:, sample] if kernel.name == "precomputed" else X[sample]
    if kernel.block(points, points).any():
        return False
    return not any(values.any() for _, _, values in kernel.columns(X).blocks(X))


def _nothing(block: Block, values: NDArray[Any]) -> None:
    """For those who want the values where they are kept."""


def _sample(X: Any) -> NDArray[np.int64]:
    """Numbers of a few rows at equal distances."""
    n = int(X.shape[0])
    return np.unique(np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.int64))


def _power(values: NDArray[Any], degree: int) -> None:
    """Integer power in place by squaring: many times as fast as a general power."""
    if degree == 0:
        values[...] = 1.0
        return
    base = values.copy() if degree & (degree - 1) else values
    for bit in bin(degree)[3:]:
        values *= values
        if bit == "1":
            values *= base


def _matrix(X: Any) -> Any:
    """CSR, or an array of two dimensions."""
    if sp.issparse(X):
        return X if X.format == "csr" else X.tocsr()
    X = np.asarray(X)
    if X.ndim != 2:
        raise DataError(f"points must be a matrix of shape (n, d), not an array of shape {X.shape}")
    return X


def _divided(A: Any, sizes: Reals) -> Any:
    """Rows divided by these numbers, but by 1 for 0."""
    sizes = np.where(sizes == 0.0, 1.0, sizes)
    if not sp.issparse(A):
        return A / sizes[:, None]
    A = A.copy()
    A.data /= np.repeat(sizes, np.diff(A.indptr))
    return A


def _dense(X: Any) -> Any:
    return X.toarray() if sp.issparse(X) else X


def _mostly_filled(X: Any) -> bool:
    return bool(_FILLED * X.nnz >= X.shape[0] * X.shape[1])


def _squared_norms(X: Any) -> Reals:
    X = X.astype(np.float64, copy=False)
    if sp.issparse(X):
        if not X.has_canonical_format:  # entries of one place add up before they are squared
            X = X.copy()
            X.sum_duplicates()
        return np.asarray(X.power(2).sum(1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X))
