"""Read a row of a Sudoku: nine images of digits, each digit from 1 to 9 once. A structure in plain Python.

The best reading is an assignment of digits to images, which SciPy finds. Any search that returns the maximum will do.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_digits

from maxmargin import StructuredSVM, check_structure


class SudokuRow:
    """Permutations of the digits: ``y[t]`` is the digit of image ``t``, minus 1."""

    def joint_features(self, x, y):
        return (x.T @ np.eye(9)[y]).ravel()

    def loss(self, y_true, y):
        return np.mean(y != y_true)

    def argmax(self, x, w, y_true=None):
        score = x @ w.reshape(-1, 9)
        if y_true is not None:
            score = score + (np.arange(9) != y_true[:, None]) / 9
        return linear_sum_assignment(score, maximize=True)[1]


def written(rng, n, pool):
    """Images (9, 65) of ``n`` rows and their digits."""
    pixels, digit_of = load_digits(return_X_y=True)
    images = np.column_stack([pixels / 16.0, np.ones(len(pixels))])
    Y = [rng.permutation(9) for _ in range(n)]
    X = [images[[rng.choice(pool[digit_of[pool] == digit + 1]) for digit in y]] for y in Y]
    return X, Y


def main():
    """Learn from 40 rows, read 200 others."""
    rng = np.random.default_rng(0)
    images = rng.permutation(1797)
    X, Y = written(rng, 40, images[:300])
    X_test, Y_test = written(rng, 200, images[300:])
    print(check_structure(SudokuRow(), X[:3], Y[:3]))
    model = StructuredSVM(SudokuRow(), C=1.0, random_state=0).fit(X, Y)
    print(model.certificate_)
    found = {
        "that each digit stands once ignored": [(x @ model.coef_.reshape(-1, 9)).argmax(1) for x in X_test],
        "as a whole": model.predict(X_test),
    }
    share = {name: np.mean([np.array_equal(y, z) for y, z in zip(ys, Y_test)]) for name, ys in found.items()}
    for name, value in share.items():
        print(f"rows without an error, {name}: {value:.0%}")
    return model, share


if __name__ == "__main__":
    main()
