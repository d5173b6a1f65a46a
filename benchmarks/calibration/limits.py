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
    yield from _alarms(factors, 200, 2 if quick else 60, "theory")


def _alarms(law: Law, n: int, tables: int, limit: str = "empirical") -> Iterator[Rate]:
    """Yield the mean share of new rows with an alarm in T2, SPE or both."""
    shares: dict[float, list[float]] = {alpha: [] for alpha in WANTED}
    for seed in range(tables):
        rows = law(np.random.default_rng(seed))
        X, new = rows(n), rows(NEW)
        for alpha, values in shares.items():
            monitor = Monitor(PCA(K), alpha=alpha, limit=limit).fit(X)
            values.append(float(np.mean(monitor.predict(new) == -1)))
    for alpha, values in shares.items():
        name = f"alarms at {alpha:.0%}: {n} rows of {law.__name__}, {limit} limits"
        error = float(np.std(values)) / tables**0.5
        yield Rate(name, float(np.mean(values)), error, *WANTED[alpha])
