"""Learning from streams: what objective is followed, how near, and what is refused."""

from __future__ import annotations

import pickle
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator

from maxmargin import SVMClassifier, SVMRanker, SVMRegressor, load_model, save_model
from maxmargin.errors import DataError, RuledOutError
from maxmargin.losses import CustomLoss, Logistic
from maxmargin.solvers.linear.coordinate_ascent import CoordinateAscent

CLASSIFIERS = ["hinge", "squared_hinge", "logistic"]
REGRESSORS = ["epsilon_insensitive", "squared_epsilon_insensitive"]


def rows(n: int, seed: int = 0) -> tuple[Any, Any]:
    """Rows and values with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)) + 0.3
    return X, X @ [1.0, -1.0, 0.5, 0.0, 2.0] - 0.7 + rng.normal(size=n)


def machine(loss: str, C: float, **options: Any) -> Any:
    return (SVMClassifier if loss in CLASSIFIERS else SVMRegressor)(C=C, loss=loss, **options)  # type: ignore[arg-type]


def objective(model: Any, X: Any, y: Any, weight: Any = 1.0) -> float:
    """``1/2 |w|^2 + C sum_i s_i loss_i`` by definition, ``b`` in it where it is penalised."""
    w, b = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
    f = X @ w + b
    if isinstance(model, SVMClassifier):
        t = np.where(y > 0, 1.0, -1.0) * f
        loss = np.logaddexp(0.0, -t) if model.loss == "logistic" else np.maximum(1.0 - t, 0.0)
    else:
        loss = np.maximum(np.abs(y - f) - model.epsilon, 0.0)
    value = 0.5 * float(w @ w) + model.C * float(np.sum(weight * (loss**2 if "squared" in model.loss else loss)))
    return value + (0.5 * b * b if model.penalize_intercept else 0.0)


def learn(model: Any, X: Any, y: Any, pieces: int = 1, weight: Any = None) -> Any:
    """From so many pieces."""
    known = dict(classes=np.unique(y)) if isinstance(model, SVMClassifier) else {}
    for some in np.array_split(np.arange(len(y)), pieces):
        model.partial_fit(X[some], y[some], sample_weight=None if weight is None else weight[some], **known)
    return model


@pytest.mark.parametrize("loss", CLASSIFIERS + REGRESSORS)
def test_a_long_stream_comes_near_the_optimum_of_a_fit(loss: str) -> None:
    """The excess, relative to the objective, falls as the root of the length or faster.

    For a small ``C`` it begins small, and stays so for long.
    """
    X, values = rows(40_000)
    y = np.where(values > 0.0, 1, -1) if loss in CLASSIFIERS else values
    for C in (1e-3, 1.0, 100.0):
        excess = []
        for n in (1000, 40_000):
            model = learn(machine(loss, C), X[:n], y[:n], pieces=10)
            exact = machine(loss, C, tol=1e-5, solver="newton" if loss == "logistic" else "interior_point")
            excess.append(objective(model, X[:n], y[:n]) / exact.fit(X[:n], y[:n]).certificate_.dual - 1)
        if C == 1e-3:
            assert 0.0 < max(excess) < 0.05
        else:
            assert 0.0 < excess[1] < excess[0] / 5, (C, excess)
            assert excess[1] < 1e-2, (C, excess)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("intercept", ["none", "penalized"])
def test_neither_scale_nor_intercept_matters(intercept: str, scale: float) -> None:
    """Features times ``a`` and C divided by its square are the same problem, but for the penalty of an intercept."""
    X, values = rows(8000)
    y = np.where(values > 0.0, 1, -1)
    options = dict(fit_intercept=intercept != "none", penalize_intercept=intercept == "penalized")
    C = 0.1 if intercept == "penalized" else 0.1 / scale**2
    model = learn(machine("hinge", C, **options), scale * X, y)
    best = machine("hinge", C, tol=1e-5, **options).fit(scale * X, y).certificate_.primal
    assert objective(model, scale * X, y) < 1.02 * best


@pytest.mark.parametrize("scale", [1e-5, 1e5])
@pytest.mark.parametrize("loss", REGRESSORS)
def test_targets_may_have_any_scale_and_offset(loss: str, scale: float) -> None:
    """Targets times ``a``: the same problem in ``w / a``, with ``epsilon a``, and for the plain tube ``C a``."""
    X, values = rows(8000)
    y = scale * (values + 300.0)
    model = machine(loss, 0.1 * (1.0 if "squared" in loss else scale), epsilon=0.1 * scale)
    best = clone(model).set_params(tol=1e-5, solver="interior_point").fit(X, y).certificate_.primal
    assert objective(learn(model, X, y, pieces=40), X, y) < 1.02 * best


def test_row_by_row_is_all_at_once() -> None:
    X, values = rows(300)
    for loss in ("hinge", "logistic", "epsilon_insensitive"):
        y = np.where(values > 0.0, 1, -1) if loss in CLASSIFIERS else values - values[0]
        options = dict(fit_intercept=loss != "epsilon_insensitive")  # that of a regression begins with the first piece
        one, many = (learn(machine(loss, 1.0, **options), X, y, pieces) for pieces in (1, 300))
        np.testing.assert_allclose(one.coef_, many.coef_, rtol=1e-8)
        np.testing.assert_allclose(one.intercept_, many.intercept_, rtol=1e-8)
        assert one.n_samples_seen_ == many.n_samples_seen_ == 300


def test_dual_averaging_step_by_step() -> None:
    """The formula in the module's text, for hinges without an intercept."""
    X, values = rows(60)
    y, C, s = np.where(values > 0.0, 1, -1), 0.3, np.arange(60) % 3 + 1.0
    model = machine("hinge", C, fit_intercept=False)
    G, w, mean, total = np.zeros(5), np.zeros(5), np.zeros(5), 0.0
    for i in range(60):
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[-1, 1], sample_weight=s[i : i + 1])
        if y[i] * (w @ X[i]) < 1.0:
            G -= s[i] * y[i] * X[i]
        total += s[i] * (X[i] @ X[i])
        w = -G / (1.0 / C + total / (10.0 * np.sqrt(i + 1.0)))
        mean += 4.0 / (i + 4.0) * (w - mean)
        np.testing.assert_allclose(model.coef_[0], mean, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_several_classes_that_come_one_after_another(multi_class: Any) -> None:
    rng = np.random.default_rng(1)
    names = np.array(["a", "b", "c"])
    number = rng.integers(0, 3, 6000)
    X = rng.normal(size=(6000, 3)) + 2.0 * np.eye(3)[number]
    model = SVMClassifier(C=0.1, multi_class=multi_class)
    for at in range(0, 6000, 500):
        model.partial_fit(X[at : at + 500], names[number[at : at + 500]], classes=names[::-1] if at == 0 else None)
    exact = SVMClassifier(C=0.1, multi_class=multi_class).fit(X, names[number])
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.coef_.shape == exact.coef_.shape
    assert (model.predict(X) == exact.predict(X)).mean() > 0.98
    alone = SVMClassifier(multi_class=multi_class).partial_fit(X[:1], names[number[:1]], classes=names)
    assert alone.predict(X[:1]).tolist() == names[number[:1]].tolist()


def test_weights_of_zero_are_rows_left_out_and_classes_have_factors() -> None:
    X, values = rows(200)
    y = np.where(values > 0.0, "yes", "no")
    weight = np.arange(200) % 3
    some = weight > 0
    one = learn(SVMClassifier(), X, y, weight=weight)
    other = learn(SVMClassifier(), X[some], y[some], weight=weight[some])
    np.testing.assert_array_equal(one.coef_, other.coef_)
    assert one.n_samples_seen_ == some.sum()
    factors = learn(SVMClassifier(class_weight={"yes": 3.0, "no": 0.0}), X, y)
    by_hand = learn(SVMClassifier(), X, y, weight=np.where(y == "yes", 3.0, 0.0))
    np.testing.assert_array_equal(factors.coef_, by_hand.coef_)


def test_forms_of_rows_agree() -> None:
    X, values = rows(500)
    X = np.round(2 * X)
    y = np.where(values > 0.0, 1, -1)
    dense = learn(SVMClassifier(), X, y, 3)
    for form in (sp.csr_matrix(X), X.astype(np.float32), np.asfortranarray(X)):
        np.testing.assert_allclose(learn(SVMClassifier(), form, y, 3).coef_, dense.coef_, rtol=1e-8)


def test_a_stream_goes_on_after_a_pickle_and_has_no_certificate(tmp_path: Path) -> None:
    X, values = rows(400)
    for model, y in ((SVMClassifier(random_state=0), values > 0), (SVMRegressor(random_state=0), values)):
        before = model.fit(X, y).coef_.copy()
        model.partial_fit(X[:200], y[:200])  # classes are known from the fit, which is forgotten
        for name in ("certificate_", "history_", "support_", "dual_coef_"):
            assert not hasattr(model, name)
        assert (model.solver_, model.n_iter_, model.n_samples_seen_) == ("subgradient", 1, 200)
        copy = pickle.loads(pickle.dumps(model))
        save_model(model, tmp_path / "model")
        kept = load_model(tmp_path / "model")
        for each in (model, copy, kept):
            each.partial_fit(X[200:], y[200:])
            np.testing.assert_array_equal(model.coef_, each.coef_)
            np.testing.assert_array_equal(model.intercept_, each.intercept_)
            assert each.n_samples_seen_ == 400
        np.testing.assert_array_equal(model.coef_, learn(clone(model), X, y, 2).coef_)
        model.fit(X, y)
        assert not hasattr(model, "n_samples_seen_")
        np.testing.assert_array_equal(model.coef_, before)
        save_model(model, tmp_path / "model")
        again = model.partial_fit(X[:50], y[:50])
        assert again.n_samples_seen_ == 50


def test_it_holds_no_data() -> None:
    X, values = rows(20_000)
    model = learn(SVMClassifier(), X, values > 0)
    assert len(pickle.dumps(model)) < 20_000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(class_weight={7: 1.0}), "class_weight names the class 7, which is not in y"),
        (dict(multi_class="all"), "multi_class must be 'ovr' or 'ovo'"),
        (dict(C=-1.0), "C must be a finite number > 0"),
        (dict(penalize_intercept=True, fit_intercept=False), "penalize_intercept=True needs fit_intercept=True"),
    ],
)
def test_what_a_stream_cannot_follow_is_refused(options: Any, message: str) -> None:
    X, values = rows(20)
    model = SVMClassifier(**options)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, values > 0, classes=[False, True])
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SVMClassifier(solver="newton"), "solver must be 'auto' or 'subgradient', not 'newton'"),
        (SVMRegressor(solver="coordinate_ascent"), "solver must be 'auto' or 'subgradient', not 'coordinate_ascent'"),
        (SVMClassifier(solver=CoordinateAscent()), "solver must be 'auto' or 'subgradient', not CoordinateAscent"),
        (SVMClassifier(loss="exponential"), "losses hinge, squared_hinge, logistic, perceptron, not for 'exponential'"),
        (
            SVMClassifier(loss=CustomLoss(Logistic().value, Logistic().derivative)),
            "partial_fit is for the losses hinge",
        ),
        (SVMClassifier(class_weight="balanced"), "cannot count the classes of a whole stream: class_weight must be a"),
    ],
    ids=str,
)
def test_what_rules_a_stream_out_leaves_no_partial_fit(model: Any, message: str) -> None:
    """So that whoever asks for the method first, as scikit-learn's checks do, is not misled."""
    assert not hasattr(model, "partial_fit")
    for call in (
        lambda: model.partial_fit([[0.0], [1.0]], [0, 1]),
        lambda: type(model).partial_fit(model, [[0.0]], [0]),
    ):
        with pytest.raises(RuledOutError) as refused:
            call()
        assert message in str(refused.value)
        assert isinstance(refused.value, ValueError)
        assert refused.value.__cause__ is None  # a traceback tells it once


