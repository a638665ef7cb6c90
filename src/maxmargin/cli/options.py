"""The arguments of every command, checked as far as they can be without looking at data."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any, NoReturn

from .._version import __version__
from .messages import UsageError
from .tasks import FORMATS, TASKS

__all__ = ["SOLVERS", "make_parser"]

SOLVERS = ("auto", "frank_wolfe", "n_slack", "one_slack", "averaged_perceptron", "perceptron")


class _Parser(argparse.ArgumentParser):
    """Errors are raised, to be shown as one line."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


def _number(low: float, *, inclusive: bool = True, whole: bool = False, nonzero: bool = False) -> Callable[[str], Any]:
    """A converter of a finite number that is at least, or more than, ``low``."""
    what = ("a whole number" if whole else "a number") + (
        f" {'>=' if inclusive else '>'} {low:g}" if low > -math.inf else ""
    )

    def convert(text: str) -> Any:
        try:
            value = int(text) if whole else float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and (value >= low if inclusive else value > low)) or (nonzero and value == 0):
            raise argparse.ArgumentTypeError(f"must be {what}{' other than 0' if nonzero else ''}, not {text!r}")
        return value

    return convert


def make_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; its errors are :class:`UsageError`."""
    parser = _Parser(
        prog="maxmargin",
        description="Large-margin learning of classes, label sequences and trees, with a certificate.",
        epilog="exit status: 0 all went well, 1 fault of the program, 2 wrong arguments or data, 130 interrupted",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"maxmargin {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True, parser_class=_Parser)
    for name, fill, text in (
        ("train", _train, "learn a model from labelled data"),
        ("predict", _predict, "label data with a model"),
        ("evaluate", _evaluate, "compare predictions with true labels"),
        ("inspect", _inspect, "show what a model is made of"),
        ("demo", _demo, "a guided tour on small data"),
    ):
        command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".", allow_abbrev=False)
        fill(command)
        command.add_argument("--debug", action="store_true", help="show a traceback when something goes wrong")
    return parser


def _train(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", metavar="DATA", help="labelled data; - is standard input; gzip is unpacked")
    parser.add_argument("-o", "--output", metavar="MODEL", help="the model file (default: DATA's name with .model)")
    parser.add_argument("--test", metavar="FILE", help="labelled data to evaluate the model on after training")
    parser.add_argument(
        "--warm-start", metavar="MODEL", help="start from this model; options not given are taken from it"
    )

    data = parser.add_argument_group("data (recognised by the first lines and the name where not given)")
    data.add_argument("--task", choices=TASKS, help="what is predicted")
    _format(data)
    data.add_argument("--zero-based", action="store_true", help="svmlight: indices count from zero (default: from one)")
    data.add_argument(
        "--separator",
        choices=("blank", "tab"),
        help="columns: what parts cells (default: blank, any run of blanks and tabs)",
    )
    data.add_argument(
        "--template",
        metavar="FILE",
        help="columns: attributes of tokens: 'default', 'chunking' or a file (default: default)",
    )
    data.add_argument("--min-count", metavar="N", type=_number(1, whole=True), help="sequence: ignore rarer attributes")
    data.add_argument(
        "--forbidden", choices=("iob2", "bioes"), help="sequence: forbid what this labelling scheme forbids"
    )

    learning = parser.add_argument_group("learning")
    learning.add_argument(
        "-C", type=_number(0, inclusive=False), help="weight of the loss against the margin (default: 1)"
    )
    losses = sorted({loss for task in TASKS.values() for loss in task.losses})
    learning.add_argument(
        "--loss",
        choices=losses,
        help="; ".join(f"{name}: {', '.join(task.losses)}" for name, task in TASKS.items())
        + " (the first is the default)",
    )
    learning.add_argument("--tol", type=_number(0), help="relative duality gap at which to stop")
    learning.add_argument("--max-passes", metavar="N", type=_number(1, whole=True), help="passes over the data at most")
    learning.add_argument("--max-time", metavar="SECONDS", type=_number(0, inclusive=False), help="time for learning")
    learning.add_argument("--solver", choices=SOLVERS, help="how the optimum is found (default: auto)")
    learning.add_argument("--seed", metavar="N", type=_number(0, whole=True), help="order of the visits (default: 0)")
    _jobs(learning)
    talk = parser.add_mutually_exclusive_group()
    talk.add_argument("-q", "--quiet", action="store_true", help="no progress, only notes and errors")
    talk.add_argument("-v", "--verbose", action="store_true", help="a line for every pass")


def _predict(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a model file")
    parser.add_argument(
        "data", metavar="DATA", help="data of the kind that the model was trained on; - is standard input"
    )
    parser.add_argument(
        "-o", "--output", metavar="OUT", default="-", help="where to write (default: -, standard output)"
    )
    _format(parser)
    parser.add_argument(
        "--unlabelled", action="store_true", help="DATA holds no labels (needed for crfsuite; otherwise recognised)"
    )
    parser.add_argument(
        "--k-best", metavar="K", type=_number(1, whole=True), help="sequence: the K best answers with scores"
    )
    parser.add_argument(
        "--confidence", action="store_true", help="sequence: the margin of every label in a further column"
    )
    _jobs(parser)
    _quiet(parser)


def _evaluate(parser: argparse.ArgumentParser) -> None:
    parser.usage = "%(prog)s [options] MODEL DATA\n       %(prog)s [options] --predictions FILE DATA"
    parser.add_argument(
        "files", metavar="MODEL DATA", nargs="+", help="a model file and labelled data, or labelled data alone"
    )
    parser.add_argument("--predictions", metavar="FILE", help="what `maxmargin predict` wrote, in the place of MODEL")
    _format(parser)
    _jobs(parser)
    _quiet(parser)


def _inspect(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="a model file")
    parser.add_argument(
        "--top", metavar="K", type=_number(0, whole=True), default=10, help="features per label (default: 10)"
    )
    parser.add_argument("--json", action="store_true", help="everything as JSON")


def _demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--output", metavar="DIR", default="maxmargin-demo", help="folder for results (default: %(default)s)"
    )
    parser.add_argument("--quick", action="store_true", help="smaller data, a few seconds")
    parser.add_argument(
        "--seed", metavar="N", type=_number(0, whole=True), default=0, help="random numbers (default: 0)"
    )


def _format(parser: Any) -> None:
    parser.add_argument("--format", choices=FORMATS, help="format of DATA")


def _jobs(parser: Any) -> None:
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=_number(-math.inf, whole=True, nonzero=True),
        help="threads; -1 is one for every core",
    )


def _quiet(parser: Any) -> None:
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress, only notes and errors")
