"""A cutting-plane method on linear machines whose rows grow a hundredfold: its rounds do not.

Joachims (KDD 2006): at fixed ``lambda = 1 / (C n)`` the number of planes to a given gap is bounded whatever ``n`` is,
so the time is linear in the rows. Measured twice, each with the hinge loss, no intercept and one thread: with planes at
the minimisers of the model, as there, and with the line search of Franc and Sonnenburg (JMLR 2009), the default. Bars:
rounds at most 1.5 times those of the smallest set, and the line search at most a third of the rounds without it.

The table is printed, the figure written to ``results/one_slack_linear.png`` beside this file.

``python benchmarks/one_slack_linear.py``
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from common import Meter, child, known, verdict

LAMBDA = 1e-3
FEATURES = 20
TOL = 1e-3
SIZES = (10_000, 100_000, 1_000_000)
METHODS = {"minimiser of the model": 1.0, "line search": 0.01}
GROWTH, SHARE = 1.5, 1 / 3
PICTURE = Path(__file__).parent / "results" / "one_slack_linear.png"


def measure(n: int, share: float) -> dict[str, Any]:
    """One fit; the fields of a row of the table."""
    import numpy as np

    from maxmargin import SVMClassifier
    from maxmargin.solvers.bundle import Bundle

    rng = np.random.default_rng(0)
    truth = rng.normal(size=FEATURES) / FEATURES**0.5
    X = rng.normal(size=(n, FEATURES))
    y = X @ truth + 0.5 * rng.normal(size=n) > 0.0
    solver = Bundle(share=share)
    options = {"fit_intercept": False, "tol": TOL, "solver": solver, "max_passes": 5000}
    SVMClassifier(**options).fit(X[:200], y[:200])  # load the compiled code
    with Meter() as meter:
        model = SVMClassifier(C=1.0 / (LAMBDA * n), **options).fit(X, y)
    found = model.certificate_
    return {"cpu": meter.seconds, "rounds": found.passes, "gap": found.relative_gap, "mean": found.primal * LAMBDA}


def draw(rows: dict[str, list[dict[str, Any]]]) -> None:
    """Rounds and seconds against the number of rows."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 3.4), layout="constrained")
    for place, key, what in ((1, "rounds", "rounds"), (2, "cpu", "CPU seconds")):
        ax = figure.add_subplot(1, 2, place)
        for (name, found), marker in zip(rows.items(), "os", strict=True):
            ax.loglog(SIZES, [row[key] for row in found], marker=marker, label=name)
        ax.set(xlabel="rows", ylabel=what)
        ax.set_ylim(bottom=1.0 if key == "rounds" else None)
        ax.grid(alpha=0.3)
        ax.legend()
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=150)
    print(f"  figure: {PICTURE}", flush=True)


def main() -> bool:
    print(f"Cutting planes on {FEATURES} dense features, lambda {LAMBDA:g}, to a relative gap of {TOL:g}", flush=True)
    print("  method                        rows   rounds   CPU s   gap      lambda P", flush=True)
    rows: dict[str, list[dict[str, Any]]] = {}
    for name, share in METHODS.items():
        rows[name] = []
        for n in SIZES:
            row = child(__file__, "measure", str(n), str(share))
            rows[name].append(row)
            print(
                f"  {name:24} {n:9,} {row['rounds']:8} {row['cpu']:7.2f}   {row['gap']:.1e}  {row['mean']:.4f}",
                flush=True,
            )
    draw(rows)
    good = []
    for name, found in rows.items():
        good.append(verdict(f"growth of the rounds, {name}", found[-1]["rounds"] / found[0]["rounds"], GROWTH))
    plain, searched = (rows[name][-1]["rounds"] for name in METHODS)
    good.append(verdict("rounds with the line search / without", searched / plain, SHARE))
    return all(good)


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        print(json.dumps(measure(int(sys.argv[2]), float(sys.argv[3]))))
    else:
        known(sys.argv[1:], ("measure",))
        sys.exit(0 if main() else 1)
