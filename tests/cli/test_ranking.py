"""``--task ranking``: graded documents of queries, from the file to the report."""

from __future__ import annotations

import gzip
import json
import math
import re
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from maxmargin import SVMRanker, load_model, save_model
from maxmargin.data import read_svmlight
from maxmargin.metrics import ndcg, precision_at, swapped_pairs

Run = Callable[..., Any]


@pytest.fixture
def letor(folder: Path) -> str:
    """Documents of six queries, as LETOR writes them; query 9 comes twice, query 5 has one grade, 6 one document."""
    rng = np.random.default_rng(0)
    lines = ["# grade qid features # document"]
    for query, size in ((9, 5), (4, 6), (5, 3), (6, 1), (4000000000123, 7), (9, 4)):
        for k in range(size):
            x = rng.uniform(size=4)
            grade = 1 if query in (5, 6) else int(min(2, 3 * (0.7 * x[0] + 0.3 * x[2])))
            features = " ".join(f"{j + 1}:{value:.6f}" for j, value in enumerate(x))
            lines.append(f"{grade} qid:{query} {features} #docid = GX{query}-{k} inc = 1 prob = 0.{k}")
    (folder / "letor.txt").write_text("\n".join(lines) + "\n")
    return "letor.txt"


def test_a_model_is_the_one_of_the_library(run: Run, ok: Run, letor: str) -> None:
    outcome = run("train", letor, "-o", "m", "-C", "0.3", "--loss", "squared_hinge", "--tol", "1e-6")
    assert outcome.err.startswith("maxmargin: letor.txt: svmlight (by its first lines), task ranking\n")
    data = read_svmlight(letor)
    expected = SVMRanker(C=0.3, loss="squared_hinge", tol=1e-6, random_state=0).fit(data.X, data.y, data.qid)
    model = load_model("m")
    assert np.array_equal(model.coef_, expected.coef_)
    assert model.get_params() == expected.get_params()
    scores = [float(line) for line in ok("predict", "m", letor).out.splitlines()]
    assert scores == expected.predict(data.X).tolist()


def test_the_way_the_data_come_does_not_matter(ok: Run, letor: str) -> None:
    data = Path(letor).read_bytes()
    ok("train", letor, "-o", "m")
    expected, printed = load_model("m").coef_, ok("predict", "m", letor).out
    for changed in (data, gzip.compress(data), data.replace(b"\n", b"\r\n")):
        ok("train", "-", "-o", "m2", stdin=changed)
        assert np.array_equal(load_model("m2").coef_, expected)
        assert ok("predict", "m", "-", stdin=changed).out == printed
    bare = re.sub(rb"(?m)^\d+ qid:\d+ ", b"", data)
    assert ok("predict", "m", "-", stdin=bare).out == printed
    assert ok("predict", "m", "-", stdin=re.sub(rb"(?m)^\d+ ", b"? ", data)).out == printed
    assert ok("predict", "m", "-", stdin="").out == ""


def test_features_of_other_data(run: Run, ok: Run, letor: str) -> None:
    ok("train", letor, "-o", "m")
    w = load_model("m").coef_
    outcome = run("predict", "m", "-", stdin="0 qid:1 1:2\n0 qid:1 2:1 5:7 6:8\n")
    assert [float(line) for line in outcome.out.splitlines()] == [2 * w[0], w[1]]
    assert outcome.err == "maxmargin: <stdin>: 2 values of features beyond the 4 of the model are left out\n"


def by_hand(grade: Any, score: Any, query: Any) -> tuple[float, dict[int, float]]:
    """Share of swapped pairs and NDCG, from their definitions; no two scores of a query are equal."""
    pairs = wrong = 0
    values: dict[int, list[float]] = {1: [], 3: [], 5: [], 10: []}
    for q in sorted(set(query)):
        rows = [i for i in range(len(grade)) if query[i] == q]
        for i, j in combinations(rows, 2):
            if grade[i] != grade[j]:
                pairs += 1
                wrong += (grade[i] < grade[j]) != (score[i] < score[j])
        found, best = sorted(rows, key=lambda i: -score[i]), sorted(rows, key=lambda i: -grade[i])
        for k, means in values.items():
            gain, most = (sum(grade[i] / math.log2(r + 2) for r, i in enumerate(order[:k])) for order in (found, best))
            if most > 0:
                means.append(gain / most)
    return wrong / pairs, {k: sum(means) / len(means) for k, means in values.items()}


