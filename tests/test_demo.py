"""The demonstration from end to end, its data, and how it fails."""

from __future__ import annotations

import csv
import io
import json
import sys
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from maxmargin import SequenceSVM, demo
from maxmargin.demo import readers, run_demo
from maxmargin.demo.console import Console
from maxmargin.demo.dates import COVERED, FIRST, LAST, SHARES, DatePart, make_parts
from maxmargin.errors import DataError
from maxmargin.metrics import sequence_error, token_error

PICTURES = ["gap.png", "objective.png", "readings.png", "transitions.png"]


@pytest.fixture(scope="module")
def parts() -> dict[str, DatePart]:
    return make_parts((100, 50, 150), 5)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A quick run: its folder and what it said."""
    folder, out = tmp_path_factory.mktemp("demo") / "new" / "folder", io.StringIO()
    assert run_demo(folder, quick=True, seed=1, out=out) == 0
    return folder, out.getvalue()


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "_SIZES", {False: (12, 6, 12), True: (12, 6, 12)})


def test_quick_run(run: tuple[Path, str]) -> None:
    folder, said = run
    pytest.importorskip("matplotlib")
    assert sorted(path.name for path in folder.iterdir()) == sorted([*PICTURES, "figures.json", "passes.csv"])
    for name in PICTURES:
        assert (folder / name).read_bytes().startswith(b"\x89PNG")
        assert str(folder / name) in said
    for text in ("sequence SVM", "single-character SVM", "generative HMM", "primal objective", "converged", "holds"):
        assert text in said
    assert said.isascii(), "some terminals show nothing else"
    assert max(map(len, said.replace(str(folder), "").splitlines())) <= 110


def test_the_figures_are_those_of_the_fit(run: tuple[Path, str]) -> None:
    folder, said = run
    figures = json.loads((folder / "figures.json").read_text())
    certificate = figures["certificate"]
    assert certificate["status"] == "converged"
    assert certificate["dual"] <= certificate["primal"]
    assert certificate["relative_gap"] <= 1e-3
    assert certificate["training_risk"] <= certificate["risk_bound"]
    assert f"{certificate['primal']:.6f}" in said
    assert f"recounted: {certificate['training_risk']:.4f}" in said
    with (folder / "passes.csv").open(newline="") as file:
        last = list(csv.DictReader(file))[-1]
    assert float(last["primal"]) == certificate["primal"]
    assert float(last["dual"]) == certificate["dual"]
    errors = {name: method["character_error"] for name, method in figures["methods"].items()}
    for name, error in errors.items():
        assert any(name in line and f"{100 * error:.1f} % +-" in line for line in said.splitlines())
    assert min(errors, key=errors.__getitem__) == "sequence SVM"


def test_no_image_is_in_two_parts_and_digits_are_spread_evenly(parts: dict[str, DatePart]) -> None:
    digits = load_digits().target
    together = np.concatenate([part.sources for part in parts.values()])
    assert sorted(together) == list(range(len(digits)))
    for name, part in parts.items():
        share = np.bincount(digits[part.sources]) / np.bincount(digits)
        np.testing.assert_allclose(share, SHARES[name], atol=0.01)


def test_every_character_is_a_spoilt_image_of_its_digit_in_the_part(parts: dict[str, DatePart]) -> None:
    """Each picture is nearest to an image of its digit in its own part, and the right share lost a half."""
    images, digits = load_digits(return_X_y=True)
    for part in parts.values():
        pictures, labels = np.concatenate(part.vectors), np.concatenate(part.digits)
        assert pictures.min() >= 0.0
        assert pictures.max() <= 1.0
        own = images[part.sources] / 16
        half = np.ones((5, 8, 8))
        half[1, :4] = half[2, 4:] = half[3, :, :4] = half[4, :, 4:] = 0
        candidates = (own[:, None] * half.reshape(5, 64)).reshape(-1, 64)
        # clipping noise at paper and ink only moves pixels towards the image
        distance = ((pictures**2).sum(1)[:, None] - 2 * pictures @ candidates.T + (candidates**2).sum(1)).argmin(1)
        assert np.mean(digits[part.sources][distance // 5] == labels) > 0.99
        assert np.mean(distance % 5 > 0) == pytest.approx(COVERED, abs=0.07)


def test_dates_are_days_of_the_calendar(parts: dict[str, DatePart]) -> None:
    for part in parts.values():
        for digits in part.digits:
            text = "".join(map(str, digits))
            assert FIRST <= date.fromisoformat(f"{text[:4]}-{text[4:6]}-{text[6:]}") <= LAST


def test_the_seed_decides(parts: dict[str, DatePart]) -> None:
    again, other = make_parts((100, 50, 150), 5), make_parts((100, 50, 150), 6)
    for name, part in parts.items():
        np.testing.assert_array_equal(part.vectors, again[name].vectors)
        assert part.digits == again[name].digits != other[name].digits


def test_a_reading_is_of_the_test_part_by_the_setting_that_errs_least(parts: dict[str, DatePart]) -> None:
    out = io.StringIO()
    for reader in readers.make_readers(0):
        reading = readers.read_dates(reader, parts, Console(out))
        assert reading.readings == reader.read(reading.model, parts["test"])
        assert reading.character_error == token_error(parts["test"].digits, reading.readings)
        assert reading.date_error == sequence_error(parts["test"].digits, reading.readings)
        held_out = [
            token_error(parts["held out"].digits, reader.read(model, parts["held out"]))
            for model in (reader.fit(parts["fit"], setting, 1e-2) for setting in reader.settings)
        ]
        assert reading.setting == reader.settings[held_out.index(min(held_out))]
        share = reading.date_error
        assert reading.margins[1] == pytest.approx(np.sqrt(share * (1 - share) / 149))


@pytest.mark.usefixtures("tiny")
def test_a_fit_that_did_not_converge_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def impatient(tol: float, C: float) -> SequenceSVM:
        return SequenceSVM(C, tol=tol, max_passes=2, random_state=0)

    def changed(seed: int) -> list[Any]:
        first, *others = original(seed)
        return [readers.Reader(first.name, impatient, first.settings, constant=True), *others]

    original = readers.make_readers
    monkeypatch.setattr(demo, "make_readers", changed)
    out = io.StringIO()
    with pytest.warns(ConvergenceWarning, match="pass limit"):
        assert run_demo(tmp_path, out=out) == 1
    assert "FAILED: the fit ended by pass limit. Raise max_passes" in out.getvalue()


@pytest.mark.usefixtures("tiny")
def test_a_broken_bound_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Forgetful(SequenceSVM):
        def predict(self, X: Any, known: Any = None) -> list[list[Any]]:
            return [[0] * len(x) for x in X]

    def changed(seed: int) -> list[Any]:
        first, *others = original(seed)
        return [
            readers.Reader(first.name, lambda tol, C: Forgetful(C, tol=tol), ({"C": 0.3},), constant=True),
            *others,
        ]

    original = readers.make_readers
    monkeypatch.setattr(demo, "make_readers", changed)
    out = io.StringIO()
    assert run_demo(tmp_path, out=out) == 1
    assert "VIOLATED" in out.getvalue()
    assert "FAILED: the training risk" in out.getvalue()


@pytest.mark.usefixtures("tiny")
def test_without_matplotlib_it_runs_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*sys.modules]:
        if name.partition(".")[0] == "matplotlib":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    out = io.StringIO()
    assert run_demo(tmp_path, out=out) == 0
    assert "no pictures; plots need matplotlib: pip install maxmargin[plots]" in out.getvalue()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figures.json", "passes.csv"]


def test_a_folder_that_cannot_be_written_to_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    out = io.StringIO()
    for path in (tmp_path / "file", tmp_path / "file" / "inside"):
        with pytest.raises(DataError, match=r"^cannot write to the folder .*file.*; choose another one$"):
            run_demo(path, out=out)
    assert out.getvalue() == ""
    assert (tmp_path / "file").read_text() == "mine"


def test_steps_show_signs_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    from threading import Event

    from maxmargin.demo import console

    monkeypatch.setattr(console, "_EVERY", 0.001)
    seen = Event()

    class Watched(io.StringIO):
        def write(self, text: str) -> int:
            if text == ".":
                seen.set()
            return super().write(text)

    out = Watched()
    with Console(out).step("working:") as results:
        assert seen.wait(10)
        results.append("done")
    assert out.getvalue().startswith("  working: ")
    assert "  (0." in out.getvalue().split(". done")[1]
    with pytest.raises(KeyboardInterrupt), Console(out).step("more:"):
        raise KeyboardInterrupt
    assert out.getvalue().endswith(" stopped\n")


def interrupted_by(name: str) -> Any:
    """What stands in for saving a picture: Ctrl-C when it is the turn of this one."""

    def save(self: Any, path: Path, **options: Any) -> None:
        if path.name == name:
            raise KeyboardInterrupt
        path.write_bytes(b"")

    return save


@pytest.mark.usefixtures("tiny")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_interruption_says_which_files_were_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    from maxmargin.cli import main
    from maxmargin.plots._base import Display

    monkeypatch.setattr(Display, "save", interrupted_by("gap.png"))
    status = main(["demo", "--quick", "--output", str(tmp_path)])
    written = [str(tmp_path / name) for name in ("figures.json", "passes.csv", "readings.png", "transitions.png")]
    said = capsys.readouterr().err
    assert status == 130
    assert said.endswith(f"interrupted; these files were written: {', '.join(written)}\n")
    assert sorted(map(str, tmp_path.iterdir())) == written


def test_an_early_interruption_says_that_nothing_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*args: Any) -> None:
        raise KeyboardInterrupt("SequenceSVM.fit was interrupted; it keeps the best model so far")

    monkeypatch.setattr(demo, "make_parts", stop)
    with pytest.raises(KeyboardInterrupt, match="^interrupted; nothing was written$"):
        run_demo(tmp_path, quick=True, out=io.StringIO())
    assert not list(tmp_path.iterdir())
