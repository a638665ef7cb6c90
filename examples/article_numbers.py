"""Read numbers with a check digit (EAN-13, ISBN-13) from images: a compiled structure of one's own.

docs/tutorial_own_structure.md explains it step by step.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits

from maxmargin import StructuredSVM, check_structure
from maxmargin.structures import Encoded, RowGroup, Structure, compiled, make_pack, n_rows, true_output

pixels, digit_of = load_digits(return_X_y=True)
images = np.column_stack([pixels / 16.0, np.ones(len(pixels))])  # 64 pixels and a constant


class CheckedNumbers(Structure):
    @compiled
    def decode(pack, i, theta, out):
        n = n_rows(pack, i)
        best, digit = np.full((n + 1, 10), -np.inf), np.zeros((n + 1, 10), np.int32)
        best[0, 0] = 0.0
        for t in range(n):
            for before in range(10):
                for d in range(10):
                    after, score = (before + (1, 3)[t % 2] * d) % 10, best[t, before] + theta[10 * t + d]
                    if score > best[t + 1, after]:
                        best[t + 1, after], digit[t + 1, after] = score, d
        rest = 0
        for t in range(n - 1, -1, -1):
            out[t] = digit[t + 1, rest]
            rest = (rest - (1, 3)[t % 2] * out[t]) % 10
        return best[n, 0]

    @compiled
    def parts(pack, i, out, parts):
        for t in range(n_rows(pack, i)):
            parts[t] = 10 * t + out[t]
        return n_rows(pack, i)

    @compiled
    def augment(pack, i, theta):
        for t, digit in enumerate(true_output(pack, i)):
            theta[10 * t + digit] -= 1.0
        return n_rows(pack, i)

    @compiled
    def loss(pack, i, out):
        return np.sum(out[: n_rows(pack, i)] != true_output(pack, i))

    def encode(self, X, Y=None):
        start = np.concatenate([[0], np.cumsum([len(x) for x in X])])
        truth = {} if Y is None else dict(target=np.concatenate(Y), target_start=start)
        pack = make_pack([RowGroup(10, start, dense=np.concatenate(X))], **truth)
        return Encoded.of(pack, n_output=np.diff(start).max(), n_parts=np.diff(start).max())

    def output(self, encoded, i, out):
        return out[: n_rows(encoded.pack, i)]


def written(rng, n, pool, length=13):
    """Numbers with a right check digit, and an image from the pool for each of their digits."""
    X, Y = [], []
    for _ in range(n):
        y = rng.integers(0, 10, length)
        while (y[0::2].sum() + 3 * y[1::2].sum()) % 10:
            y[-1] = (y[-1] + 1) % 10
        X.append(images[[rng.choice(pool[digit_of[pool] == d]) for d in y]])
        Y.append(y)
    return X, Y


def main():
    """Learn from 100 numbers, read 300 others."""
    rng = np.random.default_rng(0)
    shuffled = rng.permutation(len(images))
    X, Y = written(rng, 100, shuffled[:300])
    X_test, Y_test = written(rng, 300, shuffled[300:])
    print(check_structure(CheckedNumbers(), *written(rng, 5, shuffled[:300], length=3)))
    model = StructuredSVM(CheckedNumbers(), C=0.1, random_state=0).fit(X, Y)
    print(model.certificate_)
    print(f"numbers of the test read without an error: {model.score(X_test, Y_test):.0%}")
    return model


if __name__ == "__main__":
    main()
