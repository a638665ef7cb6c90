"""``maxmargin predict``."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from ..data.text import writing
from .inputs import Input, check_output
from .messages import UsageError, Voice
from .tasks import TASKS

__all__ = ["run"]


def run(args: Namespace) -> int:
    """Label data with a model."""
    voice = Voice(args.quiet)
    if args.k_best is not None and args.confidence:
        raise UsageError("--k-best and --confidence cannot go together: the k best answers come with scores")
    if args.model == "-":
        raise UsageError("MODEL must be a file")
    check_output(args.output, [args.model, args.data])
    open(args.model, "rb").close()
    source = Input(args.data)

    from .model_input import model_for

    model, settings, task = model_for(args, source, voice)
    for option in ("k_best", "confidence"):
        if getattr(args, option) and option not in TASKS[settings["task"]].options:
            raise UsageError(
                f"--{option.replace('_', '-')} cannot go with {args.model}, a model of task {settings['task']}"
            )
    with voice.phase("reading"):
        examples = task.examples(source, settings, voice, unlabelled=args.unlabelled)
        if reason := task.why_strange(model, examples):
            voice.note(f"{source.name}: {reason}")
    sequence: Any = task  # the only task with these options
    with voice.phase("predicting"), writing(args.output) as out:
        if args.k_best is not None:
            sequence.write_k_best(out, examples, model, args.k_best)
        elif args.confidence:
            sequence.write_with_confidence(out, examples, model)
        else:
            task.write(out, examples, task.predict(model, examples), settings)
    return 0