@pytest.mark.parametrize(
    "model",
    [
        SVMClassifier(loss="exponential"),
        SVMRegressor(solver="coordinate_ascent"),
    ],
    ids=str,
)
def test_scikit_learn_finds_no_fault(model: Any) -> None:
    checks = check_estimator(model, on_fail=None)
    assert [check["check_name"] for check in checks if check["status"] == "failed"] == []


def test_a_loss_that_is_none_is_refused_by_the_call() -> None:
    for loss in ("zero_one", "wrong", None, ["hinge"]):
        with pytest.raises((ValueError, TypeError), match="loss"):
            SVMClassifier(loss=loss).partial_fit([[0.0], [1.0]], [0, 1], classes=[0, 1])  # type: ignore[arg-type]


@pytest.mark.parametrize("model", [SVMClassifier(C=np.inf), SVMRegressor(C=np.inf), SVMRanker(C=np.inf)], ids=repr)
def test_a_hard_margin_has_no_stream(model: Any) -> None:
    with pytest.raises(ValueError, match=rf"^{type(model).__name__}: .* finite .*not .*inf$"):
        model.partial_fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    ("C", "weight", "what"), [(1e-320, 1.0, "small"), (1e200, 1.0, "large"), (1.0, 1e308, "large")]
)
@pytest.mark.parametrize("machine", [SVMClassifier, SVMRegressor])
def test_costs_that_leave_the_range_of_numbers_are_refused(machine: Any, C: float, weight: float, what: str) -> None:
    """They had given weights that are no numbers."""
    more = dict(classes=[0, 1]) if machine is SVMClassifier else {}
    with pytest.raises(DataError, match=f"too {what} to compute with"):
        machine(C=C).partial_fit([[0.0], [1.0]], [0, 1], sample_weight=[weight, weight], **more)
    if more:
        with pytest.raises(DataError, match=f"too {what} to compute with"):
            machine(C=C, class_weight={1: weight}).partial_fit([[1.0]], [1], sample_weight=[weight], **more)


