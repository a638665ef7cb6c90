"""The hard margin of all pairs: a general solver on listed pairs, the limit of the soft one, pairs that allow none."""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

from maxmargin import SVMRanker, load_model, save_model
from maxmargin.errors import DataError, InseparableError
from maxmargin.solvers.hard_margin import HardMargin
from maxmargin.solvers.linear.rows import Rows
from maxmargin.solvers.ranking import hard
from maxmargin.solvers.ranking.hard import WorkingSet
from maxmargin.solvers.ranking.queries import group
from maxmargin.status import Status
from ranking.listed import pairs_of, random_ranking

INF = math.inf
TIGHT: dict[str, Any] = dict(C=INF, tol=1e-8, random_state=0)


def ordered(seed: int, n: int = 40, d: int = 4, n_queries: int = 5) -> tuple[Any, Any, Any]:
    """Grades that a direction puts in order; ties, offsets of queries, one query of a single document, no sorting."""
    rng = np.random.default_rng(seed)
    X, _, query = random_ranking(seed, n, d, n_queries)
    w = rng.normal(size=d)
    y = np.zeros(n, int)
    for q in np.unique(query):
        f = X[query == q] @ w
        y[query == q] = np.digitize(f, np.quantile(f, [0.3, 0.6]))
    return X + 0.2 * y[:, None] * w / np.linalg.norm(w), y, query


def optimum(rows: Any) -> tuple[float, Any]:
    """``min 1/2 |w|^2  s.t.  rows w >= 1`` by a general solver of quadratic programs."""
    import piqp

    d = rows.shape[1]
    solver = piqp.DenseSolver()
    for name in ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"):
        setattr(solver.settings, name, 1e-12)
    solver.settings.max_iter = 500
    solver.setup(np.eye(d), np.zeros(d), G=-rows, h_u=-np.ones(len(rows)))
    solver.solve()
    w = np.asarray(solver.result.x)
    return 0.5 * float(w @ w), w


def can_be_ordered(rows: Any) -> bool:
    """Whether ``rows w >= 1`` has a solution, by a linear program without an objective."""
    return (
        not len(rows) or linprog(np.zeros(rows.shape[1]), -rows, -np.ones(len(rows)), bounds=(None, None)).status == 0
    )


def differences(X: Any, pairs: Any) -> Any:
    pairs = np.asarray(pairs)
    return X[pairs[:, 0]] - X[pairs[:, 1]]


@pytest.mark.parametrize("seed", range(6))
def test_the_optimum_of_a_general_solver_on_listed_pairs(seed: int) -> None:
    X, y, qid = ordered(seed)
    rows = differences(X, pairs_of(y, qid))
    value, w = optimum(rows)
    for data in (X, sp.csr_array(X)):
        model = SVMRanker(**TIGHT).fit(data, y, qid)
        found = model.certificate_
        assert found.status is Status.CONVERGED
        assert found.relative_gap <= 1e-8
        assert found.primal == pytest.approx(value, rel=1e-6)
        assert found.dual <= value * (1.0 + 1e-9)
        assert found.primal == pytest.approx(0.5 * float(model.coef_ @ model.coef_), rel=1e-14)
        assert (rows @ model.coef_).min() >= 1.0 - 1e-12
        assert (found.C, found.training_risk, found.risk_bound) == (INF, 0.0, 0.0)
        np.testing.assert_allclose(model.coef_, w, atol=1e-3 * np.abs(w).max())
    loose = SVMRanker(C=INF, random_state=0).fit(X, y, qid)
    assert loose.certificate_.relative_gap <= 1e-3
    assert loose.certificate_.dual <= value <= loose.certificate_.primal
    assert (rows @ loose.coef_).min() >= 1.0 - 1e-12


@pytest.mark.parametrize("data_type", [np.float32, np.float64])
def test_many_documents_by_few_pairs_at_hand(monkeypatch: pytest.MonkeyPatch, data_type: Any) -> None:
    """Two million pairs; one constraint too few would show in the smallest margin."""
    taken = []
    take = WorkingSet.take
    monkeypatch.setattr(WorkingSet, "take", lambda self, scores: taken.append(take(self, scores)) or taken[-1])
    monkeypatch.setattr(hard, "_FEW", 30)
    X, y, qid = ordered(3, n=3000, d=6, n_queries=3)
    X = X.astype(data_type)
    model = SVMRanker(C=INF, tol=1e-6, random_state=0).fit(X, y, qid)
    assert len(taken) > 3
    assert sum(taken) < 3000
    assert max(taken) <= 30
    assert model.certificate_.relative_gap <= 1e-6
    f = X.astype(float) @ model.coef_
    for q in np.unique(qid):
        for grade in np.unique(y[qid == q])[1:]:
            here = qid == q
            assert f[here & (y >= grade)].min() - f[here & (y < grade)].max() >= 1.0 - 1e-9


def test_worst_partners_are_those_of_all_pairs() -> None:
    X, y, qid = random_ranking(4, n=50)
    rng = np.random.default_rng(0)
    queries = group(y.astype(float), qid)
    pairs = WorkingSet(Rows(X), queries)
    where = np.full(50, -1)
    where[queries.documents] = np.arange(len(queries.documents))
    listed = where[pairs_of(y, qid)]
    for _ in range(20):
        scores = rng.integers(0, 5, len(queries.documents)).astype(float)
        margin = scores[listed[:, 0]] - scores[listed[:, 1]]
        assert pairs.least(scores) == margin.min()
        a, b = pairs._worst(scores)
        given = {(int(i), int(j)) for i, j in listed}
        assert {(int(i), int(j)) for i, j in zip(a, b, strict=True)} <= given
        for k in range(len(scores)):
            for side in (0, 1):
                own = margin[listed[:, side] == k]
                if len(own):
                    here = (a, b)[side] == k
                    assert (scores[a] - scores[b])[here].min() == own.min()


def test_the_limit_of_a_large_C() -> None:
    X, y, qid = ordered(1)
    model = SVMRanker(**TIGHT).fit(X, y, qid)
    soft = SVMRanker(C=10.0 * model.certificate_.primal, tol=1e-8, max_passes=100_000).fit(X, y, qid)
    assert soft.certificate_.primal == pytest.approx(model.certificate_.primal, rel=1e-6)
    np.testing.assert_allclose(model.coef_, soft.coef_, rtol=1e-3, atol=1e-4)
    for options in (dict(loss="squared_hinge"), dict(random_state=5)):
        other = SVMRanker(**(TIGHT | options)).fit(X, y, qid)
        np.testing.assert_allclose(other.coef_, model.coef_, rtol=1e-3, atol=1e-4)


def test_closed_form_and_single_documents() -> None:
    X, y, qid = [[0.0, 0.0], [0.0, 2.0], [9.0, -50.0], [4.0, 0.0], [0.0, 0.0]], [0, 1, 7, 5, 5], [1, 1, 2, 3, 3]
    model = SVMRanker(**TIGHT).fit(X, y, qid)
    np.testing.assert_allclose(model.coef_, [0.0, 0.5], atol=1e-8)
    assert model.certificate_.n_examples == 1
    with pytest.raises(DataError, match="no comparable pairs"):
        SVMRanker(**TIGHT).fit(X, y, [1, 2, 3, 4, 5])


