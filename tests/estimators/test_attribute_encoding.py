"""Every form in which tokens may be given, and what is said about the others."""

from __future__ import annotations

import tracemalloc
from collections import OrderedDict
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from maxmargin import SequenceSVM
from maxmargin.errors import DataError
from maxmargin.hmm import GenerativeHMM
from maxmargin.structures.attributes import AttributeIndex, Tokens, encode_tokens, least_weight


def encoded(X: Any, names: Any = None, n_dense: int | None = None) -> tuple[Tokens, list[Any]]:
    index = AttributeIndex() if names is None else AttributeIndex(names)
    tokens = encode_tokens(X, index, grow=names is None, n_dense=n_dense)
    check(tokens)
    return tokens, index.names()


def check(tokens: Tokens) -> None:
    """Shapes, types, and no attribute twice in a token."""
    n = int(tokens.start[-1])
    assert tokens.start.dtype == np.int64
    if tokens.indptr is not None:
        assert tokens.indices is not None
        assert (tokens.indptr.dtype, tokens.indices.dtype) == (np.int64, np.int32)
        assert len(tokens.indptr) == n + 1
        assert tokens.indptr[-1] == len(tokens.indices)
        assert ((tokens.indices >= 0) & (tokens.indices < tokens.n_attributes)).all()
        for lo, hi in zip(tokens.indptr, tokens.indptr[1:]):
            assert len(set(tokens.indices[lo:hi].tolist())) == hi - lo
        assert tokens.values is None or (
            tokens.values.dtype == np.float64 and len(tokens.values) == len(tokens.indices)
        )
    if tokens.dense is not None:
        assert tokens.dense.dtype == np.float64
        assert len(tokens.dense) == n


def table(tokens: Tokens) -> Any:
    """Attributes as a matrix."""
    data = np.ones(len(tokens.indices)) if tokens.values is None else tokens.values  # type: ignore[arg-type]
    shape = (int(tokens.start[-1]), tokens.n_attributes)
    return sp.csr_array((data, tokens.indices, tokens.indptr), shape=shape).toarray()


POINTING_OUTSIDE = sp.csr_array((np.ones(2), np.array([0, 1]), np.array([0, 1, 2])), shape=(2, 3))
POINTING_OUTSIDE.indices[1] = 77
EXPECTED = np.array([[1.0, 1, 0], [0, 1, 1], [0, 0, 0], [1, 0, 0]])
NAMES = [[["a", "b"], ["b", "c"], []], [["a"]]]


@pytest.mark.parametrize(
    "X",
    [
        NAMES,
        [[("a", "b"), ("b", "c"), ()], [("a",)]],
        [[dict.fromkeys("ab", 1), dict.fromkeys("bc", 1.0), {}], [{"a": True}]],
        [[OrderedDict(a=1, b=1), MappingProxyType({"b": 1, "c": 1}), {}], [{"a": np.float32(1)}]],
        [[["a", "b"], {"b": 1.0, "c": 1.0}, ()], [{"a"}]],
        tuple(tuple(tuple(token) for token in sequence) for sequence in NAMES),
        [np.array([["a", "b"], ["b", "c"], []], dtype=object), [["a"]]],
        [[np.array(["a", "b"]), np.array(["b", "c"]), []], [np.array(["a"])]],
        [list(map(tuple, sequence)) for sequence in NAMES],
        [[{"a": 1, "b": 1}.keys(), ["b", "c"], []], [["a"]]],
    ],
)
def test_names_in_every_container(X: Any) -> None:
    tokens, names = encoded(X)
    assert names == ["a", "b", "c"]
    assert tokens.start.tolist() == [0, 3, 4]
    assert tokens.values is None
    np.testing.assert_array_equal(table(tokens), EXPECTED)


def test_sets_and_names_of_any_hashable_type() -> None:
    tokens, names = encoded([[{3, 7}, {("x", 1), 3.5}, {None}], [frozenset([7, True])]])
    assert set(names) == {3, 7, ("x", 1), 3.5, None, True}
    assert table(tokens).sum(1).tolist() == [2, 2, 1, 2]


