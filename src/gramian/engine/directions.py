"""From eigenpairs to components: variances, signs, and bases completed beyond the rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian.core.arrays import from_numpy, namespace, numpy_dtype, orthonormal, to_numpy
from gramian.core.records import Components, FloatArray, Spectrum


def components_of(
    spectrum: Spectrum, count: int | None, factor: float, total: float | None, size: int
) -> Components:
    """Return what eigenvalues mean.

    Parameters
    ----------
    spectrum : Spectrum
    count : int or None
        Number of components: beyond the rank they are 0.
    factor : float
        Turns eigenvalues into what they mean.
    total : float or None
        Sum of all eigenvalues, where it means something.
    size : int
        Their number.
    """
    k = spectrum.values.size if count is None else count
    rank = min(spectrum.rank, k)
    values = np.zeros(k)
    values[:rank] = spectrum.values[:rank] * factor
    whole = None if total is None else total * factor
    return Components(values, whole, size, rank, spectrum.rank_tolerance, spectrum.rest * factor)


def fixed_signs(vectors: Any) -> FloatArray:
    """Return +1 or -1 for each column, which makes its first largest entry positive.

    The first entry within 1e-6 (float64; 1e-3 float32) of the largest magnitude, relatively, decides, so
    that rounding cannot choose between entries of equal size.

    Parameters
    ----------
    vectors : array of shape (m, k)
    """
    if vectors.shape[1] == 0:
        return np.empty(0)
    near = 1e-6 if numpy_dtype(vectors) == np.float64 else 1e-3
    # Row by row in memory, along which the first large entry is searched for.
    columns = np.ascontiguousarray(to_numpy(vectors).T)
    sizes = np.abs(columns)
    enough = ((1 - near) * sizes.max(axis=1, keepdims=True)).astype(columns.dtype)
    first = (sizes >= enough).argmax(axis=1)
    values = columns[np.arange(len(columns)), first]
    return np.where(values < 0, -1.0, 1.0)


def complete_basis(vectors: Any, k: int) -> Any:
    """Extend orthonormal columns to k of them, by directions orthogonal to all given ones.

    Parameters
    ----------
    vectors : array of shape (m, r)
        Orthonormal columns, r <= k <= m.
    """
    m, r = vectors.shape
    if r >= k:
        return vectors[:, :k]
    xp = namespace(vectors)
    # A fixed seed: these directions carry no information, and must not differ from run to run.
    rng = np.random.default_rng(0)
    extra = from_numpy(rng.standard_normal((m, k - r)).astype(numpy_dtype(vectors)), vectors)
    for _ in range(2):
        extra = extra - vectors @ (vectors.T @ extra)
        extra, _ = orthonormal(extra)
    return xp.concat([vectors, extra], axis=1)
