"""What one's own structure costs: a user's compiled chain against the built-in one, and the overhead on plain Python.

Data: OCR letters (128 pixels and a constant, 26 labels; the 626 words of fold 0), from the folder in MAXMARGIN_DATA or
from ``../shared/data`` beside the checkout. Both comparisons take the time of passes of Frank-Wolfe as it is used
by default, that is with its sweeps over cached planes: ``python benchmarks/own_structure.py``.
"""

from __future__ import annotations

import os
import time
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.solvers.base import Task
from maxmargin.solvers.frank_wolfe import FrankWolfe
from maxmargin.solvers.oracle import make_oracle
from maxmargin.structures import Encoded, RowGroup, Structure, compiled, make_pack, n_rows, true_output
from maxmargin.structures.attributes import AttributeIndex, encode_tokens
from maxmargin.structures.sequence import Sequence

K = 26
PASSES = 8
COMPILED_BAR = 1.5
OVERHEAD_BAR = 0.15


class OwnChain(Structure):
    """Label chains as a user would write them: plain loops, own Viterbi, nothing of the built-in structure."""

    @compiled
    def decode(pack, i, theta, out):
        n = n_rows(pack, i)
        first, last, step = n * K, (n + 1) * K, (n + 2) * K
        best, back = np.empty((n, K)), np.empty((n, K), np.int32)
        for b in range(K):
            best[0, b] = theta[first + b] + theta[b]
        for t in range(1, n):
            for b in range(K):
                best[t, b] = -np.inf
            for a in range(K):
                for b in range(K):
                    score = best[t - 1, a] + theta[step + a * K + b]
                    if score > best[t, b]:
                        best[t, b], back[t, b] = score, a
            for b in range(K):
                best[t, b] += theta[t * K + b]
        label = np.argmax(best[n - 1] + theta[last : last + K])
        score = best[n - 1, label] + theta[last + label]
        for t in range(n - 1, -1, -1):
            out[t] = label
            label = back[t, label]
        return score

    @compiled
    def parts(pack, i, out, parts):
        n = n_rows(pack, i)
        parts[0], parts[1] = n * K + out[0], (n + 1) * K + out[n - 1]
        for t in range(n):
            parts[2 + t] = t * K + out[t]
        for t in range(1, n):
            parts[1 + n + t] = (n + 2) * K + out[t - 1] * K + out[t]
        return 2 * n + 1

    @compiled
    def augment(pack, i, theta):
        for t, label in enumerate(true_output(pack, i)):
            theta[t * K + label] -= 1.0 / n_rows(pack, i)
        return 1.0

    @compiled
    def loss(pack, i, out):
        return np.mean(out[: n_rows(pack, i)] != true_output(pack, i))

    def encode(self, X: list[Any], Y: list[Any] | None = None) -> Encoded:
        start = np.concatenate([[0], np.cumsum([len(x) for x in X])])
        on = [np.flatnonzero(row) for x in X for row in x]
        ptr = np.concatenate([[0], np.cumsum([len(row) for row in on])])
        rows = RowGroup(K, start, indptr=ptr, indices=np.concatenate(on), n_sparse=X[0].shape[1])
        truth = {} if Y is None else dict(target=np.concatenate(Y), target_start=start)
        longest = int(np.diff(start).max())
        return Encoded.of(make_pack([rows], n_shared=K * (K + 2), **truth), n_output=longest, n_parts=2 * longest + 1)

    def output(self, encoded: Encoded, i: int, out: Any) -> Any:
        return out[: n_rows(encoded.pack, i)]


