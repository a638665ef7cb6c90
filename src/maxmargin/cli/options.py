"""The arguments of every command, checked as far as they can be without looking at data."""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from .._version import __version__
from ..errors import shorten
from .messages import UsageError
from .table import FORMATS, TASKS, takers, values_of

__all__ = ["make_parser"]


class _Parser(argparse.ArgumentParser):
    """Errors are raised, to be shown as one line."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Values of ``--class-weight`` each with the option before it: then none is taken for DATA or an option."""
        words: list[str] = []
        inside = False
        for word in sys.argv[1:] if args is None else args:
            if inside and (word == "balanced" or _OF_CLASS.fullmatch(word)):
                if words[-1] == "--class-weight":
                    words.pop()
                words.append(f"--class-weight={word}")
            else:
                inside = word == "--class-weight"
                words.append(word)
        return super().parse_known_args(words, namespace)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Where there is no room for help or a version that is an error: argparse goes on without a word."""
        if message and file is not None:
            file.write(message)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


def _number(
    low: float, *, inclusive: bool = True, whole: bool = False, nonzero: bool = False, high: float = math.inf
) -> Callable[[str], Any]:
    """A converter of a finite number that is at least, or more than, ``low``, and at most ``high``."""
    what = ("a whole number" if whole else "a number") + (
        f" {'>=' if inclusive else '>'} {low:g}" if low > -math.inf else ""
    )
    what += f" and <= {high:.10g}" if high < math.inf else ""

    def convert(text: str) -> Any:
        try:
            value = int(text) if whole else float(text)
            within = math.isfinite(value) and low <= value <= high
        except (ValueError, OverflowError):
            value, within = math.nan, False
        if not within or (value == low and not inclusive) or (value == 0 and nonzero):
            shown = shorten(text, 60)
            raise argparse.ArgumentTypeError(f"must be {what}{' other than 0' if nonzero else ''}, not {shown!r}")
        return value

    return convert


_SEED = _number(0, whole=True, high=2**32 - 1)  # what NumPy's generators take


def _cost(text: str) -> float:
    """A positive number, or ``inf``."""
    return math.inf if text == "inf" else float(_number(0, inclusive=False)(text))


def _gamma(text: str) -> Any:
    """``scale``, ``auto`` or a positive number."""
    return text if text in ("scale", "auto") else _number(0, inclusive=False)(text)


_OF_CLASS = re.compile(r"(.+):([-+.\w]+)")


def _factor(text: str) -> str | tuple[str, float]:
    """``balanced``, or a label and the factor of its rows."""
    found = _OF_CLASS.fullmatch(text)
    if text == "balanced" or found is None:
        if found is None and text != "balanced":
            raise argparse.ArgumentTypeError(f"must be balanced or LABEL:WEIGHT, not {text!r}")
        return text
    return found[1], _number(0)(found[2])


_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?", re.ASCII)


def _one_label(first: str, second: str) -> bool:
    """Whether two spellings are those of one label: in svmlight data ``+1`` and ``1.0`` are ``1``."""
    numbers = all(map(_NUMBER.fullmatch, (first, second)))
    return first == second or (numbers and float(first) == float(second) and abs(float(first)) < 2**53)


class _ClassWeight(argparse.Action):
    """Gathers the factors of labels, each named once."""

    def __call__(self, parser: Any, namespace: Any, value: Any, option: str | None = None) -> None:
        before = getattr(namespace, self.dest)
        if value == "balanced" or before == "balanced":
            if before not in (None, value):
                raise argparse.ArgumentError(self, "takes either balanced or factors of labels")
            setattr(namespace, self.dest, value)
            return
        factors: dict[str, float] = dict(before or {})
        label, weight = value
        if twin := next((other for other in factors if _one_label(other, label)), None):
            spelt = "" if twin == label else f" ({twin!r} and {label!r} are one number)"
            raise argparse.ArgumentError(self, f"names the label {label!r} twice{spelt}")
        setattr(namespace, self.dest, {**factors, label: weight})


_SIZE = re.compile(r"(\d+(?:\.\d+(?=\D))?)([KMGT]?)", re.ASCII | re.IGNORECASE)


def _size(text: str) -> int:
    """Bytes; a letter stands for a power of a thousand."""
    found = _SIZE.fullmatch(text)
    size = math.inf if found is None else float(found[1]) * 1000 ** " KMGT".index(found[2].upper() or " ")
    if math.isinf(size):
        shown = shorten(text, 60)
        raise argparse.ArgumentTypeError(f"must be a number of bytes, or one with K, M, G or T (500M), not {shown!r}")
    return int(size)


def make_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; its errors are :class:`UsageError`."""
    parser = _Parser(
        prog="maxmargin",
        description="Large-margin learning of classes, values, ranks, label sequences and trees, with a certificate.",
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
        ("compare", _compare, "fit one problem by several solvers, side by side"),
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
    _offer(parser, "--warm-start", "start from this model; options not given are taken from it", metavar="MODEL")
    _reading(parser)
    learning = _learning(parser)
    _offer(learning, "--solver", "how the optimum is found")
    talk = parser.add_mutually_exclusive_group()
    talk.add_argument("-q", "--quiet", action="store_true", help="no progress, only notes and errors")
    talk.add_argument("-v", "--verbose", action="store_true", help="a line for every pass")


def _compare(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", metavar="DATA", help="labelled data; - is standard input; gzip is unpacked")
    parser.add_argument("--test", metavar="FILE", help="labelled data for the test loss of every solver")
    parser.add_argument("--solvers", metavar="NAMES", help="solvers, with commas between them (default: all there are)")
    parser.add_argument(
        "--picture", metavar="FILE", help="draw gap and test loss against passes and time (.png, .svg, .pdf)"
    )
    _reading(parser)
    _learning(parser)
    _quiet(parser)
    parser.set_defaults(solver=None, warm_start=None)


def _reading(parser: argparse.ArgumentParser) -> None:
    """What says how data are read."""
    data = parser.add_argument_group("data (recognised by the first lines and the name where not given)")
    data.add_argument("--task", choices=TASKS, help="what is predicted (svmlight: multiclass, with qid ranking)")
    _format(data)
    _offer(data, "--zero-based", "indices count from zero (default: from one)", action="store_true")
    memory = "rows that take more memory than this (500M, 2G) go to temporary files; for --kernel linear"
    _offer(data, "--memory", memory, metavar="SIZE", type=_size)
    cells, template = ("blank", "tab"), "attributes of tokens: 'default', 'chunking' or a file (default: default)"
    _offer(data, "--separator", "what parts cells (default: blank, any run of blanks and tabs)", choices=cells)
    _offer(data, "--template", template, metavar="FILE")
    _offer(data, "--min-count", "ignore rarer attributes", metavar="N", type=_number(1, whole=True))
    _offer(data, "--forbidden", "forbid what this labelling scheme forbids", choices=("iob2", "bioes"))


def _learning(parser: argparse.ArgumentParser) -> Any:
    """What says how a model is learned, but for the solver."""
    learning = parser.add_argument_group("learning")
    _offer(
        learning,
        "-C",
        "weight of the loss against the margin (default: 1; tree: 0.1); of binary and ranking also inf, a hard margin",
        type=_cost,
    )
    _offer(learning, "--C-per", "what -C weighs: the mean of the slacks of a row's pairs, or the slack of each pair")
    share = _number(0, inclusive=False, high=1)
    _offer(learning, "--nu", "bound of the share of errors, in the place of -C (classes) or --epsilon", type=share)
    _offer(learning, "--multi-class", "all classes at once, one against the rest (with a kernel), or one against one")
    _offer(learning, "--loss", "what an error costs")
    _offer(learning, "--epsilon", "errors up to this size cost nothing (default: 0.1)", type=_number(0))
    _offer(learning, "--intercept", "how it is learned")
    factors = "balanced (all classes weigh the same), or LABEL:WEIGHT ... (factors; others have 1)"
    _offer(learning, "--class-weight", factors, metavar="W", type=_factor, action=_ClassWeight)
    _offer(learning, "--kernel", "what scores are made of; --gamma, --degree and --coef0 are its parameters")
    gamma = "a number, scale (the default), 1 / (features x variance), or auto, 1 / features"
    _offer(learning, "--gamma", gamma, metavar="G", type=_gamma)
    _offer(learning, "--degree", "of poly (default: 3)", metavar="N", type=_number(1, whole=True))
    _offer(learning, "--coef0", "of poly and sigmoid (default: 0)", metavar="X", type=_number(-math.inf))
    _offer(learning, "--tol", "relative duality gap at which to stop", type=_number(0))
    _offer(learning, "--max-passes", "passes over the data at most", metavar="N", type=_number(1, whole=True))
    _offer(learning, "--max-time", "time for learning", metavar="SECONDS", type=_number(0, inclusive=False))
    _offer(learning, "--seed", "order of the visits (default: 0)", metavar="N", type=_SEED)
    _jobs(learning)
    return learning


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
    _offer(parser, "--k-best", "the K best answers with scores", metavar="K", type=_number(1, whole=True))
    _offer(parser, "--confidence", "the margin of every label in a further column", action="store_true")
    _offer(parser, "--scores", "the scores behind every label in further columns", action="store_true")
    _jobs(parser)
    _quiet(parser)


def _evaluate(parser: argparse.ArgumentParser) -> None:
    parser.usage = "%(prog)s [options] MODEL DATA\n       %(prog)s [options] --predictions FILE DATA"
    parser.add_argument(
        "files", metavar="MODEL DATA", nargs="+", help="a model file and labelled data, or labelled data alone"
    )
    parser.add_argument("--predictions", metavar="FILE", help="what `maxmargin predict` wrote, in the place of MODEL")
    parser.add_argument("--task", choices=TASKS, help="what was predicted, where DATA do not tell")
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
    parser.add_argument("--seed", metavar="N", type=_SEED, default=0, help="random numbers (default: 0)")


def _offer(parser: Any, flag: str, text: str, **more: Any) -> None:
    """Add an option that belongs to tasks, with the values that they have; one that no task has is not offered."""
    option = flag.lstrip("-").replace("-", "_")
    tasks, sets = takers(option), values_of(option)
    if not tasks:
        return
    whose = f"{', '.join(tasks.values())}: "
    if sets:
        more["choices"] = [*dict.fromkeys(value for values in sets for value in values)]
    if len(sets) > 1 and option != "multi_class":
        text += "; the first is the default: " + "; ".join(
            f"{', '.join(names)}: {', '.join(values)}" for values, names in sets.items()
        )
        whose = ""
    parser.add_argument(flag, help=text if len(tasks) == len(TASKS) else whose + text, **more)


def _format(parser: Any) -> None:
    parser.add_argument("--format", choices=FORMATS, help="format of DATA")


def _jobs(parser: Any) -> None:
    threads = _number(-math.inf, whole=True, nonzero=True)
    _offer(parser, "--jobs", "threads; -1 is one for every core", metavar="N", type=threads)


def _quiet(parser: Any) -> None:
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress, only notes and errors")
