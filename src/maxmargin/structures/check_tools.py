"""Tools that the checks of plain and of compiled structures share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..errors import DataError
from .check_report import Ledger, differ, shown

__all__ = [
    "Candidates", "Claim", "Output", "check_again", "check_pickle", "check_threads", "frozen", "hold_against",
    "listed_candidates", "random_weights", "thawed", "unchanged",
]  # fmt: skip

Reals = NDArray[np.float64]

# Two threads seldom meet in one call: they get so long a time for it.
_THREAD_SECONDS = 0.1

Candidates = Sequence[Iterable[Any]] | Callable[[Any], Iterable[Any]]


def frozen(value: Any) -> Any:
    """A copy whose arrays are read-only, through lists, tuples and dictionaries.

    Sets and sparse matrices are copied as they are, which may be put in order where they stand; other objects are kept.
    """
    return _copied(value, writable=False)


def thawed(value: Any) -> Any:
    """A copy whose arrays are writable."""
    return _copied(value, writable=True)


def _copied(value: Any, *, writable: bool) -> Any:
    if isinstance(value, np.ndarray):
        out = value.copy()
        out.flags.writeable = writable
        return out
    if sp.issparse(value) or type(value) in (set, bytearray):
        return value.copy()
    if type(value) in (list, tuple):
        return type(value)(_copied(item, writable=writable) for item in value)
    if type(value) is dict:
        return {key: _copied(item, writable=writable) for key, item in value.items()}
    return value


def unchanged(value: Any, original: Any) -> bool:
    """Whether a frozen value still equals its copy."""
    if value is original:  # what is kept as it is
        return True
    if type(value) is not type(original):
        return False
    if isinstance(value, np.ndarray):
        return bool(np.array_equal(value, original, equal_nan=value.dtype.kind == "f"))
    if sp.issparse(value):
        return bool(value.shape == original.shape) and unchanged(_entries(value), _entries(original))
    if type(value) in (list, tuple):
        return len(value) == len(original) and all(map(unchanged, value, original))
    if type(value) is dict:
        return value.keys() == original.keys() and all(unchanged(value[key], original[key]) for key in value)
    try:
        return bool(value == original) or bool(value != value and original != original)  # NaN
    except Exception:  # objects that cannot be compared
        return False


def _entries(matrix: Any) -> tuple[NDArray[Any], ...]:
    """Rows, columns and values of what is stored, in their order, without zeros."""
    entries = matrix.tocoo(copy=True).tocsr() if len(matrix.shape) == 2 else matrix.reshape((1, -1)).tocsr(copy=True)
    entries.sum_duplicates()
    entries.eliminate_zeros()
    return entries.indptr, entries.indices, entries.data


def random_weights(rng: np.random.Generator, n: int, size: int, norm: float) -> Reals:
    """Zero, then ``n`` random weight vectors under which a feature vector of length ``norm`` scores about 0.1 to 10."""
    scale = np.concatenate([[0.0], np.resize([1.0, 0.3, 3.0, 0.1, 10.0], n)])
    return rng.normal(size=(n + 1, size)) * (scale / norm if norm > 0 else scale)[:, None]


def listed_candidates(candidates: Candidates, X: Any, n: int) -> list[list[Any]]:
    """The user's candidates, one list for each example."""
    found = [candidates(X[i]) for i in range(n)] if callable(candidates) else candidates
    if len(found) != n:
        raise DataError(f"candidates has {len(found)} entries for {n} examples; give one collection for each")
    return [list(one) for one in found]


@dataclass
class Output:
    """An output of an example: where it comes from, its score under every weight vector, and its loss."""

    y: Any
    source: str
    scores: Reals
    loss: float

    @property
    def values(self) -> Reals:
        """Score, and loss + score, under every weight vector."""
        return np.stack([self.scores, self.loss + self.scores])


@dataclass(frozen=True)
class Claim:
    """What a structure claims of its best outputs, in words for messages."""

    check: str
    what: str
    call: str
    wanted: str
    hint: str = ""
    """Said when adding the loss changes nothing."""


class _Champions:
    """The best of many outputs under several weight vectors: by score (row 0) and by loss + score (row 1)."""

    def __init__(self, n_weights: int) -> None:
        self.values = np.full((2, n_weights), -np.inf)
        self.who: list[list[Output | None]] = [[None] * n_weights, [None] * n_weights]
        self.count = 0

    def add(self, output: Output) -> None:
        self.count += 1
        values = output.values
        for row, k in np.argwhere(values > self.values):
            self.values[row, k] = values[row, k]
            self.who[row][k] = output