def test_values_of_mappings() -> None:
    tokens, names = encoded([[{"w": "the", "len": 3}, {"len": -0.5, "ok": True}], [{"w": "a", "len": 0}]])
    assert names == ["w=the", "len", "ok", "w=a"]
    np.testing.assert_array_equal(table(tokens), [[1, 3, 0, 0], [0, -0.5, 1, 0], [0, 0, 0, 1]])
    mixed, _ = encoded([[["w=the", "x"], {"w": "the", "x": 2.5}]])
    np.testing.assert_array_equal(table(mixed), [[1, 1], [1, 2.5]])


def test_repeated_names_add_up() -> None:
    tokens, _ = encoded([[["a", "b", "a"], ["b"]], [{"a": 2.0, "b": 1.0}]])
    np.testing.assert_array_equal(table(tokens), [[2, 1], [0, 1], [2, 1]])
    joined, names = encoded([[{"w": "x", "w=x": 2.0}]])
    assert names == ["w=x"]
    np.testing.assert_array_equal(table(joined), [[3]])


def test_unknown_names_are_left_out_in_prediction() -> None:
    tokens, names = encoded([[["new", "b"], ["newer"]], [["c", "new", "new"]]], names="abc")
    assert names == ["a", "b", "c"]
    np.testing.assert_array_equal(table(tokens), [[0, 1, 0], [0, 0, 0], [0, 0, 1]])
    nothing, _ = encoded([[["new"], []], []], names="abc")
    np.testing.assert_array_equal(table(nothing), np.zeros((2, 3)))


DENSE = np.array([[1.0, 2.0], [3.0, 4.0], [-1.0, 0.5]])


@pytest.mark.parametrize(
    "X",
    [
        [DENSE[:2], DENSE[2:]],
        [DENSE[:2].tolist(), DENSE[2:].tolist()],
        [np.asfortranarray(DENSE[:2]), DENSE[2:].astype(np.float32)],
        [list(DENSE[:2]), [tuple(DENSE[2])]],
        [DENSE[:2], np.zeros((0, 2)), [], DENSE[2:]],
        [[[1, 2], [3, 4]], [[-1, 0.5]]],
        np.array([[[1.0, 2.0]], [[3.0, 4.0]], [[-1.0, 0.5]]]),
    ],
)
def test_dense_vectors_in_every_form(X: Any) -> None:
    tokens, names = encoded(X)
    assert (names, tokens.n_attributes, tokens.indptr) == ([], 0, None)
    np.testing.assert_array_equal(tokens.dense, DENSE)  # type: ignore[arg-type]
    assert tokens.start.tolist() == np.concatenate([[0], np.cumsum([len(x) for x in X])]).tolist()


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, bool, np.float32])
def test_dense_vectors_of_every_real_type(dtype: Any) -> None:
    block = np.array([[1, 0], [0, 1]]).astype(dtype)
    np.testing.assert_array_equal(encoded([block])[0].dense, block.astype(float))  # type: ignore[arg-type]


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.coo_array, sp.lil_matrix])
def test_sparse_matrices(form: Any) -> None:
    first, second = np.array([[0, 2.0, 0], [1, 0, 0]]), np.array([[0.0, 0, 3]])
    tokens, names = encoded([form(first), form((0, 3)), form(second)])
    assert names == [0, 1, 2]
    assert tokens.start.tolist() == [0, 2, 2, 3]
    np.testing.assert_array_equal(table(tokens), np.vstack([first, second]))
    again, _ = encoded([form(second)], names=range(3))
    np.testing.assert_array_equal(table(again), second)


