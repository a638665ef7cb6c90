"""Predictions of one sentence: what belongs to the model is made once, and what the model becomes is seen at once."""

import pickle
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from maxmargin import SequenceSVM, _threads
from maxmargin._compiled import Kernel
from maxmargin.structures.attributes import AttributeIndex, _has_repeats, _leave_out_unknown, encode_tokens

RNG = np.random.default_rng(0)
X = [[[f"w={RNG.integers(40)}", f"s={RNG.integers(5)}"] for _ in range(RNG.integers(1, 9))] for _ in range(40)]
Y = [["ABC"[int(token[1][2:]) % 3] for token in sentence] for sentence in X]
NEW = [[["w=1", "never seen"], ["s=2", "w=7", "w=7"], ["nothing known"]], [], [["s=1"]]]


def fitted(**parameters: Any) -> SequenceSVM:
    return SequenceSVM(random_state=0, tol=0.1, **parameters).fit(X, Y)


def one_by_one(model: SequenceSVM) -> list[list[Any]]:
    return [model.predict([sentence])[0] for sentence in X + NEW]


def test_one_by_one_as_all_at_once() -> None:
    model = fitted()
    assert one_by_one(model) == model.predict(X + NEW)


def test_no_look_at_types_and_no_thread_for_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    model = fitted(n_jobs=2)
    expected = model.predict(X[:1])

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("the long way")

    monkeypatch.setattr(Kernel, "__call__", refuse)
    monkeypatch.setattr(_threads, "ThreadPoolExecutor", refuse)
    assert model.predict(X[:1]) == expected


def test_what_is_allowed_is_laid_out_once() -> None:
    kept = [i for i, labels in enumerate(Y) if labels[0] != "A"]
    model = SequenceSVM(forbidden=[(None, "A")]).fit([X[i] for i in kept], [Y[i] for i in kept])
    tables = [model._structure_.encode(model._tokens([sentence])).pack.table for sentence in X[:2]]
    assert tables[0] is tables[1]
    assert len(tables[0]) == 3 * 5
    assert not tables[0].flags.writeable


def test_changes_of_the_weights_are_seen() -> None:
    model = fitted()
    model.predict(X[:1])
    changed = clone(model).fit(X, [["ABC"[("ABC".index(label) + 1) % 3] for label in labels] for labels in Y])
    expected = one_by_one(changed)
    assert expected != one_by_one(model)
    given = model.coef_
    model.coef_ = changed.coef_
    assert one_by_one(model) == expected
    model.coef_ = given
    given[:] = changed.coef_
    assert one_by_one(model) == expected


def test_weights_of_another_type_are_refused_as_ever() -> None:
    model = fitted()
    model.coef_ = model.coef_.astype(np.float32)
    with pytest.raises(TypeError, match="No matching definition"):
        model.predict(X[:1])


def test_what_is_forbidden_is_seen() -> None:
    model = fitted()
    expected = one_by_one(model)
    assert any(labels[0] == "A" for labels in expected if labels)
    for sentence in X[:5]:
        assert model.predict([sentence], forbidden=[(None, "A")])[0][0] != "A"
    assert one_by_one(model) == expected
    again = pickle.loads(pickle.dumps(model))
    assert one_by_one(again) == expected
    kept = [i for i, labels in enumerate(Y) if labels[0] != "A"]
    model.set_params(forbidden=[(None, "A")]).fit([X[i] for i in kept], [Y[i] for i in kept])
    assert not any(labels[0] == "A" for labels in one_by_one(model) if labels)


def test_threads_may_predict_at_once() -> None:
    model = fitted()
    expected = one_by_one(model)
    with ThreadPoolExecutor(4) as pool:
        assert all(found == expected for found in pool.map(lambda _: one_by_one(model), range(12)))


def test_not_fitted() -> None:
    with pytest.raises(NotFittedError, match="SequenceSVM instance is not fitted yet"):
        SequenceSVM().predict(X)


@pytest.mark.parametrize("n_columns", [1, 5, 3000, 2**31 - 1])
def test_repeats_in_rows(n_columns: int) -> None:
    rng = np.random.default_rng(n_columns)
    for _ in range(200):
        lengths = rng.integers(0, 5, 4)
        indices = rng.integers(0, n_columns, lengths.sum()).astype(np.int32)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        rows = [indices[lo:hi] for lo, hi in zip(indptr, indptr[1:], strict=False)]
        assert _has_repeats(indptr, indices) == any(len(np.unique(row)) < len(row) for row in rows)
    for step in (1, 1024, 2**16):
        spread = (np.arange(2**15) * step % 2**31).astype(np.int32)
        assert not _has_repeats(np.array([0, len(spread)]), spread)


@pytest.mark.parametrize("weighted", [False, True])
def test_unknown_attributes_are_left_out(weighted: bool) -> None:
    numbers = RNG.integers(-1, 3, 50).astype(np.int32)
    indptr = np.array([0, 0, 20, 20, 41, 50])
    values = RNG.normal(size=50 if weighted else 0)
    known = numbers >= 0
    expected = numbers[known], np.concatenate([[0], np.cumsum(known)])[indptr], values[known] if weighted else values
    n = _leave_out_unknown(indptr, numbers, values)
    np.testing.assert_array_equal(numbers[:n], expected[0])
    np.testing.assert_array_equal(indptr, expected[1])
    np.testing.assert_array_equal(values[:n], expected[2])


def test_encoding_makes_nothing_as_long_as_the_model() -> None:
    index = AttributeIndex(range(300_000))
    sentence = [[{299_999, 3}, {5}]]
    encode_tokens(sentence, index, grow=False, n_dense=0)
    tracemalloc.start()
    try:
        encode_tokens(sentence, index, grow=False, n_dense=0)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
