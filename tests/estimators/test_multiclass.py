"""MulticlassSVM: the optimum of the documented objective, and what makes no difference to it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from maxmargin import MulticlassSVM, SVMClassifier
from maxmargin.errors import DataError
from maxmargin.structures.rows import merge_equal_rows
from solvers.enumeration import multiclass_case

COSTS = np.array([[0.0, 1.0, 2.5], [0.5, 0.0, 1.0], [2.0, 0.7, 0.0]])


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    y = np.arange(24) % 3
    return rng.normal(size=(24, 3)) * (rng.random((24, 3)) < 0.7) + y[:, None], np.array(["b", "a", "c"])[y]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("solver", ["auto", "n_slack", "one_slack"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fit_intercept": False},
        {"intercept_scaling": 3.0, "loss": COSTS},
        {"class_weight": {"a": 2.0, "c": 0.5}, "C": 0.05},
        {"class_weight": "balanced", "C": 20.0},
    ],
)
def test_the_optimum_of_the_documented_objective(data: Any, options: dict[str, Any], solver: str, sparse: bool) -> None:
    X, y = data
    y = y[:20]
    model = MulticlassSVM(tol=1e-8, max_passes=3000, solver=solver, random_state=0, **options)
    model.set_params(penalize_intercept=model.fit_intercept)
    weight = 0.5 + np.arange(20) % 3
    model.fit((sp.csr_array if sparse else np.asarray)(X[:20]), y, weight)
    assert model.classes_.tolist() == ["a", "b", "c"]
    constant = options.get("intercept_scaling", 1.0) if options.get("fit_intercept", True) else 0.0
    joined = np.hstack([X[:20], np.full((20, 1), constant)])
    number = np.searchsorted(model.classes_, y)
    factors = {"a": 1.0, "b": 1.0, "c": 1.0}
    given = options.get("class_weight") or {}
    if given == "balanced":
        given = {label: 20 / (3 * np.count_nonzero(y == label)) for label in "abc"}
    factors.update(given)
    c = options.get("C", 1.0) * weight * [factors[label] for label in y]
    listed = multiclass_case(joined, number, options.get("loss")).listed
    value = listed.optimum(c)[1]
    W = np.vstack([model.coef_.T, model.intercept_ / constant if constant else np.zeros(3)])
    assert listed.primal(W.ravel(), c) == pytest.approx(value, rel=1e-6)
    assert model.certificate_.primal == pytest.approx(value, rel=1e-6)
    assert model.certificate_.dual <= value * (1 + 1e-9)
    assert model.certificate_.status.ok
    if not constant:
        assert not model.intercept_.any()


def bits(model: MulticlassSVM) -> bytes:
    return model.coef_.tobytes() + model.intercept_.tobytes()


@pytest.mark.parametrize("sparse", [False, True])
def test_copies_weights_absence_and_order_give_the_very_same_model(data: Any, sparse: bool) -> None:
    X, y = data
    form = sp.csr_matrix if sparse else np.asarray
    times = np.arange(len(y)) % 3

    def fitted(rows: Any, weight: Any = None) -> bytes:
        return bits(MulticlassSVM(random_state=1).fit(form(X[rows]), y[rows], weight))

    rng = np.random.default_rng(0)
    every = np.arange(len(y))
    expected = fitted(every, times)
    copies = np.repeat(every, times)
    assert fitted(copies) == expected
    assert fitted(rng.permutation(copies)) == expected
    assert fitted(times > 0, times[times > 0]) == expected
    assert fitted(every, 2.0 * times) != expected


def test_a_scalar_weight_counts_for_all_rows(data: Any) -> None:
    X, y = data
    models = [MulticlassSVM(C=2.0, random_state=0).fit(X, y, weight) for weight in (0.5, np.full(len(y), 0.5))]
    assert bits(models[0]) == bits(models[1])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_prediction_is_the_class_with_the_best_score(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % n_classes * 10
    model = MulticlassSVM(random_state=0).fit(X, y)
    grid = np.stack(np.meshgrid(*[np.linspace(-4, 4, 70)] * 2), -1).reshape(-1, 2)
    decision = model.decision_function(grid)
    scores = grid @ model.coef_.T + model.intercept_
    if n_classes == 2:
        np.testing.assert_allclose(decision, scores[:, 1] - scores[:, 0], atol=1e-12)
        best = (decision > 0).astype(int)
    else:
        np.testing.assert_allclose(decision, scores, atol=1e-12)
        best = decision.argmax(1)
    np.testing.assert_array_equal(model.predict(grid), model.classes_[best])
    np.testing.assert_array_equal(model.predict(sp.csr_array(grid)), model.predict(grid))


def test_the_certificate_is_about_the_stored_weights(data: Any) -> None:
    X, y = data
    for options in ({}, {"solver": "averaged_perceptron", "max_passes": 5}, {"max_passes": 2}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = MulticlassSVM(C=0.3, random_state=0, loss=COSTS, **options).fit(X, y)
        number = np.searchsorted(model.classes_, y)
        scores = model.decision_function(X)
        slack = (COSTS[number] + scores).max(1) - scores[np.arange(len(y)), number]
        certificate = model.certificate_
        penalized = "solver" in options  # what has no free intercepts
        norm = np.sum(model.coef_**2) + (np.sum(model.intercept_**2) if penalized else 0.0)
        assert certificate.primal == pytest.approx(0.5 * norm + 0.3 * slack.sum(), rel=1e-10)
        assert certificate.risk_bound == pytest.approx(slack.mean(), rel=1e-10)
        wrong = COSTS[number, np.searchsorted(model.classes_, model.predict(X))]
        assert certificate.training_risk == pytest.approx(wrong.mean(), rel=1e-10)


def test_early_ends_are_said_aloud_and_good_ones_are_not(data: Any) -> None:
    X, y = data
    with pytest.warns(
        ConvergenceWarning, match=r"MulticlassSVM stopped by pass limit at a relative gap of .* Raise max_passes"
    ):
        MulticlassSVM(C=100.0, tol=1e-9, max_passes=2, random_state=0).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="stopped by time limit"):
        MulticlassSVM(C=100.0, tol=1e-9, max_time=0.0, random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MulticlassSVM(random_state=0).fit(X, y)


BAD_PARAMETERS: list[tuple[dict[str, Any], str]] = [
    ({"C": 0}, "C must be a finite number > 0, not 0"),
    ({"C": -1.0}, "C must be a finite number > 0, not -1.0"),
    ({"C": np.nan}, "C must be a finite number > 0, not nan"),
    ({"C": np.inf}, "C must be a finite number > 0, not inf"),
    ({"C": "1"}, "C must be a finite number > 0, not '1'"),
    ({"C": True}, "C must be a finite number > 0, not True"),
    ({"tol": -1e-3}, "tol must be a finite number >= 0"),
    ({"max_passes": 0}, "max_passes must be an integer >= 1, not 0"),
    ({"max_passes": 1.5}, "max_passes must be an integer >= 1, not 1.5"),
    ({"max_time": -1}, "max_time must be a finite number >= 0, not -1"),
    ({"n_jobs": 0}, "n_jobs must be a non-zero integer or None, not 0"),
    ({"n_jobs": 1.5}, "n_jobs must be a non-zero integer or None, not 1.5"),
    ({"callback": 3}, "callback must be callable, not 3"),
    ({"solver": "newtn"}, "unknown solver 'newtn'; solver must be one of"),
    ({"solver": "newton"}, "solver 'newton' is not for structured machines: it is for linear machines"),
    ({"loss": "hinge"}, "loss must be 'zero_one', a callable of two labels or a cost matrix, not 'hinge'"),
    ({"loss": np.ones((2, 2))}, r"the cost matrix has shape \(2, 2\); it needs \(3, 3\)"),
    ({"loss": np.ones((3, 3))}, r"must be 0; entry \(0, 0\) is 1"),
    ({"loss": -COSTS}, "must be finite and at least 0"),
    (
        {"loss": [[0, 1, 1], [1, 0], [1, 1, 0]]},
        "loss must be an array of real numbers: its rows have different lengths",
    ),
    ({"loss": COSTS.astype(str)}, "loss must hold real numbers"),
    ({"loss": COSTS * 1j}, "loss must hold real numbers"),
    ({"loss": 1e300 * (1 - np.eye(3))}, r"loss has an entry of 1e\+300: too large to compute with"),
    ({"C": 1e300}, r"C times the largest sample weight is .*: too large to compute with .*; lower C or the weights"),
    ({"class_weight": {"a": 1e308}}, "C times the largest sample weight is .*: too large to compute with"),
    ({"class_weight": {"z": 1.0}}, "class_weight names the class 'z', which is not in y"),
    ({"class_weight": {"a": -1.0}}, "class_weight"),
    ({"class_weight": "even"}, "class_weight"),
    ({"intercept_scaling": 0.0}, "intercept_scaling must be"),
    ({"intercept_scaling": np.nan}, "intercept_scaling must be"),
    ({"intercept_scaling": "1"}, "intercept_scaling must be"),
]


@pytest.mark.parametrize(("parameters", "message"), BAD_PARAMETERS)
def test_bad_parameters_are_refused_by_name(data: Any, parameters: dict[str, Any], message: str) -> None:
    model = MulticlassSVM(**parameters)
    with pytest.raises(ValueError, match=message) as caught:
        model.fit(*data)
    assert "\n" not in str(caught.value)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_no_numbers_are_refused(data: Any, bad: float) -> None:
    X, y = data
    X = X.copy()
    X[3, 1] = bad
    for form in (np.asarray, sp.csr_matrix):
        with pytest.raises(ValueError, match=r"(?i)nan|inf"):
            MulticlassSVM().fit(form(X), y)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_merging_equal_rows_is_that_of_numpy(seed: int, sparse: bool) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (200, 3)).astype(float) * rng.choice([1.0, 0.1, 1e300], 3)
    X[rng.random(X.shape) < 0.2] = -0.0
    number, weight = rng.integers(0, 3, 200), rng.integers(0, 4, 200).astype(float)
    rows, place = np.unique(np.column_stack([number, X + 0.0]), axis=0, return_inverse=True)
    expected = np.bincount(place.ravel(), weight)
    order, joint = merge_equal_rows(sp.csr_matrix(X) if sparse else X, number, weight)
    assert len(order) == len(set(order.tolist())) == np.count_nonzero(expected)
    np.testing.assert_array_equal(np.flatnonzero(joint), np.sort(order))
    np.testing.assert_array_equal(joint[order], expected[place.ravel()[order]])
    # the order follows from the content: the same for the data in another order
    shuffled = rng.permutation(200)
    other, _ = merge_equal_rows(
        sp.csr_matrix(X[shuffled]) if sparse else X[shuffled], number[shuffled], weight[shuffled]
    )
    np.testing.assert_array_equal(X[shuffled][other], X[order])
    np.testing.assert_array_equal(number[shuffled][other], number[order])


def test_merging_without_weights_counts_rows() -> None:
    X = np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0], [1.0, 2.0]])
    order, joint = merge_equal_rows(X, np.array([0, 0, 0, 1]), None)
    assert sorted(joint[order].tolist()) == [1.0, 1.0, 2.0]
    sparse_order, sparse_joint = merge_equal_rows(sp.csr_array(X), np.array([0, 0, 0, 1]), None)
    np.testing.assert_array_equal(sparse_order, order)
    np.testing.assert_array_equal(sparse_joint, joint)


def test_unequal_rows_with_equal_hashes_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were all hashes equal, only the comparison of rows would be left."""
    from maxmargin.structures import rows

    monkeypatch.setattr(rows, "_hash_dense", lambda bits, out: out.fill(0))
    X = np.array([[1.0], [2.0], [1.0], [2.0], [3.0]])
    order, joint = merge_equal_rows(X, np.zeros(5, np.int64), None)
    np.testing.assert_array_equal(np.bincount(X[order, 0].astype(int), joint[order]), [0, 2, 2, 1])


