"""svmlight text, read and written."""

from __future__ import annotations

import gzip
import io
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from maxmargin.data import read_svmhmm, read_svmlight, svmlight, write_svmlight
from maxmargin.data.svmlight import svmlight_parts
from maxmargin.errors import DataError, FileFormatError

INT64 = np.iinfo(np.int64)


def read(text: str | bytes, **options: Any) -> Any:
    return read_svmlight(io.BytesIO(text.encode() if isinstance(text, str) else text), **options)


def rewritten(X: Any, y: Any, *, read_options: dict[str, Any] | None = None, **options: Any) -> Any:
    target = io.BytesIO()
    write_svmlight(target, X, y, **options)
    target.seek(0)
    return read_svmlight(target, n_features=np.shape(X)[1], **(read_options or {}))


def same_bits(a: Any, b: Any) -> bool:
    return np.asarray(a, dtype=np.float64).tobytes() == np.asarray(b, dtype=np.float64).tobytes()


def test_everything_the_format_has() -> None:
    data = read(
        b"\xef\xbb\xbf# a comment\n"
        b"+1 qid:3 2:1.5 1:-2e-3 # unsorted\r\n"
        b"\n"
        b"  \t\n"
        b"-1.5 cost:2.5 qid:-7\n"  # no features
        b".5e1\tqid:3\t4:+7 5:0#touching"  # a stored zero, no line end
    )
    assert data.X.toarray().tolist() == [[-2e-3, 1.5, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 7, 0]]
    assert data.X.indices.dtype == data.X.indptr.dtype == np.int32
    assert data.X.has_sorted_indices
    assert data.X.nnz == 4
    assert data.y.tolist() == [1, -1.5, 5]
    assert data.qid.tolist() == [3, -7, 3]
    assert data.sample_weight.tolist() == [1, 2.5, 1]
    assert data.line.tolist() == [2, 5, 6]


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"])
def test_a_file_without_rows(text: str) -> None:
    data = read(text)
    assert data.X.shape == (0, 0)
    assert len(data.y) == len(data.line) == 0
    assert data.qid is None
    assert read(text, n_features=4, labels="text").X.shape == (0, 4)


