"""What can be learned, in one table: a new task is an entry here and a module with a :class:`~.tasks.Task`.

Nothing else needs to know of it: the options offered, what is refused and the helps follow from the table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

__all__ = [
    "CERTIFICATE_ONLY", "FORMATS", "FREE_SOLVERS", "MACHINE_SOLVERS", "TASKS", "WITHOUT_MEANING", "Entry", "Learner",
    "serving", "takers", "task_of", "values_of",
]  # fmt: skip


@dataclass(frozen=True)
class Learner:
    """An estimator, and the options of ``train`` that are its parameters.

    Attributes
    ----------
    estimator : str
        Its name in :mod:`maxmargin`.
    options : mapping of str to tuple of str
        Names of options (as in the parsed arguments) and their values, the default first; no values are any value.
    """

    estimator: str
    options: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Entry:
    """What is known of a task without importing it.

    Attributes
    ----------
    module : str
        Module of this package whose ``TASK`` is the :class:`~.tasks.Task`.
    formats : tuple of str
        What it reads.
    learners : tuple of Learner
        Several are told apart by ``--multi-class``, else by options that one of them has; the first is the default.
    hard : Learner, optional
        What learns with ``-C inf``, which allows no loss.
    reading : mapping of str to str
        Options of ``train`` that say how data are read, each with the format that it is for.
    predicting : tuple of str
        Options of ``predict`` that only some tasks have.
    mark : str
        What the first row of its data matches, where other tasks read the same format.
    """

    module: str
    formats: tuple[str, ...]
    learners: tuple[Learner, ...]
    hard: Learner | None = None
    reading: Mapping[str, str] = field(default_factory=dict)
    predicting: tuple[str, ...] = ()
    mark: str = ""

    @property
    def everyone(self) -> tuple[Learner, ...]:
        """All that may learn."""
        return self.learners if self.hard is None else (*self.learners, self.hard)


_ANY: tuple[str, ...] = ()
_FIRST_ORDER = ("one_slack", "bundle", "gradient_descent", "subgradient", "pegasos")
_PERCEPTRONS = ("perceptron", "averaged_perceptron")
_STRUCTURED_SOLVERS = ("auto", "frank_wolfe", "n_slack", *_FIRST_ORDER, *_PERCEPTRONS)
_DUAL = (
    *("coordinate_ascent", "interior_point", "active_set", "block_ascent", "newton"),
    *("block_smo", "projected_gradient"),
)
MACHINE_SOLVERS = ("auto", *_DUAL, *_FIRST_ORDER, *_PERCEPTRONS)
FREE_SOLVERS = ("auto", "coordinate_ascent", "interior_point", "block_ascent")  # of Crammer-Singer
_PAIR_SOLVERS = ("auto", "newton", *_FIRST_ORDER)
_HINGES = ("hinge", "squared_hinge")

# options that say nothing to some solvers, and why
WITHOUT_MEANING = {
    "tol": (_PERCEPTRONS, "ends when a pass meets no mistake, or at --max-passes"),
    "seed": (
        (
            *("interior_point", "newton", "block_ascent", "block_smo", "projected_gradient"),
            *("one_slack", "bundle", "gradient_descent"),
        ),
        "draws nothing at random",
    ),
}

# options that some solvers do not learn by, though the objective that is certified has them
CERTIFICATE_ONLY = {"C": _PERCEPTRONS}

_LIMITS = dict.fromkeys(("tol", "max_passes", "max_time", "seed"), _ANY)
_STRUCTURED = {"C": _ANY, **_LIMITS, "solver": _STRUCTURED_SOLVERS, "jobs": _ANY, "warm_start": _ANY}
_KERNELS = {
    "kernel": ("linear", "poly", "rbf", "sigmoid", "cosine"),
    **dict.fromkeys(("gamma", "degree", "coef0", "nu"), _ANY),
}
_MACHINE = {
    "C": _ANY,
    **_LIMITS,
    **_KERNELS,
    "intercept": ("free", "penalized", "none"),
    "solver": MACHINE_SOLVERS,
}
_CLASSIFIER = {**_MACHINE, "loss": (*_HINGES, "logistic", "exponential"), "class_weight": _ANY}
_CRAMMER_SINGER = {
    **_STRUCTURED,
    "loss": ("zero_one",),
    "multi_class": ("crammer-singer",),
    "intercept": ("free", "penalized", "none"),
    "class_weight": _ANY,
    "solver": (*_STRUCTURED_SOLVERS, *FREE_SOLVERS[1:]),
}
_REGRESSOR = {
    **_MACHINE,
    "loss": ("epsilon_insensitive", "squared_epsilon_insensitive"),
    "epsilon": _ANY,
    "solver": tuple(solver for solver in MACHINE_SOLVERS if solver not in _PERCEPTRONS),
}
_ONE_CLASS = {
    **dict.fromkeys(("tol", "max_passes", "max_time", "gamma", "degree", "coef0", "nu"), _ANY),
    "kernel": ("rbf", "linear", "poly", "sigmoid", "cosine"),
    "solver": ("auto", "block_smo", "interior_point", "projected_gradient"),
}
_AUC = {
    "C": _ANY,
    **dict.fromkeys(("tol", "max_passes", "max_time"), _ANY),
    "C_per": ("row", "pair"),
    "loss": _HINGES,
    "solver": _PAIR_SOLVERS,
    "class_weight": _ANY,
    "warm_start": _ANY,
}
_SEQUENCES = {**_STRUCTURED, "loss": ("hamming", "normalized_hamming"), "min_count": _ANY, "forbidden": _ANY}
_HARD_MARGIN = {
    **{option: values for option, values in _MACHINE.items() if option != "nu"},
    "loss": ("hinge",),
    "solver": (
        *("auto", "coordinate_ascent", "interior_point", "active_set", "block_ascent", "projected_gradient"),
        *_FIRST_ORDER,
    ),
}
_RANKER = Learner("SVMRanker", {"C": _ANY, **_LIMITS, "loss": _HINGES, "solver": _PAIR_SOLVERS, "warm_start": _ANY})
_ROWS = {"zero_based": "svmlight"}
_LINEAR_ROWS = {**_ROWS, "memory": "svmlight"}  # of linear machines, which leave rows in files

# Of the tasks that read one format the first is that of data without a mark.
TASKS = {
    "multiclass": Entry(
        "multiclass",
        ("svmlight",),
        (
            Learner("MulticlassSVM", _CRAMMER_SINGER),
            Learner("SVMClassifier", {**_CLASSIFIER, "multi_class": ("ovr", "ovo")}),
        ),
        reading=_LINEAR_ROWS,
        predicting=("scores",),
    ),
    "binary": Entry(
        "binary",
        ("svmlight",),
        (Learner("SVMClassifier", _CLASSIFIER),),
        Learner("HardMarginSVM", _HARD_MARGIN),
        _LINEAR_ROWS,
        ("scores",),
    ),
    "auc": Entry("auc", ("svmlight",), (Learner("AUCClassifier", _AUC),), None, _LINEAR_ROWS, ("scores",)),
    "regression": Entry("regression", ("svmlight",), (Learner("SVMRegressor", _REGRESSOR),), None, _LINEAR_ROWS),
    "one-class": Entry("one_class", ("svmlight",), (Learner("OneClassSVM", _ONE_CLASS),), None, _ROWS, ("scores",)),
    "ranking": Entry(
        "ranking",
        ("svmlight",),
        (_RANKER,),
        _RANKER,
        _LINEAR_ROWS,
        mark=r"\s*\S+\s+qid:\d",
    ),
    "sequence": Entry(
        "sequence",
        ("columns", "crfsuite"),
        (Learner("SequenceSVM", _SEQUENCES),),
        reading={"template": "columns", "separator": "columns"},
        predicting=("k_best", "confidence"),
    ),
    "tree": Entry("tree", ("brackets",), (Learner("TreeSVM", {**_STRUCTURED, "loss": ("constituents", "zero_one")}),)),
}
FORMATS = tuple(dict.fromkeys(name for entry in TASKS.values() for name in entry.formats))


def task_of(format: str, rows: Sequence[str] = ()) -> str:
    """The task that reads a format, and among several the one whose mark the first of these rows has."""
    able = [task for task, entry in TASKS.items() if format in entry.formats]
    marked = [task for task in able if rows and TASKS[task].mark and re.match(TASKS[task].mark, rows[0], re.ASCII)]
    return (marked or able)[0]


def serving(estimator: str) -> list[str]:
    """The tasks that an estimator of this name serves."""
    return [task for task, entry in TASKS.items() if any(estimator == learner.estimator for learner in entry.everyone)]


def values_of(option: str) -> dict[tuple[str, ...], list[str]]:
    """The sets of values that an option of ``train`` has, each with the tasks, or forms of tasks, that have it."""
    out: dict[tuple[str, ...], list[str]] = {}
    for task, entry in TASKS.items():
        for learner in entry.learners:
            if values := learner.options.get(option):
                forms = learner.options.get("multi_class")
                out.setdefault(values, []).append(_form(task, forms) if forms else task)
    return out


def takers(option: str, value: str | None = None) -> dict[str, str]:
    """The tasks with an option of ``train`` or ``predict`` (and with a value of it), each with how to say so."""
    out: dict[str, str] = {}
    for task, entry in TASKS.items():
        able = [learner for learner in entry.learners if option in learner.options]
        able = [learner for learner in able if value is None or value in learner.options[option]]
        if option in (*entry.reading, *entry.predicting) or len(able) == len(entry.learners):
            out[task] = task
        elif able:
            forms = [form for learner in able for form in learner.options["multi_class"]]
            out[task] = _form(task, forms)
    return out


def _form(task: str, forms: Sequence[str]) -> str:
    return f"{task} with --multi-class {' or '.join(forms)}"
