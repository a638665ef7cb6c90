"""Model files of hard margins, of searches for C, and of streams that go on in another process."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold

from maxmargin import (
    HardMarginSVM,
    SVMClassifier,
    SVMClassifierCV,
    SVMRanker,
    SVMRegressor,
    load_model,
    save_model,
)
from maxmargin.data.container import Contents
from maxmargin.errors import ModelFileError
from maxmargin.losses import Logistic
from model_file_changes import set_array, set_part, tampered

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
TWO = np.where(X[:, 0] > 0.0, "right", "left")
THREE = np.array(["a", "b", "c"])[np.digitize(X[:, 1], [-0.5, 0.5])]

MACHINES: list[Any] = [
    HardMarginSVM(random_state=0),
    HardMarginSVM(kernel="rbf", gamma=2.0),
    HardMarginSVM(kernel="poly", coef0=1.0, penalize_intercept=True),
    SVMClassifierCV(3, cv=3, random_state=0),
    SVMClassifierCV([0.1, 10.0], cv=3, scoring="roc_auc", loss=Logistic(base=2.0), kernel="rbf"),
    SVMClassifierCV((1.0,), cv=2, class_weight="balanced", multi_class="ovo"),
]


def back(model: Any, path: Path) -> Any:
    save_model(model, path)
    return load_model(path)


@pytest.mark.parametrize("model", MACHINES, ids=repr)
def test_they_come_back(model: Any, tmp_path: Path) -> None:
    for rows in (X, sp.csr_matrix(X)):
        fitted = model.fit(rows, TWO)
        loaded = back(fitted, tmp_path / "m")
        assert type(loaded) is type(fitted)
        for name, value in fitted.get_params().items():
            kept = loaded.get_params()[name]
            assert kept == value if not isinstance(value, Logistic) else repr(kept) == repr(value)
        np.testing.assert_array_equal(loaded.decision_function(rows), fitted.decision_function(rows))
        assert loaded.predict(rows).tolist() == fitted.predict(rows).tolist()
        assert loaded.certificate_ == fitted.certificate_
        assert loaded.notes_ == fitted.notes_
        assert loaded.history_ == fitted.history_
        assert loaded.n_features_in_ == 3
        left_out = {name for name in vars(fitted) if name.endswith("_")} - set(vars(loaded))
        linear = {"support_", "dual_coef_", "dual_residual_", "n_support_"} if "coef_" in vars(fitted) else set()
        assert left_out == ({"path_"} if isinstance(model, SVMClassifierCV) else linear)


@pytest.mark.parametrize("kind", [SVMClassifier, SVMRegressor, HardMarginSVM])
@pytest.mark.parametrize("later", [{"kernel": "rbf"}, {"degree": 2, "coef0": 3.0}, {"gamma": 9.0}], ids=repr)
def test_the_kernel_is_that_of_the_fit_whatever_the_parameters_are_now(kind: Any, later: Any, tmp_path: Path) -> None:
    y = (X[:, 0] > 0.0).astype(float)
    model = kind(kernel="poly", gamma=0.5, coef0=1.0).fit(X, y)
    before = model.predict(X) if kind is SVMRegressor else model.decision_function(X)
    loaded = back(model.set_params(**later), tmp_path / "m")
    after = loaded.predict(X) if kind is SVMRegressor else loaded.decision_function(X)
    np.testing.assert_array_equal(after, before)
    for bad in ("poly", ["poly", 1.0], ["mine", 1.0, 3], ["poly", "x", 3], ["poly", 1.0, -1], [["poly"], 1.0, 3]):
        with pytest.raises(ModelFileError):
            load_model(tampered(model, tmp_path / "m", set_part("kernel", bad)))


def test_a_kernel_of_ones_own_is_not_kept_whatever_the_parameters_are_now(tmp_path: Path) -> None:
    model = SVMClassifier(kernel=lambda A, B: A @ B.T).fit(X, TWO).set_params(kernel="linear")
    with pytest.raises(ModelFileError, match="a function of the user's own, which cannot be kept"):
        save_model(model, tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_the_margin_and_its_certificate_come_back(tmp_path: Path) -> None:
    model = HardMarginSVM(kernel="rbf").fit(X, TWO)
    loaded = back(model, tmp_path / "m")
    assert loaded.margin_ == model.margin_ > 0.0
    assert loaded.certificate_.C == np.inf
    assert loaded.n_support_.tolist() == model.n_support_.tolist()


def test_a_search_comes_back_with_its_table(tmp_path: Path) -> None:
    frame = pytest.importorskip("pandas").DataFrame(X, columns=["u", "v", "w"])
    model = SVMClassifierCV([0.01, 1.0], cv=3, random_state=0).fit(frame, THREE)
    loaded = back(model, tmp_path / "m")
    np.testing.assert_array_equal(loaded.scores_, model.scores_)
    np.testing.assert_array_equal(loaded.Cs_, model.Cs_)
    assert loaded.C_ == model.C_ == loaded.estimator_.C
    assert type(loaded.estimator_) is SVMClassifier
    assert loaded.estimator_.certificate_ == model.certificate_
    assert loaded.feature_names_in_.tolist() == ["u", "v", "w"]
    np.testing.assert_array_equal(loaded.coef_, model.coef_)
    assert loaded.score(frame, THREE) == model.score(frame, THREE)
    again = loaded.fit(frame, THREE)
    np.testing.assert_array_equal(again.scores_, model.scores_)


def test_folds_and_measures_that_are_code_come_back_as_defaults(tmp_path: Path) -> None:
    model = SVMClassifierCV([0.01, 1.0], cv=StratifiedKFold(3), scoring=lambda model, X, y: 1.0).fit(X, TWO)
    loaded = back(model, tmp_path / "m")
    assert (loaded.cv, loaded.scoring) == (5, None)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_another_process_predicts_the_same(tmp_path: Path, run_python: Callable[..., str]) -> None:
    models: list[Any] = [model.fit(X, TWO) for model in MACHINES]
    models.append(SVMClassifier().partial_fit(X, THREE, classes=["a", "b", "c"]))
    for k, model in enumerate(models):
        save_model(model, tmp_path / f"{k}.model")
    code = f"""