def test_the_report(ok: Run, letor: str) -> None:
    ok("train", letor, "-o", "m", "--max-passes", "3", "--tol", "0.5", "-C", "0.001")
    out = ok("evaluate", "m", letor).out
    data = read_svmlight(letor)
    score = load_model("m").predict(data.X)
    swapped, gains = by_hand(data.y, score, data.qid.tolist())
    assert swapped == pytest.approx(swapped_pairs(data.y, score, data.qid))
    lines = out.splitlines()
    for line, (k, gain) in zip(lines[1:], gains.items()):
        powers = ndcg(data.y, score, data.qid, k=k, gain="exponential")
        precision = precision_at(data.y, score, data.qid, k=k)
        assert line.split() == [str(k), f"{gain:.4f}", f"{powers:.4f}", f"{precision:.4f}"]
    assert 0 < swapped < 1
    assert f"swapped pairs  {swapped:.4f}" in lines
    assert "of 26 documents, 5 queries" in lines
    assert "mean over the 5 queries with a grade above 0" in out
    ok("predict", "m", letor, "-o", "scores.gz")
    assert ok("evaluate", "--predictions", "scores.gz", letor).out == out
    assert ok("train", letor, "-o", "m", "--max-passes", "3", "--tol", "0.5", "-C", "0.001", "--test", letor).out == out


def test_figures_that_are_not_defined_are_dashes(ok: Run, folder: Path) -> None:
    for text, scores, expected in (
        ("1 qid:1 1:1\n1 qid:1 1:2\n0 qid:2 1:3\n", "1\n2\n3\n", ["1.0000 1.0000 0.5000", "-"]),
        ("-1 qid:1 1:1\n-2 qid:1 1:2\n", "1\n2\n", ["- - 0.0000", "1.0000"]),
        ("0 qid:1 1:1\n0 qid:1 1:2\n", "1\n2\n", ["- - 0.0000", "-"]),
        ("5000 qid:1 1:1\n0 qid:1 1:2\n", "1\n1\n", ["0.5000 - 0.5000", "0.5000"]),
    ):
        Path("x.txt").write_text(text)
        lines = ok("evaluate", "--predictions", "-", "x.txt", stdin=scores).out.splitlines()
        assert lines[1].split()[1:] == expected[0].split()
        shown = next(line for line in lines if line.startswith("swapped"))
        assert shown.split()[2] == expected[1]
        assert shown.endswith("(no query has two grades)") == (expected[1] == "-")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 qid:1 1:1\nx qid:1 1:2\n", "x.txt:2: the label is not a number: 'x'"),
        ("1 qid:1 1:1\n2,5 qid:1 1:2\n", "x.txt:2: the label is not a number: '2,5'"),
        ("1 qid:1 1:1\nnan qid:1 1:2\n", "x.txt:2: the label is not a finite number: 'nan'"),
        ("1 qid:1 1:1\n\n2 1:2\n", "x.txt:3: this row has no qid while others have one"),
        ("1 qid:1 1:1\n2 qid:2 1:2\n1 qid:3 1:1\n1 qid:3 1:2\n", "x.txt: no comparable pairs among 4 docum"),
        (
            "1 qid:1 cost:2 1:1\n2 qid:1 1:2\n1 qid:2 1:2\n",
            "x.txt:2: an earlier row of the same query has cost:2; a query has one cost: 'cost:1'",
        ),
        ("1 qid:1\n2 qid:1\n", "x.txt: no row has a feature"),
        ("1 qid:1 99999999999:1\n2 qid:1 1:2\n", "x.txt:1: a feature number so large that learning would take"),
    ],
)
def test_faults_in_the_data(text: str, message: str, run: Run, folder: Path) -> None:
    Path("x.txt").write_text(text)
    outcome = run("train", "x.txt", "-o", "m", "-q", "--task", "ranking", "--format", "svmlight")
    assert outcome.status == 2
    assert outcome.error.startswith(message)
    assert not Path("m").exists()


