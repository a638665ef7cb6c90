"""From the options of ``train`` to an estimator: which one, what it refuses, what its parameters are called."""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from .messages import UsageError
from .table import CERTIFICATE_ONLY, FREE_SOLVERS, MACHINE_SOLVERS, TASKS, WITHOUT_MEANING, Learner, takers

__all__ = ["KERNELS_WITH", "check_options", "choose", "form_of", "make", "of_the_certificate", "parameters"]

# Arguments of the command itself; all others belong to tasks.
_OF_THE_COMMAND = {
    *("command", "debug", "data", "output", "test", "task", "format", "quiet", "verbose", "solvers", "picture"),
}

KERNELS_WITH = {"gamma": ("poly", "rbf", "sigmoid"), "degree": ("poly",), "coef0": ("poly", "sigmoid")}
"""The parameters of kernels, and the kernels that have them."""
_MACHINE_SOLVERS = {
    "linear": tuple(solver for solver in MACHINE_SOLVERS if solver != "block_smo"),
    "kernel": ("auto", "block_smo", "interior_point", "newton", "projected_gradient"),
    "nu": ("auto", "block_smo", "interior_point", "projected_gradient"),
}
_NOT_FOR_LOSS = {
    **dict.fromkeys(("hinge", "epsilon_insensitive"), ("newton",)),
    **dict.fromkeys(
        ("logistic", "exponential"),
        ("coordinate_ascent", "interior_point", "active_set", "block_ascent", "block_smo", "projected_gradient"),
    ),
}


def choose(args: Namespace, task: str, model: Any = None) -> Learner:
    """What learns: that of a model to start from, else what ``--multi-class`` asks for, or has the options given.

    Raises
    ------
    UsageError
        For ``-C inf`` where nothing has a hard margin.
    """
    entry = TASKS[task]
    learners = entry.learners
    if _is_hard(args):
        if entry.hard is None:
            able = " and ".join(name for name, other in TASKS.items() if other.hard is not None)
            raise UsageError(
                f"-C inf cannot go with task {task}: it allows no loss at all, which is for {able}; give a number"
            )
        learners = (entry.hard,)
    if model is not None:
        return next(learner for learner in entry.everyone if learner.estimator == type(model).__name__)
    if _is_hard(args):
        return learners[0]
    if args.multi_class is None:
        given = {option for option, _ in _given(args) if any(option in learner.options for learner in learners)}
        asked = (learner for learner in learners if given <= learner.options.keys())
    else:
        asked = (learner for learner in learners if args.multi_class in learner.options.get("multi_class", ()))
    return next(asked, learners[0])


def form_of(args: Namespace, task: str, learner: Learner) -> str | None:
    """How several classes are learned, where that was asked for or is not as by default."""
    forms = learner.options.get("multi_class")
    if forms is None or learner is TASKS[task].learners[0]:
        return args.multi_class if forms else None
    return args.multi_class or forms[0]


def check_options(args: Namespace, task: str, format: str, learner: Learner, model: Any = None) -> None:
    """Refuse options that have no meaning here: none is ever ignored.

    Raises
    ------
    UsageError
        Names the option, the task, and what the option is for.
    """
    if model is not None and "warm_start" in learner.options:
        forms = learner.options.get("multi_class", ())
        if args.multi_class is not None and forms and args.multi_class not in forms:
            raise UsageError(
                f"--multi-class {args.multi_class} cannot go with --warm-start {args.warm_start}, a model of "
                f"--multi-class {' or '.join(forms)}"
            )
    form = form_of(args, task, learner)
    here = f"task {task}" + (f" with --multi-class {form}" if form else "") + (" with -C inf" if _is_hard(args) else "")
    for option, value in _given(args):
        if TASKS[task].reading.get(option) == format:
            continue
        if option not in learner.options:
            meant = takers(option)
            if option == "memory" and format in TASKS[task].formats and format == "svmlight":
                raise UsageError(
                    f"--memory cannot go with {here}: with any kernel it needs values between all rows, which stay in "
                    f"memory (learn from a sample of them); it is for {', '.join(meant.values())}"
                )
            if _is_hard(args) and option in TASKS[task].learners[0].options:
                raise UsageError(f"{_spelt(option)} cannot go with {here}")
            if task in meant.values() or not any(format in TASKS[other].formats for other in meant):
                raise UsageError(f"{_spelt(option)} cannot go with {format} data (task {task})")
            raise UsageError(f"{_spelt(option)} cannot go with {here}; it is for {', '.join(meant.values())}")
        values = learner.options[option]
        if values and value not in values:
            more = "" if _is_hard(args) else f" ({value}: {', '.join(takers(option, value).values())})"
            raise UsageError(f"{_spelt(option)} {value} cannot go with {here}, which has {', '.join(values)}{more}")
    for option, (solvers, cause) in WITHOUT_MEANING.items():
        if getattr(args, option) is not None and args.solver in solvers:
            raise UsageError(f"{_spelt(option)} cannot go with --solver {args.solver}, which {cause}")
    if "kernel" in learner.options:
        _check_kernel(args, learner)
    elif "free" in learner.options.get("intercept", ()) and _is_free(args, model):  # Crammer-Singer
        solver = args.solver or getattr(model, "solver", "auto")
        if solver not in FREE_SOLVERS:
            free = "--intercept free, which has"
            if args.intercept is None:
                free = f"the free intercepts of {args.warm_start} (--intercept penalized has others), which have"
            origin = "" if args.solver else f"; {solver} is the solver of {args.warm_start}"
            raise UsageError(f"--solver {solver} cannot go with {free} {', '.join(FREE_SOLVERS)}{origin}")