@pytest.mark.parametrize(
    ("text", "options", "line", "token", "problem"),
    [
        ("1 1:2\nabc 1:2\n", {}, 2, "abc", "label is not a number"),
        ("1 1:2\nnan 1:2\n", {}, 2, "nan", "label is not a finite number"),
        ("1e999 1:2\n", {}, 1, "1e999", "too large for a number"),
        ("1:2 2:1\n", {}, 1, "1:2", "label is not a number"),
        ("1 1:2 # c\n\n2 1:x\n", {}, 3, "1:x", "value is not a number"),
        ("1 1:\n", {}, 1, "1:", "value is not a number"),
        ("1 1: 2\n", {}, 1, "1:", "value is not a number"),
        ("1 1:1e\n", {}, 1, "1:1e", "value is not a number"),
        ("1 1:1_0\n", {}, 1, "1:1_0", "value is not a number"),
        ("1 1:nan\n", {}, 1, "1:nan", "value is not a finite number"),
        ("1 1:2 2:-inf\n", {}, 1, "2:-inf", "value is not a finite number"),
        ("1 1:0\n1 7:1e400 8:1\n", {}, 2, "1e400", "too large for a number"),
        ("1 1:1\x00 2:2\n", {}, 1, "1:1\x00", "value is not a number"),
        ("1 7\n", {}, 1, "7", "expected <index>:<value>"),
        ("1 a:1\n", {}, 1, "a:1", "expected <index>:<value>"),
        ("1 -1:3\n", {}, 1, "-1:3", "expected <index>:<value>"),
        ("1 1 :3\n", {}, 1, "1", "expected <index>:<value>"),
        ("1 99999999999999999999:1\n", {}, 1, "99999999999999999999:1", "index is too large"),
        ("1 qid:x 1:1\n", {}, 1, "qid:x", "qid is not a whole number"),
        ("1 qid:1.5 1:1\n", {}, 1, "qid:1.5", "qid is not a whole number"),
        ("1 qid:9223372036854775808\n", {}, 1, "qid:9223372036854775808", "qid is not a whole number"),
        ("1 qid:1 qid:2\n", {}, 1, "qid:2", "twice"),
        ("1 qid:1 1:1\n\n1 1:1\n", {}, 3, None, "no qid"),
        ("1 cost:x\n", {}, 1, "cost:x", "cost is not a number"),
        ("1 1:1\n1 cost:-2\n", {}, 2, "cost:-2", "negative"),
        ("1 cost:1 cost:1\n", {}, 1, "cost:1", "twice"),
        ("1 1:1 2:1\n1 3:5 1:1 3:6\n", {}, 2, "3:6", "index occurs twice"),
        ("1 2:1 2:1\n", {"zero_based": True}, 1, "2:1", "index occurs twice"),
        ("1 1:1\n1 0:4\n", {}, 2, "0:4", "zero_based"),
        ("1 5:1\n1 6:1\n", {"n_features": 5}, 2, "6:1", "n_features=5"),
        ("1 4:1\n1 5:1\n", {"n_features": 5, "zero_based": True}, 2, "5:1", "n_features=5"),
        ("1 5:1\n1 0:1\n", {"n_features": 5, "zero_based": "auto"}, 1, "5:1", "count from zero"),
        ("1 1:1\n2 1:1e300\n", {"dtype": np.float32}, 2, "1:1e+300", "float32"),
        ("good 1:1\n1:3 2:1\n", {"labels": "text"}, 2, "1:3", "label is missing"),
        ("a\x01b 1:1\n", {"labels": "text"}, 1, "a\x01b", "control character"),
        (b"a\n\xff 1:1\n", {"labels": "text"}, 2, "\ufffd", "not UTF-8"),
        ("a 1:1\n" + "x" * 1001 + " 1:1\n", {"labels": "text"}, 2, "x" * 1001, "label of 1001 bytes, where 1000 are"),
        ("é" * 501 + " 1:1\n", {"labels": "text"}, 1, "é" * 501, "label of 1002 bytes, where 1000 are"),
    ],
)
def test_a_malformed_line_is_named(
    text: str | bytes, options: dict[str, Any], line: int, token: str | None, problem: str
) -> None:
    with pytest.raises(FileFormatError, match=problem) as caught:
        read(text, **options)
    assert (caught.value.line, caught.value.token) == (line, token)
    assert "\n" not in str(caught.value)


def test_a_label_of_any_bearable_length() -> None:
    assert read("x" * 1000 + " 1:1\nb 1:1\n", labels="text").y.tolist() == ["x" * 1000, "b"]


def test_a_long_label_among_many_takes_no_gigabytes(tmp_path: Any) -> None:
    """In an array of text every label takes as much as the longest."""
    path = tmp_path / "long.svm"
    path.write_text("a\n" * 20_000 + "b" * 20_000 + " 1:1\n")
    for one in (lambda: read_svmlight(path, labels="text"), lambda: list(svmlight_parts(path, labels="text"))):
        tracemalloc.start()
        try:
            with pytest.raises(FileFormatError, match=r"long\.svm:20001: a label of 20000 bytes"):
                one()
            assert tracemalloc.get_traced_memory()[1] < 1 << 26
        finally:
            tracemalloc.stop()


def test_errors_name_the_right_line_in_later_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(svmlight, "_BLOCK_BYTES", 64)
    rows = [f"{k} qid:{k} 3:{k / 7!r} 1:{k}.25\n" for k in range(500)]
    data = read("".join(rows))
    assert data.X.toarray().tolist() == [[k + 0.25, 0, k / 7] for k in range(500)]
    assert data.y.tolist() == data.qid.tolist() == list(range(500))
    assert data.line.tolist() == list(range(1, 501))
    for bad, problem in (
        ("1 qid:1 1:x\n", "number"),
        ("1 qid:1 1:1 1:1\n", "twice"),
        ("1\n", "qid"),
        ("1 1:1e999", "large"),
    ):
        with pytest.raises(FileFormatError, match=problem) as caught:
            read("".join([*rows[:321], bad, *rows[321:]]))
        assert caught.value.line == 322


