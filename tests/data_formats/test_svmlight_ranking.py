"""Files of ranking problems: SVM-rank's and LETOR's, with queries of 64 bits in any order."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin.data import read_svmlight, write_svmlight
from maxmargin.errors import FileFormatError

INT64 = np.iinfo(np.int64)


def test_a_letor_file() -> None:
    text = (
        "2 qid:10032 1:0.056537 2:0.000000 45:1.0 46:0.076923 #docid = GX029-35-5894638 inc = 0.0119 prob = 0.139842\n"
        "0 qid:10032 1:0.279152 2:0.000000 45:0 46:0.000000 #docid = GX030-77-6315042 inc = 1 prob = 0.341364\r\n"
        "1 qid:10002 1:0.130742 2:-1e-3 46:0.5 #docid=GX140-98-13566007 qid:7 3:4\n"
    )
    data = read_svmlight(io.StringIO(text, newline=""), n_features=46)
    assert data.qid.tolist() == [10032, 10032, 10002]
    assert data.y.tolist() == [2, 0, 1]
    X = np.zeros((3, 46))
    X[0, [0, 44, 45]], X[1, 0], X[2, [0, 1, 45]] = [0.056537, 1, 0.076923], 0.279152, [0.130742, -1e-3, 0.5]
    assert np.array_equal(data.X.toarray(), X)


def test_an_svm_rank_file() -> None:
    """Queries in blocks, or not, and wherever they stand in a row."""
    text = "# query 1\n3 qid:1 1:1 2:1 # 1A\n2 1:0 qid:1 2:0.1\n\n# query 2\n1 1:0 2:1 qid:2\n4 qid:1 1:1 # 1D\n"
    data = read_svmlight(io.StringIO(text))
    assert data.qid.tolist() == [1, 1, 2, 1]
    assert data.X.toarray().tolist() == [[1, 1], [0, 0.1], [0, 1], [1, 0]]
    assert data.line.tolist() == [2, 3, 6, 7]


def test_queries_are_written_and_read_exactly(rng: np.random.Generator) -> None:
    qid = np.concatenate(
        [[INT64.min, INT64.max, 0, -1, 10**18, -(10**18), 2**53 + 1], rng.integers(-(2**62), 2**62, 50)]
    )
    X = sp.random(len(qid), 9, 0.4, format="csr", random_state=1)
    target = io.StringIO()
    write_svmlight(target, X, np.arange(len(qid)) % 5, qid=qid)
    data = read_svmlight(io.StringIO(target.getvalue()), n_features=9)
    assert data.qid.dtype == np.int64
    assert np.array_equal(data.qid, qid)
    assert np.array_equal(data.X.toarray(), X.toarray())
    assert np.array_equal(data.y, np.arange(len(qid)) % 5)


@pytest.mark.parametrize(
    ("qid", "value"),
    [
        ("-9223372036854775808", INT64.min),
        ("9223372036854775807", INT64.max),
        ("000000000000000000000000000012", 12),
        ("-0000000000000000000000000000012", -12),
        ("9223372036854775808", None),
        ("-9223372036854775809", None),
        ("18446744073709551617", None),  # 1 modulo 2**64
        ("92233720368547758080", None),
        ("-", None),
        ("", None),
        ("+1", None),
        ("1x", None),
        ("1:2", None),
    ],
)
def test_the_limits_of_a_query(qid: str, value: int | None) -> None:
    text = f"1 qid:1 1:1\n1 qid:{qid} 1:1\n"
    if value is not None:
        assert read_svmlight(io.StringIO(text)).qid.tolist() == [1, value]
        return
    with pytest.raises(FileFormatError, match="qid is not a whole number of 64 bits") as caught:
        read_svmlight(io.StringIO(text))
    assert (caught.value.line, caught.value.token) == (2, f"qid:{qid}")


@pytest.mark.parametrize("first", [True, False])
def test_the_first_row_without_a_query_is_named_across_blocks(first: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maxmargin.data.svmlight._BLOCK_BYTES", 16)
    with_query, without = [f"{k} qid:1 1:1\n" for k in range(20)], "7 1:1\n"
    lines = [without, "# nothing\n", without, *with_query] if first else [*with_query, without, without, *with_query]
    with pytest.raises(FileFormatError, match="no qid") as caught:
        read_svmlight(io.StringIO("".join(lines)))
    assert caught.value.line == lines.index(without) + 1


def test_costs_that_begin_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maxmargin.data.svmlight._BLOCK_BYTES", 16)
    data = read_svmlight(io.StringIO("1 1:1\n" * 30 + "1 cost:0.25 1:1\n" + "1 1:1\n" * 30))
    assert data.sample_weight.tolist() == [1.0] * 30 + [0.25] + [1.0] * 30


def test_a_real_ranking_file(data_folder: Path, tmp_path: Path) -> None:
    """Queries that stand beside the file, put into it: everything comes back."""
    folder = data_folder / "lightgbm_rank"
    data = read_svmlight(folder / "rank.test.gz", zero_based="auto")
    qid = np.repeat(np.arange(50) + 2**40, np.loadtxt(folder / "rank.test.query", int))
    path = tmp_path / "rank.svm.gz"
    write_svmlight(path, data.X, data.y, qid=qid)
    back = read_svmlight(path, n_features=data.X.shape[1])
    assert np.array_equal(back.qid, qid)
    assert np.array_equal(back.y, data.y)
    assert np.array_equal(back.X.data, data.X.data)
    assert np.array_equal(back.X.indices, data.X.indices)
