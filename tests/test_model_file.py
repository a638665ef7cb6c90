"""Models in files: what comes back is what was saved, and nothing else can come back."""

from __future__ import annotations

import enum
import fractions
import functools
import io
import json
import os
import pickle
import re
import tempfile
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import maxmargin.data.container as container
from maxmargin import (
    MulticlassSVM,
    OneClassSVM,
    SequenceSVM,
    StructuredSVM,
    SVMClassifier,
    SVMRegressor,
    load_model,
    save_model,
)
from maxmargin.data.container import Contents, read_container, write_container
from maxmargin.errors import ModelFileError, StructureError
from maxmargin.losses import CustomLoss, Exponential, Hinge, Logistic, SquaredHinge
from maxmargin.model_file import load_with_metadata
from maxmargin.structures.multiclass import Multiclass
from model_file_changes import set_array, set_part, tampered

X = np.array([[0.0, 1, 2], [1, 0, 0], [2, 2, 1], [0, 0, 3], [1, 1, 0], [3, 0, 1]])
TOKENS = [[["w=the"], ["w=cat", "cap"]], [["w=a"], ["w=dog"], ["w=barks"]], [["w=dogs"]]]
TAGS = [["B-DET", "B-NOUN"], ["B-DET", "I-DET", "O"], ["B-NOUN"]]
DENSE = [np.eye(3)[:2], np.eye(3), np.ones((1, 3))]


class Toy:
    """A plain structure: two classes, a block of weights for each."""

    def joint_features(self, x: Any, y: Any) -> Any:
        return np.concatenate([np.multiply(x, y == k) for k in (0, 1)])

    def loss(self, y_true: Any, y: Any) -> float:
        return float(y_true != y)

    def argmax(self, x: Any, w: Any, y_true: Any = None) -> Any:
        def value(y: int) -> float:
            return float(w @ self.joint_features(x, y)) + (0.0 if y_true is None else self.loss(y_true, y))

        return max((0, 1), key=value)


def multiclass(y: Any, X: Any = X, **parameters: Any) -> MulticlassSVM:
    return MulticlassSVM(random_state=0, **parameters).fit(X, y)


def sequence(X: Any = TOKENS, y: Any = TAGS, **parameters: Any) -> SequenceSVM:
    return SequenceSVM(random_state=0, **parameters).fit(X, y)


def back(model: Any, tmp_path: Path, **given: Any) -> Any:
    save_model(model, tmp_path / "m.model")
    return load_model(tmp_path / "m.model", **given)


def same_values(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same_values, a, b))
    return type(a) is type(b) and a == b


def assert_same(saved: Any, loaded: Any, X: Any) -> None:
    """Equal parameters, fitted attributes and predictions, to the last bit and type."""
    assert type(loaded) is type(saved)
    old, new = saved.get_params(), loaded.get_params()
    assert old.keys() == new.keys()
    assert [name for name in old if not same_values(old[name], new[name])] == []
    fitted = {name for name in vars(saved) if name.endswith("_") and not name.startswith("_") and name != "_structure_"}
    if "dual_residual_" in fitted:  # of linear machines the weights are kept, not the dual point
        fitted -= {"dual_residual_", "dual_coef_", "support_", "n_support_"}
        assert not {"dual_coef_", "support_", "n_support_"} & set(vars(loaded))
    assert fitted <= set(vars(loaded))
    assert [name for name in fitted if not same_values(getattr(saved, name), getattr(loaded, name))] == []
    assert same_values(list(saved.predict(X)), list(loaded.predict(X)))


# --- what comes back


@pytest.mark.parametrize(
    ("y", "parameters"),
    [
        (["a", "b", "é", "a", "b", "a"], {}),
        ([1, 2, -3, 1, 2, 1], {"loss": np.array([[0, 1, 2], [3, 0, 1], [1.5, 1, 0]]), "C": np.float32(0.5)}),
        (np.array([1, 2, 3, 1, 2, 1], np.uint8), {"class_weight": {1: 2.0, 2: 0.5, 3: 1.0}}),
        ([0.0, 1.0, 2.0, 0.0, 1.0, 0.0], {"class_weight": "balanced", "fit_intercept": False}),
        (
            [True, False, True, True, False, False],
            {"penalize_intercept": True, "intercept_scaling": 3.0, "max_time": float("inf")},
        ),
        (np.array(["yes", "no", "yes", "no", "no", "yes"], object), {"loss": [[0.0, 2.0], [1.0, 0.0]]}),
    ],
)
def test_multiclass_comes_back(y: Any, parameters: dict[str, Any], tmp_path: Path) -> None:
    for data in (X, sp.csr_matrix(X)):
        model = multiclass(y, data, **parameters)
        loaded = back(model, tmp_path)
        assert_same(model, loaded, X)
        assert np.array_equal(model.decision_function(X), loaded.decision_function(X))


PLAIN_MACHINES: list[Any] = [
    SVMClassifier(),
    SVMClassifier(kernel="rbf", class_weight="balanced"),
    SVMClassifier(kernel="poly", multi_class="ovo", coef0=1.0),
    SVMClassifier(nu=0.3),
    SVMClassifier(loss="logistic"),
    SVMClassifier(loss=Logistic(), multi_class="ovo"),
    SVMClassifier(loss=Logistic(base=2.0), kernel="rbf"),
    SVMClassifier(loss=Exponential(), fit_intercept=False),
    SVMClassifier(loss=SquaredHinge(), kernel="poly"),
    SVMRegressor(loss="squared_epsilon_insensitive"),
    SVMRegressor(kernel="sigmoid"),
    SVMRegressor(kernel="rbf", nu=0.5, penalize_intercept=False),
    OneClassSVM(kernel="cosine"),
    OneClassSVM(kernel="linear"),
]