# The parser against Python's own float: short and long numbers, all exponents.
DIGITS = st.text("0123456789", min_size=1, max_size=24)
DECIMALS = st.builds(
    lambda sign, whole, point, part, e: f"{sign}{whole}{point}{part if point else ''}{e}",
    st.sampled_from(["", "+", "-"]),
    DIGITS,
    st.sampled_from(["", "."]),
    DIGITS,
    st.one_of(st.just(""), st.integers(-330, 280).map(lambda e: f"e{e}"), st.integers(0, 30).map(lambda e: f"E+{e}")),
)
SHORTEST = st.floats(allow_nan=False, allow_infinity=False).map(repr)


@settings(max_examples=60)
@given(st.lists(st.one_of(DECIMALS, SHORTEST), min_size=1, max_size=40))
@example(
    [
        "9007199254740993",
        "9007199254740991",
        "90071992547409925e-1",
        "0.500000000000000166533453693773481063544750213623046875",
    ]
)
@example(
    ["123456789012345678", "1e-280", "999999999999999999e280", "1e281", "2.2250738585072011e-308", "5e-324", "0e999"]
)
def test_numbers_are_exact(numbers: list[str]) -> None:
    text = "".join(f"{number} 1:{number}\n" for number in numbers)
    try:
        data = read(text)
    except FileFormatError:
        assert any(np.isinf(float(number)) for number in numbers)
        return
    expected = [float(number) for number in numbers]
    assert same_bits(data.y, expected)
    assert same_bits(data.X.data, expected)


def test_many_random_numbers_are_exact(rng: np.random.Generator) -> None:
    """Halfway cases and their neighbours among them, with every power of ten of the fast ways."""
    bits = rng.integers(0, 2**52, 20_000)
    exponents = rng.integers(-280, 280, len(bits))
    short = [f"{m}e{e}" for m, e in zip(rng.integers(1, 10**18, len(bits)).tolist(), exponents.tolist())]
    halves = [str(int(b) * 2 + 2**53 + 1) for b in bits.tolist()]  # between two floats, ties to even
    long = [repr(x) for x in rng.standard_normal(len(bits)).tolist()]
    numbers = short + halves + long
    data = read("".join(f"0 1:{number}\n" for number in numbers))
    assert same_bits(data.X.data, [float(number) for number in numbers])


def test_read_only_arrays_are_written_exactly() -> None:
    X = np.array([[0.0, 1.5, 0.0], [-2.25, 0.0, 1e-7], [0.1, 3.0, 1 / 3]])
    y = np.array([1.0, -1.0, 1.0])
    X.flags.writeable = y.flags.writeable = False
    data = rewritten(X, y)
    assert same_bits(data.X.toarray(), X)
    assert same_bits(data.y, y)
    S = sp.csr_matrix(X)
    for part in (S.data, S.indices, S.indptr):
        part.flags.writeable = False
    assert same_bits(rewritten(S, y).X.toarray(), X)


def test_index_widths_and_containers_make_no_difference() -> None:
    D = np.array([[0, 0, 2, 0], [0, 1, 0, 0], [1, 0, 3, 0], [0, 0, 0, 2], [0, 1, 0, 3], [1, 0, 0, 2]], float)
    y = np.array([0, 0, 0, 1, 1, 1])
    wide, mixed = sp.csr_matrix(D), sp.csr_matrix(D)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    mixed.indptr = mixed.indptr.astype(np.int64)
    for X in (
        D,
        D.tolist(),
        D.astype(np.int8),
        D > 0,
        np.asfortranarray(D),
        wide,
        mixed,
        sp.csr_array(D),
        sp.coo_matrix(D),
    ):
        data = rewritten(X, y)
        assert data.X.indices.dtype == data.X.indptr.dtype == np.int32
        assert np.array_equal(data.X.toarray(), (D > 0 if np.asarray(X).dtype == bool else D))
    assert wide.indices.dtype == np.int64


