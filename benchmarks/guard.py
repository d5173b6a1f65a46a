"""``python benchmarks/guard.py``: are ratios to the peers worse than in the last full run on this machine?

Some rows of a few seconds run at full size. Each ratio is compared with that of the latest run in
benchmarks/results on the same processor, cores and versions. The exit code is 1 if one is more than
``--factor`` times as large.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import exact
import scale
from harness import report
from harness.machine import machine
from harness.rows import Options
from harness.timing import say

import kernels

SUITES = {"exact": exact.rows, "kernels": kernels.rows, "scale": scale.rows}
ROWS = {
    "exact": ("kernel-transform-10k", "square-5k", "unit-wide", "wide-100k", "flat-float32"),
    "kernels": ("gram-rbf-float64", "gram-laplacian"),
    "scale": ("stream-1m",),
}


def identity(about: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what two runs must share for their ratios to be comparable."""
    return about["cpu"], about["cores"], tuple(sorted(about["packages"].items()))


def baselines(paths: Iterable[Path], here: tuple[Any, ...]) -> dict[str, tuple[float, str]]:
    """Return the latest ratio of each row that was measured on this machine, with its date."""
    latest: dict[str, tuple[float, str]] = {}
    for path in paths:
        run = json.loads(path.read_text(encoding="utf-8"))
        if "machine" not in run or identity(run["machine"]) != here:
            continue
        for name, row in run["rows"].items():
            if row["ratio"] and row["measured"] >= latest.get(name, (0.0, ""))[1]:
                latest[name] = (row["ratio"], row["measured"])
    return latest


def compare(
    row: str, ratio: float, before: Mapping[str, tuple[float, str]], factor: float
) -> tuple[str, bool]:
    """Return a line about a row, and whether its ratio is acceptable."""
    if math.isnan(ratio):
        return f"{row:24} no accurate peer, or a failure: run python benchmarks --only {row}", False
    if row not in before:
        return f"{row:24} ratio {ratio:.3f}; no run on this machine to compare with", True
    then, date = before[row]
    good = ratio <= factor * then
    return f"{row:24} ratio {ratio:.3f}, {then:.3f} on {date[:10]}{'' if good else '  WORSE'}", good


def main() -> int:
    """Measure, print a line for each row, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--factor", type=float, default=1.5, help="acceptable ratio, relative to the last [1.5]"
    )
    parser.add_argument("--repeats", type=int, default=3, help="runs of each contender [3]")
    asked = parser.parse_args()
    started = time.monotonic()
    before = baselines(sorted(report.RESULTS.glob("*.json")), identity(machine()))
    print(report.heading(), flush=True)
    good = True
    for suite, names in ROWS.items():
        rehearsals = {row.name: row for row in SUITES[suite](True)}
        for row in (row for row in SUITES[suite](False) if row.name in names):
            say(row.name)
            result = row.measure(Options(suite, repeats=asked.repeats), rehearsals[row.name])
            line, holds = compare(row.name, result.ratio, before, asked.factor)
            say("")
            print(line, flush=True)
            good = good and holds
    print(f"{time.monotonic() - started:.0f} s")
    if not before:
        print("There are no results of this machine: run make bench once when it is quiet.")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
