"""``maxmargin train``."""

from __future__ import annotations

import os
import sys
import warnings
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from typing import Any

from ..errors import DataError, FileFormatError
from .evaluate import check_labelled, print_report
from .inputs import Input, check_format, check_output, not_temporary, recognise
from .learners import check_options, choose, form_of, make, of_the_certificate, parameters
from .messages import InWords, UsageError, Voice, in_words, note_in_words, size_in_words
from .tasks import Examples, Task, load_task

__all__ = ["inputs_of", "opened", "read", "run", "warnings_as_notes"]


def run(args: Namespace) -> int:
    """Learn a model and write it; everything that can be refused is refused before the work begins."""
    voice = Voice(args.quiet)
    output = _output(args)
    source, test = opened(args)
    check_output(output, inputs_of(args))
    model, settings = (None, {}) if args.warm_start is None else _start(args)
    format, name, how = recognise(
        source, args.format or settings.get("format") or None, settings.get("task", args.task)
    )
    if settings.get("format") and args.format is None:
        check_format(source, format, args.warm_start, voice)
        how = f"as for {args.warm_start}"
    learner = choose(args, name, model)
    check_options(args, name, format, learner, model)
    form = "" if args.multi_class or not (form := form_of(args, name, learner)) else f" (--multi-class {form})"
    voice.say(f"{source.name}: {format} ({how}), task {name}{form}")
    for note in of_the_certificate(args, model):
        voice.note(note)

    task = load_task(name)
    settings |= {"format": format, "task": name, "data": os.path.basename(source.name)}
    examples, tested = read(task, source, test, settings, args, voice)
    values = {"verbose": 0 if args.quiet else 2 if args.verbose else 1, **parameters(args, learner, model)}
    if model is None:
        model = make(learner, values)
    else:
        model.set_params(**values)
        if reason := task.why_cold(model, examples):
            voice.note(f"{args.warm_start} is of no use as a start: {reason}")
    try:
        with _notes_spoken(model, settings, voice):
            interrupted = _fit(task, model, examples, voice)
    except FileFormatError:
        raise
    except DataError as error:
        raise task.explained(error, model, examples, source, settings) from None
    again = "warm_start" in learner.options
    model.set_params(verbose=0, **({"warm_start": False} if again else {}))
    written = _write(model, settings, output, voice)
    if interrupted:
        voice.note(f"interrupted; {written}: the best model so far" + f" (--warm-start {output} goes on)" * again)
        return 130
    voice.say(written)
    if tested is not None:
        assert test is not None
        with voice.phase("predicting"), task.placing(model, tested, test, settings):
            predictions = task.predict(model, tested)
        print_report(task, tested.y, predictions, model)
    return 0


def inputs_of(args: Namespace) -> list[str | None]:
    """The files that are read: data, test data, the template of attributes where it is a file."""
    return [args.data, args.test, None if args.template in ("default", "chunking") else args.template]


def opened(args: Namespace) -> tuple[Input, Input | None]:
    """Data and test data; a file that cannot be read is noticed before the work begins."""
    if [*inputs_of(args), args.warm_start].count("-") > 1:
        raise UsageError("only one of the inputs can be standard input")
    source, test, _ = (None if path is None else Input(path, args.memory) for path in inputs_of(args))
    assert source is not None
    return source, test


def read(
    task: Task, source: Input, test: Input | None, settings: dict[str, Any], args: Namespace, voice: Voice
) -> tuple[Examples, Examples | None]:
    """Training examples, and those to test on."""
    if args.memory is not None and (elsewhere := not_temporary()):
        voice.note(elsewhere)
    with voice.phase("reading"):
        examples = task.training(source, settings, args, voice)
    if test is None:
        return examples, None
    with voice.phase("reading the test data"):
        if args.format is None:
            check_format(test, settings["format"], source.name, voice)
        tested = task.examples(test, settings, voice, unlabelled=False, compared=True)
    check_labelled(tested, test)
    if fault := task.fault(tested, examples.y, test):
        raise fault
    if (labels := task.labels(tested.y)) and (known := task.learned(examples.y)) and labels.isdisjoint(known):
        voice.note(f"no label of {test.name} occurs in what {source.name} teaches: do they belong together?")
    return examples, tested


def _output(args: Namespace) -> str:
    """Where the model goes. A file that nobody named is not replaced."""
    if args.output == "-":
        raise UsageError("-o must name a file: a model is not written to standard output")
    if args.output is not None:
        return str(args.output)
    if args.data == "-":
        raise UsageError("-o is needed where DATA is standard input")
    stem = os.path.basename(args.data).removesuffix(".gz")
    output: str = (stem.rpartition(".")[0] or stem) + ".model"
    if os.path.lexists(output):
        raise UsageError(f"{output} exists already: say -o {output} to replace it, or name another file")
    return output


def _start(args: Namespace) -> tuple[Any, dict[str, Any]]:
    """The model to start from, and how its data were read."""
    from .model_input import read_model

    model, settings = read_model(args.warm_start)
    if args.task not in (None, settings["task"]):
        raise UsageError(f"--task {args.task} cannot start from {args.warm_start}, a model of task {settings['task']}")
    return model, settings


def _fit(task: Task, model: Any, examples: Examples, voice: Voice) -> bool:
    """Whether the fit was interrupted, with a model all the same."""
    before = getattr(model, "certificate_", None)
    try:
        with voice.phase("training"), warnings_as_notes(voice), redirect_stderr(InWords(sys.stderr)):
            task.fit(model, examples)
    except KeyboardInterrupt:
        if getattr(model, "certificate_", None) is before:
            raise KeyboardInterrupt("interrupted before there was a model; nothing was written") from None
        return True
    return False


def _write(model: Any, settings: dict[str, Any], output: str, voice: Voice) -> str:
    from ..model_file import save_model

    with voice.phase("writing"):
        save_model(model, output, metadata=settings)
    voice.say(f"{voice.spent()} (in the solver: {model.certificate_.seconds:.1f} s)")
    return f"wrote {output} ({size_in_words(os.path.getsize(output))})"


@contextmanager
def _notes_spoken(model: Any, settings: dict[str, Any], voice: Voice) -> Iterator[None]:
    """What the estimator notes about the data is said in terms of the file."""
    model._tell = lambda note: voice.say(note_in_words(note, settings))
    try:
        yield
    finally:
        del model._tell


@contextmanager
def warnings_as_notes(voice: Voice) -> Iterator[None]:
    """Warnings of the library as notes; an early end is shown by the progress already."""
    from sklearn.exceptions import ConvergenceWarning

    def show(message: Any, category: Any, *rest: Any, **more: Any) -> None:
        if voice.quiet or not issubclass(category, ConvergenceWarning):
            voice.note(in_words(message))

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield
