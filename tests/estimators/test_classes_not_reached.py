"""A fit that is ended before it comes to some of its problems: they keep the weights of the fit before, and say so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

from ended_by_callback import Ends
from maxmargin import SVMClassifier, SVMRegressor, load_model, save_model, svm_path
from maxmargin.status import Status

RNG = np.random.default_rng(5)
Y = np.repeat([0, 1, 2], 20)
X = RNG.normal(size=(60, 3)) + 1.5 * np.eye(3)[Y]
RBF: dict[str, Any] = {"kernel": "rbf", "gamma": 0.5}
FULL: dict[str, Any] = {"tol": 1e-6, "max_passes": 3000, "random_state": 0, "warm_start": True}
MACHINES: list[dict[str, Any]] = [
    {},
    {"multi_class": "ovo"},
    {"loss": "squared_hinge", "penalize_intercept": True},
    {"loss": "logistic", "fit_intercept": False},
    {"loss": "logistic", "multi_class": "ovo"},
    {"solver": "subgradient", "tol": 1e-2},
    RBF,
    {**RBF, "multi_class": "ovo"},
    {**RBF, "loss": "squared_hinge", "fit_intercept": False},
    {**RBF, "loss": "logistic"},
]


def ended(model: SVMClassifier, X: Any, y: Any, *, interrupt: bool = False, said: str = "") -> SVMClassifier:
    """The model after a fit that is ended in its first problem; what is ``said`` stands in the message or a note."""
    model.set_params(callback=Ends(1, interrupt=interrupt))
    if interrupt:
        with pytest.raises(KeyboardInterrupt, match=rf"keeps the best model so far; .*{said}"):
            model.fit(X, y)
    else:
        model.fit(X, y)
    assert model.certificate_.status is (Status.INTERRUPTED if interrupt else Status.STOPPED)
    assert said in model.notes_[-1]
    model.set_params(callback=None)
    return model


def coefficients(model: SVMClassifier) -> Any:
    """Those of all rows of the data, or the weights of a linear machine."""
    if model.kernel == "linear":
        return model.coef_.copy()
    out = np.zeros((len(model.intercept_), len(X)))
    out[:, model.support_] = model.dual_coef_
    return out


def objective(model: SVMClassifier, X: Any, y: Any, s: Any = 1.0, problems: int = 3) -> float:
    """That of all problems, or of the first ones, by definition."""
    scores, total = model._scores(X) + model.intercept_, 0.0
    losses = {
        "hinge": lambda t: np.maximum(1.0 - t, 0.0),
        "squared_hinge": lambda t: np.maximum(1.0 - t, 0.0) ** 2,
        "logistic": lambda t: np.logaddexp(0.0, -t),
    }
    s = s * np.ones(len(y))
    for k in range(problems):
        first, second = [(0, 1), (0, 2), (1, 2)][k] if model.multi_class == "ovo" else (k, None)
        rows = np.ones(len(y), bool) if second is None else np.isin(y, [first, second])
        t = np.where(y[rows] == first, 1.0, -1.0) * scores[rows, k]
        total += model.C * np.sum(s[rows] * losses[str(model.loss)](t))
        if model.kernel == "linear":
            total += 0.5 * model.coef_[k] @ model.coef_[k]
        else:
            total += 0.5 * model.dual_coef_[k] @ rbf_kernel(model.support_vectors_, gamma=0.5) @ model.dual_coef_[k]
        total += 0.5 * model.intercept_[k] ** 2 * model.penalize_intercept
    return float(total)


@pytest.mark.parametrize("interrupt", [True, False])
@pytest.mark.parametrize("options", MACHINES, ids=str)
def test_problems_that_are_not_reached_keep_their_weights(options: Any, interrupt: bool) -> None:
    said = "2 of 3 two-class problems were not reached and have the weights of the fit before"
    for C, weight in ((1.0, None), (3.0, None), (0.2, RNG.integers(0, 3, 60).astype(float))):
        model = SVMClassifier(**{**FULL, **options}).fit(X, Y)
        assert model.notes_ == ()
        before, intercept = coefficients(model), model.intercept_.copy()
        if weight is None:
            ended(model.set_params(C=C, tol=1e-12), X, Y, interrupt=interrupt, said=said)
            np.testing.assert_array_equal(coefficients(model)[1:], before[1:])
        else:  # rows without weight are out of a kernel machine: the objective without them is another one
            model.set_params(C=C, tol=1e-12, callback=Ends(1, interrupt=False)).fit(X, Y, weight)
            if model.kernel != "linear":
                continue
        np.testing.assert_array_equal(model.intercept_[1:], intercept[1:])
        assert np.any(model.coef_[0] if model.kernel == "linear" else model.dual_coef_[0])
        found = model.certificate_
        assert found.primal == pytest.approx(objective(model, X, Y, 1.0 if weight is None else weight), rel=1e-9)
        assert found.risk_bound >= found.training_risk
        cold = {**FULL, **options, "C": C, "warm_start": False, "tol": 1e-5, "solver": "auto"}
        best = SVMClassifier(**cold).fit(X, Y, weight).certificate_
        assert found.dual <= best.primal * (1 + 1e-9)
        assert best.dual <= found.primal * (1 + 1e-9)


@pytest.mark.parametrize("options", [o for o in MACHINES if "solver" not in o], ids=str)
def test_the_bound_is_that_of_the_fit_before(options: Any) -> None:
    model = SVMClassifier(**{**FULL, **options}).fit(X, Y)
    before = model.certificate_
    found = ended(model.set_params(tol=1e-12), X, Y).certificate_
    assert found.primal == pytest.approx(before.primal, rel=1e-6)
    assert found.gap <= before.gap + objective(model, X, Y, problems=1) + 1e-6  # the first ends at any bound
    assert found.dual >= before.dual - objective(model, X, Y, problems=1) - 1e-6


def test_coefficients_of_the_dual_are_those_of_the_weights() -> None:
    model = SVMClassifier(**FULL).fit(X, Y)
    ended(model.set_params(tol=1e-12), X, Y)
    w = model.dual_coef_ @ X[model.support_]
    np.testing.assert_allclose(np.linalg.norm(model.coef_ - w, axis=1), model.dual_residual_, atol=1e-10)
    assert model.dual_residual_.max() <= np.sqrt(2.0 * max(model.certificate_.gap, 0.0)) + 1e-10


def test_the_margin_of_nu_is_kept() -> None:
    model = SVMClassifier(nu=0.3, **RBF, **FULL).fit(X, Y)
    before, scores, optimum = coefficients(model), model.decision_function(X), model.certificate_
    ended(model.set_params(tol=1e-12), X, Y, said="2 of 3")
    np.testing.assert_allclose(coefficients(model)[1:], before[1:], rtol=1e-12)
    np.testing.assert_allclose(model.decision_function(X)[:, 1:], scores[:, 1:], rtol=1e-9, atol=1e-9)
    assert model.certificate_.primal == pytest.approx(optimum.primal, rel=1e-5)
    assert np.isfinite(model.certificate_.dual)
    assert model.certificate_.dual <= optimum.primal + 1e-9 * abs(optimum.primal)


def test_without_a_positive_semidefinite_kernel_there_is_no_bound() -> None:
    model = SVMClassifier(kernel="sigmoid", **FULL).fit(X, Y)
    before = coefficients(model)
    ended(model.set_params(tol=1e-12, C=2.0), X, Y, interrupt=True)
    np.testing.assert_array_equal(coefficients(model)[1:], before[1:])
    assert model.certificate_.dual == -np.inf


@pytest.mark.parametrize("interrupt", [True, False])
@pytest.mark.parametrize("options", [{}, {"multi_class": "ovo"}, RBF, {**RBF, "nu": 0.3}], ids=str)
def test_without_a_fit_before_there_are_weights_of_0(options: Any, interrupt: bool) -> None:
    said = "2 of 3 two-class problems were not reached and have weights of 0"
    model = ended(SVMClassifier(**{**FULL, **options, "tol": 1e-12}), X, Y, interrupt=interrupt, said=said)
    assert not coefficients(model)[1:].any()


@pytest.mark.parametrize("options", [{}, RBF], ids=str)
def test_what_is_kept_is_kept_again(options: Any) -> None:
    model = SVMClassifier(**FULL, **options).fit(X, Y)
    before = coefficients(model)
    for _ in range(2):
        ended(model.set_params(tol=1e-12), X, Y)
        np.testing.assert_array_equal(coefficients(model)[1:], before[1:])
    model.set_params(tol=1e-6).fit(X, Y)
    assert model.certificate_.status is Status.CONVERGED
    assert model.n_iter_ <= 2
    assert model.notes_ == ()


@pytest.mark.parametrize("options", [{}, RBF], ids=str)
def test_some_are_kept_and_some_never_reached(options: Any) -> None:
    passes: list[int] = []

    def in_the_second(record: Any, w: Any) -> bool:
        passes.append(record.passes)
        return passes[-1] < passes[max(len(passes) - 2, 0)]

    model = SVMClassifier(**{**FULL, "tol": 1e-12}, **options, callback=in_the_second).fit(X, Y)
    assert "1 of 3 two-class problems were not reached and have weights of 0" in model.notes_[-1]
    second = coefficients(model)[1]
    assert second.any()
    said = r"2 of 3 two-class problems were not reached and have the weights of the fit before (1 of them) or of 0"
    ended(model.set_params(C=2.0), X, Y, said=said)
    np.testing.assert_array_equal(coefficients(model)[1], second)
    assert not coefficients(model)[2].any()


@pytest.mark.parametrize("multi_class", ["ovr", "ovo"])
@pytest.mark.parametrize("options", [{}, RBF], ids=str)
def test_an_interrupt_between_two_problems(options: Any, multi_class: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = SVMClassifier(multi_class=multi_class, **FULL, **options).fit(X, Y)
    before, calls = coefficients(model), 0
    name = "_fit_kernel" if options else "_fit_linear"
    fit = getattr(SVMClassifier, name)

    def once(*args: Any, **parameters: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        return fit(*args, **parameters)

    monkeypatch.setattr(SVMClassifier, name, once)
    with pytest.raises(KeyboardInterrupt, match="2 of 3"):
        model.set_params(C=2.0).fit(X, Y)
    assert (coefficients(model)[0] != before[0]).any()
    np.testing.assert_array_equal(coefficients(model)[1:], before[1:])


@pytest.mark.parametrize("options", [{}, RBF], ids=str)
def test_a_limit_of_passes_or_time_leaves_no_problem_out(options: Any) -> None:
    for limit in ({"max_passes": 2}, {"max_time": 0.0}):
        model = SVMClassifier(**FULL, **options).fit(X, Y)
        with pytest.warns(UserWarning, match="limit"):
            model.set_params(C=3.0, tol=1e-12, **limit).fit(X, Y)
        assert not any("not reached" in note for note in model.notes_)
        assert coefficients(model).any(1).all()


@pytest.mark.parametrize("options", [{}, RBF], ids=str)
def test_classes_go_by_name(options: Any) -> None:
    """Where the first class goes and another comes, the rest keep their own weights and no other's."""
    names = np.array(["a", "b", "c", "d"])
    model = SVMClassifier(**FULL, **options).fit(X, names[Y])
    before = coefficients(model)
    ended(model.set_params(tol=1e-12), X, names[Y + 1])
    assert model.classes_.tolist() == ["b", "c", "d"]
    np.testing.assert_array_equal(coefficients(model)[1], before[2])
    assert not coefficients(model)[2].any()


