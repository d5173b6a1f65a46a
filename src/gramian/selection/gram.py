"""The centred Gram matrix that criteria read, and the eigenvalues that selection asks for."""

from __future__ import annotations

import numpy as np

from gramian.arrays import as_float64
from gramian.engine import eigenpairs
from gramian.errors import DataError, IndefiniteKernelError
from gramian.estimators.kernel_pca import KernelPCA
from gramian.kernels.evaluator import gram_matrix
from gramian.records import FloatArray

# Of the largest eigenvalue: what a negative one may be by rounding.
ROUNDING = 1e-6


def centered(K: FloatArray) -> FloatArray:
    """Return H K H with H = I - 1/n.

    Examples
    --------
    >>> centered(np.array([[4.0, 0.0], [0.0, 0.0]]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    means = K.mean(axis=0)
    return np.asarray(K - means[:, None] - means[None, :] + means.mean())


def centered_gram(model: KernelPCA, X: FloatArray) -> tuple[FloatArray, float]:
    """Return the centred Gram matrix of the rows over its unit, and the unit.

    Parameters
    ----------
    model : KernelPCA
        Not fitted; its kernel has every parameter a number. With ``repair="clip"`` negative eigenvalues are
        set to 0.
    X : ndarray of shape (n, d), float64

    Returns
    -------
    Kc : ndarray of shape (n, n)
        Over the unit, so that squares of its entries are numbers.
    unit : float
        The largest magnitude before centring.

    Raises
    ------
    IndefiniteKernelError
        For an eigenvalue that is negative beyond rounding, of a kernel that is not proven valid.
    DataError
        For a kernel that is the same number for all pairs of rows.
    """
    kernel = model.kernel
    K = as_float64(gram_matrix(kernel.bind(X, centered=True), X))
    unit = float(np.abs(K).max())
    Kc = centered(K / unit) if unit > 0 else K
    if np.abs(Kc).max() <= 8 * np.finfo(np.float64).eps:
        raise DataError(f"{kernel!r} is the same number for all pairs of rows, which tells nothing.")
    if kernel.psd:
        return Kc, unit
    values, vectors = eigenpairs(Kc)
    if model.repair == "clip":
        return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T), unit
    if values[-1] < -ROUNDING * np.abs(values).max():
        raise IndefiniteKernelError(
            f"The centred kernel matrix has the eigenvalue {values[-1] * unit:.3g} beside the largest, "
            f"{values[0] * unit:.3g}: {kernel!r} is no valid kernel on these rows. "
            "KernelPCA(kernel=..., repair='clip') sets negative ones to 0."
        )
    return Kc, unit
