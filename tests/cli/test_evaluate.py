"""``maxmargin evaluate``: the figures are those of ``maxmargin.metrics``, for models and for files of predictions."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from maxmargin.data import read_trees
from maxmargin.metrics import bracket_scores, classification_report, span_scores

Run = Callable[..., Any]
WIDE = 10**6

TRUE = [["A", "B"], ["C", "A", "Z"]]
PREDICTED = [["A", "B"], ["C", "B", "C"]]


def as_columns(sequences: list[list[str]]) -> str:
    return "\n".join("".join(f"word {label}\n" for label in labels) for labels in sequences)


def as_lines(sequences: list[list[str]]) -> str:
    return "\n".join("".join(f"{label}\n" for label in labels) for labels in sequences)


def rows_of(table: str) -> dict[str, list[str]]:
    return {line.split()[0]: line.split()[1:] for line in table.splitlines() if line}


def test_labels_unknown_to_the_model_stand_verbatim(ok: Run, folder: Path) -> None:
    """They count as errors, wherever the predictions come from."""
    Path("true.conll").write_text(as_columns(TRUE))
    Path("pred.conll").write_text(as_columns(PREDICTED))
    Path("true.crf").write_text("\n".join("".join(f"{label}\tw=1\n" for label in labels) for labels in TRUE))
    Path("pred.txt").write_text(as_lines(PREDICTED))
    for predictions, data in (("pred.conll", "true.conll"), ("pred.txt", "true.crf")):
        out = ok("evaluate", "--predictions", predictions, data).out
        assert out == classification_report(TRUE, PREDICTED).table(WIDE) + "\n"
        rows = rows_of(out)
        assert rows["Z"] == ["0.0000", "0.0000", "0.0000", "1", "0"]
        assert rows["A"][1] == "0.5000"
        assert rows["accuracy"][:3] == ["0.6000", "of", "5,"]


def test_labels_unknown_to_a_model(ok: Run, columns: str, crfsuite: str, svm: str) -> None:
    odd = "'(null)' or so"
    for path, text in (
        (columns, "The DT (null)\ncat NN ⟨neu⟩\n"),
        (crfsuite, "(null)\tw=the\n⟨neu⟩\tw=cat\n"),
        (svm, "(null) 1:1\n⟨neu⟩ 2:1\n"),
    ):
        ok("train", path, "-o", "m")
        rows = rows_of(ok("evaluate", "m", "-", stdin=text).out)
        for label in ("(null)", "⟨neu⟩"):
            assert rows[label] == ["0.0000", "0.0000", "0.0000", "1", "0"], odd
        assert rows["accuracy"][0] == "0.0000"


def test_a_long_label_is_not_cut(ok: Run, folder: Path) -> None:
    label = "x" * 300
    Path("true.svm").write_text(f"{label} 1:1\nb 1:2\n")
    assert f"\n{label} " in ok("evaluate", "--predictions", "-", "true.svm", stdin=f"{label}\nb\n").out


def test_spans_are_scored_where_labels_speak_of_spans(ok: Run, folder: Path) -> None:
    true = [["B-NP", "I-NP", "O", "B-VP"], ["B-NP", "B-NP"]]
    predicted = [["B-NP", "I-NP", "I-NP", "B-VP"], ["B-NP", "I-NP"]]
    Path("true.conll").write_text(as_columns(true))
    out = ok("evaluate", "--predictions", "-", "true.conll", stdin=as_columns(predicted)).out
    assert out.endswith("\n\nspans\n\n" + span_scores(true, predicted).table(WIDE) + "\n")
    assert rows_of(out)["NP"][:3] == ["0.0000", "0.0000", "0.0000"]
    assert rows_of(out)["VP"][:3] == ["1.0000", "1.0000", "1.0000"]


@pytest.mark.parametrize("labels", [["B", "I", "O", "S"], ["DT", "NN"], ["B-NP", "NN"], ["b-x", "i-x"]])
def test_other_labels_have_no_spans(labels: list[str], ok: Run, folder: Path) -> None:
    Path("true.conll").write_text(as_columns([labels]))
    assert "spans" not in ok("evaluate", "--predictions", "true.conll", "true.conll").out


def test_a_model_and_its_predictions_have_one_report(ok: Run, svm: str, columns: str, crfsuite: str) -> None:
    for path in (svm, columns, crfsuite):
        ok("train", path, "-o", "m", "--max-passes", "1", "--tol", "0.9")
        ok("predict", "m", path, "-o", "predicted")
        assert ok("evaluate", "m", path).out == ok("evaluate", "--predictions", "predicted", path).out


def test_numbers_are_compared_as_numbers(ok: Run, folder: Path) -> None:
    Path("true.svm").write_text("+1 1:1\n-1 2:1\n1.0 3:1\n2 3:1\n")
    out = ok("evaluate", "--predictions", "-", "true.svm", stdin="1\n-1\n1\n1\n").out
    assert out == classification_report(["1", "-1", "1", "2"], ["1", "-1", "1", "1"]).table(WIDE) + "\n"


def test_trees_are_scored_by_brackets(ok: Run, folder: Path) -> None:
    Path("true.mrg").write_text("(S (NP (DT the) (NN cat)) (VP (VBZ sits)))\n(S (NP (NNS dogs)) (VP (VBP bark)))\n")
    Path("pred.mrg").write_text("(S (NP (DT the)) (VP (NN cat) (VBZ sits)))\n(S (NP (NNS dogs)) (VP (VBP bark)))\n")
    expected = bracket_scores(read_trees("true.mrg"), read_trees("pred.mrg"))
    assert ok("evaluate", "--predictions", "pred.mrg", "true.mrg").out == expected.table(WIDE) + "\n"
    assert 0 < expected.overall.f1 < 1


@pytest.mark.parametrize(
    ("data", "predictions", "message"),
    [
        ("word A\n\nword B\n", "word A\n", "true.conll (y_true) and - (y_pred): y_true has 2 sequences, y_pred 1"),
        ("a A\nb B\n", "a A\n", "true.conll (y_true) and - (y_pred): sequence 0: y_true has 2 labels, y_pred 1"),
        ("word A\nword\n", "word A\n", "true.conll:2: 1 columns where line 1 has 2"),
        ("word A\n", "word A\nword\n", "<stdin>:2: 1 columns where line 1 has 2"),
        ("word A\n", "", "<stdin>: no data in this file"),
        ("", "word A\n", "true.conll: no data in this file"),
    ],
)
def test_what_does_not_belong_together(data: str, predictions: str, message: str, run: Run, folder: Path) -> None:
    Path("true.conll").write_text(data)
    outcome = run("evaluate", "--predictions", "-", "true.conll", "-q", stdin=predictions)
    assert outcome.status == 2
    assert outcome.error.startswith(message)


def test_threads_mean_nothing_where_nothing_is_predicted(run: Run, ok: Run, svm: str) -> None:
    ok("train", svm, "-o", "m")
    Path("p").write_text(ok("predict", "m", svm).out)
    assert ok("evaluate", "m", svm, "--jobs", "2").out == ok("evaluate", "--predictions", "p", svm).out
    outcome = run("evaluate", "--predictions", "p", svm, "--jobs", "2")
    assert outcome.status == 2
    assert outcome.error == "--jobs cannot go with --predictions: nothing is predicted; it is for MODEL and DATA"


def test_data_without_labels_are_refused(run: Run, ok: Run, svm: str, columns: str) -> None:
    for path, text in ((svm, "1:1\n2:1\n"), (columns, "The DT\n")):
        ok("train", path, "-o", "m")
        outcome = run("evaluate", "m", "-", stdin=text)
        assert (outcome.status, outcome.error) == (2, "<stdin>: has no labels to compare with")


def test_on_a_terminal_the_table_keeps_to_its_width(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from maxmargin.cli import evaluate

    monkeypatch.setattr(evaluate.sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "70")
    Path("true.svm").write_text(f"{'x' * 300} 1:1\nb 1:2\n")
    task: Any = evaluate.load_task("multiclass")
    text = task.report(["x" * 300, "b"], ["b", "b"], 69)
    assert max(map(len, text.splitlines())) <= 69
    assert re.search(r"xxx\.\.\. ", text)


def test_data_in_the_place_of_predictions(run: Run, svm: str, crfsuite: str, columns: str) -> None:
    outcome = run("evaluate", "--predictions", svm, svm, "-q")
    assert outcome.error == "train.svm:1: a row with features where a predicted label stands alone: '1 1:2 5:1'"
    outcome = run("evaluate", "--predictions", crfsuite, crfsuite, "-q")
    assert outcome.error.startswith("train.crf:1: a TAB where a predicted label stands alone: ")
    margins = "".join(f"{line} 0.5\n" if line else "\n" for line in Path(columns).read_text().splitlines())
    outcome = run("evaluate", "--predictions", "-", columns, "-q", stdin=margins)
    assert outcome.status == 0
    assert outcome.err == "maxmargin: no label of train.conll occurs in what - predicts: do they belong together?\n"


def test_no_data_to_evaluate_on(run: Run, ok: Run, svm: str, columns: str, crfsuite: str) -> None:
    for path in (svm, columns, crfsuite):
        ok("train", path, "-o", "m")
        assert run("evaluate", "m", "-", stdin="\n").error == "<stdin>: no data in this file"