def test_weights_only_say_what_is_left_out() -> None:
    X, y, qid = ordered(2)
    y = y.copy()
    y[0] += 5  # out of order
    weight = np.where(np.arange(len(y)) == 0, 0.0, 3.0)
    one = SVMRanker(**TIGHT).fit(X, y, qid, document_weight=weight)
    other = SVMRanker(**TIGHT).fit(X[1:], y[1:], qid[1:])
    assert one.certificate_.primal == pytest.approx(other.certificate_.primal, rel=1e-7)
    factor = np.where(np.arange(5) == qid[0], 0.0, 7.0)
    some = SVMRanker(**TIGHT).fit(X, y, qid, factor)
    rest = qid != qid[0]
    assert some.certificate_.primal == pytest.approx(
        SVMRanker(**TIGHT).fit(X[rest], y[rest], qid[rest]).certificate_.primal, rel=1e-7
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_pairs_that_contradict_each_other(seed: int, form: Any) -> None:
    """They do, all of them are needed for it, and they are ordered pairs of one query."""
    X, y, qid = random_ranking(seed, n=60, n_queries=6)
    assert not can_be_ordered(differences(X, pairs_of(y, qid)))
    names = np.array([f"q{q}" for q in qid])
    with pytest.raises(InseparableError, match="SVMRanker: no weights put all pairs in order: ") as refused:
        SVMRanker(**TIGHT).fit(form(X), y, names)
    pairs = refused.value.pairs
    assert 1 < len(pairs) <= X.shape[1] + 1
    assert set(pairs) <= {tuple(pair) for pair in pairs_of(y, qid).tolist()}
    rows = differences(X, pairs)
    assert not can_be_ordered(rows)
    for k in range(len(rows)):
        assert can_be_ordered(np.delete(rows, k, 0))
    assert refused.value.rows == tuple(sorted({row for pair in pairs for row in pair}))
    a, b = pairs[0]
    assert f"row {a} above row {b} (query '{names[a]}')" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_equal_documents_of_unequal_grades() -> None:
    X, y = [[0.0], [1.0], [1.0], [3.0]], [0, 1, 2, 3]
    with pytest.raises(InseparableError, match=r"row 2 above row 1, but they have the same features") as refused:
        SVMRanker(C=INF).fit(X, y)
    assert refused.value.pairs == ((2, 1),)
    wide = sp.random_array((300, 20_000), density=0.005, format="csr", rng=np.random.default_rng(0))
    wide = wide[[*range(7), 3, *range(8, 300)]]
    with pytest.raises(InseparableError) as refused:  # a linear program of so many features would take minutes
        SVMRanker(C=INF).fit(wide, np.arange(300))
    assert refused.value.pairs == ((7, 3),)


def test_comparisons() -> None:
    X, y, qid = ordered(0)
    pairs = pairs_of(y, qid)
    ranked = SVMRanker(**TIGHT).fit(X, y, qid)
    compared = SVMRanker(**TIGHT).fit_comparisons(X, pairs[:, 0], pairs[:, 1])
    assert compared.certificate_.C == INF
    assert compared.certificate_.primal == pytest.approx(ranked.certificate_.primal, rel=1e-7)
    teams = SVMRanker(**TIGHT).fit_comparisons(None, ["Ajax", "Bonn"], ["Bonn", "Celta"])
    assert [(name, round(value, 6)) for name, value in teams.strength_table()] == [
        ("Ajax", 1.0), ("Bonn", 0.0), ("Celta", -1.0),
    ]  # fmt: skip
    with pytest.raises(InseparableError, match=r"'a' above 'b' \(comparison 1\), 'b' above 'c' \(comparison 2\)") as no:
        SVMRanker(**TIGHT).fit_comparisons(None, ["d", "a", "b", "c"], ["a", "b", "c", "a"])
    assert (no.value.rows, no.value.pairs) == ((1, 2, 3), ((0, 1), (1, 2), (2, 0)))
    out = [1.0, 0.0, 1.0, 1.0]
    SVMRanker(**TIGHT).fit_comparisons(None, ["d", "a", "b", "c"], ["a", "b", "c", "a"], out)
    with pytest.raises(DataError, match="C=inf is for wins only"):
        SVMRanker(**TIGHT).fit_comparisons(None, ["a"], ["b"], ties=[["a", "c"]])
    with pytest.raises(DataError, match="no comparison of positive weight"):
        SVMRanker(**TIGHT).fit_comparisons(None, [], [], items=["a", "b"])


@pytest.mark.parametrize("scale", [1e-18, 1e-8, 1e8, 1e90])
def test_features_of_any_size_and_far_from_0(scale: float) -> None:
    X, y, qid = ordered(5)
    value = SVMRanker(**TIGHT).fit(X, y, qid).certificate_.primal
    model = SVMRanker(C=INF, tol=1e-6, random_state=0).fit(scale * (X + 1e4), y, qid)
    assert model.certificate_.primal * scale**2 == pytest.approx(value, rel=1e-5)


def test_features_that_leave_no_digits_are_refused() -> None:
    X, y, qid = ordered(5)
    near = SVMRanker(C=INF, random_state=0).fit(X + 1e8, y, qid)
    assert near.certificate_.primal == pytest.approx(SVMRanker(**TIGHT).fit(X, y, qid).certificate_.primal, rel=1e-3)
    with pytest.raises(DataError, match="rounding hides whether weights put all pairs in order.*take large constants"):
        SVMRanker(C=INF, random_state=0).fit(X + 1e12, y, qid)
    with pytest.raises(DataError, match="SVMRanker: the weights would be of size .*; scale X up"):
        SVMRanker(C=INF, random_state=0).fit(1e-30 * X, y, qid)


def scaled(seed: int, n: int, d: int, orders: float) -> tuple[Any, Any, Any]:
    """Features whose sizes differ by so many orders up and down, drawn; grades that a direction gives."""
    rng = np.random.default_rng(seed)
    X, w, query = rng.normal(size=(n, d)), rng.normal(size=d), rng.integers(0, 4, n)
    return X * 10.0 ** rng.uniform(-orders, orders, d), X @ w, query


def test_the_bound_keeps_its_digits_where_sizes_differ_by_many_orders() -> None:
    """Multipliers summed up as coefficients of documents lost two thirds of it: then it went on to its pass limit."""
    X, y, qid = scaled(2, 60, 4, 10.0)
    model = SVMRanker(C=INF, random_state=0).fit(X, y, qid)
    assert model.certificate_.status is Status.CONVERGED
    assert model.certificate_.passes < 1000
    rows = differences(X, pairs_of(y, qid))
    assert (rows @ model.coef_).min() >= 1.0 - 1e-9


def test_what_rounding_hides_is_called_so() -> None:
    """Sixteen orders between features: no multipliers in float64 have a sum of rows that is right in all of them."""
    rng = np.random.default_rng(0)
    X, w, qid = rng.normal(size=(40, 4)), rng.normal(size=4), rng.integers(0, 4, 40)
    y = X @ w
    X = X * 10.0 ** np.linspace(-8.0, 8.0, 4)
    with pytest.warns(
        ConvergenceWarning, match="SVMRanker stalled at a relative gap .* Rounding hides the rest of the gap: scale the"
    ):
        model = SVMRanker(C=INF, random_state=0).fit(X, y, qid)
    found = model.certificate_
    assert found.status is Status.STALLED
    assert found.passes < 5000  # of 10 000
    assert 0.0 <= found.dual <= found.primal
    assert (differences(X, pairs_of(y, qid)) @ model.coef_).min() >= 1.0 - 1e-6
    with pytest.warns(
        ConvergenceWarning, match="pass limit .* Raise max_passes, scale the features, raise tol, or use"
    ):
        SVMRanker(C=INF, random_state=0, max_passes=3).fit(X, y, qid)


def interrupt(*_: Any) -> Any:
    raise KeyboardInterrupt


def test_ctrl_c_between_the_rounds_keeps_the_best_weights() -> None:
    X, y, qid = ordered(6, n=600)
    model = SVMRanker(C=INF, callback=interrupt, tol=1e-12)
    with pytest.raises(KeyboardInterrupt, match="it keeps the best model so far"):
        model.fit(X, y, qid)
    assert model.certificate_.status is Status.INTERRUPTED
    assert (differences(X, pairs_of(y, qid)) @ model.coef_).min() >= 1.0 - 1e-12


@pytest.mark.parametrize("begun", [False, True])
def test_ctrl_c_within_a_round(monkeypatch: pytest.MonkeyPatch, begun: bool) -> None:
    """Before there are first weights nothing is kept."""
    X, y, qid = ordered(6, n=600)
    armed, start = [not begun], HardMargin.start

    def started(self: HardMargin, task: Any) -> Any:
        run = start(self, task)
        if armed[0]:
            monkeypatch.setattr(run, "advance", interrupt)
        return run

    monkeypatch.setattr(HardMargin, "start", started)
    model = SVMRanker(C=INF, tol=1e-13, random_state=0, callback=lambda record, w: armed.__setitem__(0, True))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y, qid)
    assert hasattr(model, "coef_") is begun
    if begun:
        assert (differences(X, pairs_of(y, qid)) @ model.coef_).min() >= 1.0 - 1e-12
        assert model.certificate_.status is Status.INTERRUPTED


