"""``maxmargin demo``."""

from __future__ import annotations

from argparse import Namespace

__all__ = ["run"]


def run(args: Namespace) -> int:
    """The guided tour."""
    from ..demo import run_demo

    return run_demo(args.output, quick=args.quick, seed=args.seed)
