"""Dual coordinate ascent for the multiclass machine of Crammer and Singer: one exact step on all variables of a row.

Problem: ``1/2 |W|^2 + sum_i c_i max_k [cost(y_i, k) + <w_k - w_(y_i), x_i>]``. In the dual every row has a vector
``a_i >= 0`` with ``sum_k a_ik = c_i``, the weights are ``w_k = sum_i (c_i [k = y_i] - a_ik) x_i``, and the value is
``sum_ik a_ik cost(y_i, k) - 1/2 |W|^2``. Source: Crammer and Singer (JMLR 2001), section 6; Keerthi, Sundararajan,
Chang, Hsieh, Lin (KDD 2008), the sequential dual method. With the scores ``g_k = cost_k + <w_k, x_i>`` a step of row
``i`` takes ``a_i`` to the projection of ``a_i + g / |x_i|^2`` onto its simplex, the maximum over all its variables.
Where passes are many, leaps between them go along the variables that are not 0 (:mod:`.face`), and once few rows are at
work a step of the run makes several passes.
Cost of a step: two products of the row with the block of weights: of sparse rows ``W[feature, class]`` with the class
running fastest; of dense ones class by class, and without the classes that will hardly gain weight.
Memory beyond the data: ``W``, and ``a``: a number for each row and class.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..._compiled import compiled, larger, prefetch, smaller
from ..._products import inner
from ..base import Run, Step, WarmStart
from ..chunks import Pace, chunks
from ..deadline import Deadline
from ..options import check_bool
from ..oracle import Evaluation
from .averaging import average_for
from .biases import balanced
from .face import Leaps, leap
from .face_of_classes import ClassesFace
from .order import in_blocks
from .rows import AHEAD, Rows, load_row
from .simplex import project

__all__ = ["GAIN", "GAP", "CrammerSinger", "CrammerSingerRun", "MulticlassTask", "respond"]

Reals = NDArray[np.float64]
Ints = NDArray[np.int64]

# entries of the state of a run: gap of the visits, sum of a_ik cost_k, largest violation met over the row's length
GAP, GAIN, _VIOLATION = range(3)
# of the largest cost: how far behind a class without weight must be to be left out (with 0 the last digits take half as
# many passes again, with a third classes stay that cost more than they bring)
_FAR = 0.05
# how many times later the first leap comes where rows are many more than features: passes over the few rows and classes
# left cost little there, and a leap takes all of them back (measured on digits: two thirds of the time to 1e-3)
_PATIENCE = 3.0
# passes of a step, and rows from which on it has several: of fewer each one is told
_MOST_AT_ONCE, _MANY = 4.0, 500
# of the largest cost: how far behind the best a class may be to share a row's dual weight at a start from weights
_NEAR = 0.02


@dataclass
class MulticlassTask:
    """The problem for solvers; weights are one vector, ``W[feature, class]`` row by row.

    Attributes
    ----------
    rows : Rows
        Rows with positive weight only.
    target : int64 array of shape (n,)
        Class numbers.
    costs : float64 array of shape (n_classes, n_classes)
        ``costs[true, predicted]``, 0 on the diagonal.
    weight : float64 array of shape (n,)
        ``s_i``.
    free : bool
        Whether the weights of the last feature are not penalised: it is a positive constant, and they are free
        intercepts. A dual point is feasible then where their weights :meth:`weights_of` it are 0, see :mod:`.biases`.
    multipliers : float64 array of shape (n_classes,), or None
        Where free intercepts begin as multipliers of the dual, if not at those of ``warm``.
    last : tuple of two float64 arrays, or None
        For a later warm start: the run's dual variables at the last evaluation, of shape (n, n_classes), and the
        multipliers beside them, of shape (n_classes,). The sums need not be 0.
    """

    rows: Rows
    target: Ints
    costs: Reals
    C: float
    weight: Reals
    tol: float
    rng: np.random.Generator
    name: str = "multiclass machine"
    warm: WarmStart | None = None
    free: bool = False
    multipliers: Reals | None = None
    exact: bool = True
    deadline: Deadline = field(default_factory=Deadline)
    examples: Ints = field(init=False)
    c: Reals = field(init=False)
    last: tuple[Reals, Reals] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self.examples = np.arange(len(self.weight))
        with np.errstate(over="ignore"):  # refused by the outer loop
            self.c = self.C * self.weight

    def penalty(self, w: Reals) -> float:
        """``1/2 |W|^2``, without free intercepts."""
        if self.free:
            w = w[: -len(self.costs)]
        return 0.5 * inner(w, w)

    def evaluate(self, w: Reals, scores: Reals | None = None) -> Evaluation:
        """Slacks and costs of the predictions; ``scores`` are those of ``w``, if known; they are overwritten."""
        if scores is None:
            scores = self.rows.scores(w.reshape(-1, len(self.costs)))
        risk = self.costs[self.target, scores.argmax(1)]
        scores -= scores[self.examples, self.target][:, None]  # first: beside large scores a cost would be rounding
        scores += self.costs[self.target]
        slack = scores.max(1)
        return Evaluation(np.maximum(slack, 0.0), risk, np.empty(0, np.int64))

    @property
    def n_weights(self) -> int:
        """Number of features times number of classes."""
        return self.rows.shape[1] * len(self.costs)

    def objective(self, w: Reals) -> float:
        """``P(w)``."""
        return self.penalty(w) + inner(self.c, self.evaluate(w).slack)

    def weights_of(self, a: Reals) -> Reals:
        """``W`` of a dual point, ``(n_features, n_classes)``."""
        beta = -a
        beta[self.examples, self.target] = 0.0
        # not c_i - a_iy, which at a large C would be rounding
        beta[self.examples, self.target] = -np.einsum("ik->i", beta)
        return np.ascontiguousarray(self.rows.combined(beta))

    def rounding(self, w: Reals) -> float:
        """How wrong ``P(w)``, and a dual value near it, can be in float64."""
        scores = self.rows.scores(w.reshape(-1, len(self.costs)))
        size = np.abs(self.costs).max(1)[self.target] + np.abs(scores).max(1)
        return 8.0 * float(np.finfo(np.float64).eps) * inner(self.c, size)

    def best_between(self, w: Reals, v: Reals) -> Reals:
        """The best of two weights and their middle."""
        first, second = (self.rows.scores(end.reshape(-1, len(self.costs))) for end in (w, v))
        middle = 0.5 * (w + v)
        known = [(middle, 0.5 * (first + second)), (w, first), (v, second)]
        values = [self.penalty(w) + inner(self.c, self.evaluate(w, scores).slack) for w, scores in known]
        return known[int(np.argmin(values))][0]

    def from_dual(self, a: Reals, biases: Reals | None = None) -> tuple[Reals, Reals, float]:
        """A dual point made feasible to the last bit, its weights, and its value.

        ``biases`` are the weights of free intercepts.
        """
        a = a * (self.c / a.sum(1))[:, None]
        if self.free:
            a = balanced(a, self.target, self.constant)
        gain = float((self.costs[self.target] * a).sum())
        w = self.weights_of(a).reshape(-1)
        if self.free:
            w[-len(self.costs) :] = 0.0 if biases is None else biases
        return a, w, gain - self.penalty(w)

    def near(self, w: Reals) -> Reals:
        """Dual variables that weights of another fit suggest, shape ``(n, n_classes)``.

        Each row's go to the classes that are highest, or nearly so: those of rows on the margin are not known.
        """
        scores = self.rows.scores(w.reshape(-1, len(self.costs)))
        scores += self.costs[self.target]
        scores -= scores.max(1)[:, None]
        _share(scores, _NEAR * float(self.costs.max()))
        return np.asarray(scores * self.c[:, None])

    def begin(self) -> tuple[Reals, Reals, Reals] | None:
        """Where a warm start begins: dual variables in their simplices, their weights, and multipliers.

        The dual variables of the earlier fit are scaled row by row to the simplices of this one; where ``C`` has
        fallen, a second candidate keeps those beside the truth as they are, as far as they fit (measured on a path over
        a text: half the passes where few rows have all their weight beside the truth). Of each the best multiple of
        the variables beside the truth is taken, down to none, and the better of the two, by what coordinate ascent
        raises: the dual for given multipliers. So it begins no lower than from the truth alone.

        Returns
        -------
        tuple or None
            None where there is no earlier dual point, or none better than that of the truth alone.
        """
        if self.warm is None or self.warm.beta is None:
            return None
        before, K = self.warm.beta, len(self.costs)
        biases = np.zeros(K)
        if self.free:
            biases = self.warm.w[-K:] if self.multipliers is None else self.multipliers
        alone = np.zeros_like(before)
        alone[self.examples, self.target] = self.c
        total = before.sum(1)
        known = total > 0.0
        scaled = np.where(known[:, None], before / np.where(known, total, 1.0)[:, None], 0.0)
        scaled[~known, self.target[~known]] = 1.0
        candidates = [scaled * self.c[:, None]]
        if self.c.sum() < total.sum():
            others = before.copy()
            others[self.examples, self.target] = 0.0
            others *= np.minimum(1.0, self.c / np.maximum(others.sum(1), 1e-300))[:, None]
            others[self.examples, self.target] = np.maximum(self.c - others.sum(1), 0.0)
            candidates.append(others)
        best, highest = None, 0.0
        for a in candidates:
            W = self.weights_of(a)
            square = inner(W.ravel(), W.ravel())
            gain = float((self.costs[self.target] * a).sum())
            gain -= inner(biases, W[-1])  # 0 without free intercepts
            # not against the direction, out of the simplices: multipliers of another problem can make the gain negative
            step = min(1.0, max(gain, 0.0) / square) if square > 0.0 else 1.0
            value = step * gain - 0.5 * step * step * square
            if value > highest:
                best, highest = (alone + step * (a - alone), step * W, biases), value
        return best

    @cached_property
    def constant(self) -> Reals:
        """The last feature, shape ``(n,)``."""
        last = np.zeros(self.rows.shape[1])
        last[-1] = 1.0
        return self.rows.scores(last)


@compiled
def _share(values, near):
    """Turn each row of values of at most 0 into shares of sum 1, 0 for those more than ``near`` behind the best."""
    classes = values.shape[1]
    for i in range(len(values)):
        for k in range(classes):
            values[i, k] = max(values[i, k] / near, -2.0)
        project(values[i], classes, 1.0, -np.inf)


@compiled(dot=True)
def _scores(data, indices, indptr, width, i, W, classes, n, out):
    """``<w_k, x_i>`` of ``n`` classes: of dense rows those given, of sparse ones all."""
    if indices is None:
        first = np.uint64(i) * np.uint64(width)
        for j in range(np.uint64(n)):
            total, k = 0.0, np.uint64(classes[j])
            for f in range(np.uint64(width)):
                total += data[first + f] * W[k, f]
            out[j] = total
    else:
        for k in range(np.uint64(n)):
            out[k] = 0.0
        # four features at a time, so that the sums are read and written once for them (measured: an eighth less time)
        first, end, one = np.uint64(indptr[i]), np.uint64(indptr[i + 1]), np.uint64(1)
        while end - first >= np.uint64(4):
            second, third, fourth = first + one, first + one + one, first + one + one + one
            x, f = data[first], np.uint64(indices[first])
            y, g = data[second], np.uint64(indices[second])
            z, h = data[third], np.uint64(indices[third])
            u, m = data[fourth], np.uint64(indices[fourth])
            for k in range(np.uint64(n)):
                out[k] += x * W[f, k] + y * W[g, k] + z * W[h, k] + u * W[m, k]
            first += np.uint64(4)
        for q in range(first, end):
            value, f = data[q], np.uint64(indices[q])
            for k in range(np.uint64(n)):
                out[k] += value * W[f, k]


@compiled
def _add(data, indices, indptr, width, i, change, classes, n, changed, W):
    """``w_k += change_k x_i``; ``changed`` is room for the places of the classes that change, often two or three."""
    few = 0
    for j in range(np.uint64(n)):
        if change[j] != 0.0:
            changed[few] = j
            few += 1
    if indices is None:
        first = np.uint64(i) * np.uint64(width)
        for j in range(few):
            step, k = change[changed[j]], np.uint64(classes[changed[j]])
            for f in range(np.uint64(width)):
                W[k, f] += step * data[first + f]
    elif 3 * few < n:  # a class at a time: less memory is written (measured: a third of the time)
        for j in range(few):
            k = np.uint64(changed[j])
            for q in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                W[np.uint64(indices[q]), k] += data[q] * change[k]
    else:
        for q in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            value, f = data[q], np.uint64(indices[q])
            for k in range(np.uint64(n)):
                W[f, k] += value * change[k]


@compiled(dot=True)
def _look(g, mine, n, near):
    """Highest score, lowest one with dual weight, sum of dual weights times scores, and how many are near the highest.

    Loops without branches, over numbers that lie side by side, which are worked on several at a time.
    """
    highest, lowest, total, count = -np.inf, np.inf, 0.0, 0
    for j in range(np.uint64(n)):
        highest = larger(highest, g[j])
        lowest = smaller(lowest, g[j] if mine[j] > 0.0 else np.inf)
        total += mine[j] * g[j]
    for j in range(np.uint64(n)):
        count += highest - g[j] <= near
    return highest, lowest, total, count


@compiled(dot=True)
def _best_step(g, mine, n, highest, curvature, c, new):
    """The dual weights of a row that are best while all others stay."""
    if curvature <= 0.0:
        for j in range(np.uint64(n)):
            new[j] = c if g[j] == highest else 0.0
        project(new, n, c, -np.inf)
        return
    # less by the largest: the projection is the same; and what is far below gets nothing in any case
    level, used, least = -c, 0, -3.0 * c
    for j in range(np.uint64(n)):
        new[j] = mine[j] + larger((g[j] - highest) / curvature, least)
        counts = (mine[j] > 0.0) | (g[j] == highest)
        level += new[j] if counts else 0.0
        used += counts
    project(new, n, c, level / used)


@compiled
def _visit(
    data, indices, indptr, width, target, costs, c, norm2, a, W, classes, at_work, order, promising, limit, far, state
):
    """One exact step for every row of ``order``; marks in ``promising`` those worth another visit soon.

    Of dense rows the first ``at_work[i]`` of ``classes[i]`` are looked at; those that will hardly gain weight are left
    out from then on. Of sparse rows, whose weights of all classes lie together, there is one list with all classes.
    """
    most = len(costs)
    g, had, change, changed = np.empty(most), np.empty(most), np.empty(most), np.empty(most, np.int64)
    # sums go on where the chunk before has ended: so they are the same wherever a pass is cut
    gap, gain, worst, end = state[GAP], state[GAIN], state[_VIOLATION], len(order) - 1
    for q in range(len(order)):
        i = np.uint64(order[q])
        soon = order[min(q + AHEAD, end)]
        if indices is not None:
            prefetch(indptr, order[min(q + 2 * AHEAD, end)])
        load_row(data, indices, indptr, width, soon)
        prefetch(a, soon * most)
        prefetch(a, soon * most + 8)
        y = np.uint64(target[i])
        listed = np.uint64(0) if indices is not None else i
        mine, n = classes[listed], at_work[listed]
        _scores(data, indices, indptr, width, i, W, mine, n, g)
        cost, weights = costs[y], a[i]
        if indices is None:
            for j in range(np.uint64(n)):
                k = np.uint64(mine[j])
                g[j] += cost[k]
                had[j] = weights[k]
        else:
            for j in range(np.uint64(n)):
                g[j] += cost[j]
                had[j] = weights[j]
        length = np.sqrt(norm2[i])
        behind = limit * length if length > 0.0 else 0.0
        highest, lowest, mean, near = _look(g, had, n, behind)
        gap += c[i] * highest - mean
        violation = highest - lowest
        # all weight on the best class, and the next one far behind: nothing will change soon. A change of the weights
        # moves the scores of a row by its length: so what others violate counts in theirs
        promising[q] = violation > 0.0 or near > 1
        if length > 0.0:
            worst = max(worst, violation / length)
        if violation > 1e-12 * (1.0 + abs(highest)):
            _best_step(g, had, n, highest, norm2[i], c[i], change)
            if indices is None:
                for j in range(np.uint64(n)):
                    k, new = np.uint64(mine[j]), change[j]
                    change[j] = had[j] - new
                    gain -= change[j] * cost[k]
                    weights[k] = new
            else:
                for j in range(np.uint64(n)):
                    new = change[j]
                    change[j] = had[j] - new
                    gain -= change[j] * cost[j]
                    weights[j] = new
            _add(data, indices, indptr, width, i, change, mine, n, changed, W)
        if indices is None:
            for j in range(n - 1, -1, -1):
                k = mine[j]
                if weights[k] <= 0.0 and highest - g[j] > behind + far:
                    n -= 1
                    mine[j], mine[n] = mine[n], k
            at_work[i] = n
    state[GAP], state[GAIN] = gap, gain
    state[_VIOLATION] = worst


@compiled
def respond(a, visited, size, out):
    """Adds ``size_i (1 - 1 / m_i)`` of every row to its ``m_i`` classes with dual weight.

    Rows that are left out have all theirs on one class: they add nothing.
    """
    classes = a.shape[1]
    for i in range(len(a)):
        if visited[i]:
            count = 0
            for k in range(classes):
                if a[i, k] > 0.0:
                    count += 1
            if count > 1:
                share = size[i] * (1.0 - 1.0 / count)
                for k in range(classes):
                    if a[i, k] > 0.0:
                        out[k] += share


@dataclass(frozen=True)
class CrammerSinger:
    """Dual coordinate ascent for the multiclass machine.

    Parameters
    ----------
    shrinking : bool
        Leave out rows that keep all their dual weight on one class by a wide margin; every evaluation looks at all and
        takes those back that deserve it.
    """

    shrinking: bool = True

    def __post_init__(self) -> None:
        check_bool(self, "shrinking")

    @property
    def name(self) -> str:
        """Short name, as accepted by the estimators."""
        return "coordinate_ascent"

    def start(self, task: MulticlassTask) -> Run:
        """Begin a run."""
        if task.free:
            from .multiclass_free import FreeRun

            run: CrammerSingerRun = FreeRun(self, task)
        else:
            run = CrammerSingerRun(self, task)
        begun = task.begin()
        if begun is not None:
            run.begin_at(*begun)
        return run


class CrammerSingerRun(Run):
    """One run: the dual point ``a``, its weights ``W`` in the kernel's layout, and which rows are at work."""

    task: MulticlassTask
    optimism = 0.65  # as of two classes

    def __init__(self, options: CrammerSinger, task: MulticlassTask) -> None:
        self.options, self.task = options, task
        n, k = task.rows.shape[0], len(task.costs)
        self.a = np.zeros((n, k))
        self.a[task.examples, task.target] = task.c
        d = task.rows.shape[1]
        self.W = np.zeros((d, k) if task.rows.sparse else (k, d))
        self.average = average_for(self.W, n, d)
        self.point = np.zeros(self.W.size)
        self.pace = Pace()
        self.visited = np.ones(n, bool)
        self.classes = np.tile(np.arange(k, dtype=np.uint16), (1 if task.rows.sparse else n, 1))
        self.at_work = np.full(len(self.classes), k)
        self.lengths = np.sqrt(np.maximum(task.rows.squared_norms, 1e-300))
        self.limit, self.far = np.inf, _FAR * float(task.costs.max())
        self.state = np.zeros(3)
        self.leaps = Leaps(1.0 if self.average is None else _PATIENCE)
        self.ahead: Reals | None = None  # where the last leap would have gone without bounds, ``(d, K)``

    def begin_at(self, a: Reals, W: Reals, biases: Reals) -> None:
        """Go on from other dual variables, their weights, and multipliers, which are 0 without free intercepts."""
        task = self.task
        self.a = a
        W = W.copy()
        W[-1] += biases
        self.W = W if task.rows.sparse else W.T.copy()
        self.state[GAIN] = float((task.costs[task.target] * a).sum())
        self._take_all_back()

    def advance(self) -> Step:
        task, state = self.task, self.state
        state[GAP] = state[_VIOLATION] = 0.0
        passes, work = self._work()
        dual = float(state[GAIN]) - task.penalty(self.W.reshape(-1))
        step = Step(passes, float(state[GAP]) / passes, dual, work=work)
        if self.leaps.due(step.work):
            self._leap(step)
        return step

    def _work(self) -> tuple[int, float]:
        """Raise the dual; returns how many passes were made, and what they cost in passes over all rows."""
        task, rows, state = self.task, self.task.rows, self.state
        some = np.flatnonzero(self.visited)
        passes = self._at_once(len(some))
        order = in_blocks(some, task.rng, passes)
        kept = np.ones(len(order), bool)
        at = 0
        for run in chunks(order, task.deadline, self.pace):
            _visit(
                rows.data, rows.indices, rows.indptr, rows.shape[1], task.target, task.costs, task.c,
                rows.squared_norms, self.a, self.W, self.classes, self.at_work, run, kept[at : at + len(run)],
                self.limit if self.options.shrinking else np.inf, self.far, state,
            )  # fmt: skip
            at += len(run)
        if self.average is not None:
            self.average.add(self.W)
        if self.options.shrinking:
            self.visited[order[-len(some) :][~kept[-len(some) :]]] = False
            self.limit = float(state[_VIOLATION])
            if not self.visited.any():
                self._take_all_back()
        return passes, len(order) / max(rows.shape[0], 1)

    def _at_once(self, chosen: int) -> int:
        """How many passes over so many rows a step makes: as many as take no longer than one over all rows.

        What there is to do between two passes takes as long as a short one.
        """
        n = self.task.rows.shape[0]
        if n < _MANY:
            return 1
        return int(max(1.0, min(n / max(chosen, 1), _MOST_AT_ONCE, self.at_once, self.passes_left / 4.0)))

    def _leap(self, step: Step) -> None:
        """Conjugate gradients along the free dual variables, counted with the pass before."""
        task, a = self.task, self.a
        classes = (a > 0.0).sum(1)
        shared = np.flatnonzero(classes > 1)
        free = int(classes[shared].sum())
        most = self.leaps.products(len(shared), free, task.rows, self.W.size, self.passes_left)
        if not most:
            return
        W, costs = self.W if task.rows.sparse else self.W.T, task.costs[task.target[shared]]
        face = ClassesFace(task.rows, a, shared, task.c, costs, W, task.deadline.check)
        change, way, products = leap(face, most)
        self.leaps.count(step, products)
        if change is not None:
            self.ahead = W - face.combined(way)
            a[shared] = (face.values + change).reshape(costs.shape)
            self.state[GAIN] += inner(change, costs.ravel())
            change = change.reshape(costs.shape)
            change[np.arange(len(shared)), task.target[shared]] -= change.sum(1)
            W -= face.combined(change)
            self._take_all_back()
            step.ready = True

    def _take_all_back(self) -> None:
        self.visited[:] = True
        self.at_work[:] = len(self.task.costs)
        self.limit = np.inf

    def dual(self) -> float:
        _, self.point, value = self.task.from_dual(self.a)
        self.leaps.judge(value)
        self.task.last = self.a, np.zeros(len(self.task.costs))
        for W in self._others():
            self.point = self.task.best_between(self.point, W.reshape(-1))
        return value

    def _others(self) -> list[Reals]:
        """Weights, ``(d, K)``, that may be better than those of the dual point."""
        others = [] if self.ahead is None else [self.ahead]
        if self.average is not None and self.average.passes:
            others.append(self.average.mean if self.task.rows.sparse else self.average.mean.T)
        self.ahead = None
        return others

    def weights(self) -> Reals:
        return self.point

    def evaluate(self, w: Reals) -> Evaluation:
        """Slacks and costs; the scores of all rows say which of those left out deserve visits again."""
        if w is not self.point:
            return self.task.evaluate(w)
        scores = self.task.rows.scores(w.reshape(-1, len(self.task.costs)))
        if self.options.shrinking:
            self._choose(scores)
        return self.task.evaluate(w, scores)

    def _choose(self, scores: Reals) -> None:
        """The next passes go over the rows that a visit at these scores would not leave out."""
        g = scores + self.task.costs[self.task.target]
        lowest = np.where(self.a > 0.0, g, np.inf).min(1)
        second, highest = np.partition(g, -2, axis=1)[:, -2:].T
        self.visited = (highest > lowest) | (highest - second <= self.limit * self.lengths)
        self.at_work[:] = len(self.task.costs)
        if not self.visited.any():
            self._take_all_back()
