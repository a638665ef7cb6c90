"""Best label sequences of a chain: one score per label and step, one per pair of neighbouring labels.

The score of labels ``y`` is ``initial[y_0] + sum_t unary[t, y_t] + sum_t transition[y_(t-1), y_t] + final[y_(T-1)]``.
Scores are finite or ``-inf`` (forbidden). All cores add in this order from the left, so equal sequences get
bit-equal scores from each of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._compiled import compiled
from ..errors import DataError
from .checks import Floats, Ints, check_mask, check_scores

__all__ = ["viterbi", "viterbi_k_best", "max_marginals", "viterbi_core", "k_best_core", "max_marginals_core"]


@compiled
def advance_core(scores: Floats, n_labels: int, transition: Floats, out: Floats) -> None:
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
def forward_core(
    unary: Floats, n_steps: int, n_labels: int, initial: Floats, transition: Floats, chart: Floats
) -> None:
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
def viterbi_core(
    unary: Floats, n_steps: int, n_labels: int, initial: Floats, final: Floats, transition: Floats, out: Ints
) -> float:
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


@compiled
def merge_core(
    scores: Floats,
    n_lists: int,
    k: int,
    added: Floats,
    offset: int,
    stride: int,
    head: Ints,
    out_scores: Floats,
    out_from: Ints,
) -> int:
    """Merge sorted lists, keep the ``k`` best, and return how many there are.

    List ``s`` is ``scores[s * k : (s + 1) * k]``, falling, ended by ``-inf`` if shorter, and shifted by
    ``added[offset + s * stride]``. ``out_from`` receives positions in ``scores``; lower lists win ties.
    """
    head[:n_lists] = 0
    for found in range(k):
        top = -np.inf
        chosen = -1
        for s in range(n_lists):
            if head[s] < k:
                score = scores[s * k + head[s]] + added[offset + s * stride]
                if score > top:
                    top = score
                    chosen = s
        if chosen < 0:
            return found
        out_scores[found] = top
        out_from[found] = chosen * k + head[chosen]
        head[chosen] += 1
    return k


@compiled
def k_best_core(
    unary: Floats,
    n_steps: int,
    n_labels: int,
    initial: Floats,
    final: Floats,
    transition: Floats,
    k: int,
    out: Ints,
    out_scores: Floats,
) -> int:
    """The ``k`` best label sequences, best first; returns how many there are (at most ``k``).

    As `viterbi_core`, but ``n_steps >= 1``; sequence ``r`` goes to ``out[r * n_steps : (r + 1) * n_steps]`` (int32) and
    its score to ``out_scores[r]``. Ties are in the order of the labels read backwards from the end.
    """
    width = n_labels * k
    scores = np.full(n_steps * width, -np.inf)
    origin = np.empty(n_steps * width, np.int64)
    head = np.empty(n_labels, np.int64)
    for label in range(n_labels):
        scores[label * k] = unary[label] + initial[label]
    for t in range(1, n_steps):
        before = scores[(t - 1) * width : t * width]
        for label in range(n_labels):
            start = t * width + label * k
            here = scores[start : start + k]
            n = merge_core(before, n_labels, k, transition, label, n_labels, head, here, origin[start : start + k])
            for rank in range(n):
                here[rank] += unary[t * n_labels + label]
    last = scores[(n_steps - 1) * width :]
    ends = np.empty(k, np.int64)
    found: int = merge_core(last, n_labels, k, final, 0, 1, head, out_scores, ends)
    for r in range(found):
        at = ends[r]
        for t in range(n_steps - 1, -1, -1):
            out[r * n_steps + t] = at // k
            at = origin[t * width + at]
    return found


@compiled
def max_marginals_core(
    unary: Floats, n_steps: int, n_labels: int, initial: Floats, final: Floats, transition: Floats, out: Floats
) -> None:
    """Set ``out[t * n_labels + label]`` to the best score of a sequence with ``label`` at step ``t >= 0``."""
    if n_steps == 0:
        return
    forward_core(unary, n_steps, n_labels, initial, transition, out)
    reverse = np.empty(n_labels * n_labels)
    for source in range(n_labels):
        for to in range(n_labels):
            reverse[to * n_labels + source] = transition[source * n_labels + to]
    rest = final.copy()  # best score of what follows each label
    with_own = np.empty(n_labels)
    for t in range(n_steps - 1, -1, -1):
        for label in range(n_labels):
            out[t * n_labels + label] += rest[label]
            with_own[label] = unary[t * n_labels + label] + rest[label]
        advance_core(with_own, n_labels, reverse, rest)


def viterbi(
    unary: ArrayLike,
    transition: ArrayLike,
    initial: ArrayLike | None = None,
    final: ArrayLike | None = None,
    allowed: ArrayLike | None = None,
) -> tuple[NDArray[np.int64], float]:
    """Best label sequence of a chain.

    Parameters
    ----------
    unary : array_like of shape (n_steps, n_labels)
        Score of each label at each step. All scores are finite, or ``-inf`` for what is forbidden.
    transition : array_like of shape (n_labels, n_labels)
        ``transition[a, b]`` is the score of label ``a`` followed by label ``b``.
    initial, final : array_like of shape (n_labels,), optional
        Added for the first and for the last label; zeros by default.
    allowed : array_like of bool of shape (n_steps, n_labels), optional
        False forbids a label at a step: for partly known labels.

    Returns
    -------
    labels : int64 array of shape (n_steps,)
        The lowest label wins ties, first at the end, then at each step backwards.
    score : float
        Its score; 0.0 without steps.

    Raises
    ------
    DataError
        Wrong shapes, NaN or ``+inf``, or every sequence is forbidden.
    """
    theta, shape, starts, ends, pairs = _chain(unary, transition, initial, final, allowed)
    labels = np.zeros(shape[0], np.int32)
    score = float(viterbi_core(theta, *shape, starts, ends, pairs, labels))
    if score == -np.inf:
        raise DataError(
            "every label sequence is forbidden: each meets a score of -inf; allow more labels or transitions"
        )
    return labels.astype(np.int64), score


def viterbi_k_best(
    unary: ArrayLike,
    transition: ArrayLike,
    k: int,
    initial: ArrayLike | None = None,
    final: ArrayLike | None = None,
    allowed: ArrayLike | None = None,
) -> list[tuple[NDArray[np.int64], float]]:
    """The ``k`` best label sequences of a chain, best first; fewer where fewer are allowed, none of them twice.

    The arrays are those of `viterbi`, and so is the first sequence. Ties are in the order of the labels read backwards
    from the end. Memory and time grow with ``n_steps * n_labels * k`` and ``n_steps * n_labels**2 * k``.

    Returns
    -------
    list of (labels, score)
        ``labels`` is an int64 array of shape (n_steps,).

    Raises
    ------
    DataError
        ``k`` is not an integer of at least 1, wrong shapes, NaN or ``+inf``.
    """
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
        raise DataError(f"k is {k!r}: it must be an integer of at least 1")
    theta, (n_steps, n_labels), starts, ends, pairs = _chain(unary, transition, initial, final, allowed)
    if n_steps == 0:
        return [(np.zeros(0, np.int64), 0.0)]
    k = min(int(k), n_labels**n_steps)
    labels, scores = np.zeros(k * n_steps, np.int32), np.zeros(k)
    found = int(k_best_core(theta, n_steps, n_labels, starts, ends, pairs, k, labels, scores))
    rows = labels.reshape(k, n_steps).astype(np.int64)
    return [(rows[r].copy(), float(scores[r])) for r in range(found)]


def max_marginals(
    unary: ArrayLike,
    transition: ArrayLike,
    initial: ArrayLike | None = None,
    final: ArrayLike | None = None,
    allowed: ArrayLike | None = None,
) -> Floats:
    """Best score of a label sequence through each label of each step.

    The arrays are those of `viterbi`. The largest entry of each row is the score of the best sequence (up to rounding);
    how far the others stay behind says how sure a label is.

    Returns
    -------
    float64 array of shape (n_steps, n_labels)
        ``-inf`` where every sequence through the label is forbidden.

    Raises
    ------
    DataError
        Wrong shapes, NaN or ``+inf``.
    """
    theta, shape, starts, ends, pairs = _chain(unary, transition, initial, final, allowed)
    out = np.empty(theta.size)
    max_marginals_core(theta, *shape, starts, ends, pairs, out)
    return out.reshape(shape)


def _chain(
    unary: ArrayLike,
    transition: ArrayLike,
    initial: ArrayLike | None,
    final: ArrayLike | None,
    allowed: ArrayLike | None,
) -> tuple[Floats, tuple[int, int], Floats, Floats, Floats]:
    """Check the scores of a chain; give them flat, as the cores take them, and the shape of ``unary``."""
    scores = check_scores(unary, "unary", (None, None))
    n_steps, n_labels = scores.shape
    if n_labels == 0:
        raise DataError("unary has no labels: its second dimension must be at least 1")
    pairs = check_scores(transition, "transition", (n_labels, n_labels))
    starts = np.zeros(n_labels) if initial is None else check_scores(initial, "initial", (n_labels,))
    ends = np.zeros(n_labels) if final is None else check_scores(final, "final", (n_labels,))
    if allowed is not None:
        mask = check_mask(allowed, "allowed", scores.shape)
        if not mask.any(axis=1).all():
            raise DataError(
                f"allowed[{int(np.argmin(mask.any(axis=1)))}] forbids every label: allow at least one a step"
            )
        scores[~mask] = -np.inf
    return scores.ravel(), (n_steps, n_labels), starts, ends, pairs.ravel()
