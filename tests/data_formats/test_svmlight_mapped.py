"""svmlight text whose rows go to temporary files, and text that several threads parse: the results are the same."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from maxmargin import SVMClassifier
from maxmargin.data import read_svmlight
from maxmargin.data._mapped_columns import Columns
from maxmargin.data._mapped_rows import rows_of
from maxmargin.data.svmlight import svmlight_parts
from maxmargin.errors import FileFormatError

WAYS: tuple[dict[str, Any], ...] = ({}, {"threads": 2}, {"threads": 5}, {"memory": 0}, {"memory": 900, "threads": 3})


def columns_of(data: Any) -> list[Any]:
    return [data.X.data, data.X.indices, data.X.indptr, data.y, data.qid, data.sample_weight, data.line]


def outcome(text: bytes, **options: Any) -> Any:
    """Everything a file holds, or what is wrong with it."""
    try:
        data = read_svmlight(io.BytesIO(text), **options)
    except FileFormatError as error:
        return str(error)
    parts = [None if part is None else (part.dtype.str, part.tobytes()) for part in columns_of(data)]
    return [data.X.shape, *parts]


def some_rows(rng: np.random.Generator, n: int, *, separable: bool = False) -> bytes:
    lines = []
    for row in range(n):
        indices = np.sort(rng.choice(300, rng.integers(0, 50), replace=False)) + 1
        values = rng.normal(size=len(indices)).round(5)
        label = int(values.sum() > 0) if separable else row % 3
        lines.append(f"{label} qid:{row} " + " ".join(f"{i}:{v}" for i, v in zip(indices.tolist(), values.tolist())))
    return "\n".join(lines).encode()


@pytest.mark.parametrize(
    "options", [{}, {"dtype": np.float32}, {"labels": "text"}, {"zero_based": "auto"}, {"n_features": 400}]
)
def test_every_way_of_reading_gives_the_same(
    options: dict[str, Any], rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("maxmargin.data.svmlight._BLOCK_BYTES", 700)
    monkeypatch.setattr("maxmargin.data._mapped_columns._PIECE", 100)
    text = some_rows(rng, 200)
    outcomes = [outcome(text, **options, **way) for way in WAYS]
    assert outcomes[0][0] == (200, options.get("n_features", 300))
    assert all(each == outcomes[0] for each in outcomes)


WORDS = ["1", "-1", "1:2", "2:0.5", "3:1e-5", "0:1", "qid:1", "qid:2", "cost:2", "cost:-1", "#", "1:x", "9:1e999", "a"]
PIECES = st.sampled_from([*WORDS, *[" ", "\n", "\r\n", "\n1 qid:1 ", "\n2 1:1 "] * 4])


@pytest.mark.parametrize("options", [{}, {"labels": "text"}, {"zero_based": True}])
def test_parts_are_the_whole(
    options: dict[str, Any], rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = some_rows(rng, 200) + b"\n# the end\n"
    whole = read_svmlight(io.BytesIO(text), **options)
    (part,) = svmlight_parts(io.BytesIO(text), **options)
    assert [column.tolist() for column in columns_of(part)[:5]] == [c.tolist() for c in columns_of(whole)[:5]]
    monkeypatch.setattr("maxmargin.data.svmlight._BLOCK_BYTES", 700)
    monkeypatch.setattr("maxmargin.data.svmlight._PART_ENTRIES", 150)
    parts = list(svmlight_parts(io.BytesIO(text), **options))
    assert len(parts) > 10
    assert all(len(part.y) for part in parts)
    for part in parts:
        part.X.resize(len(part.y), whole.X.shape[1])
    together = sp.vstack([part.X for part in parts], format="csr")
    assert (together != whole.X).nnz == 0
    for name in ("y", "qid", "line"):
        assert np.array_equal(np.concatenate([getattr(part, name) for part in parts]), getattr(whole, name))


def test_parts_of_nothing_and_of_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in (b"", b"\n# nothing\n"):
        (part,) = svmlight_parts(io.BytesIO(text))
        assert (part.X.shape, len(part.y), part.qid) == ((0, 0), 0, None)
    monkeypatch.setattr("maxmargin.data.svmlight._BLOCK_BYTES", 8)
    monkeypatch.setattr("maxmargin.data.svmlight._PART_ENTRIES", 1)
    good = b"1 1:1\n" * 20
    for end, where in ((b"1 1:x", 21), (b"1 qid:3 1:1", 1)):
        with pytest.raises(FileFormatError) as caught:
            list(svmlight_parts(io.BytesIO(good + end)))
        assert caught.value.line == where
        with pytest.raises(FileFormatError) as expected:
            read_svmlight(io.BytesIO(good + end))
        assert str(caught.value) == str(expected.value)
    weighted = list(svmlight_parts(io.BytesIO(good + b"1 cost:2 1:1\n")))
    assert [part.sample_weight is None for part in weighted] == [True] * (len(weighted) - 1) + [False]
    assert len(weighted) > 10


def test_selected_rows_are_mapped_again(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maxmargin.data._mapped_rows._PIECE", 100)
    text = some_rows(rng, 200)
    for dtype in (np.float64, np.float32):
        kept, mapped = (read_svmlight(io.BytesIO(text), memory=memory, dtype=dtype).X for memory in (None, 0))
        some = rng.permutation(200)[:120]
        for rows in (some, None):
            found, expected = rows_of(mapped, rows), rows_of(kept, rows)
            assert (found != expected).nnz == 0
            assert found.shape == expected.shape
            assert found.data.dtype == dtype
            assert not found.data.flags.writeable
            assert expected.data.flags.writeable
        narrow = rows_of(mapped, change=lambda part: part[:, :50])
        assert (narrow != kept[:, :50]).nnz == 0
        assert narrow.indptr.dtype == narrow.indices.dtype == np.int32
    dense = rng.normal(size=(5, 2))
    assert np.array_equal(rows_of(dense, np.array([3, 1])), dense[[3, 1]])


@given(
    st.lists(PIECES, max_size=40).map("".join),
    st.sampled_from([False, True, "auto"]),
    st.sampled_from(["number", "text"]),
    st.sampled_from([None, 3]),
)
def test_any_text_is_read_or_refused_alike(text: str, zero_based: Any, labels: str, n_features: int | None) -> None:
    options = dict(zero_based=zero_based, labels=labels, n_features=n_features)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("maxmargin.data.svmlight._BLOCK_BYTES", 16)
        outcomes = [outcome(text.encode(), **options, **way) for way in WAYS]
    assert all(each == outcomes[0] for each in outcomes)


def test_the_first_mistake_is_named_whatever_is_read_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """The damage at the end of the file is met while its beginning is parsed."""
    monkeypatch.setattr("maxmargin.data.svmlight._BLOCK_BYTES", 1 << 14)
    good = b"1 1:1 2:0.5\n" * 9000
    for text, problem in ((b"1 1:x\n" + good, ":1: the value"), (good, "damaged or cut off gzip data")):
        cut = gzip.compress(text)[:-20]
        for threads in (1, 2, 20):
            with pytest.raises(FileFormatError, match=problem):
                read_svmlight(io.BytesIO(cut), threads=threads)


def test_numbers_that_wrap_around() -> None:
    """Twenty digits and more are 0, or small, modulo 2**64."""
    whole = [2**64, 2**64 * 10, 2**65, 2**64 + 5, 2**63, 2**63 - 1, 10**18 - 1, 10**18, 10**19 - 1, 10**19]
    numbers = [
        f"{sign}{number}{tail}" for number in whole for sign in ("", "-") for tail in ("", ".", ".0", ".5", "e-3")
    ]
    numbers += ["0" * 25 + "1.5", "0." + "0" * 25 + "1", "-0", "-.0", "0.012345678901234567", "0.0012345678901234567"]
    data = read_svmlight(io.StringIO("".join(f"{number} 1:{number}\n" for number in numbers)))
    expected = np.array([float(number) for number in numbers]).tobytes()
    assert data.X.data.tobytes() == expected
    assert data.y.tobytes() == expected


@pytest.mark.parametrize(
    "end", ["1", "1 ", "1 1", "1 1:", "1 1:2", "1 q", "1 qid:", "1 qid:-", "1 cost", "1 cost:", "1 1:2e"]
)
def test_the_last_line_needs_no_end(end: str) -> None:
    for text in (end, "2 1:1\n" + end):
        with_end, without = outcome((text + "\n").encode()), outcome(text.encode())
        assert with_end == without


def test_mapped_arrays_are_read_only_and_outlive_the_source(tmp_path: Path, rng: np.random.Generator) -> None:
    path, folder = tmp_path / "rows.svm", tmp_path / "temporary"
    text = some_rows(rng, 300)
    path.write_bytes(text)
    folder.mkdir()
    kept = read_svmlight(path)
    mapped = read_svmlight(path, memory=1000, folder=folder)
    path.unlink()
    assert os.listdir(folder) == []
    for one, other in zip(columns_of(kept), columns_of(mapped)):
        if one is not None:
            assert one.flags.writeable
            assert not other.flags.writeable
            assert one.dtype == other.dtype
            assert np.array_equal(one, other)
    assert mapped.X.indices.dtype == mapped.X.indptr.dtype == np.int32
    assert (mapped.X != kept.X).nnz == 0
    mapped.X.check_format(full_check=True)


def test_a_limit_that_is_not_reached_changes_nothing(rng: np.random.Generator) -> None:
    text = some_rows(rng, 100)
    needed = sum(part.nbytes for part in columns_of(read_svmlight(io.BytesIO(text))) if part is not None)
    assert read_svmlight(io.BytesIO(text), memory=needed).y.flags.writeable
    assert not read_svmlight(io.BytesIO(text), memory=needed - 1).y.flags.writeable


@pytest.mark.skipif(os.name != "posix", reason="elsewhere an open file keeps its name")
def test_temporary_files_have_no_name_and_are_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing stays behind after a kill, for there is nothing at any time."""
    monkeypatch.setattr("maxmargin.data.svmlight._BLOCK_BYTES", 4096)

    class Watching(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            seen.extend(os.listdir(tmp_path))
            return super().read(size)

    seen: list[str] = []
    lines: list[int | None] = []
    open_files = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else None
    for end in (b"", b"1 1:x\n"):
        try:
            read_svmlight(Watching(b"1 1:1\n" * 5000 + end), memory=0, folder=tmp_path)
        except FileFormatError as error:
            lines.append(error.line)
    assert lines == [5001]
    assert seen == []
    if open_files is not None:
        assert len(os.listdir("/proc/self/fd")) == open_files


def test_a_full_disk_is_one_clear_line(run_python: Callable[..., str], tmp_path: Path) -> None:
    pytest.importorskip("resource")
    code = (
        "import io, resource\n"
        "from maxmargin.data import read_svmlight\n"
        "rows = io.BytesIO(b'1 1:1 2:2 3:3\\n' * 60000)\n"
        "read_svmlight(io.BytesIO(b'1 1:1'))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
        f"try: read_svmlight(rows, memory=100_000, folder={str(tmp_path)!r})\n"
        "except OSError as error: print(error.errno, error)\n"
    )
    printed = run_python(code).splitlines()
    assert len(printed) == 1
    assert "choose another folder" in printed[0]
    assert str(tmp_path) in printed[0]
    assert os.listdir(tmp_path) == []


def test_a_folder_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="choose another folder.*nowhere"):
        read_svmlight(io.BytesIO(b"1 1:1"), memory=0, folder=tmp_path / "nowhere")


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs the peak of memory that /proc tells")
def test_the_peak_of_memory_stays_under_the_limit(run_python: Callable[..., str], tmp_path: Path) -> None:
    """The rows need five times the limit. What getrusage tells begins with the peak of the parent process, VmHWM not."""
    path = tmp_path / "rows.svm"
    block = "".join(
        f"{k % 2} " + " ".join(f"{j}:0.{k * 31 + j}" for j in range(1 + k % 7, 200, 3)) + "\n" for k in range(500)
    )
    path.write_text(block * 110)
    code = (
        "import io\n"
        "from maxmargin.data import read_svmlight\n"
        "import scipy.sparse\n"
        "def peak(): return int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0]) << 10\n"
        "read_svmlight(io.BytesIO(b'1 1:1'))\n"
        "for memory in (8_000_000, None):\n"
        "    before = peak()\n"
        f"    data = read_svmlight({str(path)!r}, memory=memory, threads=1 + bool(memory))\n"
        "    print(peak() - before, data.X.data.nbytes + data.X.indices.nbytes)\n"
        "    del data\n"
    )
    (bounded, needed), (free, _) = (map(int, line.split()) for line in run_python(code).splitlines())
    assert needed > 5 * 8_000_000
    assert bounded < 8_000_000 + 16_000_000
    assert free > needed - 8_000_000  # the measure can fail


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_fit_on_mapped_rows_is_the_fit_in_memory(dtype: Any, rng: np.random.Generator) -> None:
    text = some_rows(rng, 5000, separable=True)
    kept, mapped = (read_svmlight(io.BytesIO(text), memory=memory, dtype=dtype) for memory in (None, 10_000))
    assert kept.X.nnz > 100_000  # small sets are copied by the estimator
    assert not mapped.X.data.flags.writeable
    models = [
        SVMClassifier(C=0.1, penalize_intercept=True, random_state=0).fit(data.X, data.y) for data in (kept, mapped)
    ]
    assert np.array_equal(models[0].coef_, models[1].coef_)
    assert np.array_equal(models[0].intercept_, models[1].intercept_)
    assert np.array_equal(models[0].predict(kept.X), models[1].predict(mapped.X))
    assert np.mean(models[1].predict(mapped.X) == mapped.y) > 0.95


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_band_of_mapped_rows_is_the_band_in_memory(dtype: Any) -> None:
    """The interior point method takes few of many rows, with means of others below them."""
    rng = np.random.default_rng(0)
    rows = rng.integers(-2, 3, (20_000, 8))
    y = np.where(rows @ rng.normal(size=8) + rng.normal(size=20_000) > 0.0, 1, -1)
    lines = (
        f"{target} " + " ".join(f"{k + 1}:{value}" for k, value in enumerate(row) if value)
        for target, row in zip(y, rows, strict=True)
    )
    text = ("\n".join(lines) + "\n").encode()
    kept, mapped = (read_svmlight(io.BytesIO(text), memory=memory, dtype=dtype) for memory in (None, 10_000))
    models = [
        SVMClassifier(solver="interior_point", tol=1e-5, random_state=0).fit(data.X, data.y) for data in (kept, mapped)
    ]
    assert models[1].certificate_.relative_gap <= 1e-5
    assert np.array_equal(models[0].coef_, models[1].coef_)
    below = sp.csr_matrix(np.arange(16.0).reshape(2, 8))
    chosen = np.array([3, 1, 19_999])
    one, other = (rows_of(data.X, chosen, below=below) for data in (kept, mapped))
    assert not other.data.flags.writeable
    assert other.dtype == dtype
    assert np.array_equal(one.toarray(), other.toarray())


