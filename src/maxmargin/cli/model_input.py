"""Reading a model file and what it says of the data it was trained on."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from ..errors import ModelFileError
from .inputs import Input, check_format, recognise
from .messages import UsageError, Voice
from .table import TASKS, serving
from .tasks import Task, load_task
from .template_file import template_of

__all__ = ["model_for", "read_model", "read_with_search"]

# What `maxmargin train` keeps with a model, where it applies.
_SETTINGS = {"data": str | None, "zero_based": bool | None}


def read_model(path: str) -> tuple[Any, dict[str, Any]]:
    """A model and the settings of its task.

    Raises
    ------
    ModelFileError
        If it is no model, of a kind that the command line does not serve, or its settings make no sense.
    """
    return read_with_search(path)[:2]


def read_with_search(path: str) -> tuple[Any, dict[str, Any], Any]:
    """The same, and the search whose best model it is, or None; raises as :func:`read_model`."""
    from ..model_file import load_with_metadata

    whole, metadata = load_with_metadata(path)
    model = vars(whole).get("estimator_", whole)
    tasks = serving(type(model).__name__)
    if not tasks:
        raise ModelFileError(f"{path}: holds a {type(model).__name__}, which the command line does not serve")
    settings = {"task": tasks[0], "format": "", **metadata}  # a model saved from Python has no settings
    odd = [name for name, kinds in _SETTINGS.items() if not isinstance(settings.get(name), kinds)]
    odd += [] if settings["task"] in tasks else ["task"]
    odd += [] if settings["format"] in ("", *TASKS[tasks[0]].formats) else ["format"]
    odd += [] if settings.get("separator") in (None, "\t") else ["separator"]
    odd += [] if "template" not in settings or _reads_columns(settings) else ["template"]
    if odd:
        raise ModelFileError(f"{path}: what it says of its data makes no sense")
    if hasattr(model, "n_features_in_"):
        settings["features"] = model.n_features_in_
    return model, settings, None if model is whole else whole


def _reads_columns(settings: dict[str, Any]) -> bool:
    """Whether template and number of columns belong together: either is of no use without the other."""
    columns = settings.get("columns")
    try:
        template = template_of(settings["template"])
    except ValueError:
        return False
    return isinstance(columns, int) and not isinstance(columns, bool) and columns >= len(template.columns)


def model_for(args: Namespace, source: Input, voice: Voice) -> tuple[Any, dict[str, Any], Task]:
    """The model that ``args`` names first, its settings and task, ready for data."""
    path = getattr(args, "model", None) or args.files[0]
    model, settings = read_model(path)
    if getattr(model, "kernel", None) == "precomputed":
        # rows of features have no such values, and a 0 is no value that could stand for a missing one
        raise UsageError(
            f"{path} has kernel='precomputed': it needs the values of the kernel between each row and its "
            f"{model.n_features_in_} training rows, which are not in svmlight data; predict with it in Python"
        )
    name = settings["task"]
    if getattr(args, "task", None) not in (None, name):
        raise UsageError(f"--task {args.task} cannot go with {path}, a model of task {name}")
    if args.format is not None and args.format not in TASKS[name].formats:
        raise UsageError(f"--format {args.format} cannot go with {path}, a model of task {name}")
    if args.format is None and settings["format"]:
        check_format(source, settings["format"], path, voice)
    settings["format"] = args.format or settings["format"]
    if not settings["format"]:
        several = len(TASKS[name].formats) > 1 and source.head()
        settings["format"] = recognise(source, None, name)[0] if several else TASKS[name].formats[0]
    if args.jobs is not None:
        if "n_jobs" not in model.get_params(deep=False):
            raise UsageError(f"--jobs cannot go with {path}: {type(model).__name__} has no threads of its own")
        model.set_params(n_jobs=args.jobs)
    return model, settings, load_task(name)