def test_faults_in_what_is_compared(run: Run, ok: Run, letor: str) -> None:
    ok("train", letor, "-o", "m")
    assert run("evaluate", "m", "-", stdin="1:1\n2:1\n").error == "<stdin>: has no labels to compare with"
    assert run("evaluate", "m", "-", stdin="? qid:1 1:1\n").error == "<stdin>:1: the label is not a number: '?'"
    assert run("evaluate", "m", "-", stdin="\n").error == "<stdin>: no data in this file"
    outcome = run("evaluate", "--predictions", "-", letor, "-q", stdin="1\n2\n")
    assert outcome.error == "letor.txt (y_true) and - (y_pred): y_true has 26 documents, y_pred 2"
    outcome = run("evaluate", "--predictions", letor, letor, "-q")
    assert outcome.error.startswith("letor.txt:1: a predicted value that is not a number: '# grade")


def test_without_a_qid_there_is_one_query(run: Run, ok: Run, folder: Path) -> None:
    Path("x.txt").write_text("1 1:1 2:1\n2.5 1:2\n0 2:2\n")
    outcome = run("train", "x.txt", "-o", "m", "-q", "--task", "ranking")
    assert outcome.err == "maxmargin: x.txt: no row has a qid: all are taken for documents of one query\n"
    data = read_svmlight("x.txt")
    assert np.array_equal(load_model("m").coef_, SVMRanker(random_state=0).fit(data.X, data.y).coef_)
    assert "of 3 documents, 1 query" in ok("evaluate", "m", "x.txt").out


def test_a_cost_is_the_weight_of_a_query(ok: Run, folder: Path) -> None:
    Path("w.txt").write_text("1 qid:1 cost:2 1:1\n0 qid:1 cost:2 2:1\n1 qid:2 cost:1 2:2 3:1\n0 qid:2 3:2\n")
    Path("r.txt").write_text("1 qid:1 1:1\n0 qid:1 2:1\n1 qid:2 2:2 3:1\n0 qid:2 3:2\n1 qid:3 1:1\n0 qid:3 2:1\n")
    for name in "wr":
        ok("train", f"{name}.txt", "-o", name, "--tol", "1e-9", "-C", "0.1")
    assert load_model("w").coef_ == pytest.approx(load_model("r").coef_, rel=1e-6)


