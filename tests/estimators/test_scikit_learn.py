"""The estimators as scikit-learn sees them: its own checks, clones, pickles, pipelines, searches."""

from __future__ import annotations

import inspect
import os
import pickle
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, SkipTestWarning
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.estimator_checks import check_estimator

from maxmargin import MulticlassSVM, SequenceSVM, StructuredSVM
from maxmargin.structures.multiclass import Multiclass

RNG = np.random.default_rng(4)
ROWS = RNG.normal(size=(30, 3)) + (np.arange(30) % 3)[:, None]
CLASSES = np.array(["x", "y", "z"])[np.arange(30) % 3]
SEQUENCES = [[[f"a{k}"] for k in RNG.integers(0, 4, 3)] for _ in range(12)]
LABELS = [[token[0][-1] for token in sequence] for sequence in SEQUENCES]

# an estimator of each class, other parameters than the default ones, and data for it
CASES: dict[str, tuple[Any, dict[str, Any], Any, Any]] = {
    "MulticlassSVM": (
        MulticlassSVM(), dict(C=3.0, loss=2.0 - 2.0 * np.eye(3), class_weight={"x": 2.0}, n_jobs=2, random_state=7), ROWS, CLASSES
    ),
    "SequenceSVM": (
        SequenceSVM(), dict(C=3.0, loss="normalized_hamming", label_weight={"1": 2.0}, forbidden=[("0", None)] * 0, min_count=2),
        SEQUENCES, LABELS,
    ),
    "StructuredSVM": (
        StructuredSVM(Multiclass(3)), dict(C=3.0, solver="n_slack", tol=0.1, random_state=1), ROWS, np.arange(30) % 3
    ),
}  # fmt: skip

each = pytest.mark.parametrize("name", CASES)


def fitted(name: str, **options: Any) -> Any:
    estimator, _, X, y = CASES[name]
    return clone(estimator).set_params(**options).fit(X, y)


def test_the_checks_of_scikit_learn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        check_estimator(MulticlassSVM())


@each
def test_every_argument_is_kept_as_it_is_and_nothing_else_happens(name: str) -> None:
    estimator, changed, _, _ = CASES[name]
    signature = inspect.signature(type(estimator).__init__).parameters
    values = {k: object() for k in signature if k != "self"}
    made = type(estimator)(**values)
    assert vars(made) == values
    assert all(made.get_params(deep=False)[k] is v for k, v in values.items())
    other = clone(estimator).set_params(**changed)
    for model in (estimator, other, Pipeline([("m", other)]), GridSearchCV(other, {"C": [1.0]})):
        assert type(other).__name__ in repr(model)
        assert "<" in model._repr_html_()
    before = other.get_params(deep=False)
    again = clone(other).get_params(deep=False)
    assert before.keys() == again.keys() == values.keys()
    for key, value in before.items():
        if key != "structure":
            np.testing.assert_equal(again[key], value)
    assert other.set_params(**other.get_params()) is other
    assert all(other.get_params(deep=False)[k] is v for k, v in before.items())
    assert Pipeline([("m", other)]).get_params(deep=True)["m__C"] == 3.0


@each
def test_fitting_changes_no_parameter(name: str) -> None:
    estimator, changed, X, y = CASES[name]
    for parameters in ({}, changed):
        model = clone(estimator).set_params(**parameters)
        before = model.get_params(deep=False)
        model.fit(X, y)
        after = model.get_params(deep=False)
        assert all(after[k] is before[k] for k in before)


@each
def test_fit_gives_the_estimator_and_sets_its_documented_attributes(name: str) -> None:
    estimator, _, X, y = CASES[name]
    model = clone(estimator)
    assert model.fit(X, y) is model
    for attribute in ("certificate_", "history_", "coef_"):
        assert hasattr(model, attribute)
    for line in inspect.getdoc(type(model)).partition("Attributes\n")[2].splitlines():  # type: ignore[union-attr]
        for word in line.split(" : ")[0].split(", ") if " : " in line and not line.startswith(" ") else []:
            # which perceptrons and streams alone have
            assert hasattr(model, word) == (word not in ("n_mistakes_", "n_samples_seen_")), word