@pytest.mark.parametrize("model", PLAIN_MACHINES, ids=str)
def test_plain_machines_come_back(model: Any, tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(30, 3))
    y: Any = rows[:, 0] if isinstance(model, SVMRegressor) else np.array(["a", "b", "c"])[np.arange(30) % 3]
    fitted = clone(model).fit(rows, y)
    assert_same(fitted, back(fitted, tmp_path), rows)
    sparse = sp.csr_matrix(rows * (rows > 0))
    fitted = clone(model).fit(sparse, y)
    assert np.array_equal(fitted.predict(sparse), back(fitted, tmp_path).predict(sparse))
    if model.kernel != "linear":
        K = rows @ rows.T
        fitted = clone(model).set_params(kernel="precomputed").fit(K, y)
        assert_same(fitted, back(fitted, tmp_path), K)


def test_a_kernel_of_ones_own_is_not_kept(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(9, 2))
    model = OneClassSVM(kernel=lambda A, B: A @ B.T).fit(rows)
    with pytest.raises(ModelFileError, match="the parameter kernel .* is of type function"):
        save_model(model, tmp_path / "m.model")
    assert list(tmp_path.iterdir()) == []


def test_probabilities_come_back_in_another_process(tmp_path: Path, run_python: Callable[..., str]) -> None:
    rows = np.random.default_rng(0).normal(size=(30, 3))
    y = np.array(["a", "b", "c"])[np.digitize(rows[:, 0], [-0.5, 0.5])]
    models = [SVMClassifier(loss=loss).fit(rows, y) for loss in ("logistic", Logistic(base=2.0))]
    for k, model in enumerate(models):
        save_model(model, tmp_path / f"{k}.model")
    code = f"""
import numpy as np
from maxmargin import load_model
for k in range(2):
    model = load_model(f"{tmp_path}/{{k}}.model")
    p = model.predict_proba(np.random.default_rng(0).normal(size=(30, 3)))
    print(repr(model.loss), p.tobytes().hex())
"""
    expected = [f"{model.loss!r} {model.predict_proba(rows).tobytes().hex()}" for model in models]
    assert run_python(code).splitlines() == expected
    assert not hasattr(back(SVMClassifier(loss=Hinge()).fit(rows, y), tmp_path), "predict_proba")


def test_a_loss_of_ones_own_is_not_kept(tmp_path: Path) -> None:
    class Own(Logistic):
        pass

    own = CustomLoss(np.square, lambda t: 2.0 * t, lambda t: np.full_like(t, 2.0), name="square")
    for loss in (own, Own()):
        model = SVMClassifier(loss=loss).fit([[0.0], [1.0]], [0, 1])
        with pytest.raises(
            ModelFileError, match=rf"^the parameter loss {re.escape(repr(loss))} is of type {type(loss).__name__}; a "
        ):
            save_model(model, tmp_path / "m.model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "loss", [[], ["own"], ["zero_one"], ["logistic", 1.0], ["logistic", "2"], ["hinge", 2.0], {}, "logistic"]
)
def test_losses_that_are_none_are_refused(loss: Any, tmp_path: Path) -> None:
    def change(contents: Contents) -> None:
        contents.values["parameters"]["loss"] = {"loss": loss}

    model = SVMClassifier(loss=Logistic()).fit([[0.0], [1.0]], [0, 1])
    refused(tampered(model, tmp_path / "m.model", change), "parts of this SVMClassifier do not fit together")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("support", np.arange(3.0), "support vectors"),
        ("dual_coef", np.ones((2, 5)), "coefficients of shape"),
        ("points", np.ones((2, 3)), "support vectors of shape"),
        ("center", np.ones(2), "a center of shape"),
        ("gamma", -1.0, "gamma must be"),
        ("n_features", 0, "0 features"),
        ("n_features", 4, "support vectors of shape"),
        ("intercept", np.ones(2), "intercepts of shape"),
        ("n_support", np.ones(3), "numbers of support vectors"),
        ("classes", np.array([1, 1]), "the classes must be two or more"),
    ],
)
def test_parts_of_a_machine_that_do_not_fit(name: str, value: Any, message: str) -> None:
    rows = np.random.default_rng(0).normal(size=(30, 3))
    model = SVMClassifier(kernel="rbf").fit(rows, rows[:, 0] > 0)
    parts = model._to_parts() | {name: value}
    with pytest.raises(ValueError, match=message):
        SVMClassifier(kernel="rbf")._from_parts(parts)


def test_names_of_columns_come_back(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = multiclass([1, 2, 1, 2, 2, 1], frame)
    loaded = back(model, tmp_path)
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c"]
    assert np.array_equal(model.decision_function(frame), loaded.decision_function(frame))
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[["b", "a", "c"]])


RENAMED = {
    "int": {"B-DET": 3, "B-NOUN": 1, "I-DET": -2, "O": 10**30},
    "tuple": {"B-DET": ("D", 1), "B-NOUN": ("N", 1), "I-DET": ("D", (2, "x")), "O": ("O", 0)},
    "float": {"B-DET": 0.1, "B-NOUN": -1e300, "I-DET": float("inf"), "O": 0.0},
    "bool": {"B-DET": True, "B-NOUN": False, "I-DET": True, "O": False},
    "numpy": {"B-DET": np.int16(3), "B-NOUN": np.float32(0.1), "I-DET": np.bool_(True), "O": np.uint64(2**64 - 1)},
    "text": {"B-DET": np.str_("d"), "B-NOUN": "", "I-DET": "\ud800 lone", "O": "line\nend\0"},
    "mixed": {"B-DET": "d", "B-NOUN": 5, "I-DET": 2.5, "O": (1, "o")},
}


