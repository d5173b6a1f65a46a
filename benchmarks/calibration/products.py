"""Error bounds of scatter matrices of float32 products, from probes: is any of them exceeded?

Each kind of table is there to make roundings alike, large or of one sign. The true error is the spectral norm
of the difference from a product in float64 of columns that were centred in extended precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from calibration.rate import Rate
from gramian.core.records import SolveRequest, Target
from gramian.engine.linear import LinearProblem
from gramian.engine.operator import Form
from gramian.engine.routes import ProductRoute
from gramian.tables.as_rows import as_rows

FloatArray = npt.NDArray[np.float64]
Kind = Callable[[np.random.Generator, int, int], FloatArray]
ROUTE = ProductRoute(Form("covariance", "whole", "float32"))
ROWS, COLUMNS = (2, 40, 700, 3000, 12_000), (2, 9, 40, 130)
PRODUCTS, QUICK = 640, 12  # of each kind


def _geometric(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    return rng.standard_normal((n, d)) * np.geomspace(1.0, 1e-4, d)


def _one_large(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    X = np.abs(rng.standard_normal((n, d)))
    X[rng.integers(n)] *= 10.0 ** rng.integers(1, 7)
    return X


def _stagnating(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    # After the first row of each block the others are less than half of a last digit of the sum.
    X = np.full((n, d), 2.0**-12.6)
    X[::512] = 1.0
    return X


def _duplicates(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    return np.repeat(rng.standard_normal((n, max(1, d // 8))), 8, axis=1)[:, :d] + np.zeros((n, 1))


def _nearly_equal(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    return rng.standard_normal(d) + 1e-5 * rng.standard_normal((n, d))


def _alternating(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    return 1.1 * (-1.0) ** np.arange(n)[:, None] * np.ones(d)


def _sorted(rng: np.random.Generator, n: int, d: int) -> FloatArray:
    return np.sort(rng.standard_normal((n, d)), axis=0)


KINDS: dict[str, Kind] = {
    "standard normal": lambda rng, n, d: rng.standard_normal((n, d)),
    "uniform in [0, 1]": lambda rng, n, d: rng.random((n, d)),
    "one sign": lambda rng, n, d: np.abs(rng.standard_normal((n, d))) + 0.1,
    "+-1.1": lambda rng, n, d: 1.1 * rng.choice([-1.0, 1.0], (n, 1)) * np.ones(d),
    "alternating +-1.1": _alternating,
    "one large row": _one_large,
    "sums that stagnate": _stagnating,
    "offset of 1000": lambda rng, n, d: 1000.0 + rng.standard_normal((n, d)),
    "heavy tails": lambda rng, n, d: rng.standard_t(1.5, (n, d)),
    "counts": lambda rng, n, d: rng.poisson(2.0, (n, d)).astype(float),
    "columns from 1 to 1e-4": _geometric,
    "rows equal but for 1e-5": _nearly_equal,
    "sorted columns": _sorted,
    "1 + 2^-23": lambda rng, n, d: rng.choice([1.0, 1.0 + 2.0**-23], (n, d)),
    "mostly zeros": lambda rng, n, d: rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.03),
    "copies of columns": _duplicates,
}


def rates(quick: bool) -> Iterator[Rate]:
    """Yield, of each kind of table, the share of bounds that are exceeded and the largest error / bound."""
    for kind, draw in KINDS.items():
        count = QUICK if quick else PRODUCTS
        ratios = np.array([_ratio(draw, seed) for seed in range(count)])
        yield Rate.of_share(f"{kind}: bounds that are exceeded", float((ratios > 1).mean()), count, 0.0, 0.0)
        yield Rate(f"{kind}: largest error / bound", float(ratios.max()), 0.0, 0.0, 1.0)


def _ratio(draw: Kind, seed: int) -> float:
    """Return error / bound of one product: of every third of columns of unit variance, of some uncentred."""
    rng = np.random.default_rng([seed, 5])
    n, d = int(rng.choice(ROWS)), int(rng.choice(COLUMNS))
    X = draw(rng, n, d).astype(np.float32)
    center, scale = seed % 5 != 0, "unit" if seed % 3 == 0 else None
    problem = LinearProblem(as_rows(X), center, scale)
    problem.request = SolveRequest(Target(), 0.0, 0, seeds=[seed])
    operator = problem.build(ROUTE)
    view = problem.measured()
    C = X.astype(np.longdouble)
    C = (C - C.mean(axis=0) if center else C).astype(np.float64)
    C = C if view.divisor is None else C / view.divisor
    error = float(np.linalg.norm(np.asarray(operator.dense()) - C.T @ C, 2))
    return error / operator.dense_error if error else 0.0