def hold_against(
    ledger: Ledger, i: int, claims: Sequence[Claim], truth: Output, found: Sequence[Sequence[Output]],
    others: Iterable[Output], *, listed: bool, max_outputs: int, exact: bool,
    idle: Callable[[], bool],
) -> None:  # fmt: skip
    """Hold the best outputs found against others, which are all outputs when they are ``listed``.

    Where one is not the best, ``idle`` says whether adding the loss changes nothing.
    """
    every, rivals = _Champions(len(truth.scores)), _Champions(len(truth.scores))
    for output in (truth, *found[0], *found[1]):
        every.add(output)
    nearest, score = np.inf, float(truth.scores[-1])
    for output in others:
        every.add(output)
        rivals.add(output)
        nearest = min(nearest, float(output.scores[-1]), key=lambda other: abs(other - score))
    complete = listed and rivals.count <= max_outputs
    if listed and not complete:
        ledger.note("outputs", f"example {i} has more than max_outputs = {max_outputs}; not all were used")
    elif complete and differ(score, nearest):
        ledger.fault(
            "outputs", i, f"the true output scores {score:.10g}; the closest of the {rivals.count} outputs listed has "
            f"{nearest:.10g}: list the truth too, or mend it"
        )  # fmt: skip
    elif complete:
        ledger.passed("outputs", i, rivals.count)
    if exact:
        for row, claim in enumerate(claims):
            for k in range(len(truth.scores)):
                _compare(ledger, i, claim, row, k, found, every, rivals if complete else None, idle)


def _compare(
    ledger: Ledger, i: int, claim: Claim, row: int, k: int, found: Sequence[Sequence[Output]], every: _Champions,
    listed: _Champions | None, idle: Callable[[], bool],
) -> None:  # fmt: skip
    """Whether an output found is the best of all met, and no better than the best of a full list."""
    output, best = found[row][k], every.who[row][k]
    assert best is not None
    mine, most = float(output.values[row, k]), float(every.values[row, k])
    said = f"{claim.call} returned {shown(output.y)} with {claim.what} {mine:.10g}"
    if differ(mine, most):
        nothing = row == 1 and np.allclose(output.values[:, k], found[0][k].values[:, k]) and idle()
        ledger.fault(
            claim.check, i, f"the {claim.check} is not the maximum: {said}, but {shown(best.y)} ({best.source}) has "
            f"{most:.10g}; {claim.wanted}{claim.hint if nothing else ''}"
        )  # fmt: skip
    elif listed is not None and differ(mine, float(listed.values[row, k])):
        ledger.fault(
            claim.check, i, f"{said}, above the best of the {listed.count} outputs listed, "
            f"{listed.values[row, k]:.10g}; return an allowed output, or list it"
        )  # fmt: skip
    else:
        ledger.passed(claim.check, i)


def check_again(
    ledger: Ledger, first: Sequence[float], second: Sequence[float], method: str, *, exact: bool
) -> bool:  # fmt: skip
    """Whether best scores are the same when asked for again, without which no other run says anything."""
    for i, (score, again) in enumerate(zip(first, second, strict=True)):
        if not differ(score, again):
            continue
        if exact:
            ledger.fault(
                "two threads", i, f"the best score is {score:.10g}, and {again:.10g} when asked for again in the same "
                f"thread; {method} must give the same for the same weights"
            )  # fmt: skip
        for check in ("two threads", "pickle"):
            ledger.note(check, f"{method} answers differently when asked again, in one thread too")
        return False
    return True


def check_threads(
    ledger: Ledger, expected: Sequence[float], run: Callable[[int], list[float]], method: str, *, exact: bool
) -> None:
    """Whether best scores stay as expected when two threads ask for them at once, in opposite orders.

    Where they do not, as many runs in one thread tell whether it is the threads.
    """
    runs: list[list[float]] = []
    stop = time.perf_counter() + _THREAD_SECONDS
    with ThreadPoolExecutor(2) as pool:
        while not runs or time.perf_counter() < stop:
            runs += [job.result() for job in [pool.submit(run, order) for order in (1, -1)]]
    if any(differ(alone, score) for scores in runs for alone, score in zip(expected, scores, strict=True)):
        first = run(1)
        for _ in runs:
            if not check_again(ledger, first, run(1), method, exact=exact):
                return
    for i, alone in enumerate(expected):
        wrong = [scores[i] for scores in runs if differ(alone, scores[i])]
        if wrong:
            ledger.fault(
                "two threads", i, f"the best score is {alone:.10g} in one thread but {wrong[0]:.10g} when two ask at "
                "once; keep what is computed in local variables, not in self"
            )  # fmt: skip
        else:
            ledger.passed("two threads", i)


def check_pickle(structure: Any, ledger: Ledger, same: Callable[[Any], bool]) -> None:
    """Whether a structure survives a round trip through pickle in memory, with the same answers."""
    # Nothing from outside is ever unpickled: the bytes are made and read here.
    from pickle import dumps, loads

    try:
        right = same(loads(dumps(structure)))
    except Exception as error:
        ledger.warning(
            "pickle", f"cannot be pickled and sent to other processes ({type(error).__name__}: {error}); define its "
            "class in a module and keep no lambdas in it"
        )  # fmt: skip
        return
    ledger.passed("pickle", None)
    if not right:
        ledger.warning("pickle", "answers differently after a round trip through pickle; __getstate__ loses something")