@pytest.mark.parametrize("kind", RENAMED)
def test_labels_of_every_kind_come_back(kind: str, tmp_path: Path) -> None:
    y = [[RENAMED[kind][label] for label in labels] for labels in TAGS]
    model = sequence(TOKENS, y)
    assert_same(model, back(model, tmp_path), TOKENS)


@pytest.mark.parametrize(
    "parameters",
    [
        {"C": 10, "completion_rounds": 2},
        {"loss": "normalized_hamming", "forbidden": "iob2"},
        {"loss": 2 - 2 * np.eye(4), "label_weight": {"O": 2.0}},
        {"forbidden": [("B-NOUN", "O"), (None, "I-DET"), ("B-DET", None)], "label_weight": {"O": 2, "B-DET": 0.5}},
        {"forbidden": {("O", "O")}},
    ],
)
def test_sequences_come_back(parameters: dict[str, Any], tmp_path: Path) -> None:
    model = sequence(TOKENS, [["B-DET", "B-NOUN"], ["B-DET", "I-DET", "O"], ["B-NOUN"]], **parameters)
    loaded = back(model, tmp_path)
    assert_same(model, loaded, TOKENS)
    assert same_values(model.predict_k_best(TOKENS, 5), loaded.predict_k_best(TOKENS, 5))  # knows what is forbidden
    assert same_values(model.predict_margins(TOKENS), loaded.predict_margins(TOKENS))


@pytest.mark.parametrize(
    "data",
    [
        DENSE,
        [(tokens, dense) for tokens, dense in zip(TOKENS, DENSE)],
        [[{"w": "the", "n": 2.0}, {1: 0.5}], [{("a", 1): 1.0}, {"n": 1.0}, {}], [{"n": -1.0}]],
        [sp.csr_matrix(np.arange(70.0 * n).reshape(n, 70) % 3) for n in (2, 3, 1)],
    ],
    ids=["dense", "both", "names that are no text", "sparse"],
)
def test_inputs_of_every_kind_come_back(data: Any, tmp_path: Path) -> None:
    model = sequence(data)
    assert_same(model, back(model, tmp_path), data)


def test_a_structure_of_ones_own_is_given_anew(tmp_path: Path) -> None:
    inputs, outputs = [[1.0, 2.0], [-1.0, 0.5], [2.0, -1.0]], [1, 0, 1]
    model = StructuredSVM(Toy(), random_state=0).fit(inputs, outputs)
    save_model(model, tmp_path / "m.model")
    with pytest.raises(ModelFileError, match=r"m\.model: holds a StructuredSVM; its structure is code .*\.Toy\)"):
        load_model(tmp_path / "m.model")
    loaded = load_model(tmp_path / "m.model", structure=model.structure)
    assert_same(model, loaded, inputs)


def test_a_compiled_structure_is_given_anew(tmp_path: Path) -> None:
    model = StructuredSVM(Multiclass(2), random_state=0).fit(X, np.array([0, 1, 0, 1, 1, 0]))
    loaded = back(model, tmp_path, structure=model.structure)
    assert_same(model, loaded, X)


def test_a_structure_is_refused_where_there_is_one(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="holds a MulticlassSVM, which takes no structure="):
        back(multiclass([1, 2, 1, 2, 2, 1]), tmp_path, structure=Toy())


@pytest.mark.parametrize(
    ("structure", "message"), [(3, "int is no structure"), (Toy, "Toy is a class; give an instance")]
)
def test_what_is_no_structure_is_refused_at_loading(structure: Any, message: str, tmp_path: Path) -> None:
    save_model(StructuredSVM(Toy(), random_state=0).fit([[1.0], [-1.0]], [1, 0]), tmp_path / "m")
    with pytest.raises(StructureError, match=message):
        load_model(tmp_path / "m", structure=structure)


@pytest.mark.parametrize("metadata", [[1], "text", 3])
def test_metadata_that_are_no_mapping_are_refused(metadata: Any, tmp_path: Path) -> None:
    kind = type(metadata).__name__
    with pytest.raises(ModelFileError, match=f"metadata must be a mapping of names to values, not a {kind}"):
        save_model(multiclass([1, 2, 1, 2, 2, 1]), tmp_path / "m", metadata=metadata)
    assert not (tmp_path / "m").exists()


def test_parameters_that_are_code_come_back_as_defaults(tmp_path: Path) -> None:
    model = multiclass([1, 2, 1, 2, 2, 1], callback=lambda record, w: False)
    model.set_params(random_state=np.random.default_rng(0), solver=object())
    loaded = back(model, tmp_path)
    assert (loaded.callback, loaded.random_state, loaded.solver) == (None, None, "auto")
    assert np.array_equal(model.coef_, loaded.coef_)


@pytest.mark.parametrize("n_jobs", [-2000, 2000, 10**23])
def test_more_threads_than_a_file_may_ask_for_are_left_out(n_jobs: int, tmp_path: Path) -> None:
    model = multiclass([1, 2, 3, 1, 2, 1])
    assert back(model.set_params(n_jobs=n_jobs), tmp_path).n_jobs is None
    assert back(model.set_params(n_jobs=-1), tmp_path).n_jobs == -1


def test_a_parameter_that_prediction_needs_is_not_dropped(tmp_path: Path) -> None:
    model = sequence()
    model.forbidden = (pair for pair in [("O", "O")])
    with pytest.raises(ModelFileError, match=r"the parameter forbidden <generator .* is of type generator"):
        save_model(model, tmp_path / "m.model")
    assert os.listdir(tmp_path) == []


def test_metadata_come_back(tmp_path: Path) -> None:
    metadata = {"template": {"columns": ["w"], 3: (1.5, None, True)}, "many": [str(n) for n in range(200)], "é": {1, 2}}
    save_model(multiclass([1, 2, 1, 2, 2, 1]), tmp_path / "m.model", metadata=metadata)
    assert load_with_metadata(tmp_path / "m.model")[1] == metadata