class PlainChain:
    """The same in plain Python, with NumPy for each step of the Viterbi recursion."""

    def joint_features(self, x: Any, y: Any) -> Any:
        emission = np.zeros((x.shape[1], K))
        ends, transition = np.zeros((2, K)), np.zeros((K, K))
        for row, label in zip(x, y, strict=True):
            emission[:, label] += row
        ends[0, y[0]] = ends[1, y[-1]] = 1.0
        for before, label in pairwise(y):
            transition[before, label] += 1.0
        return np.concatenate([emission.ravel(), ends.ravel(), transition.ravel()])

    def loss(self, y_true: Any, y: Any) -> Any:
        return np.mean(y != y_true)

    def argmax(self, x: Any, w: Any, y_true: Any = None) -> Any:
        n, n_emission = len(x), x.shape[1] * K
        unary = x @ w[:n_emission].reshape(-1, K)
        first, last = w[n_emission:][:K], w[n_emission + K :][:K]
        transition = w[n_emission + 2 * K :].reshape(K, K)
        if y_true is not None:
            unary += 1.0 / n
            unary[np.arange(n), y_true] -= 1.0 / n
        best, back = unary[0] + first, []
        for row in unary[1:]:
            score = best[:, None] + transition
            back.append(score.argmax(0))
            best = score.max(0) + row
        y = np.empty(n, np.int64)
        y[-1] = np.argmax(best + last)
        for t in range(n - 1, 0, -1):
            y[t - 1] = back[t - 1][y[t]]
        return y


class Timed:
    """A plain structure whose methods are timed.

    The clock itself takes about half a microsecond a call, part of it outside of what it measures: :meth:`seconds`
    leaves out what it takes in a loop of calls of an empty method, which is the least that it can be.
    """

    def __init__(self, structure: Any) -> None:
        self.structure = structure
        self.spent: list[float] = []

    def __getattr__(self, name: str) -> Any:
        method, spent, now = getattr(self.structure, name), self.spent, time.perf_counter

        def timed(*args: Any) -> Any:
            begin = now()
            result = method(*args)
            spent.append(now() - begin)
            return result

        self.__dict__[name] = timed
        return timed

    def seconds(self, since: int = 0) -> tuple[float, float]:
        """Seconds inside the methods since that many calls, and seconds that the clock took outside of them."""
        inside, outside = clock_cost()
        calls = len(self.spent) - since
        return sum(self.spent[since:]) - calls * inside, calls * outside


class Empty:
    """A method that does nothing."""

    def loss(self, y_true: Any, y: Any) -> None:
        """Do nothing."""


@cache
def clock_cost() -> tuple[float, float]:
    """Seconds a call that the clock of :class:`Timed` adds to the time inside a method, and outside of it."""
    calls, least = range(1000), np.full(3, np.inf)
    for _ in range(50):
        clock = Timed(Empty())
        plain, timed = Empty().loss, clock.loss
        begin = time.perf_counter()
        for _ in calls:
            plain(0, 0)
        middle = time.perf_counter()
        for _ in calls:
            timed(0, 0)
        end = time.perf_counter()
        least = np.minimum(least, [middle - begin, sum(clock.spent), end - middle])
    bare, inside, whole = least / len(calls)
    return max(inside - bare, 0.0), whole - inside


def letters() -> tuple[list[Any], list[Any]]:
    """Images (length, 129) and labels of the words of fold 0."""
    root = Path(__file__).resolve().parents[1]
    folder = Path(os.environ.get("MAXMARGIN_DATA") or root.parent / "shared" / "data").expanduser()
    path = folder / "ocr_letters" / "ocr_letters.npz"
    if not path.exists():
        raise SystemExit(f"no OCR letters at {path}: set MAXMARGIN_DATA")
    data = np.load(path)
    pixels = np.unpackbits(data["pixels_packed"], axis=1).astype(np.float64)
    pixels = np.column_stack([pixels, np.ones(len(pixels))])
    start, labels = data["offsets"], data["labels"].astype(np.int64)
    words = [slice(start[k], start[k + 1]) for k in np.flatnonzero(data["folds"] == 0)]
    return [pixels[word] for word in words], [labels[word] for word in words]


def tokens_of(X: list[Any]) -> Any:
    """The same images for the built-in structure."""
    names = [[set(np.flatnonzero(row).tolist()) for row in x] for x in X]
    return encode_tokens(names, AttributeIndex(range(X[0].shape[1])), grow=True)


