"""Rules that compare the spectrum with spectra of data whose structure was destroyed at random."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from gramian.analysis.component_rules.rules import ComponentChoice, leading, numbered
from gramian.records import FloatArray

__all__ = ["REPEATS", "SpectrumOf", "parallel_analysis", "permuted_columns", "sign_flips"]

# The largest of 19 has a chance of 1 in 20 to be passed by an exchangeable twentieth.
REPEATS, QUANTILE = 19, 0.95
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
    repeats: int = REPEATS,
    quantile: float = QUANTILE,
    factor: float = 1.0,
) -> ComponentChoice:
    """Keep eigenvalues above those of the data with every column permuted by itself.

    The j-th eigenvalue is compared with the quantile of the j-th ones, and the first that fails ends it.
    Permuting keeps what each column is and destroys what columns have in common.

    Parameters
    ----------
    C : ndarray of shape (n, d)
        Centred, scaled data.
    spectrum_of : callable
        ``spectrum_of(A, count)`` returns the largest eigenvalues of ``A.T A``, descending.
    rng : numpy.random.Generator
    size : int
        How many eigenvalues can be different from 0.
    repeats : int
        Number of permuted data sets.
    quantile : float
        The ``ceil(quantile (repeats + 1))``-th smallest value is the threshold: of 19 repeats and 0.95 the
        largest, which independent columns pass with a probability of exactly 0.05 at the first eigenvalue.
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
    draw = permuted_columns(C)
    observed, threshold = _compare(C, draw, spectrum_of, rng, size, repeats, quantile, edge=False)
    what = f"those of {_of(repeats, quantile)} with permuted columns"
    return _said("parallel", observed * factor, threshold * factor, "eigenvalue", what)


def sign_flips(
    C: Any,
    spectrum_of: SpectrumOf,
    rng: np.random.Generator,
    *,
    size: int,
    centered: bool = True,
    repeats: int = REPEATS,
    quantile: float = QUANTILE,
    factor: float = 1.0,
) -> ComponentChoice:
    """Keep singular values above the largest one of the data with the sign of every entry drawn at random.

    Noise that is symmetric about 0 and independent is the same noise after the flips, whatever the size of
    each entry's noise; signal turns into noise.

    Parameters
    ----------
    C : ndarray of shape (n, d)
        Centred, scaled data, or raw data of mean 0.
    spectrum_of, rng, size, repeats, quantile
        As for :func:`parallel_analysis`; every singular value is compared with the quantile of the largest
        ones (the upper-edge comparison).
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
    observed, threshold = _compare(C, _flipped(C), spectrum_of, rng, size, repeats, quantile, edge=True)
    if centered and len(C) > 1:
        threshold = threshold * (len(C) / (len(C) - 1))
    what = f"the largest of {_of(repeats, quantile)} with random signs"
    return _said("sign-flip", np.sqrt(observed * factor), np.sqrt(threshold * factor), "singular_value", what)


def _compare(
    C: Any,
    draw: Draw,
    spectrum_of: SpectrumOf,
    rng: np.random.Generator,
    size: int,
    repeats: int,
    quantile: float,
    *,
    edge: bool,
) -> tuple[FloatArray, FloatArray]:
    """Leading eigenvalues of C, as many as decide and one more, and what each must exceed."""
    place = math.ceil(quantile * (repeats + 1)) - 1
    if not 0 <= place < repeats:
        raise ValueError(f"a quantile of {quantile} needs more than {repeats} repeats")
    # Seeds, so that more eigenvalues of the same draws can be asked for.
    seeds = rng.integers(2**62, size=repeats).tolist()
    count = min(FIRST, size)
    while True:
        observed = spectrum_of(C, count)
        drawn = np.array([spectrum_of(draw(seed), 1 if edge else count) for seed in seeds])
        threshold = np.sort(drawn, axis=0)[place] if count else np.empty(0)
        threshold = np.broadcast_to(threshold, observed.shape).copy()
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


def _of(repeats: int, quantile: float) -> str:
    place = math.ceil(quantile * (repeats + 1))
    return f"all {repeats} data sets" if place == repeats else f"{place} of {repeats} data sets"


def _said(rule: str, observed: FloatArray, threshold: FloatArray, name: str, what: str) -> ComponentChoice:
    number = leading(observed > threshold * (1 + BEYOND))
    verb = "exceeds" if number == 1 else "exceed"
    said = f"{number} {name.replace('_', ' ')}{'' if number == 1 else 's'} {verb} {what}"
    if number:
        said += f" (the last: {observed[number - 1]:.4g} > {threshold[number - 1]:.4g})"
    if number < observed.size:
        said += f"; the next: {observed[number]:.4g} against {threshold[number]:.4g}"
    columns = {name: observed, "threshold": threshold}
    return ComponentChoice(rule, number, numbered(1, columns), said + ".")