def test_an_interrupted_model_can_be_saved(tmp_path: Path) -> None:
    def interrupt(record: Any, w: Any) -> None:
        raise KeyboardInterrupt

    model = SequenceSVM(random_state=0, tol=0.0, callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(TOKENS, TAGS)
    model.callback = None
    assert back(model, tmp_path).predict(TOKENS) == model.predict(TOKENS)


def test_a_loaded_model_goes_on(tmp_path: Path) -> None:
    """It can be pickled, and fitted again from its weights: to the very same as a pickled model."""
    model = sequence()
    loaded, copy = back(model, tmp_path), pickle.loads(pickle.dumps(model))
    for other in (loaded, copy, pickle.loads(pickle.dumps(loaded))):
        other.set_params(warm_start=True, tol=1e-5, max_passes=1000).fit(TOKENS[::-1], TAGS[::-1])
        assert np.array_equal(other.coef_, loaded.coef_)
        assert not np.array_equal(other.coef_, model.coef_)


def test_another_process_predicts_the_same(tmp_path: Path, run_python: Callable[..., str]) -> None:
    classes, tags = multiclass(["a", "b", "c", "a", "b", "a"]), sequence(TOKENS, TAGS, label_weight={"O": 2.0})
    save_model(classes, tmp_path / "classes.model")
    save_model(tags, tmp_path / "tags.model")
    code = f"""
import json, sys
from maxmargin import load_model
classes, tags = load_model("classes.model"), load_model("tags.model")
X, tokens = json.loads({json.dumps([X.tolist(), TOKENS])!r})
print(json.dumps([
    [v.hex() for v in classes.decision_function(X).ravel().tolist()],
    classes.predict(X).tolist(),
    tags.predict(tokens),
    [[v.hex() for v in m.tolist()] for m in tags.predict_margins(tokens)],
]))
"""
    code = f"import os; os.chdir({str(tmp_path)!r})\n" + code
    assert json.loads(run_python(code)) == [
        [v.hex() for v in classes.decision_function(X).ravel().tolist()],
        classes.predict(X).tolist(),
        tags.predict(TOKENS),
        [[v.hex() for v in m.tolist()] for m in tags.predict_margins(TOKENS)],
    ]


@pytest.mark.parametrize("how", ["read-only", "mapped"])
def test_arrays_need_not_be_writable(how: str, tmp_path: Path) -> None:
    for model, data in ((multiclass([1, 2, 3, 1, 2, 1]), X), (sequence(), TOKENS), (sequence(DENSE), DENSE)):
        loaded = back(model, tmp_path)
        if how == "mapped":
            joblib.dump(loaded, tmp_path / "m.joblib")
            loaded = joblib.load(tmp_path / "m.joblib", mmap_mode="r")
            assert isinstance(loaded.coef_, np.memmap)
        else:
            for value in vars(loaded).values():
                if isinstance(value, np.ndarray):
                    value.flags.writeable = False
        assert same_values(list(loaded.predict(data)), list(model.predict(data)))


def test_loading_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    save_model(sequence(), "m.model")
    for _ in range(50):
        load_model("m.model").predict(TOKENS)
    assert os.listdir(tmp_path) == ["m.model"]


# --- what cannot be saved


class Colour(enum.Enum):
    RED = 1


@pytest.mark.parametrize(
    "label", [fractions.Fraction(1, 3), Colour.RED, ("a", Colour.RED), b"x", np.datetime64("2020")]
)
def test_labels_of_other_types_are_named(label: Any, tmp_path: Path) -> None:
    path = tmp_path / "m.model"
    path.write_bytes(b"old")
    model = sequence(TOKENS, [["a", "b"], ["a", label, "a"], ["b"]])
    with pytest.raises(ModelFileError, match=r"the label .* is of type ") as caught:
        save_model(model, path)
    assert repr(label if not isinstance(label, tuple) else label[1]) in str(caught.value)
    assert path.read_bytes() == b"old"


def test_only_fitted_estimators_of_the_library_are_saved(tmp_path: Path) -> None:
    class Mine(MulticlassSVM):
        pass

    with pytest.raises(NotFittedError):
        save_model(MulticlassSVM(), tmp_path / "m.model")
    for other in (Mine().fit(X, [1, 2, 1, 2, 2, 1]), object()):
        with pytest.raises(TypeError, match=r"has no model files; those that have: MulticlassSVM, SequenceSVM"):
            save_model(other, tmp_path / "m.model")
    assert os.listdir(tmp_path) == []


# --- the container


ARRAYS = {
    "ints": np.arange(-5, 300, dtype=np.int16),
    "big_endian": np.arange(4, dtype=">i4"),
    "flags": np.array([[True, False]]),
    "scalar": np.array(2.5),
    "empty": np.zeros((0, 3), np.float32),
    "transposed": np.arange(6.0).reshape(2, 3).T,
    "sparse": np.where(np.arange(4000) % 700 == 3, 0.1, 0.0).reshape(40, 100),
    "signed_zeros": np.where(np.arange(500) % 250 == 0, -0.0, 0.0),
    "zeros": np.zeros((100, 100), np.float32),
    "dense": np.linspace(0, 1, 1000),
}


def written(tmp_path: Path, **changes: Any) -> Path:
    contents = Contents("toy", {"a": [1, None, "é"]}, ARRAYS, {"names": ["a", "", "é\ud800", "x\ny"], "none": []})
    write_container(tmp_path / "c.model", contents)
    return tmp_path / "c.model"


def test_a_container_gives_back_what_it_was_given(tmp_path: Path) -> None:
    found = read_container(written(tmp_path))
    assert (found.kind, found.values, found.library) == ("toy", {"a": [1, None, "é"]}, container.__version__)
    assert found.texts == {"names": ["a", "", "é\ud800", "x\ny"], "none": []}
    assert found.arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        seen = found.arrays[name]
        assert seen.dtype == array.dtype.newbyteorder("=")
        assert seen.shape == array.shape
        assert seen.tobytes() == np.ascontiguousarray(array, seen.dtype).tobytes(), name
        assert seen.flags.writeable


@given(st.lists(st.text(st.characters(exclude_categories=()))), st.lists(st.integers(0, 300)))
def test_any_text_comes_back(texts: list[str], places: list[int]) -> None:
    dense = np.zeros(301)
    dense[places] = 1.5
    with tempfile.TemporaryDirectory() as folder:
        write_container(f"{folder}/c", Contents("k", {}, {"dense": dense}, {"texts": texts}))
        found = read_container(f"{folder}/c")
    assert found.texts["texts"] == texts
    assert np.array_equal(found.arrays["dense"], dense)


def test_numpy_opens_it(tmp_path: Path) -> None:
    with np.load(written(tmp_path), allow_pickle=False) as found:
        assert json.loads(found["header.json"])["format"] == "maxmargin-model"
        assert np.array_equal(found["ints"], ARRAYS["ints"])
        assert np.array_equal(np.cumsum(found["sparse.gaps"]), np.flatnonzero(ARRAYS["sparse"]))


def test_equal_models_are_equal_files(tmp_path: Path) -> None:
    assert written(tmp_path).read_bytes() == written(tmp_path).read_bytes()


def test_mostly_zeros_take_little_room(tmp_path: Path) -> None:
    weights = np.zeros(2_000_000)
    weights[::1000] = np.random.default_rng(0).normal(size=2000)
    write_container(tmp_path / "c", Contents("k", {}, {"w": weights}, {}))
    assert os.path.getsize(tmp_path / "c") < 10 * 2000
    assert np.array_equal(read_container(tmp_path / "c").arrays["w"], weights)


@pytest.mark.parametrize(
    ("arrays", "texts"),
    [
        ({"Name": np.zeros(1)}, {}),
        ({"../x": np.zeros(1)}, {}),
        ({"a": np.zeros(1)}, {"a": []}),
        ({"a": np.zeros(1, np.longdouble)}, {}),
        ({"a": np.zeros(1, complex)}, {}),
        ({"a": np.array(["x"])}, {}),
        ({"a": np.array([None])}, {}),
    ],
)
def test_what_the_format_does_not_know_is_not_written(arrays: Any, texts: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"names in a container|holds"):
        write_container(tmp_path / "c", Contents("k", {}, arrays, texts))
    assert os.listdir(tmp_path) == []


# --- files from strangers


def refused(path: Path, match: str) -> None:
    """The file is refused in one line that names it."""
    with pytest.raises(ModelFileError, match=match) as caught:
        load_model(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [b"", b"PK", b"hello", b"\x93NUMPY\x01\x00", pickle.dumps({"a": 1}), b"PK\x03\x04" + bytes(200)],
    ids=["empty", "two bytes", "text", "npy", "pickle", "beginning of a zip"],
)
def test_other_files_are_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.model"
    path.write_bytes(data)
    refused(path, "not a model file|damaged")


def test_other_archives_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", a=np.zeros(3))
    refused(tmp_path / "x.npz", "not a model file$")
    with zipfile.ZipFile(tmp_path / "y.zip", "w") as archive:
        archive.writestr("header.json", '{"format": "something else"}')
    refused(tmp_path / "y.zip", "not a model file$")


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "none.model")
    with pytest.raises(IsADirectoryError):
        load_model(tmp_path)