def test_what_plays_no_part_in_a_stream_changes_nothing() -> None:
    X, values = rows(50)
    plain = learn(SVMClassifier(), X, values > 0)
    other = SVMClassifier(tol=0.0, max_passes=1, max_time=0.0, warm_start=True, verbose=2, random_state=7, cache_mb=1.0)
    np.testing.assert_array_equal(learn(other, X, values > 0).coef_, plain.coef_)


def test_a_kernel_leaves_no_partial_fit() -> None:
    for options, what in ((dict(kernel="rbf"), "kernel='rbf'"), (dict(nu=0.5), "nu")):
        for model in (SVMClassifier(**options), SVMRegressor(**options)):
            assert not hasattr(model, "partial_fit")
            with pytest.raises(RuledOutError) as refused:
                model.partial_fit([[0.0]], [1.0])
            assert str(refused.value) == f"{type(model).__name__}: partial_fit is for kernel='linear', not for {what}"


def test_classes_and_parameters_are_those_of_the_beginning() -> None:
    X, values = rows(20)
    y = np.where(values > 0.0, 1, -1)
    model = SVMClassifier()
    for given, message in (
        (None, "classes must be passed on the first call"),
        ([1], "at least two classes"),
        ([1, 2], r"y has the class -1, which is not among classes \[1, 2\]"),
    ):
        with pytest.raises(ValueError, match=message):
            model.partial_fit(X, y, classes=given)
    model.partial_fit(X, y, classes=[1, -1]).partial_fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match=r"classes are \[-1, 0, 1\]; they cannot change while a stream goes on"):
        model.partial_fit(X, y, classes=[-1, 0, 1])
    with pytest.raises(ValueError, match="y has the class 5"):
        model.partial_fit(X, np.where(y == 1, 1, 5))
    with pytest.raises(ValueError, match="expecting 5 features"):
        model.partial_fit(X[:, :3], y)
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.where(X > 1, np.nan, X), y)
    model.C = 2.0
    with pytest.raises(ValueError, match=r"SVMClassifier: C is 2.0 and was 1.0 when this stream began"):
        model.partial_fit(X, y)
    np.testing.assert_array_equal(model.coef_, before)
    assert model.n_samples_seen_ == 40
    regressor = SVMRegressor().partial_fit(X, values)
    regressor.epsilon = 0.5
    with pytest.raises(ValueError, match=r"SVMRegressor: epsilon is 0.5 and was 0.1"):
        regressor.partial_fit(X, values)
    with pytest.raises(ValueError, match="too large; scale y down"):
        SVMRegressor().partial_fit(X, 1e200 * values)
    with pytest.raises(ValueError, match="loss must be one of"):
        SVMRegressor(loss="hinge").partial_fit(X, values)  # type: ignore[arg-type]


