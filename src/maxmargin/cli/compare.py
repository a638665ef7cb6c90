"""``maxmargin compare``."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import Any

from ..errors import DataError, FileFormatError
from .inputs import check_output, recognise
from .learners import check_options, choose, form_of, make, parameters
from .messages import UsageError, Voice, as_options
from .tasks import load_task
from .train import inputs_of, opened, read, warnings_as_notes

__all__ = ["run"]

_PICTURES = (".png", ".svg", ".pdf")
_MEASURES = {
    "regression": "mean absolute error",
    "tree": "share of wrong trees",
    "ranking": "share of swapped pairs",
    "auc": "1 - AUC",
}


def run(args: Namespace) -> int:
    """Fit copies of one estimator and print the table; a picture where one is asked for."""
    voice = Voice(args.quiet)
    source, test = opened(args)
    if args.picture is not None:
        _check_picture(args)
    format, name, how = recognise(source, args.format, args.task)
    learner = choose(args, name)
    check_options(args, name, format, learner)
    model = make(learner, {"verbose": 0, **parameters(args, learner)})

    from ..compare import compare_fits, no_solver_of, solver_names

    known = solver_names(model)
    wanted = known if args.solvers is None else [one.strip() for one in args.solvers.split(",")]
    if unknown := no_solver_of(model, wanted):
        raise UsageError(f"--solvers: no solver {unknown[0]!r} here; there are {', '.join(known)}")
    form = "" if args.multi_class or not (form := form_of(args, name, learner)) else f" (--multi-class {form})"
    voice.say(f"{source.name}: {format} ({how}), task {name}{form}")
    task, settings = load_task(name), {"format": format, "task": name}
    examples, tested = read(task, source, test, settings, args, voice)

    def loss(each: Any) -> float:
        assert tested is not None
        assert test is not None
        try:
            with task.placing(each, tested, test, settings):
                return _loss(name, each, tested.y, task.predict(each, tested))
        except FileFormatError:
            raise
        except DataError as error:
            raise FileFormatError(str(error), path=test.name) from None

    try:
        with voice.phase("training"), warnings_as_notes(voice):
            found = compare_fits(
                model, lambda each: task.fit(each, examples), wanted,
                None if tested is None else loss, _MEASURES.get(name, "share of wrong labels"),
                after=lambda done: None if done.refused else voice.say(f"{done.name}: {done.seconds:.2f} s"),
            )  # fmt: skip
    except KeyboardInterrupt:
        raise KeyboardInterrupt("interrupted before all solvers had ended; nothing was written") from None
    except FileFormatError:
        raise
    except DataError as error:
        raise task.explained(error, model, examples, source, settings) from None
    if not any(one.certificate for one in found.runs):
        refused = found.runs[0].refused
        place = task.placed(DataError(refused), model, examples, source, settings)
        raise place or UsageError(f"no solver can be tried: {refused}")
    print(as_options(str(found)))
    if args.picture is not None:
        from ..plots import CompareDisplay

        CompareDisplay(found).save(args.picture)
        voice.say(f"wrote {args.picture}")
    return 0


def _check_picture(args: Namespace) -> None:
    """Refuse, before any work, a picture that could not be written."""
    from ..plots import check_matplotlib

    if args.picture == "-":
        raise UsageError("--picture must name a file: a picture is not written to standard output")
    check_output(args.picture, inputs_of(args), "--picture")
    if os.path.splitext(args.picture)[1].lower() not in _PICTURES:
        raise UsageError(f"--picture {args.picture}: the end of the name must be one of {', '.join(_PICTURES)}")
    check_matplotlib()


def _loss(task: str, model: Any, truth: Any, predictions: Any) -> float:
    """Mean absolute error of numbers; else the share of wrong ones, of sequences label by label, of ranks by pairs."""
    from ..metrics import swapped_pairs, token_error
    from .multiclass import spelt

    if task == "ranking":
        return swapped_pairs(truth["grade"], predictions, truth["query"])
    if task == "auc":
        above = [str(label) == spelt(str(model.classes_[1])) for label in truth]
        return swapped_pairs([float(one) for one in above], [one.score for one in predictions])
    if len(truth) and isinstance(predictions[0], list):
        return float(token_error(truth, predictions))
    pairs = list(zip(truth, predictions, strict=True))
    if pairs and isinstance(pairs[0][1], float):
        return float(sum(abs(true - found) for true, found in pairs)) / len(pairs)
    return float(sum(true != found for true, found in pairs)) / max(len(pairs), 1)
