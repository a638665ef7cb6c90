"""Ranking: 1,000 queries of 100 documents, 136 features, grades 0 to 4, 3.0 million ordered pairs; and one huge query.

C is 1e-5 for each pair. The optimum of the hinge is 15.69138. Bars: a relative gap of 1e-3 within 2 CPU seconds on one
thread, loading of the compiled code left out; the loss and its gradient of a query of a million documents within 2 CPU
seconds, with five grades and with a million. The generator is read from ``bench_data.py`` beside the folder of the
data.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from common import DATA, Meter, best_of, child, known, medians, verdict

C = 1e-5
OPTIMUM = 15.691376


def load() -> tuple[Any, ...]:
    path = DATA.parent / "bench_data.py"
    if not path.exists():
        sys.exit(f"{path} is missing; set MAXMARGIN_DATA to the folder of the data beside it")
    sys.path.insert(0, str(path.parent))
    from bench_data import ranking

    return ranking()


def fit(loss: str) -> dict[str, Any]:
    import numpy as np

    from maxmargin import SVMRanker
    from maxmargin.metrics import ndcg, swapped_pairs

    X, y, X_test, y_test, sizes, test_sizes = load()
    query, test_query = (np.repeat(np.arange(len(m)), m) for m in (sizes, test_sizes))
    SVMRanker(C=C, loss=loss, tol=0.9).fit(X[:2000], y[:2000], query[:2000])  # load the compiled code
    with Meter() as meter:
        model = SVMRanker(C=C, loss=loss).fit(X, y, query)
    found = model.certificate_
    scores = model.predict(X_test)
    return {
        "cpu": meter.seconds,
        "primal": found.primal,
        "dual": found.dual,
        "gap": found.relative_gap,
        "passes": found.passes,
        "swapped": swapped_pairs(y_test, scores, test_query),
        "ndcg": ndcg(y_test, scores, test_query),
        "ndcg_exponential": ndcg(y_test, scores, test_query, gain="exponential"),
    }


def huge() -> dict[str, Any]:
    """Loss and gradient in the scores of one query."""
    import numpy as np

    from maxmargin.solvers.linear.rows import Rows
    from maxmargin.solvers.ranking.queries import group
    from maxmargin.solvers.ranking.task import PairLoss, RankingTask

    rng = np.random.default_rng(0)
    n = 1_000_000
    X = rng.normal(size=(n, 10))
    target = X @ rng.normal(size=10) + rng.normal(size=n)
    out = {}
    for name, y in (("five", np.digitize(target, [0.0, 2.0, 4.0, 6.0]).astype(float)), ("all", target)):
        for loss in ("hinge", "squared_hinge"):
            queries = group(y, np.zeros(n, np.int64))
            task = RankingTask(Rows(X), queries, np.ones(1), loss, 1.0 / queries.pairs.sum(), 1e-3)  # type: ignore[arg-type]
            w = rng.normal(size=10)

            def one(task: Any = task, w: Any = w) -> None:
                at = PairLoss(task, task.scores(w))
                at.cost.sum()
                task.combined(at.beta)

            one()
            out[f"{name} {loss}"] = best_of(one)
    return out


def main(runs: int = 3) -> bool:
    print("ranking, 3.0 million pairs, C = 1e-5 (one thread, CPU seconds, medians)", flush=True)
    good = True
    for loss in ("hinge", "squared_hinge"):
        mine = medians([child(__file__, loss) for _ in range(runs)])
        print(
            f"  {loss}: primal {mine['primal']:.5f}  dual {mine['dual']:.5f}  {mine['passes']:.0f} passes;  test: "
            f"swapped {mine['swapped']:.4f}  NDCG@10 {mine['ndcg']:.4f} (exponential gain "
            f"{mine['ndcg_exponential']:.4f})"
        )
        good &= verdict(f"{loss}: seconds", mine["cpu"], 2.0)
        good &= verdict(f"{loss}: relative gap", mine["gap"], 1e-3)
        if loss == "hinge":
            good &= verdict("hinge: dual below the optimum", mine["dual"], OPTIMUM, form="{:.6f}")
            good &= verdict("hinge: primal over the optimum", mine["primal"] / OPTIMUM - 1.0, 1e-3)
    for name, seconds in child(__file__, "huge").items():
        grades, loss = name.split()
        good &= verdict(f"a million documents, {grades} grades, {loss}: seconds", seconds, 2.0)
    return good


if __name__ == "__main__":
    what = sys.argv[1:] or ["main"]
    if what[0] == "main":
        sys.exit(0 if main() else 1)
    known(what[:1], ("main", "hinge", "squared_hinge", "huge"))
    print(json.dumps(huge() if what[0] == "huge" else fit(what[0])))
