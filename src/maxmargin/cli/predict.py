"""``maxmargin predict``."""

from __future__ import annotations

from argparse import Namespace

from ..data.text import writing
from .inputs import Input, check_output
from .messages import UsageError, Voice
from .table import TASKS

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
    special = {option for entry in TASKS.values() for option in entry.predicting}
    for option in sorted(special.difference(TASKS[settings["task"]].predicting)):
        if getattr(args, option):
            raise UsageError(
                f"--{option.replace('_', '-')} cannot go with {args.model}, a model of task {settings['task']}"
            )
    with voice.phase("reading"):
        examples = task.examples(source, settings, voice, unlabelled=args.unlabelled)
        if reason := task.why_strange(model, examples):
            voice.note(f"{source.name}: {reason}")
    with voice.phase("predicting"), writing(args.output) as out:
        task.answer(out, model, examples, settings, args)
    return 0