def test_pairs_go_by_name() -> None:
    names = np.array(["a", "b", "c", "d"])
    model = SVMClassifier(multi_class="ovo", **FULL).fit(X, names[Y])
    before = coefficients(model.fit(X, names[Y + 1]))  # of bc, bd, cd
    ended(model.set_params(tol=1e-12), X, names[Y])  # ab, ac, bc
    assert not model.coef_[1].any()
    np.testing.assert_array_equal(model.coef_[2], before[0])


def test_another_kernel_has_nothing_to_keep() -> None:
    model = SVMClassifier(**RBF, **FULL).fit(X, Y)
    ended(model.set_params(kernel="poly", tol=1e-12), X, Y, said="have weights of 0")
    assert not model.dual_coef_[1:].any()


@pytest.mark.parametrize("options", MACHINES[:5], ids=str)
def test_fewer_rows_keep_weights_of_linear_machines(options: Any) -> None:
    model = SVMClassifier(**{**FULL, **options}).fit(X, Y)
    before, few = model.coef_.copy(), np.arange(0, 60, 2)
    ended(model.set_params(tol=1e-12), X[few], Y[few], said="the weights of the fit before")
    np.testing.assert_array_equal(model.coef_[1:], before[1:])
    found = model.certificate_
    assert found.primal == pytest.approx(objective(model, X[few], Y[few]), rel=1e-9)
    model.set_params(tol=1e-6).fit(X[few], Y[few])
    cold = SVMClassifier(**{**FULL, **options, "warm_start": False}).fit(X[few], Y[few])
    assert model.certificate_.status is Status.CONVERGED
    assert model.certificate_.primal == pytest.approx(cold.certificate_.primal, rel=3e-6)
    assert found.dual <= cold.certificate_.primal


