"""A path over C against as many fits of their own: CPU seconds, passes, and whether the objectives agree.

20 values of C from 1e-3 to 1e3, each certified to the default tolerance. Both are measured by turns in the same fresh
single-threaded process, all checks of the data included, the fits one by one on the side of the rival of the path:
medians of the ratios of three rounds (short ones) in each of three processes.

``python benchmarks/path.py [problem ...]``
"""

from __future__ import annotations

import json
import sys
from typing import Any

from common import Meter, child, known, need, verdict

TOL = 1e-3
ROUNDS, LONG = 3, 10.0  # of path and fits by turns in one process, no more after so many seconds
# problem: rows (None: all), parameters of the classifier, bar of the path's time over that of the fits
PROBLEMS: dict[str, tuple[int | None, dict[str, Any], float]] = {
    "a9a": (None, {}, 1 / 3),
    "a9a_squared_hinge": (None, {"loss": "squared_hinge"}, 1 / 3),
    "a9a_logistic": (None, {"loss": "logistic"}, 1 / 3),
    "satimage": (None, {}, 1 / 3),
    # kernel rows and certificates are shared, but pairs of variables take as many steps: at a large C nearly all change
    "satimage_rbf": (2000, {"kernel": "rbf"}, 1 / 3),
    "a9a_rbf": (6000, {"kernel": "rbf", "gamma": 0.05}, 1 / 3),
    # a fit of its own takes a dozen passes
    "sentence_polarity": (None, {}, 1 / 3),
    # so small that a fit takes a few milliseconds, much of it whatever the rows are
    "breast_cancer": (None, {}, 1 / 3),
    "breast_cancer_squared_hinge": (None, {"loss": "squared_hinge"}, 1 / 3),
    "breast_cancer_logistic": (None, {"loss": "logistic"}, 1 / 3),
    "breast_cancer_rbf": (None, {"kernel": "rbf"}, 1 / 3),
}


def load(problem: str) -> tuple[Any, Any]:
    import numpy as np

    import linear

    name = problem.split("_")[0]
    if name == "breast":
        from sklearn.datasets import load_breast_cancer
        from sklearn.preprocessing import StandardScaler

        X, y = load_breast_cancer(return_X_y=True)
        X = StandardScaler().fit_transform(X)
    elif name == "satimage":
        from sklearn.preprocessing import StandardScaler

        from maxmargin.data import read_svmlight

        rows = read_svmlight(str(need("satimage", "satimage.gz")))
        X, y = StandardScaler().fit_transform(rows.X.toarray()), np.asarray(rows.y)
    else:
        X, y = linear.load("sentence_polarity" if name == "sentence" else name)
    n = PROBLEMS[problem][0]
    return X[:n], y[:n]


def measure(problem: str) -> dict[str, Any]:
    """One path and the fits of their own; the fields of a row of the table."""
    import numpy as np

    from maxmargin import SVMClassifier, svm_path

    X, y = load(problem)
    parameters = PROBLEMS[problem][1] | {"random_state": 0, "tol": TOL}
    # load the compiled code, also that of large sets and of a large C
    svm_path(X[:300], y[:300], 5, **parameters)
    svm_path(X, y, [1e-3, 2e-3, 1e3], **parameters)
    rounds = []
    while not rounds or (len(rounds) < ROUNDS and sum(map(sum, rounds)) < LONG):
        with Meter() as together:
            path = svm_path(X, y, **parameters)
        with Meter() as apart:
            fits = [SVMClassifier(C, **parameters).fit(X, y).certificate_ for C in path.Cs.tolist()]
        rounds.append((together.seconds, apart.seconds))
    together_s, apart_s = sorted(rounds, key=lambda each: each[0] / each[1])[len(rounds) // 2]
    pairs = list(zip(path.certificates, fits, strict=True))
    return {
        "path": together_s,
        "fits": apart_s,
        "passes": int(path.passes.sum()),
        "passes_of_fits": sum(found.passes for found in fits),
        "gap": max(one.relative_gap for one, _ in pairs),
        # two answers within the tolerance cannot contradict each other
        "contradiction": max(float(np.maximum(a.dual / b.primal, b.dual / a.primal)) - 1.0 for a, b in pairs),
    }


def run(problem: str) -> bool:
    rows = sorted((child(__file__, "measure", problem) for _ in range(3)), key=lambda row: row["path"] / row["fits"])
    row = rows[1]
    print(
        f"{problem}: path {row['path']:.2f} s in {row['passes']} passes, fits of their own {row['fits']:.2f} s in "
        f"{row['passes_of_fits']} passes",
        flush=True,
    )
    good = [
        verdict("largest gap", row["gap"], TOL, form="{:.1e}"),
        verdict("lower bounds above objectives of the other", row["contradiction"], 1e-9, form="{:.1e}"),
        verdict("time / time of fits", row["path"] / row["fits"], PROBLEMS[problem][2]),
    ]
    return all(good)


def main(names: list[str] | None = None) -> bool:
    print("Path over 20 values of C against fits of their own (one thread, CPU seconds)", flush=True)
    kept = [run(problem) for problem in names or PROBLEMS]
    return all(kept)


if __name__ == "__main__":
    what = sys.argv[1:]
    if what and what[0] == "measure":
        known(what[1:], PROBLEMS)
        print(json.dumps(measure(what[1])))
    else:
        sys.exit(0 if main(known(what, PROBLEMS)) else 1)