def test_sparse_matrices_with_repeated_unsorted_and_wide_entries_are_left_as_they_are() -> None:
    matrix = sp.csr_matrix((np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    tokens, _ = encoded([matrix])
    np.testing.assert_array_equal(table(tokens), [[2, 0, 5]])
    assert matrix.indices.tolist() == [2, 0, 2]
    assert matrix.data.tolist() == [1, 2, 4]


@pytest.mark.parametrize("sparse", [NAMES[0], sp.csr_array(EXPECTED[:3])])
def test_attributes_and_dense_vectors_together(sparse: Any) -> None:
    tokens, _ = encoded([(sparse, DENSE), ([], np.zeros((0, 2)))] if isinstance(sparse, list) else [(sparse, DENSE)])
    np.testing.assert_array_equal(table(tokens), EXPECTED[:3])
    np.testing.assert_array_equal(tokens.dense, DENSE)  # type: ignore[arg-type]


def test_empty_sequences_in_every_form() -> None:
    for X in ([], [[]], [[], []], [np.zeros((0, 2))], [np.zeros(0)], [()]):
        tokens, names = encoded(X)
        assert (names, tokens.start.tolist()) == ([], [0] * (len(X) + 1))
    tokens, _ = encoded([[], np.zeros((0, 0))], names="ab", n_dense=2)
    assert tokens.start.tolist() == [0, 0, 0]
    np.testing.assert_array_equal(table(tokens), np.zeros((0, 2)))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ("abc", "X must be a list of sequences, not a str"),
        ({"a": 1}, "X must be a list of sequences, not a dict"),
        ([["a"], [["b"]]], r"sequence 0, token 0 is a str \('a'\); a token is a collection of attributes"),
        ([[["a"]], "abc"], "sequence 1 is a str; a sequence is a list of tokens"),
        ([[["a"]], {"a": 1}], "sequence 1 is a dict; a sequence is a list of tokens"),
        ([[["a"]], 3], "sequence 1 is a int; a sequence is a list of tokens"),
        ([[["a"]], None], "sequence 1 is a NoneType"),
        ([[["a"], 7]], r"sequence 0, token 1 is a int \(7\)"),
        ([[["a"]], [["a"], None]], "sequence 1, token 1 is a NoneType"),
        ([[["a"]], [["b"], [["c"]]]], r"sequence 1, token 1: attribute \['c'\] cannot be a name"),
        (
            [[{"a": 1}], [{"a": 1}, {"b": None}]],
            "sequence 1, token 1: attribute 'b' has value None; it must be a number",
        ),
        ([[{"a": 1}], [{"a": [1]}]], r"sequence 1, token 0: attribute 'a' has value \[1\]"),
        (
            [[{"a": [1, 2]}, {"a": [3, 4]}], [{"a": [5, 6]}]],
            r"sequence 0, token 0: attribute 'a' has value \[1, 2\].*2-D",
        ),
        ([[{"a": np.array([1.0])}]], r"sequence 0, token 0: attribute 'a' has value array"),
        ([[{"a": 2.0}, {"a": np.array([1.0])}]], r"sequence 0, token 1: attribute 'a' has value array"),
        ([[{"a": b"1.5"}]], "sequence 0, token 0: attribute 'a' has value b'1.5'"),
        ([[{"a": np.timedelta64(3, "D")}]], "sequence 0, token 0: attribute 'a' has value"),
        ([[["a"], [0.5, 2.0]]], "sequence 0, token 1 is a list of numbers among tokens with attributes"),
        ([[["a"], ["b"]], [["c"], (1, 2)]], "sequence 1, token 1 is a list of numbers among tokens with attributes"),
        ([[{"a": 1}], [{"a": 1j}]], "sequence 1, token 0: attribute 'a' has value 1j"),
        ([[["x"], {"a": 1, "b": np.nan}]], "sequence 0, token 1: attribute 'b' has the value nan, which is not finite"),
        ([[{"a": -np.inf}]], "sequence 0, token 0: attribute 'a' has the value -inf"),
        ([[{"a": 10**400}]], "sequence 0, token 0: attribute 'a'"),
        ([[["a"]], DENSE], "some sequences have dense vectors and some have not"),
        ([[["a"]], [["b"]], [[1.0, 2.0]]], "some sequences have dense vectors and some have not"),
        ([DENSE, DENSE[:, :1]], "sequence 1 has rows of 1 values; 2 are expected"),
        ([DENSE, [], DENSE[:, :1]], "sequence 2 has rows of 1 values; 2 are expected"),
        ([DENSE, DENSE[0]], r"sequence 1 is an array of shape \(2,\); it must be 2-D, one row a token"),
        ([DENSE, np.zeros((1, 2, 2))], r"sequence 1 is an array of shape \(1, 2, 2\)"),
        ([DENSE, np.array([[1.0, np.nan]])], "sequence 1, row 0, column 1: value nan is not finite"),
        ([DENSE, np.array([[1j, 0]])], "sequence 1 is an array of complex128; it must hold real numbers"),
        ([np.array([["a", "b"]])], "sequence 0 is an array of <U1; it must hold real numbers"),
        ([[[1.0, 2.0], [1.0]]], "sequence 0: its rows of numbers have different lengths"),
        ([[[1.0, 2.0], ["a", "b"]]], "sequence 0: "),
        ([(NAMES[0], DENSE[:2])], "sequence 0 has 3 tokens with attributes but 2 dense rows"),
        ([(NAMES[1], DENSE[:1]), (NAMES[0], DENSE[:2])], "sequence 1 has 3 tokens with attributes but 2 dense rows"),
        ([(NAMES[1], DENSE[:1]), DENSE[:1]], "some sequences have attributes and some have not"),
        ([sp.csr_array(EXPECTED), [["a"]]], "some sequences are lists of attributes and some are matrices"),
        ([sp.csr_array(EXPECTED), sp.csr_array(EXPECTED[:, :2])], r"different numbers of columns: \[2, 3\]"),
        ([sp.csr_array(EXPECTED), sp.csr_array([[np.inf]])], "columns|not finite"),
        ([sp.csr_array([[np.inf]])], "not finite"),
        (
            [sp.csr_array(EXPECTED), POINTING_OUTSIDE],
            "sequence 1 is a damaged sparse matrix: row 1 has an entry in col",
        ),
        (sp.csr_array(EXPECTED), "X must be a list of sequences, not a csr_array"),
        (iter([[["a"]]]), "X must be a list of sequences, not a list_iterator"),
    ],
)
def test_what_cannot_be_read_is_named(X: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        encoded(X)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("X", "n_dense", "message"),
    [
        ([sp.csr_array(EXPECTED)], 0, "the sparse matrices have 3 columns; the model was fitted with 2"),
        ([DENSE[:, :1]], 2, "sequence 0 has rows of 1 values; 2 are expected"),
        ([[["a"]]], 2, "the sequences have no dense vectors; 2 values a token are expected"),
        ([DENSE], 0, "sequence 0 has rows of 2 values; 0 are expected"),
    ],
)
def test_prediction_refuses_what_the_model_was_not_fitted_with(X: Any, n_dense: int, message: str) -> None:
    with pytest.raises(DataError, match=message):
        encoded(X, names="ab", n_dense=n_dense)


