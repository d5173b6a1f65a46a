"""``python benchmarks [SUITE]``: speed, accuracy and memory side by side with the peers."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from fnmatch import fnmatch

import cluster
import everyday
import exact
import growth
import meaning
import monitoring
import plans
import scale
import serving
from harness import memory, report
from harness.rows import Options, Report, Row
from harness.timing import say

import kernels
import selection

SUITES: dict[str, Callable[[bool], list[Row]]] = {
    "exact": exact.rows,
    "kernels": kernels.rows,
    "scale": scale.rows,
    "growth": growth.rows,
    "everyday": everyday.rows,
    "selection": selection.rows,
    "meaning": meaning.rows,
    "monitoring": monitoring.rows,
    "plans": plans.rows,
    "service": serving.rows,
    "cluster": cluster.rows,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the rows asked for, print them, and write them down."""
    asked = _parser().parse_args(arguments)
    if asked.suite == "all":
        rest = [
            argument for argument in (sys.argv[1:] if arguments is None else arguments) if argument != "all"
        ]
        began = time.monotonic()
        # Each in a process of its own: libraries that another suite has loaded slow small fits down.
        code = max(subprocess.call([sys.executable, __file__, suite, *rest]) for suite in SUITES)
        print(f"\n{(time.monotonic() - began) / 60:.0f} minutes")
        return code
    make = SUITES[asked.suite]
    rehearsals = {row.name: row for row in make(True)}
    rows = list(rehearsals.values()) if asked.quick else make(False)
    if asked.list:
        print("\n".join(f"{row.name}: {row.about}" for row in rows))
        return 0
    if asked.child:
        name, contender = asked.child
        row = next(row for row in rows if row.name == name)
        memory.be_watched(row, rehearsals[name], contender)
        return 0
    chosen = [row for row in rows if _wanted(row.name, asked.only)]
    if not chosen:
        say(f"no row matches {', '.join(asked.only)}; there are {', '.join(rehearsals)}")
        return 2
    options = Options(asked.suite, asked.quick, asked.slow, asked.repeats)
    _measure(chosen, rehearsals, options)
    return 0


def _measure(rows: Sequence[Row], rehearsals: dict[str, Row], options: Options) -> None:
    print(report.heading(), flush=True)
    if options.quick:
        print("QUICK: sizes are shrunk and limits are about full size; nothing is written down.")
    print(flush=True)
    results: list[Report] = []
    for row in rows:
        say(row.name)
        results.append(row.measure(options, rehearsals[row.name]))
        print(report.detail(results[-1]), flush=True)
        if not options.quick:
            path = report.write(options.suite, results[-1])
    print(report.table(results))
    if not options.quick:
        print(f"\nwritten to {path}")


def _wanted(name: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatch(name, pattern) for pattern in patterns)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python benchmarks", description=__doc__)
    parser.add_argument("suite", nargs="?", default="exact", choices=[*sorted(SUITES), "all"])
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="ROW",
        help="measure this row only; may be repeated, may be a pattern such as 'yale-*'",
    )
    parser.add_argument("--quick", action="store_true", help="shrink every row; write nothing")
    parser.add_argument(
        "--slow", action="store_true", help="also run, once, peers and rows that take a minute or more"
    )
    parser.add_argument(
        "--repeats", type=_positive, metavar="N", help="runs of each contender (default: the row's)"
    )
    parser.add_argument("--list", action="store_true", help="name the rows and how each is made")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


if __name__ == "__main__":
    sys.exit(main())
