"""``maxmargin demo``."""

from __future__ import annotations

from argparse import Namespace

from .messages import UsageError

__all__ = ["run"]


def run(args: Namespace) -> int:
    """The guided tour."""
    if not args.output:
        raise UsageError("--output '' names no folder")

    from ..demo import run_demo

    return run_demo(args.output, quick=args.quick, seed=args.seed)