def test_another_number_of_rows_is_nothing_to_kernel_machines() -> None:
    model = SVMClassifier(**RBF, **FULL).fit(X, Y)
    ended(model.set_params(tol=1e-12), X[::2], Y[::2], said="have weights of 0")
    assert not model.dual_coef_[1:].any()


@pytest.mark.parametrize(
    "solver",
    ["auto", "coordinate_ascent", "interior_point", "active_set", "block_ascent", "projected_gradient", "bundle"],
)
@pytest.mark.parametrize("kind", [SVMClassifier, SVMRegressor])
def test_a_short_fit_to_other_rows_is_no_worse_than_the_weights_before(kind: Any, solver: str) -> None:
    target = (Y > 0) if kind is SVMClassifier else X[:, 0] + 0.3 * RNG.normal(size=60)
    for rows in (np.arange(55), np.arange(75) % 60):
        model = kind(**FULL).fit(X, target)
        scores = model._scores(X[rows])[:, 0] + model.intercept_
        t = target[rows]
        if kind is SVMClassifier:
            losses = np.maximum(1.0 - np.where(t, 1.0, -1.0) * scores, 0.0)
        else:
            losses = np.maximum(np.abs(t - scores) - model.epsilon, 0.0)
        start = 0.5 * float(np.sum(model.coef_**2)) + 1e3 * float(losses.sum())
        model.set_params(solver=solver, C=1e3, tol=1e-12, max_passes=2)
        with pytest.warns(UserWarning, match="limit"):
            model.fit(X[rows], t)
        assert model.certificate_.primal <= start * (1 + 1e-9)
        assert model.certificate_.dual <= model.certificate_.primal