def test_int64_indices_only_where_they_are_needed() -> None:
    data = read("1 2147483647:1\n")
    assert data.X.indices.dtype == np.int32
    data = read("1 2147483649:1\n")
    assert data.X.indices.dtype == data.X.indptr.dtype == np.int64
    assert data.X.shape == (1, 2147483649)


def test_large_query_ids_are_exact() -> None:
    a = 2**53 + 1
    data = read(f"2 qid:{a} 1:0.5\n0 qid:{a} 1:0.1\n1 qid:{a + 1} 1:0.4\n0 qid:{a + 1} 1:0.3\n")
    assert data.qid.tolist() == [a, a, a + 1, a + 1]
    assert rewritten(data.X, data.y, qid=data.qid).qid.tolist() == data.qid.tolist()
    extremes = [INT64.max, INT64.min + 1]
    assert rewritten(np.ones((2, 1)), [0, 1], qid=extremes).qid.tolist() == extremes


def test_unsorted_rows_are_written_as_the_dense_matrix(rng: np.random.Generator) -> None:
    D = rng.integers(0, 4, (12, 6)).astype(float)
    S = sp.csr_matrix(D)
    for i in range(12):
        s = slice(S.indptr[i], S.indptr[i + 1])
        S.indices[s], S.data[s] = S.indices[s][::-1].copy(), S.data[s][::-1].copy()
    before = S.indices.copy()
    S.has_sorted_indices = True  # a flag that is wrong
    data = rewritten(S, np.zeros(12))
    assert np.array_equal(data.X.toarray(), D)
    assert data.X.has_sorted_indices
    assert np.array_equal(S.indices, before)
    twice = sp.csr_matrix(([1.0, 2.0], [1, 1], [0, 2]), shape=(1, 3))
    assert rewritten(twice, [0]).X.toarray().tolist() == [[0, 3, 0]]
    assert twice.nnz == 2


def test_unsorted_files_equal_sorted_ones(rng: np.random.Generator) -> None:
    X = sp.random(40, 30, 0.3, format="csr", random_state=3)
    lines = []
    for row in range(40):
        part = rng.permutation(np.arange(X.indptr[row], X.indptr[row + 1]))
        lines.append(f"{row} " + " ".join(f"{X.indices[k] + 1}:{X.data[k]!r}" for k in part) + "\n")
    lines = [line.replace("np.float64(", "").replace(")", "") for line in lines]
    data = read("".join(lines), n_features=30)
    assert (data.X != X).nnz == 0
    assert np.array_equal(data.X.indices, X.sorted_indices().indices)


def test_fewer_features_in_a_test_file() -> None:
    text = "1 1:1\n-1 2:1 3:1\n"
    assert read(text, n_features=5).X.toarray().tolist() == [[1, 0, 0, 0, 0], [0, 1, 1, 0, 0]]
    with pytest.raises(FileFormatError, match="n_features=2"):
        read(text, n_features=2)


def test_the_index_base_is_what_is_said() -> None:
    part_a, part_b = "1 0:1 2:3\n0 1:2\n", "1 1:5 2:7\n"
    options: dict[str, Any] = dict(zero_based=True, n_features=3)
    assert read(part_a, **options).X.toarray().tolist() == [[1, 0, 3], [0, 2, 0]]
    assert read(part_b, **options).X.toarray().tolist() == [[0, 5, 7]]
    assert read(part_a, zero_based="auto").X.toarray().tolist() == [[1, 0, 3], [0, 2, 0]]
    assert read(part_b, zero_based="auto").X.toarray().tolist() == [[5, 7]]  # a guess from this file alone
    with pytest.raises(FileFormatError, match="zero_based=True") as caught:
        read("1 1:1\n" + part_a)
    assert caught.value.line == 2