def test_a_cut_off_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.model"
    save_model(sequence(), path)
    data = path.read_bytes()
    for size in range(0, len(data), 7):
        path.write_bytes(data[:size])
        refused(path, "damaged|not a model file")


def test_no_flipped_bit_goes_through(tmp_path: Path) -> None:
    """A bit flipped anywhere is noticed, or does not matter (dates and permissions in the archive)."""
    path = tmp_path / "m.model"
    model = sequence()
    save_model(model, path)
    data = bytearray(path.read_bytes())
    noticed = 0
    for place in range(0, len(data), 3):
        data[place] ^= 1 << place % 8
        path.write_bytes(data)
        data[place] ^= 1 << place % 8
        try:
            loaded = load_model(path)
        except ModelFileError:
            noticed += 1
        else:
            assert np.array_equal(loaded.coef_, model.coef_)
            assert loaded.certificate_ == model.certificate_
    assert noticed > 0.7 * len(data) / 3


def rewritten(path: Path, change: Callable[[dict[str, bytes]], Any], compression: int = zipfile.ZIP_DEFLATED) -> Path:
    """The archive with members changed, its checksums right."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def npy(array: Any, **options: Any) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asanyarray(array), **options)
    return out.getvalue()


def claiming(shape: tuple[int, ...], descr: str = "<f8") -> bytes:
    """An array whose header claims a shape, with 16 bytes of data."""
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": descr, "fortran_order": False, "shape": shape})
    return out.getvalue() + bytes(16)


HOSTILE: dict[str, tuple[str, Any]] = {
    "8 TiB": ("ints.npy", claiming((1 << 40,))),
    "more digits": ("ints.npy", claiming((10**17, 10**17, 10**17))),
    "negative": ("ints.npy", claiming((2,)).replace(b"(2,)", b"(-2,)")),
    "objects": ("ints.npy", claiming((1,), "|O") + pickle.dumps({"a": 1})),
    "text": ("ints.npy", npy(np.array(["abcd"]))),
    "structured": ("ints.npy", npy(np.zeros(2, "i4,i4"))),
    "Fortran order": ("ints.npy", npy(np.asfortranarray(np.ones((3, 4))))),
    "version 2": ("ints.npy", npy(np.ones(3), version=(2, 0))),
    "an expression": ("ints.npy", claiming((2,)).replace(b"(2,)", b"f()2")),
    "no header": ("ints.npy", b"\x93NUMPY\x01\x00\xff\xff"),
    "two": ("flags.npy", npy(np.array([0, 2], np.uint8)).replace(b"|u1", b"|b1")),
    "places beyond": ("sparse.gaps.npy", npy(np.array([3999] * 6, np.uint64))),
    "places that wrap": ("sparse.gaps.npy", npy(np.array([2**63, 2**63, 1, 1, 1, 1], np.uint64))),
    "places twice": ("sparse.gaps.npy", npy(np.array([3, 0, 1, 1, 1, 1], np.uint8))),
    "negative places": ("sparse.gaps.npy", npy(np.array([3, -1, 1, 1, 1, 1], np.int8))),
    "fewer places": ("sparse.gaps.npy", npy(np.array([3], np.uint8))),
    "values of ints": ("sparse.values.npy", npy(np.arange(6))),
    "texts too long": ("names.lengths.npy", npy(np.array([200, 1, 1, 1], np.uint8))),
    "texts that wrap": ("names.lengths.npy", npy(np.array([2**63, 2**63, 4, 9], np.uint64))),
    "half a letter": ("names.lengths.npy", npy(np.array([2, 0, 4, 3], np.uint8))),
    "no header.json": ("header.json", b"{"),
    "deep": ("header.json", b"[" * 100_000),
    "NaN": ("header.json", b'{"format": NaN}'),
    "a list": ("header.json", b"[]"),
    "a name outside": ("../../evil.npy", npy(np.ones(3))),
    "a stranger": ("extra.npy", npy(np.ones(3))),
    "no array": ("ints.txt", b"hello"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_members_are_refused(what: str, tmp_path: Path) -> None:
    name, data = HOSTILE[what]
    path = rewritten(written(tmp_path), lambda members: members.update({name: data}))
    with pytest.raises(ModelFileError, match=r"c\.model: (damaged|not a model file|refused|too large)"):
        read_container(path)


HEADERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no version": lambda header: header.pop("version"),
    "version in words": lambda header: header.update(version="1"),
    "version true": lambda header: header.update(version=True),
    "version 0": lambda header: header.update(version=0),
    "no values": lambda header: header.pop("values"),
    "no kind": lambda header: header.update(kind=3),
    "arrays are no list": lambda header: header.update(arrays={"a": 1}),
    "a missing array": lambda header: header["arrays"].append("more"),
    "an array twice": lambda header: header["arrays"].append("ints"),
    "array names are no text": lambda header: header["arrays"].append(["a"]),
    "a shape is negative": lambda header: header["sparse"].update(sparse=[-40, -100]),
    "a shape is no list": lambda header: header["sparse"].update(sparse=4000),
    "a shape is huge": lambda header: header["sparse"].update(sparse=[1 << 40]),
    "a shape has many dimensions": lambda header: header["sparse"].update(sparse=[40, 100] + [1] * 100),
    "a shape is too small": lambda header: header["sparse"].update(sparse=[4, 100]),
    "an empty shape is huge": lambda header: header["sparse"].update(zeros=[0, 10**30]),
}


@pytest.mark.parametrize("what", HEADERS)
def test_hostile_headers_are_refused(what: str, tmp_path: Path) -> None:
    def change(members: dict[str, bytes]) -> None:
        header = json.loads(members["header.json"])
        HEADERS[what](header)
        members["header.json"] = json.dumps(header).encode()

    path = rewritten(written(tmp_path), change)
    with pytest.raises(ModelFileError, match=r"c\.model: (damaged|refused)"):
        read_container(path)


def test_a_newer_version_is_named(tmp_path: Path) -> None:
    def change(members: dict[str, bytes]) -> None:
        header = {"format": "maxmargin-model", "version": 2, "library": "7.1.0", "new": "fields"}
        members["header.json"] = json.dumps(header).encode()

    path = rewritten(written(tmp_path), change)
    refused(path, r"written by a newer version \(maxmargin 7\.1\.0, format 2; this is .*update maxmargin")


def test_other_compressions_and_encryption_are_refused(tmp_path: Path) -> None:
    path = rewritten(written(tmp_path), lambda members: None, zipfile.ZIP_LZMA)
    refused(path, "encrypted or compressed")
    data = bytearray(written(tmp_path).read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    refused(path, "encrypted or compressed")


def test_members_of_one_name_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("ints.npy", npy(np.ones(3)))
    refused(path, "members of one name")


BOMBS: dict[str, Callable[[dict[str, bytes], dict[str, Any]], Any]] = {
    "an array": lambda members, header: members.update({"ints.npy": npy(np.zeros(1 << 22))}),
    "a sparse array": lambda members, header: header["sparse"].update(sparse=[1 << 22]),
    "texts": lambda members, header: members.update({"none.lengths.npy": npy(np.zeros(1 << 19, np.uint8))}),
    "the header": lambda members, header: header["values"].update(a=[[]] * (1 << 18)),
}


@pytest.mark.parametrize("what", BOMBS)
def test_a_small_file_does_not_grow_large(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that would take much more memory than their size warrants are refused before the memory is taken."""
    path = written(tmp_path)

    def change(members: dict[str, bytes]) -> None:
        header = json.loads(members["header.json"])
        BOMBS[what](members, header)
        members["header.json"] = json.dumps(header).encode()

    rewritten(path, change)
    assert os.path.getsize(path) < 60_000
    assert read_container(path)  # the true limit is not that strict
    monkeypatch.setattr(container, "_ROOM", 1 << 20)
    tracemalloc.start()
    try:
        refused(path, "refused: its contents would take .* bytes")
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def metadata_of(*values: Any) -> Callable[[Contents], Any]:
    """Metadata that hold these values, as they stand in the file."""
    return lambda contents: contents.values.update(metadata={"dict": [["x", list(values)]]})