def test_limits_callbacks_and_a_warm_start() -> None:
    X, y, qid = ordered(6, n=600)
    met: list[Any] = []
    SVMRanker(C=INF, tol=1e-12, callback=lambda record, w: met.append(record) or True).fit(X, y, qid)
    assert len(met) == 1
    with pytest.warns(ConvergenceWarning, match="SVMRanker stopped by pass limit"):
        short = SVMRanker(C=INF, tol=1e-9, max_passes=3, random_state=0).fit(X, y, qid)
    rows = differences(X, pairs_of(y, qid))
    assert (rows @ short.coef_).min() >= 1.0 - 1e-12
    full = SVMRanker(C=INF, tol=1e-9, random_state=0).fit(X, y, qid)
    assert short.certificate_.dual <= full.certificate_.primal <= short.certificate_.primal
    full.warm_start = True
    again = full.fit(X, y, qid)
    assert again.certificate_.relative_gap <= 1e-9
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        SVMRanker(C=INF, tol=0.0, max_passes=200, random_state=0).fit(X, y, qid)


def test_a_model_file_keeps_the_infinite_C(tmp_path: Path) -> None:
    X, y, qid = ordered(0)
    model = SVMRanker(**TIGHT).fit(X, y, qid)
    save_model(model, tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert loaded.C == INF
    assert loaded.certificate_ == model.certificate_
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_only_plus_infinity_is_a_hard_margin() -> None:
    for C in (-INF, math.nan, 0.0, "inf"):
        with pytest.raises(ValueError, match="C must be a finite number > 0"):
            SVMRanker(C=C).fit([[0.0], [1.0]], [0, 1])  # type: ignore[arg-type]


@pytest.mark.parametrize("X", [np.ones((2, 1)), np.zeros((4, 2))])
def test_equal_documents_alone_contradict_each_other(X: Any) -> None:
    grades = np.arange(len(X)) % 2
    with pytest.raises(InseparableError, match="same features") as caught:
        SVMRanker(C=np.inf).fit(X, grades, qid=np.arange(len(X)) // 2)
    better, worse = caught.value.pairs[0]
    assert grades[better] > grades[worse]


@pytest.mark.parametrize("size", [1e-320, 1e-200])
@pytest.mark.parametrize("kind", [np.array, sp.csr_matrix])
def test_features_that_differ_by_too_little_are_not_called_the_same(size: float, kind: Any) -> None:
    with pytest.raises(
        DataError, match=f"SVMRanker: the features of a pair differ by at most {size:.3g}: .* scale X up"
    ):
        SVMRanker(C=INF).fit(kind([[size, 0.0], [2.0 * size, 0.0]]), [0, 1])
    with pytest.raises(InseparableError, match="row 1 above row 0, but they have the same features"):
        SVMRanker(C=INF).fit(kind([[size, 0.0], [size, 0.0]]), [0, 1])
