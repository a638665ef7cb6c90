"""Tools that the checks of plain and of compiled structures share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .check_report import Ledger, differ, shown

__all__ = [
    "Candidates", "Champions", "Claim", "Output", "check_pickle", "check_threads", "check_truth_is_listed", "compare",
    "frozen", "listed_candidates", "random_weights", "thawed", "unchanged",
]  # fmt: skip

Reals = NDArray[np.float64]
# Two threads seldom meet in one call: they get so long a time for it.
_THREAD_SECONDS = 0.1

Candidates = Sequence[Iterable[Any]] | Callable[[Any], Iterable[Any]]


def frozen(value: Any) -> Any:
    """A copy whose arrays are read-only, through lists, tuples and dictionaries; other objects are kept."""
    return _copied(value, writable=False)


def thawed(value: Any) -> Any:
    """A copy whose arrays are writable."""
    return _copied(value, writable=True)


def _copied(value: Any, *, writable: bool) -> Any:
    if isinstance(value, np.ndarray):
        out = value.copy()
        out.flags.writeable = writable
        return out
    if type(value) in (list, tuple):
        return type(value)(_copied(item, writable=writable) for item in value)
    if type(value) is dict:
        return {key: _copied(item, writable=writable) for key, item in value.items()}
    return value


def unchanged(value: Any, original: Any) -> bool:
    """Whether a frozen value still equals its copy."""
    if isinstance(value, np.ndarray):
        return bool(np.array_equal(value, original, equal_nan=value.dtype.kind == "f"))
    if type(value) in (list, tuple):
        return len(value) == len(original) and all(map(unchanged, value, original))
    if type(value) is dict:
        return value.keys() == original.keys() and all(unchanged(value[key], original[key]) for key in value)
    return True


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


class Champions:
    """The best of many outputs under several weight vectors: by score (row 0) and by loss + score (row 1)."""

    def __init__(self, n_weights: int) -> None:
        self.values = np.full((2, n_weights), -np.inf)
        self.who: list[list[Any]] = [[None] * n_weights, [None] * n_weights]
        self.count = 0

    def add(self, output: Any, values: Reals) -> None:
        """An output with its values of shape (2, n_weights)."""
        self.count += 1
        for row, k in np.argwhere(values > self.values):
            self.values[row, k] = values[row, k]
            self.who[row][k] = output


def check_truth_is_listed(ledger: Ledger, i: int, truth: Reals, nearest: float, listed: int) -> None:
    """Whether a full list of outputs has one that scores as the truth does; ``nearest`` is the closest score."""
    if differ(float(truth[-1]), nearest):
        ledger.fault(
            "outputs", i, f"the true output scores {truth[-1]:.10g}; the closest of the {listed} outputs listed scores "
            f"{nearest:.10g}: list the truth too, or mend it"
        )  # fmt: skip
    else:
        ledger.passed("outputs", i, listed)


def check_threads(ledger: Ledger, expected: Sequence[float], run: Callable[[int], list[float]]) -> None:
    """Whether best scores stay as expected when two threads ask for them at once, in opposite orders."""
    runs = []
    stop = time.perf_counter() + _THREAD_SECONDS
    with ThreadPoolExecutor(2) as pool:
        while not runs or time.perf_counter() < stop:
            runs += [job.result() for job in [pool.submit(run, order) for order in (1, -1)]]
    for scores in runs:
        for i, (alone, together) in enumerate(zip(expected, scores, strict=True)):
            if differ(alone, together):
                ledger.fault(
                    "two threads", i, f"the best score is {alone:.10g} in one thread but {together:.10g} when two ask at once; "
                    "keep what is computed in local variables, not in self"
                )  # fmt: skip
            else:
                ledger.passed("two threads", i)


def check_pickle(structure: Any, ledger: Ledger, same: Callable[[Any], bool]) -> None:
    """Whether a structure survives a round trip through pickle in memory, with the same answers."""
    # Nothing from outside is ever unpickled: the bytes are made and read here.
    from pickle import dumps, loads

    try:
        again = loads(dumps(structure))
    except Exception as error:
        ledger.warning(
            "pickle", f"does not survive pickling ({type(error).__name__}: {shown(str(error))}), so it cannot be sent to "
            "other processes; define its class in a module and keep no lambdas in it"
        )  # fmt: skip
        return
    ledger.passed("pickle", None)
    if not same(again):
        ledger.warning("pickle", "answers differently after a round trip through pickle; __getstate__ loses something")


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
    """Said when adding the loss changed nothing."""


def compare(
    ledger: Ledger, i: int, claims: Sequence[Claim], found: Sequence[Sequence[Output]], every: Champions,
    listed: Champions | None,
) -> None:  # fmt: skip
    """Whether the outputs found are the best of all met, and no better than the best of a full list."""
    for row, claim in enumerate(claims):
        for k, output in enumerate(found[row]):
            mine, most = float(output.values[row, k]), float(every.values[row, k])
            said = f"{claim.call} returned {shown(output.y)} with {claim.what} {mine:.10g}"
            if differ(mine, most):
                best = every.who[row][k]
                idle = row == 1 and not differ(float(output.scores[k]), float(found[0][k].scores[k]))
                ledger.fault(
                    claim.check, i, f"the {claim.check} is not the maximum: {said}, but {shown(best.y)} ({best.source}) has "
                    f"{most:.10g}; {claim.wanted}{claim.hint if idle else ''}"
                )  # fmt: skip
            elif listed is not None and differ(mine, float(listed.values[row, k])):
                ledger.fault(
                    claim.check, i, f"{said}, above the best of the {listed.count} outputs listed, "
                    f"{listed.values[row, k]:.10g}; return an allowed output, or list it"
                )  # fmt: skip
            else:
                ledger.passed(claim.check, i)
