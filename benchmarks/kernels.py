"""Suite ``kernels``: Gram matrices beside scikit-learn's functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import generators
import numpy as np
import numpy.typing as npt
from harness.rows import Contender, FloatArray, Outcome, Row
from harness.timing import TimedRow
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel

from gramian.kernels import RBF, Kernel, Laplacian, Polynomial

COLUMNS = 50
GAMMA = 1 / COLUMNS
SAMPLED = 100  # rows of the matrix that are compared with the definition

Definition = Callable[[FloatArray, FloatArray], FloatArray]


def rows(quick: bool) -> list[Row]:
    """Every row of the suite, at full or at quick size."""
    n = 1000 if quick else 10_000
    double, single = np.float64, np.float32
    return [
        _gram("rbf-float64", n, double, RBF(gamma=GAMMA), rbf_kernel, _rbf, 0.4),
        _gram("rbf-float32", n, single, RBF(gamma=GAMMA), rbf_kernel, _rbf, 0.35),
        _gram("laplacian", n, double, Laplacian(gamma=GAMMA), laplacian_kernel, _laplacian, 0.6),
        _gram("polynomial", n, double, Polynomial(gamma=GAMMA), polynomial_kernel, _polynomial, 0.7),
    ]


def _gram(
    name: str,
    n: int,
    dtype: npt.DTypeLike,
    kernel: Kernel,
    peer: Callable[..., Any],
    definition: Definition,
    ratio: float,
) -> TimedRow:
    size = np.dtype(dtype).itemsize
    return TimedRow(
        f"gram-{name}",
        f"Gram matrix of {n:,} x {COLUMNS} {np.dtype(dtype)} standard normal, seed 0, gamma 1/50; peer: "
        f"sklearn.metrics.pairwise.{peer.__name__}",
        data=lambda: generators.normal(n, COLUMNS, seed=0, dtype=dtype),
        contenders=(
            Contender(f"gramian {kernel!r}", kernel.gram, _sample, ours=True),
            Contender(peer.__name__, lambda X: peer(X, gamma=GAMMA), _sample),
        ),
        reference=lambda X: definition(_picked(X).astype(np.float64), X.astype(np.float64)),
        errors=_errors,
        tolerances={"entry": 1e-12 if size == 8 else 1e-5},
        ratio=ratio,
        # The matrix itself, and little beside it.
        growth=size * n * n + 100e6,
        repeats=5,
    )


def _picked(A: Any) -> Any:
    return A[:: max(1, len(A) // SAMPLED)]


def _sample(_: Any, K: Any) -> Outcome:
    return Outcome(values=_picked(K).astype(np.float64))


def _errors(exact: FloatArray, outcome: Outcome) -> dict[str, float]:
    gap = np.abs(np.asarray(outcome.values) - exact)
    return {"entry": float(gap.max() / np.abs(exact).max())}


def _rbf(A: FloatArray, B: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-GAMMA * cdist(A, B, "sqeuclidean")))


def _laplacian(A: FloatArray, B: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-GAMMA * cdist(A, B, "cityblock")))


def _polynomial(A: FloatArray, B: FloatArray) -> FloatArray:
    return np.asarray((GAMMA * (A @ B.T) + 1.0) ** 3)
