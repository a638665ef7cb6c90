"""CoNLL-U on the command line: words alone are learned, labelled and counted."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def line(number: str, form: str, label: str = "_") -> str:
    return "\t".join([number, form, "_", "_", "_", "_", "_", "_", "_", label]) + "\n"


SENTENCES = [
    [("the", "DET"), ("New York", "NOUN"), ("sits", "VERB")],
    [("a", "DET"), ("dog", "NOUN"), ("sits", "VERB")],
    [("the", "DET"), ("dog", "NOUN")],
]
DATA = "\n".join(
    "# text = made up\n"
    + "".join(line(str(k), *cells) for k, cells in enumerate(sentence, 1))
    + line(f"{len(sentence)}.1", "left out", "ODD")
    for sentence in SENTENCES
).replace(line("1", "a", "DET"), line("1-2", "adog", "ODD") + line("1", "a", "DET"))


@pytest.mark.parametrize("name", ["data.conllu", "data", "data.conllu.gz"])
def test_commands_read_conllu(name: str, run: Callable[..., Any], folder: Path) -> None:
    (folder / name).write_bytes(gzip.compress(DATA.encode()) if name.endswith(".gz") else DATA.encode())
    trained = run("train", name, "-o", "model")
    assert trained.status == 0
    assert "CoNLL-U: words alone, without ranges and empty nodes; the last column, MISC, is the label" in trained.err
    predicted = run("predict", "model", name)
    assert predicted.status == 0
    found = [text.split("\t") for text in predicted.out.splitlines() if text]
    assert [cells[0] for cells in found] == [*"123", *"123", *"12"]
    assert {len(cells) for cells in found} == {11}
    assert all(cells[-1] == cells[-2] for cells in found)
    assert found[1][1] == "New York"
    (folder / "predictions").write_text(predicted.out)
    for command in (["evaluate", "model", name], ["evaluate", "--predictions", "predictions", name]):
        report = run(*command, "-q")
        assert (report.status, report.err) == (0, "")
        assert re.search(r"accuracy +(100|1\.0)", report.out)
        assert "ODD" not in report.out
    piped = run("predict", "model", "-", stdin=DATA)
    assert piped.out == predicted.out


@pytest.mark.parametrize("command", [["train", "-o", "m"], ["compare"]])
def test_blanks_do_not_part_cells(command: list[str], run: Callable[..., Any], folder: Path) -> None:
    (folder / "x.conllu").write_text(DATA)
    outcome = run(*command, "x.conllu", "-q", "--separator", "blank")
    assert outcome.status == 2
    assert outcome.error.startswith("--separator blank cannot go with x.conllu, which is CoNLL-U: TABs part its cells")
    assert run(*command, "x.conllu", "-q", "--separator", "tab").status == 0


def test_commands_name_the_line_of_a_fault(run: Callable[..., Any], folder: Path) -> None:
    (folder / "x.conllu").write_text(DATA + "\n" + line("2", "the"))
    refused = run("train", "x.conllu", "-o", "model", "-q")
    assert refused.error.startswith("x.conllu:19: word 2 where word 1 is the next: ")
    (folder / "plain").write_text("the O\ndog O\n")
    (folder / "x.conllu").write_text(DATA)
    assert run("train", "plain", "-o", "model").status == 0
    refused = run("predict", "model", "x.conllu", "-q")
    assert refused.error.startswith("x.conllu:2: 10 columns where the model expects 1, or 2 with labels: ")
