"""Learning an order from a stream of queries: what objective is followed, how near, and what is refused."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from maxmargin import SVMClassifier, SVMRanker, load_model, save_model
from maxmargin.errors import DataError
from maxmargin.solvers.linear.rows import Rows
from maxmargin.solvers.ranking.queries import group
from maxmargin.solvers.ranking.stream import QueryStream, sizes_of
from ranking.listed import explicit, pairs_of, random_ranking

LOSSES = pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])


def queries(n_queries: int, size: int = 8, d: int = 5, seed: int = 0) -> tuple[Any, Any, Any]:
    """Queries one after another, each with an offset, graded with noise."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), size)
    X = rng.normal(size=(len(qid), d))
    y = np.digitize(X @ [1.0, -1.0, 0.5, 0.0, 2.0][:d] + rng.normal(size=len(qid)), [-1.0, 0.5, 2.0])
    return X + rng.normal(size=(n_queries, d))[qid], y, qid


def objective(model: Any, X: Any, y: Any, qid: Any) -> float:
    """By definition, with all pairs."""
    pairs = pairs_of_blocks(y, qid)
    f = X @ model.coef_
    short = np.maximum(1.0 - (f[pairs[:, 0]] - f[pairs[:, 1]]), 0.0)
    loss = short if model.loss == "hinge" else short**2
    return 0.5 * float(model.coef_ @ model.coef_) + model.C * float(loss.sum())


def pairs_of_blocks(y: Any, qid: Any) -> Any:
    found = []
    for q in np.unique(qid):
        here = np.flatnonzero(qid == q)
        found.append(here[pairs_of(y[here], np.zeros(len(here)))])
    return np.concatenate(found)


def learn(model: Any, X: Any, y: Any, qid: Any, pieces: int = 1) -> Any:
    """From so many pieces of whole queries."""
    names = np.unique(qid)
    for some in np.array_split(names, pieces):
        here = np.isin(qid, some)
        model.partial_fit(X[here], y[here], qid[here])
    return model


@LOSSES
def test_a_long_stream_comes_near_the_optimum_of_a_fit(loss: Any) -> None:
    X, y, qid = queries(4000)
    for C in (1e-5, 0.1, 1.0):
        excess = []
        for n in (100, 4000):
            part = qid < n
            model = learn(SVMRanker(C=C, loss=loss), X[part], y[part], qid[part], pieces=5)
            best = SVMRanker(C=C, loss=loss, tol=1e-5).fit(X[part], y[part], qid[part]).certificate_
            excess.append(objective(model, X[part], y[part], qid[part]) / best.dual - 1.0)
        if C == 1e-5:  # begins near the optimum
            assert 0.0 < max(excess) < 0.05, excess
        else:
            assert 0.0 < excess[1] < excess[0] / 3, (C, excess)
            assert excess[1] < (0.03 if loss == "hinge" else 3e-3), (C, excess)


@LOSSES
def test_many_passes_over_shuffled_queries_approach_the_fit(loss: Any) -> None:
    """A pass more is another copy of all queries: the objective is that of a fit with as many times the weight."""
    X, y, qid = queries(60)
    rng, model, above = np.random.default_rng(1), SVMRanker(C=0.05, loss=loss), []
    for passes in range(1, 101):
        order = rng.permutation(60)
        for q in order:
            here = qid == q
            model.partial_fit(X[here], y[here])
        if passes in (1, 10, 100):
            exact = SVMRanker(C=0.05 * passes, loss=loss, tol=1e-6).fit(X, y, qid)
            mine = clone(exact)
            mine.coef_ = model.coef_
            above.append(objective(mine, X, y, qid) / exact.certificate_.dual - 1.0)
    assert 0.0 < above[2] < above[1] < above[0]
    assert above[2] < (0.03 if loss == "hinge" else 2e-3)
    assert model.n_samples_seen_ == 100 * len(y)


