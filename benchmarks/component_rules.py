"""``python benchmarks/component_rules.py``: how often each rule finds the planted number of components.

A table is ``signal + noise``. Signals have random orthonormal vectors and singular values that are multiples
of the edge ``(n d)^(1/4)``: for independent noise of variance 1, n and d large, nothing below the edge shows
in the spectrum (Baik, Ben Arous and Peche 2005). Noise of different sizes has mean square 1. A cell is the
share of seeds with exactly the planted number, then the shares with too few (-) and too many (+).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

import gramian

RULES = (
    "parallel",
    "sign-flip",
    "gavish-donoho",
    "mle",
    "cv",
    "broken-stick",
    "kaiser",
)
CLEAR, WEAK = (4.0, 3.0, 2.5), (1.6, 1.5, 1.4)
# Noise of different sizes reaches further up than even noise of the same mean square.
STRONG = (7.0, 6.0, 5.0)


def even(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.standard_normal((n, d))


def columns(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    size = np.exp(rng.uniform(np.log(0.25), np.log(4), d))
    return rng.standard_normal((n, d)) * (size / np.sqrt(np.mean(size**2)))


def rows(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return columns(rng, d, n).T


def heavy(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.standard_t(4, (n, d)) / np.sqrt(2)


@dataclass(frozen=True)
class Setting:
    """A size, the planted singular values, and the noise."""

    name: str
    n: int
    d: int
    planted: tuple[float, ...]
    noise: Callable[[np.random.Generator, int, int], np.ndarray] = even

    def draw(self, seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        n, d, k = self.n, self.d, len(self.planted)
        left = np.linalg.qr(rng.standard_normal((n, k)))[0]
        right = np.linalg.qr(rng.standard_normal((d, k)))[0]
        strength = np.array(self.planted) * (n * d) ** 0.25
        return (left * strength) @ right.T + self.noise(rng, n, d)


SETTINGS = (
    Setting("even noise, n > d", 300, 30, CLEAR),
    Setting("even noise, n < d", 30, 300, CLEAR),
    Setting("even noise, n = d", 100, 100, CLEAR),
    Setting("weak, at 1.4 to 1.6 of the edge", 300, 100, WEAK),
    Setting("very weak, at 1.1 of the edge", 300, 100, (1.1,)),
    Setting("one dominant, two clear", 150, 50, (40.0, 3.0, 2.5)),
    Setting("columns of different noise", 300, 100, STRONG, columns),
    Setting("rows of different noise", 300, 100, STRONG, rows),
    Setting("heavy tails (t, 4 degrees)", 150, 50, CLEAR, heavy),
    Setting("no component, even noise", 150, 50, ()),
    Setting("no component, columns differ", 150, 50, (), columns),
    Setting("no component, rows differ", 150, 50, (), rows),
)


def numbers(setting: Setting, seed: int) -> list[int]:
    """Return what every rule finds; -1 where it has no answer."""
    result = gramian.choose_components(setting.draw(seed), rules=RULES, random_state=seed)
    return [-1 if result[rule].number is None else int(result[rule].number) for rule in RULES]


def cell(result: np.ndarray, planted: int) -> str:
    """Return one entry of the table."""
    if (result < 0).all():
        return "no answer"
    right, few, many = (
        100 * np.mean(part) for part in (result == planted, result < planted, result > planted)
    )
    apart = [f"{sign}{share:.3g}" for sign, share in (("-", few), ("+", many)) if share > 0]
    return f"{right:.3g} %" + (f" ({' '.join(apart)})" if apart else "")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python benchmarks/component_rules.py", description=__doc__)
    parser.add_argument(
        "--seeds", type=int, default=200, metavar="N", help="runs of each cell (default: 200)"
    )
    seeds = parser.parse_args().seeds
    start = time.perf_counter()
    print(f"planted number found, of {seeds} seeds\n\n| setting | n x d | planted | {' | '.join(RULES)} |")
    print("|---|---:|---:|" + "---:|" * len(RULES))
    # One thread for each process: the tables are small.
    with ProcessPoolExecutor(initializer=threadpool_limits, initargs=(1,)) as pool:
        for setting in SETTINGS:
            values = np.array(list(pool.map(partial(numbers, setting), range(seeds), chunksize=5)))
            k = len(setting.planted)
            cells = " | ".join(cell(column, k) for column in values.T)
            print(f"| {setting.name} | {setting.n} x {setting.d} | {k} | {cells} |", flush=True)
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
