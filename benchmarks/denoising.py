"""``python benchmarks/denoising.py [--quick]``: noisy digits, cleaned by PCA and by kernel PCA.

Both are fitted on the clean training digits of USPS, 16 x 16 pixels in [0, 1]. Test digits get noise, are
projected onto the components and mapped back. The width of the Gaussian kernel and its number of components
are those with the least error on noisy digits that were set aside from the training digits; linear PCA is
given the number that is best on the test digits themselves. Errors are mean squares per pixel.

Needs h5py and the file digits/usps.h5 in shared/data beside the repository or in $GRAMIAN_TEST_DATA.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path

import h5py
import numpy as np

from gramian import PCA, KernelPCA
from gramian.errors import PreimageWarning
from gramian.kernels import RBF
from gramian.kernels.widths import median_distance

COUNTS = (1, 4, 16, 64, 256)
CANDIDATES = (16, 32, 64, 96, 128, 192, 256)
WIDTHS = (0.7, 1.0, 1.4, 2.0)
Noise = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def gaussian(sigma: float) -> Noise:
    return lambda X, rng: X + sigma * rng.standard_normal(X.shape)


def flipped(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(X.shape) < 0.3, 1.0 - X, X)


NOISES: dict[str, Noise] = {
    "Gaussian, sigma 0.25": gaussian(0.25),
    "Gaussian, sigma 0.5": gaussian(0.5),
    "30 % of pixels flipped": flipped,
}


def digits() -> tuple[np.ndarray, np.ndarray]:
    named = os.environ.get("GRAMIAN_TEST_DATA")
    folder = Path(named) if named else Path(__file__).parents[2] / "shared" / "data"
    with h5py.File(folder / "digits" / "usps.h5") as file:
        return file["train/data"][:].astype(np.float64), file["test/data"][:].astype(np.float64)


def error(back: np.ndarray, clean: np.ndarray) -> float:
    return float(np.mean((back - clean) ** 2))


def cleaned(model: PCA | KernelPCA, scores: np.ndarray, count: int) -> np.ndarray:
    kept = scores.copy()
    kept[:, count:] = 0.0
    return model.inverse_transform(kept)


def fitted(X: np.ndarray, width: float, most: int) -> KernelPCA:
    return KernelPCA(min(most, len(X) - 1), kernel=RBF(sigma=width), random_state=0).fit(X)


def chosen(train: np.ndarray, held_out: np.ndarray, noises: dict[str, np.ndarray]) -> dict[str, tuple]:
    """Width and number of components with the least error on the noisy held-out digits, for each noise."""
    median = median_distance(train)
    best: dict[str, tuple] = {}
    for share in WIDTHS:
        model = fitted(train, share * median, max(CANDIDATES))
        for name, noisy in noises.items():
            scores = model.transform(noisy)
            for count in CANDIDATES:
                result = error(cleaned(model, scores, count), held_out)
                if name not in best or result < best[name][0]:
                    best[name] = result, share * median, count, share
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer digits: seconds instead of minutes")
    quick = parser.parse_args().quick
    warnings.simplefilter("always", PreimageWarning)
    start = time.perf_counter()
    train, test = digits()
    rng = np.random.default_rng(0)
    train = train[rng.permutation(len(train))]
    if quick:
        train, test = train[:1200], test[:200]
    aside, most = (100, 800) if quick else (300, 2500)
    held_out, part = train[:aside], train[aside : aside + most]
    best = chosen(part, held_out, {name: noise(held_out, rng) for name, noise in NOISES.items()})
    model_of = cache(lambda width: fitted(train, width, max(COUNTS)))
    linear = PCA().fit(train)
    print(f"{len(train)} training digits, {len(test)} test digits; widths in medians of the distance\n")
    print("| noise | noisy | PCA, its best | kernel PCA, chosen on training digits | ratio |")
    print("|---|---|---|---|---|")
    tables = []
    for name, noise in NOISES.items():
        noisy = noise(test, rng)
        _, width, count, share = best[name]
        model = model_of(width)
        scores, plain = model.transform(noisy), linear.transform(noisy)
        lines = {k: error(cleaned(linear, plain, k), test) for k in range(1, 257)}
        kernels = {k: error(cleaned(model, scores, k), test) for k in sorted({*COUNTS, count})}
        least = min(lines, key=lines.__getitem__)
        print(
            f"| {name} | {error(noisy, test):.4f} | {lines[least]:.4f} ({least}) | {kernels[count]:.4f} "
            f"({count}, width {share:g}) | {lines[least] / kernels[count]:.2f} |",
            flush=True,
        )
        ratios = " | ".join(f"{lines[k] / kernels[k]:.2f}" for k in COUNTS)
        tables.append(f"| {name}, width {share:g} | {ratios} |")
    print("\nError of PCA over that of kernel PCA, both with the same number of components:\n")
    print(f"| components | {' | '.join(map(str, COUNTS))} |")
    print("|---" * (len(COUNTS) + 1) + "|")
    print("\n".join(tables))
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
