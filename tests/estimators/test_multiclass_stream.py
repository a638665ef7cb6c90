"""The Crammer-Singer machine learns from a stream: what objective is followed, how near, and what is refused."""

from __future__ import annotations

import pickle
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from maxmargin import MulticlassSVM, load_model, save_model
from maxmargin.errors import RuledOutError
from maxmargin.solvers import structured_steps
from maxmargin.solvers.structured_stream import StructuredStream

COSTS = np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 2.0], [0.5, 3.0, 0.0]])


def rows(n: int, seed: int = 0) -> tuple[Any, Any]:
    """Three classes that overlap."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, 5)) + 1.5 * np.eye(5)[y], y


def learn(model: Any, X: Any, y: Any, pieces: int = 1, weight: Any = None) -> Any:
    for some in np.array_split(np.arange(len(y)), pieces):
        model.partial_fit(X[some], y[some], np.unique(y), None if weight is None else weight[some])
    return model


def objective(model: Any, X: Any, y: Any, costs: Any, weight: Any = 1.0) -> float:
    """``1/2 |w|^2 + C sum_i s_i xi_i`` by definition, with intercepts that are penalised where that is asked for."""
    scores = X @ model.coef_.T + model.intercept_
    slack = (scores + costs[y]).max(1) - scores[np.arange(len(y)), y]
    square = (model.coef_**2).sum()
    if model.penalize_intercept:
        square += (model.intercept_**2).sum() / model.intercept_scaling**2
    return float(0.5 * square + model.C * np.sum(weight * slack))


def same(one: Any, other: Any) -> None:
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)
    assert one.n_samples_seen_ == other.n_samples_seen_


@pytest.mark.parametrize(
    "options",
    [
        {},
        dict(loss=COSTS),
        dict(fit_intercept=False),
        dict(penalize_intercept=True),
        dict(penalize_intercept=True, intercept_scaling=3.0),
    ],
)
def test_a_long_stream_comes_near_the_optimum_of_a_fit(options: Any) -> None:
    """The excess, relative to the objective, falls as the root of the length or faster."""
    X, y = rows(20_000)
    costs = options.get("loss", 1.0 - np.eye(3))
    for C in (0.1, 10.0):
        excess = []
        for n in (500, 20_000):
            model = learn(MulticlassSVM(C=C, **options), X[:n], y[:n], 10)
            exact = clone(model).set_params(tol=1e-5, solver="interior_point")
            excess.append(objective(model, X[:n], y[:n], costs) / exact.fit(X[:n], y[:n]).certificate_.dual - 1.0)
        assert 0.0 < excess[1] < excess[0] / 4.0, (C, excess)
        assert excess[0] < 0.06, (C, excess)
        assert excess[1] < 5e-3, (C, excess)


@pytest.mark.parametrize("unit", [1e-4, 1e4])
def test_neither_the_unit_of_features_nor_that_of_costs_matters(unit: float) -> None:
    """Features times ``a`` with ``C / a^2``, and costs times ``a`` with ``C a``, are the same problem."""
    X, y = rows(300)
    plain = learn(MulticlassSVM(C=0.1, fit_intercept=False, loss=COSTS), X, y, 3)
    features = learn(MulticlassSVM(C=0.1 / unit**2, fit_intercept=False, loss=COSTS), unit * X, y, 3)
    costs = learn(MulticlassSVM(C=0.1 * unit, fit_intercept=False, loss=unit * COSTS), X, y, 3)
    np.testing.assert_allclose(features.coef_ * unit, plain.coef_, rtol=1e-7)
    np.testing.assert_allclose(costs.coef_ / unit, plain.coef_, rtol=1e-7)


@pytest.mark.parametrize("unit", [1e-6, 1e-2, 1e3])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_intercepts_do_not_depend_on_the_unit_of_the_features(unit: float, form: Any) -> None:
    X, y = rows(600)
    y = np.where(np.arange(600) % 3 == 0, 0, y)  # classes of other sizes
    plain = learn(MulticlassSVM(C=0.1), form(X), y, 3)
    other = learn(MulticlassSVM(C=0.1 / unit**2), form(unit * X), y, 3)
    assert np.abs(plain.intercept_).max() > 0.1
    np.testing.assert_allclose(other.coef_ * unit, plain.coef_, rtol=1e-6)
    np.testing.assert_allclose(other.intercept_, plain.intercept_, rtol=1e-6)
    assert other.score(unit * X, y) == plain.score(X, y)


def test_ctrl_c_after_the_last_step_of_a_piece_is_served_when_all_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows(300)
    model, forget = MulticlassSVM(), MulticlassSVM._forget

    def pressed(self: Any, *names: str) -> None:
        monkeypatch.setattr(MulticlassSVM, "_forget", forget)
        signal.raise_signal(signal.SIGINT)
        forget(self, *names)

    monkeypatch.setattr(MulticlassSVM, "_forget", pressed)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y, [0, 1, 2])
    assert model.n_samples_seen_ == 300
    same(model, learn(MulticlassSVM(), X, y))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_is_changed_in_place_is_seen_as_changed() -> None:
    X, y = rows(60)
    costs = COSTS.copy()
    model = MulticlassSVM(loss=costs).partial_fit(X, y, [0, 1, 2])
    costs *= 2.0
    with pytest.raises(ValueError, match="loss is .* and was .* when this stream began"):
        model.partial_fit(X, y)
    model.set_params(loss=COSTS.copy()).partial_fit(X, y)
    assert model.n_samples_seen_ == 120


def test_the_pieces_make_no_difference_at_all() -> None:
    """Also where the factors of the weights have been made anew, of sparse rows, with weights, and without losses."""
    X, y = rows(700)
    weight = np.random.default_rng(1).integers(1, 4, 700) * 0.5
    for form, costs in ((np.asarray, COSTS), (sp.csr_matrix, COSTS * [[0.0], [1.0], [1.0]])):
        whole = learn(MulticlassSVM(C=1e3, loss=costs), form(X), y, 1, weight)
        for pieces in (2, 13, 700):
            same(learn(MulticlassSVM(C=1e3, loss=costs), form(X), y, pieces, weight), whole)
        assert whole.n_samples_seen_ == 700


@pytest.mark.parametrize("costs", [COSTS, COSTS * [[0.0], [1.0], [1.0]]], ids=["every class", "one without losses"])
def test_dual_averaging_step_by_step(costs: Any) -> None:
    """The formula in the module's text."""
    X, y = rows(120)
    y[:3] = 0
    C, s = 0.3, np.arange(120) % 3 + 1.0
    model = MulticlassSVM(C=C, fit_intercept=False, loss=costs)
    G, w, mean, total, squares, looked = np.zeros((3, 5)), np.zeros((3, 5)), np.zeros((3, 5)), 0.0, 0.0, 0
    for i in range(120):
        model.partial_fit(X[i : i + 1], y[i : i + 1], [0, 1, 2], s[i : i + 1])
        k = int((w @ X[i] + costs[y[i]]).argmax())
        G[k] += s[i] * X[i]
        G[y[i]] -= s[i] * X[i]
        total += s[i] * (X[i] @ X[i])
        if looked < 64 and costs[y[i]].any():
            looked, squares = looked + 1, squares + costs[y[i]].max() ** 2
        if looked:
            w = -G / (1.0 / C + total / (10.0 * np.sqrt(squares / looked) * np.sqrt(i + 1.0)))
        mean += 4.0 / (i + 4.0) * (w - mean)
        np.testing.assert_allclose(model.coef_, mean, rtol=1e-9, atol=1e-12)


