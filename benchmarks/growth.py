"""``python benchmarks/growth.py``: seconds and memory over the number of rows, with fitted exponents.

Every size runs in a process of its own; memory is the growth of its resident size, read from outside.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

import generators
import numpy as np
from contenders import our_kernel_pca, our_pca
from harness.memory import peak_growth
from harness.rows import Contender, Options
from harness.timing import TimedRow

COLUMNS = 50
GAMMA = 1 / COLUMNS
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
LARGEST_EXACT = 30_000


def contenders() -> dict[str, Contender]:
    """What is measured, by name."""
    exact = our_kernel_pca("KernelPCA exact", n_components=10, gamma=GAMMA)
    landmarks = our_kernel_pca(
        "KernelPCA 1000 landmarks", n_components=10, gamma=GAMMA, solver="nystroem", n_landmarks=1000
    )
    return {one.name: one for one in (our_pca("PCA", n_components=10), exact, landmarks)}


def row(contender: Contender, n: int) -> TimedRow:
    """A row of one size, for a process of its own."""
    return TimedRow(
        f"growth {contender.name} {n}",
        "",
        data=lambda: generators.normal(n, COLUMNS, 0, "float32"),
        contenders=(contender,),
        reference=lambda X: None,
        errors=lambda reference, outcome: {},
    )


def rows(quick: bool) -> list[TimedRow]:
    """Return a row for every size; the quick ones are the smallest size under every name."""
    results = [row(one, n) for one in contenders().values() for n in SIZES]
    small = {one.name: row(one, 1000) for one in contenders().values()}
    return [replace(small[r.contenders[0].name], name=r.name) for r in results] if quick else results


def exponent(sizes: list[int], result: list[float]) -> float:
    """Slope of the logarithm of what was found over that of the size, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(result, 1e-9)), 1)[0])


def main() -> int:
    """Print a line for every size, and the exponents."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=SIZES[-1], help="largest number of rows")
    most = parser.parse_args().most
    for name in contenders():
        sizes, seconds, growth = [], [], []
        for n in (n for n in SIZES if n <= most and ("exact" not in name or n <= LARGEST_EXACT)):
            seen = peak_growth(Options("growth"), f"growth {name} {n}", name)
            if seen.failure or seen.seconds is None or seen.growth is None:
                print(f"{name:28} n={n:>9,}  {seen.failure or 'no memory figures here'}")
                continue
            sizes, seconds, growth = [*sizes, n], [*seconds, seen.seconds], [*growth, float(seen.growth)]
            print(f"{name:28} n={n:>9,}  {seen.seconds:8.2f} s  {seen.growth / 1e6:8.0f} MB", flush=True)
        if len(sizes) > 1:
            print(
                f"{name:28} time ~ n^{exponent(sizes, seconds):.2f}, memory ~ n^{exponent(sizes, growth):.2f}"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
