"""Best label sequences of a chain: one score per label and step, one per pair of neighbouring labels.

The score of labels ``y`` is ``initial[y_0] + sum_t unary[t, y_t] + sum_t transition[y_(t-1), y_t] + final[y_(T-1)]``.
Scores are finite or ``-inf`` (forbidden). All cores add in this order from the left, so equal sequences get
bit-equal scores from each of them.
"""

from __future__ import annotations

import numpy as np

from maxmargin._compiled import compiled

__all__ = ["advance_core", "viterbi_core"]


@compiled
def advance_core(scores, n_labels, transition, out):  # type: ignore[no-untyped-def]
    """Set ``out[to] = max over from of scores[from] + transition[from * n_labels + to]``.

    ``out`` must not overlap ``scores``; all arrays are 1-D float64.
    """
    # The inner loop runs over contiguous destinations, which LLVM vectorises; four sources at once save three quarters
    # of the loads and stores of `out` (1.9 times faster than one source at a time). No backpointers are kept: finding
    # the best source again along the one best path costs less than comparing and selecting indices everywhere.
    for to in range(n_labels):
        out[to] = -np.inf
    grouped = n_labels - n_labels % 4
    for source in range(0, grouped, 4):
        s0, s1, s2, s3 = scores[source], scores[source + 1], scores[source + 2], scores[source + 3]
        start = source * n_labels
        row0 = transition[start : start + n_labels]
        row1 = transition[start + n_labels : start + 2 * n_labels]
        row2 = transition[start + 2 * n_labels : start + 3 * n_labels]
        row3 = transition[start + 3 * n_labels : start + 4 * n_labels]
        for to in range(n_labels):
            a, b, c, d = s0 + row0[to], s1 + row1[to], s2 + row2[to], s3 + row3[to]
            a = a if a > b else b
            c = c if c > d else d
            a = a if a > c else c
            out[to] = a if a > out[to] else out[to]
    for source in range(grouped, n_labels):
        s0 = scores[source]
        row0 = transition[source * n_labels : (source + 1) * n_labels]
        for to in range(n_labels):
            a = s0 + row0[to]
            out[to] = a if a > out[to] else out[to]


@compiled
def forward_core(unary, n_steps, n_labels, initial, transition, chart):  # type: ignore[no-untyped-def]
    """Fill ``chart[t * K + label]`` with the best score of a sequence that ends in ``label`` at step ``t``."""
    for label in range(n_labels):
        chart[label] = unary[label] + initial[label]
    for t in range(1, n_steps):
        here = chart[t * n_labels : (t + 1) * n_labels]
        advance_core(chart[(t - 1) * n_labels : t * n_labels], n_labels, transition, here)
        row = unary[t * n_labels : (t + 1) * n_labels]
        for label in range(n_labels):
            here[label] += row[label]


@compiled
def viterbi_core(unary, n_steps, n_labels, initial, final, transition, out):  # type: ignore[no-untyped-def]
    """Best label sequence of a chain, for callers that are compiled themselves.

    Parameters
    ----------
    unary : float64 array (n_steps * n_labels,)
        Score of ``label`` at step ``t`` at ``[t * n_labels + label]``.
    n_steps, n_labels : int
        ``n_steps`` may be 0; ``n_labels`` is at least 1.
    initial, final : float64 array (n_labels,)
        Added for the first and the last label.
    transition : float64 array (n_labels * n_labels,)
        Score of ``from`` followed by ``to`` at ``[from * n_labels + to]``.
    out : int32 array (at least n_steps,)
        Receives the labels in ``out[:n_steps]``. The lowest label wins ties, first at the end, then at each step
        backwards.

    Returns
    -------
    float64
        The best score; 0.0 without steps; ``-inf`` when every sequence is forbidden (``out`` is then left undefined).
        Scores are finite or ``-inf``; this is not checked here. Slices of one buffer may be passed.
    """
    if n_steps == 0:
        return 0.0
    chart = np.empty(n_steps * n_labels)
    forward_core(unary, n_steps, n_labels, initial, transition, chart)
    last = chart[(n_steps - 1) * n_labels : n_steps * n_labels]
    best = -np.inf
    label = 0
    for candidate in range(n_labels):
        score = last[candidate] + final[candidate]
        if score > best:
            best = score
            label = candidate
    if best == -np.inf:
        return best
    out[n_steps - 1] = label
    for t in range(n_steps - 2, -1, -1):
        row = chart[t * n_labels : (t + 1) * n_labels]
        into = label
        top = -np.inf
        for source in range(n_labels):
            score = row[source] + transition[source * n_labels + into]
            if score > top:
                top = score
                label = source
        out[t] = label
    return best