@each
def test_a_clone_of_a_fitted_one_is_new(name: str) -> None:
    model = clone(fitted(name))
    assert not hasattr(model, "coef_")


@each
def test_a_pickle_predicts_the_same_and_holds_no_training_data(name: str) -> None:
    _, _, X, y = CASES[name]
    model = fitted(name, warm_start=True)
    for protocol in (2, pickle.HIGHEST_PROTOCOL):
        text = pickle.dumps(model, protocol)
        copy = pickle.loads(text)
        np.testing.assert_array_equal(copy.coef_, model.coef_)
        assert list(copy.predict(X)) == list(model.predict(X))
        assert copy.score(X, y) == model.score(X, y)
        assert copy.certificate_ == model.certificate_
        assert copy.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    copies = (X * 20, y * 20) if isinstance(X, list) else (np.concatenate([X] * 20), np.concatenate([y] * 20))
    many = clone(CASES[name][0]).set_params(warm_start=True).fit(*copies)
    assert len(pickle.dumps(many)) < 2 * len(text) + 20_000
    copy.fit(X, y)  # also a copy can be fitted again, from its weights
    assert copy.certificate_.status.ok


@each
def test_pickles_leave_no_files(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, X, _ = CASES[name]
    text = pickle.dumps(fitted(name))
    (tmp_path / "temp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temp"))
    for variable in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.setenv(variable, str(tmp_path / "temp"))
    monkeypatch.chdir(tmp_path)
    for _ in range(50):
        pickle.loads(text).predict(X)
    assert os.listdir(tmp_path) == ["temp"]
    assert os.listdir(tmp_path / "temp") == []


@each
def test_in_a_pipeline_and_a_search(name: str) -> None:
    estimator, _, X, y = CASES[name]
    first = FunctionTransformer() if name == "SequenceSVM" else StandardScaler()
    pipeline = make_pipeline(first, clone(estimator))
    step = pipeline.steps[-1][0]
    folds = KFold(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        search = GridSearchCV(pipeline, {f"{step}__C": [1e-3, 1.0]}, cv=folds, error_score="raise").fit(X, y)
        assert search.best_params_[f"{step}__C"] in (1e-3, 1.0)
        assert len(search.predict(X)) == len(X)
        scores = cross_val_score(clone(estimator), X, y, cv=folds, error_score="raise", n_jobs=1)
    assert scores.shape == (3,)
    assert (scores > 0.3).all()


@each
def test_seeds_as_numbers_and_as_states(name: str) -> None:
    # an interior point method, which is "auto" here, draws nothing
    options = {"solver": "coordinate_ascent"} if name == "MulticlassSVM" else {}
    same = [fitted(name, random_state=seed, **options).coef_.tobytes() for seed in (5, 5, np.int64(5))]
    assert len(set(same)) == 1
    states = [fitted(name, random_state=check_random_state(5), **options).coef_.tobytes() for _ in range(2)]
    assert len(set(states)) == 1
    assert fitted(name, random_state=6, **options).coef_.tobytes() != same[0]


@each
def test_the_global_seed_is_neither_used_nor_changed(name: str) -> None:
    np.random.default_rng(0)
    before = np.random.get_state()[1].copy()  # type: ignore[index,union-attr]
    fitted(name, random_state=1)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # type: ignore[index,arg-type]


@each
@pytest.mark.parametrize("verbose", [1, 2])
def test_progress_goes_to_standard_error(name: str, verbose: int, capsys: pytest.CaptureFixture[str]) -> None:
    model = fitted(name, verbose=verbose, random_state=0)
    out, err = capsys.readouterr()
    assert out == ""
    assert f"{name} ({model.solver_})" in err
    assert str(model.certificate_.status) in err
    assert "primal" in err
    fitted(name, random_state=0)
    assert capsys.readouterr() == ("", "")
