"""``maxmargin predict``."""

from __future__ import annotations

import shutil
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from ..data.text import writing
from .inputs import Input, check_output
from .messages import UsageError, Voice
from .table import TASKS

__all__ = ["run"]

_HELD = 1 << 24  # bytes of results in memory


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
    with voice.phase("predicting"), _when_done(args.output) as out:
        for examples in task.parts(source, settings, voice, unlabelled=args.unlabelled):
            if reason := task.why_strange(model, examples):
                voice.note(f"{source.name}: {reason}")
            with task.placing(model, examples, source, settings):
                task.answer(out, model, examples, settings, args)
            if missing := task.what_is_partial(model):
                voice.note(f"{source.name}: {missing}")
    return 0


@contextmanager
def _when_done(target: str) -> Iterator[IO[str]]:
    """As :func:`~maxmargin.data.text.writing`, for standard output too, which has nothing after a fault."""
    if target != "-":
        with writing(target) as out:
            yield out
        return
    with tempfile.SpooledTemporaryFile(_HELD, "w+", encoding="utf-8", errors="surrogatepass", newline="") as held:
        yield held
        held.seek(0)
        with writing(target) as out:
            shutil.copyfileobj(held, out)