class Colour(Enum):
    RED = "red"
    GREEN = "green"


# each in the order that its classes get: sorted, or of their first occurrence among those given
LABELS: dict[str, list[Any]] = {
    "tuples of one": [(0,), (1,), (2,)],
    "tuples of two": [(0, "a"), (0, "b"), (1, "a")],
    "members": [Colour.RED, Colour.GREEN],
    "None and text": [None, "a"],
    "text and None": ["b", None, "a"],
    "sets": [frozenset("b"), frozenset("ac"), frozenset()],
    "bytes": [b"a", b"b"],
    "fractions": [Fraction(1, 3), Fraction(1, 2)],
    "None and a number": [None, 2.5],
}
NOT_KEPT = ("members", "bytes", "fractions")  # in model files


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_any_type_come_back_as_given(kind: str, multi_class: Any, tmp_path: Path) -> None:
    """The stream of their numbers, to the last bit, but for the names."""
    labels, (X, _) = LABELS[kind], rows(90)
    number = np.arange(90) * 7 % len(labels)
    y = [labels[k] for k in number]
    for form in (list, lambda some: np.fromiter(some, object, len(some))):
        given, plain = SVMClassifier(multi_class=multi_class), SVMClassifier(multi_class=multi_class)
        for at in (0, 30):
            some = slice(at, at + 30)
            again = dict(classes=form([*labels, labels[0]])) if at == 0 else {}
            given.partial_fit(X[some], form(y[some]), **again)
            plain.partial_fit(X[some], number[some], classes=range(len(labels)))
        first = [k for k in range(60, 90) if number[k] == 1]  # a piece of one class alone
        save = kind not in NOT_KEPT
        if save:
            save_model(given, tmp_path / "model")
        models = [given, load_model(tmp_path / "model")] if save else [given]
        plain.partial_fit(X[first], number[first])
        for model in models:
            model.partial_fit(X[first], form([y[k] for k in first]))
            assert model.classes_.tolist() == labels
            assert list(map(type, model.classes_.tolist())) == list(map(type, labels))
            assert model.coef_.tobytes() == plain.coef_.tobytes()
            assert model.intercept_.tobytes() == plain.intercept_.tobytes()
            assert model.predict(X).tolist() == [labels[k] for k in plain.predict(X).tolist()]
            assert model.score(X, form(y)) == plain.score(X, number)
    fitted = SVMClassifier(multi_class=multi_class).fit(X, y)
    before = fitted.classes_.tolist()
    assert fitted.partial_fit(X, y).classes_.tolist() == before


