"""False alarms of a monitor on new normal rows, from few rows on and with holes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

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
    W = 2 * rng.standard_normal((K, D))
    return lambda n: rng.standard_normal((n, K)) @ W + rng.standard_normal((n, D))


def rates(quick: bool) -> Iterator[Rate]:
    """Yield the rates."""
    for law in (noise, factors):
        for n in (15, 60) if quick else (15, 20, 30, 60, 200):
            yield from _alarms(law, n, 10 if quick else 150)
    # With fewer rows both limits are the same.
    yield from _alarms(factors, 200, 2 if quick else 60, limit="theory")
    for missing in (0.5,) if quick else (0.1, 0.3, 0.5):
        yield from _alarms(factors, 200, 3 if quick else 40, missing=missing)


def _alarms(law: Law, n: int, tables: int, limit: str = "empirical", missing: float = 0.0) -> Iterator[Rate]:
    """Yield the mean share of new rows with an alarm in T2, SPE or both."""
    shares: dict[tuple[float, str], list[float]] = {}
    for seed in range(tables):
        rng = np.random.default_rng(seed)
        rows = law(rng)
        X, new = _with_holes(rows(n), missing, rng), {"complete": rows(NEW)}
        if missing:
            new["such"] = _with_holes(rows(NEW), missing, rng)
        for alpha in WANTED:
            model = PCA(K, missing="em" if missing else "error")
            monitor = Monitor(model, alpha=alpha, limit=limit).fit(X)
            for kind, some in new.items():
                shares.setdefault((alpha, kind), []).append(float(np.mean(monitor.predict(some) == -1)))
    for (alpha, kind), values in shares.items():
        about = f"{missing:.0%} missing, {kind} new rows" if missing else f"{limit} limits"
        name = f"alarms at {alpha:.0%}: {n} rows of {law.__name__}, {about}"
        error = float(np.std(values)) / tables**0.5
        yield Rate(name, float(np.mean(values)), error, *WANTED[alpha])


def _with_holes(X: FloatArray, missing: float, rng: np.random.Generator) -> FloatArray:
    """Return rows without a share of their entries; rows that lose all of them are left out."""
    if not missing:
        return X
    holed = np.where(rng.random(X.shape) < missing, np.nan, X)
    return holed[~np.isnan(holed).all(axis=1)]