MENTIONED_TWICE: dict[str, Any] = {
    "integers": [{"integers": "many"}] * 2,
    "an array": [{"array": "many"}] * 2,
    "an array and integers": [{"array": "many"}, {"integers": "many"}],
    "texts": [{"texts": "names"}] * 2,
    "an array of text": [{"text_array": {"texts": "names"}}] * 2,
    "an array of objects": [{"object_array": {"texts": "names"}}] * 2,
    "a tuple": [{"tuple": {"texts": "names"}}] * 2,
    "deep inside": [{"tuple": [{"dict": [["a", {"integers": "many"}], ["b", {"integers": "many"}]]}]}],
}


@pytest.mark.parametrize("what", MENTIONED_TWICE)
def test_a_name_mentioned_twice_is_refused(what: str, tmp_path: Path) -> None:
    """A mention can make a new list or array: thousands in a header of some kilobytes would take gigabytes."""

    def change(contents: Contents) -> None:
        contents.arrays["many"] = np.arange(2000, dtype=np.int16)
        contents.texts["names"] = ["a", "b"]
        metadata_of(*MENTIONED_TWICE[what])(contents)

    refused(tampered(multiclass([1, 2, 3, 1, 2, 1]), tmp_path / "m.model", change), "is mentioned twice")


def test_what_stands_in_two_places_of_a_model_comes_back_in_both(tmp_path: Path) -> None:
    names, numbers, array = [f"n{i}" for i in range(100)], list(range(100)), np.arange(3)
    model = sequence()
    save_model(model, tmp_path / "m", metadata={"a": [names, numbers, array], "b": (names, numbers, array)})
    found = load_with_metadata(tmp_path / "m")[1]
    assert same_values(found["a"], [names, numbers, array])
    assert same_values(found["b"], (names, numbers, array))