def test_classes_are_in_the_order_of_a_fit() -> None:
    X, _ = rows(4)
    for given, order in (
        ([(2,), (1,), (2,)], [(1,), (2,)]),
        (["b", None, "b", "a"], ["b", None, "a"]),
        ([None, True, 1], [None, True]),
    ):
        model = SVMClassifier().partial_fit(X[:2], [given[0], given[1]], classes=given)
        assert model.classes_.tolist() == order
        before = model.coef_.copy()
        model.partial_fit(X[2:], [given[1], given[0]], classes=given[::-1])  # the same classes: their order stays
        assert model.classes_.tolist() == order
        assert not np.array_equal(model.coef_, before)
    for change in (["b", None], ["b", None, "c"], ["a", "b"]):
        model = SVMClassifier().partial_fit(X[:2], ["b", None], classes=["b", None, "a"])
        with pytest.raises(ValueError, match="they cannot change while a stream goes on"):
            model.partial_fit(X[2:], ["b", "b"], classes=change)


def test_such_classes_have_factors() -> None:
    X, _ = rows(60)
    number = np.arange(60) % 2
    members = list(Colour)
    y = [members[k] for k in number]
    given = SVMClassifier(class_weight={Colour.GREEN: 3.0, Colour.RED: 0.5}).partial_fit(X, y, classes=members)
    plain = SVMClassifier(class_weight={1: 3.0, 0: 0.5}).partial_fit(X, number, classes=[0, 1])
    assert given.coef_.tobytes() == plain.coef_.tobytes()
    only = [k for k in range(60) if number[k] == 1]  # the factors name a class that the piece lacks
    given.partial_fit(X[only], [y[k] for k in only])
    plain.partial_fit(X[only], number[only])
    assert given.coef_.tobytes() == plain.coef_.tobytes()
    for bad, message in (
        ({"red": 1.0}, "class_weight names the class 'red', which is not in y"),
        ({Colour.RED: -1.0}, "class_weight of <Colour.RED: 'red'> is -1.0"),
        (dict.fromkeys(members, 0.0), "class_weight is zero for every class"),
    ):
        with pytest.raises(DataError, match=message):
            SVMClassifier(class_weight=bad).partial_fit(X, y, classes=members)


