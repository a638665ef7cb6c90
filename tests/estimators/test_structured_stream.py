"""Structures of both kinds learn from a stream: the same steps, whole or not at all, and what is refused."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maxmargin import MulticlassSVM, StructuredSVM, load_model, save_model
from maxmargin.errors import ModelFileError, RuledOutError, StructureError
from maxmargin.structures.multiclass import Multiclass
from maxmargin.structures.plain import PlainStructure


class Classes(PlainStructure):
    """Three classes, in plain Python; it fails at inputs that hold a NaN, and Ctrl-C comes at infinite ones."""

    def joint_features(self, x: Any, y: int) -> Any:
        return np.kron(x, np.eye(3)[y])

    def loss(self, y_true: int, y: int) -> float:
        return float(y != y_true)

    def argmax(self, x: Any, w: Any, y_true: int | None = None) -> int:
        if np.any(w):  # not at the look at the size of the losses
            if x[0] == 1e9:
                raise ArithmeticError("of the structure's own")
            if x[0] == 2e9:
                raise KeyboardInterrupt
        scores = w.reshape(-1, 3).T @ x
        return int((scores + (0.0 if y_true is None else 1.0 - np.eye(3)[y_true])).argmax())


STRUCTURES: list[Any] = [Classes(), Multiclass(3)]


def rows(n: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, 4)) + 1.5 * np.eye(4)[y], y


def given(structure: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """As the structure takes them."""
    return (X, y) if isinstance(structure, Multiclass) else (list(X), y.tolist())


def learn(structure: Any, X: Any, y: Any, pieces: int = 1, weight: Any = None, C: float = 1.0) -> Any:
    model = StructuredSVM(structure, C=C)
    for some in np.array_split(np.arange(len(y)), pieces):
        model.partial_fit(*given(structure, X[some], y[some]), None if weight is None else weight[some])
    return model


@pytest.mark.parametrize("structure", STRUCTURES, ids=["plain", "compiled"])
def test_it_is_the_stream_of_the_machine_for_several_classes(structure: Any) -> None:
    X, y = rows(300)
    weight = np.arange(300) % 3 * 0.7
    exact = MulticlassSVM(fit_intercept=False).partial_fit(X, y, [0, 1, 2], weight)
    model = learn(structure, X, y, 3, weight)
    np.testing.assert_allclose(model.coef_.reshape(4, 3), exact.coef_.T, rtol=1e-9)
    assert model.n_samples_seen_ == 200
    assert (model.solver_, model.n_iter_) == ("subgradient", 1)
    assert model.solver_reason_ == "partial_fit sees each example once"


@pytest.mark.parametrize("structure", STRUCTURES, ids=["plain", "compiled"])
def test_the_pieces_make_no_difference_at_all(structure: Any) -> None:
    X, y = rows(200)
    whole = learn(structure, X, y, C=1e3)
    for pieces in (3, 200):
        np.testing.assert_array_equal(learn(structure, X, y, pieces, C=1e3).coef_, whole.coef_)
    weight = np.arange(200) % 2
    np.testing.assert_array_equal(learn(structure, X, y, 2, weight).coef_, learn(structure, X[1::2], y[1::2], 1).coef_)


@pytest.mark.parametrize("structure", STRUCTURES, ids=["plain", "compiled"])
def test_a_stream_goes_on_after_a_pickle_and_a_file_and_a_fit_forgets_it(structure: Any, tmp_path: Path) -> None:
    X, y = rows(200)
    model = StructuredSVM(structure, random_state=0).fit(*given(structure, X, y))
    before = model.coef_.copy()
    model.partial_fit(*given(structure, X[:80], y[:80]))
    assert not hasattr(model, "certificate_")
    assert not hasattr(model, "history_")
    save_model(model, tmp_path / "model")
    for other in (pickle.loads(pickle.dumps(model)), load_model(tmp_path / "model", structure=structure)):
        other.partial_fit(*given(structure, X[80:], y[80:]))
        np.testing.assert_array_equal(other.coef_, learn(structure, X, y).coef_)
        assert other.n_samples_seen_ == 200
    model.fit(*given(structure, X, y))
    np.testing.assert_array_equal(model.coef_, before)
    for name in ("n_samples_seen_", "_streams", "solver_reason_"):
        assert not hasattr(model, name)


def test_what_fails_in_the_middle_of_a_piece_changes_nothing() -> None:
    X, y = rows(90)
    X[70, 0] = 1e9
    model = learn(Classes(), X[:50], y[:50])
    before = dict(vars(model))
    state = pickle.dumps(model)
    with pytest.raises(ArithmeticError, match="of the structure's own") as raised:
        model.partial_fit(list(X[50:]), y[50:].tolist())
    assert "example 20" in raised.value.__notes__[0]
    assert vars(model) == before
    assert pickle.dumps(model) == state  # the stream inside too
    new = StructuredSVM(Classes())
    with pytest.raises(ArithmeticError):
        new.partial_fit(list(X), y.tolist())
    assert not hasattr(new, "coef_")


def test_after_an_interrupt_the_model_is_that_of_the_examples_before() -> None:
    X, y = rows(90)
    X[70, 0] = 2e9
    model = learn(Classes(), X[:50], y[:50])
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(list(X[50:]), y[50:].tolist())
    assert model.n_samples_seen_ == 70
    np.testing.assert_array_equal(model.coef_, learn(Classes(), X[:70], y[:70]).coef_)
    model.partial_fit(list(X[71:]), y[71:].tolist())
    rest = np.arange(90) != 70
    np.testing.assert_array_equal(model.coef_, learn(Classes(), X[rest], y[rest]).coef_)


def test_what_a_stream_refuses() -> None:
    X, y = rows(30)
    with pytest.raises(RuledOutError, match="StructuredSVM: partial_fit goes by stochastic subgradients: solver must"):
        StructuredSVM(Classes(), solver="frank_wolfe").partial_fit(list(X), y.tolist())
    with pytest.raises(StructureError, match="Classes is a class; give an instance"):
        StructuredSVM(Classes).partial_fit(list(X), y.tolist())
    model = learn(Classes(), X, y)
    before = dict(vars(model))
    for arguments, message in (
        ((list(X[:, :3]), y.tolist()), "Classes has 9 weights for this piece and had 12 when this stream began"),
        (([], []), "X is empty: there is nothing to learn from"),
        ((list(X), y[:5].tolist()), "X has 30 examples and y has 5"),
        ((list(X), y.tolist(), np.zeros(30)), "sample_weight is zero for every example"),
        ((list(X), y.tolist(), np.full(30, 1e300)), "too large to compute with"),
        ((list(np.where(X > 1, np.nan, X)), y.tolist()), "NaN or infinity"),
    ):
        with pytest.raises(ValueError, match=message) as refused:
            model.partial_fit(*arguments)
        assert "\n" not in str(refused.value)
        assert vars(model) == before
    with pytest.raises(ValueError, match="StructuredSVM: structure is .* and was .* when this stream began"):
        model.set_params(structure=Classes()).partial_fit(list(X), y.tolist())


def test_a_file_that_no_stream_has_written_is_refused(tmp_path: Path) -> None:
    from model_file_changes import set_array, tampered

    model = learn(Multiclass(3), *rows(30))
    for name, shape in (("last", (1, 11)), ("mean", (2, 12)), ("figures", (1, 7))):
        path = tampered(model, tmp_path / "model", set_array(f"stream_{name}", np.ones(shape)))
        with pytest.raises(ModelFileError, match=f"do not fit together: ValueError {name} of shape"):
            load_model(path, structure=Multiclass(3))
    path = tampered(model, tmp_path / "model", set_array("stream_figures", np.append(np.ones(11), 0.0)[None]))
    with pytest.raises(ModelFileError, match="factors of weights that no steps have"):
        load_model(path, structure=Multiclass(3))