FILLING: dict[str, tuple[Any, str]] = {
    "integers": ([{"integers": "many"}], "would take more memory than a file of its size may fill"),
    "arrays of text": (
        [{"text_array": {"texts": "one"}}, {"text_array": {"texts": "other"}}],
        "would take more memory than a file of its size may fill",
    ),
    "history": ([], "would take more memory than a file of its size may fill"),
    "wide text": ([{"texts": "wide"}], "refused: its contents would take"),
    "arrays of reals as integers": ([{"integers": "reals"}], "'reals' is no list of integers"),
    "rows as integers": ([{"integers": "rows"}], "'rows' is no list of integers"),
}


@pytest.mark.parametrize("what", FILLING)
def test_what_is_made_of_the_contents_is_counted_too(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list of integers takes up to 40 times what its array does, an array of text up to its longest text a text."""

    def change(contents: Contents) -> None:
        if what == "integers":
            contents.arrays["many"] = np.zeros(1 << 19, np.uint8)
        if what == "arrays of text":  # either of them alone would do
            contents.texts.update({name: ["a" * 200, *["b"] * 1500] for name in ("one", "other")})
        if what == "history":
            contents.arrays["history"] = np.zeros((1 << 14, 5))
        if what == "wide text":
            contents.texts["wide"] = ["\U0001f600" + "a" * (1 << 19)]
        if "as integers" in what:
            contents.arrays.update(reals=np.zeros(20), rows=np.zeros((20, 1), np.int8))
        metadata_of(*FILLING[what][0])(contents)

    path = tampered(sequence(), tmp_path / "m.model", change)
    assert os.path.getsize(path) < 20_000
    monkeypatch.setattr(container, "_ROOM", 1 << 20)
    tracemalloc.start()
    try:
        refused(path, FILLING[what][1])
        assert tracemalloc.get_traced_memory()[1] < 6 << 20
    finally:
        tracemalloc.stop()


def test_whatever_is_saved_can_be_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists that compress well, and take much memory: such a file is written plainly, or not at all."""
    monkeypatch.setattr(container, "_ROOM", 1 << 20)
    save_model(sequence(), tmp_path / "m", metadata={"x": [7] * 100_000})
    assert load_with_metadata(tmp_path / "m")[1] == {"x": [7] * 100_000}
    before = (tmp_path / "m").read_bytes()
    with pytest.raises(ModelFileError, match=r"m: not written: .*would take .* bytes"):
        save_model(sequence(), tmp_path / "m", metadata={"x": np.array(["a" * 1000, *["b"] * 9000])})
    assert (tmp_path / "m").read_bytes() == before


def test_a_bomb_of_gigabytes_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path)
    with (
        zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("bomb.npy", "w", force_zip64=True) as member,
    ):
        for _ in range(600):
            member.write(bytes(1 << 20))
    refused(path, "refused: its contents would take")