def passes(
    structure: Any, X: Any, Y: Any, clock: Any = None, solver: FrankWolfe = FrankWolfe()
) -> tuple[float, float, float]:
    """Seconds of all passes but the first, seconds inside the clocked methods, and the dual value in the end.

    Both are without what the clock itself takes.
    """
    oracle, _ = make_oracle(structure, X, Y)
    n = oracle.n_examples
    task = Task(oracle, C=10.0, weight=np.ones(n), examples=np.arange(n), rng=np.random.default_rng(0), tol=0.0)
    run = solver.start(task)
    run.advance()
    calls = len(clock.spent) if clock else 0
    begin = time.perf_counter()
    for _ in range(PASSES):
        run.advance()
    seconds = time.perf_counter() - begin
    if not clock:
        return seconds, 0.0, run.dual()
    inside, between = clock.seconds(calls)
    return seconds - between - (sum(clock.spent[calls:]) - inside), inside, run.dual()


def compare_compiled(X: list[Any], Y: list[Any]) -> bool:
    """One's own compiled structure against the built-in one."""
    tokens, builtin = tokens_of(X), Sequence(K, normalize=True)
    best = [np.inf, np.inf]
    duals = [0.0, 0.0]
    for repeat in range(4):
        for which, (structure, data) in enumerate(((OwnChain(), X), (builtin, tokens))):
            seconds, _, duals[which] = passes(structure, data, Y)
            if repeat:  # the first one compiles
                best[which] = min(best[which], seconds / PASSES)
    if abs(duals[0] - duals[1]) > 1e-6 * abs(duals[1]):
        raise SystemExit(f"the two structures are not the same problem: dual {duals[0]:.10g} and {duals[1]:.10g}")
    ratio = best[0] / best[1]
    print(
        f"compiled chain: one's own {1e3 * best[0]:.1f} ms a pass, built-in {1e3 * best[1]:.1f} ms: "
        f"ratio {ratio:.2f} (at most {COMPILED_BAR}) {verdict(ratio <= COMPILED_BAR)}"
    )
    return ratio <= COMPILED_BAR


def lines(X: list[Any], Y: list[Any], words: int) -> tuple[list[Any], list[Any]]:
    """Words strung into longer sequences."""
    starts = range(0, len(X) - words + 1, words)
    return [np.concatenate(X[k : k + words]) for k in starts], [np.concatenate(Y[k : k + words]) for k in starts]


def measure_overhead(X: list[Any], Y: list[Any]) -> bool:
    """What the library adds to the time that a structure in plain Python spends in its own methods.

    The bar is on visits (``sweeps=0``): sweeps over cached planes are extra work that saves calls of the methods.
    """
    good = True
    cases = (
        ("words", 1, FrankWolfe(sweeps=0)),
        ("lines of 6 words", 6, FrankWolfe(sweeps=0)),
        ("words, sweeps", 1, FrankWolfe()),
    )
    for name, words, solver in cases:
        XX, YY = lines(X, Y, words)
        rows = []
        for _ in range(4):
            clock = Timed(PlainChain())
            seconds, inside, _ = passes(clock, XX, YY, clock, solver)
            rows.append((seconds / inside - 1.0, seconds, inside))
        overhead, seconds, inside = min(rows[1:])  # the first one compiles
        per_visit = 1e6 / (PASSES * len(XX))
        barred = solver.sweeps == 0
        print(
            f"plain Python chain, {name}: {per_visit * inside:.0f} us a visit inside its methods, "
            f"{per_visit * (seconds - inside):.0f} us outside: overhead {overhead:.0%} "
            + (f"(at most {OVERHEAD_BAR:.0%}) {verdict(overhead <= OVERHEAD_BAR)}" if barred else "(no bar)")
        )
        good = good and (overhead <= OVERHEAD_BAR or not barred)
    return good


def verdict(good: bool) -> str:
    """The last word of a line."""
    return "ok" if good else "MISSED"


def main() -> bool:
    """Both comparisons; whether both bars were met."""
    X, Y = letters()
    results = [compare_compiled(X, Y), measure_overhead(X, Y)]
    return all(results)


if __name__ == "__main__":
    import sys

    from common import known

    known(sys.argv[1:], ())
    raise SystemExit(0 if main() else 1)
