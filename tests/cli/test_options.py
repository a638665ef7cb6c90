"""Arguments that are wrong or contradict each other are refused in one line, before any work."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import maxmargin
from maxmargin import load_model
from maxmargin.cli import main
from maxmargin.cli.learners import check_options, choose, make, parameters
from maxmargin.cli.messages import UsageError
from maxmargin.cli.options import make_parser
from maxmargin.cli.table import FORMATS, TASKS, serving, task_of
from maxmargin.cli.tasks import Task, load_task

Run = Callable[..., Any]


FREE = {
    **{"C": "3", "tol": "0.5", "max_passes": "7", "max_time": "60", "seed": "5", "jobs": "2", "epsilon": "0.5"},
    **{"gamma": "0.25", "degree": "2", "coef0": "1", "min_count": "2", "forbidden": "iob2", "warm_start": "m"},
    "nu": "0.4",
    "class_weight": "balanced",
}
# a plain machine starts from its dual point, which a model file does not hold
NOT_ON_THE_COMMAND_LINE = {"callback", "verbose", "intercept_scaling", "cache_mb", "multi_class", "warm_start"}


def arguments(task: str, option: str, value: str, *more: str) -> Any:
    flag = f"-{option}" if len(option) == 1 else f"--{option.replace('_', '-')}"
    return make_parser().parse_args(["train", "x", "--task", task, flag, value, *more])


def forms() -> list[tuple[str, Any, list[str]]]:
    """Every task, what learns it, and the arguments that ask for that."""
    return [
        (task, learner, ["--multi-class", learner.options["multi_class"][-1]] if len(entry.learners) > 1 else [])
        for task, entry in TASKS.items()
        for learner in entry.learners
    ]


@pytest.mark.parametrize(("task", "learner", "more"), forms())
def test_every_option_of_the_table_is_a_parameter(task: str, learner: Any, more: list[str]) -> None:
    """Whatever is offered reaches the estimator; of plain machines every parameter but a few is offered."""
    defaults = make(learner, {}).get_params()
    covered = set(NOT_ON_THE_COMMAND_LINE)
    for option, values in learner.options.items():
        for value in () if option == "multi_class" else values or (FREE[option],):
            needed = ["--kernel", "poly"] if option in ("gamma", "degree", "coef0") or value == "block_smo" else []
            if value == "newton":
                needed += ["--loss", learner.options["loss"][1]]
            args = arguments(task, option, value, *more, *needed)
            assert choose(args, task) is learner
            format = TASKS[task].formats[0]
            check_options(args, task, format, learner)
            found = parameters(args, learner)
            covered |= set(found)
            changed = {name: v for name, v in make(learner, found).get_params().items() if v != defaults[name]}
            if value not in values[:1]:  # which is the default
                assert changed, (option, value)
    if task not in ("sequence", "tree"):
        assert {*defaults} <= covered


@pytest.mark.parametrize(("task", "learner", "more"), forms())
def test_an_option_of_another_task_is_refused(task: str, learner: Any, more: list[str]) -> None:
    """Named together with the task, and with the tasks that have it."""
    everything = {option: values for _, other, _ in forms() for option, values in other.options.items()}
    for option, values in everything.items():
        if option in learner.options or (option == "multi_class" and more):
            continue
        args = arguments(task, option, (values or (FREE[option],))[0], *more)
        with pytest.raises(UsageError, match=rf"^--?{option.replace('_', '-')} cannot go with .*task {task}"):
            check_options(args, task, TASKS[task].formats[0], choose(args, task))
    for option, values in learner.options.items():
        others = {v for _, other, _ in forms() for v in other.options.get(option, ())}
        for value in sorted(others.difference(values)) if values and option != "multi_class" else ():
            args = arguments(task, option, value, *more)
            with pytest.raises(UsageError, match=rf"^--{option.replace('_', '-')} {value} cannot go with task {task}"):
                check_options(args, task, TASKS[task].formats[0], choose(args, task))


def test_the_values_offered_are_those_there_are() -> None:
    from maxmargin import OneClassSVM, SVMClassifier, SVMRegressor
    from maxmargin._machine import _SOLVERS
    from maxmargin.kernels import NAMES
    from maxmargin.losses import MARGIN_LOSSES
    from maxmargin.ranking import PAIR_SOLVERS
    from maxmargin.regressor import _LOSSES as LOSSES_OF_VALUES
    from maxmargin.solvers import BY_NAME

    for _, learner, _ in forms():
        values, machine = learner.options, learner.estimator in ("SVMClassifier", "SVMRegressor")
        if learner.estimator == "OneClassSVM":
            assert {*values["kernel"]} == {*NAMES} - {"precomputed"}
            assert values["kernel"][0] == OneClassSVM().kernel
            assert {*values["solver"]} == {*OneClassSVM()._solver_names()} - {"newton"}  # which is for other losses
            for solver in values["solver"]:
                OneClassSVM(solver=solver).fit([[0.0], [1.0]])
        elif learner.estimator in ("SVMRanker", "AUCClassifier"):
            assert values["solver"] == tuple(PAIR_SOLVERS)
        elif "solver" in values:
            known = {*_SOLVERS, "block_smo"} if machine else {*BY_NAME, "auto"}
            if learner.estimator == "SVMRegressor":
                known = {*SVMRegressor()._solver_names(), "block_smo"}
            assert {*values["solver"]} == known | (
                {"coordinate_ascent", "interior_point", "block_ascent"}
                if learner.estimator == "MulticlassSVM"
                else set()
            )
        if machine:
            of_margins = {*MARGIN_LOSSES} - {"perceptron", "zero_one"}  # which solve nothing
            assert {*values["loss"]} == (of_margins if learner.estimator == "SVMClassifier" else {*LOSSES_OF_VALUES})
            assert {*values["kernel"]} == {*NAMES} - {"precomputed"}
        if learner.estimator == "SVMClassifier":
            assert SVMClassifier().loss == values["loss"][0]
        if learner.estimator == "SVMRegressor":
            assert SVMRegressor().loss == values["loss"][0]


def test_every_task_of_the_table_is_there() -> None:
    """A format without a mark belongs to one task; a model says which tasks it may be of."""
    for name, entry in TASKS.items():
        assert isinstance(load_task(name), Task)
        assert all(name in serving(learner.estimator) for learner in entry.learners)
        assert task_of(entry.formats[0]) == next(task for task, e in TASKS.items() if entry.formats[0] in e.formats)
    assert len(FORMATS) == len({*FORMATS})
    rows = [name for name, entry in TASKS.items() if entry.formats == ("svmlight",)]  # tasks that share one format
    assert len(FORMATS) == sum(len(entry.formats) for entry in TASKS.values()) - (len(rows) - 1)
    assert not any(TASKS[task_of(format)].mark for format in FORMATS)


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    for argv in (
        ["--help"],
        *([command, "--help"] for command in ("train", "predict", "evaluate", "inspect", "compare", "demo")),
    ):
        with pytest.raises(SystemExit) as stop:
            main(argv)
        assert stop.value.code == 0
        assert "usage: maxmargin" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"maxmargin {maxmargin.__version__}\n"


def test_defaults_are_left_to_the_estimators() -> None:
    args = vars(make_parser().parse_args(["train", "x"]))
    assert {name for name, value in args.items() if value not in (None, False)} == {"command", "data"}


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ([], "the following arguments are required: command (see maxmargin --help)"),
        (["fly"], "argument command: invalid choice: 'fly'"),
        (["train"], "the following arguments are required: DATA (see maxmargin train --help)"),
        (["train", "x", "--temp", "y"], "unrecognized arguments: --temp"),
        (["train", "x", "-C", "0"], "argument -C: must be a number > 0, not '0'"),
        (["train", "x", "-C", "nan"], "argument -C: must be a number > 0, not 'nan'"),
        (["train", "x", "-C", "1e999"], "argument -C: must be a number > 0, not '1e999'"),
        (["train", "x", "-C", "-inf"], "argument -C: expected one argument"),
        (["train", "x", "-C", "much"], "argument -C: must be a number > 0, not 'much'"),
        (["train", "x", "--tol", "-1"], "argument --tol: must be a number >= 0, not '-1'"),
        (["train", "x", "--max-passes", "0"], "argument --max-passes: must be a whole number >= 1, not '0'"),
        (["train", "x", "--max-passes", "1.5"], "argument --max-passes: must be a whole number >= 1, not '1.5'"),
        (["train", "x", "--max-time", "0"], "argument --max-time: must be a number > 0"),
        (["train", "x", "--seed", "-1"], "argument --seed: must be a whole number >= 0"),
        *(
            ([command, *data, "--seed", value], "argument --seed: must be a whole number >= 0 and <= 4294967295, not '")
            for command, *data in (["train", "x"], ["compare", "x"], ["demo"])
            for value in ("4294967296", "1" * 400, "1" * 5000)
        ),
        (["train", "x", "-C", "1" * 400], "argument -C: must be a number > 0, not '1111"),
        (["train", "x", "--max-passes", "1" * 400], "argument --max-passes: must be a whole number >= 1, not '1111"),
        (["train", "x", "--jobs", "-" + "1" * 400], "argument --jobs: must be a whole number other than 0, not '-1111"),
        (["predict", "m", "x", "--k-best", "1" * 400], "argument --k-best: must be a whole number >= 1, not '1111"),
        (["inspect", "m", "--top", "1" * 400], "argument --top: must be a whole number >= 0, not '1111"),
        (["train", "x", "--memory", "1" * 400], "argument --memory: must be a number of bytes, or one with K, M"),
        (["train", "x", "--memory", "1" * 308 + "T"], "argument --memory: must be a number of bytes, or one with K, M"),
        *(
            (["train", "x", "--class-weight", *factors], f"argument --class-weight: names the label {twice} twice")
            for factors, twice in (
                (["a:1", "a:2"], "'a'"),
                (["1:2", "+1:50"], "'+1'"),
                (["-1:2", "2:1", "-1.0:1"], "'-1.0'"),
                (["0:2", "-0:1"], "'-0'"),
                (["1e1:2", "10:1"], "'10'"),
            )
        ),
        (["train", "x", "--jobs", "0"], "argument --jobs: must be a whole number other than 0"),
        (["train", "x", "--min-count", "0"], "argument --min-count: must be"),
        (["train", "x", "--solver", "magic"], "argument --solver: invalid choice: 'magic'"),
        (["train", "x", "--loss", "huber"], "argument --loss: invalid choice"),
        (["train", "x", "-q", "-v"], "argument -v/--verbose: not allowed with argument -q/--quiet"),
        (["train", "none.txt"], "none.txt: No such file or directory"),
        (["train", "."], ".: Is a directory"),
        (["train", "train.svm", "-o", "-"], "-o must name a file"),
        (["train", "-"], "-o is needed where DATA is standard input"),
        (["train", "train.svm", "-o", "."], ".: is a folder; -o names a file"),
        (["train", "train.svm", "-o", "new/"], "new/: is the name of a folder; -o names a file"),
        (["train", "train.svm", "-o", "none/x"], "none/x: no such folder"),
        (["train", "train.svm", "-o", "m" * 300], "m" * 300 + ": File name too long"),
        (["predict", "train.svm", "train.svm", "-o", "m" * 300], "m" * 300 + ": File name too long"),
        (["compare", "train.svm", "--picture", "m" * 300 + ".png"], "m" * 300 + ".png: File name too long"),
        (["train", "train.svm", "-o", "train.svm"], "-o train.svm would replace an input: name another file"),
        (["train", "train.svm", "-o", "m", "--test", "none"], "none: No such file or directory"),
        (["train", "-", "-o", "m", "--test", "-"], "only one of the inputs can be standard input"),
        (["evaluate", "-", "train.svm"], "MODEL must be a file"),
        (["train", "train.svm", "-o", "m", "--warm-start", "none"], "none: No such file or directory"),
        (["train", "train.svm", "-o", "m", "--warm-start", "train.svm"], "train.svm: not a model file"),
        (
            ["train", "train.svm", "-o", "m", "--template", "chunking"],
            "--template cannot go with svmlight data (task multi",
        ),
        (["train", "train.svm", "-o", "m", "--template", "none"], "none: No such file or directory"),
        (
            ["train", "train.svm", "-o", "m", "--min-count", "2"],
            "--min-count cannot go with svmlight data (task multiclass)",
        ),
        (["train", "train.svm", "-o", "m", "--forbidden", "iob2"], "--forbidden cannot go with svmlight data"),
        (["train", "train.svm", "-o", "m", "--separator", "tab"], "--separator cannot go with svmlight data"),
        (
            ["train", "train.svm", "-o", "m", "--loss", "hamming"],
            "--loss hamming cannot go with task multiclass, which has",
        ),
        (
            ["train", "train.svm", "-o", "m", "--task", "tree"],
            "train.svm: looks like svmlight, but --task tree reads brack",
        ),
        (
            ["train", "train.svm", "--format", "columns", "--task", "tree"],
            "--format columns cannot go with --task tree",
        ),
        (
            ["train", "train.conll", "-o", "m", "--zero-based"],
            "--zero-based cannot go with columns data (task sequence)",
        ),
        (
            ["train", "train.crf", "-o", "m", "--template", "default"],
            "--template cannot go with crfsuite data (task sequence)",
        ),
        (["predict", "none", "train.svm"], "none: No such file or directory"),
        (["predict", "-", "train.svm"], "MODEL must be a file"),
        (["predict", "train.svm", "train.svm"], "train.svm: not a model file"),
        (["predict", "m.model", "none"], "none: No such file or directory"),
        (["predict", "m.model", "train.svm", "-o", "m.model"], "-o m.model would replace an input"),
        (["predict", "m.model", "train.svm", "-o", "train.svm"], "-o train.svm would replace an input"),
        (
            ["predict", "m.model", "train.svm", "--k-best", "2", "--confidence"],
            "--k-best and --confidence cannot go together",
        ),
        (["predict", "m.model", "train.svm", "--k-best", "0"], "argument --k-best: must be a whole number >= 1"),
        (
            ["predict", "m.model", "train.svm", "--k-best", "2"],
            "--k-best cannot go with m.model, a model of task multiclass",
        ),
        (
            ["predict", "m.model", "train.svm", "--confidence"],
            "--confidence cannot go with m.model, a model of task multi",
        ),
        (
            ["predict", "m.model", "train.svm", "--format", "columns"],
            "--format columns cannot go with m.model, a model of",
        ),
        (
            ["evaluate", "train.svm"],
            "give MODEL and DATA, or --predictions FILE and DATA; there is 1 name: train.svm",
        ),
        (["evaluate", "a", "b", "c"], "give MODEL and DATA, or --predictions FILE and DATA; there are 3 names: a b c"),
        (
            ["evaluate", "--predictions", "p", "m.model", "train.svm"],
            "--predictions FILE takes DATA alone; there are 2 names",
        ),
        (["evaluate", "--predictions", "-", "-"], "only one of the inputs can be standard input"),
        (["evaluate", "--predictions", "none", "train.svm"], "none: No such file or directory"),
        (["evaluate", "none", "train.svm"], "none: No such file or directory"),
        (["inspect", "none"], "none: No such file or directory"),
        (["inspect", "."], ".: Is a directory"),
        (["inspect", "train.svm"], "train.svm: not a model file"),
        (["inspect", "m.model", "--top", "-1"], "argument --top: must be a whole number >= 0"),
    ],
)
def test_wrong_arguments(
    argv: list[str], message: str, run: Run, ok: Run, svm: str, columns: str, crfsuite: str
) -> None:
    if "m.model" in argv:
        ok("train", svm, "-o", "m.model")
        before = Path("m.model").read_bytes()
    outcome = run(*argv)
    assert outcome.status == 2
    assert outcome.error.startswith(message)
    assert {path.name for path in Path().iterdir()} <= {"train.svm", "train.conll", "train.crf", "m.model"}
    if "m.model" in argv:
        assert Path("m.model").read_bytes() == before


@pytest.mark.parametrize("factors", [["1:2", "2:1"], ["a:1", "A:1"], ["9007199254740992:1", "9007199254740993:2"]])
def test_labels_that_are_not_one(factors: list[str]) -> None:
    args = make_parser().parse_args(["train", "x", "--class-weight", *factors])
    assert len(args.class_weight) == 2


def test_the_largest_seed(ok: Run, svm: str) -> None:
    ok("train", svm, "-o", "m", "--seed", "4294967295")
    assert load_model("m").random_state == 2**32 - 1


def test_a_file_that_nobody_named_is_not_replaced(run: Run, ok: Run, svm: str) -> None:
    ok("train", svm)
    before = Path("train.model").read_bytes()
    outcome = run("train", svm)
    assert outcome.status == 2
    assert outcome.error == "train.model exists already: say -o train.model to replace it, or name another file"
    assert Path("train.model").read_bytes() == before
    ok("train", svm, "-o", "train.model", "-C", "3")
    assert Path("train.model").read_bytes() != before


def test_messages_stay_on_one_line(run: Run) -> None:
    outcome = run("train", "two\nlines")
    assert outcome.status == 2
    assert outcome.error == "two lines: No such file or directory"


def test_unexpected_errors_are_one_line_too(run: Run, svm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> None:
        raise ZeroDivisionError("division\nby zero")

    monkeypatch.setattr("maxmargin.cli.train.recognise", fail)
    outcome = run("train", svm, "-o", "m")
    assert outcome.status == 1
    assert outcome.error == "division by zero (not expected: --debug shows where)"
    with pytest.raises(ZeroDivisionError):
        main(["train", svm, "-o", "m", "--debug"])


def test_errors_of_users_have_tracebacks_on_demand(svm: str) -> None:
    with pytest.raises(FileNotFoundError):
        main(["train", "none", "--debug"])


@pytest.mark.parametrize(
    "argv", [["--help"], ["train", "none.txt"], ["predict", "none", "none"], ["train", "x", "-C", "-1"]]
)
def test_nothing_heavy_is_loaded_before_the_arguments_are_right(argv: list[str], tmp_path: Path) -> None:
    code = f"""
