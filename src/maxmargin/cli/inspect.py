"""``maxmargin inspect``."""

from __future__ import annotations

import json
import math
import os
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from ..data.text import writing
from ..errors import shorten
from .messages import counted, note_in_words, size_in_words

__all__ = ["run"]

_WIDEST_TABLE = 12  # labels; larger models show their strongest transitions only


def run(args: Namespace) -> int:
    """Show what a model is made of."""
    open(args.model, "rb").close()

    from .model_input import read_with_search
    from .tasks import load_task

    model, settings, search = read_with_search(args.model)
    facts: dict[str, Any] = {
        "file": args.model,
        "size": os.path.getsize(args.model),
        "task": settings["task"],
        "estimator": type(model).__name__,
        "certificate": model.certificate_.as_dict() if hasattr(model, "certificate_") else None,
        "notes": [note_in_words(note, settings) for note in getattr(model, "notes_", ())],
        "parameters": model.get_params(deep=False),
        "data": {name: value for name, value in settings.items() if name != "task" and value != ""},
        **({} if search is None else {"search": _chosen(search)}),
        **load_task(settings["task"]).details(model, settings, args.top),
    }
    with writing("-") as out:
        if args.json:
            out.write(json.dumps(_plain(facts), ensure_ascii=False, indent=1, allow_nan=False) + "\n")
        else:
            out.writelines(line + "\n" for line in _lines(model, facts))
    return 0


def _chosen(search: Any) -> dict[str, Any]:
    """How a search has chosen C: the values of it, and the mean scores of these on held-out rows."""
    Cs, means = search.Cs_.tolist(), search.scores_.mean(0).tolist()
    return {
        "estimator": type(search).__name__,
        "C": search.C_,
        "score": means[Cs.index(search.C_)],
        "folds": len(search.scores_),
        "scoring": search.scoring,
        "Cs": Cs,
        "mean_scores": means,
    }


def _plain(value: Any) -> Any:
    """What JSON can hold: numbers that are not finite become null, what it does not know becomes text."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)


def _lines(model: Any, facts: dict[str, Any]) -> Iterator[str]:
    """The same for people."""
    labels: list[Any] | None = facts.get("labels")
    search = facts.get("search")
    by = f", found by {search['estimator']}" if search else ""
    yield f"{facts['file']}: {facts['estimator']} ({size_in_words(facts['size'])}), task {facts['task']}{by}"
    data = {name: value for name, value in facts["data"].items() if name != "template"}
    yield "data        " + "  ".join(f"{name} {value}" for name, value in data.items() if value is not None)
    if labels is not None:
        yield f"labels      {len(labels)}: {'  '.join(map(str, labels))}"
    if "features" in facts:
        weights = f", {facts['nonzero_weights']} weights other than 0" if "nonzero_weights" in facts else ""
        yield f"features    {facts['features']}{weights}"
    for name in ("intercept", "offset", "margin"):
        values = facts.get(name, [])
        values = values if isinstance(values, list) else [values]
        if 0 < len(values) <= _WIDEST_TABLE:
            yield f"{name:<12}" + "  ".join(f"{value:.6g}" for value in values)
    if "kernel" in facts:
        (_, kernel), *used = facts["kernel"].items()
        yield "kernel      " + "  ".join([kernel, *(f"{name} {value:g}" for name, value in used)])
        counts = facts["support_vectors"]
        yield f"support     {sum(counts.values())} vectors" + "".join(
            f"  {name}: {n}" for name, n in counts.items() if len(counts) > 1
        )
    if "grammar" in facts:
        yield "grammar     " + "  ".join(f"{size} {name}" for name, size in facts["grammar"].items())
    if search:
        yield (
            f"search      C={search['C']:g} has the best mean score ({search['score']:.6g}) on {search['folds']} folds"
            f", of {counted(len(search['Cs']), 'value')} from {min(search['Cs']):g} to {max(search['Cs']):g}"
        )
    shown = {name: " ".join(repr(value).split()) for name, value in facts["parameters"].items()}
    yield "parameters  " + "  ".join(f"{name}={value}" for name, value in shown.items())
    if facts["certificate"] is None:
        what = "sequence" if facts["task"] == "sequence" else "row"
        rows, are = counted(model.n_samples_seen_, what), "is" if model.n_samples_seen_ == 1 else "are"
        yield f"certificate none: learned by partial_fit from {rows}, which {are} gone"
    else:
        yield "certificate " + str(model.certificate_).replace("\n", "\n            ")
        yield f"            solver {model.certificate_.solver}  {model.certificate_.seconds:.1f} s"
    yield from (f"note        {note}" for note in facts["notes"])
    for entry in facts.get("strongest_features", ()):
        if entry["features"]:
            yield ""
            yield f"{entry['label']}"
            yield from (f"  {weight:10.4f}  {name}" for name, weight in entry["features"])
    if facts.get("strongest_rules"):
        yield ""
        yield "strongest rules"
        yield from (
            f"  {weight:10.4f}  {shorten(f'{parent} -> {left} {right}', 65)}"
            for parent, left, right, weight in facts["strongest_rules"]
        )
    if labels is not None and "transitions" in facts and facts["strongest_transitions"]:
        yield ""
        if len(labels) <= _WIDEST_TABLE:
            yield "transitions (row: from, column: to)"
            yield from _table(labels, facts["transitions"])
        else:
            yield "strongest transitions (--json has all)"
            yield from (
                f"  {weight:10.4f}  {before} -> {after}" for before, after, weight in facts["strongest_transitions"]
            )


def _table(labels: list[Any], rows: list[list[float]]) -> Iterator[str]:
    names = [str(label) for label in labels]
    first = max(map(len, names))
    widths = [max(len(name), 8) for name in names]
    yield " ".join((" " * first, *(name.rjust(width) for name, width in zip(names, widths))))
    for name, row in zip(names, rows):
        yield " ".join((name.ljust(first), *(f"{value:{width}.4f}" for value, width in zip(row, widths))))