def of_the_certificate(args: Namespace, model: Any = None) -> list[str]:
    """Notes on options given that change the certificate and not what is learned."""
    solver = args.solver or getattr(model, "solver", None)
    return [
        f"{_spelt(option)} counts in the certificate alone: --solver {solver} learns the same whatever it is"
        for option, solvers in CERTIFICATE_ONLY.items()
        if getattr(args, option) is not None and solver in solvers
    ]


def _check_kernel(args: Namespace, learner: Learner) -> None:
    """Refuse what the kernel, or ``--nu``, leaves without a meaning."""
    kernel = args.kernel or learner.options["kernel"][0]
    for option, kernels in KERNELS_WITH.items():
        if getattr(args, option) is not None and kernel not in kernels:
            raise UsageError(f"{_spelt(option)} cannot go with --kernel {kernel}; it is for {', '.join(kernels)}")
    if args.memory is not None and (kernel != "linear" or args.nu is not None):
        other = f"--kernel {kernel}" if kernel != "linear" else "--nu"
        raise UsageError(f"--memory cannot go with {other}: rows can be in files for linear machines only")
    if args.nu is not None:
        replaced = "epsilon" if "epsilon" in learner.options else "C"
        if getattr(args, replaced) is not None:
            raise UsageError(f"{_spelt(replaced)} cannot go with --nu, which stands in its place")
        for option in ("loss", "intercept"):
            needed, given = learner.options.get(option, ("",))[0], getattr(args, option)
            if given not in (None, needed):
                raise UsageError(f"{_spelt(option)} {given} cannot go with --nu, which needs {needed}")
    case = "nu" if args.nu is not None or "C" not in learner.options else "linear" if kernel == "linear" else "kernel"
    case = "linear" if _is_hard(args) else case  # in the space of the kernel
    loss = args.loss or learner.options.get("loss", ("",))[0]
    offered = [solver for solver in _MACHINE_SOLVERS[case] if solver in learner.options["solver"]]
    solvers = [solver for solver in offered if solver not in _NOT_FOR_LOSS.get(loss, ())]
    if args.solver is not None and args.solver not in solvers:
        cause = "--nu" if case == "nu" else f"--kernel {kernel}"
        if args.solver in _MACHINE_SOLVERS[case]:
            cause = f"--loss {loss}"
        raise UsageError(f"--solver {args.solver} cannot go with {cause}, which has {', '.join(solvers)}")


def parameters(args: Namespace, learner: Learner, model: Any = None) -> dict[str, Any]:
    """The options given, as parameters of the estimator, which may be a model to start from."""
    out: dict[str, Any] = {"random_state": 0} if model is None and "seed" in learner.options else {}
    for option, value in _given(args):
        if option in learner.options:
            out |= _as_parameters(option, value, learner)
    return out


def make(learner: Learner, values: dict[str, Any]) -> Any:
    """A new estimator."""
    return getattr(import_module("..", __package__), learner.estimator)(**values)


def _as_parameters(option: str, value: Any, learner: Learner) -> dict[str, Any]:
    if option == "intercept":
        if value == "none" or "free" not in learner.options[option]:
            again = {"penalize_intercept": None} if learner.estimator == "MulticlassSVM" else {}
            return {"fit_intercept": value != "none", **again}
        return {"fit_intercept": True, "penalize_intercept": value == "penalized"}
    if option == "warm_start":
        return {"warm_start": True}
    # estimators of their own
    if (option, value) == ("multi_class", "crammer-singer"):
        return {}
    if learner.estimator == "HardMarginSVM" and option in ("C", "loss"):
        return {}
    return {{"seed": "random_state", "jobs": "n_jobs"}.get(option, option): value}


def _is_free(args: Namespace, model: Any) -> bool:
    """Whether intercepts that are not penalised are asked for, now or by the model to start from."""
    if args.intercept is not None or model is None:
        return bool(args.intercept == "free")
    return bool(model.fit_intercept and model.penalize_intercept is False)


def _is_hard(args: Namespace) -> bool:
    """Whether no loss is allowed."""
    return args.C is not None and math.isinf(args.C)


def _given(args: Namespace) -> Iterator[tuple[str, Any]]:
    """The options of tasks that were given; a 0 is a value."""
    for option, value in vars(args).items():
        if option not in _OF_THE_COMMAND and value is not None and value is not False:
            yield option, value


def _spelt(option: str) -> str:
    return f"-{option}" if len(option) == 1 else "--" + option.replace("_", "-")
