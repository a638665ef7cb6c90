"""What one's own structure costs: a user's compiled chain against the built-in one, and the overhead on plain Python.

Data: OCR letters (128 pixels and a constant, 26 labels, fold 0 as training set), from the folder in MAXMARGIN_DATA or
from ``../shared/data`` beside the checkout. Run alone, on a quiet machine: ``python benchmarks/own_structure.py``.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.solvers.frank_wolfe import FrankWolfe
from maxmargin.solvers.loop import minimize
from maxmargin.solvers.oracle import make_oracle
from maxmargin.structures import Encoded, RowGroup, Structure, compiled, make_pack, n_rows, true_output

K = 26


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
        return out


class PlainChain:
    """The same in plain Python, with NumPy for each step of the Viterbi recursion."""

    def joint_features(self, x, y):
        n_emission = x.shape[1] * K
        out = np.zeros(n_emission + K * (K + 2))
        np.add.at(out[:n_emission].reshape(-1, K).T, y, x)
        out[n_emission + y[0]] += 1.0
        out[n_emission + K + y[-1]] += 1.0
        np.add.at(out, n_emission + 2 * K + y[:-1] * K + y[1:], 1.0)
        return out

    def loss(self, y_true, y):
        return np.mean(y != y_true)

    def argmax(self, x, w, y_true=None):
        n, n_emission = len(x), x.shape[1] * K
        unary = x @ w[:n_emission].reshape(-1, K)
        if y_true is not None:
            unary += 1.0 / n
            unary[np.arange(n), y_true] -= 1.0 / n
        step = w[n_emission + 2 * K :].reshape(K, K)
        best, back = unary[0] + w[n_emission : n_emission + K], []
        for row in unary[1:]:
            score = best[:, None] + step
            back.append(score.argmax(0))
            best = score[back[-1], np.arange(K)] + row
        y = np.empty(n, np.int64)
        y[-1] = np.argmax(best + w[n_emission + K : n_emission + 2 * K])
        for t in range(n - 1, 0, -1):
            y[t - 1] = back[t - 1][y[t]]
        return y


class Timed:
    """A plain structure whose methods are timed."""

    def __init__(self, structure: Any) -> None:
        self.structure, self.seconds = structure, 0.0

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.structure, name)

        def timed(*args: Any) -> Any:
            begin = time.perf_counter()
            try:
                return method(*args)
            finally:
                self.seconds += time.perf_counter() - begin

        self.__dict__[name] = timed
        return timed


def letters() -> tuple[list[Any], list[Any]]:
    """Images (length, 129) and labels of the words of fold 0."""
    root = Path(__file__).resolve().parents[1]
    folder = Path(os.environ.get("MAXMARGIN_DATA") or root.parent / "shared" / "data").expanduser()
    path = folder / "ocr_letters" / "ocr_letters.npz"
    if not path.exists():
        raise SystemExit(f"no OCR letters at {path}: set MAXMARGIN_DATA")
    data = np.load(path)
    pixels = np.unpackbits(data["pixels_packed"], axis=1)
    pixels = np.column_stack([pixels, np.ones(len(pixels), pixels.dtype)])
    start, words = data["offsets"], np.flatnonzero(data["folds"] == 0)
    parts = [slice(start[k], start[k + 1]) for k in words]
    return [pixels[part].astype(np.float64) for part in parts], [data["labels"][part].astype(np.int64) for part in parts]


def seconds_per_pass(structure: Any, X: Any, Y: Any, passes: int, sweeps: int) -> tuple[float, float]:
    """Of one solver run without its start: the difference of a long and a short run, divided by the passes between."""
    seconds = {}
    primal = 0.0
    for n in (1, 1 + passes):
        oracle, _ = make_oracle(structure, X, Y)
        begin = time.perf_counter()
        result = minimize(oracle, FrankWolfe(sweeps=sweeps), C=10.0, tol=1e-9, max_passes=n, random_state=0)
        seconds[n], primal = time.perf_counter() - begin, result.certificate.primal
    return (seconds[1 + passes] - seconds[1]) / passes, primal
