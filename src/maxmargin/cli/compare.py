"""``maxmargin compare``."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from ..errors import DataError, FileFormatError
from .evaluate import check_labelled
from .inputs import Input, check_format, check_output, recognise
from .learners import check_options, choose, make, parameters
from .messages import UsageError, Voice
from .tasks import load_task

__all__ = ["run"]


def run(args: Namespace) -> int:
    """Fit copies of one estimator and print the table; a picture where one is asked for."""
    voice = Voice(args.quiet)
    template = None if args.template in ("default", "chunking") else args.template
    if [args.data, args.test, template].count("-") > 1:
        raise UsageError("only one of the inputs can be standard input")
    if args.picture is not None:
        check_output(args.picture, [args.data, args.test, template])
    source, test = (None if path is None else Input(path, args.memory) for path in (args.data, args.test))
    assert source is not None
    format, name, how = recognise(source, args.format, args.task)
    learner = choose(args, name)
    if "solver" not in learner.options:
        raise UsageError(f"task {name} has one solver: there is nothing to compare")
    check_options(args, name, format, learner)
    voice.say(f"{source.name}: {format} ({how}), task {name}")
    model = make(learner, {"verbose": 0, **parameters(args, learner)})

    task, settings = load_task(name), {"format": format, "task": name}
    with voice.phase("reading"):
        examples = task.training(source, settings, args, voice)
    tested = None
    if test is not None:
        with voice.phase("reading the test data"):
            if args.format is None:
                check_format(test, format, source.name, voice)
            tested = task.examples(test, settings, voice, unlabelled=False, compared=True)
        check_labelled(tested, test)

    from ..compare import compare_fits, solver_names

    measure = {"regression": "mean absolute error", "tree": "share of wrong trees"}.get(name, "share of wrong labels")
    test_loss = None if tested is None else lambda each: _loss(tested.y, task.predict(each, tested))

    wanted = solver_names(model) if args.solvers is None else args.solvers.split(",")
    if unknown := [solver for solver in wanted if solver not in ("auto", *solver_names(model))]:
        raise UsageError(f"--solvers: no solver {unknown[0]!r} here; there are {', '.join(solver_names(model))}")
    try:
        with voice.phase("training"):
            found = compare_fits(
                model, lambda each: task.fit(each, examples), wanted, test_loss, measure,
                after=lambda done: voice.say(f"{done.name}: {done.refused or f'{done.seconds:.2f} s'}"),
            )  # fmt: skip
    except FileFormatError:
        raise
    except DataError as error:
        raise task.explained(error, model, examples, source, settings) from None
    print(found)
    if args.picture is not None:
        from ..plots import CompareDisplay

        CompareDisplay(found).save(args.picture)
        voice.say(f"wrote {args.picture}")
    return 0


def _loss(truth: Any, predictions: Any) -> float:
    """Mean absolute error of numbers; else the share of wrong ones, of sequences label by label."""
    pairs = list(zip(truth, predictions, strict=True))
    if pairs and isinstance(pairs[0][1], float):
        return float(sum(abs(true - found) for true, found in pairs)) / len(pairs)
    if pairs and isinstance(pairs[0][1], list):
        pairs = [pair for true, found in pairs for pair in zip(true, found, strict=True)]
    return float(sum(true != found for true, found in pairs)) / max(len(pairs), 1)
