"""``python -m maxmargin``: the same as the ``maxmargin`` command."""

from maxmargin.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
