"""``maxmargin evaluate``."""

from __future__ import annotations

import shutil
import sys
from argparse import Namespace
from collections.abc import Sequence
from typing import Any

from ..data.text import writing
from ..errors import DataError, FileFormatError
from .inputs import Input, recognise
from .messages import UsageError, Voice, counted
from .tasks import Examples, Task, joined, load_task

__all__ = ["check_labelled", "print_report", "run"]


def run(args: Namespace) -> int:
    """Compare the predictions of a model, or those in a file, with true labels."""
    voice = Voice(args.quiet)
    wanted = 1 if args.predictions is not None else 2
    if len(args.files) != wanted:
        given = (
            "--predictions FILE takes DATA alone"
            if wanted == 1
            else "give MODEL and DATA, or --predictions FILE and DATA"
        )
        there = "is" if len(args.files) == 1 else "are"
        raise UsageError(f"{given}; there {there} {counted(len(args.files), 'name')}: {' '.join(args.files)}")
    names = [*args.files, *([args.predictions] if args.predictions is not None else [])]
    if names.count("-") > 1:
        raise UsageError("only one of the inputs can be standard input")
    if args.predictions is None and args.files[0] == "-":
        raise UsageError("MODEL must be a file")
    source = Input(args.files[-1])
    model = None
    if args.predictions is None:
        task, model, true, predicted = _of_model(args, source, voice)
    else:
        if args.jobs is not None:
            raise UsageError("--jobs cannot go with --predictions: nothing is predicted; it is for MODEL and DATA")
        written = Input(args.predictions)
        format, name, how = recognise(source, args.format, args.task)
        voice.say(f"{source.name}: {format} ({how}), task {name}")
        task, settings = load_task(name), {"format": format, "task": name}
        examples, predicted = task.truth(source, settings), task.written(written, settings)
        if fault := task.fault(examples, sorted(task.labels(predicted)), source):
            raise fault
        true = examples.y
    against = args.predictions or args.files[0]
    if (labels := task.labels(true)) and (others := task.labels(predicted)) and labels.isdisjoint(others):
        voice.note(f"no label of {source.name} occurs in what {against} predicts: do they belong together?")
    try:
        print_report(task, true, predicted, model)
    except DataError as error:
        raise DataError(f"{source.name} (y_true) and {against} (y_pred): {error}") from None
    return 0


def _of_model(args: Namespace, source: Input, voice: Voice) -> tuple[Task, Any, Any, Any]:
    from .model_input import model_for

    model, settings, task = model_for(args, source, voice)
    true: list[Any] = []
    predicted: list[Any] = []
    with voice.phase("predicting"):
        for examples in task.parts(source, settings, voice, unlabelled=False, compared=True):
            check_labelled(examples, source)
            if fault := task.fault(examples, getattr(model, "classes_", None), source):
                raise fault
            true.append(examples.y)
            with task.placing(model, examples, source, settings):
                predicted.extend(task.predict(model, examples))
            if missing := task.what_is_partial(model):
                voice.note(f"{source.name}: {missing}")
    return task, model, joined(true), predicted


def check_labelled(examples: Examples, source: Input) -> None:
    """Refuse data that predictions cannot be compared with: there are none, or they have no labels."""
    if not source.head() or (examples.y is not None and not len(examples.y)):
        raise FileFormatError("no data in this file", path=source.name)
    if examples.y is None:
        raise DataError(f"{source.name}: has no labels to compare with")


def print_report(task: Task, true: Any, predicted: Sequence[Any], model: Any = None) -> None:
    """Write the report to standard output; only a terminal limits its width."""
    terminal = sys.stdout is not None and sys.stdout.isatty()  # a closed one is refused below
    width = shutil.get_terminal_size((79, 24)).columns - 1 if terminal else 10**6
    text = task.report(true, predicted, max(width, 60), model)
    with writing("-") as out:
        out.write(text + "\n")
