"""``python benchmarks/calibrate.py [--quick] [TABLE ...]``: measures coverage, false alarms and error bounds.

Each table simulates data of known law, and prints measured rates and the range that the documentation
promises. Exits with 1 where a rate is outside its range.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator

from calibration import genomes, imputed, intervals, limits, products
from calibration.rate import Rate
from threadpoolctl import threadpool_limits

# A table yields its rates one by one; quick ones draw fewer tables.
TABLES: dict[str, Callable[[bool], Iterator[Rate]]] = {
    "imputed": imputed.rates,
    "limits": limits.rates,
    "intervals": intervals.rates,
    "products": products.rates,
    "genomes": genomes.rates,
}
WIDE = 3.0  # standard errors of the few draws that a quick table allows for


def outside(name: str, quick: bool) -> Iterator[tuple[Rate, bool]]:
    """Yield the rates of a table, and whether each lies outside its range."""
    with threadpool_limits(1):
        for rate in TABLES[name](quick):
            room = WIDE * rate.error if quick else 0.0
            yield rate, not rate.least - room <= rate.value <= rate.most + room


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"{', '.join(TABLES)}; default: all")
    parser.add_argument("--quick", action="store_true", help="few draws, ranges wider by their error")
    asked = parser.parse_args()
    if unknown := [name for name in asked.tables if name not in TABLES]:
        parser.error(f"unknown table {unknown[0]!r}; there are {', '.join(TABLES)}")
    wrong = 0
    for name in asked.tables or TABLES:
        began = time.perf_counter()
        print(f"{name}\n{'':72}{'measured':>10}{'+-':>8}{'wanted':>18}")
        for rate, bad in outside(name, asked.quick):
            wrong += bad
            wanted = f"{rate.least:.4g} to {rate.most:.4g}"
            print(
                f"{rate.name:72}{rate.value:10.4f}{rate.error:8.4f}{wanted:>18}", "OUTSIDE" * bad, flush=True
            )
        print(f"{time.perf_counter() - began:.0f} s\n")
    print(f"{wrong} outside their range" if wrong else "all within their ranges")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
