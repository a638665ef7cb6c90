"""Constituency parsing of the GUM treebank: the tree SVM against the treebank grammar (PCFG) with the same rules.

Trained on the sentences of at most 25 words of the training part, tested on those of at most 25 and of at most 40 words
of the test part. Words are the only input of both parsers: tagging them is part of the task. Functional tags are
stripped; brackets are scored without the root and the tags. The trees of this treebank are silver: parser output from
gold tags. Both parsers use one grammar (unary chains folded, factored to the right, horizontal Markov order 1, the best
for both on the dev part).

At the end all solvers minimise the same objective over short sentences (``python benchmarks/gum_parsing.py agree`` does
that alone); the perceptrons minimise none and are left out.

Bars: F1 at least 3 points above the PCFG; at most 30 s for a pass over 1,000 sentences of at most 25 words, one thread;
one optimum for all solvers. ``python benchmarks/gum_parsing.py choose`` chose ``C`` and ``SMOOTHING``, on the dev
part's sentences of at most 40 words.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from common import Meter, child, known, need, verdict

C = 0.2
SMOOTHING = 3.0
PASSES = 12
TRAIN_WORDS = 25
TEST_WORDS = (25, 40)

# the solvers side by side: sentences, their fewest and most words, and the relative gap at which each stops
AGREE_C = 0.01
AGREE_SENTENCES, AGREE_WORDS = 50, (5, 8)
AGREE = {
    "frank_wolfe pairwise": 1e-6,
    "frank_wolfe away": 1e-6,
    "frank_wolfe plain": 1e-4,  # sublinear: every further digit takes ten times as long
    "n_slack": 1e-6,
    "one_slack": 1e-6,
}


def load(part: str, most: int, fewest: int = 1) -> tuple[list[Any], list[Any]]:
    """Sentences and trees of so many words."""
    from maxmargin.data.brackets import read_trees
    from maxmargin.structures.grammar import clean

    read = map(clean, read_trees(str(need("gum_constituency", f"{part}.mrg.gz"))))
    trees = [tree for tree in read if tree is not None and fewest <= len(tree.leaves()) <= most]
    return [tree.leaves() for tree in trees], trees


def pcfg(smoothing: float = SMOOTHING) -> Any:
    """A function that parses."""
    from maxmargin.structures.grammar import Grammar
    from maxmargin.structures.pcfg import TreebankGrammar

    _, trees = load("train", TRAIN_WORDS)
    grammar = Grammar.from_trees(trees)
    return TreebankGrammar.from_trees(grammar, trees, smoothing=smoothing).parse


def svm(C: float = C, passes: int = PASSES, n: int | None = None) -> tuple[Any, Any]:
    """A function that parses, and the certificate."""
    from maxmargin.solvers.compiled_oracle import decode_all
    from maxmargin.solvers.frank_wolfe import FrankWolfe
    from maxmargin.solvers.loop import minimize
    from maxmargin.solvers.oracle import make_oracle
    from maxmargin.structures.tree import TreeStructure

    X, trees = (part[:n] for part in load("train", TRAIN_WORDS))
    structure = TreeStructure.from_trees(X, trees)
    oracle, _ = make_oracle(structure, X, trees)
    found = minimize(oracle, FrankWolfe(), C=C, tol=1e-9, max_passes=passes, random_state=0)

    def parse(sentences: list[Any]) -> list[Any]:
        encoded = structure.encode(sentences)
        start = encoded.extra["output_start"]
        outs, _ = decode_all(structure, encoded, found.w, start)
        return [structure.output(encoded, i, outs[start[i] : start[i + 1]]) for i in range(len(sentences))]

    return parse, found.certificate


def scores(parse: Any, part: str, most: int) -> dict[str, float]:
    from maxmargin.metrics import bracket_scores

    X, trees = load(part, most)
    with Meter() as meter:
        found = parse(X)
    total = bracket_scores(trees, found)
    pairs = [(a, b) for true, tree in zip(trees, found) for a, b in zip(true.tagged_words(), tree.tagged_words())]
    return {
        "f1": total.overall.f1,
        "precision": total.overall.precision,
        "recall": total.overall.recall,
        "exact": total.exact,
        "tags": sum(a == b for a, b in pairs) / len(pairs),
        "sentences": len(X),
        "cpu": meter.seconds,
    }


def run(which: str) -> dict[str, Any]:
    """Train and test one of the parsers."""
    out: dict[str, Any] = {}
    if which == "svm":
        svm(passes=2, n=30)[0]([["A", "word"]])  # load the compiled code
        with Meter() as meter:
            parse, certificate = svm()
        out["passes"], out["relative_gap"] = certificate.passes, certificate.relative_gap
    else:
        pcfg()([["A", "word"]])
        with Meter() as meter:
            parse = pcfg()
    out["train_cpu"], out["train_sentences"] = meter.seconds, len(load("train", TRAIN_WORDS)[0])
    out["test"] = [scores(parse, "test", most) for most in TEST_WORDS]
    out["peak_mb"] = meter.peak_mb
    return out


def choose() -> None:
    """F1 on the dev part for the one number that each parser has."""
    for smoothing in (0.3, 1.0, 3.0):
        print(f"PCFG smoothing {smoothing:4g}  F1 {scores(pcfg(smoothing), 'dev', 40)['f1']:.4f}", flush=True)
    for value in (0.05, 0.1, 0.2, 0.4):
        parse, certificate = svm(value)
        print(f"SVM C {value:5g}  F1 {scores(parse, 'dev', 40)['f1']:.4f}  {certificate}", flush=True)


def fit_with(name: str) -> dict[str, Any]:
    """Certificate of one solver on the short sentences, with CPU seconds."""
    from maxmargin import TreeSVM
    from maxmargin.solvers import by_name
    from maxmargin.solvers.frank_wolfe import FrankWolfe

    steps: Any = name.partition(" ")[2]
    solver = FrankWolfe(steps) if steps else by_name(name)
    fewest, most = AGREE_WORDS
    X, trees = (part[:AGREE_SENTENCES] for part in load("train", most, fewest))
    TreeSVM(C=AGREE_C, solver=solver, tol=0.5, random_state=0).fit(X, trees)  # load the compiled code
    with Meter() as meter:
        model = TreeSVM(C=AGREE_C, solver=solver, tol=AGREE[name], max_passes=300, random_state=0).fit(X, trees)
    return {**model.certificate_.as_dict(), "cpu": meter.seconds}


def agree() -> bool:
    low, high = AGREE_WORDS
    print(f"  all solvers on {AGREE_SENTENCES} sentences of {low} to {high} words, C = {AGREE_C}", flush=True)
    print(f"       {'':20s}  passes  oracle calls  seconds       primal         dual      gap  relative", flush=True)
    found = {}
    for name in AGREE:
        found[name] = row = child(__file__, "solver", name)
        print(
            f"       {name:20s}  {row['passes']:6d}  {row['oracle_calls']:12d}  {row['cpu']:7.1f}  "
            f"{row['primal']:11.7f}  {row['dual']:11.7f}  {row['gap']:7.1e}  {row['relative_gap']:8.2e}",
            flush=True,
        )
    lowest = min(row["primal"] for row in found.values())
    overlap = (max(row["dual"] for row in found.values()) - lowest) / lowest
    missed = max(found[name]["relative_gap"] / tol for name, tol in AGREE.items())
    return all(
        [
            verdict("relative gap over that asked for, worst solver", missed, 1.0),
            verdict("highest lower bound above the lowest objective, relative", overlap, 0.0),
        ]
    )


def main() -> bool:
    print("GUM: tree SVM against the treebank grammar (one thread, CPU seconds)", flush=True)
    found = {which: child(__file__, which) for which in ("pcfg", "svm")}
    for which, result in found.items():
        print(
            f"  {which:4s} trained in {result['train_cpu']:.1f} s on {result['train_sentences']} sentences", flush=True
        )
        for most, test in zip(TEST_WORDS, result["test"]):
            print(
                f"       test, up to {most} words ({test['sentences']} sentences): F1 {test['f1']:.4f}  "
                f"precision {test['precision']:.4f}  recall {test['recall']:.4f}  exact {test['exact']:.3f}  "
                f"tags {test['tags']:.4f}  {test['cpu']:.1f} s"
            )
    mine = found["svm"]
    print(f"       {mine['passes']} passes, relative gap {mine['relative_gap']:.3f}, peak {mine['peak_mb']:.0f} MB")
    ahead = [100 * (a["f1"] - b["f1"]) for a, b in zip(mine["test"], found["pcfg"]["test"])]
    pass_of_1000 = 1000 * mine["train_cpu"] / mine["passes"] / mine["train_sentences"]
    return all(
        [
            *(
                verdict(f"F1 points above the PCFG, up to {most} words", points, 3.0, at_most=False)
                for most, points in zip(TEST_WORDS, ahead)
            ),
            verdict("seconds for a pass over 1,000 sentences (everything included)", pass_of_1000, 30.0),
            agree(),
        ]
    )


if __name__ == "__main__":
    what = sys.argv[1] if len(sys.argv) > 1 else "main"
    known([what], ("main", "svm", "pcfg", "solver", "choose", "agree"))
    if what in ("svm", "pcfg"):
        print(json.dumps(run(what)))
    elif what == "solver":
        print(json.dumps(fit_with(sys.argv[2])))
    elif what == "choose":
        choose()
    elif what == "agree":
        sys.exit(0 if agree() else 1)
    else:
        sys.exit(0 if main() else 1)