@LOSSES
@pytest.mark.parametrize("scale", [1e-4, 1e4])
def test_the_scale_of_the_features_does_not_matter(loss: Any, scale: float) -> None:
    X, y, qid = queries(300)
    one = learn(SVMRanker(C=0.1, loss=loss), X, y, qid)
    other = learn(SVMRanker(C=0.1 / scale**2, loss=loss), scale * X, y, qid)
    np.testing.assert_allclose(scale * other.coef_, one.coef_, rtol=1e-7)


@LOSSES
def test_pieces_and_the_order_of_documents_do_not_matter(loss: Any) -> None:
    X, y, qid = queries(40)
    one = learn(SVMRanker(loss=loss), X, y, qid)
    many = learn(SVMRanker(loss=loss), X, y, qid, pieces=40)
    np.testing.assert_allclose(one.coef_, many.coef_, rtol=1e-10)
    assert one.n_samples_seen_ == many.n_samples_seen_ == 320
    rng = np.random.default_rng(0)
    rest = 40 + rng.permutation(280)
    order = np.concatenate([np.arange(0, 40, 8), np.setdiff1d(np.arange(40), np.arange(0, 40, 8)), rest])
    first = np.full(40, 999)
    np.minimum.at(first, qid[order], np.arange(320))
    mixed = SVMRanker(loss=loss).partial_fit(X[order], y[order], qid[order])
    turned = SVMRanker(loss=loss)
    for q in np.argsort(first):
        turned.partial_fit(X[qid == q], y[qid == q])
    np.testing.assert_allclose(mixed.coef_, turned.coef_, rtol=1e-9)
    names = np.array([f"q{97 * q % 101}" for q in qid])
    np.testing.assert_array_equal(SVMRanker(loss=loss).partial_fit(X, y, names).coef_, one.coef_)


@LOSSES
def test_queries_of_two_documents_are_rows_of_differences(loss: Any) -> None:
    X, y, qid = queries(80, size=2)
    keep = np.repeat(y[::2] != y[1::2], 2)
    X, y, qid = X[keep], y[keep], qid[keep]
    model = learn(SVMRanker(C=0.3, loss=loss), X, y, qid, 5)
    rows, sign = X[::2] - X[1::2], np.sign(y[::2] - y[1::2])
    plain = SVMClassifier(C=0.3, loss=loss, fit_intercept=False).partial_fit(rows, sign, classes=[-1, 1])
    np.testing.assert_allclose(model.coef_, plain.coef_[0], rtol=1e-7, atol=1e-12)


@LOSSES
def test_dual_averaging_step_by_step(loss: Any) -> None:
    """The formula in the module's text, with listed pairs."""
    X, y, qid = queries(30)
    C, s, v = 0.3, np.arange(30) % 3 + 1.0, np.random.default_rng(2).choice([0.0, 0.5, 1.0, 2.0], len(y))
    model, G, w, mean, total, bend, n = SVMRanker(C=C, loss=loss), np.zeros(5), np.zeros(5), np.zeros(5), 0.0, 0.0, 0
    for q in range(30):
        here = np.flatnonzero(qid == q)
        model.partial_fit(X[here], y[here], sample_weight=[s[q]], document_weight=v[here])
        pairs = here[pairs_of(y[here], np.zeros(8))]
        weight = s[q] * v[pairs[:, 0]] * v[pairs[:, 1]]
        D = X[pairs[:, 0]] - X[pairs[:, 1]]
        slack = np.maximum(1.0 - D @ w, 0.0)
        G -= D.T @ (weight * (slack > 0.0) if loss == "hinge" else 2.0 * weight * slack)
        trace = float(weight @ (D * D).sum(1))
        some = group(y[here].astype(float), np.zeros(8, int), None, v[here])
        sizes = sizes_of(Rows(X[here[some.documents]]), some)
        assert s[q] * sizes[0] == pytest.approx(trace)
        largest = s[q] * sizes[1]
        total, bend, n = total + math.sqrt(trace * largest), max(bend, 2.0 * largest), n + 1
        w = -G / (1.0 / C + total / (10.0 * math.sqrt(n)) + (2.0 * bend if loss == "squared_hinge" else 0.0))
        mean += 4.0 / (n + 3.0) * (w - mean)
        np.testing.assert_allclose(model.coef_, mean, rtol=1e-8, atol=1e-12)
    assert model.n_samples_seen_ == (v > 0.0).sum()


