"""Fits of tables with missing values: their noise, and the intervals of scores and imputed entries."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np

from calibration.rate import Rate
from gramian import PCA
from gramian.errors import MissingValuesWarning

N, D, K, NEW = 200, 10, 2, 300
SHARES = (0.1, 0.3, 0.5)
Z = 1.959963984540054
Measured = dict[str, list[float]]


def draw(rng: np.random.Generator, W: np.ndarray, n: int) -> np.ndarray:
    """Return rows of two components, and noise of variance 1."""
    return rng.standard_normal((n, K)) @ W + rng.standard_normal((n, D))


def holed(rng: np.random.Generator, X: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of X that keep an entry, complete and with missing entries."""
    gone = rng.random(X.shape) < share
    kept = ~gone.all(axis=1)
    return X[kept], np.where(gone, np.nan, X)[kept]


def measure(method: str, share: float, seed: int) -> dict[str, float]:
    """Return noise, coverages and the loss of log-likelihood of one table."""
    rng = np.random.default_rng([seed, int(100 * share)])
    W = 2 * rng.standard_normal((K, D))
    whole, X = holed(rng, draw(rng, W, N), share)
    with warnings.catch_warnings():
        # Of weak components the observed entries of one table may not determine two.
        warnings.simplefilter("ignore", MissingValuesWarning)
        model = PCA(K, missing=method).fit(X)
    new_whole, new = holed(rng, draw(rng, W, NEW), share)
    errors = model.projection_quality(new).standard_errors
    off = np.abs(model.transform(new) - model.transform(new_whole))
    imputed = model.imputed_
    gap = np.abs(imputed.values - whole[imputed.rows, imputed.columns])
    fresh = draw(rng, W, NEW)
    return {
        "noise variance (true 1)": model.noise_variance_,
        "95 % intervals of scores of new rows": float((off <= Z * errors)[errors > 0].mean()),
        "95 % intervals of imputed entries": float((gap <= Z * imputed.standard_errors).mean()),
        "log-likelihood less that of the complete fit": model.score(fresh) - PCA(K).fit(whole).score(fresh),
    }


def rates(quick: bool) -> Iterator[Rate]:
    """Yield the rates."""
    tables = 12 if quick else 200
    for method in ("em", "iterative"):
        for share in SHARES:
            measured = [measure(method, share, seed) for seed in range(tables)]
            for name in measured[0]:
                values = np.array([one[name] for one in measured])
                least, most = 0.92, 0.97
                if name.startswith("noise"):
                    least, most = 0.9, 1.1
                elif name.startswith("log"):
                    if share > SHARES[0]:
                        continue
                    least, most = -0.1, 0.1
                label = f"{method}, {100 * share:.0f} % of {N} x {D} missing: {name}"
                error = float(values.std(ddof=1)) / np.sqrt(tables)
                yield Rate(label, float(values.mean()), float(error), least, most)
