"""Rules that draw: spectra of data whose structure was destroyed, and blocks that are held out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gramian.analysis.component_rules.rules import ComponentChoice, compared, leading, numbered
from gramian.records import FloatArray

# The largest of 19 has a chance of 1 in 20 to be passed by an exchangeable twentieth.
REPEATS = 19
FIRST = 8
# An eigenvalue exceeds another one when it does so beyond the rounding and the tolerance of both.
BEYOND = 1e-6

SpectrumOf = Callable[[Any, int], FloatArray]
Draw = Callable[[int], Any]


def parallel_analysis(
    C: Any,
    spectrum_of: SpectrumOf,
    rng: np.random.Generator,
    *,
    size: int,
    factor: float = 1.0,
) -> ComponentChoice:
    """Keep eigenvalues above those of the data with every column permuted by itself.

    The j-th eigenvalue is compared with the largest of 19 j-th ones, and the first that fails ends it:
    independent columns pass that with a probability of exactly 0.05 at the first eigenvalue. Permuting keeps
    what each column is and destroys what columns have in common.

    Parameters
    ----------
    C : ndarray of shape (n, d)
        Centred, scaled data.
    spectrum_of : callable
        ``spectrum_of(A, count)`` returns the largest eigenvalues of ``A.T A``, descending.
    rng : numpy.random.Generator
    size : int
        How many eigenvalues can be different from 0.
    factor : float
        Turns eigenvalues into variances.

    References
    ----------
    Horn (1965), A rationale and test for the number of factors in factor analysis. Permutation: Buja and
    Eyuboglu (1992), Remarks on parallel analysis.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 9)) + rng.standard_normal((200, 9))
    >>> values = lambda A, count: np.linalg.svd(A, compute_uv=False)[:count] ** 2
    >>> parallel_analysis(X - X.mean(axis=0), values, rng, size=9).number
    2
    """
    observed, threshold = _observed(C, permuted_columns(C), spectrum_of, rng, size, edge=False)
    what = f"those of all {REPEATS} data sets with permuted columns"
    names = ("eigenvalue", "threshold")
    return compared("parallel", observed * factor, threshold * factor, names, what, beyond=BEYOND)


def sign_flips(
    C: Any,
    spectrum_of: SpectrumOf,
    rng: np.random.Generator,
    *,
    size: int,
    centered: bool = True,
    factor: float = 1.0,
) -> ComponentChoice:
    """Keep singular values above the largest one of the data with the sign of every entry drawn at random.

    Noise that is symmetric about 0 and independent is the same noise after the flips, whatever the size of
    each entry's noise; signal turns into noise.

    Parameters
    ----------
    C : ndarray of shape (n, d)
        Centred, scaled data, or raw data of mean 0.
    spectrum_of, rng, size
        As for :func:`parallel_analysis`; every singular value is compared with the largest of all (the
        upper-edge comparison).
    centered : bool
        Whether a mean was subtracted. That took ``1 / n`` of the noise's variance away, which the flipped
        data get back: without it noise in few rows would exceed its own flips.
    factor : float
        Turns squares of singular values into squares in the units that were fitted.

    References
    ----------
    Hong, Sheng, Dobriban (2020), Selecting the number of components in PCA via random signflips,
    upper-edge comparison.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 30)) + rng.standard_normal((200, 30))
    >>> values = lambda A, count: np.linalg.svd(A, compute_uv=False)[:count] ** 2
    >>> sign_flips(X - X.mean(axis=0), values, rng, size=30).number
    2
    """
    observed, threshold = _observed(C, _flipped(C), spectrum_of, rng, size, edge=True)
    if centered and len(C) > 1:
        threshold = threshold * (len(C) / (len(C) - 1))
    observed, threshold = np.sqrt(observed * factor), np.sqrt(threshold * factor)
    what = f"the largest of all {REPEATS} data sets with random signs"
    return compared("sign-flip", observed, threshold, ("singular_value", "threshold"), what, beyond=BEYOND)


def _observed(
    C: Any, draw: Draw, spectrum_of: SpectrumOf, rng: np.random.Generator, size: int, *, edge: bool
) -> tuple[FloatArray, FloatArray]:
    """Leading eigenvalues of C, as many as decide and one more, and what each must exceed."""
    # Seeds, so that more eigenvalues of the same draws can be asked for.
    seeds = rng.integers(2**62, size=REPEATS).tolist()
    count = min(FIRST, size)
    while True:
        observed = spectrum_of(C, count)
        drawn = np.array([spectrum_of(draw(seed), 1 if edge else count) for seed in seeds])
        threshold = np.broadcast_to(drawn.max(axis=0), observed.shape) if count else np.empty(0)
        number = leading(observed > threshold * (1 + BEYOND))
        if number < count or count == size:
            return observed, threshold
        count = min(2 * count, size)


def permuted_columns(C: Any) -> Draw:
    """Return the function that permutes each column of C by itself; it writes into one memory."""
    by_column = np.ascontiguousarray(np.asarray(C).T)
    out = np.empty_like(by_column)

    def draw(seed: int) -> Any:
        return np.random.default_rng(seed).permuted(by_column, axis=1, out=out).T

    return draw


def _flipped(C: Any) -> Draw:
    C = np.asarray(C)
    out = np.empty_like(C)

    def draw(seed: int) -> Any:
        bits = np.random.default_rng(seed).integers(0, 256, (C.size + 7) // 8, dtype=np.uint8)
        negative = np.unpackbits(bits, count=C.size).reshape(C.shape).view(bool)
        out[...] = C
        return np.negative(C, out=out, where=negative)

    return draw


# ------------------------ cross-validation by blocks of rows and columns

SPLITS = 10
TRIED_FIRST = 16
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
    count = min(TRIED_FIRST, most)
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
