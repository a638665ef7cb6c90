"""The names of ``maxmargin.data`` and when they are loaded."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from maxmargin import data


def test_every_public_name_is_there() -> None:
    for name in data.__all__:
        assert getattr(data, name).__name__ == name
        assert name in dir(data)
    with pytest.raises(AttributeError, match="nonsense"):
        data.nonsense  # noqa: B018


def test_nothing_heavy_is_loaded_before_it_is_used(run_python: Callable[..., str]) -> None:
    code = (
        "import io, sys\n"
        "from maxmargin import data\n"
        "heavy = {'numba', 'scipy', 'sklearn', 'matplotlib'}\n"
        "assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()\n"
        "for name in data.__all__: getattr(data, name)\n"
        "import maxmargin.metrics\n"
        "data.read_attributes(io.StringIO('A\\tx')), data.parse_tree('(A a)'), data.read_columns(io.StringIO('a b'))\n"
        "print(sorted(heavy & sys.modules.keys()))\n"
        "data.read_svmlight(io.StringIO('1 1:2'))\n"
        "print(sorted(heavy & sys.modules.keys()))\n"
    )
    before, after = run_python(code).splitlines()
    assert before == "[]"
    assert after == "['numba', 'scipy']"
