"""The same numbers in every form of array give the same model, and the caller's arrays stay as they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import MulticlassSVM, SequenceSVM, StructuredSVM
from maxmargin.structures.multiclass import Multiclass

X = np.array([[-3, 1, 0], [-2, 0, 1], [-3, -1, 2], [3, 1, 1], [2, 0, 0], [3, -1, 2]], np.float32)
Y = np.array([0, 0, 0, 1, 1, 1])


def embedded(values: Any) -> Any:
    big = np.zeros((12, 6), values.dtype)
    big[::2, 1:4] = values
    return big[::2, 1:4]


def read_only(values: Any) -> Any:
    out = values.copy()
    out.flags.writeable = False
    return out


def byte_swapped(values: Any) -> Any:
    return values.astype(values.dtype.newbyteorder())


VIEWS: dict[str, Callable[[Any], Any]] = {
    "float32": np.asarray,
    "Fortran order": np.asfortranarray,
    "strided": embedded,
    "reversed twice": lambda v: v[::-1].copy()[::-1],
    "transposed": lambda v: np.ascontiguousarray(v.T).T,
    "float64 in Fortran order": lambda v: np.asfortranarray(v.astype(float)),
    "read-only": read_only,
    "byte-swapped": byte_swapped,
    "int8": lambda v: v.astype(np.int8),
    "float16": lambda v: v.astype(np.float16),
    "list": lambda v: v.tolist(),
}


def same_bits(model: Any, reference: Any) -> None:
    np.testing.assert_array_equal(model.coef_, reference.coef_)


@pytest.mark.parametrize("view", VIEWS)
def test_dense_rows(view: str) -> None:
    reference = MulticlassSVM(random_state=0).fit(X.astype(float), Y)
    given = VIEWS[view](X)
    before = np.array(given)
    model = MulticlassSVM(random_state=0).fit(given, Y)
    same_bits(model, reference)
    assert model.predict(given).tolist() == Y.tolist()
    np.testing.assert_array_equal(before, given)
    np.testing.assert_array_equal(model.decision_function(given), reference.decision_function(X.astype(float)))


@pytest.mark.parametrize("view", [v for v in VIEWS if v != "float16"])
def test_dense_tokens(view: str) -> None:
    labels = [["a", "a", "b"], ["b"], ["a", "b"]]
    pieces = [X[:3], X[3:4], X[4:]]
    reference = SequenceSVM(random_state=0).fit([piece.astype(float) for piece in pieces], labels)
    if view == "strided":
        given: Any = [np.repeat(piece, 2, axis=0)[::2] for piece in pieces]
    else:
        given = [VIEWS[view](piece) for piece in pieces]
    same_bits(SequenceSVM(random_state=0).fit(given, labels), reference)
    assert reference.predict(given) == reference.predict(pieces)


def test_labels_and_weights_in_every_form() -> None:
    reference = MulticlassSVM(random_state=0).fit(X, Y, np.arange(1.0, 7.0))
    for y in (Y.tolist(), read_only(Y), Y.astype(np.uint8), np.repeat(Y, 2)[::2], Y[:, None][:, 0]):
        for weight in (
            list(range(1, 7)),
            np.arange(1, 7, dtype=np.int32),
            read_only(np.arange(1.0, 7.0)),
            np.arange(2.0, 14.0)[::2] / 2,
        ):
            same_bits(MulticlassSVM(random_state=0).fit(X, y, weight), reference)


def test_data_frames() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["f", "g", "h"])
    model = MulticlassSVM(random_state=0).fit(frame, pd.Series(Y), pd.Series(np.ones(6)))
    same_bits(model, MulticlassSVM(random_state=0).fit(X, Y))
    assert model.feature_names_in_.tolist() == ["f", "g", "h"]
    assert model.predict(frame).tolist() == Y.tolist()
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"f": "other"}))
    frame["g"] = frame["g"].astype("Int64")
    same_bits(MulticlassSVM(random_state=0).fit(frame, pd.Series(Y).astype("category")), model)


def test_memory_mapped_rows(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", X.astype(float))
    np.save(tmp_path / "y.npy", Y)
    mapped, labels = np.load(tmp_path / "X.npy", mmap_mode="r"), np.load(tmp_path / "y.npy", mmap_mode="r")
    model = MulticlassSVM(random_state=0).fit(mapped, labels)
    same_bits(model, MulticlassSVM(random_state=0).fit(X, Y))
    assert model.predict(mapped).tolist() == Y.tolist()
    dense = SequenceSVM(random_state=0).fit([mapped[:3], mapped[3:]], [[0, 0, 0], [1, 1, 1]])
    same_bits(dense, SequenceSVM(random_state=0).fit([X[:3], X[3:]], [[0, 0, 0], [1, 1, 1]]))
    same_bits(
        StructuredSVM(Multiclass(2), random_state=0).fit(mapped, labels),
        StructuredSVM(Multiclass(2), random_state=0).fit(X.astype(float), Y),
    )


@pytest.mark.parametrize("kind", ["classes", "sequences", "structures"])
def test_a_model_opened_as_a_read_only_memory_map(kind: str, tmp_path: Path) -> None:
    import joblib

    rng = np.random.default_rng(1)
    rows = np.vstack([rng.normal(size=(40, 5)) - 2, rng.normal(size=(40, 5)) + 2])
    y = np.repeat(["cold", "warm"], 40)
    new = np.vstack([np.full((2, 5), -2.0), np.full((2, 5), 2.0)])
    if kind == "classes":
        model: Any = MulticlassSVM(random_state=0).fit(rows, y)
    elif kind == "sequences":
        model, new = SequenceSVM(random_state=0).fit(rows.reshape(16, 5, 5), y.reshape(16, 5)), new[None]
    else:
        model = StructuredSVM(Multiclass(2), random_state=0).fit(rows, np.repeat([0, 1], 40))
    joblib.dump(model, tmp_path / "model.joblib")
    opened = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    assert not opened.coef_.flags.writeable
    expected = [0, 0, 1, 1] if kind == "structures" else ["cold", "cold", "warm", "warm"]
    assert np.ravel(opened.predict(new)).tolist() == np.ravel(model.predict(new)).tolist() == expected
    if kind == "classes":
        np.testing.assert_array_equal(opened.decision_function(new), model.decision_function(new))
    if kind == "sequences":
        np.testing.assert_array_equal(opened.potentials(new)[0], model.potentials(new)[0])
        assert opened.predict_k_best(new, 2) == model.predict_k_best(new, 2)
    opened.set_params(warm_start=True)  # and it can be fitted further
    opened.fit(*((rows.reshape(16, 5, 5), y.reshape(16, 5)) if kind == "sequences" else (rows, np.repeat([0, 1], 40))))


def wide_indices(matrix: Any, indices: Any, indptr: Any) -> Any:
    out = matrix.copy()
    out.indices, out.indptr = out.indices.astype(indices), out.indptr.astype(indptr)
    return out


@pytest.mark.parametrize(("indices", "indptr"), [(np.int32, np.int32), (np.int64, np.int64), (np.int32, np.int64)])
@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array])
def test_sparse_rows_with_wide_indices(form: Any, indices: Any, indptr: Any) -> None:
    D = np.array([[0, 0, 2, 0], [0, 1, 0, 0], [1, 0, 3, 0], [0, 0, 0, 2], [0, 1, 0, 3], [1, 0, 0, 2.0]])
    S = wide_indices(form(D), indices, indptr)
    dense = MulticlassSVM(tol=1e-9, random_state=0).fit(D, Y)
    model = MulticlassSVM(tol=1e-9, random_state=0).fit(S, Y)
    np.testing.assert_allclose(model.coef_, dense.coef_, atol=1e-6)
    np.testing.assert_array_equal(model.predict(S), dense.predict(D))
    assert (S.indices.dtype, S.indptr.dtype) == (indices, indptr)
    tokens = SequenceSVM(random_state=0).fit([S[:3], S[3:]], [[0, 0, 0], [1, 1, 1]])
    assert tokens.predict([S[:3], S[3:]]) == [[0, 0, 0], [1, 1, 1]]


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array])
def test_sparse_rows_for_a_structure(form: Any) -> None:
    """A structure is given what it understands; its examples are counted by the shape where there is no length."""
    given = form(X.astype(float))
    model = StructuredSVM(Multiclass(2), tol=1e-8, max_passes=1000, random_state=0).fit(given, Y)
    assert model.predict(given) == Y.tolist()
    assert model.score(given, Y) == 1.0
    dense = StructuredSVM(Multiclass(2), tol=1e-8, max_passes=1000, random_state=0).fit(X.astype(float), Y)
    np.testing.assert_allclose(model.coef_, dense.coef_, atol=1e-4)
    with pytest.raises(ValueError, match="6 .* 5"):
        model.fit(given, Y[:5])


@pytest.mark.parametrize("form", [sp.csc_matrix, sp.coo_array, sp.lil_matrix, sp.csr_array, sp.dok_array])
def test_other_sparse_formats(form: Any) -> None:
    same_bits(MulticlassSVM(random_state=0).fit(form(X), Y), MulticlassSVM(random_state=0).fit(sp.csr_matrix(X), Y))


def test_sparse_rows_with_unsorted_and_repeated_entries() -> None:
    rng = np.random.default_rng(8)
    D = rng.integers(0, 4, (12, 6)).astype(float)
    D[:, 0] = np.repeat([9.0, 0.0], 6)
    y = np.repeat([0, 1], 6)
    S = sp.csr_matrix(D)
    for i in range(12):
        row = slice(S.indptr[i], S.indptr[i + 1])
        S.indices[row], S.data[row] = S.indices[row][::-1].copy(), S.data[row][::-1].copy()
    S.has_sorted_indices = False
    twice = sp.csr_matrix((np.repeat(S.data / 2, 2), np.repeat(S.indices, 2), 2 * S.indptr), shape=S.shape)
    explicit = sp.csr_matrix(D)
    explicit.data[3] = 0.0
    reference = MulticlassSVM(random_state=0).fit(sp.csr_matrix(D), y)
    dense = MulticlassSVM(tol=1e-9, random_state=0).fit(D, y)
    for matrix in (S, twice):
        before = matrix.indices.copy(), matrix.data.copy()
        model = MulticlassSVM(random_state=0).fit(matrix, y)
        same_bits(model, reference)
        np.testing.assert_allclose(model.decision_function(matrix), model.decision_function(D), atol=1e-12)
        tight = MulticlassSVM(tol=1e-9, random_state=0).fit(matrix, y)
        np.testing.assert_allclose(tight.decision_function(matrix), dense.decision_function(D), atol=1e-5)
        tokens = SequenceSVM(tol=0.1, random_state=0).fit([matrix], [y])
        np.testing.assert_allclose(tokens.potentials([matrix])[0], tokens.potentials([sp.csr_matrix(D)])[0], atol=1e-12)
        np.testing.assert_array_equal(before[0], matrix.indices)
        np.testing.assert_array_equal(before[1], matrix.data)
    zeroed = explicit.toarray()
    np.testing.assert_allclose(
        MulticlassSVM(tol=1e-9, random_state=0).fit(explicit, y).coef_,
        MulticlassSVM(tol=1e-9, random_state=0).fit(zeroed, y).coef_, atol=1e-5,
    )  # fmt: skip


@pytest.mark.parametrize("forms", [(sp.csr_matrix, np.asarray), (np.asarray, sp.csr_array)])
def test_dense_models_predict_sparse_rows_and_the_reverse(forms: Any) -> None:
    model = MulticlassSVM(random_state=0).fit(forms[0](X), Y)
    np.testing.assert_array_equal(model.predict(forms[1](X)), Y)
    np.testing.assert_allclose(model.decision_function(forms[1](X)), model.decision_function(forms[0](X)), atol=1e-12)
