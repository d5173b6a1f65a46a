"""False alarms of a monitor on new normal rows: few rows, holes, heavy tails, and rows that depend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.signal import lfilter

from calibration.rate import Rate
from gramian import PCA, Monitor

FloatArray = npt.NDArray[np.float64]
Law = Callable[[np.random.Generator], Callable[[int], FloatArray]]  # from a seed to rows of one process
D, K, NEW = 10, 2, 2000
# Wanted share of new rows with an alarm.
WANTED = {0.05: (0.04, 0.07), 0.01: (0.006, 0.018)}


def noise(rng: np.random.Generator) -> Callable[[int], FloatArray]:
    """Return a generator of independent columns of one variance, which have no directions of their own."""
    return lambda n: rng.standard_normal((n, D))


def factors(rng: np.random.Generator) -> Callable[[int], FloatArray]:
    """Return a generator of rows with two factors, and noise."""
    return _of_factors(rng, lambda n, width: rng.standard_normal((n, width)))


def tails(rng: np.random.Generator) -> Callable[[int], FloatArray]:
    """Return a generator of rows with Student's t in factors and noise, with 4 degrees of freedom."""
    return _of_factors(rng, lambda n, width: rng.standard_t(4, (n, width)))


def remembering(phi: float) -> Law:
    """Return a law of factors and noise that are autoregressive: x_t = phi x_(t-1) + normal shocks."""

    def law(rng: np.random.Generator) -> Callable[[int], FloatArray]:
        def columns(n: int, width: int) -> FloatArray:
            shocks = rng.standard_normal((n + 200, width)) * np.sqrt(1 - phi**2)
            return np.asarray(lfilter([1], [1, -phi], shocks, axis=0)[200:])

        return _of_factors(rng, columns)

    law.__name__ = f"autoregressive {phi:g}"
    return law


def _of_factors(
    rng: np.random.Generator, columns: Callable[[int, int], FloatArray]
) -> Callable[[int], FloatArray]:
    W = 2 * rng.standard_normal((K, D))
    return lambda n: columns(n, K) @ W + columns(n, D)


@dataclass(frozen=True)
class Case:
    """Rows of the fit, what they have, and the range that false alarms should lie in."""

    law: Law
    n: int
    limit: str = "empirical"
    missing: float = 0.0
    wanted: tuple[tuple[float, float], tuple[float, float]] = (WANTED[0.05], WANTED[0.01])


def rates(quick: bool) -> Iterator[Rate]:
    """Yield the rates."""
    for law in (noise, factors):
        for n in (15, 60) if quick else (15, 20, 30, 60, 200):
            yield from _alarms(Case(law, n), 10 if quick else 150)
    for phi in (0.5, 0.9):
        for n in (300,) if quick else (100, 300, 1000):
            short = n == 100 and phi > 0.5  # as many as 10 independent rows
            wanted = ((0.04, 0.075), (0.005, 0.024)) if short else ((0.035, 0.07), (0.005, 0.018))
            yield from _alarms(Case(remembering(phi), n, wanted=wanted), 10 if quick else 150)
    if not quick:
        for n in (100, 300, 1000):  # fewer than 200 rows have no rank for 1 %
            wanted = ((0.035, 0.07), (0.006, 0.025 if n < 200 else 0.018))
            yield from _alarms(Case(tails, n, wanted=wanted), 150)
    # With fewer rows both limits are the same.
    yield from _alarms(Case(factors, 200, limit="theory"), 2 if quick else 60)
    for missing in (0.5,) if quick else (0.1, 0.3, 0.5):
        yield from _alarms(Case(factors, 200, missing=missing), 3 if quick else 40)


def _alarms(case: Case, tables: int) -> Iterator[Rate]:
    """Yield the mean share of later rows with an alarm in T2, SPE or both."""
    shares: dict[tuple[float, str], list[float]] = {}
    missing = case.missing
    for seed in range(tables):
        rng = np.random.default_rng(seed)
        every = case.law(rng)(case.n + NEW)
        X, rows = _with_holes(every[: case.n], missing, rng), every[case.n :]
        new = {"complete": rows} | ({"such": _with_holes(rows, missing, rng)} if missing else {})
        for alpha in WANTED:
            model = PCA(K, missing="em" if missing else "error")
            monitor = Monitor(model, alpha=alpha, limit=case.limit).fit(X)
            for kind, some in new.items():
                alarms = monitor.predict(some) == -1
                shares.setdefault((alpha, kind), []).append(float(np.mean(alarms)))
    for (alpha, kind), values in shares.items():
        about = f"{missing:.0%} missing, {kind} new rows" if missing else f"{case.limit} limits"
        # docs/processes.md says that the limits do not hold there.
        about += ", too few rows" if case.wanted[1][1] > WANTED[0.01][1] else ""
        name = f"alarms at {alpha:.0%}: {case.n} rows of {case.law.__name__}, {about}"
        error = float(np.std(values)) / tables**0.5
        wanted = dict(zip(WANTED, case.wanted, strict=True))[alpha]
        yield Rate(name, float(np.mean(values)), error, *wanted)


def _with_holes(X: FloatArray, missing: float, rng: np.random.Generator) -> FloatArray:
    """Return rows without a share of their entries; rows that lose all of them are left out."""
    if not missing:
        return X
    holed = np.where(rng.random(X.shape) < missing, np.nan, X)
    return holed[~np.isnan(holed).all(axis=1)]
