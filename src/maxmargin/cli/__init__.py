"""The command line, ``maxmargin train | predict | evaluate | inspect | compare | demo``, see ``docs/command_line.md``.

Nothing heavy is imported before the arguments are known to be right. Whatever goes wrong is one line on standard error.
"""

from __future__ import annotations

import gc
import sys
from argparse import Namespace
from collections.abc import Sequence
from contextlib import redirect_stderr
from importlib import import_module

from ..errors import DataError, MissingDependencyError, StructureError
from .messages import Listener, UsageError, complain, in_words, silence
from .options import make_parser

__all__ = ["main"]

OK, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

# Data are millions of small lists, none of them in a cycle: looking for cycles among them takes a third of the reading.
_RARELY = (200_000, 50, 1000)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; those of the process by default.

    Returns
    -------
    int
        0 if all went well, 1 for a fault of the program, 2 for wrong arguments or data, 130 after Ctrl-C.
    """
    with redirect_stderr(Listener(sys.stderr)):
        return _run(argv)


def _parsed(argv: Sequence[str] | None) -> Namespace:
    """The arguments; help that cannot be written is an OSError, as other output is."""
    try:
        return make_parser().parse_args(argv)
    except SystemExit:
        if sys.stdout is not None:
            sys.stdout.flush()
        raise


def _run(argv: Sequence[str] | None) -> int:
    debug, thresholds = False, gc.get_threshold()
    try:
        gc.set_threshold(*_RARELY)
        args = _parsed(argv)
        debug = args.debug
        command = import_module(f".{args.command}", __name__)
        status: int = command.run(args)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except BrokenPipeError:  # the reader of our output has seen enough
        silence(sys.stdout)
        return OK
    except KeyboardInterrupt as stop:
        complain(str(stop) or "interrupted; nothing was written", "")
        return INTERRUPTED
    except (UsageError, DataError, StructureError, MissingDependencyError, OSError) as error:
        if debug:
            raise
        complain(in_words(error))
        return BAD_INPUT
    except MemoryError as error:
        if debug:
            raise
        complain(f"the data or the model are too large for the memory of this machine ({in_words(error)})")
        return BAD_INPUT
    except Exception as error:
        if debug:
            raise
        complain(f"{in_words(error)} (not expected: --debug shows where)")
        return FAILED
    finally:
        gc.set_threshold(*thresholds)
