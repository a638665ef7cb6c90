"""MulticlassSVM with free intercepts and with wanted margins: the documented objective, and what makes no difference."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import datasets
from sklearn.exceptions import ConvergenceWarning

from maxmargin import MulticlassSVM, SVMClassifier
from maxmargin.errors import DataError
from maxmargin.multiclass import _divided
from maxmargin.status import Status
from solvers.enumeration import multiclass_case

COSTS = np.array([[0.0, 1.0, 2.5], [0.5, 0.0, 1.0], [2.0, 0.7, 0.0]])
RNG = np.random.default_rng(3)
Y = np.array(["b", "a", "c"])[np.r_[0, 1, 2, RNG.choice(3, 37, p=[0.5, 0.3, 0.2])]]
X = RNG.normal(size=(40, 3)) + 2.0 + (Y == "c")[:, None]
MARGIN = RNG.uniform(0.2, 3.0, 40)
WEIGHT = RNG.integers(0, 4, 40) / 2.0


def bits(model: MulticlassSVM) -> bytes:
    return model.coef_.tobytes() + model.intercept_.tobytes()


def slacks(model: MulticlassSVM, costs: Any, margin: Any) -> Any:
    number = np.searchsorted(model.classes_, Y)
    scores = X @ model.coef_.T + model.intercept_
    return (margin[:, None] * costs[number] + scores).max(1) - scores[np.arange(40), number]


def close(one: MulticlassSVM, other: MulticlassSVM, atol: float) -> None:
    np.testing.assert_allclose(one.coef_, other.coef_, atol=atol)
    np.testing.assert_allclose(one.intercept_, other.intercept_, atol=atol)


@pytest.mark.parametrize("solver", ["auto", "coordinate_ascent", "interior_point"])
@pytest.mark.parametrize("margin", [None, MARGIN])
def test_two_classes_are_the_plain_machine(solver: str, margin: Any) -> None:
    """``w_2 = -w_1``, so ``|w_1|^2 + |w_2|^2`` is half of ``|w_2 - w_1|^2``: the same as with twice the ``C``."""
    y, C = Y == "a", 0.3
    several = MulticlassSVM(C, penalize_intercept=False, solver=solver, tol=1e-7, max_passes=50_000, random_state=0)
    several.fit(X, y, WEIGHT, margin)
    plain = SVMClassifier(2.0 * C, solver="interior_point", tol=1e-9).fit(X, y, WEIGHT, margin)
    assert several.certificate_.primal == pytest.approx(0.5 * plain.certificate_.primal, rel=2e-7)
    np.testing.assert_allclose(several.coef_[1] - several.coef_[0], plain.coef_[0], atol=2e-3)
    assert several.intercept_[1] - several.intercept_[0] == pytest.approx(plain.intercept_[0], abs=5e-3)
    assert abs(several.intercept_.sum()) <= 1e-12
    # the very same figures per unit of weight
    tell = ("risk_bound", "training_risk")
    for name in tell:
        assert getattr(several.certificate_, name) == pytest.approx(getattr(plain.certificate_, name), abs=1e-4)


@pytest.mark.parametrize("solver", ["auto", "coordinate_ascent", "interior_point", "n_slack", "frank_wolfe"])
@pytest.mark.parametrize("loss", ["zero_one", COSTS])
def test_margins_are_factors_of_the_costs(solver: str, loss: Any) -> None:
    costs = 1.0 - np.eye(3) if isinstance(loss, str) else loss
    tol = 1e-4 if solver == "frank_wolfe" else 1e-7
    options: dict[str, Any] = {"solver": solver, "penalize_intercept": True, "max_passes": 50_000, "random_state": 0}
    model = MulticlassSVM(0.2, loss=loss, tol=tol, **options)
    model.fit(X, Y, WEIGHT, MARGIN)
    case = multiclass_case(np.column_stack([X, np.ones(40)]), np.searchsorted(["a", "b", "c"], Y), costs).listed
    case.loss = [m * each for m, each in zip(MARGIN, case.loss)]
    value = case.optimum(0.2 * WEIGHT)[1]
    assert model.certificate_.dual <= value * (1 + 1e-8)
    assert value * (1 - 1e-8) <= model.certificate_.primal <= value * (1 + 2 * tol)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("options", [{}, {"max_passes": 2}, {"max_passes": 4, "solver": "coordinate_ascent"}])
def test_the_certificate_is_about_the_stored_weights(free: bool, options: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MulticlassSVM(0.3, loss=COSTS, penalize_intercept=not free, random_state=0, **options)
        model.fit(X, Y, WEIGHT, MARGIN)
    certificate, slack = model.certificate_, slacks(model, COSTS, MARGIN)
    norm = np.sum(model.coef_**2) + (0.0 if free else np.sum(model.intercept_**2))
    assert certificate.primal == pytest.approx(0.5 * norm + 0.3 * WEIGHT @ slack, rel=1e-10)
    assert certificate.risk_bound == pytest.approx(WEIGHT @ slack / WEIGHT.sum(), rel=1e-10)
    number = np.searchsorted(model.classes_, Y)
    wrong = MARGIN * COSTS[number, np.searchsorted(model.classes_, model.predict(X))]
    assert certificate.training_risk == pytest.approx(WEIGHT @ wrong / WEIGHT.sum(), rel=1e-10)
    assert 0.0 <= certificate.dual <= certificate.primal


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("solver", ["auto", "coordinate_ascent"])
def test_copies_weights_absence_and_order_give_the_very_same_model(form: Any, solver: str) -> None:
    times = np.arange(40) % 3

    def fitted(rows: Any, weight: Any = None) -> bytes:
        model = MulticlassSVM(penalize_intercept=False, solver=solver, random_state=1)
        return bits(model.fit(form(X[rows]), Y[rows], weight, MARGIN[rows]))

    rng = np.random.default_rng(0)
    every = np.arange(40)
    expected = fitted(every, times)
    copies = np.repeat(every, times)
    assert fitted(copies) == expected
    assert fitted(rng.permutation(copies)) == expected
    assert fitted(times > 0, times[times > 0]) == expected
    assert fitted(every, 2.0 * times) != expected


def test_equal_rows_of_unlike_margins_stay_apart() -> None:
    twice = np.r_[np.arange(40), np.arange(40)]
    margin = np.r_[np.ones(40), np.full(40, 2.0)]
    options: dict[str, Any] = {"tol": 1e-8, "max_passes": 50_000, "random_state": 0, "penalize_intercept": True}
    one = MulticlassSVM(0.1, **options).fit(X[twice], Y[twice], None, margin)
    other = MulticlassSVM(0.1, solver="n_slack", **options).fit(X[twice], Y[twice], None, margin)
    assert one.certificate_.primal == pytest.approx(other.certificate_.primal, rel=1e-7)
    slack = slacks(one, 1.0 - np.eye(3), np.ones(40)).sum() + slacks(one, 1.0 - np.eye(3), np.full(40, 2.0)).sum()
    norm = np.sum(one.coef_**2) + np.sum(one.intercept_**2)
    assert one.certificate_.primal == pytest.approx(0.5 * norm + 0.1 * slack, rel=1e-10)


def test_one_margin_for_all_is_another_scale() -> None:
    options: dict[str, Any] = {"tol": 1e-8, "penalize_intercept": False, "solver": "interior_point"}
    one = MulticlassSVM(0.3, **options).fit(X, Y, None, np.full(40, 3.0))
    other = MulticlassSVM(0.1, **options).fit(X, Y)
    assert one.certificate_.primal == pytest.approx(9.0 * other.certificate_.primal, rel=1e-7)
    np.testing.assert_allclose(one.coef_, 3.0 * other.coef_, atol=2e-3)


def test_what_features_have_in_common_changes_nothing() -> None:
    options: dict[str, Any] = {"tol": 1e-9, "penalize_intercept": False, "solver": "interior_point"}
    one = MulticlassSVM(0.3, **options).fit(X, Y)
    other = MulticlassSVM(0.3, **options).fit(X + np.array([100.0, -7.0, 0.0]), Y)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-3)
    assert one.certificate_.primal == pytest.approx(other.certificate_.primal, rel=1e-8)


@pytest.mark.parametrize("name", ["iris", "wine", "digits"])
@pytest.mark.parametrize("C", [1e-6, 1e-3, 1.0, 1e3, 1e6])
def test_unscaled_data(name: str, C: float) -> None:
    rows, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    if name == "digits":
        rows, y = rows[::3], y[::3]
    model = MulticlassSVM(C, penalize_intercept=False, tol=1e-6, random_state=0).fit(rows, y)
    assert model.certificate_.status is Status.CONVERGED
    assert 0.0 <= model.certificate_.relative_gap <= 1e-6


@pytest.mark.parametrize("C", [1e3, 1e12])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e6, 1e12])
def test_separable_data_of_any_scale(scale: float, C: float) -> None:
    for seed in range(4):
        rows, y = datasets.make_blobs(60, 5, centers=4, random_state=seed)
        model = MulticlassSVM(C, penalize_intercept=False, random_state=0).fit(rows * scale, y)
        assert model.certificate_.status is Status.CONVERGED


def test_a_bound_that_rounding_forbids_is_not_waited_for() -> None:
    """Classes that only the intercepts tell apart, whose penalised ones are tiny beside the features."""
    rows = np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]]) * 1e16
    y = [0, 0, 1, 1, 2, 2]
    near = MulticlassSVM(1e9, random_state=0, solver="interior_point", penalize_intercept=True).fit(1e-4 * rows, y)
    assert near.certificate_.status is Status.CONVERGED
    with pytest.warns(ConvergenceWarning, match="MulticlassSVM stalled at .* Rounding errors prevent further progress"):
        model = MulticlassSVM(1e9, random_state=0, solver="interior_point", penalize_intercept=True).fit(rows, y)
    assert model.n_iter_ < 800
    assert 0.0 <= model.certificate_.dual <= model.certificate_.primal
    free = MulticlassSVM(1e9, penalize_intercept=False, random_state=0, solver="interior_point").fit(rows, y)
    assert free.certificate_.status is Status.CONVERGED


@pytest.mark.parametrize("solver", ["frank_wolfe", "n_slack", "one_slack", "bundle", "averaged_perceptron"])
def test_solvers_without_free_intercepts_say_so(solver: str) -> None:
    model = MulticlassSVM(solver=solver, penalize_intercept=False)
    with pytest.raises(ValueError, match=f"solver='{solver}' has no free intercept: set penalize_intercept=True, or"):
        model.fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.set_params(fit_intercept=False, max_passes=3).fit(X, Y)  # no intercept at all


def test_weights_of_0_are_judged_with_the_best_intercepts() -> None:
    y = np.r_[np.zeros(30, int), np.ones(6, int), np.full(4, 2)]
    noise = 1e-3 * np.random.default_rng(1).normal(size=(40, 3))
    (note,) = MulticlassSVM(1e-3, penalize_intercept=False, random_state=0).fit(noise, y).notes_[-1:]
    assert "weights of 0 are as good as any" in note
    apart = MulticlassSVM(10.0, penalize_intercept=False, random_state=0).fit(noise * 1e3 + 9.0 * y[:, None], y)
    assert not any("weights of 0" in note for note in apart.notes_)


@pytest.mark.parametrize(
    ("margin", "message"),
    [
        (np.zeros(40), r"margin\[0\] is 0"), (-np.ones(40), r"margin\[0\] is -1"), (np.ones(3), "margin has shape"),
        (np.full(40, np.nan), r"margin\[0\] is nan"),
    ],
)  # fmt: skip
def test_bad_margins_are_refused(margin: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        MulticlassSVM().fit(X, Y, None, margin)


def test_margins_too_small_for_the_features_are_refused() -> None:
    for form in (np.asarray, sp.csr_matrix):
        with pytest.raises(DataError, match="too large to compute with"):
            MulticlassSVM().fit(form(1e60 * X), Y, None, np.where(np.arange(40) == 3, 1e-50, 1.0))
        with pytest.raises(DataError, match=r"margin\[3\] is 1e-200: margins to compute with lie between"):
            MulticlassSVM().fit(form(X), Y, None, np.where(np.arange(40) == 3, 1e-200, 1.0))


def test_many_classes() -> None:
    rows, y = np.random.default_rng(0).normal(size=(600, 3)), np.r_[np.arange(250), np.arange(350) % 250]
    model = MulticlassSVM(1e-3, penalize_intercept=False, solver="coordinate_ascent", random_state=0).fit(rows, y)
    assert model.certificate_.status is Status.CONVERGED


def test_rows_in_memory_maps_are_divided_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    from maxmargin.data import _mapped_rows

    monkeypatch.setattr(_mapped_rows, "_is_mapped", sp.issparse)
    monkeypatch.setattr(_mapped_rows, "_PIECE", 20)
    found = _divided(sp.csr_matrix(X), MARGIN)
    np.testing.assert_allclose(found.toarray(), X / MARGIN[:, None])
    np.testing.assert_allclose(_divided(X, MARGIN), X / MARGIN[:, None])
