"""Run the benchmarks named, or all: ``python benchmarks/run.py [conll2000] [ocr_letters] ...``."""

from __future__ import annotations

import importlib
import sys

NAMES = (
    "startup",
    "ocr_letters",
    "own_structure",
    "gum_parsing",
    "conll2000",
    "linear",
    "one_slack_linear",
    "kernel",
    "path",
    "ranking",
    "svmlight",
    "solvers",
    "threads",
)


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        print(f"unknown benchmark {unknown[0]!r}; known ones: {', '.join(NAMES)}", file=sys.stderr)
        return 2
    kept = True
    for name in names or NAMES:
        result = importlib.import_module(name).main()
        kept = kept and bool(result)
        print(flush=True)
    print("all bars kept" if kept else "some bars were missed")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