@pytest.mark.parametrize("sparse", [False, True])
def test_the_sizes_of_a_query(sparse: bool) -> None:
    for seed in range(8):
        X, y, query = random_ranking(seed, n=30, d=6)
        v = np.random.default_rng(seed).uniform(0.2, 3.0, 30)
        here = query == np.bincount(query).argmax()
        X, y, v = X[here], y[here], v[here]
        some = group(y.astype(float), np.zeros(len(y), int), None, v)
        pairs = pairs_of(y, np.zeros(len(y)))
        D = X[pairs[:, 0]] - X[pairs[:, 1]]
        K = D.T @ ((v[pairs[:, 0]] * v[pairs[:, 1]])[:, None] * D)
        kept = X[some.documents]
        trace, largest = sizes_of(Rows(sp.csr_array(kept) if sparse else kept), some)
        assert trace == pytest.approx(np.trace(K))
        assert 0.5 * np.linalg.eigvalsh(K)[-1] <= largest <= np.linalg.eigvalsh(K)[-1] * (1.0 + 1e-9)


def test_forms_of_rows_agree() -> None:
    X, y, qid = queries(50)
    X = np.round(2 * X)
    dense = learn(SVMRanker(), X, y, qid, 3)
    for form in (sp.csr_matrix(X), X.astype(np.float32), np.asfortranarray(X)):
        np.testing.assert_allclose(learn(SVMRanker(), form, y, qid, 3).coef_, dense.coef_, rtol=1e-8)


def test_queries_without_a_pair_add_nothing() -> None:
    X, y, qid = queries(20)
    model = learn(SVMRanker(), X, y, qid)
    before = model.coef_.copy()
    model.partial_fit(X[:1], y[:1]).partial_fit(X[:3], [1, 1, 1]).partial_fit(X[:3], [0, 1, 2], [7, 8, 9])
    model.partial_fit(X[:3], [0, 1, 2], sample_weight=2.0, document_weight=[0.0, 1.0, 0.0])
    np.testing.assert_array_equal(model.coef_, before)
    assert model.n_samples_seen_ == 160 + 7 + 1
    between = learn(SVMRanker(), X[:80], y[:80], qid[:80]).partial_fit(X[:1], y[:1])
    np.testing.assert_allclose(learn(between, X[80:], y[80:], qid[80:]).coef_, before, rtol=1e-10)
    alone = SVMRanker().partial_fit(X[:1], y[:1])
    assert alone.predict(X[:2]).tolist() == [0.0, 0.0]
    equal = SVMRanker().partial_fit([[1.0], [1.0]], [0, 1])  # a pair of equal documents
    assert equal.coef_.tolist() == [0.0]


def test_a_stream_goes_on_after_a_pickle_and_has_no_certificate(tmp_path: Path) -> None:
    X, y, qid = queries(40)
    half = qid < 20
    model = SVMRanker()
    before = model.fit(X, y, qid).coef_.copy()
    model.partial_fit(X[half], y[half], qid[half])
    for name in ("certificate_", "history_", "notes_"):
        assert not hasattr(model, name)
    assert (model.solver_, model.n_iter_, model.n_samples_seen_) == ("subgradient", 1, 160)
    copy = pickle.loads(pickle.dumps(model))
    save_model(model, tmp_path / "model")
    kept = load_model(tmp_path / "model")
    for each in (model, copy, kept):
        each.partial_fit(X[~half], y[~half], qid[~half])
        np.testing.assert_array_equal(model.coef_, each.coef_)
    np.testing.assert_array_equal(model.coef_, learn(clone(model), X, y, qid, 2).coef_)
    model.fit(X, y, qid)
    assert not hasattr(model, "n_samples_seen_")
    np.testing.assert_array_equal(model.coef_, before)
    save_model(model, tmp_path / "model")
    assert model.partial_fit(X[half], y[half], qid[half]).n_samples_seen_ == 160
    model.fit_comparisons(None, ["a"], ["b"])
    assert not hasattr(model, "n_samples_seen_")
    model.partial_fit(X, y, qid)
    with pytest.raises(NotFittedError, match="call fit_comparisons first"):
        model.strength_table()


