"""Sums over the ordered pairs of a query in ``O(m log m)``, without listing the pairs.

A query has documents with scores ``f`` and grades; a pair ``(a, b)`` has ``grade_a > grade_b``, and is short of
``limit`` where ``f_a - f_b < limit``. When documents are met in the order of their scores, those that make short
pairs with the next one only ever become more, so a Fenwick tree over the grades (Fenwick 1994) answers for each
document how many there are below (or above) its grade, and the sum of any value over them. Sources of the idea for
ranking: Joachims (KDD 2006); Lee and Lin, "Large-scale linear RankSVM" (Neural Computation 2014).
"""

from __future__ import annotations

import numpy as np

from ..._compiled import compiled

__all__ = [
    "list_short", "list_window", "short_pairs", "short_slacks", "sort_queries", "window_size", "worst_partners",
]  # fmt: skip


@compiled
def sort_queries(scores, start, order):
    """Fill ``order`` with the documents of each query ``start[q]:start[q+1]`` by rising score."""
    for q in range(len(start) - 1):
        lo, hi = start[q], start[q + 1]
        places = np.argsort(scores[lo:hi])
        for k in range(hi - lo):
            order[lo + k] = lo + places[k]


@compiled
def _enter(tree, n, g, weight, value):
    """Enter a document of rank ``g`` of ``n`` into the tree."""
    i = g + 1
    while i <= n:
        tree[i, 0] += weight
        tree[i, 1] += weight * value
        i += i & -i


@compiled
def _below(tree, g):
    """Sums of the weights, and of the values times these, of the documents entered with ranks below ``g``."""
    count = total = 0.0
    i = g
    while i > 0:
        count += tree[i, 0]
        total += tree[i, 1]
        i -= i & -i
    return count, total


@compiled
def short_pairs(scores, value, weight, grade, n_grades, start, order, limit, excess, degree, around):
    """Sums over the short pairs of every document; the last three arguments are filled.

    Parameters
    ----------
    scores, value : float64 arrays of shape (m,)
    weight : float64 array of shape (m,)
        A pair counts as often as the product of the weights of its two documents says.
    grade : int64 array of shape (m,)
        Rank of the grade within its query, from 0.
    n_grades : int64 array of shape (n_queries,)
    start : int64 array of shape (n_queries + 1,)
    order : int64 array of shape (m,)
        Documents of each query by rising score, see :func:`sort_queries`.
    limit : float
    excess, degree : float64 arrays of shape (m,)
        Short pairs in which the document is the better one less those in which it is the worse one, and their sum.
    around : float64 array of shape (m,)
        Sum of ``value`` over the partners of these pairs.
    """
    tree = np.zeros((n_grades.max() + 1, 2))
    most = (start[1:] - start[:-1]).max()
    # of one query, in the order of its scores: memory is read from place to place once, and then from end to end
    f, x, v, more, beside = np.empty(most), np.empty(most), np.empty(most), np.empty(most), np.empty(most)
    g = np.empty(most, np.int64)
    for q in range(len(start) - 1):
        lo, m, n = start[q], start[q + 1] - start[q], n_grades[q]
        for k in range(m):
            a = order[lo + k]
            f[k], x[k], v[k], g[k] = scores[a], value[a], weight[a], grade[a]
        tree[: n + 1] = 0.0
        at = m - 1
        for k in range(m - 1, -1, -1):  # the better one of the pair
            while at >= 0 and f[k] - f[at] < limit:
                _enter(tree, n, g[at], v[at], x[at])
                at -= 1
            more[k], beside[k] = _below(tree, g[k])
        tree[: n + 1] = 0.0
        at = 0
        for k in range(m):  # the worse one, with the ranks turned round
            while at < m and f[at] - f[k] < limit:
                _enter(tree, n, n - 1 - g[at], v[at], x[at])
                at += 1
            count, total = _below(tree, n - 1 - g[k])
            b = order[lo + k]
            degree[b] = v[k] * (more[k] + count)
            excess[b] = v[k] * (more[k] - count)
            around[b] = v[k] * (beside[k] + total)


@compiled
def _enter_score(tree, n, g, weight, score):
    """Enter a document of rank ``g`` of ``n``: weights, mean of the scores, and squares around it (Welford 1962)."""
    i = g + 1
    while i <= n:
        tree[i, 0] += weight
        off = score - tree[i, 1]
        tree[i, 1] += off * (weight / tree[i, 0])
        tree[i, 2] += weight * off * (score - tree[i, 1])
        i += i & -i


@compiled
def _slacks_below(tree, g, score, sign, limit):
    """Weights of the documents entered with ranks below ``g``, their slacks beside ``score``, and the squares of these.

    The better one of a pair is the document of that score where ``sign`` is 1, those entered where it is -1.
    """
    count = total = squares = 0.0
    i = g
    while i > 0:
        if tree[i, 0] > 0.0:
            slack = limit - sign * (score - tree[i, 1])
            if slack < 0.0:  # by rounding: those entered are short
                slack = 0.0
            count += tree[i, 0]
            total += tree[i, 0] * slack
            squares += tree[i, 2] + tree[i, 0] * slack * slack
        i -= i & -i
    return count, total, squares