def test_weights_of_zero_are_rows_left_out_and_classes_have_factors() -> None:
    X, y = rows(200)
    weight = np.arange(200) % 3
    some = weight > 0
    same(learn(MulticlassSVM(), X, y, 2, weight), learn(MulticlassSVM(), X[some], y[some], 1, weight[some]))
    factors = learn(MulticlassSVM(class_weight={0: 3.0, 1: 0.0}), X, y)
    same(factors, learn(MulticlassSVM(), X, y, 1, np.array([3.0, 0.0, 1.0])[y]))


def test_labels_of_any_type_come_back_as_given() -> None:
    X, y = rows(60)
    names = [("a", 1), ("a", 2), ("b", 0)]
    model = MulticlassSVM(loss=lambda true, found: float(true != found))
    model.partial_fit(X, [names[k] for k in y], classes=names)
    assert model.classes_.tolist() == names
    np.testing.assert_array_equal(model.coef_, learn(MulticlassSVM(), X, y).coef_)
    assert model.predict(X[:9]).tolist() == [names[k] for k in learn(MulticlassSVM(), X, y).predict(X[:9])]


def test_a_stream_goes_on_after_a_pickle_and_a_file_and_a_fit_forgets_it(tmp_path: Path) -> None:
    X, y = rows(400)
    model = MulticlassSVM(C=1e3, random_state=0).fit(X, y)
    before = model.coef_.copy()
    model.partial_fit(X[:200], y[:200])  # classes are known from the fit, which is forgotten
    for name in ("certificate_", "history_", "notes_", "n_mistakes_", "_warm"):
        assert not hasattr(model, name)
    assert (model.solver_, model.n_iter_, model.n_samples_seen_) == ("subgradient", 1, 200)
    assert model.solver_reason_ == "partial_fit sees each example once"
    copy = pickle.loads(pickle.dumps(model))
    save_model(model, tmp_path / "model")
    kept = load_model(tmp_path / "model")
    for each in (model, copy, kept):
        each.partial_fit(X[200:], y[200:])
        same(each, model)
    same(model, learn(MulticlassSVM(C=1e3), X, y, 5))
    model.fit(X, y)
    assert not hasattr(model, "n_samples_seen_")
    assert not hasattr(model, "_streams")
    np.testing.assert_array_equal(model.coef_, before)
    assert model.partial_fit(X[:50], y[:50]).n_samples_seen_ == 50


def test_it_holds_no_data() -> None:
    X, y = rows(20_000)
    assert len(pickle.dumps(learn(MulticlassSVM(), X, y))) < 10_000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(solver="coordinate_ascent"), "solver must be 'auto' or 'subgradient', not 'coordinate_ascent'"),
        (dict(solver="pegasos"), "a step of Pegasos needs the number of all rows"),
        (dict(class_weight="balanced"), "cannot count the classes of a whole stream: class_weight must be a dict"),
    ],
)
def test_what_rules_a_stream_out_leaves_no_partial_fit(options: Any, message: str) -> None:
    model = MulticlassSVM(**options)
    assert not hasattr(model, "partial_fit")
    with pytest.raises(RuledOutError, match=message):
        model.partial_fit([[0.0], [1.0]], [0, 1])


def test_free_intercepts_without_intercepts_rule_nothing_out() -> None:
    X, y = rows(30)
    same(
        learn(MulticlassSVM(fit_intercept=False, penalize_intercept=False), X, y),
        learn(MulticlassSVM(fit_intercept=False), X, y),
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(C=-1.0), "C must be a finite number > 0"),
        (dict(loss="hinge"), "loss must be 'zero_one'"),
        (dict(loss=np.ones((3, 3))), "the cost of predicting the true label must be 0"),
        (dict(penalize_intercept="no"), "penalize_intercept must be True, False or None"),
        (dict(intercept_scaling=0.0), "intercept_scaling must be"),
        (dict(intercept_scaling=2.0), "needs penalize_intercept=True: free intercepts have no scale"),
        (dict(class_weight={7: 1.0}), "class_weight names the class 7"),
        (dict(C=1e200), "too large to compute with"),
    ],
)
def test_what_a_stream_cannot_follow_is_refused(options: Any, message: str) -> None:
    X, y = rows(20)
    model = MulticlassSVM(**options)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_a_piece_that_fails_changes_nothing() -> None:
    X, y = rows(40)
    model = MulticlassSVM(loss=COSTS)
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        model.partial_fit(X, y)
    model.partial_fit(X, y, classes=[2, 1, 0])
    before = dict(vars(model))
    huge = np.where(np.arange(5) == 0, 1e101, X)
    for arguments, message in (
        ((X[:, :3], y), "expecting 5 features"),
        ((np.where(X > 1, np.nan, X), y), "NaN"),
        ((huge, y), "too large to compute with; .* row 0, column 0"),
        ((X[:0], y[:0]), "0 sample"),
        ((X, np.where(y == 1, 1, 5)), r"y has the class 5, which is not among classes \[0, 1, 2\]"),
        ((X, y, [0, 1, 2, 3]), "they cannot change while a stream goes on"),
        ((X, y, None, np.zeros(40)), "sample_weight is zero for every example"),
        ((X, y, None, np.full(40, -1.0)), r"sample_weight\[0\] is -1"),
        ((1e99 * X, y, None, np.full(40, 1e90)), "features and weights are too large|sample weight"),
    ):
        with pytest.raises(ValueError, match=message) as refused:
            model.partial_fit(*arguments)
        assert "\n" not in str(refused.value)
        assert vars(model) == before
    with pytest.raises(ValueError, match=r"MulticlassSVM: loss is 'zero_one' and was array\(.*; set it back"):
        model.set_params(loss="zero_one").partial_fit(X, y)
    model.set_params(loss=COSTS.copy()).partial_fit(X, y)  # an equal one is the same
    same(model, learn(MulticlassSVM(loss=COSTS), np.concatenate([X, X]), np.concatenate([y, y])))


class Cut:
    """In the place of :func:`chunks`: pieces of ten rows, of which only so many come."""

    def __init__(self, n_pieces: int) -> None:
        self.left = n_pieces

    def __call__(self, order: NDArray[np.int64]) -> Any:
        for part in np.split(order, range(10, len(order), 10)):
            if self.left == 0:
                raise KeyboardInterrupt
            self.left -= 1
            yield part


@pytest.mark.parametrize("taken", [0, 3])
def test_after_an_interrupt_the_model_is_that_of_the_rows_taken(taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows(100)
    model = MulticlassSVM().fit(X, y)
    before = dict(vars(model))
    monkeypatch.setattr("maxmargin.solvers.structured_stream.chunks", Cut(taken))
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X, y)
    monkeypatch.undo()
    if not taken:
        assert vars(model) == before
        return
    same(model, learn(MulticlassSVM(), X[:30], y[:30]))
    model.partial_fit(X[30:], y[30:])
    same(model, learn(MulticlassSVM(), X, y))


def test_steps_count_that_were_done_when_an_interrupt_came(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C during compiled steps is heard when they are done, before anything else is."""
    X, y = rows(100)
    take = structured_steps.structured_steps

    def interrupted(*arguments: Any) -> None:
        take(*arguments)
        raise KeyboardInterrupt

    model = learn(MulticlassSVM(), X[:20], y[:20])
    monkeypatch.setattr(structured_steps, "structured_steps", interrupted)
    monkeypatch.setattr("maxmargin.solvers.structured_stream.chunks", Cut(8))
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[20:], y[20:])
    monkeypatch.undo()
    same(model, learn(MulticlassSVM(), X[:30], y[:30]))
    model.partial_fit(X[30:], y[30:])
    same(model, learn(MulticlassSVM(), X, y))


def test_figures_that_no_stream_has_are_refused() -> None:
    """As a file may bring them: else a step would divide by them."""
    stream = StructuredStream(4, 1.0)
    figures = np.array(stream.first_figures)
    stream.go_on_from(0, np.zeros(4), np.zeros(4), figures)
    for at, wrong in ((0, -1.0), (6, 0.0), (7, -1.0), (8, np.nan), (9, 0.0), (10, -1.0), (11, 0.0)):
        with pytest.raises(ValueError, match="that no (rows|steps|examples) have"):
            stream.go_on_from(0, np.zeros(4), np.zeros(4), np.where(np.arange(12) == at, wrong, figures))