def test_rows_without_features() -> None:
    data = read("0 3:0.5 6:2\n1 \n1\n\n0 1:1\n")
    X = np.zeros((4, 6))
    X[0, 2], X[0, 5], X[3, 0] = 0.5, 2, 1
    assert np.array_equal(data.X.toarray(), X)
    assert data.y.tolist() == [0, 1, 1, 0]


def test_labels_as_text() -> None:
    data = read("C# 1:1\nüç,2 1:2\r\n-1\n: 1:3 # note\n# no row\n01 1:4\n", labels="text")
    assert data.y.tolist() == ["C#", "üç,2", "-1", ":", "01"]
    assert data.y.dtype.kind == "U"
    assert rewritten(data.X, data.y, read_options={"labels": "text"}).y.tolist() == data.y.tolist()
    for bad in ("", "a b", "#a", "7:x", "a\n", "a\x01"):
        with pytest.raises(DataError, match="row 1"):
            write_svmlight(io.BytesIO(), np.zeros((2, 1)), ["fine", bad])


@given(
    hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=5),
        elements=st.one_of(st.just(0.0), st.floats(allow_nan=False, allow_infinity=False)),
    ),
    st.sampled_from([np.float64, np.float32]),
    st.booleans(),
    st.data(),
)
def test_write_and_read_is_the_identity(X: Any, dtype: Any, zero_based: bool, data: st.DataObject) -> None:
    with np.errstate(over="ignore"):
        X = np.clip(X, -3e38, 3e38).astype(dtype)
    n = len(X)
    y = data.draw(hnp.arrays(np.float64, n, elements=st.floats(allow_nan=False, allow_infinity=False)))
    qid = data.draw(st.none() | hnp.arrays(np.int64, n, elements=st.integers(INT64.min + 1, INT64.max)))
    weight = data.draw(st.none() | hnp.arrays(np.float64, n, elements=st.floats(0, 1e308)))
    for matrix in (X, sp.csr_matrix(X)):
        target = io.StringIO()
        write_svmlight(target, matrix, y, qid=qid, sample_weight=weight, zero_based=zero_based)
        back = read_svmlight(io.StringIO(target.getvalue()), n_features=X.shape[1], zero_based=zero_based, dtype=dtype)
        assert back.X.dtype == dtype
        assert same_bits(back.X.toarray(), X + 0.0)  # a zero that is not stored has no sign
        assert same_bits(back.y, y)
        assert back.qid is None if qid is None else np.array_equal(back.qid, qid)
        assert back.sample_weight is None if weight is None else same_bits(back.sample_weight, weight)


WORDS = ["1", "-1", "a", "1:2", "2:0.5", "3:1e-5", "0:1", "qid:1", "qid:2", "cost:1", "#", ":", "1:1e999", "1:nan"]
STRANGE = ["\x00", "é", "\ud800", "999999999999:1", "12345678901234567890", "1:12345678901234567890"]
PIECES = st.sampled_from([*WORDS, *STRANGE, *[" ", "\t", "\n", "\r\n"] * 3])


@settings(max_examples=150)
@given(
    st.one_of(st.binary(max_size=40), st.text(max_size=30), st.lists(PIECES, max_size=12).map("".join)),
    st.sampled_from([False, True, "auto"]),
    st.sampled_from(["number", "text"]),
    st.sampled_from([None, 3]),
)
def test_any_text_is_read_or_refused(text: Any, zero_based: Any, labels: Any, n_features: Any) -> None:
    source = io.BytesIO(text) if isinstance(text, bytes) else io.StringIO(text, newline="")
    try:
        data = read_svmlight(source, zero_based=zero_based, labels=labels, n_features=n_features)
    except FileFormatError:
        return
    data.X.check_format(full_check=True)
    target = io.BytesIO()
    write_svmlight(target, data.X, data.y, qid=data.qid, sample_weight=data.sample_weight)
    target.seek(0)
    back = read_svmlight(target, labels=labels, n_features=data.X.shape[1])
    assert same_bits(back.X.data, data.X.data)
    assert np.array_equal(back.X.indices, data.X.indices)
    assert np.array_equal(back.y, data.y)


