"""A class of weight 0 is absent, exactly as one whose rows all have weight 0; a weight of an absent class is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, KFold

from maxmargin import AUCClassifier, MulticlassSVM, SVMClassifier, SVMClassifierCV, SVMRanker, svm_path
from maxmargin.errors import DataError

X, Y = load_iris(return_X_y=True)
X, Y = X[::3], Y[::3]
WITHOUT = (Y != 0).astype(float)

MODELS = [
    SVMClassifier(),
    SVMClassifier(multi_class="ovo"),
    SVMClassifier(loss="squared_hinge"),
    SVMClassifier(loss="logistic"),
    SVMClassifier(kernel="rbf"),
    SVMClassifier(nu=0.5),
    MulticlassSVM(),
    AUCClassifier(),
]


def fitted(model: Any, factors: dict[Any, float] | None, *args: Any, **options: Any) -> Any:
    parameters = model.get_params() | {"class_weight": factors} | options
    if "random_state" in parameters:
        parameters["random_state"] = 0
    return type(model)(**parameters).fit(*args)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_it_is_as_if_its_rows_had_weight_0(model: Any) -> None:
    absent, left_out = fitted(model, {0: 0.0}, X, Y), fitted(model, None, X, Y, WITHOUT)
    assert absent.classes_.tolist() == [1, 2]
    np.testing.assert_array_equal(absent.decision_function(X), left_out.decision_function(X))
    assert absent.certificate_.primal == left_out.certificate_.primal
    assert absent.certificate_.n_examples == left_out.certificate_.n_examples


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_one_class_that_is_left_is_refused(model: Any) -> None:
    two = Y < 2
    with pytest.raises(DataError, match=r"one class only: 1|1 class \(1\)"):
        fitted(model, {0: 0}, X[two], Y[two])
    with pytest.raises(DataError, match="class_weight is zero for every class in y"):
        fitted(model, {0: 0, 1: 0, 2: 0}, X, Y)
    with pytest.raises(DataError, match="every row has sample_weight 0 or a class of class_weight 0"):
        fitted(model, {1: 0, 2: 0}, X, Y, WITHOUT)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_a_class_that_weights_take_away_is_not_said_to_be_missing(model: Any) -> None:
    two = Y < 2
    kept = (Y[two] == 1).astype(float)
    for factors, weight, named in (
        ({0: 0}, None, "class_weight"),
        (None, kept, "sample_weight"),
        ({0: 0}, np.ones(two.sum()), "class_weight"),
        ({0: 2.0}, kept, "sample_weight"),
        ({0: 0}, kept, "sample_weight and class_weight"),
    ):
        said = rf"weights of 0 \({named}\) leave (one class only: 1|out)"
        with pytest.raises(DataError, match=said):
            fitted(model, factors, X[two], Y[two], *([] if weight is None else [weight]))
    one = Y == 1
    with pytest.raises(DataError, match=r"y has (one class only: 1|1 class \(1\))"):
        fitted(model, None, X[one], Y[one], np.ones(one.sum()))


def test_the_weights_of_others_count_as_before() -> None:
    weight = 1.0 + np.arange(len(Y)) % 3
    absent = fitted(SVMClassifier(), {0: 0.0, 1: 2.0}, X, Y, weight)
    by_hand = fitted(SVMClassifier(), None, X, Y, weight * WITHOUT * np.where(Y == 1, 2.0, 1.0))
    np.testing.assert_array_equal(absent.coef_, by_hand.coef_)


def test_searches_and_paths_leave_it_out_too() -> None:
    options: dict[str, Any] = dict(Cs=[0.1, 1.0], cv=3, random_state=0)
    absent = SVMClassifierCV(class_weight={0: 0.0}, **options).fit(X, Y)
    left_out = SVMClassifierCV(**options).fit(X, Y, WITHOUT)
    np.testing.assert_array_equal(absent.scores_, left_out.scores_)
    assert absent.classes_.tolist() == [1, 2]
    path = svm_path(X, Y, [0.1, 1.0], class_weight={0: 0.0}, random_state=0)
    other = svm_path(X, Y, [0.1, 1.0], sample_weight=WITHOUT, random_state=0)
    np.testing.assert_array_equal(path.coef_, other.coef_)
    np.testing.assert_array_equal(path.training_errors, other.training_errors)


def test_in_a_stream_its_rows_are_left_out() -> None:
    classes = [0, 1, 2]
    absent = SVMClassifier(class_weight={0: 0.0}).partial_fit(X, Y, classes)
    left_out = SVMClassifier().partial_fit(X, Y, classes, WITHOUT)
    np.testing.assert_array_equal(absent.coef_, left_out.coef_)
    assert absent.n_samples_seen_ == left_out.n_samples_seen_ == WITHOUT.sum()


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_weights_whose_product_is_0_in_floats_are_refused(loss: str, kernel: str) -> None:
    model = SVMClassifier(1e-200, loss=loss, kernel=kernel, class_weight={1: 1e-200})
    with pytest.raises(DataError, match="C times the smallest weight of a row is 0: too small to compute with"):
        model.fit(X, Y)


@pytest.mark.parametrize(
    "machine", [MulticlassSVM, SVMRanker, AUCClassifier, SVMClassifier], ids=lambda each: each.__name__
)
def test_a_C_too_small_to_compute_with_is_refused_by_all(machine: Any) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    with pytest.raises(DataError, match=r"too small to compute with \(at least 1e-300\); raise C or the weights"):
        machine(C=1e-320).fit(X, y)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("model", [*MODELS, SVMClassifierCV(Cs=[1.0, 2.0], cv=2)], ids=repr)
def test_a_weight_of_a_class_in_no_row_has_no_effect(model: Any, named: bool) -> None:
    """As in a fold that lacks a rare class; a note tells it from a typing error."""
    two = Y < 2
    names = [("a",), ("b",), ("c",), ("d",)] if named else [0, 1, 2, 3]
    y = np.fromiter((names[k] for k in Y[two]), object if named else np.int64, int(two.sum()))
    some = fitted(model, {names[1]: 3.0}, X[two], y)
    more = fitted(model, {names[2]: 5.0, names[1]: 3.0, names[3]: 0.0}, X[two], y)
    assert more.decision_function(X).tobytes() == some.decision_function(X).tobytes()
    notes = getattr(more, "estimator_", more).notes_
    said = f"class_weight names the classes {names[2]!r}, {names[3]!r}, which are not in y: no effect"
    assert said in notes
    assert not any("class_weight" in note for note in getattr(some, "estimator_", some).notes_)
    with pytest.raises(DataError, match="class_weight names the class .*, which is not in y"):
        fitted(model, {names[2]: 5.0}, X[two], y)
    with pytest.raises(DataError, match="class_weight of .* is -1.0"):
        fitted(model, {names[2]: -1.0, names[1]: 1.0}, X[two], y)


def test_a_class_without_weighty_rows_is_no_absent_one() -> None:
    for names in ([0, 1, 2], [(0,), (1,), (2,)]):
        y = np.fromiter((names[k] for k in Y), object if isinstance(names[0], tuple) else np.int64, len(Y))
        model = SVMClassifier(class_weight={names[0]: 2.0, names[1]: 2.0}).fit(X, y, WITHOUT)
        assert not any("class_weight" in note for note in model.notes_)


def test_a_search_over_folds_without_a_rare_class() -> None:
    rows = np.r_[np.flatnonzero(Y < 2)[::2], np.flatnonzero(Y == 2)[:2]]
    search = GridSearchCV(MulticlassSVM(), {"class_weight": [{1: 2.0, 2: 5.0}]}, cv=KFold(6), error_score="raise")
    assert np.isfinite(search.fit(X[rows], Y[rows]).cv_results_["mean_test_score"]).all()
