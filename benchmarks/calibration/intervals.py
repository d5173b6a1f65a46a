"""Intervals of :func:`gramian.stability`, and standard errors and groups of ``sampling_``.

Rows are drawn from a population with known eigenvalues and directions. Coverage of variances and ratios is
that of the worst of the components that were kept. A loading counts where its component has intervals; the
rate is that of the worst loading of a component that has intervals in at least 30 % of the tables. The share
of wrong intervals counts all tables: where eigenvalues are close, the few samples that pull them far apart
cannot know it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

import gramian
from calibration.rate import Rate
from gramian.statistics.sampling import Sampling

SPECTRA = {
    "16, 8, 4, 1, .5": (16.0, 8.0, 4.0, 1.0, 0.5),
    "4, 3.6, 1, .9, .8": (4.0, 3.6, 1.0, 0.9, 0.8),
}
DRAWS = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "t6": lambda rng, shape: rng.standard_t(6, shape) / math.sqrt(1.5),
}
SIZES = 50, 200
KEPT = 3
TABLES, FITS = 200, 2000
QUICK_TABLES, QUICK_FITS = 4, 40
ENOUGH = 0.3  # share of tables in which a component has intervals, for its coverage to be measured
# Two eigenvalues, rows, and the wanted share of samples that are said not to separate them.
PAIRS = (
    (4.0, 4.0, 50, 0.92, 0.98),
    (4.0, 4.0, 200, 0.92, 0.98),
    (4.0, 3.6, 200, 0.8, 1.0),
    (8.0, 4.0, 50, 0.2, 0.5),
    (8.0, 4.0, 200, 0.0, 0.05),
    (16.0, 4.0, 50, 0.0, 0.05),
)


def rates(quick: bool) -> Iterator[Rate]:
    """Yield coverage of variances, ratios and loadings; then standard errors and groups."""
    for draw in DRAWS:
        for spectrum in SPECTRA:
            for n in SIZES[1:] if quick else SIZES:
                yield from _stability(draw, spectrum, n, QUICK_TABLES if quick else TABLES)
    fits = QUICK_FITS if quick else FITS
    yield from _errors(None, (16.0, 8.0, 4.0, 1.0), fits, 0.85, 1.15)
    # The correlations of what was left out are taken to be 0.
    yield from _errors("unit", (16.0, 8.0, 4.0, 1.0), fits, 0.85, 1.25)
    yield from _errors("pareto", (16.0, 8.0, 4.0, 1.0), fits, 0.85, 1.15)
    for upper, lower, n, least, most in PAIRS:
        together = [len(_sampled((upper, lower, 1.0), n, seed, 2).groups) == 1 for seed in range(fits)]
        name = f"normal, {upper:g} and {lower:g}, n = {n}: said not to be separated"
        yield Rate.of_share(name, float(np.mean(together)), fits, least, most)


def _rows(
    draw: str, variances: np.ndarray, n: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows, and the directions of their population, the same for every table."""
    d = len(variances)
    rotation = np.linalg.qr(np.random.default_rng(7).standard_normal((d, d)))[0]
    return (DRAWS[draw](rng, (n, d)) * np.sqrt(variances)) @ rotation, rotation


def _stability(draw: str, spectrum: str, n: int, tables: int) -> Iterator[Rate]:
    planted = np.array(SPECTRA[spectrum])
    variances, ratios = np.empty((2, tables, KEPT))
    hit, has = np.empty((tables, KEPT, len(planted)), dtype=bool), np.empty((tables, KEPT), dtype=bool)
    for seed in range(tables):
        X, P = _rows(draw, planted, n, np.random.default_rng([seed, n]))
        result = gramian.stability(gramian.PCA(KEPT, random_state=0).fit(X), X, random_state=seed)
        for covered, intervals, truth in (
            (variances, result.variance_intervals, planted),
            (ratios, result.ratio_intervals, planted / planted.sum()),
        ):
            covered[seed] = (intervals[:, 0] <= truth[:KEPT]) & (truth[:KEPT] <= intervals[:, 1])
        truth = P[:KEPT] * np.sign((P[:KEPT] * result.loadings).sum(axis=1, keepdims=True))
        low, high = np.moveaxis(result.loading_intervals, -1, 0)
        hit[seed], has[seed] = (low <= truth) & (truth <= high), result.separated
    what = f"{draw}, {spectrum}, n = {n}"
    for name, covered in (("variance", variances), ("ratio", ratios)):
        yield Rate.of_share(f"{what}: least coverage of a {name}", *_worst(covered), 0.92, 1.0)
    often = np.flatnonzero(has.mean(axis=0) >= ENOUGH)
    if often.size:
        covered = np.where(has[..., None], hit, np.nan)[:, often].reshape(tables, -1)
        yield Rate.of_share(f"{what}: least coverage of a loading", *_worst(covered), 0.90, 1.0)
    right, count = _worst((hit | ~has[..., None]).astype(float).reshape(tables, -1))
    yield Rate.of_share(f"{what}: most wrong intervals of a loading", 1 - right, count, 0.0, 0.10)


def _worst(covered: np.ndarray) -> tuple[float, int]:
    """Return the share of hits of the worst column, and of how many tables it is; NaN counts as no table.

    The smallest of many measured shares is smaller than the true one. The worst column of one half of the
    tables is therefore measured in the other half, and the other way round.
    """
    shares, counts = [], []
    for one, other in ((covered[::2], covered[1::2]), (covered[1::2], covered[::2])):
        values = other[:, np.nanargmin(np.nanmean(one, axis=0))]
        shares.append(float(np.nanmean(values)))
        counts.append(int(np.isfinite(values).sum()))
    return float(np.average(shares, weights=counts)), sum(counts)


def _sampled(planted: tuple[float, ...], n: int, seed: int, count: int, scale: str | None = None) -> Sampling:
    X, _ = _rows("normal", np.array(planted), n, np.random.default_rng([seed, n, 1]))
    result = gramian.PCA(count, scale=scale, random_state=0).fit(X).sampling_
    assert result is not None
    return result


def _errors(
    scale: str | None, planted: tuple[float, ...], tables: int, least: float, most: float
) -> Iterator[Rate]:
    """Compare standard errors with the standard deviations of simulated variances and ratios."""
    n = SIZES[1]
    results = [_sampled(planted, n, seed, KEPT, scale) for seed in range(tables)]
    what = f"{scale or 'no'} scale, n = {n}"
    for name in ("variance", "ratio"):
        simulated = np.std([getattr(one, f"{name}s") for one in results], axis=0, ddof=1)
        errors = "standard_errors" if name == "variance" else "ratio_standard_errors"
        quotients = np.mean([getattr(one, errors) for one in results], axis=0) / simulated
        worst = float(quotients[np.abs(np.log(quotients)).argmax()])
        rate = f"{what}: stated / true standard error of a {name}, the worst"
        yield Rate(rate, worst, worst / math.sqrt(2 * tables), least, most)