def test_what_the_writer_refuses(tmp_path: Path) -> None:
    path = tmp_path / "out.svm"
    X, y = np.ones((2, 2)), [0, 1]
    refused: list[tuple[str, dict[str, Any]]] = [
        ("row", dict(X=X, y=[0])),
        ("X\\[1, 0\\]", dict(X=np.array([[1.0, 2], [np.nan, 3]]), y=y)),
        ("finite", dict(X=X, y=[0, np.inf])),
        ("numbers", dict(X=X, y=[None, "a"])),
        ("real numbers", dict(X=np.array([["a", "b"]] * 2), y=y)),
        ("dimensions", dict(X=np.ones(2), y=y)),
        ("qid", dict(X=X, y=y, qid=[1.5, 2])),
        ("qid", dict(X=X, y=y, qid=np.array([1, 2**63], dtype=np.uint64))),
        ("sample_weight", dict(X=X, y=y, sample_weight=[1, -1])),
        ("sample_weight", dict(X=X, y=y, sample_weight=[1, np.nan])),
    ]
    for problem, arguments in refused:
        with pytest.raises(DataError, match=problem):
            write_svmlight(path, **arguments)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "type"),
    [
        *[(sign * (2**power + 1), np.int64) for power in (53, 60, 62) for sign in (1, -1)],
        (2**63 - 1, np.int64),
        (2**64 - 1, np.uint64),
        (2**53 + 1, ">i8"),
        (10**30, object),
        (10**400, object),
    ],
)
def test_integers_that_would_not_be_read_back_are_refused(number: int, type: Any) -> None:
    column, X = np.array([1, number], type), np.eye(2)
    with pytest.raises(DataError, match=rf"y\[1\] is {str(number)[:20]}.*; give labels as text, as y.astype\(str\)"):
        write_svmlight(io.BytesIO(), X, column)
    as_text = rewritten(X, column.astype(str), read_options={"labels": "text"}).y
    assert as_text.tolist() == ["1", str(number)]
    with pytest.raises(DataError, match=rf"sample_weight\[1\] is {str(number)[:20]}"):
        write_svmlight(io.BytesIO(), X, [0, 1], sample_weight=column)
    if type is not object:
        for matrix in (np.diag(column), sp.csr_matrix(np.diag(column.astype(column.dtype.newbyteorder("="))))):
            with pytest.raises(DataError, match=rf"X\[1, 1\] is {number}, which would be read back as the float64"):
                write_svmlight(io.BytesIO(), matrix, [0, 1])


def test_integers_that_a_float_holds_are_written_digit_by_digit() -> None:
    numbers = [2**53 - 1, 2**60, -(2**62), 10**16, 3, 0]
    target = io.StringIO()
    write_svmlight(target, np.eye(6), np.array(numbers))
    assert [line.split()[0] for line in target.getvalue().splitlines()] == list(map(str, numbers))
    assert rewritten(np.eye(6), np.array(numbers)).y.tolist() == numbers


@pytest.mark.parametrize("type", [">f8", "<f8", ">f4", ">i4", ">i8", ">u2", np.float16, ">f2", np.longdouble])
def test_the_order_of_bytes_and_the_precision_make_no_difference(type: Any) -> None:
    D = np.array([[0, 2, 0], [1, 0, 3], [0, 0, 0]])
    sparse = sp.csr_matrix(D.astype(np.float64))
    sparse.data = sparse.data.astype(type)
    y = np.array([1, 2, 3], type)
    for X in (D.astype(type), D.astype(type).T.copy().T, sparse):
        data = rewritten(X, y, sample_weight=y)
        assert np.array_equal(data.X.toarray(), D)
        assert data.y.tolist() == data.sample_weight.tolist() == [1, 2, 3]
    sparse.indices, sparse.indptr = sparse.indices.astype(">i4"), sparse.indptr.astype(">i4")
    assert np.array_equal(rewritten(sparse, y).X.toarray(), D)