@pytest.mark.parametrize(
    ("classes", "y", "message"),
    [
        ([(0,), (1,)], [(0,), (5,)], r"y has the class \(5,\), which is not among classes \[\(0,\), \(1,\)\]"),
        ([(0,), (1,)], [0, 1], r"y has the class 0, which is not among classes \[\(0,\)"),
        ([(0,), (1,)], np.array([[0], [1]]), r"y has shape \(2, 1\); it must be a list or an array of labels"),
        ([(0,), (1,)], [[0], [1]], r"y\[0\]: \[0\] cannot be a label"),
        ([(0,), (1,)], [(0,), [1]], r"y\[1\]: \[1\] cannot be a label"),
        ([0, 1], [(0,), (1,)], r"y has the class \(0,\), which is not among classes \[0, 1\]"),
        ([0, 1], ["0", "1"], r"y has the class '0', which is not among classes \[0, 1\]"),
        (["0", "1"], [1, 0], r"y has the class 1, which is not among classes \['0', '1'\]"),
        (["a", "b"], ["a", None], r"y has the class None, which is not among classes \['a', 'b'\]"),
        (["a", "b"], ["a", "c"], r"y has the class 'c', which is not among classes \['a', 'b'\]"),
        ([None, "a"], ["a", 1], r"y has the class 1, which is not among classes \[None, 'a'\]"),
        ([None, {1}], [None, None], r"^classes\[1\]: \{1\} cannot be a label"),
        ([{1}, {2}], [{1}, {2}], r"^classes\[0\]: \{1\} cannot be a label"),
        (["a", 1], ["a", "a"], "^classes mixes text with other labels"),
        ({"a", "b"}, ["a", "b"], "^classes is of type set; it must be a list or an array of labels$"),
        ([None], [None, None], r"at least two classes, not \[None\]"),
        ([0, 1], "ab", "^y is of type str; it must be a list or an array of labels, one for each row$"),
    ],
)
def test_labels_that_are_none_of_the_classes_are_named(classes: Any, y: Any, message: str) -> None:
    model = SVMClassifier()
    with pytest.raises(ValueError, match=message):
        model.partial_fit(np.eye(2), y, classes=classes)
    assert not hasattr(model, "classes_")


class Cut:
    """In the place of :func:`chunks`: twelve pieces of each call, of which only so many come."""

    def __init__(self, n_pieces: int) -> None:
        self.left = n_pieces

    def __call__(self, order: Any) -> Any:
        for part in np.array_split(order, 12):
            if self.left == 0:
                raise KeyboardInterrupt
            self.left -= 1
            yield part


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
def test_after_an_interrupt_the_model_is_that_of_the_rows_taken(
    multi_class: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    X, _ = rows(120)
    y = np.tile([0, 1, 2], 40)
    model = SVMClassifier(multi_class=multi_class).partial_fit(X[:60], y[:60], classes=[0, 1, 2])
    before = model.coef_
    monkeypatch.setattr("maxmargin.solvers.linear.stream.chunks", Cut(18))
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[60:], y[60:])
    monkeypatch.undo()
    seen = [stream.seen for stream in model._streams.each]
    # ovo: all 40 rows of classes 0 and 1, and 22 of those of 0 and 2, of which 11 are of class 2
    assert (seen, model.n_samples_seen_) == (([120, 90, 60], 120) if multi_class == "ovr" else ([80, 62, 40], 111))
    np.testing.assert_array_equal(model.coef_, model._streams.weights()[0])
    np.testing.assert_array_equal(model.intercept_, model._streams.weights()[1])
    assert (model.coef_[:2] != before[:2]).any(1).all()
    np.testing.assert_array_equal(model.coef_[2], before[2])
    save_model(model, tmp_path / "model")
    same = load_model(tmp_path / "model")
    for each in (model, same):
        each.partial_fit(X[60:], y[60:])
    np.testing.assert_array_equal(same.coef_, model.coef_)


def test_after_an_interrupt_of_a_regressor(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows(120)
    model = SVMRegressor().partial_fit(X[:60], y[:60])
    monkeypatch.setattr("maxmargin.solvers.linear.stream.chunks", Cut(3))
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[60:], y[60:])
    monkeypatch.undo()
    other = SVMRegressor().partial_fit(X[:60], y[:60]).partial_fit(X[60:75], y[60:75])
    assert model.n_samples_seen_ == other.n_samples_seen_ == 75
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-12)
    assert model.intercept_ == pytest.approx(other.intercept_, rel=1e-12)


