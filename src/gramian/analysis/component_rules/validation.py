"""Cross-validation of the number of components by blocks of rows and columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gramian.analysis.component_rules.rules import ComponentChoice, numbered
from gramian.records import FloatArray

SPLITS = 10
FIRST = 16
# Errors that differ by less than this part of the error of no component are equal.
EQUAL = 1e-12

FactorsOf = Callable[[Any, int], tuple[FloatArray, FloatArray, FloatArray]]


def bi_cross_validation(
    C: Any,
    factors_of: FactorsOf,
    rng: np.random.Generator,
    *,
    centered: bool = True,
    factor: float = 1.0,
) -> ComponentChoice:
    """Keep the number of components that predicts held-out quarters of the table best.

    Rows and columns are each cut into random halves, ten times, and each of the four blocks is held
    out in turn: for ``[[A, B], [C, D]]`` the block A is predicted by ``B D_k^+ C``, with D_k the truncation
    of D to k components.

    Parameters
    ----------
    C : ndarray of shape (n, d)
        Scaled data. With ``centered`` its columns are centred on the mean of the rows that are not held out.
    factors_of : callable
        ``factors_of(D, k)`` returns left vectors (a, r), singular values (r,) and right vectors (r, b),
        with r at most k and not beyond the rank of D.
    rng : numpy.random.Generator
    factor : float
        Turns mean squares into squared units of the data.

    References
    ----------
    Owen and Perry (2009), Bi-cross-validation of the SVD and the nonnegative matrix factorization, section 2.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 20)) + rng.standard_normal((200, 20))
    >>> def factors_of(D, k):
    ...     U, s, Vt = np.linalg.svd(D, full_matrices=False)
    ...     return U[:, :k], s[:k], Vt[:k]
    >>> bi_cross_validation(X, factors_of, rng).number
    2
    """
    n, d = C.shape
    # Half of the rows and columns cannot have more.
    most = max(min(n // 2 - int(centered), d // 2), 0)
    if most == 0:
        least = "4 rows and 2 columns" if centered else "2 rows and 2 columns"
        said = f"Halves of {n} rows x {d} columns that vary are too small: at least {least} are needed."
        return ComponentChoice("cv", None, {}, said)
    seeds = rng.integers(2**62, size=SPLITS).tolist()
    count = min(FIRST, most)
    while True:
        errors = sum((_split_errors(C, factors_of, seed, count, centered) for seed in seeds), np.zeros(1))
        number = int(np.argmax(errors <= errors.min() + EQUAL * errors[0]))
        if number < count or count == most:
            break
        count = min(2 * count, most)
    errors = errors * (factor / (SPLITS * n * d))
    said = (
        f"The mean square error on held-out quarters, over {SPLITS} random cuts, is least at {number}: "
        f"{errors[number]:.4g} after {errors[0]:.4g} without components."
    )
    if number == most:
        said += f" More than {most} cannot be tried with half of the data."
    return ComponentChoice("cv", number, numbered(0, {"held_out_error": errors}), said)


def _split_errors(C: Any, factors_of: FactorsOf, seed: int, count: int, centered: bool) -> FloatArray:
    """Sums of squared errors over the four blocks of one cut, for 0, 1, ..., count components."""
    rng = np.random.default_rng(seed)
    n, d = C.shape
    rows, columns = rng.permutation(n), rng.permutation(d)
    row_halves, column_halves = (rows[: n // 2], rows[n // 2 :]), (columns[: d // 2], columns[d // 2 :])
    errors = np.zeros(count + 1)
    for out, kept in (row_halves, row_halves[::-1]):
        held_out, held_in = C[out], C[kept]
        if centered:
            mean = held_in.mean(axis=0, dtype=np.float64).astype(C.dtype)
            held_out, held_in = held_out - mean, held_in - mean
        for left, right in (column_halves, column_halves[::-1]):
            A, B = held_out[:, left], held_out[:, right]
            errors += _errors(A, B, held_in[:, left], factors_of(held_in[:, right], count), count)
    return errors


def _errors(
    A: Any, B: Any, C: Any, factors: tuple[FloatArray, FloatArray, FloatArray], count: int
) -> FloatArray:
    """``|A - B D_k^+ C|^2`` for k = 0, 1, ..., count, without forming any of the predictions."""
    U, s, Vt = factors
    P = np.asarray(B @ Vt.T, dtype=np.float64) / s
    Q = np.asarray(U.T @ C, dtype=np.float64)
    squares = (P.T @ P) * (Q @ Q.T)
    # Sums over the leading k x k corners, one border at a time.
    corners = np.cumsum(2 * np.tril(squares, -1).sum(axis=1) + np.diag(squares))
    products = np.cumsum(np.einsum("ij,ij->j", P, np.asarray(A @ Q.T, dtype=np.float64)))
    start = float(np.einsum("ij,ij->", A, A, dtype=np.float64))
    errors = start + np.concatenate([[0.0], corners - 2 * products])
    # Beyond the rank of D nothing more is predicted.
    return np.asarray(np.concatenate([errors, np.full(count + 1 - errors.size, errors[-1])]))