@pytest.mark.parametrize("y", [np.array(["2001-01-01", "2002-01-01"], "M8[D]"), np.array([1 + 0j, 2]), [b"a", b"b"]])
def test_labels_that_are_neither_numbers_nor_text_are_refused(y: Any) -> None:
    with pytest.raises(DataError, match="y must be numbers, got "):
        write_svmlight(io.BytesIO(), np.eye(2), y)


@pytest.mark.parametrize(
    ("label", "problem"),
    [
        *[(f"1{blank}{more}", f"U\\+{ord(blank):04X}") for blank in "\u00a0\u2003\u3000\u2028" for more in ("", "1:1")],
        *[("\u00a01", "U\\+00A0"), ("\ufeff1", "begins with a byte-order mark")],
    ],
)
def test_what_is_not_seen_becomes_no_part_of_a_label(label: str, problem: str) -> None:
    with pytest.raises(FileFormatError, match=f"the label .*{problem}") as caught:
        read(f"1 1:1\n{label} 2:1\n", labels="text")
    assert caught.value.line == 2
    with pytest.raises(DataError, match=f"the label of row 1 cannot be written: .*{problem}"):
        write_svmlight(io.BytesIO(), np.eye(2), ["1", label])
    # within a name it parts words
    assert read("1 1:1\nNew\u00a0York 2:1\n", labels="text").y.tolist() == ["1", "New\u00a0York"]


def test_options_are_checked() -> None:
    for options in (dict(zero_based="yes"), dict(labels="auto"), dict(dtype=np.int32), dict(n_features=-1)):
        with pytest.raises(ValueError, match=next(iter(options))):
            read("1 1:1\n", **options)


def test_sequences_of_svm_hmm() -> None:
    text = "N qid:1 1:1 2:0.5\nV qid:1 3:1\nN qid:7 2:1\n"
    data = read_svmhmm(io.StringIO(text), n_features=4)
    assert [X.toarray().tolist() for X in data.X] == [[[1, 0.5, 0, 0], [0, 0, 1, 0]], [[0, 1, 0, 0]]]
    assert [y.tolist() for y in data.y] == [["N", "V"], ["N"]]
    assert data.qid.tolist() == [1, 7]
    with pytest.raises(FileFormatError, match="goes on") as caught:
        read_svmhmm(io.StringIO(text + "\nV qid:1 1:1\n"))
    assert (caught.value.line, caught.value.token) == (5, "qid:1")
    with pytest.raises(FileFormatError, match="no qid"):
        read_svmhmm(io.StringIO("N 1:1\n"))
    assert read_svmhmm(io.StringIO("")).X == []


def test_a_small_file_without_compiled_code(run_python: Any) -> None:
    code = (
        "import io; from maxmargin.data import read_svmlight\n"
        "d = read_svmlight(io.BytesIO(b'1 qid:3 2:0.1 1:-12345678901234567 # x\\n-1e2 qid:3 3:1e-30\\n'))\n"
        "print(d.X.toarray().tolist(), d.y.tolist(), d.qid.tolist())\n"
    )
    expected = [[-12345678901234567.0, 0.1, 0.0], [0.0, 0.0, 1e-30]]
    printed = run_python(code, env={"NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "error::RuntimeWarning"})
    assert printed.strip() == f"{expected} [1.0, -100.0] [3, 3]"


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("a9a_adult/a9a.gz", (32561, 123)),
        ("heart_scale/heart_scale", (270, 13)),
        ("rcv1_small/rcv1_test.gz", (500, None)),
    ],
)
def test_real_files_equal_an_independent_reader(data_folder: Path, name: str, shape: tuple[int, int | None]) -> None:
    """scikit-learn's reader accepts the same well-formed files."""
    from sklearn.datasets import load_svmlight_file

    path = data_folder / name
    data = read_svmlight(path)
    with gzip.open(path) if name.endswith(".gz") else open(path, "rb") as stream:
        X, y = load_svmlight_file(stream)
    assert data.X.shape[0] == shape[0]
    assert shape[1] in (None, data.X.shape[1])
    assert (data.X != X).nnz == 0
    assert np.array_equal(data.y, y)