import numpy as np
from maxmargin import load_model
X = np.random.default_rng(0).normal(size=(60, 3))
for k in range({len(models)}):
    print(load_model(f"{tmp_path}/{{k}}.model").decision_function(X).tobytes().hex())
"""
    assert run_python(code).splitlines() == [model.decision_function(X).tobytes().hex() for model in models]


def test_what_was_never_fitted_has_no_file(tmp_path: Path) -> None:
    for model in (HardMarginSVM(), SVMClassifierCV()):
        with pytest.raises(NotFittedError):
            save_model(model, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


# --- streams

STREAMS: list[Any] = [
    (SVMClassifier(), TWO),
    (SVMClassifier(multi_class="ovo", loss="logistic", penalize_intercept=True, class_weight={"a": 2.0}), THREE),
    (SVMClassifier(loss="squared_hinge", fit_intercept=False, warm_start=True), THREE),
    (SVMRegressor(0.3, epsilon=0.2), X[:, 2] + 100.0),
    (SVMRegressor(loss="squared_epsilon_insensitive", fit_intercept=False), X[:, 2]),
    (SVMRanker(loss="squared_hinge"), np.digitize(X[:, 1], [-0.5, 0.5])),
]


@pytest.mark.parametrize(
    ("model", "y"), STREAMS, ids=lambda each: repr(each) if not isinstance(each, np.ndarray) else ""
)
def test_a_stream_goes_on_after_loading_as_if_nothing_had_happened(model: Any, y: Any, tmp_path: Path) -> None:
    known = {"classes": np.unique(y)} if isinstance(model, SVMClassifier) else {}
    model = type(model)(**model.get_params())
    model.partial_fit(X[:30], y[:30], **known)
    loaded = back(model, tmp_path / "m")
    for at in (30, 45):
        assert loaded.predict(X).tolist() == model.predict(X).tolist()
        assert loaded.n_samples_seen_ == model.n_samples_seen_ == at
        assert (loaded.solver_, loaded.n_iter_, loaded.solver_reason_) == (
            model.solver_,
            model.n_iter_,
            model.solver_reason_,
        )
        assert not hasattr(loaded, "certificate_")
        for each in (model, loaded):
            each.partial_fit(X[at : at + 15], y[at : at + 15])
        np.testing.assert_array_equal(loaded.coef_, model.coef_)
        np.testing.assert_array_equal(getattr(loaded, "intercept_", 0.0), getattr(model, "intercept_", 0.0))
    loaded.C = 7.0
    with pytest.raises(ValueError, match="C is 7.0 and was"):
        loaded.partial_fit(X, y)
    fitted = loaded.set_params(C=1.0).fit(X, y)
    assert not hasattr(fitted, "n_samples_seen_")
    assert back(fitted, tmp_path / "m").certificate_ == fitted.certificate_


def test_parameters_of_another_stream_are_not_kept(tmp_path: Path) -> None:
    model = SVMClassifier().partial_fit(X, TWO, classes=["left", "right"])
    for change, message in (
        ({"C": 2.0}, "SVMClassifier: C is 2.0 and was 1.0 when this stream began"),
        ({"C": 1.0, "kernel": "rbf"}, "SVMClassifier: partial_fit is for kernel='linear', not for kernel='rbf'"),
    ):
        with pytest.raises(ModelFileError, match=re.escape(message)):
            save_model(model.set_params(**change), tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_a_fit_whose_stream_ended_before_its_first_piece_is_still_a_fit(tmp_path: Path) -> None:
    model = SVMClassifier().fit(X, TWO)
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((2, 3), np.nan), TWO[:2])
    assert back(model, tmp_path / "m").certificate_ == model.certificate_


# --- files from strangers


OF_STREAMS: dict[str, Callable[[Contents], Any]] = {
    "rows less than none": set_part("seen", [-1], "stream"),
    "rows of two streams": set_part("seen", [1, 1], "stream"),
    "rows that are text": set_part("n_samples_seen", "many", "stream"),
    "too many rows": set_part("n_samples_seen", 2**70, "stream"),
    "weights too few": set_array("stream_last", np.zeros((1, 2))),
    "means too many": set_array("stream_mean", np.zeros((2, 4))),
    "means that are none": set_array("stream_mean", np.full((1, 4), np.nan)),
    "figures too few": set_array("stream_figures", np.ones((1, 6))),
    "figures below 0": set_array("stream_figures", -np.ones((1, 7))),
    "steps of length 0": set_array("stream_figures", np.zeros((1, 7))),
    "a list": lambda contents: contents.values.update(stream=[1]),
    "nothing": lambda contents: contents.values.update(stream={}),
    "neither stream nor certificate": lambda contents: contents.values.update(stream=None),
    "a kernel": set_part("kernel", "rbf", "parameters"),
}
OF_SEARCHES: dict[str, Callable[[Contents], Any]] = {
    "another C": set_part("C", 3.0),
    "a C that is text": set_part("C", "1"),
    "a value below 0": set_array("cs", np.array([-1.0, 1.0])),
    "a table": set_array("cs", np.ones((2, 2))),
    "scores too few": set_array("scores", np.ones((3, 1))),
    "scores of one fold": set_array("scores", np.ones(2)),
    "scores that are none": set_array("scores", np.full((3, 2), np.inf)),
    "no scores": lambda contents: contents.values["parts"].pop("scores"),
    "no weights": lambda contents: contents.values["parts"].pop("coef"),
    "a parameter of nonsense": set_part("tol", -1.0, "parameters"),
    "a stream": lambda contents: contents.values.update(stream={}),
}
OF_MARGINS: dict[str, Callable[[Contents], Any]] = {
    "three classes": set_part("classes", {"array": "coef"}),
    "one class twice": set_part("classes", {"text_array": ["a", "a"]}),
    "two intercepts": set_array("intercept", np.zeros(2)),
    "weights too few": set_array("coef", np.zeros((1, 2))),
    "a margin that is text": set_part("margin", "wide"),
    "no margin": lambda contents: contents.values["parts"].pop("margin"),
}


@pytest.mark.parametrize(
    ("model", "change"),
    [
        pytest.param(model, change, id=f"{name}: {what}")
        for name, model, changes in (
            ("stream", SVMClassifier().partial_fit(X, TWO, classes=["left", "right"]), OF_STREAMS),
            ("search", SVMClassifierCV([0.1, 1.0], cv=3).fit(X, TWO), OF_SEARCHES),
            ("margin", HardMarginSVM().fit(X, TWO), OF_MARGINS),
        )
        for what, change in changes.items()
    ],
)
def test_contradictions_are_refused_in_one_line(model: Any, change: Any, tmp_path: Path) -> None:
    path = tampered(model, tmp_path / "m", change)
    with pytest.raises(ModelFileError, match=rf"^{re.escape(str(path))}: .*do not fit together") as caught:
        load_model(path)
    assert "\n" not in str(caught.value)


def test_support_vectors_of_a_margin_are_counted_by_class(tmp_path: Path) -> None:
    path = tampered(
        HardMarginSVM(kernel="rbf").fit(X, TWO), tmp_path / "m", set_array("n_support", np.ones(3, np.int64))
    )
    with pytest.raises(ModelFileError, match=r"numbers of support vectors of shape \(3,\) for 2 classes"):
        load_model(path)


def test_a_loss_derived_from_one_of_the_library_is_not_taken_for_it(tmp_path: Path) -> None:
    class Own(Logistic):
        pass

    for model in (SVMClassifier(loss=Own()), SVMClassifierCV([1.0], cv=2, loss=Own())):
        fitted: Any = model.fit(X, TWO)
        with pytest.raises(
            ModelFileError, match=r"^the parameter loss .* is of type Own; .*of losses those of this lib"
        ):
            save_model(fitted, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []
