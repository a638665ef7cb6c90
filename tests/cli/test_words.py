"""Messages of the library speak of parameters; on the command line these are options."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import maxmargin
from maxmargin.cli.messages import as_options, counted

Run = Callable[..., Any]

# What the command line does not use, or what only the parameters of Python can bring about.
ELSEWHERE = (
    *("cli", "demo", "plots", "kkt.py", "path.py", "search.py", "compare.py", "_partial_fit.py", "hmm.py", "_items.py"),
    *("structured.py", "_chain_start.py", "_given_labels.py", "_transitions.py", "_calibration.py", "decoders"),
    *("structures/plain.py", "structures/base.py", "structures/values.py", "solvers/plain_oracle.py", "losses.py"),
    *("data/svmlight_writer.py", "data/svmhmm.py", "solvers/kernel/block_smo.py", "solvers/gradient_descent.py"),
    *("metrics.py", "model_file.py", "solvers/objective.py", "solvers/compiled_oracle.py"),
)
# Of other files: parameters that are options with a few values, numbers that an option has checked, labels of rows.
UNREACHABLE = re.compile(
    "must be|must not|must lie|fit_intercept=True|intercept_scaling|label_weight|sample_weight has shape|sample_weight\\[|"
    "predict_proba|min_count leaves out|fit_comparisons|comparisons|partial_fit|C=inf is for wins only|of a CustomLoss|"
    "no label in y is known|X and y|X is empty|X has|n_features=|y has 1 1 |mixes|margin times C|averaging=|"
    "variance_reduction|nu is for the loss|kernel='linear', or|a token is a collection"
)
# Names with underscores or with an equals sign, and single letters and words where they can be nothing but parameters.
OF_PYTHON = re.compile(
    r"(?<![-\w.])(?!(?:coordinate_ascent|interior_point|block_ascent|squared_hinge)\b)[a-zA-Z]+_[a-z_]+\b|\b[a-z]+=|SVM\(|\w+\(\w=|(?<![-\w'(])C\b(?!')|(?<![-\w'])X\b(?!')|\bin y\b|\by has\b|"
    r"\b(?:lower|raise|a smaller|a larger|with|give|or a|and) (?:c|tol|nu|gamma|degree|coef0|epsilon)\b"
)


def said(node: ast.AST) -> str | None:
    """A text, or a text with values in it, for each of which there is a 1."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(value.value) if isinstance(value, ast.Constant) else "'one'" if value.conversion == ord("r") else "1"
            for value in node.values
            if isinstance(value, ast.Constant | ast.FormattedValue)
        )
    return None


def messages() -> Iterator[tuple[str, str]]:
    """All texts of the library that are sentences, with the places where they stand."""
    root = Path(maxmargin.__file__).parent
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if name.startswith((*ELSEWHERE, "structures/check")):
            continue
        tree = ast.parse(path.read_text())
        inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        inside |= {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # documentation
        for node in ast.walk(tree):
            text = said(node)
            if text and text.count(" ") > 1 and id(node) not in inside and not UNREACHABLE.search(text):
                yield f"{name}:{getattr(node, 'lineno', 0)}", text


def test_no_message_speaks_of_parameters() -> None:
    found = [(where, text, as_options(text)) for where, text in messages()]
    assert len(found) > 200
    assert sum(text != spoken for _, text, spoken in found) > 30
    assert [(where, spoken) for where, _, spoken in found if OF_PYTHON.search(spoken)] == []


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (
            "SVMClassifier: C times the largest sample weight is 1e+60: too large to compute with (at most 1e+50); lower C "
            "or the weights",
            "SVMClassifier: -C times the largest weight is 1e+60: too large to compute with (at most 1e+50); lower -C or "
            "the weights (cost: of rows, @weight: of sequences, --class-weight)",
        ),
        ("the sums of the features overflow; scale the features down or lower C", "... or lower -C"),
        (
            "x: the weights overflow, as the steps are too long; give a smaller c, such as Subgradient(c=0.1), or scale the "
            "features down",
            "... as the steps are too long; scale the features down",
        ),
        ("the score overflowed; see that none is NaN (run check_structure)", "... see that none is NaN"),
        (
            "with this C the rows do not decide it: try another width or a larger C",
            "with this -C the rows ... a larger -C",
        ),
        ("scale X down, or give a smaller gamma (0.2) or degree (3)", "... a smaller --gamma (0.2) or --degree (3)"),
        ("class_weight names the class 'C', which is not in y", "--class-weight names the class 'C', ... in the data"),
        (
            "no pairs among n_samples=4 documents; check y and qid",
            "no pairs among 4 documents; check the grades and qid",
        ),
        ("x: ranking with C=inf: no", "x: ranking with -C inf: no"),
        ("SVMClassifier: coef0=1 and degree=3 alone", "SVMClassifier: --coef0 1 and --degree 3 alone"),
        ("with nu=0.1 the best margin is 0; raise nu", "with --nu 0.1 the best margin is 0; raise --nu"),
        ("y has values of up to 1e300; scale y down", "there are values of up to 1e300; scale the values down"),
        (
            "of them can take hours. An approximation takes minutes: make_pipeline(sklearn.kernel_approximation.Nystroem("
            "...), SVMClassifier(kernel='linear')), see docs/kernels.md; or say how long to try by max_time",
            "... An approximation takes minutes: in Python (docs/kernels.md), or --kernel linear; or say how long to try by "
            "--max-time",
        ),
        ("stopped by pass limit (tol 0.1) after 2 passes", "stopped by pass limit (--tol 0.1) after 2 passes"),
    ],
)
def test_what_is_said_instead(ours: str, theirs: str) -> None:
    begin, dots, end = theirs.partition("...")
    spoken = as_options(ours)
    assert spoken.startswith(begin)
    assert spoken.endswith(end) if dots else spoken == theirs


@pytest.mark.parametrize(
    "text",
    [
        "train.svm:17: the value is not a number: '3:C'",
        "C: No such file or directory",
        "class_weight.svm:3: the value is not a number: '3:x'",
        "max_passes/x: no such folder",
        "the label 'min_count' of the model cannot be written as a cell",
        "train.crf:3: the weight of 'gamma=3' is not a number",
        "label 'C' at 3 is neither O nor a letter of B, I, E, S with a type, such as B-NP",
        "train.conll:3: 4 columns where line 1 has 3: 'vitamin C times two'",
        "no label of X occurs in what C.conll teaches: do they belong together?",
    ],
)
def test_what_the_data_say_stays(text: str) -> None:
    assert as_options(text) == text


def test_a_cost_too_large_is_said_in_terms_of_options(run: Run, svm: str, columns: str) -> None:
    for data in ([svm, "--task", "binary"], [svm], [columns]):
        outcome = run("train", *data, "-o", "m", "-q", "-C", "1e60")
        assert outcome.status == 2
        assert ": -C times " in outcome.error
        assert "; lower -C or the weights (cost: of rows, @weight: of sequences, --class-weight)" in outcome.error


def test_one_is_not_several(ok: Run, folder: Path) -> None:
    assert counted(1, "row") == "1 row"
    assert counted(0, "row") == "0 rows"
    assert [counted(n, "query", "queries") for n in (1, 2)] == ["1 query", "2 queries"]
    Path("one.svm").write_text("1 1:1\n")
    out = ok("evaluate", "--predictions", "-", "one.svm", "--task", "ranking", stdin="0.5\n").out
    assert "of 1 document, 1 query\n" in out
    assert "the mean over the 1 query with a grade above 0" in out
    out = ok("evaluate", "--predictions", "-", "one.svm", "--task", "regression", stdin="0.5\n").out
    assert out.endswith("of 1 value\n")