def test_it_holds_no_data() -> None:
    X, y, qid = queries(500)
    assert len(pickle.dumps(learn(SVMRanker(), X, y, qid))) < 20_000


def test_what_a_stream_refuses() -> None:
    X, y, qid = queries(10)
    assert not hasattr(SVMRanker(C=math.inf), "partial_fit")
    with pytest.raises(AttributeError) as refused:
        SVMRanker(C=math.inf).partial_fit(X, y, qid)
    assert str(refused.value) == "SVMRanker: partial_fit is for a finite C, not for inf"
    for options, message in (
        (dict(C=-1.0), "C must be a finite number > 0"),
        (dict(loss="square"), "loss must be 'hinge' or 'squared_hinge'"),
    ):
        model = SVMRanker(**options)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=message):
            model.partial_fit(X, y, qid)
        with pytest.raises(NotFittedError):
            model.predict(X)
    model = SVMRanker().partial_fit(X, y, qid)
    before = model.coef_.copy()
    for arguments, message in (
        ((X[:, :3], y, qid), "expecting 5 features"),
        ((X, y[:5], qid), "inconsistent numbers of samples"),
        ((X, y, qid[:5]), "qid has shape"),
        ((np.where(X > 1, np.nan, X), y, qid), "NaN"),
        ((X, y, qid, -np.ones(80)), r"sample_weight\[0\] is -1"),
        ((X, y, qid, None, np.ones(7)), r"document_weight has shape \(7,\)"),
        ((1e200 * X, y, qid), "too large to compute with; scale the features down"),
    ):
        with pytest.raises(ValueError, match=message):
            model.partial_fit(*arguments)
    model.C = 2.0
    with pytest.raises(ValueError, match=r"SVMRanker: C is 2.0 and was 1.0 when this stream began"):
        model.partial_fit(X, y, qid)
    model.set_params(C=1.0, loss="squared_hinge")
    with pytest.raises(ValueError, match=r"SVMRanker: loss is 'squared_hinge' and was 'hinge'"):
        model.partial_fit(X, y, qid)
    np.testing.assert_array_equal(model.coef_, before)
    assert model.n_samples_seen_ == 80


def test_the_objective_here_is_that_of_a_fit() -> None:
    X, y, qid = random_ranking(2)
    model = SVMRanker(C=0.3, tol=1e-9, max_passes=5000).fit(X, y, qid)
    assert objective(model, X, y, qid) == pytest.approx(
        explicit(X, y, qid, np.full(4, 0.3), "hinge").optimum(), rel=1e-7
    )


def test_costs_out_of_range_are_refused_as_by_fit() -> None:
    X = np.random.default_rng(0).standard_normal((12, 3))
    for learn in (SVMRanker(C=1e300).fit, SVMRanker(C=1e300).partial_fit):
        with pytest.raises(DataError, match="too large to compute with"):
            learn(X, X[:, 0])


@pytest.mark.parametrize("taken", [0, 3])
def test_after_an_interrupt_the_model_is_that_of_the_queries_taken(
    taken: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    X, y, qid = queries(10)
    model = SVMRanker().fit(X, y, qid)
    before, take, calls = dict(vars(model)), QueryStream._take, 0

    def cut(self: Any, task: Any) -> None:
        nonlocal calls
        calls += 1
        if calls > taken:
            raise KeyboardInterrupt
        take(self, task)

    monkeypatch.setattr(QueryStream, "_take", cut)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y, qid)
    monkeypatch.undo()
    if not taken:
        assert vars(model) == before
        return
    other = SVMRanker().partial_fit(X[: 8 * taken], y[: 8 * taken], qid[: 8 * taken])
    np.testing.assert_array_equal(model.coef_, other.coef_)
    assert model.n_samples_seen_ == other.n_samples_seen_ == 8 * taken
    assert not hasattr(model, "certificate_")
    save_model(model, tmp_path / "model")
    assert load_model(tmp_path / "model").n_samples_seen_ == 8 * taken
