"""The kernels to compare: those of the user, or a default list for the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import additive_chi2_kernel

from gramian.arrays import as_float64
from gramian.checks import check_integer, evenly
from gramian.errors import InputTypeError, ParameterError
from gramian.estimators.kernel_fit import asked_kernel
from gramian.estimators.kernel_pca import KernelPCA
from gramian.estimators.kernel_rules import with_kernel
from gramian.kernels import RBF, ChiSquared, Cosine, Kernel, Laplacian, Linear, Polynomial
from gramian.kernels.expression import PRECOMPUTED
from gramian.kernels.widths import median_distance
from gramian.records import FloatArray
from gramian.rows import Rows

WIDTHS = (4.0, 2.0, 1.0, 0.5, 0.25, 0.125)  # of rbf, over the median distance
LAPLACIAN_WIDTHS = (2.0, 1.0)
# Each value of chi2 is a sum over columns.
CHI2_COLUMNS, CHI2_ROWS = 30, 300
WIDTH_ROWS = 1000
DIGITS = 4


def as_candidates(given: Any, rows: Rows) -> tuple[KernelPCA, ...]:
    """Return unfitted models whose kernels have every parameter a number.

    Widths that depend on the data are filled in. A number of components is the one that the user asked for.

    Parameters
    ----------
    given : sequence of str, callable, Kernel or KernelPCA, or None
        None takes :func:`default_kernels`.
    rows : Rows
        All of the data.

    Raises
    ------
    ParameterError
        For an expression that cannot be read, a precomputed kernel.
    InputTypeError
        For what is no list, an empty one, and for what is no kernel.
    """
    if given is None:
        given = default_kernels(rows.in_memory())
    lists = isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, str)
    if not lists or not len(given):
        raise InputTypeError(
            f"candidates={given!r} is not a list of kernels. Give for instance ['linear', 'rbf(sigma=2)'], "
            "or None for a default list."
        )
    return tuple(_candidate(one, rows) for one in given)


def _candidate(given: Any, rows: Rows) -> KernelPCA:
    model = given if isinstance(given, KernelPCA) else KernelPCA(kernel=given)
    if isinstance(model.kernel, str) and model.kernel.strip() == PRECOMPUTED:
        raise ParameterError(
            "A precomputed kernel matrix cannot be compared: it has no held-out rows and no columns. Give "
            "the rows, and kernels by name, expression or object."
        )
    wanted = model.n_components
    if wanted is not None:
        check_integer(f"The n_components of {model!r}", wanted, 1, advice="None chooses it.")
    kernel = asked_kernel(model)
    resolved = kernel.resolve(rows.in_memory(), rows.feature_names)
    # As it was written, where nothing in it waits for data: a width stays a width.
    candidate: KernelPCA = with_kernel(model, kernel if _settled(kernel) else resolved)
    return candidate


def kernel_of(candidate: KernelPCA) -> Kernel:
    """Return the kernel of a candidate, which :func:`as_candidates` has made an object."""
    assert isinstance(candidate.kernel, Kernel)
    return candidate.kernel


def _settled(kernel: Kernel) -> bool:
    """Whether every parameter is a number already."""
    own = [value for value in kernel.get_params(deep=False).values() if not isinstance(value, Kernel)]
    if isinstance(kernel, RBF):
        # One of its two parameters is never given.
        own = [kernel.gamma if kernel.sigma is None else kernel.sigma]
    waits = any(value is None or "U" in np.asarray(value).dtype.char for value in own)
    return not waits and all(_settled(part) for part in kernel.parts)


def default_kernels(X: Any) -> list[Kernel]:
    """Return a list of kernels that fits the data, simple ones first.

    linear, cosine, poly of degree 2 and 3 with x . y over the median of ``||x||^2``, rbf with the median
    distance between rows times 4, 2, 1, 1/2, 1/4 and 1/8 as width, laplacian with twice and once its own
    median distance. Without negative entries, in at most 30 columns, chi2 with its median distance.
    Distances are those of at most 1000 evenly spaced rows. Numbers are rounded to 4 digits. Of a single
    column there is no cosine.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Finite, not all rows equal.

    Examples
    --------
    >>> default_kernels(np.array([[0.0, 1.0], [2.0, -1.0], [1.0, 3.0], [2.0, 2.0]]))[:3]
    [linear(), cosine(), poly(degree=2, gamma=0.1538)]
    """
    histograms = X.shape[1] <= CHI2_COLUMNS and float(X.min()) >= 0
    X = _evenly(X, WIDTH_ROWS)
    results: list[Kernel] = [Linear()]
    if X.shape[1] > 1:
        results.append(Cosine())
    gamma = _rounded(_inner_product_factor(X))
    if 0 < gamma < np.inf:
        results += [Polynomial(2, gamma), Polynomial(3, gamma)]
    middle, sums = median_distance(X), median_distance(X, "cityblock")
    results += [RBF(sigma=_rounded(factor * middle)) for factor in WIDTHS]
    results += [Laplacian(_rounded(1.0 / (factor * sums))) for factor in LAPLACIAN_WIDTHS]
    if histograms:
        gamma = _rounded(_chi2_factor(X))
        results += [ChiSquared(gamma)] if 0 < gamma < np.inf else []
    return results


def _rounded(value: float) -> float:
    """Few digits, so that the kernel can be typed."""
    return float(f"{value:.{DIGITS}g}")


def _evenly(X: Any, limit: int) -> FloatArray:
    """Evenly spaced rows as float64; all where they would be equal."""
    some = X[evenly(len(X), limit)]
    return as_float64(some if np.ptp(some, axis=0).any() else X)


def _inner_product_factor(X: FloatArray) -> float:
    """1 over the median squared norm of a row; over the mean of the others where that is 0."""
    largest = float(np.abs(X).max())
    squares = np.sum((X / largest) ** 2, axis=1)
    middle = float(np.median(squares)) or float(squares.mean())
    with np.errstate(over="ignore"):
        return float(1.0 / middle / np.float64(largest) / largest)


def _chi2_factor(X: FloatArray) -> float:
    """1 over the median of ``sum (x - y)^2 / (x + y)``; over the mean where that is 0."""
    X = _evenly(X, CHI2_ROWS)
    largest = float(X.max()) or 1.0
    distances = -additive_chi2_kernel(X / largest)[np.tril_indices(len(X), -1)]
    middle = float(np.median(distances)) or float(distances.mean())
    with np.errstate(over="ignore", divide="ignore"):
        return float(1.0 / np.float64(middle) / largest)