def test_data_that_cannot_be_learned_from() -> None:
    X = np.ones((3, 2))
    with pytest.raises(DataError, match="needs at least two classes; y has one class only: 'spam'"):
        MulticlassSVM().fit(X, ["spam"] * 3)
    for weight, message in [
        ([1, 2], r"sample_weight has shape \(2,\); it needs one weight for each of the 3 examples"),
        ([1, np.nan, 1], r"sample_weight\[1\] is nan; weights must be finite and at least 0"),
        ([1, 1, -2], r"sample_weight\[2\] is -2.0"),
        ([0, 0, 0], "sample_weight is zero for every example"),
        ([[1, 1], [1, 1, 1], [1]], "sample_weight must be an array of real numbers: its rows have different lengths"),
        (["a"] * 3, "sample_weight must hold real numbers, not .'a', 'a', 'a'."),
        (["1"] * 3, "sample_weight must hold real numbers"),
        ([1, 1, 1j], "sample_weight must hold real numbers"),
        ([1, None, 1], "sample_weight must hold real numbers"),
        ([1e308] * 3, "C times the largest sample weight is .*: too large to compute with"),
    ]:
        with pytest.raises(DataError, match=message):
            MulticlassSVM().fit(X, [0, 1, 1], weight)
    with pytest.raises(ValueError, match="features"):
        MulticlassSVM().fit(X, [0, 1, 1]).predict(np.ones((2, 3)))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["a", 1, 1, "a"], r"y mixes text with other labels \('a' and 1\)"),
        ((1, 2, "a", 1), r"y mixes text with other labels \('a' and 1\)"),
        (np.array(["a", 1, 1, "a"], object), "y mixes text with other labels"),
        (["a", None, 1, "b"], r"y mixes text with other labels \('a' and None\)"),
        (["a", np.nan, "a", "b"], r"y\[1\]: nan cannot be a label: it stands for a missing label"),
    ],
)
def test_text_and_numbers_together_are_refused(y: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        MulticlassSVM().fit(np.eye(4), y)


@pytest.mark.parametrize("y", [["a", None, "a", "b"], [b"a", 1, 1, b"a"], [1, None, 1, 2]])
def test_labels_of_several_kinds_are_in_order_of_their_first_occurrence(y: Any) -> None:
    for model in (MulticlassSVM(random_state=0), SVMClassifier(random_state=0)):
        assert model.fit(np.eye(4), y).classes_.tolist() == list(dict.fromkeys(y))


def test_labels_of_one_kind_keep_their_kind() -> None:
    for y in ([True, 1, 0, False], [np.int64(3), 4, 4, np.int8(3)], ["a", np.str_("b"), "a", "b"]):
        model = MulticlassSVM(random_state=0).fit(np.eye(4), y)
        np.testing.assert_array_equal(model.classes_, np.unique(np.array(y)))


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csc_array])
def test_sparse_matrices_that_point_outside_are_refused(form: Any) -> None:
    X, good = form(np.eye(4)[:, :3]), np.eye(4)[:, :3]
    y = [0, 1, 0, 1]
    model = MulticlassSVM(random_state=0).fit(good, y)
    X.indices[2] = 77
    inner, outer = ("column", "row") if X.format == "csr" else ("row", "column")
    for call in (lambda: MulticlassSVM().fit(X, y), lambda: model.predict(X)):
        with pytest.raises(DataError, match=f"X is a damaged sparse matrix: {outer} 2 has an entry in {inner} 77"):
            call()
    X.indices[2] = -1
    with pytest.raises(DataError, match=f"{outer} 2 has an entry in {inner} -1"):
        model.predict(X)
    X.indices[2] = 2
    X.indptr[1] = 3
    with pytest.raises(DataError, match="X is a damaged sparse matrix: its indptr"):
        MulticlassSVM().fit(X, y)