@pytest.mark.parametrize("kind", [SVMClassifier, SVMRegressor])
@pytest.mark.parametrize("pieces", [0, 3])
def test_a_stream_after_a_fit_begins_with_the_first_row(
    kind: Any, pieces: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    X, values = rows(60)
    y = (values > 0).astype(float)
    model = kind().fit(X, y)
    before = dict(vars(model))
    monkeypatch.setattr("maxmargin.solvers.linear.stream.chunks", Cut(pieces))
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[:, :4], y)
    if not pieces:
        assert vars(model) == before
        return
    assert model.n_samples_seen_ == model._streams.each[0].seen == 15
    assert model.n_features_in_ == np.size(model.coef_) == 4
    assert not hasattr(model, "certificate_")
    save_model(model, tmp_path / "model")
    assert load_model(tmp_path / "model").n_samples_seen_ == 15


def test_a_piece_that_is_refused_leaves_a_fit_as_it_was() -> None:
    X, values = rows(60)
    model = SVMClassifier().fit(X, values > 0)
    before = dict(vars(model))
    with pytest.raises(DataError, match="too large"):
        model.partial_fit(X[:, :4], np.arange(60) % 3, classes=[0, 1, 2], sample_weight=np.full(60, 1e300))
    assert vars(model) == before


FORMS = pytest.mark.parametrize("stream", [False, True])


@FORMS
@pytest.mark.parametrize("n_classes", [3, 4])
def test_predictions_are_of_the_form_that_was_fitted(stream: bool, n_classes: int, tmp_path: Path) -> None:
    X, _ = rows(120)
    y = np.arange(120) % n_classes
    for form, other in (("ovr", "ovo"), ("ovo", "ovr")):
        model: Any = SVMClassifier(multi_class=form, loss="logistic")  # type: ignore[arg-type]
        model = learn(model, X, y) if stream else model.fit(X, y)
        scores = model.decision_function(X)
        model.set_params(multi_class=other, loss="hinge")
        np.testing.assert_array_equal(model.decision_function(X), scores)
        assert hasattr(model, "predict_proba") == (form == "ovr")
        if stream:
            continue  # files of streams refuse changed parameters
        save_model(model, tmp_path / "model")
        for same in (load_model(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
            np.testing.assert_allclose(same.decision_function(X), scores, rtol=1e-12)
            assert hasattr(same, "predict_proba") == (form == "ovr")
            assert same.get_params() == model.get_params()
        model.fit(X, y)  # it is of the new ones now
        assert model.decision_function(X).shape == (120, n_classes)
        assert not hasattr(model, "predict_proba")


@FORMS
def test_no_probabilities_of_a_hinge_loss(stream: bool) -> None:
    X, values = rows(60)
    model = learn(SVMClassifier(), X, values > 0) if stream else SVMClassifier().fit(X, values > 0)
    model.set_params(loss="logistic")
    with pytest.raises(AttributeError, match="predict_proba"):
        _ = model.predict_proba
    assert not hasattr(model, "predict_proba")


@pytest.mark.parametrize("mode", [None, "r", "c", "r+"])
@pytest.mark.parametrize("name", ["classes", "values", "order"])
def test_a_stream_goes_on_from_a_dump_that_is_mapped(name: str, mode: Any, tmp_path: Any) -> None:
    """Its arrays may be read-only, and those that are not would change the file."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    model, more = {
        "classes": (SVMClassifier(), (X[:, 0] + X[:, 1] > 0).astype(int)),
        "values": (SVMRegressor(), X[:, 0] + X[:, 1]),
        "order": (SVMRanker(), (X[:, 0] + X[:, 1] > 0).astype(int)),
    }[name]
    first = {"classes": [0, 1]} if name == "classes" else {"qid": np.arange(60) // 10} if name == "order" else {}
    again = {"qid": 10 + np.arange(60) // 10} if name == "order" else {}
    model.partial_fit(X, more, **first)
    path = tmp_path / "stream"
    joblib.dump(model, path)
    before = path.read_bytes()
    loaded = joblib.load(path, mmap_mode=mode).partial_fit(X, more, **again)
    expected = model.partial_fit(X, more, **again)
    assert np.array_equal(loaded.coef_, expected.coef_)
    assert path.read_bytes() == before
