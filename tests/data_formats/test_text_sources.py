"""Opening, reading and replacing text files."""

from __future__ import annotations

import gzip
import io
import math
import os
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxmargin.data import read_attributes, read_columns, read_svmlight, read_trees, svmlight
from maxmargin.data._svmlight_block import _lone_return
from maxmargin.data.text import Lines, format_number, parse_number, read_blocks, replacing, writing
from maxmargin.errors import DataError, FileFormatError


def lines_of(source: Any) -> list[str]:
    return list(Lines(source))


KINDS = ["path", "str", "binary", "text", "unseekable", "stdin"]


@pytest.mark.parametrize(
    ("kind", "packed"),
    [(kind, packed) for kind in KINDS for packed in (False, True) if not (kind == "text" and packed)],
)
def test_every_source_reads_the_same(kind: str, packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = "\ufeffä b\r\n\r\nc".encode()
    path = tmp_path / "anyname"
    path.write_bytes(gzip.compress(raw) if packed else raw)
    with open(path, "rb") as binary, open(path, encoding="utf-8", newline="") as text:
        unseekable = io.BufferedReader(io.BytesIO(path.read_bytes()), 1)
        unseekable.seekable = lambda: False  # type: ignore[method-assign]
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(binary) if kind == "stdin" else sys.stdin)
        source = {
            "path": path,
            "str": str(path),
            "binary": binary,
            "text": text,
            "unseekable": unseekable,
            "stdin": "-",
        }
        assert lines_of(source[kind]) == ["ä b", "", "c"]
        assert b"".join(read_blocks(path, 3)) == raw.removeprefix(b"\xef\xbb\xbf")
        if kind in ("binary", "text"):
            assert not source[kind].closed  # type: ignore[union-attr]


@given(st.binary(max_size=60), st.integers(1, 9))
def test_blocks_are_whole_lines(raw: bytes, size: int) -> None:
    raw = raw.removeprefix(b"\x1f\x8b")
    blocks = list(read_blocks(io.BytesIO(raw), size))
    assert b"".join(blocks) in (raw, raw.removeprefix(b"\xef\xbb\xbf"))
    assert all(block.endswith(b"\n") for block in blocks[:-1])
    assert all(blocks)


def test_bytes_that_are_no_utf8_are_named_with_their_line(tmp_path: Path) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes(b"fine\nna\xefve\n")
    with pytest.raises(FileFormatError, match="UTF-8") as caught:
        lines_of(path)
    assert (caught.value.path, caught.value.line) == (str(path), 2)
    with pytest.raises(FileFormatError, match="UTF-8"):
        lines_of(io.StringIO("lone \ud800 surrogate"))


READERS: dict[str, tuple[Callable[..., Any], str]] = {
    "columns": (read_columns, "a B\nb I\n\nc O\n"),
    "tabs": (lambda source: read_columns(source, separator="\t"), "a b\tB\nb\tI\n\nc\tO\n"),
    "attributes": (read_attributes, "B\ta\nI\tb\n\nO\tc\n"),
    "rows": (read_svmlight, "1 1:1\n-1 1:2\n\n# c\n2 3:1\n"),
    "names": (lambda source: read_svmlight(source, labels="text", threads=2), "a 1:1\nb 1:2\n\n# c\nc 3:1\n"),
    "trees": (read_trees, "(S (NP a)\n(VP b))\n\n(NN c)\n"),
}


@pytest.mark.parametrize("name", READERS)
def test_a_carriage_return_within_a_line_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read, text = READERS[name]
    monkeypatch.setattr(svmlight, "_BLOCK_BYTES", 8)
    lines = text.splitlines(keepends=True)
    # old Macintosh files; one such place in the first or the last line; behind a line end of another kind
    cases = [(text.replace("\n", "\r"), 1), ("\ufeff" + text.replace("\n", "\r"), 1)]
    for number, line in enumerate(lines, 1):
        for at in range(1, len(line.rstrip())):
            broken = [*lines[: number - 1], f"{line[:at]}\r{line[at:]}", *lines[number:]]
            cases += [("".join(broken), number), ("".join(broken).replace("\n", "\r\n"), number)]
    for broken, number in cases:
        with pytest.raises(FileFormatError, match="a carriage return within the line; lines end with LF") as caught:
            read(io.BytesIO(broken.encode()))
        assert caught.value.line == number