def test_a_warm_start_and_an_interruption(run: Run, ok: Run, letor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ok("train", letor, "-o", "m", "-C", "3", "--tol", "1e-8")
    outcome = run("train", letor, "-o", "m2", "--warm-start", "m")
    assert outcome.err.startswith("maxmargin: letor.txt: svmlight (as for m), task ranking\n")
    assert load_model("m2").certificate_.passes < load_model("m").certificate_.passes
    assert load_model("m2").get_params()["C"] == 3
    Path("wide.txt").write_text("1 qid:1 9:1\n0 qid:1 1:1\n")
    outcome = run("train", "wide.txt", "-o", "m2", "--warm-start", "m", "-q")
    assert outcome.err == "maxmargin: m is of no use as a start: the data have features beyond the 4 of the model\n"

    def interrupt(record: Any, w: Any) -> None:
        raise KeyboardInterrupt

    fit = SVMRanker.fit
    monkeypatch.setattr(SVMRanker, "fit", lambda self, *a, **k: fit(self.set_params(callback=interrupt), *a, **k))
    outcome = run("train", letor, "-o", "m", "--tol", "0", "-q")
    assert outcome.status == 130
    assert re.fullmatch(
        r"maxmargin: interrupted; wrote m \(.* kB\): the best model so far \(--warm-start m goes on\)\n", outcome.err
    )


def test_what_there_is_to_see(ok: Run, letor: str) -> None:
    ok("train", letor, "-o", "m")
    model, found = load_model("m"), json.loads(ok("inspect", "m", "--json").out)
    assert (found["task"], found["estimator"], found["features"]) == ("ranking", "SVMRanker", 4)
    assert "labels" not in found
    (entry,) = found["strongest_features"]
    order = np.argsort(-np.abs(model.coef_))
    assert entry["features"] == [[int(k) + 1, model.coef_[k]] for k in order]
    out = ok("inspect", "m", "--top", "1").out
    assert out.startswith("m: SVMRanker (")
    assert f"\nweights\n  {model.coef_[order[0]]:10.4f}  {order[0] + 1}\n" in out
    for line in str(model.certificate_).splitlines():
        assert line in out


def test_a_ranker_saved_from_python(ok: Run, folder: Path) -> None:
    save_model(SVMRanker().fit(np.eye(3), [2, 1, 0]), "m")
    first, second = (float(line) for line in ok("predict", "m", "-", stdin="1:1\n3:1\n").out.splitlines())
    assert first > second
    assert "task ranking" in ok("inspect", "m").out
    save_model(SVMRanker(C=math.inf).fit(np.eye(3), [2, 1, 0]), "m")  # the hard margin has no option of its own
    assert ok("predict", "m", "-", stdin="1:1\n3:1\n").out.splitlines()
    assert "task ranking" in ok("inspect", "m").out
    assert json.loads(ok("inspect", "m", "--json").out)["certificate"]["C"] is None


def test_solvers_by_name_and_side_by_side(ok: Run, letor: str) -> None:
    data = read_svmlight(letor)
    names = ["newton", "bundle", "subgradient"]
    out = ok("compare", letor, "-q", "-C", "0.1", "--test", letor, "--solvers", ",".join(names)).out
    header, *rows, measure = out.splitlines()
    assert (header.split()[-1], measure) == ("test", "test: share of swapped pairs")
    for name, row in zip(names, rows, strict=True):
        ok("train", letor, "-o", "m", "-C", "0.1", "--solver", name)
        model = load_model("m")
        expected = SVMRanker(C=0.1, solver=name, random_state=0).fit(data.X, data.y, data.qid)
        assert (model.solver, model.solver_) == (name, name)
        np.testing.assert_array_equal(model.coef_, expected.coef_)
        cells = row.split()
        assert (cells[0], cells[1]) == (name, str(model.certificate_.passes))
        assert cells[4] == f"{model.certificate_.primal:.6g}"
        assert float(cells[7]) == pytest.approx(swapped_pairs(data.y, model.predict(data.X), data.qid), abs=6e-5)


def test_options_that_a_ranker_does_not_have(run: Run, ok: Run, letor: str) -> None:
    ok("train", letor, "-o", "m")
    for argv, message in (
        (
            ["train", letor, "--solver", "n_slack"],
            "--solver n_slack cannot go with task ranking, which has auto, newton, one_slack, bundle, gradient_",
        ),
        (["train", letor, "-C", "0"], "argument -C: must be a number > 0, not '0'"),
        (["train", letor, "--epsilon", "0"], "--epsilon cannot go with task ranking; it is for regression"),
        (
            ["train", letor, "--kernel", "rbf"],
            "--kernel cannot go with task ranking; it is for multiclass with --multi",
        ),
        (["train", letor, "--intercept", "none"], "--intercept cannot go with task ranking"),
        (["train", letor, "--jobs", "2"], "--jobs cannot go with task ranking"),
        (
            ["train", letor, "--loss", "zero_one"],
            "--loss zero_one cannot go with task ranking, which has hinge, square",
        ),
        (["train", letor, "--min-count", "2"], "--min-count cannot go with svmlight data (task ranking)"),
        (["predict", "m", letor, "--scores"], "--scores cannot go with m, a model of task ranking"),
        (["predict", "m", letor, "--k-best", "2"], "--k-best cannot go with m, a model of task ranking"),
        (["predict", "m", letor, "--jobs", "2"], "--jobs cannot go with m: SVMRanker has no threads of its own"),
        (["evaluate", "m", letor, "--task", "binary"], "--task binary cannot go with m, a model of task ranking"),
    ):
        outcome = run(*argv, *(["-o", "m2"] if argv[0] == "train" else []))
        assert outcome.status == 2
        assert outcome.error.startswith(message)
        assert not Path("m2").exists()
