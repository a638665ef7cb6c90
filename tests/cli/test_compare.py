"""``maxmargin compare``: the table is that of the library, and what cannot be compared is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from sklearn.datasets import dump_svmlight_file, load_breast_cancer
from sklearn.preprocessing import scale

from maxmargin import SVMClassifier, load_model
from maxmargin.cli import main
from maxmargin.cli.compare import _PICTURES

SEQUENCES = "the D\ndog N\nsleeps V\n\nthe D\ncat N\nsees V\nthe D\ndog N\n\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Training and test data of two classes."""
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    for name, part in (("train", slice(0, 300)), ("test", slice(300, 500))):
        dump_svmlight_file(X[part], y[part], str(tmp_path / f"{name}.svm"), zero_based=False)
    return str(tmp_path / "train.svm"), str(tmp_path / "test.svm")


def test_figures_are_those_of_train(files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "gaps.svg"
    names = ["interior_point", "coordinate_ascent"]
    line = ["compare", files[0], "-q", "--task", "binary", "-C", "0.1", "--test", files[1], "--tol", "1e-4"]
    assert main([*line, "--solvers", ",".join(names), "--picture", str(picture)]) == 0
    header, *rows, measure = capsys.readouterr().out.splitlines()
    assert header.split()[-1] == "test"
    assert measure == "test: share of wrong labels"
    for name, row in zip(names, rows, strict=True):
        model = tmp_path / "model"
        assert main(["train", *line[1:5], "-C", "0.1", "--tol", "1e-4", "--solver", name, "-o", str(model)]) == 0
        loaded = load_model(model)
        assert isinstance(loaded, SVMClassifier)
        cells = row.split()
        assert cells[0] == name
        assert cells[1] == str(loaded.certificate_.passes)
        assert cells[4] == f"{loaded.certificate_.primal:.6g}"
        capsys.readouterr()
        assert main(["evaluate", "-q", str(model), files[1]]) == 0
        accuracy = float(capsys.readouterr().out.split("accuracy")[1].split()[0])
        assert float(cells[7]) == pytest.approx(1.0 - accuracy, abs=6e-4)
    assert picture.read_text().count("<svg") == 1


def test_sequences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "tags.txt"
    data.write_text(SEQUENCES)
    line = ["compare", str(data), "-q", "--task", "sequence", "--test", str(data)]
    assert main([*line, "--solvers", "frank_wolfe,one_slack,perceptron"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in lines[1:4]] == ["frank_wolfe", "one_slack", "perceptron"]
    assert lines[3].split()[-2:] == ["0", "separated"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--solvers", "none_such"], "no solver 'none_such' here; there are coordinate_ascent"),
        (["--task", "ranking", "--solvers", "n_slack"], "no solver 'n_slack' here; there are newton, one_slack, bund"),
        (["--solver", "auto"], "unrecognized arguments: --solver"),
        (["--picture", "no/such/folder/p.png"], "no/such/folder"),
        (["--picture", ""], "--picture '' names no file"),
        (["--picture", "-"], "--picture must name a file: a picture is not written to standard output"),
        (["--picture", "p.xyz"], "--picture p.xyz: the end of the name must be one of .png, .svg, .pdf"),
        (["--template", "no_such_file"], "no_such_file"),
        (["--kernel", "rbf", "--memory", "1M"], "--memory cannot go with --kernel rbf"),
    ],
)
def test_refused(files: tuple[str, str], capsys: pytest.CaptureFixture[str], options: list[str], message: str) -> None:
    task = [] if "--task" in options else ["--task", "binary"]
    assert main(["compare", files[0], "-q", *task, *options]) == 2
    assert message in capsys.readouterr().err


def test_a_solver_that_is_not_for_the_loss_says_so(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    names = "newton,interior_point"
    assert main(["compare", files[0], "-q", "--task", "binary", "--loss", "logistic", "--solvers", names]) == 0
    out = capsys.readouterr().out
    assert "newton " in out
    assert "interior_point: SVMClassifier: interior_point is for the hinge loss" in out


def test_help_names_the_formats_of_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["compare", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert f"time ({', '.join(_PICTURES)})" in shown