@pytest.mark.parametrize("name", READERS)
def test_many_carriage_returns_take_no_longer(name: str) -> None:
    """Behind a line they are its end; looked at from each of them to the last one, they would take minutes."""
    read, text = READERS[name]
    many = b"\r" * 500_000
    began = time.perf_counter()
    read(io.BytesIO(text.encode().replace(b"\n", many + b"\n", 1)))
    with pytest.raises(FileFormatError, match="a carriage return within the line") as caught:
        read(io.BytesIO(text.encode() + text.encode()[:1] + many + b"1\n"))
    assert caught.value.line == text.count("\n") + 1
    assert time.perf_counter() - began < 10.0


def test_text_without_carriage_returns_is_not_counted() -> None:
    class Text(bytes):
        def count(self, *of: Any) -> int:
            raise AssertionError

    assert _lone_return(Text(b"1 1:1\n")) is None


@pytest.mark.parametrize("name", READERS)
def test_line_ends_of_windows_are_as_good(name: str) -> None:
    read, text = READERS[name]

    def shown(text: str) -> str:
        found = read(io.BytesIO(text.encode()))
        return repr(
            (found.X.toarray().tolist(), found.y, found.line)
            if hasattr(found, "line")
            else (found.X, found.y)
            if hasattr(found, "X")
            else [str(part) for part in found]
        )

    for end in ("\r\n", "\r\r\n"):
        assert shown(text.replace("\n", end)) == shown(text)
        assert shown(text.replace("\n", end).rstrip("\n")) == shown(text)


@pytest.mark.parametrize("damage", ["cut", "changed", "garbage behind", "empty"])
def test_damaged_gzip_is_one_clear_error(damage: str, tmp_path: Path) -> None:
    good = gzip.compress(bytes(range(10)) * 100)
    raw = {
        "cut": good[:-9],
        "changed": good[:12] + bytes([good[12] ^ 0xFF]) + good[13:],
        "garbage behind": good + b"garbage",
        "empty": b"",
    }[damage]
    path = tmp_path / "data.gz"
    path.write_bytes(raw)
    with pytest.raises(FileFormatError, match="gzip") as caught:
        list(read_blocks(path, 100))
    assert caught.value.path == str(path)


def test_a_missing_file_a_folder_and_nonsense_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        lines_of(tmp_path / "nowhere")
    with pytest.raises(IsADirectoryError, match=tmp_path.name):
        lines_of(tmp_path)
    with pytest.raises(TypeError, match="list"):
        lines_of(["a line"])


@pytest.mark.parametrize("name", ["out.txt", "out.txt.gz"])
def test_a_file_is_replaced_in_one_step(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    with writing(path) as stream:
        stream.write("new\nä\n")
        assert not path.exists()
    raw = path.read_bytes()
    assert (gzip.decompress(raw) if name.endswith(".gz") else raw) == "new\nä\n".encode()
    with writing(path) as stream:
        stream.write("new\nä\n")
    assert path.read_bytes() == raw  # equal data, equal file: no time stamp
    path.chmod(0o640)
    with pytest.raises(ZeroDivisionError), writing(path) as stream:
        stream.write("half" * (1 // 0))
    assert path.read_bytes() == raw
    assert os.listdir(tmp_path) == [name]
    with writing(path) as stream:
        stream.write("kept permissions")
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    with writing(tmp_path / "new"):
        pass
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_targets_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="No such folder"), writing(tmp_path / "no" / "file"):
        pass
    with pytest.raises(IsADirectoryError), writing(tmp_path):
        pass
    with pytest.raises(TypeError, match="int"), writing(3):  # type: ignore[arg-type]
        pass
    with pytest.raises(DataError, match="Unicode"), writing(tmp_path / "file") as stream:
        stream.write("\ud800")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "symlink") or os.name != "posix", reason="needs links and devices")
def test_links_are_followed_and_devices_written_directly(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with writing(tmp_path / "link") as stream:
        stream.write("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"
    with replacing("/dev/null") as file:
        file.write(b"away")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_open_files_and_standard_output_stay_open(capfdbinary: Any) -> None:
    binary, text = io.BytesIO(), io.StringIO()
    for target in (binary, text, "-"):
        with writing(target) as stream:
            stream.write("ä\n")
    assert binary.getvalue() == capfdbinary.readouterr().out == "ä\n".encode()
    assert text.getvalue() == "ä\n"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_read_back_the_same(value: float) -> None:
    back = parse_number(format_number(value))
    assert back == value
    assert math.copysign(1, back) == math.copysign(1, value)


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        ("", "not a number"),
        ("1_0", "not a number"),
        (" 1", "not a number"),
        ("0x1", "not a number"),
        ("1e", "not a number"),
        (".", "not a number"),
        ("١", "not a number"),
        ("nan", "finite"),
        ("-Inf", "finite"),
        ("1e999", "too large"),
    ],
)
def test_what_is_no_number(token: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_number(token)