@compiled
def short_slacks(scores, weight, grade, n_grades, start, order, limit, excess, degree, pull, slack, square):
    """Sums of the slacks ``limit - (f_a - f_b)`` of the short pairs, and of their squares.

    Nothing is subtracted but scores, so that beside the rounding of these all sums are right in proportion to what
    they are: with a large ``C`` slacks are tiny, and as differences of sums over all pairs they would be rounding.

    Parameters
    ----------
    scores, weight, grade, n_grades, start, order, limit
        As in :func:`short_pairs`.
    excess, degree : float64 arrays of shape (m,)
        Filled as there.
    pull : float64 array of shape (m,)
        Slacks of the pairs in which the document is the better one, less those in which it is the worse one.
    slack, square : float64 arrays of shape (m,)
        Of the pairs in which the document is the better one: slacks, and their squares.
    """
    tree = np.zeros((n_grades.max() + 1, 3))
    most = (start[1:] - start[:-1]).max()
    f, v, g = np.empty(most), np.empty(most), np.empty(most, np.int64)
    more, beside = np.empty(most), np.empty(most)
    for q in range(len(start) - 1):
        lo, m, n = start[q], start[q + 1] - start[q], n_grades[q]
        for k in range(m):
            a = order[lo + k]
            f[k], v[k], g[k] = scores[a], weight[a], grade[a]
        tree[: n + 1] = 0.0
        at = m - 1
        for k in range(m - 1, -1, -1):  # the better one of the pair
            while at >= 0 and f[k] - f[at] < limit:
                _enter_score(tree, n, g[at], v[at], f[at])
                at -= 1
            more[k], beside[k], squares = _slacks_below(tree, g[k], f[k], 1.0, limit)
            square[order[lo + k]] = v[k] * squares
        tree[: n + 1] = 0.0
        at = 0
        for k in range(m):  # the worse one, with the ranks turned round
            while at < m and f[at] - f[k] < limit:
                _enter_score(tree, n, n - 1 - g[at], v[at], f[at])
                at += 1
            count, total, _squares = _slacks_below(tree, n - 1 - g[k], f[k], -1.0, limit)
            b = order[lo + k]
            degree[b] = v[k] * (more[k] + count)
            excess[b] = v[k] * (more[k] - count)
            slack[b] = v[k] * beside[k]
            pull[b] = slack[b] - v[k] * total


@compiled
def window_size(scores, start, order, low, high):
    """Number of pairs of documents, of whatever grades, with ``low <= difference of scores < high``."""
    total = 0
    for q in range(len(start) - 1):
        near = far = start[q]
        for k in range(start[q], start[q + 1]):
            f = scores[order[k]]
            while far < start[q + 1] and not f - scores[order[far]] < high:
                far += 1
            while near < start[q + 1] and not f - scores[order[near]] < low:
                near += 1
            total += near - far
    return total


@compiled
def list_window(scores, grade, start, order, low, high, better, worse):
    """List the ordered pairs among those of :func:`window_size`; returns their number."""
    n = 0
    for q in range(len(start) - 1):
        near = far = start[q]
        for k in range(start[q], start[q + 1]):
            a = order[k]
            while far < start[q + 1] and not scores[a] - scores[order[far]] < high:
                far += 1
            while near < start[q + 1] and not scores[a] - scores[order[near]] < low:
                near += 1
            for at in range(far, near):
                if grade[order[at]] < grade[a]:
                    better[n], worse[n] = a, order[at]
                    n += 1
    return n


@compiled
def list_short(scores, grade, n_grades, start, order, limit, better, worse):
    """List the short pairs, which costs ``O(m n_grades)`` beside them; -1 where there are more than there is room for.

    ``order`` is that of :func:`sort_queries`, the lists are ``better`` and ``worse``.
    """
    n, most = 0, n_grades.max()
    by_grade = np.empty(len(scores), np.int64)
    first, end = np.empty(most + 1, np.int64), np.empty(most, np.int64)
    for q in range(len(start) - 1):
        lo, hi, n_g = start[q], start[q + 1], n_grades[q]
        first[: n_g + 1] = 0
        for k in range(lo, hi):
            first[grade[k] + 1] += 1
        first[0] = lo
        for g in range(n_g):
            first[g + 1] += first[g]
            end[g] = first[g + 1]
        for k in range(lo, hi):  # each grade from its end: the highest score comes first
            g = grade[order[k]]
            end[g] -= 1
            by_grade[end[g]] = order[k]
        for a in range(lo, hi):
            for g in range(grade[a]):
                for k in range(first[g], first[g + 1]):
                    b = by_grade[k]
                    if not scores[a] - scores[b] < limit:
                        break
                    if n == len(better):
                        return -1
                    better[n], worse[n] = a, b
                    n += 1
    return n


@compiled
def worst_partners(scores, grade, n_grades, start, below, above):
    """For each document the partner with which it makes its pair of the smallest margin, -1 where there is none.

    Parameters
    ----------
    scores : float64 array of shape (m,)
    grade : int64 array of shape (m,)
        Rank of the grade within its query, from 0; each of them occurs.
    n_grades : int64 array of shape (n_queries,)
    start : int64 array of shape (n_queries + 1,)
    below, above : int64 arrays of shape (m,)
        Filled: the document of the highest score among those of lower grades, and that of the lowest score among those
        of higher grades.
    """
    best = np.empty((2, n_grades.max()), np.int64)
    for q in range(len(start) - 1):
        lo, hi, n = start[q], start[q + 1], n_grades[q]
        for g in range(n):
            best[0, g] = best[1, g] = -1
        for k in range(lo, hi):
            g = grade[k]
            if best[0, g] < 0 or scores[k] > scores[best[0, g]]:
                best[0, g] = k
            if best[1, g] < 0 or scores[k] < scores[best[1, g]]:
                best[1, g] = k
        for g in range(1, n):
            if scores[best[0, g - 1]] > scores[best[0, g]]:
                best[0, g] = best[0, g - 1]
            h = n - 1 - g
            if scores[best[1, h + 1]] < scores[best[1, h]]:
                best[1, h] = best[1, h + 1]
        for k in range(lo, hi):
            g = grade[k]
            below[k] = best[0, g - 1] if g > 0 else -1
            above[k] = best[1, g + 1] if g < n - 1 else -1