@pytest.mark.parametrize("solver", ["frank_wolfe", "n_slack", "one_slack", "averaged_perceptron"])
@pytest.mark.parametrize("size", [1.0, 9e99])
def test_up_to_the_bound_everything_is_finite(data: Any, size: float, solver: str) -> None:
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = MulticlassSVM(C=1e50, solver=solver, max_passes=5, fit_intercept=False, random_state=0)
        model.fit(np.asarray(X) / np.abs(X).max() * size, y)
    certificate = model.certificate_
    assert np.isfinite([certificate.primal, certificate.dual, *model.coef_.ravel()]).all()


def test_coordinate_ascent_reaches_the_same_optimum() -> None:
    rng = np.random.default_rng(8)
    X = sp.random_array((120, 30), density=0.2, rng=rng, format="csr")
    y = np.array(["a", "b", "c"])[rng.integers(0, 3, 120)]
    costs = np.array([[0, 1, 2], [1, 0, 1], [3, 1, 0.0]])
    options = dict(C=0.5, loss=costs, class_weight={"a": 2.0}, tol=1e-7, max_passes=20_000, random_state=0)
    options |= dict(penalize_intercept=True)
    weight = np.arange(120) % 3
    one, other = (
        MulticlassSVM(solver=solver, **options).fit(X, y, weight) for solver in ("frank_wolfe", "coordinate_ascent")
    )
    assert other.solver_ == "coordinate_ascent"
    assert other.certificate_.primal == pytest.approx(one.certificate_.primal, rel=2e-7)
    np.testing.assert_allclose(other.coef_, one.coef_, atol=2e-3)
    np.testing.assert_allclose(other.intercept_, one.intercept_, atol=2e-3)