def test_whatever_is_written_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where compression would make a file look like a trap, it is written plainly."""
    monkeypatch.setattr(container, "_ROOM", 1 << 12)
    weights, names = np.zeros(1 << 18), ["a"] * 20_000
    write_container(tmp_path / "c", Contents("k", {}, {"w": weights}, {"names": names}))
    assert os.path.getsize(tmp_path / "c") > weights.nbytes
    found = read_container(tmp_path / "c")
    assert np.array_equal(found.arrays["w"], weights)
    assert found.texts["names"] == names


# --- models whose parts contradict each other: compiled code must never see them


COMMON: dict[str, Callable[[Contents], Any]] = {
    "no certificate": lambda contents: contents.values.pop("certificate"),
    "a certificate of text": lambda contents: contents.values.update(certificate={"dict": [["primal", "x"]]}),
    "an unknown status": lambda contents: [
        pair.__setitem__(1, "PERFECT") for pair in contents.values["certificate"]["dict"] if pair[0] == "status"
    ],
    "an unknown parameter": lambda contents: contents.values["parameters"].update(gamma=1),
    "a wrong parameter": lambda contents: contents.values["parameters"].update(C=-1),
    "a method as parameter": lambda contents: contents.values["parameters"].update(fit=1),
    "too many threads": lambda contents: contents.values["parameters"].update(n_jobs=10**9),
    "parameters are no mapping": lambda contents: contents.values.update(parameters=[1]),
    "no history": lambda contents: contents.arrays.pop("history"),
    "a history of other shape": set_array("history", np.zeros((3, 4))),
    "weights too short": set_array("coef", lambda w: w[:-1]),
    "weights too long": set_array("coef", lambda w: np.concatenate([w, w])),
    "weights of one more dimension": set_array("coef", lambda w: w[None]),
    "weights are not finite": set_array("coef", lambda w: np.where(np.arange(w.size).reshape(w.shape) == 1, np.nan, w)),
    "weights are elsewhere": set_part("coef", {"array": "nothing"}),
    "weights are text": set_part("coef", ["a", "b"]),
    "weights are missing": lambda contents: contents.values["parts"].pop("coef"),
    "an unknown value": set_part("classes", {"class": "os.system"}),
    "two values": set_part("classes", {"tuple": [], "set": []}),
    "a deep value": set_part("classes", functools.reduce(lambda inner, _: [inner], range(900), [])),
    "metadata are no mapping": lambda contents: contents.values.update(metadata=[1]),
}
OF_CLASSES = {
    **COMMON,
    "one class more": set_part("classes", {"array": "coef"}),
    "a class twice": set_array("classes", np.zeros(3, np.int64)),
    "one class": set_array("classes", np.zeros(1, np.int64)),
    "intercepts too short": set_array("intercept", np.zeros(2)),
    "names too few": set_part("feature_names", ["a"]),
    "text that takes gigabytes": set_part("classes", {"text_array": ["x" * 70_000] + [""] * 5000}),
}
OF_TAGS = {
    **COMMON,
    "a label more": set_part("classes", ["B-DET", "B-NOUN", "I-DET", "O", "P"]),
    "labels in another order": set_part("classes", ["O", "B-NOUN", "I-DET", "B-DET"]),
    "a label twice": set_part("classes", ["B-DET", "B-DET", "I-DET", "O"]),
    "no labels": set_part("classes", []),
    "labels that are lists": set_part("classes", [["a"], ["b"], ["c"], ["d"]]),
    "labels are a number": set_part("classes", 4),
    "an attribute more": set_part("attributes", ["a"]),
    "an attribute twice": set_part("attributes", ["a", "a", "b", "c", "d", "e", "f"]),
    "attributes are null": set_part("attributes", None),
    "negative dense": set_part("n_dense", -1),
    "a dense feature more": set_part("n_dense", 1),
    "costs of another shape": lambda contents: contents.values["parameters"].update(loss=[[0, 1], [1, 0]]),
    "forbidden nonsense": lambda contents: contents.values["parameters"].update(forbidden=[[1, 2, 3]]),
    "weights of nonsense": lambda contents: contents.values["parameters"].update(label_weight=3),
}


@pytest.mark.parametrize("what", OF_CLASSES)
def test_contradictory_classes_are_refused(what: str, tmp_path: Path) -> None:
    refused(
        tampered(multiclass([1, 2, 3, 1, 2, 1]), tmp_path / "m.model", OF_CLASSES[what]), "do not fit together|damaged"
    )


@pytest.mark.parametrize("what", OF_TAGS)
def test_contradictory_tags_are_refused(what: str, tmp_path: Path) -> None:
    refused(tampered(sequence(), tmp_path / "m.model", OF_TAGS[what]), "do not fit together|damaged")


def test_unknown_kinds_are_named(tmp_path: Path) -> None:
    write_container(tmp_path / "m.model", Contents("forest", {}, {}, {}))
    refused(tmp_path / "m.model", "holds a model of the kind 'forest', which is not known here")


LONG = "x" * 60_000


@pytest.mark.parametrize(
    "change",
    [
        set_part("callback", LONG, "parameters"),
        set_part("C", LONG, "parameters"),
        set_part(LONG, 1, "parameters"),
        set_part("classes", {LONG: []}),
        set_part("classes", {"array": LONG}),
    ],
)
def test_what_is_said_of_long_values_is_short(change: Callable[[Contents], Any], tmp_path: Path) -> None:
    path = tampered(multiclass([0, 1, 2] * 2), tmp_path / "m", change)
    with pytest.raises(ModelFileError) as caught:
        load_model(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert len(str(caught.value)) < 400 + len(str(path))


@pytest.mark.parametrize("name", [LONG, f"{LONG}.npy", "\x01" * 60_000])
def test_what_is_said_of_long_names_of_members_is_short(name: str, tmp_path: Path) -> None:
    save_model(multiclass([0, 1, 2] * 2), tmp_path / "m")
    with zipfile.ZipFile(tmp_path / "m", "a") as archive:
        array = io.BytesIO()
        np.save(array, np.zeros(3))
        archive.writestr(name, array.getvalue())
    with pytest.raises(ModelFileError, match="m: damaged: the (member|part) '.*' is no") as caught:
        load_model(tmp_path / "m")
    assert len(str(caught.value)) < 400 + len(str(tmp_path))


def test_a_long_callback_that_is_none_is_shown_in_part() -> None:
    with pytest.raises(ValueError, match="^callback must be callable, not 'x{79}$"):
        multiclass([0, 1, 2] * 2, callback=LONG)