def test_weights_of_features_that_no_row_has_now_are_kept() -> None:
    """Of so many entries those of features of one row are folded, and what is kept must not be."""
    n, d = 3000, 40_000
    rng = np.random.default_rng(0)
    indices = rng.integers(0, d, (n, 20))
    S = sp.csr_matrix((rng.normal(size=20 * n), (np.repeat(np.arange(n), 20), indices.ravel())), (n, d))
    y = rng.integers(0, 3, n)
    model = SVMClassifier(tol=1e-2, warm_start=True, random_state=0).fit(S, y)
    before = model.coef_.copy()
    ended(model.set_params(tol=1e-12), S[:2800], y[:2800])
    gone = np.diff(S[:2800].tocsc().indptr) == 0
    assert before[1:, gone].any()
    np.testing.assert_array_equal(model.coef_[1:], before[1:])
    scores = S[:2800] @ model.coef_.T + model.intercept_
    t = np.where(y[:2800, None] == np.arange(3), 1.0, -1.0) * scores
    primal = 0.5 * float((model.coef_**2).sum()) + float(np.maximum(1.0 - t, 0.0).sum())
    assert model.certificate_.primal == pytest.approx(primal, rel=1e-9)


@pytest.mark.parametrize("options", [{}, {"multi_class": "ovo"}, RBF], ids=str)
def test_a_path_keeps_those_of_the_value_before(options: Any) -> None:
    class InThe:
        """Stops the fit of the value ``at`` in its first problem."""

        def __init__(self, at: int) -> None:
            self.at, self.passes, self.fits = at, 0, 0

        def __call__(self, record: Any, w: Any) -> bool:
            self.fits += record.passes <= self.passes or not self.passes
            self.passes = record.passes
            return self.fits > 3 * self.at

    parameters = {**{k: v for k, v in FULL.items() if k != "warm_start"}, **options, "solver": "auto"}
    path = svm_path(X, Y, [0.1, 1.0], callback=InThe(1), **parameters)
    first, second = path.models
    assert first.certificate_.status is Status.CONVERGED
    assert second.certificate_.status is Status.STOPPED
    np.testing.assert_array_equal(coefficients(second)[1:], coefficients(first)[1:])
    assert second.certificate_.primal == pytest.approx(objective(second, X, Y), rel=1e-9)
    assert "2 of 3 two-class problems were not reached" in second.notes_[-1]


def test_perceptrons_keep_theirs() -> None:
    model = SVMClassifier(solver="perceptron", warm_start=True, random_state=0, max_passes=5)
    with pytest.warns(UserWarning, match="pass limit"):
        model.fit(X, Y)
    before = coefficients(model)
    ended(model, X, Y)
    np.testing.assert_array_equal(coefficients(model)[1:], before[1:])
    assert model.n_mistakes_[1:].tolist() == [0, 0]


@pytest.mark.parametrize("options", [{}, RBF], ids=str)
def test_such_a_model_comes_back_from_a_file(options: Any, tmp_path: Any) -> None:
    model = SVMClassifier(**FULL, **options).fit(X, Y)
    ended(model.set_params(tol=1e-12), X, Y)
    save_model(model, tmp_path / "model")
    same = load_model(tmp_path / "model")
    assert same.certificate_ == model.certificate_
    assert same.notes_ == model.notes_
    np.testing.assert_array_equal(same.predict(X), model.predict(X))


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("parameters", [{}, RBF, {"multi_class": "ovo"}])
def test_a_callback_that_says_stop_when_a_problem_has_converged(parameters: dict[str, Any], warm: bool) -> None:
    model = SVMClassifier(**FULL, **parameters)
    if warm:
        model.fit(X, Y)
    before = coefficients(model) if warm else None
    model.set_params(
        C=3.0, callback=lambda record, w: record.exact and record.primal - record.dual <= 1e-6 * record.primal
    )
    model.fit(X, Y)
    assert model.certificate_.status is Status.STOPPED
    assert "2 of 3 two-class problems were not reached" in model.notes_[-1]
    assert model.history_
    for rest in coefficients(model)[1:] if before is None else coefficients(model)[1:] - before[1:]:
        assert not rest.any()