import json, sys
from maxmargin.cli import main
try:
    main({argv!r})
except SystemExit:
    pass
print(json.dumps(sorted(set(sys.modules) & {{"numpy", "scipy", "numba", "sklearn", "matplotlib"}})))
"""
    env = {"PYTHONPATH": str(Path(maxmargin.__file__).parents[1])}
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout.splitlines()[-1]) == []
    assert time.perf_counter() - begin < 5  # 0.1 s on an idle machine


def test_settings_of_the_process_are_restored(run: Run, svm: str) -> None:
    import gc
    import warnings

    before = gc.get_threshold(), warnings.showwarning, list(warnings.filters)
    for argv in (["train", svm, "-o", "m", "-q"], ["train", "none"], ["predict", "m", svm]):
        run(*argv)
        assert (gc.get_threshold(), warnings.showwarning, list(warnings.filters)) == before


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--solver", "frank_wolfe"], "--solver frank_wolfe cannot go with --intercept free, which has auto, coord"),
        (["--solver", "n_slack", "--warm-start", "m"], "--solver n_slack cannot go with --intercept free, which has"),
        (["--warm-start", "structured"], "--solver bundle cannot go with --intercept free, which has auto"),
    ],
)
def test_what_has_no_free_intercept_is_refused(
    more: list[str], says: str, folder: Path, run: Callable[..., Any], ok: Callable[..., Any]
) -> None:
    (folder / "rows.svm").write_text("1 1:1\n2 1:-1\n3 2:1\n" * 3)
    free = ["train", "rows.svm", "--task", "multiclass", "--intercept", "free"]
    ok(*free, "-o", "m")
    ok(*free[:-2], "--solver", "bundle", "-o", "structured")
    found = run(*free, *more, "-o", "other")
    assert found.status == 2
    assert says in found.error
    assert not (folder / "other").exists()