@given(
    st.lists(
        st.lists(
            st.dictionaries(st.sampled_from("abcde"), st.floats(-9, 9).map(lambda x: round(x, 2)), max_size=4),
            max_size=3,
        ),
        max_size=4,
    )
)
def test_random_mappings(X: Any) -> None:
    tokens, names = encoded(X)
    flat = [token for sequence in X for token in sequence]
    assert names == list(dict.fromkeys(name for token in flat for name in token))
    if names:
        np.testing.assert_array_equal(table(tokens), [[token.get(name, 0.0) for name in names] for token in flat])


def test_an_index_keeps_its_order() -> None:
    index = AttributeIndex("cab")
    assert index.numbers(list("bcx"), grow=False).tolist() == [2, 0, -1]
    assert index.numbers(list("bxx"), grow=True).tolist() == [2, 3, 3]
    assert index.names() == ["c", "a", "b", "x"]
    assert index.restricted(np.array([False, True, True, False])).names() == ["a", "b"]
    assert len(index) == 4


def test_an_index_at_rest_keeps_names_and_numbers() -> None:
    index = AttributeIndex("cab")
    index.rest()
    assert (index.names(), len(index)) == (["c", "a", "b"], 3)
    assert index.restricted(np.array([False, True, True])).names() == ["a", "b"]
    assert index.numbers(list("bcx"), grow=False).tolist() == [2, 0, -1]
    index.rest()
    assert index.numbers(list("bxx"), grow=True).tolist() == [2, 3, 3]
    index.rest()
    index.rest()
    assert index.names() == ["c", "a", "b", "x"]


def test_an_index_at_rest_takes_little_memory() -> None:
    names = [f"attribute {k}" for k in range(20_000)]
    tracemalloc.start()
    try:
        index = AttributeIndex(names)
        full = tracemalloc.get_traced_memory()[0]
        index.rest()
        at_rest = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert full > 45 * len(names)
    assert at_rest < 10 * len(names)


def test_tokens_are_counted_with_the_weights_of_their_sequences(rng: np.random.Generator) -> None:
    X = [[list(rng.choice(list("abcdef"), rng.integers(4))) for _ in range(rng.integers(5))] for _ in range(20)]
    weight = rng.integers(0, 4, 20)
    index = AttributeIndex("abcdefg")
    tokens = encode_tokens(X, index, grow=False)
    copies = encode_tokens([x for x, k in zip(X, weight) for _ in range(k)], index, grow=False)
    np.testing.assert_array_equal(tokens.counts(weight.astype(float)), copies.counts())
    np.testing.assert_array_equal(tokens.counts(np.full(20, 0.5)), tokens.counts() / 2)
    assert tokens.counts().tolist() == [sum(c in token for x in X for token in x) for c in "abcdefg"]
    assert encode_tokens([[], []], AttributeIndex(), grow=False).counts(np.ones(2)).tolist() == []


