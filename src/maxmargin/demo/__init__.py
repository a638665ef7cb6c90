"""The demonstration: handwritten dates read by a sequence SVM, an SVM of single characters and a generative HMM.

Works offline on the digit images that come with scikit-learn.
"""

from __future__ import annotations

import csv
import io
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from ..data.text import replacing
from ..errors import DataError, MissingDependencyError
from .console import Console
from .dates import COVERED, FIRST, LAST, NOISE, SHARES, SIDE, DatePart, make_parts
from .readers import Reading, describe, make_readers, read_dates

__all__ = ["run_demo"]

_SIZES = {False: (200, 100, 1000), True: (50, 30, 100)}  # dates to fit, held out, to test; by `quick`
_SHOWN = 10  # dates in the picture of readings


def run_demo(
    output_dir: str | os.PathLike[str] = "maxmargin-demo",
    *,
    quick: bool = False,
    seed: int = 0,
    out: TextIO | None = None,
) -> int:
    """Read handwritten dates in three ways, say which errs least, check the certificate, draw what happened.

    Parameters
    ----------
    output_dir : path, default="maxmargin-demo"
        Folder for pictures and figures, made if need be; files of an earlier run are replaced.
    quick : bool, default=False
        Fewer dates: a few seconds instead of up to a minute, and larger errors.
    seed : int, default=0
        Decides on images, dates, what spoils the pictures, and the order of training.
    out : text stream, optional
        Where to report; standard output when None.

    Returns
    -------
    int
        0 when the fit converged and its bound on the training risk holds, else 1.

    Raises
    ------
    DataError
        When the folder cannot be made or written to.
    """
    written: list[tuple[Path, str]] = []
    try:
        return _run(output_dir, quick, seed, Console(sys.stdout if out is None else out), written)
    except KeyboardInterrupt:
        done = f"these files were written: {', '.join(str(path) for path, _ in written)}"
        raise KeyboardInterrupt(f"interrupted; {done if written else 'nothing was written'}") from None


def _run(
    output_dir: str | os.PathLike[str], quick: bool, seed: int, console: Console, written: list[tuple[Path, str]]
) -> int:
    """The whole demonstration; ``written`` grows by each file that is there, and what it shows."""
    start = time.perf_counter()
    folder = _writable_folder(output_dir)
    parts = make_parts(_SIZES[bool(quick)], seed)
    console.say(_introduction(parts, seed))
    readers = make_readers(seed)
    console.say("\nPreparing (compiling takes about 20 s, once after an installation or update)")
    with console.step("machine code:"):
        tiny = make_parts((2, 2, 2), seed)["fit"]
        for reader in readers:
            reader.read(reader.fit(tiny, reader.settings[0], 0.5), tiny)
    console.say("\nTraining")
    readings = [read_dates(reader, parts, console) for reader in readers]
    console.say("\nErrors on the test part (+- one standard error)\n\n" + _table(readings))
    console.say("\n" + _verdict(readings))
    faults, report = _certify(readings[0], parts["fit"] + parts["held out"])
    console.say("\n" + report)
    _write_figures(folder, readings, written, seed=seed, quick=quick)
    _draw(folder, readings, parts["test"], console, written)
    console.say("\nWritten")
    for path, what in written:
        console.say(f"  {path}  {what}")
    for fault in faults:
        console.say(f"\nFAILED: {fault}")
    console.say(f"\nDone in {time.perf_counter() - start:.0f} s.")
    return 1 if faults else 0


def _writable_folder(output_dir: str | os.PathLike[str]) -> Path:
    """The folder, made if need be, after a trial of writing to it."""
    folder = Path(output_dir)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise DataError(f"cannot write to the folder {folder}: {error.strerror or error}; choose another one") from None
    return folder


def _introduction(parts: dict[str, DatePart], seed: int) -> str:
    """What will be done, honestly."""
    fit, held_out, test = (f"{len(part.digits)} dates ({len(part.sources)} images)" for part in parts.values())
    n_images = sum(len(part.sources) for part in parts.values())
    return f"""\
Reading handwritten dates

  Images   {n_images} handwritten digits of {SIDE}x{SIDE} pixels, which come with scikit-learn
  Dates    YYYYMMDD, random days from {FIRST} to {LAST};
           every character is a random image of its digit
  Parts    fit {fit}; hold out {held_out},
           to choose settings; test {test}; no image is in two
  Spoilt   on purpose, so that neighbours matter: a random half is covered of
           {COVERED:.0%} of the characters, drawn at random; every pixel gets noise of
           standard deviation {NOISE:g}, where ink is 1; seed {seed}
  Methods  sequence SVM          weights of pictures and of neighbours together
           single-character SVM  weights of pictures alone
           generative HMM        the sequence SVM's decoder; counted probabilities
                                 are its weights
           None is told positions, or what a date is."""


def _table(readings: list[Reading]) -> str:
    """One line for each method."""
    lines = [f"  {'':21}{'character error':>17}{'date error':>17}{'training':>10}   setting"]
    for one in readings:
        errors = (
            f"{100 * error:7.1f} % +- {100 * margin:3.1f}"
            for error, margin in zip((one.character_error, one.date_error), one.margins, strict=True)
        )
        lines.append(
            f"  {one.reader.name:21}" + "".join(f"{text:>17}" for text in errors) + f"{one.seconds:9.3f} s   "
            + describe(one.setting)
        )  # fmt: skip
    return "\n".join(lines)


def _verdict(readings: list[Reading]) -> str:
    """What the table says, whatever it says."""
    best = min(readings, key=lambda one: one.character_error)
    first, *others = readings
    if best is not first:
        return f"In this run the {best.reader.name} errs least; with few dates the order is a matter of luck."
    saved = ", ".join(
        f"{1 - first.character_error / max(other.character_error, 1e-12):.0%} fewer than the {other.reader.name}"
        for other in others
    )
    return f"The sequence SVM errs least: {saved}."


def _certify(reading: Reading, training: DatePart) -> tuple[list[str], str]:
    """Faults of the sequence SVM's certificate (none, if all is well), and the certificate in words."""
    certificate, model = reading.model.certificate_, reading.model
    wrong = np.array(reading.reader.read(model, training)) != np.array(training.digits)
    risk = float(wrong.sum(1).mean())
    holds = risk <= certificate.risk_bound * (1 + 1e-9)
    faults = []
    if not certificate.status.ok:
        ending = certificate.status.ending.replace("stopped by", "ended by")
        faults.append(f"the fit {ending}. {certificate.advice}")
    if not holds:
        faults.append(f"the training risk {risk:.6g} exceeds its bound {certificate.risk_bound:.6g}")
    report = f"""\
Certificate of the sequence SVM (C = {certificate.C:g}, {certificate.n_examples} dates, {certificate.solver})

  primal objective   {certificate.primal:.6f}
  dual objective     {certificate.dual:.6f}   no weights reach less
  gap                {certificate.gap:.6f}
  relative gap       {certificate.relative_gap:.2e}   asked for: {model.tol:g}
  passes             {certificate.passes}   {certificate.status}

  wrong characters per training date, recounted: {risk:.4f}
  their bound (mean slack): {certificate.risk_bound:.4f}   {"holds" if holds else "VIOLATED"}"""
    return faults, report


def _write_figures(
    folder: Path, readings: list[Reading], written: list[tuple[Path, str]], *, seed: int, quick: bool
) -> None:
    """The figures as JSON, the fit pass by pass as CSV."""
    model = readings[0].model
    figures = {
        "seed": seed,
        "quick": bool(quick),
        "dates": dict(zip(SHARES, _SIZES[bool(quick)], strict=True)),
        "methods": {one.reader.name: one.as_dict() for one in readings},
        "certificate": model.certificate_.as_dict(),
    }
    table = io.StringIO(newline="")
    rows = csv.writer(table)
    rows.writerow(["passes", "seconds", "primal", "dual", "relative_gap", "exact"])
    rows.writerows([r.passes, r.seconds, r.primal, r.dual, r.relative_gap, int(r.exact)] for r in model.history_)
    contents = {
        "figures.json": (json.dumps(figures, indent=2) + "\n", "errors and certificate"),
        "passes.csv": (table.getvalue(), "primal, dual and gap after each pass"),
    }
    for name, (text, what) in contents.items():
        with replacing(folder / name) as file:
            file.write(text.encode())
        written.append((folder / name, what))


def _draw(
    folder: Path, readings: list[Reading], test: DatePart, console: Console, written: list[tuple[Path, str]]
) -> None:
    """The pictures, if matplotlib is there."""
    from ..plots import GapDisplay, ObjectiveDisplay, SequenceDisplay, TransitionDisplay

    wrong = np.any([np.array(one.readings) != np.array(test.digits) for one in readings], axis=(0, 2))
    chosen = np.flatnonzero(wrong)[:_SHOWN].tolist()
    title = f"The first {len(chosen)} test dates that at least one method misreads"
    if not chosen:
        chosen, title = list(range(_SHOWN)), f"The first {_SHOWN} test dates"
    model = readings[0].model
    pictures: dict[str, tuple[Any, str]] = {}
    console.say()
    with console.step("drawing:") as results:
        try:
            pictures["readings.png"] = (
                SequenceDisplay.from_predictions(
                    [test.vectors[i] for i in chosen],
                    [test.digits[i] for i in chosen],
                    {one.reader.name: [one.readings[i] for i in chosen] for one in readings},
                    image_shape=(SIDE, SIDE),
                    title=title,
                ),
                "dates with right and wrong readings",
            )
            pictures["transitions.png"] = (TransitionDisplay.from_estimator(model), "learned weights of neighbours")
            pictures["gap.png"] = (GapDisplay.from_estimator(model), "duality gap against passes")
            pictures["objective.png"] = (ObjectiveDisplay.from_estimator(model), "primal and dual against passes")
            for name, (display, what) in pictures.items():
                display.save(folder / name)
                written.append((folder / name, what))
        except MissingDependencyError as error:
            results.append(f"no pictures; {error}")