def test_columns_grow_wider_in_memory_and_in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maxmargin.data._mapped_columns._PIECE", 3)
    for memory in (None, 0, 30, 100):
        columns = Columns(memory)
        columns.append("a", np.arange(10, dtype=np.int32))
        columns.append("a", np.array([2**40]))
        columns.append("b", np.zeros(0, np.int32))
        columns.append("a", np.arange(3, dtype=np.int32))
        columns.fill("c", 2.5, 7)
        columns.rewrite("c", lambda values: np.array(["low", "high"])[(values > 2).astype(int)])
        columns.widen("b", np.int64)
        a, b, c = (columns.take(name) for name in "abc")
        assert a.dtype == b.dtype == np.int64
        assert a.tolist() == [*range(10), 2**40, 0, 1, 2]
        assert b.tolist() == []
        assert c.tolist() == ["high"] * 7
        assert a.flags.writeable == (memory is None)


def test_indices_beyond_32_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where 32 bits end is moved, to a number of entries and an index that a test has."""
    rows = [f"{k} {k + 1}:{k / 2}\n" for k in range(300)]
    text = "".join(rows).encode()
    plain = read_svmlight(io.BytesIO(text))
    for name in ("svmlight", "_svmlight_block"):
        monkeypatch.setattr(f"maxmargin.data.{name}.INT32_MAX", 100)
    monkeypatch.setattr("maxmargin.data.svmlight._BLOCK_BYTES", 64)
    for zero_based in (False, "auto"):
        for memory in (None, 0):
            data = read_svmlight(io.BytesIO(text), memory=memory, zero_based=zero_based)
            assert (data.X != plain.X).nnz == 0
            assert data.X.shape == plain.X.shape
    huge = read_svmlight(io.BytesIO(b"1 1:1\n1 3000000000:2\n"), memory=0)
    assert huge.X.indices.dtype == huge.X.indptr.dtype == np.int64
    assert huge.X.indices.tolist() == [0, 2_999_999_999]


def test_the_new_options_are_checked() -> None:
    for options in (dict(threads=0), dict(memory=-1), dict(folder="x")):
        with pytest.raises(ValueError, match=next(iter(options))):
            read_svmlight(io.BytesIO(b"1 1:1\n"), **options)  # type: ignore[arg-type]


def test_files_and_threads_without_compiled_code(run_python: Callable[..., str]) -> None:
    code = (
        "import io; from maxmargin.data import read_svmlight\n"
        "text = b'1 qid:-9223372036854775808 1:18446744073709551616 2:.5e1\\n2 qid:1 3:123456789012345678901\\n' * 3\n"
        "d = read_svmlight(io.BytesIO(text), memory=0, threads=2)\n"
        "print(d.X.toarray().tolist()[:2], d.y.tolist()[:2], d.qid.tolist()[:2])\n"
    )
    expected = [[18446744073709551616.0, 5.0, 0.0], [0.0, 0.0, 123456789012345678901.0]]
    printed = run_python(code, env={"NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "error::RuntimeWarning"})
    assert printed.strip() == f"{expected} [1.0, 2.0] [-9223372036854775808, 1]"


@pytest.mark.parametrize("name", ["a9a_adult/a9a.gz", "rcv1_small/rcv1_train.gz"])
def test_real_files_are_the_same_every_way(data_folder: Path, name: str) -> None:
    with gzip.open(data_folder / name) as stream:
        text = stream.read()
    outcomes = [outcome(text, **way) for way in WAYS]
    assert all(each == outcomes[0] for each in outcomes)