@pytest.mark.parametrize("n", [3, 10, 1000, 10**6])
def test_rounding_does_not_lose_an_occurrence(n: int) -> None:
    """Ten times 0.1 is a little less than 1 in floating point."""
    weights = np.full(10 * n, 0.1)
    assert np.bincount(np.zeros(10 * n, int), weights)[0] >= least_weight(n)
    assert np.bincount(np.zeros(10 * n, int), weights)[0] < least_weight(n + 1)
    assert 0 < least_weight(1) <= 5e-324
    assert n - 1 < least_weight(n) <= n


@pytest.mark.parametrize("model", [SequenceSVM(), GenerativeHMM(emission="multinomial")], ids=repr)
def test_matrices_are_the_same_dense_and_sparse(model: Any, rng: np.random.Generator) -> None:
    """A model of one of the two takes the other; what it was fitted on is said where that does not go."""
    y = [rng.integers(0, 3, n).tolist() for n in (4, 1, 6, 3)]
    dense = [np.eye(3)[labels] + rng.integers(0, 2, (len(labels), 3)) for labels in y]
    sparse = [sp.csr_matrix(x) for x in dense]
    named = [[{f"a{k}": value for k, value in enumerate(row)} for row in x.tolist()] for x in dense]
    for X, other in ((dense, sparse), (sparse, dense)):
        fitted = clone(model).fit(X, y)
        assert fitted.predict(other) == fitted.predict(X)
        assert fitted.predict([dense[0], sparse[1]]) == fitted.predict(X[:2])
        assert fitted.score(other, y) == fitted.score(X, y)
    wider = [np.ones((2, 4))]
    on_dense, on_sparse, on_names = (clone(model).fit(X, y) for X in (dense, sparse, named))
    for fitted, X, problem in (
        (on_dense, wider, "rows of 4 values; 3 are expected; the model was fitted on dense rows of 3 values"),
        (
            on_dense,
            [sp.csr_matrix(wider[0])],
            "rows of 4 values; 3 are expected; the model was fitted on dense rows of 3",
        ),
        (on_dense, named, "no dense vectors; 3 values a token are expected; the model was fitted on dense rows of 3"),
        (on_sparse, wider, "the sparse matrices have 4 columns; the model was fitted with 3$"),
        (on_sparse, [sp.csr_matrix(wider[0])], "the sparse matrices have 4 columns; the model was fitted with 3$"),
        (on_names, dense, "rows of 3 values; 0 are expected; the model was fitted on named attributes"),
        (on_names, [sp.csr_matrix(wider[0])], "have 4 columns; the model was fitted with 3 named attributes"),
    ):
        with pytest.raises(DataError, match=problem):
            fitted.predict(X)


def test_names_are_looked_through_once_for_all_sequences(monkeypatch: pytest.MonkeyPatch) -> None:
    index, calls = AttributeIndex(range(3)), []
    names = AttributeIndex.names
    monkeypatch.setattr(AttributeIndex, "names", lambda self: calls.append(1) or names(self))
    encode_tokens([np.eye(3)] * 20, index, grow=False, n_dense=0)
    assert len(calls) == 1


@pytest.mark.parametrize("kind", [np.array, sp.csr_matrix, list])
def test_what_a_stream_had_is_said(kind: Any) -> None:
    form = {np.array: "dense rows of 3 values", sp.csr_matrix: "sparse matrices of 3 columns", list: "named attributes"}
    X, y = np.eye(3) if kind is not list else [["a"], ["b"], ["c"]], [[0, 1, 1]]
    for other in (np.ones((3, 2)), [["d"], ["e"], ["f"]]):
        model = SequenceSVM().partial_fit([kind(X)], y, labels=[0, 1])
        if kind is np.array or isinstance(other, np.ndarray):
            with pytest.raises(DataError, match=rf"are expected; the stream had {form[kind]} before$"):
                model.partial_fit([other], y)
