"""``python benchmarks/stability.py``: how often bootstrap intervals contain the planted variances.

Rows are drawn from a population whose covariance has known eigenvalues, a PCA is fitted, and its percentile
intervals of 95 % are compared with these eigenvalues. A cell is the share of tables whose interval contains
the planted value, with the standard error of that share. Percentile intervals of few rows cover less often
than stated, and of eigenvalues close to each other too: a sample pulls them apart.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np
from threadpoolctl import threadpool_limits

import gramian

SPECTRA = {"separated": (16.0, 8.0, 4.0, 1.0, 0.5), "close": (4.0, 3.6, 1.0, 0.9, 0.8)}
DRAWS = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "heavy tails (t, 6 degrees)": lambda rng, shape: rng.standard_t(6, shape) / math.sqrt(1.5),
}
KEPT = 3


def covered(draw: str, spectrum: str, n: int, tables: int, n_boot: int) -> np.ndarray:
    """Return, for each table and component, whether the interval contains the planted variance."""
    planted = np.array(SPECTRA[spectrum])
    answers = np.empty((tables, KEPT), dtype=bool)
    for seed in range(tables):
        rng = np.random.default_rng([seed, n])
        rotation = np.linalg.qr(rng.standard_normal((len(planted), len(planted))))[0]
        X = (DRAWS[draw](rng, (n, len(planted))) * np.sqrt(planted)) @ rotation
        result = gramian.stability(gramian.PCA(KEPT).fit(X), X, n_boot=n_boot, random_state=seed)
        low, high = result.variance_intervals.T
        answers[seed] = (low <= planted[:KEPT]) & (planted[:KEPT] <= high)
    return answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--n-boot", type=int, default=200)
    parser.add_argument("--rows", type=int, nargs="+", default=[50, 200, 800])
    asked = parser.parse_args()
    began = time.perf_counter()
    print(f"{asked.tables} tables each, {asked.n_boot} replicates; nominal rate 0.950")
    print(
        f"{'rows drawn from':28}{'spectrum':12}{'n':>6}   "
        + "".join(f"{f'PC{j + 1}':>16}" for j in range(KEPT))
    )
    with threadpool_limits(1):
        for draw in DRAWS:
            for spectrum in SPECTRA:
                for n in asked.rows:
                    rates = covered(draw, spectrum, n, asked.tables, asked.n_boot).mean(axis=0)
                    cells = [f"{r:.3f} +- {math.sqrt(r * (1 - r) / asked.tables):.3f}" for r in rates]
                    print(f"{draw:28}{spectrum:12}{n:>6}   " + "".join(f"{cell:>16}" for cell in cells))
    print(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
