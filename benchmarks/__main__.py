"""``python benchmarks [SUITE]``: speed, accuracy and memory side by side with the peers."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path

import cluster
import everyday
import exact
import fields
import growth
import meaning
import monitoring
import peers_in_r
import plans
import scale
import selection
from harness import against, report, workers
from harness.machine import ROOT
from harness.rows import Options, Report, Row
from harness.timing import say

import kernels

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
    "cluster": cluster.rows,
    "fields": fields.rows,
    "r": peers_in_r.rows,
}


# Rows of several suites under one name: those that were slower than wanted for longest.
SELECTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "trailing": {
        "growth": ("growth-rows-*",),
        "scale": ("stream-1m", "file-2gb", "file-16gb"),
        "exact": (
            "flat-float32",
            "flat-float32-peer-tol",
            "flat-1m*",
            "unit-wide",
            "kernel-pca-?0k",
            "yale-50",
            "yale-100",
            "tall-1m",
            "wide-100k",
            "square-5k*",
        ),
    }
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the rows asked for, print them, and write them down."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    asked = _parser().parse_args(given)
    suites = list(SUITES) if "all" in asked.suites else asked.suites or ["exact"]
    began = time.monotonic()
    if len(suites) > 1:
        rest = [argument for argument in given if argument not in asked.suites]
        # Each in a process of its own: libraries that another suite has loaded slow small fits down.
        code = max(subprocess.call([sys.executable, __file__, suite, *rest]) for suite in suites)
    else:
        code = _run(suites[0], asked)
    if not (asked.list or asked.child):
        print(f"\n{(time.monotonic() - began) / 60:.0f} minutes")
    return code


def _run(suite: str, asked: argparse.Namespace) -> int:
    rehearsals = {(owner, row.name): row for owner, row in _rows(suite, quick=True)}
    rows = dict(rehearsals) if asked.quick else {(o, row.name): row for o, row in _rows(suite, quick=False)}
    if asked.list:
        print("\n".join(f"{row.name}: {row.about}" for row in rows.values()))
        return 0
    if asked.child:
        name, contender = asked.child
        options = Options(suite, asked.quick)
        workers.serve(options, rows[suite, name], rehearsals[suite, name], contender)
        return 0
    chosen = {key: row for key, row in rows.items() if _wanted(row.name, asked.only)}
    if not chosen:
        names = ", ".join(row.name for row in rows.values())
        print(f"no row matches {', '.join(asked.only)}; there are {names}", file=sys.stderr)
        return 2
    print(report.heading(), flush=True)
    if asked.quick:
        print("QUICK: sizes are shrunk and limits are about full size; nothing is written down.")
    print(flush=True)
    options = {owner: Options(owner, asked.quick, asked.slow, asked.repeats) for owner, _ in chosen}
    if asked.against:
        return _compare(chosen, options, asked.against)
    results: list[Report] = []
    for (owner, name), row in chosen.items():
        say(name)
        results.append(row.measure(options[owner], rehearsals[owner, name]))
        say("")
        print(report.detail(results[-1]), flush=True)
        if not asked.quick:
            path = report.write(owner, results[-1])
    print(report.table(results))
    if not asked.quick:
        print(f"\nwritten to {path.parent}")
    return 0


def _compare(rows: Mapping[tuple[str, str], Row], options: Mapping[str, Options], old: Path) -> int:
    results = []
    for (owner, name), row in rows.items():
        say(name)
        results.append(against.compare(options[owner], row, old, ROOT / "src"))
    say("")
    print(f"old: {old}; new: {ROOT / 'src'}")
    print(against.table(results))
    return int(any(result.slower or result.failure for result in results))


def _rows(suite: str, *, quick: bool) -> list[tuple[str, Row]]:
    """Rows of a suite or of a selection, each with the suite that declares it."""
    parts = SELECTIONS.get(suite, {suite: ("*",)})
    return [
        (owner, row)
        for owner, patterns in parts.items()
        for row in SUITES[owner](quick)
        if _wanted(row.name, patterns)
    ]


def _wanted(name: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatch(name, pattern) for pattern in patterns)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python benchmarks", description=__doc__)
    parser.add_argument(
        "suites",
        nargs="*",
        metavar="SUITE",
        type=_suite,
        help=f"{', '.join(SUITES)}; {', '.join(SELECTIONS)}, which has rows of several; or all [exact]",
    )
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
    parser.add_argument(
        "--against",
        type=_source,
        metavar="OLD/src",
        help="compare ours with that of another checkout, in alternation; write nothing",
    )
    parser.add_argument("--list", action="store_true", help="name the rows and how each is made")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    return parser


def _suite(text: str) -> str:
    if text not in (*SUITES, *SELECTIONS, "all"):
        raise argparse.ArgumentTypeError(f"there is no suite {text}")
    return text


def _source(text: str) -> Path:
    folder = Path(text).resolve()
    if not (folder / "gramian").is_dir():
        raise argparse.ArgumentTypeError(f"{folder} has no folder gramian; name the folder src of a checkout")
    return folder


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


if __name__ == "__main__":
    sys.exit(main())
